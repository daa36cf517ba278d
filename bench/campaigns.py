"""Measures campaigns as a user has them: whole processes, beside others that do the same.

Contenders take turns: one of two is stopped (SIGSTOP) at any time, so that whatever else the
machine does hits both alike, and each is one uninterrupted process to itself.

Without a journal, ext4 avoids the inodes that were freed in the last minutes, and looks at each of
them for every file it makes: beside a great removal, a session costs several times as much. So
nothing is removed between measurements, and their folders are put where nobody else has removed
anything.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import secrets
import select
import signal
import struct
import subprocess
import time

WORKERS = 16
PROGRAM = "/bench/program"
NAME = "bench"
TURN = 0.5  # seconds
SETTLE = 0.05  # seconds in which what a stopped process has begun comes to its end
PATIENCE = 60


class Broken(Exception):
    """Something could not be measured."""


# ---- processes ----

class Process:
    """One in a folder of its own, its output in files there."""

    def __init__(self, folder, command, stdin=os.devnull, stdout=None):
        self.out, self.err = folder / "stdout", folder / "stderr"
        folder.mkdir(exist_ok=True)
        env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "HOME": str(folder),
               "LC_ALL": "C.UTF-8"}
        with open(stdin, "rb") as given, open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.running = subprocess.Popen(
                list(map(str, command)), stdin=given, stdout=stdout or out, stderr=err, cwd=folder,
                env=env, start_new_session=True)
        self.pidfd = os.pidfd_open(self.running.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.running.poll() is None:
            self.running.kill()
            self.running.wait()
        os.close(self.pidfd)

    def signal(self, number):
        self.running.send_signal(number)

    def ended(self, seconds):
        """Waits at most so long; whether it has ended."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def check(self, seconds, *codes):
        """It ends within so many seconds, with one of these codes or 0."""
        name = pathlib.Path(self.running.args[0]).name
        if not self.ended(seconds):
            raise Broken(f"{name} had not ended after {seconds} s")
        code = self.running.wait()
        if code not in (0, *codes):
            said = self.err.read_text(errors="replace").strip().splitlines()
            raise Broken(said[-1] if said else f"{name}: exit code {code}")

    def peak(self):
        """Bytes of its memory at most so far."""
        text = pathlib.Path(f"/proc/{self.running.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", text).group(1)) * 1024


class Supervisor(Process):
    def wait_complete(self, count):
        """Until it says that so many runs are complete."""
        until = time.monotonic() + PATIENCE
        while not re.search(rf"^Progress: {count}/", self.out.read_text(), re.M):
            if self.ended(0.02) or time.monotonic() > until:
                self.check(0)
                raise Broken(f"the campaign ended before {count} runs were complete")

    def stop(self):
        """As by Ctrl-C, twice; what it had not done stays to be done."""
        self.signal(signal.SIGINT)
        self.signal(signal.SIGINT)
        self.check(PATIENCE, 130)


# ---- taking turns ----

class Contender:
    """Has so many runs to do; None: as many as it can until it is told to end (SIGTERM)."""

    def __init__(self, name, count, command, stdin=os.devnull):
        self.name, self.count, self.command, self.stdin = name, count, command, stdin
        self.process, self.seconds, self.over = None, 0.0, False

    def turn(self, started, folder):
        start = time.monotonic()
        if self.process:
            self.process.signal(signal.SIGCONT)
        else:
            self.process = started.enter_context(
                Process(folder / self.name, self.command, self.stdin))
        self.over = self.process.ended(TURN)
        if not self.over:
            self.process.signal(signal.SIGSTOP)
        self.seconds += time.monotonic() - start
        if self.over:
            self.process.check(0)
        else:
            time.sleep(SETTLE)

    def tell_to_end(self):
        start = time.monotonic()
        self.process.signal(signal.SIGTERM)
        self.process.signal(signal.SIGCONT)
        self.process.check(PATIENCE)
        self.seconds += time.monotonic() - start
        self.over = True

    def rate(self):
        return {"count": self.count, "seconds": round(self.seconds, 3),
                "per_second": round(self.count / self.seconds, 1)}


def take_turns(contenders, folder, most):
    """Until all are over. Those without a number are told to end when the first is over."""
    until = time.monotonic() + most
    with contextlib.ExitStack() as started:
        while not all(each.over for each in contenders):
            for each in [each for each in contenders if not each.over]:
                each.turn(started, folder)
            if contenders[0].over:
                for each in [each for each in contenders if each.count is None and not each.over]:
                    each.tell_to_end()
            if time.monotonic() > until:
                raise Broken(f"a campaign and what it is compared with took more than {most} s")


# ---- the measurements ----

class Campaigns:
    """In the folder `stage`, where the programs are."""

    def __init__(self, stage):
        self.stage, self.made = stage, 0
        spread(stage)

    def fresh(self, place=None):
        self.made += 1
        # by its name ext4 chooses where: a place of an earlier measurement is no fresh one
        folder = (place or self.stage) / f"campaign-{self.made}-{secrets.token_hex(4)}"
        folder.mkdir()
        return folder

    def hotcell(self, folder, *words):
        return [self.stage / "hotcell", *words, "--state", folder / ".hotcell"]

    def run_command(self, folder, runs):
        return [*self.hotcell(folder, "campaign", "run"), "--name", NAME, "--output",
                folder / "runs", "--runs", runs, "--workers", WORKERS,
                "--mount", f"{self.stage / 'true-static'}:{PROGRAM}", "--", PROGRAM]

    def numbers(self, count):
        path = self.stage / f"numbers-{count}"
        path.write_text("".join(f"{number}\n" for number in range(1, count + 1)))
        return path

    def rates(self, runs, most, place=None):
        """How many a second: a campaign's runs, its folder below `place`, and bare cells.

        These two alone: a supervisor kept from its work for a second takes its cells for dead."""
        folder = self.fresh(place)
        campaign = Contender("campaign", runs, self.run_command(folder, runs))
        cells = Contender("cells", None, [
            self.stage / "cells", "flood", f"--program={self.stage / 'true-static'}",
            f"--workers={WORKERS}", f"--warm={WORKERS}"])
        take_turns([campaign, cells], folder, most)
        if f"\n{runs} succeeded" not in (folder / "campaign/stdout").read_text():
            raise Broken(f"not all of the campaign's {runs} runs succeeded")
        cells.count = json.loads((folder / "cells/stdout").read_text())["cells"]
        return {each.name: each.rate() for each in (campaign, cells)}

    def bare_rates(self, runs, most, parallel):
        """How many a second xargs and GNU parallel start, without any sandbox."""
        true, few = self.stage / "true-static", runs // 4
        contenders = [Contender("xargs", runs, ["xargs", f"-P{WORKERS}", "-n1", true],
                                self.numbers(runs))]
        if parallel:
            contenders.append(Contender("parallel", few, [parallel, "--will-cite", f"-j{WORKERS}",
                                                          true], self.numbers(few)))
        take_turns(contenders, self.fresh(), most)
        return {each.name: each.rate() for each in contenders}

    def queued(self, runs, done):
        """Bytes of the supervisor at most, with so many runs planned, when so many are done."""
        folder = self.fresh()
        with Supervisor(folder, self.run_command(folder, runs)) as supervisor:
            supervisor.wait_complete(done)
            peak = supervisor.peak()
            supervisor.stop()
        return peak

    def past(self, finished):
        """The folder of a campaign with so many runs finished and as many to do."""
        folder = self.fresh()
        with Supervisor(folder, self.run_command(folder, finished * 2)) as supervisor:
            supervisor.wait_complete(10)
            supervisor.stop()
        with Process(folder, [self.stage / "finished", folder / ".hotcell/ledger.db", NAME,
                              finished]) as filling:
            filling.check(240)
        return folder

    def resume(self, folder):
        """Milliseconds from exec until it says that a run starts, and until one is done."""
        found, (reader, writer) = {}, os.pipe()
        start = time.monotonic()
        with open(reader, "rb") as lines, Supervisor(
                folder, self.hotcell(folder, "campaign", "resume", NAME), stdout=writer) as resumed:
            os.close(writer)
            for line in lines:
                for word in ("Starting", "Done"):
                    if word.encode() in line:
                        found.setdefault(word, (time.monotonic() - start) * 1000)
                if "Done" in found:
                    break
            else:
                resumed.check(PATIENCE)
                raise Broken("a campaign with work left did nothing when it was resumed")
            lines.close()  # who looks away does not hold it up
            resumed.stop()
        return found["Starting"], found["Done"]

    def status(self, folder, times):
        """Milliseconds of each `hotcell status` while the campaign is at work; its peak memory."""
        asked = []
        with Supervisor(folder, self.hotcell(folder, "campaign", "resume", NAME)) as resumed:
            while "Done" not in resumed.out.read_text():
                if resumed.ended(0.02):
                    resumed.check(0)
                    raise Broken("a campaign with work left did nothing when it was resumed")
            for _ in range(times):
                start = time.monotonic()
                question = self.hotcell(folder, "status", NAME, "--json")
                with Process(folder / "asked", question) as answering:
                    answering.check(PATIENCE)
                    asked.append((time.monotonic() - start) * 1000)
            peak = resumed.peak()
            resumed.stop()
        return asked, peak


def spread(folder):
    """Has ext4 put what is made in it into groups of their own, as if it were a home of homes."""
    get, put, top = 0x80086601, 0x40086602, 0x20000  # FS_IOC_GETFLAGS, _SETFLAGS, FS_TOPDIR_FL
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = struct.unpack("i", fcntl.ioctl(handle, get, bytes(4)))[0]
        fcntl.ioctl(handle, put, struct.pack("i", flags | top))
    except OSError:
        pass  # another file system, with its own ways
    finally:
        os.close(handle)


def file_system(path):
    """The kind of file system that a path is on ("ext4", "tmpfs"), and the name of its device."""
    best = (0, "unknown", "")
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        point, (kind, source) = before.split()[4], after.split()[:2]
        if pathlib.Path(point) in (path, *path.parents):
            best = max(best, (len(point), kind, pathlib.Path(source).name))
    return best[1:]


def journal_absent(path):
    """An ext4 that remembers what was removed; see above."""
    kind, device = file_system(path)
    return kind == "ext4" and not list(pathlib.Path("/proc/fs/jbd2").glob(f"{device}-*"))

"""How the tests start hotcell, watch the machine around it, and read what came of it."""

import contextlib
import ctypes
import fcntl
import grp
import json
import os
import pty
import pwd
import re
import select
import struct
import subprocess
import termios
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOTCELL = os.path.abspath(os.environ.get("HOTCELL") or ROOT / "build" / "hotcell")
PRETEND = frozenset(filter(None, os.environ.get("HOTCELL_PRETEND", "").split(",")))
IS_ROOT = os.geteuid() == 0
# An ordinary user's cells are users of their own outside, unless they are shown files of his.
# tools/setup.sh installs newuidmap for it.
OWN_USERS = not IS_ROOT and not PRETEND & {"no-newuidmap", "no-userns"}
LONG = bool(os.environ.get("HOTCELL_LONG"))
# An ordinary user without user namespaces gets no cell at all: see test_refused.py.
NO_CELLS = not IS_ROOT and "no-userns" in PRETEND

# On cgroup v2 alone hotcell can make cgroups only where nobody else is in its own: not below these tests.
HAS_V1 = os.path.isdir("/sys/fs/cgroup/memory")

OUTCOMES = {
    "exited",
    "signaled",
    "timeout",
    "oom",
    "output-limit",
    "disk-limit",
    "denied",
    "setup-failed",
    "cancelled",
}
PROTECTIONS = {
    "user-namespace",
    "pid-namespace",
    "mount-namespace",
    "net-namespace",
    "ipc-namespace",
    "uts-namespace",
    "cgroup-namespace",
    "read-only-root",
    "private-tmp",
    "private-proc",
    "hidden-files",
    "non-root",
    "no-capabilities",
    "no-new-privileges",
    "seccomp",
    "landlock",
    "memory-limit",
    "cpu-limit",
    "process-limit",
    "disk-limit",
    "file-limits",
    "output-limit",
    "wall-clock",
    "clean-descriptors",
    "clean-environment",
    "own-session",
    "kill-all",
}


# ---- what a run said ----


def is_cell_user(*ids):
    """Whether each of these, as seen inside, is what a cell's user and group must be by default: 1000,
    or, for root without user namespaces, a number that is nobody's on this machine."""
    ids = {int(each) for each in ids}
    if "no-userns" not in PRETEND:
        return ids == {1000}
    accounts = {entry.pw_uid for entry in pwd.getpwall()} | {
        entry.gr_gid for entry in grp.getgrall()
    }
    return len(ids) == 1 and not ids & accounts


@dataclass
class Ran:
    """One finished hotcell: its exit code, what it printed, and its JSON result if it gave one."""

    code: int
    out: bytes
    err: bytes
    result: dict | None = None
    argv: list = field(default_factory=list)

    @property
    def outcome(self):
        return self.result["outcome"]

    @property
    def said(self):
        """What a hostile program reported, as {what: result}."""
        said = {}
        for line in self.out.decode("utf-8", "backslashreplace").splitlines():
            what, _, result = line.rpartition(" ")
            if what:
                said[what] = result
        return said

    @property
    def lines(self):
        return self.out.decode("utf-8", "backslashreplace").splitlines()

    @property
    def own(self):
        """hotcell's own lines on stderr, but for the standing remark on a weaker cell."""
        text = self.err.decode("utf-8", "backslashreplace")
        return [
            line
            for line in text.splitlines()
            if line.startswith("hotcell: ") and not line.startswith("hotcell: weaker cell: ")
        ]

    @property
    def target_err(self):
        return b"".join(
            line for line in self.err.splitlines(keepends=True) if not line.startswith(b"hotcell: ")
        )

    def __str__(self):
        tail = self.result and {k: v for k, v in self.result.items() if k != "receipt"}
        return f"exit {self.code}\nstdout {self.out[-2000:]!r}\nstderr {self.err[-2000:]!r}\n{tail}"


def environment(extra=None):
    """The caller's environment without what would steer hotcell by accident."""
    env = {k: v for k, v in os.environ.items() if k not in ("FUZZING_DISABLE_SANDBOX", "NO_COLOR")}
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


def pretending(*more):
    """An environment with further lacks on top of those of this variation."""
    return {"HOTCELL_PRETEND": ",".join(sorted(PRETEND | set(more)))}


def split_result(out):
    """Takes the JSON result off the end of stdout, and the empty line that may set it off."""
    body, newline, last = out.rstrip(b"\n").rpartition(b"\n")
    try:
        result = json.loads(last)
    except ValueError:
        return out, None
    if not isinstance(result, dict) or "receipt" not in result:
        return out, None
    return (body if body.endswith(b"\n") else body + newline), result


def hotcell(*args, stdin=b"", timeout=30, env=None, **more):
    """Any verb; nothing is parsed."""
    argv = [HOTCELL, *map(os.fspath, args)]
    done = subprocess.run(
        argv, input=stdin, capture_output=True, timeout=timeout, env=environment(env), **more
    )
    return Ran(done.returncode, done.stdout, done.stderr, None, argv)


def trust(folder):
    """Takes a state folder that a test made by hand for one of the user's own; returns it."""
    ran = hotcell("trust", folder)
    assert ran.code == 0, ran
    return folder


def run(*args, json=True, **more):
    """`hotcell run` with --json, its result parsed and taken off stdout."""
    ran = hotcell("run", *(["--json"] if json else []), *args, **more)
    if json:
        ran.out, ran.result = split_result(ran.out)
    return ran


def refused(ran, codes=(2, 125)):
    """One clear sentence, nothing else, and one of our own exit codes."""
    assert ran.code in codes, ran
    text = ran.err.decode()
    lines = [line for line in text.splitlines() if not line.startswith("hotcell: weaker cell: ")]
    assert len(lines) == 1, f"not one line: {ran}"
    assert lines[0].startswith("hotcell: "), ran
    assert 20 <= len(lines[0]) <= 420, ran
    assert text.endswith("\n"), ran
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", lines[0]), ran
    assert "usage:" not in text.lower(), "an error names the problem, it does not dump the usage"
    assert ran.out == b"", ran
    if ran.result is not None:
        assert ran.outcome == "setup-failed", ran
        assert ran.result["error"], ran
    return lines[0]


# ---- hotcells that are still running ----


class Live:
    """A hotcell in the background. Leaving the `with` block ends it."""

    def __init__(self, *args, verb="run", env=None, stdin=subprocess.PIPE, json=True, **more):
        head = [verb] + (["--json"] if json and verb == "run" else [])
        self.argv = [HOTCELL, *head, *map(os.fspath, args)]
        self.process = subprocess.Popen(
            self.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(env),
            start_new_session=True,
            **more,
        )
        self.out, self.err = bytearray(), bytearray()
        self.changed = threading.Condition()
        self.readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, stream, into):
        while chunk := os.read(stream.fileno(), 65536):
            with self.changed:
                into += chunk
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    @property
    def pid(self):
        return self.process.pid

    def wait_for(self, text, seconds=10):
        """Until the target has printed this."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while text not in self.out:
                left = deadline - time.monotonic()
                assert left > 0 and (self.process.poll() is None or self.readers[0].is_alive()), (
                    f"no {text!r}: {bytes(self.out)!r} {bytes(self.err)!r}"
                )
                self.changed.wait(min(left, 0.2))
        return self

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def finish(self, timeout=10):
        with contextlib.suppress(OSError, AttributeError):
            self.process.stdin.close()
        code = self.process.wait(timeout)
        for reader in self.readers:
            reader.join(timeout)
        out, result = split_result(bytes(self.out))
        return Ran(code, out, bytes(self.err), result, self.argv)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for reader in self.readers:
            reader.join(5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


class Terminal:
    """hotcell with a terminal of its own as stdin, stdout and stderr, as in a person's window."""

    def __init__(self, *args, rows=30, columns=100, env=None):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [HOTCELL, *map(os.fspath, args)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(env),
            preexec_fn=own_terminal,
        )
        os.close(slave)
        self.out = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, data):
        os.write(self.master, data)

    def _more(self, seconds):
        if not select.select([self.master], [], [], max(seconds, 0))[0]:
            return False
        try:
            chunk = os.read(self.master, 65536)
        except OSError:
            return False
        self.out += chunk
        return bool(chunk)

    def wait_for(self, text, seconds=10):
        deadline = time.monotonic() + seconds
        while text not in self.out:
            alive = self._more(deadline - time.monotonic())
            assert alive or text in self.out, f"no {text!r} in {self.out!r}"
        return self

    def finish(self, timeout=15):
        deadline = time.monotonic() + timeout
        while self._more(deadline - time.monotonic()):
            pass
        return self.process.wait(max(deadline - time.monotonic(), 1)), self.out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def small_disk(folder, size="256k"):
    """For preexec_fn: a file system of that size on `folder`, in a mount namespace of its own, made
    by root as it is or by an ordinary user in a user namespace that keeps its own uid."""

    def make():
        libc = ctypes.CDLL(None, use_errno=True)
        uid, gid = os.getuid(), os.getgid()
        new_mounts, new_users, private = 0x00020000, 0x10000000, 0x44000
        if libc.unshare(new_mounts | (0 if uid == 0 else new_users)) < 0:
            raise OSError(ctypes.get_errno(), "unshare")
        if uid != 0:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{uid} {uid} 1"),
                ("gid_map", f"{gid} {gid} 1"),
            ):
                Path(f"/proc/self/{name}").write_text(text)
        options = f"size={size},mode=755".encode()
        for source, target, kind, flags, data in (
            (None, b"/", None, private, None),
            (b"small", os.fsencode(folder), b"tmpfs", 0, options),
        ):
            if libc.mount(source, target, kind, flags, data) < 0:
                raise OSError(ctypes.get_errno(), "mount")

    return make


# ---- the machine as an observer sees it ----


def marker():
    """A word that is nowhere else on this machine."""
    return "marker-" + uuid.uuid4().hex


def slurp(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_of(pid):
    """(comm, state, ppid, start time), or None when it has gone."""
    text = slurp(f"/proc/{pid}/stat")
    if not text:
        return None
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    return (
        head.partition(b"(")[2].decode(errors="replace"),
        fields[0].decode(),
        int(fields[1]),
        int(fields[19]),
    )


def inside(word):
    """The processes of a cell whose program was given this word: not hotcell's own."""
    found = []
    for pid in pids():
        command = slurp(f"/proc/{pid}/cmdline") or b""
        if word.encode() in command and command.startswith((b"/hostile/", b"/bin/")):
            found.append(pid)
    return found


def descendants(pid):
    """Every process below this one, parents first."""
    parents = {}
    for each in pids():
        stat = stat_of(each)
        if stat and stat[1] != "Z":
            parents[each] = stat[2]
    found, front = [], [pid]
    while front:
        front = sorted(child for child, parent in parents.items() if parent in front)
        found += front
    return found


def lives(pid):
    """Whether it has not ended. One that has and is process 1's to reap may be seen for a moment."""
    stat = stat_of(pid)
    return bool(stat) and not (stat[1] == "Z" and stat[2] == 1)


def eventually(check, seconds=3.0):
    """Polls until check() is true; gives back its last value."""
    deadline = time.monotonic() + seconds
    while not (value := check()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


def gone(word, seconds=3.0):
    """Whether everything inside that cell dies in time. The promise is one second; a loaded
    machine gets three."""
    return eventually(lambda: not inside(word), seconds)


def _account():
    try:
        return pwd.getpwnam("hotcell-test").pw_uid
    except KeyError:
        return -1


ACCOUNT = _account()  # whose suite may run beside root's


def _whose(pid, stat):
    """Whether a process is a hotcell, and one of ours: other hotcells on the machine run another
    file. Where the file cannot be read, the user decides."""
    exe = _exe(pid)
    if not (stat[0].startswith("hotcell") or os.path.basename(exe).startswith("hotcell")):
        return None
    if exe:
        return exe == os.path.realpath(HOTCELL)
    uids = re.search(rb"^Uid:\t(\d+)", slurp(f"/proc/{pid}/status") or b"", re.M)
    uid = int(uids[1]) if uids else None
    return (uid != ACCOUNT if IS_ROOT else uid == os.getuid()) and _is_kin(stat)


def _exe(pid):
    """The program a process runs, or nothing where it may not be asked or has ended."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def _is_kin(stat):
    """Whether what started a hotcell may be ours. An orphan has nobody to ask; what is below these tests or below our
    hotcell is; what is below another program, such as root's other suite that runs at the same time, is not."""
    while stat and stat[2] > 1:
        exe = _exe(stat[2])
        if stat[2] == os.getpid() or exe == os.path.realpath(HOTCELL):
            return True
        if os.path.basename(exe).startswith("hotcell"):
            return False
        stat = stat_of(stat[2])
    return not stat or stat[0].startswith("hotcell")


def is_others(pid):
    """Whether a process of this number lives and is no hotcell of ours: what bears the number is its."""
    stat = stat_of(pid)
    return bool(stat) and not _whose(pid, stat)


def _processes():
    for pid in pids():
        stat = stat_of(pid)
        if stat and _whose(pid, stat):
            if stat[1] == "Z" and stat[2] == 1 and stat[0] in ("hotcell-zygote", "hotcell-collect", "hotcell-guard"):
                continue  # it has gone as it should and is process 1's to reap, which may take a moment
            yield "zombie" if stat[1] == "Z" else "process", pid, stat[0], stat[3]


def _cgroups():
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            pid = re.fullmatch(r"hotcell-(\d+).*", name)
            if name.startswith("hotcell") and not (pid and is_others(pid[1])) and _is_own(os.path.join(folder, name)):
                yield "cgroup", os.path.join(folder, name)


def _is_own(folder):
    """Whether a cgroup is of who runs this suite: one whose supervisor was killed tells no more than who made it."""
    try:
        return os.stat(folder).st_uid == os.getuid()
    except OSError:
        return False  # it has gone


def _mounts():
    for line in (slurp("/proc/self/mountinfo") or b"").decode(errors="replace").splitlines():
        fields = line.split()
        strange = fields[4].startswith(("/tmp/", "/run/", "/var/"))
        if not strange or "hotcell" in line or "celltests" in line:
            yield "mount", fields[4], fields[0]


def _files():
    tops = [Path("/run"), Path("/tmp"), Path("/dev/shm"), Path("/var/tmp")]
    if os.environ.get("XDG_RUNTIME_DIR"):
        tops.append(Path(os.environ["XDG_RUNTIME_DIR"]))
    for top in tops:
        for entry in top.glob("hotcell*"):
            if re.match(r"hotcell-(test|bench|demo)", entry.name):
                continue  # of those who try us out
            with contextlib.suppress(OSError):  # it may go while we look
                if entry.lstat().st_uid == os.getuid() and not _is_in_use(entry):
                    yield from _left_in(entry)


def _is_in_use(entry):
    """Whether it is the folder of canaries, or of a review, of a hotcell that lives: it holds a lock on it."""
    if not entry.name.startswith(("hotcell-plant.", "hotcell-review.")):
        return False
    fd = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _left_in(entry):
    """The folder of live cells may stay; nothing in it may."""
    if not re.fullmatch(r"hotcell(-\d+)?", entry.name) or not entry.is_dir():
        yield "file", str(entry)
        return
    for name in os.listdir(entry):
        pid = re.fullmatch(r"(\d+)\.(?:sock|keep)", name)
        if not (pid and is_others(pid[1])):
            yield "file", str(entry / name)


def _shared():
    for kind in ("shm", "sem", "msg"):
        for line in (slurp(f"/proc/sysvipc/{kind}") or b"").splitlines()[1:]:
            yield "sysv " + kind, line.split()[1].decode()
    for name in os.listdir("/dev/shm"):
        yield "shared memory", name


def machine():
    """Everything a cell could leave behind on this machine."""
    return {thing for look in (_processes, _cgroups, _mounts, _files, _shared) for thing in look()}


def leftovers(before, seconds=4.0):
    """What has appeared since `before` and does not go away. Things that come and go, such as
    another hotcell on the same machine, are not ours."""
    left = machine() - before
    deadline = time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left &= machine()
    return left

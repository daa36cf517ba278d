"""Measures functions fuzzed by hotcell beside the same engine started by hand, and calls in a cell beside calls outside.

The bare side is what `hotcell fuzz function --export-harness` prints: the very command, flags, harness and environment that
hotcell runs in a cell, with this machine's paths; no process of hotcell is there while it runs. Both sides have the same
target, seed and time, take turns, and are timed alike: from the engine's first execution to its end, by what the engine says
of its executions. Limits that are choices (--cpus, --nice) are set so that they limit nothing. The turns are short:
both engines are there at once, and while one runs the other one is stopped, ten times a second, so that what else this machine
does meets both. Only the time in which an engine was not stopped is counted. What hotcell does beside the engine (--no-deepen)
is left out of that, for it would disturb the other one, too.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import select
import shutil
import signal
import statistics
import subprocess
import time

from campaigns import Broken

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ENGINES = ROOT / "build-engines"
PATIENCE = 300
CHUNK = 65536
SLICE = 0.05  # seconds of one engine, then of the other
SEEDING = 4  # seconds for the inputs that calls begin with
SETTLE = 0.3  # seconds after the first execution by hand: the other one has begun, too

# One row a language: what is fuzzed for its rate, and where the planted bug is.
LANGUAGES = {
    "Python": ("bench/functions/parser.py:count", "examples/waterfall/python/waterfall.py:check"),
    "C": ("bench/functions/parser.c:count", "examples/waterfall/c/waterfall.c:check"),
    "JavaScript": ("bench/functions/parser.js:count", "examples/waterfall/javascript/waterfall.js:check"),
    "Go": ("bench/functions/go/parser.go:Count", "examples/waterfall/go/waterfall.go:check"),
    "Rust": ("bench/functions/rust::count", "examples/waterfall/rust/waterfall.rs:check"),
    "Java": ("bench/functions/Parser.java:count", "examples/waterfall/java/Waterfall.java:check"),
}
OPERATIONS = {"simple": "a simple function", "complex": "a complex function", "crash": "a failure, noticed"}


def engines():
    """Where tools/setup.sh put the engines: a folder a language."""
    found = []
    for folder in sorted(ENGINES.iterdir()) if ENGINES.is_dir() else []:
        if folder.is_dir() and folder.name != "go":  # that is what is compiled of it
            found += ["--engine", f"{folder.name}={folder}"]
    return found


class Watched:
    """An engine by hand: when its first execution was, how many it says it had, and when it ended."""

    FINAL = re.compile(rb"stat::number_of_executed_units:\s*(\d+)")
    COUNT = re.compile(rb"^#(\d+)[\t :]", re.M)

    def __init__(self, commands, until_crash=False):
        self.until_crash = until_crash
        env = {"PATH": os.environ["PATH"], "HOME": commands["cwd"], "LANG": "C.UTF-8"}
        env.update(each.split("=", 1) for each in commands["environment"])
        self.crashes = pathlib.Path(commands["crashes"])
        self.ready = self.crashed = None
        self.begun = time.monotonic()
        self.engine = subprocess.Popen(commands["run"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                                       stdin=subprocess.DEVNULL, cwd=commands["cwd"], start_new_session=True)

    def run(self):
        """Until it ends, or has crashed."""
        engine, until_crash, said = self.engine, self.until_crash, b""
        try:
            while True:
                if select.select([engine.stderr], [], [], 0.01)[0]:
                    chunk = os.read(engine.stderr.fileno(), CHUNK)
                    if not chunk:
                        break
                    said = (said + chunk)[-4 * CHUNK:]
                    if self.ready is None and b"INITED" in said:
                        self.ready = time.monotonic() - self.begun
                if until_crash and self.has_crashed():
                    break
                if time.monotonic() - self.begun > PATIENCE:
                    raise Broken("the engine by hand did not end")
            self.seconds = time.monotonic() - self.begun
        finally:
            if until_crash or engine.poll() is None:
                try:
                    os.killpg(engine.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            engine.wait()
            engine.stderr.close()
        if until_crash:
            self.has_crashed()
        told = self.FINAL.findall(said) or self.COUNT.findall(said)
        self.execs = int(told[-1]) if told else 0
        if self.ready is None:
            raise Broken(f"the engine by hand did not begin: {said[-300:].decode(errors='replace').strip()}")
        return self

    def send(self, number):
        os.killpg(self.engine.pid, number)

    def has_crashed(self):
        if self.crashed is None and any(self.crashes.iterdir()):
            self.crashed = time.monotonic() - self.begun
        return self.crashed is not None


class Inside:
    """The engine that hotcell runs, seen from outside its cell."""

    LIMITS = re.compile(rb"-(max_total_time|runs)=")

    def __init__(self, hotcell):
        self.hotcell, self.pids = hotcell, []

    def wait(self):
        until = time.monotonic() + PATIENCE
        while not self.pids:
            if time.monotonic() > until or not pathlib.Path(f"/proc/{self.hotcell}").exists():
                raise Broken("hotcell did not start an engine")
            time.sleep(0.02)
            self.look()

    def look(self):
        """It may be more than one process, and they do not come all at once."""
        self.pids = [pid for pid in below(self.hotcell) if self.LIMITS.search(slurp(f"/proc/{pid}/cmdline"))]

    def lives(self):
        return any(slurp(f"/proc/{pid}/cmdline") for pid in self.pids)

    def send(self, number):
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def slurp(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def below(pid):
    """All that it started, and what those did."""
    for child in slurp(f"/proc/{pid}/task/{pid}/children").split():
        yield int(child)
        yield from below(int(child))


def take_turns(engines, is_over):
    """One runs, the other one is stopped; for how long each was. Both run at the end."""
    stopped = dict.fromkeys(engines, 0.0)
    try:
        while not is_over():
            for rests, send in engines.items():
                begun = time.monotonic()
                send(signal.SIGSTOP)
                time.sleep(SLICE)
                send(signal.SIGCONT)
                stopped[rests] += time.monotonic() - begun
    except ProcessLookupError:
        pass  # the one by hand has ended
    finally:
        for send in engines.values():
            try:
                send(signal.SIGCONT)
            except ProcessLookupError:
                pass
    return stopped


class Made:
    """What was built once, by hand and by hotcell, for all rounds."""

    SEED = re.compile(r"-?-seed=(\d+)")

    def __init__(self, seconds, commands, place):
        self.seconds, self.commands, self.place = seconds, commands, place
        self.corpus, self.begin, self.cache = pathlib.Path(commands["corpus"]), place / "begin", place / "cache"
        shutil.copytree(self.corpus, self.begin)

    def again(self, number):
        """The commands of a round, which begins with what the first one began with and another seed."""
        shutil.rmtree(self.corpus)
        shutil.copytree(self.begin, self.corpus)
        return {**self.commands, "run": [self.seeded(word, number) for word in self.commands["run"]]}

    def seeded(self, word, number):
        found = self.SEED.fullmatch(word)
        return word[:found.start(1)] + str(int(found[1]) + number) if found else word

    def give_cache(self, state):
        if self.cache.is_dir():
            shutil.copytree(self.cache, state / "state" / "cache", symlinks=True)

    def keep_cache(self, state):
        if (state / "state" / "cache").is_dir() and not self.cache.is_dir():
            (state / "state" / "cache").rename(self.cache)

    def remove(self):
        shutil.rmtree(self.place, ignore_errors=True)


class Functions:
    def __init__(self, hotcell, stage):
        self.hotcell, self.stage, self.made = hotcell, stage, 0
        self.setups = {}  # of each language that was measured
        self.free = ["--cpus", str(os.cpu_count()), "--nice", "0", "--no-coverage"]

    def folder(self):
        self.made += 1
        place = self.stage / f"function-{self.made}"
        place.mkdir()
        return place

    def command(self, target, place, *more):
        path = target if target.startswith("/") else str(ROOT / target)
        return [str(self.hotcell), "fuzz", "function", path, "--state", str(place / "state"), *engines(), *map(str, more)]

    def absent(self, target):
        """Why the language is not measured; None if it is."""
        path = ROOT / target.split(":")[0]
        if not path.exists():
            return "there is no such target here"
        place = self.folder()
        tried = subprocess.run(self.command(target, place, "--export-harness", place / "try", "--json"), capture_output=True,
                               text=True, timeout=PATIENCE)
        shutil.rmtree(place, ignore_errors=True)
        return None if tried.returncode == 0 else tried.stderr.strip().splitlines()[-1].removeprefix("hotcell: ")

    def bare(self, target, *limits, until_crash=False):
        """Build and run by hand; the seconds that the build took, and the engine."""
        built, commands, place = self.built(target, *limits)
        try:
            return built, Watched(commands, until_crash).run()
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def built(self, target, *limits):
        """By hand: the seconds that took, the commands, and the folder it is in."""
        place = self.folder()
        ran = subprocess.run(self.command(target, place, "--export-harness", place / "bare", "--json", *limits),
                             capture_output=True, text=True, timeout=PATIENCE)
        if ran.returncode != 0:
            raise Broken(f"--export-harness: {ran.stderr.strip()}")
        commands, built = json.loads(ran.stdout), 0
        if commands["build"]:
            env = {**os.environ, **dict(each.split("=", 1) for each in commands["environment"])}
            begun = time.monotonic()
            made = subprocess.run(commands["build"], capture_output=True, text=True, cwd=commands["cwd"], env=env,
                                  timeout=PATIENCE)
            built = time.monotonic() - begun
            if made.returncode != 0:
                raise Broken(f"the build by hand: {made.stderr.strip()[-300:]}")
        return built, commands, place

    def celled(self, target, *limits):
        """A whole `hotcell fuzz function`; its JSON."""
        place = self.folder()
        ran = subprocess.run(self.command(target, place, "--json", "--quiet", *self.free, *limits), capture_output=True,
                             text=True, timeout=PATIENCE)
        shutil.rmtree(place, ignore_errors=True)
        return self.judged(ran.stdout, ran.stderr)

    @staticmethod
    def judged(out, err):
        try:
            said = json.loads(out)
        except ValueError:
            raise Broken(f"fuzz function: {err.strip()[-300:]}") from None
        if said["targets"][0]["problems"]:
            raise Broken(f"fuzz function: {said['targets'][0]['problems'][0][:300]}")
        return said["targets"][0]

    def rates(self, target, rounds, seconds):
        """In short turns; of each the executions a second of every round, and the set-up until the first one, which is that of
        the first round: the others have what it built, and so are many."""
        found = {"bare": [], "cell": [], "bare_setup": [], "cell_setup": []}
        seeds = self.seeds(target, seconds)
        limits = lambda number: ("--duration", f"{seconds}s", "--seed", number + 1, *seeds)
        made = Made(*self.built(target, *limits(0)))
        try:
            for number in range(rounds):
                engine, said, stopped = self.side_by_side(target, made, number, *limits(number))
                found["bare"].append(engine.execs / (engine.seconds - engine.ready - stopped["bare"]))
                found["cell"].append(said["execs"] / ((said["fuzzed_ms"] - said["first_exec_ms"]) / 1000 - stopped["cell"]))
                if number == 0:
                    found["bare_setup"].append(made.seconds + engine.ready)
                    found["cell_setup"].append((said["begun_ms"] + said["first_exec_ms"]) / 1000)
        finally:
            made.remove()
        return found

    def seeds(self, target, seconds):
        """What the engine by hand finds in that time, if anything, as an option for both: how long inputs are, and so how many
        a second there can be, is else a matter of luck."""
        _, commands, place = self.built(target, "--duration", f"{seconds}s", "--seed", 1)
        Watched(commands).run()
        kept = self.folder()
        for file in (each for folder in place.rglob("corpus") for each in os.scandir(folder.resolve()) if each.is_file()):
            shutil.copyfile(file.path, kept / file.name)
        shutil.rmtree(place, ignore_errors=True)
        return ["--seed-corpus", kept] if any(kept.iterdir()) else []

    def side_by_side(self, target, made, number, *limits):
        """Both at once, one running and one stopped; the engine by hand, hotcell's JSON, and for how long each was stopped."""
        commands, state = made.again(number), self.folder()
        made.give_cache(state)
        hotcell = subprocess.Popen(self.command(target, state, "--json", "--quiet", *self.free, "--no-deepen", *limits),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            told = concurrent.futures.ThreadPoolExecutor(2)
            said = told.submit(hotcell.communicate, timeout=PATIENCE)
            inside = Inside(hotcell.pid)
            inside.wait()
            engine = Watched(commands)
            ended = told.submit(engine.run)
            while engine.ready is None and not ended.done():
                time.sleep(0.01)
            time.sleep(SETTLE)
            inside.look()
            stopped = take_turns({"bare": engine.send, "cell": inside.send}, lambda: ended.done() or not inside.lives())
            said = self.judged(*said.result())
            made.keep_cache(state)
            return ended.result(), said, stopped
        finally:
            if hotcell.poll() is None:
                hotcell.kill()
            told.shutdown()
            shutil.rmtree(state, ignore_errors=True)

    def proven(self, target, *limits):
        """hotcell until the planted bug is a finding: seconds of the engine until it met it, and of the whole."""
        begun = time.monotonic()
        said = self.celled(target, "--max-findings", 1, *limits)
        if not said["first_crash_ms"] or not said["crashes"]:
            raise Broken("hotcell did not find the planted bug")
        return said["first_crash_ms"] / 1000, time.monotonic() - begun

    def bugs(self, target, rounds, seconds):
        """Until the planted bug, in turns, the same seeds for both."""
        found = {"bare": [], "cell": [], "proven": []}
        for number in range(rounds):
            limits = ("--duration", f"{seconds}s", "--seed", number + 1)
            _, engine = self.bare(target, *limits, until_crash=True)
            if engine.crashed is None:
                raise Broken(f"the engine by hand did not find the planted bug within {seconds} s")
            found["bare"].append(engine.crashed)
            met, whole = self.proven(target, *limits)
            found["cell"].append(met)
            found["proven"].append(whole)
        return found

    def calls(self, operation, rounds, count):
        """Seconds of one call: outside and in a cell, of so many."""
        found = {"bare": [], "cell": []}
        target = f"bench/functions/operations.py:{operation}"
        seeds = [] if operation == "crash" else self.seeds(target, SEEDING)
        made = Made(*self.built(target, "--max-execs", count, "--seed", 1, *seeds))
        try:
            for number in range(rounds):
                engine, said, stopped = self.side_by_side(target, made, number, "--max-execs", count, "--seed", number + 1, *seeds)
                found["bare"].append((engine.seconds - engine.ready - stopped["bare"]) / engine.execs)
                found["cell"].append(((said["fuzzed_ms"] - said["first_exec_ms"]) / 1000 - stopped["cell"]) / said["execs"])
        finally:
            made.remove()
        return found


def middle(values):
    return statistics.median(values)

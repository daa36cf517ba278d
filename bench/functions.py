"""Measures functions fuzzed by hotcell beside the same engine started by hand, and calls in a cell beside calls outside.

The bare side is what `hotcell fuzz function --export-harness` prints: the very command, flags, harness and environment that
hotcell runs in a cell, with this machine's paths; no process of hotcell is there while it runs. Both sides have the same
target, seed and time, take turns, and are timed alike: from the engine's first execution to its end, by what the engine says
of its executions. Limits that are choices (--cpus, --nice) are set so that they limit nothing.
"""
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
        env = {"PATH": os.environ["PATH"], "HOME": commands["cwd"], "LANG": "C.UTF-8"}
        env.update(each.split("=", 1) for each in commands["environment"])
        self.crashes = pathlib.Path(commands["crashes"])
        self.ready = self.crashed = None
        said = b""
        self.begun = time.monotonic()
        engine = subprocess.Popen(commands["run"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                                  stdin=subprocess.DEVNULL, cwd=commands["cwd"], start_new_session=True)
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

    def has_crashed(self):
        if self.crashed is None and any(self.crashes.iterdir()):
            self.crashed = time.monotonic() - self.begun
        return self.crashed is not None


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
        try:
            return built, Watched(commands, until_crash)
        finally:
            shutil.rmtree(place, ignore_errors=True)

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
        """In turns; of each the executions a second of every round, and the set-up until the first one."""
        found = {"bare": [], "cell": [], "bare_setup": [], "cell_setup": []}
        for number in range(rounds):
            limits = ("--duration", f"{seconds}s", "--seed", number + 1)
            for who in ("bare", "cell") if number % 2 == 0 else ("cell", "bare"):
                if who == "bare":
                    built, engine = self.bare(target, *limits)
                    found["bare"].append(engine.execs / (engine.seconds - engine.ready))
                    found["bare_setup"].append(built + engine.ready)
                else:
                    said = self.celled(target, *limits)
                    found["cell"].append(said["execs"] / (said["fuzzed_ms"] - said["first_exec_ms"]) * 1000)
                    found["cell_setup"].append((said["begun_ms"] + said["first_exec_ms"]) / 1000)
        return found

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
        for number in range(rounds):
            limits = ("--max-execs", count, "--seed", number + 1)
            for who in ("bare", "cell") if number % 2 == 0 else ("cell", "bare"):
                if who == "bare":
                    _, engine = self.bare(target, *limits)
                    found["bare"].append((engine.seconds - engine.ready) / engine.execs)
                else:
                    said = self.celled(target, *limits)
                    found["cell"].append((said["fuzzed_ms"] - said["first_exec_ms"]) / 1000 / said["execs"])
        return found


def middle(values):
    return statistics.median(values)

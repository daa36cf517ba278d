"""Measures values made from schemas, and planted bugs found with them, beside Hypothesis and json-schema-faker.

The peers are where `tools/setup.sh bench` put them, in build-peers. All times are processor time without a program's
start, except where hotcell is run as a whole: then it is the clock's, from exec to exit.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

from campaigns import Broken

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / "build-peers"
QUICK_ROUNDS = 3  # times the rounds, where a round is short
PATIENCE = 400
NAMES = {"file-tool": "a flat file tool", "grammar-tutor": "a grammar tutor", "http-tool": "an HTTP tool, nested",
         "sql-tool": "an SQL tool, oneOf", "tree": "a recursive tree"}

sys.path.insert(0, str(HERE / "planted"))
from bugs import BUGS  # noqa: E402


def compact(value):
    """Bytes of a value as JSON without spaces."""
    return len(json.dumps(value, separators=(",", ":")))


def asked(command, what, env=None):
    """The last line that a program says, as JSON."""
    ran = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=PATIENCE, env=env)
    lines = ran.stdout.strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        said = ran.stderr.strip().splitlines()
        raise Broken(f"{what}: {said[-1] if said else f'exit code {ran.returncode}'}") from None


class Schemas:
    def __init__(self, build, stage):
        self.programs, self.hotcell, self.stage = build.parent / "bench", build, stage
        self.python = PEERS / "venv/bin/python"
        self.faker = PEERS / "npm/node_modules/json-schema-faker/dist/index.js"

    @staticmethod
    def path(schema):
        return HERE / f"schemas/{schema}.json"

    def absent(self):
        """Why there is nothing to compare with; None if there is."""
        missing = [each.name for each in (self.python, self.faker) if not each.exists()]
        return f"not installed: 'tools/setup.sh bench' does ({', '.join(missing)})" if missing else None

    # ---- values for each second ----

    def hotcell_rate(self, schema, seconds):
        ran = subprocess.run([str(self.programs / "examples"), str(self.path(schema)), str(seconds)], capture_output=True,
                             text=True, timeout=PATIENCE)
        if ran.returncode != 0:
            raise Broken(f"examples: {ran.stderr.strip()}")
        rate, size = ran.stdout.split()
        return {"per_second": float(rate), "bytes": float(size)}

    def rates(self, schema, rounds, seconds):
        """In turns; the middle of each."""
        found = {"hotcell": [], "hypothesis": [], "faker": []}
        peers = self.absent() is None
        for _ in range(rounds):
            found["hotcell"].append(self.hotcell_rate(schema, seconds))
            if not peers:
                continue
            found["hypothesis"].append(asked([self.python, HERE / "planted/peer.py", "rate", self.path(schema), seconds],
                                             "Hypothesis"))
            found["faker"].append(asked(["node", HERE / "planted/peer.mjs", self.faker, self.path(schema), seconds],
                                        "json-schema-faker"))
        return {name: self.middle(all_of) for name, all_of in found.items() if all_of}

    @staticmethod
    def middle(all_of):
        raised = [each for each in all_of if "raises" in each]
        if raised:
            return raised[0]
        return {key: statistics.median(each[key] for each in all_of) for key in ("per_second", "bytes")}

    # ---- planted bugs ----

    def alone(self, bug, seeds):
        """The generator and the shrinker without a process to call: the middle of several seeds."""
        all_of = []
        for seed in range(1, seeds + 1):
            got = asked([self.programs / "find", bug, self.path(BUGS[bug][0]), seed], f"find {bug}")
            if got.get("values") is None:
                raise Broken(f"{bug} was not found by values alone (seed {seed})")
            got["bytes"] = compact(got["example"])
            all_of.append(got)
        all_of.sort(key=lambda each: each["seconds"])
        worst = max(all_of, key=lambda each: each["bytes"])
        return {**all_of[len(all_of) // 2], "bytes": worst["bytes"], "example": worst["example"]}

    def hypothesis(self, bugs, most):
        """Each bug, two at a time."""
        def one(bug):
            return bug, asked([self.python, HERE / "planted/peer.py", "find", self.path(BUGS[bug][0]), bug, most],
                              f"Hypothesis, {bug}")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return dict(pool.map(one, bugs))

    def native(self, bug, rounds, most):
        """The same native tool with either, each a whole process from exec to exit, in turns: the middle times. Hypothesis
        tries what it has made small once more; so do we where the two are compared, and as often as by default beside it."""
        tool, schema = self.stage / "tool", self.path(BUGS[bug][0])
        ours, believed, theirs = [], [], []
        for seed in range(1, QUICK_ROUNDS * rounds + 1):
            for times, more in ((ours, ["--replays", 1]), (believed, [])):
                seconds, said = self.fuzz("--schema", schema, "--max-findings", 1, "--max-calls", 3000000, "--seed", seed,
                                          *more, "--mount", f"{tool}:/bench/tool", "--", "/bench/tool", bug)
                if not said["findings"]:
                    raise Broken(f"{bug} was not found in a native tool (seed {seed})")
                times.append({"seconds": seconds, "bytes": compact(json.loads(said["findings"][0]["input"]))})
            if theirs and (theirs[-1]["seconds"] > 10 or "raises" in theirs[-1]):
                if seed >= rounds:
                    break
                continue  # once is enough of what takes so long
            begun = time.monotonic()
            said = asked([self.python, HERE / "planted/peer.py", "find", schema, bug, most, tool], f"Hypothesis, {bug}",
                         {**os.environ, "SEED": str(seed)})
            theirs.append({**said, "seconds": time.monotonic() - begun})
            if seed >= rounds and theirs[-1]["seconds"] > 2:
                break
        middle = lambda all_of: sorted(all_of, key=lambda each: each["seconds"])[len(all_of) // 2]
        return middle(ours), middle(believed), middle(theirs)

    def has_fuzz(self):
        tried = subprocess.run([str(self.hotcell), "fuzz", "tool", "--help"], capture_output=True, timeout=PATIENCE)
        return tried.returncode == 0

    def fuzz(self, *arguments, folder="fuzz"):
        """A whole `hotcell fuzz tool`: seconds by the clock, and its JSON."""
        place = self.stage / f"{folder}-{time.monotonic_ns()}"
        place.mkdir()
        command = [str(self.hotcell), "fuzz", "tool", "--json", *map(str, arguments)]
        begun = time.monotonic()
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=place)
        seconds = time.monotonic() - begun
        try:
            return seconds, json.loads(ran.stdout)
        except ValueError:
            said = (ran.stderr or ran.stdout).strip().splitlines()
            raise Broken(f"fuzz tool: {said[-1] if said else f'exit code {ran.returncode}'}") from None


    # ---- calls ----

    def line_rates(self, rounds, calls):
        """Calls a second of a program that answers lines: in a cell, without one, and by a loop in Python. Without a cell
        nothing is planted, so in the one that is compared with it nothing is, either."""
        found = {"cell": [], "none": [], "planted": [], "python": []}
        mounted = ["--mount", f"{program_of(self.stage)}:/bench/echo"]
        program = program_of(self.stage)
        for number in range(rounds):
            for name, more in (("cell", [*mounted, "--no-canaries"]), ("none", ["--backend", "none"]), ("planted", mounted)):
                where = program if name == "none" else "/bench/echo"
                _, said = self.fuzz("--schema", self.path("file-tool"), "--max-calls", calls, "--seed", number + 1, *more,
                                    "--", where)
                found[name].append(self.rate_of(said))
            found["python"].append(python_rate(program, calls))
        return {name: statistics.median(rates) for name, rates in found.items()}

    @staticmethod
    def rate_of(said):
        return said["calls"] / said["wall_ms"] * 1000

    def whole_finds(self):
        found = {}
        for bug, (schema, _) in BUGS.items():
            folder = HERE / "planted"
            seconds, said = self.fuzz("--schema", self.path(schema), "--max-findings", 1, "--max-calls", 300000, "--seed", 1,
                                      "--mount", f"{folder}:/bench/planted", "--", "python3", "/bench/planted/tool.py", bug)
            findings = said["findings"]
            if findings:
                example = json.loads(findings[0]["input"])
                found[bug] = {"seconds": seconds, "example": example, "bytes": compact(example)}
        return found


def program_of(stage):
    return str(stage / "echo")


def python_rate(program, calls):
    """The plainest client: a line to a pipe, a line from another."""
    line = b'{"path":"a","offset":0,"limit":1,"encoding":"utf-8"}\n'
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        begun = time.monotonic()
        for _ in range(calls):
            server.stdin.write(line)
            server.stdin.flush()
            if not server.stdout.readline():
                raise Broken("the program that answers lines ended")
        seconds = time.monotonic() - begun
        server.stdin.close()
    return calls / seconds


def describe(text):
    """What a peer raised, short."""
    return re.sub(r"\s+", " ", text).split(" in schema=")[0][:90]


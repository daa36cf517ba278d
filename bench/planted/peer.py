"""Hypothesis on a schema, for ../schemas.py:

    python3 peer.py rate SCHEMA SECONDS         examples for each second of processor time
    python3 peer.py find SCHEMA BUG SECONDS     time to find and shrink one of bugs.py
    python3 peer.py find SCHEMA BUG SECONDS TOOL    the same bug in a native tool, started and called through pipes

A line of JSON is said at the end. Times are processor time without start and imports. All settings are Hypothesis' own,
except for those that would end it early: no deadline, no health checks, and as many examples as there is time for. The
phase that explains a failure is left out of the time.
"""
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis_jsonschema import from_schema

from bugs import BUGS, Planted

SHRINKING = 120  # seconds, once it is found
warnings.simplefilter("ignore")
now = time.process_time


def say(**facts):
    print(json.dumps(facts), flush=True)
    os._exit(0)


def options(**more):
    phases = [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]
    return settings(max_examples=10 ** 9, deadline=None, database=None, suppress_health_check=list(HealthCheck),
                    phases=phases, **more)


def rate(strategy, seconds):
    begun, count, size = now(), 0, 0

    @seed(1)
    @options()
    @given(strategy)
    def test(value):
        nonlocal count, size
        count += 1
        size += len(json.dumps(value, separators=(",", ":")))
        if now() - begun >= seconds:
            say(per_second=count / (now() - begun), count=count, bytes=size / count)
    test()
    say(per_second=count / (now() - begun), count=count, bytes=size / max(count, 1))


class Search:
    def __init__(self, tool):
        self.tool, self.begun, self.clock = tool, now(), time.monotonic()
        self.found, self.seconds, self.calls, self.text = None, None, 0, None

    def end(self, shrunk):
        said = json.loads(self.text) if self.text else None
        say(found=self.found, seconds=now() - self.begun, clock=time.monotonic() - self.clock, calls=self.calls, shrunk=shrunk, example=said,
            bytes=len(self.text) if self.text else None)

    def call(self, value):
        self.calls += 1
        try:
            self.tool(value)
        except Planted:
            self.text = json.dumps(value, separators=(",", ":"))
            if self.found is None:
                self.found = now() - self.begun
                signal.setitimer(signal.ITIMER_PROF, SHRINKING)
            raise


class Native:
    """A tool in a process of its own, begun again when it has ended: the plainest way to call one."""

    def __init__(self, path, bug):
        self.command, self.process = [path, bug], None

    def __call__(self, value):
        if not self.process:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdin.write(json.dumps(value).encode() + b"\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            self.process.wait()
            self.process = None
            raise Planted("it ended")


def find(strategy, name, seconds, tool=None):
    search = Search(Native(tool, name) if tool else BUGS[name][1])
    signal.signal(signal.SIGPROF, lambda *_: search.end(False))
    signal.setitimer(signal.ITIMER_PROF, seconds)

    @seed(int(os.environ.get("SEED", "1")))
    @options()
    @given(strategy)
    def test(value):
        search.call(value)
    try:
        test()
    except Planted:
        pass  # the last call was the smallest, once more
    search.end(True)


def main():
    kind, path = sys.argv[1:3]
    random.seed(1)
    try:
        with open(path, encoding="utf-8") as file:
            strategy = from_schema(json.load(file))
        if kind == "rate":
            rate(strategy, float(sys.argv[3]))
        find(strategy, sys.argv[3], float(sys.argv[4]), *sys.argv[5:6])
    except Exception as error:  # whatever a schema is to it that it does not know
        say(raises=f"{type(error).__name__}: {error}"[:200])


if __name__ == "__main__":
    main()

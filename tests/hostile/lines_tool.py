"""A tool that takes a JSON document a line and is hostile in one way, by name.

    python3 lines_tool.py two-answers
"""

import json
import os
import sys
import time


def ok(line):
    print(json.dumps({"status": "ok"}), flush=True)


def never(line):
    time.sleep(1000)


def two_answers(line):
    ok(line)
    ok(line)


def huge_line(line):
    for _ in range(1024):
        os.write(1, b"x" * (1 << 20))


def invalid(line):
    os.write(1, b'{"status": "\xff\xfe"}\n')


def no_json(line):
    print("Traceback: what?", flush=True)


def deep(line):
    os.write(1, b"[" * 100_000 + b"]" * 100_000 + b"\n")


def ends(line):
    os._exit(3)


def dies(line):
    os.kill(os.getpid(), 11)


def memory(line):
    bytearray(2 << 30)[:: 4096] = b"x" * ((2 << 30) // 4096)


def forks(line):
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.1)


KINDS = {name.replace("_", "-"): kind for name, kind in list(globals().items()) if callable(kind)}

if __name__ == "__main__":
    for each in sys.stdin:
        KINDS[sys.argv[1]](each)

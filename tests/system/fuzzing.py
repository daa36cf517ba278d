"""Fuzzing as the tests do it: small tools with a fault, and hotcell over them."""

import json
import shutil
import subprocess

import harness
from harness import hotcell

HOSTILE = harness.ROOT / "tests" / "hostile"
QUICK = ("--replays", "2", "--call-timeout", "1s", "--seed", "7")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}}, "required": ["text"],
          "additionalProperties": False}
FRAME = '''import json
import os
import sys
import time

for line in sys.stdin:
    text = json.loads(line)["text"]
    try:
        {body}
    except Exception as error:
        said = {{"error": type(error).__name__ + ": " + str(error)}}
    print(json.dumps(said), flush=True)
'''
FINE = 'said = {"status": "ok"}'
FAULTY = 'said = {"status": {}[text]}'


def python_environment(folder):
    """A copy of the environment with Atheris, without what only installs; see tools/setup.sh."""
    shutil.copytree(harness.ROOT / "build-engines" / "python", folder, symlinks=True,
                    ignore=shutil.ignore_patterns("pip*", "setuptools*", "pkg_resources", "*.a", "*san_*.so", "lib64", "include"))
    return folder


def tool(folder, body, schema=SCHEMA):
    """A tool of one line, with its schema, in this folder."""
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "tool.py").write_text(FRAME.format(body=body))
    for name in ("schema.json", "tool.py"):
        (folder / name).chmod(0o644)


def server(folder, name):
    shutil.copy(HOSTILE / name, folder / name)
    (folder / name).chmod(0o644)


def fuzz_tool(folder, *options, calls=12, command=("python3", "tool.py"), **more):
    return hotcell("fuzz", "tool", "--schema", "schema.json", "--max-calls", str(calls), *QUICK, *options, "--", *command, cwd=folder,
                   timeout=120, **more)


def fuzz_mcp(folder, *options, calls=20, command=(), **more):
    return hotcell("fuzz", "mcp", "--max-calls", str(calls), *QUICK, *options, "--", "python3", *command, cwd=folder, timeout=160, **more)


def said(ran):
    """The object of --json."""
    assert ran.out, ran
    return json.loads(ran.out)


def found(ran):
    return {(each["oracle"], each["subject"]) for each in said(ran)["findings"]}


def capsules(folder):
    return sorted((folder / ".hotcell" / "findings").glob("*.json"))


def core_shows(state, finding):
    """The frames of the core that is kept beside a finding, as gdb has them."""
    folder = state / "findings" / finding["id"]
    assert finding["core"] and (folder / "core").stat().st_mode & 0o777 == 0o600, finding
    assert (folder / "core").stat().st_blocks * 512 < 64 << 20  # and not all that a sanitizer reserves
    return subprocess.run(["gdb", "-nx", "-batch", "-ex", "bt", folder / "program", folder / "core"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False).stdout

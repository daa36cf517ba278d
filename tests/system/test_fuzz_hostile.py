"""Targets that are hostile to whoever calls them: what comes of it is bounded in time and memory, explained, and leaves nothing."""

import os
import subprocess
import tempfile
import time

import pytest

import harness
from fuzzing import HOSTILE, found, fuzz_tool, said, server, tool, FINE

MEMORY_MAX = 300 << 10  # kB that hotcell itself may take
SECONDS_MAX = 60  # far more than any of them needs

MCP = {
    "floods": (4, "without answering"),
    "floods-in-call": (1, "without answering"),
    "floods-stderr": (1, "did not answer in time"),
    "never-answers": (4, "did not get ready"),
    "never-answers-calls": (1, "did not answer in time"),
    "answers-before": (4, "was not asked"),
    "huge-line": (1, "a line of more than"),
    "invalid-utf8": (1, "not UTF-8"),
    "duplicate-ids": (1, "twice"),
    "no-finite-instance": (3, "no finite value fits"),
    "ref-loop": (3, "refers to itself"),
    "huge-schema": (4, "a line of more than"),
    "regex-bomb": (0, "Nothing found"),
    "names-with-escapes": (0, "Nothing found"),
    "many-tools": (0, "more than 1000"),
    "exits-at-once": (4, "no licence file found"),
    "exits-after-handshake": (4, "exit code 9"),
    "forks-daemon": (0, "Nothing found"),
    "closes-stdout": (1, "closed its stdout"),
    "logs-on-stdout": (0, "Starting server on stdio"),
    "wrong-version": (4, "1999-12-31"),
    "initialize-error": (4, "'initialize'"),
    "pages-for-ever": (0, "pages"),
    "deep-answer": (1, "nested deeper"),
    "huge-numbers": (0, "Nothing found"),
    "no-tools": (3, "offers no tools"),
    "no-json": (4, "exit code 0"),
    "fine": (0, "Nothing found"),
}

LINES = {
    "never": (1, "did not answer in time"),
    "two-answers": (1, "not asked"),
    "huge-line": (1, "a line of more than"),
    "invalid": (1, "not UTF-8"),
    "no-json": (1, "not JSON"),
    "deep": (1, "nested deeper"),
    "ends": (1, "crash"),
    "dies": (1, "SIGSEGV"),
    "memory": (1, "memory"),
    "forks": (1, ""),
}


def fuzz(folder, *words):
    """Exit code, all that was said, and the kilobytes that hotcell took at most."""
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = subprocess.Popen([harness.HOTCELL, "fuzz", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   env=harness.environment())
        peak = 0
        while process.poll() is None:
            for line in (harness.slurp(f"/proc/{process.pid}/status") or b"").splitlines():
                if line.startswith(b"VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
            assert time.monotonic() - began < SECONDS_MAX, "it does not end"
            time.sleep(0.05)
        said.seek(0)
        return process.returncode, said.read().decode("utf-8", "backslashreplace"), peak


OPTIONS = ("--max-calls", "2", "--max-findings", "1", "--replays", "1", "--call-timeout", "300ms", "--start-timeout", "4s", "--seed", "1",
           "--memory", "128M", "--processes", "20")


# What takes its time to reach a limit of another kind.
PATIENT = ("--call-timeout", "20s")
# A second answer comes with the first, with the next call or, after the last one, never.
OFTEN = ("--max-calls", "2000", "--replays", "10")


def judge(kind, expected, folder, *words):
    code, text, peak = fuzz(folder, *words)
    assert code == expected[0], f"{kind}: exit {code}\n{text}"
    assert expected[1] in text, f"{kind}: {text}"
    assert peak < MEMORY_MAX, f"{kind}: {peak} kB"
    assert not any(ord(c) < 32 and c not in "\n" for c in text), repr(text)


@pytest.mark.parametrize("kind", MCP)
def test_a_hostile_server_is_borne_and_explained(place, kind):
    server(place, "mcp_server.py")
    more = OFTEN if kind == "duplicate-ids" else PATIENT if kind in ("floods-in-call", "huge-line") else ()
    judge(kind, MCP[kind], place, "mcp", *OPTIONS, *more, "--", "python3", "mcp_server.py", kind)


@pytest.mark.parametrize("kind", LINES)
def test_a_hostile_tool_is_borne_and_explained(place, kind):
    tool(place, FINE)
    server(place, "lines_tool.py")
    more = PATIENT if kind in ("memory", "huge-line") else OFTEN if kind == "two-answers" else ()
    judge(kind, LINES[kind], place, "tool", "--schema", "schema.json", *OPTIONS, *more, "--", "python3", "lines_tool.py", kind)


def test_every_hostile_one_is_tried():
    said = subprocess.run(["python3", "-c", "import mcp_server; print(*mcp_server.KINDS)"], cwd=HOSTILE, capture_output=True, check=True,
                          text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert set(said.stdout.split()) == set(MCP)


MANY = """for i in range(300):
            {what}
        os.spawnv(os.P_WAIT, "/usr/bin/env", ["env", "true"])
        said = {{"status": "ok"}}"""


def test_a_program_is_seen_behind_many_files(place):
    tool(place, MANY.format(what='open(f"/tmp/{i}", "w").close()'))
    ran = fuzz_tool(place, "--json", "--allow-write", "/tmp", calls=2)
    assert any(oracle == "spawn" for oracle, _ in found(ran)), ran
    assert any("too many to be looked at" in gap for gap in said(ran)["limitations"]), ran


def test_a_program_is_seen_behind_one_file_written_often(place):
    tool(place, MANY.format(what='open("/tmp/same", "w").close()'))
    ran = fuzz_tool(place, "--json", "--allow-write", "/tmp", calls=2)
    assert any(oracle == "spawn" for oracle, _ in found(ran)), ran


def test_it_is_said_that_more_programs_were_started_than_can_be_looked_at(place):
    tool(place, MANY.format(what='os.spawnv(os.P_WAIT, "/bin/true", ["true", str(i)])'))
    ran = fuzz_tool(place, "--json", "--allow-spawn", "true", "--call-timeout", "20s", calls=2)
    assert any("too many to be looked at" in gap for gap in said(ran)["limitations"]), ran


HUNGRY = {
    "checks": {"$defs": {"a0": {"type": "integer"}, **{f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i - 1}"}] * 2} for i in range(1, 50)}},
               "type": "object", "properties": {"x": {"$ref": "#/$defs/a49"}}, "required": ["x"]},
    "tree": {"$defs": {"a0": {"type": "string"}, **{f"a{i}": {
        "type": "object", "required": list("abcd"), "additionalProperties": {"$ref": f"#/$defs/a{i - 1}"}} for i in range(1, 30)}},
        "$ref": "#/$defs/a29"},
    "lists": {"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000}}},
}


@pytest.mark.parametrize("kind", HUNGRY)
def test_a_schema_that_asks_for_too_much_is_given_up(place, kind):
    tool(place, FINE, schema=HUNGRY[kind])
    judge(kind, (2, "than any value that is made"), place, "tool", "--schema", "schema.json", *OPTIONS, "--", "python3", "tool.py")

"""The grammar tutor of examples/: every fault that its README names is found in a minute."""

import re
import shutil

import harness
from fuzzing import found
from harness import hotcell

EXAMPLE = harness.ROOT / "examples" / "grammar-tutor"


def planted(kind):
    """The rows of the README's table: (oracle, subject)."""
    rows = re.findall(r"^\| (\w[\w-]*) \| `(\S+)` \| (tool|server|both) \|", (EXAMPLE / "README.md").read_text(), re.M)
    assert len(rows) >= 9, rows
    return {(oracle, subject) for oracle, subject, where in rows if where == kind}


def copy(place):
    folder = place / "tutor"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".hotcell"))
    folder.chmod(0o755)
    return folder


def test_a_minute_finds_every_planted_fault_of_the_tool(place):
    ran = hotcell("fuzz", "tool", "--schema", "schema.json", "--output-schema", "output-schema.json", "--malformed", "--call-timeout", "1s",
                  "--max-calls", "600", "--seed", "3", "--json", "--", "python3", "tutor.py", cwd=copy(place), timeout=170)
    assert ran.code == 1, ran
    assert planted("tool") <= found(ran), planted("tool") - found(ran)


def test_a_minute_finds_every_planted_fault_of_the_server(place):
    folder = copy(place)
    ran = hotcell("fuzz", "mcp", "--malformed", "--call-timeout", "500ms", "--max-calls", "400", "--seed", "3", "--json", "--exclude", "*_lesson",
                  "--", "python3", "mcp_server.py", cwd=folder, timeout=170)
    assert ran.code == 1, ran
    lessons = hotcell("fuzz", "mcp", "--sequence", "4", "--call-timeout", "1s", "--max-calls", "300", "--seed", "3", "--json", "--oracles", "exception",
                      "--max-findings", "1", "--tool", "*_lesson", "--", "python3", "mcp_server.py", cwd=folder, timeout=170)
    assert planted("server") <= found(ran) | found(lessons), planted("server") - found(ran) - found(lessons)

"""The grammar tutor of examples/: every fault that its README names is found, in a minute where nothing else is done."""

import re
import shutil

import pytest

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


# Quarters of a minute, so that it ends when there is nothing left to find: one or two as a rule. How many calls fit into one depends on
# what else the machine has to do.
QUARTERS = 8
OPTIONS = ["--memory", "128M", "--call-timeout", "500ms", "--duration", "15s", "--json"]


def seek(folder, wanted, *command):
    """Fuzzes until all of `wanted` is found, or there are no quarters left; what of it was not."""
    for seed in range(QUARTERS):
        ran = hotcell("fuzz", *command[:1], *OPTIONS, "--seed", str(seed), "--state", folder / f"state-{seed}", *command[1:], cwd=folder, timeout=120)
        assert ran.code == 1, ran
        wanted = wanted - found(ran)
        if not wanted:
            break
    return wanted


def test_every_planted_fault_of_the_server_is_found(place):
    folder = copy(place)
    assert ("exception", "finish_lesson") in planted("server")  # of calls that build on each other
    assert not seek(folder, planted("server"), "mcp", "--malformed", "--", "python3", "mcp_server.py")


@pytest.mark.long
def test_one_run_of_a_minute_finds_every_planted_fault_of_the_tool(place):
    folder = copy(place)
    ran = hotcell("fuzz", "tool", *OPTIONS, "--duration", "60s", "--seed", "3", "--schema", "schema.json", "--output-schema",
                  "output-schema.json", "--malformed", "--", "python3", "tutor.py", cwd=folder, timeout=150)
    assert ran.code == 1, ran
    assert not planted("tool") - found(ran)

"""Every verb once, as a user would first try it: `make check` runs these alone. What each promises has tests of its own."""

import re
import shlex
import shutil

import pytest

import harness
from fuzzing import FAULTY, fuzz_tool, tool
from harness import hotcell

TUTOR = harness.ROOT / "examples" / "grammar-tutor"


def test_every_verb_is_tried_here():
    """A verb that nobody adds here fails."""
    listed = re.findall(r"^  ([a-z][a-z -]*[a-z])  +\S", hotcell("help").out.decode(), re.M)
    with open(__file__, encoding="utf-8") as file:
        tried = set(re.findall(r'"([a-z-]+(?: [a-z-]+)?)": ', file.read()))
    assert set(listed) == tried


@pytest.fixture(scope="module")
def project(scratch):
    """A project with a finding, a fuzzed function, a campaign and an audit log."""
    place = scratch / "verbs"
    shutil.copytree(TUTOR, place)
    tool(place, FAULTY)
    (place / "t.c").write_text("int f(const char *data, unsigned long len) { if (len > 1 && data[0] == 'a') __builtin_trap(); return 0; }\n")
    (place / "seeds").mkdir()
    (place / "seeds" / "one").write_bytes(b"ab")
    assert fuzz_tool(place).code == 1
    fuzzed = hotcell("fuzz", "function", "t.c:f", "--max-findings", "1", "--no-coverage", "-q", cwd=place, timeout=100)
    assert fuzzed.code == 1, fuzzed
    ran = hotcell("campaign", "run", "--runs", "3", "--name", "three", "--", "echo", "hello", cwd=place, timeout=60)
    assert ran.code == 0, ran
    assert hotcell("run", "--audit", "run.jsonl", "--", "true", cwd=place).code == 0
    assert hotcell("manifest", "create", "seeds", cwd=place).code == 0
    return place


@pytest.fixture(scope="module")
def finding(project):
    """The tool's, which is the least severe, and quick to try again."""
    return re.findall(r" ([0-9a-f]{16}) ", hotcell("findings", "list", cwd=project).out.decode())[-1]


TABLE = {  # words after the verb, exit code, what stdout or stderr has
    "run": ("-- sh -c 'echo hello; id -u'", 0, "hello"),
    "ps": ("", 0, "ID"),
    "kill": ("no-such-cell", 125, "no-such-cell"),
    "exec": ("no-such-cell -- true", 125, "no-such-cell"),
    "doors": ("", 0, ""),
    "logs": ("three/1", 0, "hello"),
    "campaign run": ("--runs 2 --name two -- true", 0, "All 2 sessions complete"),
    "campaign init": ("new.yaml", 0, ""),
    "campaign schema": ("", 0, "$schema"),
    "campaign list": ("", 0, "three"),
    "campaign show": ("three", 0, "three"),
    "campaign pause": ("three", 1, "is not running"),
    "campaign resume": ("three", 2, "is done"),
    "campaign stop": ("three", 1, "is not running"),
    "campaign rm": ("two --yes", 0, ""),
    "fuzz tool": ("--schema schema.json --max-calls 5 --fail-on none -- python3 tool.py", 0, "finding"),
    "fuzz mcp": ("--max-calls 5 --fail-on none -- python3 mcp_server.py", 0, "calls"),
    "fuzz function": ("t.c:f --max-execs 100 --no-coverage --fail-on none", 0, "t.c:f"),
    "corpus list": ("", 0, "t.c:f"),
    "corpus import": ("t.c:f seeds", 0, ""),
    "corpus export": ("t.c:f out", 0, ""),
    "corpus merge": ("t.c:f seeds", 0, ""),
    "corpus minimise": ("t.c:f", 0, ""),
    "findings list": ("", 0, "SEVERITY"),
    "findings show": ("FINDING", 0, "FINDING"),
    "findings export": ("--format sarif", 0, '"version":"2.1.0"'),
    "findings repro": ("FINDING", 1, ""),
    "findings minimise": ("FINDING", 0, ""),
    "findings suppress": ("FINDING --reason known", 0, ""),
    "repro": (".hotcell/findings/FINDING.json", 1, ""),
    "status": ("", 0, "three"),
    "report": ("three --output page.html", 0, ""),
    "metrics": ("", 0, "hotcell_"),
    "audit verify": ("run.jsonl", 0, ""),
    "audit show": ("run.jsonl", 0, "cell-start"),
    "clean": ("--dry-run", 0, ""),
    "trust": ("--list", 0, ".hotcell"),
    "manifest create": ("seeds --force", 0, ""),
    "manifest verify": ("seeds", 0, ""),
    "profile list": ("", 0, "strict"),
    "profile show": ("strict", 0, "strict"),
    "profile check": ("strict", 0, ""),
    "profile learn": ("-- true", 0, ""),
    "profile schema": ("", 0, "$schema"),
    "doctor": ("", (0, 4), "user namespaces"),  # 4: this machine lacks something
    "review": ("--only 'files.mounts'", 0, ""),
    "help": ("run", 0, "Usage: hotcell run"),
    "version": ("", 0, "hotcell"),
    "completion": ("bash", 0, "complete"),
}


@pytest.mark.parametrize("verb", TABLE)
def test_a_verb_does_what_its_first_line_says(project, finding, verb):
    words, code, shown = TABLE[verb]
    ran = hotcell(*verb.split(), *shlex.split(words.replace("FINDING", finding)), cwd=project, timeout=100)
    assert ran.code in (code if isinstance(code, tuple) else (code,)), ran
    assert shown.replace("FINDING", finding) in (ran.out + ran.err).decode("utf-8", "backslashreplace"), ran
    assert ran.out or ran.err or verb in ("run", "clean"), "it says nothing"

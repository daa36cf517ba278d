"""Corpora of functions: kept by content, listed, merged, made small, carried about. What is known of a target is tried first;
a finding's files; seeds that are none; a target that changes."""

import base64
import hashlib
import json
import os
import threading
import time

import pytest

from harness import IS_ROOT, ROOT, hotcell, trust

VENV = ["--venv", ROOT / "build-engines" / "python"]  # see tools/setup.sh

STEPS_C = """
#include <stddef.h>
int f(const unsigned char *data, size_t len)
{
	int steps = 0;
	if (len > 0 && data[0] == 'a')
		steps++;
	if (len > 1 && data[1] == 'b')
		steps += 2;
	if (len > 2 && data[2] == 'c')
		steps += 4;
	return steps;
}
"""

STEPS_PY = """
def f(data: bytes):
    if data[:1] == b"a":
        return 1
    if data[:2] == b"bc":
        return 2
"""

KEY_PY = """
def f(data: bytes):
    if len(data) == 3:
        raise KeyError("three")
    if len(data) == 4:
        raise IndexError("four")
"""


def run(folder, *words, code=0, timeout=100):
    ran = hotcell(*words, "--json", cwd=folder, timeout=timeout)
    assert ran.code == code, (ran.code, ran.out, ran.err)
    return json.loads(ran.out)


def fuzz(folder, *words, code=0):
    return run(folder, "fuzz", "function", *words, *VENV, "--quiet", "--no-coverage", code=code)


def corpora(folder):
    return run(folder, "corpus", "list")["corpora"]


def seeds(folder, inputs):
    folder.mkdir()
    for at, data in enumerate(inputs):
        (folder / f"{at}").write_bytes(data)
    return folder


def test_a_run_leaves_a_small_corpus_that_is_listed_exported_and_moved(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "t.c").write_text(STEPS_C)
    given = seeds(tmp_path / "seeds", [b"x" * at for at in range(1, 60)] + [b"abc"])
    fuzz(project, "t.c:f", "--duration", "3s", "--workers", "2", "--seed-corpus", given)
    (one,) = corpora(project)
    assert (one["file"], one["function"], one["language"], one["runs"]) == ("t.c", "f", "c", 1)
    assert 0 < one["count"] < 20  # of 60 that were given, a few do the same
    kept = project / ".hotcell" / "corpus" / one["id"]
    names = [each for each in kept.iterdir() if each.name != "about.json"]
    assert all(hashlib.sha256(each.read_bytes()).hexdigest() == each.name for each in names) and len(names) == one["count"]
    project = project.rename(tmp_path / "elsewhere")
    assert hotcell("corpus", "list", cwd=project).code == 2  # it was moved
    trust(project)
    assert [each["id"] for each in corpora(project)] == [one["id"]]
    out = run(project, "corpus", "export", "t.c:f", tmp_path / "out")
    assert out["files"] == one["count"] and len(list((tmp_path / "out").iterdir())) == one["count"]
    again = run(project, "corpus", "export", one["id"][:6], tmp_path / "out")
    assert (again["files"], again["known"]) == (0, one["count"])
    text = hotcell("corpus", "list", cwd=project)
    assert b"t.c:f" in text.out and b"1 corpus, " in text.out


def test_only_what_adds_coverage_is_merged_and_what_adds_none_is_dropped(tmp_path):
    (tmp_path / "t.c").write_text(STEPS_C)
    plain = seeds(tmp_path / "plain", [b"x" * at for at in range(1, 30)])
    more = seeds(tmp_path / "more", [b"y" * at for at in range(1, 20)] + [b"abc"])
    assert run(tmp_path, "corpus", "import", "t.c:f", plain)["files"] == 29
    merged = run(tmp_path, "corpus", "merge", "t.c:f", more)
    assert merged["looked_at"] == 20 and merged["before"] == 29 and 0 < merged["after"] - 29 < 6
    small = run(tmp_path, "corpus", "minimise", corpora(tmp_path)[0]["id"])
    assert small["before"] == merged["after"] and 0 < small["after"] < 12
    folder = tmp_path / ".hotcell" / "corpus" / small["id"]
    assert any(each.read_bytes() == b"abc" for each in folder.iterdir())


def test_a_corpus_of_python_is_made_small(tmp_path):
    (tmp_path / "t.py").write_text(STEPS_PY)
    plain = seeds(tmp_path / "plain", [b"x" * at for at in range(1, 40)] + [b"a1", b"bc2"])
    run(tmp_path, "corpus", "import", "t.py:f", plain)
    small = run(tmp_path, "corpus", "minimise", "t.py:f", *VENV)
    assert small["before"] == 41 and 3 <= small["after"] < 20
    kept = [each.read_bytes() for each in (tmp_path / ".hotcell" / "corpus" / small["id"]).iterdir()]
    assert b"a1" in kept and b"bc2" in kept


@pytest.mark.parametrize("words, what", [
    (("export", "0123", "x"), b"there is no corpus of '0123'"),
    (("export", "t.c:f", "x"), b"there is no corpus of 't.c:f'"),
    (("minimise", "t.c:f"), b"there is no corpus of 't.c:f'"),
    (("import", "t.c:f", "nope"), b"open the folder 'nope'"),
    (("merge", "t.c:g", "."), b"has no function 'g'"),
    (("merge", "t.c:f"), b"TARGET and a DIR"),
])
def test_what_is_not_there_is_named(tmp_path, words, what):
    (tmp_path / "t.c").write_text(STEPS_C)
    (tmp_path / ".hotcell").mkdir(mode=0o700)
    ran = hotcell("corpus", *words, cwd=tmp_path)
    assert ran.code == 2 and what in ran.err, ran.err
    empty = hotcell("corpus", "list", cwd=tmp_path)
    assert empty.code == 0 and b"no corpora" in empty.out


def test_a_target_that_cannot_be_built_leaves_its_corpus_as_it_was(tmp_path):
    (tmp_path / "t.c").write_text(STEPS_C)
    run(tmp_path, "corpus", "import", "t.c:f", seeds(tmp_path / "in", [b"1", b"2"]))
    (tmp_path / "t.c").write_text("int f(const char *text) { return undeclared; }\n")
    ran = hotcell("corpus", "minimise", "t.c:f", cwd=tmp_path, timeout=100)
    assert ran.code == 4 and b"the corpus is as it was: it cannot be built" in ran.err
    assert corpora(tmp_path)[0]["count"] == 2


def test_what_is_known_is_tried_first_and_what_is_gone_is_fixed(tmp_path):
    target = tmp_path / "t.py"
    target.write_text(KEY_PY)
    first = fuzz(tmp_path, "t.py:f", "--max-execs", "3000", code=1)
    found = {each["message"]: each["id"] for each in first["findings"]}
    assert set(found) == {"KeyError: 'three'", "IndexError: four"} and sorted(first["new"]) == sorted(found.values())
    target.write_text(KEY_PY.replace("== 3", "== -3"))
    second = fuzz(tmp_path, "t.py:f", "--max-execs", "10", code=1)  # too few to find anything
    assert [each["id"] for each in second["findings"]] == [found["IndexError: four"]]
    assert second["new"] == [] and second["fixed"] == [found["KeyError: 'three'"]]
    states = {each["id"]: each["state"] for each in run(tmp_path, "findings", "list", "--all")["findings"]}
    assert states == {found["KeyError: 'three'"]: "fixed", found["IndexError: four"]: "open"}
    target.write_text(KEY_PY)
    third = fuzz(tmp_path, "t.py:f", "--max-execs", "10", code=1)
    assert len(third["findings"]) == 2 and third["fixed"] == [] and {each["state"] for each in third["findings"]} == {"open"}
    other = fuzz(tmp_path, "t.py:f", "--expect", "LookupError", "--max-execs", "10")
    assert other["fixed"] == [] and any("other options" in each for each in other["limitations"])
    assert hotcell("findings", "suppress", found["KeyError: 'three'"], "--reason", "known", cwd=tmp_path).code == 0
    target.write_text(KEY_PY.replace("== 3", "== -3"))
    last = fuzz(tmp_path, "t.py:f", "--max-execs", "10", code=1)
    assert last["resolved_suppressed"] == [found["KeyError: 'three'"]] and last["fixed"] == []
    states = {each["id"]: each["state"] for each in run(tmp_path, "findings", "list", "--all")["findings"]}
    assert states[found["KeyError: 'three'"]] == "suppressed"


def test_a_finding_has_files_and_is_made_smaller_later(tmp_path):
    (tmp_path / "t.py").write_text("def f(data: bytes):\n    if b'!' in data:\n        raise KeyError('mark')\n")
    (finding,) = fuzz(tmp_path, "t.py:f", "--max-execs", "20000", code=1)["findings"]
    folder = tmp_path / ".hotcell" / "findings" / finding["id"]
    assert (folder / "input").read_bytes() == base64.b64decode(finding["input"])
    assert "KeyError: 'mark'" in (folder / "report.txt").read_text()
    shown = hotcell("findings", "show", finding["id"], cwd=tmp_path)
    assert f"files            .hotcell/findings/{finding['id']}: input".encode() in shown.out
    assert run(tmp_path, "findings", "list")["files"] == {finding["id"]: f".hotcell/findings/{finding['id']}"}
    capsule = folder.with_suffix(".json")
    large = {**finding, "found": None, "input": base64.b64encode(b"x" * 300 + b"!" + b"y" * 300).decode()}
    capsule.write_text(json.dumps(large))
    smaller = run(tmp_path, "findings", "minimise", "--trust", "--duration", "20s", finding["id"])
    assert smaller["smaller"] and base64.b64decode(smaller["input"]) == b"!"
    assert (folder / "input").read_bytes() == b"!" and len((folder / "found").read_bytes()) == 601


def test_seeds_that_are_none_are_told(tmp_path):
    (tmp_path / "t.c").write_text(STEPS_C)
    given = seeds(tmp_path / "seeds", [b"abc"])
    os.mkfifo(given / "pipe")
    (given / "link").symlink_to("/etc/passwd")
    with open(given / "huge", "wb") as out:
        out.truncate(1 << 33)
    (given / "locked").write_bytes(b"1")
    (given / "locked").chmod(0)
    result = fuzz(tmp_path, "t.c:f", "--max-execs", "100", "--seed-corpus", given)
    (gap,) = [each for each in result["limitations"] if each.startswith("--seed-corpus")]
    for each in ("'pipe' is a FIFO", "'link' is a symbolic link", "'huge' is larger than 1 MB"):
        assert each in gap, gap
    assert IS_ROOT or "'locked' cannot be read (Permission denied)" in gap
    assert any(each.read_bytes() == b"abc" for each in (tmp_path / ".hotcell" / "corpus").rglob("*") if each.is_file())


def test_a_corpus_that_is_no_folder_is_told_at_the_start(tmp_path):
    (tmp_path / "t.c").write_text(STEPS_C)
    fuzz(tmp_path, "t.c:f", "--max-execs", "1000")
    (corpus,) = (tmp_path / ".hotcell" / "corpus").iterdir()
    corpus.rename(tmp_path / "elsewhere")
    corpus.symlink_to(tmp_path / "elsewhere")
    ran = hotcell("fuzz", "function", "t.c:f", "--max-execs", "1000", "--json", "--quiet", cwd=tmp_path, timeout=100)
    result = json.loads(ran.out)
    assert ran.code == 4 and result["execs"] == 0 and "is a symbolic link" in result["targets"][0]["problems"][0], ran
    for words in (("export", "t.c:f", tmp_path / "to"), ("minimise", "t.c:f")):
        ran = hotcell("corpus", *words, cwd=tmp_path)
        assert ran.code == 2 and b"is a symbolic link" in ran.err, ran


def test_a_corpus_that_cannot_be_read_is_told_at_the_start(tmp_path):
    (tmp_path / "t.c").write_text(STEPS_C)
    fuzz(tmp_path, "t.c:f", "--max-execs", "1000")
    (corpus,) = (tmp_path / ".hotcell" / "corpus").iterdir()
    corpus.chmod(0)
    try:
        ran = hotcell("fuzz", "function", "t.c:f", "--max-execs", "1000", "--json", "--quiet", cwd=tmp_path, timeout=100)
        told = hotcell("corpus", "export", "t.c:f", tmp_path / "to", cwd=tmp_path)
    finally:
        corpus.chmod(0o700)
    if IS_ROOT:  # who reads everything
        assert ran.code == 0 and told.code == 0, (ran, told)
        return
    assert ran.code == 4 and "Permission denied" in json.loads(ran.out)["targets"][0]["problems"][0], ran
    assert told.code == 2 and b"Permission denied" in told.err, told


def test_a_target_that_changes_meanwhile_is_told(tmp_path):
    target = tmp_path / "t.py"
    target.write_text(STEPS_PY)
    changing = threading.Thread(target=lambda: (time.sleep(2.5), target.write_text(KEY_PY)))
    changing.start()
    result = fuzz(tmp_path, "t.py:f", "--duration", "5s", "--fail-on", "none")
    changing.join()
    assert "t.py:f changed while it was fuzzed; what was found before that is of the older one" in result["limitations"]

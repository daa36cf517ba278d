"""What nests deep is found, in any language; functions are called with values that fit a schema."""

import base64
import json
import shutil

import pytest

from harness import LONG, ROOT, hotcell

ENGINES = ROOT / "build-engines"  # see tools/setup.sh
VENV = ["--venv", ENGINES / "python"]
DEEP = ROOT / "examples" / "deep"
BARE = 60 if LONG else 4


def fuzz(folder, *words, timeout=170):
    return hotcell("fuzz", "function", *words, *VENV, "--json", "--quiet", "--no-coverage", cwd=folder, timeout=timeout)


def said(ran):
    return json.loads(ran.out)


def again(folder, finding):
    ran = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=folder, timeout=100)
    assert ran.code == 1 and json.loads(ran.out)["verdict"] == "reproduced", ran.err


# ---- deep nesting ----


def test_a_stack_that_python_runs_out_of_is_found(tmp_path):
    shutil.copy(DEEP / "values.py", tmp_path)
    ran = fuzz(tmp_path, "values.py:parse", "--expect", "ValueError", "--duration", "7s", "--seed", "3")
    assert ran.code == 1, ran
    found = {finding["message"].partition(":")[0]: finding for finding in said(ran)["findings"]}
    assert list(found) == ["RecursionError"], ran
    finding = found["RecursionError"]
    assert finding["frames"] == ["RecursionError", "read (values.py)", "read_list (values.py)"]
    assert finding["seen"] == finding["tried"] == 3
    assert len(base64.b64decode(finding["input"])) < 1100
    again(tmp_path, finding)


@pytest.mark.long
def test_a_stack_that_c_runs_out_of_is_found(tmp_path):
    shutil.copy(DEEP / "sums.c", tmp_path)
    ran = fuzz(tmp_path, "sums.c:parse", "--duration", "7s", "--seed", "3")
    assert ran.code == 1, ran
    findings = said(ran)["findings"]
    assert {finding["message"] for finding in findings} == {"AddressSanitizer: stack-overflow"}, ran
    brackets = ["AddressSanitizer: stack-overflow", "expression (sums.c)", "term (sums.c)"]
    assert brackets in [finding["frames"] for finding in findings], ran
    assert len({tuple(finding["frames"]) for finding in findings}) == len(findings), "one recursion, one finding"
    again(tmp_path, findings[0])


@pytest.mark.long
def test_a_stack_that_rust_runs_out_of_is_found(tmp_path):
    shutil.copy(DEEP / "lists.rs", tmp_path)
    ran = fuzz(tmp_path, "lists.rs:parse", "--duration", "10s", "--seed", "3", "--max-findings", "1")
    assert ran.code == 1, ran
    (finding,) = said(ran)["findings"]
    assert finding["oracle"] == "crash" and finding["message"] == "stack-overflow" and finding["seen"] == finding["tried"] == 3
    again(tmp_path, finding)


@pytest.mark.long
def test_the_engine_alone_does_not_get_that_deep(tmp_path):
    shutil.copy(DEEP / "sums.c", tmp_path)
    ran = fuzz(tmp_path, "sums.c:parse", "--duration", f"{BARE}s", "--no-deepen")
    assert ran.code == 0 and said(ran)["findings"] == [], ran
    if LONG:
        shutil.copy(DEEP / "values.py", tmp_path)
        ran = fuzz(tmp_path, "values.py:parse", "--expect", "ValueError", "--duration", f"{BARE}s", "--no-deepen")
        assert ran.code == 0 and said(ran)["findings"] == [], ran


def test_what_is_deep_does_not_go_into_the_corpus_and_slow_input_is_no_finding(tmp_path):
    (tmp_path / "t.py").write_text("""
def f(text: str, more: list[int]):
    for at in range(len(text)):
        if text[at:].startswith("(((((((("):
            sum(range(len(text) * 10))
""")
    ran = fuzz(tmp_path, "t.py:f", "--duration", "6s")
    assert ran.code == 0 and said(ran)["findings"] == [], ran
    (corpus,) = (tmp_path / ".hotcell" / "corpus").iterdir()
    assert all(each.stat().st_size <= 4096 for each in corpus.iterdir())


# ---- by a schema ----

SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["circle", "square"]}, "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4}},
    "required": ["kind", "sizes"],
    "additionalProperties": False,
}


def test_a_function_is_called_with_what_fits_its_schema(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "t.py").write_text("""
def area(kind, sizes):
    print("noise")
    if not sizes:
        raise ValueError("declared")
    if type(kind) is not str or not all(type(each) is int and each >= 0 for each in sizes) or len(sizes) > 4:
        raise AssertionError("this does not fit")
    if kind == "square" and len(sizes) == 3:
        return 1 / 0
    return sum(sizes)
""")
    ran = fuzz(tmp_path, "t.py:area", "--schema", "s.json", "--expect", "ValueError", "--max-execs", "200", "--seed", "5")
    assert ran.code == 1, ran
    result = said(ran)
    (finding,) = result["findings"]
    assert finding["oracle"] == "exception" and "ZeroDivisionError" in finding["message"]
    assert finding["kind"] == "function-python" and finding["command"] == ["t.py:area"] and finding["subject"] == "area"
    assert finding["file"] == "t.py" and finding["line"] == 9 and finding["frames"] == ["area (t.py)"]
    assert json.loads(finding["input"]) == {"kind": "square", "sizes": [0, 0, 0]}
    assert result["tools"][0]["rejected"] > 0 and result["tools"][0]["ok"] > 0
    again(tmp_path, finding)
    capsule = tmp_path / ".hotcell" / "findings" / f"{finding['id']}.json"
    ran = hotcell("repro", "--trust", "--json", capsule, cwd=tmp_path, timeout=100)
    assert ran.code == 1 and json.loads(ran.out)["verdict"] == "reproduced", ran
    (tmp_path / "t.py").write_text("def area(kind, sizes): return 0\n")
    ran = hotcell("repro", "--trust", "--json", capsule, cwd=tmp_path, timeout=100)
    assert ran.code == 0 and json.loads(ran.out)["verdict"] == "fixed" and json.loads(ran.out)["changed"], ran
    ran = fuzz(tmp_path, "t.py:area", "--schema", "s.json", "--max-execs", "20", "--seed", "5")
    assert ran.code == 0 and said(ran)["fixed"] == [] and "without --expect=ValueError" in said(ran)["limitations"][0], ran
    ran = fuzz(tmp_path, "t.py:area", "--schema", "s.json", "--expect", "ValueError", "--max-execs", "20", "--seed", "6")
    assert ran.code == 0 and said(ran)["fixed"] == [finding["id"]], ran
    assert list((tmp_path / ".hotcell" / "fuzz").iterdir()) == []


def test_what_is_no_object_is_the_only_argument(tmp_path):
    (tmp_path / "s.json").write_text('{"type": "array", "items": {"type": "string"}}')
    (tmp_path / "t.py").write_text("def first(names):\n    return names[0]\n")
    ran = fuzz(tmp_path, "t.py:first", "--schema", "s.json", "--max-execs", "60")
    (finding,) = said(ran)["findings"]
    assert finding["input"] == "[]" and "IndexError" in finding["message"], ran


def test_c_gets_the_text_of_what_fits(tmp_path):
    (tmp_path / "s.json").write_text('{"type": "array", "items": {"type": "boolean"}, "maxItems": 3}')
    (tmp_path / "t.c").write_text("""
#include <stdio.h>
#include <string.h>
int f(const char *text, int len)
{
	puts("noise");
	if (len == 17 && memcmp(text, "[true,false,true]", len) == 0)
		return text[len];
	return 0;
}
""")
    ran = fuzz(tmp_path, "t.c:f", "--schema", "s.json", "--max-execs", "60", "--seed", "5")
    assert ran.code == 1, ran
    (finding,) = said(ran)["findings"]
    assert finding["oracle"] == "crash" and finding["kind"] == "function-c" and "f (t.c)" in finding["frames"], ran
    assert json.loads(finding["input"]) == [True, False, True]
    again(tmp_path, finding)


def test_a_schema_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "t.py").write_text("def f(x): pass\ndef g(x): pass\n")
    (tmp_path / "bad.json").write_text('{"type": "objct"}')
    (tmp_path / "fuzz_t.py").write_text("import atheris, sys\ndef TestOneInput(data): pass\natheris.Setup(sys.argv, TestOneInput)\natheris.Fuzz()\n")
    (tmp_path / "s.json").write_text("{}")
    for words, what in ((["t.py:f", "--schema", "none.json"], b"none.json"), (["t.py:f", "--schema", "bad.json"], b"#/type: it must be"),
                        (["t.py:f", "t.py:g", "--schema", "s.json"], b"2 are named"), (["fuzz_t.py", "--schema", "s.json"], b"takes bytes")):
        ran = fuzz(tmp_path, *words, "--max-execs", "5")
        assert ran.code == 2 and what in ran.err, ran

"""Functions fuzzed with the engines of their languages: planted faults are found, done again and kept; what cannot be
fuzzed is said; what targets do to their process, their cell and their folders changes nothing outside."""

import base64
import json
import shutil

import pytest

from fuzzing import core_shows
from harness import ROOT, hotcell

ENGINES = ROOT / "build-engines"  # see tools/setup.sh
VENV = ["--venv", ENGINES / "python"]
WATERFALL = ROOT / "examples" / "waterfall"


def fuzz(folder, *words, more=(), timeout=170):
    return hotcell("fuzz", "function", *words, *VENV, "--json", "--quiet", "--no-coverage", *more, cwd=folder, timeout=timeout)


def said(ran):
    return json.loads(ran.out)


def make(folder, name, text):
    (folder / name).write_text(text)
    return f"{name}"


# ---- what is found ----


def the_waterfall(tmp_path, language, name, duration):
    shutil.copy(WATERFALL / language / name, tmp_path / name)
    ran = fuzz(tmp_path, f"{name}:check", "--duration", duration, "--seed", "7", "--max-findings", "1")
    assert ran.code == 1, ran.err
    result = said(ran)
    (finding,) = result["findings"]
    assert finding["subject"] == "check" and finding["target"] == f"{name}:check"
    assert finding["seen"] == finding["tried"] == 3
    assert base64.b64decode(finding["input"]).startswith(b"hotcell")
    assert finding["file"] == name and finding["line"] > 0
    assert result["targets"][0]["execs"] > 1000
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err
    return finding


def test_the_waterfall_in_python_is_found_and_reproduced(tmp_path):
    finding = the_waterfall(tmp_path, "python", "waterfall.py", "60s")
    assert finding["oracle"] == "exception" and finding["message"] == "RuntimeError: the whole word was found"
    assert base64.b64decode(finding["input"]) == b"hotcell"


def test_the_waterfall_in_c_is_found_and_reproduced(tmp_path):
    finding = the_waterfall(tmp_path, "c", "waterfall.c", "40s")
    assert finding["oracle"] == "crash" and finding["message"] == "AddressSanitizer: heap-buffer-overflow"
    assert finding["frames"] == ["AddressSanitizer: heap-buffer-overflow", "check (waterfall.c)"]


def test_python_goes_on_after_the_first_exception_and_expected_ones_are_none(tmp_path):
    make(tmp_path, "t.py", """
def parse(data: bytes):
    if len(data) == 1:
        raise ValueError("declared")
    if len(data) == 2:
        raise KeyError("one")
    if len(data) == 3:
        return [][0]
""")
    result = said(fuzz(tmp_path, "t.py:parse", "--expect", "ValueError", "--duration", "8s", "--core"))
    assert "t.py:parse: there are no cores of Python; the report of a finding has its trace" in result["limitations"]
    assert sorted(each["message"] for each in result["findings"]) == ["IndexError: list index out of range", "KeyError: 'one'"]


def test_arguments_are_made_by_hints(tmp_path):
    make(tmp_path, "t.py", """
import dataclasses, typing
@dataclasses.dataclass
class Point:
    x: int
    name: str

def take(point: Point, data: bytes, numbers: list[int], table: dict[str, float], maybe: typing.Optional[bool], flag=False):
    assert isinstance(point, Point) and isinstance(point.x, int) and isinstance(point.name, str)
    assert isinstance(data, bytes) and all(isinstance(each, int) for each in numbers)
    assert all(isinstance(key, str) and isinstance(value, float) for key, value in table.items())
    assert maybe is None or isinstance(maybe, bool)
    assert isinstance(flag, bool)
    if len(numbers) > 2:
        raise RuntimeError("all of them are right")
""")
    result = said(fuzz(tmp_path, "t.py:take", "--max-execs", "20000", "--duration", "60s"))
    assert [each["message"] for each in result["findings"]] == ["RuntimeError: all of them are right"]


LAZY = """
import asyncio
def fail(data, what):
    if data.startswith(b"a"):
        raise RuntimeError(what)
def by_generator(data: bytes):
    yield 1
    fail(data, "in a generator")
async def by_async_generator(data: bytes):
    yield 1
    fail(data, "in an async generator")
async def by_coroutine(data: bytes):
    await asyncio.sleep(0)
    fail(data, "in a coroutine")
def by_what_it_returns(data: bytes):
    return by_coroutine(data)
def endless(data: bytes):
    while True:
        yield data
"""


def test_targets_of_a_folder_are_listed_and_nothing_is_started(tmp_path):
    make(tmp_path, "fuzz_one.c", "#include <stddef.h>\nint LLVMFuzzerTestOneInput(const unsigned char *data, size_t len) { return 0; }\n")
    make(tmp_path, "fuzz_two.py", "import atheris\ndef TestOneInput(data): pass\n")
    make(tmp_path, "t.py", "def f(x): pass\n")
    ran = hotcell("fuzz", "function", ".", "t.py:f", "--list", cwd=tmp_path)
    assert ran.code == 0 and ran.err == b"", ran
    assert [line.split() for line in ran.out.decode().splitlines()] == [
        ["TARGET", "LANGUAGE", "KIND"], ["fuzz_one.c", "c", "harness"], ["fuzz_two.py", "python", "harness"], ["t.py:f", "python", "function"],
        ["3", "targets"]]
    listed = json.loads(hotcell("fuzz", "function", ".", "--list", "--json", cwd=tmp_path).out)["targets"]
    assert [(each["name"], each["language"], each["harness"]) for each in listed] == [("fuzz_one.c", "c", True), ("fuzz_two.py", "python", True)]
    ran = hotcell("fuzz", "function", ".", *VENV, "--no-coverage", "--max-execs", "100", "--duration", "30s", cwd=tmp_path, timeout=100)
    assert b"target 1 of 2: fuzz_one.c (c)\n" in ran.err and b"target 2 of 2: fuzz_two.py (python)\n" in ran.err, ran


def test_a_target_is_named_once_where_it_cannot_be_fuzzed(tmp_path):
    make(tmp_path, "t.c", "int f(void) { return 0; }\n")
    ran = hotcell("fuzz", "function", "t.c:f", "--duration", "3s", cwd=tmp_path)
    assert ran.code == 4 and b"not fuzzed: t.c:f: takes nothing" in ran.out, ran


@pytest.mark.parametrize("name, what", [
    ("by_generator", ["RuntimeError: in a generator"]),
    ("by_async_generator", ["RuntimeError: in an async generator"]),
    ("by_coroutine", ["RuntimeError: in a coroutine"]),
    pytest.param("by_what_it_returns", ["RuntimeError: in a coroutine"], marks=pytest.mark.long),
    ("endless", []),
])
def test_what_a_call_gives_is_run_to_its_end(tmp_path, name, what):
    make(tmp_path, "t.py", LAZY)
    ran = fuzz(tmp_path, f"t.py:{name}", "--max-execs", "8000" if what else "3000", "--duration", "60s", "--seed", "7")
    assert [each["message"] for each in said(ran)["findings"]] == what, ran
    assert said(ran)["execs"] > 0 and not said(ran)["targets"][0]["problems"]


BESIDE = """
import os, threading, time
def joined(text: str):
    thread = threading.Thread(target=fails, args=(text,))
    thread.start()
    thread.join()
def late(text: str):
    threading.Thread(target=fails, args=(text, 0.02)).start()
def fails(text, seconds=0):
    time.sleep(seconds)
    if text[:1] == "a":
        raise RuntimeError("in a thread")
def forks(text: str):
    if os.fork() == 0:
        return 1 / len(text)
    os.wait()
    if text[:1] == "a":
        raise RuntimeError("in the parent")
"""


@pytest.mark.parametrize("name, what, execs", [
    ("joined", ["RuntimeError: in a thread"], 1000),
    ("late", ["RuntimeError: in a thread"], 4000),
    ("forks", ["RuntimeError: in the parent"], 1000),
])
def test_what_is_raised_in_a_thread_is_a_finding_and_a_fork_ends_with_its_call(tmp_path, name, what, execs):
    make(tmp_path, "t.py", BESIDE)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_bytes(b"abc")  # what is covered late leads nobody to it in so few
    ran = fuzz(tmp_path, f"t.py:{name}", "--max-execs", str(execs), "--duration", "60s", "--seed", "7", "--seed-corpus", tmp_path / "seeds")
    assert [each["message"] for each in said(ran)["findings"]] == what, ran
    assert said(ran)["execs"] >= 0.9 * execs and base64.b64decode(said(ran)["findings"][0]["input"])[:1] == b"a"


def test_what_is_smaller_is_tried_as_often_as_what_was_found(tmp_path):
    make(tmp_path, "t.py", """
def f(text: str):
    if len(text) >= 40:
        raise RuntimeError("long")
""")
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "long").write_bytes(b"x" * 200)
    ran = fuzz(tmp_path, "t.py:f", "--max-execs", "2000", "--duration", "60s", "--seed", "7", "--seed-corpus", tmp_path / "seeds")
    (finding,) = said(ran)["findings"]
    assert finding["seen"] == finding["tried"] == 3 and len(base64.b64decode(finding["input"])) == 40, ran
    lines = [json.loads(line) for line in (tmp_path / ".hotcell" / "audit.jsonl").read_text().splitlines()]
    assert [line.get("exit_code") for line in lines if line["event"] == "cell-end"].count(77) == 6, lines


NAMES = """
import functools
try:
    import nowhere
except ImportError:
    def below(text: str):
        if text[:1] == "a": raise RuntimeError("below")
short = lambda text: 1 / 0 if text[:1] in ("a", b"a") else 1
def base(text: str, n: int, strict: bool = False):
    assert isinstance(text, str) and n == 3 and strict is True
    if text[:1] == "a": raise RuntimeError("in a part")
part = functools.partial(base, n=3, strict=True)
class Kind:
    def __init__(self, size: int): self.size = size
    def method(self, text: str):
        assert isinstance(self, Kind) and isinstance(self.size, int)
        if text[:1] == "a": raise RuntimeError("in a method")
    def __call__(self, n: int):
        if n > 7: raise RuntimeError("in an object")
    @staticmethod
    def static(text: str):
        if text[:1] == "a": raise RuntimeError("in a static one")
class Refuses:
    def __init__(self, text: str): raise ValueError("always")
    def method(self, text: str): pass
    def other(self, text: str): pass
thing = Kind(1)
NUMBER = 3
"""


@pytest.mark.parametrize("name, what", [
    ("t.py:below", "RuntimeError: below"),
    ("t.py:short", "ZeroDivisionError: division by zero"),
    ("t.py:part", "RuntimeError: in a part"),
    ("t.py:Kind.method", "RuntimeError: in a method"),
    pytest.param("t.py:Kind.static", "RuntimeError: in a static one", marks=pytest.mark.long),
    ("t.py:thing", "RuntimeError: in an object"),
    ("again.py:renamed", "RuntimeError: below"),
    pytest.param("again.py:Kind.method", "RuntimeError: in a method", marks=pytest.mark.long),
])
def test_whatever_can_be_called_by_a_name_is_fuzzed(tmp_path, name, what):
    make(tmp_path, "t.py", NAMES)
    make(tmp_path, "again.py", "from t import below as renamed\nfrom t import *\n")
    ran = fuzz(tmp_path, name, "--max-execs", "20000", "--duration", "60s", "--seed", "7")
    assert [each["message"] for each in said(ran)["findings"]] == [what], ran


@pytest.mark.parametrize("name, why", [
    ("other", "t.py has no other: it is a method of a class, t.py:Refuses.other"),
    ("text", "t.py has no text when it is imported"),
    ("strict", "t.py has no strict; did you mean static?"),
    ("Kind.text", "t.py:Kind has no text"),
    ("NUMBER", "t.py:NUMBER is no function, but of type int"),
    ("Refuses.method", "its parameter 'self' cannot be made from bytes: Refuses"),
])
def test_what_no_name_stands_for_is_told_by_what_is_there(tmp_path, name, why):
    make(tmp_path, "t.py", NAMES + "def static(text): pass\n")
    ran = fuzz(tmp_path, f"t.py:{name}", "--duration", "60s")
    assert ran.code == 4 and why in said(ran)["targets"][0]["problems"][0], ran
    assert "INFO" not in said(ran)["targets"][0]["problems"][0]  # what the engine says of itself is no part of it


HINTS = """
import collections, datetime, typing
class Other(typing.Protocol):
    def go(self): ...
if typing.TYPE_CHECKING:
    from nowhere import Unknown
def right(data: bytes, on_item: typing.Optional[typing.Callable[[int], None]] = None, kind: typing.Type[int] = int,
          names: typing.FrozenSet[str] = frozenset(), other: Other = None, unknown: "Unknown" = None,
          deep: typing.Dict[str, typing.List[typing.Dict[str, typing.List[typing.Dict[str, typing.List[int]]]]]] = {},
          items: typing.Iterator[int] = None, queue: typing.Deque[int] = None, day: datetime.date = None, file: typing.BinaryIO = None,
          *, text: typing.Union[str, typing.Callable] = ""):
    assert on_item is None and kind is int and other is None and unknown is None
    hash(names)
    [number + 1 for a in deep.values() for b in a for c in b.values() for d in c for e in d.values() for number in e]
    next(items, 0)
    queue.appendleft(1)
    day.isoformat(), file.read(), text.strip(), data.hex()
    if len(data) > 2:
        raise RuntimeError("all of them are right")
def every(*args: int):
    assert all(isinstance(each, int) for each in args)
    if len(args) > 2:
        raise RuntimeError("all of them are right")
"""


@pytest.mark.parametrize("name", ["right", "every"])
def test_no_argument_contradicts_its_hint(tmp_path, name):
    make(tmp_path, "t.py", HINTS)
    ran = fuzz(tmp_path, f"t.py:{name}", "--max-execs", "20000", "--duration", "60s")
    assert [each["message"] for each in said(ran)["findings"]] == ["RuntimeError: all of them are right"], ran


OPTIONS = """
def known(text: str, *, strict: bool = False, **options: int):
    assert set(options) <= {"depth", "width"} and all(isinstance(each, int) for each in options.values())
    if options.get("depth", 0) > 7 and "width" in options:
        raise RuntimeError("by options")
def any(**options):
    if len(options) > 1:
        raise RuntimeError("by any options")
def handed(text, **options):
    return inner(text, **options) if text else "depth"
def alone(**options):
    return inner(1, **options)
def inner(text, strict=False):
    return text
"""


@pytest.mark.parametrize("name, what", [
    ("known", ["RuntimeError: by options"]),
    ("any", ["RuntimeError: by any options"]),
    ("handed", []),
    ("alone", []),
])
def test_options_are_given_by_names_that_the_function_knows(tmp_path, name, what):
    make(tmp_path, "t.py", OPTIONS)
    ran = fuzz(tmp_path, f"t.py:{name}", "--max-execs", "20000", "--duration", "60s", "--seed", "7")
    assert [each["message"] for each in said(ran)["findings"]] == what and said(ran)["execs"] > 1000, ran


@pytest.mark.parametrize("head, why", [
    ("f(data: bytes, call: typing.Callable)", "its parameter 'call' cannot be made from bytes: typing.Callable"),
    ("f(kind: typing.Type[int])", "its parameter 'kind' cannot be made from bytes: typing.Type[int]"),
    ("f(calls: typing.List[typing.Callable])", "its parameter 'calls' cannot be made from bytes: typing.Callable"),
    ("f()", "f takes nothing, so there is nothing to fuzz"),
])
def test_a_parameter_that_cannot_be_made_is_named_and_nothing_is_fuzzed(tmp_path, head, why):
    make(tmp_path, "t.py", f"import typing\ndef {head}:\n    return 1\n")
    ran = fuzz(tmp_path, "t.py:f", "--duration", "60s")
    assert ran.code == 4 and said(ran)["execs"] == 0 and said(ran)["findings"] == [], ran
    assert why in said(ran)["targets"][0]["problems"][0], ran


def test_a_harness_of_python_may_raise_what_is_expected(tmp_path):
    make(tmp_path, "fuzz_t.py", """
import sys, atheris
def TestOneInput(data):
    if data[:1] == b"a":
        raise UnicodeError("declared, by a class above it")
    if data[:1] == b"b":
        raise KeyError("another")
if __name__ == "__main__":
    atheris.Setup(sys.argv, TestOneInput)
    atheris.Fuzz()
""")
    result = said(fuzz(tmp_path, "fuzz_t.py", "--expect", "ValueError", "--duration", "8s"))
    assert [each["message"] for each in result["findings"]] == ["KeyError: 'another'"]
    (finding,) = result["findings"]
    assert finding["frames"] == ["KeyError", "TestOneInput (fuzz_t.py)"]
    result = said(fuzz(tmp_path, "fuzz_t.py", "--expect", "ValueError", "--expect", "KeyError", "--max-execs", "20000"))
    assert result["findings"] == [] and result["execs"] >= 20000


def test_harnesses_of_a_folder_are_found_and_run(tmp_path):
    make(tmp_path, "fuzz_one.c", """
#include <stddef.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len)
{
	if (len > 2 && data[0] == 'a' && data[1] == 'b')
		abort();
	return 0;
}
""")
    make(tmp_path, "fuzz_two.py", """
import sys, atheris
def TestOneInput(data):
    if data.startswith(b"x"):
        raise RuntimeError("x")
atheris.Setup(sys.argv, TestOneInput)
atheris.Fuzz()
""")
    result = said(fuzz(tmp_path, ".", "--duration", "60s", "--workers", "2", "--max-findings", "2"))
    assert [each["name"] for each in result["targets"]] == ["fuzz_one.c", "fuzz_two.py"]
    assert sorted(each["oracle"] for each in result["findings"]) == ["crash", "exception"]


def test_a_corpus_is_kept_and_begun_with(tmp_path):
    shutil.copy(WATERFALL / "c" / "waterfall.c", tmp_path / "w.c")
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "a").write_bytes(b"hotcel-x")
    result = said(fuzz(tmp_path, "w.c:check", "--duration", "60s", "--max-findings", "1", "--seed-corpus", seeds))
    assert len(result["findings"]) == 1
    (kept,) = (tmp_path / ".hotcell" / "corpus").iterdir()
    assert any(each.read_bytes().startswith(b"hot") for each in kept.iterdir())


def test_a_seed_that_crashes_at_once_is_a_finding_and_stops_nothing(tmp_path):
    make(tmp_path, "t.c", """
#include <stddef.h>
#include <stdlib.h>
int f(const unsigned char *data, size_t len)
{
	if (len == 3 && data[0] == 1)
		abort();
	if (len > 4 && data[0] == 'x' && data[1] == 'y')
		return data[len];
	return 0;
}
""")
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "a").write_bytes(bytes([1, 2, 3]))
    (seeds / "b").write_bytes(b"x12345")
    result = said(fuzz(tmp_path, "t.c:f", "--duration", "60s", "--max-findings", "2", "--seed-corpus", seeds))
    assert sorted(each["message"] for each in result["findings"]) == ["AddressSanitizer: heap-buffer-overflow", "a signal ended it: SIGABRT"]


def test_a_harness_that_fails_with_the_first_input_is_fuzzed_on(tmp_path):
    make(tmp_path, "fuzz_t.py", """import sys
import atheris
def TestOneInput(data):
    if data in (b"", b"\\n"):
        raise ValueError("nothing")
    if data[:1] == b"Q":
        raise KeyError("Q")
atheris.Setup(sys.argv, TestOneInput)
atheris.Fuzz()
""")
    result = said(fuzz(tmp_path, "fuzz_t.py", "--duration", "60s", "--max-findings", "2"))
    assert sorted(each["message"] for each in result["findings"]) == ["KeyError: 'Q'", "ValueError: nothing"], result


def test_a_hang_is_a_finding(tmp_path):
    make(tmp_path, "t.py", "def f(x: bytes):\n    while x[:1] == b'a':\n        pass\n")
    result = said(fuzz(tmp_path, "t.py:f", "--duration", "8s", "--input-timeout", "1s", "--max-findings", "1"))
    (finding,) = result["findings"]
    assert finding["oracle"] == "hang" and finding["seen"] == finding["tried"] == 2
    assert "--input-timeout=1s" in finding["flags"]


def test_too_much_memory_is_a_finding(tmp_path):
    make(tmp_path, "t.py", "def f(x: bytes):\n    if len(x) == 2:\n        return bytearray(1 << 30)\n")
    result = said(fuzz(tmp_path, "t.py:f", "--max-execs", "5000", "--duration", "60s"))
    assert [(each["oracle"], each["message"]) for each in result["findings"]] == [("memory", "MemoryError")]


# ---- dictionaries and sanitizers ----


WORD = b'open "sesame'


def word_sum():
    sum_ = 14695981039346656037
    for byte in WORD:
        sum_ = (sum_ ^ byte) * 1099511628211 % 2**64
    return sum_


def test_the_words_of_a_dictionary_reach_a_function_of_c(tmp_path):
    make(tmp_path, "t.c", """
#include <stdint.h>
#include <stdlib.h>
int f(const unsigned char *data, size_t len)
{
	uint64_t sum = 14695981039346656037u;
	for (size_t i = 0; i < len && i < 12; i++) /* of a word that no comparison shows */
		sum = (sum ^ data[i]) * 1099511628211u;
	if (len >= 12 && sum == %du)
		abort();
	return 0;
}
""" % word_sum())
    make(tmp_path, "words.dict", '# one\nword="open \\x22sesame"\n')
    ran = fuzz(tmp_path, "t.c:f", "--dict", "words.dict", "--duration", "30s", "--max-findings", "1", "--seed", "3")
    (finding,) = said(ran)["findings"]
    assert base64.b64decode(finding["input"]).startswith(WORD), ran
    assert (finding["severity"], finding["cwe"]) == ("medium", 617)


@pytest.mark.parametrize("text, told", [
    (None, b"words.dict"),
    ('a="b"\nbroken "\n', b"words.dict:2: a word in quotes is expected"),
])
def test_a_dictionary_that_is_none_is_told_before_anything_is_built(tmp_path, text, told):
    make(tmp_path, "t.c", "#error it is built\nint f(const char *text) { return 0; }\n")
    if text:
        make(tmp_path, "words.dict", text)
    ran = fuzz(tmp_path, "t.c:f", "--dict", "words.dict", "--duration", "5s")
    assert ran.code == 2 and b"--dict" in ran.err and told in ran.err and not ran.out, ran


FAULTS = {
    "overflow": ("int n = data[0] * 16843009; return n + 2147483000 + len;", "undefined behaviour: signed integer overflow", 190),
    "unset": ("volatile int n[4]; if (data[0] == 1) n[0] = 0; if (n[0] == 5) abort();", "MemorySanitizer: use-of-uninitialized-value", 457),
    "write": ("volatile char *a = malloc(4); a[4 + (data[0] & 1)] = 1; free((void *)a);", "AddressSanitizer: heap-buffer-overflow", 787),
    "read": ("volatile char *a = calloc(4, 1); (void)a[4 + (data[0] & 1)]; free((void *)a);", "AddressSanitizer: heap-buffer-overflow", 125),
}


@pytest.mark.parametrize("sanitizer, fault, found", [
    ("undefined", "overflow", True), ("undefined", "write", False),
    ("memory", "unset", True), ("memory", "overflow", False),
    ("address", "write", True), ("address", "read", True), ("address", "overflow", False),
    ("none", "overflow", False), ("none", "write", False),
])
def test_a_sanitizer_finds_what_it_watches_for(tmp_path, sanitizer, fault, found):
    body, message, cwe = FAULTS[fault]
    make(tmp_path, "t.c", f"""
#include <stdlib.h>
int f(const unsigned char *data, size_t len)
{{
	if (len < 2)
		return 0;
	{body}
	return 0;
}}
""")
    ran = fuzz(tmp_path, "t.c:f", "--sanitizer", sanitizer, "--max-execs", "5000", "--duration", "30s", "--max-findings", "1")
    result = said(ran)
    assert ran.code == int(found), ran
    assert [each["message"][:len(message)] for each in result["findings"]] == ([message] if found else []), ran
    assert [each["cwe"] for each in result["findings"]] == ([cwe] if found else [])


def test_severity_and_weakness_are_told_everywhere(tmp_path):
    make(tmp_path, "t.c", "#include <stdlib.h>\nint f(const unsigned char *data, size_t len)\n{\n"
         "\tvolatile char *a = malloc(4);\n\tif (len > 4)\n\t\ta[4] = data[0];\n\tfree((void *)a);\n\treturn 0;\n}\n")
    ran = fuzz(tmp_path, "t.c:f", "--duration", "20s", "--max-findings", "1", "--export-sarif", "out.sarif", "--core")
    (finding,) = said(ran)["findings"]
    assert (finding["severity"], finding["cwe"]) == ("critical", 787) and "writes" in finding["why"], finding
    (told,) = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert told["level"] == "error"
    assert told["properties"] == {"security-severity": "9.5", "tags": ["external/cwe/cwe-787"]}
    shown = hotcell("findings", "show", finding["id"], cwd=tmp_path)
    assert b"critical (9.5): it writes where it must not" in shown.out and b"CWE-787" in shown.out
    frames = core_shows(tmp_path / ".hotcell", finding)
    assert b"__asan_report_store1" in frames and b" in f (data=" in frames and b"t.c:6" in frames, frames
    files = f".hotcell/findings/{finding['id']}"
    assert f", core, program\ndebug            gdb {files}/program {files}/core\n".encode() in shown.out, shown.out
    refused = fuzz(tmp_path, "t.c:f", "--core", "--secret-env", "HOME")
    assert refused.code == 2 and b"with the values of --secret-env in it" in refused.err
    for each in ("core", "program"):
        (tmp_path / files / each).unlink()
    again = hotcell("findings", "repro", "--trust", "--core", "--json", "-n", "1", finding["id"], cwd=tmp_path, timeout=60)
    assert json.loads(again.out)["core"] and b" in f (data=" in core_shows(tmp_path / ".hotcell", finding), again
    (tmp_path / "other").mkdir()
    elsewhere = hotcell("findings", "repro", "--trust", finding["id"], cwd=tmp_path / "other")
    assert elsewhere.code == 2 and b"its target 't.c' is not there from here: be in the folder" in elsewhere.err, elsewhere


# ---- what cannot be fuzzed ----


@pytest.mark.parametrize("word, what", [
    ("nope.py:f", b"No such file"),
    ("t.py:prase", b"did you mean 'parse'"),
    ("t.py", b"holds no harness"),
    ("t.js:f", b"'t.js' has no function 'f'"),
    ("crate::f", b"no folder of a Rust package"),
    ("t.txt:f", b"no language"),
])
def test_wrong_targets_are_refused_by_name(tmp_path, word, what):
    make(tmp_path, "t.py", "def parse(x): pass\n")
    make(tmp_path, "t.js", "")
    make(tmp_path, "t.txt", "")
    ran = fuzz(tmp_path, word)
    assert ran.code == 2 and what in ran.err, ran.err


def test_a_missing_engine_is_named_with_what_installs_it(tmp_path):
    make(tmp_path, "t.py", "def parse(x): pass\n")
    ran = hotcell("fuzz", "function", "t.py:parse", "--duration", "5s", "--quiet", "--export-sarif", "-", cwd=tmp_path, timeout=100)
    assert ran.code == 3
    assert b"Atheris is not there; to install it: python3 -m venv" in ran.err
    assert json.loads(ran.out)["runs"][0]["results"] == []  # and nothing else is there


def test_a_build_that_fails_shows_its_log(tmp_path):
    make(tmp_path, "t.c", "int f(const char *text) { return undeclared; }\n")
    ran = hotcell("fuzz", "function", "t.c:f", "--duration", "5s", "--quiet", cwd=tmp_path, timeout=100)
    assert ran.code == 4
    assert b"it cannot be built" in ran.out and b"undeclared" in ran.out


def test_a_file_of_c_is_built_as_if_it_were_alone(tmp_path):
    make(tmp_path, "t.c", """
#define _GNU_SOURCE
#include <string.h>
#define free(it) other(it)
int f(const char *text, size_t len, unsigned short n)
{
	const char *found = len ? strcasestr("an AB in a text", "ab") : NULL;
	return found && found[0] == 'x' && n == 1;
}
""")
    ran = fuzz(tmp_path, "t.c:f", "--max-execs", "20000")
    assert ran.code == 0 and said(ran)["findings"] == [], ran


def test_a_function_of_c_that_nobody_declared_is_told(tmp_path):
    make(tmp_path, "t.c", "int f(const char *text) { return strcasestr(text, \"ab\") != 0; }\n")
    ran = fuzz(tmp_path, "t.c:f", "--duration", "5s")
    assert ran.code == 4 and "implicit" in said(ran)["targets"][0]["problems"][0], ran


def test_a_parameter_that_cannot_be_made_is_named(tmp_path):
    make(tmp_path, "t.c", "struct x { int a; };\nint f(struct x *it, int n) { return it->a + n; }\n")
    ran = fuzz(tmp_path, "t.c:f", "--duration", "5s")
    assert ran.code == 4 and "its parameter 1, 'struct x *it'" in said(ran)["targets"][0]["problems"][0]


# ---- what targets do ----


@pytest.mark.parametrize("body, problem", [
    ("import sys\nsys.exit(0)\ndef f(x: str): pass\n", "ended before it could be called"),
    ("import os\nos._exit(3)\ndef f(x: str): pass\n", "ended before it could be called"),
    ("raise RuntimeError('at import')\ndef f(x: str): pass\n", "at import"),
])
def test_a_module_that_ends_at_import_is_told(tmp_path, body, problem):
    make(tmp_path, "t.py", body)
    ran = fuzz(tmp_path, "t.py:f", "--duration", "10s")
    assert ran.code == 4 and problem in said(ran)["targets"][0]["problems"][0]


@pytest.mark.parametrize("body", [
    "    print('x' * 1000000)\n",
    "    import sys; sys.stderr.write('#99999999999 NEW cov: 1 ft: 99 corp: 9/9b exec/s: 9 rss: 9Mb\\n' * 1000)\n",
    pytest.param("    import sys; sys.stderr.write('bad input: ')\n", marks=pytest.mark.long),
    pytest.param("    import sys; sys.stderr.write('x' * 10000)\n", marks=pytest.mark.long),
    "    import os; os.fork() or os._exit(0)\n",
])
def test_a_noisy_target_is_fuzzed_to_its_end(tmp_path, body):
    make(tmp_path, "t.py", "def f(x: str):\n" + body)
    ran = fuzz(tmp_path, "t.py:f", "--duration", "3s")
    result = said(ran)
    assert ran.code == 0 and result["findings"] == [] and result["targets"][0]["execs"] > 0, ran.out


def test_words_without_the_end_of_a_line_do_not_hide_the_engine(tmp_path):
    make(tmp_path, "t.c", """
#include <stdio.h>
int f(const unsigned char *data, size_t len)
{
	fprintf(stderr, "bad input: ");
	return len > 2 && data[0] == 'a';
}
""")
    ran = fuzz(tmp_path, "t.c:f", "--duration", "3s")
    result = said(ran)
    assert ran.code == 0 and result["targets"][0]["execs"] > 0 and result["targets"][0]["problems"] == [], ran.out


def test_links_and_floods_in_its_folders_lead_nowhere(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("not to be read")
    folder = tmp_path / "t"
    folder.mkdir()
    make(folder, "t.py", f"""
import os
def f(x: str):
    for name in ("0123456789abcdef.input", "0123456789abcdef.txt", "link"):
        for place in ("crashes", "corpus"):
            try:
                os.symlink({str(secret)!r}, "/fuzz/" + place + "/" + name)
            except OSError:
                pass
    try:
        open("/fuzz/harness_of_hotcell.py", "w").write("")
        raise RuntimeError("the harness can be written")
    except OSError:
        pass
""")
    ran = fuzz(folder, "t.py:f", "--duration", "3s")
    assert said(ran)["findings"] == []
    for each in (folder / ".hotcell").rglob("*"):
        assert not each.is_symlink()
        assert not each.is_file() or b"not to be read" not in each.read_bytes()


def test_nothing_is_left_of_a_run(tmp_path):
    make(tmp_path, "t.py", "def f(x: str): pass\n")
    assert fuzz(tmp_path, "t.py:f", "--max-execs", "20000").code == 0
    assert list((tmp_path / ".hotcell" / "fuzz").iterdir()) == []


def test_statistics_come_as_a_line_a_second(tmp_path):
    make(tmp_path, "t.py", "def f(x: str): pass\n")
    ran = hotcell("fuzz", "function", "--target", "t.py:f", *VENV, "--stats-json", "--json", "--quiet", "--duration", "6s", cwd=tmp_path,
                  timeout=100)
    lines = [json.loads(line) for line in ran.lines]
    assert len(lines) >= 4 and lines[-1]["exit"] == 0
    assert 5000 <= lines[0]["left_ms"] <= 6000 and lines[0]["left_ms"] > lines[-2]["left_ms"]
    assert lines[-2]["execs"] > 0 and lines[-2]["targets"][0]["name"] == "t.py:f"


def test_a_target_whose_turn_did_not_come_is_not_clean(place):
    for name in ("a", "b", "c", "d"):
        make(place, f"fuzz_{name}.c", "int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return 0; }\n")
    ran = fuzz(place, ".", "--max-execs", "10", "--workers", "1")
    problems = [each["problems"] for each in said(ran)["targets"]]
    assert ran.code == 4 and problems[0] == [], ran
    assert problems[1:] == [["it had no turn: what may be executed was used up before it"]] * 3


def test_what_means_nothing_to_a_language_is_a_remark(place):
    make(place, "t.c", "int f(int n) { return n == 3; }\n")
    ran = fuzz(place, "t.c:f", "--max-execs", "1000", "--expect", "out_of_range")
    assert ran.code == 0, ran
    assert said(ran)["limitations"] == ["t.c:f: --expect means nothing to C, and was passed over"]
    make(place, "t.py", "def f(text: str):\n    return len(text)\n")
    ran = fuzz(place, "t.py:f", "--max-execs", "1000", "--sanitizer", "memory", "--fuzzer", "afl++")
    assert ran.code == 0, ran
    assert said(ran)["limitations"] == [f"t.py:f: {option} means nothing to Python, and was passed over" for option in ("--sanitizer", "--fuzzer afl++")]

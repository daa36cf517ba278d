"""What the corpus of a fuzzed function reaches: measured, told, kept, compared with the run before, and shown in the report.
Whatever a target does to be measured wrongly fails nothing and shows nothing that is not its source."""

import json

import pytest

from campaigns import campaign
from harness import ROOT, hotcell, trust
from test_findings import check_page

VENV = ["--venv", ROOT / "build-engines" / "python"]

# A line that no engine gets to by itself, and a seed that does. And inputs that end the process, or hang, where it is measured.
C = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int check(const uint8_t *data, size_t len)
{
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ data[i]) * 16777619u;
	if (sum == 0x0b069958u)
		return 2;
	if (len == 3 && data[0] == 'a' && access("/fuzz/cover_driver.o", F_OK) == 0)
		data[1] == 'b' ? abort() : exit(0);
	if (len > 3 && data[0] == 'x')
		return 1;
	return 0;
}

int never(int what)
{
	return what + 1;
}
"""
PYTHON = '''
import hashlib
import os
import sys
import time


def check(data: bytes):
    if hashlib.sha256(data).hexdigest().startswith("0b5db62a1f5d"):
        return "reached"
    if data[:1] == b"x":
        if "cover" in sys.argv:
            os._exit(3) if data == b"xexit" else data == b"xhang" and time.sleep(60)
        return 1
    return 0


class Other:
    def never(self):
        return 2
'''
KEY = b"the one input"
SEEDS = [b"abc", b"axc", b"x123", b"xexit", b"xhang"]


def fuzz(folder, *words, seeds=(), execs="400", more=("--json",), env=None):
    store = folder / "seeds"
    store.mkdir(exist_ok=True)
    for number, each in enumerate(seeds):
        (store / f"{number}").write_bytes(each)
    wanted = () if "--no-coverage" in more else ("--coverage",)  # however busy the machine is
    return hotcell("fuzz", "function", *words, *VENV, *wanted, "--quiet", "--max-execs", execs, "--seed", "7", "--seed-corpus", store, *more,
                   cwd=folder, timeout=120, env=env)


def told(ran):
    assert ran.code in (0, 1), ran
    result = json.loads(ran.out)
    assert not any("overage" in each for each in result["limitations"]), result["limitations"]
    return result


def lines(text, part):
    (number,) = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    return number


def is_missed(file, number):
    return any(first <= number <= last for first, last in file["missed"])


def first_and_second_run(folder, name, text, reached, never):
    """The seed that reaches the line comes with the second run."""
    (folder / name).write_text(text)
    result = told(fuzz(folder, f"{name}:check", seeds=SEEDS, more=("--json", "--coverage-file", "c.info")))
    (file,) = result["coverage"]["files"]
    assert file["file"] == str(folder / name) and (file["functions"], file["functions_hit"]) == (2, 1)
    assert is_missed(file, lines(text, reached)) and is_missed(file, lines(text, never))
    assert not is_missed(file, lines(text, "return 1")) and not is_missed(file, lines(text, "return 0"))
    assert result["coverage"]["change"] is None and result["coverage"]["lines_hit"] == file["lines_hit"] > 5
    lcov = (folder / "c.info").read_text()
    assert f"SF:{folder / name}\n" in lcov and f"DA:{lines(text, reached)},0\n" in lcov and f"DA:{lines(text, 'return 1')},1\n" in lcov
    again = told(fuzz(folder, f"{name}:check", seeds=[*SEEDS, KEY]))
    (file,) = again["coverage"]["files"]
    assert not is_missed(file, lines(text, reached)) and is_missed(file, lines(text, never))
    assert again["coverage"]["change"] == again["targets"][0]["covered"]["change"] == {"more": 1, "less": 0, "edited": 0}


def sources():
    import hashlib

    total = 2166136261
    for each in KEY:
        total = (total ^ each) * 16777619 % 2**32
    return C.replace("0x0b069958u", f"{total:#x}u"), PYTHON.replace("0b5db62a1f5d", hashlib.sha256(KEY).hexdigest()[:12])


C, PYTHON = sources()


def test_lines_of_c_are_measured_and_compared_with_the_run_before(tmp_path):
    first_and_second_run(tmp_path, "w.c", C, "return 2", "what + 1")


def test_lines_of_python_are_measured_and_compared_with_the_run_before(tmp_path):
    first_and_second_run(tmp_path, "w.py", PYTHON, '"reached"', "return 2")


def test_lines_of_python_are_measured_without_coverage_py(tmp_path):
    (tmp_path / "w.py").write_text(PYTHON)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "coverage.py").write_text("raise ImportError")
    result = told(fuzz(tmp_path, "w.py:check", seeds=[b"x123", KEY], more=("--json", "--env", "PYTHONPATH=/target/none")))
    (file,) = result["coverage"]["files"]
    assert not is_missed(file, lines(PYTHON, '"reached"')) and not is_missed(file, lines(PYTHON, "return 1"))
    assert is_missed(file, lines(PYTHON, "return 2")) and (file["functions"], file["functions_hit"]) == (2, 1)


def test_functions_of_cxx_are_named_as_they_are_written(tmp_path):
    (tmp_path / "s.cpp").write_text("#include <string>\nnamespace a {\ntemplate <typename A> int pick(A a) { return a > 1; }\nint never() { return 1; }\n}\n"
                                    "int parse(const std::string &text)\n{\n\treturn a::pick<int>(1);\n}\n")
    ran = hotcell("fuzz", "function", "s.cpp:parse", "--quiet", "--max-execs", "50", "--coverage-file", "-", "--coverage", cwd=tmp_path, timeout=120)
    assert b",int a::pick<int>(int)\n" in ran.out and b"\nFNDA:0,a::never()\n" in ran.out, ran


def test_a_harness_is_measured_with_what_it_calls(tmp_path):
    (tmp_path / "parser.py").write_text("def parse(data):\n    if data[:1] == b'x':\n        return 1\n    return 0\n\n\ndef never():\n    return 1\n")
    (tmp_path / "fuzz_one.py").write_text("import sys, atheris\nimport parser\n\ndef TestOneInput(data):\n    parser.parse(data)\n\n"
                                          "atheris.Setup(sys.argv, TestOneInput)\natheris.Fuzz()\n")
    result = told(fuzz(tmp_path, "fuzz_one.py", seeds=[b"x123"]))
    by = {each["file"].rsplit("/", 1)[1]: each for each in result["coverage"]["files"]}
    assert by["parser.py"]["missed"] == [[8, 8]] and by["fuzz_one.py"]["functions_hit"] == 1


def test_the_table_the_lines_of_figures_and_the_report_have_it(tmp_path):
    (tmp_path / "w.c").write_text(C)
    ran = fuzz(tmp_path, "w.c:check", seeds=[b"x123"], more=())
    assert ran.code == 0, ran
    row = next(line for line in ran.out.decode().splitlines() if line.startswith("w.c  "))
    assert row.split()[-3:] == ["1/2", "50.0", "%"]
    ran = fuzz(tmp_path, "w.c:check", seeds=[b"x123", KEY], more=("--stats-json",))
    told = list(map(json.loads, ran.out.decode().splitlines()))
    assert told[-1]["coverage"]["change"] == {"more": 1, "less": 0, "edited": 0}
    (last,) = [each for each in told if "covered" in each]
    assert last["covered"]["functions"] == 2 and last["covered"]["lines_hit"] > 5

    state = tmp_path / ".hotcell"
    (kept,) = (state / "functions").iterdir()
    assert json.loads(kept.read_text())["change"] == {"more": 1, "less": 0, "edited": 0}
    assert [each.name for each in (state / "corpus").iterdir()] == [kept.stem]
    assert hotcell("report", cwd=tmp_path).out == b"findings-report.html\n"
    text = (tmp_path / "findings-report.html").read_text()
    page = check_page(text)
    for part in ("w.c:check", "+1 line reached, -0", "if (len > 3 && data[0] == 'x')", "Functions that no input reached: never"):
        assert part in page.text, part
    assert f'<span class="hit fresh"><i>{lines(C, "return 2")} +</i>' in text
    assert f'<span class="missed"><i>{lines(C, "what + 1")} !</i>' in text
    assert "Findings" not in page.text
    ran = campaign(tmp_path, "--name", "night", "--runs", "1", "--", "/bin/true")
    assert ran.code == 0, ran
    page = check_page(hotcell("report", "-o", "-", "night", cwd=tmp_path).out.decode())
    assert ("href", "#functions") in page.attributes and ("href", "#findings") not in page.attributes and "w.c:check" in page.text
    # a source that was edited is not shown as if it were the one that was measured
    (tmp_path / "w.c").write_text(C.replace("never", "ever"))
    page = check_page(hotcell("report", "-o", "-", cwd=tmp_path).out.decode())
    assert "its source has changed since it was measured" in page.text and "data[0]" not in page.text
    assert fuzz(tmp_path, "w.c:check", execs="2000000", more=("--no-coverage",)).code == 0  # long enough for a plot
    assert b'<path class=running d="M' in hotcell("report", "-o", "-", cwd=tmp_path).out


def test_what_a_target_leaves_instead_of_a_measurement_fails_nothing_and_shows_nothing_else(tmp_path):
    (tmp_path / "secret.env").write_text("KEY=6f1c")
    (tmp_path / "t.py").write_text("""
import os, sys
if "cover" in sys.argv:
    at = "/fuzz/coverage.info"
    if os.path.exists("/target/link"):
        os.symlink("/etc/passwd", at)
    else:
        open(at, "w").write("SF:/etc/passwd\\nDA:1,1\\nSF:/target/secret.env\\nDA:1,1\\nSF:/target/../up.py\\nDA:1,1\\n" + "DA:1,1\\n" * 100000)
    os._exit(0)

def f(data: bytes):
    return data
""")
    result = json.loads(fuzz(tmp_path, "t.py:f", execs="50").out)
    assert result["exit"] == 0 and result["coverage"]["files"] == []
    assert result["limitations"] == ["the coverage of t.py:f tells of no source of it"]
    (tmp_path / "link").touch()
    result = json.loads(fuzz(tmp_path, "t.py:f", execs="50").out)
    assert result["exit"] == 0 and result["limitations"][0].startswith("the coverage of t.py:f was measured, and nothing, or more")
    page = hotcell("report", "-o", "-", cwd=tmp_path).out.decode()
    assert "Which lines it reaches was not measured" in page and "6f1c" not in page and "root:" not in page


LIES = """
import os, sys
if "cover" in sys.argv:
    open("/fuzz/coverage.info", "w").write("".join(f"SF:/target/{name}\\nDA:1,1\\nend_of_record\\n" for name in NAMES))
    os._exit(0)

def f(data: bytes):
    return data
"""


@pytest.mark.parametrize("where, hidden, seen", [("project", [".env.py", ".git/hooks/a.py", "keys.py"], ["seen.py"]),
                                                 ("home", ["work/a.py", "b.py"], [])])  # fmt: skip
def test_a_file_that_a_cell_was_not_shown_is_not_shown_by_what_it_tells(tmp_path, where, hidden, seen):
    """A target can say of any file that lines of it were reached. In a home it is shown itself, and nothing else."""
    for name in [*hidden, *seen]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"'{name} has 6f1c'\n")
    (tmp_path / "t.py").write_text(LIES.replace("NAMES", repr([*hidden, *seen, "t.py"])))
    env = {"HOME": str(tmp_path)} if where == "home" else {}
    result = json.loads(fuzz(tmp_path, "t.py:f", "--hide", "keys.py", execs="50", env=env).out)
    assert result["exit"] == 0 and result["coverage"]["files"], result
    page = hotcell("report", "-o", "-", cwd=tmp_path, env=env).out.decode()
    assert [name for name in [*hidden, *seen] if f"{name} has 6f1c" in page] == seen and "os._exit" in page


def test_what_takes_too_long_is_measured_in_part_and_told(tmp_path):
    (tmp_path / "t.py").write_text("""
import sys, time
if "cover" in sys.argv:
    with open("/fuzz/coverage.info", "w") as left:
        left.write("SF:/target/t.py\\nDA:1,0\\nDA:2,1\\nDA:3")
    time.sleep(100)

def f(data: bytes):
    return data
""")
    ran = hotcell("fuzz", "function", "t.py:f", *VENV, "--quiet", "--json", "--max-execs", "50", cwd=tmp_path, timeout=120)
    result = json.loads(ran.out)
    assert result["exit"] == 0 and result["limitations"] == ["the coverage of t.py:f was only partly measured within 10 s; --coverage takes longer"]
    assert (result["coverage"]["lines"], result["coverage"]["lines_hit"]) == (2, 1)


def test_what_cannot_be_measured_is_a_remark_and_what_is_not_wanted_is_not_done(tmp_path):
    (tmp_path / "w.c").write_text(C)
    ran = fuzz(tmp_path, "w.c:check", execs="50", more=("--json", "--forbid", "llvm-cov"))
    assert ran.code == 0 and "the coverage of w.c:check was not measured" in json.loads(ran.out)["limitations"][0]
    result = told(fuzz(tmp_path, "w.c:check", execs="50", more=("--json", "--no-coverage")))
    assert result["coverage"]["files"] == [] and result["limitations"] == []
    for words in (("--coverage",), ("--coverage-file", "x")):
        ran = hotcell("fuzz", "function", "w.c:check", "--no-coverage", *words, cwd=tmp_path)
        assert ran.code == 2 and b"--no-coverage contradicts" in ran.err
    for words in (("--json", "--export-sarif", "-"), ("--stats-json", "--export-sarif", "-"), ("--json", "--coverage-file", "-"),
                  ("--export-sarif", "-", "--coverage-file", "-")):
        ran = hotcell("fuzz", "function", "w.c:check", *words, cwd=tmp_path)
        assert ran.code == 2 and ran.out == b"" and b"both write to stdout" in ran.err, ran
    ran = hotcell("fuzz", "function", "w.c:check", "--coverage-file", "none/x", cwd=tmp_path)
    assert ran.code == 2 and b"--coverage-file" in ran.err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format":"hotcell-function-1"}'])
def test_a_history_that_is_none_is_told_and_left_alone(tmp_path, text):
    functions = tmp_path / ".hotcell" / "functions"
    functions.mkdir(parents=True)
    (tmp_path / ".hotcell").chmod(0o700)
    trust(tmp_path)
    (functions / "0123456789abcdef.json").write_text(text)
    ran = hotcell("report", cwd=tmp_path)
    assert ran.code == 2 and b"left alone: 0123456789abcdef.json" in ran.err and b"nothing was found here yet" in ran.err

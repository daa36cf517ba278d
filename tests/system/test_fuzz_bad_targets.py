"""Targets that do all they can to the engine that runs them, their folders and us: each is told or fuzzed to its end, within its
time, and nothing of it is left."""

import json
import os
import signal
import subprocess
import time

import pytest

from harness import HOTCELL, IS_ROOT, ROOT, descendants, environment, hotcell, small_disk

VENV = ["--venv", ROOT / "build-engines" / "python"]  # see tools/setup.sh
QUICK = ["--duration", "3s"]
BRANCHES = "def f(x: str):\n    if len(x) > 1:\n        return x > 'a'\n"


def fuzz(folder, *words, timeout=100, **more):
    return hotcell("fuzz", "function", *words, *VENV, "--json", "--quiet", "--no-coverage", cwd=folder, timeout=timeout, **more)


def said(ran):
    return json.loads(ran.out)


def problems(ran):
    return "\n".join(said(ran)["targets"][0]["problems"])


def start(folder, *words):
    return subprocess.Popen([HOTCELL, "fuzz", "function", *map(os.fspath, [*words, *VENV, "--no-coverage"])], cwd=folder, env=environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def wait_until(what, seconds=40):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def runs(folder):
    place = folder / ".hotcell" / "fuzz"
    return list(place.iterdir()) if place.exists() else []


def fuzzed(folder):
    """Whether an engine has called it."""
    return any(json.loads(each.read_text())["execs"] for each in (folder / ".hotcell").glob("fuzz/*/status.json"))


# ---- at import ----


def test_a_module_that_sleeps_at_import_is_told_within_its_time(tmp_path):
    (tmp_path / "t.py").write_text("import time\ntime.sleep(1000)\ndef f(x: str): pass\n")
    ran = fuzz(tmp_path, "t.py:f", *QUICK)
    assert ran.code == 4 and "not ready to be called" in problems(ran), ran


# what of the harness and the interpreter is changed, and whether it can still be fuzzed
PATCHES = {
    "the engine": "import atheris\natheris.Fuzz = atheris.Setup = atheris.instrument_imports = lambda *a, **k: None",
    "builtins": "import builtins\nbuiltins.open = builtins.len = builtins.print = builtins.repr = None",
    "os, json and hashlib": "import os, json, hashlib\nos.link = os.open = os.unlink = os._exit = json.loads = hashlib.sha1 = None",
    "sys": "import sys\nsys.argv[:] = []\nsys.stderr = sys.stdout = None\nsys.exit = lambda *a: None\nsys.modules.clear()",
    "what catches": "import signal, faulthandler\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass",
    "processes": "import os\nfor _ in range(200):\n    try:\n        if os.fork() == 0:\n            import time; time.sleep(1000)\n    except OSError: break",
}


@pytest.mark.parametrize("what", PATCHES)
def test_a_module_that_changes_what_runs_it_is_fuzzed_or_told(tmp_path, what):
    (tmp_path / "t.py").write_text(PATCHES[what] + "\ndef f(x: str):\n    return x\n")
    ran = fuzz(tmp_path, "t.py:f", *QUICK)
    assert ran.code in (0, 3, 4), ran
    assert said(ran)["findings"] == [], "what it does at import is no input's fault"
    assert ran.code == 0 or problems(ran)
    assert runs(tmp_path) == []


# ---- when it is called ----


def test_a_function_that_catches_everything_is_fuzzed_to_its_end(tmp_path):
    (tmp_path / "t.py").write_text("""
import signal, sys
def f(x: str):
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            sys.exit(len(x))
        except BaseException:
            return 0
""")
    ran = fuzz(tmp_path, "t.py:f", *QUICK)
    assert ran.code == 0 and said(ran)["findings"] == [] and said(ran)["execs"] > 0, ran


RARE_C = """
#include <stdint.h>
#include <unistd.h>
int f(const unsigned char *data, size_t len)
{
	uint32_t sum = 2166136261u;
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ data[i]) * 16777619u;
	if (sum %% 1009 == 7)
		_exit(%d);
	return 0;
}
"""
ENDS_PY = "import os\ndef f(x: bytes):\n    if len(x) > 3 and x[0] > 100:\n        os._exit(%d)\n"


@pytest.mark.parametrize("name, text", [
    ("t.py", "import os\ndef f(x: str):\n    os._exit(0)\n"),
    pytest.param("t.py", ENDS_PY % 0, marks=pytest.mark.long),
    ("t.py", ENDS_PY % 1),
    ("t.c", "#include <unistd.h>\nint f(const char *x) { _exit(0); }\n"),
    pytest.param("t.c", RARE_C % 0, marks=pytest.mark.long),
    ("t.c", RARE_C % 1),
    ("t.cc", '#include <unistd.h>\n#include <string>\nnamespace app { inline namespace v1 { namespace {\n'
             'int f(const std::string &x) noexcept { if (x.size() > 2) _exit(0); return 0; }\n} } }\n'),
])
def test_a_function_that_ends_its_process_is_a_finding(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    ran = fuzz(tmp_path, f"{name}:f", "--duration", "15s", "--max-findings", "1")
    (finding,) = said(ran)["findings"]
    assert ran.code == 1 and (finding["oracle"], finding["message"]) == ("crash", "it ended the process"), ran
    assert finding["seen"] == finding["tried"] == 3
    if name == "t.cc":  # in namespaces, which its whole name has
        assert finding["subject"] == "app::v1::f" and finding["command"] == ["t.cc:app::v1::f"]
        ran = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
        assert ran.code == 1 and said(ran)["verdict"] == "reproduced", ran


def test_a_harness_that_ends_its_process_is_never_clean(tmp_path):
    (tmp_path / "fuzz_t.py").write_text("""
import os, sys
import atheris
def TestOneInput(data):
    if len(data) > 2:
        os._exit(0)
atheris.Setup(sys.argv, TestOneInput)
atheris.Fuzz()
""")
    ran = fuzz(tmp_path, "fuzz_t.py", "--duration", "5s")
    assert ran.code == 4 and said(ran)["findings"] == [], ran
    assert any("its process ended in the middle of its work" in gap for gap in said(ran)["limitations"]), ran


def test_gigabytes_of_words_are_read_and_thrown_away(tmp_path):
    (tmp_path / "t.py").write_text("import os\nBLOCK = b'x' * 50_000_000\ndef f(x: str):\n    os.write(2, BLOCK)\n    os.write(1, BLOCK)\n")
    ran = fuzz(tmp_path, "t.py:f", *QUICK)
    assert ran.code in (0, 4) and said(ran)["findings"] == [], ran
    assert len(ran.out) < 100_000


STRANGE = """
import os
def f(x: str):
    for place in ("/fuzz/corpus/", "/fuzz/crashes/"):
        for name in ("a\\nb", "-rf", "\\x1b[31m", "0" * 200, "..."):
            open(place + name, "w").close()
        for number in range(25_000):
            open(f"{place}{number:016x}.input", "w").close()
        try:
            os.mkfifo(place + "fedcba9876543210.input")
            os.mkfifo(place + "fedcba9876543210.txt")
            os.link(place + "-rf", place + "fedcba9876543211.input")
        except OSError:
            pass
"""


def test_strange_files_and_thousands_of_names_in_its_folders_do_no_harm(tmp_path):
    (tmp_path / "t.py").write_text(STRANGE)
    ran = fuzz(tmp_path, "t.py:f", *QUICK)
    assert ran.code in (0, 4) and said(ran)["findings"] == [], ran
    assert runs(tmp_path) == []
    for each in (tmp_path / ".hotcell" / "corpus").rglob("*"):
        assert each.is_dir() or (each.is_file() and not each.is_symlink())
        assert each.name.isprintable()


def test_a_target_that_changes_while_it_is_fuzzed_is_told(tmp_path):
    (tmp_path / "t.py").write_text(BRANCHES)
    with start(tmp_path, "t.py:f", "--json", "--quiet", "--duration", "4s") as process:
        wait_until(lambda: fuzzed(tmp_path))
        (tmp_path / "t.py").write_text("def f(x: str): return 1\n")
        out, _ = process.communicate(timeout=60)
    assert any("changed while it was fuzzed" in each for each in json.loads(out)["limitations"]), out


def test_seeds_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "t.py").write_text(BRANCHES)
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir(mode=0)
    for name, what in (("nothing", b"No such file"), ("file", b"Not a directory"), ("closed", b"cannot be read")):
        if name == "closed" and IS_ROOT:
            continue  # to root, nothing is closed
        ran = fuzz(tmp_path, "t.py:f", *QUICK, "--seed-corpus", name)
        assert ran.code == 2 and what in ran.err, ran


# ---- builds ----


def test_the_log_of_a_build_is_bounded_and_escaped(tmp_path):
    lines = "".join(f'#warning "\x1b]0;evil\x07 {number}"\n' for number in range(3000))
    (tmp_path / "t.c").write_text(lines + "#error \x1b[2J the end\nint f(const char *text) { return 0; }\n")
    ran = hotcell("fuzz", "function", "t.c:f", *QUICK, "--quiet", cwd=tmp_path, timeout=100)
    assert ran.code == 4 and b"it cannot be built" in ran.out and b"the end" in ran.out, ran
    assert b"\x1b" not in ran.out and b"\x07" not in ran.out and len(ran.out) < 10_000, ran


# ---- us ----


def test_a_run_that_is_killed_leaves_nothing_that_runs_and_the_next_one_sweeps(tmp_path):
    (tmp_path / "t.py").write_text(BRANCHES)
    with start(tmp_path, "t.py:f", "--duration", "60s") as process:
        wait_until(lambda: fuzzed(tmp_path))
        below = descendants(process.pid)
        process.kill()
        process.communicate(timeout=20)
    assert len(below) > 1
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in below), 10)
    assert len(runs(tmp_path)) == 1
    ran = fuzz(tmp_path, "t.py:f", "--max-execs", "20000")
    assert ran.code == 0, ran
    assert runs(tmp_path) == []


def test_two_runs_at_once_share_a_state_and_do_not_disturb_each_other(tmp_path):
    (tmp_path / "t.py").write_text("def f(x: str):\n    if len(x) == 3:\n        raise KeyError(x)\n")
    both = [start(tmp_path, "t.py:f", "--json", "--quiet", "--duration", "5s") for _ in range(2)]
    results = [json.loads(process.communicate(timeout=100)[0]) for process in both]
    assert [process.returncode for process in both] == [1, 1], results
    ids = {finding["id"] for result in results for finding in result["findings"]}
    assert len(ids) == 1 and all(len(result["findings"]) == 1 for result in results)
    assert [each.name for each in (tmp_path / ".hotcell" / "findings").glob("*.json")] == [f"{ids.pop()}.json"]
    assert runs(tmp_path) == []


def test_an_interrupt_ends_it_and_what_was_found_is_told_and_kept(tmp_path):
    (tmp_path / "t.py").write_text("def f(x: str):\n    if len(x) == 1:\n        raise KeyError(x)\n")
    with start(tmp_path, "t.py:f", "--json", "--quiet", "--duration", "100s") as process:
        wait_until(lambda: list((tmp_path / ".hotcell" / "findings").glob("*.json")))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert [finding["message"] for finding in json.loads(out)["findings"]], out
    assert runs(tmp_path) == []
    (corpus,) = (tmp_path / ".hotcell" / "corpus").iterdir()
    assert list(corpus.iterdir())


def test_a_full_disk_under_the_state_is_told(tmp_path):
    (tmp_path / "t.py").write_text("def f(x: str): pass\n")
    state = tmp_path / "state"
    state.mkdir()
    ran = hotcell("fuzz", "function", "t.py:f", *VENV, "--quiet", *QUICK, "--state", state, cwd=tmp_path, timeout=100,
                  preexec_fn=small_disk(state, "16k"))
    assert ran.code == 4 and b"No space left" in ran.out + ran.err, ran


# ---- what is told apart ----


def test_two_files_of_one_name_are_two_targets(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.py").write_text('def f(x: str):\n    if x[:1] == "a":\n        raise ValueError("line 1: runtime error: nil")\n')
    ran = fuzz(tmp_path, "a/t.py:f", "b/t.py:f", "--workers", "2", "--duration", "60s", "--max-findings", "2")
    found = said(ran)["findings"]
    assert sorted(each["target"] for each in found) == ["a/t.py:f", "b/t.py:f"], ran
    assert {each["message"] for each in found} == {"ValueError: line 1: runtime error: nil"}, "its words do not say what it is"
    (tmp_path / "b" / "t.py").write_text("def f(x: str):\n    pass\n")
    ran = fuzz(tmp_path / "b", "t.py:f", "--duration", "1s")
    (gone,) = (each["id"] for each in found if each["target"] == "b/t.py:f")
    assert said(ran)["fixed"] == [gone], ran


def test_a_function_that_cannot_be_called_is_not_clean(tmp_path):
    (tmp_path / "t.py").write_text("""
class Door:
    def __init__(self, key: int):
        raise TypeError("no such key")


def f(door: Door):
    pass
""")
    ran = fuzz(tmp_path, "t.py:f", "--duration", "2s")
    assert ran.code == 4 and "its parameter 'door' cannot be made from bytes: Door" in said(ran)["targets"][0]["problems"][0], ran

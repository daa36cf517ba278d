"""What is seen of function fuzzing while it goes on, here and from another terminal; how far it steps back; and fuzzing
without a sandbox."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import ROOT, Live, Terminal, descendants, hotcell, slurp, trust

VENV = ["--venv", ROOT / "build-engines" / "python"]
CPUS = len(os.sched_getaffinity(0))
WATERFALL = ROOT / "examples" / "waterfall"
# Slowly, so that its replays are still going on when a line is printed, which is once a second.
CRASHING = """
import time
def parse(data: bytes):
    if len(data) == 3:
        time.sleep(0.5)
        raise KeyError("three")
"""
QUIET = "#include <stddef.h>\nint f(const unsigned char *data, size_t len) { return len > 2 && data[0] == 'a' && data[1] == 'b'; }\n"


def put(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


# ---- the picture ----


def screens(out):
    """The frames as a terminal got them: each begins where the last was wiped."""
    text = out.decode("utf-8", "replace")
    frames = re.split(r"\r(?:\x1b\[\d+A)?\x1b\[2K", text)
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frame).replace("\r", "") for frame in frames]


def test_the_picture_fits_the_terminal_also_when_that_becomes_wider(tmp_path):
    target = put(tmp_path, "t.c", QUIET)
    with Terminal("fuzz", "function", f"{target}:f", "--duration", "4s", "--workers", "2", "--state", tmp_path / "state", rows=24,
                  columns=80, env={"TERM": "xterm"}) as terminal:
        terminal.wait_for(b"worker 2   fuzzing", 60)
        narrow = len(terminal.out)
        terminal.resize(24, 200)
        code, out = terminal.finish(60)
    assert code == 0, out
    for part, columns in ((out[:narrow], 80), (out[narrow:], 200)):
        frames = [frame for frame in screens(part) if "worker 2" in frame]
        assert frames and all(len(line) < columns for frame in frames for line in frame.splitlines())
    assert any("left of 4s" in frame for frame in frames), frames
    for wanted in ("t.c:f", "execs", "/s", "corpus", "findings none", "coverage", "features", "last new path", "worker 1", "\u2588"):
        assert wanted in frames[-2], frames[-2]


# ---- from another terminal, and for machines ----


def test_status_and_statistics_while_a_crash_is_confirmed(tmp_path):
    put(tmp_path, "t.py", CRASHING)
    with Live("function", "t.py:parse", *VENV, "--duration", "7s", "--workers", "2", "--stats-json", "--nice", "7", verb="fuzz", json=False,
              cwd=tmp_path) as live:
        live.wait_for(b'"crashes":1', 60)
        engines = [pid for pid in descendants(live.pid) if b"harness_of_hotcell" in (slurp(f"/proc/{pid}/cmdline") or b"")]
        stats = filter(None, (slurp(f"/proc/{pid}/stat") for pid in engines))  # one may have ended meanwhile
        nices = [int(stat.rpartition(b")")[2].split()[16]) for stat in stats]
        text = hotcell("status", cwd=tmp_path)
        told = json.loads(hotcell("status", "--json", cwd=tmp_path).out)
        ran = live.finish(60)
    own = os.nice(0)
    assert set(nices) == {min(own + 7, 19)}, nices

    shown = text.out.decode()
    assert text.code == 0, text
    for wanted in ("t.py:parse", f"process {live.pid}", "worker 1", "worker 2", "coverage", "last new path", "findings "):
        assert wanted in shown, shown
    (fuzzer,) = told["fuzzing"]
    assert fuzzer["alive"] and fuzzer["pid"] == live.pid and fuzzer["execs"] > 0 and len(fuzzer["workers"]) == 2

    lines = [json.loads(line) for line in ran.lines]
    *during, end = lines
    assert end["exit"] == 1 and [each["message"] for each in end["findings"]] == ["KeyError: 'three'"] and end["nice"] == 7
    assert end["execs"] > 0 and during[-1]["execs"] > 0
    assert end["coverage_over_time"]["coverage"][-1] > 0
    times = [each["ms"] for each in during]
    assert len(times) >= 6 and all(later > earlier for earlier, later in zip(times, times[1:]))
    assert {each["doing"] for each in during} & {"replaying", "minimising"}
    assert any(len(each["workers"]) == 2 and all(worker["execs_per_s"] > 0 for worker in each["workers"]) for each in during)
    assert b" left of 7s: " in ran.err and b" execs, " in ran.err and b"; findings: " in ran.err  # no terminal: a line now and then

    after = hotcell("status", cwd=tmp_path)
    assert after.code == 2 and b"fuzz" not in after.out


def test_one_that_was_killed_is_told_apart(tmp_path):
    put(tmp_path, "t.c", QUIET)
    with Live("function", "t.c:f", "--duration", "60s", "--stats-json", "--quiet", verb="fuzz", json=False, cwd=tmp_path) as live:
        live.wait_for(b'"doing":"fuzzing"', 60)
        time.sleep(1.1)  # its file has that, too
        watch = subprocess.Popen([*live.argv[:1], "status", "--watch"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert "t.c:f: " in watch.stdout.readline()
        os.kill(live.pid, signal.SIGKILL)
        live.process.wait()
        assert watch.wait(20) == 0  # nothing is left to watch
        watch.stdout.close()
    told = hotcell("status", cwd=tmp_path)
    assert told.code == 0 and told.out.startswith(b"killed: the fuzzing of t.c:f (process %d)" % live.pid), told
    (fuzzer,) = json.loads(hotcell("status", "--json", cwd=tmp_path).out)["fuzzing"]
    assert fuzzer["alive"] is False


def test_files_of_strangers_do_not_disturb_status(tmp_path):
    runs = tmp_path / ".hotcell" / "fuzz"
    (tmp_path / ".hotcell").mkdir(mode=0o700)
    trust(tmp_path)
    for name in ("fifo", "link", "large", "words", "folder", "real"):
        (runs / name).mkdir(parents=True)
    os.mkfifo(runs / "fifo" / "status.json")
    (runs / "link" / "status.json").symlink_to("/etc/passwd")
    (runs / "large" / "status.json").write_bytes(b" " * (8 << 20))
    (runs / "words" / "status.json").write_text("x")
    (runs / "folder" / "status.json").mkdir()
    (runs / "real" / "status.json").write_text(
        '{"format":"hotcell-fuzzing-1","pid":7,"targets":[{"name":"\\u001b[2Jx"}]}')
    told = hotcell("status", cwd=tmp_path)
    assert told.code == 0 and told.out.count(b"\n") == 1 and b"\x1b" not in told.out, told


# ---- stepping back ----


def test_engines_that_may_take_the_whole_machine_step_back_by_themselves(tmp_path):
    put(tmp_path, "t.c", QUIET)
    words = ["fuzz", "function", "t.c:f", "--max-execs", "1000", "--json", "--quiet", "--cpus", str(CPUS)]
    assert json.loads(hotcell(*words, cwd=tmp_path, timeout=60).out)["nice"] == 5
    assert hotcell(*words, "--nice", "20", cwd=tmp_path).code == 2


# ---- without a sandbox ----


def of_ours():
    """What a run without a sandbox could leave; another user's suite may run beside this one."""
    names = [name for name in os.listdir("/tmp") if name.startswith(("crash-", "hotcell-none-"))]
    return {name for name in names if owner(f"/tmp/{name}") == os.getuid()}


def owner(path):
    try:
        return os.lstat(path).st_uid
    except FileNotFoundError:
        return None


def bare(tmp_path, language, name, *more):
    """Begun with what it is to find: this is not about finding."""
    shutil.copy(WATERFALL / language / name, tmp_path / name)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_bytes(b"hotcell and more")
    before = of_ours()
    ran = hotcell("fuzz", "function", f"{name}:check", *more, "--no-sandbox", "--duration", "3s", "--seed-corpus", "seeds", "--json",
                  "--quiet", cwd=tmp_path, timeout=100)
    assert ran.code == 1 and b"NO SANDBOX" in ran.err, ran
    result = json.loads(ran.out)
    (finding,) = result["findings"]
    assert result["nice"] == (0 if CPUS > 1 else 5)  # one engine, one processor
    assert result["backend"] == "none" and any("no sandbox" in each for each in result["limitations"])
    assert base64.b64decode(finding["input"]).startswith(b"hotcell")
    assert finding["file"] == name and finding["line"] > 0
    assert "found without a sandbox" in finding["evidence"] and "--no-sandbox" in finding["flags"]
    assert of_ours() == before
    assert list((tmp_path / ".hotcell" / "fuzz").iterdir()) == []
    return finding


def test_a_bug_found_without_a_sandbox_is_the_same_in_a_cell(tmp_path):
    finding = bare(tmp_path, "c", "waterfall.c")
    refused = hotcell("findings", "repro", finding["id"], cwd=tmp_path, timeout=60)
    assert refused.code == 2 and b"--no-sandbox" in refused.err and b"--trust" in refused.err, refused
    (capsule,) = (tmp_path / ".hotcell" / "findings").glob("*.json")
    celled = json.loads(capsule.read_text())
    celled["flags"].remove("--no-sandbox")
    put(tmp_path, "celled.json", json.dumps(celled))
    again = hotcell("repro", "--json", "celled.json", cwd=tmp_path, timeout=60)
    assert json.loads(again.out)["verdict"] == "reproduced" and b"NO SANDBOX" not in again.err, again
    trusted = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=60)
    assert json.loads(trusted.out)["verdict"] == "reproduced" and b"NO SANDBOX" in trusted.err, trusted


def test_python_without_a_sandbox(tmp_path):
    finding = bare(tmp_path, "python", "waterfall.py", *VENV)
    assert finding["message"] == "RuntimeError: the whole word was found"


def test_a_folder_that_cannot_be_named_without_a_sandbox_is_refused(tmp_path):
    folder = tmp_path / "with a space"
    folder.mkdir()
    put(folder, "t.c", QUIET)
    ran = hotcell("fuzz", "function", "t.c:f", "--no-sandbox", "--max-execs", "10", cwd=folder)
    assert ran.code == 4 and b"a space or sign in its name" in ran.out, ran


# ---- elsewhere ----


def test_the_harness_can_be_taken_elsewhere(tmp_path):
    put(tmp_path, "t.c", QUIET)
    words = ["fuzz", "function", "t.c:f", "--max-execs", "1000", "--seed", "3", "--export-harness"]
    ran = hotcell(*words, "out", cwd=tmp_path)
    assert ran.code == 0, ran
    done = subprocess.run(["bash", "-e"], input=ran.out, capture_output=True, cwd="/")
    assert done.returncode == 0 and b"stat::number_of_executed_units: 1000" in done.stderr, done
    assert hotcell(*words, "out", cwd=tmp_path).code == 2  # what is there is not overwritten
    assert not (tmp_path / ".hotcell" / "fuzz").exists()

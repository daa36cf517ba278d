"""The audit log: what is in it, what is not, and what is found when somebody changed it."""

import base64
import json
import os
import signal
import subprocess
import urllib.parse

import pytest

from campaigns import Supervisor, campaign, sessions
from fuzzing import FINE, QUICK, fuzz_mcp, fuzz_tool, server, tool
from harness import HOTCELL, PRETEND, Live, eventually, hotcell, run, slurp, small_disk

SECRET = "tr0ub4dor & three/plus+"
PARSE = """#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int parse(const uint8_t *data, size_t size) { if (size && data[0] == 'x') abort(); return 0; }
"""


def verify(project, *args):
    ran = hotcell("audit", "verify", "--json", *args, cwd=project)
    assert ran.code in (0, 1), ran
    found = json.loads(ran.out)
    assert (ran.code == 1) == (found["problem_count"] > 0)
    return found


def records(project, path=".hotcell/audit.jsonl"):
    return [json.loads(line) for line in (project / path).read_text().splitlines()]


@pytest.fixture
def log(place):
    ran = campaign(place, "--name", "one", "--runs", "3", "--workers", "1", "--", "/bin/true")
    assert ran.code == 0, ran
    return place / ".hotcell/audit.jsonl"


def test_a_campaign_tells_what_was_decided_and_what_came_of_it(place, log):
    found = verify(place)
    assert found["problems"] == [] and found["lines"] == len(records(place))
    events = [each["event"] for each in records(place)]
    assert events[:3] == ["campaign-started", "campaign-plan", "policy"]
    assert events.count("cell-start") == events.count("cell-end") == 3
    assert events[-1] == "campaign-done"
    shown = hotcell("audit", "show", cwd=place)
    assert shown.code == 0 and len(shown.out.splitlines()) == found["lines"], shown
    assert hotcell("audit", "show", "--since", "2999-01-01", cwd=place).out == b""
    assert len(hotcell("audit", "show", "--json", "--since", "1h", cwd=place).out.splitlines()) == found["lines"]


def test_a_single_run_is_told_where_it_is_asked_for(place):
    ran = run("--audit", place / "log.jsonl", "--", "/bin/sh", "-c", "unshare -U true; exit 3", json=False, cwd=place)
    assert ran.code == 3, ran
    policy, start, end = records(place, "log.jsonl")
    assert (policy["event"], start["event"], end["event"]) == ("policy", "cell-start", "cell-end")
    assert end["cell"] == start["cell"] and end["outcome"] == "exited" and end["exit_code"] == 3
    assert end["refused_total"] >= 1 and end["refused"]["unshare"] >= 1
    assert verify(place, "log.jsonl")["problems"] == []


def test_running_without_a_sandbox_is_told(place):
    ran = run("--backend", "none", "--audit", place / "log.jsonl", "--", "/bin/true", json=False, cwd=place)
    assert ran.code == 0, ran
    assert records(place, "log.jsonl")[0]["event"] == "unsafe-mode"
    assert records(place, "log.jsonl")[1]["unsafe"] is True


def test_running_without_a_sandbox_leaves_a_trace_in_the_project(place):
    """Where there is one: a folder is not made for it."""
    assert run("--backend", "none", "--", "/bin/true", json=False, cwd=place).code == 0
    assert not (place / ".hotcell").exists()
    (place / ".hotcell").mkdir(mode=0o700)
    (place / "below").mkdir()
    assert run("--", "/bin/true", json=False, cwd=place).code == 0
    assert not (place / ".hotcell/audit.jsonl").exists()
    assert run("--backend", "none", "--explain", "--", "/bin/true", json=False, cwd=place).code == 0
    assert not (place / ".hotcell/audit.jsonl").exists()
    assert run("--no-sandbox", "--", "/bin/sh", "-c", "exit 3", json=False, cwd=place / "below").code == 3
    assert [each["event"] for each in records(place)] == ["unsafe-mode", "policy", "cell-start", "cell-end"]
    assert records(place)[-1]["exit_code"] == 3
    assert run("--backend", "none", "--audit", place / "log.jsonl", "--", "/bin/true", json=False, cwd=place).code == 0
    assert len(records(place)) == len(records(place, "log.jsonl")) == 4
    assert verify(place)["problems"] == []


def test_a_log_that_cannot_be_written_stops_the_run_before_it_begins(place):
    (place / "log.jsonl").write_text("my diary\n")
    ran = run("--audit", place / "log.jsonl", "--", "/bin/touch", "/workspace/x", json=False, cwd=place)
    assert ran.code in (2, 125), ran
    assert (place / "log.jsonl").read_text() == "my diary\n"


def edited(lines):
    lines[4] = lines[4].replace(b'"run":1', b'"run":9')


def dropped(lines):
    del lines[4]


def swapped(lines):
    lines[4], lines[5] = lines[5], lines[4]


def truncated(lines):
    del lines[5:]


@pytest.mark.parametrize("change, line, text", [
    (edited, 5, "edited"), (dropped, 5, "dropped"), (swapped, 5, "dropped"), (truncated, 5, "cut off"),
])
def test_a_change_is_found_and_its_line_is_named(place, log, change, line, text):
    lines = log.read_bytes().splitlines(keepends=True)
    change(lines)
    log.write_bytes(b"".join(lines))
    first = verify(place)["problems"][0]
    assert first["line"] == line and text in first["text"], first


def test_a_log_made_up_anew_is_found_by_a_head_kept_elsewhere(place, log):
    head = verify(place)["head"]
    log.unlink()
    log.with_name("audit.head").unlink()
    assert campaign(place, "--name", "two", "--runs", "3", "--", "/bin/true").code == 0
    assert verify(place)["problems"] == []
    assert verify(place, "--head", head)["problem_count"] == 1


def test_there_is_no_log_to_be_read(place):
    assert hotcell("audit", "verify", "nothing.jsonl", cwd=place).code == 2
    assert hotcell("audit", "verify", "--head", "x", "nothing.jsonl", cwd=place).code == 2
    for verb in ("verify", "show"):
        ran = hotcell("audit", verb, cwd=place)
        assert ran.code == 2 and f"'hotcell audit {verb} FILE'".encode() in ran.err, ran


@pytest.mark.parametrize("text", ["root:x:0:0\nmore\n", "no newline", "{}\n", "\n", "x" * (3 << 20)])
def test_a_file_that_is_no_log_at_all_is_told_so(place, text):
    (place / "other").write_text(text)
    ran = hotcell("audit", "verify", "other", cwd=place)
    assert ran.code == 2 and ran.out == b"" and b"'other' is no audit log" in ran.err and ran.err.count(b"\n") == 1, ran


def test_what_was_a_log_is_not_taken_for_another_file(place, log):
    path = place / ".hotcell/audit.jsonl"
    head = verify(place)["head"]
    path.write_text("nothing\n")
    assert hotcell("audit", "verify", cwd=place).code == 1
    (place / ".hotcell/audit.head").unlink()
    assert hotcell("audit", "verify", "--head", head, cwd=place).code == 1
    path.write_text('{"seq":1,"prev":"000')
    found = verify(place)
    assert found["torn_end"] == 20 and found["problem_count"] == 1 and "cut off" in found["problems"][0]["text"], found
    path.write_text('{"seq":1}\n')
    assert verify(place)["problem_count"] == 2 # it is no record, and there is no head
    path.write_text("")
    found = verify(place)
    assert found["lines"] == 0 and [each["line"] for each in found["problems"]] == [0] and found["head"] is None, found
    ran = hotcell("audit", "verify", cwd=place)
    assert ran.code == 1 and b"the log is empty, and the head beside it is missing" in ran.err and b"NOT what was written" in ran.out, ran


def test_show_takes_the_times_that_it_prints(place, log):
    shown = hotcell("audit", "show", cwd=place).out.decode().splitlines()
    for index, line in enumerate(shown):
        ran = hotcell("audit", "show", "--since", line.split()[0], cwd=place)
        first = next(i for i, each in enumerate(shown) if each.split()[0] >= line.split()[0])
        assert ran.code == 0 and ran.out.decode().splitlines() == shown[first:], (index, ran)
    for since in ("2000-02-29", "2000-01-01 00:00", "2000-01-01T00:00Z", "2000-01-01 23:59:59", "2000-01-01T00:00:00.1"):
        assert len(hotcell("audit", "show", "--since", since, cwd=place).out.splitlines()) == len(shown), since


@pytest.mark.parametrize("since", ["2026-13-45", "2026-02-29", "2026-00-10", "2026-11-00", "2026-11-16 24:00", "2026-11-16 07:60",
                                   "2026-11-16T07:50:61Z", "2026-11-16T", "2026-11-16Z", "2026-11-16T07:50:58.", "2026-11-16T07:50:58.1234Z",
                                   "2026-11-16T07:50:58.123ZZ", "yesterday"])
def test_a_time_that_there_is_not_is_refused(place, log, since):
    ran = hotcell("audit", "show", "--since", since, cwd=place)
    assert ran.code == 2 and ran.out == b"" and b"--since" in ran.err and since.encode() in ran.err, ran


def test_every_problem_is_listed_and_how_many_are_not(place):
    """Records that all have a number that does not follow."""
    record = '{"seq":%d,"prev":"' + "0" * 64 + '","time":"2026-11-16T00:00:00.000Z","event":"x"}\n'
    for count in (50, 10100):
        (place / "log.jsonl").write_text("".join(record % (2 * each + 2) for each in range(count)))
        found = verify(place, "log.jsonl")
        assert found["problem_count"] == count + 1 and found["lines"] == count # and there is no head
        assert len(found["problems"]) == min(count + 1, 10000) and found["file"] == "log.jsonl"
        assert found["problems_left_out"] == count + 1 - len(found["problems"])
    ran = hotcell("audit", "verify", "log.jsonl", cwd=place)
    assert ran.code == 1 and b"and 10081 problems more" in ran.err and ran.err.count(b"\n") == 21, ran


def test_what_a_hostile_log_holds_is_shown_and_not_obeyed(place):
    (place / "log.jsonl").write_text(json.dumps(
        {"seq": 1, "prev": "0" * 64, "time": "\x1b[2J", "event": "\x9b31m", "\x1b]0;x\x07": ["\x1b[31m"]}) + "\n")
    ran = hotcell("audit", "show", "log.jsonl", cwd=place)
    assert ran.code == 0 and b"31m" in ran.out, ran
    assert not set(ran.out.decode()) & {"\x1b", "\x9b", "\x07"}, ran


def test_killed_in_the_middle_and_resumed_the_log_is_whole(place):
    with Supervisor(place, "--name", "night", "--runs", "400", "--workers", "3", "--plain", "--", "/bin/true") as first:
        first.wait_for(r"\[010\] ")
        first.kill(signal.SIGKILL)
        first.finish()
    assert verify(place)["problems"] == []
    with open(place / ".hotcell/audit.jsonl", "ab") as log:
        log.write(b'{"seq":99,"prev":"12') # what is left where a write was cut short
    assert verify(place)["torn_end"] == 20
    ran = campaign(place, "night", verb="resume")
    assert ran.code == 0, ran
    found = verify(place)
    assert found["problems"] == [] and found["torn"] == 1 and found["torn_end"] == 0
    events = hotcell("audit", "show", "--json", cwd=place).out
    events = [json.loads(line) for line in events.splitlines()]
    ended = {each["run"] for each in events if each["event"] == "cell-end" and each["state"] == "success"}
    assert ended == set(range(1, 401))
    assert "campaign-resumed" in [each["event"] for each in events]


def test_two_campaigns_at_once_write_one_log(place):
    with Supervisor(place, "--name", "a", "--runs", "60", "--workers", "2", "--output", "a", "--plain", "--", "/bin/true") as one:
        assert campaign(place, "--name", "b", "--runs", "60", "--workers", "2", "--output", "b", "--", "/bin/true").code == 0
        assert one.finish() == 0
    found = verify(place)
    assert found["problems"] == []
    ends = [(each["campaign"], each["run"]) for each in records(place) if each["event"] == "cell-end"]
    assert sorted(ends) == [(name, number) for name in "ab" for number in range(1, 61)]


def test_no_secret_is_in_it_in_any_spelling(place):
    encoded = base64.b64encode(SECRET.encode()).decode()
    words = ["/bin/echo", SECRET, encoded, SECRET.encode().hex(), urllib.parse.quote(SECRET), json.dumps(SECRET),
             "--password=hunter2hunter2", "/home/somebody/x", "https://me:pw@host/"]
    ran = campaign(place, "--name", "s", "--runs", "2", "--env", f"TOKEN={SECRET}", "--pass-env", "HIDDEN", "--", *words,
                   "passed-by-name", env={"HIDDEN": "passed-by-name"})
    assert ran.code == 0, ran
    ran = run("--audit", place / ".hotcell/audit.jsonl", "--env", f"TOKEN={SECRET}", "--", *words, json=False, cwd=place)
    assert ran.code == 0, ran
    text = (place / ".hotcell/audit.jsonl").read_text()
    for each in [SECRET, encoded[:-3], SECRET.encode().hex(), urllib.parse.quote(SECRET), "tr0ub4dor", "hunter2", "somebody",
                 "me:pw", "passed-by-name"]:
        assert each not in text, each
    assert "[redacted:value]" in text and "TOKEN" in text and "HIDDEN" in text
    assert verify(place)["problems"] == []


# ---- what was brought in, and what was refused ----


def cell_of(pid):
    return eventually(lambda: [each["id"] for each in json.loads(hotcell("ps", "--json").out) if each["supervisor"] == pid])[0]


STAYS = ["/bin/sh", "-c", "echo ready; sleep 60"]


def look_around(cell):
    assert eventually(lambda: hotcell("logs", cell).out == b"ready\n")
    assert hotcell("exec", cell, "--", "/bin/sh", "-c", "exit 4").code == 4
    assert hotcell("exec", cell, "--env", "x", "--", "/bin/echo", "password=hunter2-hunter2").code != 0 # its own mistake
    assert hotcell("exec", cell, "--", "/bin/echo", "password=hunter2-hunter2").code == 0


def check_execs(found, cell, campaign_name):
    events = [each for each in found if each["event"].startswith("exec")]
    assert [each["event"] for each in events] == ["exec", "exec-end"] * 2, events
    assert {each["cell"] for each in events} == {cell} and {each.get("campaign") for each in events} == {campaign_name}
    assert events[0]["command"] == "/bin/sh -c exit 4" and events[0]["by"] > 0 and events[1]["exit_code"] == 4
    assert "hunter2" not in json.dumps(events) and "[redacted:password]" in events[2]["command"]


def test_a_program_that_is_brought_into_a_cell_is_told(place):
    with Live("--audit", place / "log.jsonl", "--", *STAYS, json=False) as live:
        cell = cell_of(live.process.pid)
        look_around(cell)
        live.process.terminate()
        live.finish()
    check_execs(records(place, "log.jsonl"), cell, None)
    with Supervisor(place, "--name", "night", "--runs", "1", "--plain", "--", *STAYS) as it:
        cell = cell_of(it.pid)
        look_around(cell)
        it.kill(signal.SIGTERM)
        it.finish()
    check_execs(records(place), cell, "night")
    assert verify(place)["problems"] == verify(place, "log.jsonl")["problems"] == []


def test_a_program_that_could_not_be_told_is_not_brought_in(place):
    with Live("--audit", place / "log.jsonl", "--", "/bin/sleep", "60", json=False) as live:
        cell = cell_of(live.process.pid)
        (place / "log.jsonl").unlink()
        (place / "log.jsonl").mkdir()
        ran = hotcell("exec", cell, "--", "/bin/touch", "/workspace/x")
        assert ran.code == 125 and b"audit log" in ran.err, ran
        live.process.terminate()
        live.finish()


def test_a_changed_target_is_refused_and_that_is_told(place):
    target = place / "target"
    target.mkdir()
    (target / "program").write_text("one")
    assert hotcell("manifest", "create", target).code == 0
    (target / "program").write_text("another")
    assert run("--manifest", target, "--audit", place / "log.jsonl", "--", "/bin/true", json=False, cwd=place).code == 125
    assert campaign(place, "--manifest", target, "--dry-run", "--", "/bin/true").code == 125
    assert not (place / ".hotcell").exists()
    assert campaign(place, "--manifest", target, "--", "/bin/true").code == 125
    for found in (records(place, "log.jsonl"), records(place)):
        assert [(each["event"], each["rule"]) for each in found] == [("refused", "manifest")]
        assert "program" in found[0]["text"]


@pytest.mark.parametrize("verb", [("tool", "--schema", "schema.json"), ("mcp",), ("function", "--target", "parse.c:parse")])
def test_fuzzing_a_changed_target_is_refused_and_that_is_told(place, verb):
    tool(place, FINE)
    (place / "parse.c").write_text(PARSE)
    target = place / "target"
    target.mkdir()
    assert hotcell("manifest", "create", target).code == 0
    (target / "program").write_text("another")
    command = [] if verb[0] == "function" else ["--", "python3", "tool.py"]
    assert hotcell("fuzz", *verb, "--manifest", target, *command, cwd=place).code == 4
    assert hotcell("fuzz", *verb, "--manifest", target, "--audit", "log.jsonl", *command, cwd=place).code == 4
    for found in (records(place), records(place, "log.jsonl")):
        assert [(each["event"], each["rule"]) for each in found] == [("refused", "manifest")]
        assert "program" in found[0]["text"]


def test_a_campaign_that_is_resumed_on_a_changed_target_is_refused_and_that_is_told(place):
    target = place / "target"
    target.mkdir()
    (target / "program").write_text("one")
    assert hotcell("manifest", "create", target).code == 0
    with Supervisor(place, "--name", "night", "--runs", "9", "--workers", "1", "--manifest", target, "--plain", "--", "/bin/sleep", "0.2") as it:
        it.wait_for(r"\[002\] Starting")
        it.kill()
        it.finish()
    (target / "program").write_text("another")
    assert campaign(place, "night", verb="resume").code == 125
    assert [each["rule"] for each in records(place) if each["event"] == "refused"] == ["manifest"]


def test_a_cell_that_cannot_be_as_required_is_told(place):
    options = ["--backend", "none", "--require", "seccomp"]
    assert run(*options, "--audit", place / "log.jsonl", "--", "/bin/true", json=False).code == 125
    assert campaign(place, "--runs", "1", *options, "--", "/bin/true").code in (1, 3)
    for found in (records(place, "log.jsonl"), records(place)):
        [refusal] = [each for each in found if each["event"] == "refused"]
        assert refusal["rule"] == "require" and "seccomp" in refusal["text"], refusal


# ---- fuzzing ----

CALLS_AND_DIES = """import ctypes; ctypes.CDLL(None).unshare(0x10000000)
        if len(text) > 2: os.abort()
        said = {"status": "ok"}"""


def check_cells(found, refused):
    """Each cell has its beginning and, after it, its end."""
    begun = [each["cell"] for each in found if each["event"] == "cell-start"]
    ends = [each for each in found if each["event"] == "cell-end"]
    assert len(begun) > 1 and len(set(begun)) == len(begun) and sorted(begun) == sorted(each["cell"] for each in ends), found
    for end in ends:
        assert end["outcome"] in ("exited", "signaled", "cancelled") and "wall_ms" in end, end
    assert not refused or any(end.get("refused", {}).get(refused, 0) > 0 for end in ends), ends
    assert found[-1]["event"] == "fuzz-end" and found[-1]["cells"] == len(begun) and found[-1]["cells_left_out"] == 0, found[-1]
    return ends


def test_each_cell_of_fuzzing_is_told_with_what_it_was_refused(place):
    tool(place, CALLS_AND_DIES)
    assert fuzz_tool(place).code == 1
    ends = check_cells(records(place), "unshare")
    assert any(end["outcome"] == "signaled" and end["signal"] == signal.SIGABRT for end in ends), ends
    assert verify(place)["problems"] == []


def test_each_cell_of_a_server_that_is_fuzzed_is_told(place):
    server(place, "faulty_server.py")
    assert fuzz_mcp(place, "--tool", "crash", "--audit", "log.jsonl", calls=6, command=["faulty_server.py"]).code == 1
    check_cells(records(place, "log.jsonl"), None)
    assert verify(place, "log.jsonl")["problems"] == []


def test_each_cell_of_a_function_that_is_fuzzed_is_told(place):
    (place / "parse.c").write_text(PARSE)
    ran = hotcell("fuzz", "function", "--target", "parse.c:parse", "--max-execs", "20000", "--max-findings", "1", "--seed", "7", "--no-coverage",
                  cwd=place, timeout=170)
    assert ran.code == 1, ran
    check_cells(records(place), None)
    assert verify(place)["problems"] == []


def test_fuzzing_without_a_sandbox_is_told(place):
    tool(place, FINE)
    assert fuzz_tool(place, "--no-sandbox").code == 0
    assert [each["event"] for each in records(place)][:3] == ["unsafe-mode", "policy", "cell-start"]


def test_fuzzing_that_is_killed_leaves_a_log_that_is_whole(place):
    """Over and over, in the middle of writing: a torn end may be told, and nothing else."""
    tool(place, FINE)
    log = place / ".hotcell/audit.jsonl"
    kept = 0
    for turn in range(4):
        with Live("tool", "--mode", "exec", "--schema", "schema.json", "--duration", "100s", "--no-canaries", *QUICK, "--", "python3",
                  "tool.py", verb="fuzz", json=False, cwd=place) as live:
            assert eventually(lambda: log.exists() and slurp(log).count(b"\n") > kept + 20 + turn, 60)
            live.process.kill()
            live.finish()
        assert verify(place)["problems"] == []
        kept = slurp(log).count(b"\n")
    with open(log, "ab") as torn:
        torn.write(b'{"seq":99,"prev":"12') # what is left where a write was cut short
    found = verify(place)
    assert found["problems"] == [] and found["torn_end"] == 20
    assert fuzz_tool(place).code == 0
    found = verify(place)
    assert found["problems"] == [] and found["torn"] >= 1 and found["torn_end"] == 0


def test_learning_a_profile_is_told_where_it_is_asked_for(place):
    if "no-landlock" in PRETEND:
        return
    ran = hotcell("profile", "learn", "--audit", place / "log.jsonl", "--", "/bin/sh", "-c", "unshare -U true; exit 0", timeout=120)
    assert ran.code in (0, 1), ran
    found = records(place, "log.jsonl")
    assert [each["event"] for each in found][:3] == ["policy", "cell-start", "cell-end"] and len(found) % 3 == 0 and len(found) >= 6
    assert found[2]["refused"]["unshare"] >= 1 and found[2]["outcome"] == "exited"
    assert verify(place, "log.jsonl")["problems"] == []


# ---- a full disk ----


def test_a_log_on_a_full_disk_stops_all_starts_and_is_whole_afterwards(place):
    """The ledger and the log are on the small disk, what runs leave is not."""
    disk = place / "disk"
    disk.mkdir()
    script = f"""cd {disk} || exit 7
         {HOTCELL} campaign run --runs 4000 --workers 2 --plain --output {place}/out -- /bin/true > {place}/seen 2>&1 &
         pid=$!
         for i in $(seq 200); do [ -s .hotcell/audit.jsonl ] && break; sleep 0.05; done
         cat /dev/zero > ballast 2>/dev/null
         for i in $(seq 200); do grep -q 'nothing is started for now' {place}/seen && break; sleep 0.1; done
         sleep 1; ls {place}/out | wc -l > {place}/first; sleep 3; ls {place}/out | wc -l > {place}/second
         rm ballast
         for i in $(seq 200); do grep -q 'going on' {place}/seen && break; sleep 0.1; done
         kill -TERM $pid; wait $pid
         {HOTCELL} audit verify --json > {place}/verdict; cp -r .hotcell {place}/"""
    with subprocess.Popen(["/bin/sh", "-c", script], preexec_fn=small_disk(disk, "8m"), env=dict(os.environ, LC_ALL="C.UTF-8")) as process:
        assert process.wait(120) == 0, slurp(place / "seen")[-2000:]
    seen = slurp(place / "seen").decode()
    assert "nothing is started for now" in seen and "No space left" in seen and "going on" in seen, seen[-2000:]
    assert int((place / "first").read_text()) == int((place / "second").read_text()), "nothing is begun that cannot be told"
    assert json.loads(slurp(place / "verdict"))["problems"] == []
    ended = {each["run"] for each in records(place) if each["event"] == "cell-end" and each["state"] == "success"}
    assert ended == {number for number, folder in sessions(place, "out").items() if (folder / "SUCCESS").exists()} != set()

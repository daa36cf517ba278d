"""The verbs around campaigns: list, show, pause, stop, rm, init, status, report, metrics, clean, logs."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest

from campaigns import Supervisor, campaign, ledger_rows, sessions, status
from harness import HOTCELL, Terminal, environment, eventually, hotcell, refused

MIXED = 'echo "out $HOTCELL_RUN"; echo "err $HOTCELL_SEED" >&2; echo kept > file; exit $((HOTCELL_RUN % 4 == 0))'


def shell(text):
    return ["--", "/bin/sh", "-c", text]


def verb(project, *args, **more):
    return hotcell(*args, cwd=project, **more)


def listed(project):
    ran = verb(project, "campaign", "list", "--json")
    assert ran.code == 0, ran
    return {each["name"]: each for each in json.loads(ran.out)}


@pytest.fixture
def night(place):
    """A campaign of twelve runs that is done; every fourth failed."""
    ran = campaign(place, "--name", "night", "--runs", "12", "--seed", "42", "--memory", "64M", "--env", "TOKEN=t0p",
                   *shell(MIXED))
    assert ran.code == 1, ran
    return place


@pytest.fixture
def slow(place):
    """A campaign that is at work: two workers, runs of half a second."""
    with Supervisor(place, "--name", "slow", "--runs", "100", "--workers", "2", "--plain",
                    *shell("echo begin $HOTCELL_RUN; sleep 0.5; echo end")) as it:
        it.wait_for(r"\[003\] Starting")
        yield it
        it.kill(signal.SIGTERM)
        it.finish()


def age(project, name, days):
    """As if it had all happened so many days ago."""
    with sqlite3.connect(project / ".hotcell/ledger.db", timeout=10) as db:
        ms = days * 24 * 3600 * 1000
        [(number,)] = db.execute("select id from campaigns where name = ?", (name,)).fetchall()
        db.execute("update runs set started_ms = started_ms - ?, ended_ms = max(0, ended_ms - ?) where campaign = ?",
                   (ms, ms, number))
        db.execute("update campaigns set created_ms = created_ms - ?, updated_ms = updated_ms - ?,"
                   " ended_ms = max(0, ended_ms - ?) where id = ?", (ms, ms, ms, number))


# ---- where nothing was ever started ----


def test_before_the_first_campaign_lists_are_empty_and_questions_are_answered(place):
    ran = verb(place, "campaign", "list")
    assert ran.code == 0 and len(ran.lines) == 1 and ran.lines[0].startswith("NAME")
    assert json.loads(verb(place, "campaign", "list", "--json").out) == []
    assert verb(place, "metrics").code == 0
    assert verb(place, "clean").code == 0
    for args in (["status"], ["campaign", "show", "x"], ["campaign", "stop", "x"], ["report", "x"], ["logs", "x/1"],
                 ["campaign", "rm", "--yes", "x"]):
        assert "no campaign" in refused(verb(place, *args), codes=(2,)), args
    assert not (place / ".hotcell").exists(), "asking makes nothing"


def test_a_state_folder_that_is_named_must_be_there(place):
    for args in (["campaign", "list"], ["status"], ["metrics"], ["clean"]):
        assert "nowhere" in refused(verb(place, *args, "--state", "nowhere"), codes=(2,)), args
        assert "nowhere" in refused(verb(place, *args, env={"HOTCELL_STATE": "nowhere"}), codes=(2,)), args


# ---- list and show ----


def test_campaigns_are_listed_the_newest_first(night):
    assert campaign(night, "--name", "later", "--runs", "2", *shell("true")).code == 0
    ran = verb(night, "campaign", "list")
    assert ran.code == 0, ran
    assert [line.split()[:4] for line in ran.lines[1:]] == [
        ["later", "done", "2/2", "0"], ["night", "done", "12/12", "3"]]
    assert list(listed(night)) == ["later", "night"]
    assert listed(night)["night"]["derived"]["failed"] == 3


def test_the_ledger_is_found_from_folders_below_and_by_name(night):
    below = night / "a" / "b"
    below.mkdir(parents=True)
    assert "night" in listed(below)
    elsewhere = ["campaign", "list", "--state", night / ".hotcell"]
    assert b"night" in hotcell(*elsewhere, cwd="/").out
    assert b"night" in hotcell("campaign", "list", cwd="/", env={"HOTCELL_STATE": str(night / ".hotcell")}).out


def test_show_tells_all_of_a_campaign_and_no_secret(night):
    ran = verb(night, "campaign", "show", "night")
    assert ran.code == 0, ran
    text = ran.out.decode()
    assert text.startswith("night: done, 12 of 12 runs complete, 3 failed\n")
    for word in ("seed          42", "64 MB a cell", str(night / "fuzz/runs"), "--runs=12", "TOKEN", "sssxsssxsssx",
                 "Slowest", "First failures", "exit 1", "done: 12 of 12"):
        assert word in text, word
    assert "t0p" not in text
    assert [int(each) for each in re.findall(r"^  \[(\d+)\]", text.partition("First failures")[2], re.M)] == [4, 8, 12]
    shown = json.loads(verb(night, "campaign", "show", "--json", "--events", "1", "night").out)
    assert shown["campaign"]["name"] == "night" and len(shown["events"]) == 1 and len(shown["slowest"]) == 5
    assert [each["run"] for each in shown["failures"]] == [4, 8, 12]
    walls = [each["wall_ns"] for each in shown["slowest"]]
    assert walls == sorted(walls, reverse=True)


def test_show_tells_one_run_and_how_to_do_it_again(night):
    ran = verb(night, "campaign", "show", "night/8")
    assert ran.code == 0, ran
    text = ran.out.decode()
    assert text.startswith("night/008: error (exited): exit 1\n")
    assert str(night / "fuzz/runs/008") in text
    shown = json.loads(verb(night, "campaign", "show", "--json", "night/8").out)
    [row] = ledger_rows(night, "select * from runs where number = 8")
    assert shown["seed"] == row["seed"] and f"seed          {row['seed']}" in text
    again = re.search(r"^  again +(.*)$", text, re.M)[1]
    done = subprocess.run(["sh", "-c", again.replace("hotcell run", f"{HOTCELL} run")], capture_output=True,
                          env=environment({"TOKEN": "t0p"}))
    assert done.returncode == 1, done
    assert done.stdout == b"out 8\n"
    assert f"err {row['seed']}\n".encode() in done.stderr


@pytest.mark.parametrize("word", ["night/0", "night/13", "night/x", "night/", "nigth", "../night", "night\n", "night/1/2"])
def test_a_campaign_or_run_that_is_not_there_is_one_sentence(night, word):
    for args in (["campaign", "show"], ["logs"]):
        if args == ["logs"] and "/" not in word:
            continue
        refused(verb(night, *args, word), codes=(2,))


def test_a_mistyped_campaign_is_guessed(night):
    assert "'night'" in refused(verb(night, "campaign", "show", "nigth"), codes=(2,))


# ---- status ----


def test_status_means_the_campaign_at_work_else_the_newest(night, slow):
    assert json.loads(verb(night, "status", "--json").out)["name"] == "slow"
    slow.kill()
    slow.finish()
    assert campaign(night, "--name", "last", "--runs", "1", *shell("true")).code == 0
    assert json.loads(verb(night, "status", "--json").out)["name"] == "last"
    assert status(night, "slow")["state"] == "interrupted"


def test_status_shows_what_is_going_on(place, slow):
    ran = verb(place, "status")
    text = ran.out.decode()
    assert ran.code == 0 and "slow" in text and "running" in text and "/100" in text
    assert "\033" not in text, "no colour and no drawing off a terminal"
    shown = eventually(lambda: (now := status(place, "slow"))["live"] and now["derived"]["running"] == 2 and now, 5)
    assert shown["held"] and shown["holder_pid"] == slow.pid and len(shown["live"]["workers"]) == 2
    grid = verb(place, "status", "--grid").lines[-2:]
    assert re.fullmatch(r"[sr]+\.+", grid[0]) and [len(line) for line in grid] == [80, 20], grid


def test_status_tells_of_a_million_runs(night):
    """What it costs is measured by the bench."""
    with sqlite3.connect(night / ".hotcell/ledger.db") as db:
        db.execute("pragma synchronous = off")
        columns = [row[1] for row in db.execute("pragma table_info(runs)")]
        copied = ", ".join({"number": "n.value", "seq": "n.value"}.get(name, f"runs.{name}") for name in columns)
        db.execute("with recursive n(value) as (select 1000 union all select value + 1 from n where value < 1001000)"
                   f" insert into runs ({', '.join(columns)}) select {copied} from runs, n where runs.number = 1")
    before = status(night, "night")["sums"]["states"]
    ran = verb(night, "status", "night", "--grid")
    assert ran.code == 0 and b"night" in ran.out, ran
    assert sum(before.values()) < 1000, "sums are the campaign's own row, not counted anew"


def test_watching_off_a_terminal_prints_changes_and_ends_with_the_campaign(place):
    with Supervisor(place, "--name", "w", "--runs", "12", "--workers", "2", "--plain", *shell("sleep 0.7")) as it:
        it.wait_for(r"\[001\] Starting")
        with subprocess.Popen([HOTCELL, "status", "--watch", "--json", "w"], cwd=place, stdout=subprocess.PIPE,
                              env=environment()) as machine:
            lines = verb(place, "status", "--watch", "w", timeout=30).lines
            objects = [json.loads(line) for line in machine.stdout.read().splitlines()]
            assert machine.wait(10) == 0
        assert it.finish() == 0
    assert len(lines) >= 2 and len(set(lines)) == len(lines)
    assert lines[0].startswith("w: running, ") and lines[-1] == "w: done, 12/12 complete, 0 failed"
    assert objects[0]["state"] == "running" and objects[-1]["state"] == "done"


def test_a_reader_that_leaves_ends_the_watching_quietly(place, slow):
    ran = subprocess.run(f"{HOTCELL} status --watch | head -n 1; echo ${{PIPESTATUS[0]}}", cwd=place, shell=True,
                         executable="/bin/bash", capture_output=True, env=environment(), timeout=20)
    assert ran.stdout.splitlines()[-1] == b"0" and ran.stderr == b"", ran


def test_watching_in_a_terminal_draws_in_place_and_ends_with_the_campaign(place):
    with Supervisor(place, "--name", "w", "--runs", "8", "--workers", "2", "--plain", *shell("sleep 0.8")) as it:
        it.wait_for(r"\[001\] Starting")
        with Terminal("status", "--watch", "--grid", "--state", place / ".hotcell", env={"TERM": "xterm"}) as screen:
            code, out = screen.finish(20)
        assert it.finish() == 0
    assert code == 0, out
    assert out.count(b"\033[?25l") == 1 and out.count(b"\033[?25h") == 1
    assert out.rstrip().endswith(b"\033[?25h")
    assert out.count(b"\033[J") >= 3, "it was drawn over again"
    assert b"\033[?1049h" not in out, "what was on the screen stays"
    assert b"done" in out and b"8/8" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_cursor_comes_back_whatever_ends_the_watching(place, slow, number):
    with Terminal("status", "--watch", "--state", place / ".hotcell", env={"TERM": "xterm"}) as screen:
        screen.wait_for(b"\033[J")
        screen.process.send_signal(number)
        code, out = screen.finish(5)
    assert code == 128 + number
    assert out.rindex(b"\033[?25h") > out.rindex(b"\033[?25l")
    assert slow.process.poll() is None, "the campaign goes on"


def test_the_watching_follows_the_size_of_the_terminal(place, slow):
    with Terminal("status", "--watch", "--state", place / ".hotcell", rows=30, columns=100, env={"TERM": "xterm"}) as screen:
        screen.wait_for(b"\033[J")
        screen.resize(20, 40)
        screen.process.send_signal(signal.SIGWINCH)
        before = len(screen.out)
        time.sleep(1)
        screen.send(b"\x03")
        code, out = screen.finish(5)
    assert code == 130
    frames = out[before:].decode().split("\033[J")[1:-1]
    for frame in frames[1:]:
        for line in re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", frame).splitlines():
            assert len(line.rstrip("\r")) <= 40, line


# ---- pause and stop ----


def test_a_pause_holds_until_it_is_resumed(place, slow):
    ran = verb(place, "campaign", "pause", "slow")
    assert ran.code == 0 and ran.out.startswith(b"campaign 'slow' is paused: "), ran
    assert listed(place)["slow"]["state"] == "paused"
    assert verb(place, "campaign", "pause", "slow").code == 0
    assert verb(place, "campaign", "resume", "slow").code == 0
    assert eventually(lambda: listed(place)["slow"]["state"] == "running", 5)


def test_a_stop_lets_runs_end_and_now_does_not(place, slow):
    ran = verb(place, "campaign", "stop", "slow")
    assert ran.code == 0 and ran.out.startswith(b"campaign 'slow' is stopped: "), ran
    slow.finish()
    assert not ledger_rows(place, "select * from runs where state = 'running' or state = 'again'")
    with Supervisor(place, "slow", verb="resume") as it:
        assert eventually(lambda: status(place, "slow")["derived"]["running"] == 2, 10)
        ran = verb(place, "campaign", "stop", "--now", "slow")
        assert ran.code == 0, ran
        it.finish()
    assert status(place, "slow")["sums"]["cancelled"] > 0


def test_a_stop_says_how_many_runs_it_still_waits_for(place):
    with Supervisor(place, "--name", "long", "--runs", "9", "--workers", "2", "--plain", *shell("sleep 60")) as it:
        it.wait_for(r"\[002\] Starting")
        assert eventually(lambda: status(place, "long")["derived"]["running"] == 2, 5)
        ran = verb(place, "campaign", "stop", "long", timeout=30)
        assert ran.code == 0 and b"when the 2 at work have ended" in ran.out, ran
        assert verb(place, "campaign", "stop", "--now", "--no-wait", "long").code == 0
        it.finish(15)


def test_wishes_for_one_that_is_not_running_are_refused_with_the_way_out(night, slow):
    slow.kill()
    slow.finish()
    for wish in ("pause", "stop"):
        ran = verb(night, "campaign", wish, "slow")
        assert "is not running" in refused(ran, codes=(1,)) and "campaign resume slow" in ran.err.decode()
        assert "done" in refused(verb(night, "campaign", wish, "night"), codes=(1,))
        refused(verb(night, "campaign", wish, "nobody"), codes=(2,))


# ---- rm ----


def test_rm_removes_sessions_rows_and_state_and_nothing_else(night):
    (night / "fuzz/runs/mine").write_text("mine")
    (night / "fuzz/runs/0001").mkdir()
    target = night / "target"
    target.mkdir()
    (target / "thesis").write_text("x")
    (night / "fuzz/runs/005/link").symlink_to(target)
    assert "terminal" in refused(verb(night, "campaign", "rm", "night"), codes=(2,))
    assert len(os.listdir(night / "fuzz/runs")) == 15
    ran = verb(night, "campaign", "rm", "--yes", "night")
    assert ran.code == 0 and ran.out == b"night: removed, with 12 session folders\n", ran
    assert b"is left" in ran.err
    assert sorted(os.listdir(night / "fuzz/runs")) == ["0001", "mine"]
    assert (target / "thesis").exists()
    assert listed(night) == {} and not ledger_rows(night, "select * from runs")
    assert os.listdir(night / ".hotcell/campaigns") == []
    refused(verb(night, "campaign", "rm", "--yes", "night"), codes=(2,))


def test_rm_removes_the_empty_folder_too_and_can_keep_the_files(night):
    assert campaign(night, "--name", "kept", "--runs", "2", "--output", "kept", *shell("true")).code == 0
    ran = verb(night, "campaign", "rm", "--yes", "--keep-files", "kept")
    assert ran.code == 0, ran
    assert len(sessions(night, "kept")) == 2
    assert verb(night, "campaign", "rm", "-y", "night").code == 0
    assert not (night / "fuzz/runs").exists()
    assert campaign(night, "--name", "night", "--runs", "1", *shell("true")).code == 0, "the name is free again"


def test_rm_of_several_removes_none_if_one_is_not_there(night):
    refused(verb(night, "campaign", "rm", "--yes", "night", "nobody"), codes=(2,))
    assert len(sessions(night)) == 12 and "night" in listed(night)
    assert verb(night, "campaign", "rm", "--yes", "night", "night").code == 0


def test_rm_refuses_one_that_is_held_and_says_by_whom(place, slow):
    assert str(slow.pid) in refused(verb(place, "campaign", "rm", "--yes", "slow"), codes=(2,))
    assert slow.process.poll() is None and "slow" in listed(place)


def test_rm_touches_no_folder_without_the_campaigns_mark(night):
    (night / "fuzz/runs/.hotcell-campaign").write_text("00000000-0000-4000-8000-000000000000\n")
    assert verb(night, "campaign", "rm", "--yes", "night").code == 0
    assert len(sessions(night)) == 12


def test_rm_does_not_follow_a_link_in_place_of_the_folder(night):
    (night / "fuzz/runs").rename(night / "elsewhere")
    (night / "fuzz/runs").symlink_to(night / "elsewhere")
    assert verb(night, "campaign", "rm", "--yes", "night").code == 0
    assert len(sessions(night, "elsewhere")) == 12


def test_rm_again_does_the_rest_after_a_kill(night):
    """Half of the folders gone; then rows gone and the state folder not."""
    for number in range(1, 7):
        subprocess.run(["rm", "-rf", night / f"fuzz/runs/{number:03}"], check=True)
    state = night / ".hotcell/campaigns/night"
    saved = sorted(os.listdir(state))
    assert verb(night, "campaign", "rm", "--yes", "night").out == b"night: removed, with 6 session folders\n"
    state.mkdir()
    for name in saved:
        (state / name).write_text("")
    assert verb(night, "campaign", "rm", "--yes", "night").code == 0
    assert not state.exists()


def test_rm_asks_on_a_terminal(night):
    for answer, code, there in ((b"n\n", 1, True), (b"\n", 1, True), (b"y\n", 0, False)):
        with Terminal("campaign", "rm", "night", "--state", night / ".hotcell") as screen:
            screen.wait_for(b"Remove for good? [y/N] ")
            screen.send(answer)
            assert screen.finish()[0] == code
        assert ("night" in listed(night)) == there


# ---- clean ----


def cleaned(project, *args):
    ran = verb(project, "clean", "--json", *args)
    assert ran.code == 0, ran
    return {each["campaign"]: each for each in json.loads(ran.out)}


def test_clean_removes_what_is_old_and_only_that(night):
    assert campaign(night, "--name", "young", "--runs", "3", "--output", "young", *shell("true")).code == 0
    assert cleaned(night)["night"]["sessions"] == 0
    age(night, "night", 31)
    would = cleaned(night, "--dry-run")["night"]
    assert would["sessions"] == 12 and would["bytes"] > 0 and would["campaign_removed"] and would["dry_run"]
    assert len(sessions(night)) == 12 and "night" in listed(night)
    assert cleaned(night, "--older-than", "32d")["night"]["sessions"] == 0
    done = cleaned(night)
    assert done["night"]["sessions"] == 12 and done["night"]["bytes"] == would["bytes"]
    assert not (night / "fuzz/runs").exists()
    assert list(listed(night)) == ["young"] and len(sessions(night, "young")) == 3
    assert os.listdir(night / ".hotcell/campaigns") == ["young"]


def test_clean_keeps_failures_when_told_to(night):
    age(night, "night", 31)
    ran = verb(night, "clean", "--keep-failures")
    assert ran.code == 0 and re.fullmatch(rb"night: removed 9 session folders, \d.*\nremoved 9 .*in all, .*\n", ran.out), ran
    assert sorted(sessions(night)) == [4, 8, 12]
    assert "night" in listed(night)
    assert cleaned(night, "night")["night"]["campaign_removed"]


def test_clean_leaves_a_campaign_that_can_be_resumed_in_the_ledger(place, slow):
    assert verb(place, "campaign", "stop", "slow").code == 0
    slow.finish()
    done = len(sessions(place))
    (place / "fuzz/runs/mine").write_text("mine")
    age(place, "slow", 31)
    assert cleaned(place)["slow"] | {"bytes": 0} == {
        "campaign": "slow", "sessions": done, "bytes": 0, "bytes_exact": True, "campaign_removed": False, "dry_run": False}
    with Supervisor(place, "slow", verb="resume") as it:
        assert eventually(lambda: status(place, "slow")["derived"]["complete"] > done, 10), it.text()


def test_clean_leaves_one_that_is_held_alone(night, slow):
    age(night, "night", 31)
    age(night, "slow", 31)
    before = len(sessions(night, "fuzz/runs-slow"))
    assert "slow" not in cleaned(night)
    assert str(slow.pid) in refused(verb(night, "clean", "slow"), codes=(2,))
    assert len(sessions(night, "fuzz/runs-slow")) >= before


def test_clean_follows_no_link_and_touches_no_folder_without_the_mark(night):
    age(night, "night", 31)
    outside = night / "outside"
    outside.mkdir()
    (outside / "thesis").write_text("x")
    subprocess.run(["rm", "-rf", night / "fuzz/runs/003"], check=True)
    (night / "fuzz/runs/003").symlink_to(outside)
    (night / "fuzz/runs/004/link").symlink_to(outside)
    (night / "fuzz/runs/.hotcell-campaign").rename(night / "mark")
    assert cleaned(night, "--dry-run")["night"]["sessions"] == 0
    (night / "mark").rename(night / "fuzz/runs/.hotcell-campaign")
    assert cleaned(night)["night"]["sessions"] == 12
    assert (outside / "thesis").exists() and not (night / "fuzz/runs").exists()


@pytest.mark.parametrize("args", [["--older-than", "0"], ["--older-than", "soon"], ["nobody"], ["../x"]])
def test_clean_refuses_what_makes_no_sense(night, args):
    refused(verb(night, "clean", *args), codes=(2,))


# ---- logs ----


def test_the_logs_of_a_run_are_its_stdout_and_then_its_stderr(night):
    [row] = ledger_rows(night, "select * from runs where number = 8")
    out, err = b"out 8\n", f"err {row['seed']}\n".encode()
    for args, expected in ((["night/8"], out + err), (["night/008"], out + err), (["--stdout", "night/8"], out),
                           (["--stderr", "night/8"], err), (["--stdout", "--stderr", "night/8"], out + err),
                           (["-f", "night/8"], out + err)):
        ran = verb(night, "logs", *args)
        assert (ran.code, ran.out) == (0, expected), ran


def test_a_run_is_followed_until_it_ends(place, slow):
    for number in (5, 6):
        eventually(lambda: (place / f"fuzz/runs/{number:03}").exists(), 10)
        eventually(lambda: ledger_rows(place, "select * from runs where number = ?", number), 10)
        ran = verb(place, "logs", "-f", f"slow/{number}")
        assert (ran.code, ran.out) == (0, f"begin {number}\nend\n".encode()), ran


def test_a_run_whose_supervisor_was_killed_is_not_followed_for_ever(place, slow):
    eventually(lambda: ledger_rows(place, "select * from runs where number = 3"), 10)
    slow.kill()
    slow.finish()
    assert verb(place, "logs", "-f", "slow/3", timeout=10).code == 0


def test_logs_reach_a_terminal_only_filtered(place):
    assert campaign(place, "--name", "evil", "--runs", "1", *shell(r"printf 'a\033]0;title\007b\033[31mred\033[2J\n'")).code == 0
    with Terminal("logs", "evil/1", "--state", place / ".hotcell") as screen:
        code, out = screen.finish()
    assert code == 0
    assert b"\033]" not in out and b"\033[2J" not in out and b"\\x1b]0;title" in out and b"\033[31mred" in out
    assert b"\033]0;title" in verb(place, "logs", "evil/1").out


def test_logs_follow_no_link_and_say_what_is_missing(night, canary):
    (night / "fuzz/runs/001/stdout.log").unlink()
    (night / "fuzz/runs/001/stdout.log").symlink_to(canary)
    (night / "fuzz/runs/002/stderr.log").unlink()
    os.mkfifo(night / "fuzz/runs/002/stderr.log")
    subprocess.run(["rm", "-rf", night / "fuzz/runs/003"], check=True)
    (night / "fuzz/runs/003").symlink_to(night / "fuzz/runs/004")
    for number in (1, 2, 3):
        ran = verb(night, "logs", f"night/{number}", timeout=10)
        assert ran.code == 125 and b"canary" not in ran.out, ran


def test_a_run_that_has_not_begun_is_told_so(place):
    ran = campaign(place, "--name", "few", "--runs", "50", "--stop-after-failures", "1", "--workers", "1", *shell("exit 1"))
    assert ran.code == 1, ran
    for args in (["logs", "few/50"], ["logs", "-f", "few/50"], ["campaign", "show", "few/50"]):
        assert "has not begun" in refused(verb(place, *args), codes=(2,))


# ---- report, metrics, init ----


def test_the_report_is_one_file_whole_or_not_at_all(night):
    ran = verb(night, "report", "night")
    assert ran.code == 0 and ran.out == b"night-report.html\n", ran
    page = (night / "night-report.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html") and "night" in page
    assert "://" not in page.replace("http://www.w3.org/2000/svg", ""), "it needs nothing from elsewhere"
    assert verb(night, "report", "night", "-o", "-").out.decode().lstrip()[:15].lower() == "<!doctype html>"
    target = night / "precious"
    target.write_text("precious")
    (night / "link.html").symlink_to(target)
    (night / "folder").mkdir()
    for name in ("link.html", "folder", "/dev/null", "missing/x.html"):
        ran = verb(night, "report", "night", "--output", name)
        assert ran.code in (2, 125) and ran.out == b"", ran
    assert target.read_text() == "precious" and os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
    assert not list(night.glob("*.html.*")), "no draft is left"


def test_metrics_are_prometheus_text(night):
    ran = verb(night, "metrics")
    assert ran.code == 0, ran
    assert ran.out.count(b'campaign="night"') > 5
    for line in ran.lines:
        assert re.fullmatch(r"# (HELP|TYPE) [a-z_:]+ .*|[a-z_:]+(\{[^{}]*\})? [-+0-9.eEInfNa]+", line), line
    assert verb(night, "metrics", "night", "-o", "hotcell.prom").code == 0
    assert 'campaign="night"' in (night / "hotcell.prom").read_text()
    assert (night / "hotcell.prom").stat().st_mode & 0o444 == 0o444, "a collector can read it"
    refused(verb(night, "metrics", "nobody"), codes=(2,))


def test_init_writes_a_file_that_campaign_run_takes(place):
    ran = verb(place, "campaign", "init")
    assert ran.code == 0 and ran.out == b"campaign.yaml\n", ran
    path = place / "campaign.yaml"
    text = path.read_text()
    planned = campaign(place, "campaign.yaml", "--dry-run")
    assert planned.code == 0 and b"[100] DRY-RUN: Complete" in planned.out, planned
    path.write_text("mine")
    assert "--force" in refused(verb(place, "campaign", "init"), codes=(2,))
    assert path.read_text() == "mine"
    assert verb(place, "campaign", "init", "--force").code == 0
    assert path.read_text() == text == verb(place, "campaign", "init", "-").out.decode()
    (place / "link.yaml").symlink_to(path)
    assert "symbolic link" in refused(verb(place, "campaign", "init", "-f", "link.yaml"), codes=(2,))


def test_every_key_of_the_file_is_an_option_and_every_default_is_taken(place):
    text = verb(place, "campaign", "init", "-").out.decode()
    keys = set(re.findall(r"^#?([a-z][a-z-]*):(?: |$)", text, re.M))
    options = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", verb(place, "campaign", "run", "--help").out.decode(), re.M))
    assert keys - {"command"} <= options
    assert set(json.loads(verb(place, "campaign", "schema").out)["properties"]) == keys | {"alerts"}
    assert options - keys == {"state", "detach", "plain", "quiet", "resume", "dry-run", "json", "help", "trust"} & options
    # What has a default as its value can be uncommented, all at once.
    with_values = re.sub(r"^#([a-z][a-z-]*: (?:\d[\w.:]*|false|host|native|/workspace|fuzz/runs))$", r"\1", text, flags=re.M)
    assert with_values.count("\n#") < text.count("\n#") - 10
    (place / "all.yaml").write_text(with_values)
    planned = campaign(place, "all.yaml", "--runs", "2", "--dry-run")
    assert planned.code == 0, planned


# ---- help ----


def test_every_verb_has_its_help(place):
    for name in ("campaign list", "campaign show", "campaign pause", "campaign stop", "campaign rm", "campaign init",
                 "status", "report", "metrics", "clean", "logs"):
        ran = verb(place, *name.split(), "--help")
        assert ran.code == 0 and ran.out.startswith(f"Usage: hotcell {name} ".encode()), ran

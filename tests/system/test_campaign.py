"""Campaigns: N runs by M workers, durable, resumable, watched."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from campaigns import Supervisor, campaign, ledger_rows, markers, prove_accounting, sessions, status
from harness import (HOTCELL, IS_ROOT, PRETEND, Terminal, eventually, hotcell, marker, pids, refused, slurp,
                     small_disk, trust)

TRUE = ["--", "/bin/true"]


def shell(text):
    return ["--", "/bin/sh", "-c", text]


# ---- the requirement's own commands ----


def lines_of(ran):
    return ran.out.decode().splitlines()


def test_the_default_campaign_prints_what_the_requirement_prints(place):
    ran = campaign(place, "--workers", "3", "--runs", "20", *TRUE)
    assert ran.code == 0, ran
    lines = lines_of(ran)
    assert lines[0] == "Running 20 fuzz sessions with 3 workers..."
    assert lines[1:4] == ["[001] Starting...", "[002] Starting...", "[003] Starting..."]
    for number in range(1, 21):
        assert f"[{number:03}] Starting..." in lines
        assert [line for line in lines if re.fullmatch(rf"\[{number:03}\] ✓ Done \(\d+\.\ds\)", line)], number
    assert "Progress: 10/20 complete" in lines and "Progress: 20/20 complete" in lines
    assert "✓ All 20 sessions complete! Results in fuzz/runs/" in lines
    assert set(prove_accounting(place, "c1", 20).values()) == {"SUCCESS"}
    assert re.fullmatch(r"Completed in \d+\.\ds\n", (place / "fuzz/runs/001/SUCCESS").read_text())


def test_at_most_as_many_run_at_once_as_there_are_workers_and_none_is_idle(place):
    ran = campaign(place, "--workers", "2", "--runs", "6", *shell("sleep 0.3"))
    assert ran.code == 0, ran
    running = most = 0
    for line in lines_of(ran):
        running += line.endswith("Starting...") - ("Done" in line)
        most = max(most, running)
    assert most == 2
    rows = ledger_rows(place, "select started_ms, ended_ms, worker from runs order by started_ms")
    assert {row["worker"] for row in rows} == {1, 2}
    lines = [line for line in lines_of(ran) if line.startswith("[")]
    for at, line in enumerate(lines):
        left = [each for each in lines[at:] if each.endswith("Starting...")]
        if "Done" in line and left:
            assert left[0] in lines[at + 1:at + 3], f"a worker that was free stayed idle after {line}"


def test_the_requirements_loop_over_the_folders_tells_every_outcome(place):
    ran = campaign(place, "--runs", "3", "--timeout", "2s",
                   *shell('case $HOTCELL_RUN in 1) exit 0;; 2) echo broken >&2; exit 7;; 3) sleep 60;; esac'))
    assert ran.code == 1, ran
    lines = lines_of(ran)
    assert "[002] ✗ Failed: Cell error (exit 7)" in lines and "[003] ✗ Failed: Timeout after 2s" in lines
    script = """for dir in fuzz/runs/*/; do
        if [ -f "$dir/SUCCESS" ]; then echo "$(basename $dir): Success"
        elif [ -f "$dir/TIMEOUT" ]; then echo "$(basename $dir): Timeout"
        elif [ -f "$dir/ERROR" ]; then echo "$(basename $dir): Error - $(head -n1 $dir/ERROR)"; fi; done"""
    told = subprocess.run(["sh", "-c", script], cwd=place, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["001: Success", "002: Error - Exit code: 7", "003: Timeout"]
    assert (place / "fuzz/runs/002/ERROR").read_text() == "Exit code: 7\n\nLogs:\nbroken\n"
    assert (place / "fuzz/runs/003/TIMEOUT").read_text() == "Timed out after 2s\n"


def test_a_dry_run_prints_every_plan_and_starts_nothing(place):
    ran = campaign(place, "--workers", "3", "--runs", "10", "--dry-run", "--env", "KEY=sekrit", *TRUE)
    assert ran.code == 0, ran
    lines = lines_of(ran)
    for number in range(1, 11):
        assert f"[{number:03}] DRY-RUN: Complete" in lines
        assert f"         - Session dir: fuzz/runs/{number:03}" in lines
    assert "         - Timeout: 900s" in lines
    assert b"sekrit" not in ran.out
    assert not (place / "fuzz").exists() and not (place / ".hotcell").exists()
    planned = [json.loads(line) for line in campaign(place, "--runs", "3", "--seed", "8", "--dry-run", "--json", *TRUE).out.splitlines()]
    assert [each["run"] for each in planned] == [1, 2, 3] and len({each["seed"] for each in planned}) == 3


# ---- a run's world ----


def test_a_run_knows_its_number_seed_and_campaign_and_keeps_what_it_wrote(place):
    command = shell('echo "$HOTCELL_RUN $HOTCELL_SEED $HOTCELL_CAMPAIGN"; mkdir sub; echo data > sub/file; echo oops >&2')
    for name in ("a", "b"):
        assert campaign(place, "--runs", "3", "--seed", "77", "--name", name, "--output", name, *command).code == 0
    for number in (1, 2, 3):
        said = [(place / name / f"{number:03}" / "stdout.log").read_text().split() for name in ("a", "b")]
        assert said[0][0] == said[1][0] == str(number)
        assert said[0][1] == said[1][1], "the same seed and number give the same seed"
        assert [each[2] for each in said] == ["a", "b"]
        folder = place / "a" / f"{number:03}"
        assert (folder / "sub/file").read_text() == "data\n" and (folder / "stderr.log").read_text() == "oops\n"
        result = json.loads((folder / "result.json").read_text())
        assert result["seed"] == int(said[0][1]) < 2**53
        assert result["result"]["receipt"]["protections"]


def test_a_run_cannot_forge_its_marker_or_its_logs(place):
    forge = "for n in SUCCESS TIMEOUT ERROR result.json stdout.log stderr.log .marker; do echo forged > $n; done; exit 5"
    assert campaign(place, "--runs", "1", *shell(forge)).code == 1
    folder = place / "fuzz/runs/001"
    assert markers(folder) == ["ERROR"]
    assert "forged" not in "".join((folder / each.name).read_text() for each in folder.iterdir())
    skipped = json.loads((folder / "result.json").read_text())["result"]
    assert "reserved name" in json.dumps(skipped)


def test_without_stdin_a_run_has_the_null_device_of_its_own_cell(place):
    script = """wc -c; test -c /dev/stdin && echo device; exec 3</dev/null
        for fd in 0 3; do sed -n "s/mnt_id:/$fd/p" /proc/self/fdinfo/$fd; done; cut -d ' ' -f 1 /proc/self/mountinfo"""
    assert campaign(place, "--runs", "1", *shell(script)).code == 0
    count, kind, first, second, *mounts = (place / "fuzz/runs/001/stdout.log").read_text().split("\n")
    assert (count, kind) == ("0", "device")
    assert first.split()[1] == second.split()[1] and first.split()[1] in mounts, "it is not the host's"


def test_every_run_reads_the_same_stdin_from_its_beginning(place):
    (place / "prompt.md").write_text("find bugs\n" * 1000)
    ran = campaign(place, "--runs", "4", "--stdin", "prompt.md", *shell("wc -c; head -c1"))
    assert ran.code == 0, ran
    for folder in sessions(place).values():
        assert (folder / "stdout.log").read_text().strip() == "10000"


def test_retries_give_another_chance_and_are_told(place):
    ran = campaign(place, "--runs", "2", "--retries", "2", *shell("exit 9"))
    assert ran.code == 1, ran
    assert ran.out.decode().count("↻") == 4, ran
    assert [row["attempt"] for row in ledger_rows(place, "select attempt from runs")] == [3, 3]
    assert status(place, "c1")["sums"]["retried"] == 4


def test_a_rate_spaces_the_starts(place):
    ran = campaign(place, "--runs", "5", "--workers", "5", "--rate", "300", *TRUE)
    assert ran.code == 0, ran
    starts = [row["started_ms"] for row in ledger_rows(place, "select started_ms from runs order by number")]
    # each is noted a moment after its turn came: by that moment one gap may be shorter and the next one longer
    assert starts[-1] - starts[0] >= 700 and all(b - a >= 100 for a, b in zip(starts, starts[1:])), starts


def test_too_many_failures_stop_it_and_it_can_be_resumed(place):
    ran = campaign(place, "--runs", "50", "--workers", "2", "--stop-after-failures", "5", *shell("exit 1"))
    assert ran.code == 1, ran
    assert b"stopped after 5 failures" in ran.err + ran.out
    done = len(sessions(place))
    assert 5 <= done <= 7
    assert ledger_rows(place, "select count(*) n from runs")[0]["n"] == done


def test_a_command_that_is_not_there_stops_early_and_says_nothing_was_run(place):
    ran = campaign(place, "--runs", "500", "--", "/bin/no-such-program")
    assert ran.code == 3, ran
    assert len(sessions(place)) < 50
    assert "Unexpected error: " in (place / "fuzz/runs/001/ERROR").read_text()


def test_a_second_campaign_takes_a_folder_of_its_own(place):
    for name in ("c1", "c2"):
        assert campaign(place, "--runs", "2", *TRUE).code == 0
    prove_accounting(place, "c1", 2)
    prove_accounting(place, "c2", 2, "fuzz/runs-c2")


def test_many_campaigns_may_begin_at_once(place):
    several = [subprocess.Popen([HOTCELL, "campaign", "run", "--runs", "2", "--quiet", *TRUE], cwd=place,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(6)]
    for each in several:
        out = each.communicate(timeout=60)[0]
        assert each.returncode == 0, out
    rows = ledger_rows(place, "select name, output from campaigns")
    assert {row["name"] for row in rows} == {f"c{n}" for n in range(1, 7)}
    for row in rows:
        prove_accounting(place, row["name"], 2, row["output"])


def test_no_run_sees_the_ledger_or_what_other_runs_left(place):
    assert campaign(place, "--runs", "1", "--name", "old", *TRUE).code == 0
    look = shell("find /project; cat /project/fuzz/runs/001/SUCCESS")
    ran = campaign(place, "--runs", "2", "--mount", ".:/project", "--no-default-hide", *look)
    assert ran.code == 1, ran
    for folder in sessions(place, "fuzz/runs-c1").values():
        seen = (folder / "stdout.log").read_text().split()
        assert "/project" in seen and not [path for path in seen if "runs" in path or ".hotcell" in path], seen


def test_secrets_are_nowhere(place):
    word = marker()
    ran = campaign(place, "--runs", "2", "--env", f"TOKEN={word}", *shell('test -n "$TOKEN"'))
    assert ran.code == 0, ran
    for path in place.rglob("*"):
        if path.is_file():
            assert word.encode() not in path.read_bytes(), path


# ---- ends and new beginnings ----


def begun(place, runs):
    """A campaign of runs of half a second each, by two workers, of which two are over."""
    with Supervisor(place, "--name", "slow", "--runs", str(runs), "--workers", "2", "--plain",
                    *shell("sleep 0.5; echo $HOTCELL_RUN")) as it:
        it.wait_for(r"\[003\] Starting")
        yield it


@pytest.fixture
def slow(place):
    yield from begun(place, 10)


def test_the_first_interrupt_drains_and_says_what_it_waits_for(place, slow):
    slow.kill(signal.SIGINT)
    slow.wait_for("draining: waiting for (2 runs|1 run)") # as one may end at that moment
    assert slow.finish() == 130
    begun = len(sessions(place))
    assert begun < 10 and all(len(markers(folder)) == 1 for folder in sessions(place).values())
    assert campaign(place, "slow", verb="resume").code == 0
    prove_accounting(place, "slow", 10)


def test_the_second_interrupt_cancels_and_what_was_cancelled_is_done_again(place):
    (place / "flags").mkdir()
    with Supervisor(place, "--name", "long", "--runs", "4", "--workers", "2", "--plain", "--mount", "flags:/flags",
                    *shell("test -e /flags/quick || sleep 600")) as it:
        it.wait_for(r"\[002\] Starting")
        it.kill(signal.SIGINT)
        it.wait_for("draining: waiting for 2 runs")
        it.kill(signal.SIGINT)
        assert it.finish() == 130
    again = ledger_rows(place, "select number from runs where state = 'again'")
    assert [row["number"] for row in again] == [1, 2], "cancelled, not waited for"
    (place / "flags/quick").touch()
    assert campaign(place, "--resume", "--name", "long").code == 0
    prove_accounting(place, "long", 4)


def test_a_killed_supervisor_leaves_nothing_running_and_loses_no_run(place, slow):
    slow.kill(signal.SIGKILL)
    slow.finish()
    assert campaign(place, "slow", verb="resume").code == 0
    prove_accounting(place, "slow", 10)


def test_a_supervisor_that_was_stopped_for_a_while_blames_no_run(place):
    with Supervisor(place, "--name", "nap", "--runs", "600", "--workers", "8", "--plain", *TRUE) as it:
        for _ in range(3):
            time.sleep(0.15)
            it.kill(signal.SIGSTOP)
            time.sleep(2.2)
            it.kill(signal.SIGCONT)
        assert it.finish() == 0, it.text()[-2000:]
    assert set(prove_accounting(place, "nap", 600).values()) == {"SUCCESS"}


def test_the_second_supervisor_is_told_who_holds_the_campaign(place, long_one):
    said = refused(campaign(place, "slow", verb="resume"))
    assert str(long_one.pid) in said


@pytest.fixture
def longer(place):
    yield from begun(place, 30)


def test_a_removed_lock_lets_no_second_supervisor_in(place, longer):
    (place / ".hotcell/campaigns/slow/lock").unlink()
    assert "another hotcell" in refused(campaign(place, "slow", verb="resume"))
    assert longer.finish() == 0
    prove_accounting(place, "slow", 30)


def test_a_marker_that_cannot_be_made_stops_no_campaign(place, signals):
    wait = "while [ $HOTCELL_RUN = 5 ] && [ ! -e /signals/go ]; do sleep 0.05; done"
    with Supervisor(place, "--runs", "10", "--workers", "2", "--plain", "--mount", f"{signals}:/signals", *shell(wait)) as it:
        assert eventually(lambda: (place / "fuzz/runs/005").exists(), 10)
        (place / "fuzz/runs/005/SUCCESS").mkdir()
        (signals / "go").touch()
        assert it.finish() == 0, it.text()
    assert len(ledger_rows(place, "select 1 from runs where ended_ms > 0")) == 10


def test_too_few_descriptors_block_and_crash_nothing(place):
    command = f"ulimit -n 24; exec {HOTCELL} campaign run --runs 3 --workers 1 --plain -- /bin/true"
    with subprocess.Popen(["/bin/sh", "-c", command], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as it:
        time.sleep(1.5)
        it.terminate()
        out = it.communicate(timeout=20)[0].decode()
    assert it.returncode in (130, 125), out


def test_a_mount_that_vanishes_is_every_later_runs_error(place):
    (place / "gone").mkdir()
    with Supervisor(place, "--runs", "8", "--workers", "2", "--plain", "--mount", "gone:/m", *shell("sleep 1")) as it:
        it.wait_for(r"\[003\] Starting")
        (place / "gone").rmdir()
        assert it.finish() == 1, it.text()
    marked = prove_accounting(place, "c1", 8)
    assert marked[1] == "SUCCESS" and marked[8] == "ERROR"


def test_a_done_campaign_is_not_resumed(place):
    assert campaign(place, "--name", "x", "--runs", "1", *TRUE).code == 0
    assert "done" in refused(campaign(place, "x", verb="resume"))


@pytest.fixture
def long_one(place):
    """One that is not over before its test has asked and told it much."""
    yield from begun(place, 200)


def test_pause_resume_and_stop_reach_the_supervisor(place, long_one):
    assert campaign(place, "slow", verb="pause").code == 0
    assert status(place, "slow")["state"] == "paused"
    eventually(lambda: status(place, "slow")["derived"]["running"] == 0, 5)
    complete = status(place, "slow")["derived"]["complete"]
    time.sleep(0.7)
    assert status(place, "slow")["derived"]["complete"] == complete
    assert campaign(place, "slow", verb="resume").code == 0
    eventually(lambda: status(place, "slow")["derived"]["complete"] > complete, 5)
    assert campaign(place, "slow", verb="stop").code == 0
    assert long_one.finish() == 130
    assert status(place, "slow")["state"] == "stopped"


def test_a_detached_campaign_goes_on_by_itself(place):
    ran = campaign(place, "--name", "bg", "--runs", "6", "--workers", "2", "--detach", *shell("sleep 0.2"))
    assert ran.code == 0, ran
    assert b"hotcell status bg --watch" in ran.err
    eventually(lambda: status(place, "bg")["state"] == "done", 15)
    eventually(lambda: not status(place, "bg")["held"], 5)
    prove_accounting(place, "bg", 6)


def test_resuming_needs_the_values_the_ledger_does_not_keep(place):
    with Supervisor(place, "--name", "s", "--runs", "6", "--workers", "1", "--env", "TOKEN=abc", "--plain",
                    *shell('sleep 0.3; test "$TOKEN" = abc')) as it:
        it.wait_for(r"\[002\] Starting")
        it.kill()
        it.finish()
    assert "TOKEN" in refused(campaign(place, "s", verb="resume"))
    ran = campaign(place, "s", "--env", "TOKEN=abc", verb="resume")
    assert ran.code == 0, ran
    prove_accounting(place, "s", 6)


def test_a_full_disk_pauses_the_campaign_and_loses_nothing(place):
    disk = place / "disk"
    disk.mkdir()
    # the campaign fills what the ballast leaves; then the ballast goes, and the campaign goes on
    script = f"""cd {disk} || exit 7
         head -c 9000000 /dev/zero > ballast
         {HOTCELL} campaign run --runs 20 --workers 2 --plain -- /bin/sh -c \\
           'head -c 300000 /dev/zero > big' > {place}/seen 2>&1 &
         pid=$!
         for i in $(seq 200); do grep -q 'nothing is started for now' {place}/seen && break; sleep 0.1; done
         rm ballast
         wait $pid; echo code $? >> {place}/seen; cp -r fuzz .hotcell {place}/"""
    with subprocess.Popen(["/bin/sh", "-c", script], preexec_fn=small_disk(disk, "13m"),
                          env=dict(os.environ, LC_ALL="C.UTF-8")) as process:
        assert process.wait(90) == 0, slurp(place / "seen")
    seen = slurp(place / "seen").decode()
    assert seen.count("nothing is started for now") >= 1 and "going on" in seen and "code 0" in seen, seen[-2000:]
    trust(place)  # a copy
    prove_accounting(place, "c1", 20)


def test_a_rate_in_a_file_raises_an_alert_and_calls_the_files_hook(place):
    (place / "c.yaml").write_text("""
runs: 12
alerts:
  - {name: failing, condition: failure_rate > 20%, severity: critical}
on-alert: echo "$HOTCELL_CAMPAIGN $HOTCELL_ALERT $HOTCELL_ALERT_METRIC $HOTCELL_ALERT_VALUE $HOTCELL_ALERT_SEVERITY" >>told
command: exit $((HOTCELL_RUN % 2))
""")
    assert "'on-alert=echo" in refused(campaign(place, "c.yaml"), (2,)) and not (place / "told").exists()
    ran = campaign(place, "c.yaml", "--trust")
    assert ran.code == 4, ran
    rate = re.search(rb"failing: failure_rate is ([0-9.]+)\n", ran.err).group(1) # as it was when it was looked at
    assert 20 < float(rate) <= 100
    assert eventually(lambda: slurp(place / "told")) == b"c1 failing failure_rate " + rate + b" critical\n"


# ---- the live view, in a real terminal ----


def test_the_live_view_shows_progress_workers_and_outcomes(place):
    with Terminal("campaign", "run", "--name", "view", "--runs", "12", "--workers", "3", "--state", place / ".hotcell",
                  "--output", place / "out", *shell("sleep 0.4; exit $((HOTCELL_RUN % 5 == 0))"), rows=30, columns=100) as it:
        it.wait_for(b"view")
        code, out = it.finish(30)
    text = out.decode(errors="replace")
    assert code == 1, text[-2000:]
    assert "12/12" in text and "\033[?25l" in text and text.rstrip().find("\033[?25h") > 0
    assert "All 12 sessions complete" in text
    prove_accounting(place, "view", 12, "out")


class Tmux:
    """A real terminal, with what a person would see in it."""

    def __init__(self, place, columns, rows, command):
        self.socket = str(place / "tmux")
        env = dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm-256color")
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), command, env=env)

    def run(self, *args, **more):
        return subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True, text=True, check=True, **more).stdout

    def screen(self):
        return self.run("capture-pane", "-p").splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


@pytest.mark.parametrize("columns,rows", [(100, 30), (44, 12)])
def test_the_live_view_fits_the_terminal_and_is_drawn_in_place(place, columns, rows):
    command = (f"cd {place} && {HOTCELL} campaign run --name tm --runs 60 --workers 3 -- /bin/sh -c "
               "'sleep 0.2; exit $((HOTCELL_RUN % 6 == 0))'; echo the code is $?; sleep 60")
    with Tmux(place, columns, rows, command) as tmux:
        assert eventually(lambda: any("[0" in line for line in tmux.screen()), 15)
        seen = tmux.screen()
        assert sum(line.startswith("tm ") for line in seen) == 1, "one picture, drawn over and over"
        assert len([line for line in seen if re.search(r"\[0\d\d\]", line)]) <= 3, seen
        assert any(re.search(r"\d+/60", line) for line in seen), seen
        tmux.run("resize-window", "-x", str(columns - 8), "-y", str(rows - 2))
        time.sleep(0.5)
        seen = tmux.screen()
        assert sum(line.startswith("tm ") for line in seen) == 1, seen
        eventually(lambda: any("the code is 1" in line for line in tmux.screen()), 30)
        seen = tmux.screen()
        assert any("All 60 sessions complete" in line for line in seen), seen


# ---- bad input ----


@pytest.mark.parametrize("args,word", [
    (["--runs", "0"], "runs"),
    (["--runs", "-1"], "runs"),
    (["--runs", "many"], "runs"),
    (["--workers", "0"], "workers"),
    (["--workers", "4097"], "workers"),
    (["--name", "a/b"], "name"),
    (["--name", ".."], "name"),
    (["--name", "a\nb"], "name"),
    (["--seed", "9007199254740992"], "seed"),
    (["--stdin", "no-such-file"], "no-such-file"),
    (["--alert", "nonsense"], "alert"),
    (["--memory", "12Q"], "memory"),
    (["--env", "HOTCELL_SEED=5"], "HOTCELL_SEED"),
])
def test_bad_input_is_one_sentence_and_starts_nothing(place, args, word):
    said = refused(campaign(place, *args, *TRUE), codes=(2, 125))
    assert word in said
    assert not (place / "fuzz").exists()
    if (place / ".hotcell").exists():
        assert not (place / ".hotcell/ledger.db").exists() or not ledger_rows(place, "select * from campaigns")


def test_no_command_is_one_sentence(place):
    assert "command" in refused(campaign(place, "--runs", "3"))


def test_an_output_folder_that_is_a_link_or_anothers_is_refused(place):
    (place / "real").mkdir()
    (place / "link").symlink_to(place / "real")
    assert "symbolic link" in refused(campaign(place, "--output", "link", *TRUE))
    (place / "real/thesis.txt").write_text("mine")
    assert "thesis.txt" in refused(campaign(place, "--output", "real", *TRUE))
    assert (place / "real/thesis.txt").read_text() == "mine"
    assert not ledger_rows(place, "select * from campaigns")


def test_a_ledger_that_is_damaged_or_newer_is_refused_and_left_alone(place):
    assert campaign(place, "--runs", "1", *TRUE).code == 0
    path = place / ".hotcell/ledger.db"
    import sqlite3
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 999")
    assert "newer" in refused(campaign(place, *TRUE))
    for leftover in place.glob(".hotcell/ledger.db-*"):
        leftover.unlink()
    path.write_bytes(b"this is no ledger" * 100)
    assert "ledger" in refused(campaign(place, *TRUE))
    assert path.read_bytes().startswith(b"this is no ledger")


def test_an_error_in_a_file_names_its_line(place):
    for text, word in (("runs: 3\nname: a/b\n", "2"), ("runs: 3\n\nmemory: 12Q\n", "3"), ("runs: 1\nruns: 2\n", "twice"),
                       ("a: &a [x,x]\nb: &b [*a,*a]\n", "1"), ("runs:\t3\n\tworkers: 1\n", "2"), ("runs: [1]\n", "1"),
                       ("alerts:\n  - nonsense\n", "2")):
        (place / "c.yaml").write_text(text + "command: [/bin/true]\n")
        said = refused(campaign(place, "c.yaml"))
        assert "c.yaml:" in said and word in said, (text, said)
    assert not (place / ".hotcell").exists()


def test_a_file_holds_what_flags_do_and_flags_win(place):
    (place / "c.yaml").write_text("runs: 9\nname: filed\nenv:\n  MODE: slow\ncommand: [/bin/sh, -c, 'echo $MODE']\n")
    assert campaign(place, "c.yaml", "--runs", "2", "--env", "MODE=fast").code == 0
    prove_accounting(place, "filed", 2)
    assert (place / "fuzz/runs/001/stdout.log").read_text() == "fast\n"


def test_a_state_folder_that_others_can_write_to_is_not_used(place):
    (place / ".hotcell").mkdir()
    (place / ".hotcell").chmod(0o777)
    assert "others" in refused(campaign(place, "--runs", "1", *TRUE))
    below = place / "below"
    below.mkdir()
    assert campaign(below, "--runs", "1", *TRUE).code == 0
    assert (below / ".hotcell").is_dir(), "passed by: one of its own"


def test_a_name_that_is_taken_is_refused(place):
    assert campaign(place, "--name", "x", "--runs", "1", *TRUE).code == 0
    assert "x" in refused(campaign(place, "--name", "x", "--runs", "1", *TRUE))


# ---- without a sandbox ----


def test_a_campaign_without_a_sandbox_warns_whenever_it_begins(place):
    for more in (["--dry-run"], []):
        ran = campaign(place, "--runs", "1", "--name", "bare", "--no-sandbox", *more, "--", "true")
        assert ran.code == 0 and b"UNPROTECTED" in ran.err, ran
    ran = campaign(place, "--runs", "1", "--name", "held", "--", "true")
    assert ran.code == 0 and b"UNPROTECTED" not in ran.err, ran

"""However a run ends, everything inside dies within a second and nothing is left."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from harness import (
    HOTCELL,
    IS_ROOT,
    Live,
    descendants,
    environment,
    eventually,
    gone,
    hotcell,
    inside,
    leftovers,
    lives,
    machine,
    marker,
    run,
    stat_of,
)


@pytest.fixture
def tree(hostile):
    """tree() -> a running cell full of processes that do not want to die, and their marker."""

    def start(*flags):
        word = marker()
        live = Live(*flags, *hostile("procs", "tree", word))
        live.wait_for(b"ready")
        assert eventually(lambda: len(inside(word)) >= 4), inside(word)
        return live, word

    return start


def next_hotcell():
    """A killed supervisor cannot clean up: cells are cleared by the next run, sockets by the next look."""
    assert run("--", "true").code == 0
    assert hotcell("ps").code == 0


# ---- signals to us ----


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_to_us_cancels_the_run(tree, number, code):
    live, word = tree()
    with live:
        os.killpg(live.pid, number)
        ran = live.finish(5)
        assert gone(word, 1), "still alive after we ended"
    assert (ran.code, ran.outcome) == (code, "cancelled"), ran
    assert len(ran.own) == 1


def test_a_second_ctrl_c_does_no_harm(tree):
    live, word = tree()
    with live:
        for _ in range(20):
            os.killpg(live.pid, signal.SIGINT)
        ran = live.finish(5)
    assert (ran.code, ran.outcome) == (130, "cancelled"), ran
    assert gone(word)


def test_a_signal_at_any_moment_of_the_start_ends_it(hostile):
    for delay in range(0, 40, 4):
        word = marker()
        with Live(*hostile("procs", "tree", word)) as live:
            time.sleep(delay / 1000)
            live.process.send_signal(signal.SIGTERM)
            code = live.process.wait(5)
        assert code in (143, -signal.SIGTERM), (delay, code, bytes(live.err))
        assert gone(word), delay


def test_an_ignored_hangup_stays_ignored(hostile):
    def nohup():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with Live(*hostile("procs", "stay"), preexec_fn=nohup) as live:
        live.wait_for(b"ready")
        live.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert live.process.poll() is None
        live.process.terminate()
        assert live.process.wait(5) == 143


# ---- kill -9 ----


def test_killing_the_supervisor_kills_everything_inside(tree):
    live, word = tree()
    with live:
        others = descendants(live.pid)
        live.process.kill()
        assert gone(word), f"alive after the supervisor's death: {inside(word)}"
        assert eventually(lambda: not any(lives(pid) for pid in others)), "a helper stayed"
    next_hotcell()


def test_without_a_sandbox_the_programs_group_dies_with_the_supervisor():
    word = marker()
    script = "/bin/sh -c 'sleep 100; :' {0} & pwd; read x".format(word)
    with Live("--backend", "none", "--", "/bin/sh", "-c", script, word) as live:
        live.wait_for(b"hotcell-none")
        assert eventually(lambda: len(inside(word)) >= 2), inside(word)
        folder, everyone = bytes(live.out).decode().strip(), descendants(live.pid)
        live.process.kill()
        assert gone(word), f"alive after the supervisor's death: {inside(word)}"
        assert eventually(lambda: not os.path.exists(folder)), "its workspace stayed"
        assert eventually(lambda: not any(lives(pid) for pid in everyone)), "the guard stayed"
    next_hotcell()


def test_without_a_sandbox_the_workspace_goes_with_the_supervisor_while_it_is_copied(place):
    script = "pwd; for i in $(seq 3000); do echo > $i; done"
    with Live("--backend", "none", "--output", place / "out", "--", "/bin/bash", "-c", script) as live:
        live.wait_for(b"hotcell-none")
        assert eventually(lambda: [pid for pid in descendants(live.pid) if (stat_of(pid) or [""])[0] == "hotcell-collect"], 10)
        live.process.kill()
        folder = bytes(live.out).decode().strip()
        assert eventually(lambda: not os.path.exists(folder)), "its workspace stayed"
    next_hotcell()


@pytest.mark.parametrize("backend", ["none", "native"])
def test_how_it_ended_is_known_where_whoever_started_us_ignores_children(backend):
    done = subprocess.run(
        ["sh", "-c", "trap '' CHLD; exec \"$@\"", "-", HOTCELL, "run", "--backend", backend, "--", "sh", "-c", "exit 7"],
        timeout=20,
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == 7, done


def test_without_a_sandbox_no_guard_is_left():
    word = marker()
    with Live("--backend", "none", "--", "/bin/sh", "-c", "pwd; read x", word) as live:
        live.wait_for(b"hotcell-none")
        everyone = descendants(live.pid)
        assert len(everyone) >= 2, "the program and its guard"
        live.process.stdin.close()
        live.process.wait(5)
        assert not any(stat_of(pid) for pid in everyone)


def test_a_cell_whose_init_hangs_ends_with_the_supervisor(tree):
    live, word = tree("-t", "20s")
    with live:
        everyone = descendants(live.pid)
        init = stat_of(min(inside(word), key=lambda pid: stat_of(pid)[3]))[2]
        os.kill(init, signal.SIGSTOP)
        live.process.kill()
        assert gone(word), f"alive after the supervisor's death: {inside(word)}"
        assert eventually(lambda: not any(lives(pid) for pid in everyone)), "a helper stayed"
    next_hotcell()


def test_killing_any_process_of_ours_ends_the_cell(tree):
    """Those between the supervisor and what is in the cell, one after another. One that only makes namespaces has done so and is on
    its way out."""
    number = 0
    while True:
        live, word = tree("-t", "20s")
        with live:
            cell = inside(word)
            makers = [pid for pid in descendants(live.pid) if pid not in cell]
            helpers = [pid for pid in makers if set(descendants(pid)) & set(cell)]
            if number >= len(helpers):  # one that makes the first cell may be gone in another life
                break
            role = f"helper {number} of {len(helpers)}: {stat_of(helpers[number])}"
            os.kill(helpers[number], signal.SIGKILL)
            assert gone(word), f"alive after the death of {role}: {inside(word)}"
            ran = live.finish(5)
            assert ran.code != 0, role
            assert ran.result is None or ran.outcome != "exited", (role, ran)
            assert ran.result is None or ran.result["lost"], (role, ran)
            assert any("killed from outside" in line for line in ran.own), (role, ran)
        number += 1
    assert number >= 1


def test_killing_the_program_ends_the_run_as_signaled(tree):
    live, word = tree()
    with live:
        first = min(inside(word), key=lambda pid: stat_of(pid)[3])
        os.kill(first, signal.SIGKILL)
        ran = live.finish(5)
    assert (ran.code, ran.outcome, ran.result["signal"]) == (137, "signaled", 9), ran
    assert ran.result["lost"] is False
    assert gone(word)


def test_a_cell_we_or_its_limits_end_is_not_lost(hostile):
    for args in (["-t", "200ms", "--", "sleep", "9"], hostile("exhaust", "memory", 900)):
        ran = run(*args)
        assert ran.outcome != "exited", ran
        assert ran.result["lost"] is False, ran


def test_what_a_killed_process_tree_left_is_cleared_by_the_next_run(tree):
    before = machine()
    live, word = tree()
    with live:
        everyone = [live.pid, *descendants(live.pid)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in everyone:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        live.process.wait(5)
    assert gone(word)
    assert eventually(lambda: not any(lives(pid) for pid in everyone))
    next_hotcell()
    assert not leftovers(before)


def test_killing_many_supervisors_leaves_nothing(hostile):
    before = machine()
    for _ in range(8):
        with Live(*hostile("procs", "tree", marker())) as live:
            live.wait_for(b"ready")
            live.process.kill()
    next_hotcell()
    assert not leftovers(before)


# ---- many ----


def test_two_cells_at_once_do_not_know_of_each_other(hostile):
    with Live("--", "sh", "-c", "echo one > f; echo up; read x; cat f") as one:
        with Live("--", "sh", "-c", "echo two > f; echo up; read x; cat f") as two:
            one.wait_for(b"up")
            two.wait_for(b"up")
            for live, text in ((one, b"one"), (two, b"two")):
                live.send(b"\n")
                ran = live.finish()
                assert (ran.code, ran.lines[-1]) == (0, text.decode()), ran


def test_sixteen_cells_at_once_all_end_well():
    lives = [Live("--", "sh", "-c", f"sleep 0.2; exit {number}") for number in range(16)]
    codes = [live.finish(30).code for live in lives]
    for live in lives:
        live.__exit__()
    assert codes == list(range(16))


def test_hundreds_of_cells_leave_nothing():
    """Ten thousand in the long run of the tests."""
    before = machine()
    count = 10_000 if os.environ.get("HOTCELL_LONG") else 300
    script = 'i=0; while [ $i -lt "$1" ]; do "$0" run -q -- /bin/true </dev/null || exit; i=$((i+1)); done'
    done = subprocess.run(
        ["sh", "-c", script, HOTCELL, str(count)],
        timeout=count / 4,
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    assert not leftovers(before)


def test_a_timeout_ends_everything_in_the_cell(tree):
    live, word = tree("-t", "3s")
    with live:
        ran = live.finish(10)
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert gone(word, 1)


def test_the_supervisor_leaves_no_zombies_while_it_runs(hostile):
    with Live(*hostile("procs", "stay")) as live:
        live.wait_for(b"ready")
        time.sleep(0.1)
        zombies = [
            pid
            for pid in os.listdir("/proc")
            if pid.isdigit() and (stat := stat_of(pid)) and stat[1] == "Z" and stat[2] == live.pid
        ]
        assert not zombies


def test_zombies_do_not_pile_up_where_process_1_reaps_nothing():
    """As in a container whose first process is any program: what hotcell leaves to it stays."""
    first = f"""
import os, subprocess, time
for _ in range(14):
    subprocess.run([{HOTCELL!r}, "run", "-q", "--", "/bin/true"], check=True)
    time.sleep(0.7)
zombies = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{{pid}}/stat") as stat:
        zombies += stat.read().rpartition(")")[2].split()[0] == "Z"
print(zombies)
"""
    how = ["unshare", "--pid", "--fork", "--mount-proc", *([] if IS_ROOT else ["--user", "--map-root-user"])]
    done = subprocess.run([*how, "/usr/bin/python3", "-c", first], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done
    assert int(done.stdout) <= 10, "at most those of the first seconds"

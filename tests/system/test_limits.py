"""Exhaustion: a cell that takes all it can get, and what the host and the result say of it."""

import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest

from campaigns import campaign, sessions
from harness import Live, gone, inside, is_cell_user, marker, run

MB = 1 << 20


# ---- memory ----


def test_a_memory_bomb_is_ended_and_called_oom(hostile, is_on):
    ran = run("--memory", "64M", *hostile("exhaust", "memory"))
    assert ran.outcome == "oom", ran
    assert ran.code == 137, ran
    assert ran.result["signal"] == 9
    assert len(ran.own) == 1 and "--memory" in ran.own[0], ran
    if is_on("memory-limit"):
        assert ran.result["oom_kills"] >= 1
        assert ran.result["peak_memory"] <= 80 * MB


def test_memory_is_counted_over_all_processes_of_the_cell(hostile, is_on):
    ran = run("--memory", "64M", *hostile("exhaust", "family"))
    assert ran.outcome == "oom" or ran.result["oom_kills"] >= 1, ran
    if is_on("memory-limit"):
        assert ran.result["peak_memory"] <= 80 * MB


def test_a_cell_within_its_memory_is_left_alone(hostile):
    ran = run("--memory", "128M", *hostile("exhaust", "memory", 64))
    assert (ran.code, ran.outcome, ran.result["oom_kills"]) == (0, "exited", 0), ran


@pytest.mark.parametrize("kind", ["memfd", "sysv"])
def test_memory_without_a_process_is_bounded_too(hostile, is_on, kind):
    ran = run("--memory", "64M", "--file-size", "100M", *hostile("exhaust", kind))
    if is_on("memory-limit"):
        assert ran.outcome == "oom", ran
        assert ran.result["peak_memory"] <= 80 * MB
    else:
        # No cgroup counts these pages: the receipt says so, and the rest of the limits still hold.
        assert ran.result["receipt"]["protections"]["memory-limit"]["state"] != "on"
        if kind == "memfd":
            assert int(ran.said.get("taken", 100)) <= 100, ran


# Slower than who looks: what is not seen is taken whole.
TAKE_BEHIND_A_DEAD_LEADER = """import ctypes, mmap, os, threading, time
def take():
    kept = []
    for taken in range(16, 400, 16):
        kept.append(mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        kept[-1].write(bytes(16 << 20))
        print("taken", taken, flush=True)
        time.sleep(0.03)
    os._exit(0)
threading.Thread(target=take).start()
ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)
"""


def test_memory_of_a_process_whose_first_thread_is_gone_is_counted():
    ran = run("--memory", "128M", "python3", "-c", TAKE_BEHIND_A_DEAD_LEADER)
    assert ran.outcome == "oom" and int(ran.said["taken"]) < 300, ran


TAKE_AND_LET_GO = """import mmap, time
hoard = mmap.mmap(-1, 400 << 20)
for at in range(0, 400 << 20, 16 << 20):
    hoard[at:at + (16 << 20)] = bytes(16 << 20)
    hoard.madvise(mmap.MADV_DONTNEED, at, 16 << 20)
    print("taken", at >> 20, flush=True)
    time.sleep(0.03)
"""


def test_shared_memory_that_a_process_lets_go_of_is_counted():
    ran = run("--memory", "128M", "python3", "-c", TAKE_AND_LET_GO)
    assert ran.outcome == "oom" and int(ran.said.get("taken", 0)) < 200, ran


def test_shared_memory_is_counted_once_however_many_use_it():
    script = "import mmap, os, time\nshared = mmap.mmap(-1, 60 << 20)\nshared.write(bytes(60 << 20))\n" \
        "[os.fork() for _ in range(2)]\nshared[::4096]\ntime.sleep(0.5)"
    assert run("--memory", "128M", "python3", "-c", script).outcome == "exited"


def test_message_queues_are_bounded(hostile):
    ran = run(*hostile("exhaust", "mqueue"))
    assert int(ran.said["taken"]) <= 4 * MB, ran


def test_locked_memory_is_bounded(hostile):
    ran = run("--memory", "64M", *hostile("exhaust", "locked"))
    assert ran.outcome in ("exited", "oom"), ran
    if ran.outcome == "exited":
        assert int(ran.said["taken"]) <= 64, ran


def test_endless_recursion_is_the_programs_own_crash(hostile):
    ran = run(*hostile("exhaust", "stack"))
    assert (ran.code, ran.outcome, ran.result["signal"]) == (139, "signaled", 11), ran


# ---- processes ----


@pytest.mark.parametrize("kind", ["forks", "threads"])
def test_processes_and_threads_are_held_at_the_limit(hostile, kind):
    ran = run("--processes", "20", *hostile("exhaust", kind))
    assert ran.code == 0, ran
    assert 10 <= int(ran.said["made"]) <= 20, ran
    assert ran.said["fork" if kind == "forks" else "thread"] == "EAGAIN"


def test_a_fork_bomb_is_held_while_the_host_goes_on(hostile):
    word = marker()
    with Live("--processes", "30", "-t", "1500ms", *hostile("exhaust", "forkbomb", word)) as live:
        live.wait_for(b"ready")
        time.sleep(0.3)
        assert len(inside(word)) <= 30
        assert subprocess.run(["true"], timeout=5).returncode == 0
        ran = live.finish(15)
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert gone(word)


def test_orphans_are_reaped_and_do_not_use_up_the_limit(hostile):
    ran = run("--processes", "20", *hostile("procs", "zombies", 300))
    assert ran.said == {"failed": "0", "zombies": "0"}, ran
    assert ran.result["processes"] >= 300 or ran.result["processes"] == 0


def test_cells_of_several_hotcells_are_not_all_pinned_to_one_cpu(is_on):
    """Where there is no cgroup for it; where there is one, a cell may be wherever hotcell may."""
    mine, seen = os.sched_getaffinity(0), set()
    for _ in range(100):  # by chance
        seen.add(run("--", "/usr/bin/python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))").out.decode().strip())
        if len(seen) == len(mine) or is_on("cpu-limit"):
            break
    assert len(seen) == (1 if is_on("cpu-limit") else len(mine)), seen
    assert not is_on("cpu-limit") or seen == {str(sorted(mine))}


@pytest.mark.parametrize("how", ["daemon", "holder"])
def test_a_daemon_does_not_outlive_the_run(hostile, how):
    word = marker()
    ran = run(*hostile("procs", how, word), timeout=10)
    assert ran.outcome == "exited", ran
    assert gone(word, 1), f"still there: {inside(word)}"


def test_a_program_that_stops_itself_ends_on_the_clock(hostile):
    word = marker()
    ran = run("-t", "400ms", *hostile("procs", "stop", word), timeout=10)
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert gone(word, 1)


def test_a_program_that_ignores_every_signal_ends_on_the_clock(hostile):
    word = marker()
    ran = run("-t", "400ms", *hostile("procs", "stubborn", word), timeout=10)
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert gone(word, 1)


# ---- the processor ----


def test_four_threads_get_no_more_than_one_cpu(hostile, is_on):
    ran = run("--cpus", "1", *hostile("exhaust", "burn", 1000, 4))
    share = int(ran.said["cpu"]) / int(ran.said["wall"])
    counted = ran.result["user_ms"] + ran.result["system_ms"]
    assert abs(counted - int(ran.said["cpu"])) < 300, ran
    if is_on("cpu-limit"):
        assert share <= 1.25, ran
    else:
        assert ran.result["receipt"]["protections"]["cpu-limit"]["note"], "it says what is missing"


def cpus_of(status):
    return [line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list")]


def test_a_cell_may_be_on_every_cpu_that_hotcell_may(place, is_on):
    """Its makers work apart for a while: the first cell, and the second of the same slot."""
    assert campaign(place, "--workers", "1", "--runs", "2", "--", "cat", "/proc/self/status").code == 0
    for folder in sessions(place).values():
        inside = cpus_of((folder / "stdout.log").read_text())
        assert inside == cpus_of(Path("/proc/self/status").read_text()) or not is_on("cpu-limit"), inside


def test_a_fraction_of_a_cpu_is_kept(hostile, is_on):
    ran = run("--cpus", "0.3", *hostile("exhaust", "burn", 1000, 2))
    share = int(ran.said["cpu"]) / int(ran.said["wall"])
    assert not is_on("cpu-limit") or share <= 0.5, ran


# ---- disk ----


@pytest.mark.parametrize(
    ("flag", "folder"), [("--disk", "/workspace"), ("--tmp-size", "/tmp"), ("--shm", "/dev/shm")]
)
def test_a_disk_filler_gets_no_more_than_its_scratch_space(hostile, flag, folder):
    ran = run(flag, "8M", *hostile("exhaust", "fill", f"{folder}/filler"))
    assert ran.said["write"] == "ENOSPC", ran
    assert 7 * MB <= int(ran.said["taken"]) <= 8 * MB, ran
    assert ran.code == 1
    assert ran.outcome == "disk-limit", ran
    assert len(ran.own) == 1 and flag in ran.own[0], ran


def test_a_full_scratch_space_is_no_verdict_when_the_program_copes(hostile):
    ran = run(
        "--disk", "4M", "--", "sh", "-c", "head -c 9M /dev/zero > f 2>/dev/null; rm f; exit 0"
    )
    assert (ran.code, ran.outcome) == (0, "exited"), ran


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev/shm"])
def test_a_maker_of_empty_files_runs_out_of_them(hostile, folder):
    flags = {"/workspace": "--disk", "/tmp": "--tmp-size", "/dev/shm": "--shm"}
    ran = run(flags[folder], "1M", *hostile("exhaust", "inodes", folder, 200_000))
    assert ran.said["create"] == "ENOSPC", ran
    assert int(ran.said["made"]) < 200_000


def test_a_file_ends_at_the_file_size(hostile):
    ran = run("--file-size", "1M", *hostile("exhaust", "longfile", "/workspace/long"))
    assert ran.said["write"] == "EFBIG", ran
    assert int(ran.said["taken"]) == MB
    assert ran.said["ftruncate"] == "EFBIG"
    ran = run("--file-size", "1M", *hostile("exhaust", "longfile", "/workspace/long", "and-die"))
    assert (ran.code, ran.outcome, ran.result["signal"]) == (128 + 25, "disk-limit", 25), ran


def test_a_sparse_monster_is_counted_by_its_blocks(hostile):
    ran = run("--file-size", "8T", *hostile("exhaust", "sparse", "/workspace/sparse", 4 << 40))
    assert ran.said == {"ftruncate": "ok", "pwrite": "ok"}, ran
    assert ran.result["written_bytes"] < MB
    assert ran.outcome == "exited"


def test_programs_cannot_be_run_from_tmp_unless_allowed(hostile):
    assert run(*hostile("paths", "noexec", "/tmp")).said == {"exec": "EACCES"}
    assert run(*hostile("paths", "noexec", "/dev/shm")).said == {"exec": "EACCES"}
    assert is_cell_user(run("--tmp-exec", *hostile("paths", "noexec", "/tmp")).said["uid"])
    assert is_cell_user(run(*hostile("paths", "noexec", "/workspace")).said["uid"])


# ---- descriptors and cores ----


def test_open_files_are_held_at_the_limit(hostile):
    ran = run("--open-files", "64", *hostile("exhaust", "descriptors"))
    assert ran.said["open"] == "EMFILE", ran
    assert int(ran.said["made"]) == 61
    assert ran.said["raise"] == "EPERM"


def test_explain_tells_the_open_files_that_a_cell_has():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    told = run("--open-files", "256", "--explain", "--", "true", json=False, preexec_fn=few)
    had = run("--open-files", "256", "--", "sh", "-c", "ulimit -n", preexec_fn=few)
    assert re.findall(rb"open files +(\d+) ", told.out) == [had.out.strip()], (told, had)


def test_a_crash_leaves_no_core(hostile, place):
    ran = run("--output", place / "out", *hostile("exhaust", "core"))
    assert ran.said == {"hard": "1", "dumped": "0"}, ran
    assert (ran.code, ran.outcome, ran.result["signal"]) == (134, "signaled", 6), ran
    assert not list((place / "out").iterdir())


# ---- output ----


@pytest.mark.parametrize("fd", [1, 2])
def test_an_infinite_printer_is_cut_off_flagged_and_drained(hostile, fd):
    ran = run("--max-output", "1M", *hostile("exhaust", "print", fd))
    assert (ran.code, ran.outcome) == (137, "output-limit"), (ran.code, ran.outcome)
    assert ran.result["stdout_bytes"] + ran.result["stderr_bytes"] == MB
    passed = ran.out.count(b"y") if fd == 1 else ran.target_err.count(b"y")
    assert passed >= MB - 1
    assert ran.result["dropped_bytes"] > 0
    assert len(ran.own) <= 1
    assert b"--max-output" in ran.err


def test_output_up_to_the_limit_is_not_flagged(hostile):
    ran = run("--max-output", "1M", *hostile("exhaust", "print", 1, MB))
    assert (ran.code, ran.outcome, ran.result["dropped_bytes"]) == (0, "exited", 0), ran.result
    assert ran.result["stdout_bytes"] == MB


def test_an_infinite_printer_with_a_slow_reader_is_cut_off_too(hostile):
    with Live("--max-output", "1M", *hostile("exhaust", "print", 1)) as live:
        ran = live.finish()
    assert ran.outcome == "output-limit", ran.result


# ---- all at once ----


def test_a_healthy_cell_goes_on_among_hostile_ones(hostile):
    word = marker()
    attacks = [
        ("exhaust", "forkbomb", word),
        ("exhaust", "memory", 2000, word),
        ("procs", "stubborn", word),
        ("exhaust", "print", 1),
        ("exhaust", "inodes", "/workspace"),
        ("exhaust", "burn", 5000, 8),
    ]
    flags = [
        "-t",
        "3s",
        "-m",
        "96M",
        "--processes",
        "40",
        "--disk",
        "16M",
        "--max-output",
        "8M",
        "-c",
        "0.3",
    ]
    lives = []
    try:
        for attack in attacks:
            lives.append(Live(*flags, *hostile(*attack)))
        for _ in range(5):
            ran = run("--", "sh", "-c", "echo healthy", timeout=20)
            assert (ran.code, ran.out) == (0, b"healthy\n"), ran
        outcomes = {attack[1]: live.finish(20).outcome for attack, live in zip(attacks, lives)}
    finally:
        for live in lives:
            live.__exit__()
    assert outcomes["forkbomb"] == "timeout", outcomes
    assert outcomes["memory"] == "oom", outcomes
    assert outcomes["stubborn"] == "timeout", outcomes
    assert outcomes["print"] == "output-limit", outcomes
    assert gone(word)

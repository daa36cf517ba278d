"""Who a cell is outside, and what the kernel counts for that user."""

import os
import resource
import shutil
import subprocess
import sys

import pytest

from harness import (
    HOTCELL,
    IS_ROOT,
    OWN_USERS,
    Live,
    environment,
    eventually,
    hotcell,
    inside,
    marker,
    pretending,
    run,
)

FILES = 1024


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def campaign(place, *args, runs, **more):
    """A campaign in a folder of its own; its sessions by their number."""
    command = [HOTCELL, "campaign", "run", "--name", "users", "--plain", "--state", place / "state", "--output", place / "out"]
    command += ["--runs", str(runs), "--workers", str(runs), "-t", "30s", *args]
    ran = subprocess.run(command, capture_output=True, timeout=120, env=environment(), check=False, **more)
    return ran, sorted(each for each in (place / "out").iterdir() if each.is_dir())


def user_note(ran):
    return ran.result["receipt"]["protections"]["non-root"]["note"]


def meeting(place):
    folder = place / "meet"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_one_run_that_takes_all_of_a_user_leaves_the_others_theirs(place, programs):
    meet = meeting(place)
    shown = ("--mount", f"{programs}:/hostile", "--mount", f"{meet}:/meet:rw")
    ran, sessions = campaign(place, *shown, "--", "/hostile/share", "run", "/meet", "5", runs=5, preexec_fn=few_files)
    assert ran.returncode == 0, ran
    assert all((session / "SUCCESS").exists() for session in sessions) and len(sessions) == 5, ran
    for number in range(1, 5):
        got = dict(line.split() for line in (meet / f"got-{number}").read_text().splitlines())
        assert got["inotify"] == got["signal"] == "ok", got
        # an ordinary user's cells that are shown his files are that user, and the receipt says so
        if IS_ROOT:
            assert set(got.values()) == {"ok"}, got


def test_nor_without_a_mount_that_carries_the_user(place):
    take = (
        "import ctypes, os, sys, time\n"
        "libc = ctypes.CDLL(None)\n"
        "taken = 0\n"
        "while libc.inotify_init1(0) >= 0: taken += 1\n"
        "print(taken, flush=True)\n"
        "time.sleep(1)\n"
    )
    ran, sessions = campaign(place, "--", "python3", "-c", take, runs=3)
    assert ran.returncode == 0, ran
    taken = [int((session / "stdout.log").read_text()) for session in sessions]
    assert min(taken) >= 4, f"one of them had all: {taken}"


def test_the_users_own_programs_keep_passing_descriptors(place, hostile):
    """Of the user who runs hotcell: one with the same limit of open files as hotcell was started with."""
    go = place / "go"
    send = (
        "import array, socket\n"
        "a, b = socket.socketpair()\n"
        "a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2] * 60))])\n"
    )
    with Live("--mount", f"{place}:/go", *hostile("share", "take", "/go/go"), preexec_fn=few_files) as live:
        live.wait_for(b"ready")
        sent = subprocess.run([sys.executable, "-c", send], capture_output=True, preexec_fn=few_files, check=False)
        assert sent.returncode == 0, sent
        others = run("--", "true", preexec_fn=few_files)
        assert others.code == 0, others
        go.touch()
        ran = live.finish()
    assert ran.outcome == "exited" and ran.code == 0, ran
    assert int(ran.out.split(b"taken:flight ")[1].split()[0]) > 0


def test_a_run_that_has_descriptors_in_flight_still_hands_over_what_it_made(place, hostile):
    (place / "go").touch()
    ran = run(
        "--output", place / "out", "--mount", f"{place}:/go", *hostile("share", "take", "/go/go"), preexec_fn=few_files
    )
    assert ran.code == 0 and ran.outcome == "exited" and ran.result["error"] is None, ran


def cells_at_once(place, name, word, *args):
    command = [HOTCELL, "campaign", "run", "--plain", "--name", name, "--state", place / "state", "--output", place / name]
    command += ["--runs", "4", "--workers", "4", *args, "--", "/bin/sh", "-c", f"sleep 2; : {word}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())


@pytest.mark.parametrize("mounted", [False, True])
def test_no_two_cells_are_the_same_user_outside(place, mounted):
    """Of one hotcell, and of two. An ordinary user's cells that are shown files of his are he."""
    word, users = marker(), set()
    more = ("--mount", f"{place}:/shown") if mounted else ()
    both = [cells_at_once(place, name, word, *more) for name in ("one", "two")]
    found = eventually(lambda: len(inside(word)) == 8 and inside(word), 15)
    if found:
        users = {os.stat(f"/proc/{pid}").st_uid for pid in found}
    outs = [process.communicate(timeout=60)[0] for process in both]
    assert found, outs
    assert [process.returncode for process in both] == [0, 0], outs
    if IS_ROOT:
        assert len(users) == 8 and min(users) >= 1910000000, users
    elif mounted or not OWN_USERS:
        assert users == {os.getuid()}
    else:
        assert len(users) == 8 and min(users) >= 65536, users


@pytest.mark.parametrize("collected", [False, True])
def test_without_newuidmap_a_user_is_all_of_his_cells_and_is_told_so(place, collected):
    word, without = marker(), pretending("no-newuidmap")
    more = ("--output", place / "out") if collected else ()
    with Live(*more, "--", "/bin/sh", "-c", f"sleep 2; : {word}", env=without) as live:
        found = eventually(lambda: inside(word), 15)
        users = {os.stat(f"/proc/{pid}").st_uid for pid in found}
        ran = live.finish()
    explained = hotcell("run", "--explain", "--", "true", env=without).out.decode()
    told = hotcell("doctor", env=without).out.decode()
    if IS_ROOT:
        assert min(users) >= 1910000000 and "per-user limits: own" in explained
        return
    assert users == {os.getuid()} and ran.code == 0, ran
    note = user_note(ran)
    assert note.startswith("per-user limits shared: inotify, descriptors in flight, pipes, epoll")
    assert "hotcell doctor" in note
    assert "outside you" in explained and note in explained, explained
    assert "no: HOTCELL_PRETEND says there is no newuidmap" in told, told


def test_the_doctor_and_an_explanation_tell_of_own_users(place):
    told = hotcell("doctor").out.decode()
    alone = hotcell("run", "--explain", "--", "true").out.decode()
    shown = hotcell("run", "--explain", "--mount", f"{place}:/shown", "--", "true").out.decode()
    assert "own user for each cell" in told
    if OWN_USERS:
        assert "newuidmap mapped " in told, told
        assert "outside one of your numbers in /etc/subuid" in alone, alone
        assert "outside you" in shown, shown


# What share's `need` does, which attacks nothing but cells.
NEED = """
import array, ctypes, fcntl, os, socket
def tell(what, does):
    try:
        print(what, "had" if does() else "not")
    except OSError as err:
        print(what, err.errno)
pair, ends = socket.socketpair(), os.pipe()
files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
tell("flight", lambda: pair[0].sendmsg([b"x"], files))
tell("inotify", lambda: ctypes.CDLL(None).inotify_init1(0) >= 0)
tell("pipe", lambda: fcntl.fcntl(ends[1], 1031, 1 << 18))
tell("signal", lambda: True)
"""


def test_a_cell_of_an_own_user_leaves_other_cells_and_the_users_programs_theirs(place, programs):
    """It is shown a file that everybody may run: for that it needs nobody's rights."""
    share = place / "share"
    shutil.copy(f"{programs}/share", share)
    share.chmod(0o755)
    shown = ("--mount", f"{share}:/hostile/share")
    with Live(*shown, "--", "/hostile/share", "take", "/none", preexec_fn=few_files) as live:
        live.wait_for(b"ready")
        users = {os.stat(f"/proc/{pid}").st_uid for pid in inside("/none")}
        need = [sys.executable, "-c", NEED]
        mine = subprocess.run(need, capture_output=True, preexec_fn=few_files, check=False)
        others = run(*shown, "--", "/hostile/share", "need", preexec_fn=few_files)
    for out in (mine.stdout, others.out):
        got = dict(line.split() for line in out.decode().splitlines())
        for what in ("inotify", "signal", "flight", "pipe")[: 4 if IS_ROOT or OWN_USERS else 2]:
            assert got[what] == "had", (what, got)
    if IS_ROOT or OWN_USERS:
        assert users and min(users) >= 65536, users


def test_what_a_cell_leaves_is_collected_whatever_its_rights(place):
    script = "umask 077; mkdir -p a/b; echo mine >a/b/c; chmod 0400 a/b/c; chmod 0500 a/b a"
    ran = run("--output", place / "out", "--", "sh", "-c", script)
    assert ran.code == 0, ran
    assert (place / "out/a/b/c").read_text() == "mine\n"
    assert {each.stat().st_uid for each in (place / "out").rglob("*")} == {os.getuid()}
    if OWN_USERS:
        assert user_note(ran).startswith("per-user limits: own")


def test_a_program_may_open_its_standard_streams_by_name():
    """Though they are pipes of another user's."""
    script = "cat /dev/stdin >/dev/stdout; echo said >/dev/stderr"
    ran = run("--", "sh", "-c", script, stdin=b"given\n")
    assert ran.code == 0 and ran.out == b"given\n" and b"said" in ran.err, ran


def test_every_slot_reads_and_writes_a_mount_as_its_owner(place):
    (place / "private").write_text("mine")
    (place / "private").chmod(0o600)
    (place / "made").mkdir(mode=0o700)
    script = "cat /shown/private; mktemp /made/XXXXXXXX >/dev/null; sleep 0.3"
    shown = ("--mount", f"{place}:/shown", "--mount", f"{place / 'made'}:/made:rw")
    ran, sessions = campaign(place, *shown, "--", "sh", "-c", script, runs=4)
    assert ran.returncode == 0, ran
    assert [(session / "stdout.log").read_text() for session in sessions] == ["mine"] * 4
    made = list((place / "made").iterdir())
    assert len(made) == 4 and {each.stat().st_uid for each in made} == {os.getuid()}, made


def test_the_receipt_says_whose_the_limits_of_a_user_are():
    note = user_note(run("--", "true"))
    if IS_ROOT:
        assert note == "per-user limits: own"
    elif OWN_USERS:
        assert note.startswith("per-user limits: own; capped share of yours: inotify")
    else:
        assert note.startswith("per-user limits shared: ") and "descriptors in flight" in note


def test_the_receipt_says_so_of_a_cell_that_is_shown_the_users_files(place):
    note = user_note(run("--mount", f"{place}:/shown", "--", "true"))
    if IS_ROOT:
        assert note == "per-user limits: own"
    else:
        assert note.startswith("per-user limits shared: ") and note.endswith("its mounts are yours")


def test_a_file_that_every_run_replaces_leaves_no_makers_behind(place):
    """It is another file each time, and so another kind of cell: those that rest do not stay for ever."""
    (place / "cfg").write_text("{}")
    script = "ln /p/cfg /p/old.$$.$(date +%N); cp /p/cfg /p/new; mv /p/new /p/cfg"
    words = [HOTCELL, "campaign", "run", "--quiet", "-n", "30", "-j", "1", "--mount", f"{place}:/p:rw", "--mount", f"{place}/cfg:/cfg", "--output",
        place / "runs", "--state", place.parent / f"{place.name}-state", "--", "sh", "-c", script]  # fmt: skip
    try:
        ran = subprocess.run(["prlimit", "--nofile=200:200", *map(str, words)], cwd=place, env=environment(), capture_output=True, timeout=120)
        assert ran.returncode == 0, ran
    finally:
        shutil.rmtree(place.parent / f"{place.name}-state", ignore_errors=True)

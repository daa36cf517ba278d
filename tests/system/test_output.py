"""What comes back from a cell is hostile: every kind of thing a run can leave in its workspace."""

import os
import signal
import stat
import time

import pytest

from campaigns import Supervisor, prove_accounting, sessions
from harness import Live, descendants, eventually, hotcell, refused, run, stat_of


def everything(folder):
    return [
        os.path.join(top, name)
        for top, folders, files in os.walk(os.fsencode(folder))
        for name in (os.fsencode(n) for n in folders + files)
    ]


def only_files_and_folders(folder):
    """The one invariant of every collected tree."""
    for path in everything(folder):
        info = os.lstat(path)
        assert stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode), path
        assert not info.st_mode & 0o7000, path
        assert stat.S_ISDIR(info.st_mode) or info.st_nlink == 1, path
        assert info.st_uid == os.getuid(), path


@pytest.fixture
def out(place):
    yield place / "out"
    only_files_and_folders(place / "out")


def skipped(ran):
    return {item["name"]: item["reason"] for item in ran.result["output"]["skipped_first"]}


def test_plain_files_and_folders_come_back(out):
    script = "echo hello > a; mkdir -p d/e; printf x > d/e/f; printf '#!/bin/sh\\n' > run; chmod 755 run; chmod 600 a"
    ran = run("--output", out, "--", "sh", "-c", script)
    assert ran.code == 0, ran
    assert (out / "a").read_text() == "hello\n"
    assert (out / "d" / "e" / "f").read_text() == "x"
    assert (out / "run").stat().st_mode & 0o777 == 0o755
    assert (out / "a").stat().st_mode & 0o777 == 0o644
    report = ran.result["output"]
    assert (report["files"], report["folders"], report["bytes"]) == (3, 2, 6 + 1 + 10)
    assert (report["skipped"], report["renamed"], report["capped"]) == (0, 0, None)


def test_an_empty_workspace_gives_an_empty_folder(out):
    ran = run("--output", out, "--", "true")
    assert ran.code == 0 and os.listdir(out) == []
    assert ran.result["output"]["files"] == 0


def test_binary_content_comes_back_byte_for_byte(out):
    data = os.urandom(3 << 20)
    ran = run("--output", out, "--", "sh", "-c", "cat > data", stdin=data)
    assert ran.code == 0, ran
    assert (out / "data").read_bytes() == data


@pytest.mark.parametrize("end", ["exit 3", "kill -9 $$", "sleep 10"])
def test_what_a_failed_run_left_comes_back_too(out, end):
    ran = run("-t", "700ms", "--output", out, "--", "sh", "-c", f"echo kept > file; {end}")
    assert ran.code in (3, 137, 124), ran
    assert (out / "file").read_text() == "kept\n"


def test_links_are_left_behind_and_reported(out, canary, hostile):
    ran = run("--output", out, *hostile("leave", "links", canary))
    names = set(os.listdir(out))
    assert "plain" in names and "hard" in names
    assert not names & {
        "absolute",
        "relative",
        "result.txt",
        "folder-link",
        "loop",
        "dangling",
        "zero",
    }
    assert (out / "plain").stat().st_ino != (out / "hard").stat().st_ino
    assert ran.result["output"]["skipped"] == 7, ran
    assert set(skipped(ran)) >= {"absolute", "result.txt", "folder-link", "loop"}
    assert all("link" in reason for reason in skipped(ran).values()), skipped(ran)
    assert b"canary" not in ran.out + ran.err.replace(str(canary).encode(), b"")


def test_fifos_sockets_devices_and_setuid_bits_do_no_harm(out, hostile):
    start = time.monotonic()
    ran = run("--output", out, *hostile("leave", "kinds"), timeout=20)
    assert time.monotonic() - start < 10, "it hung on a FIFO"
    assert set(os.listdir(out)) == {"plain", "setuid", "script", "world", "sticky"}
    assert {"fifo", "socket"} <= set(skipped(ran)), ran.result["output"]
    assert (out / "setuid").stat().st_mode & 0o7777 == 0o755
    assert (out / "world").stat().st_mode & 0o7777 == 0o644
    assert (out / "sticky").stat().st_mode & 0o7777 == 0o755
    assert (out / "sticky" / "inside").read_text() == "inside\n"


def test_no_name_carries_control_bytes_or_broken_text(out, hostile):
    ran = run("--output", out, *hostile("leave", "names"))
    report = ran.result["output"]
    names = [os.path.basename(path) for path in everything(out)]
    for name in names:
        text = name.decode("utf-8")
        assert not any(ord(c) < 32 or ord(c) == 127 for c in text), name
    made = 20 + 2 + 1  # names, the two longest, the one in the folder
    assert report["files"] + report["skipped"] == made, report
    assert report["skipped"] <= 2, "only what cannot have a name here, or has one that is taken"
    assert report["renamed"] >= 6, report
    assert b"new%0Aline" in names
    assert b"-rf" in names and "café".encode() in names and b"n" * 255 in names
    for line in ran.err.splitlines():
        assert not any(byte < 32 or byte == 127 for byte in line), line


def test_files_without_permissions_come_back_readable(out, hostile):
    ran = run("--output", out, *hostile("leave", "sealed"))
    assert ran.code == 0, ran
    assert (out / "plain").read_text() == "plain\n", ran.result["output"]
    assert (out / "secret").read_text() == "unreadable\n"
    assert (out / "closed" / "inside").read_text() == "inside a closed folder\n"


def test_a_sparse_monster_costs_nothing(out, hostile):
    ran = run(
        "--file-size", "8T", "--output", out, *hostile("leave", "sparse", 4 << 40), timeout=20
    )
    assert not (out / "monster").exists()
    assert "sparse" in skipped(ran)["monster"], ran.result["output"]
    assert (out / "plain").read_text() == "plain\n"
    holes = (out / "holes").stat()
    assert holes.st_size == (16 << 20) + 3
    assert holes.st_blocks * 512 < 1 << 20, "holes stay holes"


def test_holes_count_in_sum(out):
    ran = run("--output", out, "--", "sh", "-c", "for i in 1 2 3 4; do truncate -s 100M f$i; done")
    report = ran.result["output"]
    assert (report["files"], report["skipped"], report["capped"]) == (2, 2, "bytes"), report
    assert sum(os.lstat(path).st_size for path in everything(out)) <= 256 << 20
    assert b"not more than fits (limit --max-collect 256M); left 2 behind" in ran.err, ran


def test_what_was_not_looked_at_is_not_counted_as_if_it_were(out):
    ran = run("--max-collect-files", "5", "--output", out, "--", "sh", "-c", "touch 1 2 3 4 5 6 7 8 9")
    assert b"took 5 files, and looked at no more (limit --max-collect-files 5); left at least 1 behind" in ran.err, ran


def test_more_files_than_the_cap_are_not_taken(out, hostile):
    ran = run("--max-collect-files", "500", "--output", out, *hostile("leave", "many", 5000))
    assert ran.result["output"]["capped"] == "entries", ran
    assert len(everything(out)) <= 500
    assert b"--max-collect-files" in ran.err


def test_many_more_files_than_the_cap_are_not_taken(out, hostile):
    ran = run(
        "--max-collect-files",
        "2000",
        "--disk",
        "512M",
        "--output",
        out,
        *hostile("leave", "many", 30_000),
        timeout=25,
    )
    assert ran.result["output"]["capped"] == "entries", ran
    assert len(os.listdir(out / "many")) <= 2000


@pytest.mark.parametrize(("disk", "most"), [pytest.param("256M", 65_600, id="by default"), pytest.param("2G", 262_144, id="at most", marks=pytest.mark.long)])
def test_a_million_files_are_more_than_a_cell_can_make_or_leave(out, hostile, disk, most):
    """The disk has so many inodes, a collection so many entries."""
    ran = run("--memory", "2G", "--disk", disk, "--output", out, *hostile("leave", "many", 1_000_000), timeout=120)
    assert 60_000 < int(ran.out.split()[1]) <= most, ran
    assert 60_000 < len(os.listdir(out / "many")) <= min(most, 100_000)
    assert (ran.result["output"]["capped"] == "entries") == (most > 100_000), ran


def test_more_bytes_than_the_cap_are_not_taken(out, hostile):
    ran = run("--max-collect", "1M", "--output", out, *hostile("leave", "big", 8))
    assert ran.result["output"]["capped"] == "bytes" or "big" in skipped(ran), ran
    assert sum(os.lstat(path).st_size for path in everything(out)) <= (1 << 20) + 8192
    assert b"--max-collect" in ran.err, ran


def test_folders_without_end_are_capped(out, hostile):
    ran = run("--output", out, *hostile("leave", "deep", 3000), timeout=25)
    report = ran.result["output"]
    assert int(ran.said["made"]) == 3000, ran
    assert report["capped"] == "depth", report
    assert (out / "plain").read_text() == "plain\n"


def test_nothing_changes_while_it_is_collected(out, hostile):
    ran = run("--output", out, *hostile("leave", "changing"))
    assert ran.code == 0, ran
    for name in os.listdir(out):
        assert (out / name).read_bytes() in (b"AAAAAAAA", b"BBBBBBBB", b""), name


def test_a_forged_result_is_only_a_file(out, hostile):
    ran = run("--output", out, *hostile("leave", "forge", 7))
    assert (ran.code, ran.outcome, ran.result["exit_code"]) == (7, "exited", 7)
    assert (out / "result.json").exists()


def test_the_output_folder_must_be_new_or_empty(place):
    full, link = place / "full", place / "link"
    full.mkdir()
    (full / "precious").write_text("precious\n")
    link.symlink_to(full)
    for output in (full, link, full / "precious"):
        refused(run("--output", output, "--", "sh", "-c", "echo owned > precious"))
    assert (full / "precious").read_text() == "precious\n"
    (place / "empty").mkdir()
    assert run("--output", place / "empty", "--", "touch", "f").code == 0
    assert os.listdir(place / "empty") == ["f"]


def test_only_the_workspace_is_collected(out):
    ran = run(
        "--output", out, "--", "sh", "-c", "echo x > /tmp/not; echo x > /dev/shm/not; echo x > yes"
    )
    assert os.listdir(out) == ["yes"], ran


# ---- much is copied by a process of its own ----


def collectors(supervisor):
    stats = {pid: stat_of(pid) for pid in descendants(supervisor)}
    return [pid for pid, found in stats.items() if found and found[0] == "hotcell-collect"]


def wait_for_collector(supervisor, but=None):
    [pid] = eventually(lambda: set(collectors(supervisor)) - {but}, 30)
    return pid


@pytest.mark.parametrize("files, size", [(60, 100), (200, 100), (3, 300_000), (3, 400_000)])
def test_little_and_much_come_back_the_same(out, files, size):
    script = f"for i in $(seq {files}); do head -c {size} /dev/zero > f$i; done; ln -s f1 link; echo done"
    ran = run("--output", out, "--", "bash", "-c", script)
    assert (ran.code, ran.outcome, ran.out) == (0, "exited", b"done\n"), ran
    report = ran.result["output"]
    assert (report["files"], report["bytes"], report["capped"]) == (files, files * size, None)
    assert skipped(ran) == {"link": "symbolic link"}
    assert sorted(os.listdir(out)) == sorted(f"f{i + 1}" for i in range(files))
    assert {(out / name).stat().st_size for name in os.listdir(out)} == {size}


def test_a_run_that_leaves_much_holds_up_no_other_and_is_done_again_if_that_is_killed(place, programs):
    """The process that copies is killed at the first try and stopped at the second: meanwhile the other worker
    does all that is left to do."""
    runs = 60
    script = "if [ $HOTCELL_RUN = 1 ]; then exec /hostile/leave many 30000; fi; echo quick > file"
    arguments = ["--name", "much", "--runs", runs, "--workers", 2, "--disk", "512M", "--plain", "--mount",
                 f"{programs}:/hostile", "--", "/bin/bash", "-c", script]
    with Supervisor(place, *map(str, arguments)) as supervisor:
        first = wait_for_collector(supervisor.pid)
        os.kill(first, signal.SIGKILL)
        second = wait_for_collector(supervisor.pid, but=first)
        os.kill(second, signal.SIGSTOP)
        others = [f"{number:03}" for number in range(2, runs + 1)]
        done = [place / "fuzz" / "runs" / name / "SUCCESS" for name in others]
        assert eventually(lambda: all(path.exists() for path in done), 60), supervisor.text()[-2000:]
        assert collectors(supervisor.pid) == [second]
        assert not (place / "fuzz" / "runs" / "001" / "result.json").exists()
        os.kill(second, signal.SIGCONT)
        assert supervisor.finish(60) in (0, 4), supervisor.text()[-2000:]  # 4: one cell of 61 was lost
    marked = prove_accounting(place, "much", runs)
    assert set(marked.values()) == {"SUCCESS"}
    found = sessions(place)
    assert len(os.listdir(found[1] / "many")) == 30000
    assert all((found[number] / "file").read_text() == "quick\n" for number in range(2, runs + 1))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_who_is_ended_while_much_is_copied_leaves_no_process(out, hostile, how):
    with Live("--disk", "512M", "--output", out, *hostile("leave", "many", 30_000)) as live:
        collector = wait_for_collector(live.pid)
        os.kill(collector, signal.SIGSTOP)
        os.kill(live.pid, how)
        ran = live.finish()
        assert eventually(lambda: collector not in descendants(1)), stat_of(collector)
    hotcell("ps")  # which sweeps away the control socket of one that was killed
    assert ran.code == (130 if how == signal.SIGINT else -signal.SIGKILL), ran
    assert how == signal.SIGKILL or (ran.outcome, ran.result["output"]) == ("cancelled", None), ran

"""Weaknesses that were found once, each held by a test since."""

import os
import socket
import subprocess
import time

import pytest

from harness import HOTCELL, PRETEND, Live, run


def test_an_image_cannot_lend_its_links_to_our_own_folders(place, programs):
    """Our working folders have no name in the cell's root that an image could take."""
    image, project = place / "image", place / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text("SECRET\n")
    secret = place / "host-only"
    secret.mkdir()
    (secret / "canary").write_text("CANARY\n")
    for name in (".hotcell-layers", "layers", "root", "..layers"):
        folder = image / name
        folder.mkdir(parents=True)
        (folder / "empty-file").write_text("")
        (folder / "empty-folder").symlink_to(secret)
        (folder / "0").symlink_to(secret)
    (image / "usr").symlink_to("/nowhere")
    ran = run(
        "--image", image, "--mount", f"{programs}:/hostile", "--mount", f"{project}:/src",
        "--", "/hostile/paths", "read", "/src/.git/canary", "/src/.git/config",
    )  # fmt: skip
    assert b"CANARY" not in ran.out and b"SECRET" not in ran.out, ran


@pytest.mark.parametrize("how", ["chmod 6755 /d/x", "chmod u+s /d/x", "install -m 4755 /d/x /d/y"])
def test_no_set_id_file_is_left_in_a_writable_mount(place, how):
    folder = place / "rw"
    folder.mkdir()
    run("--mount", f"{folder}:/d:rw", "--", "sh", "-c", f"cp /usr/bin/id /d/x; {how}; true")
    assert (folder / "x").exists()
    for path in folder.iterdir():
        assert not path.stat().st_mode & 0o6000, path


def test_files_with_ordinary_modes_are_made_in_a_writable_mount(place):
    folder = place / "rw"
    folder.mkdir()
    script = "umask 022; echo a > /d/a; chmod 750 /d/a; mkdir /d/b; mkfifo /d/c; cp -p /d/a /d/b/a; touch /d/t"
    assert run("--mount", f"{folder}:/d:rw", "--", "sh", "-c", script).code == 0
    assert (folder / "a").stat().st_mode & 0o7777 == 0o750


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_mount_is_no_way_to_the_sockets_in_it(place, mode):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "agent.sock"))
        server.listen(1)
        server.settimeout(0.2)
        script = "import socket; s = socket.socket(socket.AF_UNIX); print(s.connect_ex('/d/agent.sock'))"
        ran = run("--mount", f"{place}:/d:{mode}", "--", "/usr/bin/python3", "-c", script)
        assert ran.code == 0 and ran.out.strip() not in (b"", b"0"), ran
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("option", [["--json-file"], ["--stdin"], ["--stderr"], ["--network-log"], ["--audit"]])
def test_a_link_that_a_cell_left_where_a_file_is_named_is_not_followed(place, option):
    """What one run leaves in a writable mount must not steer the next one's own files."""
    victim, kept = place / "victim", place / "kept"
    victim.write_text("precious\n")
    kept.mkdir()
    run("--mount", f"{kept}:/p:rw", "--", "ln", "-s", str(victim), "/p/file")
    assert (kept / "file").is_symlink()
    doors = ["--allow", "example.com"] if option == ["--network-log"] else []
    ran = run(*option, kept / "file", *doors, "--", "cat")
    assert ran.code in (2, 125) and b"precious" not in ran.out, ran
    assert victim.read_text() == "precious\n"


def test_a_stopped_supervisor_does_not_stop_the_clock():
    with Live("-t", "2s", "--", "sleep", "30") as cell:
        deadline = time.monotonic() + 10
        while not (inside := children_named("sleep", cell.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert inside
        os.kill(cell.pid, 19)  # SIGSTOP
        while any(os.path.exists(f"/proc/{pid}") for pid in inside) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = [pid for pid in inside if os.path.exists(f"/proc/{pid}")]
        os.kill(cell.pid, 18)  # SIGCONT
        assert not left
        assert cell.process.wait(10) == 124


def test_a_stopped_zygote_does_not_keep_a_run_for_ever():
    """The set-up has a clock too, and Ctrl-C ends it."""
    for _ in range(50):  # a run may be over before its zygote is seen, or stopped
        process = subprocess.Popen(
            [HOTCELL, "run", "--mount", "/usr/share:/big", "-t", "1s", "--", "true"], stderr=subprocess.PIPE
        )
        stopped = []
        while not stopped and process.poll() is None:
            # By its own name: before it has that, its parent waits for it in vfork(), which no signal but SIGKILL ends.
            stopped = [pid for pid in children_named("hotcell-zygote", process.pid) if signalled(pid, 19)]
        if stopped:
            break
        process.communicate()
    assert stopped, "no zygote was stopped in 50 runs"
    time.sleep(0.3)
    process.send_signal(2)
    try:
        process.wait(15)
    finally:
        for pid in stopped:
            signalled(pid, 9)
        process.kill()
        process.wait()
    assert run("--", "true").code == 0  # and sweeps away what a killed zygote could not


def signalled(pid, signal):
    """Whether there was still a process to send it to."""
    try:
        os.kill(pid, signal)
    except ProcessLookupError:
        return False
    return True


def children_named(name, root):
    """Processes of that name below `root`."""
    found, parents = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    text = file.read()
            except OSError:
                continue
            comm = text[text.index("(") + 1 : text.rindex(")")]
            parents[int(entry)] = (int(text[text.rindex(")") + 2 :].split()[1]), comm)
    for pid, (parent, comm) in parents.items():
        while parent in parents and parent != root:
            parent = parents[parent][0]
        if parent == root and comm == name:
            found.append(pid)
    return found


def test_the_machines_quota_of_asynchronous_io_is_out_of_reach():
    script = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); x = ctypes.c_ulong(0);"
        "print(c.syscall(206, 1000, ctypes.byref(x)), ctypes.get_errno())"
    )
    ran = run("--", "/usr/bin/python3", "-c", script)
    assert ran.out == b"-1 38\n", ran


def test_quotas_used_up_in_a_cell_are_not_root_s():
    script = (
        "import ctypes, time; c = ctypes.CDLL(None); n = 0\n"
        "while c.inotify_init1(0) >= 0: n += 1\n"
        "print(n, flush=True); time.sleep(20)"
    )
    with Live("--open-files", "4096", "--", "/usr/bin/python3", "-c", script) as cell:
        cell.wait_for(b"\n")
        mine = subprocess.run(
            ["/usr/bin/python3", "-c", "import ctypes; print(ctypes.CDLL(None).inotify_init1(0) >= 0)"],
            capture_output=True,
        )
        # root's cells have a quota each; an ordinary user's share his, and one has an eighth of it at most
        assert mine.stdout == b"True\n"


def test_a_program_that_asks_to_be_traced_is_not_taken_for_dead():
    script = (
        "import ctypes, os, signal; c = ctypes.CDLL(None); c.ptrace(0, 0, 0, 0)\n"
        "os.kill(os.getpid(), signal.SIGCONT)\n"
        "os._exit(7)"
    )
    assert run("--", "/usr/bin/python3", "-c", script).code == 7


def test_names_are_hidden_in_any_case(place):
    (place / ".ENV").write_text("SECRET\n")
    (place / "Server.PEM").write_text("SECRET\n")
    ran = run("--mount", f"{place}:/d", "--", "sh", "-c", "cat /d/.ENV /d/Server.PEM; true")
    assert b"SECRET" not in ran.out, ran


def test_the_loaders_cache_is_there_as_it_is():
    ours = "/etc/ld.so.cache"
    if os.path.exists(ours):
        ran = run("--", "cat", ours)
        with open(ours, "rb") as file:
            assert ran.out.removesuffix(b"\n") == file.read().removesuffix(b"\n")


def test_root_of_a_user_namespace_is_an_ordinary_user():
    if PRETEND and "no-userns" in PRETEND:
        return  # root without user namespaces cannot be root of one either
    done = subprocess.run(["unshare", "-Ur", HOTCELL, "run", "-q", "--", "id", "-u"], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"1000\n"), done

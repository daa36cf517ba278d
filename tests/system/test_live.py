"""The verbs for live cells: ps, logs, kill, exec."""

import contextlib
import json
import os
import shutil
import time

import pytest

from harness import (
    HOTCELL,
    IS_ROOT,
    Live,
    Terminal,
    descendants,
    eventually,
    gone,
    hotcell,
    inside,
    is_others,
    lives,
    marker,
    pretending,
    refused,
    run,
    stat_of,
)


def cells():
    ran = hotcell("ps", "--json")
    assert ran.code == 0, ran
    listed = json.loads(ran.out)
    return listed["cells"] if isinstance(listed, dict) else listed


def cell_of(word):
    """The id of the live cell whose command holds this word."""
    found = eventually(lambda: [cell for cell in cells() if word in str(cell["command"])])
    assert len(found) == 1, found
    return found[0]["id"]


@pytest.fixture
def cell(hostile):
    """A cell that stays, and its id."""
    word = marker()
    with Live(*hostile("procs", "stay", word)) as live:
        live.wait_for(b"ready")
        live.word, live.id = word, cell_of(word)
        yield live


# ---- ps ----


def test_a_live_cell_is_listed_until_it_ends(cell):
    [entry] = [entry for entry in cells() if entry["id"] == cell.id]
    assert stat_of(entry["pid"]), "its pid is a process of this machine"
    assert {"id", "pid", "memory", "command"} <= set(entry)
    assert any("age" in key for key in entry)
    text = hotcell("ps").out.decode()
    assert cell.id in text and cell.word in text
    for heading in ("ID", "PID", "AGE", "MEMORY", "COMMAND"):
        assert heading in text.splitlines()[0], text
    cell.process.terminate()
    cell.finish()
    assert cell.id not in [entry["id"] for entry in cells()]


def test_without_live_cells_the_list_is_empty():
    ours = [cell for cell in cells() if not is_others(cell["supervisor"])]
    assert ours == []
    assert hotcell("ps").code == 0


def test_a_command_cannot_forge_the_list(hostile):
    word = marker()
    with Live(*hostile("procs", "stay", word, "\x1b[2J\n12345 forged")) as live:
        live.wait_for(b"ready")
        cell_of(word)
        out = hotcell("ps").out
    assert b"\x1b" not in out
    assert not any(line.startswith(b"12345") for line in out.splitlines())


def test_the_list_shows_no_environment(hostile):
    word, secret = marker(), marker()
    with Live("--env", f"TOKEN={secret}", *hostile("procs", "stay", word)) as live:
        live.wait_for(b"ready")
        cell_of(word)
        assert secret.encode() not in hotcell("ps").out + hotcell("ps", "--json").out


def test_cells_of_another_user_are_not_in_reach(cell):
    if not IS_ROOT:
        for path in filter(os.path.isdir, (os.environ.get("XDG_RUNTIME_DIR", "/nowhere"), "/run", "/tmp")):
            for name in os.listdir(path):
                with contextlib.suppress(FileNotFoundError):
                    stat = os.stat(f"{path}/{name}")
                    ours = name.startswith("hotcell") and stat.st_uid == os.getuid()
                    assert not (ours and stat.st_mode & 0o077), f"{path}/{name} can be entered by others"
        return
    other = {"user": 65534, "group": 65534, "extra_groups": []}
    assert cell.id.encode() not in hotcell("ps", **other).out
    refused(hotcell("kill", cell.id, **other))
    refused(hotcell("exec", cell.id, "--", "true", **other))
    assert cell.process.poll() is None


# ---- kill ----


def test_kill_ends_a_cell(cell):
    assert hotcell("kill", cell.id).code == 0
    ran = cell.finish(5)
    assert gone(cell.word)
    assert ran.outcome == "cancelled", ran
    assert ran.code not in (0, 124), ran


def test_kill_all_ends_every_cell(hostile):
    words = [marker() for _ in range(3)]
    lives = [Live(*hostile("procs", "stubborn", word)) for word in words]
    for live, word in zip(lives, words):
        live.wait_for(b"ready")
        cell_of(word)
    assert hotcell("kill", "--all").code == 0
    for live, word in zip(lives, words):
        assert live.finish(5).outcome == "cancelled"
        assert gone(word)
    for live in lives:
        live.__exit__()


def test_kill_ends_nothing_when_one_name_is_wrong(cell):
    assert "cffffff" in refused(hotcell("kill", cell.id, "cffffff"))
    assert cell.process.poll() is None
    assert inside(cell.word)


@pytest.mark.parametrize(
    "name", ["cffffff", "", "..", "../../../etc/passwd", "c0\n", "c" * 300, "\x1b[2J", "*"]
)
def test_an_unknown_cell_is_refused_by_every_verb(name):
    refused(hotcell("kill", name))
    refused(hotcell("logs", name))
    refused(hotcell("exec", name, "--", "true"))


# ---- logs ----


def test_logs_show_what_was_printed_so_far():
    word = marker()
    with Live(
        "--", "/bin/sh", "-c", f"echo out {word}; echo err >&2; echo up; read x; echo later; read x"
    ) as live:
        live.wait_for(b"up")
        name = cell_of(word)
        out = eventually(lambda: (text := hotcell("logs", name).out) and b"err" in text and text)
        assert f"out {word}".encode() in out and b"err" in out and b"later" not in out
        live.send(b"\n")
        live.wait_for(b"later")
        assert eventually(lambda: b"later" in hotcell("logs", name).out)


def test_logs_on_a_terminal_are_made_safe_to_look_at():
    word = marker()
    script = f": {word}; printf 'a\\033]0;owned\\007\\033[2Jb\\n'; echo up; read x"
    with Live("--", "/bin/sh", "-c", script) as live:
        live.wait_for(b"up")
        name = cell_of(word)
        assert eventually(lambda: b"up" in hotcell("logs", name).out)
        with Terminal("logs", name) as terminal:
            code, out = terminal.finish()
    assert code == 0 and b"owned" in out, out
    assert b"\x1b" not in out and b"\x07" not in out, out


def test_logs_keep_the_latest_64_kilobytes(hostile):
    word = marker()
    script = f": {word}; head -c 300000 /dev/zero | tr '\\0' x; echo end; echo up; read x"
    with Live("--", "/bin/sh", "-c", script) as live:
        live.wait_for(b"up")
        name = cell_of(word)
        out = eventually(lambda: (text := hotcell("logs", name).out) and b"up" in text and text)
    assert b"end" in out
    assert 50_000 <= len(out) <= 70_000, len(out)


def test_logs_can_be_followed_to_the_end():
    word = marker()
    with Live(
        "--", "/bin/sh", "-c", f": {word}; echo first; read x; echo second; read x; echo third"
    ) as live:
        live.wait_for(b"first")
        name = cell_of(word)
        with Live("--follow", name, verb="logs") as logs:
            logs.wait_for(b"first")
            live.send(b"\n")
            logs.wait_for(b"second")
            live.send(b"\n")
            assert live.finish().code == 0
            ran = logs.finish(5)
    assert ran.code == 0, ran
    assert ran.out.count(b"first") == ran.out.count(b"second") == ran.out.count(b"third") == 1, ran


# ---- exec ----


def test_exec_is_in_all_namespaces_and_limits_of_the_cell(hostile):
    same = [
        "ns-user",
        "ns-pid",
        "ns-mnt",
        "ns-net",
        "ns-ipc",
        "ns-uts",
        "ns-cgroup",
        "Seccomp",
        "NoNewPrivs",
        "CapInh",
        "CapPrm",
        "CapEff",
        "CapBnd",
        "CapAmb",
        "Uid",
        "Gid",
        "Groups",
        "hostname",
        "cgroup",
        "limit-core",
        "limit-fsize",
        "limit-nofile",
        "limit-nproc",
        "limit-memlock",
        "limit-as",
    ]
    word = marker()
    with Live("--open-files", "77", *hostile("procs", "status", "stay", word)) as live:
        live.wait_for(b"ready")
        name = cell_of(word)
        pid = inside(word)[0]
        beside = hotcell("exec", name, "--", "/hostile/procs", "status")
        assert beside.code == 0, beside
        with Live(name, "--", "/hostile/procs", "stay", word, verb="exec") as second:
            second.wait_for(b"ready")
            other = next(
                each
                for each in inside(word)
                if b"stay" in open(f"/proc/{each}/cmdline", "rb").read()
                and b"status" not in open(f"/proc/{each}/cmdline", "rb").read()
            )
            # The host's view: cgroups are the same ones, namespaces the same objects.
            assert open(f"/proc/{pid}/cgroup").read() == open(f"/proc/{other}/cgroup").read()
            for space in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup"):
                assert os.readlink(f"/proc/{pid}/ns/{space}") == os.readlink(
                    f"/proc/{other}/ns/{space}"
                ), space
            second.process.kill()
        live.process.terminate()
        said = live.finish().said
    for what in same:
        assert beside.said.get(what) == said.get(what), what
    assert said["limit-nofile"] == "77"


def test_exec_passes_stdin_stdout_stderr_and_the_exit_code(cell):
    ran = hotcell(
        "exec", cell.id, "--", "/bin/sh", "-c", "cat; echo err >&2; exit 42", stdin=b"through\n"
    )
    assert (ran.code, ran.out) == (42, b"through\n"), ran
    assert b"err\n" in ran.err
    data = os.urandom(1 << 20)
    assert hotcell("exec", cell.id, "--", "cat", stdin=data).out == data
    assert hotcell("exec", cell.id, "--", "/hostile/procs", "die", "9").code == 137


def test_exec_shares_the_files_of_the_cell(cell):
    assert hotcell("exec", cell.id, "--", "sh", "-c", "pwd; echo x > shared").out == b"/workspace\n"
    assert hotcell("exec", cell.id, "--", "cat", "/workspace/shared").out == b"x\n"


def test_exec_has_the_clean_environment_and_descriptors(cell):
    ran = hotcell("exec", cell.id, "--", "/hostile/procs", "env", env={"HOST_SECRET": "leaked"})
    names = {item.split(b"=")[0] for item in ran.out.split(b"\0") if item}
    assert names == {b"PATH", b"HOME", b"LANG"}, names
    ran = hotcell("exec", cell.id, "--", "/hostile/paths", "fds")
    assert set(ran.said) == {"fd-0", "fd-1", "fd-2"}, ran
    for target in ran.said.values():
        assert target.startswith(("pipe:", "socket:", "/dev/null")), ran


def test_exec_is_sealed_like_the_program_itself(cell):
    for attack in (
        ["kernel", "namespaces"],
        ["paths", "mount"],
        ["procs", "tiocsti"],
        ["kernel", "setns"],
    ):
        ran = hotcell("exec", cell.id, "--", f"/hostile/{attack[0]}", attack[1])
        assert len(ran.said) >= 10 and "ok" not in ran.said.values(), ran


def test_exec_of_a_missing_command_is_125(cell):
    ran = hotcell("exec", cell.id, "--", "no-such-command")
    assert "no-such-command" in refused(ran, (125,))
    assert cell.process.poll() is None, "the cell itself goes on"


def test_exec_ends_with_the_cell(cell):
    word = marker()
    with Live(cell.id, "--", "/hostile/procs", "stubborn", word, verb="exec") as beside:
        beside.wait_for(b"ready")
        cell.process.terminate()
        cell.finish()
        assert gone(word)
        assert beside.finish(5).code != 0


@contextlib.contextmanager
def freezing(hostile, *flags, then=(), **more):
    """A cell whose program stops all others there, and eight execs that are stopped on their way to their program, or soon after."""
    word = marker()
    with Live(*flags, *hostile("procs", "freeze", word, *then), **more) as live, contextlib.ExitStack() as stack:
        live.wait_for(b"ready")
        live.id, live.execs = cell_of(word), []
        for _ in range(8):
            live.execs.append(stack.enter_context(Live(live.id, "--", "/hostile/procs", "stay", verb="exec")))
            time.sleep(0.05)
        assert eventually(lambda: "T" in [stat[1] for stat in map(stat_of, descendants(live.pid)) if stat], 10)
        yield live


def test_a_program_that_stops_every_exec_ends_with_the_supervisor(hostile):
    with freezing(hostile, "-t", "20s") as live:
        everyone = descendants(live.pid)
        live.process.kill()
        assert eventually(lambda: not any(lives(pid) for pid in everyone)), "alive after the supervisor's death"
        ended = [beside.finish(5) for beside in live.execs]
    assert all(ran.code == 125 and len(ran.own) == 1 for ran in ended), ended
    assert b"hotcell: the supervisor is gone\n" in [ran.err for ran in ended], ended  # others had not asked yet
    assert run("--", "true").code == 0
    assert hotcell("ps").code == 0


def test_a_program_that_stops_every_exec_is_killed_with_them(hostile):
    with freezing(hostile, "-t", "20s") as live:
        live.process.terminate()
        assert live.finish(5).outcome == "cancelled"
        codes = [beside.finish(5).code for beside in live.execs]
        assert 137 in codes and set(codes) <= {137, 125}, codes  # 125: it had not asked yet when the supervisor went


def test_a_program_that_stops_every_exec_has_its_memory_watched(hostile):
    lack = pretending("no-cgroup")
    with freezing(hostile, "-t", "20s", "--memory", "256M", then=(500,), env=lack) as live:
        live.send(b"\n")
        assert live.finish(5).outcome == "oom"


def test_killing_exec_takes_stdin_from_its_program_and_nothing_from_the_cell(cell):
    word = marker()
    with Live(cell.id, "--", "/hostile/procs", "echo", word, verb="exec") as beside:
        beside.wait_for(b"ready")
        beside.process.kill()
        beside.process.wait()
        assert gone(word)
    assert cell.process.poll() is None
    assert inside(cell.word)


def test_exec_on_a_terminal_has_one(cell):
    with Terminal("exec", cell.id, "--", "/hostile/procs", "tty", rows=31, columns=97) as terminal:
        code, out = terminal.finish()
    assert code == 0, out
    for line in (b"isatty-0 1", b"isatty-1 1", b"isatty-2 1", b"rows 31", b"columns 97"):
        assert line in out, out


def test_exec_on_a_terminal_shows_what_is_printed_and_obeys_nothing(cell):
    script = r"printf '\033[6n\033]0;x\007\033[2J\033[31mred\033[0m'; echo \ TERM=$TERM"
    for command in (["sh", "-c", script], ["sh", "-c", f"({script}) >&2"]):
        with Terminal("exec", cell.id, "--", *command, env={"TERM": "xterm"}) as terminal:
            code, out = terminal.finish()
        shown = rb"\x1b[6n\x1b]0;x\x07\x1b[2J" + b"\033[31mred\033[0m TERM=dumb"
        assert code == 0 and out.strip() == shown, out
    with Terminal("exec", "--raw", cell.id, "--", "sh", "-c", script, env={"TERM": "xterm"}) as terminal:
        code, out = terminal.finish()
    assert code == 0 and out.strip() == b"\033[6n\033]0;x\007\033[2J\033[31mred\033[0m TERM=xterm", out


def test_exec_on_a_terminal_hands_in_no_file_of_the_host(cell):
    script = "chmod 0666 /proc/self/fd/0; stat -L -c device=%d /proc/self/fd/0; echo through >/dev/tty"
    with Terminal("exec", cell.id, "--", "sh", "-c", script) as terminal:
        code, out = terminal.finish()
    assert code == 0 and b"through" in out, out
    device = int(out.split(b"device=")[1].split()[0])
    ours = [os.stat(path).st_dev for path in ("/dev", "/dev/pts")]
    assert device not in ours, out


def test_exec_into_a_cell_that_has_ended_is_refused(cell):
    cell.process.terminate()
    cell.finish()
    refused(hotcell("exec", cell.id, "--", "true"))


# ---- control sockets and cells ----


@pytest.fixture
def runtime(place):
    """A runtime folder of this test's own, and the environment that names it."""
    os.chmod(place, 0o700)
    return place, {"XDG_RUNTIME_DIR": str(place)}


@pytest.mark.parametrize("how", ["", ":rw"])
def test_a_cell_finds_no_control_socket_in_a_mount_that_holds_their_folder(runtime, hostile, how):
    folder, env = runtime
    word = marker()
    with Live(*hostile("procs", "stay", word), env=env) as live:
        live.wait_for(b"ready")
        assert eventually(lambda: list(folder.glob("hotcell/*.sock")))
        for shown in (folder, folder.parent):
            ran = run("--mount", f"{shown}:/shown{how}", *hostile("shown", "control", "/shown"), env=env)
            assert ran.code == 0, ran
            assert b"seen none" in ran.out and b"answered nobody" in ran.out, ran


@pytest.mark.parametrize("how", ["", ":rw"])
def test_nor_one_that_is_made_later(runtime, hostile, how):
    folder, env = runtime
    word = marker()
    find = "echo ready; while [ ! -e /go/go ]; do sleep 0.05; done; find /shown -type s"
    go = folder / "go"
    go.mkdir()
    with Live("--mount", f"{folder}:/shown{how}", "--mount", f"{go}:/go", "--", "sh", "-c", find, env=env) as live:
        live.wait_for(b"ready")
        with Live(*hostile("procs", "stay", word), env=env) as later:
            later.wait_for(b"ready")
            assert eventually(lambda: len(list(folder.glob("hotcell/*.sock"))) == 2)
            (go / "go").touch()
            ran = live.finish()
    assert b".sock" not in ran.out and ran.outcome == "exited", ran
    assert eventually(lambda: not (folder / "hotcell").exists())


# Asks every socket that it finds to run a program in the cell whose id is given, and to show what its processes were given.
ENTERS = r"""
import array, glob, os, socket, struct, sys
def text(word): return struct.pack("<I", len(word) + 1) + word.encode() + b"\0"
def words(*list): return struct.pack("<I", len(list)) + b"".join(map(text, list))
with open("/tmp/command", "w+b") as command:
    command.write(words("/bin/sh", "-c", "cat /proc/[0-9]*/environ") + words())
    command.flush()
    for path in glob.glob("/shown/**/*.sock", recursive=True):
        os.chdir(os.path.dirname(path))
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as made:
                made.settimeout(3)
                made.connect(os.path.basename(path))
                fds = array.array("i", [command.fileno(), 0, 1, 2])
                made.sendmsg([struct.pack("<II", 1, 3) + text(sys.argv[1]) + struct.pack("<I", 0)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                made.recv(4096)
        except OSError as error:
            print(error)
"""


@pytest.mark.parametrize("how", ["", ":rw"])
def test_a_cell_lists_enters_and_kills_no_cell_that_is_made_later(runtime, how):
    """It has hotcell itself, which needs nothing but its own file, and speaks to sockets on its own."""
    folder, env = runtime
    tool, go = folder / "tool", folder / "go"
    for each in (tool, go):
        each.mkdir(mode=0o755)
    shutil.copy(HOTCELL, tool / "hotcell")
    (tool / "enters.py").write_text(ENTERS)
    script = ("echo ready; while [ ! -e /go/id ]; do sleep 0.05; done; id=$(cat /go/id); /tool/hotcell ps; /tool/hotcell logs $id; "
              "python3 /tool/enters.py $id; /tool/hotcell kill $id; echo over")
    shown = ("--mount", f"{folder}:/shown{how}", "--mount", f"{go}:/go", "--mount", f"{tool}:/tool", "--env", "XDG_RUNTIME_DIR=/shown")
    word = marker()
    with Live(*shown, "--", "sh", "-c", script, env=env) as spy:
        spy.wait_for(b"ready")
        with Live("--env", "KEY=tinker-tailor", "--", "sh", "-c", f"echo up; read x; : {word}", env=env) as later:
            later.wait_for(b"up")
            listed = eventually(lambda: [each for each in json.loads(hotcell("ps", "--json", env=env).out) if word in str(each["command"])])
            (go / "new").write_text(listed[0]["id"])
            (go / "new").rename(go / "id")
            ran = spy.finish()
            assert b"over" in ran.out, ran
            assert b"tinker" not in ran.out, ran
            assert word.encode() not in ran.out and b"up" not in ran.out, ran
            assert later.process.poll() is None, ran


def test_the_folder_of_control_sockets_cannot_be_mounted(runtime):
    folder, env = runtime
    (folder / "hotcell" / "below").mkdir(parents=True)
    os.chmod(folder / "hotcell", 0o700)
    (folder / "link").symlink_to(folder / "hotcell")
    for source in ("hotcell", "hotcell/below", "hotcell/../hotcell", "link/below"):
        why = refused(run("--mount", f"{folder}/{source}:/shown", "--", "true", env=env, json=False))
        assert "control sockets" in why, why
    why = refused(run("--image", f"{folder}/hotcell", "--", "true", env=env, json=False))
    assert "control sockets" in why, why

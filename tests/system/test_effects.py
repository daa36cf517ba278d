"""What a program in a cell sets out to do, as told from outside. `effects` speaks with it over direct pipes and prints what
it is told; the program in the cell is Python, and each line it is given is Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import HOTCELL, environment

EFFECTS = Path(HOTCELL).parent / "tests" / "effects"

SERVER = r"""
import ctypes, os, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
def error(number, *args):
    ctypes.set_errno(0)
    return ctypes.get_errno() if call(number, *args) < 0 else 0
def udp(family=socket.AF_INET):
    return socket.socket(family, socket.SOCK_DGRAM)
os.umask(0)
print("ready", flush=True)
for line in sys.stdin:
    answer = None
    try:
        exec(line)
    except Exception as failure:
        answer = repr(failure)
    print(answer, flush=True)
"""


def text(hexed):
    return bytes.fromhex(hexed).decode("utf-8", "surrogateescape")


class Told:
    """The lines of one run: told[i] is what was told between the answers i - 1 and i; the first is that it is ready."""

    def __init__(self, lines):
        self.calls, self.answers, self.ended, self.rest = [[]], [], None, []
        for line in lines:
            if "effect" in line:
                words = line["words"] and [text(word) for word in line["words"]]
                self.calls[-1].append((line["effect"], text(line["what"]), words, text(line["by"]), line["pid"]))
            elif "answer" in line or "executed" in line:
                self.answers.append(line)
                self.calls.append([])
            elif "ended" in line:
                self.ended = line
            else:
                self.rest.append(line)

    def seen(self, index):
        """Kinds and texts of one call."""
        return [(kind, what) for kind, what, *_ in self.calls[index]]

    def said(self, index):
        return self.answers[index]["answer"]


@pytest.fixture
def effects():
    """effects("line of Python", ..., options=[...]) -> Told. Line i is call i."""

    def ran(*lines, options=(), command=None, whole=True):
        command = command or ["/usr/bin/python3", "-I", "-B", "-S", "-u", "-c", SERVER]
        done = subprocess.run([EFFECTS, *options, "--", *command], input="".join(line + "\n" for line in lines).encode(),
                              capture_output=True, timeout=170, env=environment())
        assert done.stderr == b"", done.stderr
        told = Told([json.loads(line) for line in done.stdout.decode().splitlines()])
        assert whole is False or len(told.answers) == len(lines) + 1, (told.answers, told.ended, told.rest)
        return told

    return ran


@pytest.mark.parametrize("options", [[], ["--warm"], ["--turn"], ["--observe"]])
def test_programs_are_told_with_their_words_and_nothing_of_their_start(effects, options):
    told = effects("os.system('cd /tmp && touch x; curl -s http://192.0.2.1/')", options=options)
    assert told.calls[0] == []
    (kind, what, words, by, pid), *rest = told.calls[1]
    assert (kind, what, words, by) == ("exec", "/bin/sh", ["sh", "-c", "cd /tmp && touch x; curl -s http://192.0.2.1/"], "python3")
    assert pid == 3
    assert ("exec", "/usr/bin/touch", ["touch", "x"], "sh", 4) in rest
    assert ("write", "/tmp/x", None, "touch", 4) in rest
    if shutil.which("curl") == "/usr/bin/curl":
        assert any(effect[:3] == ("exec", "/usr/bin/curl", ["curl", "-s", "http://192.0.2.1/"]) for effect in rest), rest
        assert any(effect[:2] == ("connect", "192.0.2.1:80") and effect[3] == "curl" for effect in rest), rest
    assert told.ended["dropped"] == 0
    assert (told.ended["observed"] > 0) == ("--observe" in options)


def test_words_are_the_first_and_not_more_than_so_many_bytes(effects):
    told = effects("subprocess.run(['/bin/true'] + [str(i) for i in range(100)])",
                   "subprocess.run(['/bin/true'] + ['a' * 3000, 'b' * 3000, 'c' * 3000, 'd' * 3000])",
                   "subprocess.run(['/bin/true', '', 'a\\nb', bytes([255, 254])])",
                   "pid = os.fork() or (call(59, b'/bin/true', 0, 0), os._exit(1)); os.waitpid(pid, 0)",
                   "pid = os.fork() or (call(59, b'/bin/true', 4096, 0), os._exit(1)); os.waitpid(pid, 0)")
    first, second, third, none, bad = [calls[0] for calls in told.calls[1:6]]
    assert first[2] == ["/bin/true"] + [str(i) for i in range(31)]
    assert second[2][:3] == ["/bin/true", "a" * 3000, "b" * 3000]
    assert set(second[2][3]) == {"c"} and sum(len(word) + 1 for word in second[2]) <= 8192 and len(second[2]) == 4
    assert third[2] == ["/bin/true", "", "a\nb", "\udcff\udcfe"]
    assert none[1:3] == bad[1:3] == ("/bin/true", [])


PATHS = [
    ("open('/tmp/a/./b/../../c//d', 'w')", [("write", "/tmp/c/d")]),
    ("open('/../../tmp/e', 'w').close()", [("write", "/tmp/e")]),
    ("os.chdir('/tmp'); open('f', 'w').close()", [("write", "/tmp/f")]),
    ("os.remove('f'); os.mkdir('g'); os.chdir('g')", [("remove", "/tmp/f"), ("write", "/tmp/g")]),
    ("os.mkdir('h'); os.rmdir('h')", [("write", "/tmp/g/h"), ("remove", "/tmp/g/h")]),
    ("fd = os.open('/tmp', os.O_RDONLY)", []),
    ("os.close(os.open('i', os.O_RDWR | os.O_CREAT, dir_fd=fd))", [("write", "/tmp/i")]),
    ("os.rename('i', '../j', src_dir_fd=fd)", [("remove", "/tmp/i"), ("write", "/tmp/j")]),
    ("os.symlink('nowhere', 'k', dir_fd=fd); os.link('j', 'l', src_dir_fd=fd, dst_dir_fd=fd)",
     [("write", "/tmp/k"), ("write", "/tmp/l")]),
    ("os.truncate('/tmp/j', 3); os.truncate(os.open('/tmp/j', os.O_WRONLY), 2)", [("write", "/tmp/j"), ("write", "/tmp/j")]),
    ("os.chmod('/tmp/j', 0o600); os.chown('/tmp/j', -1, -1); os.utime('/tmp/j')", [("write", "/tmp/j")] * 3),
    ("r = os.open('/tmp/j', os.O_RDONLY); os.fchmod(r, 0o644); os.fchown(r, -1, -1); os.utime(r)", [("write", "/tmp/j")] * 3),
    ("os.close(os.open('/tmp/j', os.O_RDONLY | os.O_TRUNC))", [("write", "/tmp/j")]),
    ("os.mkfifo('/tmp/m'); os.unlink('/tmp/m')", [("write", "/tmp/m"), ("remove", "/tmp/m")]),
    ("os.setxattr('/tmp/j', 'user.a', b'b')", [("write", "/tmp/j")]),
    ("os.chdir('/'); open('nothing/../there', 'a')", [("write", "/there")]),
    ("open('/tmp/a\\nb\\x1b[31m\\udcff', 'w').close()", [("write", "/tmp/a\nb\x1b[31m\udcff")]),
    ("open('/tmp/' + 'n' * 300, 'w')", [("write", "/tmp/" + "n" * 300)]),
    ("open('/tmp/' + 'n/' * 3000, 'w')", [("write", ("/tmp/" + "n/" * 3000)[:4096].rstrip("/"))]),
    # raw calls: openat2 for reading and for writing, with what cannot be read, and without a path
    ("how = ctypes.create_string_buffer((0).to_bytes(8, 'little') + bytes(16), 24); call(437, fd, b'j', how, 24)", []),
    ("how = ctypes.create_string_buffer((1).to_bytes(8, 'little') + bytes(16), 24); call(437, fd, b'j', how, 24)",
     [("write", "/tmp/j")]),
    ("answer = error(437, fd, b'j', 4096, 24)", [("write", "/tmp/j")]),
    ("answer = error(257, -100, 4096, os.O_WRONLY)", [("write", "")]),
    ("answer = error(257, -100, 0, os.O_WRONLY)", [("write", "")]),
    ("answer = error(257, 77, b'x', os.O_WRONLY)", [("write", "")]),
]


def test_paths_are_told_as_the_cell_sees_them(effects):
    told = effects(*[line for line, _ in PATHS])
    for index, (line, expected) in enumerate(PATHS, 1):
        assert told.seen(index) == expected, (line, told.answers[index])
    assert [told.said(i) for i in range(len(PATHS) - 3, len(PATHS) + 1)] == ["14", "14", "14", "9"]


ADDRESSES = [
    ("socket.socket().connect(('192.0.2.1', 80))", ["192.0.2.1:80"]),
    ("socket.socket(socket.AF_INET6).connect(('::1', 81))", ["[::1]:81"]),
    ("socket.socket(socket.AF_UNIX).connect('/tmp/no')", ["unix:/tmp/no"]),
    ("os.chdir('/tmp'); socket.socket(socket.AF_UNIX).connect('no')", ["unix:/tmp/no"]),
    ("socket.socket(socket.AF_UNIX).connect(b'\\0a\\0b')", ["unix:@a@b"]),
    ("udp().sendto(b'x', ('192.0.2.2', 53))", ["192.0.2.2:53"]),
    ("udp().sendmsg([b'x'], [], 0, ('192.0.2.3', 54))", ["192.0.2.3:54"]),
    ("s = udp(); s.connect(('127.0.0.1', 9))", ["127.0.0.1:9"]),
    ("s.send(b'x'); s.sendmsg([b'x'])", []),
    ("a, b = socket.socketpair(); a.send(b'x'); a.sendmsg([b'x']); b.recv(1)", []),
    # to nowhere is to disconnect; but to send to it is IPv4
    ("answer = call(42, s.fileno(), bytes(16), 16)", []),
    ("answer = call(44, udp().fileno(), b'x', 1, 0, bytes([0, 0, 0, 99, 192, 0, 2, 4]) + bytes(8), 16)", ["192.0.2.4:99"]),
    ("answer = error(42, s.fileno(), 4096, 16)", [""]),
    ("answer = error(46, s.fileno(), 4096, 0)", [""]),
    ("n = ctypes.create_string_buffer(bytes([2, 0, 0, 7, 192, 0, 2, 5]) + bytes(8), 16); "
     "h = (ctypes.addressof(n)).to_bytes(8, 'little') + (16).to_bytes(8, 'little') + bytes(48); call(307, udp().fileno(), h * 3, 3, 0)",
     ["192.0.2.5:7"] * 3),
]


def test_addresses_are_told_of_whatever_connects_or_sends(effects):
    told = effects(*[line for line, _ in ADDRESSES])
    for index, (line, expected) in enumerate(ADDRESSES, 1):
        assert told.seen(index) == [("connect", what) for what in expected], (line, told.answers[index])


def test_threads_and_children_are_told_by_their_process(effects):
    told = effects("t = threading.Thread(target=lambda: open('/tmp/t', 'w').close()); t.start(); t.join()",
                   "pid = os.fork() or (open('/tmp/c', 'w').close(), os._exit(0)); os.waitpid(pid, 0)",
                   "os.system('(sleep 0.1; touch /tmp/orphan) & true'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists('/tmp/orphan'), True)]")
    assert [effect[:2] + effect[4:] for effect in told.calls[1]] == [("write", "/tmp/t", 2)]
    assert [effect[:2] for effect in told.calls[2]] == [("write", "/tmp/c")] and told.calls[2][0][4] > 2
    assert ("write", "/tmp/orphan") in told.seen(3)


def test_reading_is_not_told_and_asks_nobody(effects):
    told = effects("answer = len(open('/etc/passwd').read()) > 0 and os.listdir('/') != []",
                   "for i in range(20000): os.close(os.open('/etc/passwd', os.O_RDONLY))",
                   "open('/proc/self/status').read(); os.stat('/'); os.readlink('/proc/self/exe'); os.path.exists('/tmp/x')",
                   "out = open('/tmp/o', 'w')", "out.write('a' * 100000); out.flush(); os.ftruncate(out.fileno(), 3)")
    assert told.said(1) == "True"
    assert [told.seen(i) for i in (1, 2, 3, 5)] == [[], [], [], []]
    assert told.seen(4) == [("write", "/tmp/o")]


def test_what_was_done_before_an_answer_is_told_by_then(effects):
    """Nothing is taken in while an answer is waited for, and there is no second look."""
    count = 2000
    told = effects(*[f"open('/tmp/f{i}', 'w').close()" for i in range(count)])
    for i in range(count):
        assert told.seen(i + 1) == [("write", f"/tmp/f{i}")], i
    assert told.ended["dropped"] == 0


@pytest.mark.parametrize("options", [[], ["--turn"]])
def test_a_flood_is_bounded_and_counted(effects, options):
    count = 200000 if os.environ.get("HOTCELL_LONG") else 20000
    told = effects("os.close(os.open('/tmp/a', os.O_WRONLY | os.O_CREAT))",
                   f"for i in range({count}): os.close(os.open('/tmp/a', os.O_WRONLY))",
                   "os.mkdir('/tmp/after')", options=options)
    flood = told.calls[2]
    assert all(effect[:2] == ("write", "/tmp/a") for effect in flood)
    dropped = told.answers[2]["dropped"]
    if not options:
        assert 100 < len(flood) < 2000
        assert (count - len(flood)) / 2 <= dropped <= count - len(flood)
        assert told.answers[2]["kb"] - told.answers[1]["kb"] < 512
    assert told.seen(3) == [("write", "/tmp/after")]
    assert told.answers[3]["dropped"] == count - len(flood)
    assert told.ended["dropped"] == count - len(flood) and told.ended["ended"] == "exited"


def test_a_flood_at_the_end_is_counted_and_hides_no_end(effects):
    told = effects("[os.close(os.open('/tmp/a', os.O_WRONLY | os.O_CREAT)) for i in range(5000)]; os._exit(7)", whole=False)
    assert told.ended["code"] == 7
    assert told.ended["dropped"] == 5000 - len(told.calls[1]) > 0


REFUSED = ["165, b'none', b'/tmp', b'tmpfs', 0, 0", "425, 1, 0", "310, 1, 0, 0, 0, 0, 0", "272, 0x10000000", "259, -100, b'/tmp/n', 0o020666, 259",
           "133, b'/tmp/n', 0o020666, 259", "321, 0, 0, 0", "435, 0, 0", "999", "41, 16, 3, 0", "157, 4, 0"]


def test_what_is_refused_stays_refused(effects):
    lines = [f"answer = error({call})" for call in REFUSED]
    plain, told = effects(*lines, options=["--plain"]), effects(*lines)
    assert [told.said(i) for i in range(len(lines) + 1)] == [plain.said(i) for i in range(len(lines) + 1)]
    assert told.ended["refused"] == plain.ended["refused"] > 5
    assert told.seen(5) == told.seen(6) == [("write", "/tmp/n")]  # it set out to
    assert plain.answers[0]["told"] is False and all(seen == [] for seen in plain.calls)


def test_what_a_spec_denies_is_told_and_denied(effects):
    told = effects("os.mkdir('/tmp/x')", "answer = os.path.exists('/tmp/x')", "open('/tmp/y', 'w').close()",
                   options=["--deny", "mkdir", "--deny", "mkdirat", "--deny", "connect"])
    assert told.seen(1) == [("write", "/tmp/x")] and "PermissionError" in told.said(1)
    assert told.said(2) == "False"
    assert told.seen(3) == [("write", "/tmp/y")] and told.said(3) == "None"


def test_what_cannot_be_read_is_told_as_unknown(effects):
    """Of a process that makes itself undumpable."""
    told = effects("libc.prctl(4, 0)", "open('/tmp/a', 'w').close()", "socket.socket().connect(('192.0.2.1', 80))",
                   "pid = os.fork() or os.execv('/bin/true', ['true']); os.waitpid(pid, 0)", "libc.prctl(4, 1)",
                   "open('/tmp/b', 'w').close()")
    assert told.seen(2) == [("write", "")] and told.seen(3) == [("connect", "")]
    assert [effect[:3] for effect in told.calls[4]] == [("exec", "", [])]
    assert told.calls[2][0][3:] == ("python3", 2)
    assert told.seen(6) == [("write", "/tmp/b")]


def test_a_profile_that_leaves_out_reading_hides_nothing(effects, is_on):
    """What init reads is a process's own folder in /proc, which no profile takes away."""
    paths = [word for path in ("/usr", "/bin", "/lib", "/lib64", "/etc", "/dev") for word in ("--path", path)]
    told = effects("open('/tmp/a', 'w')", "socket.socket().connect(('192.0.2.1', 80))", options=paths, whole=is_on("landlock"))
    if is_on("landlock"):
        assert told.seen(1) == [("write", "/tmp/a")] and "PermissionError" in told.said(1)
        assert told.seen(2) == [("connect", "192.0.2.1:80")]
    else:
        assert "Landlock" in told.rest[0]["refused"]


def test_memory_that_changes_meanwhile_changes_no_verdict(effects):
    """Another thread swaps the path, and the flags of openat2, for as long as it lasts. What is told is one or the other;
    what the filter refuses, a device, is never made."""
    told = effects("name = ctypes.create_string_buffer(b'/tmp/one'); stop = False",
                   "swap = lambda: [ctypes.memmove(name, b, 8) for i in range(200000) for b in (b'/tmp/two', b'/tmp/one') if not stop]",
                   "t = threading.Thread(target=swap); t.start()",
                   "answer = sorted({error(259, -100, name, 0o020666, 259) for i in range(3000)})",
                   "stop = True; t.join()", "answer = os.listdir('/tmp')")
    assert told.said(4) == "[1]" and told.said(6) == "[]"
    seen = told.seen(4)
    assert len(seen) + told.ended["dropped"] == 3000 and seen
    assert {what for _, what in seen} <= {"/tmp/one", "/tmp/two"} | {"/tmp/" + a + b + c for a in "ot" for b in "nw" for c in "eo"}


def test_who_is_killed_while_it_waits_holds_nobody_up(effects):
    told = effects("pids = [os.fork() or [os.close(os.open('/tmp/a', os.O_WRONLY | os.O_CREAT)) for i in range(10**9)] for _ in range(20)]",
                   "time.sleep(0.5); [os.kill(pid, 9) for pid in pids]; answer = len([os.waitpid(pid, 0) for pid in pids])",
                   "os.mkdir('/tmp/after')", options=["--turn"])
    assert told.said(2) == "20"
    assert ("write", "/tmp/after") in told.seen(3)


def test_signals_tell_nothing_twice(effects):
    """A timer goes off all the time: no call is sent back to its beginning by it."""
    told = effects("signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
                   "for i in range(300): os.close(os.open('/tmp/s', os.O_WRONLY | os.O_CREAT))",
                   "signal.setitimer(signal.ITIMER_REAL, 0)")
    assert told.seen(2) == [("write", "/tmp/s")] * 300


def test_a_program_executed_beside_is_none_but_what_it_starts_is(effects):
    told = effects("os.mkdir('/tmp/d')", "!touch /tmp/beside; exec /bin/true", "!exec /bin/true", "open('/tmp/e', 'w').close()")
    assert [effect[:3] for effect in told.calls[2] if effect[0] == "exec"] == [
        ("exec", "/usr/bin/touch", ["touch", "/tmp/beside"]), ("exec", "/bin/true", ["/bin/true"])]
    assert ("write", "/tmp/beside") in told.seen(2)
    assert [effect[:2] for effect in told.calls[3]] == [("exec", "/bin/true")]
    assert told.seen(4) == [("write", "/tmp/e")]


def test_a_command_that_is_not_there_fails_as_ever(effects):
    told = effects(command=["no-such-command"], whole=False)
    assert told.ended["ended"] == "setup-failed" and "no-such-command" in told.ended["error"]


def test_a_cell_with_a_terminal_works_too(effects):
    told = effects(command=["sh", "-c", "touch /tmp/in-a-terminal; test -t 1"], options=["--tty"], whole=False)
    assert told.ended["code"] == 0
    assert ("write", "/tmp/in-a-terminal") in told.seen(0)


def test_a_cell_that_is_cancelled_ends(effects):
    told = effects("t = [threading.Thread(target=lambda: [os.close(os.open('/tmp/a', 65)) for i in range(10**9)]).start() for _ in range(4)]",
                   "?cancel", options=["--turn"], whole=False)
    assert told.ended["ended"] == "cancelled"


def test_another_backend_tells_none(effects, tmp_path):
    told = effects("open('/dev/null', 'w').close()", options=["--backend", "none"])
    assert told.calls[1] == [] and told.answers[1]["told"] is False and told.ended["ended"] == "exited"

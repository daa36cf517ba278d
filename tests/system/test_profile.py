"""Security profiles: --profile, and hotcell profile list, show, check and learn."""

import hashlib
import http.server
import json
import os
import subprocess
import threading

import pytest

from campaigns import campaign, ledger_rows, sessions
from harness import HOTCELL, IS_ROOT, PRETEND, ROOT, environment, hotcell, pretending, refused, run

LANDLOCK = "no-landlock" not in PRETEND
OPENED = ("process_vm", "kcmp", "name_to_handle", "pidfd_getfd", "process_madvise")
NAMES = ["default", "strict", "build", "browser"]


@pytest.fixture
def profile(place):
    """Writes a profile; returns its path."""

    def write(text, name="p.yaml"):
        path = place / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def service():
    """A web server of this machine; HOST:PORT."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def sum_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def shell(*args, script, **more):
    return run(*args, "--", "/bin/sh", "-c", script, **more)


SOCKETS = """
import socket
for make in (lambda: socket.socket(), lambda: socket.socket(socket.AF_UNIX), lambda: socket.socketpair(),
             lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)):
    try:
        make()
        print("made")
    except OSError as error:
        print(error.errno)
"""


# ---- built-in ones ----


@pytest.mark.parametrize("name", NAMES)
def test_each_built_in_profile_runs_true_a_shell_and_python(name):
    assert run("--profile", name, "--", "true").code == 0
    assert shell("--profile", name, script="echo $((6 * 7)) > f; cat f | tr 2 2; ls").out == b"42\nf\n"
    ran = run("--profile", name, "--", "python3", "-c", "import json, re, hashlib, subprocess\nprint(subprocess.getoutput('echo 1'))")
    assert ran.code == 0 and ran.out == b"1\n", ran


def test_strict_has_no_sockets_and_counts_the_tries():
    ran = run("--profile", "strict", "--", "python3", "-c", SOCKETS)
    assert ran.lines == ["1"] * 5, ran
    assert ran.result["refused"]["calls"]["socket"] >= 4 and ran.result["refused"]["calls"]["socketpair"] == 1, ran
    assert run("--", "python3", "-c", SOCKETS).lines[:4] == ["made"] * 4


def test_strict_runs_nothing_from_where_it_can_write(place):
    folder = place / "rw"
    folder.mkdir()
    folder.chmod(0o777)
    script = """
for place in /workspace /tmp /dev/shm /rw; do
    cp /bin/echo $place/it && { $place/it ran; /lib64/ld-linux-x86-64.so.2 $place/it ran; }
done
printf '#!/bin/sh\\necho ran' > s; chmod 755 s; ./s
python3 - <<'END'
import ctypes, os
try:
    fd = os.memfd_create("x")
    os.write(fd, open("/bin/echo", "rb").read())
    os.execve(fd, ["echo", "ran"], {})
except OSError as error:
    print("memfd", error.errno)
END
"""
    ran = shell("--profile", "strict", "--mount", f"{folder}:/rw:rw", script=script)
    assert b"ran" not in ran.out and ran.lines == ["memfd 1"], ran
    assert b"ran" in shell("--mount", f"{folder}:/rw:rw", script=script).out


def test_strict_traces_nobody():
    program = "import ctypes; print(ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0), ctypes.get_errno())"
    assert run("--profile", "strict", "--", "python3", "-c", program).out == b"-1 1\n"
    assert run("--", "python3", "-c", program).out == b"0 0\n"


def test_strict_is_small():
    ran = shell("--profile", "strict", script="ulimit -n; ulimit -f; df -k /tmp /workspace /dev/shm | awk 'NR>1 {print $2}'")
    assert ran.lines == ["128", str(32 * 1024 * 2), str(16 * 1024), str(64 * 1024), "1024"], ran
    ran = shell("--profile", "strict", script="i=0; while [ $i -lt 40 ]; do sleep 5 & i=$((i+1)); done; wait")
    assert b"fork" in ran.err.lower(), ran


def test_build_compiles_with_make_and_runs_the_result_from_tmp(place):
    folder = place / "src"
    folder.mkdir()
    (folder / "main.c").write_text('#include <stdio.h>\nint f(void);\nint main(void) { printf("%d\\n", f()); }\n')
    (folder / "f.c").write_text("int f(void) { return 42; }\n")
    (folder / "Makefile").write_text("prog: main.o f.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O2 -c -o $@ $<\n")
    ran = shell("--profile", "build", "--mount", f"{folder}:/src", timeout=120,
                script="cp /src/* /tmp && cd /tmp && make -s -j4 && ./prog")
    assert ran.code == 0 and ran.out == b"42\n", ran


def test_browser_takes_a_screenshot_with_chromium(place):
    page = place / "page.html"
    page.write_text('<body style="background:#204080;color:white"><script>document.body.append(6 * 7)</script>')
    page.chmod(0o644)
    output = place / "shot"
    ran = run("--profile", "browser", "--mount", "/etc/chromium.d:/etc/chromium.d", "--mount", f"{page}:/page.html",
              "--output", output, "--", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=/tmp/p",
              "--screenshot=/workspace/s.png", "--window-size=400,200", "file:///page.html", timeout=170)
    assert ran.code == 0, ran
    picture = (output / "s.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 500
    assert ran.result["receipt"]["protections"]["seccomp"]["state"] == "on"


# ---- a file ----


def test_what_is_denied_is_refused_with_eperm_and_counted(profile):
    path = profile("syscalls:\n  deny: [mkdir, mkdirat, getppid]\n")
    ran = run("--profile", path, "--", "python3", "-c", "import os\ntry: os.mkdir('d')\nexcept OSError as e: print(e.errno)")
    assert ran.out == b"1\n", ran
    assert sum(ran.result["refused"]["calls"].get(name, 0) for name in ("mkdir", "mkdirat")) == 1, ran
    assert ran.result["profile"] == {"name": str(path), "sha256": sum_of(path)}


def test_a_denied_call_holds_for_children_threads_and_exec_too(profile):
    path = profile("syscalls: {deny: [getppid]}\n")
    program = """
import os, threading
def call():
    import ctypes
    print(ctypes.CDLL(None).getppid())
thread = threading.Thread(target=call)
thread.start(); thread.join()
pid = os.fork()
if pid == 0:
    call(); os.execvp("python3", ["python3", "-c", "import os; print(os.getppid())"])
os.waitpid(pid, 0)
"""
    assert run("--profile", path, "--", "python3", "-u", "-c", program).lines == ["-1", "-1", "-1"]


def test_what_is_added_works_and_the_receipt_says_weaker(profile):
    path = profile("syscalls: {allow: [kcmp]}\n")
    program = "import ctypes, os; print(ctypes.CDLL(None, use_errno=True).syscall(312, os.getpid(), os.getpid(), 0, 0, 1))"
    assert run("--", "python3", "-c", program).out == b"-1\n"
    ran = run("--profile", path, "--", "python3", "-c", program)
    assert ran.out != b"-1\n", ran
    seccomp = ran.result["receipt"]["protections"]["seccomp"]
    assert seccomp["state"] == "weaker" and "kcmp" in seccomp["note"]
    assert not ran.result["receipt"]["full"]
    assert b"opens: call kcmp" in ran.err
    for required in ("full", "seccomp"):
        ran = run("--profile", path, "--require", required, "--", "true")
        assert ran.outcome == "setup-failed" and (required == "full" or "seccomp" in ran.result["error"]), ran


@pytest.mark.parametrize("name", ["mount", "setns", "bpf", "io_uring_setup", "keyctl", "kexec_load", "chroot", "userfaultfd",
                                  "perf_event_open", "open_by_handle_at", "io_setup"])
def test_what_would_break_a_cell_can_never_be_allowed(profile, name):
    line = refused(run("--profile", profile(f"syscalls: {{allow: [{name}]}}\n"), "--", "true"))
    assert "can never be allowed in a cell:" in line and name in line


@pytest.mark.parametrize("name", ["execve", "clone", "read", "mmap", "openat", "exit_group", "sendmsg"])
def test_what_every_program_needs_cannot_be_denied(profile, name):
    assert "cannot be denied:" in refused(run("--profile", profile(f"syscalls: {{deny: [{name}]}}\n"), "--", "true"))


def test_even_with_everything_denied_a_cell_starts_reports_and_ends(profile):
    path = profile("syscalls: {deny: [all]}\n")
    assert run("--profile", path, "--", "true").code == 0
    assert run("--profile", path, "--", "false").code == 1
    ran = run("--profile", path, "-t", "1", "--", "sleep", "30")
    assert ran.outcome in ("timeout", "exited"), ran
    ran = run("--profile", path, "--tty", "--", "true")
    assert ran.code == 0, ran


@pytest.mark.parametrize("attack", ["namespaces", "setns", "foreign", "io_uring", "unknown", "surface", "sockets", "refused"])
def test_the_most_that_a_profile_can_allow_gives_an_attack_no_more(profile, hostile, attack):
    path = profile("syscalls: {allow: [process_vm_readv, process_vm_writev, pidfd_getfd, process_madvise, kcmp, name_to_handle_at]}\n")
    usual, opened = (run(*args, *hostile("kernel", attack)).said for args in ((), ("--profile", path)))
    assert usual and usual.keys() == opened.keys()
    differs = {what: (usual[what], opened[what]) for what in usual if usual[what] != opened[what]}
    assert all(any(name in what for name in OPENED) for what in differs), differs


def test_paths_rule_where_can_be_written(profile):
    path = profile("paths:\n  - path: /workspace/out/deep\n    rights: [write, make-file]\n")
    script = """
try() { "$@" 2>/dev/null && echo "$* yes" || echo "$* no"; }
echo a > out/deep/f && echo wrote
try mkdir out/deep/d; try rm out/deep/f; try touch g; try touch out/g; try touch /tmp/g; try touch /dev/shm/g
try ln -s f out/deep/l; try mkfifo out/deep/p; try mv out/deep/f out/deep/h
echo x > /dev/null && echo null
"""
    ran = shell("--profile", path, script=script)
    if not LANDLOCK:
        assert ran.outcome == "setup-failed" and "Landlock" in ran.result["error"], ran
        return
    assert ran.lines[0] == "wrote" and ran.lines[-1] == "null" and all(line.endswith(" no") for line in ran.lines[1:-1]), ran
    assert ran.result["receipt"]["full"] or PRETEND or not IS_ROOT


def test_paths_rule_reading_and_executing_when_they_name_it(profile):
    if not LANDLOCK:
        return
    path = profile("paths:\n  - path: /usr\n    rights: [read, list, execute]\n  - path: /workspace\n    rights: [read, modify]\n")
    ran = shell("--profile", path, script="ls /usr >/dev/null && echo usr; cat /etc/passwd; ls /etc; cp /bin/echo e; ./e ran; cat /proc/self/stat >/dev/null && echo proc")
    assert ran.lines == ["usr", "proc"], ran


def test_what_may_be_modified_may_be_moved_from_folder_to_folder(profile):
    if not LANDLOCK:
        return
    path = profile("paths:\n  - path: /workspace\n    rights: [modify]\n")
    script = "import os; os.makedirs('a'); os.makedirs('b'); open('a/f', 'w'); os.rename('a/f', 'b/f'); os.link('b/f', 'a/g'); print(os.listdir('a'))"
    ran = run("--profile", path, "--", "python3", "-c", script)
    assert ran.lines == ["['g']"], ran
    assert "files" in ran.result["receipt"]["protections"]["landlock"]["note"], ran


def test_paths_only_take_away(profile, place):
    if not LANDLOCK:
        return
    folder = place / "ro"
    folder.mkdir()
    path = profile("paths:\n  - path: /\n    rights: [read, list, execute, modify, ioctl]\n")
    ran = shell("--profile", path, "--mount", f"{folder}:/ro",
                script="for p in /usr/x /etc/x /ro/x /x /proc/x /dev/x; do touch $p 2>/dev/null && echo $p; done; touch f /tmp/f; ls")
    assert ran.lines == ["f"], ran
    assert list(folder.iterdir()) == []


def test_cells_with_other_profiles_are_of_other_kinds(profile, place):
    profile("runs: 4\nworkers: 2\nprofile: strict\n", "c.yaml")
    ran = campaign(place, "c.yaml", "--", "/bin/sh", "-c", "cp /bin/true t; ./t && exit 1; exit 0")
    assert ran.code == 0, ran
    ran = campaign(place, "c.yaml", "--profile", "default", "--output", "other", "--", "/bin/sh", "-c", "cp /bin/true t; ./t")
    assert ran.code == 0, ran


# ---- precedence ----


def disk(ran):
    return int(ran.out)


def test_a_flag_beats_the_environment_which_beats_a_file_which_beats_a_profile(profile, place):
    small = profile("limits: {disk: 10M}\n", "small.yaml")
    large = profile("limits: {disk: 20M}\n", "large.yaml")
    ask = ["--", "/bin/sh", "-c", "df -k --output=size /workspace | tail -1"]
    assert disk(run("--profile", small, *ask)) == 10 * 1024
    assert disk(run(*ask, env={"HOTCELL_PROFILE": str(large)})) == 20 * 1024
    assert disk(run("--profile", small, *ask, env={"HOTCELL_PROFILE": str(large)})) == 10 * 1024
    assert disk(run("--profile", small, "--disk", "30M", *ask)) == 30 * 1024
    assert disk(run("--disk", "30M", "--profile", small, *ask)) == 30 * 1024
    assert disk(run(*ask)) == 256 * 1024
    profile(f"runs: 1\nprofile: {small}\n", "c.yaml")
    for number, (args, env, size) in enumerate([((), {}, 10), ((), {"HOTCELL_PROFILE": str(large)}, 20),
                                                (("--profile", str(small)), {"HOTCELL_PROFILE": str(large)}, 10),
                                                (("--disk", "40M"), {}, 40)]):
        output = f"o{number}"
        ran = campaign(place, "c.yaml", "--output", output, *args, *ask, env=env)
        assert ran.code == 0, ran
        [session] = sessions(place, output).values()
        assert int((session / "stdout.log").read_text()) == size * 1024


def test_lists_of_a_profile_and_of_the_command_line_add_up(profile):
    path = profile("hide: ['*.sql']\nforbid: [tac]\ndoors: {allow: [a.example]}\n")
    ran = hotcell("run", "--profile", path, "--hide", "*.csv", "--allow", "b.example", "--explain", "--", "true")
    text = ran.out.decode()
    assert all(each in text for each in ("*.sql", "*.csv", "tac", "a.example", "b.example", ".git"))


# ---- who is told ----


def test_explain_result_session_and_audit_name_the_profile_and_its_sum(profile, place):
    path = profile("extends: strict\nlimits: {memory: 100M}\n")
    label = f"{path}@sha256:{sum_of(path)}"
    text = hotcell("run", "--profile", path, "--explain", "--", "true").out.decode()
    assert sum_of(path) in text and "extends strict" in text and "denied calls" in text
    log = place / "audit.jsonl"
    assert run("--profile", path, "--audit", log, "--", "true").code == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    told = {line["event"]: line for line in lines if "profile" in line}
    assert {"policy", "cell-start"} <= told.keys() and sum_of(path) in json.dumps(told["cell-start"]), lines
    ran = campaign(place, "-n", "1", "--profile", path, "--", "true")
    assert ran.code == 0, ran
    [session] = sessions(place).values()
    assert json.loads((session / "result.json").read_text())["result"]["profile"]["sha256"] == sum_of(path)
    assert label in campaign(place, "--dry-run", "-n", "1", "--profile", path, "--", "true").out.decode()
    plain = run("--", "true")
    assert "profile" not in plain.result


def test_a_profile_that_opens_something_says_so_and_built_in_ones_open_nothing(profile):
    path = profile("doors: {allow: [a.example], service: ['db:5432=127.0.0.1:1']}\n")
    named = f"{path}@sha256:{sum_of(path)}"
    ran = run("--profile", named, "--", "true")
    assert b"opens: allow a.example, service db:5432=127.0.0.1:1" in ran.err, ran
    assert run("--quiet", "--profile", named, "--", "true").err == b""
    for name in NAMES:
        assert not [line for line in run("--profile", name, "--", "true").own]


@pytest.mark.parametrize("door, taken", [
    ("service: ['d:80=unix:/run/docker.sock']", False),
    ("secret-door: ['x=https://example.org,header=x-key,env=PATH']", False),
    ("allow: ['host.example:80,private']", False),
    ("allow: [a.example]", True),
])  # fmt: skip
def test_a_profile_that_reaches_outside_the_sandbox_is_named_with_its_sum(profile, place, door, taken):
    """It may have come with a clone: a socket of this machine, or a variable that is sent away, is more than a name on the network."""
    path = profile(f"doors: {{{door}}}\n")
    assert hotcell("profile", "check", path).code in (0, 1) and hotcell("profile", "show", path).code == 0
    for more, env in ((("--profile", path), {}), ((), {"HOTCELL_PROFILE": str(path)})):
        for ran in (hotcell("run", *more, "--", "true", env=env), campaign(place, "--runs", "1", *more, "--", "true", env=env)):
            if taken:
                assert ran.code == 0, ran
            else:
                assert f"'{path}@sha256:{sum_of(path)}'" in refused(ran)
    if not taken:
        ran = hotcell("run", "--profile", f"{path}@sha256:{sum_of(path)}", "--", "true")
        assert ran.code == 0, ran


# ---- the same one, or none ----


def test_a_pinned_profile_that_changed_is_refused(profile):
    path = profile("extends: strict\n")
    pinned = f"{path}@sha256:{sum_of(path)}"
    assert run("--profile", pinned, "--", "true").code == 0
    profile("extends: strict\ndoors: {allow: [evil.example]}\n")
    assert "is not the one that was meant" in refused(run("--profile", pinned, "--", "true"))
    assert "64 hexadecimal digits" in refused(run("--profile", f"{path}@sha256:12", "--", "true"))


def test_a_campaign_is_resumed_with_the_profile_it_began_with_or_not_at_all(profile, place):
    path = profile("extends: strict\n")
    ran = campaign(place, "-n", "3", "-j", "1", "--name", "c", "--stop-after-failures", "1", "--profile", path, "--", "false")
    assert ran.code == 1 or ran.code == 130, ran
    [row] = ledger_rows(place, "select * from campaigns")
    assert sum_of(path) in str(bytes(row["words"]) if not isinstance(row["words"], str) else row["words"])
    profile("extends: default\n")
    ran = hotcell("campaign", "resume", "c", cwd=place)
    assert ran.code != 0 and b"is not the one that was meant" in ran.err, ran
    profile("extends: strict\n")
    ran = hotcell("campaign", "resume", "c", cwd=place)
    assert b"is not the one that was meant" not in ran.err


# ---- what is wrong is said ----


@pytest.mark.parametrize("text, sentence", [
    ("limit: 3\n", "p.yaml:1: unknown key 'limit'; expected extends,"),
    ("limits:\n  ram: 1G\n", "p.yaml:2: unknown key 'limits.ram'; expected memory,"),
    ("limits: {memory: lots}\n", "p.yaml:1: limits.memory"),
    ("extends: lax\n", "'extends' must be default, strict, build or browser"),
    ("capabilities: {add: [CAP_SYS_ADMIN]}\n", "a cell has no capabilities and can be given none"),
    ("paths: [{path: /tmp, rights: [fly]}]\n", "'fly' is no right; expected read, list,"),
    ("syscalls: {deny: [nosuchcall]}\n", "'nosuchcall' is no system call that cells know"),
    ("doors: {allow: ['http://x/']}\n", "p.yaml:1: doors.allow:"),
    ("doors:\n  service: [nonsense]\n", "p.yaml:2: doors.service:"),
    ("mounts: ['/:/host:rw']\n", "'mounts' cannot be in a profile"),
    ("backend: none\n", "'backend' cannot be in a profile"),
    ("pass-env: [AWS_SECRET_ACCESS_KEY]\n", "'pass-env' cannot be in a profile"),
    ("command: [rm, -rf]\n", "'command' cannot be in a profile"),
    ("extends: strict\n---\nextends: default\n", "document"),
    ("\tx: 1\n", "tab"),
])
def test_a_wrong_profile_is_refused_with_its_line_and_what_was_expected(profile, text, sentence):
    path = profile(text)
    for ran in (run("--profile", path, "--", "true"), hotcell("profile", "check", path)):
        assert sentence in refused(ran, codes=(2,)), ran


def test_what_is_no_profile_is_refused(place, profile):
    big = place / "big.yaml"
    with big.open("wb") as file:
        file.truncate(100 << 20)
    bomb = profile("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)), "bomb.yaml")
    deep = profile("[" * 500000, "deep.yaml")
    os.mkfifo(place / "fifo.yaml")
    (place / "dir.yaml").mkdir()
    for path in (big, bomb, deep, place / "fifo.yaml", place / "dir.yaml", place / "missing.yaml", "/dev/zero", "stric",
                 "/dev/stdin"):
        refused(run("--profile", path, "--", "true", stdin=b"x"), codes=(2,))


def test_a_name_in_a_profile_cannot_speak_to_the_terminal(profile):
    path = profile('description: "\\e[31mred \\u202e \\u009b2J"\nhide: ["\\e[2J"]\n')
    for ran in (hotcell("profile", "show", path), hotcell("profile", "check", path)):
        assert ran.code == 0 and not [byte for byte in ran.out if byte < 32 and byte != 10 or byte >= 127], ran


def test_without_a_sandbox_a_profile_that_holds_nothing_is_refused():
    ran = run("--profile", "strict", "--backend", "none", "--", "true")
    assert ran.code in (2, 125) and b"without a sandbox" in ran.err, ran


def test_paths_need_landlock(profile):
    path = profile("paths: [{path: /tmp, rights: [modify]}]\n")
    ran = run("--profile", path, "--", "true", env=pretending("no-landlock"))
    assert ran.outcome == "setup-failed" and "Landlock" in ran.result["error"], ran


# ---- the verbs ----


def test_list_names_the_built_in_ones():
    text = hotcell("profile", "list").out.decode()
    assert [line.split()[0] for line in text.splitlines()] == NAMES
    told = json.loads(hotcell("profile", "list", "--json").out)
    assert [each["name"] for each in told] == NAMES and all(len(each["sha256"]) == 64 for each in told)


@pytest.mark.parametrize("name", NAMES)
def test_what_show_prints_is_the_same_profile(place, profile, name):
    shown = hotcell("profile", "show", name)
    assert shown.code == 0
    path = profile(shown.out.decode())
    first, second = (json.loads(hotcell("profile", "show", "--json", each).out) for each in (name, path))
    for key in ("syscalls", "paths", "limits", "doors", "tmp-exec", "workspace-exec", "hide", "forbid", "require"):
        assert first[key] == second[key]


def test_show_lists_every_call_and_why():
    lines = hotcell("profile", "show", "--calls", "strict").out.decode().splitlines()
    assert any(line.startswith("denied   socket") for line in lines)
    assert any(line.startswith("never    mount: ") for line in lines)
    assert any(line.startswith("kept     execve: ") for line in lines)
    assert any(line.startswith("refused  kcmp: ") for line in lines)


def test_check_warns_of_what_a_profile_opens(profile):
    path = profile("extends: strict\nsyscalls: {allow: [ptrace, kcmp]}\ndoors: {secret-door: ['@openai']}\nlimits: {memory: 900G}\n")
    ran = hotcell("profile", "check", path)
    text = ran.out.decode()
    assert ran.code == 0 and all(each in text for each in ("allows ptrace", "allows kcmp", "credential of yours", "raises memory"))
    assert len(json.loads(hotcell("profile", "check", "--json", path).out)["warnings"]) == 4
    assert "0 warnings" in hotcell("profile", "check", "strict").out.decode()


def test_check_finds_limits_that_no_cell_can_have(profile):
    assert "memory" in refused(hotcell("profile", "check", profile("limits: {memory: 1k}\n")), codes=(2,))


# ---- learning ----


def learned(place, *args, name="l.yaml", **more):
    path = place / name
    ran = hotcell("profile", "learn", "--output", path, "--force", *args, timeout=120, **more)
    return ran, path


def test_learn_proposes_a_small_profile_and_verifies_it(place):
    script = "mkdir d && echo a > d/f && cat d/f && python3 -c 'import threading; t = threading.Thread(target=print, args=(7,)); t.start(); t.join()'"
    ran, path = learned(place, "--", "/bin/sh", "-c", script)
    if not LANDLOCK:
        assert ran.code == 125 and b"Landlock" in ran.err, ran
        return
    assert ran.code == 0 and b"verified:" in ran.err, ran
    assert ran.out == b"" and b"a\n" in ran.err and b"7\n" in ran.err
    text = path.read_text()
    assert "# verified:" in text and "# not observed:" in text
    told = json.loads(hotcell("profile", "show", "--json", path).out)
    denied = set(told["syscalls"]["deny"])
    assert {"socket", "ptrace", "unlink", "rename", "symlink", "mq_open", "setuid"} <= denied and len(denied) > 200
    assert not {"mkdir", "mkdirat"} <= denied
    assert [each["path"] for each in told["paths"]] == ["/workspace"]
    assert {"make-dir", "make-file", "write"} <= set(told["paths"][0]["rights"])
    assert "remove-file" not in told["paths"][0]["rights"]
    assert told["limits"]["memory"] < 512 << 20 and told["limits"]["processes"] < 100
    ran = shell("--profile", path, script=script)
    assert ran.code == 0 and ran.result["refused"]["total"] == 0, ran
    ran = shell("--profile", path, script="python3 -c 'import socket; socket.socket()'")
    assert ran.code != 0 and ran.result["refused"]["calls"]["socket"] >= 1


def test_learn_prints_to_stdout_when_no_file_is_named():
    if not LANDLOCK:
        return
    ran = hotcell("profile", "learn", "--", "true")
    assert ran.code == 0 and b"extends: default" in ran.out and b"deny: [all]" in ran.out, ran


def test_what_is_learned_keeps_to_what_was_there(place):
    """Observed, a program is refused what it is refused otherwise."""
    program = """
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def say(what, result):
    print(what, result if result >= 0 else -ctypes.get_errno(), flush=True)
say("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
say("unshare", libc.unshare(0x10000000))
for family, kind in ((16, 3), (17, 3), (40, 1)):
    try:
        socket.socket(family, kind); print("socket", family, "made")
    except OSError as error:
        print("socket", family, error.errno)
say("personality", libc.personality(0x0400000))
say("prlimit", libc.prlimit(1, 7, None, None))
say("kcmp", libc.syscall(312, 1, 1, 0, 0, 0))
"""
    usual = run("--", "python3", "-c", program)
    ran, path = learned(place, "--", "python3", "-c", program)
    assert usual.out and usual.out in ran.err, (usual, ran)


def test_learn_tells_of_names_that_were_tried_and_does_not_let_them_through(place):
    if not LANDLOCK:
        return
    ran, path = learned(place, "--", "/bin/sh", "-c", "curl -s -m 5 https://tried.example/; true")
    assert ran.code == 0, ran
    assert "# tried to reach, and was refused both times: tried.example:443" in path.read_text()
    told = json.loads(hotcell("profile", "show", "--json", path).out)
    assert told["doors"] == {"allow": [], "service": [], "secret-door": []}


def test_learn_keeps_the_doors_that_were_used_and_no_others(place, service):
    if not LANDLOCK:
        return
    ran, path = learned(place, "--service", f"used:80={service}", "--service", f"idle:81={service}", "--",
                        "/bin/sh", "-c", "curl -s --noproxy '*' http://used/ >/dev/null")
    assert ran.code == 0, ran
    told = json.loads(hotcell("profile", "show", "--json", path).out)
    assert told["doors"]["service"] == [f"used:80={service}"]


def test_learn_says_what_is_wrong_where_something_new_is_refused_each_time(place):
    """Its calls differ from run to run, its end does not: the proposal has all that was seen, and says that it was not tried."""
    if not LANDLOCK:
        return
    (place / "state").mkdir()
    (place / "state").chmod(0o777)
    program = """
import ctypes, os
calls = {0: None, 1: 26, 2: 253, 3: 290, 4: 283} # msync, inotify_init, eventfd2, timerfd_create
turn = len(os.listdir("/state"))
os.mkdir(f"/state/{turn}")
if calls[turn]:
    ctypes.CDLL(None).syscall(calls[turn], 0, 0, 0)
"""
    ran, path = learned(place, "--mount", f"{place}/state:/state:rw", "--", "python3", "-c", program)
    assert ran.code == 1 and len(list((place / "state").iterdir())) == 5, ran
    [line] = [line for line in ran.err.decode().splitlines() if "NOT VERIFIED" in line]
    assert "ended as before, but was refused something" in line and "was not tried" in line, line
    text = path.read_text()
    assert "# NOT VERIFIED: the command ended as before" in text
    denied = json.loads(hotcell("profile", "show", "--json", path).out)["syscalls"]["deny"]
    assert not {"msync", "inotify_init", "eventfd2", "timerfd_create"} & set(denied), text


def test_learn_reads_its_stdin_from_a_file_both_times(place):
    if not LANDLOCK:
        return
    (place / "in").write_bytes(b"exit 3\n")
    ran, path = learned(place, "--stdin", place / "in", "--", "/bin/sh")
    assert ran.code == 1 and "exit code 3" in path.read_text(), ran


def test_learn_says_that_the_command_failed(place):
    if not LANDLOCK:
        return
    ran, path = learned(place, "--", "/bin/false")
    assert ran.code == 1 and b"failed with exit code 1" in ran.err, ran
    assert "# THE COMMAND FAILED with exit code 1" in path.read_text()


def test_learn_runs_nothing_on_a_changed_folder(place):
    (place / "target").mkdir()
    assert hotcell("manifest", "create", place / "target").code == 0
    (place / "target/new").write_text("")
    ran, path = learned(place, "--manifest", place / "target", "--", "echo", "ran")
    assert ran.code == 125 and b"'new' was added" in ran.err and b"ran\n" not in ran.err and not path.exists(), ran


def test_learn_does_not_learn_from_what_does_not_work(place):
    for args, word in ((("-t", "1", "--", "sleep", "30"), "timeout"), (("--", "/bin/sh", "-c", "kill -9 $$"), "signaled"),
                       (("--", "no-such-program"), "not in the cell")):
        ran, path = learned(place, *args)
        assert ran.code == 125 and word in ran.err.decode() and not path.exists(), ran


def test_learn_overwrites_only_with_force(place):
    path = place / "there.yaml"
    path.write_text("mine\n")
    ran = hotcell("profile", "learn", "--output", path, "--", "true")
    assert ran.code != 0 and path.read_text() == "mine\n"


def test_a_program_that_traces_itself_ends_under_observation():
    """Init would have to answer itself."""
    program = "import ctypes, os, signal\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    ran = hotcell("profile", "learn", "-t", "20", "--", "python3", "-c", program)
    assert ran.code == 125 and b"signaled" in ran.err, ran


# ---- what is documented ----


def documented(path):
    """The commands of a document, in their order: lines after a '$ ', with those that continue them."""
    text = (ROOT / path).read_text().replace("\\\n", "")
    return [line[2:] for line in text.splitlines() if line.startswith("$ hotcell ")]


@pytest.mark.parametrize("path", ["docs/PROFILES.md", "man/hotcell-profile-learn.1"])
def test_the_documented_commands_work_as_they_are_written(place, path):
    if not LANDLOCK:
        return
    (place / "bin").mkdir()
    (place / "bin/hotcell").symlink_to(HOTCELL)
    (place / "parser").write_text("#!/usr/bin/python3\nimport json, sys\nprint(json.load(sys.stdin)['a'])\n")
    (place / "parser").chmod(0o755)
    (place / "sample.json").write_text('{"a": 7}')
    (place / "page.html").write_text("<p>seven")
    commands = documented(path)
    assert len(commands) >= 4, commands
    for command in commands:
        done = subprocess.run(["/bin/sh", "-c", command], cwd=place, capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
                              env=environment({"PATH": f"{place}/bin:{os.environ['PATH']}"}))
        assert done.returncode == 0, (command, done)
    assert "# verified:" in (place / "parser.yaml").read_text()
    assert [(each / "SUCCESS").exists() for each in sessions(place).values()] == [True] * 20


# ---- from somebody else's folder ----


def test_a_folder_that_one_is_in_chooses_no_profile(place, profile):
    """Nothing is read because of where one is: a cloned folder cannot open anything."""
    for name in ("hotcell.yaml", "profile.yaml", ".hotcell.yaml", "strict", "default.yaml"):
        profile("doors: {allow: [evil.example]}\nsyscalls: {allow: [kcmp]}\n", name)
    for args in ((), ("--profile", "strict"), ("--profile", "default")):
        ran = run(*args, "--", "true", cwd=place)
        assert ran.code == 0 and b"opens" not in ran.err
        assert ran.result["receipt"]["protections"]["seccomp"]["state"] == "on"
        assert "network" not in ran.result

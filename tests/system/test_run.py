"""`hotcell run`: exit codes, what passes through, the JSON result, the cell as its program sees it."""

import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import (
    HOTCELL,
    OUTCOMES,
    PRETEND,
    PROTECTIONS,
    Live,
    Terminal,
    environment,
    eventually,
    gone,
    hotcell,
    is_cell_user,
    marker,
    pids,
    refused,
    run,
    slurp,
    stat_of,
)

# ---- how it ends ----


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_went_away_is_gone_for_the_program_too(stream):
    to = "" if stream == "stdout" else ">&2"
    script = f"while :; do echo line {to}; sleep 0.05; done"
    with subprocess.Popen(
        [HOTCELL, "run", "-q", "-t", "60s", "--", "sh", "-c", script], env=environment(), **{stream: subprocess.PIPE}
    ) as it:
        assert getattr(it, stream).readline() == b"line\n"
        getattr(it, stream).close()
        assert it.wait(timeout=30) == 128 + signal.SIGPIPE


def test_output_of_the_other_stream_goes_on_when_one_reader_went_away():
    script = 'echo one; trap "" PIPE; sleep 0.2; echo two; echo three; echo said >&2'
    with subprocess.Popen(
        [HOTCELL, "run", "-q", "--", "sh", "-c", script], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as it:
        assert it.stdout.readline() == b"one\n"
        it.stdout.close()
        assert it.stderr.read().endswith(b"said\n")
        assert it.wait(timeout=30) == 0


@pytest.mark.parametrize("code", [0, 1, 2, 42, 124, 125, 130, 137, 255])
def test_the_exit_code_is_the_targets_and_the_json_tells_it_from_ours(hostile, code):
    ran = run(*hostile("procs", "exit", code))
    assert ran.code == code, ran
    assert ran.outcome == "exited"
    assert ran.result["exit_code"] == code
    assert ran.result["signal"] is None
    assert ran.own == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1])
def test_a_signal_that_ends_the_target_is_128_plus_its_number(hostile, number):
    ran = run(*hostile("procs", "die", int(number)))
    assert ran.code == 128 + number, ran
    assert ran.outcome == "signaled"
    assert ran.result["signal"] == number
    assert ran.result["exit_code"] is None
    assert len(ran.own) == 1, ran


def test_a_timeout_is_124_and_says_which_limit_it_was(hostile):
    ran = run("--timeout", "300ms", *hostile("procs", "stay"))
    assert ran.code == 124, ran
    assert ran.outcome == "timeout"
    assert 250 <= ran.result["wall_ms"] < 5000
    assert len(ran.own) == 1, ran
    assert ran.own[0].startswith("hotcell: timeout: ")
    assert "--timeout" in ran.own[0]


@pytest.mark.parametrize(
    "command", ["no-such-command", "/no/such/command", "./relative", "/etc/passwd", "/usr"]
)
def test_a_command_that_cannot_be_run_is_125_and_names_the_command(command):
    ran = run("--", command)
    assert refused(ran, (125,)).count(command) == 1
    assert ran.outcome == "setup-failed"


def test_a_script_without_its_interpreter_is_125(place):
    script = place / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    refused(run("--mount", f"{place}:/place", "--", "/place/script"), (125,))


def test_a_command_is_found_through_the_path_of_the_cell():
    ran = run("--", "sh", "-c", "echo found")
    assert (ran.code, ran.out) == (0, b"found\n"), ran


def test_the_arguments_arrive_as_they_were_given(hostile):
    args = [
        b"",
        b"a b",
        b"new\nline",
        b"--json",
        b"--",
        b"'\"$(id)",
        b"caf\xc3\xa9",
        b"\xff\xfe",
        b"-t",
    ]
    ran = run(*hostile("procs", "args"), *args, json=False)
    assert ran.out == b"".join(arg + b"\0" for arg in args), ran


# ---- what passes through ----


def test_ten_megabytes_through_cat_come_back_byte_for_byte():
    data = os.urandom(10 << 20)
    ran = run("--", "cat", stdin=data, json=False)
    assert ran.code == 0, ran.err
    assert ran.out == data


def test_stdout_and_stderr_are_kept_apart():
    ran = run("--", "sh", "-c", "echo out; echo err >&2", json=False)
    assert ran.out == b"out\n"
    assert ran.target_err == b"err\n"


def test_an_empty_stdin_is_empty_inside():
    ran = run("--", "cat")
    assert (ran.code, ran.out, ran.result["stdout_bytes"]) == (0, b"", 0), ran


def test_stdin_arrives_while_it_is_typed(hostile):
    with Live(*hostile("procs", "echo")) as live:
        live.wait_for(b"ready\n")
        live.send(b"first\n")
        live.wait_for(b"got:first\n")
        live.send(b"second\n")
        live.wait_for(b"got:second\n")
        ran = live.finish()
    assert ran.code == 0, ran
    assert ran.out.endswith(b"end\n")


def test_a_run_ends_with_its_program_even_while_stdin_stays_open():
    with Live("--", "sh", "-c", "exit 3") as live:
        assert live.process.wait(10) == 3


def test_a_child_that_holds_stdout_open_does_not_hold_the_run(hostile):
    word = marker()
    start = time.monotonic()
    ran = run(*hostile("procs", "holder", word), timeout=10)
    assert ran.code == 7, ran
    assert ran.out == b"parent done\n"
    assert time.monotonic() - start < 8
    assert gone(word)


def test_stdin_can_be_a_file(place):
    source = place / "input"
    source.write_bytes(bytes(range(256)) * 1000)
    ran = run("--stdin", source, "--", "cat", json=False, stdin=b"not this")
    assert ran.code == 0, ran
    assert ran.out == source.read_bytes()


def test_a_slow_reader_gets_every_byte(hostile):
    process = subprocess.Popen(
        [HOTCELL, "run", *hostile("exhaust", "print", 1, 3 << 20)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    time.sleep(0.5)
    out = process.stdout.read()
    process.stdout.close()
    assert process.wait(10) == 0
    assert out == b"y" * (3 << 20)


def test_a_reader_that_goes_away_ends_the_run(hostile):
    process = subprocess.Popen(
        [HOTCELL, "run", *hostile("exhaust", "print", 1)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    assert process.stdout.read(10) == b"y" * 10
    process.stdout.close()
    assert process.wait(10) != 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_do_no_harm(closed, hostile):
    command = hostile("paths", "fds")
    script = f'exec "$0" run "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, HOTCELL, *command], capture_output=True, timeout=20, env=environment()
    )
    assert done.returncode == 0, done
    if ">&-" not in closed.replace("2>&-", ""):
        assert b"fd-3" not in done.stdout


# ---- the JSON result ----

FIELDS = {
    "outcome": str,
    "exit_code": int,
    "lost": bool,
    "wall_ms": (int, float),
    "setup_ms": (int, float),
    "user_ms": (int, float),
    "system_ms": (int, float),
    "peak_memory": int,
    "oom_kills": int,
    "processes": int,
    "stdout_bytes": int,
    "stderr_bytes": int,
    "dropped_bytes": int,
    "written_bytes": int,
    "refused": dict,
    "receipt": dict,
}


def test_the_json_result_has_every_field():
    ran = run(
        "--",
        "sh",
        "-c",
        "echo four; echo seven77 >&2; head -c 100000 /dev/zero > file; true; exit 5",
    )
    for name, kind in FIELDS.items():
        assert isinstance(ran.result[name], kind), name
    assert ran.result["signal"] is None
    assert ran.result["error"] is None
    assert ran.result["output"] is None
    assert ran.result["outcome"] in OUTCOMES
    assert ran.result["stdout_bytes"] == 5
    assert ran.result["stderr_bytes"] == 8
    assert ran.result["dropped_bytes"] == 0
    assert ran.result["processes"] >= 2
    assert 90_000 <= ran.result["written_bytes"] <= 1 << 20
    assert ran.result["wall_ms"] > 0
    assert set(ran.result["receipt"]["protections"]) == PROTECTIONS
    for name, protection in ran.result["receipt"]["protections"].items():
        assert protection["state"] in ("on", "weaker", "off"), name
        assert isinstance(protection["note"], str), name


def test_the_json_result_counts_time_and_memory(hostile, is_on):
    ran = run(*hostile("exhaust", "burn", 300, 1))
    assert ran.result["user_ms"] + ran.result["system_ms"] > 20, ran
    assert ran.result["wall_ms"] >= 290
    ran = run(*hostile("exhaust", "memory", 50))
    assert ran.code == 0, ran
    if is_on("memory-limit"):
        assert 50 << 20 <= ran.result["peak_memory"] <= 200 << 20


def test_the_json_result_is_a_line_of_its_own_even_after_an_unfinished_one():
    ran = run("--json", "--", "printf", "no newline", json=False)
    first, last = ran.out.rstrip(b"\n").split(b"\n")
    assert first == b"no newline"
    assert json.loads(last)["stdout_bytes"] == 10


def test_no_empty_line_comes_before_the_json_result_when_the_output_was_finished():
    ran = run("--json", "--", "sh", "-c", "echo out; echo err >&2", json=False)
    assert ran.out.startswith(b"out\n{"), ran.out[:40]


def test_the_json_result_can_go_to_a_file(place):
    target = place / "result.json"
    ran = run("--json-file", target, "--", "printf", "untouched", json=False)
    assert ran.out == b"untouched"
    assert json.loads(target.read_text())["outcome"] == "exited"


def test_stderr_can_go_to_a_file_apart_from_what_hotcell_says(place):
    target = place / "stderr"
    target.write_text("longer than what comes now\n")
    ran = run("--stderr", target, "-t", "300ms", "--", "sh", "-c", "echo out; echo err >&2; sleep 9", json=False)
    assert ran.out == b"out\n" and target.read_text() == "err\n"
    assert len(ran.own) == 1 and b"err\n" not in ran.err, ran
    refused(run("--stderr", target, "--tty", "--", "true"))
    refused(run("--stderr", place / "missing" / "stderr", "--", "true"))


def test_a_forged_verdict_changes_nothing(hostile):
    ran = run(*hostile("leave", "forge", 124))
    assert ran.code == 124
    assert ran.outcome == "exited"
    assert ran.result["exit_code"] == 124
    assert ran.result["receipt"]["backend"] == "native"
    assert ran.out.count(b"forged") == 1


def test_refused_calls_are_counted_by_name(hostile):
    ran = run(*hostile("kernel", "refused", 3))
    calls = ran.result["refused"]["calls"]
    assert calls.get("unshare") == 3, ran.result["refused"]
    assert calls.get("bpf") == 3, ran.result["refused"]
    assert calls.get("socket") == 3, ran.result["refused"]
    assert ran.result["refused"]["total"] >= 9


# ---- what hotcell says itself ----


def test_an_ordinary_end_is_not_remarked_upon():
    ran = run("--", "false", json=False)
    assert ran.own == []


def test_quiet_leaves_out_the_verdict(hostile):
    assert len(run("-t", "200ms", *hostile("procs", "stay")).own) == 1
    assert run("-q", "-t", "200ms", *hostile("procs", "stay")).own == []


def test_verbose_prints_receipt_and_costs():
    ran = run("-v", "--", "true", json=False)
    text = ran.err.decode()
    assert ran.out == b""
    for word in ("seccomp", "memory-limit", "pid-namespace"):
        assert word in text, text
    assert re.search(r"\d (ms|s)\b", text), text


def test_explain_prints_the_cell_and_starts_nothing(place):
    ran = run(
        "--explain",
        "--mount",
        f"{place}:/place:rw",
        "-m",
        "77M",
        "--",
        "touch",
        "/place/touched",
        json=False,
    )
    assert ran.code == 0, ran
    text = ran.out.decode()
    for word in (str(place), "/place", ".git", ".env", "*.pem", "/workspace", "/tmp", "touch"):
        assert word in text, f"{word}: {text}"
    assert re.search(r"77(\.0)? ?M", text), text
    assert list(place.iterdir()) == []


def test_explain_says_what_is_wrong_as_run_does():
    refused(run("--explain", "--memory", "12Q", "--", "true", json=False), (2,))


# ---- the cell as its program sees it ----


def test_the_environment_is_exactly_the_minimal_one(hostile):
    ran = run(
        *hostile("procs", "env"), json=False, env={"CANARY": "yes", "LD_PRELOAD": "/nowhere.so"}
    )
    got = dict(item.split(b"=", 1) for item in ran.out.split(b"\0") if item)
    assert got == {
        b"PATH": b"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        b"HOME": b"/workspace",
        b"LANG": b"C.UTF-8",
    }


def test_variables_are_given_and_passed_on(hostile):
    ran = run(
        "--env",
        "GIVEN=a=b c",
        "--env",
        "EMPTY=",
        "--env",
        "HOME=/tmp",
        "--pass-env",
        "PASSED",
        *hostile("procs", "env"),
        json=False,
        env={"PASSED": "from outside", "OTHER": "stays outside"},
    )
    items = [item for item in ran.out.split(b"\0") if item]
    got = dict(item.split(b"=", 1) for item in items)
    assert len(got) == len(items), "a variable is there twice"
    assert got[b"GIVEN"] == b"a=b c"
    assert got[b"EMPTY"] == b""
    assert got[b"HOME"] == b"/tmp"
    assert got[b"PASSED"] == b"from outside"
    assert set(got) == {b"PATH", b"HOME", b"LANG", b"GIVEN", b"EMPTY", b"PASSED"}


def test_secrets_are_in_no_command_line_or_environment_of_ours(hostile):
    passed, given = marker(), marker()
    with Live(
        "--pass-env",
        "SECRET",
        "--env",
        f"TOKEN={given}",
        *hostile("procs", "stay"),
        env={"SECRET": passed},
    ) as live:
        live.wait_for(b"ready")
        seen = 0
        for pid in pids():
            stat = stat_of(pid)
            command = slurp(f"/proc/{pid}/cmdline") or b""
            if not stat or not ("hotcell" in stat[0] or b"hotcell" in command.split(b"\0")[0]):
                continue
            seen += 1
            for file in ("cmdline", "environ"):
                content = slurp(f"/proc/{pid}/{file}") or b""
                assert passed.encode() not in content, f"--pass-env in {file} of {stat[0]}"
                assert given.encode() not in content, f"--env in {file} of {stat[0]}"
        assert seen >= 1
        live.process.terminate()
        ran = live.finish()
    for text in (passed.encode(), given.encode()):
        assert text not in ran.out + ran.err + json.dumps(ran.result).encode()


def test_the_working_directory_is_an_empty_private_workspace(hostile):
    ran = run("--", "sh", "-c", "pwd; ls -A | wc -l; echo x > file; cat file")
    assert ran.out.split() == [b"/workspace", b"0", b"x"], ran


def test_the_working_directory_can_be_chosen():
    assert run("-w", "/usr/bin", "--", "pwd").out == b"/usr/bin\n"
    refused(run("--workdir", "/no/such/folder", "--", "pwd"))
    refused(run("--workdir", "relative", "--", "pwd"))


def test_the_user_is_not_root_and_has_a_name():
    ran = run(
        "--", "sh", "-c", "id -u; id -g; id -un; id -G; ls -ldn /workspace | awk '{print $3, $4}'"
    )
    name, *ids = [ran.lines[2], *ran.lines[:2], *ran.lines[3].split(), *ran.lines[4].split()]
    assert is_cell_user(*ids) and name == "cell", ran


def test_the_user_can_be_chosen():
    ran = run("--uid", "1234:2345", "--", "sh", "-c", "touch f && echo writable; id -u; id -g")
    assert ran.lines[0] == "writable", ran
    if "no-userns" in PRETEND:
        # There a number chosen by the caller would be some real user's: it is not taken.
        assert is_cell_user(*ran.lines[1:]), ran
        return
    assert ran.lines[1:] == ["1234", "2345"], ran
    assert run("--uid", "4321", "--", "id", "-u").lines == ["4321"]


def test_the_host_name_is_cell(hostile):
    ran = run(*hostile("procs", "status"))
    assert ran.said["hostname"] == "cell"
    assert os.uname().nodename != "cell"


def test_the_signal_state_of_the_caller_does_not_come_along(hostile):
    def odd_state():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    ran = run(*hostile("procs", "signals"), preexec_fn=odd_state)
    assert ran.said == {"blocked": "0", "ignored": "0"}, ran


# ---- terminals ----


def test_with_tty_the_program_has_a_terminal_of_its_own(hostile):
    with Terminal("run", "--tty", *hostile("procs", "tty"), rows=33, columns=111) as terminal:
        code, out = terminal.finish()
    said = dict(line.rsplit(" ", 1) for line in out.decode().splitlines() if " " in line)
    assert code == 0, out
    assert [said[f"isatty-{fd}"] for fd in range(3)] == ["1", "1", "1"], out
    assert (said["rows"], said["columns"]) == ("33", "111"), out
    assert said["dev-tty"] == "ok"
    assert said["own-session"] == "1", out
    assert said["foreground"] == "1", out


def test_with_tty_a_new_window_size_arrives(hostile):
    with Terminal("run", "--tty", *hostile("procs", "resize"), rows=24, columns=80) as terminal:
        terminal.wait_for(b"ready")
        terminal.resize(50, 132)
        code, out = terminal.finish()
    assert code == 0, out
    assert b"rows 50" in out and b"columns 132" in out, out


def test_with_tty_what_is_typed_arrives_and_ctrl_c_goes_to_the_program(hostile):
    with Terminal(
        "run",
        "--tty",
        "--",
        "sh",
        "-c",
        "trap 'echo trapped; exit 9' INT; echo up; while :; do sleep 1; done",
    ) as terminal:
        terminal.wait_for(b"up")
        terminal.send(b"\x03")
        terminal.wait_for(b"trapped")
        code, out = terminal.finish()
    assert code == 9, out


def test_with_tty_characters_cannot_be_pushed_back(hostile):
    with Terminal("run", "--tty", *hostile("procs", "tiocsti")) as terminal:
        code, out = terminal.finish()
    said = dict(line.rsplit(" ", 1) for line in out.decode().splitlines() if " " in line)
    pushes = {what: result for what, result in said.items() if "0x" in what}
    assert len(pushes) >= 15, out
    assert "ok" not in pushes.values(), out
    assert b"XX" not in out


def test_without_tty_there_is_no_terminal_even_when_ours_is_one(hostile):
    with Terminal("run", *hostile("procs", "tty")) as terminal:
        code, out = terminal.finish()
    said = dict(line.rsplit(" ", 1) for line in out.decode().splitlines() if " " in line)
    assert code == 0, out
    assert [said[f"isatty-{fd}"] for fd in range(3)] == ["0", "0", "0"], out
    assert said["dev-tty"] in ("ENXIO", "ENOENT", "EACCES"), out


def test_escapes_do_not_reach_a_terminal(hostile):
    with Terminal("run", *hostile("leave", "escapes")) as terminal:
        code, out = terminal.finish()
    assert code == 0, out
    assert b"\x1b[31mred" in out, "colour is let through"
    assert "café".encode() in out
    rest = re.sub(rb"\x1b\[[0-9;]*m", b"", out)
    assert b"\x1b" not in rest, out
    assert b"\x07" not in rest and b"\x05" not in rest, out
    assert b"\\x1b" in rest, "what is not obeyed is shown"


NO_COLOUR = rb"\x1b(?!\[[0-9;:]*m)"


def slowly(terminal, seconds=20):
    """What a terminal shows that takes a little at a time, so that what is written there is cut anywhere."""
    out, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline and select.select([terminal.master], [], [], 5)[0]:
        try:
            out += os.read(terminal.master, 700)
        except OSError:
            break
        time.sleep(0.0003)
    return out


def test_the_text_of_one_stream_ends_no_sequence_of_the_other():
    script = "(yes \"$1\" | tr -d '\\n' | head -c 600000) & (yes 6n2J | tr -d '\\n' | head -c 600000 >&2); wait"
    with Terminal("run", "-q", "--", "sh", "-c", script, "-", "\033[38;5;1m") as terminal:
        out = slowly(terminal)
    assert len(out) >= 1200000
    found = [out[at.start() : at.start() + 10] for at in re.finditer(NO_COLOUR, out)]
    assert not found, found


def test_the_verdict_ends_no_sequence_when_the_rest_is_given_up():
    script = "yes \"$1\" | tr -d '\\n'"
    with Terminal("run", "-t", "1s", "--", "sh", "-c", script, "-", "\033[38;2;100;101;102m") as terminal:
        time.sleep(5)  # nothing is read: the second that it has for the rest is over
        code, out = terminal.finish()
    assert code == 124, out[-300:]
    verdict = out.index(b"hotcell: ")
    assert out[:verdict].endswith(b"\x18"), out[verdict - 50 :]
    found = [out[at.start() : at.start() + 30] for at in re.finditer(NO_COLOUR, out[:verdict])]
    assert all(b"\x18" in each for each in found), found


def test_escapes_reach_a_pipe_and_a_raw_terminal_unchanged(hostile):
    ran = run(*hostile("leave", "escapes"), json=False)
    assert b"\x1b]52;c;b3duZWQ=\x07" in ran.out and b"\x9b2J" in ran.out
    with Terminal("run", "--raw", *hostile("leave", "escapes")) as terminal:
        code, out = terminal.finish()
    assert code == 0
    assert b"\x1b]52;c;b3duZWQ=\x07" in out, out


# ---- no sandbox ----


@pytest.mark.parametrize("how", ["--no-sandbox", "--backend none", "FUZZING_DISABLE_SANDBOX"])
def test_without_a_sandbox_there_is_a_warning_that_cannot_be_missed(how, place):
    flags = how.split() if how.startswith("-") else []
    env = {} if flags else {"FUZZING_DISABLE_SANDBOX": "true"}
    ran = run(*flags, "-q", "--", "sh", "-c", f"echo out; touch {place}/outside; exit 6", env=env)
    assert ran.code == 6, ran
    assert ran.out == b"out\n"
    assert (place / "outside").exists(), "this run is meant to be unprotected"
    assert b"hotcell: " in ran.err
    assert re.search(rb"(?i)no sandbox|unprotected|not sandboxed|without a sandbox", ran.err), ran
    assert ran.result["receipt"]["backend"] == "none"
    assert ran.result["receipt"]["full"] is False
    states = {name: p["state"] for name, p in ran.result["receipt"]["protections"].items()}
    for name in ("pid-namespace", "mount-namespace", "seccomp", "read-only-root", "net-namespace"):
        assert states[name] == "off"


@pytest.mark.parametrize("value", ["false", "0", ""])
def test_the_sandbox_is_not_switched_off_by_another_value(value):
    ran = run("--", "true", env={"FUZZING_DISABLE_SANDBOX": value})
    assert ran.result["receipt"]["backend"] == "native"


def test_without_a_sandbox_the_clock_still_runs_and_nothing_stays():
    word = marker()
    ran = run(
        "--no-sandbox", "-t", "300ms", "--", "/bin/sh", "-c", f"sleep 1000 & : {word}; sleep 1000"
    )
    assert ran.code == 124, ran
    assert gone(word)


# ---- the other words ----


def test_version_and_help_are_there():
    assert re.match(rb"hotcell \d+\.\d+", hotcell("--version").out)
    assert hotcell("version").out == hotcell("--version").out
    general = hotcell("help")
    assert general.code == 0
    for verb in (b"run", b"exec", b"ps", b"kill", b"logs", b"doctor", b"completion"):
        assert verb in general.out
    text = hotcell("help", "run").out
    for flag in (
        b"--memory",
        b"--cpus",
        b"--timeout",
        b"--processes",
        b"--tmp-size",
        b"--tmp-exec",
        b"--disk",
        b"--shm",
        b"--file-size",
        b"--open-files",
        b"--max-output",
        b"--mount",
        b"--hide",
        b"--no-default-hide",
        b"--output",
        b"--max-collect",
        b"--max-collect-files",
        b"--image",
        b"--env",
        b"--pass-env",
        b"--workdir",
        b"--uid",
        b"--tty",
        b"--stdin",
        b"--stderr",
        b"--raw",
        b"--backend",
        b"--no-sandbox",
        b"--require",
        b"--explain",
        b"--json",
        b"--json-file",
        b"--quiet",
        b"--verbose",
    ):
        assert flag in text, flag
    assert hotcell("run", "--help").code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_a_script_that_knows_the_flags(shell):
    ran = hotcell("completion", shell)
    assert ran.code == 0, ran
    assert b"--max-collect-files" in ran.out
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=ran.out, check=False).returncode == 0


@pytest.mark.parametrize(("words", "expected"), [
    (["hotcell", "doct"], {"doctor"}),
    (["hotcell", "campaign", "res"], {"resume"}),
    (["hotcell", "run", "--max-collect-f"], {"--max-collect-files"}),
    (["hotcell", "run", "--backend", ""], {"native", "none"}),
    (["hotcell", "completion", ""], {"bash", "zsh"}),
])
def test_bash_completes(words, expected):
    script = hotcell("completion", "bash").out.decode() + f"""
COMP_WORDS=({" ".join(repr(word) for word in words)}) COMP_CWORD={len(words) - 1}
_hotcell
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert {word.strip() for word in done.stdout.split()} == expected, done


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR])
def test_a_real_time_caller_does_not_make_a_real_time_cell(policy):
    def become():
        try:
            os.sched_setscheduler(0, policy, os.sched_param(5))
        except PermissionError:  # an ordinary user cannot be one: then there is nothing to inherit
            pass

    done = subprocess.run(
        [HOTCELL, "run", "-q", "--", "sh", "-c", "cut -d' ' -f41 /proc/self/stat"],
        preexec_fn=become,
        capture_output=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout) == (0, b"0\n"), done


def test_hotcell_itself_leaves_no_core_with_what_it_was_given(place):
    """A core of the supervisor would hold the values of variables, in a folder that a cell may be shown."""
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -c unlimited 2>/dev/null || ulimit -c "$(ulimit -Hc)"; exec "$0" "$@"', HOTCELL, "run", "--env", "KEY=tinker-tailor", "--", "sleep", "60"],
        cwd=place, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        assert eventually(lambda: re.search(r"Max core file size +1 ", Path(f"/proc/{process.pid}/limits").read_text()), 10)
    finally:
        process.send_signal(signal.SIGSEGV)
        process.wait(timeout=30)
    assert not [each for each in place.iterdir() if b"tinker-tailor" in each.read_bytes()]

"""libhotcell and the Python package over it, as strangers have them: the library and its header installed below a prefix, the package
installed with pip into an environment of its own, used by programs with threads, handlers and children of their own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from harness import HOTCELL, ROOT, environment, eventually, hotcell, pids, slurp

ENGINES = ROOT / "build-engines"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]


def command(*words, timeout=60, env=None, **more):
    return subprocess.run([*map(os.fspath, words)], capture_output=True, timeout=timeout, env=environment(env), **more)


def done(*words, **more):
    ran = command(*words, **more)
    assert ran.returncode == 0, (ran.stdout[-3000:] + ran.stderr[-3000:]).decode(errors="replace")
    return ran.stdout.decode(errors="replace")


def ours():
    """Processes of this user that run the program out of the library's memory."""
    found = []
    for pid in pids():
        try:
            exe = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        uid = re.search(rb"^Uid:\t(\d+)", slurp(f"/proc/{pid}/status") or b"", re.M)
        if exe.startswith("/memfd:hotcell") and uid and int(uid[1]) == os.getuid():
            found.append(pid)
    return found


@pytest.fixture(autouse=True)
def no_process_left():
    yield
    assert eventually(lambda: not ours(), 5), f"still there: {ours()}"


# ---- C ----


@pytest.fixture(scope="session")
def installed(scratch):
    """A prefix as `make install DESTDIR=` makes it: that of the stage, or one of our own from where the binary is."""
    if (ROOT / "install").is_dir():
        return ROOT / "install"
    done("meson", "install", "-C", Path(HOTCELL).parent, "--no-rebuild", "--quiet", "--destdir", scratch / "install")
    return scratch / "install"


@pytest.fixture(scope="session")
def sanitized(installed):
    """Whether it is `make asan` that runs us."""
    (library,) = installed.rglob("libhotcell.so.1")
    return b"__asan_init" in library.read_bytes()


@pytest.fixture(scope="session")
def pkg(installed):
    """pkg-config's answer about what is below the prefix."""
    (config,) = installed.rglob("libhotcell.pc")

    def ask(*words):
        return done("pkg-config", *words, "libhotcell", env={"PKG_CONFIG_PATH": str(config.parent), "PKG_CONFIG_SYSROOT_DIR": str(installed)}).split()

    return ask


@pytest.fixture(scope="session")
def program(scratch, installed, pkg, sanitized):
    """program("plain"), program("asan"), program("static"): tests/api/api.c, compiled and linked as a stranger would."""
    (library,) = installed.rglob("libhotcell.so.1")
    made = {}

    def make(kind):
        if kind in made:
            return made[kind]
        path = scratch / f"api-{kind}"
        asan = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if kind == "asan" or sanitized else []
        link = [library.with_name("libhotcell.a"), *asan] if kind == "static" else [*pkg("--libs"), f"-Wl,-rpath,{library.parent}"]
        done("cc", *FLAGS, *asan, *pkg("--cflags"), ROOT / "tests" / "api" / "api.c", "-o", path, *link)
        made[kind] = path
        return path

    return make


def holds(ran):
    text = ran.stdout.decode(errors="replace")
    assert ran.returncode == 0 and "not ok" not in text, text + ran.stderr.decode(errors="replace")
    return text


def test_only_the_names_of_the_header_are_exported(installed):
    (library,) = installed.rglob("libhotcell.so.1")
    (header,) = installed.rglob("hotcell.h")
    named = set(re.findall(r"HOTCELL_EXPORT [^;]*?\b(hotcell_\w+)\(", header.read_text()))
    listed = done("nm", "-D", "--defined-only", library).splitlines()
    exported = {line.split()[-1].split("@")[0] for line in listed if " A " not in line}
    assert exported == named and len(named) == 18
    assert "libhotcell.so.1]" in done("readelf", "-d", library)
    held = {line.split()[-1] for line in done("nm", "--defined-only", "--extern-only", library.with_name("libhotcell.a")).splitlines() if " T " in line}
    assert held == named


def test_what_is_installed_is_what_is_told(installed):
    names = {path.name for path in installed.rglob("*") if path.is_file()}
    assert {"hotcell", "hotcell.h", "libhotcell.a", "libhotcell.pc", "libhotcell.3", "hotcell-run.1", "libhotcell.so.1.0.0"} <= names


@pytest.mark.parametrize("mode", ["bad", "cell", "stop", "fork"])
def test_a_c_program_with_sanitizers(program, tmp_path, mode):
    holds(command(program("asan"), mode, cwd=tmp_path))


def test_a_c_program_that_is_linked_statically(program, tmp_path):
    holds(command(program("static"), "cell", cwd=tmp_path))


@pytest.mark.parametrize("mode", ["threads", "reaper"])
def test_a_hundred_cells_of_a_program_with_threads(program, mode):
    assert f"# {8 * 13} cells" in holds(command(program("plain"), mode, timeout=120))


def test_cells_end_with_a_process_that_is_killed(program, place):
    place.chmod(0o777)
    process = subprocess.Popen([program("plain"), "sleep", "x"], cwd=place, env=environment())
    assert eventually(lambda: (place / "started").exists(), 20)
    assert ours()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert eventually(lambda: not ours(), 5)


PLANTED_C = """
#include <stddef.h>
#include <stdlib.h>
void check(const unsigned char *data, size_t len)
{
	if (len > 0 && data[0] == 'a')
		abort();
}
"""
PLANTED_PYTHON = """
def check(data: bytes):
    if data.startswith(b"ab"):
        raise RuntimeError("planted")
    if len(data) == 1:
        raise ValueError("declared")
"""


def test_a_c_program_fuzzes_a_function(program, tmp_path):
    (tmp_path / "t.c").write_text(PLANTED_C)
    text = holds(command(program("plain"), "fuzz", "t.c:check", tmp_path / "state", "duration=3s", "seed=7", cwd=tmp_path))
    assert " crash check t.c:7 3/3: " in text


# ---- Python ----


@pytest.fixture(scope="session")
def python(scratch, sanitized):
    """An environment of its own with the package, by pip, without a network: a function that runs a script in it."""
    venv = scratch / "venv"
    done(sys.executable, "-m", "venv", "--without-pip", venv)
    done(sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "-q", "--no-index", "--disable-pip-version-check", ROOT / "python",
        env={"HOTCELL_LIBRARY": str(Path(HOTCELL).with_name("libhotcell.so"))}, timeout=120)  # fmt: skip
    more = {"PYTHONPATH": None}
    if sanitized:
        more.update(LD_PRELOAD=done("cc", "-print-file-name=libasan.so").strip(), ASAN_OPTIONS="detect_leaks=0")

    def run(script, *words, timeout=90, **kwargs):
        return command(venv / "bin" / "python", "-W", "error::ResourceWarning", "-c", textwrap.dedent(script), *words, env=more, timeout=timeout, **kwargs)

    return run


def told(ran):
    assert ran.returncode == 0, (ran.stdout + ran.stderr).decode(errors="replace")
    return json.loads(ran.stdout)


def test_python_runs_a_cell(python, tmp_path):
    (tmp_path / "file").write_text("mounted")
    got = told(python("""
        import hotcell, json, sys
        result = hotcell.run(["sh", "-c", "cat; cat /m/file; echo $WORD >&2; exit 3"], input=b"in\\0put ", timeout=20, memory="64M",
            mounts={sys.argv[1]: "/m"}, env={"WORD": "said"}, tmp_exec=True)
        assert not result.ok and result.full == (not result.gaps) and result.receipt["protections"]["seccomp"]["state"] == "on"
        assert result.wall > 0 and result.setup > 0 and result.json["exit_code"] == 3
        try:
            result.check()
        except hotcell.CellFailed as error:
            said = str(error)
        print(json.dumps([result.outcome, result.exit_code, result.stdout.decode(), result.stderr.decode(), said, hotcell.version()]))
    """, tmp_path))  # fmt: skip
    assert got == ["exited", 3, "in\0put mounted", "said\n", "exited, exit code 3", "0.1.0"]


def test_python_tells_outcomes(python):
    assert told(python("""
        import hotcell, json
        with hotcell.Engine(memory="64M", cpus=1, processes=20) as engine:
            print(json.dumps([engine.run(["sleep", "60"], timeout=0.3).outcome,
                engine.run(["python3", "-c", "x = 'x' * 10**9"]).outcome,
                engine.run(["sh", "-c", "kill -11 $$"]).signal,
                engine.run(["sleep", "60"], watch=lambda progress: progress.seconds > 0.1).outcome]))
    """)) == ["timeout", "oom", 11, "cancelled"]  # fmt: skip


def test_python_with_threads_makes_a_hundred_cells_and_leaves_nothing(python):
    assert told(python("""
        import hotcell, json, os, threading
        from concurrent.futures import ThreadPoolExecutor
        hotcell.run(["true"])
        before, threads = sorted(os.listdir("/proc/self/fd")), threading.active_count()
        with hotcell.Engine() as engine:
            with ThreadPoolExecutor(8) as pool:
                results = list(pool.map(lambda i: engine.run(["echo", str(i)]), range(100)))
        assert [int(result.stdout) for result in results] == list(range(100))
        assert sorted(os.listdir("/proc/self/fd")) == before and threading.active_count() == threads
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print(json.dumps(len(results)))
    """)) == 100


def test_an_engine_is_used_after_a_fork_and_the_first_process_keeps_its_folder(python, tmp_path):
    (tmp_path / "t.py").write_text(PLANTED_PYTHON)
    assert told(python("""
        import hotcell, json, os, sys, threading, time
        with hotcell.Engine() as engine:
            folder = engine._state_folder()
            thread = threading.Thread(target=lambda: engine.run(["sleep", "60"]))
            thread.start()
            while not engine._jobs:
                time.sleep(0.01)
            pid = os.fork()
            if pid == 0:
                good = engine.run(["echo", "child"]).stdout == b"child\\n" and hotcell.run(["true"]).ok
                engine.close()
                sys.exit(0 if good else 1)
            code = os.waitpid(pid, 0)[1]
            print(json.dumps([code, os.path.isdir(folder), thread.is_alive()]))
        thread.join(20)  # its run has ended; it may not have come to its own end yet
        assert not os.path.exists(folder) and not thread.is_alive()
    """)) == [0, True, True]  # fmt: skip


def test_python_says_what_is_wrong(python):
    assert told(python("""
        import hotcell, json
        def kind(call, *args, **more):
            try:
                call(*args, **more)
            except Exception as error:
                assert str(error)
                return type(error).__name__
        engine = hotcell.Engine()
        closed = hotcell.Engine()
        closed.close()
        closed.close()
        print(json.dumps([
            kind(hotcell.run, "sh -c true"), kind(hotcell.run, [1]), kind(hotcell.run, []), kind(hotcell.run, ["a\\0b"]),
            kind(hotcell.run, ["true"], input="text"), kind(hotcell.run, ["true"], timeout=True), kind(hotcell.run, ["true"], timeout=float("nan")),
            kind(hotcell.run, ["true"], timeout=-1), kind(hotcell.run, ["true"], memory="much"), kind(hotcell.run, ["true"], memory=2**70),
            kind(hotcell.run, ["true"], mounts="x"), kind(hotcell.run, ["true"], mounts=[("a", "b", "c", "d")]), kind(hotcell.run, ["true"], env=["A=1"]),
            kind(hotcell.run, ["true"], no_such_option="1"), kind(hotcell.run, ["true"], folder="/nonexistent"), kind(hotcell.run, ["x" * 200000]),
            kind(closed.run, ["true"]), kind(engine.fuzz, "t.py:f"), kind(engine.fuzz_function, "/nonexistent/t.py", "f"), kind(engine.fuzz_function, 5),
            kind(engine.fuzz_function, "/nonexistent/t.py", "f", duration="soon"), kind(hotcell.Engine, sandbox="no"),
            kind(engine.run, ["sleep", "60"], watch=lambda progress: 1 / 0)]))
    """)) == ["TypeError", "TypeError", "UsageError", "ValueError",
        "TypeError", "TypeError", "ValueError",
        "UsageError", "UsageError", "UsageError",
        "TypeError", "ValueError", "TypeError",
        "UsageError", "UsageError", "UsageError",
        "UsageError", "TypeError", "UsageError", "TypeError",
        "UsageError", "TypeError",
        "ZeroDivisionError"]  # fmt: skip


def test_a_hotcell_that_is_killed_is_an_error(python):
    ran = python("""
        import hotcell, os, re, signal, threading, time
        def child():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if f"PPid:\\t{os.getpid()}\\n" in open(f"/proc/{pid}/status").read():
                        return int(pid)
                except OSError:
                    pass
        def kill():
            while not child():
                time.sleep(0.05)
            time.sleep(0.5)
            os.kill(child(), signal.SIGKILL)
        threading.Thread(target=kill).start()
        try:
            hotcell.run(["sleep", "60"])
        except hotcell.Failed as error:
            print(error)
    """)  # fmt: skip
    assert b"killed by signal 9" in ran.stdout, ran
    hotcell("ps")  # takes away the socket of one that could not


def test_ctrl_c_ends_what_python_waits_for(python):
    ran = python("""
        import hotcell, os, signal, sys, threading
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            hotcell.run(["sleep", "60"])
        except KeyboardInterrupt:
            sys.exit(7)
    """, timeout=30)  # fmt: skip
    assert ran.returncode == 7, ran.stderr


def test_without_a_sandbox_python_warns_and_the_environment_cannot_ask_for_it(python):
    assert told(python("""
        import hotcell, json, os, warnings
        os.environ["FUZZING_DISABLE_SANDBOX"] = "true"
        inside = hotcell.run(["id", "-u"]).receipt["backend"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outside = hotcell.run(["true"], sandbox=False)
        print(json.dumps([inside, outside.receipt["backend"], outside.full, [each.category.__name__ for each in caught], "UNPROTECTED" in outside.said]))
    """)) == ["native", "none", False, ["NoSandboxWarning"], True]


def test_no_variable_of_the_caller_changes_what_a_cell_of_python_is(python, tmp_path):
    (tmp_path / "open.yaml").write_text("memory: 32M\nenv: {OPENED: 'yes'}\n")
    assert told(python("""
        import hotcell, json, os
        plain = hotcell.run(["env"])
        os.environ["HOTCELL_PROFILE"] = os.getcwd() + "/open.yaml"
        os.environ["HOTCELL_PRETEND"] = "no-landlock,no-cgroup"
        again = hotcell.run(["env"])
        print(json.dumps([again.stdout == plain.stdout, again.receipt["protections"] == plain.receipt["protections"]]))
    """, cwd=tmp_path)) == [True, True]  # fmt: skip


def test_a_state_folder_that_came_with_a_project_is_not_believed_by_the_library(python, tmp_path):
    """Found where the job works, named, by a link or by a variable; nor does a name in a project become an option."""
    (tmp_path / "author").mkdir()
    assert hotcell("campaign", "run", "--runs", "1", "--quiet", "--", "true", cwd=tmp_path / "author").code == 0
    project = tmp_path / "project"
    shutil.copytree(tmp_path / "author", project)
    (project / ".hotcell").chmod(0o700)
    (project / "link").symlink_to(tmp_path / "author" / ".hotcell")
    (project / "t.py").write_text("def f(x: str): pass\n")
    (project / "p.yaml").write_text("doors: {service: ['docker:80=unix:/run/docker.sock']}\n")
    before = sorted((str(each), each.stat().st_mtime_ns) for each in (project / ".hotcell").rglob("*"))
    got = told(python("""
        import hotcell, json, os
        from hotcell import _library as lib
        from hotcell._job import Job
        os.environ["HOTCELL_STATE"] = os.getcwd() + "/.hotcell"
        os.environ["FUZZING_DISABLE_SANDBOX"] = "1"
        library, said = lib.Library(), []
        for target, options in (("t.py:f", {}), ("t.py:f", {"state": ".hotcell"}), ("t.py:f", {"state": "link"}), ("--no-sandbox", {})):
            with Job(library, lib.FUZZ_FUNCTION) as job:
                try:
                    for name, value in {"max-execs": 1, **options}.items():
                        job.set(name, value)
                    job.folder(os.getcwd())
                    job.add(target.encode())
                    said.append(bool(job.run(None)))
                except hotcell.UsageError as error:
                    said.append(str(error))
        try:
            hotcell.run(["true"], profile="p.yaml")
        except hotcell.UsageError as error:
            said.append(str(error))
        print(json.dumps(said))
    """, cwd=project))  # fmt: skip
    wanted = ["hotcell did not create", "hotcell did not create", "is not a folder", "'--no-sandbox': No such file", "p.yaml@sha256:"]
    assert len(got) == len(wanted) and all(part in each for part, each in zip(wanted, got)), got
    assert before == sorted((str(each), each.stat().st_mtime_ns) for each in (project / ".hotcell").rglob("*"))


def test_a_value_that_python_gives_a_cell_is_on_no_command_line(python):
    """Every user of a machine reads the command lines of all processes, so it must not be there for an instant: a program that
    is stopped at its exec shows what was there then."""
    assert told(python("""
        import hotcell, json, os, threading
        seen, over = set(), threading.Event()
        def look():
            while not over.is_set():
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        words = open(f"/proc/{pid}/cmdline", "rb").read()
                    except OSError:
                        continue
                    if words.startswith(b"hotcell\\0"):
                        seen.add(words)
        watcher = threading.Thread(target=look)
        watcher.start()
        said = [hotcell.run(["printenv", "KEY"], env={"KEY": "tinker-tailor"}).stdout for i in range(20)]
        over.set()
        watcher.join()
        print(json.dumps([set(said) == {b"tinker-tailor\\n"}, bool(seen), any(b"tinker" in each for each in seen)]))
    """)) == [True, True, False]


def test_python_fuzzes_a_function_and_keeps_nothing_it_was_not_asked_to(python, tmp_path):
    (tmp_path / "t.py").write_text(PLANTED_PYTHON)
    got = told(python("""
        import hotcell, json, os, sys, tempfile
        folder = tempfile.tempdir = os.getcwd() + "/tmp"
        os.mkdir(folder)
        seen = []
        with hotcell.Engine(memory="1G", cpus=1) as engine:
            result = engine.fuzz_function("t.py", "check", duration=4, seed=7, venv=sys.argv[1], expect=[ValueError], watch=seen.append)
        (finding,) = result.findings
        print(json.dumps([finding.message, finding.input.decode()[:2], finding.function, finding.file, finding.is_new, result.execs >= seen[-1].execs,
            result.stopped, seen[-1].seconds > 0, any(each.json for each in seen), os.listdir(folder), sorted(os.listdir("."))]))
    """, ENGINES / "python", cwd=tmp_path))  # fmt: skip
    assert got == ["RuntimeError: planted", "ab", "check", "t.py", True, True, False, True, True, [], ["t.py", "tmp"]]


def test_what_was_not_fuzzed_is_not_clean(python, tmp_path):
    (tmp_path / "t.c").write_text("int nothing(void) { return 0; }\nint fine(const char *text) { return *text == 'a'; }\n")
    *rest, said = told(python("""
        import hotcell, json
        with hotcell.Engine() as engine:
            fine = engine.fuzz_function("t.c", "fine", max_execs=100)
            result = engine.fuzz_function("t.c", "nothing", duration=5)
            try:
                result.check()
            except hotcell.FuzzFailed as failed:
                said = str(failed)
        print(json.dumps([fine.ok, fine.check() is fine, result.ok, len(result.findings), said]))
    """, cwd=tmp_path))  # fmt: skip
    assert rest == [True, True, False, 0] and said.endswith("t.c:nothing: takes nothing, so there is nothing to fuzz")


def test_fuzzing_is_stopped_from_another_thread(python, tmp_path):
    (tmp_path / "t.c").write_text(PLANTED_C.replace("len > 0", "len > 200000"))
    assert told(python("""
        import hotcell, json, threading
        with hotcell.Engine(state="state") as engine:
            began = threading.Event()
            threading.Thread(target=lambda: (began.wait(60), engine.stop())).start()
            result = engine.fuzz(["t.c:check"], duration="10m", watch=lambda progress: progress.execs and began.set())
        print(json.dumps([result.stopped, result.execs > 0, result.problems, len(result.findings)]))
    """, cwd=tmp_path)) == [True, True, [], 0]  # fmt: skip
    assert (tmp_path / "state").is_dir()


def test_the_examples_do_what_they_say(python, program, installed, pkg, scratch, tmp_path, sanitized):
    example = ROOT / "examples" / "api-c"
    (library,) = installed.rglob("libhotcell.so.1")
    asan = ["-fsanitize=address"] if sanitized else []
    done("cc", *FLAGS, *asan, *pkg("--cflags"), example / "hold.c", "-o", tmp_path / "hold", *pkg("--libs"), f"-Wl,-rpath,{library.parent}")
    ran = command(tmp_path / "hold", "sh", "-c", "cat /etc/shadow; unshare -r id")
    assert b"exited, exit code 1" in ran.stdout and b"refused 1 system call" in ran.stdout, ran
    script = (ROOT / "examples" / "api-python" / "judge.py").read_text()
    ran = python(script, "--", cwd=ROOT / "examples" / "api-python")
    assert ran.returncode == 0 and b"3 of 5 answers are right" in ran.stdout, ran

"""Fixtures of the whole-system tests.

A variation is who runs the suite (root or an ordinary user) and what HOTCELL_PRETEND takes away.
No test is ever skipped: each asserts what must be true where it runs; a few files are shared out between
root and the ordinary user (SHARED_OUT). The one variation without
any cells (an ordinary user without user namespaces) has a file of its own, test_refused.py, and
there the tests that need a cell are deselected by design.
"""

import collections
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

import doors
import harness

SOURCES = harness.ROOT / "src" / "review" / "program"


def pytest_report_header(config):
    who = "root" if harness.IS_ROOT else f"uid {os.getuid()}"
    return f"hotcell: {harness.HOTCELL}, as {who}, pretending: {' '.join(sorted(harness.PRETEND)) or 'nothing'}"


def pytest_sessionstart(session):
    # started with nohup or in the background, we were told to ignore these, and so would be whatever we start
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if not os.access(harness.HOTCELL, os.X_OK):
        pytest.exit(f"no hotcell at {harness.HOTCELL}: build it, or set HOTCELL", returncode=3)


# Minutes of others' programs, or of files that are only read, to which it is all one who started hotcell: root does every second test of these files, an ordinary
# user the others, and `make test-long` all as both.
SHARED_OUT = (
    "test_api.py",
    "test_doors_claude.py",
    "test_doors_clients.py",
    "test_example_tutor.py",
    "test_fuzz.py",
    "test_fuzz_afl.py",
    "test_fuzz_bad_targets.py",
    "test_fuzz_c.py",
    "test_fuzz_coverage.py",
    "test_fuzz_deep.py",
    "test_fuzz_function.py",
    "test_fuzz_go.py",
    "test_fuzz_hostile.py",
    "test_fuzz_java.py",
    "test_fuzz_javascript.py",
    "test_fuzz_rust.py",
    "test_fuzz_servers.py",
    "test_fuzz_view.py",
    "test_fuzz_ways.py",
)


def in_time(items):
    """Without what is marked `long`: what a sibling proves in other words or another language, and the slowest."""
    return [item for item in items if harness.LONG or not item.get_closest_marker("long")]


def shared_out(items):
    turns = collections.Counter()
    for item in items:
        if item.path.name in SHARED_OUT and not harness.LONG and "HOTCELL_ALL" not in os.environ:
            turns[item.path.name] += 1
            first = SHARED_OUT.index(item.path.name) # root begins in one file, the user in the next
            if (first + turns[item.path.name]) % 2 != int(harness.IS_ROOT):
                continue
        yield item


def pytest_collection_modifyitems(config, items):
    kept = list(shared_out(in_time(items))) if not harness.NO_CELLS else [item for item in items if item.path.name == "test_refused.py"]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: a test may not be skipped"
    return report


@pytest.fixture(scope="session")
def scratch():
    """A folder that every user may enter, for what must be reachable from a cell."""
    folder = Path(tempfile.mkdtemp(prefix="celltests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def programs(scratch):
    """The folder with the hostile program, by the name of each of its sections."""
    folder = scratch / "hostile"
    folder.mkdir(mode=0o755)
    sources = sorted(SOURCES.glob("*.c"))
    program = folder / "attack"
    subprocess.run(
        ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-static", "-O2", "-pthread", f"-I{harness.ROOT}/src", "-o", program, *sources],
        check=True,
        capture_output=True,
    )
    program.chmod(0o755)
    for source in sources:
        if source.stem != "main":
            os.link(program, folder / source.stem)
    return folder


@pytest.fixture(scope="session")
def hostile(programs):
    """hostile("kernel", "io_uring") -> the end of a `run` command line that does it."""

    def command(program, *args):
        return ["--mount", f"{programs}:/hostile", "--", f"/hostile/{program}", *map(str, args)]

    return command


@pytest.fixture(scope="session")
def receipt():
    """The receipt of an ordinary cell in this variation."""
    ran = harness.run("--", "/bin/true")
    assert ran.code == 0, ran
    return ran.result["receipt"]


@pytest.fixture(scope="session")
def is_on(receipt):
    """is_on("memory-limit"): whether the full mechanism is in effect here."""
    return lambda name: receipt["protections"][name]["state"] == "on"


@pytest.fixture
def place(scratch):
    """A fresh folder of this test, which every user may enter."""
    folder = scratch / uuid.uuid4().hex[:12]
    folder.mkdir(mode=0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def canary(scratch):
    """A file of the host that no cell may see, and that must be unchanged in the end."""
    path = scratch / f"canary-{uuid.uuid4().hex[:12]}"
    text = f"canary {uuid.uuid4().hex}\n"
    path.write_text(text)
    path.chmod(0o644)
    before = path.stat()
    yield path
    after = path.stat()
    assert path.read_text() == text
    assert (before.st_mode, before.st_uid, before.st_gid, before.st_nlink, before.st_ino) == (
        after.st_mode,
        after.st_uid,
        after.st_gid,
        after.st_nlink,
        after.st_ino,
    )


# ---- doors ----


@pytest.fixture(scope="session")
def net():
    """What is outside of the doors: a network of its own."""
    with doors.Net() as made:
        yield made


@pytest.fixture(scope="session")
def authority(scratch):
    folder = scratch / "authority"
    folder.mkdir(mode=0o755)
    return doors.Authority(folder)


@pytest.fixture
def signals(place):
    """A folder to be mounted at /signals, in which a script in a cell and its test tell each other how far they are."""
    folder = place / "signals"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


# ---- after every test ----

_last_seen = None


@pytest.fixture(autouse=True)
def nothing_left_behind(request):
    """After every test the machine is as it was: no process, zombie, cgroup, mount, file, shared
    memory more than before."""
    global _last_seen
    before = _last_seen if _last_seen is not None else harness.machine()
    yield
    left = harness.leftovers(before)
    _last_seen = harness.machine()
    assert not left, f"left behind: {sorted(map(str, left))}"

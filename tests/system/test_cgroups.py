"""Where limits come from: cells below hotcell's own cgroup, and an ordinary user who was given one."""

import contextlib
import json
import os
import pwd
import subprocess
from pathlib import Path

import pytest

from harness import HAS_V1, HOTCELL, IS_ROOT, Live, environment, eventually, inside, marker

CONTROLLERS = ("memory", "cpu", "pids")
ROOT_OF_ALL = Path("/sys/fs/cgroup")


def cgroups(pid="self"):
    """{controller: path} of v1; where there is none, {"": path} of v2."""
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        found.update({name: path for name in names.split(",")})
    v1 = {name: found[name] for name in CONTROLLERS if name in found and (ROOT_OF_ALL / name).is_dir()}
    return v1 or {"": found[""]}


def program_of(word):
    assert eventually(lambda: inside(word)), "the program runs"
    return inside(word)[0]


class Given:
    """A cgroup that belongs to an account, as a session manager gives one, and us in it while a program is started."""

    FILES = (".", "cgroup.procs", "tasks", "cgroup.subtree_control", "cgroup.threads")

    def __init__(self, user):
        self.name = f"given-{os.getpid()}"
        self.folders = [ROOT_OF_ALL / controller / path.lstrip("/") / self.name for controller, path in cgroups().items()]
        for folder in self.folders:
            folder.mkdir()
            for file in filter(lambda file: (folder / file).exists(), self.FILES):
                os.chown(folder / file, user.pw_uid, user.pw_gid)

    def enter(self):
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def gives_limits(self):
        """Also v2 gives them here, unless whoever is above has processes of its own."""
        return HAS_V1 or set(CONTROLLERS) <= set((self.folders[0] / "cgroup.controllers").read_text().split())

    def is_empty(self):
        return not any(below.is_dir() for folder in self.folders for below in folder.iterdir())

    def leave(self):
        for folder in self.folders:
            assert eventually(lambda: removed(folder)), f"something is left in {folder}"


@contextlib.contextmanager
def in_a_cgroup_of_its_own():
    """How to start what shall be in one, and that is not the root of all; without root, in ours."""
    if not IS_ROOT:
        yield None, cgroups()
        return
    given = Given(pwd.getpwuid(0))
    try:
        yield given.enter, {name: f"{path.rstrip('/')}/{given.name}" for name, path in cgroups().items()}
    finally:
        given.leave()


def test_a_cell_is_below_the_cgroup_that_hotcell_is_in_and_nowhere_else(is_on):
    word = marker()
    with in_a_cgroup_of_its_own() as (enter, ours), Live("--", "/bin/sh", "-c", "echo ready; read x", word, preexec_fn=enter) as live:
        live.wait_for(b"ready")
        cells = cgroups(program_of(word))
        for name, path in ours.items():
            if not HAS_V1:
                assert cells[name].startswith(path), (path, cells)
            elif is_on("memory-limit"):
                assert cells[name].startswith(path.rstrip("/") + "/hotcell-"), (name, path, cells)
            else:
                assert cells[name] == path, "where none is made, it is in ours"


def removed(folder):
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


@pytest.fixture
def given():
    """How to start hotcell as an ordinary user with a cgroup of its own; without root nobody can give one."""
    user = pwd.getpwnam("hotcell-test") if IS_ROOT else pwd.getpwuid(os.getuid())
    cgroup = Given(user) if IS_ROOT else None
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if IS_ROOT else []
    env = {name: text for name, text in environment(None).items() if name != "HOTCELL_PRETEND"}

    def start(*words):
        ran = subprocess.run([*become, HOTCELL, "run", "--json", *words], capture_output=True, timeout=30, env=env, cwd="/",
                             preexec_fn=cgroup and cgroup.enter)
        return json.loads(ran.stdout.splitlines()[-1])

    yield cgroup, start
    if cgroup:
        cgroup.leave()


def test_an_ordinary_user_with_a_cgroup_of_its_own_has_full_cells(given, is_on):
    cgroup, start = given
    result = start("--memory", "32M", "--", "/bin/sh", "-c", "tail /dev/zero")
    assert result["outcome"] == "oom", result
    limited = cgroup.gives_limits() if cgroup else is_on("memory-limit")
    assert result["receipt"]["full"] == limited, result["receipt"]
    assert not limited or result["oom_kills"] >= 1, result
    assert cgroup is None or eventually(cgroup.is_empty), "its cells' cgroups are gone"

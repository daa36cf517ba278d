"""The receipt says what really took effect: each claim is compared with the kernel's own view."""

import os
import re
from pathlib import Path

import pytest

from harness import (
    HAS_V1,
    IS_ROOT,
    PRETEND,
    Live,
    inside,
    marker,
    pretending,
    refused,
    run,
    slurp,
)

SPACES = {
    "user-namespace": "user",
    "pid-namespace": "pid",
    "mount-namespace": "mnt",
    "net-namespace": "net",
    "ipc-namespace": "ipc",
    "uts-namespace": "uts",
    "cgroup-namespace": "cgroup",
}
ALWAYS = {
    "pid-namespace",
    "mount-namespace",
    "net-namespace",
    "ipc-namespace",
    "uts-namespace",
    "read-only-root",
    "private-tmp",
    "private-proc",
    "non-root",
    "no-capabilities",
    "no-new-privileges",
    "seccomp",
    "process-limit",
    "disk-limit",
    "file-limits",
    "output-limit",
    "wall-clock",
    "clean-descriptors",
    "clean-environment",
    "own-session",
    "kill-all",
}


def states(ran):
    return {name: p["state"] for name, p in ran.result["receipt"]["protections"].items()}


def status_of(pid):
    return dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )


def test_what_needs_no_privilege_is_always_on(receipt):
    weak = {name for name in ALWAYS if receipt["protections"][name]["state"] != "on"}
    if "no-userns" in PRETEND:
        weak -= {"process-limit"}
    if "no-cgroup" in PRETEND or not IS_ROOT:
        weak -= {"process-limit", "kill-all"}
    assert not weak, {name: receipt["protections"][name] for name in weak}
    assert receipt["backend"] == "native"


def test_the_receipt_fits_the_variation(receipt):
    state = {name: p["state"] for name, p in receipt["protections"].items()}
    if IS_ROOT and not PRETEND:
        weak = {name: each for name, each in receipt["protections"].items() if each["state"] != "on"}
        assert weak.keys() <= (set() if HAS_V1 else {"memory-limit", "cpu-limit", "process-limit", "kill-all"}), weak
    if "no-cgroup" in PRETEND:
        assert state["memory-limit"] == "weaker" and state["cpu-limit"] != "on"
    if "no-landlock" in PRETEND:
        assert state["landlock"] == "off"
    if "no-userns" in PRETEND:
        assert state["user-namespace"] == "off"
    else:
        assert state["user-namespace"] == "on"
    assert receipt["full"] == all(each == "on" for each in state.values())
    for name, protection in receipt["protections"].items():
        assert protection["state"] == "on" or protection["note"], f"{name} does not say why"


def test_the_claims_are_true_in_the_kernels_eyes(hostile):
    word = marker()
    with Live(
        "--memory", "123M", "--processes", "45", "--cpus", "0.5", *hostile("procs", "stay", word)
    ) as live:
        live.wait_for(b"ready")
        [pid] = inside(word)
        spaces = {name: os.readlink(f"/proc/{pid}/ns/{kind}") for name, kind in SPACES.items()}
        own = {name: os.readlink(f"/proc/self/ns/{kind}") for name, kind in SPACES.items()}
        status = status_of(pid)
        cgroups = {}
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                cgroups[controller] = path
        limits = read_limits(cgroups)
        live.process.terminate()
        ran = live.finish()
    state = states(ran)
    for name in SPACES:
        assert (state[name] == "on") == (spaces[name] != own[name]), name
    assert (state["no-new-privileges"] == "on") == (status["NoNewPrivs"] == "1")
    assert (state["seccomp"] == "on") == (status["Seccomp"] == "2")
    assert (state["no-capabilities"] == "on") == (
        int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    )
    uids = set(status["Uid"].split())
    assert (state["non-root"] == "on") == ("0" not in uids), "on the host, too, it is not root"
    assert (state["memory-limit"] == "on") == (limits["memory"] == 123 << 20), limits
    assert (state["cpu-limit"] == "on") == (limits["cpu"] == 0.5), limits
    if limits["pids"]:
        assert limits["pids"] >= 45 and limits["pids"] <= 49, limits


def read_limits(cgroups):
    """What the cgroups of the process hold it to, on v1, hybrid or v2; None where nothing does."""

    def value(controller, v1, v2):
        for folder, file in (
            (f"/sys/fs/cgroup/{controller}{cgroups.get(controller, '')}", v1),
            (f"/sys/fs/cgroup{cgroups.get('', '/')}", v2),
        ):
            text = slurp(f"{folder}/{file}")
            if text and "hotcell" in folder:
                return text.decode().split()
        return None

    memory = value("memory", "memory.limit_in_bytes", "memory.max")
    pids = value("pids", "pids.max", "pids.max")
    quota = value("cpu", "cpu.cfs_quota_us", "cpu.max")
    period = value("cpu", "cpu.cfs_period_us", "cpu.max")
    share = None
    if quota and quota[0] not in ("max", "-1"):
        share = int(quota[0]) / int(period[-1])
    return {
        "memory": int(memory[0]) if memory and memory[0].isdigit() else None,
        "pids": int(pids[0]) if pids and pids[0].isdigit() else None,
        "cpu": share,
    }


def test_a_full_cell_can_be_required(receipt):
    ran = run("--require", "full", "--", "true")
    if receipt["full"]:
        assert ran.code == 0 and ran.result["receipt"]["full"], ran
        return
    lacking = [name for name, p in receipt["protections"].items() if p["state"] != "on"]
    assert any(name in refused(ran, (125,)) for name in lacking)
    assert ran.outcome == "setup-failed"


def test_single_protections_can_be_required(receipt):
    on = [name for name, p in receipt["protections"].items() if p["state"] == "on"]
    assert run("--require", ",".join(on), "--", "true").code == 0
    for name, protection in receipt["protections"].items():
        if protection["state"] != "on":
            assert name in refused(run("--require", f"seccomp,{name}", "--", "true"), (125,))


@pytest.mark.parametrize(("shown", "ruled"), [((), False), (("--mount", "/etc/passwd:/names"), False), (("--mount", "/usr/share:/names"), True),
                                           (("--image", "/"), True)])
def test_what_landlock_keeps_is_told(shown, ruled):
    """Rules for files cost each open: a cell has them that is shown a folder, or lacks another wall."""
    ran = run(*shown, "--", "true")
    assert ran.code == 0, ran
    protections = ran.result["receipt"]["protections"]
    if protections["landlock"]["state"] == "off":
        assert "no-landlock" in PRETEND
        return
    version, keeps = re.fullmatch(r"ABI (\d+): (.*)", protections["landlock"]["note"]).groups()
    files = ruled or int(version) < 6 or protections["user-namespace"]["state"] != "on"
    assert ("files" in keeps) == files and ("signals" in keeps) == (int(version) >= 6), keeps


@pytest.mark.parametrize(
    ("lack", "name", "state"),
    [("no-cgroup", "memory-limit", "weaker"), ("no-landlock", "landlock", "off")],
)
def test_a_lack_is_told_in_receipt_and_on_stderr_and_can_be_refused(lack, name, state):
    ran = run("--", "true", env=pretending(lack))
    assert ran.code == 0, ran
    assert states(ran)[name] == state
    assert ran.result["receipt"]["full"] is False
    remarks = [
        line for line in ran.err.decode().splitlines() if line.startswith("hotcell: weaker cell: ")
    ]
    assert len(remarks) == 1 and name in remarks[0] and "hotcell doctor" in remarks[0], ran
    for require in ("full", name):
        # Where more is lacking, "full" may name another one first.
        sentence = refused(run("--require", require, "--", "true", env=pretending(lack)), (125,))
        assert require == "full" or name in sentence


def _cgroups_of(live):
    """Those that bear its supervisor's number: other hotcells come and go on the same machine."""
    return [
        os.path.join(folder, name)
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if re.match(rf"hotcell-{live.process.pid}\b", name)
    ]


def test_without_cgroups_none_is_made(receipt):
    command = ("--", "sh", "-c", "echo ready; sleep 20")
    with Live(*command) as live:
        live.wait_for(b"ready")
        has_one = receipt["protections"]["memory-limit"]["note"].startswith("cgroup")
        assert bool(_cgroups_of(live)) == has_one
    with Live(*command, env=pretending("no-cgroup")) as live:
        live.wait_for(b"ready")
        assert _cgroups_of(live) == []


def test_a_full_cell_has_no_remark(receipt):
    ran = run("--", "true")
    assert (b"weaker cell" in ran.err) == (not receipt["full"]), ran


def test_root_without_user_namespaces_still_gets_a_cell_that_is_not_root(hostile):
    if not IS_ROOT:
        # An ordinary user gets none at all: test_refused.py.
        refused(run("--", "true", env=pretending("no-userns")), (125,))
        return
    word = marker()
    with Live(*hostile("procs", "stay", word), env=pretending("no-userns")) as live:
        live.wait_for(b"ready")
        [pid] = inside(word)
        status = status_of(pid)
        live.process.terminate()
        ran = live.finish()
    assert states(ran)["user-namespace"] == "off"
    assert states(ran)["non-root"] == "on"
    assert "0" not in status["Uid"].split() + status["Gid"].split()
    assert int(status["CapEff"], 16) == 0

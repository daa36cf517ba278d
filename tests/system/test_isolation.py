"""Attacks on files, processes, terminals and the kernel. Each runs for real inside a cell; the host's
canary, the host's processes and the JSON result give the verdict."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from harness import (
    IS_ROOT,
    Live,
    gone,
    is_cell_user,
    marker,
    refused,
    run,
    slurp,
    stat_of,
)

SCRATCH = {"/tmp", "/workspace", "/dev/shm"}


def all_refused(said, but=()):
    """Nothing that was tried may have worked."""
    worked = {what: result for what, result in said.items() if result == "ok" and what not in but}
    assert not worked, worked


# ---- files and paths ----


def test_a_file_of_the_host_is_not_there(hostile, canary):
    home = str(Path.home())
    ran = run(
        *hostile(
            "paths",
            "read",
            canary,
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/ssh/ssh_host_rsa_key",
            "/root/.ssh/id_rsa",
            f"{home}/.ssh/id_rsa",
            f"{home}/.bash_history",
            f"{home}/.profile",
            "/var/log/dpkg.log",
            "/proc/1/environ",
            "/sys/class/net/lo/address",
            "/etc/machine-id",
            "/run/utmp",
            "/var/lib/dpkg/status",
        )
    )
    assert ran.code == 0, ran
    assert set(ran.said.values()) <= {"ENOENT", "EACCES"}, ran
    assert ran.said[str(canary)] == "ENOENT"


def test_the_hosts_homes_and_system_folders_are_empty_or_absent(hostile):
    ran = run(
        *hostile(
            "paths", "list", "/home", "/root", "/sys", "/boot", "/srv", "/mnt", "/media", "/var/lib"
        )
    )
    assert "entry" not in ran.said.values(), ran


def test_no_chain_of_dots_leads_out(hostile, canary):
    ran = run(*hostile("paths", "climb", canary))
    assert len(ran.said) == 10, ran
    all_refused(ran.said)
    for what, result in ran.said.items():
        assert not result.isdigit(), f"{what} was read"


def test_nothing_but_scratch_space_can_be_written(hostile, canary):
    ran = run(*hostile("paths", "write"))
    writable = {what for what, result in ran.said.items() if result == "ok"}
    assert writable == SCRATCH, writable
    assert len(ran.said) > 50, "it looked into the folders"
    for folder in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/proc", "/hostile"):
        assert ran.said[folder] in ("EROFS", "EACCES", "EPERM", "ENOENT"), (
            folder,
            ran.said[folder],
        )
    assert ran.said["/usr/bin"] == "EROFS"


def test_files_of_the_host_that_are_there_cannot_be_changed(hostile):
    before = os.stat("/usr/bin/env")
    ran = run(
        *hostile("paths", "system", "/usr/bin/env", "/etc/passwd", "/hostile/paths", "/dev/null")
    )  # changes nothing where it gets through: a broken sandbox must not cost whoever runs the tests a machine
    all_refused(ran.said, but={"access:/dev/null", "open:/dev/null"})
    assert len(ran.said) > 15, ran
    after = os.stat("/usr/bin/env")
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (
        after.st_mtime_ns,
        after.st_size,
        after.st_mode,
    )


@pytest.fixture
def leaks(canary):
    """Descriptors of the host that a careless launcher would hand on: a file, the root folder."""
    numbers = [os.open(canary, os.O_RDONLY), os.open("/", os.O_PATH), 137, 138]
    os.dup2(numbers[0], 137)
    os.dup2(numbers[1], 138)
    yield tuple(numbers)
    for number in numbers:
        os.close(number)


def test_only_the_three_standard_descriptors_are_open(hostile, leaks):
    ran = run(*hostile("paths", "fds"), pass_fds=leaks)
    assert set(ran.said) == {"fd-0", "fd-1", "fd-2"}, ran
    for what, target in ran.said.items():
        assert target.startswith(("pipe:", "/dev/null", "socket:")), (what, target)


@pytest.mark.parametrize(
    "folder",
    ["/proc/self/fd/0", "/proc/self/fd/3", "/proc/self/fd/7", "/proc/self/fd/138", "/proc/1/cwd"],
)
def test_a_working_directory_through_proc_leads_nowhere(hostile, canary, leaks, folder):
    ran = run("-w", folder, *hostile("paths", "read", f".{canary}"), pass_fds=leaks)
    if ran.code != 0:
        refused(ran)
    else:
        assert ran.said[f".{canary}"] == "ENOENT", ran


def test_our_own_program_cannot_be_overwritten_through_proc(hostile):
    from harness import HOTCELL

    before = Path(HOTCELL).read_bytes()
    ran = run(*hostile("paths", "exe"))
    all_refused(ran.said, but={"init-read"})
    assert ran.said["init-mem"] in ("EACCES", "EPERM", "ENOENT", "EROFS"), ran
    assert Path(HOTCELL).read_bytes() == before


def test_devices_can_neither_be_made_nor_opened(hostile):
    ran = run(*hostile("paths", "mknod"))
    all_refused(ran.said)


def test_devices_can_be_used_and_nothing_about_them_changed():
    """For an ordinary user they are the host's own."""
    devices = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")]

    def seen():
        return [(os.stat(each).st_mode, os.stat(each).st_mtime_ns) for each in devices[:3]]

    before = seen()
    script = 'for each; do touch -c "$each" && echo "$each"; chmod 600 "$each" && echo "$each"; done 2>/dev/null'
    ran = run("--", "sh", "-c", f"{script}; echo x > /dev/null; head -c 3 /dev/zero | wc -c; echo x > /dev/full || echo full", "sh", *devices)
    assert ran.out.split() == [b"3", b"full"], ran
    assert seen() == before


def test_files_cannot_be_opened_by_a_guessed_handle(hostile):
    ran = run(*hostile("paths", "handle"))
    all_refused(ran.said)
    assert ran.said["by-handle-guessed"] == "0"
    assert ran.said["by-handle-real"] == "EPERM"


def test_nothing_can_be_mounted_in_any_way(hostile):
    ran = run(*hostile("paths", "mount"))
    assert len(ran.said) >= 20
    all_refused(ran.said)
    assert ran.result["refused"]["calls"].get("mount", 0) >= 5, ran.result["refused"]


def test_nothing_that_is_masked_can_be_uncovered(hostile):
    ran = run(*hostile("paths", "umount"))
    assert len(ran.said) >= 5
    all_refused(ran.said)


def test_every_mount_is_without_setuid_and_but_for_dev_without_devices(hostile):
    ran = run(*hostile("paths", "mounts"))
    mounts = [line.split() for line in ran.lines if line]
    assert len(mounts) >= 5
    for mount in mounts:
        point, flags = mount[4], mount[5].split(",")
        assert "nosuid" in flags, mount
        if mount[3] in ("/null", "/dev/null"):
            continue  # what covers a file of /proc
        # Our own read-only root holds the few devices of /dev; nobody can add to it.
        ours = mount[mount.index("-") + 1 :][:2] == ["tmpfs", "hotcell"] and "ro" in flags
        assert "nodev" in flags or point.startswith("/dev/") or ours, mount
        assert "ro" in flags or point in SCRATCH or point.startswith("/dev/"), mount


def test_a_setuid_bit_of_our_own_making_gives_nothing(hostile):
    ran = run(*hostile("paths", "setuid"))
    assert (
        ran.said["setuid"] != "ok" and ran.said["setgid"] != "ok" and ran.said["chown"] != "ok"
    ), ran
    assert is_cell_user(*(ran.said[name] for name in ("uid", "euid", "suid", "gid", "egid"))), ran


def test_a_setuid_program_in_a_mount_or_on_the_host_gives_nothing(hostile, programs, place):
    shutil.copy(programs / "paths", place / "suid")
    os.chmod(place / "suid", 0o6755)
    ran = run("--mount", f"{place}:/place", *hostile("paths", "become", "/place/suid"))
    assert is_cell_user(*(ran.said[name] for name in ("uid", "euid", "suid", "gid", "egid"))), ran
    ran = run("--", "sh", "-c", "su -c id root </dev/null || passwd -S root; id -u")
    assert is_cell_user(ran.lines[-1]), ran


def test_shared_memory_is_private_to_a_cell(hostile):
    name = marker()
    with Live(*hostile("paths", "shm", name)) as first:
        first.wait_for(b"ready")
        assert not Path("/dev/shm", name).exists()
        second = run("-t", "5s", *hostile("paths", "list", "/dev/shm", "/tmp"))
        assert "entry" not in second.said.values(), second


# ---- processes, descriptors, terminals, signals ----


def test_no_process_but_the_cells_own_is_in_sight(hostile):
    secret = marker()
    env = {"HOST_SECRET": secret}
    with Live("--", "sleep", "5", env=env):
        ran = run(*hostile("procs", "scan"), env=env)
    found = [int(line.split()[1]) for line in ran.lines if line.startswith("pid ")]
    assert 1 <= len(found) <= 2, ran
    assert secret.encode() not in ran.out
    assert b"pytest" not in ran.out


def test_the_kernels_knobs_cannot_be_turned(hostile):
    core = slurp("/proc/sys/kernel/core_pattern")
    ran = run(*hostile("procs", "tune"))
    assert len(ran.said) == 30, ran
    all_refused(ran.said)
    assert slurp("/proc/sys/kernel/core_pattern") == core


def test_what_proc_tells_about_the_kernel_is_masked(hostile):
    ran = run(*hostile("procs", "masked"))
    said = dict(ran.said)
    boot = said.pop("boot-id")
    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", boot), ran
    assert boot != Path("/proc/sys/kernel/random/boot_id").read_text().strip() and said["/proc/cmdline"] == "0"
    for file, result in said.items():
        assert result in ("0", "ENOENT", "EACCES", "EPERM"), f"{file} gave {result}"


def test_two_cells_do_not_share_the_id_of_a_boot():
    first, second = (run("--", "cat", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/random/boot_id").out.split() for _ in range(2))
    assert first[0] == first[1] != second[0] == second[1]
    ran = run("--", "sh", "-c", "echo x > /proc/sys/kernel/random/boot_id; rm -f /proc/sys/kernel/random/boot_id; umount /proc/sys/kernel/random/boot_id"
              "; cat /proc/sys/kernel/random/boot_id; cat /proc/sys/kernel/random/uuid")
    assert len(set(ran.out.split()) - {Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()}) == 2, ran


def test_characters_cannot_be_pushed_into_a_terminal(hostile):
    ran = run(*hostile("procs", "tiocsti"))
    all_refused(ran.said)
    assert len(ran.said) >= 16


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_signals_to_everyone_reach_only_the_cell(hostile, number):
    with (
        subprocess.Popen(["sleep", "30"]) as canary,
        Live("-t", "20s", *hostile("procs", "stay")) as other,
    ):
        other.wait_for(b"ready")
        ran = run("-t", "5s", *hostile("procs", "everyone", int(number)))
        assert ran.code == 0, ran
        assert int(ran.said["reached"]) <= 1, "init may be signalled, but it does not listen"
        assert canary.poll() is None
        assert stat_of(canary.pid)[1] == "S"
        assert other.process.poll() is None
        assert stat_of(other.pid)[1] in "SR", "our supervisor was stopped"
        canary.kill()


def test_the_cells_init_cannot_be_tampered_with(hostile):
    word = marker()
    start = time.monotonic()
    ran = run("-t", "1s", "--processes", "40", *hostile("procs", "tamper", word), timeout=20)
    for what in ("prlimit", "affinity", "idle", "nice"):
        assert ran.said[what] != "ok", ran
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert time.monotonic() - start < 5
    assert gone(word)


def test_a_storm_of_refused_calls_does_not_put_off_the_end(hostile):
    word = marker()
    start = time.monotonic()
    ran = run("-t", "1s", *hostile("kernel", "storm", word), timeout=20)
    assert (ran.code, ran.outcome) == (124, "timeout"), ran
    assert time.monotonic() - start < 5
    assert ran.result["refused"]["calls"]["unshare"] >= 32, ran.result["refused"]
    assert gone(word)


# ---- the kernel's surface ----


def test_no_new_namespace_can_be_made(hostile):
    ran = run(*hostile("kernel", "namespaces"))
    assert len(ran.said) >= 27, ran
    all_refused(ran.said)
    for what, result in ran.said.items():
        if what.startswith("clone3"):
            assert result == "ENOSYS", "libc then falls back to clone, whose flags can be seen"
        else:
            assert result in ("EPERM", "EINVAL"), (what, result)


def test_no_other_namespace_can_be_entered(hostile):
    ran = run(*hostile("kernel", "setns"))
    all_refused(ran.said)


def test_system_calls_of_other_architectures_kill(hostile):
    ran = run(*hostile("kernel", "foreign"))
    for what, result in ran.said.items():
        assert result == f"signal-{int(signal.SIGSYS)}", (what, result)


def test_a_program_ended_by_the_filter_is_called_denied(hostile):
    ran = run(*hostile("kernel", "foreign-here"))
    assert (ran.code, ran.outcome, ran.result["signal"]) == (
        128 + signal.SIGSYS,
        "denied",
        signal.SIGSYS,
    ), ran
    assert len(ran.own) == 1


def test_who_sends_itself_the_filters_signal_is_not_said_to_be_ended_by_the_filter(hostile):
    """Nothing tells the two apart: so it is the signal that is told."""
    ran = run(*hostile("procs", "die", int(signal.SIGSYS)))
    assert (ran.code, ran.outcome) == (128 + signal.SIGSYS, "denied"), ran
    assert "ended by the signal of the system call filter" in ran.own[0], ran


def test_io_uring_does_not_exist(hostile):
    ran = run(*hostile("kernel", "io_uring"))
    assert ran.said == {"setup": "ENOSYS", "enter": "ENOSYS", "register": "ENOSYS"}, ran


def test_unknown_system_calls_do_not_exist(hostile):
    ran = run(*hostile("kernel", "unknown"))
    assert ran.said == {"other-than-enosys": "0", "first": "0", "huge": "ENOSYS"}, ran


def test_the_kernels_keys_cannot_be_used(hostile):
    name = marker()
    ran = run(*hostile("kernel", "keys", name))
    assert len(ran.said) == 6
    all_refused(ran.said)
    assert name.encode() not in (slurp("/proc/keys") or b"")


def test_debugging_machine_and_privilege_calls_are_refused(hostile):
    ran = run(*hostile("kernel", "surface"))
    said = ran.said
    assert said.pop("no-new-privs") == "1"
    assert len(said) >= 40, said
    all_refused(said)
    assert os.uname().nodename != "owned"


def test_only_plain_socket_families_can_be_had(hostile):
    ran = run(*hostile("kernel", "sockets"))
    plain = {"unix", "tcp4", "udp4", "tcp6"}
    for family in plain - {"tcp6"}:
        assert ran.said[family] == "ok", ran
    # mptcp and sctp are plain sockets of another protocol; a network without interfaces holds them.
    all_refused(ran.said, but=plain | {"mptcp", "sctp"})


OUTLIVING = """import errno, socket, struct
label = socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("!I", 0x51ab7) + struct.pack("=BBHHHI", 0, 1, 1, 60, 60, 0)
for name, level, option, value in [("pacing", 1, 47, 1), ("filter", 1, 26, bytes(16)), ("ttl", 0, 21, 255), ("hops", 41, 73, 255),
                                   ("md5", 6, 14, bytes(216)), ("md5-prefix", 6, 32, bytes(216)), ("ao", 6, 38, bytes(288)),
                                   ("delay", 6, 37, 1), ("patience", 6, 44, 99999), ("label", 41, 32, label),
                                   ("device", 1, 25, b"lo"), ("interface", 1, 62, 1), ("route", 0, 4, bytes([131, 7, 4, 127, 0, 0, 2, 0])),
                                   ("route6", 41, 57, bytes([0, 4, 4, 1, 1, 0, 0, 0]) + bytes(32)), ("route6-old", 41, 6, b""), ("picker", 1, 51, bytes(16))]:
    try:
        socket.socket(socket.AF_INET6).setsockopt(level, option, value)
        print(name, "ok")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
print("lines", open("/proc/net/ip6_flowlabel").read().count("\\n"))
"""


def test_what_a_socket_would_leave_when_the_cell_is_gone_cannot_be_asked_for():
    """Connections that send slowly, where nobody is, or hear no answer are kept by the kernel, with their memory; flow labels by the network."""
    ran = run("python3", "-c", OUTLIVING)
    said = ran.said
    assert said.pop("lines") == "1" and len(said) == 16 and set(said.values()) == {"EPERM"}, ran


def test_a_connection_that_nobody_answers_does_not_wait_for_minutes():
    """It would do so after the end of the cell, too. The knob came with Linux 6.15."""
    knob = Path("/proc/sys/net/ipv4/tcp_rto_max_ms")
    assert not knob.exists() or run("cat", knob).out == b"15000\n"


def test_an_abstract_socket_of_the_host_cannot_be_reached(hostile):
    name = marker()
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + name)
    server.listen(1)
    server.settimeout(0)
    try:
        ran = run(*hostile("kernel", "abstract", name))
        assert ran.said["connect"] in ("ECONNREFUSED", "EPERM", "EACCES"), ran
        assert ran.said["send"] != "ok"
        with pytest.raises(BlockingIOError):
            server.accept()
    finally:
        server.close()


def test_an_abstract_socket_of_another_cell_cannot_be_reached(hostile):
    name = marker()
    with Live(*hostile("kernel", "abstract-listen", name)) as listener:
        listener.wait_for(b"ready")
        ran = run(*hostile("kernel", "abstract", name))
        assert ran.said["connect"] in ("ECONNREFUSED", "EPERM", "EACCES"), ran


def test_the_network_is_unreachable_and_the_hosts_loopback_too(hostile):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(5)
    server.settimeout(0)
    try:
        ran = run(*hostile("kernel", "connect", server.getsockname()[1]))
        with pytest.raises(BlockingIOError):
            server.accept()
    finally:
        server.close()
    assert ran.said["127.0.0.1"] == "ECONNREFUSED", ran
    for host in (
        "1.1.1.1",
        "10.0.0.1",
        "169.254.169.254",
        "192.168.0.1",
        "udp-1.1.1.1",
        "udp-169.254.169.254",
    ):
        assert ran.said[host] == "ENETUNREACH", ran
    assert ran.said["ip6"] in ("ENETUNREACH", "EADDRNOTAVAIL"), ran


def test_the_cells_own_loopback_works_and_is_all_there_is(hostile):
    ran = run(*hostile("kernel", "loopback"))
    assert (ran.said["bind"], ran.said["listen"], ran.said["connect"]) == ("ok", "ok", "ok"), ran
    assert [what for what, result in ran.said.items() if result == "interface"] in (["lo"], []), ran


@pytest.mark.parametrize("writable", ["", ":rw"])
def test_no_lease_makes_the_host_wait_for_a_file(hostile, place, writable):
    (place / "file").write_text("as it was")
    with Live("--mount", f"{place}:/shown{writable}", *hostile("shown", "leases", "/shown/file", "/shown/go")) as cell:
        cell.wait_for(b"ready")
        os.close(os.open(place / "file", os.O_WRONLY | os.O_NONBLOCK))  # fails where there is a lease
        (place / "go").touch()
        said = dict(line.split() for line in cell.finish().out.decode().splitlines() if " " in line)
    assert len(said) == 12 and set(said.values()) == {"EPERM"}, said


SYNCING = """import errno, os, ctypes
for name in ("fsync", "fdatasync"):
    try:
        getattr(os, name)(99)  # is not open, which only the kernel would know
        print(name, "ok")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
print("range", "ok" if ctypes.CDLL(None).sync_file_range(99, 0, 0, 7) == 0 else "EBADF")
"""


@pytest.mark.parametrize("how", ["ro", "rw"])
def test_no_disk_of_the_host_is_made_to_empty_its_cache_by_who_writes_to_none(place, how):
    said = run("--mount", f"{place}:/shown:{how}", "python3", "-c", SYNCING).said
    assert len(said) == 3 and set(said.values()) == {"ok" if how == "ro" else "EBADF"}, said


def test_credentials_are_empty_as_the_kernel_tells_them(hostile):
    said = run(*hostile("procs", "status")).said
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(said[name], 16) == 0, (name, said[name])
    assert said["NoNewPrivs"] == "1"
    assert said["Seccomp"] == "2"
    assert is_cell_user(*said["Uid"].split(","), *said["Gid"].split(","))
    assert said.get("Groups", "") in ("", "65534") or not IS_ROOT, said.get("Groups")

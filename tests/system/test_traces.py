"""Cells of a campaign use the same slots one after another: nothing that one leaves is seen by the next."""

import json
import subprocess

import pytest

from campaigns import Supervisor, campaign, sessions
from harness import HOTCELL, PRETEND, descendants, environment, eventually, slurp


@pytest.mark.parametrize("workers", [1, 3])
def test_no_run_finds_a_trace_of_an_earlier_one(place, programs, workers):
    """Each leaves another kind of trace; every kind is followed by runs that look for all of them."""
    ran = campaign(place, "--workers", str(workers), "--runs", "100", "--mount", f"{programs}:/hostile", "--",
                   "/bin/sh", "-c", "exec /hostile/traces run $HOTCELL_RUN")
    said = {number: (folder / "stdout.log").read_text() for number, folder in sessions(place).items()}
    assert ran.code == 0, ({number: text for number, text in said.items() if text}, ran)
    assert not any(said.values()), said


def test_runs_that_leave_nothing_are_alike(place):
    """What can be seen of a used slot is what can be seen of a new one."""
    # without user namespaces a slot's user is the number that it has outside, another for each slot
    owner = "" if "no-userns" in PRETEND else "%u %g"
    look = f"stat -c '%A {owner} %s %h' /tmp /dev/shm /workspace; grep -v ' /proc/' /proc/mounts; ls -A /tmp /dev/shm . ; ulimit -a"
    assert campaign(place, "--workers", "1", "--runs", "6", "--", "/bin/sh", "-c", look).code == 0
    texts = {(folder / "stdout.log").read_text() for folder in sessions(place).values()}
    assert len(texts) == 1, texts


def test_the_only_proc_is_the_cells_own_in_new_slots_and_used_ones(place):
    """The host's is lent to an ordinary user's makers, since a new one may only be mounted in sight of it."""
    look = "grep -c ' proc ' /proc/mounts; ls -d /proc/[0-9]* | wc -l; readlink /proc/self"
    assert campaign(place, "--workers", "1", "--runs", "4", "--", "/bin/sh", "-c", look).code == 0
    for folder in sessions(place).values():
        mounts, processes, self = map(int, (folder / "stdout.log").read_text().split())
        assert mounts == 1 and processes <= 4 and self < 10, (mounts, processes, self)


def test_where_the_hosts_proc_is_masked_no_cell_has_one(place):
    """As in a container: nobody may mount a new one there, and the host's is not left instead."""
    mask = 'mount --bind /dev/null /proc/version && exec "$0" "$@"'
    look = "ls -A /proc; test ! -e /proc/version && echo none"
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mask, HOTCELL, "campaign", "run", "--workers", "1", "--runs",
            "4", "--", "/bin/sh", "-c", look]
    env = {name: text for name, text in environment(None).items() if name != "HOTCELL_PRETEND"}  # it takes a user namespace
    ran = subprocess.run(argv, capture_output=True, timeout=60, env=env, cwd=place)
    assert ran.returncode == 0, ran
    assert {each["receipt"]["protections"]["private-proc"]["state"] for each in results([place])} == {"weaker"}
    assert [(folder / "stdout.log").read_text() for folder in sessions(place).values()] == ["none\n"] * 4


def test_what_a_program_asks_of_ipc_still_works_in_a_used_slot(place):
    script = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n" \
        "made = libc.shmget(5, 4096, 0o1666), libc.semget(5, 1, 0o1666), libc.msgget(5, 0o1666)\n" \
        "assert min(made) >= 0 and libc.shmget(5, 4096, 0o3666) < 0 and ctypes.get_errno() == 17, made"
    ran = campaign(place, "--workers", "1", "--runs", "6", "--", "python3", "-c", script)
    assert ran.code == 0, [(folder / "stderr.log").read_text() for folder in sessions(place).values()]


# A listener whose queue is full answers nobody: the second client still holds its byte when all processes are dead, and waits
# longer for an answer each time.
LEAVE_SOCKET = """import os, socket, time
print([line.split()[1:4] for line in open("/proc/net/tcp6").read().splitlines()[1:]])
if int(os.environ["HOTCELL_RUN"]) <= 3:
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 60)
    server.bind(("::1", 4000))
    server.listen(0)
    clients = [socket.create_connection(("::1", 4000)) for _ in range(2)]
    [client.send(b"x") for client in clients]
    time.sleep(3.5)
"""


def test_a_network_with_a_dying_socket_is_not_used_again(place):
    """Of IPv6, which has counts of its own."""
    assert campaign(place, "--workers", "3", "--runs", "12", "--", "python3", "-c", LEAVE_SOCKET).code == 0
    texts = {(folder / "stdout.log").read_text() for folder in sessions(place).values()}
    assert texts == {"[]\n"}, texts


def results(folder):
    return [json.loads((each / "result.json").read_text())["result"] for _, each in sorted(sessions(*folder).items())]


def test_memory_that_one_run_filled_is_not_counted_for_the_next(place, is_on):
    fill = "[ $((HOTCELL_RUN % 2)) = 0 ] || head -c 60000000 /dev/zero > /tmp/x"
    assert campaign(place, "--workers", "1", "--runs", "20", "--", "/bin/sh", "-c", fill).code == 0
    peaks = [each["peak_memory"] for each in results([place])]
    if is_on("memory-limit"):
        assert all(peak > 50 << 20 for peak in peaks[::2]) and all(peak < 20 << 20 for peak in peaks[1::2]), peaks
    written = [each["written_bytes"] for each in results([place])]
    assert all(written[::2]) and not any(written[1::2]), written


def test_runs_that_fill_all_their_memory_do_not_hurt_those_after_them(place):
    campaign(place, "--workers", "2", "--runs", "16", "--memory", "16M", "--", "/bin/sh", "-c",
             "head -c 100000000 /dev/zero > x")
    ended = results([place])
    assert [(each["outcome"], each["lost"]) for each in ended] == [("oom", False)] * 16, ended


def shared(pid):
    maps = (slurp(f"/proc/{pid}/maps") or b"").decode(errors="replace")
    return [line for line in maps.splitlines() if line.split()[1].endswith("s") and "ledger" in line]


def test_nothing_that_makes_cells_shares_memory_with_the_supervisor(place):
    """A ledger is mapped and shared by who writes it; what is forked off has it no more."""
    with Supervisor(place, "--runs", "1", "--plain", "--", "sleep", "5") as it:
        it.wait_for("Starting")
        assert eventually(lambda: shared(it.pid)), "the supervisor maps its ledger"
        makers = lambda: [pid for pid in descendants(it.pid) if slurp(f"/proc/{pid}/maps")]
        assert eventually(lambda: len(makers()) >= 2), "a zygote and an init"
        assert eventually(lambda: not any(shared(pid) for pid in makers())), [(pid, shared(pid)) for pid in makers()]
        assert it.finish() == 0

"""Measures what passes a door beside other proxies: the same client and the same server on this machine's
loopback, with hotcell's client in a cell and the others' outside.

Contenders take turns in short rounds, so that whatever else the machine does hits all alike.
"""
import contextlib
import json
import pathlib
import shutil
import socket
import statistics
import struct
import subprocess
import threading
import time

from campaigns import Broken

NAME = "bench.test"
TUNNELS = 1000
CELLS = 16
PATIENCE = 60


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Names(threading.Thread):
    """A name server that knows one name: it is here."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                asked, who = self.socket.recvfrom(1500)
            except OSError:
                return
            end = asked.index(b"\0", 12) + 5
            is_v4 = asked[end - 4:end - 2] == b"\0\1"
            answer = b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 60, 4, bytes((127, 0, 0, 1)))
            head = asked[:2] + struct.pack(">HHHHH", 0x8180, 1, int(is_v4), 0, 0)
            self.socket.sendto(head + asked[12:end] + (answer if is_v4 else b""), who)

    def done(self):
        self.socket.close()


def await_port(port, process, what):
    for _ in range(PATIENCE * 20):
        if process.poll() is not None:
            raise Broken(f"{what} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise Broken(f"{what} does not listen")


class Proxy:
    """One of the others, with everything off that only costs it time."""

    def __init__(self, name, folder):
        self.name, self.port, self.process = name, free_port(), None
        self.program = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        if not self.program:
            return
        folder = folder / name
        folder.mkdir()
        folder.chmod(0o777)
        command = getattr(self, name)(folder)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=folder)
        await_port(self.port, self.process, name)

    def squid(self, folder):
        (folder / "hosts").write_text(f"127.0.0.1 {NAME}\n")
        (folder / "squid.conf").write_text(f"""http_port 127.0.0.1:{self.port}
http_access allow all
cache deny all
access_log none
cache_log {folder}/cache.log
pid_filename none
coredump_dir {folder}
hosts_file {folder}/hosts
pinger_enable off
max_filedescriptors 16384
shutdown_lifetime 0 seconds
""")
        # a name of its own: its shared memory is named by it, and what one that was killed left would be in the way
        return [self.program, "-N", "-n", f"bench{self.port}", "-f", str(folder / "squid.conf")]

    def tinyproxy(self, folder):
        (folder / "tinyproxy.conf").write_text(f"""Port {self.port}
Listen 127.0.0.1
Timeout 600
MaxClients 4096
LogLevel Critical
LogFile "{folder}/log"
""")
        return [self.program, "-d", "-c", str(folder / "tinyproxy.conf")]

    def place(self, port):
        return f"{NAME}:{port}" if self.name == "squid" else f"127.0.0.1:{port}"

    def done(self):
        if not self.process:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def children(pid):
    found, todo = [], [pid]
    while todo:
        for task in pathlib.Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                below = [int(each) for each in task.read_text().split()]
                found += below
                todo += below
    return found


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def last_json(text, what):
    lines = text.strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        raise Broken(f"{what}: {lines[-1] if lines else 'nothing was said'}") from None


class Doors:
    def __init__(self, stage):
        self.stage, self.load = stage, str(stage / "doorload")
        self.names, self.port = Names(), free_port()
        self.server = subprocess.Popen([self.load, "serve", str(self.port)], stdout=subprocess.DEVNULL)
        await_port(self.port, self.server, "the server")
        self.peers = []
        for name in ("squid", "tinyproxy"):
            self.peers.append(Proxy(name, stage))

    def done(self):
        for peer in self.peers:
            peer.done()
        self.server.kill()
        self.server.wait()
        self.names.done()

    def options(self):
        return ["--allow", f"{NAME}:{self.port},private", "--resolver", f"127.0.0.1:{self.names.port}",
                "--cpus", "2", "--open-files", "4096", "--memory", "2G",
                "--mount", f"{self.load}:/bench/doorload"]

    def ways(self, direct=True):
        """Each contender: its name, what comes before the client's arguments, and whom it asks for."""
        if direct:
            yield "direct", [self.load], ["direct", f"127.0.0.1:{self.port}"]
        cell = [str(self.stage / "hotcell"), "run", "-q", *self.options(), "--", "/bench/doorload"]
        yield "hotcell", cell, ["127.0.0.1:3128", f"{NAME}:{self.port}"]
        for peer in self.peers:
            if peer.process:
                yield peer.name, [self.load], [f"127.0.0.1:{peer.port}", peer.place(self.port)]

    def measure(self, kind, rounds, *arguments, direct=True):
        """Rounds in turns; for each contender all that was said."""
        said = {}
        for _ in range(rounds):
            for name, before, via in self.ways(direct):
                ran = subprocess.run([*before, kind, *via, *map(str, arguments)], capture_output=True, text=True,
                                     timeout=PATIENCE)
                said.setdefault(name, []).append(last_json(ran.stdout or ran.stderr, f"{name} {kind}"))
        return said

    def rates(self, kind, rounds, *arguments, direct=True):
        said = self.measure(kind, rounds, *arguments, direct=direct)
        return {name: {"rate": statistics.median(each["rate"] for each in all_of),
                       "p50_us": statistics.median(each["p50_us"] for each in all_of),
                       "p99_us": statistics.median(each["p99_us"] for each in all_of)}
                for name, all_of in said.items()}

    def memory(self):
        """Resident memory of each proxy with many open tunnels."""
        found = {}
        for name, before, via in self.ways(direct=False):
            with subprocess.Popen([*before, "hold", *via, str(TUNNELS)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as holder:
                if holder.stdout.readline().strip() != "held":
                    holder.kill()
                    raise Broken(f"{name} does not hold {TUNNELS} tunnels")
                if name == "hotcell":
                    ours = [pid for pid in children(holder.pid) if
                            pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "hotcell-doord"]
                    found[name] = sum(map(resident, ours))
                else:
                    peer = next(each for each in self.peers if each.name == name)
                    found[name] = sum(map(resident, [peer.process.pid, *children(peer.process.pid)]))
                holder.stdin.close()
        return found

    def share(self, count):
        """Cells that all want tunnels at once: the rate of each."""
        folder = self.stage / f"share-{time.monotonic_ns()}"
        folder.mkdir()
        ran = subprocess.run([str(self.stage / "hotcell"), "campaign", "run", "--quiet", "--runs", str(CELLS), "--workers",
                              str(CELLS), *self.options(), "--", "/bench/doorload", "connects", "127.0.0.1:3128",
                              f"{NAME}:{self.port}", str(count), "2"], cwd=folder, capture_output=True, text=True,
                             timeout=2 * PATIENCE)
        if ran.returncode != 0:
            raise Broken(f"{CELLS} cells: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}")
        return [last_json(log.read_text(), "a cell")["rate"] for log in sorted(folder.glob("fuzz/runs/*/stdout.log"))]

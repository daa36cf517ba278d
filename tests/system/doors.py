"""What is outside of the doors, for tests: a network of its own with name servers, servers and proxies.

The network is a namespace whose loopback has every address there is, so that a server can be at a public
one, and at port 443 as an ordinary user, and nothing ever leaves the machine. hotcell is started inside
it. A process holds the namespace and makes its sockets; the servers behind them are threads of the test.
"""

import contextlib
import ctypes
import fcntl
import ipaddress
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

if __name__ != "__main__":
    import harness

NEW_NET, NEW_USER = 0x40000000, 0x10000000
PUBLIC, OTHER_PUBLIC, PUBLIC6 = "93.184.215.14", "93.184.215.15", "2606:2800:21f::14"


# ---- the network ----


def _call(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def _loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh22x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running


def _all_addresses_are_ours(family):
    """ip route add local default dev lo"""
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 255, 3, 254, 2, 0) + struct.pack("=HHI", 8, 4, 1)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), 24, 0x405, 1, 0) + body)
        [code] = struct.unpack("=i", netlink.recv(4096)[16:20])
    if code:
        raise OSError(-code, "RTM_NEWROUTE")


def _make():
    """For preexec_fn."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", NEW_NET | (0 if uid == 0 else NEW_USER))
    if uid != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            Path(f"/proc/self/{name}").write_text(text)
    _loopback_up()
    _all_addresses_are_ours(socket.AF_INET)
    _all_addresses_are_ours(socket.AF_INET6)
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")


def _bound(address, port, kind):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND
    made.bind((address, port))
    if kind == socket.SOCK_STREAM:
        made.listen(4096)
    return made


def _add_address(address, prefix):
    """ip addr add ADDRESS/PREFIX dev lo"""
    packed = ipaddress.ip_address(address).packed
    family = socket.AF_INET6 if len(packed) == 16 else socket.AF_INET
    body = struct.pack("=BBBBI", family, prefix, 2, 0, 1)  # without waiting for duplicates
    for kind in (1, 2):
        body += struct.pack("=HH", 4 + len(packed), kind) + packed
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), 20, 0x605, 1, 0) + body)
        [code] = struct.unpack("=i", netlink.recv(4096)[16:20])
    if code not in (0, -17):
        raise OSError(-code, "RTM_NEWADDR")


def _hold():
    """The process inside: makes sockets until nobody asks any more."""
    with socket.socket(fileno=0) as asked:
        while question := asked.recv(4096):
            try:
                with _bound(*json.loads(question)) as made:
                    socket.send_fds(asked, [b"ok"], [made.fileno()])
            except OSError as error:
                asked.send(str(error).encode())


class Net:
    """A network namespace. harness.run(..., preexec_fn=net.enter) starts hotcell inside."""

    def __init__(self):
        self.asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([sys.executable, "-I", "-S", __file__], stdin=theirs, preexec_fn=_make)
        kinds = [("net", NEW_NET)] if os.getuid() == 0 else [("user", NEW_USER), ("net", NEW_NET)]
        self.namespaces = [
            (os.open(f"/proc/{self.process.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind) for name, kind in kinds
        ]
        self.lock = threading.Lock()

    def enter(self):
        for fd, kind in self.namespaces:
            _call("setns", fd, kind)

    def socket(self, address, port, kind=socket.SOCK_STREAM):
        """Bound there, port 0 for any, and listening."""
        with self.lock:
            self.asked.send(json.dumps([address, port, int(kind)]).encode())
            answer, fds, _, _ = socket.recv_fds(self.asked, 4096, 1)
        assert answer == b"ok", f"{address}:{port}: {answer.decode()}"
        return socket.socket(fileno=fds[0])

    def own(self, address, prefix):
        """From now on an interface of the machine has this address."""

        def add():
            self.enter()
            _add_address(address, prefix)

        subprocess.run([sys.executable, "-I", "-S", "-c", ""], preexec_fn=add, check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.asked.close()
        self.process.wait(10)
        for fd, _ in self.namespaces:
            os.close(fd)


# ---- servers ----


class Server:
    """Threads behind sockets; leaving the `with` block ends them."""

    def __init__(self, listener):
        self.listener = listener
        self.port = 0 if listener.family == socket.AF_UNIX else listener.getsockname()[1]
        self.changed = threading.Condition()
        self.over = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        raise NotImplementedError

    def wait_for(self, check, seconds=20):
        """Until check() is true; gives back what it was."""
        with self.changed:
            self.changed.wait_for(check, seconds)
            return check()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.listener.close()


class Names(Server):
    """A name server. table: {name: [answer, ...]}: the first question gets the first answer, later ones the
    next, and the last stays. An answer is a list of addresses and of names, each an alias of which the table
    knows the rest; None, for silence; or bytes, as they are, after the number of the question. asked: the names of all questions, each of its type ("A", "AAAA")."""

    TYPES = {1: "A", 28: "AAAA"}

    def __init__(self, net, table, ttl=0):
        self.table, self.ttl, self.asked = table, ttl, []
        super().__init__(net.socket("127.0.0.1", 0, socket.SOCK_DGRAM))

    @property
    def option(self):
        return ["--resolver", f"127.0.0.1:{self.port}"]

    def times(self, name, kind="A"):
        return self.asked.count((name, kind))

    def _serve(self):
        while not self.over:
            try:
                question, client = self.listener.recvfrom(4096)
            except OSError:
                return
            if question and (reply := self._reply(question)):
                self.listener.sendto(reply, client)

    @staticmethod
    def _wire(name):
        return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"

    def _reply(self, question):
        at, labels = 12, []
        while size := question[at]:
            labels.append(question[at + 1 : at + 1 + size].decode("latin-1").lower())
            at += 1 + size
        name = ".".join(labels)
        [kind] = struct.unpack("!H", question[at + 1 : at + 3])
        kind = self.TYPES.get(kind, str(kind))
        with self.changed:
            turn = self.times(name, kind)
            self.asked.append((name, kind))
            self.changed.notify_all()
        turns = self.table.get(name)
        if turns is None:
            return question[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + question[12 : at + 5]
        answer = turns[min(turn, len(turns) - 1)]
        if answer is None:
            return None
        if isinstance(answer, bytes):
            return question[:2] + answer
        records = list(self._records(name, answer, kind))
        count = struct.pack("!H", len(records))
        return question[:2] + b"\x81\x80\0\1" + count + b"\0\0\0\0" + question[12 : at + 5] + b"".join(records)

    def _records(self, name, answer, kind):
        for each in answer:
            try:
                address = ipaddress.ip_address(each)
            except ValueError:
                yield self._record(name, 5, self._wire(each))
                yield from self._records(each, self.table[each][-1], kind)
                continue
            if kind == ("AAAA" if address.version == 6 else "A"):
                yield self._record(name, 28 if address.version == 6 else 1, address.packed)

    def _record(self, name, kind, data):
        return self._wire(name) + struct.pack("!HHIH", kind, 1, self.ttl, len(data)) + data


class Call:
    """A connection that somebody made to a server of ours."""

    def __init__(self, server, connection):
        self.server, self.connection, self.heard, self.ended = server, connection, bytearray(), False

    def read(self, size=65536):
        """Bytes; b"" at its end, however it ended."""
        try:
            got = self.connection.recv(size)
        except OSError:
            got = b""
        with self.server.changed:
            self.heard += got
            self.ended = not got
            self.server.changed.notify_all()
        return got

    def send(self, data):
        with contextlib.suppress(OSError):
            self.connection.sendall(data)

    def until(self, mark):
        """All that was heard until the mark was among it, or until its end."""
        while mark not in self.heard and self.read():
            pass
        return bytes(self.heard)


def echo(call):
    """Says back whatever it hears."""
    while got := call.read():
        call.send(got)


def hang_up(call):
    """So that whoever was let through is not kept waiting."""


def swallow(call):
    """Hears everything and says nothing."""
    while call.read():
        pass


def web(call):
    """Answers the first request and goes on listening: whatever comes after it is heard, too."""
    call.until(b"\r\n\r\n")
    call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes")
    with contextlib.suppress(OSError):
        call.connection.shutdown(socket.SHUT_WR)
    swallow(call)


def greet(call):
    """Speaks first."""
    call.send(b"220 at your service\r\n")
    echo(call)


class Far(Server):
    """A server that a cell may try to reach: calls has every connection that was made, and what was heard."""

    def __init__(self, net, serve=echo, address=PUBLIC, port=0, tls=None, path=None):
        self.serve, self.tls, self.calls = serve, tls, []
        if path:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(os.fspath(path))
            listener.listen(16)
            os.chmod(path, 0o777)
        else:
            listener = net.socket(address, port)
        super().__init__(listener)

    @property
    def heard(self):
        return b"".join(call.heard for call in self.calls)

    def _serve(self):
        while not self.over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            call = Call(self, connection)
            with self.changed:
                self.calls.append(call)
                self.changed.notify_all()
            if self.serve:
                threading.Thread(target=self._talk, args=(call,), daemon=True).start()

    def _talk(self, call):
        plain = call.connection
        with plain:
            plain.settimeout(60)
            if self.tls:
                try:
                    call.connection = self.tls.wrap_socket(plain, server_side=True)
                except (OSError, ssl.SSLError):
                    return
            self.serve(call)

    def __exit__(self, *args):
        super().__exit__(*args)
        for call in self.calls:
            with contextlib.suppress(OSError):
                call.connection.shutdown(socket.SHUT_RDWR)
            if not self.serve:
                call.connection.close()


def unused(call):
    raise AssertionError("nobody was to come here")


def parent_proxy(refuses=(), answer=b"HTTP/1.1 200 OK\r\n\r\n", after=None):
    """An HTTP proxy of somebody's own, of which a target is served by `after`."""

    def serve(call):
        head = call.until(b"\r\n\r\n")
        target = head.split(b" ")[1].decode() if head.count(b" ") > 1 else ""
        if target in refuses:
            call.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            return
        call.send(answer)
        if after:
            after(call)

    return serve


# ---- TLS ----


class Authority:
    """A certificate authority of the test's own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.file = self.folder / "authority.txt"  # not .pem, which cells are not shown
        self._openssl("req", "-x509", *self._key("authority.key"), "-subj", "/CN=tests", "-out", self.file)

    def _openssl(self, *args):
        subprocess.run(["openssl", *map(os.fspath, args)], check=True, capture_output=True, cwd=self.folder)

    @staticmethod
    def _key(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name, "-days", "2"]

    def server(self, *names):
        """A context for a server that has these names."""
        alternatives = ",".join(f"DNS:{name}" for name in names)
        self._openssl(
            "req",
            "-x509",
            "-CA",
            self.file,
            "-CAkey",
            "authority.key",
            *self._key("server.key"),
            "-subj",
            "/CN=server",
            "-addext",
            f"subjectAltName={alternatives}",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-out",
            "server.crt",
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        return context


def _sized(size, data):
    return len(data).to_bytes(size, "big") + data


def extension(kind, data):
    return struct.pack("!H", kind) + _sized(2, data)


def server_name(*names, kind=0):
    return extension(0, _sized(2, b"".join(bytes([kind]) + _sized(2, name) for name in names)))


def client_hello(*extensions, version=b"\3\3", message=1):
    """The bytes of a client's first message; without any extension, one from before there were some."""
    more = _sized(2, b"".join(extensions)) if extensions else b""
    body = version + bytes(32) + _sized(1, b"") + _sized(2, b"\x13\x01\xc0\x2f") + _sized(1, b"\0") + more
    return record(bytes([message]) + _sized(3, body))


def record(data, kind=22):
    return bytes([kind, 3, 1]) + _sized(2, data)


# ---- cells ----


def arguments(place, options, code, given=None, log=True):
    """The end of a `run` command line: a script in a cell, with hostile/caller.py at hand and `given` in it. What
    its doors record goes to the place, unless it is a campaign's."""
    folder = Path(place) / "given"
    folder.mkdir(exist_ok=True)
    (folder / "given.json").write_text(json.dumps(given))
    return [
        *options,
        *(["--network-log", Path(place) / "network.jsonl"] if log else []),
        "--mount",
        f"{harness.ROOT}/tests/hostile:/attack",
        "--mount",
        f"{folder}:/given",
        "--env",
        "PYTHONPATH=/attack",
        "--env",
        "PYTHONDONTWRITEBYTECODE=1",
        "--",
        "/usr/bin/python3",
        "-S",
        "-c",
        "from caller import *\n" + textwrap.dedent(code),
    ]


def run(net, place, options, code, given=None, **more):
    """A cell that runs a script: told has what it told, verdicts what its doors recorded."""
    ran = harness.run(*arguments(place, options, code, given), preexec_fn=net.enter, **more)
    ran.told = json.loads(ran.out) if ran.code == 0 and ran.out else None
    ran.verdicts = verdicts(place)
    for harm in (b"serves doors", b"Sanitizer", b"runtime error"):
        assert harm not in ran.err, ran
    return ran


def connect(target):
    target = target if isinstance(target, bytes) else target.encode()
    return b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n"


def get(authority, path=b"/"):
    authority = authority if isinstance(authority, bytes) else authority.encode()
    return b"GET http://" + authority + path + b" HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n"


def codes(net, place, options, requests):
    """{request: status} of each, asked one after another in one cell, and the run."""
    requests = list(dict.fromkeys(requests))
    given = [each.hex() for each in requests]
    ran = run(net, place, options, "tell(codes(given))", given)
    assert ran.code == 0 and len(ran.told) == len(requests), ran
    return dict(zip(requests, ran.told)), ran


def verdicts(place):
    text = harness.slurp(Path(place) / "network.jsonl") or b""
    return [json.loads(line) for line in text.splitlines()]


def doords_of(pid):
    """The processes that serve the doors of this supervisor: one, or none while another is being started."""
    return {each for each in harness.descendants(pid) if (harness.stat_of(each) or [""])[0] == "hotcell-doord"}


def doord_of(pid):
    [found] = doords_of(pid)
    return found


if __name__ == "__main__":
    _hold()

"""What the tests of real clients share: name and web servers on loopback, Squid, and the record of what passed."""

import contextlib
import http.server
import json
import os
import pwd
import signal
import socket
import ssl
import subprocess
import textwrap
import threading

from harness import IS_ROOT, ROOT, eventually, slurp

NPM = ROOT / "build-npm" / "node_modules" # see tools/setup.sh


# ---- what is outside ----


class Names:
    """A name server that knows these names, all at 127.0.0.1, and remembers what it was asked."""

    def __init__(self, *names):
        self.names, self.asked = names, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self):
        while True:
            query, sender = self.socket.recvfrom(4096)
            if not query:
                return
            at, labels = 12, []
            while size := query[at]:
                labels.append(query[at + 1:at + 1 + size].decode())
                at += 1 + size
            name, kind = ".".join(labels).lower(), query[at + 1:at + 3]
            self.asked.append(name)
            found = name in self.names and kind == b"\0\1"
            flags = b"\x81\x80" if name in self.names else b"\x81\x83"
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x7f\0\0\1" if found else b""
            self.socket.sendto(query[:2] + flags + b"\0\1" + bytes([0, found]) + b"\0\0\0\0" + query[12:at + 5] + answer, sender)

    def close(self):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as other:
            other.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


class Web:
    """A web server, with TLS if it is given a certificate: a folder's files, and what was posted back again."""

    def __init__(self, folder, certificate=None):
        self.seen = seen = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __init__(self, *args):
                super().__init__(*args, directory=folder)

            def log_message(self, *_):
                seen.append((self.command, self.path))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # the handshake is each connection's own thread's
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.server.server_address[1]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Outside:
    """A name server, a web server with TLS and one without, and the options that let a cell reach web.test there."""

    def __init__(self, folder, authority):
        self.ca, certificate = authority
        folder.mkdir(mode=0o755)
        (folder / "page").write_text("a page from outside\n")
        self.folder, self.names = folder, Names("web.test", "other.test")
        self.tls, self.plain = Web(folder, certificate), Web(folder)

    @property
    def doors(self):
        return ["--resolver", self.names.address, "--allow", f"web.test:{self.tls.port},private", "--allow",
                f"web.test:{self.plain.port},private", "--mount", f"{self.ca}:/ca.crt"]

    def url(self, path="page", host="web.test"):
        return f"https://{host}:{self.tls.port}/{path}"

    def plain_url(self, path="page", host="web.test"):
        return f"http://{host}:{self.plain.port}/{path}"

    def close(self):
        for each in (self.tls, self.plain, self.names):
            each.close()


def free_port():
    with contextlib.closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def as_account(name):
    """The front of a command line that drops root for servers that refuse it."""
    return ["setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups"] if IS_ROOT else []


def own_folder(path, account):
    path.mkdir(mode=0o755)
    if IS_ROOT:
        entry = pwd.getpwnam(account)
        os.chown(path, entry.pw_uid, entry.pw_gid)
    return path


class Squid:
    def __init__(self, folder, names):
        self.port = free_port()
        self.folder = own_folder(folder, "proxy")
        (folder / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        (folder / "squid.conf").write_text(textwrap.dedent(f"""\
            http_port 127.0.0.1:{self.port}
            http_access allow all
            cache deny all
            access_log stdio:{folder}/access.log
            cache_log {folder}/cache.log
            cache_store_log none
            logfile_rotate 0
            pid_filename none
            coredump_dir {folder}
            hosts_file {folder}/hosts
            visible_hostname squid.test
            shutdown_lifetime 0 seconds
            pinger_enable off
            netdb_filename none
            buffered_logs off
            """))
        self.process = subprocess.Popen(
            # a name of its own: its shared memory is named by it, and what one that was killed left would be in the way
            [*as_account("proxy"), "/usr/sbin/squid", "-N", "-n", f"t{os.getpid()}x{self.port}", "-f", folder / "squid.conf"], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert eventually(self.answers, 20), (slurp(folder / "cache.log") or b"")[-2000:]

    def answers(self):
        with contextlib.closing(socket.socket()) as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self):
        """(method, target) of each request; a connection without one, as ours to see whether it answers, is none."""
        lines = [tuple(line.split()[5:7]) for line in (self.folder / "access.log").read_text().splitlines()]
        return [line for line in lines if line[0] != "-"]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


# ---- what came of it ----


def verdicts(folder):
    """The lines of network.jsonl, as (door, name, port, verdict, reason), sorted: a connection's line is written when
    both sides have ended it."""
    lines = [json.loads(line) for line in (folder / "network.jsonl").read_text().splitlines()]
    for line in lines:
        assert {"time", "sent", "received", "duration_ms"} <= set(line), line
    return sorted((line["door"], line["name"], line["port"], line["verdict"], line["reason"]) for line in lines)


def script(place, name, body):
    """A file for the cell, and the options that show it there as /scripts/NAME."""
    folder = place / "scripts"
    folder.mkdir(mode=0o755, exist_ok=True)
    (folder / name).write_text(textwrap.dedent(body))
    return ["--mount", f"{folder}:/scripts"]

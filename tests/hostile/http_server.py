"""An MCP server over streamable HTTP, on port 8000 of its loopback, that is good or hostile in one way, by name.

    python3 http_server.py endless-stream
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "maxLength": 20}}, "required": ["path"], "additionalProperties": False}
SESSION = "a1b2"


class Json(BaseHTTPRequestHandler):
    """Well-behaved, but for a tool that reads any file. The others differ in one thing each."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def head(self, status, *fields):
        self.send_response(status)
        self.send_header("Mcp-Session-Id", SESSION)
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()

    def answer(self, message):
        body = json.dumps(message).encode()
        self.head(200, ("Content-Type", "application/json"), ("Content-Length", str(len(body))))
        self.wfile.write(body)

    def call(self, message):
        try:
            with open(message["params"]["arguments"]["path"], encoding="utf-8") as file:
                result = {"content": [{"type": "text", "text": file.read()}]}
        except (OSError, ValueError):
            result = {"isError": True, "content": [{"type": "text", "text": "there is no such file"}]}
        self.answer({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message["method"]
        if method != "initialize" and self.headers["Mcp-Session-Id"] != SESSION:
            self.head(404, ("Content-Length", "0"))
        elif "id" not in message:
            self.head(202, ("Content-Length", "0"))
        elif method == "tools/call":
            self.call(message)
        else:
            offer = {
                "initialize": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "listens", "version": "1"},
                },
                "tools/list": {"tools": [{"name": "read", "inputSchema": SCHEMA}]},
            }
            self.answer({"jsonrpc": "2.0", "id": message["id"], "result": offer[method]})


class Events(Json):
    """Answers with streams of events, in chunks."""

    def chunk(self, part):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.flush()

    def begin(self):
        self.head(200, ("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"))

    def answer(self, message):
        body = json.dumps(message).encode()
        self.begin()
        for part in (b": a remark\n\nevent: message\ndata: " + body[:7], body[7:] + b"\n\n", b""):
            self.chunk(part)


class EndlessStream(Events):
    """Events without end, none of which is the answer."""

    def call(self, message):
        note = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n'
        self.begin()
        while True:
            self.chunk(note * 500)


class EndlessEvent(Events):
    """One event that never ends."""

    def call(self, message):
        self.begin()
        while True:
            self.chunk(b"data: " + b"x" * 100_000 + b"\n")


class SilentStream(Events):
    def call(self, message):
        self.begin()
        self.chunk(b": wait\n\n")
        time.sleep(1000)


class GiantHeader(Json):
    def call(self, message):
        self.head(200, ("Content-Type", "application/json"), ("X-Large", "x" * (8 << 20)), ("Content-Length", "0"))


class EndlessHeader(Json):
    def call(self, message):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.wfile.write(b"X-More: and more\r\n" * 1000)


class LengthTooLarge(Json):
    """Says that more comes, and closes."""

    def call(self, message):
        self.head(200, ("Content-Type", "application/json"), ("Content-Length", "1000"))
        self.wfile.write(b'{"jsonrpc": "2.0"}')
        self.close_connection = True


class LengthTooSmall(Json):
    def call(self, message):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}).encode()
        self.head(200, ("Content-Type", "application/json"), ("Content-Length", "9"))
        self.wfile.write(body)


class LengthNoNumber(Json):
    def call(self, message):
        self.head(200, ("Content-Type", "application/json"), ("Content-Length", "-5"))


class HugeBody(Json):
    def call(self, message):
        self.head(200, ("Content-Type", "application/json"), ("Content-Length", str(1 << 30)))
        for _ in range(1024):
            self.wfile.write(b"x" * (1 << 20))


class Redirects(Json):
    """To where a client that follows would get what it has no business with, or go round in circles."""

    def call(self, message):
        self.head(307, ("Location", "http://169.254.169.254/latest/meta-data/"), ("Content-Length", "0"))


class NeverAnswers(Json):
    def call(self, message):
        time.sleep(1000)


class NoHttp(Json):
    def call(self, message):
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.close_connection = True


class Closes(Json):
    """Takes the call, and closes instead of answering."""

    def call(self, message):
        self.close_connection = True


class Dies(Json):
    def call(self, message):
        os.abort()


class NeverListens(Json):
    pass


KINDS = {
    "".join(("-" if c.isupper() and i else "") + c.lower() for i, c in enumerate(kind.__name__)): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Json)
}

if __name__ == "__main__":
    if sys.argv[1] == "never-listens":
        time.sleep(1000)
    ThreadingHTTPServer(("127.0.0.1", 8000), KINDS[sys.argv[1]]).serve_forever()

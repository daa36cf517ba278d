"""An MCP server that is hostile in one way, by name: what hotcell fuzz must bear, and explain.

    python3 mcp_server.py never-answers
"""

import json
import os
import sys
import time

FINE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def raw(data):
    os.write(1, data)


def reply(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def tool(name="echo", schema=None):
    return {"name": name, "description": "says it again", "inputSchema": FINE if schema is None else schema}


class Server:
    """Well-behaved. The others differ in one thing each."""

    version = "2025-06-18"

    def initialize(self, request):
        reply(
            request,
            {"protocolVersion": self.version, "capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "1"}},
        )

    def tools(self):
        return [tool()]

    def list(self, request):
        reply(request, {"tools": self.tools()})

    def call(self, request):
        reply(request, {"content": [{"type": "text", "text": "fine"}]})

    def begin(self):
        pass

    def serve(self):
        self.begin()
        for line in sys.stdin:
            request = json.loads(line)
            if "id" not in request:
                continue
            method = {"initialize": self.initialize, "tools/list": self.list, "tools/call": self.call}.get(request["method"])
            if method:
                method(request)
            else:
                send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})


def flood():
    while True:
        raw(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n' * 1000)


class Floods(Server):
    def begin(self):
        flood()


class FloodsInCall(Server):
    def call(self, request):
        flood()


class FloodsStderr(Server):
    def call(self, request):
        while True:
            os.write(2, b"log log log\n" * 10000)


class NeverAnswers(Server):
    def initialize(self, request):
        time.sleep(1000)


class NeverAnswersCalls(Server):
    def call(self, request):
        time.sleep(1000)


class AnswersBefore(Server):
    def begin(self):
        for number in range(5):
            send({"jsonrpc": "2.0", "id": number, "result": {}})


class HugeLine(Server):
    def call(self, request):
        raw(b'{"jsonrpc":"2.0","id":1,"result":"')
        for _ in range(1024):
            raw(b"x" * (1 << 20))
        raw(b'"}\n')


class InvalidUtf8(Server):
    def call(self, request):
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff\xfe\xc3("}]}}\n' % request["id"])


class DuplicateIds(Server):
    def call(self, request):
        super().call(request)
        super().call(request)


class NoFiniteInstance(Server):
    def tools(self):
        endless = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
        return [tool("endless", endless)]


class RefLoop(Server):
    def tools(self):
        return [tool("loop", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})]


class HugeSchema(Server):
    def list(self, request):
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"big","inputSchema":{"type":"object","properties":{' % request["id"])
        part = b",".join(b'"p%d":{"type":"string"}' % number for number in range(40000))
        for _ in range(100):
            raw(part + b",")
        raw(b'"z":{}}}}]}}\n')


class RegexBomb(Server):
    def tools(self):
        return [tool("bomb", {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}, "required": ["x"]})]


class NamesWithEscapes(Server):
    def tools(self):
        return [tool("\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202e\n"), tool("../../etc/passwd"), tool("")]


class ManyTools(Server):
    def tools(self):
        return [tool(f"tool_{number}") for number in range(5000)]


class ExitsAtOnce(Server):
    def begin(self):
        sys.stderr.write("no licence file found\n")
        sys.exit(7)


class ExitsAfterHandshake(Server):
    def list(self, request):
        os._exit(9)


class ForksDaemon(Server):
    def call(self, request):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        super().call(request)


class ClosesStdout(Server):
    def call(self, request):
        os.close(1)
        time.sleep(1000)


class LogsOnStdout(Server):
    def begin(self):
        raw(b"Starting server on stdio...\n")

    def call(self, request):
        raw(b"INFO handling a call\n")
        super().call(request)


class WrongVersion(Server):
    version = "1999-12-31"


class InitializeError(Server):
    def initialize(self, request):
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "the database is locked"}})


class PagesForEver(Server):
    page = 0

    def list(self, request):
        self.page += 1
        reply(request, {"tools": [tool(f"tool_{self.page}")], "nextCursor": f"page-{self.page}"})


class DeepAnswer(Server):
    def call(self, request):
        deep = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":' % request["id"]
        raw(deep + b"[" * 200_000 + b"]" * 200_000 + b"}}}\n")


class HugeNumbers(Server):
    def call(self, request):
        number = b"9" * 10000
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"n":%s,"e":1e999999999}}\n' % (request["id"], number))


class NoTools(Server):
    def tools(self):
        return []


class NoJson(Server):
    def begin(self):
        raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        sys.exit(0)


class Fine(Server):
    pass


KINDS = {
    "".join(("-" if c.isupper() and i else "") + c.lower() for i, c in enumerate(kind.__name__)): kind
    for kind in Server.__subclasses__()
}

if __name__ == "__main__":
    KINDS[sys.argv[1]]().serve()

"""A small stand-in of Anthropic's messages API, enough for its clients: HEAD /, POST /v1/messages (streamed or not) and
/v1/messages/count_tokens. What it answers is a script, and every request is kept.

It wants one key and answers 401 to any other. As some real servers do in their errors, it can repeat the key it was
given, in a header and in the text: `echo=True`."""

import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict  # names in lower case
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def text(words):
    return {"type": "text", "text": words}


def tool(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


class MessagesApi:
    """`turns`: what each turn of a conversation is answered with, a list of blocks each, the last again and again.
    `before(turn)`, if given, is called with a turn's number before it is answered, while the client waits."""

    def __init__(self, key, turns, usage=(400, 200), echo=False, before=None):
        self.key, self.turns, self.usage, self.echo, self.before = key, turns, usage, echo, before
        self.asked = []
        self.failed = None  # what `before` raised
        self.lock = threading.Lock()

        class Handler(_Handler):
            api = self

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self):
        return self.server.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def messages(self):
        """The requests that asked for a turn."""
        with self.lock:
            return [each for each in self.asked if each.path.partition("?")[0] == "/v1/messages"]

    def keep(self, asked):
        with self.lock:
            self.asked.append(asked)

    def turn_of(self, request):
        """A turn has as many answers before it as the conversation has from the assistant."""
        number = sum(message["role"] == "assistant" for message in request["messages"])
        return number, self.turns[min(number, len(self.turns) - 1)]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        if self.api.echo:
            self.send_header("x-you-said", self.headers.get("x-api-key", ""))
        if body is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, kind, words):
        body = {"type": "error", "error": {"type": kind, "message": words}}
        self.answer(status, "application/json", json.dumps(body).encode())

    def asked(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body)
        self.api.keep(asked)
        return asked

    def do_HEAD(self):
        self.asked()
        self.answer(200, "text/plain", b"")

    do_GET = do_HEAD

    def do_POST(self):
        asked = self.asked()
        path = asked.path.partition("?")[0]
        if asked.headers.get("x-api-key") != self.api.key:
            self.error(401, "authentication_error", "invalid x-api-key")
        elif path == "/v1/messages/count_tokens":
            self.answer(200, "application/json", json.dumps({"input_tokens": self.api.usage[0]}).encode())
        elif path != "/v1/messages":
            self.error(404, "not_found_error", path)
        else:
            self.turn(asked.json)

    def turn(self, request):
        number, blocks = self.api.turn_of(request)
        if self.api.before:
            try:
                self.api.before(number)
            except BaseException as failed:  # told by the test: here it would be lost
                self.api.failed = failed
        if self.api.echo:
            blocks = [self.echoed(block) for block in blocks]
        blocks = [{**block, "id": f"toolu_{number}_{at}"} if block["type"] == "tool_use" else block
                  for at, block in enumerate(blocks)]
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request["model"], "content": blocks,
            "stop_reason": "tool_use" if any(each["type"] == "tool_use" for each in blocks) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": self.api.usage[0], "output_tokens": self.api.usage[1]},
        }
        if request.get("stream"):
            self.stream(message)
        else:
            self.answer(200, "application/json", json.dumps(message).encode())

    def echoed(self, block):
        if block["type"] != "text":
            return block
        return {**block, "text": f"{block['text']} ({self.headers.get('x-api-key')})"}

    def event(self, kind, **more):
        data = f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, message):
        self.answer(200, "text/event-stream; charset=utf-8", None)
        start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
        self.event("message_start", message=start)
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, pieces = {**block, "text": ""}, [("text_delta", "text", each) for each in _pieces(block["text"])]
            else:
                empty = {**block, "input": {}}
                pieces = [("input_json_delta", "partial_json", each) for each in _pieces(json.dumps(block["input"]))]
            self.event("content_block_start", index=index, content_block=empty)
            for kind, field, piece in pieces:
                self.event("content_block_delta", index=index, delta={"type": kind, field: piece})
            self.event("content_block_stop", index=index)
        self.event("message_delta", delta={"stop_reason": message["stop_reason"], "stop_sequence": None},
                   usage={"output_tokens": message["usage"]["output_tokens"]})
        self.event("message_stop")
        self.wfile.write(b"0\r\n\r\n")


def _pieces(words):
    """As a model's words come, one by one."""
    return re.findall(r"\S*\s*", words)[:-1]

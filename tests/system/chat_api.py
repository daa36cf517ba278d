"""A stand-in of interfaces of language models that keeps its own books: POST .../chat/completions, /completions,
/responses, /messages, /embeddings and Gemini's :generateContent and :streamGenerateContent, streamed or not.

Each word of a prompt is a token, and every answer has as many as it may (max_tokens and its like), or `tokens`. `tokens_in`
and `tokens_out` are what a bill would be made from. `tells`: when the usage is told: "asked" (a stream of chat completions
tells it only when it is asked to), "never", or a function of the honest usage that gives what is told instead."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ChatApi:
    def __init__(self, tokens=50, tells="asked", model=None, before=None):
        self.tokens, self.tells, self.model, self.before = tokens, tells, model, before
        self.tokens_in = self.tokens_out = 0
        self.bodies, self.lock = [], threading.Lock()

        class Handler(_Handler):
            api = self

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.request_queue_size = 512
        self.server.socket.listen(512)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def door(self):
        return ["--secret-door", f"api=http://127.0.0.1:{self.server.server_address[1]},header=authorization,prefix=Bearer ,env=KEY"]

    def bill(self, price_in, price_out):
        """Dollars, of prices for a million tokens."""
        return (self.tokens_in * price_in + self.tokens_out * price_out) / 1e6

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

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # who asked is gone

    def limit(self, body):
        given = [body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
        given.append(body.get("generationConfig", {}).get("maxOutputTokens"))
        return min([self.api.tokens, *(each for each in given if each)])

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw)
        said = len(json.dumps(body).split())
        wrote = 0 if self.path.endswith("/embeddings") else self.limit(body) * body.get("n", 1)
        with self.api.lock:
            self.api.bodies.append(body)
            self.api.tokens_in += said
            self.api.tokens_out += wrote
        if self.api.before:
            self.api.before(len(self.api.bodies))
        streams = body.get("stream") or "stream" in self.path
        events = self.path.endswith("Content?alt=sse") or streams and "Content" not in self.path
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if events else "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        for piece in self.pieces(body, said, wrote, streams):
            self.wfile.write(piece)
        self.close_connection = True

    def told(self, said, wrote, asked=True):
        usage = {"prompt_tokens": said, "completion_tokens": wrote, "total_tokens": said + wrote}
        if callable(self.api.tells):
            return self.api.tells(usage)
        return usage if asked and self.api.tells == "asked" else None

    def pieces(self, body, said, wrote, streams):
        model = self.api.model or body.get("model")
        asked = not streams or (body.get("stream_options") or {}).get("include_usage", False)
        usage = self.told(said, wrote, asked or "chat" not in self.path)
        whole = {"id": "x", "model": model, "choices": [{"message": {"content": "w " * wrote}}]}
        if not streams:
            yield json.dumps({**whole, **({"usage": usage} if usage else {})}).encode()
            return
        for _ in range(wrote):
            yield b'data: {"choices":[{"delta":{"content":"w "}}],"model":"%s"}\n\n' % (model or "").encode()
        if usage:
            yield b"data: " + json.dumps({"model": model, "choices": [], "usage": usage}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

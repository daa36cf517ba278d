"""A secret door tells nothing of its key by when and in which pieces an answer comes.

The server is honest: it says back what it is sent, and the cell chooses that. A cell that saw which of its guesses are held
back would have the key letter by letter. No test here looks at a clock. The server sends a part only when it is asked to,
and the cell looks at what has come when another exchange, made after that part was sent, has passed through the same
process: what is not there by then waits for more. What it sees must be the same for right and for wrong guesses."""

import base64
import gzip
import json
import random
import threading
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clients import script
from harness import run

LETTERS = "0123456789abcdef"
FIXED = "sk-ant-api03-" # of every key: not secret

# Asks for every case and prints what it saw of each: bytes after every step, and the sizes of chunks.
ASK = r"""
    import json, socket, sys

    def connect():
        return socket.create_connection(("echo.door", 80))

    def ping(path):
        with connect() as made:
            made.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            while made.recv(65536):
                pass

    def drain(made, got):
        made.setblocking(False)
        try:
            while piece := made.recv(1 << 20):
                got += piece
            return True
        except BlockingIOError:
            return False
        finally:
            made.setblocking(True)

    def chunks(body):
        sizes = []
        while b"\r\n" in body:
            size, _, body = body.partition(b"\r\n")
            sizes.append(int(size, 16))
            body = body[sizes[-1] + 2:]
        return sizes

    def ask(case, version="1.1"):
        got, steps = bytearray(), []
        body = json.dumps(case).encode()
        with connect() as made:
            made.sendall(b"POST /%s HTTP/%s\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (case["mode"].encode(), version.encode(),
                len(body)) + body)
            while b"\r\n\r\n" not in got:
                if not (piece := made.recv(1 << 20)):
                    break
                got += piece
            over = False
            for _ in range(len(case["parts"]) + 1):
                ping("/ping")
                over = drain(made, got) or over
                steps.append(len(got))
                if not over:
                    ping("/next/" + case["id"])
            while not over and (piece := made.recv(1 << 20)):
                got += piece
        head, _, rest = bytes(got).partition(b"\r\n\r\n")
        framed = b"chunked" in head
        return {"status": head[9:12].decode(), "head": len(head), "steps": steps, "all": len(got),
            "chunks": chunks(rest) if framed else None, "stars": rest.count(b"*") + head.count(b"*")}
    """

CASES = ASK + r"""
    for line in open("/scripts/cases"):
        case = json.loads(line)
        print(json.dumps(ask(case, case.get("version", "1.1"))))
    """

# Plays the attack: the letter that is treated in another way than the others is the right one, or else the one with which most is held back.
# Others are treated in ways of their own where they begin the key in another spelling.
ATTACK = ASK + r"""
    import collections, itertools
    letters, known, turn = "0123456789abcdef", "sk-ant-api03-", itertools.count()
    for _ in range(4):
        seen = {}
        for letter in letters:
            case = {"id": f"a{next(turn)}", "mode": sys.argv[1], "parts": ["you said: " + known + letter, "! and so on. ", "\n\n"]}
            seen[letter] = ask(case)
        texts = {letter: json.dumps(each) for letter, each in seen.items()}
        [(usual, times)] = collections.Counter(texts.values()).most_common(1)
        other = [letter for letter in letters if texts[letter] != usual]
        least = min(each["steps"][1] for each in seen.values())
        held = [letter for letter in letters if seen[letter]["steps"][1] == least]
        known += other[0] if len(other) == 1 else held[0] if len(held) == 1 else "?"
    print(known)
    """


class Echo:
    """An honest server that sends each part of what it was told when it is asked for the next one."""

    def __init__(self):
        self.turns, self.asked, self.lock = {}, [], threading.Lock()
        echo = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.close_connection = True
                if self.path == "/ping":
                    self.wfile.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                elif self.path.startswith("/next/"):
                    echo.next(self.path[6:])
                    self.wfile.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                else:
                    echo.asked.append(dict(self.headers))
                    echo.serve(self, self.path[1:], json.loads(body))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.request_queue_size = 128
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def turn(self, name):
        """[may send, has sent], semaphores."""
        with self.lock:
            return self.turns.setdefault(name, (threading.Semaphore(0), threading.Semaphore(0)))

    def next(self, name):
        may, has = self.turn(name)
        may.release()
        assert has.acquire(timeout=60)

    def serve(self, handler, mode, case):
        parts, (may, has) = [part.encode("latin-1") for part in case["parts"]], self.turn(case["id"])
        whole, out = b"".join(parts), handler.wfile
        send = {"length": lambda: f"Content-Length: {len(whole)}", "chunked": lambda: "Transfer-Encoding: chunked",
                "close": lambda: "X-Close: yes", "gzip": lambda: f"Content-Encoding: gzip\r\nContent-Length: {len(gzip.compress(whole))}",
                "header": lambda: "Content-Length: 0\r\nX-Said: " + case["parts"][0] + "\r\nLocation: /" + case["parts"][0]}[mode]
        out.write(f"HTTP/1.1 200 OK\r\nConnection: close\r\n{send()}\r\n\r\n".encode("latin-1"))
        parts = {"gzip": [gzip.compress(whole)], "header": []}.get(mode, parts)
        for part in parts:
            assert may.acquire(timeout=60)
            out.write(b"%x\r\n%s\r\n" % (len(part), part) if mode == "chunked" else part)
            has.release()
        assert may.acquire(timeout=60)
        if mode == "chunked":
            out.write(b"0\r\n\r\n")
        for _ in range(64):
            has.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def key():
    return FIXED + uuid.uuid4().hex


def in_cell(place, echo, key, body, *words):
    script(place, "ask.py", body)
    ran = run("--secret-door", f"echo=http://127.0.0.1:{echo.server.server_address[1]},header=x-api-key,env=DOOR_KEY", "-t", "200s",
              "--mount", f"{place}/scripts:/scripts", "--", "python3", "/scripts/ask.py", *words, env={"DOOR_KEY": key}, timeout=240)
    assert ran.code == 0, ran
    assert echo.asked, "the door was not asked"
    assert all(headers["x-api-key"] == key for headers in echo.asked), "the key did not go out"
    assert all(headers["Accept-Encoding"] == "identity" for headers in echo.asked)
    return ran.out.decode()


def seen(place, echo, key, cases):
    (place / "scripts").mkdir(exist_ok=True)
    (place / "scripts" / "cases").write_text("".join(json.dumps({"id": f"c{i}"} | case) + "\n" for i, case in enumerate(cases)))
    found = [json.loads(line) for line in in_cell(place, echo, key, CASES).splitlines()]
    assert len(found) == len(cases)
    return found


def wrong(guess, rng):
    """As long, and wrong: in the last letter only, from somewhere on, and throughout. Digits of hexadecimal stay such: what
    may be hexadecimal is held back for longer, and that is no secret."""
    def other(letter):
        among = next((kind for kind in (LETTERS, "ghijklmnopqrstuvwxyz") if letter in kind), letter)
        return rng.choice([each for each in among if each != letter] or [letter])
    somewhere = rng.randrange(len(guess))
    yield guess[:-1] + other(guess[-1])
    yield guess[:somewhere] + "".join(map(other, guess[somewhere:]))
    yield "".join(map(other, guess))


SPELLINGS = {
    "plain": str,
    "capitals": str.upper,
    "base64": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "shifted base64": lambda text: base64.urlsafe_b64encode(b"x" + text.encode()).decode().rstrip("="),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal with blanks": lambda text: text.encode().hex(" "),
    "percent signs": lambda text: "".join(f"%{ord(each):02X}" for each in text),
    "one percent sign": lambda text: urllib.parse.quote(text[:-1]) + f"%{ord(text[-1]):02x}",
    "JSON": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "HTML": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "wide": lambda text: text.encode("utf-16-le").decode("latin-1"),
}


def check_same(place, echo, key, groups):
    """groups: lists of (case, what it is); within one, all must be seen alike."""
    found = iter(seen(place, echo, key, [case for group in groups for case, _ in group]))
    for group in groups:
        first, *others = [(next(found), what) for _, what in group]
        assert first[0]["stars"] == 0, first
        for other in others:
            assert other[0] == first[0], f"{first[1]} is told from {other[1]}:\n{first[0]}\n{other[0]}"


@pytest.mark.parametrize("mode", ["length", "chunked", "close"])
def test_a_right_guess_comes_in_the_same_pieces_as_a_wrong_one(tmp_path, key, mode):
    rng, groups = random.Random(mode), []
    for size in (1, 2, 3, 4, 5, 8, 13, 14, 15, 16, 20, 31, 44):
        guesses = [key[:size], *wrong(key[:size], rng)]
        groups.append([({"mode": mode, "parts": ["you said: " + guess, "! and so on. ", "\n\n"]}, guess) for guess in guesses])
    with Echo() as echo:
        check_same(tmp_path, echo, key, groups)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_right_guess_in_other_clothes_comes_in_the_same_pieces(tmp_path, key, spelling):
    rng, groups = random.Random(spelling), []
    for size in (1, 3, 6, 14, 20, 40):
        guesses = [SPELLINGS[spelling](guess) for guess in (key[:size], *wrong(key[:size], rng))]
        if len({len(guess) for guess in guesses}) > 1: # decimal numbers of two and of three digits
            guesses = [guess for guess in guesses if len(guess) == len(guesses[0])]
        groups.append([({"mode": "chunked", "parts": ["<" + guess, "-", "\n", "x", "\n\n"]}, guess) for guess in guesses])
    with Echo() as echo:
        check_same(tmp_path, echo, key, groups)


def test_a_guess_that_comes_byte_by_byte_is_held_back_whether_it_is_right_or_not(tmp_path, key):
    rng = random.Random(1)
    groups = [[({"mode": mode, "parts": [*("say " + guess), "\n\n"]}, guess) for guess in (key[:17], *wrong(key[:17], rng))]
              for mode in ("length", "chunked")]
    with Echo() as echo:
        check_same(tmp_path, echo, key, groups)


def test_clients_that_know_no_chunks_and_answers_cut_short_tell_no_more(tmp_path, key):
    rng = random.Random(2)
    guesses = [key[:20], *wrong(key[:20], rng)]
    groups = [[({"mode": mode, "parts": ["say " + guess, " ", "more " + guess], "version": "1.0"}, guess) for guess in guesses]
              for mode in ("chunked", "close")]
    groups.append([({"mode": "header", "parts": [guess]}, guess) for guess in guesses])
    with Echo() as echo:
        check_same(tmp_path, echo, key, groups)


def test_what_was_compressed_with_a_guess_does_not_come_at_all(tmp_path, key):
    rng = random.Random(3)
    guesses = [key[:30], *wrong(key[:30], rng)]
    with Echo() as echo:
        found = seen(tmp_path, echo, key, [{"mode": "gzip", "parts": [key + guess * 3]} for guess in guesses])
    assert {each["status"] for each in found} == {"502"}
    assert len({each["all"] for each in found}) == 1


def test_a_whole_key_is_stars_and_its_pieces_are_those_of_any_other(tmp_path, key):
    other = FIXED + uuid.uuid4().hex
    cases = [{"mode": "chunked", "parts": ["say " + each[:9], each[9:30], each[30:], ". ", each + " ", "\n\n"]} for each in (key, other)]
    with Echo() as echo:
        right, plain = seen(tmp_path, echo, key, cases)
    assert right.pop("stars") == 2 * len(key)
    assert plain.pop("stars") == 0
    assert right == plain


def test_events_are_not_held_back(tmp_path, key):
    events = ['data: {"delta":"hello"}\n\n', "data: hello\n\n", ": ping\n\n", "event: end\r\ndata: [DONE]\r\n\r\n", '{"done":true}\n']
    with Echo() as echo:
        [found] = seen(tmp_path, echo, key, [{"mode": "chunked", "parts": events}])
    assert found["chunks"] == [len(event) for event in events] + [0]
    sizes = [size - found["head"] - 4 for size in found["steps"]]
    came = [sum(len(event) + len(f"{len(event):x}") + 4 for event in events[:count]) for count in range(len(events) + 1)]
    assert sizes == came


@pytest.mark.parametrize("mode", ["length", "chunked", "close"])
def test_the_key_cannot_be_guessed_letter_by_letter(tmp_path, key, mode):
    (tmp_path / "scripts").mkdir()
    with Echo() as echo:
        found = in_cell(tmp_path, echo, key, ATTACK, mode).strip()
    assert found != key[: len(found)], "the cell has printed the key"
    assert found == FIXED + "????"


def test_many_at_once_tell_no_more_than_one(tmp_path, key):
    rng = random.Random(4)
    many = ASK + r"""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(ask, map(json.loads, open("/scripts/cases"))):
            print(json.dumps(found))
    """
    guesses = [guess for _ in range(10) for guess in (key[:25], *wrong(key[:25], rng))]
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "cases").write_text("".join(json.dumps({"id": f"m{i}", "mode": "chunked", "parts": ["say " + guess, "\n\n"]}) +
                                                        "\n" for i, guess in enumerate(guesses)))
    with Echo() as echo:
        found = in_cell(tmp_path, echo, key, many).splitlines()
    assert len(found) == len(guesses) and len(set(found)) == 1, found

"""MCP servers that others wrote and many use, fuzzed as they come from npm and PyPI: each is understood, called and
answers, whatever it does with the calls; and nothing is left of it.

What is found in them is theirs and changes with their versions: only what hotcell says of it is looked at."""

import concurrent.futures
import functools
import http.server
import json
import threading

import pytest

import harness
from harness import ROOT, hotcell

SERVERS = ROOT / "build-servers"  # see tools/setup.sh
MODULES = "/servers/node_modules/@modelcontextprotocol"
AT_ONCE = 2

START_GIT = """#!/bin/sh
git init -q /workspace/repo && cd /workspace/repo && echo one >a.txt && git add a.txt || exit 1
git -c user.email=a@b.test -c user.name=a commit -q -m one || exit 1
exec python3 -m mcp_server_git --repository /workspace/repo
"""
START_SQLITE = "import sys, mcp_server_sqlite; sys.argv[1:] = ['--db-path', '/workspace/test.db']; mcp_server_sqlite.main()"


class Page(http.server.BaseHTTPRequestHandler):
    """What the server that fetches pages may reach."""

    def do_GET(self):
        body = b"<html><body><h1>A page</h1></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def npm(name, *more):
    return ["--mount", f"{SERVERS}/npm:/servers", *more, "--", "node", f"{MODULES}/server-{name}/dist/index.js"]


def python(*words, venv="venv", more=()):
    (site,) = (SERVERS / venv / "lib").glob("python3*/site-packages")
    return ["--mount", f"{site}:/servers", "--env", "PYTHONPATH=/servers", *more, "--", *words]


def command_of(name, folder, port):
    """How each is started: options of `hotcell fuzz mcp`, then its command."""
    words = folder / "words"
    if name == "filesystem":
        return [*npm(name, "--allow-write", "/workspace"), "/workspace"]
    if name == "memory":
        return npm(name, "--env", "MEMORY_FILE_PATH=/workspace/memory.json", "--allow-write", "/workspace")
    if name == "everything":
        return npm(name)
    if name == "git":
        (folder / "start").write_text(START_GIT)
        words.write_text("/workspace/repo\na.txt\nmaster\nHEAD\n")
        return python("sh", "/start", more=["--mount", f"{folder}/start:/start", "--dict", words, "--allow-write", "/workspace",
                                            "--allow-spawn", "*"])
    if name == "time":
        words.write_text("UTC\nEurope/Berlin\n12:30\n")
        return python("python3", "-m", "mcp_server_time", "--local-timezone", "UTC", more=["--dict", words])
    if name == "fetch":
        words.write_text("http://web.test:8000/\nhttp://web.test:8000/a\n")
        return python("python3", "-m", "mcp_server_fetch", "--ignore-robots-txt",
                      more=["--dict", words, "--allow-net", "--service", f"web.test:8000=127.0.0.1:{port}"])
    return python("python3", "-c", START_SQLITE, venv="venv-sqlite", more=["--allow-write", "/workspace", "--exclude", "resources/*"])


# name: some of its tools
TOOLS = {
    "filesystem": {"read_text_file", "write_file", "list_directory", "move_file", "search_files"},
    "everything": {"echo", "get-env", "get-sum", "get-structured-content"},
    "memory": {"create_entities", "create_relations", "read_graph", "open_nodes"},
    "git": {"git_status", "git_diff", "git_commit", "git_log", "git_checkout"},
    "time": {"get_current_time", "convert_time"},
    "fetch": {"fetch"},
    "sqlite": {"read_query", "write_query", "create_table", "list_tables", "describe_table"},
}


@pytest.fixture(scope="module")
def before():
    return harness.machine()


@pytest.fixture(scope="module")
def page(before):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def fuzzing(scratch, page):
    """All of them, two at a time: a future each."""

    def one(name):
        folder = scratch / f"server-{name}"
        folder.mkdir(mode=0o755)
        return hotcell("fuzz", "mcp", "--quiet", "--json", "--seed", "7", "--max-calls", "150", "--duration", "6s", "--replays", "2",
                       "--max-findings", "3", "--state", folder / "state", *command_of(name, folder, page), cwd=folder, timeout=170)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(functools.partial(one, name)) for name in TOOLS}


@pytest.mark.parametrize("name", TOOLS)
def test_a_server_of_others_is_called_and_answers(fuzzing, name):
    ran = fuzzing[name].result()
    assert ran.code in (0, 1), ran
    said = json.loads(ran.out)
    tools = {tool["name"]: tool for tool in said["tools"]}
    assert TOOLS[name] <= set(tools), said
    assert said["calls"] > 0 and said["end"] in ("done", "enough"), said
    called = [tool for tool in said["tools"] if tool["calls"]]
    assert sum(tool["ok"] for tool in called) > 0, said
    assert sum(tool["broken"] for tool in called) == 0, said
    for tool in called:
        answers = sum(tool[kind] for kind in ("ok", "rejected", "failed", "ended", "late", "broken"))
        assert answers == tool["calls"], tool
    assert bool(said["findings"]) == (ran.code == 1), said
    for finding in said["findings"]:
        assert finding["subject"] in tools and finding["evidence"] and finding["seen"] > 0, finding
        json.loads(finding["input"])


def test_the_server_that_tells_its_environment_is_found_out(fuzzing):
    found = json.loads(fuzzing["everything"].result().out)["findings"]
    assert ("secret", "get-env") in {(each["oracle"], each["subject"]) for each in found}, found


def test_nothing_is_left_of_them(fuzzing, before):
    concurrent.futures.wait(fuzzing.values())
    assert not harness.leftovers(before)

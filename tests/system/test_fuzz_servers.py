"""MCP servers that others wrote and many use, fuzzed as they come from npm and PyPI: each is understood, called and
answers, whatever it does with the calls; and nothing is left of it.

What is found in them is theirs and changes with their versions: only what hotcell says of it is looked at."""

import json

import pytest

from harness import LONG, ROOT, hotcell

SERVERS = ROOT / "build-servers"  # see tools/setup.sh
MODULES = "/servers/node_modules/@modelcontextprotocol"
CALLS = 60  # the same ones each time: the seed is

START_GIT = """#!/bin/sh
git init -q /workspace/repo && cd /workspace/repo && echo one >a.txt && git add a.txt || exit 1
git -c user.email=a@b.test -c user.name=a commit -q -m one || exit 1
exec python3 -m mcp_server_git --repository /workspace/repo
"""
START_SQLITE = "import sys, mcp_server_sqlite; sys.argv[1:] = ['--db-path', '/workspace/test.db']; mcp_server_sqlite.main()"


def npm(name, *more):
    return ["--mount", f"{SERVERS}/npm:/servers", *more, "--", "node", f"{MODULES}/server-{name}/dist/index.js"]


def python(*words, venv="venv", more=()):
    (site,) = (SERVERS / venv / "lib").glob("python3*/site-packages")
    return ["--mount", f"{site}:/servers", "--env", "PYTHONPATH=/servers", *more, "--", *words]


def script(folder, text, word, *more):
    """A start of its own, and a word that its calls need to be more than refused. Nothing is planted: words would be too many."""
    (folder / "start").write_text(text)
    (folder / "words").write_text(f"{word}\n")
    return python("sh", "/start", more=["--mount", f"{folder}/start:/start", "--dict", folder / "words", "--no-canaries", "--allow-write",
                                        "/workspace", "--allow-spawn", "*", *more])


def command_of(name, folder):
    """How each is started: options of `hotcell fuzz mcp`, then its command."""
    if name == "filesystem":
        return [*npm(name, "--allow-write", "/workspace"), "/workspace"]
    if name == "memory":
        return npm(name, "--env", "MEMORY_FILE_PATH=/workspace/memory.json", "--allow-write", "/workspace")
    if name == "everything":
        return npm(name)
    if name == "git":
        return script(folder, START_GIT, "/workspace/repo")
    if name == "time":
        return script(folder, "exec python3 -m mcp_server_time --local-timezone UTC\n", "UTC")
    if name == "fetch":
        return script(folder, "exec python3 -m mcp_server_fetch --ignore-robots-txt\n", "http://a.test/", "--allow-net", "--tool", "fetch")
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


@pytest.mark.parametrize("name", TOOLS if LONG else ["everything", "fetch", "sqlite"])
def test_a_server_of_others_is_called_and_answers(place, name):
    ran = hotcell("fuzz", "mcp", "--quiet", "--json", "--seed", "7", "--max-calls", str(CALLS), "--duration", "60s", "--replays", "2",
                  "--max-findings", "2", *command_of(name, place), cwd=place, timeout=170)
    said = json.loads(ran.out)
    # without a network nothing can be fetched, and that is no clean result
    unreached = name == "fetch"
    assert ran.code in ((3,) if unreached else (0, 1)), ran
    tools = {tool["name"]: tool for tool in said["tools"]}
    assert TOOLS[name] <= set(tools), said
    assert said["calls"] > 0 and said["end"] in (("nothing",) if unreached else ("done", "enough")), said
    called = [tool for tool in said["tools"] if tool["calls"]]
    assert (sum(tool["ok"] for tool in called) > 0) != unreached, said
    assert sum(tool["broken"] for tool in called) == 0, said
    for tool in called:
        answers = sum(tool[kind] for kind in ("ok", "rejected", "failed", "ended", "late", "broken"))
        assert answers == tool["calls"], tool
    assert bool(said["findings"]) == (ran.code == 1), said
    for finding in said["findings"]:
        assert finding["subject"] in tools and finding["evidence"] and finding["seen"] > 0, finding
        json.loads(finding["input"])
    if name == "everything":
        assert ("secret", "get-env") in {(each["oracle"], each["subject"]) for each in said["findings"]}, said

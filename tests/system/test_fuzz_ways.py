"""The ways that a target is spoken with, beside lines: a process a call, words of a command, MCP over HTTP; and what of a cell and of
an offer cannot be used, which is said."""

import json
import subprocess

import pytest

import harness
from fuzzing import HOSTILE, capsules, found, fuzz_mcp, fuzz_tool, said, server, tool
from harness import hotcell
from test_fuzz_hostile import OPTIONS, judge

FAULT = '''if "a" in text:
    raise KeyError(text)
print(json.dumps({"status": "ok"}))
'''
PATIENT = ("--call-timeout", "20s")  # a call starts a process, or goes over a network, on a machine that may be busy
WAYS = {
    "exec": ('import json, sys\ntext = json.load(sys.stdin)["text"]\n' + FAULT, ("python3", "tool.py")),
    "args": ('import json, sys\ntext = sys.argv[sys.argv.index("--text") + 1]\n' + FAULT, ("python3", "tool.py", "--text", "{text}")),
}


def program(folder, text):
    tool(folder, "")
    (folder / "tool.py").write_text(text)


# ---- a process a call ----


@pytest.mark.parametrize("mode", WAYS)
def test_a_process_a_call_is_fuzzed_and_its_finding_done_again_and_made_smaller(place, mode):
    text, command = WAYS[mode]
    program(place, text)
    (place / "words").write_text("bananas and more\n")
    ran = fuzz_tool(place, *PATIENT, "--mode", mode, "--dict", "words", "--json", calls=60, command=command)
    assert ran.code == 1 and found(ran) == {("exception", "tool.py")} and said(ran)["kind"] == f"tool-{mode}", ran
    path, = capsules(place)
    capsule = json.loads(path.read_text())
    assert json.loads(capsule["input"]) == {"text": "a"} and f"--mode={mode}" in capsule["flags"], capsule
    assert capsule["command"] == list(command), capsule
    ran = hotcell("findings", "repro", capsule["id"], "--times", "2", cwd=place)
    assert ran.code == 1 and ran.out.startswith(b"reproduced: ") and b"seen 2 of 2 times" in ran.out, ran
    path.write_text(json.dumps({**capsule, "input": '{"text": "bananas and more"}'}))
    ran = hotcell("findings", "minimise", capsule["id"], "--json", cwd=place, timeout=120)
    assert ran.code == 0 and said(ran)["smaller"] and json.loads(said(ran)["input"]) == {"text": "a"}, ran
    program(place, text.replace("raise KeyError(text)", "sys.exit('no letter a, please')"))
    ran = hotcell("findings", "repro", capsule["id"], "--times", "1", cwd=place)
    assert ran.code == 0 and ran.out.startswith(b"fixed: "), ran


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("prints", ["garbage, no JSON", "", '{"form": 1}'])
def test_an_answer_that_is_no_json_breaks_the_output_schema(place, mode, prints):
    program(place, f"import sys\nsys.stdin.read()\nprint({prints!r}, end='')\n")
    (place / "output.json").write_text(json.dumps({"type": "object", "required": ["form"], "properties": {"form": {"type": "string"}}}))
    ran = fuzz_tool(place, *PATIENT, "--mode", mode, "--output-schema", "output.json", "--json", calls=3, command=WAYS[mode][1])
    assert ran.code == 1 and found(ran) == {("output-schema", "tool.py")}, ran
    ran = fuzz_tool(place, *PATIENT, "--mode", mode, "--json", "--state", "another", calls=3, command=WAYS[mode][1])
    assert ran.code == 0 and not found(ran), ran  # not every program speaks JSON, if nobody says so


# ---- over HTTP ----


def fuzz_http(folder, kind, *options, **more):
    server(folder, "http_server.py")
    return fuzz_mcp(folder, "--http", "8000", "--json", *PATIENT, *options, command=["http_server.py", kind], **more)


@pytest.mark.parametrize("kind", ["json", "events"])
def test_a_server_that_listens_is_fuzzed_and_its_finding_done_again(place, kind):
    ran = fuzz_http(place, kind, "--oracles", "canary", "--max-findings", "1", calls=400)
    assert ran.code == 1 and found(ran) == {("canary", "read")} and said(ran)["kind"] == "mcp-http", ran
    assert said(ran)["server_version"] == "listens 1", ran
    capsule, = capsules(place)
    ran = hotcell("findings", "repro", capsule.stem, "--times", "2", cwd=place)
    assert ran.code == 1 and ran.out.startswith(b"reproduced: ") and b"seen 2 of 2 times" in ran.out, ran


def test_what_listens_at_another_path_is_called_there(place):
    server(place, "http_server.py")
    text = (place / "http_server.py").read_text()
    (place / "http_server.py").write_text(text.replace("        message = json", '        assert self.path == "/tools/v1", self.path\n        message = json'))
    ran = fuzz_mcp(place, "--http", "8000/tools/v1", "--json", *PATIENT, calls=5, command=["http_server.py", "json"])
    assert said(ran)["calls"] == 5 and ran.code in (0, 1, 3), ran


HTTP = {
    "endless-stream": (1, "without answering"),
    "endless-event": (1, "longer than what is read"),
    "silent-stream": (1, "did not answer in time"),
    "giant-header": (1, "the head of its answer is too large"),
    "endless-header": (1, "the head of its answer is too large"),
    "length-too-large": (1, "closed the connection instead of answering"),
    "length-too-small": (1, "read"),
    "length-no-number": (1, "a Content-Length that is no number"),
    "huge-body": (1, "longer than what is read"),
    "redirects": (1, "HTTP status 307 and no message"),
    "never-answers": (1, "did not answer in time"),
    "no-http": (1, "neither HTTP/1.0 nor HTTP/1.1"),
    "closes": (1, "closed the connection instead of answering"),
    "dies": (1, "SIGABRT"),
    "never-listens": (4, "did not get ready"),
}
HANGS = {"silent-stream", "never-answers", "length-too-small"}
GOOD = {"json", "events"}


@pytest.mark.parametrize("kind", HTTP)
def test_a_hostile_server_that_listens_is_borne_and_explained(place, kind):
    server(place, "http_server.py")
    start = () if kind == "never-listens" else ("--start-timeout", "30s")
    call = () if kind in HANGS else PATIENT
    judge(kind, HTTP[kind], place, "mcp", "--http", "8000", *OPTIONS, *start, *call, "--", "python3", "http_server.py", kind)


def test_every_hostile_one_that_listens_is_tried():
    ran = subprocess.run(["python3", "-c", "import http_server; print(*http_server.KINDS)"], cwd=HOSTILE, capture_output=True, check=True,
                         text=True, env={**harness.environment(), "PYTHONDONTWRITEBYTECODE": "1"})
    assert set(ran.stdout.split()) == set(HTTP) | GOOD


# ---- what cannot be used ----


def test_where_a_mount_is_nothing_is_planted_and_that_is_said(place):
    tool(place, 'said = {"status": open(text).read()}')
    empty = place / "empty"
    empty.mkdir(mode=0o755)
    over = [word for folder in ("/home", "/srv") for word in ("--mount", f"{empty}:{folder}")]
    ran = fuzz_tool(place, "--mount", f"{place}:/app", *over, "--json", "--export-sarif", "log.sarif", calls=5, command=("python3", "/app/tool.py"))
    gaps = {f"nothing is planted in {path}: a mount is there" for path in ("/home/backup/.ssh/id_ed25519", "/srv/backup/credentials.json")}
    assert gaps == {gap for gap in said(ran)["limitations"] if "planted" in gap}, ran
    assert all(gap in (place / "log.sarif").read_text() for gap in gaps)


NAMES = '''import json, sys
FINE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
FAIL = {"content": [{"type": "text", "text": "KeyError: 'what'"}], "isError": True}
OFFERS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "x", "version": "1"}},
    "tools/list": {"tools": [{"name": "fetch", "inputSchema": FINE}, {"name": "half\\ud800", "inputSchema": FINE}]},
    "prompts/list": {"prompts": [{"name": "fetch", "arguments": [{"name": "url", "required": True}]}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    out = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "prompts/get" and message["params"]["name"] == "fetch":
        out["error"] = {"code": -32603, "message": "ValueError: unknown url type"}
    else:
        out["result"] = OFFERS.get(message["method"], FAIL)
    print(json.dumps(out), flush=True)
'''


def test_a_prompt_that_is_called_like_a_tool_is_fuzzed_too(place):
    program(place, NAMES)
    ran = fuzz_mcp(place, "--json", *PATIENT, calls=10, command=["tool.py"])
    assert found(ran) == {("exception", "fetch"), ("exception", "fetch (prompt)")} and ran.code == 1, ran
    assert said(ran)["limitations"] == ["'half\\xed\\xa0\\x80' was left out: its name is no text of Unicode"], ran
    for capsule in capsules(place):
        ran = hotcell("findings", "repro", capsule.stem, "--times", "1", cwd=place)
        assert ran.code == 1 and ran.out.startswith(b"reproduced: "), ran

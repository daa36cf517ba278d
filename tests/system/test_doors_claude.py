"""The Claude Code command line from npm, headless, against a stand-in of its API through a secret door: it works as it is,
its key is nowhere in its cell, budgets hold it, and what was recorded answers it again."""

import base64
import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from campaigns import Supervisor, campaign, ledger_rows, sessions, status
from clients import NPM, script, verdicts
from harness import HOTCELL, IS_ROOT, ROOT, Live, descendants, eventually, hotcell, lives, run, slurp, stat_of
from messages_api import MessagesApi, text, tool
from pages import pages

PLACEHOLDER = b"placeholder-credential-is-added-outside-the-cell"
CLAUDE = "/npm/.bin/claude"
QUIET = ["--env", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"] # no updates, no telemetry: there is no way out for them
LOOKS = [text("I look around."), tool("Bash", command="python3 /scripts/look.py", description="look around")]
ASKS = [text("I ask who I am."), tool("Bash", command="id", description="ask who I am")]
ANSWER = "THE ANSWER IS 42"

# Looks in the cell for what a key looks like, without knowing it, and for the placeholder, which must be there.
LOOK = r"""
    import json, os, re, sys
    sys.path.insert(0, "/scripts")
    from pages import pages

    key, placeholder = re.compile(rb"sk-ant-api03-[0-9a-f]{16}"), b"placeholder-credential-is-added-outside-the-cell"
    found = {"keys": [], "environ": 0, "memory": 0, "files": 0}

    def judge(kind, where, data):
        if key.search(data):
            found["keys"].append(where)
        found[kind] += placeholder in data if kind != "files" else 1

    def slurp(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return b""

    def memory(pid):
        try:
            return b"".join(pages(pid))
        except OSError: # of the cell's keeper
            return b""

    for pid in filter(str.isdigit, os.listdir("/proc")):
        judge("environ", f"environ of {pid}", slurp(f"/proc/{pid}/environ"))
        judge("environ", f"words of {pid}", slurp(f"/proc/{pid}/cmdline"))
        if int(pid) != os.getpid():
            judge("memory", f"memory of {pid}", memory(pid))
    for top in ("/workspace", "/tmp", "/dev/shm", "/etc", "/run", "/var", "/root", "/home"):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    judge("files", path, slurp(path))
    print(json.dumps(found))
    """


@pytest.fixture
def key():
    return "sk-ant-api03-" + uuid.uuid4().hex


def forms(key):
    """What would betray the key: each half of what is only its own, and all of it in other clothes."""
    own, found = key[-32:].encode(), [key[-32:-16].encode(), key[-16:].encode()]
    found += [own[::-1][:16], own.hex().encode(), own.decode().encode("utf-16-le")]
    found += [base64.b64encode(b" " * shift + own)[4:-4] for shift in range(3)]
    return found


def betrays(data, key):
    return [form for form in forms(key) if form in data]


def door_of(api, more=""):
    return ["--secret-door", f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY{more}", "--mount", f"{NPM}:/npm",
            "--memory", "2G", *QUIET]


def claude(*more):
    return ["--", CLAUDE, "-p", "look around, then answer", "--allowedTools", "Bash", *more]


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None # its own keeper forbids it, or it has gone


def search(pid, key):
    """(forms of the key, whether the placeholder is there) in a process: its words, its environment, its memory."""
    data = b"".join((slurp(f"/proc/{pid}/environ") or b"", slurp(f"/proc/{pid}/cmdline") or b"", *pages(pid)))
    return set(betrays(data, key)), PLACEHOLDER in data


def search_files(pid, key):
    """Forms of the key in what the cell could write, seen through one of its processes; and how many files."""
    found, count = set(), 0
    for top in ("workspace", "tmp", "dev/shm", "etc/hosts"):
        for path in [Path(f"/proc/{pid}/root") / top, *(Path(f"/proc/{pid}/root") / top).rglob("*")]:
            if path.is_file() and not path.is_symlink():
                found.update(betrays(slurp(path) or b"", key))
                count += 1
    return found, count


class Watch:
    """Looks into a live cell from outside, when its client waits for the answer to its second turn."""

    def __init__(self, key):
        self.key, self.live, self.searched, self.holders, self.files = key, None, {}, set(), 0

    def __call__(self, turn):
        if turn != 1:
            return
        ours = namespace("self")
        for pid in descendants(self.live.pid):
            try:
                self.look(pid, ours)
            except OSError:
                assert not lives(pid)  # it has gone meanwhile

    def look(self, pid, ours):
        name = (stat_of(pid) or ["gone"])[0]
        if namespace(pid) in (ours, None):
            if IS_ROOT and search(pid, self.key)[0]:
                self.holders.add(name)
            return
        self.searched.setdefault(name, []).append(search(pid, self.key))
        if name == "claude":
            found, self.files = search_files(pid, self.key)
            assert not found, found


def test_claude_code_works_through_a_secret_door_and_its_key_is_nowhere_in_the_cell(place, key):
    out, watch, options = place / "out", Watch(key), script(place, "look.py", LOOK)
    shutil.copy(ROOT / "tests" / "system" / "pages.py", place / "scripts")
    with MessagesApi(key, [LOOKS, [text(ANSWER)]], echo=True, before=watch) as api:
        with Live(*door_of(api), *options, "--network-record", "--output", out, *claude(),
                  env={"ANTHROPIC_API_KEY": key}, stdin=subprocess.DEVNULL) as watch.live:
            ran = watch.live.finish(60)
    assert ran.code == 0 and ran.out.decode().startswith(ANSWER), ran
    assert api.failed is None, api.failed

    # the stand-in got the right key, each time, and nothing of what the cell has in its place
    assert [(each.method, each.path) for each in api.asked] == [("HEAD", "/"), *[("POST", "/v1/messages?beta=true")] * 2]
    for each in api.asked:
        assert each.headers["x-api-key"] == key
        assert PLACEHOLDER not in json.dumps(each.headers).encode(), each.headers
        assert not betrays(each.body, key)

    # from outside: the memory, words, environment and files of every process of the cell, its keeper's too
    assert watch.searched["claude"] == [(set(), True)], watch.searched
    assert watch.files >= 3, watch.files
    # in a sanitized build every hotcell has a copy of its first environment, which is the sanitizer's
    sanitized = b"__asan_init" in slurp(HOTCELL)
    assert sanitized or all(not found for each in watch.searched.values() for found, _ in each), watch.searched
    if IS_ROOT and not sanitized:
        assert watch.holders == {"hotcell-doord"}, "who has the key besides doord and the supervisor, or it was not looked for"

    # from inside, by a tool of the agent's
    [result] = [block for block in api.messages[1].json["messages"][-1]["content"] if block["type"] == "tool_result"]
    words = result["content"] if isinstance(result["content"], str) else result["content"][0]["text"]
    looked = json.loads(words)
    assert looked["keys"] == [] and looked["environ"] >= 2 and looked["memory"] >= 1 and looked["files"] >= 3, looked

    # what it left behind and what we wrote about it
    assert not betrays(ran.out + ran.err + json.dumps(ran.result).encode(), key), ran
    for path in filter(Path.is_file, out.rglob("*")):
        assert not betrays(path.read_bytes(), key), path
    assert {(line[0], line[3]) for line in verdicts(out)} == {("anthropic", "allowed")}
    network = ran.result["network"]
    assert (network["requests"], network["tokens_in"], network["tokens_out"]) == (3, 800, 400), network


def test_the_key_is_not_in_the_traffic_that_a_cell_sees_even_if_it_is_repeated_to_it(place, key):
    """A program of the cell stands between Claude Code and the door and writes down every byte."""
    options = script(place, "between.py", r"""
        import os, socket, subprocess, sys, threading

        def carry(source, sink, name):
            with open(name, "ab", 0) as log:
                while data := source.recv(65536):
                    log.write(data)
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

        def serve(listener):
            for number in range(1000):
                client, _ = listener.accept()
                door = socket.create_connection(("anthropic.door", 80))
                threading.Thread(target=carry, args=(client, door, f"to-{number}"), daemon=True).start()
                threading.Thread(target=carry, args=(door, client, f"from-{number}"), daemon=True).start()

        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        done = subprocess.run(sys.argv[1:], env={**os.environ, "ANTHROPIC_BASE_URL": base})
        sys.exit(done.returncode)
        """)
    with MessagesApi(key, [[text(ANSWER)]], echo=True) as api:
        ran = run(*door_of(api), *options, "--output", place / "out", "--", "/usr/bin/python3", "/scripts/between.py",
                  *claude()[1:], env={"ANTHROPIC_API_KEY": key}, timeout=90)
    assert ran.code == 0, ran
    # of the key there are as many stars as it has characters
    assert ran.lines == [f"{ANSWER} ({'*' * len(key)})"], ran
    seen = b"".join(path.read_bytes() for path in (place / "out").glob("from-*"))
    assert seen.count(b"*" * len(key)) >= 3 and b"event: message_stop" in seen, seen
    sent = b"".join(path.read_bytes() for path in (place / "out").glob("to-*"))
    assert PLACEHOLDER in sent
    assert not betrays(seen + sent, key)
    assert {each.headers["x-api-key"] for each in api.asked} == {key}


def test_nodes_fetch_uses_a_secret_door_as_any_client_does(place, key):
    options = script(place, "ask.mjs", """
        const answer = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
            method: 'POST', headers: {'content-type': 'application/json', 'x-api-key': process.env.ANTHROPIC_API_KEY},
            body: JSON.stringify({model: 'claude-test', max_tokens: 10, messages: [{role: 'user', content: 'hello'}]})});
        console.log(answer.status, (await answer.json()).content[0].text);
        """)
    with MessagesApi(key, [[text(ANSWER)]]) as api:
        ran = run(*door_of(api), *options, "--", "node", "/scripts/ask.mjs", env={"ANTHROPIC_API_KEY": key}, timeout=90)
    assert ran.lines == [f"200 {ANSWER}"], ran
    assert [each.headers["x-api-key"] for each in api.asked] == [key]


def test_claude_code_is_told_that_a_budget_is_used_up_and_its_campaign_pauses_until_it_is_raised(place, key):
    # what a request says it used is more than could be reserved for it: two sessions fit, almost
    with MessagesApi(key, [ASKS, [text(ANSWER)]], usage=(4000000, 2000000)) as api:
        options = [*door_of(api), "--name", "tight", "--runs", "3", "--workers", "1"]
        with Supervisor(place, *options, "--budget", "tokens=15M", "--on-budget", "pause", *claude(), env={"ANTHROPIC_API_KEY": key}) as supervisor:
            # a session is two requests of 6 million tokens each: the second session has its first, and that is all
            supervisor.wait_for("the budget of 15000000 tokens is used up", 60)
            assert eventually(lambda: status(place, "tight")["sums"]["states"]["error"] == 1, 30)
            assert supervisor.process.poll() is None
            assert len(api.messages) == 3
            shown = hotcell("status", "tight", cwd=place).out.decode()
            assert "paused" in shown and "is used up" in shown, shown
            raised = campaign(place, "tight", "--budget", "tokens=1000M", verb="resume", env={"ANTHROPIC_API_KEY": key}, timeout=90)
            assert raised.code == 0, raised
            assert supervisor.finish() == 1, supervisor.text()
    [first, second, third] = [folder for _, folder in sorted(sessions(place).items())]
    assert (first / "stdout.log").read_text() == (third / "stdout.log").read_text() == ANSWER + "\n"
    said = (second / "stdout.log").read_text()
    assert "429" in said and "is used up" in said, said
    rows = ledger_rows(place, "select state from runs order by number")
    assert [row["state"] for row in rows] == ["success", "error", "success"]
    result = json.loads((second / "result.json").read_text())
    assert "is used up" in result["budget"], result
    assert [line[3] for line in verdicts(second)] == ["allowed", "allowed", "refused"]
    assert len(api.messages) == 5
    for path in filter(Path.is_file, place.rglob("*")):
        assert not betrays(path.read_bytes(), key), path


def test_a_recorded_session_of_claude_code_is_played_again_without_the_outside(place, key):
    with MessagesApi(key, [ASKS, [text(ANSWER)]]) as api:
        doors = door_of(api)
        ran = run(*doors, "--network-record", "--output", place / "first", *claude(), env={"ANTHROPIC_API_KEY": key}, timeout=90)
    assert ran.code == 0 and ran.lines == [ANSWER], ran
    again = run(*doors, "--network-replay", place / "first", "--output", place / "again", *claude(),
                env={"ANTHROPIC_API_KEY": None}, timeout=90)
    assert again.code == 0 and again.lines == [ANSWER], again
    assert len(api.asked) == 3, "nothing more reached the outside"
    assert len(verdicts(place / "again")) == len(verdicts(place / "first")) == 3


def test_the_example_with_this_agent_is_right_but_for_where_its_model_is(place, key):
    shutil.copytree(ROOT / "examples", place / "examples")
    file = place / "examples/agent-fuzz/claude.yaml"
    with MessagesApi(key, [ASKS, [text(ANSWER)]]) as api:
        [_, door] = door_of(api)[:2]
        given = file.read_text()
        # the agent is in no system folder here, the model on this machine, and nobody is root in the cell
        changed = (given.replace('secret-door: "@anthropic"', f"secret-door: {json.dumps(door)}")
                   .replace("command: [claude,", f"command: [{CLAUDE},")
                   .replace("  - .:/project", f"  - .:/project\n  - {NPM}:/npm"))
        assert changed.count(CLAUDE) == changed.count(door) == changed.count(str(NPM)) == 1
        file.write_text(changed)
        ran = campaign(place, file, "--runs", "2", "--workers", "1", "--trust", env={"ANTHROPIC_API_KEY": key}, timeout=120)
    assert ran.code == 0 and b"doors: " in ran.out, ran
    for folder in sessions(place).values():
        assert (folder / "stdout.log").read_text() == ANSWER + "\n"
        assert (folder / "exchanges.jsonl").exists() and len(verdicts(folder)) == 3
    for path in filter(Path.is_file, place.rglob("*")):
        assert not betrays(path.read_bytes(), key), path

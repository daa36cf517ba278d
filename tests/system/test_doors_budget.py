"""Budgets of money and tokens hold by the count of whoever is paid: for any number of requests at once, without usage,
and over the death of whoever counts."""

import json
import os
import signal
import threading

import pytest
from campaigns import Supervisor, campaign, ledger_rows, status
from chat_api import ChatApi
from doors import doord_of
from harness import eventually, run

GPT_4O = (2.5, 10)
# asks `count` times, `at_once` at a time; tells {status: how often}, and one answer that was refused
ASK = """
import collections, http.client, json, sys, threading
body, path, count, at_once = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
codes, said, left, lock = collections.Counter(), [""], [count], threading.Lock()
def ask():
    while True:
        with lock:
            if left[0] == 0:
                return
            left[0] -= 1
        try:
            to = http.client.HTTPConnection("api.door", timeout=60)
            to.request("POST", path, (body if isinstance(body, str) else json.dumps(body)).encode(), {"content-type": "application/json"})
            answer = to.getresponse()
            text, code = answer.read().decode(), answer.status
        except Exception as error:
            text, code = repr(error), 0
        with lock:
            codes[code] += 1
            if code == 429 or not said[0]:
                said[0] = text
all = [threading.Thread(target=ask) for _ in range(at_once)]
[each.start() for each in all]
[each.join() for each in all]
print(json.dumps([codes, said[0]]))
"""


def chat(max_tokens=None, model="gpt-4o", **more):
    body = {"model": model, "messages": [{"role": "user", "content": "tell me a story"}], **more}
    return {**body, "max_tokens": max_tokens} if max_tokens else body


def ask(api, budget, body, count=1, at_once=1, path="/v1/chat/completions", options=()):
    ran = run(*api.door, "--budget", budget, *options, "--", "/usr/bin/python3", "-S", "-c", ASK, json.dumps(body), path, str(count),
              str(at_once), env={"KEY": "sk-0123456789abcdef"}, timeout=120)
    assert ran.code == 0, ran
    codes, ran.heard = json.loads(ran.out)
    return {int(code): times for code, times in codes.items()}, ran


@pytest.mark.parametrize("at_once", [1, 30])
def test_streamed_answers_are_asked_for_their_usage_and_stop_at_the_budget(at_once):
    with ChatApi(tokens=50) as api:
        codes, ran = ask(api, "$0.05", chat(50, stream=True), 540, at_once)
    assert set(codes) == {200, 429}, ran
    assert 0.04 <= api.bill(*GPT_4O) <= 0.05, (codes, api.bill(*GPT_4O))
    assert all(each["stream_options"] == {"include_usage": True} for each in api.bodies)
    counts = ran.result["network"]
    assert counts["microdollars"] <= 50000 and counts["unpriced"] == 0, counts
    assert counts["tokens_in"] == api.tokens_in and counts["tokens_out"] == api.tokens_out, counts
    assert "the budget of $0.05" in counts["budget"], counts
    assert "budget_exhausted" in ran.heard and "a lower max_tokens may fit" in ran.heard, ran.heard


def test_streamed_answers_that_tell_no_usage_all_the_same_are_estimated():
    with ChatApi(tokens=50, tells="never") as api:
        codes, ran = ask(api, "$0.05", chat(50, stream=True), 540, 10)
    assert set(codes) == {200, 429}, ran
    assert 0.02 <= api.bill(*GPT_4O) <= 0.05, (codes, api.bill(*GPT_4O))
    counts = ran.result["network"]
    assert counts["unpriced"] == codes[200] and 45000 <= counts["microdollars"] <= 50000, counts


def test_the_event_that_only_the_door_asked_for_stays_with_it():
    with ChatApi(tokens=3) as api:
        _, unasked = ask(api, "$1", chat(50, stream=True))
        _, asked = ask(api, "$1", chat(50, stream=True, stream_options={"include_usage": True}))
        _, denied = ask(api, "$1", chat(50, stream=True, stream_options={"include_usage": False, "x": 1}))
    assert [each["stream_options"]["include_usage"] for each in api.bodies] == [True] * 3
    for ran, has in ((unasked, False), (asked, True), (denied, False)):
        assert ran.heard.count('"delta"') == 3 and ran.heard.endswith("data: [DONE]\n\n"), ran.heard
        assert ("prompt_tokens" in ran.heard) == has, ran.heard
        assert ran.result["network"]["tokens_out"] == 3, ran


@pytest.mark.parametrize("max_tokens", [2000, 100, None])
def test_requests_at_once_never_get_more_than_the_budget(max_tokens):
    """All are under way at the same time, as far as they are let."""
    with ChatApi(tokens=2000, before=lambda number: threading.Event().wait(0.3)) as api:
        codes, ran = ask(api, "tokens=2000", chat(max_tokens), 90, 90)
    assert api.tokens_in + api.tokens_out <= 2000, (codes, api.tokens_out)
    assert sum(codes.values()) == 90 and codes.get(429, 0) >= 80, (codes, ran)
    assert (codes.get(200, 0) > 0) == (max_tokens == 100), codes


@pytest.mark.parametrize("path, body, usage", [
    ("/v1/messages", chat(20, "claude-sonnet-4-5"), lambda told: {"input_tokens": told["prompt_tokens"], "output_tokens": told["completion_tokens"]}),
    ("/v1/messages", chat(20, "claude-sonnet-4-5", stream=True), lambda told: {"input_tokens": told["prompt_tokens"], "output_tokens": told["completion_tokens"]}),
    ("/v1/messages", chat(20, "claude-sonnet-4-5"), lambda told: {"input_tokens": 1, "output_tokens": 1, "iterations": [{"output_tokens": 19}, {"output_tokens": 1}]}),
    ("/v1/responses", {"model": "gpt-4o", "input": "a story", "max_output_tokens": 20}, lambda told: told),
    ("/v1/responses", {"model": "gpt-4o", "input": "a story", "max_output_tokens": 20, "stream": True}, lambda told: told),
    ("/v1/completions", {"model": "gpt-4o", "prompt": "a story", "max_tokens": 20, "n": 3}, lambda told: told),
    ("/v1/chat/completions", chat(20, n=3), lambda told: told),
    ("/v1/chat/completions", chat(20), lambda told: {}),
    ("/v1/chat/completions", chat(20), lambda told: {"prompt_tokens": 0, "completion_tokens": 0}),
    ("/v1/chat/completions", chat(20), lambda told: {"prompt_tokens": -5, "completion_tokens": -5}),
    ("/v1/chat/completions", chat(20), lambda told: {"prompt_tokens": "5", "completion_tokens": "5"}),
    ("/v1/chat/completions", chat(20, stream=True), lambda told: {"prompt_tokens": 1.5, "completion_tokens": 1e3}),
    ("/v1/embeddings", {"model": "gpt-4o", "input": ["a story", "another"]}, lambda told: {"prompt_tokens": told["prompt_tokens"]}),
    ("/v1/whatever", {"model": "gpt-4o", "text": "a story"}, lambda told: None),
])  # fmt: skip
def test_whatever_is_told_the_bill_stays_within_the_budget(path, body, usage):
    with ChatApi(tokens=20, tells=usage) as api:
        codes, ran = ask(api, "tokens=200k", body, 400, 20, path=path)
        used = api.tokens_in + api.tokens_out
    counts = ran.result["network"]
    assert used <= 200000 and counts["tokens_in"] + counts["tokens_out"] >= used, (codes, used, counts)
    assert codes.get(200, 0) > 0, (codes, ran)


@pytest.mark.parametrize("body", [
    '{"model":"gpt-4o","messages":[],"max_tokens":1,"max_tokens":100000}',
    '{"model":"gpt-4o","messages":[],"max_tokens":1,"Max_Tokens":100000}',
    '{"model":"gpt-4o","messages":[],"max_tokens":1,"max_to\\u212aens":100000}',
    '{"model":"gpt-4o","messages":[],"max_tokens":"1"}',
    '{"model":"gpt-4o","messages":[],"max_tokens":-1}',
    '{"model":"gpt-4o","messages":[],"max_tokens":1,"n":1e3}',
    '{"model":"gpt-4o","model":"gpt-5-nano","messages":[],"max_tokens":1}',
    '{"model":"gpt-4o","messages":[],"max_tokens":1}}',
    '\ufeff{"model":"gpt-4o","messages":[],"max_tokens":1}',
    "model=gpt-4o&max_tokens=1",
    '{"model":"gpt-4o","messages":[],"max_tokens":1,"max_tokens\\u0000":100000}',
])  # fmt: skip
def test_a_body_that_two_readers_could_read_differently_is_refused(body):
    with ChatApi() as api:
        codes, ran = ask(api, "tokens=1M", body)
    assert codes == {400: 1} and api.bodies == [], ran


@pytest.mark.parametrize("field", ["content-encoding: gzip", "Content_Encoding: gzip", "content-type: application/json; charset=utf-16",
                                   "Content_Type: application/json; charset=utf-16"])  # fmt: skip
def test_a_body_that_cannot_be_read_is_refused_however_the_field_is_spelled(field):
    """Gateways that make variables of fields take _ for -."""
    raw = ASK.replace('{"content-type": "application/json"}', repr(dict([field.split(": ")])))
    with ChatApi() as api:
        ran = run(*api.door, "--budget", "tokens=1M", "--", "/usr/bin/python3", "-S", "-c", raw, json.dumps(chat(1)), "/v1/chat/completions", "1",
                  "1", env={"KEY": "sk-0123456789abcdef"})
    assert json.loads(ran.out)[0] == {"400": 1} and api.bodies == [], ran


@pytest.mark.parametrize("path, body", [
    ("/v1/messages/batches", {"requests": [{"custom_id": "a", "params": chat(10)}]}),
    ("/v1/batches", {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"}),
    ("/v1/other", {"input_file_id": "file-1"}),
    ("/v1/fine_tuning/jobs", {"training_file": "file-1", "model": "gpt-4o"}),
])  # fmt: skip
def test_what_is_paid_for_later_is_refused_under_a_budget(path, body):
    with ChatApi() as api:
        codes, ran = ask(api, "$20", body, path=path)
        assert codes == {400: 1} and api.bodies == [] and "paid for later" in ran.heard, ran
        codes, ran = ask(api, "requests=5", body, path=path)
    assert codes == {200: 1} and len(api.bodies) == 1, ran


def test_what_was_reserved_counts_as_used_when_the_process_that_counts_is_killed(place):
    hangs = threading.Event()
    try:
        with ChatApi(tokens=50, before=lambda number: hangs.wait(60)) as api:
            options = ["--name", "killed", "--runs", "1", "--workers", "1", "--budget", "tokens=1000", *api.door]
            script = ASK + "\nif 0 in codes: left[0] = 1; ask(); print(json.dumps(codes))\n"
            command = ["--", "/usr/bin/python3", "-S", "-c", script, json.dumps(chat(700)), "/v1/chat/completions", "1", "1"]
            with Supervisor(place, *options, *command, env={"KEY": "sk-0123456789abcdef"}) as supervisor:
                assert eventually(lambda: len(api.bodies) == 1, 30), supervisor.text()
                os.kill(doord_of(supervisor.pid), signal.SIGKILL)
                assert supervisor.finish() in (0, 1, 5), supervisor.text()
            counts = status(place, "killed")["sums"]["network"]
            assert counts["tokens_in"] + counts["tokens_out"] > 700, counts
            assert len(api.bodies) == 1, api.bodies
    finally:
        hangs.set()


def test_what_was_reserved_counts_as_used_when_a_killed_campaign_is_resumed(place):
    hangs = threading.Event()
    try:
        with ChatApi(tokens=50, before=lambda number: hangs.wait(60)) as api:
            options = ["--name", "lives", "--runs", "1", "--workers", "1", "--budget", "tokens=1000", *api.door]
            command = ["--", "/usr/bin/python3", "-S", "-c", ASK, json.dumps(chat(700)), "/v1/chat/completions", "1", "1"]
            with Supervisor(place, *options, *command, env={"KEY": "sk-0123456789abcdef"}) as first:
                assert eventually(lambda: len(api.bodies) == 1, 30), first.text()
                used = "select net_tokens_in + net_tokens_out as used from campaigns"
                assert eventually(lambda: ledger_rows(place, used)[0]["used"] > 700, 30)
                first.kill()
                first.process.wait()
            again = campaign(place, "lives", verb="resume", env={"KEY": "sk-0123456789abcdef"}, timeout=90)
            assert again.code in (0, 1, 5), again
            assert len(api.bodies) == 1, api.bodies
            assert ledger_rows(place, used)[0]["used"] > 700
    finally:
        hangs.set()


def test_a_run_that_is_tried_again_has_what_is_left_of_its_budget(place):
    """Else a cell that fails as often as it may would have its budget as often."""
    with ChatApi(tokens=50) as api:
        options = ["--name", "tries", "--runs", "2", "--workers", "1", "--run-budget", "tokens=1000", "--retries", "3", *api.door]
        command = ["--", "/usr/bin/python3", "-S", "-c", ASK + "\nsys.exit(1)", json.dumps(chat(50)), "/v1/chat/completions", "40", "4"]
        ran = campaign(place, *options, *command, env={"KEY": "sk-0123456789abcdef"}, timeout=90)
        assert ran.code == 1, ran
    assert 1000 <= api.tokens_in + api.tokens_out <= 2000, api.bodies
    counts = status(place, "tries")["sums"]["network"]
    assert counts["tokens_in"] + counts["tokens_out"] == api.tokens_in + api.tokens_out, counts
    assert counts["requests"] == 2 * 4 * 40, counts

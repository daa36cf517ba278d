"""hotcell fuzz, repro and findings minimise: what they say, what they keep, and how they end."""

import json
import os
import shutil
import signal
import time

import jsonschema
import pytest

import harness
from fuzzing import FAULTY, FINE, QUICK, SCHEMA, capsules, found, fuzz_mcp, fuzz_tool, said, server, tool
from harness import Live, Terminal, eventually, hotcell, refused

SARIF = harness.ROOT / "build-npm" / "node_modules" / "@microsoft" / "sarif-multitool-linux" / "sarif-2.1.0.json"


# ---- oracles ----


def test_each_oracle_finds_its_fault(place):
    server(place, "faulty_server.py")
    ran = fuzz_mcp(place, "--json", "--memory", "64M", "--exclude", "read_file", "--exclude", "command", "--exclude", "accepted", "--exclude", "unstable",
                   "--oracles", "all,-unstable", "--call-timeout", "500ms", calls=39, command=["faulty_server.py"])
    assert ran.code == 1, ran
    assert found(ran) >= {
        ("secret", "secret"), ("spawn", "spawn"), ("file", "write"), ("network", "network"), ("crash", "crash"),
        ("hang", "hang"), ("memory", "memory"), ("exception", "exception"), ("trace", "trace"), ("output-schema", "output"),
        ("protocol", "protocol"), ("refused", "refused"),
    }, ran
    assert not [each for each in found(ran) if each[1] == "fine"], ran


@pytest.mark.parametrize("oracle, name, calls", [("canary", "read_file", 80), ("command", "command", 80), ("accepted", "accepted", 40)])
def test_what_takes_some_luck_is_found(place, oracle, name, calls):
    server(place, "faulty_server.py")
    only = ("--oracles", oracle, "--max-findings", "1", "--fail-on", "any")
    ran = fuzz_mcp(place, "--json", "--tool", name, "--malformed", *only, calls=calls, command=["faulty_server.py"])
    assert found(ran) == {(oracle, name)} and ran.code == 1, ran


def test_answers_that_differ_are_told_if_that_is_asked_for(place):
    server(place, "faulty_server.py")
    ran = fuzz_mcp(place, "--json", "--tool", "unstable", "--oracles", "unstable", "--fail-on", "any", calls=250, command=["faulty_server.py"])
    assert found(ran) == {("unstable", "unstable")} and ran.code == 1, ran


def test_what_was_declared_is_no_finding(place):
    server(place, "faulty_server.py")
    declared = ("--allow-write", "/var/lib", "--allow-spawn", "true", "--allow-net")
    ran = fuzz_mcp(place, "--json", "--tool", "write", "--tool", "spawn", "--tool", "network", *declared, calls=9, command=["faulty_server.py"])
    assert ran.code == 0 and not found(ran), ran


# ---- what it says ----


def test_a_clean_tool_is_clean(place):
    tool(place, FINE)
    ran = fuzz_tool(place)
    assert ran.code == 0, ran
    assert b"Nothing found; 12 calls" in ran.out and b"seed 7" in ran.out, ran
    assert not capsules(place)


def test_the_object_is_complete(place):
    tool(place, FAULTY)
    ran = fuzz_tool(place, "--json", "--name", "tally")
    told = said(ran)
    assert ran.code == told["exit"] == 1
    assert told["target"] == "tally" and told["kind"] == "tool-lines" and told["seed"] == "7" and told["end"] == "done"
    assert told["calls"] == 12 and told["confirm_calls"] > 0 and told["above_threshold"] == 1 and told["gate"] == "warning"
    row, = told["tools"]
    assert row["calls"] == 12 == sum(row[kind] for kind in ("ok", "rejected", "failed", "ended", "late", "broken")), row
    finding, = told["findings"]
    assert finding["oracle"] == "exception" and finding["command"] == ["python3", "tool.py"] and finding["state"] == "open"
    assert (finding["seen"], finding["tried"]) == (2, 2) and json.loads(finding["input"]) == {"text": ""}, finding
    assert told["new"] == [finding["id"]] and told["fixed"] == []
    assert json.loads(capsules(place)[0].read_text())["id"] == finding["id"]


def test_people_get_tables_and_the_command_to_see_it_again(place):
    tool(place, FAULTY)
    ran = fuzz_tool(place)
    id = capsules(place)[0].stem
    text = ran.out.decode()
    assert "rejected" in text and "KeyError" in text and f"hotcell findings repro {id}" in text, ran
    assert "1 finding (1 medium), 1 new, 0 fixed, 1 at or above the gate 'warning'; 12 calls" in text, ran
    assert f"found {id}  medium  exception in tool.py" in ran.err.decode(), ran
    quiet = fuzz_tool(place, "-q")
    assert quiet.err == b"" and quiet.code == 1, quiet


def test_a_terminal_gets_a_picture_and_keeps_its_cursor(place, monkeypatch):
    tool(place, FAULTY)
    monkeypatch.chdir(place)
    with Terminal("fuzz", "tool", "--schema", "schema.json", "--max-calls", "30", *QUICK, "--", "python3", "tool.py") as terminal:
        code, out = terminal.finish(60)
    assert code == 1 and b"calls," in out and b"KeyError" in out
    assert out.count(b"\x1b[?25l") == out.count(b"\x1b[?25h") >= 1


def test_sarif_is_valid_and_names_the_file(place):
    tool(place, FAULTY)
    ran = fuzz_tool(place, "--export-sarif", "-")
    log = json.loads(ran.out)  # and nothing else is there: what is for people is on stderr
    assert b"To reproduce one:" in ran.err
    jsonschema.Draft202012Validator(json.loads(SARIF.read_text())).validate(log)
    result, = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "schema.json", result


def test_the_audit_log_has_its_beginning_and_end(place):
    tool(place, FINE)
    fuzz_tool(place)
    assert hotcell("audit", "verify", cwd=place).code == 0
    log = (place / ".hotcell" / "audit.jsonl").read_text()
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert events.count("fuzz-start") == 1 and events[-1] == "fuzz-end", events


# ---- how it ends ----


def test_a_target_that_rejects_everything_was_not_really_fuzzed(place):
    tool(place, 'said = {"error": "the service is closed"}')
    ran = fuzz_tool(place)
    assert ran.code == 3 and b"Nothing was really fuzzed" in ran.out, ran


@pytest.mark.parametrize("body, options, why", [
    ('said = {"error": "cannot open /opt/app/conf/settings.yaml"}', (), "every call was rejected"),
    ('said = {"error": "the service is closed"}', ("--oracles", "all"), "every call was rejected"),
    ("os._exit(3)", ("--fail-on", "none"), "no call was answered"),
])
def test_a_finding_below_the_gate_does_not_make_it_fuzzed(place, body, options, why):
    tool(place, body)
    ran = fuzz_tool(place, *options)
    assert ran.code == 3 and b"1 finding (" in ran.out, ran
    assert f"nothing was really fuzzed: {why}" in ran.out.decode(), ran
    assert fuzz_tool(place, *options, "--fail-on", "any").code == 1


def test_a_hang_of_the_baseline_does_not_make_it_fuzzed(place):
    tool(place, "time.sleep(100)")
    ran = fuzz_tool(place, "--export-sarif", "before.sarif", "--call-timeout", "200ms", calls=2)
    assert ran.code == 1 and b"no call was answered" in ran.out, ran
    ran = fuzz_tool(place, "--baseline", "before.sarif", "--call-timeout", "200ms", "--json", calls=2)
    assert ran.code == 3 and said(ran)["end"] == "nothing" and said(ran)["above_threshold"] == 0, ran


def test_what_is_known_does_not_end_it_before_the_first_call(place):
    tool(place, FAULTY)
    id = said(fuzz_tool(place, "--json"))["findings"][0]["id"]
    assert hotcell("findings", "suppress", id, "--reason", "known", cwd=place).code == 0
    ran = fuzz_tool(place, "--json", "--max-findings", "1")
    assert ran.code == 0 and said(ran)["calls"] == 12, ran


@pytest.mark.parametrize("command", [["/missing/program"], ["python3", "-c", "import sys; sys.exit('no licence')"], ["python3", "missing.py"]])
def test_a_server_that_does_not_start_is_explained(place, command):
    ran = hotcell("fuzz", "mcp", "--start-timeout", "5s", "--", *command, cwd=place)
    assert ran.code == 4 and len(ran.own) == 1, ran


@pytest.mark.parametrize("options, names", [
    ((), "--schema"),
    (("--schema", "missing.json"), "missing.json"),
    (("--schema", "fifo"), "fifo"),
    (("--schema", "link.json"), "link.json"),
    (("--schema", "."), "--schema"),
    (("--schema", "broken.json"), "broken.json"),
    (("--schema", "deep.json"), "deep.json"),
    (("--schema", "schema.json", "--output-schema", "broken.json"), "broken.json"),
    (("--schema", "schema.json", "--duration", "0"), "--duration"),
    (("--schema", "schema.json", "--mode", "telepathy"), "--mode"),
    (("--schema", "schema.json", "--oracles", "all,nonsense"), "nonsense"),
    (("--schema", "schema.json", "--oracles", "-all"), "nothing would be looked for"),
    (("--schema", "schema.json", "--dict", "bad.dict"), "bad.dict:2"),
    (("--schema", "schema.json", "--allow-write", "here"), "--allow-write"),
    (("--schema", "schema.json", "--allow", "example.org"), "doors"),
    (("--schema", "schema.json", "--baseline", "broken.json"), "--baseline"),
    (("--schema", "schema.json", "--export-sarif", "missing/x.sarif"), "missing"),
    (("--schema", "schema.json", "--fail-on", "never"), "--fail-on"),
    (("--schema", "schema.json", "--json", "--export-sarif", "-"), "both write to stdout"),
])
def test_a_wrong_word_is_told_before_anything_runs(place, options, names):
    tool(place, FINE)
    os.mkfifo(place / "fifo")
    (place / "link.json").symlink_to("schema.json")
    (place / "broken.json").write_text('{"type": ')
    (place / "deep.json").write_text('{"not":' * 200_000 + "{}" + "}" * 200_000)
    (place / "bad.dict").write_text('fine\nx="\\q"\n')
    ran = hotcell("fuzz", "tool", *options, "--max-calls", "1", "-q", "--", "python3", "tool.py", cwd=place)
    assert names in refused(ran, codes=(2,)), ran


def test_no_command_and_no_such_tool_are_mistakes(place):
    assert "after '--'" in refused(hotcell("fuzz", "mcp", cwd=place), codes=(2,))
    server(place, "faulty_server.py")
    ran = fuzz_mcp(place, "-q", "--tool", "read_fil", command=["faulty_server.py"])
    assert "did you mean 'read_file'" in refused(ran, codes=(2,)), ran


def test_an_interrupted_run_says_what_there_is(place):
    tool(place, FAULTY)
    with Live("tool", "--schema", "schema.json", "--duration", "60s", "--json", *QUICK, "--", "python3", "tool.py", verb="fuzz", cwd=place) as live:
        assert eventually(lambda: capsules(place), 30)
        live.process.send_signal(signal.SIGINT)
        ran = live.finish(30)
    assert ran.code == 130, ran
    assert said(ran)["end"] == "stopped" and len(said(ran)["findings"]) == 1, ran


def test_a_killed_run_loses_nothing_that_was_confirmed_and_the_next_removes_what_it_planted(place, monkeypatch):
    tool(place, FAULTY)
    (place / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(place / "tmp"))
    with Live("tool", "--schema", "schema.json", "--duration", "60s", *QUICK, "--", "python3", "tool.py", verb="fuzz", cwd=place) as live:
        assert eventually(lambda: capsules(place), 30)
        live.process.kill()
        live.process.wait(10)
    (left,) = (place / "tmp").iterdir()
    os.utime(left, (0, 0))  # younger ones may be about to be locked
    id = capsules(place)[0].stem
    assert id.encode() in hotcell("findings", "list", cwd=place).out
    assert fuzz_tool(place, "--json").code == 1
    assert list((place / "tmp").iterdir()) == []


def test_two_at_once_share_a_store(place):
    tool(place, FAULTY)
    options = ("tool", "--schema", "schema.json", "--max-calls", "20", *QUICK, "--json", "--", "python3", "tool.py")
    with Live(*options, verb="fuzz", cwd=place) as one, Live(*options, verb="fuzz", cwd=place) as other:
        ended = [one.finish(60), other.finish(60)]
    assert [ran.code for ran in ended] == [1, 1], ended
    assert len(capsules(place)) == 1
    assert hotcell("audit", "verify", cwd=place).code == 0


def test_without_a_sandbox_it_works_and_says_what_is_missing(place):
    tool(place, FAULTY)
    ran = fuzz_tool(place, "--no-sandbox", "--json")
    assert b"NO SANDBOX" in ran.err and ran.code == 1, ran
    assert any("no sandbox" in gap for gap in said(ran)["limitations"]), ran


# ---- what is kept ----


def test_what_was_mended_is_told_and_what_breaks_again_is_open(place):
    tool(place, FAULTY)
    id = said(fuzz_tool(place, "--json"))["findings"][0]["id"]
    tool(place, FINE)
    ran = fuzz_tool(place, "--json")
    assert ran.code == 0 and said(ran)["fixed"] == [id], ran
    assert json.loads(capsules(place)[0].read_text())["state"] == "fixed"
    text = fuzz_tool(place)
    assert text.code == 0, text
    tool(place, FAULTY)
    ran = fuzz_tool(place, "--json", calls=1)
    kept = said(ran)["findings"][0]
    assert ran.code == 1 and kept["id"] == id and kept["state"] == "open" and said(ran)["new"] == [], ran


@pytest.mark.parametrize("body, found_with, then, reason", [
    (FAULTY, (), ("--oracles", "canary"), "its oracle is not among those that look"),
    ('os.system("true"); said = {"status": "ok"}', ("--oracles", "spawn"), ("--oracles", "all", "--no-sandbox"), "what its programs do is not seen"),
    (FINE, ("--output-schema", "output.json"), (), "but without --output-schema=output.json"),
])
def test_what_could_not_have_been_seen_is_not_called_fixed(place, body, found_with, then, reason):
    tool(place, body)
    (place / "output.json").write_text('{"required": ["count"]}')
    (place / "output.json").chmod(0o644)
    id = said(fuzz_tool(place, "--json", *found_with))["findings"][0]["id"]
    ran = fuzz_tool(place, "--json", *then)
    assert said(ran)["fixed"] == [] and any(id in gap and reason in gap for gap in said(ran)["limitations"]), ran
    assert json.loads(capsules(place)[0].read_text())["state"] == "open"
    assert hotcell("findings", "repro", id, "--times", "1", cwd=place).out.startswith(b"reproduced")


def test_a_command_is_proven_again_with_another_seed(place):
    tool(place, 'said = {"status": str(eval(text))} if "__import__" in text else {"status": "ok"}',
         {**SCHEMA, "properties": {"text": {"type": "string", "maxLength": 200}}})
    only = ("--json", "--oracles", "command", "--max-findings", "1")
    ran = fuzz_tool(place, *only, "--seed", "1", calls=2000)
    assert found(ran) == {("command", "tool.py")}, ran
    id, before = capsules(place)[0].stem, json.loads(capsules(place)[0].read_text())["input"]
    ran = fuzz_tool(place, *only, "--seed", "2", calls=1)
    assert ran.code == 1 and said(ran)["fixed"] == [] and said(ran)["findings"][0]["id"] == id, ran
    assert json.loads(capsules(place)[0].read_text())["input"] != before, ran
    ran = hotcell("findings", "repro", id, "--times", "1", cwd=place)
    assert ran.code == 1 and ran.out.startswith(b"reproduced"), ran


def test_a_capsule_has_an_input_that_does_it(place):
    tool(place, FAULTY)
    id = said(fuzz_tool(place, "--json"))["findings"][0]["id"]
    tool(place, 'said = {"status": {}[text] if len(text) > 3 else "ok"}')
    ran = fuzz_tool(place, "--json", calls=40)
    assert ran.code == 1 and said(ran)["fixed"] == [] and b"fixed" not in ran.err, ran
    kept, = (json.loads(path.read_text()) for path in capsules(place))
    assert kept["id"] == id and kept["state"] == "open" and len(json.loads(kept["input"])["text"]) > 3, kept
    ran = hotcell("findings", "repro", id, "--times", "1", cwd=place)
    assert ran.code == 1 and ran.out.startswith(b"reproduced"), ran


def test_a_suppressed_one_that_is_gone_is_told_and_stays_suppressed(place):
    tool(place, FAULTY)
    id = said(fuzz_tool(place, "--json"))["findings"][0]["id"]
    assert hotcell("findings", "suppress", id, "--reason", "known", cwd=place).code == 0
    tool(place, FINE)
    ran = fuzz_tool(place, "--json")
    assert ran.code == 0 and said(ran)["fixed"] == [] and said(ran)["resolved_suppressed"] == [id], ran
    ran = fuzz_tool(place)
    assert f"resolved, and still suppressed: {id}" in ran.out.decode() and b"Nothing found; 12 calls" in ran.out, ran
    assert json.loads(capsules(place)[0].read_text())["state"] == "suppressed"
    ran = hotcell("findings", "repro", id, "--times", "1", cwd=place)
    assert ran.code == 0 and b"it is suppressed, and stays so" in ran.out, ran
    assert json.loads(capsules(place)[0].read_text())["state"] == "suppressed"


def test_a_baseline_and_a_suppression_let_a_build_pass(place):
    tool(place, FAULTY)
    id = said(fuzz_tool(place, "--json", "--export-sarif", "before.sarif"))["findings"][0]["id"]
    assert fuzz_tool(place, "--baseline", "before.sarif").code == 0
    assert fuzz_tool(place, "--fail-on", "error").code == 0
    assert fuzz_tool(place, "--fail-on", "none").code == 0
    assert hotcell("findings", "suppress", id, "--reason", "known", cwd=place).code == 0
    ran = fuzz_tool(place, "--json")
    assert ran.code == 0 and said(ran)["findings"][0]["state"] == "suppressed", ran


def test_values_of_variables_are_in_no_file(place):
    value = harness.marker()
    tool(place, 'said = {"error": "KeyError: " + os.environ["TALLY_TOKEN"]}')
    ran = fuzz_tool(place, "--env", f"TALLY_TOKEN={value}")
    assert ran.code == 1 and capsules(place), ran
    kept = b"".join(path.read_bytes() for path in (place / ".hotcell").rglob("*") if path.is_file())
    assert b"TALLY_TOKEN" in kept
    assert value.encode() not in kept and value.encode() not in ran.out + ran.err, ran
    again = hotcell("repro", "--trust", "--times", "1", capsules(place)[0].stem, cwd=place, env={"TALLY_TOKEN": value})
    assert again.code == 1 and again.out.startswith(b"reproduced") and value.encode() not in again.out + again.err, again


# ---- doing it again ----


def test_a_finding_is_done_again_where_it_was_and_in_a_copy(place):
    project, elsewhere = place / "project", place / "elsewhere"
    project.mkdir(mode=0o755)
    tool(project, FAULTY)
    fuzz_tool(project)
    capsule, = capsules(project)
    for words, folder in ((["repro", capsule.stem], project), (["findings", "repro", capsule.stem[:6]], project)):
        ran = hotcell(*words, "--times", "2", cwd=folder)
        assert ran.code == 1 and ran.out.startswith(b"reproduced: ") and b"seen 2 of 2 times" in ran.out, ran
    assert b"it runs in a cell: python3 tool.py" in ran.err, ran
    shutil.copytree(project, elsewhere, ignore=shutil.ignore_patterns(".hotcell"))
    elsewhere.chmod(0o755)
    shutil.copy(capsule, elsewhere / "capsule.json")
    ran = hotcell("repro", "capsule.json", "--times", "1", "--json", cwd=elsewhere)
    told = json.loads(ran.out)
    assert ran.code == 1 and told["verdict"] == "reproduced" and not told["changed"] and told["evidence"], ran
    tool(elsewhere, FINE)
    ran = hotcell("repro", "capsule.json", "--times", "1", cwd=elsewhere)
    assert ran.code == 0 and ran.out.startswith(b"fixed: ") and b"the target has changed since" in ran.out, ran
    tool(elsewhere, "os.kill(os.getpid(), 11)")
    ran = hotcell("repro", "capsule.json", "--times", "1", "--json", cwd=elsewhere)
    told = json.loads(ran.out)
    assert ran.code == 1 and told["verdict"] == "different" and told["other"]["oracle"] == "crash", ran


def test_a_finding_of_a_folder_below_is_named_from_the_project(place):
    below = place / "below"
    below.mkdir(mode=0o755)
    (place / ".hotcell").mkdir(mode=0o700)
    tool(below, FAULTY)
    ran = fuzz_tool(below, "--export-sarif", "log.sarif")
    capsule, = capsules(place)
    exported = hotcell("findings", "export", cwd=place)
    for log in ((below / "log.sarif").read_bytes(), exported.out):
        result, = json.loads(log)["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "below/schema.json", ran
    ran = hotcell("findings", "repro", capsule.stem, cwd=place)
    assert ran.code == 2 and ran.out == b"" and b"it needs --schema=schema.json, which is not there from here" in ran.err, ran
    assert b"opens the cell" not in ran.err and b"--trust" not in ran.err, ran
    ran = hotcell("findings", "repro", capsule.stem, "--times", "1", cwd=below)
    assert ran.code == 1 and ran.out.startswith(b"reproduced"), ran


def test_a_capsule_opens_nothing_without_trust(place):
    tool(place, FAULTY)
    outside = place.parent / f"{place.name}-outside"
    outside.mkdir(mode=0o777)
    try:
        fuzz_tool(place, "--mount", f"{place}:/app", "--mount", f"{outside}:/data:rw", command=("python3", "/app/tool.py"))
        capsule, = capsules(place)
        flags = json.loads(capsule.read_text())["flags"]
        assert "--mount=.:/app" in flags and f"--mount={outside}:/data:rw" in flags, flags
        before = time.time()
        ran = hotcell("repro", capsule, cwd=place)
        assert ran.code == 2 and ran.out == b"", ran
        assert f"it needs --mount={outside}:/data:rw" in ran.err.decode() and b"--trust" in ran.err and b"nothing was run" in ran.err, ran
        assert not any(path.stat().st_mtime > before for path in outside.rglob("*"))
        ran = hotcell("repro", "--trust", "--times", "1", capsule, cwd=place)
        assert ran.code == 1, ran
    finally:
        shutil.rmtree(outside)


@pytest.mark.parametrize("flag", ["--no-sandbox", "--backend=none", "--image=/", "--tmp-exec", "--no-default-hide", "--mount=/etc:/e",
                                  "--mount=.:/app:rw", "--mount=..:/up", "--schema=/etc/passwd", "--stdin=/etc/passwd", "--audit=x", "--json"])
def test_a_strangers_flags_are_not_taken(place, flag):
    tool(place, FAULTY)
    fuzz_tool(place)
    path, = capsules(place)
    capsule = json.loads(path.read_text())
    capsule["flags"].append(flag)
    (place / "evil.json").write_text(json.dumps(capsule))
    ran = hotcell("repro", "evil.json", cwd=place)
    assert ran.code == 2 and ran.out == b"", ran
    assert not (place / "x").exists()


def test_what_cannot_be_tried_is_not_called_fixed(place):
    tool(place, FAULTY)
    fuzz_tool(place)
    capsule, = capsules(place)
    (place / "tool.py").unlink()
    ran = hotcell("repro", capsule.stem, "--times", "1", cwd=place)
    assert ran.code in (1, 4) and not ran.out.startswith(b"fixed"), ran
    assert hotcell("repro", "0000", cwd=place).code == 2
    assert hotcell("repro", "missing.json", cwd=place).code == 2


@pytest.mark.parametrize("body", [
    'raise ValueError("bad value " + text)',
    'raise ValueError("bad value %r in list" % text)',
    'raise ValueError("item_" + text.upper()[:12] + "... is not known")',
    FAULTY,
])
def test_a_message_that_repeats_its_input_is_one_finding(place, body):
    ids = []
    for seed in ("1", "2"):
        shutil.rmtree(place / ".hotcell", ignore_errors=True)
        tool(place, body, {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
        ran = fuzz_tool(place, "--json", "--seed", seed, calls=400)
        ids.append([each["id"] for each in said(ran)["findings"]])
    assert len(ids[0]) == 1 and ids[0] == ids[1]


def test_a_slow_leak_is_found_and_done_again(place):
    tool(place, 'os.kept = getattr(os, "kept", []); os.kept.append(bytearray(500000)); said = {"status": "ok"}')
    ran = fuzz_tool(place, "--json", "--memory", "96M", "--oracles", "memory", calls=600)
    assert ran.code == 1, ran
    for each in said(ran)["findings"]:
        assert each["oracle"] == "memory"
        steps = json.loads(each["input"])
        assert steps[0]["times"] > 20
        assert f"the same call {steps[0]['times']} times in a row" in each["evidence"]
    for path in capsules(place):
        again = hotcell("repro", "--json", str(path), cwd=place, timeout=120)
        assert again.code == 1 and said(again)["verdict"] == "reproduced", again


def test_an_input_is_made_smaller(place):
    tool(place, 'said = {"status": {}[text]} if "a" in text else {"status": "ok"}')
    (place / "words").write_text("bananas and more\n")
    fuzz_tool(place, "--dict", "words", calls=60)
    path, = capsules(place)
    capsule = json.loads(path.read_text())
    assert json.loads(capsule["input"])["text"] == "a", capsule
    path.write_text(json.dumps({**capsule, "input": '{"text": "bananas and more"}'}))
    ran = hotcell("findings", "minimise", capsule["id"], "--json", cwd=place, timeout=60)
    told = json.loads(ran.out)
    assert ran.code == 0 and told["smaller"] and told["after"] < told["before"], ran
    assert json.loads(json.loads(path.read_text())["input"])["text"] == "a"

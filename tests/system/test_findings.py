"""Findings: listed, shown, exported, suppressed, on pages, and as a gate. Judged by parsers that are not ours."""

import calendar
import csv
import io
import json
import os
import re
import subprocess
import time
from html.parser import HTMLParser

import jsonschema
import pytest

import capsules
import harness
from campaigns import campaign
from harness import IS_ROOT, Terminal, hotcell, refused, small_disk

TOOL = harness.ROOT / "build-npm" / "node_modules" / "@microsoft" / "sarif-multitool-linux"
FORMATS = ("table", "json", "csv", "sarif", "html", "md")
# whatever a target may have said
HOSTILE = ("=cmd|'/C calc'!A0 \x1b]0;own\x07 \x9b31m \u202e\r\n```` </pre></script><img src=x onerror=alert(1)> <!-- @everyone "
           "[x](http://evil.example) {0} \"quoted\", 'too' & |")


@pytest.fixture
def project(place):
    """A folder with a finding of every kind of state, by name: {name: id}."""
    made = {
        "canary": capsules.make(),
        "crash": capsules.make("crash", "parse", file="/usr/lib/x.so", message="ended by SIGSEGV"),
        "hostile": capsules.make("trace", HOSTILE, message=HOSTILE, file=HOSTILE, evidence=[HOSTILE], input=HOSTILE, found=HOSTILE,
                                 command=[HOSTILE], environment=[HOSTILE], profile=HOSTILE),
        "suppressed": capsules.make("hang", "slow", state="suppressed", reason=HOSTILE, file=None, seen=3),
        "ended": capsules.make("refused", "strict", state="suppressed", reason="until the release", until=1700000000, seen=0, tried=0),
        "fixed": capsules.make("memory", "leak", state="fixed"),
    }
    capsules.put(place / ".hotcell", *made.values())
    return place, {name: each["id"] for name, each in made.items()}


def findings(folder, *args, code=0, **more):
    ran = hotcell("findings", *args, cwd=folder, **more)
    assert ran.code == code, ran
    return ran


def ids(folder, *args):
    return [each["id"] for each in json.loads(findings(folder, "list", "--json", *args).out)["findings"]]


# ---- list and show ----


def test_the_list_has_what_is_open_the_most_severe_first(project):
    folder, by = project
    assert ids(folder) == [by["canary"], by["crash"], by["hostile"], by["ended"]]
    assert set(ids(folder, "--all")) == set(by.values())
    assert ids(folder, "--oracle", "crash") == [by["crash"]]
    assert ids(folder, "--severity", "high") == [by["canary"], by["crash"]]
    assert ids(folder, "--subject", "read*") == [by["canary"]]
    assert ids(folder, "--all", "--severity", "medium", "--subject", "[ls]*") in ([by["suppressed"], by["fixed"]], [by["fixed"], by["suppressed"]])


def test_the_table_has_a_line_for_each_and_no_bytes_of_theirs_that_a_terminal_obeys(project):
    folder, by = project
    ran = findings(folder, "list", "--all")
    head, *rows, last = ran.out.decode().splitlines()
    assert head.split() == ["SEVERITY", "ORACLE", "SUBJECT", "ID", "REPRO", "STATE", "MESSAGE"]
    assert {next(each for each in by.values() if each in row) for row in rows} == set(by.values()) and len(rows) == 6
    assert last == "6 findings: 1 critical, 1 high, 2 medium, 1 low, 1 note; 1 suppressed; 1 whose suppression has ended; 1 fixed"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", ran.out.decode())
    with Terminal("findings", "list", "--state", folder / ".hotcell") as terminal:
        code, out = terminal.finish()
    assert code == 0 and b"\x1b[1;31mcritical" in out and b"\x1b]" not in out
    with Terminal("findings", "list", "--state", folder / ".hotcell", env={"NO_COLOR": "1"}) as terminal:
        assert b"\x1b" not in terminal.finish()[1]


def test_an_ended_suppression_is_said(project):
    folder, by = project
    for verb in ("list", "export"):
        ran = findings(folder, verb)
        assert ran.own == [f"hotcell: the suppression of {by['ended']} ended on 2023-11-14 22:13 UTC, and it counts again; it was: "
                           "until the release"], ran


def test_where_nothing_was_found_the_list_is_empty(place):
    for format in FORMATS:
        for verb in ("list", "export"):
            assert findings(place, verb, "--format", format).out
    assert findings(place, "list").out == b"no findings\n"
    assert list(place.iterdir()) == []
    (place / "state").mkdir(mode=0o700)
    assert findings(place, "list", "--state", "state").out == b"no findings\n"
    assert "no state folder" in refused(hotcell("findings", "list", "--state", "none", cwd=place), (2,))


def test_show_tells_all_of_one(project):
    folder, by = project
    text = findings(folder, "show", by["canary"][:5]).out.decode()
    for part in (by["canary"], "critical (9.5): ", "CWE-22", "server.py:17", "5 of 5 times", "token 6f1c",
                 '{"path": "../../etc/passwd"}', '{"path": "....//', "python3 server.py", "--memory=64M", "API_KEY", "18446744073709551615",
                 f"hotcell findings repro {by['canary']}\n", f".hotcell/findings/{by['canary']}.json"):
        assert part in text
    for name, each in by.items():
        shown = findings(folder, "show", each).out.decode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown), name
        kept = json.loads((folder / ".hotcell" / "findings" / f"{each}.json").read_text())
        told = json.loads(findings(folder, "show", "--json", each).out)
        assert {key: told[key] for key in kept} == kept
    file = folder / "mailed.json"
    file.write_bytes((folder / ".hotcell" / "findings" / f"{by['canary']}.json").read_bytes())
    for word in (file, "mailed.json", "./mailed.json"):
        text = findings(folder, "show", word).out.decode()
        assert by["canary"] in text and text.endswith(f"capsule          {word}\nreproduce        'hotcell repro' with that file\n")


def test_the_folder_below_finds_the_same(project):
    folder, by = project
    (folder / "src").mkdir()
    assert ids(folder / "src") == ids(folder)
    assert f"--state {folder}/.hotcell {by['canary']}" in findings(folder / "src", "show", by["canary"]).out.decode()
    log = json.loads(findings(folder / "src", "export").out)
    assert {place_of(each) for each in log["runs"][0]["results"]} >= {"server.py", f".hotcell/findings/{by['crash']}.json"}


# ---- formats ----


def place_of(result):
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_sarif_is_what_the_schema_and_a_code_host_want(project):
    folder, by = project
    findings(folder, "export", "--out", "log.sarif")
    log = json.loads((folder / "log.sarif").read_text())
    jsonschema.Draft202012Validator(json.loads((TOOL / "sarif-2.1.0.json").read_text())).validate(log)
    run, = log["runs"]
    results = {each["partialFingerprints"]["hotcell/v1"]: each for each in run["results"]}
    assert set(results) == set(by.values()) - {by["fixed"]}
    assert place_of(results[by["canary"]]) == "server.py"
    for name in ("crash", "suppressed"):
        assert place_of(results[by[name]]) == f".hotcell/findings/{by[name]}.json"
    assert not any(re.match(r"[a-z]+:|/|\.\./", place_of(each)) for each in results.values())
    assert results[by["suppressed"]]["suppressions"][0]["status"] == "accepted" and results[by["ended"]]["suppressions"] == []
    assert len({each["partialFingerprints"]["primaryLocationLineHash"] for each in results.values()}) == 5
    for each in results.values():
        rule = run["tool"]["driver"]["rules"][each["ruleIndex"]]
        assert rule["id"] == each["ruleId"] and each["message"]["text"].endswith(".") and "](" not in each["message"]["text"]
    canary = run["tool"]["driver"]["rules"][results[by["canary"]]["ruleIndex"]]
    assert canary["properties"]["tags"] == ["security", "fuzzing", "external/cwe/cwe-022"]
    assert canary["properties"]["security-severity"] == "9.5" and canary["help"]["markdown"]
    (folder / "empty").mkdir(mode=0o700)
    findings(folder, "export", "--out", "none.sarif", "--state", "empty")
    done = subprocess.run([TOOL / "Sarif.Multitool", "validate", "log.sarif", "none.sarif", "--rule-kind", "Sarif;Ghas"], cwd=folder,
                          capture_output=True, env={"HOME": str(folder), "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(folder), "PATH": os.environ["PATH"]})
    said = done.stdout.decode()
    assert "Analysis completed successfully" in said and "2 files scanned" in said, done
    complaints = [line for line in said.splitlines() if re.search(r": (error|warning) ", line)]
    assert all("SARIF2005" in line for line in complaints), said # that we tell no address of ours


def test_a_sheet_has_a_row_for_each_and_no_formula(project):
    folder, by = project
    text = findings(folder, "export", "--format", "csv").out.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert sorted(row["id"] for row in rows) == sorted(each for name, each in by.items() if name != "fixed")
    for row in rows:
        assert None not in row and all(value is not None and not re.match(r"[=+\-@\t\r]", value) for value in row.values())
    hostile = next(row for row in rows if row["id"] == by["hostile"])
    told = "'" + re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", HOSTILE)
    assert hostile["message"] == told and hostile["input"] == told


class Page(HTMLParser):
    ALONE = {"meta"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text, self.attributes = set(), [], "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(data)


def check_page(text):
    page = Page(text)
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "span", "div", "nav", "a", "i", "b", "p",
                         "small", "svg", "g", "text", "main", "section", "table", "tr", "th", "td", "details", "summary", "pre", "code",
                         "footer", "rect", "line", "path", "dl", "dt", "dd", "ul", "li"}
    for name, value in page.attributes:
        assert not name.startswith("on") and name not in ("src", "style")
        assert name != "href" or not re.match(r"[a-z]+:|//", value)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page.text)
    return page


def test_the_page_shows_everything_and_runs_nothing(project):
    folder, by = project
    page = check_page(findings(folder, "export", "--format", "html").out.decode())
    for part in (*(each for name, each in by.items() if name != "fixed"), "Something outside of its reach was read", "CWE-22",
                 "5 of 5 times", '{"path": "../../etc/passwd"}', '{"path": "....//../../x/../etc/passwd", "mode": "r"}',
                 f"hotcell findings repro {by['canary']}", "token 6f1c", "<img src=x onerror=alert(1)>"):
        assert part in page.text, part


def test_markdown_has_their_texts_in_code_alone(project):
    folder, by = project
    text = findings(folder, "export", "--format", "md").out.decode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    text = re.sub(r"^(`{3,})[a-z]+\n.*?\n\1\n", "", text, flags=re.M | re.S) # blocks, then spans
    text = re.sub(r"(?<!`)(`+)(?!`) .*? (?<!`)\1(?!`)", "", text)
    assert "## critical: " in text and "State: suppressed" in text
    assert not re.search(r"[<>@`|]|alert|evil|everyone", text), text


def test_the_guide_has_every_oracle_with_its_severity(project):
    folder, _ = project
    rules = json.loads(findings(folder, "export").out)["runs"][0]["tool"]["driver"]["rules"]
    told = {}
    for line in (harness.ROOT / "docs" / "FINDINGS.md").read_text().splitlines():
        if row := re.fullmatch(r"\| (?:critical|high|medium|low|note) \| (\w+) \| ([\d.]+) \| (.+) \|", line):
            told |= {f"hotcell/{name}": row.groups()[:2] for name in re.findall(r"`([a-z-]+)`", row[3])}
    assert told == {rule["id"]: (rule["defaultConfiguration"]["level"], rule["properties"]["security-severity"]) for rule in rules}


# ---- gates ----


def test_a_gate_is_an_exit_code(project):
    folder, by = project
    for gate, count in (("none", 0), ("error", 2), ("warning", 2), ("note", 4), ("any", 4)):
        ran = findings(folder, "export", "--out", "x.sarif", "--fail-on", gate, code=1 if count else 0)
        assert (f"hotcell: {count} findings are at or above '{gate}'" in ran.own) == bool(count), ran
        assert (folder / "x.sarif").exists()


@pytest.mark.parametrize("format", ["sarif", "json"])
def test_what_is_in_the_baseline_stops_nothing(project, format):
    folder, by = project
    findings(folder, "export", "--format", format, "--out", "before")
    findings(folder, "export", "--out", "x", "--fail-on", "any", "--baseline", "before")
    capsules.put(folder / ".hotcell", capsules.make("command", "shell"))
    ran = findings(folder, "export", "--out", "x", "--fail-on", "any", "--baseline", "before", code=1)
    assert "hotcell: 1 finding is at or above 'any' and not in the baseline" in ran.own
    one = folder / ".hotcell" / "findings" / f"{by['crash']}.json"
    assert "hotcell: 2 findings are" in findings(folder, "export", "--out", "x", "--fail-on", "error", "--baseline", one, code=1).err.decode()


def test_a_baseline_that_is_none_is_refused(project):
    folder, _ = project
    (folder / "bad").write_text('{"runs": [{"results": [{"partialFingerprints": {"hotcell/v1": "x"}}]}]}')
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("bad")
    (folder / "deep").write_text("[" * 100000)
    for name in ("bad", "fifo", "link", "deep", "none", "."):
        refused(hotcell("findings", "export", "--fail-on", "any", "--baseline", name, cwd=folder), (2,))
    assert "--baseline needs --fail-on" in refused(hotcell("findings", "export", "--baseline", "bad", cwd=folder), (2,))


# ---- suppress ----


def test_a_suppression_holds_until_it_is_taken_back(project):
    folder, by = project
    ran = findings(folder, "suppress", by["canary"], "--reason", "it is meant to")
    assert ran.out.decode() == f"{by['canary']} is suppressed\n"
    assert by["canary"] not in ids(folder)
    kept = json.loads(findings(folder, "show", "--json", by["canary"]).out)
    assert (kept["state"], kept["reason"], kept["until"]) == ("suppressed", "it is meant to", 0)
    findings(folder, "export", "--fail-on", "error", code=1) # the crash
    findings(folder, "suppress", by["crash"], "--reason", "old", "--until", "30d")
    findings(folder, "export", "--fail-on", "error")
    findings(folder, "suppress", by["canary"], "--undo")
    findings(folder, "export", "--fail-on", "error", code=1)
    again = json.loads(findings(folder, "show", "--json", by["canary"]).out)
    assert again["state"] == "open" and again["reason"] is None
    assert again["input"] == kept["input"] and again["id"] == by["canary"]


def test_a_suppression_ends_on_its_day(project):
    folder, by = project
    findings(folder, "suppress", by["canary"], "--reason", "r", "--until", "2999-02-28")
    assert json.loads(findings(folder, "show", "--json", by["canary"]).out)["until"] == calendar.timegm((2999, 2, 28, 0, 0, 0))
    now = int(time.time())
    findings(folder, "suppress", by["canary"], "--reason", "r", "--until", "30d")
    assert 0 <= json.loads(findings(folder, "show", "--json", by["canary"]).out)["until"] - (now + 30 * 86400) < 60
    for wrong in ("2020-01-31", "2999-02-29", "2999-13-01", "2999-1-1", "yesterday", "0d", "-1d", "400d", "2999-01-01T00:00:00Z", ""):
        refused(hotcell("findings", "suppress", by["canary"], "--reason", "r", "--until", wrong, cwd=folder), (2,))


def test_a_suppression_without_a_reason_is_none(project):
    folder, by = project
    before = (folder / ".hotcell" / "findings" / f"{by['canary']}.json").read_bytes()
    for words in ((), ("--reason", " \t"), ("--reason", "x" * 1001), ("--undo", "--reason", "x"), ("--undo", "--until", "1d"), ("--undo",)):
        refused(hotcell("findings", "suppress", by["canary"], *words, cwd=folder), (2,))
    assert (folder / ".hotcell" / "findings" / f"{by['canary']}.json").read_bytes() == before


# ---- what can go wrong ----


def test_an_id_that_is_none_or_two_is_refused(project):
    folder, by = project
    # sixteen beginnings at most: of seventeen, two are the same
    capsules.put(folder / ".hotcell", *(capsules.make("protocol", f"tool-{i}") for i in range(17)))
    first = [each[0] for each in ids(folder, "--all")]
    twice = next(each for each in first if first.count(each) > 1)
    for verb in (("show",), ("suppress", "--reason", "r")):
        said = refused(hotcell("findings", *verb, twice, cwd=folder), (2,))
        assert f"findings begin with '{twice}'" in said
        for wrong in ("ffffffffffffffff", "zz", "", "\x1b[31m", "../x"):
            refused(hotcell("findings", *verb, wrong, cwd=folder), (2,))


def test_bad_words_are_refused(project):
    folder, _ = project
    for words in (("list", "--oracle", "nonsense"), ("list", "--severity", "worst"), ("list", "--format", "xml"), ("list", "--json", "--format", "csv"),
                  ("export", "--fail-on", "critical"), ("show",), ("show", "a", "b"), ("suppress", "--reason", "x"), ("list", "x")):
        refused(hotcell("findings", *words, cwd=folder), (2,))


def test_what_is_no_finding_is_left_alone_and_told(project):
    folder, by = project
    kept = folder / ".hotcell" / "findings"
    names = [f"{i:016x}.json" for i in range(6)]
    os.mkfifo(kept / names[0])
    (kept / names[1]).symlink_to(f"{by['canary']}.json")
    (kept / names[2]).mkdir()
    (kept / names[3]).write_bytes(b"\x1b[31m{")
    (kept / names[4]).write_bytes((kept / f"{by['canary']}.json").read_bytes())
    (kept / names[5]).write_text(json.dumps({**capsules.make(), "subject": "another"}))
    (kept / "notes.txt").write_text("of somebody else")
    before = ids(folder)
    ran = findings(folder, "list")
    assert len(before) == 4 and sum(line.startswith("hotcell: left alone: ") for line in ran.own) == 6, ran
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", ran.err)
    assert sorted(each.name for each in kept.iterdir() if each.name in names) == names
    for name in set(names) - {names[4]}: # which is whole, and only has the wrong name
        refused(hotcell("findings", "show", kept / name, cwd=folder), (2,))


def test_a_folder_that_cannot_be_read_is_an_error(place):
    state = place / ".hotcell"
    state.mkdir(mode=0o700)
    harness.trust(state)
    (state / "findings").write_text("")
    refused(hotcell("findings", "list", cwd=place), (2,))
    (state / "findings").unlink()
    (place / "elsewhere").mkdir()
    (state / "findings").symlink_to(place / "elsewhere")
    assert "is a symbolic link" in refused(hotcell("findings", "list", cwd=place), (2,))
    (state / "findings").unlink()
    (state / "findings").mkdir(mode=0)
    if not IS_ROOT:
        refused(hotcell("findings", "list", cwd=place), (125,))
    state.chmod(0o777)
    assert "written by others" in refused(hotcell("findings", "list", "--state", state), (2,))


def test_a_full_disk_leaves_what_was_there(place):
    state = place / "state"
    state.mkdir()
    script = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[2])
import capsules
from pathlib import Path
state = Path(sys.argv[3])
id, = capsules.put(state, capsules.make())
kept = (state / "findings" / f"{id}.json").read_bytes()
with open(state / "filler", "wb", 0) as filler:
    try:
        while True:
            filler.write(b"x" * 4096)
    except OSError:
        pass
for words in (("suppress", id, "--reason", "r"), ("export", "--out", str(state / "x.sarif"))):
    ran = subprocess.run([sys.argv[1], "findings", *words, "--state", str(state)], capture_output=True)
    assert ran.returncode == 125 and b"No space left" in ran.stderr, ran
assert (state / "findings" / f"{id}.json").read_bytes() == kept
assert sorted(os.listdir(state)) == ["filler", "findings"] and os.listdir(state / "findings") == [f"{id}.json"]
"""
    done = subprocess.run(["python3", "-c", script, harness.HOTCELL, harness.ROOT / "tests" / "system", state], capture_output=True,
                          preexec_fn=small_disk(state))
    assert done.returncode == 0, done
    with open("/dev/full", "wb") as full:
        argv = [harness.HOTCELL, "findings", "list", "--state", state]
        state.chmod(0o700)
        assert subprocess.run(argv, stdout=full, stderr=subprocess.PIPE).returncode == 125


def test_an_export_replaces_files_and_nothing_else(project):
    folder, _ = project
    (folder / "old").write_text("old")
    findings(folder, "export", "--out", "old")
    assert json.loads((folder / "old").read_text())["version"] == "2.1.0"
    (folder / "link").symlink_to("old")
    os.mkfifo(folder / "fifo")
    for path in ("link", "fifo", "."):
        ran = hotcell("findings", "export", "--out", path, cwd=folder)
        assert ran.code == 2 and len(ran.own) == 2, ran # and that a suppression has ended
    assert (folder / "link").is_symlink()


# ---- reports ----


def test_the_report_of_a_campaign_has_the_findings_of_the_project(project):
    folder, by = project
    ran = campaign(folder, "--name", "night", "--runs", "2", "--", "/bin/true")
    assert ran.code == 0, ran
    page = check_page(hotcell("report", "-o", "-", "night", cwd=folder).out.decode())
    for part in ("night", by["canary"], f"hotcell findings repro {by['canary']}", '{"path": "../../etc/passwd"}', "token 6f1c"):
        assert part in page.text
    assert ("href", "#findings") in page.attributes and by["fixed"] not in page.text
    for each in by.values():
        (folder / ".hotcell" / "findings" / f"{each}.json").unlink()
    page = check_page(hotcell("report", "-o", "-", "night", cwd=folder).out.decode())
    assert "Findings" not in page.text


def test_a_report_of_findings_needs_no_campaign(project, place):
    folder, by = project
    ran = hotcell("report", cwd=folder)
    assert ran.code == 0 and ran.out == b"findings-report.html\n", ran
    assert by["canary"] in check_page((folder / "findings-report.html").read_text()).text
    (folder / "empty").mkdir(mode=0o700)
    assert "nothing was found here yet" in refused(hotcell("report", "--state", "empty", cwd=folder), (2,))

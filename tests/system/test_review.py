"""`hotcell review`: every attack of the catalogue on this machine, and what is told and kept of it."""

import contextlib
import fcntl
import hashlib
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import time

import jsonschema
import pytest

import harness
from harness import HAS_V1, IS_ROOT, PRETEND, Live, Terminal, hotcell, pretending, refused, run, small_disk, trust

TOOL = harness.ROOT / "build-npm" / "node_modules" / "@microsoft" / "sarif-multitool-linux"
GROUPS = ["files", "proc", "kernel", "exhaustion", "output", "doors", "bypass"]
# The whole catalogue once for each who: where a protection is taken away, what that changes.
WHOLE = [] if not PRETEND else ["--only", "exhaustion", "--only", "files"]
FEW = ["--only", "files.absolute", "--only", "files.climb"]
OPEN = ["--backend", "none", *FEW, "--only", "kernel.namespaces"] # where some of it gets through
LEVELS = {"ESCAPED": "error", "degraded": "warning", "failed": "note"}


PATIENCE = 500 if "ASAN_OPTIONS" in os.environ else 170  # a crowd of a hundred sanitized ones takes its time


def review(*args, timeout=PATIENCE, **more):
    return hotcell("review", *args, timeout=timeout, **more)


def reviewed(*args, codes=(0,), **more):
    """A review as JSON."""
    ran = review("--json", *args, **more)
    assert ran.code in codes, ran
    return json.loads(ran.out)


@contextlib.contextmanager
def alone():
    """Two crowds of a hundred hostile cells at once, root's and the other suite's, would be more than either is meant to be."""
    fd = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@pytest.fixture(scope="module")
def whole(scratch):
    """The whole review, with everything that can be written of it."""
    folder = scratch / "review"
    folder.mkdir(mode=0o755)
    with alone():
        ran = review(*WHOLE, "--json", "--html", "page.html", "--sarif", "log.sarif", "--save", "saved.json", "--state", "state", cwd=folder)
    ran.folder = folder
    ran.found = json.loads(ran.out) if ran.out else None
    return ran


def not_held(found):
    return [f"{each['id']}: {each['verdict']}: {each['reason']}" for each in found["attacks"] if each["verdict"] != "held"]


# ---- the verdicts ----


def test_every_attack_is_held_or_this_machine_lacks_what_would_hold_it(whole):
    assert whole.code == 0, (not_held(whole.found or {"attacks": []}), whole)
    found = whole.found
    assert found["counts"]["ESCAPED"] == found["counts"]["failed"] == 0, not_held(found)
    assert len(found["attacks"]) == sum(found["counts"].values())
    states = {name: each["state"] for name, each in found["receipt"]["protections"].items()}
    assert states.keys() == harness.PROTECTIONS
    for each in found["attacks"]:
        if each["verdict"] == "degraded":
            assert each["lacking"] and all(states[name] != "on" for name in each["lacking"].split()), each
        else:
            assert each["lacking"] == "" and (each["reason"] or each["verdict"] == "held"), each
            assert each["reason"] == "" or each["verdict"] != "held" or not IS_ROOT or PRETEND, each
    assert not (IS_ROOT and not PRETEND and HAS_V1 and found["counts"]["degraded"]), not_held(found)


def test_the_whole_catalogue_was_tried(whole):
    listed = re.findall(r"^  (\S+)", review("--list").out.decode(), re.M)
    assert len(listed) == len(set(listed)) and {name.partition(".")[0] for name in listed} <= set(GROUPS)
    tried = [each["id"] for each in whole.found["attacks"]]
    assert tried == [name for name in listed if not WHOLE or name.partition(".")[0] in WHOLE]
    assert whole.found["user"] == ("root" if IS_ROOT else "ordinary")
    assert whole.found["kernel"] == os.uname().release


def test_without_a_cgroup_what_is_weaker_is_named():
    found = reviewed("--only", "exhaustion.mem*", "--only", "exhaustion.cpu*", env=pretending("no-cgroup"))
    limits = {"memory-limit", "cpu-limit", "process-limit"}
    weaker = {name for name, each in found["receipt"]["protections"].items() if each["state"] != "on"}
    assert limits <= weaker
    degraded = [each for each in found["attacks"] if each["verdict"] == "degraded"]
    assert degraded, "no attack notices that there is no cgroup"
    assert all(set(each["lacking"].split()) <= weaker for each in degraded)
    names = [arg for each in degraded for arg in ("--only", each["id"])]
    told = review(*names, env=pretending("no-cgroup")).out.decode()
    assert "memory-limit weaker" in told and "Degraded for want of" in told, told
    for name in {name for each in degraded for name in each["lacking"].split()}:
        assert re.search(rf"^  {name} \(\d+ attacks?\): fix: .*HOTCELL_PRETEND", told, re.M), told


def test_without_a_sandbox_attacks_get_through_and_the_warning_comes_once(place):
    ran = review(*OPEN, "--sarif", "log.sarif", cwd=place)
    assert ran.code == 1, ran
    assert ran.err.count(b"NO SANDBOX") == 1
    assert b"ESCAPED" in ran.out and not re.search(rb" 0 ESCAPED", ran.out)
    levels = {each["level"] for each in json.loads((place / "log.sarif").read_text())["runs"][0]["results"]}
    assert "error" in levels


# ---- an image ----


@pytest.fixture
def image(place):
    """The smallest that is of use: busybox, and nothing else."""
    root = place / "image"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ("sh", "cat", "find", "cp", "ln", "tar"):
        (root / "bin" / name).symlink_to("busybox")
    for folder in (place, root, root / "bin"):
        folder.chmod(0o755)
    return root


def test_in_a_small_image_everything_is_held_or_does_not_apply_for_a_reason(image):
    groups = [] if PRETEND else ["--only", "files", "--only", "output", "--only", "exhaustion.mem*"]
    found = reviewed(*groups, "--only", "exhaustion.page-cache", "--only", "doors.credential", "--only", "doors.ports", "--image", image)
    rest = {each["id"]: each["reason"] for each in found["attacks"] if each["verdict"] == "not applicable"}
    assert "/etc/hosts" in rest.pop("doors.credential")
    assert rest.pop("files.python", "python3").endswith("python3")
    assert not rest and found["counts"]["ESCAPED"] == found["counts"]["failed"] == 0, not_held(found)


def test_in_an_image_with_a_hosts_file_a_secret_door_is_attacked_and_what_keeps_it_from_that_is_quoted(image):
    hosts = image / "etc" / "hosts"
    hosts.mkdir(parents=True)
    found = reviewed("--only", "doors.credential", "--image", image, codes=(4,))
    assert re.search("there was no cell: .*has no file /etc/hosts", found["attacks"][0]["reason"]), found["attacks"]
    hosts.rmdir()
    hosts.write_text("")
    found = reviewed("--only", "doors.credential", "--image", image)
    assert found["counts"]["held"] == 1, not_held(found)


def test_where_an_image_lies_in_a_home_is_nobodys_business(image, place):
    files = ["--html", place / "page.html", "--sarif", place / "log.sarif", "--save", place / "kept.json"]
    ran = review("--json", *FEW, "--image", image, *files, env={"HOME": str(place)})
    assert ran.code == 0 and json.loads(ran.out)["image"].endswith("/image"), ran
    for text in (ran.out, *(path.read_bytes() for path in files[1::2])):
        assert str(place).encode() not in text


# ---- what is told ----


class Page(html.parser.HTMLParser):
    """What a browser would see: text, ids, links, and whether tags are closed in their turn."""

    VOID = {"meta", "br", "hr"}

    def __init__(self, text):
        super().__init__()
        self.text, self.ids, self.links, self.open = "", set(), [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "img", "link", "iframe"), tag
        attrs = dict(attrs)
        assert not any(name.startswith("on") for name in attrs), attrs
        self.ids.update(filter(None, [attrs.get("id")]))
        self.links += filter(None, [attrs.get("href")])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_has_everything_and_needs_nothing(whole):
    page = Page((whole.folder / "page.html").read_text())
    assert page.links and all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    for each in whole.found["attacks"]:
        assert each["id"] in page.text and each["technique"] in page.text and each["safe"] in page.text
        assert (each["cve"] or "") in page.text and each["reason"] in page.text
    for name in whole.found["receipt"]["protections"]:
        assert name in page.text


def browsed(page, text):
    """The page's document as a browser has it once everything that runs has run."""
    page.write_text(text)
    page.chmod(0o644)
    ran = run("--profile", "browser", "--mount", "/etc/chromium.d:/etc/chromium.d", "--mount", f"{page}:/page.html", "--",
              "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=/tmp/p", "--window-size=900,1200", "--dump-dom",
              "file:///page.html", timeout=170)
    assert ran.code == 0 and "</html>" in ran.out.decode(), ran
    return ran.out.decode()


def test_a_browser_shows_every_row_and_runs_nothing(whole, place):
    hostile = "<script>document.title = 'it ran'</script><img src=x onerror=\"document.title = 'it ran'\">"
    text = (whole.folder / "page.html").read_text()
    shown = browsed(place / "page.html", text.replace("<main>", "<main>" + hostile, 1)) # as if something had not been escaped
    assert "onerror" in shown and "<title>it ran" not in shown and "<title>Review" in shown
    for each in whole.found["attacks"]:
        assert f"<code>{each['id']}</code>" in shown
    assert len(re.findall("<dt>Held by</dt>", shown)) == len(re.findall("<dt>Judged by</dt>", shown)) == len(whole.found["attacks"])


def test_in_a_browser_what_is_tried_stays_beside_its_name_however_long_it_is(whole, place):
    measure = """<script>
        const rows = [...document.querySelectorAll("summary .what")].map(row => [row.firstElementChild, row.lastElementChild]);
        const beside = rows.filter(([id, text]) => [...text.getClientRects()].every(box => box.left >= id.getBoundingClientRect().right));
        const tall = rows.filter(([id, text]) => text.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(text).lineHeight));
        document.title = `${rows.length} rows, ${beside.length} beside, ${tall.length > 0 ? "some" : "none"} long`;
        </script>"""
    text = re.sub(r"<meta http-equiv=[^>]*>", "", (whole.folder / "page.html").read_text(), count=1) # which forbids scripts
    shown = browsed(place / "page.html", text.replace("</main>", "</main>" + measure, 1))
    count = len(whole.found["attacks"])
    assert f"<title>{count} rows, {count} beside, some long" in shown, re.search("<title>[^<]*", shown)


def test_the_sarif_log_is_one_by_the_official_schema_and_by_another_tool(whole, place):
    text = (whole.folder / "log.sarif").read_text()
    log = json.loads(text)
    jsonschema.Draft202012Validator(json.loads((TOOL / "sarif-2.1.0.json").read_text())).validate(log)
    run, = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [each["id"] for each in whole.found["attacks"]]
    told = {each["ruleId"]: each["level"] for each in run["results"]}
    assert told == {each["id"]: LEVELS[each["verdict"]] for each in whole.found["attacks"] if each["verdict"] in LEVELS}
    # one with results of every kind
    ran = review(*OPEN, "--sarif", "none.sarif", cwd=place)
    assert ran.code == 1, ran
    logs = [whole.folder / "log.sarif", place / "none.sarif"]
    done = subprocess.run([TOOL / "Sarif.Multitool", "validate", *logs, "--rule-kind", "Sarif;Ghas"], capture_output=True,
                          env={"HOME": str(place), "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(place), "PATH": os.environ["PATH"]})
    said = done.stdout.decode()
    assert "Analysis completed successfully" in said and "2 files scanned" in said, done
    complaints = [line for line in said.splitlines() if re.search(r": (error|warning) ", line)]
    assert all("SARIF2005" in line for line in complaints), said # that we tell no address of ours


def test_a_document_on_stdout_is_alone_there(place):
    page = review(*FEW, "--html", "-")
    assert page.code == 0 and page.out.startswith(b"<!DOCTYPE html>") and "files.climb" in Page(page.out.decode()).text, page
    assert json.loads(review(*FEW, "--sarif", "-").out)["version"] == "2.1.0"
    assert json.loads(review(*FEW, "--save", "-").out)["format"] == "hotcell-review 1"
    kept = review(*FEW, "--html", "-", "--save", place / "kept.json")
    assert kept.out.startswith(b"<!DOCTYPE html>") and kept.out.endswith(b"</html>\n"), kept
    changes = review(*FEW, "--sarif", "-", "--compare", place / "kept.json")
    assert json.loads(changes.out)["runs"] and b": 0 worse, 0 better" in changes.err, changes


@pytest.mark.parametrize("both", [["--html", "-", "--sarif", "-"], ["--json", "--sarif", "-"], ["--json", "--html", "-"],
                                  ["--save", "-", "--html", "-"], ["--json", "--save", "-"]])
def test_two_documents_on_stdout_are_refused_before_anything_is_tried(both):
    said = refused(review(*both, timeout=10), (2,)) # the whole would take a minute
    assert "both want stdout" in said, said


def test_the_audit_log_is_told(whole, place):
    log = whole.folder / "state" / "audit.jsonl"
    assert hotcell("audit", "verify", log).code == 0
    event = json.loads(log.read_text().splitlines()[-1])
    assert event["event"] == "review" and event["counts"] == whole.found["counts"] and event["escaped"] == []
    assert event["sum"] == json.loads((whole.folder / "saved.json").read_text())["sum"]
    assert review(*FEW, cwd=place).code == 0
    assert not list(place.iterdir()), "a folder was made that nobody asked for"


def test_on_a_terminal_there_is_a_line_of_progress():
    with Terminal("review", *FEW) as terminal:
        code, out = terminal.finish(60)
    assert code == 0 and b"\r\x1b[K1/" in out, out


# ---- what is kept ----


@pytest.fixture(scope="module")
def saved(whole):
    return json.loads((whole.folder / "saved.json").read_text())


def resign(review_of, path):
    """As hotcell would sum it, by other means."""
    text = json.dumps(review_of, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    path.write_text(json.dumps({"format": "hotcell-review 1", "sum": hashlib.sha256(text.encode()).hexdigest(), "review": review_of}))


def test_a_saved_review_is_what_was_told_with_a_sum_that_others_can_check(whole, saved, place):
    assert saved["review"] == whole.found
    resign(saved["review"], place / "again.json")
    assert json.loads((place / "again.json").read_text())["sum"] == saved["sum"]


def test_nothing_is_worse_than_a_moment_ago_and_both_can_be_asked_for(whole, place):
    (place / "review.json").write_bytes((whole.folder / "saved.json").read_bytes())
    ran = review(*FEW, "--compare", "--save", cwd=place) # without a name: review.json
    assert ran.code == 0 and b": 0 worse, " in ran.out, ran
    kept = json.loads((place / "review.json").read_text())
    assert {each["id"].partition(".")[0] for each in kept["review"]["attacks"]} == {"files"}


def test_an_edited_review_is_refused(whole, place):
    text = (whole.folder / "saved.json").read_text()
    for number, (what, by) in enumerate([('"held"', '"held "'), ('"verdict": "held"', '"verdict": "failed"'), ('"on"', '"off"'),
                                         ('"kernel": "', '"kernel": "9')]):
        edited = place / f"edited{number}.json"
        edited.write_text(text.replace(what, by, 1))
        assert edited.read_text() != text
        assert "changed since it was saved" in refused(review(*FEW, "--compare", edited), (2,))
    (place / "other.json").write_text("{}")
    assert "is no saved review" in refused(review(*FEW, "--compare", place / "other.json"), (2,))
    assert "is no saved review" in refused(review(*FEW, "--compare", "/etc/passwd"), (2,))
    refused(review(*FEW, "--compare", place / "missing.json"), (2,))


def test_what_became_worse_and_better_is_named(saved, place):
    then = json.loads(json.dumps(saved["review"]))
    files = [each for each in then["attacks"] if each["id"] in FEW]
    files[0]["verdict"] = "ESCAPED" # which it no longer is
    then["attacks"].append({**files[1], "id": "files.forgotten"})
    then["receipt"]["protections"]["telepathy"] = {"state": "on", "note": ""}
    resign(then, place / "then.json")
    ran = review("--json", *FEW, "--compare", place / "then.json")
    assert ran.code == 1, ran
    changes = json.loads(ran.out)["changes"]
    assert changes["better"] == [f"{files[0]['id']} was ESCAPED and is held now"]
    assert changes["worse"] == ["files.forgotten was held and is no longer tried", "the protection telepathy was on and is off now"]


def test_another_backend_is_worse_and_told_to_be_another(saved, place):
    resign(saved["review"], place / "then.json")
    ran = review(*OPEN, "--compare", place / "then.json")
    assert ran.code == 1, ran
    assert b"backend 'native' then and 'none' now" in ran.out
    assert re.search(rb"^  worse   the protection seccomp was on and is off now", ran.out, re.M), ran
    assert re.search(rb"^  worse   \S+ was held and is ESCAPED now: ", ran.out, re.M), ran


# ---- what can go wrong ----


def test_what_is_not_in_the_catalogue_is_refused():
    for wrong in ("nothing", "files.*x*y*z", ""):
        refused(review("--only", wrong), (2,))
    assert "image '/nonexistent'" in refused(review("--image", "/nonexistent", *FEW), (2,))


@pytest.mark.parametrize("option", ["--html", "--sarif", "--save"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_tried(place, option):
    (place / "state").mkdir()
    for path, code in ((place / "missing" / "file", 125), (place, 2)):
        refused(review(option, path, env={"TMPDIR": str(place)}, timeout=10), (code,)) # the whole would take a minute
    assert [each.name for each in place.iterdir()] == ["state"]


def test_a_state_folder_or_a_log_that_cannot_be_used_is_told_before_anything_is_tried(place):
    (place / "file").write_text("")
    assert "state folder" in refused(review("--state", place / "file", timeout=10), (2,))
    (place / "state").mkdir(mode=0o700)
    (place / "state" / "audit.jsonl").mkdir()
    trust(place / "state")
    assert "the audit log" in refused(review("--state", place / "state", timeout=10), (2, 125))


def test_what_cannot_be_written_in_the_end_takes_no_verdicts_with_it(place):
    gone, kept = place / "gone", place / "kept.json"
    gone.mkdir()
    with Live(*FEW, "--only", "bypass.hang", "--html", gone / "page.html", "--save", kept, verb="review", env={"TMPDIR": str(place)}) as live:
        begun(place)
        gone.rmdir()
        ran = live.finish(60)
    assert ran.code == 125 and b"write '" in ran.err, ran
    assert b"bypass.hang" in ran.out and kept.exists(), ran


def test_sarif_results_are_at_the_saved_file(place):
    for folder, where in ((place, "kept.json"), (place.parent, f"{place.name}/kept.json"), ("/usr", "kept.json")):
        ran = review(*OPEN, "--save", place / "kept.json", "--sarif", place / "log.sarif", cwd=folder)
        assert ran.code == 1, ran
        for result in json.loads((place / "log.sarif").read_text())["runs"][0]["results"]:
            assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == where


def begun(folder):
    """The folder of the review that has just begun there."""
    deadline = time.monotonic() + 20
    while not (found := list(folder.glob("hotcell-review.*/socket"))):
        assert time.monotonic() < deadline, "it does not begin"
        time.sleep(0.005)
    return found[0].parent


@pytest.mark.parametrize("number, code", [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_review_that_is_stopped_leaves_nothing(place, number, code):
    for after in (0.0, 0.05, 0.4):
        with Live(verb="review", env={"TMPDIR": str(place)}) as live:
            begun(place)
            time.sleep(after)
            live.process.send_signal(number)
            ran = live.finish(30)
        assert ran.code == code and b"stopped" in ran.err and ran.out == b"", ran
        assert not list(place.iterdir())


def test_what_a_killed_review_left_is_swept_and_what_a_live_one_has_is_not(place):
    with Live(verb="review", env={"TMPDIR": str(place)}) as live:
        left = begun(place)
        os.utime(left, (0, 0)) # as if it were old; it is locked
        assert review(*FEW, env={"TMPDIR": str(place)}).code == 0
        assert live.process.poll() is None and left.exists()
        live.process.kill()
        live.finish()
    for _ in range(20): # its last cell may still write there
        os.utime(left, (0, 0))
        assert review(*FEW, env={"TMPDIR": str(place)}).code == 0
        if not left.exists():
            return
        time.sleep(0.1)
    raise AssertionError("it is still there")


def test_two_reviews_at_once_do_not_see_each_other():
    with Live(*FEW, verb="review") as one, Live(*FEW, verb="review") as other:
        assert one.finish(100).code == other.finish(100).code == 0


def test_a_place_that_cells_are_shown_or_that_cannot_be_used_is_refused(place):
    said = refused(review(*FEW, env={"TMPDIR": "/usr/share"}), (2,))
    assert "TMPDIR" in said and "/usr" in said
    assert "TMPDIR" in refused(review(*FEW, env={"TMPDIR": "/nowhere"}), (125,))
    odd = place / "a:b"
    odd.mkdir()
    assert "TMPDIR" in refused(review(*FEW, env={"TMPDIR": str(odd)}), (2,))
    said = refused(review(*FEW, env={"TMPDIR": str(place)}, preexec_fn=small_disk(place)), (125,))
    assert "No space left" in said

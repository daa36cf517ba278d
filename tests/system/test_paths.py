"""Links, FIFOs and sockets at every name that hotcell writes or reads below a state, output or session folder.

The names are not written down here: each command runs once honestly, what it made is walked, and then each name in turn is taken by
something else before the command runs again. Behind a link nothing is made, changed, removed or read; nobody waits for a FIFO; what
is refused is refused in one sentence with one of our own codes."""

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import threading
import time

import pytest

import capsules
import fuzzing
import harness
from harness import Live, hotcell, refused

KINDS = ("link", "dangling", "fifo", "socket")
CODES = (0, 1, 2, 3, 4, 125)
TOKEN = "kept-from-hotcell-6f1c"
TRUE = ("--", "true")
SEEDS_C = "#include <stddef.h>\nint f(const unsigned char *data, size_t len)\n{\n\treturn len > 0 && data[0] == 'a';\n}\n"
CRASH_C = ("#include <stddef.h>\nint f(const unsigned char *data, size_t len)\n{\n\tif (len > 0)\n\t\t__builtin_trap();\n\treturn 0;\n}\n")


# ---- what is behind the links ----


def seen(folder):
    """All that could be changed in a tree: names, kinds, modes, contents, and when."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in [*folders, *files, "."]:
            path = os.path.join(top, name)
            about = os.lstat(path)
            body = b""
            if stat.S_ISREG(about.st_mode):
                with open(path, "rb") as source:
                    body = hashlib.sha256(source.read()).digest()
            found[path] = (about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, body)
    return found


def plant(path, kind, outside):
    """Puts something else where hotcell's file or folder is or would be. Returns what gives the real one back."""
    aside = outside.parent / "aside"
    path.parent.mkdir(parents=True, exist_ok=True)
    was = path.exists()
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir()
    target = outside / "target"
    if was and path.is_dir():
        shutil.copytree(path, target, symlinks=True)
    elif was:
        shutil.copyfile(path, target)
    else:
        target.mkdir()
    (target / "secret" if target.is_dir() else outside / "secret").write_text(TOKEN)
    if was:
        path.rename(aside)
    if kind == "link":
        path.symlink_to(target)
    elif kind == "dangling":
        path.symlink_to(outside / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        held = os.open(path.parent, os.O_RDONLY)  # the path may be longer than a socket's name
        with socket.socket(socket.AF_UNIX) as each:
            each.bind(f"/proc/self/fd/{held}/{path.name}")
        os.close(held)

    def undo():
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        elif was:
            shutil.rmtree(path)
        if was:
            aside.rename(path)

    return undo


def judge(ran, before, outside):
    assert seen(outside) == before, f"something changed behind the link: {ran}"
    assert ran.code in CODES, ran
    assert TOKEN.encode() not in ran.out + ran.err, ran
    own = [line for line in ran.own if "weaker cell" not in line]
    if ran.code in (2, 125):
        assert own, ran
    assert all(len(line) <= 500 for line in own), ran
    return any("symbolic link" in line for line in own) or b"symbolic link" in ran.out


def tell(folder, number):
    """The names below this project that a command of this number made, with {n} in the place of the number."""
    made = set()
    for top, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = os.path.relpath(os.path.join(top, name), folder)
            made.add(path.replace(f"n{number}n", "n{n}n"))
    return made


class Attack:
    """A project in which one command is run again and again, each time with one name taken by something else."""

    def __init__(self, place, *words, before=None, prepare=None, kinds=KINDS, below=(".hotcell", "out", "fuzz"), skip=()):
        self.project, self.outside = place / "project", place / "outside"
        self.project.mkdir()
        self.outside.mkdir()
        self.words, self.before, self.kinds, self.skip = words, before, kinds, skip
        self.number = 0
        self.linked = 0
        if prepare:
            prepare(self.project)
        honest = self.run()
        assert honest.code in (0, 1), honest
        self.names = sorted(name for name in tell(self.project, 0) if name.split("/")[0].split("n{n}n")[0] in below and
                            not any(part in name for part in skip))
        assert self.names, "the command made nothing: what is there to take the place of?"

    def run(self):
        words = [os.fspath(word).replace("{n}", str(self.number)) for word in self.words]
        return hotcell(*words, cwd=self.project, timeout=100)

    def all(self):
        for name in self.names:
            for kind in self.kinds:
                self.number += 1
                if self.before:
                    self.before(self.project, self.number)
                path = self.project / name.replace("{n}", str(self.number))
                undo = plant(path, kind, self.outside)
                before = seen(self.outside)
                ran = self.run()
                refused_link = judge(ran, before, self.outside)
                self.linked += refused_link and kind == "link"
                undo()
        return self


# ---- campaigns ----


def test_run_output(place):
    attack = Attack(place, "run", "--output", "outn{n}n", "--", "sh", "-c", "mkdir a && echo x > a/b").all()
    assert attack.linked


def test_campaign_run(place):
    stdin = place / "stdin"
    stdin.write_text("x\n")
    attack = Attack(place, "campaign", "run", "--name", "n{n}n", "--runs", "1", "--quiet", "--output", "outn{n}n", "--stdin", stdin,
                    "--", "sh", "-c", "echo x > left").all()
    assert attack.linked >= 4, attack.names


def test_campaign_run_without_an_output_folder(place):
    attack = Attack(place, "campaign", "run", "--name", "n{n}n", "--runs", "1", "--quiet", *TRUE, kinds=("link", "dangling"),
                    skip=("runs-",))
    assert "fuzz" in attack.names and "fuzz/runs" in attack.names
    attack.names = ["fuzz", "fuzz/runs"]
    assert attack.all().linked


def campaign_made(project, number=0):
    ran = hotcell("campaign", "run", "--name", f"n{number}n", "--runs", "2", "--quiet", "--output", f"outn{number}n", "--", "sh", "-c",
                  "echo said; echo x > left; exit 3", cwd=project, timeout=60)
    assert ran.code in (0, 1), ran


@pytest.mark.parametrize("words", [
    ("status", "n0n"), ("campaign", "show", "n0n"), ("campaign", "list"), ("logs", "n0n/1"), ("report", "n0n", "-o", "-"),
    ("clean", "--older-than", "1ms", "--dry-run"), ("audit", "verify"), ("metrics",)],
    ids=lambda words: "-".join(words[:2]))
def test_what_reads_a_campaign(place, words):
    Attack(place, *words, prepare=campaign_made, kinds=("link", "fifo") if words[0] != "status" else KINDS).all()


@pytest.mark.parametrize("words", [("campaign", "rm", "n{n}n"), ("clean", "n{n}n", "--older-than", "1ms")], ids=lambda words: words[0])
def test_what_removes_a_campaign(place, words):
    project = place / "project"
    project.mkdir()
    campaign_made(project)
    names = sorted(name for name in tell(project, 0) if name != ".hotcell")
    for number, name in enumerate(names, 1):
        campaign_made(project, number)
        path = project / name.replace("{n}", str(number))
        undo = plant(path, "link", place / "outside")
        before = seen(place / "outside")
        ran = hotcell(*(word.replace("{n}", str(number)) for word in words), cwd=project, timeout=60)
        judge(ran, before, place / "outside")
        if not path.exists() and not path.is_symlink() and not path.parent.exists():
            shutil.rmtree(place / "aside", ignore_errors=True)
            (place / "aside").unlink(missing_ok=True) if (place / "aside").exists() else None
        else:
            undo()


def test_campaign_resume_of_one_that_was_killed(place):
    """Names of a session that is not done yet: a cell that may write to the project has all the time to put links there."""
    project, outside = place / "project", place / "outside"
    project.mkdir()

    def begin(number):
        with Live("run", "--name", f"n{number}n", "--runs", "2", "--workers", "1", "--quiet", "--output", f"outn{number}n", "--", "sh",
                  "-c", "echo x > left; sleep 30", verb="campaign", cwd=project) as live:
            deadline = time.monotonic() + 20
            while not (project / f"outn{number}n" / "001" / "stdout.log").exists():
                assert time.monotonic() < deadline, "no session was begun"
                time.sleep(0.02)
            live.process.send_signal(signal.SIGKILL)
            live.process.wait(10)

    begin(0)
    names = sorted(name for name in tell(project, 0) if name.startswith((f"outn", ".hotcell/campaigns/n{n}n")))
    assert any(name.endswith("001/stdout.log") for name in names), names
    for number, name in enumerate(names, 1):
        begin(number)
        undo = plant(project / name.replace("{n}", str(number)), "link", outside)
        before = seen(outside)
        with Live("resume", f"n{number}n", verb="campaign", cwd=project) as live:
            try:
                live.process.wait(1.5)
            except Exception:
                live.process.send_signal(signal.SIGKILL)
                live.process.wait(10)
        assert seen(outside) == before, name
        undo()
    hotcell("ps")  # which removes the sockets of those that were killed


# ---- findings ----


def findings_put(project, number=0):
    capsules.put(project / ".hotcell", capsules.make(frame=f"n{number}n"))


@pytest.fixture
def state(place):
    """A project whose state folder hotcell made, with a finding in it."""
    project = place / "with-findings"
    project.mkdir()
    fuzzing.tool(project, fuzzing.FAULTY)
    ran = fuzzing.fuzz_tool(project, "--quiet")
    assert ran.code == 1, ran
    return project


@pytest.mark.parametrize("words", [("list",), ("show",), ("export", "--format", "json"), ("suppress", "--reason", "known")],
                         ids=lambda words: words[0])
def test_findings(place, state, words):
    (capsule, *_) = fuzzing.capsules(state)
    identity = () if words[0] in ("list", "export") else (capsule.stem,)
    for name in sorted(tell(state, 0)):
        if not name.startswith(".hotcell"):
            continue
        for kind in KINDS if name != ".hotcell" else ("link",):
            undo = plant(state / name, kind, place / "outside")
            before = seen(place / "outside")
            judge(hotcell("findings", words[0], *identity, *words[1:], cwd=state), before, place / "outside")
            undo()


def test_a_capsule_behind_a_link_is_not_read(place, state):
    foreign = capsules.make(message=TOKEN)
    (place / "foreign.json").write_text(json.dumps(foreign))
    (state / ".hotcell" / "findings" / f"{foreign['id']}.json").symlink_to(place / "foreign.json")
    for words in (("findings", "list"), ("findings", "list", "--json"), ("findings", "export", "--format", "sarif"), ("report", "-o", "-")):
        ran = hotcell(*words, cwd=state)
        assert TOKEN.encode() not in ran.out and foreign["id"].encode() not in ran.out, ran


def test_fuzz_tool(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", os.fspath(place))  # where a finding goes that cannot be stored
    attack = Attack(place, "fuzz", "tool", "--schema", "schema.json", "--max-calls", "6", *fuzzing.QUICK, "--quiet", "--", "python3",
                    "tool.py", prepare=lambda project: fuzzing.tool(project, fuzzing.FAULTY), kinds=("link", "fifo")).all()
    assert attack.linked >= 2, attack.names


def stored_or_told(place, ran, folder):
    """A finding that could not be stored is told, kept elsewhere, and the run is no clean one."""
    assert b"Nothing found" not in ran.out, ran
    assert ran.code == 4, ran
    text = ran.err.decode()
    assert "could not be stored" in text, ran
    (path, *_) = [line.split("its capsule is '")[1].rsplit("'", 1)[0] for line in text.splitlines() if "its capsule is '" in line]
    capsule = json.loads(open(path, encoding="utf-8").read())
    assert capsule["id"] in path and os.stat(path).st_mode & 0o077 == 0
    assert path.startswith(os.fspath(place)), path
    return capsule


@pytest.mark.parametrize("what", ["capsule", "findings"])
def test_a_finding_that_cannot_be_stored_is_not_lost(place, monkeypatch, what):
    project, outside = place / "project", place / "outside"
    project.mkdir()
    monkeypatch.setenv("TMPDIR", os.fspath(place))
    fuzzing.tool(project, fuzzing.FAULTY)
    assert fuzzing.fuzz_tool(project, "--quiet").code == 1
    (capsule, *_) = fuzzing.capsules(project)
    shutil.rmtree(project / ".hotcell" / "findings")
    outside.mkdir()
    before = seen(outside)
    if what == "capsule":
        (project / ".hotcell" / "findings").mkdir()
        capsule.symlink_to(outside / "nowhere")
    else:
        (project / "swap").mkdir()
    ran = fuzzing.fuzz_tool(project, "--json") if what == "capsule" else None
    if what == "findings":  # it becomes a link while the run is at work
        script = "import os, sys\nos.symlink(sys.argv[1], sys.argv[2])\n"
        (project / "link.py").write_text(script)
        with Live("tool", "--schema", "schema.json", "--max-calls", "12", *fuzzing.QUICK, "--json", "--", "python3", "tool.py", verb="fuzz",
                  cwd=project) as live:
            os.symlink(outside, project / ".hotcell" / "findings")
            code = live.process.wait(100)
            live.finish()
            ran = harness.Ran(code, bytes(live.out), bytes(live.err))
        if ran.code == 2:  # it was there before the store was opened: refused before anything ran
            assert b"symbolic link" in ran.err
            assert seen(outside) == before
            return
    told = stored_or_told(place, ran, outside)
    assert told["id"] in {each["id"] for each in json.loads(ran.out)["findings"]}, ran
    assert seen(outside) == before


def test_a_function_s_finding_that_cannot_be_stored_is_not_lost(place, monkeypatch):
    project, outside = place / "project", place / "outside"
    project.mkdir()
    outside.mkdir()
    monkeypatch.setenv("TMPDIR", os.fspath(place))
    (project / "t.c").write_text(CRASH_C)
    words = ("fuzz", "function", "t.c:f", "--max-execs", "2000", "--quiet", "--no-coverage", "--seed", "7")
    assert hotcell(*words, cwd=project, timeout=100).code == 1
    (capsule,) = fuzzing.capsules(project)
    capsule.unlink()
    capsule.symlink_to(outside / "nowhere")
    before = seen(outside)
    ran = hotcell(*words, cwd=project, timeout=100)
    told = stored_or_told(place, ran, outside)
    assert told["id"] == capsule.stem and capsule.stem.encode() in ran.out
    assert seen(outside) == before


# ---- functions and corpora ----


def function_made(project):
    (project / "t.c").write_text(SEEDS_C)
    (project / "seeds").mkdir()
    (project / "seeds" / "one").write_text("abc")


def test_fuzz_function(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", os.fspath(place))
    attack = Attack(place, "fuzz", "function", "t.c:f", "--max-execs", "500", "--quiet", "--seed", "7", prepare=function_made,
                    kinds=("link",)).all()
    assert attack.linked >= 4, attack.names


@pytest.mark.parametrize("words", [("import", "t.c:f", "seeds"), ("list",), ("export", "t.c:f", "outn{n}n")], ids=lambda words: words[0])
def test_corpus(place, words):
    def prepare(project):
        function_made(project)
        assert hotcell("corpus", "import", "t.c:f", "seeds", cwd=project).code == 0

    attack = Attack(place, "corpus", *words, prepare=prepare).all()
    assert attack.linked, attack.names


@pytest.mark.parametrize("words", [("merge", "t.c:f", "seeds"), ("minimise", "t.c:f")], ids=lambda words: words[0])
def test_corpus_with_an_engine(place, words):
    def prepare(project):
        function_made(project)
        assert hotcell("corpus", "import", "t.c:f", "seeds", cwd=project).code == 0

    assert Attack(place, "corpus", *words, prepare=prepare, kinds=("link",)).all().linked


OURS = {
    ".hotcell/corpus": ("corpus", "import", "t.c:f", "seeds"),
    ".hotcell/campaigns": ("campaign", "run", "--runs", "1", "--quiet", *TRUE),
    "fuzz": ("campaign", "run", "--runs", "1", "--quiet", *TRUE),
}


@pytest.mark.parametrize("name", OURS)
def test_a_link_in_the_place_of_a_folder_of_ours_gets_nothing(place, name):
    project, outside = place / "project", place / "outside"
    for folder in (project, outside):
        folder.mkdir()
    function_made(project)
    assert hotcell(*OURS[name], cwd=project).code == 0  # the state folder is this user's own
    shutil.rmtree(project / name)
    (project / name).symlink_to(outside)
    ran = hotcell(*OURS[name], cwd=project)
    assert not list(outside.iterdir()), ran
    refused(ran)


@pytest.mark.parametrize("step", ["cache", "cache/go"])
def test_a_link_at_the_cache_gives_a_build_no_folder_to_write_to(place, step):
    """What the build's cell may write to is the folder that was made beneath the state folder, and no other."""
    project, outside = place / "project", place / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "go").mkdir()
    (project / "go.mod").write_text("module example.test/t\n\ngo 1.20\n")
    (project / "t.go").write_text("package t\n\nfunc F(data []byte) int { return len(data) }\n")
    (project / "t.c").write_text(SEEDS_C)
    assert hotcell("corpus", "import", "t.c:f", project, cwd=project).code == 0  # which makes the state folder
    path = project / ".hotcell" / step
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside if step == "cache" else outside / "go")
    before = seen(outside)
    ran = hotcell("fuzz", "function", "t.go:F", "--max-execs", "100", "--quiet", cwd=project, timeout=100)
    assert ran.code in (2, 3, 4), ran
    assert seen(outside) == before, ran
    assert b"symbolic link" in ran.out + ran.err or b"go" in ran.out + ran.err, ran


@pytest.mark.parametrize("at", [".venv", ".hotcell/engines", ".hotcell/engines/python"])
def test_an_engine_that_lies_in_the_project_is_no_link(place, at):
    """Not in a state folder of this user's own either: whoever may write to the project may have put it there. The engine works: what
    is behind the link would be mounted, and told."""
    project, outside = place / "project", place / "outside"
    project.mkdir()
    engine = fuzzing.python_environment(outside / "python")
    (engine / "secret").write_text(TOKEN)
    (project / "t.py").write_text("def f(data: bytes):\n    raise ValueError(open('/engine/secret').read())\n")
    (project / "t.c").write_text(SEEDS_C)
    assert hotcell("corpus", "import", "t.c:f", project, cwd=project).code == 0
    path = project / at
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside if path.name == "engines" else engine)
    ran = hotcell("fuzz", "function", "t.py:f", "--max-execs", "20", "--duration", "5s", "--no-coverage", "--quiet", cwd=project,
                  env={"VIRTUAL_ENV": None}, timeout=100)
    assert TOKEN.encode() not in ran.out + ran.err, ran
    assert ran.code in (2, 3, 4), ran


# ---- mounts: what was checked is what is mounted ----


def test_a_folder_that_is_swapped_between_cells_is_not_mounted(place):
    """A campaign's first run may write to the project, and puts another folder where the second run has one mounted."""
    project = place / "project"
    (project / "shared" / "data").mkdir(parents=True)
    (project / "shared" / "other").mkdir()
    (project / "shared" / "other" / "secret").write_text(TOKEN)
    for path in (project / "shared", project / "shared" / "data", project / "shared" / "other"):
        path.chmod(0o777)
    ran = hotcell("campaign", "run", "--runs", "2", "--workers", "1", "--quiet", "--output", "out", "--mount", f"{project}/shared:/shared:rw",
                  "--mount", f"{project}/shared/data:/data", "--", "sh", "-c",
                  "cat /data/secret; mv /shared/data /shared/was && mv /shared/other /shared/data; true", cwd=project, timeout=60)
    logs = b"".join(path.read_bytes() for path in (project / "out").rglob("stdout.log"))
    assert TOKEN.encode() not in logs, ran


SWAPS_C = """#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int f(const char *input, size_t len)
{
	char text[100];
	int from = open("/data/secret", O_RDONLY), to = from < 0 ? -1 : open("/shared/stolen", O_WRONLY | O_CREAT, 0644);
	if (to >= 0)
		(void)!write(to, text, read(from, text, sizeof(text)));
	if (from < 0 && rename("/shared/way", "/shared/was") == 0)
		(void)!symlink("OUTSIDE", "/shared/way");
	abort(); /* to be replayed, in another kind of cell */
}
"""


def test_a_folder_that_is_swapped_before_the_next_kind_of_cell_is_made_is_not_mounted(place):
    """A function that is fuzzed may write to the way to its other mount, and puts a link there before it is replayed."""
    project, shared, outside = place / "project", place / "shared", place / "outside"
    for folder in (project, shared / "way" / "data", outside / "data"):
        folder.mkdir(parents=True)
    for folder in (shared, shared / "way"):
        folder.chmod(0o777)
    (outside / "data" / "secret").write_text(TOKEN)
    (project / "t.c").write_text(SWAPS_C.replace("OUTSIDE", os.fspath(outside)))
    ran = hotcell("fuzz", "function", "t.c:f", "--max-execs", "10", "--duration", "5s", "--quiet", "--no-coverage", "--mount", f"{shared}:/shared:rw",
                  "--mount", f"{shared}/way/data:/data", cwd=project, timeout=100)
    assert (shared / "way").is_symlink(), ran
    assert not (shared / "stolen").exists(), ran


def test_an_image_that_is_swapped_before_the_next_kind_of_cell_is_made_is_not_shown(place):
    """A run may write to the way to its image, and puts another folder there; a file that it replaces makes the next a new kind."""
    shared, project = place / "shared", place / "project"
    for name in ("image", "other"):
        (shared / name).mkdir(parents=True)
        for folder in ("usr", "shared", "etc"):
            (shared / name / folder).mkdir()
        for link in ("bin", "lib", "lib64"):
            if os.path.islink(f"/{link}"):
                (shared / name / link).symlink_to(f"usr/{link}")
        (shared / name / "file").write_text("")
    (shared / "other" / "etc" / "secret").write_text(TOKEN)
    (shared / "file").write_text("one")
    project.mkdir()
    for path in (shared, shared / "image", shared / "other"):
        path.chmod(0o777)
    script = ("cat /etc/secret; cd /shared; echo two > new && mv new file; if [ ! -e was ]; then mv image was && mv other image; fi; true")
    ran = hotcell("campaign", "run", "--runs", "2", "--workers", "1", "--quiet", "--output", "out", "--image", shared / "image", "--mount",
                  "/usr:/usr", "--mount", f"{shared}:/shared:rw", "--mount", f"{shared}/file:/file", "--", "sh", "-c", script, cwd=project,
                  timeout=60)
    assert (shared / "was").is_dir(), ran
    assert (shared / "file").read_text() == "two\n", ran
    logs = b"".join(path.read_bytes() for path in (project / "out").rglob("stdout.log"))
    assert TOKEN.encode() not in logs, ran
    told = b"".join(path.read_bytes() for path in (project / "out").rglob("result.json"))
    assert b"was replaced" in told + ran.out + ran.err, (ran, told)


def test_a_project_that_is_swapped_while_it_is_fuzzed_is_not_shown(place):
    """What is built and measured later is of the folder that the target was found in, or nothing."""
    project, other = place / "project", place / "other"
    source = "#include <stddef.h>\n#include <stdint.h>\n/* %s */\nint LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)\n{\n\treturn 0;\n}\n"
    for folder, text in ((project, "mine"), (other, TOKEN)):
        folder.mkdir()
        (folder / "t.c").write_text(source % text)
    done = []
    words = ("fuzz", "function", project / "t.c", "--duration", "4s", "--coverage", "--json", "--state", place / "state")
    thread = threading.Thread(target=lambda: done.append(hotcell(*words, cwd=place, timeout=120)))
    thread.start()
    harness.eventually(lambda: (place / "state" / "audit.jsonl").exists())
    time.sleep(2)
    project.rename(place / "was")
    other.rename(project)
    thread.join()
    page = hotcell("report", "--state", place / "state", "-o", "-", cwd=place).out
    assert TOKEN.encode() not in page + done[0].out + done[0].err
    assert b"was replaced" in done[0].out, done


def test_a_mount_source_that_is_swapped_for_a_link_in_a_loop(place):
    """Whatever moment it hits: the cell has the folder that was checked, or there is no cell."""
    real, link = place / "real", place / "link"
    real.mkdir()
    (real / "mine").write_text("mine\n")
    outside = place / "outside"
    outside.mkdir()
    (outside / "secret").write_text(TOKEN)
    for path in (real, outside):
        path.chmod(0o755)
    link.symlink_to(outside)
    swapper = os.fork()
    if swapper == 0:
        import ctypes
        libc = ctypes.CDLL(None)
        while True:
            libc.renameat2(-100, os.fsencode(real), -100, os.fsencode(link), 2)
    try:
        for _ in range(15):
            ran = hotcell("run", "--mount", f"{real}/:/m", "--", "sh", "-c", "ls /m; cat /m/*")
            assert TOKEN.encode() not in ran.out and b"secret" not in ran.out, ran
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)


def test_an_output_folder_may_be_no_link_however_it_is_written(place):
    (place / "outside").mkdir()
    (place / "link").symlink_to("outside")
    for end in ("", "/", "//", "/."):
        for words in (("run", "--output", f"link{end}", *TRUE), ("campaign", "run", "--runs", "1", "--quiet", "--output", f"link{end}", *TRUE)):
            ran = hotcell(*words, cwd=place)
            refused(ran, (2, 125))
            assert not list((place / "outside").iterdir()), ran
    (place / "way").symlink_to("outside")  # but the way to it is the user's own
    ran = hotcell("run", "--output", "way/new", "--", "sh", "-c", "echo x > left", cwd=place)
    assert ran.code == 0 and (place / "outside" / "new" / "left").exists(), ran


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal", "audit.jsonl", "audit.head"])
def test_links_beside_the_ledger_are_refused_in_one_sentence(place, name):
    project, outside = place / "project", place / "outside"
    project.mkdir()
    outside.mkdir()
    campaign_made(project)
    path = project / ".hotcell" / name
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "new")
    ran = hotcell("campaign", "run", "--runs", "1", "--quiet", "--output", "again", *TRUE, cwd=project)
    told = "none of hotcell's" if name.endswith("-journal") else "symbolic link"
    assert ran.code in (2, 125) and told in ran.err.decode(), ran
    assert not list(outside.iterdir())


def test_the_state_folder_that_is_swapped_while_a_campaign_runs_gets_nothing(place):
    """It is held: what is put in its place is not written to."""
    project, outside = place / "project", place / "outside"
    project.mkdir()
    outside.mkdir(mode=0o700)
    with Live("run", "--runs", "1", "--quiet", "--name", "held", "--output", "out", "--", "sleep", "1.5", verb="campaign", cwd=project) as live:
        deadline = time.monotonic() + 20
        while not (project / "out" / "1").exists() and not (project / "out" / "001").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        (project / ".hotcell").rename(project / "away")
        (project / ".hotcell").symlink_to(outside)
        time.sleep(3)  # the run ends meanwhile, and its end is to be written down
        assert not list(outside.iterdir())
        (project / ".hotcell").unlink()
        (project / "away").rename(project / ".hotcell")
        live.process.wait(60)
    assert not list(outside.iterdir())

"""A state folder is believed only if this user's hotcell made it here, or the user said so: whoever can write to a project brings one
as easily as any other folder, and what is in it runs on this machine."""

import ctypes
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import tarfile
import threading

import pytest

import capsules
import fuzzing
import harness
from campaigns import campaign
from harness import IS_ROOT, hotcell, refused, run

SAYS = "accept it with 'hotcell trust'"
HOOK = ("--alert", "any: failure_rate > 0% critical", "--on-alert", "touch {mark}")
FAILS = ("--", "/bin/sh", "-c", "exit 1")


@pytest.fixture
def env(place):
    """A home of its own, in which nothing is recorded."""
    home = place / "home"
    home.mkdir(mode=0o755)
    return {"HOME": str(home), "XDG_STATE_HOME": None}


@pytest.fixture
def mark(place):
    return place / "mark"


@pytest.fixture
def victim(place, env, mark):
    """A project with a campaign that can be resumed and whose hook runs on this machine, as its author made it."""
    folder = place / "author"
    folder.mkdir(mode=0o755)
    words = [word.format(mark=mark) for word in HOOK]
    ran = campaign(folder, "--runs", "40", "--workers", "2", "--name", "night", "--stop-after-failures", "12", *words, *FAILS,
                   env={**env, "HOME": str(place)})  # another's record
    assert ran.code in (1, 4), ran
    harness.eventually(mark.exists)
    mark.unlink(missing_ok=True)
    return folder


def by_copy(victim, place):
    shutil.copytree(victim, place / "project")


def by_archive(victim, place):
    with tarfile.open(place / "archive.tar", "w") as archive:
        archive.add(victim, arcname="project")
    subprocess.run(["tar", "xpf", place / "archive.tar", "-C", place], check=True)


def by_clone(victim, place):
    (victim / ".hotcell" / ".gitignore").unlink()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-Af", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=victim, check=True, capture_output=True)
    subprocess.run(["git", "clone", "-q", victim, place / "project"], check=True, capture_output=True)


def by_move(victim, place):
    victim.rename(place / "project")


def by_move_of_the_state(victim, place):
    (place / "project").mkdir()
    (victim / ".hotcell").rename(place / "project" / ".hotcell")


ASKING = [("campaign", "list"), ("campaign", "resume"), ("campaign", "resume", "night"), ("campaign", "run", "--resume"), ("status",), ("report",),
          ("metrics",), ("logs", "night/1"), ("campaign", "show", "night"), ("campaign", "rm", "--yes", "night"), ("clean",), ("findings", "list"),
          ("findings", "export"), ("findings", "repro", "0123456789abcdef"), ("repro", "0123456789abcdef"), ("corpus", "list"), ("audit", "verify"),
          ("campaign", "stop", "night"), ("campaign", "run", "--runs", "1", "--", "/bin/true")]


@pytest.mark.parametrize("way", [by_copy, by_archive, by_clone, by_move, by_move_of_the_state])
def test_a_state_folder_that_came_from_elsewhere_is_not_believed(place, env, mark, victim, way):
    way(victim, place)
    project = place / "project"
    (project / "sub").mkdir()
    state = project / ".hotcell"
    state.chmod(0o700)
    before = sorted((each.relative_to(state), each.stat().st_mtime_ns) for each in state.rglob("*"))
    for verb in ASKING:
        for cwd, words, more in ((project, (), {}), (project / "sub", (), {}), (place, ("--state", state), {}), (place, (), {"HOTCELL_STATE": str(state)})):
            split = verb.index("--") if "--" in verb else len(verb)
            ran = hotcell(*verb[:split], *words, *verb[split:], cwd=cwd, env={**env, **more})
            said = refused(ran)
            assert SAYS in said and str(state) in said, (verb, said)
    assert not mark.exists()
    assert sorted((each.relative_to(state), each.stat().st_mtime_ns) for each in state.rglob("*")) == before, "nothing is touched"
    assert not (place / "home" / ".local").exists(), "and nothing is recorded"


@pytest.mark.parametrize("way", [by_copy, by_archive, by_clone])
def test_a_copied_ledger_runs_nothing_on_this_machine(place, env, mark, victim, way):
    """Its hook would: the campaign has failed, and fails again."""
    way(victim, place)
    (place / "project" / ".hotcell").chmod(0o700)
    for words in (("resume",), ("resume", "night"), ("run", "--resume")):
        ran = hotcell("campaign", *words, cwd=place / "project", env=env, timeout=60)
        assert not harness.eventually(mark.exists, 0.5), ran
        assert SAYS in refused(ran)


def test_what_was_trusted_is_used_until_it_is_replaced(place, env, mark, victim):
    by_copy(victim, place)
    project = place / "project"
    shown = hotcell("trust", "--dry-run", project, env=env)
    assert shown.code == 0 and b"runs outside the sandbox: --on-alert=touch " in shown.out and b"campaign night" in shown.out, shown
    assert SAYS in refused(hotcell("campaign", "list", cwd=project, env=env))
    told = hotcell("trust", "--json", cwd=project, env=env)
    assert json.loads(told.out)["trusted"] and json.loads(told.out)["campaigns"][0]["name"] == "night", told
    assert b"night" in hotcell("campaign", "list", cwd=project, env=env).out
    listed = json.loads(hotcell("trust", "--list", "--json", env=env).out)
    assert [(each["state"], each["how"], each["there"]) for each in listed] == [(str(project / ".hotcell"), "trusted", True)]
    (project / ".hotcell").rename(project / "old")
    shutil.copytree(project / "old", project / ".hotcell")
    assert SAYS in refused(hotcell("campaign", "list", cwd=project, env=env))
    assert json.loads(hotcell("trust", "--list", "--json", env=env).out)[0]["there"] is False
    shutil.rmtree(project / ".hotcell")
    (project / "old").rename(project / ".hotcell")
    assert b"night" in hotcell("campaign", "list", cwd=project, env=env).out, "the same one again"
    assert hotcell("trust", "--remove", project, env=env).code == 0
    assert SAYS in refused(hotcell("campaign", "list", cwd=project, env=env))
    assert "is not recorded" in refused(hotcell("trust", "--remove", project, env=env))
    assert not mark.exists()


def test_a_folder_that_was_removed_and_made_anew_is_another_even_with_its_inode(place, env):
    """File systems use the number of an inode again at once."""
    state = place / ".hotcell"
    for _ in range(20):
        assert campaign(place, "--runs", "1", "--", "/bin/true", env=env).code == 0
        was = state.stat().st_ino
        shutil.rmtree(place / "fuzz")
        shutil.rmtree(state)
        state.mkdir(mode=0o700)
        (state / "findings").mkdir()
        same = state.stat().st_ino == was
        assert SAYS in refused(hotcell("findings", "list", cwd=place, env=env))
        shutil.rmtree(state)
        if same:
            break


MAKES = {
    "made": "mkdir -p /p/.hotcell/findings",
    "renamed": "mkdir -p /p/x/examples; mv /p/x /p/.hotcell",
    "below": "mkdir -p /p/sub/.hotcell/findings",
    "with links": "mkdir /p/.hotcell; ln -s /etc /p/.hotcell/cache",
}


@pytest.mark.parametrize("how", MAKES)
def test_what_a_cell_made_in_a_project_commands_nothing(place, env, how):
    project = place / "project"
    (project / "sub").mkdir(parents=True)
    for folder in (project, project / "sub"):
        folder.chmod(0o777)
    ran = run("--mount", f"{project}:/p:rw", "--", "/bin/sh", "-c", MAKES[how], env=env)
    assert ran.code == 0, ran
    for verb in (("findings", "list"), ("fuzz", "function", "t.py:f"), ("campaign", "run", "--runs", "1", "--", "/bin/true")):
        (project / "sub" / "t.py").write_text("def f(x: str): pass\n")
        assert SAYS in refused(hotcell(*verb, cwd=project / "sub", env=env)), verb
    assert not list((place / "home").rglob("states")), "nothing is recorded"


def test_no_state_is_made_where_a_live_cell_could_write_to_it(place, env):
    """What is to be hidden from a cell is looked for when it starts: it would see what is made later, or have made it, and wait."""
    project = place / "project"
    (project / "sub").mkdir(parents=True)
    project.chmod(0o777)
    one = ("--runs", "1", "--mount", f"{project}:/p:rw", "--", "/bin/true")
    with harness.Live("--mount", f"{project}:/p:rw", "--", "/bin/sh", "-c", "mkdir /p/.hotcell; echo ready; read x", env=env) as live:
        live.wait_for(b"ready")
        for folder in (project, project / "sub"):
            assert f"has '{project}' mounted read-write" in refused(campaign(folder, *one, env=env)), folder
        assert f"has '{project}' mounted read-write" in refused(campaign(place, "--state", project / "new", *one, env=env))
        (project / ".hotcell").mkdir(exist_ok=True)
        (project / ".hotcell" / "findings").mkdir()
        assert "mounted read-write" in refused(hotcell("trust", project, env=env))
        shutil.rmtree(project / ".hotcell")
        assert campaign(place, "--state", "elsewhere", *one, env=env).code == 0
    assert not (project / ".hotcell").exists() and not (project / "new").exists()
    shutil.rmtree(place / "fuzz")
    assert campaign(project, *one, env=env).code == 0, "its own cells are not there yet"


def test_no_state_is_made_where_a_live_cell_could_write_after_the_folder_was_renamed(place, env):
    """A mount goes with its folder, whatever that is called now; two cells can rename it for one another."""
    project, moved = place / "project", place / "other" / "name"
    (project / "sub").mkdir(parents=True)
    moved.parent.mkdir()
    with harness.Live("--mount", f"{project}:/p:rw", "--", "/bin/sh", "-c", "echo ready; read x", env=env) as live:
        live.wait_for(b"ready")
        project.rename(moved)
        for folder in (moved, moved / "sub"):
            assert "mounted read-write" in refused(campaign(folder, "--runs", "1", "--", "/bin/true", env=env)), folder
        assert campaign(place, "--runs", "1", "--", "/bin/true", env=env).code == 0, "beside it there is no cell"
    assert not list(moved.rglob(".hotcell"))
    shutil.rmtree(place / ".hotcell")
    assert campaign(moved, "--runs", "1", "--", "/bin/true", env=env).code == 0


@pytest.mark.parametrize("part", ["ledger.db", "cache"])
def test_nothing_is_trusted_of_which_a_live_cell_writes_a_part(place, env, victim, part):
    by_copy(victim, place)
    state = place / "project" / ".hotcell"
    (state / "cache").mkdir()
    with harness.Live("--mount", f"{state / part}:/part:rw", "--", "/bin/sh", "-c", "echo ready; read x", env=env) as live:
        live.wait_for(b"ready")
        assert "mounted read-write" in refused(hotcell("trust", state, env=env))
    assert hotcell("trust", state, env=env).code == 0


def test_an_empty_folder_is_taken_and_recorded(place, env):
    """Whoever was killed before it was recorded left one."""
    (place / ".hotcell").mkdir(mode=0o755)
    assert campaign(place, "--runs", "1", "--", "/bin/true", env=env).code == 0
    assert (place / ".hotcell").stat().st_mode & 0o777 == 0o700
    (entry,) = json.loads(hotcell("trust", "--list", "--json", env=env).out)
    assert entry["how"] == "made" and entry["there"]


def test_a_project_behind_a_link_is_the_same_project(place, env):
    real = place / "data" / "project"
    real.mkdir(parents=True)
    (place / "link").symlink_to(place / "data")
    (place / "homelink").symlink_to(place / "home")
    more = {**env, "HOME": str(place / "homelink")}
    assert campaign(place / "link" / "project", "--runs", "1", "--", "/bin/true", env=more).code == 0
    for words, cwd in (((), real), ((), place / "link" / "project"), (("--state", place / "link" / "project" / ".hotcell"), place),
                       (("--state", "link/project/.hotcell"), place)):
        assert b"c1" in hotcell("campaign", "list", *words, cwd=cwd, env=env).out
    (place / "state").symlink_to(real / ".hotcell")
    assert "is not a folder" in refused(hotcell("campaign", "list", "--state", place / "state", env=env))


def test_many_at_once_are_all_recorded(place, env):
    folders = [place / "one"] * 4 + [place / f"p{i}" for i in range(8)]
    for folder in set(folders):
        folder.mkdir()
    done = []
    threads = [threading.Thread(target=lambda folder=folder: done.append(hotcell("review", "--only", "proc.environ", "--state", ".hotcell", cwd=folder, env=env, timeout=100)))
               for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(b"hotcell trust" not in each.err for each in done), done
    listed = json.loads(hotcell("trust", "--list", "--json", env=env).out)
    assert sorted(each["state"] for each in listed) == sorted(str(folder / ".hotcell") for folder in set(folders)) and all(each["there"] for each in listed)


# ---- the record ----


def record_of(env):
    folder = os.path.join(env["HOME"], ".local", "state", "hotcell")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    return harness.Path(folder) / "states"


def link(path):
    other = path.parent.parent / "other"
    other.write_text("hotcell states 1\n")
    path.symlink_to(other)


def huge(path):
    path.write_text("hotcell states 1\n")
    os.truncate(path, 1 << 33)


def writable(path):
    path.write_text("hotcell states 1\n")
    path.chmod(0o666)


BROKEN = {
    "link": link, "fifo": os.mkfifo, "folder": lambda path: path.mkdir(), "huge": huge, "writable": writable,
    "garbage": lambda path: path.write_bytes(os.urandom(3000)),
    "nothing": lambda path: path.write_text(""),
    "half a line": lambda path: path.write_text("hotcell states 1\nmade 1 2"),
    "other words": lambda path: path.write_text("hotcell states 1\nmade 1 2 3.4 relative\n"),
    "newer": lambda path: path.write_text("hotcell states 2\n"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_record_that_hotcell_did_not_write_is_not_believed(place, env, how):
    project = place / "project"
    project.mkdir()
    states = record_of(env)
    BROKEN[how](states)
    text = refused(campaign(project, "--runs", "1", "--", "/bin/true", env=env), (2, 125))
    assert "record" in text, text
    assert "record" in refused(hotcell("trust", "--list", env=env), (2, 125))
    assert not (project / ".hotcell").exists()
    shutil.rmtree(states.parent)
    assert campaign(project, "--runs", "1", "--", "/bin/true", env=env).code == 0, "and nobody is locked out"


def test_a_place_for_the_record_that_cannot_be_had_is_named_with_the_way_on(place, env):
    folder = place / "project"
    folder.mkdir()
    for more, what in (({"XDG_STATE_HOME": "state"}, "no absolute path"), ({"XDG_STATE_HOME": "/proc/nowhere"}, "set XDG_STATE_HOME"),
                       ({"XDG_STATE_HOME": str(place / "file")}, "set XDG_STATE_HOME")):
        (place / "file").write_text("")
        assert what in refused(campaign(folder, "--runs", "1", "--", "/bin/true", env={**env, **more}), (2, 125))
    (place / "s").mkdir()
    (place / "s" / "hotcell").symlink_to(place / "home")
    assert "a link" in refused(campaign(folder, "--runs", "1", "--", "/bin/true", env={**env, "XDG_STATE_HOME": str(place / "s")}), (2, 125))
    (place / "s" / "hotcell").unlink()
    (place / "s" / "hotcell").mkdir()
    (place / "s" / "hotcell").chmod(0o777)
    assert "written by others" in refused(campaign(folder, "--runs", "1", "--", "/bin/true", env={**env, "XDG_STATE_HOME": str(place / "s")}), (2, 125))
    if IS_ROOT:
        (place / "s" / "hotcell").chmod(0o700)
        os.chown(place / "s" / "hotcell", 12345, 12345)
        text = refused(campaign(folder, "--runs", "1", "--", "/bin/true", env={**env, "XDG_STATE_HOME": str(place / "s")}), (2, 125))
        assert "belongs to another user" in text


def test_no_cell_is_shown_the_record_or_a_recorded_state_to_write(place, env):
    home = harness.Path(env["HOME"])
    home.chmod(0o777)
    assert "records which state folders" in refused(run("--mount", f"{record_of(env).parent}:/r", "--", "/bin/true", env=env, json=False))
    shutil.rmtree(home / ".local")
    assert campaign(home, "--state", "kept", "--runs", "1", "--", "/bin/true", env=env).code == 0
    before = record_of(env).read_bytes()
    script = "cat /h/.local/state/hotcell/states /h/kept/audit.jsonl; echo x >/h/.local/state/hotcell/states; echo x >/h/kept/new; mv /h/kept /h/gone"
    for more in ((), ("--no-default-hide",)):
        ran = run("--mount", f"{home}:/h:rw", *more, "--", "/bin/sh", "-c", script, env=env)
        assert b"hotcell states" not in ran.out and b"seq" not in ran.out, ran
        assert record_of(env).read_bytes() == before and (home / "kept").is_dir() and not (home / "kept" / "new").exists()


def test_a_cell_cannot_make_the_record_before_hotcell_does(place, env):
    home = harness.Path(env["HOME"])
    (home / ".local" / "state").mkdir(parents=True)
    for folder in (home, home / ".local", home / ".local" / "state"):
        folder.chmod(0o777)
    run("--mount", f"{home}:/h:rw", "--", "/bin/sh", "-c", "mkdir -p /h/.local/state/hotcell; echo hotcell states 1 >/h/.local/state/hotcell/states", env=env)
    assert not (home / ".local" / "state" / "hotcell" / "states").exists()


# ---- hotcell trust ----


def test_what_cannot_be_trusted_is_refused_with_the_reason(place, env):
    project = place / "project"
    capsules_of = project / ".hotcell" / "findings"
    capsules_of.mkdir(parents=True)
    (project / ".hotcell").chmod(0o777)
    assert "written by others" in refused(hotcell("trust", project, env=env))
    (project / ".hotcell").chmod(0o700)
    (place / "link").symlink_to(project / ".hotcell")
    assert "is a link" in refused(hotcell("trust", place / "link", env=env))
    (place / "other").mkdir()
    (place / "other" / ".hotcell").symlink_to(project / ".hotcell")
    assert "is a link" in refused(hotcell("trust", place / "other", env=env))
    assert "No such file" in refused(hotcell("trust", place / "nowhere", env=env))
    for at in ("cache", "findings/x", "corpus"):
        (project / ".hotcell" / at).symlink_to("/etc")
        assert "symbolic link" in refused(hotcell("trust", project, env=env))
        (project / ".hotcell" / at).unlink()
    os.mkfifo(project / ".hotcell" / "audit.jsonl")
    assert "neither a file nor a folder" in refused(hotcell("trust", project, env=env))
    (project / ".hotcell" / "audit.jsonl").unlink()
    (project / ".hotcell" / "ledger.db").write_text("no database")
    assert "is not trusted" in refused(hotcell("trust", project, env=env), (2, 125))
    (project / ".hotcell" / "ledger.db").unlink()
    if IS_ROOT:
        os.chown(project / ".hotcell", 12345, 12345)
        assert "another user" in refused(hotcell("trust", project, env=env))
        os.chown(project / ".hotcell", 0, 0)
    assert "takes neither" in refused(hotcell("trust", "--list", project, env=env))
    assert not (place / "home" / ".local").exists()
    assert hotcell("trust", project, env=env).code == 0


def test_what_is_shown_is_escaped(place, env, victim):
    by_copy(victim, place)
    project = place / "project"
    with sqlite3.connect(project / ".hotcell" / "ledger.db", timeout=10) as db:
        db.execute("update campaigns set words = ?", (b"--on-alert=\x1b]0;x\x07\nfine\0--\0true\0",))
    ran = hotcell("trust", "--dry-run", project, env=env)
    assert ran.code == 0 and b"\\x1b]0;x\\x07\\nfine" in ran.out and b"\x1b" not in ran.out, ran


@pytest.mark.parametrize("words, told", [
    (b"--on-alert=touch gotcha\0--\0true\0", b"--on-alert=touch gotcha"),
    (b"--on-alert\0touch gotcha\0--\0true\0", b"--on-alert=touch gotcha"),
    (b"--backend\0none\0--\0true\0", b"it has no sandbox"),
    (b"--env=A=" + b"x" * 5000 + b"\0--no-sandbox\0--\0true\0", b"it has no sandbox"),
    (b"--on-alert=" + b"x" * 5000 + b" gotcha\0--\0true\0", b"x gotcha"),
])  # fmt: skip
def test_what_is_shown_is_what_a_resume_would_do(place, env, victim, words, told):
    """Whatever the ledger says that it shows, however it is spelled, and however much stands before it."""
    by_copy(victim, place)
    project = place / "project"
    with sqlite3.connect(project / ".hotcell" / "ledger.db", timeout=10) as db:
        db.execute("update campaigns set words = ?, shown = ?", (words, b"--\0true\0"))
    ran = hotcell("trust", "--dry-run", project, env=env)
    assert ran.code == 0 and any(b"runs outside the sandbox" in line and told in line for line in ran.out.splitlines()), ran
    [campaign] = json.loads(hotcell("trust", "--dry-run", "--json", project, env=env).out)["campaigns"]
    assert any(told.decode() in each for each in campaign["outside"])


@pytest.mark.parametrize("word", ["--mount=.:/h:rw", "--service=docker:80=unix:/run/docker.sock", "--pass-env=TOKEN", "--image=/",
                                  "--secret-door=x=https://example.org,header=x-key,env=TOKEN"])  # fmt: skip
def test_what_the_cells_of_a_campaign_get_is_shown_whole(place, env, victim, word):
    """However much stands before it, and with the folder that it is seen from."""
    by_copy(victim, place)
    project = place / "project"
    with sqlite3.connect(project / ".hotcell" / "ledger.db", timeout=10) as db:
        db.execute("update campaigns set words = ?, cwd = ?", (b"--hide=" + b"x" * 5000 + b"\0" + word.encode() + b"\0--\0true\0", "/home/you"))
    ran = hotcell("trust", "--dry-run", project, env=env)
    lines = ran.out.decode().splitlines()
    assert f"    gives its cells access to: {word}" in lines and "    is resumed in the folder /home/you" in lines, ran
    [campaign] = json.loads(hotcell("trust", "--dry-run", "--json", project, env=env).out)["campaigns"]
    assert campaign["access"] == [word] and campaign["folder"] == "/home/you"


@pytest.mark.parametrize("column", ["cwd", "output"])
def test_a_resume_takes_no_path_that_depends_on_where_one_stands(place, env, victim, column):
    by_copy(victim, place)
    project = place / "project"
    with sqlite3.connect(project / ".hotcell" / "ledger.db", timeout=10) as db:
        db.execute(f"update campaigns set {column} = '..'")
    assert hotcell("trust", project, env=env).code == 0
    assert "no whole paths" in refused(hotcell("campaign", "resume", cwd=project, env=env))


def test_words_that_cannot_be_resumed_are_not_trusted(place, env, victim):
    by_copy(victim, place)
    project = place / "project"
    with sqlite3.connect(project / ".hotcell" / "ledger.db", timeout=10) as db:
        db.execute("update campaigns set words = ?", (b"--no-such-option\0--\0true\0",))
    assert "no-such-option" in refused(hotcell("trust", project, env=env))


def test_a_folder_that_hotcell_cannot_record_is_not_left(place, env):
    (place / "file").write_text("")
    said = refused(hotcell("campaign", "run", "--runs", "1", "--", "true", cwd=place, env={**env, "XDG_STATE_HOME": f"{place}/file"}))
    assert "XDG_STATE_HOME" in said and not (place / ".hotcell").exists()


def test_there_may_be_nothing_to_trust_yet(place, env):
    """As in a workflow whose cache is empty the first time."""
    ran = hotcell("trust", place, env=env)
    assert ran.code == 0 and b"nothing to trust" in ran.err, ran


# ---- what lies in a project, and is not taken by being there ----


def test_a_project_is_not_taken_for_a_state_folder(place, env):
    """A project has a .gitignore, too, and may have examples, a corpus and a cache: it would be believed, and no cell could write to it."""
    for name in ("findings", "corpus", "cache", "fuzz", "src"):
        (place / "project" / name).mkdir(parents=True)
    (place / "project" / ".gitignore").write_text("*.o\n")
    ran = hotcell("trust", ".", cwd=place / "project", env=env)
    assert ran.code == 0 and b"nothing to trust" in ran.err and not ran.out, ran
    assert hotcell("trust", "--list", env=env).out == b""
    (place / "state" / "cache").mkdir(parents=True)
    assert hotcell("trust", place / "state", env=env).code == 0 and hotcell("trust", "--list", env=env).out != b""


def test_a_run_without_a_sandbox_goes_on_and_says_that_nothing_is_logged(place, env, victim):
    by_copy(victim, place)
    project = place / "project"
    log = (project / ".hotcell" / "audit.jsonl").read_bytes()
    ran = run("--no-sandbox", "--", "/bin/sh", "-c", "exit 3", json=False, cwd=project, env=env)
    assert ran.code == 3 and sum("no audit log is kept" in line and SAYS in line for line in ran.own) == 1, ran
    assert (project / ".hotcell" / "audit.jsonl").read_bytes() == log


FAKE_GO = """#!/bin/sh
echo overwritten >/cache/bin/gopls
echo go version go1.19.8 linux/amd64
"""
BRINGS_GO = """mkdir -p .hotcell/engines/go/bin
chmod 700 .hotcell
cp go.txt .hotcell/engines/go/bin/go
chmod 755 .hotcell/engines/go/bin/go
ln -s "$HOME" .hotcell/cache
"""


@pytest.mark.parametrize("how", ["a clone that is fuzzed", "a clone whose capsule is replayed", "a cell that could write here"])
def test_a_project_replaces_no_program_of_the_user_by_its_cache_and_its_engine(place, env, how):
    """The build's cell has the cache to write to, and it is $HOME/go behind a link: what runs there is the project's own compiler."""
    project, gopls = place / "project", place / "home" / "go" / "bin" / "gopls"
    project.mkdir()
    gopls.parent.mkdir(parents=True)
    gopls.write_text("mine")
    (project / "go.txt").write_text(FAKE_GO)
    (project / "go.mod").write_text("module m\n\ngo 1.19\n")
    (project / "t.go").write_text("package m\n\nfunc F(s string) int { return len(s) }\n")
    if how.startswith("a cell"):
        project.chmod(0o777)
        ran = run("--mount", f"{project}:/p:rw", "--env", f"HOME={place}/home", "--", "sh", "-ec", "cd /p\n" + BRINGS_GO, env=env)
        assert ran.code == 0, ran
    else:
        subprocess.run(["sh", "-ec", BRINGS_GO], cwd=project, env={**os.environ, "HOME": env["HOME"]}, check=True)
    words = ("fuzz", "function", "t.go:F", "--max-execs", "100", "--quiet")
    if how.endswith("replayed"):
        capsule = capsules.make("exception", "F", kind="function-go", command=["t.go:F"], flags=[], environment=[], input="YQ==", binary=True)
        del capsule["found"]
        (project / "c.json").write_text(json.dumps(capsule))
        words = ("repro", "c.json")
    ran = hotcell(*words, cwd=project, env=env, timeout=60)
    assert gopls.read_text() == "mine", ran
    assert SAYS in ran.err.decode(), ran


def test_a_cloned_project_gets_nothing_mounted_by_its_links(place, env):
    """Neither its cache, read-write, nor an engine or environment of its own."""
    project, secret = place / "project", place / "secret"
    (project / ".hotcell").mkdir(parents=True, mode=0o700)
    (secret / "bin").mkdir(parents=True)
    (secret / "bin" / "gopls").write_text("mine")
    (project / ".hotcell" / "cache").symlink_to(secret)
    (project / ".hotcell" / "engines").mkdir()
    for language in ("go", "python", "javascript"):
        (project / ".hotcell" / "engines" / language).symlink_to(secret)
    (project / "t.go").write_text("package main\nfunc F(s string) {}\nfunc main() {}\n")
    (project / "t.py").write_text("def f(x: str): pass\n")
    capsule = capsules.make("exception", "f", kind="function-python", command=["t.py:f"], flags=[], environment=[], input="YQ==", binary=True, found=None)
    (project / "capsule.json").write_text(json.dumps({key: value for key, value in capsule.items() if value is not None}))
    for verb in (("fuzz", "function", "t.go:F"), ("fuzz", "function", "t.py:f"), ("repro", "capsule.json"), ("corpus", "list")):
        assert SAYS in hotcell(*verb, cwd=project, env=env, timeout=60).err.decode(), verb
    assert (secret / "bin" / "gopls").read_text() == "mine" and [each.name for each in secret.iterdir()] == ["bin"]


SECRET = "a secret of mine"


@pytest.fixture
def private(place):
    """An environment of the user's that works, and has a file that nobody else may read."""
    folder = fuzzing.python_environment(place / "private")
    (folder / "token").write_text(SECRET)
    (folder / "token").chmod(0o600)
    return folder


def told_of(project, ran):
    """All that leaves by what was found."""
    exported = hotcell("findings", "export", "--format", "sarif", cwd=project)
    return ran.out + ran.err + exported.out + b"".join(each.read_bytes() for each in fuzzing.capsules(project))


@pytest.mark.parametrize("at", [".venv", ".hotcell/engines/python", ".hotcell/engines"])
def test_an_environment_of_a_project_that_is_a_link_shows_nothing_behind_it(place, env, private, at):
    project = place / "project"
    project.mkdir()
    (project / "t.py").write_text("def f(x: bytes): raise ValueError(open('/engine/token').read())\n")
    (project / at).parent.mkdir(parents=True, exist_ok=True)
    (project / at).symlink_to(private if at != ".hotcell/engines" else place / "engines")
    (place / "engines").mkdir()
    (place / "engines" / "python").symlink_to(private)
    if at != ".venv":
        (project / ".hotcell").chmod(0o700)
    ran = hotcell("fuzz", "function", "t.py:f", "--max-execs", "20", "--duration", "5s", "--no-coverage", cwd=project,
                  env={**env, "VIRTUAL_ENV": None}, timeout=100)
    assert SECRET.encode() not in told_of(project, ran), ran
    assert ran.code in (2, 3, 4), ran


def test_an_environment_or_engine_of_a_project_is_used_when_it_is_named(place, env):
    secret = place / "secret"
    (secret / "bin").mkdir(parents=True)
    (secret / "bin" / "python3").symlink_to("/usr/bin/python3")
    (secret / "token").write_text("a secret of mine")
    (place / ".venv").symlink_to(secret)
    (place / "t.py").write_text("import glob\ndef f(x: str):\n    for each in glob.glob('/**/token', recursive=True): raise ValueError(open(each).read())\n")
    (place / "schema.json").write_text('{"type": "array", "prefixItems": [{"type": "string"}]}')
    words = ("fuzz", "function", "t.py:f", "--schema", "schema.json", "--max-execs", "20", "--duration", "5s")
    ran = hotcell(*words, cwd=place, env={**env, "VIRTUAL_ENV": None}, timeout=100)
    assert b"--venv .venv" in ran.err and b"a secret of mine" not in ran.out + ran.err, ran
    (place / ".hotcell" / "engines").mkdir()
    (place / ".hotcell" / "engines" / "python").symlink_to(secret)
    ran = hotcell(*words, cwd=place, env={**env, "VIRTUAL_ENV": None}, timeout=100)
    assert b"--engine python=DIR" in ran.err and b"a secret of mine" not in ran.out + ran.err, ran


def test_a_capsule_has_no_project_mounted_that_is_above_this_folder(place, env):
    inner = place / "mine" / "clone"
    inner.mkdir(parents=True)
    (place / "mine" / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    (inner / "t.py").write_text("def f(x: str): pass\n")
    capsule = capsules.make("exception", "f", kind="function-python", command=["t.py:f"], flags=[], environment=[], input="YQ==", binary=True)
    del capsule["found"]
    (inner / "c.json").write_text(json.dumps(capsule))
    ran = hotcell("repro", "c.json", cwd=inner, env=env, timeout=60)
    assert b"mounted only '%s'" % os.fsencode(inner) in ran.err, ran


# ---- a ledger's journal, sessions of others, a sandbox that the environment takes away ----


def test_a_journal_beside_the_ledger_removes_nothing(place):
    """SQLite removes the file that a journal names as its super-journal."""
    assert hotcell("campaign", "run", "--runs", "1", "--quiet", "--", "true", cwd=place).code == 0
    victim = place / "precious"
    victim.write_text("kept")
    ledger = place / ".hotcell" / "ledger.db"
    with sqlite3.connect(ledger) as db:
        assert db.execute("pragma journal_mode = delete").fetchone() == ("delete",)
    db.close()
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    head = magic + struct.pack(">5I", 0, 0, ledger.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    (place / ".hotcell" / "ledger.db-journal").write_bytes(head.ljust(512, b"\0") + tail)
    for words in (["clean"], ["campaign", "run", "--runs", "1", "--", "true"], ["campaign", "list"], ["status"]):
        refused(hotcell(*words, cwd=place))
        assert victim.read_text() == "kept"


def test_a_ledger_that_is_swapped_while_it_is_opened_is_not_believed(place, env, victim):
    """As who owns the folder around it can: another user, where root works. SQLite opens by paths, so the file that was looked at and the
    one that was opened could be two."""
    project = place / "project"
    project.mkdir()
    assert campaign(project, "--runs", "1", "--name", "honest", "--", "/bin/true", env=env).code == 0
    shutil.copytree(victim / ".hotcell", project / "other")
    (project / "other").chmod(0o700)
    libc, over, exchange = ctypes.CDLL(None), threading.Event(), 2
    state, other = os.fsencode(project / ".hotcell"), os.fsencode(project / "other")

    def swap():
        while not over.is_set():
            libc.renameat2(-100, state, -100, other, exchange)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        told = [hotcell("campaign", "list", cwd=project, env=env) for _ in range(300)]
    finally:
        over.set()
        thread.join()
    assert not [ran for ran in told if b"night" in ran.out]
    assert [ran for ran in told if b"honest" in ran.out] and [ran for ran in told if ran.code == 2], "both were there to be met"


def test_the_ledger_never_has_a_journal(place):
    """Only so one that lies there is known to be another's."""
    libc = ctypes.CDLL(None, use_errno=True)
    (place / ".hotcell").mkdir(mode=0o700)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(watch, os.fsencode(place / ".hotcell"), 0x100) > 0  # IN_CREATE
    assert hotcell("campaign", "run", "--runs", "1", "--quiet", "--", "true", cwd=place).code == 0
    made = os.read(watch, 1 << 16)
    os.close(watch)
    assert b"ledger.db-wal" in made and b"-journal" not in made


def test_the_environment_takes_no_sandbox_from_a_capsule(place):
    capsule = capsules.make("canary", "t", kind="mcp", command=["sh", "-c", f"id >{place}/ran"], flags=[], environment=[])
    (place / "c.json").write_text(json.dumps(capsule))
    ran = hotcell("repro", "c.json", cwd=place, env={"FUZZING_DISABLE_SANDBOX": "true"}, timeout=60)
    assert ran.code == 2 and b"FUZZING_DISABLE_SANDBOX" in ran.err and not (place / "ran").exists(), ran


def test_sessions_are_nobody_elses_to_read(place):
    assert hotcell("campaign", "run", "--runs", "1", "--quiet", "--", "true", cwd=place).code == 0
    assert (place / "fuzz" / "runs").stat().st_mode & 0o077 == 0
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    ran = hotcell("campaign", "run", "--runs", "1", "--quiet", "--output", "open", "--", "true", cwd=place)
    assert ran.code == 2 and b"can be written by everybody" in ran.err, ran


# ---- what a cell that may write to a project can do to what is hidden there ----


def test_no_cell_writes_to_a_state_folder_that_is_mounted_itself(place):
    assert campaign(place, "--runs", "1", "--", "true").code == 0
    for source in (".hotcell", ".hotcell/campaigns", ".hotcell/ledger.db"):
        assert "where no cell may write" in refused(run("--mount", f"{place / source}:/w:rw", "--", "true", json=False))
        assert run("--mount", f"{place / source}:/w", "--", "true", json=False).code == 0


@pytest.mark.parametrize("state", ["var/st", "a/b/c/st"])
def test_nothing_on_the_way_to_a_state_folder_can_be_moved(place, state):
    (place / state).parent.mkdir(parents=True)
    assert campaign(place, "--runs", "1", "--state", state, "--", "true").code == 0
    top = state.split("/")[0]
    (place / top / "beside").write_text("mine")
    ran = run("--mount", f"{place}:/w:rw", "--", "sh", "-c", f"mv /w/{top} /w/moved; rm -rf /w/{top}/beside; echo new > /w/{top}/new; ls /w/{state}", json=False)
    assert (place / state / "ledger.db").is_file() and not (place / "moved").exists(), ran
    assert (place / top / "new").read_text() == "new\n" and not (place / top / "beside").exists(), "the rest of it is the cell's"
    assert b"ledger" not in ran.out


def test_a_tools_folder_with_a_secret_cannot_be_moved_out_of_the_lists_sight(place):
    for path in (".claude/.credentials.json", "config/gh/hosts.yml"):
        (place / path).parent.mkdir(parents=True)
        (place / path).write_text("secret")
    run("--mount", f"{place}:/w:rw", "--", "sh", "-c", "mv /w/.claude /w/c; mv /w/config/gh /w/config/g; mv /w/config /w/d", json=False)
    ran = run("--mount", f"{place}:/w:rw", "--", "sh", "-c", "grep -r secret /w; true", json=False)
    assert b"secret" not in ran.out, ran


FILES = [
    ("output: ../elsewhere", False),
    ("output: /tmp/elsewhere", False),
    ("output: .git/hooks2", False),
    ("output: link/new", False),
    ("output: results/night", True),
    ("mount: ['./.git:/g:rw']", False),
    ("mount: ['..:/h:rw']", False),
    ("mount: ['./src:/s:rw']", True),
    ("mount: ['..:/h']", False),
    ("mount: ['src:/s']", True),
    ("mount: ['.git/config:/g']", False),
    ("mount: ['src/deploy.key:/k']", False),
    ("mount: ['link/secret:/k']", False),
    ("stdin: ../secret", False),
    ("stdin: src/deploy.key", False),
    ("stdin: src/main", True),
    ("image: ..", False),
    ("image: host", True),
    ("prices: ../secret", False),
    ("network-replay: ..", False),
    ("pass-env: PATH", False),
    ("uid: 0", False),
    ("service: 'docker:80=unix:/run/docker.sock'", False),
    ("service: 'db:80=127.0.0.1:5432'", False),
    ("secret-door: 'x=https://example.org,header=x-key,env=PATH'", False),
    ("allow: ['host.example:80,private']", False),
    ("upstream-proxy: http://127.0.0.1:3128", False),
    ("profile: ./out.yaml@sha256:SUM", False),
    ("profile: ./in.yaml", True),
    ("profile: strict", True),
    ("profile: build", True),
    ("profile: ./tmp.yaml", False),
    ("tmp-exec: true", False),
    ("no-default-hide: true", False),
]


@pytest.mark.parametrize("line, taken", FILES)
def test_a_campaign_file_reaches_outside_of_cells_only_with_trust(place, line, taken):
    project = place / "project"
    for folder in (".git", "src"):
        (project / folder).mkdir(parents=True)
    for file in ("../secret", "src/deploy.key", "src/main"):
        (project / file).write_text("text\n")
    (project / "link").symlink_to(place)
    (project / "out.yaml").write_text("doors: {service: ['docker:80=unix:/run/docker.sock']}\n")
    (project / "in.yaml").write_text("limits: {memory: 64M}\n")
    (project / "tmp.yaml").write_text("tmp-exec: true\n")
    line = line.replace("SUM", hashlib.sha256((project / "out.yaml").read_bytes()).hexdigest())
    (project / "c.yaml").write_text(f"runs: 1\n{line}\ncommand: ['true']\n")
    ran = campaign(project, "c.yaml", "--quiet", verb="run")
    if taken:
        assert ran.code == 0, ran
    else:
        assert "--trust" in refused(ran)
        assert sorted(each.name for each in place.iterdir()) == ["project", "secret"] and not list((project / ".git").iterdir())


def test_a_campaign_file_gets_nothing_of_the_home_that_it_is_named_in(place, env):
    """Whoever stands in a home is in no project: all of it would else be at or below the current folder."""
    home = place / "home"
    (home / "notes").mkdir()
    for line in ("mount: ['.:/h:rw']", "mount: ['notes:/n']", "mount: ['notes:/n:rw']"):
        (home / "c.yaml").write_text(f"runs: 1\n{line}\ncommand: ['true']\n")
        assert "--trust" in refused(campaign(home, "c.yaml", "--quiet", env=env))


def test_with_trust_a_campaign_file_is_taken_whole(place):
    project = place / "project"
    project.mkdir()
    (place / "data").write_text("it is read")
    (project / "c.yaml").write_text("runs: 1\nstdin: ../data\ncommand: ['cat']\n")
    ran = campaign(project, "c.yaml", "--trust", verb="run")
    assert ran.code == 0 and b"gives its cells access to: stdin=../data" in ran.err, ran
    assert (project / "fuzz" / "runs" / "001" / "stdout.log").read_text() == "it is read"


def test_what_a_campaign_file_opens_is_said_even_quietly(place):
    (place / "c.yaml").write_text("runs: 1\nallow: [example.org]\nresolver: 127.0.0.1:53\ncommand: ['true']\n")
    ran = campaign(place, "c.yaml", "--quiet")
    assert ran.code == 0 and b"gives its cells access to: allow=example.org, resolver=" in ran.err, ran


def test_a_link_of_a_project_chooses_no_folder_that_is_read(place):
    private, project = place / "private", place / "project"
    for folder in (private, project):
        folder.mkdir()
    (private / "seed").write_text("secret")
    (project / "t.py").write_text("def f(x: str): pass\n")
    for name in ("seeds", "..data"):
        (project / name).symlink_to(private)
        for option in ("--seed-corpus", "--venv"):
            said = refused(hotcell("fuzz", "function", "t.py:f", option, name, cwd=project))
            assert "leads out of this folder" in said and str(private) in said


def test_a_link_of_a_project_chooses_no_other_project_to_be_fuzzed(place):
    """Cells would be shown the folder that it leads to."""
    private, project = place / "private", place / "project"
    for folder in (private, project):
        folder.mkdir()
    (private / "t.py").write_text("def f(x: str): pass\n")
    (project / "t.py").symlink_to(private / "t.py")
    for name in ("lib", "..lib", "..."):
        (project / name).symlink_to(private)
    for target in ("t.py:f", "lib/t.py:f", "./lib/t.py:f", "..lib/t.py:f", "./..lib/t.py:f", ".../t.py:f"):
        said = refused(hotcell("fuzz", "function", target, cwd=project))
        assert "leads out of this folder" in said and str(private / "t.py") in said

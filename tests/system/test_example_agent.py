"""examples/agent-fuzz does what its README says: an agent's sessions over a checkout that they can read and not
change, without its history and secrets, and without git."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from campaigns import campaign, prove_accounting, sessions
from harness import ROOT, marker

FILE = "examples/agent-fuzz/campaign.yaml"
RUNS = 10
SEED = "3" # with which some of these find a bug and some do not


@pytest.fixture
def secret():
    return marker()


@pytest.fixture
def checkout(place, secret):
    """A checkout with the example, a history, secrets, and a git of its own."""
    shutil.copytree(ROOT / "examples", place / "examples")
    for name, text in (
        (".git/config", f"token = {secret}\n"),
        (".env", f"TOKEN={secret}\n"),
        ("sub/.env.local", f"TOKEN={secret}\n"),
        ("tools/git", "#!/bin/sh\necho a git of the project\n"),
        ("README", "may be read\n"),
    ):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    (place / "tools/git").chmod(0o755)
    return place


def contents(checkout):
    """Everything in it but what a campaign makes."""
    found = {}
    for folder, folders, files in os.walk(checkout):
        if folder == str(checkout):
            folders[:] = [name for name in folders if name not in ("fuzz", ".hotcell")]
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            data = open(path, "rb").read() if name in files else b""
            found[path] = (status.st_mode, status.st_uid, status.st_mtime_ns, data)
    return found


def test_some_sessions_find_a_planted_bug_and_every_one_is_accounted_for(checkout):
    before = contents(checkout)
    ran = campaign(checkout, FILE, "--runs", str(RUNS), "--seed", SEED)
    assert ran.code == 1, ran
    marked = prove_accounting(checkout, "c1", RUNS)
    assert set(marked.values()) == {"SUCCESS", "ERROR"}
    for number, folder in sessions(checkout).items():
        notes = (folder / "notes.txt").read_text()
        result = json.loads((folder / "result.json").read_text())
        assert f"seed: {result['seed']}\n" in notes and "git cannot be run: " in notes, notes
        assert ("BUG: " in notes) == (marked[number] == "ERROR"), notes
        # what was found in the cell is so outside of it
        tally = subprocess.run([sys.executable, checkout / "examples/agent-fuzz/tally.py", folder / "program.txt"],
                               capture_output=True, text=True)
        assert ("Traceback" in tally.stderr) == (marked[number] == "ERROR"), tally
    assert contents(checkout) == before


def test_the_same_seed_finds_the_same(checkout):
    for name in ("one", "two"):
        assert campaign(checkout, FILE, "--runs", "3", "--seed", "8", "--name", name, "--output", f"runs-{name}").code in (0, 1)
    for number in ("001", "002", "003"):
        programs = [(checkout / f"runs-{name}" / number / "program.txt").read_text() for name in ("one", "two")]
        assert programs[0] == programs[1]


def test_a_session_sees_the_project_without_history_secrets_and_other_sessions(checkout, secret):
    before = contents(checkout)
    look = """cat /project/README; cat >prompt; cd /project
        find / -name .git -o -name '.env*' -o -name .hotcell -o -path '*/fuzz/runs*' 2>/dev/null
        grep -r "$0" / --exclude-dir=proc --exclude-dir=usr 2>/dev/null | grep -v ^/proc
        touch new README examples/agent-fuzz/tally.py; rm -rf README examples; echo "$GIT_TERMINAL_PROMPT"
        true"""
    ran = campaign(checkout, FILE, "--runs", "2", "--", "/bin/sh", "-c", look, secret[:-4] + "." * 4)
    assert ran.code == 0, ran
    for folder in sessions(checkout).values():
        assert (folder / "stdout.log").read_text() == "may be read\n0\n"
        assert (folder / "prompt").read_bytes() == (checkout / "examples/agent-fuzz/prompt.md").read_bytes()
    assert contents(checkout) == before


def test_git_cannot_be_run_in_any_way(checkout):
    assert shutil.which("git"), "without git on this machine nothing is proven here"
    tries = """for git in git /usr/bin/git /bin/git /usr/lib/git-core/git /project/tools/git; do
            $git --version && echo "ran $git"
            cp "$(command -v $git || echo $git)" copy && ./copy --version && echo "ran a copy of $git"
            rm -f copy
        done 2>&1 | grep ran
        cd /project && git status
        echo "status $?" """
    ran = campaign(checkout, FILE, "--runs", "1", "--", "/bin/sh", "-c", tries)
    assert ran.code == 0, ran
    said = (checkout / "fuzz/runs/001/stdout.log").read_text()
    assert said in ("status 126\n", "status 127\n"), said

"""How the tests look at a campaign from outside: its ledger, its folders, its supervisors."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import harness

MARKERS = {"success": "SUCCESS", "error": "ERROR", "timeout": "TIMEOUT"}


def ledger_rows(project, query, *args):
    """What the ledger says, read as anybody could."""
    path = Path(project) / ".hotcell" / "ledger.db"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query, args)]


def campaign(project, *args, verb="run", timeout=60, **more):
    return harness.hotcell("campaign", verb, *args, cwd=project, timeout=timeout, **more)


def status(project, name):
    ran = harness.hotcell("status", name, "--json", cwd=project)
    assert ran.code == 0, ran
    return json.loads(ran.out)


def sessions(project, output="fuzz/runs"):
    """{number: folder}, of folders with a session's name."""
    folder = Path(project) / output
    return {int(each.name): each for each in folder.iterdir() if re.fullmatch(r"\d+", each.name)}


def markers(folder):
    return [name for name in MARKERS.values() if (folder / name).exists()]


def prove_accounting(project, name, runs, output="fuzz/runs", digits=3):
    """Exactly once, from the ledger and from the folders. Returns {number: marker}."""
    [row] = ledger_rows(project, "select * from campaigns where name = ?", name)
    rows = ledger_rows(project, "select * from runs where campaign = ? order by number", row["id"])
    assert [each["number"] for each in rows] == list(range(1, runs + 1))
    found = sessions(project, output)
    assert sorted(found) == list(range(1, runs + 1))
    assert all(len(folder.name) == digits for folder in found.values())
    marked = {}
    for number, folder in found.items():
        [marked[number]] = markers(folder)
        result = json.loads((folder / "result.json").read_text())
        assert result["run"] == number and result["campaign"] == name
        assert MARKERS[result["state"]] == marked[number]
    shown = status(project, name)
    counted = {"SUCCESS": 0, "ERROR": 0, "TIMEOUT": 0}
    for marker in marked.values():
        counted[marker] += 1
    sums = {MARKERS[state]: count for state, count in shown["sums"]["states"].items() if state in MARKERS}
    assert sums == counted, (sums, counted)
    return marked


class Supervisor:
    """A `hotcell campaign run|resume` in the background, plain lines to a file."""

    def __init__(self, project, *args, verb="run", env=None):
        self.project = Path(project)
        self.log = open(self.project / "supervisor.log", "ab")
        self.process = subprocess.Popen(
            [harness.HOTCELL, "campaign", verb, *map(os.fspath, args)],
            cwd=project, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            env=harness.environment(env), start_new_session=True,
        )

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return (self.project / "supervisor.log").read_text(errors="replace")

    def wait_for(self, pattern, seconds=20):
        harness.eventually(lambda: re.search(pattern, self.text()) or self.process.poll() is not None, seconds)
        assert re.search(pattern, self.text()), self.text()[-3000:]

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def finish(self, timeout=60):
        return self.process.wait(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        harness.hotcell("ps") # which sweeps away the control socket of one that was killed

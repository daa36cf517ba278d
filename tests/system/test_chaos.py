"""Everything of a campaign is killed at random instants, over and over; in the end every run is accounted
for exactly once, in the ledger and in the folders."""

import os
import random
import signal
import time

from campaigns import Supervisor, ledger_rows, prove_accounting, sessions
from harness import IS_ROOT, LONG, PRETEND, descendants, hotcell, stat_of

KILLS, RUNS = (200, 400) if LONG or (IS_ROOT and not PRETEND) else (40, 100)
PER_MINUTE = 720 # so that the campaign outlasts the killing
TARGET = r"""
echo "run $HOTCELL_RUN seed $HOTCELL_SEED"
echo "$HOTCELL_SEED" > seed.txt
if [ $((HOTCELL_RUN % 9)) = 0 ]; then exit 3; fi
if [ $((HOTCELL_RUN % 4)) = 0 ]; then sleep 0.15; fi
"""


def is_target(pid, stats):
    """It has the name of the stall, as init has, until its exec."""
    line = []
    while stats.get(pid):
        line.append(stats[pid][0])
        pid = stats[pid][2]
    return line[:3] == ["hotcell-stall"] * 3


def victims(supervisor, chance):
    """The supervisor, or one of what makes and keeps its cells, at random. Not the target: whoever kills that
    has changed what it comes to."""
    if chance.random() < 0.4:
        return [supervisor.pid]
    stats = {pid: stat_of(pid) for pid in descendants(supervisor.pid)}
    ours = [pid for pid, stat in stats.items() if stat and stat[0].startswith("hotcell") and not is_target(pid, stats)]
    return [chance.choice(ours)] if ours else []


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return 1
    except (ProcessLookupError, PermissionError):
        return 0


def test_killed_at_random_every_run_is_counted_once(place):
    chance = random.Random(20)
    first = ["--name", "chaos", "--runs", RUNS, "--workers", 4, "--timeout", "20s", "--seed", 5, "--plain",
             "--rate", PER_MINUTE,
             "--", "/bin/bash", "-c", TARGET]
    killed = lives = 0
    while killed < KILLS:
        begun = (place / ".hotcell" / "ledger.db").exists() and ledger_rows(place, "select 1 from campaigns")
        args, verb = (["chaos", "--plain"], "resume") if begun else (list(map(str, first)), "run")
        with Supervisor(place, *args, verb=verb) as supervisor:
            lives += 1
            while supervisor.process.poll() is None and killed < KILLS:
                time.sleep(chance.random() ** 2 * 0.3)
                for pid in victims(supervisor, chance):
                    killed += kill(pid)
        assert killed >= KILLS or supervisor.process.returncode == -signal.SIGKILL, supervisor.text()[-3000:]
    log = (place / "supervisor.log").read_text()
    with Supervisor(place, "chaos", "--plain", verb="resume") as last:
        code = last.finish(120)
    assert code in (1, 4), last.text()[-3000:] # 4: so many lost cells are worth an alert
    marked = prove_accounting(place, "chaos", RUNS)
    for number, folder in sessions(place).items():
        assert marked[number] == ("ERROR" if number % 9 == 0 else "SUCCESS"), (
            number, (folder / marked[number]).read_text(), (folder / "result.json").read_text()[:400],
            ledger_rows(place, "select * from events where run = ?", number))
        seed = (folder / "seed.txt").read_text().strip()
        assert f"run {number} seed {seed}\n" == (folder / "stdout.log").read_text()
    verified = hotcell("audit", "verify", cwd=place)
    assert verified.code == 0, verified
    assert lives > KILLS / 10, log[-2000:] # two of five kills hit the supervisor

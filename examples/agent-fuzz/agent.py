#!/usr/bin/python3
"""A stand-in for a coding agent: it reads a prompt on stdin, looks around, writes a program for tally into
its workspace, tries it, and says what it found. Ends with 1 if it has found a bug.

What it does depends on the prompt and on HOTCELL_SEED only, so the same session can be had again."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

TALLY = Path(__file__).resolve().with_name("tally.py")
WORKSPACE = Path("/workspace")


# ---- ideas: each makes the lines of one program ----


def expression(chance, depth=3):
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(["0", "1", "2", "7", "10", "007", str(2**63), "x"])
    shape = chance.choice(["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "({})", "-{}"])
    return shape.format(*[expression(chance, depth - 1) for _ in range(shape.count("{}"))])


def numbers(chance):
    big = str(10 ** chance.randrange(1, 400))
    return [f"let x = {big}", f"print x * {big}", f"print {expression(chance)}"]


def operators(chance):
    return ["let x = 3"] + [f"print {expression(chance)}" for _ in range(chance.randrange(1, 4))]


def nesting(chance):
    depth = 2 ** chance.randrange(1, 10)
    return [f"print {'(' * depth}1{')' * depth}"]


def endings(chance):
    line = f"let x = {expression(chance, 2)}"
    return ["# what comes next may be cut off", line, "", line[: chance.randrange(4, len(line) + 1)]]


def names(chance):
    some = ["x", "_", "let", "print", "x" * 200, "y"]
    return [f"let {chance.choice(some)} = {chance.choice(some[:1] + ['1', '2'])}" for _ in range(4)]


IDEAS = {"numbers": numbers, "operators": operators, "nesting": nesting, "endings": endings, "names": names}


# ---- the session ----


def ideas_in(prompt):
    """The prompt's list: "- nesting: ..." asks for that."""
    asked = re.findall(r"^- (\w+):", prompt, re.M)
    return [word for word in asked if word in IDEAS] or sorted(IDEAS)


def try_git():
    """As agents do: to see what was changed lately. Whether it can is up to the cell."""
    try:
        ran = subprocess.run(["git", "-C", TALLY.parent, "log", "-1"], capture_output=True, text=True, timeout=10)
    except OSError as error:
        return f"git cannot be run: {error.strerror}"
    return "git showed the history" if ran.returncode == 0 else f"git failed: {ran.stderr.strip()}"


def try_program(path):
    """The verdict in one line, and whether it is a bug."""
    try:
        ran = subprocess.run([sys.executable, TALLY, path], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "BUG: tally hangs", True
    last = (ran.stderr.strip().splitlines() or [""])[-1]
    if ran.returncode == 0:
        return "fine: it ran", False
    if ran.returncode == 2 and last.startswith("tally: "):
        return f"fine: refused, {last}", False
    return f"BUG: exit {ran.returncode}, {last[:200]}", True


def main():
    prompt = sys.stdin.read()
    seed = int(os.environ.get("HOTCELL_SEED", "1"))
    if not prompt.strip():
        print("agent: there is no prompt on stdin", file=sys.stderr)
        return 2
    chance = random.Random(seed)
    idea = chance.choice(ideas_in(prompt))
    program = WORKSPACE / "program.txt"
    program.write_text("\n".join(IDEAS[idea](chance)) + "\n")
    verdict, bug = try_program(program)
    notes = [f"idea: {idea}", f"seed: {seed}", try_git(), verdict]
    (WORKSPACE / "notes.txt").write_text("\n".join(notes) + "\n")
    print("\n".join(notes))
    if bug:
        print(f"{verdict}; the program is in program.txt", file=sys.stderr)
    return 1 if bug else 0


if __name__ == "__main__":
    sys.exit(main())

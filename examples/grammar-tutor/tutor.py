#!/usr/bin/env python3
"""A grammar tutor: one JSON document a line in, one a line out. It is wrong on purpose: README.md says where.

Nothing here is to be copied into a program that anybody relies on."""

import json
import os
import re
import subprocess
import sys

KNOWLEDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "kb", "grammar-rules")
IRREGULAR = {
    "be": ("was", "been"),
    "go": ("went", "gone"),
    "have": ("had", "had"),
    "write": ("wrote", "written"),
}
# Planted: for a text of small letters alone the number of ways to try doubles with each of them.
SEPARABLE = re.compile(r"^([a-z]+)+-off$")
HISTORY = []


class Rejected(Exception):
    """Input that the tutor does not take, with a sentence that says why."""


def conjugate(verb, tense, person="3sg"):
    verb = verb.strip().lower()
    # Planted: nothing may be left after strip().
    last = verb[-1]
    if SEPARABLE.match(verb):
        verb = verb.removesuffix("-off")
    if " " in verb:
        return None  # planted: phrasal verbs are not known, and the schema promises a text
    past, participle = IRREGULAR.get(verb, (verb + ("d" if last == "e" else "ed"),) * 2)
    if tense == "future_going_to":
        # Planted: every answer is kept, and nothing ever forgets one.
        HISTORY.append((verb + " ") * (400_000 // (len(verb) + 1)))
        return {"1sg": "am", "2sg": "are"}.get(person, "is") + f" going to {verb}"
    return {
        "infinitive": f"to {verb}",
        "present_simple": verb + ("s" if person not in ("1sg", "2sg") else ""),  # planted: any person is a third one
        "past_simple": past,
        "past_participle": participle,
        "future_will": f"will {verb}",
    }[tense]


def quote_rule(name):
    # Planted: nobody looks where the name leads.
    path = os.path.join(KNOWLEDGE, name)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(20_000)
    except (OSError, ValueError) as error:
        raise Rejected(f"no such rule: {error}") from None  # planted: the error names a path of this machine


def pronounce(text, voice):
    # Planted: the voice is part of a shell's command line.
    done = subprocess.run(
        f"echo {voice}: | head -c 200", shell=True, capture_output=True, timeout=3, check=False, errors="replace"
    )
    return done.stdout.strip() + " " + text


def answer(call):
    verb, tense = call.get("verb"), call.get("tense")
    if not isinstance(verb, str) or not 1 <= len(verb) <= 50:
        raise Rejected("'verb' is a text of 1 to 50 characters")
    if tense not in ("infinitive", "present_simple", "past_simple", "past_participle", "future_will", "future_going_to"):
        raise Rejected("'tense' is one of the six that the schema names")
    for name in ("rule", "voice"):
        if not isinstance(call.get(name, ""), str):
            raise Rejected(f"'{name}' is a text")
    said = {"status": "ok", "form": conjugate(verb, tense, call.get("person"))}
    if call.get("rule"):
        said["rule"] = quote_rule(call["rule"])
    if call.get("voice"):
        said["sound"] = pronounce(str(said["form"]), call["voice"])
    return said


def main():
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Rejected as no:
            said = {"status": "rejected", "reason": str(no)}
        except Exception as error:  # planted: what nobody thought of is told as it is
            said = {"status": "error", "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A grammar tutor: one JSON document a line in, one a line out. It is wrong on purpose: README.md says where.

Nothing here is to be copied into a program that anybody relies on."""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWLEDGE = os.path.join(HERE, "data", "kb", "grammar-rules")
with open(os.path.join(HERE, "schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)
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


def check(arguments, schema):
    """Whether they fit, as far as anybody here looks. Planted: nobody looks at 'person'."""
    if not isinstance(arguments, dict) or not set(schema["required"]) <= set(arguments) <= set(schema["properties"]):
        raise Rejected("the arguments are " + ", ".join(schema["properties"]))
    for name, value in arguments.items():
        rule = schema["properties"][name]
        if rule.get("type") == "string":
            check_text(name, value, rule)
        elif rule.get("type") == "integer" and (type(value) is not int or not rule["minimum"] <= value <= rule["maximum"]):
            raise Rejected(f"'{name}' is a number from {rule['minimum']} to {rule['maximum']}")
        elif "enum" in rule and name != "person" and value not in rule["enum"]:
            raise Rejected(f"'{name}' is one of " + ", ".join(rule["enum"]))


def check_text(name, value, rule):
    if not isinstance(value, str) or not rule.get("minLength", 0) <= len(value) <= rule["maxLength"]:
        raise Rejected(f"'{name}' is a text of {rule.get('minLength', 0)} to {rule['maxLength']} characters")
    if any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in value):
        raise Rejected(f"'{name}' holds what is no character")


def conjugate(verb, tense, person):
    verb = verb.strip().lower()
    last = verb[-1]  # planted: nothing may be left after strip()
    if SEPARABLE.match(verb):
        verb = verb.removesuffix("-off")
    if " " in verb:
        return None  # planted: phrasal verbs are not known, and the schema promises a text
    past, participle = IRREGULAR.get(verb, (verb + ("d" if last == "e" else "ed"),) * 2)
    if tense == "future_going_to":
        # Planted: room for every way to leave letters out, and nothing ever forgets it.
        HISTORY.append(b"." * 2 ** min(len(verb) + 8, 30))
        return {"1sg": "am", "2sg": "are"}.get(str(person), "is") + f" going to {verb}"
    return {
        "infinitive": f"to {verb}",
        "present_simple": verb + ("" if person in ("1sg", "2sg") else "s"),
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
    except OSError as error:
        raise Rejected(f"no such rule: {error}") from None  # planted: the error names a path of this machine


def pronounce(text, voice):
    # Planted: the voice is part of a shell's command line.
    done = subprocess.run(
        f"echo {voice}:", shell=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=3, check=False, errors="replace"
    )
    return done.stdout[:200].strip() + " " + text


def answer(call):
    check(call, SCHEMA)
    said = {"status": "ok", "form": conjugate(call["verb"], call["tense"], call["person"])}
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

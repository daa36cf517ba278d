#!/usr/bin/env python3
"""The grammar tutor as a Model Context Protocol server on stdin and stdout, with nothing but Python. As wrong as tutor.py, and
with one fault more: a lesson that is finished twice."""

import json
import sys
import traceback

import tutor

TENSES = ["infinitive", "present_simple", "past_simple", "past_participle", "future_will", "future_going_to"]
LESSONS = {}


def text(longest, about):
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": about}


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def conjugate(verb, tense, person):
    return {"form": tutor.conjugate(verb, tense, person)}


def grammar_rule(rule):
    return {"rule": tutor.quote_rule(rule)}


def pronounce(word, voice):
    return {"sound": tutor.pronounce(word, voice)}


def start_lesson(topic):
    lesson = f"lesson-{len(LESSONS) + 1}"
    LESSONS[lesson] = {"topic": topic, "score": None}
    return {"lesson": lesson}


def finish_lesson(lesson, score):
    if lesson not in LESSONS:
        raise tutor.Rejected("there is no such lesson")
    # Planted: the second time there is nothing left to finish.
    topic = LESSONS[lesson].pop("topic")
    return {"lesson": lesson, "summary": f"{topic}: {score} of 100"}


TOOLS = {
    "conjugate": (
        conjugate,
        schema(verb=text(50, "an English verb"), tense={"enum": TENSES}, person={"enum": ["1sg", "2sg", "3sg"]}),
        schema(form={"type": "string", "minLength": 1}),
    ),
    "grammar_rule": (grammar_rule, schema(rule=text(200, "file name of a grammar rule")), schema(rule={"type": "string"})),
    "pronounce": (
        pronounce,
        schema(word=text(50, "what to say"), voice=text(100, "voice to say it with")),
        schema(sound={"type": "string"}),
    ),
    "start_lesson": (start_lesson, schema(topic=text(40, "what it is about")), schema(lesson={"type": "string"})),
    "finish_lesson": (
        finish_lesson,
        schema(lesson=text(40, "id of a lesson, as start_lesson gave it"), score={"type": "integer", "minimum": 0, "maximum": 100}),
        schema(lesson={"type": "string"}, summary={"type": "string"}),
    ),
}


def call(params):
    function, declared, _ = TOOLS[params["name"]]
    arguments = params.get("arguments")
    try:
        tutor.check(arguments, declared)
        said = function(**arguments)
    except tutor.Rejected as no:
        return {"isError": True, "content": [{"type": "text", "text": str(no)}]}
    except Exception:  # planted: the whole stack goes to the caller
        return {"isError": True, "content": [{"type": "text", "text": traceback.format_exc()}]}
    return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "grammar-tutor", "version": "1.0"},
        }
    if method == "tools/list":
        return {
            "tools": [
                {"name": name, "description": name.replace("_", " "), "inputSchema": takes, "outputSchema": gives}
                for name, (_, takes, gives) in TOOLS.items()
            ]
        }
    if method == "tools/call" and params.get("name") in TOOLS:
        return call(params)
    if method == "ping":
        return {}
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method or tool"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()

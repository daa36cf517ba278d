"""An MCP server with one fault a tool: each is what one oracle is there for."""

import json
import os
import random
import socket
import subprocess
import sys
import time


class Rejected(Exception):
    pass


def text(name="text", **more):
    return {"type": "object", "properties": {name: {"type": "string", **more}}, "required": [name], "additionalProperties": False}


def number(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}


def read_file(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return {"said": file.read(5000)}
    except (OSError, ValueError):
        raise Rejected("there is no such file") from None


def secret(text):
    return {"said": json.dumps(dict(os.environ))}


def command(program):
    done = subprocess.run("echo " + program, shell=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=2, check=False)
    return {"said": str(done.returncode)}


def spawn(text):
    subprocess.run(["true"], check=False)
    return {"said": "fine"}


def write(text):
    try:
        with open("/var/lib/tally.txt", "w", encoding="utf-8") as file:
            file.write("1")
    except OSError:
        pass
    return {"said": "fine"}


def network(text):
    with socket.socket() as made:
        made.setblocking(False)
        made.connect_ex(("192.0.2.1", 80))
    return {"said": "fine"}


def crash(text):
    os.kill(os.getpid(), 11)


def hang(text):
    time.sleep(100)


def memory(text):
    return {"said": str(len(b"x" * (256 << 20)))}


def exception(text):
    return {"said": {}[text]}


def trace(text):
    raise Rejected("cannot read /home/app/src/tally/store.py: not ready")


def output(text):
    return {"count": "three"}


def protocol(text):
    os.write(1, b'{"jsonrpc": "2.0", "id": "what?", "result": {}}\n')


def accepted(text):
    return {"said": "fine"}  # of any kind


def refused(text):
    if len(text) > 2:
        raise Rejected("that is too long")
    return {"said": "fine"}


def unstable(text):
    return {"said": random.choice(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])}


def fine(text):
    return {"said": "fine"}


TOOLS = {
    "read_file": (read_file, text("path"), text("said")),
    "command": (command, text("program"), None),
    "output": (output, text(), number("count")),
    **{
        each.__name__: (each, text(), None)
        for each in (secret, spawn, write, network, crash, hang, memory, exception, trace, protocol, accepted, refused, unstable, fine)
    },
}


def call(params):
    function, schema, _ = TOOLS[params["name"]]
    arguments = params["arguments"]
    names = schema["required"]
    try:
        fits = isinstance(arguments, dict) and set(arguments) == set(names)
        if not fits or not (function is accepted or isinstance(arguments[names[0]], str)):
            raise Rejected("the argument is one text: " + names[0])
        said = function(**arguments)
    except Rejected as no:
        return {"isError": True, "content": [{"type": "text", "text": str(no)}]}
    except Exception as error:
        return {"isError": True, "content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}]}
    return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}


def answer(method, params):
    if method == "initialize":
        info = {"name": "faulty", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        tools = []
        for name, (_, takes, gives) in TOOLS.items():
            tools.append({"name": name, "inputSchema": takes, **({"outputSchema": gives} if gives else {})})
        return {"tools": tools}
    return call(params) if method == "tools/call" else None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)

"""Calls at the doors of its cell, for the scripts of tests. It tells what it was told; the verdict is the
observer's on the host."""

import errno
import json
import os
import select
import socket
import ssl
import sys
import threading
import time

PROXY = ("127.0.0.1", 3128)


def name_of(error):
    """ECONNREFUSED, say."""
    return errno.errorcode.get(getattr(error, "errno", None), type(error).__name__)


def call(at=PROXY, timeout=40):
    family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.settimeout(timeout)
    made.connect(at)
    return made


def rest(connection):
    """All that comes until the end."""
    got = b""
    try:
        while more := connection.recv(65536):
            got += more
    except OSError as error:
        got += b"!" + name_of(error).encode()
    return got


def ask(data, at=PROXY):
    """What is answered to these bytes, until the end."""
    try:
        with call(at) as connection:
            connection.sendall(data)
            return rest(connection)
    except OSError as error:
        return b"!" + name_of(error).encode()


def status(answer):
    """The number of an HTTP answer; other than that, the answer."""
    words = answer.split(b" ", 2)
    return int(words[1]) if words[0].startswith(b"HTTP/1.") and len(words) > 2 else answer.decode("latin-1")


def connect_request(target):
    target = target if isinstance(target, bytes) else target.encode()
    return b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n"


def get_request(url, host=None):
    host = host or url.split("/")[2]
    return f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def tunnel(target):
    """The status and the connection."""
    connection = call()
    connection.sendall(connect_request(target))
    answer = b""
    while not answer.endswith(b"\r\n\r\n") and (byte := connection.recv(1)):
        answer += byte
    return status(answer), connection


def through(target, data):
    """The status of a tunnel, and what is answered in it to these bytes, until the end."""
    code, connection = tunnel(target)
    with connection:
        if code == 200:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        return code, rest(connection).decode("latin-1")


def codes(requests):
    """The status of each."""
    return [status(ask(bytes.fromhex(each))) for each in requests]


# The script and its test tell each other by files how far they are.
def signal(name):
    open("/signals/" + name, "w").close()


def wait_for(name):
    while not os.path.exists("/signals/" + name):
        time.sleep(0.02)


def bind(address, *options):
    """Takes a place; "bound", or why not."""
    with socket.socket() as made:
        try:
            for option in options:
                made.setsockopt(socket.SOL_SOCKET, option, 1)
            made.bind(address)
            made.listen()
            return "bound"
        except OSError as error:
            return name_of(error)


def tell(what):
    print(json.dumps(what), flush=True)


with open("/given/given.json") as given_file:
    given = json.load(given_file)

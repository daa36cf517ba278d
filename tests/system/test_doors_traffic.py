"""Doors as somebody hostile uses them, from inside a cell: what is said at the proxy and in its tunnels."""

import socket

import doors
import pytest
from doors import (
    PUBLIC,
    Far,
    Names,
    client_hello,
    codes,
    connect,
    echo,
    extension,
    get,
    greet,
    record,
    server_name,
    swallow,
    web,
)
from harness import eventually

# ---- what is said in a tunnel ----

GOOD_NAME = server_name(b"good.test")
GOOD_HELLO = client_hello(GOOD_NAME)
MUTE = extension(0x002B, b"\x02\x03\x04")  # some other extension
BAD_HELLOS = {
    "no server name": client_hello(MUTE),
    "from before extensions": client_hello(),
    "another name": client_hello(server_name(b"evil.test")),
    "a name below": client_hello(server_name(b"a.good.test")),
    "an address": client_hello(server_name(b"127.0.0.1")),
    "a NUL in the name": client_hello(server_name(b"good.test\0")),
    "two names in the list": client_hello(server_name(b"good.test", b"evil.test")),
    "the same name twice": client_hello(server_name(b"good.test", b"good.test")),
    "the extension twice": client_hello(GOOD_NAME, server_name(b"evil.test")),
    "the extension twice, evil first": client_hello(server_name(b"evil.test"), GOOD_NAME),
    "a name of another kind": client_hello(server_name(b"good.test", kind=1)),
    "an empty list": client_hello(extension(0, b"\0\0")),
    "an empty name": client_hello(server_name(b"")),
    "encrypted client hello": client_hello(GOOD_NAME, extension(0xFE0D, b"\0" * 40)),
    "a draft of it": client_hello(GOOD_NAME, extension(0xFE0A, b"\0" * 40)),
    "encrypted server name": client_hello(GOOD_NAME, extension(0xFFCE, b"\0" * 40)),
    "another extension twice": client_hello(GOOD_NAME, MUTE, MUTE),
    "a list that is longer than it says": client_hello(GOOD_NAME + b"\0"),
    "a second message in the record": record(GOOD_HELLO[5:] + GOOD_HELLO[5:]),
    "a server's hello": client_hello(GOOD_NAME, message=2),
    "an alert in between": GOOD_HELLO[:3] + b"\0\4" + GOOD_HELLO[5:9] + record(b"\1\0", 21) + record(GOOD_HELLO[9:]),
    "an empty record": record(b"") + GOOD_HELLO,
    "a record that never ends": b"\x16\3\1\xff\xff" + GOOD_HELLO[5:],
    "SSL 2": b"\x80\x2e\1\3\1" + bytes(43),
}
NOT_TLS = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "SSH": b"SSH-2.0-x\r\n",
    "another CONNECT": b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "nothing of the kind": bytes(range(256)),
    "a record of data": record(b"x" * 99, 23),
}
TUNNELS = """
results = {}
for name, port, data in given:
    code, connection = tunnel(f"good.test:{port}")
    with connection:
        connection.sendall(bytes.fromhex(data))
        connection.shutdown(socket.SHUT_WR)
        results[f"{name} {port}"] = [code, rest(connection).decode("latin-1")]
tell(results)
"""


def test_tls_in_a_tunnel_wants_the_name_of_the_tunnel_and_shows_it(net, place):
    """Also on other ports than 443, where other things than TLS pass."""
    given = [
        (name, port, hello.hex())
        for name, hello in BAD_HELLOS.items()
        for port in (443, 8443)
        if not (name == "SSL 2" and port != 443)
    ]
    rules = ["--allow", "good.test:443", "--allow", "good.test:8443"]
    with (
        Names(net, {"good.test": [[PUBLIC]]}) as names,
        Far(net, echo, port=443) as far,
        Far(net, echo, port=8443) as far8443,
    ):
        ran = doors.run(net, place, [*rules, *names.option], TUNNELS, given)
    assert ran.code == 0, ran
    for name, (code, answer) in ran.told.items():
        assert code == 200 and answer in ("", "!ECONNRESET"), (name, code, answer)
    assert far.heard == far8443.heard == b"", "not a byte arrives"
    assert len(ran.verdicts) == len(given)
    for (name, *_), verdict in zip(given, ran.verdicts):
        assert verdict["verdict"] == "refused" and "TLS" in verdict["reason"], (name, verdict)
        assert verdict["sent"] == 0, (name, verdict)


CHANGE = record(b"\1", 20)
EVIL_HELLO = client_hello(server_name(b"evil.test"))
SECOND_HELLOS = {
    "another name": EVIL_HELLO,
    "after a change of ciphers": CHANGE + EVIL_HELLO,
    "a byte in each record": CHANGE + b"".join(record(bytes([byte])) for byte in EVIL_HELLO[5:]),
    "no name": client_hello(MUTE),
    "after a warning": record(b"\1\x5a", 21) + EVIL_HELLO,
}


def test_a_second_hello_is_held_to_the_name_of_the_first(net, place):
    """A server may ask for one (HelloRetryRequest), and answer to the name in it."""
    code = """
    def rest_of(connection):
        connection.settimeout(3)
        got = b""
        try:
            while more := connection.recv(65536):
                got += more
        except TimeoutError:
            got += b"open"
        except ConnectionResetError:
            pass
        return got

    results = {}
    for name, first, second in given:
        code, connection = tunnel("good.test:443")
        with connection:
            connection.sendall(bytes.fromhex(first))
            heard = connection.recv(len(first) // 2, socket.MSG_WAITALL)
            connection.sendall(bytes.fromhex(second))
            results[name] = [code, heard.hex() == first, rest_of(connection).hex()]
    tell(results)
    """
    given = [(name, GOOD_HELLO.hex(), second.hex()) for name, second in SECOND_HELLOS.items()]
    given.append(("together", GOOD_HELLO.hex(), (CHANGE + GOOD_HELLO + record(b"data", 23)).hex()))
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, echo, port=443) as far:
        ran = doors.run(net, place, ["--allow", "good.test:443", *names.option], code, given, timeout=60)
    assert ran.code == 0, ran
    good = ran.told.pop("together")
    assert bytes.fromhex(good[2]) == CHANGE + GOOD_HELLO + record(b"data", 23) + b"open", good
    for name, (code, first, after) in ran.told.items():
        assert code == 200 and first and after == "", (name, after)
    assert EVIL_HELLO not in far.heard and b"evil.test" not in far.heard
    refused = [each for each in ran.verdicts if each["verdict"] == "refused"]
    assert len(refused) == len(SECOND_HELLOS) and all("second hello" in each["reason"] for each in refused), ran.verdicts


def test_a_good_hello_passes_however_it_is_cut(net, place):
    body = GOOD_HELLO[5:]
    hellos = {
        "whole": [GOOD_HELLO],
        "byte by byte": [bytes([byte]) for byte in GOOD_HELLO],
        "in many records": [b"".join(record(bytes([byte])) for byte in body)],
        "in upper case": [client_hello(server_name(b"GOOD.Test"))],
        "with more behind it": [GOOD_HELLO + record(b"early", 23)],
    }
    code = """
    results = {}
    for name, pieces in given.items():
        code, connection = tunnel("good.test:443")
        with connection:
            for piece in pieces:
                connection.sendall(bytes.fromhex(piece))
            connection.shutdown(socket.SHUT_WR)
            results[name] = rest(connection).hex()
    # but not in one piece with the request
    results["at once"] = status(ask(connect_request("good.test:443") + bytes.fromhex(given["whole"][0])))
    tell(results)
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, echo, port=443) as far:
        ran = doors.run(
            net,
            place,
            ["--allow", "good.test", *names.option],
            code,
            {name: [piece.hex() for piece in pieces] for name, pieces in hellos.items()},
        )
    assert ran.code == 0, ran
    for name, pieces in hellos.items():
        assert ran.told[name] == b"".join(pieces).hex(), name
    assert ran.told["at once"] == 400 and len(far.calls) == len(hellos), ran


def test_only_tls_passes_in_a_tunnel_to_port_443(net, place):
    given = [(name, port, data.hex()) for name, data in NOT_TLS.items() for port in (443, 8080)]
    rules = ["--allow", "good.test:443", "--allow", "good.test:8080"]
    with (
        Names(net, {"good.test": [[PUBLIC]]}) as names,
        Far(net, greet, port=443) as far,
        Far(net, echo, port=8080) as other,
    ):
        ran = doors.run(net, place, [*rules, *names.option], TUNNELS, given)
    assert ran.code == 0, ran
    for name, data in NOT_TLS.items():
        assert ran.told[f"{name} 443"] in ([200, ""], [200, "!ECONNRESET"]), name
        assert ran.told[f"{name} 8080"] == [200, data.decode("latin-1")], name
    assert far.heard == b""
    assert other.heard == b"".join(NOT_TLS.values())
    reasons = {(each["port"], each["verdict"], each["reason"]) for each in ran.verdicts}
    assert reasons == {(443, "refused", "not TLS"), (8080, "allowed", "")}, reasons


def test_a_hello_that_has_begun_is_read_to_its_end_whoever_speaks_meanwhile(net, place, signals):
    """Where other things than TLS pass, a server may speak first; that lets no hello through."""
    evil = client_hello(server_name(b"evil.test"))
    code = """
    results = []
    for number, (data, cut) in enumerate(given):
        data = bytes.fromhex(data)
        code, connection = tunnel("good.test:8443")
        with connection:
            connection.sendall(data[:cut])
            ask(get_request("http://evil.test/")) # answered when what came before it has been read
            signal(f"begun{number}")
            wait_for(f"spoken{number}")
            ask(get_request("http://evil.test/"))
            connection.sendall(data[cut:])
            connection.shutdown(socket.SHUT_WR)
            results.append(rest(connection).decode("latin-1"))
    tell(results)
    """

    def speak_late(call):
        number = len(call.server.calls) - 1
        eventually((signals / f"begun{number}").exists, 20)
        call.send(b"220 at your service\r\n")
        (signals / f"spoken{number}").touch()
        echo(call)

    given = [(evil.hex(), 1), (evil.hex(), 20), (GOOD_HELLO.hex(), 1), (b"HELO cell\r\n".hex(), 0)]
    options = ["--allow", "good.test:8443", "--mount", f"{signals}:/signals:rw"]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, speak_late, port=8443) as far:
        ran = doors.run(net, place, [*options, *names.option], code, given)
    assert ran.code == 0, ran
    greeting = "220 at your service\r\n"
    assert ran.told[0] in ("", "!ECONNRESET") and ran.told[1] in ("", "!ECONNRESET"), ran
    assert ran.told[2:] == [greeting + GOOD_HELLO.decode("latin-1"), greeting + "HELO cell\r\n"], ran
    assert [call.heard for call in far.calls] == [b"", b"", GOOD_HELLO, b"HELO cell\r\n"]


def test_plain_http_goes_to_no_port_where_only_tls_passes(net, place):
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=443) as far:
        told, _ = codes(net, place, ["--allow", "good.test", *names.option], [get("good.test:443")])
    assert list(told.values()) == [400] and far.calls == [] and names.asked == []


def test_real_tls_for_another_name_is_cut_off(net, place, authority):
    """As a client would do it that hides behind an allowed name of the same servers."""
    options = ["--allow", "good.test", "--mount", f"{authority.file}:/authority"]
    code = """
    def secure(name):
        code, connection = tunnel("good.test:443")
        context = ssl.create_default_context(cafile="/authority")
        try:
            with context.wrap_socket(connection, server_hostname=name) as made:
                made.sendall(b"hello " + name.encode())
                return made.recv(99).decode()
        except (OSError, ssl.SSLError) as error:
            return "failed"
    tell([secure("good.test"), secure("evil.test"), secure("good.test")])
    """
    with (
        Names(net, {"good.test": [[PUBLIC]]}) as names,
        Far(net, echo, port=443, tls=authority.server("good.test", "evil.test")) as far,
    ):
        ran = doors.run(net, place, [*options, *names.option], code)
    assert ran.told == ["hello good.test", "failed", "hello good.test"], ran
    assert far.heard == b"hello good.test" * 2
    assert sorted(each["reason"] for each in ran.verdicts) == ["", "", "TLS for another name than the tunnel's"]


# ---- requests that two readers understand differently ----

BODY = b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
FIELDS = {  # of a POST to an allowed name, with its body
    "both lengths": (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + BODY),
    "both, the other way round": (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n" + BODY),
    "two lengths": (b"Content-Length: 5\r\nContent-Length: 0\r\n", b"hello"),
    "two equal lengths": (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
    "a list of lengths": (b"Content-Length: 5, 5\r\n", b"hello"),
    "a sign": (b"Content-Length: +5\r\n", b"hello"),
    "a negative length": (b"Content-Length: -1\r\n", b"hello"),
    "a hexadecimal length": (b"Content-Length: 0x5\r\n", b"hello"),
    "a zero before": (b"Content-Length: 05\r\n", b"hello"),
    "a huge length": (b"Content-Length: 18446744073709551621\r\n", b"hello"),
    "an empty length": (b"Content-Length:\r\n", b"hello"),
    "a blank before the colon": (b"Content-Length : 5\r\n", b"hello"),
    "a tab after the colon": (b"Transfer-Encoding:\tchunked\r\n", b"0\r\n\r\n"),
    "an underscore": (b"Content_Length: 5\r\n", b"hello"),
    "another underscore": (b"Transfer_Encoding: chunked\r\n", b"0\r\n\r\n"),
    "a folded length": (b"Content-Length:\r\n 5\r\n", b"hello"),
    "a folded field": (b"X: a\r\n b\r\n", b""),
    "a folded coding": (b"Transfer-Encoding: chunked\r\n\t, identity\r\n", b"0\r\n\r\n"),
    "an unknown coding": (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    "identity": (b"Transfer-Encoding: identity\r\n", b""),
    "two codings": (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "chunked twice": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "a quoted coding": (b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n"),
    "a length named by Connection": (b"Content-Length: 5\r\nConnection: content-length\r\n", b"hello"),
    "two hosts": (b"Host: evil.test\r\n", b""),
    "a bare line feed": (b"X: a\nHost: evil.test\r\n", b""),
    "a bare carriage return": (b"X: a\rHost: evil.test\r\n", b""),
    "a NUL": (b"X: a\0b\r\n", b""),
    "a field without a name": (b": a\r\n", b""),
    "a field without a colon": (b"nothing\r\n", b""),
    "a blank before a name": (b" X: a\r\n", b""),
}
REQUESTS = {
    "a Host of another": b"GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "a Host with another port": b"GET http://good.test/ HTTP/1.1\r\nHost: good.test:8080\r\n\r\n",
    "a Host with a user": b"GET http://good.test/ HTTP/1.1\r\nHost: x@good.test\r\n\r\n",
    "an empty Host": b"GET http://good.test/ HTTP/1.1\r\nHost:\r\n\r\n",
    "no Host": b"GET http://good.test/ HTTP/1.1\r\n\r\n",
    "a tunnel with another Host": b"CONNECT good.test:80 HTTP/1.1\r\nHost: evil.test:80\r\n\r\n",
    "a tunnel whose Host has another port": b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:22\r\n\r\n",
    "a tunnel with a length": b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\nContent-Length: 5\r\n\r\nhello",
    "a tunnel with chunks": b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a tunnel and a request": connect("good.test:80") + BODY,
    "two tunnels": connect("good.test:80") * 2,
    "an origin": b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a URL to connect to": b"CONNECT http://good.test:80/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "https": b"GET https://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "ftp": b"GET ftp://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a fragment": b"GET http://good.test/#@evil.test HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a backslash": b"GET http://evil.test\\@good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a method in lower case": b"get http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "HTTP/0.9": b"GET http://good.test/\r\n\r\n",
    "HTTP/2.0": b"GET http://good.test/ HTTP/2.0\r\nHost: good.test\r\n\r\n",
    "HTTP/1.10": b"GET http://good.test/ HTTP/1.10\r\nHost: good.test\r\n\r\n",
    "two blanks": b"GET  http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a tab": b"GET\thttp://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a line before": b"\r\nGET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "a blank before the line": b" GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "line feeds alone": b"GET http://good.test/ HTTP/1.1\nHost: good.test\n\n",
    "chunks in HTTP/1.0": b"POST http://good.test/ HTTP/1.0\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "the beginning of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": GOOD_HELLO + b"\r\n\r\n",
    "SOCKS 5": b"\5\1\0\r\n",
    "SOCKS 4": b"\4\1\0\x50" + socket.inet_aton(PUBLIC) + b"x\0\r\n",
}


def test_a_request_that_can_be_read_in_two_ways_is_refused(net, place):
    requests = {
        name: b"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n" + fields + b"\r\n" + body
        for name, (fields, body) in FIELDS.items()
    } | REQUESTS
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        told, ran = codes(net, place, ["--allow", "good.test:80", *names.option], requests.values())
    assert {name: told[each] for name, each in requests.items() if told[each] != 400} == {}
    assert names.asked == [] and far.calls == []
    assert ran.result["network"]["refused"] == len(requests)


def test_nothing_after_a_request_reaches_anybody(net, place):
    """The server would read it: it hears everything until the connection's end."""
    head = b"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"
    fields = b"Content-Length: 5\r\n\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    sent = {
        "a request": (get("good.test"), b""),
        "a body": (head + fields + b"hello", b"hello"),
        "chunks": (head + chunked + b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
        "chunks with an extension": (head + chunked + b"5;x=y\r\nhello\r\n0\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\n\r\n"),
    }
    code = """
    results = []
    for first, second, at_once in given:
        with call() as connection:
            connection.sendall(bytes.fromhex(first) + (bytes.fromhex(second) if at_once else b""))
            answer = connection.recv(16)
            if not at_once:
                connection.sendall(bytes.fromhex(second))
            connection.shutdown(socket.SHUT_WR)
            results.append(status(answer + rest(connection)))
    tell(results)
    """
    given = [
        (first.hex(), second.hex(), at_once)
        for first, _ in sent.values()
        for second in (BODY, connect("evil.test:443"), get("good.test", b"/second"))
        for at_once in (True, False)
    ]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        ran = doors.run(net, place, ["--allow", "good.test:80", *names.option], code, given)
        assert ran.told == [200] * len(given), ran
        assert far.wait_for(lambda: all(call.ended for call in far.calls))
    assert len(far.calls) == len(given)
    for number, call in enumerate(far.calls):
        head, _, body = call.heard.partition(b"\r\n\r\n")
        assert body == list(sent.values())[number // 6][1], call.heard
        assert head.count(b"HTTP/1.1") == 1 and b"evil" not in call.heard and b"second" not in call.heard


@pytest.mark.parametrize(
    "body",
    [
        b"5\r\nhelloX",
        b"g\r\n",
        b"-5\r\nhello\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"ffffffffffffffffff\r\n",
        b"\r\n",
        b"5 \r\nhello",
        b"0\r\nX\r\n\r\n",
    ],
)
def test_a_body_that_is_none_goes_no_further(net, place, body):
    head = b"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, swallow, port=80) as far:
        told, _ = codes(net, place, ["--allow", "good.test:80", *names.option], [head + body])
    assert list(told.values()) == [400]
    assert far.heard == b""


def test_fields_between_client_and_proxy_go_no_further(net, place):
    fields = [
        b"Proxy-Authorization: Basic x",
        b"Proxy-Connection: keep-alive",
        b"Connection: keep-alive, X-Mine",
        b"X-Mine: 1",
        b"Keep-Alive: 5",
        b"TE: trailers",
        b"Upgrade: websocket",
        b"X-Kept: 2",
    ]
    request = b"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n" + b"\r\n".join(fields) + b"\r\n\r\n"
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        told, _ = codes(net, place, ["--allow", "good.test:80", *names.option], [request])
    assert list(told.values()) == [200]
    assert far.heard == b"GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\nX-Kept: 2\r\n\r\n"

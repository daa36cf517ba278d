"""Doors: what they let through, what the cell sees of them, and what is told."""

import json
import os
import re

import doors
import harness
import pytest
from campaigns import prove_accounting, sessions
from doors import OTHER_PUBLIC, PUBLIC, PUBLIC6, Far, Names, echo, greet, parent_proxy, swallow, web
from harness import hotcell, refused, run, slurp

VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]


# ---- the proxy ----


def test_an_allowed_name_is_reached_by_tls_through_a_tunnel(net, place, authority):
    code = """
    code, connection = tunnel("good.test:443")
    context = ssl.create_default_context(cafile="/authority")
    with context.wrap_socket(connection, server_hostname="good.test") as secure:
        secure.sendall(b"hello")
        tell([code, secure.recv(99).decode()])
    """
    options = ["--allow", "good.test", "--mount", f"{authority.file}:/authority"]
    tls = authority.server("good.test")
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, port=443, tls=tls) as far:
        ran = doors.run(net, place, [*options, *names.option], code)
    assert ran.told == [200, "hello"], ran
    assert [call.heard for call in far.calls] == [b"hello"]
    [verdict] = ran.verdicts
    assert (verdict["door"], verdict["name"], verdict["port"]) == ("proxy", "good.test", 443)
    assert (verdict["verdict"], verdict["reason"]) == ("allowed", "")
    assert verdict["sent"] > 100 and verdict["received"] > 100
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", verdict["time"])
    assert verdict["duration_ms"] >= 0
    counts = ran.result["network"]
    assert (counts["connections"], counts["requests"], counts["refused"], counts["failed"]) == (1, 1, 0, 0)
    assert (counts["sent"], counts["received"]) == (verdict["sent"], verdict["received"])


def test_an_allowed_name_is_reached_by_plain_http(net, place):
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        ran = doors.run(
            net,
            place,
            ["--allow", "good.test:80", *names.option],
            "tell(ask(get_request('http://good.test/a?b=c')).decode())",
        )
    assert ran.told.startswith("HTTP/1.1 200 OK") and ran.told.endswith("yes"), ran
    assert far.heard == b"GET /a?b=c HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n"


def test_bodies_of_plain_requests_arrive_whole_and_answers_come_back_whole(net, place):
    """Much of it, in pieces, and with an expectation to be answered first."""
    code = """
    body = bytes(range(256)) * 4096
    def post(fields, pieces):
        with call() as connection:
            connection.sendall(b"POST http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n" + fields + b"\\r\\n")
            for piece in pieces:
                connection.sendall(piece)
            return rest(connection)
    length = b"Content-Length: %d\\r\\n" % len(body)
    chunks = [b"%x\\r\\n%s\\r\\n" % (len(each), each) for each in (body[:1], body[1:70000], body[70000:])] + [b"0\\r\\n\\r\\n"]
    answers = [post(length, [body]), post(b"Transfer-Encoding: chunked\\r\\n", chunks), post(length + b"Expect: 100-continue\\r\\n", [body])]
    tell([answers[0].endswith(body), answers[1].endswith(b"".join(chunks)), answers[2].startswith(b"HTTP/1.1 100"), answers[2].endswith(body)])
    """

    def give_back(call):
        """Answers with the body, whatever its framing."""
        head, _, body = call.until(b"\r\n\r\n").partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        while (len(body) < int(length[1])) if length else (not body.endswith(b"\r\n0\r\n\r\n")):
            body += call.read()
        call.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)

    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, give_back, port=80) as far:
        ran = doors.run(net, place, ["--allow", "good.test:80", *names.option], code)
    assert ran.told == [True] * 4, ran
    assert len(far.calls) == 3 and all(each["sent"] > 1 << 20 and each["received"] > 1 << 20 for each in ran.verdicts)


def test_much_passes_a_tunnel_both_ways_at_once(net, place):
    code = """
    _, connection = tunnel("good.test:8080")
    block, count, got = os.urandom(65536), 512, []
    def read():
        for _ in range(count * len(block) // 65536):
            piece = b""
            while len(piece) < len(block):
                piece += connection.recv(len(block) - len(piece))
            got.append(piece == block)
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(count):
        connection.sendall(block)
    reader.join()
    connection.shutdown(socket.SHUT_WR)
    tell([len(got), all(got), rest(connection).decode()])
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, port=8080):
        ran = doors.run(net, place, ["--allow", "good.test:8080", *names.option], code)
    assert ran.told == [512, True, ""], ran
    [verdict] = ran.verdicts
    assert verdict["sent"] == verdict["received"] == 512 * 65536


def test_an_end_of_one_side_reaches_the_other_and_leaves_the_way_back(net, place):
    def answer_at_the_end(call):
        swallow(call)
        call.send(b"%d bytes" % len(call.heard))

    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, answer_at_the_end, port=8080):
        ran = doors.run(
            net, place, ["--allow", "good.test:8080", *names.option], "tell(through('good.test:8080', b'x' * 100_000))"
        )
    assert ran.told == [200, "100000 bytes"], ran


def test_a_server_that_speaks_first_is_heard(net, place):
    code = """
    _, connection = tunnel("good.test:25")
    first = connection.recv(99).decode()
    connection.sendall(b"HELO cell")
    tell([first, connection.recv(99).decode()])
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, greet, port=25):
        ran = doors.run(net, place, ["--allow", "good.test:25", *names.option], code)
    assert ran.told == ["220 at your service\r\n", "HELO cell"], ran


def test_names_lead_to_addresses_by_every_ordinary_way(net, place):
    table = {
        "six.test": [[PUBLIC6]],
        "alias.test": [["one.elsewhere.test"]],
        "one.elsewhere.test": [["two.elsewhere.test"]],
        "two.elsewhere.test": [[PUBLIC]],
        "dead-first.test": [[OTHER_PUBLIC, PUBLIC]],
        "both.test": [[PUBLIC6, PUBLIC]],
    }
    rules = [word for name in table if "elsewhere" not in name for word in ("--allow", f"{name}:8080")]
    with Names(net, table) as names, Far(net, echo, PUBLIC, 8080), Far(net, echo, PUBLIC6, 8080):
        ran = doors.run(
            net,
            place,
            [*rules, *names.option],
            "tell([through(each + ':8080', b'hello') for each in ('six.test', 'alias.test', 'dead-first.test', 'both.test')])",
        )
    assert ran.told == [[200, "hello"]] * 4, ran
    assert {name for name, _ in names.asked}.isdisjoint({"one.elsewhere.test", "two.elsewhere.test"})


def test_what_cannot_be_reached_is_told_as_such(net, place):
    table = {"nobody.test": [[OTHER_PUBLIC]], "empty.test": [[]]}
    rules = [word for name in (*table, "missing.test") for word in ("--allow", f"{name}:8080")]
    with Names(net, table) as names:
        ran = doors.run(
            net,
            place,
            [*rules, *names.option],
            "tell({name: ask(connect_request(name + ':8080')).decode() for name in given})",
            [*table, "missing.test"],
        )
    assert ran.code == 0, ran
    said = {
        "nobody.test": "connection refused",
        "empty.test": "the name has no address",
        "missing.test": "no such name",
    }
    for name, why in said.items():
        assert ran.told[name].startswith("HTTP/1.1 502 "), ran.told[name]
        assert ran.told[name].endswith(f"hotcell: {name}: {why}\n"), ran.told[name]
    assert {each["name"]: each["reason"] for each in ran.verdicts} == said
    assert {each["verdict"] for each in ran.verdicts} == {"failed"}
    assert ran.result["network"]["failed"] == len(said)
    assert {name for name, _ in names.asked} == set(said), "and by no other name than that"


# ---- what a cell sees ----

SEEN = """
tell([dict(os.environ), open("/etc/hosts").read()])
"""


def test_the_variables_of_proxies_point_at_the_door(net, place):
    ran = doors.run(net, place, ["--allow", "good.test", "--service", "db.test:5432=127.0.0.1:1"], SEEN)
    env, hosts = ran.told
    assert {env[name] for name in VARIABLES} == {"http://127.0.0.1:3128"}
    for name in ("NO_PROXY", "no_proxy"):
        assert set(env[name].split(",")) == {"localhost", "127.0.0.1", "::1", ".door", "db.test"}
    assert hosts.splitlines() == ["127.0.0.1 localhost cell", "::1 localhost", "127.0.1.1 db.test"]


def test_what_a_user_sets_stays(net, place):
    ran = doors.run(
        net,
        place,
        ["--allow", "good.test", "--env", "HTTPS_PROXY=mine", "--env", "no_proxy=mine", "--env", "all_proxy="],
        SEEN,
    )
    env, _ = ran.told
    assert (env["HTTPS_PROXY"], env["no_proxy"], env["all_proxy"]) == ("mine", "mine", "")
    assert env["https_proxy"] == "http://127.0.0.1:3128"


def test_a_cell_without_doors_sees_nothing_of_them(net):
    script = "import os, socket; print(sorted(os.environ)); print(open('/etc/hosts').read()); print(socket.socket().connect_ex(('127.0.0.1', 3128)))"
    ran = run("--", "/usr/bin/python3", "-S", "-c", script, preexec_fn=net.enter)
    assert ran.code == 0, ran
    assert b"PROXY" not in ran.out.upper(), ran
    assert [line for line in ran.lines if line][1:] == ["127.0.0.1 localhost cell", "::1 localhost", "111"], ran
    assert "network" not in ran.result


def test_services_alone_make_no_proxy(net, place):
    with Far(net, echo, "127.0.0.1", 5432):
        ran = doors.run(
            net,
            place,
            ["--service", "db:5432=127.0.0.1:5432"],
            "tell([sorted(os.environ), status(ask(connect_request('db:5432')))])",
        )
    env, proxy = ran.told
    assert not set(VARIABLES) & set(env) and proxy == "!ECONNREFUSED", ran


# ---- services ----


def test_a_service_is_there_under_its_name_and_port(net, place):
    socket_path = place / "socket"
    options = [
        "--service",
        "db.test:5432=127.0.0.1:15432",
        "--service",
        "six:80=[::1]:8080",
        "--service",
        f"unix:99=unix:{socket_path}",
        "--service",
        "named:7=good.test:8080",
    ]
    code = """
    def talk(name, port):
        try:
            with socket.create_connection((name, port), 20) as made:
                made.sendall(f"hello {name}".encode())
                made.shutdown(socket.SHUT_WR)
                return rest(made).decode()
        except OSError as error:
            return name_of(error)
    tell([talk(*each) for each in given])
    """
    given = [("db.test", 5432), ("six", 80), ("unix", 99), ("named", 7)]
    closed = [("db.test", 15432), ("db.test", 80), ("six", 5432), ("127.0.0.1", 5432), ("localhost", 80)]
    with (
        Names(net, {"good.test": [[PUBLIC]]}) as names,
        Far(net, echo, "127.0.0.1", 15432) as tcp,
        Far(net, echo, "::1", 8080) as six,
        Far(net, echo, path=socket_path) as unix,
        Far(net, echo, PUBLIC, 8080),
    ):
        ran = doors.run(net, place, [*options, *names.option], code, given + closed)
        assert ran.told == [f"hello {name}" for name, _ in given] + ["ECONNREFUSED"] * len(closed), ran
    assert (tcp.heard, six.heard, unix.heard) == (b"hello db.test", b"hello six", b"hello unix")
    recorded = {(each["door"], each["name"], each["port"], each["verdict"]) for each in ran.verdicts}
    assert recorded == {(name, name, port, "allowed") for name, port in given}


def test_a_service_that_is_not_there_resets_and_says_so_in_the_record(net, place):
    ran = doors.run(
        net,
        place,
        ["--service", "db:5432=127.0.0.1:5432", "--service", f"gone:1=unix:{place}/missing"],
        "tell([status(ask(b'', ('127.0.1.1', 5432))), status(ask(b'', ('127.0.1.2', 1)))])",
    )
    assert set(ran.told) <= {"!ECONNRESET", ""}, ran
    assert {each["name"]: (each["verdict"], each["reason"]) for each in ran.verdicts} == {
        "db": ("failed", "connection refused"),
        "gone": ("failed", "no such socket"),
    }


# ---- a proxy of one's own ----


def test_everything_goes_through_an_upstream_proxy(net, place):
    code = """
    tell([through("good.test:8080", b"hello"), through("evil.test:8080", b"hello")[0], status(ask(get_request("http://good.test/x"))),
        through("refused.test:8080", b"hello")[0]])
    """
    rules = [word for name in ("good.test:8080", "good.test:80", "refused.test:8080") for word in ("--allow", name)]

    def serve(call):
        parent_proxy(refuses=["refused.test:8080"])(call)
        head, call.heard = bytes(call.heard), bytearray()
        heads.append(head)
        web(call) if b" good.test:80 " in head else echo(call)

    heads = []
    with Names(net, {}) as names, Far(net, serve, "127.0.0.1") as parent:
        ran = doors.run(
            net, place, [*rules, *names.option, "--upstream-proxy", f"http://127.0.0.1:{parent.port}"], code
        )
    assert ran.told == [[200, "hello"], 403, 200, 502], ran
    assert names.asked == [], "the proxy resolves names itself"
    assert sorted(heads) == sorted(
        b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (each, each)
        for each in (b"good.test:8080", b"good.test:80", b"refused.test:8080")
    )
    assert sorted((each["name"], each["verdict"], each["reason"]) for each in ran.verdicts) == [
        ("evil.test", "refused", "not on the allowlist"),
        ("good.test", "allowed", ""),
        ("good.test", "allowed", ""),
        ("refused.test", "failed", "refused by the upstream proxy"),
    ]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nfirst words", [200, "first words"]),
        (b"HTTP/1.0 200 Connection established\r\nVia: somebody\r\nX: y\r\n\r\n", [200, ""]),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", [502, None]),
        (b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\n\r\n", [502, None]),
        (b"nonsense\r\n\r\n", [502, None]),
        (b"\x00" * 100_000, [502, None]),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000, [502, None]),
        (b"HTTP/1.1 200 OK\r\n", [502, None]),
        (b"", [502, None]),
    ],
)
def test_an_upstream_proxy_is_not_believed_everything(net, place, answer, result):
    with Far(net, parent_proxy(answer=answer), "127.0.0.1") as parent:
        ran = doors.run(
            net,
            place,
            ["--allow", "good.test:8080", "--upstream-proxy", f"http://127.0.0.1:{parent.port}"],
            "tell(through('good.test:8080', b''))",
        )
    assert ran.code == 0, ran
    assert ran.told[0] == result[0] and (result[1] is None or ran.told[1] == result[1]), ran


def test_services_do_not_go_through_an_upstream_proxy(net, place):
    with Far(net, swallow, "127.0.0.1", 3128) as parent, Far(net, echo, "127.0.0.1", 5432) as service:
        ran = doors.run(
            net,
            place,
            ["--service", "db:5432=127.0.0.1:5432", "--upstream-proxy", "http://127.0.0.1:3128"],
            """
            with socket.create_connection(("db", 5432)) as made:
                made.sendall(b"hello")
                tell(made.recv(99).decode())
            """,
        )
    assert ran.told == "hello", ran
    assert parent.calls == [] and service.heard == b"hello"


# ---- budgets ----


@pytest.mark.parametrize("budget", ["requests=2", "connections=2"])
def test_when_requests_are_used_up_the_door_says_so(net, place, budget):
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        ran = doors.run(
            net,
            place,
            ["--allow", "good.test:80", "--budget", budget, *names.option],
            "tell([ask(get_request('http://good.test/')).decode() for _ in range(3)] + [ask(connect_request('good.test:80')).decode()])",
        )
    assert [each.split()[1] for each in ran.told] == ["200", "200", "429", "429"], ran
    sentence = ran.told[2].split("\r\n\r\n")[1].strip()
    assert "budget" in sentence and "2 " in sentence and "used up" in sentence, sentence
    assert len(far.calls) == 2 and ran.result["network"]["requests"] == 2
    assert "used up" in ran.result["network"]["budget"]
    assert [each["verdict"] for each in ran.verdicts] == ["allowed"] * 2 + ["refused"] * 2


def test_when_bytes_are_used_up_what_passes_is_cut_off(net, place):
    """A little more than the budget may have passed before it was seen."""
    code = """
    _, connection = tunnel("good.test:8080")
    sent = 0
    try:
        for _ in range(4096):
            connection.sendall(b"x" * 4096)
            sent += 4096
        end = rest(connection).decode()
    except OSError as error:
        end = name_of(error)
    tell([end, status(ask(connect_request("good.test:8080")))])
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, swallow, port=8080) as far:
        ran = doors.run(net, place, ["--allow", "good.test:8080", "--budget", "sent=100k", *names.option], code)
    assert ran.told[0] in ("", "!ECONNRESET", "ECONNRESET", "EPIPE") and ran.told[1] == 429, ran
    assert 100 << 10 <= ran.result["network"]["sent"] < 3 << 20 and len(far.heard) <= ran.result["network"]["sent"]
    assert ran.verdicts[0]["reason"] == "cut off: a budget is used up"


def test_when_received_bytes_are_used_up_what_passes_is_cut_off(net, place):
    def flood(call):
        for _ in range(4096):
            call.send(b"x" * 4096)

    code = """
    _, connection = tunnel("good.test:8080")
    connection.sendall(b"go")
    tell([len(rest(connection)), status(ask(connect_request("good.test:8080")))])
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, flood, port=8080):
        ran = doors.run(net, place, ["--allow", "good.test:8080", "--budget", "received=100k", *names.option], code)
    assert ran.told[0] < 3 << 20 and ran.told[1] == 429, ran


def test_services_count_too_and_are_reset_when_it_is_used_up(net, place):
    with Far(net, echo, "127.0.0.1", 5432) as far:
        ran = doors.run(
            net,
            place,
            ["--service", "db:5432=127.0.0.1:5432", "--budget", "connections=1"],
            """
            def talk():
                try:
                    with socket.create_connection(("db", 5432)) as made:
                        made.sendall(b"hello")
                        made.shutdown(socket.SHUT_WR)
                        return rest(made).decode()
                except OSError as error:
                    return "!" + name_of(error)
            tell([talk(), talk()])
            """,
        )
    assert ran.told[0] == "hello" and ran.told[1] in ("", "!ECONNRESET", "!EPIPE"), ran
    assert len(far.calls) == 1
    assert [each["verdict"] for each in ran.verdicts] == ["allowed", "refused"]


# ---- campaigns ----


def test_each_run_of_a_campaign_has_doors_and_a_record_of_its_own(net, place):
    code = """
    number = os.environ["HOTCELL_RUN"]
    assert status(ask(get_request(f"http://run{number}.good.test/"))) == 200
    assert status(ask(get_request(f"http://evil{number}.test/"))) == 403
    """
    options = ["--runs", "4", "--workers", "2", "--name", "each", "--plain", "--allow", "*.good.test:80"]
    table = {f"run{i}.good.test": [[PUBLIC]] for i in range(1, 5)}
    with Names(net, table) as names, Far(net, web, port=80) as far:
        arguments = doors.arguments(place, [*options, *names.option], code, log=False)
        ran = hotcell("campaign", "run", *arguments, cwd=place, preexec_fn=net.enter)
    assert ran.code == 0, ran
    assert set(prove_accounting(place, "each", 4).values()) == {"SUCCESS"}
    for number, folder in sessions(place).items():
        lines = [json.loads(line) for line in slurp(folder / "network.jsonl").splitlines()]
        assert {(each["name"], each["verdict"]) for each in lines} == {
            (f"run{number}.good.test", "allowed"),
            (f"evil{number}.test", "refused"),
        }
    assert len(far.calls) == 4


# ---- options ----


@pytest.mark.parametrize(
    "options",
    [
        ["--allow", ""],
        ["--allow", "*"],
        ["--allow", "*.com"],
        ["--allow", "a.*.test"],
        ["--allow", "good.test:0"],
        ["--allow", "good.test:65536"],
        ["--allow", "good.test:"],
        ["--allow", "good.test:443:443"],
        ["--allow", "good.test,public"],
        ["--allow", "good.test:443,"],
        ["--allow", "https://good.test/"],
        ["--allow", "user@good.test"],
        ["--allow", "127.0.0.1"],
        ["--allow", "127.0.0.1:443,private"],
        ["--allow", "2130706433"],
        ["--allow", "[::1]:443"],
        ["--allow", "::1"],
        ["--allow", "good..test"],
        ["--allow", "b\u00fccher.test"],
        ["--allow", "good.test\x1b[2J"],
        ["--allow", "@nobody"],
        ["--allow", "@"],
        ["--allow", "*.xn--p1ai.test"],
        ["--allow", "a" * 64 + ".test"],
        ["--service", ""],
        ["--service", "db"],
        ["--service", "db:5432"],
        ["--service", "db:5432="],
        ["--service", "db=127.0.0.1:5432"],
        ["--service", "db:5432=127.0.0.1"],
        ["--service", "db:0=127.0.0.1:5432"],
        ["--service", "db:5432=127.1:5432"],
        ["--service", "db:5432=unix:relative"],
        ["--service", "db:5432=unix:/" + "x" * 200],
        ["--service", "localhost:5432=127.0.0.1:5432"],
        ["--service", "a.door:80=127.0.0.1:80"],
        ["--service", "127.0.0.1:80=127.0.0.1:80"],
        ["--service", "db:1=127.0.0.1:1", "--service", "db:1=127.0.0.1:2"],
        [word for i in range(20) for word in ("--service", f"db{i}:1=127.0.0.1:1")],
        ["--allow", "good.test", "--budget", ""],
        ["--allow", "good.test", "--budget", "requests=0"],
        ["--allow", "good.test", "--budget", "requests=-1"],
        ["--allow", "good.test", "--budget", "requests=1,requests=2"],
        ["--allow", "good.test", "--budget", "patience=1"],
        ["--allow", "good.test", "--budget", "$20"],
        ["--budget", "requests=1"],
        ["--allow", "good.test", "--resolver", "localhost"],
        ["--allow", "good.test", "--resolver", "127.0.0.1:0"],
        ["--allow", "good.test", "--resolver", "127.0.0.1:99999"],
        ["--allow", "good.test", "--resolver", ""],
        ["--allow", "good.test", "--resolver", "127.0.0.1,127.0.0.2"],
        ["--resolver", "127.0.0.1"],
        ["--allow", "good.test", "--upstream-proxy", "socks5://127.0.0.1:1080"],
        ["--allow", "good.test", "--upstream-proxy", "127.0.0.1:3128"],
        ["--allow", "good.test", "--upstream-proxy", "http://user:word@127.0.0.1:3128"],
        ["--allow", "good.test", "--upstream-proxy", "http://127.0.0.1:3128/path"],
        ["--allow", "good.test", "--upstream-proxy", "http://127.0.0.1"],
        ["--allow", "good.test", "--upstream-proxy", ""],
        ["--upstream-proxy", "http://127.0.0.1:3128"],
        ["--network-log", "x"],
        ["--allow", "good.test", "--network-record"],
        ["--allow", "good.test", "--network-replay", "/tmp"],
        ["--allow", "good.test", "--prices", "/etc/hostname"],
        ["--backend", "none", "--allow", "good.test"],
        ["--no-sandbox", "--service", "db:1=127.0.0.1:1"],
    ],
    ids=lambda options: " ".join(options)[:60].encode("ascii", "backslashreplace").decode(),
)
def test_an_option_that_makes_no_sense_is_refused(options):
    said = refused(run(*options, "--", "true", json=False), (2,))
    assert "word" not in said or "password" in said, "nothing that may be a credential is repeated"


def test_a_thousand_rules_are_taken_and_more_are_refused(net, place):
    rules = [word for i in range(1000) for word in ("--allow", f"n{i}.good.test:8080")]
    with Names(net, {"n999.good.test": [[PUBLIC]]}) as names, Far(net, port=8080):
        ran = doors.run(net, place, [*rules, *names.option], "tell(through('n999.good.test:8080', b'hello'))")
    assert ran.told == [200, "hello"], ran
    refused(run(*rules, "--allow", "one.more.test", "--", "true", json=False), (2,))


def test_explain_shows_the_doors():
    ran = run("--allow", "good.test", "--service", "db:5432=127.0.0.1:15432", "--budget", "requests=7", "--explain", "--", "true",
              json=False)
    assert ran.code == 0, ran
    text = ran.out.decode()
    assert all(each in text for each in ("good.test:443", "db:5432", "127.0.0.1:15432", "requests=7")), text


def test_a_network_log_that_nobody_reads_stops_nothing(net, place):
    """A FIFO without a reader is refused; with one that does not read, lines are lost and counted, and doors go on."""
    fifo = place / "fifo"
    os.mkfifo(fifo)
    with Names(net, {"good.test": [[PUBLIC]]}) as names:
        options = ["--allow", "good.test:80", *names.option, "--network-log", fifo]
        code = "tell([status(ask(get_request('http://evil.test/'))) for _ in range(900)] + [status(ask(get_request('http://good.test/')))])"
        arguments = doors.arguments(place, options, code, log=False)
        ran = harness.run(*arguments, preexec_fn=net.enter, json=False)
        assert ran.code == 125 and b"nobody reads" in ran.err, ran
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        with Far(net, web, port=80):
            ran = harness.run(*arguments, preexec_fn=net.enter, json=False, timeout=60)
        assert ran.code == 0 and json.loads(ran.out) == [403] * 900 + [200], ran
        os.set_blocking(reader, True)
        with open(reader, "rb") as pipe:
            lines = pipe.read().splitlines()
    assert 0 < len(lines) < 900 and all(json.loads(line) for line in lines), lines[-1:]

"""Doors as somebody hostile uses them, from inside a cell, over real sockets: addresses and names. The observers are
outside: what name servers were asked, what reached the servers, and what was recorded."""

import ipaddress
import itertools
import re

import doors
from doors import OTHER_PUBLIC, PUBLIC, PUBLIC6, Far, Names, codes, connect, echo, get, hang_up, swallow, web

# ---- around the proxy ----


def test_a_direct_connection_finds_no_network(net, place):
    targets = [PUBLIC, "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", PUBLIC6, "fd00::1", "2001:db8::1"]
    code = """
    def direct(address, port):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                with socket.socket(family, kind) as made:
                    made.settimeout(5)
                    made.connect((address, port))
                    made.send(b"out")
                    yield "reached"
            except OSError as error:
                yield name_of(error)
    tell([list(direct(address, port)) for address, port in given])
    """
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, swallow, port=443) as far:
        given = [(target, 443) for target in targets]
        ran = doors.run(net, place, ["--allow", "good.test", *names.option], code, given)
        assert ran.told == [["ENETUNREACH"] * 2] * len(targets), ran
        # what listens on the machine's loopback is not on the cell's
        with Far(net, swallow, "127.0.0.1", 8080) as near:
            options = ["--allow", "good.test", *names.option]
            ran = doors.run(net, place, options, "tell(status(ask(b'out', ('127.0.0.1', 8080))))")
            assert ran.told == "!ECONNREFUSED" and near.calls == [], ran
    assert far.calls == [] and names.asked == []


# ---- addresses ----


def spellings(address):
    """An IPv4 address as somebody might write it."""
    a, b, c, d = ipaddress.IPv4Address(address).packed
    number = int(ipaddress.IPv4Address(address))
    parts = [(a, b, c, d), (a, b, c << 8 | d), (a, b << 16 | c << 8 | d), (number,)]
    ways = ["{:d}", "0{:o}", "0x{:x}", "0X{:X}", "000{:o}", "0x0000{:x}"]
    for numbers, way in itertools.product(parts, ways):
        yield ".".join(way.format(part) for part in numbers)
    for mixed in itertools.islice(itertools.product(ways, repeat=4), 0, None, 97):
        yield ".".join(way.format(part) for way, part in zip(mixed, (a, b, c, d)))


def spellings6(address):
    """An IPv4 or IPv6 address as an IPv6 one."""
    ip = ipaddress.ip_address(address)
    if ip.version == 4:
        groups = f"{int(ip) >> 16:x}:{int(ip) & 0xFFFF:x}"
        yield from (f"::ffff:{ip}", f"::ffff:{groups}", f"::FFFF:{ip}", f"::{ip}", f"64:ff9b::{ip}", f"2002:{groups}::")
        yield f"0:0:0:0:0:ffff:{groups}"
    else:
        yield from (str(ip), ip.exploded, ip.exploded.upper())


def test_an_address_is_refused_in_every_spelling(net, place):
    plain = {PUBLIC, "127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1"}
    v4 = {each for address in plain for each in spellings(address)} | {"127.1", "0x7f000001", "2130706433", "0", "0x"}
    v6 = {each for address in (*plain, PUBLIC6, "::1", "::", "fe80::1") for each in spellings6(address)}
    requests = [connect(f"{each}{dot}:443") for each in v4 for dot in ("", ".")]
    requests += [get(each) for each in v4]
    requests += [form(f"[{each}]:443") for each in v6 for form in (connect, get)]
    odd = [
        connect(each)
        for each in (
            "[::1%lo]:443",
            "[::1%25lo]:443",
            "[::1:443",
            "::1]:443",
            "[]:443",
            "[127.0.0.1]:443",
            "[good.test]:443",
        )
    ]
    odd += [connect(f"{each}..:443") for each in plain]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, swallow, port=443) as far:
        told, ran = codes(
            net, place, ["--allow", "good.test", "--allow", "*.good.test:443,private", *names.option], requests + odd
        )
    assert {each: code for each, code in told.items() if each not in odd and code != 403} == {}
    assert {each: code for each, code in told.items() if each in odd and code not in (400, 403)} == {}
    assert len(told) > 500
    assert names.asked == [] and far.calls == []
    assert ran.result["network"]["refused"] == len(told) and ran.result["network"]["requests"] == 0
    assert {each["verdict"] for each in ran.verdicts} == {"refused"}


NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.0.0.53", "127.255.255.254", "::1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "fd00::1", "fc00::1"],
    "shared": ["100.64.0.1", "100.127.255.254"],
    "link-local": ["169.254.169.254", "169.254.0.1", "168.63.129.16", "fe80::1"],
    "reserved": ["0.0.0.0", "0.0.0.1", "192.0.0.192", "198.18.0.1", "203.0.113.1", "240.0.0.1", "2001:db8::1", "::"],
    "inside an IPv6": [
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        f"::ffff:{PUBLIC}",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::127.0.0.1",
    ],
    "multicast": ["224.0.0.1", "ff02::1", "255.255.255.255"],
}


def test_an_allowed_name_at_an_address_that_is_not_public_is_refused_after_resolving(net, place):
    addresses = [each for some in NOT_PUBLIC.values() for each in some]
    table = {f"n{i}.good.test": [[each]] for i, each in enumerate(addresses)}
    with Names(net, table) as names, Far(net, swallow, "0.0.0.0", 8080) as far, Far(net, swallow, "::", 8080) as far6:
        told, ran = codes(
            net, place, ["--allow", "*.good.test:8080", *names.option], [connect(f"{name}:8080") for name in table]
        )
        assert set(told.values()) == {403}, dict(zip(addresses, told.values()))
        told, plain = codes(
            net, place, ["--allow", "*.good.test:8080", *names.option], [get(f"{name}:8080") for name in table]
        )
        assert set(told.values()) == {403}, dict(zip(addresses, told.values()))
    assert far.calls == [] and far6.calls == []
    assert all(names.times(name) == 2 for name in table)
    reasons = {each["name"]: each["reason"] for each in ran.verdicts}
    for kind, some in NOT_PUBLIC.items():
        for each in some:
            assert kind in reasons[f"n{addresses.index(each)}.good.test"], each


OWN = {"93.184.215.90": 32, "93.184.216.1": 24, "93.184.216.2": 24, "2606:2800:21f::90": 128}


def test_an_allowed_name_at_one_of_this_machines_own_addresses_is_refused_like_loopback(place):
    """Public ones, of IPv4 and IPv6, the second of a network, that network's own and its broadcast address."""
    with doors.Net() as net:  # of its own: an address stays
        for address, prefix in OWN.items():
            net.own(address, prefix)
        addresses = [*OWN, "93.184.216.255"]
        table = {f"n{i}.good.test": [[each]] for i, each in enumerate(addresses)}
        table["later.good.test"] = [["93.184.215.91"]]
        with Names(net, table) as names, Far(net, hang_up, "0.0.0.0", 8080) as far, Far(net, hang_up, "::", 8080) as far6:
            rule = ["--allow", "*.good.test:8080", *names.option]
            told, ran = codes(net, place, rule, [connect(f"{name}:8080") for name in table if name[0] == "n"])
            assert set(told.values()) == {403}, dict(zip(addresses, told.values()))
            assert far.calls == [] and far6.calls == []
            reasons = [each["reason"] for each in ran.verdicts]
            assert reasons.count("resolves to an address of this machine") == len(OWN), reasons
            told, ran = codes(net, place, rule, [connect("later.good.test:8080")])
            assert set(told.values()) == {200}, ran
            net.own("93.184.215.91", 32)
            told, ran = codes(net, place, rule, [connect("later.good.test:8080")])
            assert set(told.values()) == {403}, ran
            # whoever says private means that, too
            said = ["--allow", "*.good.test:8080,private", *names.option]
            told, ran = codes(net, place, said, [connect("n0.good.test:8080")])
            assert set(told.values()) == {200}, ran


def test_a_rule_that_says_private_lets_a_name_be_at_such_an_address(net, place):
    reachable = [
        each
        for kind, some in NOT_PUBLIC.items()
        for each in some
        if kind != "multicast" and each not in ("fe80::1", "240.0.0.1", "0.0.0.1", "::127.0.0.1")
    ]
    table = {f"n{i}.good.test": [[each]] for i, each in enumerate(reachable)}
    table |= {f"m{i}.good.test": [[each]] for i, each in enumerate(NOT_PUBLIC["multicast"])}
    code = "tell([through(each, b'hello') for each in given])"
    with Names(net, table) as names, Far(net, echo, "0.0.0.0", 8080) as far, Far(net, echo, "::", 8080) as far6:
        ran = doors.run(
            net, place, ["--allow", "*.good.test:8080,private", *names.option], code, [f"{name}:8080" for name in table]
        )
    assert ran.code == 0, ran
    told = dict(zip(table, ran.told))
    for i, each in enumerate(reachable):
        assert told[f"n{i}.good.test"] == [200, "hello"], (each, ran)
    for i, each in enumerate(NOT_PUBLIC["multicast"]):
        assert told[f"m{i}.good.test"][0] == 403, each
    assert len(far.calls) + len(far6.calls) == len(reachable)


def test_of_several_addresses_only_a_public_one_is_connected_to(net, place):
    table = {
        "first.test": [["127.0.0.1", PUBLIC]],
        "last.test": [[PUBLIC, "127.0.0.1"]],
        "dead.test": [[OTHER_PUBLIC, "127.0.0.1"]],
        "alias.test": [["somewhere.test"]],
        "somewhere.test": [["127.0.0.1"]],
        "six.test": [["::1", PUBLIC]],
    }
    rules = [word for name in table for word in ("--allow", f"{name}:8080")]
    with (
        Names(net, table) as names,
        Far(net, echo, PUBLIC, 8080) as far,
        Far(net, swallow, "127.0.0.1", 8080) as near,
        Far(net, swallow, "::1", 8080) as near6,
    ):
        ran = doors.run(
            net,
            place,
            [*rules, *names.option],
            "tell({each: through(each + ':8080', b'hello') for each in given})",
            list(table),
        )
    assert ran.code == 0, ran
    assert [ran.told[each] for each in ("first.test", "last.test", "six.test")] == [[200, "hello"]] * 3, ran
    assert ran.told["dead.test"][0] == 502 and ran.told["alias.test"][0] == 403
    assert len(far.calls) == 3 and near.calls == near6.calls == []


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(net, place):
    """Each name changes its address between two questions: whoever asked twice would get to loopback."""
    table = {
        "turns.test": [[PUBLIC], ["127.0.0.1"]],
        "turns-back.test": [["127.0.0.1"], [PUBLIC]],
        "six.test": [[PUBLIC], ["::1"]],
    }
    rules = [word for name in table for word in ("--allow", f"{name}:8080")]
    with (
        Names(net, table) as names,
        Far(net, echo, PUBLIC, 8080) as far,
        Far(net, echo, "127.0.0.1", 8080) as near,
        Far(net, echo, "::1", 8080) as near6,
    ):
        ran = doors.run(
            net,
            place,
            [*rules, *names.option],
            """
            tell([through("turns.test:8080", b"a"), through("turns.test:8080", b"b"),
                through("turns-back.test:8080", b"c"), through("turns-back.test:8080", b"d"),
                through("six.test:8080", b"e"), status(ask(get_request("http://six.test:8080/")))])
            """,
        )
        assert ran.code == 0, ran
        assert [each[0] for each in ran.told[:5]] == [200, 403, 403, 200, 200], ran
        assert ran.told[5] == 403, ran
    assert [call.heard for call in far.calls] == [b"a", b"d", b"e"]
    assert near.calls == near6.calls == []
    for name in table:
        assert names.times(name, "A") == names.times(name, "AAAA") == 2, "once for each request"


def test_what_is_no_answer_of_a_name_server_is_passed_over_and_asked_for_again(net, place):
    good = b"\x81\x80\0\1\0\1\0\0\0\0"  # the rest of a header: one question, one answer
    question = b"\1%c\4test\0\0\1\0\1"
    address = b"\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1"
    answers = {
        "nothing": b"",
        "a header alone": good,
        "an answer that points at itself": good + question % b"b" + b"\xc0\x18" + address,
        "an answer that points out": good + question % b"c" + b"\xff\xff" + address,
        "an address of another length": good + question % b"d" + b"\xc0\x0c\0\1\0\1\0\0\0\0\0\2\x7f\0",
        "a length past the end": good + question % b"e" + b"\xc0\x0c\0\1\0\1\0\0\0\0\xff\xff\x7f\0\0\1",
        "counts of what is not there": b"\x81\x80\0\1\xff\xff\xff\xff\xff\xff" + question % b"f",
        "an address of another name": good + question % b"g" + b"\4evil\4test\0" + address,
        "another question": good + question % b"x" + b"\xc0\x0c" + address,
        "noise": bytes(range(256)) * 8,
    }
    table = {f"{chr(ord('a') + i)}.test": [each, [PUBLIC]] for i, each in enumerate(answers.values())}
    itself = good + b"\5round\4test\0\0\1\0\1\xc0\x0c\0\5\0\1\0\0\0\0\0\2\xc0\x0c"  # an alias
    table["round.test"] = [itself, []]
    table["lost.test"] = [None, [PUBLIC]]
    code = """
    answers = {}
    def one(name):
        answers[name] = through(name + ":8080", b"hello")
    threads = [threading.Thread(target=one, args=(each,)) for each in given]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    tell(answers)
    """
    rules = [word for name in table for word in ("--allow", f"{name}:8080")]
    with Names(net, table) as names, Far(net, echo, PUBLIC, 8080) as far, Far(net, swallow, "127.0.0.1", 8080) as near:
        ran = doors.run(net, place, [*rules, *names.option], code, list(table), timeout=60)
    assert ran.code == 0, ran
    assert ran.told.pop("round.test") == [502, "hotcell: round.test: the name has no address\n"], ran
    assert {name: answer for name, answer in ran.told.items() if answer != [200, "hello"]} == {}
    assert near.calls == [] and len(far.calls) == len(ran.told)


# ---- names ----


def test_a_denied_name_causes_no_question(net, place):
    denied = [
        "evil.test",
        "good.test.evil.test",
        "a.good.test",
        "localhost",
        "cell",
        "metadata.google.internal",
        "wild.test",
    ]
    requests = [form(f"{name}:{port}") for name in denied for port in (80, 443, 8080) for form in (connect, get)]
    requests += [connect("good.test:80"), get("good.test:8080"), get("good.test")]
    with Names(net, {name: [[PUBLIC]] for name in (*denied, "good.test")}) as names, Far(net, swallow, port=443) as far:
        told, ran = codes(net, place, ["--allow", "good.test", "--allow", "*.wild.test", *names.option], requests)
    assert set(told.values()) == {403}, told
    assert names.asked == [] and far.calls == []
    assert {each["reason"] for each in ran.verdicts} == {"not on the allowlist", "not on the allowlist with this port"}


def test_no_byte_but_those_of_names_is_in_a_name(net, place):
    good = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:"
    odd = [bytes([byte]) for byte in range(256) if byte not in good]
    odd += [
        each.encode()
        for each in (
            "\u3002",
            "\uff0e",
            "\uff61",
            "\u0430",
            "\uff47",
            "\u00ad",
            "\u200b",
            "%2e",
            "%00",
            "%",
            "\\",
            "@",
            "user@",
            "user:word@",
        )
    ]
    names_of = [
        b"good%s.test",
        b"go%sod.test",
        b"%sgood.test",
        b"good.test%s",
        b"evil%s.good.test",
        b"evil.test%s.good.test",
    ]
    requests = [form(name % each + b":443") for each in odd for name in names_of for form in (connect, get)]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, swallow, port=443) as far:
        told, ran = codes(net, place, ["--allow", "good.test", "--allow", "*.good.test", *names.option], requests)
    assert {each: code for each, code in told.items() if code not in (400, 403)} == {}
    # a '/' ends the host of a URL, which then is another one
    assert {each for each, code in told.items() if code == 403 and b"/" not in each.split(b" ")[1][7:]} == set()
    assert names.asked == [] and far.calls == []
    assert ran.result["network"]["requests"] == 0
    for each in ran.verdicts:
        assert re.fullmatch(r"[a-z0-9.-]*", each["name"]), "what is recorded is canonical"


def test_case_and_a_trailing_dot_make_no_other_name(net, place):
    same = ["good.test", "GOOD.TEST", "Good.Test.", "good.test.", "gOOD.tEST."]
    other = [
        "good.test..",
        ".good.test",
        "good..test",
        "..",
        ".",
        "-good.test",
        "good-.test",
        "g" * 64 + ".test",
        "a." * 127 + "test",
    ]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=8080) as far:
        told, ran = codes(
            net, place, ["--allow", "Good.TEST.:8080", *names.option], [get(f"{each}:8080") for each in same + other]
        )
    assert list(told.values()) == [200] * len(same) + [400] * len(other), told
    assert {name for name, _ in names.asked} == {"good.test"}
    assert {bytes(call.heard) for call in far.calls} == {
        b"GET / HTTP/1.1\r\nHost: good.test:8080\r\nConnection: close\r\n\r\n"
    }
    assert {each["name"] for each in ran.verdicts} == {"good.test", ""}


def test_names_are_compared_label_by_label(net, place):
    allowed = ["good.test", "a.wild.test", "a.b.wild.test"]
    denied = [
        "evilgood.test",
        "good.test.evil",
        "good.testing",
        "ood.test",
        "test",
        "good",
        "sub.good.test",
        "wild.test",
        "evilwild.test",
        "a.evilwild.test",
        "wild.test.evil",
        "a-wild.test",
    ]
    with Names(net, {name: [[PUBLIC]] for name in allowed + denied}) as names, Far(net, web, port=80):
        told, _ = codes(
            net,
            place,
            ["--allow", "good.test:80", "--allow", "*.wild.test:80", *names.option],
            [get(each) for each in allowed + denied],
        )
    assert list(told.values()) == [200] * len(allowed) + [403] * len(denied), told
    assert {name for name, _ in names.asked} == set(allowed)


def test_a_name_that_may_look_like_another_is_allowed_by_itself_only(net, place):
    denied = [
        "xn--god-0na.test",
        "a.xn--god-0na.test",
        "XN--GOD-0NA.test",
        "xn--80ak6aa92e.good.test",
        "a.xn--p1ai.good.test",
    ]
    table = {name.lower(): [[PUBLIC]] for name in (*denied, "xn--bcher-kva.test")}
    with Names(net, table) as names, Far(net, web, port=80):
        told, _ = codes(
            net,
            place,
            ["--allow", "*.good.test:80", "--allow", "xn--bcher-kva.test:80", *names.option],
            [form(each + ":80") for each in denied for form in (connect, get)] + [get("xn--bcher-kva.test")],
        )
    assert list(told.values()) == [400] * 2 * len(denied) + [200], told
    assert {name for name, _ in names.asked} == {"xn--bcher-kva.test"}


def test_a_user_in_a_target_is_refused(net, place):
    targets = [
        "user@good.test",
        "user:word@good.test",
        "good.test@evil.test",
        "evil.test%40good.test",
        "@good.test",
        "good.test:80@evil.test",
    ]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        told, _ = codes(
            net,
            place,
            ["--allow", "good.test:80", *names.option],
            [form(f"{each}:80") for each in targets for form in (connect, get)] + [get(each) for each in targets],
        )
    assert set(told.values()) == {400}, told
    assert names.asked == [] and far.calls == []


def test_only_the_port_of_the_rule_is_reached(net, place):
    refused = {"22": 403, "80": 403, "444": 403, "4430": 403, "65535": 403}
    nonsense = [
        "0",
        "99999",
        "65536",
        "0443",
        "00443",
        "+443",
        "-443",
        "443x",
        "x443",
        "0x1bb",
        "4294967739",
        "18446744073709552059",
        "",
        " 443",
        "443 ",
        "443:443",
        "443:",
        ":443",
        "\uff14\uff14\uff13",
        "443%20",
        "443/",
        "1e2",
    ]
    ports = [*refused, *nonsense]
    with (
        Names(net, {"good.test": [[PUBLIC]]}) as names,
        Far(net, swallow, port=443) as far,
        Far(net, swallow, port=22) as far22,
    ):
        told, _ = codes(
            net, place, ["--allow", "good.test:443", *names.option], [connect(f"good.test:{port}") for port in ports]
        )
        assert list(told.values()) == [*refused.values()] + [400] * len(nonsense), told
        told, _ = codes(
            net,
            place,
            ["--allow", "good.test:443", *names.option],
            [get(f"good.test:{port}") for port in ports if "/" not in port],
        )
        assert set(told.values()) <= {400, 403}, told
        told, _ = codes(
            net,
            place,
            ["--allow", "good.test:443", *names.option],
            [connect("good.test"), b"CONNECT good.test HTTP/1.1\r\nHost: good.test\r\n\r\n"],
        )
        assert set(told.values()) == {400}
    assert names.asked == [] and far.calls == far22.calls == []

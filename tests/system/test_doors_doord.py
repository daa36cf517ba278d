"""The process that serves doors: who is slow or wants too much, what happens when it dies, and what it has."""

import json
import os
import random
import resource
import signal
import socket

import pytest

import doors
import harness
from campaigns import prove_accounting, sessions
from doors import PUBLIC, Far, Names, client_hello, codes, echo, server_name, swallow, web
from harness import IS_ROOT, Live, eventually, hotcell, lives, slurp, stat_of

# ---- too much, too slow ----


def test_a_head_that_is_too_large_is_refused(net, place):
    line = b"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"
    requests = [
        line + b"X: " + b"a" * 9000 + b"\r\n\r\n",
        line + b"".join(b"X%d: a\r\n" % i for i in range(150)) + b"\r\n",
        line + b"X: " + b"a" * 500_000,
        b"GET http://good.test/" + b"a" * 9000 + b" HTTP/1.1\r\nHost: good.test\r\n\r\n",
        b"A" * 20_000,
        b"CONNECT " + b"a" * 20_000,
    ]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        told, _ = codes(net, place, ["--allow", "good.test:80", *names.option], [*requests, line + b"\r\n"])
    assert list(told.values()) == [431] * len(requests) + [200], told.values()
    assert len(far.calls) == 1


def test_who_is_slow_is_ended_while_others_are_served(net, place):
    """A byte a second, and silence, at each place where a door waits for something to be said."""
    code = """
    ends, served = {}, []
    def slow(name, connection, data):
        try:
            for byte in data * 60:
                connection.sendall(bytes([byte]))
                if select.select([connection], [], [], 1)[0]:
                    break
        except OSError:
            pass
        ends[name] = status(rest(connection))
    def silent(name, connection):
        ends[name] = status(rest(connection))
    threads = [
        threading.Thread(target=slow, args=("a head", call(), b"GET http://good.test/ HTTP/1.1")),
        threading.Thread(target=silent, args=("silence", call())),
        threading.Thread(target=slow, args=("a hello", tunnel("good.test:443")[1], bytes.fromhex(given))),
        threading.Thread(target=silent, args=("a silent tunnel", tunnel("good.test:443")[1])),
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        served.append(status(ask(get_request("http://good.test/"))))
        time.sleep(0.5)
    tell([ends, sorted(set(served)), len(served)])
    """
    rules = ["--allow", "good.test:80", "--allow", "good.test:443"]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80), Far(net, swallow, port=443) as far:
        ran = doors.run(
            net, place, [*rules, *names.option], code, client_hello(server_name(b"good.test")).hex(), timeout=60
        )
    assert ran.code == 0, ran
    ends, served, count = ran.told
    assert (ends["a head"], ends["silence"]) == (408, 408), ran
    assert ends["a hello"] in ("", "!ECONNRESET") and ends["a silent tunnel"] in ("", "!ECONNRESET"), ran
    assert served == [200] and count > 5
    assert far.heard == b"" and len(far.calls) == 2
    reasons = sorted(each["reason"] for each in ran.verdicts if each["verdict"] == "refused")
    assert reasons == ["nothing was said in the tunnel"] * 2 + ["the request took too long"] * 2


@pytest.fixture
def many_files():
    """As many descriptors as there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_connections_of_one_cell_leave_another_its_own(net, place, signals, many_files):
    """Two runs of a campaign, which one process serves. The first takes all it can get."""
    most = min(1024, many_files // 3 // 3)  # two runs, and a share for what else is open
    code = """
    def greedy(number):
        held = [socket.socket() for _ in range(850)]
        for made in held:
            made.setblocking(False)
            made.connect_ex(PROXY)
        signal(f"greedy{number}")
        waiting = set(held)
        while not os.path.exists("/signals/over"):
            for made in select.select([], waiting, [], 0.2)[1]:
                waiting.discard(made)
                made.send(connect_request("far.test:8080"))
        os._exit(0)

    if os.environ["HOTCELL_RUN"] == "1":
        children = [os.fork() or greedy(number) for number in range(12)]
        wait_for("over")
        for child in children:
            os.waitpid(child, 0)
    else:
        wait_for("go")
        answers = [through("good.test:8081", b"hello") for _ in range(50)]
        assert answers == [(200, "hello")] * 50, answers
    """
    options = ["--runs", "2", "--workers", "2", "--name", "greed", "--plain", "--timeout", "100s", "--open-files", "2048"]
    options += ["--allow", "far.test:8080", "--allow", "good.test:8081", "--mount", f"{signals}:/signals:rw"]
    table = {"far.test": [[PUBLIC]], "good.test": [[PUBLIC]]}
    with Names(net, table, ttl=60) as names, Far(net, None, port=8080) as far, Far(net, echo, port=8081) as good:
        arguments = doors.arguments(place, [*options, *names.option], code, log=False)
        with Live("run", *arguments, verb="campaign", cwd=place, preexec_fn=net.enter) as live:
            assert eventually(lambda: len(list(signals.glob("greedy*"))) == 12, 60), bytes(live.err)
            assert far.wait_for(lambda: len(far.calls) >= most, 60), (len(far.calls), bytes(live.err))
            (signals / "go").touch()
            assert good.wait_for(lambda: len(good.calls) == 50, 60), (len(good.calls), bytes(live.err))
            assert len(far.calls) == most
            (signals / "over").touch()
            ran = live.finish(60)
    assert ran.code == 0, ran
    assert set(prove_accounting(place, "greed", 2).values()) == {"SUCCESS"}
    assert good.heard == b"hello" * 50
    recorded = [slurp(folder / "network.jsonl").splitlines() for _, folder in sorted(sessions(place).items())]
    assert len(recorded[0]) >= most and len(recorded[1]) == 50


def at_once(count):
    """A script that calls so many times at once, and tells the answers."""
    return f"""
    def one(number):
        answers[number] = through("good.test:8080", b"hello")
    answers = [None] * {count}
    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(answers))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    tell(answers)
    """


def test_with_few_descriptors_all_is_served_in_turn(net, place):
    """More connections than doord has descriptors. Two processes make them: where root may not raise the limit, each
    has half of it."""

    def few():
        net.enter()
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    code = """
    read, write = os.pipe()
    child = os.fork() == 0
    def one(number):
        answers[number] = through("good.test:8080", b"hello")
    answers = [None] * 100
    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(answers))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if child:
        os.write(write, json.dumps(answers).encode())
        os._exit(0)
    os.close(write)
    tell(answers + json.loads(os.read(read, 65536)))
    """
    options = ["--allow", "good.test:8080", "--open-files", "256", "--processes", "250"]
    with Names(net, {"good.test": [[PUBLIC]]}, ttl=60) as names, Far(net, port=8080) as far:
        ran = harness.run(*doors.arguments(place, [*options, *names.option], code), preexec_fn=few)
    assert ran.code == 0 and json.loads(ran.out) == [[200, "hello"]] * 200, ran
    assert len(far.calls) == 200 and ran.own == []


def test_many_that_ask_for_one_name_at_once_are_one_question(net, place):
    """Else one cell drowns the name server of all. The first question is not answered, so that all wait for it."""
    with Names(net, {"good.test": [None, [PUBLIC]]}) as names, Far(net, port=8080) as far:
        ran = doors.run(net, place, ["--allow", "good.test:8080", *names.option], at_once(60))
    assert ran.told == [[200, "hello"]] * 60 and len(far.calls) == 60, ran
    assert 2 <= names.times("good.test") < 20, names.asked


def test_who_comes_and_goes_at_any_moment_does_no_harm(net, place):
    """Clients and servers that end in every way, in the midst of everything."""
    code = """
    import random
    hello = bytes.fromhex(given)
    flows = [
        [connect_request("good.test:443"), hello, b"x" * 5000],
        [connect_request("good.test:8080"), b"y" * 100_000],
        [b"POST http://good.test:8080/ HTTP/1.1\\r\\nHost: good.test:8080\\r\\nContent-Length: 70000\\r\\n\\r\\n", b"z" * 70000],
        [connect_request("slow.test:8080"), hello],
        [connect_request("evil.test:443"), hello],
    ]
    def one(draw):
        made = call()
        made.settimeout(0.05)
        how = draw.randrange(4)
        try:
            for piece in draw.choice(flows):
                end = draw.choice([len(piece), draw.randrange(len(piece))])
                made.sendall(piece[:end])
                if end < len(piece) or draw.random() < 0.2:
                    break
                if draw.random() < 0.7:
                    made.recv(draw.choice([1, 65536]))
            if how < 2:
                made.shutdown([socket.SHUT_WR, socket.SHUT_RD][how])
        except OSError:
            pass
        if how == 2:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
        made.close()
    def many(seed):
        draw = random.Random(seed)
        for _ in range(60):
            one(draw)
    threads = [threading.Thread(target=many, args=(seed,)) for seed in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    tell(through("good.test:8081", b"hello"))
    """
    draw = random.Random(1)

    def moody(call):
        call.connection.settimeout(0.2)
        for _ in range(draw.randrange(4)):
            call.read()
            call.send(b"HTTP/1.1 200 OK\r\n\r\n"[: draw.randrange(20)])
        if draw.random() < 0.5:
            call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    rules = [
        word
        for name in ("good.test:443", "good.test:8080", "good.test:8081", "slow.test:8080")
        for word in ("--allow", name)
    ]
    table = {"good.test": [[PUBLIC]], "slow.test": [None]}
    with Names(net, table) as names, Far(net, moody, port=443), Far(net, moody, port=8080), Far(net, echo, port=8081):
        given = client_hello(server_name(b"good.test")).hex()
        ran = doors.run(net, place, [*rules, *names.option], code, given, timeout=60)
    assert ran.told == [200, "hello"], ran
    counts = ran.result["network"]
    assert counts["requests"] > 50 and counts["refused"] > 20, counts
    assert ("evil.test", "A") not in names.asked


# ---- when the process that serves them dies ----


def test_when_doord_dies_all_is_closed_until_another_serves_the_same_policy(net, place, signals):
    code = """
    _, held = tunnel("good.test:8080")
    held.sendall(b"held")
    held.recv(99)
    begun = call()
    begun.sendall(b"GET http://good.test:8080/ HTTP/1.1")
    signal("ready")
    ends = [rest(held).decode(), rest(begun).decode()]
    late = [call(), call()]
    late[0].sendall(get_request("http://good.test:8080/late"))
    late[1].sendall(get_request("http://evil.test/"))
    unanswered = select.select(late, [], [], 0.5)[0] == []
    free = [bind(PROXY), bind(PROXY, socket.SO_REUSEADDR), bind(("", 3128), socket.SO_REUSEADDR)]
    free += [bind(PROXY, socket.SO_REUSEADDR, socket.SO_REUSEPORT)]
    signal("closed")
    wait_for("again")
    answers = [status(rest(each)) for each in late]
    tell([ends, unanswered, free, answers, through("good.test:8080", b"again"), status(ask(get_request("http://evil.test/"))),
        bind(PROXY, socket.SO_REUSEADDR, socket.SO_REUSEPORT)])
    """
    options = ["--allow", "good.test:8080", "--mount", f"{signals}:/signals:rw"]

    def serve(call):
        web(call) if call.read().startswith(b"GET") else call.send(call.heard) or echo(call)

    with Names(net, {"good.test": [[PUBLIC]], "evil.test": [[PUBLIC]]}) as names, Far(net, serve, port=8080) as far:
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            first = doors.doord_of(live.pid)
            os.kill(live.pid, signal.SIGSTOP)  # nobody starts another one for now
            os.kill(first, signal.SIGKILL)
            assert eventually((signals / "closed").exists, 20), bytes(live.err)
            assert len(far.calls) == 1 and far.wait_for(lambda: far.calls[0].ended), "what was open has ended"
            os.kill(live.pid, signal.SIGCONT)
            (signals / "again").touch()
            ran = live.finish(30)
    assert ran.code == 0, ran
    ends, unanswered, free, answers, again, evil, last = json.loads(ran.out)
    assert ends[0] in ("", "!ECONNRESET") and ends[1] in ("", "!ECONNRESET"), ran
    assert unanswered and free == ["EADDRINUSE"] * 4, ran
    assert answers == [200, 403] and again == [200, "again"] and evil == 403 and last == "EADDRINUSE", ran
    assert {name for name, _ in names.asked} == {"good.test"}
    assert [each for each in ran.own if "serves doors died" in each], ran
    verdicts = [each["verdict"] for each in doors.verdicts(place)]
    assert verdicts.count("allowed") == 2 and verdicts.count("refused") == 2, "of what it died with, nothing"


def test_what_was_used_up_is_remembered_when_doord_dies(net, place, signals):
    code = """
    before = [status(ask(get_request("http://good.test/"))) for _ in range(2)]
    signal("ready")
    wait_for("again")
    tell(before + [status(ask(get_request("http://good.test/"))) for _ in range(2)])
    """
    options = ["--allow", "good.test:80", "--budget", "requests=3", "--mount", f"{signals}:/signals:rw"]
    with Names(net, {"good.test": [[PUBLIC]]}) as names, Far(net, web, port=80) as far:
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            os.kill(doors.doord_of(live.pid), signal.SIGKILL)
            (signals / "again").touch()
            ran = live.finish(30)
    assert json.loads(ran.out) == [200, 200, 200, 429], ran
    assert len(far.calls) == 3
    assert ran.result["network"]["requests"] == 3 and ran.result["network"]["budget"], ran


def test_however_often_doord_dies_nothing_is_ever_let_through(net, place, signals):
    code = """
    evil, good = set(), set()
    signal("ready")
    while not os.path.exists("/signals/over"):
        evil.add(status(ask(get_request("http://evil.test/"))))
        good.add(status(ask(get_request("http://good.test/"))))
    tell([sorted(map(str, evil)), sorted(map(str, good)), status(ask(get_request("http://good.test/")))])
    """
    options = ["--allow", "good.test:80", "--mount", f"{signals}:/signals:rw"]
    with Names(net, {"good.test": [[PUBLIC]], "evil.test": [[PUBLIC]]}) as names, Far(net, web, port=80):
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            dead = set()
            for _ in range(3):
                dead.add(doors.doord_of(live.pid))
                os.kill(max(dead, key=lambda pid: stat_of(pid) is not None), signal.SIGKILL)
                assert eventually(lambda: doors.doords_of(live.pid) - dead, 20), bytes(live.err)
            (signals / "over").touch()
            ran = live.finish(30)
    assert len(dead) == 3 and not any(stat_of(pid) for pid in dead)
    evil, good, last = json.loads(ran.out)
    assert last == 200 and "200" in good and "403" in evil, ran
    assert set(evil) <= {"403", "", "!ECONNRESET", "!EPIPE"} and set(good) <= {"200", "", "!ECONNRESET", "!EPIPE"}, ran
    assert {name for name, _ in names.asked} == {"good.test"}


def test_doord_is_held_by_less_than_any_program_has(net, place, signals):
    options = ["--allow", "good.test", "--mount", f"{signals}:/signals:rw"]
    code = "signal('ready')\nwait_for('over')\n"
    with Names(net, {}) as names:
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            pid = doors.doord_of(live.pid)
            status = dict(line.split(":", 1) for line in slurp(f"/proc/{pid}/status").decode().splitlines())
            status = {key: value.split() for key, value in status.items()}
            environment, files = slurp(f"/proc/{pid}/environ"), descriptors(pid)
            arguments = slurp(f"/proc/{pid}/cmdline")
            (signals / "over").touch()
            ran = live.finish(30)
    assert ran.code == 0, ran
    sanitized = "ASAN_OPTIONS" in os.environ  # which needs more calls, and a variable
    assert status["NoNewPrivs"] == ["1"] and status["Seccomp"] == ["0" if sanitized else "2"], status
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[kind][0], 16) == 0, kind
    assert len(set(status["Uid"])) == len(set(status["Gid"])) == 1
    assert status["Threads"] == ["1"] and arguments == b"hotcell-doord\0"
    if IS_ROOT:
        assert (
            int(status["Uid"][0]) > 1_000_000_000 and int(status["Gid"][0]) > 1_000_000_000 and status["Groups"] == []
        )
        assert environment == b"" or sanitized
        places = [each for each in files if each.startswith("/")]
        assert set(places) <= {"/dev/null", str(place / "network.jsonl")}, files
    else:
        assert status["Uid"][0] == str(os.getuid())
        assert environment is None and files is None, "nobody of the same user looks into it"
    assert eventually(lambda: not lives(pid))


def descriptors(pid):
    try:
        return [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    except PermissionError:
        return None


def test_doord_does_not_outlive_its_supervisor(net, place, signals):
    options = ["--allow", "good.test", "--mount", f"{signals}:/signals:rw"]
    with Names(net, {}) as names:
        code = "signal('ready')\nwait_for('over')\n"
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            pid = doors.doord_of(live.pid)
            live.process.kill()
            assert eventually(lambda: not lives(pid))
    hotcell("ps")  # which sweeps away the control socket of one that was killed


def test_a_doord_that_hangs_keeps_no_run_from_ending(net, place, signals):
    options = ["--allow", "good.test", "--mount", f"{signals}:/signals:rw"]
    code = "signal('ready')\nwait_for('over')\n"
    with Names(net, {}) as names:
        with Live(*doors.arguments(place, [*options, *names.option], code), preexec_fn=net.enter) as live:
            assert eventually((signals / "ready").exists, 20), bytes(live.err)
            pid = doors.doord_of(live.pid)
            os.kill(pid, signal.SIGSTOP)
            (signals / "over").touch()
            ran = live.finish(30)
    assert ran.code == 0 and ran.outcome == "exited", ran
    assert [each for each in ran.own if "does not answer" in each], ran
    assert stat_of(pid) is None


def test_a_budget_that_is_raised_opens_nothing_else(net, place, signals):
    """The process that serves doors is told the new budget, and nothing that is open is closed."""
    code = """
    _, held = tunnel("good.test:8080")
    held.sendall(b"held")
    held.recv(99)
    before = [status(ask(get_request("http://good.test/"))) for _ in range(2)]
    signal("spent")
    evil, good = set(), None
    while good != 200:
        evil.add(status(ask(get_request("http://evil.test/"))))
        good = status(ask(get_request("http://good.test/")))
    signal("raised")
    held.sendall(b"more")
    print(json.dumps([before, sorted(map(str, evil)), held.recv(99).decode()]))
    """
    options = ["--runs", "1", "--workers", "1", "--name", "raise", "--plain", "--budget", "requests=2", "--on-budget", "pause"]
    options += ["--allow", "good.test:80", "--allow", "good.test:8080", "--mount", f"{signals}:/signals:rw"]
    table = {"good.test": [[PUBLIC]], "evil.test": [[PUBLIC]]}
    with Names(net, table) as names, Far(net, web, port=80), Far(net, port=8080):
        arguments = doors.arguments(place, [*options, *names.option], code, log=False)
        with Live("run", *arguments, verb="campaign", cwd=place, preexec_fn=net.enter) as live:
            assert eventually((signals / "spent").exists, 20), bytes(live.err)
            raising = ["campaign", "resume", "raise", "--budget", "requests=1000"]
            assert eventually(lambda: hotcell(*raising, cwd=place).code == 0, 20), "once it is paused, as the ledger says"
            assert eventually((signals / "raised").exists, 20), (bytes(live.out), bytes(live.err))
            ran = live.finish(30)
    assert ran.code == 0, ran
    [said] = [slurp(folder / "stdout.log") for folder in sessions(place).values()]
    before, evil, held = json.loads(said)
    assert before == [200, 429] and held == "more", said
    assert evil == ["403"], said
    assert {name for name, _ in names.asked} == {"good.test"}

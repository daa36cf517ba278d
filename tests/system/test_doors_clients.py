"""Programs that people really use work through doors as they are: curl, Python's requests, git, psql, Node's fetch, and
Squid behind our proxy. Claude Code has test_doors_claude.py. Everything they reach is started here, on loopback."""

import subprocess
from pathlib import Path

import pytest

from clients import NPM, Outside, Squid, as_account, free_port, own_folder, script, verdicts
from harness import eventually, run, slurp


@pytest.fixture(scope="module")
def authority(scratch):
    """(certificates to trust, (certificate, key) of web.test), signed by an authority that only these tests know."""
    folder = scratch / "web-authority"
    folder.mkdir(mode=0o755)

    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=authority of a test")
    openssl("req", "-x509", *key, "-keyout", "web.key", "-out", "web.crt", "-subj", "/CN=web.test", "-CA", "ca.crt", "-CAkey",
            "ca.key", "-addext", "subjectAltName=DNS:web.test", "-addext", "basicConstraints=critical,CA:FALSE")
    return folder / "ca.crt", (folder / "web.crt", folder / "web.key")


@pytest.fixture
def outside(place, authority):
    made = Outside(place / "outside", authority)
    yield made
    made.close()


# ---- curl ----


def test_curl_reaches_an_allowed_name_with_and_without_tls_and_no_other(place, outside):
    out = place / "out"
    tries = "\n".join(f"curl -sS --cacert /ca.crt {url}; echo \"exit $?\"" for url in (
        outside.url(), outside.plain_url(), outside.url(host="other.test"), outside.plain_url(host="other.test")))
    ran = run(*outside.doors, "--output", out, "--", "/bin/sh", "-c", tries)
    assert ran.lines == [
        "a page from outside", "exit 0", "a page from outside", "exit 0", "exit 56",
        "hotcell: other.test: not on the allowlist", "exit 0"], ran
    assert b"CONNECT tunnel failed, response 403" in ran.err, ran
    tls, plain = outside.tls.port, outside.plain.port
    assert verdicts(out) == sorted(
        ("proxy", name, port, *verdict) for port in (tls, plain)
        for name, verdict in (("web.test", ("allowed", "")), ("other.test", ("refused", "not on the allowlist"))))
    assert set(outside.names.asked) == {"web.test"}
    assert outside.tls.seen == outside.plain.seen == [("GET", "/page")]


def test_curl_sends_and_receives_much_through_a_tunnel_and_through_the_proxy(place, outside):
    make = "head -c 8000000 /dev/urandom >sent"
    send = "curl -sS --cacert /ca.crt --data-binary @sent -o came-{0} {1}"
    ran = run(*outside.doors, "--output", place / "out", "--", "/bin/sh", "-ec", "\n".join((
        make, send.format("tls", outside.url()), send.format("plain", outside.plain_url()), "cmp sent came-tls",
        "cmp sent came-plain")))
    assert ran.code == 0, ran
    assert ran.result["network"]["sent"] >= 16000000 and ran.result["network"]["received"] >= 16000000, ran.result["network"]


# ---- Python ----


def test_python_requests_follows_the_proxy_variables(place, outside):
    import requests

    site = Path(requests.__file__).parents[1]
    options = script(place, "fetch.py", f"""
        import requests
        session = requests.Session()
        for url in ("{outside.url()}", "{outside.plain_url()}"):
            for _ in range(2):
                answer = session.get(url)
                print(answer.status_code, answer.text.strip())
        print(answer.headers["connection"]) # the proxy closes, whatever the server said
        print(session.post("{outside.url()}", data=b"posted").text)
        try:
            requests.get("{outside.url(host='other.test')}")
        except requests.exceptions.ProxyError as error:
            print("403" in str(error))
        print(requests.get("{outside.plain_url(host='other.test')}").status_code)
        """)
    ran = run(*outside.doors, *options, "--output", place / "out", "--mount", f"{site}:/site", "--env", "PYTHONPATH=/site",
              "--env", "REQUESTS_CA_BUNDLE=/ca.crt", "--", "/usr/bin/python3", "/scripts/fetch.py")
    assert ran.lines == ["200 a page from outside"] * 4 + ["close", "posted", "True", "403"], ran
    assert [line[1:4:2] for line in verdicts(place / "out") if line[1] == "other.test"] == [("other.test", "refused")] * 2


# ---- git ----


def test_git_over_https_is_refused_for_a_name_that_is_not_allowed(place, outside):
    bare = outside.folder / "some.git"
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@web.test", "-c", "safe.directory=*"]
    source = place / "source"
    for command in (["init", "-q", "-b", "main", source], ["-C", source, "commit", "-q", "--allow-empty", "-m", "first"],
                    ["clone", "-q", "--bare", source, bare], ["-C", bare, "update-server-info"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    # in the same words, first a name that is allowed: so it is the name that is refused, not git
    tries = f"""git clone -q {outside.url('some.git')} here && git -C here log --format=%s; echo "exit $?"
        git clone -q {outside.url('some.git', 'other.test')} there; echo "exit $?"
        git clone -q https://github.com/some/thing.git thing; echo "exit $?" """
    ran = run(*outside.doors, "--output", place / "out", "--env", "GIT_SSL_CAINFO=/ca.crt", "--env", "GIT_TERMINAL_PROMPT=0",
              "--", "/bin/sh", "-c", tries)
    assert ran.lines == ["first", "exit 0", "exit 128", "exit 128"], ran
    assert ran.err.count(b"CONNECT tunnel failed, response 403") == 2, ran
    assert b"hotcell: 2 connections refused at the doors" in ran.err, ran
    assert [line for line in verdicts(place / "out") if line[3] == "refused"] == [
        ("proxy", "github.com", 443, "refused", "not on the allowlist"),
        ("proxy", "other.test", outside.tls.port, "refused", "not on the allowlist")]
    assert set(outside.names.asked) == {"web.test"}


# ---- psql ----


@pytest.fixture
def postgres(place):
    """(port, folder of the socket) of a database server of its own, user and database 'quest', password 'swordfish'."""
    [programs] = [max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))]
    folder = own_folder(place / "pg", "postgres")
    (place / "password").write_text("swordfish\n")

    def call(program, *args):
        subprocess.run([*as_account("postgres"), programs / program, *args], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, cwd=folder, timeout=60)

    call("initdb", "-D", folder / "data", "-U", "quest", "-A", "scram-sha-256", "--pwfile", place / "password", "--no-sync",
         "-E", "UTF8", "--no-locale")
    port = free_port()  # now: what takes one meanwhile may be given the same
    call("pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o",
         f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off", "start")
    yield port, folder
    call("pg_ctl", "-D", folder / "data", "-w", "-m", "immediate", "stop")


def test_psql_uses_a_server_by_address_and_by_socket_under_the_same_name(place, postgres):
    port, folder = postgres
    sql = """create table if not exists found (seed bigint, note text);
        insert into found select n, repeat('x', 1000) from generate_series(1, 3000) n;
        copy found to stdout;
        select 'rows', count(*) from found"""
    for at, (target, rows) in enumerate(((f"127.0.0.1:{port}", 3000), (f"unix:{folder}/.s.PGSQL.{port}", 6000))):
        out = place / f"out-{at}"
        ran = run("--service", f"quest-postgres-test:5432={target}", "--output", out, "--env", "PGPASSWORD=swordfish", "--",
                  "psql", "-h", "quest-postgres-test", "-U", "quest", "-d", "postgres", "-At", "-c", sql)
        assert ran.code == 0 and ran.lines[-1] == f"rows|{rows}" and len(ran.lines) >= rows, ran
        assert verdicts(out) == [("quest-postgres-test", "quest-postgres-test", 5432, "allowed", "")]
        assert ran.result["network"]["received"] > rows * 1000


def test_psql_is_told_when_nothing_is_behind_its_door(place):
    ran = run("--service", f"quest-postgres-test:5432=127.0.0.1:{free_port()}", "--output", place / "out", "--",
              "psql", "-h", "quest-postgres-test", "-U", "quest", "-d", "postgres", "-c", "select 1")
    assert ran.code == 2 and b"quest-postgres-test" in ran.err, ran
    assert b"hotcell: 1 connection let out, but nothing was reached\n" in ran.err, ran
    assert verdicts(place / "out")[0][3:] == ("failed", "connection refused")


# ---- Node ----


def node_follows_proxies():
    """Whether this Node's own fetch can be told of proxies by variables at all."""
    said = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, said.split(".")[:2])
    return major >= 24 or (major, minor) >= (22, 21) and major == 22


def test_nodes_fetch_reaches_a_service_by_name(place, outside):
    options = script(place, "fetch.mjs", """
        const answer = await fetch('http://quest-web:8080/page');
        console.log(answer.status, (await answer.text()).trim());
        const body = 'x'.repeat(3000000);
        const back = await fetch('http://quest-web:8080/', {method: 'POST', body});
        console.log((await back.text()) === body);
        """)
    ran = run("--service", f"quest-web:8080=127.0.0.1:{outside.plain.port}", *options, "--memory", "2G",
              "--", "node", "/scripts/fetch.mjs")
    assert ran.lines == ["200 a page from outside", "true"], ran


def test_nodes_fetch_goes_through_the_proxy_with_undici_and_by_itself_where_node_can(place, outside):
    """Nodes before 22.21 and 24 have no way of their own to a proxy: without one they reach nothing, as everybody."""
    fetch = """
        const tries = process.argv.slice(2);
        for (const url of tries) {
            try {
                const answer = await fetch(url);
                console.log(answer.status, (await answer.text()).trim());
            } catch (error) {
                console.log('failed');
            }
        }
        """
    script(place, "plain.mjs", fetch)
    options = script(place, "undici.mjs", """
        import {EnvHttpProxyAgent, setGlobalDispatcher} from '/npm/undici/index.js';
        setGlobalDispatcher(new EnvHttpProxyAgent());
        """ + fetch)
    for name, works in (("undici", True), ("plain", node_follows_proxies())):
        out = place / name
        ran = run(*outside.doors, *options, "--output", out, "--mount", f"{NPM}:/npm", "--memory", "2G",
                  "--env", "NODE_EXTRA_CA_CERTS=/ca.crt", "--", "node", f"/scripts/{name}.mjs",
                  outside.url(), outside.plain_url(), outside.url(host="other.test"))
        assert ran.lines == (["200 a page from outside"] * 2 if works else ["failed"] * 2) + ["failed"], ran
        assert sorted(line[3] for line in verdicts(out)) == (["allowed", "allowed", "refused"] if works else [])
    assert set(outside.names.asked) == {"web.test"}


# ---- Squid ----


def test_a_real_squid_upstream_carries_what_we_allow_and_never_hears_of_what_we_refuse(place, outside):
    squid = Squid(place / "squid", ["web.test", "other.test"])
    try:
        tls, plain = outside.tls.port, outside.plain.port
        tries = "\n".join(f"curl -sS --cacert /ca.crt -o got-{at} {url}; echo \"exit $?\"" for at, url in enumerate((
            outside.url(), outside.plain_url(), outside.url(host="other.test"), outside.plain_url(host="other.test"))))
        ran = run(*outside.doors, "--upstream-proxy", f"http://127.0.0.1:{squid.port}", "--output", place / "out",
                  "--", "/bin/sh", "-c", tries)
        assert ran.lines == ["exit 0", "exit 0", "exit 56", "exit 0"], ran
        for name in ("got-0", "got-1"):
            assert (place / "out" / name).read_text() == "a page from outside\n"
        assert sorted(line[3] for line in verdicts(place / "out")) == ["allowed", "allowed", "refused", "refused"]
        # a tunnel's line is written when it has ended
        assert eventually(lambda: len(squid.log()) >= 2, 10)
    finally:
        squid.close()
    assert sorted(squid.log()) == sorted(("CONNECT", f"web.test:{port}") for port in (tls, plain))
    assert b"other.test" not in slurp(place / "squid" / "access.log")
    assert outside.tls.seen == outside.plain.seen == [("GET", "/page")]

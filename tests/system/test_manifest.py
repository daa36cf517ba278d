"""Manifests: what is in a folder, what changed since, and runs that refuse a changed target."""

import json
import os
import random
import signal
import socket
import subprocess
import time

import pytest

from campaigns import Supervisor, campaign, ledger_rows
from harness import HOTCELL, IS_ROOT, environment, hotcell, refused, run, small_disk

NAME = "MANIFEST.json"


def create(folder, *more):
    ran = hotcell("manifest", "create", *more, folder)
    assert ran.code == 0, ran
    return (folder / NAME).read_bytes()


def verify(folder, code):
    """{path: difference}, and what is said of each."""
    ran = hotcell("manifest", "verify", folder)
    assert ran.code == code and ran.err == b"", ran
    told = json.loads(hotcell("manifest", "verify", "--json", folder).out)
    assert told["same"] == (code == 0)
    found = {each["path"]: (each["difference"], each["text"]) for each in told["differences"]}
    counts = {name: sum(name == what for what, _ in found.values()) for name in ("added", "removed", "changed", "unreadable")}
    assert {name: told[name] for name in counts} == counts
    *lines, last = ran.out.decode().splitlines()
    assert lines == [f"{what:<10}  {path}: {text}" for path, (what, text) in found.items()]
    assert last.startswith(f"{folder}: ")
    return found


@pytest.fixture
def target(place):
    folder = place / "target"
    (folder / "src").mkdir(parents=True)
    (folder / "src/a.c").write_text("int a;\n")
    (folder / "src/b.c").write_text("int b;\n")
    (folder / "run").write_text("#!/bin/sh\necho ran\n")
    (folder / "run").chmod(0o755)
    (folder / "latest").symlink_to("src/a.c")
    return folder


# ---- create and verify ----


def test_a_folder_that_did_not_change_is_as_its_manifest_says(target):
    first = create(target)
    assert verify(target, 0) == {}
    entries = {each["path"]: each for each in json.loads(first)["entries"]}
    assert list(entries) == sorted(entries) == ["latest", "run", "src", "src/a.c", "src/b.c"]
    summed = subprocess.run(["sha256sum", target / "run"], capture_output=True, check=True).stdout.split()[0].decode()
    assert entries["run"] == {"path": "run", "kind": "file", "mode": "0755", "size": 19, "sha256": summed}
    assert entries["latest"] == {"path": "latest", "kind": "link", "target": "src/a.c"}
    assert create(target, "--force") == first, "the same folder gives the same bytes"


def test_a_copy_elsewhere_has_the_same_manifest(target, place):
    first = create(target)
    subprocess.run(["cp", "-r", "--preserve=mode", target, place / "copy"], check=True)
    assert verify(place / "copy", 0) == {}
    assert create(place / "copy", "--force") == first


def test_a_folder_changed_with_its_manifest_is_found_by_a_sum_kept_elsewhere(target):
    made = hotcell("manifest", "create", target)
    kept = json.loads((target / NAME).read_bytes())["manifest_sha256"]
    assert made.out.decode().endswith(f", manifest_sha256 {kept}\n"), made
    same = hotcell("manifest", "verify", "--sha256", kept, target)
    assert same.code == 0 and same.err == b"" and kept.encode() in same.out, same
    assert run("--manifest", f"{target}@sha256:{kept}", "--", "/bin/true").code == 0
    (target / "src/a.c").write_text("int evil;\n")
    create(target, "--force")
    assert verify(target, 0) == {}
    for words in ([], ["--json"]):
        other = hotcell("manifest", "verify", *words, "--sha256", kept, target)
        assert other.code == 1 and b"is not the one that was meant" in other.err, other
    told = json.loads(other.out)
    assert told["same"] is False and told["manifest_sha256"] != kept and told["differences"] == []
    assert "is not the one that was meant" in refused(run("--manifest", f"{target}@sha256:{kept}", "--", "/bin/true"))


@pytest.mark.parametrize("sum_of", ["", "0" * 63, "G" * 64, "0" * 65, "é" * 32])
def test_what_is_no_sum_is_refused(target, sum_of):
    create(target)
    assert hotcell("manifest", "verify", "--sha256", sum_of, target).code == 2
    refused(run("--manifest", f"{target}@sha256:{sum_of}", "--", "/bin/true"), codes=(2,))


def replace(path, make):
    path.unlink()
    make(path)


CHANGES = {
    "contents": (lambda t: (t / "src/a.c").write_text("int b;\n"), {"src/a.c": ("changed", "contents")}),
    "size": (lambda t: (t / "src/a.c").write_text("int"), {"src/a.c": ("changed", "size 7 -> 3")}),
    "mode": (lambda t: (t / "run").chmod(0o644), {"run": ("changed", "mode 0755 -> 0644")}),
    "mode of a folder": (lambda t: (t / "src").chmod(0o700), {"src": ("changed", "mode 0755 -> 0700")}),
    "added": (lambda t: (t / "src/.hidden").write_text(""), {"src/.hidden": ("added", "a file")}),
    "added folder": (lambda t: (t / "new").mkdir(), {"new": ("added", "a folder")}),
    "removed": (lambda t: (t / "src/b.c").unlink(), {"src/b.c": ("removed", "a file")}),
    "renamed": (lambda t: (t / "src/b.c").rename(t / "b.c"),
                {"b.c": ("added", "a file"), "src/b.c": ("removed", "a file")}),
    "target of a link": (lambda t: replace(t / "latest", lambda p: p.symlink_to("src/b.c")),
                         {"latest": ("changed", "target 'src/a.c' -> 'src/b.c'")}),
    "a file became a link to a copy of itself": (
        lambda t: ((t / "src/a.c").rename(t.parent / "a.c"), (t / "src/a.c").symlink_to(t.parent / "a.c")),
        {"src/a.c": ("changed", "a file, now a link")}),
    "a file became a FIFO": (lambda t: replace(t / "run", os.mkfifo), {"run": ("changed", "a file, now a fifo")}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_kind_of_change_is_named(target, what):
    os.umask(0o022)
    (target / "src").chmod(0o755)
    change, expected = CHANGES[what]
    create(target)
    stamp = (target / "src/a.c").stat()
    change(target)
    if what == "contents":  # as one who hides it would
        os.utime(target / "src/a.c", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert verify(target, 1) == expected


def test_what_cannot_be_read_is_never_called_the_same(target):
    create(target)
    (target / "src/a.c").chmod(0)
    expected = "mode 0644 -> 0000" + ("" if IS_ROOT else ", Permission denied")
    assert verify(target, 1) == {"src/a.c": ("changed", expected)}
    (target / "src/a.c").chmod(0o644)
    (target / "src").chmod(0)
    said = verify(target, 1)
    assert list(said) == ["src"], "what is below it is not called removed"
    if not IS_ROOT:
        (target / NAME).unlink()
        assert "'src'" in refused(hotcell("manifest", "create", target)) and not (target / NAME).exists()


# ---- hostile folders, hostile manifests ----


def test_a_hostile_folder_is_written_down_without_touching_what_it_points_to(target, canary):
    base = os.fsencode(target)
    for name in (b"new\nline", b"esc\x1b[31m", b"not-\xff-utf8", b"100%25", b"a" * 255, b"-rf", b"\xc2\x9b1m"):
        with open(base + b"/" + name, "wb") as file:
            file.write(name)
    os.mkfifo(target / "fifo")
    os.symlink(canary, target / "out")
    os.symlink("..", target / "up")
    os.symlink("loop", target / "loop")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(target, os.O_PATH)
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    text = create(target)
    assert b"\x1b" not in text and b"canary " not in text and all(byte == 10 or byte >= 32 for byte in text)
    paths = {each["path"]: each["kind"] for each in json.loads(text)["entries"]}
    assert {"new%0Aline", "esc%1B[31m", "not-%FF-utf8", "100%2525", "%C2%9B1m"} <= set(paths)
    assert (paths["fifo"], paths["socket"], paths["out"], paths["loop"]) == ("fifo", "socket", "link", "link")
    assert verify(target, 0) == {}
    os.unlink(base + b"/esc\x1b[31m")
    assert verify(target, 1) == {"esc%1B[31m": ("removed", "a file")}


def test_a_sparse_file_of_a_terabyte_is_changed_without_being_read(target):
    create(target)
    os.truncate(target / "run", 1 << 40)
    with open(target / "new", "wb") as file:
        file.truncate(1 << 40)
    assert verify(target, 1) == {"run": ("changed", f"size 19 -> {1 << 40}"), "new": ("added", "a file")}


BAD = {
    "edited": lambda text: text.replace(b'"0755"', b'"0644"', 1),
    "cut": lambda text: text[: len(text) // 2],
    "without an entry": lambda text: b"".join(line for line in text.splitlines(True) if b"a.c\",\"kind\":\"file" not in line),
    "outside": lambda text: text.replace(b'"path":"latest"', b'"path":"../latest"'),
    "absolute": lambda text: text.replace(b'"path":"latest"', b'"path":"/etc/passwd"'),
    "not JSON": lambda _: b"\x1b]0;x\x07",
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("what", BAD)
def test_a_manifest_that_cannot_be_trusted_is_refused_as_such(target, what):
    (target / NAME).write_bytes(BAD[what](create(target)))
    said = refused(hotcell("manifest", "verify", target), codes=(2,))
    assert NAME in said, said
    assert NAME in refused(run("--manifest", target, "--", "/bin/true"), codes=(2,))


def test_a_manifest_that_is_no_file_is_refused(target, canary):
    assert "has no MANIFEST.json" in refused(hotcell("manifest", "verify", target), codes=(2,))
    for make in (lambda path: path.symlink_to(canary), os.mkfifo, os.mkdir):
        make(target / NAME)
        refused(hotcell("manifest", "verify", target), codes=(2,))
        refused(hotcell("manifest", "create", "--force", target), codes=(2,))
        (target / NAME).rmdir() if (target / NAME).is_dir() else (target / NAME).unlink()
    refused(hotcell("manifest", "create", target / "run"), codes=(2,))
    refused(hotcell("manifest", "create", target / "nowhere"), codes=(2,))
    refused(hotcell("manifest", "verify", ""), codes=(2,))


# ---- writing it ----


def test_a_manifest_is_overwritten_only_by_force(target):
    first = create(target)
    (target / "more").write_text("x")
    assert "--force" in refused(hotcell("manifest", "create", target), codes=(2,))
    assert (target / NAME).read_bytes() == first
    assert create(target, "--force") != first


def test_a_killed_create_leaves_the_old_manifest_or_the_new_one(target):
    for number in range(1500):
        (target / f"src/{number}").write_text(str(number))
    texts = {create(target)}
    names = sorted(os.listdir(target))
    began = time.monotonic()
    (target / "run").write_text("#!/bin/sh\necho other\n")
    texts.add(create(target, "--force"))
    took = time.monotonic() - began
    dice = random.Random(4)
    for turn in range(25):
        (target / "run").write_text(("#!/bin/sh\necho ran\n", "#!/bin/sh\necho other\n")[turn % 2])
        with subprocess.Popen([HOTCELL, "manifest", "create", "--force", target], stdout=subprocess.DEVNULL,
                              env=environment()) as process:
            try:
                process.wait(dice.uniform(0, took))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        assert (target / NAME).read_bytes() in texts
        drafts = set(os.listdir(target)) - set(names)
        assert len(drafts) <= 1 and all(each.startswith(NAME) for each in drafts)
        for each in drafts:
            (target / each).unlink()


def test_a_full_disk_leaves_the_old_manifest(place):
    disk = place / "disk"
    disk.mkdir()
    script = f"""cd {disk} || exit 7
        mkdir t; echo one > t/a; {HOTCELL} manifest create t || exit 6; cp t/{NAME} {place}/before
        for i in $(seq 300); do : > t/some-name-that-takes-room-in-the-manifest-$i; done
        head -c 300000 /dev/zero > ballast 2> {place}/ballast
        {HOTCELL} manifest create --force t > {place}/out 2> {place}/err; echo $? > {place}/code
        cmp t/{NAME} {place}/before > {place}/compared && ls t | grep -c MANIFEST > {place}/count"""
    subprocess.run(["/bin/sh", "-c", script], preexec_fn=small_disk(disk), timeout=30, check=True,
                   env=environment({"LC_ALL": "C.UTF-8"}), stdout=subprocess.DEVNULL)
    assert (place / "code").read_text() == "125\n" and (place / "out").read_text() == ""
    assert "No space left" in (place / "err").read_text()
    assert (place / "count").read_text() == "1\n", "nor is there a draft"


# ---- refusing to run ----


def test_a_run_on_a_changed_target_is_refused_and_the_file_is_named(target):
    create(target)
    words = ["--manifest", target, "--mount", f"{target}:/target", "--", "/target/run"]
    assert run(*words).out == b"ran\n"
    (target / "run").write_text("#!/bin/sh\necho bad\n")
    ran = run(*words)
    said = refused(ran, codes=(125,))
    assert "'run' changed (contents)" in said and str(target) in said
    (target / "src/b.c").unlink()
    assert "'run' changed (contents), and 1 more" in refused(run(*words), codes=(125,))
    assert run("--explain", *words, json=False).code == 0, "nothing is started: nothing is checked"


def test_every_folder_that_is_named_is_checked(target, place):
    other = place / "other"
    other.mkdir()
    create(target), create(other)
    (other / "x").write_text("")
    assert "'x' was added (a file)" in refused(run("--manifest", target, "--manifest", other, "--", "/bin/true"))


def test_a_campaign_on_a_changed_target_does_not_begin(target, place):
    create(target)
    words = ["--runs", "2", "--manifest", "target", "--mount", "target:/target", "--", "/target/run"]
    assert campaign(place, "--name", "before", *words).code == 0
    (target / "run").write_text("#!/bin/sh\necho bad\n")
    for more in ([], ["--dry-run"], ["--detach"]):
        assert "'run' changed (contents)" in refused(campaign(place, *more, *words), codes=(125,))
    (place / "c.yaml").write_text("runs: 1\nmanifest: [target]\ncommand: [/bin/true]\n")
    assert "'run' changed (contents)" in refused(campaign(place, "c.yaml"), codes=(125,))
    assert [each["name"] for each in ledger_rows(place, "select name from campaigns")] == ["before"]


def test_a_campaign_whose_target_changed_is_not_resumed(target, place):
    create(target)
    with Supervisor(place, "--name", "c", "--runs", "40", "--workers", "1", "--plain", "--manifest", "target",
                    "--mount", "target:/target", "--", "/bin/sh", "-c", "/target/run; sleep 0.1") as it:
        it.wait_for(r"\[002\] Starting")
        it.kill(signal.SIGTERM)
        it.finish()
    before = (target / "src/a.c").read_text()
    (target / "src/a.c").write_text("int x;\n")
    assert "'src/a.c' changed (contents)" in refused(campaign(place, "c", verb="resume"), codes=(125,))
    (target / "src/a.c").write_text(before)
    assert campaign(place, "c", verb="resume").code == 0

"""Mounts, hidden names and images."""

import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from harness import HOTCELL, IS_ROOT, PRETEND, Live, refused, run, small_disk

SECRETS = [
    ".git/config",
    ".env",
    "sub/.env.local",
    "sub/deep/server.pem",
    "id_rsa",
    ".ssh/id_ed25519",
    "my.key",
]


@pytest.fixture
def project(place):
    """A source folder such as people have, with secrets in the usual places."""
    for name in SECRETS:
        path = place / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SECRET\n")
    for name in ("main.c", "sub/readme", "sub/deep/environment.txt", "notes.secret"):
        (place / "project" / name).write_text("plain\n")
    return place / "project"


def inside_of(*flags):
    """The files below /p as the cell sees them, with what can be read of each."""
    script = 'cd /p && find . -type f | sort | while read -r f; do echo "$f $(cat "$f" 2>/dev/null)"; done'
    ran = run(*flags, "--", "sh", "-c", script)
    assert ran.code == 0, ran
    return {line.partition(" ")[0][2:]: line.partition(" ")[2] for line in ran.lines}, ran


# ---- plain mounts ----


def test_a_mount_is_read_only_unless_asked_otherwise(place, hostile):
    (place / "file").write_text("unchanged\n")
    for mode in ("", ":ro"):
        ran = run("--mount", f"{place}:/p{mode}", *hostile("paths", "overwrite", "/p/file"))
        assert set(ran.said.values()) <= {"EROFS", "EACCES", "EPERM"}, ran
        assert ran.said["open:/p/file"] == "EROFS"
        ran = run("--mount", f"{place}:/p{mode}", "--", "sh", "-c", "cat /p/file; touch /p/new")
        assert ran.out == b"unchanged\n" and ran.code != 0
    assert sorted(os.listdir(place)) == ["file"]
    assert (place / "file").read_text() == "unchanged\n"


def test_private_files_of_several_owners_are_each_the_cells_own(place):
    """Neighbours with one owner share what maps him; the next owner's files must not be mapped by it."""
    owners = (0, 0, 12345, 12345, 54321, 0) if IS_ROOT else (os.getuid(),) * 3
    mounts = []
    for i, owner in enumerate(owners):
        path = place / f"private{i}"
        path.write_text(f"of {owner}\n")
        path.chmod(0o600)
        if IS_ROOT:
            os.chown(path, owner, owner)
        mounts += ["--mount", f"{path}:/p/{i}"]
    ran = run(*mounts, "--", "sh", "-c", "cat /p/*; stat -c %u /p/* | sort -u; id -u")
    *texts, seen, me = ran.out.decode().split("\n")[:-1]
    assert texts == [f"of {owner}" for owner in owners], ran
    assert seen == me, ran


def test_what_is_written_to_a_writable_mount_arrives_with_the_owners_uid(place):
    (place / "data").mkdir(mode=0o700)
    script = """
        echo new > /p/new; chmod 640 /p/new; mkdir /p/folder; echo x > /p/folder/file
        echo more >> /p/old; ls -n /p/old
    """
    (place / "data" / "old").write_text("old\n")
    ran = run("--mount", f"{place}/data:/p:rw", "--", "sh", "-c", script)
    assert ran.code == 0, ran
    owner = (place / "data").stat().st_uid
    for name, text in (("new", "new\n"), ("folder/file", "x\n"), ("old", "old\nmore\n")):
        path = place / "data" / name
        assert path.read_text() == text
        assert path.stat().st_uid == owner, name
    assert (place / "data" / "new").stat().st_mode & 0o777 == 0o640
    if "no-userns" not in PRETEND:
        assert ran.out.split()[2] == b"1000", "inside it is the cell's user who owns it"


def test_private_files_of_the_caller_can_be_read_in_a_mount(place):
    (place / "private").write_text("mine\n")
    (place / "private").chmod(0o600)
    (place / "closed").mkdir(mode=0o700)
    (place / "closed" / "file").write_text("mine too\n")
    ran = run("--mount", f"{place}:/p", "--", "cat", "/p/private", "/p/closed/file")
    assert ran.out == b"mine\nmine too\n", ran


def test_a_single_file_can_be_mounted(place):
    (place / "file").write_text("only this\n")
    (place / "other").write_text("not this\n")
    ran = run(
        "--mount",
        f"{place}/file:/data/file",
        "--",
        "sh",
        "-c",
        "cat /data/file; ls /data; echo x > /data/file",
    )
    assert ran.out == b"only this\nfile\n", ran
    assert ran.code != 0
    ran = run("--mount", f"{place}/file:/file:rw", "--", "sh", "-c", "echo changed > /file")
    assert (place / "file").read_text() == "changed\n", ran


def test_a_relative_source_is_taken_from_where_we_are(place):
    (place / "here").mkdir()
    (place / "here" / "file").write_text("here\n")
    assert run("--mount", "here:/p", "--", "cat", "/p/file", cwd=place).out == b"here\n"
    assert run("--mount", ".:/p", "--", "cat", "/p/here/file", cwd=place).out == b"here\n"


def test_mounts_can_lie_in_mounts(place):
    (place / "outer" / "inner").mkdir(parents=True)
    (place / "outer" / "file").write_text("outer\n")
    (place / "second").mkdir()
    (place / "second" / "file").write_text("second\n")
    ran = run(
        "--mount",
        f"{place}/outer:/p",
        "--mount",
        f"{place}/second:/p/inner:rw",
        "--",
        "sh",
        "-c",
        "cat /p/file /p/inner/file; touch /p/inner/new; touch /p/new",
    )
    assert ran.out == b"outer\nsecond\n", ran
    assert (place / "second" / "new").exists()
    assert not (place / "outer" / "new").exists()


def test_many_mounts_are_all_there(place):
    for i in range(150):
        (place / str(i)).mkdir()
        (place / str(i) / "file").write_text(f"{i}\n")
    flags = [word for i in range(150) for word in ("--mount", f"{place}/{i}:/m/{i}")]
    ran = run(*flags, "--", "sh", "-c", "cat /m/*/file | sort -n | uniq | wc -l; ls /m | wc -l")
    assert ran.out.split() == [b"150", b"150"], ran


def test_file_systems_below_a_source_are_read_only_too(place, hostile):
    (place / "source" / "below").mkdir(parents=True)
    ran = run(
        "--mount",
        f"{place}/source:/p",
        *hostile("paths", "list", "/p/below"),
        preexec_fn=small_disk(place / "source" / "below"),
    )
    assert ran.code == 0, ran
    ran = run(
        "--mount",
        f"{place}/source:/p",
        "--",
        "sh",
        "-c",
        "touch /p/below/new 2>&1 || echo refused",
        preexec_fn=small_disk(place / "source" / "below"),
    )
    assert b"Read-only" in ran.out and b"refused" in ran.out, ran


def test_devices_and_setuid_bits_have_no_effect_in_a_mount(place, hostile):
    ran = run("--mount", f"{place}:/p:rw", *hostile("paths", "mounts"))
    flags = [line.split()[5].split(",") for line in ran.lines if " /p " in line]
    assert flags and all("nosuid" in each and "nodev" in each for each in flags), ran
    if IS_ROOT:
        os.mknod(place / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        ran = run("--mount", f"{place}:/p:rw", *hostile("paths", "read", "/p/zero"))
        assert ran.said["/p/zero"] == "EACCES", ran


def test_a_cell_cannot_leave_set_id_programs_on_the_host(place, hostile):
    """Through a writable mount they would belong to whoever ran us, root included."""
    ran = run("--mount", f"{place}:/p:rw", *hostile("paths", "suid", "/p"))
    assert len(ran.said) >= 11, ran
    left = {
        path.name: oct(path.stat().st_mode)
        for path in place.iterdir()
        if path.stat().st_mode & 0o6000
    }
    assert not left, left
    for path in place.iterdir():
        assert "security.capability" not in os.listxattr(path), path


# ---- targets and sources that are not what they seem ----


def test_a_link_in_a_mount_does_not_move_the_target_of_another(place, canary):
    (place / "outer").mkdir()
    (place / "second").mkdir()
    (place / "second" / "file").write_text("second\n")
    for name, target in (
        ("abs", "/etc"),
        ("up", "../../.."),
        ("proc", "/proc/self/root"),
        ("host", str(canary.parent)),
    ):
        (place / "outer" / name).symlink_to(target)
        ran = run(
            "--mount",
            f"{place}/outer:/p:rw",
            "--mount",
            f"{place}/second:/p/{name}",
            "--",
            "sh",
            "-c",
            "ls /etc/file /file 2>/dev/null; true",
        )
        refused(ran)
        refused(
            run(
                "--mount",
                f"{place}/outer:/p:rw",
                "--mount",
                f"{place}/second:/p/{name}/below",
                "--",
                "true",
            )
        )
    assert sorted(os.listdir(place / "outer")) == ["abs", "host", "proc", "up"]


def test_a_source_swapped_for_a_link_while_mounting_is_never_followed(place, canary):
    secret = place / "elsewhere"
    secret.mkdir()
    (secret / "file").write_text("SECRET\n")
    (place / "source").mkdir()
    (place / "source" / "file").write_text("plain\n")
    (place / "link").symlink_to(secret)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(place / "source", place / "aside")
            os.rename(place / "link", place / "source")
            os.rename(place / "source", place / "link")
            os.rename(place / "aside", place / "source")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = {run("--mount", f"{place}/source:/p", "--", "cat", "/p/file").out for _ in range(25)}
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"plain\n", b""}, seen


def test_a_link_inside_a_mount_leads_to_nothing_of_the_host(place, canary, hostile):
    (place / "absolute").symlink_to(canary)
    (place / "relative").symlink_to(os.path.relpath(canary, place))
    (place / "shadow").symlink_to("/etc/shadow")
    ran = run(
        "--mount",
        f"{place}:/p",
        *hostile("paths", "read", "/p/absolute", "/p/relative", "/p/shadow"),
    )
    assert set(ran.said.values()) == {"ENOENT"}, ran


@pytest.mark.parametrize("source", ["/proc", "/proc/1", "/proc/1/task", "/proc/cpuinfo", "/proc/sys"])
def test_the_hosts_processes_cannot_be_mounted(source):
    """A link there leads to whatever a process of the host has open, past every mount."""
    ran = run("--mount", f"{source}:/p", "--", "true")
    assert ran.outcome == "setup-failed" and b"a cell has a /proc of its own" in ran.err, ran


@pytest.mark.parametrize("how", ["ro", "rw"])
def test_the_hosts_processes_are_covered_below_a_mount(place, how):
    if not IS_ROOT:
        return  # who cannot mount a /proc has none there
    (place / "sub" / "proc").mkdir(parents=True)
    (place / "sub" / "file").write_text("plain")
    words = [HOTCELL, "run", "--quiet", "--mount", f"{place}:/p:{how}", "--", "sh", "-c", "cat /p/sub/file; cat /p/sub/proc/1/cmdline; ls /p/sub/proc"]
    ran = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t proc proc "$0" && exec "$@"', str(place / "sub" / "proc"), *words],
                         capture_output=True, timeout=60)
    assert ran.stdout == b"plain" and ran.stderr.count(b"Permission denied") == 2, ran


# ---- hidden names ----


def test_secrets_vanish_from_a_mount_by_default(project, is_on):
    files, ran = inside_of("--mount", f"{project}:/p")
    assert "SECRET" not in files.values(), files
    assert {name for name, text in files.items() if text == "plain"} == {
        "main.c",
        "sub/readme",
        "sub/deep/environment.txt",
        "notes.secret",
    }
    if ran.result["receipt"]["protections"]["hidden-files"]["state"] == "on":
        assert not set(files) & set(SECRETS), "not even their names are there"


TOOLS = [".bash_history", ".config/gh/hosts.yml", ".claude/.credentials.json", ".codex/auth.json", ".cargo/credentials.toml", ".boto", ".s3cfg",
         "prod.env", ".zsh_history", ".config/gcloud/x", ".m2/settings.xml", ".claude.json", ".config/Cursor/User/globalStorage/state.vscdb",
         ".config/claude/.credentials.json", ".claude/file-history/x", ".config/git/config", ".local/state/zsh/history", ".gemini/tmp/x/logs.json",
         "gha-creds-0123.json", ".gitcookies", ".subversion/auth/x", ".step/secrets/x", "wg0.conf", ".local/share/amazon-q/data.sqlite3",
         ".local/share/gem/credentials", ".config/openstack/clouds.yaml", ".curlrc", ".ETHEREUM/KeyStore/x", ".config/discord/x"]
NEEDED = [".cargo/config.toml", ".claude/settings.json", ".config/gh/config.yml", ".env.example", "auth.json", ".m2/repository/x"]


@pytest.fixture
def home(place):
    for name in TOOLS + NEEDED:
        path = place / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SECRET\n" if name in TOOLS else "plain\n")
    return place / "home"


@pytest.mark.parametrize("how", ["", ":rw"])
def test_tools_secrets_vanish_and_what_programs_need_of_them_stays(home, how):
    seen, ran = inside_of("--mount", f"{home}:/p{how}")
    assert {name for name, text in seen.items() if text} == set(NEEDED) and "SECRET" not in ran.out.decode(), ran
    explained = run("--explain", "--mount", f"{home}:/p", "--", "true", json=False).out.decode()
    assert ".claude/.credentials.json" in explained


@pytest.mark.parametrize("name", TOOLS)
def test_each_tools_secret_cannot_be_read_by_its_path(home, name):
    ran = run("--mount", f"{home}:/p", "--", "cat", f"/p/{name}", json=False)
    assert ran.code == 1 and ran.out == b"", ran


@pytest.mark.parametrize(("top", "kept"), [(".claude", "settings.json"), (".codex", None), (".cargo", "config.toml"), (".config/gh", "config.yml"),
                                           (".config", "gh/config.yml")])
@pytest.mark.parametrize("how", ["", ":rw"])
def test_a_tools_folder_that_is_mounted_itself_hides_its_secrets(home, place, top, kept, how):
    (place / "way").symlink_to("home")  # the way there may have a link
    for source in (home / top, place / "way" / top):
        seen, ran = inside_of("--mount", f"{source}:/p{how}")
        assert {name for name, text in seen.items() if text} == ({kept} if kept else set()), ran
        assert b"SECRET" not in ran.out


@pytest.mark.parametrize("how", ["", ":rw"])
def test_what_a_hidden_name_links_to_is_hidden_too(place, how):
    (place / "p" / "conf").mkdir(parents=True)
    (place / "p" / "conf" / "production").write_text("SECRET\n")
    (place / "p" / "conf" / "other").write_text("plain\n")
    (place / "p" / ".env").symlink_to("conf/production")
    (place / "p" / "conf" / ".envrc").symlink_to("production")
    (place / "p" / "conf" / "server.pem").symlink_to("../conf")
    (place / "p" / "conf" / "staging").write_text("SECRET\n")
    (place / "p" / "sub").mkdir()
    (place / "p" / "sub" / ".env").symlink_to(place.resolve() / "p" / "conf" / "staging")  # by the path on the host
    seen, ran = inside_of("--mount", f"{place}/p:/p{how}")
    assert seen.get("conf/other") == "plain" and b"SECRET" not in ran.out, ran


@pytest.mark.parametrize("how", ["", ":rw"])
def test_secrets_behind_links_to_folders_are_hidden_where_they_are(place, how):
    """As in homes whose dotfiles lie in a repository: a link for the folder, or for a folder on the way."""
    home = place / "home"
    for name in ("dots/ssh/mykey", "dots/claude/history.jsonl", "dots/config/op/config", "real/production", "dots/plain", "dots/claude/CLAUDE.md"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("plain\n" if name in ("dots/plain", "dots/claude/CLAUDE.md") else "SECRET\n")
    for link, target in ((".ssh", "dots/ssh"), (".claude", "dots/claude"), (".config", home.resolve() / "dots" / "config"), ("way", "real"),
                         (".env", "way/production"), (".gnupg", "../home"), (".aws", ".")):
        (home / link).symlink_to(target)
    seen, ran = inside_of("--mount", f"{home}:/p{how}")
    assert b"SECRET" not in ran.out and {name for name, text in seen.items() if text} == {"dots/plain", "dots/claude/CLAUDE.md"}, ran


@pytest.mark.parametrize("how", ["", ":rw"])
def test_secrets_behind_links_behind_links_are_hidden(place, how):
    home = place / "home"
    for name in ("loc/plain", "sh/keyrings/login.keyring", "sh/other", "prod"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("plain\n" if name in ("loc/plain", "sh/other") else "SECRET\n")
    for link, target in ((".local", "loc"), ("loc/share", "../sh"), (".env", f"{home.resolve().parent}/.//home/./prod")):
        (home / link).symlink_to(target)
    seen, ran = inside_of("--mount", f"{home}:/p{how}")
    assert b"SECRET" not in ran.out and {name for name, text in seen.items() if text} == {"loc/plain", "sh/other"}, ran


@pytest.mark.parametrize("how", ["", ":rw"])
def test_a_link_with_the_name_of_a_file_hides_no_folder(place, how):
    """A cell that may write would else empty any folder for the next ones. Where a folder is hidden, the link is named."""
    for name in ("src", "docker"):
        (place / "p" / name).mkdir(parents=True)
        (place / "p" / name / "x").write_text("plain\n")
    for link, target in ((".env", "src"), ("a.pem", "src"), (".docker", "docker")):
        (place / "p" / link).symlink_to(target)
    seen, ran = inside_of("--mount", f"{place}/p:/p{how}")
    assert {name for name, text in seen.items() if text} == {"src/x"}, ran
    text = run("--explain", "--mount", f"{place}/p:/p{how}", "--", "true", json=False).out.decode()
    assert "'docker' is hidden: '.docker' leads to it" in text and "'src'" not in text, text


def test_a_name_with_a_folder_can_be_hidden_and_nothing_can_be_shown_again(project):
    seen, _ = inside_of("--mount", f"{project}:/p", "--hide", "deep/environment.txt")
    assert {name for name, text in seen.items() if text} == {"main.c", "sub/readme", "notes.secret"}
    assert "cannot be shown again" in refused(run("--mount", f"{project}:/p", "--hide", "!.env", "--", "true"))


def test_every_hidden_name_is_in_the_documentation():
    """And no other."""
    text = run("--explain", "--mount", "/usr/share:/p", "--", "true", json=False).out.decode()
    listed = text.split("hidden names", 1)[1].split("\nhidden files", 1)[0]
    page = (Path(__file__).parents[2] / "docs" / "HIDDEN.md").read_text()
    names = [name for line in page.splitlines() if line.startswith("| ") for name in re.findall(r"`([^`]+)`", line.split(" | ", 1)[1])]
    assert " ".join(listed.split()) == " ".join(names)


def test_further_names_can_be_hidden(project):
    files, _ = inside_of("--mount", f"{project}:/p", "--hide", "*.secret", "--hide", "deep")
    assert "plain" not in (files.get("notes.secret"), files.get("sub/deep/environment.txt"))
    assert "SECRET" not in files.values()
    assert files["main.c"] == "plain"


def test_the_default_list_can_be_left_out(project):
    files, _ = inside_of("--mount", f"{project}:/p", "--no-default-hide", "--hide", "id_rsa")
    assert files[".env"] == "SECRET" and files[".git/config"] == "SECRET"
    assert files.get("id_rsa") in (None, "")


def test_secrets_vanish_from_a_writable_mount_and_stay_on_the_host(project, place):
    script = """
        echo new > /p/new
        for f in .env id_rsa my.key; do echo overwritten > /p/$f; rm -f /p/$f; done
        rm -rf /p/.git; true
    """
    ran = run("--mount", f"{project}:/p:rw", "--", "sh", "-c", script)
    assert ran.code == 0, ran
    files, _ = inside_of("--mount", f"{project}:/p:rw")
    assert "SECRET" not in files.values(), files
    assert (project / "new").read_text() == "new\n"
    for name in SECRETS:
        assert (project / name).read_text() == "SECRET\n", f"{name} was changed through the cell"


def test_a_file_with_a_hidden_name_is_there_when_it_is_itself_what_is_mounted(project):
    ran = run("--mount", f"{project}/.env:/p/.env", "--", "cat", "/p/.env")
    assert ran.out == b"SECRET\n", ran


@pytest.fixture
def listening():
    """listening(path): a socket there that answers whoever connects."""
    stop, threads = threading.Event(), []

    def serve(server):
        while not stop.is_set():
            try:
                server.accept()[0].sendall(b"REACHED\n")
            except TimeoutError:
                pass

    def listen(path):
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen()
        server.settimeout(0.1)
        os.chmod(path, 0o777)
        threads.append(threading.Thread(target=serve, args=(server,)))
        threads[-1].start()

    yield listen
    stop.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("how", ["ro", "rw"])
def test_folders_that_cannot_be_listed_do_not_show_what_would_be_hidden(place, listening, hostile, how):
    """A name that is known is reached without listing. For root: others' folders, and ones of the mount's owner that have
    another group, which are his in the cell."""
    folders = {"searched": (12345, 12345, 0o711), "group": (0, 12345, 0o750), "owner": (12345, 0, 0o750), "own": (0, 0, 0o311)}
    for name, (uid, gid, mode) in folders.items():
        folder = place / "home" / name
        folder.mkdir(parents=True)
        (folder / ".env").write_text("SECRET\n")
        listening(folder / "s")
        if IS_ROOT:
            os.chown(folder, uid, gid)
        folder.chmod(mode)
    args = ["--mount", f"{place}/home:/p:{how}"]
    ran = run(*args, "--", "sh", "-c", "chmod 777 /p/*; cat /p/*/.env; for each in searched group owner own; do cat /p/$each/.env; done")
    assert b"SECRET" not in ran.out, ran
    for name in folders:
        ran = run(*args, *hostile("shown", "sockets", f"/p/{name}/s"))
        assert "ok" not in ran.said.values() and b"REACHED" not in ran.out, ran


@pytest.fixture
def told():
    """told(path): a FIFO there with something in it for whoever reads."""
    ends = []

    def tell(path):
        os.mkfifo(path)
        os.chmod(path, 0o666)
        ends.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        os.write(ends[-1], b"REACHED\n")

    yield tell
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("how", ["ro", "rw"])
def test_a_fifo_of_the_host_is_no_way_in_or_out(place, told, how):
    (place / "folder").mkdir()
    told(place / "folder" / "pipe")
    args = ["--mount", f"{place}:/p:{how}", "--no-default-hide"]
    ran = run(*args, "--", "sh", "-c", "timeout 1 head -c 7 /p/folder/pipe; timeout 1 sh -c 'echo out > /p/folder/pipe'; true")
    assert ran.out == b"" and ran.code == 0, ran


def test_what_lies_behind_a_hidden_name_moves_nothing_into_view(project):
    """A folder of results in a project: names vanish from the project as ever."""
    (project / ".hotcell" / "work").mkdir(parents=True)
    (project / ".hotcell" / "work").chmod(0o777)
    script = "ls -A /p; touch /w/new && mv /w/new /w/other && ls /w; ls /p/.hotcell/work"
    ran = run("--mount", f"{project}:/p", "--mount", f"{project}/.hotcell/work:/w:rw", "--", "sh", "-c", script)
    assert ran.lines == ["main.c", "notes.secret", "sub", "other"], ran
    with_overlay = "no-overlay" not in PRETEND and ran.result["receipt"]["protections"]["hidden-files"]["state"]
    assert with_overlay in (False, "on"), ran


@pytest.mark.parametrize("shown, writable", [(".", "sub"), ("sub", "."), (".", "."), ("sub", "sub/deep")])
def test_what_is_hidden_in_one_mount_cannot_be_moved_into_view_by_another(project, shown, writable):
    script = """
        for from in /w/deep /w/sub/deep /w/sub /w; do mv $from $from-moved; mv $from/*.pem $from/plain; done 2>/dev/null
        find /p -type f -exec cat {} +
    """
    ran = run("--mount", f"{project}/{shown}:/p", "--mount", f"{project}/{writable}:/w:rw", "--", "sh", "-c", script)
    assert b"plain" in ran.out and b"SECRET" not in ran.out, ran
    assert ran.result["receipt"]["protections"]["hidden-files"]["state"] == "weaker", ran


def test_a_writable_mount_elsewhere_leaves_no_names_behind(project, place):
    (place / "out").mkdir()
    args = ["--mount", f"{project}:/p", "--mount", f"{place}/out:/w:rw"]
    files, ran = inside_of(*args)
    if ran.result["receipt"]["protections"]["hidden-files"]["state"] == "on":
        assert not set(files) & set(SECRETS), files
    _, alone = inside_of("--mount", f"{project}:/p")
    assert ran.result["receipt"]["protections"]["hidden-files"] == alone.result["receipt"]["protections"]["hidden-files"]


def test_secrets_in_another_mount_below_are_hidden_too(project):
    """In a mount namespace of the test's own; for an ordinary user that is also a user namespace."""
    (project / "other").mkdir()
    script = """
        mount -t tmpfs none "$1/other" && echo SECRET > "$1/other/.env" && echo plain > "$1/other/file" || exit 9
        exec "$0" run -q --mount "$1:/p" -- sh -c 'cat /p/other/file; cat /p/other/.env /p/.env; true'
    """
    flags = ["-m"] if IS_ROOT else ["-mUr"]
    done = subprocess.run(
        ["unshare", *flags, "sh", "-c", script, HOTCELL, str(project)], capture_output=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, b"plain\n"), done


def test_hiding_leaves_modes_as_they_are(project):
    modes = {".": 0o710, "sub": 0o701, "sub/deep": 0o750}
    for name, mode in reversed(modes.items()):
        (project / name).chmod(mode)
    ran = run("--mount", f"{project}:/p", "--", "stat", "-c", "%a %u", *(f"/p/{name}" for name in modes))
    assert ran.lines == [f"{mode:o} {ran.lines[0].split()[1]}" for mode in modes.values()], ran
    if "no-userns" not in PRETEND:
        assert ran.lines[0] == "710 1000", "the cell's user owns them"


def test_hiding_does_not_open_others_folders_where_owners_cannot_be_mapped(place):
    """Ramfs has no mounts with mapped owners, so that files keep theirs, who are not the cell's user."""
    if not IS_ROOT:
        return  # who cannot give files to others
    script = """
        mount -t ramfs none "$1" && mkdir -p "$1/alice/deep" "$1/top/deep" || exit 9
        for each in alice top; do
            echo SECRET > "$1/$each/deep/.env"; echo SECRET > "$1/$each/deep/file"; echo SECRET > "$1/$each/file"; done
        chown -R 12345:12345 "$1/alice"; chmod 700 "$1/alice" "$1/top/deep"; chmod 755 "$1"
        "$0" run -q --mount "$1:/p" -- sh -c 'cat /p/alice/file /p/alice/deep/file /p/top/deep/file; ls /p/alice; ls /p'
        chmod 700 "$1/top"
        exec "$0" run -q --mount "$1/top:/p" -- sh -c 'cat /p/file; ls /p; true'
    """
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, HOTCELL, str(place)], capture_output=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, b"alice\ntop\n"), done


def test_hiding_leaves_no_trace_on_the_host(project):
    before = sorted(str(path) for path in project.rglob("*"))
    inside_of("--mount", f"{project}:/p")
    assert sorted(str(path) for path in project.rglob("*")) == before


# ---- images ----


@pytest.fixture
def image(place, programs):
    """A root file system with nothing but our own static programs."""
    root = place / "image"
    for folder in ("bin", "etc", "dev", "proc", "tmp", "workspace", "usr"):
        (root / folder).mkdir(parents=True)
    for program in ("paths", "procs", "kernel"):
        shutil.copy(programs / program, root / "bin" / program)
    (root / "etc" / "marker").write_text("of the image\n")
    return root


def test_an_image_is_the_whole_root(image):
    ran = run("--image", image, "--", "/bin/paths", "list", "/", "/bin", "/usr")
    assert ran.code == 0, ran
    assert "/bin/procs" in ran.said and "/bin/sh" not in ran.said
    assert "/usr/bin" not in ran.said
    ran = run("--image", image, "--", "paths", "read", "/etc/marker", "/etc/shadow", "/bin/sh")
    assert ran.said == {"/etc/marker": "13", "/etc/shadow": "ENOENT", "/bin/sh": "ENOENT"}, ran


def test_an_image_is_read_only_but_for_scratch_space(image):
    ran = run("--image", image, "--", "/bin/paths", "write")
    assert {what for what, result in ran.said.items() if result == "ok"} == {
        "/tmp",
        "/workspace",
        "/dev/shm",
    }, ran
    ran = run("--image", image, "--", "/bin/paths", "overwrite", "/etc/marker", "/bin/paths")
    assert "ok" not in ran.said.values(), ran
    assert (image / "etc" / "marker").read_text() == "of the image\n"
    assert not list(image.rglob("written-by-the-cell"))


def test_an_image_has_the_same_protections(image, receipt):
    ran = run("--image", image, "--", "/bin/procs", "status")
    assert ran.said["Seccomp"] == "2" and int(ran.said["CapEff"], 16) == 0
    assert ran.said["hostname"] == "cell"
    assert {name: p["state"] for name, p in ran.result["receipt"]["protections"].items()} == {
        name: p["state"] for name, p in receipt["protections"].items()
    }


def test_an_image_without_the_usual_folders_gets_them(place, programs):
    root = place / "bare"
    root.mkdir()
    shutil.copy(programs / "paths", root / "paths")
    ran = run("--image", root, "--", "/paths", "list", "/proc/self", "/tmp", "/workspace", "/dev")
    assert ran.code == 0, ran
    assert "/dev/null" in ran.said and "/proc/self/status" in ran.said
    assert sorted(os.listdir(root)) == ["paths"], "nothing was made in the image itself"


@pytest.mark.parametrize("name", ["proc", "dev", "tmp", "workspace", "sys"])
def test_an_image_with_a_link_in_the_place_of_a_system_folder_is_refused(image, name, canary):
    if (image / name).exists():
        (image / name).rmdir()
    (image / name).symlink_to(canary.parent)
    assert name in refused(run("--image", image, "--", "/bin/paths", "cwd"))


def test_links_in_an_image_are_resolved_inside_it(image, canary):
    (image / "etc" / "absolute").symlink_to(canary)
    (image / "etc" / "up").symlink_to("../../../../../../../.." + str(canary))
    (image / "home").symlink_to("/etc")
    ran = run(
        "--image", image, "--", "/bin/paths", "read", "/etc/absolute", "/etc/up", "/home/marker"
    )
    assert ran.said == {"/etc/absolute": "ENOENT", "/etc/up": "ENOENT", "/home/marker": "13"}, ran


def test_sockets_and_fifos_in_an_image_are_hidden_and_names_are_not(image, programs, listening, told):
    shutil.copy(programs / "shown", image / "bin" / "shown")
    (image / "srv" / "deep").mkdir(parents=True)
    (image / "srv" / ".env").write_text("of the image\n")
    listening(image / "srv" / "deep" / "s")
    told(image / "srv" / "pipe")
    ran = run("--image", image, "--", "/bin/shown", "sockets", "/srv/deep/s")
    assert ran.code == 0 and "ok" not in ran.said.values(), ran
    ran = run("--image", image, "--", "/bin/paths", "read", "/srv/.env", "/srv/pipe", "/etc/marker")
    assert ran.said["/srv/.env"] == ran.said["/etc/marker"] == "13", ran
    assert ran.said["/srv/pipe"] in ("ENOENT", "EACCES"), ran


def test_an_image_that_is_a_link_is_refused(image, place):
    (place / "link").symlink_to(image)
    refused(run("--image", place / "link", "--", "/bin/paths", "cwd"))


def test_explain_names_every_hidden_pattern(place):
    text = run(
        "--explain", "--mount", f"{place}:/p", "--hide", "*.mine", "--", "true", json=False
    ).out.decode()
    for word in (".git", ".env", "*.pem", "*.mine", str(place), "/p"):
        assert word in text, word



def test_a_fifo_that_is_made_later_in_a_folder_cannot_be_written_to(place):
    """A read-only mount lets it through: Landlock is the only wall. (An overlay, which hides, has FIFOs of its own.)"""
    folder = place / "folder"
    folder.mkdir()
    fifo = folder / "late"
    script = "echo ready; read x; { echo out >/p/late; } 2>&1 && echo written"
    with Live("--mount", f"{folder}:/p", "--", "sh", "-c", script) as live:
        live.wait_for(b"ready")
        os.mkfifo(fifo)
        fifo.chmod(0o666)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        live.send(b"go\n")
        ran = live.finish()
        seen = os.read(reader, 100)
        os.close(reader)
    if "no-landlock" in PRETEND:
        assert seen == b"out\n" and "written" in ran.lines, ran
    else:
        assert seen == b"" and "written" not in ran.lines and "Permission denied" in ran.out.decode(), ran


def test_what_may_be_written_to_may_be_moved_about_in(project):
    (project / "a").mkdir()
    (project / "b").mkdir()
    (project / "a" / "f").write_text("moved\n")
    script = "import os; os.rename('/p/a/f', '/p/b/f'); os.link('/p/b/f', '/p/a/g'); os.truncate('/p/b/f', 3); open('/tmp/x', 'w').truncate(0)"
    ran = run("--mount", f"{project}:/p:rw", "--", "python3", "-c", script)
    assert ran.code == 0, ran
    assert (project / "a" / "g").read_text() == "mov"


def test_a_single_file_that_may_be_written_to_may_be_truncated(project):
    ran = run("--mount", f"{project}/main.c:/main.c:rw", "--", "sh", "-c", ": >/main.c")
    assert ran.code == 0, ran
    assert (project / "main.c").read_text() == ""

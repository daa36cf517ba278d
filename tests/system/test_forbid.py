"""--forbid: a program that can be neither run nor read in a cell, whatever its path."""

import os
import shutil

import pytest

from campaigns import campaign
from fuzzing import FINE, fuzz_tool, tool
from harness import IS_ROOT, hotcell, refused, run


@pytest.fixture
def tools(place):
    """A folder with a program under many names."""
    folder = place / "tools"
    (folder / "sub" / "gitty").mkdir(parents=True)
    program = folder / "gitty.real"
    shutil.copy("/usr/bin/basename", program)  # which prints what echo does, and is another program
    program.chmod(0o755)
    shutil.copy("/bin/echo", folder / "gitty")
    os.link(folder / "gitty", folder / "innocent")
    (folder / "link").symlink_to("gitty")
    shutil.copy("/bin/echo", folder / "sub" / "gitty" / "gitty")
    return folder


def said(*args):
    ran = run(*args)
    return ran.out.decode() + ran.err.decode()


@pytest.mark.parametrize("name", ["gitty", "innocent", "link", "sub/gitty/gitty"])
def test_it_cannot_be_run_or_read_under_any_of_its_names(tools, name):
    args = ["--mount", f"{tools}:/tools", "--forbid", "gitty", "--"]
    assert "hello" not in run(*args, f"/tools/{name}", "hello").out.decode()
    ways = (f"cat /tools/{name} | head -c 4", f"cp /tools/{name} /workspace/x && /workspace/x hello",
            f"/lib64/ld-linux-x86-64.so.2 /tools/{name} hello", f"chmod 755 /tools/{name} && /tools/{name} hello",
            "echo all but one", f". /tools/{name}")  # the last ends the shell
    text = said(*args, "/bin/sh", "-c", "\n".join(ways))
    assert "hello" not in text and "ELF" not in text and "all but one" in text, text


def test_others_still_work_and_without_it_so_does_it(tools):
    args = ["--mount", f"{tools}:/tools"]
    assert run(*args, "--forbid", "gitty", "--", "/tools/gitty.real", "hello").out == b"hello\n"
    assert run(*args, "--", "/tools/gitty", "hello").out == b"hello\n"


def test_programs_of_the_image_and_of_writable_mounts_can_be_forbidden(tools):
    assert "fine" not in said("--forbid", "env", "--", "/usr/bin/env", "echo", "fine")
    ran = run("--forbid", "en[v]", "--", "/bin/sh", "-c", "env; /usr/bin/env; command -p env; echo over")
    assert ran.out == b"over\n", ran
    ran = run("--mount", f"{tools}:/tools:rw", "--forbid", "gitty", "--", "/tools/gitty", "hello")
    assert b"hello" not in ran.out


@pytest.mark.parametrize("hidden", ["tools", "other", "both", "neither"])
def test_a_hard_link_in_another_mount_is_covered_whatever_is_hidden_beside_it(tools, place, hidden):
    other = place / "other"
    (other / "sub").mkdir(parents=True)
    os.link(tools / "gitty", other / "sub" / "innocent")
    for folder in (tools, other):
        if hidden in (folder.name, "both"):
            (folder / ".env").write_text("SECRET")
    args = ["--mount", f"{tools}:/tools", "--mount", f"{other}:/other", "--forbid", "gitty", "--"]
    for name in ("/tools/gitty", "/tools/innocent", "/other/sub/innocent"):
        assert b"hello" not in run(*args, name, "hello").out
    assert run(*args, "/tools/gitty.real", "hello").out == b"hello\n"


def test_a_folder_that_cannot_be_listed_holds_no_forbidden_program(tools):
    """For root: others' folder, and one of the mount's owner with another group, which is his in the cell."""
    for name, uid, gid, mode in (("searched", 12345, 12345, 0o711), ("group", 0, 12345, 0o750)):
        (tools / name).mkdir()
        shutil.copy("/bin/echo", tools / name / "gitty")
        if IS_ROOT:
            os.chown(tools / name, uid, gid)
        (tools / name).chmod(mode)
        args = ["--mount", f"{tools}:/tools", "--no-default-hide", "--"]
        ran = run("--forbid", "gitty", *args, f"/tools/{name}/gitty", "hello")
        assert b"hello" not in ran.out, ran


# ---- what a name leads to ----


def covered(*args, **more):
    return run(*args, **more).result["forbidden"]


def leads_to(name):
    """Where a name on PATH leads; the host's image has it at the same place."""
    return os.path.realpath(shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"))


@pytest.mark.parametrize("name", ["sh", "python3", "awk", "gcc"])
def test_a_link_of_the_host_is_forbidden_by_what_it_leads_to(name):
    assert os.path.islink(shutil.which(name)) or os.path.islink("/bin"), name
    script = f'for p in {name} /bin/{name} /usr/bin/{name} {leads_to(name)}; do if $p --version </dev/null || $p -c : || head -c 4 $p; then echo RAN; fi; done; echo over'
    ran = run("--forbid", name, "--", "/bin/bash", "-c", script)
    assert ran.out == b"over\n", ran
    assert leads_to(name) in ran.result["forbidden"][name]


def test_a_script_whose_interpreter_is_forbidden_does_not_run():
    script = "printf '#!/bin/sh\\necho RAN\\n' >s; printf '#!/usr/bin/env sh\\necho RAN\\n' >t; printf 'echo RAN\\n' >u; chmod 755 s t u" \
        "; ./s; ./t; perl -e 'exec \"./u\"'; /lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo RAN'; env sh -c 'echo RAN'; echo over"
    ran = run("--forbid", "sh", "--", "/bin/bash", "-c", script)
    assert ran.out == b"over\n", ran


EXECS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def child(what):
    if os.fork() == 0:
        try:
            what()
        finally:
            os._exit(0)
    os.wait()
words, env = ["sh", "-c", "echo RAN"], {}
for path in ("/bin/sh", "/usr/bin/sh", "/bin/../usr/bin/sh", "/proc/self/root/bin/sh", "/usr/bin/dash", "/proc/1/root/usr/bin/dash"):
    child(lambda: os.execve(path, words, env))
    try:
        child(lambda: os.execve(os.open(path, os.O_PATH), words, env))
        fd = os.open(path, os.O_RDONLY)
        copy = os.memfd_create("x")
        os.write(copy, os.read(fd, 1 << 24))
        child(lambda: os.execve(copy, words, env))
    except OSError:
        pass
argv = (ctypes.c_char_p * 4)(b"sh", b"-c", b"echo RAN", None)
child(lambda: libc.syscall(322, os.open("/bin", os.O_PATH), b"sh", argv, None, 0))
print("over")
"""


def test_no_other_way_to_execute_leads_to_it():
    assert run("--forbid", "sh", "--", "/usr/bin/python3", "-c", EXECS).out == b"over\n"


@pytest.fixture
def image(place):
    """A root file system with a program under names of all sorts, and the host's libraries by mounts."""
    root = place / "image"
    for folder in ("bin", "opt/app/bin", "etc/alternatives", "sbin", "data", "usr"):
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/echo", root / "opt/app/bin/tool-1.2")
    shutil.copy("/bin/cat", root / "bin/other")
    for name in ("lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "bin/tool").symlink_to("/etc/alternatives/tool")
    (root / "etc/alternatives/tool").symlink_to("/opt/current/bin/tool-1.2")
    (root / "opt/current").symlink_to("app")
    (root / "sbin/tool").symlink_to("../../../../../opt/./app/bin/../bin/tool-1.2")
    (root / "bin/host").symlink_to("/../../../../../../../../bin/echo")
    (root / "bin/loop").symlink_to("loop")
    (root / "bin/nowhere").symlink_to("/proc/self/exe")
    (root / "bin/folder").symlink_to("../data")
    os.link(root / "opt/app/bin/tool-1.2", root / "data/hard")
    shutil.copy("/bin/echo", root / "data/copy")
    (root / "data/copy").chmod(0o644)
    return ["--image", root, "--mount", "/usr:/usr"]


NAMES = ["/bin/tool", "/sbin/tool", "/opt/app/bin/tool-1.2", "/opt/current/bin/tool-1.2", "/etc/alternatives/tool", "/data/hard"]


@pytest.mark.parametrize("forbidden", ["tool", "/bin/tool", "/opt/current/bin/tool-1.2", "tool-?.2", "hard", "copy", "echo"])
def test_links_of_an_image_are_followed_inside_of_it(image, forbidden):
    script = f"for p in {' '.join(NAMES)}; do $p hello; $p hello </dev/null; /bin/other $p; done; /bin/other /data/copy /usr/bin/echo; echo over"
    ran = run(*image, "--forbid", forbidden, "--", "/usr/bin/bash", "-c", script)
    assert ran.out == b"over\n", ran
    found = ran.result["forbidden"][forbidden]
    assert {"/opt/app/bin/tool-1.2", "/data/hard", "/data/copy", "/usr/bin/echo"} <= set(found), found


def test_what_leads_nowhere_is_said_and_what_leads_out_stays_inside(image):
    names = ["loop", "nowhere", "folder", "no-such-program-at-all", "/no/such/path"]
    ran = run(*image, *(word for name in names for word in ("--forbid", name)), "--", "/bin/tool", "hello")
    assert ran.out == b"hello\n" and ran.result["forbidden"] == {name: [] for name in names}
    for name in names:
        assert f"'{name}' matches no program".encode() in ran.err, ran
    assert run("--quiet", "--forbid", "no-such-program", "--", "/bin/true").err == b""
    ran = run(*image, "--forbid", "host", "--", "/bin/tool", "hello")  # the image has no /bin/echo
    assert ran.out == b"hello\n" and ran.result["forbidden"] == {"host": []}, ran


def test_one_program_with_many_names_is_forbidden_as_a_whole(place):
    """As busybox is: what sh leads to is all of it, and that is said."""
    folder = place / "box"
    folder.mkdir()
    shutil.copy("/bin/echo", folder / "box")
    for name in ("ls", "shell", "cp"):
        (folder / name).symlink_to("box")
    args = ["--mount", f"{folder}:/box", "--forbid", "shell"]
    assert "/box/box: can" in said("--explain", *args, "--", "/box/ls").replace(" can be", ": can be")
    ran = run(*args, "--", "/box/ls", "hello")
    assert b"hello" not in ran.out and b"forbidden" in ran.err


def test_the_same_file_in_another_mount_is_covered_too(tools):
    args = ["--mount", f"{tools}:/tools", "--mount", f"{tools}:/again", "--mount", f"{tools}/gitty.real:/single", "--forbid", "gitty.real", "--"]
    for name in ("/tools/gitty.real", "/again/gitty.real", "/single"):
        assert b"hello" not in run(*args, name, "hello").out


def test_the_run_cannot_lift_what_is_forbidden_in_a_writable_mount(tools):
    script = "cd /tools; mv gitty away; rm -f gitty; ln gitty other; ln -s gitty soft; cp gitty.real x 2>&1; mv -f x gitty; umount gitty; cd ..; mv tools t" \
        "; for p in /tools/*; do $p hello; done; for p in /again/*; do $p hello; done"
    (tools / "gitty.real").unlink()
    ran = run("--mount", f"{tools}:/tools:rw", "--mount", f"{tools}:/again", "--forbid", "gitty", "--", "/bin/sh", "-c", script)
    assert b"hello" not in ran.out, ran


def test_a_forbidden_name_that_is_nowhere_is_fine():
    ran = run("--forbid", "no-such-program-at-all", "--", "/bin/true")
    assert ran.code == 0 and b"matches no program in this cell" in ran.err


UNMATCHED = b"--forbid 'no-such-program' matches no program in this cell"
MISSPELT = ["--forbid", "no-such-program", "--forbid", "sh"]


def is_said_once(ran):
    return ran.err.count(UNMATCHED) == 1 and ran.err.count(b"matches no program") == 1


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_campaign_says_once_that_a_forbidden_name_is_nowhere(place, quiet):
    ran = campaign(place, "-n", "4", "-j", "2", *quiet, *MISSPELT, "--", "/bin/true")
    assert b"4 succeeded" in ran.out and is_said_once(ran), ran  # a busy machine is an alert, and its code


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_fuzzing_a_tool_says_once_that_a_forbidden_name_is_nowhere(place, quiet):
    tool(place, FINE)
    ran = fuzz_tool(place, "--call-timeout", "30s", *quiet, *MISSPELT)  # which covers making the cell
    assert is_said_once(ran), ran


def test_fuzzing_a_function_says_once_that_a_forbidden_name_is_nowhere(place):
    (place / "target.c").write_text("int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return 0; }\n")
    ran = hotcell("fuzz", "function", "target.c", "--quiet", "--duration", "2s", "--forbid", "no-such-program", cwd=place, timeout=120)
    assert is_said_once(ran), ran


def test_learning_a_profile_says_once_that_a_forbidden_name_is_nowhere(place, is_on):
    ran = hotcell("profile", "learn", "--quiet", *MISSPELT, "--", "/bin/true", cwd=place, timeout=60)
    assert ran.code == (0 if is_on("landlock") else 125) and is_said_once(ran), ran  # what it proposes has paths


def test_what_cannot_be_forbidden_is_said(place):
    assert "a path has no globs" in refused(run("--forbid", "/usr/bin/gi*", "--", "/bin/true"))
    assert "absolute path" in refused(run("--forbid", "bin/git", "--", "/bin/true"))
    assert "'..'" in refused(run("--forbid", "/usr/../bin/git", "--", "/bin/true"))
    ran = run("--forbid", "/usr/bin", "--", "/bin/true")
    assert ran.outcome == "setup-failed" and b"it is a folder" in ran.err
    ran = run("--forbid", "*", "--", "/bin/true")
    assert ran.outcome == "setup-failed" and b"narrower" in ran.err
    ran = run("--backend", "none", "--forbid", "git", "--", "/bin/true")
    assert ran.code == 2 and b"cannot be forbidden" in ran.err


def test_explain_says_what_is_forbidden():
    out = run("--explain", "--forbid", "sh", "--forbid", "mispelt", "--", "/bin/true", json=False).out.decode()
    assert f"sh: {leads_to('sh')} can be neither run nor read" in out
    assert "mispelt: leads to NOTHING in this cell" in out
    assert "would not be made" in run("--explain", "--forbid", "/usr/bin", "--", "/bin/true", json=False).out.decode()


def test_names_of_a_profile_are_forbidden_alike(place):
    (place / "strict.yaml").write_text("forbid: [sh, sh]\n")
    ran = run("--profile", place / "strict.yaml", "--forbid", "sh", "--", "/bin/bash", "-c", "sh -c 'echo RAN'; echo over")
    assert ran.out == b"over\n" and ran.result["forbidden"] == {"sh": [leads_to("sh")]}, ran


@pytest.mark.parametrize("unread", ["gitty", "copy"])
def test_a_copy_that_can_be_run_and_not_read_is_a_copy(place, unread):
    folder = place / "tools"
    folder.mkdir()
    for name in ("gitty", "copy"):
        shutil.copy("/bin/echo", folder / name)
        (folder / name).chmod(0o111 if name == unread else 0o755)
    shutil.copy("/usr/bin/basename", folder / "other")
    args = ["--mount", f"{folder}:/tools", "--forbid", "gitty", "--"]
    for name in ("gitty", "copy"):
        assert b"hello" not in run(*args, f"/tools/{name}", "hello").out
    assert run(*args, "/tools/other", "hello").out == b"hello\n"

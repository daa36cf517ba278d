"""--forbid: a program that can be neither run nor read in a cell, whatever its path."""

import os
import shutil

import pytest

from harness import IS_ROOT, refused, run


@pytest.fixture
def tools(place):
    """A folder with a program under many names."""
    folder = place / "tools"
    (folder / "sub" / "gitty").mkdir(parents=True)
    program = folder / "gitty.real"
    shutil.copy("/bin/echo", program)
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


def test_a_forbidden_name_that_is_nowhere_is_fine():
    assert run("--forbid", "no-such-program-at-all", "--", "/bin/true").code == 0


def test_what_cannot_be_forbidden_is_said():
    assert "/" in refused(run("--forbid", "/usr/bin/git", "--", "/bin/true"))
    ran = run("--backend", "none", "--forbid", "git", "--", "/bin/true")
    assert ran.code == 2 and b"cannot be forbidden" in ran.err


def test_explain_says_what_is_forbidden():
    assert b"forbidden" in run("--explain", "--forbid", "git", "--", "/bin/true", json=False).out

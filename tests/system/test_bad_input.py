"""Bad input: one clear sentence, exit 2 or 125, nothing left behind (see nothing_left_behind)."""

import os
import resource
import socket
import subprocess

import pytest

from harness import HOTCELL, environment, hotcell, pretending, refused, run, small_disk

SIZES = [
    "--memory",
    "--tmp-size",
    "--disk",
    "--shm",
    "--file-size",
    "--max-output",
    "--max-collect",
]
BAD_SIZES = [
    "-1",
    "12Q",
    "1e99",
    "0",
    "",
    "99999999999999999999",
    "5 M",
    "0x10",
    "nan",
    "1..5G",
    "M",
]
COUNTS = ["--processes", "--open-files", "--max-collect-files"]
BAD_COUNTS = ["-1", "0", "1.5", "many", "", "99999999999999999999", "10k"]


@pytest.mark.parametrize("flag", SIZES)
def test_sizes_that_are_none_are_refused(flag):
    for size in BAD_SIZES:
        assert flag in refused(run(flag, size, "--", "true"), (2,)), size


@pytest.mark.parametrize(
    ("size", "told"), [("1k", "1 KB is not between 4 MB and 1 PB"), ("4194303", "4194303 is not between 4194304 and 1125899906842624")]
)
def test_a_size_out_of_range_is_told_as_people_write_it_but_never_rounded_into_the_range(size, told):
    assert told in refused(run("--memory", size, "--", "true"), (2,))


@pytest.mark.parametrize("flag", COUNTS)
def test_counts_that_are_none_are_refused(flag):
    for count in BAD_COUNTS:
        assert flag in refused(run(flag, count, "--", "true"), (2,)), count


def test_durations_that_are_none_are_refused():
    for duration in ["-1s", "0", "1y", "1e99", "", "s", "9999999999d", "inf"]:
        assert "--timeout" in refused(run("--timeout", duration, "--", "true"), (2,)), duration


def test_numbers_of_cpus_that_are_none_are_refused():
    for cpus in ["0", "-1", "nan", "inf", "two", "", "1e9", "0.0001"]:
        assert "--cpus" in refused(run("--cpus", cpus, "--", "true"), (2,)), cpus


@pytest.mark.parametrize(
    "flag", ["--no-such-flag", "--memroy", "-Z", "--memory-", "--no-such-flag=1", "---"]
)
def test_an_unknown_flag_is_refused_by_name(flag):
    assert flag.split("=")[0].rstrip("-")[:4] in refused(run(flag, "--", "true"), (2,))


@pytest.mark.parametrize("flag", ["--memory", "--mount", "--env", "-t"])
def test_a_flag_without_its_value_is_refused(flag):
    assert flag in refused(run(flag), (2,))


def test_a_flag_that_takes_no_value_is_refused_with_one():
    refused(run("--tmp-exec=yes", "--", "true"), (2,))


def test_a_missing_command_is_refused():
    refused(run(), (2,))
    refused(run("--"), (2,))
    refused(run("--memory", "64M"), (2,))
    refused(run("--", ""))


def test_a_command_that_is_a_folder_or_not_executable_is_told_apart(place):
    (place / "bin" / "folder").mkdir(parents=True)
    (place / "bin" / "plain").write_text("")
    (place / "work" / "plain").mkdir(parents=True)  # of that name, but not where it was found
    flags = ("--mount", f"{place}:/p", "--env", "PATH=/p/bin", "--workdir", "/p/work", "--")
    for command, told in (("/p/bin", "is a folder"), ("folder", "is a folder"), ("plain", "may not be executed"),
                          ("/p/bin/plain", "may not be executed"), ("/p/bin/none", "is not in the cell"), ("none", "is not in the cell")):
        said = refused(run(*flags, command), (125,))
        assert f"command '{command}' {told}" in said, said


@pytest.mark.parametrize("verb", ["no-such-verb", "ruin", "--no-such-flag", "run\nrun", "\x1b[2J"])
def test_an_unknown_verb_is_refused(verb):
    refused(hotcell(verb), (2,))


def test_no_verb_at_all_is_a_usage_error():
    ran = hotcell()
    assert ran.code == 2, ran
    assert ran.err, "it says what to do instead"


@pytest.mark.parametrize("number", ["", "x", "-1", "0", "1", "2", "3", "77", "1000000", "5 ", "+5"])
def test_words_from_a_descriptor_that_has_none_are_refused(number):
    ran = hotcell(f"--words-fd={number}")
    assert ran.code == 2 and b"--words-fd" in ran.err, ran


def test_bad_values_of_other_flags_are_refused(place):
    for args in (
        ["--backend", "qemu"],
        ["--uid", "-1"],
        ["--uid", "a:b"],
        ["--uid", "4294967296"],
        ["--uid", "1:"],
        ["--require", "no-such-protection"],
        ["--require", ""],
        ["--hide", ""],
        ["--image", ""],
        ["--stdin", str(place / "missing")],
        ["--stdin", str(place)],
    ):
        refused(run(*args, "--", "true"))


def test_escapes_in_what_the_user_typed_do_not_come_back(place):
    refused(run("--memory", "\x1b]0;owned\x07", "--", "true"), (2,))
    refused(run("--", "\x1b[2Jnot\nthere"), (125,))
    refused(run("--mount", f"{place}/\x1b[31m:/x", "--", "true"))


# ---- mounts ----


def test_a_mount_source_that_is_missing_is_refused(place):
    assert "missing" in refused(run("--mount", f"{place}/missing:/x", "--", "true"))


def test_a_mount_source_that_is_a_symbolic_link_is_refused(place):
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    assert "link" in refused(run("--mount", f"{place}/link:/x", "--", "true"))


def test_a_mount_source_that_is_neither_file_nor_folder_is_refused(place):
    os.mkfifo(place / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place / "sock"))
    try:
        for source in (place / "fifo", place / "sock", "/dev/null"):
            refused(run("--mount", f"{source}:/x", "--", "true", timeout=10))
    finally:
        server.close()


@pytest.mark.parametrize(
    "target",
    [
        "/x/../../etc",
        "/..",
        "/x/..",
        "relative",
        "",
        "/",
        "//",
        "/proc",
        "/proc/self",
        "/dev",
        "/x/./../y",
    ],
)
def test_a_mount_target_that_points_elsewhere_is_refused(place, target):
    refused(run("--mount", f"{place}:{target}", "--", "true"))


@pytest.mark.parametrize(
    "mount", ["nothing", "", ":", ":/x", "/usr", "/usr:/x:rx", "/usr:/x:ro:rw", "usr:/x:"]
)
def test_a_mount_that_makes_no_sense_is_refused(mount):
    refused(run("--mount", mount, "--", "true"))


def test_ten_thousand_mounts_are_refused(place):
    mounts = [word for i in range(10_000) for word in ("--mount", f"{place}:/m/{i}")]
    refused(run(*mounts, "--", "true"))


def test_two_mounts_on_one_target_are_refused(place):
    refused(run("--mount", f"{place}:/x", "--mount", "/usr:/x", "--", "true"))


def test_a_mount_that_would_cover_one_before_it_is_refused(place):
    (place / "sub").mkdir()
    line = refused(run("--mount", "/usr:/x/sub", "--mount", f"{place}:/x", "--", "true"))
    assert "'/x' would cover '/x/sub'" in line and "put it first" in line
    assert run("--mount", f"{place}:/x", "--mount", "/usr:/x/sub", "--", "ls", "/x/sub/bin").code == 0
    assert run("--mount", "/usr:/x/sub", "--mount", f"{place}:/x/subway", "--", "true").code == 0


def test_nothing_is_made_in_a_mount_to_mount_on(place):
    (place / "there").mkdir()
    (place / "file").write_text("")
    place.chmod(0o777)
    for missing in ("missing", "missing/deep"):
        line = refused(run("--mount", f"{place}:/x:rw", "--mount", f"/usr:/x/{missing}", "--", "true"))
        assert f"there is no '/x/{missing}' to mount on" in line
    refused(run("--mount", f"{place}:/x:rw", "--mount", "/usr/lib/os-release:/x/missing", "--", "true"))
    assert sorted(os.listdir(place)) == ["file", "there"]
    more = ["--mount", "/usr:/x/there", "--mount", "/usr/lib/os-release:/x/file"]
    assert b"NAME=" in run("--mount", f"{place}:/x:rw", *more, "--", "sh", "-c", "ls /x/there/bin/sh && cat /x/file").out


def test_a_path_longer_than_any_path_is_refused(place):
    refused(run("--mount", f"{place}:/" + "x" * 5000, "--", "true"))
    refused(run("--mount", "/" + "x/" * 5000 + ":/x", "--", "true"))
    refused(run("--workdir", "/" + "x" * 5000, "--", "true"))
    refused(run("--", "/" + "x" * 5000), (125,))


# ---- the environment ----


@pytest.mark.parametrize("variable", ["", "=value", "NO_VALUE", "="])
def test_a_variable_without_name_or_value_is_refused(variable):
    refused(run("--env", variable, "--", "true"), (2,))


def test_a_passed_variable_must_be_a_name():
    refused(run("--pass-env", "A=B", "--", "true"), (2,))
    refused(run("--pass-env", "", "--", "true"), (2,))


def test_control_bytes_in_a_value_arrive_as_they_are(hostile):
    value = bytes(byte for byte in range(1, 256))
    ran = run(
        b"--env", b"ODD=" + value, b"--env", rb"NUL=a\0b%00", *hostile("procs", "env"), json=False
    )
    items = ran.out.split(b"\0")
    assert b"ODD=" + value in items
    assert rb"NUL=a\0b%00" in items


def test_a_megabyte_of_environment_arrives_whole(hostile):
    variables = {f"BIG{i}": chr(ord("a") + i) * 120_000 for i in range(9)}
    flags = [word for key, value in variables.items() for word in ("--env", f"{key}={value}")]
    ran = run(*flags, *hostile("procs", "env"), json=False)
    assert ran.code == 0, ran.err[-500:]
    got = dict(item.split(b"=", 1) for item in ran.out.split(b"\0") if item)
    for key, value in variables.items():
        assert got[key.encode()] == value.encode()


@pytest.mark.parametrize("size", [131_069, 1_000_000, 2_000_000])
def test_a_value_that_the_kernel_would_not_take_is_refused_from_a_file_too(place, size):
    """None comes by a command line, whose words are no longer either."""
    (place / "c.yaml").write_text(f"runs: 1\nenv: [BIG={'x' * size}]\n")
    sentence = refused(hotcell("campaign", "run", "c.yaml", "--name", "big", "--output", "out", "--", "true", cwd=place))
    assert "xxxx" not in sentence and not (place / "out").exists()


def test_more_environment_than_the_kernel_takes_is_refused(hostile):
    def no_stack_limit():
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))

    flags = [word for i in range(36) for word in ("--env", f"BIG{i}={'x' * 120_000}")]
    refused(run(*flags, *hostile("procs", "env"), preexec_fn=no_stack_limit))


# ---- images ----


def test_an_image_that_is_missing_or_no_folder_is_refused(place):
    (place / "file").write_text("")
    for image in (place / "missing", place / "file", "relative-and-missing"):
        refused(run("--image", image, "--", "/bin/true"))


def test_an_image_without_a_shell_says_so(place):
    for folder in ("bin", "usr", "etc", "proc", "dev", "tmp", "workspace"):
        (place / folder).mkdir()
    assert "sh" in refused(run("--image", place, "--", "sh", "-c", "true"), (125,))


# ---- a full disk ----


def test_a_full_disk_under_the_output_is_told(place, hostile):
    ran = run("--output", place / "out", *hostile("leave", "big", 8), preexec_fn=small_disk(place))
    assert ran.code == 125, ran
    assert len(ran.own) == 1, ran
    assert "No space left" in ran.own[0], ran
    assert "No space left" in ran.result["error"], ran


def test_a_full_disk_under_the_json_file_is_told():
    ran = run("--json-file", "/dev/full", "--", "true", json=False)
    assert ran.code == 125, ran
    assert len(ran.own) == 1 and "/dev/full" in ran.own[0], ran


def test_a_full_disk_under_stdout_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [HOTCELL, "run", "--", "sh", "-c", "echo lost; sleep 0.1; echo lost"],
            stdout=full,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            timeout=20,
            env=environment(),
        )
    assert done.returncode == 125, done
    lines = [line for line in done.stderr.decode().splitlines() if "weaker cell" not in line]
    assert len(lines) == 1 and lines[0].startswith("hotcell: "), done


def test_an_output_folder_that_cannot_be_made_is_told_before_the_run(place):
    (place / "file").write_text("")
    word = place / "ran"
    for output in (place / "file", place / "file" / "below", "/proc/nothing", "/dev/null"):
        refused(
            run("--output", output, "--mount", f"{place}:/p:rw", "--", "touch", f"/p/{word.name}")
        )
    assert not word.exists()


def test_a_json_file_that_cannot_be_made_is_told(place):
    ran = run("--json-file", place / "missing" / "result.json", "--", "true", json=False)
    assert ran.code in (2, 125), ran
    assert len(ran.own) == 1, ran


# ---- a machine that refuses ----


def test_a_cgroup_that_refuses_is_told_and_never_silently_ignored(is_on):
    ran = run("--", "true", env=pretending("cgroup-refuses"))
    if is_on("memory-limit"):
        refused(ran, (125,))
        return
    assert ran.code == 0, ran
    assert b"hotcell: weaker cell: " in ran.err, ran
    assert ran.result["receipt"]["full"] is False
    assert ran.result["receipt"]["protections"]["memory-limit"]["state"] != "on"


def test_a_cgroup_that_refuses_stops_a_run_that_requires_it():
    refused(
        run("--require", "memory-limit", "--", "true", env=pretending("cgroup-refuses")), (125,)
    )


def test_the_other_verbs_refuse_nonsense_too():
    for args in (
        ["exec"],
        ["exec", "cffffff"],
        ["exec", "../../etc", "--", "true"],
        ["kill"],
        ["kill", "no-such-cell"],
        ["logs"],
        ["logs", "no-such-cell"],
        ["logs", "--no-such-flag"],
        ["ps", "--no-such-flag"],
        ["doctor", "--no-such-flag"],
        ["completion"],
        ["completion", "fish"],
        ["help", "no-such-verb"],
        ["ps", "too", "many"],
        ["kill", "../x"],
        ["kill", "\x1b[2J"],
    ):
        refused(hotcell(*args))

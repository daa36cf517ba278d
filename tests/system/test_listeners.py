"""A cell's doors: sockets that listen in its own loopback network and are served from outside it. `listeners` makes such
cells with the library itself and tells what came through; `knock` is at the doors, inside."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import HOTCELL, environment

LISTENERS = Path(HOTCELL).parent / "tests" / "listeners"
DOORS = ["127.0.0.1:3128", "127.0.0.1:80", "127.0.1.1:3128"]


@pytest.fixture
def listeners(programs):
    """listeners("--cells", "2", doors=[...], command=[...]) -> its lines, checked to leave nothing."""

    def ran(*options, doors=DOORS, command=(), mount=True, timeout=120):
        listen = [word for door in doors for word in ("--listen", door)]
        mounts = ["--mount", f"{programs}:/hostile"] if mount else []
        done = subprocess.run([LISTENERS, *listen, *mounts, *map(str, options), "--", *map(str, command)],
                              capture_output=True, timeout=timeout, env=environment(), stdin=subprocess.DEVNULL)
        lines = done.stdout.decode().splitlines()
        assert done.stderr == b"", (done.stderr, lines)
        assert "left 0 0" in lines, lines
        return lines

    return ran


def ended(lines):
    return [line for line in lines if re.match(r"cell \d+ ended ", line)]


@pytest.mark.parametrize("warm", [0, 2])
def test_bytes_pass_both_ways_through_each_door_and_nowhere_else(listeners, warm):
    """A low port and another address of 127.0.0.0/8 among them."""
    lines = listeners("--warm", warm, "--cells", 3, command=["/hostile/knock", "talk", *DOORS, "127.0.0.1:81",
                                                             "127.0.1.1:80", "127.0.0.2:3128"])
    for cell in range(3):
        assert f"cell {cell} listens {' '.join(DOORS)}" in lines
        assert f"cell {cell} ended exited 0 'empty but for 3 doors' " in lines, lines
        for number in range(3):
            assert lines.count(f"cell {cell} door {number} got knock {cell}") == 1, lines
    for number, door in enumerate(DOORS):
        assert lines.count(f"{door} door-{number}") == 3, lines
    assert sum(line.endswith(" ECONNREFUSED") for line in lines) == 9, lines


@pytest.mark.parametrize("warm", [0, 1])
def test_no_process_of_a_cell_or_that_makes_cells_has_a_listener(listeners, warm):
    """If one had, a listener that everybody else has closed would still take connections."""
    lines = listeners("--drop", "--warm", warm, "--cells", 2, command=["/hostile/knock", "talk", *DOORS])
    for door in DOORS:
        assert lines.count(f"{door} ECONNREFUSED") == 2, lines
    lines = listeners("--warm", warm, command=["/bin/sh", "-c", "/hostile/knock look; /hostile/knock talk 127.0.0.1:80"])
    assert {"sockets 0", "listening 3", "127.0.0.1:80 door-1"} <= set(lines), lines
    assert "cell 0 holders 0" in lines, lines  # root sees every process's descriptors


def test_a_program_cannot_take_the_place_of_a_door(listeners):
    lines = listeners(command=["/hostile/knock", "claim", *DOORS, "0.0.0.0:3128", "127.0.0.1:3129", "127.0.0.1:81"])
    for door in [*DOORS[::2], "0.0.0.0:3128"]:
        assert f"{door} EADDRINUSE" in lines, lines
    assert {"127.0.0.1:80 EACCES", "127.0.0.1:81 EACCES", "127.0.0.1:3129 ok"} <= set(lines), lines


@pytest.mark.parametrize("warm", [0, 1])
def test_what_one_cell_left_at_a_door_is_never_served_as_anothers(listeners, warm):
    """Nobody accepts before all are gone: each listener then has what its own cell said, and no more."""
    lines = listeners("--later", "--cells", 5, "--warm", warm, command=["/hostile/knock", "leave", *DOORS])
    got = [line for line in lines if " got " in line]
    assert got == [f"cell {cell} door {door} got knock {cell}" for cell in range(5) for door in range(3)], lines
    assert len(ended(lines)) == 5 and all("exited 0" in line for line in ended(lines)), lines


def test_names_of_doors_are_in_hosts(listeners):
    lines = listeners("--hosts", "127.0.1.1 db db.internal\n127.0.0.1\tapi", command=[
        "/bin/sh", "-c", "cat /etc/hosts; getent hosts db.internal; { echo x > /etc/hosts; } 2>/tmp/no || echo no"])
    assert lines[1:5] == ["127.0.0.1 localhost cell", "::1 localhost", "127.0.1.1 db db.internal", "127.0.0.1\tapi"], lines
    assert any(re.match(r"127\.0\.1\.1 +db\b", line) for line in lines[5:]) and "no" in lines, lines


def test_a_cell_without_doors_is_as_ever(listeners):
    lines = listeners("--cells", 3, doors=[], command=["/hostile/knock", "look"])
    assert not any("listens" in line for line in lines), lines
    assert lines.count("listening 0") == 3 and all("'loopback only'" in line for line in ended(lines)), lines


@pytest.mark.parametrize("warm", [0, 2])
def test_a_cell_cancelled_when_it_listens_never_runs(listeners, warm):
    lines = listeners("--cancel", "--cells", 4, "--warm", warm, command=["/bin/echo", "ran"])
    assert "ran" not in lines, lines
    assert [re.match(r"cell \d ended cancelled -1 ", line) is not None for line in ended(lines)] == [True] * 4, lines


@pytest.mark.parametrize("warm", [0, 4])
def test_nothing_is_left_of_many_cells_with_doors(listeners, warm):
    """Four hundred, four at once: the supervisor's descriptors do not grow with them. They grow with its slots, of which
    a busy machine needs more, because the last cells are still dying: eleven descriptors each, and never as many as one
    for every other cell."""
    lines = listeners("--cells", 400, "--at-once", 4, "--warm", warm, command=["/hostile/knock", "talk", *DOORS])
    assert len(ended(lines)) == 400 and all(" exited 0 " in line for line in ended(lines)), ended(lines)
    assert sum(" got knock " in line for line in lines) == 1200
    early, late = next(map(int, line.split()[1:]) for line in lines if line.startswith("descriptors "))
    assert 0 < late <= early + 170, (early, late)


def test_a_network_without_loopback_has_no_doors_and_says_so():
    done = subprocess.run([LISTENERS, "--no-loopback"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines() == ["made -1 the cell's loopback is not up, and without it there are no doors", "left 0 0"]
    done = subprocess.run([LISTENERS, "--twice"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines() == ["made -1 listen in the cell at 127.0.0.1:3128: Address already in use", "left 0 0"]


# ---- images ----


@pytest.fixture
def image(place, programs):
    """image(text): a small root file system with `knock` and this as its /etc/hosts; None: without one."""

    def made(text):
        root = place / "image"
        (root / "etc").mkdir(parents=True)
        shutil.copy(programs / "knock", root / "knock")
        if text is not None:
            (root / "etc" / "hosts").write_bytes(text)
        return root

    return made


OURS = b"127.0.0.1 localhost cell\n::1 localhost\n127.0.1.1 db\n"


@pytest.mark.parametrize("had,shown", [
    (b"", b"127.0.1.1 db\n"),
    (b"127.0.0.1 localhost\n", b"127.0.0.1 localhost\n127.0.1.1 db\n"),
    (b"# no newline at the end", b"# no newline at the end\n127.0.1.1 db\n"),
    (b"#" * 65536, b"#" * 65536 + b"\n127.0.1.1 db\n"),
    (b"#" * 65537, OURS),
])
def test_an_image_keeps_its_own_hosts_and_gets_the_names_of_doors(listeners, image, had, shown):
    root = image(had)
    lines = listeners("--image", root, "--hosts", "127.0.1.1 db", mount=False, command=["/knock", "show", "/etc/hosts"])
    assert lines[1:-3] == shown.decode().splitlines(), lines
    assert (root / "etc" / "hosts").read_bytes() == had
    lines = listeners("--image", root, mount=False, command=["/knock", "talk", *DOORS])
    assert "127.0.0.1:80 door-1" in lines, lines


def test_an_image_without_hosts_gets_no_names_but_a_clear_sentence(listeners, image, place):
    root = image(None)
    sentence = f"the image '{root}' has no file /etc/hosts for the names of the cell's doors: make one, even an empty one"

    def refused():
        lines = listeners("--image", root, "--hosts", "127.0.1.1 db", mount=False, command=["/knock", "look"])
        assert ended(lines) == [f"cell 0 ended setup-failed -1 '' {sentence}"], lines

    refused()
    (root / "etc" / "hosts").symlink_to("/etc/passwd")
    refused()
    (root / "etc" / "hosts").unlink()
    (root / "etc" / "hosts").mkdir()
    refused()
    (root / "etc" / "hosts").rmdir()
    (root / "etc").rmdir()
    refused()
    (place / "other").mkdir()
    (place / "other" / "hosts").write_text("x\n")
    (root / "etc").symlink_to("../other")
    refused()
    assert "exited 0" in ended(listeners("--image", root, mount=False, command=["/knock", "look"]))[0]

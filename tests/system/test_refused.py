"""An ordinary user on a machine without user namespaces: every cell is refused with exit 125 and one
sentence, and what needs no cell works. As root these tests drop to an ordinary uid first."""

import json
import re

import pytest

from harness import IS_ROOT, hotcell, pretending, refused, run

ORDINARY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
LACKING = {**pretending("no-userns"), "XDG_RUNTIME_DIR": None, "HOME": "/nonexistent"}


def refuse(*args, **more):
    return run(*args, env=LACKING, cwd="/", **ORDINARY, **more)


def test_a_cell_is_refused_with_one_sentence_that_names_the_cause():
    ran = refuse("--", "true")
    sentence = refused(ran, (125,))
    assert re.search(r"user namespaces?", sentence), sentence
    assert ran.outcome == "setup-failed"


@pytest.mark.parametrize(
    "flags",
    [
        ["--tty"],
        ["--memory", "64M"],
        ["--image", "/usr"],
        ["--mount", "/usr:/x"],
        ["-q"],
        ["-v"],
        ["--require", "full"],
        ["--require", "seccomp"],
        ["--timeout", "1s"],
    ],
)
def test_no_flag_changes_that(flags):
    ran = refuse(*flags, "--", "sh", "-c", "echo ran")
    assert ran.code == 125, ran
    assert b"ran\n" not in ran.out


def test_the_program_never_runs(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p").chmod(0o777)
    tmp_path.chmod(0o777)
    ran = refuse("--mount", f"{tmp_path}/p:/p:rw", "--", "touch", "/p/ran")
    assert ran.code in (2, 125), ran
    assert not (tmp_path / "p" / "ran").exists()


def test_doctor_says_what_is_missing_and_how_to_get_it():
    ran = hotcell("doctor", "--json", env=LACKING, cwd="/", **ORDINARY)
    assert ran.code == 4, ran
    facts = json.loads(ran.out)
    missing = [
        p for p in facts["probes"] if p["state"] != "on" and "user namespace" in p["name"].lower()
    ]
    assert missing and all(p["fix"] for p in missing), facts
    assert b"; no cell can be made until the fixes are done." in hotcell("doctor", env=LACKING, cwd="/", **ORDINARY).out


def test_a_review_says_nothing_of_cells_that_cannot_be_made():
    ran = hotcell("review", env=LACKING, cwd="/", **ORDINARY)
    assert "hotcell doctor" in refused(ran, (4,))
    assert hotcell("review", "--list", env=LACKING, cwd="/", **ORDINARY).code == 0


def test_bad_input_is_still_told_first():
    refused(refuse("--memory", "12Q", "--", "true"), (2,))
    refused(refuse(), (2,))


def test_what_needs_no_cell_works():
    assert refuse("--explain", "--", "true", json=False).code == 0
    assert hotcell("--version", env=LACKING, cwd="/", **ORDINARY).code == 0
    assert hotcell("help", "run", env=LACKING, cwd="/", **ORDINARY).code == 0
    assert hotcell("ps", env=LACKING, cwd="/", **ORDINARY).code == 0


def test_running_unprotected_must_be_asked_for():
    ran = refuse("--no-sandbox", "--", "sh", "-c", "exit 3")
    assert ran.code == 3, ran
    assert b"NO SANDBOX" in ran.err

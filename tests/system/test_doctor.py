"""`hotcell doctor`: what this machine can give, tried for real, with a fix for what is missing."""

import json

import pytest

from harness import PRETEND, hotcell, pretending


def doctor(env=None):
    ran = hotcell("doctor", "--json", env=env)
    facts = json.loads(ran.out)
    return ran, facts, {probe["name"]: probe for probe in facts["probes"]}


def test_every_probe_has_a_name_a_state_and_a_fix_where_it_is_needed():
    ran, facts, probes = doctor()
    assert len(probes) == len(facts["probes"]) >= 8, "names are unique"
    for probe in probes.values():
        assert probe["state"] in ("on", "weaker", "off"), probe
        assert probe["detail"], probe
        assert bool(probe["fix"]) == (probe["state"] != "on"), probe
    lacking = [name for name, probe in probes.items() if probe["state"] != "on"]
    assert facts["full"] == (not lacking)
    assert ran.code == (4 if lacking else 0), ran


def test_the_table_for_people_says_the_same():
    _, facts, probes = doctor()
    ran = hotcell("doctor")
    text = ran.out.decode()
    assert "\x1b" not in text, "no colour in a pipe"
    for name in probes:
        assert name in text
    assert text.count("fix:") == sum(probe["state"] != "on" for probe in facts["probes"])
    assert ran.code == (0 if facts["full"] else 4)


@pytest.mark.parametrize(
    ("lack", "word"),
    [("no-landlock", "landlock"), ("no-cgroup", "memory"), ("no-userns", "user namespace")],
)
def test_what_is_missing_is_said_with_its_fix(lack, word):
    ran, facts, probes = doctor(env=pretending(lack))
    assert ran.code == 4, ran
    assert facts["full"] is False
    missing = [
        p
        for p in probes.values()
        if p["state"] != "on" and word in (p["name"] + p["detail"]).lower()
    ]
    assert missing, probes
    assert all(p["fix"] for p in missing)


def test_doctor_and_receipt_agree(receipt):
    _, facts, probes = doctor()
    lacking = [name for name, probe in probes.items() if probe["state"] != "on"]
    if "no-overlay" in PRETEND:
        assert not facts["full"]  # and yet a cell without mounts has nothing to hide
    else:
        assert facts["full"] == receipt["full"], lacking

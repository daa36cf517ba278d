"""Capsules of findings, as the fuzzers write them. Each has frames, of which its id is made."""

import hashlib
import json
import os

from harness import trust

FORMAT = "hotcell-finding-1"
FRAMES_COUNTED = 3


def identity(capsule):
    parts = [FORMAT, capsule["oracle"], capsule["target"], capsule["subject"], *capsule["frames"][:FRAMES_COUNTED]]
    return hashlib.sha256(b"".join(part.encode() + b"\0" for part in parts)).hexdigest()[:16]


def make(oracle="canary", subject="read_file", frame="read (server.py)", **more):
    capsule = {"format": FORMAT, "state": "open", "oracle": oracle, "target": "mcp-files", "subject": subject,
               "message": "the token of /etc/passwd is in the answer", "frames": [frame], "file": "server.py", "line": 17,
               "evidence": ["token 6f1c in content[0].text"], "kind": "mcp", "input": '{"path": "../../etc/passwd"}',
               "found": '{"path": "....//../../x/../etc/passwd", "mode": "r"}', "binary": False, "command": ["python3", "server.py"],
               "flags": ["--memory=64M"], "environment": ["API_KEY"], "seed": "18446744073709551615", "seen": 5, "tried": 5,
               "first_seen": 1790000000, "last_seen": 1790003600, "times": "2", **more}
    return {**capsule, "id": identity(capsule)}


def put(folder, *capsules):
    """Into the findings of the state folder, which is made; returns their ids."""
    findings = folder / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    for capsule in capsules:
        (findings / f"{capsule['id']}.json").write_text(json.dumps(capsule))
    trust(folder)
    return [capsule["id"] for capsule in capsules]

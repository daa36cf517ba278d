"""What came of a job, as plain values: nothing in them belongs to the library any more."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass, field
from typing import Any, Optional

from . import _library as lib


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _maybe(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else _text(value)


@dataclass(frozen=True)
class Gap:
    """A protection that the cell had not, or not in full."""

    protection: str  #: "memory-limit", "landlock", ...
    state: str  #: "off", or "weaker"
    note: str  #: why, or what stood in for it


class CellFailed(lib.Error):
    """A program did not end by itself with exit code 0; `result` says what it did."""

    def __init__(self, result: "CellResult") -> None:
        how = f"exit code {result.exit_code}" if result.exit_code is not None else f"signal {result.signal}" if result.signal else "no exit code"
        super().__init__(f"{result.outcome}, {how}{': ' + result.error if result.error else ''}")
        self.result = result


@dataclass(frozen=True)
class CellResult:
    outcome: str  #: "exited", "signaled", "timeout", "oom", "output-limit", "disk-limit", "denied", "setup-failed", "cancelled"
    exit_code: Optional[int]
    signal: Optional[int]
    stdout: bytes
    stderr: bytes
    wall: float  #: seconds, of the program
    setup: float  #: seconds, of making its cell
    user: float  #: seconds of CPU of everything in the cell
    system: float
    peak_memory: int  #: bytes; 0: not known
    refused: int  #: system calls that were refused
    full: bool  #: every protection was there
    gaps: tuple[Gap, ...]
    error: Optional[str]  #: why it never ran, or what failed after it
    said: str = field(repr=False)  #: hotcell's remarks and warnings
    receipt: dict[str, Any] = field(repr=False)  #: every protection and its state
    json: dict[str, Any] = field(repr=False)  #: all of it

    @property
    def ok(self) -> bool:
        """The program ended by itself with exit code 0, and nothing failed after it."""
        return self.outcome == "exited" and self.exit_code == 0 and self.error is None

    def check(self) -> "CellResult":
        """Itself, or CellFailed."""
        if not self.ok:
            raise CellFailed(self)
        return self


class FuzzFailed(lib.Error):
    """Something was not fuzzed; `result` has what was found all the same."""

    def __init__(self, result: "FuzzResult") -> None:
        super().__init__("; ".join(result.problems))
        self.result = result


@dataclass(frozen=True)
class Finding:
    id: str  #: the same again for the same fault
    oracle: str  #: "crash", "exception", "hang", "memory"
    severity: str  #: "critical", "high", "medium", "low"
    target: str  #: "parser.py:parse"
    function: str
    message: str
    file: Optional[str]
    line: Optional[int]
    input: bytes  #: what did it
    seen: int  #: it did the same so often,
    tried: int  #: of so many times in fresh cells
    is_new: bool  #: the state folder did not have it
    json: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class FuzzResult:
    findings: tuple[Finding, ...]
    execs: int
    wall: float  #: seconds
    seed: str
    problems: tuple[str, ...]  #: why something was not fuzzed
    stopped: bool  #: before its time
    said: str = field(repr=False)
    json: dict[str, Any] = field(repr=False)

    @property
    def ok(self) -> bool:
        """All of it was really fuzzed: without that, no findings mean nothing."""
        return not self.problems

    def check(self) -> "FuzzResult":
        """Itself, or FuzzFailed: an engine is missing, it cannot be built, it cannot be called."""
        if not self.ok:
            raise FuzzFailed(self)
        return self


@dataclass(frozen=True)
class Progress:
    seconds: float
    execs: int = 0
    execs_per_s: int = 0
    findings: int = 0
    json: Optional[dict[str, Any]] = field(default=None, repr=False)  #: what was told this time, if anything was


def read_progress(progress: lib.CProgress) -> Progress:
    told = json.loads(progress.json) if progress.json else None
    return Progress(progress.ms / 1000, progress.execs, progress.execs_per_s, progress.findings, told)


def read_cell(calls: ctypes.CDLL, result: int) -> CellResult:
    cell = calls.hotcell_result_cell(result).contents
    return CellResult(
        outcome=_text(cell.outcome_name),
        exit_code=cell.exit_code if cell.exit_code >= 0 else None,
        signal=cell.signal or None,
        stdout=ctypes.string_at(cell.out, cell.out_len),
        stderr=ctypes.string_at(cell.err, cell.err_len),
        wall=cell.wall_ms / 1000,
        setup=cell.setup_ms / 1000,
        user=cell.user_ms / 1000,
        system=cell.system_ms / 1000,
        peak_memory=cell.peak_memory,
        refused=cell.refused,
        full=bool(cell.full),
        gaps=tuple(Gap(*map(_text, (gap.protection, gap.state, gap.note))) for gap in cell.gaps[: cell.gap_count]),
        error=_maybe(cell.error),
        said=_text(calls.hotcell_result_said(result)),
        receipt=json.loads(cell.receipt),
        json=json.loads(calls.hotcell_result_json(result)),
    )


def _finding(each: lib.CFinding) -> Finding:
    return Finding(
        id=_text(each.id),
        oracle=_text(each.oracle),
        severity=_text(each.severity),
        target=_text(each.target),
        function=_text(each.subject),
        message=_text(each.message),
        file=_maybe(each.file),
        line=each.line or None,
        input=ctypes.string_at(each.input, each.input_len),
        seen=each.seen,
        tried=each.tried,
        is_new=bool(each.is_new),
        json=json.loads(each.json),
    )


def read_fuzz(calls: ctypes.CDLL, result: int) -> FuzzResult:
    fuzz = calls.hotcell_result_fuzz(result).contents
    return FuzzResult(
        findings=tuple(_finding(each) for each in fuzz.findings[: fuzz.finding_count]),
        execs=fuzz.execs,
        wall=fuzz.wall_ms / 1000,
        seed=_text(fuzz.seed),
        problems=tuple(_text(each) for each in fuzz.problems[: fuzz.problem_count]) if fuzz.problem_count else (),
        stopped=bool(fuzz.stopped),
        said=_text(calls.hotcell_result_said(result)),
        json=json.loads(calls.hotcell_result_json(result)),
    )

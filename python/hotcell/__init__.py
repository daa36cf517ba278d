"""Sealed cells for programs, and fuzzing of functions in them.

    import hotcell

    result = hotcell.run(["python3", "-c", "print(6 * 7)"], timeout=5, memory="64M")
    print(result.outcome, result.stdout)

    with hotcell.Engine(memory="512M", cpus=1) as engine:
        result = engine.fuzz_function("parser.py", "parse", duration=30)
        for finding in result.check().findings:
            print(finding.severity, finding.message, finding.input)

Everything runs in a cell unless `sandbox=False` is said. The work is done by libhotcell.so, which the wheel brings along; it
starts the program hotcell, which it carries, as a child process for every job. Threads and forks of yours do not matter to it.
"""

from . import _library
from ._library import Error, Failed, Stopped, SystemRefused, UsageError
from .engine import Engine, NoSandboxWarning, run
from .results import CellFailed, CellResult, Finding, FuzzFailed, FuzzResult, Gap, Progress

__all__ = [
    "CellFailed", "CellResult", "Engine", "Error", "Failed", "Finding", "FuzzFailed", "FuzzResult", "Gap", "NoSandboxWarning", "Progress",
    "Stopped", "SystemRefused", "UsageError", "run", "version",
]  # fmt: skip


def version() -> str:
    """Of the library."""
    return str(_library.library().hotcell_version().decode())

"""libhotcell.so: where it is, and its calls. hotcell.h says what they mean."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import NoReturn, Optional

API = 1
RUN, FUZZ_FUNCTION = 1, 2


class Error(Exception):
    """Something could not be done. The text is one sentence."""


class UsageError(Error, ValueError):
    """What was asked for is wrong."""


class SystemRefused(Error):
    """The machine refused memory, a descriptor or a process."""


class Failed(Error):
    """There is no result: hotcell could not do it, or was killed."""


class Stopped(Error):
    """There is no result: it was stopped before there could be one."""


KINDS = {1: UsageError, 2: SystemRefused, 3: Failed, 4: Stopped}


class CError(Structure):
    _fields_ = [("code", c_int), ("text", c_char * 500)]


class CProgress(Structure):
    _fields_ = [("ms", c_uint64), ("execs", c_uint64), ("execs_per_s", c_uint64), ("findings", c_uint64), ("json", c_char_p)]


class CGap(Structure):
    _fields_ = [("protection", c_char_p), ("state", c_char_p), ("note", c_char_p)]


class CCell(Structure):
    _fields_ = [
        ("outcome", c_int), ("outcome_name", c_char_p), ("exit_code", c_int), ("signal", c_int),
        ("out", c_void_p), ("out_len", c_size_t), ("err", c_void_p), ("err_len", c_size_t),
        ("wall_ms", c_double), ("setup_ms", c_double), ("user_ms", c_double), ("system_ms", c_double),
        ("peak_memory", c_uint64), ("refused", c_uint64), ("full", c_int), ("gaps", POINTER(CGap)), ("gap_count", c_size_t),
        ("receipt", c_char_p), ("error", c_char_p),
    ]  # fmt: skip


class CFinding(Structure):
    _fields_ = [
        ("id", c_char_p), ("oracle", c_char_p), ("severity", c_char_p), ("target", c_char_p), ("subject", c_char_p),
        ("message", c_char_p), ("file", c_char_p), ("line", c_uint), ("input", c_void_p), ("input_len", c_size_t),
        ("seen", c_uint), ("tried", c_uint), ("is_new", c_int), ("json", c_char_p),
    ]  # fmt: skip


class CFuzz(Structure):
    _fields_ = [
        ("execs", c_uint64), ("wall_ms", c_uint64), ("seed", c_char_p), ("findings", POINTER(CFinding)), ("finding_count", c_size_t),
        ("problems", POINTER(c_char_p)), ("problem_count", c_size_t), ("stopped", c_int),
    ]  # fmt: skip


WATCH = CFUNCTYPE(c_int, c_void_p, POINTER(CProgress))
ERROR = POINTER(CError)
CALLS = {
    "hotcell_api": (c_uint, []),
    "hotcell_version": (c_char_p, []),
    "hotcell_open": (c_void_p, [ERROR]),
    "hotcell_close": (None, [c_void_p]),
    "hotcell_job_open": (c_void_p, [c_void_p, c_int, ERROR]),
    "hotcell_job_free": (None, [c_void_p]),
    "hotcell_job_set": (c_int, [c_void_p, c_char_p, c_char_p, ERROR]),
    "hotcell_job_add": (c_int, [c_void_p, c_char_p, ERROR]),
    "hotcell_job_input": (c_int, [c_void_p, c_char_p, c_size_t, ERROR]),
    "hotcell_job_folder": (c_int, [c_void_p, c_char_p, ERROR]),
    "hotcell_job_watch": (c_int, [c_void_p, WATCH, c_void_p, ERROR]),
    "hotcell_job_run": (c_void_p, [c_void_p, ERROR]),
    "hotcell_job_stop": (None, [c_void_p]),
    "hotcell_result_free": (None, [c_void_p]),
    "hotcell_result_json": (c_char_p, [c_void_p]),
    "hotcell_result_said": (c_char_p, [c_void_p]),
    "hotcell_result_cell": (POINTER(CCell), [c_void_p]),
    "hotcell_result_fuzz": (POINTER(CFuzz), [c_void_p]),
}


def _places() -> Iterator[str]:
    """Where the library may be, the nearest first: named, in the wheel, in the tree's build, in the system."""
    named = os.environ.get("HOTCELL_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    for path in (here / "libhotcell.so", here.parent.parent / "build" / "libhotcell.so"):
        if path.exists():
            yield str(path)
    yield "libhotcell.so.1"


def _load() -> ctypes.CDLL:
    why = ""
    for place in _places():
        try:
            loaded = ctypes.CDLL(place)
            for name, (result, arguments) in CALLS.items():
                call = getattr(loaded, name)
                call.restype, call.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            why = str(error)
            continue
        if loaded.hotcell_api() < API:
            why = f"'{place}' is too old"
            continue
        return loaded
    raise Failed(f"libhotcell.so cannot be used: {why}; install the package again, or name a library in HOTCELL_LIBRARY")


_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork)


def library() -> ctypes.CDLL:
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def check(error: CError) -> NoReturn:
    """Raises what the library said was wrong."""
    raise KINDS.get(error.code, Failed)(error.text.decode("utf-8", "replace"))


class Library:
    """One open struct hotcell."""

    def __init__(self) -> None:
        error = CError()
        self.calls = library()
        self.handle = self.calls.hotcell_open(byref(error))
        if not self.handle:
            check(error)

    def close(self) -> None:
        handle, self.handle = self.handle, None
        if handle:
            self.calls.hotcell_close(handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()

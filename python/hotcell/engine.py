"""Cells and fuzzing, as Python has them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _library as lib
from ._job import Job, Mounts, Watch, Word, command_words, env_words, mount_words, seconds, word
from .results import CellResult, FuzzResult, read_cell, read_fuzz

Size = Union[int, str]
Seconds = Union[int, float, str]


class NoSandboxWarning(UserWarning):
    """Something is run without a sandbox: it can read, change and send away everything you can."""


def _own_venv() -> Optional[str]:
    """The environment that runs us, if it has Atheris."""
    if sys.prefix == sys.base_prefix or importlib.util.find_spec("atheris") is None:
        return None
    return sys.prefix


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not by a child process that inherited the engine
        shutil.rmtree(folder, ignore_errors=True)


class Engine:
    """Makes cells and fuzzes functions, with the limits given here for all of them. For a `with` block, or to be closed.

    Any thread may use it, and several may at once. `state` is the folder that findings, corpora and the audit log of fuzzing are
    kept in; if it is not given, that is a temporary one which goes when the engine is closed. `options` are options of
    `hotcell run` and `hotcell fuzz function` by their names: True for one that takes no value, a list for one that is repeated.
    `sandbox=False` runs everything UNPROTECTED, and warns each time.
    """

    def __init__(
        self,
        *,
        memory: Optional[Size] = None,
        cpus: Optional[float] = None,
        processes: Optional[int] = None,
        profile: Optional[Word] = None,
        sandbox: bool = True,
        state: Optional[Word] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        if not isinstance(sandbox, bool):
            raise TypeError("sandbox is True or False")
        self._options = {"memory": memory, "cpus": cpus, "processes": processes, "profile": profile, **(options or {})}
        self._sandbox = sandbox
        self._state = None if state is None else os.fsdecode(word(state, "state"))
        self._closed = False
        self._begin_process()
        self._library = lib.Library()

    def _begin_process(self) -> None:
        """What belongs to this process: jobs, a lock and a folder of the one that it was forked from do not."""
        self._process = os.getpid()
        self._temporary: Optional[str] = None
        self._forget: Callable[[], Any] = lambda: None
        self._changed = threading.Condition()
        self._jobs: set[Job] = set()

    def _here(self) -> threading.Condition:
        if self._process != os.getpid():
            self._begin_process()
        return self._changed

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is under way in other threads, and waits for it; then nothing of the engine is left."""
        with self._here():
            self._closed = True
            for job in self._jobs:
                job.stop()
            self._changed.wait_for(lambda: not self._jobs)
        self._library.close()
        self._forget()

    def stop(self) -> None:
        """Ends what is under way in other threads. What was found until then is in its result."""
        with self._here():
            for job in self._jobs:
                job.stop()

    # ---- cells ----

    def run(
        self,
        command: Sequence[Word],
        *,
        input: Optional[bytes] = None,
        timeout: Optional[Seconds] = None,
        mounts: Mounts = (),
        env: Optional[Mapping[str, str]] = None,
        workdir: Optional[Word] = None,
        folder: Optional[Word] = None,
        watch: Optional[Watch] = None,
        **options: Any,
    ) -> CellResult:
        """Runs a command in a cell of its own, and returns what came of it: that it failed is no exception.

        `mounts` are {source: target}, or (source, target) or (source, target, "rw"), or "SRC:DST:rw". `folder` is where relative
        paths begin; `workdir` is the folder in the cell. `watch` is called about five times a second, perhaps in another
        thread, and ends it when it returns something true. Further keywords are options of hotcell-run(1).
        """

        def fill(job: Job) -> None:
            job.set("timeout", None if timeout is None else seconds(timeout, "timeout"))
            job.set("mount", mount_words(mounts))
            job.set("env", env_words(env or {}))
            job.set("workdir", workdir)
            if input is not None:
                job.input(input)
            for each in command_words(command):
                job.add(each)

        result: CellResult = self._do(lib.RUN, fill, folder, options, watch, read_cell)
        return result

    # ---- fuzzing ----

    def fuzz_function(self, path: Word, function: Optional[str] = None, **more: Any) -> FuzzResult:
        """Fuzzes one function of a file; without a function: a harness's file, or the harnesses of a folder. See `fuzz`."""
        target = os.fsdecode(word(path, "path"))
        if function is not None:
            target = f"{target}:{os.fsdecode(word(function, 'function'))}"
        return self.fuzz([target], **more)

    def fuzz(
        self,
        targets: Sequence[str],
        *,
        duration: Optional[Seconds] = None,
        max_execs: Optional[int] = None,
        workers: Optional[int] = None,
        seed: Union[int, str, None] = None,
        seed_corpus: Optional[Word] = None,
        dictionary: Optional[Word] = None,
        expect: Sequence[Union[str, type]] = (),
        venv: Optional[Word] = None,
        folder: Optional[Word] = None,
        watch: Optional[Watch] = None,
        **options: Any,
    ) -> FuzzResult:
        """Fuzzes targets ("file.py:function", a harness's file, a folder) with the engines of their languages, in cells.

        `expect` are exceptions that are declared and no findings, by name or class. `venv` is the Python environment that has
        Atheris; that which runs this, if it has it. `watch` is called with a Progress about five times a second, perhaps in
        another thread, and ends it when it returns something true. Further keywords are options of hotcell-fuzz-function(1).
        """
        if isinstance(targets, (str, bytes)) or not isinstance(targets, Sequence):
            raise TypeError("targets is a list")
        named = [each.__name__ if isinstance(each, type) else each for each in ([expect] if isinstance(expect, (str, type)) else expect)]

        def fill(job: Job) -> None:
            job.set("duration", None if duration is None else seconds(duration, "duration"))
            job.set("expect", named)
            job.set("venv", venv if venv is not None else _own_venv())
            job.set("state", self._state_folder())
            for name, value in (("max-execs", max_execs), ("workers", workers), ("seed", seed), ("seed-corpus", seed_corpus), ("dict", dictionary)):
                job.set(name, value)
            for each in targets:
                job.add(word(each, "a target"))

        result: FuzzResult = self._do(lib.FUZZ_FUNCTION, fill, folder, options, watch, read_fuzz)
        return result

    # ---- both ----

    def _state_folder(self) -> str:
        if self._state is not None:
            return self._state
        with self._here():
            if self._temporary is None:
                self._temporary = tempfile.mkdtemp(prefix="hotcell-")
                self._forget = weakref.finalize(self, _remove, self._temporary, self._process)  # also of one that nobody closed
            return self._temporary

    def _begin(self, job: Job) -> None:
        with self._here():
            if self._closed:
                raise lib.UsageError("the engine has been closed")
            self._jobs.add(job)

    def _end(self, job: Job) -> None:
        with self._changed:
            self._jobs.discard(job)
            self._changed.notify_all()

    def _do(
        self,
        kind: int,
        fill: Callable[[Job], None],
        folder: Optional[Word],
        options: Mapping[str, Any],
        watch: Optional[Watch],
        read: Callable[[Any, int], Any],
    ) -> Any:
        if self._closed:
            raise lib.UsageError("the engine has been closed")
        with Job(self._library, kind) as job:
            self._begin(job)
            try:
                for name, value in {**self._options, **options}.items():
                    job.set(name, value)
                if folder is not None:
                    job.folder(folder)
                if not self._sandbox:
                    warnings.warn("NO SANDBOX: this runs unprotected, and can do everything that you can", NoSandboxWarning, stacklevel=3)
                    job.set("no-sandbox", True)
                fill(job)
                result = job.run(watch)
                try:
                    return read(job.calls, result)
                finally:
                    job.calls.hotcell_result_free(result)
            finally:
                self._end(job)


_shared: Optional[Engine] = None
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork)


def run(command: Sequence[Word], *, sandbox: bool = True, **more: Any) -> CellResult:
    """Engine.run, with an engine that is made once and kept; `sandbox=False` runs it UNPROTECTED, and warns."""
    global _shared
    if not sandbox:
        with Engine(sandbox=False) as engine:
            return engine.run(command, **more)
    with _lock:
        if _shared is None:
            _shared = Engine()
    return _shared.run(command, **more)

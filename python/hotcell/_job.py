"""One job of the library: from Python's values to its words, and back."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping, Sequence
from ctypes import byref
from typing import Any, Callable, Optional, Union

from . import _library as lib
from .results import Progress, read_progress

Word = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Mounts = Union[Mapping[Word, Word], Sequence[Union[str, "tuple[Word, ...]"]]]
Watch = Callable[[Progress], Any]


def word(value: Any, what: str) -> bytes:
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is a text or a path, not {type(value).__name__}")
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{what} has a NUL in it")
    return encoded


def seconds(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} is a number of seconds or a text such as '5m', not {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{what} is a number of seconds, not {value}")
    return f"{round(value * 1000)}ms"


def mount_words(mounts: Any) -> list[bytes]:
    if isinstance(mounts, (str, bytes)):
        raise TypeError("mounts is a list or a mapping, not one text")
    pairs = mounts.items() if isinstance(mounts, Mapping) else mounts
    words = []
    for each in pairs:
        if isinstance(each, str):
            words.append(word(each, "a mount"))
            continue
        parts = [word(part, "a part of a mount") for part in each]
        if len(parts) not in (2, 3) or any(b":" in part for part in parts):
            raise ValueError("a mount is (source, target) or (source, target, 'ro' or 'rw'), without a colon in any of them")
        words.append(b":".join([os.path.abspath(parts[0]), *parts[1:]]))
    return words


def command_words(command: Any) -> list[bytes]:
    if isinstance(command, (str, bytes)) or not isinstance(command, Sequence):
        raise TypeError("a command is a list of words: ['sh', '-c', '...']; one text would have to be guessed apart")
    return [word(each, "a word of the command") for each in command]


def env_words(env: Any) -> list[bytes]:
    if not isinstance(env, Mapping):
        raise TypeError("env is a mapping of names to values")
    return [word(name, "a name in env") + b"=" + word(value, "a value in env") for name, value in env.items()]


def option_words(name: Any, value: Any) -> list[Optional[bytes]]:
    """Values of an option: True is one that takes none, None and False are none at all."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an option is a text, not {type(name).__name__}")
    if value is None or value is False:
        return []
    if value is True:
        return [None]
    if isinstance(value, (int, float)):
        return [format(value, "d" if isinstance(value, int) else "g").encode()]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in option_words(name, item)]
    return [word(value, f"the option '{name}'")]


class Job:
    """To be used with `with`; run once."""

    def __init__(self, library: lib.Library, kind: int) -> None:
        self.calls, self.error = library.calls, lib.CError()
        self.kept: Any = None  # the library calls it: it must not go before
        self.handle = self.calls.hotcell_job_open(library.handle, kind, byref(self.error))
        if not self.handle:
            lib.check(self.error)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: Any) -> None:
        handle, self.handle = self.handle, None
        self.calls.hotcell_job_free(handle)

    def _try(self, rc: int) -> None:
        if rc < 0:
            lib.check(self.error)

    def set(self, name: str, value: Any) -> None:
        for each in option_words(name, value):
            self._try(self.calls.hotcell_job_set(self.handle, word(name.replace("_", "-"), "the name of an option"), each, byref(self.error)))

    def add(self, text: bytes) -> None:
        self._try(self.calls.hotcell_job_add(self.handle, text, byref(self.error)))

    def input(self, data: Any) -> None:
        if isinstance(data, str):
            raise TypeError("input is bytes, not a text: encode it")
        data = bytes(memoryview(data))
        self._try(self.calls.hotcell_job_input(self.handle, data, len(data), byref(self.error)))

    def folder(self, path: Any) -> None:
        self._try(self.calls.hotcell_job_folder(self.handle, word(path, "folder"), byref(self.error)))

    def stop(self) -> None:
        if self.handle:
            self.calls.hotcell_job_stop(self.handle)

    def _watch(self, watch: Watch, raised: list[BaseException]) -> None:
        def on_progress(_data: Any, progress: Any) -> int:
            try:
                return int(bool(watch(read_progress(progress.contents))))
            except BaseException as error:
                raised.append(error)
                return 1

        self.kept = lib.WATCH(on_progress)
        self._try(self.calls.hotcell_job_watch(self.handle, self.kept, None, byref(self.error)))

    def _wait(self, call: Callable[[], None], raised: list[BaseException]) -> None:
        """Python looks at its signals in the main thread only, and not while a library is called there: it waits for another one."""
        if threading.current_thread() is not threading.main_thread():
            call()
            return
        thread = threading.Thread(target=call, name="hotcell")
        thread.start()
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:
                raised.append(error)
                self.stop()

    def run(self, watch: Optional[Watch]) -> int:
        """The library's result, which the caller frees. What `watch` raises, and Ctrl-C, end the job and are raised here."""
        raised: list[BaseException] = []
        results: list[Optional[int]] = []

        if watch:
            self._watch(watch, raised)
        self._wait(lambda: results.append(self.calls.hotcell_job_run(self.handle, byref(self.error))), raised)
        result = results[0] if results else None
        if raised:
            self.calls.hotcell_result_free(result)
            raise raised[0]
        if not result:
            lib.check(self.error)
        return result

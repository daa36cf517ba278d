"""Calls one Python function with values made from bytes, for Atheris. Runs inside a cell.

	python_harness.py fuzz FLAG...           as an engine: libFuzzer's flags and folders
	python_harness.py replay FILE...         exits with 77 where one does what it must not; of several, each is named first
	python_harness.py minimise FILE OUT SECONDS
	python_harness.py cover FOLDER           the inputs of a corpus; leaves coverage.info, in lcov
	python_harness.py serve                  JSON documents, a line each, on stdin; an answer a line on stdout

It goes on after an exception: each new one, told apart by its type and the innermost frames of the target's code, is
left in crashes/ as NAME.txt (the traceback), then NAME.input. What ends the process itself is seen by another one, which has
the input. What the target does to this process (it may change all
of it) is judged outside: an input counts when it does the same in a fresh cell.
"""

import hashlib
import json
import os
import sys
import time

WORK = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(WORK, "target.json"), encoding="utf-8") as config_file:
    CONFIG = json.load(config_file)
ROOT = CONFIG["root"]
EXIT_FOUND = 77
TEXT_MAX = 65536
ANSWER_MAX = 3500
CRASHES_MAX = 1000
KEY_FRAMES = 3
DEPTH_MAX = 4
ITEMS_MAX = 8
INTEGERS = (0, 1, -1, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**63 - 1, 2**63, 2**64)


def devnull_stdout():
    """What the target prints is for nobody."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def limit_memory():
    """So that too much is an error with an input, and not the end of the cell."""
    import resource

    if CONFIG["memory"]:
        resource.setrlimit(resource.RLIMIT_AS, (CONFIG["memory"], CONFIG["memory"]))


SERVING = sys.argv[1:2] == ["serve"]
ANSWERS = os.dup(1) if SERVING else None
devnull_stdout()
limit_memory()
if not SERVING:
    import atheris  # noqa: E402


# ---- the function ----


def import_place():
    """The folder its module is imported from, and the module's name: packages are those with an __init__.py."""
    path = os.path.join(ROOT, CONFIG["file"])
    folder, name = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    parts = [] if name == "__init__" else [name]
    while os.path.exists(os.path.join(folder, "__init__.py")) and folder.startswith(ROOT + "/"):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return folder, ".".join(parts)


def load(instrument):
    import importlib

    folder, name = import_place()
    for each in (ROOT, os.path.join(ROOT, "src"), folder):
        if each not in sys.path:
            sys.path.insert(0, each)
    own = {each.split(".")[0] for each in os.listdir(folder)}
    if instrument:
        left_out = sorted(set(sys.stdlib_module_names) - own) + ["atheris", "site", "sitecustomize"]
        with atheris.instrument_imports(exclude=left_out):
            module = importlib.import_module(name)
    else:
        module = importlib.import_module(name)
    found = module
    for part in CONFIG["function"].split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{CONFIG['function']} is no function")
    return found


# ---- values from bytes ----


class Skip(Exception):
    """No value can be made from these bytes."""


def text(raw):
    """Every input means something, and what is ASCII in it is the same in the text."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def some_bytes(data, last):
    left = data.remaining_bytes()
    return data.ConsumeBytes(left if last else data.ConsumeIntInRange(0, min(left, 255)))


def make_int(data):
    kind = data.ConsumeIntInRange(0, 3)
    if kind == 0:
        return data.ConsumeIntInRange(-16, 255)
    if kind == 1:
        return INTEGERS[data.ConsumeIntInRange(0, len(INTEGERS) - 1)]
    return data.ConsumeInt(4 if kind == 2 else 9)


def make_unknown(data, depth, last):
    raw = some_bytes(data, last)
    return text(raw) if data.ConsumeBool() else raw


def make_object(hint, data, depth):
    """A dataclass, a TypedDict, or whatever else is made by calling it with values of its hints."""
    import dataclasses
    import typing

    if dataclasses.is_dataclass(hint):
        fields = {field.name: field for field in dataclasses.fields(hint) if field.init}
        hints = hints_of(hint)
        return hint(**{name: make(hints.get(name, str), data, depth + 1, False) for name in fields})
    if typing.is_typeddict(hint):
        return {name: make(each, data, depth + 1, False) for name, each in hints_of(hint).items()}
    maker = arguments_of(hint)
    try:
        args, kwargs = maker(data, depth + 1)
        return hint(*args, **kwargs)
    except Exception as error:
        raise Skip from error


def make_items(item, data, depth):
    return [make(item, data, depth + 1, False) for _ in range(data.ConsumeIntInRange(0, ITEMS_MAX))]


def make_generic(origin, args, data, depth, last):
    import collections.abc
    import types
    import typing

    if origin in (typing.Union, types.UnionType):
        return make(args[data.ConsumeIntInRange(0, len(args) - 1)], data, depth, last)
    if origin is typing.Literal:
        return args[data.ConsumeIntInRange(0, len(args) - 1)]
    if origin is typing.Annotated or origin in (typing.Final, typing.ClassVar):
        return make(args[0], data, depth, last)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(make_items(args[0], data, depth))
        return tuple(make(each, data, depth + 1, False) for each in args)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        key, value = args if len(args) == 2 else (str, str)
        return {make(key, data, depth + 1, False): make(value, data, depth + 1, False) for _ in range(data.ConsumeIntInRange(0, ITEMS_MAX))}
    if isinstance(origin, type) and issubclass(origin, collections.abc.Set):
        return set(make_items(args[0] if args else str, data, depth))
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return make_items(args[0] if args else str, data, depth)
    return make_unknown(data, depth, last)


PLAIN = {
    bool: lambda data, last: data.ConsumeBool(),
    int: lambda data, last: make_int(data),
    float: lambda data, last: data.ConsumeFloat(),
    complex: lambda data, last: complex(data.ConsumeFloat(), data.ConsumeFloat()),
    str: lambda data, last: text(some_bytes(data, last)),
    bytes: some_bytes,
    bytearray: lambda data, last: bytearray(some_bytes(data, last)),
    memoryview: lambda data, last: memoryview(some_bytes(data, last)),
    type(None): lambda data, last: None,
    None: lambda data, last: None,
}


def make(hint, data, depth=0, last=False):
    import enum
    import typing

    if hint in PLAIN:
        return PLAIN[hint](data, last)
    if depth > DEPTH_MAX:
        return None
    origin = typing.get_origin(hint)
    if origin is not None:
        return make_generic(origin, typing.get_args(hint), data, depth, last)
    if hint in (list, set, frozenset):
        return hint(make_items(str, data, depth))
    if hint is tuple:
        return tuple(make_items(str, data, depth))
    if hint is dict:
        return {make(str, data, depth + 1): make(str, data, depth + 1) for _ in range(data.ConsumeIntInRange(0, ITEMS_MAX))}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        members = list(hint)
        return members[data.ConsumeIntInRange(0, len(members) - 1)] if members else None
    if isinstance(hint, type) and hint is not object:
        return make_object(hint, data, depth)
    return make_unknown(data, depth, last)


def hints_of(function):
    import typing

    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that only a type checker knows
        return {name: each for name, each in getattr(function, "__annotations__", {}).items() if not isinstance(each, str)}


def arguments_of(function):
    """What makes its arguments from data, by its signature."""
    import inspect

    hints = hints_of(function if not isinstance(function, type) else function.__init__)
    wanted = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # one that is written in C and says nothing of itself
        return lambda data, depth=0: ([make_unknown(data, depth, True)], {})
    for each in parameters:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        hint = hints.get(each.name, inspect.Parameter.empty)
        if hint is inspect.Parameter.empty and each.default not in (inspect.Parameter.empty, None):
            hint = type(each.default)
        wanted.append((each.name, each.kind == each.KEYWORD_ONLY, hint))

    def maker(data, depth=0):
        args, kwargs = [], {}
        for place, (name, by_name, hint) in enumerate(wanted):
            value = make(hint, data, depth, depth == 0 and place == len(wanted) - 1)
            if by_name:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    only = wanted[0][2] if len(wanted) == 1 else None
    if only in (bytes, str):  # the input itself: what is kept is what was given
        def whole(data, depth=0):
            raw = data.ConsumeBytes(data.remaining_bytes())
            value = raw if only is bytes else text(raw)
            return ([], {wanted[0][0]: value}) if wanted[0][1] else ([value], {})
        return whole
    return maker


# ---- a call, and what comes of it ----


def is_expected(error):
    names = CONFIG["expect"]
    for each in type(error).__mro__:
        if each.__name__ in names or f"{each.__module__}.{each.__qualname__}" in names:
            return True
    return False


class Caller:
    def __init__(self, function):
        import asyncio
        import inspect

        self.function = function
        self.maker = arguments_of(function)
        self.loop = asyncio.new_event_loop() if inspect.iscoroutinefunction(function) else None

    def can_be_called(self):
        """Whether bytes make arguments at all; `why` not, if they do not."""
        import random

        some = random.Random(1)
        for size in range(200):
            try:
                self.maker(atheris.FuzzedDataProvider(some.randbytes(size)))
                return True
            except Exception as error:
                self.why = error
        return False

    def __call__(self, raw):
        """None, or the error that nobody expected."""
        try:
            args, kwargs = self.maker(atheris.FuzzedDataProvider(raw))
        except Exception:  # what these bytes stand for cannot be made: not the function's fault
            return None
        try:
            result = self.function(*args, **kwargs)
            if self.loop is not None:
                self.loop.run_until_complete(result)
        except BaseException as error:
            return None if is_expected(error) else error
        return None


def frames(error):
    import traceback

    walked = [(frame.f_code.co_filename, frame.f_code.co_name) for frame, _ in traceback.walk_tb(error.__traceback__.tb_next)]
    own = [each for each in walked if each[0].startswith(ROOT + "/")]
    walked = own or walked
    return walked[:KEY_FRAMES] if isinstance(error, RecursionError) else walked[-KEY_FRAMES:]


def key_of(error):
    return hashlib.sha1(repr((type(error).__qualname__, frames(error))).encode()).hexdigest()[:16]


def told(error, ours=1):
    """The traceback without what is ours of it."""
    import traceback

    trace = error.__traceback__
    while ours and trace is not None:
        trace, ours = trace.tb_next, ours - 1
    try:
        lines = traceback.format_exception(type(error), error, trace)
        whole = "".join(lines).encode("utf-8", "backslashreplace")
    except Exception:  # its __str__ raises
        whole = f"Traceback (most recent call last):\n{type(error).__qualname__}\n".encode()
    return whole if len(whole) <= TEXT_MAX else whole[: TEXT_MAX // 2] + b"\n...\n" + whole[-TEXT_MAX // 2 :]


def leave(name, data):
    """Whole or not at all; whoever was first keeps the name."""
    path = os.path.join(WORK, "crashes", name)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as out:
        out.write(data)
    try:
        os.link(part, path)
    except OSError:
        pass
    os.unlink(part)


# ---- what ends the process ----

INPUT_MAX = 1 << 20
EXITED = "\n==1== ERROR: libFuzzer: fuzz target exited (exit code %d)\n"


def divide(judge):
    """The process is two from here on: this returns in one of them; the other waits for its end, and judges it."""
    import ctypes
    import signal

    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
        return
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    judge(code)
    os._exit(code if code >= 0 else 128 - code)


def is_left(folder, raw):
    """Whether libFuzzer itself has left the input."""
    for each in os.scandir(folder):
        if each.name.startswith(("crash-", "timeout-", "oom-")) and each.is_file(follow_symlinks=False):
            if each.stat(follow_symlinks=False).st_size == len(raw):
                with open(each.path, "rb") as source:
                    if source.read() == raw:
                        return True
    return False


class Watched:
    """Memory that both processes have: whether a call goes on, and its input."""

    HEAD = 9

    def __init__(self, prefix):
        import mmap

        self.memory = mmap.mmap(-1, self.HEAD + INPUT_MAX)
        self.prefix = prefix
        divide(self.judge)

    def judge(self, code):
        size = int.from_bytes(self.memory[1 : self.HEAD], "little")
        raw = self.memory[self.HEAD : self.HEAD + size]
        if not self.memory[0] or size > INPUT_MAX or is_left(os.path.dirname(self.prefix), raw):
            return
        path = f"{self.prefix}crash-{hashlib.sha1(raw).hexdigest()}"
        with open(path, "wb") as out:
            out.write(raw)
        said = "" if code == -9 else EXITED % code  # what has too much memory is ended so, and the cell knows it
        sys.stderr.write(f"{said}\nTest unit written to {path}\n")
        sys.stderr.flush()
        os._exit(EXIT_FOUND)


def fuzz(flags):
    prefix = [each.split("=", 1)[1] for each in flags if each.startswith("-artifact_prefix=")]
    watched = Watched(prefix[0]).memory if prefix else bytearray(Watched.HEAD + INPUT_MAX)
    caller = Caller(load(instrument=True))
    seen = set()

    def one_input(raw):
        size = len(raw)
        if size <= INPUT_MAX:
            watched[: 9 + size] = b"\1" + size.to_bytes(8, "little") + raw
        error = caller(raw)
        watched[0] = 0
        if error is None:
            return
        key = key_of(error)
        if key in seen or len(seen) >= CRASHES_MAX:
            return
        seen.add(key)
        leave(f"{key}.txt", told(error))
        leave(f"{key}.input", raw)

    if not caller.can_be_called():
        sys.exit(f"no values for the parameters of {CONFIG['function']} could be made: {caller.why!r}")
    atheris.enabled_hooks.add("str")
    # to merge, libFuzzer starts itself again, by what it takes for its name, in a shell
    name = f"{sys.executable} {sys.argv[0]} fuzz" if "-merge=1" in flags else sys.argv[0]
    atheris.Setup([name] + flags, one_input)
    atheris.Fuzz()


def replay(paths):
    """One input; or several, each after a line that names it, and without an end at the first that fails."""
    import faulthandler
    import mmap
    import struct

    now = mmap.mmap(-1, 16)  # the number of the input that is tried, and since when

    def judge(code):
        number, since = struct.unpack("<qd", now[:])
        if not number or code < 0 or (code == 1 and time.monotonic() - since >= CONFIG["timeout"] * 0.9):
            return
        if len(paths) > 1:
            sys.stderr.write(f"\n== hotcell input {os.path.basename(paths[number - 1])}\n")
        sys.stderr.write(EXITED % code)
        sys.stderr.flush()
        os._exit(EXIT_FOUND)

    divide(judge)
    faulthandler.enable()
    caller = Caller(load(instrument=False))

    def one_input(raw):  # as deep in the stack as where it is fuzzed and made small: what just fits must fit everywhere
        return caller(raw)

    found = False
    for number, path in enumerate(paths, 1):
        with open(path, "rb") as source:
            raw = source.read()
        now[:] = struct.pack("<qd", number, time.monotonic())
        faulthandler.dump_traceback_later(CONFIG["timeout"], exit=True)  # a thread of its own, which no regex can hold up
        error = one_input(raw)
        now[:8] = bytes(8)
        faulthandler.cancel_dump_traceback_later()
        if len(paths) > 1:
            sys.stderr.buffer.write(b"\n== hotcell input " + os.path.basename(path).encode() + b"\n")
        if error is not None:
            found = True
            sys.stderr.buffer.write(b"\n" + told(error))
        sys.stderr.flush()
    os._exit(EXIT_FOUND if found else 0)


def minimise(path, out, seconds):
    """Parts are taken away, then bytes made plain, as long as the same error comes."""
    import mmap

    watched = mmap.mmap(-1, 1)
    caller = Caller(load(instrument=False))
    end = time.monotonic() + seconds
    with open(path, "rb") as source:
        best = source.read()
    key = None

    def fails_so(raw):
        nonlocal key
        error = caller(raw)
        key = key or (error and key_of(error))
        return error is not None and key_of(error) == key

    def ends(raw):
        watched[0] = 1
        child = os.fork()
        if child == 0:
            caller(raw)
            watched[0] = 0
            os._exit(0)
        os.waitpid(child, 0)
        return watched[0] == 1

    same = ends if ends(best) else fails_so  # what ends the process is tried in others
    if not same(best):
        os._exit(1)

    def keep(raw):
        nonlocal best
        best = raw
        with open(out + ".part", "wb") as target:
            target.write(best)
        os.replace(out + ".part", out)

    size = max(len(best) // 2, 1)
    while size and best and time.monotonic() < end:
        at, shorter = 0, False
        while at < len(best) and time.monotonic() < end:
            less = best[:at] + best[at + size :]
            if same(less):
                keep(less)
                shorter = True
            else:
                at += size
        if not shorter or size > 1:
            size = size // 2 if size > 1 else int(shorter)
    for at in range(len(best)):
        for plain in b"0a A":
            if best[at] == plain or time.monotonic() >= end:
                break
            other = best[:at] + bytes([plain]) + best[at + 1 :]
            if same(other):
                keep(other)
                break
    os._exit(0)


# ---- which lines a corpus reaches ----

COVER_INPUTS = 50000
COVER_CHUNK = 64
COVER_INPUT_S = 1.0


def is_own(path):
    return path.startswith(ROOT + "/") and path.endswith(".py") and "/site-packages/" not in path


class OwnTracer:
    """Lines by the interpreter's own telling, where there is no coverage.py."""

    def __init__(self):
        self.hits = {}

    def trace(self, frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and not is_own(path):
            return None
        if event == "line":
            self.hits.setdefault(path, set()).add(frame.f_lineno)
        return self.trace

    def start(self):
        sys.settrace(self.trace)

    def stop(self):
        sys.settrace(None)

    def lines(self):
        return self.hits

    def statements(self, path, code):
        return {line for each in codes(code) for _, _, line in each.co_lines() if line}


class CoverageTracer:
    """coverage.py, which knows better than the bytecode what a statement is."""

    def __init__(self):
        import coverage

        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=[ROOT + "/*"], omit=["*/site-packages/*"])

    def start(self):
        self.coverage.start()

    def stop(self):
        self.coverage.stop()

    def lines(self):
        data = self.coverage.get_data()
        return {path: set(data.lines(path) or ()) for path in data.measured_files()}

    def statements(self, path, code):
        return set(self.coverage.analysis2(path)[1])


def tracer():
    try:
        return CoverageTracer()
    except Exception:  # it is not there, or is another than we know
        return OwnTracer()


def codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, type(code)):
            yield from codes(each)


def functions_of(code):
    """Each function's name, its line, and the lines of its body."""
    import inspect

    for each in codes(code):
        if each.co_flags & inspect.CO_OPTIMIZED and not each.co_name.startswith("<"):
            lines = {line for _, _, line in each.co_lines() if line and line > each.co_firstlineno}
            yield getattr(each, "co_qualname", each.co_name), each.co_firstlineno, lines or {each.co_firstlineno}


def existing_harness():
    """What a harness gives to Atheris, which is not begun: the call for each input."""
    import runpy

    class Begun(BaseException):
        pass

    taken = []

    def setup(argv, one_input, *_, **__):
        taken.append(one_input)
        return argv

    def begin(*_, **__):
        raise Begun

    atheris.Setup, atheris.Fuzz = setup, begin
    path = os.path.join(ROOT, CONFIG["file"])
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    try:
        runpy.run_path(path, run_name="__main__")
    except Begun:
        pass
    return taken[0]


def in_a_child(trace, call, inputs, end):
    """The lines that inputs reach, run in a process of their own: they may end it. None: they did."""
    import signal

    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(0.05, min(end - time.monotonic(), COVER_INPUT_S * (1 + len(inputs) / 8))))
        for path in inputs:
            try:
                with open(path, "rb") as one:
                    call(one.read())
            except BaseException:  # reached is reached
                pass
        trace.stop()
        whole = json.dumps({path: sorted(lines) for path, lines in trace.lines().items()}).encode()
        with os.fdopen(sink, "wb") as out:
            out.write(whole)
        os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as told_lines:
        whole = told_lines.read(64 << 20)
    _, status = os.waitpid(child, 0)
    try:
        return json.loads(whole) if status == 0 else None
    except ValueError:  # the target wrote there, too
        return None


def reached_lines(trace, call, inputs, end):
    reached = {}

    def add(lines):
        for path, numbers in (lines or {}).items():
            reached.setdefault(path, set()).update(numbers)

    for at in range(0, len(inputs), COVER_CHUNK):
        if time.monotonic() >= end:
            break
        chunk = inputs[at : at + COVER_CHUNK]
        lines = in_a_child(trace, call, chunk, end)
        add(lines)
        for each in chunk if lines is None else ():  # one of them ends its process: the others count
            if time.monotonic() < end:
                add(in_a_child(trace, call, [each], end))
    return reached


def lcov(trace, path, reached):
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec")
    statements = trace.statements(path, code)
    told_functions = sorted(functions_of(code), key=lambda each: each[1])
    out = ["TN:", f"SF:{path}"]
    out += [f"FN:{line},{name}" for name, line, _ in told_functions]
    out += [f"FNDA:{int(bool(lines & reached))},{name}" for name, _, lines in told_functions]
    out += [f"DA:{line},{int(line in reached)}" for line in sorted(statements)]
    return "\n".join(out + ["end_of_record", ""])


def cover(folder):
    end = time.monotonic() + CONFIG["cover_seconds"] * 0.8
    inputs = [each.path for each in os.scandir(folder) if each.is_file(follow_symlinks=False)][:COVER_INPUTS]
    trace = tracer()
    trace.start()  # before it is imported: what that runs counts, too
    call = existing_harness() if CONFIG["harness"] else Caller(load(instrument=False))
    reached = reached_lines(trace, call, inputs, end)
    trace.stop()
    for path, lines in trace.lines().items():
        reached.setdefault(path, set()).update(lines)
    with open(os.path.join(WORK, "coverage.info"), "w", encoding="utf-8", errors="replace") as out:
        for path in sorted(filter(is_own, reached)):
            try:
                out.write(lcov(trace, path, reached[path]))
            except (OSError, SyntaxError, ValueError):  # it is gone, or was none
                pass


# ---- by a schema ----


def call_of(function):
    """What calls it with a document: an object whose keys are its parameters is spread over them, all else is its only argument."""
    import asyncio
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    needed = {each.name for each in parameters if each.name in names and each.default is each.empty}
    open_ended = any(each.kind == each.VAR_KEYWORD for each in parameters)
    loop = asyncio.new_event_loop() if inspect.iscoroutinefunction(function) else None

    def call(document):
        keys = set(document) if isinstance(document, dict) else None
        spread = keys is not None and needed <= keys and (keys <= names or open_ended) and (keys or not names)
        result = function(**document) if spread else function(document)
        return loop.run_until_complete(result) if loop is not None else result

    return call


def cycle_of(error):
    """Of a stack that is full, what is in it again and again: the rest of it is chance."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__.tb_next)
    times = {}
    for each in frames:
        times.setdefault((each.filename, each.name), []).append(each)
    again = sorted((key, found[-1]) for key, found in times.items() if len(found) > 2)
    lines = traceback.format_list([each for _, each in again] or frames[-KEY_FRAMES:])
    return "Traceback (most recent call last):\n" + "".join(lines) + f"{type(error).__name__}: {error}"


def answer_of(call, line):
    try:
        result = call(json.loads(line))
    except BaseException as error:
        if is_expected(error):
            return {"rejected": f"by {type(error).__name__}, which is declared"}
        said = f"{type(error).__name__}: {error}"[:ANSWER_MAX]
        trace = cycle_of(error) if isinstance(error, RecursionError) else told(error, 2).decode("utf-8", "replace")
        return {"exception": said, "traceback": trace if len(trace) <= ANSWER_MAX else trace[:200] + "\n...\n" + trace[-ANSWER_MAX + 200 :]}
    try:
        shown = json.dumps(result, allow_nan=False)
    except Exception:  # it is no JSON, or nests too deep
        shown = None
    return {"result": result if shown is not None and len(shown) <= ANSWER_MAX else type(result).__name__}


def serve():
    call = call_of(load(instrument=False))
    with os.fdopen(ANSWERS, "wb", buffering=0) as out:
        for line in sys.stdin.buffer:
            text = json.dumps(answer_of(call, line)).encode()
            out.write(text + b"\n")
    os._exit(0)


def main():
    mode, words = sys.argv[1], sys.argv[2:]
    if mode == "fuzz":
        fuzz(words)
    elif mode == "replay":
        replay(words)
    elif mode == "cover":
        cover(words[0])
    elif mode == "serve":
        serve()
    else:
        minimise(words[0], words[1], float(words[2]))


if __name__ == "__main__":
    main()

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
import types

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
DRAIN_MAX = 1000
NAMES_MAX = 32
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
    return find(module)


def find(module):
    """What was named, and the class that it needs an object of, or None."""
    import inspect

    found, within, where = module, None, CONFIG["file"]
    for part in CONFIG["function"].split("."):
        try:
            found, within = getattr(found, part), found
        except AttributeError:
            sys.exit(f"{where} has no {part}{instead(found, part)}")
        where = f"{where}:{part}" if within is module else f"{where}.{part}"
    if not callable(found):
        sys.exit(f"{where} is no function, but of type {type(found).__name__}")
    bound = not isinstance(within, type) or getattr(found, "__self__", None) is not None
    written = None if bound else inspect.getattr_static(within, part)
    needs_object = written is not None and hasattr(type(written), "__get__") and not isinstance(written, (staticmethod, classmethod))
    return found, within if needs_object else None


def instead(found, part):
    """What there is in place of a name that is not there."""
    import difflib

    names = [name for name, value in vars(found).items() if callable(value)] if hasattr(found, "__dict__") else []
    classes = [name for name in names if isinstance(vars(found)[name], type) and hasattr(vars(found)[name], part)]
    if classes:
        return f": it is a method of a class, {CONFIG['file']}:{classes[0]}.{part}"
    near = difflib.get_close_matches(part, names, 1)
    return f"; did you mean {near[0]}?" if near else " when it is imported" if isinstance(found, types.ModuleType) else ""


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


MAKERS = {}


def make_call(hint, data, depth):
    if hint not in MAKERS:
        MAKERS[hint] = arguments_of(hint)
    args, kwargs = MAKERS[hint](data, depth + 1)
    return hint(*args, **kwargs)


def make_object(hint, data, depth):
    """A dataclass, a TypedDict, or whatever else is made by calling it with values of its hints."""
    import typing

    if typing.is_typeddict(hint):
        hints = hints_of(hint)
        return {name: make(hints[name], data, depth + 1, False) for name in keys_of(hint, hints)}
    try:
        return make_call(hint, data, depth)
    except Exception as error:
        raise Skip from error


def count_of(data, depth):
    """Of items: what nests too deep is empty, and of its type all the same."""
    return 0 if depth > DEPTH_MAX else data.ConsumeIntInRange(0, ITEMS_MAX)


def make_items(item, data, depth):
    return [make(item, data, depth + 1, False) for _ in range(count_of(data, depth))]


def make_mapping(origin, args, data, depth):
    import collections

    key, value = args if len(args) == 2 else (args[0] if args else str, int if origin is collections.Counter else str)
    made = {make(key, data, depth + 1, False): make(value, data, depth + 1, False) for _ in range(count_of(data, depth))}
    if origin is collections.defaultdict:
        return origin(getattr(value, "__origin__", value), made)
    return made if is_abstract(origin) else origin(made)


def make_union(args, data, depth, last):
    can = [each for each in args if why_not(each) is None]
    plain = [each for each in can if each in PLAIN]
    can = plain if depth > DEPTH_MAX and plain else can
    if not can:
        raise Skip
    return make(can[data.ConsumeIntInRange(0, len(can) - 1)], data, depth, last)


def is_abstract(hint):
    import inspect

    return inspect.isabstract(hint) or getattr(hint, "_is_protocol", False)


def make_iterable(origin, args, data, depth):
    import collections.abc

    items = make_items(args[0] if args else str, data, depth)
    if issubclass(origin, collections.abc.Set):
        return set(items) if is_abstract(origin) else origin(items)
    if issubclass(origin, collections.abc.Iterator):
        return (each for each in items)
    return items if is_abstract(origin) else origin(items)


def make_generic(origin, args, data, depth, last):
    import collections.abc
    import typing

    if origin in (typing.Union, types.UnionType):
        return make_union(args, data, depth, last)
    if origin is typing.Literal:
        return args[data.ConsumeIntInRange(0, len(args) - 1)]
    if origin in (typing.Annotated, typing.Final, typing.ClassVar):
        return make(args[0], data, depth, last)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(make_items(args[0], data, depth))
        return tuple(make(each, data, depth + 1, False) for each in args)
    if issubclass(origin, collections.abc.Mapping):
        return make_mapping(origin, args, data, depth)
    if is_collection(origin):
        return make_iterable(origin, args, data, depth)
    return make_object(origin, data, depth)


def is_collection(origin):
    """Whether it is made from items: of the library, or a name for what is in it. What a project made itself is called."""
    import collections.abc

    known = origin in (list, set, frozenset, tuple) or origin.__module__ in ("collections", "collections.abc")
    return known and issubclass(origin, collections.abc.Iterable)


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


def make_file(data, last, of_text):
    import io

    raw = some_bytes(data, last)
    return io.StringIO(text(raw)) if of_text else io.BytesIO(raw)


def make_date(data, name):
    import datetime

    moment = datetime.datetime(1, 1, 1) + datetime.timedelta(days=data.ConsumeIntInRange(0, 3652058), seconds=data.ConsumeIntInRange(0, 86399))
    return {"date": moment.date(), "time": moment.time(), "datetime": moment}[name]


def make_decimal(data):
    import decimal

    return decimal.Decimal(make_int(data)).scaleb(data.ConsumeIntInRange(-20, 20))


# types of the library whose constructors say too little of what they take
KNOWN = {
    "typing.IO": lambda hint, data, last: make_file(data, last, False),
    "typing.BinaryIO": lambda hint, data, last: make_file(data, last, False),
    "typing.TextIO": lambda hint, data, last: make_file(data, last, True),
    "datetime.date": lambda hint, data, last: make_date(data, "date"),
    "datetime.time": lambda hint, data, last: make_date(data, "time"),
    "datetime.datetime": lambda hint, data, last: make_date(data, "datetime"),
    "datetime.timedelta": lambda hint, data, last: hint(seconds=data.ConsumeInt(4), microseconds=data.ConsumeInt(3)),
    "decimal.Decimal": lambda hint, data, last: make_decimal(data),
    "fractions.Fraction": lambda hint, data, last: hint(make_int(data), data.ConsumeIntInRange(1, 1000)),
    "uuid.UUID": lambda hint, data, last: hint(int=data.ConsumeIntInRange(0, 2**64 - 1)),
}


def known_of(hint):
    """What makes it, if it is of the library and known; of a generic one, by what it is of."""
    import typing

    of = typing.get_origin(hint) or hint
    maker = KNOWN.get(f"{getattr(of, '__module__', '')}.{getattr(of, '__qualname__', '')}")
    if maker is not None and of is typing.IO and typing.get_args(hint) == (str,):
        return KNOWN["typing.TextIO"], of
    return maker, of


def is_any(hint):
    """Where nothing is said."""
    import inspect
    import typing

    return hint in (inspect.Parameter.empty, typing.Any, typing.AnyStr, object)


def stands_for(hint):
    """Of a new name for a type, and of a variable for types, the type; else the hint itself."""
    import typing

    while True:
        if isinstance(hint, typing.TypeVar):
            hint = hint.__bound__ or (typing.Union[hint.__constraints__] if hint.__constraints__ else typing.Any)
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        else:
            return hint


def make(hint, data, depth=0, last=False):
    import enum
    import typing

    hint = hint if hint in PLAIN else stands_for(hint)
    if hint in PLAIN:
        return PLAIN[hint](data, last)
    if is_any(hint):
        return make_unknown(data, depth, last)
    if depth > DEPTH_MAX + ITEMS_MAX:
        raise Skip
    known, of = known_of(hint)
    if known is not None:
        return known(of, data, last)
    origin = typing.get_origin(hint)
    if origin is not None:
        return make_generic(origin, typing.get_args(hint), data, depth, last)
    if hint is dict:
        return make_mapping(dict, (), data, depth)
    if is_collection(hint):
        return make_generic(hint, (str, Ellipsis) if hint is tuple else (), data, depth, last)
    if issubclass(hint, enum.Enum):
        members = list(hint)
        return members[data.ConsumeIntInRange(0, len(members) - 1)]
    return make_object(hint, data, depth)


# ---- what cannot be made ----


REASONS = {}
TRIES = 100


def shown(hint):
    return hint if isinstance(hint, str) else getattr(hint, "__qualname__", None) if isinstance(hint, type) else str(hint)


def why_not(hint):
    """None, or what of it cannot be made from bytes. One that is asked for inside itself can be: what is around it tells."""
    try:
        if hint in REASONS:
            return REASONS[hint]
    except TypeError:  # it cannot be a key
        return shown(hint)
    REASONS[hint] = None
    try:
        REASONS[hint] = find_why_not(hint)
    except Exception:  # a hint of a kind that is not known here
        REASONS[hint] = shown(hint)
    return REASONS[hint]


def first(reasons):
    return next((each for each in reasons if each is not None), None)


def find_why_not(hint):
    import enum
    import typing

    if isinstance(hint, str):  # a name that only a type checker knows
        return shown(hint)
    hint = hint if hint in PLAIN else stands_for(hint)
    if hint in PLAIN or is_any(hint) or known_of(hint)[0] is not None:
        return None
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        reasons = [why_not(each) for each in args]
        return None if None in reasons else reasons[0]
    if origin is typing.Literal:
        return None
    if origin in (typing.Annotated, typing.Final, typing.ClassVar):
        return why_not(args[0])
    of = origin or hint
    if not isinstance(of, type) or of is type:
        return shown(hint)
    if issubclass(of, enum.Enum):
        return None if len(of) else shown(hint)
    if is_collection(of) or issubclass(of, dict):
        inner = first(why_not(each) for each in args if each is not Ellipsis)
        return inner or (None if made_once(hint) else shown(hint))
    if typing.is_typeddict(of):
        hints = hints_of(of)
        return first(why_not(hints[name]) for name in keys_of(of, hints))
    if is_abstract(of):
        return shown(hint)
    return None if made_once(hint) else shown(hint)


def made_once(hint):
    import random

    some = random.Random(1)
    for size in range(TRIES):
        try:
            make(hint, atheris.FuzzedDataProvider(some.randbytes(size)))
            return True
        except Exception:
            pass
    return False


def keys_of(hint, hints):
    """Of a TypedDict: all that can be made, and all that must be there."""
    return [name for name in hints if name in hint.__required_keys__ or why_not(hints[name]) is None]


def hints_of(function):
    """By name; one that cannot be told, since only a type checker knows its name, is left as it is written."""
    import functools
    import typing

    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, type) and isinstance(getattr(type(function), "__call__", None), types.FunctionType):
        function = type(function).__call__  # of an object that can be called
    try:
        return typing.get_type_hints(function)
    except Exception:
        pass
    module = sys.modules.get(getattr(function, "__module__", None))
    names = getattr(function, "__globals__", None) or (vars(module) if module else {})
    hints = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        try:
            hints.update(typing.get_type_hints(types.SimpleNamespace(__annotations__={name: hint}), names))
        except Exception:
            hints[name] = str(hint)
    return hints


class NoArguments(Exception):
    """It cannot be called with anything that bytes make."""


def code_of(function):
    """As it is written: what is instrumented has other constants, and an input must mean the same without."""
    import inspect

    code = getattr(inspect.unwrap(function), "__code__", None)
    try:
        with open(code.co_filename, "rb") as source:
            whole = compile(source.read(), code.co_filename, "exec")
    except (AttributeError, OSError, SyntaxError, ValueError):
        return None
    place = (code.co_name, code.co_firstlineno)
    return next((each for each in codes(whole) if (each.co_name, each.co_firstlineno) == place), None)


def names_in(function, parameters):
    """For **options, the names that its text has: others would only be refused by what they are handed to."""
    code = code_of(function)
    words = {word for each in codes(code) for word in each.co_consts if isinstance(word, str)} if code else set()
    return sorted(word for word in words - {each.name for each in parameters} if word.isidentifier())[:NAMES_MAX]


def make_more(names, hint, data, depth):
    """By names that the function knows; one that knows none, and takes nothing else, gets any."""
    made = {}
    for _ in range(data.ConsumeIntInRange(0, min(ITEMS_MAX, len(names) or 2))):
        name = names[data.ConsumeIntInRange(0, len(names) - 1)] if names else text(some_bytes(data, False))
        made[name] = make(hint, data, depth, False)
    return made


def wanted_of(function, parameters, of_class):
    """Its parameters that values are made for: name, how it is given, hint. One that has a default and cannot be made is left out;
    one that a partial has, too."""
    import functools

    hints = {**hints_of(function.__new__), **hints_of(function.__init__)} if isinstance(function, type) else hints_of(function)
    if of_class is not None:
        hints[next(iter(parameters)).name] = of_class
    fixed = function.keywords if isinstance(function, functools.partial) else {}
    parameters = [each for each in parameters if each.name not in fixed]
    wanted, places = [], True
    for each in parameters:
        hint = hints.get(each.name, each.empty)
        if each.kind == each.VAR_KEYWORD:
            names = names_in(function, parameters)
            if why_not(hint) is None and (names or not (wanted or isinstance(function, type))):
                wanted.insert(0, (names, "more", hint))  # first: the last one takes what is left
            continue
        if each.kind == each.VAR_POSITIONAL and (wanted or not places):
            continue
        if hint is each.empty and each.default is not each.empty and each.default is not None:
            hint = type(each.default)
        bad = why_not(hint)
        if each.kind == each.POSITIONAL_ONLY and not places and each.default is not each.empty:
            continue
        if bad is not None and each.default is each.empty:
            raise NoArguments(f": its parameter '{each.name}' cannot be made from bytes: {bad}")
        if bad is not None:
            places = places and each.kind == each.KEYWORD_ONLY
            continue
        how = "all" if each.kind == each.VAR_POSITIONAL else "name" if each.kind == each.KEYWORD_ONLY or not places else "place"
        wanted.append((each.name, how, hint))
    return wanted


def arguments_of(function, of_class=None):
    """What makes its arguments from data, by its signature. Of a method, the first is an object of its class."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one that is written in C and says nothing of itself
        return lambda data, depth=0: ([make_unknown(data, depth, True)], {})
    wanted = wanted_of(function, parameters, of_class)
    if not wanted and not isinstance(function, type):
        raise NoArguments(" takes nothing, so there is nothing to fuzz")

    def maker(data, depth=0):
        args, kwargs = [], {}
        for place, (name, how, hint) in enumerate(wanted):
            if how == "all" and not is_any(hint):
                args.extend(make_items(hint, data, depth))
                continue
            if how == "more":
                kwargs.update(make_more(name, hint, data, depth))
                continue
            value = make(hint, data, depth, depth == 0 and place == len(wanted) - 1)
            if how == "name":
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    maker.more = any(how == "more" for _, how, _ in wanted)
    only = wanted[0][2] if len(wanted) == 1 and wanted[0][1] not in ("all", "more") else None
    if only in (bytes, str):  # the input itself: what is kept is what was given
        def whole(data, depth=0):
            raw = data.ConsumeBytes(data.remaining_bytes())
            value = raw if only is bytes else text(raw)
            return ([], {wanted[0][0]: value}) if wanted[0][1] == "name" else ([value], {})
        return whole
    return maker


# ---- a call, and what comes of it ----


def is_expected(error):
    names = CONFIG["expect"]
    for each in type(error).__mro__:
        if each.__name__ in names or f"{each.__module__}.{each.__qualname__}" in names:
            return True
    return False


def is_misfit(error, names):
    """Whether what **options was handed on to does not know a name that we gave it."""
    return type(error) is TypeError and any(f"keyword argument '{name}'" in str(error) for name in names)


def drained(result):
    """What a call gave, to its end: the body of a generator runs when it is asked for items, that of a coroutine when it is awaited."""
    return DRAINS[type(result)](result) if type(result) in DRAINS else result


def drained_items(items):
    return [each for _, each in zip(range(DRAIN_MAX), items)]


async def drained_async(items):
    found = []
    async for each in items:
        found.append(each)
        if len(found) >= DRAIN_MAX:
            break
    await items.aclose()
    return found


def awaited(task):
    import asyncio

    if not LOOPS:
        LOOPS.append(asyncio.new_event_loop())
    return drained(LOOPS[0].run_until_complete(task))


LOOPS = []
DRAINS = {
    types.GeneratorType: drained_items,
    map: drained_items,
    filter: drained_items,
    zip: drained_items,
    types.CoroutineType: awaited,
    types.AsyncGeneratorType: lambda items: awaited(drained_async(items)),
}


# ---- what a call does beside itself ----

LATER = []  # None in a process that the target forked; errors that nobody caught in its threads
WAIT_S = 0.5


def watch_beside():
    """Nothing of it takes time in a call that starts no process and no thread."""
    import threading

    def take(args):
        if args.exc_type is not SystemExit and not is_expected(args.exc_value):
            args.exc_value.hotcell_input = getattr(args.thread, "hotcell_input", None)
            LATER.append(args.exc_value)

    os.register_at_fork(after_in_child=lambda: LATER.insert(0, None))
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = take


def mark_threads(input_now):
    """Each with the input whose call starts it: it may outlive that call."""
    import threading

    start = threading.Thread.start

    def start_marked(thread):
        thread.hotcell_input = input_now()
        start(thread)

    threading.Thread.start = start_marked


def later():
    """An error of a thread. A process that the target forked has come to its end: what follows is this one's."""
    if LATER[0] is None:
        os._exit(0)
    return LATER.pop(0)


def settled():
    """None, or an error of a thread that goes on after its call; one that does not end is waited for once."""
    import threading

    end = time.monotonic() + WAIT_S
    for each in threading.enumerate():
        if each is not threading.current_thread() and not hasattr(each, "hotcell_waited"):
            each.join(max(0, end - time.monotonic()))
            each.hotcell_waited = True
    return later() if LATER else None


def fork():
    """A process of our own."""
    child = os.fork()
    if child == 0:
        LATER.clear()
    return child


class Caller:
    def __init__(self, function, of_class=None):
        self.function = function
        watch_beside()
        try:
            self.maker = arguments_of(function, of_class)
        except NoArguments as why:
            sys.exit(f"{CONFIG['function']}{why}")
        self.more = getattr(self.maker, "more", False)

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
            drained(self.function(*args, **kwargs))
        except BaseException as error:
            if LATER:
                later()
            if is_expected(error) or (self.more and is_misfit(error, kwargs)):
                return None
            return error
        return later() if LATER else None


def beyond_ours(trace):
    while trace is not None and trace.tb_frame.f_code.co_filename == beyond_ours.__code__.co_filename:
        trace = trace.tb_next
    return trace


def frames(error):
    import traceback

    walked = [(frame.f_code.co_filename, frame.f_code.co_name) for frame, _ in traceback.walk_tb(beyond_ours(error.__traceback__))]
    own = [each for each in walked if each[0].startswith(ROOT + "/")]
    walked = own or walked
    return walked[:KEY_FRAMES] if isinstance(error, RecursionError) else walked[-KEY_FRAMES:]


def key_of(error):
    return hashlib.sha1(repr((type(error).__qualname__, frames(error))).encode()).hexdigest()[:16]


def told(error):
    """The traceback without what is ours of it."""
    import traceback

    trace = beyond_ours(error.__traceback__)
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
    caller = Caller(*load(instrument=True))
    seen = set()

    mark_threads(lambda: watched[Watched.HEAD : Watched.HEAD + int.from_bytes(watched[1 : Watched.HEAD], "little")])

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
        of_thread = getattr(error, "hotcell_input", None)
        leave(f"{key}.input", raw if of_thread is None else of_thread)

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
    caller = Caller(*load(instrument=False))

    def one_input(raw):  # as deep in the stack as where it is fuzzed and made small: what just fits must fit everywhere
        return caller(raw)

    found = False
    for number, path in enumerate(paths, 1):
        with open(path, "rb") as source:
            raw = source.read()
        now[:] = struct.pack("<qd", number, time.monotonic())
        faulthandler.dump_traceback_later(CONFIG["timeout"], exit=True)  # a thread of its own, which no regex can hold up
        error = one_input(raw) or settled()
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
    caller = Caller(*load(instrument=False))
    end = time.monotonic() + seconds
    with open(path, "rb") as source:
        best = source.read()
    key = None

    def fails_so(raw):
        nonlocal key
        error = caller(raw) or settled()
        key = key or (error and key_of(error))
        return error is not None and key_of(error) == key

    def ends(raw):
        watched[0] = 1
        child = fork()
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
    child = fork()
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
    call = existing_harness() if CONFIG["harness"] else Caller(*load(instrument=False))
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
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    needed = {each.name for each in parameters if each.name in names and each.default is each.empty}
    open_ended = any(each.kind == each.VAR_KEYWORD for each in parameters)

    def call(document):
        keys = set(document) if isinstance(document, dict) else None
        spread = keys is not None and needed <= keys and (keys <= names or open_ended) and (keys or not names)
        return drained(function(**document) if spread else function(document))

    return call


def cycle_of(error):
    """Of a stack that is full, what is in it again and again: the rest of it is chance."""
    import traceback

    frames = traceback.extract_tb(beyond_ours(error.__traceback__))
    times = {}
    for each in frames:
        times.setdefault((each.filename, each.name), []).append(each)
    again = sorted((key, found[-1]) for key, found in times.items() if len(found) > 2)
    lines = traceback.format_list([each for _, each in again] or frames[-KEY_FRAMES:])
    return "Traceback (most recent call last):\n" + "".join(lines) + f"{type(error).__name__}: {error}"


def answer_of(call, line):
    try:
        result = call(json.loads(line))
        stray = settled()
        if stray is not None:
            raise stray
    except BaseException as error:
        if LATER:
            later()
        if is_expected(error):
            return {"rejected": f"by {type(error).__name__}, which is declared"}
        said = f"{type(error).__name__}: {error}"[:ANSWER_MAX]
        trace = cycle_of(error) if isinstance(error, RecursionError) else told(error).decode("utf-8", "replace")
        return {"exception": said, "traceback": trace if len(trace) <= ANSWER_MAX else trace[:200] + "\n...\n" + trace[-ANSWER_MAX + 200 :]}
    try:
        shown = json.dumps(result, allow_nan=False)
    except Exception:  # it is no JSON, or nests too deep
        shown = None
    return {"result": result if shown is not None and len(shown) <= ANSWER_MAX else type(result).__name__}


def serve():
    function, of_class = load(instrument=False)
    if of_class is not None:
        sys.exit(f"{CONFIG['function']} is called on an object, and a schema has none for it: name a function that makes one")
    call = call_of(function)
    watch_beside()
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

"""Describes this Python to the engine, which starts workers alike to run a recipe's functions.

Workers get a pickle of each function: by reference if they can import it, by value for the main program's own, a lambda or a closure. They
import functions that a recipe file names.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import inspect
import itertools
import os
import sys
import threading
from typing import NamedTuple

from ..errors import RecipeError
from .code import code_of
from .functions import SPAWNED
from .hooks import Sent, name_of
from .shared import Unshared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .functions import Function

MOST_BYTES = 256 << 20  # of all pickles of a recipe


def interpreter(
    functions: Mapping[str, Function], sets: Mapping[str, dict[str, Any]], imported: Iterable[str] = (), hooks: list[Any] | None = None
) -> dict[str, Any]:
    """OPEN's description of the workers' Python, their functions, and sets of workers.

    Workers import the functions named in `imported`. Each function comes with its hooks.
    """
    directory = _directory()
    sent = pickled(functions)
    called = {*sent, *imported}
    if hooks and called:
        with_hooks = functools.partial(_with_hooks, _pickled_hooks(hooks))
        sent = {name: with_hooks(sent.get(name), name) for name in called}
    modules = {module for name in called for module in _modules(sent, name)}
    return {
        "executable": _executable(),
        "arguments": _flags(),
        "directory": directory,
        "path": [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)],
        "environment": {os.fsdecode(name): os.fsdecode(value) for name, value in os.environb.items()},
        "functions": {name: base64.b64encode(pickle.data).decode() for name, pickle in sent.items()},
        # A worker that was forked for the first function would import what the others need, and so would each of its siblings.
        "modules": [] if sets else sorted(modules),
        "code": code_of(modules),
        "imports": {name: sorted(pickle.modules) for name, pickle in sent.items()},
        "sets": sets,
    }


def _modules(sent: Mapping[str, Pickle], name: str) -> set[str]:
    """The modules of a function: those of its pickle, or the one that it is imported from."""
    return sent[name].modules if name in sent else {name.partition(":")[0]}


def _executable() -> str:
    executable = sys.executable or os.environ.get("HEADRACE_PYTHON", "")
    if not executable:
        raise RecipeError(
            "headrace: Python does not know its own program (sys.executable is empty): set HEADRACE_PYTHON to one for the workers"
        )
    return executable


def _flags() -> list[str]:
    """The flags that this interpreter was started with."""
    letters = {
        "isolated": "I",
        "ignore_environment": "E",
        "no_user_site": "s",
        "no_site": "S",
        "safe_path": "P",
        "dont_write_bytecode": "B",
    }
    flags = [f"-{letter}" for name, letter in letters.items() if getattr(sys.flags, name, 0)]
    flags += [f"-{letter * times}" for letter, times in (("O", sys.flags.optimize), ("b", sys.flags.bytes_warning)) if times]
    flags += [f"-W{option}" for option in sys.warnoptions]
    for name, value in sys._xoptions.items():
        flags += ["-X", name if value is True else f"{name}={value}"]
    return flags


def _directory() -> str:
    try:
        return os.fsdecode(os.getcwdb())
    except FileNotFoundError:
        raise RecipeError("headrace: the current directory is gone, and workers need one: change to another") from None


class Pickle(NamedTuple):
    """A pickle, and the modules that loading it imports."""

    data: bytes
    modules: set[str]


def pickled(functions: Mapping[str, Function]) -> dict[str, Pickle]:
    """Functions as bytes: by reference if workers can import them, else by value."""
    if not functions:
        return {}
    done, size = {}, 0
    for name, function in functions.items():
        try:
            done[name] = dumps(function.value)
        except Exception as error:
            raise RecipeError(_refusal(function, error)) from error
        own = len(done[name].data)
        size += own
        if size > MOST_BYTES:
            raise RecipeError(_too_large(function, own, size))
    return done


def _with_hooks(hooks: Pickle, function: Pickle | None, name: str) -> Pickle:
    """A function, or None for one imported by name, with hooks."""
    import pickle

    modules = {name.partition(":")[0]} if function is None else function.modules
    return Pickle(pickle.dumps(Sent(function and function.data, hooks.data)), hooks.modules | modules)


def _pickled_hooks(hooks: list[Any]) -> Pickle:
    """Hooks in one pickle, since they may share something."""
    try:
        return dumps(hooks)
    except Exception:
        for hook in hooks:
            try:
                dumps(hook)
            except Exception as error:
                what, why = _unpicklable(hook, error)
                text = (
                    f"headrace: the hook {name_of(hook)} cannot be sent to workers: {what} cannot be pickled: {type(why).__name__}: {why}"
                )
                raise RecipeError(f"{text}; make such things where its methods are called, and leave them out in __getstate__") from error
        raise


@functools.cache
def pickler() -> Any:
    """Cloudpickle's Pickler, with modules of all kinds by name, and code with its file.

    cloudpickle knows plain modules only, and takes too much along: if a method that uses `torch` says `self.classes`, the pickle has
    `torch.classes`, an object of its own class. Modules that load lazily are like that, too.

    cloudpickle 3.1.3 drops a function's file, which errors need, and makes classes without their `__slots__`: their objects could not come
    back, since they have a `__dict__` there.
    """
    import importlib
    from types import CodeType, ModuleType

    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, ModuleType) and type(obj) is not ModuleType and sys.modules.get(obj.__name__) is obj:
                return importlib.import_module, (obj.__name__,)
            if type(obj) is CodeType:
                make, parts = self.dispatch_table[CodeType](obj)
                # A new string, so that the pickle does not depend on which others are the same.
                return make, tuple(["".join(obj.co_filename) if part == "<dynamic-code>" else part for part in parts])
            reduced = super().reducer_override(obj)
            if isinstance(obj, type) and "__slots__" in vars(obj) and reduced is not NotImplemented:
                return _with_slots(obj, reduced)
            return reduced

    return Pickler


def _with_slots(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """What cloudpickle says of a class by value, with the slots that it is to be made with."""
    from types import GetSetDescriptorType, MemberDescriptorType

    make, of_class, *rest = reduced
    if not (rest and isinstance(of_class, tuple) and len(of_class) > 3 and isinstance(of_class[3], dict)):
        return reduced  # by its name
    kind, name, bases, namespace, *more = of_class
    members, attributes = rest[0]
    made = (MemberDescriptorType, GetSetDescriptorType)  # the latter are __dict__ and __weakref__
    slots = [n for n, value in vars(cls).items() if isinstance(value, made) and value.__objclass__ is cls]
    members = {n: value for n, value in members.items() if n not in slots}  # such as _Class__private: making the class makes them
    return (make, (kind, name, bases, {**namespace, "__slots__": slots}, *more), (members, attributes), *rest[1:])


@functools.cache
def _listing_pickler() -> Any:
    """The same for functions on their way to workers, listing the modules that loading its pickle imports. What is shared stays shared."""
    from types import BuiltinFunctionType, FunctionType, ModuleType

    from . import shared

    class Pickler(pickler()):  # type: ignore[misc]
        def __init__(self, file: Any) -> None:
            super().__init__(file)
            self.modules: set[str] = set()

        def reducer_override(self, obj: Any) -> Any:
            reduced = shared.reduced(obj)
            if reduced is NotImplemented:
                reduced = super().reducer_override(obj)
            if isinstance(obj, ModuleType):
                if sys.modules.get(obj.__name__) is obj:
                    self.modules.add(obj.__name__)
            elif str(type(obj).__module__).partition(".")[0] == "torch":
                self.modules.add("torch")
            elif reduced is NotImplemented and isinstance(obj, (type, FunctionType, BuiltinFunctionType)) and obj.__module__:
                self.modules.add(obj.__module__)  # it goes by its name
            return reduced

    return Pickler


def dumps(value: Any) -> Pickle:
    """A pickle, by value for what cannot be imported."""
    import io

    file = io.BytesIO()
    with _of_the_program():
        one = _listing_pickler()(file)
        one.dump(value)
    return Pickle(file.getvalue(), one.modules)


_registering = threading.RLock()


@contextlib.contextmanager
def _of_the_program() -> Iterator[None]:
    """Make cloudpickle send the main program's objects by value even in processes that multiprocessing spawns, where it has another name.

    The setting affects all users of cloudpickle in this process, so it is reset afterwards.
    """
    import cloudpickle

    program = sys.modules.get(SPAWNED)
    if program is None:
        yield
        return
    with _registering:
        known = SPAWNED in cloudpickle.list_registry_pickle_by_value()
        if not known:
            cloudpickle.register_pickle_by_value(program)
        try:
            yield
        finally:
            if not known:
                cloudpickle.unregister_pickle_by_value(program)


def _refusal(function: Function, error: Exception) -> str:
    """Why a function cannot be pickled, and what to do."""
    what, error = _unpicklable(function.value, error)
    if isinstance(error, Unshared):
        return f"headrace: {function!r} cannot be sent to workers: {what}: {error}"
    text = f"headrace: {function!r} cannot be sent to workers: {what} cannot be pickled: {type(error).__name__}: {error}"
    if hasattr(function.value, "__getitem__") and not isinstance(function.value, type):
        name = what.rpartition("'")[0].rpartition("'")[2].rpartition(".")[2].partition("[")[0] or "file"
        return (
            f"{text}\nopen it in __getitem__, when it is first needed, and leave it out of the copy that workers get:\n"
            f'    def __getstate__(self): return {{**self.__dict__, "{name}": None}}'
        )
    return f"{text}; make such things in the worker: inside the function, or in the __init__ of a class, each worker makes its own"


def _unpicklable(value: Any, error: Exception) -> tuple[str, Exception]:
    """What cannot be pickled, and why. An attribute of an attribute has both names: `'dataset.file'`."""
    for held, part in _held(value):
        try:
            dumps(part)
        except Exception as inner:
            looks = type(part).__module__ != "builtins" or isinstance(part, (list, tuple, dict))
            if held.startswith("its attribute") and looks and not isinstance(inner, Unshared):
                deeper, why = _unpicklable(part, inner)
                if deeper.startswith("its attribute '") and not str(type(part).__module__).startswith(_HANDLES):
                    deeper = deeper.removeprefix("its attribute '")
                    return held[:-1] + "." * (deeper[0] != "[") + deeper, why
            return held, inner
    return "it", error


_FEW = 256  # of a list
_HANDLES = ("zipfile", "tarfile", "h5py", "lmdb", "sqlite3", "io", "_io", "gzip", "bz2", "lzma")  # which are one thing to their user


def _too_large(function: Function, own: int, size: int) -> str:
    parts = {held: len(dumps(value).data) for held, value in _held(function.value)}
    largest = max(parts, key=parts.__getitem__, default=None)
    most = "" if largest is None else f", most of it {largest}"
    return (
        f"headrace: {function!r} is too large to be sent to workers: {own:,} bytes{most}, {size:,} of all functions so far, more than"
        f" {MOST_BYTES:,}; have workers read it: in the __init__ of a class, since each worker makes its own object"
    )


def _held(value: Any) -> Iterator[tuple[str, Any]]:
    """What pickling a function, class or object takes along, with a description of each."""
    if isinstance(value, functools.partial):
        yield "its function", value.func
        for i, argument in enumerate(value.args):
            yield f"its argument {i}", argument
        for name, argument in value.keywords.items():
            yield f"its argument {name!r}", argument
    elif inspect.ismethod(value):
        yield "the object that it is a method of", value.__self__
    elif inspect.isfunction(value):
        found = inspect.getclosurevars(value)
        for kind, variables in (("variable", found.nonlocals), ("global variable", found.globals)):
            for name, held in variables.items():
                yield f"its {kind} {name!r}", held
    elif isinstance(value, type):
        for name, method in vars(value).items():
            if inspect.isfunction(method):
                for what, held in _held(method):
                    yield f"{what} in {name}", held
    elif isinstance(value, (list, tuple, dict)):  # such as the datasets of a ConcatDataset
        for name, held in itertools.islice(value.items() if isinstance(value, dict) else enumerate(value), _FEW):
            yield f"its attribute '[{name}]'", held
    else:
        for name, held in getattr(value, "__dict__", {}).items():
            yield f"its attribute {name!r}", held

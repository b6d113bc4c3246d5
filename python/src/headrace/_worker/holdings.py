"""What an object holds: its attributes, what is in lists and dicts, what its methods and functions refer to."""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import islice
from types import FunctionType, MethodType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MOST = 4096  # objects that are looked at
_FEW = 64  # of a list or dict: transforms and generators are few, samples are many
_PLAIN = (str, bytes, bytearray, memoryview, int, float, complex, bool, type(None), range, slice, ModuleType)
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def held_by(*values: Any) -> Iterator[Any]:
    """The objects, and all that they hold. Samplers are not among them, nor loaders: their epochs and generators are their own affair."""
    from .._recipe.sampler import Orders

    # Workers of their own have not imported it, and the thread that opens the program's first loader may be about to.
    loader = getattr(sys.modules.get("headrace._loader.loader"), "Loader", None)
    loaders = () if loader is None else (loader,)
    queue = list(values)
    seen = set(map(id, queue))
    for value in queue:
        if len(seen) > _MOST:
            return
        if isinstance(value, (Orders, *loaders)):
            continue
        yield value
        for part in _parts(value):
            if not isinstance(part, _PLAIN) and id(part) not in seen:
                seen.add(id(part))
                queue.append(part)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from islice(list(value.values()), _FEW)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from islice(value, _FEW)
    elif isinstance(value, partial):
        yield value.func
        yield from value.args
        yield from value.keywords.values()
    elif isinstance(value, MethodType):
        yield value.__self__
        yield value.__func__
    elif isinstance(value, FunctionType):
        yield from _referred(value)
    elif isinstance(value, type):
        if _of_the_user(value):
            yield from (member for member in vars(value).values() if isinstance(member, (FunctionType, staticmethod, classmethod)))
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif not hasattr(value, "dtype"):  # an array, or a tensor
        yield from list(getattr(value, "__dict__", {}).values())
        for base in type(value).__mro__:
            names = base.__dict__.get("__slots__", ())
            for name in (names,) if isinstance(names, str) else names:
                yield getattr(value, name, None)
            yield base


def _referred(function: FunctionType) -> Iterator[Any]:
    """What a function of the user's closes over, and its globals."""
    if not _of_the_user(function):
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            pass  # it is empty
    names = dict.fromkeys(function.__code__.co_names)  # in an order that is the same in all processes
    for constant in function.__code__.co_consts:
        names.update(dict.fromkeys(getattr(constant, "co_names", ())))  # of a function inside
    for name in names:
        if name in function.__globals__:
            yield function.__globals__[name]
    yield from function.__defaults__ or ()


def _of_the_user(value: Any) -> bool:
    """Whether a function or class is not a library's."""
    file = getattr(sys.modules.get(value.__module__ or ""), "__file__", None)
    if file is None:
        return value.__module__ not in sys.builtin_module_names
    return not (file.startswith(_LIBRARIES[0]) or any(folder in file for folder in _LIBRARIES[1:]) or f"{os.sep}headrace{os.sep}" in file)

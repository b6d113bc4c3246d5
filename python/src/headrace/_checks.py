"""What is given to steps with functions, as their recipe has it. What cannot work is refused before a worker exists."""

from __future__ import annotations

import functools
import inspect

from ._arguments import _dtype, _integer, _is_several, _optional
from ._functions import Function
from .errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_PLACES = ("process", "thread", "main")
_SEEDED = ("random", "numpy", "torch")
_KINDS = {str: "text", bytes: "bytes", object: "object"}


def arguments(
    op: str,
    function: Any,
    *,
    fields: str | Iterable[str] | None = None,
    to: str | Iterable[str] | None = None,
    gives: Any = None,
    workers: int | None = None,
    where: str = "process",
    seed: str | Iterable[str] = (),
    copy: bool = False,
) -> dict[str, Any]:
    """The arguments of a step with a function, as its recipe has them."""
    _check_function(op, function)
    names = _names(op, "fields", fields)
    targets = _names(op, "to", to)
    if targets is not None and names is None:
        raise RecipeError(f"headrace: {op}: to= says where results go of a function that is given fields=; without them, give a dict")
    places = _PLACES if op == "map" else _PLACES[:-1]
    if where not in places:
        raise RecipeError(f"headrace: {op}: where is {where!r}: takes {' or '.join(map(repr, places))}")
    if where == "main":
        _check_main(op, function, gives=gives, workers=workers, seed=seed, copy=copy or None)
    _check_calls(op, function, names)
    return {
        "function": Function(function),
        "fields": names,
        "to": targets,
        "gives": types(op, gives, targets or names),
        "workers": _optional("workers", workers),
        "where": None if where == "process" else where,
        "seed": _seeds(op, seed),
        "copy": bool(copy) or None,
    }


def _check_main(op: str, function: Any, **given: Any) -> None:
    for name, value in given.items():
        if value is not None and value != ():
            raise RecipeError(f'headrace: {op}: where="main" takes no {name}=: the function is called by the loop of this program')
    if inspect.iscoroutinefunction(_called(function)):
        text = f'headrace: {op}: {_repr(function)} is async: where="main" takes functions that return what they make'
        raise RecipeError(f"{text}; in workers it may be async")


def _check_function(op: str, function: Any) -> None:
    if not callable(function):
        raise RecipeError(f"headrace: {op}: {_short(function)} cannot be called: takes a function, a class, or an object with __call__")
    if isinstance(function, type):
        if not any("__call__" in vars(base) for base in function.__mro__):
            text = f"headrace: {op}: the class {_repr(function)} has no method __call__: each worker makes an object of it, and calls that"
            raise RecipeError(f"{text}; to call the class itself, give a function that does")
        _check_made(function, op)
    called = _called(function)
    if op != "flat_map" and (inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)):
        raise RecipeError(f"headrace: {op}: {_repr(function)} is a generator, which gives several samples: take flat_map")


def _check_made(made: type, op: str) -> None:
    """Raise RecipeError where a class asks for arguments."""
    try:
        inspect.signature(made).bind()
    except TypeError as error:
        text = f"headrace: {op}: the class {_repr(made)}: {error}: each worker makes an object of it without arguments"
        raise RecipeError(f"{text}; give an object, which is copied to the workers, or a class of which __init__ takes none") from None
    except ValueError:
        pass  # of C, and says nothing


def _check_calls(op: str, function: Any, fields: list[str] | None) -> None:
    """Raise RecipeError where a function does not take what it will be given."""
    try:
        signature = inspect.signature(_called(function))
    except (TypeError, ValueError):
        return  # of C, and says nothing
    given: list[Any] = [None] * (len(fields or [""]) + isinstance(function, type))  # self
    try:
        signature.bind(*given, **({"rng": None} if takes_rng(function) else {}))
    except TypeError as error:
        what = "the sample, a dict" if fields is None else f"the field{'s' * (len(fields) > 1)} {_listed(fields)}"
        raise RecipeError(f"headrace: {op}: {_repr(function)}: {error}: it is given {what}, and rng= if it takes that") from None


def takes_rng(function: Any) -> bool:
    """Whether a function has a parameter named rng."""
    try:
        parameter = inspect.signature(_called(function)).parameters.get("rng")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _called(function: Any) -> Any:
    """What is called in the end, for each sample."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return function
    return function.__call__ if isinstance(function, type) else type(function).__call__.__get__(function)


def _names(op: str, argument: str, value: str | Iterable[str] | None) -> list[str] | None:
    if value is None:
        return None
    names = [value] if isinstance(value, str) else list(value)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise RecipeError(f"headrace: {op}: {argument} is {value!r}: takes the name of a field, or several names")
    return names


def _seeds(op: str, seed: str | Iterable[str]) -> list[str] | None:
    seeds = [seed] if isinstance(seed, str) else list(seed)
    for name in seeds:
        if name not in _SEEDED:
            raise RecipeError(f"headrace: {op}: seed is {seed!r}: takes names of {', '.join(map(repr, _SEEDED))}")
    return seeds or None


def types(op: str, gives: Any, fields: Sequence[str] | None) -> dict[str, Any] | None:
    """What results are, by field: of one field, its type is enough."""
    if gives is None:
        return None
    if fields is not None and len(fields) == 1 and not hasattr(gives, "items"):
        return {fields[0]: _type(op, fields[0], gives)}
    if not hasattr(gives, "items") or not gives:
        raise RecipeError(
            f"headrace: {op}: gives is {gives!r}: takes types by field, such as {{'image': ('uint8', (64, 64, 3)), 'text': str}}"
        )
    if fields is not None and set(fields) != set(gives):
        raise RecipeError(f"headrace: {op}: gives has the fields {_listed(gives)}, but the function gives {_listed(fields)}")
    return {name: _type(op, name, kind) for name, kind in gives.items()}


def _type(op: str, field: str, kind: Any) -> str | dict[str, Any]:
    if isinstance(kind, type) and kind in _KINDS:
        return _KINDS[kind]
    if isinstance(kind, str) and kind in _KINDS.values():
        return kind
    if hasattr(kind, "items") and set(kind) <= {"dtype", "shape"} and "dtype" in kind:
        kind = (kind["dtype"], kind.get("shape", ()))
    shape: Any = ()
    if isinstance(kind, (tuple, list)):
        if len(kind) != 2:
            raise RecipeError(f"headrace: {op}: gives {kind!r} as {field!r}: takes (dtype, shape), a dtype, str, bytes or object")
        kind, shape = kind
    try:
        extents = [_optional("shape", n) for n in shape] if _is_several(shape) else [_integer("shape", shape)]
        return {"dtype": _dtype(kind), "shape": extents} if extents else {"dtype": _dtype(kind)}
    except RecipeError:
        text = f"headrace: {op}: gives {kind!r} with shape {shape!r} as {field!r}: takes (dtype, shape), a dtype, str, bytes or object"
        raise RecipeError(text) from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def source_arguments(obj: Any, fields: str | Iterable[str] | None, gives: Any) -> dict[str, Any]:
    """The arguments of the step source."""
    if inspect.isgenerator(obj) or inspect.isasyncgen(obj) or inspect.iscoroutine(obj):
        name = getattr(obj, "__qualname__", "it")
        raise RecipeError(
            f"headrace: source: {_repr(obj)} is a generator that has begun to run here, and cannot be sent to a worker:"
            f" give the function that makes it, {name} without brackets"
        )
    if hasattr(obj, "keys") or isinstance(obj, (str, bytes)):
        raise RecipeError(
            f"headrace: source: {_short(obj)} is {type(obj).__name__}: takes a list, or an object that is read by number, 0 to len"
        )
    names = _names("source", "fields", fields)
    length = None
    if not isinstance(obj, type) and hasattr(obj, "__getitem__") and hasattr(obj, "__len__"):
        length = len(obj)
    elif not (callable(obj) or hasattr(obj, "__iter__") or hasattr(obj, "__aiter__")):
        raise RecipeError(
            f"headrace: source: {_short(obj)}: takes an object with __getitem__ and __len__, one to iterate over, or a function that"
            " returns one"
        )
    return {"function": Function(obj), "fields": names, "length": length, "gives": types("source", gives, names)}


def _repr(value: Any) -> str:
    return repr(Function(value))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}…"

"""Arguments of steps with functions, as in their recipe. Mistakes are refused before a worker starts."""

from __future__ import annotations

import functools
import inspect

from ..errors import RecipeError
from .arguments import dtype_name, integer, is_several, optional, truth
from .executors import calls_of, is_executor, submitting
from .feed import Feed
from .functions import BARE, USUAL, Function, takes_out
from .submitted import Submitted
from .workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Executor
    from typing import Any

_PLACES = ("process", "thread", "here", "main")
_SEEDED = ("random", "numpy", "torch")
_KINDS = {str: "text", bytes: "bytes", object: "object", dict: "object", list: "object", tuple: "object"}


def function_arguments(
    op: str,
    function: Any,
    *,
    fields: str | Iterable[str] | None = None,
    to: str | Iterable[str] | None = None,
    gives: Any = None,
    workers: int | None = None,
    where: str | Workers | Executor = USUAL,
    seed: str | Iterable[str] = (),
    copy: bool = False,
    order: str | None = None,
) -> dict[str, Any]:
    """The arguments of a step with a function, as in its recipe."""
    _check_function(op, function)
    if order not in (None, "input", "completion"):
        raise RecipeError(f"headrace: {op}: order is {order!r}: must be 'input' or 'completion'")
    names = _names(op, "fields", fields)
    targets = _names(op, "to", to)
    if targets is not None and names is None:
        raise RecipeError(f"headrace: {op}: to= needs fields=; without them, return a dict")
    places = _PLACES if op == "map" else _PLACES[:-1]
    executor: Any = where if is_executor(where) else None
    place: Any = where
    if executor is not None:
        if _seeds(op, "seed", seed):
            text = f"headrace: {op}: seed={seed!r} with an executor as where=, whose threads share the generators"
            raise RecipeError(f"{text}: give the function an argument rng instead")
    elif isinstance(where, Workers):
        if op == "flat_map":
            text = "headrace: flat_map keeps a worker while its samples are read, and cannot share it"
            raise RecipeError(f'{text}: set where="process" or "thread"')
        if where.threads > 1 and _seeds(op, "seed", seed):
            raise RecipeError(f"headrace: {op}: threads share the generators that seed= is for: use threads=1, or an argument rng")
    elif where not in places:
        raise RecipeError(f"headrace: {op}: where is {where!r}: must be {' or '.join(map(repr, places))}")
    if where == "here":
        _check_seed_here(op, seed)
    if where == "main":
        _check_main(op, function, gives=gives, workers=workers, seed=seed, copy=copy or None, order=order)
    _check_calls(op, function, names)
    described = types(op, gives, targets or names)
    _check_out(op, function, names, described, place, lends=executor is None)
    if executor is not None:
        # Its calls may outlive the loader, so they have copies, and no memory of the engine for results.
        function, place, copy = submitting(op, function, executor), Submitted(executor), True
        workers = calls_of(executor) if workers is None else workers
    return {
        "function": Function(function, where is not USUAL),
        "fields": names,
        "to": targets,
        "gives": described,
        "workers": optional("workers", workers),
        "where": None if place == "process" else place,
        "seed": _seeds(op, "seed", seed),
        "copy": truth("copy", copy) or None,
        **({} if order is None else {"order": order}),
    }


def aggregate_arguments(
    aggregator: Any, fields: str | Iterable[str] | None, gives: Any, where: str, seed: str | Iterable[str]
) -> dict[str, Any]:
    """The arguments of the step aggregate."""
    for method in ("accumulate", "flush"):
        if not callable(getattr(aggregator, method, None)):
            text = f"headrace: aggregate: {_repr(aggregator)} has no method {method}: give a class, or an object, with accumulate(sample)"
            raise RecipeError(f"{text} and flush()")
    if isinstance(aggregator, type):
        _check_made(aggregator, "aggregate")
    _check_place_of_aggregate(aggregator, where, seed)
    names = _names("aggregate", "fields", fields)
    what = "the sample, a dict" if names is None else f"the field{'s' * (len(names) > 1)} {_listed(names)}"
    _check_method(aggregator, "accumulate", len(names or [""]), what)
    _check_method(aggregator, "flush", 0, "nothing")
    return {
        "function": Function(aggregator, where is not USUAL),
        "fields": names,
        "gives": types("aggregate", gives, None),
        "where": None if where == "process" else where,
        "seed": _seeds("aggregate", "seed", seed),
    }


def _check_place_of_aggregate(aggregator: Any, where: Any, seed: str | Iterable[str]) -> None:
    if isinstance(where, Workers) or is_executor(where):
        kind = "hr.Workers" if isinstance(where, Workers) else "an executor"
        text = f"headrace: aggregate: where is {_short(where)}, {kind}: one worker has the object for an epoch, and cannot be shared"
        raise RecipeError(f"{text}: set where={' or '.join(map(repr, _PLACES[:-1]))}")
    if where not in _PLACES[:-1]:
        raise RecipeError(f"headrace: aggregate: where is {where!r}: must be {' or '.join(map(repr, _PLACES[:-1]))}")
    if where == "here":
        _check_seed_here("aggregate", seed)
        _check_copied(aggregator)


def _check_copied(aggregator: Any) -> None:
    from copy import deepcopy

    try:
        if not isinstance(aggregator, type):
            deepcopy(aggregator)
    except Exception as e:
        text = f"headrace: aggregate: {_repr(aggregator)} cannot be copied for each epoch: {type(e).__name__}: {e}"
        raise RecipeError(f"{text}; give a class, of which an object is made for each epoch, or write __deepcopy__") from None


def _check_seed_here(op: str, seed: str | Iterable[str]) -> None:
    if _seeds(op, "seed", seed):
        text = f'headrace: {op}: seed={seed!r} with where="here" would seed the generators that your program uses, too'
        raise RecipeError(f"{text}: give the function an argument rng instead")


def _check_method(aggregator: Any, method: str, count: int, what: str) -> None:
    """Raise RecipeError if a method does not accept its arguments."""
    function = getattr(aggregator, method)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of C, and says nothing
    arguments: list[Any] = [None] * (count + (isinstance(aggregator, type) and _takes_self(aggregator, method)))
    try:
        signature.bind(*arguments, **({"rng": None} if "rng" in signature.parameters else {}))
    except TypeError as error:
        raise RecipeError(
            f"headrace: aggregate: {_repr(aggregator)}.{method}: {error}: it is given {what}, and rng= if it takes that"
        ) from None


def _takes_self(made: type, method: str) -> bool:
    """Whether a method of a class takes self."""
    return not isinstance(inspect.getattr_static(made, method), (staticmethod, classmethod))


def _check_main(op: str, function: Any, **given: Any) -> None:
    for name, value in given.items():
        if value is not None and not (isinstance(value, tuple) and not value):
            raise RecipeError(f'headrace: {op}: where="main" takes no {name}=: the function is called by the loop of this program')
    if inspect.iscoroutinefunction(_called(function)):
        text = f'headrace: {op}: {_repr(function)} is async: where="main" needs a function that returns its result'
        raise RecipeError(f"{text}; in workers it may be async")


_BATCHES = ("batch", "bucket_batch")  # whose functions are given lists of samples


def collate_arguments(op: str, collate: Any, **given: Any) -> dict[str, Any] | None:
    """A collate function's arguments, as in their recipe. `given` goes with it."""
    if collate is None:
        for name, value in given.items():
            if not (value is None or value is False or (isinstance(value, (str, tuple)) and value in ("process", ()))):
                raise RecipeError(f"headrace: {op}: {name}= is for a function that makes the batch: give collate= as well")
        return None
    if given["where"] == "main":
        raise RecipeError(f'headrace: {op}: collate runs in a worker: use .map(f, where="main") after {op} for this process')
    gives = given.pop("gives")  # of whatever fields
    made = function_arguments(op, collate, **given)
    made["gives"] = types(op, gives, None)
    return {name: value for name, value in made.items() if value is not None}


def _check_function(op: str, function: Any) -> None:
    if not callable(function):
        raise RecipeError(f"headrace: {op}: {_short(function)} cannot be called: give a function, a class, or an object with __call__")
    if isinstance(function, type):
        if not any("__call__" in vars(base) for base in function.__mro__):
            text = f"headrace: {op}: the class {_repr(function)} has no method __call__: each worker makes an object of it, and calls that"
            raise RecipeError(f"{text}; to call the class itself, give a function that does")
        _check_made(function, op)
    called = _called(function)
    if op != "flat_map" and (inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)):
        if op in _BATCHES:
            raise RecipeError(f"headrace: {op}: {_repr(function)} is a generator: give a function that returns the fields of one batch")
        raise RecipeError(f"headrace: {op}: {_repr(function)} is a generator, which gives several samples: use flat_map")


def _check_made(made: type, op: str) -> None:
    """Raise RecipeError if a class needs arguments."""
    try:
        inspect.signature(made).bind()
    except TypeError as error:
        text = f"headrace: {op}: the class {_repr(made)}: {error}: each worker makes an object of it without arguments"
        raise RecipeError(f"{text}; give an object, which is copied to the workers, or a class whose __init__ needs none") from None
    except ValueError:
        pass  # of C, and says nothing


def check_chooser(function: Any, fields: str | Iterable[str] | None) -> None:
    """Raise RecipeError if a function cannot choose a branch, which it must do when called with a sample."""
    if isinstance(function, type) or inspect.iscoroutinefunction(function):
        kind = "a class" if isinstance(function, type) else "async"
        raise RecipeError(f"headrace: route: by={_repr(function)} is {kind}: must be a plain function, or an object that is called")
    _check_calls("route", function, _names("route", "fields", fields))


def _check_calls(op: str, function: Any, fields: list[str] | None) -> None:
    """Raise RecipeError if a function does not accept its arguments."""
    try:
        signature = inspect.signature(_called(function))
    except (TypeError, ValueError):
        return  # of C, and says nothing
    given: list[Any] = [None] * _positional(op, function, fields)
    named = {"rng": None} if takes_rng(function) else {}
    if takes_out(signature, len(given)):
        named["out"] = None
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        whole = "a list of samples" if op in _BATCHES else "the sample, a dict"
        what = whole if fields is None or op in _BATCHES else f"the field{'s' * (len(fields) > 1)} {_listed(fields)}"
        raise RecipeError(f"headrace: {op}: {_repr(function)}: {error}: it is given {what}, and rng= if it takes that") from None


def _positional(op: str, function: Any, fields: list[str] | None) -> int:
    """The number of positional arguments, with self."""
    return (1 if op in _BATCHES else len(fields or [""])) + isinstance(function, type)


def _check_out(op: str, function: Any, fields: list[str] | None, gives: dict[str, Any] | None, where: Any, lends: bool = True) -> None:
    """Raise RecipeError if a function needs memory for its results, but their size is unknown."""
    try:
        wants = takes_out(inspect.signature(_called(function)), _positional(op, function, fields))
    except (TypeError, ValueError):
        return  # of C, and says nothing
    if wants != "must":
        return
    what = f"headrace: {op}: {_repr(function)} has the argument out, memory for its result"
    if not lends:
        raise RecipeError(f"{what}, which an executor's threads and processes do not get: return the result instead")
    if op not in ("map", "source") or where == "main":
        raise RecipeError(f"{what}, which only a map in workers or a source supports: give it the default None, or leave it out")
    if gives is None:
        raise RecipeError(f'{what}: give its size with gives=, such as gives={{"image": ("uint8", (64, 64, 3))}}')
    if not any(isinstance(kind, dict) and kind.get("shape") and None not in kind["shape"] for kind in gives.values()):
        raise RecipeError(f"{what}, but returns no array of known shape: {_listed(gives)}")


def takes_memory(getitem: Any) -> str:
    """Whether a `__getitem__` has a parameter `out`, as `takes_out` says it."""
    try:
        return takes_out(inspect.signature(getitem), 1)
    except (TypeError, ValueError):
        return ""  # of C, and says nothing


def takes_rng(function: Any) -> bool:
    """Whether a function has a parameter named rng."""
    try:
        parameter = inspect.signature(_called(function)).parameters.get("rng")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _called(function: Any) -> Any:
    """What is called for each sample in the end."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return function
    return function.__call__ if isinstance(function, type) else type(function).__call__.__get__(function)


def _names(op: str, argument: str, value: str | Iterable[str] | None) -> list[str] | None:
    if value is None:
        return None
    names: list[Any] = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise RecipeError(f"headrace: {op}: {argument} is {value!r}: must be the name of a field, or several names")
    return names


def _seeds(op: str, argument: str, seed: str | Iterable[str]) -> list[str] | None:
    seeds: list[Any] = [seed] if isinstance(seed, str) or not hasattr(seed, "__iter__") else list(seed)
    for name in seeds:
        if name not in _SEEDED:
            raise RecipeError(f"headrace: {op}: {argument} is {seed!r}: must be names of {', '.join(map(repr, _SEEDED))}")
    return seeds or None


def types(op: str, gives: Any, fields: Sequence[str] | None) -> dict[str, Any] | None:
    """Result types by field. For one field, or samples that are not dicts, a type is enough."""
    if gives is None:
        return None
    by_field = hasattr(gives, "items") and not isinstance(gives, type)
    if fields is None and op not in _BATCHES and not by_field:
        return {BARE: _type(op, "the sample", gives)}
    if fields is not None and len(fields) == 1 and not by_field:
        return {fields[0]: _type(op, fields[0], gives)}
    if not by_field or not gives:
        raise RecipeError(
            f"headrace: {op}: gives is {gives!r}: must be types by field, such as {{'image': ('uint8', (64, 64, 3)), 'text': str}}"
        )
    if fields is None and set(gives) == {BARE}:
        raise RecipeError(
            f"headrace: {op}: gives is {gives!r}: '_' alone is the name of a sample that is not a dict: give the field another name,"
            " or write only its type if the value is the sample"
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
            raise RecipeError(f"headrace: {op}: gives {kind!r} as {field!r}: must be (dtype, shape), a dtype, str, bytes or object")
        kind, shape = kind
    several: Any = _KINDS.get(kind) if isinstance(kind, type) else kind
    try:
        if isinstance(several, str) and several in ("text", "object") and is_several(shape) and len(shape):
            return {"dtype": several, "shape": [optional("shape", n) for n in shape]}
        extents = [optional("shape", n) for n in shape] if is_several(shape) else [integer("shape", shape)]
        return {"dtype": dtype_name(kind), "shape": extents} if extents else {"dtype": dtype_name(kind)}
    except RecipeError:
        text = f"headrace: {op}: gives {kind!r} with shape {shape!r} as {field!r}: must be (dtype, shape), a dtype, str, bytes or object"
        raise RecipeError(text) from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def source_arguments(
    obj: Any, fields: str | Iterable[str] | None, gives: Any, generators: str | Iterable[str], keys: Any, where: str | Workers | Executor
) -> dict[str, Any]:
    """The arguments of the step source."""
    if inspect.isgenerator(obj) or inspect.isasyncgen(obj) or inspect.iscoroutine(obj):
        name = getattr(obj, "__name__", "it")
        way = f"the function that makes it, {name} without brackets" if name.isidentifier() else "a generator function"
        raise RecipeError(
            f"headrace: source: {_repr(obj)} is a generator that has begun to run here, and cannot be sent to a worker: give {way}"
        )
    if hasattr(obj, "keys") or isinstance(obj, (str, bytes)):
        raise RecipeError(
            f"headrace: source: {_short(obj)} is {type(obj).__name__}: must be a list, or an object that is read by number, 0 to len"
        )
    if isinstance(obj, type) and hasattr(obj, "__getitem__") and hasattr(obj, "__len__") and not hasattr(obj, "__iter__"):
        raise RecipeError(f"headrace: source: {obj.__name__} is a class whose objects are read by number: give such an object")
    names = _names("source", "fields", fields)
    length = None
    if not isinstance(obj, type) and hasattr(obj, "__getitem__") and hasattr(obj, "__len__") and not _is_iterable_dataset(obj):
        length = len(obj)
    elif not (callable(obj) or hasattr(obj, "__iter__") or hasattr(obj, "__aiter__")):
        raise RecipeError(
            f"headrace: source: {_short(obj)}: must be an object with __getitem__ and __len__, one to iterate over, or a function that"
            " returns one"
        )
    if isinstance(obj, Feed):
        where = _place_of_feed(where)
    _check_keys(obj, length, keys)
    seeds = _seeds("source", "generators", generators)
    _check_source_place(obj, where, length is None, seeds)
    kinds = types("source", gives, names)
    if length is not None:
        _check_out("source", obj.__getitem__, ["number"], kinds, where)
    return {
        "function": Function(obj, where is not USUAL),
        "fields": names,
        "length": length,
        "where": None if where == "process" else where,
        "gives": kinds,
        "seed": seeds,
        "keys": None if keys is None else Function(keys),
    }


def _place_of_feed(where: str | Workers | Executor) -> str:
    """Where a feed is read: in this program, which nobody needs to say."""
    if where not in ("process", "here"):
        raise RecipeError(f"headrace: source: where is {_short(where)}: a feed is read in your program: leave out where=")
    return "here"


def _check_source_place(obj: Any, where: str | Workers | Executor, iterated: bool, seeds: list[str] | None) -> None:
    if isinstance(where, Workers):
        if iterated:
            text = f"headrace: source: {_repr(obj)} is iterated over by one worker, which steps cannot share"
            raise RecipeError(f'{text}: set where="process", "thread" or "here"')
        if where.threads > 1 and seeds:
            raise RecipeError("headrace: source: threads share the generators that generators= is for: use threads=1")
    elif is_executor(where):
        text = f"headrace: source: where is {_short(where)}, an executor: it is for functions of samples"
        raise RecipeError(f'{text}: give hr.source(…, where="here").map(read, where=executor), or hr.Workers')
    elif where not in _PLACES[:-1]:
        raise RecipeError(f"headrace: source: where is {where!r}: must be {' or '.join(map(repr, _PLACES[:-1]))}")
    if where == "here" and seeds:
        text = f'headrace: source: generators={seeds!r} with where="here" would seed the generators that your program uses, too'
        raise RecipeError(f"{text}: draw from a generator of the object's own")


def _check_keys(obj: Any, length: int | None, keys: Any) -> None:
    if keys is None:
        return
    if length is None:
        raise RecipeError(
            f"headrace: source: keys= names samples that are read by number, and {_repr(obj)} is iterated over: have it yield a"
            " field 'key', a str"
        )
    if isinstance(keys, (str, bytes)) or not (callable(keys) or hasattr(keys, "__getitem__")):
        raise RecipeError(f"headrace: source: keys is {_short(keys)}: must be a function of a sample's number, or a list of names")
    if not callable(keys) and hasattr(keys, "__len__") and len(keys) != length:
        raise RecipeError(f"headrace: source: keys has {len(keys)} names, and there are {length} samples")


def _is_iterable_dataset(obj: Any) -> bool:
    """Whether it is a PyTorch IterableDataset, whose `__getitem__` only raises, and which often has a length."""
    return any(c.__name__ == "IterableDataset" and c.__module__.startswith("torch.utils.data") for c in type(obj).__mro__)


def _repr(value: Any) -> str:
    return repr(Function(value))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}…"

"""Your functions in a pipeline, and their names in a recipe: `module:qualname`."""

from __future__ import annotations

import functools
import sys

from ..errors import RecipeError
from .submitted import Submitted
from .workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any


USUAL: Any = "".join(("pro", "cess"))  # where= if nobody gives it: equal to a "process" that is given, and another object
SPAWNED = "__mp_main__"  # what multiprocessing calls the program in processes that it spawns


class Function:
    """A function, class or object in a step. The engine gets its name."""

    __slots__ = ("name", "placed", "value")

    def __init__(self, value: Any, placed: bool = True) -> None:
        self.value = value
        self.placed = placed  # it was said where it is called, or there is no choice
        self.name = _name(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.name.rpartition(":")[2].rpartition("<locals>.")[2]

    def importable(self) -> bool:
        """Whether its name is enough to import it."""
        module, _, names = self.name.partition(":")
        if module == "__main__":
            return False
        try:
            return functools.reduce(getattr, names.split("."), sys.modules[module]) is self.value
        except (AttributeError, KeyError):
            return False


def takes_out(signature: Any, positional: int) -> str:
    """Whether a function has a parameter `out` for its results: "must", "may" if it defaults to None, or "".

    The first `positional` parameters get arguments, and do not count.
    """
    parameter = signature.parameters.get("out")
    if parameter is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return ""
    try:
        if "out" in signature.bind_partial(*[None] * positional).arguments:
            return ""
    except TypeError:
        return ""
    if parameter.default is parameter.empty:
        return "must"
    return "may" if parameter.default is None else ""


def _name(value: Any) -> str:
    """A function's name in a recipe; for a callable object that of its class, with brackets."""
    if isinstance(value, functools.partial):
        module, _, name = _name(value.func).partition(":")
        return f"{module}:partial({name})"
    if isinstance(getattr(value, "__qualname__", None), str):
        return f"{_module(value) or 'builtins'}:{value.__qualname__}"
    return f"{_module(type(value))}:{type(value).__qualname__}()"


def _module(value: Any) -> str | None:
    """A function's or class's module. In processes that multiprocessing spawns, the main program has another name."""
    module: str | None = getattr(value, "__module__", None)
    return "__main__" if module == SPAWNED else module


class Names:
    """Gives each function, and each set of workers, of a recipe a unique name.

    Equal names get `#2`, `#3` and so on.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.sets: dict[str, dict[str, Any]] = {}  # of workers, as OPEN has them
        self._workers: list[Workers] = []
        self._executors: list[Submitted] = []

    def __call__(self, function: Function | Workers | Submitted) -> str:
        """The name of a function, of a set of workers, or of the place where an executor's calls are."""
        if isinstance(function, Workers):
            return self._set(function)
        if isinstance(function, Submitted):
            if function not in self._executors:
                self._executors.append(function)
            return f"here:{self._executors.index(function) + 1}"
        name, number = function.name, 1
        while self.functions.setdefault(name, function).value is not function.value:
            number += 1
            name = f"{function.name}#{number}"
        return name

    def _set(self, workers: Workers) -> str:
        known = next((i for i, one in enumerate(self._workers, 1) if one is workers), None)
        if known is None:
            self._workers.append(workers)
            known = len(self._workers)
            initializer = "" if workers.initializer is None else self(Function(workers.initializer))
            self.sets[str(known)] = {
                "name": workers._name,
                "processes": workers.processes or 0,
                "threads": workers.threads,
                "initializer": initializer,
                "environment": workers.env,
            }
        return f"set:{known}"


def plain(name: str, value: Any) -> Any:
    """A value for a recipe: NumPy numbers become Python's, and what JSON lacks is refused."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, (str, int, float, list, tuple, dict, Function, Workers, Submitted)):
        return value
    raise RecipeError(f"headrace: {name} is {value!r}: must be text, a number, or True and False")


def importable(function: Function | Workers | Submitted) -> str:
    """The name of a function that others can import, or RecipeError."""
    if isinstance(function, Submitted):
        raise RecipeError(f'headrace: a recipe cannot have a {function!r} in it: write where="process" or "thread", and how many workers')
    if isinstance(function, Workers):
        raise RecipeError('headrace: a recipe cannot have hr.Workers in it: write where="process" or "thread", and how many workers')
    if function.importable():
        return function.name
    module, _, name = function.name.partition(":")
    if module == "__main__":
        why = "it is defined in the program itself: put it in a module"
    elif "<" in name:
        why = "it has no name by which it can be imported: define it with def, at the top of a module"
    else:
        why = "it is an object: put a function into a module that uses it"
    raise RecipeError(f"headrace: a recipe cannot have {function!r} in it, because {why}")


def described(seed: int, steps: Iterable[dict[str, Any]], spell: Callable[[Any], str]) -> dict[str, Any]:
    """A recipe, as the engine reads it."""
    return {"headrace": 1, "seed": seed, "steps": spelled(steps, spell)}


def spelled(chain: Iterable[dict[str, Any]], spell: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Steps with text instead of functions, without those of the program's loop."""
    return [_spelled(step, spell) for step in chain if not is_main(step)]


def _spelled(step: dict[str, Any], spell: Callable[[Any], str]) -> dict[str, Any]:
    op = operation(step)
    args = step[op] or {}
    new: dict[str, Any] = {}
    if isinstance(args.get("where"), (Workers, Submitted)):
        new["where"] = spell(args["where"])
    for argument in ("function", "keys", "choose"):
        if isinstance(args.get(argument), Function):
            new[argument] = spell(args[argument])
    if isinstance(args.get("collate"), dict) and isinstance(args["collate"].get("function"), Function):
        where = args["collate"].get("where")
        place = {"where": spell(where)} if isinstance(where, (Workers, Submitted)) else {}
        new["collate"] = {**args["collate"], "function": spell(args["collate"]["function"]), **place}
    if op in ("merge", "mix"):
        new["of"] = [spelled(inside, spell) for inside in args["of"]]
    elif op == "route":
        new["branches"] = [{**branch, "steps": spelled(branch["steps"], spell)} for branch in args["branches"]]
    return {**step, op: {**args, **new}} if new else step


def operation(step: dict[str, Any]) -> str:
    """A step's operation."""
    return next(key for key in step if key not in ("name", "failures"))


BARE = "_"  # the field of samples that are not dicts: recipe.Bare of the engine
_BATCHING = frozenset(("batch", "bucket_batch", "pack"))


def makes_batches(step: dict[str, Any]) -> bool:
    """Whether a step makes batches."""
    return not _BATCHING.isdisjoint(step)


def batched(steps: Sequence[dict[str, Any]], before: bool = False) -> bool:
    """Whether what comes after these steps are batches, not single samples, or some of it is; and before them."""
    for step in steps:
        if "unbatch" in step:
            before = False
        elif makes_batches(step):
            before = True
        elif inside := chains_in(step[operation(step)] or {}):
            before = any(batched(chain, before) for chain in inside)
    return before


def is_here(where: str) -> bool:
    """Whether threads of this program call the functions of a place, or have an executor call them."""
    return where == "here" or where.startswith("here:")


def is_main(step: dict[str, Any]) -> bool:
    """Whether the program's loop does a step, not the engine."""
    return bool(step.get("map") and step["map"].get("where") == "main")


def places(chain: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """The names of functions in steps, and where they are called."""
    for step in all_steps(chain):
        args = step[operation(step)] or {}
        for inside in (args, args.get("collate") or {}):
            if "function" in inside:
                yield inside["function"], inside.get("where") or "process"
        if args.get("keys"):
            yield args["keys"], args.get("where") or "process"
        if args.get("choose"):
            yield args["choose"], "process"


def has_functions(chain: Iterable[dict[str, Any]]) -> bool:
    """Whether workers do any of the steps."""
    for step in all_steps(chain):
        args = step[operation(step)] or {}
        if "function" in args or args.get("collate") or args.get("choose"):
            return True
    return False


def all_steps(chain: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All steps of a tree, in the order of the text."""
    for step in chain:
        yield step
        for inside in chains_in(step[operation(step)] or {}):
            yield from all_steps(inside)


def chains_in(args: dict[str, Any]) -> list[Sequence[dict[str, Any]]]:
    """The chains of steps in a step's arguments: inputs and branches."""
    return [*args.get("of", ()), *(branch["steps"] for branch in args.get("branches", ()))]

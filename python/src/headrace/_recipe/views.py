"""Several views of one image, each a field with its own steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .._steps import ON_IMAGES
from ..errors import RecipeError
from .functions import BARE
from .step import Step


def views_of(count: Any, steps: Any, named: Mapping[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each view's name, and the function that adds its steps."""
    if count is not None or steps is not None:
        yield from several("view", count, steps)
    elif not named:
        raise RecipeError("headrace: views: there are none: write .views(2, lambda p: p.random_resized_crop(224))")
    for name, given in named.items():
        if callable(given):
            yield name, given
        elif isinstance(given, tuple) and len(given) == 2:
            yield from several(name, *given)
        else:
            raise RecipeError(f"headrace: views: {name} is {given!r}: must be a function of a pipeline, or (how many, the function)")


def several(name: str, count: Any, steps: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise RecipeError(
            f"headrace: views: {count!r} is not a number of views: give a whole number, at least 1, and a function of a pipeline"
        )
    if not callable(steps):
        raise RecipeError(
            f"headrace: views: {steps!r} is not a function: give one of a pipeline, as in .views(2, lambda p: p.random_flip())"
        )
    for i in range(count):
        yield f"{name}_{i}", steps


def steps_of(name: str, field: str, steps: Iterable[dict[str, Any]]) -> Iterator[Step]:
    """Steps of a view of `field`, changed to work on the view of this name."""
    maps = 0
    for step in steps:
        op = next(iter(step))
        args = step[op]
        if op == "map":
            maps += 1
            named = {"name": f"{name}.map{f'_{maps}' * (maps > 1)}"} if _NAMES.fullmatch(name) else {}
            args = _on_view(name, field, args)
        else:
            named = {}
            _check(name, op, args)
            args = args | {"field": name}
        yield Step(step | {op: args} | named, line=getattr(step, "line", None))


_NAMES = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")  # of steps


def _check(name: str, op: str, args: dict[str, Any]) -> None:
    if op in ("filter", "flat_map"):
        text = f"headrace: views: {op} in {name} would be of whole samples, of which a view is one field"
        raise RecipeError(f'{text}: write .{op}(…, fields="{name}") after .views(…), or .{op}(…) before it')
    if op not in ON_IMAGES:
        raise RecipeError(f"headrace: views: {op} does not work on an image: put it before the views, or after them")
    if "field" in args or "fields" in args:
        raise RecipeError(f"headrace: views: {op} names its field: leave that out, it works on the view")


def _on_view(name: str, field: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of map for a function that is given a view, perhaps with other fields, and returns the view."""
    what = f"headrace: views: map in {name}"
    after = f'.map(…, fields="{name}", to=…) after .views(…)'
    fields, to, gives = args.get("fields"), args.get("to"), args.get("gives")
    if fields is not None and field not in fields:
        raise RecipeError(f"{what} is not given the view: its fields are {fields!r}: leave them out, or add {field!r}, the view in here")
    made = to or fields or [field]
    if made != [field]:
        raise RecipeError(f'{what} would make {made!r}: a view\'s function makes the view alone: add to="{field}", or write {after}')
    if gives is not None and set(gives) not in ({field}, {BARE}):
        text = f"{what} would make {list(gives)!r}: it is given the view, an image, and returns the view"
        raise RecipeError(f"{text}: say its type alone, as in gives=('uint8', (96, 96, 3)), or write {after}")
    given = [name if f == field else f for f in fields or [field]]
    of_view = {
        "fields": given,
        "to": None if given == [name] else [name],
        "gives": None if gives is None else {name: next(iter(gives.values()))},
    }
    return {key: value for key, value in (args | of_view).items() if value is not None}

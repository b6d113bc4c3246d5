"""Several views of one image, each a field with its own steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import RecipeError
from .step import Step

# The steps on an image, which can be those of a view.
ON_IMAGES = {
    *("resize", "resize_to_bucket", "center_crop", "random_crop", "random_resized_crop", "pad"),
    *("random_flip", "random_vertical_flip", "rotate90", "random_rotate90"),
    *("color_jitter", "grayscale", "random_grayscale", "normalize", "layout"),
}


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


def steps_of(name: str, steps: Iterable[dict[str, Any]]) -> Iterator[Step]:
    """Image steps, changed to work on the view."""
    for step in steps:
        op = next(iter(step))
        args = step[op]
        if op not in ON_IMAGES:
            raise RecipeError(f"headrace: views: {op} does not work on an image: put it before the views, or after them")
        if "field" in args or "fields" in args:
            raise RecipeError(f"headrace: views: {op} names its field: leave that out, it works on the view")
        yield Step(step | {op: args | {"field": name}}, line=getattr(step, "line", None))

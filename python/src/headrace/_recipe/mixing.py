"""Pipelines that are put together, and how often each is next."""

from __future__ import annotations

from ..errors import RecipeError
from .arguments import integer, number_of
from .functions import is_main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def parts_of(given: Any, pipeline: type, weights: Any, names: Any) -> tuple[list[Any], Any, Any]:
    """The pipelines of a mix, their weights and their names, None where there are none."""
    if isinstance(given, (pipeline, str, bytes)) or not hasattr(given, "__iter__"):
        raise RecipeError("headrace: mix: give pipelines with their weights: mix({a: 0.7, b: 0.3}), or a list: mix([(a, 0.7), (b, 0.3)])")
    if hasattr(given, "items"):
        pairs = list(given.items())
        if pairs and all(isinstance(value, pipeline) for _, value in pairs):  # by name
            if names is not None:
                raise RecipeError("headrace: mix: names are the keys already: leave names= out")
            found = [name for name, _ in pairs]
            return [value for _, value in pairs], _by_name("weights", weights, found), found
    else:
        pairs = [item if isinstance(item, tuple) else (item,) for item in given]
        if all(len(pair) == 1 for pair in pairs):
            return [item for (item,) in pairs], weights, names
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            raise RecipeError(f"headrace: mix: item {i} is {pair!r}: must be a pipeline with its weight, as all others")
    if weights is not None:
        raise RecipeError("headrace: mix: each pipeline has its weight already: leave weights= out")
    return [one for one, _ in pairs], [weight for _, weight in pairs], names


def _by_name(argument: str, given: Any, names: Any) -> Any:
    """Numbers in the order of names, if they are given by name."""
    if not hasattr(given, "items"):
        return given
    if names is None:
        raise RecipeError(f"headrace: mix: {argument} are by name, and the pipelines have none: give names=")
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"names {unknown[0]!r}"
        raise RecipeError(f"headrace: mix: {argument} {what}: the names are {', '.join(map(repr, names))}")
    return [given[name] for name in names]


def shares_of(names: Any, weights: Any, repeat: Any, temperature: Any, schedule: Any, count: int) -> dict[str, Any]:
    """How often each is next, as in a recipe."""
    if names is not None:
        names = list(names)
        for name in names:
            if not isinstance(name, str):
                raise RecipeError(f"headrace: mix: a name is {name!r}: must be text")
    if hasattr(repeat, "__float__") and not hasattr(repeat, "__iter__"):
        repeat = [repeat] * count
    given: dict[str, Any] = {
        "names": names,
        "weights": _numbers("weights", weights, names),
        "repeat": _numbers("repeat", repeat, names),
        "temperature": None if temperature is None else number_of("temperature", temperature),
    }
    if schedule is not None:
        given["schedule"] = []
        for item in schedule:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                text = "must be pairs of a step and weights: [(0, [3, 1]), (50_000, [1, 1])]"
                raise RecipeError(f"headrace: mix: schedule has {item!r}: {text}")
            stretch = {"from": integer("schedule", item[0]), "weights": _numbers("weights", item[1], names)}
            given["schedule"].append(stretch)
    return given


def _numbers(argument: str, given: Any, names: Any) -> list[float] | None:
    if given is None:
        return None
    given = _by_name(argument, given, names)
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise RecipeError(f"headrace: mix: {argument} is {given!r}: must be a list of numbers, one for each pipeline")
    return [number_of(argument, number) for number in given]


def check_parts(op: str, given: list[Any], pipeline: type) -> None:
    """Refuse what cannot be put together."""
    for i, one in enumerate(given):
        if not isinstance(one, pipeline):
            raise RecipeError(f"headrace: {op}: item {i} is {one!r}: must be a pipeline")
        for what, name in (("_seed", "the seed"), ("_format", "the format"), ("_defaults", "the section loader")):
            mine, first = getattr(one, what), getattr(given[0], what)
            if mine != first:
                raise RecipeError(f"headrace: {op}: pipeline {i} has {name} {mine!r}, but pipeline 0 has {first!r}: they must be the same")
    if not given:
        raise RecipeError(f"headrace: {op}: there is nothing to {op}: give pipelines")
    for i, one in enumerate(given):
        if any(map(is_main, steps_of(one))):
            raise RecipeError(f'headrace: {op}: pipeline {i} has a step with where="main": put that after the batch of what is {_DONE[op]}')


_DONE = {"merge": "merged", "mix": "mixed"}


def steps_of(pipeline: Any) -> Iterable[dict[str, Any]]:
    """The steps of a pipeline."""
    return pipeline._steps  # type: ignore[no-any-return]


def until_of(until: Any) -> Any:
    """When an epoch ends: a word, or a number."""
    return until if until is None or isinstance(until, str) else integer("until", until)


def instead_of_merge(weights: Any, options: dict[str, Any], count: int) -> str:
    """The text of the error that says which mix to write."""
    names = "abcdefghijklmnopqrstuvwxyz"
    try:
        shares = [f"{weight:g}" for weight in weights]
    except (TypeError, ValueError):
        shares = []
    if len(shares) != count or not 0 < count <= len(names):
        return "headrace: merge: weights are for hr.mix, whose sources restart: write hr.mix({a: 0.7, b: 0.3})"
    pairs = ", ".join(f"{name}: {share}" for name, share in zip(names, shares))
    rest = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    return f"headrace: merge: weights are for hr.mix, whose sources restart, so they hold: write hr.mix({{{pairs}}}{rest})"

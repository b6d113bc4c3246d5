"""Parts of a pipeline's samples, by shares."""

from __future__ import annotations

import math

from ..errors import RecipeError
from .arguments import number_of
from .step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Steps that say which samples of a source come, and those that order them.
_SELECTING = ("take", "skip", "slice", "shard", "split")
_ORDERING = ("shuffle", "weighted", "sampler")
_JOINING = ("merge", "mix")

_ROUNDING = 1e-9  # shares such as 0.7 + 0.2 + 0.1, which are not quite 1


def bounds(shares: Any) -> dict[str, tuple[float, float]]:
    """Where each part begins and ends between 0 and 1."""
    if not hasattr(shares, "keys"):
        raise RecipeError(f'headrace: split: shares is {shares!r}: must be a dict, such as {{"train": 0.9, "val": 0.1}}')
    if not shares:
        raise RecipeError('headrace: split: there are no parts: give names and shares, such as {"train": 0.9, "val": 0.1}')
    given = [_share(name, shares[name]) for name in shares]
    total = math.fsum(given)
    if total > 1 + _ROUNDING:
        raise RecipeError(f"headrace: split: the shares are {total:g} together: must be at most 1")
    ends = [0.0, *(math.fsum(given[: i + 1]) for i in range(len(given)))]
    if total > 1 - _ROUNDING:
        ends[-1] = 1.0
    for name, begin, end in zip(shares, ends, ends[1:]):
        if not begin < end:
            raise RecipeError(f"headrace: split: the share of {name!r} is too small to tell {begin} and {end} apart")
    return {name: (begin, end) for name, begin, end in zip(shares, ends, ends[1:])}


def _share(name: object, share: Any) -> float:
    if isinstance(share, bool) or share is None:
        raise RecipeError(f"headrace: split: the share of {name!r} is {share!r}: must be a number")
    number = number_of(f"split: the share of {name!r}", share)
    if number > 1:
        hint = "a share of all samples, such as 0.9: how many there are is not known here"
        raise RecipeError(f"headrace: split: the share of {name!r} is {share!r}: must be at most 1, {hint}")
    if number <= 0:
        raise RecipeError(f"headrace: split: the share of {name!r} is {share!r}: must be above 0")
    return number


def divided(steps: Sequence[dict[str, Any]], args: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps with one that leaves a part of each source's samples."""
    if not steps:
        raise RecipeError("headrace: split: there is no source: split a pipeline that begins with files, read, source, merge or mix")
    first = steps[0]
    joined = _operation(first, _JOINING)
    if joined is not None:
        of = {**first[joined], "of": [divided(chain, args) for chain in first[joined]["of"]]}
        return [Step({**first, joined: of}, line=getattr(first, "line", None)), *steps[1:]]
    at = 1
    while at < len(steps) and _operation(steps[at], _SELECTING):
        at += 1
    ordering = _operation(steps[at], _ORDERING) if at < len(steps) else None
    if ordering not in (None, "shuffle"):
        raise RecipeError(f"headrace: split: {ordering} counts the samples of the whole source: split before it, and give each part one")
    after = _operation(steps[at + 1], _SELECTING) if ordering and at + 1 < len(steps) else None
    if after is not None:
        raise RecipeError(f"headrace: split: {after} comes after shuffle, so it has other samples in each epoch: split before shuffle")
    return [*steps[:at], Step({"split": dict(args)}), *steps[at:]]


def _operation(step: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Which of these a step is; None: none of them."""
    return next((name for name in names if name in step), None)

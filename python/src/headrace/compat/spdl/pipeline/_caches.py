"""A loader without its cost: what a perfect one would gain."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ....errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def cache_iterator(
    src: Iterable[Any], num_caches: int, *, return_caches_after: int | None = None, stop_after: int | None = None, delete_src: bool = True
) -> Iterator[Any]:
    """Iterate over the first items, then over some of them again and again, up to `stop_after` in all."""
    first = num_caches if return_caches_after is None else return_caches_after
    if not 0 < num_caches <= first or (stop_after is not None and stop_after < first):
        raise RecipeError("headrace: compat.spdl: cache_iterator: 0 < num_caches <= return_caches_after <= stop_after is needed")
    return itertools.islice(_items(src, num_caches, first), stop_after)


def _items(src: Iterable[Any], kept: int, first: int) -> Iterator[Any]:
    cache: list[Any] = []
    for item in itertools.islice(src, first):
        if len(cache) < kept:
            cache.append(item)
        yield item
    del src
    while cache:
        yield from cache

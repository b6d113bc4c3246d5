"""Sources made of sources."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate, count, islice
from typing import TYPE_CHECKING, Any, NoReturn

from ....errors import RecipeError
from .._missing import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["MergeIterator", "embed_shuffle", "repeat_source"]


class MergeIterator:
    """Items of several iterables in turns, or with weights drawn as SPDL draws them.

    `stop_after`: -1 ends with the first of them, 0 with the last, and a number after so many items.
    """

    def __init__(
        self, iterables: Sequence[Iterable[Any]], *, weights: Sequence[float] | None = None, stop_after: int = 0, seed: int = 0
    ) -> None:
        given = [1.0] * len(iterables) if weights is None else [float(w) for w in weights]
        if not iterables or len(given) != len(iterables) or stop_after < -1:
            raise RecipeError("headrace: compat.spdl: MergeIterator: give iterables, a weight for each or none, and stop_after from -1 on")
        if min(given) < 0 or not 0 < math.fsum(given) < math.inf:
            raise RecipeError("headrace: compat.spdl: MergeIterator: weights must be numbers from 0 on, with a sum above 0")
        self._iterables = [one for one, weight in zip(iterables, given) if weight]
        self._weights = None if weights is None else [Fraction(w) for w in given if w]
        self._stop_after, self._seed = stop_after, seed

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(one) for one in self._iterables]
        items = self._in_turns(iterators) if self._weights is None else self._drawn(iterators, self._weights)
        return islice(items, self._stop_after) if self._stop_after > 0 else items

    def _in_turns(self, iterators: list[Iterator[Any]]) -> Iterator[Any]:
        while iterators:
            left = []
            for iterator in iterators:
                for item in islice(iterator, 1):
                    yield item
                    left.append(iterator)
                    break
                else:
                    if self._stop_after < 0:
                        return
            iterators = left

    def _drawn(self, iterators: list[Iterator[Any]], weights: list[Fraction]) -> Iterator[Any]:
        rng = random.Random(self._seed)
        whole = math.lcm(*(w.denominator for w in weights))
        parts = [int(w * whole) for w in weights]
        parts = [part // math.gcd(*parts) for part in parts]
        while len(iterators) > 1:
            sums = list(accumulate(parts))
            while True:
                i = bisect_right(sums, rng.randrange(sums[-1]))
                try:
                    item = next(iterators[i])
                except StopIteration:
                    break
                yield item
            if self._stop_after < 0:
                return
            del iterators[i], parts[i]
        yield from iterators[0]


class _Shuffled:
    """A source that is shuffled for each loop."""

    def __init__(self, src: Any, last: bool, epoch: int) -> None:
        self.src, self._last, self._epoch = src, last, epoch

    def _shuffle(self) -> None:
        self.src.shuffle(seed=self._epoch)
        self._epoch += 1

    def __iter__(self) -> Iterator[Any]:
        if not self._last:
            self._shuffle()
        try:
            yield from self.src
        finally:
            if self._last:
                self._shuffle()

    def __len__(self) -> int:
        return len(self.src)


def embed_shuffle(src: Any, /, *, shuffle_last: bool = False, epoch: int = 0) -> _Shuffled:
    """Call `src.shuffle(seed=epoch)` before each loop, or after it."""
    return _Shuffled(src, shuffle_last, epoch)


class _Repeated:
    """A source without end."""

    def __init__(self, src: Any, epoch: int) -> None:
        self._src, self._epoch = src, epoch
        self._items: Iterator[Any] | None = None

    def __iter__(self) -> _Repeated:
        return self

    def __next__(self) -> Any:
        if self._items is None:
            self._items = self._all()
        return next(self._items)

    def _all(self) -> Iterator[Any]:
        for epoch in count(self._epoch):
            if hasattr(self._src, "shuffle"):
                self._src.shuffle(seed=epoch)
            yield from self._src


def repeat_source(src: Any, /, epoch: int = 0) -> _Repeated:
    """Iterate over a source again and again, shuffled for each if it has `shuffle(seed)`."""
    return _Repeated(src, epoch)


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)

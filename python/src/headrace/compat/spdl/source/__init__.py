"""Samplers, which draw as SPDL's do, and what a source may be."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ....errors import RecipeError
from .._missing import missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "DistributedDeterministicSampler",
    "DistributedRandomSampler",
    "IterableWithShuffle",
    "SizedIterable",
    "SizedIterableWithShuffle",
]


@runtime_checkable
class IterableWithShuffle(Protocol):
    """A source whose order a seed decides."""

    def __iter__(self) -> Iterator[Any]: ...

    def shuffle(self, seed: int) -> None:
        """Change the order."""


@runtime_checkable
class SizedIterable(Protocol):
    """A source that has a length."""

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


@runtime_checkable
class SizedIterableWithShuffle(SizedIterable, Protocol):
    """Both."""

    def shuffle(self, seed: int) -> None:
        """Change the order."""


class _Shared:
    """So many draws, divided among ranks."""

    def __init__(self, draws: int, rank: int, world_size: int, even: bool) -> None:
        if draws < 1 or world_size < 1 or not 0 <= rank < world_size or (even and draws < world_size):
            text = f"headrace: compat.spdl: sampler: {draws} draws for rank {rank} of {world_size}"
            raise RecipeError(f"{text}: each rank needs one, and ranks count from 0")
        self._rank, self._world_size = rank, world_size
        self._draws = draws - draws % world_size if even else draws

    def __len__(self) -> int:
        return len(range(self._rank, self._draws, self._world_size))


class DistributedDeterministicSampler(_Shared):
    """Each rank's numbers below n: every `world_size`-th, in order."""

    def __init__(self, n: int, /, *, rank: int, world_size: int, ddp_drop_last_distributed_round: bool = True) -> None:
        super().__init__(n, rank, world_size, ddp_drop_last_distributed_round)

    def __iter__(self) -> Iterator[int]:
        yield from range(self._rank, self._draws, self._world_size)


class DistributedRandomSampler(_Shared):
    """Each rank's share of numbers below n that a seed draws; with weights, with replacement."""

    def __init__(
        self,
        n: int,
        /,
        *,
        rank: int,
        world_size: int,
        num_draws: int | None = None,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        ddp_drop_last_distributed_round: bool = True,
    ) -> None:
        super().__init__(n if num_draws is None else num_draws, rank, world_size, ddp_drop_last_distributed_round)
        if weights is None and self._draws > n:
            raise RecipeError(f"headrace: compat.spdl: sampler: {num_draws} draws of {n} without weights: give weights, or draw fewer")
        if weights is not None and (len(weights) != n or min(weights) < 0 or not 0 < math.fsum(weights) < math.inf):
            raise RecipeError(f"headrace: compat.spdl: sampler: weights must be {n} numbers from 0 on, with a sum above 0")
        self._n, self._seed, self._weights = n, seed, None if weights is None else list(weights)

    def shuffle(self, seed: int) -> None:
        """Draw others."""
        self._seed = seed

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        weights = None
        if self._weights is not None:
            weights = np.array(self._weights, np.float64)
            weights /= weights.sum()
        drawn = np.random.default_rng(self._seed).choice(self._n, size=self._draws, replace=weights is not None, p=weights)
        yield from drawn[self._rank :: self._world_size]


def __getattr__(name: str) -> Any:
    if name in ("utils", "local_directory"):
        return importlib.import_module(f"{__name__}.{name}")
    missing(__name__, name)

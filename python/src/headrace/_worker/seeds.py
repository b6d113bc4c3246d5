"""Random numbers of a sample: its own generator, and the global ones of libraries."""

from __future__ import annotations

from .._batch.lazy_numpy import np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def generator_maker() -> Callable[[int, int], Any]:
    """What makes the generator of a sample: NumPy's Philox with the sample's key, from its beginning."""
    key = np.zeros(2, np.uint64)

    def make(low: int, high: int) -> Any:
        key[0], key[1] = low, high
        return np.random.Generator(np.random.Philox(key=key))

    return make


def seeders(names: list[str] | None) -> list[Callable[[int, int], None]]:
    """What seeds the global generators of libraries with a sample's key."""
    return [_seed(name) for name in names or ()]


def _seed(name: str) -> Callable[[int, int], None]:
    """What seeds a library's own generator with a sample's key."""
    if name == "random":
        import random

        return lambda low, high: random.seed(high << 64 | low)
    if name == "numpy":
        mask = 0xFFFFFFFF
        # The last word is there because `random` makes of the same words the same numbers.
        return lambda low, high: np.random.seed([low & mask, low >> 32, high & mask, high >> 32, 1])
    if name == "torch":
        import torch

        def seed(low: int, high: int) -> None:
            torch.manual_seed(low ^ high)

        return seed
    raise ValueError(f"{name!r} cannot be seeded: use random, numpy or torch")

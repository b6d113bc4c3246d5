"""Samplers of PyTorch and others: objects that order samples."""

from __future__ import annotations

import contextlib
import copy
import random
import sys

from ..errors import RecipeError
from .functions import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Orders:
    """A sampler's sample numbers by epoch. Each worker has a copy.

    A sampler may hold generators that continue from epoch to epoch. So an epoch that does not follow the last one is reached from the
    first, unless the sampler has `set_epoch`.
    """

    def __init__(self, sampler: Any, seed: int) -> None:
        self._pristine = _light(sampler)
        self._seed = seed
        self._at = 0  # the epoch that comes next
        self._sampler: Any = None
        self.replicas = max(int(getattr(one, "num_replicas", 1)) for one in _inner(sampler))

    def __getitem__(self, epoch: int) -> Any:
        import numpy as np

        jumps = _epochs_set(self._pristine)
        if self._sampler is None or (epoch < self._at and not jumps):
            self._sampler, self._at = _copied(self._pristine), 0
        if jumps:
            self._at = epoch
        with _own_generators():  # functions that the same process calls have them too
            while self._at < epoch:
                self._epoch(self._at)
                self._at += 1
            order = self._epoch(epoch)
        self._at = epoch + 1
        return np.asarray(order, dtype=np.int64)

    def _epoch(self, epoch: int) -> list[int]:
        """The numbers of one epoch, drawn from the generators as they are now."""
        _seed_globals(self._seed, epoch)
        for setter in _epochs_set(self._sampler):
            setter(epoch)
        return list(_numbers(self._sampler))


def sampler_arguments(sampler: Any, samples: int | None, seed: int) -> dict[str, Any]:
    """The arguments of the step sampler."""
    if not hasattr(sampler, "__iter__"):
        raise RecipeError(f"headrace: source: sampler is {sampler!r}: must be an object that is iterated over for numbers of samples")
    if samples is None:
        raise RecipeError("headrace: source: sampler= orders samples that are read by number, and this source is iterated over")
    if hasattr(sampler, "__next__"):
        text = "headrace: source: sampler can be gone through once only, and an epoch each goes through it: give an object whose __iter__"
        raise RecipeError(f"{text} begins again, or a list")
    length = _length(sampler)
    if length < 1:
        raise RecipeError("headrace: source: sampler gives no samples")
    return {"function": Function(Orders(sampler, seed)), "length": length}


def _length(sampler: Any) -> int:
    """The number of samples in an epoch."""
    if not hasattr(sampler, "__len__"):
        raise RecipeError("headrace: source: sampler has no length: give one whose epochs end, with __len__")
    if type(sampler).__module__.startswith("torch.utils.data"):
        if not hasattr(sampler, "batch_size"):
            return len(sampler)
        if type(sampler).__name__ == "BatchSampler" and hasattr(sampler.sampler, "__len__"):
            length = len(sampler.sampler)
            return length // sampler.batch_size * sampler.batch_size if sampler.drop_last else length
    with _own_generators():  # a length may count lists, so they are gone through
        return sum(1 for _ in _numbers(_copied(_light(sampler))))


@contextlib.contextmanager
def _own_generators() -> Iterator[None]:
    """Restore global generators afterwards."""
    before, torch, numpy = random.getstate(), sys.modules.get("torch"), sys.modules.get("numpy")
    tensors = None if torch is None else torch.get_rng_state()
    arrays = None if numpy is None else numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(before)
        if torch is not None:
            torch.set_rng_state(tensors)
        if numpy is not None:
            numpy.random.set_state(arrays)


def _copied(sampler: Any) -> Any:
    """A sampler with its own state. What it only reads, such as a dataset, is shared."""
    plain = (list, tuple, dict, set, str, bytes, bytearray)
    memo = {}
    for one in _inner(sampler):
        for value in getattr(one, "__dict__", {}).values():
            if hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, plain) and not hasattr(value, "dtype"):
                memo[id(value)] = value
    return copy.deepcopy(sampler, memo)


def _numbers(sampler: Any) -> Iterator[int]:
    """A sampler's numbers; lists are joined."""
    for item in sampler:
        if hasattr(item, "__index__"):
            yield item.__index__()
        elif hasattr(item, "__iter__"):
            yield from (number.__index__() for number in item)
        else:
            raise TypeError(f"the sampler gives {item!r}: must be numbers of samples, or lists of them")


def _inner(sampler: Any) -> list[Any]:
    """A sampler, and the one whose numbers it batches."""
    return [one for one in (sampler, getattr(sampler, "sampler", None)) if one is not None]


def _epochs_set(sampler: Any) -> list[Any]:
    """The methods to call with the epoch's number."""
    return [one.set_epoch for one in _inner(sampler) if hasattr(one, "set_epoch")]


def _light(sampler: Any) -> Any:
    """A sampler without the dataset that it holds only for its length."""
    if not type(sampler).__module__.startswith("torch.utils.data"):
        return sampler
    own = copy.copy(sampler)
    if hasattr(own, "sampler"):
        own.sampler = _light(own.sampler)
    for name in ("data_source", "dataset"):
        if hasattr(getattr(own, name, None), "__len__"):
            setattr(own, name, range(len(getattr(own, name))))
    return own


def _seed_globals(seed: int, epoch: int) -> None:
    """Seed the global generators for samplers without their own."""
    random.seed(f"{seed} {epoch}")
    number = random.getrandbits(62)
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)

"""Samplers of PyTorch and others: objects that order samples."""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from typing import NamedTuple

from ..errors import RecipeError
from .arguments import integer
from .function_arguments import takes_memory
from .functions import Function, makes_batches
from .step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


class Orders:
    """A sampler's sample numbers by epoch. Each worker has a copy.

    A sampler may hold generators that continue from epoch to epoch. So an epoch that does not follow the last one is reached from the
    first, unless the sampler has `set_epoch`.
    """

    def __init__(self, sampler: Any, seed: int, seen: Seen | None = None) -> None:
        """`seen` is what the sampler gives. By default that is single numbers."""
        self._pristine = _light(sampler)
        self._seed = seed
        self._at = 0  # the epoch that comes next
        self._sampler: Any = None
        self.seen = seen or Seen()
        self.joined = not self.seen.lists  # lists are joined
        self.full = 0  # a last list of fewer samples is left out
        self.replicas = max(int(getattr(one, "num_replicas", 1)) for one in _inner(sampler))

    def changed(self, joined: bool, full: int = 0) -> Orders:
        """The same sampler, whose lists are joined or not, without a last one of fewer samples than `full`."""
        other = copy.copy(self)
        other.joined, other.full = joined, full
        return other

    def lists(self) -> Sequence[int]:
        """The lengths of the lists of the first epoch."""
        lengths = self.seen.lists
        return lengths[:-1] if lengths and lengths[-1] < self.full else lengths

    def __getitem__(self, epoch: int) -> Any:
        import numpy as np

        lists = self._drawn(epoch)
        lengths = [] if self.joined else [len(lists), *map(len, lists)]
        count = sum(map(len, lists))
        numbers = range(count) if self.seen.places else [number for members in lists for number in members]
        return np.array([*lengths, *numbers], dtype=np.int64)

    def items(self, epoch: int) -> list[Any]:
        """What the sampler gives in an epoch, one for each sample."""
        return [item for members in self._drawn(epoch) for item in members]

    def _drawn(self, epoch: int) -> list[list[Any]]:
        jumps = _epochs_set(self._pristine)
        if self._sampler is None or (epoch < self._at and not jumps):
            self._sampler, self._at = _copied(self._pristine), 0
        if jumps:
            self._at = epoch
        with _own_generators():  # functions that the same process calls have them too
            while self._at < epoch:
                self._epoch(self._at)
                self._at += 1
            lists = self._epoch(epoch)
        self._at = epoch + 1
        return lists[:-1] if lists and len(lists[-1]) < self.full else lists

    def _epoch(self, epoch: int) -> list[list[Any]]:
        """The lists of one epoch, drawn from the generators as they are now; of single items one list."""
        _seed_globals(self._seed, epoch)
        for setter in _epochs_set(self._sampler):
            setter(epoch)
        given = _given(self._sampler, f" in epoch {epoch}")
        if self.seen.places:
            return given.lists
        if given.places:
            raise TypeError(f"the sampler gives {given.shown} in epoch {epoch}, and numbers of samples in the first: give one or the other")
        return given.lists


class Picked:
    """A dataset by places of the epoch: its samples are what a sampler's items are to it, such as `(index, size)`."""

    def __init__(self, dataset: Any, orders: Orders) -> None:
        self.dataset = dataset
        self.orders = orders.changed(joined=True, full=orders.full)
        self._epoch = 0
        self._items: list[Any] | None = None

    def set_epoch(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._epoch, self._items = epoch, None

    def item(self, place: int) -> Any:
        """What the sampler gives at a place of the epoch."""
        if self._items is None:
            self._items = self.orders.items(self._epoch)
        return self._items[place]

    def __getitem__(self, place: int) -> Any:
        return self.dataset[self.item(place)]


class PickedKeys:
    """The names of such samples: what `keys` is given is the sampler's item."""

    def __init__(self, keys: Any, picked: Picked) -> None:
        self.keys = keys if callable(keys) else keys.__getitem__
        self.picked = picked

    def set_epoch(self, epoch: int) -> None:
        self.picked.set_epoch(epoch)

    def __call__(self, place: int) -> Any:
        return self.keys(self.picked.item(place))


def picked(given: dict[str, Any], orders: Orders) -> dict[str, Any]:
    """The arguments of a source that is read by places of the epoch."""
    dataset = given["function"]
    if takes_memory(dataset.value.__getitem__) == "must":
        raise RecipeError(
            "headrace: source: sampler gives other items than numbers, and __getitem__ must have out: give that a default, None"
        )
    source = Function(Picked(dataset.value, orders))
    source.name = dataset.name
    own = {"function": source, "length": orders.seen.samples}
    if "keys" in given:
        keys = Function(PickedKeys(given["keys"].value, Picked(None, orders)))
        keys.name = given["keys"].name
        own["keys"] = keys
    return own


class Seen(NamedTuple):
    """What a sampler gives in its first epoch."""

    samples: int = 0
    lists: Sequence[int] = ()  # their lengths; none: it gives samples one by one
    places: bool = False  # it gives other items than numbers, for `__getitem__` as they are


class Given(NamedTuple):
    """What a sampler gives in an epoch: lists of samples, or one list of all."""

    lists: list[list[Any]]
    batches: bool
    places: bool
    shown: str  # an item that is no number


def sampler_arguments(sampler: Any, samples: int | None, seed: int) -> dict[str, Any]:
    """The arguments of the step sampler."""
    if not hasattr(sampler, "__iter__"):
        raise RecipeError(f"headrace: source: sampler is {sampler!r}: must be an object that is iterated over for numbers of samples")
    if samples is None:
        raise RecipeError("headrace: source: sampler= orders samples that are read by number, and this source is iterated over")
    if hasattr(sampler, "__next__"):
        text = "headrace: source: sampler can be gone through once only, and an epoch each goes through it: give an object whose __iter__"
        raise RecipeError(f"{text} begins again, or a list")
    seen = _see(sampler, samples, seed)
    if seen.samples < 1:
        raise RecipeError("headrace: source: sampler gives no samples")
    return _arguments(Orders(sampler, seed, seen))


def _arguments(orders: Orders) -> dict[str, Any]:
    seen, lists = orders.seen, orders.lists()
    given = {"function": Function(orders), "length": sum(lists) if lists else seen.samples}
    if lists and not orders.joined:
        given["lists"] = len(lists)
    if seen.places:
        given["places"] = True
    return given


def batches_of(steps: Sequence[dict[str, Any]], size: Any, global_size: Any, drop_last: bool) -> tuple[Any, dict[str, Any]]:
    """The steps before `batch`, and its arguments: those that make batches of a sampler's lists, if it gives any.

    Raises:
        RecipeError: if the lists are no such batches, or nothing says how large batches are.
    """
    given = {"size": size, "global_size": global_size, "drop_last": drop_last}
    at = next((i for i, step in enumerate(steps) if "sampler" in step), None)
    orders = None if at is None else getattr(steps[at]["sampler"]["function"], "value", None)
    if not isinstance(orders, Orders) or orders.joined or any(map(makes_batches, steps)):
        if size is None and global_size is None:
            raise RecipeError(
                "headrace: batch: there is no size: write .batch(32); .batch() is for a sampler that gives lists, which are batches"
            )
        return steps, given
    assert at is not None
    wanted = global_size if size is None else size
    if size is not None and global_size is not None:
        return steps, given  # the engine says what is wrong with it
    lengths = orders.seen.lists
    if wanted is None and drop_last:
        raise RecipeError("headrace: batch: drop_last is for batches of a size, and the sampler's lists are batches: leave it out")
    if wanted is not None:
        wanted = integer("size" if global_size is None else "global_size", wanted)
        _check_lengths(lengths, wanted)
    orders = orders.changed(joined=global_size is not None, full=wanted if drop_last else 0)
    if not orders.lists():
        raise RecipeError(f"headrace: batch: drop_last leaves nothing of the sampler's one list, which has {lengths[0]} samples")
    step = Step({**steps[at], "sampler": _arguments(orders)}, line=getattr(steps[at], "line", None))
    before = (*steps[:at], step, *steps[at + 1 :])
    if global_size is not None:
        return before, given
    return before, {"size": wanted or _most(lengths), "lists": True}


def _check_lengths(lengths: Sequence[int], size: int) -> None:
    other = next((n for n in lengths[:-1] if n != size), None)
    if other is None and lengths[-1] > size:
        other = lengths[-1]
    if other is not None:
        raise RecipeError(
            f"headrace: batch: the size is {size}, and the sampler gives a list of {other} samples: write .batch(), without a size, to take"
            " its lists as they are, or give a sampler of single numbers"
        )


def _most(lengths: Sequence[int]) -> int:
    """How many samples a list may have: where they differ already, twice as many as one of the first epoch has."""
    longest = max(lengths)
    return longest if all(n == longest for n in lengths[:-1]) else 2 * longest


def _see(sampler: Any, samples: int, seed: int) -> Seen:
    """What a sampler gives in an epoch."""
    if not hasattr(sampler, "__len__"):
        raise RecipeError("headrace: source: sampler has no length: give one whose epochs end, with __len__")
    if type(sampler).__module__.startswith("torch.utils.data"):
        if not hasattr(sampler, "batch_size"):
            if _numbered(sampler):
                return Seen(len(sampler))
        elif type(sampler).__name__ == "BatchSampler" and hasattr(sampler.sampler, "__len__") and _numbered(sampler.sampler):
            whole, rest = divmod(len(sampler.sampler), sampler.batch_size)
            lists = [sampler.batch_size] * whole + [rest] * (rest > 0 and not sampler.drop_last)
            if not lists:
                raise RecipeError("headrace: source: sampler gives no batches: fewer samples than its batch_size, and drop_last")
            return Seen(sum(lists), lists)
    with _own_generators():
        own = _copied(_light(sampler))
        _seed_globals(seed, 0)
        for setter in _epochs_set(own):
            setter(0)
        try:
            given = _given(own, "")
        except TypeError as error:
            raise RecipeError(f"headrace: source: {error}") from None
    if not given.places:
        for number in (number for members in given.lists for number in members):
            if number < 0:
                text = f"headrace: source: sampler gives {number}: samples are numbered from 0"
                raise RecipeError(f"{text}: give {samples + number} for that one" if number >= -samples else text)
            if number >= samples:
                raise RecipeError(f"headrace: source: sampler gives sample {number}: there are {samples}, numbered from 0")
    return Seen(sum(map(len, given.lists)), [len(members) for members in given.lists] if given.batches else (), given.places)


def _numbered(sampler: Any) -> bool:
    """Whether a sampler of PyTorch's gives numbers, without going through it."""
    if not type(sampler).__module__.startswith("torch.utils.data"):
        return False
    return all(hasattr(one, "__index__") for one in getattr(sampler, "indices", ()))


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


def _given(sampler: Any, when: str) -> Given:
    """What a sampler gives: lists, each of which is a batch, or samples one by one."""
    lists: list[list[Any]] = []
    single: list[Any] = []
    places, shown = False, ""
    for item in sampler:
        if _is_list(item):
            lists.append([_member(member) for member in item])
            members = lists[-1]
            if not members:
                raise TypeError(f"the sampler gives an empty list{when}: leave out batches without a sample")
        else:
            members = [_member(item)]
            single += members
        if lists and single:
            raise TypeError(
                f"the sampler gives lists and also {single[0]!r}{f' {when}' * bool(when)}: give lists alone, each a batch, or none"
            )
        if not places and (other := [member for member in members if type(member) is not int]):
            places, shown = True, repr(other[0])
    return Given(lists or [single], bool(lists), places, shown)


def _is_list(item: Any) -> bool:
    """Whether an item of a sampler is a batch: a list, an array of numbers, a range or an iterator. Anything else is one sample."""
    if isinstance(item, (list, range)) or hasattr(item, "__next__"):
        return True
    return len(getattr(item, "shape", ())) == 1 and hasattr(item, "tolist")


def _member(item: Any) -> Any:
    """A sample's number as an int; another item as it is."""
    return item.__index__() if hasattr(item, "__index__") else item


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

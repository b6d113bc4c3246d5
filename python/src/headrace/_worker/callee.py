"""The function of the user: what it is, and how it is given a sample's values."""

from __future__ import annotations

import contextlib
from functools import partial
from operator import getitem

from .._recipe.functions import takes_out
from . import log
from .epochs import epochs_of
from .errors import describe
from .event_loop import event_loop
from .generators import apart
from .lookup import name_of
from .reader import unpacked
from .results import is_bare, targets_of
from .seeds import generator_maker, seeders
from .signature import COROUTINE, code_flags, parameters, signature_of
from .types import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .hooked import Hooks

STREAMS = ("flat_map", "iterate", "aggregate")  # what gives any number of samples


class Callee:
    """A function or an object of the user's."""

    def __init__(self, setup: dict[str, Any], load: Callable[[], Any], keys: Any) -> None:
        """`load` gives the function, or the object or class; `keys`, if not None, what tells names of samples."""
        self.setup = setup
        self.kind: str = setup["kind"]
        self.stage: str = setup["stage"]
        self.collate = self.kind == "collate"
        self.callees = [self]  # of a chain, of each step
        self.keys = 1  # of random numbers, for each sample
        self.seeds = seeders(setup["seed"])
        self.object = load()
        self.again = self._maker(load) if self.kind in ("aggregate", "iterate") else None
        self.name_of = None if keys is None else name_of(keys)
        if self.kind == "choose":
            from .choose import Chooser

            self.object = Chooser(self.object, setup["function"])
        if isinstance(self.object, type):
            self.object = self.object()  # set-up, once for each worker
        self._fresh = self.kind == "aggregate"  # nobody has used the object yet
        self._number = 0  # of the object
        self._others: dict[int, tuple[Any, bool]] = {}  # by their numbers those whose turn it is not, and whether nobody has used them
        target = self.object
        if self.kind == "aggregate":
            for method in ("accumulate", "flush"):
                if not callable(getattr(target, method, None)):
                    raise TypeError(f"{setup['function']} has no method {method}(): an aggregator needs accumulate(sample) and flush()")
            target = self.object.accumulate
        elif self.kind == "index":
            if not hasattr(target, "__getitem__"):
                raise TypeError(f"{setup['function']} cannot be indexed: it has no __getitem__")
        elif self.kind == "iterate":
            if not (callable(target) or hasattr(target, "__iter__") or hasattr(target, "__aiter__")):
                raise TypeError(f"{setup['function']} is neither an iterable nor a function that returns one")
        elif not callable(target):
            raise TypeError(f"{setup['function']} is {told(target)}, which cannot be called")
        self.target = target
        self.sample_of = _sample_of(setup["in"])
        self.objects = any(f["kind"] == "object" for f in setup["in"])
        flags = code_flags(target)
        self.is_async = bool(flags & COROUTINE)
        self.takes_rng = self.kind not in ("index", "iterate") and "rng" in parameters(target)
        self.flush_takes_rng = self.kind == "aggregate" and "rng" in parameters(self.object.flush)
        self._seed_generators(keys)
        self.random = self.takes_rng or self.flush_takes_rng or bool(self.seeds)
        self.takes_out = self._takes_out()
        # Coroutines of a pack run beside each other, unless a generator that all share is seeded for each.
        self.concurrent = self.is_async and self.kind in ("map", "filter") and not self.seeds
        if self.concurrent:
            setup["copy"] = True  # what several have changed in place cannot be done again
        # None: nothing has set_epoch; of what is iterated over, `Source` calls it.
        self.epochs = None if self.kind == "iterate" else epochs_of(self.object, keys)
        self.step: str = setup.get("step") or self.stage
        self.awaits = self.is_async  # a call's result must be awaited
        self.hooks: Hooks | None = None

    def _seed_generators(self, keys: Any) -> None:
        """Have generators that the object holds draw other numbers for each sample: its copies would all draw the same.

        Where threads share them, that is not possible: then they only differ from process to process. Objects of the program itself have
        no copies, and one worker alone has a source that is iterated over, or an aggregator.
        """
        held = self.setup["held"]
        if held.own or self.kind in ("iterate", "aggregate"):
            return
        found = held.seeders(self.object, keys)
        if held.alone and not self.is_async:
            self.seeds = [*self.seeds, *found]
        elif found:
            apart(found)
            log.warn(
                f"headrace: {self.setup['function']} holds a generator of random numbers that calls share which run at once, so a run draws"
                " other numbers than the one before: give the function a parameter rng, a generator for each sample",
            )

    def hook(self, hooks: Hooks, beside: bool) -> None:
        """Have hooks around the calls. `beside` others, in an event loop, hooks of functions that are not async are awaited, too."""
        self.hooks = hooks
        if self.kind == "index":
            self.awaits = beside and hooks.of_async
        elif self.kind not in STREAMS:
            self.awaits = self.is_async or (beside and hooks.of_async)
            self.target = hooks.around(self.step, self.target, self.is_async, self.awaits)

    def _takes_out(self) -> bool:
        """Whether the function is given memory for its results."""
        setup = self.setup
        if self.kind == "index":
            signature, given = signature_of(self.target.__getitem__), 1
        elif self.kind == "map":
            signature, given = signature_of(self.target), len(setup["in"]) if setup["positional"] else 1
        else:
            return False
        wants = signature and takes_out(signature, given)
        if not wants:
            return False
        arrays = [f["name"] for f in setup["gives"] or () if f["kind"] == "tensor" and f.get("shape") and min(f["shape"]) >= 0]
        if wants == "must" and not arrays:
            what = "has no gives" if setup["gives"] is None else "returns no array of known shape"
            raise TypeError(f"{setup['function']} has the argument out, memory for its result, and the step {what}: set gives")
        return bool(arrays)

    def close(self, closed: set[int]) -> None:
        """Have the user's objects end, but for those that have, each even if another fails. An async `close` is waited for."""
        others, self._others = self._others, {}
        for made in (self.object, *(made for made, _ in others.values())):
            with self.saying():
                _end(made, closed)

    def ending(self, closed: set[int]) -> Any:
        """The same for the one object of a function, but an async `close` is returned."""
        return _ending(self.object, closed)

    @contextlib.contextmanager
    def saying(self) -> Iterator[None]:
        """Log what an object of the user's raises as it ends, when there is no call to fail."""
        with log.speaking_for(self.stage):
            try:
                yield
            except Exception as e:
                import logging

                logging.getLogger("headrace.worker").error("close() has failed: %s", describe(e)["traceback"])

    def _maker(self, load: Callable[[], Any]) -> Callable[[], Any] | None:
        """What makes another object, as if nobody had used this one; None: nothing does."""
        if isinstance(self.object, type):
            return self.object
        if self.setup["pickle"] is not None or (self.kind == "aggregate" and self.setup["held"].own):
            return lambda: made() if isinstance(made := load(), type) else made
        if self.kind == "iterate":
            return None  # it may be large
        import copy

        pristine = copy.deepcopy(self.object)
        return lambda: copy.deepcopy(pristine)

    def turn_to(self, number: int) -> None:
        """Go on with another of the objects that gather samples, which is made when its turn first comes."""
        if number == self._number:
            return
        assert self.again is not None  # as for every aggregator
        self._others[self._number] = self.object, self._fresh
        made, self._fresh = self._others.pop(number) if number in self._others else (self.again(), True)
        self._number, self.object, self.target = number, made, made.accumulate
        self.epochs = epochs_of(made)

    def renew(self) -> None:
        """Begin with a new object."""
        if not self._fresh and self.again is not None:
            _end(self.object, set())
            self.object = self.again()
            self.target = self.object.accumulate if self.kind == "aggregate" else self.object
            if self.kind == "aggregate":
                self.epochs = epochs_of(self.object)
        self._fresh = False

    def adopt(self, made: Any) -> None:
        """Go on with an object that was tried, instead of one that nobody has used."""
        if made is not self.object:
            self.end(self.object)
        self.object = self.target = made
        self._fresh = False

    def another(self, most: int) -> Any:
        """Another object that shares nothing with this one, made of at most so many bytes; None: there is none."""
        place = self.setup["pickle"]
        if self.again is None or place is None or place[1] > most:
            return None
        return self.again()

    def end(self, made: Any) -> None:
        """Have such another object end, too."""
        with self.saying():
            _end(made, set())

    # How a call is made.

    def prepare(self) -> Callable[[int, int], dict[str, Any]]:
        """What is done about randomness before a sample: generators are seeded, and the function's own is made."""
        seeds = self.seeds
        make = generator_maker() if self.takes_rng or self.flush_takes_rng else None

        def prepare(low: int, high: int) -> dict[str, Any]:
            for seed in seeds:
                seed(low, high)
            return {"rng": make(low, high)} if make else {}

        return prepare

    def caller(self) -> Callable[[Any, dict[str, Any]], Any]:
        """The function as it is given a sample's values."""
        function = self.target
        if self.is_async:
            inner, wait = function, self.wait

            def function(*args: Any, **kwargs: Any) -> Any:
                return wait(inner(*args, **kwargs))

        if self.setup["positional"]:
            if self.objects:
                return lambda row, kwargs: function(*unpacked(row), **kwargs)
            return lambda row, kwargs: function(*row, **kwargs)
        sample_of = self.sample_of
        if self.objects:
            return lambda row, kwargs: function(sample_of(unpacked(row)), **kwargs)
        return lambda row, kwargs: function(sample_of(row), **kwargs)

    def getter(self) -> Callable[..., Any]:
        """What gives a sample of a source by its number."""
        get = self.object.__getitem__ if self.takes_out else partial(getitem, self.object)
        return get if self.hooks is None else self.hooks.around(self.step, get, False, self.awaits)

    def wait(self, result: Any) -> Any:
        """The result of a coroutine."""
        if not self.is_async:
            return result
        return event_loop().run_until_complete(result)

    def lender(self, writer: Any, one: bool) -> Callable[[int], Any] | None:
        """What makes `out` for a sample: arrays by field; of named fields the one array, or a tuple, with None for other values."""
        if not self.takes_out:
            return None
        to = targets_of(self.setup)

        def lend(item: int) -> Any:
            arrays = writer.lend(item, one)
            if to is None:
                return arrays
            return arrays[to[0]] if len(to) == 1 else tuple([arrays.get(name) for name in to])

        return lend


def _end(made: Any, closed: set[int]) -> None:
    result = _ending(made, closed)
    if hasattr(result, "__await__"):
        event_loop().run_until_complete(result)


def _ending(made: Any, closed: set[int]) -> Any:
    """Have an object end, unless it is among those that have. An async `close` is returned."""
    close = getattr(made, "close", None)
    if not callable(close) or isinstance(made, type) or id(made) in closed:
        return None
    closed.add(id(made))
    return close()


def _sample_of(fields: list[dict[str, Any]]) -> Callable[[Any], Any]:
    """What makes a sample of its values: a dict, or the one value itself."""
    if is_bare(fields):
        return lambda row: row[0]
    names = [f["name"] for f in fields]
    return lambda row: dict(zip(names, row))

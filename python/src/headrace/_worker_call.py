"""The user's function, and how it is called for a pack of samples."""

from __future__ import annotations

import importlib
import json
import sys
from itertools import repeat
from time import monotonic_ns

from ._worker_errors import Misfit, code_of_call
from ._worker_values import FULL, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

AS_FLUSH, OWN_SHARED = 8, 32
_SEND_AFTER = 1_000_000  # ns that results wait at most while the next sample is in work
MOST_STATE = 1 << 20  # bytes
_AHEAD = 16  # samples of a stream that wait for the engine
_GENERATES, _COROUTINE, _ASYNC_GENERATES = 0x20, 0x80, 0x200  # of a code's co_flags


class Callee:
    """A function or an object of the user's."""

    def __init__(self, setup: dict[str, Any], heap: Any) -> None:
        self.setup = setup
        self.kind: str = setup["kind"]
        self.collate = self.kind == "collate"
        self.seeds = _seeds(setup["seed"])
        self.object = _load(setup, heap)
        if isinstance(self.object, type):
            self.object = self.object()  # set-up, once for each worker
        target = self.object
        if self.kind == "aggregate":
            for method in ("accumulate", "flush"):
                if not callable(getattr(target, method, None)):
                    raise TypeError(f"{setup['function']} has no method {method}(): what aggregates has accumulate(sample) and flush()")
            target = self.object.accumulate
        elif self.kind == "index":
            if not hasattr(target, "__getitem__"):
                raise TypeError(f"{setup['function']} cannot be indexed: it has no __getitem__")
        elif self.kind == "iterate":
            if not (callable(target) or hasattr(target, "__iter__") or hasattr(target, "__aiter__")):
                raise TypeError(f"{setup['function']} is no iterable, and no function that returns one")
        elif not callable(target):
            raise TypeError(f"{setup['function']} is {told(target)}, which cannot be called")
        self.target = target
        flags = _code_flags(target)
        self.is_async = bool(flags & _COROUTINE)
        self.takes_rng = self.kind not in ("index", "iterate") and "rng" in _parameters(target)
        self.random = self.takes_rng or bool(self.seeds)
        # Coroutines of a pack run beside each other, unless a generator that all share is seeded for each.
        self.concurrent = self.is_async and self.kind in ("map", "filter") and not self.seeds
        if self.concurrent:
            setup["copy"] = True  # what several have changed in place cannot be done again
        import gc

        gc.freeze()  # what was imported stays, and need not be looked through again
        if "torch" in sys.modules:
            import os

            if os.environ.get("OMP_NUM_THREADS") == "1":
                sys.modules["torch"].set_num_threads(1)

    def close(self) -> None:
        """Have the user's object end."""
        close = getattr(self.object, "close", None)
        if callable(close) and not isinstance(self.object, type):
            close()

    # What a lane runs.

    def runner(self, lane: Any) -> Callable[[Any], None]:
        """What does a pack's work, for one thread."""
        lane.writer.function = self.target
        if self.kind in ("flat_map", "iterate", "aggregate"):
            return _Streams(self, lane).run
        if self.kind == "collate":
            return self._collate(lane)
        return self._coroutines(lane) if self.concurrent else self._items(lane)

    def _items(self, lane: Any) -> Callable[[Any], None]:
        """Sample by sample: map, filter, index."""
        writer, cell = lane.writer, lane.cell
        prepare = self._prepare()
        call = self._caller()
        values_of = values_of_result(self.setup, writer)
        keeps = self.kind == "filter"
        indexed = self.kind == "index"
        obj = self.object

        def run(task: Any) -> None:
            rows: Any = zip(*task.columns) if task.columns else repeat((), task.items)
            each = task.flags & OWN_SHARED
            random = task.random
            tag = lane.tag
            sent = monotonic_ns()
            kwargs: dict[str, Any] = {}
            for item, row in enumerate(rows):
                now = monotonic_ns()
                if writer.status and (each or now - sent > _SEND_AFTER or writer.end > FULL):
                    writer.send(False)
                    sent = now
                cell[1] = now
                cell[0] = tag + item + 1
                try:
                    if random is not None:
                        kwargs = prepare(random[2 * item], random[2 * item + 1])
                    result = obj[task.index[item]] if indexed else call(row, kwargs)
                    if keeps:
                        if result:
                            writer.status.append(0)
                        else:
                            writer.drop()
                    else:
                        writer.add(item, values_of(result), row)
                except BaseException as e:
                    writer.fail(item, e)
            writer.send(True)

        return run

    def _coroutines(self, lane: Any) -> Callable[[Any], None]:
        """All samples of a pack beside each other; results go in their order."""
        writer = lane.writer
        prepare = self._prepare()
        function = self.target
        names = [f["name"] for f in self.setup["in"]]
        positional = self.setup["positional"]
        values_of = values_of_result(self.setup, writer)
        keeps = self.kind == "filter"

        async def call(row: Any, kwargs: dict[str, Any]) -> tuple[Any, BaseException | None]:
            try:
                return await (function(*row, **kwargs) if positional else function(dict(zip(names, row)), **kwargs)), None
            except BaseException as e:
                return None, e

        async def gather(task: Any) -> None:
            rows = list(zip(*task.columns)) if task.columns else [()] * task.items
            random = task.random
            loop = event_loop()
            sent = lane.working(0)
            calls = []
            for item, row in enumerate(rows):
                kwargs = prepare(random[2 * item], random[2 * item + 1]) if random is not None else {}
                calls.append(loop.create_task(call(row, kwargs)))
            for item, row in enumerate(rows):
                lane.cell[0] = lane.tag + item + 1  # since when is the same for all
                result, failed = await calls[item]
                now = monotonic_ns()
                if writer.status and (now - sent > _SEND_AFTER or writer.end > FULL):
                    writer.send(False)
                    sent = now
                try:
                    if failed is not None:
                        raise failed
                    if not keeps:
                        writer.add(item, values_of(result), row)
                    elif result:
                        writer.status.append(0)
                    else:
                        writer.drop()
                except BaseException as e:
                    writer.fail(item, e)
            writer.send(True)

        return lambda task: event_loop().run_until_complete(gather(task))

    def _collate(self, lane: Any) -> Callable[[Any], None]:
        writer = lane.writer
        prepare = self._prepare()
        names = [f["name"] for f in self.setup["in"]]
        values_of = values_of_result(self.setup, writer)

        def run(task: Any) -> None:
            lane.working(0)
            row: tuple[Any, ...] = (None,) * len(names)
            writer.kept([False] * len(names))
            try:
                kwargs = prepare(*task.random[:2]) if task.random is not None else {}
                samples = [dict(zip(names, values)) for values in zip(*task.columns)]
                result = self._wait(self.target(samples, **kwargs))
                writer.add(0, values_of(result), row)
            except BaseException as e:
                writer.fail(0, e)
            writer.send(True)

        return run

    def _caller(self) -> Callable[[Any, dict[str, Any]], Any]:
        """The function as it is given a sample's values."""
        function = self.target
        if self.is_async:
            inner, wait = function, self._wait

            def function(*args: Any, **kwargs: Any) -> Any:
                return wait(inner(*args, **kwargs))

        if self.setup["positional"]:
            return lambda row, kwargs: function(*row, **kwargs)
        names = [f["name"] for f in self.setup["in"]]
        return lambda row, kwargs: function(dict(zip(names, row)), **kwargs)

    def _wait(self, result: Any) -> Any:
        """The result of a coroutine."""
        if not self.is_async:
            return result
        return event_loop().run_until_complete(result)

    def _prepare(self) -> Callable[[int, int], dict[str, Any]]:
        """What is done about randomness before a sample: generators are seeded, and the function's own is made."""
        seeds = self.seeds
        make = generator_maker() if self.takes_rng else None

        def prepare(low: int, high: int) -> dict[str, Any]:
            for seed in seeds:
                seed(low, high)
            return {"rng": make(low, high)} if make else {}

        return prepare


def values_of_result(setup: dict[str, Any], writer: Any) -> Callable[[Any], Any]:
    """What makes values, in the order of the fields, of what a function returns."""
    names: list[str] = writer.names
    to = setup["to"] or ([f["name"] for f in setup["in"]] if setup["positional"] else None)

    def of_dict(result: Any) -> Any:
        if type(result) is not dict:
            if not hasattr(result, "keys"):
                hint = "; did it forget to return?" if result is None else ""
                raise Misfit("", f"returned {told(result)}, not a sample (a dict of fields){hint}")
            result = dict(result)
        try:
            if len(result) == len(names):
                return [result[name] for name in names]
        except KeyError:
            pass
        missing = [n for n in names if n not in result]
        if missing:
            raise Misfit(
                missing[0],
                f"field {missing[0]!r} is missing in what was returned; there are {', '.join(map(repr, result)) or 'none'}",
                "KeyError",
            )
        more = [n for n in result if n not in names]
        raise Misfit(
            str(more[0]), f"returned a field {more[0]!r} that the step does not give; it gives {', '.join(map(repr, names))}", "KeyError"
        )

    # Fields need not stand in the order in which they are returned.
    order = [to.index(name) for name in names] if to and not writer.probing and to != names else None

    def of_values(result: Any) -> Any:
        assert to is not None
        if len(to) == 1:
            return (result,)
        if not isinstance(result, (tuple, list)) or len(result) != len(to):
            what = f"{len(result)} values" if isinstance(result, (tuple, list)) else told(result)
            raise Misfit("", f"returned {what}, not {len(to)}: {', '.join(to)}")
        return result if order is None else [result[i] for i in order]

    take = of_values if to else of_dict
    if not writer.probing:
        return take

    def probed(result: Any) -> Any:
        if to:
            values = list(of_values(result))
            writer.find(list(to), values)
            return values
        if not hasattr(result, "keys"):
            return of_dict(result)
        found = list(result.keys())
        for name in found:
            if not isinstance(name, str):
                raise Misfit(repr(name), f"returned a field whose name is {told(name)}, not a str")
        values = [result[name] for name in found]
        writer.find(found, values)
        return values

    return probed


class _Streams:
    """What gives any number of samples: generators, sources, aggregators."""

    def __init__(self, callee: Callee, lane: Any) -> None:
        self.callee = callee
        self.lane = lane
        self.setup = callee.setup
        self.names = [f["name"] for f in self.setup["in"]]
        self.states = self.setup["states"]
        self.spent: Any = None  # the iterator of the epoch before
        self.prepare = callee._prepare()
        writer = lane.writer
        if callee.kind == "iterate" and self.states and not writer.probing:
            writer.names = writer.names[:-1]  # the last one is the state
        self.values_of = values_of_result(self.setup, writer)

    def run(self, task: Any) -> None:
        lane, writer = self.lane, self.lane.writer
        row = tuple(column[0] for column in task.columns)
        writer.kept([False] * len(self.names))  # samples that come of one share nothing
        item = 0
        lane.working(0)
        iterator = None
        try:
            iterator = self._begin(task, row)
            while True:
                lane.working(item)
                try:
                    sample = next(iterator)
                except StopIteration:
                    break
                values = self.values_of(sample)
                if self.states and self.callee.kind == "iterate" and not writer.probing:
                    values = [*values, self._state()]
                writer.add(item, values, row)
                item += 1
                if not self._pass_on():
                    iterator.close() if hasattr(iterator, "close") else None
                    break
        except BaseException as e:
            writer.fail(item, e)
        state = None
        if self.states and self.callee.kind == "aggregate" and not writer.failures:
            try:
                state = self.callee.object.state_dict()
            except BaseException as e:
                writer.fail(item, e)
        lane.working(item)
        try:
            writer.send(True, state)
        except TypeError as e:  # a state that JSON cannot hold
            writer.fail(item, e)
            writer.send(True)
        lane.resting()  # the engine may be long in taking it

    def _pass_on(self) -> bool:
        """Send what is ready where the engine takes it; wait where too much is. False: the engine wants no more."""
        lane, writer = self.lane, self.lane.writer
        if lane.credit <= 0:
            if not writer.probing and len(writer.status) < _AHEAD and writer.end <= FULL and not lane.pulled_now():
                return True
            lane.resting()
            if not lane.pull():
                return False
        if lane.stopped:
            return False
        writer.send(False)
        lane.credit -= 1
        return True

    def _begin(self, task: Any, row: tuple[Any, ...]) -> Iterator[Any]:
        callee, setup = self.callee, self.setup
        kwargs = self.prepare(*task.random[:2]) if task.random is not None else {}
        if callee.kind == "iterate":
            return self._source(task.index[0], task.state)
        if task.state is not None:
            callee.object.load_state_dict(json.loads(task.state))
        if callee.kind == "aggregate" and task.flags & AS_FLUSH:
            result = callee.object.flush()
        elif setup["positional"]:
            result = callee.target(*row, **kwargs)
        else:
            result = callee.target(dict(zip(self.names, row)), **kwargs)
        if callee.is_async:
            result = event_loop().run_until_complete(result)
        if result is None:
            return iter(())
        return iterate(result)

    def _source(self, epoch: int, state: bytes | None) -> Iterator[Any]:
        """An epoch of a source, from its beginning, or from where it had this state."""
        made = self.callee.object
        if hasattr(made, "set_epoch"):
            made.set_epoch(epoch)
        self.stateful = made if _is_stateful(made) else None
        if state is not None and self.stateful is not None:
            made.load_state_dict(json.loads(state))
            state = None
        source = self._called(made)
        iterator = iterate(source)
        if self.stateful is None:
            holders: tuple[Any, ...] = (source, iterator)
            self.stateful = next(filter(_is_stateful, holders), None)
            if state is not None and self.stateful is not None:
                self.stateful.load_state_dict(json.loads(state))
                state = None
                if self.stateful is source:
                    iterator = iterate(source)
        if state is not None:
            raise TypeError(f"{self.setup['function']} had a state_dict() when the state was saved, and has no load_state_dict() now")
        if iterator is self.spent:
            raise TypeError(
                f"{self.setup['function']} is an iterator, which can be gone through once, and this is epoch {epoch}: take a function that"
                " returns a new one, an object with __iter__, or epochs=1"
            )
        self.spent = iterator
        return iterator

    def _called(self, made: Any) -> Any:
        """What is iterated over."""
        name, rank, world = self.setup["function"], self.setup["rank"], self.setup["world"]
        if hasattr(made, "__iter__") or hasattr(made, "__aiter__"):
            if world > 1:
                raise TypeError(
                    f"all {world} ranks would get the same samples of {name}: takes a function of (rank, world_size)"
                    " that returns what is iterated over"
                )
            return made
        parameters = [p for p in _parameters(made) if p not in ("args", "kwargs")]
        if len(parameters) >= 2:
            source = made(rank, world)
        elif world > 1:
            raise TypeError(
                f"all {world} ranks would get the same samples of {name}: takes a function with two parameters, rank and world_size"
            )
        else:
            source = made()
        return event_loop().run_until_complete(source) if self.callee.is_async else source

    def _state(self) -> str:
        """The state of a source after a sample, as JSON; empty: it has none."""
        if self.stateful is None:
            return ""
        try:
            state = json.dumps(self.stateful.state_dict())
        except TypeError as e:
            raise TypeError(f"state_dict() of {self.setup['function']} is to be plain JSON: {e}") from None
        if len(state) > MOST_STATE:
            raise ValueError(
                f"state_dict() of {self.setup['function']} has {len(state)} bytes as JSON: at most {MOST_STATE} travel with each sample"
            )
        return state


def _is_stateful(holder: Any) -> bool:
    return callable(getattr(holder, "state_dict", None)) and callable(getattr(holder, "load_state_dict", None))


def iterate(result: Any) -> Iterator[Any]:
    """An iterator over what may be asynchronous."""
    if hasattr(result, "__aiter__"):
        return _drive(result.__aiter__())
    if hasattr(result, "keys"):
        raise Misfit("", "returned a dict, not an iterable of samples: yield it, or return a list of it")
    try:
        return iter(result)
    except TypeError:
        raise Misfit("", f"returned {told(result)}, not an iterable of samples") from None


def _drive(source: Any) -> Iterator[Any]:
    loop = event_loop()
    try:
        while True:
            try:
                sample = loop.run_until_complete(source.__anext__())
            except StopAsyncIteration:
                return
            yield sample
    finally:
        if hasattr(source, "aclose"):
            loop.run_until_complete(source.aclose())


_loops: dict[int, Any] = {}


def event_loop() -> Any:
    """The event loop of this thread. It stays, since what the user's functions keep may belong to it."""
    import asyncio
    import threading

    thread = threading.get_ident()
    if thread not in _loops:
        _loops[thread] = asyncio.new_event_loop()
        asyncio.set_event_loop(_loops[thread])
    return _loops[thread]


def _load(setup: dict[str, Any], heap: Any) -> Any:
    if setup["pickle"] is not None:
        at, size = setup["pickle"]
        import pickle

        return pickle.loads(memoryview(heap)[at : at + size])
    module, _, name = setup["function"].partition(":")
    if not name:
        raise ValueError(f"{setup['function']!r} names no function: write module:function")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _code(function: Any) -> Any:
    """The code of a function, of a method, or of an object that can be called."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = code_of_call(function)
    return code


def _code_flags(function: Any) -> int:
    while hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        function = function.func
    code = _code(function)
    return code.co_flags if code is not None else 0


def _parameters(function: Any) -> list[str]:
    import inspect

    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # written in C
        return []


def generator_maker() -> Callable[[int, int], Any]:
    """What makes the generator of a sample: NumPy's Philox with the sample's key, from its beginning."""
    import numpy as np

    key = np.zeros(2, np.uint64)

    def make(low: int, high: int) -> Any:
        key[0], key[1] = low, high
        return np.random.Generator(np.random.Philox(key=key))

    return make


def _seeds(names: list[str] | None) -> list[Callable[[int, int], None]]:
    return [_seed(name) for name in names or ()]


def _seed(name: str) -> Callable[[int, int], None]:
    """What seeds a library's own generator with a sample's key."""
    if name == "random":
        import random

        return lambda low, high: random.seed(high << 64 | low)
    if name == "numpy":
        import numpy as np

        mask = 0xFFFFFFFF
        return lambda low, high: np.random.seed([low & mask, low >> 32, high & mask, high >> 32])
    if name == "torch":
        import torch

        def seed(low: int, high: int) -> None:
            torch.manual_seed(low ^ high)

        return seed
    raise ValueError(f"{name!r} is no generator that can be seeded: random, numpy, torch")

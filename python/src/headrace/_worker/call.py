"""The user's function, and how it is called for a pack of samples."""

from __future__ import annotations

import importlib
import json
import os
import sys
from itertools import repeat
from time import monotonic_ns

import numpy as np

from .._recipe.functions import takes_out
from .errors import Misfit, code_of_call
from .values import FULL, dtype_of, told, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

AS_FLUSH, OWN_SHARED, AS_FRESH = 8, 32, 64
_SEND_AFTER = 10_000_000  # ns that results wait at most while the next sample is in work
MOST_STATE = 1 << 20  # bytes
_AHEAD = 16  # samples of a stream that wait for the engine, which reckons with as many: aheadSamples in extern/pack.go
_GENERATES, _COROUTINE, _ASYNC_GENERATES = 0x20, 0x80, 0x200  # of a code's co_flags


class Callee:
    """A function or an object of the user's."""

    def __init__(self, setup: dict[str, Any], heap: Any) -> None:
        self.setup = setup
        self.kind: str = setup["kind"]
        self.collate = self.kind == "collate"
        self.seeds = _seeds(setup["seed"])
        self.object = _load(setup["function"], setup["pickle"], heap)
        self._again = self._maker(heap) if self.kind == "aggregate" else None
        self.name_of = _name_of(_load(setup["keys"], setup["keys_pickle"], heap)) if setup["keys"] else None
        if isinstance(self.object, type):
            self.object = self.object()  # set-up, once for each worker
        self._fresh = True  # nobody has used the object yet
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
        self.objects = any(f["kind"] == "object" for f in setup["in"])
        flags = _code_flags(target)
        self.is_async = bool(flags & _COROUTINE)
        self.takes_rng = self.kind not in ("index", "iterate") and "rng" in _parameters(target)
        self.flush_takes_rng = self.kind == "aggregate" and "rng" in _parameters(self.object.flush)
        self.random = self.takes_rng or self.flush_takes_rng or bool(self.seeds)
        self.takes_out = self._takes_out()
        # Coroutines of a pack run beside each other, unless a generator that all share is seeded for each.
        self.concurrent = self.is_async and self.kind in ("map", "filter") and not self.seeds
        if self.concurrent:
            setup["copy"] = True  # what several have changed in place cannot be done again
        import gc

        gc.freeze()  # what was imported stays, and need not be looked through again
        if "torch" in sys.modules and os.environ.get("OMP_NUM_THREADS") == "1":
            sys.modules["torch"].set_num_threads(1)

    def _takes_out(self) -> bool:
        """Whether the function is given memory for its results."""
        setup = self.setup
        signature = _signature(self.target)
        wants = signature and takes_out(signature, len(setup["in"]) if setup["positional"] else 1)
        if not wants or self.kind != "map":
            return False
        arrays = [f["name"] for f in setup["gives"] or () if f["kind"] == "tensor" and f.get("shape") and min(f["shape"]) >= 0]
        if wants == "must" and not arrays:
            what = "says nothing of what it gives" if setup["gives"] is None else "gives no array of which the shape is known"
            raise TypeError(f"{setup['function']} takes out, the memory for what it gives, and the step {what}: say it with gives")
        return bool(arrays)

    def close(self) -> None:
        """Have the user's object end."""
        close = getattr(self.object, "close", None)
        if callable(close) and not isinstance(self.object, type):
            close()

    def _maker(self, heap: Any) -> Callable[[], Any]:
        """What makes another object, as if nobody had used this one."""
        if isinstance(self.object, type):
            return self.object
        if self.setup["pickle"] is not None:
            return lambda: _load(self.setup["function"], self.setup["pickle"], heap)
        import copy

        pristine = copy.deepcopy(self.object)
        return lambda: copy.deepcopy(pristine)

    def renew(self) -> None:
        """Begin with a new object."""
        if not self._fresh and self._again is not None:
            self.close()
            self.object = self._again()
            self.target = self.object.accumulate
        self._fresh = False

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
        name_of = self.name_of
        if name_of and not writer.probing:
            writer.names = writer.names[:-1]  # the last one is the key
        values_of = values_of_result(self.setup, writer)
        keeps = self.kind == "filter"
        indexed = self.kind == "index"
        lend = self._lender(writer, True)
        obj = self.object

        def run(task: Any) -> None:
            rows: Any = zip(*task.columns) if task.columns else repeat((), task.items)
            each = task.flags & OWN_SHARED
            random = task.random
            tag = lane.tag
            sent = now = monotonic_ns()
            kwargs: dict[str, Any] = {}
            for item, row in enumerate(rows):
                if writer.status and (each or now - sent > _SEND_AFTER or writer.end > FULL):
                    writer.send(False)
                    sent = now
                if each:
                    lane.save(item)
                cell[1] = now
                cell[0] = tag + item + 1
                key = ""
                try:
                    if random is not None:
                        kwargs = prepare(random[2 * item], random[2 * item + 1])
                    if lend is not None:
                        kwargs["out"] = lend(item)
                    if name_of:
                        key = name_of(task.index[item])
                    result = obj[task.index[item]] if indexed else call(row, kwargs)
                    if keeps:
                        if result:
                            writer.status.append(0)
                        else:
                            writer.drop()
                    else:
                        values = values_of(result)
                        writer.add(item, [*values, key] if name_of and not writer.probing else values, row)
                except BaseException as e:
                    writer.fail(item, e, key)
                done = monotonic_ns()
                writer.took(done - now)
                now = done
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
        unpack = unpacked if self.objects else tuple
        keeps = self.kind == "filter"
        lend = self._lender(writer, False)

        async def call(row: Any, kwargs: dict[str, Any]) -> tuple[Any, BaseException | None]:
            try:
                row = unpack(row)
                return await (function(*row, **kwargs) if positional else function(dict(zip(names, row)), **kwargs)), None
            except BaseException as e:
                return None, e

        async def gather(task: Any) -> None:
            rows = list(zip(*task.columns)) if task.columns else [()] * task.items
            random = task.random
            loop = event_loop()
            sent = last = lane.working(0)
            share = 0  # of the time that all took who were not done
            calls = []
            for item, row in enumerate(rows):
                kwargs = prepare(random[2 * item], random[2 * item + 1]) if random is not None else {}
                if lend is not None:
                    kwargs["out"] = lend(item)
                calls.append(loop.create_task(call(row, kwargs)))
            for item, row in enumerate(rows):
                lane.cell[0] = lane.tag + item + 1  # since when is the same for all
                result, failed = await calls[item]
                now = monotonic_ns()
                share += (now - last) // (len(rows) - item)
                last = now
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
                writer.took(share)
            writer.send(True)

        return lambda task: event_loop().run_until_complete(gather(task))

    def _collate(self, lane: Any) -> Callable[[Any], None]:
        writer = lane.writer
        prepare = self._prepare()
        names = [f["name"] for f in self.setup["in"]]
        positional = self.setup["positional"]
        values_of = values_of_result(self.setup, writer)
        unpack = unpacked if self.objects else tuple

        def list_of(columns: Any) -> list[Any]:
            values = map(unpack, zip(*columns))
            if not positional:
                return [dict(zip(names, one)) for one in values]
            return [one[0] for one in values] if len(names) == 1 else list(values)

        def run(task: Any) -> None:
            lane.save(0)
            begun = lane.working(0)
            row: tuple[Any, ...] = (None,) * len(names)
            writer.kept([False] * len(names))
            try:
                kwargs = prepare(*task.random[:2]) if task.random is not None else {}
                result = self._wait(self.target(list_of(task.columns), **kwargs))
                writer.add(0, values_of(result), row)
            except BaseException as e:
                writer.fail(0, e)
            writer.took(monotonic_ns() - begun)
            writer.send(True)

        return run

    def _lender(self, writer: Any, one: bool) -> Callable[[int], Any] | None:
        """What makes `out` for a sample: arrays by field; of named fields the one array, or a tuple, with None for what is no array."""
        if not self.takes_out:
            return None
        to = targets_of(self.setup)

        def lend(item: int) -> Any:
            arrays = writer.lend(item, one)
            if to is None:
                return arrays
            return arrays[to[0]] if len(to) == 1 else tuple([arrays.get(name) for name in to])

        return lend

    def _caller(self) -> Callable[[Any, dict[str, Any]], Any]:
        """The function as it is given a sample's values."""
        function = self.target
        if self.is_async:
            inner, wait = function, self._wait

            def function(*args: Any, **kwargs: Any) -> Any:
                return wait(inner(*args, **kwargs))

        if self.setup["positional"]:
            if self.objects:
                return lambda row, kwargs: function(*unpacked(row), **kwargs)
            return lambda row, kwargs: function(*row, **kwargs)
        names = [f["name"] for f in self.setup["in"]]
        if self.objects:
            return lambda row, kwargs: function(dict(zip(names, unpacked(row))), **kwargs)
        return lambda row, kwargs: function(dict(zip(names, row)), **kwargs)

    def _wait(self, result: Any) -> Any:
        """The result of a coroutine."""
        if not self.is_async:
            return result
        return event_loop().run_until_complete(result)

    def _prepare(self) -> Callable[[int, int], dict[str, Any]]:
        """What is done about randomness before a sample: generators are seeded, and the function's own is made."""
        seeds = self.seeds
        make = generator_maker() if self.takes_rng or self.flush_takes_rng else None

        def prepare(low: int, high: int) -> dict[str, Any]:
            for seed in seeds:
                seed(low, high)
            return {"rng": make(low, high)} if make else {}

        return prepare


def targets_of(setup: dict[str, Any]) -> list[str] | None:
    """The fields that results make by their places; None: a result is a dict."""
    names = setup["positional"] and setup["kind"] != "aggregate"
    return setup["to"] or ([f["name"] for f in setup["in"]] if names else None)


def values_of_result(setup: dict[str, Any], writer: Any) -> Callable[[Any], Any]:
    """What makes values, in the order of the fields, of what a function returns."""
    names: list[str] = writer.names
    to = targets_of(setup)
    collates = setup["kind"] == "collate"  # whose result may be a dict in any case
    if collates and to and not writer.probing and set(to) != set(names):
        to = None
    what = "a batch" if collates else "a sample"
    named = setup["kind"] in ("index", "iterate")

    def of_dict(result: Any) -> Any:
        if type(result) is not dict:
            if not hasattr(result, "keys"):
                hint = "; did it forget to return?" if result is None else ""
                given = told(result)
                if setup["kind"] == "aggregate" and setup["positional"]:
                    hint = "; fields= names what it is given, not what it makes"
                if setup["kind"] in ("index", "iterate"):
                    several = isinstance(result, (tuple, list))
                    given = given.removesuffix(" (make it an array)")
                    hint = f"; fields= of source names {'its values' if several else 'such a value'}"
                raise Misfit("", f"returned {given}, not {what} (a dict of fields){hint}")
            result = dict(result)
        if named and "key" in names and "key" not in result and "__key__" in result:
            result = {**result, "key": result["__key__"]}  # as WebDataset calls its samples
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
            number = len(to) if isinstance(result, (tuple, list)) else f"{len(to)} values"
            raise Misfit("", f"returned {what}, not {number}: {', '.join(to)}")
        return result if order is None else [result[i] for i in order]

    def take(result: Any) -> Any:
        return of_dict(result) if hasattr(result, "keys") else of_values(result)

    if not writer.probing:
        return of_dict if not to else take if collates else of_values

    def probed(result: Any) -> Any:
        if to and not (collates and hasattr(result, "keys")):
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
        if named and "__key__" in found and "key" not in found:
            found, values = [*found, "key"], [*values, result["__key__"]]
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
        lane.save(0)
        begun = lane.working(0)
        iterator = None
        try:
            iterator = self._begin(task, row)
            while True:
                lane.working(item)
                self._seed(task, item)
                try:
                    sample = next(iterator)
                except StopIteration:
                    break
                values = self.values_of(sample)
                if self.states and self.callee.kind == "iterate" and not writer.probing:
                    values = [*values, self._state()]
                writer.add(item, values, row)
                item += 1
                writer.took(monotonic_ns() - begun)
                more = self._pass_on()
                begun = monotonic_ns()
                if not more:
                    iterator.close() if hasattr(iterator, "close") else None
                    break
        except BaseException as e:
            writer.fail(item, e)
        state = None
        if self.states and self.callee.kind == "aggregate" and item and _is_stateful(self.callee.object):
            lane.working(item)
            try:
                state = self._state_of(self.callee.object)
            except BaseException as e:
                writer.fail(item, e)
                writer.failures[-1]["ends"] = True
        writer.rest = lane.working(item) - begun
        writer.send(True, state)
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

    def _seed(self, task: Any, item: int) -> None:
        """Seed the global generators for a sample of a source."""
        if self.callee.kind == "iterate":
            for seed in self.callee.seeds:
                low, high = task.random[:2]
                seed(low, high + item & 0xFFFFFFFFFFFFFFFF)

    def _begin(self, task: Any, row: tuple[Any, ...]) -> Iterator[Any]:
        callee, setup = self.callee, self.setup
        row = unpacked(row)
        kwargs = self.prepare(*task.random[:2]) if task.random is not None else {}
        if callee.kind == "iterate":
            return self._source(task.index[0], task.state)
        if callee.kind == "aggregate":
            return self._aggregate(task, row, kwargs)
        result = callee.target(*row, **kwargs) if setup["positional"] else callee.target(dict(zip(self.names, row)), **kwargs)
        if callee.is_async:
            result = event_loop().run_until_complete(result)
        if result is None:
            return iter(())
        return iterate(result)

    def _aggregate(self, task: Any, row: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
        """What an object that gathers samples gives for one more, or for the end."""
        callee = self.callee
        if task.flags & AS_FRESH:
            callee.renew()
            if task.state is not None:
                if not _is_stateful(callee.object):
                    raise TypeError(
                        f"{self.setup['function']} had a state_dict() when the state was saved, and has no load_state_dict() now"
                    )
                callee.object.load_state_dict(state_loads(task.state))
        if task.flags & AS_FLUSH:
            result = callee.object.flush(**(kwargs if callee.flush_takes_rng else {}))
        else:
            if not callee.takes_rng:
                kwargs = {}
            result = callee.target(*row, **kwargs) if self.setup["positional"] else callee.target(dict(zip(self.names, row)), **kwargs)
        if hasattr(result, "__await__"):
            result = event_loop().run_until_complete(result)
        if result is None:
            return iter(())
        return iter((result,)) if hasattr(result, "keys") else iterate(result)

    def _source(self, epoch: int, state: bytes | None) -> Iterator[Any]:
        """An epoch of a source, from its beginning, or from where it had this state."""
        made = self.callee.object
        if hasattr(made, "set_epoch"):
            made.set_epoch(epoch)
        self.stateful = made if _is_stateful(made) else None
        if state is not None and self.stateful is not None:
            made.load_state_dict(state_loads(state))
            state = None
        source = self._called(made)
        iterator = iterate(source)
        if self.stateful is None:
            holders: tuple[Any, ...] = (source, iterator)
            self.stateful = next(filter(_is_stateful, holders), None)
            if state is not None and self.stateful is not None:
                self.stateful.load_state_dict(state_loads(state))
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
        return "" if self.stateful is None else self._state_of(self.stateful)

    def _state_of(self, holder: Any) -> str:
        state = holder.state_dict()
        try:
            state = state_dumps(state)
        except (TypeError, ValueError) as e:
            raise TypeError(f"state_dict() of {self.setup['function']} is to be plain JSON, arrays of NumPy and bytes: {e}") from None
        if len(state) > MOST_STATE:
            raise ValueError(
                f"state_dict() of {self.setup['function']} has {len(state)} bytes as JSON: at most {MOST_STATE} travel with each sample"
            )
        return state


_SPECIAL = "\0headrace"  # the key of what JSON does not know


def state_dumps(state: Any) -> str:
    """A state as JSON, with arrays of NumPy and bytes in it."""
    import base64

    def special(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray) and (value.dtype.name == "bfloat16" or value.dtype.kind in "biuf"):
            data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {_SPECIAL: [value.dtype.name, list(value.shape), data]}
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {_SPECIAL: base64.b64encode(value).decode()}
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    return json.dumps(state, default=special, allow_nan=False)


def state_loads(text: bytes) -> Any:
    """What state_dumps was given."""
    import base64

    def special(value: dict[str, Any]) -> Any:
        made = value.get(_SPECIAL)
        if made is None:
            return value
        if isinstance(made, str):
            return base64.b64decode(made)
        name, shape, data = made
        return np.frombuffer(base64.b64decode(data), dtype_of(name)).reshape(shape).copy()

    return json.loads(text, object_hook=special)


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


def _load(function: str, pickled: list[int] | None, heap: Any) -> Any:
    if pickled is not None:
        at, size = pickled
        import pickle

        return pickle.loads(memoryview(heap)[at : at + size])
    module, _, name = function.partition(":")
    if not name:
        raise ValueError(f"{function!r} names no function: write module:function")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _name_of(keys: Any) -> Callable[[int], str]:
    """What tells a sample's name by its number."""
    find = keys if callable(keys) else keys.__getitem__

    def name(index: int) -> str:
        found = find(index)
        if not isinstance(found, (str, bytes, os.PathLike)):
            raise Misfit("key", f"keys has {told(found)} as the name of sample {index}: takes text")
        return found if type(found) is str else os.fsdecode(found)

    return name


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
    signature = _signature(function)
    return list(signature.parameters) if signature else []


def _signature(function: Any) -> Any:
    """The signature of a function; None: it is written in C, and says nothing."""
    import inspect

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def generator_maker() -> Callable[[int, int], Any]:
    """What makes the generator of a sample: NumPy's Philox with the sample's key, from its beginning."""
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
        mask = 0xFFFFFFFF
        # The last word is there because `random` makes of the same words the same numbers.
        return lambda low, high: np.random.seed([low & mask, low >> 32, high & mask, high >> 32, 1])
    if name == "torch":
        import torch

        def seed(low: int, high: int) -> None:
            torch.manual_seed(low ^ high)

        return seed
    raise ValueError(f"{name!r} is no generator that can be seeded: random, numpy, torch")

"""Calls that give any number of samples: generators, sources, aggregators."""

from __future__ import annotations

from time import monotonic_ns

from .._recipe.hooks import Call
from . import state as states
from .event_loop import event_loop, iterate
from .frames import AS_FLUSH, AS_FRESH, HEAP_SPACE
from .held_back import HeldBack
from .reader import unpacked
from .results import values_of_result
from .source import Source
from .writer import FULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task

_QUICK = 100_000  # nanoseconds for a sample
_AHEAD = 16  # samples of a stream that wait for the engine, which reckons with as many: aheadSamples in extern/pack.go


class Streams:
    """What gives any number of samples: generators, sources, aggregators."""

    def __init__(self, callee: Callee, lane: Lane) -> None:
        self.callee = callee
        self.lane = lane
        self.setup = callee.setup
        self.names = [f["name"] for f in self.setup["in"]]
        self.states = self.setup["states"]
        self.source = Source(callee, self) if callee.kind == "iterate" else None
        self.prepare = callee.prepare()
        writer = lane.writer
        if callee.kind == "iterate" and self.states and not writer.probing:
            writer.names = writer.names[:-1]  # the last one is the state
        self.values_of = values_of_result(self.setup, writer)
        self.held_back = HeldBack(lane.engine, self._send)
        self.entered = False  # a sample's epoch
        self.waited = 0  # nanoseconds for memory, of the sample in work
        self.in_row = False  # it is in the row of a batch
        writer.room = self._room

    def run(self, task: Task) -> None:
        lane, writer = self.lane, self.lane.writer
        row = tuple(column[0] for column in task.columns)
        writer.kept([False] * len(self.names))  # samples that come of one share nothing
        item = 0
        lane.save(0)
        begun = lane.working(0)
        iterator = None
        try:
            iterator = _Iterator(self, task, row)
            while True:
                lane.working(item)
                with self.held_back:
                    sample = iterator.next(item)
                if sample is _END:
                    break
                values = self.values_of(sample)
                if self.states and self.callee.kind == "iterate" and not writer.probing:
                    values = [*values, self._state(task, values)]
                writer.add(item, values, row)
                item += 1
                took = monotonic_ns() - begun - self.waited
                self.waited = 0
                writer.took(took)
                more = self._pass_on(took < _QUICK)
                begun = monotonic_ns()
                if not more:
                    iterator.close()
                    break
        except BaseException as e:
            writer.fail(item, e)
        if self.entered:
            callee_epochs = self.callee.epochs
            assert callee_epochs is not None
            self.entered = False
            callee_epochs.leave()
        state = None
        if self.states and self.callee.kind == "aggregate" and item and states.is_stateful(self.callee.object):
            lane.working(item)
            try:
                state = self._state_of(self.callee.object)
            except BaseException as e:
                writer.fail(item, e)
                writer.failures[-1]["ends"] = True
        writer.rest = lane.working(item) - begun
        writer.send(True, state)
        self.held_back.sent()
        lane.resting()  # the engine may be long in taking it

    def _pass_on(self, quick: bool) -> bool:
        """Send what is ready where the engine takes it; wait where too much is. False: the engine wants no more.

        Of an iterator that is quick more is sent at once: a message costs as much as some dozen samples. But not of what is in rooms:
        the engine may have no room for a second sample before it has the first.
        """
        engine, writer = self.lane.engine, self.lane.writer
        in_row, self.in_row = self.in_row, False
        if engine.one_by_one and not writer.probing:
            self._send()
            self.lane.resting()
            return engine.pull()
        may_wait = not in_row and not engine.stopped and not writer.probing and len(writer.status) < _AHEAD and writer.end <= FULL
        if may_wait and ((quick and not writer.in_rooms) or (engine.credit <= 0 and not engine.pulled_now())):
            self.held_back.hold()
            return True
        if engine.credit <= 0:
            self.lane.resting()
            if not engine.pull():
                return False
        if engine.stopped:  # which pulled_now() may have learned
            return False
        self._send()
        return True

    def _room(self, item: int, field: int, size: int) -> int:
        """Memory for a result. It may be in the row of a batch, for which the engine waits: no sample is in work meanwhile."""
        begun = monotonic_ns()
        self.lane.resting()
        place = self.lane.engine.room(item, field, size)
        self.in_row = self.in_row or place >> 48 != HEAP_SPACE
        self.waited += self.lane.working(item) - begun
        return place

    def _send(self) -> None:
        self.lane.writer.send(False)
        self.lane.engine.credit -= 1
        self.held_back.sent()

    def begin(self, task: Task, row: tuple[Any, ...]) -> Iterator[Any]:
        """An iterator over the samples that a call gives."""
        callee, setup = self.callee, self.setup
        if callee.kind == "aggregate":
            callee.turn_to(0 if task.index is None else task.index[0])
            if task.flags & AS_FRESH:
                callee.renew()
        if callee.epochs is not None and task.epochs is not None:
            callee.epochs.enter(task.epochs[0])
            self.entered = True
        kwargs = self.prepare(*task.random[:2]) if task.random is not None else {}
        if callee.kind == "iterate":
            assert self.source is not None
            return self.source.begin(task)
        if callee.kind == "aggregate":
            return self._aggregate(task, row, kwargs)
        result = callee.target(*row, **kwargs) if setup["positional"] else callee.target(callee.sample_of(row), **kwargs)
        if callee.is_async:
            result = event_loop().run_until_complete(result)
        if result is None:
            return iter(())
        return iterate(result)

    def seed(self, task: Task, item: int) -> None:
        """Seed the global generators for a sample of a source."""
        for seed in self.callee.seeds:
            low, high = task.random[:2]
            seed(low, high + item & 0xFFFFFFFFFFFFFFFF)

    def _aggregate(self, task: Task, row: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
        """What an object that gathers samples gives for one more, or for the end."""
        callee = self.callee
        if task.flags & AS_FRESH and task.state is not None:
            if not states.is_stateful(callee.object):
                raise TypeError(f"{self.setup['function']} had a state_dict() when the state was saved, and has no load_state_dict() now")
            callee.object.load_state_dict(states.loads(task.state))
        if task.flags & AS_FLUSH:
            result = callee.object.flush(**(kwargs if callee.flush_takes_rng else {}))
        else:
            if not callee.takes_rng:
                kwargs = {}
            result = callee.target(*row, **kwargs) if self.setup["positional"] else callee.target(callee.sample_of(row), **kwargs)
        if hasattr(result, "__await__"):
            result = event_loop().run_until_complete(result)
        if result is None:
            return iter(())
        return iter((result,)) if hasattr(result, "keys") else iterate(result)

    def _state(self, task: Task, values: Any) -> str:
        """Where a source is after a sample, as JSON; empty: it has no state."""
        assert self.source is not None
        return self.source.after(task, values)

    def _state_of(self, holder: Any) -> str:
        state = holder.state_dict()
        try:
            state = states.dumps(state)
        except (TypeError, ValueError) as e:
            raise TypeError(f"state_dict() of {self.setup['function']} must be plain JSON, arrays, tensors and bytes: {e}") from None
        if len(state) > states.MOST_STATE:
            what = f"state_dict() of {self.setup['function']} has {len(state)} bytes as JSON"
            raise ValueError(f"{what}: at most {states.MOST_STATE} travel with each sample")
        return state


_END = object()


class _Iterator:
    """What a call gives, with the hooks around each step to the next sample; the first one is the call, too."""

    def __init__(self, streams: Streams, task: Task, row: tuple[Any, ...]) -> None:
        self._streams, self._task, self._row = streams, task, unpacked(row)
        callee = streams.callee
        self._seeds = callee.kind == "iterate" and bool(callee.seeds)
        self._iterator: Iterator[Any] | None = None
        if callee.hooks is not None:
            self.next = self._hooked  # type: ignore[method-assign]

    def next(self, item: int) -> Any:
        """The next sample, or _END."""
        if self._iterator is None:
            self._iterator = self._streams.begin(self._task, self._row)
        if self._seeds:
            self._streams.seed(self._task, item)
        return next(self._iterator, _END)

    def _hooked(self, item: int) -> Any:
        callee, row = self._streams.callee, self._row
        given = row if callee.setup["positional"] or not row else (callee.sample_of(row),)
        ended = False

        def step() -> Any:
            nonlocal ended
            sample = _Iterator.next(self, item)
            ended = sample is _END
            return None if ended else sample

        assert callee.hooks is not None
        sample = callee.hooks.do(Call(callee.step, given), step)
        return _END if ended else sample

    def close(self) -> None:
        """End it early."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()

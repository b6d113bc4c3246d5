"""Quick calls for samples of which the engine has sent only the numbers: what is done around a call is done around several."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple

from . import log
from .frames import DONE
from .getitems import several_of
from .writer import FULL, SEND_AFTER, TOOK

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task
    from .long_calls import LongCalls
    from .writer import Writer

_SHORT = 500_000  # ns that a burst should take
_MOST = 64  # samples of a burst


class Step(NamedTuple):
    """A function, as a burst calls it."""

    stage: str
    call: Callable[[Any], Any]
    accept: Callable[[Any, Any], Any] | None  # makes what the next one is given of what it was given, and of its result; None: that is it


class Bursts:
    """What works on packs of one function, or of a chain of them.

    Nothing is added to the results while a function may be at work, since what is there is handed on if that takes long.
    """

    def __init__(
        self, callee: Callee, lane: Lane, long_calls: LongCalls, steps: list[Step], fail: Callable[[int, Any, int, Any], None]
    ) -> None:
        """`fail` adds a sample that has failed in a step; if it has gone through all, what they gave is not what they are to give."""
        self._lane, self._long_calls, self._fail = lane, long_calls, fail
        self._steps = [(at, *step) for at, step in enumerate(steps)]
        self._several = several_of(callee, lane.writer)
        self._voice = log.Voice()
        self._size = 1  # samples that a burst had last

    def run(self, task: Task) -> None:
        """Work on a pack."""
        with log.speaking_for(self._voice):
            self._run(task, list(zip(*task.columns, task.index)) if task.columns else task.index)

    def _run(self, task: Task, samples: list[Any]) -> None:
        lane, long_calls = self._lane, self._long_calls
        writer, cell = lane.writer, lane.cell
        end, tag = task.items, lane.tag
        writer.kept([False] * len(task.columns))  # results are copied, those too that are what came
        long_calls.begin(end)
        steps = self._begin(task.index)
        keep, add = _keeper(writer)
        first, size = 0, self._size
        sent = now = monotonic_ns()
        while first < end and first < long_calls.end:
            if writer.status and (now - sent > SEND_AFTER or writer.end > FULL):
                writer.send(False)
                sent = now
            last = min(first + size, end)
            cell[1] = now
            cell[0] = tag + first + 1
            made: list[Any] = []
            spent = [0] * len(steps)  # by the first one: the time of all is divided so
            at, value, failed = 0, None, None
            long_calls.enter(last - 1, last - first)
            try:
                began, value = now, samples[first]
                for at, stage, call, accept in steps:
                    self._voice.stage = stage
                    result = call(value)
                    value = result if accept is None else accept(value, result)
                    after = monotonic_ns()
                    spent[at] = after - began
                    began = after
                at = len(steps)
                made.append(keep(value))
                self._rest(samples[first + 1 : last], steps, keep, made)
            except _Failed as e:
                at, value, failed = e.at, e.value, e.why
            except BaseException as e:
                failed = e
            long_calls.leave()
            good = len(made)
            add(made)
            if failed is not None:
                self._fail(first + good, failed, at, value)
                last = first + good + 1
            result = value = failed = None  # memory that is not there beside the next results
            done = monotonic_ns()
            took = done - now
            self._count(last - first, good, at, took, spent)
            if took > _SHORT:
                size = max(1, size // 2)
            elif 2 * took < _SHORT:
                size = min(2 * size, _MOST)
            first, now = last, done
        self._size = size
        writer.send(True)

    def _begin(self, numbers: list[int]) -> list[Any]:
        """The steps for these samples, of which the first may give all at once."""
        if self._several is None:
            return self._steps
        self._lane.working(0)
        self._voice.stage = self._steps[0][1]
        self._long_calls.enter(len(numbers) - 1)  # none of them goes back
        made = self._several(numbers)
        self._long_calls.leave()
        if made is None:
            return self._steps
        given = iter(made)
        at, stage, _, accept = self._steps[0]
        return [(at, stage, lambda _: next(given), accept), *self._steps[1:]]

    def _rest(self, samples: list[Any], steps: list[Any], keep: Callable[[Any], Any], made: list[Any]) -> None:
        """Have samples go through the functions."""
        voice = self._voice
        at, value = 0, None
        try:
            for given in samples:
                value = given
                for step in steps:
                    at, stage, call, accept = step
                    voice.stage = stage
                    result = call(value)
                    value = result if accept is None else accept(value, result)
                at = len(steps)
                made.append(keep(value))
        except BaseException as e:
            raise _Failed(e, at, value) from None

    def _count(self, count: int, good: int, at: int, took: int, spent: list[int]) -> None:
        """Say how long the last samples were in work, and of a chain how often its functions were called."""
        writer = self._lane.writer
        each = took // count << TOOK
        status, counts = writer.status, writer.counts
        for k in range(len(status) - count, len(status)):
            status[k] += each
        whole = sum(spent) or 1
        for k in range(len(counts) // 2):
            counts[2 * k] += count if k <= at else good
            counts[2 * k + 1] += took * spent[k] // whole


class _Failed(Exception):
    """Why a sample has failed, and in which step."""

    def __init__(self, why: BaseException, at: int, value: Any) -> None:
        self.why, self.at, self.value = why, at, value


def _keeper(writer: Writer) -> tuple[Callable[[Any], Any], Callable[[list[Any]], None]]:
    """What makes lasting values of what is left of a sample, whatever the next calls do, and what adds those of several samples."""
    columns = writer.columns
    keeps = [c.keeper() for c in columns]
    if None in keeps:
        keeps = [c.lasting for c in columns]
        return lambda values: [keep(value) for keep, value in zip(keeps, values)], partial(_add_each, writer)
    if len(columns) == 1:
        (keep,) = keeps

        def add_values(made: list[Any]) -> None:
            columns[0].extend(len(writer.status), made)
            writer.status += [DONE] * len(made)

        return lambda values: keep(*values), add_values

    def add_columns(made: list[Any]) -> None:
        first = len(writer.status)
        for c, values in zip(columns, zip(*made)):
            c.extend(first, values)
        writer.status += [DONE] * len(made)

    if len(columns) == 2:
        first, second = keeps
        return lambda values: (first(values[0]), second(values[1])), add_columns
    return lambda values: [keep(value) for keep, value in zip(keeps, values)], add_columns


def _add_each(writer: Writer, made: list[Any]) -> None:
    for values in made:
        writer.add(len(writer.status), values, ())

"""Chains whose samples are one value: what is left of one on its way is that value, and no dict of fields."""

from __future__ import annotations

from time import monotonic_ns

from .._batch.lazy_numpy import np
from .._recipe.functions import BARE
from .bursts import Step
from .columns import taker
from .frames import DONE
from .getitems import several_of
from .long_calls import LongCalls
from .results import is_bare
from .writer import FULL, SEND_AFTER, TOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .chain import Link, Run
    from .lane import Lane, Task
    from .log import Voice

_MEASURED = 8  # of so many samples of a pack one tells how the time of all is divided among the functions


def single(it: Run, lane: Lane, voice: Voice, long_calls: LongCalls) -> Callable[[Task], None] | None:
    """What works on a pack; None: the chain's samples are more than a value, or its functions take more."""
    name = _name(it)
    if name is None or it.chain.gates or it.writer.probing or it.writer.names != [name]:
        return None
    if not all(_takes(link, name) for link in it.links):
        return None
    writer, cell = lane.writer, lane.cell
    steps = [(link.at, link.step, link.function, _accepts(link), link.same, link.keeps) for link in it.links]
    reads, last = it.links[0].reads, it.links[-1].at
    several_at_once = several_of(it.links[0].callee, writer)
    enter, leave = long_calls.enter, long_calls.leave

    def run(task: Task) -> None:
        it.begin()
        only = it.only
        tag = lane.tag
        sent = now = monotonic_ns()
        several = task.items > 1
        if several:
            long_calls.begin(task.items)
        spent = [0] * len(steps)  # of the samples that are measured
        whole = total = 0  # samples that went through all functions since results were sent, and their time
        value: Any
        inputs = task.index if reads else task.columns[0]
        made = None
        if several and several_at_once is not None:
            lane.working(0)
            cell[2] = 0
            voice.stage = steps[0][1]
            enter(task.items - 1)  # none of them goes back
            made = several_at_once(inputs)
            leave()
        for item, given in enumerate(inputs):
            if several and item == long_calls.end:
                break
            if writer.status and (now - sent > SEND_AFTER or writer.end > FULL):
                _count(writer.counts, whole, total, spent)
                whole = total = 0
                writer.send(False)
                sent = now
            cell[1] = now
            cell[0] = tag + item + 1
            value, at, kept = given, 0, True
            measured = not item % _MEASURED
            failed: BaseException | None = None
            if several:
                enter(item)
            try:
                began = now
                for at, step, function, accept, same, keeps in steps:
                    cell[2] = at
                    voice.stage = step
                    result = made[item] if made is not None and at == 0 else function(value)
                    if keeps:
                        kept = bool(result)
                    elif accept is not None and not (same and result is value):
                        value = accept(result)
                    else:
                        value = result
                    if measured:
                        after = monotonic_ns()
                        spent[at] += after - began
                        began = after
                    if not kept:
                        break
            except BaseException as e:
                failed = e
            if several:
                leave()
            if failed is not None:
                link = it.links[at]
                it.fail(item, link.reason(failed, {name: value}), link)
            elif not kept:
                writer.drop()
            elif only is not None and type(value) is np.ndarray and value.dtype == only.dtype and value.shape == only.shape:
                only.rows.append(value.tobytes())
                writer.status.append(DONE)
            else:
                try:
                    it.add(item, {name: value}, (given,))
                except BaseException as e:
                    it.fail(item, e, None)
            result = value = failed = None  # memory that is not there beside the next result
            done = monotonic_ns()
            took = done - now
            writer.status[-1] += took << TOOK
            if at == last:
                whole += 1
                total += took
            else:  # it ended on its way
                for k in range(at + 1):
                    writer.counts[2 * k] += 1
                writer.counts[2 * at + 1] += took
            now = done
        _count(writer.counts, whole, total, spent)
        writer.send(True)

    return run


def singles(it: Run) -> list[Step] | None:
    """The functions of a chain whose samples are one value, or a tuple at its end; None: they are more, or its functions take more."""
    name = _name(it)
    *links, last = it.links
    tuples = last.gives_tuple and last.plain and name == BARE
    if name is None or not all(_takes(link, name) for link in (links if tuples else it.links)):
        return None
    if it.writer.names != (last.names_given if tuples else [name]):
        return None
    steps = [Step(link.step, link.function, _taker(link)) for link in links]
    if tuples:
        values = last.values
        return [*steps, Step(last.step, last.function, lambda given, result: values(result))]
    accept = _taker(last)
    return [*steps, Step(last.step, last.function, lambda given, result: (result if accept is None else accept(given, result),))]


def _taker(link: Link) -> Callable[[Any, Any], Any] | None:
    accept = _accepts(link)
    if accept is None:
        return None
    if link.same:
        return lambda given, result: given if result is given else accept(result)
    return lambda given, result: accept(result)


def _count(counts: list[int], whole: int, total: int, spent: list[int]) -> None:
    """Count calls, and divide their time as that of the samples that were measured."""
    measured = sum(spent) or 1
    for k, one in enumerate(spent):
        counts[2 * k] += whole
        counts[2 * k + 1] += total * one // measured


def _name(it: Run) -> str | None:
    """The field of the value; None: there are several."""
    if len(it.names) != 1:
        return None
    first = it.links[0]
    if not first.reads:
        return it.names[0]
    gives = first.callee.setup["gives"]
    return gives[0]["name"] if gives is not None and len(gives) == 1 else None


def _takes(link: Link, name: str) -> bool:
    """Whether a function is given the value alone, and gives one."""
    if not link.plain:
        return False
    if link.reads:
        return True
    if link.fields is None:
        return name == BARE and (link.keeps or is_bare(link.callee.setup["gives"] or []))
    return link.fields == [name] and (link.keeps or link.to == [name])


def _accepts(link: Link) -> Callable[[Any], Any] | None:
    """What takes a result, if it is not what was given; None: it may be anything."""
    if link.keeps:
        return None
    if not link.reads:
        (name,) = link.to or [BARE]
        check = dict(link.checks).get(name)
        if check is None:
            return None

        def checked(result: Any) -> Any:
            check(result)
            return result

        return checked
    gives = link.callee.setup["gives"]
    take: Callable[[Any], Any] = taker(gives[0], gives)
    if link.fields is not None or is_bare(gives):
        return take
    name, accept = gives[0]["name"], link.accept

    def of_dict(result: Any) -> Any:
        if type(result) is dict and len(result) == 1 and name in result:
            return take(result[name])
        left = accept({}, result)
        assert left is not None
        return left[name]

    return of_dict

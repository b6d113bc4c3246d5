"""Sample after sample: map, filter, index."""

from __future__ import annotations

from itertools import repeat
from time import monotonic_ns

from .bursts import Bursts, Step
from .frames import AS_RUN, OWN_SHARED
from .getitems import several_of
from .long_calls import LongCalls
from .results import values_of_result
from .writer import FULL, SEND_AFTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task


def items(callee: Callee, lane: Lane) -> Callable[[Task], None]:
    """Sample by sample: map, filter, index."""
    setup, writer, cell = callee.setup, lane.writer, lane.cell
    prepare = callee.prepare()
    call = callee.caller()
    name_of = callee.name_of
    if name_of and not writer.probing:
        writer.names = writer.names[:-1]  # the last one is the key
    values_of = values_of_result(setup, writer)
    keeps = callee.kind == "filter"
    indexed = callee.kind == "index"
    lend = callee.lender(writer, True)
    get = callee.getter() if indexed else None
    several_at_once = several_of(callee, writer)
    gate: Any = callee.epochs
    long_calls = LongCalls(writer)
    enter, leave = long_calls.enter, long_calls.leave
    of_numbers = None
    if indexed and not (writer.probing or name_of or lend is not None or gate is not None):
        steps = [Step(callee.step, callee.getter(), lambda number, result: values_of(result))]
        of_numbers = Bursts(callee, lane, long_calls, steps, lambda item, e, at, value: writer.fail(item, e))

    def run(task: Task) -> None:
        if task.flags & AS_RUN and of_numbers is not None:
            of_numbers.run(task)
            return
        rows: Any = zip(*task.columns) if task.columns else repeat((), task.items)
        each = task.flags & OWN_SHARED
        random = task.random
        tag = lane.tag
        sent = now = monotonic_ns()
        kwargs: dict[str, Any] = {}
        several = task.items > 1
        if several:
            long_calls.begin(task.items)
        made = None
        if several and several_at_once is not None:
            lane.working(0)
            enter(task.items - 1)  # none of them goes back
            made = several_at_once(task.index)
            leave()
        for item, row in enumerate(rows):
            if several and item == long_calls.end:
                break
            if writer.status and (each or now - sent > SEND_AFTER or writer.end > FULL):
                writer.send(False)
                sent = now
            if each:
                lane.save(item)
            cell[1] = now
            cell[0] = tag + item + 1
            key = ""
            entered = False
            try:
                if gate is not None and task.epochs is not None:
                    gate.enter(task.epochs[item])
                    entered = True
                if random is not None:
                    kwargs = prepare(random[2 * item], random[2 * item + 1])
                if lend is not None:
                    kwargs["out"] = lend(item)
                if name_of:
                    key = name_of(task.index[item])
                if several:
                    enter(item)
                try:
                    if made is not None:
                        result = made[item]
                    elif get is not None:
                        result = get(task.index[item], **kwargs)
                    else:
                        result = call(row, kwargs)
                finally:
                    if several:
                        leave()
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
            finally:
                if entered:
                    gate.leave()
            result = values = None  # memory that is not there beside the next result
            done = monotonic_ns()
            writer.took(done - now)
            now = done
        writer.send(True)

    return run

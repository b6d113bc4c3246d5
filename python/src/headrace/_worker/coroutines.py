"""Coroutines: many run at once."""

from __future__ import annotations

from time import monotonic_ns

from .in_flight import Call
from .overdue import within
from .reader import unpacked
from .results import values_of_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task


def coroutines(callee: Callee, lane: Lane) -> Callable[[Task], None]:
    """Begins the call of a pack's one sample. Its result goes when it is done."""
    assert lane.start is not None
    setup, start, writer = callee.setup, lane.start, lane.writer
    prepare = callee.prepare()
    function = callee.target
    positional = setup["positional"]
    values_of = values_of_result(setup, writer)
    unpack = unpacked if callee.objects else tuple
    keeps = callee.kind == "filter"
    lend = callee.lender(writer, False)
    limit = setup["limit"]

    gate = callee.epochs

    async def run(own: Call, row: Any, kwargs: dict[str, Any], epoch: int | None) -> None:
        result = failed = None
        began = monotonic_ns()
        entered = False
        try:
            if gate is not None and epoch is not None:
                await gate.enter_beside(epoch)
                entered, began = True, monotonic_ns()
            row = unpack(row)
            call = function(*row, **kwargs) if positional else function(callee.sample_of(row), **kwargs)
            result = await (within(limit, call) if limit else call)
        except BaseException as e:
            failed = e
        if gate is not None and entered:
            gate.leave()
        took = monotonic_ns() - began
        own.resume()
        try:
            if failed is not None:
                raise failed
            if not keeps:
                writer.add(0, values_of(result), row)
            elif result:
                writer.status.append(0)
            else:
                writer.drop()
        except BaseException as e:
            writer.fail(0, e)
        writer.took(took)
        writer.send(True)

    def begin(task: Task) -> None:
        row = next(zip(*task.columns)) if task.columns else ()
        random = task.random
        lane.working(0)
        kwargs = prepare(random[0], random[1]) if random is not None else {}
        if lend is not None:
            kwargs["out"] = lend(0)
        start(run(Call(lane), row, kwargs, None if task.epochs is None else task.epochs[0]))

    return begin

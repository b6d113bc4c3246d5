"""Coroutines of a pack's samples, beside each other."""

from __future__ import annotations

from time import monotonic_ns

from .event_loop import event_loop
from .overdue import within
from .reader import unpacked
from .results import values_of_result
from .writer import FULL, SEND_AFTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task


def coroutines(callee: Callee, lane: Lane) -> Callable[[Task], None]:
    """All samples of a pack beside each other; results go in their order."""
    setup, writer = callee.setup, lane.writer
    prepare = callee.prepare()
    function = callee.target
    positional = setup["positional"]
    values_of = values_of_result(setup, writer)
    unpack = unpacked if callee.objects else tuple
    keeps = callee.kind == "filter"
    lend = callee.lender(writer, False)
    limit = setup["limit"]

    async def call(row: Any, kwargs: dict[str, Any]) -> tuple[Any, BaseException | None, int]:
        began = monotonic_ns()
        result = failed = None
        try:
            row = unpack(row)
            result = await within(limit, function(*row, **kwargs) if positional else function(callee.sample_of(row), **kwargs))
        except BaseException as e:
            failed = e
        return result, failed, monotonic_ns() - began

    async def gather(task: Task) -> None:
        rows = list(zip(*task.columns)) if task.columns else [()] * task.items
        random = task.random
        loop = event_loop()
        sent = lane.working(0)
        calls = []
        for item, row in enumerate(rows):
            kwargs = prepare(random[2 * item], random[2 * item + 1]) if random is not None else {}
            if lend is not None:
                kwargs["out"] = lend(item)
            calls.append(loop.create_task(call(row, kwargs)))
        for item, row in enumerate(rows):
            lane.cell[0] = lane.tag + item + 1  # since when is the same for all
            result, failed, took = await calls[item]
            now = monotonic_ns()
            if writer.status and (now - sent > SEND_AFTER or writer.end > FULL):
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
            writer.took(took)
        writer.send(True)

    return lambda task: event_loop().run_until_complete(gather(task))

"""A whole batch in one call."""

from __future__ import annotations

from time import monotonic_ns

from .reader import unpacked
from .results import values_of_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .lane import Lane, Task


def collate(callee: Callee, lane: Lane) -> Callable[[Task], None]:
    """All samples of a batch in one call."""
    setup, writer = callee.setup, lane.writer
    prepare = callee.prepare()
    names = [f["name"] for f in setup["in"]]
    positional = setup["positional"]
    values_of = values_of_result(setup, writer)
    unpack = unpacked if callee.objects else tuple
    gate: Any = callee.epochs

    def list_of(columns: Any) -> list[Any]:
        values = map(unpack, zip(*columns))
        if not positional:
            return list(map(callee.sample_of, values))
        return [one[0] for one in values] if len(names) == 1 else list(values)

    def run(task: Task) -> None:
        lane.save(0)
        begun = lane.working(0)
        row: tuple[Any, ...] = (None,) * len(names)
        writer.kept([False] * len(names))
        entered = False
        try:
            if gate is not None and task.epochs is not None:
                gate.enter(task.epochs[0])
                entered = True
            kwargs = prepare(*task.random[:2]) if task.random is not None else {}
            result = callee.wait(callee.target(list_of(task.columns), **kwargs))
            writer.add(0, values_of(result), row)
        except BaseException as e:
            writer.fail(0, e)
        finally:
            if entered:
                gate.leave()
        writer.took(monotonic_ns() - begun)
        writer.send(True)

    return run

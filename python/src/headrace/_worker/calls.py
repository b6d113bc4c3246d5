"""How the function is called, by the kind of its step."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .callee import Callee
    from .lane import Lane, Task


def runner(callee: Callee, lane: Lane) -> Callable[[Task], None]:
    """What does a pack's work in a lane."""
    lane.writer.function = callee.target
    from .callee import STREAMS

    if callee.kind == "chain":
        from .chain import chain

        return chain(callee, lane)  # type: ignore[arg-type]
    if callee.kind in STREAMS:
        from .streams import Streams

        return Streams(callee, lane).run
    if callee.kind == "collate":
        from .collate import collate

        return collate(callee, lane)
    if lane.start is not None:
        from .coroutines import coroutines

        return coroutines(callee, lane)
    from .items import items

    return items(callee, lane)

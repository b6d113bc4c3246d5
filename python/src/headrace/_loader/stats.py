"""Statistics as the engine gives them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stats(dict[str, "Any"]):
    """What every stage and queue of a loader did so far: a plain dict, which prints as a table.

    `stats["stages"]` has a dict per stage (items in, out and lost; `shares`, the parts of their time that its workers were starved, busy,
    blocked and gated; percentiles of how long an operation takes), `stats["queues"]` one per queue (occupancy), `stats["memory"]` the
    bytes held. Of `stats["loop_ns"]`, the time of your loop from its first batch on, it waited `stats["waited_ns"]` for batches, and before
    that `stats["start_ns"]` for the first; `stats["verdict"]` judges by these. Of a stage that is a
    function of yours the workers are those that call it, and an operation is a call. A stage with nothing left to do counts as starved.
    """

    @property
    def text(self) -> str:
        """The table for people."""
        return str(self.get("text", "no statistics: the engine ended before it gave any"))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


Stats.__module__ = "headrace"

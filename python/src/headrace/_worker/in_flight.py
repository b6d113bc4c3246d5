"""What a call of an async function has of its own, while others are in flight."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lane import Lane


class Call:
    """One call in flight: what has to be as it was when its result is written."""

    __slots__ = ("_keep", "_lent", "_offered", "_stream", "_writer", "cell")

    def __init__(self, lane: Lane) -> None:
        writer = self._writer = lane.writer
        self.cell = lane.cell
        self._stream = writer.engine.stream
        self._offered, self._keep, self._lent = writer.offered, writer.keep, writer.lent

    def resume(self) -> None:
        """Have the writer write this call's result."""
        writer = self._writer
        writer.engine.stream = self._stream
        writer.begin(self._offered, self._keep)
        writer.lent = self._lent

"""How long a loop waits for its batches, by the clock of the thread that waits."""

from __future__ import annotations

from time import monotonic_ns


class Clock:
    """Times the calls of `next()`, and the loops that make them. Who calls it holds the loader's lock.

    The wait for the first batch of a stream, and with `steps_per_epoch` of each epoch, is told apart: the engine has
    just begun. Where several threads wait at once, that is one wait.
    """

    __slots__ = ("_asked", "_fresh", "_left", "_loop", "_main", "_since", "_start", "_told", "_waited", "batches")

    def __init__(self) -> None:
        self._asked = self._left = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew, with a new engine. A wait may be under way."""
        self._start = self._loop = self._waited = self._main = 0
        self._told = 0  # of all waits, what the engine knows
        self._since: int | None = None  # when the loop was entered; None: no loop is under way
        self._fresh = True
        self.batches = 0

    def begins(self, asked: int) -> None:
        """A call of `next()` has begun at that time."""
        self._asked = max(asked, self._left)
        if self._since is None and not self._fresh:
            self._since = self._asked

    def gives(self) -> None:
        """The call returns a batch."""
        self.fails()
        if self._fresh:
            self._fresh, self._since = False, self._left

    def fails(self) -> None:
        """The call ends without a batch. The loop may go on."""
        now = monotonic_ns()
        took = max(0, now - self._asked)
        self._left = now
        if self._fresh:
            self._start += took
        else:
            self._waited += took

    def ends(self) -> None:
        """The call ends the loop."""
        self.fails()
        self.pause()

    def main(self, took: int) -> None:
        """So much of the call was work of steps with `where="main"`."""
        if not self._fresh:
            self._main += took

    def pause(self) -> None:
        """The program has left the loop."""
        since, self._since = self._since, None
        if since is not None:
            self._loop += max(0, monotonic_ns() - since)

    def restart(self) -> None:
        """The engine begins elsewhere."""
        self.pause()
        self._fresh = True

    def untold(self) -> int:
        """Microseconds of waiting since the last call of this."""
        new = min((self._start + self._waited) // 1000 - self._told, 0xFFFFFFFF)
        self._told += new
        return new

    def told(self) -> dict[str, int]:
        """What the engine is told: the object `loop` of docs/protocol.md."""
        loop = self._loop
        if self._since is not None:
            loop += max(0, monotonic_ns() - self._since)
        return {"batches": self.batches, "start_ns": self._start, "loop_ns": loop, "waited_ns": self._waited, "main_ns": self._main}

"""Times how long a loop waits for its batches, by the clock of the waiting thread."""

from __future__ import annotations

from time import monotonic_ns


class Clock:
    """Times the calls of `next()`, and the loops that make them. Callers hold the loader's lock, except in `gives`.

    The wait for a stream's first batch, and with `steps_per_epoch` for each epoch's, is separate: the engine has just started. Several
    threads that wait at once are one wait.
    """

    __slots__ = (
        "_began",
        "_fresh",
        "_handed",
        "_loop",
        "_main",
        "_own",
        "_ready",
        "_since",
        "_start",
        "_told",
        "_told_main",
        "_waited",
        "batches",
        "left",
    )

    def __init__(self) -> None:
        self.left = 0  # when the last call returned
        self.reset()

    def reset(self) -> None:
        """Start over with a new engine. A wait may be in progress."""
        self._start = self._loop = self._waited = self._handed = self._main = 0
        self._told = self._told_main = 0  # of all waits, what the engine knows, in microseconds
        self._since: int | None = None  # when the loop was entered; None: no loop is under way
        self._began: int | None = None  # a call that gave a batch, and ended at `left`; None: it is counted
        self._ready = False  # that batch was there when it was asked for
        self._own = 0  # so much of that call was work of steps with `where="main"`
        self._fresh = True
        self.batches = 0

    def begins(self, asked: int) -> None:
        """A call of `next()` began at that time."""
        self._count()
        if self._since is None and not self._fresh:
            self._since = max(asked, self.left)

    def gives(self, asked: int, ready: bool, own: int) -> None:
        """The call that began at that time is about to return a batch; steps with `where="main"` took `own` of it.

        The last thing it does is to set `left` again: time after the clock is read is not measured, which matters when batches are ready.
        So the next call counts this wait.
        """
        self._count()
        self._began, self._ready, self._own = max(asked, self.left), ready, own
        self.left = monotonic_ns()  # so that another thread that comes before the call has ended counts nearly all of it

    def _count(self) -> None:
        """Count the wait of the last call that returned a batch."""
        began, self._began = self._began, None
        if began is None:
            return
        took = max(0, self.left - began)
        if self._fresh:
            self._start += took
            self._fresh, self._since = False, self.left
            return
        self._waited += took
        self._main += self._own
        if self._ready:
            self._handed += max(0, took - self._own)

    def fails(self, asked: int) -> None:
        """The call ends without a batch. The loop may go on."""
        self._count()
        now = monotonic_ns()
        took = max(0, now - max(asked, self.left))
        self.left = now
        if self._fresh:
            self._start += took
        else:
            self._waited += took

    def ends(self, asked: int) -> None:
        """The call ends the loop."""
        self.fails(asked)
        self.pause()

    def pause(self) -> None:
        """The program left the loop."""
        self._count()
        since, self._since = self._since, None
        if since is not None:
            self._loop += max(0, monotonic_ns() - since)

    def restart(self) -> None:
        """The engine starts elsewhere."""
        self.pause()
        self._fresh = True

    def untold(self) -> tuple[int, int]:
        """Microseconds of waiting since this was last called, and those of them in steps with `where="main"`."""
        new = min((self._start + self._waited) // 1000 - self._told, 0xFFFFFFFF)
        self._told += new
        if not self._main:
            return new, 0
        own = min(self._main // 1000 - self._told_main, new)
        self._told_main += own
        return new, own

    def told(self) -> dict[str, int]:
        """The object `loop` of docs/protocol.md for the engine."""
        self._count()
        loop = self._loop
        if self._since is not None:
            loop += max(0, monotonic_ns() - self._since)
        return {
            "batches": self.batches,
            "start_ns": self._start,
            "loop_ns": loop,
            "waited_ns": self._waited,
            "handed_ns": self._handed,
            "main_ns": self._main,
        }

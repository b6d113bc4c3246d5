"""Sends what a stream has ready when the engine asks for it, while the user's iterator is still at work on its next sample.

An iterator may wait for long: for a queue, a socket, a file that grows. What it had yielded before, while the engine had no room, must
not wait with it.
"""

from __future__ import annotations

import threading
from time import sleep

from .errors import Ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .lane import Engine

_SHORT = 0.01  # seconds; an iterator that is quicker sends itself what it has
_LOOK = 0.1  # seconds after which a wait for the engine looks whether the stream has ended


class HeldBack:
    """A second thread of a stream, which is there once something had to be held back."""

    def __init__(self, engine: Engine, send: Callable[[], None]) -> None:
        """`send` sends what is ready. It is called while the stream's own thread is in the iterator."""
        self._engine = engine
        self._send = send
        self._turn = threading.Lock()  # the stream's own, but for the time in which it is in the iterator
        self._turn.acquire()
        self._held = threading.Event()  # something is ready that was not sent
        self._calls = 0  # of the iterator
        self._thread: threading.Thread | None = None
        self._over = False

    def hold(self) -> None:
        """Something is ready, and the engine does not take it now."""
        if not self._held.is_set():
            self._held.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="headrace-held-back", daemon=True)
                self._thread.start()
                self._engine.at_end.append(self._end)

    def sent(self) -> None:
        """Nothing is held back any more."""
        if self._thread is not None:
            self._held.clear()

    def __enter__(self) -> None:
        """The iterator is called."""
        self._calls += 1
        self._turn.release()

    def __exit__(self, *_: object) -> None:
        self._turn.acquire()

    def _end(self) -> None:
        """End the second thread before the stream's own, which calls this, lets go of the connection and of memory."""
        assert self._thread is not None
        self._over = True
        self._held.set()
        self._turn.release()
        self._thread.join()

    def _watch(self) -> None:
        try:
            self._send_held()
        except (Ended, OSError):
            pass  # so does the stream's own thread

    def _send_held(self) -> None:
        engine = self._engine
        while True:
            self._held.wait()
            if self._over:
                return
            calls = self._calls
            sleep(_SHORT)
            if calls != self._calls or (engine.credit <= 0 and not engine.await_more(_LOOK)):
                continue
            with self._turn:
                if self._over or not self._held.is_set():
                    continue
                if (engine.credit > 0 or engine.pulled_now()) and engine.credit > 0 and not engine.stopped:
                    self._send()

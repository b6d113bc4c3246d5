"""A call that takes long holds back nothing.

What its pack has ready goes to the engine meanwhile, and the samples that wait after it go back: other workers have time for them.
"""

from __future__ import annotations

import threading
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .writer import Writer

_LONG = 0.01  # seconds


class LongCalls:
    """A second thread of a lane, which looks every few milliseconds whether the lane is in the same call still.

    A quick call costs two operations on a lock. Where the lane waits for the engine, so does the thread, for the lock.

    Attributes:
        end: samples of the pack that the lane calls its function for.
        leave: ends a call.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._turn = threading.Lock()  # the lane's own, except while it is in a call
        self._turn.acquire()
        self._calls = 0
        self._item = 0  # of the call
        self._in_work = 1
        self._over = False
        self._thread: threading.Thread | None = None
        self.end = 0
        self.leave = self._turn.acquire

    def begin(self, items: int) -> None:
        """Begin with a pack of several samples."""
        self.end = items
        if self._thread is None:
            self._writer.engine.at_end.append(self._stop)
            self._thread = threading.Thread(target=self._watch, name="headrace-long-calls", daemon=True)
            self._thread.start()

    def enter(self, item: int, in_work: int = 1) -> None:
        """Begin with a call, or with calls for so many samples of which this is the last."""
        self._calls += 1
        self._item = item
        self._in_work = in_work
        self._turn.release()

    def _stop(self) -> None:
        """Have the thread end with the lane's own, which calls this."""
        self._over = True
        self._turn.release()

    def _watch(self) -> None:
        settled = 0  # the call for which all was done
        try:
            while not self._over:
                calls = self._calls
                sleep(_LONG)
                if calls == settled or calls != self._calls:
                    continue
                with self._turn:
                    if calls == self._calls and not self._over:
                        settled = calls
                        self._settle()
        except OSError:
            pass  # the engine has ended, as the lane's own thread will see

    def _settle(self) -> None:
        """Hand on what there is, and give back what has not begun."""
        rest = self._item + 1 < self.end
        if rest:
            self.end = self._item + 1
        if rest or self._writer.status:
            self._writer.hand_on(rest, self._in_work)

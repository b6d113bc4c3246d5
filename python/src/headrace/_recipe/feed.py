"""A source that the program itself feeds."""

from __future__ import annotations

import os
import threading
from collections import deque
from time import monotonic

from ..errors import FeedClosed, ForkedLoader, NotReady, RecipeError, WrongType
from .arguments import integer, time_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

_LONGEST = 1e6  # seconds: what locks can count


class Feed:
    """A queue that your program fills while a loader runs: give it to `hr.source`.

        feed = hr.Feed(max_waiting=16)
        requests = hr.source(feed, gives={"bytes": bytes, "key": str}).decode_image()
        with requests.batch(1).loader(epochs=1, prefetch=0) as loader:
            ...  # in other threads: feed.put({"bytes": jpeg, "key": "request 7"})

    Any threads and tasks may put items, which come in that order. The epoch ends when the feed is closed and its items have come. It feeds
    one loader, for one epoch: closing the loader closes the feed, and what it still holds is dropped. An engine's death ends the run, since
    what that had taken is gone.

    Args:
        max_waiting: how many items may wait for the loader; `put` waits while there are as many. The loader has taken no more than its
            `prefetch=` allows, so that bounds what is in flight in all.

    Raises:
        RecipeError: if the number is below 1.
    """

    def __init__(self, max_waiting: int = 16) -> None:
        self.max_waiting = integer("Feed: max_waiting", max_waiting)
        if self.max_waiting < 1:
            raise RecipeError(f"headrace: Feed: max_waiting is {max_waiting!r}: must be at least 1")
        # A signal handler may close the feed within any of its methods.
        self._lock = threading.RLock()
        self._arrived = threading.Condition(self._lock)
        self._items: deque[Any] = deque()
        self._waiters: deque[_Waiter] = deque()  # that have no place yet
        self._granted = 0  # places of who waited, and has not put the item there yet
        self._closed = ""  # why; empty: it is open
        self._reading = False  # somebody has begun to read it
        self._pid = os.getpid()

    def put(self, item: Any, timeout: float | None = None) -> None:
        """Put an item, and wait for a place first if there is none.

            feed.put({"key": "request 7", "bytes": jpeg}, timeout=1)

        Args:
            item: a sample, as a source of yours yields it.
            timeout: seconds to wait for a place; None, the default: no limit.

        Raises:
            NotReady: a TimeoutError, if there is no place in time. The item was not put.
            FeedClosed: if the feed, or its loader, is closed, even while this waits. The item was not put.
        """
        until = monotonic() + time_limit(timeout)
        self._check_process()
        if self._try(item):
            return
        ready = threading.Semaphore(0)
        waiter = _Waiter(ready.release)
        try:
            waits = self._asks(waiter)
            while waits and not ready.acquire(timeout=min(_LONGEST, max(0.0, until - monotonic()))):
                if monotonic() >= until:
                    full = f"{self.max_waiting} items wait for the loader; this one was not put"
                    raise NotReady(f"headrace: the feed has no place within {timeout:g} s: {full}")
            self._fill(waiter, item)
        finally:
            self._gives_up(waiter)

    async def aput(self, item: Any) -> None:
        """Put an item, as `put` does, while other tasks of the event loop run.

            await feed.aput({"key": "request 7", "bytes": jpeg})

        If the task is cancelled, the item was not put. `asyncio.wait_for(feed.aput(item), 1)` limits the time.

        Args:
            item: a sample, as a source of yours yields it.

        Raises:
            FeedClosed: if the feed, or its loader, is closed, even while this waits. The item was not put.
        """
        self._check_process()
        if self._try(item):
            return
        import asyncio

        events = asyncio.get_running_loop()
        ready = events.create_future()
        waiter = _Waiter(lambda: _wake(events, ready))
        try:
            if self._asks(waiter):
                await ready
            self._fill(waiter, item)
        finally:
            self._gives_up(waiter)

    def close(self) -> None:
        """Say that no more items come. Those that were put still do. You may call it again.

        `feed.close()` ends the loader's epoch.
        """
        if os.getpid() == self._pid:
            self._end("this feed is closed")

    # Of who puts.

    def _try(self, item: Any) -> bool:
        """Put an item if there is a place."""
        with self._lock:
            self._check_open()
            if not self._places():  # those that are free belong to who waits
                return False
            self._items.append(item)
            self._arrived.notify()
            return True

    def _asks(self, waiter: _Waiter) -> bool:
        """Have a waiter told of its place. False: it has one already."""
        with self._lock:
            self._check_open()
            self._waiters.append(waiter)
            self._grant()
            return not waiter.granted

    def _fill(self, waiter: _Waiter, item: Any) -> None:
        """Put an item into its waiter's place."""
        with self._lock:
            self._check_open()
            waiter.granted = False
            self._granted -= 1
            self._items.append(item)
            self._arrived.notify()

    def _gives_up(self, waiter: _Waiter) -> None:
        """Let others have the place of one that has not used it."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if waiter.granted:
                waiter.granted = False
                self._granted -= 1
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            self._grant()

    def _check_process(self) -> None:
        """Refuse a forked child, before it asks for the lock: another thread may have had that when the process was forked."""
        if os.getpid() != self._pid:
            raise ForkedLoader("headrace: this feed belongs to the process that this one was forked from; make another one here")

    def _check_open(self) -> None:
        if self._closed:
            raise FeedClosed(f"headrace: {self._closed}; the item was not put")

    def _places(self) -> int:
        return self.max_waiting - len(self._items) - self._granted

    def _grant(self) -> None:
        """Give free places to those that have waited longest."""
        while self._waiters and self._places() > 0:
            waiter = self._waiters.popleft()
            waiter.granted = True
            self._granted += 1
            waiter.wake()

    # Of who reads.

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            if self._reading:
                raise RuntimeError(
                    "a feed is read once, by one loader, for one epoch, and this one has been: say loader(epochs=1), and make another"
                    " hr.Feed for another loader, or after an engine died, with which what it had taken is gone"
                )
            self._reading = True
        return self._read()

    def _read(self) -> Iterator[Any]:
        while True:
            with self._lock:
                while not self._items and not self._closed:
                    self._arrived.wait()
                if not self._items:
                    return
                item = self._items.popleft()
                self._grant()
            yield item

    def _end(self, why: str) -> None:
        with self._lock:
            self._closed = self._closed or why
            waiters = list(self._waiters)
            self._waiters.clear()
            self._arrived.notify_all()
        for waiter in waiters:
            waiter.wake()

    def _drop(self, why: str) -> None:
        """End it with what reads it."""
        self._end(why)
        with self._lock:
            self._items.clear()

    def __reduce__(self) -> NoReturn:
        raise WrongType("a feed belongs to its process and cannot be pickled: hr.source(feed) reads it in your program")

    def __repr__(self) -> str:
        return f"<headrace.Feed: {len(self._items)} of {self.max_waiting} waiting{', closed' if self._closed else ''}>"


Feed.__module__ = "headrace"


class _Waiter:
    """Somebody who waits for a place."""

    __slots__ = ("granted", "wake")

    def __init__(self, wake: Callable[[], object]) -> None:
        self.wake = wake
        self.granted = False


def _wake(events: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
    def settle() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        events.call_soon_threadsafe(settle)
    except RuntimeError:
        pass  # the event loop has ended, and with it the task, which gives its place back

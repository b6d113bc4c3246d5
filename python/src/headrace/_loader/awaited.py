"""Batches for a program whose event loop has other things to do while they are made."""

from __future__ import annotations

import asyncio
import select
from math import inf
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from ..errors import NotReady
from .deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from .loader import Loader
    from .loop import Loop
    from .run import Run

_LOOKS = 0.05  # seconds: another task or thread may have read what a waiting one is to get
_BUSY = 0.005  # while another thread waits for a batch, and has the lock


class AsyncLoop:
    """One epoch's asynchronous iterator, from `async for`.

    The epoch begins when its first batch is asked for, since that may have to wait for another thread.
    """

    __slots__ = ("_loader", "_loop")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._loop: Loop | None = None

    def __aiter__(self) -> AsyncLoop:
        return self

    async def __anext__(self) -> Any:
        return await take(self._loader._run, self._begun)

    def _begun(self) -> Loop:
        if self._loop is None:
            self._loop = iter(self._loader)
        return self._loop


async def take(run: Run, begun: Callable[[], Loop], timeout: float | None = None) -> Any:
    """The next batch of a loop. A batch leaves the run between two awaits, so that a cancelled task has taken none."""
    attempt = Attempt(timeout, run)
    while True:
        await asyncio.sleep(0)  # others get on, even if batches are always ready
        try:
            run.check()
            with attempt:
                loop = begun()
            return loop.__next__(attempt)
        except StopIteration:
            raise StopAsyncIteration from None
        except NotReady:
            if attempt.is_over():
                raise
        await _arrival(run, attempt.left_to_wait())


class Attempt(Deadline):
    """Takes what has arrived, and never waits: the event loop does that between the calls of one attempt."""

    def __init__(self, timeout: float | None, run: Run) -> None:
        super().__init__(timeout, run.lock)
        self.asked = monotonic_ns()
        self._endless = timeout is None

    def is_over(self) -> bool:
        """Whether there is no time left."""
        return not self._endless and not super().left()

    def left_to_wait(self) -> float:
        """The seconds for which the event loop may wait."""
        return inf if self._endless else super().left()

    def left(self) -> float:
        return 0.0

    def look(self) -> None:
        pass  # reading ends by itself, when nothing more has arrived

    def miss(self) -> None:
        self.waited = True
        super().miss()


async def _arrival(run: Run, seconds: float) -> None:
    """Wait until more may have arrived."""
    events = asyncio.get_running_loop()
    arrived = events.create_future()
    watch = _watch(run)
    timer = events.call_later(min(seconds, _BUSY if watch is None else _LOOKS), _settle, arrived)
    try:
        if watch is not None:
            events.add_reader(watch.fileno(), _settle, arrived)
        await arrived
    finally:
        timer.cancel()
        if watch is not None:
            if not events.is_closed():
                events.remove_reader(watch.fileno())
            watch.close()


def _settle(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)


def _watch(run: Run) -> select.epoll | None:
    """What becomes readable when the engine sends or ends; None: another thread has the run, it has no engine, or it waits for other ranks.

    It is a descriptor of the waiting task's own, which several tasks and event loops may have. Other than a duplicate of the
    socket it keeps no connection open that a thread closes meanwhile.
    """
    if not run.lock.acquire(False):
        return None
    try:
        if run.session is None or (run.agreement is not None and run.agreement.waits):
            return None
        channel = run.session.channel
        watch = select.epoll()
        try:
            watch.register(channel.fd, select.EPOLLIN | (select.EPOLLOUT if channel.out else 0))
            if channel.peer >= 0:
                watch.register(channel.peer, select.EPOLLIN)
        except BaseException:
            watch.close()
            raise
        return watch
    finally:
        run.lock.release()

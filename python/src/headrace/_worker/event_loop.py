"""Coroutines and asynchronous generators, run by the event loop of a thread."""

from __future__ import annotations

from .errors import Misfit
from .types import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from typing import Any

_loops: dict[Any, Any] = {}  # by thread, not by its number, which the next thread gets


def event_loop() -> Any:
    """The event loop of this thread: uvloop's where that is installed. It stays, since what the user's functions keep may belong to it."""
    import asyncio
    import threading

    thread = threading.current_thread()
    if thread not in _loops:
        try:
            import uvloop
        except ImportError:
            _loops[thread] = asyncio.new_event_loop()
        else:
            _loops[thread] = uvloop.new_event_loop()
        asyncio.set_event_loop(_loops[thread])
    return _loops[thread]


def wait_here(wait: Awaitable[None]) -> None:
    """Have the event loop of this thread run a coroutine."""
    event_loop().run_until_complete(wait)


class OwnLoop:
    """An event loop of no thread: one at a time runs something in it, also a thread that has another one running."""

    def __init__(self) -> None:
        self._loop: Any = None

    def run(self, wait: Awaitable[None]) -> None:
        """Run a coroutine. What it raises is raised here."""
        import asyncio
        import threading

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        if asyncio._get_running_loop() is None:
            self._loop.run_until_complete(wait)
            return
        raised: list[BaseException] = []

        def run() -> None:
            try:
                self._loop.run_until_complete(wait)
            except BaseException as e:
                raised.append(e)

        thread = threading.Thread(target=run, name="headrace-hook")
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    def close(self) -> None:
        """End it. May be called again."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None


def cancel(thread: Any) -> None:
    """Cancel what a thread's event loop runs."""
    loop = _loops.get(thread)
    if loop is None:
        return
    try:
        loop.call_soon_threadsafe(_cancel_tasks, loop)
    except RuntimeError:
        pass  # it is closed


def _cancel_tasks(loop: Any) -> list[Any]:
    import asyncio

    tasks = list(asyncio.all_tasks(loop))
    for task in tasks:
        task.cancel()
    return tasks


def close() -> None:
    """End the event loop of this thread, if it has one, since the thread ends."""
    import threading

    loop = _loops.pop(threading.current_thread(), None)
    if loop is None:
        return
    import asyncio

    try:
        for _ in range(3):  # who ends calls may stop the loop, or have what ends them cancelled
            tasks = _cancel_tasks(loop)
            try:
                loop.run_until_complete(asyncio.gather(*tasks, loop.shutdown_asyncgens(), return_exceptions=True))
                break
            except (asyncio.CancelledError, RuntimeError):
                pass
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def iterate(result: Any) -> Iterator[Any]:
    """An iterator over what may be asynchronous."""
    if hasattr(result, "__aiter__"):
        return _drive(result.__aiter__())
    if hasattr(result, "keys"):
        raise Misfit("", "returned a dict, not an iterable of samples: yield it, or return a list of it")
    try:
        return iter(result)
    except TypeError:
        raise Misfit("", f"returned {told(result)}, not an iterable of samples") from None


def _drive(source: Any) -> Iterator[Any]:
    loop = event_loop()
    try:
        while True:
            try:
                sample = loop.run_until_complete(source.__anext__())
            except StopAsyncIteration:
                return
            yield sample
    finally:
        if hasattr(source, "aclose"):
            loop.run_until_complete(source.aclose())

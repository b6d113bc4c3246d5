"""A thread that runs hooks' `background` while a loader is open."""

from __future__ import annotations

import asyncio
import threading
import warnings
from typing import TYPE_CHECKING, Any
from weakref import ref

from .._recipe.hooks import name_of
from ..errors import HeadraceWarning

if TYPE_CHECKING:
    from .run import Run

_GRACE = 5.0  # seconds that `close` waits for coroutines that are cancelled


class Background:
    """Runs coroutines until the run ends, and cancels them then."""

    def __init__(self, run: Run, methods: list[tuple[Any, Any]]) -> None:
        self._over = over = _Over()
        self._run = ref(run, lambda _: over.end())
        self._thread = threading.Thread(target=lambda: asyncio.run(_run_all(methods, over)), name="headrace-background", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel the coroutines, and wait for their end. You may call it again."""
        self._over.end()
        if self._thread is not threading.current_thread():
            self._thread.join(_GRACE)


class _Over:
    """An event of a loop that any thread may set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False
        self._wake: Any = None

    def begin(self) -> asyncio.Event:
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._wake = lambda: loop.call_soon_threadsafe(event.set)
            if self._ended:
                event.set()
        return event

    def end(self) -> None:
        with self._lock:
            if self._wake is not None and not self._ended:
                try:
                    self._wake()
                except RuntimeError:
                    pass  # the loop is closed
            self._ended = True


async def _run_all(methods: list[tuple[Any, Any]], over: _Over) -> None:
    event = over.begin()
    tasks = [asyncio.ensure_future(_run(hook, method)) for hook, method in methods]
    await event.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _run(hook: Any, method: Any) -> None:
    try:
        await method()
    except Exception as e:
        text = f"headrace: the hook {name_of(hook)} failed in background(): {type(e).__name__}: {e}"
        code = getattr(method, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else (__file__, 1)
        warnings.warn_explicit(text, HeadraceWarning, file, line)

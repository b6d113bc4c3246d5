"""A thread that passes statistics to hooks at intervals."""

from __future__ import annotations

import atexit
import threading
import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

from .._recipe.hooks import method_of, name_of
from ..errors import HeadraceError, HeadraceWarning
from .stats import Stats, statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .run import Run

_EVERY = 10.0  # seconds, if nobody says
_GRACE = 5.0  # seconds that `close` waits for hooks to return


class Interval:
    """Calls hooks' `stats` every so many seconds while the run lives, and once at its end. Without such hooks they are logged."""

    def __init__(self, run: Run, hooks: Iterable[Any], every: float | None) -> None:
        self._over = over = threading.Event()
        told = [(hook, method) for hook in hooks if (method := method_of(hook, "stats")) is not None]
        if not told and every is not None:
            told = [(log := Log(), log.stats)]
        every = _EVERY if every is None else every
        self._thread = threading.Thread(target=_tell_all, args=(ref(run, lambda _: over.set()), told, every, over), daemon=True)
        self._thread.name = "headrace-stats"
        if told:
            self._thread.start()
            _begin_at_exit(self)

    def close(self) -> None:
        """Call hooks with the last statistics, and end. You may call it again."""
        self._over.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_GRACE)


class Log:
    """Logs a line of statistics, and at the level DEBUG the table."""

    def __init__(self) -> None:
        import logging

        self._logger = logging.getLogger("headrace.stats")
        self._at, self._before = 0, 0

    def stats(self, stats: Stats) -> None:
        elapsed, batches = stats.get("elapsed_ns", 0), stats.get("yielded", 0)
        rate = (batches - self._before) / max(1, elapsed - self._at) * 1e9
        self._at, self._before = elapsed, batches
        self._logger.info("%d batches, %.3g/s: %s", batches, rate, stats.get("verdict", ""))
        self._logger.debug("%s", stats)


def _tell_all(run: Callable[[], Run | None], told: list[Any], every: float, over: threading.Event) -> None:
    last = False
    while not last:
        last = over.wait(every)
        living = run()
        stats = _stats_of(living)
        if living is None or stats is None:
            return
        last = last or living.refused is not None  # a function has closed the loader that calls it
        del living
        for hook, method in told:
            _tell(hook, method, stats)


def _stats_of(run: Run | None) -> Stats | None:
    try:
        return None if run is None else statistics(run, None)
    except HeadraceError:
        return None  # the engine has ended, as the loop will learn


def tell_of_stall(hooks: Iterable[tuple[Any, Any]], payload: bytes) -> None:
    """Call hooks' `stalled` with the report of a NOTE frame, if it is one of a stall."""
    import json

    told = json.loads(payload)
    if told["code"] == "stall":
        for hook, method in hooks:
            _tell(hook, method, told["message"], "stalled")


def _tell(hook: Any, method: Callable[[Any], Any], of: Any, name: str = "stats") -> None:
    try:
        result = method(of)
        if hasattr(result, "__await__"):
            import asyncio

            asyncio.run(_awaited(result))
    except Exception as e:
        text = f"headrace: the hook {name_of(hook)} failed in {name}(): {type(e).__name__}: {e}"
        code = getattr(method, "__code__", None)
        if code is None:
            warnings.warn(text, HeadraceWarning, stacklevel=1)
        else:
            warnings.warn_explicit(text, HeadraceWarning, code.co_filename, code.co_firstlineno)


async def _awaited(result: Any) -> None:
    await result


_all: WeakSet[Interval] = WeakSet()


def _begin_at_exit(interval: Interval) -> None:
    if not _all:
        atexit.unregister(_end_all)
        atexit.register(_end_all)
    _all.add(interval)


def _end_all() -> None:
    """Handle a program that ends without closing its loaders."""
    for interval in list(_all):
        interval.close()

"""What is called around the tasks of a stage."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

_log = logging.getLogger("headrace.compat.spdl")
_KEPT = 1024  # times of calls, for percentiles


@dataclass(frozen=True)
class StageInfo:
    """Which stage it is."""

    pipeline_id: int
    stage_id: str
    stage_name: str
    concurrency: int | None = None

    def __str__(self) -> str:
        many = "" if self.concurrency is None else f"[{self.concurrency}]"
        return f"{self.pipeline_id}:{self.stage_id}:{self.stage_name}{many}"


class TaskHook:
    """Called around the tasks of a stage. Override what you need."""

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """Around all of them."""
        yield

    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        """Around each. If it raises, the item is dropped."""
        yield


@dataclass
class TaskPerfStats:
    """How tasks went. Times are of those that succeeded, in seconds; percentiles of the last 1,024 of them."""

    num_tasks: int
    num_failures: int
    ave_time: float
    p90_time: float
    p99_time: float


class _Count:
    """Tasks since some time."""

    def __init__(self) -> None:
        self.tasks, self.seconds, self.times = 0, 0.0, deque[float](maxlen=_KEPT)
        self.succeeded = 0

    def add(self, seconds: float | None) -> None:
        self.tasks += 1
        if seconds is not None:
            self.succeeded += 1
            self.seconds += seconds
            self.times.append(seconds)

    def stats(self) -> TaskPerfStats:
        times = sorted(self.times) or [0.0]
        p90, p99 = (times[min(int(len(times) * share), len(times) - 1)] for share in (0.9, 0.99))
        return TaskPerfStats(self.tasks, self.tasks - self.succeeded, self.seconds / max(self.succeeded, 1), p90, p99)


class Telling(ABC):
    """Calls `interval_stats_callback` every so many seconds while a stage lives, which logs by default, and logs at the end of all."""

    info: StageInfo
    interval: float

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """While the stage lives."""
        telling = asyncio.create_task(self._tell()) if self.interval > 0 else None
        try:
            yield
        finally:
            if telling is not None:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)
            self._log_stats(self._whole())

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(self.interval)
            await self.interval_stats_callback(self._since())

    async def interval_stats_callback(self, stats: Any) -> None:
        """What was done since the last time."""
        self._log_stats(stats)

    def _log_stats(self, stats: Any) -> None:
        _log.info("%s: %s", self.info, stats)

    @abstractmethod
    def _since(self) -> Any:
        """What was done since it was told."""

    @abstractmethod
    def _whole(self) -> Any:
        """All that was done."""


class TaskStatsHook(Telling, TaskHook):
    """Counts tasks."""

    def __init__(self, info: StageInfo, interval: float = -1) -> None:
        self.info, self.interval = info, interval
        self._all, self._lap = _Count(), _Count()

    def _since(self) -> TaskPerfStats:
        lap, self._lap = self._lap, _Count()
        return lap.stats()

    def _whole(self) -> TaskPerfStats:
        return self._all.stats()

    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        """Count one."""
        begin, seconds = time.monotonic(), None
        try:
            yield
            seconds = time.monotonic() - begin
        except StopAsyncIteration:  # there was no task
            raise
        except Exception:
            self._count(None)
            raise
        self._count(seconds)

    def _count(self, seconds: float | None) -> None:
        self._all.add(seconds)
        self._lap.add(seconds)


@asynccontextmanager
async def around(hooks: Sequence[TaskHook], item: Any) -> AsyncIterator[None]:
    """A task."""
    async with AsyncExitStack() as stack:
        for hook in hooks:
            await stack.enter_async_context(hook.task_hook(item))
        yield


class WhileOpen:
    """The hook of a loader that holds those of stages."""

    def __init__(self, hooks: Iterable[Any]) -> None:
        self._hooks = list(hooks)

    async def background(self) -> None:
        """Until the loader is closed, which cancels it: so stages end."""
        async with AsyncExitStack() as stack:
            for hook in self._hooks:
                await stack.enter_async_context(hook.stage_hook())
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass

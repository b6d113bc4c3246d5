"""Stages as steps, for which items are numbers."""

from __future__ import annotations

import asyncio
import itertools
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from ...._worker.event_loop import iterate
from ._hooks import around
from .defs import Collate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from ._hooks import TaskHook
    from .defs import AggregateConfig, PipeConfig

_log = logging.getLogger("headrace.compat.spdl")
_LEAST = 100  # calls before a share of failures counts
_END = object()


def each(items: Any) -> Iterator[Any]:
    """An iterator over a source, which may be async. A mapping gives its keys."""
    return iterate(items) if hasattr(items, "__aiter__") else iter(items)


class PipelineFailure(RuntimeError):
    """More items have failed than max_failures allows."""


class Table:
    """The items on their way, by number; 0 is one that was dropped."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._numbers = itertools.count(1)

    def put(self, item: Any) -> int:
        """The number of an item."""
        if item is None:
            return 0
        number = next(self._numbers)
        self._items[number] = item
        return number

    def take(self, number: int) -> Any:
        """The item, which nobody takes again."""
        return self._items.pop(number) if number else None

    def see(self, number: int) -> Any:
        """The item, which stays."""
        return self._items[number] if number else None


class Failures:
    """Counts the failures of a stage, or of all."""

    def __init__(self, most: Any) -> None:
        self.most, self.calls, self.failed, self.last = most, 0, 0, ("", Exception())

    def add(self, name: str, error: Exception) -> None:
        """Log one."""
        self.failed += 1
        self.last = name, error
        _log.error("%s: an item has failed, and is dropped: %s: %s", name, type(error).__name__, error, exc_info=error)

    def check(self) -> None:
        """Raise PipelineFailure if there are too many."""
        count = isinstance(self.most, int)
        if (count and self.failed > self.most >= 0) or (not count and self.calls >= _LEAST and self.failed > self.most * self.calls):
            name, error = self.last
            raise PipelineFailure(f"{name}: {self.failed} of {self.calls} items have failed; max_failures is {self.most}") from error


class Stage:
    """A function of the user, with what is around its calls."""

    def __init__(
        self, pipe: PipeConfig, name: str, table: Table, pool: ThreadPoolExecutor, failures: Failures, hooks: Sequence[TaskHook]
    ) -> None:
        self._pipe, self._name, self._table, self._failures, self._hooks = pipe, name, table, failures, hooks
        self._executor, self._pool = pipe.executor or pool, pool

    async def one(self, number: int) -> int:
        """What it makes of an item; 0: nothing."""
        item = self._table.take(number)
        if item is None:
            return 0
        self._failures.calls += 1
        try:
            async with around(self._hooks, item):
                result = await (self._pipe.op(item) if self._pipe.later else self._run(self._pipe.op, item))
            return self._table.put(result)
        except Exception as error:
            self._fail(error)
        return 0

    def _fail(self, error: Exception) -> None:
        if self._executor is self._pool and isinstance(error, RuntimeError) and str(error).startswith("cannot schedule new futures"):
            return  # the pipeline or the program ends
        self._failures.add(self._name, error)
        self._failures.check()

    async def several(self, number: int) -> AsyncIterator[int]:
        """What it makes of an item, one by one."""
        item = self._table.take(number)
        if item is None:
            return
        self._failures.calls += 1
        parts = self._pipe.op(item) if self._pipe.later else self._parts(item)
        try:
            while True:
                async with around(self._hooks, item):
                    part = await anext(parts)
                yield self._table.put(part)
        except StopAsyncIteration:
            return
        except Exception as error:
            self._fail(error)

    async def _parts(self, item: Any) -> AsyncIterator[Any]:
        if not _shares_objects(self._executor):  # which cannot hand over half a call
            for part in await self._run(partial(_listed, self._pipe.op), item):
                yield part
            return
        parts = await self._run(self._pipe.op, item)
        while (part := await self._run(next, parts, _END)) is not _END:
            yield part

    def _run(self, function: Callable[..., Any], *given: Any) -> Any:
        return asyncio.get_running_loop().run_in_executor(self._executor, function, *given)


def _shares_objects(executor: Any) -> bool:
    return isinstance(executor, ThreadPoolExecutor) and type(executor).__name__ != "InterpreterPoolExecutor"


def _listed(op: Callable[[Any], Iterator[Any]], item: Any) -> list[Any]:
    return list(op(item))


async def elements(items: Any) -> AsyncIterator[Any]:
    """Those of an item."""
    for item in items:
        yield item


def aggregator_of(pipe: AggregateConfig) -> Any:
    """The user's aggregator, or one that makes lists."""
    return Collate(pipe.op) if isinstance(pipe.op, int) else pipe.op


def grouper(pipe: AggregateConfig, table: Table) -> type:
    """An aggregator of Headrace, of numbers."""

    class Grouper:
        def __init__(self) -> None:
            self._aggregator = aggregator_of(pipe)

        def accumulate(self, number: int) -> Any:
            item = table.take(number)
            return None if item is None else _numbered(self._aggregator.accumulate(item))

        def flush(self) -> Any:
            return None if pipe.drop_last else _numbered(self._aggregator.flush())

    def _numbered(item: Any) -> Any:
        return None if item is None else {"item": table.put(item)}

    return Grouper

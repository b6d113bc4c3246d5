"""SPDL's `PipelineBuilder`, carried out by Headrace: change the import, and the program runs as it is.

Steps run in threads of this program (`where="here"`). As in SPDL, None drops an item, and an item that fails is logged and dropped. Any
object may pass: it stays in the program, and a number goes through the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import HeadraceError, RecipeError
from ..pipeline import source
from ._missing import OF_BUILD, see

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .._loader.loader import Loader

__all__ = ["Pipeline", "PipelineBuilder", "PipelineFailure"]

_log = logging.getLogger("headrace.compat.spdl")
_LEAST = 10  # calls before a share of failures counts


class PipelineFailure(RuntimeError):
    """More items have failed than max_failures allows."""


class _Table:
    """The items on their way, by number; 0 is one that was dropped."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._numbers = itertools.count(1)

    def put(self, item: Any) -> int:
        if item is None:
            return 0
        number = next(self._numbers)
        self._items[number] = item
        return number

    def take(self, number: int) -> Any:
        return self._items.pop(number) if number else None


class _Failures:
    """Counts the failures of a stage."""

    def __init__(self, name: str, most: Any) -> None:
        self.name, self.most, self.calls, self.failed = name, most, 0, 0

    def begin(self) -> None:
        self.calls += 1

    def add(self, error: Exception) -> None:
        self.failed += 1
        _log.error("%s: an item has failed, and is dropped: %s: %s", self.name, type(error).__name__, error, exc_info=error)

    def check(self) -> None:
        """Raise PipelineFailure if there are too many."""
        share = not isinstance(self.most, int)
        if (self.most >= 0 and not share and self.failed > self.most) or (
            share and self.calls >= _LEAST and self.failed > self.most * self.calls
        ):
            raise PipelineFailure(f"{self.name}: {self.failed} of {self.calls} items have failed; max_failures is {self.most}")


class Pipeline:
    """A pipeline that was built: iterate over it, once, or for each epoch if its source is continuous."""

    def __init__(self, src: Any, continuous: bool, stages: list[Any], buffer: int, threads: int, most: Any) -> None:
        self._src, self._continuous, self._stages, self._buffer = src, continuous, stages, buffer
        self._threads, self._most = threads, most
        self._loaders: list[Loader] = []
        self._failures: list[_Failures] = []
        self._pool: ThreadPoolExecutor | None = None
        self._table = _Table()
        self._ended = False

    def start(self, *, timeout: float | None = None) -> None:
        """Begin to work, ahead of the first item that is asked for."""
        if self._loaders or self._ended:
            return
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="headrace-spdl")
        feed = self._source
        pipeline = source(feed, gives=int, where="here")
        ordered = True
        for i, (kind, name, given, options) in enumerate(self._stages):
            if kind == "aggregate":
                loader = self._open(pipeline, 2, ordered)
                pipeline, ordered = source(self._grouped(loader, given, options), gives=int, where="here"), True
                continue
            failures = _Failures(f"{name} (stage {i + 1})", self._most if options["max_failures"] is None else options["max_failures"])
            self._failures.append(failures)
            step = self._several(given, failures) if kind == "several" else self._one(given, options["executor"], failures)
            add = pipeline.flat_map if kind == "several" else pipeline.map
            pipeline = add(step, where="here", workers=options["concurrency"], gives=int)
            ordered = ordered and (options["output_order"] == "input" or options["concurrency"] == 1)
        self._open(pipeline, self._buffer, ordered)

    def _open(self, pipeline: Any, buffer: int, ordered: bool) -> Loader:
        order = "input" if ordered else "completion"
        loader: Loader = pipeline.loader(epochs=1, rank=0, world_size=1, prefetch=buffer, order=order, fuse=False)
        self._loaders.append(loader)
        return loader

    def _source(self) -> Iterator[int]:
        items = self._src
        if hasattr(items, "__aiter__"):
            from .._worker.event_loop import iterate

            items = iterate(items)
        for item in items:
            yield self._table.put(item)

    def _grouped(self, loader: Loader, aggregator: Any, drop_last: bool) -> Callable[[], Iterator[int]]:
        def groups() -> Iterator[int]:
            for number in loader:
                item = self._table.take(int(number))
                if item is not None:
                    yield self._table.put(aggregator.accumulate(item))
            if not drop_last:
                yield self._table.put(aggregator.flush())

        return groups

    def _one(self, op: Callable[[Any], Any], executor: Any, failures: _Failures) -> Callable[[int], Any]:
        later = _calls(op, inspect.iscoroutinefunction)

        async def step(number: int) -> int:
            item = self._table.take(number)
            if item is None:
                return 0
            failures.begin()
            try:
                if later:
                    return self._table.put(await op(item))
                loop = asyncio.get_running_loop()
                return self._table.put(await loop.run_in_executor(executor or self._pool, op, item))
            except Exception as error:
                failures.add(error)
            failures.check()
            return 0

        return step

    def _several(self, op: Callable[[Any], Any], failures: _Failures) -> Callable[[int], Any]:
        from .._worker.event_loop import iterate

        def step(number: int) -> Iterator[int]:
            item = self._table.take(number)
            if item is None:
                return
            failures.begin()
            try:
                for one in iterate(op(item)):
                    yield self._table.put(one)
            except Exception as error:
                failures.add(error)
            failures.check()

        return step

    def stop(self, *, timeout: float | None = None) -> None:
        """End, and let go of threads. You may call it again."""
        loaders, self._loaders = self._loaders, []
        for loader in loaders:
            loader.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._table = _Table()

    @contextlib.contextmanager
    def auto_stop(self, *, timeout: float | None = None) -> Iterator[None]:
        """Start, and stop at the end of `with`."""
        self.start()
        try:
            yield
        finally:
            self.stop()

    def get_item(self, *, timeout: float | None = None) -> Any:
        """The next item. TimeoutError: none has come in time; EOFError: there are no more."""
        found, item = self._next(timeout)
        if not found:
            raise EOFError("the pipeline has no more items")
        return item

    def _next(self, timeout: float | None) -> tuple[bool, Any]:
        self.start()
        while self._loaders:
            try:
                number = int(self._loaders[-1].get(timeout))
            except StopIteration:
                self._ended = not self._continuous
                self.stop()
                break
            except HeadraceError as error:
                if isinstance(error, TimeoutError):
                    raise
                self._ended = True
                self.stop()
                for failures in self._failures:
                    failures.check()
                raise
            if number:
                return True, self._table.take(number)
        return False, None

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[Any]:
        """Iterate over the items that are left."""
        while (got := self._next(timeout))[0]:
            yield got[1]

    def __iter__(self) -> Iterator[Any]:
        return self.get_iterator()

    def __del__(self) -> None:
        self.stop()


class PipelineBuilder:
    """Builds a pipeline, step by step."""

    def __init__(self) -> None:
        self._src: Any = None
        self._continuous = False
        self._stages: list[Any] = []
        self._buffer = 2

    def add_source(self, source: Iterable[Any] | Any, *, continuous: bool = False) -> PipelineBuilder:
        """Say what is iterated over; with `continuous`, again for each loop."""
        self._src, self._continuous = source, continuous
        return self

    def pipe(
        self,
        op: Any,
        /,
        *,
        concurrency: int = 1,
        executor: Any = None,
        name: str | None = None,
        output_order: str = "completion",
        max_failures: Any = None,
    ) -> PipelineBuilder:
        """Add a function, sync or async, a generator, or what has `__getitem__`."""
        if not callable(op) and not hasattr(op, "__getitem__"):
            raise RecipeError(f"headrace: compat.spdl: pipe: {op!r} cannot be called, and has no __getitem__")
        called = op if callable(op) else op.__getitem__
        several = _calls(called, inspect.isgeneratorfunction) or _calls(called, inspect.isasyncgenfunction)
        if several and executor is not None:
            raise RecipeError("headrace: compat.spdl: pipe: a generator runs in a thread of its own: leave out executor=")
        options = {"concurrency": concurrency, "executor": executor, "output_order": output_order, "max_failures": max_failures}
        self._stages.append(("several" if several else "one", name or getattr(op, "__name__", type(op).__name__), called, options))
        return self

    def aggregate(self, given: Any, /, *, drop_last: bool = False) -> PipelineBuilder:
        """Make lists of n items, or what an aggregator with `accumulate(item)` and `flush()` gives."""
        self._stages.append(("aggregate", "aggregate", _Lists(given) if isinstance(given, int) else given, drop_last))
        return self

    def disaggregate(self) -> PipelineBuilder:
        """Make items of the elements of each."""

        def elements(items: Any) -> Iterator[Any]:
            yield from items

        return self.pipe(elements, name="disaggregate")

    def add_sink(self, buffer_size: int = 3) -> PipelineBuilder:
        """Say how many items are kept ready."""
        self._buffer = buffer_size
        return self

    def build(
        self,
        *,
        num_threads: int,
        max_failures: Any = -1,
        report_stats_interval: float = -1,
        queue_class: Any = None,
        task_hook_factory: Any = None,
        stage_id: int = 0,
        use_thread_output_queue: bool = False,
    ) -> Pipeline:
        """The pipeline, with so many threads for functions that are not async. The last two arguments change nothing here."""
        given = {
            "report_stats_interval": report_stats_interval > 0,
            "queue_class": queue_class is not None,
            "task_hook_factory": task_hook_factory is not None,
        }
        for name in filter(given.get, given):
            raise RecipeError(
                f"headrace: compat.spdl: build: {name}= is not supported: write the pipeline with hr.source, and {OF_BUILD[name]}"
            )
        if self._src is None:
            raise RecipeError("headrace: compat.spdl: build: there is no source: call add_source first")
        return Pipeline(self._src, self._continuous, self._stages, self._buffer, num_threads, max_failures)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"headrace.compat.spdl: PipelineBuilder has no {name}: {see(name)}")


class _Lists:
    """Lists of n items."""

    def __init__(self, size: int) -> None:
        self._size, self._items = size, list[Any]()

    def accumulate(self, item: Any) -> list[Any] | None:
        self._items.append(item)
        return self.flush() if len(self._items) == self._size else None

    def flush(self) -> list[Any] | None:
        items, self._items = self._items, []
        return items or None


def _calls(op: Any, is_kind: Callable[[Any], bool]) -> bool:
    return is_kind(op) or is_kind(getattr(op, "__call__", None))  # noqa: B004


def __getattr__(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    raise ImportError(f"headrace.compat.spdl has no {name}: {see(name)}")

"""Pipelines, as steps of Headrace."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from ....errors import HeadraceError, RecipeError
from ....pipeline import merge, source
from .._missing import INSTEAD
from ._hooks import StageInfo, TaskStatsHook, WhileOpen
from ._queues import StatsQueue, after
from ._region import Lost, Region, workers_of
from ._stages import Failures, PipelineFailure, Stage, Table, aggregator_of, each, elements, grouper
from .defs import (
    MAIN_PROCESS,
    AggregateConfig,
    DisaggregateConfig,
    Generic,
    MergeConfig,
    PathVariantsConfig,
    PipeConfig,
    PlacementConfig,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...._loader.loader import Loader
    from ._hooks import TaskHook
    from .defs import PipelineConfig

__all__ = ["Pipeline", "PipelineFailure", "build_pipeline"]

_numbers = itertools.count()
_MOST = 1000  # items that a loader keeps ready
_NOTICED = 0.2  # seconds without a group, after which an aggregate gives nothing, which notices that its loader was closed
_ITEM: Any = {"fields": "item", "gives": int, "where": "here"}  # a number; where it is said what a step gives, no trial takes items


class _Run:
    """Once through the sources of a pipeline.

    An aggregate needs to know the end of its items, so it reads a loader of the stages before it, and is the source of those after it.
    """

    def __init__(
        self, config: PipelineConfig, threads: int, most: Any, hooks_of: Callable[[StageInfo], Sequence[TaskHook]], queue_of: Any
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="headrace-spdl")
        self._table = Table()
        self._all = Failures(most)
        self._failures = [self._all]  # and those of stages that have a limit of their own
        self._hooks_of, self._hooks = hooks_of, list[Any]()
        self._queue_of, self._queues = queue_of, list[tuple[str, StatsQueue | None]]()  # of the next loader, and after what they are
        self._pipeline_id, self._stages = next(_numbers), itertools.count()
        self._loaders: list[Loader] = []
        try:
            flow, ordered = self._flow(config)
            self._queue("sink", self._info("sink"), config.sink.buffer_size)
            self.last = self._open(flow, ordered, config.sink.buffer_size)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for loader in reversed(self._loaders):
            loader.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def item(self, sample: Any) -> Any:
        """The item of a sample; None: it was dropped."""
        return self._table.take(int(sample["item"]))

    def check(self) -> None:
        """Raise PipelineFailure if too many items have failed."""
        for failures in self._failures:
            failures.check()

    def _flow(self, config: PipelineConfig) -> tuple[Any, bool]:
        """The steps of a pipeline, and whether their results keep their order."""
        if isinstance(config.src, MergeConfig):
            flows, queues = [], list["tuple[str, StatsQueue | None]"]()
            for one in config.src.pipeline_configs:  # each may have loaders of its own: what is left is of the one after the merge
                flows.append(self._flow(one)[0])
                queues += self._queues
                self._queues = []
            self._queues = queues
            flow: Any = merge(flows, order="arrival")
            ordered = False
        else:
            flow, ordered = self._source(self._items(config.src.source)), True
            self._queue("source", self._info("src"))
        target, inside = None, list[Any]()
        for pipe in (*config.pipes, PlacementConfig(MAIN_PROCESS)):
            if isinstance(pipe, PlacementConfig):
                if target is not None:
                    flow = self._away(flow, Region(inside), workers_of(target), "input" if target.ordered else "completion")
                target, inside = pipe.target, []
            elif target is not None:
                inside.append(pipe)
            elif isinstance(pipe, AggregateConfig):
                loader = self._open(flow, ordered, 2)
                flow, ordered = self._source(self._grouped(loader, pipe)), True
                self._queue("source", self._info(pipe.name))
            else:
                flow, keeps = self._with(flow, pipe)
                ordered = ordered and keeps
        return flow, ordered

    def _with(self, flow: Any, pipe: Any, path: bool = False) -> tuple[Any, bool]:
        """The steps with a stage, and whether they keep the order if the loader does."""
        if isinstance(pipe, PathVariantsConfig):
            return self._routed(flow, pipe)
        if isinstance(pipe, AggregateConfig):  # on a path, which has one end for all that comes of it
            return flow.aggregate(grouper(pipe, self._table), fields="item", gives={"item": int}, where="here"), True
        if isinstance(pipe, DisaggregateConfig):
            pipe = PipeConfig(pipe.name, elements)
        if not isinstance(pipe, PipeConfig):
            raise RecipeError(f"headrace: compat.spdl: {getattr(pipe, 'name', pipe)!r} cannot be on a path: put it after path_variants")
        failures = self._failures_of(pipe)
        info = self._info(pipe.name, pipe.concurrency)
        hooks = list(self._hooks_of(info))
        self._queue("step", info)
        self._hooks += hooks
        stage = Stage(pipe, f"{pipe.name} (stage {info.stage_id})", self._table, self._pool, failures, hooks)
        add = flow.flat_map if pipe.several else flow.map
        order = "input" if pipe.concurrency == 1 else pipe.output_order  # one call at a time keeps it
        as_loader = path and order == "completion"  # which a route refuses in its branches
        one = stage.several if pipe.several else stage.one
        return add(one, **_ITEM, workers=pipe.concurrency, order=None if as_loader else order), not as_loader

    def _failures_of(self, pipe: PipeConfig) -> Failures:
        if pipe.max_failures is None:
            return self._all
        self._failures.append(Failures(pipe.max_failures))
        return self._failures[-1]

    def _info(self, name: str, concurrency: int = 1) -> StageInfo:
        return StageInfo(self._pipeline_id, str(next(self._stages)), name, concurrency if concurrency > 1 else None)

    def _queue(self, after: str, info: StageInfo, size: int = 2) -> None:
        if self._queue_of is None:
            self._queues.append((after, None))
            return
        queue = self._queue_of(info, buffer_size=size)
        if not isinstance(queue, StatsQueue):
            raise RecipeError(
                f"headrace: compat.spdl: build: queue_class= must be a StatsQueue: write hr.source, and {INSTEAD['AsyncQueue']}"
            )
        self._queues.append((after, queue))
        self._hooks.append(queue)

    def _routed(self, flow: Any, pipe: PathVariantsConfig) -> tuple[Any, bool]:
        keeps = []

        def branch(path: tuple[Any, ...]) -> Callable[[Any], Any]:
            def add(flow: Any) -> Any:
                flow = flow.select("item")
                for one in path:
                    flow, kept = self._with(flow, one, path=True)
                    keeps.append(kept)
                return flow

            return add

        def router(number: int) -> tuple[int, int]:
            item = self._table.see(number)
            return number, 0 if item is None else pipe.router(item)

        self._queues.append(("step", None))
        chosen = flow.map(router, fields="item", to=["item", "path"], gives={"item": int, "path": int}, where="here", order="input")
        return chosen.route("path", [(i, branch(path)) for i, path in enumerate(pipe.paths)]), all(keeps)

    def _away(self, flow: Any, region: Region, workers: Any, order: str) -> Any:
        failures = [self._failures_of(pipe) for pipe in region.pipes]

        def back(done: tuple[list[int], list[Any]]) -> Iterator[int]:
            calls, results = done
            for of, count in zip(failures, calls):
                of.calls += count
            for result in results:
                if isinstance(result, Lost):
                    failures[result.stage].add(region.pipes[result.stage].name, result.error)
                    failures[result.stage].check()
                else:
                    yield self._table.put(result)

        self._queues += [("step", None)] * 3
        gone = flow.map(self._table.take, fields="item", gives=object, where="here", order=order)
        there = gone.map(region, fields="item", gives=object, where=workers, order=order)
        return there.flat_map(back, **_ITEM, order=order)

    def _source(self, numbers: Callable[[], Iterator[int]]) -> Any:
        return source(numbers, **_ITEM)

    def _items(self, items: Any) -> Callable[[], Iterator[int]]:
        def numbers() -> Iterator[int]:
            for item in each(items):
                yield self._table.put(item)

        return numbers

    def _grouped(self, loader: Loader, pipe: AggregateConfig) -> Callable[[], Iterator[int]]:
        aggregator = aggregator_of(pipe)

        def groups() -> Iterator[int]:
            yielded = time.monotonic()
            for sample in loader:
                item = self.item(sample)
                number = 0 if item is None else self._table.put(aggregator.accumulate(item))
                if number or time.monotonic() - yielded > _NOTICED:
                    yield number
                    yielded = time.monotonic()
            if not pipe.drop_last:
                yield self._table.put(aggregator.flush())

        return groups

    def _open(self, flow: Any, ordered: bool, buffer: int) -> Loader:
        order = "input" if ordered else "completion"
        buffer = min(buffer, _MOST) or _MOST  # 0 is no limit
        hooks, self._hooks = ([WhileOpen(self._hooks)] if self._hooks else []), []
        loader: Loader = flow.loader(epochs=1, rank=0, world_size=1, prefetch=buffer, order=order, fuse=False, hooks=hooks)
        for i, (what, queue) in enumerate(self._queues):
            if queue is not None:
                queue.read = partial(after, loader, what, sum(one == what for one, _ in self._queues[:i]))
        self._queues = []
        self._loaders.append(loader)
        return loader


class Pipeline(Generic):
    """A pipeline that was built: iterate over it, once, or for each epoch if its source is continuous."""

    def __init__(self, config: PipelineConfig, continuous: bool, *given: Any) -> None:
        self._config, self._continuous, self._given = config, continuous, given
        self._run: _Run | None = None
        self._ended = False

    def start(self, *, timeout: float | None = None) -> None:
        """Begin to work, ahead of the first item that is asked for."""
        if self._run is None and not self._ended:
            self._run = _Run(self._config, *self._given)

    def stop(self, *, timeout: float | None = None) -> None:
        """End, and let go of threads. You may call it again."""
        run, self._run = self._run, None
        if run is not None:
            run.close()

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
        while (run := self._run) is not None:
            try:
                sample = run.last.get(timeout)
            except StopIteration:
                self._ended = not self._continuous
                self.stop()
                break
            except HeadraceError as error:
                if isinstance(error, TimeoutError):
                    raise
                self._ended = True
                self.stop()
                run.check()
                raise
            if (item := run.item(sample)) is not None:
                return True, item
        return False, None

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[Any]:
        """Iterate over the items that are left."""
        while (got := self._next(timeout))[0]:
            yield got[1]

    def __iter__(self) -> Iterator[Any]:
        return self.get_iterator()

    def __del__(self, ends: Any = sys.is_finalizing) -> None:
        if not ends():
            self.stop()


def once(pipeline: Pipeline, timeout: float | None = None) -> Iterator[Any]:
    """Iterate over a pipeline, which ends with the loop."""
    with pipeline.auto_stop():
        yield from pipeline.get_iterator(timeout=timeout)


def build_pipeline(
    config: PipelineConfig,
    /,
    *,
    num_threads: int,
    max_failures: Any = -1,
    report_stats_interval: float = -1,
    queue_class: Any = None,
    task_hook_factory: Callable[[StageInfo], Sequence[TaskHook]] | None = None,
    stage_id: int = 0,
    background_tasks: Any = None,
    use_thread_output_queue: bool = False,
) -> Pipeline:
    """A pipeline, with so many threads for functions that are not async. `stage_id` and `use_thread_output_queue` change nothing here."""
    if background_tasks:
        raise RecipeError(
            f"headrace: compat.spdl: build: background_tasks= is not supported: write hr.source, and {INSTEAD['BackgroundTask']}"
        )
    hooks_of = task_hook_factory or (lambda info: [TaskStatsHook(info, report_stats_interval)] if report_stats_interval > 0 else [])
    continuous = not isinstance(config.src, MergeConfig) and config.src.continuous
    return Pipeline(config, continuous, num_threads, max_failures, hooks_of, queue_class)

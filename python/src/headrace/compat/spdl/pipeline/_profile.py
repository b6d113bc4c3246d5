"""The rate of each stage alone."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ....errors import RecipeError
from ._queues import occupied
from ._run import build_pipeline
from ._stages import each
from .defs import AggregateConfig, DisaggregateConfig, PipeConfig, PipelineConfig, SinkConfig, SourceConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_THREADS = (32, 16, 8, 4, 1)


@dataclass
class ProfileStats:
    """A stage with so many threads: items per second, and how much of the time there was one in the queue after it."""

    concurrency: int
    qps: float
    occupancy_rate: float


@dataclass
class ProfileResult:
    """What a stage manages alone."""

    name: str
    stats: Sequence[ProfileStats]


def profile_pipeline(
    cfg: PipelineConfig, num_inputs: int = 1000, *, callback: Callable[[ProfileResult], object] | None = None
) -> list[ProfileResult]:
    """Run each stage alone, with more and fewer threads, on what the stages before it made of the first items."""
    if not isinstance(cfg.src, SourceConfig) or not all(
        isinstance(p, (PipeConfig, AggregateConfig, DisaggregateConfig)) for p in cfg.pipes
    ):
        raise RecipeError("headrace: compat.spdl: profile_pipeline: a chain of pipe, aggregate and disaggregate is needed")
    items = list(itertools.islice(each(cfg.src.source), num_inputs))
    results = []
    for pipe in cfg.pipes:
        stats = []
        for threads in _THREADS if isinstance(pipe, PipeConfig) and pipe.executor is None else (1,):
            one = replace(pipe, concurrency=threads) if isinstance(pipe, PipeConfig) else pipe
            made, seconds, queue = _run(PipelineConfig(SourceConfig(items), [one], SinkConfig(2)), threads)
            stats.append(ProfileStats(threads, len(made) / seconds, occupied(queue)))
        items = made
        results.append(ProfileResult(pipe.name, stats))
        if callback is not None:
            callback(results[-1])
    return results


def _run(config: PipelineConfig, threads: int) -> tuple[list[Any], float, Any]:
    pipeline = build_pipeline(config, num_threads=threads)
    with pipeline.auto_stop():
        begin, run = time.monotonic(), pipeline._run
        made = list(pipeline)
        assert run is not None
        return made, time.monotonic() - begin, run.last.stats()["queues"][-1]

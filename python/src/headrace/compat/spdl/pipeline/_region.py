"""Stages that run in worker processes, one after the other for each item."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...._recipe.workers import Workers
from ....errors import RecipeError
from ._stages import elements
from .defs import DisaggregateConfig, PipeConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from .defs import ProcessPoolExecutorConfig


class Lost:
    """An item that failed in a worker, in the stage of that number."""

    def __init__(self, stage: int, error: Exception) -> None:
        self.stage, self.error = stage, RuntimeError(f"{type(error).__name__}: {error}")  # of a type that the program has


class Region:
    """The stages, called in a worker. Hooks are those of the program, and are not called there."""

    def __init__(self, pipes: Sequence[Any]) -> None:
        for pipe in pipes:
            if not isinstance(pipe, (PipeConfig, DisaggregateConfig)):
                raise RecipeError(f"headrace: compat.spdl: {pipe.name} cannot be between .to(…) and .to(MAIN_PROCESS): put it after that")
            if getattr(pipe, "executor", None) is not None:
                raise RecipeError(f"headrace: compat.spdl: {pipe.name} is in a worker process: leave out executor=")
        self.pipes = [PipeConfig(one.name, elements) if isinstance(one, DisaggregateConfig) else one for one in pipes]

    async def __call__(self, item: Any) -> tuple[list[int], list[Any]]:
        """How often an item had each stage called, and what came of it."""
        calls = [0] * len(self.pipes)
        return calls, [result async for result in self._after(0, item, calls)]

    async def _after(self, stage: int, item: Any, calls: list[int]) -> AsyncIterator[Any]:
        if item is None:
            return
        if stage == len(calls):
            yield item
            return
        calls[stage] += 1
        try:
            async for part in _parts(self.pipes[stage], item):
                async for result in self._after(stage + 1, part, calls):
                    yield result
        except Exception as error:
            yield Lost(stage, error)


async def _parts(pipe: Any, item: Any) -> AsyncIterator[Any]:
    if pipe.several and pipe.later:
        async for part in pipe.op(item):
            yield part
    elif pipe.several:
        for part in pipe.op(item):
            yield part
    else:
        yield (await pipe.op(item)) if pipe.later else pipe.op(item)


def workers_of(target: ProcessPoolExecutorConfig) -> Workers:
    """The processes."""
    initializer = None if target.initializer is None else partial(target.initializer, *target.initargs)
    return Workers(processes=target.max_workers, initializer=initializer)

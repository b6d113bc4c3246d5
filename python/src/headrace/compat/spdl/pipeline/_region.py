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
    """An item that failed in a worker."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name, self.error = name, RuntimeError(f"{type(error).__name__}: {error}")  # of a type that the program has


class Region:
    """The stages, called in a worker."""

    def __init__(self, pipes: Sequence[Any]) -> None:
        for pipe in pipes:
            if not isinstance(pipe, (PipeConfig, DisaggregateConfig)):
                raise RecipeError(f"headrace: compat.spdl: {pipe.name} cannot be between .to(…) and .to(MAIN_PROCESS): put it after that")
            if getattr(pipe, "executor", None) is not None:
                raise RecipeError(f"headrace: compat.spdl: {pipe.name} is in a worker process: leave out executor=")
        self._pipes = [PipeConfig(one.name, elements) if isinstance(one, DisaggregateConfig) else one for one in pipes]

    async def __call__(self, item: Any) -> list[Any]:
        """What comes of an item."""
        return [result async for result in _after(self._pipes, item)]


async def _after(pipes: Sequence[Any], item: Any) -> AsyncIterator[Any]:
    if item is None:
        return
    if not pipes:
        yield item
        return
    try:
        async for part in _parts(pipes[0], item):
            async for result in _after(pipes[1:], part):
                yield result
    except Exception as error:
        yield Lost(pipes[0].name, error)


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

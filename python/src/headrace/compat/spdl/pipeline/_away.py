"""Iterables and pipelines in a process of their own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....pipeline import source
from ._run import build_pipeline, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .defs import PipelineConfig


class _Kept:
    """What a function returns, made once in the process that iterates over it."""

    def __init__(self, function: Callable[[], Iterable[Any]], initializers: Sequence[Callable[[], Any]]) -> None:
        self._function, self._initializers = function, initializers
        self._made: Iterable[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._made is None:
            for initializer in self._initializers:
                initializer()
            self._made = self._function()
        return iter(self._made)


class _Elsewhere:
    """Iterates over what a process iterates over; each loop is one of it."""

    def __init__(self, kept: _Kept, buffer: int, timeout: float | None) -> None:
        self._loader = source(kept, gives=object).loader(epochs=None, rank=0, world_size=1, prefetch=buffer)
        self._timeout = timeout

    def __iter__(self) -> Iterator[Any]:
        iter(self._loader)
        while True:
            try:
                item = self._loader.get(self._timeout)
            except StopIteration:
                return
            yield item


def iterate_in_subprocess(
    fn: Callable[[], Iterable[Any]],
    *,
    buffer_size: int = 3,
    initializer: Callable[[], Any] | Sequence[Callable[[], Any]] | None = None,
    mp_context: Any = None,
    timeout: float | None = None,
    daemon: bool = False,
    arena: Any = None,
) -> Iterable[Any]:
    """Iterate in a process over what `fn()` returns there. `mp_context`, `daemon` and `arena` change nothing here."""
    initializers = [] if initializer is None else [initializer] if callable(initializer) else list(initializer)
    return _Elsewhere(_Kept(fn, initializers), buffer_size, timeout)


class _Built:
    """A pipeline that is built for each loop."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def __iter__(self) -> Iterator[Any]:
        return once(self._build())


def run_pipeline_in_subprocess(
    config: PipelineConfig,
    /,
    *,
    num_threads: int,
    buffer_size: int = 3,
    initializer: Any = None,
    mp_context: Any = None,
    timeout: float | None = None,
    daemon: bool = False,
    arena: Any = None,
    **options: Any,
) -> Iterable[Any]:
    """Run a pipeline in a process; each loop is one epoch. Options are those of `build_pipeline`."""
    build = partial(build_pipeline, config, num_threads=num_threads, **options)
    return iterate_in_subprocess(partial(_Built, build), buffer_size=buffer_size, initializer=initializer, timeout=timeout)


class SharedMemorySegmentPool:
    """Arguments that nothing needs here: arrays cross in shared memory."""

    def __init__(self, *given: Any, **options: Any) -> None:
        pass


SharedMemoryRingBuffer = SharedMemorySegmentPool

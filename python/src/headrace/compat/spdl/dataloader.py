"""Loaders made of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ._missing import missing
from .pipeline import PipelineBuilder, cache_iterator
from .pipeline.defs import Generic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["CacheDataLoader", "DataLoader"]


class DataLoader(Generic):
    """Iterates over a source: each item is preprocessed, then so many are aggregated."""

    def __init__(
        self,
        src: Iterable[Any],
        *,
        preprocessor: Callable[[Any], Any] | None = None,
        batch_size: int | None = None,
        drop_last: bool = False,
        aggregator: Callable[[list[Any]], Any] | None = None,
        transfer_fn: Callable[[Any], Any] | None = None,
        buffer_size: int = 3,
        num_threads: int = 8,
        timeout: float | None = None,
        output_order: str = "completion",
    ) -> None:
        builder = PipelineBuilder().add_source(src)
        if preprocessor is not None:
            builder.pipe(preprocessor, concurrency=num_threads, output_order=output_order)
        if batch_size is not None:
            builder.aggregate(batch_size, drop_last=drop_last)
        if aggregator is not None:
            builder.pipe(aggregator, concurrency=num_threads, output_order=output_order)
        if transfer_fn is not None:
            builder.pipe(transfer_fn)
        self._builder, self._threads, self._timeout = builder.add_sink(buffer_size), num_threads, timeout

    def __iter__(self) -> Iterator[Any]:
        pipeline = self._builder.build(num_threads=self._threads)
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=self._timeout)


class CacheDataLoader(Generic):
    """Iterates over a loader, then over some of its batches again and again."""

    def __init__(self, dl: Iterable[Any], num_caches: int, return_caches_after: int, stop_after: int | None = None) -> None:
        self.dl, self._caches, self._after, self._most = dl, num_caches, return_caches_after, stop_after

    def __iter__(self) -> Iterator[Any]:
        return cache_iterator(self.dl, self._caches, return_caches_after=self._after, stop_after=self._most)

    def __len__(self) -> int:
        return len(self.dl)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dl, name)


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)

"""Loaders made of a pipeline."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import RecipeError
from ._missing import missing, see
from .pipeline import PipelineBuilder, cache_iterator
from .pipeline._run import once
from .pipeline.defs import MAIN_PROCESS, Generic, ProcessPoolExecutorConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["CacheDataLoader", "DataLoader", "PyTorchDataLoader", "get_pytorch_dataloader"]


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
        return once(self._builder.build(num_threads=self._threads), self._timeout)


class _Fetched:
    """Samples of a dataset, collated, in a worker process."""

    def __init__(self, dataset: Any, several: bool, collate: Callable[[Any], Any]) -> None:
        self._dataset, self._several, self._collate = dataset, several, collate

    def __call__(self, index: Any) -> Any:
        return self._collate([self._dataset[i] for i in index] if self._several else self._dataset[index])


class _Batches:
    """Lists of a sampler's numbers."""

    def __init__(self, sampler: Any, size: int, drop_last: bool) -> None:
        self._sampler, self._size, self._drop_last = sampler, size, drop_last

    def __len__(self) -> int:
        return len(range(0, len(self._sampler) - (self._size - 1 if self._drop_last else 0), self._size))

    def __iter__(self) -> Iterator[list[Any]]:
        numbers = iter(self._sampler)
        while batch := list(islice(numbers, self._size)):
            if len(batch) == self._size or not self._drop_last:
                yield batch


class PyTorchDataLoader(Generic):
    """Iterates over a map-style dataset in worker processes; `get_pytorch_dataloader` makes one."""

    def __init__(
        self, dataset: Any, sampler: Any, fetched: _Fetched, workers: int, ordered: bool, timeout: float | None, buffer: int
    ) -> None:
        self.dataset, self._sampler, self._timeout = dataset, sampler, timeout
        target = ProcessPoolExecutorConfig(max_workers=workers, ordered=ordered)
        self._builder = PipelineBuilder().add_source(sampler).to(target).pipe(fetched).to(MAIN_PROCESS).add_sink(buffer)

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return once(self._builder.build(num_threads=1), self._timeout)


def get_pytorch_dataloader(
    dataset: Any,
    batch_size: int | None = 1,
    shuffle: bool = False,
    sampler: Any = None,
    batch_sampler: Any = None,
    num_workers: int = 1,
    collate_fn: Callable[[Any], Any] | None = None,
    pin_memory: bool = False,
    drop_last: bool = False,
    timeout: float | None = None,
    *,
    generator: Any = None,
    prefetch_factor: int = 2,
    in_order: bool = False,
    **options: Any,
) -> PyTorchDataLoader:
    """A loader of PyTorch's kind. `multiprocessing_context` and `worker_init_concurrency` change nothing here."""
    unknown = {name for name, value in options.items() if value} - {"multiprocessing_context", "worker_init_concurrency"}
    if unknown or pin_memory:
        text = ", ".join(sorted(unknown | ({"pin_memory"} if pin_memory else set())))
        raise RecipeError(f"headrace: compat.spdl: get_pytorch_dataloader: {text}: {see('get_pytorch_dataloader')}")
    if batch_sampler is not None and (batch_size is not None or sampler is not None or shuffle or drop_last):
        raise RecipeError(
            "headrace: compat.spdl: get_pytorch_dataloader: batch_sampler= excludes batch_size, sampler, shuffle and drop_last"
        )
    if sampler is not None and shuffle:
        raise RecipeError("headrace: compat.spdl: get_pytorch_dataloader: sampler= and shuffle= exclude each other")
    order = range(len(dataset)) if sampler is None else sampler
    if shuffle:
        from torch.utils.data import RandomSampler

        order = RandomSampler(dataset, generator=generator)
    if batch_size is not None:
        batch_sampler = _Batches(order, batch_size, drop_last)
    several = batch_sampler is not None
    if collate_fn is None:
        from torch.utils.data import default_collate, default_convert

        collate_fn = default_collate if several else default_convert
    order = batch_sampler if several else order
    fetched = _Fetched(dataset, several, collate_fn)
    workers = max(num_workers, 1)
    return PyTorchDataLoader(dataset, order, fetched, workers, in_order, timeout, prefetch_factor * workers)


class CacheDataLoader(Generic):
    """Iterates over a loader, then over some of its batches again and again."""

    def __init__(self, dl: Iterable[Any], num_caches: int, return_caches_after: int, stop_after: int | None = None) -> None:
        self.dl, self._caches, self._after, self._most = dl, num_caches, return_caches_after, stop_after

    def __iter__(self) -> Iterator[Any]:
        return cache_iterator(self.dl, self._caches, return_caches_after=self._after, stop_after=self._most)

    def __len__(self) -> int:
        return len(self.dl)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "dl" or name.startswith("__"):  # asked for before there is one, by copy and pickle
            raise AttributeError(name)
        return getattr(self.dl, name)


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)

"""Descriptions of pipelines and their stages."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn

from ....errors import RecipeError
from .._missing import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Generic:
    """What annotations name with a type in brackets."""

    __class_getitem__: Any = classmethod(GenericAlias)


@dataclass
class SourceConfig(Generic):
    """What is iterated over; if it is continuous, again for each loop."""

    source: Any
    continuous: bool = False


@dataclass
class SinkConfig(Generic):
    """How many items are kept ready."""

    buffer_size: int


@dataclass
class PipeConfig(Generic):
    """A function, or a collection in which items are looked up."""

    name: str
    op: Callable[[Any], Any]
    concurrency: int = 1
    executor: Any = None
    output_order: str = "completion"
    max_failures: Any = None

    @property
    def several(self) -> bool:
        """Whether it makes several items of one."""
        return _is(self.op, inspect.isgeneratorfunction) or (self.later and not _is(self.op, inspect.iscoroutinefunction))

    @property
    def later(self) -> bool:
        """Whether it is async."""
        return _is(self.op, inspect.iscoroutinefunction) or _is(self.op, inspect.isasyncgenfunction)


def _is(op: Callable[..., Any], kind: Callable[[Any], bool]) -> bool:
    return kind(op) or kind(getattr(op, "__call__", None))  # noqa: B004


@dataclass
class AggregateConfig(Generic):
    """Makes lists of n items, or what an aggregator makes of them."""

    name: str
    op: Any
    drop_last: bool = False


@dataclass
class DisaggregateConfig(Generic):
    """Makes items of the elements of each."""

    name: str = "disaggregate"


@dataclass
class PathVariantsConfig(Generic):
    """Sends each item along one of several paths."""

    name: str
    router: Callable[[Any], int]
    paths: tuple[tuple[Any, ...], ...]


@dataclass
class MergeConfig:
    """What several pipelines give, as it comes."""

    pipeline_configs: tuple[PipelineConfig, ...]


@dataclass
class ProcessPoolExecutorConfig:
    """Worker processes for the stages that follow."""

    max_workers: int | None = None
    initializer: Callable[..., object] | None = None
    initargs: tuple[Any, ...] = ()
    ordered: bool = False  # whether results keep the order of items
    mp_context: str | None = None  # changes nothing: these processes are neither forks of the program nor run its main module


@dataclass
class PlacementConfig:
    """Where the stages that follow run: None, in the program."""

    target: ProcessPoolExecutorConfig | None


MAIN_PROCESS = None


@dataclass
class PipelineConfig(Generic):
    """A pipeline: where items come from, its stages, and how many are kept ready."""

    src: SourceConfig | MergeConfig
    pipes: Sequence[Any]
    sink: SinkConfig


class Aggregator:
    """Makes items of several: override both methods. If one returns None, there is no item."""

    def accumulate(self, item: Any) -> Any:
        """Add an item."""
        raise NotImplementedError

    def flush(self) -> Any:
        """What is left at the end."""
        raise NotImplementedError


class Collate(Generic, Aggregator):
    """Lists of n items."""

    def __init__(self, n: int) -> None:
        self.n, self._items = n, list[Any]()

    def accumulate(self, item: Any) -> list[Any] | None:
        """Add an item."""
        self._items.append(item)
        return self.flush() if len(self._items) == self.n else None

    def flush(self) -> list[Any] | None:
        """The items since the last list."""
        items, self._items = self._items, []
        return items or None


def Pipe(
    op: Any,
    /,
    *,
    concurrency: int = 1,
    executor: Any = None,
    name: str | None = None,
    output_order: str = "completion",
    max_failures: Any = None,
) -> PipeConfig:
    """A stage of a function, sync or async, a generator, or what has `__getitem__`."""
    if not callable(op) and not hasattr(op, "__getitem__"):
        raise RecipeError(f"headrace: compat.spdl: pipe: {op!r} cannot be called, and has no __getitem__")
    called = op if callable(op) else op.__getitem__
    config = PipeConfig(str(name or getattr(op, "__name__", type(op).__name__)), called, concurrency, executor, output_order, max_failures)
    if executor is not None and config.later:
        raise RecipeError("headrace: compat.spdl: pipe: executor= is for functions that are not async: leave it out")
    return config


def Aggregate(input: Any, /, *, drop_last: bool = False) -> AggregateConfig:
    """A stage that makes lists of n items, or what an aggregator with `accumulate(item)` and `flush()` gives."""
    return AggregateConfig("aggregate", input, drop_last)


def Disaggregate() -> DisaggregateConfig:
    """A stage that makes items of the elements of each."""
    return DisaggregateConfig()


def PathVariants(
    router: Callable[[Any], int], paths: Sequence[Sequence[Any]], name: str | None = None, batched: bool = False
) -> PathVariantsConfig:
    """A stage that sends each item along the path whose number the router returns."""
    if batched:
        raise RecipeError("headrace: compat.spdl: PathVariants: batched= is not supported: route items before they are aggregated")
    return PathVariantsConfig(name or "path_variants", router, tuple(tuple(path) for path in paths))


def Merge(pipeline_configs: Iterable[PipelineConfig], op: Any = None) -> MergeConfig:
    """A source: what several pipelines give, as it comes."""
    if op is not None:
        raise RecipeError(
            'headrace: compat.spdl: Merge: op= is not supported: write hr.merge([p, q], order="round_robin"), or hr.mix({p: 2, q: 1})'
        )
    return MergeConfig(tuple(pipeline_configs))


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)

"""A pipeline, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ....errors import RecipeError
from .._missing import see
from ._run import Pipeline, build_pipeline
from .defs import Aggregate, Disaggregate, Generic, PathVariants, Pipe, PipelineConfig, PlacementConfig, SinkConfig, SourceConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class PipelineBuilder(Generic):
    """Builds a pipeline, step by step."""

    def __init__(self) -> None:
        self._src: SourceConfig | None = None
        self._pipes: list[Any] = []
        self._sink = SinkConfig(2)

    def add_source(self, source: Iterable[Any] | Any, *, continuous: bool = False) -> PipelineBuilder:
        """Say what is iterated over; with `continuous`, again for each loop."""
        self._src = SourceConfig(source, continuous)
        return self

    def _add(self, pipe: Any) -> PipelineBuilder:
        self._pipes.append(pipe)
        return self

    def pipe(self, op: Any, /, **options: Any) -> PipelineBuilder:
        """Add a function, sync or async, a generator, or what has `__getitem__`; the options are those of `defs.Pipe`."""
        return self._add(Pipe(op, **options))

    def aggregate(self, given: Any, /, *, drop_last: bool = False) -> PipelineBuilder:
        """Make lists of n items, or what an aggregator with `accumulate(item)` and `flush()` gives."""
        return self._add(Aggregate(given, drop_last=drop_last))

    def disaggregate(self) -> PipelineBuilder:
        """Make items of the elements of each."""
        return self._add(Disaggregate())

    def path_variants(
        self, router: Callable[[Any], int], paths: Sequence[Sequence[Any]], name: str | None = None, batched: bool = False
    ) -> PipelineBuilder:
        """Send each item along the path, of stages of `defs`, whose number the router returns."""
        return self._add(PathVariants(router, paths, name, batched))

    def to(self, target: Any, /, *, buffer_size: int = 1) -> PipelineBuilder:
        """Have the stages that follow run in worker processes, or with MAIN_PROCESS in this program again."""
        return self._add(PlacementConfig(target))

    def add_sink(self, buffer_size: int = 3) -> PipelineBuilder:
        """Say how many items are kept ready."""
        self._sink = SinkConfig(buffer_size)
        return self

    def get_config(self) -> PipelineConfig:
        """The description."""
        if self._src is None:
            raise RecipeError("headrace: compat.spdl: build: there is no source: call add_source first")
        return PipelineConfig(self._src, list(self._pipes), self._sink)

    def build(self, *, num_threads: int, **options: Any) -> Pipeline:
        """The pipeline; the options are those of `build_pipeline`."""
        return build_pipeline(self.get_config(), num_threads=num_threads, **options)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"headrace.compat.spdl: PipelineBuilder has no {name}: {see(name)}")

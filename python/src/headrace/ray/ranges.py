"""Ranges of batches: where one begins, as a state, and the batches of one, from a loader of its own."""

from __future__ import annotations

import socket
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .._client.version import version_info
from ..errors import HeadraceError

if TYPE_CHECKING:
    from .._loader.loader import Loader
    from .._loader.lost import LostSample
    from .._loader.run import Run
    from ..pipeline import Pipeline


class Range(NamedTuple):
    """Batches of an epoch that are made together."""

    epoch: int
    first: int  # number of its first batch
    position: int  # that this begins with, in this rank's share of the epoch
    size: int  # batches

    def same(self, other: Range) -> bool:
        """Whether both begin with the same batch."""
        return self[:3] == other[:3]


class One(NamedTuple):
    """A batch of a range."""

    values: dict[str, Any]
    position: int | None  # all below are finished with it; None: all of the range
    lost: list[LostSample]  # that the state after it counts, and the one before does not


class Made(NamedTuple):
    """What became of a range."""

    batches: list[One]
    lost: list[LostSample]  # after the last batch
    error: HeadraceError | None  # after the last batch
    ended: bool  # the range was cut off, or the epoch ended, after the last batch
    uncut: bool  # the range had to go on beyond its places, because some samples were lost
    began: float  # by the clock of the machine that made it
    done: float

    @property
    def bytes(self) -> int:
        """Of all arrays and texts."""
        return sum(map(_size, (value for one in self.batches for value in one.values.values())))


class Course:
    """Which places of an epoch's order a batch takes, where that follows from its number while no sample is lost.

    Attributes:
        batches: of an epoch; with skip at most.
        skip: samples that are lost leave their rows to later ones.
    """

    def __init__(self, opened: dict[str, Any], places: int, skip: bool) -> None:
        self._state = opened["state"]
        ((self.source, self._begin),) = self._state["sources"].items()
        self._places = places  # of a global batch
        self._rows: int = opened["rows"]
        self.share: int = opened["samples_per_epoch"]
        self.batches: int = opened["batches_per_epoch"]
        self.skip = skip

    def begins(self, epoch: int, size: int) -> Range:
        """The first range of an epoch."""
        return Range(epoch, 0, 0, min(size, self.batches))

    def after(self, one: Range, size: int) -> Range | None:
        """The range after another one of which no sample is lost; None: the epoch has no more."""
        first, position = one.first + one.size, one.position + one.size * self._rows
        if position >= self.share if self.skip else first >= self.batches:
            return None
        return Range(one.epoch, first, position, size if self.skip else min(size, self.batches - first))

    def end(self, one: Range, number: int) -> int:
        """The position after so many batches of a range of which no sample is lost."""
        return min(one.position + number * self._rows, self.share)

    def place(self, number: int, position: int, replaced: int) -> dict[str, Any]:
        """A record's place, as the engine has it."""
        place: dict[str, Any] = {"sources": {self.source: {**self._begin, "position": position}}}
        if number:
            place["batches"] = number
        if replaced:
            place["replaced"] = replaced
        return place

    def state(self, one: Range) -> dict[str, Any]:
        """A state of which a range is all that remains of its epoch: the places after it are finished."""
        samples = self._begin["samples"]
        end = one.position + one.size * self._rows if self.skip else (one.first + one.size) * self._places
        source = {**self._begin, "position": one.position, "done": [[end, samples]] if end < samples else []}
        return {**self._state, "epoch": one.epoch, "batches": one.first, "sources": {self.source: source}}

    def exact(self, record: dict[str, Any]) -> dict[str, Any]:
        """The state of feeders at a record of this run."""
        return {**record, **{key: value for key, value in self._state.items() if key not in ("epoch", "sources")}}


class Maker:
    """Makes ranges of batches, on whichever machine it is."""

    def __init__(self, pipeline: Pipeline, config: dict[str, Any]) -> None:
        self._pipeline = pipeline
        self._config = config
        self._loader: Loader | None = None

    def opened(self) -> Loader:
        """The loader here."""
        if self._loader is None:
            self._loader = self._pipeline._start(self._config)
        return self._loader

    def identity(self) -> dict[str, Any]:
        """That of the loader here, the name of its machine, and what its clock says."""
        return {**identity_of(self.opened()._run), "node": socket.gethostname(), "clock": monotonic()}

    def make(self, state: dict[str, Any], count: int, whole: bool) -> Made:
        """The batches of a range. `whole`: they are to be full, although samples are lost: the range goes on beyond its places."""
        began = monotonic()
        loader = self.opened()
        made = self._take(loader, state, count, began)
        if whole and any(not lost.replaced for lost in _all_lost(made)):
            sources = {name: {**source, "done": []} for name, source in state["sources"].items()}
            made = self._take(loader, {**state, "sources": sources}, count, began)._replace(uncut=True)
        return made._replace(done=monotonic())

    def _take(self, loader: Loader, state: dict[str, Any], count: int, began: float) -> Made:
        batches: list[One] = []
        ended, error = False, None
        loader.errors.take()
        try:
            loader.load_state_dict(state)
            loop = iter(loader)
            while not ended and len(batches) < count:
                values = next(loop)
                frontier = loader._run.frontier
                ended = frontier.epoch > state["epoch"]
                (source,) = loader._run.identity.place(frontier)["sources"].values()
                # A copy of each: the engine has few slots, and a range many batches.
                copies = {name: _copied(value) for name, value in values.items()}
                batches.append(One(copies, None if ended else source["position"], loader.errors.take()))
        except StopIteration:
            ended = True
        except HeadraceError as failed:
            error = failed
        return Made(batches, loader.errors.take(), error, ended, False, began, began)

    def close(self) -> None:
        """Let go of the engine."""
        loader, self._loader = self._loader, None
        if loader is not None:
            loader.close()


def identity_of(run: Run) -> dict[str, Any]:
    """What must be the same wherever batches are made: the engine, and a state's keys for the recipe, its order and the decoders."""
    state, about = run.opened["state"], version_info()
    ffmpeg = about.get("ffmpeg") or {}
    return {
        "release": about["package"],
        "engine": f"{about['version']} (commit {about['commit']})",
        "ffmpeg": ffmpeg.get("version"),
        **{key: state[key] for key in ("version", "order", "decoder", "recipe", "world_size", "rank", "sources")},
    }


def _all_lost(made: Made) -> list[LostSample]:
    return [lost for one in made.batches for lost in one.lost] + made.lost


def _copied(value: Any) -> Any:
    return value.copy() if hasattr(value, "flags") else value


def _size(value: Any) -> int:
    size = getattr(value, "nbytes", None)
    return int(size) if size is not None else sum(len(one) for one in value if isinstance(one, (str, bytes)))

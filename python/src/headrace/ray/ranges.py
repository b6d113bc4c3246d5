"""Ranges of batches: where one begins, as a state, and the batches of one, from a loader of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import HeadraceError

if TYPE_CHECKING:
    from .._loader.loader import Loader
    from .._loader.run import Run
    from ..pipeline import Pipeline


class Range(NamedTuple):
    """Batches of an epoch that are made together."""

    epoch: int
    first: int
    size: int


class Course:
    """Which places of an epoch's order are a batch's, where that follows from its number.

    Attributes:
        batches: of an epoch.
    """

    def __init__(self, opened: dict[str, Any]) -> None:
        ((self._source, self._begin),) = opened["state"]["sources"].items()
        self._state = opened["state"]
        self._places = opened["places"]  # of a global batch
        self._rows = opened["rows"]
        self._share = opened["samples_per_epoch"]
        self.batches: int = opened["batches_per_epoch"]

    def after(self, number: int) -> dict[str, Any]:
        """A record's place after so many batches of an epoch, as the engine has it."""
        position = min(number * self._rows, self._share)
        place: dict[str, Any] = {"sources": {self._source: {**self._begin, "position": position}}}
        if number:
            place["batches"] = number
        return place

    def state(self, one: Range) -> dict[str, Any]:
        """A state of which a range is all that remains of its epoch: the places before and after it are finished."""
        samples = self._begin["samples"]
        first, end = one.first * self._places, (one.first + one.size) * self._places
        done = [ends for ends in ([0, first], [end, samples]) if ends[0] < ends[1]]
        return {**self._state, "epoch": one.epoch, "sources": {self._source: {**self._begin, "position": 0, "done": done}}}


class Maker:
    """Makes ranges of batches, on whichever machine it is."""

    def __init__(self, pipeline: Pipeline, config: dict[str, Any]) -> None:
        self._pipeline = pipeline
        self._config = config
        self._loader: Loader | None = None

    def _opened(self) -> Loader:
        if self._loader is None:
            self._loader = self._pipeline._start(self._config)
        return self._loader

    def identity(self) -> dict[str, Any]:
        """That of the loader here."""
        return identity_of(self._opened()._run)

    def make(self, state: dict[str, Any], count: int) -> tuple[list[dict[str, Any]], HeadraceError | None]:
        """The batches of a range, and what went wrong after them."""
        loader = self._opened()
        made: list[dict[str, Any]] = []
        try:
            loader.load_state_dict(state)
            # A copy of each: the engine has few slots, and a range many batches.
            made.extend({name: _copied(value) for name, value in batch.items()} for batch in loader)
        except HeadraceError as error:
            return made, error
        if len(made) != count:
            raise HeadraceError(f"headrace: a range of {count} batches has {len(made)}: do the machines have the same files?")
        return made, None

    def close(self) -> None:
        """Let go of the engine."""
        loader, self._loader = self._loader, None
        if loader is not None:
            loader.close()


def identity_of(run: Run) -> dict[str, Any]:
    """What must be the same wherever batches are made: a state's keys for the recipe, its order and the decoders."""
    state = run.opened["state"]
    return {key: state[key] for key in ("version", "order", "decoder", "recipe", "world_size", "rank", "sources")}


def _copied(value: Any) -> Any:
    return value.copy() if hasattr(value, "flags") else value

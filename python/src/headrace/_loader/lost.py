"""Samples that were lost or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frontier import Place

MOST = 1000  # that are remembered by name


class LostSample:
    """A sample that failed and was left out or replaced.

    Attributes:
        key (str): its name; for files the path as given.
        index (int): its index in the source.
        output (list[int]): which of the samples that `flat_map` and `aggregate` made of it, from 0; empty for the source's own.
        source (str): the name of the source's step in the recipe.
        stage (str): the stage that failed.
        step (str | None): the step that failed, if the stage runs several.
        error (str): why.
        epoch (int): the epoch.
        position (int): its position in this rank's epoch of the source.
        replaced (bool): whether another sample replaced it.
    """

    __slots__ = ("_place", "epoch", "error", "index", "key", "output", "position", "replaced", "source", "stage", "step")

    def __init__(self, told: dict[str, Any]) -> None:
        self.key: str = told["key"]
        self.index: int = told["index"]
        self.output: list[int] = told.get("output", [])
        self.source: str = told["source"]
        self.stage: str = told["stage"]
        self.step: str | None = told.get("step")
        self.error: str = told["error"]
        self.epoch: int = told["epoch"]
        self.position: int = told["position"]
        self.replaced: bool = told.get("replaced", False)
        self._place: str = told.get("place", self.source)  # what states call the source

    def __repr__(self) -> str:
        replaced = ", replaced" if self.replaced else ""
        output = f", output {'.'.join(map(str, self.output))}" if self.output else ""
        return f"<{self.key!r} (index {self.index}{output}){replaced}: {self.step or self.stage}: {self.error}>"


LostSample.__module__ = "headrace"


def place_of(lost: LostSample) -> Place:
    """What makes it one sample of a run."""
    return lost.epoch, lost._place, lost.position, (lost.index, *lost.output)  # a sampler's list is one position


class Errors(Sequence[LostSample]):
    """The samples that were lost or replaced: the first 1,000 in detail, or since `take`; all of them counted.

    Attributes:
        total (int): how many failed.
        replaced (int): how many of these were replaced.
    """

    def __init__(self) -> None:
        self._kept: list[LostSample] = []
        self.total = 0
        self.replaced = 0

    def take(self) -> list[LostSample]:
        """Return those kept, and keep them no longer, so that there is room for others. A program that runs on calls it now and then.

        for lost in loader.errors.take():
            answer(lost.key, lost.error)
        """
        kept = self._kept
        taken = kept[:]
        del kept[: len(taken)]  # of the same list, which another thread may add to
        return taken

    def _add(self, lost: LostSample) -> None:
        """Count one more."""
        self.total += 1
        self.replaced += lost.replaced
        if len(self._kept) < MOST:
            self._kept.append(lost)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: Any) -> Any:
        return self._kept[index]

    def __repr__(self) -> str:
        more = f" and {self.total - len(self._kept)} more" if self.total > len(self._kept) else ""
        replaced = f", {self.replaced} replaced" if self.replaced else ""
        return f"<{self.total - self.replaced} lost{replaced}: {self._kept!r}{more}>"


Errors.__module__ = "headrace"

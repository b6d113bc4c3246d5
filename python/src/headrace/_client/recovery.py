"""What to do when the engine has died under `on_error="skip"` and `"replace"`.

A sample that crashes C code takes the engine with it. Which one it was, the crash page does not say: several may have been in flight.
So the engine is started again at the exact place, on its own and with one operation at a time, until all those samples are finished.
If it crashes again, the one sample in flight is guilty: it is never tried again.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .crash import Death, InFlight

_WITHOUT_PROGRESS = 3  # deaths in a row after which it is given up


class Recovery:
    """Remembers deaths, suspects and the guilty over the life of a loader."""

    def __init__(self, skip: bool, sources: list[dict[str, Any]]) -> None:
        self.quarantine: list[int] = []  # indices of samples that are never tried again
        self.until: tuple[int, dict[str, int]] | None = None  # epoch, and position by source; None: no suspects
        self.deaths = 0  # since the last batch
        self._skip = skip
        self._sources = sources  # as OPENED names them

    def plan(self, death: Death, suspects: list[InFlight], alone: bool) -> str | None:
        """What is done now, in words for a warning; None: nothing can be."""
        if not self._skip or death.limit:  # it would meet the limit again
            return None
        self.deaths += 1
        if not (death.crashed and suspects):
            return "continuing at the same place" if self.deaths <= _WITHOUT_PROGRESS else None
        first = suspects[0]
        if len(suspects) == 1 and alone and first.index not in self.quarantine:
            self.quarantine.append(first.index)
            self.deaths = 0
            return f"{first!r} is the cause, and is left out from now on"
        for suspect in suspects:
            self._suspect(suspect)
        if self.deaths > _WITHOUT_PROGRESS:
            return None
        return f"trying the {len(suspects)} samples that were in flight one at a time"

    def _suspect(self, suspect: InFlight) -> None:
        """Move the place after a suspect."""
        if self.until is None or self.until[0] < suspect.epoch:
            self.until = suspect.epoch, {}
        epoch, positions = self.until
        if epoch == suspect.epoch:
            name = next(source["name"] for source in reversed(self._sources) if source["first"] <= suspect.index)
            positions[name] = max(positions.get(name, 0), suspect.position + 1)

    def serial_until(self) -> dict[str, Any] | None:
        """The place up to which the engine is to try one sample at a time."""
        return None if self.until is None else {"epoch": self.until[0], "positions": self.until[1]}

    def passed(self, epoch: int, sources: dict[str, Any]) -> None:
        """Forget the suspects, if a place is after all of them."""
        if self.until is not None:
            theirs, positions = self.until
            known = all(name in sources for name in positions)  # of a source in lanes or a mix, the whole epoch is tried
            if epoch > theirs or (epoch == theirs and known and all(sources[name]["position"] >= at for name, at in positions.items())):
                self.until = None

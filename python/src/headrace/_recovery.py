"""What to do when the engine has died under `on_error="skip"`.

A sample that crashes C code takes the engine with it. Which one it was, the crash page does not say: several may have been in flight.
So the engine is started again at the exact place, on its own and with one operation at a time, until all those samples are finished.
If it crashes again, the one sample in flight is guilty: it is never tried again.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._crash import Death, InFlight
    from ._frontier import Frontier

_WITHOUT_PROGRESS = 3  # deaths in a row after which it is given up


class Recovery:
    """Remembers deaths, suspects and the guilty over the life of a loader."""

    def __init__(self, skip: bool) -> None:
        self.quarantine: list[int] = []  # indices of samples that are never tried again
        self.serial_until: tuple[int, int] | None = None  # epoch and position; None: no suspects
        self.deaths = 0  # since the last batch
        self._skip = skip

    def plan(self, death: Death, suspects: list[InFlight], alone: bool) -> str | None:
        """What is done now, in words for a warning; None: nothing can be."""
        if not self._skip:
            return None
        self.deaths += 1
        if not (death.crashed and suspects):
            return "going on at the same place" if self.deaths <= _WITHOUT_PROGRESS else None
        first = suspects[0]
        if len(suspects) == 1 and alone and first.index not in self.quarantine:
            self.quarantine.append(first.index)
            self.deaths = 0
            return f"{first!r} is the cause, and is left out from now on"
        last = max((s.epoch, s.position + 1) for s in suspects)
        self.serial_until = max(self.serial_until or last, last)
        if self.deaths > _WITHOUT_PROGRESS:
            return None
        return f"trying the {len(suspects)} samples that were in flight one at a time"

    def passed(self, frontier: Frontier) -> None:
        """Forget the suspects that lie before a place."""
        if self.serial_until is not None and (frontier.epoch, frontier.position) >= self.serial_until:
            self.serial_until = None

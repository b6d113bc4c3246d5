"""State records: where a run stands, and whose run it is."""

from __future__ import annotations

from struct import Struct

from .errors import StateMismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RANGE = Struct("<qq")
_PLACE = ("epoch", "position", "ahead", "lost", "quarantine")  # the rest of a record is its identity

_EXPLAINED = {
    "version": "the form of states has changed",
    "order": "the order of samples is computed by another algorithm, so some samples would come twice and others never",
    "recipe": "it was saved by another pipeline, or with other seeds",
    "samples": "the source has another number of samples",
    "world_size": "positions count one rank's share of the samples",
}


class Frontier:
    """A place between two batches: what lies before it was given out or lost, and so were the ranges ahead."""

    __slots__ = ("ahead", "epoch", "inside", "position")

    def __init__(self, epoch: int, position: int = 0, ahead: bytes = b"", inside: bool = False) -> None:
        self.epoch = epoch
        self.position = position
        self.ahead = ahead  # pairs of 64-bit integers, as BATCH brings them
        self.inside = inside  # a loop has taken batches of this epoch, and there are more

    @classmethod
    def of(cls, state: dict[str, Any]) -> Frontier:
        """The place that a record names."""
        ahead = b"".join(_RANGE.pack(begin, end) for begin, end in state.get("ahead") or ())
        return cls(state["epoch"], state["position"], ahead)

    def ranges(self) -> list[list[int]]:
        """The finished ranges beyond the position."""
        return [[begin, end] for begin, end in _RANGE.iter_unpack(self.ahead)]

    def covers(self, position: int) -> bool:
        """Whether a position of this epoch is finished."""
        return position < self.position or any(begin <= position < end for begin, end in self.ranges())


class Identity:
    """What a run must have in common with the one whose state it takes."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._keys = {key: value for key, value in state.items() if key not in _PLACE}

    def record(self, frontier: Frontier, lost: set[tuple[int, int]], quarantine: list[int]) -> dict[str, Any]:
        """The state record of this run at a place."""
        gone = sorted(position for epoch, position in lost if epoch == frontier.epoch and frontier.covers(position))
        return {
            **self._keys,
            "epoch": frontier.epoch,
            "position": frontier.position,
            "ahead": frontier.ranges(),
            "lost": gone,
            "quarantine": list(quarantine),
        }

    def check(self, state: dict[str, Any]) -> str | None:
        """Raise StateMismatch where going on from a state would be a guess; the return value is a warning."""
        missing = [key for key in (*_EXPLAINED, "epoch", "position") if key not in state]
        if missing:
            raise StateMismatch(f"headrace: this is no state of a loader: it has no {', '.join(map(repr, missing))}")
        for key, why in _EXPLAINED.items():
            if state[key] != self._keys[key]:
                ours = self._keys[key]
                raise StateMismatch(f"headrace: the state does not fit: its {key} is {state[key]!r}, this loader's is {ours!r}: {why}")
        if state.get("decoder") != self._keys.get("decoder"):
            return (
                f"headrace: the state was saved with the decoder {state.get('decoder')!r}, this run has {self._keys.get('decoder')!r}:"
                " pixels may differ by a few levels from here on"
            )
        return None

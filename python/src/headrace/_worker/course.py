"""How far a stream has come that can tell its state, and the way back there.

The object's own state is not believed: many an iterable forgets what it has in a buffer. What is saved is a state from some samples ago,
and digests of the samples before and after it. A run is resumed if the object, with that state, gives those samples again; or else if it
does so from the beginning of the epoch.
"""

from __future__ import annotations

from typing import NamedTuple

from . import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EVERY = 32  # samples between two states, at least
_MOST_EVERY = 256
NEAR = 2 * EVERY  # so few samples are read again from the beginning


class Taken(NamedTuple):
    """A state of the object."""

    position: int  # samples of the epoch before it
    digest: bytes  # of these
    state: str  # as JSON


class Saved(NamedTuple):
    """What was saved of a stream."""

    position: int  # samples of the epoch before it
    digest: bytes  # of these
    taken: Taken | None  # a state at most so far on; None: there is none to be trusted
    state: Any  # that of the object there


def saved(found: Any) -> Saved | None:
    """What was saved, of its JSON; None: it is the state of an object itself, as it was saved once."""
    if not isinstance(found, dict) or "sum" not in found:
        return None
    taken, state = found.get("at"), found.get("state")
    begun = None if taken is None else Taken(taken, bytes.fromhex(found["from"]), "")
    return Saved(found["count"], bytes.fromhex(found["sum"]), begun, state)


class Course:
    """The samples of an epoch so far.

    Attributes:
        distrust: why the object's states are not used; empty: they are.
    """

    def __init__(self, state_of: Callable[[], str], begin: Taken | None = None) -> None:
        """`state_of` is the object's state, as JSON. `begin` is where it goes on."""
        self.state_of = state_of
        self.distrust = ""
        self.count, self.digest = (0, digest.START) if begin is None else (begin.position, begin.digest)
        self.taken = [] if begin is None else [begin]

    def add(self, values: Any) -> None:
        """Note one more sample."""
        self.digest = digest.after(self.digest, values)
        self.count += 1
        # The further it is, the longer is the stretch that is compared: it costs a
        # sixteenth of the epoch so far at most.
        every = min(max(EVERY, 1 << (self.count // 16).bit_length() - 1), _MOST_EVERY) if self.count >= 16 else EVERY
        while len(self.taken) > 1 and self.count - self.taken[1].position >= every:
            del self.taken[0]
        if (self.count == 1 or self.count % every == 0) and not self.distrust:
            self.taken.append(Taken(self.count, self.digest, self.state_of()))

    def text(self) -> str:
        """What is saved after the last sample, as JSON."""
        text = f'{{"count":{self.count},"sum":"{self.digest.hex()}"'
        if self.distrust or not self.taken:
            return text + "}"
        at = self.taken[0]
        return f'{text},"at":{at.position},"from":"{at.digest.hex()}","state":{at.state}}}'

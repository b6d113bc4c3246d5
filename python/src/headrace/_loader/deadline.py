"""A time limit for a call, over everything it waits for."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from .._recipe.arguments import time_limit
from ..errors import NotReady

if TYPE_CHECKING:
    from _thread import RLock

_LONGEST = 1e6  # seconds: what poll and locks can count


class Deadline:
    """The moment until which one call of `Loader.get` waits.

    As a context manager it holds a lock, which it waits for no longer than that.

    Attributes:
        asked: when the program began to wait, if that was before the call.
        waited: whether it has waited before the call.
    """

    asked: int | None = None
    waited = False

    def __init__(self, timeout: Any, lock: RLock) -> None:
        self._seconds = min(time_limit(timeout), _LONGEST)
        self._end = monotonic() + self._seconds
        self._lock = lock
        self._looked = False

    def left(self) -> float:
        """The seconds left."""
        return max(0.0, self._end - monotonic())

    def look(self) -> None:
        """Raise NotReady if the time is over, except in the first call: a limit of 0 takes what has arrived."""
        if self._looked and not self.left():
            self.miss()
        self._looked = True

    def miss(self) -> None:
        """Raise NotReady."""
        raise NotReady(f"headrace: no batch was ready within {self._seconds:g} s; none is lost: the next call gets it")

    def __enter__(self) -> None:
        # The result goes into the list from within C, so that an interrupt between two
        # lines leaves no lock behind.
        got: list[bool] = []
        try:
            got.extend(map(self._lock.acquire, (True,), (self.left(),)))
        except BaseException:
            if got and got[0]:
                self._lock.release()
            raise
        if not got[0]:
            self.miss()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

"""Epochs for the objects of the user that have `set_epoch`."""

from __future__ import annotations

import threading

from .holdings import held_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Epochs:
    """Tells what has `set_epoch` of the epoch, before the first sample of it. No sample of another is in work then, in any thread."""

    def __init__(self, setters: list[Any]) -> None:
        self._setters = setters
        self._epoch: int | None = None
        self._busy = 0  # calls of this epoch
        self._turn = threading.Condition()
        self._later: list[Any] = []  # coroutines that wait, by their futures

    def enter(self, epoch: int) -> None:
        """Begin with a sample."""
        with self._turn:
            while epoch != self._epoch:
                if self._busy:
                    self._turn.wait()
                else:
                    self._tell(epoch)
            self._busy += 1

    async def enter_beside(self, epoch: int) -> None:
        """The same of a coroutine. All that enter are of one event loop."""
        while epoch != self._epoch:
            if self._busy:
                import asyncio

                self._later.append(asyncio.get_running_loop().create_future())
                await self._later[-1]
            else:
                self._tell(epoch)
        self._busy += 1

    def _tell(self, epoch: int) -> None:
        self._epoch = None  # until all of them know
        for setter in self._setters:
            setter(epoch)
        self._epoch = epoch

    def leave(self) -> None:
        """The sample is done."""
        with self._turn:
            self._busy -= 1
            if not self._busy:
                self._turn.notify_all()
                later, self._later = self._later, []
                for future in later:
                    if not future.done():  # it may have been cancelled
                        future.set_result(None)


def epochs_of(*values: Any) -> Epochs | None:
    """Of objects, and what they hold; None: nothing has `set_epoch`."""
    setters = []
    for value in held_by(*values):
        if isinstance(value, type):
            continue
        setter = getattr(type(value), "set_epoch", None)
        if callable(setter):
            setters.append(value.set_epoch)
    return Epochs(setters) if setters else None

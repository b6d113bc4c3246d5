"""Signal handlers wait while a few lines hold what nobody else knows of: a descriptor that has just been opened is lost with them."""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Later:
    """Handlers of Python's that may raise, such as Ctrl-C's, are called when the block is left. Only the main thread has any."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._came: list[int] = []

    def __enter__(self) -> None:
        try:
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        except ValueError:
            self._handlers.clear()  # another thread
        except BaseException:
            self._restore()
            raise

    def _note(self, number: int, _: Any) -> None:
        self._came.append(number)

    def __exit__(self, *_: object) -> None:
        failed = self._restore()
        for number in self._came:
            signal.raise_signal(number)
        if failed is not None:
            raise failed

    def _restore(self) -> BaseException | None:
        """Have the handlers that were there. What one of them raises meanwhile is returned."""
        failed = None
        while True:
            try:
                for number, handler in self._handlers.items():
                    signal.signal(number, handler)
                return failed
            except BaseException as error:
                failed = error

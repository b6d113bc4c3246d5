"""Exceptions of functions that threads of this program call, until the loop learns of them."""

from __future__ import annotations

import contextlib
import inspect
import threading
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ExecutorFailed, HeadraceError, HookFailed
from .errors import user_frames

if TYPE_CHECKING:
    from types import TracebackType

_MOST = 32
_WHOLE = 8  # that keep the variables of their functions, which may be large; and one of each thread
_GOES_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # clearing one that waits would end it


class _One(NamedTuple):
    told: tuple[Any, ...]  # what the engine knows of it
    error: BaseException
    whole: int  # the thread that raised it; 0: the variables of its functions are cleared


class Raised:
    """The last exceptions."""

    def __init__(self) -> None:
        self._last: deque[_One] = deque(maxlen=_MOST)
        self._lock = threading.Lock()  # those of functions keep them, and the loop takes them
        self.loop = 0  # counts them

    def begin(self) -> None:
        """Forget those before a new stream of samples: no loop will learn of them, and they would use up the places of those to come."""
        with self._lock:
            self._last.clear()

    def next_loop(self) -> None:
        """Forget them, and those that calls of an earlier loop still raise."""
        with self._lock:
            self._last.clear()
            self.loop += 1

    def keep(self, e: BaseException, told: dict[str, Any], loop: int) -> None:
        """Keep one for a loop, unless that was left."""
        executor = isinstance(e, ExecutorFailed)  # which raises in frames of libraries alone
        if isinstance(e, (HookFailed, ExecutorFailed)) and e.__cause__ is not None:
            e = e.__cause__
        shown: TracebackType | None = user_frames(e.__traceback__)
        if shown is None and executor:
            shown = e.__traceback__
        if not told["traceback"] or shown is None:
            return
        key = (told["type"], told["message"], told["traceback"])
        # The loop learns of the first by order of samples, which is the first of its thread. Those of other threads, ahead of it, may have
        # been raised before, and must not take its place.
        thread = threading.get_ident()
        with self._lock:
            if loop != self.loop:
                return
            kept = [one.whole for one in self._last if one.whole]
            whole = len(kept) < _WHOLE or thread not in kept
            for one in self._last:
                if not one.whole:
                    _clear(one.error)  # again: what called the function was still running
            self._last.append(_One(key, e.with_traceback(shown), thread if whole else 0))
        if not whole:
            _clear(e)

    def end(self) -> None:
        """Let go of all variables: the loader is closed."""
        with self._lock:
            for one in self._last:
                _clear(one.error)

    def chain(self, error: HeadraceError) -> None:
        """Make the exception that an error tells of its cause."""
        text = getattr(error, "remote_traceback", None)
        if not text:
            return
        # The loop learns of the oldest. Those of later epochs, which may say the same, are for the errors that are still to come.
        with self._lock:
            for i, one in enumerate(self._last):
                kind, message, shown = one.told
                if shown == text and getattr(error, "remote_type", kind) == kind and getattr(error, "remote_message", message) == message:
                    error.__cause__ = one.error
                    for _ in range(i + 1):
                        self._last.popleft()
                    return


def _clear(error: BaseException) -> None:
    """Let go of the variables of what raised an error, and of what called that, which has the arguments."""
    shown = error.__traceback__
    traceback.clear_frames(shown)
    frame = shown.tb_frame.f_back if shown is not None else None
    while frame is not None:
        if not frame.f_code.co_flags & _GOES_ON:
            with contextlib.suppress(RuntimeError):  # it is running
                frame.clear()
        frame = frame.f_back

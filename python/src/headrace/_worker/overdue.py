"""A time limit for one coroutine, which is cancelled, while those beside it go on."""

from __future__ import annotations

import asyncio
import traceback

from .errors import Overdue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any


async def within(seconds: float, call: Awaitable[Any]) -> Any:
    """The result of a call; cancels it, and raises `Overdue`, when it takes longer. No limit where `seconds` is 0."""
    if not seconds:
        return await call
    task = asyncio.ensure_future(call)
    overdue: list[str] = []

    def cancel() -> None:
        overdue.append(_stack_of(task))
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, cancel)
    try:
        result = await task
    except BaseException:
        if not overdue:
            raise
    finally:
        timer.cancel()
    if overdue:  # also where it has swallowed that it was cancelled
        raise Overdue(overdue[0]) from None
    return result


def _stack_of(task: Any) -> str:
    """Where a task waits: its own frame, and those of what it awaits."""
    frames = []
    coroutine = task.get_coro()
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        frames.append((frame, frame.f_lineno))
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return "".join(traceback.StackSummary.extract(iter(frames)).format()).rstrip()

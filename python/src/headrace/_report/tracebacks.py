"""Mistakes and warnings are shown where the user made them: without the lines of this package, whose messages say all there is to know."""

from __future__ import annotations

import functools
import os
import sys
from types import FrameType, FunctionType, TracebackType

from ..errors import HeadraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    E = TypeVar("E", bound=BaseException)
    F = TypeVar("F", bound=Callable[..., Any])
    C = TypeVar("C", bound=type)

_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def brief(error: E) -> E:
    """The same error, with the user's lines alone in its traceback; who raises it adds one."""
    kept = []
    at = error.__traceback__
    while at is not None:
        if not _is_ours(at.tb_frame):
            kept.append(at)
        at = at.tb_next
    for at_user in reversed(kept):
        at = TracebackType(at, at_user.tb_frame, at_user.tb_lasti, at_user.tb_lineno)
    return error.with_traceback(at)


def outside() -> int:
    """The `stacklevel` for who calls `warnings.warn` with this: that of the line which called the package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(frame: FrameType) -> bool:
    return os.path.abspath(frame.f_code.co_filename).startswith(_HERE)


def briefly(function: F) -> F:
    """Has a function raise errors of this package as `brief` makes them."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except HeadraceError as error:
            raise brief(error) from error.__cause__

    return call  # type: ignore[return-value]


def all_briefly(cls: C) -> C:
    """Has all public methods of a class do that."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(cls, name, briefly(member))
    return cls

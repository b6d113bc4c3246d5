"""Exceptions on their way to the engine, with the user's own lines first."""

from __future__ import annotations

import errno
import os
import sys

from ..errors import EXECUTOR_FAILED, HOOK_FAILED, ExecutorFailed, HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep  # this package
_STANDARD = os.path.dirname(os.__file__)
_BEFORE = (
    _OURS,
    "<frozen importlib._bootstrap",
    os.path.join(_STANDARD, "asyncio", ""),
    os.path.join(_STANDARD, "concurrent", ""),
    "uvloop" + os.sep,
)
_MOST = 64 << 10  # characters of a message
_USED_UP = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT}  # no sample is to blame for it


class Ended(Exception):
    """The engine has closed the connection."""


class Misfit(Exception):
    """A result that is not what the step gives."""

    def __init__(self, field: str, message: str, kind: str = "TypeError") -> None:
        super().__init__(message)
        self.field = field
        self.kind = kind


class Overdue(Exception):
    """A coroutine took longer than its time limit."""

    def __init__(self, stack: str) -> None:
        super().__init__("took longer than its time limit")
        self.stack = stack  # where it was


def describe(e: BaseException, function: Any = None) -> dict[str, Any]:
    """Type, message and traceback, and where in the user's code it happened."""
    import traceback

    if isinstance(e, HookFailed):
        assert e.__cause__ is not None
        return {**describe(e.__cause__), "type": HOOK_FAILED, "message": _cut(str(e)), "ends": True}
    if isinstance(e, ExecutorFailed):
        told: dict[str, Any] = describe(e.__cause__) if e.__cause__ is not None else {"where": "", "traceback": "", "field": ""}
        return {**told, "type": EXECUTOR_FAILED, "message": _cut(str(e)), "ends": True}
    if isinstance(e, Overdue):
        return {"where": where_is(function), "type": "TimeoutError", "message": str(e), "traceback": e.stack, "overdue": True}
    if isinstance(e, Misfit):
        return {"where": where_is(function), "type": e.kind, "message": _cut(str(e)), "traceback": "", "field": e.field}
    shown = user_frames(e.__traceback__)
    try:
        text = "".join(traceback.format_exception(type(e), e, shown))
    except Exception as worse:  # an exception whose own __str__ raises
        text = f"{type(e).__name__} (whose text is unavailable: {type(worse).__name__})"
    try:
        message = str(e)
    except Exception as worse:
        message = f"(its text is unavailable: {type(worse).__name__})"
    told = {
        "where": _where(shown),
        "type": type_name(type(e)),
        "message": _cut(message),
        "traceback": _cut(text),
        "field": "",
    }
    if isinstance(e, OSError) and e.errno in _USED_UP:
        told["errno"] = e.errno
    return told


def type_name(kind: type) -> str:
    """The name of a class, with its module where that is not plain."""
    return kind.__qualname__ if kind.__module__ in ("builtins", "__main__", "__mp_main__") else f"{kind.__module__}.{kind.__qualname__}"


def _cut(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MOST else text[: _MOST // 2] + "\n…\n" + text[-_MOST // 2 :]


def user_frames(tb: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not of this package, or of an event loop that it runs."""
    at = tb
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_BEFORE):
        at = at.tb_next
    return at


def _where(tb: TracebackType | None) -> str:
    """The innermost line that is the user's own: no library's."""
    best = None
    at = tb
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if best is None or not _is_library(file):
            best = at
        at = at.tb_next
    if best is None:
        return ""
    code = best.tb_frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return f"{name.rpartition('<locals>.')[2]} ({os.path.basename(code.co_filename)}:{best.tb_lineno})"


_LIBRARIES = tuple(
    {
        os.path.realpath(p) + os.sep
        for p in (os.path.dirname(os.__file__), os.path.join(sys.prefix, "lib"), os.path.join(sys.base_prefix, "lib"))
    }
)


def _is_library(file: str) -> bool:
    if file.startswith(("<frozen ", "<__array_function__")) or "site-packages" in file or "dist-packages" in file:
        return True
    return file.startswith(_OURS) or os.path.realpath(file).startswith(_LIBRARIES)


def where_is(function: Any) -> str:
    """Where a function is, as far as that can be known."""
    import inspect

    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None) or code_of_call(function)
    if code is None:
        return getattr(function, "__qualname__", type(function).__qualname__)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{name.rpartition('<locals>.')[2]} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def place_of(frame: Any) -> str:
    """The user's function that a thread is in, whose innermost frame this is; empty: none."""
    found = ""
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS) and os.path.basename(code.co_filename) != "threading.py":
            found = f"{code.co_name} ({os.path.basename(code.co_filename)}:{frame.f_lineno})"
        frame = frame.f_back
    return found


def code_of_call(function: Any) -> Any:
    """The code of `__call__` of an object."""
    return getattr(type(function).__call__, "__code__", None) if callable(function) else None

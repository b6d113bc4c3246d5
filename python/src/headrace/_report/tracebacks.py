"""Mistakes and warnings are shown where the user made them: without the lines of this package, whose messages say all there is to know."""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
from types import FrameType, FunctionType, TracebackType

from ..errors import HeadraceError, WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    E = TypeVar("E", bound=BaseException)
    F = TypeVar("F", bound=Callable[..., Any])
    C = TypeVar("C", bound=type)
    Line = tuple[str, int, "int | None"]

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


def caller() -> Line | None:
    """The file and the line of the program that called the package, and the column at which the call ends, where Python knows it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return None
    end = None
    if sys.version_info >= (3, 11):
        at = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
        if at[1] == frame.f_lineno:
            end = at[3]
    return frame.f_code.co_filename, frame.f_lineno, end


def code_frame(line: Line, method: str) -> str:
    """The user's line, with carets below the call of a method in it."""
    import linecache

    file, number, end = line
    text = linecache.getline(file, number).rstrip()
    if not text:
        return f"    {file}:{number}"
    code = text.lstrip()
    # Columns are counted in bytes of UTF-8.
    stop = len(text) if end is None else len(text.encode()[:end].decode(errors="ignore"))
    begins = [found.start() for found in re.finditer(rf"\b{method}\(", text[:stop])]
    frame = f"    {file}:{number}\n      {code}"
    if begins and (end is not None or len(begins) == 1):
        begin = begins[-1]
        frame += f"\n      {' ' * (begin - len(text) + len(code))}{'^' * (stop - begin)}"
    return frame


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
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise
            raise _wrong_call(function, args, options, error) from None  # no line of the function has run

    return call  # type: ignore[return-value]


def _wrong_call(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], error: TypeError) -> WrongType:
    """What is wrong with a call whose arguments do not fit the function, and what to write."""
    import inspect

    from .hints import no_argument

    name, parameters = function.__name__, inspect.signature(function).parameters
    unknown = [one for one in options if one not in parameters]
    if unknown:
        return WrongType(no_argument(name, unknown[0], [one for one in parameters if one != "self"]))
    shown = ", ".join(str(one).partition(":")[0] for one in parameters.values() if one.name != "self" and one.default is one.empty)
    what = str(error).partition("() ")[2] or str(error)
    return WrongType(f"{name}() {what}: write {name}({shown or '…'}); help(headrace.{function.__qualname__}) says more")


def all_briefly(cls: C) -> C:
    """Has all public methods of a class do that, and makes those that it inherits its own."""
    for base in reversed(cls.__mro__[:-1]):
        for name, member in list(vars(base).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                called = briefly(member)
                called.__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, called)
    return cls

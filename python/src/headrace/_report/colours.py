"""Colours in errors that end a program, on terminals."""

from __future__ import annotations

import os
import re
import sys

from ..errors import HeadraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def install() -> None:
    """Have uncaught errors of this package in colours, where a person on a terminal wants any (https://no-color.org)."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if wanted and sys.excepthook is sys.__excepthook__ and sys.stderr is not None and sys.stderr.isatty():
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    plain = error.args
    if isinstance(error, HeadraceError) and plain and isinstance(plain[0], str):
        error.args = (_coloured(plain[0]), *plain[1:])
    try:
        sys.__excepthook__(kind, error, traceback)
    finally:
        error.args = plain


def _coloured(message: str) -> str:
    """Where a mistake is in cyan, and the carets below it in red."""
    message = re.sub(r"(?m)^    (\S.*:\d+)$", "    \x1b[36m\\1\x1b[0m", message)
    return re.sub(r"(?m)^( +)(\^+)$", "\\1\x1b[1;31m\\2\x1b[0m", message)

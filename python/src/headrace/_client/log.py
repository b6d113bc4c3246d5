"""What workers print, warn and log, where the program's own would be."""

from __future__ import annotations

import json
import warnings

from .._report.tracebacks import outside
from ..errors import WARNING, HeadraceWarning
from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Any

    from .channel import Channel

_STREAMS = ("stdout", "stderr")


def show(payload: bytes) -> None:
    """Hand on what a LOG frame has.

    What is logged goes to the logger of the step. So do lines that were printed, where logging has been told anything of such a logger
    or shows that level anyway; otherwise they are printed here: who has never heard of logging expects nothing else of a print.
    """
    import logging
    import sys

    told = json.loads(payload)
    level = logging.getLevelName(told["level"])
    if not isinstance(level, int):
        level = logging.INFO
    if told["logger"] == WARNING:
        warnings.warn(told["message"], HeadraceWarning, stacklevel=outside())
        return
    logger = logging.getLogger(f"headrace.worker.{told['stage']}")
    if told["logger"] in _STREAMS and not _is_told(logger, level):
        _print(getattr(sys, told["logger"]), told["message"])
    else:
        logger.log(level, told["message"], extra={"worker_logger": told["logger"]})


def show_waiting(channel: Channel) -> None:
    """Show what has arrived and would be read later."""
    for payload in iter(lambda: channel.find(frames.LOG), None):
        show(payload)


def _is_told(logger: logging.Logger, level: int) -> bool:
    """Whether logging shows this level of a logger, or has been told what to do with it in particular."""
    if logger.isEnabledFor(level) and logger.hasHandlers():
        return True
    while logger.parent is not None:  # above it is the root, which is for everything
        if logger.level or logger.handlers:
            return True
        logger = logger.parent
    return False


def _print(stream: Any, line: str) -> None:
    """Print a line, or nothing where it cannot be printed."""
    if stream is None:
        return
    try:
        try:
            print(line, file=stream)
        except UnicodeEncodeError:
            print(ascii(line)[1:-1], file=stream)
    except (OSError, ValueError):
        pass  # closed

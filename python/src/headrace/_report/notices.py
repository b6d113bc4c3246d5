"""Warnings of the engine: Python's, or lines of JSON for programs that collect logs."""

from __future__ import annotations

import os
import warnings

from ..errors import HeadraceWarning
from .tracebacks import outside


def notice(code: str, message: str) -> None:
    """Warn, at the line of the program that uses the loader; with `HEADRACE_LOG=json` write a line to standard error instead."""
    if os.environ.get("HEADRACE_LOG") != "json":
        warnings.warn(message, HeadraceWarning, stacklevel=outside())
        return
    _write(_json("WARNING", code, message.removeprefix("headrace: ")))


def say(code: str, message: str) -> None:
    """Write a line to standard error that is not a warning."""
    if os.environ.get("HEADRACE_LOG") == "json":
        _write(_json("INFO", code, message))
    else:
        _write(f"headrace: {message}")


def _json(level: str, code: str, message: str) -> str:
    """A line of JSON, with the process and the rank that the environment says."""
    import json
    from datetime import datetime, timezone

    rank = os.environ.get("RANK")
    place = {"pid": os.getpid(), **({} if rank is None else {"rank": rank})}
    at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return json.dumps({"time": at, "level": level, "logger": "headrace", "code": code, "msg": message, **place})


def _write(text: str) -> None:
    import sys

    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # there is none, or it is closed

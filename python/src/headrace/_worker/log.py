"""What a worker logs and warns goes to the engine, line by line, as JSON."""

from __future__ import annotations

import json
import logging
import os
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEVEL = "HEADRACE_WORKER_LOG_LEVEL"  # what the trainer wants to see at least: a number, or a name of logging's
_MOST = 32 << 10  # characters of a message


class _Handler(logging.Handler):
    """Writes a record as a line. `Handler` holds a lock meanwhile, so lines are whole."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self.fd = fd

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            line = {"level": record.levelname, "logger": record.name, "message": text[:_MOST]}
            data = memoryview(json.dumps(line).encode() + b"\n")
            while data:
                data = data[os.write(self.fd, data) :]
        except Exception:
            self.handleError(record)


def install(fd: int) -> None:
    """Send what is logged and warned through a descriptor."""
    root = logging.getLogger()
    root.addHandler(_Handler(fd))
    level: Any = os.environ.get(LEVEL, "INFO")
    try:
        root.setLevel(int(level) if level.isdecimal() else level)
    except ValueError:
        root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    warnings.formatwarning = _format


def _format(message: Any, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
    """A warning on one line, with its place last."""
    return f"{category.__name__}: {message} ({filename}:{lineno})"

"""What a worker logs and warns goes to the engine, line by line, as JSON."""

from __future__ import annotations

import contextvars
import json
import logging
import os
import sys
import threading
import warnings

from ..errors import WARNING, HeadraceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEVEL = "HEADRACE_WORKER_LOG_LEVEL"  # what the trainer wants to see at least: a number, or a name of logging's
_MOST = 32 << 10  # characters of a message


class Voice:
    """Whose function a thread calls, where that changes often: what is set in a context costs more."""

    __slots__ = ("stage",)

    def __init__(self) -> None:
        self.stage = ""


_speaker: contextvars.ContextVar[str | Voice] = contextvars.ContextVar(
    "stage", default=""
)  # whose function this thread, or coroutine, calls


def _speaks() -> str:
    speaker = _speaker.get()
    return speaker.stage if isinstance(speaker, Voice) else speaker


class speaking_for:
    """What this thread, or coroutine, prints and logs meanwhile is of that stage."""

    __slots__ = ("before", "stage")

    def __init__(self, stage: str | Voice) -> None:
        self.stage = stage

    def __enter__(self) -> None:
        self.before = _speaker.set(self.stage)

    def __exit__(self, *_: object) -> None:
        _speaker.reset(self.before)


speak = _speaker.set  # has what this thread, or coroutine, says from now on be of that stage, until `speaking_for` ends


def _write(fd: int, level: str, logger: str, text: str) -> None:
    line = {"stage": _speaks(), "level": level, "logger": logger, "message": text[:_MOST]}
    data = memoryview(json.dumps(line).encode() + b"\n")
    while data:
        data = data[os.write(fd, data) :]


def warn(text: str) -> None:
    """Warn the program, as of what is wrong with its loader."""
    if _fd >= 0:
        _write(_fd, "WARNING", WARNING, text)
    else:  # it is the program
        warnings.warn(text, HeadraceWarning, stacklevel=2)


class _Handler(logging.Handler):
    """Writes a record as a line. `Handler` holds a lock meanwhile, so lines are whole."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self.fd = fd

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            _write(self.fd, record.levelname, record.name, text)
        except Exception:
            self.handleError(record)


class _Stream:
    """Standard output, or error, whose lines begin with their stage. Without a stage they are written unchanged."""

    def __init__(self, stream: Any, fd: int, level: str, logger: str) -> None:
        self._stream = stream
        self._to = (fd, level, logger)
        self._lock = threading.Lock()
        self._begun: dict[str, str] = {}  # lines that have no end yet, by stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        stage = _speaks()
        if not stage:
            return int(self._stream.write(text))
        with self._lock:
            *lines, rest = (self._begun.get(stage, "") + text).split("\n")
            self._begun[stage] = rest
            for line in lines:
                _write(*self._to, line)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)


def several() -> None:
    """Mark what is printed with its function, if there are several."""
    if not isinstance(sys.stdout, _Stream) and _fd >= 0:
        sys.stdout = _Stream(sys.stdout, _fd, "INFO", "stdout")
        sys.stderr = _Stream(sys.stderr, _fd, "WARNING", "stderr")


_fd = -1  # where what is logged goes


def install(fd: int) -> None:
    """Send what is logged and warned through a descriptor."""
    global _fd
    _fd = fd
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

"""Traces: a file of what every worker of a loader does, and when."""

from __future__ import annotations

import atexit
import os
import warnings
from weakref import WeakSet

from .._client.channel import Gone
from .._report.tracebacks import outside
from ..errors import FileError, ForkedLoader, HeadraceError, HeadraceWarning, file_error

_AT_EXIT = 5.0  # seconds that an engine has to complete a file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from .._client.session import Session
    from .run import Run


class Trace:
    """A trace in progress, from `Loader.trace`. `stop()`, the end of a `with` block, or closing the loader ends it.

    Attributes:
        path (str): the file.
        events (int | None): number of events in it; None until it stops, or if the engine died.
        bytes (int | None): its size.
        dropped (int | None): events missing because the disk was too slow.
    """

    def __init__(self, run: Run, path: str) -> None:
        self.path = path
        self.events: int | None = None
        self.bytes: int | None = None
        self.dropped: int | None = None
        self._run: Run | None = run
        self._session = _begin(run, path)

    def stop(self) -> None:
        """Complete the file: `trace.stop()`. You may call it again.

        Raises:
            OSError: if the file could not be written, as on a full disk. The loader goes on.
        """
        if self._run is None:
            return
        told = _end(self._run, self._session)
        self._run = None
        if told is None:
            warnings.warn(
                f"headrace: the trace {self.path} ends early, with its engine: its last tenth of a second may be missing",
                HeadraceWarning,
                stacklevel=outside(),
            )
            return
        _raise_if_refused(told, self.path)
        self.events, self.bytes, self.dropped = told["events"], told["bytes"], told["dropped"]
        if self.dropped:
            warnings.warn(_slow(self.path, self.dropped), HeadraceWarning, stacklevel=outside())

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "being written" if self._run is not None else "ended early" if self.events is None else f"{self.events:,} events"
        return f"<headrace.Trace {self.path!r}: {state}>"


Trace.__module__ = "headrace"


def _begin(run: Run, path: str) -> Session:
    def begin(session: Session) -> Session:
        _raise_if_refused(session.trace(path), path)
        return session

    with run.lock:
        session = run.ask("cannot begin a trace", begin)
        _end_at_exit(run)
        return session


def _end(run: Run, session: Session) -> dict[str, Any] | None:
    """End a session's trace unless the session has. None: the engine died before."""
    if run.refused is ForkedLoader:
        run.refuse()
    with run.lock:
        if run.inside:
            raise HeadraceError("headrace: a signal handler within next() cannot stop a trace")
        if run.session is not session or not session.tracing:
            return session.traced
        try:
            return session.end_trace()
        except Gone:
            return None  # the next batch will tell


def _at_exit(run: Run) -> Session | None:
    """Complete a running trace at the program's end, unless a thread is in next(). Returns the session if it did."""
    if run.refused is not None or not run.lock.acquire(timeout=1):
        return None
    try:
        session = run.session
        if session is None or run.inside or not session.tracing:
            return None
        session.end_trace(_AT_EXIT)
        return session
    except Gone:
        return None
    finally:
        run.lock.release()


def _raise_if_refused(told: dict[str, object], path: str) -> None:
    """Raise a TRACED frame's error."""
    reason = told.get("error")
    if reason:
        text = f"headrace: the trace cannot be written: {reason}"
        number = told.get("errno")
        raise file_error(number, text, path) if isinstance(number, int) and number else FileError(f"{text}: {path!r}")


def warn_if_incomplete(session: Session) -> None:
    """Warn if a trace ended with its session and misses events."""
    told = session.traced or {}
    text = ""
    if told.get("error"):
        text = f"headrace: the trace {session.trace_path} cannot be written: {told['error']}"
    elif told.get("dropped"):
        text = _slow(session.trace_path, told["dropped"])
    if text:
        warnings.warn(text, HeadraceWarning, stacklevel=outside())


def _slow(path: str, dropped: int) -> str:
    return f"headrace: {dropped:,} events are missing in the trace {path}: the disk was too slow"


_traced: WeakSet[Run] = WeakSet()  # runs that are, or were


def _end_at_exit(run: Run) -> None:
    """Complete a run's trace at the program's end."""
    if not _traced:
        atexit.unregister(_end_all)
        atexit.register(_end_all)
    _traced.add(run)


def _end_all() -> None:
    for run in list(_traced):
        session = _at_exit(run)
        if session is not None:
            warn_if_incomplete(session)


def absolute(path: str | os.PathLike[str] | bytes) -> str:
    """The file's absolute path: the engine's current directory may differ."""
    return os.path.abspath(os.fsdecode(path))

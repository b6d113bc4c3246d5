"""Traces: a file of what every worker of a loader does, at what time."""

from __future__ import annotations

import atexit
import os
import warnings
from weakref import WeakSet

from .._report.tracebacks import outside
from ..errors import FileError, HeadraceWarning, file_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from .._client.session import Session
    from .loader import Loader


class Trace:
    """A trace that is being written: `Loader.trace` begins it, and `stop()`, the end of a `with` block, or closing the loader ends it.

    Attributes:
        path (str): the file.
        events (int | None): how many events are in it; None until it was stopped, and where the engine died before.
        bytes (int | None): how large it is.
        dropped (int | None): how many events are missing, because the disk was slower than what happened.
    """

    def __init__(self, loader: Loader, path: str) -> None:
        self.path = path
        self.events: int | None = None
        self.bytes: int | None = None
        self.dropped: int | None = None
        self._loader: Loader | None = loader
        self._session: Session = loader._begin_trace(path)

    def stop(self) -> None:
        """Complete the file. May be called again.

        Raises:
            OSError: if it could not be written, because the disk is full for instance. The loader goes on.
        """
        if self._loader is None:
            return
        told = self._loader._end_trace(self._session)
        self._loader = None
        if told is None:
            warnings.warn(
                f"headrace: the trace {self.path} ends early, where its engine did: a tenth of a second may be missing, and the bracket",
                HeadraceWarning,
                stacklevel=outside(),
            )
            return
        raise_if_refused(told, self.path)
        self.events, self.bytes, self.dropped = told["events"], told["bytes"], told["dropped"]
        if self.dropped:
            warnings.warn(_slow(self.path, self.dropped), HeadraceWarning, stacklevel=outside())

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "being written" if self._loader is not None else "ended early" if self.events is None else f"{self.events:,} events"
        return f"<headrace.Trace {self.path!r}: {state}>"


Trace.__module__ = "headrace"


def raise_if_refused(told: dict[str, object], path: str) -> None:
    """Raise what a TRACED frame says went wrong."""
    reason = told.get("error")
    if reason:
        text = f"headrace: the trace cannot be written: {reason}"
        number = told.get("errno")
        raise file_error(number, text, path) if isinstance(number, int) and number else FileError(f"{text}: {path!r}")


def warn_if_incomplete(session: Session) -> None:
    """Warn of a trace that ended with its session and has not all that happened."""
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


_traced: WeakSet[Loader] = WeakSet()  # loaders that are, or were


def end_at_exit(loader: Loader) -> None:
    """Complete the loader's trace when the program ends and has not."""
    if not _traced:
        atexit.unregister(_end_all)
        atexit.register(_end_all)
    _traced.add(loader)


def _end_all() -> None:
    for loader in list(_traced):
        session = loader._trace_at_exit()
        if session is not None:
            warn_if_incomplete(session)


def absolute(path: str | os.PathLike[str] | bytes) -> str:
    """The file's whole name: the engine may have been started in another folder."""
    return os.path.abspath(os.fsdecode(path))

"""Every error and warning of Headrace.

Errors derive from `HeadraceError` and from the built-in exception that fits. A message says what failed, where, why, and what to do;
attributes hold the same facts for programs.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._client.crash import InFlight

__all__ = [
    "EngineDied",
    "EngineFailed",
    "EngineNotFound",
    "EpochTooShort",
    "EpochsExhausted",
    "ExecutorFailed",
    "FeedClosed",
    "FileError",
    "ForkedLoader",
    "FunctionFailed",
    "HeadraceError",
    "HeadraceWarning",
    "HeldBatches",
    "HookFailed",
    "LoaderClosed",
    "LoopEnded",
    "MediaError",
    "MemoryRefused",
    "NoSuchArray",
    "NoSuchField",
    "NoSuchName",
    "NoSuchRow",
    "NotInstalled",
    "NotReady",
    "ProtocolError",
    "RankFailed",
    "RecipeError",
    "SampleError",
    "SourceError",
    "StateMismatch",
    "TooManyErrors",
    "WrongType",
    "WrongValue",
]


class HeadraceError(Exception):
    """The base of all errors that Headrace raises."""

    def as_dict(self) -> dict[str, Any]:
        """Return the error as plain JSON, for logs and programs.

            print(json.dumps(error.as_dict()))

        `type` is its class, `builtin` the built-in exceptions that it also is, and `message` its text. Then come the attributes that it
        has, such as `stage`, `key` and `index`, and its `cause`. `headrace schema error` prints the JSON Schema: keys may be added, none
        will go.

        Returns:
            A dict of text, numbers, lists and dicts.
        """
        from ._report.facts import facts_of

        return facts_of(self, RemoteTraceback)


class HeadraceWarning(UserWarning):
    """The category of all warnings from Headrace."""


class WrongType(HeadraceError, TypeError):
    """An argument has an unusable type, or an object does not support the operation."""


class WrongValue(HeadraceError, ValueError):
    """An argument has an unusable value."""


class NoSuchArray(HeadraceError, KeyError):
    """An archive has no array of this name."""

    __str__ = Exception.__str__  # that of KeyError puts the message in quotes


class NoSuchField(HeadraceError, KeyError):
    """A batch has no field of this name, or statistics no such key."""

    __str__ = Exception.__str__


class NoSuchName(HeadraceError, AttributeError):
    """A pipeline, loader, batch or the package has no such attribute; the message says what to write instead."""


class NotInstalled(HeadraceError, ModuleNotFoundError):
    """A package that batches need, such as PyTorch for tensors, is not installed."""


class NoSuchRow(HeadraceError, IndexError):
    """A batch has no row with this number."""


class FunctionFailed(HeadraceError, RuntimeError):
    """Your function, called on a batch, raised an exception that would have ended the loop silently."""


HOOK_FAILED = "headrace.HookFailed"  # how workers tell of one
EXECUTOR_FAILED = "headrace.ExecutorFailed"  # likewise
STATE_MISMATCH = "headrace.errors.StateMismatch"  # likewise
WARNING = "headrace.HeadraceWarning"  # likewise, as the name of a logger


class _Remote(HeadraceError, RuntimeError):
    """Of what was raised beside the functions."""

    def __init__(self, message: str, *, remote_traceback: str | None = None) -> None:
        super().__init__(message)
        self.remote_traceback = remote_traceback
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)


class HookFailed(_Remote):
    """A hook raised an exception, which ended the run.

    Attributes:
        remote_traceback (str | None): the worker's traceback, if it was in a worker.
    """


class ExecutorFailed(_Remote):
    """An executor given as `where=` takes no more calls, which ended the run: it was shut down, or lost its processes.

    Its `__cause__` is the exception that the executor raised.

    Attributes:
        remote_traceback (str | None): the text of it.
    """


class FileError(HeadraceError, OSError):
    """A file cannot be opened, read or written. It is also a `FileNotFoundError` or `PermissionError` if that is the cause."""

    def __reduce__(self) -> tuple[Any, ...]:
        return file_error, (self.errno, self.strerror, self.filename)  # its kinds are all called FileError, so pickle would not find them


class _FileMissing(FileError, FileNotFoundError):
    __doc__ = FileError.__doc__


class _FileForbidden(FileError, PermissionError):
    __doc__ = FileError.__doc__


class _FileIsFolder(FileError, IsADirectoryError):
    __doc__ = FileError.__doc__


class _FileInNoFolder(FileError, NotADirectoryError):
    __doc__ = FileError.__doc__


for _kind in (_FileMissing, _FileForbidden, _FileIsFolder, _FileInNoFolder):
    _kind.__name__ = _kind.__qualname__ = "FileError"  # what a traceback says

_KINDS_OF_FILE_ERROR = {
    FileNotFoundError: _FileMissing,
    PermissionError: _FileForbidden,
    IsADirectoryError: _FileIsFolder,
    NotADirectoryError: _FileInNoFolder,
}


def file_error(number: int, text: str, path: object) -> FileError:
    """The operating system's error with this number."""
    return _KINDS_OF_FILE_ERROR.get(type(OSError(number, text)), FileError)(number, text, path)


def opened(path: Any) -> tuple[io.FileIO, str]:
    """Open a file to read, unbuffered. Returns it, and "pipe" or "device" unless it is a regular file.

    This never blocks, while `open` waits until a pipe has a writer.
    """

    def opener(name: Any, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)

    try:
        with reading(path):
            file = open(path, "rb", 0, opener=opener)  # noqa: SIM115
    except ValueError:  # of a path with a zero byte
        raise file_error(errno.EINVAL, os.strerror(errno.EINVAL), path) from None
    mode = os.fstat(file.fileno()).st_mode
    return file, "" if stat.S_ISREG(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"


class reading:
    """A context that turns errors about a file into this package's."""

    def __init__(self, path: Any) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, HeadraceError):
            return
        if isinstance(error, OSError):
            raise file_error(error.errno or 0, error.strerror or str(error), self._path) from None
        if isinstance(error, MemoryError):
            raise MemoryRefused(f"headrace: {os.fsdecode(self._path)!r}: no memory for it: {error or 'the system refuses more'}") from None


_REMEDIES = {  # as internal/machine/unwritten.go has them
    errno.ENOSPC: "the file system is full: free some space, or write elsewhere",
    errno.EDQUOT: "the quota of the file system is used up: free some space, or write elsewhere",
    errno.EFBIG: "files may not become larger than this: raise the limit (ulimit -f), or write elsewhere",
    errno.EROFS: "the file system is read-only: write elsewhere, or see the kernel's log for errors of the disk",
    errno.EIO: "the disk fails: see the kernel's log, and write elsewhere",
}


def write_file(path: Any, content: bytes) -> None:
    """Write a file. On failure a new file is removed."""
    made = not os.path.lexists(path)
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        if made:
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise unwritten(error.errno or 0, error.strerror or str(error), path) from None


def unwritten(number: int, reason: str, path: object) -> FileError:
    """The error for a file that cannot be written, with a remedy."""
    remedy = _REMEDIES.get(number)
    if remedy is not None:
        reason = f"headrace: the file cannot be written: {reason[:1].lower()}{reason[1:]}; {remedy}"
    return file_error(number, reason, path)


class RecipeError(HeadraceError, ValueError):
    """The pipeline or the loader's settings cannot work; nothing ran."""


class SourceError(HeadraceError, OSError):
    """Samples could not be listed: a folder is missing or unreadable, or nothing matches the pattern."""


class SampleError(HeadraceError):
    """A sample failed, and `on_error` is `"raise"`.

    With `where="here"` the exception itself is the `__cause__`.

    Attributes:
        stage (str | None): the stage that failed.
        step (str | None): the step that failed, if the stage runs several.
        source (str | None): the name of the source's step in the recipe.
        key (str | None): the sample's name; for files the path as given.
        index (int | None): its index in the source.
        output (list[int]): which of the samples that `flat_map` and `aggregate` made of it, from 0: `[3]`, or `[3, 1]` after two such
            steps; empty for the source's own.
        epoch (int | None): the epoch.
        position (int | None): its position in this rank's epoch of the source.
        remote_type (str | None): type of the exception that a function raised in a worker, such as `"ValueError"`.
        remote_message (str | None): its text.
        remote_traceback (str | None): its traceback.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str | None = None,
        step: str | None = None,
        source: str | None = None,
        key: str | None = None,
        index: int | None = None,
        output: list[int] | None = None,
        epoch: int | None = None,
        position: int | None = None,
        remote_type: str | None = None,
        remote_message: str | None = None,
        remote_traceback: str | None = None,
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.step = step
        self.source = source
        self.key = key
        self.index = index
        self.output = output or []
        self.epoch = epoch
        self.position = position
        self.remote_type = remote_type
        self.remote_message = remote_message
        self.remote_traceback = remote_traceback
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)


class RemoteTraceback(Exception):  # as in Python's own libraries
    """Shows a worker's traceback above the error it caused."""

    def __str__(self) -> str:
        return f"\n{self.args[0].rstrip()}\n"


class MediaError(HeadraceError, ValueError):
    """An input of `headrace.io` is not a valid image or array, or what you asked for is impossible.

    Attributes:
        index (int | None): which of several inputs failed.
        key (str | None): its path, if it has one.
    """

    def __init__(self, message: str, *, index: int | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.index = index
        self.key = key


class TooManyErrors(SampleError):
    """More samples failed than `max_errors` allows with `on_error="skip"` or `"replace"`. The attributes describe the last one."""


class HeldBatches(HeadraceError):
    """Batches that your program still holds fill `hold_limit`.

    `next()` works again once you drop some.
    """


class MemoryRefused(HeadraceError, MemoryError):
    """The operating system refused memory or a descriptor; the message names the limit to raise."""


class EngineNotFound(HeadraceError, FileNotFoundError):
    """The engine's program is missing from the package."""


class EngineFailed(HeadraceError):
    """The engine reported an internal failure."""


class ProtocolError(HeadraceError):
    """Client and engine do not understand each other; most likely their versions differ."""


class EngineDied(HeadraceError):
    """The engine's process ended by itself.

    Attributes:
        status (str): how it ended, such as `"killed by SIGKILL"`.
        out_of_memory (bool): whether the kernel killed it for lack of memory.
        last_words (str): the end of its standard error.
        in_flight (list[InFlight]): this loader's samples in C code at the time; after a crash, one of them is the likely cause.
    """

    def __init__(
        self,
        message: str,
        *,
        status: str = "",
        out_of_memory: bool = False,
        last_words: str = "",
        in_flight: list[InFlight] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.out_of_memory = out_of_memory
        self.last_words = last_words
        self.in_flight: list[InFlight] = in_flight or []


class LoaderClosed(HeadraceError, RuntimeError):
    """The loader is closed and makes no more batches. Those you have stay valid."""


class FeedClosed(HeadraceError, RuntimeError):
    """An item was put into an `hr.Feed` that is closed, or whose loader is. It was not put."""


class ForkedLoader(HeadraceError, RuntimeError):
    """A loader, or an `hr.Feed`, was used in a forked child of its process."""


class LoopEnded(HeadraceError, RuntimeError):
    """`next()` was called on a loop that a newer loop, `set_epoch` or `load_state_dict` ended."""


class NotReady(HeadraceError, TimeoutError):
    """No batch was ready within the `timeout` of `Loader.get`: none is lost, and the next call gets it. Or `Feed.put` found no place."""


class EpochsExhausted(HeadraceError, RuntimeError):
    """All `epochs` were run."""


class RankFailed(HeadraceError, RuntimeError):
    """Another rank failed, ended or is at another place, while ranks agree on how many batches they have, or tell their statistics."""


class EpochTooShort(HeadraceError):
    """An epoch had fewer batches than `steps_per_epoch` promises to the other ranks."""


class StateMismatch(HeadraceError, ValueError):
    """A state belongs to another pipeline, source or world size, so you cannot resume from it."""

"""Every error that Headrace raises, and the category of its warnings.

All of them derive from `HeadraceError`, and from the built-in exception that fits. A message says what failed, at which stage and
sample, why, and what to do; the same facts are in attributes, for programs.
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


class HeadraceWarning(UserWarning):
    """The category of all warnings that Headrace gives."""


class WrongType(HeadraceError, TypeError):
    """An argument has a type that cannot be used, or an object cannot do what was asked of it."""


class WrongValue(HeadraceError, ValueError):
    """An argument has a value that cannot be used."""


class NoSuchArray(HeadraceError, KeyError):
    """An archive has no array of this name."""

    __str__ = Exception.__str__  # that of KeyError puts the message in quotes


class NoSuchField(HeadraceError, KeyError):
    """A batch has no field of this name."""

    __str__ = Exception.__str__


class NoSuchName(HeadraceError, AttributeError):
    """Pipelines, batches or the package have no attribute of this name; the message says what to write instead."""


class NotInstalled(HeadraceError, ModuleNotFoundError):
    """The package of a framework that batches are to be for is not installed."""


class NoSuchRow(HeadraceError, IndexError):
    """A batch has no row of this number."""


class FunctionFailed(HeadraceError, RuntimeError):
    """A function of the program, called on a batch, raised what would have ended the loop without a word."""


HOOK_FAILED = "headrace.HookFailed"  # how workers tell of one


class HookFailed(HeadraceError, RuntimeError):
    """A hook raised an exception, which ended the run.

    Attributes:
        remote_traceback (str | None): where that was in a worker, its traceback, as the worker had it.
    """

    def __init__(self, message: str, *, remote_traceback: str | None = None) -> None:
        super().__init__(message)
        self.remote_traceback = remote_traceback
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)


class FileError(HeadraceError, OSError):
    """A file cannot be opened, read or written. It is a `FileNotFoundError` or `PermissionError` too where that is the cause."""

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
    """The error of the operating system with this number."""
    return _KINDS_OF_FILE_ERROR.get(type(OSError(number, text)), FileError)(number, text, path)


def opened(path: Any) -> tuple[io.FileIO, str]:
    """A file to read, without a buffer; and what it is where it is no regular one: a pipe, a device.

    Opening does not wait: for a pipe, `open` would do so until somebody writes into it.
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
    """A context in which what goes wrong with a file is an error of this package."""

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
    """Make a file of its content. Half a file is not left, unless there was one before."""
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
    """The error about a file that cannot be written, with what to do about it."""
    remedy = _REMEDIES.get(number)
    if remedy is not None:
        reason = f"headrace: the file cannot be written: {reason[:1].lower()}{reason[1:]}; {remedy}"
    return file_error(number, reason, path)


class RecipeError(HeadraceError, ValueError):
    """The pipeline or the loader's settings cannot work; nothing was run."""


class SourceError(HeadraceError, OSError):
    """The samples could not be listed: a folder is missing or unreadable, or nothing fits the pattern."""


class SampleError(HeadraceError):
    """A sample failed, and `on_error` is `"raise"`.

    Attributes:
        stage (str | None): the stage that failed.
        step (str | None): the step that failed, where the stage carries out several.
        source (str | None): the name of the source's step in the recipe.
        key (str | None): the sample's name; for files the path as given.
        index (int | None): its index in the source.
        output (list[int]): which of the samples that `flat_map` and `aggregate` made of it, counted from 0: `[3]`, and `[3, 1]` after two
            such steps; empty where it is the source's own.
        epoch (int | None): the epoch.
        position (int | None): its position in this rank's epoch of the source.
        remote_type (str | None): of what a function of the program raised in a worker, its type, such as `"ValueError"`.
        remote_message (str | None): likewise, its text.
        remote_traceback (str | None): likewise, the traceback, as the worker had it.

    Of a step with `where="here"` the exception itself is the `__cause__`.
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
    """Shows a worker's traceback above the error that comes of it."""

    def __str__(self) -> str:
        return f"\n{self.args[0].rstrip()}\n"


class MediaError(HeadraceError, ValueError):
    """A function of `headrace.io` was given what cannot be read as an image or array, or asked for what cannot be.

    Attributes:
        index (int | None): which of several inputs it is about.
        key (str | None): the path of that input, if it has one.
    """

    def __init__(self, message: str, *, index: int | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.index = index
        self.key = key


class TooManyErrors(SampleError):
    """Under `on_error="skip"` or `"replace"`, more samples failed than `max_errors` allows. The attributes name the last of them."""


class HeldBatches(HeadraceError):
    """The batches that the program still holds fill the memory that `hold_limit` gives them.

    `next()` works again as soon as some of them are let go.
    """


class MemoryRefused(HeadraceError, MemoryError):
    """The operating system refused memory or a descriptor; the message names the limit to raise."""


class EngineNotFound(HeadraceError, FileNotFoundError):
    """The engine's program is not where the package expects it."""


class EngineFailed(HeadraceError):
    """The engine reported a failure of its own."""


class ProtocolError(HeadraceError):
    """Client and engine do not understand each other; most likely their versions differ."""


class EngineDied(HeadraceError):
    """The engine's process ended by itself.

    Attributes:
        status (str): how it ended, such as `"killed by SIGKILL"`.
        out_of_memory (bool): whether the kernel ended it because memory was short.
        last_words (str): the end of what it wrote to standard error.
        in_flight (list[InFlight]): samples of this loader that C code was working on; after a crash, one of them is the likely cause.
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
    """The loader was closed. Batches that it gave stay valid; there will be no more."""


class ForkedLoader(HeadraceError, RuntimeError):
    """A loader was used in a forked child of the process that made it."""


class LoopEnded(HeadraceError, RuntimeError):
    """`next()` was called on a loop that a newer loop, `set_epoch` or `load_state_dict` had ended."""


class NotReady(HeadraceError, TimeoutError):
    """No batch was ready within the `timeout` of `Loader.get`. None is lost: the next call gets it."""


class EpochsExhausted(HeadraceError, RuntimeError):
    """All epochs that `epochs` asked for were run."""


class EpochTooShort(HeadraceError):
    """An epoch ended before it had the batches that `steps_per_epoch` promises to the other ranks."""


class StateMismatch(HeadraceError, ValueError):
    """A state belongs to another pipeline, source or world size; going on from it would be a guess."""

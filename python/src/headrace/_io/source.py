"""Sources that callers give, and errors that the engine answers with."""

from __future__ import annotations

import os
from operator import index
from typing import Any

import numpy

from .._recipe.arguments import in_store, shown
from ..errors import EngineFailed, FileError, MediaError, MemoryRefused, WrongType, file_error
from .packets import Packets
from .session import Input

MAX_BYTES = 1 << 30  # of a file, where nothing is said
_PIECE = 1 << 20  # bytes that an object is asked for first


def whole(name: str, value: Any) -> int | None:
    """A number of pixels or bytes, or None."""
    try:
        return None if value is None else index(value)
    except TypeError:
        raise WrongType(f"headrace: io: {name} is {value!r}: must be a whole number") from None


def source_of(name: str, src: Any, max_bytes: int | None) -> Input:
    """What a source is to the engine."""
    if isinstance(src, (str, os.PathLike)):
        path = os.fsencode(src)
        if b"\0" in path:
            raise MediaError(f"headrace: {name}: a path with a zero byte: {src!r}")
        return Input(None, path if in_store(os.fsdecode(path)) else os.path.join(os.getcwdb(), path), os.fsdecode(path))
    if isinstance(src, Packets):
        return Input(src._data, None, None)
    read = getattr(src, "read", None)
    file = None
    if read is not None and not isinstance(src, (bytes, bytearray, memoryview)) and not hasattr(src, "find"):  # mmap has both
        file = getattr(src, "name", None)
        src = _read(name, read, whole("max_bytes", max_bytes) or MAX_BYTES, file)
    try:
        view = memoryview(src)
    except TypeError:
        if not hasattr(src, "__array__"):
            raise WrongType(
                f"headrace: {name}: the source must be a path, bytes, or an object with read(), not {type(src).__name__}"
            ) from None
        read_only: Any = numpy.asarray(src)
        view = memoryview(read_only)
    if not view.c_contiguous:
        raise MediaError(f"headrace: {name}: the bytes are not contiguous: give a contiguous array")
    return Input(view.cast("B") if view.nbytes else memoryview(b""), None, file if isinstance(file, str) else None)


def _read(name: str, read: Any, most: int, file: Any) -> Any:
    """What an object has to give, which may be endless: it is asked for more and more, where it takes a number of bytes."""
    pieces: list[Any] = []
    size, piece = 0, _PIECE
    while size <= most:
        try:
            data = read(piece)
        except TypeError:
            if pieces:
                raise
            return _checked(name, read())  # it takes no number
        if data is None:  # a descriptor that does not block has nothing yet
            raise MediaError(f"headrace: {name}: read() returned nothing: open the file in blocking mode")
        data = _checked(name, data)
        if not len(data):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.append(data)
        size += len(data)
        piece = max(_PIECE, min(size, 64 * _PIECE))
    about = f"{file!r}: " if isinstance(file, str) else ""
    raise MediaError(
        f"headrace: {name}: {about}file too large: more than {most} bytes; the limit is {most}, raise it with max_bytes",
        key=file if isinstance(file, str) else None,
    )


def _checked(name: str, data: Any) -> Any:
    if isinstance(data, str):
        raise WrongType(f"headrace: {name}: read() gives text: open the file with 'rb'")
    return data


def error_of(name: str, failure: dict[str, Any], at: int | None, source: Input | None) -> MediaError | FileError | MemoryRefused:
    """What the engine says of an input, or of the task, as an exception."""
    message, code = failure["message"], failure["code"]
    number = failure.get("errno")
    key = shown(source.name) if source is not None and source.name is not None else None
    if number and source is not None and source.path is not None:
        away = key is not None and in_store(key) and not key.lower().startswith("file:")  # a store says more than a number
        return file_error(number, (message.partition('": ')[2] or message) if away else os.strerror(number), key)
    about = "" if at is None else f"input {at}: "
    if key is not None and source is not None and source.path is not None:
        about += f"{key!r}: "
    told, named, rest = message.partition(f'"{key}": ')
    if named and told.startswith("store: "):
        message = rest  # the name is said once
    for prefix in ("store: ", "serve: ", "media: ", "media/ffmpeg: ", "headrace: ", "sound: ", "recode: "):
        message = message.removeprefix(prefix)
    text = f"headrace: {name}: {about}{message}"
    if code == "memory":
        return MemoryRefused(text)
    if code == "internal":
        raise EngineFailed(text)
    return MediaError(text, index=at, key=key)

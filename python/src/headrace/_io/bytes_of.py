"""Where bytes come from: memory, files, streams, and what is deflated."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import MediaError, WrongType, opened, reading
from . import deflate

if TYPE_CHECKING:
    from collections.abc import Iterator


PIECE = 1 << 20
_INFLATED = 4 << 20  # bytes that are inflated at a time, at most


def bad(name: str, about: str, why: str) -> MediaError:
    """The error of a function about what it was given: `about` names that, a path as its repr."""
    key = about[1:-1] if about[:1] in "'\"" and about[:1] == about[-1:] else None
    return MediaError(f"headrace: {name}: {about + ': ' if about else ''}{why}", key=key or None)


@contextmanager
def regular(name: str, path: Any) -> Iterator[tuple[io.FileIO, str]]:
    """A file of a path, and how errors name it. Pipes and devices are refused: they have no size, and cannot be read from a place on."""
    about = repr(os.fsdecode(path))
    file, kind = opened(path)
    with file, reading(path):
        if kind:
            raise bad(name, about, f"it is not a regular file but a {kind}: give an open file, or bytes")
        yield file, about


def view_of(src: Any) -> memoryview | None:
    """The bytes of what is in memory; None of what has to be read."""
    if hasattr(src, "read") and not hasattr(src, "find"):  # mmap has both
        return None
    try:
        view = memoryview(src)
    except TypeError:
        raise WrongType(f"headrace: io: the source must be a path, bytes, or an object with read(), not {type(src).__name__}") from None
    if not view.c_contiguous:
        raise MediaError("headrace: io: the bytes are not contiguous: give a contiguous array")
    return view.cast("B") if view.nbytes else memoryview(b"")


def all_of(name: str, src: Any) -> bytes:
    """What a function of that name gets to read."""
    data = src.read()
    if isinstance(data, str):
        raise WrongType(f"headrace: {name}: read() gives text: open the file with 'rb'")
    return data  # type: ignore[no-any-return]


class Bytes:
    """Bytes in memory."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self.given = 0

    def take(self, n: int) -> memoryview:
        """So many of the next bytes, or those that are left."""
        self.given += n
        return self._view[self.given - n : self.given]

    def at(self, begin: int, n: int) -> memoryview:
        return self._view[begin : begin + n]

    def size(self) -> int:
        return len(self._view)


class File:
    """A file on disk, for any number of threads."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def at(self, begin: int, n: int) -> memoryview:
        buffer = bytearray(max(0, min(n, self.size() - begin)))
        view = memoryview(buffer)
        got = 0
        while got < len(buffer):
            n = os.preadv(self._file.fileno(), [view[got:]], begin + got)
            if n == 0:
                break
            got += n
        return view[:got]


class Stream:
    """What is read of an object with `read()`."""

    def __init__(self, file: Any) -> None:
        self._read = file.read
        self.given = 0

    def take(self, n: int) -> bytes:
        pieces = []
        while n > 0:
            piece = self._read(min(n, 64 * PIECE))
            if isinstance(piece, str):
                raise WrongType("headrace: load_npy: read() gives text: open the file with 'rb'")
            if not piece:
                break
            pieces.append(piece)
            self.given += len(piece)
            n -= len(piece)
        return b"".join(pieces)


class Inflated:
    """What comes out of deflated bytes.

    It is inflated in large pieces; each call returns a part of one and copies the rest.
    """

    def __init__(self, packed: memoryview, announced: int) -> None:
        self._inflater = deflate.decompressobj(-15)
        self._packed = packed
        self._at = 0  # what zlib was given
        self._tail = b""  # of that, what it has not come to
        self._piece = memoryview(b"")
        self._most = min(announced + 1, _INFLATED)
        self.given = 0
        self.sum = 0

    def some(self, most: int) -> memoryview:
        """At most so many bytes; none at the end."""
        if not self._piece:
            self._piece = self._next()
        given, self._piece = self._piece[:most], self._piece[most:]
        self.given += len(given)
        return given

    def _next(self) -> memoryview:
        inflater = self._inflater
        while not inflater.eof:
            packed: Any = self._tail
            if not packed:
                packed = self._packed[self._at : self._at + _INFLATED]
                self._at += len(packed)
            piece = inflater.decompress(packed, self._most)
            self._tail = inflater.unconsumed_tail
            if piece:
                self.sum = deflate.crc32(piece, self.sum)
                return memoryview(piece)
            if not packed:
                break
        return memoryview(b"")

    def take(self, n: int) -> bytes:
        pieces = []
        while n > 0 and (piece := self.some(n)):
            pieces.append(piece)
            n -= len(piece)
        return b"".join(pieces)


class Seekable(io.RawIOBase):
    """Bytes in memory as a file, without a copy, for what reads the directory of an archive."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        at = offset + (0, self._at, len(self._view))[whence]
        if at < 0:
            raise OSError("before the beginning")
        self._at = at
        return at

    def readinto(self, buffer: Any) -> int:
        piece = self._view[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

"""Tar files, member after member: POSIX.1-2001 (ustar and pax) and GNU's long names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import MediaError, WrongType, opened, reading
from .bytes_of import bad, view_of
from .stored import is_stored, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .kinds import Array, Path, Readable

_BLOCK = 512
_MOST_NAMES = 1 << 20  # bytes of a member that only describes the next one
_PIECE = 64 << 20  # bytes that are read at once: memory follows what there is, and not what a header says
_FILES = b"0\0007"  # kinds of members that are files: POSIX, before it, and contiguous
_PACKED = {b"\x1f\x8b": "gzip", b"BZ": "bz2", b"\xfd7": "lzma"}  # what opens files that begin so


def iter_tar(src: Path | bytes | bytearray | memoryview | Array | Readable) -> Iterator[tuple[str, memoryview | bytes]]:
    """Iterate over the files in a tar file, in order: name and content.

        for name, data in hr.io.iter_tar("train-000000.tar"):
            if name.endswith(".jpg"):
                image = hr.io.load_image(data)

    For training, `hr.read` reads samples by number, in any order. Directories, links and devices are skipped. Names are as in the archive,
    even `../`: don't write to them. For a compressed archive use `iter_tar(gzip.open("a.tgz"))`.

    Args:
        src: a path; a name such as `s3://bucket/a.tar`, which is read as a whole first; bytes; or an object with `read(n)`, read
            forwards from its current position.

    Yields:
        Name and content: for bytes in memory a memoryview that keeps them alive, else new bytes.

    Raises:
        MediaError: if the file is invalid, damaged or truncated, once iteration gets there.
        OSError: if the file cannot be read.
    """
    if is_stored(src):
        return _of_object(src)
    if isinstance(src, (str, os.PathLike)):
        return _of_path(src)
    view = view_of(src)
    if view is not None:
        return _of_memory(src if type(src) is bytes else view, view)
    file: Any = src
    return _of_stream(file.read, "")


iter_tar.__module__ = "headrace.io"


def _of_path(src: Any) -> Iterator[tuple[str, bytes]]:
    about = repr(os.fsdecode(src))
    file, _ = opened(src)  # a pipe is read as a file is
    with file, reading(src):
        yield from _of_stream(file.read, about)


def _of_object(src: Any) -> Iterator[tuple[str, memoryview]]:
    view, about = stored("iter_tar", src)
    yield from _of_memory(view, view, about)


def _of_memory(data: Any, view: memoryview, about: str = "") -> Iterator[tuple[str, memoryview]]:
    at, end = 0, len(view)
    said = _Said()
    while at < end:
        entry = said.entry(bytes(data[at : at + _BLOCK]), at, about)
        if entry is None:
            return
        name, size, kind = entry
        begin = at + _BLOCK
        at = begin + (size + 511 & -_BLOCK)
        if begin + size > end:
            raise _short(name, size, end - begin, begin - _BLOCK, about)
        if kind in _FILES:
            yield name, view[begin : begin + size]
        else:
            said.take(kind, view[begin : begin + size], begin - _BLOCK, about)


def _of_stream(read: Callable[[int], bytes], about: str) -> Iterator[tuple[str, bytes]]:
    at = 0
    said = _Said()
    while head := _exactly(read, _BLOCK):
        entry = said.entry(head, at, about)
        if entry is None:
            return
        name, size, kind = entry
        data = _exactly(read, size)
        if len(data) < size:
            raise _short(name, size, len(data), at, about)
        if kind in _FILES:
            yield name, data
        else:
            said.take(kind, data, at, about)
        if rest := -size % _BLOCK:
            _exactly(read, rest)
        at += _BLOCK + size + rest


def _exactly(read: Callable[[int], bytes], n: int) -> bytes:
    """So many bytes, or those that are left."""
    data = read(n if n < _PIECE else _PIECE)
    if len(data) == n and type(data) is bytes:
        return data
    if isinstance(data, str):
        raise WrongType("headrace: iter_tar: read() gives text: open the file with 'rb'")
    pieces, left = [data], n - len(data)
    while left > 0 and (piece := read(min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


class _Said:
    """What members have said that describe the next one."""

    def __init__(self) -> None:
        self.some = False
        self._name: str | None = None
        self._size: int | None = None

    def entry(self, head: bytes, at: int, about: str) -> tuple[str, int, int] | None:
        """The name, size and kind of a member; None: the archive ends here."""
        # As most are: a file of a short name. A wrong size is noticed where no header follows.
        try:
            if head[156] == 48 and not head[345] and head[257:262] == b"ustar" and not self.some:
                return head[:100].rstrip(b"\0").decode(), int(head[124:135], 8), 48
        except (ValueError, IndexError):
            pass
        return self._rare(head, at, about)

    def _rare(self, head: bytes, at: int, about: str) -> tuple[str, int, int] | None:
        if not any(head):
            return None
        if len(head) < _BLOCK:
            raise bad("iter_tar", about, f"it ends within a header, {len(head)} bytes after byte {at:,}")
        if _number(head[148:156]) not in _sums(head):
            by = next((f": open it with {library}.open" for begin, library in _PACKED.items() if head.startswith(begin)), "")
            raise bad("iter_tar", about, f"there is no member header at byte {at:,}{by if at == 0 else ''}")
        kind, name, size = head[156], head[:100].split(b"\0")[0], _number(head[124:136])
        if head[257:263] == b"ustar\0" and head[345]:
            name = head[345:500].split(b"\0")[0] + b"/" + name
        if size is None or size < 0:
            raise bad("iter_tar", about, f"the size of {_text(name)!r}, at byte {at:,}, is not a number")
        if kind == ord("S"):
            raise _sparse(_text(name), about)
        if kind in b"LKxg":
            if size > _MOST_NAMES:
                raise bad("iter_tar", about, f"at byte {at:,} are {size:,} bytes that describe a member: must be at most {_MOST_NAMES:,}")
            return _text(name), size, kind
        found = (self._name or _text(name), size if self._size is None else self._size, kind)
        self.some, self._name, self._size = False, None, None
        if kind not in _FILES:
            return found[0], 0 if kind in b"123456" else found[1], kind  # some say how large what they link to is
        return found

    def take(self, kind: int, data: Any, at: int, about: str) -> None:
        """Take what a member says of the next one, if it does."""
        if kind == ord("L"):
            self.some, self._name = True, _text(bytes(data).split(b"\0")[0])
        elif kind == ord("x"):
            self.some = True
            for key, value in _records(bytes(data), at, about):
                if key == b"path":
                    self._name = _text(value)
                elif key == b"size":
                    if not value.isdigit() or len(value) > 18:
                        raise bad("iter_tar", about, f"at byte {at:,} a size is {value[:20]!r}")
                    self._size = int(value)
                elif key.startswith(b"GNU.sparse."):
                    raise _sparse(self._name or "a member", about)


def _records(data: bytes, at: int, about: str) -> Iterator[tuple[bytes, bytes]]:
    """The records of pax: a length in decimal, which counts itself, a space, key=value, and a newline."""
    place = 0
    while place < len(data):
        digits, _, _ = data[place : place + 20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = data[place + len(digits) + 1 : place + length]
        key, equals, value = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise bad("iter_tar", about, f"at byte {at:,} is an invalid description of a member")
        yield key, value[:-1]
        place += length


def _number(field: bytes) -> int | None:
    """A number of a header: octal, or in base 256."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big") if not field[0] & 0x40 else None
    digits = field.split(b"\0")[0].strip(b" ")
    try:
        return int(digits or b"0", 8) if digits.isdigit() or not digits else None
    except ValueError:
        return None


def _sums(head: bytes) -> tuple[int, int]:
    """What the checksum of a header may be, which counts as spaces itself: of its bytes, or, as some programs add them, of signed ones."""
    rest = head[:148] + b" " * 8 + head[156:]
    return sum(rest), sum(rest) - 256 * sum(byte > 127 for byte in rest)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _short(name: str, size: int, left: int, at: int, about: str) -> MediaError:
    return bad("iter_tar", about, f"it ends within {name!r}, which begins at byte {at:,}: of {size:,} bytes there are {max(left, 0):,}")


def _sparse(name: str, about: str) -> MediaError:
    return bad("iter_tar", about, f"{name!r} is a sparse file, which GNU tar stores in pieces: Python's tarfile reads these")

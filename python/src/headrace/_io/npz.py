"""NumPy's archives of arrays (.npz)."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from struct import Struct
from typing import TYPE_CHECKING, Any

from ..errors import MediaError, NoSuchArray, WrongValue, opened, reading
from . import deflate
from .bytes_of import PIECE, Bytes, File, Inflated, Seekable, all_of, bad, view_of
from .npy_header import header
from .stored import is_stored, stored
from .zip_directory import Member, plain_directory

if TYPE_CHECKING:
    from .kinds import Array, Path, Readable


_LOCAL = Struct("<4s5H3I2H")  # a member's header
_LIMIT = 4 << 30
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1  # flag of a member


def load_npz(src: Path | bytes | bytearray | memoryview | Array | Readable, *, limit: int = _LIMIT) -> Npz:
    """Open an archive of arrays, as `numpy.savez` and `numpy.savez_compressed` write it.

        arrays = hr.io.load_npz("features.npz")

    Args:
        src: a path, whose file stays open until you close or drop the result; a name such as `s3://bucket/a.npz`, read at once; bytes;
            or an object with `read()`, read at once.
        limit: most bytes that one array may expand to, by default 4 GiB, because a small file can claim more than any memory.

    Returns:
        A mapping of names to arrays, read on access.

    Raises:
        MediaError: if the archive is invalid.
        OSError: if the file cannot be read.
    """
    return Npz(src, limit)


load_npz.__module__ = "headrace.io"


class Npz(Mapping[str, "Array"]):
    """The arrays of an archive by name, with or without `.npy`; `load_npz` makes it.

    Each access reads the array and verifies its checksum; any number of threads may do so. Uncompressed arrays of an archive in memory are
    views of it; others have their own memory.
    """

    def __init__(self, src: Any, limit: int) -> None:
        self._file: io.FileIO | None = None
        self._limit = limit
        self._about = ""
        if is_stored(src):
            view, self._about = stored("load_npz", src)
            self._bytes: Bytes | File = Bytes(view)
            directory: Any = Seekable(view)
        elif isinstance(src, (str, os.PathLike)):
            self._about = repr(os.fsdecode(src))
            self._file, kind = opened(src)
            if kind:  # zipfile would read an endless one to its end
                self._file.close()
                raise MediaError(
                    f"headrace: load_npz: {self._about} is not a regular file but a {kind}: give the bytes of an archive", key=self._key
                )
            self._bytes = File(self._file)
            directory = self._file
        else:
            in_memory = view_of(src)
            view = memoryview(all_of("load_npz", src)) if in_memory is None else in_memory
            self._bytes = Bytes(view)
            directory = Seekable(view)
        try:
            members = plain_directory(self._bytes, self._bytes.size())
            if members is None:
                import zipfile

                with zipfile.ZipFile(directory) as archive:
                    members = archive.infolist()  # type: ignore[assignment]
            self._members: dict[str, Member] = {member.filename: member for member in members or ()}
        except BaseException as error:
            self.close()
            if not isinstance(error, Exception):
                raise
            if self._about and isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                with reading(src):
                    raise  # it could not be read; places that cannot be are another matter
            raise MediaError(f"headrace: load_npz: {self._about or 'it'} is not an archive of arrays: {error}", key=self._key) from error
        self._names: dict[str, str] = {}
        for name in self._members:
            if name.endswith(".npy"):
                self._names.setdefault(name.removesuffix(".npy"), name)
        for name in self._members:  # a name as it is goes before one that has lost its suffix
            self._names[name] = name
        self._shown = [name.removesuffix(".npy") if self._names[name.removesuffix(".npy")] == name else name for name in self._members]

    @property
    def _key(self) -> str | None:
        return self._about[1:-1] or None

    def __getitem__(self, name: str) -> Array:
        try:
            info = self._members[self._names[name]]
        except KeyError:
            raise NoSuchArray(f"there is no array {name!r}: the arrays are {', '.join(map(repr, self._shown[:20]))}") from None
        if self._file is not None and self._file.closed:
            raise WrongValue(f"headrace: load_npz: {self._about} is closed")
        with reading(self._about[1:-1]) if self._about else nullcontext():
            return self._read(info)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown)

    def __len__(self) -> int:
        return len(self._shown)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<headrace.io.Npz {self._about + ' ' if self._about else ''}with {', '.join(map(repr, self._shown)) or 'no arrays'}>"

    def close(self) -> None:
        """Close the file; arrays already read stay valid. You may call it again."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Npz:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, info: Member) -> Array:
        about = f"{info.filename!r} in {self._about}" if self._about else repr(info.filename)
        if info.flag_bits & _ENCRYPTED:
            raise bad("load_npz", about, "it is encrypted")
        if info.compress_type not in (_STORED, _DEFLATED):
            raise bad("load_npz", about, f"its ZIP compression is number {info.compress_type}: must be 0 (stored) or 8 (deflated)")
        if info.file_size > self._limit:
            raise bad(
                "load_npz", about, f"it expands to {info.file_size:,} bytes, and {self._limit:,} are allowed: give limit= if that is right"
            )
        begin = self._bytes.at(info.header_offset, _LOCAL.size)
        if len(begin) < _LOCAL.size or bytes(begin[:4]) != b"PK\x03\x04":
            raise bad("load_npz", about, "the archive is damaged: it is not where its directory says")
        *_, name_size, extra_size = _LOCAL.unpack(begin)
        packed = self._bytes.at(info.header_offset + _LOCAL.size + name_size + extra_size, info.compress_size)
        if len(packed) < info.compress_size:
            raise bad("load_npz", about, "the archive ends within it")
        if info.compress_type == _DEFLATED:
            return self._inflate(info, packed, about)
        if info.file_size != info.compress_size:
            raise bad("load_npz", about, f"{info.compress_size:,} bytes are stored, {info.file_size:,} are announced")
        self._check(deflate.crc32(packed), info, about)
        return header("load_npz", Bytes(packed), about).array(packed, "load_npz", about)

    def _inflate(self, info: Member, packed: memoryview, about: str) -> Array:
        """Inflate a member straight into its array. Memory follows what has come out, and not what the directory says."""
        stream = Inflated(packed, info.file_size)
        try:
            form = header("load_npz", stream, about)
            if form.at + form.nbytes > info.file_size:
                raise bad("load_npz", about, f"it has {info.file_size:,} bytes: an array {form} has {form.at + form.nbytes:,}")
            array = form.empty()
            into = form.memory(array)
            at = 0
            while at < len(into):
                piece = stream.some(len(into) - at)
                if not piece:
                    raise bad("load_npz", about, "the compressed data ends too early")
                into[at : at + len(piece)] = piece
                at += len(piece)
            while stream.given <= info.file_size and stream.some(PIECE):
                pass  # what follows the array counts for the checksum
            if stream.given != info.file_size:
                raise bad("load_npz", about, f"it expands to other than the {info.file_size:,} bytes of its directory entry")
        except deflate.Error as error:
            raise bad("load_npz", about, f"the compressed data is damaged: {error}") from error
        self._check(stream.sum, info, about)
        return array

    @staticmethod
    def _check(found: int, info: Member, about: str) -> None:
        if found != info.CRC:
            raise bad("load_npz", about, f"it is damaged: its checksum is {found:08x}, but should be {info.CRC:08x}")


Npz.__module__ = "headrace.io"

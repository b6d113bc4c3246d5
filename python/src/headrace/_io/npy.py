"""NumPy's files: one array (.npy), and several in an archive (.npz).

This is done here and not by the engine: of bytes in memory an array is a view, a file is read straight into its array, and checking and
inflating the members of an archive is zlib's work, which does without the GIL too. Another process could only add a copy.

Nothing in a file is evaluated or unpickled.
"""

from __future__ import annotations

import ast
import errno
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy

from ..errors import MediaError, NoSuchArray, WrongType, opened
from .out import check_out

if TYPE_CHECKING:
    import zipfile

    from ..io import Array, Readable

    Path = str | os.PathLike[str] | os.PathLike[bytes]

_MAGIC = b"\x93NUMPY"
_SHORT, _LONG = Struct("<H"), Struct("<I")
_MOST_HEADER = 64 << 10  # bytes; longer ones have structures of hundreds of fields
_USUAL = re.compile(
    rb"\{'descr': '([<>|=][a-zA-Z]\d{1,2})', 'fortran_order': (False|True), 'shape': \(((?:\d+,)?|\d+(?:, ?\d+)+,?)\),? ?\}\s*"
)
_PYTHON2 = re.compile(r"(?<=\d)L(?=[,)])")  # as whole numbers ended there
_LOCAL = Struct("<4s5H3I2H")  # a member's header
_LIMIT = 4 << 30
_PIECE = 1 << 20

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1  # flag of a member


def load_npy(
    src: Path | bytes | bytearray | memoryview | Array | Readable,
    *,
    copy: bool = False,
    out: Array | None = None,
) -> Array:
    """Read an array in NumPy's format, versions 1 to 3, as `numpy.save` writes it.

    Args:
        src: a path, bytes, or an object with `read()`, from where it stands on. What follows the array is left alone.
        copy: whether the array is to have memory of its own where `src` is in memory. By default it is a view on it, read-only where
            that is, and keeps it alive.
        out: where to put the array: one of exactly its shape and dtype (the order of bytes included), contiguous in C order. A file is
            read straight into it.

    Returns:
        An array of any number of axes, of any dtype but Python objects, in the order of axes (C or Fortran) and of bytes that the file
        has; `out` where that is given.

    Raises:
        MediaError: if it is no such file, ends too early, or holds Python objects.
        OSError: if the file cannot be read.
    """
    if isinstance(src, (str, os.PathLike)):
        about = repr(os.fsdecode(src))
        with opened(src, "rb", buffering=0) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _from_disk(file, out, about)
            return _from_stream(file, out, about)
    view = _view(src)
    if view is None:
        return _from_stream(src, out, "")
    form = _header("load_npy", _Bytes(view), "")
    array = form.array(view, "load_npy", "")
    if out is not None:
        form.check("load_npy", out)
        numpy.copyto(out, array)
        return out
    return array.copy(order="K") if copy else array


load_npy.__module__ = "headrace.io"


def load_npz(src: Path | bytes | bytearray | memoryview | Array | Readable, *, limit: int = _LIMIT) -> Npz:
    """Open an archive of arrays, as `numpy.savez` and `numpy.savez_compressed` write it.

    Args:
        src: a path, whose file stays open until the result is closed or gone; bytes; or an object with `read()`, which is read at once.
        limit: the bytes that one array may expand to, by default 4 GiB: a file of a few megabytes can be made to hold more than any
            machine has.

    Returns:
        A mapping of names to arrays, which are read when they are asked for.

    Raises:
        MediaError: if it is no such archive.
        OSError: if the file cannot be read.
    """
    return Npz(src, limit)


load_npz.__module__ = "headrace.io"


class Npz(Mapping[str, "Array"]):
    """The arrays of an archive, by name, with or without the `.npy` that they have there; `load_npz` makes it.

    An array is read, and its checksum looked at, each time that it is asked for, by any number of threads at once. One that is stored as
    it is in an archive in memory is a view on that; the others have memory of their own.
    """

    def __init__(self, src: Any, limit: int) -> None:
        import zipfile

        self._file: io.FileIO | None = None
        self._limit = limit
        self._about = ""
        if isinstance(src, (str, os.PathLike)):
            self._about = repr(os.fsdecode(src))
            self._file = io.FileIO(os.fspath(src), "rb")
            self._bytes: _Bytes | _File = _File(self._file)
            directory: Any = self._file
        else:
            view = _view(src)
            if view is None:
                view = memoryview(_all_of(src))
            self._bytes = _Bytes(view)
            directory = _Reader(view)
        try:
            with zipfile.ZipFile(directory) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except BaseException as error:
            self.close()
            if not isinstance(error, Exception) or (isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)):
                raise  # it could not be read; places that cannot be are another matter
            raise MediaError(f"headrace: load_npz: {self._about or 'it'} is no archive of arrays: {error}", key=self._key) from error
        self._names: dict[str, str] = {}
        for name in self._members:
            if name.endswith(".npy"):
                self._names.setdefault(name.removesuffix(".npy"), name)
        for name in self._members:  # a name as it stands goes before one that has lost its suffix
            self._names[name] = name
        self._shown = [name.removesuffix(".npy") if self._names[name.removesuffix(".npy")] == name else name for name in self._members]

    @property
    def _key(self) -> str | None:
        return self._about[1:-1] or None

    def __getitem__(self, name: str) -> Array:
        try:
            info = self._members[self._names[name]]
        except KeyError:
            raise NoSuchArray(f"{name!r} is none of the arrays: {', '.join(map(repr, self._shown[:20]))}") from None
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
        """Close the file; arrays that were read stay. May be called again."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Npz:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, info: zipfile.ZipInfo) -> Array:
        about = f"{info.filename!r} in {self._about}" if self._about else repr(info.filename)
        if info.flag_bits & _ENCRYPTED:
            raise _bad("load_npz", about, "it is encrypted")
        if info.compress_type not in (_STORED, _DEFLATED):
            raise _bad("load_npz", about, f"its compression is number {info.compress_type} of ZIP's: takes 0, stored, and 8, deflated")
        if info.file_size > self._limit:
            raise _bad(
                "load_npz", about, f"it expands to {info.file_size:,} bytes, and {self._limit:,} are allowed: give limit= if that is right"
            )
        begin = self._bytes.at(info.header_offset, _LOCAL.size)
        if len(begin) < _LOCAL.size or bytes(begin[:4]) != b"PK\x03\x04":
            raise _bad("load_npz", about, "the archive is damaged: it is not where its directory says")
        *_, name_size, extra_size = _LOCAL.unpack(begin)
        packed = self._bytes.at(info.header_offset + _LOCAL.size + name_size + extra_size, info.compress_size)
        if len(packed) < info.compress_size:
            raise _bad("load_npz", about, "the archive ends within it")
        if info.compress_type == _DEFLATED:
            return self._inflate(info, packed, about)
        if info.file_size != info.compress_size:
            raise _bad("load_npz", about, f"{info.compress_size:,} bytes are stored, {info.file_size:,} are announced")
        self._check(zlib.crc32(packed), info, about)
        return _header("load_npz", _Bytes(packed), about).array(packed, "load_npz", about)

    def _inflate(self, info: zipfile.ZipInfo, packed: memoryview, about: str) -> Array:
        """Inflate a member straight into its array. Memory follows what has come out, and not what the directory says."""
        stream = _Inflated(packed)
        try:
            form = _header("load_npz", stream, about)
            if form.at + form.nbytes > info.file_size:
                raise _bad("load_npz", about, f"it has {info.file_size:,} bytes: an array {form} has {form.at + form.nbytes:,}")
            array = form.empty()
            into = form.memory(array)
            at = 0
            while at < len(into):
                piece = stream.some(len(into) - at)
                if not piece:
                    raise _bad("load_npz", about, "what is compressed ends too early")
                into[at : at + len(piece)] = piece
                at += len(piece)
            while stream.given <= info.file_size and stream.some(_PIECE):
                pass  # what follows the array counts for the checksum
            if stream.given != info.file_size:
                raise _bad("load_npz", about, f"it expands to other than the {info.file_size:,} bytes that are announced")
        except zlib.error as error:
            raise _bad("load_npz", about, f"what is compressed is damaged: {error}") from error
        self._check(stream.sum, info, about)
        return array

    @staticmethod
    def _check(found: int, info: zipfile.ZipInfo, about: str) -> None:
        if found != info.CRC:
            raise _bad("load_npz", about, f"it is damaged: its checksum is {found:08x}, and {info.CRC:08x} is announced")


Npz.__module__ = "headrace.io"


class _Form:
    """What a header says."""

    __slots__ = ("at", "dtype", "fortran", "nbytes", "shape")

    def __init__(self, dtype: numpy.dtype[Any], fortran: bool, shape: tuple[int, ...], at: int) -> None:
        self.dtype = dtype
        self.fortran = fortran
        self.shape = shape
        self.at = at  # where the elements begin
        count = 1
        for n in shape:
            count *= n
        self.nbytes = count * dtype.itemsize

    def array(self, view: memoryview, name: str, about: str) -> Array:
        """The array that lies in memory."""
        left = view.nbytes - self.at
        if self.nbytes > left:
            raise _bad(name, about, f"{left:,} bytes follow the header: an array {self} has {self.nbytes:,}")
        return self._make(view, self.at)

    def empty(self) -> Array:
        """An array of this form."""
        return self._make(None, 0)

    def _make(self, view: memoryview | None, at: int) -> Array:
        order: Any = "F" if self.fortran else "C"
        try:
            if not self.nbytes:
                array: Array = numpy.empty(self.shape, self.dtype, order)
            else:
                # Through frombuffer, which keeps the buffer as long as the array lives: a bytearray must not get another size meanwhile.
                flat: Any = None if view is None else numpy.frombuffer(view, numpy.uint8, self.nbytes, at)
                array = numpy.ndarray(self.shape, self.dtype, flat, 0, order=order)
            return array
        except (ValueError, TypeError) as error:  # more axes than NumPy has
            raise MediaError(f"headrace: io: an array {self} cannot be made: {error}") from error

    def memory(self, array: Array) -> memoryview:
        """The bytes of an array of this form, in the order in which they lie."""
        if not self.nbytes:
            return memoryview(b"")
        bytes_of: Any = array.reshape(-1, order="A").view(numpy.uint8)
        return memoryview(bytes_of)

    def check(self, name: str, out: Any) -> None:
        """Refuse an array that is not of this form."""
        check_out(name, out, len(self.shape), self.dtype, self.shape)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


class _Bytes:
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


class _File:
    """A file on disk, for any number of threads."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def at(self, begin: int, n: int) -> memoryview:
        size = os.fstat(self._file.fileno()).st_size
        buffer = bytearray(max(0, min(n, size - begin)))
        view = memoryview(buffer)
        got = 0
        while got < len(buffer):
            n = os.preadv(self._file.fileno(), [view[got:]], begin + got)
            if n == 0:
                break
            got += n
        return view[:got]


class _Stream:
    """What is read of an object with `read()`."""

    def __init__(self, file: Any) -> None:
        self._read = file.read
        self.given = 0

    def take(self, n: int) -> bytes:
        pieces = []
        while n > 0:
            piece = self._read(min(n, 64 * _PIECE))
            if isinstance(piece, str):
                raise WrongType("headrace: load_npy: read() gives text: open the file with 'rb'")
            if not piece:
                break
            pieces.append(piece)
            self.given += len(piece)
            n -= len(piece)
        return b"".join(pieces)


class _Inflated:
    """What comes out of deflated bytes."""

    def __init__(self, packed: memoryview) -> None:
        self._inflater = zlib.decompressobj(-15)
        self._left: Any = packed
        self.given = 0
        self.sum = 0

    def some(self, most: int) -> bytes:
        """At most so many bytes; none at the end."""
        while not self._inflater.eof:
            before = len(self._left)
            piece = self._inflater.decompress(self._left, min(most, _PIECE))
            self._left = self._inflater.unconsumed_tail
            if piece:
                self.given += len(piece)
                self.sum = zlib.crc32(piece, self.sum)
                return piece
            if not before:
                break
        return b""

    def take(self, n: int) -> bytes:
        pieces = []
        while n > 0 and (piece := self.some(n)):
            pieces.append(piece)
            n -= len(piece)
        return b"".join(pieces)


class _Reader(io.RawIOBase):
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


def _view(src: Any) -> memoryview | None:
    """The bytes of what is in memory; None of what has to be read."""
    if hasattr(src, "read") and not hasattr(src, "find"):  # mmap has both
        return None
    try:
        view = memoryview(src)
    except TypeError:
        raise WrongType(f"headrace: io: takes a path, bytes, or an object with read(), not {type(src).__name__}") from None
    if not view.c_contiguous:
        raise MediaError("headrace: io: the bytes do not lie side by side: give a contiguous array")
    return view.cast("B") if view.nbytes else memoryview(b"")


def _all_of(src: Any) -> bytes:
    data = src.read()
    if isinstance(data, str):
        raise WrongType("headrace: load_npz: read() gives text: open the file with 'rb'")
    return data  # type: ignore[no-any-return]


def _from_disk(file: io.FileIO, out: Array | None, about: str) -> Array:
    """Read straight into the array. Whether the file has it all is known before there is memory for it."""
    form = _header("load_npy", _Stream(file), about)
    left = os.fstat(file.fileno()).st_size - form.at
    if form.nbytes > left:
        raise _bad("load_npy", about, f"{left:,} bytes follow the header: an array {form} has {form.nbytes:,}")
    if out is not None:
        form.check("load_npy", out)
    turned = form.fortran and len(form.shape) > 1  # the elements come in another order than that of `out`
    array = form.empty() if out is None or turned else out
    _fill(file.readinto, form.memory(array), about)
    if out is None or array is out:
        return array
    numpy.copyto(out, array)
    return out


def _from_stream(file: Any, out: Array | None, about: str) -> Array:
    """Read from where an object stands. It may be endless, or lie about what it has: memory follows what has come."""
    stream = _Stream(file)
    form = _header("load_npy", stream, about)
    if out is not None:
        form.check("load_npy", out)
    data = memoryview(stream.take(form.nbytes))
    form.at = 0
    array = form.array(data, "load_npy", about)
    if out is None:
        out = numpy.empty_like(array)
    numpy.copyto(out, array)
    return out


def _fill(readinto: Any, view: memoryview, about: str) -> None:
    at = 0
    while at < len(view):
        n = readinto(view[at:])
        if not n:
            raise _bad("load_npy", about, f"the file ends {len(view) - at:,} bytes too early")
        at += n


def _header(name: str, source: Any, about: str) -> _Form:
    begin = bytes(source.take(8))
    if begin[:6] != _MAGIC:
        raise _bad(name, about, "it is no file of NumPy: it does not begin as one")
    version = tuple(begin[6:])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise _bad(name, about, f"it is of version {'.'.join(map(str, version))}: takes 1.0, 2.0 and 3.0")
    length = _SHORT if version == (1, 0) else _LONG
    size_text = bytes(source.take(length.size))
    size = length.unpack(size_text)[0] if len(size_text) == length.size else 0
    if size > _MOST_HEADER:
        raise _bad(name, about, f"its header has {size:,} bytes: takes up to {_MOST_HEADER:,}")
    text = bytes(source.take(size))
    if len(text) < size or len(size_text) < length.size:
        raise _bad(name, about, "it ends in its header")
    at = 8 + length.size + size
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        descr, fortran, shape = usual.groups()
        extents = tuple(map(int, filter(None, shape.replace(b" ", b"").split(b","))))
        return _Form(_dtype(name, descr.decode(), about), fortran == b"True", extents, at)
    return _unusual(name, text.decode("utf-8" if version == (3, 0) else "latin-1", "replace"), at, about)


def _unusual(name: str, text: str, at: int, about: str) -> _Form:
    try:
        found = ast.literal_eval(_PYTHON2.sub("", text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise _bad(name, about, "its header is none: takes {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }")
    shape = found["shape"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or type(found["fortran_order"]) is not bool:
        raise _bad(name, about, "its header has no shape and order that can be: takes {'fortran_order': False, 'shape': (3, 4)}")
    return _Form(_dtype(name, found["descr"], about), found["fortran_order"], shape, at)


def _dtype(name: str, descr: Any, about: str) -> numpy.dtype[Any]:
    try:
        dtype = numpy.lib.format.descr_to_dtype(descr)
    except Exception as error:
        raise _bad(name, about, f"its elements are {descr!r}, which is no type: {error}") from error
    if dtype.hasobject:
        raise _bad(name, about, "its elements are Python objects, which would have to be unpickled, and that can run anything")
    return dtype


def _bad(name: str, about: str, why: str) -> MediaError:
    key = about[1:-1] if about[:1] == "'" == about[-1:] else None
    return MediaError(f"headrace: {name}: {about + ': ' if about else ''}{why}", key=key)

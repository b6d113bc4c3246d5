"""The header of an array in NumPy's format."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy

from ..errors import MediaError
from .bytes_of import bad
from .out import check_out

if TYPE_CHECKING:
    from .kinds import Array


_MAGIC = b"\x93NUMPY"
_SHORT, _LONG = Struct("<H"), Struct("<I")
_MOST_HEADER = 64 << 10  # bytes; longer ones have structures of hundreds of fields
_USUAL = re.compile(
    rb"\{'descr': '([<>|=][a-zA-Z]\d{1,2})', 'fortran_order': (False|True), 'shape': \(((?:\d+,)?|\d+(?:, ?\d+)+,?)\),? ?\}\s*"
)
_PYTHON2 = re.compile(r"(?<=\d)L(?=[,)])")  # as whole numbers ended there


class Form:
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
        """The array that is in memory."""
        left = view.nbytes - self.at
        if self.nbytes > left:
            raise bad(name, about, f"{left:,} bytes follow the header: an array {self} has {self.nbytes:,}")
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
                # Through frombuffer, which keeps the buffer as long as the array lives:
                # a bytearray must not get another size meanwhile.
                flat: Any = None if view is None else numpy.frombuffer(view, numpy.uint8, self.nbytes, at)
                array = numpy.ndarray(self.shape, self.dtype, flat, 0, order=order)
            return array
        except (ValueError, TypeError) as error:  # more axes than NumPy has
            raise MediaError(f"headrace: io: an array {self} cannot be made: {error}") from error

    def memory(self, array: Array) -> memoryview:
        """The bytes of an array of this form, in the order in which they are."""
        if not self.nbytes:
            return memoryview(b"")
        bytes_of: Any = array.reshape(-1, order="A").view(numpy.uint8)
        return memoryview(bytes_of)

    def check(self, name: str, out: Any) -> None:
        """Refuse an array that is not of this form."""
        check_out(name, out, len(self.shape), self.dtype, self.shape)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def header(name: str, source: Any, about: str) -> Form:
    begin = bytes(source.take(8))
    if begin[:6] != _MAGIC:
        raise bad(name, about, "it is not a NumPy file: its first bytes are wrong")
    version = tuple(begin[6:])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise bad(name, about, f"it is of version {'.'.join(map(str, version))}: must be 1.0, 2.0 or 3.0")
    length = _SHORT if version == (1, 0) else _LONG
    size_text = bytes(source.take(length.size))
    size = length.unpack(size_text)[0] if len(size_text) == length.size else 0
    if size > _MOST_HEADER:
        raise bad(name, about, f"its header has {size:,} bytes: must be at most {_MOST_HEADER:,}")
    text = bytes(source.take(size))
    if len(text) < size or len(size_text) < length.size:
        raise bad(name, about, "it ends in its header")
    at = 8 + length.size + size
    usual = _usual(text)
    if usual is not None:
        return Form(*usual, at)
    return _unusual(name, text.decode("utf-8" if version == (3, 0) else "latin-1", "replace"), at, about)


@lru_cache(maxsize=256)  # arrays of a data set are alike
def _usual(text: bytes) -> tuple[numpy.dtype[Any], bool, tuple[int, ...]] | None:
    """What a header says as NumPy writes it; None: it is another, or no good."""
    usual = _USUAL.fullmatch(text)
    if usual is None:
        return None
    descr, fortran, shape = usual.groups()
    try:
        dtype = numpy.dtype(descr.decode())
    except TypeError:
        return None
    if dtype.hasobject:
        return None
    return dtype, fortran == b"True", tuple(map(int, filter(None, shape.replace(b" ", b"").split(b","))))


def _unusual(name: str, text: str, at: int, about: str) -> Form:
    try:
        found = ast.literal_eval(_PYTHON2.sub("", text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise bad(name, about, "its header is not valid: must be like {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }")
    shape = found["shape"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or type(found["fortran_order"]) is not bool:
        raise bad(name, about, "its header has no valid shape and order: must be like {'fortran_order': False, 'shape': (3, 4)}")
    return Form(_dtype(name, found["descr"], about), found["fortran_order"], shape, at)


def _dtype(name: str, descr: Any, about: str) -> numpy.dtype[Any]:
    try:
        dtype = numpy.lib.format.descr_to_dtype(descr)
    except Exception as error:
        raise bad(name, about, f"its elements are {descr!r}, which is not a dtype: {error}") from error
    if dtype.hasobject:
        raise bad(name, about, "its elements are Python objects, which would have to be unpickled, and that can run anything")
    return dtype

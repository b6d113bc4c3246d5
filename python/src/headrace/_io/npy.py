"""NumPy's files: one array (.npy); npz.py has archives of several.

This is done here and not by the engine: of bytes in memory an array is a view, a file is read straight into its array, and checking and
inflating the members of an archive is zlib's work, which does without the GIL too. Another process could only add a copy.

Nothing in a file is evaluated or unpickled.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import numpy

from .bytes_of import Bytes, Stream, bad, regular, view_of
from .npy_header import header
from .stored import is_stored, stored

if TYPE_CHECKING:
    from .kinds import Array, Path, Readable


def load_npy(
    src: Path | bytes | bytearray | memoryview | Array | Readable,
    *,
    copy: bool = False,
    out: Array | None = None,
) -> Array:
    """Read an array in NumPy's format (.npy), versions 1 to 3.

        array = hr.io.load_npy("features.npy")

    Args:
        src: a path or a name such as `s3://bucket/a.npy`, bytes, or an object with `read()`, read from its current position. Anything
            after the array is left alone.
        copy: return memory of its own if `src` is in memory. By default the array is a view that keeps `src` alive, read-only if it is.
        out: an array for the result, of its exact shape and dtype (byte order included), C-contiguous. Files are read straight into it.

    Returns:
        An array of any dtype but Python objects, in the file's axis order (C or Fortran) and byte order; `out` if given.

    Raises:
        MediaError: if the file is invalid, truncated, or holds Python objects.
        OSError: if the file cannot be read.
    """
    view, about = stored("load_npy", src) if is_stored(src) else (None, "")
    if view is None and isinstance(src, (str, os.PathLike)):
        with regular("load_npy", src) as (file, about):
            return _from_disk(file, out, about)
    if view is None:
        view = view_of(src)
    if view is None:
        return _from_stream(src, out, "")
    form = header("load_npy", Bytes(view), about)
    array = form.array(view, "load_npy", about)
    if out is not None:
        form.check("load_npy", out)
        numpy.copyto(out, array)
        return out
    return array.copy(order="K") if copy else array


load_npy.__module__ = "headrace.io"


def _from_disk(file: io.FileIO, out: Array | None, about: str) -> Array:
    """Read straight into the array. Whether the file has it all is known before there is memory for it."""
    form = header("load_npy", Stream(file), about)
    left = os.fstat(file.fileno()).st_size - form.at
    if form.nbytes > left:
        raise bad("load_npy", about, f"{left:,} bytes follow the header: an array {form} has {form.nbytes:,}")
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
    """Read from where an object is. It may be endless, or lie about what it has: memory follows what has come."""
    stream = Stream(file)
    form = header("load_npy", stream, about)
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
            raise bad("load_npy", about, f"the file ends {len(view) - at:,} bytes too early")
        at += n

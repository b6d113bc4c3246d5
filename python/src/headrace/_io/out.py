"""The array that a caller gives for a result."""

from __future__ import annotations

import numpy

from ..errors import MediaError, WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .kinds import Array


def check_out(name: str, out: Any, axes: int, dtype: str, shape: tuple[int, ...] | None) -> None:
    """Refuse an array that cannot take the result, as far as that is known of it."""
    if out is None:
        return
    if not isinstance(out, numpy.ndarray):
        raise WrongType(f"headrace: {name}: out is a {type(out).__name__}: must be a NumPy array")
    wrong = None
    if out.dtype != dtype:
        wrong = f"has dtype {out.dtype}: the result has {dtype}"
    elif not out.flags.c_contiguous:
        wrong = "is not contiguous in C order"
    elif not out.flags.writeable:
        wrong = "is read-only"
    elif out.ndim != axes or (shape is not None and out.shape != shape):
        wrong = f"has shape {out.shape}: the result has {shape or f'{axes} axes'}"
    if wrong is not None:
        raise MediaError(f"headrace: {name}: out {wrong}")


def into(name: str, out: Array | None, array: Array) -> Array:
    """The result in `out`, if that is given."""
    if out is None or array is out:
        return array
    if out.shape != array.shape:
        raise MediaError(f"headrace: {name}: out has shape {out.shape}: the result has {array.shape}")
    numpy.copyto(out, array)
    return out

"""Frames and samples that callers give, as FFmpeg calls their formats."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy

from ..errors import MediaError, WrongType

_PICTURES = {
    ("uint8", 1): "gray", ("uint8", 3): "rgb24", ("uint8", 4): "rgba",
    ("uint16", 1): "gray16le", ("uint16", 3): "rgb48le", ("uint16", 4): "rgba64le",
}  # fmt: skip
_SAMPLES = {"int16": "s16", "int32": "s32", "float32": "flt", "float64": "dbl"}


def frames_of(name: str, given: Any) -> Any:
    """Frames as [frames, height, width, channels], side by side in memory."""
    array = numpy.asarray(given)
    if array.ndim == 3 and (array.dtype.name, array.shape[2]) not in _PICTURES:
        array = array[..., None]  # gray frames without an axis for it
    elif array.ndim == 3:
        array = array[None]  # one frame
    elif array.ndim == 2:
        array = array[None, ..., None]
    if array.ndim != 4 or (array.dtype.name, array.shape[3]) not in _PICTURES:
        raise MediaError(
            f"headrace: {name}: frames have shape {array.shape} and dtype {array.dtype}: must be [frames, height, width], and 1, 3 or 4 "
            "channels after them, of uint8 or uint16"
        )
    return numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def picture_port(array: Any, fps: Any, aspect: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    rate = rate_of("fps", fps)
    return {
        "format": _PICTURES[array.dtype.name, array.shape[3]], "height": array.shape[1], "width": array.shape[2],
        "each": array[0].nbytes if len(array) else 0, "fps": [rate.numerator, rate.denominator], "aspect": aspect,
    }  # fmt: skip


def rate_of(name: str, value: Any) -> Fraction:
    try:
        rate = Fraction(*value) if isinstance(value, tuple) else Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise WrongType(f"headrace: io: {name} is {value!r}: must be a number, or a fraction (30000, 1001)") from None
    rate = rate.limit_denominator(1_000_000)
    if not 0 < rate <= 1_000_000:
        raise MediaError(f"headrace: io: {name} is {value!r}: must be a number above 0, up to 1000000")
    return rate


def samples_of(name: str, given: Any) -> Any:
    """Samples as [samples, channels], side by side in memory."""
    array = numpy.asarray(given)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.name not in _SAMPLES or not 1 <= array.shape[1] <= 64:
        remedy = ": transpose it" if array.ndim == 2 and array.shape[1] > 64 >= array.shape[0] else ""
        raise MediaError(
            f"headrace: {name}: samples have shape {array.shape} and dtype {array.dtype}: must be [samples] or [samples, channels] of "
            f"int16, int32, float32 or float64{remedy}"
        )
    return numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def sample_port(array: Any, rate: Any) -> dict[str, Any]:
    try:
        hertz = int(rate)
    except (TypeError, ValueError):
        raise WrongType(f"headrace: io: rate is {rate!r}: must be a number of samples per second") from None
    if hertz != rate or not 1 <= hertz <= 1 << 24:
        raise MediaError(f"headrace: io: rate is {rate!r}: must be a whole number of samples a second")
    return {"format": _SAMPLES[array.dtype.name], "rate": hertz, "channels": array.shape[1], "each": array.dtype.itemsize * array.shape[1]}


def bytes_of(array: Any) -> memoryview:
    flat: Any = array.reshape(-1).view(numpy.uint8)
    return memoryview(flat)

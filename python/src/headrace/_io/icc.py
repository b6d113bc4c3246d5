"""Colours of an ICC profile become sRGB's: profiles of a matrix and curves, as of cameras, phones and screens, and gray ones."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy

from ..errors import MediaError, WrongType

if TYPE_CHECKING:
    from .kinds import Array

# Linear sRGB as XYZ of the white D50, which profiles have.
_SRGB = numpy.array([[0.4360747, 0.3850649, 0.1430804], [0.2225045, 0.7168786, 0.0606169], [0.0139322, 0.0971045, 0.7141733]])
_PIECE = 1 << 13  # pixels at a time
_PILLOW = "Pillow's ImageCms.profileToProfile converts it"


def to_srgb(pixels: Array, profile: bytes) -> Array:
    """Convert pixels from the colours of an ICC profile to sRGB.

        about = hr.io.image_metadata("p3.jpg")
        image = hr.io.to_srgb(hr.io.load_image("p3.jpg"), about.icc_profile)

    Args:
        pixels: uint8 or uint16 `[…, channels]`: gray, RGB or RGBA, as `load_image` gives them. Alpha stays as it is.
        profile: the profile's bytes: of RGB with a matrix and curves (Display P3, Adobe RGB, ProPhoto RGB), or of gray. Empty: the result
            is a copy.

    Returns:
        An array of the same shape and dtype, within 1 of 255 of LittleCMS's relative colorimetric result, in about 15 ns a pixel.
        Colours outside sRGB are clipped.

    Raises:
        MediaError: if the profile is damaged, or is of CMYK or of tables.
    """
    if not isinstance(pixels, numpy.ndarray) or pixels.dtype not in (numpy.uint8, numpy.uint16) or pixels.ndim < 1:
        raise WrongType("headrace: to_srgb: pixels must be a NumPy array of uint8 or uint16, with channels last")
    channels = pixels.shape[-1]
    if channels not in (1, 3, 4):
        raise MediaError(f"headrace: to_srgb: the pixels have {channels} channels: must be 1, 3 or 4, last")
    if not len(profile):
        return numpy.array(pixels)
    matrix, curves, encode = _conversion(bytes(profile), pixels.dtype.name)
    if not curves:
        return numpy.array(pixels)
    if matrix is not None and channels == 1:
        raise MediaError('headrace: to_srgb: the profile is of RGB, and the pixels are gray: load the image with color="rgb"')
    out: Array = pixels.copy()
    flat = out.reshape(-1, channels)
    for at in range(0, len(flat), _PIECE):
        _convert(flat[at : at + _PIECE], matrix, curves, encode)
    return out


to_srgb.__module__ = "headrace.io"


def _convert(piece: Any, matrix: Any, curves: list[Any], encode: Any) -> None:
    """Convert so few pixels that all of it stays in a core's cache, channel by channel."""
    linear = [curve.take(piece[:, i]) for i, curve in enumerate(curves[: min(3, piece.shape[1])])]
    for i in range(len(linear)):
        if matrix is None:
            one = linear[i].copy()
        else:
            one = linear[0] * matrix[0, i]
            one += linear[1] * matrix[1, i]
            one += linear[2] * matrix[2, i]
        one *= len(encode) - 1
        one += 0.5
        numpy.clip(one, 0, len(encode) - 1, out=one)
        piece[:, i] = encode.take(one.astype(numpy.int32))


@lru_cache(maxsize=16)  # pictures of one camera are alike
def _conversion(profile: bytes, dtype: str) -> tuple[Any, list[Any], Any]:
    """The matrix from linear colours to sRGB's, the curves of channels, and sRGB's own, as tables. No curves: the profile is sRGB."""
    try:
        return _parse(profile, dtype)
    except struct.error as error:
        raise MediaError("headrace: to_srgb: the profile is damaged: it is cut off") from error


def _parse(profile: bytes, dtype: str) -> tuple[Any, list[Any], Any]:
    if profile[36:40] != b"acsp":
        raise MediaError("headrace: to_srgb: the bytes are not an ICC profile")
    space, connection = profile[16:20], profile[20:24]
    tags = {}
    (count,) = struct.unpack_from(">I", profile, 128)
    for i in range(min(count, 200)):
        name, at, size = struct.unpack_from(">4sII", profile, 132 + 12 * i)
        tags[name] = profile[at : at + size]
    most = numpy.iinfo(dtype).max
    steps = numpy.linspace(0, 1, most + 1)
    encode = _encoded(numpy.linspace(0, 1, 1 << 16 if dtype == "uint8" else 1 << 20))
    table = (encode * most + 0.5).astype(dtype)
    named = space.decode("latin-1").strip()
    if space == b"GRAY" and connection == b"XYZ ":
        curve = _curve(tags, b"kTRC", steps)
        return None, [curve] * 3, table
    if b"A2B0" in tags or connection != b"XYZ " or space != b"RGB ":
        why = "it has tables" if space == b"RGB " else f"it is of {named}"
        raise MediaError(f"headrace: to_srgb: the profile is not of a matrix and curves: {why}; {_PILLOW}")
    columns = [_xyz(tags, name) for name in (b"rXYZ", b"gXYZ", b"bXYZ")]
    matrix = numpy.linalg.inv(_SRGB) @ numpy.array(columns).T
    curves = [_curve(tags, name, steps) for name in (b"rTRC", b"gTRC", b"bTRC")]
    # One of the many profiles of sRGB itself, whose last digits differ.
    if numpy.abs(matrix - numpy.eye(3)).max() < 0.002 and all(numpy.abs(_encoded(curve) - steps).max() < 0.002 for curve in curves):
        return None, [], table
    return matrix.T.astype(numpy.float32), curves, table


def _encoded(linear: Any) -> Any:
    return numpy.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _tag(tags: dict[bytes, bytes], name: bytes) -> bytes:
    if name not in tags:
        raise MediaError(f"headrace: to_srgb: the profile is damaged: it has no {name.decode()}")
    return tags[name]


def _xyz(tags: dict[bytes, bytes], name: bytes) -> list[float]:
    return [n / 65536 for n in struct.unpack_from(">3i", _tag(tags, name), 8)]


def _curve(tags: dict[bytes, bytes], name: bytes, x: Any) -> Any:
    """A curve at each step, as float32."""
    data = _tag(tags, name)
    kind = data[:4]
    if kind == b"curv":
        (n,) = struct.unpack_from(">I", data, 8)
        if n == 0:
            y = x
        elif n == 1:
            y = x ** (struct.unpack_from(">H", data, 12)[0] / 256)
        else:
            if 12 + 2 * n > len(data):
                raise MediaError("headrace: to_srgb: the profile is damaged: a curve is cut off")
            y = numpy.interp(x, numpy.linspace(0, 1, n), numpy.frombuffer(data, ">u2", n, 12) / 65535)
    elif kind == b"para":
        y = _parametric(data, x)
    else:
        raise MediaError(f"headrace: to_srgb: the profile is damaged: a curve is {kind!r}")
    return numpy.clip(numpy.nan_to_num(y), 0, 1).astype(numpy.float32)


def _parametric(data: bytes, x: Any) -> Any:
    (kind,) = struct.unpack_from(">H", data, 8)
    counts = (1, 3, 4, 5, 7)
    if kind >= len(counts):
        raise MediaError(f"headrace: to_srgb: the profile is damaged: a curve is of the form {kind}")
    g, a, b, c, d, e, f = [n / 65536 for n in struct.unpack_from(f">{counts[kind]}i", data, 12)] + [0.0] * (7 - counts[kind])
    with numpy.errstate(all="ignore"):
        if kind == 0:
            return x**g
        power = numpy.maximum(a * x + b, 0) ** g
        if kind == 1:
            return numpy.where(a * x + b >= 0, power, 0)
        if kind == 2:
            return numpy.where(a * x + b >= 0, power + c, c)
        return numpy.where(x >= d, power + e, c * x + f)

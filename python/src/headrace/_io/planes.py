"""Frames that are planes, or have a decoder's own numbers, in the form in which FFmpeg takes them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy

from ..errors import MediaError, WrongType

# Arrays of other formats are alike: the decoder's own numbers have no padding, and channels in this order.
_LIKE = {
    "yuv420": "yuv420p", "yuv422": "yuv422p", "yuv444": "yuv444p",
    "yuyv422": "yuv422p", "uyvy422": "yuv422p", "yvyu422": "yuv422p", "nv16": "yuv422p", "nv21": "yuv420p", "nv24": "yuv444p",
    "nv42": "yuv444p", "y210le": "yuv422p10le", "y212le": "yuv422p12le", "gray8": "gray",
    "rgb": "rgb24", "bgr24": "rgb24", "gbrp": "rgb24", "rgb0": "rgb24", "bgr0": "rgb24", "0rgb": "rgb24", "0bgr": "rgb24",
    "bgra": "rgba", "argb": "rgba", "abgr": "rgba", "gbrap": "rgba", "bgr48le": "rgb48le", "bgra64le": "rgba64le",
    "x2rgb10le": "gbrp10le", "x2bgr10le": "gbrp10le",
}  # fmt: skip
_INTERLEAVED = {"nv12": "yuv420p", "p010le": "yuv420p10le", "p012le": "yuv420p12le", "p016le": "yuv420p16le"}
_KNOWN = re.compile(r"(yuv(?P<chroma>420|422|444)p|gray|gbr(?P<alpha>a?)p)(?P<bits>9|10|12|14|16)?(le)?")
_NAMES = "'yuv420', 'nv12', 'yuv422', 'yuv444', or FFmpeg's name of a format, as in 'yuv420p10le', which video_info(src).pixel_format has"


class Planes(NamedTuple):
    """How frames are stored."""

    given: str
    """What the caller calls it."""
    format: str
    """FFmpeg's name, for frames as `of` gives them."""
    kind: str
    """`"420"`, `"422"`, `"444"`; `"gray"`, `"rgb"`; `"gbr"`: planes that are made of channels."""
    channels: int
    """Of pixels without planes."""
    wide: bool
    interleaved: bool
    full: bool
    """The format says that its range is full."""

    def of(self, name: str, given: Any) -> Any:
        """Frames as [frames, …], side by side in memory, each as the format has it."""
        array = numpy.asarray(given)
        dtype = numpy.dtype("uint16" if self.wide else "uint8")
        if array.dtype != dtype:
            raise MediaError(
                f"headrace: {name}: frames of {self.given!r} have dtype {array.dtype}: must be {dtype}{self._bits(array.dtype)}"
            )
        array = self._shaped(name, array)
        if not array.size:
            return array  # refused where it is saved
        if self.interleaved:
            height = self._height(array)
            chroma = array[:, height:].reshape(len(array), -1, array.shape[2] // 2, 2)
            parts = [array[:, :height].reshape(len(array), -1), *(chroma[..., i].reshape(len(array), -1) for i in (0, 1))]
            array = numpy.concatenate(parts, axis=1).reshape(array.shape)
        if self.kind == "gbr":
            array = array[..., [1, 2, 0, 3][: self.channels]].transpose(0, 3, 1, 2)
        return numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))

    def port(self, array: Any, rate: Any, aspect: tuple[int, int]) -> dict[str, Any]:
        """The description of frames that `of` has given, for the engine."""
        height, width = array.shape[1:3]
        if self.kind in ("420", "422"):
            height = self._height(array)
        elif self.kind in ("444", "gbr"):
            height, width = array.shape[2:]
        return {
            "format": self.format, "height": height, "width": width, "each": array[0].nbytes if len(array) else 0,
            "fps": [rate.numerator, rate.denominator], "aspect": aspect, "planes": True,
        }  # fmt: skip

    def range(self, name: str, given: Any) -> Any:
        """The range that the file says, if it is given or the format has one."""
        if self.full and given not in (None, "full"):
            raise MediaError(f"headrace: {name}: range is {given!r}, but frames of {self.given!r} have full range: leave it out")
        return "full" if self.full else given

    def _shaped(self, name: str, array: Any) -> Any:
        shape = array.shape
        if self.kind in ("420", "422"):
            array = array[None] if array.ndim == 2 else array
            if array.ndim != 3 or array.shape[2] % 2 or not self._fits(array.shape[1]):
                rows = "height + height / 2" if self.kind == "420" else "2 · height"
                raise self._wrong(name, shape, f"[frames, {rows}, width], of even width")
        elif self.kind == "444":
            array = array[None] if array.ndim == 3 else array
            if array.ndim != 4 or array.shape[1] != 3:
                raise self._wrong(name, shape, "[frames, 3, height, width]")
        else:
            if self.channels == 1 and (array.ndim == 2 or (array.ndim == 3 and shape[2] != 1)):
                array = array[..., None]
            array = array[None] if array.ndim == 3 else array
            if array.ndim != 4 or array.shape[3] != self.channels:
                raise self._wrong(name, shape, f"[frames, height, width, {self.channels}]")
        return array

    def _fits(self, rows: int) -> bool:
        return rows > 1 and (rows % 2 == 0 if self.kind == "422" else rows % 3 != 1)

    def _height(self, array: Any) -> int:
        rows: int = array.shape[1]
        return rows // 2 if self.kind == "422" else 2 * rows // 3

    def _wrong(self, name: str, shape: tuple[int, ...], want: str) -> MediaError:
        return MediaError(f"headrace: {name}: frames of {self.given!r} have shape {shape}: must be {want}")

    def _bits(self, dtype: Any) -> str:
        if self.wide or dtype != "uint16" or self.format in ("rgb24", "rgba"):
            return ""
        name = self.format if self.format.startswith("yuv") else "gray"
        return f"; of 10 bits they are {name + '10le'!r}"


def planes_of(name: str, given: Any) -> Planes:
    """What `planes=` names."""
    if not isinstance(given, str):
        raise WrongType(f"headrace: {name}: planes is {given!r}: must be {_NAMES}")
    full = given.startswith("yuvj")
    plain = given.replace("yuvj", "yuv", 1) if full else given
    format = _INTERLEAVED.get(plain) or _LIKE.get(plain, plain)
    channels, wide = {"rgb24": (3, False), "rgba": (4, False), "rgb48le": (3, True), "rgba64le": (4, True)}.get(format, (0, False))
    if channels:
        return Planes(given, format, "rgb", channels, wide, False, False)
    known = _KNOWN.fullmatch(format)
    if known is None:
        why = (
            "has alpha beside its planes, which no array has: load it with color='rgba', and save that"
            if plain.startswith("yuva")
            else f"must be {_NAMES}"
        )
        raise MediaError(f"headrace: {name}: planes is {given!r}: {why}")
    bits = known["bits"]
    format = format if bits is None or format.endswith("le") else format + "le"
    kind = known["chroma"] or ("gray" if format.startswith("gray") else "gbr")
    channels = {"gray": 1, "gbr": 4 if known["alpha"] else 3}.get(kind, 0)
    return Planes(given, format, kind, channels, bits is not None, plain in _INTERLEAVED, full)

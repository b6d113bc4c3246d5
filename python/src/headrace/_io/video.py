"""The engine's video tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .._recipe.arguments import option_text
from ..errors import MediaError, WrongType
from .audio import number_of, put_text, whole

if TYPE_CHECKING:
    from typing import Any


class ColorInfo(NamedTuple):
    """How the colours of a video are coded, by FFmpeg's names: what decoding uses."""

    primaries: str = ""
    """`""` if the file does not say them, nor the transfer."""
    transfer: str = ""
    """`"smpte2084"` is PQ and `"arib-std-b67"` HLG. Frames keep the numbers that they have: nothing is mapped to another curve."""
    matrix: str = ""
    range: str = ""
    """`"tv"`, which is 16 to 235 of 8 bits, or `"pc"`."""
    stated: tuple[str, ...] = ()
    """Which of these the file says: `("matrix", "range")`. The others are assumed, as `ffmpeg` does: BT.601, and limited range of YUV."""


ColorInfo.__module__ = "headrace.io"


class VideoInfo(NamedTuple):
    """What a video is."""

    width: int
    """Of a frame as it is displayed."""
    height: int
    frames: int
    duration: float
    """Seconds from the first frame until the last one disappears."""
    fps: float
    """Frames a second, on average."""
    codec: str
    """As FFmpeg calls it: `"h264"`."""
    orientation: int
    """How frames are stored, by EXIF's number; 1 is upright."""
    key_frames: list[int]
    """The frames that are marked as those with which decoding may begin."""
    seconds: numpy.ndarray[Any, Any]
    """When each frame is displayed, counted from the first: float64 [frames]."""
    color: ColorInfo = ColorInfo()
    pixel_format: str = ""
    """The decoder's format, as FFmpeg calls it: `"yuv420p10le"`. Frames of `color="native"` have it."""


VideoInfo.__module__ = "headrace.io"


def told(text: bytes) -> VideoInfo:
    """The engine's answer."""
    about = json.loads(text)
    about |= {name: float(about[name]) for name in ("duration", "fps")}  # JSON has whole numbers of them
    about |= {
        "seconds": numpy.array(about["seconds"], numpy.float64),
        "color": ColorInfo(**about["color"] | {"stated": tuple(about["color"]["stated"])}),
    }
    return VideoInfo(**about)


def asked(
    do: str,
    *,
    indices: Any = None,
    times: Any = None,
    width: Any = None,
    height: Any = None,
    max_bytes: Any = None,
    start: Any = None,
    duration: Any = None,
    aspect: str | None = None,
    mode: str | None = None,
    dtype: str | None = None,
    color: str | None = None,
    short: str | None = None,
    orient: bool | None = None,
    fps: Any = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Any = None,
    format: str | None = None,
    format_options: Any = None,
    **numbers: Any,
) -> bytes:
    """The task, as docs/protocol.md has it. Numbers are whole ones among the arguments of decode_video."""
    for name, text, known in (
        ("aspect", aspect, ("stored", "square")),
        ("mode", mode, ("exact", "fast")),
        ("dtype", dtype, ("uint8", "uint16")),
        ("color", color, ("rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444", *(["native"] if do in ("video", "frames") else []))),
        ("short", short, ("repeat", "loop", "black", "error")),
        ("start", start if isinstance(start, str) else None, ("begin", "center")),
    ):
        if text is not None and text not in known:
            raise MediaError(f"headrace: io: {name} is {text!r}: must be {', '.join(map(repr, known))}")
    if (width is None) != (height is None):
        raise MediaError("headrace: io: width and height go together: give both, or neither")
    video: dict[str, Any] = {"aspect": aspect, "mode": mode, "dtype": dtype, "color": color, "short": short, "orient": orient}
    native = color == "native"
    if native:
        video["color"] = None
    video |= {name: None if n is None else whole(name, n) for name, n in numbers.items()}
    put_text(video, "filter", filter, "a graph of FFmpeg filters as text")
    if filter is not None:
        if color == "native":
            raise MediaError("headrace: io: color is 'native', but a filter makes a format of its own: name a color")
        if aspect == "square":
            raise MediaError("headrace: io: aspect is 'square', but a filter makes pixels of its own: end it with scale=iw*sar:ih,setsar=1")
    put_text(video, "decoder", decoder, "FFmpeg's name of a decoder, as in 'libdav1d'")
    if decoder_options is not None:
        video["decoder_options"] = option_text("decoder_options", decoder_options)
    put_text(video, "format", format, "'rawvideo', for files that are nothing but frames")
    if format_options is not None:
        video["format_options"] = option_text("format_options", format_options)
    if isinstance(start, str):
        video["start"] = start
    elif start is not None:
        video["offset"] = number_of("offset", start)
    for name, n in (("duration", duration), ("fps", fps)):
        if n is not None:
            video[name] = number_of(name, n)
    what: dict[str, Any] = {"do": do, "video": {name: value for name, value in video.items() if value is not None}}
    for name, n in (("width", width), ("height", height), ("max_bytes", max_bytes)):
        if n is not None:
            what[name] = whole(name, n)
    if native:
        what["native"] = True
    if indices is not None:
        what["indices"] = [whole("frames", n) for n in listed("frames", indices)]
    if times is not None:
        what["times"] = [number_of("times", t) for t in listed("times", times)]
    return json.dumps(what).encode()


def listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise WrongType(f"headrace: io: {name} is {values!r}: must be a list of numbers")
    every = list(values)
    if not every:
        raise MediaError(f"headrace: io: {name} is empty: give at least one number")
    return every

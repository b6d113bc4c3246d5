"""The engine's audio tasks."""

from __future__ import annotations

import json
from operator import index
from typing import TYPE_CHECKING, NamedTuple

from .._recipe.arguments import option_text
from ..errors import MediaError, WrongType

if TYPE_CHECKING:
    from typing import Any


class AudioInfo(NamedTuple):
    """What a recording is."""

    sample_rate: int
    """Samples of each channel a second."""
    channels: int
    samples: int
    """Of each channel, without what the encoder has added."""

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.samples / self.sample_rate


AudioInfo.__module__ = "headrace.io"


def asked(
    do: str,
    *,
    rate: Any = None,
    channels: Any = None,
    start: Any = None,
    duration: Any = None,
    short: str = "keep",
    dtype: str = "float32",
    layout: str | None = None,
    stream: Any = None,
    max_bytes: Any = None,
    damaged: str = "error",
    format: str | None = None,
    format_options: Any = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Any = None,
) -> bytes:
    """The task, as docs/protocol.md has it."""
    audio: dict[str, Any] = {"short": short, "dtype": dtype}
    if layout is not None:
        audio["layout"] = layout
    for name, number in (("rate", rate), ("channels", 1 if channels == "mono" else channels), ("stream", stream)):
        if number is not None:
            audio[name] = whole(name, number)
    for name, seconds in (("offset", None if isinstance(start, str) else start), ("duration", duration)):
        if seconds is not None:
            audio[name] = number_of(name, seconds)
    if isinstance(start, str):
        audio["start"] = start
    for name, text, known in (
        ("short", short, ("silence", "repeat", "error", "keep")),
        ("dtype", dtype, ("float32", "int16")),
        ("layout", layout, (None, "T", "TC", "CT")),
        ("start", audio.get("start"), (None, "begin", "center")),
        ("damaged", damaged, ("error", "keep")),
    ):
        if text not in known:
            raise MediaError(f"headrace: io: {name} is {text!r}: must be {', '.join(repr(k) for k in known if k is not None)}")
    if damaged != "error":
        audio["damaged"] = damaged
    put_text(audio, "format", format, "FFmpeg's name of a format of raw samples, as in 's16le'")
    if format_options is not None:
        audio["format_options"] = option_text("format_options", format_options)
    put_text(audio, "filter", filter, "a graph of FFmpeg filters as text")
    put_text(audio, "decoder", decoder, "FFmpeg's name of a decoder, as in 'libopus'")
    if decoder_options is not None:
        audio["decoder_options"] = option_text("decoder_options", decoder_options)
    what: dict[str, Any] = {"do": do, "audio": audio}
    if max_bytes is not None:
        what["max_bytes"] = whole("max_bytes", max_bytes)
    return json.dumps(what).encode()


def put_text(to: dict[str, Any], name: str, text: Any, like: str) -> None:
    """Add an option that is text, if it is given."""
    if text is None:
        return
    if not isinstance(text, str):
        raise WrongType(f"headrace: io: {name} is {text!r}: must be {like}")
    to[name] = text


def whole(name: str, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise WrongType(f"headrace: io: {name} is {value!r}: must be a whole number") from None


def number_of(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise WrongType(f"headrace: io: {'start' if name == 'offset' else name} is {value!r}: must be a number of seconds") from None
    least = "0.000001" if name == "duration" else "0"
    if not float(least) <= number <= 1e6:
        raise MediaError(f"headrace: io: {'start' if name == 'offset' else name} is {value!r}: must be from {least} to 1000000 seconds")
    return number

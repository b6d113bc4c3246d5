"""WAV files as they are: an array that shares the file's memory, without the engine.

Their format is Microsoft's and IBM's (RIFF, `WAVE_FORMAT_EXTENSIBLE`), with RF64 and BW64 of EBU Tech 3306 for more than 4 GiB.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy

from .audio import number_of
from .bytes_of import Bytes, File, all_of, bad, regular, view_of

if TYPE_CHECKING:
    from .kinds import Array, Path, Readable

_CHUNK = Struct("<4sI")
_FORMAT = Struct("<HHIIHH")
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_DTYPES = {(_PCM, 1): "u1", (_PCM, 2): "<i2", (_PCM, 3): "<i4", (_PCM, 4): "<i4", (_FLOAT, 4): "<f4", (_FLOAT, 8): "<f8"}
_REST = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"  # what follows the code in the identity of a format that is extensible
_MOST_CHANNELS = 256
_UNKNOWN = 0xFFFFFFFF  # a size that its writer could not go back to, or that is in ds64


def load_wav(
    src: Path | bytes | bytearray | memoryview | Array | Readable,
    *,
    start: float = 0.0,
    duration: float | None = None,
) -> tuple[Array, int]:
    """Read a WAV file unconverted, or a window of it. For other files, rates, channels or types use `load_audio`.

        samples, rate = hr.io.load_wav("talk.wav", start=90.0, duration=10.0)

    Args:
        src: a path, read only in the window; bytes; or an object with `read()`, read at once.
        start: the second where the window begins.
        duration: length of the window in seconds, cut off at the recording's end; by default all that follows.

    Returns:
        The samples, [time, channels], and their rate per channel. Their dtype is uint8 (0 to 255), int16, int32, float32 or float64; 24
        bits become int32, times 256. For bytes in memory, except 24-bit ones, the array is a view that keeps them alive, read-only if they
        are; otherwise it is yours.

    Raises:
        MediaError: if the file is invalid or damaged, or needs decoding, as A-law and µ-law do.
        OSError: if the file cannot be read.
    """
    begin = 0.0 if start == 0 else number_of("start", start)
    seconds = None if duration is None else number_of("duration", duration)
    if type(src) is bytes:
        return _window(Bytes(memoryview(src)), "", begin, seconds)
    if isinstance(src, (str, os.PathLike)):
        with regular("load_wav", src) as (file, about):
            return _window(File(file), about, begin, seconds)
    view = view_of(src)
    return _window(Bytes(memoryview(all_of(src)) if view is None else view), "", begin, seconds)


load_wav.__module__ = "headrace.io"


def _window(file: Any, about: str, start: float, duration: float | None) -> tuple[Array, int]:
    dtype, channels, rate, width, at, size = _samples(file, about)
    count = size // (channels * width)
    first = min(_whole(start * rate), count)
    last = count if duration is None else min(first + _whole(duration * rate), count)
    data = file.at(at + first * channels * width, (last - first) * channels * width)
    if len(data) < (last - first) * channels * width:
        raise bad("load_wav", about, "it has become shorter while it was read")
    if width == 3:
        wide = numpy.zeros((last - first, channels, 4), numpy.uint8)
        wide[..., 1:] = numpy.frombuffer(data, numpy.uint8).reshape(last - first, channels, 3)
        return wide.view("<i4")[..., 0], rate
    return numpy.frombuffer(data, dtype).reshape(last - first, channels), rate


def _whole(samples: float) -> int:
    """So many; seconds are decimal numbers for people, so what is almost a whole number of samples is one."""
    return int(samples + 1e-6)


def _samples(file: Any, about: str) -> tuple[str, int, int, int, int, int]:
    """The dtype, channels, rate and bytes of a sample; and where samples are, with how many bytes there are of them."""
    head = bytes(file.at(0, 44))
    if head[:4] == b"RIFF" and head[8:20] == b"WAVEfmt \x10\0\0\0" and head[36:40] == b"data":  # as most are
        size = int.from_bytes(head[40:], "little")
        if 0 < size <= file.size() - 44:
            return (*_format(head[20:36], about), 44, size)
    head = head[:12]
    if len(head) < 12 or head[:4] not in (b"RIFF", b"RF64", b"BW64") or head[8:] != b"WAVE":
        raise bad("load_wav", about, "it is not a WAV file: load_audio reads others")
    at, end = 12, file.size()
    long = None  # bytes of samples, as ds64 says
    known = None
    while at + _CHUNK.size <= end:
        name, size = _CHUNK.unpack(file.at(at, _CHUNK.size))
        at += _CHUNK.size
        if name == b"fmt ":
            known = _format(bytes(file.at(at, min(size, 40))), about)
        elif name == b"ds64":
            body = bytes(file.at(at, 24))
            if size < 24 or len(body) < 24:
                raise bad("load_wav", about, f"it is damaged: its chunk ds64 has {min(size, len(body))} bytes")
            long = int.from_bytes(body[8:16], "little")
        elif name == b"data":
            if known is None:
                raise bad("load_wav", about, "it is damaged: its samples come before the chunk fmt, which says what they are")
            if size == _UNKNOWN and long is not None:
                size = long
            elif size in (0, _UNKNOWN):  # who wrote it could not go back
                size = end - at
            if size > end - at:
                raise bad("load_wav", about, f"it ends too early: {size:,} bytes of samples are announced, and there are {end - at:,}")
            return (*known, at, size)
        at += size + size % 2
    raise bad("load_wav", about, "it is damaged: it has no chunk data" if known else "it is damaged: it has no chunk fmt")


def _format(body: bytes, about: str) -> tuple[str, int, int, int]:
    if len(body) < _FORMAT.size:
        raise bad("load_wav", about, f"it is damaged: its chunk fmt has {len(body)} bytes")
    code, channels, rate, _, block, bits = _FORMAT.unpack_from(body)
    if code == _EXTENSIBLE:
        if len(body) < 40:
            raise bad("load_wav", about, f"it is damaged: its chunk fmt has {len(body)} bytes, and is extensible, which needs 40")
        code = int.from_bytes(body[24:26], "little") if body[26:] == _REST else -1
    if not 0 < channels <= _MOST_CHANNELS or rate == 0 or block == 0 or block % channels:
        raise bad("load_wav", about, f"it is damaged: {channels} channels, {rate} samples a second, {block} bytes of one of all channels")
    width = block // channels
    dtype = _DTYPES.get((code, width))
    if dtype is None or bits > 8 * width:
        raise bad("load_wav", about, f"its samples have {bits} bits in {width} bytes and the code {code}: load_audio decodes more kinds")
    return dtype, channels, rate, width

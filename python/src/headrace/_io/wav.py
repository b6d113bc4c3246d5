"""WAV files as they are: an array that shares the file's memory, without the engine.

Their format is Microsoft's and IBM's (RIFF, `WAVE_FORMAT_EXTENSIBLE`), with RF64 and BW64 of EBU Tech 3306 for more than 4 GiB.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from .audio import number_of
from .bytes_of import Bytes, File, all_of, bad, regular, view_of
from .stored import is_stored, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .kinds import Array, Path, Readable

_CHUNK = Struct("<4sI")
_FORMAT = Struct("<HHIIHH")
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_DTYPES = {(_PCM, 1): "u1", (_PCM, 2): "<i2", (_PCM, 3): "<i4", (_PCM, 4): "<i4", (_FLOAT, 4): "<f4", (_FLOAT, 8): "<f8"}
_REST = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"  # what follows the code in the identity of a format that is extensible
_MOST_CHANNELS = 256
_MOST_CHUNKS = 4096
_UNKNOWN = 0xFFFFFFFF  # a size that is in ds64
_TOGETHER = 1 << 16  # bytes that are looked at together
_CHANCE = 256  # more samples than have zeros at their end by chance


class _Form(NamedTuple):
    """What a chunk fmt says of samples."""

    dtype: str
    channels: int
    rate: int
    width: int  # bytes of a sample of one channel
    wide: int  # bytes that it has room in, if these are more


def load_wav(
    src: Path | bytes | bytearray | memoryview | Array | Readable,
    *,
    start: float = 0.0,
    duration: float | None = None,
) -> tuple[Array, int]:
    """Read a WAV file unconverted, or a window of it. For other files, rates, channels or types use `load_audio`.

        samples, rate = hr.io.load_wav("talk.wav", start=90.0, duration=10.0)

    Args:
        src: a path, read only in the window; a name such as `s3://bucket/a.wav`, read at once; bytes; or an object with `read()`, read
            at once.
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
    if is_stored(src):
        view, about = stored("load_wav", src)
        return _window(Bytes(view), about, begin, seconds)
    if isinstance(src, (str, os.PathLike)):
        with regular("load_wav", src) as (file, about):
            return _window(File(file), about, begin, seconds)
    own = view_of(src)
    return _window(Bytes(memoryview(all_of("load_wav", src)) if own is None else own), "", begin, seconds)


load_wav.__module__ = "headrace.io"


def _window(file: Any, about: str, start: float, duration: float | None) -> tuple[Array, int]:
    form, parts = _samples(file, about)
    rate, block = form.rate, form.channels * form.width
    first = _whole(start * rate) if start else 0
    most = None if duration is None else _whole(duration * rate)
    if len(parts) == 1:
        at, size = parts[0]
        return _piece(file, about, form, at, *_within(first, most, size // block)), rate
    count = sum(size // block for _, size in parts)
    first, last = _within(first, most, count)
    pieces = [_array(memoryview(b""), form)]
    for at, size in parts:
        pieces.append(_piece(file, about, form, at, max(first, 0), max(min(last, size // block), first, 0)))
        first, last = first - size // block, last - size // block
    return numpy.concatenate(pieces), rate


def _within(first: int, most: int | None, count: int) -> tuple[int, int]:
    """Which of so many samples a window has."""
    if first > count:
        first = count
    return first, count if most is None else min(first + most, count)


def _piece(file: Any, about: str, form: _Form, at: int, first: int, last: int) -> Array:
    """Some samples of a chunk."""
    block = form.channels * form.width
    size = (last - first) * block
    data = file.at(at + first * block, size)
    if len(data) < size:
        raise bad("load_wav", about, "it has become shorter while it was read")
    return _array(data, form)


def _array(data: memoryview, form: _Form) -> Array:
    dtype, channels, _, width, wide = form
    if wide or width == 3:
        used = wide or width
        samples = numpy.zeros((len(data) // (channels * width), channels, 4), numpy.uint8)
        samples[..., 4 - used :] = numpy.frombuffer(data, numpy.uint8).reshape(-1, channels, width)[..., :used]
        return samples.view("<i4")[..., 0]
    return numpy.frombuffer(data, dtype).reshape(-1, channels)


def _whole(samples: float) -> int:
    """So many; seconds are decimal numbers for people, so what is almost a whole number of samples is one."""
    return int(samples + 1e-6)


def _samples(file: Any, about: str) -> tuple[_Form, list[tuple[int, int]]]:
    """What samples are; and where they are, with how many bytes there are of them. Several chunks follow each other."""
    head, end = bytes(file.at(0, 44)), file.size()
    if head[:4] == b"RIFF" and head[8:20] == b"WAVEfmt \x10\0\0\0" and head[36:40] == b"data":  # as most are
        size = int.from_bytes(head[40:], "little")
        if size > 0 and size + size % 2 == end - 44:
            form = _format(head[20:36], about)
            return _aligned(form, file, 44, size) if form.wide else form, [(44, size)]
    at = _behind_tags(file)
    head = bytes(file.at(at, 12))
    if len(head) < 12 or head[:4] not in (b"RIFF", b"RF64", b"BW64") or head[8:] != b"WAVE":
        raise bad("load_wav", about, "it is not a WAV file: load_audio reads others")
    at += 12
    long = 0  # bytes of samples, as ds64 says
    said = None  # by the chunk fmt
    other = False  # another one comes after samples
    known: _Form | None = None
    parts: list[tuple[int, int]] = []
    for name, begin, size in _chunks(file, at, end):
        if name == b"fmt ":
            body = bytes(file.at(begin, min(size, 40)))
            other = other or (known is not None and body != said)
            said = said if known else body
        elif name == b"ds64":
            body = bytes(file.at(begin, 24))
            if size < 24 or len(body) < 24:
                raise bad("load_wav", about, f"it is damaged: its chunk ds64 has {min(size, len(body))} bytes")
            long = int.from_bytes(body[8:16], "little")
        elif name == b"data":
            if said is None:
                raise bad("load_wav", about, "it is damaged: its samples come before the chunk fmt, which says what they are")
            if other:
                raise bad("load_wav", about, "it is damaged: it has samples of two forms")
            length = _length(file, begin, size, long, end)
            if known is None:
                known = _aligned(_format(said, about), file, begin, min(length, end - begin))
            if length > end - begin:
                there = f"{length:,} bytes of samples are announced, and there are {end - begin:,}"
                raise bad("load_wav", about, f"it ends too early: {there}")
            parts.append((begin, length))
    if known is None:
        raise bad("load_wav", about, "it is damaged: it has no chunk fmt" if said is None else "it is damaged: it has no chunk data")
    return known, parts


def _behind_tags(file: Any) -> int:
    """Where the file begins, after tags of ID3."""
    at = 0
    while bytes(file.at(at, 3)) == b"ID3" and len(head := bytes(file.at(at, 10))) == 10:
        size = 0
        for byte in head[6:]:
            size = size << 7 | byte & 127
        at += 10 + size + 10 * (head[5] >> 4 & 1)
    return at


def _chunks(file: Any, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The name, place and size of each. After samples that go on to the end there is none."""
    for _ in range(_MOST_CHUNKS):
        if at + _CHUNK.size > end:
            return
        name, size = _CHUNK.unpack(file.at(at, _CHUNK.size))
        at += _CHUNK.size
        yield name, at, size
        at += size + size % 2


def _length(file: Any, begin: int, size: int, long: int, end: int) -> int:
    """How many bytes of samples there are. 0, and sizes near the largest of 31 or 32 bits, mean that their writer could not go back."""
    if size == _UNKNOWN and 0 < long < (1 << 63) - 1:
        return long
    if size == 0:
        return 0 if _only_chunks(file, begin, end) else end - begin
    unsaid = 0x7FFF0000 <= size < 0x80010000 or size >= 0xFFFF0000
    return end - begin if unsaid and size > end - begin else size


def _only_chunks(file: Any, at: int, end: int) -> bool:
    """Whether nothing but chunks follow, to the end of the file."""
    last = at
    for name, begin, size in _chunks(file, at, end):
        if size > end - begin or any(not 32 <= letter <= 126 for letter in name):
            return False
        last = min(begin + size + size % 2, end)
    return last == end


def _format(body: bytes, about: str) -> _Form:
    if len(body) < _FORMAT.size:
        raise bad("load_wav", about, f"it is damaged: its chunk fmt has {len(body)} bytes")
    code, channels, rate, _, block, bits = _FORMAT.unpack_from(body)
    if code == _EXTENSIBLE:
        if len(body) < 40:
            raise bad("load_wav", about, f"it is damaged: its chunk fmt has {len(body)} bytes, and is extensible, which needs 40")
        code = int.from_bytes(body[24:26], "little") if body[26:] == _REST else -1
    if not 0 < channels <= _MOST_CHANNELS or rate == 0:
        raise bad("load_wav", about, f"it is damaged: {channels} channels, {rate} samples a second")
    width = (bits + 7) // 8 or block // channels  # the size of a block should agree, and some programs write 0
    dtype = _DTYPES.get((code, width))
    if dtype is None:
        raise bad("load_wav", about, f"its samples have {bits} bits in {width} bytes and the code {code}: load_audio decodes more kinds")
    wide = block // channels if code == _PCM and width > 1 and block % channels == 0 and width < block // channels <= 4 else 0
    return _Form(dtype, channels, rate, width, wide)


def _aligned(form: _Form, file: Any, at: int, size: int) -> _Form:
    """How samples are that have more room than they need, by what they are: zeros before them, copies of their sign after, or neither."""
    if not form.wide:
        return form
    width, wide = form.width, form.wide
    left = right = True
    sounds = 0
    for begin in range(at, at + size - wide + 1, _TOGETHER // wide * wide):
        data = numpy.frombuffer(file.at(begin, min(_TOGETHER, at + size - begin) // wide * wide), numpy.uint8).reshape(-1, wide)
        sign = ((data[:, width - 1 : width] >> 7) * 255).astype(numpy.uint8)
        left = left and not data[:, : wide - width].any()
        right = right and bool((data[:, width:] == sign).all())
        sounds += int(data.any(1).sum())
        if not (left or right) or (left != right and sounds > _CHANCE):
            break
    if sounds and left:
        return form._replace(dtype=_DTYPES[_PCM, wide], width=wide, wide=0)
    if sounds and right:
        return form._replace(width=wide, wide=width)
    return form._replace(wide=0)

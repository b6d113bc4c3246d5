"""Coded packets, without their file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..errors import MediaError, WrongType

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]

_MAGIC = b"HRPKTS\r\n"
_HEAD = 64
_ROW = numpy.dtype([
    ("at", "<i8"), ("pts", "<i8"), ("dts", "<i8"), ("duration", "<i8"),
    ("size", "<u4"), ("side", "<u4"), ("stream", "<u4"), ("flags", "<u4"), ("skip", "<u4"), ("cut", "<u4"), ("rest", "<u8"),
])  # fmt: skip
_KINDS = ("other", "video", "audio")
_NO_TIME = -(1 << 63)


class StreamInfo(NamedTuple):
    """What is known of a stream before its first packet."""

    number: int
    """Its number among all streams of the file."""
    kind: str
    """`"video"`, `"audio"` or `"other"`."""
    codec: str
    """As FFmpeg calls it: `"h264"`."""
    time_base: tuple[int, int]
    """Seconds of a tick of its times: a fraction."""
    width: int
    """Of a frame as it is stored; 0 of audio."""
    height: int
    sample_rate: int
    """Of audio; 0 of video."""
    channels: int
    language: str
    """ISO 639-2: `"eng"`; empty where the file does not say it."""
    config: bytes
    """What the decoder needs before the first packet, such as an `avcC`."""


class Packet(NamedTuple):
    """One packet."""

    stream: int
    """Its place in `Packets.streams`."""
    pts: int | None
    """When it is displayed, in ticks of its stream; None: the file does not say it."""
    dts: int | None
    """When it is decoded."""
    duration: int
    key: bool
    """Decoding can begin with it."""
    discard: bool
    """It is decoded for others' sake, and not shown."""
    data: memoryview
    """The bytes, in the memory of the packets."""


class Packets:
    """Coded packets of a window of a file, with everything needed to decode them.

    Send them to another process or machine as `tobytes()`, or pickle them; `Packets(data)` uses the bytes without copying.
    `load_video(packets)` decodes them, as often as you like.
    """

    __slots__ = ("_about", "_data", "_payload", "_table")

    def __init__(self, data: Any) -> None:
        """Args:
            data: bytes of `tobytes`, or any buffer, which must not change while the packets are used.

        Raises:
            MediaError: if the bytes are invalid or truncated. Checksums are verified when decoding.
        """
        try:
            view = memoryview(data)
        except TypeError:
            raise WrongType(f"headrace: Packets: the data must be bytes, not {type(data).__name__}") from None
        if not view.c_contiguous:
            raise MediaError("headrace: Packets: the bytes are not contiguous")
        view = view.cast("B") if view.nbytes else memoryview(b"")
        if len(view) < _HEAD or view[:8] != _MAGIC:
            raise MediaError("headrace: Packets: these bytes are not packets")
        version, text, count, size = (int.from_bytes(view[at : at + 8], "little") for at in (8, 16, 24, 32))
        if version != 1:
            raise MediaError(f"headrace: Packets: version {version}: this release reads version 1")
        if _HEAD + text + count * _ROW.itemsize + size != len(view):
            raise MediaError("headrace: Packets: the bytes are truncated")
        at = _HEAD + text
        self._data = view.toreadonly()
        self._table: Any = numpy.frombuffer(view, _ROW, count, at)
        self._payload = view[at + count * _ROW.itemsize :].toreadonly()
        try:
            self._about = json.loads(bytes(view[_HEAD:at]))
            self._about["streams"] = [_stream(s) for s in self._about["streams"] or ()]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise MediaError(f"headrace: Packets: the bytes are damaged: {error}") from None
        ends = self._table["at"].astype(numpy.float64) + self._table["size"] + self._table["side"]
        below = count and min(self._table[name].min() for name in ("at", "size", "side", "stream")) < 0
        if count and (below or ends.max() > size or self._table["stream"].max() >= len(self.streams)):
            raise MediaError("headrace: Packets: the bytes are damaged: a packet is outside of them")

    @property
    def streams(self) -> list[StreamInfo]:
        """The packets' streams."""
        streams: list[StreamInfo] = self._about["streams"]
        return streams

    @property
    def format(self) -> str:
        """The original container, by FFmpeg's name."""
        return str(self._about["format"])

    @property
    def nbytes(self) -> int:
        """The size of `tobytes`."""
        return len(self._data)

    def __len__(self) -> int:
        """The number of packets, including those needed only to decode others."""
        return len(self._table)

    def __getitem__(self, i: int) -> Packet:
        row = self._table[i]
        at, size, flags = int(row["at"]), int(row["size"]), int(row["flags"])
        pts, dts = (None if t == _NO_TIME else int(t) for t in (row["pts"], row["dts"]))
        return Packet(int(row["stream"]), pts, dts, int(row["duration"]), bool(flags & 1), bool(flags & 2), self._payload[at : at + size])

    def __iter__(self) -> Iterator[Packet]:
        return (self[i] for i in range(len(self)))

    def seconds(self, stream: int = 0) -> Array:
        """Display times of a stream's frames or pieces of audio, in order, by the file's own clock: float64 [n]."""
        if not 0 <= stream < len(self.streams):
            raise MediaError(f"headrace: Packets: there is no stream {stream}: the packets have {len(self.streams)}")
        rows = self._table[(self._table["stream"] == stream) & (self._table["flags"] & 2 == 0) & (self._table["pts"] != _NO_TIME)]
        num, den = self.streams[stream].time_base
        times: Array = numpy.sort(rows["pts"]).astype(numpy.float64) * num / den
        return times

    def tobytes(self) -> bytes:
        """The packets as bytes."""
        return self._data.tobytes()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if int(protocol) >= 5:  # a pickler that moves buffers apart does not copy them
            return Packets, (pickle.PickleBuffer(self._data),)
        return Packets, (self.tobytes(),)

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Packets) else NotImplemented

    def __hash__(self) -> int:
        return hash(bytes(self._data[:_HEAD]))  # which has checksums of the rest

    def __repr__(self) -> str:
        kinds = ", ".join(f"{s.kind} {s.codec}" for s in self.streams)
        return f"<Packets: {len(self)} of {kinds}, {self.nbytes} bytes>"


for _public in (StreamInfo, Packet, Packets):
    _public.__module__ = "headrace.io"


def _stream(about: dict[str, Any]) -> StreamInfo:
    import base64

    base = about["TimeBase"]
    config = base64.b64decode(about["Config"] or "")
    return StreamInfo(
        about["Index"], _KINDS[about["Kind"]], about["Codec"], (base["Num"], base["Den"]), about["Width"], about["Height"], about["Rate"],
        about["Channels"], about["Language"], config,
    )  # fmt: skip

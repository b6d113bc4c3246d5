"""Files of any length, decoded piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from .session import Input
from .tasks import Ongoing, task
from .unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from .kinds import Array


class _Stream:
    """Iterates over pieces; ends by itself, with `close()`, or as a context manager."""

    def __init__(self, name: str, what: bytes, source: Input, count: int, limit: Mapping[str, Any]) -> None:
        self._ongoing = Ongoing(name, what, [source])
        self._next = task("next", {"count": count}, None, **limit)

    def __iter__(self) -> Any:
        return self

    def _piece(self) -> tuple[dict[str, Array], dict[str, Any]]:
        if self._ongoing.closed:
            raise StopIteration
        arrays, about = unpack(self._ongoing.do(self._next))
        if next(iter(arrays.values())).size == 0:
            self.close()
            raise StopIteration
        return arrays, about

    def close(self) -> None:
        """Stop early and close everything. You may call it again."""
        self._ongoing.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class VideoStream(_Stream):
    """Frames of a video, piece by piece: uint8 or uint16 [frames, height, width, 3], or as `color=` says. `stream_video` makes it."""

    seconds: Array
    """When the frames of the last piece are displayed: float64 [frames]."""

    def __init__(self, name: str, what: bytes, source: Input, count: int, limit: Mapping[str, Any]) -> None:
        super().__init__(name, what, source, count, limit)
        self.height: int = self._ongoing.told["height"]
        self.width: int = self._ongoing.told["width"]
        self.pixel_format: str = self._ongoing.told["pixel_format"]  # of color="native"; else ""
        self.seconds = numpy.empty(0)

    def __next__(self) -> Array:
        arrays, _ = self._piece()
        self.seconds = arrays["seconds"].copy()
        return arrays["video"]


class AudioStream(_Stream):
    """Samples of a recording, piece by piece: float32 or int16. `stream_audio` makes it."""

    second: float
    """When the first sample of the last piece is played."""

    def __init__(self, name: str, what: bytes, source: Input, count: int | None, seconds: float | None, limit: Mapping[str, Any]) -> None:
        super().__init__(name, what, source, count or 1, limit)
        self.sample_rate: int = self._ongoing.told["sample_rate"]
        self.channels: int = self._ongoing.told["channels"]
        self.second = 0.0
        if count is None:
            count = max(1, round((seconds or 1.0) * self.sample_rate))
        self._next = task("next", {"count": count}, None, **limit)

    def __next__(self) -> Array:
        arrays, about = self._piece()
        self.second = about["second"]
        return arrays["audio"]


class FilterStream(_Stream):
    """What a graph of filters makes, piece by piece: frames, or float32 samples [samples, channels]. `stream_filter` makes it."""

    seconds: Array
    """When the frames of the last piece are displayed: float64."""

    def __init__(self, name: str, what: bytes, inputs: Sequence[Input], frames: int, seconds: float, limit: Mapping[str, Any]) -> None:
        self._ongoing = Ongoing(name, what, inputs)
        told = self._ongoing.told
        self.height: int = told["height"]
        self.width: int = told["width"]
        self.sample_rate: int = told["sample_rate"]
        """Of samples; 0 of frames."""
        self.channels: int = told["channels"]
        self.seconds = numpy.zeros(0)
        count = max(1, round(seconds * self.sample_rate)) if told["audio"] else frames
        self._next = task("next", {"count": count}, None, **limit)

    def __next__(self) -> Array:
        arrays, _ = self._piece()
        if "audio" in arrays:
            return arrays["audio"]
        self.seconds = arrays["seconds"].copy()
        return arrays["video"]


class MediaClip(NamedTuple):
    """Video and audio of one window."""

    video: Array
    """Frames: [frames, height, width, 3]."""
    audio: Array
    """Samples: the first is heard at `start`, sample n n / `sample_rate` seconds later."""
    seconds: Array
    """When each frame is displayed, counted from the file's first: float64 [frames]."""
    sample_rate: int
    start: float
    """Where the window begins, in seconds."""


class MediaStream(_Stream):
    """Clips of a video with their audio, one after the other. `stream_media` makes it."""

    def __init__(self, name: str, what: bytes, source: Input, count: int, limit: Mapping[str, Any]) -> None:
        super().__init__(name, what, source, count, limit)
        self.height: int = self._ongoing.told["height"]
        self.width: int = self._ongoing.told["width"]
        self.sample_rate: int = self._ongoing.told["sample_rate"]
        self.channels: int = self._ongoing.told["channels"]
        self._heard = task("heard", {}, None, **limit)

    def __next__(self) -> MediaClip:
        arrays, _ = self._piece()
        sound, _ = unpack(self._ongoing.do(self._heard))
        seconds = arrays["seconds"].copy()
        return MediaClip(arrays["video"], sound["audio"], seconds, self.sample_rate, float(seconds[0]))


for _public in (VideoStream, AudioStream, FilterStream, MediaClip, MediaStream):
    _public.__module__ = "headrace.io"

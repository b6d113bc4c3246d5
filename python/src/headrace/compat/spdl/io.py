"""What `spdl.io` does most, with Headrace's decoders. Packets, frames and buffers that SPDL has classes for are arrays here, or packets.

Video and filters are those of FFmpeg, to the byte; images are Headrace's own pixels.
"""

from __future__ import annotations

import functools
import logging
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ... import io
from ...errors import FileError, HeadraceError, MediaError, NoSuchRow, RecipeError, WrongValue
from ._missing import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Call = TypeVar("Call", bound=Callable[..., Any])

_log = logging.getLogger("headrace.compat.spdl")
_COLORS = {"rgb24": "rgb", "rgba": "rgba", "gray": "gray", "gray8": "gray"}  # by FFmpeg's name
_DEFAULT = "format=rgb24"


class InputFailed(MediaError, RuntimeError):
    """An input that cannot be read, as the RuntimeError that programs for SPDL catch."""


def _fails(call: Call) -> Call:
    @functools.wraps(call)
    def called(*given: Any, **options: Any) -> Any:
        try:
            return call(*given, **options)
        except (MediaError, FileError) as error:
            raise InputFailed(str(error), key=getattr(error, "key", None)) from error.__cause__

    return called  # type: ignore[return-value]


load_npy, load_npz, iter_tarfile, save_image = _fails(io.load_npy), _fails(io.load_npz), io.iter_tar, io.save_image
VideoPackets = io.Packets
CPUBuffer = ArrayInterface = VideoFrames = ImageFrames = np.ndarray


class CUDAConfig:
    """For annotations: nothing here decodes on a GPU."""

    def __init__(self, *given: Any, **options: Any) -> None:
        raise RecipeError('headrace: compat.spdl: decoders run on the CPU: leave out device_config=, and write tensor.to("cuda")')


cuda_config = CUDAConfig


def get_audio_filter_desc(
    *, sample_rate: int | None = None, num_channels: int | None = None, num_frames: int | None = None, filter_desc: str | None = None
) -> str:
    """The filters of FFmpeg that do this."""
    steps = [f"aformat=channel_layouts={num_channels}c"] if num_channels is not None else []
    if sample_rate is not None:
        steps.append(f"aresample={sample_rate}")
    if num_frames is not None:
        steps.append(f"apad,atrim=end_sample={num_frames}")
    if filter_desc is not None:
        steps.append(filter_desc)
    return ",".join(steps)


@_fails
def load_audio(src: Any, timestamp: tuple[float, float] | None = None, *, filter_desc: str | None = None) -> Any:
    """The samples of a recording, float32 [channels, time]."""
    start, end = _window(timestamp)
    if filter_desc:
        samples = io.filter(filter_desc, io.demux(src, streams="audio", start=start, end=end))
        return np.ascontiguousarray(samples.T)
    duration = None if end is None else end - (start or 0)
    return io.load_audio(src, start=start or 0.0, duration=duration, layout="CT")[0]


def _window(timestamp: tuple[float, float] | None) -> tuple[float | None, float | None]:
    start, end = timestamp or (None, None)
    return start, None if end == math.inf else end


def get_video_filter_desc(
    *,
    frame_rate: tuple[int, int] | None = None,
    timestamp: tuple[float, float] | None = None,
    scale_width: int | None = None,
    scale_height: int | None = None,
    scale_algo: str = "bicubic",
    scale_mode: str | None = "pad",
    crop_width: int | None = None,
    crop_height: int | None = None,
    pix_fmt: str | None = "rgb24",
    num_frames: int | None = None,
    pad_mode: str | None = None,
    filter_desc: str | None = None,
) -> str:
    """The filters of FFmpeg that do this."""
    steps = []
    if frame_rate is not None:
        steps.append(f"fps={frame_rate[0]}/{frame_rate[1]}")
    if timestamp is not None:
        steps.append(f"trim=start={timestamp[0]}" + (f":end={timestamp[1]}" if math.isfinite(timestamp[1]) else ""))
    if scale_width is not None or scale_height is not None:
        w, h = scale_width or 0, scale_height or 0
        fit = {"pad": ":force_original_aspect_ratio=decrease", "crop": ":force_original_aspect_ratio=increase", None: ""}[scale_mode]
        steps.append(f"scale={w}:{h}:flags={scale_algo}{fit}")
        if scale_mode == "pad":
            steps.append(f"pad={w}:{h}:-1:-1:{pad_mode or 'black'}")
        elif scale_mode == "crop":
            steps.append(f"crop={w}:{h}")
    if crop_width is not None or crop_height is not None:
        steps.append(f"crop={crop_width or 0}:{crop_height or 0}")
    if num_frames is not None:
        steps.append("tpad=stop=-1:stop_mode=" + ("clone" if pad_mode is None else f"add:color={pad_mode}"))
        steps.append(f"trim=end_frame={num_frames}")
    if filter_desc is not None:
        steps.append(filter_desc)
    if pix_fmt is not None:
        steps.append(f"format={pix_fmt}")
    return ",".join(steps)


def get_filter_desc(packets: Any, **given: Any) -> str:
    """The filters for packets of images and video."""
    return get_video_filter_desc(**given)


class ImagePackets:
    """An image that is not decoded yet."""

    def __init__(self, src: Any) -> None:
        self.src = src


def demux_image(src: Any) -> ImagePackets:
    """An image, for `decode_packets`."""
    return ImagePackets(src)


@_fails
def demux_video(src: Any, *, timestamp: tuple[float, float] | None = None) -> io.Packets:
    """The packets of a video."""
    start, end = _window(timestamp)
    return io.demux(src, streams="video", start=start, end=end)


@_fails
def decode_packets(packets: Any, *, filter_desc: str | None = _DEFAULT) -> Any:
    """An image's pixels, [height, width, channels], or frames, with one more axis."""
    if isinstance(packets, ImagePackets):
        image = io.load_image(packets.src)
        return image if filter_desc in (None, _DEFAULT) else _filtered(filter_desc, image[None])[0]
    return _filtered(filter_desc or _DEFAULT, packets)


@_fails
def sample_decode_video(packets: Any, indices: Sequence[int], *, filter_desc: str | None = _DEFAULT) -> Any:
    """Some of the frames, by number."""
    if not len(indices):
        raise WrongValue("headrace: compat.spdl: sample_decode_video: indices is empty: name a frame")
    once = sorted(set(indices))
    picked = "+".join(f"eq(n,{i})" for i in once)
    frames = _filtered(f"select='{picked}',{filter_desc or _DEFAULT}", packets)
    if len(frames) < len(once):
        absent = once[0] if once[0] < 0 else once[-1]
        raise NoSuchRow(f"headrace: compat.spdl: sample_decode_video: there is no frame {absent}")
    return frames[[once.index(i) for i in indices]]


def _filtered(graph: Any, given: Any) -> Any:
    formats = re.findall(r"format=(?:pix_fmts=)?(\w+)", graph)
    color = _COLORS.get(formats[-1] if formats else "rgb24")
    if color is None:
        raise RecipeError(f"headrace: compat.spdl: pixels of {formats[-1]} are not supported: write hr.io.filter(graph, frames, color=…)")
    if not graph.startswith("sws_flags="):  # as in SPDL and ffmpeg: hr.io.filter itself rounds more exactly
        graph = f"sws_flags=bicubic;{graph}"
    return io.filter(graph, given, color=color)  # type: ignore[arg-type]


def convert_frames(frames: Any) -> Any:
    """One array of what `decode_packets` gave, or of several."""
    if not isinstance(frames, (list, tuple)):
        return frames
    return np.stack(frames) if frames[0].ndim == 3 else np.concatenate(frames)


def load_image(src: Any, *, filter_desc: str | None = _DEFAULT) -> Any:
    """An image's pixels."""
    return decode_packets(demux_image(src), filter_desc=filter_desc)


def load_image_batch(
    srcs: Sequence[Any],
    *,
    width: int | None,
    height: int | None,
    pix_fmt: str | None = "rgb24",
    filter_desc: str | None = _DEFAULT,
    strict: bool = True,
) -> Any:
    """The pixels of images, [images, height, width, channels], with bars where an image has another shape than width and height.

    Those that fail are logged, and left out if it is not strict.
    """
    if filter_desc == _DEFAULT:
        filter_desc = get_video_filter_desc(scale_width=width, scale_height=height, pix_fmt=pix_fmt)
    images = []
    for src in srcs:
        try:
            images.append(load_image(src, filter_desc=filter_desc))
        except (HeadraceError, OSError) as error:
            _log.error("load_image_batch: %s", error)
    if not images or (strict and len(images) < len(srcs)):
        raise InputFailed(f"headrace: compat.spdl: load_image_batch: {len(srcs) - len(images)} of {len(srcs)} images could not be loaded")
    return np.stack(images)


def load_video(src: Any, timestamp: tuple[float, float] | None = None, *, filter_desc: str | None = _DEFAULT) -> Any:
    """The frames of a video."""
    return decode_packets(demux_video(src, timestamp=timestamp), filter_desc=filter_desc)


@_fails
def load_wav(wav_data: Any, time_offset_seconds: float = 0.0, duration_seconds: float | None = None) -> Any:
    """Samples of a WAV file, [time, channels]."""
    return io.load_wav(wav_data, start=time_offset_seconds, duration=duration_seconds)[0]


def to_numpy(buffer: Any) -> Any:
    """The array."""
    return np.asarray(buffer)


def to_torch(buffer: Any) -> Any:
    """A tensor of the array's memory."""
    import torch

    return torch.from_numpy(np.require(buffer, requirements="W"))


def __getattr__(name: str) -> NoReturn:
    missing(__name__, name)

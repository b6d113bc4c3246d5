"""Media operations for programs with their own loop, `Dataset` or thread pool.

    import headrace as hr

    image = hr.io.load_image("a.jpg")  # uint8 [height, width, 3]
    batch = hr.io.load_image_batch(paths, 224, 224)  # uint8 [len(paths), 224, 224, 3]

Any number of threads may call these functions at once. The engine, the same one that loaders use, decodes and encodes outside this process
while the calling thread waits without the GIL. NumPy's formats need no engine: arrays are views of what you pass, or read straight from
their file.

A source is a path (`str` or `os.PathLike`), a file's content as `bytes`, `bytearray`, `memoryview`, `mmap` or one-dimensional array, or an
object with `read()`. Files are recognized by content, not by name. Memory you pass is never changed.

A file that cannot be read raises `OSError`, as `open` would; invalid content raises `MediaError`.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy

from ._client import share as sharing
from ._client.share import Share
from ._io.audio import AudioInfo
from ._io.audio import asked as _audio_asked
from ._io.av import (
    demux,
    filter,  # noqa: A004 # it is called by its full name
    load_media,
    remux,
    save_audio,
    save_video,
    stream_audio,
    stream_filter,
    stream_media,
    stream_video,
)
from ._io.icc import to_srgb
from ._io.metadata import ImageMetadata, image_metadata
from ._io.npy import load_npy
from ._io.npz import Npz, load_npz
from ._io.out import check_out, into
from ._io.packets import Packet, Packets, StreamInfo
from ._io.pool import pool
from ._io.save import put
from ._io.session import Input
from ._io.source import error_of, source_of, whole
from ._io.streams import AudioStream, FilterStream, MediaClip, MediaStream, VideoStream
from ._io.tar import iter_tar
from ._io.video import ColorInfo, VideoInfo
from ._io.video import asked as _video_asked
from ._io.video import told as _video_told
from ._io.wav import load_wav
from ._recipe.arguments import as_float, in_store, is_number, shown, truth
from .errors import MediaError, MemoryRefused, WrongType, write_file

if TYPE_CHECKING:
    from ._io.kinds import Array, Failed, Filter, Path, Readable, Source, Writable

__all__ = [
    "AudioInfo",
    "AudioStream",
    "ColorInfo",
    "FilterStream",
    "ImageMetadata",
    "MediaClip",
    "MediaStream",
    "Npz",
    "Packet",
    "Packets",
    "Share",
    "StreamInfo",
    "VideoInfo",
    "VideoStream",
    "audio_info",
    "close",
    "decode",
    "decode_jpeg",
    "demux",
    "filter",
    "image_metadata",
    "iter_tar",
    "load_audio",
    "load_image",
    "load_image_batch",
    "load_media",
    "load_npy",
    "load_npz",
    "load_video",
    "load_wav",
    "remux",
    "save_audio",
    "save_image",
    "save_video",
    "share",
    "stream_audio",
    "stream_filter",
    "stream_media",
    "stream_video",
    "to_srgb",
    "video_info",
]

_CHANNELS = {"rgb": 3, "rgba": 4, "gray": 1}
_MOST_PIXELS = 178_956_970  # of any image
_MOST_BYTES = (1 << 63) - 1
_LONGEST = 1e9  # seconds


def load_image(
    src: Source,
    *,
    width: int | None = None,
    height: int | None = None,
    fit: Literal["stretch", "crop", "pad"] = "stretch",
    filter: Filter = "bilinear",
    color: Literal["rgb", "rgba", "gray"] = "rgb",
    background: Sequence[int] | None = None,
    dtype: Literal["uint8", "uint16"] = "uint8",
    mode: Literal["exact", "fast"] = "exact",
    orient: bool = True,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    out: Array | None = None,
) -> Array:
    """Decode an image, and optionally resize it: JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF.

        pixels = hr.io.load_image("cat.jpg", width=224, height=224)  # uint8 [224, 224, 3]

    Args:
        src: a path, bytes, or an object with `read()`.
        width: of the result, in pixels, together with `height`; by default the image's own size.
        height: of the result.
        fit: `"stretch"`: to the size; `"crop"`: over the size, and the middle is cut out; `"pad"`: within the size, centred between black
            bars.
        filter: for resizing: antialiased, as in Pillow.
        color: `"rgb"`, `"gray"`, or `"rgba"`, where images without alpha are opaque. Alpha is dropped without `background`.
        background: (red, green, blue), 0 to 255, shown through transparency.
        dtype: `"uint8"` keeps the upper 8 of 16 bits; `"uint16"` keeps all, and turns an 8-bit v into 257·v.
        mode: `"exact"`: the pixels of Pillow, to one level; `"fast"`: a JPEG to be shrunk may be decoded at a smaller scale.
        orient: turn and mirror as EXIF says.
        max_pixels: largest image decoded, in pixels; by default 178,956,970, which is also the most.
        max_bytes: largest file read from a path or `read()`; by default 1 GiB.
        time_limit: seconds for reading and decoding, without waiting for memory or a core; beyond it MediaError is raised. By default no
            limit.
        out: an array for the result, of its exact shape and dtype, C-contiguous.

    Returns:
        Pixels `[height, width, channels]`: `out` if given, else an array that is yours to keep and write to.

    Raises:
        MediaError: if `src` is not a valid image, or `out` does not fit.
        OSError: if the file cannot be read.
    """
    what = _asked(
        False, True, width, height, fit, filter, color, _triple(background), dtype, mode, orient, None, max_pixels, max_bytes, time_limit
    )
    return _one("load_image", what, source_of("load_image", src, max_bytes), color, dtype, width, height, out)


def decode_jpeg(
    data: bytes | bytearray | memoryview | Array | Readable,
    *,
    width: int | None = None,
    height: int | None = None,
    fit: Literal["stretch", "crop", "pad"] = "stretch",
    filter: Filter = "bilinear",
    color: Literal["rgb", "rgba", "gray"] = "rgb",
    mode: Literal["exact", "fast"] = "exact",
    orient: bool = True,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    out: Array | None = None,
) -> Array:
    """Decode a JPEG in memory. Other formats are refused.

        pixels = hr.io.decode_jpeg(data)

    Args:
        data: bytes, or an object with `read()`, but not a path.
        width: as for `load_image`, like all that follow.
        height: likewise.
        fit: likewise.
        filter: likewise.
        color: likewise.
        mode: likewise.
        orient: likewise.
        max_pixels: likewise.
        max_bytes: likewise.
        time_limit: likewise.
        out: likewise.

    Returns:
        `uint8 [height, width, channels]`; `out` if given.

    Raises:
        MediaError: if `data` is not a valid JPEG, or `out` does not fit.
    """
    if isinstance(data, (str, os.PathLike)):
        raise WrongType(f"headrace: decode_jpeg: needs the content of a file, not a path ({data!r}): load_image accepts both")
    what = _asked(False, True, width, height, fit, filter, color, None, "uint8", mode, orient, "jpeg", max_pixels, max_bytes, time_limit)
    return _one("decode_jpeg", what, source_of("decode_jpeg", data, max_bytes), color, "uint8", width, height, out)


@overload
def load_image_batch(
    srcs: Iterable[Source],
    width: int | None = None,
    height: int | None = None,
    *,
    fit: Literal["stretch", "crop", "pad"] = ...,
    filter: Filter = ...,
    color: Literal["rgb", "rgba", "gray"] = ...,
    background: Sequence[int] | None = ...,
    dtype: Literal["uint8", "uint16"] = ...,
    mode: Literal["exact", "fast"] = ...,
    orient: bool = ...,
    max_pixels: int | None = ...,
    max_bytes: int | None = ...,
    time_limit: float | None = ...,
    out: Array | None = ...,
    strict: Literal[True] = ...,
) -> Array: ...


@overload
def load_image_batch(
    srcs: Iterable[Source],
    width: int | None = None,
    height: int | None = None,
    *,
    fit: Literal["stretch", "crop", "pad"] = ...,
    filter: Filter = ...,
    color: Literal["rgb", "rgba", "gray"] = ...,
    background: Sequence[int] | None = ...,
    dtype: Literal["uint8", "uint16"] = ...,
    mode: Literal["exact", "fast"] = ...,
    orient: bool = ...,
    max_pixels: int | None = ...,
    max_bytes: int | None = ...,
    time_limit: float | None = ...,
    out: Array | None = ...,
    strict: Literal[False],
) -> tuple[Array, Failed]: ...


def load_image_batch(
    srcs: Iterable[Source],
    width: int | None = None,
    height: int | None = None,
    *,
    fit: Literal["stretch", "crop", "pad"] = "stretch",
    filter: Filter = "bilinear",
    color: Literal["rgb", "rgba", "gray"] = "rgb",
    background: Sequence[int] | None = None,
    dtype: Literal["uint8", "uint16"] = "uint8",
    mode: Literal["exact", "fast"] = "exact",
    orient: bool = True,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    out: Array | None = None,
    strict: bool = True,
) -> Array | tuple[Array, Failed]:
    """Decode images into one array, on all of the engine's cores, and resize them to one size.

        images = hr.io.load_image_batch(paths, 224, 224)  # uint8 [len(paths), 224, 224, 3]

    Args:
        srcs: paths, bytes, or objects with `read()`, in any mix.
        width: of all images in the result, in pixels, together with `height`. Without both, all images must have the same size.
        height: of all images in the result.
        fit: as for `load_image`, like all that follow.
        filter: likewise.
        color: likewise.
        background: likewise.
        dtype: likewise.
        mode: likewise.
        orient: likewise.
        max_pixels: likewise.
        max_bytes: likewise.
        time_limit: likewise.
        out: likewise.
        strict: raise on the first image that fails. If False, its row is zeros and the second result has the error.

    Returns:
        Pixels `[len(srcs), height, width, channels]`, in the order of `srcs`. With `strict=False` a pair of these and a dict of errors by
        index; if all failed and no size is given, height and width are 0.

    Raises:
        MediaError: if an input is not a valid image, or `out` does not fit. `index` says which.
        OSError: if a file cannot be read.
    """
    name = "load_image_batch"
    if isinstance(srcs, (str, bytes, bytearray, memoryview, os.PathLike)):
        raise WrongType(f"headrace: {name}: give several sources, such as a list; load_image accepts one")
    what = _asked(
        True,
        truth("strict", strict),
        width,
        height,
        fit,
        filter,
        color,
        _triple(background),
        dtype,
        mode,
        orient,
        None,
        max_pixels,
        max_bytes,
        time_limit,
    )
    inputs: list[Input | None] = []
    failed: Failed = {}
    for i, src in enumerate(srcs):
        try:
            inputs.append(source_of(name, src, max_bytes))
        except (MediaError, OSError) as error:
            if strict:
                raise
            inputs.append(None)
            failed[i] = error
    size = (height or 0, width or 0)
    check_out(name, out, 4, dtype, (len(inputs), *size, _CHANNELS[color]) if height or not inputs else None)
    given = [i for i, source in enumerate(inputs) if source is not None]
    array = None
    if given:
        given_out = out if len(given) == len(inputs) else None
        array, failures = pool.do(what, [source for source in inputs if source is not None], given_out)
        for failure in failures:
            at = given[failure["index"]] if "index" in failure else None
            told = error_of(name, failure, at, inputs[at] if at is not None else None)
            if strict or at is None or isinstance(told, MemoryRefused):
                raise told
            failed[at] = told
    if array is not None and len(given) < len(inputs):  # rows for those that could not even be asked for
        some, array = array, numpy.zeros((len(inputs), *array.shape[1:]), array.dtype)
        array[given] = some
    if array is None:
        array = numpy.zeros((len(inputs), *size, _CHANNELS[color]), dtype)
    array = into(name, out, array)
    return array if strict else (array, dict(sorted(failed.items())))


def load_audio(
    src: Source,
    rate: int | None = None,
    channels: int | Literal["mono"] | None = None,
    *,
    start: float | Literal["begin", "center"] = 0.0,
    duration: float | None = None,
    short: Literal["keep", "silence", "repeat", "error"] = "keep",
    dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    damaged: Literal["error", "keep"] = "error",
    max_bytes: int | None = None,
    format: str | None = None,
    format_options: Mapping[str, Any] | str | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
) -> tuple[Array, int]:
    """Decode the audio of a file, or a window of it: WAV, FLAC, MP3, AAC, Opus, Vorbis, ALAC, AIFF, and the audio of video files.

        samples, rate = hr.io.load_audio("talk.mp3", 16000, "mono", start=90.0, duration=10.0)

    A window holds the same numbers as that slice of the whole recording, at any rate, so adjacent windows fit together. Only its packets
    and a few before them are decoded. WAV and FLAC paths are read little beyond the window; other files are read whole.

    Args:
        src: a path, bytes, or an object with `read()`.
        rate: samples per second; by default the file's.
        channels: 1 or `"mono"`: the mean of all. 2: left and right. By default the file's.
        start: the second where the window begins, or `"center"`.
        duration: length of the window in seconds; by default all that follows.
        short: recordings that end before the window: `"keep"`: a shorter result; `"silence"`: appended; `"repeat"`: started again;
            `"error"`.
        dtype: `"float32"`, from -1 to 1, or `"int16"`.
        layout: `"T"`, [time], the default if `channels` is 1; `"TC"`, [time, channels], the default otherwise; or `"CT"`.
        stream: which audio stream, from 0; by default the one marked as default, or the first.
        damaged: `"keep"`: of a file that is cut off or damaged, what is there, and silence for packets that cannot be decoded. By default
            an error.
        max_bytes: largest file read; by default 1 GiB.
        format: the file is nothing but samples, by FFmpeg's name: `"s16le"`, `"f32le"`, `"mulaw"` and others. By default the content tells.
        format_options: of raw samples: `{"sample_rate": 44100, "channels": 2}`; by default `rate`, and `channels` or 1.
        filter: a graph of FFmpeg filters for the samples of the window, as float32 with the file's rate and channels: `"highpass=200"`. Its
            time 0 is the window's. `rate` and `channels` are made of what it makes, which may be any number of samples; with `duration`
            that is cut to the duration, and `short` is about less.
        decoder: FFmpeg's name of the decoder: `"libopus"`; by default its usual one. With it even WAV and FLAC go through FFmpeg.
        decoder_options: options of the decoder: `{"drc_scale": 0}`.

    Returns:
        The samples, yours to keep and write to, and their rate per channel.

    Raises:
        MediaError: if the file has no audio that can be decoded, or is damaged.
        OSError: if the file cannot be read.
    """
    name = "load_audio"
    how: dict[str, Any] = {
        "stream": stream,
        "max_bytes": max_bytes,
        "damaged": damaged,
        "format": format,
        "format_options": format_options,
        "filter": filter,
        "decoder": decoder,
        "decoder_options": decoder_options,
    }
    what = _audio_asked(
        "audio", rate=rate, channels=channels, start=start or None, duration=duration, short=short, dtype=dtype, layout=layout, **how
    )
    source = source_of(name, src, max_bytes)
    if rate is None:
        rate = _audio_info(name, source, **how).sample_rate
    array, failures = pool.do(what, (source,))
    if failures:
        raise error_of(name, failures[0], None, source)
    return array.view(numpy.int16) if dtype == "int16" else array, rate


def audio_info(
    src: Source, *, stream: int | None = None, damaged: Literal["error", "keep"] = "error", max_bytes: int | None = None
) -> AudioInfo:
    """Return what the audio of a file is: sample rate, channels, and number of samples, as `load_audio` returns them.

        hr.io.audio_info("speech.flac").rate

    Args:
        src: a path, bytes, or an object with `read()`.
        stream: as for `load_audio`.
        damaged: likewise.
        max_bytes: likewise.

    Raises:
        MediaError: if the file has no audio that can be decoded, or is damaged.
        OSError: if the file cannot be read.
    """
    name = "audio_info"
    return _audio_info(name, source_of(name, src, max_bytes), stream=stream, damaged=damaged, max_bytes=max_bytes)


def _audio_info(name: str, source: Input, **how: Any) -> AudioInfo:
    array, failures = pool.do(_audio_asked("audio_info", **how), (source,))
    if failures:
        raise error_of(name, failures[0], None, source)
    return AudioInfo(**json.loads(array.tobytes()))


def load_video(
    src: Source,
    frames: int | Sequence[int] | None = None,
    *,
    times: Sequence[float] | None = None,
    stride: int | None = None,
    fps: float | None = None,
    start: float | Literal["begin", "center"] | None = None,
    duration: float | None = None,
    width: int | None = None,
    height: int | None = None,
    short: Literal["repeat", "loop", "black", "error"] | None = None,
    mode: Literal["exact", "fast"] | None = None,
    orient: bool | None = None,
    aspect: Literal["stored", "square"] | None = None,
    dtype: Literal["uint8", "uint16"] | None = None,
    color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444", "native"] | None = None,
    stream: int | None = None,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
    format: str | None = None,
    format_options: Mapping[str, Any] | str | None = None,
) -> Array:
    """Decode frames of a video, [frames, height, width, 3].

        clip = hr.io.load_video("a.mp4", 16, width=224, height=224)  # spread evenly
        some = hr.io.load_video("a.mp4", [0, 40, 40, -1])  # by number
        part = hr.io.load_video("a.mp4", start=3.5, duration=2.0)  # every frame of two seconds

    Frames are exact to the byte wherever decoding begins. From an MP4 or MOV path only the index and the packets needed are read.

    Args:
        src: a path, bytes, or an object with `read()`.
        frames: how many, spread evenly unless stride or fps says otherwise; or a list of numbers, in any order, with repeats, negative ones
            from the end. By default all.
        times: seconds instead: the frames on screen then.
        stride: from one frame to the next, in frames.
        fps: frames per second: those on screen at these times.
        start: the second where the clip begins, or `"center"`; by default the first frame.
        duration: length of the clip in seconds.
        width: resize frames to this, with height; by default they keep their size.
        height: likewise.
        short: videos shorter than the clip, as for `decode_video`.
        mode: `"exact"`, the default, or `"fast"`: resize planes before converting them.
        orient: turn frames as the file says; by default True.
        aspect: `"stored"`, the default, or `"square"`: widen or narrow non-square pixels.
        dtype: `"uint8"`, the default, or `"uint16"`, of full scale.
        color: `"rgb"`, the default; `"gray"`, luma of full range, [frames, height, width, 1]; `"rgba"`, opaque if the video has no alpha;
            or planes of the video's own numbers, as for `decode_video`: `"yuv420"` and `"nv12"` [frames, height + height / 2, width],
            `"yuv422"` [frames, 2 * height, width], `"yuv444"` [frames, 3, height, width]; or `"native"`: the
            decoder's own numbers and planes, which are those of the color that `video_info(src).pixel_format` names, uint16 with more than
            8 bits.
        stream: which video stream; by default the one players show.
        max_pixels: largest frame decoded, in pixels.
        max_bytes: largest file read unless `src` is a path; by default 1 GiB.
        filter: a graph of FFmpeg filters for the frames that are chosen, as stored, in the order of display: `"hqdn3d,scale=320:-2"`. With
            frames, times or fps it must give as many frames as enter it; without, it may make any number: `"fps=8"`.
        decoder: FFmpeg's name of the decoder: `"libdav1d"`; by default its usual one.
        decoder_options: options of the decoder: `{"threads": 4}`. One thread is the default; frames of several key frames are decoded on
            all cores anyway.
        format: `"rawvideo"`: the file is nothing but frames. By default the content tells, of YUV4MPEG too.
        format_options: of raw frames: `{"video_size": "64x48", "pixel_format": "yuv420p", "framerate": 25}`; 25 is the default.

    Returns:
        The frames, yours to keep and write to.

    Raises:
        MediaError: if the file has no video that can be decoded, or a frame is damaged or missing.
        OSError: if the file cannot be read.
    """
    many = frames is None or isinstance(frames, int)
    if times is not None and (frames is not None or stride is not None or fps is not None or start is not None or duration is not None):
        raise MediaError("headrace: io: times cannot be combined with another choice of frames: give one of them")
    if not many and (stride is not None or fps is not None or start is not None or duration is not None):
        raise MediaError("headrace: io: a list of frames cannot be combined with another choice of frames: give one of them")
    what = _video_asked(
        "video",
        indices=None if many else frames,
        frames=frames if many else None,
        times=times,
        stride=stride,
        fps=fps,
        start=start,
        duration=duration,
        width=width,
        height=height,
        short=short,
        mode=mode,
        orient=None if orient is None else truth("orient", orient),
        aspect=aspect,
        dtype=dtype,
        color=color,
        stream=stream,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
        filter=filter,
        decoder=decoder,
        decoder_options=decoder_options,
        format=format,
        format_options=format_options,
    )
    return _video("load_video", src, what, max_bytes)


def video_info(
    src: Source,
    *,
    stream: int | None = None,
    max_bytes: int | None = None,
    format: str | None = None,
    format_options: Mapping[str, Any] | str | None = None,
) -> VideoInfo:
    """Return what a video is: size, frames and their display times, duration, codec, colours. Only the first frame is decoded, whose
    headers say the colours.

        hr.io.video_info("film.mp4").frames

    Args:
        src: a path, bytes, or an object with `read()`.
        stream: as for `load_video`.
        max_bytes: likewise.
        format: likewise.
        format_options: likewise.

    Raises:
        MediaError: if the file has no video.
        OSError: if the file cannot be read.
    """
    what = _video_asked("video_info", stream=stream, max_bytes=max_bytes, format=format, format_options=format_options)
    return _video_told(_video("video_info", src, what, max_bytes).tobytes())


def decode(packets: Packets | bytes, stream: Literal["video", "audio"] | None = None, **how: Any) -> Any:
    """Decode packets, as often as you like.

        frames = hr.io.decode(packets, width=224, height=224)

    Args:
        packets: what `demux` returned, or its bytes.
        stream: which kind, if there are both.
        how: arguments of `load_video` or `load_audio`: `width=224, height=224`; `rate=16000`.

    Returns:
        Frames, or samples and their rate.
    """
    if not isinstance(packets, Packets):
        packets = Packets(packets)
    kinds = {s.kind for s in packets.streams}
    if stream is None:
        if len(kinds & {"video", "audio"}) != 1:
            raise MediaError(
                f"headrace: decode: the packets are of {' and '.join(sorted(kinds)) or 'no stream'}: give stream='video' or 'audio'"
            )
        stream = "video" if "video" in kinds else "audio"
    if stream not in ("video", "audio"):
        raise MediaError(f"headrace: decode: stream is {stream!r}: must be 'video' or 'audio'")
    load: Any = load_video if stream == "video" else load_audio
    return load(packets, **how)


def _video(name: str, src: Source, what: bytes, max_bytes: int | None) -> Array:
    source = source_of(name, src, max_bytes)
    array: Array
    array, failures = pool.do(what, (source,))
    if failures:
        raise error_of(name, failures[0], None, source)
    return array


def save_image(
    path: Path | Writable | None,
    image: Any,
    *,
    format: Literal["jpeg", "png", "webp"] | None = None,
    quality: int | None = None,
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"] | None = None,
    progressive: bool = False,
    lossless: bool = False,
    effort: int | None = None,
) -> bytes | None:
    """Encode an image and write it to a file.

        hr.io.save_image("crop.png", pixels)

    Args:
        path: the file, or an object with `write()`; None returns the bytes.
        image: pixels `[height, width]`, or `[height, width, channels]` with 1 channel (gray), 3 (RGB) or 4 (RGBA), of uint8 or uint16. PNG
            accepts all of them, WebP only uint8, JPEG only uint8 without alpha.
        format: by default from the path's suffix.
        quality: of JPEG and WebP, 1 to 100; by default 75 and 80.
        subsampling: of JPEG's colours, by default `"4:2:0"`.
        progressive: write a JPEG in several scans.
        lossless: keep every pixel of a WebP.
        effort: of PNG and WebP, from 1, the fastest, to 9, the smallest file; by default 6.

    Returns:
        The file's content if `path` is None.

    Raises:
        MediaError: if the format cannot hold the image, or has no such option. Nothing is written then.
        OSError: if the file cannot be written.
    """
    name = "save_image"
    for key, text in (("format", format), ("subsampling", subsampling)):
        if not isinstance(text, (str, type(None))):
            raise WrongType(f"headrace: {name}: {key} is {text!r}: must be text")
    array = numpy.asarray(image)
    if array.dtype.kind != "u" or array.dtype.itemsize > 2:
        raise MediaError(f"headrace: {name}: the image has dtype {array.dtype}: must be uint8, or uint16 for PNG")
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise MediaError(f"headrace: {name}: the image has shape {array.shape}: must be [height, width], and 1, 3 or 4 channels after them")
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    what: dict[str, Any] = {"do": "encode", "format": format or _format_of(path), "dtype": array.dtype.name, "shape": array.shape}
    for key, given in (("quality", quality), ("effort", effort)):
        number = whole(key, given)
        if number is not None:
            if number < 1:  # 0 means none to the engine
                raise MediaError(f"headrace: {name}: {key} is {given!r}: must be at least 1")
            what[key] = number
    if subsampling is not None:
        what["subsampling"] = subsampling
    what["progressive"], what["lossless"] = truth("progressive", progressive), truth("lossless", lossless)
    pixels: Any = array.reshape(-1).view(numpy.uint8)
    data = memoryview(pixels)
    file, failures = pool.do(json.dumps(what).encode(), [Input(data, None, None)])
    for failure in failures:
        raise error_of(name, failure, None, None)
    encoded = file.tobytes()
    if path is None:
        return bytes(encoded)
    if isinstance(path, (str, os.PathLike)):
        if in_store(os.fsdecode(path)):
            put(name, os.fsdecode(path), encoded)
        else:
            write_file(path, encoded)
    else:
        path.write(encoded)
    return None


def share() -> Share:
    """Let processes you start from here on use this process's engine.

        with hr.io.share():
            for batch in DataLoader(dataset, num_workers=8):
                ...

    Without it, each worker process has its own engine on one core. With it, they share one on all usable cores, which works on as many
    images at once.

    Call it before you start workers, by `fork` or `spawn`: they find it through the environment. Only this user's processes that know a
    token can connect. Each has a session of its own, whose memory is reused when the process ends, however it ends.

    Returns:
        A context manager with `close()`; it also ends with this process. While it is open, each call returns the same one.
    """
    return sharing.share()


def close() -> None:
    """Release the engine, which ends unless a loader uses it. Calls in progress finish; the next call starts it again.

        hr.io.close()

    This is optional: the engine ends with the process. It closes `share`, too.
    """
    sharing.close()
    pool.close()


def _asked(*options: Any) -> bytes:
    """The request for the engine: `_decode` of these options, cached."""
    try:
        return _decode(*options)
    except TypeError as error:
        if isinstance(error, WrongType):
            raise
    for name, value in zip(_decode.__wrapped__.__code__.co_varnames, options):
        if not isinstance(value, Hashable):
            raise WrongType(f"headrace: io: {name} is {value!r}: must be {'True or False' if name == 'orient' else 'text or a number'}")
    raise WrongType(f"headrace: io: arguments of a wrong type: {options!r}")


@functools.lru_cache(256)
def _decode(
    batch: bool,
    strict: bool,
    width: int | None,
    height: int | None,
    fit: str,
    filter: str,
    color: str,
    background: tuple[int, ...] | None,
    dtype: str,
    mode: str,
    orient: bool,
    format: str | None,
    max_pixels: int | None,
    max_bytes: int | None,
    time_limit: float | None,
) -> bytes:
    """The request for the engine."""
    for name, value, known in (
        ("fit", fit, ("stretch", "crop", "pad")),
        ("filter", filter, ("bilinear", "box", "hamming", "bicubic", "lanczos", "nearest")),
        ("color", color, tuple(_CHANNELS)),
        ("dtype", dtype, ("uint8", "uint16")),
        ("mode", mode, ("exact", "fast")),
    ):
        if value not in known:
            raise MediaError(f"headrace: io: {name} is {value!r}: must be {', '.join(map(repr, known))}")
    size = {"width": whole("width", width), "height": whole("height", height)}
    most = {"max_pixels": whole("max_pixels", max_pixels), "max_bytes": whole("max_bytes", max_bytes)}
    if (width is None) != (height is None):
        raise MediaError("headrace: io: width and height go together: give both, or neither")
    for name, length in size.items():
        if length is not None and length < 1:
            raise MediaError(f"headrace: io: {name} is {length!r}: must be a number of pixels")
    for name, number in most.items():
        if number is not None and number < 1:
            raise MediaError(f"headrace: io: {name} must be at least 1, got {number!r}")
    if (most["max_pixels"] or 0) > _MOST_PIXELS:
        raise MediaError(f"headrace: io: max_pixels must be at most {_MOST_PIXELS}, got {max_pixels!r}")
    seconds = _number("time_limit", time_limit)
    if seconds is not None and not 0 < seconds <= _LONGEST:
        raise MediaError(f"headrace: io: time_limit must be a positive number of seconds, got {time_limit!r}")
    what: dict[str, Any] = {
        "do": "decode", "batch": batch, "strict": strict, "color": color, "dtype": dtype, "mode": mode, "orient": truth("orient", orient),
        "fit": fit, "filter": filter,
    }  # fmt: skip
    if background is not None:
        what["background"] = background
    what.update((name, min(number, _MOST_BYTES)) for name, number in {**size, **most}.items() if number is not None)
    if format is not None:
        what["format"] = format
    if seconds is not None:
        what["time_limit"] = seconds
    return json.dumps(what).encode()


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not is_number(value):
        raise WrongType(f"headrace: io: {name} is {value!r}: must be a number")
    return as_float(value)


def _triple(background: Sequence[int] | None) -> tuple[int, ...] | None:
    if background is None:
        return None
    try:
        values = tuple(map(index, background))
    except TypeError:
        raise WrongType(f"headrace: io: background is {background!r}: must be (red, green, blue), each from 0 to 255") from None
    if len(values) != 3 or not all(0 <= v <= 255 for v in values):
        raise MediaError(f"headrace: io: background is {background!r}: must be (red, green, blue), each from 0 to 255")
    return values


def _one(name: str, what: bytes, source: Input, color: str, dtype: str, width: int | None, height: int | None, out: Array | None) -> Array:
    if out is not None:
        check_out(name, out, 3, dtype, (height, width, _CHANNELS[color]) if height and width else None)
    array, failures = pool.do(what, (source,), out)
    if failures:
        raise error_of(name, failures[0], None, source)
    return array if out is None else into(name, out, array)


def _format_of(path: Any) -> str:
    name = path if isinstance(path, (str, os.PathLike)) else getattr(path, "name", None)
    if not isinstance(name, (str, os.PathLike)):
        raise MediaError("headrace: save_image: the name has no suffix: give format='png', 'jpeg' or 'webp'")
    suffix = os.path.splitext(os.fsdecode(name))[1].lower()
    formats = {".jpg": "jpeg", ".jpeg": "jpeg", ".jpe": "jpeg", ".jfif": "jpeg", ".png": "png", ".webp": "webp"}
    if suffix not in formats:
        raise MediaError(
            f"headrace: save_image: the suffix of {shown(os.fsdecode(name))!r} is unknown: use .jpg, .png or .webp, or give format="
        )
    return formats[suffix]

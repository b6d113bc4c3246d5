"""What `headrace.io` does on packets, on long files, and on files that it makes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy

from .._recipe.arguments import truth
from ..errors import MediaError, WrongType
from .arrays import bytes_of, frames_of, picture_port, sample_port, samples_of
from .audio import asked as audio_asked
from .packets import Packets
from .save import container_of, save_frames, save_samples
from .session import Input
from .source import source_of
from .source import whole as whole_number
from .streams import AudioStream, MediaClip, MediaStream, VideoStream
from .tasks import done, given_back, options, target, task, window
from .unpack import unpack
from .video import asked as video_asked

if TYPE_CHECKING:
    from fractions import Fraction

    from .kinds import Path, Seconds, Source, Streams, Writable


def demux(
    src: Source,
    *,
    start: Seconds | None = None,
    end: Seconds | None = None,
    streams: Streams | None = None,
    bitstream: str | Mapping[str, str] | None = None,
    max_bytes: int | None = None,
) -> Packets:
    """Take coded packets out of a file, or out of a window of it, without decoding them.

        packets = hr.io.demux("film.mp4", start=3, end="4.5", streams="video")
        send(packets.tobytes())  # or pickle it
        frames = hr.io.decode(hr.io.Packets(received))  # elsewhere

    The window is half-open: a frame at `start` is in it, one at `end` is not. Packets before it that decoding needs come along. What is
    decoded of them is that slice of what the whole file gives. A window is cut out exactly: of audio to the sample. Times are counted from
    the first frame that is displayed, or from the first sample where there is no video.

    Args:
        src: a path, bytes, or an object with `read()`.
        start: seconds: a number, text, a `Fraction`, or a pair (1, 3); by default the beginning.
        end: likewise; by default the end.
        streams: `"video"` and `"audio"`: those that players take; `"videos"`, `"audios"`: all; `"v:1"`: the second of video; numbers as
            ffprobe counts; or a list of them. By default all of video and audio.
        bitstream: filters of packets as FFmpeg describes them: `"h264_mp4toannexb"`, for video; or {"audio": …}.
        max_bytes: the most that packets may have; by default 1 GiB.

    Raises:
        MediaError: if the file cannot be read as a container, has no such stream, or if packets are larger than `max_bytes`.
        OSError: if the file cannot be read.
    """
    source = source_of("demux", src, max_bytes)
    return Packets(done("demux", task("demux", window(start, end, streams, bitstream), max_bytes), [source]))


def remux(
    src: Source,
    to: Path | Writable | None,
    *,
    start: Seconds | None = None,
    end: Seconds | None = None,
    streams: Streams | None = None,
    bitstream: str | Mapping[str, str] | None = None,
    format: str | None = None,
    container: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
) -> bytes | None:
    """Copy streams into another container, without decoding them.

        hr.io.remux("film.mkv", "film.mp4", container={"movflags": "faststart"})
        hr.io.remux("film.mp4", "part.mp4", start=60, end=90)

    Packets stay as they are, and so do tags, chapters, languages and dispositions, as far as the container has them. A window begins at the
    last key frame before `start`: MP4 and MOV hide what comes before it, other containers show it. The file appears
    when it is complete, and not at all if something fails.

    Args:
        src: a path, bytes, an object with `read()`, or packets.
        to: a path, an object with `write()`, or None for the bytes.
        start: as for `demux`, and so are end, streams and bitstream.
        end: likewise.
        streams: likewise.
        bitstream: likewise. What a container needs, such as Annex B in MPEG-TS, is done without it.
        format: the container, as FFmpeg calls it: `"mp4"`, `"matroska"`; by default by the suffix of the path.
        container: options of it.
        max_bytes: the largest file that is read from an object with `read()`; by default 1 GiB.

    Returns:
        The content where `to` is None.

    Raises:
        MediaError: if the file cannot be read as a container, or the other cannot hold its streams. Nothing is written then.
        OSError: if a file cannot be read or written.
    """
    path = target("remux", to)
    source = _packets_as_file(src) if isinstance(src, Packets) else source_of("remux", src, max_bytes)
    asked = window(start, end, streams, bitstream)
    asked |= {"to": path or "", "format": container_of("remux", path, format)[0], "options": options("container", container)}
    return given_back(to, path, done("remux", task("remux", asked), [source], path))


def _packets_as_file(packets: Packets) -> Input:
    return Input(packets._data, None, None)


def stream_video(
    src: Source,
    frames: int = 32,
    *,
    stride: int = 1,
    start: Seconds | None = None,
    end: Seconds | None = None,
    width: int | None = None,
    height: int | None = None,
    mode: Literal["exact", "fast"] | None = None,
    orient: bool | None = None,
    aspect: Literal["stored", "square"] | None = None,
    dtype: Literal["uint8", "uint16"] | None = None,
    stream: int | None = None,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
) -> VideoStream:
    """Decode a video piece by piece, however long it is.

        for frames in hr.io.stream_video("day.mp4", 64, width=224, height=224):
            ...  # uint8 [64, 224, 224, 3]; the last may be shorter

    One decoder goes through the file once; what is held is a piece and the decoder's own frames. All pieces together are what `load_video`
    gives. To stop early, leave the loop and call `close()`, or use it as a context manager; forgotten, it ends with the object.

    Args:
        src: a path, bytes, or an object with `read()`.
        frames: how many frames a piece has.
        stride: from one frame to the next, in frames.
        start: the second at which it begins, as for `demux`.
        end: where it ends.
        width: as for `load_video`, and so are all that follow.
        height: likewise.
        mode: likewise.
        orient: likewise.
        aspect: likewise.
        dtype: likewise.
        stream: likewise.
        max_pixels: likewise.
        max_bytes: likewise.

    Raises:
        MediaError: if there is no video that can be decoded; from the iterator, if a frame is damaged.
        OSError: if the file cannot be read.
    """
    name = "stream_video"
    what = video_asked(
        "frames",
        width=width,
        height=height,
        mode=mode,
        dtype=dtype,
        orient=None if orient is None else truth("orient", orient),
        aspect=aspect,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
    )
    asked = window(start, end, "video" if stream is None else f"v:{whole_number('stream', stream)}")
    asked["stride"] = _count("stride", stride)
    return VideoStream(name, _joined(what, asked), source_of(name, src, max_bytes), _count("frames", frames))


def stream_audio(
    src: Source,
    seconds: float = 1.0,
    rate: int | None = None,
    channels: int | Literal["mono"] | None = None,
    *,
    samples: int | None = None,
    start: Seconds | None = None,
    end: Seconds | None = None,
    dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    max_bytes: int | None = None,
) -> AudioStream:
    """Decode audio piece by piece, however long it is.

        for samples in hr.io.stream_audio("day.flac", 10.0, 16000, "mono"):
            ...  # float32 [160000]; the last may be shorter

    All pieces together are what `load_audio` gives, also at another rate. It ends as `stream_video` does.

    Args:
        src: a path, bytes, or an object with `read()`.
        seconds: how long a piece is.
        rate: as for `load_audio`, and so are channels, dtype, layout and stream.
        channels: likewise.
        samples: how many samples of each channel a piece has, instead of seconds.
        start: the second at which it begins, as for `demux`. Without it the stream begins with the recording.
        end: where it ends.
        dtype: as for `load_audio`.
        layout: likewise.
        stream: likewise.
        max_bytes: likewise.

    Raises:
        MediaError: if there is no audio that can be decoded; from the iterator, if it is damaged.
        OSError: if the file cannot be read.
    """
    name = "stream_audio"
    if samples is None and not 0 < float(seconds) <= 1e6:
        raise MediaError(f"headrace: {name}: seconds is {seconds!r}: takes a number above 0")
    what = audio_asked("samples", rate, channels, None, None, "keep", dtype, layout, None, max_bytes)
    asked = window(start, end, "audio" if stream is None else f"a:{whole_number('stream', stream)}")
    count = None if samples is None else _count("samples", samples)
    return AudioStream(name, _joined(what, asked), source_of(name, src, max_bytes), count, float(seconds))


def load_media(
    src: Source,
    *,
    start: float | None = None,
    duration: float | None = None,
    frames: int | None = None,
    stride: int | None = None,
    fps: float | None = None,
    width: int | None = None,
    height: int | None = None,
    rate: int | None = None,
    channels: int | Literal["mono"] | None = None,
    mode: Literal["exact", "fast"] | None = None,
    audio_dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    audio_stream: int | None = None,
    max_bytes: int | None = None,
) -> MediaClip:
    """Decode a clip of a video, and what is heard meanwhile.

        clip = hr.io.load_media("talk.mp4", start=3.0, duration=2.0, fps=8, rate=16000, channels="mono")
        clip.video  # uint8 [16, height, width, 3]
        clip.audio  # float32 [32000]: sample n is heard at 3 + n / 16000 s

    Both are on the clock of the video, whose first frame is at 0, to half a sample. Where the file has no audio, before it begins and
    after it ends, there is silence.

    Args:
        src: a path, bytes, or an object with `read()`.
        start: the second at which the clip begins; by default the first frame.
        duration: the seconds that it lasts; by default as long as its frames are on screen.
        frames: as for `load_video`, and so are those that follow.
        stride: likewise.
        fps: likewise.
        width: likewise.
        height: likewise.
        rate: as for `load_audio`. A file without audio needs it.
        channels: likewise.
        mode: as for `load_video`.
        audio_dtype: the samples' dtype, as for `load_audio`.
        layout: of samples, likewise.
        stream: which of several streams of video.
        audio_stream: which of several of audio.
        max_bytes: the most that samples may take; by default 1 GiB.

    Raises:
        MediaError: if the file has no video that can be decoded, or if the clip is damaged.
        OSError: if the file cannot be read.
    """
    name = "load_media"
    video = video_asked(
        "media", start=start, duration=duration, frames=frames, stride=stride, fps=fps, width=width, height=height, mode=mode, stream=stream
    )
    what = _with_audio(video, "media", rate, channels, audio_dtype, layout, audio_stream, max_bytes)
    arrays, about = unpack(done(name, _joined(what, {}), [source_of(name, src, max_bytes)]))
    return MediaClip(arrays["video"], arrays["audio"], arrays["seconds"], about["sample_rate"], about["start"])


def stream_media(
    src: Source,
    frames: int = 32,
    *,
    stride: int = 1,
    start: Seconds | None = None,
    end: Seconds | None = None,
    width: int | None = None,
    height: int | None = None,
    rate: int | None = None,
    channels: int | Literal["mono"] | None = None,
    mode: Literal["exact", "fast"] | None = None,
    audio_dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    audio_stream: int | None = None,
    max_bytes: int | None = None,
) -> MediaStream:
    """Decode a video and its audio piece by piece, however long they are.

        for clip in hr.io.stream_media("day.mp4", 50, width=224, height=224, rate=16000, channels="mono"):
            clip.video, clip.audio  # uint8 [50, 224, 224, 3]; float32 [32000] where the video has 25 frames a second

    Frames are those of `stream_video`. The audio of a piece begins with its first frame and ends where the next piece begins; of the last
    it ends with the last frame. Sample n of all pieces is heard n / rate seconds after the first frame, to half a sample. Where there is no
    audio, there is silence. It ends as `stream_video` does.

    Args:
        src: a path, bytes, or an object with `read()`.
        frames: how many frames a piece has.
        stride: from one frame to the next, in frames.
        start: the second at which it begins, as for `demux`: with the first frame from there on.
        end: where it ends.
        width: as for `load_video`.
        height: likewise.
        rate: as for `load_audio`. A file without audio needs it, and so does a window in which there is none.
        channels: likewise.
        mode: as for `load_video`.
        audio_dtype: the samples' dtype, as for `load_audio`.
        layout: of samples, likewise.
        stream: which of several streams of video.
        audio_stream: which of several of audio.
        max_bytes: the most that the samples of a piece may take; by default 1 GiB.

    Raises:
        MediaError: if the file has no video that can be decoded; from the iterator, if a frame or the audio is damaged.
        OSError: if the file cannot be read.
    """
    name = "stream_media"
    video = video_asked("both", width=width, height=height, mode=mode)
    what = _with_audio(video, "both", rate, channels, audio_dtype, layout, audio_stream, max_bytes)
    asked = window(start, end, "video" if stream is None else f"v:{whole_number('stream', stream)}")
    asked["stride"] = _count("stride", stride)
    return MediaStream(name, _joined(what, asked), source_of(name, src, max_bytes), _count("frames", frames))


def save_video(
    to: Path | Writable | None,
    frames: Any,
    fps: float | Fraction | tuple[int, int],
    *,
    codec: str | None = None,
    format: str | None = None,
    quality: float | None = None,
    bit_rate: int | None = None,
    gop: int | None = None,
    pixel_format: str | None = None,
    filter: str | None = None,
    options: Mapping[str, Any] | None = None,
    container: Mapping[str, Any] | None = None,
    aspect: tuple[int, int] = (1, 1),
    audio: Any = None,
    audio_rate: int | None = None,
    audio_codec: str | None = None,
    audio_bit_rate: int | None = None,
) -> bytes | None:
    """Encode frames, and write them into a video file.

        hr.io.save_video("out.mp4", frames, 25)
        hr.io.save_video("exact.mkv", (render(i) for i in range(1000)), fps=(30000, 1001))

    The file appears when it is complete, and not at all if something fails, whatever fails.

    Args:
        to: a path, an object with `write()`, or None for the bytes.
        frames: an array [frames, height, width], or with 1, 3 or 4 channels after it, of uint8 or uint16; or an iterable of frames or of
            such arrays, which is taken as it comes.
        fps: frames a second; exact as a fraction.
        codec: an encoder, or a format: `"ffv1"`, `"mpeg4"`, `"mjpeg"`, `"libx264"`; by default the usual one of the container. FFV1, that
            of .mkv, keeps every pixel.
        format: the container; by default by the suffix of the path.
        quality: of mpeg4, mjpeg and mpeg2video, from 1, the best, to 31; by default 3.
        bit_rate: bits a second, instead.
        gop: frames from one key frame to the next, at most.
        pixel_format: what the encoder is given, as FFmpeg calls it: `"yuv444p"`; by default `"yuv420p"`, and for codecs that lose nothing
            the nearest to what comes.
        filter: a graph of FFmpeg's filters that frames go through first: `"scale=640:-2"`.
        options: of the encoder: `{"level": 3}`.
        container: options of the container: `{"movflags": "faststart"}`.
        aspect: of a pixel.
        audio: samples [samples] or [samples, channels] that go with it, as for `save_audio`.
        audio_rate: samples a second.
        audio_codec: by default the usual one of the container.
        audio_bit_rate: bits a second of it.

    Returns:
        The file's content where `to` is None.

    Raises:
        MediaError: if there is no such codec or option, or the container cannot hold the codec. Nothing is written then.
        OSError: if the file cannot be written, as on a full disk: nothing is left of it.
    """
    return save_frames(
        "save_video", to, frames, fps, codec, format, quality, bit_rate, pixel_format, filter, gop, options, container, aspect,
        audio, audio_rate, audio_codec, audio_bit_rate,
    )  # fmt: skip


def save_audio(
    to: Path | Writable | None,
    samples: Any,
    rate: int,
    *,
    codec: str | None = None,
    format: str | None = None,
    bit_rate: int | None = None,
    filter: str | None = None,
    options: Mapping[str, Any] | None = None,
    container: Mapping[str, Any] | None = None,
) -> bytes | None:
    """Encode samples, and write them into an audio file. Any number of them is well.

        hr.io.save_audio("out.flac", samples, 16000)

    WAV keeps float32, float64, int16 and int32 as they are, FLAC int16. Where a codec does not have the rate, samples are resampled to
    the next one that it has.

    Args:
        to: a path, an object with `write()`, or None for the bytes.
        samples: [samples] or [samples, channels], of int16, int32, float32 or float64; floats from -1 to 1.
        rate: samples a second.
        codec: an encoder, or a format: `"flac"`, `"aac"`, `"opus"`, `"pcm_s24le"`; by default the usual one of the container.
        format: the container; by default by the suffix of the path.
        bit_rate: bits a second.
        filter: a graph of FFmpeg's filters that samples go through first: `"volume=0.5"`.
        options: of the encoder.
        container: options of the container.

    Returns:
        The file's content where `to` is None.

    Raises:
        MediaError: if there is no such codec or option, or the container cannot hold the codec. Nothing is written then.
        OSError: if the file cannot be written: nothing is left of it.
    """
    return save_samples("save_audio", to, samples, rate, codec, format, bit_rate, filter, options, container)


def filter(
    graph: str,
    inputs: Any,
    *,
    fps: float | Fraction | tuple[int, int] = 25,
    rate: int | None = None,
    color: Literal["rgb", "rgba", "gray"] = "rgb",
    start: Seconds | None = None,
    end: Seconds | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Have frames and samples go through a graph of FFmpeg's filters.

        small = hr.io.filter("scale=320:-2,hflip", frames)
        shown = hr.io.filter("bwdif,scale=iw*sar:ih", "tape.mpg", start=60, end=65)
        both = hr.io.filter("[a][b]hstack", {"a": left, "b": right})
        parts = hr.io.filter("[in]split[x][y];[y]negate[z]", {"in": frames})  # {"x": …, "z": …}

    Args:
        graph: as for `ffmpeg -filter_complex`. Open ends go to inputs of their label.
        inputs: an array or a file, or several by their labels. Arrays: frames [frames, height, width] or with channels after it, of uint8
            or uint16; samples [samples] or [samples, channels], of int16, int32, float32 or float64. Files: a path, bytes, an object with
            `read()`, or packets. Their video enters as it is decoded, or, where they have none, their audio; `demux(…, streams="audio")`
            takes the audio of a film. Several are decoded side by side, by time: what a filter such as concat needs later waits in memory.
        fps: frames a second of all inputs that are frames.
        rate: samples a second of all inputs that are samples.
        color: how frames come out. They have 16 bits where an array has.
        start: the second at which files begin, as for `demux`. Their times begin there.
        end: where they end.
        max_bytes: the most that results may have; by default 1 GiB.

    Returns:
        An array where the graph has one output, or arrays by the labels of its outputs: frames [frames, height, width, channels], samples
        float32 [samples, channels].

    Raises:
        MediaError: if the graph is wrong: what FFmpeg says of it is in the message.
    """
    name = "filter"
    if not isinstance(graph, str):
        raise WrongType(f"headrace: {name}: graph is {graph!r}: takes text")
    arrays = dict(inputs) if isinstance(inputs, Mapping) else {"in": inputs}
    ports, data, wide = [], [], False
    for label, given in arrays.items():
        if _is_file(given):
            ports.append({"label": str(label), "file": True})
            data.append(source_of(name, given, None))
            continue
        array = numpy.asarray(given)
        if array.dtype.name in ("uint8", "uint16"):
            array = frames_of(name, array)
            port = picture_port(array, fps)
            wide = wide or array.dtype.itemsize == 2
        else:
            array = samples_of(name, array)
            if rate is None:
                raise MediaError(f"headrace: {name}: the input {label!r} is samples: give rate, samples a second")
            port = sample_port(array, rate)
        if array.nbytes == 0:
            raise MediaError(f"headrace: {name}: the input {label!r} is empty")
        ports.append(port | {"label": str(label)})
        data.append(Input(bytes_of(array), None, None))
    formats = {"rgb": ("rgb24", "rgb48le"), "rgba": ("rgba", "rgba64le"), "gray": ("gray", "gray16le")}
    if color not in formats:
        raise MediaError(f"headrace: {name}: color is {color!r}: takes {', '.join(map(repr, formats))}")
    asked = window(start, end, None) | {"graph": graph, "inputs": ports, "pictures": formats[color][wide]}
    results, _ = unpack(done(name, task(name, asked, max_bytes), data))
    results.pop("seconds", None)
    return next(iter(results.values())) if len(results) == 1 else results


def _count(name: str, value: Any) -> int:
    n = whole_number(name, value)
    if n is None or n < 1:
        raise MediaError(f"headrace: io: {name} must be at least 1, got {value!r}")
    return n


def _with_audio(video: bytes, do: str, rate: Any, channels: Any, dtype: str, layout: str | None, stream: Any, max_bytes: Any) -> bytes:
    """What is asked for a video, and for the audio that is heard meanwhile."""
    audio = audio_asked(do, rate, channels, None, None, "silence", dtype, layout, stream, max_bytes)
    return json.dumps(json.loads(video) | json.loads(audio)).encode()


def _joined(what: bytes, asked: dict[str, Any]) -> bytes:
    return json.dumps(json.loads(what) | {"av": asked}).encode()


def _is_file(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike, bytes, bytearray, Packets)) or hasattr(given, "read")


for _public in (demux, remux, stream_video, stream_audio, stream_media, load_media, save_video, save_audio, filter):
    _public.__module__ = "headrace.io"

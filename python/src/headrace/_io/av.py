"""The functions of `headrace.io` for packets, long files, and files it writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy

from .._recipe.arguments import is_number, truth
from ..errors import MediaError, WrongType
from .arrays import bytes_of, frames_of, picture_port, sample_port, samples_of
from .audio import asked as audio_asked
from .packets import Packets
from .save import container_of, is_file, save_frames, save_samples
from .session import Input
from .source import source_of
from .source import whole as whole_number
from .streams import AudioStream, FilterStream, MediaClip, MediaStream, VideoStream
from .tasks import done, given_back, options, target, task, time_of, window
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
    time_limit: float | None = None,
) -> Packets:
    """Extract coded packets from a file, or a window of it, without decoding.

        packets = hr.io.demux("film.mp4", start=3, end="4.5", streams="video")
        send(packets.tobytes())  # or pickle it
        frames = hr.io.decode(hr.io.Packets(received))  # elsewhere

    The window includes `start` and excludes `end`. Earlier packets that decoding needs come along, but decoding returns exactly the window,
    to the audio sample. Time counts from the first frame displayed, or from the first sample if there is no video.

    Args:
        src: a path, bytes, or an object with `read()`.
        start: seconds: a number, text, a `Fraction`, or a pair (1, 3); by default the beginning.
        end: likewise; by default the end.
        streams: `"video"` and `"audio"`: those players take; `"videos"`, `"audios"`: all; `"v:1"`: the second video; numbers as in ffprobe;
            or a list of these. By default all video and audio.
        bitstream: FFmpeg bitstream filters: `"h264_mp4toannexb"`, for video; or {"audio": …}.
        max_bytes: most bytes of packets; by default 1 GiB.
        time_limit: seconds that this may take; beyond it MediaError is raised. By default no limit.

    Raises:
        MediaError: if the file is not a valid container or lacks the stream, or packets exceed `max_bytes`.
        OSError: if the file cannot be read.
    """
    source = source_of("demux", src, max_bytes)
    return Packets(
        done("demux", task("demux", window(start, end, streams, bitstream), max_bytes, **time_of("demux", time_limit)), [source])
    )


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
    time_limit: float | None = None,
    files: bool = False,
) -> bytes | None:
    """Copy streams into another container, without decoding.

        hr.io.remux("film.mkv", "film.mp4", container={"movflags": "faststart"})
        hr.io.remux("film.mp4", "part.mp4", start=60, end=90)

    Packets, tags, chapters, languages and dispositions are kept, as far as the container has them. A window begins at the last key frame
    before `start`; MP4 and MOV hide the frames before `start`, other containers show them. The file appears only once it is complete.

    Args:
        src: a path, bytes, an object with `read()`, or packets.
        to: a path, an object with `write()`, or None to return the bytes.
        start: as for `demux`, like end, streams and bitstream.
        end: likewise.
        streams: likewise.
        bitstream: likewise. What a container needs, such as Annex B in MPEG-TS, is done anyway.
        format: the container, by FFmpeg's name: `"mp4"`, `"matroska"`; by default from the path's suffix.
        container: its options.
        max_bytes: largest file read from an object with `read()`; by default 1 GiB.
        time_limit: seconds that this may take; beyond it MediaError is raised. By default no limit.
        files: let options of the container have FFmpeg open files.

    Returns:
        The content if `to` is None.

    Raises:
        MediaError: if `src` is not a valid container, or the new one cannot hold its streams. Nothing is written then.
        OSError: if a file cannot be read or written.
    """
    path = target("remux", to)
    source = _packets_as_file(src) if isinstance(src, Packets) else source_of("remux", src, max_bytes)
    asked = window(start, end, streams, bitstream)
    asked |= {"to": path or "", "format": container_of("remux", path, format)[0], "options": options("container", container)}
    asked["files"] = truth("files", files)
    return given_back(to, path, done("remux", task("remux", asked, **time_of("remux", time_limit)), [source], path))


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
    color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444", "native"] | None = None,
    stream: int | None = None,
    max_pixels: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
    format: str | None = None,
    format_options: Mapping[str, Any] | str | None = None,
) -> VideoStream:
    """Decode a video of any length piece by piece.

        for frames in hr.io.stream_video("day.mp4", 64, width=224, height=224):
            ...  # uint8 [64, 224, 224, 3]; the last may be shorter

    The file is decoded once, holding one piece and the decoder's own frames. Together the pieces equal what `load_video` returns. To stop
    early, leave the loop and call `close()`, use a context manager, or drop the object.

    Args:
        src: a path, bytes, or an object with `read()`.
        frames: frames in a piece.
        stride: from one frame to the next, in frames.
        start: the second where it begins, as for `demux`.
        end: where it ends.
        width: as for `load_video`, like all that follow.
        height: likewise.
        mode: likewise.
        orient: likewise.
        aspect: likewise.
        dtype: likewise.
        color: likewise.
        stream: likewise.
        max_pixels: likewise.
        max_bytes: likewise.
        time_limit: seconds that opening, and each piece, may take; beyond it MediaError is raised. By default no limit.
        filter: as for `load_video`. Frames of every `stride` enter it, and it may make any number.
        decoder: as for `load_video`.
        decoder_options: likewise.
        format: likewise.
        format_options: likewise.

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
        color=color,
        orient=None if orient is None else truth("orient", orient),
        aspect=aspect,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
        filter=filter,
        decoder=decoder,
        decoder_options=decoder_options,
        format=format,
        format_options=format_options,
    )
    asked = window(start, end, "video" if stream is None else f"v:{whole_number('stream', stream)}")
    asked["stride"] = _count("stride", stride)
    limit = time_of(name, time_limit)
    return VideoStream(name, _joined(what, asked, limit), source_of(name, src, max_bytes), _count("frames", frames), limit)


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
    damaged: Literal["error", "keep"] = "error",
    max_bytes: int | None = None,
    time_limit: float | None = None,
    format: str | None = None,
    format_options: Mapping[str, Any] | str | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
) -> AudioStream:
    """Decode audio of any length piece by piece.

        for samples in hr.io.stream_audio("day.flac", 10.0, 16000, "mono"):
            ...  # float32 [160000]; the last may be shorter

    Together the pieces equal what `load_audio` returns, at any rate. Stop it as `stream_video`.

    Args:
        src: a path, bytes, or an object with `read()`.
        seconds: length of a piece.
        rate: as for `load_audio`, like channels, dtype, layout and stream.
        channels: likewise.
        samples: samples per channel in a piece, instead of seconds.
        start: the second where it begins, as for `demux`; by default the recording's beginning.
        end: where it ends.
        dtype: as for `load_audio`.
        layout: likewise.
        stream: likewise.
        damaged: likewise. With `"keep"`, MP3, Ogg and other files that hold sound alone are read to memory, of 1 GiB at most.
        max_bytes: likewise.
        time_limit: seconds that opening, and each piece, may take; beyond it MediaError is raised. By default no limit.
        format: as for `load_audio`.
        format_options: likewise.
        filter: likewise. The graph hears the samples from `start` to `end`.
        decoder: likewise.
        decoder_options: likewise.

    Raises:
        MediaError: if there is no audio that can be decoded; from the iterator, if it is damaged.
        OSError: if the file cannot be read.
    """
    name = "stream_audio"
    if samples is None and not 0 < float(seconds) <= 1e6:
        raise MediaError(f"headrace: {name}: seconds is {seconds!r}: must be a number above 0")
    what = audio_asked(
        "samples",
        rate=rate,
        channels=channels,
        dtype=dtype,
        layout=layout,
        max_bytes=max_bytes,
        damaged=damaged,
        format=format,
        format_options=format_options,
        filter=filter,
        decoder=decoder,
        decoder_options=decoder_options,
    )
    asked = window(start, end, "audio" if stream is None else f"a:{whole_number('stream', stream)}")
    count = None if samples is None else _count("samples", samples)
    limit = time_of(name, time_limit)
    return AudioStream(name, _joined(what, asked, limit), source_of(name, src, max_bytes), count, float(seconds), limit)


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
    color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444"] | None = None,
    audio_dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    audio_stream: int | None = None,
    max_bytes: int | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
    audio_filter: str | None = None,
    audio_decoder: str | None = None,
    audio_decoder_options: Mapping[str, Any] | str | None = None,
) -> MediaClip:
    """Decode a clip of a video with its audio.

        clip = hr.io.load_media("talk.mp4", start=3.0, duration=2.0, fps=8, rate=16000, channels="mono")
        clip.video  # uint8 [16, height, width, 3]
        clip.audio  # float32 [32000]: sample n is heard at 3 + n / 16000 s

    Both use the video's clock, whose first frame is at 0, to half a sample. Missing audio is silence. A file whose window is damaged is an
    error; `load_audio` with `damaged="keep"` reads its audio.

    Args:
        src: a path, bytes, or an object with `read()`.
        start: the second where the clip begins; by default the first frame.
        duration: its length in seconds; by default as long as its frames are on screen.
        frames: as for `load_video`, like those that follow.
        stride: likewise.
        fps: likewise.
        width: likewise.
        height: likewise.
        rate: as for `load_audio`. A file without audio needs it.
        channels: likewise.
        mode: as for `load_video`.
        color: likewise.
        audio_dtype: the samples' dtype, as for `load_audio`.
        layout: of samples, likewise.
        stream: which video stream.
        audio_stream: which audio stream.
        max_bytes: most bytes of samples; by default 1 GiB.
        filter: a graph for the frames, as for `load_video`, which must give as many as enter it.
        decoder: as for `load_video`.
        decoder_options: likewise.
        audio_filter: a graph for the samples of the clip, as for `load_audio`. What it makes is cut to the clip, and silence follows.
        audio_decoder: as `decoder` of `load_audio`.
        audio_decoder_options: likewise.

    Raises:
        MediaError: if the file has no video that can be decoded, or the clip is damaged.
        OSError: if the file cannot be read.
    """
    name = "load_media"
    video = video_asked(
        "media",
        start=start,
        duration=duration,
        frames=frames,
        stride=stride,
        fps=fps,
        width=width,
        height=height,
        mode=mode,
        color=color,
        stream=stream,
        filter=filter,
        decoder=decoder,
        decoder_options=decoder_options,
    )
    what = _with_audio(
        video,
        "media",
        rate=rate,
        channels=channels,
        dtype=audio_dtype,
        layout=layout,
        stream=audio_stream,
        max_bytes=max_bytes,
        filter=audio_filter,
        decoder=audio_decoder,
        decoder_options=audio_decoder_options,
    )
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
    color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444"] | None = None,
    audio_dtype: Literal["float32", "int16"] = "float32",
    layout: Literal["T", "TC", "CT"] | None = None,
    stream: int | None = None,
    audio_stream: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    filter: str | None = None,
    decoder: str | None = None,
    decoder_options: Mapping[str, Any] | str | None = None,
    audio_filter: str | None = None,
    audio_decoder: str | None = None,
    audio_decoder_options: Mapping[str, Any] | str | None = None,
) -> MediaStream:
    """Decode a video and its audio, of any length, piece by piece.

        for clip in hr.io.stream_media("day.mp4", 50, width=224, height=224, rate=16000, channels="mono"):
            clip.video, clip.audio  # uint8 [50, 224, 224, 3]; float32 [32000] where the video has 25 frames a second

    A piece's audio lasts from its first frame to the next piece's, or in the last piece to the end of the last frame. Sample n of all
    pieces is heard n / rate seconds after the first frame, to half a sample. Missing audio is silence. Stop it as `stream_video`.

    Args:
        src: a path, bytes, or an object with `read()`.
        frames: frames in a piece.
        stride: from one frame to the next, in frames.
        start: the second where it begins, as for `demux`: at the first frame from there on.
        end: where it ends.
        width: as for `load_video`.
        height: likewise.
        rate: as for `load_audio`. A file or window without audio needs it.
        channels: likewise.
        mode: as for `load_video`.
        color: likewise.
        audio_dtype: the samples' dtype, as for `load_audio`.
        layout: of samples, likewise.
        stream: which video stream.
        audio_stream: which audio stream.
        max_bytes: most bytes of a piece's samples; by default 1 GiB.
        time_limit: seconds that opening, and each piece, may take; beyond it MediaError is raised. By default no limit.
        filter: a graph for the frames, as for `stream_video`.
        decoder: as for `load_video`.
        decoder_options: likewise.
        audio_filter: a graph for the samples from the first frame on, as for `load_audio`. It must not change how long they last.
        audio_decoder: as `decoder` of `load_audio`.
        audio_decoder_options: likewise.

    Raises:
        MediaError: if the file has no video that can be decoded; from the iterator, if a frame or the audio is damaged.
        OSError: if the file cannot be read.
    """
    name = "stream_media"
    graph: dict[str, Any] = {"filter": filter, "decoder": decoder, "decoder_options": decoder_options}
    video = video_asked("both", width=width, height=height, mode=mode, color=color, **graph)
    what = _with_audio(
        video,
        "both",
        rate=rate,
        channels=channels,
        dtype=audio_dtype,
        layout=layout,
        stream=audio_stream,
        max_bytes=max_bytes,
        filter=audio_filter,
        decoder=audio_decoder,
        decoder_options=audio_decoder_options,
    )
    asked = window(start, end, "video" if stream is None else f"v:{whole_number('stream', stream)}")
    asked["stride"] = _count("stride", stride)
    limit = time_of(name, time_limit)
    return MediaStream(name, _joined(what, asked, limit), source_of(name, src, max_bytes), _count("frames", frames), limit)


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
    color: Literal["bt601", "smpte170m", "bt470bg", "bt709", "bt2020"] | None = None,
    range: Literal["limited", "full"] | None = None,
    options: Mapping[str, Any] | None = None,
    container: Mapping[str, Any] | None = None,
    aspect: tuple[int, int] = (1, 1),
    audio: Any = None,
    audio_rate: int | None = None,
    audio_codec: str | None = None,
    audio_bit_rate: int | None = None,
    files: bool = False,
    planes: str | None = None,
) -> bytes | None:
    """Encode frames into a video file.

        hr.io.save_video("out.mp4", frames, 25)
        hr.io.save_video("exact.mkv", (render(i) for i in range(1000)), fps=(30000, 1001))

    The file appears only once it is complete.

    Args:
        to: a path, an object with `write()`, or None to return the bytes.
        frames: an array [frames, height, width], or with 1, 3 or 4 channels after it, of uint8 or uint16; or an iterable of frames or such
            arrays, consumed as it is encoded.
        fps: frames per second; exact as a fraction.
        codec: an encoder or format: `"ffv1"`, `"mpeg4"`, `"mjpeg"`, `"libx264"`; by default the container's usual one. FFV1, the default
            for .mkv, keeps every pixel.
        format: the container; by default from the path's suffix.
        quality: of mpeg4, mjpeg and mpeg2video, from 1, the best, to 31; by default 3.
        bit_rate: bits per second, instead.
        gop: most frames from one key frame to the next.
        pixel_format: of the encoder's input, by FFmpeg's name: `"yuv444p"`; by default `"yuv420p"`, for lossless codecs the nearest to the
            frames.
        filter: a graph of FFmpeg filters to apply first: `"scale=640:-2"`.
        color: which colours the file has: frames are converted to this matrix, and the file names it with its primaries and transfer. By
            default BT.601, as players take a file that says nothing. Codecs and containers that cannot say it to players are refused.
        range: `"limited"`, the default, as `ffmpeg` writes; or `"full"`, which Motion JPEG, RGB and most gray formats have anyway.
        options: of the encoder: `{"level": 3}`, `{"threads": 4}` instead of one; also `{"color_trc": "smpte2084"}`, if the frames have
            another transfer.
        container: options of the container: `{"movflags": "faststart"}`.
        aspect: of a pixel.
        audio: samples [samples] or [samples, channels] to go with it, as for `save_audio`; or audio to copy without encoding: a path, bytes
            or object with `read()`, of which players' audio stream is taken, or packets of `demux(…, streams="audio")`, of a part. The
            first frame is shown when the file's first frame was, or without video when the first sample is heard.
        audio_rate: samples per second. Only samples have it, and codec and bit rate.
        audio_codec: by default the container's usual one.
        audio_bit_rate: bits per second.
        files: let options have FFmpeg open files, such as those of `subtitles` or `lut3d`.
        planes: frames are planes, or the decoder's own numbers, and stay as they are: `"yuv420"`, `"nv12"`, `"yuv422"` or `"yuv444"`, as
            `load_video` gives them, or what `video_info(src).pixel_format` names for `color="native"`: `"yuv420p10le"`, `"gray"`. Then
            `color` and `range` are only written into the file, which says neither by default. uint16 frames keep their bits. A codec that
            does not take the format is refused, unless `pixel_format` has it converted to one with other chroma or bits.

    Returns:
        The file's content if `to` is None.

    Raises:
        MediaError: if there is no such codec or option, or the container cannot hold the codec. Nothing is written then.
        OSError: if the file cannot be written, as on a full disk; nothing is left of it.
    """
    return save_frames(
        "save_video", to, frames, fps, codec, format, quality, bit_rate, pixel_format, filter, gop, color, range, options, container,
        aspect, audio, audio_rate, audio_codec, audio_bit_rate, files, planes,
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
    files: bool = False,
) -> bytes | None:
    """Encode samples into an audio file, any number of them.

        hr.io.save_audio("out.flac", samples, 16000)

    WAV keeps float32, float64, int16 and int32 as they are, FLAC int16. If a codec lacks the rate, samples are resampled to its next higher
    one.

    Args:
        to: a path, an object with `write()`, or None to return the bytes.
        samples: [samples] or [samples, channels], of int16, int32, float32 or float64; floats from -1 to 1.
        rate: samples per second.
        codec: an encoder or format: `"flac"`, `"aac"`, `"opus"`, `"pcm_s24le"`; by default the container's usual one.
        format: the container; by default from the path's suffix.
        bit_rate: bits per second.
        filter: a graph of FFmpeg filters to apply first: `"volume=0.5"`.
        options: of the encoder.
        container: options of the container.
        files: let options have FFmpeg open files, such as those of `subtitles` or `lut3d`.

    Returns:
        The file's content if `to` is None.

    Raises:
        MediaError: if there is no such codec or option, or the container cannot hold the codec. Nothing is written then.
        OSError: if the file cannot be written; nothing is left of it.
    """
    return save_samples("save_audio", to, samples, rate, codec, format, bit_rate, filter, options, container, files)


def filter(
    graph: str,
    inputs: Any,
    *,
    fps: float | Fraction | tuple[int, int] = 25,
    rate: int | None = None,
    color: Literal["rgb", "rgba", "gray", "nv12", "yuv420", "yuv422", "yuv444"] = "rgb",
    start: Seconds | None = None,
    end: Seconds | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    files: bool = False,
) -> Any:
    """Apply a graph of FFmpeg filters to frames and samples.

        small = hr.io.filter("scale=320:-2,hflip", frames)
        shown = hr.io.filter("bwdif,scale=iw*sar:ih", "tape.mpg", start=60, end=65)
        both = hr.io.filter("[a][b]hstack", {"a": left, "b": right})
        parts = hr.io.filter("[in]split[x][y];[y]negate[z]", {"in": frames})  # {"x": …, "z": …}

    Args:
        graph: as for `ffmpeg -filter_complex`. Open ends are connected to the inputs of their label.
        inputs: an array or file, or several by label. Arrays: frames [frames, height, width] or with channels after it, of uint8 or uint16;
            samples [samples] or [samples, channels], of int16, int32, float32 or float64. Files: a path, bytes, an object with `read()`, or
            packets: their video, or audio if they have none; `demux(…, streams="audio")` takes a film's audio. Several are decoded in
            parallel, by time; frames that a filter such as concat needs later wait in memory.
        fps: frames per second of all inputs that are frames.
        rate: samples per second of all inputs that are samples.
        color: of the resulting frames, which have 16 bits if an array has. Planes are rows of luma, then of chroma: `"yuv420"` and `"nv12"`
            [height + height / 2, width], `"yuv422"` [2 * height, width], both of even width; `"yuv444"` [3, height, width].
        start: the second where files begin, as for `demux`, and their time 0.
        end: where they end.
        max_bytes: most bytes of results; by default 1 GiB.
        time_limit: seconds that this may take; beyond it MediaError is raised. By default no limit.
        files: let options have FFmpeg open files, such as those of `subtitles` or `lut3d`.

    Returns:
        An array if the graph has one output, else arrays by its outputs' labels: frames [frames, height, width, channels], samples float32
        [samples, channels].

    Raises:
        MediaError: if the graph is wrong; the message quotes FFmpeg.
        OSError: if a file cannot be read.
    """
    name = "filter"
    asked, data = _graph_of(name, graph, inputs, fps, rate, color, start, end, files)
    results, _ = unpack(done(name, task(name, asked, max_bytes, **time_of(name, time_limit)), data))
    results.pop("seconds", None)
    return next(iter(results.values())) if len(results) == 1 else results


def stream_filter(
    graph: str,
    inputs: Any,
    frames: int = 32,
    seconds: float = 1.0,
    *,
    fps: float | Fraction | tuple[int, int] = 25,
    rate: int | None = None,
    color: Literal["rgb", "rgba", "gray", "nv12", "yuv420", "yuv422", "yuv444"] = "rgb",
    start: Seconds | None = None,
    end: Seconds | None = None,
    time_limit: float | None = None,
    files: bool = False,
) -> FilterStream:
    """Apply a graph of FFmpeg filters to files of any length, piece by piece.

        for frames in hr.io.stream_filter("fps=5,scale=320:-2", "day.mp4", 64):
            ...  # uint8 [64, height, 320, 3]; the last may be shorter

    Together the pieces equal what `filter` returns. It holds one piece, the decoders' frames, and those that the graph keeps: `reverse`
    keeps all. Stop it as `stream_video`.

    Args:
        graph: as for `filter`, with one output.
        inputs: as for `filter`.
        frames: frames in a piece, if the graph makes video.
        seconds: length of a piece, if it makes audio.
        fps: as for `filter`, like all that follow.
        rate: likewise.
        color: likewise.
        start: likewise.
        end: likewise.
        time_limit: seconds that opening, and each piece, may take; beyond it MediaError is raised. By default no limit.
        files: as for `filter`.

    Raises:
        MediaError: if the graph is wrong; from the iterator, if a frame or the audio is damaged.
        OSError: if a file cannot be read.
    """
    name = "stream_filter"
    if not is_number(seconds) or not 0 < seconds <= 1e6:
        raise MediaError(f"headrace: {name}: seconds is {seconds!r}: must be a number above 0")
    asked, data = _graph_of(name, graph, inputs, fps, rate, color, start, end, files)
    limit = time_of(name, time_limit)
    return FilterStream(name, task("filtering", asked, **limit), data, _count("frames", frames), float(seconds), limit)


def _graph_of(
    name: str, graph: Any, inputs: Any, fps: Any, rate: Any, color: str, start: Any, end: Any, files: Any
) -> tuple[dict[str, Any], list[Input]]:
    """What a task has of a graph, and its inputs."""
    if not isinstance(graph, str):
        raise WrongType(f"headrace: {name}: graph is {graph!r}: must be text")
    arrays = dict(inputs) if isinstance(inputs, Mapping) else {"in": inputs}
    ports, data, wide = [], [], False
    for label, given in arrays.items():
        if is_file(given):
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
    formats = {
        "rgb": ("rgb24", "rgb48le"), "rgba": ("rgba", "rgba64le"), "gray": ("gray", "gray16le"), "nv12": ("nv12", "p016le"),
        "yuv420": ("yuv420p", "yuv420p16le"), "yuv422": ("yuv422p", "yuv422p16le"), "yuv444": ("yuv444p", "yuv444p16le"),
    }  # fmt: skip
    if color not in formats:
        raise MediaError(f"headrace: {name}: color is {color!r}: must be {', '.join(map(repr, formats))}")
    asked = window(start, end, None) | {"graph": graph, "inputs": ports, "pictures": formats[color][wide]}
    asked["files"] = truth("files", files)
    return asked, data


def _count(name: str, value: Any) -> int:
    n = whole_number(name, value)
    if n is None or n < 1:
        raise MediaError(f"headrace: io: {name} must be at least 1, got {value!r}")
    return n


def _with_audio(video: bytes, do: str, **audio: Any) -> bytes:
    """What is asked for a video, and for the audio that is heard meanwhile."""
    return json.dumps(json.loads(video) | json.loads(audio_asked(do, short="silence", **audio))).encode()


def _joined(what: bytes, asked: dict[str, Any], more: Mapping[str, Any] | None = None) -> bytes:
    return json.dumps(json.loads(what) | {"av": asked, **(more or {})}).encode()


for _public in (demux, remux, stream_video, stream_audio, stream_media, load_media, save_video, save_audio, filter, stream_filter):
    _public.__module__ = "headrace.io"

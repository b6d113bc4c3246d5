"""Files that are made of frames and samples."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy

from .._recipe.arguments import shown, truth
from ..errors import MediaError, WrongType
from .arrays import bytes_of, frames_of, picture_port, rate_of, sample_port, samples_of
from .colors import with_colors
from .packets import Packets
from .planes import planes_of
from .session import Input
from .source import source_of, whole
from .tasks import Ongoing, done, given_back, options, target, task

# By the suffix of a name: the container, and the codecs of video and audio that it usually has. None: by the type of what is saved.
_USUAL: dict[str, tuple[str, str, str | None]] = {
    "mp4": ("mp4", "mpeg4", "aac"),
    "m4v": ("mp4", "mpeg4", "aac"),
    "mov": ("mov", "mpeg4", "aac"),
    "mkv": ("matroska", "ffv1", "flac"),
    "avi": ("avi", "mjpeg", "pcm_s16le"),
    "webm": ("webm", "vp9", "opus"),
    "ts": ("mpegts", "mpeg2video", "mp2"),
    "nut": ("nut", "ffv1", "flac"),
    "gif": ("gif", "gif", ""),
    "wav": ("wav", "", None),
    "w64": ("w64", "", None),
    "caf": ("caf", "", None),
    "aiff": ("aiff", "", "pcm_s16be"),
    "aif": ("aiff", "", "pcm_s16be"),
    "flac": ("flac", "", "flac"),
    "ogg": ("ogg", "", "opus"),
    "oga": ("ogg", "", "flac"),
    "opus": ("opus", "", "opus"),
    "m4a": ("ipod", "", "aac"),
    "mka": ("matroska", "", "flac"),
    "aac": ("adts", "", "aac"),
    "mp3": ("mp3", "", "mp3"),
    "mp2": ("mp2", "", "mp2"),
    "ac3": ("ac3", "", "ac3"),
}
_ALIASES = {"matroska": "mkv", "mpegts": "ts", "ipod": "m4a", "adts": "aac"}
_PCM = {"int16": "pcm_s16le", "int32": "pcm_s32le", "float32": "pcm_f32le", "float64": "pcm_f64le"}
_BY_QUALITY = ("mpeg4", "mjpeg", "mpeg2video", "mpeg1video")
_AT_ONCE = 64 << 20  # bytes that are written at a time


def container_of(name: str, path: str | None, given: str | None) -> tuple[str, str, str | None]:
    """The container, and the codecs that it usually has."""
    if given is not None and not isinstance(given, str):
        raise WrongType(f"headrace: {name}: format is {given!r}: must be text")
    key = given or os.path.splitext(path or "")[1][1:].lower()
    key = _ALIASES.get(key, key)
    if key in _USUAL:
        return _USUAL[key]
    if given:
        return given, "", ""
    about = f"the suffix of {shown(path)!r} is unknown" if path else "the name has no suffix"
    raise MediaError(f"headrace: {name}: {about}: give format, such as 'mp4' or 'wav'")


def encoding(
    name: str, kind: str, codec: Any, usual: str | None, container: str, array: Any, quality: Any, bit_rate: Any, given: Any
) -> dict[str, Any]:
    """What an encoder is asked for."""
    if usual is None:
        usual = _PCM[array.dtype.name]
    codec = codec or usual
    if not isinstance(codec, str):
        raise WrongType(f"headrace: {name}: codec is {codec!r}: must be text")
    if not codec:
        raise MediaError(f"headrace: {name}: {container} has no default codec for {kind}: give codec")
    if quality is None and bit_rate is None and codec in _BY_QUALITY:
        quality = 3
    if quality is not None and not 0 < float(quality) <= 100:
        raise MediaError(f"headrace: {name}: quality is {quality!r}: must be a number from 1, the best, to 31, the smallest")
    rate = None if bit_rate is None else whole("bit_rate", bit_rate)
    if rate is not None and rate < 1:
        raise MediaError(f"headrace: {name}: bit_rate must be at least 1, got {bit_rate!r}")
    return {
        "codec": codec, "quality": -1 if quality is None else float(quality), "bit_rate": -1 if rate is None else rate,
        "gop": -1, "b_frames": -1, "options": options("options", given),
    }  # fmt: skip


def pieces_of(name: str, frames: Any, form_of: Callable[[str, Any], Any] = frames_of) -> Iterator[Any]:
    """Frames, or pieces of several, as they come. All have the form of the first; pieces without frames are left out."""
    if isinstance(frames, numpy.ndarray) or hasattr(frames, "__array__") or isinstance(frames, (list, tuple)):
        whole_array = form_of(name, frames)
        step = max(1, _AT_ONCE // max(1, whole_array[:1].nbytes))
        for at in range(0, len(whole_array), step):
            yield whole_array[at : at + step]
        return
    if not isinstance(frames, Iterable):
        raise WrongType(f"headrace: {name}: frames is a {type(frames).__name__}: must be an array, or an iterable of frames")
    form = None
    for piece in frames:
        array = form_of(name, piece)
        if not len(array):
            continue
        if form is None:
            form = array.shape[1:], array.dtype
        elif form != (array.shape[1:], array.dtype):
            raise MediaError(
                f"headrace: {name}: a frame has shape {array.shape[1:]} and dtype {array.dtype}, the first has {form[0]} and {form[1]}"
            )
        yield array


def put(name: str, to: str, content: bytes) -> None:
    """Have the engine write an object of a store."""
    done(name, task("put", {"to": to}), [Input(memoryview(content), None, None)], to)


class Writer:
    """A file that is being made, and is removed unless it is finished."""

    def __init__(
        self,
        name: str,
        to: Any,
        format: str,
        saved: list[dict[str, Any]],
        container: Any,
        files: Any,
        beside: Input | None = None,
        streams: Sequence[str] = (),
    ) -> None:
        self._to = to
        self._path = target(name, to)
        asked = {
            "to": self._path or "",
            "format": format,
            "save": saved,
            "options": options("container", container),
            "files": truth("files", files),
            "streams": list(streams),
        }
        self._ongoing = Ongoing(name, task("save", asked), [beside] if beside else (), self._path)
        self._write = [task("write", {"stream": i, "to": self._path or ""}) for i in range(len(saved))]

    def write(self, stream: int, array: Any) -> None:
        if array.nbytes:
            self._ongoing.do(self._write[stream], [Input(bytes_of(array), None, None)])

    def finish(self) -> bytes | None:
        array = self._ongoing.do(task("finish", {"to": self._path or ""}))
        content = given_back(self._to, self._path, array)
        self._ongoing.close()
        return content

    def close(self) -> None:
        self._ongoing.close()


def save_frames(
    name: str,
    to: Any,
    frames: Any,
    fps: Any,
    codec: Any,
    format: Any,
    quality: Any,
    bit_rate: Any,
    pixel_format: Any,
    filter: Any,
    gop: Any,
    color: Any,
    range_: Any,
    options_: Any,
    container: Any,
    aspect: Any,
    audio: Any,
    audio_rate: Any,
    audio_codec: Any,
    audio_bit_rate: Any,
    files: Any,
    planes: Any,
) -> bytes | None:
    made, usual, usual_audio = container_of(name, target(name, to), format)
    stored = None if planes is None else planes_of(name, planes)
    pieces = pieces_of(name, frames, frames_of if stored is None else stored.of)
    first = next(pieces, None)
    if first is None:
        raise MediaError(f"headrace: {name}: there are no frames")
    if not first.size:
        raise MediaError(f"headrace: {name}: frames have shape {first.shape}: they have no pixels")
    if stored is None:
        port = picture_port(first, fps, aspect)
    else:
        port = stored.port(first, rate_of("fps", fps), aspect)
        range_ = stored.range(name, range_)
    options_ = with_colors(name, color, range_, options_)
    video = port | encoding(name, "video", codec, usual, made, first, quality, bit_rate, options_)
    for key, value in (("gop", gop), ("b_frames", None)):
        if value is not None:
            video[key] = whole(key, value)
    for key, value in (("pixel_format", pixel_format), ("filter", filter)):
        if not isinstance(value, (str, type(None))):
            raise WrongType(f"headrace: {name}: {key} is {value!r}: must be text")
        video[key] = value or ""
    saved = [video]
    samples = beside = None
    if audio is not None and is_file(audio):
        given = {"audio_rate": audio_rate, "audio_codec": audio_codec, "audio_bit_rate": audio_bit_rate}
        for key, value in given.items():
            if value is not None:
                raise MediaError(
                    f"headrace: {name}: {key} is {value!r}, but the audio of a file is copied as it is: leave {key} out, or give"
                    " samples, as hr.io.load_audio returns them"
                )
        beside = source_of(name, audio, None)
        saved.append({"file": True})
    elif audio is not None:
        samples = samples_of(name, audio)
        if audio_rate is None:
            raise MediaError(f"headrace: {name}: audio needs audio_rate, its samples per second")
        saved.append(
            sample_port(samples, audio_rate) | encoding(name, "audio", audio_codec, usual_audio, made, samples, None, audio_bit_rate, None)
        )

    chosen = ["audios" if isinstance(audio, Packets) else "audio"] if beside else []
    writer = Writer(name, to, made, saved, container, files, beside, chosen)
    try:
        shown = heard = 0
        num, den = port["fps"]
        for piece in itertools.chain([first], pieces):
            writer.write(0, piece)
            shown += len(piece)
            if samples is not None:  # side by side, as they are played
                until = -(-shown * den * int(audio_rate) // num)
                writer.write(1, samples[heard:until])
                heard = until
        if samples is not None:
            writer.write(1, samples[heard:])
        return writer.finish()
    finally:
        writer.close()


def is_file(given: Any) -> bool:
    """Whether this is coded: packets, or the content or the name of a file."""
    coded = isinstance(given, (str, bytes, bytearray, os.PathLike, Packets))
    return coded or (hasattr(given, "read") and not hasattr(given, "__array__"))


def save_samples(
    name: str,
    to: Any,
    given: Any,
    rate: Any,
    codec: Any,
    format: Any,
    bit_rate: Any,
    filter: Any,
    options_: Any,
    container: Any,
    files: Any,
) -> bytes | None:
    made, _, usual = container_of(name, target(name, to), format)
    samples = samples_of(name, given)
    saved = sample_port(samples, rate) | encoding(name, "audio", codec, usual, made, samples, None, bit_rate, options_)
    if not isinstance(filter, (str, type(None))):
        raise WrongType(f"headrace: {name}: filter is {filter!r}: must be text")
    saved["filter"] = filter or ""
    writer = Writer(name, to, made, [saved], container, files)
    try:
        step = max(1, _AT_ONCE // (samples.itemsize * samples.shape[1]))
        for at in range(0, len(samples), step):
            writer.write(0, samples[at : at + step])
        return writer.finish()
    finally:
        writer.close()

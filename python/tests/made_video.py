"""Small valid films of every container, at random: what tests of readers compare with each other and with the ffmpeg command.

A seed always makes the same file, alone or among others. One run of the ffmpeg command makes up to `TOGETHER` files and decodes as many.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from films import ffmpeg

TOGETHER = 20

H264 = ("libx264", "libx264 -bf 2", "libx264 -bf 3 -g 6", "libx264 -g 1", "libx264 -x264-params open-gop=1:keyint=5:bframes=2")
HEVC = ("libx265 -x265-params log-level=none:pools=1:frame-threads=1", "libx265 -x265-params log-level=none:pools=1:keyint=5:bframes=2")
MPEG4 = ("mpeg4", "mpeg4 -bf 2 -g 6", "mpeg4 -g 1")
MPEG2 = ("mpeg2video", "mpeg2video -bf 2 -g 6")
FULL = ("mjpeg", "mjpeg -q:v 2")  # whose samples fill the range


@dataclass(frozen=True)
class Container:
    """What the ffmpeg command writes of a format."""

    suffix: str
    codecs: tuple[str, ...]
    options: tuple[str, ...] = ("",)
    rates: tuple[str, ...] = ("5", "12", "24", "24000/1001", "25", "30", "30000/1001", "60")
    exact: bool = True  # the file says what its frame rate is, or how long the last frame lasts


CONTAINERS = {
    "mp4": Container("mp4", (*H264, *HEVC, *MPEG4, "libvpx-vp9 -cpu-used 8"), ("", "-movflags faststart", "-video_track_timescale 600")),
    "fragments": Container("mp4", (*H264, *MPEG4), tuple(f"-movflags {how}" for how in (
        "frag_keyframe+empty_moov", "frag_keyframe+delay_moov", "frag_every_frame+empty_moov+default_base_moof",
    ))),
    "mov": Container("mov", (*H264, *MPEG4, *FULL)),
    "mkv": Container("mkv", (*H264, *HEVC, *MPEG4, *MPEG2, *FULL, "ffv1", "libvpx", "libtheora"), ("", "-cluster_time_limit 100")),
    "webm": Container("webm", ("libvpx", "libvpx-vp9 -cpu-used 8", "libvpx -auto-alt-ref 1 -lag-in-frames 8")),
    "avi": Container("avi", ("libx264 -bf 0", *MPEG4, *FULL, "libxvid -bf 0", "h263p", "msmpeg4", "wmv2", "ffv1")),
    "asf": Container("wmv", ("wmv1", "wmv2", "msmpeg4"), exact=False),
    "flv": Container("flv", (*H264, "flv"), exact=False),
    "ts": Container("ts", (*H264, *HEVC, *MPEG2), ("", "-muxrate 4M", "-mpegts_flags +pat_pmt_at_frames")),
    "mpg": Container("mpg", ("mpeg1video", "mpeg1video -bf 2", *MPEG2), ("-f mpeg", "-f vob"), ("24", "25", "30", "30000/1001", "60")),
    "ogv": Container("ogv", ("libtheora", "libtheora -g 3")),
}  # fmt: skip


@dataclass
class Made:
    """A file, and what was written to it."""

    seed: int
    container: str
    how: str
    rate: str
    frames: int
    width: int
    height: int
    path: Path
    steady: bool = True  # frames are as far from each other as the rate says
    planes: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))  # the command's: rows of Y, then Cb and Cr

    def __str__(self) -> str:
        return f"{self.path.name}: {self.frames} frames of {self.width} x {self.height} at {self.rate}/s, {self.how}"

    @property
    def fps(self) -> float:
        over, under = (self.rate + "/1").split("/")[:2]
        return int(over) / int(under)


def described(container: str, seed: int, folder: Path) -> Made:
    """What a seed makes."""
    rng = np.random.default_rng([seed, *container.encode()])
    kind = CONTAINERS[container]
    codec, option, rate = (str(rng.choice(names)) for names in (kind.codecs, kind.options, kind.rates))
    if codec.startswith("mpeg") and "4" not in codec and rate in ("5", "12"):
        rate = "25"  # MPEG-1 and 2 have no others
    width, height = (4 * int(n) for n in rng.integers(12, 30, 2))
    frames = int(rng.integers(1, 4)) if rng.integers(4) == 0 else int(rng.integers(4, 30))
    return Made(seed, container, f"{codec} {option}".strip(), rate, frames, width, height, folder / f"{container}-{seed}.{kind.suffix}")


def make(container: str, folder: Path, seeds: Iterable[int]) -> Iterator[Made]:
    """Films of a container, one of each seed, with the planes that the command decodes."""
    files = [described(container, seed, folder) for seed in seeds]
    for at in range(0, len(files), TOGETHER):
        some = files[at : at + TOGETHER]
        inputs: list[Any] = []
        outputs: list[Any] = []
        for i, made in enumerate(some):
            seconds = made.frames / made.fps + 1  # of a source without end ffmpeg may read on and on, though no output wants it
            inputs += ["-f", "lavfi", "-i", f"testsrc2=s={made.width}x{made.height}:r={made.rate}:d={seconds}"]
            pixels = "yuvj420p" if made.how.startswith("mjpeg") else "yuv420p"
            outputs += ["-map", i, "-frames:v", made.frames, "-pix_fmt", pixels, "-c:v", *made.how.split(), made.path]
        ffmpeg(*inputs, *outputs)
        inputs, outputs = [], []
        for i, made in enumerate(some):
            inputs += ["-idct", "simple", "-i", made.path]
            outputs += ["-map", f"{i}:v:0", "-vsync", "passthrough", "-f", "rawvideo", made.path.with_suffix(".yuv")]
        ffmpeg(*inputs, *outputs)
        for made in some:
            raw = made.path.with_suffix(".yuv")
            made.planes = np.frombuffer(raw.read_bytes(), np.uint8).reshape(-1, made.height * 3 // 2, made.width)
            raw.unlink()
            if "libtheora" in made.how and len(made.planes) < made.frames:  # it leaves out frames that equal the one before
                made.steady, made.frames = False, len(made.planes)
        yield from some


def probed(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What ffprobe tells of the first stream of video, and of its frames."""
    command = ["ffprobe", "-v", "error", "-of", "json", "-select_streams", "v:0", "-show_streams", "-show_frames", str(path)]
    about = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return about["streams"][0], about["frames"]

"""Small valid recordings of every container, at random: what tests of readers compare with each other and with other readers.

    for made in make("mkv", folder, range(100)):
        made.path, made.wave, made.rate, made.codec, made.exact

A seed always makes the same file, alone or among others. One run of the ffmpeg command makes up to `TOGETHER` files and decodes as many.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

import headrace as hr

Samples = NDArray[np.float32]
TOGETHER = 40

ANY_RATE = (8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000)
ODD_RATE = (*ANY_RATE, 6000, 11024, 37800, 44099, 88200, 96000)
OPUS_RATE = (8000, 12000, 16000, 24000, 48000)


@dataclass(frozen=True)
class Codec:
    """An encoder, with what it takes; `lossless`: the samples come back as they were, to so many bits."""

    name: str
    rates: tuple[int, ...] = ANY_RATE
    channels: tuple[int, ...] = (1, 2)
    options: tuple[str, ...] = ("",)
    bits: int = 0  # 0: lossy; 32: of float samples
    exact: bool = True  # the container says how many samples there are


def pcm(*names: str, rates: tuple[int, ...] = ODD_RATE, channels: tuple[int, ...] = (1, 2, 3, 6)) -> list[Codec]:
    bits = {"u8": 8, "s8": 8, "s1": 16, "s2": 24, "s3": 24, "f3": 24, "f6": 24, "mu": 3, "al": 3}  # float32 holds 24 of 32
    return [Codec(f"pcm_{name}", rates, channels, bits=bits[name[:2]]) for name in names]


ALL_PCM = ("u8", "s8", "s16le", "s16be", "s24le", "s24be", "s32le", "s32be", "f32le", "f32be", "f64le", "f64be", "mulaw", "alaw")
AAC = Codec("aac", options=("", "-b:a 24k", "-aac_pns 0", "-aac_coder fast"), channels=(1, 2, 6))
MP3 = Codec("libmp3lame", options=("", "-b:a 32k", "-q:a 4", "-abr 1 -b:a 80k"))
MP3_OF_TS = Codec("libmp3lame", ANY_RATE[1:], options=MP3.options)  # at 8 kHz FFmpeg cuts LAME's frames in wrong places
MP3_BARE = Codec("libmp3lame", options=("-write_xing 0", "-write_xing 0 -id3v2_version 0"), exact=False)
OPUS = Codec("libopus", OPUS_RATE, options=("", "-frame_duration 2.5", "-frame_duration 60", "-b:a 16k", "-application lowdelay"))
VORBIS = Codec("libvorbis", options=("", "-q:a 8"))
FLAC = Codec("flac", options=("", "-frame_size 192", "-frame_size 4608", "-sample_fmt s32"), bits=16)
ALAC = Codec("alac", bits=16)
AC3 = Codec("ac3", (32000, 44100, 48000), (1, 2, 6), exact=False)
MP2 = Codec("mp2", (16000, 22050, 24000, 32000, 44100, 48000), exact=False)
WMA = [Codec(name, (8000, 11025, 16000, 22050, 32000, 44100, 48000), exact=False) for name in ("wmav1", "wmav2")]
MULTI = ("", "-movflags faststart", "-movflags delay_moov+frag_keyframe -frag_duration 100000", "-movflags frag_every_frame+delay_moov")


def inexact(*codecs: Codec) -> list[Codec]:
    """Codecs in a container that does not say where the last packet ends."""
    return [Codec(c.name, c.rates, c.channels, c.options, c.bits, exact=False) for c in codecs]


@dataclass(frozen=True)
class Container:
    """What the ffmpeg command writes of a format, and libsndfile (`formats`: its names, with its subtypes)."""

    suffix: str
    codecs: list[Codec]
    options: tuple[str, ...] = ("",)
    formats: dict[str, tuple[str, ...]] = field(default_factory=dict)


LINEAR = ("PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")
CONTAINERS = {
    "wav": Container(
        "wav", pcm("u8", "s16le", "s24le", "s32le", "f32le", "f64le", "mulaw", "alaw"), ("", "-rf64 always", "-fflags +bitexact"),
        {"WAV": ("PCM_U8", *LINEAR), "WAVEX": ("PCM_U8", *LINEAR), "RF64": ("PCM_16", "FLOAT"), "W64": ("PCM_16", "PCM_24", "FLOAT")},
    ),
    "flac": Container("flac", [FLAC], formats={"FLAC": ("PCM_S8", "PCM_16", "PCM_24")}),
    "ogg": Container("ogg", [VORBIS, OPUS, FLAC], ("", "-page_duration 20000", "-page_duration 5000000"), {"OGG": ("VORBIS", "OPUS")}),
    "mp3": Container("mp3", [MP3, MP3_BARE], formats={"MP3": ("MPEG_LAYER_III",)}),
    "m4a": Container("m4a", [AAC, ALAC], MULTI[:2]),
    "mp4": Container("mp4", [AAC, ALAC, *inexact(MP3), AC3, OPUS, FLAC], MULTI),
    "mov": Container("mov", [AAC, ALAC, *inexact(MP3), *pcm(*ALL_PCM)], MULTI[:3]),
    "mkv": Container("mkv", [
        *inexact(AAC, MP3, ALAC, FLAC), AC3, OPUS, *inexact(VORBIS), *pcm("u8", "s16le", "s16be", "s24le", "s24be", "s32le", "s32be"),
        *pcm("f32le", "f64le"),
    ], ("", "-cluster_time_limit 50", "-live 1")),
    "webm": Container("webm", [OPUS, *inexact(VORBIS)], ("", "-cluster_time_limit 50")),
    "asf": Container("wma", [*WMA, *inexact(MP3), *pcm("s16le", "u8", "s24le")]),
    "avi": Container("avi", [*pcm("u8", "s16le", "s24le", "s32le", "f32le", "mulaw"), *inexact(MP3), AC3]),
    "flv": Container("flv", inexact(AAC, Codec("libmp3lame", (11025, 22050, 44100)))),
    "ts": Container("ts", [*inexact(AAC, OPUS, MP3_OF_TS), MP2, AC3]),
    "adts": Container("aac", inexact(AAC)),
    "aiff": Container(
        "aiff", pcm("s8", "s16be", "s24be", "s32be", "f32be", "f64be", "mulaw", "alaw", "s16le"),
        formats={"AIFF": ("PCM_S8", "PCM_U8", *LINEAR)},
    ),
    "caf": Container(
        "caf", [*pcm("s16le", "s16be", "s24le", "s24be", "s32le", "f32be", "f64le", "mulaw", "alaw", "s8"), ALAC],
        formats={"CAF": ("PCM_S8", *LINEAR, "ALAC_16")},
    ),
    "au": Container("au", pcm("s8", "s16be", "s24be", "s32be", "f32be", "f64be", "mulaw", "alaw"), formats={"AU": ("PCM_S8", *LINEAR)}),
}  # fmt: skip


@dataclass
class Made:
    """A file, and what was written to it."""

    seed: int
    container: str
    codec: str
    by: str
    how: str
    rate: int
    wave: Samples  # [time, channels]
    bits: int  # to which samples come back; 0: they are lossy
    exact: bool  # a reader gives as many samples as were written
    path: Path

    def __str__(self) -> str:
        what = f"{len(self.wave)} samples of {self.wave.shape[1]} channels at {self.rate} Hz"
        return f"{self.path.name}: {what}, {self.codec} by {self.by} {self.how}"


def wave(rng: np.random.Generator, samples: int, channels: int, rate: int) -> Samples:
    """Tones and noise, other ones in each channel, from the first sample to the last."""
    t = np.arange(samples)[:, None] / rate
    tones = 0.3 * np.sin(2 * np.pi * t * rng.uniform(100, 0.2 * rate, channels))
    return np.asarray(tones + rng.uniform(0.01, 0.2) * rng.standard_normal((samples, channels)), np.float32).clip(-0.99, 0.99)


def length(rng: np.random.Generator, rate: int) -> int:
    """How many samples: a few, some packets, up to two seconds."""
    kind = rng.integers(8)
    if kind == 0:
        return int(rng.integers(1, 64))
    if kind < 4:
        return int(rng.integers(64, 8000))
    return int(rng.integers(rate // 20, 2 * rate))


def described(container: str, seed: int, folder: Path) -> Made:
    """What a seed makes."""
    rng = np.random.default_rng([seed, *container.encode()])
    kind = CONTAINERS[container]
    path = folder / f"{container}-{seed}.{kind.suffix}"
    if kind.formats and rng.integers(3) == 0:
        name = str(rng.choice(sorted(kind.formats)))
        subtype = str(rng.choice(kind.formats[name]))
        rates = {"OPUS": OPUS_RATE, "VORBIS": ANY_RATE, "MPEG_LAYER_III": ANY_RATE}.get(subtype, ODD_RATE)
        rate, channels = int(rng.choice(rates)), int(rng.integers(1, 3))
        bits = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "ALAC_16": 16, "ULAW": 3, "ALAW": 3, "OPUS": 0, "VORBIS": 0, "MPEG_LAYER_III": 0}
        how, by, exact = f"{name} {subtype}", "libsndfile", True
        orders = [order for order in ("LITTLE", "BIG") if soundfile.check_format(name, subtype, order)]
        how += f" {rng.choice(orders)}" if orders and rng.integers(2) else ""
        return Made(
            seed, container, subtype, by, how, rate, wave(rng, length(rng, rate), channels, rate), bits.get(subtype, 24), exact, path
        )
    codec = kind.codecs[rng.integers(len(kind.codecs))]
    rate, channels = int(rng.choice(codec.rates)), int(rng.choice(codec.channels))
    how = " ".join(filter(None, (str(rng.choice(codec.options)), str(rng.choice(kind.options)))))
    by = "headrace" if not how and container not in ("wav", "w64", "adts", "aiff", "au", "caf") and rng.integers(3) == 0 else "ffmpeg"
    bits = 24 if "s32" in how else codec.bits
    return Made(seed, container, codec.name, by, how, rate, wave(rng, length(rng, rate), channels, rate), bits, codec.exact, path)


def make(container: str, folder: Path, seeds: Iterable[int]) -> Iterator[Made]:
    """Files of a container, one of each seed."""
    waiting: list[Made] = []
    for seed in seeds:
        made = described(container, seed, folder)
        waiting.append(made)
        if len(waiting) == TOGETHER:
            yield from written(waiting)
            waiting = []
    yield from written(waiting)


def written(files: list[Made]) -> list[Made]:
    """Those files, after each was written by the program that its seed names."""
    inputs, outputs = [], []
    for made in files:
        if made.by == "libsndfile":
            name, subtype, *order = made.how.split()
            with soundfile.SoundFile(made.path, "w", made.rate, made.wave.shape[1], subtype, order[0] if order else None, name) as file:
                file.write(made.wave)
        elif made.by == "headrace":
            hr.io.save_audio(made.path, made.wave, made.rate, codec=made.codec, format={"ts": "mpegts"}.get(made.container, made.container))
        else:
            raw = made.path.with_suffix(".raw")
            raw.write_bytes(made.wave.tobytes())
            n = outputs.count("-map")
            inputs += ["-f", "f32le", "-ar", made.rate, "-ac", made.wave.shape[1], "-i", raw]
            outputs += [
                "-map",
                f"{n}:0",
                "-c:a",
                made.codec,
                *made.how.split(),
                "-strict",
                "-2",
                made.path,
            ]
    if inputs:
        ffmpeg(*inputs, *outputs)
    for made in files:
        made.path.with_suffix(".raw").unlink(missing_ok=True)
    return files


def ffmpeg(*args: Any) -> None:
    command = ["ffmpeg", "-nostdin", "-y", "-v", "error", "-threads", "1", *map(str, args)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")


def decoded(files: list[Made]) -> list[Samples | None]:
    """What the ffmpeg command decodes each file to, or libsndfile, where that refuses what it has written; None: neither reads it."""
    refused = [by_libsndfile(made.path) if ffmpeg_refuses(made) else None for made in files]
    others = iter(by_command([made for made, one in zip(files, refused, strict=True) if one is None]))
    return [next(others) if one is None else one for one in refused]


def ffmpeg_refuses(made: Made) -> bool:
    """AU that is little-endian, AIFF with a byte that pads the samples, if that is counted among them, and WAV that is big-endian."""
    order = {"au": "LITTLE", "aiff": "", "wav": " BIG"}.get(made.container, "none")
    return made.by == "libsndfile" and order in made.how


def few(made: Made) -> bool:
    """It has so few frames, and no container, that the command takes it for something else."""
    return made.container in ("mp3", "adts", "ts") and len(made.wave) < 6000


def by_command(files: list[Made]) -> list[Samples | None]:
    try:
        return by_one_command(files)
    except RuntimeError:
        if len(files) > 1:
            return [one for made in files for one in by_command([made])]
        if files and few(files[0]):
            return [None]
        raise


def by_one_command(files: list[Made]) -> list[Samples | None]:
    every: list[Samples | None] = []
    for at in range(0, len(files), TOGETHER):
        some = files[at : at + TOGETHER]
        outputs: list[Any] = []
        for i, made in enumerate(some):
            outputs += ["-map", f"{i}:a:0", "-c:a", "pcm_f32le", "-f", "f32le", made.path.with_suffix(".out")]
        inputs = [part for made in some for part in ("-i", made.path)]
        ffmpeg(*inputs, *outputs)
        for made in some:
            out = made.path.with_suffix(".out")
            every.append(np.frombuffer(out.read_bytes(), np.float32).reshape(-1, made.wave.shape[1]))
            out.unlink()
    return every


def by_libsndfile(data: bytes | Path) -> Samples:
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    return np.asarray(soundfile.read(source, dtype="float32", always_2d=True)[0], np.float32)

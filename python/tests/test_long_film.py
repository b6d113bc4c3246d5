"""A film of one hour: the command's frames wherever they are, read in part, in memory that does not grow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import cases, engines
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

MINUTES = cases(6, 60)
FRAMES, GOP, WIDTH, HEIGHT = MINUTES * 1500, 250, 64, 48
RAW = ["-f", "rawvideo", "-pix_fmt", "yuv420p"]
BLOCK = 4096  # two beside the index, and one for what the engine reads of its own
SPREAD = np.floor(np.arange(768) * (FRAMES - 1) / 767 + 0.5).astype(int)
CELLS = 24  # bits of a frame's number, and below them as many cells of noise


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """Each frame has its number in black and white, and noise; 25 frames a second, B-frames, a key frame every ten seconds."""
    path, rng = tmp_path_factory.mktemp("film") / "film.mp4", np.random.default_rng(1)
    x264 = ["-c:v", "libx264", "-preset", "ultrafast", "-bf", 2, "-g", GOP, "-sc_threshold", 0]
    command = ["ffmpeg", "-v", "error", *RAW, "-s", f"{WIDTH}x{HEIGHT}", "-r", 25, "-i", "-", *x264, path]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE) as made:
        for first in range(0, FRAMES, 1500):
            cells = np.arange(first, first + 1500)[:, None] >> np.arange(CELLS) & 1
            top = np.kron(cells.reshape(-1, 3, 8), np.ones((8, 8), int)) * 160 + 40
            noise = rng.integers(96, 160, (1500, HEIGHT, WIDTH))
            noise[:, : HEIGHT // 2] = top
            planes = np.full((1500, HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            planes[:, :HEIGHT] = noise
            made.stdin.write(planes.tobytes())
    assert made.returncode == 0
    return path


@pytest.fixture(scope="module")
def frames(film):
    """What the command decodes, one after the other."""
    raw = film.with_suffix(".yuv")
    ffmpeg("-i", film, *RAW, raw)
    mapped = np.memmap(raw, np.uint8, "r").reshape(-1, HEIGHT * 3 // 2, WIDTH)
    raw.unlink()
    assert len(mapped) == FRAMES
    return mapped


@pytest.fixture(scope="module")
def packets(film):
    """Each packet's size, GOP by GOP, as ffprobe has them, and the size of the index."""
    probe = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0", film]
    sizes = np.array(subprocess.run(probe, check=True, capture_output=True).stdout.split(), int).reshape(-1, GOP)
    data = film.read_bytes()
    return sizes, int.from_bytes(data[(at := data.rindex(b"moov") - 4) : at + 4], "big")


def test_frames_of_an_hour(film, frames):
    """By all cores, by one decoder, and one alone: the command's bytes, and the numbers that were drawn."""
    spread = hr.io.load_video(film, 768, color="yuv420")
    assert np.array_equal(spread, frames[SPREAD])
    assert np.array_equal(numbers(spread), SPREAD)
    with hr.files([str(film)], content=False).decode_video(768, color="yuv420").loader(epochs=1) as loader:
        (same,) = [np.array_equal(sample["video"], spread) for sample in loader]
    assert same
    for n in (FRAMES // 2 + 7, 0, FRAMES - 1):
        assert np.array_equal(hr.io.load_video(film, [n], color="yuv420"), frames[[n]])
    middle = hr.io.load_video(film, start=MINUTES * 30, duration=1.6, color="yuv420")
    assert np.array_equal(numbers(middle), np.arange(FRAMES // 2, FRAMES // 2 + 40))


def numbers(planes):
    """Which frames these are, by what is drawn in them."""
    cells = planes[:, : HEIGHT // 2].reshape(len(planes), 3, 8, 8, 8).mean((2, 4)) > 120
    return cells.reshape(len(planes), CELLS) @ (1 << np.arange(CELLS))


def test_a_window_of_an_hour_reads_its_packets_alone(film, packets):
    sizes, index = packets
    hr.io.video_info(film)
    for first, n in ((FRAMES // 2 + 3, 32), (GOP * 7 + 240, 20), (FRAMES - 9, 9)):
        before = read()
        got = hr.io.load_video(film, range(first, first + n), color="yuv420")
        took = read() - before
        assert np.array_equal(numbers(got), np.arange(first, first + n))
        wanted = index + sizes[first // GOP : (first + n - 1) // GOP + 1].sum()
        assert sizes[first // GOP].sum() / 10 < took <= wanted + 3 * BLOCK, f"{n} frames from {first}: the index has {index}"
        assert wanted < film.stat().st_size / 8


def read():
    """How many bytes the engine has read so far."""
    return int(engine("io").split()[1])


def resident():
    return int(engine("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def engine(what):
    (pid,) = engines()
    return Path(f"/proc/{pid}/{what}").read_text()


def test_memory_stays_flat_over_an_hour(film):
    """Of the film piece by piece, and of windows anywhere in it."""
    with hr.io.stream_video(film, 150) as stream:
        seen = [(numbers(piece[..., 1]), resident()) for piece in stream]
    assert np.array_equal(np.concatenate([n for n, _ in seen]), np.arange(FRAMES))
    garbage = 32 << 20  # that the engine's collector may leave, as serve/ballast.go has it
    assert max(r for _, r in seen[len(seen) // 4 :]) < max(r for _, r in seen[: len(seen) // 4]) + garbage + (8 << 20)

    def windows(rng):
        for first in rng.integers(0, FRAMES - 16, 100):
            assert numbers(hr.io.load_video(film, range(first, first + 16), color="yuv420"))[0] == first

    windows(np.random.default_rng(2))
    before = resident()
    windows(np.random.default_rng(3))
    assert resident() < before + garbage + (16 << 20)

"""The engine's memory stays bounded by `memory=`, whatever images are given."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from PIL import Image

import headrace as hr
from conftest import engines, photo

MIB = 1 << 20
BUDGET = 32
SIZE = (2820, 2000)  # decoded, more than the 16 MiB of which pieces are kept from one image to the next
# Else the engine has its code, the runtime and its tables, and for each core kept
# pieces of up to 16 MiB.
BESIDE = 24 + 16 * len(os.sched_getaffinity(0))

# How many bytes a pixel the engine may take to decode and resize one, besides the file,
# and how they are written.
FORMATS = {
    "jpg": (1, {"quality": 90}),
    "progressive.jpg": (4.5, {"quality": 90, "progressive": True}),
    "png": (4, {"compress_level": 1}),
    "webp": (8, {"method": 0}),
    "lossless.webp": (8, {"lossless": True, "method": 0, "quality": 0}),
    "bmp": (4, {}),
    "gif": (4, {}),
    "avif": (13, {"speed": 10, "quality": 50}),
    "tiff": (4, {"strip_size": 1 << 30}),
    "lzw.tiff": (4, {"strip_size": 1 << 30, "compression": "tiff_lzw"}),
}


@pytest.fixture(scope="module")
def large() -> Image.Image:
    return photo(1, 400, 250).resize(SIZE)


def peak() -> int:
    """The most memory that the one engine had so far, in MiB."""
    (engine,) = engines()
    return int(re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{engine}/status").read_text())[1]) >> 10


def no_engine() -> None:
    hr.io.close()
    until = time.monotonic() + 30
    while engines() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.parametrize("name", FORMATS)
def test_peak_of_the_engine(large: Image.Image, tmp_path: Path, name: str):
    a_pixel, options = FORMATS[name]
    path = str(tmp_path / f"a.{name}")
    (large.convert("L") if name == "gif" else large).save(path, **options)
    one = (SIZE[0] * SIZE[1] * a_pixel + os.path.getsize(path)) / MIB

    no_engine()
    with hr.files([path] * 3).decode_image().resize((224, 224)).batch(3).loader(epochs=1, memory=BUDGET * MIB, workers=3) as loader:
        assert sum(len(batch["image"]) for batch in loader) == 3
        loaded = peak()
    no_engine()
    hr.io.load_image_batch([path] * 2, 224, 224)
    read = peak()
    no_engine()

    print(f"{name}: {one:.0f} MiB each, {loaded} in a loader, {read} for two in headrace.io")  # noqa: T201
    assert loaded < max(BUDGET, one) + BESIDE, "at most the budget, or one that exceeds it alone"
    assert read < 2 * one + 24 + 16, "two, beside the engine, and nothing that reading them has outgrown"

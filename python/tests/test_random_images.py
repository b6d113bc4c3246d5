"""Thousands of random images decode to Pillow's pixels, from bytes, from a file and in a pipeline alike."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import headrace as hr
from conftest import cases
from made_images import EXTENSIONS, made

# How far two builds of one lossy decoder may be apart.
LEVELS = {"WEBP": 1, "AVIF": 2}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    hr.io.close()


def pillows(data: bytes) -> np.ndarray:
    """RGB. Of 16 bits in gray, Pillow's convert cuts off what is above 255; Headrace keeps the upper 8 bits."""
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I"):
            return np.repeat((np.asarray(upright) >> 8).astype(np.uint8)[:, :, None], 3, axis=2)
        return np.asarray(upright.convert("RGB"))


@pytest.mark.filterwarnings("ignore:Palette images with Transparency")
@pytest.mark.parametrize("seed", range(cases(1, 30)))
def test_random_images(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    want = {}
    for i in range(150):
        form, data = made(draw)
        path = tmp_path / f"{i:03}.{EXTENSIONS[form]}"
        path.write_bytes(data)
        want[str(path)] = form, pillows(data)
        loaded = hr.io.load_image(data)
        far = np.abs(loaded.astype(int) - want[str(path)][1]).max() if loaded.shape == want[str(path)][1].shape else loaded.shape
        assert far == 0 or far <= LEVELS.get(form, 0), f"seed {seed}, {path.name}: {far} from Pillow's {want[str(path)][1].shape}"
        np.testing.assert_array_equal(hr.io.load_image(path), loaded, err_msg=f"seed {seed}, {path.name}: a path, and its bytes")
        want[str(path)] = form, loaded

    with hr.files(tmp_path).decode_image().loader(epochs=1) as loader:
        came = {sample["key"]: sample["image"].copy() for sample in loader}
    assert came.keys() == want.keys()
    for key, image in came.items():
        np.testing.assert_array_equal(image, want[key][1], err_msg=f"seed {seed}, {key}: in a pipeline, and alone")

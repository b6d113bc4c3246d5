"""Contact sheets: what `headrace preview` draws, beside what the client gets and what Pillow makes of the same files."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import v2 as transforms

import headrace as hr
from conftest import ROOT, photo

ENGINE = ROOT / "python/src/headrace/_bin/headrace"
MARGIN, GAP = 16, 12
SIDE = 80


@pytest.fixture
def pictures(tmp_path):
    """Without loss, so that decoders cannot differ."""
    for i in range(6):
        folder = tmp_path / "data" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        photo(i, 100 + 20 * i, 160 - 10 * i).save(folder / f"{i}.png")
    return tmp_path / "data"


def sheet(tmp_path, steps, *options) -> np.ndarray:
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"headrace": 1, "steps": [*steps, {"batch": {"size": 4}}]}))
    out = tmp_path / "sheet.png"
    subprocess.run([ENGINE, "preview", recipe, "-o", out, "--columns", "6", *options], check=True, capture_output=True)
    with Image.open(out) as image:
        assert image.mode == "RGB"
        return np.asarray(image).astype(int)


def tiles(sheet: np.ndarray, first: np.ndarray, side: int, count: int = 6) -> list[np.ndarray]:
    """The tiles of the one row, whose place below the header is where the first one is."""
    row = sheet[:, MARGIN : MARGIN + side]
    far = [np.abs(row[y : y + side] - first).max() for y in range(len(sheet) - side)]
    top = int(np.argmin(far))
    return [sheet[top : top + side, MARGIN + i * (side + GAP) :][:, :side] for i in range(count)]


def test_tiles_are_what_the_client_gets_and_what_pillow_makes(tmp_path, pictures):
    steps = [{"files": {"pattern": str(pictures)}}, "decode_image", {"resize": {"size": 96}}, {"center_crop": {"size": SIDE}}]
    numbers = [{"normalize": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3]}}, {"layout": {"layout": "NCHW"}}]
    with hr.files(pictures).decode_image().resize(96).center_crop(SIDE).batch(6).loader(epochs=1) as loader:
        batch = next(iter(loader))
    ours = batch["image"].astype(int)
    pillows = transforms.Compose([transforms.Resize(96), transforms.CenterCrop(SIDE)])
    large = np.repeat(np.repeat(ours, 2, axis=1), 2, axis=2)  # each pixel a square
    drawn = tiles(sheet(tmp_path, steps + numbers, "--tile", str(2 * SIDE)), large[0], 2 * SIDE)
    for tile, mine, key in zip(drawn, large, batch["key"], strict=True):
        assert np.array_equal(tile, mine)
        with Image.open(key) as image:
            assert np.abs(tile[::2, ::2] - np.asarray(pillows(image)).astype(int)).max() <= 1


def test_small_tiles_are_scaled_down_as_pillow_does(tmp_path, pictures):
    steps = [{"files": {"pattern": str(pictures)}}, "decode_image", {"center_crop": {"size": SIDE}}]
    with hr.files(pictures).decode_image().center_crop(SIDE).batch(6).loader(epochs=1) as loader:
        images = [Image.fromarray(image) for image in next(iter(loader))["image"]]
    small = [np.asarray(image.resize((33, 33), Image.Resampling.BILINEAR)).astype(int) for image in images]
    drawn = tiles(sheet(tmp_path, steps, "--tile", "33"), small[0], 33)
    for tile, want in zip(drawn, small, strict=True):
        assert np.array_equal(tile, want)

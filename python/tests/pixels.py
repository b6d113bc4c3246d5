"""Images to load, and what to compare them with."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import headrace as hr
from conftest import photo

SIZES = [(301, 200), (200, 301), (64, 64), (500, 333), (97, 463), (640, 64), (33, 31), (224, 224)]


def write(folder: Path, sizes: list[tuple[int, int]], **options: Any) -> list[Path]:
    """JPEG files of some sizes, (width, height) each."""
    paths = []
    for i, (width, height) in enumerate(sizes):
        path = folder / f"{i}.jpg"
        photo(i, width, height).save(path, quality=93, **options)
        paths.append(path)
    return paths


def load(description: hr.Pipeline, **options: Any) -> list[Any]:
    """One epoch's images, one by one."""
    with description.batch(1).loader(epochs=1, **options) as loader:
        return [batch["image"][0].copy() if isinstance(batch["image"], np.ndarray) else batch["image"][0].clone() for batch in loader]


def opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
        return image.copy()


@functools.cache
def decoded(path: Path, **options: Any) -> np.ndarray:
    """The engine's own decode of one file: a crop of exactly its size.

    Pillow brings a libjpeg-turbo of its own, whose decode may differ by a level or two in a few pixels: so what is done to an
    image is compared on this one.
    """
    width, height = opened(path).size
    image: np.ndarray = load(hr.files([path]).decode_image(orient=False, **options).center_crop((height, width)))[0]
    return image


def picture(array: np.ndarray) -> Image.Image:
    """Pillow's image of an array [height, width, channels]."""
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)


def pixels(image: Image.Image) -> np.ndarray:
    """The array [height, width, channels] of Pillow's image."""
    array = np.asarray(image)
    return array[..., None] if array.ndim == 2 else array


def difference(a: np.ndarray, b: np.ndarray) -> float:
    assert a.shape == b.shape
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max())

"""A transform that is written in Python, with Pillow, as a step: blurs and posterizes images, in worker processes.

Usage: python own_transform.py FOLDER [SHEET.png]
"""

import sys
import time

import headrace as hr
import numpy as np
from PIL import Image, ImageFilter, ImageOps


def paint(image, rng):
    """An image as if it were painted: uint8 [height, width, 3] to the same. The same image is painted alike in each run."""
    picture = Image.fromarray(image).filter(ImageFilter.GaussianBlur(rng.uniform(0, 3)))
    return ImageOps.posterize(picture, int(rng.integers(2, 6)))


def to_numbers(batch):
    """What a model takes. This is done in this process, for a whole batch."""
    return batch["image"].astype(np.float32) / 255, batch["label"]


def main(folder, sheet=None):
    photographs = hr.files(folder, label="parent", seed=1).shuffle().decode_image().random_resized_crop(128).random_flip()
    painted = photographs.map(paint, fields="image", workers=2).batch(16)
    began = time.perf_counter()
    with painted.map(to_numbers, where="main").loader(epochs=1) as loader:
        pixels = [float(images.mean()) for images, labels in loader]
        print(f"{len(pixels)} batches, {16 * len(pixels) / (time.perf_counter() - began):.0f} images per second")
        print(loader.stats())
    if sheet is not None:
        with painted.loader(epochs=1) as loader:
            rows = next(iter(loader))["image"].reshape(2, 8, 128, 128, 3)
            Image.fromarray(np.concatenate([np.concatenate(row, axis=1) for row in rows])).save(sheet)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Draws what each random operation makes of one image: a row an operation, a column an epoch.

Usage: python augmentations.py PHOTOGRAPH SHEET.png
"""

import sys

import headrace as hr
import numpy as np
from PIL import Image

COLUMNS = 8


def main(photograph, sheet):
    start = hr.files([photograph]).decode_image().resize(160)
    crop = start.center_crop(144)
    rows = [
        crop,
        start.random_crop(144),
        start.random_resized_crop(144),
        crop.random_flip(),
        crop.random_rotate90(),
        crop.color_jitter(brightness=0.5),
        crop.color_jitter(contrast=0.7),
        crop.color_jitter(saturation=0.9),
        crop.color_jitter(hue=0.3),
        crop.random_grayscale(0.5),
        start.pad(24, fill=(90, 90, 90)).random_crop(144),
        start.random_resized_crop(144).random_flip().color_jitter(0.4, 0.4, 0.4, 0.1).random_grayscale(0.1),
    ]
    for row in rows:
        print(repr(row).replace("\n    ", "").partition("decode_image().")[2])
    Image.fromarray(np.concatenate([np.concatenate(pictures(row), axis=1) for row in rows])).save(sheet)


def pictures(row):
    """The image in each of some epochs."""
    with row.batch(1).loader(epochs=COLUMNS) as loader:
        return [batch["image"][0].copy() for _ in range(COLUMNS) for batch in loader]


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Makes the pictures of the guide's page Augmentations: for each step three draws of one image, and the table that shows them.

    .venv/bin/python scripts/docs/augmentations.py

It writes docs/guide/augmentations/*.webp, and the table between the page's two comments.
"""

from __future__ import annotations

import pathlib
import sys

import headrace as hr
import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/augmentations.md"
SIZE = (84, 112)
DRAWS = 3

STEPS = {
    "rotate": "rotate(20)",
    "random_rotation": "random_rotation(30)",
    "affine": "affine(15, (10, 5), 0.8, (10, 0))",
    "random_affine": "random_affine(20, (0.1, 0.1), (0.7, 1.2), 10)",
    "perspective": "perspective([[0, 0], [111, 0], [111, 83], [0, 83]], [[15, 10], [100, 0], [111, 83], [5, 70]])",
    "random_perspective": "random_perspective(0.5, 1.0)",
    "elastic": "elastic(120.0)",
    "random_zoom_out": "random_zoom_out(114, (1, 2), 1.0)",
    "random_resized_crop": "random_resized_crop((84, 112), scale=(0.2, 1))",
    "random_erasing": 'random_erasing(1.0, value="random")',
    "cutout": "cutout(40, p=1.0)",
    "grid_mask": "grid_mask((20, 40), p=1.0)",
    "posterize": "posterize(2)",
    "solarize": "solarize(128)",
    "invert": "invert()",
    "equalize": "equalize()",
    "autocontrast": "autocontrast()",
    "adjust_gamma": "adjust_gamma(0.5)",
    "random_channel_permutation": "random_channel_permutation()",
    "color_jitter": "color_jitter(0.6, 0.6, 0.6, 0.2)",
    "random_photometric_distort": "random_photometric_distort()",
    "gaussian_blur": "gaussian_blur(9, (0.5, 3.0))",
    "pillow_gaussian_blur": "pillow_gaussian_blur((0.5, 3.0))",
    "adjust_sharpness": "adjust_sharpness(4)",
    "gaussian_noise": "gaussian_noise(sigma=0.15)",
    "jpeg": "jpeg((2, 20))",
    "rand_augment": "rand_augment()",
    "trivial_augment": "trivial_augment()",
    "auto_augment": "auto_augment()",
    "augmix": "augmix(10)",
}


def main() -> None:
    folder = PAGE.with_suffix("")
    folder.mkdir(exist_ok=True)
    image = np.asarray(photograph().resize(SIZE[::-1]))
    source = hr.source([{"image": image}] * DRAWS, gives={"image": ("uint8", (*SIZE, 3))}, seed=5)
    for name, step in STEPS.items():
        pipeline = eval(f"source.{step}", {"source": source})  # what the page shows
        with pipeline.resize(SIZE).batch(DRAWS).loader(epochs=1) as loader:
            (batch,) = [np.array(batch["image"]) for batch in loader]
        Image.fromarray(np.concatenate(list(batch), 1)).save(folder / f"{name}.webp", quality=60, method=6)
    rows = [f"| `{step}` | ![](augmentations/{name}.webp) |" for name, step in STEPS.items()]
    table = "\n".join(["| step | three draws |", "|---|---|", *rows])
    begin, end = "<!-- pictures -->", "<!-- end of pictures -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}")


def photograph() -> Image.Image:
    """A tile of the sheet that the README shows: the repository has no other."""
    with Image.open(ROOT / "docs/guide/sheet.webp") as sheet:
        return sheet.convert("RGB").crop((532, 129, 692, 249))


if __name__ == "__main__":
    sys.exit(main())

"""Loads a folder of images as a training loop does, shows how fast, and has one batch drawn for a person to look at.

Usage: python demo.py FOLDER SHEET.png
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time

import headrace as hr

EPOCHS = 10


def main(folder: str, sheet: str) -> None:
    loader = (
        hr.files(folder, label="parent")
        .shuffle(seed=0)
        .decode_image()
        .random_resized_crop(224)
        .random_flip(0.5)
        .batch(32)
        .loader(epochs=EPOCHS)
    )
    # The engine is at work from here on; these imports are not in its way.
    from tqdm import tqdm

    images, begun = 0, time.perf_counter()
    with loader, tqdm(total=EPOCHS * len(loader), unit=" batches", desc=f"{EPOCHS} epochs") as progress:
        for _ in range(EPOCHS):
            for batch in loader:
                images += len(batch["image"])
                progress.update()
    seconds = time.perf_counter() - begun

    print(f"\n{images:,} images in {seconds:.2f} s: {images / seconds:,.0f} images per second\n")
    print(loader.stats())

    recipe = pathlib.Path(sheet).resolve().with_suffix(".yaml")
    recipe.write_text(loader.recipe())
    command = [hr.version_info()["program"], "preview", recipe, "-o", sheet, "-n", "32", "--columns", "8"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"\nOne augmented batch, to look at: {pathlib.Path(sheet).resolve()}\nThe pipeline, as a file: {recipe}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""Loads a folder of photographs as a training loop does, shows how fast, and draws one batch for a person to look at.

Usage: python demo.py FOLDER SHEET.png
"""

from __future__ import annotations

import pathlib
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

    images, first, begun = 0, None, time.perf_counter()
    with loader, tqdm(total=EPOCHS * len(loader), unit=" batches", desc=f"{EPOCHS} epochs") as progress:
        for _ in range(EPOCHS):
            for batch in loader:
                if first is None:
                    first = batch
                images += len(batch["image"])
                progress.update()
    seconds = time.perf_counter() - begun

    print(f"\n{images:,} images in {seconds:.2f} s: {images / seconds:,.0f} images per second\n")
    print(loader.stats())
    draw_sheet(first, loader.classes, pathlib.Path(sheet))
    print(f"\nOne augmented batch, to look at: {pathlib.Path(sheet).resolve()}")


def draw_sheet(batch, classes: list[str], path: pathlib.Path, columns: int = 8) -> None:
    """Writes all images of a batch into one picture, each with its label and key below it."""
    from PIL import Image, ImageDraw

    tile, text, gap = batch["image"].shape[1], 34, 10
    rows = -(-len(batch["image"]) // columns)
    sheet = Image.new("RGB", (gap + columns * (tile + gap), gap + rows * (tile + text + gap)), (24, 26, 30))
    draw = ImageDraw.Draw(sheet)
    for i, (image, label, key) in enumerate(zip(batch["image"], batch["label"], batch["key"], strict=True)):
        x, y = gap + i % columns * (tile + gap), gap + i // columns * (tile + text + gap)
        sheet.paste(Image.fromarray(image), (x, y))
        draw.text((x, y + tile + 3), f"{label}  {classes[label]}", fill=(240, 240, 240))
        draw.text((x, y + tile + 17), pathlib.Path(key).name, fill=(150, 155, 165))
    sheet.save(path)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

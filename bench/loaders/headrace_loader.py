"""Headrace, as its README shows it."""

import headrace as hr


def batches(work, files, workers):
    images = hr.files(files).decode_image()
    if work == "val":
        images = images.resize(256).center_crop(224)
    else:
        images = images.random_resized_crop(224).random_flip(0.5)
    with images.batch(32).loader(epochs=1, workers=workers or None) as loader:
        for batch in loader:
            yield batch["image"]

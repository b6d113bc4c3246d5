"""What the tests of functions share: images, their samples in plain Python, and what comes out of a pipeline."""

from __future__ import annotations

import numpy as np
from PIL import Image

import headrace as hr

COUNT = 22


def make_pictures(folder):
    """Images without loss, of 48 x 40 pixels, which Pillow and the engine decode to the same bytes."""
    for i in range(COUNT):
        pixels = np.random.default_rng(i).integers(0, 256 - 6 * i, (48, 40, 3), dtype=np.uint8)
        path = folder / ["ant", "bee"][i % 2] / f"{i:02d}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(path)
    return folder


def plain(folder):
    """The samples, as plain Python has them."""
    paths = sorted(folder.rglob("*.png"))
    return [{"image": np.asarray(Image.open(path)), "label": int(path.parent.name == "bee"), "key": str(path)} for path in paths]


def images(folder, shuffle=False, **options):
    files = hr.files(folder, label="parent", **options)
    return (files.shuffle() if shuffle else files).decode_image().center_crop((48, 40))


def rows(pipeline, epochs=1, size=4, **options):
    """The samples that come out, one by one."""
    got = []
    with pipeline.batch(size).loader(epochs=epochs, **options) as loader:
        for _ in range(epochs):
            for batch in loader:
                got += [{name: values[i] for name, values in batch.items()} for i in range(len(next(iter(batch.values()))))]
    return got


def taken(batch):
    """A batch, or a sample, as something that compares and outlives the loader."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in batch.items()}


def assert_alike(got, want):
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert set(one) - {"key"} == set(other) - {"key"}
        for name in set(one) & set(other):
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)

"""Five and ten crops of an image, and smoothed labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

RANDOM = np.random.default_rng(8)


def made(pipeline, name="image"):
    with pipeline.loader(epochs=1) as loader:
        return np.array(next(iter(loader))[name])


def source(height, width, channels=3, dtype=np.uint8):
    image = RANDOM.integers(0, 256, (height, width, channels)).astype(dtype)
    return image, hr.source([{"image": image}], gives={"image": (image.dtype.name, image.shape)})


@pytest.mark.parametrize(("form", "size"), [((12, 16, 3), (12, 16)), ((13, 17, 1), 1), ((15, 16, 4), (5, 9))])
def test_crops_are_torchvisions(form, size):
    image, pipeline = source(*form)
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    for got, theirs in (
        (pipeline.five_crop(size), v2.FiveCrop(size)),
        (pipeline.ten_crop(size), v2.TenCrop(size)),
        (pipeline.ten_crop(size, vertical_flip=True), v2.TenCrop(size, vertical_flip=True)),
    ):
        want = torch.stack(theirs(tensor)).permute(0, 2, 3, 1).numpy()
        assert np.array_equal(made(got), want)
    assert made(got.batch(1)).shape == (1, *want.shape)


def test_after_normalize_and_layout():
    image, pipeline = source(12, 16)
    floats = pipeline.normalize(0.5, (0.1, 0.2, 0.3)).layout("NCHW")
    tensor = torch.from_numpy(made(floats))
    assert np.array_equal(made(floats.ten_crop(7)), torch.stack(v2.TenCrop(7)(tensor)).numpy())
    image, pipeline = source(9, 9, dtype=np.uint16)
    assert np.array_equal(made(pipeline.five_crop(9)), np.stack([image] * 5))


def test_what_does_not_fit():
    _, pipeline = source(12, 16)
    with pytest.raises(hr.RecipeError, match=r"size is \[13, 13\], but the images are 16×12 pixels"):
        pipeline.five_crop(13).loader()
    with pytest.raises(hr.RecipeError, match="size"):
        pipeline.ten_crop(0).loader()
    with pytest.raises(hr.RecipeError, match="random_flip"):
        pipeline.five_crop(3).random_flip().loader()
    image = np.zeros((12, 16, 3), np.uint8)
    unsized = hr.source([{"image": image}], gives={"image": ("uint8", (None, None, 3))})
    with pytest.raises(hr.SampleError, match="crops of 5×13 pixels do not fit into an image of 16×12: resize before them"):
        made(unsized.five_crop((13, 5)))


def test_smoothing():
    labels = hr.source([{"label": 2}], gives={"label": ("int64", ())})
    assert np.allclose(made(labels.one_hot("label", 5, smoothing=0.1), "label"), [0.02, 0.02, 0.92, 0.02, 0.02])
    assert np.array_equal(made(labels.one_hot("label", 3), "label"), [0, 0, 1])
    with pytest.raises(hr.RecipeError, match="smoothing is 2: must be from 0 to 1"):
        labels.one_hot("label", 3, smoothing=2).loader()

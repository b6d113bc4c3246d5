"""What batches consist of: dtypes and layouts in NumPy and PyTorch, over one memory."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest
import torch

import headrace as hr
from conftest import files_of

pytestmark = pytest.mark.usefixtures("one_engine")


def description(folder, dtype=None, layout="NCHW", **options):
    images = hr.files(files_of(folder)[:8]).decode_image(**options).center_crop((20, 24))
    if dtype is not None:
        images = images.normalize(0.5, 0.25, dtype)
    return images.layout(layout).batch(4)


def first(loader):
    with loader:
        return next(iter(loader))["image"]


@pytest.fixture
def without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("layout", "shape"), [("NHWC", (20, 24, 3)), ("NCHW", (3, 20, 24))])
def test_floating_point(photos, dtype, layout, shape):
    with description(photos, dtype, layout).loader(epochs=1) as loader:
        assert loader.schema["image"] == hr.Field("tensor", dtype, shape)
        assert f"image: {dtype} [{', '.join(map(str, shape))}]" in repr(loader)
        for batch in loader:
            assert batch["image"].dtype == dtype
            assert batch["image"].shape == (4, *shape)
            assert batch["image"].__array_interface__["data"][0] % 64 == 0
    tensor = first(description(photos, dtype, layout).to("torch").loader(epochs=1))
    assert tensor.dtype == getattr(torch, dtype)
    assert tensor.shape == (4, *shape)
    assert tensor.is_contiguous()


def test_numbers_of_every_dtype(photos):
    """The shorter types are float32's numbers, rounded to the nearest."""
    wide = first(description(photos, "float32").loader(epochs=1))
    assert (first(description(photos, "float16").loader(epochs=1)) == wide.astype(np.float16)).all()
    assert (first(description(photos, "bfloat16").loader(epochs=1)) == wide.astype(ml_dtypes.bfloat16)).all()


def test_bfloat16_with_ml_dtypes(photos):
    with description(photos, "bfloat16").loader(epochs=2) as loader:
        assert loader.schema["image"].dtype == "bfloat16"
        assert {batch["image"].dtype for batch in loader} == {np.dtype(ml_dtypes.bfloat16)}
        assert {batch["image"].dtype for batch in loader.to("torch")} == {torch.bfloat16}


def test_bfloat16_without_ml_dtypes(photos, without_ml_dtypes):
    """The same bytes, as whole numbers; the schema says what they are; nobody is warned, which would be an error here."""
    with description(photos, "bfloat16").loader(epochs=1) as loader:
        assert loader.schema["image"].dtype == "bfloat16"
        array = next(iter(loader))["image"]
    assert array.dtype == np.uint16
    tensor = torch.from_numpy(array).view(torch.bfloat16)
    wide = torch.from_numpy(first(description(photos, "float32").loader(epochs=1)))
    assert torch.equal(tensor, wide.to(torch.bfloat16))


@pytest.mark.parametrize("absent", [False, True])
def test_bfloat16_in_torch(photos, absent, monkeypatch):
    if absent:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    tensor = first(description(photos, "bfloat16").to("torch").loader(epochs=1))
    wide = first(description(photos, "float32").to("torch").loader(epochs=1))
    assert tensor.dtype == torch.bfloat16
    assert torch.equal(tensor, wide.to(torch.bfloat16))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tensors_lie_in_the_batch_and_keep_it_alive(photos, dtype):
    with description(photos, dtype).to("torch").loader(epochs=1) as loader:
        tensor = next(iter(loader))["image"]
    kept = tensor.clone()
    assert tensor.data_ptr() % 64 == 0
    assert torch.equal(tensor, kept), "it lives on after the loader"


def test_sixteen_bits(photos):
    images = hr.files(files_of(photos)[:4]).decode_image(dtype="uint16").center_crop(20).batch(4)
    array = first(images.loader(epochs=1))
    tensor = first(images.to("torch").loader(epochs=1))
    narrow = first(hr.files(files_of(photos)[:4]).decode_image().center_crop(20).batch(4).loader(epochs=1))
    assert array.dtype == np.uint16
    assert tensor.dtype == torch.uint16
    assert (array == narrow.astype(np.uint16) * 257).all()
    assert (tensor.numpy() == array).all()


def test_sixteen_bits_in_an_old_torch(photos, monkeypatch):
    monkeypatch.delattr(torch, "uint16")
    images = hr.files(files_of(photos)[:4]).decode_image(dtype="uint16").center_crop(20).batch(4)
    with pytest.raises(hr.RecipeError, match=r"has no uint16, which came with 2\.3"):
        images.to("torch").loader(epochs=1)
    with images.loader(epochs=1) as loader:
        with pytest.raises(hr.RecipeError, match="has no uint16"):
            loader.to("torch")
        assert next(iter(loader))["image"].dtype == np.uint16


@pytest.mark.parametrize("color", ["rgb", "rgba", "gray"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_channels(photos, color, layout):
    channels = {"rgb": 3, "rgba": 4, "gray": 1}[color]
    images = hr.files(files_of(photos)[:4]).decode_image(color=color).center_crop((20, 24)).layout(layout).batch(4)
    shape = (4, 20, 24, channels) if layout == "NHWC" else (4, channels, 20, 24)
    assert first(images.loader(epochs=1)).shape == shape


def test_batches_may_be_written_to(photos):
    with description(photos, "bfloat16").loader(epochs=1) as loader:
        array = next(iter(loader))["image"]
        array[0] = 1
        assert (array[0] == 1).all()

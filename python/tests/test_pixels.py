"""The pixels, beside Pillow's and torchvision's.

Pillow brings a libjpeg-turbo of its own, and its decode may differ from the engine's by a level or two in a few pixels. So
resizing is compared on the engine's own decode: an epoch without resizing gives it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2 as transforms

import headrace as hr
from conftest import photo
from pixels import SIZES, decoded, difference, load, opened, write

pytestmark = pytest.mark.usefixtures("one_engine")


def exif_transposed(path) -> Image.Image:
    with Image.open(path) as image:
        return ImageOps.exif_transpose(image)


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_decoding(tmp_path, subsampling):
    for path in write(tmp_path, SIZES, subsampling=subsampling):
        ours, pillows = decoded(path), np.asarray(opened(path))
        assert difference(ours, pillows) <= 2
        assert (ours != pillows).mean() < 0.01


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:0"])
@pytest.mark.parametrize(("size", "crop"), [(256, 224), (64, 64), (48, 33), (300, 301), (31, 17)])
def test_resize_and_crop(tmp_path, size, crop, subsampling):
    """torchvision's sizes and offsets, Pillow's resampling: within one level on the same decode."""
    paths = write(tmp_path, SIZES, subsampling=subsampling)
    reference = transforms.Compose([transforms.Resize(size, InterpolationMode.BILINEAR), transforms.CenterCrop(crop)])
    for path, ours in zip(paths, load(hr.files(paths).decode_image().resize(size).center_crop(crop))):
        assert difference(ours, np.asarray(reference(Image.fromarray(decoded(path))))) <= 1, path


def test_max_size_and_exact_sizes(tmp_path):
    paths = write(tmp_path, SIZES)
    limited = transforms.Compose([transforms.Resize(100, max_size=120), transforms.CenterCrop(40)])
    for path, ours in zip(paths, load(hr.files(paths).decode_image().resize(100, max_size=120).center_crop(40))):
        assert difference(ours, np.asarray(limited(Image.fromarray(decoded(path))))) <= 1, path
    exact = transforms.Resize((60, 90))
    for path, ours in zip(paths, load(hr.files(paths).decode_image().resize((60, 90)))):
        assert difference(ours, np.asarray(exact(Image.fromarray(decoded(path))))) <= 1, path


def test_a_crop_larger_than_the_image_is_padded_with_black(tmp_path):
    paths = write(tmp_path, [(33, 31), (20, 100)])
    reference = transforms.CenterCrop(64)
    for path, ours in zip(paths, load(hr.files(paths).decode_image().center_crop(64))):
        assert difference(ours, np.asarray(reference(Image.fromarray(decoded(path))))) == 0


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "turned.jpg"
    photo(1, 150, 100).save(path, quality=93, exif=exif, subsampling="4:4:4")
    ours = load(hr.files([path]).decode_image().resize(80).center_crop((70, 75)))[0]
    upright = exif_transposed(path)
    reference = transforms.Compose([transforms.Resize(80), transforms.CenterCrop((70, 75))])
    assert difference(ours, np.asarray(reference(upright))) <= 2
    as_stored = load(hr.files([path]).decode_image(orient=False).resize(80).center_crop((70, 75)))[0]
    assert difference(as_stored, np.asarray(reference(opened(path)))) <= 2


@pytest.mark.parametrize("mode", ["grey", "progressive", "cmyk"])
def test_kinds_of_jpeg(tmp_path, mode):
    path = tmp_path / "a.jpg"
    picture = photo(3, 120, 90)
    if mode == "grey":
        picture.convert("L").save(path)
    elif mode == "progressive":
        picture.save(path, progressive=True, quality=93)
    else:
        picture.convert("CMYK").save(path, quality=93)
    description = hr.files([path]).decode_image().center_crop((90, 120))
    assert difference(load(description)[0], np.asarray(opened(path).convert("RGB"))) <= 2


def test_random_crops_are_crops(tmp_path):
    """What random_resized_crop gives is some resized part of the image: its colours come from there, and it differs by epoch."""
    y, x = np.mgrid[0:200, 0:200]
    ramp = np.stack([x, y, np.full_like(x, 128)], axis=-1).astype(np.uint8)
    path = tmp_path / "ramp.png.jpg"
    Image.fromarray(ramp).save(path, "jpeg", quality=100, subsampling="4:4:4")
    with hr.files([path]).decode_image().random_resized_crop(64, scale=(0.2, 0.5)).batch(1).loader(epochs=40) as loader:
        crops = [batch["image"][0].astype(int) for _ in range(40) for batch in loader]
    areas = []
    for crop in crops:
        left, right = crop[:, 0, 0].mean(), crop[:, -1, 0].mean()
        top, bottom = crop[0, :, 1].mean(), crop[-1, :, 1].mean()
        width, height = (right - left) * 64 / 63, (bottom - top) * 64 / 63
        assert width > 0
        assert height > 0
        assert 0.74 < width / height < 1.36
        areas.append(width * height / 200**2)
        rows = np.abs(np.diff(crop[32, :, 0]))
        assert rows.max() <= 5, "columns are resampled evenly"
    assert 0.18 < min(areas) < 0.3
    assert 0.4 < max(areas) < 0.53
    assert len({c.tobytes() for c in crops}) == 40


def test_random_flips(tmp_path):
    paths = write(tmp_path, [(50, 40)] * 64)
    plain = load(hr.files(paths).decode_image().center_crop(40))
    flipped = load(hr.files(paths).decode_image().center_crop(40).random_flip(0.5))
    always = load(hr.files(paths).decode_image().center_crop(40).random_flip(1.0))
    never = load(hr.files(paths).decode_image().center_crop(40).random_flip(0.0))
    assert all((a[:, ::-1] == p).all() for a, p in zip(always, plain))
    assert all((n == p).all() for n, p in zip(never, plain))
    turned = [(f == p[:, ::-1]).all() for f, p in zip(flipped, plain)]
    assert all(t or (f == p).all() for t, f, p in zip(turned, flipped, plain))
    assert 18 <= sum(turned) <= 46


def test_tensors_train(tmp_path):
    """The batch in the form in which a model takes it."""
    paths = write(tmp_path, SIZES)
    with hr.files(paths).decode_image().resize(64).center_crop(64).batch(8).to("torch").loader(epochs=1) as loader:
        for batch in loader:
            images = batch["image"].permute(0, 3, 1, 2).float().div(255)
            assert torch.nn.Conv2d(3, 4, 3)(images).shape == (8, 4, 62, 62)

"""Operations on images, beside Pillow's and torchvision's on the same decode: that their arguments mean what they say.

That the pixels are theirs, for images, sizes, colours and filters of every kind, the tests of the folder media say.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import functional as v1
from torchvision.transforms import v2

import headrace as hr
from pixels import SIZES, decoded, difference, load, picture, pixels, write

pytestmark = pytest.mark.usefixtures("one_engine")

Filter = Image.Resampling
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def crop(image, size):
    return v1.center_crop(image, [size, size] if isinstance(size, int) else size)


def laid(image, size, shares, fill):
    frame = Image.new("RGB", size, (fill,) * 3)
    frame.paste(image, tuple(round((n - side) * share) for n, side, share in zip(size, image.size, shares)))
    return frame


def in_bucket(image, sizes):
    """resize_to_bucket, from its description."""
    width, height = image.size
    h, w = min(sizes, key=lambda size: abs(math.log(width / height) - math.log(size[1] / size[0])))
    scale = max(h / height, w / width)
    to = (w, max(int(height * w / width), h)) if scale == w / width else (max(int(width * h / height), w), h)
    return crop(image.resize(to, Filter.BILINEAR), [h, w])


def turned(image, turns):
    return Image.fromarray(np.rot90(np.asarray(image), turns))


CORNERS, MOVED = [[0, 0], [70, 0], [70, 49], [0, 49]], [[4, 9], [66, 2], [60, 49], [0, 41]]

# name → colour, the steps, and what they do to an image.
OPERATIONS = {
    "resize": ("rgb", lambda p: p.resize(72).center_crop(60), lambda i: crop(v1.resize(i, 72), 60)),
    "resize, upwards": ("rgb", lambda p: p.resize(300).center_crop(301), lambda i: crop(v1.resize(i, 300), 301)),
    "resize to a size": ("rgb", lambda p: p.resize((60, 90)), lambda i: i.resize((90, 60), Filter.BILINEAR)),
    "max_size": ("rgb", lambda p: p.resize(100, max_size=120).center_crop(40), lambda i: crop(v1.resize(i, 100, max_size=120), 40)),
    "box": ("rgb", lambda p: p.resize((90, 60), filter="box"), lambda i: i.resize((60, 90), Filter.BOX)),
    "hamming": ("gray", lambda p: p.resize((90, 60), filter="hamming"), lambda i: i.resize((60, 90), Filter.HAMMING)),
    "bicubic": ("rgba", lambda p: p.resize((90, 60), filter="bicubic"), lambda i: i.resize((60, 90), Filter.BICUBIC)),
    "lanczos": ("gray", lambda p: p.resize((90, 60), filter="lanczos"), lambda i: i.resize((60, 90), Filter.LANCZOS)),
    "stretch": ("rgb", lambda p: p.resize(70, fit="stretch"), lambda i: i.resize((70, 70), Filter.BILINEAR)),
    "short": ("rgb", lambda p: p.resize(70, fit="short").center_crop(60), lambda i: crop(v1.resize(i, 70), 60)),
    "fit crop": ("rgb", lambda p: p.resize(33, fit="crop"), lambda i: ImageOps.fit(i, (33, 33), Filter.BILINEAR)),
    "fit pad": (
        "rgb",
        lambda p: p.resize((61, 90), filter="lanczos", fit="pad", fill=(114, 0, 255)),
        lambda i: ImageOps.pad(i, (90, 61), Filter.LANCZOS, (114, 0, 255)),
    ),
    "fit pad in gray": (
        "gray",
        lambda p: p.resize((61, 90), fit="pad", fill=200),
        lambda i: ImageOps.pad(i, (90, 61), Filter.BILINEAR, 200),
    ),
    "a crop that is larger": ("rgb", lambda p: p.center_crop((350, 90)), lambda i: crop(i, [350, 90])),
    "pad": ("rgb", lambda p: p.pad(3).center_crop(90), lambda i: crop(v1.pad(i, 3), 90)),
    "pad by two": ("gray", lambda p: p.pad((2, 7), 255).center_crop(90), lambda i: crop(v1.pad(i, [2, 7], fill=255), 90)),
    "pad by four": (
        "rgba",
        lambda p: p.pad((1, 2, 3, 4), (40, 90, 140, 190)).center_crop(90),
        lambda i: crop(v1.pad(i, [1, 2, 3, 4], fill=(40, 90, 140, 190)), 90),
    ),
    "rotate90": ("rgb", lambda p: p.center_crop((50, 71)).rotate90(-1), lambda i: turned(crop(i, [50, 71]), -1)),
    "rotate90 twice": ("rgb", lambda p: p.center_crop((50, 71)).rotate90(6), lambda i: turned(crop(i, [50, 71]), 2)),
    "rotate": (
        "rgb",
        lambda p: p.center_crop((50, 71)).rotate(17, filter="bilinear", expand=True, fill=(9, 99, 199)).center_crop(60),
        lambda i: crop(v1.rotate(crop(i, [50, 71]), 17, v1.InterpolationMode.BILINEAR, True, fill=[9, 99, 199]), 60),
    ),
    "rotate, and turn what comes of it": (
        "gray",
        lambda p: p.center_crop((50, 71)).rotate(-200, filter="bicubic", center=(20, 4)).random_flip(1).center_crop((40, 31)),
        lambda i: crop(v1.hflip(v1.rotate(crop(i, [50, 71]), -200, v1.InterpolationMode.BICUBIC, center=[20, 4])), [40, 31]),
    ),
    "affine": (
        "rgba",
        lambda p: p.center_crop((50, 71)).affine(20, (5, -9), 0.8, (10, 4)),
        lambda i: v1.affine(crop(i, [50, 71]), 20, [5, -9], 0.8, [10, 4]),
    ),
    "affine, bilinear": (
        "rgb",
        lambda p: p.center_crop((50, 71)).affine(20, (5, -9), 0.8, (10, 4), filter="bilinear", fill=77),
        lambda i: v1.affine(crop(i, [50, 71]), 20, [5, -9], 0.8, [10, 4], v1.InterpolationMode.BILINEAR, fill=77),
    ),
    "perspective": (
        "rgb",
        lambda p: p.center_crop((50, 71)).perspective(CORNERS, MOVED, fill=3),
        lambda i: v1.perspective(crop(i, [50, 71]), CORNERS, MOVED, v1.InterpolationMode.BILINEAR, fill=[3, 3, 3]),
    ),
    "random_flip": ("rgba", lambda p: p.center_crop(41).random_flip(1), lambda i: v1.hflip(crop(i, 41))),
    "random_vertical_flip": ("gray", lambda p: p.random_vertical_flip(1).center_crop(40), lambda i: crop(v1.vflip(i), 40)),
    "grayscale": ("rgb", lambda p: p.grayscale().center_crop(64), lambda i: v1.to_grayscale(crop(i, 64))),
    "grayscale of three": ("rgb", lambda p: p.grayscale(3).center_crop(64), lambda i: v1.to_grayscale(crop(i, 64), 3)),
    "resize_to_bucket": (
        "rgb",
        lambda p: p.resize_to_bucket([(90, 60), (60, 90), (40, 140)]).center_crop((40, 60)),
        lambda i: crop(in_bucket(i, [(90, 60), (60, 90), (40, 140)]), [40, 60]),
    ),
    "random_resized_crop": (  # of the whole image there is one crop alone
        "rgb",
        lambda p: p.center_crop(64).random_resized_crop((50, 61), scale=(1, 1), ratio=(1, 1), filter="bicubic"),
        lambda i: crop(i, 64).resize((61, 50), Filter.BICUBIC),
    ),
}
ANCHORS = {
    "center": (0.5, 0.5),
    "top_left": (0, 0),
    "top": (0.5, 0),
    "top_right": (1, 0),
    "left": (0, 0.5),
    "right": (1, 0.5),
    "bottom_left": (0, 1),
    "bottom": (0.5, 1),
    "bottom_right": (1, 1),
}
FACTORS = {"brightness": 0.3, "contrast": 1.4, "saturation": 3, "hue": -0.21}


def anchored(anchor, shares):
    yield (
        f"pad, {anchor}",
        (
            "rgb",
            lambda p: p.resize((50, 77), fit="pad", anchor=anchor, fill=9).pad(size=(60, 91), anchor=anchor, fill=99),
            lambda i: laid(ImageOps.pad(i, (77, 50), Filter.BILINEAR, (9, 9, 9), shares), (91, 60), shares, 99),
        ),
    )
    yield (
        f"crop, {anchor}",
        (
            "rgb",
            lambda p: p.resize((50, 77), fit="crop", anchor=anchor),
            lambda i: ImageOps.fit(i, (77, 50), Filter.BILINEAR, 0, shares),
        ),
    )


def jittered(name, factor):
    return (
        "rgb",
        lambda p: p.center_crop(60).color_jitter(**{name: (factor, factor)}),
        lambda i: transforms.ColorJitter(**{name: (factor, factor)})(crop(i, 60)),
    )


OPERATIONS |= dict(itertools.chain.from_iterable(anchored(*anchor) for anchor in ANCHORS.items()))
OPERATIONS |= {name: jittered(name, factor) for name, factor in FACTORS.items()}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pictures"), SIZES, subsampling="4:4:4")


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Many images of one size, for what is random."""
    return write(tmp_path_factory.mktemp("alike"), [(48, 40)] * 48, subsampling="4:4:4")


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(paths, name):
    color, steps, reference = OPERATIONS[name]
    for path, ours in zip(paths, load(steps(hr.files(paths).decode_image(color=color))), strict=True):
        assert difference(ours, pixels(reference(picture(decoded(path, color=color))))) <= 1, path


def test_an_image_larger_than_its_frame_is_a_bad_sample(paths):
    with hr.files(paths).decode_image().pad(size=5).batch(1).loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="to 5×5"):
        list(loader)


def test_random_crop_of_less(alike):
    with pytest.raises(hr.SampleError, match=r"random_crop of 41×41 pixels out of 48×40"):
        load(hr.files(alike).decode_image().random_crop(41))
    assert len(load(hr.files(alike).decode_image().pad(4).random_crop(41))) == 48


def test_random_rotate90_needs_squares_or_a_size(alike):
    with pytest.raises(hr.RecipeError, match="put center_crop"):
        load(hr.files(alike).decode_image().center_crop((20, 30)).random_rotate90())
    assert load(hr.files(alike).decode_image().random_rotate90().center_crop(20))[0].shape == (20, 20, 3)


def test_several_buckets_that_are_turned_cannot_be_one_batch(paths):
    with pytest.raises(hr.RecipeError, match="cannot stack images of different sizes"):
        hr.files(paths).decode_image().resize_to_bucket([(3, 4), (4, 3)]).random_rotate90().batch(2).loader()


def reference_tensor(array, mean=MEAN, std=STD):
    return v1.normalize(v1.to_tensor(array), list(mean), list(std))


def test_validation_as_torchvision_has_it(paths):
    """Resize, crop, float, normalise: what evaluation scripts say, in both of torchvision's interfaces."""
    steps = hr.files(paths).decode_image().resize(72).center_crop(64).normalize(MEAN, STD).layout("NCHW")
    pil = v2.Compose([v2.Resize(72), v2.CenterCrop(64)])
    modern = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    for path, ours in zip(paths, load(steps), strict=True):
        image = pil(Image.fromarray(decoded(path)))
        assert ours.dtype == np.float32
        for theirs in (reference_tensor(image), modern(image)):
            assert difference(ours, theirs.numpy()) <= 1 / 255 / min(STD) + 1e-6
        same = load(hr.files([path]).decode_image().resize(72).center_crop(64))[0]
        for theirs in (reference_tensor(same), modern(same)):
            assert difference(ours, theirs.numpy()) <= 1e-6


def test_training_as_torchvision_has_it(paths):
    """The whole augmentation, each random part with one possible outcome; a batch is what a model takes."""
    steps = (
        hr.files(paths)
        .decode_image()
        .center_crop(64)
        .random_resized_crop(48, scale=(1, 1), ratio=(1, 1))
        .random_flip(1)
        .color_jitter(brightness=(1.2, 1.2))
        .random_grayscale(0)
        .normalize(MEAN, STD)
        .layout("NCHW")
    )
    for path, ours in zip(paths, load(steps.to("torch")), strict=True):
        image = crop(Image.fromarray(decoded(path)), 64)
        image = v1.adjust_brightness(v1.hflip(v1.resize(image, [48, 48])), 1.2)
        assert difference(ours.numpy(), reference_tensor(image).numpy()) <= 2 / 255 / min(STD) + 1e-6
        assert torch.nn.Conv2d(3, 4, 3)(ours[None]).shape == (1, 4, 46, 46)


@pytest.mark.parametrize(
    ("dtype", "layout", "color"),
    [("float32", "NHWC", "rgb"), ("float16", "NCHW", "rgb"), ("bfloat16", "NHWC", "gray"), ("float32", "NCHW", "gray")],
)
def test_normalize(paths, dtype, layout, color):
    """The same numbers as torchvision's, rounded to the nearest where the type is shorter."""
    mean, std = (MEAN, STD) if color == "rgb" else (0.45, 0.23)
    steps = hr.files(paths).decode_image(color=color).center_crop(40)
    plain = load(steps)
    for p, ours in zip(plain, load(steps.normalize(mean, std, dtype).layout(layout).to("torch")), strict=True):
        wide = reference_tensor(p, np.ravel(mean), np.ravel(std))
        theirs = wide.to(getattr(torch, dtype))
        if layout == "NHWC":
            theirs = theirs.permute(1, 2, 0)
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs) or (dtype == "float32" and torch.allclose(ours, theirs, rtol=0, atol=1e-6))


def test_what_may_not_follow(paths):
    base = hr.files(paths).decode_image().center_crop(8)
    for steps in (base.normalize(0, 1).random_flip(), base.layout("NCHW").rotate90(), base.normalize(0, 1).normalize(0, 1)):
        with pytest.raises(hr.RecipeError, match=r"before normalize|only layout may follow"):
            steps.batch(1).loader()

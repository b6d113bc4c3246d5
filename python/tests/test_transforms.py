"""Every operation on images, beside torchvision's on Pillow images of the same decode."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as v1
from torchvision.transforms.v2 import functional as v2f

import headrace as hr
from pixels import SIZES, decoded, difference, load, picture, pixels, write

pytestmark = pytest.mark.usefixtures("one_engine")

FILTERS = {
    "bilinear": (Image.Resampling.BILINEAR, InterpolationMode.BILINEAR),
    "box": (Image.Resampling.BOX, InterpolationMode.BOX),
    "hamming": (Image.Resampling.HAMMING, InterpolationMode.HAMMING),
    "bicubic": (Image.Resampling.BICUBIC, InterpolationMode.BICUBIC),
    "lanczos": (Image.Resampling.LANCZOS, InterpolationMode.LANCZOS),
}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FORMS = ["rgb", "rgba", "gray"]


def compare(paths, steps, reference, tolerance=0, color="rgb"):
    """The images after steps, beside reference(image) of each, which may be other pixels by so many levels."""
    base = hr.files(paths).decode_image(color=color)
    for path, ours in zip(paths, load(steps(base)), strict=True):
        theirs = reference(picture(decoded(path, color=color)))
        assert difference(ours, pixels(theirs)) <= tolerance, path


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pictures"), SIZES, subsampling="4:4:4")


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Many images of one size, for what is random."""
    return write(tmp_path_factory.mktemp("alike"), [(48, 40)] * 48, subsampling="4:4:4")


@pytest.mark.parametrize("filter", FILTERS)
def test_filters(paths, filter):
    height, width = size = (333, 250)
    compare(
        paths,
        lambda p: p.resize(size, filter=filter),
        lambda image: image.resize((width, height), FILTERS[filter][0]),
        tolerance=1,
    )


@pytest.mark.parametrize(("filter", "color"), [("bilinear", "rgb"), ("bicubic", "rgba"), ("lanczos", "gray")])
def test_filters_with_the_shorter_side(paths, filter, color):
    compare(
        paths,
        lambda p: p.resize(70, filter=filter).center_crop(60),
        lambda image: v1.center_crop(v1.resize(image, 70, FILTERS[filter][1]), [60, 60]),
        tolerance=1,
        color=color,
    )


def test_resized_crop_with_known_bounds(paths):
    """Of the whole image there is one crop alone."""
    filter = "bicubic"
    wide = [path for path, (width, height) in zip(paths, SIZES) if (width, height) == (224, 224)]
    compare(
        wide,
        lambda p: p.random_resized_crop((50, 61), scale=(1, 1), ratio=(1, 1), filter=filter),
        lambda image: image.resize((61, 50), FILTERS[filter][0]),
        tolerance=1,
    )


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


@pytest.mark.parametrize(
    ("filter", "color", "fill"), [("bilinear", "rgb", (114, 0, 255)), ("bicubic", "rgba", 7), ("lanczos", "gray", 200)]
)
@pytest.mark.parametrize("size", [(61, 90), (90, 61)])
def test_a_letterbox_is_that_of_pillow(paths, filter, color, fill, size):
    height, width = size
    every = fill if isinstance(fill, tuple) else (fill,) * {"rgb": 3, "rgba": 4, "gray": 1}[color]
    compare(
        paths,
        lambda p: p.resize(size, filter=filter, fit="pad", fill=fill),
        lambda image: ImageOps.pad(image, (width, height), FILTERS[filter][0], every[0] if len(every) == 1 else every),
        tolerance=1,
        color=color,
    )


@pytest.mark.parametrize(("filter", "color"), [("bilinear", "rgb"), ("bicubic", "rgba"), ("lanczos", "gray")])
@pytest.mark.parametrize("size", [(61, 90), (90, 61), 33])
def test_a_crop_to_a_size_is_that_of_pillow(paths, filter, color, size):
    height, width = (size, size) if isinstance(size, int) else size
    compare(
        paths,
        lambda p: p.resize(size, filter=filter, fit="crop"),
        lambda image: ImageOps.fit(image, (width, height), FILTERS[filter][0]),
        tolerance=1,
        color=color,
    )


@pytest.mark.parametrize("anchor", ANCHORS)
def test_anchors(paths, anchor):
    compare(
        paths,
        lambda p: p.resize((50, 77), fit="pad", anchor=anchor, fill=9).pad(size=(60, 91), anchor=anchor, fill=99),
        lambda image: laid(ImageOps.pad(image, (77, 50), Image.Resampling.BILINEAR, (9, 9, 9), ANCHORS[anchor]), (91, 60), ANCHORS[anchor]),
        tolerance=1,
    )
    compare(
        paths,
        lambda p: p.resize((50, 77), fit="crop", anchor=anchor),
        lambda image: ImageOps.fit(image, (77, 50), Image.Resampling.BILINEAR, 0, ANCHORS[anchor]),
        tolerance=1,
    )


def laid(image, size, shares):
    frame = Image.new("RGB", size, (99, 99, 99))
    frame.paste(image, tuple(round((n - side) * share) for n, side, share in zip(size, image.size, shares)))
    return frame


def test_fits_of_one_number(paths):
    compare(paths, lambda p: p.resize(70, fit="stretch"), lambda image: image.resize((70, 70), Image.Resampling.BILINEAR), tolerance=1)
    compare(
        paths,
        lambda p: p.resize(70, fit="short").center_crop(60),
        lambda image: v1.center_crop(v1.resize(image, 70), [60, 60]),
        tolerance=1,
    )


def test_an_image_larger_than_its_frame_is_a_bad_sample(paths):
    with hr.files(paths).decode_image().pad(size=5).batch(1).loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="to 5×5"):
        list(loader)


@pytest.mark.parametrize(
    ("color", "padding", "fill"), [("rgb", 3, 0), ("gray", (2, 7), 255), ("rgba", (1, 2, 3, 4), 99), ("rgb", 5, "each")]
)
def test_pad(paths, color, padding, fill):
    channels = {"rgb": 3, "rgba": 4, "gray": 1}[color]
    if fill == "each":
        fill = tuple(range(40, 40 + 50 * channels, 50))
    for module in (v1, v2f):
        compare(
            paths,
            lambda p: p.pad(padding, fill).center_crop(90),
            lambda image, module=module: v1.center_crop(
                module.pad(
                    image, list(padding) if isinstance(padding, tuple) else padding, fill=fill if channels > 1 else np.ravel(fill)[0].item()
                ),
                [90, 90],
            ),
            color=color,
        )


@pytest.mark.parametrize("turns", [-1, 2, 5])
def test_rotate90(paths, turns):
    for path, ours in zip(paths, load(hr.files(paths).decode_image().center_crop((50, 71)).rotate90(turns)), strict=True):
        cropped = np.asarray(v1.center_crop(Image.fromarray(decoded(path)), [50, 71]))
        assert difference(ours, np.rot90(cropped, turns)) == 0


@pytest.mark.parametrize("color", FORMS)
def test_flips(paths, color):
    compare(
        paths, lambda p: p.random_vertical_flip(1).center_crop(40), lambda image: v1.center_crop(v1.vflip(image), [40, 40]), color=color
    )
    compare(paths, lambda p: p.center_crop(41).random_flip(1), lambda image: v1.hflip(v1.center_crop(image, [41, 41])), color=color)
    compare(paths, lambda p: p.random_vertical_flip(0).center_crop(40), lambda image: v1.center_crop(image, [40, 40]), color=color)


def test_grayscale(paths):
    for channels in (1, 3):
        compare(
            paths,
            lambda p, n=channels: p.grayscale(n).center_crop(64),
            lambda image, n=channels: v1.to_grayscale(v1.center_crop(image, [64, 64]), n),
        )
    gray = np.asarray(Image.fromarray(decoded(paths[0])).convert("L"))[..., None]
    assert difference(decoded(paths[0], color="gray"), gray) <= 1


@pytest.mark.parametrize(
    ("name", "factor", "color"), [("brightness", 0.3, "rgb"), ("contrast", 1.4, "rgb"), ("saturation", 3, "rgb"), ("contrast", 0, "gray")]
)
def test_jitter_by_known_factors(paths, name, factor, color):
    for module in (transforms, v2):
        compare(
            paths,
            lambda p: p.center_crop(60).color_jitter(**{name: (factor, factor)}),
            lambda image, module=module: module.ColorJitter(**{name: (factor, factor)})(v1.center_crop(image, [60, 60])),
            tolerance=1,
            color=color,
        )


@pytest.mark.parametrize("hue", [-0.21, 0.5])
def test_jitter_of_hue(paths, hue):
    for module in (transforms, v2):
        compare(
            paths,
            lambda p: p.center_crop(60).color_jitter(hue=(hue, hue)),
            lambda image, module=module: module.ColorJitter(hue=(hue, hue))(v1.center_crop(image, [60, 60])),
            tolerance=1,
        )


def test_jitter_in_every_order(alike):
    """With known factors an image is that of one of the 24 orders, and different images have different orders."""
    factors = {"brightness": 1.3, "contrast": 0.6, "saturation": 1.7, "hue": 0.13}
    steps = hr.files(alike).decode_image().center_crop(24).color_jitter(**{name: (x, x) for name, x in factors.items()})
    seen = set()
    for path, ours in zip(alike, load(steps), strict=True):
        start = v1.center_crop(Image.fromarray(decoded(path)), [24, 24])
        fits = []
        for order in itertools.permutations(factors):
            image = start
            for name in order:
                image = getattr(v1, f"adjust_{name}")(image, factors[name])
            if difference(ours, np.asarray(image)) <= 1:
                fits.append(order)
        assert fits, path
        if len(fits) == 1:
            seen.add(fits[0])
    assert len(seen) > 8


def test_jitter_stays_within_its_bounds(alike):
    """Of gray images brightness is a factor that can be measured."""
    plain = load(hr.files(alike).decode_image(color="gray").center_crop(20))
    changed = load(hr.files(alike).decode_image(color="gray").center_crop(20).color_jitter(brightness=0.4))
    factors = [c.astype(float).sum() / p.astype(float).sum() for c, p in zip(changed, plain)]
    assert 0.57 < min(factors) < 0.75
    assert 1.15 < max(factors) < 1.43


def test_random_grayscale(alike):
    plain = load(hr.files(alike).decode_image().center_crop(20))
    always = load(hr.files(alike).decode_image().center_crop(20).random_grayscale(1))
    never = load(hr.files(alike).decode_image().center_crop(20).random_grayscale(0))
    some = load(hr.files(alike).decode_image().center_crop(20).random_grayscale(0.5))
    for p, a, n in zip(plain, always, never):
        assert difference(n, p) == 0
        assert difference(a, np.asarray(v1.to_grayscale(Image.fromarray(p), 3))) == 0
    gray = [difference(s, a) == 0 for s, a in zip(some, always)]
    assert all(g or difference(s, p) == 0 for g, s, p in zip(gray, some, plain))
    assert 12 <= sum(gray) <= 36


def test_random_crop(alike):
    """A crop is a part of the image, and its places differ."""
    places = set()
    for path, ours in zip(alike, load(hr.files(alike).decode_image().random_crop((30, 40))), strict=True):
        whole = decoded(path)
        found = [(y, x) for y in range(11) for x in range(9) if (whole[y : y + 30, x : x + 40] == ours).all()]
        assert found, path
        places.add(found[0])
    assert len(places) > 20
    assert {0, 10} <= {y for y, _ in places}
    assert {0, 8} <= {x for _, x in places}


def test_random_crop_of_less(alike):
    with pytest.raises(hr.SampleError, match=r"random_crop of 41×41 pixels out of 48×40"):
        load(hr.files(alike).decode_image().random_crop(41))
    assert len(load(hr.files(alike).decode_image().pad(4).random_crop(41))) == 48


def test_random_rotate90(alike):
    turns = []
    plain = load(hr.files(alike).decode_image().center_crop(32))
    for p, ours in zip(plain, load(hr.files(alike).decode_image().center_crop(32).random_rotate90())):
        turns.append(next(k for k in range(4) if (np.rot90(p, k) == ours).all()))
    assert {*turns} == {0, 1, 2, 3}
    assert max(map(turns.count, range(4))) <= 24
    never = load(hr.files(alike).decode_image().center_crop(32).random_rotate90(0))
    assert all((a == b).all() for a, b in zip(plain, never))


def test_random_rotate90_needs_squares_or_a_size(alike):
    with pytest.raises(hr.RecipeError, match="put center_crop"):
        load(hr.files(alike).decode_image().center_crop((20, 30)).random_rotate90())
    assert load(hr.files(alike).decode_image().random_rotate90().center_crop(20))[0].shape == (20, 20, 3)


def in_bucket(image, sizes):
    """resize_to_bucket, from its description."""
    width, height = image.size
    h, w = min(sizes, key=lambda size: abs(math.log(width / height) - math.log(size[1] / size[0])))
    scale = max(h / height, w / width)
    to = (w, max(int(height * w / width), h)) if scale == w / width else (max(int(width * h / height), w), h)
    return v1.center_crop(image.resize(to, Image.Resampling.BILINEAR), [h, w])


def test_resize_to_bucket(paths):
    compare(paths, lambda p: p.resize_to_bucket([(90, 60)]), lambda image: in_bucket(image, [(90, 60)]), tolerance=1)
    sizes = [(60, 90), (90, 60), (72, 72), (40, 140)]
    shapes = set()
    for path in paths:
        expected = pixels(in_bucket(Image.fromarray(decoded(path)), sizes))
        height, width, _ = expected.shape
        ours = load(hr.files([path]).decode_image().resize_to_bucket(sizes).center_crop((height, width)))[0]
        assert difference(ours, expected) <= 1, path
        shapes.add((height, width))
    assert len(shapes) == 4


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
        whole = Image.fromarray(decoded(path))
        image = pil(whole)
        assert ours.dtype == np.float32
        level = 1 / 255 / min(STD)
        for theirs in (reference_tensor(image), modern(image)):
            assert difference(ours, theirs.numpy()) <= level + 1e-6
        same = load(hr.files([path]).decode_image().resize(72).center_crop(64))[0]
        for theirs in (reference_tensor(same), modern(same)):
            assert difference(ours, theirs.numpy()) <= 1e-6


def test_training_as_torchvision_has_it(paths):
    """The whole augmentation, each random part with one possible outcome."""
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
    for path, ours in zip(paths, load(steps), strict=True):
        image = v1.center_crop(Image.fromarray(decoded(path)), [64, 64])
        image = v1.adjust_brightness(v1.hflip(v1.resize(image, [48, 48])), 1.2)
        assert difference(ours, reference_tensor(image).numpy()) <= 2 / 255 / min(STD) + 1e-6


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


def test_layout_alone(paths):
    steps = hr.files(paths).decode_image().center_crop(31)
    for p, ours in zip(load(steps), load(steps.layout("NCHW")), strict=True):
        assert ours.shape == (3, 31, 31)
        assert (ours.transpose(1, 2, 0) == p).all()
    for p, ours in zip(load(steps), load(steps.layout("NCHW").layout("NHWC"))):
        assert (ours == p).all()


def test_what_may_not_follow(paths):
    base = hr.files(paths).decode_image().center_crop(8)
    for steps in (base.normalize(0, 1).random_flip(), base.layout("NCHW").rotate90(), base.normalize(0, 1).normalize(0, 1)):
        with pytest.raises(hr.RecipeError, match=r"before normalize|only layout may follow"):
            steps.batch(1).loader()


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_fast_is_near(tmp_path, mode):
    """Within what is promised where the scale of decoding stays 1; and not far off where it does not."""
    paths = write(tmp_path, [(640, 480), (500, 333), (301, 457)])
    reference = load(hr.files(paths).decode_image().resize(256).center_crop(224))
    for a, b in zip(load(hr.files(paths).decode_image(mode=mode).resize(256).center_crop(224)), reference, strict=True):
        off = np.abs(a.astype(int) - b.astype(int))
        assert off.mean() <= (1.0 if mode == "fast" else 0)
        assert np.quantile(off, 0.999) <= 16
    small = load(hr.files(paths).decode_image().resize(64).center_crop(56))
    for a, b in zip(load(hr.files(paths).decode_image(mode=mode).resize(64).center_crop(56)), small, strict=True):
        assert np.abs(a.astype(int) - b.astype(int)).mean() <= (4 if mode == "fast" else 0)

"""Masks beside images: their numbers, what is done to both alike, and what is wrong with it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps
from torchvision.transforms import functional as v1
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import RecipeError, SampleError

pytestmark = pytest.mark.usefixtures("one_engine")

NEAREST = Image.Resampling.NEAREST
SIZES = [(200, 301), (64, 64), (333, 250), (33, 31)]  # (height, width)


def stored(image, kind="png", **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def places(height, width):
    """An image that says where each pixel is: its column, its row, and what is beyond 255 of both."""
    y, x = np.mgrid[:height, :width]
    return np.stack([x % 256, y % 256, x // 256 + 16 * (y // 256)], axis=-1).astype(np.uint8)


def numbers(height, width, most=256):
    return np.random.default_rng(height).integers(0, most, (height, width), dtype=np.uint8)


def palette(array):
    image = Image.fromarray(array, "P")
    image.putpalette([(7 * i + c) % 256 for i in range(256) for c in range(3)])
    return image


def pairs(sizes=SIZES):
    return [{"bytes": stored(Image.fromarray(places(*size))), "seg": stored(palette(numbers(*size)))} for size in sizes]


def both(samples=None, **options):
    source = hr.source(samples or pairs(), gives={"bytes": bytes, "seg": bytes}, **options)
    return source.decode_image().decode_image(field="seg", to="mask", color="mask")


def rows(pipeline, **options):
    """The samples of an epoch, one by one: their sizes may differ."""
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(sample[name]) for name in ("image", "mask") if name in sample} for sample in loader]


def masks_alone(images, **options):
    source = hr.source([{"seg": image} for image in images], gives={"seg": bytes})
    return source.decode_image(field="seg", to="mask", color="mask", **options)


def one(data, **options):
    (row,) = rows(masks_alone([data], **options))
    return row["mask"]


FILES = {
    **{f"palette of {bits} bits": (lambda bits=bits: stored(palette(numbers(31, 45, 1 << bits)), bits=bits)) for bits in (1, 2, 4, 8)},
    "interlaced GIF": lambda: stored(palette(numbers(31, 45)), "gif", interlace=1),
    "GIF": lambda: stored(palette(numbers(40, 45)), "gif", interlace=0),
    "BMP": lambda: stored(palette(numbers(31, 45)), "bmp"),
    "TIFF": lambda: stored(palette(numbers(31, 45)), "tiff"),
    "transparent palette": lambda: stored(palette(numbers(31, 45)), transparency=3),
    "gray": lambda: stored(Image.fromarray(numbers(31, 45))),
    "gray TIFF": lambda: stored(Image.fromarray(numbers(31, 45)), "tiff"),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_numbers_are_those_of_the_file(kind):
    data = FILES[kind]()
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(image)
    assert expected.ndim == 2
    mask = one(data)
    assert mask.dtype == np.uint8
    np.testing.assert_array_equal(mask, expected)
    wide = one(data, dtype="uint16")
    assert wide.dtype == np.uint16
    np.testing.assert_array_equal(wide, expected)


def test_numbers_of_16_bits():
    expected = np.random.default_rng(1).integers(0, 1 << 16, (20, 30), dtype=np.uint16)
    data = stored(Image.fromarray(expected))
    np.testing.assert_array_equal(one(data, dtype="uint16"), expected)
    with pytest.raises(SampleError, match='numbers of 16 bits: decode it with dtype="uint16"'):
        one(data)


@pytest.mark.parametrize(("kind", "says"), [("RGB", "png of 3 channels"), ("RGBA", "png of 4 channels"), ("LA", "png of 2 channels")])
def test_colours_are_no_mask(kind, says):
    data = stored(Image.fromarray(places(20, 30)).convert(kind))
    with pytest.raises(SampleError, match=f"the mask is a {says}: must be gray or have a palette"):
        one(data)


# name → the steps, and what they do to a mask.
GEOMETRY = {
    "resize": (lambda p: p.resize(72), lambda m: v1.resize(m, 72, NEAREST)),
    "resize, upwards": (lambda p: p.resize(311), lambda m: v1.resize(m, 311, NEAREST)),
    "resize to a size": (lambda p: p.resize((61, 97), filter="bicubic"), lambda m: m.resize((97, 61), NEAREST)),
    "letterbox": (lambda p: p.resize((80, 120), fit="pad", fill=255), lambda m: ImageOps.pad(m, (120, 80), NEAREST, color=255)),
    "cover": (lambda p: p.resize((80, 120), fit="crop"), lambda m: ImageOps.fit(m, (120, 80), NEAREST)),
    "crop, and resize": (lambda p: p.center_crop(90).resize(41), lambda m: v1.resize(v1.center_crop(m, 90), 41, NEAREST)),
    "resize, flip and crop": (
        lambda p: p.resize(72).random_flip(1).random_vertical_flip(1).center_crop((50, 60)),
        lambda m: v1.center_crop(v1.vflip(v1.hflip(v1.resize(m, 72, NEAREST))), [50, 60]),
    ),
    "turn": (lambda p: p.rotate90(3).resize((40, 70)), lambda m: m.transpose(Image.Transpose.ROTATE_270).resize((70, 40), NEAREST)),
    "border": (lambda p: p.pad((3, 5), 9), lambda m: v1.pad(m, [3, 5], 9)),
}


@pytest.mark.parametrize("name", GEOMETRY)
def test_masks_are_pillows_to_the_byte(name):
    steps, by_pillow = GEOMETRY[name]
    for height, width in SIZES:
        array = numbers(height, width)
        (row,) = rows(steps(masks_alone([stored(Image.fromarray(array))])))
        np.testing.assert_array_equal(row["mask"], np.asarray(by_pillow(Image.fromarray(array))), err_msg=f"{height}×{width}")


@pytest.mark.parametrize("colour", ["rgb", "rgba", "gray"])
def test_the_nearest_pixel_of_images(colour):
    kinds = {"rgb": "RGB", "rgba": "RGBA", "gray": "L"}
    for height, width in SIZES:
        array = np.random.default_rng(width).integers(0, 256, (height, width, 4), dtype=np.uint8)
        image = Image.fromarray(array).convert(kinds[colour])
        source = hr.source([{"bytes": stored(image)}], gives={"bytes": bytes})
        (row,) = rows(source.decode_image(color=colour).resize((71, 140), filter="nearest"))
        np.testing.assert_array_equal(row["image"].squeeze(), np.asarray(image.resize((140, 71), NEAREST)))


AUGMENTED = {
    "random_resized_crop": lambda p, both: p.random_resized_crop(57, filter="nearest", **both),
    "random_crop": lambda p, both: p.random_crop(30, **both),
    "flips": lambda p, both: p.random_flip(**both).random_vertical_flip(**both),
    "turns": lambda p, both: p.random_rotate90(**both),
    "all": lambda p, both: (
        p.resize(80, filter="nearest", **both)
        .random_crop(64, **both)
        .random_flip(**both)
        .random_rotate90(**both)
        .random_resized_crop((40, 50), filter="nearest", **both)
    ),
}


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"workers": 1}], ids=str)
@pytest.mark.parametrize("name", AUGMENTED)
def test_one_draw_for_both(name, options):
    samples = [sample for _ in range(5) for sample in pairs()]
    made = rows(AUGMENTED[name](both(samples, seed=3), {"fields": ["image", "mask"]}), **options)
    windows = set()
    for i, row in enumerate(made):
        image, mask = row["image"].astype(int), row["mask"]
        assert mask.dtype == np.uint8
        assert mask.shape == image.shape[:2]
        x, y = image[..., 0] + 256 * (image[..., 2] % 16), image[..., 1] + 256 * (image[..., 2] // 16)
        np.testing.assert_array_equal(mask, numbers(*SIZES[i % len(SIZES)])[y, x])
        windows.add((x[0, 0], y[0, 0], x[-1, -1], y[-1, -1]))
    assert len(windows) > 6  # samples differ


def test_torchvisions_v2_does_the_same_to_both():
    """What v2 does to an image and its mask with one draw: the same window of both."""
    (row,) = rows(both(pairs([(97, 120)])).random_resized_crop(50, filter="nearest", fields=["image", "mask"]))
    image = Image.fromarray(places(97, 120))
    mask = Image.fromarray(numbers(97, 120))
    x0, y0 = (int(v) for v in row["image"][0, 0, :2])
    x1, y1 = (int(v) for v in row["image"][-1, -1, :2])
    found = False
    for top in range(max(0, y0 - 2), y0 + 1):
        for left in range(max(0, x0 - 2), x0 + 1):
            for height in range(y1 - top, min(97 - top, y1 - top + 3) + 1):
                for width in range(x1 - left, min(120 - left, x1 - left + 3) + 1):
                    window = (top, left, max(1, height), max(1, width), [50, 50], v2.InterpolationMode.NEAREST)
                    if np.array_equal(np.asarray(v2.functional.resized_crop(image, *window)), row["image"]):
                        found = True
                        np.testing.assert_array_equal(np.asarray(v2.functional.resized_crop(mask, *window)), row["mask"])
    assert found


def test_steps_of_one_of_them():
    """The image alone is normalized and laid out, wherever these steps are; the mask is untouched, and a file says the same."""
    description = (
        both(seed=2).resize((50, 60), fields=["image", "mask"]).color_jitter(0.4, field="image").random_flip(fields=("image", "mask"))
    )
    description = description.normalize(0.5, 0.5, field="image").layout("NCHW", field="image")
    made = rows(description)
    assert len(made) == len(SIZES)
    plain = rows(both(seed=2).resize((50, 60), fields=["image", "mask"]).random_flip(fields=["image", "mask"]))
    for row, expected in zip(made, plain):
        assert row["image"].shape == (3, 50, 60)
        assert row["image"].dtype == np.float32
        np.testing.assert_array_equal(row["mask"], expected["mask"])
    steps = hr.files("a").decode_image().random_flip(fields=["image"]).resize((8, 9), field="image").batch(2).recipe("yaml")
    assert "random_flip: {p: 0.5, fields: [image]}" in steps
    assert "resize: {size: [8, 9], filter: bilinear, fit: stretch, field: image}" in steps


def test_a_function_keeps_the_mask(tmp_path):
    kept = both().resize((40, 40), fields=["image", "mask"]).map(np.ascontiguousarray, fields="mask", where="here")
    for row in rows(kept.center_crop(20, fields=["mask", "image"])):
        assert row["mask"].shape == (20, 20)


def test_arrays_that_are_masks():
    samples = [{"image": places(40, 50), "mask": numbers(40, 50)} for _ in range(4)]
    source = hr.source(samples, gives={"image": ("uint8", (40, 50, 3)), "mask": ("uint8", (40, 50))})
    for row in rows(source.random_crop(20, fields=["image", "mask"])):
        y, x = row["image"][..., 1], row["image"][..., 0]
        np.testing.assert_array_equal(row["mask"], numbers(40, 50)[y, x])


def test_sizes_that_differ_are_a_bad_sample():
    samples = pairs([(60, 60), (60, 60), (60, 60)])
    samples[1]["seg"] = stored(palette(numbers(30, 40)))
    description = both(samples).random_crop(20, fields=["image", "mask"])
    says = r'random_crop works on image, mask: "image" has 60×60 pixels there, and "mask" 40×30; they must be of one size'
    with pytest.raises(SampleError, match=says):
        rows(description)
    with description.batch(2).loader(epochs=1, on_error="skip") as loader:
        assert [len(batch["mask"]) for batch in loader] == [2]
        assert [error.key for error in loader.errors] == ["1"]
    resized = both(samples).resize((60, 60), field="mask").random_crop(20, fields=["image", "mask"])
    assert [row["mask"].shape for row in rows(resized)] == [(20, 20)] * 3


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (lambda p: p.resize(8), 'cannot tell which image is meant: there are image and mask; set field="image"'),
        (lambda p: p.resize(8, field="msk"), 'field has "msk": the samples have the fields image, mask'),
        (lambda p: p.resize(8, fields=["image", "key"]), 'fields has "key", which is text: must be an image'),
        (lambda p: p.resize(8, fields=["image", "image"]), 'fields has "image" twice'),
        (lambda p: p.resize(8, fields=[]), "fields is empty"),
        (lambda p: p.resize(8, field="image", fields=["image"]), "has both field and fields"),
        (lambda p: p.resize(8, field=["image"]), "must be the name of an image"),
        (lambda p: p.color_jitter(0.4, fields=["image", "mask"]), "color_jitter of a mask, whose numbers are not colours"),
        (lambda p: p.normalize(0.5, 0.5, field="mask"), "normalize of a mask"),
        (lambda p: p.layout("NCHW", field="mask"), "layout of a mask, which has no channels"),
        (lambda p: p.pad(2, (1, 2, 3), fields=["image", "mask"]), "must be one number, or 1, because the image is mask"),
    ],
)
def test_mistakes(steps, says):
    with pytest.raises(RecipeError, match=says.replace("(", r"\(")):
        steps(both()).batch(2).loader().close()


def test_a_background_of_a_mask():
    with pytest.raises(RecipeError, match='color="mask" has no colours'):
        hr.source(pairs(), gives={"bytes": bytes, "seg": bytes}).decode_image(color="mask", background=(0, 0, 0)).batch(1).loader()

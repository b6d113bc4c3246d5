"""Boxes that go along with an image, against torchvision's transforms of boxes."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import RecipeError, SampleError

SIZES = [(48, 64), (90, 50), (33, 77), (64, 64), (120, 200)]


def samples(n=40, dtype="float32", orientation=None):
    rng = np.random.default_rng(6)
    made = []
    for i in range(n):
        height, width = SIZES[i % len(SIZES)]
        file = io.BytesIO()
        exif = Image.Exif()
        if orientation:
            exif[0x0112] = orientation
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(file, "JPEG", exif=exif)
        count = i % 7
        edges = np.sort(rng.uniform(-0.1, 1.1, (count, 2, 2)), 1).clip(0, 1) * (width, height)
        made.append(
            {
                "bytes": file.getvalue(),
                "boxes": edges.reshape(count, 4).astype(dtype),
                "labels": np.arange(count) + 10 * i,
                "scores": rng.random((count, 3), np.float32),
            }
        )
    return made


def source(made):
    dtype = str(made[0]["boxes"].dtype)
    gives = {"bytes": bytes, "boxes": (dtype, (None, 4)), "labels": ("int64", (None,)), "scores": ("float32", (None, 3))}
    return hr.source(made, gives=gives, seed=4)


def rows(p, **options):
    with p.loader(epochs=1, **options) as loader:
        return [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in sample.items()} for sample in loader]


def sanitized(boxes, size, sample, transform):
    """What torchvision makes of the boxes of a sample, with their labels and scores."""
    given = {
        "image": tv_tensors.Image(torch.zeros(3, *size)),  # so that it takes no other tensor for one
        "boxes": tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=size),
        "labels": torch.from_numpy(sample["labels"]),
        "scores": torch.from_numpy(sample["scores"]),
    }
    clamped = v2.ClampBoundingBoxes()(transform(given))  # what rounding has put beyond an edge
    made = v2.SanitizeBoundingBoxes(labels_getter=lambda s: (s["labels"], s["scores"]))(clamped)
    return {name: np.asarray(value) for name, value in made.items() if name != "image"}


# Not a center_crop of less than the size: there torchvision puts boxes a pixel beside their pixels where the border is odd.
STEPS = {
    "resize": (lambda p: p.resize((40, 56)), lambda _: v2.Resize((40, 56))),
    "short": (lambda p: p.resize(40, filter="nearest"), lambda _: v2.Resize(40)),
    "center_crop": (lambda p: p.center_crop((30, 44)), lambda _: v2.CenterCrop((30, 44))),
    "pad": (lambda p: p.pad((3, 5, 7, 9)), lambda _: v2.Pad([3, 5, 7, 9])),
    "flip": (lambda p: p.random_flip(1.0), lambda _: v2.RandomHorizontalFlip(1.0)),
    "vertical": (lambda p: p.random_vertical_flip(1.0), lambda _: v2.RandomVerticalFlip(1.0)),
    "several": (
        lambda p: (
            p.center_crop(32).pad(6).random_flip(1.0).color_jitter(0.4).resize((35, 90)).center_crop((30, 60)).random_vertical_flip(1.0)
        ),
        lambda _: v2.Compose(
            [
                v2.CenterCrop(32),
                v2.Pad(6),
                v2.RandomHorizontalFlip(1.0),
                v2.Resize((35, 90)),
                v2.CenterCrop((30, 60)),
                v2.RandomVerticalFlip(1.0),
            ]
        ),
    ),
}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STEPS)
def test_boxes_are_where_torchvision_has_them(name, dtype, fuse):
    ours, theirs = STEPS[name]
    made = samples(dtype=dtype)
    got = rows(ours(source(made).decode_image().boxes(along=["labels", "scores"])), fuse=fuse)
    dropped = 0
    for i, (row, sample) in enumerate(zip(got, made, strict=True)):
        want = sanitized(sample["boxes"], SIZES[i % len(SIZES)], sample, theirs(i))
        assert row["boxes"].dtype == dtype
        np.testing.assert_allclose(row["boxes"], want["boxes"], atol=2e-4)
        np.testing.assert_array_equal(row["labels"], want["labels"])
        np.testing.assert_array_equal(row["scores"], want["scores"])
        dropped += len(sample["labels"]) - len(row["labels"])
    assert dropped


@pytest.mark.parametrize("seed", range(3))
def test_boxes_are_where_their_pixels_are(seed):
    """What is random is drawn once for an image, its mask and its boxes: a box is where its pixels are in the mask."""
    rng, made = np.random.default_rng(seed), []
    for i in range(60):
        height, width = SIZES[i % len(SIZES)]
        x, y = sorted(rng.choice(width + 1, 2, replace=False)), sorted(rng.choice(height + 1, 2, replace=False))
        mask = np.zeros((height, width), np.uint8)
        mask[y[0] : y[1], x[0] : x[1]] = 1
        boxes = np.array([[x[0], y[0], x[1], y[1]]], np.float32)
        made.append({"image": np.zeros((height, width, 3), np.uint8), "mask": mask, "boxes": boxes, "labels": np.arange(1)})
    gives = {
        "image": ("uint8", (None, None, 3)),
        "mask": ("uint8", (None, None)),
        "boxes": ("float32", (None, 4)),
        "labels": ("int64", (None,)),
    }
    both = {"fields": ["image", "mask"]}
    p = hr.source(made, gives=gives, seed=seed).boxes(along="labels").random_resized_crop((160, 120), filter="nearest", **both)
    gone = 0
    for row in rows(p.random_flip(**both).random_vertical_flip(**both).random_rotate90(**both)):
        inside = np.argwhere(row["mask"])
        assert row["labels"].tolist() == [0] * len(row["boxes"])
        if len(row["boxes"]) == 0:
            assert inside.size == 0 or (np.ptp(inside, 0) + 1).min() <= 2
            gone += 1
            continue
        x0, y0, x1, y1 = row["boxes"][0]
        if inside.size:
            assert np.abs(inside.min(0) - (y0, x0)).max() <= 1
            assert np.abs(inside.max(0) + 1 - (y1, x1)).max() <= 1
        else:
            assert min(x1 - x0, y1 - y0) < 2
    assert 0 < gone < 40


def test_boxes_in_batches():
    made = samples(24)
    p = source(made).decode_image().boxes(along=["labels", "scores"]).resize((32, 32)).bucket_batch([2, 8], size=6)
    count = 0
    with p.loader(epochs=1) as loader:
        for batch in loader:
            assert batch["boxes"].shape[1:] == (batch["labels"].shape[1], 4)
            assert (batch["boxes_length"] == batch["labels_length"]).all()
            for row, n in zip(batch["boxes"], batch["boxes_length"], strict=True):
                assert not row[n:].any()
                assert (row[:n, 2:] - row[:n, :2] >= 1).all()
            count += len(batch["key"]) if "key" in batch else len(batch["image"])
    assert count == 24


def test_boxes_are_of_the_upright_image():
    made = samples(10, orientation=6)
    for sample in made:
        sample["boxes"] = sample["boxes"][:, [1, 0, 3, 2]]
    got = rows(source(made).decode_image().boxes(along=["labels", "scores"]).random_flip(1.0))
    for i, (row, sample) in enumerate(zip(got, made, strict=True)):
        height, width = SIZES[i % len(SIZES)]
        assert row["image"].shape == (width, height, 3)
        want = sanitized(sample["boxes"], (width, height), sample, v2.RandomHorizontalFlip(1.0))
        np.testing.assert_allclose(row["boxes"], want["boxes"], atol=2e-4)


def test_renamed_and_dropped_fields():
    made = samples(10)
    p = source(made).decode_image().boxes(along=["labels"]).drop("scores").rename(boxes="targets", image="picture").random_flip(1.0)
    for row, sample, i in zip(rows(p), made, range(10), strict=True):
        want = sanitized(sample["boxes"], SIZES[i % len(SIZES)], sample, v2.RandomHorizontalFlip(1.0))
        np.testing.assert_allclose(row["targets"], want["boxes"], atol=2e-4)
    p = source(made).decode_image().boxes(along=["labels", "scores"]).drop("scores").random_flip(1.0)
    for row, sample, i in zip(rows(p), made, range(10), strict=True):
        want = sanitized(sample["boxes"], SIZES[i % len(SIZES)], sample, v2.RandomHorizontalFlip(1.0))
        np.testing.assert_allclose(row["boxes"], want["boxes"], atol=2e-4)
        np.testing.assert_array_equal(row["labels"], want["labels"])


@pytest.mark.parametrize("fuse", [True, False])
def test_others_go_along_from_a_step_on(fuse):
    made = samples(10)
    p = source(made).decode_image().copy("boxes", to=["others"]).boxes().random_flip(1.0).boxes("others").center_crop(30)
    for row, sample, i in zip(rows(p, fuse=fuse), made, range(10), strict=True):
        size = SIZES[i % len(SIZES)]
        np.testing.assert_allclose(row["boxes"], sanitized(sample["boxes"], size, sample, v2.RandomHorizontalFlip(1.0))["boxes"], atol=2e-4)
        np.testing.assert_allclose(row["others"], sanitized(sample["boxes"], size, sample, v2.CenterCrop(30))["boxes"], atol=2e-4)


def test_ways_that_join():
    made = samples(10)
    one = source(made).decode_image().boxes(along=["labels", "scores"])
    for row in rows(hr.merge([one, one]).random_flip(1.0)):
        sample, i = (
            next((s, i) for i, s in enumerate(made) if len(s["labels"]) and set(row["labels"]) <= set(s["labels"]))
            if len(row["labels"])
            else (None, 0)
        )
        if sample is not None:
            want = sanitized(sample["boxes"], SIZES[i % len(SIZES)], sample, v2.RandomHorizontalFlip(1.0))
            np.testing.assert_allclose(row["boxes"], want["boxes"], atol=2e-4)
    other = source(made).decode_image().boxes()
    with pytest.raises(RecipeError, match="has images whose boxes follow it in some branches only"):
        hr.merge([one, other]).random_flip(1.0).loader()


def test_views_have_boxes_of_their_own():
    made = samples(10)
    p = source(made).decode_image().copy("boxes", to=["first", "second"]).copy("image", to=["a", "b"])
    p = p.boxes("first", image="a").boxes("second", image="b").random_flip(1.0, field="a").center_crop(32, field="b")
    for row, sample, i in zip(rows(p), made, range(10), strict=True):
        size = SIZES[i % len(SIZES)]
        np.testing.assert_array_equal(row["boxes"], sample["boxes"])
        np.testing.assert_allclose(row["first"], sanitized(sample["boxes"], size, sample, v2.RandomHorizontalFlip(1.0))["boxes"], atol=2e-4)
        np.testing.assert_allclose(row["second"], sanitized(sample["boxes"], size, sample, v2.CenterCrop(32))["boxes"], atol=2e-4)


def test_rows_that_are_not_as_many():
    made = samples(5)
    made[3]["labels"] = made[3]["labels"][:-1]
    with (
        source(made).decode_image().boxes(along="labels").random_flip(1.0).loader(epochs=1) as loader,
        pytest.raises(SampleError, match='boxes: "labels" has 2 rows, and "boxes" has 3 boxes: it must have one for each'),
    ):
        list(loader)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda p: p.boxes("box"), 'field is an unknown field "box": did you mean "boxes"'),
        (lambda p: p.boxes("labels"), r'field is "labels", which is int64 \[\?\]: must be float32 or float64 \[\?, 4\]'),
        (lambda p: p.boxes(image="scores"), 'image is "scores", which is .*: must be an image; put decode_image before it'),
        (lambda p: p.boxes(along=["labels", "image"]), r'along\[1\] is "image", which is .*: must be an array with a row for each box'),
        (lambda p: p.boxes(along=["labels", "labels"]), r"along\[1\] is \"labels\", a second time"),
        (
            lambda p: p.boxes().views(2, lambda v: v.random_flip()),
            'copies "image" without its boxes: copy them too, before boxes',
        ),
        (lambda p: p.boxes().ten_crop(4), 'makes several images of "image", and its boxes can go along with one only'),
        (lambda p: p.boxes().random_flip().resize((8, 8)).batch(2), 'cannot stack sequences of different lengths: the field "boxes"'),
    ],
)
def test_mistakes(wrong, says):
    with pytest.raises(RecipeError, match=says):
        wrong(source(samples(2)).decode_image()).loader()

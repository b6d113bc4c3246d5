"""Points that go along with an image, against torchvision's transforms of key points."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import RecipeError

HEIGHT, WIDTH = 48, 64


def samples(n=12, dtype="float32", width=2):
    rng = np.random.default_rng(7)
    made = []
    for i in range(n):
        count = i % 4
        points = rng.uniform(-5, 70, (count, 3, width)).astype(dtype)
        corner = rng.uniform(-20, 50, (count, 2)).astype(dtype)
        boxes = np.hstack([corner, corner + 12])
        image = rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
        made.append({"image": image, "points": points, "boxes": boxes, "labels": np.arange(count), "pose": points[:1].sum(0)})
    return made


def source(made):
    dtype, width = str(made[0]["points"].dtype), made[0]["points"].shape[-1]
    gives = {
        "image": ("uint8", (HEIGHT, WIDTH, 3)),
        "points": (dtype, (None, 3, width)),
        "boxes": (dtype, (None, 4)),
        "labels": ("int64", (None,)),
        "pose": (dtype, (3, width)),
    }
    return hr.source(made, gives=gives, seed=4)


def rows(p, **options):
    with p.loader(epochs=1, **options) as loader:
        return [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in sample.items()} for sample in loader]


def moved(points, transform):
    canvas = {"image": tv_tensors.Image(torch.zeros(3, HEIGHT, WIDTH)), "points": tv_tensors.KeyPoints(points, canvas_size=(HEIGHT, WIDTH))}
    return transform(canvas)["points"].numpy()


STEPS = {
    "resize": (lambda p: p.resize((40, 56)), v2.Resize((40, 56))),
    "center_crop": (lambda p: p.center_crop((30, 44)), v2.CenterCrop((30, 44))),
    "pad": (lambda p: p.pad((3, 5, 7, 9)), v2.Pad([3, 5, 7, 9])),
    "flip": (lambda p: p.random_flip(1.0), v2.RandomHorizontalFlip(1.0)),
    "vertical": (lambda p: p.random_vertical_flip(1.0), v2.RandomVerticalFlip(1.0)),
    "rotation": (lambda p: p.random_rotation((30, 30)), v2.RandomRotation((30, 30))),
    "half": (lambda p: p.rotate(180), v2.RandomRotation((180, 180))),
    "affine": (lambda p: p.random_affine((20, 20), scale=(0.5, 0.5)), v2.RandomAffine((20, 20), scale=(0.5, 0.5))),
    "several": (
        lambda p: p.random_flip(1.0).color_jitter(0.4).rotate(15).center_crop(40).random_vertical_flip(1.0).resize((20, 30)),
        v2.Compose(
            [
                v2.RandomHorizontalFlip(1.0),
                v2.RandomRotation((15, 15)),
                v2.CenterCrop(40),
                v2.RandomVerticalFlip(1.0),
                v2.Resize((20, 30)),
            ]
        ),
    ),
}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", STEPS)
def test_points_are_where_torchvision_has_them(name, fuse):
    ours, theirs = STEPS[name]
    made = samples(dtype="float64" if fuse else "float32")
    for sample, row in zip(made, rows(ours(source(made).points()), fuse=fuse), strict=True):
        assert row["points"].dtype == sample["points"].dtype
        np.testing.assert_allclose(row["points"], moved(torch.from_numpy(sample["points"]), theirs), atol=1e-3)
        np.testing.assert_array_equal(row["boxes"], sample["boxes"])


@pytest.mark.parametrize("fuse", [True, False])
def test_points_follow_what_is_drawn_as_boxes_do(fuse):
    """The middles of boxes are points, and are where the middles of the moved boxes are."""
    made = samples(dtype="float64")
    for sample in made:
        sample["boxes"] = np.abs(sample["boxes"]) % 8 + np.array([20, 20, 26, 26])
        middle = (sample["boxes"][:, :2] + sample["boxes"][:, 2:]) / 2
        sample["points"] = np.repeat(middle[:, None], 3, 1)
    p = source(made).boxes(along="labels").points().random_affine(20, (0.1, 0.1), (0.8, 1.2), 10).random_perspective(0.0, 1.0)
    seen = 0
    for sample, row in zip(made, rows(p.random_rotate90().random_zoom_out(p=1.0), fuse=fuse), strict=True):
        middle = (row["boxes"][:, :2] + row["boxes"][:, 2:]) / 2
        np.testing.assert_allclose(row["points"], np.repeat(middle[:, None], 3, 1), atol=1e-6)
        seen += len(sample["boxes"])
    assert seen


def test_rows_of_points_go_with_their_boxes():
    """Points are moved, and those of dropped boxes are dropped. A third number of each stays."""
    made = samples(width=3)
    p = source(made).boxes(along=["labels", "points"]).points("points").points("pose").random_flip(1.0).center_crop(30)
    transform = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.CenterCrop(30)])
    dropped = 0
    for sample, row in zip(made, rows(p), strict=True):
        kept = row["labels"]
        for name, given in (("points", sample["points"][kept]), ("pose", sample["pose"])):
            np.testing.assert_allclose(row[name][..., :2], moved(torch.from_numpy(given[..., :2].copy()), transform), atol=1e-3)
            np.testing.assert_array_equal(row[name][..., 2], given[..., 2])
        dropped += len(sample["labels"]) - len(kept)
    assert dropped


def test_points_of_one_shape_are_stacked():
    made = samples()
    p = source(made).select("image", "pose").points("pose").rename(pose="joints").random_flip(1.0).resize((24, 32)).batch(4)
    with p.loader(epochs=1) as loader:
        got = np.concatenate([np.array(batch["joints"]) for batch in loader])
    transform = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.Resize((24, 32))])
    np.testing.assert_allclose(got, np.stack([moved(torch.from_numpy(s["pose"]), transform) for s in made]), atol=1e-3)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda p: p.points("point"), 'field is an unknown field "point": did you mean "points"'),
        (lambda p: p.points("labels"), r'field is "labels", which is int64 \[\?\]: must be float32 or float64 \[..., 2\], or \[..., 3\]'),
        (lambda p: p.points(image="boxes"), 'image is "boxes", which is .*: must be an image; put decode_image before it'),
        (lambda p: p.points().views(2, lambda v: v.random_flip()), 'copies "image" without its points: copy them too, before points'),
        (lambda p: p.points().ten_crop(4), 'makes several images of "image", and its points can go along with one only'),
        (lambda p: p.points().random_iou_crop(), "needs the boxes of image: put boxes before it"),
        (lambda p: hr.merge([p.points(), p]).random_flip(), "has images whose points follow it in some branches only"),
        (lambda p: hr.merge([p.points().boxes(), p.points()]).random_flip(), "has images whose boxes follow it in some branches only"),
    ],
)
def test_mistakes(wrong, says):
    with pytest.raises(RecipeError, match=says):
        wrong(source(samples(2))).loader()

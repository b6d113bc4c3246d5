"""Steps that go by boxes: parts that overlap with them, and those that are left out."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import RecipeError, SampleError

HEIGHT, WIDTH = 60, 80


def samples(n=24):
    rng = np.random.default_rng(40)
    made = []
    for i in range(n):
        image, mask = io.BytesIO(), io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).save(image, "PNG")
        Image.fromarray(rng.integers(0, 20, (HEIGHT, WIDTH), np.uint8)).save(mask, "PNG")
        boxes = (rng.uniform(0, 0.4, (i % 4, 1, 2)) + np.array([[0, 0], [0.2, 0.3]])) * (WIDTH, HEIGHT)
        made.append({"bytes": image.getvalue(), "mask": mask.getvalue(), "boxes": boxes.reshape(-1, 4), "labels": np.arange(i % 4)})
    return made


def source(made, first="image"):
    gives = {"bytes": bytes, "mask": bytes, "boxes": ("float64", (None, 4)), "labels": ("int64", (None,))}
    p = hr.source(made, gives=gives, seed=4)
    steps = {
        "image": lambda p: p.decode_image(field="bytes", to="image"),
        "mask": lambda p: p.decode_image(field="mask", color="mask", to="mask"),
    }
    for name in sorted(steps, key=lambda name: name != first):
        p = steps[name](p)
    return p.boxes(along="labels")


def rows(p, **options):
    with p.loader(epochs=1, **options) as loader:
        return [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in sample.items()} for sample in loader]


@pytest.mark.parametrize("fuse", [True, False])
def test_a_part_holds_the_centres_of_its_boxes(fuse):
    made = samples()
    p = source(made).random_flip(1.0, fields=["image", "mask"]).random_iou_crop(sampler_options=[0, 0.3], fields=["image", "mask"])
    cut = dropped = 0
    for i, row in enumerate(rows(p, fuse=fuse)):
        image, mask = (np.asarray(Image.open(io.BytesIO(made[i][field])))[:, ::-1] for field in ("bytes", "mask"))
        height, width = row["image"].shape[:2]
        # where the part was: the only place with its first row of pixels
        places = [
            (y, x)
            for y in range(HEIGHT - height + 1)
            for x in range(WIDTH - width + 1)
            if (image[y, x : x + width] == row["image"][0]).all()
        ]
        ((y, x),) = places
        np.testing.assert_array_equal(row["image"], image[y : y + height, x : x + width])
        np.testing.assert_array_equal(row["mask"], mask[y : y + height, x : x + width])
        flipped = made[i]["boxes"] * [-1, 1, -1, 1] + np.array([WIDTH, 0, WIDTH, 0])
        boxes = flipped[:, [2, 1, 0, 3]] - [x, y, x, y]
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        kept = ((centres > 0) & (centres < [width, height])).all(1)
        np.testing.assert_allclose(row["boxes"], boxes[kept].clip(0, [width, height] * 2))
        np.testing.assert_array_equal(row["labels"], made[i]["labels"][kept])
        if not len(boxes):
            assert (height, width) == (HEIGHT, WIDTH)
        cut += (height, width) != (HEIGHT, WIDTH)
        dropped += (~kept).sum()
    assert cut > 5
    assert dropped


def test_the_image_with_boxes_comes_first():
    p = source(samples(), first="mask").random_iou_crop(fields=["mask", "image"])
    with pytest.raises(SampleError, match='"mask" has no boxes: decode the image that has them before it'):
        rows(p, fuse=False)


@pytest.mark.parametrize("step", [lambda p: p.random_iou_crop(), lambda p: p.sanitize_boxes()])
def test_without_boxes_there_is_nothing_to_do(step):
    p = hr.source(samples(), gives={"bytes": bytes}).decode_image()
    with pytest.raises(RecipeError, match="needs the boxes of image: put boxes before it"):
        step(p).loader()


@pytest.mark.parametrize("fuse", [True, False])
def test_boxes_are_sanitized_as_torchvision_does(fuse):
    made = samples()
    for sample in made:
        sample["boxes"][:1] += 30  # some are beyond an edge
    p = source(made).sanitize_boxes(min_size=12, min_area=400, field="image").random_vertical_flip(1.0, field="image")
    dropped = 0
    for sample, row in zip(made, rows(p, fuse=fuse), strict=True):
        boxes = tv_tensors.BoundingBoxes(torch.from_numpy(sample["boxes"]), format="XYXY", canvas_size=(HEIGHT, WIDTH))
        given = {"boxes": boxes, "labels": torch.from_numpy(sample["labels"])}
        kept = v2.SanitizeBoundingBoxes(12, 400, labels_getter=lambda s: s["labels"])(given)
        want = v2.functional.vertical_flip(kept["boxes"])
        np.testing.assert_allclose(row["boxes"], want, atol=1e-9)
        np.testing.assert_array_equal(row["labels"], kept["labels"])
        dropped += len(sample["labels"]) - len(row["labels"])
    assert dropped


def test_a_larger_canvas_moves_boxes():
    made = samples()
    p = source(made).random_zoom_out((7, 8, 9), side_range=(2, 3), p=1.0, field="image")
    for i, row in enumerate(rows(p)):
        image = np.asarray(Image.open(io.BytesIO(made[i]["bytes"])))
        assert 2 * HEIGHT <= row["image"].shape[0] <= 3 * HEIGHT
        inner = (row["image"] != (7, 8, 9)).any(2)
        y, x = inner.any(1).argmax(), inner.any(0).argmax()
        np.testing.assert_array_equal(row["image"][y : y + HEIGHT, x : x + WIDTH], image)
        assert inner.sum() == (row["image"][y : y + HEIGHT, x : x + WIDTH] != (7, 8, 9)).any(2).sum()
        np.testing.assert_allclose(row["boxes"], made[i]["boxes"] + np.array([x, y, x, y]))

"""Random rotations, affine maps and perspectives: pixels, boxes and masks by one draw, which the ledger tells and replay repeats."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as v1
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import headrace as hr

BILINEAR, NEAREST = v1.InterpolationMode.BILINEAR, v1.InterpolationMode.NEAREST
HEIGHT, WIDTH = 60, 80
CORNERS = [[0, 0], [WIDTH - 1, 0], [WIDTH - 1, HEIGHT - 1], [0, HEIGHT - 1]]


def samples(n=12):
    rng = np.random.default_rng(39)
    made = []
    for i in range(n):
        image, mask = io.BytesIO(), io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).save(image, "PNG")
        Image.fromarray(rng.integers(0, 20, (HEIGHT, WIDTH), np.uint8)).save(mask, "PNG")
        edges = (rng.uniform(0, 0.4, (i % 4, 1, 2)) + np.array([[0, 0], [0.2, 0.3]])) * (WIDTH, HEIGHT)
        made.append({"bytes": image.getvalue(), "mask": mask.getvalue(), "boxes": edges.reshape(-1, 4), "labels": np.arange(i % 4)})
    return made


def source(made):
    gives = {"bytes": bytes, "mask": bytes, "boxes": ("float64", (None, 4)), "labels": ("int64", (None,))}
    p = hr.source(made, gives=gives, seed=4).decode_image(field="bytes", to="image").decode_image(field="mask", to="mask", color="mask")
    return p.boxes(along="labels").center_crop((HEIGHT, WIDTH), fields=["image", "mask"])  # so that batches have a shape


def affine(drawn):
    return [drawn["angle"], [drawn["dx"], drawn["dy"]], drawn["scale"], [drawn["shear_x"], drawn["shear_y"]]]


BOTH = {"fields": ["image", "mask"], "fill": 3}
# The step, and what torchvision does with what was drawn for it: the function and its arguments.
STEPS = {
    "random_rotation": (lambda p: p.random_rotation(40, filter="bilinear", **BOTH), lambda d: ("rotate", [d["angle"]])),
    "random_affine": (
        lambda p: p.random_affine(30, (0.2, 0.1), (0.7, 1.5), (-10, 10, 0, 5), filter="bilinear", **BOTH),
        lambda d: ("affine", affine(d)),
    ),
    "random_perspective": (
        lambda p: p.random_perspective(0.4, 0.8, **BOTH),
        lambda d: ("perspective", [CORNERS, np.reshape(d["corners"], (4, 2)).tolist()]) if d["moved"] else None,
    ),
}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", STEPS)
def test_what_is_drawn_makes_pixels_boxes_and_masks(name, fuse):
    step, theirs = STEPS[name]
    made = samples()
    with step(source(made)).batch(4, ragged=["boxes", "labels"]).loader(epochs=1, fuse=fuse) as loader:
        state = loader.state_dict()
        seen = [{k: [np.array(v) for v in batch[k]] for k in ("image", "mask", "boxes", "labels")} for batch in loader]
    moved = set()
    for n, ours in enumerate(seen):
        batch, rows = hr.replay(step(source(made)).batch(4, ragged=["boxes", "labels"]), state, n, fuse=fuse)
        for i, row in enumerate(rows):
            for field in ours:
                np.testing.assert_array_equal(batch[field][i], ours[field][i])
            sample = made[row["index"]]
            draws = [draw["values"] for draw in row["draws"] if draw["step"] == name]
            assert all(draw == draws[0] for draw in draws)
            does = theirs(draws[0])
            image, mask = (Image.open(io.BytesIO(sample[field])) for field in ("bytes", "mask"))
            boxes = tv_tensors.BoundingBoxes(torch.from_numpy(sample["boxes"]), format="XYXY", canvas_size=(HEIGHT, WIDTH))
            if does:
                function, args = does
                image = getattr(v1, function)(image, *args, interpolation=BILINEAR, fill=[3, 3, 3])
                mask = getattr(v1, function)(mask, *args, interpolation=NEAREST, fill=3)
                boxes = getattr(F, function)(boxes, *args)
                moved.add(n)
            assert np.abs(np.asarray(image).astype(int) - ours["image"][i]).max() <= 1
            np.testing.assert_array_equal(np.asarray(mask), ours["mask"][i])
            kept = v2.SanitizeBoundingBoxes(labels_getter=lambda s: s["labels"])(
                {"boxes": v2.ClampBoundingBoxes()(boxes), "labels": torch.from_numpy(sample["labels"])}
            )
            np.testing.assert_allclose(ours["boxes"][i], kept["boxes"], atol=0.01)
            np.testing.assert_array_equal(ours["labels"][i], kept["labels"])
    assert moved

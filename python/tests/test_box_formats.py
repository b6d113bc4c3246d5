"""Boxes in torchvision's other forms: by sides and middles, and turned ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import RecipeError

HEIGHT, WIDTH = 90, 100
STEPS = {
    "flip": (lambda p: p.random_flip(1.0), v2.RandomHorizontalFlip(1.0)),
    "vertical": (lambda p: p.random_vertical_flip(1.0), v2.RandomVerticalFlip(1.0)),
    "pad": (lambda p: p.pad((3, 5, 7, 9)), v2.Pad([3, 5, 7, 9])),
    "resize": (lambda p: p.resize((60, 130)), v2.Resize((60, 130))),
    "rotation": (lambda p: p.rotate(25), v2.RandomRotation((25, 25))),
    "affine": (lambda p: p.affine(10, (3, 4), 0.7, (8, 0)), v2.RandomAffine((10, 10), scale=(0.7, 0.7), shear=(8, 8))),
    "crop": (lambda p: p.center_crop((70, 80)), v2.CenterCrop((70, 80))),
}


def rows(boxes, form, steps, **options):
    made = [{"image": np.zeros((HEIGHT, WIDTH, 3), np.uint8), "boxes": some, "labels": np.arange(len(some))} for some in boxes]
    form_of_boxes = (str(boxes[0].dtype), (None, boxes[0].shape[1]))
    gives = {"image": ("uint8", (HEIGHT, WIDTH, 3)), "boxes": form_of_boxes, "labels": ("int64", (None,))}
    p = steps(hr.source(made, gives=gives).boxes(along="labels", format=form))
    with p.loader(epochs=1, **options) as loader:
        return [{name: np.array(sample[name]) for name in ("boxes", "labels")} for sample in loader]


def moved(boxes, form, transform):
    given = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format=form, canvas_size=(HEIGHT, WIDTH), clamping_mode=None)
    return transform({"image": tv_tensors.Image(torch.zeros(3, HEIGHT, WIDTH)), "boxes": given})["boxes"].numpy()


@pytest.mark.parametrize("form", ["XYWH", "CXCYWH"])
@pytest.mark.parametrize("name", STEPS)
def test_upright_forms_are_edges_by_other_numbers(name, form):
    rng, step = np.random.default_rng(1), STEPS[name][0]
    edges = [np.sort(rng.uniform(-9, 110, (i, 2, 2)), 1).reshape(i, 4).astype("float64") for i in range(6)]
    same = [v2.functional.convert_bounding_box_format(torch.from_numpy(e), "XYXY", form).numpy() for e in edges]
    for want, got in zip(rows(edges, "XYXY", step), rows(same, form, step), strict=True):
        back = v2.functional.convert_bounding_box_format(torch.from_numpy(got["boxes"]), form, "XYXY").numpy()
        np.testing.assert_allclose(back, want["boxes"], atol=1e-9)
        np.testing.assert_array_equal(got["labels"], want["labels"])


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("form", ["XYWHR", "CXCYWHR", "XYXYXYXY"])
@pytest.mark.parametrize("name", sorted(set(STEPS) - {"affine"}))
def test_turned_boxes_are_where_torchvision_has_them(name, form, fuse):
    rng, (step, theirs) = np.random.default_rng(2), STEPS[name]
    turned = [np.hstack([rng.uniform(40, 50, (i, 2)), rng.uniform(4, 15, (i, 2)), rng.uniform(-90, 90, (i, 1))]) for i in range(6)]
    boxes = [v2.functional.convert_bounding_box_format(torch.from_numpy(b), "CXCYWHR", form).numpy() for b in turned]
    for given, got in zip(boxes, rows(boxes, form, step, fuse=fuse), strict=True):
        want = moved(given, form, theirs)
        if form != "XYXYXYXY":  # a flip's angles are the same turn
            to = "XYXYXYXY"
            want, ours = (v2.functional.convert_bounding_box_format(torch.from_numpy(b), form, to).numpy() for b in (want, got["boxes"]))
        else:
            ours = got["boxes"]
        middle, other = (b.reshape(-1, 4, 2).mean(1) for b in (ours, want))
        np.testing.assert_allclose(middle, other, atol=1e-3)
        for one, two in zip(ours.reshape(-1, 4, 2), want.reshape(-1, 4, 2), strict=True):
            assert min(np.abs(one - np.roll(two, k, 0)).max() for k in range(4)) < 1e-3
        assert len(got["labels"]) == len(given)


def test_turned_boxes_that_leave_are_dropped():
    boxes = [np.array([[10, 10, 20, 8, 30], [90, 80, 20, 8, -30], [50, 45, 20, 8, 10], [50, 45, 20, 0.5, 10]], "float32")]
    (got,) = rows(boxes, "CXCYWHR", lambda p: p.center_crop((60, 60)))
    assert got["labels"].tolist() == [2]
    np.testing.assert_allclose(got["boxes"], [[30, 30, 20, 8, 10]], atol=1e-4)
    (got,) = rows(boxes, "CXCYWHR", lambda p: p.random_iou_crop(sampler_options=[0.0], min_scale=0.5))
    assert set(got["labels"]) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("CXCYWHR", r'field is "boxes", which is float32 \[\?, 4\]: must be float32 or float64 \[\?, 5\]: CXCYWHR of each box'),
        ("xywh", 'format is "xywh": did you mean "XYWH"'),
    ],
)
def test_mistakes(form, says):
    with pytest.raises(RecipeError, match=says):
        rows([np.zeros((1, 4), "float32")], form, lambda p: p.random_flip())

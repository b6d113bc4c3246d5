"""Whole batches whose images and labels are mixed with those before them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr

RNG = np.random.default_rng(6)
IMAGES = RNG.integers(0, 256, (40, 12, 18, 3), np.uint8)
LABELS = RNG.integers(0, 5, 40)


def source(images=IMAGES, n=40, seed=7):
    gives = {"image": (str(images.dtype), images.shape[1:]), "label": ("int64", ())}
    return hr.source([{"image": images[i], "label": LABELS[i]} for i in range(n)], gives=gives, seed=seed)


def batches(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{"image": np.array(b["image"]), "label": np.array(b["label"])} for b in loader]


def theirs(mixing, images, share):
    """What torchvision makes of a batch, with this share instead of one that it draws."""
    mixing._dist.sample = lambda _: torch.tensor([share])
    image = torch.from_numpy(images).permute(0, 3, 1, 2).float()
    return mixing(image, torch.from_numpy(LABELS[: len(images)]))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_mixup_is_torchvisions(dtype):
    images = IMAGES.astype(dtype)
    (got,) = batches(source(images).batch(40).mixup(0.8, classes=5))
    onehot = np.eye(5)[LABELS]
    before = np.roll(onehot, 1, axis=0)
    row = np.flatnonzero((onehot != before).any(axis=1))[0]
    share = float(got["label"][row] @ onehot[row])
    assert 0 < share < 1
    image, label = theirs(v2.MixUp(num_classes=5), images, share)
    assert got["image"].dtype == dtype
    assert np.abs(got["image"] - image.permute(0, 2, 3, 1).numpy()).max() <= (0.501 if dtype == "uint8" else 1e-4)
    assert np.allclose(got["label"], label.numpy(), atol=1e-6)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_cutmix_lays_a_rectangle_over(layout):
    images = IMAGES if layout == "NHWC" else np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
    for n in range(5):
        got = batches(source(images).batch(8).cutmix(1.0, classes=5))[n]
        image = got["image"] if layout == "NHWC" else got["image"].transpose(0, 2, 3, 1)
        own = IMAGES[8 * n : 8 * n + 8]
        other = np.roll(own, 1, axis=0)
        replaced = (image != own).any(axis=(0, 3))
        ys, xs = np.flatnonzero(replaced.any(axis=1)), np.flatnonzero(replaced.any(axis=0))
        if len(ys):
            assert replaced[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1].all()
        assert np.array_equal(image[:, replaced], other[:, replaced])
        share = 1 - replaced.mean()
        labels = np.eye(5)[LABELS[8 * n : 8 * n + 8]]
        assert np.allclose(got["label"], share * labels + (1 - share) * np.roll(labels, 1, axis=0), atol=1e-6)


def test_either_by_chance_and_neither():
    kinds = {"mixed": 0, "cut": 0, "same": 0}
    made = source().batch(2).mixup(1.0, classes=5, cutmix=1.0, p=0.8)
    for n, batch in enumerate(batches(made)):
        own = IMAGES[2 * n : 2 * n + 2]
        changed = (batch["image"] != own).any(axis=(0, 3))
        other = np.roll(own, 1, axis=0)
        taken = np.array_equal(batch["image"][:, changed], other[:, changed])
        kinds["same" if not changed.any() else "cut" if taken else "mixed"] += 1
    assert min(kinds["mixed"], kinds["cut"]) > 2


def test_a_batch_of_one_stays():
    for made in (source(n=3).batch(1).mixup(classes=5), source(n=3).batch(1).cutmix(classes=5)):
        for i, batch in enumerate(batches(made)):
            assert np.array_equal(batch["image"][0], IMAGES[i])
            assert np.array_equal(batch["label"], np.eye(5, dtype=np.float32)[LABELS[i : i + 1]])


def test_smoothing():
    (batch,) = batches(source(n=1).batch(1).mixup(classes=5, smoothing=0.1))
    assert np.allclose(batch["label"], 0.02 + 0.9 * np.eye(5)[LABELS[:1]])


def test_the_same_whoever_works():
    made = source().shuffle().batch(8).mixup(0.4, classes=5, cutmix=1.0)
    one = batches(made, workers=1)
    for other in (batches(made, workers=2), batches(made, fuse=False)):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a["image"], b["image"])
            assert np.array_equal(a["label"], b["label"])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: p.mixup(classes=5).batch(2), "mixes the images of a batch: put batch before it"),
        (lambda p: p.batch(2).mixup(), "needs classes: labels are whole numbers"),
        (lambda p: p.batch(2).mixup(classes=5, image="x"), 'image is "x": the batches have the fields'),
        (lambda p: p.batch(2).cutmix(classes=5, label="image"), 'label is "image"'),
        (lambda p: p.batch(2).cutmix(0, classes=5), "alpha is 0"),
    ],
)
def test_what_cannot_be(build, message):
    with pytest.raises(hr.RecipeError) as error:
        build(source()).loader()
    assert message in str(error.value)


def test_a_label_that_is_no_class():
    with pytest.raises(hr.HeadraceError) as error:
        batches(source().batch(40).mixup(classes=3))
    assert "the classes are 0 to 2" in str(error.value)

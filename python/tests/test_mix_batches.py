"""Whole batches whose images and labels are mixed with those before them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

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


def mixed(**more):
    return source().shuffle().batch(global_size=8, drop_last=True).mixup(0.4, classes=5, cutmix=1.0, **more)


def on(world, made=None, states=None, steps=None):
    """The global batches that so many ranks make, and the states of the ranks after some steps."""
    all, after = [], []
    for rank in range(world):
        with (made or mixed(group=2)).loader(epochs=1, rank=rank, world_size=world) as loader:
            if states:
                loader.load_state_dict(states)
            mine = []
            for batch in loader:
                mine.append({name: np.array(batch[name]) for name in ("image", "label")})
                if len(mine) == steps:
                    break
            all.append(mine)
            after.append(loader.state_dict())
    return [{name: np.concatenate([b[name] for b in parts]) for name in ("image", "label")} for parts in zip(*all, strict=True)], after


def equal(a, b):
    return len(a) == len(b) and all(np.array_equal(x[name], y[name]) for x, y in zip(a, b, strict=True) for name in x)


@pytest.mark.parametrize(("group", "cuts"), [(None, [3]), (2, range(1, 5))])
def test_a_state_cut_anywhere(group, cuts):
    made = mixed(group=group)
    whole, _ = on(1, made)
    for steps in cuts:
        first, (state,) = on(1, made, steps=steps)
        rest, _ = on(1, made, states=[state])
        assert equal(first + rest, whole)


def test_groups_are_mixed_alike_on_any_number_of_ranks():
    whole, _ = on(1)
    assert equal(on(2)[0], whole)
    assert equal(on(4)[0], whole)
    first, states = on(2, steps=2)
    rest, _ = on(4, states=states)
    assert equal(first + rest, whole)


def test_groups_are_batches_of_their_own():
    own = batches(source().batch(8))
    for batch, got in zip(own, batches(source().batch(8).mixup(0.8, classes=5, group=3)), strict=True):
        labels = np.eye(5, dtype=np.float32)[batch["label"]]
        for rows in (slice(0, 3), slice(3, 6), slice(6, 8)):
            a, b = batch["image"][rows].astype(float), np.roll(batch["image"][rows], 1, axis=0).astype(float)
            share = ((got["image"][rows] - b) * (a - b)).sum() / ((a - b) ** 2).sum()
            assert np.abs(share * a + (1 - share) * b - got["image"][rows]).max() < 1
            assert np.allclose(got["label"][rows], share * labels[rows] + (1 - share) * np.roll(labels[rows], 1, axis=0), atol=0.01)


def test_replay_tells_the_draws_of_each_group():
    made = source().batch(8).mixup(0.8, classes=5, group=4)
    with made.loader(epochs=1) as loader:
        state, first = loader.state_dict(), next(iter(loader))
        got = {name: np.array(first[name]) for name in ("image", "label")}
    looked_at = hr.replay(made, state, batch=0)
    assert np.array_equal(looked_at.batch["image"], got["image"])
    shares = [row["draws"][-1]["values"]["share"] for row in looked_at.rows]
    assert shares == [shares[0]] * 4 + [shares[4]] * 4
    assert shares[0] != shares[4]


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

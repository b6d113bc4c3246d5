"""Whole batches of which each image gets parts of others: mosaics, and objects that are copied."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from headrace.errors import RecipeError, SampleError

pytestmark = pytest.mark.usefixtures("one_engine")

HEIGHT, WIDTH = 24, 32
RNG = np.random.default_rng(5)
IMAGES = RNG.integers(0, 256, (24, HEIGHT, WIDTH, 3), np.uint8)
COUNTS = [i % 4 for i in range(24)]


def boxes_of(i):
    corner = np.random.default_rng(i).uniform(0, 16, (COUNTS[i], 2))
    return np.hstack([corner, corner + 8])


def mask_of(i):
    """The pixels of each box, of which later ones lie over earlier ones."""
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    for k, (x0, y0, x1, y1) in enumerate(boxes_of(i).astype(int)):
        mask[y0:y1, x0:x1] = k + 1
    return mask


def source(n=24, seed=3, images=IMAGES):
    gives = {
        "image": (str(images.dtype), images.shape[1:]),
        "mask": ("uint8", (HEIGHT, WIDTH)),
        "boxes": ("float64", (None, 4)),
        "labels": ("int64", (None,)),
    }
    rows = [{"image": images[i], "mask": mask_of(i), "boxes": boxes_of(i), "labels": np.arange(COUNTS[i]) + 10 * i} for i in range(n)]
    return hr.source(rows, gives=gives, seed=seed)


def batches(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(b[name]) for name in b if name != "key"} for b in loader]


def mosaic(x, y, images):
    """The four parts that meet at a point."""
    whole = np.empty_like(images[0])
    whole[:y, :x] = images[0][HEIGHT - y :, WIDTH - x :]
    whole[:y, x:] = images[1][HEIGHT - y :, : WIDTH - x]
    whole[y:, :x] = images[2][: HEIGHT - y, WIDTH - x :]
    whole[y:, x:] = images[3][: HEIGHT - y, : WIDTH - x]
    return whole


def places(i, rows, group):
    """The rows that image i of a batch has parts of."""
    first = i - i % group
    size = min(group, rows - first)
    return [first + (i - first - k) % size for k in range(4)]


@pytest.mark.parametrize("group", [None, 4])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_mosaics(layout, group):
    images = IMAGES if layout == "NHWC" else np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
    more = {} if group is None else {"group": group}
    p = source(22, images=images).bucket_batch([3], size=8).mosaic(boxes="boxes", along="labels", min_visibility=0.25, **more)
    with p.loader(epochs=1) as loader:
        state = loader.state_dict()
        made = [{name: np.array(b[name]) for name in b if name != "key"} for b in loader]
    seen = 0
    for n, batch in enumerate(made):
        rows = len(batch["image"])
        _, told = hr.replay(p, state, n)
        assert batch["boxes"].shape == (rows, 12, 4)
        for i in range(rows):
            draws = [d["values"] for d in told[i]["draws"] if d["step"] == "mosaic"]
            x, y = draws[-1]["x"], draws[-1]["y"]
            of = [8 * n + k for k in places(i, rows, group or rows)]
            image = batch["image"][i] if layout == "NHWC" else batch["image"][i].transpose(1, 2, 0)
            np.testing.assert_array_equal(image, mosaic(x, y, IMAGES[of]))

            want, labels = [], []
            areas = [(0, 0, x, y), (x, 0, WIDTH, y), (0, y, x, HEIGHT), (x, y, WIDTH, HEIGHT)]
            shifts = [(x - WIDTH, y - HEIGHT), (x, y - HEIGHT), (x - WIDTH, y), (x, y)]
            for k, (area, shift) in zip(of, zip(areas, shifts, strict=True), strict=True):
                for box, label in zip(boxes_of(k), np.arange(COUNTS[k]) + 10 * k, strict=True):
                    moved = box + np.array([*shift, *shift])
                    cut = np.concatenate([np.maximum(moved[:2], area[:2]), np.minimum(moved[2:], area[2:])])
                    w, h = cut[2:] - cut[:2]
                    if w >= 1 and h >= 1 and w * h >= 0.25 * 64:
                        want.append(cut)
                        labels.append(label)
            count = batch["boxes_length"][i]
            assert count == batch["labels_length"][i] == len(want)
            if want:
                np.testing.assert_allclose(batch["boxes"][i, :count], want)
            np.testing.assert_array_equal(batch["labels"][i, :count], labels)
            assert not batch["boxes"][i, count:].any()
            assert not batch["labels"][i, count:].any()
            seen += count
    assert seen > 20


def test_some_images_alone_and_a_batch_of_one():
    (batch,) = batches(source().select("image").batch(24).mosaic(p=0.5))
    same = [np.array_equal(a, b) for a, b in zip(batch["image"], IMAGES, strict=True)]
    assert 4 < sum(same) < 20
    for i, batch in enumerate(batches(source(3).bucket_batch([3], size=1).mosaic(boxes="boxes", along=["labels"]))):
        np.testing.assert_array_equal(batch["image"][0], IMAGES[i])
        assert batch["boxes_length"] == COUNTS[i]
        np.testing.assert_allclose(batch["boxes"][0, : COUNTS[i]], boxes_of(i))


def test_copied_objects_without_boxes_are_classes():
    (batch,) = batches(source().select("image", "mask").batch(24).copy_paste(0.5))
    laid = 0
    for i, (image, mask) in enumerate(zip(batch["image"], batch["mask"], strict=True)):
        own, other = mask_of(i), mask_of(i - 1 if i else 23)
        here = (mask == other) & (image == IMAGES[i - 1]).all(-1)
        numbers = [k for k in np.unique(other) if k and here[other == k].all()]
        over = np.isin(other, numbers)
        np.testing.assert_array_equal(mask, np.where(over, other, own))
        np.testing.assert_array_equal(image, np.where(over[..., None], IMAGES[i - 1], IMAGES[i]))
        laid += len(numbers)
    assert 6 < laid < 30


def test_copied_objects_bring_their_boxes():
    p = source().bucket_batch([3], size=8).copy_paste(0.6, boxes="boxes", along="labels")
    pasted = hidden = 0
    for n, batch in enumerate(batches(p)):
        for i in range(8):
            own, other = 8 * n + i, 8 * n + (i - 1) % 8
            count = batch["boxes_length"][i]
            labels, boxes, mask = batch["labels"][i, :count], batch["boxes"][i, :count], batch["mask"][i]
            assert batch["labels_length"][i] == count
            assert set(np.unique(mask)) <= set(range(count + 1))
            taken = mask_of(other)
            over = np.isin(taken, [label % 10 + 1 for label in labels if label // 10 == other])
            np.testing.assert_array_equal(batch["image"][i], np.where(over[..., None], IMAGES[other], IMAGES[own]))
            for k, (label, box) in enumerate(zip(labels, boxes, strict=True)):
                whose, number = divmod(int(label), 10)
                before = mask_of(whose) == number + 1
                after = before if whose == other else before & ~over
                np.testing.assert_array_equal(mask == k + 1, after)
                if (before == after).all():
                    np.testing.assert_allclose(box, boxes_of(whose)[number])
                else:
                    ys, xs = np.nonzero(after)
                    np.testing.assert_array_equal(box, [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1])
                    hidden += 1
                pasted += whose == other
            gone = set(range(COUNTS[own])) - {label % 10 for label in labels if label // 10 == own}
            for number in gone:  # all of it is under what was copied
                assert over[mask_of(own) == number + 1].all()
    assert pasted > 5
    assert hidden > 3


def test_a_batch_of_one_gets_no_objects():
    for i, batch in enumerate(batches(source(4).bucket_batch([3], size=1).copy_paste(1.0, boxes="boxes", along="labels"))):
        np.testing.assert_array_equal(batch["image"][0], IMAGES[i])
        np.testing.assert_array_equal(batch["mask"][0], mask_of(i))
        assert batch["boxes_length"] == COUNTS[i]


@pytest.mark.parametrize("step", [lambda p: p.mosaic(boxes="boxes", along="labels"), lambda p: p.copy_paste(boxes="boxes", along="labels")])
def test_the_same_whoever_works(step):
    p = step(source().shuffle().bucket_batch([3], size=6))
    one = batches(p, workers=1)
    for other in (batches(p, workers=2), batches(p, fuse=False)):
        for a, b in zip(one, other, strict=True):
            for name in a:
                np.testing.assert_array_equal(a[name], b[name])


def test_images_without_any_boxes():
    gives = {"image": ("uint8", (8, 8, 3)), "mask": ("uint8", (8, 8)), "boxes": ("float32", (None, 4))}
    image, mask, none = np.ones((8, 8, 3), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((0, 4), np.float32)
    rows = [{"image": image, "mask": mask, "boxes": none}] * 4
    p = hr.source(rows, gives=gives).bucket_batch([2], size=4)
    (batch,) = batches(p.mosaic(boxes="boxes").copy_paste(1.0, boxes="boxes"))
    assert batch["boxes_length"].tolist() == [0] * 4
    assert batch["boxes"].shape == (4, 16, 4)


def padded(p):
    return p.bucket_batch([3], size=2)


def stacked(p):
    return p.select("image", "mask").batch(2)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda p: p.mosaic(), "mixes the images of a batch: put batch before it"),
        (lambda p: stacked(p).mosaic(boxes="boxes"), 'boxes is "boxes": the batches have the fields image'),
        (lambda p: stacked(p).mosaic(along="labels"), "along goes with boxes: name these, too"),
        (lambda p: padded(p).mosaic(boxes="labels"), r'boxes is "labels", which is .*: must be float32 or float64 \[rows, n, 4\]'),
        (lambda p: padded(p).mosaic(boxes="boxes", along="mask"), r"along\[0\] is \"mask\", and there is no field mask_length"),
        (lambda p: stacked(p).copy_paste(mask="masks"), 'mask is "masks": the batches have the fields image'),
        (lambda p: stacked(p).copy_paste(mask="image"), r"must be uint8 or uint16 \[rows, 24, 32\], as the images are"),
    ],
)
def test_mistakes(wrong, says):
    with pytest.raises(RecipeError, match=says):
        wrong(source(4)).loader()


def test_lengths_that_do_not_fit():
    def halved(batch):
        batch["labels_length"] = batch["labels_length"] // 2
        return batch

    p = source(8).bucket_batch([3], size=8).map(halved).mosaic(boxes="boxes", along="labels")
    with p.loader(epochs=1) as loader, pytest.raises(SampleError, match='of "labels": it must have one for each'):
        list(loader)

"""Images of different sizes, of which nobody has said that they differ: the first one is not the measure of the others."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

SIZES = [(40, 30), (25, 60), (33, 33), (90, 20), (50, 50)]


def picture(n):
    height, width = SIZES[n % len(SIZES)]
    return np.random.default_rng(n).integers(0, 256, (height, width, 3), dtype="uint8")


SAMPLES = [{"image": picture(n), "n": n} for n in range(10)]


def turned(sample):
    """By Pillow, and without words of sizes."""
    return {**sample, "image": np.asarray(Image.fromarray(sample["image"]).rotate(90, expand=True))}


def cut(image):
    """Sizes that none of the samples before had."""
    return image[: image.shape[0] // 2]


def parts(sample):
    """Nothing of the first sample, two of others."""
    height = sample["image"].shape[0]
    if sample["n"]:
        yield {**sample, "image": sample["image"][: height // 3]}
        yield {**sample, "image": sample["image"][height // 3 :]}


class Pairs:
    """The larger of every two."""

    def __init__(self):
        self.kept = None

    def accumulate(self, sample):
        if self.kept is None:
            self.kept = sample
            return None
        kept, self.kept = self.kept, None
        return max(kept, sample, key=lambda s: s["image"].size)

    def flush(self):
        return None


SOURCE = hr.source(SAMPLES)
STEPS = {
    "source": lambda p: p,
    "map": lambda p: p.map(turned, workers=1),
    "two maps": lambda p: p.map(turned, workers=1).map(cut, fields="image", workers=1),
    "flat_map": lambda p: p.flat_map(parts, workers=1),
    "aggregate": lambda p: p.aggregate(Pairs),
    "filter": lambda p: p.filter(lambda sample: sample["n"] > 0, workers=1).map(turned, workers=1),
}


def count(name):
    return {"flat_map": 18, "aggregate": 5, "filter": 9}.get(name, 10)


@pytest.mark.parametrize("name", STEPS)
def test_a_later_step_makes_one_size(name):
    with STEPS[name](SOURCE).resize((24, 24)).batch(4).loader(epochs=1) as loader:
        assert loader.schema["image"].shape == (24, 24, 3)
        assert sum(len(batch["image"]) for batch in loader) == count(name)


def test_what_is_cut_out_is_that_of_each_image():
    with STEPS["map"](SOURCE).center_crop((12, 10)).batch(10).loader(epochs=1) as loader:
        (batch,) = loader
    for image, sample in zip(batch["image"], SAMPLES):
        whole = turned(sample)["image"]
        y, x = (whole.shape[0] - 12) / 2, (whole.shape[1] - 10) / 2
        assert any(
            np.array_equal(image, whole[top : top + 12, left : left + 10]) for top in {int(y), round(y)} for left in {int(x), round(x)}
        )


def test_a_function_that_makes_batches_is_given_what_there_is():
    def sizes(samples):
        return {"heights": np.array([sample["image"].shape[0] for sample in samples])}

    with STEPS["map"](SOURCE).batch(5, collate=sizes, workers=1).loader(epochs=1) as loader:
        assert [batch["heights"].tolist() for batch in loader] == [[width for _, width in SIZES]] * 2


def test_what_only_one_size_fits_keeps_the_first_one():
    alike = hr.source([{"image": picture(0), "n": n} for n in range(4)]).map(turned, workers=1)
    with alike.batch(4).loader(epochs=1) as loader:
        assert loader.schema["image"].shape == (30, 40, 3)
        assert next(iter(loader))["image"].shape == (4, 30, 40, 3)


@pytest.mark.parametrize("name", ["source", "map"])
def test_where_nothing_makes_one_size_the_error_says_what_would(name):
    with STEPS[name](SOURCE).batch(4).loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
        list(loader)
    assert caught.value.index == 1
    text = str(caught.value)
    shapes = ("[25, 60, 3]", "[40, 30, 3]") if name == "source" else ("[60, 25, 3]", "[30, 40, 3]")
    for part in ("image", *shapes, "must be resized or cropped to one before batch"):
        assert part in text, text

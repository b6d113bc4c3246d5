"""Each sample in its branch. The references are NumPy, and loops over lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from test_merge import noise, write

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def animals(tmp_path_factory) -> dict[str, list[str]]:
    return write(tmp_path_factory.mktemp("routes"), {"ant": 5, "bee": 4, "cat": 3})


def labelled(animals) -> list[tuple[str, int]]:
    """Files of all folders, mixed."""
    every = [(path, k) for k, paths in enumerate(animals.values()) for path in paths]
    return [every[i] for i in np.random.default_rng(1).permutation(len(every))]


def original(path: str, animals) -> np.ndarray:
    return noise(1000 * list(animals).index(Path(path).parent.name) + int(Path(path).stem))


def turned(p: hr.Pipeline) -> hr.Pipeline:
    return p.rotate90().center_crop(8)


def flipped(p: hr.Pipeline) -> hr.Pipeline:
    return p.random_flip(1).center_crop(8)


def cropped(p: hr.Pipeline) -> hr.Pipeline:
    return p.center_crop(8)


REFERENCE = {turned: lambda a: np.rot90(a)[2:10, 2:10], flipped: lambda a: a[:, ::-1][2:10, 2:10], cropped: lambda a: a[2:10, 2:10]}


def check(pipeline: hr.Pipeline, animals, taken, **options) -> None:
    """All samples come in the order of the source, and with the pixels of the branch that takes them."""
    with pipeline.batch(4).loader(epochs=2, **options) as loader:
        assert len(loader) == 3
        for _ in range(2):
            batches = list(loader)
            got = [(key, int(label)) for b in batches for key, label in zip(b["key"], b["label"], strict=True)]
            assert got == labelled(animals)
            images = np.concatenate([b["image"] for b in batches])
            for (key, label), image in zip(got, images, strict=True):
                np.testing.assert_array_equal(image, REFERENCE[taken(key, label)](original(key, animals)), key)


def test_by_label(animals):
    routed = hr.files(labelled(animals)).decode_image().route("label", [(0, turned), ([7, 2], flipped), cropped])
    check(routed, animals, lambda key, label: [turned, cropped, flipped][label])


def test_by_key(animals):
    routed = (
        hr.files(labelled(animals))
        .decode_image()
        .route("key", [(["**/ant/[0-2].png", "**/bee/*"], turned), ("**/ant/*", flipped), cropped])
    )

    def taken(key, label):
        if label == 1 or (label == 0 and int(Path(key).stem) < 3):
            return turned
        return flipped if label == 0 else cropped

    check(routed, animals, taken)


def test_before_decoding(animals):
    """Branches may decode, each in its way."""
    gray = lambda p: p.decode_image().grayscale(3).center_crop(8)  # noqa: E731
    routed = hr.files(labelled(animals)).route("label", [(1, gray), lambda p: p.decode_image().center_crop(8)])
    with routed.batch(12).loader(epochs=1) as loader:
        (batch,) = ({name: values[:] for name, values in b.items()} for b in loader)
    for key, label, image in zip(batch["key"], batch["label"], batch["image"], strict=True):
        want = original(key, animals)[2:10, 2:10]
        if label == 1:
            assert (image == image[..., :1]).all()
            want = np.round(want @ [0.299, 0.587, 0.114])[..., None]
        assert np.abs(image.astype(int) - want).max() <= (label == 1)


def test_routes_in_routes_and_in_merges(animals):
    inner = lambda p: p.route("key", [("**/[0-1].png", turned), flipped])  # noqa: E731
    routed = hr.files(labelled(animals)).decode_image().route("label", [(0, inner), cropped])

    def taken(key, label):
        if label != 0:
            return cropped
        return turned if int(Path(key).stem) < 2 else flipped

    check(routed, animals, taken)
    check(hr.merge([routed]), animals, taken)


def test_random_operations_draw_by_their_names(animals):
    """A branch that another one was put before gives the same pixels, as long as its steps keep their names."""

    def images(pipeline):
        with pipeline.batch(12).loader(epochs=1) as loader:
            return {key: image.tobytes() for b in loader for key, image in zip(b["key"], b["image"], strict=True)}

    source = hr.files(labelled(animals), seed=3).decode_image()
    chance = lambda p: p.random_crop(8).random_flip()  # noqa: E731
    alone = images(chance(source))
    assert images(source.route("label", [chance])) == alone
    both = images(source.route("label", [(0, chance), chance]))
    assert {key: v for key, v in both.items() if "/ant/" in key} == {key: v for key, v in alone.items() if "/ant/" in key}
    assert both != alone, "the second branch has steps of other names"

"""The same pixels, whatever works on them."""

from __future__ import annotations

import pytest

from conftest import augmented, digests, pipeline


def epochs(build, folder, **options):
    with build(folder).loader(epochs=2, **options) as loader:
        return digests(loader) + digests(loader)


@pytest.fixture(scope="module")
def expected(photos):
    return epochs(augmented, photos)


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_any_number_of_workers(photos, expected, workers):
    assert epochs(augmented, photos, workers=workers) == expected


def test_one_thread(photos, expected, monkeypatch):
    monkeypatch.setenv("GOMAXPROCS", "1")
    assert epochs(augmented, photos) == expected


def test_seeds(photos, expected):
    def load(build):
        with build.loader(epochs=1) as loader:
            batches = list(loader)
        return [k for b in batches for k in b["key"]], [b["image"].tobytes() for b in batches]

    keys, pixels = load(augmented(photos))
    other_keys, other_pixels = load(augmented(photos, seed=1))
    assert keys != other_keys
    assert pixels != other_pixels
    same, _ = load(pipeline(photos, seed=0))
    order_only, _ = load(pipeline(photos, seed=5))
    assert same == order_only, "shuffle(seed=1) alone decides the order"

"""Several consumers that share the data."""

from __future__ import annotations

import pytest

import headrace as hr
from conftest import digests, files_of, pipeline


def keys_of(build, **options):
    with build.loader(epochs=1, **options) as loader:
        return [list(b["key"]) for b in loader]


def test_global_batches_are_the_same_for_every_world(photos):
    def build():
        return hr.files(photos).shuffle().decode_image().resize(32).center_crop(32).batch(global_size=8)

    alone = keys_of(build())
    for world in (2, 4):
        parts = [keys_of(build(), rank=r, world_size=world) for r in range(world)]
        assert len({len(p) for p in parts}) == 1
        for i, batch in enumerate(alone[:-1]):
            assert [k for p in parts for k in p[i]] == batch
        assert sorted(k for p in parts for b in p for k in b)[:1]


@pytest.mark.parametrize("world", [2, 3, 5])
def test_ranks_share_all_samples_and_have_equal_numbers_of_batches(photos, world):
    parts = [keys_of(pipeline(photos), rank=r, world_size=world) for r in range(world)]
    assert len({len(p) for p in parts}) == 1
    seen = [k for p in parts for b in p for k in b]
    assert sorted(set(seen)) == files_of(photos)
    assert len(seen) - 46 < world


def test_the_environment_of_torchrun(photos, monkeypatch):
    expected = keys_of(pipeline(photos), rank=1, world_size=2)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert keys_of(pipeline(photos)) == expected
    assert keys_of(pipeline(photos), rank=0, world_size=1) == keys_of(pipeline(photos), world_size=1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rank": 2, "world_size": 2}, "rank"),
        ({"rank": -1, "world_size": 2}, "rank"),
        ({"world_size": 0}, "world_size"),
        ({"world_size": 2, "on_error": "skip"}, "on_error"),
    ],
)
def test_what_cannot_be_is_refused(photos, options, why):
    with pytest.raises(hr.RecipeError, match=why):
        pipeline(photos).loader(**options)


def test_ranks_resume(photos):
    with pipeline(photos).loader(epochs=1, rank=1, world_size=3) as loader:
        whole = digests(loader)
        loader_state = loader.state_dict()
    assert loader_state["world_size"] == 3
    with pipeline(photos).loader(epochs=1, rank=1, world_size=3) as loader:
        loop = iter(loader)
        head = digests([next(loop), next(loop)])
        state = loader.state_dict()
    with pipeline(photos).loader(epochs=1, rank=1, world_size=3) as loader:
        loader.load_state_dict(state)
        assert head + digests(loader) == whole

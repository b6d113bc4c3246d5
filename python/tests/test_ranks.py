"""Several consumers that share the data."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from conftest import files_of, pipeline
from headrace._recipe.defaults import settings
from headrace._recipe.group import on_this_machine

pytestmark = pytest.mark.usefixtures("one_engine")


def keys_of(build, **options):
    with build.loader(epochs=1, **options) as loader:
        return [list(b["key"]) for b in loader]


def test_the_environment_of_torchrun(photos, monkeypatch):
    expected = keys_of(pipeline(photos), rank=1, world_size=2)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert keys_of(pipeline(photos)) == expected
    assert keys_of(pipeline(photos), rank=0, world_size=1) == keys_of(pipeline(photos), world_size=1)


@pytest.mark.parametrize(
    ("environment", "local"),
    [
        ({"MASTER_ADDR": "localhost"}, 4),
        ({"MASTER_ADDR": "127.0.0.1"}, 4),
        ({"MASTER_ADDR": "10.0.0.1"}, None),
        ({}, None),
        ({"MASTER_ADDR": "localhost", "LOCAL_WORLD_SIZE": "2"}, None),
    ],
)
def test_ranks_that_met_at_the_address_of_this_machine_share_its_cores(monkeypatch, environment, local):
    for name in ("MASTER_ADDR", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert on_this_machine(4) == local
    config, _, _ = settings({"rank": 1, "world_size": 4, "local_world_size": local}, {})
    assert config["local_world_size"] == (local or int(environment.get("LOCAL_WORLD_SIZE", 1)))


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


def test_a_rank_without_enough_batches_says_so(own_photos):
    for photo in list(own_photos.rglob("*.jpg"))[:10]:
        photo.write_bytes(b"\xff\xd8\xff nothing")
    options = {"on_error": "skip", "max_errors": 10, "steps_per_epoch": 4}
    with pipeline(own_photos).loader(epochs=1, **options) as loader:
        seen = []
        with pytest.raises(hr.EpochTooShort, match="rank 0 has 2 batches in epoch 0, and steps_per_epoch is 4"):
            seen.extend(loop := iter(loader))
        assert len(seen) == 2
        with pytest.raises(hr.EpochTooShort):
            next(loop)


@pytest.mark.parametrize(("samples", "world", "size"), [(13, 4, 3), (12, 4, 3), (14, 4, 3), (3, 4, 2), (46, 3, 4)])
def test_uneven_ranks_see_every_sample_once(samples, world, size):
    """A batch less for the last ranks, and none of them sees what another has seen."""
    seen, lengths = [], []
    p = hr.source([{"n": i} for i in range(samples)], gives={"n": int}).shuffle().batch(size)
    for rank in range(world):
        with p.loader(epochs=2, rank=rank, world_size=world, uneven=True, workers=1) as loader:
            batches = list(loader)
            assert len(batches) == len(loader)
            seen += [int(n) for batch in batches for n in batch["n"]]
            lengths.append(len(batches))
            assert len(list(loader)) == len(loader)
    assert sorted(seen) == list(range(samples))
    assert sorted(lengths, reverse=True) == lengths
    assert lengths[0] - lengths[-1] == (1 if 0 < samples % (size * world) < world else 0)


def test_uneven_ranks_may_drop_samples(photos):
    p = hr.files(photos, label="parent").decode_image().resize((8, 8)).filter(lambda label: label != 0, fields="label").batch(4)
    with pytest.raises(hr.RecipeError, match="steps_per_epoch"):
        p.loader(rank=0, world_size=2)
    kept = 0
    for rank in (0, 1):
        with p.loader(epochs=1, rank=rank, world_size=2, uneven=True, workers=1) as loader:
            kept += sum(len(batch["label"]) for batch in loader)
    assert kept == sum("ant" not in path for path in files_of(photos))


@pytest.mark.parametrize(
    ("make", "times"),
    [
        (lambda s: s.map(lambda n: n + 1, fields="n").batch(3), 1),
        (lambda s: s.flat_map(lambda sample: [sample, sample]).batch(3), 2),
        (lambda s: s.batch(3, collate=lambda samples: {"n": [sample["n"] for sample in samples]}), 1),
    ],
    ids=["map", "flat_map", "collate"],
)
def test_uneven_ranks_call_functions_whose_types_are_found_out(make, times):
    p = make(hr.source([{"n": i} for i in range(13)]))
    counts = []
    for rank in (0, 1):
        with p.loader(epochs=1, rank=rank, world_size=2, uneven=True, workers=1) as loader:
            counts.append(sum(len(batch["n"]) for batch in loader))
    assert counts == [7 * times, 6 * times]


def test_what_uneven_ranks_cannot_have(photos):
    p = hr.files(photos).decode_image().resize((8, 8))
    with pytest.raises(hr.RecipeError, match="use only one of them"):
        p.batch(4).loader(uneven=True, steps_per_epoch=3)
    with pytest.raises(hr.RecipeError, match="drop_last leaves some out"):
        p.batch(4, drop_last=True).loader(uneven=True)
    with pytest.raises(hr.RecipeError, match="drop_last leaves some out"):
        hr.source([{"n": np.arange(2)}], gives={"n": ("int64", (None,))}).pack(8, 2, drop_last=True).loader(uneven=True)


def test_uneven_ranks_go_on_under_another_world_size():
    p = hr.source([{"n": i} for i in range(13)], gives={"n": int}).shuffle().batch(2)
    seen, states = [], []
    for rank in range(4):
        with p.loader(epochs=1, rank=rank, world_size=4, uneven=True, workers=1) as loader:
            seen += [int(n) for n in next(iter(loader))["n"]]
            states.append(loader.state_dict())
    for rank in range(3):
        with p.loader(epochs=1, rank=rank, world_size=3, uneven=True, workers=1) as loader:
            loader.load_state_dict(states)
            seen += [int(n) for batch in loader for n in batch["n"]]
    assert sorted(seen) == list(range(13))

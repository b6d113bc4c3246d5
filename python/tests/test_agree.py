"""Ranks with different numbers of batches, which agree through torch.distributed where an epoch ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from agree_pipelines import LANES, PIPELINES, filtered, in_buckets, numbers
from conftest import WHOLE, environment_of

PROGRAM = Path(__file__).with_name("agree_program.py")
WORLDS = (2, 3)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each process said, by the number of processes."""
    folder = tmp_path_factory.mktemp("worlds")
    worlds = (*WORLDS, *([4] if WHOLE else []))
    done = subprocess.run([sys.executable, PROGRAM, folder, *map(str, worlds)], env=environment_of(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {world: [json.loads((folder / f"{world}/{rank}.json").read_text()) for rank in range(world)] for world in worlds}


def alone(pipeline, rank, world, epoch, most, options):
    """The batches that a rank has in an epoch, without other ranks: more are asked for than there are."""
    batches = []
    with pipeline.loader(rank=rank, world_size=world, steps_per_epoch=most or 1000, workers=1, **options) as loader:
        loader.set_epoch(epoch)
        with contextlib.suppress(hr.EpochTooShort):
            batches.extend(batch["n"].tolist() for batch in loader)
    return batches


def whole_steps(rank, world, epoch):
    """The batches of a rank in steps that have one of each of its lanes, which are those of a sixth of the order."""
    lanes = []
    for lane in range(LANES)[rank * LANES // world : (rank + 1) * LANES // world]:
        with in_buckets(numbers(160).shard(lane, LANES)).loader(rank=0, world_size=1, workers=1) as loader:
            loader.set_epoch(epoch)
            lanes.append([batch["n"].tolist() for batch in loader])
    return [batches[step] for step in range(min(map(len, lanes))) for batches in lanes]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.usefixtures("one_engine")
def test_all_ranks_end_an_epoch_with_the_one_that_has_the_fewest_batches(ranks, name, world):
    pipeline, options = PIPELINES[name]
    said = [rank[name] for rank in ranks[world]]
    numbers = set()
    for epoch in range(3):
        if name == "buckets in lanes":
            all_of_it = [whole_steps(rank, world, epoch) for rank in range(world)]
        else:
            all_of_it = [alone(pipeline, rank, world, epoch, said[0]["most"], options) for rank in range(world)]
        fewest = min(map(len, all_of_it))
        numbers.add(fewest)
        assert [one["epochs"][epoch] for one in said] == [batches[:fewest] for batches in all_of_it]
        for one in said:
            assert one["agree"]
            assert (one["ends"][epoch]["epoch"], one["ends"][epoch]["batches"]) == (epoch + 1, 0), name
    assert len(numbers) > 1 or name != "filter", "epochs are to differ"
    assert len({one["most"] for one in said}) == 1 or name not in ("global", "pack")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_of_any_step_goes_on_as_if_nothing_had_been(ranks, name, world):
    for said in (rank[name] for rank in ranks[world]):
        places = [(epoch, n + 1) for epoch, batches in enumerate(said["epochs"]) for n in range(len(batches))]
        for (epoch, n), resumed in zip(places[:: 1 if WHOLE else 5], said["resumed"], strict=True):
            rest = [said["epochs"][epoch][n:], *said["epochs"][epoch + 1 :]]
            # At the end of an epoch the state is the beginning of the next, unless only
            # the next batch would have told that there is none.
            assert resumed in (rest, rest[1:]) if not rest[0] else resumed == rest


@pytest.mark.parametrize("world", WORLDS)
def test_what_a_loop_does_besides(ranks, world):
    for said in ranks[world]:
        want = said["filter"]["epochs"]
        assert said["prefetch"] == [want] * 3
        assert said["get"] == want[0]
        assert said["break"] == [want[0][:2], want[0][2:], want[1][:1], want[2]]
        assert said["again"] == want[:1], "after the failure of a rank"
        assert not said["alike"], "ranks with as many batches ask nobody"
        assert not said["even"]


@pytest.mark.parametrize("world", WORLDS)
def test_a_rank_without_samples_ends_every_epoch(ranks, world):
    for rank, said in enumerate(ranks[world]):
        assert said["none"] == [[], []]
        told = [f"headrace: rank {rank} has no batch in epoch 0, so no rank gets any"] if rank else []
        assert said["warned"] == told


@pytest.mark.parametrize("world", WORLDS)
def test_ranks_at_different_places_are_told(ranks, world):
    for said in ranks[world]:
        assert (
            "RankFailed: headrace: the ranks are not at the same place: one is in epoch 0 after 0 batches, one in epoch 1"
            in (said["another place"])
        )


@pytest.mark.parametrize("world", WORLDS)
def test_a_rank_that_fails_ends_the_others(ranks, world):
    errors = [said["failed"] for said in ranks[world]]
    (failed,) = [rank for rank, error in enumerate(errors) if error.startswith("SampleError: bad")]
    for rank, error in enumerate(errors):
        if rank != failed:
            assert error == f"RankFailed: headrace: rank {failed} failed, and this one cannot go on without it: its own error says why"


def test_a_rank_that_ends_ends_the_others(ranks):
    said = ranks[2][0]
    assert said["ended"].startswith(
        "RankFailed: headrace: another rank of this loader failed or ended, and this one cannot go on without it"
    )
    assert said["seconds"] < 60


def test_who_does_not_agree_is_refused(ranks):
    want = "set steps_per_epoch, or initialise torch.distributed before .loader(), so that ranks agree while they run"
    here = "this process is rank 0 of 2 in torch.distributed, and rank 0 of 3 here: give mesh= and dp="
    assert want in ranks[2][0]["another world"]
    assert here in ranks[2][0]["another world"]
    with pytest.raises(hr.RecipeError, match=r"initialise torch\.distributed") as refused:
        filtered().loader(rank=0, world_size=2)
    assert "this process" not in str(refused.value)


def test_a_length_that_ranks_agree_on_is_a_bound():
    with filtered()._start(CONFIG | {"agree": True}) as loader:
        assert loader.max_batches == 15
        with pytest.raises(TypeError, match=r"an epoch ends with the rank that has the fewest; loader\.max_batches is"):
            len(loader)


def test_a_recipe_does_not_say_that_ranks_agree():
    with filtered()._start(CONFIG | {"agree": True}) as loader:
        assert "agree" not in loader._settings()


CONFIG = {"epochs": 1, "rank": 0, "world_size": 2, "on_error": "raise"}


if WHOLE:  # a mesh imports a lot

    def test_pairs_of_a_mesh_agree_with_their_own_group(ranks):
        said = ranks[4]
        for rank, one in enumerate(said):
            assert one["ends"] == said[rank ^ 1]["ends"]
            assert one["mesh"] == said[rank ^ 1]["mesh"]
            for epoch in range(2):
                both = [alone(filtered(), dp, 2, epoch, 15, {}) for dp in range(2)]
                assert one["mesh"][epoch] == both[rank // 2][: min(map(len, both))]

"""Which states a restore needs, and what `headrace inspect` says that it reads again."""

from __future__ import annotations

import itertools
import json
import subprocess

import numpy as np
import pytest

import headrace as hr
from headrace._client.program import find_program


def numbers(n, begin=0):
    return hr.source([{"n": begin + i} for i in range(n)], gives={"n": int}, where="here")


def plus(n):
    return n + 1


def keep(n):
    return n % 3 > 0


def document(n):
    return np.full(1 + n * 37 % 13, n, np.int32)


def documents(p):
    return p.map(document, fields="n", to="x", where="here", gives={"x": ("int32", (None,))}).drop("key")


def twice(n):
    return [n, n]


def batches(loader, cut=None):
    return [batch["n"].tolist() for batch in itertools.islice(loader, cut)]


def after_two(p, rank, world):
    with p.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
        batches(loader, 2)
        return loader.state_dict()


ONE_IS_ENOUGH = {
    "shuffle": numbers(48).shuffle(),
    "map": numbers(48).map(plus, fields="n", where="here"),
    "window": numbers(48).shuffle(window=8),
    "a part": numbers(90).shuffle()[20:68],
    "split": numbers(96).split({"a": 0.5, "b": 0.5})["a"].shuffle(),
    "weighted": numbers(48).weighted([1.0 + i % 5 for i in range(48)]),
    "mix": hr.mix([(numbers(30).shuffle(), 0.7), (numbers(20, 100), 0.3)], until=48),
}


@pytest.mark.parametrize("kind", ONE_IS_ENOUGH)
@pytest.mark.usefixtures("one_engine")
def test_the_state_of_one_rank_is_enough(kind):
    p = ONE_IS_ENOUGH[kind].batch(global_size=8)
    with p.loader(epochs=1) as loader:
        rest = batches(loader)[2:]
    assert len(rest) > 2
    with p.loader(epochs=1, rank=2, world_size=4) as loader:
        batches(loader, 2)
        state = loader.state_dict()
    assert state["in_step"]
    for world in (1, 2, 4):
        ranks = []
        for rank in range(world):
            with p.loader(epochs=1, rank=rank, world_size=world) as loader:
                loader.load_state_dict(state)
                ranks.append(batches(loader))
        whole = [list(itertools.chain(*parts)) for parts in zip(*ranks, strict=True)]
        assert whole == rest


ALL_ARE_NEEDED = {
    "a size for each rank": numbers(48).shuffle().batch(2),
    "merge": hr.merge([numbers(24), numbers(24, 100)]).batch(4),
    "filter": numbers(60).filter(keep, fields="n", where="here").batch(2),
    "filter in lanes": numbers(60).filter(keep, fields="n", where="here").batch(global_size=8),
    "flat_map in lanes": numbers(30).flat_map(twice, fields="n", where="here", gives={"n": int}).batch(global_size=8),
    "pack in lanes": documents(numbers(60)).pack(16, global_size=8),
}


@pytest.mark.parametrize("kind", ALL_ARE_NEEDED)
@pytest.mark.usefixtures("one_engine")
def test_where_the_states_of_all_ranks_are_needed_the_missing_ones_are_named(kind):
    p = ALL_ARE_NEEDED[kind]
    states = [after_two(p, rank, 4) for rank in range(4)]
    assert not any(state["in_step"] for state in states)
    with p.loader(epochs=1, rank=0, world_size=2, uneven=True) as loader:
        for given, missing in (((2,), "0, 1, 3"), ((0, 2, 3), "1")):
            with pytest.raises(hr.StateMismatch) as refused:
                loader.load_state_dict([states[rank] for rank in given])
            # Of lanes a rank needs the states of those that had its own.
            if "lanes" in kind:
                missing = {"0, 1, 3": "0, 1", "1": "1"}[missing]
            word = "ranks" if "," in missing else "rank"
            assert f"none of {word} {missing}" in str(refused.value)
        loader.load_state_dict(states)
        assert batches(loader)


HOLDING = {
    "pack": documents(numbers(300)).pack(16, 4),
    "pack in lanes": documents(numbers(300)).pack(16, global_size=4),
    "bucket_batch": documents(numbers(300)).bucket_batch([4, 8, 16], size=4, by="x"),
    "batch": numbers(100).batch(4),
    "filter": numbers(100).filter(keep, fields="n", where="here").batch(4),
}


@pytest.mark.parametrize("kind", HOLDING)
@pytest.mark.usefixtures("one_engine")
def test_what_is_read_again_is_told_beforehand(kind, tmp_path):
    """Samples are numbered in their order: those below the last given one, and not given, were read and are held."""
    with HOLDING[kind].loader(epochs=1) as loader:
        given = {int(n) for batch in itertools.islice(loader, 9) for n in np.ravel(_numbers(batch))}
        state = loader.state_dict()
    (tmp_path / "state.json").write_text(json.dumps(state))
    done = subprocess.run([find_program(), "inspect", "--json", tmp_path / "state.json"], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert (told["epoch"], told["batches"]) == (0, 9)
    lanes = max(1, len(state["sources"]))
    held = 0
    for lane in range(lanes):
        mine = sorted(n for n in given if n % lanes == lane)
        between = range(lane, mine[-1], lanes)
        held += sum(n not in given and (kind != "filter" or keep(n)) for n in between)
    assert told["again"] == held
    assert (held > 0) == (kind in ("pack", "pack in lanes", "bucket_batch"))


def _numbers(batch):
    """The numbers of a batch's samples."""
    if "x_segment_ids" in batch:
        return batch["x"][batch["x_segment_ids"] > 0]
    return batch["n"]

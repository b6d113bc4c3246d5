"""Batches in branches of a route, and in what a merge combines."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import headrace as hr
from conftest import some

pytestmark = pytest.mark.usefixtures("one_engine")


def values(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [value.tolist() if isinstance(value, np.ndarray) else value for value in loader]


def count(*given):
    return hr.source(range(*given), where="here")  # workers would take longer to start than all else


def numbers(n=14, where="here"):
    return hr.source([{"x": i, "name": f"n{i}"} for i in range(n)], gives={"x": int, "name": str}, where=where)


def parity(sample):
    return sample["x"] % 2


def lists(batch):
    return {"text": " ".join(f"{name}:{x}" for name, x in zip(batch["name"], batch["x"].tolist(), strict=True))}


def test_a_batch_comes_at_the_place_of_its_last_sample_and_the_rest_at_the_end():
    p = count(14).route(lambda x: x % 2, [lambda p: p.batch(3), lambda p: p.batch(2, drop_last=True)], where="here")
    assert values(p) == [[1, 3], [0, 2, 4], [5, 7], [6, 8, 10], [9, 11], [12]]


def test_functions_of_such_batches_find_out_what_they_return_in_their_branch():
    p = numbers().route(
        parity, [lambda p: p.batch(3).map(lists, where="here"), lambda p: p.batch(2).map(lists, where="here")], where="here"
    )
    whole = ["n1:1 n3:3", "n0:0 n2:2 n4:4", "n5:5 n7:7", "n6:6 n8:8 n10:10", "n9:9 n11:11", "n12:12", "n13:13"]
    assert [value["text"] for value in values(p)] == whole


def inference(where="here"):
    """Two models with batches of their own sizes, and a batch of what both have made."""
    models = [
        lambda p: p.batch(3).map(lambda b: b * 10, where=where, workers=1, gives=("int64", (None,))).unbatch(),
        lambda p: p.map(lambda x: -x, where=where, workers=1, gives=int).batch(2).unbatch(),
    ]
    return count(15).route("_", [(list(range(0, 15, 2)), models[0]), models[1]]).batch(4)


@pytest.mark.parametrize("order", ["input", "completion"])
def test_runs_go_on_after_every_batch(order):
    whole = [[-1, -3, 0, 20], [40, -5, -7, 60], [80, 100, -9, -11], [120, 140, -13]]
    for cut in (0, 1, 3):
        with inference().loader(epochs=1, order=order) as loader:
            begun = [batch.tolist() for batch in itertools.islice(loader, cut)]
            state = pickle.loads(pickle.dumps(loader.state_dict()))
        with inference().loader(epochs=1, order=order) as loader:
            loader.load_state_dict(state)
            all_of = begun + [batch.tolist() for batch in loader]
        if order == "input":
            assert all_of == whole, cut
        assert sorted(itertools.chain(*all_of)) == sorted(itertools.chain(*whole)), cut


def test_what_a_merge_combines_may_be_batches():
    one = count(5).map(lambda x: x * x, where="here")
    two = count(10, 15).map(lambda x: x + 100, where="here")
    assert values(hr.merge([one.batch(2), two.batch(3)])) == [[0, 1], [110, 111, 112], [4, 9], [113, 114], [16]]
    assert values(hr.merge([one.batch(2), two.batch(1)]).unbatch()) == [0, 1, 110, 4, 9, 111, 16, 112, 113, 114]
    full = [p.batch(2, drop_last=True) for p in (one, two)]
    assert values(hr.merge(full).batch(2)) == [
        [[0, 1], [110, 111]],
        [[4, 9], [112, 113]],
    ]


def test_samples_beside_batches():
    """Where their types are alike. What would stack them says which is which."""
    one = count(5).batch(2)
    two = count(10, 14).map(lambda x: np.array([x, -x]), where="here")
    assert values(hr.merge([one, two])) == [[0, 1], [10, -10], [2, 3], [11, -11], [4], [12, -12], [13, -13]]
    assert values(hr.merge([one, two]).flat_map(lambda b: list(b), where="here")) == [0, 1, 10, -10, 2, 3, 11, -11, 4, 12, -12, 13, -13]
    assert values(hr.merge([one, two]).unbatch().batch(8)) == [[0, 1, 10, -10, 2, 3, 11, -11], [4, 12, -12, 13, -13]]
    with pytest.raises(
        hr.RecipeError, match=r'makes batches of samples and of batches: of\[0\] gives batches, made by "batch", and of\[1\] gives'
    ):
        values(hr.merge([one, two]).batch(2))
    branches = [lambda p: p.batch(2), lambda p: p]
    wrong = r'branches\[1\] gives samples, but branches\[0\] gives batches, made by "batch": end branches\[0\] with unbatch, or'
    with pytest.raises(hr.RecipeError, match=wrong):
        values(count(5).route(lambda x: x % 2, branches, where="here"))


@pytest.mark.parametrize("where", some(["process", "here", "thread"], 2))
def test_a_function_makes_the_batches(where):
    def joined(samples):
        return {"sum": sum(s["x"] for s in samples), "names": "+".join(s["name"] for s in samples)}

    def first(samples):
        return {"sum": samples[0]["x"], "names": ""}

    def both(p):
        return p.batch(3, collate=joined, where=where)

    p = numbers(8, where).route(parity, [both, lambda p: p.batch(2, collate=first, where=where)], where=where)
    assert [(int(v["sum"]), v["names"]) for v in values(p)] == [(1, ""), (6, "n0+n2+n4"), (5, ""), (6, "n6")]
    merged = hr.merge([both(numbers(4)), both(numbers(2))])
    assert [v["names"] for v in values(merged)] == ["n0+n1+n2", "n0+n1", "n3"]


def test_a_collate_of_a_rare_branch_is_tried_with_other_samples():
    p = numbers(3).route(
        lambda s: int(s["x"] > 100), [lambda p: p.batch(2, collate=lambda samples: {"x": len(samples)}, where="here")] * 2, where="here"
    )
    assert [int(v["x"]) for v in values(p)] == [2, 1]


def fails_on_four(samples):
    if any(s["x"] == 4 for s in samples):
        raise ValueError("no four")
    return {"x": np.array([s["x"] for s in samples])}


def test_a_batch_that_fails_is_lost_with_its_samples():
    p = numbers(8).route(parity, [lambda p: p.batch(2, collate=fails_on_four, where="here")] * 2, where="here")
    with pytest.raises(hr.SampleError, match=r"(?s)no four.*the first of 2 samples that batch was given"):
        values(p)
    with p.loader(epochs=1, on_error="skip") as loader:
        assert [v["x"].tolist() for v in loader] == [[0, 2], [1, 3], [5, 7]]
        assert loader.errors.total == 2
    with pytest.raises(hr.RecipeError, match=r'"replace".*"batch_2" makes samples from several'):
        values(p, on_error="replace")


def test_a_collate_is_tried_again():
    tries = []

    def at_the_second_try(samples):
        tries.append(samples[0]["x"])
        if tries.count(samples[0]["x"]) == 1:
            raise OSError("again")
        return {"x": samples[0]["x"]}

    p = hr.merge([numbers(3).batch(2, collate=at_the_second_try, gives={"x": int}, where="here", workers=1).failures(retries=1)])
    assert [int(v["x"]) for v in values(p)] == [0, 2]
    assert sorted(tries) == [0, 0, 2, 2]


def test_a_step_that_fails_names_the_first_sample_of_its_batch():
    p = count(8).route(lambda x: x % 2, [lambda p: p.batch(2).map(lambda b: 1 // int((b - 6).prod()), where="here")] * 2, where="here")
    with pytest.raises(hr.SampleError, match=r"(?s)ZeroDivisionError.*of 4, in map_2, epoch 0, position 4"):
        values(p)


def test_little_memory_is_enough_in_every_branch():
    """Batches of one branch wait for younger samples than those of another, which need memory, too."""

    def brighter(b):
        return {"i": b["i"], "image": b["image"] + 1}

    images = [{"image": np.full((60, 50, 3), i, np.uint8), "i": i} for i in range(40)]
    branches = [
        lambda p: p.batch(7).map(brighter, where="here", workers=3).unbatch(),
        lambda p: p.batch(2).map(brighter, where="here", workers=3).unbatch(),
    ]
    p = hr.source(images, where="here").route(lambda s: int(s["i"] % 3 == 0), branches, where="here")
    p = p.map(lambda s: {"i": s["i"], "mean": s["image"].mean()}, where="here", workers=3).batch(5)
    whole = values(p)
    assert sorted(i for batch in whole for i in batch["i"].tolist()) == list(range(40))
    tight = values(p, memory=100_000, workers=3)
    for a, b in zip(whole, tight, strict=True):
        assert a["i"].tolist() == b["i"].tolist()
        assert b["mean"].tolist() == [i + 1 for i in b["i"]]
    with pytest.raises(hr.RecipeError, match=r'memory is 50000 bytes, and one batch of "batch", of 7 rows, takes 63'):
        values(p, memory=50_000)


def test_what_is_said_of_it():
    p = count(12).route(lambda x: x % 2, [lambda p: p.batch(3).unbatch()] * 2, where="here").batch(2)
    with p.loader(epochs=1) as loader:
        assert len(list(loader)) == 6
        stages = {stage["name"]: stage for stage in loader.stats()["stages"]}
        assert loader.max_batches is None
        with pytest.raises(TypeError, match="number of batches"):
            len(loader)
    assert (stages["group batch"]["in"], stages["batch"]["in"], stages["unbatch"]["in"]) == (6, 2, 2)
    with pytest.raises(hr.RecipeError, match=r"batch inside merge or route, with world_size 2.*set steps_per_epoch"):
        values(p, rank=0, world_size=2)
    assert values(p, rank=0, world_size=2, steps_per_epoch=2) == [[0, 4], [8, 1]]  # of 0, 1, 4, 5, 8, 9


def test_functions_begin_no_more_than_prefetch_says():
    begun = []
    branches = [lambda p: p.batch(3).unbatch(), lambda p: p.batch(2).unbatch()]
    p = count(200).map(lambda x: (begun.append(x), x)[1], where="here", workers=1, gives=int)
    p = p.route(lambda x: x % 2, branches, where="here").map(lambda x: x, where="here", workers=1, gives=int).batch(4)
    with p.loader(epochs=1, prefetch=1, workers=1) as loader:
        batches = iter(loader)
        next(batches)
        assert len(begun) <= 2 * 4 + 1 + 5 * (3 + 2)  # and of each branch the batch it gathers, those on their way, and one taken apart

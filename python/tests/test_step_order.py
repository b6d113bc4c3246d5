"""The order of a step of its own: order= of map, filter and flat_map."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")


def values(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [value.tolist() if isinstance(value, np.ndarray) else value for value in loader]


class Gate:
    """Holds sample 0 until another one has come through."""

    def __init__(self, of=0):
        self.of, self.passed = of, threading.Event()

    def __call__(self, x):
        if x == self.of:
            assert self.passed.wait(20)
        return x

    def opens(self, x):
        if x == self.of + 3:
            self.passed.set()
        return x


def passing(gate, n=8, **more):
    p = hr.source(range(n), where="here").map(gate, where="here", workers=2, gives=int, order="completion", **more)
    return p.map(gate.opens, where="here", workers=1, gives=int)


def test_fast_samples_pass_slow_ones_in_one_step():
    """Sample 0 waits for one that only comes if it may pass; the next step keeps the order that it gets."""
    got = values(passing(Gate()))
    assert sorted(got) == list(range(8))
    assert got[0] != 0
    batches = values(passing(Gate()).batch(4))
    assert 0 not in batches[0][:2]
    assert sorted(itertools.chain(*batches)) == list(range(8))


@pytest.mark.parametrize("order", [None, "input"])
def test_a_step_keeps_its_order_where_the_loader_does_not(order):
    first = []

    def slow(x):
        if not first:
            first.append(x)
            time.sleep(0.2)
        return x

    p = hr.source(range(24), where="here").map(slow, where="here", workers=3, gives=int, order=order)
    got = values(p, order="completion")
    assert sorted(got) == list(range(24))
    assert (got.index(first[0]) < 6) is (order == "input")


def test_such_a_step_is_called_apart_from_others():
    a = hr.source(range(4)).map(lambda x: x).map(lambda x: x).map(lambda x: x, order="completion").map(lambda x: x, order="completion")
    with a.batch(2).loader(epochs=1, rank=0, world_size=1) as loader:
        names = [stage["name"] for stage in loader.stats()["stages"]]
    assert names[-2:] == ["map_3+map_4", "batch"]  # and no part of what writes into the batch, whose rows keep their order


def test_samples_come_once_wherever_a_run_is_cut():
    def twice(x):
        yield x
        yield -x

    def pipeline():
        p = hr.source(range(1, 25)).map(lambda x: x, where="thread", workers=4, gives=int, order="completion")
        p = p.filter(lambda x: x % 5, where="thread", workers=2, order="completion")
        return p.flat_map(twice, where="thread", workers=2, gives=int, order="completion").batch(3)

    whole = sorted(itertools.chain(*([x, -x] for x in range(1, 25) if x % 5)))
    for cut in (0, 1, 5):
        with pipeline().loader(epochs=1) as loader:
            begun = [batch.tolist() for batch in itertools.islice(loader, cut)]
            state = loader.state_dict()
        with pipeline().loader(epochs=1) as loader:
            loader.load_state_dict(state)
            rest = [batch.tolist() for batch in loader]
        assert sorted(itertools.chain(*begun, *rest)) == whole, cut


def test_those_that_passed_others_are_given_memory_first():
    """Sample 0 holds bytes, and comes after others now that need more than there are."""
    small = [{"x": np.full(100, i, np.uint8), "i": i} for i in range(12)]

    def slow(sample):
        if sample["i"] % 6 == 0:
            time.sleep(0.1)
        return {"x": sample["x"] + 0, "i": sample["i"]}

    def large(sample):
        yield {"i": sample["i"], "x": np.full(150_000, sample["i"], np.uint8)}

    p = hr.source(small).map(slow, where="thread", workers=4, order="completion").flat_map(large, where="thread", workers=1)
    p = p.map(lambda s: {"i": s["i"], "mean": s["x"].mean()}, where="thread", workers=1).batch(4)
    with p.loader(epochs=1, memory=100_000, workers=2) as loader:
        got = sorted((int(i), float(mean)) for batch in loader for i, mean in zip(batch["i"], batch["mean"], strict=True))
    assert got == [(i, float(i)) for i in range(12)]


def test_what_is_refused():
    one = lambda p: p.map(lambda x: x, order="completion")  # noqa: E731
    with pytest.raises(hr.RecipeError, match=r'order is "completion" inside "route", after which samples keep their order'):
        values(hr.source(range(4)).route(lambda x: x % 2, [one, lambda p: p]))
    with pytest.raises(hr.RecipeError, match="order is 'random': must be 'input' or 'completion'"):
        hr.source(range(4)).map(lambda x: x, order="random")
    with pytest.raises(hr.RecipeError, match=r'where="main" takes no order='):
        hr.source(range(4)).batch(2).map(lambda b: b, where="main", order="input")
    assert values(hr.merge([one(hr.source(range(2))), hr.source(range(2))])) in ([0, 0, 1, 1], [1, 0, 0, 1])

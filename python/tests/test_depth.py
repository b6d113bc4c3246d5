"""What has begun when a loop has taken a batch: no more than `prefetch` says."""

from __future__ import annotations

import asyncio
import os
import time

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE

EVERYWHERE = ["process", "thread", "here", "async"]
DEPTHS = [(1, 1), (32, 1), (8, 0), (3, 4)]  # sizes of batches, and how many are ahead
DEPTH_OF_PLACE = [(where, *depth) for where in EVERYWHERE for depth in DEPTHS] if WHOLE else [(w, *d) for w, d in zip(EVERYWHERE, DEPTHS)]


class Calls:
    """Counts calls in a folder, as they come from any process."""

    def __init__(self, folder):
        self.folder = str(folder)

    def note(self, x):
        with open(f"{self.folder}/{x}", "a") as f:
            f.write(".")

    def __len__(self):
        return sum(os.path.getsize(f"{self.folder}/{name}") for name in os.listdir(self.folder))

    def settled(self):
        """How many there are when none is made any more."""
        before, quiet = -1, 0
        while quiet < 8:
            time.sleep(0.05)
            now = len(self)
            before, quiet = now, quiet + 1 if now == before else 0
        return before


@pytest.fixture
def calls(tmp_path):
    return Calls(tmp_path)


def mapped(source, calls, where, workers):
    if where == "async":

        async def f(x):
            calls.note(x)
            await asyncio.sleep(0.001)
            return x

        return source.map(f, workers=workers, gives=int)

    def f(x):
        calls.note(x)
        return x

    return source.map(f, workers=workers, where=where, gives=int)


@pytest.mark.parametrize(("where", "size", "prefetch"), DEPTH_OF_PLACE)
def test_calls_ahead_are_bounded(calls, where, size, prefetch):
    workers = 2
    pipeline = mapped(hr.source(range(1200)), calls, where, workers).batch(size)
    with pipeline.loader(epochs=1, prefetch=prefetch, memory="256MiB") as loader:
        loop = iter(loader)
        for taken in range(1, 4):
            next(loop)
            begun = calls.settled()
            assert taken * size <= begun <= (taken + prefetch) * size + workers
        assert sum(len(batch) for batch in loop) == 1200 - 3 * size


def test_nothing_begins_before_it_is_asked_for(calls):
    with mapped(hr.source(range(100)), calls, "process", 2).batch(10).loader(epochs=1, prefetch=0) as loader:
        assert calls.settled() == 0
        loop = iter(loader)
        for taken in range(1, 4):
            next(loop)
            assert calls.settled() == 10 * taken


class Numbers:
    """Items that are counted when they are taken."""

    def __init__(self, calls, n=200):
        self.calls, self.n = calls, n

    def __iter__(self):
        for i in range(self.n):
            self.calls.note(i)
            yield np.int64(i)


class Table(Numbers):
    __iter__ = None

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.calls.note(i)
        return np.int64(i)


@pytest.mark.parametrize("where", ["process", "thread", "here"] if WHOLE else ["here"])
@pytest.mark.parametrize("kind", [Numbers, Table])
@pytest.mark.parametrize("mapped", [False, True])
def test_sources_are_bounded(calls, where, kind, mapped):
    source = hr.source(kind(calls), where=where, gives=np.int64)
    if mapped:
        source = source.map(lambda x: x + 1, where=where, gives=int)
    with source.batch(5).loader(epochs=1, prefetch=1, workers=1) as loader:
        loop = iter(loader)
        for taken in range(1, 4):
            next(loop)
            assert taken * 5 <= calls.settled() <= (taken + 1) * 5 + 2
        assert sum(len(batch) for batch in loop) == 185


def test_after_a_step_that_makes_several(calls):
    def several(x):
        calls.note("several")
        return [x * 10 + i for i in range(10)]

    def one(x):
        calls.note("one")
        return x

    pipeline = hr.source(range(100)).flat_map(several, gives=int, workers=1).map(one, gives=int, workers=1).batch(10)
    with pipeline.loader(epochs=1, prefetch=1) as loader:
        next(iter(loader))
        calls.settled()
        assert os.path.getsize(f"{calls.folder}/one") <= 2 * 10 + 1
        assert os.path.getsize(f"{calls.folder}/several") <= 2 * 10 + 1


def _odd(x):
    return x % 3 != 0


def _bad(x):
    if x % 7 == 0:
        raise ValueError("bad")
    return x


def _ragged(x):
    return {"ids": np.arange(x % 5 + 1)}


class Pairs:
    """Sums of two."""

    def __init__(self):
        self.held = []

    def accumulate(self, x):
        self.held.append(x)
        if len(self.held) == 2:
            yield sum(self.held)
            self.held = []

    def flush(self):
        yield from self.held


def _joined(samples):
    return {"x": np.concatenate([sample["ids"] for sample in samples])}


def _shapes():
    at = {"gives": int, "where": "here"}
    numbers = hr.source(range(60), where="here")
    bad = numbers.map(_bad, **at)
    tens = hr.source(range(100, 160)).map(_bad, **at)
    rows = {"gives": ("int64", (None,)), "where": "here"}
    sequences = numbers.map(_ragged, gives={"ids": ("int64", (None,))}, where="here")
    labelled = hr.source([{"kind": "ab"[i % 2], "x": i} for i in range(60)], gives={"kind": str, "x": int}, where="here")
    return {
        "filter": numbers.filter(_odd, where="here").batch(4),
        "loss": bad.batch(4),
        "retries": bad.failures(retries=1).batch(4),
        "merge": hr.merge([numbers, tens]).batch(4),
        "weights": hr.mix([bad, hr.source(range(100, 160))], weights=[0.9, 0.1], until=70).batch(16),
        "route": labelled.route("kind", [("a", lambda p: p.map(_bad, fields="x", **at)), lambda p: p]).batch(4),
        "flat_map": numbers.flat_map(lambda x: [x] * (x % 4), **at).batch(4),
        "aggregate": numbers.aggregate(Pairs(), gives=int).map(_bad, **at).batch(4),
        "batches": bad.batch(4, drop_last=True).map(lambda b: b * 2, where="here").batch(2),
        "unbatch": numbers.batch(4).map(lambda b: b * 2, **rows).unbatch().map(_bad, **at).batch(6),
        "collate": bad.batch(4, collate=lambda items: {"x": np.array(items)}, where="here"),
        "collated buckets": sequences.bucket_batch([2, 5], size=9, collate=_joined, where="here"),
        "pack": sequences.pack(16, size=2),
        "buckets": sequences.bucket_batch([2, 5], size=4),
        "single": bad,
    }


@pytest.mark.parametrize(("order", "prefetch"), [("input", 1), ("completion", 0), ("input", 3)] if WHOLE else [("completion", 0)])
@pytest.mark.parametrize("shape", _shapes())
def test_every_shape_of_pipeline_comes_to_its_end(shape, order, prefetch):
    """Filters, losses, merges, routes, groups and batches of batches get on with as few samples as are let in."""
    ends = []
    for ahead in (prefetch, None):
        with _shapes()[shape].loader(epochs=2, prefetch=ahead, order=order, on_error="skip", max_errors=0.5) as loader:
            ends.append([sum(1 for _ in loader) for _ in range(2)])
    assert ends[0] == ends[1]


def test_a_depth_does_not_change_what_comes():
    pipeline = hr.source(range(100)).shuffle().map(lambda x: x * 2, gives=int, where="here").batch(7)
    found = []
    for prefetch in (None, 0, 1, 5):
        with pipeline.loader(epochs=2, prefetch=prefetch) as loader:
            found.append([batch.tolist() for _ in range(2) for batch in loader])
    assert found[1:] == found[:1] * 3


def test_a_run_that_goes_on_elsewhere_begins_with_as_few(calls):
    """Samples on their way when a loop moves are those of no other."""
    with mapped(hr.source(range(300)), calls, "here", 2).batch(5).loader(epochs=2, prefetch=1) as loader:
        for epoch in (1, 0):
            loader.set_epoch(epoch)
            before = calls.settled()
            next(iter(loader))
            assert calls.settled() <= before + 2 * 5 + 2

"""What the statistics say of stages that are functions of Python: they are about workers, of which each has many samples in hand."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

import headrace as hr

EACH = 0.01  # seconds


def slow(sample):
    time.sleep(EACH)
    return sample


def slow_parts(sample):
    for _ in range(2):
        time.sleep(EACH / 2)
        yield sample


async def slow_service(sample):
    await asyncio.sleep(EACH)
    return sample


def slow_batch(samples):
    time.sleep(EACH)
    return {"x": np.stack([s["x"] for s in samples])}


class SlowSource:
    def __len__(self):
        return 200

    def __getitem__(self, i):
        time.sleep(EACH)
        return {"x": np.full(4, i)}


class SlowSum:
    def accumulate(self, sample):
        time.sleep(EACH)
        return sample

    def flush(self):
        return None


def quick(sample):
    return sample


SOURCE = [{"x": np.full(4, i)} for i in range(200)]
PIPELINES = {
    "map": (lambda: hr.source(SOURCE).map(slow, workers=2).batch(4), "map+batch"),
    "map, threads": (lambda: hr.source(SOURCE).map(slow, workers=2, where="thread").batch(4), "map+batch"),
    "filter": (lambda: hr.source(SOURCE).filter(slow, workers=2).batch(4), "filter"),
    "flat_map": (lambda: hr.source(SOURCE).flat_map(slow_parts, workers=2).batch(4), "flat_map"),
    "aggregate": (lambda: hr.source(SOURCE).aggregate(SlowSum).batch(4), "aggregate"),
    "collate": (lambda: hr.source(SOURCE).batch(2, collate=slow_batch), "batch"),
    "source": (lambda: hr.source(SlowSource()).map(quick, workers=2).batch(4), "read"),
}


def stage_of(stats, name):
    (stage,) = [s for s in stats["stages"] if s["name"] == name]
    return stage


@pytest.mark.parametrize("kind", PIPELINES)
def test_the_slow_stage_limits(kind):
    """However many samples wait for its workers, it takes the time of one for each, and the others are not busy."""
    make, name = PIPELINES[kind]
    with make().loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        started = loader.stats()
        for _ in loop:
            pass
        stats = loader.stats(since=started)
        stage = stage_of(loader.stats(), name)
    assert EACH * 0.9e9 < stage["mean_ns"] < EACH * 4e9
    assert EACH * 0.9e9 < stage["p50_ns"] < EACH * 4e9
    assert stats["limits"] == name, stats
    for other in stats["stages"]:
        shares = other["shares"]
        assert sum(shares.values()) == pytest.approx(1)
        assert (shares["busy"] > 0.5) == (other["name"] == name), stats


def test_coroutines_have_their_own_time():
    """A worker waits for many at once, and each call learns of as if it were alone."""
    with hr.source(SOURCE).map(slow_service, workers=8).batch(4).loader(epochs=1) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
    stage = stage_of(stats, "map+batch")
    assert len(SOURCE) * EACH * 0.9e9 <= stage["busy_ns"] <= 8 * stats["elapsed_ns"]
    assert stage["p50_ns"] >= EACH * 0.9e9


LONG = 0.3  # seconds; much more than a busy machine is late by


def dozing(sample):
    time.sleep(LONG)
    return sample


async def awaiting(sample):
    await asyncio.sleep(LONG)
    return sample


@pytest.mark.parametrize("where", ["process", "thread"])
def test_a_coroutine_that_waits_is_told_of_as_a_function_that_does(where):
    """The same waits, as many at once: the same verdict, and the time of one of them, not of the four that are under way."""
    told = {}
    for function in (dozing, awaiting):
        with hr.source(SOURCE[:16]).map(function, workers=4, where=where).batch(4).loader(epochs=1) as loader:
            loop = iter(loader)
            next(loop)
            started = loader.stats()
            for _ in loop:
                pass
            told[function] = loader.stats(since=started)["limits"], stage_of(loader.stats(), "map+batch")["p50_ns"]
    (verdict, plain), (verdict_of_async, of_async) = told.values()
    assert verdict == verdict_of_async == "map+batch"
    for p50 in (plain, of_async):
        assert LONG * 0.9e9 <= p50 < 2 * LONG * 1e9


def test_what_fails_takes_time_too():
    failing_all = hr.source(SOURCE[:20]).map(failing, workers=1, gives={"x": ("int64", (4,))}).batch(4)
    with failing_all.loader(epochs=1, on_error="skip", max_errors=20) as loader:
        assert list(loader) == []
        stage = stage_of(loader.stats(), "map+batch")
    assert stage["lost"] == 20
    assert 20 * EACH * 0.9e9 < stage["busy_ns"] < 20 * EACH * 4e9


def failing(sample):
    time.sleep(EACH)
    raise ValueError("bad sample")


def hanging(sample):
    time.sleep(60)
    return sample


def test_what_hangs_has_taken_its_time():
    hangs = hr.source(SOURCE[:2]).map(hanging, workers=1, gives={"x": ("int64", (4,))}).failures(on_error="skip", time_limit=1)
    with hangs.batch(4).loader(epochs=1) as loader:
        assert list(loader) == []
        stage = stage_of(loader.stats(), "map+batch")
    assert stage["lost"] == 2
    assert 1.9e9 < stage["busy_ns"] < 20e9
    assert stage["p50_ns"] > 0.9e9

"""Functions that are coroutines: what is told of their time, and what becomes of one that takes too long."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter

import pytest

import headrace as hr

SAMPLES = [{"n": n} for n in range(160)]


def slow(n):
    time.sleep(0.1)
    return n


async def waits(n):
    await asyncio.sleep(0.1)
    return n


def statistics_of(function):
    step = hr.source(SAMPLES[:160]).map(function, fields="n", gives=int, workers=4, where="thread")
    with step.batch(8).loader(epochs=1) as loader:
        assert [int(n) for batch in loader for n in batch["n"]] == list(range(160))
        return loader.stats()


def test_coroutines_are_told_of_as_threads_are():
    """Each call is timed from its own start, so that the verdict is the same."""
    stats = {f.__name__: statistics_of(f) for f in (slow, waits)}
    for name, told in stats.items():
        assert told["limits"].startswith("map"), name
        (step,) = [s for s in told["stages"] if s["name"].startswith("map")]
        assert step["p50_ns"] >= 90e6, name  # and not the fourth part of it


@pytest.mark.parametrize("chained", [False, True], ids=["alone", "chain"])
def test_a_time_limit_cancels_one_coroutine(tmp_path, chained):
    """The others that run beside it go on: none is called again, and the worker stays."""
    calls = tmp_path / "calls"

    async def fetch(n):
        with open(calls, "a") as f:
            f.write(f"{n} {os.getpid()}\n")
        await asyncio.sleep(3600 if n == 13 else 0.2)
        return n

    pipeline = hr.source(SAMPLES[:40])
    if chained:
        pipeline = pipeline.map(waits, fields="n", gives=int, workers=20)
    pipeline = pipeline.map(fetch, fields="n", gives=int, workers=20).failures(time_limit=5)
    with pipeline.batch(1).loader(epochs=1, on_error="skip") as loader:
        got = [int(batch["n"][0]) for batch in loader]
        (lost,) = loader.errors
    assert got == [n for n in range(40) if n != 13]
    assert lost.index == 13
    assert "took longer than its time limit of 5s; the call was cancelled" in str(lost)
    assert "in fetch" in str(lost)  # where it was
    lines = [line.split() for line in calls.read_text().splitlines()]
    assert Counter(n for n, _ in lines) == Counter(str(n) for n in range(40))
    assert len({pid for _, pid in lines}) == 1


@pytest.mark.parametrize("chained", [False, True], ids=["alone", "chain"])
def test_coroutines_beside_each_other_print_under_their_own_steps(caplog, chained):
    async def early(n):
        print("early", n)  # noqa: T201
        await asyncio.sleep(0.01 * (n % 3))
        print("early", n)  # noqa: T201
        return n

    async def late(n):
        await asyncio.sleep(0.01 * (n % 2))
        print("late", n)  # noqa: T201
        return n

    caplog.set_level(logging.INFO)
    pipeline = hr.source(SAMPLES[:12]).map(early, fields="n", gives=int).map(late, fields="n", gives=int)
    with pipeline.batch(4).loader(epochs=1, fuse=chained) as loader:
        list(loader)
    said = Counter((record.name, record.getMessage().split()[0]) for record in caplog.records)
    assert said == {("headrace.worker.map", "early"): 24, ("headrace.worker.map_2", "late"): 12}


def test_a_coroutine_that_does_not_let_itself_be_cancelled():
    """It blocks its worker, which is ended, as for any other function; the rest is done again."""

    async def blocks(n):
        if n == 5:
            time.sleep(3600)
        return n

    pipeline = hr.source(SAMPLES[:12]).map(blocks, fields="n", gives=int, workers=4).failures(time_limit=1)
    with pipeline.batch(1).loader(epochs=1, on_error="skip") as loader:
        got = [int(batch["n"][0]) for batch in loader]
        (lost,) = loader.errors
    assert got == [n for n in range(12) if n != 5]
    assert lost.index == 5
    assert "its worker (process" in str(lost)


def test_what_a_coroutine_does_with_its_own_timeouts_is_its_own(tmp_path):
    async def impatient(n):
        await asyncio.wait_for(asyncio.sleep(3600), 0.01)

    pipeline = hr.source(SAMPLES[:2]).map(impatient, fields="n", gives=int).failures(time_limit=60)
    with pytest.raises(hr.SampleError, match="TimeoutError"), pipeline.batch(1).loader(epochs=1) as loader:
        list(loader)

"""Functions that are coroutines: what learns of their time, and what becomes of one that takes too long."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections import Counter

import numpy as np
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


class InFlight:
    """Sleeps, and writes how many calls of it there were at once."""

    def __init__(self, path, most):
        self.path, self.most = path, most
        self.now = self.top = 0

    async def __call__(self, n):
        self.now += 1
        self.top = max(self.top, self.now)
        await asyncio.sleep(0.001 * (n % 7))
        self.now -= 1
        return n

    async def close(self):
        await asyncio.sleep(0)
        self.path.write_text(str(self.top))


@pytest.mark.parametrize("where", ["process", "thread"])
def test_never_more_calls_in_flight_than_were_asked_for(tmp_path, where):
    """And not fewer, though calls take unlike long: each one that ends makes room for the next."""
    function = InFlight(tmp_path / "top", 24)
    pipeline = hr.source([{"n": n} for n in range(600)]).map(function, fields="n", gives=int, workers=24, where=where)
    with pipeline.batch(50).loader(epochs=1) as loader:
        assert [int(n) for batch in loader for n in batch["n"]] == list(range(600))
    assert (tmp_path / "top").read_text() == "24"


@pytest.mark.parametrize("workers", [None, 8])
@pytest.mark.parametrize("chained", [False, True], ids=["alone", "chain"])
def test_a_slow_call_holds_nobody_back(tmp_path, workers, chained):
    """It ends when all the others were handed on: it waits for a file that is written then."""
    go = tmp_path / "go"

    async def fetch(n):
        while n == 3 and not go.exists():
            await asyncio.sleep(0.01)
        return n

    async def same(n):
        return n

    pipeline = hr.source([{"n": n} for n in range(300)])
    if chained:
        pipeline = pipeline.map(same, fields="n", gives=int, workers=workers)
    pipeline = pipeline.map(fetch, fields="n", gives=int, workers=workers)
    got = []
    with pipeline.batch(1).loader(epochs=1, order="completion") as loader:
        for batch in loader:
            got.append(int(batch["n"][0]))
            if len(got) == 290:  # the last ones may be on their way
                go.write_text("")
    assert sorted(got) == list(range(300))
    assert got.index(3) >= 290


@pytest.mark.parametrize("size", [100, 40_000])
def test_results_of_calls_beside_each_other_are_their_own(size):
    """Small ones travel with messages, large ones in memory of the engine's, some of which has to be asked for."""

    gives = {"x": ("int64", (size,)), "name": str, "drawn": int}

    async def draw(n, rng):
        await asyncio.sleep(0.001 * (n * 37 % 11))
        drawn = rng.integers(0, 1 << 30)
        return np.full(size, n), f"name {n}" * (1 + n % 3 * size // 50), int(drawn)

    def drawn(workers):
        pipeline = hr.source([{"n": n} for n in range(120)]).map(draw, fields="n", to=("x", "name", "drawn"), gives=gives, workers=workers)
        with pipeline.batch(1).loader(epochs=1) as loader:
            numbers = []
            for n, batch in enumerate(loader):
                (x,) = batch["x"]
                assert (x == n).all()
                assert batch["name"][0] == f"name {n}" * (1 + n % 3 * size // 50)
                numbers.append(int(batch["drawn"][0]))
            return numbers

    numbers = drawn(1)
    assert len(set(numbers)) == 120
    assert drawn(16) == numbers


async def fills(n, out):
    await asyncio.sleep(0.001 * (n * 37 % 11))
    out[...] = n
    return out


@pytest.mark.parametrize("chained", [False, True], ids=["alone", "chain"])
def test_each_call_has_memory_of_its_own_for_its_result(chained):
    pipeline = hr.source([{"n": n} for n in range(100)])
    if chained:
        pipeline = pipeline.map(waits_a_little, fields="n", gives=int, workers=16)
    pipeline = pipeline.map(fills, fields="n", to="x", gives={"x": ("int64", (2000,))}, workers=16)
    with pipeline.batch(10).loader(epochs=1) as loader:
        rows = [row for batch in loader for row in batch["x"].copy()]
    assert [set(row.tolist()) for row in rows] == [{n} for n in range(100)]


async def waits_a_little(n):
    await asyncio.sleep(0.001 * (n % 5))
    return n


def test_more_calls_in_flight_while_a_loop_runs():
    """`set_workers` widens what one event loop does at once."""
    seen = []

    async def together(n):
        if n >= 200:  # when one process is left, which has them all
            seen.append(n)
            while len(seen) < 24:
                await asyncio.sleep(0.005)
        return n

    pipeline = hr.source([{"n": n} for n in range(224)]).map(together, fields="n", gives=int, workers=4)
    with pipeline.batch(4).loader(epochs=1) as loader:
        got = []
        for batch in loader:
            got += map(int, batch["n"])
            if len(got) == 4:
                loader.set_workers(24, stage="map")
        assert got == list(range(224))


class Numbers:
    """An asynchronous generator that says when it was closed."""

    def __init__(self, path):
        self.path = path

    async def __call__(self, sample=None):
        first = 1000 * sample["n"] if sample else 0
        try:
            for i in range(1000):
                await asyncio.sleep(0)
                yield {"n": first + i}
        finally:
            await asyncio.sleep(0)  # only aclose() comes this far
            with open(self.path, "a") as f:
                f.write("closed\n")


def test_asynchronous_generators_are_sources_and_parts(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    with hr.source(Numbers(whole), gives={"n": int}).batch(100).loader(epochs=1) as loader:
        assert [int(n) for batch in loader for n in batch["n"]] == list(range(1000))
    assert whole.read_text() == "closed\n"
    pipeline = hr.source(SAMPLES[:3]).flat_map(Numbers(parts), gives={"n": int})
    with pipeline.batch(100).loader(epochs=1) as loader:
        assert [int(n) for batch in loader for n in batch["n"]] == list(range(3000))
    assert parts.read_text() == 3 * "closed\n"


@pytest.mark.parametrize("step", ["source", "flat_map"])
def test_an_asynchronous_generator_is_closed_where_the_loop_is_left(tmp_path, step):
    path = tmp_path / "closed"
    numbers = Numbers(path)
    pipeline = hr.source(numbers) if step == "source" else hr.source(SAMPLES[:1]).flat_map(numbers, gives={"n": int})
    with pipeline.batch(2).loader(epochs=1, prefetch=1) as loader:
        for batch in loader:
            assert batch["n"].tolist() == [0, 1]
            break
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(path.read_text().split()) == {"closed"}


def test_long_results_come_whole_from_many_calls():
    """They are written where the engine says, which it is asked for while packs for other calls come."""

    async def long(n):
        await asyncio.sleep(0.001 * (n * 37 % 11))
        return bytes([n % 251]) * (n * 977 % 40_000)

    def wrong(data, n):
        return bytes(data) != bytes([n % 251]) * (n * 977 % 40_000)

    pipeline = hr.source([{"n": n} for n in range(2000)]).map(long, fields="n", to="data", gives=bytes, workers=32)
    pipeline = pipeline.map(wrong, fields=["data", "n"], to="wrong", gives=bool, where="thread").drop("data")
    with pipeline.batch(100).loader(epochs=1) as loader:
        assert not any(batch["wrong"].any() for batch in loader)


def test_calls_that_ask_for_memory_do_not_stop_the_loop(monkeypatch):
    """What asyncio's loop was about to take may have been read meanwhile by one that waited for its answer. uvloop has another order."""

    async def fetch(n):
        await asyncio.sleep(0)
        time.sleep(0.005)  # the engine sends the next calls, and this one goes on before they are taken
        await asyncio.sleep(0)
        return bytes(100_000 + n)

    monkeypatch.setitem(sys.modules, "uvloop", None)
    with hr.source(range(50)).map(fetch, workers=8, where="here").loader(epochs=1) as loader:
        for n in range(50):
            assert len(loader.get(timeout=20)) == 100_000 + n

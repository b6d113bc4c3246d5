"""Batches for a program with an event loop, which goes on while it waits for them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time

import pytest

import headrace as hr
from conftest import WHOLE, pipeline
from headrace._loader import deadline
from headrace._loader.awaited import Attempt
from test_get import gated, value

pytestmark = pytest.mark.usefixtures("one_engine")


def keys(batches):
    return [list(batch["key"]) for batch in batches]


async def epoch(loader):
    return [batch async for batch in loader]


def numbers(n=64, size=1, **options):
    return hr.source(range(n), gives=int, where="here").batch(size).loader(epochs=1, **options)


@pytest.mark.parametrize("prefetch", [None, 0])
def test_epochs_are_those_of_plain_loops(photos, prefetch):
    with pipeline(photos).loader(epochs=2) as loader:
        expected = [keys(loader) for _ in range(2)]

    async def run(loader):
        return [keys(await epoch(loader)) for _ in range(2)]

    with pipeline(photos).loader(epochs=2, prefetch=prefetch) as loader:
        assert asyncio.run(run(loader)) == expected
        with pytest.raises(hr.EpochsExhausted):
            asyncio.run(epoch(loader))


def test_other_tasks_run_while_no_batch_is_ready(tmp_path):
    ticks = 0

    async def run(loader):
        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.002)
                ticks += 1
                if ticks % 20 == 0:
                    (tmp_path / str(ticks // 20 - 1)).touch()

        ticking = asyncio.create_task(tick())
        got = [value(batch) async for batch in loader]
        ticking.cancel()
        return got

    with gated(tmp_path, batches=3).loader(epochs=1) as loader:
        assert asyncio.run(run(loader)) == [0, 1, 2]
        assert ticks >= 60  # else the files were never made, and this would not end
        stats = loader.stats()
        assert stats["start_ns"] + stats["waited_ns"] > 60e6


def test_other_tasks_run_while_batches_are_always_ready():
    async def run(loader):
        await loader.aget()
        time.sleep(0.05)  # the next one is made, and nobody has to wait for it
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await loader.aget()
        assert turns

    with numbers() as loader:
        asyncio.run(run(loader))


def test_a_time_limit_loses_nothing(tmp_path):
    async def run(loader):
        for i in range(4):
            for timeout in (0, 0.02):
                began = time.monotonic()
                with pytest.raises(TimeoutError, match=f"no batch was ready within {timeout} s; none is lost") as caught:
                    await loader.aget(timeout=timeout)
                assert time.monotonic() - began >= timeout
                assert isinstance(caught.value, hr.NotReady)
            (tmp_path / str(i)).touch()
            assert value(await loader.aget(timeout=60)) == i
        with pytest.raises(StopAsyncIteration):
            await loader.aget()
        with pytest.raises(hr.EpochsExhausted):
            await loader.aget()

    with gated(tmp_path).loader(epochs=1) as loader:
        asyncio.run(run(loader))


@pytest.mark.parametrize("prefetch", [None, 0])
def test_a_cancelled_task_loses_nothing(prefetch):
    """At whatever moment it is cancelled."""
    n = 2000 if WHOLE else 100
    got = []
    cancelled = 0
    drawn = random.Random(1)

    async def take(loader):
        got.append(int((await loader.aget())[0]))

    async def run(loader):
        nonlocal cancelled
        while len(got) < n:
            task = asyncio.create_task(take(loader))
            for _ in range(drawn.randrange(4)):
                await asyncio.sleep(0)
            if drawn.random() < 0.3:
                await asyncio.sleep(0.001 * drawn.random())
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                cancelled += 1

    with numbers(n, prefetch=prefetch) as loader:
        asyncio.run(run(loader))
        assert got == list(range(n))
        assert loader.state_dict()["epoch"] == 1 or loader.state_dict()["batches"] == n
    assert cancelled > n // 10


def test_a_loop_that_is_left_goes_on_where_it_was(photos):
    with pipeline(photos).loader(epochs=3) as loader:
        first, second, third = (keys(loader) for _ in range(3))

    async def run(loader):
        async for batch in loader:
            got = keys([batch])
            break
        got += keys([await loader.aget(), loader.get()])
        got += [list(batch["key"]) async for batch in loader.resume()]
        assert got == first
        async for batch in loader:
            assert list(batch["key"]) == second[0]
            assert list(next(iter(loader.resume()))["key"]) == second[1]
            break
        assert keys(await epoch(loader)) == third

    with pipeline(photos).loader(epochs=3) as loader:
        asyncio.run(run(loader))


def test_an_older_loop_has_ended(photos):
    async def run(loader):
        older = aiter_of(loader)
        await older.__anext__()
        await aiter_of(loader).__anext__()
        with pytest.raises(hr.LoopEnded):
            await older.__anext__()

    with pipeline(photos).loader() as loader:
        asyncio.run(run(loader))


def aiter_of(loader):
    return loader.__aiter__()  # aiter() is Python 3.10's, too, and this says what is called


@pytest.mark.parametrize("prefetch", [None, 0])
def test_several_tasks_share_the_batches(prefetch):
    async def run(loader):
        async def take(loop):
            return [int(batch[0]) async for batch in loop]

        loop = aiter_of(loader)
        return await asyncio.gather(*(take(loop) for _ in range(4)))

    with numbers(100, prefetch=prefetch) as loader:
        got = asyncio.run(run(loader))
    assert sorted(number for part in got for number in part) == list(range(100))
    assert all(part == sorted(part) for part in got)


def test_threads_and_tasks_share_the_batches():
    got = []

    def thread(loader):
        try:
            while True:
                got.append(int(loader.get()[0]))
        except (StopIteration, hr.EpochsExhausted):
            pass

    async def run(loader):
        try:
            while True:
                got.append(int((await loader.aget())[0]))
        except (StopAsyncIteration, hr.EpochsExhausted):
            pass

    with numbers(300) as loader:
        threads = [threading.Thread(target=thread, args=(loader,)) for _ in range(2)]
        threads += [threading.Thread(target=lambda: asyncio.run(run(loader))) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
    assert sorted(got) == list(range(300))


def test_what_another_task_has_read_is_found(tmp_path):
    """stats() reads what the engine has sent, batches included, so that the waiting task's descriptor says nothing."""

    async def run(loader):
        task = asyncio.create_task(loader.aget(timeout=60))
        await asyncio.sleep(0.05)
        (tmp_path / "0").touch()
        while not task.done():
            loader.stats()
            await asyncio.sleep(0.001)
        return value(task.result())

    with gated(tmp_path, 1).loader(epochs=1) as loader:
        assert asyncio.run(run(loader)) == 0


@pytest.mark.parametrize("by", ["task", "thread"])
def test_closing_ends_the_waiting(tmp_path, by):
    async def run(loader):
        task = asyncio.create_task(loader.aget())
        await asyncio.sleep(0.05)
        if by == "task":
            loader.close()
        else:
            await asyncio.to_thread(loader.close)
        with pytest.raises(hr.LoaderClosed, match="this loader is closed"):
            await asyncio.wait_for(task, 10)
        with pytest.raises(hr.LoaderClosed):
            await loader.aget(timeout=1)
        with pytest.raises(hr.LoaderClosed):
            await epoch(loader)

    asyncio.run(run(gated(tmp_path).loader(epochs=1)))


def test_an_exception_comes_as_in_a_plain_loop():
    def bad(x):
        if x == 3:
            raise ValueError("three")
        return x

    async def run(loader):
        got = []
        with pytest.raises(hr.SampleError, match="three") as caught:
            async for batch in loader:
                got += [int(batch[0])]
        assert got == [0, 1, 2]
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(hr.SampleError, match="three"):
            await loader.aget()

    with hr.source(range(9)).map(bad, gives=int, where="here").batch(1).loader(epochs=1) as loader:
        asyncio.run(run(loader))


def test_lost_samples_are_told_while_a_task_waits(tmp_path):
    def bad(x):  # of a batch
        if x[0] == 0:
            raise ValueError("none")
        return x

    async def run(loader):
        task = asyncio.create_task(loader.aget())
        (tmp_path / "0").touch()
        while not loader.errors:
            await asyncio.sleep(0.002)
        assert not task.done()
        (tmp_path / "1").touch()
        assert value(await task) == 1

    with gated(tmp_path, 2).map(bad, fields="value", gives=("int64", (None,))).loader(epochs=1, on_error="skip", max_errors=9) as loader:
        asyncio.run(run(loader))


def test_steps_of_the_program_run_in_the_loop_s_thread():
    async def run(loader):
        return {batch async for batch in loader}

    p = hr.source(range(4), gives=int).batch(1).map(lambda b: threading.get_ident(), where="main")
    with p.loader(epochs=1) as loader:
        assert asyncio.run(run(loader)) == {threading.get_ident()}


def test_an_engine_that_dies_while_a_task_waits(tmp_path):
    async def run(loader):
        task = asyncio.create_task(loader.aget())
        await asyncio.sleep(0.05)
        os.kill(loader._run.session.connection.engine.pid, signal.SIGKILL)
        await asyncio.sleep(0.05)
        for i in range(4):
            (tmp_path / str(i)).touch()
        return [value(await task), *[value(batch) async for batch in loader.resume()]]

    with gated(tmp_path).loader(epochs=1, on_error="skip") as loader, pytest.warns(hr.HeadraceWarning, match="SIGKILL"):
        assert asyncio.run(run(loader)) == [0, 1, 2, 3]


def test_time_spent_waiting_is_counted_once_and_no_hand_over(tmp_path):
    async def run(loader):
        (tmp_path / "0").touch()
        await loader.aget()
        for i in (1, 2):
            task = asyncio.create_task(loader.aget())
            await asyncio.sleep(0.06)
            (tmp_path / str(i)).touch()
            await task

    with gated(tmp_path, 3).loader(epochs=1) as loader:
        began = time.monotonic()
        asyncio.run(run(loader))
        took = time.monotonic() - began
        stats = loader.stats()
        assert 0.11e9 <= stats["waited_ns"] <= took * 1e9
        assert stats["handed_ns"] == 0


@pytest.mark.parametrize(("timeout", "error"), [(-1, ValueError), ("1", TypeError), (True, TypeError)])
def test_limits_that_are_none(timeout, error):
    with numbers(2) as loader, pytest.raises(error, match="timeout is"):
        asyncio.run(loader.aget(timeout=timeout))


def test_a_loop_has_no_limit(monkeypatch):
    """Its deadline, which locks and poll need, is far, and reached all the same: then it would wait no time, again and again."""
    monkeypatch.setattr(deadline, "_LONGEST", 0.0)
    with hr.source(range(1)).loader(epochs=1) as loader:
        attempt = Attempt(None, loader._run)
        assert attempt.left_to_wait() > 1
        assert not attempt.is_over()


def test_no_descriptors_are_left(tmp_path):
    async def run(loader):
        (tmp_path / "0").touch()
        await loader.aget()  # segments come with batches
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            with pytest.raises(hr.NotReady):
                await loader.aget(timeout=0.002)
            task = asyncio.create_task(loader.aget())
            await asyncio.sleep(0.002)
            task.cancel()
        await asyncio.sleep(0.01)
        assert len(os.listdir("/proc/self/fd")) == before
        (tmp_path / "1").touch()

    with gated(tmp_path, 2).loader(epochs=1) as loader:
        asyncio.run(run(loader))

"""A source that the program feeds while its loader runs."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")


def loader_of(feed, size=1, **options):
    return hr.source(feed, gives=int).batch(size).loader(**{"epochs": 1, "prefetch": 0, **options})


def in_thread(f, *args):
    """A thread that has begun, and what came of it."""
    came = []

    def run():
        try:
            came.append(f(*args))
        except BaseException as error:
            came.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, came


def numbers(batches):
    return [int(number) for batch in batches for number in batch]


@pytest.mark.parametrize("prefetch", [0, None])
@pytest.mark.parametrize("size", [1, 3])
def test_items_come_in_the_order_in_which_they_were_put(size, prefetch):
    feed = hr.Feed(max_waiting=4)

    def put():
        for i in range(50):
            feed.put(i)
        feed.close()

    with loader_of(feed, size, prefetch=prefetch) as loader:
        thread, came = in_thread(put)
        assert numbers(loader) == list(range(50))
        thread.join()
    assert came == [None]


def test_what_was_put_before_the_loader_began():
    feed = hr.Feed()
    for i in range(3):
        feed.put(i)
    feed.close()
    feed.close()
    with hr.source(feed).batch(2).loader(epochs=1) as loader:  # the first item tells the types
        assert numbers(loader) == [0, 1, 2]


def test_what_may_be_put_is_bounded():
    feed = hr.Feed(max_waiting=2)
    with loader_of(feed, 4, prefetch=1) as loader:
        put = 0
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"the feed has no place within 0\.1 s: 2 items wait for the loader; this one was not put"):
            while True:
                feed.put(put, timeout=0.1)
                put += 1
        assert time.monotonic() - began >= 0.1
        assert 2 + 4 <= put <= 2 + (1 + 1) * 4 + os.cpu_count()
        with pytest.raises(hr.NotReady):
            feed.put(put, timeout=0)
        assert repr(feed) == "<headrace.Feed: 2 of 2 waiting>"
        thread, came = in_thread(feed.put, put)
        got = [next(iter(loader))]
        thread.join()
        assert came == [None]
        feed.close()
        got += loader.resume()
        assert numbers(got) == list(range(put + 1))  # what had no place was not put


def test_several_producers():
    feed = hr.Feed(max_waiting=3)

    def put(first):
        for i in range(first, first + 40):
            feed.put(i)

    async def aput(first):
        for i in range(first, first + 40):
            await feed.aput(i)

    async def both():
        await asyncio.gather(aput(200), aput(300))

    with loader_of(feed, 5) as loader:
        threads = [in_thread(put, 0)[0], in_thread(put, 100)[0], in_thread(lambda: asyncio.run(both()))[0]]
        closing, _ = in_thread(lambda: ([thread.join() for thread in threads], feed.close()))
        got = numbers(loader)
        closing.join()
    for first in (0, 100, 200, 300):
        assert [i for i in got if first <= i < first + 100] == list(range(first, first + 40))
    assert len(got) == 160


def test_requests_and_answers_in_one_event_loop():
    feed = hr.Feed(max_waiting=4)
    answers = {}

    async def ask(i):
        answers[i] = asyncio.get_running_loop().create_future()
        await feed.aput({"key": str(i), "x": float(i)})
        return await asyncio.wait_for(answers[i], 60)

    async def answer(loader):
        async for batch in loader:
            for key, y in zip(batch["key"], batch["x"]):
                answers[int(key)].set_result(2 * y)

    async def main(loader):
        answering = asyncio.create_task(answer(loader))
        assert await asyncio.gather(*(ask(i) for i in range(40))) == [2.0 * i for i in range(40)]
        feed.close()
        await answering

    with hr.source(feed, gives={"key": str, "x": float}).batch(1).loader(epochs=1, prefetch=0) as loader:
        asyncio.run(main(loader))


def full(loader, feed):
    """Put items until there is no place."""
    put = 0
    while True:
        try:
            feed.put(put, timeout=0.05)
            put += 1
        except hr.NotReady:
            return put


def test_a_cancelled_task_has_put_nothing():
    feed = hr.Feed(max_waiting=1)

    async def main(loader):
        put = full(loader, feed)
        got = []
        for i in range(60):
            task = asyncio.create_task(feed.aput(1000 + i))
            for _ in range(i % 4):
                await asyncio.sleep(0)
            if i % 3 == 0:
                got.append(await loader.aget(timeout=60))  # which makes a place
            task.cancel()
            try:
                await task
                put_too.append(1000 + i)
            except asyncio.CancelledError:
                pass
        feed.close()
        got += [batch async for batch in loader.resume()]
        assert sorted(numbers(got)) == [*range(put), *put_too]

    put_too = []
    with loader_of(feed) as loader:
        asyncio.run(main(loader))


def test_who_waits_longest_is_first():
    feed = hr.Feed(max_waiting=1)

    async def main(loader):
        put = full(loader, feed)
        tasks = [asyncio.create_task(feed.aput(put + i)) for i in range(9)]
        await asyncio.sleep(0)
        got = [await loader.aget(timeout=60) for _ in range(put + 9)]
        await asyncio.gather(*tasks)
        assert numbers(got) == list(range(put + 9))
        feed.close()

    with loader_of(feed) as loader:
        asyncio.run(main(loader))


@pytest.mark.parametrize("by", ["feed", "loader"])
def test_closing_ends_waiting_puts(by):
    feed = hr.Feed(max_waiting=1)
    loader = loader_of(feed)
    put = full(loader, feed)
    waiting = [in_thread(feed.put, 7), in_thread(lambda: asyncio.run(feed.aput(8))), in_thread(feed.put, 9, 60)]
    time.sleep(0.05)
    began = time.monotonic()
    (feed if by == "feed" else loader).close()
    for thread, came in waiting:
        thread.join(10)
        why = "this feed is closed" if by == "feed" else "the loader of this feed is closed"
        assert isinstance(came[0], hr.FeedClosed)
        assert str(came[0]) == f"headrace: {why}; the item was not put"
    assert time.monotonic() - began < 4  # a loader waits 5 s for functions that do not return
    with pytest.raises(hr.FeedClosed):
        feed.put(1)
    with pytest.raises(RuntimeError, match="closed; the item was not put"):
        asyncio.run(feed.aput(1))
    if by == "feed":
        assert numbers(loader) == list(range(put))
        loader.close()


def test_a_loader_that_waits_for_items_is_closed():
    feed = hr.Feed()
    loader = loader_of(feed)
    thread, came = in_thread(lambda: next(iter(loader)))
    time.sleep(0.05)
    began = time.monotonic()
    loader.close()
    thread.join(10)
    assert isinstance(came[0], hr.LoaderClosed)
    assert time.monotonic() - began < 4


def test_a_feed_that_nobody_closes_ends_with_its_program():
    """Its daemon threads wait, and end."""
    import subprocess
    import sys

    code = "import headrace as hr; f = hr.Feed(); l = hr.source(f, gives=int).batch(1).loader(epochs=1); f.put(1); print(next(iter(l)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("[1]\n", "")


def test_what_a_step_refuses_is_lost_and_others_come():
    feed = hr.Feed()
    for one in ["1", "2", "three", "4"]:
        feed.put({"key": f"request {one}", "x": one})
    feed.close()
    p = hr.source(feed, gives={"key": str, "x": str}).map(lambda x: int(x), fields="x", where="here", gives=int).batch(1)
    with p.loader(epochs=1, on_error="skip", max_errors=9) as loader:
        assert [int(batch["x"][0]) for batch in loader] == [1, 2, 4]
        assert [lost.key for lost in loader.errors] == ["request three"]


def test_an_item_of_another_type_ends_the_run():
    """As in any source: it is the program's mistake."""
    feed = hr.Feed(max_waiting=1)
    with loader_of(feed, on_error="skip", max_errors=9) as loader:
        feed.put("one")
        with pytest.raises(hr.SampleError, match="is a str; the step gives int64"):
            next(iter(loader))


def test_items_that_a_filter_drops_make_place():
    feed = hr.Feed(max_waiting=2)

    def put():
        for i in range(60):
            feed.put(i)
        feed.close()

    with hr.source(feed, gives=int).filter(lambda x: x % 20 == 0, where="here").batch(1).loader(epochs=1, prefetch=0) as loader:
        thread, _ = in_thread(put)
        assert numbers(loader) == [0, 20, 40]
        thread.join()


def test_a_feed_is_read_once():
    feed = hr.Feed()
    feed.put(1)
    feed.close()
    with loader_of(feed, epochs=2) as loader:
        assert numbers(loader) == [1]
        with pytest.raises(hr.HeadraceError, match=r"a feed is read once, by one loader, for one epoch.*epochs=1"):
            list(loader)
    with loader_of(feed) as loader, pytest.raises(hr.HeadraceError, match=r"make another hr\.Feed"):
        list(loader)


def test_an_engine_that_dies_ends_the_run():
    feed = hr.Feed(max_waiting=1)
    with loader_of(feed, on_error="skip") as loader, pytest.warns(hr.HeadraceWarning, match="SIGKILL"):
        feed.put(0)
        loop = iter(loader)
        assert numbers([next(loop)]) == [0]
        full(loader, feed)
        thread, came = in_thread(feed.put, 9)
        os.kill(loader._run.session.connection.engine.pid, signal.SIGKILL)
        with pytest.raises(hr.HeadraceError, match=r"cannot be found again|after an engine died"):
            list(loop)
        thread.join(10)
        assert isinstance(came[0], hr.FeedClosed)


def test_a_forked_child_puts_nothing():
    feed = hr.Feed()
    with loader_of(feed) as loader:
        feed.put(1)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                feed.close()
                feed.put(2)
            except hr.ForkedLoader as error:
                code = 0 if "make another one here" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        feed.close()
        assert numbers(loader) == [1]


def test_a_signal_handler_may_close_it():
    feed = hr.Feed(max_waiting=1)
    before = signal.signal(signal.SIGALRM, lambda *_: feed.close())
    try:
        with loader_of(feed) as loader:
            full(loader, feed)
            signal.setitimer(signal.ITIMER_REAL, 0.08)
            with pytest.raises(hr.FeedClosed):
                feed.put(1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_arrays_may_be_put():
    feed = hr.Feed()
    for i in range(3):
        feed.put({"x": np.full((2, 2), i, np.float32)})
    feed.close()
    with hr.source(feed, gives={"x": ("float32", (2, 2))}).batch(3).loader(epochs=1) as loader:
        assert next(iter(loader))["x"][:, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("most", "why"), [(0, "must be at least 1"), (-3, "must be at least 1"), (1.5, "must be a whole number")])
def test_numbers_of_places_that_are_none(most, why):
    with pytest.raises(hr.RecipeError, match=why):
        hr.Feed(max_waiting=most)


def test_what_a_feed_is_not_for():
    feed = hr.Feed()
    with pytest.raises(hr.RecipeError, match="a feed is read in your program: leave out where="):
        hr.source(feed, where="thread")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(feed)
    with pytest.raises(TypeError, match="timeout is 'soon'"):
        feed.put(1, timeout="soon")
    with pytest.raises(ValueError, match="at least 0 seconds"):
        feed.put(1, timeout=-1)
    with pytest.raises(hr.RecipeError):
        hr.source(feed, gives=int).batch(1).recipe()
    numbers = hr.source(range(4), gives=int)
    for pipeline in (hr.source(feed, gives=int), hr.merge([numbers, hr.source(feed, gives=int)])):
        with pytest.raises(hr.RecipeError, match="give each rank a feed and a loader of its own"):
            pipeline.batch(1).loader(rank=0, world_size=2)
    assert not feed._items


def test_losses_may_be_taken_one_after_the_other(monkeypatch):
    """Of a program that runs on for long, only the first 1,000 would be kept; here 20."""
    monkeypatch.setattr("headrace._loader.batches.MOST", 20)

    def odd(x):
        if x % 2 == 0:
            raise ValueError(x)
        return x

    with (
        hr.source(range(100), where="here").map(odd, where="here", gives=int).batch(1).loader(2, on_error="skip", max_errors=0.9) as loader
    ):
        taken = []
        for _ in loader:
            taken += loader.errors.take()
        taken += loader.errors.take()
        assert [lost.index for lost in taken] == list(range(0, 100, 2))
        assert (loader.errors.total, len(loader.errors), loader.errors.take()) == (50, 0, [])
        assert sum(1 for _ in loader) == 50
        assert (loader.errors.total, len(loader.errors)) == (100, 20)

"""Executors of the program as `where=`."""

from __future__ import annotations

import os
import queue
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import headrace as hr


def all_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return list(loader)


def double(x):
    return 2 * x


def process(x):
    return os.getpid()


def fails_at_3(x):
    if x == 3:
        raise ValueError("bad 3")
    return x


def dies_at_3(x):
    if x == 3:
        os._exit(1)
    return x


def both(x):
    yield x
    yield -x


@pytest.fixture
def threads():
    with ThreadPoolExecutor(3) as executor:
        yield executor
        assert executor.submit(double, 4).result() == 8  # it is the program's, and goes on


@pytest.fixture(scope="module")
def processes():
    import multiprocessing

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as executor:
        executor.submit(double, 1).result()  # forked before there are threads of a loader
        executor.submit(double, 1).result()
        yield executor


class Counting:
    def __init__(self, seconds=0.005):
        self.lock, self.seconds, self.running, self.most, self.names = threading.Lock(), seconds, 0, 0, set()

    def __call__(self, x):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.names.add(threading.current_thread().name.rpartition("_")[0])
        time.sleep(self.seconds)
        with self.lock:
            self.running -= 1
        return x + 1


@pytest.mark.parametrize(("workers", "most"), [(None, 3), (2, 2)])
def test_calls_are_submitted_as_many_at_once_as_it_has_workers(workers, most):
    count = Counting()
    with ThreadPoolExecutor(3, thread_name_prefix="mine") as executor:
        assert all_of(hr.source(range(40)).map(count, where=executor, workers=workers)) == list(range(1, 41))
    assert (count.most, count.names) == (most, {"mine"})


def test_two_executors_work_at_the_same_time():
    first, second = Counting(), Counting()
    with ThreadPoolExecutor(2) as one, ThreadPoolExecutor(2) as other:
        with hr.source(range(30)).map(first, where=one).map(second, where=other).loader(epochs=1) as loader:
            assert list(loader) == list(range(2, 32))
            names = [stage["name"] for stage in loader.stats()["stages"]]
    assert {"map", "map_2"} <= set(names)
    assert (first.most, second.most) == (2, 2)


class Scales:
    """A class of which one object is made, with what cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, x):
        with self.lock:
            return 10 * x


def test_each_kind_of_step(threads):
    pipeline = hr.source(range(8)).filter(lambda x: x % 2, where=threads).flat_map(both, where=threads).map(Scales, where=threads)
    batches = all_of(pipeline.batch(4, collate=lambda xs: {"sum": sum(xs), "rows": np.array(xs)}, where=threads))
    assert [batch["rows"].tolist() for batch in batches] == [[10, -10, 30, -30], [50, -50, 70, -70]]
    routed = hr.source(range(4)).route(lambda x: x % 2, [(0, lambda p: p.map(double, gives=int)), lambda p: p], where=threads)
    assert all_of(routed) == [0, 1, 4, 3]


def test_rng_and_fields(threads):
    def drawn(x, rng):
        return x + int(rng.integers(1000))

    def values(where):
        return all_of(hr.source([{"x": i, "y": 2 * i} for i in range(9)]).map(drawn, fields="x", where=where))

    assert values(threads) == values("here")


def test_a_pool_of_processes(processes):
    assert all_of(hr.source(range(20)).map(double, where=processes)) == list(range(0, 40, 2))
    assert os.getpid() not in all_of(hr.source(range(20)).map(process, where=processes))
    assert sorted(all_of(hr.source(range(3)).flat_map(both, where=processes))) == [-2, -1, 0, 0, 1, 2]
    with pytest.raises(hr.SampleError, match="ValueError: bad 3") as caught:
        all_of(hr.source(range(9)).map(fails_at_3, where=processes))
    assert "in fails_at_3" in caught.value.remote_traceback
    assert all_of(hr.source(range(5)).map(fails_at_3, where=processes), on_error="skip") == [0, 1, 2, 4]


def test_what_a_pool_of_processes_cannot_be_sent_is_said_at_once(processes):
    with pytest.raises(hr.RecipeError, match="map: <lambda> cannot be pickled for the processes of ProcessPoolExecutor"):
        hr.source(range(3)).map(lambda x: x, where=processes)
    with pytest.raises(hr.HeadraceError, match="Scales cannot be pickled for the processes"):
        all_of(hr.source(range(3)).map(Scales, where=processes))


class Priorities(ThreadPoolExecutor):
    """One thread, whose queue has what is urgent first."""

    def __init__(self):
        super().__init__(1)
        self._work_queue = queue.PriorityQueue()
        self.number = 0

    def at(self, priority):
        outer = self

        class Entry(Executor):
            _max_workers = 4

            def submit(self, function, *args, **kwargs):
                future = Future()

                def run():
                    future.set_result(function(*args, **kwargs))

                with outer.lock:
                    outer.number += 1
                    outer.waiting.put((priority, outer.number, run))
                ThreadPoolExecutor.submit(outer.pool, lambda: outer.waiting.get()[2]())
                return future

        return Entry()

    lock, waiting = threading.Lock(), queue.PriorityQueue()
    pool = None


def test_an_executor_of_ones_own_keeps_its_priorities():
    begun, gate = [], threading.Event()

    def note(name):
        def call(x):
            gate.wait(10)
            begun.append(name)
            return x

        return call

    with ThreadPoolExecutor(1) as pool:
        mine = Priorities()
        mine.pool = pool
        slow = hr.source(range(4)).map(note("late"), where=mine.at(2), gives=int).loader(epochs=1)
        urgent = hr.source(range(4)).map(note("first"), where=mine.at(1), gives=int).loader(epochs=1)
        with slow, urgent:
            a, b = (threading.Thread(target=list, args=(loader,)) for loader in (slow, urgent))
            a.start()
            while mine.number < 4:
                time.sleep(0.002)
            b.start()
            while mine.number < 8:
                time.sleep(0.002)
            gate.set()
            a.join()
            b.join()
        mine.shutdown()
    assert begun == ["late", *["first"] * 4, *["late"] * 3]  # the call that had begun went on


def test_an_executor_that_is_shut_down_ends_the_run():
    executor = ThreadPoolExecutor(2)
    pipeline = hr.source(range(9)).map(double, where=executor)
    assert all_of(pipeline) == list(range(0, 18, 2))
    executor.shutdown()
    match = "ThreadPoolExecutor, given as where=, takes no calls: RuntimeError: cannot schedule"
    with pytest.raises(hr.ExecutorFailed, match=match) as caught:
        all_of(pipeline, on_error="skip", max_errors=0.9)
    cause = caught.value.__cause__
    assert type(cause) is RuntimeError
    assert str(cause) == "cannot schedule new futures after shutdown"
    assert caught.value.remote_traceback == "RuntimeError: cannot schedule new futures after shutdown\n"


def test_a_broken_pool_ends_the_run():
    import multiprocessing

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as executor:
        executor.submit(double, 1).result()
        with pytest.raises(hr.ExecutorFailed, match="ProcessPoolExecutor, given as where=, is broken: BrokenProcessPool") as caught:
            all_of(hr.source(range(9)).map(dies_at_3, where=executor, gives=int), on_error="skip", max_errors=0.9)
        assert type(caught.value.__cause__) is BrokenProcessPool


class Cancels(Executor):
    def submit(self, function, *args, **kwargs):
        future = Future()
        if args == (3,):
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(function(*args, **kwargs))
        return future


def test_a_future_that_is_cancelled_is_a_bad_sample():
    pipeline = hr.source(range(6)).map(double, where=Cancels())
    with pytest.raises(hr.SampleError, match=r"CancelledError: the future of this call was cancelled, by the program or by Cancels"):
        all_of(pipeline)
    assert all_of(pipeline, on_error="skip", max_errors=0.9) == [0, 2, 4, 8, 10]


def test_what_is_no_executor():
    class Wrong:
        def submit(self, function, *args):
            return function(*args)

    with pytest.raises(
        hr.ExecutorFailed, match=r"Wrong, given as where=, returned 0 from submit\(\): must be a concurrent.futures.Future"
    ) as caught:
        all_of(hr.source(range(3)).map(double, where=Wrong()))
    assert caught.value.__cause__ is None
    with pytest.raises(hr.RecipeError, match="where is <class"):
        hr.source(range(3)).map(double, where=ThreadPoolExecutor)


def test_a_closed_loader_cancels_what_has_not_begun_and_leaves_the_rest():
    gate, calls = threading.Event(), []

    def waits(x):
        calls.append(x)
        gate.wait(10)
        return x

    with ThreadPoolExecutor(1) as executor:
        loader = hr.source(range(9)).map(waits, where=executor, workers=4, gives=int).loader(epochs=1)
        until = time.monotonic() + 20
        while not calls and time.monotonic() < until:
            with pytest.raises(TimeoutError):
                loader.get(timeout=0.2)
        begin = time.monotonic()
        loader.close()
        assert time.monotonic() - begin < 4  # it does not wait for the call
        gate.set()
    (one,) = calls
    assert one in range(4)  # of those in flight, whichever was submitted first


def test_what_is_refused(threads):
    source = hr.source(range(3))

    async def later(x):
        return x

    def filled(x, out):
        return out

    with pytest.raises(hr.RecipeError, match=r"map: later is async, and ThreadPoolExecutor calls functions.*where=\"here\""):
        source.map(later, where=threads)
    with pytest.raises(hr.RecipeError, match="argument out, memory for its result, which an executor's threads"):
        source.map(filled, where=threads, gives=("uint8", (4,)))
    with pytest.raises(hr.RecipeError, match=r"seed='numpy' with an executor as where="):
        source.map(double, where=threads, seed="numpy")
    with pytest.raises(hr.RecipeError, match="an executor: it is for functions of samples"):
        hr.source(range(3), where=threads)
    with pytest.raises(hr.RecipeError, match="a recipe cannot have a ThreadPoolExecutor in it"):
        hr.source(both).map(double, where=threads).recipe()
    assert "where=ThreadPoolExecutor" in repr(source.map(double, where=threads))

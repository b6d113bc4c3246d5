"""Steps with `where="here"`: threads of this program call the functions."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace as hr
from conftest import SOURCES, cases, some
from headrace._worker.here import OwnStreams
from headrace._worker.raised import Raised

LONG = 60  # seconds: what takes so long hangs


def numbers(count=40):
    return hr.source([{"n": i} for i in range(count)])


def all_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [n for batch in loader for n in np.asarray(batch["n"]).tolist()]


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("headrace")]


def ends(condition):
    """Whether something comes true."""
    until = time.monotonic() + LONG
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


@pytest.fixture(autouse=True)
def nothing_is_left():
    gc.collect()
    fds = len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert ends(lambda: not own_threads()), own_threads()
    assert ends(lambda: len(os.listdir("/proc/self/fd")) <= fds)


class Unpicklable:
    """A function with what no other process could have."""

    def __init__(self):
        self.lock = threading.Lock()
        self.calls = []
        self.running = self.most = 0

    def __call__(self, n):
        with self.lock:
            self.calls.append((n, os.getpid()))
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.002 * (n % 5))
        with self.lock:
            self.running -= 1
        return 3 * n


@pytest.mark.parametrize("workers", [None, 1, 4])
def test_functions_have_the_programs_objects(workers):
    called = Unpicklable()
    assert all_of(numbers().map(called, fields="n", workers=workers, where="here").batch(8)) == [3 * n for n in range(40)]
    assert sorted(called.calls) == [(n, os.getpid()) for n in range(40)], "once for each sample, also without gives"
    assert called.most <= (workers or 1)
    if workers == 4:
        assert called.most > 1


def triple(sample):
    return {"n": 3 * sample["n"], "image": np.full((3, 5), sample["n"], np.float32)}


def odd(n):
    return n % 2 == 1


def twice(sample):
    yield sample
    yield {**sample, "n": -sample["n"]}


TRIPLE = {"n": "int64", "image": ("float32", (3, 5))}

PIPELINES = {
    "map": lambda where: numbers().map(triple, where=where).batch(8),
    "filter": lambda where: numbers().filter(odd, fields="n", where=where).batch(8),
    "flat_map": lambda where: numbers().flat_map(twice, where=where).batch(8),
    "chain": lambda where: numbers().map(triple, where=where).filter(odd, fields="n", where=where).batch(8),
    "after batch": lambda where: numbers().batch(8).map(lambda b: {"n": b["n"] + 1, "sum": b["n"].sum(keepdims=True)}, where=where),
    "before unbatch": lambda where: numbers().batch(8).map(lambda b: {"n": b["n"][::-1]}, where=where).unbatch().batch(4),
    "no batch": lambda where: numbers().map(triple, where=where),
    "collate": lambda where: numbers().batch(8, collate=lambda s: {"n": np.array([one["n"] for one in s])}, where=where),
    "async": lambda where: numbers().map(slow_triple, workers=4, where=where).batch(8),
    "merge": lambda where: hr.merge([numbers().map(triple, where=where, gives=TRIPLE)] * 2).batch(8),
}


async def slow_triple(sample):
    await asyncio.sleep(0.001 * (sample["n"] % 3))
    return triple(sample)


def plain(value):
    return {name: np.asarray(field).tolist() for name, field in value.items()}


@pytest.mark.parametrize("shape", PIPELINES)
def test_results_are_those_of_processes(shape):
    results = []
    for where in ("process", "here"):
        with PIPELINES[shape](where).loader(epochs=1) as loader:
            results.append([plain(batch) for batch in loader])
    assert results[0] == results[1]


BATCH = {"n": ("int64", (None,)), "key": ("text", (None,))}  # which nobody has to try


def test_a_model_and_a_store_overlap_each_other_and_the_loop():
    """Done one after the other, no two would ever be at work at once."""
    at_work, together = set(), set()
    lock = threading.Lock()

    def work(name):
        with lock:
            at_work.add(name)
            together.update(at_work if len(at_work) == 3 else ())
        time.sleep(0.02)
        with lock:
            at_work.discard(name)

    def step(name):
        def call(batch):
            work(name)
            return batch

        return call

    pipeline = numbers(40).batch(1).map(step("model"), gives=BATCH, where="here").map(step("store"), gives=BATCH, where="here")
    with pipeline.loader(epochs=1) as loader:
        for _ in loader:
            work("loop")
    assert together == {"model", "store", "loop"}


class Recorder:
    """Notes what it is called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, n):
        self.calls.append(n)
        return n

    def keeps(self, n):
        return self(n) >= 0

    def several(self, n):
        yield self(n)

    async def later(self, n):
        return self(n)

    def joined(self, ns):
        return {"n": np.array([self(n) for n in ns])}

    def __len__(self):
        return MANY

    def __getitem__(self, i):
        return self(i)


MANY = cases(600, 6000)
RECORDED = {
    "map": lambda p, record: p.map(record, where="here"),
    "before another stage": lambda p, record: p.map(record, where="here").map(lambda n: n, where="here", workers=2),
    "filter": lambda p, record: p.filter(record.keeps, where="here"),
    "flat_map": lambda p, record: p.flat_map(record.several, where="here"),
    "coroutine": lambda p, record: p.map(record.later, where="here", workers=1),
    "source": lambda _, record: hr.source(record, where="here"),
    "route": lambda p, record: p.route(lambda n: record(n) % 2, [lambda p: p, lambda p: p], where="here"),
    "completion": lambda p, record: p.map(record, where="here", order="completion"),
}


@pytest.mark.usefixtures("one_engine")
@pytest.mark.parametrize("kind", RECORDED)
def test_calls_of_one_thread_begin_in_the_order_of_samples(kind):
    record = Recorder()
    with RECORDED[kind](hr.source(range(MANY)), record).batch(100).loader(epochs=1) as loader:
        assert sorted(n for batch in loader for n in batch.tolist()) == list(range(MANY))
    assert record.calls == sorted(record.calls)


@pytest.mark.usefixtures("one_engine")
def test_batches_are_made_in_their_order():
    record = Recorder()
    with hr.source(range(MANY)).batch(5, collate=record.joined, gives={"n": ("int64", (None,))}, where="here").loader(epochs=1) as loader:
        assert sum(len(batch["n"]) for batch in loader) == MANY
    assert record.calls == sorted(record.calls)


@pytest.mark.usefixtures("one_engine")
def test_calls_submitted_one_by_one_are_in_order():
    record = Recorder()
    with ThreadPoolExecutor(2) as pool, hr.source(range(MANY)).map(record, where=pool, workers=1).batch(100).loader(epochs=1) as loader:
        assert sum(len(batch) for batch in loader) == MANY
    assert record.calls == sorted(record.calls)


@pytest.mark.usefixtures("one_engine")
def test_a_call_may_wait_for_what_the_loop_does_with_the_one_before():
    taken = threading.Semaphore(0)

    def f(n):
        assert n < 300 or taken.acquire(timeout=LONG)
        return n

    with hr.source(range(400)).map(f, where="here", gives=int).loader(epochs=1) as loader:
        for i, n in enumerate(loader):
            assert n == i
            if i >= 299:
                taken.release()
    assert i == 399


def test_one_object_of_a_class_which_is_closed():
    made, closed = [], []

    class Model:
        def __init__(self):
            made.append(threading.current_thread().name)

        def __call__(self, n):
            assert not closed
            return n

        def close(self):
            closed.append(self)

    assert all_of(numbers().map(Model, fields="n", workers=3, where="here").batch(8)) == list(range(40))
    assert len(made) == 1
    assert len(closed) == 1


def test_arrays_may_be_kept():
    kept = []

    def keep(sample):
        kept.append(sample["image"])
        return sample

    pipeline = numbers().map(triple).map(keep, where="here").batch(8)
    all_of(pipeline)
    assert sorted(image[0, 0] for image in kept) == list(range(40))


def test_objects_go_from_step_to_step_as_they_are():
    locks = []

    def opened(sample):
        locks.append(threading.Lock())
        return {"n": sample["n"], "lock": locks[-1]}

    def used(sample):
        assert sample["lock"] is locks[-1], "the two are one call"
        return {"n": sample["n"]}

    assert all_of(numbers().map(opened, where="here").map(used, where="here").batch(8)) == list(range(40))


def failing(n):
    if n == 11:
        raise LookupError("no eleven")
    return n


def test_an_exception_is_the_samples_failure():
    pipeline = numbers().map(failing, fields="n", where="here").batch(8)
    with pytest.raises(hr.SampleError, match=r"failing \(test_here\.py:\d+\): LookupError: no eleven") as caught:
        all_of(pipeline)
    assert caught.value.remote_type == "LookupError"
    assert all_of(pipeline, on_error="skip") == [n for n in range(40) if n != 11]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_no_exception_ends_a_thread(raised):
    def fails(n):
        if n == 3:
            raise raised
        return n

    assert all_of(numbers().map(fails, fields="n", where="here").batch(8), on_error="skip") == [n for n in range(40) if n != 3]


def test_a_state_has_what_the_loop_was_given():
    pipeline = numbers().shuffle().map(Unpicklable(), fields="n", workers=2, where="here").batch(4)
    whole = all_of(pipeline)
    with pipeline.loader(epochs=1) as loader:
        loop = iter(loader)
        seen = [n for _ in range(3) for n in next(loop)["n"].tolist()]
        state = loader.state_dict()
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert seen + [n for batch in loader for n in batch["n"].tolist()] == whole


def test_break_and_the_next_epoch():
    called = Unpicklable()
    with numbers().map(called, fields="n", where="here").batch(4).loader() as loader:
        for _ in range(3):
            for i, _batch in enumerate(loader):
                if i == 2:
                    break
        assert next(iter(loader))["n"].tolist() == [0, 3, 6, 9]
    assert called.most == 1


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_may_change(workers):
    called = Unpicklable()
    with numbers(200).map(called, fields="n", workers=2, where="here").batch(4).loader(epochs=1) as loader:
        loop = iter(loader)
        seen = next(loop)["n"].tolist()
        loader.set_workers(workers, next(stage["name"] for stage in loader.stats()["stages"] if "map" in stage["name"]))
        for batch in loop:
            seen += batch["n"].tolist()
    assert seen == [3 * n for n in range(200)]


def test_two_loaders_at_once():
    pipeline = numbers().map(Unpicklable(), fields="n", where="here").batch(8)
    with pipeline.loader(epochs=1) as one, pipeline.loader(epochs=1) as other:
        for a, b in zip(one, other):
            assert a["n"].tolist() == b["n"].tolist()


def test_a_loader_that_nobody_has_any_more():
    loader = numbers().map(Unpicklable(), fields="n", where="here").batch(8).loader()
    next(iter(loader))
    del loader
    assert ends(lambda: not own_threads())
    all_of(numbers().batch(4))  # what the engine had is let go of when another one starts


def test_a_recipe_file_that_a_program_opens(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text("""
headrace: 1
steps:
  - source: {function: "test_here:listed", length: 8}
  - map: {function: "test_here:whose", where: here, gives: {pid: {dtype: int64}}}
  - batch: {size: 4}
""")
    with hr.load(path).loader(epochs=1) as loader:
        assert {pid for batch in loader for pid in batch["pid"].tolist()} == {os.getpid()}
    from headrace._client.program import find_program

    done = subprocess.run([find_program(), "run", str(path)], capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 2
    assert 'where="here" is for functions of a Python program' in done.stderr


listed = [{"n": i} for i in range(8)]


def whose(sample):
    return {"pid": os.getpid()}


# What is refused.


def test_what_is_refused():
    with pytest.raises(hr.RecipeError, match="would seed the generators that your program uses"):
        numbers().map(odd, fields="n", where="here", seed="random")
    with pytest.raises(hr.RecipeError, match="'process' or 'thread' or 'here'"):
        numbers().filter(odd, fields="n", where="there")
    with pytest.raises(hr.RecipeError, match="cannot have"):
        numbers().map(lambda s: s, where="here").batch(4).recipe()
    with numbers().map(triple, where="here").batch(4).loader() as loader, pytest.raises(hr.RecipeError, match="which lacks what steps"):
        loader.profile()


def test_a_time_limit_of_what_nobody_can_stop():
    pipeline = numbers().map(triple, where="here").failures(time_limit=1).batch(4)
    with pytest.raises(hr.HeadraceError, match="threads of your program cannot be stopped"):
        all_of(pipeline)


def test_a_time_limit_cancels_a_coroutine():
    cancelled = []

    async def slow(n):
        if n == 5:
            try:
                await asyncio.sleep(10 * LONG)
            except asyncio.CancelledError:
                cancelled.append(n)
                raise
        return n

    pipeline = numbers().map(slow, fields="n", gives="int64", workers=4, where="here").failures(time_limit=1).batch(4)
    assert all_of(pipeline, on_error="skip") == [n for n in range(40) if n != 5]
    assert cancelled == [5]


# Ends.


@pytest.mark.parametrize("how", some(["break", "next epoch", "close"], 2))
def test_a_function_that_hangs(how):
    """Nobody waits for it for ever, and its thread ends with it."""
    begun, released, missing = threading.Event(), threading.Event(), {0, 1, 2, 3}

    def hangs(n):
        if missing:  # of the first batch, before which others may come
            missing.discard(n)
            time.sleep(0.02)  # what has waited for 10 ms is sent before the next call
        else:
            begun.set()
            released.wait(LONG)
        return n

    pipeline = numbers().map(hangs, fields="n", gives="int64", where="here").batch(4)
    loader = pipeline.loader()
    loop = iter(loader)
    next(loop)
    assert begun.wait(LONG)
    if how == "next epoch":  # which waits for the function, since there is one thread
        threading.Timer(0.5, released.set).start()
        del loop
        assert next(iter(loader))["n"].tolist() == [0, 1, 2, 3]
        loader.close()
        return
    if how == "break":
        del loop
    began = time.monotonic()
    with pytest.warns(hr.HeadraceWarning, match=r"hangs \(test_here\.py:\d+\) did not return within 5 seconds"):
        loader.close()
    assert time.monotonic() - began < LONG / 2
    assert own_threads()
    released.set()


def test_a_coroutine_that_hangs_is_cancelled():
    begun, missing = threading.Event(), {0, 1, 2, 3}

    async def hangs(n):
        if missing:  # of the first batch, before which others may come
            missing.discard(n)
            await asyncio.sleep(0.02)
        else:
            begun.set()
            await asyncio.sleep(10 * LONG)
        return n

    with numbers().map(hangs, fields="n", gives="int64", where="here").batch(4).loader() as loader:
        next(iter(loader))
        assert begun.wait(LONG)


def test_a_function_closes_its_loader():
    loaders = []

    def closes(n):
        if n == 5:
            loaders[0].close()
        return n

    loaders.append(numbers().map(closes, fields="n", gives="int64", where="here").batch(1).loader(epochs=1))
    with pytest.raises(hr.LoaderClosed):
        for _ in loaders[0]:
            pass


def test_a_generator_that_waits_at_the_end():
    waits = threading.Event()

    def several(sample):
        yield {"n": sample["n"]}
        if sample["n"] == 4:
            waits.wait(1)
        yield {"n": sample["n"]}

    with numbers().flat_map(several, gives={"n": "int64"}, where="here").batch(2).loader() as loader:
        for i, _batch in enumerate(loader):
            if i == 2:
                break


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_the_engine_dies(on_error):
    called = Unpicklable()
    with (
        numbers(200).map(called, fields="n", where="here").batch(4).loader(epochs=1, on_error=on_error) as loader,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        seen = []
        try:
            for i, batch in enumerate(loader):
                seen += batch["n"].tolist()
                if i == 3:
                    os.kill(loader._run.session.connection.engine.pid, signal.SIGKILL)
        except hr.EngineDied:
            assert on_error == "raise"
        else:
            assert seen == [3 * n for n in range(200)]
    assert called.most == 1


def run_program(text, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


# Samples may come in another order than the first batch's: only when that has all is it time to hang.
PROGRAM = """
    import os, sys, threading, time
    import headrace as hr
    from headrace._worker.here import Here

    Here.close.__defaults__ = (1.0,)  # grace
    lock, missing, late = threading.Lock(), {0, 1, 2, 3}, threading.Event()
    def f(n):
        with lock:
            if missing:
                missing.discard(n)
                return n
            late.set()
            if sys.argv[1] == "hangs":
                time.sleep(1000)
            if sys.argv[1] == "slow":
                time.sleep(0.5)
        return n
    loader = hr.source([{"n": i} for i in range(1000)]).map(f, fields="n", gives="int64", where="here").batch(4).loader()
    loop = iter(loader)
    next(loop)
"""


@pytest.mark.parametrize("how", ["idle", "slow", "hangs"])
def test_the_program_ends_without_close(how):
    done = run_program(PROGRAM + "    late.wait()\n    print('last')", how)
    assert (done.returncode, done.stdout, done.stderr) == (0, "last\n", "")


def test_the_program_forks():
    done = run_program(
        PROGRAM
        + """
    child = os.fork()
    if child == 0:
        try:
            next(loop)
        except hr.ForkedLoader:
            sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert next(loop)["n"].tolist() == [4, 5, 6, 7]
    loader.close()
    print([t.name for t in threading.enumerate()])
""",
        "idle",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "['MainThread']\n", "")


class Bad(Exception):
    pass


def refuses(n):
    found = {"n": n}
    if n % 4 == 3:
        raise Bad(f"bad {n}", found)
    return n


async def refuses_later(n):
    await asyncio.sleep(0)
    return refuses(n)


@pytest.mark.parametrize("function", [refuses, refuses_later])
@pytest.mark.parametrize("gives", [None, int])
@pytest.mark.parametrize("chain", [False, True])
def test_an_error_has_the_exception_itself_as_its_cause(function, gives, chain):
    pipeline = numbers().map(function, fields="n", where="here", gives=gives)
    if chain:
        pipeline = pipeline.map(lambda n: n, fields="n", where="here", gives=gives)
    with pipeline.batch(2).loader() as loader:
        for _ in range(2):
            with pytest.raises(hr.SampleError) as caught:
                list(loader)
            cause = caught.value.__cause__
            assert type(cause) is Bad
            assert cause.args == ("bad 3", {"n": 3})
            assert cause.__traceback__.tb_frame.f_code.co_filename == __file__
            innermost = cause.__traceback__
            while innermost.tb_next is not None:
                innermost = innermost.tb_next
            assert innermost.tb_frame.f_locals["found"] == {"n": 3}, "as a debugger shows it"


def test_errors_of_loops_that_were_left_take_no_place():
    failed = threading.Semaphore(0)

    def f(n):
        found = n
        if n >= 2:
            failed.release()
            raise Bad(found)
        return n

    with numbers(64).map(f, fields="n", where="here", gives=int, workers=1).batch(2).loader() as loader:
        for _ in range(24):
            for _ in loader:  # the next batch fails meanwhile
                assert failed.acquire(timeout=10)
                break
        with pytest.raises(hr.SampleError) as caught:
            list(loader)
        innermost = caught.value.__cause__.__traceback__
        assert innermost.tb_frame.f_locals["found"] == 2
        del innermost, caught


def test_a_coroutine_of_a_loop_that_was_left_takes_no_place():
    """Though others have begun since then, on the connection that all share."""
    ours, theirs = socket.socketpair()
    with theirs:
        streams = OwnStreams(ours.detach())
        streams.raised = Raised()
        for stream in (1, 2, 3):
            streams.raised.next_loop()
            streams.stream = stream
            streams.begin(1)
        for stream in (1, 2, 3):
            try:
                raise Bad(stream)
            except Bad as e:
                streams.stream = stream
                streams.failed(e, {"type": "Bad", "message": str(stream), "traceback": "its own"})
        assert [one.error.args for one in streams.raised._last] == [(3,)]
        streams.close()


def test_the_error_of_a_slow_thread_is_whole():
    """Others, ahead of the sample that the loop learns of, have failed before it."""
    failed = threading.Semaphore(0)

    def slow(n):
        found = n
        if n == 0:
            while failed.acquire(timeout=1):  # how many begin after the first has failed is a matter of luck
                pass
        failed.release()
        raise Bad(found)

    with numbers(64).map(slow, fields="n", where="here", gives=int, workers=2).batch(2).loader() as loader:
        with pytest.raises(hr.SampleError) as caught:
            list(loader)
        innermost = caught.value.__cause__.__traceback__
        assert innermost.tb_frame.f_locals["found"] == 0
        del innermost, caught


def test_the_first_sample_may_be_the_one_that_fails():
    def first(n):
        raise Bad(n)

    with pytest.raises(hr.SampleError) as caught:
        all_of(numbers().map(first, fields="n", where="here").batch(2))
    assert type(caught.value.__cause__) is Bad


def test_exceptions_of_samples_that_are_skipped_hold_no_memory():
    """A few are kept, of which the loop may have to be reported, and next to none with what their functions had."""
    arrays = []

    class Large(np.ndarray):
        pass

    def hold(n):
        large = np.zeros(1000).view(Large)
        arrays.append(weakref.ref(large))
        raise Bad(n)

    pipeline = numbers(100).map(hold, fields="n", where="here", gives=int, workers=2).batch(2)
    with pipeline.loader(epochs=1, on_error="skip", max_errors=100) as loader:
        assert list(loader) == []
        assert len(arrays) == 100
        assert sum(array() is not None for array in arrays) <= 8 + 2 + 1, "of both threads, and in work"
    gc.collect()


@pytest.mark.parametrize("where", ["process", "here"])
@pytest.mark.parametrize("how", ["stop", "close"])
def test_a_function_that_stops_or_closes_the_event_loop(where, how):
    """It is not the function's: stopped, it goes on; and asyncio refuses to close it, which is that sample's failure."""

    async def ends_the_loop(sample):
        if sample["n"] == 5:
            getattr(asyncio.get_running_loop(), how)()
        await asyncio.sleep(0.01)
        return sample

    pipeline = hr.source([{"n": i} for i in range(20)]).map(ends_the_loop, workers=2, where=where).batch(1)
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        got = [int(batch["n"][0]) for batch in loader]
        errors = [(lost.key, lost.error) for lost in loader.errors]
    lost = [] if how == "stop" else [5]
    assert got == [n for n in range(20) if n not in lost]
    assert [key for key, _ in errors] == [str(n) for n in lost]
    assert all("Cannot close a running event loop" in error for _, error in errors)


async def rests(sample):
    await asyncio.sleep(0.0005)
    return sample


def test_closing_while_async_calls_are_under_way_says_nothing(caplog, capfd):
    for i in range(6):
        loader = numbers(200).map(rests, where="here", workers=1 + i % 4).batch(4).loader(epochs=None)
        loop = iter(loader)
        for _ in range(i % 5):
            next(loop)
        loader.close()
    assert not caplog.records
    assert not capfd.readouterr().err


def test_calls_of_a_thread_that_has_ended_are_not_those_of_the_next():
    """The system gives the next thread the number of one that has ended."""
    from headrace._worker import event_loop

    came = []

    def work():
        try:
            came.append(event_loop.event_loop().run_until_complete(asyncio.sleep(0.3, "done")))
        except asyncio.CancelledError:
            came.append("cancelled")
        finally:
            event_loop.close()

    for _ in range(50):
        before = threading.Thread(target=int)
        before.start()
        before.join()
        after = threading.Thread(target=work)
        after.start()
        if after.ident == before.ident:
            break
        after.join()
    assert after.ident == before.ident
    time.sleep(0.1)
    event_loop.cancel(before)
    after.join()
    assert came[-1] == "done"


@pytest.mark.parametrize("late", [0, 0.2])
def test_an_event_loop_that_cannot_begin_is_told(late, monkeypatch, capfd):
    """As where the program is about to end, which lets no thread pool begin."""

    def refuses():
        time.sleep(late)
        raise RuntimeError("can't register atexit after shutdown")

    monkeypatch.setattr("headrace._worker.beside.event_loop", refuses)
    with pytest.raises(hr.HeadraceError, match=r"(?s)no worker of map can start: .*RuntimeError: can't register"):
        all_of(numbers().map(rests, where="here").batch(8))
    assert "Traceback" not in capfd.readouterr().err


def no_event_loops():
    def refuses():
        raise OSError("too many open files")

    sys.modules["headrace._worker.beside"].event_loop = refuses


def test_an_event_loop_that_cannot_begin_in_a_process_is_told():
    with pytest.raises(hr.HeadraceError, match=r"(?s)no worker of map can start: .*OSError: too many open files"):
        all_of(numbers().map(rests, where=hr.Workers(processes=1, initializer=no_event_loops)).batch(8))


def test_a_stream_ends_with_its_second_thread():
    """It sends what a slow iterator has ready, and uses the connection and the memory that are let go of then."""

    class Now:
        def __iter__(self):
            for n in range(10_000):
                if n % 7 == 0:
                    time.sleep(0.03)
                yield {"n": n}

    begun = 0
    for i in range(6):
        loader = hr.source(Now(), where="here").batch(2).loader()
        next(iter(loader))
        time.sleep(0.05 + 0.005 * i)
        begun += "headrace-held-back" in [thread.name for thread in threading.enumerate()]
        loader.close()
        assert "headrace-held-back" not in [thread.name for thread in threading.enumerate()]
    assert begun

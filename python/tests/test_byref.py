"""Objects that cannot be pickled, between steps with `where="here"` and to the loop."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

import headrace as hr
from conftest import some, within

pytestmark = pytest.mark.usefixtures("one_engine")

LONG = 20  # seconds: what takes so long hangs
HERE = {"where": "here", "workers": 1}
LIVE: weakref.WeakSet = weakref.WeakSet()


class Held:
    def __init__(self, n):
        self.n, self.lock = n, threading.Lock()
        LIVE.add(self)


class Stubborn(Held):
    def __del__(self):
        raise RuntimeError("an end that fails")


@pytest.fixture(autouse=True)
def no_object_is_left():
    yield
    gc.collect()
    assert none_are_left()


def held(count=12):
    return hr.source(range(count), where="here").map(lambda n: Held(n), **HERE)


def none_are_left():
    return within(LONG, lambda: not LIVE)


def number(pipeline):
    return pipeline.map(lambda one: one.n, **HERE)


def doubled(pipeline):
    return pipeline.flat_map(lambda one: [one, one], **HERE)


def twice(one):
    return [one.n, one.n]


def fail_odd(one):
    if one.n % 2:
        raise ValueError(one.n)
    return one.n


EVEN, ALL = list(range(0, 12, 2)), list(range(12))


@pytest.mark.parametrize(
    ("pipeline", "want"),
    [
        (lambda p: p, ALL),
        (lambda p: p.flat_map(twice, **HERE), sorted(ALL * 2)),
        (lambda p: p.flat_map(lambda one: [{"h": one}, {"h": one}], **HERE).map(lambda s: s["h"].n, **HERE), sorted(ALL * 2)),
        (lambda p: p.filter(lambda one: one.n % 2 == 0, where="here", workers=2), EVEN),
        (lambda p: p.map(lambda one: one.n, where="here", workers=2), ALL),
        (lambda p: p.batch(4), ALL),
        (lambda p: p.batch(4, collate=lambda ones: {"n": [one.n for one in ones]}, where="here", gives={"n": object}), ALL),
        (lambda p: p.batch(4).map(lambda ones: list(ones), **HERE).unbatch().map(lambda one: one.n, **HERE), ALL),
        (lambda p: p.batch(4).unbatch().map(lambda one: one.n, where="here", workers=2), ALL),
        (lambda p: p.route(lambda one: one.n % 2, [number, number], **HERE), ALL),
        (lambda p: p.route(lambda one: one.n % 2, [lambda p: p.batch(2).unbatch(), lambda p: p], **HERE), ALL),
        (lambda p: p.route(lambda one: one.n % 2, [doubled, lambda p: p], **HERE).map(lambda one: one.n, **HERE), sorted(ALL + EVEN)),
    ],
)
def test_the_very_object_comes_and_nothing_is_left(pipeline, want):
    got = []
    with pipeline(held()).loader(epochs=1) as loader:
        for batch in loader:
            one = batch["n"] if isinstance(batch, dict) else batch
            got += one if isinstance(one, list) else [one]
        assert sorted(one.n if isinstance(one, Held) else one for one in got) == want


def test_lost_rows_of_a_batch_multiply_nothing():
    """Rows after a lost one move up in their batch, which has each object once all the same."""

    def one(n):
        if n < 3:
            raise ValueError(n)
        return Held(n)

    with hr.source(range(64), where="here").map(one, **HERE).batch(64).loader(epochs=1, on_error="skip", max_errors=3) as loader:
        assert [[one.n for one in batch] for batch in loader] == [list(range(3, 64))]


class Items:
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return Held(i)

    def __iter__(self):
        return (Held(i) for i in range(12))


def test_a_source_gives_them():
    for pipeline in (hr.source(Items(), where="here"), hr.source(iter_of(Items), where="here"), hr.merge([held(6), held(6)])):
        with pipeline.flat_map(twice, **HERE).loader(epochs=1) as loader:
            assert len(list(loader)) == 24


def iter_of(items):
    def generate():
        yield from iter(items())

    return generate


def test_executors_and_coroutines_pass_them():
    async def number(one):
        return one.n

    with ThreadPoolExecutor(2) as pool:
        given = hr.source(range(12), where="here").map(lambda n: Held(n), where=pool)
        for pipeline in (given.flat_map(twice, where=pool), given.map(number, **HERE).flat_map(lambda n: [n, n], where=pool)):
            with pipeline.loader(epochs=1) as loader:
                assert sorted(loader) == sorted(ALL * 2)


def test_what_is_dropped_while_the_loader_runs_is_let_go():
    most = []

    def count(one):
        most.append(len(LIVE))
        return False

    with held(600).filter(count, where="here", workers=2).loader(epochs=1) as loader:
        assert list(loader) == []
    assert max(most) < 300


def stubborn(n):
    return Stubborn(n)


def odd(one):
    return one.n % 2 == 1


def number_of(one):
    return one.n


@pytest.mark.parametrize("where", ["here", "thread", "process"])
def test_objects_whose_del_raises(where, monkeypatch):
    """Python prints that, and the run goes on: they are dropped, taken by a step, and of an epoch that is left."""
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: printed.append(str(told.exc_value)))
    how = {"where": where, "workers": 1}
    pipeline = hr.source(range(20), where="here").map(stubborn, **how).filter(odd, **how).map(number_of, gives=int, **how)
    with pipeline.loader(epochs=2) as loader:
        assert next(iter(loader)) == 1
        assert list(loader) == list(range(1, 20, 2))
    gc.collect()
    assert set(printed) == ({"an end that fails"} if where == "here" else set())
    assert where != "here" or len(printed) >= 20


@pytest.mark.parametrize("kind", [Held, Stubborn])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_break(kind):
    with hr.source(range(200), where="here").map(lambda n: kind(n), **HERE).loader(epochs=3) as loader:
        for _ in range(2):
            for one in loader:
                assert one.n == 0
                break
        one = None
        assert [one.n for one in loader] == list(range(200))
        one = None


def test_many_epochs():
    most = 0
    with held(20).flat_map(lambda one: [one, one], **HERE).batch(3).loader(epochs=15) as loader:
        for _ in range(15):
            for _batch in loader:
                most = max(most, len(LIVE))
        _batch = None
    assert most < 280  # of 300


def test_the_end_of_an_object_closes_its_loader():
    class Closing(Held):
        def __del__(self):
            if self.n == 30:
                loader.close()

    last = (
        hr.source(range(200), where="here")
        .map(lambda n: Closing(n), **HERE)
        .filter(lambda one: one.n == 0, **HERE)
        .map(lambda one: one.n, **HERE)
    )
    with last.batch(2).loader(epochs=1) as loader, pytest.raises(hr.LoaderClosed):
        list(loader)


def test_a_retry_gets_the_same_object():
    tries = {n: [] for n in range(4)}

    def later(one):
        tries[one.n].append(one.lock)
        if tries[one.n].count(one.lock) == 1:
            raise OSError(one.n)
        return one.n

    with held(4).map(later, **HERE).failures(retries=1).loader(epochs=1) as loader:
        assert list(loader) == [0, 1, 2, 3]
    assert all(len(locks) == 2 for n, locks in tries.items() if n)  # the first sample was tried, too


def test_a_resumed_run_makes_them_again():
    pipeline = held().flat_map(lambda one: [one, one], **HERE)
    with pipeline.loader(epochs=1) as loader:
        iterator = iter(loader)
        assert [next(iterator).n for _ in range(5)] == [0, 0, 1, 1, 2]
        state = loader.state_dict()
        del iterator
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [one.n for one in loader] == sorted(ALL * 2)[5:]


def test_failures():
    with held(100).map(fail_odd, where="here", workers=2).loader(epochs=1, on_error="skip", max_errors=100) as loader:
        assert list(loader) == list(range(0, 100, 2))
        assert len(LIVE) <= 20  # some exceptions keep the variables of their functions
    assert none_are_left()


def test_a_result_that_does_not_fit_is_let_go():
    def two(n):
        return {"held": Held(n), "n": "text" if n else 0}

    gives = {"held": object, "n": int}
    with hr.source(range(4), where="here").map(two, gives=gives, **HERE).loader(epochs=1, on_error="skip") as loader:
        assert [one["held"].n for one in loader] == [0]


def test_a_step_in_a_process_says_what_to_write():
    why = r'is a \S*Held and cannot be pickled: TypeError: .*where="here" for the step that takes it'
    with pytest.raises(hr.SampleError, match=why):
        list(held().map(lambda one: one.n, workers=1).loader(epochs=1))


WITHIN_WORKERS = {
    "loop": ("thread", lambda p, where: p),
    "flat_map in a process": ("process", lambda p, where: p.flat_map(twice, where=where, workers=1)),
    "aggregate": ("thread", lambda p, where: p.aggregate(Threes, where=where)),
    "collate": ("thread", lambda p, where: p.batch(2, collate=lambda ones: {"n": [one.n for one in ones]}, where=where, workers=1)),
    "flat_map": ("thread", lambda p, where: p.flat_map(twice, where=where, workers=1)),
    "map": ("thread", lambda p, where: p.batch(2).map(lambda ones: {"n": [one.n for one in ones]}, where=where, workers=1)),
}


@pytest.mark.parametrize("kind", some(list(WITHIN_WORKERS), 4))
def test_a_worker_says_where_it_would_pass(kind):
    where, take = WITHIN_WORKERS[kind]
    why = r'is a \S*Held and cannot be pickled: TypeError: .*where="here" for this step and those that take it'
    with pytest.raises(hr.SampleError, match=why):
        list(take(hr.source(range(4)).map(lambda n: Held(n), where=where, workers=1), where).loader(epochs=1))


class Threes:
    """Gathers three at a time, and counts what has ended."""

    ended: ClassVar = []

    def __init__(self):
        self.held = []

    def accumulate(self, one):
        self.held.append(one)
        if len(self.held) == 3:
            three, self.held = self.held, []
            return [three]
        return None

    def flush(self):
        return [self.held] if self.held else None

    def close(self):
        self.ended.append(threading.current_thread() is not threading.main_thread())


@pytest.mark.parametrize("aggregator", [Threes, Threes()])
def test_an_aggregator_gathers_them(aggregator):
    Threes.ended.clear()
    with held(8).aggregate(aggregator, where="here").loader(epochs=2) as loader:
        for _ in range(2):
            assert [[one.n for one in three] for three in loader] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert Threes.ended == [True] * 3  # of the first sample that was tried, and of each epoch
    assert not getattr(aggregator, "held", None)


def test_an_aggregator_gives_them_to_later_steps():
    pipeline = held(8).aggregate(Threes, where="here").flat_map(lambda three: [one.n for one in three], **HERE)
    with pipeline.loader(epochs=1) as loader:
        assert list(loader) == list(range(8))


def test_objects_gathered_are_let_go_with_the_loop():
    with held(100).aggregate(Threes, where="here").loader(epochs=2) as loader:
        for three in loader:
            assert three[0].n == 0
            break
        three = None
        assert len(list(loader)) == 34
    with held(100).aggregate(Threes, where="here").loader(epochs=1) as loader:
        next(iter(loader))


class Sums:
    def __init__(self):
        self.total, self.last = 0, None

    def accumulate(self, one):
        self.total += one.n
        return [self.total]

    def flush(self):
        return None

    def state_dict(self):
        return {"total": self.total}

    def load_state_dict(self, state):
        self.total = state["total"]


class Hoards(Threes):
    def state_dict(self):
        return {"held": self.held}

    def load_state_dict(self, state):
        self.held = state["held"]


def test_resume():
    pipeline = held().aggregate(Sums, where="here")
    with pipeline.loader(epochs=1) as loader:
        iterator = iter(loader)
        assert [next(iterator) for _ in range(4)] == [0, 1, 3, 6]
        state = loader.state_dict()
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert list(loader) == [10, 15, 21, 28, 36, 45, 55, 66]


def test_a_state_cannot_hold_them():
    with (
        held(7).aggregate(Hoards, where="here").loader(epochs=1) as loader,
        pytest.raises(hr.HeadraceError, match=r"state_dict\(\) of .*Hoards must be plain JSON, arrays, tensors and bytes: .*Held"),
    ):
        list(loader)


class Locked(Threes):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_an_aggregator_that_cannot_be_copied():
    why = r"aggregate: .*Locked\(\) cannot be copied for each epoch: TypeError: cannot pickle '_thread.lock' object; give a class"
    with pytest.raises(hr.RecipeError, match=why):
        held().aggregate(Locked(), where="here")
    with held(3).aggregate(Locked, where="here").loader(epochs=1) as loader:
        assert [[one.n for one in three] for three in loader] == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"where": hr.Workers(processes=1)},
            "where is Workers.*, hr.Workers: one worker has the object for an epoch, and cannot be shared",
        ),
        ({"where": ThreadPoolExecutor(1)}, "where is .*ThreadPoolExecutor.*, an executor: one worker has the object"),
        ({"where": "main"}, "where is 'main': must be 'process' or 'thread' or 'here'"),
        ({"where": "here", "seed": "random"}, "seed='random' with where=\"here\" would seed the generators that your program uses"),
    ],
)
def test_where_an_aggregator_cannot_be(given, why):
    with pytest.raises(hr.RecipeError, match=f"headrace: aggregate: {why}"):
        held().aggregate(Threes, **given)


@pytest.mark.parametrize("where", some(["process", "thread"], 1))
def test_an_aggregator_elsewhere_says_what_to_write(where):
    with pytest.raises(hr.SampleError, match=r'Held and cannot be pickled: .*write where="here" for the step that takes it'):
        list(held().aggregate(Threes, where=where).loader(epochs=1))

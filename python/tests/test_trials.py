"""What functions give is found out with one sample, which goes through all of them once, in the workers of the run."""

import collections
import os

import numpy as np
import pytest

import headrace as hr
from own import images


class Calls:
    """Notes calls in a file, whatever process they are made in."""

    def __init__(self, path):
        self.path = path

    def __call__(self, step, n):
        with open(self.path, "a") as file:
            file.write(f"{step} {int(n)} {os.getpid()}\n")

    def all(self):
        return [line.split() for line in self.path.read_text().splitlines()]

    def counts(self):
        return collections.Counter((step, int(n)) for step, n, _ in self.all())

    def pids(self):
        return {int(pid) for *_, pid in self.all()}


@pytest.fixture
def calls(tmp_path):
    return Calls(tmp_path / "calls")


def numbers(count):
    return hr.source([{"n": i} for i in range(count)])


def step(calls, name):
    def function(s):
        calls(name, s["n"])
        return {**s, name: float(s["n"])}

    return function


def values(loader, name):
    return [int(n) for batch in loader for n in batch[name]]


@pytest.mark.parametrize("fuse", [True, False])
def test_each_function_is_called_once_for_each_sample(calls, fuse):
    pipeline = numbers(40).map(step(calls, "a")).map(step(calls, "b")).map(step(calls, "c")).batch(8)
    with pipeline.loader(epochs=1, workers=2, fuse=fuse) as loader:
        assert values(loader, "n") == list(range(40))
        functions = loader.stats()["functions"]
    assert calls.counts() == {(name, n): 1 for name in "abc" for n in range(40)}
    assert all(f["calls"] == 40 for f in functions)
    assert calls.pids() <= set(functions[-1]["pids"])


def test_samples_that_are_left_out_are_tried_once(calls):
    def late(n):
        calls("filter", n)
        return n >= 13

    pipeline = numbers(30).map(step(calls, "a")).filter(late, fields="n").map(step(calls, "b")).batch(4)
    for fuse in (True, False):
        with pipeline.loader(epochs=1, workers=2, fuse=fuse) as loader:
            assert values(loader, "n") == list(range(13, 30))
        want = {("a", n): 1 for n in range(30)} | {("filter", n): 1 for n in range(30)} | {("b", n): 1 for n in range(13, 30)}
        assert calls.counts() == want
        calls.path.write_text("")


def test_steps_of_the_engine_between(calls, pictures):
    def mark(sample):
        calls("mark", hash(sample["key"]))
        return {**sample, "image": np.full((24, 20, 3), sample["label"] + 5, np.uint8)}

    def mean(image, key):
        calls("mean", hash(key))
        return float(image.mean()), key

    pipeline = images(pictures).map(mark).resize((8, 8)).map(mean, fields=["image", "key"], to=["mean", "key"]).batch(6)
    with pipeline.loader(epochs=1, workers=2) as loader:
        got = [(float(m), int(label)) for batch in loader for m, label in zip(batch["mean"], batch["label"])]
        pids = {pid for f in loader.stats()["functions"] for pid in f["pids"]}
    assert got
    assert all(m == label + 5 for m, label in got)
    assert sorted(step for step, *_ in calls.all()) == ["mark"] * len(got) + ["mean"] * len(got)
    assert calls.pids() <= pids


def test_the_workers_are_those_of_the_run(calls):
    pipeline = (
        numbers(60).map(step(calls, "a"), workers=1).map(step(calls, "b"), where="thread").map(step(calls, "c"), where="thread", workers=2)
    )
    with pipeline.batch(4).loader(epochs=1, workers=2) as loader:
        values(loader, "n")
        of = {f["stage"]: f["pids"] for f in loader.stats()["functions"]}
    called = {name: {int(pid) for step, _, pid in calls.all() if step == name} for name in "abc"}  # in the trial or later
    assert len(called["a"]) == 1  # its one worker, of those of the pool
    assert called["a"] <= set(of["map"])
    assert of["map_2"] == of["map_3"] == list(called["b"]) == list(called["c"])
    assert calls.counts() == {(name, n): 1 for name in "abc" for n in range(60)}


def test_an_object_of_a_class_is_made_once_in_a_process(tmp_path):
    class Model:
        def __init__(self):
            with open(tmp_path / "made", "a") as file:
                file.write(f"{os.getpid()}\n")

        def __call__(self, s):
            return s

        def close(self):
            with open(tmp_path / "closed", "a") as file:
                file.write(f"{os.getpid()}\n")

    with numbers(60).map(Model, workers=1).map(Model, workers=1).batch(4).loader(epochs=1) as loader:
        values(loader, "n")
    made = (tmp_path / "made").read_text().split()
    assert len(made) == 2  # one for each step
    assert len(set(made)) == 1
    assert (tmp_path / "closed").read_text().split() == made


def test_a_second_epoch_calls_again(calls):
    with numbers(10).map(step(calls, "a")).batch(5).loader(epochs=2) as loader:
        values(loader, "n")
        values(loader, "n")
    assert calls.counts() == {("a", n): 2 for n in range(10)}


def test_what_a_source_gives_anew_is_not_the_trials(calls):
    """A source that gives other samples each time it is iterated over has its functions called for these."""

    def samples():
        import secrets

        for n in range(20):
            yield {"n": n, "token": secrets.randbelow(1 << 60)}

    def double(token):
        return token * 2

    with hr.source(samples).map(double, fields="token", to="twice").batch(4).loader(epochs=1) as loader:
        for batch in loader:
            assert (batch["twice"] == 2 * batch["token"]).all()


def test_what_is_changed_in_place_is_the_runs(calls):
    """A function that changes what it is given, and does not return it, is called once more for the sample that was tried."""

    def large(s):
        return {"n": s["n"], "x": np.zeros(5000, np.int64)}

    def fill(x):
        x[:] = 7
        return True

    def total(s):
        return {"total": int(s["x"].sum())}

    gives = {"n": int, "x": ("int64", (5000,))}
    with numbers(12).map(large, gives=gives).filter(fill, fields="x").map(total).batch(4).loader(epochs=1, fuse=False) as loader:
        together = values(loader, "total")
    assert together == [35000] * 12

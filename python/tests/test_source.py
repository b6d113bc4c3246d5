"""Objects of Python as sources: what comes of them, in which order, and where they go on, against plain Python."""

from __future__ import annotations

import os
import random
import re
import signal
import time

import numpy as np
import pytest

import headrace as hr


def batches_of(loader):
    return [batch["n"].tolist() for batch in loader]


class Late:
    """Samples from 1 on. Its worker ends itself when it first comes to one of `dies`."""

    def __init__(self, folder, dies):
        self.folder, self.dies = os.fspath(folder), dies
        self.at, self.x, self.loaded = 0, 1, False

    def __iter__(self):
        if not self.loaded:
            self.at, self.x = 0, 1
        self.loaded = False
        while self.at < 200:
            self.at += 1
            self.end(f"before {self.at}")
            self.x = self.x * 6364136223846793005 % (1 << 61)
            yield {"n": self.at, "x": self.x, "wide": np.full(3000, self.at)}
            self.end(f"after {self.at}")

    def end(self, where):
        if where in self.dies:
            mark = os.path.join(self.folder, where)
            if not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)

    def state_dict(self):
        return {"at": self.at, "x": self.x}

    def load_state_dict(self, state):
        self.at, self.x, self.loaded = state["at"], state["x"], True


def test_a_stream_whose_worker_dies_loses_and_repeats_nothing(tmp_path):
    """Its states go on where they should, too, whichever worker gave them."""
    want, x = [], 1
    for n in range(1, 201):
        x = x * 6364136223846793005 % (1 << 61)
        want.append((n, x))
    dies = ["before 1", "after 1", "before 3", "before 4", "before 100", "after 200"]
    seen, states = [], {}
    gives = {"n": "int64", "x": "int64", "wide": ("int64", (3000,))}  # so that nobody looks at its first sample before
    with hr.source(Late(tmp_path, dies), gives=gives).batch(3).loader(epochs=1) as loader:
        for batch in loader:
            assert (batch["wide"] == batch["n"][:, None]).all()
            seen.extend(zip(batch["n"].tolist(), batch["x"].tolist()))
            states[len(seen)] = loader.state_dict()
        assert seen == want
        assert sorted(os.listdir(tmp_path)) == sorted(dies)
        loader.load_state_dict(states[102])
        assert [n for batch in loader for n in batch["n"].tolist()] == list(range(103, 201))


def test_what_is_iterated_over_has_no_length_and_no_place():
    def squares():
        for n in range(20):
            yield {"n": n, "square": n * n}

    with hr.source(squares).batch(6).loader(epochs=2) as loader:
        assert loader.max_batches is None
        assert "any number of batches" in repr(loader)
        with pytest.raises(TypeError, match="the number of samples"):
            len(loader)
        assert batches_of(loader) == [[*range(6)], [*range(6, 12)], [*range(12, 18)], [18, 19]]
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=r"without state_dict\(\): the position cannot be found again"):
            loader.load_state_dict(state)


async def _later():
    for n in range(5):
        yield {"n": n}


def test_async_generators_iterables_and_lists():
    for source, expected in ((_later, [0, 1, 2, 3, 4]), ([{"n": 3}, {"n": 1}], [3, 1])):
        with hr.source(source).batch(8).loader(epochs=1) as loader:
            assert batches_of(loader) == [expected]


class Fragile:
    """Samples that are tuples; one is bad."""

    def __init__(self):
        self.paths = [f"/data/{i}.png" for i in range(12)]

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 7:
            raise ValueError("seven is bad")
        return i, i * i


FRAGILE = Fragile()


@pytest.mark.parametrize("keys", [FRAGILE.paths, lambda i: f"/data/{i}.png", [os.fsencode(path) for path in FRAGILE.paths]])
def test_names_of_samples(keys):
    """Also of those that fail before they are there, and those that are lost later."""
    source = hr.source(FRAGILE, fields=["n", "square"], keys=keys)
    with source.batch(5).loader(epochs=1, on_error="skip") as loader:
        seen = [key for batch in loader for key in batch["key"]]
        assert seen == [path for path in FRAGILE.paths if path != "/data/7.png"]
        assert [error.key for error in loader.errors] == ["/data/7.png"]
    with source.batch(5).loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="seven is bad") as error:
        list(loader)
    assert (error.value.key, error.value.index) == ("/data/7.png", 7)


def whole(n):
    return {"key": f"number {n}", "n": n}


def named():
    yield from map(whole, range(6))


@pytest.mark.parametrize("obj", [[whole(n) for n in range(6)], named], ids=["read by number", "iterated"])
def test_samples_that_bring_their_names(obj):
    with hr.source(obj).map(lambda n: 6 // (n - 4), fields="n", to="x", gives=int).batch(2).loader(epochs=1, on_error="skip") as loader:
        assert [key for batch in loader for key in batch["key"]] == [f"number {n}" for n in (0, 1, 2, 3, 5)]
        assert [(error.key, error.index) for error in loader.errors] == [("number 4", 4)]


def test_names_that_are_none():
    with pytest.raises(hr.SampleError, match="keys has int 3 as the name of sample 0: must be text"):
        hr.source(FRAGILE, fields=["n", "square"], keys=[3] * 12).batch(2).loader()
    for wrong, why in (
        (["a"], "keys has 1 names, and there are 12 samples"),
        ("abc", "must be a function of a sample's number, or a list"),
        (3, "must be a function"),
    ):
        with pytest.raises(hr.RecipeError, match=why):
            hr.source(FRAGILE, keys=wrong)
    with pytest.raises(hr.RecipeError, match="is iterated over: have it yield a field 'key', a str"):
        hr.source(named, keys=lambda n: "")


@pytest.mark.parametrize("seed", ["torch", ["numpy"]])
def test_generators_are_not_the_seed(seed):
    with pytest.raises(hr.RecipeError, match="must be a whole number; generators="):
        hr.source(FRAGILE, seed=seed)
    with pytest.raises(hr.RecipeError, match="generators is 'jax': must be names of 'random', 'numpy', 'torch'"):
        hr.source(FRAGILE, generators="jax")


class Drawn:
    """Whose samples come of global generators."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return {"x": np.array([random.random(), np.random.random()])}


class DrawnInAStream:
    at = 0

    def __iter__(self):
        while self.at < 12:
            self.at += 1
            yield {"x": np.array([random.random(), np.random.random()])}
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("obj", [Drawn(), DrawnInAStream()], ids=["read by number", "iterated"])
def test_global_generators_are_seeded(obj):
    """What is drawn depends on seed, epoch and sample: not on workers, and not on where a run began."""

    def drawn(workers=1, seed=0, state=None):
        source = hr.source(obj, seed=seed, generators=["random", "numpy"])
        with source.batch(3).loader(epochs=2, workers=workers) as loader:
            if state is not None:
                loader.load_state_dict(state)
            got = []
            for _ in range(2 if state is None else 1):
                for batch in loader:
                    got += map(tuple, batch["x"].tolist())
                    if len(got) == 6:
                        states.append(loader.state_dict())
        return got

    states = []
    first = drawn()
    assert drawn(3) == first
    assert len({x for pair in first for x in pair}) == 2 * 24
    assert drawn(seed=1) != first
    assert drawn(state=states[0]) == first[6:12]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda s: s.shuffle().batch(2).loader(), "an order of its own: must be a source with a length"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0), "set steps_per_epoch"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0, steps_per_epoch=1), "give a function with two parameters, rank and world_size"),
        (lambda s: s.batch(2).loader(on_error="replace"), "cannot give another sample instead"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(make, why):
    def numbers():
        yield {"n": 1}

    with pytest.raises(hr.HeadraceError, match=why):
        make(hr.source(numbers))


def test_mistakes_are_told_with_what_to_write():
    """Extents that differ."""
    ragged = [{"x": np.zeros((n, 4), np.float32), "n": n} for n in (1, 2)]
    collate = {"collate": lambda samples: {"n": len(samples)}, "gives": {"n": int}}
    for options, message in (
        ({}, r"float32 \[2, 4\]; the step gives float32 \[1, 4\], .*: gives={'x': \('float32', \(None, 4\)\), …}$"),
        ({"fields": ["y"]}, r"float32 \[2, 4\]; the step gives float32 \[1, 4\], .*: gives={'y': \('float32', \(None, 4\)\)}$"),
    ):
        items = [item["x"] for item in ragged] if options else ragged
        with hr.source(items, **options).batch(2, **collate).loader(epochs=1) as loader, pytest.raises(hr.SampleError) as caught:
            list(loader)
        assert re.search(message, str(caught.value).splitlines()[0])
    for values in ([1, None], [np.ones(2), None]):
        with (
            hr.source(values, fields="x").batch(2).loader(epochs=1) as loader,
            pytest.raises(
                hr.SampleError, match=r"field 'x' is None; .*; if it may be None, say gives=\{\"x\": object\}, or give a default"
            ),
        ):
            list(loader)
    with (
        hr.source(["a", None], fields="x", gives=str).batch(2).loader(epochs=1) as loader,
        pytest.raises(hr.SampleError, match=r"the step gives text; if it may be None, say gives=\{\"x\": object\}, or give a default"),
    ):
        list(loader)
    with pytest.raises(hr.SampleError, match="returned int 1, not 2 values: x, y"):
        hr.source([1, 2], fields=["x", "y"]).batch(2).loader()


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("step", ["source", "flat_map"])
def test_an_iterator_that_waits_holds_nothing_back(tmp_path, step, kind):
    """It yields faster than the loop takes, and then waits for what does not come: all that it had yielded arrives."""
    go_on = tmp_path / "go on"

    def burst(*_):
        for n in range(40):
            yield {"n": n}
        while not go_on.exists():
            time.sleep(0.01)
        yield {"n": 40}

    async def asynchronous(*_):
        for sample in burst():
            yield sample

    function = burst if kind == "plain" else asynchronous
    if step == "source":
        pipeline = hr.source(lambda: function(), gives={"n": int})
    else:
        pipeline = hr.source([{"x": 0}]).flat_map(function, gives={"n": int})
    with pipeline.batch(1).loader(epochs=1, prefetch=1) as loader:
        got = []
        for _ in range(40):
            time.sleep(0.002)
            got.append(int(loader.get(timeout=60)["n"][0]))
        go_on.touch()
        got.append(int(loader.get(timeout=60)["n"][0]))
    assert got == list(range(41))

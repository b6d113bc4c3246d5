"""Objects of Python as sources: what comes of them, in which order, and where they go on, against plain Python."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from conftest import environment_of


class Numbers:
    """Ten thousand samples over one array."""

    def __init__(self):
        self.x = np.arange(30_000, dtype=np.float32).reshape(10_000, 3)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "n": i}


def batches_of(loader):
    return [batch["n"].tolist() for batch in loader]


def test_two_ranks_share_each_epoch():
    numbers = hr.source(Numbers()).shuffle(seed=3).batch(64)
    epochs = [[], []]
    for rank in range(2):
        with numbers.loader(epochs=2, rank=rank, world_size=2) as loader:
            assert len(loader) == 79
            for seen in epochs:
                for batch in loader:
                    assert (batch["x"] == Numbers().x[batch["n"]]).all()
                    assert list(batch["key"]) == [str(n) for n in batch["n"]]
                    seen.extend(batch["n"].tolist())
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10_000))
    assert epochs[0] != epochs[1] != list(range(10_000))


def test_files_and_objects_come_in_the_same_order(tmp_path):
    """What stands at a position is arithmetic on numbers, and does not ask what they are of."""
    for n in range(200):
        np.save(tmp_path / f"{n:03}.npy", np.int64(n))
    files = hr.files(str(tmp_path), seed=9).shuffle().decode_npy("int64", (), to="n").batch(7)
    objects = hr.source([{"n": n} for n in range(200)], seed=9).shuffle()
    with files.loader(epochs=1) as one, objects.batch(7).loader(epochs=1) as other:
        assert [b["n"].tolist() for b in one] == [b["n"].tolist() for b in other]


def test_going_on_at_any_batch():
    numbers = hr.source(Numbers()).shuffle().batch(500)
    with numbers.loader(epochs=1) as loader:
        whole = batches_of(loader)
    with numbers.loader(epochs=None) as loader:
        for at in (1, 7, 19):
            loader.set_epoch(0)
            loop = iter(loader)
            assert [next(loop)["n"].tolist() for _ in range(at)] == whole[:at]
            with numbers.loader(epochs=1) as other:
                other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
                assert batches_of(other) == whole[at:]
            loader.set_epoch(5)


GOES_ON = """
import json, os, signal, sys
import headrace as hr

class Walk:
    def __init__(self):
        self.at, self.x, self.loaded = 0, 1, False
    def __iter__(self):
        if not self.loaded:
            self.at, self.x = 0, 1
        self.loaded = False
        while self.at < 300:
            self.at += 1
            self.x = self.x * 6364136223846793005 % (1 << 61)
            yield {"n": self.at, "x": self.x}
    def state_dict(self):
        return {"at": self.at, "x": self.x, "share": 0.5, "nothing": None}
    def load_state_dict(self, state):
        assert state["share"] == 0.5 and state["nothing"] is None
        self.at, self.x, self.loaded = state["at"], state["x"], True

with hr.source(Walk()).batch(7).loader(epochs=1) as loader:
    if len(sys.argv) > 1:
        loader.load_state_dict(json.load(open(sys.argv[1])))
    for i, batch in enumerate(loader):
        print(json.dumps([batch["n"].tolist(), batch["x"].tolist(), loader.state_dict()]), flush=True)
"""


def test_a_stream_goes_on_with_its_own_state_after_a_kill(tmp_path):
    def run(*args, until=None):
        program = subprocess.Popen([sys.executable, "-c", GOES_ON, *args], stdout=subprocess.PIPE, env=environment_of(), text=True)
        out = []
        for line in program.stdout:
            out.append(json.loads(line))
            if len(out) == until:
                os.kill(program.pid, signal.SIGKILL)
                break
        program.stdout.close()
        assert program.wait() == (0 if until is None else -signal.SIGKILL)
        return out

    n, x = [], 1
    for _ in range(300):
        x = x * 6364136223846793005 % (1 << 61)
        n.append(x)
    whole = [n[i : i + 7] for i in range(0, 300, 7)]
    first = run(until=11)
    (tmp_path / "state.json").write_text(json.dumps(first[-1][2]))
    rest = run(str(tmp_path / "state.json"))
    assert [xs for _, xs, _ in first] + [xs for _, xs, _ in rest] == whole


class Late:
    """Samples from 1 on. Its worker ends itself when it comes to one of `dies`: the first time, or always."""

    def __init__(self, folder, dies, state=True, always=False):
        self.folder, self.dies, self.always = os.fspath(folder), dies, always
        self.at, self.x, self.loaded = 0, 1, False
        if state:
            self.state_dict, self.load_state_dict = self._state, self._load

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
            if self.always or not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)

    def _state(self):
        return {"at": self.at, "x": self.x}

    def _load(self, state):
        self.at, self.x, self.loaded = state["at"], state["x"], True


def late(*args, **options):
    gives = {"n": ("int64", ()), "x": ("int64", ()), "wide": ("int64", (3000,))}  # so that nobody looks at its first sample before
    return hr.source(Late(*args, **options), gives=gives).batch(3, drop_last=False)


def test_a_stream_whose_worker_dies_loses_and_repeats_nothing(tmp_path):
    """Its states go on where they should, too, whichever worker gave them."""
    want, x = [], 1
    for n in range(1, 201):
        x = x * 6364136223846793005 % (1 << 61)
        want.append((n, x))
    dies = ["before 1", "after 1", "before 3", "before 4", "before 100", "after 200"]
    seen, states = [], {}
    with late(tmp_path, dies).loader(epochs=1) as loader:
        for batch in loader:
            assert (batch["wide"] == batch["n"][:, None]).all()
            seen.extend(zip(batch["n"].tolist(), batch["x"].tolist()))
            states[len(seen)] = loader.state_dict()
        assert seen == want
        assert sorted(os.listdir(tmp_path)) == sorted(dies)
        loader.load_state_dict(states[102])
        assert [n for batch in loader for n in batch["n"].tolist()] == list(range(103, 201))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"always": True}, "SIGKILL .* alone, as another one had before"),
        ({"state": False}, r"SIGKILL .*\n.* has no state_dict\(\).* after 49 samples"),
    ],
)
def test_a_stream_that_cannot_go_on_ends_with_its_worker(tmp_path, options, why):
    seen = []
    with late(tmp_path, ["before 50"], **options).loader(epochs=1, on_error="skip") as loader:
        with pytest.raises(hr.SampleError, match=why) as error:
            seen.extend(n for batch in loader for n in batch["n"].tolist())
        assert seen == list(range(1, 49))
        assert error.value.index == 49


def test_what_is_iterated_over_has_no_length_and_no_place():
    def squares():
        for n in range(20):
            yield {"n": n, "square": n * n}

    with hr.source(squares).batch(6).loader(epochs=2) as loader:
        assert loader.max_batches is None
        assert "any number of batches" in repr(loader)
        with pytest.raises(TypeError, match="nobody knows how many samples"):
            len(loader)
        assert batches_of(loader) == [[*range(6)], [*range(6, 12)], [*range(12, 18)], [18, 19]]
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=r"has no state_dict\(\): nobody can find the place again"):
            loader.load_state_dict(state)


async def _later():
    for n in range(5):
        yield {"n": n}


def test_async_generators_iterables_and_lists():
    for source, expected in ((_later, [0, 1, 2, 3, 4]), ([{"n": 3}, {"n": 1}], [3, 1])):
        with hr.source(source).batch(8).loader(epochs=1) as loader:
            assert batches_of(loader) == [expected]


def test_exceptions_and_deaths_name_the_sample():
    class Bad(Numbers):
        def __getitem__(self, i):
            if i == 7:
                raise ValueError("seven is bad")
            if i == 9:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(i)

        def __len__(self):
            return 20

    with hr.source(Bad()).batch(4).loader(epochs=1, on_error="skip") as loader:
        seen = [n for batch in batches_of(loader) for n in batch]
        assert seen == [n for n in range(20) if n not in (7, 9)]
        assert loader.errors.total == 2
    with hr.source(Bad()).batch(4).loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="seven is bad") as error:
        list(loader)
    assert error.value.index == 7


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
    with pytest.raises(hr.SampleError, match="keys has int 3 as the name of sample 0: takes text"):
        hr.source(FRAGILE, fields=["n", "square"], keys=[3] * 12).batch(2).loader()
    for wrong, why in (
        (["a"], "keys has 1 names, and there are 12 samples"),
        ("abc", "takes a function of a sample's number, or a list"),
        (3, "takes a function"),
    ):
        with pytest.raises(hr.RecipeError, match=why):
            hr.source(FRAGILE, keys=wrong)
    with pytest.raises(hr.RecipeError, match="is iterated over: have it yield a field 'key', a str"):
        hr.source(named, keys=lambda n: "")


@pytest.mark.parametrize("seed", ["torch", ["numpy"]])
def test_generators_are_not_the_seed(seed):
    with pytest.raises(hr.RecipeError, match="takes a whole number; generators="):
        hr.source(FRAGILE, seed=seed)
    with pytest.raises(hr.RecipeError, match="generators is 'jax': takes names of 'random', 'numpy', 'torch'"):
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
        (lambda s: s.shuffle().batch(2).loader(), "an order of its own: takes a source with a length"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0), "say steps_per_epoch"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0, steps_per_epoch=1), "takes a function with two parameters, rank and world_size"),
        (lambda s: s.batch(2).loader(on_error="replace"), "no other of its samples can be had"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(make, why):
    def numbers():
        yield {"n": 1}

    with pytest.raises(hr.HeadraceError, match=why):
        make(hr.source(numbers))


def test_mistakes_are_told_with_what_to_write():
    """Items without names, and extents that differ."""
    for items, message in (
        ([(1, 2), (3, 4)], "returned a tuple of 2, not a sample .a dict of fields.; fields= of source names its values"),
        ([1, 2], "returned int 1, not a sample .a dict of fields.; fields= of source names such a value"),
    ):
        with pytest.raises(hr.SampleError, match=message):
            hr.source(items).batch(2).loader()
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
            pytest.raises(hr.SampleError, match=r"field 'x' is None; .*; if it may be None, 'x' is object in gives="),
        ):
            list(loader)
    with pytest.raises(hr.SampleError, match="returned int 1, not 2 values: x, y"):
        hr.source([1, 2], fields=["x", "y"]).batch(2).loader()

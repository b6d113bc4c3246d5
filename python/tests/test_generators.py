"""Generators of random numbers that objects and functions hold: copies in several workers would draw the same."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE, some

pytestmark = pytest.mark.usefixtures("one_engine")

COUNT = 60


class Holds:
    """A dataset with generators of all kinds, some in what it holds."""

    def __init__(self, seed=0):
        self.numpy = np.random.default_rng(seed)
        self.inner = [{"python": random.Random(seed)}, functools.partial(np.random.RandomState.rand, np.random.RandomState(seed))]
        if WHOLE:  # workers take long to import it
            import torch

            self.torch = torch.Generator().manual_seed(seed)
        self.closure = drawing(seed)

    def drawn(self):
        import torch

        return float(torch.rand((), generator=self.torch, dtype=torch.float64))

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {
            "numpy": self.numpy.random(),
            "python": self.inner[0]["python"].random(),
            "before": self.inner[1](),
            "closure": self.closure(),
            **({"torch": self.drawn()} if WHOLE else {}),
        }


def drawing(seed):
    generator = np.random.Generator(np.random.Philox(seed))
    return lambda: generator.random()


class Made:
    """A class for a step, which each worker makes for itself."""

    def __init__(self):
        self.generator = np.random.default_rng(7)

    def __call__(self, n):
        return self.generator.random()


GLOBAL = random.Random(3)


def of_the_module(n):
    return GLOBAL.random()


def draws(pipeline, epochs=1, workers=1, **options):
    with pipeline.batch(20, **options).loader(epochs=epochs, workers=workers) as loader:
        came = [list(loader) for _ in range(epochs)]
    names = [name for name in came[0][0] if name not in ("key", "n")]
    return {name: [np.concatenate([batch[name] for batch in epoch]).tolist() for epoch in came] for name in names}


def test_each_sample_draws_its_own():
    one, three = draws(hr.source(Holds()), 2), draws(hr.source(Holds()), 2, workers=3)  # the first sample is read twice
    assert one == three  # any number of workers draws the same
    for epochs in one.values():
        assert len({number for epoch in epochs for number in epoch}) == 2 * COUNT
    assert len({epochs[0][0] for epochs in one.values()}) == len(one)  # one generator is not another
    other = draws(hr.source(Holds(1), gives=dict.fromkeys(one, float)))
    assert not {number for epochs in other.values() for number in epochs[0]} & {number for epochs in one.values() for number in epochs[0]}


NUMBERS = [{"n": i} for i in range(COUNT)]


@pytest.mark.parametrize("function", some([Made, of_the_module, Made()], 2))
def test_functions_draw_their_own(function):
    p = hr.source(NUMBERS, gives={"n": int}).map(function, fields="n", to="x", gives=float)
    came = draws(p, workers=3)["x"][0]
    assert len(set(came)) == COUNT
    assert came == draws(p, workers=1)["x"][0]


def test_generators_of_the_program_itself_are_its_own():
    holds = Holds()
    own = np.random.default_rng(0).random(COUNT + 20).tolist()
    assert set(draws(hr.source(holds, where="here"))["numpy"][0]) <= set(own)


OTHER = np.random.default_rng(5)


async def waits(n):
    return OTHER.random()


@pytest.mark.parametrize("how", some([{"function": waits}, {"function": Made(), "where": hr.Workers(processes=2, threads=2)}], 1))
def test_where_calls_share_one_it_differs_between_processes(how):
    p = hr.source(NUMBERS, gives={"n": int}).map(how["function"], fields="n", to="x", gives=float, where=how.get("where", "process"))
    with pytest.warns(hr.HeadraceWarning, match="holds a generator of random numbers that calls share.*parameter rng"):
        assert len(set(draws(p, workers=2)["x"][0])) == COUNT

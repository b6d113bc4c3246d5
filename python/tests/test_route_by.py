"""Routes by a function of the program."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

SOURCE = [{"n": i, "x": np.full(2, i)} for i in range(12)]
GIVES = {"n": int, "x": ("int64", (2,))}


def got(pipeline, **options):
    with pipeline.batch(5).loader(epochs=1, workers=1, **options) as loader:
        batches = list(loader)
        assert set(loader.schema) == {"n", "x", "key"}
    return [int(n) for batch in batches for n in batch["n"]]


def double(p):
    return p.map(lambda n: 2 * n, fields="n", gives={"n": int})


def negative(p):
    return p.map(lambda n: -n, fields="n", gives={"n": int})


def source():
    return hr.source(SOURCE, gives=GIVES)


def test_a_function_of_the_sample():
    p = source().route(lambda sample: int(sample["x"].sum()) % 3, [(0, double), ([1, 2], negative)])
    assert got(p) == [-i if i % 3 * 2 % 3 else 2 * i for i in range(12)]


def test_functions_alone_are_numbered():
    assert got(source().route(lambda s: s["n"] % 3, [double, lambda p: p, negative])) == [[2 * i, i, -i][i % 3] for i in range(12)]


def test_a_function_of_fields():
    p = source().route(lambda n: n % 2 == 0, [(True, double), (False, negative)], fields="n", where="thread")
    assert got(p) == [-i if i % 2 else 2 * i for i in range(12)]


def test_a_function_that_gives_text():
    p = source().route(lambda n: "low" if n < 5 else "high", [("l*", double), lambda p: p], fields=["n"])
    assert got(p) == [2 * i if i < 5 else i for i in range(12)]


def test_two_such_routes():
    p = source().route(lambda n: n % 2, [double, negative], fields="n").route(lambda n: int(n < 0), [lambda p: p, double], fields="n")
    assert got(p) == [-2 * i if i % 2 else 2 * i for i in range(12)]


def test_numpys_numbers_and_the_last_takes_others():
    p = source().route(lambda x: x.max(), [(3, negative), lambda p: p], fields="x")
    assert got(p) == [-i if i == 3 else i for i in range(12)]


def test_a_sample_that_no_branch_takes_is_a_bad_one():
    p = source().route(lambda n: n, [(list(range(11)), lambda p: p)], fields="n")
    with pytest.raises(hr.SampleError, match="no branch of"):
        got(p)
    assert got(p, on_error="skip") == list(range(11))


@pytest.mark.parametrize(("answer", "branches"), [("a", [double, negative]), (None, [double, negative]), (3, [("a", double), negative])])
def test_answers_that_no_branch_can_take(answer, branches):
    with pytest.raises(hr.SampleError, match="branches of its route match"):
        got(source().route(lambda n: answer, branches, fields="n"))


async def later(n):
    return 0


@pytest.mark.parametrize("fields", ["n", None])
def test_a_function_that_draws(fields):
    def coin(n, rng):
        return int(rng.integers(2))

    p = source().route(coin, [double, negative], fields=fields)
    drawn = got(p)
    assert drawn == got(p)
    assert {n <= 0 for n in drawn[1:]} == {True, False}


def test_errors_name_the_function():
    def divides(n):
        return 1 // n

    with pytest.raises(hr.SampleError, match=r"divides.*ZeroDivisionError"):
        got(source().route(divides, [double, negative], fields="n"))
    with pytest.raises(hr.RecipeError, match=r"route: .*missing a required.*two"):
        source().route(lambda one, two: 0, [double, negative], fields="n")
    with pytest.raises(hr.RecipeError, match="is a class"):
        source().route(int, [double, negative], fields="n")
    with pytest.raises(hr.RecipeError, match="is async"):
        source().route(later, [double, negative], fields="n")
    with pytest.raises(hr.RecipeError, match="are for a function"):
        source().route("n", [(0, double), negative], fields="n")


# Branches that do not say what their functions give.


def values(pipeline):
    with pipeline.loader(epochs=1) as loader:
        return list(loader)


@pytest.mark.parametrize("where", ["process", "here"])
def test_a_sample_of_each_branch_tells_what_its_functions_give(where):
    text = lambda p: p.map(lambda x: f"{x}", where=where).map(lambda s: int(s) * 2, where=where)  # noqa: E731
    inner = lambda p: p.route(lambda x: int(x > 50), [lambda q: q.map(lambda x: -x, where=where), text])  # noqa: E731
    p = hr.source(range(60)).route(lambda x: x % 2, [lambda p: p.map({x: 10 * x for x in range(0, 60, 2)}, where=where), inner])
    assert values(p) == [10 * x if x % 2 == 0 else 2 * x if x > 50 else -x for x in range(60)]


def test_functions_of_batches_in_a_branch():
    branches = [lambda p: p.map(lambda b: b + 1), lambda p: p, lambda p: p.map(lambda b: -b)]
    p = hr.source(range(12)).batch(4).route(lambda b: int(b.sum() % 4), branches)
    assert [b.tolist() for b in values(p)] == [[0, -1, -2, -3], [-4, -5, -6, -7], [-8, -9, -10, -11]]


@pytest.mark.parametrize("n", [3, 600])
def test_a_branch_of_which_no_sample_came_is_tried_with_another(n):
    p = hr.source(range(n)).route(lambda x: int(x > 1000), [lambda p: p.map(lambda x: 2 * x), lambda p: p.map(lambda x: -x)])
    assert values(p) == [2 * x for x in range(n)]


@pytest.mark.parametrize("n", [3, 600])
def test_a_branch_that_fails_for_samples_of_others_needs_gives(n):
    rare = lambda x: int(x > 500)  # noqa: E731
    p = hr.source(range(n)).route(rare, [lambda p: p, lambda p: p.map({501: 0})])
    with pytest.raises(hr.RecipeError, match=r"(?s)none of the first samples comes to its branch.*it failed: set gives.*has no key 0"):
        values(p)
    p = hr.source(range(n)).route(rare, [lambda p: p, lambda p: p.map(dict.fromkeys(range(600), 7), gives=int)])
    assert values(p) == [7 if x > 500 else x for x in range(n)]


# Branches that make samples of several, or several of one.


class Totals:
    """Tells the total so far with every second number, so that a resumed one must remember."""

    def __init__(self):
        self.seen = self.total = 0

    def accumulate(self, x):
        self.seen, self.total = self.seen + 1, self.total + int(x)
        return [self.total] if self.seen % 2 == 0 else None

    def flush(self):
        return [self.total] if self.seen % 2 else None

    def state_dict(self):
        return {"seen": self.seen, "total": self.total}

    def load_state_dict(self, state):
        self.seen, self.total = state["seen"], state["total"]


def several():
    branches = [lambda p: p.aggregate(Totals), lambda p: p.flat_map(lambda x: [100 * x, 100 * x + 1]), lambda p: p.map(lambda x: -x)]
    return hr.source(range(11)).route(lambda x: x % 3, branches)


def test_branches_that_gather_and_multiply_keep_order_and_resume_anywhere():
    whole = values(several())
    assert whole == [100, 101, -2, 0 + 3, 400, 401, -5, 700, 701, -8, 0 + 3 + 6 + 9, 1000, 1001]
    for cut in range(1, len(whole), 2):
        with several().loader(epochs=1) as loader:
            begun = list(itertools.islice(iter(loader), cut))
            state = loader.state_dict()
        with several().loader(epochs=1) as loader:
            loader.load_state_dict(state)
            assert begun + list(loader) == whole, cut


def test_a_branch_takes_batches_apart():
    branches = [lambda p: p.unbatch(), lambda p: p.unbatch().map(lambda x: -x).aggregate(Totals)]
    p = hr.source(range(12)).batch(3).route(lambda b: int(b[0]) % 2, branches)
    assert values(p) == [0, 1, 2, -7, 6, 7, 8, -7 - 5 - 9, -21 - 10 - 11]

"""aggregate, from end to end: what an object makes of several samples, and what cannot be. Where runs go on is in test_cuts.py."""

from __future__ import annotations

import numpy as np
import pytest

import functions
import headrace as hr


def test_what_the_first_samples_make_is_found_out():
    with hr.source(functions.counted()[:7]).aggregate(functions.Pairs).batch(2).loader(epochs=1) as loader:
        assert [batch["n"].tolist() for batch in loader] == [[1, 203], [405, 6]]


class Captured:
    """Stands in the program: it travels by value, with what it refers to."""

    def __init__(self, size):
        self.size = size
        self.held = []

    def accumulate(self, n, rng):
        self.held.append(n)
        if len(self.held) == self.size:
            held, self.held = self.held, []
            return {"total": sum(held), "drawn": float(rng.random())}
        return None

    def flush(self):
        return None


def test_objects_of_the_program_and_named_fields():
    def draws():
        with hr.source(functions.counted()).aggregate(Captured(4), fields="n").batch(5).loader(epochs=2) as loader:
            return [[(batch["total"].tolist(), batch["drawn"].tolist()) for batch in loader] for _ in range(2)]

    first, second = draws()
    assert [total for total, _ in first] == [total for total, _ in second] == [[6, 22, 38, 54, 70], [86, 102, 118, 134, 150]]
    assert first != second
    assert draws() == [first, second]


def test_without_a_state_a_place_in_an_epoch_is_refused():
    p = hr.source(functions.counted()).aggregate(functions.Pairs, gives={"n": int}).batch(4)
    with p.loader(epochs=2) as loader:
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=r'the object of "aggregate" had made samples \d times and has no state_dict\(\)'):
            loader.load_state_dict(state)
    with p.loader(epochs=2) as loader:
        begin = loader.state_dict()
        whole = [batch["n"].tolist() for batch in loader]
        loader.load_state_dict(begin)
        assert [batch["n"].tolist() for batch in loader] == whole


class Bare:
    """Gives an array where samples are wanted."""

    def accumulate(self, n):
        return np.arange(3) + n

    def flush(self):
        return None


def test_what_it_makes_are_dicts_whatever_it_is_given():
    with hr.source(functions.counted()).aggregate(Bare, fields="n", gives={"n": int}).batch(2).loader(epochs=1) as loader:
        with pytest.raises(hr.HeadraceError, match=r"returned .*, not a sample .*; fields= names what it is given, not what it makes"):
            next(iter(loader))


def nothing(self):
    return None


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda p: p.aggregate(functions.same),
            r"aggregate: same has no method accumulate: give a class, or an object, with accumulate\(sample\) and flush\(\)",
        ),
        (lambda p: p.aggregate(Captured), "aggregate: the class Captured: missing a required argument: 'size'"),
        (
            lambda p: p.aggregate(Captured(2), fields=["n", "x"]),
            "aggregate: .*accumulate: multiple values for argument 'rng': it is given the fields 'n', 'x'",
        ),
        (lambda p: p.aggregate(functions.Pairs).failures(retries=1).batch(2).loader(), "the object has been given the sample already"),
        (lambda p: p.aggregate(functions.Pairs).batch(2).loader(on_error="replace"), "makes samples from several, and cannot give another"),
        (lambda p: p.aggregate(functions.Pairs).batch(2).loader(rank=0, world_size=2), "set steps_per_epoch"),
    ],
)
def test_what_cannot_be_is_refused(make, why):
    with pytest.raises(hr.RecipeError, match=why):
        make(hr.source(functions.counted()))


def test_places_that_cannot_be():
    with hr.source(functions.counted()).aggregate(functions.Pairs, gives={"n": int}).batch(4).loader(epochs=1) as loader:
        state = loader.state_dict()
        for wrong, why in (
            ([], "its aggregates are"),
            ({"aggregate": {"groups": -1}}, "its number of groups of aggregate is -1"),
            ({"aggregate": {"groups": 1, "state": 5}}, "its aggregate aggregate remembers 5: must be text"),
        ):
            with pytest.raises(hr.StateMismatch, match=why):
                loader.load_state_dict({**state, "aggregates": wrong})

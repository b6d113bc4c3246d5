"""What functions of all kinds do wrong: which sample it costs, what learns of it, and what ends the run. What comes is what plain Python
would make of the others."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest

import headrace as hr
from conftest import cases
from own import taken


class Numbers:
    def __init__(self, count=21):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"n": i, "x": np.full(4, i, np.float32)}


def numbers(count=21):
    return hr.source(Numbers(count), gives={"n": int, "x": ("float32", (4,))})


def end(loader):
    """What came, and how it ended."""
    got = []
    try:
        got.extend(map(taken, loader))
    except hr.HeadraceError as error:
        return got, error
    return got, None


def all_n(batches):
    return [n for batch in batches for n in batch["n"]]


# Objects that are read by number.


class Bad(Numbers):
    what = "raise"

    def __getitem__(self, i):
        if i == 7 and self.what == "raise":
            raise ValueError("seven is bad")
        if i == 7 and self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"n": i, "x": np.zeros(3 + (i == 7), np.int16)}


class Deadly(Bad):
    what = "die"


class Odd(Bad):
    what = "misfit"


@pytest.mark.parametrize(
    ("make", "why"), [(Bad, "ValueError: seven is bad"), (Deadly, "SIGKILL"), (Odd, r"'x' is int16 \[4\]; the step gives int16 \[3\]")]
)
def test_a_bad_item_is_one_bad_sample(make, why):
    with hr.source(make()).batch(4).loader(epochs=1, on_error="skip") as loader:
        assert all_n(loader) == [n for n in range(21) if n != 7]
        (lost,) = loader.errors
        assert (lost.key, lost.index, lost.stage) == ("7", 7, "source+batch")
        assert re.search(why, lost.error)
    with hr.source(make()).batch(4).loader(epochs=1) as loader:
        got, error = end(loader)
        assert all_n(got) == [0, 1, 2, 3]
        assert error.key == "7"
        assert re.search(why, str(error))
    with hr.source(make()).batch(4).loader(epochs=1, on_error="replace") as loader:
        got = all_n(loader)
        assert got[:7] + got[8:] == [n for n in range(21) if n != 7]
        assert got[7] != 7
        assert loader.errors.replaced == 1


# Streams.


def some():
    yield from ({"n": i} for i in range(5))


def breaks():
    yield from some()
    raise RuntimeError("no more of this")


def dies():
    yield from some()
    os.kill(os.getpid(), signal.SIGKILL)


class Stateful:
    def __iter__(self):
        yield from some()

    def load_state_dict(self, state):
        pass


class Odds(Stateful):
    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return self.state()


@pytest.mark.parametrize("on_error", ["skip", "raise"][: cases(1, 2)])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (breaks, "RuntimeError: no more of this"),
        (dies, "SIGKILL"),
        (Odds(lambda: 1 // 0), "ZeroDivisionError"),
    ],
)
def test_a_stream_that_breaks_off_is_not_at_its_end(make, why, on_error):
    with hr.source(make, gives={"n": int}).batch(2).loader(epochs=1, on_error=on_error) as loader:
        _, error = end(loader)
    assert re.search(why, str(error))
    assert not isinstance(error, hr.TooManyErrors)


def test_an_iterator_is_gone_through_once():
    with hr.source(iter([{"n": 1}, {"n": 2}]), gives={"n": int}).batch(2).loader(epochs=2) as loader:
        assert all_n(loader) == [1, 2]
        _, error = end(loader)
    assert "is an iterator, which can be gone through once, and this is epoch 1" in str(error)


def test_a_loader_is_left_while_its_stream_waits():
    def slow():
        yield from some()
        time.sleep(60)

    began = time.monotonic()
    with hr.source(slow).batch(2).loader(epochs=1) as loader:
        next(iter(loader))
    assert time.monotonic() - began < 50


# Objects that gather.

PAIRS = {"n": int, "x": ("float32", (2, 4))}


class Pairs:
    """Two samples are one; of an odd number the last one is alone. It fails as it is reported."""

    def __init__(self, what=""):
        self.first, self.what = None, what

    def accumulate(self, sample):
        if sample["n"] == 7:
            if self.what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "hang":
                time.sleep(1000)
            if self.what == "raise":
                raise ValueError("seven is bad")
        if sample["n"] == 8 and self.what == "raise":
            return {"n": "eight", "x": np.zeros((2, 4), np.float32)}
        if self.first is None:
            self.first = sample
            return None
        first, self.first = self.first, None
        return {"n": first["n"] * 1000 + sample["n"], "x": np.stack([first["x"], sample["x"]])}

    def flush(self):
        if self.what == "no end":
            raise ValueError("no end")
        return self.first and {"n": self.first["n"], "x": np.stack([self.first["x"]] * 2)}


class UnwrittenPairs(Pairs):
    def state_dict(self):
        return {"first": object()}

    def load_state_dict(self, state):
        pass


@pytest.mark.parametrize("own", [False, True], ids=["of the loader", "of the step"])
def test_an_object_fails_for_the_sample_that_it_was_given(own):
    def lost_of(what):
        steps = numbers().aggregate(Pairs(what), gives=PAIRS)
        steps = steps.failures(on_error="skip", max_errors=2) if own else steps
        with steps.batch(2).loader(epochs=1, on_error="raise" if own else "skip") as loader:
            return all_n(loader), [(lost.index, lost.stage, lost.error) for lost in loader.errors]

    got, (seven, eight) = lost_of("raise")
    assert got == [1, 2003, 4005, 6009, 10011, 12013, 14015, 16017, 18019, 20]
    assert seven[:2] == (7, "aggregate")
    assert "ValueError: seven is bad" in seven[2]
    assert eight[:2] == (8, "aggregate")
    assert "'n' is a str; the step gives int64" in eight[2]
    got, (last,) = lost_of("no end")
    assert len(got) == 10
    assert last[0] == 20
    assert "ValueError: no end" in last[2]


def test_an_object_that_fails_ends_a_run_that_raises():
    with numbers().aggregate(Pairs("raise"), gives=PAIRS).batch(2).loader(epochs=1) as loader:
        got, error = end(loader)
    assert all_n(got) == [1, 2003]
    assert (error.key, error.remote_type) == ("7", "ValueError")


@pytest.mark.parametrize(
    ("gathers", "limit", "why"),
    [
        (Pairs("die"), 60, "SIGKILL"),
        (Pairs("hang"), 0.2, "took longer than its time limit of 200ms"),
        (UnwrittenPairs(), 60, "must be plain JSON, arrays, tensors and bytes: Object of type object"),
    ],
)
def test_what_an_object_had_gathered_is_lost_with_its_process(gathers, limit, why):
    """So the run ends, whatever the policy, and another one begins with a new object."""
    steps = numbers().aggregate(gathers, gives=PAIRS).failures(time_limit=limit).batch(2)
    with steps.loader(epochs=1, on_error="skip", max_errors=100) as loader:
        begin = loader.state_dict()
        for _ in range(2):
            _, error = end(loader)
            assert why in str(error)
            assert not isinstance(error, hr.TooManyErrors)
            assert isinstance(gathers, UnwrittenPairs) or "what its object had gathered is lost, and so the run ends" in str(error)
            assert not loader.errors
            loader.load_state_dict(begin)


def test_samples_before_an_object_may_be_replaced():
    def picky(sample):
        if sample["n"] == 3:
            raise ValueError("three")
        return sample

    with numbers(9).map(picky).failures(on_error="replace").aggregate(Pairs).batch(2).loader(epochs=1) as loader:
        first, second, *others = all_n(loader)
    assert (first, second // 1000, others) == (1, 2, [4005, 6007, 8])
    assert second != 2003


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda a: {**a, "other": {}}, 'it has an aggregate "other", which the recipe lacks'),
        (lambda a: {"aggregate": {"state": "{}"}}, 'its aggregate "aggregate" had made samples 0 times'),
        (lambda a: {"aggregate": {"groups": 2, "state": "{"}}, 'the state of the object of "aggregate" must be JSON of at most 1048576'),
        (lambda a: {}, 'it lacks the aggregate "aggregate"'),
    ],
)
def test_states_that_no_object_can_have(change, why):
    class Remembers(Pairs):
        def state_dict(self):
            return {"first": self.first}

        def load_state_dict(self, state):
            self.first = state["first"]

    with numbers(40).aggregate(Remembers, gives=PAIRS).batch(3).loader(epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=why):
            loader.load_state_dict({**state, "aggregates": change(state["aggregates"])})
        loader.load_state_dict(state)


# Results that do not fit.

FIT = {"a": np.zeros((2, 3), np.float32), "b": 1, "c": "text"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"a": np.zeros((2, 3))}, r"field 'a' is float64 \[2, 3\]; the step gives float32 \[2, 3\]"),
        ({"a": np.zeros((3, 2), np.float32)}, r"field 'a' is float32 \[3, 2\]; the step gives float32 \[2, 3\]"),
        ({"a": [1, 2]}, r"field 'a' is a list of 2 \(make it an array\)"),
        ({"a": object()}, "field 'a' is an object"),
        ({"b": 1.5}, "field 'b' is float 1.5; the step gives int64"),
        ({"b": 1 << 70}, "which int64 cannot hold"),
        ({"c": None}, "field 'c' is None; the step gives text"),
        ({"c": "\ud800"}, "UTF-8"),
        ({"b": ...}, "field 'b' is missing"),
        ({"d": 1}, "a field 'd' that the step does not give"),
        (None, r"returned None, not a sample \(a dict of fields\); did it forget to return\?"),
    ],
)
def test_what_does_not_fit_is_named(change, why):
    def misfit(sample):
        if sample["n"] != 2 or change is None:
            return FIT if sample["n"] != 2 else None
        return {name: value for name, value in {**FIT, **change}.items() if value is not ...}

    with numbers(4).map(misfit, gives={"a": ("float32", (2, 3)), "b": int, "c": str}).batch(1).loader(epochs=1) as loader:
        got, error = end(loader)
    assert len(got) == 2
    assert re.search(rf"misfit \(test_bad_items.py:.*{why}", str(error), re.DOTALL)


# Functions of samples and of whole batches, which do to each what a file of its number says; a second word is for the next call.


class Told:
    def __init__(self, folder):
        self.folder = os.fspath(folder)

    def trouble(self, n):
        path = os.path.join(self.folder, str(int(n)))
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            what, *rest = file.read().split()
        if rest:
            with open(path, "w") as file:
                file.write(" ".join(rest))
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raise":
            raise ValueError(f"no good: {n}")
        if what == "hang":
            time.sleep(1000)
        return what

    def one(self, sample):
        what = self.trouble(sample["n"])
        return {"n": sample["n"], "x": sample["x"].astype(np.float64 if what == "misfit" else np.float32)}

    def batch(self, samples):
        each = [self.one(sample) for sample in samples]
        return {name: np.stack([one[name] for one in each]) for name in ("n", "x")}


@pytest.fixture
def told(tmp_path):
    def make(**what):
        for n, words in what.items():
            (tmp_path / n[1:]).write_text(words)
        return Told(tmp_path)

    return make


ONE = {"n": int, "x": ("float32", (4,))}
SEVERAL = {"n": (int, (None,)), "x": ("float32", (None, 4))}


def collated(told, **failures):
    steps = numbers(14).batch(2, collate=told.batch, gives=SEVERAL, workers=2)
    return steps.failures(**failures) if failures else steps


def retried(loader):
    return sum(stage["retried"] for stage in loader.stats()["stages"])


def test_what_happens_to_one_batch_costs_its_samples(told):
    trouble = told(_2="die", _5="raise", _7="misfit", _11="hang")
    with collated(trouble, on_error="skip", max_errors=4, time_limit=3).loader(epochs=1) as loader:
        assert all_n(loader) == [0, 1, 8, 9, 12, 13]
        lost = {error.index: error for error in loader.errors}
    assert sorted(lost) == [2, 3, 4, 5, 6, 7, 10, 11]
    for index, why in ((3, "SIGKILL"), (5, "no good: 5"), (6, r"float64 \[2, 4\]"), (10, "time limit of 3s")):
        assert re.search(why, lost[index].error)


def test_calls_are_tried_again(told):
    steps = numbers().map(told(_2="die ok", _4="raise ok", _7="raise raise ok").one, gives=ONE, workers=2)
    with steps.failures(retries=2, wait=0).batch(4).loader(epochs=1) as loader:
        assert all_n(loader) == list(range(21))
        assert retried(loader) == 3  # a worker that died is no try of the sample
    with collated(told(_2="die ok", _4="ok", _5="raise raise ok", _7="ok"), retries=2, wait=0).loader(epochs=1) as loader:
        assert all_n(loader) == list(range(14))
        assert retried(loader) == 2


@pytest.mark.parametrize("how", ["step", "loader"])
def test_too_many_bad_batches(told, how):
    """A step counts batches, the loader samples."""
    trouble = told(_5="raise", _9="raise")
    failures, options = ({"on_error": "skip", "max_errors": 1}, {}) if how == "step" else ({}, {"on_error": "skip", "max_errors": 3})
    with collated(trouble, **failures).loader(epochs=1, **options) as loader:
        got, error = end(loader)
    assert all_n(got) == [0, 1, 2, 3, 6, 7]
    assert isinstance(error, hr.TooManyErrors)


def test_a_batch_is_not_replaced_and_samples_before_it_are(told):
    with collated(told(_3="raise")).loader(epochs=1, on_error="replace") as loader:
        got, error = end(loader)
    assert all_n(got) == [0, 1]
    assert re.search('no good: 3.*on_error="replace" cannot replace a batch', str(error), re.S)
    steps = numbers(14).map(told(_4="raise").one, gives=ONE).batch(2, collate=Told(os.devnull).batch, gives=SEVERAL)
    with steps.loader(epochs=1, on_error="replace") as loader:
        got = all_n(loader)
        assert loader.errors.replaced == 2
    assert len(got) == 14
    assert not {3, 4} & set(got)


def test_samples_of_many_are_replaced(told):
    """Workers wait with what they have made, since nothing goes on before a bad sample is replaced by one of another."""

    def copies(sample):
        for _ in range(200):
            yield {"n": sample["n"], "x": sample["x"]}

    picky = told(_0="raise ok", _1="raise ok", _5="raise ok").one
    steps = numbers(12).flat_map(copies, workers=2, gives=ONE).map(picky, gives=ONE, workers=2)
    with steps.batch(4).loader(epochs=1, on_error="replace") as loader:
        assert len(all_n(loader)) == 12 * 200
        assert 0 < loader.errors.replaced <= 6  # both workers may have read of one before either has told the next call otherwise


def test_dead_letters_tell_of_the_run_alone(told, tmp_path):
    """What looks at the first samples loses some of them, too."""
    letters = tmp_path / "letters"
    pipeline = numbers(6).map(told(_0="raise").one).batch(1)
    with pipeline.loader(epochs=1, on_error="skip", dead_letters=letters, prefetch=0) as loader:
        assert letters.read_text() == ""  # on demand: the run has not begun
        assert all_n(loader) == [1, 2, 3, 4, 5]
    assert len(letters.read_text().splitlines()) == 1


# What cannot be.


def by_n(branch):
    return numbers(9).route("n", [(0, branch), lambda p: p])


NONE = numbers(9).filter(lambda sample: False)
SAME = lambda sample: sample  # noqa: E731


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: hr.source(lambda: iter(())), "has no gives and no sample to find it from: set gives"),
        (lambda: NONE.map(SAME), 'step "map" .*no sample came to find it from: set gives'),
        (lambda: NONE.batch(2, collate=SAME), 'step "batch" .*no sample came to find it from'),
        (lambda: by_n(lambda p: p.filter(lambda sample: False).map(SAME)), 'step "map" .*none of the first samples comes to its branch'),
        (lambda: numbers(9).aggregate(Pairs).map(SAME).failures(on_error="replace"), '"aggregate" makes samples from several'),
        (lambda: numbers(9).aggregate(Pairs, fields="m"), 'is an unknown field "m"'),
        (lambda: numbers(9).batch(2, collate=SAME, fields="m"), 'is an unknown field "m"'),
        (lambda: numbers(9).batch(2, collate=lambda samples: False), "returned bool False, not a batch"),
    ],
)
def test_pipelines_that_cannot_be(make, why):
    steps = make()
    with pytest.raises(hr.HeadraceError, match=why):
        (steps if "batch" in repr(steps) else steps.batch(2)).loader()


def test_a_stream_has_no_share_of_bad_samples():
    with pytest.raises(hr.HeadraceError, match=r"max_errors is 0\.5 of the samples: .* is iterated over, and their number is unknown"):
        hr.source(some).batch(2).loader(on_error="skip", max_errors=0.5)


def test_extents_that_a_function_leaves_may_differ():
    images = hr.source([{"image": np.zeros((5 + 3 * i, 6, 3), np.uint8)} for i in range(9)], gives={"image": ("uint8", (None, None, 3))})
    inverted = images.map(lambda image: 255 - image, fields="image")
    with inverted.resize((8, 9)).random_flip().batch(4).loader(epochs=1) as loader:
        assert sum(len(batch["image"]) for batch in loader) == 9
    with pytest.raises(hr.RecipeError, match=r'cannot stack images of different sizes: the field "image" is uint8 \[\?, \?, 3\]'):
        inverted.batch(4).loader()

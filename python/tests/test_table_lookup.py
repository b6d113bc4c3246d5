"""Tables instead of functions."""

import re

import numpy as np
import pytest

import headrace as hr


def rows(pipeline, field, **options):
    with pipeline.batch(2).loader(epochs=1, **options) as loader:
        return [value for batch in loader for value in batch[field]], [str(lost.error) for lost in loader.errors]


class Squares:
    def __getitem__(self, n):
        return n * n


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({0: "ant", 1: "bee", 2: "fly"}, ["ant", "bee", "fly"]),
        (["ant", "bee", "fly"], ["ant", "bee", "fly"]),
        (Squares(), [0, 1, 4]),
        (np.array([5.5, 6.5, 7.5]), [5.5, 6.5, 7.5]),
    ],
)
def test_tables_are_looked_into(table, wanted):
    numbers = hr.source([{"label": i} for i in range(3)])
    found, _ = rows(numbers.map(table, fields="label", to="name"), "name")
    assert list(found) == wanted


def test_texts_are_keys():
    words = hr.source([{"word": w} for w in ("a", "b", "a")])
    found, _ = rows(words.map({"a": 1, "b": 2}, fields="word", to="number", gives="int64"), "number")
    assert [int(n) for n in found] == [1, 2, 1]


def test_a_key_that_is_missing_is_the_samples_failure():
    numbers = hr.source([{"label": i} for i in range(3)])
    pipeline = numbers.map({0: "ant", 2: "fly"}, fields="label", to="name", gives=str)
    found, lost = rows(pipeline, "name", on_error="skip", max_errors=1)
    assert list(found) == ["ant", "fly"]
    assert len(lost) == 1
    assert re.search(r"a dict has no key 1: its keys are 0, 2", lost[0])


def test_a_table_needs_one_field():
    with pytest.raises(hr.RecipeError, match=r"a dict is looked into with the value of one field: name one"):
        hr.source([{"a": 1}]).map({1: 2}, fields=["a", "b"])


# Samples that are values, without fields.


def values(pipeline):
    with pipeline.loader(epochs=1) as loader:
        return list(loader)


@pytest.mark.parametrize(
    ("samples", "table", "wanted"),
    [
        (range(3), [5, 6, 7], [5, 6, 7]),
        ([2, 0], {0: "ant", 2: "fly"}, ["fly", "ant"]),
        (["a", "b"], {"a": 1, "b": None}, [1, None]),
        ([(1, 2), (3, 4)], {(1, 2): "x", (3, 4): "y"}, ["x", "y"]),
        (range(3), Squares(), [0, 1, 4]),
        (range(3), np.array([5.5, 6.5, 7.5]), [5.5, 6.5, 7.5]),
        (np.arange(3), range(10, 20), [10, 11, 12]),
    ],
)
@pytest.mark.parametrize("where", ["process", "here"])
def test_values_are_looked_up(samples, table, wanted, where):
    assert values(hr.source(samples).map(table, where=where)) == wanted


@pytest.mark.parametrize(
    ("samples", "table", "wrong"),
    [
        (["a", "c"], {"a": 1, "b": 2}, r"a dict has no key 'c': its keys are 'a', 'b'\n  of 1, in map"),
        (["a", "c"], dict.fromkeys("abdefgh"), r"its keys are 'a', 'b', 'd', 'e', 'f', … 7 in all"),
        (["a"], {}, r"a dict has no key 'a': it is empty\n  of 0, in map"),
        ([0, 3], [5, 6, 7], r"a list has no item 3: it has 3, counted from 0\n  of 1, in map"),
        (["a"], (5, 6), r"a tuple cannot be looked into with 'a', of the type str"),
        ([np.zeros(2)], {1: 2}, r"a dict cannot be looked into with array\(\[0., 0.\]\), of the type ndarray: unhashable"),
        ([{"a": 1}], {1: 2}, r"this sample has the fields a, key: name one, as in .map\(table, fields=\"label\""),
    ],
)
def test_what_a_table_lacks_is_named(samples, table, wrong):
    with pytest.raises(hr.SampleError, match=wrong):
        values(hr.source(samples).map(table))

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
    assert re.search(r"KeyError: 1", lost[0])


@pytest.mark.parametrize("fields", [None, ["a", "b"]])
def test_a_table_needs_one_field(fields):
    with pytest.raises(hr.RecipeError, match=r"a dict is looked into with the value of one field: name it"):
        hr.source([{"a": 1}]).map({1: 2}, fields=fields)

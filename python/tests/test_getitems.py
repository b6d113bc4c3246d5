"""Objects with `__getitems__` give the samples of a pack at once, as they do for PyTorch's DataLoader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as hr


class Squares:
    """Samples that say how many were asked for together."""

    bad: int | None = None
    short = False

    def __len__(self) -> int:
        return 3000

    def __getitem__(self, i: int) -> Any:
        return self.one(i, 1)

    def __getitems__(self, numbers: list[int]) -> list[Any]:
        assert all(type(i) is int for i in numbers)
        return [self.one(i, len(numbers)) for i in numbers[self.short :]]

    def one(self, i: int, together: int) -> Any:
        if i == self.bad:
            raise ValueError(f"{i} is bad")
        return {"x": i * i, "together": together}


class Bad(Squares):
    bad = 1234


class Short(Squares):
    short = True


class Arrays(Squares):
    def one(self, i: int, together: int) -> Any:
        return np.array([i * i, together])


def same(x: Any) -> Any:
    return x


@pytest.mark.parametrize("where", ["process", "thread"])
def test_samples_come_together(where: str) -> None:
    chains = {
        "alone": hr.source(Squares(), where=where),
        "shuffled": hr.source(Squares(), where=where).shuffle(),
        "chain": hr.source(Squares(), where=where).map(same, fields="x", where=where),
    }
    for name, chain in chains.items():
        with chain.batch(64).loader(workers=2) as loader:
            batches = list(loader)
        x = np.concatenate([b["x"] for b in batches])
        assert (np.sort(x) if name == "shuffled" else x).tolist() == [i * i for i in range(3000)], name
        assert max(b["together"].max() for b in batches) > 1, name


def test_a_value_through_functions() -> None:
    with hr.source(Arrays()).map(same).map(same).batch(64).loader(workers=2) as loader:
        rows = np.concatenate(list(loader))
    assert rows[:, 0].tolist() == [i * i for i in range(3000)]
    assert rows[:, 1].max() > 1


@pytest.mark.parametrize("functions", [0, 2])
def test_one_that_fails_loses_nothing_else(functions: int) -> None:
    chain = hr.source(Bad())
    for _ in range(functions):
        chain = chain.map(same, fields="x")
    with chain.batch(64).loader(workers=2, on_error="skip") as loader:
        x = np.concatenate([b["x"] for b in loader])
        (lost,) = loader.errors
    assert x.tolist() == [i * i for i in range(3000) if i != 1234]
    assert "1234 is bad" in str(lost)


def test_too_few_samples_are_asked_for_alone() -> None:
    with hr.source(Short()).batch(64).loader(workers=1) as loader:
        batches = list(loader)
    assert np.concatenate([b["x"] for b in batches]).tolist() == [i * i for i in range(3000)]
    assert max(b["together"].max() for b in batches) == 1

"""Samples of 1 KB through a chain of three functions of Python, in two workers: samples a second.

    PYTHONPATH=python/src .venv/bin/python bench/small.py

The functions alone, called in a loop of this program, take turns with it, as does PyTorch's DataLoader with two workers
where it is installed.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import headrace as hr
import numpy as np

SAMPLES, BATCH, ROUNDS = 60_000, 256, 5
ROWS = np.zeros((SAMPLES, 1024), np.uint8)


class Rows:
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"x": ROWS[i]}


def first(x: Any) -> Any:
    return x


def second(x: Any) -> Any:
    return x


def third(x: Any) -> Any:
    return x


def of_headrace(where: str) -> float:
    kind = (np.uint8, (1024,))
    chain = hr.source(Rows(), where=where).map(first, fields="x", where=where, gives=kind)
    chain = chain.map(second, fields="x", where=where, gives=kind).map(third, fields="x", where=where, gives=kind)
    with chain.batch(BATCH).loader(epochs=2, workers=2) as loader:
        for _ in loader:
            pass
        began = time.monotonic()
        for _ in loader:
            pass
        return SAMPLES / (time.monotonic() - began)


def of_torch() -> float | None:
    try:
        from torch.utils.data import DataLoader, Dataset
    except ImportError:
        return None

    class Set(Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return SAMPLES

        def __getitem__(self, i: int) -> Any:
            return third(second(first(ROWS[i])))

    loader = DataLoader(Set(), batch_size=BATCH, num_workers=2, persistent_workers=True)
    for _ in loader:
        pass
    began = time.monotonic()
    for _ in loader:
        pass
    return SAMPLES / (time.monotonic() - began)


def alone() -> float:
    rows = Rows()
    began = time.monotonic()
    for i in range(SAMPLES):
        third(second(first(rows[i]["x"])))
    return SAMPLES / (time.monotonic() - began)


def main() -> None:
    rates: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, rate in (
            ("process", of_headrace("process")),
            ("thread", of_headrace("thread")),
            ("torch", of_torch()),
            ("alone", alone()),
        ):
            if rate is not None:
                rates.setdefault(name, []).append(rate)
    for name, all_of_it in rates.items():
        print(f"{name}: {statistics.median(all_of_it):,.0f} samples/s [{min(all_of_it):,.0f}-{max(all_of_it):,.0f}]")


if __name__ == "__main__":
    main()

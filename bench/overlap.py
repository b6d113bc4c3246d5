"""How well a model and a store after batch overlap: two functions that take 50 ms each, one worker each.

    PYTHONPATH=python/src .venv/bin/python bench/overlap.py

Ideal is one function alone, called as often in a loop of this program. The two take turns, so that both have the same machine.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import headrace as hr

BATCHES, ROUNDS = 60, 5


def model(batch: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.05)
    return batch


def store(batch: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.05)
    return batch


def alone() -> float:
    began = time.monotonic()
    for _ in range(BATCHES - 1):
        model({})
    return time.monotonic() - began


def overlapped(loader: hr.Loader) -> float:
    loop = iter(loader)
    next(loop)
    began = time.monotonic()
    if sum(1 for _ in loop) != BATCHES - 1:
        raise SystemExit("batches are missing")
    return time.monotonic() - began


def main() -> None:
    samples = hr.source([{"n": i} for i in range(4 * BATCHES)])
    for where in ("process", "thread", "here"):
        pipeline = samples.batch(4).map(model, workers=1, where=where).map(store, workers=1, where=where)
        shares = []
        for _ in range(ROUNDS):
            with pipeline.loader(epochs=1, prefetch=1) as loader:
                took = overlapped(loader)
            shares.append(alone() / took)
        print(f"{where}: {statistics.median(shares):.3f} of ideal [{min(shares):.3f}-{max(shares):.3f}]")


if __name__ == "__main__":
    main()

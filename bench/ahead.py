"""What prefetch= costs, as the rate beside the same loader without it.

    PYTHONPATH=python/src .venv/bin/python bench/ahead.py

Each round measures the loader without prefetch= first, and then with each number. Rates begin after the first batch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import headrace as hr

ROUNDS, AHEAD, SIZES = 3, (0, 1, 2, 4), (1, 32)


def short(x: int) -> int:
    return x + 1


def of_1_ms(x: int) -> int:
    until = time.perf_counter() + 0.001
    while time.perf_counter() < until:
        pass
    return x


def rate(function: Callable[[int], int], where: str, samples: int, size: int, prefetch: int | None) -> float:
    """Samples per second."""
    pipeline = hr.source(range(samples)).map(function, where=where, gives=int).batch(size)
    with pipeline.loader(epochs=1, prefetch=prefetch) as loader:
        batches = iter(loader)
        next(batches)
        began = time.perf_counter()
        return sum(len(batch) for batch in batches) / (time.perf_counter() - began)


def main() -> None:
    print("| function, place, batch | alone, samples/s |", " | ".join(f"`prefetch={n}`" for n in AHEAD), "|")
    for function, most in ((short, 40_000), (of_1_ms, 3_000)):
        for where in "process", "here":
            for size in SIZES:
                samples = most if size > 1 else most // 8
                alone, ratios = [], {n: [] for n in AHEAD}
                for _ in range(ROUNDS):
                    alone.append(rate(function, where, samples, size, None))
                    for n in AHEAD:
                        ratios[n].append(rate(function, where, samples, size, n) / alone[-1])
                told = " | ".join(f"{statistics.median(all_of):.2f}" for all_of in ratios.values())
                print(f"| {function.__name__}, {where}, {size} | {statistics.median(alone):,.0f} | {told} |", flush=True)


if __name__ == "__main__":
    main()

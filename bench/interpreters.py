"""A function of plain Python in sub-interpreters, threads and processes: which is faster with a GIL.

    PYTHONPATH=python/src PYTHON-3.14 bench/interpreters.py [--rounds 12] [--calls 400]

Each round makes a loader for each, in an order that moves on by one, and takes the time from its first sample to its
last, which leaves out the start of workers. What is printed are ratios of pairs of the same round to sub-interpreters:
the median, and the least and greatest. On a free-threaded build, PYTHON_GIL=1 turns the GIL on.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, InterpreterPoolExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import headrace as hr

STEPS = 20_000  # of plain Python, a call: a millisecond


def plain(n: int) -> int:
    total = n
    for i in range(STEPS):
        total = (total * 31 + i) & 0xFFFFFF
    return total


def seconds(where: Any, calls: int) -> float:
    with hr.source(range(calls)).map(plain, where=where, workers=2, gives=int).loader(epochs=1) as loader:
        samples = iter(loader)
        next(samples)
        begin = time.perf_counter()
        for _ in samples:
            pass
        return time.perf_counter() - begin


def in_executor(make: Callable[[], Executor], calls: int) -> float:
    with make() as executor:
        list(executor.map(plain, range(16)))  # starts its workers
        return seconds(executor, calls)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    calls = options.calls
    contestants: dict[str, Callable[[], float]] = {
        "InterpreterPoolExecutor": partial(in_executor, partial(InterpreterPoolExecutor, 2), calls),
        "ThreadPoolExecutor": partial(in_executor, partial(ThreadPoolExecutor, 2), calls),
        "ProcessPoolExecutor": partial(in_executor, partial(ProcessPoolExecutor, 2, get_context("forkserver")), calls),
        'where="process"': partial(seconds, "process", calls),
        'where="thread"': partial(seconds, "thread", calls),
    }
    names = list(contestants)
    took: dict[str, list[float]] = {name: [] for name in names}
    for i in range(options.rounds + 1):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            one = contestants[name]()
            if i:  # the first round imports
                took[name].append(one)
    first = names[0]
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, GIL {gil}; {first}: {statistics.median(took[first]):.2f} s")
    for name in names[1:]:
        ratios = [other / own for other, own in zip(took[name], took[first])]
        print(f"  time of {name} / {first}: {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")


if __name__ == "__main__":
    main()

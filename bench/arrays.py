"""CPU of bringing arrays of some MB from a process that makes them into the program: Headrace against SPDL's segment pool.

    PYTHONPATH=python/src .venv/bin/python bench/arrays.py --spdl PYTHON [--mb 8] [--rounds 5]

An object makes each array with `numpy.full`; the program reads one element of it. Each run is a program of its own, PYTHON's
those of SPDL. The CPU time is that of all its processes, and what the start takes is taken off: it is the difference of a long
run and a short one. All take turns. The last line is Headrace's over SPDL's: 1.00 or less is wanted.
"""

from __future__ import annotations

import argparse
import functools
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

SHORT, LONG = 20, 220


class Arrays:
    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"x": np.full(self.size, i % 256, np.uint8)}


def produce(count: int, size: int) -> Iterator[Any]:
    data = Arrays(count, size)
    for i in range(count):
        yield data[i]["x"]


def headrace(count: int, size: int, fuse: bool = True) -> int:
    import headrace as hr

    pipeline = hr.source(Arrays(count, size), gives={"x": ("uint8", (size,))}).batch(1)
    with pipeline.loader(epochs=1, workers=1, fuse=fuse) as loader:
        return sum(int(batch["x"][0, 0]) for batch in loader)


def stored(count: int, size: int) -> int:
    return headrace(count, size, fuse=False)


def iterated(count: int, size: int) -> int:
    import headrace as hr

    pipeline = hr.source(functools.partial(produce, count, size), fields="x", gives=("uint8", (size,))).batch(1)
    with pipeline.loader(epochs=1) as loader:
        return sum(int(batch["x"][0, 0]) for batch in loader)


def one_by_one(count: int, size: int) -> int:
    import headrace as hr

    pipeline = hr.source(functools.partial(produce, count, size), fields="x", gives=("uint8", (size,)))
    with pipeline.loader(epochs=1) as loader:
        return sum(int(sample["x"][0]) for sample in loader)


def out(count: int, size: int) -> int:
    import headrace as hr

    def fill(i: int, out: Any) -> Any:
        out[:] = i % 256
        return out

    pipeline = hr.source(range(count), fields="i").map(fill, fields="i", to="x", gives=("uint8", (size,)), workers=1)
    with pipeline.batch(1).loader(epochs=1) as loader:
        return sum(int(batch["x"][0, 0]) for batch in loader)


def spdl(count: int, size: int) -> int:
    from spdl.pipeline import SharedMemorySegmentPool, iterate_in_subprocess

    arena = SharedMemorySegmentPool(size + 4096, 6)
    return sum(int(x[0]) for x in iterate_in_subprocess(functools.partial(produce, count, size), arena=arena))


WHO = {f.__name__: f for f in (headrace, stored, iterated, one_by_one, out, spdl)}


def cpu(python: str, who: str, count: int, size: int) -> float:
    """Seconds of a run, and of all that it has started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([python, __file__, "--one", who, str(count), str(size)], stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if int(run.stdout) != sum(i % 256 for i in range(count)):
        raise SystemExit(f"{who} has something else")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        who, count, size = sys.argv[2:]
        print(WHO[who](int(count), int(size)), flush=True)
        return
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mb", type=int, default=8)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--spdl", required=True, help="an interpreter that has SPDL")
    said = arguments.parse_args()
    size = said.mb << 20
    took: dict[str, list[float]] = {who: [] for who in WHO}
    for _ in range(said.rounds):
        for who, all_of_it in took.items():
            python = said.spdl if who == "spdl" else sys.executable
            of_all = cpu(python, who, LONG, size) - cpu(python, who, SHORT, size)
            all_of_it.append(of_all / (LONG - SHORT) * 1000)
    for who, all_of_it in took.items():
        median, least, most = statistics.median(all_of_it), min(all_of_it), max(all_of_it)
        print(f"{who}: {median:.2f} CPU ms an array of {said.mb} MB [{least:.2f}-{most:.2f}]")
    ratios = [ours / theirs for ours, theirs in zip(took["headrace"], took["spdl"])]
    print(f"headrace / spdl: {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")


if __name__ == "__main__":
    main()

"""Samples of 1 KB from an object of Python, alone and through three functions, in two workers: samples a second, and CPU seconds.

    PYTHONPATH=python/src .venv/bin/python bench/small.py [--spdl PYTHON] [--samples N] [--rounds R] [--kinds array,bytes,...]

Kinds are what the object gives: an array, a dict with one, a tuple of an array and an int, bytes, an int. PyTorch's DataLoader
has two workers; SPDL, in an interpreter of its own that has both, two threads: once with a call a sample, as pipelines of its
guide have them, and once with a function for a whole batch. Each runs in a process of its own, in turns; its first epoch warms
up, the next two are measured, with the CPU time of all its processes. `getitems` has the object give lists of samples.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from processes import cpu, family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BATCH = 256
ROWS = np.zeros((4096, 1024), np.uint8)
BYTES = [bytes(1024)] * 4096
GIVES: dict[str, Callable[[int], Any]] = {
    "array": lambda i: ROWS[i & 4095],
    "dict": lambda i: {"x": ROWS[i & 4095]},
    "tuple": lambda i: (ROWS[i & 4095], i),
    "bytes": lambda i: BYTES[i & 4095],
    "int": lambda i: i,
}


class Rows:
    def __init__(self, kind: str, samples: int) -> None:
        self.kind, self.samples = kind, samples
        self.get = GIVES[kind]

    def __reduce__(self) -> Any:
        return type(self), (self.kind, self.samples)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, i: int) -> Any:
        return self.get(i)


class Lists(Rows):
    def __getitems__(self, numbers: list[int]) -> list[Any]:
        get = self.get
        return [get(i) for i in numbers]


class Mapped(Rows):
    """What people write for a DataLoader."""

    def __getitem__(self, i: int) -> Any:
        return third(second(first(self.get(i))))


def first(x: Any) -> Any:
    return x


def second(x: Any) -> Any:
    return x


def third(x: Any) -> Any:
    return x


def headrace(kind: str, functions: int, samples: int, where: str = "process", rows: type = Rows) -> Iterable[Any]:
    import headrace as hr

    chain = hr.source(rows(kind, samples), where=where)
    for function in (first, second, third)[:functions]:
        chain = chain.map(function, where=where)
    return chain.batch(BATCH).loader(workers=2)


def getitems(kind: str, functions: int, samples: int) -> Iterable[Any]:
    return headrace(kind, functions, samples, rows=Lists)


def thread(kind: str, functions: int, samples: int) -> Iterable[Any]:
    return headrace(kind, functions, samples, "thread")


def torch(kind: str, functions: int, samples: int) -> Iterable[Any]:
    from torch.utils.data import DataLoader

    rows = (Mapped if functions else Rows)(kind, samples)
    return DataLoader(rows, BATCH, num_workers=2, persistent_workers=True)  # type: ignore[arg-type]


def stacked(samples: list[Any]) -> Any:
    one = samples[0]
    if isinstance(one, dict):
        return {name: stacked([s[name] for s in samples]) for name in one}
    if isinstance(one, tuple):
        return [stacked(list(column)) for column in zip(*samples)]
    return samples if isinstance(one, bytes) else np.stack(samples) if isinstance(one, np.ndarray) else np.array(samples)


class Spdl:
    def __init__(self, kind: str, functions: int, samples: int, by_batch: bool) -> None:
        self.rows = (Mapped if functions and by_batch else Rows)(kind, samples)
        self.functions = (first, second, third)[:functions]
        self.by_batch = by_batch

    def __iter__(self) -> Any:
        from spdl.pipeline import PipelineBuilder

        rows = self.rows
        builder = PipelineBuilder()
        if self.by_batch:
            batches = [range(i, min(i + BATCH, len(rows))) for i in range(0, len(rows), BATCH)]
            builder.add_source(batches).pipe(lambda numbers: stacked([rows[i] for i in numbers]), concurrency=2)
        else:
            builder.add_source(range(len(rows))).pipe(rows.__getitem__, concurrency=2)
            for function in self.functions:
                builder.pipe(function, concurrency=2)
            builder.aggregate(BATCH).pipe(stacked)
        with (pipeline := builder.add_sink(3).build(num_threads=2)).auto_stop():
            yield from pipeline


WHO: dict[str, Callable[[str, int, int], Iterable[Any]]] = {
    "headrace": headrace,
    "getitems": getitems,
    "thread": thread,
    "torch": torch,
    "spdl": lambda *args: Spdl(*args, by_batch=False),
    "spdl by batch": lambda *args: Spdl(*args, by_batch=True),
}


def measure(who: str, kind: str, functions: int, samples: int) -> dict[str, float]:
    """Go through an epoch, and then measure two."""
    loader = WHO[who](kind, functions, samples)
    for _ in loader:
        pass
    before, began = _cpu(), time.monotonic()
    batches = 0
    for _ in range(2):
        for _ in loader:
            batches += 1
    seconds, used = time.monotonic() - began, _cpu() - before
    assert batches == 2 * -(-samples // BATCH)
    return {"rate": 2 * samples / seconds, "cpu": used / 2 / samples * 1e6}


def _cpu() -> float:
    return sum(map(cpu, family(os.getpid())))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spdl", help="an interpreter that has SPDL")
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", default="array,tuple")
    parser.add_argument("--who", default="headrace,getitems,torch,spdl,spdl by batch")
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        who, kind, functions = options.one.split("/")
        print(json.dumps(measure(who, kind, int(functions), options.samples)))
        return
    for kind in options.kinds.split(","):
        for functions in (0, 3):
            found: dict[str, list[dict[str, float]]] = {}
            for _ in range(options.rounds):
                for who in options.who.split(","):
                    python = options.spdl if who.startswith("spdl") else sys.executable
                    if not python:
                        continue
                    samples = options.samples // 10 if who == "spdl" else options.samples
                    command = [python, __file__, "--one", f"{who}/{kind}/{functions}", "--samples", str(samples)]
                    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                    found.setdefault(who, []).append(json.loads(printed.splitlines()[-1]))
            for who, rounds in found.items():
                rate, used = (statistics.median(r[what] for r in rounds) for what in ("rate", "cpu"))
                print(f"{kind:6} {functions} functions  {who:14} {rate:10,.0f} samples/s  {used:6.2f} CPU µs each", flush=True)


if __name__ == "__main__":
    main()

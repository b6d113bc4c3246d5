"""How well the loader's clock agrees with a stopwatch around `next()`: 50 runs, and how far off each one is.

    PYTHONPATH=python/src .venv/bin/python bench/waits.py

Loops that wait for their data, that sleep, and that compute, over 5, 50 and 500 batches. Run it on an idle machine and
beside other work: an interruption between the two clocks is seen by the stopwatch alone.
"""

from __future__ import annotations

import os
from statistics import median
from time import perf_counter_ns, sleep

import headrace as hr

RUNS = 50
STEP = 0.002  # seconds that a batch takes, or a step of training


class Numbers:
    """Samples of two a batch, which a loop has to wait for where each takes half a step."""

    def __init__(self, seconds: float, samples: int) -> None:
        self.seconds, self.samples = seconds, samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> dict:
        if self.seconds:
            sleep(self.seconds)
        return {"number": index}


def computes(seconds: float) -> None:
    until = perf_counter_ns() + seconds * 1e9
    while perf_counter_ns() < until:
        pass


def run(kind: str, batches: int) -> tuple[int, int, str]:
    """What the stopwatch says, what the loader says, and what it says the bottleneck is."""
    with hr.source(Numbers(STEP / 2 if kind == "waits" else 0, 2 * batches)).batch(2).loader(epochs=1, workers=1) as loader:
        loop, real = iter(loader), 0
        batch = next(loop)
        while batch is not None:
            if kind == "sleeps":
                sleep(STEP)
            elif kind == "computes":
                computes(STEP)
            asked = perf_counter_ns()
            batch = next(loop, None)
            real += perf_counter_ns() - asked
        stats = loader.stats()
    return real, stats["waited_ns"], "loop" if stats["verdict"].startswith("Your training loop is the bottleneck") else "loader"


def main() -> None:
    kinds = [(kind, batches) for kind in ("waits", "sleeps", "computes") for batches in (5, 50, 500)]
    print(f"load {os.getloadavg()[0]:.1f}")
    every = []
    for kind, batches in kinds:
        runs = [run(kind, batches) for _ in range(-(-RUNS // len(kinds)))]
        off = sorted((told - real) / real * 100 for real, told, _ in runs)
        every += [abs(one) for one in off]
        named = sum(one == "loop" for _, _, one in runs)
        print(
            f"{kind:8} {batches:4} batches: waited {median(real for real, _, _ in runs) / 1e6:7.1f} ms,"
            f" told {median(off):+5.1f} % [{off[0]:+.1f} … {off[-1]:+.1f}], loop named in {named} of {len(runs)}"
        )
    every.sort()
    within = sum(one < 10 for one in every)
    print(f"{len(every)} runs: off by {median(every):.1f} %, at most {every[-1]:.1f} %; within 10 %: {within}")


if __name__ == "__main__":
    main()

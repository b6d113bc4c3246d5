"""What it takes to get a first batch through some trivial functions: time, CPU, processes, memory.

    PYTHONPATH=python/src .venv/bin/python bench/first_batch.py 0 1 3 6

Each number of functions has a process of its own. CPU is of the program and of all that it has started; memory is PSS, which
counts what processes share once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def same(sample: dict[str, int]) -> dict[str, int]:
    return sample


def measure(functions: int) -> None:
    began = time.monotonic()
    import headrace as hr

    pipeline = hr.source([{"n": i} for i in range(1000)])
    for _ in range(functions):
        pipeline = pipeline.map(same)
    with pipeline.batch(10).loader(epochs=1) as loader:
        next(iter(loader))
        took = time.monotonic() - began
        family = [os.getpid(), *descendants(os.getpid())]
        print(
            f"{functions} functions: {took:.2f} s to the first batch, {sum(map(cpu, family)):.2f} s of CPU,"
            f" {len(family)} processes, {sum(map(pss, family)) / 1024:.0f} MiB"
        )


def descendants(pid: int) -> list[int]:
    below = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    return below + [one for child in below for one in descendants(child)]


def cpu(pid: int) -> float:
    """Seconds of a process, and of those that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def pss(pid: int) -> int:
    """KiB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        measure(int(sys.argv[2]))
        return
    for functions in sys.argv[1:] or ["0", "1", "3", "6"]:
        subprocess.run([sys.executable, __file__, "--one", functions], check=True)


if __name__ == "__main__":
    main()

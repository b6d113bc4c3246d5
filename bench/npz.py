"""CPU of reading archives of arrays in memory, stored and deflated: `headrace.io.load_npz` against NumPy and SPDL.

    PYTHONPATH=python/src BED/venv-spdl/bin/python bench/npz.py

All take turns, so that they have the same machine; SPDL only where it is installed. The last column is Headrace's CPU time
over that of the faster one of the others: 1.00 or less is wanted.
"""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from typing import Any

import headrace.io
import numpy as np

ROUNDS, CALLS = 15, 20
SHAPES = {"image": (3, 640, 480), "label": (640, 480)}


def archive(save: Callable[..., None]) -> bytes:
    random = np.random.default_rng(0)
    buffer = io.BytesIO()
    save(buffer, **{name: random.integers(0, 256, shape, np.uint8) // 8 for name, shape in SHAPES.items()})
    return buffer.getvalue()


def of_numpy(data: bytes) -> list[Any]:
    return list(np.load(io.BytesIO(data)).values())


def of_headrace(data: bytes) -> list[Any]:
    return list(headrace.io.load_npz(data).values())


def readers() -> dict[str, Callable[[bytes], list[Any]]]:
    found = {"numpy": of_numpy, "headrace": of_headrace}
    try:
        import spdl.io
    except ImportError:
        return found
    return found | {"spdl": lambda data: list(spdl.io.load_npz(data).values())}


def cpu_ms(read: Callable[[bytes], list[Any]], data: bytes) -> float:
    began = time.process_time_ns()
    for _ in range(CALLS):
        read(data)
    return (time.process_time_ns() - began) / CALLS / 1e6


def main() -> None:
    for kind, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        data, took = archive(save), {}
        want = of_numpy(data)
        for name, read in readers().items():
            if not all(map(np.array_equal, read(data), want)):
                raise SystemExit(f"{name} reads something else")
        for _ in range(ROUNDS):
            for name, read in readers().items():
                took.setdefault(name, []).append(cpu_ms(read, data))
        for name, all_of_it in took.items():
            print(f"{kind}, {name}: {statistics.median(all_of_it):.3f} CPU ms a call [{min(all_of_it):.3f}-{max(all_of_it):.3f}]")
        ours = took.pop("headrace")
        ratios = [mine / min(others) for mine, *others in zip(ours, *took.values())]
        print(f"{kind}: headrace / the faster of {', '.join(took)}: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()

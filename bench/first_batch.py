"""What it takes to get a first batch through functions of Python, beside SPDL: time, CPU, processes, memory.

    PYTHONPATH=python/src .venv/bin/python bench/first_batch.py [--spdl PYTHON] [--rounds 3] [--no-torch] [0 1 3 6]

First come trivial functions, then three that are in a module which imports torch (if there is one), in threads, in two
processes, and in a thread of the program (`here`). SPDL calls its functions in threads of the program; PYTHON is an
interpreter that has it. Its batches are lists, and with `arrays` NumPy's arrays, as ours are. Each case is a program of
its own. Rounds are interleaved, and medians are printed. CPU is of the program and of all that it has started; memory is
PSS, which counts what processes share once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from processes import cpu, family, pss

PLACES = ("thread", "process", "here")


def same(sample: dict[str, int]) -> dict[str, int]:
    return sample


def headrace(function, functions: int, where: str) -> None:
    import headrace as hr

    pipeline = hr.source([{"n": i} for i in range(1000)])
    for _ in range(functions):
        pipeline = pipeline.map(function, where=where)
    with pipeline.batch(10).loader(epochs=1, workers=2) as loader:
        next(iter(loader))
        report()


def spdl(function, functions: int, where: str) -> None:
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source([{"n": i} for i in range(1000)])
    for _ in range(functions):
        builder = builder.pipe(function)
    builder = builder.aggregate(10)
    if where == "arrays":
        import numpy as np

        builder = builder.pipe(lambda batch: {"n": np.array([sample["n"] for sample in batch])})
    pipeline = builder.add_sink(3).build(num_threads=2)
    with pipeline.auto_stop():
        next(iter(pipeline))
        report()


def report() -> None:
    """Say what it took so far."""
    pids = family(os.getpid())
    took = time.monotonic() - float(os.environ["BEGAN"])
    print(json.dumps([took, sum(map(cpu, pids)), len(pids), sum(map(pss, pids)) / 1024]))


def one(who: str, functions: int, where: str, heavy: str) -> None:
    """Be the program of a case."""
    function = same
    if heavy:
        sys.path.insert(0, heavy)
        from imports_torch import function  # type: ignore[import-not-found]
    (headrace if who == "headrace" else spdl)(function, functions, where)


def measure(python: str, *case: object) -> list[float]:
    environment = {**os.environ, "BEGAN": str(time.monotonic())}
    done = subprocess.run(
        [python, __file__, "--one", *map(str, case)], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        who, functions, where, heavy = sys.argv[2:]
        one(who, int(functions), where, heavy)
        return
    arguments = argparse.ArgumentParser()
    arguments.add_argument("functions", nargs="*", type=int, default=[0, 1, 3, 6])
    arguments.add_argument("--spdl", help="an interpreter that has SPDL")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--torch", action=argparse.BooleanOptionalAction, default=True, help="also a module that imports it")
    said = arguments.parse_args()

    with tempfile.TemporaryDirectory() as heavy:
        Path(heavy, "imports_torch.py").write_text("import torch\n\n\ndef function(sample):\n    return sample\n")
        cases = [("headrace", n, where, "") for n in said.functions for where in (PLACES[:2] if n else PLACES[:1])]
        if said.torch and find_spec("torch"):
            cases += [("headrace", 3, where, heavy) for where in PLACES]
        if said.spdl:
            cases += [("spdl", n, where, "") for n in said.functions for where in ("thread", "arrays")]
            if said.torch and subprocess.run([said.spdl, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
                cases.append(("spdl", 3, "thread", heavy))
        results: dict[tuple[object, ...], list[list[float]]] = {case: [] for case in cases}
        for _ in range(said.rounds):
            for case in cases:
                results[case].append(measure(said.spdl if case[0] == "spdl" else sys.executable, *case))

    print("| | functions | in | wall s | CPU s | processes | PSS MiB |\n|---|---|---|---|---|---|---|")
    for (who, functions, where, torch), rounds in results.items():
        wall, seconds, processes, memory = map(statistics.median, zip(*rounds))
        what = f"{functions}, torch" if torch else str(functions)
        print(f"| {who} | {what} | {where} | {wall:.2f} | {seconds:.2f} | {processes:.0f} | {memory:.0f} |")


if __name__ == "__main__":
    main()

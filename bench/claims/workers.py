"""Starts a loader with so many workers, and prints what it took to the first batch and what memory all have while they work.

Usage: STARTED=… python workers.py WORK CONTESTANT WORKERS LIST

WORK is `engine`, `pillow` or `torch`: a loader's own operations, a function of the user's over Pillow, a function of a module
that imports PyTorch. "fork" is the floor of the last: a program that has imported it, forked, with a call of the function in each
fork. Memory is PSS, which counts what processes share once: the most of what was seen after the first batch.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sys
import time
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "loaders")]

from measure import BATCH, Job  # noqa: E402
from processes import cpu, family, pss  # noqa: E402

PLACES = ("process", "thread", "here")


def of_engine(contestant: str, job: Job) -> Iterator:
    yield from importlib.import_module(f"{contestant}_loader").batches(job)


def of_pillow(contestant: str, job: Job) -> Iterator:
    yield from importlib.import_module(f"{contestant}_function_loader").batches(job)


def of_torch(contestant: str, job: Job) -> Iterator:
    import imports_torch

    numbers = range(len(job.files))
    if contestant == "headrace":
        import headrace as hr

        made = hr.source(numbers).map(imports_torch.function, workers=job.workers, where=job.mode)
        with made.batch(BATCH).loader(epochs=1) as loader:
            yield from loader
    elif contestant == "spdl":
        from spdl.pipeline import PipelineBuilder

        builder = PipelineBuilder().add_source(numbers).pipe(imports_torch.function, concurrency=job.workers).aggregate(BATCH)
        with (pipeline := builder.add_sink(3).build(num_threads=job.workers)).auto_stop():
            yield from pipeline
    elif contestant == "torch":
        from torch.utils.data import DataLoader

        class Numbers:
            def __len__(self):
                return len(numbers)

            def __getitem__(self, n):
                return imports_torch.function(n)

        yield from DataLoader(Numbers(), batch_size=BATCH, num_workers=job.workers)
    else:
        yield from forked(imports_torch.function, job.workers)


def forked(function, workers: int) -> Iterator:
    from multiprocessing import get_context

    context = get_context("fork")
    done, enough = context.SimpleQueue(), context.Event()

    def work(n):
        done.put(function(n))
        enough.wait()

    children = [context.Process(target=work, args=(n,)) for n in range(workers)]
    for child in children:
        child.start()
    for _ in children:
        yield done.get()
    enough.set()


WORKS = {"engine": of_engine, "pillow": of_pillow, "torch": of_torch}


def main() -> None:
    work, contestant, workers, listed = sys.argv[1], *sys.argv[2].split(":")[:1], int(sys.argv[3]), sys.argv[4]
    mode = sys.argv[2].partition(":")[2] or ("thread" if contestant == "spdl" and work == "pillow" else "exact")
    # A batch for each worker, and those that are made ahead.
    batches = workers + 4
    files = pathlib.Path(listed).read_text().split("\n")[:-1]
    files = [files[i % len(files)] for i in range(batches * BATCH)]
    job = Job("train" if work == "pillow" else "val", files, workers, mode)
    found, peak, processes = {}, 0, 0
    every = max(1, batches // 4)
    for number, _ in enumerate(WORKS[work](contestant, job)):
        if not number:
            took = time.time() - float(os.environ["STARTED"])
            found = {"first_batch_s": round(took, 3), "cpu_s": round(sum(map(cpu, family(os.getpid()))), 2)}
        if number % every == 0:
            sizes = [size for size in map(pss, family(os.getpid())) if size]
            peak, processes = max(peak, sum(sizes)), max(processes, len(sizes))
    print(json.dumps(found | {"pss_mb": round(peak / 1024, 1), "processes": processes}))


if __name__ == "__main__":
    main()

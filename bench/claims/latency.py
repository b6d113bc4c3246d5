"""Reads files from the server of remote.py with one loader and prints the share of the ideal rate, as one line of JSON.

Usage: PORT=… python latency.py CONTESTANT AT_ONCE ROUNDS-OF-THESE

The ideal is what AT_ONCE requests reach of which each takes as long as the server waits, and nothing else takes time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator

import remote


def headrace(where: str | None):
    def items(files: int, at_once: int) -> Iterator[bytes]:
        import headrace as hr

        fetched = hr.source(range(files)).map(remote.fetch, workers=at_once, **({"where": where} if where else {}))
        with fetched.loader(epochs=1, order="completion", prefetch=at_once) as loader:
            yield from loader

    return items


def spdl(files: int, at_once: int) -> Iterator[bytes]:
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(range(files)).pipe(remote.fetch, concurrency=at_once).add_sink(max(3, at_once))
    with (pipeline := builder.build(num_threads=1)).auto_stop():
        yield from pipeline


def torch(files: int, at_once: int) -> Iterator[bytes]:
    """Threads in two worker processes, each of which asks for the next file as soon as it has one."""
    from concurrent.futures import ThreadPoolExecutor
    from queue import SimpleQueue

    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    workers = min(2, at_once)

    class Files(IterableDataset):
        def __iter__(self):
            mine = iter(range(get_worker_info().id, files, workers))
            done: SimpleQueue = SimpleQueue()
            count = len(range(get_worker_info().id, files, workers))
            with ThreadPoolExecutor(at_once // workers) as pool:

                def work() -> None:
                    while (n := next(mine, None)) is not None:
                        done.put(remote.fetch_blocking(n))

                for _ in range(at_once // workers):
                    pool.submit(work)
                for _ in range(count):
                    yield done.get()

    for some in DataLoader(Files(), batch_size=min(8, at_once), num_workers=workers, collate_fn=list, prefetch_factor=4):
        yield from some


def alone(files: int, at_once: int) -> Iterator[bytes]:
    """asyncio, and no loader."""
    from queue import SimpleQueue
    from threading import Thread

    done: SimpleQueue = SimpleQueue()

    async def lane(numbers: Iterator[int]) -> None:
        for n in numbers:
            done.put(await remote.fetch(n))

    async def lanes() -> None:
        numbers = iter(range(files))
        await asyncio.gather(*(lane(numbers) for _ in range(at_once)))

    Thread(target=lambda: asyncio.run(lanes()), daemon=True).start()
    for _ in range(files):
        yield done.get()


CONTESTANTS = {
    "limit, asyncio alone": alone,
    "headrace, process": headrace(None),
    "headrace, here": headrace("here"),
    "spdl": spdl,
    "torch, threads": torch,
}


def main() -> None:
    label, at_once, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warm = at_once * max(1, rounds // 4)
    files = warm + at_once * rounds
    count, size, since = 0, 0, (0, 0.0)
    for body in CONTESTANTS[label](files, at_once):
        count += 1
        size += len(body)
        if count == warm:
            since = (count, time.perf_counter())
        last = time.perf_counter()
    if (count, size) != (files, files * remote.SIZE):
        raise SystemExit(f"{count} files with {size} bytes came, not {files} with {files * remote.SIZE}")
    rate = (count - since[0]) / (last - since[1])
    ideal = (files - warm) / remote.ideal(files, at_once, warm)
    print(json.dumps({"files_per_s": round(rate, 1), "of_ideal": round(rate / ideal, 4)}))


if __name__ == "__main__":
    main()

"""Batches of 4,096 rows of four numbers from a Parquet file: rows a CPU second, in turns with other readers.

    PYTHONPATH=python/src .venv/bin/python bench/tables.py [--rows 2000000] [--rounds 5] [--only headrace,pyarrow]

The file has columns of int64, int32, float32 and int8, in Snappy pages. All rows are taken as NumPy arrays, or tensors:

order     as they are in the file: headrace, pyarrow (one thread, batches of 4,096 rows)
window    shuffled among 100,000 neighbours: headrace
shuffle   in a random order of all rows: headrace; torch, a DataLoader over the columns in memory (a TensorDataset, two
          workers); numpy, an array of places and a gather of each column in memory, the least that it can cost
steps     as order, with a column limited and scaled, a logarithm, one of two classes, and all of them in one matrix: by
          steps of headrace, and by NumPy on pyarrow's batches
rows      headrace where each row is a sample of its own (on_error="replace"), as before batches were filled by columns
datasets  Hugging Face datasets from the file, shuffled, where it is installed

CPU seconds are those of all processes of a contestant, from its first batch on.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from measure import cpu_seconds
from turns import note, report, run

SIZE = 4096
FIELDS = ["user", "item", "price", "label"]


def write(path: pathlib.Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    table = {
        "user": random.integers(0, 10_000_000, rows),
        "item": random.integers(0, 1_000_000, rows).astype(np.int32),
        "price": random.random(rows, dtype=np.float32),
        "label": random.integers(0, 2, rows).astype(np.int8),
    }
    pq.write_table(pa.table(table), path, compression="snappy", row_group_size=200_000)


def headrace(path: str, order: str) -> Iterator[int]:
    import headrace as hr

    chain = hr.read(path, fields=FIELDS)
    if order == "window":
        chain = chain.shuffle(seed=1, window=100_000)
    elif order in ("shuffle", "rows"):
        chain = chain.shuffle(seed=1)
    elif order == "steps":
        chain = chain.clip("price", 0.1, 0.9).scale("price", mean=0.5, std=0.25).log1p("item").one_hot("label", 2)
        chain = chain.concat(["price", "item", "label"], to="dense")
    with chain.batch(SIZE).loader(epochs=1, on_error="replace" if order == "rows" else "raise") as loader:
        for batch in loader:
            yield len(batch["user"])


def pyarrow(path: str, work: str) -> Iterator[int]:
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(path).iter_batches(SIZE, columns=FIELDS, use_threads=False):
        arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if work == "steps":
            user, item, price, label = arrays
            scaled = (np.clip(price, 0.1, 0.9) - np.float32(0.5)) / np.float32(0.25)
            arrays = [user, np.column_stack([scaled, np.log1p(item, dtype=np.float32), np.eye(2, dtype=np.float32)[label]])]
        yield len(arrays[0])


def columns(path: str) -> list[Any]:
    from pyarrow.parquet import read_table

    return [column.to_numpy() for column in read_table(path, columns=FIELDS).columns]


def torch(path: str, _: str) -> Iterator[int]:
    from torch import from_numpy
    from torch.utils.data import DataLoader, TensorDataset

    for batch in DataLoader(TensorDataset(*(from_numpy(c.copy()) for c in columns(path))), SIZE, shuffle=True, num_workers=2):
        yield len(batch[0])


def numpy(path: str, _: str) -> Iterator[int]:
    all_of_it = columns(path)
    places = np.random.default_rng(1).permutation(len(all_of_it[0]))
    for at in range(0, len(places), SIZE):
        arrays = [column[places[at : at + SIZE]] for column in all_of_it]
        yield len(arrays[0])


def datasets(path: str, _: str) -> Iterator[int]:
    from datasets import Dataset

    for batch in Dataset.from_parquet(path).with_format("numpy").shuffle(seed=1).iter(SIZE):
        yield len(batch["user"])


WORKS = {
    "order": (headrace, pyarrow),
    "steps": (headrace, pyarrow),
    "window": (headrace,),
    "shuffle": (headrace, torch, numpy),
    "rows": (headrace,),
    "datasets": (datasets,),
}


def contest(name: str, work: str, path: str, seconds: float) -> dict[str, float]:
    rows, began, used = 0, 0.0, 0.0
    last = (0.0, 1, 0.0)
    for n in globals()[name](path, work):
        if not began:
            began, used = time.monotonic(), cpu_seconds()
            continue
        rows += n
        now = time.monotonic()
        if now > began + seconds:
            break
        # Read while the workers live: what they used is lost to us once they are gone.
        if rows // SIZE % 64 == 0 or rows < 64 * SIZE:
            last = (now, rows, cpu_seconds())
    now, rows, after = last
    return {"rate": rows / (now - began), "cpu": 1e9 * (after - used) / rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--contest", action="store_true")
    o = parser.parse_args()
    if o.contest:
        name, path, work = o.case
        print(json.dumps(contest(name, work, path, o.seconds)))
        return

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.parquet"
        os.environ["HEADRACE_CACHE"] = folder
        write(path, o.rows)
        rounds: dict[str, dict[str, list[dict[str, float]]]] = {}
        for _ in range(o.rounds):
            for work, contestants in WORKS.items():
                for of in contestants:
                    if not o.only or of.__name__ in o.only.split(","):
                        note(rounds, work, of.__name__, run(__file__, o.seconds, of.__name__, path, work))
        report(rounds, lambda of: f"{of['rate'] / 1e6:7.2f} M rows/s  {of['cpu']:7.0f} ns of CPU a row")


if __name__ == "__main__":
    main()

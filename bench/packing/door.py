"""Packs the documents of a file through a loader's Python door, as one rank of several.

    door.py LOADER FILE [--rank 0 --world 1] [--rows 8] [--lanes 8] [--open 64] [--length 2048] [--digests]

LOADER is headrace, grain or zephon; FILE has a list of token ids, "tokens", in each line of JSON, or row of Parquet. Best fit,
so many open rows (in each lane, where a loader has lanes), global batches of so many rows, no shuffle. Printed are, as JSON:
documents, rows and tokens, CPU seconds of the process and of those it started, from before the loader is made to its end, and
with --digests one of each row.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from processes import family, own_cpu


def headrace(file: str, o: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    import headrace as hr

    documents = hr.read(file, fields={"tokens": ("tokens", ("int32", (None,)))})
    packed = documents.lanes(o.lanes).pack(o.length, global_size=o.rows, open=o.open, drop_last=o.world > 1)
    steps = o.steps or None
    with packed.loader(epochs=1, rank=o.rank, world_size=o.world, steps_per_epoch=steps) as loader:
        for batch in loader:
            yield batch["tokens"], batch["tokens_positions"]


def lines(file: str) -> Any:
    """A source of documents for Grain, read as its users do: Parquet at once, JSON line by line."""
    import grain

    class Documents(grain.sources.RandomAccessDataSource):
        def __init__(self) -> None:
            if file.endswith(".parquet"):
                import pyarrow.parquet

                self.column = pyarrow.parquet.read_table(file).column("tokens").combine_chunks()
                return
            self.column = None
            self.text = Path(file).read_bytes()
            self.begins = [0, *(at + 1 for at in newlines(self.text))][:-1]

        def __len__(self) -> int:
            return len(self.begins if self.column is None else self.column)

        def __getitem__(self, i: int) -> dict[str, Any]:
            if self.column is not None:
                return {"tokens": self.column[i].values.to_numpy()}
            begin = self.begins[i]
            return {"tokens": numpy.array(json.loads(self.text[begin : self.text.index(b"\n", begin)])["tokens"], "int32")}

    return Documents()


def newlines(text: bytes) -> Iterator[int]:
    at = text.find(b"\n")
    while at >= 0:
        yield at
        at = text.find(b"\n", at + 1)


def grain(file: str, o: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    import grain
    from grain.experimental import BestFitPackIterDataset

    mine = grain.MapDataset.source(lines(file))[o.rank :: o.world].to_iter_dataset(grain.ReadOptions(num_threads=0))
    packed = BestFitPackIterDataset(mine, length_struct={"tokens": o.length}, num_packing_bins=o.open, shuffle_bins=False)
    for batch in packed.batch(o.rows // o.world, drop_remainder=True):
        yield batch["tokens"], batch["tokens_positions"]


def zephon(file: str, o: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    from zephon import Pipeline
    from zephon.io import Dataset
    from zephon.work import MixtureSpec, StaticMixtureWorkSource

    work = StaticMixtureWorkSource(
        datasets=[Dataset.from_path("all", str(Path(file).parent))],
        mixture=MixtureSpec({"all": 1.0}),
        chunk_size=256,
        shuffle_shards=False,
        stop_after_passes=1,
    )
    rank: dict[str, Any] = {"world_size": o.world, "global_rank": o.rank, "dp_degree": o.world, "dp_group_id": o.rank}
    if o.world > 1:
        rank["aggregate_dir"] = str(Path(file).parent.parent / f"zephon-{o.world}")
    pipeline = (
        Pipeline(work)
        .decode_text()
        .pack_flat(o.length, num_bins=o.open, algorithm="best_fit", tokens_field="tokens", pad_token_id=0)
        .batch(microbatch_size=o.rows // o.lanes)
        .options(canonical_replicas=o.lanes, **rank)
    )
    for batch in pipeline:
        made = batch.to_training()
        yield made["input_ids"], made["positions"]


def positive(rows: Any, positions: Any) -> tuple[int, int]:
    """How many documents begin in rows, and how many tokens they have: ids are from 1, padding is 0."""
    tokens = numpy.asarray(rows)
    return int(((numpy.asarray(positions) == 0) & (tokens > 0)).sum()), int((tokens > 0).sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loader", choices=["headrace", "grain", "zephon"])
    parser.add_argument("file")
    for name, value in {"rank": 0, "world": 1, "rows": 8, "lanes": 8, "open": 64, "length": 2048, "steps": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--digests", action="store_true")
    o = parser.parse_args()
    loaders: dict[str, Any] = {"headrace": headrace, "grain": grain, "zephon": zephon}
    before = spent()
    documents = tokens = rows = 0
    digests = []
    batches: Iterable[tuple[Any, Any]] = loaders[o.loader](o.file, o)
    for made, positions in batches:
        some = positive(made, positions)
        documents, tokens, rows = documents + some[0], tokens + some[1], rows + len(made)
        if o.digests:
            digests.extend(row_digests(made))
    print(json.dumps({"documents": documents, "rows": rows, "tokens": tokens, "cpu_s": spent() - before, "digests": digests}))


def row_digests(rows: Any) -> list[str]:
    return [hashlib.sha256(row.tobytes()).hexdigest()[:16] for row in numpy.ascontiguousarray(rows, dtype="int32")]


def spent() -> float:
    """CPU seconds of this process, of those that it has waited for, and of those that still run."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    running = [own_cpu(pid) for pid in family(os.getpid())[1:]]
    return sum(t.ru_utime + t.ru_stime for t in times) + sum(running)


if __name__ == "__main__":
    main()

"""CPU of a random row: Parquet, Arrow and JSONL read by `headrace`'s formats, against what Python has for it.

    go build -o build/rows ./bench/rows && .venv/bin/python bench/rows.py BED/data

The files are made of the first 2,000 images of BED/data/bench_files.txt, in the way that datasets on the Hub are written: a
struct of bytes and path, beside a label. Of Parquet, pyarrow reads the row group that has the row, as it cannot read less. All
take turns. Bytes read are what the row's own bytes are compared with.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROUNDS, ROWS = 7, 2000
SNAPPY = {"compression": "snappy"}


def table(data: pathlib.Path, images: int) -> pa.Table:
    names = (data / "bench_files.txt").read_text().split("\n")[:images]
    rows = [{"bytes": (data / name.split()[0]).read_bytes(), "path": name} for name in names]
    return pa.table({"image": rows, "label": list(range(images))})


def parquet(options: dict[str, Any]) -> Callable[[pa.Table, pathlib.Path], None]:
    return lambda rows, to: pq.write_table(rows, to, **options)


def arrow(rows: pa.Table, to: pathlib.Path) -> None:
    with pa.OSFile(str(to), "wb") as f, pa.ipc.new_stream(f, rows.schema) as w:
        for batch in rows.to_batches(max_chunksize=100):
            w.write_batch(batch)


def jsonl(rows: pa.Table, to: pathlib.Path) -> None:
    r = random.Random(0)
    words = [f"word{r.randrange(10**4)}" for _ in range(2000)]
    with to.open("w") as f:
        for i in range(50_000):
            f.write(json.dumps({"text": " ".join(r.choices(words, k=300)), "meta": {"url": f"https://x/{i}"}}) + "\n")


FILES = {
    "snappy-100.parquet": parquet(SNAPPY | {"row_group_size": 100}),
    "snappy-1000.parquet": parquet(SNAPPY | {"row_group_size": 1000}),
    "cdc.parquet": parquet(SNAPPY | {"row_group_size": 1000, "use_content_defined_chunking": True}),
    "plain.parquet": parquet({"compression": "none", "row_group_size": 1000}),
    "zstd-100.parquet": parquet({"compression": "zstd", "row_group_size": 100}),
    "stream.arrow": arrow,
    "text.jsonl": jsonl,
}


def of_parquet(name: str) -> Callable[[], int]:
    f = pq.ParquetFile(name)
    size = f.metadata.row_group(0).num_rows

    def read() -> int:
        i = random.randrange(f.metadata.num_rows)
        return len(f.read_row_group(i // size, columns=["image.bytes"])["image"][i % size]["bytes"].as_py())

    return read


def of_arrow(name: str) -> Callable[[], int]:
    rows = pa.ipc.open_stream(pa.memory_map(name)).read_all()
    return lambda: len(rows["image"][random.randrange(len(rows))]["bytes"].as_py())


def of_jsonl(name: str) -> Callable[[], int]:
    with open(name, "rb") as scanned:
        at = [0]
        for line in scanned:
            at.append(at[-1] + len(line))
    f = open(name, "rb")  # noqa: SIM115

    def read() -> int:
        f.seek(at[random.randrange(len(at) - 1)])
        return len(json.loads(f.readline())["text"])

    return read


READERS = {".parquet": of_parquet, ".arrow": of_arrow, ".jsonl": of_jsonl}


def us(read: Callable[[], int], rows: int) -> float:
    began = time.process_time_ns()
    for _ in range(rows):
        read()
    return (time.process_time_ns() - began) / rows / 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--binary", default="build/rows")
    options = parser.parse_args()
    rows = table(options.data, options.images)
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FILES.items():
            path = pathlib.Path(folder) / name
            write(rows, path)
            measure(options.binary, path)
            path.unlink()


def measure(binary: str, path: pathlib.Path) -> None:
    fields = "text,meta.url" if path.suffix == ".jsonl" else "image.bytes,label"
    command, index_folder = [binary, "-fields", fields, str(path)], os.environ | {"HEADRACE_CACHE": str(path.parent)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=index_folder) as engine:
        assert engine.stdin and engine.stdout
        index = json.loads(engine.stdout.readline())
        theirs = READERS[path.suffix](str(path))
        rows = 20 if path.suffix == ".parquet" else ROWS
        took: dict[str, list[float]] = collections.defaultdict(list)
        read = used = 0
        for _ in range(ROUNDS):
            engine.stdin.write(f"{ROWS}\n")
            engine.stdin.flush()
            ours = json.loads(engine.stdout.readline())
            took["headrace"].append(ours["us"])
            read, used = read + ours["read"], used + ours["used"]
            took["python"].append(us(theirs, rows))
        engine.stdin.close()
    line = ", ".join(f"{k} {statistics.median(v):.0f} us [{min(v):.0f}-{max(v):.0f}]" for k, v in took.items())
    ratio = statistics.median(b / a for a, b in zip(took["headrace"], took["python"]))
    print(f"{path.name}: {line}, x{ratio:.1f}; read/used {read / used:.2f}; index {index['index_us']:.0f} us a row")


if __name__ == "__main__":
    main()

"""Packed documents per CPU second through the Python doors of Headrace, Grain and Zephon, in turns.

    PYTHONPATH=python/src .venv/bin/python bench/packing/doors.py PYTHON_OF_PEERS [--documents 100000] [--rounds 3] [--out FILE]

The same documents, of log-normal lengths up to 2,048, as lines of JSON and as Parquet; best fit, 64 open rows, batches of 64
rows of 2,048. CPU seconds are those of all processes from before the loader is made to its end (door.py). Headrace runs
twice a round: the first time it also makes its index, which the second one finds. Zephon reads a tenth of the lines of JSON.
NumPy has one thread for linear algebra, which nobody uses: others wait by turning round and round, in all programs. Printed
are seconds, and how many times the rates of the others that is, in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from machine import commit, machine, spread

RUNS = {"headrace, first": "headrace", "headrace": "headrace", "grain": "grain"}


def files(folder: Path, documents: int) -> dict[str, Path]:
    """The documents in each form, and a tenth of the lines."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    r = numpy.random.default_rng(7)
    lengths = numpy.clip(r.lognormal(5.5, 1, documents).round().astype(int), 1, 2048)
    rows = [r.integers(1, 50_000, n, "int32") for n in lengths]
    made = {"JSONL": folder / "lines/all.jsonl", "Parquet": folder / "all.parquet", "tenth": folder / "some/tenth.jsonl"}
    for kind, some in {"JSONL": rows, "tenth": rows[::10]}.items():
        made[kind].parent.mkdir()
        with made[kind].open("w") as file:
            file.writelines(json.dumps({"tokens": row.tolist()}) + "\n" for row in some)
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.int32()))
    pyarrow.parquet.write_table(pyarrow.table({"tokens": column}), made["Parquet"])
    return made


def once(python: str, loader: str, file: Path, cache: str) -> dict:
    command = [python, str(Path(__file__).with_name("door.py")), loader, str(file), "--lanes", "1", "--rows", "64"]
    environment = os.environ | {"XDG_CACHE_HOME": cache, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report = {"machine": machine(), "commit": commit(), "load": os.getloadavg(), "asked": options.documents, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        made = files(Path(folder), options.documents)
        for number in range(options.rounds):
            for kind, file in made.items():
                with tempfile.TemporaryDirectory() as cache:
                    for label, loader in (RUNS if kind != "tenth" else {"zephon": "zephon"}).items():
                        run = once(sys.executable if loader == "headrace" else options.peers, loader, file, cache)
                        report["runs"].append({"file": kind, "label": label, "round": number} | run)
                        print(report["runs"][-1], file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(json.dumps(report, indent=1) + "\n")
    of = {(run["file"], run["label"]): [] for run in report["runs"]}
    for run in report["runs"]:
        of[run["file"], run["label"]].append(run)
    for (kind, label), runs in of.items():
        micros = spread([run["cpu_s"] / run["documents"] * 1e6 for run in runs], ".1f")
        peers = {"Grain": of.get((kind, "grain")), "Zephon": of["tenth", "zephon"]}
        times = [
            f"{spread([rate(a) / rate(b) for a, b in zip(runs, beside)], '.1f')} × {name}"
            for name, beside in peers.items()
            if beside
        ]
        print(f"{kind}, {label}: {micros} µs a document, {', '.join(times)}")


def rate(run: dict) -> float:
    return run["documents"] / run["cpu_s"]


if __name__ == "__main__":
    main()

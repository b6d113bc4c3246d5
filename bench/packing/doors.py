"""Packed documents per CPU second through the Python doors of Headrace and Grain, in turns.

    PYTHONPATH=python/src .venv/bin/python bench/packing/doors.py PYTHON_OF_PEERS [--documents 40000] [--rounds 3] [--out FILE]

The same documents, of log-normal lengths up to 2,048, as lines of JSON and as Parquet; best fit, 64 open rows, batches of 64
rows of 2,048. CPU seconds are those of all processes from before the loader is made to its end (door.py). Headrace runs
twice a round: the first time it also makes its index, which the second one finds. Printed are seconds, and how many times
Grain's rate that is, in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from machine import commit, machine, spread

RUNS = {"headrace, first": "headrace", "headrace": "headrace", "grain": "grain"}


def files(folder: Path, documents: int) -> dict[str, Path]:
    """The documents in each form."""
    import pyarrow
    import pyarrow.parquet

    r = random.Random(7)
    lengths = [min(2048, max(1, round(r.lognormvariate(5.5, 1)))) for _ in range(documents)]
    rows = [[r.randrange(1, 50_000) for _ in range(n)] for n in lengths]
    made = {"JSONL": folder / "documents.jsonl", "Parquet": folder / "documents.parquet"}
    with made["JSONL"].open("w") as file:
        file.writelines(json.dumps({"tokens": row}) + "\n" for row in rows)
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.int32()))
    pyarrow.parquet.write_table(pyarrow.table({"tokens": column}), made["Parquet"])
    return made


def once(python: str, loader: str, file: Path, cache: str) -> dict:
    command = [python, str(Path(__file__).with_name("door.py")), loader, str(file), "--lanes", "1", "--rows", "64"]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ | {"XDG_CACHE_HOME": cache}, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers")
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report = {"machine": machine(), "commit": commit(), "load": os.getloadavg(), "asked": options.documents, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        made = files(Path(folder), options.documents)
        for number in range(options.rounds):
            for kind, file in made.items():
                with tempfile.TemporaryDirectory() as cache:
                    for label, loader in RUNS.items():
                        run = once(sys.executable if loader == "headrace" else options.peers, loader, file, cache)
                        report["runs"].append({"file": kind, "label": label, "round": number} | run)
                        print(report["runs"][-1], file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(json.dumps(report, indent=1) + "\n")
    for kind in made:
        for label in RUNS:
            runs = [run for run in report["runs"] if (run["file"], run["label"]) == (kind, label)]
            beside = [run for run in report["runs"] if (run["file"], run["label"]) == (kind, "grain")]
            times = [one["documents"] / one["cpu_s"] * other["cpu_s"] / other["documents"] for one, other in zip(runs, beside)]
            print(f"{kind}, {label}: {spread([run['cpu_s'] for run in runs], '.2f')} s, {spread(times, '.1f')} × Grain")


if __name__ == "__main__":
    main()

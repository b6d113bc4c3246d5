"""What lanes cost: packing the same documents in 1, 8, 64 and 256 lanes of one rank.

    PYTHONPATH=python/src .venv/bin/python bench/lanes.py [--rounds 5] [--documents 200000]

Documents are lists of int32 in a Parquet file, of log-normal lengths (mean about 390, up to 2,048), packed into rows of
2,048 and global batches of 256 rows. Each run is a program of its own, and numbers of lanes take turns. Printed are
documents per CPU second (of the program and its engine), how full rows are, and PSS while batches come; with the least
and the greatest of the rounds. "none" is the same with size= instead of global_size=, so without lanes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

LANES = ("none", 1, 8, 64, 256)


def documents(path: str, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    lengths = np.clip(rng.lognormal(5.6, 0.8, n).astype(np.int64), 1, 2048)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = rng.integers(0, 50_000, offsets[-1], dtype=np.int32)
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
    pq.write_table(pa.table({"tokens": column}), path, row_group_size=10_000, compression="zstd")


def once(path: str, lanes: str) -> dict:
    import headrace as hr
    from measure import cpu_seconds
    from processes import family, pss

    p = hr.read(path, fields={"tokens": ("tokens", ("int32", (None,)))}).shuffle(window=20_000)
    p = p.pack(2048, 256) if lanes == "none" else p.lanes(int(lanes)).pack(2048, global_size=256)
    used, rows, held, documents = 0, 0, 0, 0
    with p.loader(epochs=1) as loader:
        for i, batch in enumerate(loader):
            segments = batch["tokens_segment_ids"]
            used, rows, documents = used + int((segments > 0).sum()), rows + len(segments), documents + int(segments.max(1).sum())
            if i == 20:
                held = sum(pss(pid) or 0 for pid in family(os.getpid()))
        spent = cpu_seconds()
    return {"rate": documents / spent, "full": used / (rows * 2048), "pss": held, "documents": documents}


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--documents", type=int, default=200_000)
    args.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    given = args.parse_args()
    if given.once:
        print(json.dumps(once(*given.once)))
        return

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.parquet")
        documents(path, given.documents)
        found: dict[object, list[dict]] = {lanes: [] for lanes in LANES}
        for i in range(given.rounds):
            for k in range(len(LANES)):
                lanes = LANES[(i + k) % len(LANES)]
                command = [sys.executable, __file__, "--once", path, str(lanes)]
                out = subprocess.run(command, check=True, capture_output=True, text=True)
                found[lanes].append(json.loads(out.stdout.splitlines()[-1]))
        print("lanes  documents / CPU s          rows full   PSS, MB")
        for lanes, all_of in found.items():
            rate, full, held = ([one[key] for one in all_of] for key in ("rate", "full", "pss"))
            spread = f"{statistics.median(rate):,.0f} [{min(rate):,.0f}-{max(rate):,.0f}]"
            print(f"{lanes!s:6} {spread:26} {statistics.median(full):.4f}      {statistics.median(held) * 1024 / 1e6:.0f}")


if __name__ == "__main__":
    main()

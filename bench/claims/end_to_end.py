"""Goes through all images with one loader and prints when the first and the last batch came, as one line of JSON.

Usage: STARTED=… python end_to_end.py LOADER LIST WORKERS MODE

LOADER is a module of loaders/, WORKERS and MODE are those of its job. Times count from STARTED, when this program was begun.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "loaders")]

from measure import Job, check  # noqa: E402


def main() -> None:
    loader, listed, workers, mode = sys.argv[1:]
    files = pathlib.Path(listed).read_text().split("\n")[:-1]
    job = Job("val" if mode == "exact" else "train", files, int(workers), mode)
    started = float(os.environ["STARTED"])
    images, looked_at, first = 0, 0.0, 0.0
    for batch in importlib.import_module(f"{loader}_loader").batches(job):
        if not first:
            first = time.time()
            check(batch, job)
        images += batch.shape[0]
        looked_at += abs(float(batch[:, ::112, ::112].sum()))  # so that a lazy loader has to have them
    last = time.time()
    if images != len(files) or not looked_at:
        raise SystemExit(f"{images} images came, not {len(files)}")
    print(json.dumps({"images": images, "first_batch_s": round(first - started, 3), "last_batch_s": round(last - started, 3)}))


if __name__ == "__main__":
    main()

"""Runs one loader over a list of files and prints what it took, as one line of JSON.

Usage: python measure.py LOADER WORK LIST [--workers W] [--mode MODE] [--dtype uint8|float32|bfloat16] [--warm N]

LOADER is a module of loaders/. Its function `batches(job)` gives arrays of 32 images in the way that its makers recommend.
WORK is `val` (shorter side to 256, centre 224 x 224) or `train` (random resized crop of 224 x 224 and a flip). Images of
uint8 may be as the loader likes; floating-point ones are normalised, channels first.

The rate is taken from the Nth batch to the last multiple of N; what came before is reported as the time to the first batch,
counted from the moment in which the runner started this process (environment variable STARTED).
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import sys
import time

from processes import family, own_cpu

BATCH = 32
# Of the images of ImageNet, as everybody has them.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclasses.dataclass(frozen=True)
class Job:
    """What a loader is asked for."""

    work: str
    files: list[str]
    workers: int
    mode: str = "exact"  # or "fast", of Headrace alone; of the user's own function: "process" or "thread"
    dtype: str = "uint8"
    mean: tuple[float, float, float] = MEAN
    std: tuple[float, float, float] = STD


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loader")
    parser.add_argument("work", choices=["val", "train"])
    parser.add_argument("list")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--mode", default="exact")
    parser.add_argument("--dtype", default="uint8")
    parser.add_argument("--warm", type=int, default=8)
    options = parser.parse_args()
    with open(options.list) as lines:
        files = lines.read().split("\n")[:-1]
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "loaders"))
    loader = importlib.import_module(f"{options.loader}_loader")
    job = Job(options.work, files, options.workers, options.mode, options.dtype)
    print(json.dumps(measure(loader.batches(job), job, options.warm)))


def measure(batches, job: Job, every: int) -> dict:
    images = count = 0
    looked_at = 0.0
    first = warm = last = None
    for batch in batches:
        now = time.time()
        if first is None:
            first = now
            check(batch, job)
        images += batch.shape[0]
        count += 1
        # A look at few pixels, so that a lazy loader has to have them.
        looked_at += abs(float(batch[:, ::112, ::112].sum()))
        if count == every:
            warm = (now, images, cpu_seconds())
        elif count % every == 0:
            # Read while the workers live: what they used is lost to us once they are
            # gone.
            last = (now, images, cpu_seconds())
    if warm is None or last is None or not looked_at:
        raise SystemExit(f"{count} batches are too few to measure")
    time_span, image_span, cpu_span = (b - a for a, b in zip(warm, last))
    started = float(os.environ.get("STARTED", "nan"))
    return {
        "images": images,
        "images_per_s": round(image_span / time_span, 1),
        "cpu_s_per_1k": round(cpu_span / image_span * 1000, 4),
        "first_batch_s": round(first - started, 3),
    }


def check(batch, job: Job) -> None:
    """Ends the program if the batch has not the asked form, or cannot be images by its numbers."""
    shape, dtype = list(batch.shape[1:]), str(batch.dtype)
    shapes = [[3, 224, 224]] + ([[224, 224, 3]] if job.dtype == "uint8" else [])
    dtypes = ["bfloat16", "uint16"] if job.dtype == "bfloat16" else [job.dtype]
    if shape not in shapes or dtype not in dtypes:
        raise SystemExit(f"the loader gives {dtype} {list(batch.shape)}")
    if job.dtype == "bfloat16":  # the upper half of a float32
        batch = (batch.view("uint16").astype("uint32") << 16).view("float32")
    mean, spread = float(batch.mean(dtype="float64")), float(batch.std(dtype="float64"))
    least, most = (0.3, 3) if job.dtype != "uint8" else (20, 110)
    if not least < spread < most or not (-2 < mean < 3 if job.dtype != "uint8" else 30 < mean < 220):
        raise SystemExit(f"the pixels have a mean of {mean:.3g} and a standard deviation of {spread:.3g}")


def cpu_seconds() -> float:
    """CPU time of this process and all its descendants."""
    return sum(map(own_cpu, family(os.getpid())))


if __name__ == "__main__":
    main()

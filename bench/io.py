"""Compares `headrace.io` with a thread pool over simplejpeg and OpenCV, in one process, in turns.

    PYTHONPATH=python/src BED/venv-spdl/bin/python bench/io.py [--bed BED] [--rounds 9] [--batches 8] [--out results/io.json]

The environment is one of the bed's that has simplejpeg and OpenCV.

batch   32 images to 224 x 224, as one array: `load_image_batch`, exact and fast, from paths and from bytes, beside as many
        threads as cores, each of which reads a file, decodes it with simplejpeg and resizes it with OpenCV (without antialiasing,
        which is less work) into its row
        and beside what libjpeg needs for the same files on as many threads, with nothing around it (limit.c): to decode their
        entropy code alone, and to decode whole images
single  one image of 64 x 64 pixels that is in memory: `decode_jpeg` beside `simplejpeg.decode_jpeg`, call after call

A round does everything once; ratios are taken within a round. CPU time is that of this process and its engine. Files are in the
page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import cv2
import headrace as hr
import numpy
import simplejpeg
from machine import CORES, ROOT, commit, machine, machine_cpu, share_besides, spread, wait_for_quiet
from measure import cpu_seconds

SIZE = 224
BATCH = 32
LIMITS = {"entropy code alone": "coefficients", "whole pictures alone": "full"}
CALLS = 300  # of a small image


def main() -> None:
    options = arguments()
    files = (options.bed / "data/bench_files.txt").read_text().split("\n")[: BATCH * options.batches]
    batches = [files[i : i + BATCH] for i in range(0, len(files), BATCH)]
    data = {file: pathlib.Path(file).read_bytes() for file in files}
    cv2.setNumThreads(1)
    small = simplejpeg.encode_jpeg(numpy.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=numpy.uint8), quality=90)
    with ThreadPoolExecutor(CORES) as pool:
        work = {
            "pool, paths": lambda: [by_pool(pool, b) for b in batches],
            "exact, paths": lambda: [hr.io.load_image_batch(b, SIZE, SIZE) for b in batches],
            "fast, paths": lambda: [hr.io.load_image_batch(b, SIZE, SIZE, mode="fast") for b in batches],
            "pool, bytes": lambda: [by_pool(pool, [data[f] for f in b]) for b in batches],
            "exact, bytes": lambda: [hr.io.load_image_batch([data[f] for f in b], SIZE, SIZE) for b in batches],
            "fast, bytes": lambda: [hr.io.load_image_batch([data[f] for f in b], SIZE, SIZE, mode="fast") for b in batches],
        }
        report = {"commit": commit(), "machine": machine(), "batches": len(batches), "rounds": []}
        for number in range(-1, options.rounds):
            wait_for_quiet(options.patience)
            # First, since their processes are not in cpu_seconds.
            result = {f"{name}, paths": limit(kind, files) for name, kind in LIMITS.items()}
            before, own = machine_cpu(), cpu_seconds()
            result |= {name: rate(call, len(files)) for name, call in work.items()}
            result |= {
                "simplejpeg, ms": milliseconds(lambda: simplejpeg.decode_jpeg(small, "RGB")),
                "single, ms": milliseconds(lambda: hr.io.decode_jpeg(small)),
                "others": share_besides(before, cpu_seconds() - own),
            }
            if number >= 0:
                report["rounds"].append(result)
    hr.io.close()
    print(summary(report))
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or "build/bed"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each round")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def by_pool(pool: ThreadPoolExecutor, sources: list) -> numpy.ndarray:
    batch = numpy.empty((len(sources), SIZE, SIZE, 3), numpy.uint8)

    def load(i: int) -> None:
        source = sources[i]
        if isinstance(source, str):
            with open(source, "rb") as file:
                source = file.read()
        cv2.resize(simplejpeg.decode_jpeg(source, "RGB"), (SIZE, SIZE), dst=batch[i], interpolation=cv2.INTER_LINEAR)

    list(pool.map(load, range(len(sources))))
    return batch


def rate(call, images: int) -> tuple[float, float]:
    """Images a second, and CPU seconds per 1,000."""
    begun, used = time.perf_counter(), cpu_seconds()
    call()
    took, more = time.perf_counter() - begun, cpu_seconds() - used
    return round(images / took, 1), round(more / images * 1000, 3)


def limit(kind: str, files: list[str]) -> tuple[float, float]:
    """The same of the program that does nothing else."""
    with tempfile.NamedTemporaryFile("w") as names:
        names.write("".join(f"{file}\n" for file in files))
        names.flush()
        done = subprocess.run([ROOT / "build/bench/limit", names.name, str(CORES), kind, "4"], check=True, capture_output=True)
    said = json.loads(done.stdout)
    return said["images_per_s"], said["cpu_s_per_1k"]


def milliseconds(call) -> float:
    """The median of many calls."""
    took = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        call()
        took.append(time.perf_counter() - begun)
    return round(statistics.median(took) * 1e3, 4)


def summary(report: dict) -> str:
    rounds = report["rounds"]
    lines = [f"{CORES} cores; others used {spread([r['others'] for r in rounds], '.2f')} of the machine"]
    for name in rounds[0]:
        kind = name.partition(", ")[2]
        if kind in ("paths", "bytes"):
            ratios = spread([r[name][0] / r[f"pool, {kind}"][0] for r in rounds], ".2f")
            cpu = spread([r[f"pool, {kind}"][1] / r[name][1] for r in rounds], ".2f")
            rates = spread([r[name][0] for r in rounds], ",.0f")
            lines.append(f"{name}: {rates} images/s, {ratios} of the pool's; images for a second of CPU: {cpu} of the pool's")
    lines.append(f"64 x 64 in process: {spread([r['simplejpeg, ms'] for r in rounds], '.3f')} ms")
    more = spread([r["single, ms"] - r["simplejpeg, ms"] for r in rounds], ".3f")
    lines.append(f"64 x 64 by the engine: {spread([r['single, ms'] for r in rounds], '.3f')} ms, {more} ms more")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

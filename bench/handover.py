"""Counts how many empty batches a second can be handed to a Python loop.

Usage: python handover.py [--batches N] [--rounds R] [--out results/NAME.json]

The engine is the one of bench/handover, in its two depths. "alone" sends empty slots, 32 rows of 224 x 224 pixels, 4.8 MB,
and takes them back: a message with the state, arrays over the slot, a lease, its release. "engine" is the whole engine without
its decoder, with batches of one row of 4.8 MB: each also costs the reading of one small file, a place in the order, a plan,
and the way through all stages. The loop takes the array and looks at its shape.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ENGINE = ROOT / "build/bench/handover"
SIDE = 1266  # 1266 x 1266 x 3 bytes are 4.8 MB


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    subprocess.run(["go", "build", "-buildvcs=false", "-o", ENGINE, "./bench/handover"], cwd=ROOT, check=True)
    os.environ["HEADRACE_ENGINE"] = str(ENGINE)
    sys.path.insert(0, str(ROOT / "python/src"))

    from machine import commit, machine, wait_for_quiet

    report = {"commit": commit(), "machine": machine(), "batches": options.batches}
    with tempfile.TemporaryDirectory() as folder:
        picture = small_picture(pathlib.Path(folder))
        for depth in ("alone", "engine"):
            os.environ["HANDOVER"] = depth
            rates, cpu = [], []
            for _ in range(options.rounds):
                wait_for_quiet(30)
                rate, seconds = hand_over(picture, options.batches)
                rates.append(round(rate))
                cpu.append(round(seconds * 1e6, 1))
            print(
                f"{depth}: {statistics.median(rates):,.0f} batches of 4.8 MB a second [{min(rates):,}–{max(rates):,}], ", end=""
            )
            print(f"{statistics.median(cpu):.1f} µs of CPU each [{min(cpu)}–{max(cpu)}] in both processes")
            report[depth] = {"batches_per_s": rates, "cpu_us_per_batch": cpu}
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def small_picture(folder: pathlib.Path) -> str:
    from PIL import Image

    path = folder / "small.jpg"
    Image.new("RGB", (16, 16)).save(path)
    return str(path)


def hand_over(picture: str, batches: int) -> tuple[float, float]:
    """Batches a second, and CPU seconds a batch."""
    import headrace as hr
    from measure import cpu_seconds

    loader = hr.files([picture] * (batches + 10)).decode_image().resize(SIDE).center_crop(SIDE).batch(1).loader(epochs=1)
    with loader:
        for count, batch in enumerate(loader):
            assert len(batch["image"].shape) == 4
            if count == 0:
                begun, used = time.perf_counter(), cpu_seconds()
            if count == batches:
                ended, used_after = time.perf_counter(), cpu_seconds()
                break
    return batches / (ended - begun), (used_after - used) / batches


if __name__ == "__main__":
    main()

"""How much sooner one call has a clip, whose parts are decoded side by side.

    PYTHONPATH=python/src HEADRACE_ENGINE=bin/headrace .venv/bin/python bench/parts.py [--minutes 60] [--rounds 3]

768 frames spread over a film of 640 × 360 with a key frame every 10 seconds, to RGB 224 × 224 by `hr.io.load_video`, with 1, 2, 4
and more cores for the whole process tree, in turns. The bytes must be the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ONE = """
import hashlib, sys, time
import headrace as hr
path, minutes = sys.argv[1], float(sys.argv[2])
frames = [round(i * (minutes * 1500 - 1) / 767) for i in range(768)]
hr.io.load_video(path, [0])
begin = time.perf_counter()
clip = hr.io.load_video(path, frames, width=224, height=224)
print(time.perf_counter() - begin, hashlib.sha256(clip).hexdigest())
"""


def film(minutes: float) -> Path:
    path = Path.home() / ".cache" / "headrace" / "bench" / f"parts-{minutes:g}.mp4"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(".new.mp4")
        source = ["-f", "lavfi", "-i", f"testsrc2=s=640x360:r=25:d={minutes * 60}"]
        codec = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-g", "250", "-bf", "2"]
        subprocess.run(["ffmpeg", "-y", "-v", "error", *source, *codec, made], check=True)
        made.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    path, cores = film(asked.minutes), sorted(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= len(cores)]
    took: dict[int, list[float]] = {n: [] for n in counts}
    sums = set()
    for _ in range(asked.rounds):
        for n in counts:
            command = ["taskset", "-c", ",".join(map(str, cores[:n])), sys.executable, "-c", ONE, path, str(asked.minutes)]
            seconds, digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            took[n].append(float(seconds))
            sums.add(digest)
    assert len(sums) == 1, "the bytes differ"
    for n in counts:
        ratios = [a / b for a, b in zip(took[1], took[n])]
        print(f"{n:2} cores  {statistics.median(took[n]):6.2f} s  {min(ratios):.2f}-{max(ratios):.2f} x as fast as one")


if __name__ == "__main__":
    main()

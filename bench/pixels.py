"""How far pixels differ: fast from exact, exact from Pillow, and one build of a decoder from another.

    python pixels.py [--bed BED] [--images 800] [--large 60] [--out results/pixels.json]

All differences are absolute, per channel value of 8 bits, over images of the bed, the first of each list. What is
compared:

- the two modes, for the transforms `val` and `train`, the same crops in both; apart where a reduced inverse transform fits
  (the crop is at least twice as large as the result) and where none does
- exact with Pillow's resize of the pixels that the same decoder gives whole: the promise is 1 at most
- exact with Pillow's resize of the pixels that Pillow decodes: what changes for somebody who changes loaders
- whole images as several builds of JPEG decoders give them; none is wrong, since the standard leaves rounding open
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

import numpy as np
from machine import ROOT, commit
from PIL import Image, ImageOps

DECODE = ROOT / "build/bench/decode"
LEVELS = 256
SIMPLEJPEG = """
import sys, simplejpeg
for line in sys.stdin:
    with open(line[:-1], "rb") as file:
        sys.stdout.buffer.write(simplejpeg.decode_jpeg(file.read(), "RGB").tobytes())
"""


class Histogram:
    """Counts how often values differ by how much."""

    def __init__(self) -> None:
        self.counts, self.pictures = np.zeros(LEVELS, np.int64), 0

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        difference = np.abs(a.astype(np.int16) - b)
        self.counts += np.bincount(difference.reshape(-1), minlength=LEVELS)
        self.pictures += 1

    def report(self) -> dict:
        values = int(self.counts.sum())
        if not values:
            return {"pictures": 0}
        below = np.cumsum(self.counts) / values
        return {
            "pictures": self.pictures,
            "mean": round(float(self.counts @ np.arange(LEVELS) / values), 4),
            **{f"p{p}": int(np.searchsorted(below, p / 100)) for p in (50, 99, 99.9)},
            "max": int(np.nonzero(self.counts)[0][-1]),
            "histogram": np.trim_zeros(self.counts, "b").tolist(),
        }


def main() -> None:
    options = arguments()
    subprocess.run(["go", "build", "-o", DECODE, "./bench/decode"], cwd=ROOT, check=True)
    small, large = (
        listed(options.bed, "bench_files.txt", options.photographs),
        listed(options.bed, "large_files.txt", options.large),
    )
    found: dict[str, Histogram] = collections.defaultdict(Histogram)
    failures = []
    for comparison in (against_pillow, builds, modes):
        try:
            comparison(small, large, options, found)
        except subprocess.CalledProcessError as e:
            failures.append(f"{comparison.__name__}: {e}")
    report = {
        "commit": commit(),
        "photographs": len(small),
        "large": len(large),
        "versions": {"Pillow": Image.__version__, "libjpeg-turbo in Pillow": Image.core.jpeglib_version},
        "comparisons": {name: histogram.report() for name, histogram in found.items()},
    }
    for name, row in report["comparisons"].items():
        print(f"{name}: { ({k: v for k, v in row.items() if k != 'histogram'}) }", flush=True)
    if options.out:
        options.out.write_text(json.dumps(report) + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--photographs", type=int, default=800)
    parser.add_argument("--large", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def listed(bed: pathlib.Path, name: str, count: int) -> list[str]:
    return (bed / "data" / name).read_text().split("\n")[:-1][:count]


# What is compared.


def modes(small: list[str], large: list[str], options: argparse.Namespace, found: dict[str, Histogram]) -> None:
    for work in ("val", "train"):
        pairs = zip(ours(small + large, work, "exact"), ours(small + large, work, "fast"), strict=True)
        for (done, exact), (_, fast) in pairs:
            kind = "reduced" if reduces(done) else "full size"
            found[f"{work}, fast and exact, {kind}"].add(exact, fast)


def reduces(done: dict) -> bool:
    (_, _, width, height), (to_width, to_height) = done["crop"], done["size"]
    return width >= 2 * to_width and height >= 2 * to_height


def against_pillow(small: list[str], large: list[str], options: argparse.Namespace, found: dict[str, Histogram]) -> None:
    files = small + large
    for work in ("val", "train"):
        streams = zip(files, ours(files, work, "exact"), ours(files, "whole", "exact"), strict=True)
        for file, (done, exact), (_, whole) in streams:
            found[f"{work}, exact and Pillow's resize"].add(exact, by_pillow(Image.fromarray(whole), done))
            found[f"{work}, exact and Pillow"].add(exact, by_pillow(opened(file), done))


def by_pillow(image: Image.Image, done: dict) -> np.ndarray:
    """The same crop, resize, window and flip by Pillow."""
    x, y, width, height = done["crop"]
    image = image.crop((x, y, x + width, y + height)).resize(tuple(done["size"]), Image.Resampling.BILINEAR)
    x, y, width, height = done["window"]
    image = image.crop((x, y, x + width, y + height))
    return np.asarray(ImageOps.mirror(image) if done["flip"] else image)


def opened(file: str) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(file)).convert("RGB")


def builds(small: list[str], large: list[str], options: argparse.Namespace, found: dict[str, Histogram]) -> None:
    """Whole images; those without an orientation, since not all decoders turn images."""
    files = [f for f in small if Image.open(f).getexif().get(0x112, 1) == 1]
    interpreter = options.bed / "venv-spdl/bin/python"
    streams = [ours(files, "whole", "exact"), ours(files, "whole", "exact", "-go")]
    for file, (_, turbo), (_, go) in zip(files, *streams, strict=True):
        found["whole, Headrace and Pillow"].add(turbo, np.asarray(opened(file)))
        found["whole, Headrace and Go"].add(turbo, go)
    shapes = ((done["height"], done["width"]) for done, _ in ours(files, "whole", "exact"))
    for (_, turbo), simple in zip(ours(files, "whole", "exact"), by_simplejpeg(interpreter, files, shapes), strict=True):
        found["whole, Headrace and simplejpeg"].add(turbo, simple)


# Whose pixels they are.


def ours(files: list[str], work: str, mode: str, *more: str) -> Iterator[tuple[dict, np.ndarray]]:
    """What was done, and the pixels, for each file. Equal numbers in a list are equal crops."""
    path = ROOT / f"build/bench/{work}-{mode}{''.join(more)}.txt"
    path.write_text("".join(f"{f}\n" for f in files))
    command = [str(DECODE), "-pixels", "-work", work, "-mode", mode, *more, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in files:
            line = process.stdout.readline()
            if not line:
                break
            done = json.loads(line)
            yield done, pixels(process.stdout, done["height"], done["width"])
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def by_simplejpeg(interpreter: pathlib.Path, files: list[str], shapes: Iterator[tuple[int, int]]) -> Iterator[np.ndarray]:
    command = [str(interpreter), "-c", SIMPLEJPEG]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for file, (height, width) in zip(files, shapes, strict=True):
            process.stdin.write(f"{file}\n".encode())
            process.stdin.flush()
            yield pixels(process.stdout, height, width)


def pixels(stream: io.BufferedIOBase, height: int, width: int) -> np.ndarray:
    return np.frombuffer(stream.read(height * width * 3), np.uint8).reshape(height, width, 3)


if __name__ == "__main__":
    main()

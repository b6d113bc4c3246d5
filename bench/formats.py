"""Compares decoding of PNG, WebP and AVIF with Pillow's: whole images to RGB, on one core.

    python formats.py [--bed BED] [--rounds 5] [--only png,…] [--out results/formats.json]

Both decode the same files from memory, as often as fills a second, in turns. Pillow leaves its pixels in memory of its own; that
no array is made of them is in its favour. Ours is bench/decode, without the engine. JPEG is there to compare with.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

from machine import ROOT, commit, machine, machine_cpu, others_share, spread, wait_for_quiet

DECODE = ROOT / "build/bench/decode"
FORMATS = ("jpeg", "png", "webp", "avif")
JPEGS = 200


def main() -> None:
    options = arguments()
    report = {"commit": commit(), "machine": machine(), "runs": []}
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})  # for Pillow here and for the processes begun from here
    for name in options.only.split(","):
        path, count = file_list(options.bed, name)
        passes = {"headrace": 1, "pillow": 1}
        for number in range(-1, options.rounds):
            for label, run in (("headrace", headrace), ("pillow", pillow)):
                wait_for_quiet(options.patience if number >= 0 else 0)
                before, mine = machine_cpu(), os.times()
                result = run(path, passes[label])
                if number < 0:  # how fast it is, so that a round takes a second
                    passes[label] = max(1, round(result["images_per_s"] / count * options.seconds))
                    continue
                result |= {"format": name, "round": number, "label": label, "others": others_share(before, mine)}
                report["runs"].append(result)
                print(
                    f"{name} {number} {label}: {result['images_per_s']:.1f} images/s, others {result['others']:.0%}",
                    file=sys.stderr,
                )
        print(summary(report, name), flush=True)
        if options.out:
            options.out.write_text(json.dumps(report, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="that one run should take")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--only", default=",".join(FORMATS))
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def file_list(bed: pathlib.Path, name: str) -> tuple[str, int]:
    source = bed / "data" / ("bench_files.txt" if name == "jpeg" else f"formats/{name}.txt")
    files = source.read_text().split()[:JPEGS]
    path = ROOT / f"build/bench/{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{f}\n" for f in files))
    return str(path), len(files)


def headrace(path: str, passes: int) -> dict:
    done = subprocess.run([DECODE, "-passes", str(passes), path], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def pillow(path: str, passes: int) -> dict:
    import PIL
    from PIL import AvifImagePlugin

    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
    with open(path) as names:
        pictures = [pathlib.Path(name).read_bytes() for name in names.read().split()]
    pixels = sum(map(load, pictures))  # once before the clock starts
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(passes):
        for data in pictures:
            load(data)
    took, used_after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    images = len(pictures) * passes
    cpu = used_after.ru_utime + used_after.ru_stime - used.ru_utime - used.ru_stime
    return {
        "images": images,
        "images_per_s": images / took,
        "cpu_s_per_1k": cpu / images * 1000,
        "megapixels_per_s": pixels / 1e6 * passes / took,
        "decoder": f"Pillow {PIL.__version__}",
    }


def load(data: bytes) -> int:
    from PIL import Image, ImageOps

    image = Image.open(io.BytesIO(data))
    if image.format == "JPEG":  # as the other side, which turns images upright
        image = ImageOps.exif_transpose(image)
    image = image.convert("RGB")
    return image.width * image.height


def ratios(report: dict, name: str) -> list[float]:
    """Pillow's CPU time, divided by ours in the same round."""
    cpu = {(r["label"], r["round"]): r["cpu_s_per_1k"] for r in report["runs"] if r["format"] == name}
    return [cpu["pillow", number] / value for (label, number), value in cpu.items() if label == "headrace"]


def summary(report: dict, name: str) -> str:
    runs = [r for r in report["runs"] if r["format"] == name]
    parts = [
        f"{label}: {spread([r['images_per_s'] for r in runs if r['label'] == label], '.1f')}" for label in ("headrace", "pillow")
    ]
    return f"{name}: {', '.join(parts)} images/s, ratio {spread(ratios(report, name), '.2f')}"


if __name__ == "__main__":
    main()

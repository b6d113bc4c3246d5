"""What mixing, CutMix and policies take of a loader's rate: the training recipe with and without, in turns.

    PYTHONPATH=python/src .venv/bin/python bench/mixing.py [--rounds 7] [--seconds 2]

Images are cropped at random to 224 × 224 and flipped, in batches of 64, as uint8 and as normalized float32. Each contestant has a
loader that stays; in a round each makes batches for so long, the others wait. A share is within a round: the median, with the
least and the greatest.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from typing import Any

import headrace as hr
from machine import ROOT, spread, wait_for_quiet

CLASSES = 1000


def contestants(files: list[str]) -> dict[str, hr.Pipeline]:
    """Pipelines by name; those without anything come first of their kind."""
    images = hr.files([(file, i % CLASSES) for i, file in enumerate(files * 20)]).shuffle(seed=1).decode_image()
    images = images.random_resized_crop(224).random_flip()
    mixings: dict[str, Any] = {
        "": lambda p: p.batch(64),
        "one_hot": lambda p: p.one_hot("label", CLASSES).batch(64),
        "mixup": lambda p: p.batch(64).mixup(0.2, classes=CLASSES),
        "cutmix": lambda p: p.batch(64).cutmix(1.0, classes=CLASSES),
    }
    floats = images.normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    all_of = {f"uint8 {name}": mix(images) for name, mix in mixings.items()}
    all_of |= {f"float32 {name}": mix(floats) for name, mix in mixings.items()}
    policies = {
        "rand_augment": images.rand_augment(),
        "trivial_augment": images.trivial_augment(),
        "timm's": images.rand_augment(config="rand-m9-mstd0.5-inc1", filter="bicubic"),
    }
    return all_of | {f"uint8 {name}": p.batch(64) for name, p in policies.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    options = parser.parse_args()
    files = (options.bed / "data/bench_files.txt").read_text().split("\n")[:2400]
    loaders = {name: p.loader(epochs=1, prefetch=2) for name, p in contestants(files).items()}
    each = {name: iter(loader) for name, loader in loaders.items()}
    rates: dict[str, list[float]] = {name: [] for name in each}
    for number in range(options.rounds + 1):
        wait_for_quiet(5)
        for name, batches in each.items():
            for _ in range(4):  # what was made before its turn
                next(batches)
            began, made = time.monotonic(), 0
            while (now := time.monotonic()) < began + options.seconds:
                made += len(next(batches)["image"])
            if number:
                rates[name].append(made / (now - began))
    print("| output | step | images/s | share of the rate that it takes |\n|---|---|---|---|")
    for name, of in rates.items():
        output, _, step = name.partition(" ")
        taken = [1 - a / b for a, b in zip(of, rates[output + " "], strict=True)]
        print(f"| {output} | {step or 'nothing'} | {spread(of, ',.0f')} | {spread(taken, '.1%') if step else ''} |")
    for loader in loaders.values():
        loader.close()


if __name__ == "__main__":
    main()

"""What mixing, CutMix, policies and SpecAugment take of a loader's rate: a recipe with and without, in programs of their own.

    PYTHONPATH=python/src .venv/bin/python bench/mixing.py [--rounds 5] [--seconds 3] [--bed FOLDER]

Images are cropped at random to 224 × 224 and flipped, in batches of 64, as uint8 and as normalized float32; sounds of a second
become log-mels of 80 bands. Programs take turns, and nothing else is open while one is measured: idle loaders were seen to
disturb it. A share is within a round: the median, with the least and the greatest.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from typing import Any

import numpy as np
from machine import ROOT, spread, wait_for_quiet
from measure import cpu_seconds
from turns import run

CLASSES = 1000
WARM = 12  # batches
KINDS = {
    "uint8": ("", "one_hot", "mixup", "cutmix", "rand_augment", "trivial_augment", "timm's"),
    "float32": ("", "one_hot", "mixup", "cutmix"),
    "log-mel": ("", "spec_augment"),
}


def pipeline(kind: str, step: str, bed: pathlib.Path) -> Any:
    import headrace as hr

    if kind == "log-mel":
        sounds = [np.random.default_rng(i).normal(0, 0.1, 16000).astype(np.float32) for i in range(64)]
        chain = hr.source(sounds * 2000, fields="audio").log_mel(rate=16000, n_mels=80)
        if step:
            chain = chain.spec_augment(40, 15, n_time=2, n_freq=2)
        return chain.batch(64)
    files = (bed / "data/bench_files.txt").read_text().split("\n")[:2400]
    chain = hr.files([(file, i % CLASSES) for i, file in enumerate(files * 20)]).shuffle(seed=1).decode_image()
    chain = chain.random_resized_crop(224).random_flip()
    if kind == "float32":
        chain = chain.normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    if step == "one_hot":
        return chain.one_hot("label", CLASSES).batch(64)
    if step == "mixup":
        return chain.batch(64).mixup(0.2, classes=CLASSES)
    if step == "cutmix":
        return chain.batch(64).cutmix(1.0, classes=CLASSES)
    policies = {
        "rand_augment": lambda: chain.rand_augment(),
        "trivial_augment": lambda: chain.trivial_augment(),
        "timm's": lambda: chain.rand_augment(config="rand-m9-mstd0.5-inc1", filter="bicubic"),
    }
    return (policies[step]() if step else chain).batch(64)


def contest(kind: str, step: str, bed: pathlib.Path, seconds: float) -> dict[str, float]:
    with pipeline(kind, step, bed).loader(epochs=1) as loader:
        began = used = 0.0
        samples = 0
        for count, batch in enumerate(loader):
            if count == WARM:
                began, used = time.monotonic(), cpu_seconds()
            elif count > WARM:
                samples += len(next(iter(batch.values())))
                if (now := time.monotonic()) > began + seconds:
                    break
        return {"rate": samples / (now - began), "cpu": 1e6 * (cpu_seconds() - used) / samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*")
    parser.add_argument("--contest", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    o = parser.parse_args()
    os.environ["BED"] = str(o.bed)
    if o.contest:
        kind, _, step = o.case[0].partition("/")
        print(json.dumps(contest(kind, step, o.bed, o.seconds)))
        return
    print("| output | step | samples/s | of the rate | CPU µs each | of the CPU |\n|---|---|---|---|---|---|")
    for kind, steps in KINDS.items():
        got: dict[str, list[dict[str, float]]] = {step: [] for step in steps}
        for n in range(o.rounds):
            wait_for_quiet(5)
            for step in (*steps[n % len(steps) :], *steps[: n % len(steps)]):
                one = run(__file__, o.seconds, f"{kind}/{step}")
                assert one is not None
                got[step].append(one)
        for step in steps:
            rates, cpus = ([one[key] for one in got[step]] for key in ("rate", "cpu"))
            slower = [1 - a["rate"] / b["rate"] for a, b in zip(got[step], got[""], strict=True)]
            more = [a["cpu"] / b["cpu"] - 1 for a, b in zip(got[step], got[""], strict=True)]
            shares = (spread(slower, ".1%"), spread(more, ".1%")) if step else ("", "")
            line = [kind, step or "nothing", spread(rates, ",.0f"), shares[0], spread(cpus, ",.0f"), shares[1]]
            print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()

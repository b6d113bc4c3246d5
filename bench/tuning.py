"""How far the defaults are from the best settings, found by trying all of a grid, for twelve pipelines.

    PYTHONPATH=python/src .venv/bin/python bench/tuning.py [--only WORD] [--rounds 2] [--seconds 2] [--out FILE]

The settings are the workers of the function, the samples that the engine works on at once, and prefetch=. Each is run once in a
round, the defaults twice, and once with tune=True, 25 seconds of which do not count; a run is a program of its own. What is
printed are the rates of the defaults and of the tuned loader as shares of the best setting's, by medians of rounds, so a share
above 0.97 may be noise.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import statistics
from typing import Any

from advice import Drawn, ran
from machine import ROOT, wait_for_quiet

BASE = Drawn(images=True, function="", ms=0, workers=None, batch=32, step_ms=0, step="sleep", cores=2, prefetch=None)
PIPELINES = {
    "images": BASE,
    "images, a loop that works": dataclasses.replace(BASE, step="spin", step_ms=10),
    "images, a loop that limits": dataclasses.replace(BASE, step_ms=60),
    "images, two loaders": dataclasses.replace(BASE, loaders=2),
    "Pillow": dataclasses.replace(BASE, function="pillow"),
    "Pillow, a loop that works": dataclasses.replace(BASE, function="pillow", step="spin", step_ms=10),
    "images and a function": dataclasses.replace(BASE, function="spin", ms=1),
    "images and a wait": dataclasses.replace(BASE, function="sleep", ms=3),
    "numbers and a function": dataclasses.replace(BASE, images=False, function="spin", ms=1),
    "numbers and a wait": dataclasses.replace(BASE, images=False, function="sleep", ms=3),
    "numbers, async": dataclasses.replace(BASE, images=False, function="async", ms=10),
    "images, async": dataclasses.replace(BASE, function="async", ms=10),
}


def settings(p: Drawn) -> list[Drawn]:
    """The defaults first, then all of the grid."""
    workers: list[int | None] = [None]
    if p.function:
        workers += {"async": [8, 32, 128], "sleep": [2, 4, 8, 16]}.get(p.function, [1, 2, 3])
    in_work = [None, 2, 4] if p.images else [None]
    grid = itertools.product(workers, in_work, [None, 6])
    return [dataclasses.replace(p, workers=w, in_work=n, prefetch=ahead) for w, n, ahead in grid]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name, p in PIPELINES.items():
        if options.only not in name:
            continue
        rates: dict[Drawn, list[float]] = {}
        for _ in range(options.rounds):
            for one in [*settings(p), p, dataclasses.replace(p, tune=True)]:
                wait_for_quiet(5)
                got = ran(one, options)
                if "error" in got:
                    raise SystemExit(f"{name}, {one}: {got['error']}")
                rates.setdefault(one, []).append(got["rate"])
        medians = {one: statistics.median(each) for one, each in rates.items()}
        tuned = medians.pop(dataclasses.replace(p, tune=True))
        best = max(medians, key=medians.__getitem__)
        kept = {key: getattr(best, key) for key in ("workers", "in_work", "prefetch")}
        found[name] = {"defaults": medians[p], "tuned": tuned, "best": medians[best], "settings": kept, "tried": len(medians)}
        shares = f"defaults {medians[p] / medians[best]:.2f}, tuned {tuned / medians[best]:.2f}"
        print(f"{name:28} best {medians[best]:8.0f}/s with {kept}: {shares}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

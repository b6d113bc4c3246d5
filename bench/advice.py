"""Whether the gains that `stats()["advice"]` tells come true: generated pipelines are run, changed as advised, and run again.

    PYTHONPATH=python/src .venv/bin/python bench/advice.py [--pipelines 40] [--first 0] [--seconds 2.5] [--out FILE]

A pipeline is drawn from a number: numbers or images, a function of the user's (work for the CPU, a wait, or Pillow) with one to
three workers, batches of 8 to 32, a loop that works or not, one core or two, prefetch= or not. Each change that the advice names
and that can be made here is made: workers, a second core, a function of half the time, the engine's own steps instead of Pillow,
a loop of half the time, read-ahead. A run is a program of its own, and counts from its second second on. There is a line for each
change: the rate before, what was told, what came.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time
from typing import Any

import headrace as hr
from machine import ROOT
from processes import printed

WARM, TUNES = 1.0, 25.0  # seconds of a run that do not count, and of one that tunes itself


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A pipeline, its loop and its machine."""

    images: bool
    function: str  # "spin", "sleep", "async", "pillow", or "" for none
    ms: float  # that a call of it takes
    workers: int | None
    batch: int
    step_ms: float  # that the loop takes for a batch
    step: str  # "spin" or "sleep"
    cores: int
    prefetch: int | None
    in_work: int | None = None  # samples that the engine works on at once
    loaders: int = 1  # at the same time
    tune: bool = False


def drawn(number: int) -> Drawn:
    draw = random.Random(number)
    images = draw.random() < 0.5
    function = draw.choice(["spin", "sleep", "pillow", ""] if images else ["spin", "sleep"])
    batch = draw.choice([8, 16, 32])
    return Drawn(
        images,
        function,
        round(draw.choice([0.3, 1, 3]) * draw.uniform(0.7, 1.4), 2),
        draw.choice([1, 1, 2, 3]),
        batch,
        round(batch * draw.choice([0, 0, 0.3, 1]) * draw.uniform(0.7, 1.4), 2),
        draw.choice(["spin", "sleep"]),
        draw.choice([1, 2, 2]),
        draw.choice([None, None, None, 0]),
    )


def applied(gain: dict[str, Any], p: Drawn) -> Drawn | None:
    """The pipeline with a change, or None if it cannot be made here."""
    match gain["change"]:
        case "more workers":
            return dataclasses.replace(p, workers=gain["to"])
        case "more cores" if p.cores == 1:
            return dataclasses.replace(p, cores=2)
        case "faster step" if p.function in ("spin", "sleep") and "map" in gain["stage"]:
            return dataclasses.replace(p, ms=p.ms / 2)
        case "in the engine" if p.function == "pillow":
            return dataclasses.replace(p, function="")
        case "faster loop":
            return dataclasses.replace(p, step_ms=p.step_ms / 2)
        case "more read-ahead" if p.prefetch == 0:
            return dataclasses.replace(p, prefetch=None)
    return None


# What a run does, in a program of its own.


def lateness() -> float:
    """The seconds by which a sleep is too long here: half a wait is to be half the time."""
    began = time.monotonic()
    for _ in range(20):
        time.sleep(0.001)
    return (time.monotonic() - began) / 20 - 0.001


class Function:
    """A function of the user's, of a value that it gives back."""

    def __init__(self, kind: str, ms: float) -> None:
        self.kind, self.ms, self.late = kind, ms, -1.0

    def __call__(self, value: Any) -> Any:
        if self.kind == "sleep":
            if self.late < 0:
                self.late = lateness()
            time.sleep(max(0, self.ms / 1e3 - self.late))
            return value
        until = time.thread_time() + self.ms / 1e3
        while time.thread_time() < until:
            pass
        return value


class Coroutine(Function):
    """The same, which waits for something."""

    async def __call__(self, value: Any) -> Any:
        await asyncio.sleep(self.ms / 1e3)
        return value


def pillow(file: bytes) -> Any:
    import numpy as np
    from PIL import Image

    image = Image.open(io.BytesIO(file)).convert("RGB")
    scale = 256 / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    left, top = (image.width - 224) // 2, (image.height - 224) // 2
    return np.asarray(image.crop((left, top, left + 224, top + 224)))


def pipeline(p: Drawn, files: list[str]) -> Any:
    steps = hr.files(files * 20) if p.images else hr.source(range(10**7))
    if p.function == "pillow":
        return steps.map(pillow, fields="bytes", to="image", workers=p.workers).drop("bytes").batch(p.batch)
    if p.images:
        steps = steps.decode_image().resize(256).center_crop(224)
    if p.function:
        function = (Coroutine if p.function == "async" else Function)(p.function, p.ms)
        steps = steps.map(function, workers=p.workers, **({"fields": "image"} if p.images else {"gives": int}))
    return steps.batch(p.batch)


def run(p: Drawn, files: list[str], seconds: float) -> dict[str, Any]:
    """The samples a second of the loop, which takes a batch of each loader in turn, and what the first one says."""
    os.sched_setaffinity(0, range(p.cores))
    said = (("prefetch", p.prefetch), ("workers", p.in_work), ("tune", p.tune or None))
    options = {name: value for name, value in said if value is not None}
    with contextlib.ExitStack() as open_:
        loaders = [open_.enter_context(pipeline(p, files).loader(**options)) for _ in range(p.loaders)]
        each, step = [iter(loader) for loader in loaders], Function(p.step, p.step_ms)

        def loop(seconds: float) -> float:
            began, made = time.monotonic(), 0
            while (now := time.monotonic()) < began + seconds:
                for batches in each:
                    made += len(next(batches)["image"] if p.images else next(batches))
                    step(None)
            return made / (now - began)

        loop(TUNES if p.tune else WARM)
        before = loaders[0].stats()
        rate = loop(seconds)
        after = loaders[0].stats(before)
        return {"rate": rate, "advice": after["advice"], "text": after["text"]}


def ran(p: Drawn, options: argparse.Namespace) -> dict[str, Any]:
    words = ["--run", json.dumps(dataclasses.asdict(p)), "--seconds", str(options.seconds), "--bed", str(options.bed)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python/src"), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *words]
    return printed(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), 120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        files = (options.bed / "data/bench_files.txt").read_text().split("\n")[:2400]
        print(json.dumps(run(Drawn(**json.loads(options.run)), files, options.seconds)))
        return
    told: list[dict[str, Any]] = []
    for number in range(options.first, options.first + options.pipelines):
        told += tried(number, options)
        if options.out:
            options.out.write_text(json.dumps(told, indent=1) + "\n")
    print(summary(told))


def tried(number: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run a pipeline, and each change of it."""
    p = drawn(number)
    before = ran(p, options)
    if "error" in before:
        raise SystemExit(f"pipeline {number}, {p}: {before['error']}")
    all_of = []
    for gain in before["advice"]:
        if (changed := applied(gain, p)) is None:
            continue
        after = ran(changed, options)
        if "error" in after:
            raise SystemExit(f"pipeline {number}, {changed}: {after['error']}")
        one = {
            "pipeline": number,
            "drawn": dataclasses.asdict(p),
            "before": before["rate"],
            "after": after["rate"],
            "text": before["text"],
        } | {"told": {k: gain[k] for k in ("change", "rate", "least", "most")}}
        one["within"] = gain["least"] <= after["rate"] <= gain["most"]
        print(
            f"{number:3} {gain['text']:58.58} {before['rate']:8.0f}",
            f"→ told {gain['rate']:8.0f} [{gain['least']:.0f}–{gain['most']:.0f}],",
            f"came {after['rate']:8.0f} {'' if one['within'] else '  MISSED'}",
            flush=True,
        )
        all_of.append(one)
    if not all_of:
        print(f"{number:3} nothing to change here", flush=True)
    return all_of


def summary(told: list[dict[str, Any]]) -> str:
    """How many came true, and how wide the ranges were."""
    widths = [(t["told"]["most"] - t["told"]["least"]) / (t["told"]["most"] + t["told"]["least"]) for t in told]
    within = sum(t["within"] for t in told)
    spread = f"ranges are ± {statistics.median(widths):.0%} in the middle, ± {max(widths):.0%} at most"
    return f"{within} of {len(told)} rates are in the range that was told; {spread}"


if __name__ == "__main__":
    main()

"""What metrics cost: images decoded and cropped without them, with them, and with a server that asks a thousand times a minute.

    PYTHONPATH=python/src .venv/bin/python bench/metrics.py BED [--rounds 7] [--batches 60]

The three take turns in one process; each ratio is of two runs of one round. CPU time is the engine's. On an idle machine.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import os
import pathlib
import statistics
import threading
import time
import urllib.request

import headrace as hr

PORT = 19464
KINDS = ("without", "served", "asked")


class Asking(threading.Thread):
    """Asks 1,000 times a minute, until the end of the block."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.end = threading.Event()
        self.answers = self.bytes = 0

    def run(self) -> None:
        while not self.end.wait(0.06):
            try:
                self.bytes += len(urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=5).read())
            except (OSError, http.client.HTTPException):
                continue  # the loader opens, or ends
            self.answers += 1


def run(pipeline: hr.Pipeline, kind: str, batches: int) -> dict[str, float]:
    metrics = "" if kind == "without" else f"prometheus://127.0.0.1:{PORT}"
    asking = Asking()
    if kind == "asked":
        asking.start()
    with pipeline.loader(metrics=metrics) as loader:
        loop = (batch for _ in itertools.count() for batch in loader)
        for _ in range(10):
            next(loop)
        before, began = loader.stats(), time.monotonic()
        for _ in range(batches):
            next(loop)
        took = time.monotonic() - began
        stats = loader.stats(since=before)
        (engine,) = (one for one in stats["resources"]["processes"] if one["name"] == "engine")
    asking.end.set()
    return {
        "rate": batches / took,
        "cpu": (engine["user_ns"] + engine["system_ns"]) / batches / 1e6,
        "memory": engine["resident"] / 1e6,
        "answers": asking.answers,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bed", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=60)
    options = parser.parse_args()
    pipeline = hr.files(f"{options.bed}/data/train").shuffle().decode_image().random_resized_crop(224).random_flip().batch(32)
    run(pipeline, "without", 10)

    print(f"load {os.getloadavg()[0]:.1f}")
    rounds = [
        {kind: run(pipeline, kind, options.batches) for kind in KINDS[i % 3 :] + KINDS[: i % 3]} for i in range(options.rounds)
    ]
    for kind in KINDS:
        middle = {name: statistics.median(one[kind][name] for one in rounds) for name in rounds[0][kind]}
        ratios = {name: sorted(one[kind][name] / one["without"][name] for one in rounds) for name in ("rate", "cpu")}
        said = ", ".join(f"{name} × {statistics.median(r):.3f} ({r[0]:.3f} to {r[-1]:.3f})" for name, r in ratios.items())
        rate, cpu, memory = middle["rate"], middle["cpu"], middle["memory"]
        print(f"{kind:8} {rate:.1f} batches/s, {cpu:.2f} ms CPU each, {memory:.0f} MB, {middle['answers']:.0f} answers; {said}")


if __name__ == "__main__":
    main()

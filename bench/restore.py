"""Measures how long a loader takes to its next batch: at an epoch's start, and at a state deep in it.

PYTHONPATH=python/src python bench/restore.py [samples]

Samples that a step held come again. What they take is estimated by the rate at which the loader went through the epoch;
"besides" is what is left of a restore without it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import headrace as hr
import numpy as np

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
DEEP = 0.8  # of the epoch
TRIES = 7
LONG = 20  # seconds, after which it is tried no more


def length(n: int) -> int:
    return 16 + n * 2654435761 % 497


def document(n: int) -> np.ndarray:
    return np.full(length(n), n, np.int32)


def long_enough(n: int) -> bool:
    return length(n) > 32


def numbers(n: int) -> hr.Pipeline:
    return hr.files([{"path": __file__, "n": i} for i in range(n)], fields=["n"], content=False).shuffle()


def documents() -> hr.Pipeline:
    return numbers(SAMPLES).map(document, fields="n", to="tokens", where="here", gives={"tokens": ("int32", (None,))}).drop("n")


def lines(n: int) -> str:
    """A file of documents, in lines of JSON."""
    folder.append(tempfile.TemporaryDirectory())
    path = Path(folder[0].name) / "documents.jsonl"
    with path.open("w") as file:
        for i in range(n):
            file.write(json.dumps({"tokens": document(i).tolist()}) + "\n")
    return str(path)


folder: list[tempfile.TemporaryDirectory] = []  # removed at the end


def of_lines() -> hr.Pipeline:
    return hr.read(lines(SAMPLES // 4), fields={"tokens": ("tokens", ("int32", (None,)))}).shuffle()


PIPELINES = {
    "batch": numbers(SAMPLES).batch(global_size=256),
    "mix of 100": hr.mix([(numbers(SAMPLES // 100), 1.0 + i % 7) for i in range(100)], until=SAMPLES).batch(global_size=256),
    "filter, 64 lanes": numbers(SAMPLES).filter(long_enough, fields="n", where="here").lanes(64).batch(global_size=256),
    "pack, 1 lane": documents().lanes(1).pack(2048, global_size=64),
    "pack, 64 lanes": documents().lanes(64).pack(2048, global_size=64),
    "pack of JSON, 64": of_lines().lanes(64).pack(2048, global_size=64),
}


def first(pipeline: hr.Pipeline, state: dict | None) -> tuple[float, float]:
    """Milliseconds to the next batch of an open loader that goes to a state, None: an epoch's start; and of the CPU."""
    with pipeline.loader(epochs=3) as loader:
        engine = loader._run.session.connection.engine.pid
        state = state or loader.state_dict() | {"epoch": 1}
        next(iter(loader))
        begin, cpu = time.monotonic(), used(engine)
        loader.load_state_dict(state)
        next(iter(loader))
        return (time.monotonic() - begin) * 1e3, (used(engine) - cpu) * 1e3


def used(engine: int) -> float:
    """Seconds of the CPU that this process and the engine have used."""
    fields = Path(f"/proc/{engine}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def least(pipeline: hr.Pipeline, state: dict | None) -> tuple[float, float]:
    begin, times = time.monotonic(), [first(pipeline, state)]
    while len(times) < TRIES and time.monotonic() - begin < LONG:
        times.append(first(pipeline, state))
    return min(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)


def again(state: dict) -> int:
    """Samples that were read and are in no batch that was given, as `headrace inspect` counts them."""
    held = 0
    for source in state["sources"].values():
        if source["ahead"]:
            held += source["ahead"][-1][1] - source["position"] - sum(end - begin for begin, end in source["ahead"])
    return held


def main() -> None:
    keep = hr.source(range(4)).batch(1).loader()  # so that all loaders share one engine
    print(f"{SAMPLES:,} samples, resumed after {DEEP:.0%}; milliseconds: the least of up to {TRIES}, and the median of the CPU")
    print(f"{'':18}{'start':>8}{'CPU':>6}{'resumed':>9}{'CPU':>6}{'read again':>12}{'takes':>7}{'besides':>9}{'state, KB':>11}")
    for name, pipeline in PIPELINES.items():
        with pipeline.loader(epochs=1) as loader:
            begin, deep = time.monotonic(), 0
            for _ in loader:
                state = loader.state_dict()
                deep = sum(done(source) for source in state["sources"].values())
                if deep > DEEP * samples(state):
                    break
            takes = again(state) * (time.monotonic() - begin) * 1e3 / deep
        (start, start_cpu), (resumed, resumed_cpu) = least(pipeline, None), least(pipeline, state)
        print(
            f"{name:18}{start:8.0f}{start_cpu:6.0f}{resumed:9.0f}{resumed_cpu:6.0f}{again(state):12,}{takes:7.0f}"
            f"{max(0, resumed - takes):9.0f}{len(str(state)) / 1e3:11.1f}"
        )
    keep.close()


def samples(state: dict) -> int:
    """Samples of the epoch: lanes of a source have its number."""
    return sum({name.partition("@")[0]: source["samples"] for name, source in state["sources"].items()}.values())


def done(source: dict) -> int:
    return source["position"] + sum(end - begin for begin, end in source["ahead"])


if __name__ == "__main__":
    main()

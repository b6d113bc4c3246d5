"""What a mix of 100 sources costs for each sample, and the size of its state.

    PYTHONPATH=python/src .venv/bin/python bench/mixes.py [--samples 200000] [--rounds 3] [--out FILE]

Samples are numbers, each source has 1,000; batches of 256. CPU is that of all processes, from the first batch to the end of
an epoch. "concatenated" is the same number of samples of one source, which has no turns; what a mix takes beside that is
its own. Functions and classes choose in a worker process. States are saved at four fifths of an epoch, and resumed: what
follows must be what followed in the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import headrace as hr
from machine import commit, machine, spread
from processes import family, own_cpu

SOURCES, EACH, SIZE = 100, 1_000, 256


def by_turn(turn: int, given: dict[str, int]) -> int:
    return turn * 7919 % SOURCES


class Next:
    """Chooses one after the other."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self, turn: int, given: dict[str, int]) -> int:
        self.at += 1
        return self.at % SOURCES

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


def numbers(n: int) -> hr.Pipeline:
    return hr.files([{"path": __file__, "n": i} for i in range(n)], fields=["n"], content=False)


def mixes(samples: int) -> dict[str, hr.Pipeline]:
    weights = [(numbers(EACH), 1.0 + i % 7) for i in range(SOURCES)]
    plain = [pipeline for pipeline, _ in weights]
    return {
        "concatenated": numbers(samples),
        "by weights": hr.mix(weights, until=samples),
        "by lengths": hr.mix(weights, by="n", until=samples),
        "a function": hr.mix(plain, choose=by_turn, until=samples),
        "a class": hr.mix(plain, choose=Next, until=samples),
    }


def once(pipeline: hr.Pipeline, lanes: int, samples: int) -> dict:
    """Microseconds of CPU a sample, and bytes of the state."""
    pipeline = pipeline.lanes(lanes).batch(global_size=SIZE)
    batches, late = samples // SIZE, samples // SIZE * 4 // 5
    with pipeline.loader(epochs=1) as loader:
        came = iter(loader)
        next(came)
        before = sum(map(own_cpu, family(os.getpid())))
        for _ in range(late - 1):
            next(came)
        state = loader.state_dict()
        rest = [batch["n"].tolist() for batch in came]
        spent = sum(map(own_cpu, family(os.getpid()))) - before
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(json.loads(json.dumps(state)))
        if [batch["n"].tolist() for batch in loader] != rest:
            raise SystemExit(f"{lanes} lanes: after a resume other samples come")
    return {"us": spent * 1e6 / ((batches - 1) * SIZE), "state": len(json.dumps(state))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report = {"machine": machine(), "commit": commit(), "load": os.getloadavg(), "runs": []}
    for number in range(options.rounds):
        for lanes in (1, 64):
            for label, pipeline in mixes(options.samples).items():
                report["runs"].append({"label": label, "lanes": lanes, "round": number} | once(pipeline, lanes, options.samples))
                print(report["runs"][-1], file=sys.stderr, flush=True)
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    print("| turns | lanes | µs of CPU a sample | state, bytes |\n| --- | --- | --- | --- |")
    for label, lanes in dict.fromkeys((run["label"], run["lanes"]) for run in report["runs"]):
        runs = [run for run in report["runs"] if (run["label"], run["lanes"]) == (label, lanes)]
        print(f"| {label} | {lanes} | {spread([run['us'] for run in runs], '.2f')} | {max(run['state'] for run in runs):,} |")


if __name__ == "__main__":
    main()

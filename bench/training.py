"""A small network trained on the CPU, with each loader in turn: what a step takes, how much of it is waiting for data, and
whether the loader slows the trainer's own work.

    python training.py [--bed BED] [--only WORD,…] [--rounds 5] [--steps 60] [--threads 1,2] [--out results/NAME.json]

All run in one environment, so that PyTorch is the same. "nothing" is the trainer alone. Headrace takes part a second time
with an engine that is nicer than the trainer by five levels.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from machine import CORES, HERE, ROOT, commit, machine, machine_cpu, others_share, spread, versions, wait_for_quiet
from processes import outcome

THREADS = (1, 2)
ENGINE = ROOT / "python/src/headrace/_bin/headrace"
PARTS = ("step_ms", "wait_ms", "compute_ms", "compute_p95_ms", "cpu_ms")


@dataclasses.dataclass(frozen=True)
class Contestant:
    label: str
    loader: str
    workers: int = 0
    nice: bool = False


CONTESTANTS = (
    Contestant("nothing", "nothing"),
    Contestant("headrace", "headrace"),
    Contestant("headrace, nice", "headrace", nice=True),
    Contestant("spdl, quick ops", "spdl_quick", CORES + 1),
    Contestant("spdl", "spdl", CORES + 1),
    Contestant("torch, torchvision", "torch", CORES),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--only", default="", help="words; a contestant whose label contains none of them is left out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", default=",".join(map(str, THREADS)), help="threads of PyTorch; one or more of 1, 2")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    words = [w for w in options.only.split(",") if w]
    chosen = [c for c in CONTESTANTS if not words or any(w in c.label for w in words)]
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "versions": versions(options.bed),
        "load": os.getloadavg(),
        "runs": [],
    }
    for number in range(options.rounds):
        for threads in map(int, options.threads.split(",")):
            for contestant in chosen:
                run = {"work": threads, "round": number, "label": contestant.label} | run_once(contestant, threads, options)
                report["runs"].append(run)
                print(run, file=sys.stderr, flush=True)
                if options.out:
                    options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))
    if any("error" in run for run in report["runs"]):
        raise SystemExit("some contestants failed; see above")


def run_once(contestant: Contestant, threads: int, options: argparse.Namespace) -> dict:
    wait_for_quiet(options.patience)
    before, mine = machine_cpu(), os.times()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                options.bed / "venv-training/bin/python",
                HERE / "training/train.py",
                contestant.loader,
                options.bed / "data/bench_files.txt",
                *("--workers", str(contestant.workers), "--threads", str(threads), "--steps", str(options.steps)),
            ],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "python/src") if contestant.loader == "headrace" else "",
                "PYTHONWARNINGS": "ignore",
                "CUDA_VISIBLE_DEVICES": "",
                "HEADRACE_ENGINE": str(nice(pathlib.Path(folder)) if contestant.nice else ENGINE),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
    found = outcome(done.stdout, done.stderr, done.returncode)
    return found if "error" in found else found | {"others": others_share(before, mine)}


def nice(folder: pathlib.Path) -> pathlib.Path:
    """A program that is the engine, and lets others go first."""
    program = folder / "headrace"
    program.write_text(f'#!/bin/sh\nexec nice -n 5 "{ENGINE}" "$@"\n')
    program.chmod(0o755)
    return program


def table(report: dict) -> str:
    lines = []
    for threads in THREADS:
        for contestant in CONTESTANTS:
            runs = [r for r in report["runs"] if (r["work"], r["label"]) == (threads, contestant.label) and "error" not in r]
            if runs:
                figures = ", ".join(f"{part} {spread([r[part] for r in runs], '.1f')}" for part in PARTS)
                lines.append(f"{threads} threads, {contestant.label}: {figures}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Runs the contestants in turns and compares them.

    python run.py [--bed BED] [--only WORD,…] [--work val,…] [--rounds 5] [--memory] [--out results/NAME.json]

One round runs every contestant once; ratios are taken within a round, so that an hour in which the machine is slower does
not favour anybody. Before each run the runner waits until others leave the machine alone, and with each run it writes down
how much they used all the same. CPU seconds per 1,000 images are the steadiest figure; images per second hold for one
machine and one hour.

The kinds of work:

val     shorter side to 256, centre 224 x 224, to uint8
train   random resized crop of 224 x 224 and a flip, to uint8
large   as val, from images of 1 to 8 megapixels
float   as val, normalised, channels first, as float32 or bfloat16, beside the same as uint8
start   to the first batch, with few and with many workers
transforms  as train, by a function of the user's over Pillow, the same in all contestants

--memory samples the memory of the process tree (PSS: shared pages counted once) every 50 ms. It disturbs: the rates of such a run
are not to be used.
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
import threading
import time

from machine import CORES, HERE, ROOT, commit, machine, machine_cpu, others_share, spread, versions, wait_for_quiet
from processes import family, printed, pss
from results import markdown, ratios, rows_of


@dataclasses.dataclass(frozen=True)
class Contestant:
    label: str
    environment: str  # "limit" is the C program, "tree" is .venv, else a virtual environment of the bed
    loader: str
    workers: int = 0
    mode: str = "exact"  # see measure.Job
    dtype: str = "uint8"


@dataclasses.dataclass(frozen=True)
class Work:
    """A table: who takes part, on which files, and whom they are compared with."""

    contestants: tuple[Contestant, ...]
    references: tuple[str, ...]  # labels; a contestant's own reference may differ
    transform: str = "val"
    files: str = "bench_files.txt"
    images: int = 2400
    repeat: int = 1  # how often the files are gone through
    warm: int = 8  # batches before the rate counts


HEADRACE = Contestant("headrace", "tree", "headrace")
FAST = Contestant("headrace, fast", "tree", "headrace", mode="fast")
SPDL = Contestant("spdl", "venv-spdl", "spdl", CORES + 1)
SPDL_QUICK = Contestant("spdl, quick ops", "venv-spdl", "spdl_quick", CORES + 1)
TORCH = Contestant("torch, torchvision", "venv-torch", "torch", CORES)
TORCH_PILLOW = Contestant("torch, Pillow", "venv-torch", "torch_pil", CORES)
GRAIN = Contestant("grain, quick ops", "venv-grain", "grain", 2 * CORES)
TF = Contestant("tf.data, fused", "venv-tf", "tf", CORES)
# With the user's own function. Python's threads wait for the one that has the lock, so
# one more than cores keeps these busy.
OWN_FUNCTION = (
    Contestant("limit, function alone", "tree", "alone_function", CORES),
    Contestant("headrace, processes", "tree", "headrace_function", CORES, mode="process"),
    Contestant("headrace, threads", "tree", "headrace_function", CORES, mode="thread"),
    Contestant("torch, DataLoader", "venv-torch", "torch_function", CORES),
    Contestant("spdl, threads", "venv-training", "spdl_function", CORES + 1, mode="thread"),
    Contestant("spdl, processes", "venv-training", "spdl_function", CORES, mode="process"),
)
PEERS = (SPDL, SPDL_QUICK, TORCH, TORCH_PILLOW, GRAIN, TF)


def limit(label: str, work: str) -> Contestant:
    return Contestant(label, "limit", work)


def given(contestant: Contestant, dtype: str) -> Contestant:
    return dataclasses.replace(contestant, label=f"{contestant.label}, {dtype}", dtype=dtype)


WORKS = {
    "val": Work((limit("limit", "val"), HEADRACE, FAST, *PEERS), ("limit",)),
    "train": Work(
        (limit("limit, full size", "train_exact"), limit("limit", "train"), HEADRACE, FAST, *PEERS),
        ("limit, full size", "limit"),
        transform="train",
    ),
    "large": Work(
        (limit("limit, whole", "full"), limit("limit", "val"), HEADRACE, FAST, SPDL_QUICK, TORCH, GRAIN, TF),
        ("limit, whole", "limit"),
        files="large_files.txt",
        repeat=2,
        warm=4,
    ),
    "float": Work(
        (
            HEADRACE,
            given(HEADRACE, "float32"),
            given(HEADRACE, "bfloat16"),
            FAST,
            given(FAST, "float32"),
            given(FAST, "bfloat16"),
            given(TORCH, "float32"),
            given(TF, "float32"),
        ),
        ("own uint8",),
        images=1600,
    ),
    "start": Work(
        (
            dataclasses.replace(HEADRACE, label="headrace, 1 worker", workers=1),
            dataclasses.replace(HEADRACE, label="headrace, 64 workers", workers=64),
        ),
        (),
        images=640,
    ),
    "transforms": Work(OWN_FUNCTION, ("limit, function alone", "torch, DataLoader", "spdl, threads"), transform="train"),
}


def main() -> None:
    options = arguments()
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "versions": versions(options.bed),
        "memory": options.memory,
        "runs": [],
    }
    works = options.work.split(",")
    progress = Progress([(w, c.label) for w in works for _ in range(options.rounds) for c in chosen(w, options.only)])
    for work in works:
        for number in range(options.rounds):
            for contestant in chosen(work, options.only):
                run = {"work": work, "round": number, "label": contestant.label}
                run |= run_once(contestant, work, options)
                report["runs"].append(run)
                progress.ran(run)
                if options.out:
                    options.out.parent.mkdir(exist_ok=True)
                    options.out.write_text(json.dumps(report, indent=1) + "\n")
        print(table(report, work), flush=True)
    if any("error" in run for run in report["runs"]):
        raise SystemExit("some contestants failed; see above")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--only", default="", help="words; a contestant whose label contains none of them is left out")
    parser.add_argument("--work", default=",".join(WORKS), help=f"one or more of {', '.join(WORKS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=0, help="fewer files than the work has")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


class Progress:
    """Says after each run what came out, and how long the rest will take."""

    def __init__(self, planned: list[tuple[str, str]]) -> None:
        self.planned, self.took, self.last = planned, {}, time.monotonic()

    def ran(self, run: dict) -> None:
        now = time.monotonic()
        self.took[self.planned.pop(0)] = now - self.last
        self.last = now
        outcome = run.get("error") or f"{run['images_per_s']:,.0f} images/s, others {run['others']:.0%}"
        left = sum(map(self.guess, self.planned)) / 60
        print(f"{run['work']} {run['round']} {run['label']}: {outcome} ({left:.0f} min left)", file=sys.stderr, flush=True)

    def guess(self, planned: tuple[str, str]) -> float:
        """As long as the same took before, or the same loader at other work, or any other."""
        same_loader = [seconds for (_, label), seconds in self.took.items() if label == planned[1]]
        known = same_loader or list(self.took.values())
        return self.took.get(planned) or sum(known) / len(known)


def shared_list(options: argparse.Namespace, work: Work) -> str:
    """The list of files that all contestants read for one kind of work."""
    files = (options.bed / "data" / work.files).read_text().split("\n")[:-1]
    files = files[: min(options.images or work.images, work.images)] * work.repeat
    path = ROOT / "build/bench/list.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{f}\n" for f in files))
    return str(path)


def chosen(work: str, only: str) -> list[Contestant]:
    words = [w for w in only.split(",") if w]
    return [c for c in WORKS[work].contestants if not words or any(w in c.label for w in words)]


def run_once(contestant: Contestant, work: str, options: argparse.Namespace) -> dict:
    wait_for_quiet(options.patience)
    before = machine_cpu()
    mine = os.times()
    environment = os.environ | {
        "STARTED": repr(time.time()),
        "PYTHONPATH": str(ROOT / "python/src") if contestant.environment == "tree" else "",
        "PYTHONWARNINGS": "ignore",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    process = subprocess.Popen(
        command(contestant, WORKS[work], options), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watcher = MemoryWatcher(process.pid) if options.memory else None
    found = printed(process, 300)
    peak = watcher.stop() if watcher else {}
    return found if "error" in found else found | {"others": others_share(before, mine)} | peak


def command(contestant: Contestant, work: Work, options: argparse.Namespace) -> list[str]:
    files = shared_list(options, work)
    if contestant.environment == "limit":
        passes = "2" if work.repeat == 1 else "1"
        return [str(ROOT / "build/bench/limit"), files, str(contestant.workers or CORES), contestant.loader, passes]
    folder = ROOT / ".venv" if contestant.environment == "tree" else options.bed / contestant.environment
    arguments = [contestant.loader, work.transform, files, "--workers", str(contestant.workers), "--warm", str(work.warm)]
    arguments += ["--mode", contestant.mode, "--dtype", contestant.dtype]
    return [str(folder / "bin/python"), str(HERE / "measure.py"), *arguments]


class MemoryWatcher:
    """Samples the proportional set size of a process tree and keeps the peak."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self.processes, self.done = pid, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self) -> None:
        while not self.done.wait(0.05):
            pids = family(self.pid)
            kilobytes = sum(map(pss, pids))
            if kilobytes > self.peak:
                self.peak, self.processes = kilobytes, len(pids)

    def stop(self) -> dict:
        self.done.set()
        self.thread.join()
        return {"peak_pss_mb": round(self.peak / 1024, 1), "processes": self.processes}


# What came out.


def table(report: dict, work: str) -> str:
    references = WORKS[work].references
    head = [
        "loader",
        "images/s",
        *(f"÷ {r}" for r in references),
        "CPU s per 1,000",
        "start to first batch, s",
        "peak PSS, MB",
        "others",
    ]
    rows = []
    for label, runs in rows_of(report, work).items():
        rows.append(
            [
                label,
                spread([r["images_per_s"] for r in runs], ",.0f"),
                *(spread(ratios(report, work, label, reference), ".2f") for reference in references),
                spread([r["cpu_s_per_1k"] for r in runs], ".3f"),
                spread([r["first_batch_s"] for r in runs if "first_batch_s" in r], ".2f"),
                spread([r["peak_pss_mb"] for r in runs if "peak_pss_mb" in r], ".0f"),
                spread([r["others"] for r in runs], ".2f"),
            ]
        )
    return f"\n{work}\n\n" + markdown(head, *rows)


if __name__ == "__main__":
    main()

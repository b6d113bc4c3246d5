"""Runs what SPDL's paper and pages claim, with Headrace, SPDL and PyTorch in turns, each case in a program of its own.

    python claims.py [PART…] [--bed BED] [--rounds N] [--scale 1.0] [--only WORD,…] [--out results/claims.json]

Parts (all, if none is named):

end_to_end     from the start of Python to the last of 2,400 and 24,000 images: time, and CPU of all processes
memory         PSS, time and CPU to the first batch with 1, 4, 16 and 32 workers
training       a small network trained on the CPU by one thread, beside loaders that have 1, 2 and 4 times as much to do
latency        files of a server that answers after 20 ± 20 ms, 1 to 64 requests at once
tokens         tiktoken and tokenizers in threads

A part that was run replaces that part of the results; the others stay. --scale 0.01 makes a part that small, to see whether it
runs; its numbers mean nothing. `free_threads.py` and `claims_gpu.py` have the claims about free-threaded Python and GPUs.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from machine import CORES, HERE, ROOT, commit, machine, machine_cpu, share_besides, versions, wait_for_quiet
from processes import printed


@dataclasses.dataclass(frozen=True)
class Case:
    """One program, run once in each round."""

    work: str
    label: str
    command: tuple[str, ...]  # of Python
    rounds: float = 1.0  # the share of the part's rounds in which it is run: half of them do where no claim is close


@dataclasses.dataclass(frozen=True)
class Part:
    rounds: int
    cases: Callable[[Bed], Iterator[Case]]


@dataclasses.dataclass(frozen=True)
class Bed:
    """What the programs work on."""

    folder: pathlib.Path
    scratch: pathlib.Path
    scale: float

    @property
    def python(self) -> str:
        return str(self.folder / "venv-claims/bin/python")

    def images(self, count: int) -> str:
        """A list of so many images: those of the other benchmarks, over and over."""
        count = max(64, int(count * self.scale))
        files = (self.folder / "data/bench_files.txt").read_text().split("\n")[:-1][:2400]
        listed = self.scratch / f"{count}.txt"
        listed.write_text("".join(f"{files[i % len(files)]}\n" for i in range(count)))
        return str(listed)


# Label, loader, workers, mode. SPDL has a thread more than there are cores, as it needs for
# Python's own work.
LOADERS = (
    ("headrace", "headrace", 0, "exact"),
    ("spdl", "spdl", CORES + 1, "exact"),
    ("spdl, quick ops", "spdl_quick", CORES + 1, "exact"),
    ("torch, torchvision", "torch", CORES, "exact"),
    ("headrace, function in processes", "headrace_function", CORES, "process"),
    ("headrace, function in threads", "headrace_function", CORES, "thread"),
    ("spdl, function in threads", "spdl_function", CORES + 1, "thread"),
    ("torch, function", "torch_function", CORES, "process"),
)
SHORT = {"headrace", "spdl, quick ops", "torch, torchvision", "headrace, function in processes", "torch, function"}


def end_to_end(bed: Bed) -> Iterator[Case]:
    for count, chosen in ((2400, {label for label, *_ in LOADERS}), (24000, SHORT)):
        for label, loader, workers, mode in LOADERS:
            if label in chosen:
                yield Case(str(count), label, ("claims/end_to_end.py", loader, bed.images(count), str(workers), mode))


def memory(bed: Bed) -> Iterator[Case]:
    contestants = {
        "engine": ("headrace", "spdl", "torch"),
        "pillow": ("headrace:process", "headrace:thread", "headrace:here", "spdl", "torch"),
        "torch": ("headrace:process", "headrace:thread", "headrace:here", "spdl", "torch", "fork"),
    }
    for work, those in contestants.items():
        for workers in (1, 4, 16, 32) if bed.scale == 1 else (1, 2):
            for one in those:
                yield Case(f"{work} {workers}", one, ("claims/workers.py", work, one, str(workers), bed.images(1600)))


def training(bed: Bed) -> Iterator[Case]:
    contestants = (
        ("beside", "beside", 0, "exact"),
        ("headrace", "headrace", 0, "exact"),
        ("spdl", "spdl", CORES + 1, "exact"),
        ("spdl, in a process", "spdl_subprocess", CORES + 1, "exact"),
        ("spdl, quick ops", "spdl_quick", CORES + 1, "exact"),
        ("headrace, function in processes", "headrace_function", CORES, "process"),
        ("headrace, function here", "headrace_function", CORES, "here"),
        ("spdl, function in threads", "spdl_function", CORES + 1, "thread"),
        ("torch, torchvision", "torch", CORES, "exact"),
    )
    steps = max(2, int(40 * bed.scale))

    def command(loader: str, workers: int, mode: str, batches: int) -> tuple[str, ...]:
        numbers = {"workers": workers, "threads": 1, "steps": steps, "warm": min(8, steps), "batches": batches, "mode": mode}
        options = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
        return ("training/train.py", loader, str(bed.folder / "data/bench_files.txt"), *options)

    for batches in (1, 2, 4):
        share = 1.0 if batches == 1 else 0.5  # the more there is to do, the further apart they are
        yield Case(f"{batches}", "nothing", command("nothing", 0, "exact", 1), share)
        for label, loader, workers, mode in contestants:
            if batches == 1 or label in ("headrace", "spdl, in a process", "spdl, quick ops"):
                yield Case(f"{batches}", label, command(loader, workers, mode, batches), 0.5 if "torch" in label else share)


def latency(bed: Bed) -> Iterator[Case]:
    for at_once in (1, 4, 16, 64):
        for label in ("limit, asyncio alone", "headrace, process", "headrace, here", "spdl", "torch, threads"):
            share = 0.5 if "limit" in label or "torch" in label else 1.0
            yield Case(str(at_once), label, ("claims/latency.py", label, str(at_once), str(max(4, int(100 * bed.scale)))), share)


def tokens(bed: Bed) -> Iterator[Case]:
    model = str(bed.scratch / "bpe.json")
    subprocess.run([bed.python, HERE / "claims/tokens.py", "--train", model], check=True)
    contestants = (
        "limit, threads alone",
        "headrace, threads",
        "headrace, here",
        "headrace, processes",
        "spdl",
        "headrace, threads, 16 a call",
        "headrace, here, 16 a call",
        "spdl, 16 a call",
    )
    # So many texts take each of the tokenizers some 3 seconds.
    for tokenizer, texts in (("tiktoken", 6000), ("tokenizers", 2400)):
        for threads in (1, 2):
            for label in contestants:
                words = (model, label, tokenizer, str(threads), str(max(64, int(texts * bed.scale))))
                share = 0.5 if "limit" in label or "processes" in label else 1.0
                yield Case(f"{tokenizer} {threads}", label, ("claims/tokens.py", *words), share)


PARTS = {
    "end_to_end": Part(3, end_to_end),
    "memory": Part(2, memory),
    "training": Part(10, training),
    "latency": Part(10, latency),
    "tokens": Part(10, tokens),
}


def main() -> None:
    options = arguments()
    become_the_parent_of_orphans()
    failed = False
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as scratch, server(options, name) as port:
            bed = Bed(options.bed.resolve(), pathlib.Path(scratch), options.scale)
            found = measured(name, bed, port, options)
        failed = failed or any("error" in run for run in found["runs"])
        if options.out:
            known = json.loads(options.out.read_text()) if options.out.exists() else {}
            options.out.write_text(json.dumps(known | {name: found}, indent=1) + "\n")
    if failed:
        raise SystemExit("some contestants failed; see above")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART")
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--rounds", type=int, default=0, help="instead of as many as the part has")
    parser.add_argument("--scale", type=float, default=1, help="how much of the work is done; below 1 only to try it")
    parser.add_argument("--only", default="", help="words; a case in whose work and label none of them is, is left out")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def measured(name: str, bed: Bed, port: str, options: argparse.Namespace) -> dict:
    words = [word for word in options.only.split(",") if word]
    cases = [c for c in PARTS[name].cases(bed) if not words or any(w in f"{c.work} {c.label}" for w in words)]
    rounds = options.rounds or PARTS[name].rounds
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "versions": versions(bed.folder),
        "runs": [],
    }
    began = time.monotonic()
    turns = turns_of(cases, rounds)
    for number, case in turns:
        run = {"work": case.work, "round": number, "label": case.label} | run_once(case, bed, port, options.patience)
        report["runs"].append(run)
        done = len(report["runs"])
        left = (time.monotonic() - began) / done * (len(turns) - done)
        print(f"{name}: {run} ({left / 60:.0f} min left)", file=sys.stderr, flush=True)
    report["took_s"] = round(time.monotonic() - began)
    return report


def turns_of(cases: list[Case], rounds: int) -> list[tuple[int, Case]]:
    """Which case is run when: the cases of each round one after the other, so that contestants are compared within it."""
    return [(number, case) for number in range(rounds) for case in cases if number < math.ceil(case.rounds * rounds)]


class server:
    """The server of files, while the part that needs it runs."""

    def __init__(self, options: argparse.Namespace, part: str) -> None:
        self.command = [str(options.bed / "venv-claims/bin/python"), str(HERE / "claims/remote.py")]
        self.needed = part == "latency"

    def __enter__(self) -> str:
        if not self.needed:
            return ""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        if self.needed:
            self.process.kill()
            self.process.communicate()


def run_once(case: Case, bed: Bed, port: str, patience: float) -> dict:
    wait_for_quiet(patience)
    before, mine = machine_cpu(), children_cpu()
    # As after a first run, modules are not compiled again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        "STARTED": repr(time.time()),
        "PORT": port,
        "PYTHONPATH": str(ROOT / "python/src"),
        "PYTHONWARNINGS": "ignore",
        "CUDA_VISIBLE_DEVICES": "",
    }
    program, *words = case.command
    process = subprocess.Popen(
        [bed.python, str(HERE / program), *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    found = printed(process, 600)
    reap()
    spent = children_cpu() - mine
    if "error" in found:
        return found
    # The server's CPU time is others' here: it is the same for all.
    return {"all_cpu_s": round(spent, 2)} | found | {"others": share_besides(before, spent)}


def become_the_parent_of_orphans() -> None:
    """Processes whose parent has ended are counted, too."""
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


def reap() -> None:
    """Wait 5 seconds at most for processes that a program has left: their time counts only once they have ended."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return


def children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()

"""Runs the contestants in turns and compares them.

    python run.py [--bed BED] [--only WORD,…] [--rounds 5] [--memory] [--out results/NAME.json]

One round runs every contestant once; ratios are taken within a round, so that an hour in which the machine is slower does
not favour anybody. Before each run the runner waits until others leave the machine alone, and with each run it writes down
how much they used all the same. CPU seconds per 1,000 images are the steadiest figure; images per second hold for one
machine and one hour.

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
import platform
import statistics
import subprocess
import sys
import threading
import time

from measure import descendants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclasses.dataclass(frozen=True)
class Contestant:
    label: str
    environment: str  # "limit" is the C program, "tree" is .venv, else a virtual environment of the bed
    loader: str
    workers: int = 0
    work: tuple[str, ...] = ("val", "train")


CORES = len(os.sched_getaffinity(0))
CONTESTANTS = [
    Contestant("limit", "limit", "val", work=("val",)),
    Contestant("limit", "limit", "train", work=("train",)),
    Contestant("limit, full size", "limit", "train_exact", work=("train",)),
    Contestant("headrace", "tree", "headrace"),
    Contestant("headrace, 1 worker", "tree", "headrace", 1, work=("start",)),
    Contestant("headrace, 64 workers", "tree", "headrace", 64, work=("start",)),
    Contestant("spdl", "venv-spdl", "spdl", CORES + 1),
    Contestant("spdl, quick ops", "venv-spdl", "spdl_quick", CORES + 1),
    Contestant("torch, torchvision", "venv-torch", "torch", CORES),
    Contestant("torch, Pillow", "venv-torch", "torch_pil", CORES),
    Contestant("grain, quick ops", "venv-grain", "grain", 2 * CORES),
    Contestant("tf.data, fused", "venv-tf", "tf", CORES),
]


START_IMAGES = 640


def main() -> None:
    options = arguments()
    report = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "images": options.images,
        "memory": options.memory,
        "runs": [],
    }
    for work in options.work.split(","):
        for number in range(options.rounds):
            for contestant in chosen(work, options.only):
                run = {"work": work, "round": number, "label": contestant.label}
                run |= run_once(contestant, work, options)
                report["runs"].append(run)
                outcome = run.get("error") or run.get("images_per_s")
                print(f"{work} {number} {contestant.label}: {outcome}", file=sys.stderr, flush=True)
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
    parser.add_argument("--work", default="val,train,start", help="start: to the first batch, with few and with many workers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=2400)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def shared_list(options: argparse.Namespace, work: str) -> str:
    """The list of files that all contestants read for one kind of work."""
    files = (options.bed / "data/bench_files.txt").read_text().split("\n")[:-1]
    path = ROOT / f"build/bench/{work}.txt"
    path.write_text("".join(f"{f}\n" for f in files[: START_IMAGES if work == "start" else options.images]))
    return str(path)


def chosen(work: str, only: str) -> list[Contestant]:
    words = [w for w in only.split(",") if w]
    return [c for c in CONTESTANTS if work in c.work and (not words or any(w in c.label for w in words))]


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
        command(contestant, work, options), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watcher = MemoryWatcher(process.pid) if options.memory else None
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        for pid in reversed(descendants(process.pid)):
            os.kill(pid, 9)
        out, err = process.communicate()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        return {"error": (err or out or f"ended with {process.returncode}")[-500:]}
    result = json.loads(lines[-1])
    result["others"] = others_share(before, mine)
    if watcher:
        result["peak_pss_mb"], result["processes"] = watcher.stop()
    return result


def command(contestant: Contestant, work: str, options: argparse.Namespace) -> list[str]:
    files = shared_list(options, work)
    if contestant.environment == "limit":
        return [str(ROOT / "build/bench/limit"), files, str(contestant.workers or CORES), contestant.loader, "2"]
    folder = ROOT / ".venv" if contestant.environment == "tree" else options.bed / contestant.environment
    arguments = [contestant.loader, "val" if work == "start" else work, files, "--workers", str(contestant.workers)]
    return [str(folder / "bin/python"), str(HERE / "measure.py"), *arguments]


# Who else uses the machine.


def machine_cpu() -> tuple[float, float]:
    """Seconds of CPU time used on the whole machine since it started, and now."""
    with open("/proc/stat") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    idle = fields[3] + fields[4] + fields[7]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK"), time.time()


def wait_for_quiet(patience: float, share: float = 0.08) -> None:
    deadline = time.time() + patience
    while time.time() < deadline:
        used, at = machine_cpu()
        time.sleep(0.5)
        used_after, after = machine_cpu()
        if (used_after - used) / (after - at) / (os.cpu_count() or 1) < share:
            return
        time.sleep(1)


def others_share(before: tuple[float, float], mine: os.times_result) -> float:
    """The share of the machine that others used since then. A contestant's processes are counted once they were waited for."""
    used, at = machine_cpu()
    now = os.times()
    own = sum(now[:4]) - sum(mine[:4])
    return round(max(0.0, used - before[0] - own) / (at - before[1]) / (os.cpu_count() or 1), 3)


class MemoryWatcher:
    """Samples the proportional set size of a process tree and keeps the peak."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self.processes, self.done = pid, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self) -> None:
        while not self.done.wait(0.05):
            pids = descendants(self.pid)
            kilobytes = sum(pss_of(p) for p in pids)
            if kilobytes > self.peak:
                self.peak, self.processes = kilobytes, len(pids)

    def stop(self) -> tuple[float, int]:
        self.done.set()
        self.thread.join()
        return round(self.peak / 1024, 1), self.processes


def pss_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("Pss:")), 0)
    except OSError:
        return 0


# What is reported.


def table(report: dict, work: str) -> str:
    runs = [r for r in report["runs"] if r["work"] == work and "error" not in r]
    labels = list(dict.fromkeys(r["label"] for r in runs))
    reference = {r["round"]: r["images_per_s"] for r in runs if r["label"] == "limit"}
    rows = [["loader", "images/s", "÷ limit", "CPU s per 1,000", "start to first batch, s", "peak PSS, MB", "others"]]
    for label in labels:
        own = [r for r in runs if r["label"] == label]
        ratios = [r["images_per_s"] / reference[r["round"]] for r in own if r["round"] in reference]
        rows.append(
            [
                label,
                spread([r["images_per_s"] for r in own], ",.0f"),
                spread(ratios, ".2f"),
                spread([r["cpu_s_per_1k"] for r in own], ".3f"),
                spread([r["first_batch_s"] for r in own if "first_batch_s" in r], ".2f"),
                spread([r["peak_pss_mb"] for r in own if "peak_pss_mb" in r], ".0f"),
                spread([r["others"] for r in own], ".2f"),
            ]
        )
    rows.insert(1, ["---"] * len(rows[0]))
    return f"\n{work}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows)


def spread(values: list[float], form: str) -> str:
    """Median, and from where to where."""
    if not values:
        return ""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} [{format(min(values), form)}–{format(max(values), form)}]"


def machine() -> dict:
    model = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": CORES, "kernel": platform.release(), "python": platform.python_version()}


def commit() -> str:
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return described.stdout.strip()


if __name__ == "__main__":
    main()

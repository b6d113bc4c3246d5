"""What all measurements here share: the machine, who else uses it, and how numbers are written."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CORES = len(os.sched_getaffinity(0))


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
    return share_besides(before, sum(os.times()[:4]) - sum(mine[:4]))


def share_besides(before: tuple[float, float], own: float) -> float:
    """The share of the machine that was used since then besides so many seconds of CPU time."""
    used, at = machine_cpu()
    return round(max(0.0, used - before[0] - own) / (at - before[1]) / (os.cpu_count() or 1), 3)


def spread(values: list[float], form: str) -> str:
    """Median, and from where to where."""
    if not values:
        return ""
    middle, least, most = (format(f(values), form) for f in (statistics.median, min, max))
    return middle if least == most else f"{middle} [{least}–{most}]"


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


PACKAGES = (
    "spdl",
    "torch",
    "torchvision",
    "grain",
    "tensorflow-cpu",
    "simplejpeg",
    "opencv-python-headless",
    "pillow",
    "tiktoken",
    "tokenizers",
)


def versions(bed: pathlib.Path) -> dict[str, str]:
    """Of the packages that the contestants in the bed's environments use."""
    folders = [str(p) for p in bed.glob("venv-*/lib/python3*/site-packages")]
    found = {d.name.lower().replace("_", "-"): d.version for d in importlib.metadata.distributions(path=folders)}
    return {p: found[p] for p in PACKAGES if p in found}

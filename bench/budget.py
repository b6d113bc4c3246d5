"""Where the work goes, per image: instructions by part, and CPU time by depth of decoding.

    python budget.py [--bed BED] [--out results/budget.json]

Instructions are counted by callgrind while the whole engine (bench/engine) loads images of the bed. To leave out what
happens once, it loads them once and three times, and the difference counts. libjpeg-turbo's functions are distinguished by what
bench/limit needs: those that run when nothing but coefficients is wanted belong to entropy decoding, those that planes need
beside them to the inverse transform, and the rest to upsampling and colours. valgrind knows no AVX-512, so kernels run as on
a machine with AVX2. Instructions are not time: one of entropy decoding waits longer than one of a SIMD kernel. And reading
is the kernel's work, which is not counted.

CPU time is that of bench/limit on one thread at depths that follow each other: the difference is what a depth costs.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess

import callgrind
from machine import ROOT, commit, machine, wait_for_quiet

PHOTOGRAPHS = 40
LIMIT = ROOT / "build/bench/limit_avx2"
ENGINE = ROOT / "build/bench/engine"
DEPTHS = ("read", "coefficients", "planes", "full", "val")
STEPS = {
    "val": [("resize", {"size": 256}), ("center_crop", {"size": 224})],
    "train": [("random_resized_crop", {"size": 224}), ("random_flip", {"p": 0.5})],
}
FLOAT = [("normalize", {"mean": 0.5, "std": 0.25, "dtype": "float32"}), ("layout", {"layout": "NCHW"})]
PIPELINES = {
    "val": (STEPS["val"], "exact"),
    "val, fast": (STEPS["val"], "fast"),
    "train": (STEPS["train"], "exact"),
    "train, fast": (STEPS["train"], "fast"),
    "val, float32 NCHW": (STEPS["val"] + FLOAT, "exact"),
}


def main() -> None:
    options = arguments()
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is missing; on Debian: apt-get install valgrind")
    subprocess.run(["go", "build", "-o", ENGINE, "./bench/engine"], cwd=ROOT, check=True)
    source = ["-o", LIMIT, "bench/limit.c", "-ljpeg", "-lpthread", "-lm"]
    subprocess.run(["gcc", "-O3", "-march=x86-64-v3", *map(str, source)], cwd=ROOT, check=True)
    files = (options.bed / "data/bench_files.txt").read_text().split("\n")[:-1]
    report = {"commit": commit(), "machine": machine(), "photographs": PHOTOGRAPHS}
    report["cpu_us"] = depths(files[: options.timed], options)
    report["instructions"], failures = instructions(files[:PHOTOGRAPHS])
    for name, parts in report["instructions"].items():
        total = sum(parts.values())
        shares = ", ".join(f"{part} {value / total:.1%}" for part, value in parts.items())
        print(f"{name}: {total / 1e6:.2f} million instructions a photograph: {shares}", flush=True)
    print("CPU µs an image:", {k: round(statistics.median(v)) for k, v in report["cpu_us"].items()})
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(os.environ.get("BED") or ROOT / "build/bed"))
    parser.add_argument("--timed", type=int, default=800, help="photographs whose decoding is timed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


# By time.


def depths(files: list[str], options: argparse.Namespace) -> dict[str, list[float]]:
    """CPU time per image of bench/limit at each depth, in µs."""
    path = write_list("budget", files)
    cpu: dict[str, list[float]] = {depth: [] for depth in DEPTHS}
    for _ in range(options.rounds):
        for depth in DEPTHS:
            wait_for_quiet(options.patience)
            done = subprocess.run([ROOT / "build/bench/limit", path, "1", depth], stdout=subprocess.PIPE, check=True)
            cpu[depth].append(json.loads(done.stdout)["cpu_s_per_1k"] * 1000)
    return cpu


def write_list(name: str, files: list[str]) -> str:
    path = ROOT / f"build/bench/{name}.txt"
    path.write_text("".join(f"{f}\n" for f in files))
    return str(path)


# By instructions.


def instructions(files: list[str]) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Per image and part, of the limit and of the engine; and what failed."""
    path = write_list("photographs", files)
    at = {depth: callgrind.count([str(LIMIT), path, "1", depth]) for depth in (*DEPTHS, "planes_small", "train", "train_exact")}
    entropy = {f for f in at["coefficients"] if is_libjpeg(f)}
    transform = {f for f in at["planes"] | at["planes_small"] if is_libjpeg(f)} - entropy
    parts = Parts(entropy, transform)
    found: dict[str, dict[str, float]] = {}
    failures: list[str] = []
    for work in ("val", "train", "train_exact"):
        found[f"limit, {work}"] = parts.of(at[work] - at["read"], len(files))
    for name, (steps, mode) in PIPELINES.items():
        try:
            once, thrice = (engine(files * n, steps, mode) for n in (1, 3))
        except callgrind.Failed as e:
            failures.append(f"{name}: {e}")
            continue
        thrice.subtract(once)
        found[name] = parts.of(thrice, 2 * len(files))
    return found, failures


def engine(files: list[str], steps: list[tuple[str, dict]], mode: str) -> callgrind.Counts:
    decode = {"mode": "fast"} if mode == "fast" else {}
    chain = [("files", {"paths": files, "root": "/"}), ("decode_image", decode), *steps, ("batch", {"size": 8})]
    recipe = {"headrace": 1, "seed": 0, "steps": [{op: args} for op, args in chain]}
    return callgrind.count([str(ENGINE), "1"], json.dumps(recipe).encode())


def jpeg_part(source: str, name: str) -> str:
    """The part of a function of media/jpeg."""
    if source.startswith(("entropy", "scan", "huffman", "progressive", "passes", "header")):
        return "entropy decoding"
    upsampling = ("across", "both", "down", "ycc", "pixels", "colours", "samples", "extend")
    return "upsampling and colours" if source.startswith("rows") or name.startswith(upsampling) else "inverse transform"


def is_libjpeg(f: callgrind.Function) -> bool:
    return f.object.startswith("libjpeg")


class Parts:
    """Says to which part of the work a function belongs."""

    def __init__(self, entropy: set[callgrind.Function], transform: set[callgrind.Function]) -> None:
        self.entropy, self.transform = entropy, transform

    def of(self, counts: callgrind.Counts, photographs: int) -> dict[str, float]:
        parts: dict[str, float] = collections.defaultdict(float)
        for function, n in counts.items():
            parts[self.part(function)] += n / photographs
        return {part: round(n) for part, n in sorted(parts.items(), key=lambda item: -item[1])}

    def part(self, f: callgrind.Function) -> str:
        if f in self.entropy:
            return "entropy decoding"
        if f in self.transform:
            return "inverse transform"
        if is_libjpeg(f):
            return "upsampling and colours"
        if f.object == LIMIT.name:
            return "resizing"
        if f.object.startswith(("libc.", "ld-linux", "libm.", "libpthread", "vgpreload", "???")) or not f.object:
            return "C library"
        source = f.source.rsplit("/", 1)[-1]
        if "media/jpeg/" in f.source:
            return jpeg_part(source, f.name)
        if "media/turbo/" in f.source and source.startswith(("output", "adjust")):
            return "colours and output of Headrace"
        if "github.com/headrace/headrace/media" in f.name or (source.endswith((".c", ".h")) and "runtime/cgo" not in f.source):
            return "resizing"
        return "engine"


if __name__ == "__main__":
    main()

"""Trains ViT-B/16 in bfloat16 on a GPU, with each loader in turn: whether one starves it, and what it costs to feed it.

    python claims_gpu.py [--rounds 2] [--seconds 30] [--workers 1,4,16,64] [--out results/claims_gpu.json]
    python claims_gpu.py --device cpu --model tiny --batch 8 --images 64 --seconds 2 --rounds 1 --workers 1,2     to try it

One script of 12 minutes at most, on one GPU and its cores; PyTorch, torchvision, SPDL and Headrace must be in the Python that
runs it (PYTHONPATH=python/src). It makes its images. Three things:

training  batches of 256 of uint8, cropped at random and flipped, normalized on the GPU. "cached" trains on one batch that stays
          there. Images a second, share of the time that the loop waits, CPU seconds of all processes, PSS.
workers   the loaders alone, with more and more workers.
copies    by CUDA's events: a step on the batch that stays, the same step beside copies from pinned memory on a stream of their
          own, and one copy alone: whether the copy is hidden.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import Pool
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "loaders")]

from machine import CORES, commit, machine, spread  # noqa: E402
from measure import MEAN, STD, Job, cpu_seconds  # noqa: E402
from processes import family, pss  # noqa: E402

CONTESTANTS = ("cached", "headrace", "spdl", "torch")


def main() -> None:
    options = arguments()
    if options.contest:
        print(json.dumps(contest(options)))
        return
    began = time.monotonic()
    report: dict[str, Any] = {"date": time.strftime("%Y-%m-%dT%H:%M:%S"), "machine": machine(), "commit": commit(), "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        with Pool() as pool:
            pool.map(image, [(folder, n) for n in range(options.images)])
        cases = [("training", name, CORES) for name in CONTESTANTS] * options.rounds
        cases += [("workers", name, n) for n in map(int, options.workers.split(",")) for name in CONTESTANTS[1:]]
        cases += [("copies", "copies", 0)] if options.device == "cuda" else []
        for work, name, workers in cases:
            run = {"work": work, "label": name, "workers": workers} | run_once(work, name, workers, folder, options)
            report["runs"].append(run)
            print(run, flush=True)
            if options.out:
                options.out.write_text(json.dumps(report, indent=1) + "\n")
    report["took_s"] = round(time.monotonic() - began)
    print(table(report["runs"]))
    print(f"{report['took_s']} s in all")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--model", default="vit_b_16", choices=["vit_b_16", "tiny"])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--images", type=int, default=6400)
    parser.add_argument("--seconds", type=float, default=30, help="of training that is measured, of each contestant in a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", default="1,4,16,64")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--contest", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def image(where: tuple[str, int]) -> None:
    """JPEGs of 500 × 375 and some 60 KB."""
    import numpy as np
    from PIL import Image

    folder, n = where
    rng = np.random.default_rng(n)
    small = Image.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8)).resize((500, 375), Image.Resampling.BICUBIC)
    noisy = np.clip(np.asarray(small) + rng.normal(0, 6, (375, 500, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(f"{folder}/{n:05}.jpg", quality=90)


def run_once(work: str, name: str, workers: int, folder: str, options: argparse.Namespace) -> dict:
    words = [
        "--device",
        options.device,
        "--model",
        options.model,
        "--batch",
        str(options.batch),
        "--seconds",
        str(options.seconds),
    ]
    command = [sys.executable, __file__, *words, "--contest", work, name, str(workers), folder]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        return {"error": "has not ended within 3 minutes"}
    if ran.returncode:
        return {"error": (ran.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(ran.stdout.splitlines()[-1])


# What each contestant's own program does.


def contest(options: argparse.Namespace) -> dict:
    work, name, workers, folder = options.contest
    files = sorted(map(str, pathlib.Path(folder).glob("*.jpg")))
    if work == "copies":
        return copies(options)
    batches = BATCHES[name](files, int(workers), options)
    return train(batches, options) if work == "training" else rate(batches, options)


def cached(files: list[str], workers: int, options: argparse.Namespace) -> Iterator:
    import torch

    batch = torch.randint(0, 256, (options.batch, 224, 224, 3), dtype=torch.uint8, device=options.device)
    while True:
        yield batch


def headrace(files: list[str], workers: int, options: argparse.Namespace) -> Iterator:
    import headrace as hr

    images = hr.files(files).shuffle(seed=1).decode_image().random_resized_crop(224).random_flip()
    batches = images.batch(options.batch, drop_last=True).to("torch", device=options.device)
    with batches.loader(epochs=None, workers=workers) as loader:
        while True:
            for batch in loader:
                yield batch["image"]


def spdl(files: list[str], workers: int, options: argparse.Namespace) -> Iterator:
    from concurrent.futures import ThreadPoolExecutor

    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder
    from spdl_loader import load_train

    def forever() -> Iterator[str]:
        while True:
            yield from files

    # Some images a call rather than a batch: one of 256 would keep a thread for a second.
    piece = min(16, options.batch)
    builder = PipelineBuilder().add_source(forever()).aggregate(piece).pipe(load_train, concurrency=workers)
    builder = builder.aggregate(options.batch // piece).pipe(lambda parts: torch.cat([*map(torch.as_tensor, parts)]))
    if options.device == "cuda":
        builder = builder.pipe(spdl.io.transfer_tensor_h2d, executor=ThreadPoolExecutor(1))  # one stream, as its makers show it
    with (pipeline := builder.add_sink(3).build(num_threads=workers + 2)).auto_stop():
        yield from pipeline


def torch(files: list[str], workers: int, options: argparse.Namespace) -> Iterator:
    from torch.utils.data import DataLoader

    images = importlib.import_module("torch_loader").Images(Job("train", files, workers))
    gpu = options.device == "cuda"
    data = DataLoader(
        images,
        options.batch,
        True,
        num_workers=workers,
        pin_memory=gpu,
        drop_last=True,
        persistent_workers=True,
        prefetch_factor=2,
    )
    while True:
        for batch in data:
            yield batch.to(options.device, non_blocking=True)


BATCHES = {"cached": cached, "headrace": headrace, "spdl": spdl, "torch": torch}


class Trainer:
    """One step of training, with the same normalization for all."""

    def __init__(self, options: argparse.Namespace) -> None:
        import torch
        import torchvision

        self.torch, self.device = torch, options.device
        torch.manual_seed(0)
        if options.model == "tiny":
            model = torchvision.models.VisionTransformer(224, 32, 1, 2, 32, 64, num_classes=1000)
        else:
            model = torchvision.models.vit_b_16()
        self.model = model.to(options.device)
        self.optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
        self.labels = torch.randint(0, 1000, (options.batch,), device=options.device)
        self.mean, self.std = (torch.tensor(x, device=options.device).view(1, 3, 1, 1) * 255 for x in (MEAN, STD))

    def step(self, batch) -> None:
        torch = self.torch
        if batch.shape[-1] == 3:
            batch = batch.permute(0, 3, 1, 2)
        images = (batch.float() - self.mean) / self.std
        with torch.autocast(self.device, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), self.labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def finish(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()


def train(batches: Iterator, options: argparse.Namespace) -> dict:
    trainer = Trainer(options)
    warm = time.monotonic() + options.seconds / 4
    steps, waited = 0, 0.0
    begun = cpu = 0.0
    while not begun or time.monotonic() < begun + options.seconds:
        if not begun and steps >= 3 and time.monotonic() > warm:
            trainer.finish()
            steps, waited, begun, cpu = 0, 0.0, time.monotonic(), cpu_seconds()
        asked = time.monotonic()
        batch = next(batches)
        waited += time.monotonic() - asked
        trainer.step(batch)
        steps += 1
        if steps % 8 == 0:  # or the queue of the GPU grows, and waits show in no place
            trainer.finish()
    trainer.finish()
    took = time.monotonic() - begun
    images = steps * options.batch
    return {
        "images_per_s": round(images / took, 1),
        "waits": round(waited / took, 4),
        "cpu_s_per_1k": round((cpu_seconds() - cpu) / images * 1000, 4),
        "pss_mb": round(sum(map(pss, family(os.getpid()))) / 1024),
    }


def rate(batches: Iterator, options: argparse.Namespace) -> dict:
    """Of the loader alone."""
    for _ in range(4):
        next(batches)
    begun, cpu, images = time.monotonic(), cpu_seconds(), 0
    while time.monotonic() < begun + options.seconds / 5:
        images += next(batches).shape[0]
    took = time.monotonic() - begun
    return {"images_per_s": round(images / took, 1), "cpu_s_per_1k": round((cpu_seconds() - cpu) / images * 1000, 4)}


def copies(options: argparse.Namespace) -> dict:
    import torch

    trainer = Trainer(options)
    here = torch.randint(0, 256, (options.batch, 224, 224, 3), dtype=torch.uint8).pin_memory()
    stays, spare = here.to("cuda"), torch.empty_like(here, device="cuda")
    stream = torch.cuda.Stream()

    def milliseconds(what, times: int = 20) -> float:
        for _ in range(5):
            what()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        for _ in range(times):
            what()
        torch.cuda.current_stream().wait_stream(stream)
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / times

    def copy() -> None:
        with torch.cuda.stream(stream):
            spare.copy_(here, non_blocking=True)

    def beside() -> None:
        copy()
        trainer.step(stays)

    alone = milliseconds(lambda: trainer.step(stays))
    return {"step_ms": round(alone, 3), "copy_ms": round(milliseconds(copy), 3), "both_ms": round(milliseconds(beside), 3)}


def table(runs: list[dict]) -> str:
    lines = []
    for work, name, workers in dict.fromkeys((r["work"], r["label"], r["workers"]) for r in runs):
        these = [r for r in runs if (r["work"], r["label"], r["workers"]) == (work, name, workers) and "error" not in r]
        keys = [key for key in (these[0] if these else {}) if key not in ("work", "label", "workers")]
        lines.append(
            f"{work}, {name}, {workers} workers: " + ", ".join(f"{k} {spread([r[k] for r in these], ',.4g')}" for k in keys)
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

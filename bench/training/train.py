"""Trains a small network on the CPU with the batches of one loader, and prints what each step took, as one line of JSON.

Usage: python train.py LOADER LIST [--workers W] [--threads T] [--steps N] [--warm N] [--batches N] [--mode MODE]

LOADER is a module of loaders/, or "nothing": one batch of random pixels, over and over, which is what training costs alone.
LIST has the images; they are gone through as often as the steps need. A step has three parts, each measured by itself:

wait     until the loader has given the batch
prepare  bytes to floating point, channels first, which is the same for all
compute  forward, backward, and the optimizer's step, on T threads of PyTorch

queued_ms, of the step, is how long the kernel had the trainer's thread wait for a core.

With --batches N a step takes N batches and trains on the last: the loader has N times as much to do beside the same training.
MODE is the job's.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import pathlib
import statistics
import sys
import time

import torch

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "loaders")]

from measure import BATCH, Job, cpu_seconds  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loader")
    parser.add_argument("list")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warm", type=int, default=10)
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--mode", default="exact")
    options = parser.parse_args()
    files = pathlib.Path(options.list).read_text().split("\n")[:-1]
    steps = options.warm + options.steps
    # A few batches more, so that no loader runs dry before the end.
    files = list(itertools.islice(itertools.cycle(files), (steps * options.batches + 8) * BATCH))
    if options.loader == "nothing":
        batches = itertools.repeat(torch.randint(0, 256, (BATCH, 3, 224, 224), dtype=torch.uint8))
    else:
        batches = importlib.import_module(f"{options.loader}_loader").batches(Job("train", files, options.workers, options.mode))
    torch.set_num_threads(options.threads)  # after the import, since loaders have a say in it
    print(json.dumps(train(iter(batches), options.warm, options.steps, options.batches)))


def train(batches, warm: int, steps: int, taken: int) -> dict:
    torch.manual_seed(0)
    model, labels = network(), torch.randint(0, 100, (BATCH,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    parts: dict[str, list[float]] = {"wait": [], "prepare": [], "compute": []}
    loss = torch.zeros(())
    for step in range(warm + steps):
        if step == warm:
            begun, cpu, queued = time.perf_counter(), cpu_seconds(), queued_seconds()
        times = [time.perf_counter()]
        for _ in range(taken):
            batch = next(batches)
        times.append(time.perf_counter())
        images = prepared(torch.as_tensor(batch))
        times.append(time.perf_counter())
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter())
        if step >= warm:
            for name, before, after in zip(parts, times, times[1:]):
                parts[name].append((after - before) * 1000)
    seconds, cpu, queued = time.perf_counter() - begun, cpu_seconds() - cpu, queued_seconds() - queued
    assert torch.isfinite(loss)
    return {
        "steps": steps,
        "step_ms": seconds / steps * 1000,
        "cpu_ms": cpu / steps * 1000,
        "queued_ms": queued / steps * 1000,
        **{f"{name}_ms": statistics.fmean(times) for name, times in parts.items()},
        "compute_p95_ms": statistics.quantiles(parts["compute"], n=20)[-1],
    }


def queued_seconds() -> float:
    """How long this thread has had something to do, and others had the cores."""
    return int(pathlib.Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def prepared(batch: torch.Tensor) -> torch.Tensor:
    """Floating point around 0, channels first."""
    if batch.shape[-1] == 3:
        batch = batch.permute(0, 3, 1, 2)
    return batch.to(torch.float32, memory_format=torch.contiguous_format).sub_(127.5).div_(64)


def network() -> torch.nn.Module:
    def block(inside: int, outside: int) -> list[torch.nn.Module]:
        convolution = torch.nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
        return [convolution, torch.nn.BatchNorm2d(outside), torch.nn.ReLU()]

    stem = [torch.nn.Conv2d(3, 16, 7, stride=4, padding=3), torch.nn.ReLU()]
    head = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(128, 100)]
    return torch.nn.Sequential(*stem, *block(16, 32), *block(32, 64), *block(64, 128), *head)


if __name__ == "__main__":
    main()

"""How a loader grows with the cores, beside PyTorch's DataLoader; and a training step on a GPU, if there is one.

    .venv/bin/python bench/cores.py [--rounds 3] [--cores 1,4,16]

3,200 JPEGs of 500 × 375 and about 60 KB, decoded, cropped at random to 224 × 224 and flipped, in batches of 128. DataLoader has a
worker for each core, and torchvision's transforms. All take turns; each epoch but the last warms up. The training step is that of
ResNet-50 in bfloat16.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from PIL import Image

OURS = """
import sys, time
import headrace as hr
images = hr.files(sys.argv[1], label="parent").shuffle(seed=1).decode_image(mode=sys.argv[3])
with images.random_resized_crop(224).random_flip().batch(128, drop_last=True).loader(epochs=4) as loader:
    for _ in range(4):
        begin = time.perf_counter()
        n = sum(len(batch["label"]) for batch in loader)
        rate = n / (time.perf_counter() - begin)
print(rate)
"""
PYTORCH = """
import sys, time
import torch, torchvision
from torchvision.transforms import v2
steps = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor()])
images = torchvision.datasets.ImageFolder(sys.argv[1], steps)
loader = torch.utils.data.DataLoader(images, 128, True, num_workers=int(sys.argv[2]), persistent_workers=True, drop_last=True)
for _ in range(3):
    begin = time.perf_counter()
    n = sum(len(labels) for _, labels in loader)
    rate = n / (time.perf_counter() - begin)
print(rate)
"""
CASES = {"headrace, exact": (OURS, "exact"), "headrace, fast": (OURS, "fast"), "DataLoader, torchvision": (PYTORCH, "")}


def image(where: tuple[str, int]) -> None:
    folder, i = Path(where[0]), where[1]
    rng = np.random.default_rng(i)
    small = Image.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8)).resize((500, 375), Image.Resampling.BICUBIC)
    noisy = np.clip(np.asarray(small) + rng.normal(0, 6, (375, 500, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(folder / f"c{i % 10}" / f"{i:05}.jpg", quality=90)


def rates(folder: str, counts: list[int], rounds: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    found: dict[tuple[int, str], list[float]] = {(n, name): [] for n in counts for name in CASES}
    for _ in range(rounds):
        for n, name in found:
            code, mode = CASES[name]
            command = ["taskset", "-c", ",".join(map(str, cores[:n])), sys.executable, "-c", code, folder, str(n), mode]
            found[n, name].append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    for (n, name), each in found.items():
        print(f"{n:2} cores  {name:24} {statistics.median(each):8,.0f} [{min(each):,.0f}-{max(each):,.0f}] images/s", flush=True)


def same(folder: str) -> None:
    """Whether batches on the GPU are those of the CPU: kept, and copied from pinned memory that is let go of at once."""
    import headrace as hr
    import torch

    images = (
        hr.files(folder, label="parent").shuffle(seed=1).decode_image().random_resized_crop(224).normalize(0.5, 0.25).batch(64)
    )
    with images.to("torch").loader(epochs=1) as loader:
        want = [batch["image"].clone() for batch in loader]
    with images.to("torch", device="cuda").loader(epochs=1) as loader:
        kept = [batch["image"] for batch in loader]
    copied = []
    with images.to("torch", pin_memory=True).loader(epochs=1) as loader:
        for batch in loader:
            copied.append(batch["image"].to("cuda", non_blocking=True))
            del batch
    for got in (kept, copied):
        assert all(x.is_cuda and torch.equal(x.cpu(), y) for x, y in zip(got, want, strict=True))
    print("batches on the GPU are those of the CPU")


def train(folder: str) -> None:
    import headrace as hr
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    images = hr.files(folder, label="parent").shuffle(seed=1).decode_image().random_resized_crop(224).random_flip()
    batches = images.normalize(0.5, 0.25).layout("NCHW").batch(128, drop_last=True)
    with batches.to("torch", device="cuda").loader(epochs=3) as loader:
        for _ in range(3):
            begin, n = time.perf_counter(), 0
            for batch in loader:
                with torch.autocast("cuda", torch.bfloat16):
                    scores = model(batch["image"].to(memory_format=torch.channels_last))
                    loss = torch.nn.functional.cross_entropy(scores, batch["label"])
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                n += len(batch["label"])
            torch.cuda.synchronize()
            print(f"{torch.cuda.get_device_name()}: {n / (time.perf_counter() - begin):,.0f} images/s", flush=True)
        print(loader.stats())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cores", default=",".join(str(n) for n in (1, 2, 4, 8, 16, 32, 64) if n <= len(os.sched_getaffinity(0)))
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(10):
            (Path(folder) / f"c{i}").mkdir()
        with Pool() as pool:
            pool.map(image, [(folder, i) for i in range(3200)])
        rates(folder, [int(n) for n in asked.cores.split(",")], asked.rounds)
        try:
            import torch
        except ImportError:
            return
        if torch.cuda.is_available():
            same(folder)
            train(folder)


if __name__ == "__main__":
    main()

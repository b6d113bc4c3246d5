"""Two processes with torch.distributed over gloo, for test_all_ranks.py. They train in step, and the loader of rank 1 is slow.

They are forked after PyTorch is imported, once for both. `python all_ranks_program.py FOLDER` writes FOLDER/0.json and FOLDER/1.json.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import headrace as hr
from forked_ranks import forked

BATCH, STEP = 0.04, 0.005  # seconds of a slow rank's batch, and of a step


class Samples:
    """Two of them are a batch."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 240

    def __getitem__(self, index: int) -> dict[str, int]:
        time.sleep(self.seconds / 2)
        return {"n": index}


def own(batch: Any) -> Any:
    time.sleep(BATCH)
    return batch


def train(batches: Any, steps: int) -> None:
    for _ in itertools.islice(batches, steps):
        time.sleep(STEP)
        dist.all_reduce(torch.ones(1))  # as gradients are: the step ends when all ranks are there


def error(call: Any) -> str:
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    return "nothing was raised"


def tried(rank: int) -> dict[str, Any]:
    said: dict[str, Any] = {}
    slow = hr.source(Samples(BATCH if rank else 0.0), where="here").batch(2)
    with slow.loader(epochs=1, workers=1) as loader:
        before = time.monotonic()
        said["untouched"] = loader.stats(ranks="all")
        batches = iter(loader)
        train(batches, 20)
        first = said["first"] = loader.stats(ranks="all")
        said["took"] = time.monotonic() - before
        said["alone"] = loader.stats()
        train(batches, 10)
        said["since"] = loader.stats(first, ranks="all")
        said["wrong since"] = error(lambda: loader.stats(3 if rank else first, ranks="all"))
        said["wrong ranks"] = error(lambda: loader.stats(ranks=rank))  # which is refused before anything is gathered
    said["closed"] = loader.stats(ranks="all")

    steps = hr.source(Samples(0.0), where="here").batch(2)
    with (steps.map(own, where="main") if rank == 0 else steps).loader(epochs=1, workers=1) as loader:
        train(loader, 12)
        said["main"] = loader.stats(ranks="all")

    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
    with slow.loader(epochs=1, workers=1, mesh=mesh, dp="dp") as loader:
        train(loader, 6)
        said["mesh"] = loader.stats(ranks="all")

    dist.barrier()
    if rank == 1:
        return said  # the process ends as if it were killed
    began = time.monotonic()
    with slow.loader(epochs=1, workers=1) as loader:
        said["gone"] = error(lambda: loader.stats(ranks="all"))
    said["seconds"] = time.monotonic() - began
    return said


def run(folder: Path) -> int:
    def of_rank(rank: int) -> None:
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
        (folder / f"{rank}.json").write_text(json.dumps(tried(rank)))

    return max(forked(2, of_rank))


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(run(Path(sys.argv[1])))

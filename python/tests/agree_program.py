"""Processes with torch.distributed over gloo, for test_agree.py: their ranks have different numbers of batches, and end epochs together.

They are forked after PyTorch is imported, once for all. `python agree_program.py FOLDER 2 3` writes FOLDER/2/0.json and so on.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import headrace as hr
from agree_pipelines import PIPELINES, filtered, numbers
from forked_ranks import forked

WHOLE = os.environ.get("HEADRACE_TESTS") == "whole"
Batches = list[list[int]]


def lists(batches: Any) -> Batches:
    return [batch["n"].tolist() for batch in batches]


def epochs(pipeline: hr.Pipeline, n: int = 3, cut: int | None = None, state: Any = None, **options: Any) -> dict[str, Any]:
    """What a rank gets in each epoch, with a state after each batch; or up to a batch, or from a state."""
    got: dict[str, Any] = {"epochs": [], "states": [], "ends": []}
    with pipeline.loader(epochs=n, workers=1, **options) as loader:
        got["agree"] = loader._run.agreement is not None
        got["most"] = loader.max_batches
        if state is not None:
            loader.load_state_dict(state)
        for _ in range(n - loader.state_dict()["epoch"]):
            batches = []
            for batch in itertools.islice(loader, cut):
                batches.append(batch["n"].tolist())
                got["states"].append(loader.state_dict())
            got["epochs"].append(batches)
            got["ends"].append(loader.state_dict())
            if cut is not None:
                break
    return got


def error(call: Any) -> str:
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    return "nothing was raised"


def tried(rank: int, world: int) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, (pipeline, options) in PIPELINES.items():
        said[name] = whole = epochs(pipeline, **options)
        # After a batch the run ends, and another goes on from there.
        said[name]["resumed"] = [epochs(pipeline, state=state, **options)["epochs"] for state in whole["states"][:: 1 if WHOLE else 5]]
        del whole["states"]
    said["prefetch"] = [epochs(filtered(), prefetch=n)["epochs"] for n in (0, 1, 5)]
    said["get"] = with_get(filtered())
    said["break"] = with_break(filtered())
    said["alike"] = epochs(numbers(40).batch(global_size=6), n=1)["agree"]
    said["even"] = epochs(filtered(), n=1, steps_per_epoch=1)["agree"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said["none"] = epochs(numbers(40).filter(first_rank, fields="n", where="here").batch(2), n=2)["epochs"]
    said["warned"] = [str(one.message) for one in caught if "no batch" in str(one.message)]
    said["another place"] = error(lambda: apart(rank))
    said["failed"] = error(lambda: epochs(numbers(60).filter(bad, fields="n", where="here").lanes(world).batch(global_size=world)))
    said["again"] = epochs(filtered(), n=1)["epochs"]
    if world > 2:
        return said
    said["another world"] = error(lambda: filtered().loader(rank=0, world_size=3))
    dist.barrier()
    if rank == 1:
        kept.append(filtered().loader(epochs=1))
        next(iter(kept[0]))
        return said  # the process ends as if it were killed
    began = time.monotonic()
    with filtered().loader(epochs=1) as loader:
        said["ended"] = error(lambda: lists(loader))
    said["seconds"] = time.monotonic() - began
    return said


kept: list[hr.Loader] = []


def first_rank(n: int) -> bool:
    """Whether it is in the share of rank 0."""
    return dist.get_rank() == 0


def bad(n: int) -> bool:
    if n == 31:
        raise ValueError("bad")
    return True


def with_get(pipeline: hr.Pipeline) -> Batches:
    got = []
    with pipeline.loader(epochs=1) as loader:
        while True:
            try:
                got.append(loader.get(timeout=0.001)["n"].tolist())
            except TimeoutError:
                pass
            except StopIteration:
                return got


def with_break(pipeline: hr.Pipeline) -> list[Batches]:
    """The first batches of an epoch, the rest of it, the first ones of the next, and the one after that."""
    with pipeline.loader(epochs=3) as loader:
        first = lists(itertools.islice(loader, 2))
        rest = lists(loader.resume())
        second = lists(itertools.islice(loader, 1))
        return [first, rest, second, lists(loader)]


def apart(rank: int) -> None:
    with filtered().loader(epochs=2) as loader:
        loader.set_epoch(1 if rank else 0)
        next(iter(loader))


def in_mesh(rank: int) -> dict[str, Any]:
    """Two groups of two data-parallel ranks, of which each pair gets the same."""
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    got = epochs(filtered(), n=2, mesh=mesh)
    return {"mesh": got["epochs"], "ends": got["ends"]}


def run(folder: Path, world: int) -> int:
    folder.mkdir()

    def of_rank(rank: int) -> None:
        os.chdir(folder)
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
        with numbers(1).loader(rank=0, world_size=1):  # so that all loaders share one engine
            said = in_mesh(rank) if world == 4 else tried(rank, world)
            (folder / f"{rank}.json").write_text(json.dumps(said))

    return max(forked(world, of_rank))


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(max(run(Path(sys.argv[1]) / world, int(world)) for world in sys.argv[2:]))

"""Four processes with torch.distributed over gloo, for test_mesh.py: each tries loaders on meshes, and says what it saw.

They are forked after PyTorch is imported, once for all. `python mesh_program.py FOLDER` writes FOLDER/0.json to FOLDER/3.json.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.distributed as dist
import torch.distributed.device_mesh

import headrace as hr
from forked_ranks import forked
from headrace._recipe import launcher

WORLD = 4
ROW = 24
WHOLE = os.environ.get("HEADRACE_TESTS") == "whole"


def documents() -> hr.Pipeline:
    """Sequences of 3 to 14 numbers, with labels."""
    r = numpy.random.default_rng(0)
    for i, n in enumerate(r.integers(3, 15, 64).tolist()):
        numpy.save(f"{os.getpid()}-{i}.npy", numpy.arange(n, dtype="i4") + 100 * i)
    rows = [{"path": f"{os.getpid()}-{i}.npy", "label": i} for i in range(64)]
    return hr.files(rows, fields=["label"]).shuffle().decode_npy("int32", to="tokens").drop("key")


def numbers(size: int = 2) -> hr.Pipeline:
    return hr.files([{"path": __file__, "n": i} for i in range(32)], fields=["n"], content=False).shuffle().batch(size)


def all_of(pipeline: hr.Pipeline, **options: Any) -> list[list[int]]:
    with pipeline.loader(epochs=1, workers=1, **options) as loader:
        return [batch["n"].tolist() for batch in loader]


def lists(batch: Any) -> dict[str, Any]:
    return {name: value.tolist() for name, value in batch.items()}


def first(pipeline: hr.Pipeline, **options: Any) -> Any:
    with pipeline.loader(epochs=1, workers=1, steps_per_epoch=3, **options) as loader:
        return next(iter(loader))


def error(call: Any) -> str:
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    return "nothing was raised"


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in got if issubclass(one.category, hr.HeadraceWarning)]


def mesh_of(**dims: int) -> Any:
    return dist.device_mesh.init_device_mesh("cpu", tuple(dims.values()), mesh_dim_names=tuple(dims))


def of_slices(mesh: Any, three: Any, packed: hr.Pipeline, whole: Any) -> dict[str, Any]:
    """What needs slices of a mesh, for which PyTorch imports its compiler in each process."""
    flat = mesh_of(dp_replicate=2, dp_shard=1, cp=2)
    flat["dp_shard", "cp"]._flatten("dp_shard_cp")
    return {
        "submesh": all_of(numbers(), mesh=mesh["dp"]),
        "flattened": all_of(numbers(), mesh=flat, dp=("dp_replicate", "dp_shard_cp")),
        "overlap": error(lambda: packed.loader(mesh=flat, dp=("dp_replicate", "dp_shard_cp"), cp="cp")),
        "as torch": as_torch_cuts(whole, three["cp"]),
        "of slices": lists(first(packed, mesh=three["dp"], cp=three["cp"])),
    }


def as_torch_cuts(batch: Any, mesh: Any) -> dict[str, Any]:
    """What PyTorch's own context parallelism makes of whole rows."""
    import torch.distributed.tensor.experimental as experimental

    whole = [value.clone() for value in batch.values()]
    with experimental.context_parallel(mesh, buffers=whole, buffer_seq_dims=[1] * len(whole)):
        return {name: value.tolist() for name, value in zip(batch, whole)}


def of_group() -> dict[str, Any]:
    """What a rank gets where only torch.distributed knows it, or the environment says something else."""
    said: dict[str, Any] = {
        "nothing": all_of(numbers()),
        "one": all_of(numbers(), world_size=1),
        "as the group": with_environment(WORLD_SIZE=WORLD),
        "another world": with_environment(WORLD_SIZE=2),
        "another rank": with_environment(RANK=0, WORLD_SIZE=1),
    }
    with numbers().loader() as loader:
        said["explained"] = loader.explain()
    with numbers().loader(world_size=1) as loader:
        said["explained one"] = loader.explain()
    return said


def with_environment(**numbers_of: int) -> list[list[int]]:
    os.environ |= {name: str(number) for name, number in numbers_of.items()}
    try:
        return all_of(numbers())
    finally:
        for name in numbers_of:
            del os.environ[name]


def tried(rank: int) -> dict[str, Any]:
    said: dict[str, Any] = {"group": of_group()}
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(WORLD)}

    # Plain DDP and HSDP, whose ranks are all data-parallel, before there is any other mesh.
    said["plain"] = warned(lambda: said.update(ddp=all_of(numbers())))
    hsdp = mesh_of(dp_replicate=2, dp_shard=2)
    said["plain"] += warned(lambda: said.update(of_environment=all_of(numbers())))
    said["hsdp"] = all_of(numbers(), mesh=hsdp, dp=("dp_replicate", "dp_shard"))

    mesh = mesh_of(dp=2, tp=2)
    said["tp"] = all_of(numbers(), mesh=mesh)
    said["none"] = all_of(numbers(16), mesh=mesh, dp=())
    said["dataset"] = [batch["n"].tolist() for batch in hr.torch.IterableDataset(numbers(), epochs=1, workers=1, mesh=mesh)]
    said["warned"] = [warned(lambda: all_of(numbers())) for _ in range(2)]
    said["warned"].append(warned(lambda: all_of(numbers(), rank=rank, world_size=WORLD)))

    three = mesh_of(dp=1, cp=2, tp=2)
    packed = documents().pack(ROW, 3).to("torch")
    whole = first(packed, mesh=three)
    cut = first(packed, mesh=three, cp="cp")
    said["cp"], said["rows"] = lists(cut), lists(whole)
    placed = hr.torch.IterableDataset(packed, epochs=1, workers=1, rank=0, world_size=1, cp=(rank // 2, 2))
    said["cp of a dataset"] = lists(next(iter(placed)))
    placed.close()
    said["contiguous"] = lists(first(packed, mesh=three, cp="cp", cp_layout="contiguous"))
    said["errors"] = {
        "no such dimension": error(lambda: numbers().loader(mesh=mesh, dp="data")),
        "no dp": error(lambda: numbers().loader(mesh=hsdp)),
        "no such cp": error(lambda: packed.loader(mesh=mesh, cp="context")),
        "twice": error(lambda: numbers().loader(mesh=mesh, dp=("dp", "dp"))),
        "dp is cp": error(lambda: packed.loader(mesh=three, dp=("dp", "cp"), cp="cp")),
        "no names": error(lambda: numbers().loader(mesh=dist.device_mesh.DeviceMesh("cpu", [[0, 1], [2, 3]]))),
        "beside rank": error(lambda: numbers().loader(mesh=mesh, rank=0)),
        "beside world_size": error(lambda: numbers().loader(mesh=mesh, world_size=2)),
        "completion": error(lambda: numbers().loader(mesh=mesh, order="completion")),
        "completion of a step": error(lambda: numbers().map(lists, order="completion").loader(mesh=mesh)),
        "cp mesh": error(lambda: packed.loader(mesh=three, cp=mesh)),
        "cp without rank": error(lambda: packed.loader(cp=(0, 2))),
        "cp of a dataset": error(lambda: hr.torch.IterableDataset(packed, cp=(0, 2)).loader.close()),
        "cp mesh of a dataset": error(lambda: hr.torch.IterableDataset(packed, cp=three["cp"]).loader.close()),
    }
    if WHOLE:
        said |= of_slices(mesh, three, packed, whole)
    said["left out"] = warned(lambda: all_of(numbers(), mesh=hsdp, dp="dp_shard"))
    part = dist.device_mesh.DeviceMesh("cpu", [0, 1], mesh_dim_names=("dp",))
    said["not in it"] = error(lambda: numbers().loader(mesh=part).close())
    large = dist.device_mesh.DeviceMesh("cpu", [[0, 1, 2, 3], [4, 5, 6, 7]], mesh_dim_names=("dp", "tp"), _init_backend=False)
    said["errors"]["another world"] = error(lambda: numbers().loader(mesh=large))
    dist.destroy_process_group()
    begin(rank, "megatron")
    for group in ([0, 1], [2, 3]):
        dist.new_group(group, group_desc="TENSOR_MODEL_PARALLEL_GROUP")  # as megatron.core.parallel_state does
        dist.new_group([group[0]], group_desc="CONTEXT_PARALLEL_GROUP")
    launcher._warned = False
    said["megatron"] = warned(lambda: all_of(numbers()))
    launcher._warned = False
    said["megatron"] += warned(lambda: hr.torch.IterableDataset(numbers(), epochs=1).loader.close())

    dist.destroy_process_group()
    said["errors"]["not initialised"] = error(lambda: numbers().loader(mesh=mesh))
    return said


def begin(rank: int, store: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/{store}", rank=rank, world_size=WORLD)


def main(folder: Path) -> int:
    def of_rank(rank: int) -> None:
        os.chdir(folder)
        begin(rank, "first")
        with numbers().loader():  # so that all loaders share one engine
            (folder / f"{rank}.json").write_text(json.dumps(tried(rank)))

    return max(forked(WORLD, of_rank))


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main(Path(sys.argv[1])))

"""One of several processes of JAX, for test_mesh.py: `python mesh_of_jax.py PORT PROCESSES PROCESS`. Each has two devices.

It prints, as JSON, which samples it got on each mesh, and checks that JAX makes whole arrays of the batches.
"""

from __future__ import annotations

import json
import os
import sys

port, processes, process = map(int, sys.argv[1:])
os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental.multihost_utils import process_allgather  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import headrace as hr  # noqa: E402

jax.distributed.initialize(f"localhost:{port}", processes, process)
devices = np.array(sorted(jax.devices(), key=lambda device: (device.process_index, device.id)))


def numbers(size: int) -> hr.Pipeline:
    return hr.source([{"n": i, "row": np.full(8, i)} for i in range(32)], gives={"n": int, "row": ("int64", (8,))}).batch(global_size=size)


def tried(mesh: Mesh, dp: object) -> list[list[int]]:
    """The global batches that this process had a part in; each is whole when it is gathered."""
    got = []
    sharding = NamedSharding(mesh, PartitionSpec(dp))
    rows = NamedSharding(mesh, PartitionSpec(dp, tuple(axis for axis in mesh.axis_names if axis not in dp) or None))
    with numbers(8).loader(epochs=1, mesh=mesh, dp=dp) as loader:
        for batch in loader:
            got.append(batch["n"].tolist())
            whole = jax.make_array_from_process_local_data(sharding, batch["n"])
            assert sorted(process_allgather(whole, tiled=True).tolist()) == list(range(8 * len(got) - 8, 8 * len(got)))
            cut = jax.make_array_from_process_local_data(rows, batch["row"], (8, 8))
            assert cut.shape == (8, 8)
            assert (process_allgather(cut, tiled=True) == process_allgather(whole, tiled=True)[:, None]).all()
    return got


def refused(mesh: Mesh, **options: object) -> str:
    try:
        numbers(8).loader(mesh=mesh, **options)
    except hr.RecipeError as error:
        return str(error)
    return "nothing was raised"


shape = (processes, 2)
said = {
    "a dimension of processes": tried(Mesh(devices.reshape(shape), ("data", "model")), ("data",)),
    "one of all devices": tried(Mesh(devices, ("data",)), ("data",)),
    "two": tried(Mesh(devices.reshape(2, processes // 2, 2), ("replica", "data", "model")), ("replica", "data")),
    "a dimension within processes": tried(Mesh(devices.reshape(shape), ("model", "data")), ("data",)),
    "model over processes": tried(Mesh(devices.reshape(2, processes), ("data", "model")), ("data",)),
    "odd": refused(Mesh(np.roll(devices, 1).reshape(shape), ("data", "model")), dp="data"),
    "no such": refused(Mesh(devices.reshape(shape), ("data", "model"))),
    "cp": refused(Mesh(devices.reshape(shape), ("data", "model")), dp="data", cp="model"),
    "elsewhere": refused(Mesh(devices[:2], ("data",)), dp="data") if process else "",
    "abstract": refused(Mesh(devices, ("data",)).abstract_mesh, dp="data"),
}
sys.stdout.write(json.dumps(said) + "\n")

"""Rank and world size where not all processes are data-parallel: from a mesh of devices."""

from __future__ import annotations

import re
import sys
import warnings
from operator import index
from typing import NamedTuple

from .._report.tracebacks import outside
from ..errors import HeadraceWarning, RecipeError
from .arguments import names_of
from .functions import all_steps, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

LAYOUTS = ("zigzag", "contiguous")
_BY_HAND = "write rank= and world_size= of the data-parallel group"
_DATA = re.compile(r"(dp|ddp|fsdp|data)(_|$)")  # how dimensions are called that are data-parallel


class Place(NamedTuple):
    """Which data-parallel rank a process is."""

    rank: int
    world_size: int
    shared: bool  # other processes are the same rank, and get the same batches
    peers: list[int] | None  # by their ranks in torch.distributed, one process of each data-parallel rank, with this one; None: it has none


class Part(NamedTuple):
    """Which part of each row a process gets, with context parallelism."""

    rank: int
    size: int
    layout: str
    fields: list[str] | None  # None: those of which the batch step knows that they are sequences


def place_in(mesh: Any, dp: str | Sequence[str] | None, rank: Any, world_size: Any) -> Place:
    """The place of this process along the data-parallel dimensions of a mesh."""
    if mesh is None:
        raise RecipeError(f"headrace: dp={dp!r} names dimensions of a mesh: give mesh=, or rank= and world_size= instead")
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value is not None:
            raise RecipeError(f"headrace: {name}={value!r} beside mesh=, which says the rank and the world size: leave out one of them")
    names = _names(dp)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise RecipeError(f"headrace: dp names {twice!r} twice")
    if _is_torch(mesh):
        return _in_torch(mesh, names)
    if _is_jax(mesh):
        return _in_jax(mesh, names)
    raise RecipeError(
        f"headrace: mesh is {_shown(mesh)}: must be a DeviceMesh of torch.distributed or a Mesh of jax.sharding; for other ranks {_BY_HAND}"
    )


def peers_of(rank: int, world_size: int) -> list[int] | None:
    """All processes of `torch.distributed`, if they are the ranks of a loader."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    if (module.get_rank(), module.get_world_size()) != (rank, world_size):
        return None
    return list(range(world_size))


def say_who_agrees(error: RecipeError, rank: int, world_size: int) -> RecipeError:
    """The refusal of ranks that do not agree while they run, with the reason if `torch.distributed` is initialised."""
    distributed = sys.modules["torch.distributed"]
    if not distributed.is_available() or not distributed.is_initialized():
        return error
    here = f"rank {distributed.get_rank()} of {distributed.get_world_size()} in torch.distributed"
    why = f"  this process is {here}, and rank {rank} of {world_size} here: give mesh= and dp=, which say with whom it shares the samples"
    return type(error)(f"{error}\n{why}")


def part_of(mesh: Any, dp: str | Sequence[str] | None, cp: Any, layout: str | None, fields: Any) -> Part | None:
    """The part of each row that this process gets; None: whole rows."""
    for name, value in (("cp_layout", layout), ("cp_fields", fields)):
        if cp is None and value is not None:
            raise RecipeError(f"headrace: {name} without cp: give cp, the dimension of the mesh that shares rows, or leave out {name}")
    if cp is None:
        return None
    layout = LAYOUTS[0] if layout is None else layout
    if layout not in LAYOUTS:
        raise RecipeError(f"headrace: cp_layout is {layout!r}: must be {' or '.join(map(repr, LAYOUTS))}")
    chosen = None if fields is None else names_of("cp_fields", (fields,))
    if chosen is not None and not chosen:
        raise RecipeError("headrace: cp_fields names no field: leave it out, or leave out cp")
    rank, size = _along(mesh, dp, cp)
    return Part(rank, size, layout, chosen) if size > 1 else None


def refuse_other_orders(order: str, steps: Iterable[dict[str, Any]]) -> None:
    """Refuse what lets time decide which samples come together: processes that need the same batches would get different ones."""
    said = f"loader(order={order!r})" if order != "input" else None
    for step in all_steps(steps):
        name = operation(step)
        args = step[name] or {}
        if args.get("order") in ("completion", "arrival"):
            said = said or f"{name}(order={args['order']!r})"
        elif args.get("max_wait") is not None:
            said = said or f"{name}(max_wait=…)"
    if said is not None:
        raise RecipeError(
            f"headrace: {said}: several ranks need the same batches, and would get those that their own time decides: leave it out"
        )


def _names(dp: str | Sequence[str] | None) -> list[str]:
    if dp is None or isinstance(dp, str):
        return ["dp" if dp is None else dp]
    names: list[Any] = list(dp) if hasattr(dp, "__iter__") else [dp]
    if not all(isinstance(name, str) for name in names):
        raise RecipeError(f"headrace: dp is {dp!r}: must be the name of a dimension of the mesh, or several")
    return names


def _along(mesh: Any, dp: str | Sequence[str] | None, cp: Any) -> tuple[int, int]:
    """Rank and size of the processes that share rows."""
    if isinstance(cp, str):
        if mesh is None:
            raise RecipeError(
                f"headrace: cp={cp!r} names a dimension of a mesh: give mesh=, or cp=(rank, size) of the context-parallel group"
            )
        if _is_jax(mesh):
            raise RecipeError(
                f"headrace: cp={cp!r}: with JAX a sharding cuts rows: leave out cp, and give jax.make_array_from_process_local_data"
                f" a sharding with {cp!r} and the global_shape; or write cp=(rank, size)"
            )
        names = _names(dp)
        if cp in names:
            raise RecipeError(f"headrace: {cp!r} is both data-parallel and context-parallel: leave it out of dp, or leave out cp")
        dims = {name: _ranks(mesh, name, "dp") for name in names} | {cp: _ranks(mesh, cp, "cp")}
        _refuse_shared(dims)
        ranks = dims[cp]
        return ranks.index(_me()), len(ranks)
    if _is_torch(cp):  # a dimension that was taken out of a mesh
        _check(cp)
        if cp.ndim != 1:
            raise RecipeError(f"headrace: cp is a mesh with {_listed(cp)}: must be one dimension: write cp=mesh[name]")
        ranks = cp.mesh.tolist()
        return ranks.index(_me()), len(ranks)
    try:
        pair = [index(number) for number in cp]
    except TypeError:
        pair = []
    if len(pair) != 2:
        raise RecipeError(
            f"headrace: cp is {_shown(cp)}: must be the name of a dimension of the mesh, or (rank, size) of the context-parallel group"
        )
    rank, size = pair
    if not 0 <= rank < size:
        raise RecipeError(f"headrace: cp is ({rank}, {size}): must be (rank, size), with ranks from 0 below size")
    return rank, size


# PyTorch.


def _in_torch(mesh: Any, names: list[str]) -> Place:
    _check(mesh)
    me = _me()
    dims = {name: _ranks(mesh, name, "dp") for name in names}
    _refuse_shared(dims)
    _warn_of_left_out(mesh, names, dims, me)
    rank, world_size = 0, 1
    for ranks in dims.values():  # row by row: the first dimension changes slowest
        rank, world_size = rank * len(ranks) + ranks.index(me), world_size * len(ranks)
    shared = int(sys.modules["torch"].distributed.get_world_size()) > world_size
    return Place(rank, world_size, shared, _peers(mesh, dims, me))


def _peers(mesh: Any, dims: dict[str, list[int]], me: int) -> list[int]:
    """The processes that differ from this one only along these dimensions, of which some may have been flattened from several."""
    (here,) = (mesh.mesh == me).nonzero().tolist()
    along = {
        axis
        for ranks in dims.values()
        for rank in ranks
        for axis, (a, b) in enumerate(zip(here, (mesh.mesh == rank).nonzero().tolist()[0]))
        if a != b
    }
    at = tuple(slice(None) if axis in along else place for axis, place in enumerate(here))
    return sorted(mesh.mesh[at].flatten().tolist())


def _check(mesh: Any) -> None:
    """Refuse a mesh in which this process has no place."""
    distributed = sys.modules["torch"].distributed
    if not distributed.is_available() or not distributed.is_initialized():
        raise RecipeError(
            "headrace: mesh: torch.distributed is not initialised here, so this process has no rank in the mesh: call"
            " torch.distributed.init_process_group or init_device_mesh before .loader()"
        )
    if not mesh.mesh_dim_names:
        raise RecipeError(
            "headrace: mesh: its dimensions have no names: write init_device_mesh(…, mesh_dim_names=(…)), and dp= names those that are"
            " data-parallel"
        )
    try:
        ranks = mesh.mesh.flatten().tolist()
    except RuntimeError:  # PyTorch's way to say that the process is in none of several groups
        ranks = []
    if distributed.get_rank() not in ranks:
        where = f", which has {', '.join(map(str, ranks))}" if ranks else ""
        raise RecipeError(
            f"headrace: mesh: this process, rank {distributed.get_rank()} of torch.distributed, is not in the mesh{where}: make a loader"
            f" only on ranks of the mesh, or {_BY_HAND}"
        )
    world = distributed.get_world_size()
    if max(ranks) >= world:
        raise RecipeError(f"headrace: mesh: it has rank {max(ranks)}, and torch.distributed has {world} ranks: give the mesh of this run")


def _me() -> int:
    return int(sys.modules["torch"].distributed.get_rank())


def _ranks(mesh: Any, name: str, argument: str) -> list[int]:
    """The processes along a dimension that are in this one's place of all others."""
    names = mesh.mesh_dim_names
    if name in names:
        (here,) = (mesh.mesh == _me()).nonzero().tolist()
        at = [slice(None) if other == name else place for other, place in zip(names, here)]
        return list(mesh.mesh[tuple(at)].tolist())
    try:
        return list(mesh[name].mesh.flatten().tolist())  # of dimensions that were flattened into one
    except (AttributeError, KeyError, RuntimeError, TypeError):
        raise _no_dimension(argument, name, _listed(mesh), names) from None


def _listed(mesh: Any) -> str:
    """The dimensions of a mesh, with those that were flattened from it."""
    sizes = dict(zip(mesh.mesh_dim_names or (), mesh.mesh.shape))
    flattened = [name for name in getattr(mesh, "_flatten_mapping", ()) if name not in sizes]
    return ", ".join([f"{name!r} of {size}" for name, size in sizes.items()] + [f"{name!r}" for name in flattened])


def _refuse_shared(dims: dict[str, list[int]]) -> None:
    """Refuse dimensions of which one contains another: their product would count ranks twice."""
    pairs = [(a, b) for i, a in enumerate(dims) for b in list(dims)[:i]]
    for a, b in pairs:
        if len({*dims[a]} & {*dims[b]}) > 1:
            raise RecipeError(
                f"headrace: mesh: the dimensions {b!r} and {a!r} share ranks, because one was flattened from the other: name only those"
                " that are apart"
            )


def _warn_of_left_out(mesh: Any, names: list[str], dims: dict[str, list[int]], me: int) -> None:
    """Warn of dimensions that are called data-parallel, and along which all ranks would get the same batches."""
    named = {rank for ranks in dims.values() for rank in ranks} - {me}
    for name in mesh.mesh_dim_names if names else ():
        ranks = () if name in names or not _DATA.match(name) else _ranks(mesh, name, "dp")
        if len(ranks) > 1 and not named & {*ranks}:
            text = f"headrace: dp leaves out the dimension {name!r} of the mesh, so its {len(ranks)} ranks get the same batches"
            warnings.warn(f"{text}: write dp={(*names, name)!r} if they are data-parallel", HeadraceWarning, stacklevel=outside())


# JAX, in which a process may have several devices.


def _in_jax(mesh: Any, names: list[str]) -> Place:
    import itertools

    me = sys.modules["jax"].process_index()
    for name in names:
        if name not in mesh.axis_names:
            listed = ", ".join(f"{axis!r} of {size}" for axis, size in mesh.shape.items())
            raise _no_dimension("dp", name, listed, mesh.axis_names)
    if isinstance(mesh, sys.modules["jax"].sharding.AbstractMesh):
        raise RecipeError("headrace: mesh: an AbstractMesh has no devices: give the jax.sharding.Mesh that has them")
    devices = mesh.devices
    axes = [mesh.axis_names.index(name) for name in names]
    held: dict[int, set[tuple[int, ...]]] = {}  # the places along these axes, by process
    for at in itertools.product(*map(range, devices.shape)):
        held.setdefault(devices[at].process_index, set()).add(tuple(at[axis] for axis in axes))
    if me not in held:
        raise RecipeError(f"headrace: mesh: process {me} of JAX has no device in the mesh: make a loader only where it has, or {_BY_HAND}")
    groups = sorted({tuple(sorted(places)) for places in held.values()})
    apart = len({place for group in groups for place in group}) == sum(map(len, groups))
    if not apart or len({*map(len, groups)}) > 1:
        raise RecipeError(
            f"headrace: mesh: the processes of JAX do not share {', '.join(names)} evenly: each must have as many places along it, and two"
            f" processes the same ones or none in common: order the devices by process, or {_BY_HAND}"
        )
    return Place(groups.index(tuple(sorted(held[me]))), len(groups), len(held) > len(groups), None)


def _is_torch(mesh: Any) -> bool:
    module = sys.modules.get("torch.distributed.device_mesh")
    return module is not None and isinstance(mesh, module.DeviceMesh)


def _is_jax(mesh: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(mesh, (jax.sharding.Mesh, jax.sharding.AbstractMesh))


def _no_dimension(argument: str, name: str, listed: str, names: Sequence[str]) -> RecipeError:
    text = f"headrace: {argument}={name!r}: the mesh has no such dimension; it has {listed}"
    if argument == "cp":
        return RecipeError(f"{text}: write cp= with one of them, or leave it out")
    data = [other for other in names if _DATA.match(other)]
    write = f"write dp={(data[0] if len(data) == 1 else tuple(data))!r}" if data else "write dp= with those that are data-parallel"
    return RecipeError(f"{text}: {write}, or dp=() if none is")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else type(value).__name__

"""Notices jobs in which WORLD_SIZE counts ranks that are not data-parallel, and are to get the same batches."""

from __future__ import annotations

import os
import re
import sys
import warnings

from .._report.tracebacks import outside
from ..errors import HeadraceWarning, RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .mesh import Part

# What `accelerate launch` sets. torchrun, DeepSpeed's launcher, torchtitan and Megatron
# set no variable that tells; what they make does.
_VARIABLES = (
    ("PARALLELISM_CONFIG_TP_SIZE", "ACCELERATE_USE_PARALLELISM_CONFIG"),
    ("PARALLELISM_CONFIG_CP_SIZE", "ACCELERATE_USE_PARALLELISM_CONFIG"),
    ("PARALLELISM_CONFIG_SP_SIZE", "ACCELERATE_USE_PARALLELISM_CONFIG"),
    ("MEGATRON_LM_TP_DEGREE", "ACCELERATE_USE_MEGATRON_LM"),
    ("MEGATRON_LM_PP_DEGREE", "ACCELERATE_USE_MEGATRON_LM"),
)
# How the groups of a DeviceMesh are called (torchtitan, NeMo AutoModel, Accelerate,
# Lightning, DeepSpeed), and those of Megatron's parallel_state (Megatron-LM, NeMo).
_KINDS = {"tp": "tensor", "pp": "pipeline", "pipe": "pipeline", "cp": "context", "sp": "sequence", "mp": "model"}
_OF_MESH = re.compile(r"mesh_(?:(tp|pp|pipe|cp|sp|mp)|(tensor|pipeline|context|sequence|model)(?:_model)?(?:_parallel)?)", re.IGNORECASE)
_OF_MEGATRON = re.compile(r"(TENSOR|PIPELINE)_MODEL_PARALLEL_GROUP|(CONTEXT)_PARALLEL_GROUP")
_DEEPSPEED = (
    ("deepspeed.runtime.sequence_parallel.parallel_state_sp", "_SEQUENCE_PARALLEL_GROUP", "sequence"),
    ("deepspeed.utils.groups", "_TENSOR_MODEL_PARALLEL_GROUP", "tensor"),
)

_warned = False


def warn_of_other_ranks(world_size: int, part: Part | None = None, said: str = "WORLD_SIZE is") -> None:
    """Warn once if a world size that the program did not give counts more than data-parallel ranks; `said` is who did.

    Raises:
        RecipeError: if ranks are to share rows, of which `part` is this one's.
    """
    global _warned
    if part is not None:
        raise RecipeError(
            f"headrace: cp=({part.rank}, {part.size}) without rank= and world_size=: {said} {world_size}, which counts the ranks that"
            " share rows, too: give those of the data-parallel group"
        )
    if _warned:
        return
    found = next((text for signs in (_variables, _groups, _deepspeed) for text in signs()), None)
    if found is None:
        return
    _warned = True
    text = (
        f"headrace: {said} {world_size}, but not all of these ranks are data-parallel: {found}. Ranks of such a group need the same"
        ' batches, and would get different ones: write .loader(mesh=device_mesh, dp="dp"), or rank= and world_size= of the data-parallel'
        " group. If each rank is to have samples of its own, give rank= and world_size= of all"
    )
    warnings.warn(text, HeadraceWarning, stacklevel=outside())


def _variables() -> Iterator[str]:
    for variable, used in _VARIABLES:
        value = os.environ.get(variable, "")
        if os.environ.get(used, "").lower() in ("true", "1") and value.isdigit() and int(value) > 1:
            yield f"{variable} is {value}"


def _groups() -> Iterator[str]:
    """Process groups whose descriptions tell what they are for. None is of a mesh with one dimension, which is the default group."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if module is None or not module.is_initialized():
        return
    try:
        groups = [(str(group.group_desc), group.size()) for group in list(module._world.pg_map)]
    except Exception:  # PyTorch keeps these names private
        return
    for description, size in groups:
        kind = _kind(description)
        if kind is not None and size > 1:
            yield f"torch.distributed has a {kind}-parallel group of {size} ({description})"


def _kind(description: str) -> str | None:
    """What a group is for, if it is not data."""
    if found := _OF_MESH.fullmatch(description):
        return _KINDS[found[1].lower()] if found[1] else found[2].lower()
    if found := _OF_MEGATRON.fullmatch(description):
        return (found[1] or found[2]).lower()
    return None


def _deepspeed() -> Iterator[str]:
    """Groups that DeepSpeed makes without a mesh, which have no description."""
    for name, attribute, kind in _DEEPSPEED:
        group = getattr(sys.modules.get(name), attribute, None)
        if group is not None and group.size() > 1:
            yield f"DeepSpeed has a {kind}-parallel group of {group.size()}"

"""Rank and world size of `torch.distributed`, where a program has told it and not the environment."""

from __future__ import annotations

import os
import sys


def of_group() -> tuple[int, int] | None:
    """Rank and world size of a group that was initialised by arguments, as with `torch.multiprocessing.spawn`.

    None: there is no group, or RANK and WORLD_SIZE say it all, or one of them says something else.
    """
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    group = module.get_rank(), module.get_world_size()
    said = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if None not in said or any(text not in (None, str(number)) for text, number in zip(said, group)):
        return None
    return group


def on_this_machine(world_size: int) -> int | None:
    """How many ranks of a group are processes of this machine, if that is known without asking: all, where they met at its own address."""
    if "LOCAL_WORLD_SIZE" not in os.environ and os.environ.get("MASTER_ADDR") in ("localhost", "127.0.0.1", "::1"):
        return world_size
    return None

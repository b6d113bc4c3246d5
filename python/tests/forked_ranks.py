"""Forks a process for each rank of a test's program, which prints what fails in one."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable


def forked(world: int, of_rank: Callable[[int], object]) -> list[int]:
    """Call a function in a process for each rank, and return how these ended: 0 if the function has returned."""
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                of_rank(rank)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

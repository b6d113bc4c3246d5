"""The command `headrace`: the engine's program, in place of this one."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Become the program."""
    from ..errors import EngineNotFound
    from .program import find_program

    try:
        program = find_program()
        os.environ.setdefault("HEADRACE_PYTHON", sys.executable)  # whose packages a recipe's functions, and explain, need
        os.execv(program, ["headrace", *sys.argv[1:]])
    except (EngineNotFound, OSError) as error:
        sys.exit(str(error))

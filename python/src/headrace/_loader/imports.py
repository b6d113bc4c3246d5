"""Warns where importing modules in workers took more than all calls there were, and the program has these modules already."""

from __future__ import annotations

import sys
import warnings

from .._recipe.functions import Function, has_functions, operation
from .._report.tracebacks import outside
from ..errors import HeadraceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LEAST = 1_000_000_000  # nanoseconds of CPU that are worth a word
_NAMED = 4  # packages that the warning lists

_warned = False  # once in a program


def movable(chain: Sequence[dict[str, Any]]) -> list[str]:
    """The steps that would be done with where="here", if all functions can be and nobody has said where they are called; else none."""
    steps = []
    for step in chain:
        op = operation(step)
        args = step[op] or {}
        if not has_functions([step]):
            continue
        function = args.get("function")
        if not isinstance(function, Function) or function.placed or args.get("seed") or step.get("failures"):
            return []
        steps.append(op)
    return steps


def warn_if_costly(functions: Sequence[dict[str, Any]], steps: Sequence[str]) -> None:
    """Give the warning if statistics of functions ask for it."""
    global _warned
    imports = sum(function.get("import_cpu_ns", 0) for function in functions)
    calls = sum(function["time_ns"] for function in functions)
    if _warned or imports < max(_LEAST, calls):
        return
    _warned = True
    names = {name.partition(".")[0] for function in functions for name in function.get("imported", ())}
    modules = sorted(names - sys.stdlib_module_names) or sorted(names)
    more = f" and {len(modules) - _NAMED} more" if len(modules) > _NAMED else ""
    where = " and ".join(f'{op}(…, where="here")' for op in dict.fromkeys(steps))
    took = f"{imports / 1e9:.1f} s of CPU, all calls {calls / 1e9:.1f} s"
    text = f"headrace: importing {', '.join(modules[:_NAMED])}{more} for workers took {took}"
    warnings.warn(
        f"{text}. Your program has these modules already: {where} calls the functions there", HeadraceWarning, stacklevel=outside()
    )

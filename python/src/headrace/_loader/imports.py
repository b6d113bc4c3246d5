"""Warns where importing modules in workers took more than all calls there were, and the program has these modules already."""

from __future__ import annotations

import sys
import warnings

from .._recipe.functions import Function, all_steps, operation
from .._report.tracebacks import outside
from ..errors import HeadraceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_LEAST = 1_000_000_000  # nanoseconds of CPU that are worth a word
_NAMED = 4  # packages that the warning lists

_warned = False  # once in a program


def movable(chain: Sequence[dict[str, Any]]) -> list[str]:
    """The steps that would be done with where="here", if all functions can be and nobody has said where they are called; else none."""
    steps = list(_placed(chain))
    return list(dict.fromkeys(op for op, _ in steps)) if all(free for _, free in steps) else []


def _placed(chain: Sequence[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Steps that call functions, and whether where="here" is their user's choice."""
    for step in all_steps(chain):
        op = operation(step)
        given = step[op] or {}
        args = given.get("collate") or given
        function = args.get("function")
        if isinstance(function, Function):
            yield op, not (function.placed or args.get("seed") or step.get("failures"))


def warn_if_costly(functions: Sequence[dict[str, Any]], steps: Sequence[str]) -> None:
    """Give the warning if statistics of functions ask for it."""
    global _warned
    imports, calls = _costs(functions)
    if _warned or imports < max(_LEAST, calls):
        return
    _warned = True
    where = " and ".join(f'{op}(…, where="here")' for op in steps)
    text = f"headrace: importing {_imported(functions)} for workers took {imports / 1e9:.1f} s of CPU, all calls {calls / 1e9:.1f} s"
    warnings.warn(
        f"{text}. Your program has these modules already: {where} calls the functions there", HeadraceWarning, stacklevel=outside()
    )


def explained(functions: Sequence[dict[str, Any]], steps: Sequence[str]) -> str:
    """Tell where functions are called and what that has cost until now; "" if there are none."""
    workers = [function for function in functions if not function.get("here")]
    here = [function for function in functions if function.get("here")]
    said = []
    if workers:
        processes = len({pid for function in workers for pid in function["pids"]})
        text = f"{_called(workers)} in {processes or ''} worker process{'es' * (processes != 1)}".replace("  ", " ")
        text += ", by default" * bool(steps)
        imports, calls = _costs(workers)
        if imports:
            text += f": importing {_imported(workers)} there took {imports / 1e9:.1f} s of CPU, the calls {calls / 1e9:.1f} s until now"
        said.append(text)
        if steps and imports:
            said.append('With where="here" your program makes the calls, without this import')
    if here:
        said.append(f"{_called(here)} by your program")
    return "".join(f"{text}. " for text in said).rstrip()


def _called(functions: Sequence[dict[str, Any]]) -> str:
    stages = [function["stage"] for function in functions]
    return f"{' and '.join(stages)} {'are' if len(stages) > 1 else 'is'} called"


def _costs(functions: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """The CPU time of imports, and the time of all calls."""
    return sum(function.get("import_cpu_ns", 0) for function in functions), sum(function["time_ns"] for function in functions)


def _imported(functions: Sequence[dict[str, Any]]) -> str:
    """The packages that were imported."""
    names = {name.partition(".")[0] for function in functions for name in function.get("imported", ())} - {"cloudpickle", "headrace"}
    packages = sorted(names - sys.stdlib_module_names) or sorted(names) or ["modules"]
    return ", ".join(packages[:_NAMED]) + (f" and {len(packages) - _NAMED} more" if len(packages) > _NAMED else "")

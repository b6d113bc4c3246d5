"""Sets of workers for steps to share."""

from __future__ import annotations

import os

from ..errors import RecipeError
from .arguments import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST = 256


class Workers:
    """Worker processes for steps, with your threads, environment and initializer.

        models = hr.Workers(processes=2, threads=4, initializer=load_tables, env={"OMP_NUM_THREADS": "4"})
        pipeline.map(tokenize, where=models).batch(32).map(embed, where=models)

    Steps with the same object as `where=` share its processes, even across loaders; an equal object has its own. A step's `workers=` limits
    its calls at once, which never exceed the threads in all. Processes start with the first loader that needs them, and end with the last.

    Args:
        processes: how many; None, the default: one per core of the loader that starts them.
        threads: per process, for functions that release the GIL. With more than one, arrays are copies.
        initializer: called once in each process before your other code, without arguments; `functools.partial` binds some. An exception
            ends the run.
        env: environment variables, added to this process's.

    Raises:
        RecipeError: if a number is invalid, or the initializer needs arguments.
    """

    __slots__ = ("_name", "env", "initializer", "processes", "threads")

    def __init__(
        self,
        processes: int | None = None,
        threads: int = 1,
        *,
        initializer: Callable[[], object] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.processes = None if processes is None else _number("processes", processes)
        self.threads = _number("threads", threads)
        self._name = os.urandom(8).hex()  # by which the engine knows it
        self.initializer = initializer
        if initializer is not None:
            _check_initializer(initializer)
        self.env = dict(env or {})
        for name, value in self.env.items():
            if not (isinstance(name, str) and name and isinstance(value, str)) or "=" in name or "\0" in name + value:
                raise RecipeError(f"headrace: Workers: env has {name!r}: {value!r}: must be names and values of text")

    def __repr__(self) -> str:
        said: list[str] = [] if self.processes is None else [f"processes={self.processes}"]
        if self.threads > 1:
            said.append(f"threads={self.threads}")
        return f"Workers({', '.join(said)})"


Workers.__module__ = "headrace"


def _number(name: str, value: Any) -> int:
    number = integer(name, value)
    if not 1 <= number <= _MOST:
        raise RecipeError(f"headrace: Workers: {name} is {number}: must be from 1 to {_MOST}")
    return number


def _check_initializer(initializer: Any) -> None:
    import inspect

    if not callable(initializer):
        raise RecipeError(f"headrace: Workers: initializer is {initializer!r}: must be a function without arguments")
    if inspect.iscoroutinefunction(initializer):
        raise RecipeError("headrace: Workers: initializer is async: give a function that returns when it is done")
    try:
        inspect.signature(initializer).bind()
    except TypeError as error:
        raise RecipeError(f"headrace: Workers: initializer: {error}: it is called without arguments") from None
    except ValueError:
        pass  # of C, and says nothing

"""Sets of workers that steps share, or have to themselves."""

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
    """Processes for steps, with the threads, the environment and the beginning that you say.

        models = hr.Workers(processes=2, threads=4, initializer=load_tables, env={"OMP_NUM_THREADS": "4"})
        pipeline.map(tokenize, where=models).batch(32).map(embed, where=models)

    Steps with the same object as `where=` share its processes, also those of several loaders; steps with another object have others, even
    if it says the same. A step's `workers=` is how many of its calls may run at once, at most as many as there are threads in all. The
    processes start with the first loader that needs them, and end with the last one that is closed.

    Args:
        processes: how many; None, the default: as many as there are cores for the loader that starts them.
        threads: of each process, for functions that let go of the GIL. Arrays are copies with more than one.
        initializer: called without arguments once in each process, before anything else of yours; `functools.partial` gives it some.
            What it raises ends the run.
        env: variables of the environment, besides those of this process.

    Raises:
        RecipeError: if a number makes no sense, or the initializer cannot be called so.
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
                raise RecipeError(f"headrace: Workers: env has {name!r}: {value!r}: takes names and values of text")

    def __repr__(self) -> str:
        said: list[str] = [] if self.processes is None else [f"processes={self.processes}"]
        if self.threads > 1:
            said.append(f"threads={self.threads}")
        return f"Workers({', '.join(said)})"


Workers.__module__ = "headrace"


def _number(name: str, value: Any) -> int:
    number = integer(name, value)
    if not 1 <= number <= _MOST:
        raise RecipeError(f"headrace: Workers: {name} is {number}: takes 1 to {_MOST}")
    return number


def _check_initializer(initializer: Any) -> None:
    import inspect

    if not callable(initializer):
        raise RecipeError(f"headrace: Workers: initializer is {initializer!r}: takes a function without arguments")
    if inspect.iscoroutinefunction(initializer):
        raise RecipeError("headrace: Workers: initializer is async: takes a function that returns when it is done")
    try:
        inspect.signature(initializer).bind()
    except TypeError as error:
        raise RecipeError(f"headrace: Workers: initializer: {error}: it is called without arguments") from None
    except ValueError:
        pass  # of C, and says nothing

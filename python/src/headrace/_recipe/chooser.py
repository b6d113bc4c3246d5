"""What says which pipeline of a mix is next."""

from __future__ import annotations

import functools
import inspect

from ..errors import RecipeError
from .functions import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def chooser_of(choose: Any) -> Function | None:
    """A function or class that says which pipeline is next, as in a step."""
    if choose is None:
        return None
    if not callable(choose):
        raise RecipeError(f"headrace: mix: choose is {choose!r}: must be a function, or a class whose objects can be called: (turn, given)")
    called = choose
    if isinstance(choose, type):
        called = next((vars(one)["__call__"] for one in choose.__mro__ if "__call__" in vars(one)), None)
        if called is None:
            raise RecipeError(f"headrace: mix: choose is the class {choose.__qualname__}, which has no method __call__(turn, given)")
    elif not inspect.isroutine(choose) and not isinstance(choose, functools.partial):
        called = choose.__call__
    if inspect.iscoroutinefunction(called):
        raise RecipeError(f"headrace: mix: choose is {Function(choose)!r}, which is async: must return the source that is next")
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return Function(choose)  # of C, and says nothing
    try:
        signature.bind(*[None] * (3 if isinstance(choose, type) else 2))
    except TypeError as e:
        raise RecipeError(f"headrace: mix: choose is {Function(choose)!r}: {e}: it is given (turn, given)") from None
    return Function(choose)

"""Routes by a function: its result is a field, which the branches drop."""

from __future__ import annotations

from .functions import BARE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELD = "route.by"


class Chooser:
    """Calls a function that chooses a sample's branch."""

    def __init__(self, function: Any, whole: bool, text: bool) -> None:
        self._function, self._whole, self._text = function, whole, text
        self.__module__ = getattr(function, "__module__", None) or "builtins"
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        self.__signature__ = _signature(function)

    def __call__(self, *values: Any, **given: Any) -> Any:
        answer = self._function(*values, **given)
        if self._text:
            if not isinstance(answer, str):
                raise TypeError(f"{self.__qualname__} returned {answer!r}: the branches of its route match text")
        else:
            try:
                answer = int(answer.__index__())
            except AttributeError:
                raise TypeError(f"{self.__qualname__} returned {answer!r}: the branches of its route match whole numbers") from None
        if not self._whole:
            return answer
        (sample,) = values
        return {**(sample if hasattr(sample, "keys") else {BARE: sample}), FIELD: answer}


def _signature(function: Any) -> Any:
    """Its signature, if known."""
    import inspect

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def numbered(branches: list[Any]) -> list[Any]:
    """Branches with what they match: if all are functions alone, their numbers; bools become numbers."""
    if len(branches) > 1 and all(callable(branch) for branch in branches):
        return list(enumerate(branches))
    return [(int(b[0]), b[1]) if isinstance(b, tuple) and len(b) == 2 and isinstance(b[0], bool) else b for b in branches]

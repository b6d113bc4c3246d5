"""Says what the opening of a loader waits for, where that takes long: a first sample that does not come, of an empty queue."""

from __future__ import annotations

import warnings

from .._report.tracebacks import outside
from ..errors import HeadraceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HERE, _ELSEWHERE = 5.0, 30.0  # seconds; workers import modules first
_CALLS = ("map", "flat_map", "aggregate", "collate")  # that have types of their own


class Unheard:
    """The sources of a recipe whose first sample tells types: their own, or what a function makes of it."""

    def __init__(self, recipe: dict[str, Any]) -> None:
        steps = list(_steps(recipe.get("steps")))
        sources = [given for op, given in steps if op == "source" and isinstance(given.get("function"), str)]
        untyped = [given for given in sources if not given.get("gives")]
        self._says, self._asks = "the types", 'hr.source(…, gives={"n": int})'
        functions = [(op, given) for op, given in steps if op in _CALLS and not given.get("gives")]
        if not untyped and functions:
            untyped = [given for given in sources if given.get("length") is None]
            op, given = functions[0]
            self._says, self._asks = f"what {_name(given)} returns", f'{op}(…, gives={{"n": int}})'
        self._names = list(map(_name, untyped))
        here = any(given.get("where") == "here" for given in untyped)
        self.seconds = (_HERE if here else _ELSEWHERE) if untyped else None

    def look(self, waited: float) -> float | None:
        """Warn if it is time, once; the seconds until it will be, or None."""
        if self.seconds is None or waited < self.seconds:
            return None if self.seconds is None else self.seconds - waited
        self.tell()
        return None

    def tell(self) -> None:
        seconds, self.seconds = self.seconds, None
        warnings.warn(
            f"headrace: loader() has waited {seconds:g} seconds for the first sample of {', '.join(self._names)}, from which it learns"
            f" {self._says}; it goes on to wait. Say it, and it does not: {self._asks}",
            HeadraceWarning,
            stacklevel=outside(),
        )


def _name(given: dict[str, Any]) -> str:
    return str(given.get("function")).removeprefix("__main__:")


def _steps(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """All steps with their arguments, those of branches too."""
    if isinstance(part, list):
        for one in part:
            yield from _steps(one)
    elif isinstance(part, dict):
        for name, one in part.items():
            if isinstance(one, dict):
                yield name, one
            yield from _steps(one)

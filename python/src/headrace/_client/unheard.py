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


class Unheard:
    """The sources of a recipe whose types are learnt from a sample."""

    def __init__(self, recipe: dict[str, Any]) -> None:
        untyped = list(_untyped(recipe.get("steps")))
        self._names = [source["function"].removeprefix("__main__:") for source in untyped]
        here = any(source.get("where") == "here" for source in untyped)
        self.seconds = (_HERE if here else _ELSEWHERE) if untyped else None

    def tell(self) -> None:
        """Warn, once."""
        seconds, self.seconds = self.seconds, None
        warnings.warn(
            f"headrace: loader() has waited {seconds:g} seconds for the first sample of {', '.join(self._names)}, from which it learns"
            ' the types; it goes on to wait. Say them, and it does not: hr.source(…, gives={"n": int})',
            HeadraceWarning,
            stacklevel=outside(),
        )


def _untyped(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for one in part:
            yield from _untyped(one)
    elif isinstance(part, dict):
        for name, one in part.items():
            if name == "source" and isinstance(one, dict) and isinstance(one.get("function"), str) and not one.get("gives"):
                yield one
            yield from _untyped(one)

"""A step of a pipeline, which knows the line of the program that added it, so that mistakes found later can show it."""

from __future__ import annotations

from .._report.tracebacks import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..errors import RecipeError


class Step(dict):  # type: ignore[type-arg]
    """An operation with its arguments, as a recipe has it.

    Attributes:
        line: the file and the line that called the method.
    """

    __slots__ = ("line",)

    def __init__(self, *args: Any, line: tuple[str, int] | None = None) -> None:
        super().__init__(*args)
        self.line = line or caller()


def located(error: RecipeError, steps: Iterable[dict[str, Any]]) -> RecipeError:
    """The error with the user's line below each mistake in a step."""
    import linecache
    import re

    lines = [getattr(step, "line", None) for step in steps]
    told = []
    for mistake in str(error).split("\n"):
        told.append(mistake)
        number = re.search(r"\(#(\d+)\)", mistake)  # as the engine counts steps
        line = lines[int(number[1]) - 1] if number and 0 < int(number[1]) <= len(lines) else None
        if line is not None:
            told.append(f"    {line[0]}:{line[1]}: {linecache.getline(*line).strip()}".rstrip(": "))
    return type(error)("\n".join(told))

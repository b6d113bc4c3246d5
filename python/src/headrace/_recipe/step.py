"""A step of a pipeline and the line of your program that added it, for errors found later."""

from __future__ import annotations

from .._report.tracebacks import caller, code_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._report.tracebacks import Line
    from ..errors import RecipeError


class Step(dict):  # type: ignore[type-arg]
    """An operation with its arguments, as in a recipe.

    Attributes:
        line: where the program called the method.
    """

    __slots__ = ("line",)

    def __init__(self, *args: Any, line: Line | None = None) -> None:
        super().__init__(*args)
        self.line = line or caller()


def located(error: RecipeError, steps: Iterable[dict[str, Any]]) -> RecipeError:
    """The error with your line below each mistake in a step."""
    import re

    steps = list(steps)
    told = []
    for mistake in str(error).split("\n"):
        told.append(mistake)
        number = re.search(r"\(#(\d+)\)", mistake)  # as the engine counts steps
        step = steps[int(number[1]) - 1] if number and 0 < int(number[1]) <= len(steps) else {}
        line = getattr(step, "line", None)
        if line is not None:
            told.append(code_frame(line, next(iter(step))))
    return type(error)("\n".join(told))

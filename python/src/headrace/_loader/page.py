"""The live page of a loader: its address, and the line that names it."""

from __future__ import annotations

from .._recipe.defaults import port_of
from .._report.notices import say as say_line
from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .run import Run


def say(address: str) -> None:
    """Print the address of a page that a loader was opened with."""
    say_line("page", f"the page of this loader: {address}")


def address(run: Run, port: int | None) -> str:
    """Open the page, if it is not open."""
    number = 0 if port is None else port_of("page: port", port)
    with run.lock:
        answer = run.ask("cannot open the page", lambda session: session.page(number))
        if "error" in answer:
            raise RecipeError(f"headrace: {answer['error']}")
        run.request.page = number  # an engine that is started again has one, too
        return str(answer["address"])

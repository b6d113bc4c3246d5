"""What the program tells of itself in traces: spans, and numbers."""

from __future__ import annotations

import threading
from time import monotonic_ns, time_ns

from .._client.session import observers
from .._recipe.arguments import is_number
from ..errors import WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class span:
    """Show a part of the program in the traces of its loaders: `with hr.span("forward"):`.

    It has a line for each thread, below those of the loader; spans within each other are shown so. While no trace is written it costs next
    to nothing, so it may stay in the program. `Loader.trace` begins a trace; what a span took is in it when it ends before the trace.

    Args:
        name: what it is called.
    """

    __slots__ = ("_began", "_clock", "_name")

    def __init__(self, name: str) -> None:
        self._name = _name("span", name)
        self._began = 0

    def __enter__(self) -> span:
        if observers:
            self._clock = monotonic_ns()
            self._began = time_ns()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if observers and self._began:
            _tell({"name": self._name, "begin": self._began, "took": monotonic_ns() - self._clock})
        self._began = 0


def counter(name: str, value: float) -> None:
    """Show a number of the program in the traces of its loaders, as it is from now on: `hr.counter("loss", float(loss))`.

    While no trace is written it does nothing.

    Args:
        name: what it is called; each name has a line.
        value: the number. What is not finite is left out.
    """
    _name("counter", name)
    if not observers:
        return
    if not is_number(value):
        raise WrongType(f"headrace: counter: {name!r} is {value!r}: takes a number")
    number = float(value)
    if number - number == 0:
        _tell({"name": name, "begin": time_ns(), "took": 0, "value": number})


def _name(what: str, name: Any) -> str:
    if not isinstance(name, str):
        raise WrongType(f"headrace: {what}: {name!r} is no name: takes text")
    return name


def _tell(event: dict[str, Any]) -> None:
    event["thread"] = threading.current_thread().name
    for session in list(observers):
        session.events.append(event)


span.__module__ = counter.__module__ = "headrace"

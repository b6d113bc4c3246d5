"""Your program's own spans and numbers in traces."""

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
    """Show a part of your program in traces of its loaders: `with hr.span("forward"):`.

    Each thread has a line below the loader's, where spans nest. A span is in the trace if it ends before the trace does; see
    `Loader.trace`. Without a trace it costs next to nothing.

    Args:
        name: its name.
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
    """Show a number of your program in traces of its loaders: `hr.counter("loss", float(loss))`.

    Without a trace it does nothing.

    Args:
        name: its name; each has a line.
        value: the number from now on. Infinities and NaN are left out.
    """
    _name("counter", name)
    if not observers:
        return
    if not is_number(value):
        raise WrongType(f"headrace: counter: {name!r} is {value!r}: must be a number")
    number = float(value)
    if number - number == 0:
        _tell({"name": name, "begin": time_ns(), "took": 0, "value": number})


def _name(what: str, name: Any) -> str:
    if not isinstance(name, str):
        raise WrongType(f"headrace: {what}: {name!r} is not a name: names are text")
    return name


def _tell(event: dict[str, Any]) -> None:
    event["thread"] = threading.current_thread().name
    for session in list(observers):
        session.events.append(event)


span.__module__ = counter.__module__ = "headrace"

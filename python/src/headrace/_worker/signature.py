"""What a function says of how it is called."""

from __future__ import annotations

from .errors import code_of_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COROUTINE = 0x80  # of a code's co_flags


def parameters(function: Any) -> list[str]:
    """The names of a function's parameters."""
    signature = signature_of(function)
    return list(signature.parameters) if signature else []


def signature_of(function: Any) -> Any:
    """The signature of a function; None: it is written in C, and says nothing."""
    import inspect

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def code_flags(function: Any) -> int:
    """The co_flags of a function's code; 0: it is written in C."""
    while hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        function = function.func
    code = _code(function)
    return code.co_flags if code is not None else 0


def _code(function: Any) -> Any:
    """The code of a function, of a method, or of an object that can be called."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = code_of_call(function)
    return code

"""An error as plain JSON, for logs and programs."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import HeadraceError

# The attributes that are facts, beside `type`, `builtin`, `message` and `cause`. cmd/headrace/error.go has the same names and their schema.
FACTS = (
    "stage",
    "step",
    "source",
    "key",
    "index",
    "output",
    "epoch",
    "position",
    "remote_type",
    "remote_message",
    "remote_traceback",
    "status",
    "out_of_memory",
    "last_words",
    "in_flight",
    "errno",
    "filename",
)


def facts_of(error: HeadraceError, told_as_remote: type[BaseException]) -> dict[str, Any]:
    """Implements `HeadraceError.as_dict`. What is not known, or empty, is left out, and so is a cause that `remote_traceback` has."""
    plain = (object, BaseException, Exception)
    builtin = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind not in plain]
    told: dict[str, Any] = {"type": type(error).__name__, "builtin": builtin, "message": str(error)}
    for name in FACTS:
        value = _plain(name, getattr(error, name, None))
        if value not in (None, "", []):
            told[name] = value
    cause = error.__cause__
    if cause is not None and not isinstance(cause, told_as_remote):
        told["cause"] = {"type": _name(type(cause)), "message": str(cause)}
    return told


def _plain(name: str, value: Any) -> Any:
    if name == "in_flight" and value:
        return [{"key": one.key, "index": one.index, "epoch": one.epoch, "position": one.position} for one in value]
    if name == "filename" and value is not None:
        return os.fsdecode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value)
    return value


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

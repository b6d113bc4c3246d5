"""A dict, list, or other object with `__getitem__`, instead of a function."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Lookup:
    """Looks a value up in a table."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __call__(self, value: Any) -> Any:
        return self.table[value.item() if getattr(value, "shape", None) == () else value]

    def __repr__(self) -> str:
        return f"a {type(self.table).__name__}"


def as_function(function: Any, fields: Any) -> Any:
    """What to call; tables become functions of one field."""
    if callable(function) or isinstance(function, (str, bytes)) or not hasattr(type(function), "__getitem__"):
        return function
    if fields is None or (isinstance(fields, (list, tuple)) and len(fields) != 1):
        raise RecipeError(
            f"headrace: map: a {type(function).__name__} is looked into with the value of one field: name it, as in"
            ' .map(table, fields="label", to="name")'
        )
    return Lookup(function)

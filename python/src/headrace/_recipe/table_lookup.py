"""A dict, list, or other object with `__getitem__`, instead of a function."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = (dict, list, tuple, range)  # whose errors do not say what was looked for, and where
_MOST = 5  # keys in an error


class MissingKey(KeyError):
    """A KeyError that is shown as a sentence: KeyError itself would quote it."""

    __str__ = Exception.__str__


class Lookup:
    """Looks a value up in a table."""

    def __init__(self, table: Any, whole: bool) -> None:
        """`whole`: it gets the whole sample, which must be a value without fields."""
        self.table = table
        self._whole = whole

    def __call__(self, value: Any) -> Any:
        if self._whole and isinstance(value, dict):
            raise TypeError(f"{self!r} is looked into with one value, and this sample has the fields {', '.join(value)}: {_NAME_IT}")
        key = value.item() if getattr(value, "shape", None) == () else value
        if not isinstance(self.table, _PLAIN):
            return self.table[key]
        try:
            return self.table[key]
        except KeyError as error:
            raise MissingKey(f"{self!r} has no key {_short(key)}: {self._holds()}") from error
        except IndexError as error:
            raise IndexError(f"{self!r} has no item {_short(key)}: {self._holds()}") from error
        except TypeError as error:
            raise TypeError(f"{self!r} cannot be looked into with {_short(key)}, of the type {type(key).__name__}: {error}") from error

    def _holds(self) -> str:
        if not isinstance(self.table, dict):
            return f"it has {len(self.table)}, counted from 0"
        if not self.table:
            return "it is empty"
        keys = [_short(key) for key, _ in zip(self.table, range(_MOST))]
        return f"its keys are {', '.join(keys)}" + (f", … {len(self.table)} in all" if len(self.table) > _MOST else "")

    def __repr__(self) -> str:
        return f"a {type(self.table).__name__}"


_NAME_IT = 'name one, as in .map(table, fields="label", to="name")'


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 60 else text[:59] + "…"


def as_function(function: Any, fields: Any) -> Any:
    """What to call; tables become functions of one field, or of a sample that is one value."""
    if callable(function) or isinstance(function, (str, bytes)) or not hasattr(type(function), "__getitem__"):
        return function
    if isinstance(fields, (list, tuple)) and len(fields) != 1:
        raise RecipeError(f"headrace: map: a {type(function).__name__} is looked into with the value of one field: {_NAME_IT}")
    return Lookup(function, fields is None)

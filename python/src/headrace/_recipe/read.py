"""The arguments of `headrace.read`."""

from __future__ import annotations

import math
import os

from ..errors import RecipeError
from .arguments import path_text
from .function_arguments import types
from .table_columns import is_table, table_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STRICT = "strict"  # a word of Python's own
IS_NULL = "is_null"


def read_arguments(
    source: Any, fields: Any, format: Any, errors: Any = STRICT, rows: Any = None, lookup: Any = None, **window: Any
) -> dict[str, Any]:
    """The arguments of the step read, without root."""
    several = not isinstance(source, (str, bytes, os.PathLike)) and hasattr(source, "__iter__")
    given: dict[str, Any] = {"from": [path_text(one) for one in source] if several else path_text(source)}
    if fields is not None:
        given["fields"] = fields_from("read", fields)
    if rows is not None:
        if not isinstance(rows, str) or not rows.strip():
            raise RecipeError(
                f'headrace: read: rows is {rows!r}: must be an expression about columns in text, such as "age > 3", or None for all rows'
            )
        given["rows"] = rows
    given |= window_arguments(**window)
    if lookup is not None:
        given["lookup"] = lookup_argument(lookup)
    if format is not None:
        if not isinstance(format, str):
            raise RecipeError(f"headrace: read: format is {format!r}: must be the name of a format, such as 'tar'")
        given["format"] = format
    return given | errors_given("read", errors)


def window_arguments(window: Any = None, group: Any = None, time: Any = None) -> dict[str, Any]:
    """The arguments window, group and time, those that are given."""
    given: dict[str, Any] = {}
    if window is not None:
        if not hasattr(window, "items"):
            raise RecipeError(f"headrace: read: window is {window!r}: must be offsets by field, as in {{'action': [0, 1, 2]}}")
        given["window"] = {_name("read", name): _offsets(name, offsets) for name, offsets in window.items()}
    for argument, column in (("group", group), ("time", time)):
        if column is not None:
            if not isinstance(column, str):
                raise RecipeError(f"headrace: read: {argument} is {column!r}: must be the name of a column")
            given[argument] = column
    return given


_OF_LOOKUP = {"from", "key", "fields", "missing"}
_FILES = (str, os.PathLike)


def lookup_argument(lookup: Any) -> dict[str, Any]:
    """The argument lookup: a table, or what is read of it, by the field with its keys."""
    if not hasattr(lookup, "items"):
        raise RecipeError(f"headrace: read: lookup is {lookup!r}: must be tables by field, as in {{'item': 'items.parquet'}}")
    return {_name("read", name): _table(name, of) for name, of in lookup.items()}


def _table(name: str, of: Any) -> Any:
    if isinstance(of, _FILES):
        return path_text(of)
    if is_table(of):
        return {"columns": table_columns(name, of)}
    if not hasattr(of, "items") or not (isinstance(of.get("from"), _FILES) or is_table(of.get("from"))):
        raise RecipeError(
            f"headrace: read: lookup has {of!r:.80} for {name!r}: must be the path of a table, arrays by column, or "
            "{'from': 'items.parquet', 'key': 'id', 'fields': ['price'], 'missing': 'null'}"
        )
    if other := of.keys() - _OF_LOOKUP:
        raise RecipeError(f"headrace: read: lookup has {min(other, key=str)!r} for {name!r}: must be from, key, fields or missing")
    table = of["from"]
    given: dict[str, Any] = {"from": path_text(table)} if isinstance(table, _FILES) else {"columns": table_columns(name, table)}
    for word in ("key", "missing"):
        if of.get(word) is not None:
            if not isinstance(of[word], str):
                raise RecipeError(f"headrace: read: lookup has {word}={of[word]!r} for {name!r}: must be text")
            given[word] = of[word]
    if of.get("fields") is not None:
        given["fields"] = fields_from("read", of["fields"])
    return given


def _offsets(name: str, offsets: Any) -> list[int | float]:
    """Offsets of a window: a list, a range, an array."""
    try:
        each = [one.item() if hasattr(one, "item") else one for one in offsets]
    except TypeError:
        if not _numbers([offsets]):
            each = []
        else:
            raise RecipeError(
                f"headrace: read: window has {offsets!r} for {name!r}: must be a list; write [{offsets!r}] for the one row "
                f"{offsets!r} away, and range({max(2, int(abs(offsets)))}) for {max(2, int(abs(offsets)))} rows"
            ) from None
    if not each or isinstance(offsets, str) or not _numbers(each):
        raise RecipeError(f"headrace: read: window has {offsets!r} for {name!r}: must be numbers, such as [-1, 0]")
    return each


def _numbers(values: list[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in values)


def errors_given(step: str, errors: Any) -> dict[str, Any]:
    """The argument errors, if it is not the default, which recipes leave out."""
    if not isinstance(errors, str):
        raise RecipeError(f"headrace: {step}: errors is {errors!r}: must be 'strict' or 'replace'")
    return {} if errors == STRICT else {"errors": errors}


def fields_from(step: str, fields: Any) -> dict[str, Any]:
    """What each field is in the files."""
    if isinstance(fields, str):
        fields = [fields]
    if not hasattr(fields, "items"):
        fields = {name: name for name in fields}
    return {_name(step, name): _from(step, name, of) for name, of in fields.items()}


def _from(step: str, name: str, of: Any) -> Any:
    if isinstance(of, str):
        return of
    if isinstance(of, (tuple, list)) and len(of) in (2, 3) and isinstance(of[0], str):
        if of[1] == IS_NULL and len(of) == 2:
            return [of[0], IS_NULL]
        described = types(step, of[1], [name])
        return [of[0], described and described[name], *(_null(step, name, value) for value in of[2:])]
    raise RecipeError(
        f"headrace: {step}: fields has {of!r} for {name!r}: must be the name of a part or column, (name, type), "
        "or (name, type, value), with the value for null"
    )


def _null(step: str, name: str, value: Any) -> Any:
    """A value for null. Floats that JSON does not have are text."""
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # NumPy's
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (bool, int, float, str)) or (isinstance(value, (list, tuple)) and not value):
        return value
    raise RecipeError(
        f"headrace: {step}: fields has {value!r} as the value for null of {name!r}: must be a number, True or False, text, or an empty list"
    )


def _name(step: str, name: Any) -> str:
    if not isinstance(name, str):
        raise RecipeError(f"headrace: {step}: fields has {name!r}: must be names of fields")
    return name

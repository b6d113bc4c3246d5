"""A small table that the program has: arrays or lists by column, or a DataFrame."""

from __future__ import annotations

import sys

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WRITE = "write the table into a file, such as Parquet, and name that; fields= says what null is there"
_MUST_BE = "must be whole numbers, floats, bools, arrays of these or text; dates are whole numbers in a file, such as Parquet"


def is_table(of: Any) -> bool:
    """Whether it is columns by name: a DataFrame, or a dict without the words of `lookup`."""
    if any(hasattr(type(of), name) for name in ("column_names", "columns")) or hasattr(of, "columns") or _is_arrow(of):
        return True
    return hasattr(of, "items") and len(of) > 0 and not isinstance(of.get("from", ()), (str, bytes)) and all(map(_is_column, of.values()))


def _is_arrow(of: Any) -> bool:
    """Whether it is a RecordBatch of pyarrow, whose columns have no names of their own."""
    return hasattr(of, "__arrow_c_array__") and hasattr(of, "schema")


def _is_column(values: Any) -> bool:
    if isinstance(values, (str, bytes)) or hasattr(values, "keys") or hasattr(values, "column_names"):
        return False
    return hasattr(values, "__len__") and hasattr(values, "__getitem__")


def table_columns(name: str, table: Any) -> dict[str, Any]:
    """The columns of a table that is looked up by a field of this name."""
    if hasattr(type(table), "collect") and hasattr(type(table), "columns"):
        raise RecipeError(f"headrace: read: lookup has a {type(table).__name__} for {name!r}, which has no rows yet: give its collect()")
    names = getattr(table, "column_names", None)
    if names is None:
        names = table.schema.names if _is_arrow(table) else list(getattr(table, "columns", table))
    columns = {}
    for column in names:
        if not isinstance(column, str):
            raise RecipeError(f"headrace: read: lookup has a column {column!r} for {name!r}: must be text")
        columns[column] = _typed(f"headrace: read: lookup has {column!r} for {name!r}", table[column])
    sizes = {column: size for column, (size, _) in columns.items()}
    first = next(iter(sizes), None)
    if first is None:
        raise RecipeError(f"headrace: read: lookup has a table without columns for {name!r}")
    for column, size in sizes.items():
        if size != sizes[first]:
            raise RecipeError(
                f"headrace: read: lookup has {size} values of {column!r} for {name!r}, and {sizes[first]} of {first!r}: give equally many"
            )
    return {column: typed for column, (_, typed) in columns.items()}


def _typed(what: str, values: Any) -> tuple[int, dict[str, Any]]:
    """How many values a column has, and these under their type."""
    import numpy as np

    from .table_arrays import dtype_of, why_not

    if hasattr(values, "to_numpy"):
        try:
            values = values.to_numpy()
        except ValueError:  # an array of pyarrow whose values are not numbers side by side
            values = values.to_numpy(zero_copy_only=False)
    elif hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if not isinstance(values, np.ndarray):
        values = list(values)
        if not any(isinstance(value, str) for value in values):
            try:
                values = np.asarray(values)
            except ValueError:
                raise RecipeError(f"{what}, whose arrays differ in shape: must have one") from None
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1 and len(values) and hasattr(values[0], "shape"):
        try:
            values = np.stack(list(values))  # of pyarrow and pandas, a column of arrays
        except ValueError:
            raise RecipeError(f"{what}, whose arrays differ in shape: must have one") from None
    if isinstance(values, list) or values.dtype.kind in "OUT":
        return len(values), {"text": _texts(what, values)}
    kind = values.dtype.kind
    if kind not in "biuf" or not values.ndim:
        raise RecipeError(f"{what} of the type {values.dtype}: {_MUST_BE}")
    if why := why_not(values):
        raise RecipeError(f"{what} with {why}: {_WRITE}")
    if values.ndim == 1:
        return len(values), {dtype_of(values): values.tolist()}
    return len(values), {"shape": list(values.shape[1:]), dtype_of(values): values.reshape(len(values), -1).tolist()}


def _texts(what: str, values: Any) -> list[str]:
    others = [i for i, value in enumerate(values) if not isinstance(value, str)]
    if not others:
        return list(map(str, values))
    missing = next((i for i in others if is_missing(values[i])), None)
    if missing is not None:
        raise RecipeError(f"{what} with a missing value as value {missing}: {_WRITE}")
    value = values[others[0]]
    if len(others) == len(values):
        raise RecipeError(f"{what} of the type {type(value).__name__}: {_MUST_BE}")
    raise RecipeError(f"{what} with {value!r:.60} as value {others[0]}, and text before or after it: must be text in each row")


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT or pandas' NA."""
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # as of an array
        return False

"""Arrays beside files, of any length in each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from ..errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence


def arrays_of(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """A column of arrays: their shape, and the numbers of each under their one dtype."""
    arrays = [_array(name, i, value) for i, value in enumerate(values)]
    first = next((i for i, array in enumerate(arrays) if _says(array)), 0)
    shape = arrays[first].shape
    for i, array in enumerate(arrays):
        if _says(array) and array.shape[1:] != shape[1:]:
            raise RecipeError(
                f"headrace: files: item {i} has {name} of shape {list(array.shape)}, item {first} of {list(shape)}:"
                " only the first extent may differ"
            )
    if math.prod(shape[1:]) == 0:
        raise RecipeError(f"headrace: files: item {first} has {name} of shape {list(shape)}: only the first extent may be 0")
    kinds = {array.dtype.kind for array in arrays if _says(array)} or {"f"}
    if kinds == {"b"}:
        dtype = "bool"
    elif "b" in kinds:
        raise RecipeError(f"headrace: files: {name} has bools in some items and numbers in others: give one of them")
    elif "f" not in kinds:
        dtype = "int64"
    else:
        narrow = any(map(_says, arrays)) and all(array.dtype.itemsize <= 4 for array in arrays if _says(array))
        dtype = "float32" if narrow else "float64"
    flat = [array.ravel().tolist() for array in arrays]
    if dtype != "bool" and "f" in kinds:
        flat = [list(map(float, numbers)) for numbers in flat]
    return {"shape": [None, *shape[1:]], dtype: flat}


def dtype_of(array: Any) -> str:
    """The dtype under which a recipe has an array's numbers."""
    if array.dtype.kind == "f":
        return "float32" if array.dtype.itemsize <= 4 else "float64"
    return "bool" if array.dtype.kind == "b" else "int64"


def why_not(array: Any) -> str:
    """What an array of numbers has that a recipe cannot hold; empty: nothing."""
    if array.dtype.kind == "f" and not numpy.isfinite(array).all():
        return "a missing value, or no finite number"
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
        return f"{int(array.max())}, which int64 cannot hold"
    return ""


def _says(array: Any) -> bool:
    """Whether an array's shape is that of the column. An empty list may be any without rows."""
    return bool(array.size) or array.ndim > 1


def _array(name: str, i: int, value: Any) -> Any:
    """A value as an array."""
    what = f"headrace: files: item {i} has {name} = {_brief(value)}"
    try:
        array = numpy.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # lists of different lengths, or a tensor on a GPU
        raise RecipeError(f"{what}, which cannot become an array: its rows must be equally long, and in the computer's memory") from None
    if array.dtype.kind not in "biuf":
        raise RecipeError(f"{what}, which is not an array of numbers, and other items are: must be one in each item")
    if array.ndim == 0:
        raise RecipeError(f"{what}, a single value, and other items have arrays: give an array in each")
    if why := why_not(array):
        raise RecipeError(f"{what}, which has {why}; for anything else use hr.source or a map")
    return array


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

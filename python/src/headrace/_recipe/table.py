"""Files with values beside them: pairs, tuples, dicts, and rows of a DataFrame."""

from __future__ import annotations

import json
import math
import os
from numbers import Integral, Real

from ..errors import RecipeError, SourceError
from .arguments import path_text
from .read import STRICT, errors_given, fields_from
from .table_columns import is_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def files_arguments(source: Any, label: Any, fields: Any, path: str, metadata: Any = None, errors: Any = STRICT) -> dict[str, Any]:
    """The arguments of the step files, without root."""
    if metadata is not None:
        return _beside(source, label, fields, metadata) | errors_given("files", errors)
    if errors_given("files", errors):
        raise RecipeError(f"headrace: files: errors={errors!r} is for the text of metadata: give metadata=, the name of a table")
    names = None if fields is None else [fields] if isinstance(fields, str) else list(fields)
    if isinstance(source, (str, bytes, os.PathLike)):
        if names is not None:
            raise RecipeError("headrace: files: fields= names values that a list has beside its paths; a pattern has none")
        if not callable(label):
            return {"pattern": path_text(source)} | ({} if label is None else {"label": label})
        paths = _list(path_text(source))
        columns: dict[str, Sequence[Any]] = {}
    elif hasattr(type(source), "collect") and hasattr(type(source), "columns"):
        raise RecipeError(f"headrace: files: a {type(source).__name__} has no rows yet: give what its collect() returns")
    elif hasattr(source, "columns"):
        paths, columns = _frame(source, names, path)
    else:
        paths, columns = _rows(list(source), names, path)
    if callable(label):
        columns["label"] = [label(name) for name in paths]
    given: dict[str, Any] = {"paths": paths}
    if label is not None and not callable(label):
        given["label"] = label
    if not columns:
        return given
    typed = {name: _typed(name, values) for name, values in columns.items()}
    if label is None and list(typed) == ["label"] and "int64" in typed["label"]:
        return {"pairs": [list(pair) for pair in zip(paths, typed["label"]["int64"])]}
    return given | {"columns": typed}


def _beside(source: Any, label: Any, fields: Any, metadata: Any) -> dict[str, Any]:
    """The arguments for files with a metadata table, which the engine reads."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise RecipeError("headrace: files: metadata= is for a pattern or a folder; a list brings its values itself")
    if callable(label):
        raise RecipeError("headrace: files: label= is a function, and metadata= brings labels: give one of them")
    given = {"pattern": path_text(source), "metadata": path_text(metadata)}
    if label is not None:
        given["label"] = label
    return given if fields is None else given | {"fields": fields_from("files", fields)}


def _list(pattern: str) -> list[str]:
    """A pattern's files, as the engine lists them."""
    import subprocess  # only here: a program may have lost its right to read Python's own files

    from .._client.program import find_program

    done = subprocess.run([find_program(), "list", "--", os.fsencode(pattern)], capture_output=True)
    if done.returncode:
        raise SourceError(done.stderr.decode(errors="replace").strip())
    listed: list[str] = json.loads(done.stdout)
    return listed


def _frame(frame: Any, names: list[str] | None, path: str) -> tuple[list[str], dict[str, Sequence[Any]]]:
    """The columns of a DataFrame: pandas, polars, or any object with `columns` and `frame[name]`."""
    have = [str(name) for name in frame.columns]
    if path not in have:
        raise RecipeError(
            f"headrace: files: the table has no column {path!r} with the paths, only {', '.join(map(repr, have))}: give path="
        )
    paths = [path_text(name) for name in frame[path]]
    chosen = [name for name in have if name != path] if names is None else names
    for name in chosen:
        if name not in have:
            raise RecipeError(f"headrace: files: the table has no column {name!r}: it has {', '.join(map(repr, have))}")
    return paths, {name: _values(frame[name]) for name in chosen}


def _values(column: Any) -> Any:
    """A column's values, as an array if they are numbers."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    return array if getattr(getattr(array, "dtype", None), "kind", "O") in "iufb" else list(column)


def _rows(rows: list[Any], names: list[str] | None, path: str) -> tuple[list[str], dict[str, Sequence[Any]]]:
    """Paths, tuples that begin with one, or dicts that have one."""
    if rows and hasattr(rows[0], "keys"):
        return _dicts(rows, names, path)
    if not any(isinstance(row, tuple) for row in rows):
        if names:
            raise RecipeError("headrace: files: fields= names values beside the paths, and the list has paths alone: give tuples")
        return [path_text(row) for row in rows], {}
    width = len(rows[0]) if isinstance(rows[0], tuple) else 0
    if names is None:
        names = ["label"]
        if width > 2:
            raise RecipeError(f"headrace: files: item 0 has {width - 1} values after its path: give fields=, a name for each")
    for i, row in enumerate(rows):
        if not isinstance(row, tuple) or len(row) != len(names) + 1:
            form = f"(path, {', '.join(names)})"
            raise RecipeError(
                f"headrace: files: item {i} is {row!r}: must be paths only, or {form} {'pairs' if len(names) == 1 else 'tuples'} only"
            )
    return [path_text(row[0]) for row in rows], {name: [row[k] for row in rows] for k, name in enumerate(names, 1)}


def _dicts(rows: list[Any], names: list[str] | None, path: str) -> tuple[list[str], dict[str, Sequence[Any]]]:
    chosen = [name for name in rows[0] if name != path] if names is None else names
    for i, row in enumerate(rows):
        for name in (path, *chosen):
            if not hasattr(row, "keys") or name not in row:
                hint = ": give path=, the name of that with the paths" if name == path else ""
                raise RecipeError(f"headrace: files: item {i} has no {name!r}{hint}")
        if names is None and len(row) != len(chosen) + 1:
            more = next(name for name in row if name != path and name not in chosen)
            raise RecipeError(f"headrace: files: item {i} has {more!r}, which item 0 does not have: give fields=")
    return [path_text(row[path]) for row in rows], {name: [row[name] for row in rows] for name in chosen}


def _typed(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """A column with its one type."""
    if any(map(_is_array, values)):
        from .table_arrays import arrays_of

        return arrays_of(name, values)
    kinds = set()
    for i, value in enumerate(values):
        kind = _kind(value)
        if kind is None or (kind == "float" and not math.isfinite(value)):
            what = "a missing value, or no finite number" if kind or is_missing(value) else f"of the type {type(value).__name__}"
            text = f"headrace: files: item {i} has {name} = {value!r}, which is {what}: must be numbers, arrays or text"
            raise RecipeError(f"{text}; for anything else use hr.source or a map")
        kinds.add(kind)
    if kinds == {"text"}:
        return {"text": [str(value) for value in values]}
    if "text" in kinds:
        raise RecipeError(f"headrace: files: {name} is text in some items and a number in others: give one of them")
    if kinds == {"bool"}:
        return {"bool": [bool(value) for value in values]}
    if "float" not in kinds:
        whole = [int(value) for value in values]
        for i, value in enumerate(whole):
            if not -(1 << 63) <= value < 1 << 63:
                raise RecipeError(f"headrace: files: item {i} has {name} = {value}, which int64 cannot hold")
        return {"int64": whole}
    narrow = all(getattr(getattr(value, "dtype", None), "itemsize", 8) <= 4 for value in values)
    return {"float32" if narrow else "float64": [float(value) for value in values]}


def _is_array(value: Any) -> bool:
    """Whether it is a list of numbers, or an array of any framework. A tensor of one number is a number."""
    return isinstance(value, (list, tuple)) or (not isinstance(value, type) and getattr(value, "shape", ()) not in ((), None))


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return "bool"
    if isinstance(value, type) or getattr(value, "shape", ()) not in ((), None):
        return None  # of several numbers, one that is alone says that it is a number
    if isinstance(value, Integral):
        return "int"
    if isinstance(value, Real):
        return "float"
    if hasattr(value, "dtype") and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return _kind(value.item())  # a tensor of one number
    return "int" if hasattr(value, "__index__") else None

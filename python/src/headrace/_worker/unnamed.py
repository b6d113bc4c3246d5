"""What to write for samples whose values have no fields: tuples, objects, lists of these."""

from __future__ import annotations

import dataclasses

from .errors import type_name
from .types import as_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_VALUES = 16  # of a tuple or list: more are hardly fields


def hint(sample: Any) -> str | None:
    """The warning at open; None: nobody would expect fields of such samples."""
    if isinstance(sample, (tuple, list)) and (names := _names(sample)):
        kind = "tuples" if isinstance(sample, tuple) else "lists"
        how = f"stack the values, name them: hr.source(…, fields={names!r}); batches are dicts then"
        return _said(f"{kind} of {len(names)} values", how, kind)
    if step := as_dicts(sample):
        return _said(_told(sample), f"stack their values, write {step}", "objects")
    if isinstance(sample, list) and sample and (step := _apart(sample[0])):
        return _said(f"lists of {_told(sample[0])}", f"make samples of these, write {step}", "lists")
    return None


def is_tuple(sample: Any) -> bool:
    """Whether a sample is values without names that batches stack one by one, such as (image, label)."""
    if type(sample) is tuple:
        return 0 < len(sample) <= _MOST_VALUES
    return type(sample) is list and 1 < len(sample) <= _MOST_VALUES and _differ(sample)


def _said(what: str, how: str, meant: str) -> str:
    return f"samples are {what}, so a batch is a list of these. To {how}. If a list of {meant} is meant, write gives=object"


def _told(value: Any) -> str:
    return "dicts" if isinstance(value, dict) else f"{type_name(type(value))} objects"


def as_dicts(sample: Any) -> str | None:
    """The step that makes dicts of such objects; None: their type declares no fields."""
    made = _dict_of_one(sample)
    return made and f".map(lambda one: {made}) after the source"


def _apart(one: Any) -> str | None:
    """The step that makes samples of the items of lists."""
    if isinstance(one, dict):
        return ".flat_map(lambda items: items) after the source"
    made = _dict_of_one(one)
    return made and f".flat_map(lambda items: [{made} for one in items]) after the source"


def _dict_of_one(value: Any) -> str | None:
    attributes = _attributes(value)
    return "{" + ", ".join(f"{name!r}: one.{name}" for name in attributes) + "}" if attributes else None


def _attributes(value: Any) -> list[str]:
    """The fields that an object's type declares: a named tuple, a dataclass, or one of attrs, msgspec, pydantic."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if kind.__module__ == "types" and kind.__name__ == "SimpleNamespace":
        return list(vars(value))
    for listed in ("_fields", "__attrs_attrs__", "__struct_fields__", "__pydantic_fields__", "model_fields", "__fields__"):
        declared = getattr(kind, listed, None)
        if isinstance(declared, (tuple, dict)):
            names = [str(getattr(one, "name", one)) for one in declared]
            return names if all(map(str.isidentifier, names)) else []
    return []


def _names(values: tuple[Any, ...] | list[Any]) -> list[str] | None:
    """Names that several values could have; None: these are hardly fields."""
    if not 1 < len(values) <= _MOST_VALUES:
        return None
    if isinstance(values, list) and not _differ(values):
        return None
    return _attributes(values) or [f"name{i}" for i in range(1, len(values) + 1)]


def _differ(values: list[Any]) -> bool:
    """Whether a list looks like [image, label]: not like tokens, words, or items of one kind."""
    kinds = {type(one) for one in values if one is not None}
    if kinds <= {bool, int, float} or len(kinds) == 1:
        return any(_is_array(one) for one in values)
    return True


def _is_array(value: Any) -> bool:
    try:
        array = as_array(value)
    except Exception:  # a tensor that batches cannot stack, which is an error where it is a field
        return False
    return array is not None and array.ndim > 0

"""States of sources and aggregators, as JSON that may have arrays in it."""

from __future__ import annotations

import base64
import json
import sys

from .._batch.lazy_numpy import is_array, is_number, np
from .types import as_array, dtype_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_STATE = 1 << 20  # bytes
_SPECIAL = "\0headrace"  # the key of what JSON does not know


def dumps(state: Any) -> str:
    """A state as JSON, with what JSON alone would refuse or change: arrays, tensors, bytes, tuples, sets, numbers as keys."""
    return json.dumps(_plain(state), allow_nan=False)


def _plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return value
    if kind is float:
        return value if value - value == 0 else {_SPECIAL: {"float": repr(value)}}
    if kind is list:
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        if all(type(key) is str for key in value) and _SPECIAL not in value:
            return {key: _plain(one) for key, one in value.items()}
        return {_SPECIAL: {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}}
    if kind is tuple or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        return {_SPECIAL: {"tuple": [_plain(one) for one in value]}}
    if kind in (set, frozenset):
        return {_SPECIAL: {kind.__name__: [_plain(one) for one in value]}}
    if is_number(value):
        return _plain(value.item())
    if is_array(value) and (value.dtype.name == "bfloat16" or value.dtype.kind in "biuf"):
        return {_SPECIAL: _packed(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_SPECIAL: base64.b64encode(value).decode()}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return {_SPECIAL: {"tensor": _packed(as_array(value))}}
    raise TypeError(f"Object of type {kind.__name__} is not JSON serializable")


def _packed(value: Any) -> list[Any]:
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return [value.dtype.name, list(value.shape), data]


def loads(text: bytes) -> Any:
    """What dumps was given."""
    return json.loads(text, object_hook=_special)


def _special(value: dict[str, Any]) -> Any:
    made = value.get(_SPECIAL)
    if made is None:
        return value
    if isinstance(made, str):
        return base64.b64decode(made)
    if isinstance(made, list):
        return _unpacked(made)
    ((kind, held),) = made.items()
    if kind == "float":
        return float(held)
    if kind == "dict":
        return dict(held)
    if kind == "tensor":
        return _tensor(held)
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](held)


def _unpacked(held: list[Any]) -> Any:
    name, shape, data = held
    return np.frombuffer(base64.b64decode(data), dtype_of(name)).reshape(shape).copy()


def _tensor(held: list[Any]) -> Any:
    import torch

    name, shape, data = held
    if name == "bfloat16":
        return torch.frombuffer(bytearray(base64.b64decode(data)), dtype=torch.bfloat16).reshape(shape)
    return torch.from_numpy(_unpacked(held))


def is_stateful(holder: Any) -> bool:
    return callable(getattr(holder, "state_dict", None)) and callable(getattr(holder, "load_state_dict", None))

"""States of sources and aggregators, as JSON that may have arrays in it."""

from __future__ import annotations

import json

from .._batch.lazy_numpy import is_array, is_number, np
from .types import dtype_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_STATE = 1 << 20  # bytes
_SPECIAL = "\0headrace"  # the key of what JSON does not know


def dumps(state: Any) -> str:
    """A state as JSON, with arrays of NumPy and bytes in it."""
    import base64

    def special(value: Any) -> Any:
        if is_number(value):
            return value.item()
        if is_array(value) and (value.dtype.name == "bfloat16" or value.dtype.kind in "biuf"):
            data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {_SPECIAL: [value.dtype.name, list(value.shape), data]}
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {_SPECIAL: base64.b64encode(value).decode()}
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    return json.dumps(state, default=special, allow_nan=False)


def loads(text: bytes) -> Any:
    """What dumps was given."""
    import base64

    def special(value: dict[str, Any]) -> Any:
        made = value.get(_SPECIAL)
        if made is None:
            return value
        if isinstance(made, str):
            return base64.b64decode(made)
        name, shape, data = made
        return np.frombuffer(base64.b64decode(data), dtype_of(name)).reshape(shape).copy()

    return json.loads(text, object_hook=special)


def is_stateful(holder: Any) -> bool:
    return callable(getattr(holder, "state_dict", None)) and callable(getattr(holder, "load_state_dict", None))

"""What values are: dtypes, arrays, types of fields, and words for them."""

from __future__ import annotations

from .._batch.lazy_numpy import is_array, is_number, np
from .._batch.text import Texts
from .errors import Misfit, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")

NUMBERS = {  # what `struct` and `array` call them, and their bytes
    "bool": ("?", 1),
    "uint8": ("B", 1),
    "int8": ("b", 1),
    "uint16": ("H", 2),
    "int16": ("h", 2),
    "uint32": ("I", 4),
    "int32": ("i", 4),
    "uint64": ("Q", 8),
    "int64": ("q", 8),
    "float32": ("f", 4),
    "float64": ("d", 8),
}


def dtype_of(name: str) -> Any:
    """NumPy's dtype of that name, or that of ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def as_array(value: Any) -> Any:
    """What a result is as an array of NumPy's; None: it is none."""
    if is_array(value) or is_number(value):
        return np.asarray(value)
    if isinstance(value, (str, bytes, bytearray, memoryview, list, tuple, dict)):
        return None
    module = type(value).__module__
    if module == "torch" or module.startswith("torch.") or (hasattr(value, "detach") and hasattr(value, "cpu")):
        return _from_torch(value)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return None


def _from_torch(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach()
    if value.device.type != "cpu":
        raise TypeError(f"a tensor on {value.device}: a worker's results are tensors of the CPU, call .cpu()")
    if value.dtype is torch.bfloat16:
        return value.contiguous().view(torch.int16).numpy().view(dtype_of("bfloat16"))
    return value.numpy()


def infer(name: str, value: Any, rows: bool) -> dict[str, Any]:
    """The type of a field, from a value. `rows` says that a list has a value for each row of a batch."""
    if rows and is_rows(value):
        kind = "text" if all(isinstance(one, str) for one in value) else "object"
        return {"name": name, "kind": kind, "shape": [-1]}
    if isinstance(value, str):
        return {"name": name, "kind": "text"}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"name": name, "kind": "bytes"}
    if isinstance(value, bool):
        return {"name": name, "kind": "tensor", "dtype": "bool", "shape": []}
    if isinstance(value, int):
        return {"name": name, "kind": "tensor", "dtype": "int64", "shape": []}
    if isinstance(value, float):
        return {"name": name, "kind": "tensor", "dtype": "float64", "shape": []}
    array = as_array(value)
    if array is None:
        return {"name": name, "kind": "object"}
    dtype = array.dtype.name
    if dtype not in _PLAIN and dtype != "bfloat16":
        what = f"field {name!r} is an array of {dtype}: must be {', '.join(_PLAIN)} or bfloat16"
        raise Misfit(name, f"{what}; the step gives it as it is with gives={{{name!r}: object}}")
    return {"name": name, "kind": "tensor", "dtype": dtype, "shape": list(array.shape)}


def is_rows(value: Any) -> bool:
    """Whether a value has others, one for each row of a batch."""
    return isinstance(value, (list, Texts))


def told(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "None"
    try:
        array = as_array(value)
    except Exception:
        array = None
    if array is not None:
        return f"{array.dtype} {shape_of(array.shape)}" if array.shape else f"{array.dtype} {array}"
    if isinstance(value, (int, float)):
        return f"{type_name(type(value))} {value}"
    if isinstance(value, (list, tuple)):
        return f"{type_of(value)} of {len(value)} (make it an array)"
    return type_of(value)


def if_none(name: str, value: Any) -> str:
    """What to write where None is meant."""
    return f"; if it may be None, {name!r} is object in gives=" if value is None else ""


def type_of(value: Any) -> str:
    name = type_name(type(value))
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def shape_of(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join("?" if n < 0 else str(n) for n in shape) + "]"

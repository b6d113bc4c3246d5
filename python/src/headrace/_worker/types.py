"""What values are: dtypes, arrays, types of fields, and words for them."""

from __future__ import annotations

import functools

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
    """NumPy's dtype of that name; of bfloat16 that of ml_dtypes, or one of its bits."""
    return _bfloat16() if name == "bfloat16" else np.dtype(name)


@functools.cache
def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype([("bfloat16", "=u2")])
    return np.dtype(ml_dtypes.bfloat16)


def name_of_dtype(dtype: Any) -> str:
    """What an array's dtype is called."""
    return "bfloat16" if dtype.names == ("bfloat16",) else str(dtype.name)


def float_of(value: Any) -> float:
    """A number of NumPy's as a float."""
    if isinstance(value, np.void):  # bits of bfloat16
        return float(np.array([value["bfloat16"]], np.uint32).__lshift__(16).view(np.float32)[0])
    return float(value)


def packed_bfloat16s(values: list[float]) -> bytes:
    """Numbers as the bytes of the nearest bfloat16s."""
    dtype = _bfloat16()
    if dtype.names is None:
        return np.array(values, dtype).tobytes()  # type: ignore[no-any-return]
    bits = np.array(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).tobytes()  # type: ignore[no-any-return]


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
    if value.is_meta:
        raise TypeError("a tensor on meta, which has a shape and no values: a worker's results are tensors of the CPU")
    if value.device.type != "cpu":
        raise TypeError(f"a tensor on {value.device}: a worker's results are tensors of the CPU, call .cpu()")
    if value.dtype is torch.bfloat16:
        return _resolved(value).contiguous().view(torch.int16).numpy().view(dtype_of("bfloat16"))
    strided = value.layout is torch.strided and not value.is_nested
    if not strided or value.is_quantized or value.dtype in _small(torch):
        raise _unstacked(value, strided)
    return _resolved(value).numpy()


def _unstacked(value: Any, strided: bool) -> Unstacked:
    kind = str(value.dtype if strided else value.layout).removeprefix("torch.")
    if value.is_nested:
        return Unstacked("a nested tensor", "value.to_padded_tensor(0)")
    if value.is_quantized:
        return Unstacked(f"a tensor of {kind}", "value.dequantize()")
    return Unstacked(f"a tensor of {kind}", "value.view(torch.uint8)" if strided else "value.to_dense()")


def _resolved(value: Any) -> Any:
    """The tensor with its own numbers: conj() copies none, and notes what is to be done."""
    return value.resolve_conj().resolve_neg()


class Unstacked(TypeError):
    """A tensor that batches cannot stack."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}, which cannot be stacked: return {instead}, or a tensor of another type")


@functools.cache
def _small(torch: Any) -> frozenset[Any]:
    """Types that NumPy lacks."""
    names = [name for name in vars(torch) if name.startswith(("float8", "float4", "complex32", "bits"))]
    return frozenset(value for value in (getattr(torch, name) for name in names) if isinstance(value, torch.dtype))


def infer(name: str, value: Any, rows: bool, deep: int = 0) -> dict[str, Any]:
    """The type of a field, from a value.

    `rows` says that a list has a value for each row of a batch, and `deep` that the field was lists of text that are so deep.
    """
    if deep and _is_text(value, deep):
        return {"name": name, "kind": "text", "shape": [-1] * deep}
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
    try:
        array = as_array(value)
    except Unstacked as e:
        raise Misfit(name, f"field {name!r} is {e}; the step gives it as it is with gives={{{name!r}: object}}") from None
    if array is None:
        return {"name": name, "kind": "object"}
    dtype = name_of_dtype(array.dtype)
    if dtype not in _PLAIN and dtype != "bfloat16":
        what = f"field {name!r} is an array of {dtype}: must be {', '.join(_PLAIN)} or bfloat16"
        raise Misfit(name, f"{what}; the step gives it as it is with gives={{{name!r}: object}}")
    return {"name": name, "kind": "tensor", "dtype": dtype, "shape": list(array.shape)}


def _is_text(value: Any, deep: int) -> bool:
    """Whether a value is lists of text, so many in each other."""
    if not deep:
        return isinstance(value, str)
    return is_rows(value) and all(_is_text(one, deep - 1) for one in value)


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
    return f'; if it may be None, say gives={{"{name}": object}}, or give a default' if value is None else ""


def type_of(value: Any) -> str:
    name = type_name(type(value))
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def shape_of(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join("?" if n < 0 else str(n) for n in shape) + "]"

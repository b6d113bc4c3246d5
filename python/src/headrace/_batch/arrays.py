"""Batches as arrays over the engine's memory."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy

from ..errors import HeadraceError, RecipeError
from . import ragged
from . import rows as in_rows
from . import text as texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._client.memory import Lease
    from .cuda import Pins
    from .format import Format

    Batch = dict[str, Any]

_TYPES = {
    "bool": "|b1",
    "uint8": "|u1",
    "int8": "|i1",
    "uint16": "<u2",
    "int16": "<i2",
    "uint32": "<u4",
    "int32": "<i4",
    "uint64": "<u8",
    "int64": "<i8",
    "float16": "<f2",
    "bfloat16": "<u2",  # and then viewed as what it is, where NumPy has been taught to
    "float32": "<f4",
    "float64": "<f8",
}
_asarray = numpy.asarray
_BARE = "_"  # recipe.Bare of the engine
_COPIED = 1 << 20  # bytes of an array that a sample has as a copy


class Layout:
    """Where the fields are in a slot."""

    def __init__(self, fields: list[dict[str, Any]], whole: bool = False, single: bool = False) -> None:
        self._whole = whole  # fields are those of the whole batch, and no row has one
        self._single = single  # and the batch is one sample: numbers and bytes are those of Python
        self.names = [field["name"] for field in fields]
        self.bare = _BARE if self.names == [_BARE] else None  # the field that samples are which are no dicts
        self._tensors: list[tuple[str, int, str, tuple[int, ...]]] = []
        self._beside: list[str] = []  # text and objects, which are not in the slot
        self._objects: frozenset[str] = frozenset(field["name"] for field in fields if field["kind"] == "object")
        # Of text and objects of a batch that later stages have changed: how many axes
        # they have.
        self._axes = {field["name"]: len(field.get("shape") or ()) for field in fields if field["kind"] not in ("tensor", "ragged")}
        self._bytes: frozenset[str] = frozenset(field["name"] for field in fields if field["kind"] == "bytes")
        self.dtypes = {field.get("dtype") for field in fields}
        self.bfloat16s = tuple(field["name"] for field in fields if field.get("dtype") == "bfloat16")
        self._bfloat16 = _bfloat16() if self.bfloat16s else None
        types = _TYPES if self._bfloat16 is None else {**_TYPES, "bfloat16": self._bfloat16}
        self._ragged = {field["name"]: (types[field["dtype"]], tuple(field["shape"][1:])) for field in fields if field["kind"] == "ragged"}
        for field in fields:
            if field["kind"] in ("text", "object", "bytes", "ragged"):
                self._beside.append(field["name"])
            elif field["kind"] == "tensor" and field["dtype"] in _TYPES:
                self._tensors.append((field["name"], field.get("offset", 0), _TYPES[field["dtype"]], tuple(field.get("shape") or ())))
            else:
                what = field.get("dtype") or field["kind"]
                raise RecipeError(f"headrace: field {field['name']!r}: NumPy has no type for {what}")
        unknown = sum(shape.count(-1) for _, _, _, shape in self._tensors)
        self.extents = Struct(f"<{unknown}I")  # those that a batch brings: they replace -1 in its shapes
        self._in_order = self.names == [name for name, *_ in self._tensors] + self._beside

    def batch(self, lease: Lease, address: int, rows: int, extents: tuple[int, ...], packed: memoryview) -> Batch:
        """The fields of a batch whose slot is at an address; `packed` has its texts and objects."""
        if self._whole:
            return self._whole_batch(lease, address, extents, packed)
        batch: Batch = {}
        for name, offset, typestr, shape in self._known(extents) if extents else self._tensors:
            lease.__array_interface__ = {
                "version": 3,
                "typestr": typestr,
                "shape": (rows, *shape),
                "data": (address + offset, False),
            }
            batch[name] = _asarray(lease)
        if self._bfloat16 is not None:
            for name in batch.keys() & self.bfloat16s:
                batch[name] = batch[name].view(self._bfloat16)
        if self._beside:
            if self._objects or self._ragged or any(self._axes.values()):
                self._unpack(batch, packed, rows)
            else:
                batch.update(zip(self._beside, texts.split(bytes(packed), rows, len(self._beside))))
            if not self._in_order:
                batch = {name: batch[name] for name in self.names}
        return batch

    def _whole_batch(self, lease: Lease, address: int, extents: tuple[int, ...], packed: memoryview) -> Batch:
        """The fields of a batch that is made whole, one after the other.

        Small samples are copied: a program may keep many, and the engine has few slots.
        """
        batch: Batch = {}
        at = address
        for name, _, typestr, shape in self._known(extents):
            lease.__array_interface__ = {"version": 3, "typestr": typestr, "shape": shape, "data": (at, False)}
            array = _asarray(lease)
            at += -(-array.nbytes // 64) * 64
            if self._bfloat16 is not None and name in self.bfloat16s:
                array = array.view(self._bfloat16)
            if not self._single:
                batch[name] = array
            elif not shape:
                batch[name] = array.item()
            else:
                batch[name] = array.copy() if array.nbytes <= _COPIED else array
        beside: Batch = {}
        self._unpack(beside, packed, 1)
        for name, values in beside.items():
            batch[name] = values[0]
        return {name: batch[name] for name in self.names}

    def _unpack(self, batch: Batch, packed: memoryview, rows: int) -> None:
        """Add texts and objects. Arrays in these have their own memory."""
        offsets = Struct(f"<{rows + 1}I")
        for name in self._beside:
            if texts.is_counted(packed):  # no other field is
                end = texts.end_of_counted(packed, 0)
                batch[name] = texts.Texts(bytes(packed[:end]), rows)
                packed = packed[end:]
                continue
            ends = offsets.unpack_from(packed)
            values = packed[offsets.size : offsets.size + ends[-1]]
            if name in self._ragged:
                batch[name] = ragged.unpack(values, ends, *self._ragged[name])
            elif self._axes[name]:
                batch[name] = [self._rows(name, row, values[ends[row] : ends[row + 1]]) for row in range(rows)]
            elif name in self._objects:
                batch[name] = [_object(name, row, values[ends[row] : ends[row + 1]]) for row in range(rows)]
            elif name in self._bytes:
                batch[name] = [bytes(values[ends[row] : ends[row + 1]]) for row in range(rows)]
            else:
                batch[name] = texts.Texts(bytes(packed[: offsets.size + ends[-1]]), rows)
            packed = packed[offsets.size + ends[-1] :]

    def _rows(self, name: str, row: int, packed: memoryview) -> Any:
        """Texts or objects that are in one value."""
        if name in self._objects:
            return in_rows.each(packed, self._axes[name], lambda one: _object(name, row, one))
        of_batch = self._whole and not self._single
        return (in_rows.texts if of_batch else in_rows.lists)(bytes(packed), self._axes[name])

    def _known(self, extents: tuple[int, ...]) -> list[tuple[str, int, str, tuple[int, ...]]]:
        left = iter(extents)
        return [(name, at, kind, tuple(next(left) if n < 0 else n for n in shape)) for name, at, kind, shape in self._tensors]


def _object(name: str, row: int, data: memoryview) -> Any:
    from .objects import unpickle

    try:
        return unpickle(data, own=True)
    except Exception as error:
        text = f"headrace: the object {name!r} in row {row} of the next batch cannot be unpickled here: {type(error).__name__}: {error}"
        raise HeadraceError(f"{text}; the batch stays the next one") from error


def _bfloat16() -> Any:
    """NumPy's bfloat16 from the package ml_dtypes; None without it."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes.bfloat16


def pins(format: Format) -> Pins | None:
    """What pins the engine's memory for a GPU; None if that is not requested or not possible."""
    if not format.pin_memory and format.device is None:
        return None
    from . import cuda

    return cuda.pins(format)


def converter(format: Format, layout: Layout) -> Callable[[Batch], Batch] | None:
    """What turns NumPy arrays into another framework's, over the same memory."""
    if format.name == "numpy":
        return None
    return _to_torch(format, layout) if format.name == "torch" else _to_jax(layout)


def _to_torch(format: Format, layout: Layout) -> Callable[[Batch], Batch]:
    import torch

    if "uint16" in layout.dtypes and not hasattr(torch, "uint16"):
        raise RecipeError(
            f"headrace: to('torch'): PyTorch {torch.__version__} has no uint16, which came with 2.3;"
            " decode to uint8, or convert it to floating point with normalize"
        )
    bfloat16s = frozenset(layout.bfloat16s)

    def tensor(name: str, value: Any) -> Any:
        if isinstance(value, ragged.Ragged):
            return value.apply(lambda array: tensor(name, array))
        if not isinstance(value, numpy.ndarray):
            return value
        if name in bfloat16s:  # PyTorch takes no array of this type, whatever it is called
            return torch.from_numpy(value.view(numpy.int16)).view(torch.bfloat16)
        return torch.from_numpy(value)

    def to_torch(batch: Batch) -> Batch:
        return {name: tensor(name, value) for name, value in batch.items()}

    if format.device is None:
        return to_torch
    try:
        device = torch.empty(0, device=format.device).device
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise RecipeError(f"headrace: to({format!r}): PyTorch has no such device: {why}") from None

    def to_device(batch: Batch) -> Batch:
        # A GPU reads pinned memory after this has returned; _cuda sees to it that it is
        # not filled again before.
        goes_on = device.type == "cuda"
        tensors = to_torch(batch).items()
        return {name: moved(value, goes_on) for name, value in tensors}

    def moved(value: Any, goes_on: bool) -> Any:
        if isinstance(value, ragged.Ragged):
            return value.apply(lambda values: moved(values, False))  # it is not in pinned memory
        return value.to(device, non_blocking=goes_on) if isinstance(value, torch.Tensor) else value

    return to_device


def _to_jax(layout: Layout) -> Callable[[Batch], Batch]:
    import jax
    import ml_dtypes  # on which JAX depends

    # Not jax.numpy.asarray, which copies.
    device_put, bfloat16s = jax.device_put, layout.bfloat16s

    def to_jax(batch: Batch) -> Batch:
        arrays: dict[str, Any] = {name: list(value) for name, value in batch.items() if isinstance(value, ragged.Ragged)}
        arrays |= {name: value for name, value in batch.items() if isinstance(value, numpy.ndarray)}
        for name in arrays.keys() & set(bfloat16s):
            one = arrays[name]
            arrays[name] = [row.view(ml_dtypes.bfloat16) for row in one] if isinstance(one, list) else one.view(ml_dtypes.bfloat16)
        return {**batch, **device_put(arrays)}

    return to_jax

"""Values of any kind as bytes: a pickle, and after it the memory of the arrays in it (docs/protocol.md, "Objects").

Pickles travel only between a program and its own workers.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from copyreg import dispatch_table
from struct import Struct

from . import byref
from .lazy_numpy import copy, np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = Struct("<IIQ")  # buffers, 0, bytes of the pickle; then the length of each buffer
_ALIGN = 64
_PROTOCOL = 5
_LARGE = 4096  # bytes that are pickled without a copy


class Pickled:
    """A value on its way into memory. Its arrays are copied only there.

    Attributes:
        size: its size in bytes.
    """

    __slots__ = ("_buffers", "_head", "_stream", "size")

    def __init__(self, stream: tuple[bytes | memoryview, ...], buffers: list[pickle.PickleBuffer]) -> None:
        """`stream` is the pickle, in parts."""
        self._stream = stream
        self._buffers = [buffer.raw() for buffer in buffers]
        lengths = [len(buffer) for buffer in self._buffers]
        pickled = sum(map(len, stream))
        self._head = _HEAD.pack(len(lengths), 0, pickled) + Struct(f"<{len(lengths)}Q").pack(*lengths)
        self.size = len(self._head) + pickled
        for length in lengths:
            self.size = _aligned(self.size) + length

    def write(self, memory: memoryview) -> None:
        """Write it into memory of its size."""
        at = 0
        for part in (self._head, *self._stream):
            memory[at : at + len(part)] = part
            at += len(part)
        for buffer in self._buffers:
            start = _aligned(at)
            memory[at:start] = bytes(start - at)
            at = start + len(buffer)
            copy(buffer, memory[start:at])


def _aligned(at: int) -> int:
    return at + _ALIGN - 1 & -_ALIGN


class Objects:
    """Pickles values: classes and functions by name if they can be imported, else by value."""

    def __init__(self) -> None:
        self._by_value = False  # names have not been enough before

    def pickle(self, value: Any) -> Pickled:
        """Pickle a value. Raises whatever its pickling raises."""
        if not self._by_value:
            try:
                return _pickle(_plain, value)
            except Exception:
                made = _pickle(_by_value, value)
            self._by_value = True
            return made
        return _pickle(_by_value, value)


def _pickle(pickler: Any, value: Any) -> Pickled:
    if type(value) is bytes and len(value) > _LARGE:
        return _pickle_bytes(value)
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    pickler(file, buffers.append).dump(value)
    return Pickled((file.getbuffer(),), buffers)


def _pickle_bytes(value: bytes) -> Pickled:
    """As the pickler does it, which makes a copy first."""
    head = pickle.PROTO + bytes((_PROTOCOL,)) + pickle.BINBYTES8 + len(value).to_bytes(8, "little")
    return Pickled((head, value, pickle.STOP), [])


def _plain(file: Any, buffer_callback: Any) -> Any:
    pickler = pickle.Pickler(file, _PROTOCOL, buffer_callback=buffer_callback)
    pickler.dispatch_table = _reducers()
    return pickler


def _by_value(file: Any, buffer_callback: Any) -> Any:
    return _pickler_by_value()(file, _PROTOCOL, buffer_callback=buffer_callback)


def _reducers() -> dict[type, Any]:
    """How to take types apart that would otherwise be copied."""
    table = dict(dispatch_table)
    numpy = sys.modules.get("numpy")
    if hasattr(numpy, "ndarray"):  # another thread may be importing it
        table[np.ndarray] = _reduce_array
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor"):
        table[torch.Tensor] = _reduce_tensor
    return table


def _reduce_array(array: Any) -> Any:
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        array = np.ascontiguousarray(array)  # NumPy itself would copy it into the pickle, and that is copied again
    return array.__reduce_ex__(_PROTOCOL)


def _reduce_tensor(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.requires_grad or tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_neg() or tensor.is_conj():
        return tensor.__reduce_ex__(_PROTOCOL)
    if tensor.dtype is torch.bfloat16:
        return _bfloat16s, (tensor.view(torch.int16).numpy(),)
    try:
        return _tensor, (tensor.numpy(),)
    except (RuntimeError, TypeError):  # a dtype that NumPy has not
        if tensor.dtype.itemsize == 1 and not tensor.is_quantized:  # float8
            return _of_bytes, (tensor.view(torch.uint8).numpy(), tensor.dtype)
        return tensor.__reduce_ex__(_PROTOCOL)


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)


def _of_bytes(array: Any, dtype: Any) -> Any:
    import torch

    return torch.from_numpy(array).view(dtype)


def _bfloat16s(array: Any) -> Any:
    import torch

    return torch.from_numpy(array).view(torch.bfloat16)


@functools.cache
def _pickler_by_value() -> type:
    import weakref

    from .._recipe.interpreter import dumps, pickler

    sent: weakref.WeakKeyDictionary[type, bytes] = weakref.WeakKeyDictionary()

    class Pickler(pickler()):  # type: ignore[misc]
        @property
        def dispatch_table(self) -> Any:
            return super().dispatch_table.new_child(_reducers())

        def reducer_override(self, obj: Any) -> Any:
            """Pickle a class separately, so that a receiver that has it need not make it again."""
            if not isinstance(obj, type):
                return super().reducer_override(obj)
            known = sent.get(obj)
            if known is None:
                reduced = super().reducer_override(obj)
                if reduced is NotImplemented or len(reduced) <= 2:  # by its name
                    return reduced
                known = sent[obj] = dumps(obj).data
            return _class, (obj.__module__, obj.__qualname__, known)

    return Pickler


def _class(module: str, name: str, pickled: bytes) -> Any:
    """A class of the program: the program finds it by name, workers make it once."""
    try:
        found = functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return _made(pickled)
    if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name):
        return found
    return _made(pickled)


@functools.lru_cache(maxsize=256)
def _made(pickled: bytes) -> Any:
    return pickle.loads(pickled)


class Damaged(ValueError):
    """Invalid bytes."""


def unpickle(data: memoryview, own: bool) -> Any:
    """The value in memory.

    Args:
        data: the memory, as `Pickled.write` filled it.
        own: copy arrays; otherwise they are views of `data`.
    """
    if byref.stands_for(data):
        return byref.object_of(data)
    stream, buffers = parse(data)
    return pickle.loads(stream, buffers=map(_copy, buffers) if own else buffers)


def parse(data: memoryview) -> tuple[memoryview, list[memoryview]]:
    """The pickle, and the memory of its arrays. Raises Damaged if they are not within data."""
    size = len(data)
    if size < _HEAD.size:
        raise Damaged(f"an object of {size} bytes")
    count, zero, length = _HEAD.unpack_from(data)
    at = _HEAD.size + 8 * count
    if zero or at > size or length > size - at:
        raise Damaged(f"an object of {size} bytes with {count} buffers and a pickle of {length} bytes")
    lengths = Struct(f"<{count}Q").unpack_from(data, _HEAD.size)
    stream = data[at : at + length]
    at += length
    buffers = []
    for n in lengths:
        start = _aligned(at)
        if n > size - start:
            raise Damaged(f"an object of {size} bytes with a buffer of {n} at {start}")
        at = start + n
        buffers.append(data[start:at])
    if at != size:
        raise Damaged(f"an object of {size} bytes that ends after {at}")
    return stream, buffers


def _copy(buffer: memoryview) -> Any:
    memory = np.empty(len(buffer) + _ALIGN, np.uint8)
    start = -memory.ctypes.data % _ALIGN
    own = memory[start : start + len(buffer)]
    own[...] = np.frombuffer(buffer, np.uint8) if len(buffer) else buffer
    return own

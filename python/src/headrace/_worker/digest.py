"""Digests of samples: whether a stream gives the same ones again, in another process too."""

from __future__ import annotations

from hashlib import blake2b

from .._batch.lazy_numpy import np
from .types import as_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START = b""  # the digest of no samples
_MOST = 16 << 10  # bytes of a value that are looked at: enough to tell samples apart
_DEEP = 32


def after(before: bytes, values: Any) -> bytes:
    """The digest of samples, with one more."""
    digest = blake2b(before, digest_size=8)
    for value in values:
        _add(digest, value, 0)
    return digest.digest()


def _add(digest: Any, value: Any, depth: int) -> None:
    kind = type(value)
    if kind is int or kind is float or kind is bool or value is None:
        digest.update(f"n{value!r};".encode())
    elif isinstance(value, str):
        _bytes(digest, value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _bytes(digest, memoryview(value).cast("B") if memoryview(value).c_contiguous else bytes(value))
    elif depth > _DEEP:
        pass  # a value within itself
    elif isinstance(value, (list, tuple)):
        digest.update(b"l%d;" % len(value))
        for one in _some(value):
            _add(digest, one, depth + 1)
    elif isinstance(value, (dict, set, frozenset)):
        # Their order may be another in another process.
        each = value.items() if isinstance(value, dict) else value
        digest.update(b"d%d;" % len(value))
        for one in sorted(_alone(one, depth) for one in each):
            digest.update(one)
    else:
        _array_or_object(digest, value, depth)


def _array_or_object(digest: Any, value: Any, depth: int) -> None:
    try:
        array = as_array(value)
    except Exception:  # one that NumPy cannot hold
        array = None
    if array is not None and array.dtype.kind != "O":
        digest.update(f"a{array.dtype.name}{array.shape};".encode())
        while array.nbytes > _MOST and max(array.shape) > 1:
            axis = array.shape.index(max(array.shape))
            step = min(-(-array.nbytes // _MOST), array.shape[axis])
            array = array[(slice(None),) * axis + (slice(None, None, step),)]
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size and array.ndim else array.tobytes())
        return
    # Of an object, what it holds: its pickle may be another in another process.
    digest.update(f"o{type(value).__qualname__};".encode())
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        _add(digest, held, depth + 1)


def _alone(value: Any, depth: int) -> bytes:
    digest = blake2b(digest_size=8)
    _add(digest, value, depth + 1)
    return digest.digest()


def _bytes(digest: Any, data: Any) -> None:
    size = len(data)
    digest.update(b"b%d;" % size)
    if size <= _MOST:
        digest.update(data)
        return
    for part in range(16):  # the first and the last bytes among them
        at = (size - 1024) * part // 15
        digest.update(data[at : at + 1024])


def _some(values: Any) -> Any:
    """All values of a list, or of a long one some, from its first to its last."""
    n = len(values)
    return values if n <= 1024 else [values[(n - 1) * i // 1023] for i in range(1024)]

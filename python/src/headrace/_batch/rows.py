"""Texts or objects of a batch in one value: how many, where each ends, then themselves (docs/protocol.md)."""

from __future__ import annotations

from itertools import accumulate, pairwise
from struct import Struct

from .text import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_ONE = Struct("<I")


def pack(values: Sequence[bytes]) -> bytes:
    """Values, one per row, as one."""
    ends = accumulate(map(len, values), initial=0)
    return b"".join([_ONE.pack(len(values)), *map(_ONE.pack, ends), *values])


def texts(packed: bytes | memoryview, axes: int) -> Any:
    """The texts of a batch in a value, one per row; where a row has a list of them, lists."""
    if axes > 1:
        return lists(packed, axes)
    (count,) = _ONE.unpack_from(packed)
    return Texts(bytes(packed), count, _ONE.size)


def lists(packed: bytes | memoryview, axes: int) -> list[Any]:
    """The texts of a sample in a value, as lists of str."""
    return each(packed, axes, lambda one: str(one, "utf-8", "surrogateescape"))


def each(packed: bytes | memoryview, axes: int, value_of: Callable[[memoryview], Any]) -> list[Any]:
    """The result for each of the values, which have so many axes before them."""
    (count,) = _ONE.unpack_from(packed)
    ends = Struct(f"<{count + 1}I").unpack_from(packed, _ONE.size)
    data = memoryview(packed)[_ONE.size * (count + 2) :]
    rows = [data[begin:end] for begin, end in pairwise(ends)]
    return [each(row, axes - 1, value_of) for row in rows] if axes > 1 else list(map(value_of, rows))

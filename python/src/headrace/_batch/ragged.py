"""Arrays of a batch that differ in their first extent, over one memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy


class Ragged(list[Any]):
    """The arrays of a field with `batch(ragged=…)`, one per row: a list.

        boxes = batch["boxes"]  # [float32 [3, 4], float32 [0, 4], …]
        boxes.values, boxes.offsets  # float32 [3, 4] of all, int64 [0, 3, 3, …]

    Attributes:
        values: the arrays of all rows, one after the other; the list's are views of it.
        offsets: where each begins there, and the end of the last.
    """

    __slots__ = ("offsets", "values")
    values: Any
    offsets: Any

    def apply(self, change: Any) -> Ragged:
        """The same rows over other values, such as those of a whole batch on another device.

            boxes = batch["boxes"].apply(torch.from_numpy)

        Args:
            change: is passed the values of all rows, and returns as many.
        """
        return over(change(self.values), self.offsets)


Ragged.__module__ = "headrace"


def over(values: Any, offsets: Any) -> Ragged:
    """Rows that begin there in the values."""
    made = Ragged([values[begin:end] for begin, end in pairwise(offsets.tolist())])
    made.values, made.offsets = values, offsets
    return made


def unpack(data: memoryview, ends: tuple[int, ...], dtype: Any, inner: tuple[int, ...]) -> Ragged:
    """The rows that end at these bytes. Their memory is theirs: the frame they came in is gone with the next one."""
    values = numpy.frombuffer(bytearray(data), dtype).reshape(-1, *inner)
    size = values.dtype.itemsize
    for n in inner:
        size *= n
    return over(values, numpy.array(ends, dtype=numpy.int64) // size)

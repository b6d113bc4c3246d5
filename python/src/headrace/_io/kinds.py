"""What functions of `headrace.io` accept, for annotations. Nothing imports it at run time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy

from ..errors import MediaError, MemoryRefused
from .packets import Packets


class Readable(Protocol):
    def read(self) -> bytes:
        """All that is left of a file."""


class Writable(Protocol):
    def write(self, data: bytes, /) -> Any:
        """Append to a file."""


Array = numpy.ndarray[Any, Any]
Path = str | os.PathLike[str] | os.PathLike[bytes]
Source = Path | bytes | bytearray | memoryview | Array | Readable | Packets
Filter = Literal["bilinear", "box", "hamming", "bicubic", "lanczos", "nearest"]
Failed = dict[int, MediaError | OSError | MemoryRefused]
Seconds = float | str | Decimal | Fraction | tuple[int, int]
Streams = str | int | Iterable[str | int]

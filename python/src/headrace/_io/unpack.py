"""Several arrays in one result of the engine."""

from __future__ import annotations

import json
from typing import Any

import numpy


def unpack(data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a result by their names, which share its memory, and what is said about them."""
    size = int.from_bytes(data[:8].tobytes(), "little")
    said = json.loads(data[8 : 8 + size].tobytes())
    arrays = {}
    for one in said["arrays"]:
        dtype = numpy.dtype(one["dtype"])
        count = 1
        for extent in one["shape"]:
            count *= extent
        arrays[one["name"]] = data[one["at"] : one["at"] + count * dtype.itemsize].view(dtype).reshape(one["shape"])
    return arrays, said.get("about", {})

"""Imports NumPy on first use, because that is most of the start of a process without arrays."""

from __future__ import annotations

import importlib.util
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Now, not when it is imported: by then the path may end in a folder of data, where
# anything may have that name.
if importlib.util.find_spec("numpy") is None:
    raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

_LONG = 16 << 10  # bytes that take longer to copy than NumPy takes to begin


class _NumPy:
    """Has the module's attributes."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = self.__dict__[name] = getattr(numpy, name)  # is found there from now on
        return value


np: Any = _NumPy()


def is_array(value: Any) -> bool:
    """Whether a value is a NumPy array. Without NumPy imported, none is."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, getattr(numpy, "ndarray", ()))  # another thread may be importing it


def is_number(value: Any) -> bool:
    """Whether a value is a NumPy number, with a dtype."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, getattr(numpy, "generic", ()))


def copy(data: Any, memory: memoryview) -> None:
    """Copy bytes into memory of their size, without the GIL if there are many."""
    if len(data) <= _LONG:
        memory[:] = data
    else:
        np.frombuffer(memory, np.uint8)[...] = np.frombuffer(data, np.uint8)

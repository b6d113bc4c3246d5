"""The function of the user, and what tells names of samples: by name, or from a pickle."""

from __future__ import annotations

import importlib
import os

from .errors import Misfit
from .types import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def load(function: str, pickled: memoryview | bytes | None) -> Any:
    """A function of the user's, from its pickle, or imported as `module:name`."""
    if pickled is not None:
        import pickle

        return pickle.loads(pickled)
    module, _, name = function.partition(":")
    if not name:
        raise ValueError(f"{function!r} is not the name of a function: write module:function")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def name_of(keys: Any) -> Callable[[int], str]:
    """What tells a sample's name by its number."""
    find = keys if callable(keys) else keys.__getitem__

    def name(index: int) -> str:
        found = find(index)
        if not isinstance(found, (str, bytes, os.PathLike)):
            raise Misfit("key", f"keys has {told(found)} as the name of sample {index}: must be text")
        return found if type(found) is str else os.fsdecode(found)

    return name

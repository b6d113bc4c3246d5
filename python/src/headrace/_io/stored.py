"""Objects of stores, for functions that read files themselves: the engine brings all of their bytes."""

from __future__ import annotations

import os
from typing import Any

from .._recipe.arguments import in_store, shown
from .source import source_of
from .tasks import done, task

_MOST = 4 << 30  # bytes of an object, which is in memory as a whole


def is_stored(src: Any) -> bool:
    """Whether a source is a name such as `s3://bucket/a.npy`, and neither a path nor bytes."""
    return isinstance(src, (str, os.PathLike)) and in_store(os.fsdecode(src))


def stored(name: str, src: Any) -> tuple[memoryview, str]:
    """The bytes of such an object, for a function of this name, and how errors name it."""
    source = source_of(name, src, None)
    return memoryview(done(name, task("get", {}, _MOST), [source])), repr(shown(os.fsdecode(src)))

"""What inflates, and sums up: ISA-L, which takes half of zlib's time, and a twelfth for checksums; zlib in a clone without `isal`."""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any

try:
    _by: Any = import_module("isal.isal_zlib")
except ImportError:
    _by = zlib

crc32 = _by.crc32
decompressobj = _by.decompressobj
Error: type[Exception] = _by.error

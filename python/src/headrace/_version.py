"""The package's version: that of the engine's sources, which alone state it."""

from __future__ import annotations

import pathlib
import re
from importlib import metadata


def _find() -> str:
    source = pathlib.Path(__file__).resolve().parents[3] / "internal" / "version" / "version.go"
    if source.is_file():  # a source tree, perhaps with another version installed beside it
        match = re.search(r'const Version = "([^"]+)"', source.read_text("utf-8"))
        if match:
            return match[1]
    return metadata.version("headrace")


__version__ = _find()

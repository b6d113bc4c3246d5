"""Places of many sources in a state: packed, as text. They differ in little, and a state is saved often."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MANY = 16  # sources that a state names one by one
_START = "zlib:"  # and base64, of JSON
_MOST = 1 << 26  # bytes of it


def packed(state: dict[str, Any]) -> dict[str, Any]:
    """A state as programs get it. Lanes of a source do not make many."""
    names = {name.partition("@")[0] for name in state["sources"]}
    if len(names) <= _MANY:
        return state
    text = json.dumps(state["sources"], separators=(",", ":"), sort_keys=True)
    return {**state, "sources": _START + base64.b64encode(zlib.compress(text.encode(), 9)).decode()}


def unpacked(places: str) -> Any:
    """The places of sources that were packed.

    Raises:
        ValueError: if they were not.
    """
    if not places.startswith(_START):
        raise ValueError(f"text that does not begin with {_START!r}")
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(base64.b64decode(places[len(_START) :], validate=True), _MOST)
        if not stream.eof:
            raise ValueError("cut off" if len(text) < _MOST else f"more than {_MOST} bytes")
        return json.loads(text)
    except (binascii.Error, zlib.error, UnicodeDecodeError, RecursionError) as e:
        raise ValueError(str(e)) from None

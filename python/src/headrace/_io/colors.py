"""The colours of a file that is saved, as options of its encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import MediaError

# By FFmpeg's names: matrix, primaries, transfer. BT.601 has the same transfer for both of its line counts.
_COLORS = {
    "bt601": ("smpte170m", "smpte170m", "smpte170m"),
    "smpte170m": ("smpte170m", "smpte170m", "smpte170m"),
    "bt470bg": ("bt470bg", "bt470bg", "smpte170m"),
    "bt709": ("bt709", "bt709", "bt709"),
    "bt2020": ("bt2020nc", "bt2020", "bt2020-10"),
}
_RANGES = {"limited": "tv", "full": "pc"}


def with_colors(name: str, color: Any, range_: Any, given: Any) -> Any:
    """The options, which may name primaries and transfer of their own, such as `"color_trc": "smpte2084"`."""
    for argument, value, known in (("color", color, _COLORS), ("range", range_, _RANGES)):
        if value is not None and (not isinstance(value, str) or value not in known):
            raise MediaError(f"headrace: {name}: {argument} is {value!r}: must be {', '.join(map(repr, known))}")
    named: dict[str, Any] = {}
    if color is not None:
        named |= zip(("colorspace", "color_primaries", "color_trc"), _COLORS[color], strict=True)
    if range_ is not None:
        named["color_range"] = _RANGES[range_]
    if not named or (given is not None and not isinstance(given, Mapping)):
        return given
    for option, argument, value in (("colorspace", "color", color), ("color_range", "range", range_)):
        if value is not None and option in (given or {}):
            raise MediaError(f"headrace: {name}: has both {argument} and the option {option}: give {argument} alone")
    return named | dict(given or {})

"""Defaults of `loader()` for this process."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_said: dict[str, Any] = {}


def said(name: str, otherwise: Any) -> Any:
    """The default of an argument."""
    return _said.get(name, otherwise)


def change(given: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Set defaults, and return the previous ones of the same names."""
    for name in given:
        if name not in names:
            raise RecipeError(f"headrace: defaults: {name!r} is not one of {', '.join(names)}")
    before = {name: _said.get(name) for name in given}
    for name, value in given.items():
        if value is None:
            _said.pop(name, None)
        else:
            _said[name] = value
    return before

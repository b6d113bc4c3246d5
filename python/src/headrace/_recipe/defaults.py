"""What `loader()` takes in this process where a program does not say."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_said: dict[str, Any] = {}


def said(name: str, otherwise: Any) -> Any:
    """What was said of an argument."""
    return _said.get(name, otherwise)


def change(given: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Say something of arguments of these names, and return what was said before of those given."""
    for name in given:
        if name not in names:
            raise RecipeError(f"headrace: defaults: {name!r} is none of {', '.join(names)}")
    before = {name: _said.get(name) for name in given}
    for name, value in given.items():
        if value is None:
            _said.pop(name, None)
        else:
            _said[name] = value
    return before

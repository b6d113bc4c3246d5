"""What `loader()` is given, with the defaults of a recipe and of this process, as the engine's configuration."""

from __future__ import annotations

import os

from ..errors import RecipeError
from .arguments import absolute, byte_count, count_or_share, from_environment, integer, optional, seconds_of, truth
from .functions import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_said: dict[str, Any] = {}


_USUAL = {"order": "input", "on_error": "raise", "fuse": True, "jpeg": "headrace"}  # others are None
_PLAIN = ("order", "on_error", "jpeg")
_READ: dict[str, Callable[[str, Any], Any]] = {
    "epochs": optional,
    "workers": optional,
    "memory": byte_count,
    "hold_limit": byte_count,
    "max_errors": count_or_share,
    "steps_per_epoch": optional,
    "stall_after": seconds_of,
    "dead_letters": absolute,
    "fuse": truth,
    "uneven": truth,
    "tune": truth,
    "prefetch": optional,
    "every": seconds_of,
}
_RANKS = {"rank": ("RANK", 0, 0), "world_size": ("WORLD_SIZE", 1, 1), "local_world_size": ("LOCAL_WORLD_SIZE", 1, 1)}


def settings(given: dict[str, Any], own: dict[str, Any]) -> tuple[dict[str, Any], float | None, Any]:
    """A configuration for the engine; the seconds between calls of hooks; and the hooks of the process.

    Args:
        given: the arguments that `loader()` was given.
        own: the recipe's defaults, which precede the process's.
    """
    said = {**_USUAL, **_said, **own, **given}
    if isinstance(said["on_error"], str) and given.get("on_error") == "raise" and "max_errors" not in given:
        said["max_errors"] = None  # what the recipe says of skip
    config: dict[str, Any] = {name: plain(name, said[name]) for name in _PLAIN}
    for name, (variable, otherwise, least) in _RANKS.items():
        config[name] = from_environment(name, given.get(name), os.environ.get(variable), otherwise, least)
    for name, read in _READ.items():
        config[name] = read(name, said.get(name))
    config["dead_letters_own"] = "dead_letters" not in given

    every = config.pop("every")
    if every is not None and every <= 0:
        raise RecipeError(f"headrace: every is {every:g}: must be seconds above 0")
    if config["prefetch"] is None:
        del config["prefetch"]
    if config["jpeg"] == _USUAL["jpeg"]:
        del config["jpeg"]
    for name in ("uneven", "tune"):
        if not config[name]:
            del config[name]
    if given.get("world_size") == 1 and given.get("rank") is None:
        config["rank"] = 0  # said outright that nobody shares the source, in whatever environment
    return config, every, _said.get("hooks", ())


def served_at(metrics: str | None) -> str | None:
    """Where a loader's metrics are served; None: nowhere."""
    for said in (metrics, _said.get("metrics"), os.environ.get("HEADRACE_METRICS")):
        if said is not None:
            return plain("metrics", said) or None
    return None


def page_at(page: bool | int | None) -> int | None:
    """The port of a loader's live page, 0 for any that is free; None: there is no page."""
    for given in (page, _said.get("page")):
        if given is not None:
            return 0 if given is True else port_of("page", given) if given else None
    text = os.environ.get("HEADRACE_PAGE", "")
    if text in ("", "0"):
        return None
    if text in ("1", "any"):
        return 0
    return port_of("HEADRACE_PAGE", int(text) if text.isascii() and text.isdigit() else text)


def port_of(name: str, given: Any) -> int:
    """A port, if it is one."""
    if isinstance(given, bool) or not hasattr(given, "__index__") or not 1 <= integer(name, given) <= 65535:
        raise RecipeError(f"headrace: {name} is {given!r}: must be True for any port that is free, or a port from 1 to 65535")
    return integer(name, given)


def said(name: str) -> Any:
    """What this process says of an argument of `loader()`; None: nothing."""
    return _said.get(name)


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

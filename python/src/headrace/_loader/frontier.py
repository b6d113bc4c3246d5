"""State records: where a run is, and which run."""

from __future__ import annotations

import json
import re
from operator import index

from ..errors import StateMismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Place = tuple[int, str, int, tuple[int, ...]]  # of one sample: epoch, source, position, index and output

_PLACE = ("batches", "sources", "merges", "parts", "aggregates", "dropped", "replaced", "errors")  # what BATCH brings of a record

_EMPTY = {"batches": 0, "sources": {}, "merges": {}, "parts": [], "aggregates": {}, "dropped": 0, "replaced": 0, "errors": {}}
_EMPTY_SOURCE = {"samples": 0, "position": 0, "ahead": [], "lost": [], "open": [], "done": []}

_VERSION = 2  # of records, whose keys these are
_KEYS = ("version", "order", "recipe", "world_size", "rank", "epoch", "sources")
_READ = {*_KEYS, *_PLACE, "decoder", "in_step", "steps", "files", "quarantine"}


class Frontier:
    """A place between two batches: everything before it was returned or lost."""

    __slots__ = ("epoch", "inside", "place")

    def __init__(self, epoch: int, place: bytes = b"", inside: bool = False) -> None:
        self.epoch = epoch
        self.place = place  # JSON, as BATCH brings it; empty: the beginning of the epoch
        self.inside = inside  # a loop has taken batches of this epoch, and there are more

    @classmethod
    def of(cls, state: dict[str, Any]) -> Frontier:
        """The place that a record names."""
        return cls(state["epoch"], json.dumps({key: state[key] for key in _PLACE if key in state}).encode())


class Identity:
    """What a run must share with the one whose state it loads, and what makes a record its own."""

    def __init__(self, beginning: dict[str, Any]) -> None:
        self._keys = {key: value for key, value in beginning.items() if key not in _PLACE and key != "quarantine"}
        self._beginning = json.dumps({key: beginning[key] for key in _PLACE if key in beginning}).encode()
        self._samples = {name: (source["samples"], source.get("of")) for name, source in beginning["sources"].items()}

    def place(self, frontier: Frontier) -> dict[str, Any]:
        """A record's description of a place."""
        place: dict[str, Any] = json.loads(frontier.place or self._beginning)
        return place

    def record(self, frontier: Frontier, lost: Iterable[Place], quarantine: list[int]) -> dict[str, Any]:
        """The state record of this run at a place.

        It always has all keys: checkpoint libraries read only those that the record has when they load.
        """
        place = {**_EMPTY, **self.place(frontier)}
        sources = place["sources"] = {name: {**_EMPTY_SOURCE, **source} for name, source in place["sources"].items()}
        for source in sources.values():
            source["lost"] = []
        for name, position in {(name, position) for epoch, name, position, _ in lost if epoch == frontier.epoch}:
            if _counts(sources[name], position):
                sources[name]["lost"].append(position)
        for source in sources.values():
            source["lost"].sort()
        return {**self._keys, "epoch": frontier.epoch, **place, "quarantine": list(quarantine)}

    def own(self, state: dict[str, Any]) -> bool:
        """Whether a record is of this rank in this world size."""
        return all(state[key] == self._keys[key] for key in ("world_size", "rank"))

    def alike(self, state: dict[str, Any]) -> bool:
        """Whether a record is so much like this run's that the engine need not be asked."""
        samples = {name: (source["samples"], source.get("of")) for name, source in state.get("sources", {}).items()}
        keys = ("version", "order", "recipe", "world_size", "rank")
        same = all(state.get(key) == self._keys[key] for key in keys) and state.get("files") == self._keys.get("files")
        return samples == self._samples and same

    def warning(self, state: dict[str, Any]) -> str:
        """What will differ from the run that saved a state."""
        if _pixels(state.get("decoder")) == _pixels(self._keys.get("decoder")):
            return ""
        return (
            f"headrace: the state was saved with the decoder {state.get('decoder')!r}, this run has {self._keys.get('decoder')!r}:"
            " pixels may differ by a few levels from here on"
        )


def _pixels(decoder: Any) -> str:
    """What pixels depend on in decoders' names; a decoder after a plus makes the same."""
    return re.sub(r"\+\S*", "", str(decoder))


def whole(state: Any) -> dict[str, Any]:
    """A state as JSON, with all its possible keys, sharing nothing. The engine says whether it fits a run."""
    try:
        items = dict(state.items())
    except (AttributeError, TypeError, ValueError):
        raise _none(f"it is {_short(state)}: must be what state_dict() returned") from None
    found = {key: _plain(key, value) for key, value in items.items() if key in _READ and value is not None}
    if isinstance(found.get("sources"), str):
        from .packed import unpacked

        try:
            found["sources"] = _plain("sources", unpacked(found["sources"]))
        except ValueError as e:
            raise _none(f"its sources are {_short(found['sources'])}: must be as they were saved, but are {e}") from None
    _check_keys(found)
    _check_place(found)
    return found


def _none(why: str) -> StateMismatch:
    return StateMismatch(f"headrace: this is not a loader state: {why}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}…"


def _plain(name: str, value: Any) -> Any:
    """A value as JSON; keys with None are left out."""
    if hasattr(value, "tolist"):  # NumPy's, PyTorch's
        value = value.tolist()
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(name, item) for item in value]
    if hasattr(value, "items"):
        if not all(isinstance(key, str) for key in value):
            raise _none(f"its {name} has keys that are not text")
        return {key: _plain(key, item) for key, item in value.items() if item is not None}
    try:
        return index(value)
    except TypeError:
        raise _none(f"its {name} is {_short(value)}: must be whole numbers, text, and lists and mappings of them") from None


def _check_keys(state: dict[str, Any]) -> None:
    """Raise StateMismatch if a record lacks a required key. The engine checks those of other versions."""
    missing = [key for key in _KEYS if key not in state]
    if missing and state.get("version") in (None, _VERSION):
        raise _none(f"it has no {', '.join(map(repr, missing))}")


def _check_place(state: dict[str, Any]) -> None:
    """Raise StateMismatch if a plain record is impossible."""
    for key in ("epoch", "batches", "replaced"):
        _check_count(key, state.get(key, 0))
    dropped = state.get("dropped", 0)
    _check_count("dropped", abs(dropped) if type(dropped) is int else dropped)  # below 0 where several samples were made of one
    _check_list("quarantine", state.get("quarantine", []))
    steps = state.get("steps", [])
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise _none(f"its steps are {_short(steps)}: must be a list of texts")
    for key in ("sources", "merges"):
        places = state.get(key, {})
        if not isinstance(places, dict) or not all(isinstance(place, dict) for place in places.values()):
            raise _none(f"its {key} are {_short(places)}: must be places by name")
        if key == "sources" and key in state and not (places and all("samples" in place for place in places.values())):
            raise _none(f"its {key} are {_short(places)}: must be places with how many samples there are")
        for place in places.values():
            for count in ("samples", "position", "low"):
                _check_count(count, place.get(count, 0))
            for several in ("of", "lost", "open"):
                _check_list(several, place.get(several, []))
            for several in ("ahead", "done"):
                _check_list(several, place.get(several, []), ranges=True)
    aggregates = state.get("aggregates", {})
    if not isinstance(aggregates, dict) or not all(isinstance(memory, dict) for memory in aggregates.values()):
        raise _none(f"its aggregates are {_short(aggregates)}: must be what they remember by stage")
    for stage, memory in aggregates.items():
        _check_count(f"number of groups of {stage}", memory.get("groups", 0))
        if not isinstance(memory.get("state", ""), str):
            raise _none(f"its aggregate {stage} remembers {_short(memory['state'])}: must be text")
    errors = state.get("errors", {})
    if not isinstance(errors, dict):
        raise _none(f"its errors are {_short(errors)}: must be numbers by stage")
    for stage, count in errors.items():
        _check_count(f"number of errors in {stage}", count)
    parts = state.get("parts", [])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise _none(f"its parts are {_short(parts)}: must be a list of places")


def _check_count(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value <= 1 << 53:  # which every reader of JSON has exactly
        raise _none(f"its {name} is {_short(value)}: must be a whole number, at least 0")


def _check_list(name: str, value: Any, ranges: bool = False) -> None:
    what = "pairs of whole numbers" if ranges else "whole numbers"
    if not isinstance(value, list) or (ranges and not all(isinstance(item, list) and len(item) == 2 for item in value)):
        raise _none(f"its {name} is {_short(value)}: must be a list of {what}")
    for item in value:
        for number in item if ranges else [item]:
            _check_count(name, number)


def _counts(source: dict[str, Any], position: int) -> bool:
    """Whether a place counts a position of its epoch as lost."""
    return (
        position < source["position"]
        or any(begin <= position < end for begin, end in source.get("ahead", ()))
        or position in source.get("open", ())
    )


def lost_in(state: dict[str, Any]) -> set[Place]:
    """The samples that a record counts as lost; it does not say which of their outputs."""
    epoch = state["epoch"]
    return {(epoch, name, position, ()) for name, source in state["sources"].items() for position in source.get("lost") or ()}

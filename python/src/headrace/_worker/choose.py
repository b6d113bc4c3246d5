"""The function or object that says which source of a mix is next."""

from __future__ import annotations

import copy
import functools
import json
import types
from operator import index

from . import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)  # which remember nothing


class Chooser:
    """Has the user's function, or an object for each lane, choose the sources of turns."""

    def __init__(self, given: Any, name: str) -> None:
        """`given` is the function, the object, or a class whose objects choose; `name` is its name for people."""
        self._given = given
        self._name = name
        inner = given
        while isinstance(inner, functools.partial):
            inner = inner.func
        self._remembers = not isinstance(inner, _FUNCTIONS)
        self._lanes: dict[int, tuple[Any, Course]] = {}  # the epoch of each, with what it said last, and how it goes on

    def __call__(self, asked: str) -> str:
        request = json.loads(asked)
        epoch, lane, said = request["epoch"], request["lane"], request.get("said")
        last, course = self._lanes.pop(lane, (None, None))
        # What it is given is what it said, unless another worker did, or another run, or an epoch begins.
        if course is None or last != (epoch, json.dumps(said)):
            course = self._course(request["names"], said)
        sources = [course.choose(turn) for turn in request["turns"]]
        says: dict[str, Any] = {"given": list(course.given.values())}
        if self._remembers and states.is_stateful(course.chooser):
            says["object"] = json.loads(self._state_of(course.chooser))
        self._lanes[lane] = (epoch, json.dumps(says)), course
        return json.dumps({"sources": sources, "says": says})

    def _course(self, names: list[str], said: dict[str, Any] | None) -> Course:
        """How a lane goes on after what was said, or begins an epoch."""
        chooser = self._given
        if isinstance(chooser, type):
            chooser = chooser()
        elif self._remembers:
            chooser = copy.deepcopy(chooser)
        if not callable(chooser):
            raise TypeError(f"{self._name} cannot be called: choose must be a function, or have __call__(turn, given)")
        if said is None:
            return Course(chooser, dict.fromkeys(names, 0))
        if self._remembers:
            if "object" not in said or not states.is_stateful(chooser):
                text = "what it remembers cannot be restored within an epoch: begin at an epoch, or give it both"
                raise TypeError(f"{self._name} has no state_dict() and load_state_dict(state): {text}")
            chooser.load_state_dict(states.loads(json.dumps(said["object"]).encode()))
        return Course(chooser, dict(zip(names, said["given"])))

    def _state_of(self, chooser: Any) -> str:
        try:
            text = states.dumps(chooser.state_dict())
        except (TypeError, ValueError) as e:
            raise TypeError(f"state_dict() of {self._name} must be plain JSON, arrays, tensors and bytes: {e}") from None
        if len(text) > states.MOST_STATE:
            raise ValueError(f"state_dict() of {self._name} has {len(text)} bytes as JSON: must be at most {states.MOST_STATE}")
        return text


class Course:
    """A lane's turns, one after the other."""

    def __init__(self, chooser: Any, given: dict[str, int]) -> None:
        self.chooser = chooser
        self.given = given  # samples of each source, in the epoch so far
        self._names = list(given)
        self._numbers = {name: i for i, name in enumerate(given)}
        self._shown: Mapping[str, int] = types.MappingProxyType(given)

    def choose(self, turn: int) -> int:
        """The number of the source of a turn."""
        choice = self.chooser(turn, self._shown)
        number = self._numbers.get(choice) if isinstance(choice, str) else self._number(choice)
        if number is None:
            names = ", ".join(map(repr, self._names))
            what = f"{choice!r} for turn {turn}: must be the name of a source or its number"
            raise ValueError(f"choose returned {what}: {names}, or 0 to {len(self._names) - 1}")
        self.given[self._names[number]] += 1
        return number

    def _number(self, choice: Any) -> int | None:
        try:
            number = index(choice)
        except TypeError:
            return None
        return number if 0 <= number < len(self._names) else None

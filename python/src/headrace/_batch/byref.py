"""Objects that cannot be pickled, and that stay in the program: what travels in place of one is a number (docs/protocol.md, "Objects")."""

from __future__ import annotations

import os
import threading
import weakref
from struct import Struct

from ..errors import WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = Struct("<IIQ16s")  # 0, 1, the number, and whose it is; then what it is, for people


class Kept:
    """The objects that functions have returned, until the engine says that nobody needs them."""

    def __init__(self) -> None:
        self._name = os.urandom(16)
        self._lock = threading.Lock()
        self._objects: dict[int, Any] = {}
        self._last = 0
        _all[self._name] = self

    def keep(self, value: Any, why: str) -> tuple[int, bytes]:
        """A number for an object, and the bytes that stand for it."""
        with self._lock:
            self._last += 1
            number = self._last
            self._objects[number] = value
        return number, _HEAD.pack(0, 1, number, self._name) + why.encode("utf-8", "replace")

    def let_go(self, numbers: Any) -> None:
        """Let go of objects. What they do at their end is not done under a lock."""
        for number in numbers:
            self._objects.pop(number, None)

    def clear(self) -> None:
        """Let go of all."""
        self.let_go(list(self._objects))

    def find(self, number: int) -> Any:
        """The object."""
        return self._objects[number]


_all: weakref.WeakValueDictionary[bytes, Kept] = weakref.WeakValueDictionary()


class Elsewhere(WrongType):
    """An object that is in another process, or no longer there."""


def stands_for(data: memoryview) -> bool:
    """Whether bytes stand for an object that is kept."""
    return len(data) >= _HEAD.size and bytes(data[:8]) == b"\0\0\0\0\1\0\0\0"


def object_of(data: memoryview) -> Any:
    """The object."""
    _, _, number, name = _HEAD.unpack_from(data)
    try:
        return _all[name].find(number)
    except KeyError:
        why = str(data[_HEAD.size :], "utf-8", "replace")
        raise Elsewhere(f'{why}. It stays in the program: write where="here" for the step that takes it, too') from None

"""What a forked child must do before any of its own code runs.

A child shares the parent's memory segments and sockets. It must neither write into batches that the parent holds nor speak on its
connections. So everything that is shared registers here, and is made private, or closed, in the child.
"""

from __future__ import annotations

import os
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Shared(Protocol):
        def after_fork(self) -> None:
            """Make the child's copy harmless."""


_shared: weakref.WeakValueDictionary[int, Shared] = weakref.WeakValueDictionary()
kept: list[Shared] = []  # likewise for the whole life of the process, and in the children of children


def share(thing: Shared) -> None:
    """Have `thing.after_fork()` called in every forked child, while the thing lives."""
    _shared[id(thing)] = thing


def shared() -> int:
    """How many things are shared now."""
    return len(_shared)


def _in_child() -> None:
    for thing in [*_shared.values(), *kept]:
        thing.after_fork()
    _shared.clear()  # A private copy is not made private again: that would undo what the child wrote.


os.register_at_fork(after_in_child=_in_child)

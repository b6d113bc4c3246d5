"""Segments of shared memory that the program owns. A worker that attaches to one must not unlink it.

Python's resource tracker notes each segment that a process opens, by name, and unlinks what is left when that process ends, also those of
others. (From Python 3.13 on `track=False` says otherwise, which programs that ran before do not say.)
"""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULE = "multiprocessing.shared_memory"


def install() -> None:
    """Have segments that this process only attaches to left alone, once their module is imported."""
    if _MODULE in sys.modules:
        _mend(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Import())


class _Import:
    """An importer that finds nothing, but learns when the module is imported."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != _MODULE:
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        loader: Any = spec and spec.loader
        if loader is not None:
            load = loader.exec_module

            def exec_module(module: Any) -> None:
                del loader.exec_module
                load(module)
                _mend(module)

            loader.exec_module = exec_module
        return spec


class _Tracker(threading.local):
    """The module's resource tracker, but for segments that are attached to."""

    def __init__(self, tracker: Any) -> None:
        self.attaching = False
        self._tracker = tracker

    def register(self, name: str, kind: str) -> None:
        if not self.attaching:
            _made.add(name)
            self._tracker.register(name, kind)

    def unregister(self, name: str, kind: str) -> None:
        if name in _made:
            _made.discard(name)
            self._tracker.unregister(name, kind)


_made: set[str] = set()  # segments of this process


def _mend(module: Any) -> None:
    tracker = module.resource_tracker = _Tracker(module.resource_tracker)
    begin = module.SharedMemory.__init__

    def __init__(self: Any, name: str | None = None, create: bool = False, size: int = 0, **options: Any) -> None:
        tracker.attaching = not create
        try:
            begin(self, name, create, size, **options)
        finally:
            tracker.attaching = False

    module.SharedMemory.__init__ = __init__

"""What the import of modules leaves in a process that workers which are forked from it would share, or lack."""

from __future__ import annotations

import os
import random
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_LIBRARIES = os.path.dirname(os.__file__) + os.sep, os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep


class Traces:
    """What there is before anything of the user's is imported, and what has come since."""

    def __init__(self) -> None:
        random.random()  # from now on the first few hundred draws do not change what `_seed` returns
        self.seed = _seed()
        self.numpy: Any = None  # numpy.random, once that is imported
        self.numpy_seed = b""
        if "numpy.random" in sys.modules:
            self._note(sys.modules["numpy.random"])
        else:
            sys.meta_path.insert(0, _Watch(self._note))
        self.modules = set(sys.modules)
        self.descriptors = _descriptors()
        self.shared = _shared_memory()

    def left(self, workers: set[int], own: Iterable[int]) -> str:
        """Why workers must not be forked, as what a module does; empty: they may.

        `workers` are those that there are, and `own` descriptors that nobody shares with them.
        """
        if threads():
            return "starts a thread"
        if _children() - workers:
            return "starts a process"
        if new := _descriptors() - self.descriptors - set(map(str, own)):
            return f"leaves a file or socket open ({', '.join(sorted(map(_target, new)))})"
        if new := _shared_memory() - self.shared:
            return f"maps shared memory ({', '.join(sorted(new))})"
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            return "ignores SIGCHLD"
        if _seed() != self.seed or (self.numpy is not None and _numpy_seed(self.numpy) != self.numpy_seed):
            return "seeds a global generator of random numbers"
        if self.numpy is None and "numpy.random" in sys.modules:
            return "imports numpy.random in its own way, so it may not be seeded"
        if name := self._generator():
            return f"makes a generator of random numbers ({name}), which would be the same in all workers"
        return ""

    def renew(self) -> None:
        """Have a worker draw other numbers than the rest, as `random` does by itself."""
        if self.numpy is not None:
            self.numpy.seed()

    def _note(self, numpy: Any) -> None:
        """numpy.random was imported, and nobody has used it yet."""
        self.numpy = numpy
        numpy.random_sample()
        self.numpy_seed = _numpy_seed(numpy)

    def _generator(self) -> str:
        """A generator in a module of the user's: its name."""
        kinds: tuple[type, ...] = (random.Random,)
        if self.numpy is not None:
            kinds += (self.numpy.Generator, self.numpy.RandomState, self.numpy.BitGenerator)
        for name in set(sys.modules) - self.modules:
            module = sys.modules[name]
            file = getattr(module, "__file__", None) or _LIBRARIES[0]
            if file.startswith(_LIBRARIES[0]) or any(folder in file for folder in _LIBRARIES[1:]):
                continue
            for variable, value in list(vars(module).items()):
                kind = type(value)
                if issubclass(kind, kinds) and kind is not random.SystemRandom:
                    return f"{name}.{variable}"
        return ""


class _Watch:
    """Tells when numpy.random is imported: an importer of Python's that finds nothing else."""

    def __init__(self, imported: Callable[[Any], None]) -> None:
        self._imported = imported

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """What Python asks importers for."""
        if name != "numpy.random":
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        loader: Any = spec and spec.loader
        if loader is None:
            return None
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            del loader.exec_module
            load(module)
            self._imported(module)

        loader.exec_module = exec_module
        return spec


def _seed() -> Any:
    """What changes when somebody seeds the global generator: a seed is often meant to be the same in all workers."""
    return random.getstate()[1][:-1]


def _numpy_seed(numpy: Any) -> bytes:
    """The same, of NumPy's."""
    return numpy.get_state()[1].tobytes()  # type: ignore[no-any-return]


def threads() -> bool:
    """Whether there are more threads than this one."""
    return len(os.listdir("/proc/self/task")) > 1


def _children() -> set[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as pids:
            return set(map(int, pids.read().split()))
    except FileNotFoundError:
        return set()  # a kernel that does not tell


def _descriptors() -> set[str]:
    return {fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")}


def _target(fd: str) -> str:
    """What a descriptor is of."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return fd


def _shared_memory() -> set[str]:
    """What is mapped so that others see what is written there."""
    with open("/proc/self/maps", errors="replace") as maps:
        parts = [line.rstrip("\n").split(maxsplit=5) for line in maps]
    return {part[5] for part in parts if part[1][3] == "s"}

"""Tells what importing the modules of functions runs. Loaders for which it is the same share the process that imports them."""

from __future__ import annotations

import functools
import hashlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_OURS = ("headrace", "numpy", "cloudpickle")


def code_of(modules: Iterable[str]) -> str:
    """A digest of the modules, with the files of all modules that this program has and that are not installed; "" if one is unknown.

    A file that was changed since an earlier loader began has workers import it again. Installed packages stay as they are, so their
    names are enough: a part of a package counts as all of it. Python's own modules, and those of every worker, make no difference.
    """
    names = set()
    for name in modules:
        if name not in sys.modules:
            return ""
        package = name.partition(".")[0]
        if _file(name):
            names.add(name)
        elif package not in sys.stdlib_module_names and package not in _OURS:
            names.add(package)
    digest = hashlib.sha256(repr(sorted(names)).encode())
    for name in sorted(sys.modules):
        file = _file(name)
        if not file:
            continue
        try:
            status = os.stat(file)
        except OSError:
            return ""
        digest.update(repr((name, file, status.st_mtime_ns, status.st_size)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _file(name: str) -> str:
    """The file of a module of the user's own."""
    if name.partition(".")[0] in ("headrace", "__main__", "__mp_main__"):
        return ""
    file = getattr(sys.modules.get(name), "__dict__", {}).get("__file__")
    return file if isinstance(file, str) and not file.startswith(_installed()) else ""


@functools.cache
def _installed() -> tuple[str, ...]:
    """The folders of Python and of packages."""
    import sysconfig

    return tuple({path + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(kind))})

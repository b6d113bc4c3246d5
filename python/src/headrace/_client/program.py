"""Where the engine's program is, and its release.

Only the engine's sources state the version. In a checkout it is read from there; building a wheel writes it into _release.py.
"""

from __future__ import annotations

import os

from ..errors import EngineNotFound

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _release() -> str:
    try:
        with open(os.path.join(PACKAGE, *[os.pardir] * 3, "internal", "version", "version.go"), encoding="utf-8") as source:
            return source.read().split('const Version = "')[1].split('"')[0]
    except (FileNotFoundError, NotADirectoryError):
        from .._release import VERSION  # type: ignore[import-not-found, unused-ignore]  # made by build_engine.py

        return str(VERSION)


VERSION = _release()


def find_program() -> str:
    """The path of the engine: inside this package, or, for development, where HEADRACE_ENGINE says."""
    program = os.environ.get("HEADRACE_ENGINE")
    if program:
        if not os.path.isfile(program):
            raise EngineNotFound(f"headrace: HEADRACE_ENGINE is {program!r}: no such file")
        return os.path.abspath(program)
    program = os.path.join(PACKAGE, "_bin", "headrace")
    if not os.path.isfile(program):
        raise EngineNotFound(
            f"headrace: this package has no engine at {program}: it was not built by `pip install ./python`."
            " In a source tree, `make build` puts it there; or set HEADRACE_ENGINE to a built one"
        )
    return program

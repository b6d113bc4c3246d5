"""What is done in a process before anything of the user's is imported."""

from __future__ import annotations

import os
import sys

from . import log, segments

STACK, LOG = 4, 5  # descriptors
STACK_SIGNAL = 50

_begun: list[object] = []  # what has to live as long as the process


def begin() -> None:
    """Make everything as the user's functions expect it, and import what a worker is made of. Once is enough."""
    if _begun:
        return
    sys.argv[:] = [""]
    import faulthandler

    stack = os.fdopen(STACK, "wb", buffering=0, closefd=False)
    faulthandler.enable(stack)
    faulthandler.register(STACK_SIGNAL, stack)
    _begun.append(stack)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    log.install(LOG)
    segments.install()
    from . import callee, lane, lookup  # noqa: F401

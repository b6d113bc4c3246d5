"""A process of the engine's in which the user's own functions run, started by the engine alone.

The engine's end is the Go package `extern`; docs/protocol.md, section "Workers", says what the two tell each other.
"""

from __future__ import annotations

import sys


def main(own: list[str]) -> None:
    """Serve the engine until it has had enough. What is `own` is imported from last, and only by the user's functions."""
    _leave_signals_to_the_trainer()
    lanes = int(sys.argv[sys.argv.index("--lanes") + 1])
    from ._worker.process import Process

    process = Process(lanes)
    code = 0
    try:
        process.begin(own)
        process.serve()
        process.end()
    except SystemExit:
        code = 1
    finally:
        _leave(code)


def _leave_signals_to_the_trainer() -> None:
    """Ctrl-C and the like are for the trainer, which ends the engine, which ends this.

    They are not ignored, which processes that functions start would inherit: those could not be ended then. A handler is no program's but
    this one's, and what is forked gets the usual ones.
    """
    import os
    import signal

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def as_usual() -> None:
        for number in numbers:
            if signal.getsignal(number) is nothing:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def nothing(*_: object) -> None:
        pass

    for number in numbers:
        signal.signal(number, nothing)
    os.register_at_fork(after_in_child=as_usual)


def _leave(code: int) -> None:
    """End without waiting for threads of the user's, but with what was registered for the end."""
    import atexit
    import os

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)

"""A process of the engine's in which the user's own functions run, started by the engine alone.

The engine's end is the Go package `extern`; docs/protocol.md, section "Workers", says what the two tell each other.
"""

from __future__ import annotations

import sys


def main(own: list[str]) -> None:
    """Serve the engine until it has had enough. What is `own` is imported from last, and only by the user's functions."""
    _leave_signals_to_the_trainer()
    lanes = int(sys.argv[sys.argv.index("--lanes") + 1])
    if "--server" in sys.argv:
        from ._worker.server import serve

        lanes, own = serve(own), []  # in each worker, which goes on here
    _have_signals_for_forks()
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
    this one's.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing)


def _have_signals_for_forks() -> None:
    """What functions fork gets the usual handlers."""
    import os
    import signal

    def as_usual() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is _nothing:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    os.register_at_fork(after_in_child=as_usual)


def _nothing(*_: object) -> None:
    pass


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

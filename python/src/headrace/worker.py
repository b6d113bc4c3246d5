"""A worker process, which runs your functions for the engine. Only the engine starts it.

The Go package `extern` is the other end; docs/protocol.md, section "Workers", describes the messages.
"""

from __future__ import annotations

import sys


def main(own: list[str]) -> None:
    """Serve the engine until it is done. Modules in `own` are for your functions, and imported last."""
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
    """Leave Ctrl-C and the like to the trainer, which ends the engine, which ends this process.

    Signals are handled, not ignored: processes that functions start would inherit that and could not be ended.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing)


def _have_signals_for_forks() -> None:
    """Restore the usual handlers in forked children."""
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
    """Run exit functions and end, without waiting for your threads."""
    import atexit
    import os

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)

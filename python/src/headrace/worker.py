"""A process of the engine's in which the user's own functions run: `python -m headrace.worker`, started by the engine alone.

The engine's end is the Go package `extern`; docs/protocol.md, section "Workers", says what the two tell each other.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Serve the engine until it has had enough."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which ends the engine, which ends this
    lanes = int(sys.argv[sys.argv.index("--lanes") + 1])
    from ._worker_lane import Lane, Process

    process = Process(lanes)
    code = 0
    try:
        process.begin()
        others = [Lane(process, i) for i in range(1, lanes)]
        if others:
            import threading

            threads = [threading.Thread(target=lane.serve, name=f"headrace-{i + 1}", daemon=True) for i, lane in enumerate(others)]
            for thread in threads:
                thread.start()
            process.first.serve()
            for thread in threads:
                thread.join()
        else:
            process.first.serve()
        process.end()
    except SystemExit:
        code = 1
    finally:
        _leave(code)


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


if __name__ == "__main__":
    main()

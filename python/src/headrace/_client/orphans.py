"""Ends what is left of the workers of an engine that died: the kernel ends workers with it, but not what these have started."""

from __future__ import annotations

import os
import signal


def end_marked(mark: str) -> None:
    """Kill the processes that have this mark of an engine in their environment, as its workers and all below these have."""
    entry = f"HEADRACE_WORKER_OF={mark}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            process = os.pidfd_open(int(name))
        except OSError:
            continue  # it has ended, or the limit of descriptors is reached
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:
                marked = entry in environ.read().split(b"\0")
            if marked:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        except OSError:
            pass  # somebody else's, or it has ended meanwhile
        finally:
            os.close(process)

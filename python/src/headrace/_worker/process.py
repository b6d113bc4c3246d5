"""What a worker process is: how it is set up, the lanes that it has, and how it ends."""

from __future__ import annotations

import json
import mmap
import os
import sys

from . import errors
from .connection import Connection, Ended
from .frames import ERROR, PACK, PULL, READY, SEGMENT, SETUP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .lane import Lane

HEAP, STACK, LOG, FIRST_LANE = 3, 4, 5, 6  # descriptors
STACK_SIGNAL = 50
FRAME = 16  # bytes of a frame's header


class Process:
    """What the lanes of a process have in common."""

    def __init__(self, lanes: int) -> None:
        for fd in range(HEAP, FIRST_LANE + lanes):
            os.set_inheritable(fd, False)
        self.connections = [Connection(FIRST_LANE + i) for i in range(lanes)]

    def begin(self, own: list[str]) -> None:
        """Be set up, and say that this is ready, or why it is not."""
        first = self.connections[0]
        kind, payload = first.receive()
        if kind != SETUP:
            raise SystemExit(1)
        self.setup: dict[str, Any] = json.loads(bytes(payload))
        self._surroundings()
        try:
            self.heap = mmap.mmap(HEAP, self.setup["heap"])
            self.heap.madvise(getattr(mmap, "MADV_DONTDUMP", 16))
            from .callee import Callee
            from .lane import Lane
            from .lookup import load

            sys.path += own
            setup = self.setup
            keys = load(setup["keys"], self._part(setup["keys_pickle"])) if setup["keys"] else None
            self.callee = Callee(setup, lambda: load(setup["function"], self._part(setup["pickle"])), keys)
            self._settle()
        except Ended:
            raise
        except BaseException as e:
            first.send(ERROR, json.dumps(errors.describe(e)).encode())
            raise SystemExit(1) from None
        self.lanes = [Lane(self.callee, first, self.heap, setup["cells"][0])]
        first.send(READY, json.dumps({"random": self.callee.random, "concurrent": self.callee.concurrent}).encode())

    def _surroundings(self) -> None:
        """Make everything as the user's function expects it, before anything of the user's is imported."""
        sys.argv[:] = [""]
        import faulthandler

        stack = os.fdopen(STACK, "wb", buffering=0, closefd=False)
        faulthandler.enable(stack)
        faulthandler.register(STACK_SIGNAL, stack)
        self._stack = stack
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        from .log import install

        install(LOG)

    def _part(self, place: list[int] | None) -> memoryview | None:
        """A part of the heap."""
        return memoryview(self.heap)[place[0] : sum(place)] if place is not None else None

    def _settle(self) -> None:
        """What is left to do when all that the function needs was imported."""
        import gc

        gc.freeze()  # what was imported stays, and need not be looked through again
        if "torch" in sys.modules and os.environ.get("OMP_NUM_THREADS") == "1":
            sys.modules["torch"].set_num_threads(1)

    def serve(self) -> None:
        """Do what the engine asks for until it has had enough: one lane in this thread, each other one in a thread of its own."""
        from .lane import Lane

        first, *others = self.connections
        self.lanes += [Lane(self.callee, other, self.heap, cell) for other, cell in zip(others, self.setup["cells"][1:])]
        threads = []
        if others:
            import threading

            arguments = zip(others, self.lanes[1:])
            threads = [threading.Thread(target=serve, args=both, name=f"headrace-{i}", daemon=True) for i, both in enumerate(arguments, 2)]
        for thread in threads:
            thread.start()
        serve(first, self.lanes[0])
        for thread in threads:
            thread.join()

    def end(self) -> None:
        """Let the user's object end."""
        try:
            self.callee.close()
        except Exception as e:
            import logging

            logging.getLogger("headrace.worker").error("close() has failed: %s", errors.describe(e)["traceback"])


def serve(connection: Connection, lane: Lane) -> None:
    """Do what the engine asks for until it has had enough."""
    try:
        while True:
            kind, payload = connection.receive()
            if kind == PACK:
                lane.work(connection.buffer, FRAME, FRAME + len(payload))
            elif kind == SEGMENT:
                _map(connection, lane, payload)
            elif kind != PULL:  # a stream's last ones come after its end
                raise SystemExit(1)
    except (Ended, BrokenPipeError, ConnectionResetError):
        pass
    except SystemExit:
        os._exit(1)
    except BaseException as e:
        # A mistake of ours, not of the user's function.
        try:
            connection.send(ERROR, json.dumps(errors.describe(e)).encode())
        finally:
            sys.stderr.write(errors.describe(e)["traceback"])
            os._exit(1)


def _map(connection: Connection, lane: Lane, payload: memoryview) -> None:
    """Map memory that results may be written into."""
    number, size = int.from_bytes(payload[:4], "little"), int.from_bytes(payload[16:24], "little")
    fd = connection.descriptors.pop(0)
    try:
        lane.spaces[number] = mmap.mmap(fd, size)
    finally:
        os.close(fd)

"""The process that workers are forked from: it has imported what the user's functions need, and calls none of them."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import sys
import time

from . import start
from .connection import Connection
from .errors import Ended
from .frames import ERROR, EXITED, FORK, READY, SESSION, SETUP
from .traces import Traces, threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_ENGINE = 6  # the descriptor of the connection with the engine
_PR_SET_PDEATHSIG = 1


class Server:
    """What the process does: it imports, forks, and tells how workers have exited."""

    def __init__(self) -> None:
        import ctypes

        self.connection = Connection(_ENGINE)
        self.workers: dict[int, int] = {}  # that run, by their pidfds
        self.children: set[int] = set()  # these, and those that were not waited for yet
        self.prctl = ctypes.CDLL(None).prctl
        self.poll = select.poll()
        self.poll.register(_ENGINE, select.POLLIN)
        os.close(os.pidfd_open(os.getpid()))  # fails where it would fail later
        self.traces: Traces | None = None  # there is nothing yet that could leave any

    def serve(self) -> int:
        """Do what the engine asks for. Returns in each worker, with the number of its lanes."""
        while True:
            for fd, _ in self.poll.poll():
                if fd != _ENGINE:
                    self._exited(fd)
                    continue
                lanes = self._ask()
                if lanes:
                    return lanes

    def _ask(self) -> int:
        """Do what the engine has asked for. In a worker that was forked it returns the number of its lanes, else 0."""
        connection = self.connection
        while True:
            kind, payload = connection.receive()
            if kind == SETUP:
                self._import(json.loads(bytes(payload))["imports"])
            elif kind == FORK:
                lanes = int.from_bytes(payload, "little")
                if self._fork():
                    return lanes
            elif kind == EXITED:
                pid = int.from_bytes(payload, "little")
                os.waitpid(pid, 0)
                self.children.discard(pid)
            elif kind != SESSION:  # a descriptor for the next worker
                raise SystemExit(1)
            if not connection.more:
                return 0

    def end(self) -> NoReturn:
        """Wait for all workers, which have ended or are about to, so that no zombies are left, and exit."""
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os._exit(0)

    def _import(self, modules: list[str]) -> None:
        """Import modules. The answer is why workers cannot be forked, if they cannot."""
        why = ""
        began, used = time.perf_counter_ns(), time.process_time_ns()
        for module in modules:
            if module in sys.modules:
                continue
            if module == "numpy":  # is ours, too
                with contextlib.suppress(BaseException):
                    importlib.import_module(module)
                continue
            self.traces = self.traces or Traces()
            # What goes wrong goes wrong in the workers, too, which tell of it.
            with contextlib.suppress(BaseException):
                importlib.import_module(module)
            if left := self.traces.left(self.children, self.workers):
                why = f"importing {module} {left}"
                break
        gc.freeze()  # the collector writes into what it looks through, and what is written is not shared
        took = {"time_ns": time.perf_counter_ns() - began, "cpu_ns": time.process_time_ns() - used}
        self.connection.send(READY, json.dumps({"spawn": why, **took}).encode())

    def _fork(self) -> bool:
        """Fork a worker that has the descriptors which came. Returns whether this is the worker."""
        descriptors, self.connection.descriptors = self.connection.descriptors, []
        try:
            if threads():
                self._refuse(spawn="an imported module has started a thread")
            elif self._forked(os.getpid(), descriptors):
                return True
        except OSError as e:
            self._refuse(errno=e.errno)
        for fd in descriptors:
            os.close(fd)
        return False

    def _forked(self, server: int, descriptors: list[int]) -> bool:
        """Fork, and return whether this is the worker. Raises OSError in the server alone."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(server, descriptors)
            except BaseException:
                os._exit(1)
            return True
        try:
            fd = os.pidfd_open(pid)
        except OSError:  # nobody would learn of the worker
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self.workers[fd] = pid
        self.children.add(pid)
        self.poll.register(fd, select.POLLIN)
        self.connection.send(FORK, _word(pid))
        return False

    def _refuse(self, **why: Any) -> None:
        self.connection.send(ERROR, json.dumps(why).encode())

    def _become_worker(self, server: int, descriptors: list[int]) -> None:
        """Have what a worker has that was started by itself, and nothing else."""
        self.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        os.setpgid(0, 0)
        self.connection.socket.detach()
        for fd in self.workers:
            os.close(fd)
        # Standard output and error, and then those from 3 on. None may take another's number.
        places = (1, 2, *range(3, 1 + len(descriptors)))
        above = max(*descriptors, *places) + 1
        for fd, place in zip([fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in descriptors], places):
            os.dup2(fd, place, inheritable=place < 3)
            os.close(fd)
        for fd in set(descriptors) - set(places):
            os.close(fd)
        if self.traces is not None:
            self.traces.renew()

    def _exited(self, fd: int) -> None:
        """Tell the engine how a worker has exited. Until the engine has answered, no other process gets its number."""
        self.poll.unregister(fd)
        os.close(fd)
        pid = self.workers.pop(fd)
        how = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert how is not None
        status = how.si_status
        if how.si_code == os.CLD_EXITED:
            status <<= 8
        elif how.si_code == os.CLD_DUMPED:
            status |= 0x80
        self.connection.send(EXITED, _word(pid), _word(status))


def serve(own: list[str]) -> int:
    """Be a server, until the engine has had enough. Returns in each worker, with the number of its lanes."""
    start.begin()
    server = Server()
    sys.path += own
    try:
        return server.serve()
    except (Ended, BrokenPipeError, ConnectionResetError):
        server.end()


def _word(value: int) -> bytes:
    return value.to_bytes(8, "little")

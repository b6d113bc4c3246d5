"""Gives each call of `headrace.io` a connection to itself.

A call gives its connection back when it is done; the next call, in any thread, uses it again. So there are as many as calls were under way
at once. While a task is carried out, its thread waits in `poll`, without the GIL.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy

from .._client import failures, fork
from .._client import share as sharing
from .._client.channel import Gone
from .._client.engine import Connection, manager
from .._client.memory import sweep
from ..errors import EngineDied, HeadraceError
from .session import Failures, Input, TaskSession, is_worker

_PATIENCE = 10.0  # seconds after which a connection that nobody needed is closed
_TRIES = 3


class Pool:
    """Lends connections to calls, and opens as many as are needed at once."""

    def __init__(self) -> None:
        self._idle: list[TaskSession] = []  # that given back last, last: its memory is warm
        self._generation = 0
        self._grieving = threading.Lock()

    def do(self, what: bytes, inputs: Sequence[Input], out: numpy.ndarray[Any, Any] | None = None) -> tuple[Any, Failures]:
        """Have a task carried out. One whose engine ends without any fault of its inputs is given to another engine."""
        for attempt in range(_TRIES):
            session = self._borrow()
            try:
                answer = session.do(what, inputs, out)
            except Gone:
                error = self._mourn(session)
                if attempt + 1 == _TRIES or not isinstance(error, EngineDied) or error.in_flight:
                    raise error from None
                continue
            except BaseException:
                session.close()
                raise
            self._give(session)
            return answer
        raise AssertionError("unreachable")

    def _borrow(self) -> TaskSession:
        try:
            return self._idle.pop()
        except IndexError:
            generation = self._generation
            _end_with_the_worker()
            session = TaskSession(sharing.join() or manager.connect())
            session.generation = generation
            return session

    def _give(self, session: TaskSession) -> None:
        if session.generation != self._generation:
            session.close()
            return
        session.used = time.monotonic()
        self._idle.append(session)
        try:
            if session.used - self._idle[0].used <= _PATIENCE:
                return
            oldest = self._idle.pop(0)
        except IndexError:
            return  # other threads have taken all of them
        if session.used - oldest.used > _PATIENCE:
            oldest.close()
        else:
            self._idle.insert(0, oldest)

    def take_back(self, session: TaskSession) -> None:
        """Have what a stream that nobody has any more used for the next call. From a finalizer: nothing is waited for.

        Were it closed, an engine without other sessions would end, and the next call start another.
        """
        if session.generation == self._generation:
            session.leave()
            session.used = time.monotonic()
            self._idle.append(session)

    def _mourn(self, session: TaskSession) -> HeadraceError:
        """Let go of a session that the engine has ended, or with which it has ended itself, and say why."""
        connection = session.connection
        try:
            if not isinstance(connection, Connection):
                return EngineDied("headrace: the engine that another process shares has ended", status="ended")
            with self._grieving:
                refusal = connection.engine.refusal()
                if refusal is not None:
                    return failures.parse(refusal)[1]
                return connection.engine.death().error(connection.number)
        finally:
            session.close()

    def close(self) -> None:
        """Close all that are idle, and those under way when they are done."""
        self._generation += 1
        while self._idle:
            try:
                session = self._idle.pop()
            except IndexError:
                break
            session.close()
        sweep()

    def after_fork(self) -> None:
        """In the child: begin again."""
        self._idle = []
        self._grieving = threading.Lock()


def _end_with_the_worker() -> None:
    """Have connections closed when this process ends, where that is a worker of multiprocessing, which skips atexit.

    Its engine would end all the same, but a little later, as a child of what takes orphans in: in many containers nobody does, and
    what is left of it would stay until the container ends.
    """
    global _registered
    if _registered != os.getpid() and is_worker():
        import multiprocessing.util

        multiprocessing.util.Finalize(None, pool.close, exitpriority=0)
        _registered = os.getpid()


_registered = 0  # the process that has done so

pool = Pool()
fork.kept.append(pool)
atexit.register(pool.close)  # while the modules that a session needs for its end are still there

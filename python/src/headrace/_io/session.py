"""One connection to an engine that carries out tasks of `headrace.io`, one after the other.

What a caller has in memory goes through a file in memory, the connection's inbox, which the engine reads from. What it gets back is in
shared memory, and is leased as batches are. Small results are copied, for a slot is much for them; so is what comes in the last free
slot, so that there is always one.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy

from .._client import failures, fork, frames
from .._client import share as sharing
from .._client.engine import Connection
from .._client.memory import sweep
from .._client.session import warn
from .._client.slots import Slots
from .._recipe.defaults import said
from ..errors import EngineFailed, HeadraceError, MemoryRefused, ProtocolError

_SMALL = 64 << 10  # bytes of a result that is copied rather than leased
_KEPT = 64 << 20  # bytes that an inbox keeps for the next task
_AT_ONCE = 1024  # buffers in one system call
END = b'{"do":"end"}'  # lets go of what goes on from task to task
_asarray = numpy.asarray


class Input:
    """What a task is done on: bytes in memory, or a file that the engine reads."""

    __slots__ = ("data", "name", "path")

    def __init__(self, data: memoryview | None, path: bytes | None, name: str | None) -> None:
        self.data = data
        self.path = path
        self.name = name  # for people; None: it has none


Failures = list[dict[str, Any]]

_TYPES = {8: "|u1", 16: "<u2", 32: "<f4"}  # of elements, by their bits


class TaskSession:
    """One connection that IO has begun. A call has it to itself."""

    def __init__(self, connection: Connection | sharing.Guest) -> None:
        self._inbox = -1
        self.connection = connection
        self.channel = connection.channel
        self.used = 0.0  # when it was given back
        self.generation = 0  # of what lends it
        self._slots = Slots(connection.channel)
        self._copied: list[bytes] = []  # tokens of slots whose content was copied
        try:
            self._inbox = os.memfd_create("headrace-inbox", os.MFD_CLOEXEC)
        except OSError as error:
            raise _refused(error) from error
        self._owed = 0  # answers that nobody waits for
        self._filled = 0  # bytes that the inbox has
        fork.share(self)
        begin = _begin(connection)
        functions = said("credentials")
        try:
            if functions is not None:
                from .._client.giver import Giver

                self._giver = Giver(functions)
                self._giver.give(self.channel)
            self.channel.send_descriptor(frames.IO, self._inbox, json.dumps(begin).encode())
        except OSError:
            pass  # the engine has just ended; what waits for it will find out

    def do(self, what: bytes, inputs: Sequence[Input], out: numpy.ndarray[Any, Any] | None) -> tuple[Any, Failures]:
        """Have a task carried out: the array, or None, and what failed. The array is `out` where that is given; then it must fit."""
        sweep()  # segments whose finalizers a signal handler's exception cut off
        self._send(what, inputs)
        return self._answer(out)

    def leave(self) -> None:
        """Have the engine let go of what goes on from task to task, without waiting for its answer."""
        self._owed += 1
        self._send(END, ())

    def _send(self, what: bytes, inputs: Sequence[Input]) -> None:
        text = b"".join([source.path for source in inputs if source.path is not None])
        in_memory = [source.data for source in inputs if source.data is not None]
        if in_memory:
            self._fill(in_memory)
        at = in_text = 0
        places = bytearray()
        for source in inputs:
            if source.path is not None:
                places += frames.INPUT.pack(in_text | frames.IS_PATH, len(source.path))
                in_text += len(source.path)
            else:
                assert source.data is not None
                places += frames.INPUT.pack(at, source.data.nbytes)
                at += source.data.nbytes
        n, tokens = self._slots.ended()
        del self._slots.returned[:n]
        tokens += self._copied
        self._copied = []
        head = frames.TASK_FRAME.pack(len(inputs), len(tokens), len(what), 0)
        self.channel.send(frames.TASK, b"".join([head, *tokens, places, what, text]))

    def _fill(self, buffers: list[memoryview]) -> None:
        size = sum(buffer.nbytes for buffer in buffers)
        try:
            if self._filled > max(_KEPT, size):
                os.ftruncate(self._inbox, 0)
                self._filled = 0
            at = 0
            left = buffers
            while at < size:
                at += os.pwritev(self._inbox, left[:_AT_ONCE], at)
                left = _behind(buffers, at)
        except OSError as error:
            raise _refused(error) from error
        self._filled = max(self._filled, size)

    def _answer(self, out: numpy.ndarray[Any, Any] | None) -> tuple[Any, Failures]:
        channel = self.channel
        while True:
            frame = channel.peek()
            if frame is None:
                channel.wait()
                continue
            kind, _, buffer, start, end = frame
            if kind == frames.DONE and self._owed:
                self._owed -= 1
                channel.skip(end)
                continue
            if kind == frames.DONE:
                answer = self._done(buffer, start, end, out)
                channel.skip(end)
                return answer
            payload = bytes(buffer[start:end])
            if kind == frames.SEGMENT:
                self._slots.map(payload, end)
                continue
            if kind == frames.ERROR:
                raise failures.parse(payload)[1]
            elif kind == frames.NOTE:
                warn(payload)
            else:
                raise ProtocolError(f"headrace: a frame of kind {kind} came in answer to TASK")
            channel.skip(end)

    def _done(self, buffer: bytearray, start: int, end: int, out: numpy.ndarray[Any, Any] | None) -> tuple[Any, Failures]:
        number, slot, flags, bits, extents, failed = frames.DONE_FRAME.unpack_from(buffer, start)
        failures: Failures = json.loads(bytes(buffer[end - failed : end])) if failed else []
        if not flags & frames.HAS_RESULT:
            return None, failures
        token = bytes(buffer[start : start + 8])
        shape = Struct(f"<{extents}Q").unpack_from(buffer, start + frames.DONE_FRAME.size)
        segment, lease, way_back = self._slots.lease(number)
        typestr = _TYPES[bits]
        lease.__array_interface__ = {
            "version": 3,
            "typestr": typestr,
            "shape": shape,
            "data": (segment.address + slot * segment.slot_bytes, False),
        }
        array = _asarray(lease)
        if out is not None:
            if out.shape == shape:  # if not, the caller says so
                numpy.copyto(out, array)
                array = out
            else:
                array = array.copy()
            self._copied.append(token)
        elif flags & frames.LAST_SLOT or array.nbytes <= _SMALL:
            array = array.copy()
            self._copied.append(token)
        else:
            way_back.token = token
            self._slots.leases[token] = way_back
        return array, failures

    def close(self) -> None:
        """End the session; mappings that leases hold stay. May be called again."""
        self._slots.segments = {}
        inbox, self._inbox = self._inbox, -1
        if inbox >= 0:
            os.close(inbox)
        self.connection.close()
        sweep()

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends() and getattr(self, "_inbox", -1) >= 0:
            os.close(self._inbox)
            self._inbox = -1

    def after_fork(self) -> None:
        """In the child: the session is the parent's."""
        inbox, self._inbox = self._inbox, -1
        if inbox >= 0:
            os.close(inbox)


def _behind(buffers: list[memoryview], at: int) -> list[memoryview]:
    """What is left of buffers after their first bytes."""
    for i, buffer in enumerate(buffers):
        if at < buffer.nbytes:
            return [buffer[at:], *buffers[i + 1 :]]
        at -= buffer.nbytes
    return []


def _begin(connection: Connection | sharing.Guest) -> dict[str, Any]:
    """What IO says: how many cores the engine may use among the rest. A worker among others, which has an engine of its own, uses one."""
    begin: dict[str, Any] = {"protocol": frames.VERSION}
    if isinstance(connection, sharing.Guest):
        begin["token"] = connection.token
    elif is_worker():
        begin["cores"] = 1
    for key, name in (("cores", "HEADRACE_IO_CORES"), ("local_world_size", "LOCAL_WORLD_SIZE")):
        said = os.environ.get(name)
        if said:
            if not said.isdecimal() or int(said) < 1:
                raise EngineFailed(f"headrace: {name} is {said!r} in the environment: must be at least 1")
            begin[key] = int(said)
    return begin


def is_worker() -> bool:
    """Whether this process was started by Python's multiprocessing, as the workers of a DataLoader are."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _refused(error: OSError) -> HeadraceError:
    remedy = {
        errno.EMFILE: "; raise the limit of open files (ulimit -n)",
        errno.EFBIG: "; raise the limit of file sizes, which counts for shared memory too (ulimit -f)",
    }.get(error.errno or 0, "")
    return MemoryRefused(f"headrace: no memory for the engine's input: {error.strerror}{remedy}")

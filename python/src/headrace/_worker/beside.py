"""Calls of async functions beside each other: one event loop has all of a process, and the engine a stream for each call in flight."""

from __future__ import annotations

import _socket
import select
import threading

from .._client.frames import HEADER_FRAME
from .connection import Connection, forget, unmap
from .event_loop import event_loop
from .frames import ERROR, FORGET, FUNCTION, HEAP_SPACE, PACK, ROOM, SEGMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from .lane import Lane
    from .process import Process

_CELL = 32  # bytes from one to the next


class Streams(Connection):
    """A connection on which packs of several streams come. `stream` is that of the frame that came last, and that what is sent is of."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.later: list[tuple[int, int, bytearray]] = []  # what came for others while one stream waited for its answer
        self.unsent: list[bytes] = []
        self.soon: Callable[[], Any]  # has flush() called

    def send(self, kind: int, *parts: Any) -> None:
        """Send a frame soon: one call of the system for all that is done by then."""
        stream = 0 if kind == ERROR else self.stream  # which is the whole process's
        header = HEADER_FRAME.pack(sum(map(len, parts)), kind, 0, stream, self.out_seq)
        self.out_seq = self.out_seq + 1 & 0xFFFFFFFF
        self.unsent.append(b"".join((header, *parts)))
        if kind == ERROR:
            self.flush()
        elif len(self.unsent) == 1:
            self.soon()

    def flush(self) -> None:
        unsent = b"".join(self.unsent)
        self.unsent.clear()
        self.socket.sendall(unsent, _socket.MSG_NOSIGNAL)

    def room(self, item: int, field: int, size: int) -> int:
        stream = self.stream
        self.ask(item, field, size)
        self.flush()
        while True:
            kind, payload = self.receive()
            if kind == ROOM:
                self.stream = stream
                return int.from_bytes(payload, "little")
            self.later.append((kind, self.stream, bytearray(payload)))


class Beside:
    """The thread of the event loop."""

    def __init__(self, process: Process, connection: Streams) -> None:
        self.process = process
        self.connection = connection
        self.lanes: dict[int, Lane] = {}  # by functions
        self.cells: dict[int, memoryview] = {}  # by streams
        self.first_cell = 0
        self.calls: set[Any] = set()
        self._begun = self._ended = False
        self._ready = threading.Event()  # there is a loop, or it is known that there can be none
        self._refusal: Exception | None = None  # why there is none

    def begin(self) -> None:
        """Have the thread run from now on, and wait for its event loop. Raises why there can be none."""
        if not self._begun:
            self.spaces = self.connection.spaces
            self.spaces[HEAP_SPACE] = self.process.heap
            self.process.start_thread(self._serve, "headrace-event-loop")
            self._begun = True
        self._ready.wait()
        if self._refusal is not None:
            raise self._refusal

    def _serve(self) -> None:
        """Do what the engine asks for until it has had enough."""
        try:
            self.loop = event_loop()
        except Exception as error:  # a program that is about to end can have none any more
            self._refusal = error
            return
        finally:
            self._ready.set()
        self.connection.soon = lambda: self.loop.call_soon(self._guarded, self.connection.flush)
        # uvloop makes what it waits for non-blocking. So it is given an epoll, which waits for the connection.
        self.news = select.epoll()
        self.news.register(self.connection.socket.fileno(), select.EPOLLIN)
        self.loop.add_reader(self.news.fileno(), self._guarded, lambda: self._take_all(True))
        while not self._ended:
            self.loop.run_forever()  # a function that stops it would leave the other calls without an answer
        self.news.close()
        self.process.loop_ends()

    def _guarded(self, work: Callable[[], Any]) -> None:
        if self._ended:
            return  # calls that are cancelled at the end are done, too
        if not self.process.guarded(self.connection, work):
            self.loop.remove_reader(self.news.fileno())
            self._ended = True
            self.loop.stop()

    def _take_all(self, come: bool) -> None:
        """Take what was read from the connection, and, where something has come, that too."""
        connection = self.connection
        while True:
            while connection.later:
                kind, connection.stream, payload = connection.later.pop(0)
                self._take(kind, payload)
            # A call that has asked for room since the event loop told of something may have
            # read it. To wait for more would stop the loop, and with it the calls in flight,
            # for whose results the engine waits.
            if not (connection.more or (come and self.news.poll(0))):
                return
            come = False
            self._take(*connection.receive())

    def _take(self, kind: int, payload: Any) -> None:
        if kind == PACK:
            self._begin(bytearray(payload))  # its values are used when the next frames have come
        elif kind == SEGMENT:
            self.connection.map(payload)
        elif kind == ROOM:
            self.first_cell = int.from_bytes(payload, "little")
        elif kind == FORGET:
            for end in self.process.forget(forget(payload, self.lanes, self.spaces), concurrent=True):
                self._start(end)
        else:
            raise SystemExit(1)

    def _begin(self, pack: bytearray) -> None:
        stream = self.connection.stream
        cell = self.cells.get(stream)
        if cell is None:
            at = self.first_cell + _CELL * stream
            cell = self.cells[stream] = memoryview(self.process.heap)[at : at + 24].cast("Q")
        function = int.from_bytes(pack[FUNCTION : FUNCTION + 8], "little")
        lane = self.lanes.get(function) or self._lane(function, cell)
        lane.cell = cell
        lane.work(pack, 0, len(pack))

    def _lane(self, function: int, cell: memoryview) -> Lane:
        from .lane import Lane

        lane = self.lanes[function] = Lane(self.process.callees[function], self.connection, self.spaces, cell, self._start)
        return lane

    def _start(self, call: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(call)
        self.calls.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: Any) -> None:
        self.calls.discard(task)
        self._guarded(task.result)
        if self.connection.later or self.connection.more:  # the event loop does not tell of what was read already
            self._guarded(lambda: self._take_all(False))

    def let_go(self) -> None:
        """Unmap memory, where the process goes on."""
        for cell in self.cells.values():
            cell.release()
        for lane in self.lanes.values():
            lane.let_go()
        unmap(self.spaces)

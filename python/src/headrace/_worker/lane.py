"""What a worker process is, and its conversation with the engine: one lane for each of its threads."""

from __future__ import annotations

import _socket
import json
import mmap
import os
import sys
from struct import Struct
from time import monotonic_ns

from .._client.frames import HEADER_FRAME
from . import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAP, STACK, LOG, FIRST_LANE = 3, 4, 5, 6  # descriptors
STACK_SIGNAL = 50
SETUP, READY, PACK, RESULTS, ROOM, PULL = range(33, 39)
SEGMENT, ERROR = 18, 21

WITH_RANDOM, WITH_INDEX, AS_STREAM, AS_FLUSH, WITH_STATE, OWN_SHARED, AS_FRESH = 1, 2, 4, 8, 16, 32, 64
LAST, WITH_FIELDS = 1, 2
PACK_HEAD, RESULTS_HEAD = 8, 6

WORDS_3 = Struct("<QQQ")
_DESCRIPTORS = _socket.CMSG_SPACE(16 * 4)


class Ended(Exception):
    """The engine has closed the connection."""


class Process:
    """What the lanes of a process have in common."""

    def __init__(self, lanes: int) -> None:
        for fd in range(HEAP, FIRST_LANE + lanes):
            os.set_inheritable(fd, False)
        self.first = Lane(self, 0)

    def begin(self, own: list[str]) -> None:
        """Be set up, and say that this is ready, or why it is not."""
        kind, payload = self.first.receive()
        if kind != SETUP:
            raise SystemExit(1)
        self.setup: dict[str, Any] = json.loads(bytes(payload))
        self._surroundings()
        try:
            self.heap = mmap.mmap(HEAP, self.setup["heap"])
            self.heap.madvise(getattr(mmap, "MADV_DONTDUMP", 16))
            from .call import Callee

            sys.path += own
            self.callee = Callee(self.setup, self.heap)
        except Ended:
            raise
        except BaseException as e:
            self.first.send(ERROR, json.dumps(errors.describe(e)).encode())
            raise SystemExit(1) from None
        self.first.ready()
        self.first.send(READY, json.dumps({"random": self.callee.random, "concurrent": self.callee.concurrent}).encode())

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

    def end(self) -> None:
        """Let the user's object end."""
        try:
            self.callee.close()
        except Exception as e:
            import logging

            logging.getLogger("headrace.worker").error("close() has failed: %s", errors.describe(e)["traceback"])


class Lane:
    """A connection with the engine, for one thread."""

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number
        self.socket = _socket.socket(fileno=FIRST_LANE + number)
        self.buffer = bytearray(64 << 10)
        self.have = 0  # bytes of it that have come
        self.used = 0  # and of these those of the frame that was returned last
        self.in_seq = self.out_seq = 0
        self.descriptors: list[int] = []
        self.stopped = False
        if number > 0:
            self.ready()

    def ready(self) -> None:
        """Have what samples need."""
        from .values import Reader, Writer

        process = self.process
        self.spaces: dict[int, Any] = {1: process.heap}
        at = process.setup["cells"][self.number]
        self.cell = memoryview(process.heap)[at : at + 16].cast("Q")
        self.reader = Reader(process.setup, self.spaces)
        self.writer = Writer(process.setup, self)
        self._views: dict[int, memoryview] = {}
        self._saved: tuple[int, list[list[tuple[int, int, int]]]] | None = None
        self.run = process.callee.runner(self)

    # Frames.

    def receive(self) -> tuple[int, memoryview]:
        """The next frame. Its payload is valid until the next call."""
        if self.used:
            left = self.have - self.used
            if left:
                self.buffer[:left] = self.buffer[self.used : self.have]
            self.have, self.used = left, 0
        self._fill(16)
        length, kind, _, _, seq = HEADER_FRAME.unpack_from(self.buffer, 0)
        if seq != self.in_seq:
            raise SystemExit(1)
        self.in_seq = seq + 1 & 0xFFFFFFFF
        self._fill(16 + length)
        self.used = 16 + length
        return kind, memoryview(self.buffer)[16 : self.used]

    def _fill(self, wanted: int) -> None:
        if len(self.buffer) < wanted:
            # Not made larger in place: a function may have kept views of it.
            larger = bytearray(wanted * 5 // 4)
            larger[: self.have] = self.buffer[: self.have]
            self.buffer = larger
        while self.have < wanted:
            with memoryview(self.buffer) as view, view[self.have :] as room:
                count, ancillary, _, _ = self.socket.recvmsg_into((room,), _DESCRIPTORS, _socket.MSG_CMSG_CLOEXEC)
            for level, kind, data in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    self.descriptors += [int.from_bytes(data[i : i + 4], sys.byteorder) for i in range(0, len(data) - 3, 4)]
            if count == 0:
                raise Ended
            self.have += count

    def send(self, kind: int, *parts: Any) -> None:
        """Send a frame whose payload is in parts."""
        length = sum(map(len, parts))
        header = HEADER_FRAME.pack(length, kind, 0, 0, self.out_seq)
        self.out_seq = self.out_seq + 1 & 0xFFFFFFFF
        sent = self.socket.sendmsg((header, *parts))
        if sent < 16 + length:
            for part in (header, *parts):
                if sent >= len(part):
                    sent -= len(part)
                    continue
                self.socket.sendall(memoryview(part)[sent:])
                sent = 0

    # Work.

    def serve(self) -> None:
        """Do what the engine asks for until it has had enough."""
        try:
            while True:
                kind, payload = self.receive()
                if kind == PACK:
                    self.pack(payload)
                elif kind == SEGMENT:
                    self.segment(payload)
                elif kind != PULL:  # a stream's last ones come after its end
                    raise SystemExit(1)
        except (Ended, BrokenPipeError, ConnectionResetError):
            pass
        except SystemExit:
            os._exit(1)
        except BaseException as e:
            # A mistake of ours, not of the user's function.
            try:
                self.send(ERROR, json.dumps(errors.describe(e)).encode())
            finally:
                sys.stderr.write(errors.describe(e)["traceback"])
                os._exit(1)

    def segment(self, payload: memoryview) -> None:
        """Map memory that results may be written into."""
        number, size = int.from_bytes(payload[:4], "little"), int.from_bytes(payload[16:24], "little")
        fd = self.descriptors.pop(0)
        try:
            self.spaces[number] = mmap.mmap(fd, size)
        finally:
            os.close(fd)

    def pack(self, payload: memoryview) -> None:
        """Work on some samples."""
        words = payload[: len(payload) & -8].cast("q")
        items, flags, credit, rooms, data_at, number, saved, _ = words[:PACK_HEAD].tolist()
        at = PACK_HEAD
        random = state = index = None
        if flags & WITH_RANDOM:
            # A pack of Collate has one for all its samples.
            count = 1 if self.process.callee.collate else items
            random = payload[8 * at : 8 * (at + 2 * count)].cast("Q").tolist()
            at += 2 * count
        if flags & WITH_INDEX:
            index = words[at : at + items].tolist()
            at += items
        if flags & WITH_STATE:
            begin, length = words[at] + data_at, words[at + 1]
            state = bytes(payload[begin : begin + length])
            at += 2
        columns: list[Any] = []
        if not flags & AS_FLUSH:
            columns, at = self.reader.read(words, at, items, self.buffer, 16 + data_at)
        offered = {}
        for i in range(at, at + 5 * rooms, 5):
            item, field, place, size, must = words[i : i + 5].tolist()
            offered[item, field] = (place, size, must)
        words.release()
        self._saved = (saved, self.reader.lent) if saved else None
        self.tag = number << 32
        self.credit = credit
        self.stopped = False
        self.writer.begin(offered, self.reader.keep)
        self.run(Task(items, flags, random, index, state, columns))

    def save(self, item: int) -> None:
        """Copy what the function is about to be given and may change, so that it can be given it again should this process die."""
        if self._saved is None:
            return
        place, lent = self._saved
        memory, at = self.saved_in(place >> 48), place & 0xFFFFFFFFFFFF
        for column in lent:
            for source, begin, size in column if self.process.callee.collate else (column[item],):
                if size:
                    memory[at : at + size] = self.saved_in(source)[begin : begin + size]
                    at += size + 63 & -64

    def saved_in(self, number: int) -> memoryview:
        """The bytes of a space."""
        view = self._views.get(number)
        if view is None or view.obj is not self.spaces[number]:
            view = self._views[number] = memoryview(self.spaces[number])
        return view

    def working(self, item: int) -> int:
        """Note which sample is in work now, and since when."""
        now = monotonic_ns()
        self.cell[1] = now
        self.cell[0] = self.tag + item + 1
        return now

    def resting(self) -> None:
        """Note that no sample is in work: the engine is waited for."""
        self.cell[0] = 0

    def room(self, item: int, field: int, size: int) -> int:
        """Ask the engine for memory, and tell where it is."""
        self.send(ROOM, WORDS_3.pack(item, field, size))
        while True:
            kind, payload = self._answer()
            if kind == ROOM:
                return int.from_bytes(payload, "little")

    def pull(self) -> bool:
        """Wait until the engine has taken what it has; false: it wants no more."""
        while self.credit <= 0 and not self.stopped:
            self._answer()
        return not self.stopped

    def pulled_now(self) -> bool:
        """Whether the engine has taken something meanwhile; it is not waited for."""
        if self.have == self.used:
            try:
                data = self.socket.recv(1, _socket.MSG_DONTWAIT | _socket.MSG_PEEK)
            except BlockingIOError:
                return False
            if not data:
                os._exit(0)
        self._answer()
        return True

    def _answer(self) -> tuple[int, bytes]:
        """Read a frame while a pack is in work, whose own frame must stay as it is: its samples' values lie there."""
        header = self._exactly(16)
        length, kind, _, _, seq = HEADER_FRAME.unpack(header)
        if seq != self.in_seq:
            os._exit(1)
        self.in_seq = seq + 1 & 0xFFFFFFFF
        payload = self._exactly(length)
        if kind == PULL:
            self.credit += 1
            self.stopped = self.stopped or payload[0] != 0
        elif kind != ROOM:
            os._exit(1)
        return kind, payload

    def _exactly(self, size: int) -> bytes:
        """So many bytes of what comes next."""
        # What came with the pack's own frame lies behind it in the buffer.
        have = bytes(self.buffer[self.used : min(self.have, self.used + size)])
        if have:
            rest = self.buffer[self.used + len(have) : self.have]
            self.buffer[self.used : self.used + len(rest)] = rest
            self.have -= len(have)
        while len(have) < size:
            more = self.socket.recv(size - len(have))
            if not more:
                os._exit(0)  # the engine has ended; there is nobody to tell
            have += more
        return have


class Task:
    """What came with a pack."""

    __slots__ = ("columns", "flags", "index", "items", "random", "state")

    def __init__(self, items: int, flags: int, random: Any, index: Any, state: Any, columns: list[Any]) -> None:
        self.items = items
        self.flags = flags
        self.random = random
        self.index = index
        self.state = state
        self.columns = columns

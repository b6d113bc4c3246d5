"""A conversation with the engine over a socket: its frames, and its answers while a pack is in work."""

from __future__ import annotations

import _socket
import json
import mmap
import os
import select
import sys
from struct import Struct

from .._client.frames import HEADER_FRAME
from .errors import Ended
from .frames import PULL, RESULTS, ROOM, SEGMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .lane import Lane

_ROOM = Struct("<QQQ")
_DESCRIPTORS = _socket.CMSG_SPACE(16 * 4)


class Connection:
    """One socket, for one thread."""

    def __init__(self, fd: int) -> None:
        self.socket = _socket.socket(fileno=fd)
        self.buffer = bytearray(64 << 10)
        self.have = 0  # bytes of it that have come
        self.used = 0  # and of these those of the frame that was returned last
        self.in_seq = self.out_seq = 0
        self.stream = 0
        self.descriptors: list[int] = []
        self.spaces: dict[int, Any] = {}  # memory by number, which values are in and results may be written into
        self.credit = 0  # samples of a stream that the engine takes
        self.one_by_one = False  # none is made before it has taken the last one
        self.stopped = False  # it takes no more of this pack
        self.at_end: list[Any] = []  # what is called when the thread ends that it is of, if the process goes on then

    @property
    def more(self) -> bool:
        """Whether a frame, or its beginning, was read already."""
        return self.have - self.used >= 16

    def receive(self) -> tuple[int, memoryview]:
        """The next frame. Its payload is valid until the next call."""
        if self.used:
            left = self.have - self.used
            if left:
                self.buffer[:left] = self.buffer[self.used : self.have]
            self.have, self.used = left, 0
        self._fill(16)
        length, kind, _, self.stream, seq = HEADER_FRAME.unpack_from(self.buffer, 0)
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
                count = self._receive(room)
            if count == 0:
                raise Ended
            self.have += count

    def _receive(self, room: memoryview) -> int:
        count, ancillary, _, _ = self.socket.recvmsg_into((room,), _DESCRIPTORS, _socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                self.descriptors += [int.from_bytes(data[i : i + 4], sys.byteorder) for i in range(0, len(data) - 3, 4)]
        return count

    def send(self, kind: int, *parts: Any) -> None:
        """Send a frame whose payload is in parts."""
        length = sum(map(len, parts))
        header = HEADER_FRAME.pack(length, kind, 0, self.stream, self.out_seq)
        self.out_seq = self.out_seq + 1 & 0xFFFFFFFF
        sent = self.socket.sendmsg((header, *parts), (), _socket.MSG_NOSIGNAL)
        if sent < 16 + length:
            for part in (header, *parts):
                if sent >= len(part):
                    sent -= len(part)
                    continue
                self.socket.sendall(memoryview(part)[sent:], _socket.MSG_NOSIGNAL)
                sent = 0

    def map(self, payload: memoryview | bytes) -> None:
        """Map memory for results, as SEGMENT announces."""
        number, size = int.from_bytes(payload[:4], "little"), int.from_bytes(payload[16:24], "little")
        fd = self.descriptors.pop(0)
        try:
            self.spaces[number] = mmap.mmap(fd, size)
        finally:
            os.close(fd)

    # What a lane asks of it.

    def begin(self, credit: int) -> None:
        """Begin with a pack, of whose results the engine takes so many at once."""
        self.credit = credit
        self.one_by_one = credit == 1
        self.stopped = False

    def results(self, *parts: Any) -> None:
        """Send results, or what there is of them."""
        self.send(RESULTS, *parts)

    def room(self, item: int, field: int, size: int) -> int:
        """Ask the engine for memory, and tell where it is."""
        self.ask(item, field, size)
        while True:
            kind, payload = self._answer()
            if kind == ROOM:
                return int.from_bytes(payload, "little")

    def ask(self, item: int, field: int, size: int) -> None:
        """Ask the engine for memory, and do not wait for the answer."""
        self.send(ROOM, _ROOM.pack(item, field, size))

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
                self._leave(0)
        self._answer()
        return True

    def await_more(self, seconds: float) -> bool:
        """Wait until something has come, which is not read; false: in time nothing has. For another thread than the one that reads."""
        poller = select.poll()
        poller.register(self.socket.fileno(), select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def failed(self, e: BaseException, told: dict[str, Any]) -> None:
        """A sample has failed, which the engine is about to learn."""

    def _answer(self) -> tuple[int, bytes]:
        """Read a frame while a pack is in work, whose own frame must stay as it is: its samples' values are there."""
        header = self._exactly(16)
        length, kind, _, _, seq = HEADER_FRAME.unpack(header)
        if seq != self.in_seq:
            self._leave(1)
        self.in_seq = seq + 1 & 0xFFFFFFFF
        payload = self._exactly(length)
        if kind == PULL:
            self.credit += 1
            self.stopped = self.stopped or payload[0] != 0
        elif kind == SEGMENT:
            self.map(payload)
        elif kind != ROOM:
            self._leave(1)
        return kind, payload

    def _exactly(self, size: int) -> bytes:
        """So many bytes of what comes next."""
        # What came with the pack's own frame is after it in the buffer.
        have = bytes(self.buffer[self.used : min(self.have, self.used + size)])
        if have:
            rest = self.buffer[self.used + len(have) : self.have]
            self.buffer[self.used : self.used + len(rest)] = rest
            self.have -= len(have)
        while len(have) < size:
            more = bytearray(size - len(have))
            count = self._receive(memoryview(more))
            if not count:
                self._leave(0)  # the engine has ended; there is nobody to tell
            have += more[:count]
        return have

    def _leave(self, code: int) -> None:
        """End the process, for which there is nothing more to do."""
        os._exit(code)


def forget(payload: memoryview, lanes: dict[int, Lane], spaces: dict[int, Any]) -> list[dict[str, Any]]:
    """Let go of the functions' lanes and the memory that FORGET names; returns its message."""
    removals: list[dict[str, Any]] = json.loads(bytes(payload))
    for number in {one["function"] for one in removals} & lanes.keys():
        lanes.pop(number).let_go()
    unmap({number: spaces.pop(number) for one in removals for number in one["segments"] or () if number in spaces})
    return removals


def unmap(spaces: dict[int, Any]) -> None:
    """Let go of memory that results were written into."""
    for space in spaces.values():
        try:
            space.close()
        except BufferError:
            pass  # something is there that the user's function has kept

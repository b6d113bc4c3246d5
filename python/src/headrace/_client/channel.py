"""The client's end of the protocol that docs/protocol.md defines: frames over a socket, for one thread at a time.

A KeyboardInterrupt may come between any two calls, and what a call returned is then lost. Bytes that are lost put both ends out of
step, so each change of a channel is arranged in two steps: calls that have no effect when their result is thrown away, then
assignments with no call among them, during which CPython runs no signal handler. System calls, whose effect cannot be taken
back, leave their result in a list from within C (`results.extend(map(call, …))`), where no handler runs either.
"""

from __future__ import annotations

import _socket  # its C half has all that is needed; `socket` itself costs 9 ms, mostly enums
import os
import select
import sys

from ..errors import ProtocolError
from .frames import HEADER_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HANDLED = 0  # kind given to a frame in the buffer that was read out of turn
_HANDLED_KIND = bytes(2)
_MAX_PAYLOAD = 1 << 30
_BUFFER = 256 << 10
_LEAST_ROOM = 32 << 10
_DESCRIPTORS = _socket.CMSG_SPACE(16 * 4)
_RECEIVE = _socket.MSG_DONTWAIT | _socket.MSG_CMSG_CLOEXEC
_SEND = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL


def socket_pair() -> tuple[_socket.socket, _socket.socket]:
    """A stream between two processes; neither end is inherited by programs that are executed."""
    return _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)


class Gone(Exception):
    """The engine has died, and everything that it had sent was read."""


class Channel:
    """One connection: frames out, frames in, descriptors that came with them."""

    def __init__(self, sock: _socket.socket) -> None:
        self.fd = sock.fileno()
        self.ended = False  # the peer will send no more
        self.cut = False  # descriptors were lost, because this process can have no more
        self.descriptors: list[int] = []  # received, and not taken yet
        self._socket = sock
        self._send = sock.send
        self._recv = sock.recvmsg_into
        self.out = bytearray()
        self.out_seq = 0
        self._sent: list[int] = []
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)
        self._received: list[tuple[int, list[tuple[int, int, bytes]], int, object]] = []
        self.in_seq = 0
        self.start = self._end = 0
        self._poller: select.poll | None = None  # of who waits
        self._choked = False  # the poller looks for room to send, too
        self.peer = -1  # its pidfd, by which `wait` finds out that it has ended, though others have its socket; -1: not known
        self._dead = False  # the peer; what it had sent may still be to be read
        self._waker = -1  # a descriptor that ends a wait; -1: only the end of the connection does

    # Sending.

    def send(self, kind: int, payload: bytes = b"", stream: int = 0) -> None:
        """Queue one frame, and send what the peer takes at once."""
        frame = HEADER_FRAME.pack(len(payload), kind, 0, stream, self.out_seq) + payload
        self.out += frame
        self.out_seq = self.out_seq + 1 & 0xFFFFFFFF
        self.flush()

    def send_descriptor(self, kind: int, fd: int, payload: bytes = b"") -> None:
        """Send a frame with a short payload that brings a descriptor. Everything queued must have been sent."""
        frame = HEADER_FRAME.pack(len(payload), kind, 0, 0, self.out_seq) + payload
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(4, "little"))
        self._sent.extend(map(self._socket.sendmsg, ((frame,),), ((rights,),), (_socket.MSG_NOSIGNAL,)))
        self.out_seq = self.out_seq + 1 & 0xFFFFFFFF
        del self._sent[:]  # so few bytes are sent whole or not at all

    def flush(self) -> bool:
        """Send what the peer takes at once; tell whether that was all."""
        sent = self._sent
        while True:
            if sent:
                del self.out[: sent[0]]
                del sent[0]
            if not self.out:
                return True
            try:
                sent.extend(map(self._send, (self.out,), (_SEND,)))
            except BlockingIOError:
                return False
            except OSError:  # The peer is gone. What it sent before can still be read; the reader will find the end.
                del self.out[:]
                return True

    # Receiving.

    def receive(self) -> bool:
        """Read what has arrived; tell whether anything had."""
        self._settle()
        if self.ended:
            return False
        if self.start == self._end:
            self.start = self._end = 0
        elif len(self._buffer) - self._end < _LEAST_ROOM:
            self._make_room()
        try:
            self._received.extend(map(self._recv, ((self._view[self._end :],),), (_DESCRIPTORS,), (_RECEIVE,)))
        except BlockingIOError:
            return False
        except ConnectionResetError:
            self.ended = True
            return False
        self._settle()
        return not self.ended

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until more has arrived. False: the time is over. Raises Gone once nothing more can come."""
        poller = self._poller
        if poller is None:
            poller = select.poll()
            poller.register(self.fd, select.POLLIN)
            if self.peer >= 0:
                poller.register(self.peer, select.POLLIN)
            if self._waker >= 0:
                poller.register(self._waker, select.POLLIN)
            self._poller = poller
        while not self.ended:
            if not self.flush():
                poller.modify(self.fd, select.POLLIN | select.POLLOUT)
                self._choked = True
            elif self._choked:
                poller.modify(self.fd, select.POLLIN)
                self._choked = False
            events = poller.poll(None if seconds is None else seconds * 1000)
            if not events:
                return False
            for fd, _ in events:
                if fd == self._waker:
                    self.keep_no_waker()
                    raise Gone
                if fd != self.fd:
                    self._dead = True
            if self.receive():
                return True
            if self._dead:
                break
        raise Gone

    def keep_waker(self) -> None:
        """Have `interrupt` leave the connection as it is."""
        self._waker = os.eventfd(0, os.EFD_CLOEXEC)
        if self._poller is not None:
            self._poller.register(self._waker, select.POLLIN)

    def keep_no_waker(self) -> None:
        """Have `interrupt` end the connection. May be called again."""
        if self._waker >= 0:
            waker, self._waker = self._waker, -1
            if self._poller is not None:
                self._poller.unregister(waker)
            os.close(waker)

    def interrupt(self) -> None:
        """Have a wait that is under way, in another frame or thread, raise Gone."""
        if self._waker >= 0:
            os.eventfd_write(self._waker, 1)
        else:
            self.shut()

    def _settle(self) -> None:
        """Account for what recvmsg left in the list."""
        if not self._received:
            return
        count, ancillary, flags, _ = self._received[0]
        fds = [
            int.from_bytes(data[i : i + 4], "little")
            for level, kind, data in ancillary
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS
            for i in range(0, len(data) - 3, 4)
        ]
        if flags & _socket.MSG_CTRUNC:
            self.cut = True
        if count == 0:
            self.ended = True
        self.descriptors += fds
        self._end += count
        del self._received[0]

    def _make_room(self) -> None:
        start, end = self.start, self._end
        size = end - start
        wanted = size + _LEAST_ROOM
        if size >= HEADER_FRAME.size:  # the frame that is not whole yet, or one before it
            wanted = max(wanted, HEADER_FRAME.size + HEADER_FRAME.unpack_from(self._buffer, start)[0] + _LEAST_ROOM)
        if wanted <= len(self._buffer) // 2:
            self._buffer[:size] = self._buffer[start:end]
            self.start, self._end = 0, size
            return
        buffer = bytearray(2 * wanted)
        view = memoryview(buffer)
        buffer[:size] = self._buffer[start:end]
        self._buffer, self._view = buffer, view
        self.start, self._end = 0, size

    def peek(self) -> tuple[int, int, bytearray, int, int] | None:
        """The first frame that was not skipped: kind, stream, buffer, start and end of its payload there; None until it is whole."""
        while True:
            start = self.start
            if self._end - start < 16:
                return None
            length, kind, flags, stream, seq = HEADER_FRAME.unpack_from(self._buffer, start)
            end = start + 16 + length
            if seq != self.in_seq or flags or length > _MAX_PAYLOAD:
                told = f"frame of kind {kind} with number {seq}, flags {flags:#x} and {length} bytes"
                raise ProtocolError(f"headrace: the engine sent a {told}; number {self.in_seq} was expected")
            if end > self._end:
                return None
            if kind != _HANDLED:
                return kind, stream, self._buffer, start + 16, end
            self.skip(end)

    def skip(self, end: int) -> None:
        """Be done with the frame whose payload ends at `end`."""
        self.start = end
        self.in_seq = self.in_seq + 1 & 0xFFFFFFFF

    def find(self, kind: int) -> bytes | None:
        """The payload of the first frame of a kind, out of turn: frames before it stay to be read."""
        at = self.start
        while self._end - at >= 16:
            length, found, _, _, _ = HEADER_FRAME.unpack_from(self._buffer, at)
            end = at + 16 + length
            if end > self._end:
                break
            if found == kind:
                payload = bytes(self._view[at + 16 : end])
                self._buffer[at + 4 : at + 6] = _HANDLED_KIND
                return payload
            at = end
        return None

    def arrived(self) -> Iterator[tuple[int, int, bytearray, int, int]]:
        """All whole frames in the buffer, as `peek` has one; they stay to be read."""
        at = self.start
        while self._end - at >= 16:
            length, kind, _, stream, _ = HEADER_FRAME.unpack_from(self._buffer, at)
            end = at + 16 + length
            if end > self._end:
                break
            yield kind, stream, self._buffer, at + 16, end
            at = end

    # Ending.

    def shut(self) -> None:
        """Tell the peer that this connection has ended, even where a forked child holds copies of the socket."""
        try:
            self._socket.shutdown(_socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was quicker

    def close(self) -> None:
        """Let go of the socket and of descriptors that nobody took. May be called again."""
        self.keep_no_waker()
        self._settle()  # descriptors that an exception kept from being counted
        self.ended = True
        fds, self.descriptors = self.descriptors, []
        for fd in fds:
            os.close(fd)
        self._socket.close()

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():  # else the kernel closes it, and modules that this needs may be gone
            self.close()

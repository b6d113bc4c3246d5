"""Files on a server that answers late: the server, and the two functions that read from it.

The server is on the loopback interface. File n has SIZE bytes, and its answer waits DELAYS[n] seconds, from 0 to 40
milliseconds, the same for all contestants.
"""

from __future__ import annotations

import asyncio
import heapq
import http.client
import os
import random
import socket
import threading

SIZE = 110_000
_draw = random.Random(1)
DELAYS = [_draw.uniform(0, 0.04) for _ in range(1 << 14)]
PORT = int(os.environ.get("PORT", "0"))


def ideal(files: int, at_once: int, warm: int) -> float:
    """Seconds from the end of request `warm` to the end of the last, if waiting were all there is to do."""
    lanes = [0.0] * at_once
    ends = []
    for n in range(files):
        ends.append(heapq.heappop(lanes) + DELAYS[n % len(DELAYS)])
        heapq.heappush(lanes, ends[-1])
    ends.sort()
    return ends[-1] - ends[warm - 1]


class Answers(asyncio.Protocol):
    """One connection: requests come one after the other, as the clients here send them."""

    BODY = random.Random(2).randbytes(SIZE)
    HEAD = f"HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n".encode()

    def connection_made(self, transport) -> None:
        self.transport, self.got = transport, b""

    def data_received(self, data: bytes) -> None:
        self.got += data
        if self.got.endswith(b"\r\n\r\n"):
            n = int(self.got.split(b" ", 2)[1][1:])
            self.got = b""
            asyncio.get_running_loop().call_later(DELAYS[n % len(DELAYS)], self.answer)

    def answer(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.HEAD + self.BODY)


async def serve() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    # A whole answer fits, so that the server needs not wait for the reader; connections
    # inherit it.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * SIZE)
    server = await asyncio.get_running_loop().create_server(Answers, sock=listening)
    print(listening.getsockname()[1], flush=True)
    await server.serve_forever()


idle: dict[asyncio.AbstractEventLoop, list] = {}  # connections that wait for their next request


async def fetch(n: int) -> bytes:
    """For those who call async functions."""
    connections = idle.setdefault(asyncio.get_running_loop(), [])
    if connections:
        reader, writer = connections.pop()
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=2 * SIZE)
    writer.write(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % n)
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
    connections.append((reader, writer))
    return body


of_thread = threading.local()


def fetch_blocking(n: int) -> bytes:
    """For those who call functions in threads."""
    if not hasattr(of_thread, "connection"):
        of_thread.connection = http.client.HTTPConnection("127.0.0.1", PORT)
    of_thread.connection.request("GET", f"/{n}")
    return of_thread.connection.getresponse().read()


if __name__ == "__main__":
    asyncio.run(serve())

"""A worker that breaks the protocol: $HOSTILE says how."""

import json
import mmap
import os
import socket
import struct
import sys

how = os.environ["HOSTILE"]
lane = socket.socket(fileno=6)
seq = 0


def receive():
    header = lane.recv(16, socket.MSG_WAITALL)
    if len(header) < 16:
        os._exit(0)
    return lane.recv(struct.unpack("<I", header[:4])[0], socket.MSG_WAITALL)


def send(kind, payload, length=None):
    global seq
    lane.sendall(struct.pack("<IHHII", len(payload) if length is None else length, kind, 0, 0, seq) + payload)
    seq += 1


def words(*values):
    return struct.pack(f"<{len(values)}q", *values)


setup = json.loads(receive())
if how == "mute":
    lane.shutdown(socket.SHUT_WR)
    while True:
        receive()
if how == "start":
    send(34, b"{")
    receive()
send(34, json.dumps({"random": False}).encode())
pack = receive()
if how == "cell":  # a sample that does not exist, since a time that was not
    number = struct.unpack_from("<q", pack, 5 * 8)[0]
    with mmap.mmap(3, setup["heap"]) as heap:
        struct.pack_into("<QQ", heap, setup["cells"][0], number << 32 | 1000, 1 << 63)
same = 2 << 48
bad = {
    "short": (36, words(0, 1)),
    "garbage": (36, bytes(range(256))),
    "cell": (36, b""),
    "same": (36, words(0, 1, 1, 0, 9 * 8, 0, 0, 2, 7)),
    "first": (36, words(0, 1, 1, 0, 9 * 8, 0, 0, 2, 0)),
    "negative same": (36, words(0, 1, 1, 0, 9 * 8, 0, 0, 2, -1)),
    "room": (36, words(0, 1, 1, 0, 9 * 8, 0, 0, 0, 1 << 48)),
    "too many": (36, words(0, 2, 1, 0, 10 * 8, 0, 0, 0, 2, 0)),
    "not all": (36, words(0, 0, 1, 0, 6 * 8, 0)),
    "later": (36, words(1, 1, 1, 0, 9 * 8, 0, 0, 2, 0)),
    "no reason": (36, words(0, 1, 1, 0, 9 * 8, 0, 1, 2, 0)),
    "huge room": (37, words(0, 0, 1 << 62)),
    "ROOM": (37, b"room"),
    "dropped": (36, words(0, 1, 1, 0, 9 * 8, 0, 2, 0, 0)),
    "whole": (36, words(0, 1, 1, 0, 9 * 8, 0, 0, 0, 3 << 48)),
    "whole too early": (36, words(0, 1, 1, 0, 13 * 8, 0, 0, 0, 3 << 48, 8, 0, 3 << 48, 8)),
    "whole too late": (36, words(0, 1, 1, 0, 13 * 8, 0, 0, 0, 3 << 48, 8, 0, (3 << 48) + 128, 8)),
    "whole too long": (36, words(0, 1, 1, 0, 13 * 8, 0, 0, 0, 3 << 48, 8, 0, (3 << 48) + 64, 65)),
    "whole text": (36, words(0, 1, 1, 0, 13 * 8, 0, 0, 0, 3 << 48, 8, 0, (3 << 48) + 64, 8)),
    "returns": (36, words(0, 0, 4, 0, 6 * 8, 0)),
    "kind": (35, b""),
    "unknown": (99, b""),
}
if how == "length":
    send(36, b"", 0xFFFFFFFF)
elif how == "number":
    seq = 7
    send(36, b"")
elif how == "rooms":
    while True:
        send(37, words(0, 0, 4096))
        receive()
elif how == "error":
    send(21, b"the worker is out of its mind")
else:
    send(*bad[how])
while True:
    receive()
    sys.stderr.write("still here\n")

"""The client's end of a connection, with this test at the other."""

from __future__ import annotations

import os
import signal
import socket

import pytest

import headrace as hr
from conftest import Struck
from headrace._client import frames
from headrace._client.channel import Channel, socket_pair


@pytest.fixture
def pair():
    ours, theirs = socket_pair()
    channel = Channel(ours)
    peer = socket.socket(fileno=theirs.detach())
    yield channel, peer
    channel.close()
    peer.close()


def frame(kind: int, payload: bytes = b"", seq: int = 0, stream: int = 1, flags: int = 0) -> bytes:
    return frames.HEADER_FRAME.pack(len(payload), kind, flags, stream, seq) + payload


def read(channel: Channel) -> tuple[int, bytes] | None:
    found = channel.peek()
    if found is None:
        return None
    kind, _, buffer, start, end = found
    payload = bytes(buffer[start:end])
    channel.skip(end)
    return kind, payload


def test_frames_arrive_in_pieces(pair):
    channel, peer = pair
    stream = frame(frames.NOTE, b"one") + frame(frames.NOTE, b"", 1) + frame(frames.LOST, b"three" * 100, 2)
    got = []
    for i in range(len(stream)):
        assert not channel.receive()
        peer.send(stream[i : i + 1])
        assert channel.receive()
        found = read(channel)
        if found:
            got.append(found)
    assert got == [(frames.NOTE, b"one"), (frames.NOTE, b""), (frames.LOST, b"three" * 100)]


def test_large_frames_and_full_buffers(pair):
    channel, peer = pair
    payloads = [os.urandom(n) for n in (5, 300_000, 1, 100_000, 262_144, 7, 2_000_000, 40_000)]
    stream = b"".join(frame(frames.NOTE, p, i) for i, p in enumerate(payloads))
    peer.setblocking(False)
    got = []
    while len(got) < len(payloads):
        try:
            stream = stream[peer.send(stream) :]
        except BlockingIOError:
            pass
        channel.receive()
        while (found := read(channel)) is not None:
            got.append(found[1])
    assert got == payloads


def test_descriptors_come_with_their_frames(pair):
    channel, peer = pair
    r, w = os.pipe()
    socket.send_fds(peer, [frame(frames.SEGMENT, bytes(24))], [w])
    peer.send(frame(frames.NOTE, b"", 1))
    while channel.receive():
        pass
    assert len(channel.descriptors) == 1
    assert not os.get_inheritable(channel.descriptors[0])
    os.write(channel.descriptors[0], b"x")
    assert os.read(r, 1) == b"x"
    os.close(r)
    os.close(w)  # the channel closes its own


def test_reading_out_of_turn(pair):
    channel, peer = pair
    peer.send(
        frame(frames.NOTE, b"1") + frame(frames.STATISTICS, b"2", 1) + frame(frames.LOST, b"3", 2) + frame(frames.CLOSED, b"4", 3)[:10]
    )
    channel.receive()
    assert channel.find(frames.CLOSED) is None
    assert channel.find(frames.STATISTICS) == b"2"
    assert channel.find(frames.STATISTICS) is None
    assert read(channel) == (frames.NOTE, b"1")
    assert read(channel) == (frames.LOST, b"3")
    assert read(channel) is None


@pytest.mark.parametrize("bad", [frame(frames.NOTE, seq=1), frame(frames.NOTE, flags=1), frames.HEADER_FRAME.pack(1 << 31, 19, 0, 1, 0)])
def test_frames_out_of_step_are_refused(pair, bad):
    channel, peer = pair
    peer.send(bad)
    channel.receive()
    with pytest.raises(hr.ProtocolError):
        channel.peek()


def test_sending_waits_for_nobody(pair):
    channel, peer = pair
    payload = os.urandom(3_000_000)
    channel.send(frames.OPEN, payload)
    assert not channel.flush()
    got = b""
    while len(got) < 16 + len(payload):
        got += peer.recv(1 << 20)
        channel.flush()
    assert got == frame(frames.OPEN, payload, stream=0)


def test_a_peer_that_has_gone(pair):
    channel, peer = pair
    peer.send(frame(frames.NOTE, b"last"))
    peer.close()
    channel.send(frames.STATS)  # raises nothing: what the peer sent is still to be read
    assert channel.receive()
    assert read(channel) == (frames.NOTE, b"last")
    assert not channel.receive()
    assert channel.ended


def test_exceptions_from_signal_handlers_lose_no_byte(pair, striker):
    """Frames go both ways while a timer raises in the middle of everything."""
    channel, peer = pair

    def size(i: int) -> int:
        return i * 7919 % 3000

    if os.fork() == 0:  # the peer: echoes whatever comes
        try:
            channel.close()
            while data := peer.recv(65536):
                peer.sendall(data)
        finally:
            os._exit(0)
    peer.close()

    def strike(*_):
        raise Struck

    sent, got = 0, []
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0003)
    while len(got) < 2000 or striker.count < 25:
        try:
            striker.armed = True
            while sent - len(got) < 20:
                before = channel.out_seq
                try:
                    channel.send(frames.NOTE, bytes(size(sent)))
                finally:
                    sent += channel.out_seq - before
            channel.flush()
            channel.receive()
            found = channel.peek()
            if found is not None:
                _, _, _, start, end = found
                before = channel.in_seq
                try:
                    channel.skip(end)
                finally:
                    got += [end - start] * (channel.in_seq - before)
        except Struck:
            pass
        striker.armed = False
    channel.close()
    os.wait()
    assert got == list(map(size, range(len(got))))

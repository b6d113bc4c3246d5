"""An engine that several processes share: the socket that its owner opens for them, and their way in."""

from __future__ import annotations

import _socket
import json
import os
from struct import Struct

from ..errors import EngineFailed
from . import fork, frames
from .channel import Channel
from .engine import Connection, manager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

VARIABLE = "HEADRACE_IO_SHARED"  # token@name
_CREDENTIALS = Struct("iII")


class Share:
    """An engine that processes you start from here on use for `headrace.io`. `share` makes it.

    Use it as a context manager; it ends when closed, or with its process.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._before = os.environ.get(VARIABLE)
        self._name = f"headrace-{os.urandom(16).hex()}"
        self._connection: Connection | None = None
        token = os.urandom(16).hex()
        try:
            listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
            try:
                listener.bind(_address(self._name))
                listener.listen(128)
                connection = self._connection = manager.connect()
                connection.channel.send_descriptor(frames.SHARE, listener.fileno(), json.dumps({"token": token}).encode())
            finally:
                listener.close()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise EngineFailed(f"headrace: io.share: cannot open a socket: {error.strerror}") from error
            raise
        self._value = f"{token}@{self._name}"
        os.environ[VARIABLE] = self._value

    @property
    def open(self) -> bool:
        """Whether other processes can still use the engine."""
        return self._pid == os.getpid() and self._connection is not None and self._connection.engine.alive()

    def close(self) -> None:
        """Admit no more processes, and end the sessions of others. In other processes, or when called again, this does nothing."""
        if self._pid != os.getpid():
            return
        if os.environ.get(VARIABLE) == getattr(self, "_value", None):
            if self._before is None:
                os.environ.pop(VARIABLE, None)
            else:
                os.environ[VARIABLE] = self._before
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Share:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<headrace.io.Share at @{self._name}, {'open' if self.open else 'closed'}>"


Share.__module__ = "headrace.io"


class Guest:
    """A connection to an engine that another process shares."""

    def __init__(self, channel: Channel, token: str) -> None:
        self.channel = channel
        self.token = token
        fork.share(self)

    def close(self) -> None:
        """End the session. May be called again."""
        self.channel.shut()
        self.channel.close()

    def after_fork(self) -> None:
        """In the child: the session is the parent's."""
        self.channel.close()


_own: list[Share] = []  # that this process has opened


def share() -> Share:
    """The share of this process: the one that is open, or a new one."""
    for mine in _own:
        if mine.open:
            return mine
    del _own[:]
    _own.append(Share())
    return _own[0]


def close() -> None:
    """Close this process's share, if there is one."""
    while _own:
        _own.pop().close()


def join() -> Guest | None:
    """A connection to the engine that the environment names; None where it names none, or its owner has ended, or is this process."""
    value = os.environ.get(VARIABLE)
    if not value or any(mine.open for mine in _own):
        return None
    token, _, name = value.partition("@")
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    user = None
    try:
        sock.connect(_address(name))
        _, user, _ = _CREDENTIALS.unpack(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS.size))
    except OSError:
        pass
    if user != os.geteuid():  # the owner has ended, and another user may have taken the name since
        sock.close()
        return None
    return Guest(Channel(sock), token)


def _address(name: str) -> bytes:
    """An address that is a name alone, and no file: when the last process that has it open ends, however it ends, nothing is left."""
    return b"\0" + os.fsencode(name)

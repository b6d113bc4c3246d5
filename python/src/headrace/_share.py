"""An engine that several processes share: the socket that its owner opens for them, and their way in."""

from __future__ import annotations

import _socket
import json
import os
from struct import Struct

from . import _fork, _wire
from ._engine import Connection, manager
from .errors import EngineFailed, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

VARIABLE = "HEADRACE_IO_SHARED"  # token@folder
_NAME = "io.sock"
_CREDENTIALS = Struct("iII")


class Share:
    """An engine that the processes started from here on use for `headrace.io`, as long as this is open. `share` makes it.

    It can be used as a context manager, and ends when it is closed, or with the process that has opened it.
    """

    def __init__(self) -> None:
        import tempfile

        self._pid = os.getpid()
        self._before = os.environ.get(VARIABLE)
        self._folder = tempfile.mkdtemp(prefix="headrace-")  # of mode 0700
        self._connection: Connection | None = None
        token = os.urandom(16).hex()
        try:
            with_folder = {"token": token, "folder": os.fsencode(self._folder).decode("utf-8", "surrogateescape")}
            listener = _listen(self._folder)
            try:
                connection = self._connection = manager.connect()
                connection.channel.send_descriptor(_wire.SHARE, listener.fileno(), json.dumps(with_folder).encode())
            finally:
                listener.close()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise EngineFailed(f"headrace: io.share: cannot open a socket in {self._folder}: {error.strerror}") from error
            raise
        self._value = f"{token}@{self._folder}"
        os.environ[VARIABLE] = self._value

    @property
    def open(self) -> bool:
        """Whether other processes can use the engine still."""
        return self._pid == os.getpid() and self._connection is not None and self._connection.engine.alive()

    def close(self) -> None:
        """Let nobody in any more, and end what others do there. In other processes, and when called again, this does nothing."""
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
        for remove, path in ((os.unlink, os.path.join(self._folder, _NAME)), (os.rmdir, self._folder)):
            try:
                remove(path)
            except OSError:
                pass  # the engine was quicker

    def __enter__(self) -> Share:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<headrace.io.Share in {self._folder}, {'open' if self.open else 'closed'}>"


class Guest:
    """A connection to an engine that another process shares."""

    def __init__(self, channel: _wire.Channel, token: str) -> None:
        self.channel = channel
        self.token = token
        _fork.share(self)

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
    token, _, folder = value.partition("@")
    try:
        sock = _connect(folder)
    except OSError:
        return None
    _, user, _ = _CREDENTIALS.unpack(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS.size))
    if user != os.geteuid():
        sock.close()
        raise ProtocolError(f"headrace: {VARIABLE} names a socket in {folder} at which user {user} listens, who is another one")
    return Guest(_wire.Channel(sock), token)


def _listen(folder: str) -> _socket.socket:
    sock = _at(folder, _socket.socket.bind)
    sock.listen(128)
    return sock


def _connect(folder: str) -> _socket.socket:
    return _at(folder, _socket.socket.connect)


def _at(folder: str, begin: Callable[[_socket.socket, str], None]) -> _socket.socket:
    """A socket that is bound or connected in a folder, whose descriptor stands for its path: that may be longer than an address can be."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            begin(sock, f"/proc/self/fd/{fd}/{_NAME}")
        except BaseException:
            sock.close()
            raise
        return sock
    finally:
        os.close(fd)

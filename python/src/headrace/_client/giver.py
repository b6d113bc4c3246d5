"""Credentials that the program gives: a thread calls your functions when the engine asks for some."""

from __future__ import annotations

import _socket
import contextlib
import datetime
import json
import os
import socket
import threading
import weakref
from collections.abc import Mapping

from ..errors import RecipeError
from . import fork, frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .channel import Channel

SCHEMES = ("s3", "gs", "az")
_NAMES = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Token")


class Giver:
    """The functions of one loader. What they return is in no recipe and no state, and is sent to the engine alone."""

    def __init__(self, functions: Any) -> None:
        """`functions` is one for `s3://`, or a dict of them by scheme."""
        if callable(functions):
            functions = {"s3": functions}
        if not isinstance(functions, Mapping) or not functions or not all(callable(one) for one in functions.values()):
            raise RecipeError('headrace: credentials must be a function, or a dict of functions such as {"s3": f, "gs": g}')
        for scheme in functions:
            if scheme not in SCHEMES:
                raise RecipeError(f"headrace: credentials has {scheme!r}: must be of {', '.join(map(repr, SCHEMES))}")
        self._functions: dict[str, Callable[[], Any]] = dict(functions)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        fork.share(self)

    def schemes(self) -> bytes:
        """The schemes, as GIVER has them."""
        return json.dumps(list(self._functions)).encode()

    def connect(self) -> _socket.socket:
        """The engine's end of a connection on which a thread answers until the engine ends it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets.add(ours)
        threading.Thread(target=_answer, args=(ours, self._functions), name="headrace-credentials", daemon=True).start()
        return theirs

    def give(self, channel: Channel) -> None:
        """Tell the engine of them, before a connection's purpose is said."""
        # An engine that has just died is found out by the next frame.
        with contextlib.closing(self.connect()) as theirs, contextlib.suppress(OSError):
            channel.send_descriptor(frames.GIVER, theirs.fileno(), self.schemes())

    def after_fork(self) -> None:
        """In the child: let go of the parent's connections."""
        for one in list(self._sockets):
            fd = one.detach()  # close() would leave it to the file that the parent's thread has made of it
            if fd >= 0:
                os.close(fd)


def _answer(connection: socket.socket, functions: dict[str, Callable[[], Any]]) -> None:
    with contextlib.suppress(OSError), connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            lines.write(json.dumps(_given(functions[json.loads(line)])) + "\n")
            lines.flush()


def _given(function: Callable[[], Any]) -> dict[str, Any]:
    """The answer to a question. Errors name the function and their type alone: their text may have what is secret."""
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        told = function()
    except (Exception, SystemExit) as error:
        return {"error": f"the function {name} raised {type(error).__name__}"}
    if not isinstance(told, Mapping):
        return {"error": f"the function {name} must return a dict, not {type(told).__name__}"}
    until = told.get("Expiration")
    if isinstance(until, str):
        try:
            until = datetime.datetime.fromisoformat(until.replace("Z", "+00:00"))
        except ValueError:
            return {"error": f"the function {name} returns an Expiration that is not a date of ISO 8601"}
    if isinstance(until, datetime.datetime):
        until = until.timestamp()
    if until is not None and not isinstance(until, int | float):
        return {"error": f"the function {name} must return Expiration as a datetime, as text, or in Unix seconds"}
    given = {key: told[key] for key in _NAMES if told.get(key) is not None}
    if not all(isinstance(value, str) for value in given.values()):
        return {"error": f"the function {name} must return text, and Expiration"}
    return {"given": given, "until": until or 0}

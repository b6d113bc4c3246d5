"""Tasks on packets, on streams, and on files that are written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from .._client import fork
from .._client.channel import Gone
from .._recipe.arguments import in_store, is_number, shown
from ..errors import FileError, HeadraceError, MediaError, MemoryRefused, WrongType, file_error, unwritten
from .pool import pool
from .session import END, Input
from .source import error_of, whole

_MOST = Fraction(10**9)  # seconds


def second(name: str, value: Any) -> str | None:
    """A time as the engine reads it: exact, whatever it comes as."""
    if value is None:
        return None
    try:
        if isinstance(value, tuple):
            exact = Fraction(*value)
        elif isinstance(value, float) or hasattr(value, "dtype"):
            exact = Fraction(repr(float(value)))  # 0.1 is a tenth
        else:
            exact = Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise WrongType(f"headrace: io: {name} is {value!r}: must be a number of seconds, also as text or as a fraction (1, 3)") from None
    if abs(exact) > _MOST:
        raise MediaError(f"headrace: io: {name} is {value!r}: must be at most {int(_MOST)} seconds")
    return f"{exact.numerator}/{exact.denominator}" if len(str(exact.denominator)) < 40 else f"{float(exact)!r}"


def window(start: Any, end: Any, streams: Any, bitstream: Any = None) -> dict[str, Any]:
    """What a task has of a window."""
    bounds = {"start": second("start", start), "end": second("end", end)}
    asked: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    if streams is not None:
        listed = [streams] if isinstance(streams, (str, int)) else streams
        if not isinstance(listed, Iterable):
            raise WrongType(f"headrace: io: streams is {streams!r}: must be 'video', 'audio', numbers, or a list of them")
        asked["streams"] = [s if isinstance(s, str) else str(whole("streams", s)) for s in listed]
        if not asked["streams"]:
            raise MediaError("headrace: io: streams is empty: give at least one")
    if bitstream is not None:
        filters = {"video": bitstream} if isinstance(bitstream, str) else bitstream
        if not isinstance(filters, Mapping) or not all(k in ("video", "audio") and isinstance(v, str) for k, v in filters.items()):
            raise WrongType(
                f"headrace: io: bitstream is {bitstream!r}: must be the name of a filter for video, or {{'video': …, 'audio': …}}"
            )
        asked["bitstream"] = dict(filters)
    return asked


def options(name: str, given: Any) -> list[list[str]]:
    """Options of an encoder or a container."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise WrongType(f"headrace: io: {name} is {given!r}: must be a dict of names and values")
    return [[str(k), str(int(v) if isinstance(v, bool) else v)] for k, v in given.items()]


def task(do: str, asked: dict[str, Any], max_bytes: Any = None, **more: Any) -> bytes:
    what = {"do": do, "av": asked, **more}
    if max_bytes is not None:
        what["max_bytes"] = whole("max_bytes", max_bytes)
    return json.dumps(what).encode()


_LONGEST = 1e9  # seconds


def time_of(name: str, time_limit: Any) -> dict[str, float]:
    """What a task says of the time that it may take."""
    if time_limit is None:
        return {}
    if isinstance(time_limit, bool) or not is_number(time_limit) or not 0 < time_limit <= _LONGEST:
        raise MediaError(f"headrace: {name}: time_limit must be a positive number of seconds, got {time_limit!r}")
    return {"time_limit": float(time_limit)}


def done(name: str, what: bytes, inputs: Sequence[Input], to: str | None = None) -> Any:
    """Have a task carried out, whose failures are errors: of the input, or of the file that is written."""
    array, failed = pool.do(what, inputs)
    if failed:
        raise failure(name, failed[0], inputs[0] if inputs else None, to)
    return array


def failure(name: str, failed: dict[str, Any], source: Input | None, to: str | None) -> MediaError | FileError | MemoryRefused:
    number = failed.get("errno")
    if number and to is not None and (source is None or source.path is None or to in failed["message"]):
        if in_store(to) and not to.lower().startswith("file:"):  # a store says more than a number
            return file_error(number, failed["message"].partition('": ')[2] or failed["message"], shown(to))
        return unwritten(number, os.strerror(number), to)
    message = failed["message"]
    for kind in ("media: corrupt image: ", "media: unsupported image: ", "media: truncated image: ", "FFmpeg: "):
        message = message.replace(kind, "")  # they speak of images
    return error_of(name, {**failed, "message": message}, None, source)


def target(name: str, to: Any) -> str | None:
    """The path of what is written, which the engine can find; None if it is not a path."""
    if to is None or hasattr(to, "write"):
        return None
    try:
        path = os.fsdecode(to)
    except TypeError:
        raise WrongType(f"headrace: {name}: to is {to!r}: must be a path, an object with write(), or None for the bytes") from None
    if "\0" in path:
        raise MediaError(f"headrace: {name}: a path with a zero byte: {to!r}")
    return path if in_store(path) else os.path.join(os.getcwd(), path)


def given_back(to: Any, path: str | None, array: Any) -> bytes | None:
    """What was made goes where it is wanted."""
    if path is not None:
        return None
    content = array.tobytes()
    if to is None:
        return bytes(content)
    to.write(content)
    return None


class Ongoing:
    """Tasks that go on with each other, on a connection of their own. Use it from one thread at a time."""

    def __init__(self, name: str, what: bytes, inputs: Sequence[Input], to: str | None = None) -> None:
        self._session: Any = None
        self._elsewhere = False
        self._name = name
        self._to = to
        self._source = inputs[0] if inputs else None
        self._session = pool._borrow()
        fork.share(self)
        self.told = json.loads(self.do(what, inputs).tobytes())

    def do(self, what: bytes, inputs: Sequence[Input] = ()) -> Any:
        if self._elsewhere:
            raise MediaError(f"headrace: {self._name}: it belongs to the process that opened it")
        session = self._session
        if session is None:
            raise MediaError(f"headrace: {self._name}: it is closed")
        try:
            array, failed = session.do(what, inputs, None)
        except Gone:
            self._session = None
            error: HeadraceError = pool._mourn(session)
            raise error from None
        except BaseException:
            self._session = None
            session.close()
            raise
        if failed:
            self.close()
            raise failure(self._name, failed[0], self._source, self._to)
        return array

    @property
    def closed(self) -> bool:
        return self._session is None and not self._elsewhere

    def after_fork(self) -> None:
        """In the child: it is the parent's."""
        self._session = None
        self._elsewhere = True

    def close(self) -> None:
        """Have the engine let go of all that it holds for this. May be called again."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            session.do(END, (), None)
        except BaseException as error:
            session.close()
            if not isinstance(error, (Gone, HeadraceError, OSError)):
                raise
            return
        pool._give(session)

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        session, self._session = getattr(self, "_session", None), None
        if session is not None and not ends():
            pool.take_back(session)

"""Text fields of a batch: decoded when they are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import overload

from ..errors import NoSuchRow

_PAIR = Struct("<II")
_ONE = Struct("<I")
_COUNTED = Struct("<4I")  # the mark, then how many runs, names, and bytes of names
_MARK = (2**32 - 1,)


class Texts(Sequence[str]):
    """The texts of a field, one `str` per row, decoded when read.

    It equals any sequence of the same texts. Bytes that are not UTF-8, as in some file names, become surrogate escapes: `os.fsencode`
    returns the original bytes. `Texts(["a", "b"])` makes one, as frameworks do that rebuild batches.
    """

    __slots__ = ("_counted", "_packed", "_rows", "_start", "_text")

    def __init__(self, packed: bytes | Iterable[str], rows: int = 0, start: int = 0) -> None:
        if not isinstance(packed, bytes):
            packed, rows = _pack(packed)
        self._packed = packed  # at start: rows + 1 offsets, then the texts
        self._rows = rows
        self._start = start
        self._text = 0 if rows and is_counted(packed, start) else start + 4 * (rows + 1)  # 0: they are names by runs
        self._counted: Counted | None = None

    def _end(self) -> int:
        if not self._text:
            return end_of_counted(self._packed, self._start)
        (size,) = _ONE.unpack_from(self._packed, self._start + 4 * self._rows)
        return self._text + int(size)

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._at(i) for i in range(*index.indices(self._rows))]
        i = index.__index__()
        if i < 0:
            i += self._rows
        if not 0 <= i < self._rows:
            raise NoSuchRow(f"row {index} of a batch of {self._rows}")
        return self._at(i)

    def _names(self) -> Counted:
        if self._counted is None:
            self._counted = Counted(self._packed, self._start)
        return self._counted

    def _at(self, i: int) -> str:
        if not self._text:
            return self._names().at(i)
        begin, end = _PAIR.unpack_from(self._packed, self._start + 4 * i)
        return self._packed[self._text + begin : self._text + end].decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        return map(self._at, range(self._rows))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(other) == self._rows and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"<{self._rows} texts: {shown}{', …' if self._rows > 3 else ''}>"

    def __reduce__(self) -> tuple[type[Texts], tuple[bytes, int]]:
        return Texts, (self._packed[self._start : self._end()], self._rows)


Texts.__module__ = "headrace"


class Counted:
    """Names of rows such as `clicks.parquet[17]` by runs, a name and numbers that follow each other. None is text until you ask for it."""

    __slots__ = ("_ends", "_first", "_named", "_names", "_until")

    def __init__(self, packed: bytes, start: int) -> None:
        _, runs, names, size = _COUNTED.unpack_from(packed, start)
        view = memoryview(packed)[start + _COUNTED.size :]
        self._first = view[: 8 * runs].cast("q")  # by run, its first number
        self._until = view[8 * runs : 12 * runs].cast("I")  # how many rows there are up to its end
        self._named = view[12 * runs : 16 * runs].cast("I")  # its name
        view = view[16 * runs :]
        self._ends = view[: 4 * names].cast("I")
        self._names = view[4 * names : 4 * names + size]

    def at(self, row: int) -> str:
        """The name of a row."""
        run = bisect_right(self._until, row)
        name = self._named[run]
        text = self._names[self._ends[name - 1] if name else 0 : self._ends[name]]
        begin = self._until[run - 1] if run else 0
        return f"{str(text, 'utf-8', 'surrogateescape')}[{self._first[run] + row - begin}]"


def end_of_counted(packed: bytes | memoryview, start: int) -> int:
    """Where a field ends that has names by runs."""
    _, runs, names, size = _COUNTED.unpack_from(packed, start)
    return start + _COUNTED.size + 16 * int(runs) + 4 * int(names) + int(size)


def is_counted(packed: bytes | memoryview, start: int = 0) -> bool:
    """Whether the field that begins there has names by runs."""
    return _ONE.unpack_from(packed, start) == _MARK


def _pack(texts: Iterable[str]) -> tuple[bytes, int]:
    """Texts as in a BATCH frame, and how many they are."""
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    ends = accumulate(map(len, encoded), initial=0)
    return b"".join([*map(_ONE.pack, ends), *encoded]), len(encoded)


def split(packed: bytes, rows: int, fields: int) -> list[Texts]:
    """A batch's text fields, at least one, from the end of its BATCH frame (docs/protocol.md)."""
    texts = [Texts(packed, rows)]
    while len(texts) < fields:
        texts.append(Texts(packed, rows, texts[-1]._end()))
    return texts

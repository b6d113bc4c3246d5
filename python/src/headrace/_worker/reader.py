"""A pack's columns as values of Python."""

from __future__ import annotations

from .._batch import rows
from .._batch.byref import Elsewhere
from .._batch.lazy_numpy import np
from .._batch.objects import unpickle
from .errors import Misfit
from .frames import OFFSET, ROWS, SHARED
from .types import NUMBERS, dtype_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Reader:
    """Makes Python's values of a pack's columns.

    Attributes:
        lent: for each column that the function may change, the place of each value in memory of the engine's: space, offset and bytes;
            these are 0 where it is elsewhere.
        keep: for each column, whether a result that is an input can be known so: the engine has its memory, or nobody can change it.
    """

    def __init__(self, setup: dict[str, Any], spaces: dict[int, Any]) -> None:
        self.spaces = spaces
        self.copy = setup["copy"]
        self.lent: list[list[tuple[int, int, int]]] = []
        self.keep = [False] * len(setup["in"])
        self.rows = bool(setup["rows"])  # samples are batches
        self.names = [f["name"] for f in setup["in"]]
        self.fields = [(f["kind"], _reads(f), len(f.get("shape") or ())) for f in setup["in"]]

    def read(self, words: memoryview, at: int, items: int, buffer: bytearray, base: int) -> tuple[list[list[Any]], int]:
        """The columns, which begin at a word; and the word after them. `base` is where data begins in the buffer."""
        columns: list[list[Any]] = []
        self.keep = keep = []
        self.lent = lent = []
        for kind, dtype, dims in self.fields:
            mode = words[at]
            at += 1
            if kind != "tensor":
                records = words[at : at + 2 * items].tolist()
                at += 2 * items
                if kind == "text" and dims:
                    texts = rows.texts if self.rows else rows.lists
                    columns.append([texts(bytes(view), dims) for view in self._views(records, buffer, base)])
                elif kind == "text":
                    columns.append(self._texts(records, buffer, base))
                elif kind == "bytes":
                    columns.append(self._bytes(records, buffer, base))
                else:
                    name = self.names[len(columns)]
                    lent.append([_lent(*records[i : i + 2]) for i in range(0, len(records), 2)])
                    columns.append([Packed(name, view, self.copy, dims) for view in self._views(records, buffer, base)])
                fixed = dims <= self.rows  # and not lists, which the function may change
                keep.append((kind == "text" and fixed) or (kind == "bytes" and not self.copy))
            elif mode & 3 == ROWS:
                shape = tuple(words[at + 1 : at + 1 + dims].tolist())
                columns.append(self._rows(dtype, (items, *shape), buffer, base + words[at]))
                at += 1 + dims
                keep.append(False)  # the engine does not have what the function may have changed
            else:
                records = words[at : at + (1 + dims) * items].tolist()
                at += (1 + dims) * items
                columns.append(self._arrays(dtype, dims, records, buffer, base))
                lent.append([_lent(place, array.nbytes) for place, array in zip(records[:: 1 + dims], columns[-1])])
                keep.append(bool(mode & SHARED) and not self.copy)
        return columns, at

    def _rows(self, dtype: Any, shape: tuple[int, ...], buffer: bytearray, at: int) -> list[Any]:
        count = 1
        for n in shape:
            count *= n
        if type(dtype) is str:
            with memoryview(buffer) as memory, memory[at : at + count * NUMBERS[dtype][1]] as part:
                return part.cast(NUMBERS[dtype][0]).tolist()  # type: ignore[no-any-return, call-overload]
        block = np.frombuffer(buffer, dtype, count, at) if count else np.empty(0, dtype)
        if len(shape) == 1:
            return block.tolist()  # type: ignore[no-any-return]
        block = block.reshape(shape)
        return [row.copy() for row in block] if self.copy else list(block)

    def _arrays(self, dtype: Any, dims: int, records: list[int], buffer: bytearray, base: int) -> list[Any]:
        arrays = []
        for i in range(0, len(records), 1 + dims):
            place = records[i]
            shape = records[i + 1 : i + 1 + dims]
            space = place >> 48
            memory, at = (self.spaces[space], place & OFFSET) if space else (buffer, base + place)
            array = np.ndarray(shape, dtype, memory, at)
            arrays.append(array.copy() if self.copy else array)
        return arrays

    def _texts(self, records: list[int], buffer: bytearray, base: int) -> list[str]:
        with memoryview(buffer) as all_of, all_of[base:] as data:
            pairs = zip(records[::2], records[1::2])
            return [str(data[at : at + size], "utf-8", "surrogateescape") for at, size in pairs]

    def _bytes(self, records: list[int], buffer: bytearray, base: int) -> list[Any]:
        return [bytes(view) if self.copy else view.toreadonly() for view in self._views(records, buffer, base)]

    def _views(self, records: list[int], buffer: bytearray, base: int) -> list[memoryview]:
        views = []
        for i in range(0, len(records), 2):
            place, size = records[i], records[i + 1]
            space = place >> 48
            memory, at = (self.spaces[space], place & OFFSET) if space else (buffer, base + place)
            views.append(memoryview(memory)[at : at + size])
        return views


def _reads(field: dict[str, Any]) -> Any:
    """What arrays of a field are read as: a dtype of NumPy's, or the name of one for which Python does without; None: it has no arrays."""
    if field["kind"] != "tensor":
        return None
    name = field["dtype"]
    return name if not field.get("shape") and name in NUMBERS else dtype_of(name)


def _lent(place: int, size: int) -> tuple[int, int, int]:
    return (place >> 48, place & OFFSET, size) if place >> 48 else (0, 0, 0)


class Packed:
    """An object on its way in. It is unpickled where the function is called, since what goes wrong there is the sample's failure."""

    __slots__ = ("_axes", "_copy", "_name", "_view")

    def __init__(self, name: str, view: memoryview, copy: bool, axes: int) -> None:
        self._name, self._view, self._copy, self._axes = name, view, copy, axes

    def value(self) -> Any:
        """The object."""
        try:
            if self._axes:  # they are after each other, and arrays would not be aligned
                return rows.each(self._view, self._axes, lambda one: unpickle(one, own=True))
            return unpickle(self._view, own=self._copy)
        except Elsewhere as e:
            raise Misfit(self._name, str(e), "TypeError") from e
        except Exception as e:
            kind = type(e).__name__
            raise Misfit(self._name, f"field {self._name!r} cannot be unpickled here: {kind}: {e}", kind) from e


def unpacked(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A sample's values, with its objects."""
    return tuple(value.value() if type(value) is Packed else value for value in row)

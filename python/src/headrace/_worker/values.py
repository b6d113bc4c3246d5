"""Samples' values between memory and Python: a pack's columns in, results out."""

from __future__ import annotations

import json
from array import array

import numpy as np

from .._batch.objects import Objects, unpickle
from .errors import Misfit, describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GENERAL, ROWS, ALL_SAME, SHARED = 0, 1, 2, 4
IN_ROOM, IS_SAME, IN_WHOLE = 1 << 48, 2 << 48, 3 << 48
OFFSET = (1 << 48) - 1
DONE, FAILED, DROPPED = 0, 1, 2
_TOOK = 2  # bits of a sample's state, above which is how long it was in work
LAST, WITH_FIELDS = 1, 2
_ALL_ARRAYS = -1  # the field of an offer of memory for all of them
_SCRATCH = 512 << 10
FULL = 256 << 10
_BY = "by gives= or by its first sample"

_PLAIN = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")


def dtype_of(name: str) -> Any:
    """NumPy's dtype of that name, or that of ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Reader:
    """Makes Python's values of a pack's columns.

    Attributes:
        lent: for each column that the function may change, the place of each value in memory of the engine's: space, offset and bytes;
            these are 0 where it lies elsewhere.
        keep: for each column, whether a result that is an input can be told so: the engine has its memory, or nobody can change it.
    """

    def __init__(self, setup: dict[str, Any], spaces: dict[int, Any]) -> None:
        self.spaces = spaces
        self.copy = setup["copy"]
        self.lent: list[list[tuple[int, int, int]]] = []
        self.keep = [False] * len(setup["in"])
        self.names = [f["name"] for f in setup["in"]]
        self.fields = [(f["kind"], dtype_of(f["dtype"]) if f["kind"] == "tensor" else None, len(f.get("shape") or ())) for f in setup["in"]]

    def read(self, words: memoryview, at: int, items: int, buffer: bytearray, base: int) -> tuple[list[list[Any]], int]:
        """The columns, which begin at a word; and the word behind them. `base` is where data begins in the buffer."""
        columns: list[list[Any]] = []
        self.keep = keep = []
        self.lent = lent = []
        for kind, dtype, dims in self.fields:
            mode = words[at]
            at += 1
            if kind != "tensor":
                records = words[at : at + 2 * items].tolist()
                at += 2 * items
                if kind == "text":
                    columns.append(self._texts(records, buffer, base))
                elif kind == "bytes":
                    columns.append(self._bytes(records, buffer, base))
                else:
                    name = self.names[len(columns)]
                    lent.append([_lent(*records[i : i + 2]) for i in range(0, len(records), 2)])
                    columns.append([Packed(name, view, self.copy) for view in self._views(records, buffer, base)])
                keep.append(kind == "text" or (kind == "bytes" and not self.copy))
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
        return [
            buffer[base + records[i] : base + records[i] + records[i + 1]].decode("utf-8", "surrogateescape")
            for i in range(0, len(records), 2)
        ]

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


def _lent(place: int, size: int) -> tuple[int, int, int]:
    return (place >> 48, place & OFFSET, size) if place >> 48 else (0, 0, 0)


class Packed:
    """An object on its way in. It is unpickled where the function is called, since what goes wrong there is the sample's failure."""

    __slots__ = ("_copy", "_name", "_view")

    def __init__(self, name: str, view: memoryview, copy: bool) -> None:
        self._name, self._view, self._copy = name, view, copy

    def value(self) -> Any:
        """The object."""
        try:
            return unpickle(self._view, own=self._copy)
        except Exception as e:
            kind = type(e).__name__
            raise Misfit(self._name, f"field {self._name!r} cannot be unpickled here: {kind}: {e}", kind) from e


def unpacked(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A sample's values, with its objects."""
    return tuple(value.value() if type(value) is Packed else value for value in row)


class Writer:
    """Gathers results, and sends them."""

    def __init__(self, setup: dict[str, Any], lane: Any) -> None:
        self.lane = lane
        self.memory = memoryview(bytearray(_SCRATCH))
        self.scratch = np.frombuffer(self.memory, np.uint8)
        self.inline_most = setup["inline_most"]
        self.pack_calls = setup["pack_calls"]
        self.inputs = setup["in"]
        self.probing = setup["gives"] is None and setup["kind"] != "filter"
        self.columns: list[Any] = [] if self.probing else [column(i, f, self) for i, f in enumerate(setup["gives"] or ())]
        self.fields: list[dict[str, Any]] = []
        self.names = [f["name"] for f in setup["gives"] or ()]
        self.function: Any = None
        self.lent: dict[int, dict[int, tuple[Any, int | None]]] = {}  # by sample, then field
        self.own: dict[int, tuple[Any, int | None]] = {}  # of the sample whose results are added

    def begin(self, offered: dict[tuple[int, int], tuple[int, int, int]], keep: list[bool]) -> None:
        """Begin with a pack. `offered` is memory for results: where, how much, and whether it must be used."""
        self.offered = offered
        self.whole: _Whole | None = _Whole(self.lane.spaces, *offered[0, _ALL_ARRAYS]) if (0, _ALL_ARRAYS) in offered else None
        self.lent = {}
        self.first = 0
        self._clear()
        self.kept(keep)

    def kept(self, keep: list[bool]) -> None:
        """Say of which inputs a result can be told to be that input."""
        self.keep = keep
        for c in self.columns:
            c.same_as = [k for k in c.candidates if keep[k]]

    def _clear(self) -> None:
        self.status: list[int] = []
        self.failures: list[dict[str, Any]] = []
        self.rest = 0  # nanoseconds of work for no sample that is sent
        self.taken: list[int] = []  # inputs that are a result of the sample in work
        self.end = 0
        for c in self.columns:
            c.begin()

    def reserve(self, size: int) -> int:
        """A place for so many bytes that travel with the message; -1: there is none."""
        at = self.end
        end = at + size + 15 & -16
        if end > _SCRATCH:
            return -1
        self.end = end
        return at

    def lend(self, item: int, one: bool) -> dict[str, Any]:
        """Memory that a sample's results can be written into: an array, which holds anything, for each field of a known shape.

        With `one`, no other sample is in work, and what is small becomes a part of the message.
        """
        lent = {c.index: c.lend(item, one) for c in self.columns if isinstance(c, _Arrays) and c.fixed}
        self.lent[item] = lent
        return {self.names[k]: memory for k, (memory, _) in lent.items()}

    def add(self, item: int, values: Any, row: Any) -> None:
        """Add a sample's results, in the order of the fields."""
        if self.taken:
            self.taken = []
        if self.lent:
            self.own = self.lent.pop(item, {})
            values = _apart(values, self.own)
        columns = self.columns
        try:
            for c, value in zip(columns, values):
                c.add(item, value, row)
        except BaseException:
            for c in columns:
                c.cut(len(self.status))
            raise
        self.status.append(DONE)

    def fail(self, item: int, e: BaseException, key: str = "") -> None:
        """Add a sample that has failed, with its name where that is known here."""
        self.status.append(FAILED)
        self.failures.append({"item": item, **describe(e, self.function), "key": key})
        for c in self.columns:
            c.blank()

    def drop(self) -> None:
        """Add a sample that is not kept."""
        self.status.append(DROPPED)

    def took(self, time: int) -> None:
        """Say how long the last sample was in work, in nanoseconds."""
        self.status[-1] += time << _TOOK

    def find(self, names: list[str], values: list[Any]) -> None:
        """Make columns for whatever a function has returned."""
        self.names = names
        self.fields = [infer(n, v) for n, v in zip(names, values)]
        self.columns = [column(i, f, self) for i, f in enumerate(self.fields)]
        self.kept(self.keep)

    def send(self, last: bool, state: Any = None) -> None:
        """Send what there is."""
        n = len(self.status)
        flags = LAST if last else 0
        told: dict[str, Any] = {}
        if self.failures:
            told["failures"] = self.failures
        if state is not None:
            told["state"] = state
        if self.probing:
            flags |= WITH_FIELDS
            told["fields"] = self.fields
        tail = json.dumps(told).encode() if told else b""
        words = [self.first, n, flags, len(tail), 0, self.rest, *self.status]
        parts: list[Any] = [self.memory[: self.end]]
        size = self.end
        if n:
            for c in self.columns:
                size = c.write(words, parts, size)
        if len(words) & 1:
            words.append(0)
        words[4] = 8 * len(words)
        self.lane.send(36, array("q", words).tobytes(), *parts, tail)
        self.first += n
        self._clear()


def _apart(values: Any, lent: dict[int, tuple[Any, int | None]]) -> list[Any]:
    """Values that do not lie in the memory of another result, where they would be overwritten."""
    apart = []
    for i, value in enumerate(values):
        array = as_array(value) if len(lent) > (i in lent) else None
        if array is not None and any(k != i and np.may_share_memory(array, memory) for k, (memory, _) in lent.items()):
            value = array.copy()
        apart.append(value)
    return apart


def column(index: int, field: dict[str, Any], writer: Writer) -> Any:
    """What gathers the values of a field."""
    if field["kind"] == "tensor":
        return (_Arrays if field.get("shape") else _Scalars)(index, field, writer)
    return (_Objects if field["kind"] == "object" else _Bytes)(index, field, writer)


def _padded(part: memoryview, parts: list[Any], size: int) -> int:
    """Append a part of the message's data, such that the next one is aligned."""
    parts.append(part)
    size += len(part)
    if size & 15:
        gap = 16 - (size & 15)
        parts.append(bytes(gap))
        size += gap
    return size


class _Whole:
    """Memory for all arrays of a batch, which lie there one behind the other."""

    def __init__(self, spaces: dict[int, Any], place: int, size: int, _: int) -> None:
        self.memory = spaces[place >> 48]
        self.base = place & OFFSET
        self.size = size
        self.filled = 0

    def take(self, size: int) -> int:
        """Where the next array lies, of so many bytes; -1: it does not fit, nor does any behind it."""
        at = self.filled
        self.filled = at + size + 63 & -64
        return at if at + size <= self.size else -1


class _Scalars:
    """Numbers: they lie one behind the other, those of samples that have failed too."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.name = field["name"]
        self.dtype = dtype_of(field["dtype"])
        self.writer = writer
        self.values: list[Any] = []
        self.candidates: list[int] = []
        kind = self.dtype.kind
        if kind in "iu":
            info = np.iinfo(self.dtype)
            self.least, self.most = int(info.min), int(info.max)
            self.exact: type = int
        elif kind == "b":
            self.exact = bool
        else:
            self.exact = float

    def begin(self) -> None:
        self.values = []

    def cut(self, n: int) -> None:
        del self.values[n:]

    def blank(self) -> None:
        self.values.append(0)

    def add(self, item: int, value: Any, row: Any) -> None:
        exact = self.exact
        if type(value) is not exact:
            value = self._convert(value)
        if exact is int and not self.least <= value <= self.most:
            raise Misfit(self.name, f"field {self.name!r} is {value}, which {self.dtype} cannot hold", "OverflowError")
        if self.writer.whole is not None:
            self.writer.whole.take(self.dtype.itemsize)  # where the engine puts it
        self.values.append(value)

    def _convert(self, value: Any) -> Any:
        exact = self.exact
        given = value
        if not isinstance(value, (bool, int, float, np.generic)):
            array = as_array(value)
            if array is None or array.shape != ():
                raise self._misfit(given)
            value = array[()]
        if self.dtype.kind == "V":  # bfloat16
            if isinstance(value, (bool, int, float, np.generic)):
                return float(value)
        elif isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and exact is not bool):
            return exact(value)
        elif exact is float and (isinstance(value, (float, np.floating)) or value.dtype.kind == "V"):
            return float(value)
        raise self._misfit(given)

    def _misfit(self, value: Any) -> Misfit:
        return Misfit(self.name, f"field {self.name!r} is {told(value)}; the step gives {self.dtype}, {_BY}{_if_none(self.name, value)}")

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        words += (ROWS, size)
        return _padded(memoryview(np.array(self.values, self.dtype).tobytes()), parts, size)


class _Arrays:
    """Arrays: small ones of one shape lie one behind the other in a block, others go where they find room."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.index = index
        self.name = field["name"]
        self.writer = writer
        self.dtype = dtype_of(field["dtype"])
        self.shape = tuple(field["shape"])
        self.fixed = min(self.shape) >= 0
        self.bytes = self.dtype.itemsize
        for n in self.shape:
            self.bytes *= n
        self.in_block = self.fixed and 0 < self.bytes <= 4096
        self.block: Any = None
        self.candidates = [
            i
            for i, f in enumerate(writer.inputs)
            if f["kind"] == "tensor" and f["dtype"] == field["dtype"] and len(f.get("shape") or ()) == len(self.shape)
        ]
        self.same_as: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.places: list[int] = []
        self.shapes: list[tuple[int, ...]] = []
        self.used = 0  # rows of the block
        self.same = 0  # samples whose result is an input

    def cut(self, n: int) -> None:
        del self.places[n:], self.shapes[n:]

    def blank(self) -> None:
        self.places.append(0)
        self.shapes.append(self.shape if self.fixed else (0,) * len(self.shape))

    def lend(self, item: int, one: bool) -> tuple[Any, int | None]:
        """Memory for a result, and its place; None: what is written there is copied."""
        writer = self.writer
        room = writer.offered.get((item, self.index))
        if room is not None and self.bytes <= room[1]:
            return np.ndarray(self.shape, self.dtype, writer.lane.spaces[room[0] >> 48], room[0] & OFFSET), IN_ROOM
        if one and self.in_block:
            if self.block is None:
                self.block = np.empty((writer.pack_calls, *self.shape), self.dtype)
            if self.used < len(self.block):
                return self.block[self.used], ~self.used
        elif one and 0 < self.bytes <= writer.inline_most:
            at = writer.reserve(self.bytes)
            if at >= 0:
                return np.ndarray(self.shape, self.dtype, writer.scratch, at), at
        return np.empty(self.shape, self.dtype), None

    def _is_lent(self, value: Any, memory: Any) -> bool:
        if value is memory:
            return True
        return bool(value.dtype == self.dtype and value.strides == memory.strides and value.ctypes.data == memory.ctypes.data)

    def add(self, item: int, value: Any, row: Any) -> None:
        writer = self.writer
        room = writer.offered.get((item, self.index)) if writer.offered else None
        if type(value) is not np.ndarray:
            value = self._convert(value)
        if value.dtype is not self.dtype and value.dtype.newbyteorder("=") != self.dtype:
            raise self._misfit(value)
        shape = value.shape
        if shape != self.shape:
            self._fits(value)
        if writer.whole is not None:
            whole = writer.whole
            at = whole.take(value.nbytes)
            if at >= 0:
                np.ndarray(shape, self.dtype, whole.memory, whole.base + at)[...] = value
                self.places.append(IN_WHOLE + at)
                self.shapes.append(shape)
                return
        if writer.own:
            memory, place = writer.own.get(self.index, (None, None))
            if place is not None and self._is_lent(value, memory):
                self.places.append(place)
                self.shapes.append(shape)
                self.used += place < 0
                return
        must = room is not None and room[2]
        if not must:
            for k in self.same_as:
                if value is row[k] and k not in writer.taken:
                    writer.taken.append(k)
                    self.places.append(IS_SAME | k)
                    self.shapes.append(shape)
                    self.same += 1
                    return
            if self.in_block:
                if self.block is None:
                    self.block = np.empty((writer.pack_calls, *self.shape), self.dtype)
                if self.used < len(self.block):
                    self.block[self.used] = value
                    self.places.append(~self.used)
                    self.shapes.append(shape)
                    self.used += 1
                    return
            if value.nbytes <= writer.inline_most:
                at = writer.reserve(value.nbytes)
                if at >= 0:
                    if value.nbytes:
                        np.ndarray(shape, self.dtype, writer.scratch, at)[...] = value
                    self.places.append(at)
                    self.shapes.append(shape)
                    return
        at = _room(writer, self.name, room, item, self.index, value.nbytes)
        np.ndarray(shape, self.dtype, writer.lane.spaces[at >> 48], at & OFFSET)[...] = value
        self.places.append(IN_ROOM)
        self.shapes.append(shape)

    def _fits(self, value: Any) -> None:
        shape = value.shape
        if len(shape) != len(self.shape) or any(want not in (-1, n) for n, want in zip(shape, self.shape)):
            raise self._misfit(value)

    def _convert(self, value: Any) -> Any:
        array = as_array(value)
        if array is None:
            raise self._misfit(value)
        return array

    def _misfit(self, value: Any) -> Misfit:
        text = f"field {self.name!r} is {told(value)}; the step gives {self.dtype} {_shape(self.shape)}, {_BY}{self._remedy(value)}"
        return Misfit(self.name, text)

    def _remedy(self, value: Any) -> str:
        """What to write where nothing but extents differ, or None is meant."""
        if value is None:
            return "; what is written into out must be returned, too" if self.index in self.writer.own else _if_none(self.name, value)
        try:
            array = as_array(value)
        except Exception:
            return ""
        if array is None or len(array.shape) != len(self.shape):
            return ""
        if array.dtype is not self.dtype and array.dtype.newbyteorder("=") != self.dtype:
            return ""
        shape = tuple(want if want == n else None for n, want in zip(array.shape, self.shape))
        more = ", …" if len(self.writer.names) > 1 else ""
        image = len(shape) == 3 and shape[2] in (1, 3, 4) and self.dtype.kind == "u"
        batched = "; images of different sizes must be resized or cropped to one before batch" if image else ""
        return f"{batched}; extents that differ are None: gives={{{self.name!r}: ({str(self.dtype)!r}, {shape}){more}}}"

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        places = self.places
        if self.used == len(places):
            words += (ROWS, size, *self.shape)
        elif self.same == len(places) and places.count(places[0]) == len(places):
            words += (ALL_SAME, places[0] & OFFSET)
            return size
        else:
            words.append(GENERAL)
            for place, shape in zip(places, self.shapes):
                words.append(place if place >= 0 else size + ~place * self.bytes)
                words += shape
        if self.used:
            size = _padded(self.block[: self.used].view(np.uint8).reshape(-1).data, parts, size)
        return size


class _Bytes:
    """Text, and bytes: whatever is so long that it says so."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.index = index
        self.name = field["name"]
        self.writer = writer
        self.text = field["kind"] == "text"
        self.candidates = [i for i, f in enumerate(writer.inputs) if f["kind"] == field["kind"]]
        self.same_as: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.places: list[int] = []
        self.sizes: list[int] = []

    def cut(self, n: int) -> None:
        del self.places[n:], self.sizes[n:]

    def blank(self) -> None:
        self.places.append(0)
        self.sizes.append(0)

    def add(self, item: int, value: Any, row: Any) -> None:
        writer = self.writer
        room = writer.offered.get((item, self.index)) if writer.offered else None
        if room is None or not room[2]:
            for k in self.same_as:
                if value is row[k] and (self.text or k not in writer.taken):
                    writer.taken.append(k)
                    self.places.append(IS_SAME | k)
                    self.sizes.append(0)
                    return
        data = self._encode(value)
        n = len(data)
        memory = self._memory(item, room, n)
        if n:
            np.frombuffer(memory, np.uint8)[...] = np.frombuffer(data, np.uint8)
        self.sizes.append(n)

    def _memory(self, item: int, room: Any, size: int) -> memoryview:
        """Where a value of so many bytes goes. Its place is noted."""
        writer = self.writer
        at = writer.reserve(size) if size <= writer.inline_most and not (room and room[2]) else -1
        if at >= 0:
            self.places.append(at)
            return writer.memory[at : at + size]
        place = _room(writer, self.name, room, item, self.index, size)
        at = place & OFFSET
        self.places.append(IN_ROOM)
        return memoryview(writer.lane.spaces[place >> 48])[at : at + size]

    def _encode(self, value: Any) -> Any:
        if self.text:
            if not isinstance(value, str):
                raise Misfit(self.name, f"field {self.name!r} is {told(value)}; the step gives text")
            try:
                return value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as e:
                raise Misfit(self.name, f"field {self.name!r} is text that UTF-8 cannot hold: {e}", "UnicodeEncodeError") from None
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise Misfit(self.name, f"field {self.name!r} is {told(value)}; the step gives bytes")
        return memoryview(value).cast("B") if memoryview(value).c_contiguous else bytes(value)

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        words.append(GENERAL)
        for pair in zip(self.places, self.sizes):
            words += pair
        return size


class _Objects(_Bytes):
    """Anything: pickled, and with the memory of arrays in it behind that."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        super().__init__(index, field, writer)
        self.candidates = []  # it may have been changed within
        self.objects = Objects()

    def add(self, item: int, value: Any, row: Any) -> None:
        try:
            pickled = self.objects.pickle(value)
        except Exception as e:
            kind = type(e).__name__
            raise Misfit(self.name, f"field {self.name!r} is {_type_of(value)} and cannot be pickled: {kind}: {e}", kind) from e
        room = self.writer.offered.get((item, self.index)) if self.writer.offered else None
        pickled.write(self._memory(item, room, pickled.size))
        self.sizes.append(pickled.size)


def _room(writer: Writer, name: str, room: Any, item: int, index: int, size: int) -> int:
    """Where a result goes that does not travel with the message."""
    if room is not None:
        if size <= room[1]:
            return room[0]  # type: ignore[no-any-return]
        if room[2]:
            raise Misfit(name, f"field {name!r} has {size} bytes, and there is room for {room[1]}", "ValueError")
        del writer.offered[item, index]
    return writer.lane.room(item, index, max(1, size))  # type: ignore[no-any-return]


def as_array(value: Any) -> Any:
    """What a result is as an array of NumPy's; None: it is none."""
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (str, bytes, bytearray, memoryview, list, tuple, dict)):
        return None
    module = type(value).__module__
    if module == "torch" or module.startswith("torch.") or (hasattr(value, "detach") and hasattr(value, "cpu")):
        return _from_torch(value)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return None


def _from_torch(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach()
    if value.device.type != "cpu":
        raise TypeError(f"a tensor on {value.device}: a worker's results are tensors of the CPU, call .cpu()")
    if value.dtype is torch.bfloat16:
        return value.contiguous().view(torch.int16).numpy().view(dtype_of("bfloat16"))
    return value.numpy()


def infer(name: str, value: Any) -> dict[str, Any]:
    """The type of a field, from a value."""
    if isinstance(value, str):
        return {"name": name, "kind": "text"}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"name": name, "kind": "bytes"}
    if isinstance(value, bool):
        return {"name": name, "kind": "tensor", "dtype": "bool", "shape": []}
    if isinstance(value, int):
        return {"name": name, "kind": "tensor", "dtype": "int64", "shape": []}
    if isinstance(value, float):
        return {"name": name, "kind": "tensor", "dtype": "float64", "shape": []}
    array = as_array(value)
    if array is None:
        return {"name": name, "kind": "object"}
    dtype = array.dtype.name
    if dtype not in _PLAIN and dtype != "bfloat16":
        what = f"field {name!r} is an array of {dtype}, which is none of {', '.join(_PLAIN)}, bfloat16"
        raise Misfit(name, f"{what}; the step gives it as it is with gives={{{name!r}: object}}")
    return {"name": name, "kind": "tensor", "dtype": dtype, "shape": list(array.shape)}


def told(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "None"
    try:
        array = as_array(value)
    except Exception:
        array = None
    if array is not None:
        return f"{array.dtype} {_shape(array.shape)}" if array.shape else f"{array.dtype} {array}"
    if isinstance(value, (int, float)):
        return f"{_type_name(value)} {value}"
    if isinstance(value, (list, tuple)):
        return f"{_type_of(value)} of {len(value)} (make it an array)"
    return _type_of(value)


def _if_none(name: str, value: Any) -> str:
    """What to write where None is meant."""
    return f"; if it may be None, {name!r} is object in gives=" if value is None else ""


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"


def _type_of(value: Any) -> str:
    name = _type_name(value)
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _shape(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join("?" if n < 0 else str(n) for n in shape) + "]"

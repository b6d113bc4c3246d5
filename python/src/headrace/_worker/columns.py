"""The results of a pack, a column for each field."""

from __future__ import annotations

import pickle
from array import array
from itertools import accumulate

from .._batch import rows
from .._batch.lazy_numpy import copy, np
from .._batch.objects import Objects
from .errors import Misfit
from .frames import ALL_SAME, GENERAL, IN_ROOM, IN_WHOLE, IS_SAME, OFFSET, ROWS
from .types import NUMBERS, as_array, dtype_of, float_of, if_none, is_rows, packed_bfloat16s, shape_of, told, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .writer import Writer

_BY = "by gives= or by its first sample"


def column(index: int, field: dict[str, Any], writer: Writer) -> Any:
    """What gathers the values of a field."""
    if field["kind"] == "tensor":
        return (Arrays if field.get("shape") else Scalars)(index, field, writer)
    if field.get("shape"):
        return Lists(index, field, writer)
    return (Pickles if field["kind"] == "object" else Bytes)(index, field, writer)


def checker(field: dict[str, Any], gives: list[dict[str, Any]]) -> Any:
    """What tells whether a value is of a field, though it goes to another function and not into memory."""
    return column(0, field, _Nowhere([f["name"] for f in gives])).check  # type: ignore[arg-type]


def taker(field: dict[str, Any], gives: list[dict[str, Any]]) -> Any:
    """What makes a value of a field what a function is given of it: nobody else has its memory."""
    kind = field["kind"]
    if kind == "object":
        return _own
    check = checker(field, gives)
    if kind == "tensor" and field.get("shape"):
        dtype, shape, ndarray = dtype_of(field["dtype"]), tuple(field["shape"]), np.ndarray

        free = len(shape) if max(shape) < 0 else -1  # of so many dimensions, of any extent

        def array_of(value: Any) -> Any:
            if type(value) is ndarray and value.dtype == dtype and (value.shape == shape or value.ndim == free):
                return value.copy()
            return check(value).astype(dtype)

        return array_of
    if kind == "tensor":
        narrow = dtype_of(field["dtype"]).type if field["dtype"] in ("float16", "float32", "bfloat16") else None
        if narrow is np.void:  # of bits alone
            narrow = None
        return check if narrow is None else lambda value: float(narrow(check(value)))

    def value_of(value: Any) -> Any:
        check(value)
        return value if isinstance(value, (str, bytes)) else bytes(value)

    return value_of


def _own(value: Any) -> Any:
    """The same value in memory of its own: of a tuple of arrays, copies of these."""
    kind = type(value)
    if kind in _IMMUTABLE:
        return value
    if kind is np.ndarray:
        return value.copy()
    if kind is tuple or kind is list:
        return kind(map(_own, value))
    if hasattr(value, "detach") and hasattr(value, "clone"):  # a tensor of PyTorch
        return value.clone()
    return pickle.loads(pickle.dumps(value, -1))


_IMMUTABLE = frozenset((int, float, bool, str, bytes, type(None)))


class _Nowhere:
    """A writer where nothing is written."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.inputs: list[dict[str, Any]] = []
        self.own: dict[int, Any] = {}
        self.keeper = None


class Column:
    """What all have in common."""

    def settle(self, plain: bool) -> None:
        """Begin with a pack. `plain` says that there is no other place for results than the message."""

    def keeper(self) -> Any:
        """What makes values, as `extend` takes them, that stay what they are whatever later calls do; None: they are added one by one."""
        return None


class Scalars(Column):
    """Numbers: they lie one behind the other, those of samples that have failed too."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.name = field["name"]
        self.dtype: str = field["dtype"]
        self.size = NUMBERS[self.dtype][1] if self.dtype in NUMBERS else 2  # bytes
        self.writer = writer
        self.values: list[Any] = []
        self.candidates: list[int] = []
        bits = 8 * self.size
        if self.dtype.startswith("uint"):
            self.least, self.most = 0, (1 << bits) - 1
            self.exact: type = int
        elif self.dtype.startswith("int"):
            self.least, self.most = -1 << bits - 1, (1 << bits - 1) - 1
            self.exact = int
        elif self.dtype == "bool":
            self.exact = bool
        else:
            self.exact = float

    def begin(self) -> None:
        self.values = []

    def cut(self, n: int) -> None:
        del self.values[n:]

    def blank(self) -> None:
        self.values.append(0)

    def check(self, value: Any) -> Any:
        """The value as a number of Python's."""
        exact = self.exact
        if type(value) is not exact:
            value = self._convert(value)
        if exact is int and not self.least <= value <= self.most:
            what = f"field {self.name!r} is {value}, which {self.dtype} cannot hold"
            raise Misfit(self.name, f"{what}; the step gives it as it is with gives={{{self.name!r}: object}}", "OverflowError")
        return value

    lasting = check  # a value that nobody changes

    def add(self, item: int, value: Any, row: Any) -> None:
        value = self.check(value)
        if self.writer.whole is not None:
            self.writer.whole.take(self.size)  # where the engine puts it
        self.values.append(value)

    def keeper(self) -> Any:
        return self.check if self.writer.whole is None else None

    def extend(self, first: int, values: Any) -> None:
        """Add what the keeper has made of several samples, from one on."""
        self.values += values

    def _convert(self, value: Any) -> Any:
        exact = self.exact
        given = value
        if not isinstance(value, (bool, int, float, np.generic)):
            array = as_array(value)
            if array is None or array.shape != ():
                raise self._misfit(given)
            value = array[()]
        if self.dtype == "bfloat16":
            if isinstance(value, (bool, int, float, np.generic)):
                return float_of(value)
        elif isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and exact is not bool):
            return exact(value)
        elif exact is float and (isinstance(value, (float, np.floating)) or value.dtype.kind == "V"):
            return float_of(value)
        raise self._misfit(given)

    def _misfit(self, value: Any) -> Misfit:
        return Misfit(self.name, f"field {self.name!r} is {told(value)}; the step gives {self.dtype}, {_BY}{if_none(self.name, value)}")

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        words += (ROWS, size)
        return _padded(self._packed(), parts, size)

    def _packed(self) -> bytes:
        if self.exact is bool:
            return bytes(self.values)
        if self.dtype in NUMBERS:
            return array(NUMBERS[self.dtype][0], self.values).tobytes()
        if self.dtype == "bfloat16":
            return packed_bfloat16s(self.values)
        return np.array(self.values, dtype_of(self.dtype)).tobytes()  # type: ignore[no-any-return]


class Arrays(Column):
    """Arrays: small ones of one shape lie one behind the other, others go where they find room."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.index = index
        self.name = field["name"]
        self.writer = writer
        self.dtype = dtype_of(field["dtype"])
        self.shape = tuple(field["shape"])
        self.fixed = min(self.shape) >= 0
        self.free = len(self.shape) if max(self.shape) < 0 else -1  # of so many dimensions, of any extent
        self.bytes = self.dtype.itemsize
        for n in self.shape:
            self.bytes *= n
        self.in_rows = self.fixed and 0 < self.bytes <= 4096
        self.lent: Any = None  # memory for one small result
        self.plain = False  # all of it is in rows
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
        self.rows: list[bytes] = []  # those that are one after the other
        self.same = 0  # samples whose result is an input

    def cut(self, n: int) -> None:
        if self.plain:
            del self.rows[n:]
        del self.places[n:], self.shapes[n:]

    def blank(self) -> None:
        if self.plain:
            self.rows.append(bytes(self.bytes))
            return
        self.places.append(0)
        self.shapes.append(self.shape if self.fixed else (0,) * len(self.shape))

    def settle(self, plain: bool) -> None:
        """Begin with a pack. `plain` says that there is no other place for results than the message."""
        self.plain = plain and self.in_rows

    def keeper(self) -> Any:
        if not self.plain:
            return None
        dtype, shape, ndarray, lasting = self.dtype, self.shape, np.ndarray, self.lasting

        def bytes_of(value: Any) -> Any:
            if type(value) is not ndarray or value.dtype != dtype or value.shape != shape:
                value = lasting(value)
            return value.tobytes()

        return bytes_of

    def extend(self, first: int, values: Any) -> None:
        """Add what the keeper has made of several samples, from one on."""
        self.rows += values

    def lend(self, item: int, one: bool) -> tuple[Any, int | None]:
        """Memory for a result, and its place; None: what is written there is copied."""
        writer = self.writer
        room = writer.offered.get((item, self.index))
        if room is not None and self.bytes <= room[1]:
            return np.ndarray(self.shape, self.dtype, writer.spaces[room[0] >> 48], room[0] & OFFSET), IN_ROOM
        if one and 0 < self.bytes <= writer.inline_most:
            if self.lent is None:
                self.lent = np.empty(self.shape, self.dtype)
            return self.lent, None
        return np.empty(self.shape, self.dtype), None

    def _is_lent(self, value: Any, memory: Any) -> bool:
        if value is memory:
            return True
        return bool(value.dtype == self.dtype and value.strides == memory.strides and value.ctypes.data == memory.ctypes.data)

    def add(self, item: int, value: Any, row: Any) -> None:
        if type(value) is not np.ndarray or value.dtype != self.dtype or value.shape != self.shape:
            value = self.check(value)
        if self.plain:
            self.rows.append((value if value.dtype == self.dtype else value.astype(self.dtype)).tobytes())
            return
        self.places.append(self._place(item, value, row))
        self.shapes.append(value.shape)

    def _place(self, item: int, value: Any, row: Any) -> int:
        """Where a value is, after it was written there if it must."""
        writer = self.writer
        room = writer.offered.get((item, self.index)) if writer.offered else None
        if writer.whole is not None:
            whole = writer.whole
            at = whole.take(value.nbytes)
            if at >= 0:
                np.ndarray(value.shape, self.dtype, whole.memory, whole.base + at)[...] = value
                return IN_WHOLE + at
        if writer.own:
            memory, place = writer.own.get(self.index, (None, None))
            if place is not None and self._is_lent(value, memory):
                return place
        if room is None or not room[2]:
            for k in self.same_as:
                if value is row[k] and k not in writer.taken:
                    writer.taken.append(k)
                    self.same += 1
                    return IS_SAME | k
            if self.in_rows:
                if value.dtype != self.dtype:  # in its order of bytes
                    value = value.astype(self.dtype)
                self.rows.append(value.tobytes())
                return -len(self.rows)
            if value.nbytes <= writer.inline_most:
                at = writer.reserve(value.nbytes)
                if at >= 0:
                    if value.dtype == self.dtype:
                        writer.memory[at : at + value.nbytes] = value.tobytes()
                    elif value.nbytes:  # in another order of bytes
                        np.ndarray(value.shape, self.dtype, writer.memory, at)[...] = value
                    return at
        at = _room(writer, self.name, room, item, self.index, value.nbytes)
        np.ndarray(value.shape, self.dtype, writer.spaces[at >> 48], at & OFFSET)[...] = value
        return IN_ROOM

    def check(self, value: Any) -> Any:
        """The value as an array of NumPy's."""
        if type(value) is np.ndarray and value.dtype == self.dtype and (value.shape == self.shape or value.ndim == self.free):
            return value
        if type(value) is not np.ndarray:
            value = self._convert(value)
        if value.dtype != self.dtype and value.dtype.newbyteorder("=") != self.dtype:
            raise self._misfit(value)
        if value.shape != self.shape:
            self._fits(value)
        return value

    def lasting(self, value: Any) -> Any:
        """The value as an array that nobody else has."""
        return self.check(value).astype(self.dtype)

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
        text = f"field {self.name!r} is {told(value)}; the step gives {self.dtype} {shape_of(self.shape)}, {_BY}{self._remedy(value)}"
        return Misfit(self.name, text)

    def _remedy(self, value: Any) -> str:
        """What to write where nothing but extents differ, or None is meant."""
        if value is None:
            return "; what is written into out must be returned, too" if self.index in self.writer.own else if_none(self.name, value)
        try:
            array = as_array(value)
        except Exception:
            return ""
        if array is None or len(array.shape) != len(self.shape):
            return ""
        if array.dtype != self.dtype and array.dtype.newbyteorder("=") != self.dtype:
            return ""
        shape = tuple(want if want == n else None for n, want in zip(array.shape, self.shape))
        more = ", …" if len(self.writer.names) > 1 else ""
        image = len(shape) == 3 and shape[2] in (1, 3, 4) and self.dtype.kind == "u"
        batched = "; images of different sizes must be resized or cropped to one before batch" if image else ""
        return f"{batched}; extents that differ are None: gives={{{self.name!r}: ({str(self.dtype)!r}, {shape}){more}}}"

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        places = self.places
        if self.plain or len(self.rows) == len(places):
            words += (ROWS, size, *self.shape)
        elif self.same == len(places) and places.count(places[0]) == len(places):
            words += (ALL_SAME, places[0] & OFFSET)
            return size
        else:
            words.append(GENERAL)
            for place, shape in zip(places, self.shapes):
                words.append(place if place >= 0 else size + ~place * self.bytes)
                words += shape
        if self.rows:
            size = _padded(b"".join(self.rows), parts, size)
        return size


class Bytes(Column):
    """Text, and bytes: whatever is so long that it says so."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        self.index = index
        self.name = field["name"]
        self.writer = writer
        self.text = field["kind"] == "text"
        dims = len(field.get("shape") or ())
        self.candidates = [i for i, f in enumerate(writer.inputs) if f["kind"] == field["kind"] and len(f.get("shape") or ()) == dims]
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
        copy(data, memory)
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
        return memoryview(writer.spaces[place >> 48])[at : at + size]

    def check(self, value: Any) -> None:
        """Raise where the value is something else."""
        if not isinstance(value, str if self.text else (bytes, bytearray, memoryview)):
            kind = "text" if self.text else "bytes"
            raise Misfit(self.name, f"field {self.name!r} is {told(value)}; the step gives {kind}{if_none(self.name, value)}")

    def lasting(self, value: Any) -> Any:
        """The value as one that nobody changes."""
        encoded = self._encode(value)
        return value if self.text else bytes(encoded)

    def keeper(self) -> Any:
        if type(self) is not Bytes or self.same_as or self.writer.offered or self.writer.whole is not None:
            return None
        encode = self._encode
        return _encoded(encode) if self.text else lambda value: bytes(encode(value))

    def extend(self, first: int, values: Any) -> None:
        """Add what the keeper has made of several samples, from one on."""
        sizes = list(map(len, values))
        if sum(sizes) <= self.writer.inline_most and (at := self.writer.reserve(sum(sizes))) >= 0:  # one after the other
            *places, end = accumulate(sizes, initial=at)
            self.writer.memory[at:end] = b"".join(values)
            self.places += places
        else:
            for item, data in enumerate(values, first):
                copy(data, self._memory(item, None, len(data)))
        self.sizes += sizes

    def _encode(self, value: Any) -> Any:
        self.check(value)
        if self.text:
            try:
                return value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as e:
                raise Misfit(self.name, f"field {self.name!r} is text that UTF-8 cannot hold: {e}", "UnicodeEncodeError") from None
        return memoryview(value).cast("B") if memoryview(value).c_contiguous else bytes(value)

    def write(self, words: list[int], parts: list[Any], size: int) -> int:
        words.append(GENERAL)
        pairs = [0] * (2 * len(self.places))
        pairs[::2], pairs[1::2] = self.places, self.sizes
        words += pairs
        return size


def _encoded(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same for text, which mostly is what it must be."""

    def encoded(value: Any) -> Any:
        if type(value) is str:
            try:
                return value.encode()
            except UnicodeEncodeError:  # bytes that are no UTF-8, or nothing that could be
                pass
        return encode(value)

    return encoded


class _Objects(Bytes):
    """Objects, whichever way."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        super().__init__(index, field, writer)
        self.objects = _Pickler(self.name, writer)

    def begin(self) -> None:
        super().begin()
        self.kept: list[tuple[int, list[int]]] = []  # by sample, the numbers of objects that stay here

    def cut(self, n: int) -> None:
        super().cut(n)
        while self.kept and self.kept[-1][0] >= n:
            self.objects.let_go(self.kept.pop()[1])


class Pickles(_Objects):
    """Anything: pickled, and with the memory of arrays in it after that."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        super().__init__(index, field, writer)
        self.candidates = []  # it may have been changed within

    def check(self, value: Any) -> None:
        """Anything will do."""

    def add(self, item: int, value: Any, row: Any) -> None:
        pickled = self.objects.pickle(value, "is {} and")
        room = self.writer.offered.get((item, self.index)) if self.writer.offered else None
        if numbers := self.objects.kept():
            self.kept.append((len(self.sizes), numbers))
        pickled.write(self._memory(item, room, pickled.size))
        self.sizes.append(pickled.size)


class Lists(_Objects):
    """Texts or objects of a batch, one for each row."""

    def __init__(self, index: int, field: dict[str, Any], writer: Writer) -> None:
        super().__init__(index, field, writer)
        self.shape = field["shape"]
        if not self.text:
            self.candidates = []  # they may have been changed within

    def add(self, item: int, value: Any, row: Any) -> None:
        at = len(self.sizes)
        try:
            super().add(item, value, row)
        finally:
            if numbers := self.objects.kept():
                self.kept.append((at, numbers))

    def _encode(self, value: Any) -> Any:
        return rows.pack(self._nested(value, self.shape))

    def _nested(self, value: Any, shape: list[int]) -> list[bytes]:
        kind = "text" if self.text else "objects"
        if not (is_rows(value) or isinstance(value, tuple)) or (shape[0] >= 0 and len(value) != shape[0]):
            given = f"{type_of(value)} of {len(value)}" if hasattr(value, "__len__") else told(value)
            raise Misfit(
                self.name,
                f"field {self.name!r} is {given}; the step gives {kind} {shape_of(tuple(self.shape))}, {_BY}{if_none(self.name, value)}",
            )
        if len(shape) > 1:
            return [rows.pack(self._nested(one, shape[1:])) for one in value]
        if self.text:
            return [super(Lists, self)._encode(one) for one in value]
        return [self._pickled(one) for one in value]

    def _pickled(self, value: Any) -> bytes:
        pickled = self.objects.pickle(value, "has {} that")
        data = bytearray(pickled.size)
        pickled.write(memoryview(data))
        return bytes(data)


class _Pickler:
    """Pickles the objects of a field. Those that cannot be pickled stay here, where the loop is that they are for, or are refused."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name, self._objects, self._keeper = name, Objects(), writer.keeper
        self._numbers: list[int] = []  # that nobody has asked for yet

    def pickle(self, value: Any, is_what: str) -> Any:
        """What can be written. `is_what` says how the field has the value."""
        try:
            return self._objects.pickle(value)
        except Exception as e:
            kind = type(e).__name__
            why = f"field {self._name!r} {is_what.format(type_of(value))} cannot be pickled: {kind}: {e}"
            if self._keeper is None:
                why += '; write where="here" for this step and those that take it, and it passes as it is'
                raise Misfit(self._name, why, kind) from e
        number, data = self._keeper.keep(value, why)
        self._numbers.append(number)
        return _Number(data)

    def kept(self) -> list[int]:
        """The numbers since the last call."""
        numbers, self._numbers = self._numbers, []
        return numbers

    def let_go(self, numbers: list[int]) -> None:
        """Let go of objects whose sample has failed."""
        if self._keeper is not None:
            self._keeper.let_go(numbers)


class _Number:
    """The number of an object that stays here."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    def write(self, memory: memoryview) -> None:
        """Write it into memory of its size."""
        memory[:] = self._data


def _room(writer: Writer, name: str, room: tuple[int, int, int] | None, item: int, index: int, size: int) -> int:
    """Where a result goes that does not travel with the message."""
    writer.in_rooms = True
    if room is not None:
        if size <= room[1]:
            return room[0]
        if room[2]:
            raise Misfit(name, f"field {name!r} has {size} bytes, and there is room for {room[1]}", "ValueError")
        del writer.offered[item, index]
    return writer.room(item, index, max(1, size))


def _padded(part: bytes, parts: list[Any], size: int) -> int:
    """Append a part of the message's data, such that the next one is aligned."""
    parts.append(part)
    size += len(part)
    if size & 15:
        gap = 16 - (size & 15)
        parts.append(bytes(gap))
        size += gap
    return size

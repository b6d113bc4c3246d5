"""Gathers what a function has returned for the samples of a pack, and sends it."""

from __future__ import annotations

import json
from array import array

from .._batch.lazy_numpy import np
from .columns import Arrays, column
from .errors import Ended, describe
from .frames import ALL_ARRAYS, DONE, DROPPED, FAILED, IN_WORK, LAST, OFFSET, RETURNED, WITH_FIELDS
from .types import as_array, infer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .lane import Engine

TOOK = 2  # bits of a sample's state, above which is how long it was in work
_SCRATCH = 512 << 10
FULL = 256 << 10  # bytes of results after which they are sent
SEND_AFTER = 10_000_000  # ns after which they are sent before the next call


class Writer:
    """Gathers results, and sends them."""

    def __init__(self, setup: dict[str, Any], spaces: dict[int, Any], engine: Engine) -> None:
        self.spaces = spaces
        self.engine = engine
        self.room = engine.room
        self.memory = memoryview(bytearray(_SCRATCH))
        self.inline_most = setup["inline_most"]
        self.inputs = setup["in"]
        self.rows = setup["rows"]  # samples are batches
        self.keeper = setup.get("keeper")  # of objects that cannot be pickled; None: they cannot stay here
        self.probing = setup["gives"] is None and setup["kind"] != "filter"
        self.columns: list[Any] = [] if self.probing else [column(i, f, self) for i, f in enumerate(setup["gives"] or ())]
        self.fields: list[dict[str, Any]] = []
        self.names = [f["name"] for f in setup["gives"] or ()]
        self.function: Any = None
        self.counts: list[int] = []  # of a chain, for each function its calls, and how long they took
        self.found: list[Any] | None = None  # of a chain, what each function gives, if that must be found out
        self.unnamed: str | None = None  # of a first sample whose values have no fields: what to write
        self.tuple: list[dict[str, Any]] | None = None  # of a first sample that is a tuple: what its values are
        self.lent: dict[int, dict[int, tuple[Any, int | None]]] = {}  # by sample, then field
        self.own: dict[int, tuple[Any, int | None]] = {}  # of the sample whose results are added

    def begin(self, offered: dict[tuple[int, int], tuple[int, int, int]], keep: list[bool]) -> None:
        """Begin with a pack. `offered` is memory for results: where, how much, and whether it must be used."""
        self.offered = offered
        self.whole: _Whole | None = _Whole(self.spaces, *offered[0, ALL_ARRAYS]) if (0, ALL_ARRAYS) in offered else None
        self.lent = {}
        self.first = 0
        self._clear()
        self.kept(keep)

    def kept(self, keep: list[bool]) -> None:
        """Set which inputs a result can be recognized as."""
        self.keep = keep
        for c in self.columns:
            c.same_as = [k for k in c.candidates if keep[k]]
            c.settle(not (c.same_as or self.offered or self.whole))

    def _clear(self) -> None:
        self.status: list[int] = []
        self.failures: list[dict[str, Any]] = []
        self.rest = 0  # nanoseconds of work for no sample that is sent
        self.counts[:] = [0] * len(self.counts)
        self.taken: list[int] = []  # inputs that are a result of the sample in work
        self.end = 0
        self.in_rooms = False  # some of it is in memory that the engine gives piece by piece
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

        With `one`, no other sample is in work, and the next one is lent the same memory for what is small.
        """
        lent = {c.index: c.lend(item, one) for c in self.columns if isinstance(c, Arrays) and c.fixed}
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

    def fail(self, item: int, e: BaseException, key: str = "", step: str = "") -> None:
        """Add a sample that has failed, with its name where that is known here, and of a chain the step that it has failed in."""
        if isinstance(e, Ended):
            raise e
        self.status.append(FAILED)
        told = describe(e, self.function)
        self.engine.failed(e, told)
        self.failures.append({"item": item, **told, "key": key, "step": step})
        for c in self.columns:
            c.blank()

    def drop(self) -> None:
        """Add a sample that is not kept."""
        self.status.append(DROPPED)
        for c in self.columns:
            c.blank()

    def took(self, time: int) -> None:
        """Say how long the last sample was in work, in nanoseconds."""
        self.status[-1] += time << TOOK

    def find(self, names: list[str], values: list[Any]) -> None:
        """Make columns for whatever a function has returned."""
        self.names = names
        deep = {f["name"]: len(f["shape"]) for f in self.inputs if f["kind"] == "text" and f.get("shape")}
        self.fields = [infer(n, v, self.rows, deep.get(n, 0)) for n, v in zip(names, values)]
        self.columns = [column(i, f, self) for i, f in enumerate(self.fields)]
        self.kept(self.keep)

    def send(self, last: bool, state: Any = None) -> None:
        """Send what there is."""
        self._send(LAST if last else 0, state)

    def hand_on(self, returned: bool, in_work: int) -> None:
        """Send what there is from another thread than the one that works on samples now, and counts calls.

        `returned` says that the samples after these are not begun, and go back.
        """
        counts, self.counts = self.counts, [0] * len(self.counts)
        self._send(RETURNED + (in_work - 1 << IN_WORK) if returned else 0)
        self.counts = counts

    def _send(self, flags: int, state: Any = None) -> None:
        n = len(self.status)
        told: dict[str, Any] = {}
        if self.failures:
            told["failures"] = self.failures
        if state is not None:
            told["state"] = state
        if self.probing:
            flags |= WITH_FIELDS
            told["fields"] = self.fields
            if self.found is not None:
                told["found"] = self.found
            if self.unnamed is not None:
                told["unnamed"] = self.unnamed
            if self.tuple is not None:
                told["tuple"] = self.tuple
        tail = json.dumps(told).encode() if told else b""
        words = [self.first, n, flags, len(tail), 0, self.rest, *self.status, *self.counts]
        parts: list[Any] = [self.memory[: self.end]]
        size = self.end
        if n:
            for c in self.columns:
                size = c.write(words, parts, size)
        if len(words) & 1:
            words.append(0)
        words[4] = 8 * len(words)
        self.engine.results(array("q", words).tobytes(), *parts, tail)
        self.first += n
        self._clear()


def _apart(values: Any, lent: dict[int, tuple[Any, int | None]]) -> list[Any]:
    """Values that are not in the memory of another result, where they would be overwritten."""
    apart = []
    for i, value in enumerate(values):
        array = as_array(value) if len(lent) > (i in lent) else None
        if array is not None and any(k != i and np.may_share_memory(array, memory) for k, (memory, _) in lent.items()):
            value = array.copy()
        apart.append(value)
    return apart


class _Whole:
    """Memory for all arrays of a batch, which are there one after the other."""

    def __init__(self, spaces: dict[int, Any], place: int, size: int, _: int) -> None:
        self.memory = spaces[place >> 48]
        self.base = place & OFFSET
        self.size = size
        self.filled = 0

    def take(self, size: int) -> int:
        """Where the next array is, of so many bytes; -1: it does not fit, nor does any after it."""
        at = self.filled
        self.filled = at + size + 63 & -64
        return at if at + size <= self.size else -1

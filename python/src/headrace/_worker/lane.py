"""One thread's work for one function: packs of samples in, results out, wherever they come from and go to."""

from __future__ import annotations

from time import monotonic_ns

from . import log
from .calls import runner
from .frames import AS_FLUSH, PACK_HEAD, WITH_EPOCH, WITH_INDEX, WITH_RANDOM, WITH_STATE
from .reader import Reader
from .writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from .callee import Callee

    class Engine(Protocol):
        """Who gives a lane its packs."""

        credit: int  # samples of a stream that it takes
        one_by_one: bool  # none is made before it has taken the last one
        stopped: bool  # it takes no more of this pack
        at_end: list[Any]  # what is called when it has no more packs, and the process goes on
        stream: int  # of what is sent, where several packs are in work

        def begin(self, credit: int) -> None:
            """Begin with a pack."""

        def results(self, *parts: Any) -> None:
            """Take results."""

        def room(self, item: int, field: int, size: int) -> int:
            """Give memory for a result, and tell where it is."""

        def pull(self) -> bool:
            """Wait until it takes more; false: it wants no more."""

        def pulled_now(self) -> bool:
            """Whether it has taken something meanwhile."""

        def await_more(self, seconds: float) -> bool:
            """Wait until it has said something; false: in time it has not."""

        def failed(self, e: BaseException, told: dict[str, Any]) -> None:
            """A sample has failed, which the engine is about to learn."""


class Lane:
    """What one thread works with, for one function.

    Attributes:
        spaces: memory by number, which samples are in and results may be written into.
    """

    def __init__(
        self, callee: Callee, engine: Engine, spaces: dict[int, Any], cell: memoryview, start: Callable[[Any], None] | None = None
    ) -> None:
        """`cell` is where the engine reads what is in work. `start` has a coroutine run beside others."""
        self.engine = engine
        self.start = start
        self.stage = callee.stage
        self.whole = callee.collate  # the samples of a pack are given to the function together
        self.keys = callee.keys
        self.spaces = spaces
        self.cell = cell
        self.tag = 0
        self.reader = Reader(callee.setup, self.spaces)
        self.writer = Writer(callee.setup, self.spaces, engine)
        self._views: dict[int, memoryview] = {}
        self._saved: tuple[int, list[list[tuple[int, int, int]]]] | None = None
        self.run = runner(callee, self)

    def work(self, buffer: bytearray, start: int, end: int) -> None:
        """Work on some samples: a PACK frame, whose payload is a part of a buffer."""
        payload = memoryview(buffer)[start:end]
        words = payload[: len(payload) & -8].cast("q")
        items, flags, credit, rooms, data_at, number, saved, _ = words[:PACK_HEAD].tolist()
        at = PACK_HEAD
        random = state = index = epochs = None
        if flags & WITH_RANDOM:
            # A pack of Collate has one for all its samples.
            count = 1 if self.whole else items * self.keys
            random = payload[8 * at : 8 * (at + 2 * count)].cast("Q").tolist()
            at += 2 * count
        if flags & WITH_INDEX:
            index = words[at : at + items].tolist()
            at += items
        if flags & WITH_EPOCH:
            count = 1 if self.whole else items
            epochs = words[at : at + count].tolist()
            at += count
        if flags & WITH_STATE:
            begin, length = words[at] + data_at, words[at + 1]
            state = bytes(payload[begin : begin + length])
            at += 2
        columns: list[Any] = []
        if not flags & AS_FLUSH:
            columns, at = self.reader.read(words, at, items, buffer, start + data_at)
        offered = {}
        for i in range(at, at + 5 * rooms, 5):
            item, field, place, size, must = words[i : i + 5].tolist()
            offered[item, field] = (place, size, must)
        words.release()
        self._saved = (saved, self.reader.lent) if saved else None
        self.tag = number << 32
        self.engine.begin(credit)
        self.writer.begin(offered, self.reader.keep)
        with log.speaking_for(self.stage):
            self.run(Task(items, flags, random, index, epochs, state, columns))

    def save(self, item: int) -> None:
        """Copy what the function is about to be given and may change, so that it can be given it again should this process die."""
        if self._saved is None:
            return
        place, lent = self._saved
        memory, at = self.saved_in(place >> 48), place & 0xFFFFFFFFFFFF
        for column in lent:
            for source, begin, size in column if self.whole else (column[item],):
                if size:
                    memory[at : at + size] = self.saved_in(source)[begin : begin + size]
                    at += size + 63 & -64

    def saved_in(self, number: int) -> memoryview:
        """The bytes of a space."""
        view = self._views.get(number)
        if view is None or view.obj is not self.spaces[number]:
            view = self._views[number] = memoryview(self.spaces[number])
        return view

    def let_go(self) -> None:
        """Let go of memory."""
        for view in self._views.values():
            view.release()

    def working(self, item: int) -> int:
        """Note which sample is in work now, and since when."""
        now = monotonic_ns()
        self.cell[1] = now
        self.cell[0] = self.tag + item + 1
        return now

    def resting(self) -> None:
        """Note that no sample is in work: the engine is waited for."""
        self.cell[0] = 0


class Task:
    """What came with a pack."""

    __slots__ = ("columns", "epochs", "flags", "index", "items", "random", "state")

    def __init__(self, items: int, flags: int, random: Any, index: Any, epochs: Any, state: Any, columns: list[Any]) -> None:
        self.items = items
        self.flags = flags
        self.random = random
        self.index = index
        self.epochs = epochs
        self.state = state
        self.columns = columns

"""Functions of adjacent steps, called one after the other for each sample."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from operator import itemgetter
from time import monotonic_ns

import numpy as np

from .._recipe.functions import BARE
from . import log
from .callee import Callee
from .columns import checker
from .errors import Misfit
from .frames import OWN_SHARED
from .reader import Packed
from .results import is_bare, values_of_result
from .types import infer, told
from .writer import FULL, SEND_AFTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .lane import Lane, Task

    Sample = dict[str, Any]


class Chain:
    """The functions of several steps. It stands where a `Callee` does."""

    kind = "chain"
    collate = False

    def __init__(self, setup: dict[str, Any], load: Callable[[dict[str, Any]], Any]) -> None:
        """`load` gives the function of a link."""
        self.setup = setup
        self.stage: str = setup["stage"]
        self.callees: list[Callee] = []
        for link in setup["chain"]:
            with log.speaking_for(link["step"]):
                self.callees.append(Callee(_callee_setup(link), partial(load, link), None))
        self.target = self.callees[-1].target
        self.keys = len(self.callees)  # of random numbers, for each sample
        self.random = any(c.random for c in self.callees)
        seeded = any(c.seeds for c in self.callees)
        self.is_async = any(c.is_async for c in self.callees)
        # Where so many workers are wanted, functions that compute need them: one worker has all coroutines.
        alone = not setup["exact"] or all(c.is_async for c in self.callees)
        self.concurrent = self.is_async and not seeded and alone
        if self.concurrent:
            setup["copy"] = True


def _callee_setup(link: dict[str, Any]) -> dict[str, Any]:
    fields = link["fields"]
    inputs = [{"name": name, "kind": ""} for name in fields or ()]
    return {**link, "stage": link["step"], "in": inputs, "positional": fields is not None}


class Link:
    """One function of a chain, as it works on what the one before it has left of a sample: a dict of its fields, which is nobody else's."""

    def __init__(self, chain: Chain, at: int, lane: Lane) -> None:
        self.callee = callee = chain.callees[at]
        setup, writer = callee.setup, lane.writer
        self.step: str = setup["step"]
        self.function = callee.target
        self.prepare = callee.prepare() if callee.random else None
        self.fields: list[str] | None = setup["fields"]
        self.keeps = callee.kind == "filter"
        self.last = at == len(chain.callees) - 1
        self.found: list[dict[str, Any]] | None = None  # what it has returned, where that is to be found out
        self.probing = writer.probing and not self.keeps
        self._objects = any(f["kind"] == "object" for f in chain.setup["in"])
        self._copy = chain.setup["chain"][at]["copy"] and at > 0
        self._get = self._getter()
        self._lend = self._lender(writer, not chain.concurrent)

        # Whole samples have the fields that they are to have where that was said, and where no function behind it makes others of them.
        gives = setup["gives"]
        whole_behind = any(c.kind == "map" and c.setup["fields"] is None for c in chain.callees[at + 1 :])
        self._gives_bare = is_bare(gives) if gives is not None else None
        self._names = frozenset(f["name"] for f in gives) if gives is not None and (setup["checks"] or not whole_behind) else None
        self._checks = [(f["name"], checker(f, gives)) for f in gives] if gives is not None and setup["checks"] and not self.last else []
        self.to: list[str] = setup["to"] or self.fields or []
        self._values = values_of_result(setup, _Named(self.to if self.fields is not None else [f["name"] for f in gives or ()]))

    def _getter(self) -> Callable[[Sample], Any]:
        fields = self.fields
        if fields is None:
            if self.keeps:
                return lambda state: (state[BARE] if BARE in state else dict(state),)
            return lambda state: (state.get(BARE, state),)
        if len(fields) == 1:
            (name,) = fields
            return lambda state: (state[name],)
        return itemgetter(*fields)

    def arguments(self, state: Sample) -> Any:
        """What the function is given."""
        if self._objects:
            for name in self.fields or tuple(state):
                if type(state.get(name)) is Packed:
                    state[name] = state[name].value()
        try:
            given = self._get(state)
        except KeyError as e:
            (missing,) = e.args
            there = ", ".join(map(repr, state)) or "none"
            raise Misfit(missing, f"takes the field {missing!r}; the sample has {there}", "KeyError") from None
        if self._copy:
            return tuple(map(_copied, given))
        return given

    def keywords(self, random: list[int] | None, at: int, item: int) -> dict[str, Any]:
        """Its generator and its memory, if it takes them."""
        kwargs = self.prepare(random[at], random[at + 1]) if self.prepare is not None and random is not None else {}
        if self._lend is not None:
            kwargs["out"] = self._lend(item)
        return kwargs

    @property
    def plain(self) -> bool:
        """Whether it is called with nothing but values."""
        return self.prepare is None and self._lend is None

    def accept(self, state: Sample, result: Any) -> Sample | None:
        """What it leaves of a sample; None: nothing."""
        if self.keeps:
            return state if result else None
        if self.fields is None:
            if self._is_bare(state, result):
                result = values = {BARE: result}
            else:
                if not hasattr(result, "keys") or (self._names is not None and result.keys() != self._names):
                    self._values(result)  # says what is wrong with it
                result = values = dict(result)
        else:
            values = dict(zip(self.to, self._values(result)))
        if self.probing:
            self.found = [_type_of(name, value) for name, value in values.items()]
        for name, check in self._checks:
            check(values[name])
        if not self.last:
            _set_apart(values, state if self.fields is not None else {})
        if self.fields is None:
            return result  # type: ignore[no-any-return]
        state.update(values)
        return state

    def _is_bare(self, state: Sample, result: Any) -> bool:
        """Whether the samples that it gives are no dicts."""
        if self._gives_bare is not None:
            return self._gives_bare
        return not hasattr(result, "keys") and (result is not None or BARE in state)

    def _lender(self, writer: Any, one: bool) -> Callable[[int], Any] | None:
        """What makes `out`: of the last function the engine's memory, where its results are wanted."""
        if self.last or not self.callee.takes_out:
            return self.callee.lender(writer, one)
        return self.callee.lender(_Memory(self.callee.setup["gives"]), one)


def _set_apart(values: Sample, others: Sample) -> None:
    """Give arrays memory of their own where other fields have the same: the next function may work in place."""
    seen = [value for name, value in others.items() if isinstance(value, np.ndarray) and name not in values]
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            if any(np.may_share_memory(value, other) for other in seen):
                values[name] = value = value.copy()
            seen.append(value)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def _type_of(name: Any, value: Any) -> dict[str, Any]:
    """The type of a value on its way to the next function, which may be anything."""
    if not isinstance(name, str):
        raise Misfit(repr(name), f"returned a field whose name is {told(name)}, not a str")
    try:
        return infer(name, value, False)
    except Misfit:
        return {"name": name, "kind": "object"}


class _Named:
    """The names of what a function returns."""

    probing = False

    def __init__(self, names: list[str]) -> None:
        self.names = names


class _Memory:
    """Memory for what one function gives the next."""

    def __init__(self, gives: list[dict[str, Any]]) -> None:
        from .types import dtype_of

        arrays = [f for f in gives if f["kind"] == "tensor" and f.get("shape") and min(f["shape"]) >= 0]
        self.arrays = [(f["name"], tuple(f["shape"]), dtype_of(f["dtype"])) for f in arrays]

    def lend(self, item: int, one: bool) -> dict[str, Any]:
        return {name: np.empty(shape, dtype) for name, shape, dtype in self.arrays}


class Run:
    """What has to be known of a chain's calls beside each other."""

    def __init__(self, chain: Chain, lane: Lane) -> None:
        self.writer = lane.writer
        self.lane = lane
        self.names = [f["name"] for f in chain.setup["in"]]
        self.links = [Link(chain, at, lane) for at in range(len(chain.callees))]
        self.width = 2 * chain.keys
        self.makers = self._makers([link.callee.setup["gives"] for link in self.links])
        self.writer.counts = [0] * (2 * len(self.links))

    def _makers(self, gives: list[list[dict[str, Any]] | None]) -> dict[str, Link]:
        """Of fields, the function that makes them last, by what each gives."""
        makers: dict[str, Link] = {}
        for link, fields in zip(self.links, gives):
            if not link.keeps:
                makers = ({} if link.fields is None else makers) | {f["name"]: link for f in fields or ()}
        return makers

    def add(self, item: int, state: Sample | None, row: Any) -> None:
        """Take what is left of a sample."""
        writer = self.writer
        if state is None:
            writer.drop()
            return
        if writer.probing:
            writer.found = [link.found for link in self.links]
            made = self.makers = self._makers(writer.found)
            writer.find(list(made), [state[name] for name in made])
        try:
            writer.add(item, [state[name] for name in writer.names], row)
        except KeyError as e:
            raise Misfit(e.args[0], f"field {e.args[0]!r} is missing", "KeyError") from None

    def fail(self, item: int, e: BaseException, link: Link | None) -> None:
        """Say which function has failed; None: what it gave is not what the chain is to give."""
        if link is None:
            link = self.makers.get(getattr(e, "field", ""), self.links[-1])
        self.writer.function = link.function
        self.writer.fail(item, e, step=link.step)


def chain(callee: Chain, lane: Lane) -> Callable[[Task], None]:
    """Sample by sample, each through all functions; or coroutines beside each other."""
    if lane.start is not None:
        return coroutines(callee, lane)
    writer, cell = lane.writer, lane.cell
    it = Run(callee, lane)
    names, width, counts = it.names, it.width, writer.counts
    links = [
        (at, link, link.arguments, link.accept, link.function, link.plain, link.callee.wait if link.callee.is_async else None)
        for at, link in enumerate(it.links)
    ]
    speak = log.speak

    def run(task: Task) -> None:
        rows: Any = zip(*task.columns) if task.columns else repeat((), task.items)
        each = task.flags & OWN_SHARED
        random = task.random
        tag = lane.tag
        sent = now = monotonic_ns()
        for item, row in enumerate(rows):
            if writer.status and (each or now - sent > SEND_AFTER or writer.end > FULL):
                writer.send(False)
                sent = now
            if each:
                lane.save(item)
            cell[1] = now
            cell[0] = tag + item + 1
            began = now
            state: Any = dict(zip(names, row))
            link: Link | None = None
            try:
                for at, link, arguments, accept, function, plain, wait in links:
                    cell[2] = at
                    speak(link.step)
                    if plain:
                        result = function(*arguments(state))
                    else:
                        given = arguments(state)
                        result = function(*given, **link.keywords(random, width * item + 2 * at, item))
                    if wait is not None:
                        result = wait(result)
                    state = accept(state, result)
                    after = monotonic_ns()
                    counts[2 * at] += 1
                    counts[2 * at + 1] += after - began
                    began = after
                    if state is None:
                        break
                link = None
                it.add(item, state, row)
            except BaseException as e:
                if link is not None:
                    counts[2 * at] += 1
                    counts[2 * at + 1] += monotonic_ns() - began
                it.fail(item, e, link)
            done = monotonic_ns()
            writer.took(done - now)
            now = done
        writer.send(True)

    return run


def coroutines(callee: Chain, lane: Lane) -> Callable[[Task], None]:
    """Begins one sample's way through all functions. What is left of it goes when it is done."""
    from .in_flight import Call
    from .overdue import within  # asyncio takes long to import

    assert lane.start is not None
    start, writer = lane.start, lane.writer
    it = Run(callee, lane)
    names = it.names
    counts = [0] * (2 * len(it.links))
    limit = callee.setup["limit"]

    async def run(own: Call, row: Any, random: list[int] | None) -> None:
        state: Sample | None = dict(zip(names, row))
        link: Link | None = None
        begun = monotonic_ns()

        async def through() -> None:
            nonlocal state, link
            for at, link in enumerate(it.links):
                assert state is not None
                own.cell[2] = at
                began = monotonic_ns()
                try:
                    log.speak(link.step)
                    own.resume()
                    result = link.function(*link.arguments(state), **link.keywords(random, 2 * at, 0))
                    if link.callee.is_async:
                        result = await result
                    state = link.accept(state, result)
                finally:
                    counts[2 * at] += 1
                    counts[2 * at + 1] += monotonic_ns() - began
                if state is None:
                    break

        failed = None
        try:
            await (within(limit, through()) if limit else through())
        except BaseException as e:
            failed = e
        took = monotonic_ns() - begun
        own.resume()
        writer.counts[:], counts[:] = counts, [0] * len(counts)
        try:
            if failed is not None:
                raise failed
            link = None
            it.add(0, state, row)
        except BaseException as e:
            it.fail(0, e, link)
        writer.took(took)
        writer.send(True)

    def begin(task: Task) -> None:
        row = next(zip(*task.columns)) if task.columns else ()
        lane.working(0)
        start(run(Call(lane), row, task.random))

    return begin

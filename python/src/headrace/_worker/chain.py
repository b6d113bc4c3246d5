"""Functions of adjacent steps, called one after the other for each sample."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from operator import itemgetter
from time import monotonic_ns

from .._batch.lazy_numpy import is_array, np
from .._recipe.functions import BARE
from . import log
from .bursts import Bursts, Step
from .callee import Callee
from .columns import Arrays, checker, taker
from .errors import Misfit
from .frames import AS_RUN, DONE, OWN_SHARED
from .getitems import several_of
from .long_calls import LongCalls
from .reader import Packed
from .results import check_names, is_bare, tuple_of, values_of_result
from .single import single, singles
from .types import infer, told
from .writer import FULL, SEND_AFTER, TOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .hooked import Hooks
    from .lane import Lane, Task

    Sample = dict[str, Any]

_NUMBER = "\0number"  # the field of a sample with its number, until it is read


def names_of(chain: Chain) -> list[str]:
    """The fields of a sample that comes."""
    names = [f["name"] for f in chain.setup["in"]]
    return [*names, _NUMBER] if chain.callees[0].kind == "index" else names


def rows_of(task: Task) -> Any:
    """What the first function is given of each sample."""
    columns = task.columns if task.index is None else [*task.columns, task.index]
    return zip(*columns) if columns else repeat((), task.items)


class Chain:
    """The functions of several steps. It takes the place of a `Callee`."""

    kind = "chain"
    collate = False

    def __init__(self, setup: dict[str, Any], load: Callable[[dict[str, Any]], Any]) -> None:
        """`load` gives the function of a link."""
        self.setup = setup
        self.stage: str = setup["stage"]
        self.callees: list[Callee] = []
        for link in setup["chain"]:
            with log.speaking_for(link["step"]):
                self.callees.append(Callee(_callee_setup(link, setup["held"]), partial(load, link), None))
        self.target = self.callees[-1].target
        self.keys = len(self.callees)  # of random numbers, for each sample
        self.random = any(c.random for c in self.callees)
        seeded = any(c.seeds for c in self.callees)
        self.is_async = any(c.is_async for c in self.callees)
        # Where so many workers are wanted, functions that compute need them: one worker has all coroutines.
        alone = not setup["exact"] or all(c.is_async for c in self.callees)
        self.concurrent = self.is_async and not seeded and alone
        self.gates = [c.epochs for c in self.callees if c.epochs is not None]
        self.epochs = self.gates[0] if self.gates else None
        if self.concurrent:
            setup["copy"] = True

    def hook(self, hooks: Hooks, beside: bool) -> None:
        """Have hooks around the calls of each function."""
        for callee in self.callees:
            callee.hook(hooks, beside)
        self.target = self.callees[-1].target


def _callee_setup(link: dict[str, Any], held: Any) -> dict[str, Any]:
    fields = link["fields"]
    inputs = [{"name": name, "kind": ""} for name in fields or ()]
    return {**link, "stage": link["step"], "in": inputs, "positional": fields is not None, "held": held}


class Link:
    """One function of a chain, as it works on what the one before it has left of a sample: a dict of its fields, which is nobody else's."""

    def __init__(self, chain: Chain, at: int, lane: Lane) -> None:
        self.chain, self.at = chain, at
        self.callee = callee = chain.callees[at]
        setup, writer = callee.setup, lane.writer
        self.step: str = setup["step"]
        self.function = callee.target
        self.prepare = callee.prepare() if callee.random else None
        self.fields: list[str] | None = setup["fields"]
        self.keeps = callee.kind == "filter"
        self.reads = callee.kind == "index"
        self.names = names_of(chain)
        if self.reads:
            self.function = callee.getter()
        self.last = at == len(chain.callees) - 1
        self.found: list[dict[str, Any]] | None = None  # what it has returned, if that must be found out
        self.probing = writer.probing and not self.keeps
        self._objects = any(f["kind"] == "object" for f in chain.setup["in"])
        self._copy = chain.setup["chain"][at]["copy"] and at > 0
        self._get = self._getter()
        self._lend = self._lender(writer, not chain.concurrent)

        # Whole samples have the fields that they are to have where that was said, and where no function after it makes others of them.
        gives = setup["gives"]
        whole_behind = any(c.kind == "map" and c.setup["fields"] is None for c in chain.callees[at + 1 :])
        self._gives_bare = is_bare(gives) if gives is not None else None
        self._names = frozenset(f["name"] for f in gives) if gives is not None and (setup["checks"] or not whole_behind) else None
        self.checks = [(f["name"], checker(f, gives)) for f in gives] if gives is not None and setup["checks"] and not self.last else []
        before: dict[str, Any] = chain.callees[at - 1].setup if at > 0 else {"checks": False}
        # What it is given was checked as its result is.
        self.trusted = frozenset(f["name"] for f in gives or () if before["checks"] and f in (before["gives"] or ()))
        self.same = bool(gives) and gives[0]["name"] in self.trusted
        self.to: list[str] = setup["to"] or self.fields or []
        self.names_given = [f["name"] for f in gives or ()]
        self.values = values_of_result(setup, _Named(self.to if self.fields is not None else self.names_given))
        self.gives_tuple = self.fields is None and bool(self.to) and not (self.keeps or self.reads or self.probing)
        other = self.keeps or self.reads or self.gives_tuple
        self.whole = self.fields is None and self._gives_bare is False and not other  # it gives dicts
        self.call = self._caller()  # None: it takes more than values
        self.field = self._field()
        self.accept = self._acceptor()

    # How it is called.

    def _getter(self) -> Callable[[Sample], Any]:
        fields = self.fields
        if self.reads:
            return lambda state: (state[_NUMBER],)
        if fields is None:
            if self.keeps:
                return lambda state: (state[BARE] if BARE in state and len(state) == 1 else dict(state),)
            if self.last:
                return lambda state: (state[BARE] if BARE in state and len(state) == 1 else state,)
            return lambda state: (state[BARE] if BARE in state and len(state) == 1 else state.copy(),)  # what came stays to compare with
        if len(fields) == 1:
            (name,) = fields
            return lambda state: (state[name],)
        return itemgetter(*fields)

    def _caller(self) -> Callable[[Sample], Any] | None:
        """What calls the function with nothing but values of a sample; None: it takes its generator, or memory, too."""
        function = self.function
        if self.prepare is not None or self._lend is not None:
            return None
        if self._objects or self._copy:
            arguments = self.arguments
            return lambda state: function(*arguments(state))
        if self.fields is not None and len(self.fields) == 1 and not self.reads:
            (name,) = self.fields
            return lambda state: function(state[name])
        if self.fields is None and not self.keeps and not self.reads:
            if self.last:
                return lambda state: function(state[BARE] if BARE in state and len(state) == 1 else state)
            return lambda state: function(state[BARE] if BARE in state and len(state) == 1 else state.copy())
        get = self._get
        return lambda state: function(*get(state))

    def _field(self) -> str | None:
        """The field whose value is all that it takes, as it is; None: there is none."""
        if self.reads and self.call is not None:
            return _NUMBER
        if self.call is None or self._objects or self._copy or self.fields is None or len(self.fields) != 1:
            return None
        return self.fields[0]

    @property
    def plain(self) -> bool:
        """Whether it is called with nothing but values, as they are, and its result is not awaited or found out."""
        return self.call is not None and not (self._objects or self._copy or self.callee.is_async or self.probing)

    def arguments(self, state: Sample) -> Any:
        """What the function is given."""
        if self._objects and not self.reads:
            for name in self.fields or tuple(state):
                if type(state.get(name)) is Packed:
                    state[name] = state[name].value()
        given = self._get(state)
        return tuple(map(_copied, given)) if self._copy else given

    def keywords(self, random: list[int] | None, at: int, item: int) -> dict[str, Any]:
        """Its generator and its memory, if it takes them."""
        kwargs = self.prepare(random[at], random[at + 1]) if self.prepare is not None and random is not None else {}
        if self._lend is not None:
            kwargs["out"] = self._lend(item)
        return kwargs

    def reason(self, e: BaseException, state: Sample | None) -> BaseException:
        """Why it has failed: the exception, or that the sample has not what it takes."""
        if isinstance(e, KeyError) and state is not None and not self.reads:
            for name in self.fields or ():
                if name not in state:
                    there = ", ".join(map(repr, state)) or "none"
                    return Misfit(name, f"needs the field {name!r}; the sample has {there}", "KeyError")
        return e

    # What it leaves of a sample.

    def _acceptor(self) -> Callable[[Sample, Any], Sample | None]:
        """What takes a sample and a result, and gives what is left of the sample; None: nothing."""
        if self.keeps:
            return lambda state, result: state if result else None
        if self.reads:
            return self._reader()
        if self.probing:
            return self._find
        if self.gives_tuple:
            return self._of_tuple
        return self._wholes() if self.fields is None else self._named()

    def _of_tuple(self, _: Sample, result: Any) -> Sample:
        """Take a tuple, as the last function: its values are fields whose names are their numbers."""
        return dict(zip(self.to, self.values(result)))

    def _wholes(self) -> Callable[[Sample, Any], Sample]:
        """What takes other samples: mostly dicts of the fields that are expected."""
        names, last, whole = self._names, self.last, self._whole
        checks, trusted = dict(self.checks), self.trusted
        if self._gives_bare is not False:
            return whole

        def take(state: Sample, result: Any) -> Sample:
            if type(result) is not dict or (result.keys() != names if names is not None else BARE in result):
                return whole(state, result)
            sample = result.copy()  # the function may keep its own
            if last:
                return sample
            changed = False
            for name, value in sample.items():
                if name not in state or state[name] is not value:
                    changed = True
                elif name in trusted:
                    continue
                if name in checks:
                    checks[name](value)
            if changed and len(sample) > 1:
                _set_apart(sample, {})
            return sample

        return take

    def _whole(self, state: Sample, result: Any) -> Sample:
        """Take another sample, whatever it is."""
        if self._is_bare(state, result):
            sample = {BARE: result}
        else:
            if not hasattr(result, "keys") or (self._names is not None and result.keys() != self._names):
                self.values(result)  # says what is wrong with it
            sample = dict(result)
            if len(sample) == 1:
                check_names([*sample])
        for name, check in self.checks:
            check(sample[name])
        if not self.last and len(sample) > 1:
            _set_apart(sample, {})
        return sample

    def _named(self) -> Callable[[Sample, Any], Sample]:
        """What takes values of a sample."""
        to, values_of, checks, last = self.to, self.values, self.checks, self.last
        if len(to) > 1:

            def several(state: Sample, result: Any) -> Sample:
                values = dict(zip(to, values_of(result)))
                for name, check in checks:
                    check(values[name])
                if not last:
                    _set_apart(values, state)
                state.update(values)
                return state

            return several
        (name,) = to
        check = checks[0][1] if checks else None
        same = check is None or self.same

        def one(state: Sample, result: Any) -> Sample:
            if same and name in state and state[name] is result:
                return state  # what was checked before
            if check is not None:
                check(result)
            if not last and len(state) > (name in state) and is_array(result):
                values = {name: result}
                _set_apart(values, state)
                result = values[name]
            state[name] = result
            return state

        return one

    def _reader(self) -> Callable[[Sample, Any], Sample]:
        """What takes what was read. The next function may work in place, so nothing of it is the object's own any more."""
        values_of = self.values
        gives = self.callee.setup["gives"]
        columns = [(f["name"], taker(f, gives)) for f in gives]
        names = {f["name"] for f in gives} if self.fields is None else None  # of a dict
        alone = len(self.names) == 1

        def taken(result: Any) -> Sample:
            if type(result) is dict and result.keys() == names:
                return {name: take(result[name]) for name, take in columns}
            return {name: take(value) for (name, take), value in zip(columns, values_of(result))}

        self.taken = taken

        def read(state: Sample, result: Any) -> Sample:
            sample = taken(result)
            if alone:
                return sample
            del state[_NUMBER]
            state.update(sample)
            return state

        return read

    def _find(self, state: Sample, result: Any) -> Sample:
        """Take a result, and note what it is."""
        sample = self._whole(state, result) if self.fields is None else self._named()(state, result)
        made = sample if self.fields is None else self.to
        self.found = [_type_of(name, sample[name]) for name in made]
        return sample

    def _is_bare(self, state: Sample, result: Any) -> bool:
        """Whether it gives samples that are not dicts."""
        if self._gives_bare is not None:
            return self._gives_bare
        return not hasattr(result, "keys") and (result is not None or (BARE in state and len(state) == 1))

    def _lender(self, writer: Any, one: bool) -> Callable[[int], Any] | None:
        """What makes `out`: of the last function the engine's memory, where its results are wanted."""
        if self.last or not self.callee.takes_out:
            return self.callee.lender(writer, one)
        return self.callee.lender(_Memory(self.callee.setup["gives"]), one)


def _set_apart(values: Sample, others: Sample) -> None:
    """Give arrays memory of their own where other fields have the same: the next function may work in place."""
    several = len(others)
    for value in values.values():
        several += type(value) not in _PLAIN
    if several < 2:
        return
    arrays = [name for name, value in values.items() if is_array(value)]
    seen = [value for name, value in others.items() if is_array(value) and name not in values]
    for name in arrays:
        value = values[name]
        if any(np.may_share_memory(value, other) for other in seen):
            values[name] = value = value.copy()
        seen.append(value)


_PLAIN = frozenset((int, float, bool, str, bytes, type(None)))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return value.copy() if is_array(value) else value


def _type_of(name: Any, value: Any) -> dict[str, Any]:
    """The type of a value on its way to the next function, which may be anything."""
    if not isinstance(name, str) or not name:
        what = "empty" if name == "" else f"{told(name)}, not a str"
        raise Misfit(repr(name), f"returned a field whose name is {what}: give it a name, as in {{'x': value}}")
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
        self.chain = chain
        self.writer = lane.writer
        self.lane = lane
        self.names = names_of(chain)
        self.links = [Link(chain, at, lane) for at in range(len(chain.callees))]
        self.width = 2 * chain.keys
        self.makers = self._makers([link.callee.setup["gives"] for link in self.links])
        self.writer.counts = [0] * (2 * len(self.links))
        self.only: Arrays | None = None  # the one column that there is, if its values need no more than to be appended

    def _makers(self, gives: list[list[dict[str, Any]] | None]) -> dict[str, Link]:
        """Of fields, the function that makes them last, by what each gives."""
        makers: dict[str, Link] = {}
        for link, fields in zip(self.links, gives):
            if not link.keeps:
                makers = ({} if link.fields is None else makers) | {f["name"]: link for f in fields or ()}
        return makers

    def begin(self) -> None:
        """Begin with a pack."""
        columns = self.writer.columns
        column = columns[0] if len(columns) == 1 else None
        self.only = column if isinstance(column, Arrays) and column.plain else None

    def add(self, item: int, state: Sample | None, row: Any) -> None:
        """Take what is left of a sample."""
        writer = self.writer
        only = self.only
        if only is not None and state is not None:
            value: Any = state.get(only.name)
            if type(value) is np.ndarray and value.dtype == only.dtype and value.shape == only.shape:
                only.rows.append(value.tobytes())
                writer.status.append(DONE)
                return
        if state is None:
            writer.drop()
            return
        if writer.probing:
            writer.found = [link.found for link in self.links]
            made = self.makers = self._makers(writer.found)
            writer.find(list(made), [state[name] for name in made])
            if BARE in made:
                writer.tuple = tuple_of(state[BARE])
        writer.add(item, _values(state, writer.names), row)

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
    name = names[0] if len(names) == 1 else None
    add = it.add
    links = [
        (
            at,
            2 * at,
            2 * at + 1,
            link,
            link.step,
            link.function,
            link.field,
            link.call,
            link.accept,
            link.callee.wait if link.callee.is_async else None,
        )
        for at, link in enumerate(it.links)
    ]
    gates = callee.gates
    voice = log.Voice()
    long_calls = LongCalls(writer)
    enter, leave = long_calls.enter, long_calls.leave
    of_values = single(it, lane, voice, long_calls)
    several_at_once = several_of(callee.callees[0], writer)
    of_numbers = bursts(it, lane, long_calls)

    def run(task: Task) -> None:
        if task.flags & AS_RUN and of_numbers is not None:
            of_numbers.run(task)
            return
        with log.speaking_for(voice):
            if of_values is None or task.flags & OWN_SHARED:
                each_of(task)
            else:
                of_values(task)

    def each_of(task: Task) -> None:
        it.begin()
        rows = rows_of(task)
        each = task.flags & OWN_SHARED
        random = task.random
        tag = lane.tag
        sent = now = monotonic_ns()
        several = task.items > 1
        if several:
            long_calls.begin(task.items)
        made = None
        if several and several_at_once is not None:
            lane.working(0)
            cell[2] = 0
            voice.stage = links[0][4]
            enter(task.items - 1)  # none of them goes back
            made = several_at_once(task.index)
            leave()
        for item, row in enumerate(rows):
            if several and item == long_calls.end:
                break
            if writer.status and (each or now - sent > SEND_AFTER or writer.end > FULL):
                writer.send(False)
                sent = now
            if each:
                lane.save(item)
            cell[1] = now
            cell[0] = tag + item + 1
            state: Any = {name: row[0]} if name is not None else dict(zip(names, row))
            link: Link | None = None
            failed: BaseException | None = None
            if several:
                enter(item)
            entered = 0
            try:
                if gates:
                    for gate in gates:
                        gate.enter(task.epochs[item])
                        entered += 1
                began = monotonic_ns()  # what was sent or saved before is no function's time
                for at, calls, times, link, step, function, field, call, accept, wait in links:
                    cell[2] = at
                    voice.stage = step
                    if made is not None and at == 0:
                        result = made[item]
                    elif field is not None:
                        result = function(state[field])
                    elif call is not None:
                        result = call(state)
                    else:
                        result = link.function(*link.arguments(state), **link.keywords(random, width * item + 2 * at, item))
                    if wait is not None:
                        result = wait(result)
                    state = accept(state, result)
                    after = monotonic_ns()
                    counts[calls] += 1
                    counts[times] += after - began
                    began = after
                    if state is None:
                        break
                link = None
            except BaseException as e:
                failed = e
                if link is not None:
                    counts[calls] += 1
                    counts[times] += monotonic_ns() - began
                    failed = link.reason(e, state)
            for gate in gates[:entered]:
                gate.leave()
            if several:
                leave()
            if failed is not None:
                it.fail(item, failed, link)
            else:
                try:
                    add(item, state, row)
                except BaseException as e:
                    it.fail(item, e, link)
            result = state = None  # memory that is not there beside the next result
            done = monotonic_ns()
            writer.status[-1] += done - now << TOOK
            now = done
        writer.send(True)

    return run


def bursts(it: Run, lane: Lane, long_calls: LongCalls) -> Bursts | None:
    """What works on packs of samples of which there are only the numbers; None: the functions take more."""
    first, *others = it.links
    if not first.reads or it.writer.probing or it.chain.gates or not all(link.plain for link in it.links):
        return None
    steps = singles(it) if it.names == [_NUMBER] else None
    if steps is None:
        get, given, names = first.function, it.names, it.writer.names
        taken, before = first.taken, given[:-1]  # the number is the last of a row
        if not before:
            steps = [Step(first.step, get, lambda number, result: taken(result))]
        else:
            *_, name = before
            if len(before) == 1:
                steps = [Step(first.step, lambda row: get(row[1]), lambda row, result: {name: row[0], **taken(result)})]
            else:
                steps = [Step(first.step, lambda row: get(row[-1]), lambda row, result: {**dict(zip(before, row)), **taken(result)})]
        steps += [Step(link.step, link.call, link.accept) for link in others if link.call is not None]
        last = it.links[-1]
        if others and last.whole and last.names_given == names:
            values = last.values  # which nobody else is given
            steps[-1] = steps[-1]._replace(accept=lambda given, result: values(result))
        else:
            accept = steps[-1].accept
            assert accept is not None
            steps[-1] = steps[-1]._replace(accept=lambda given, result: _values(accept(given, result), names))

    def fail(item: int, e: BaseException, at: int, value: Any) -> None:
        link = it.links[at] if at < len(it.links) else None
        it.fail(item, e if link is None else link.reason(e, value if isinstance(value, dict) else None), link)

    return Bursts(it.chain.callees[0], lane, long_calls, steps, fail)


def _values(sample: Sample, names: list[str]) -> list[Any]:
    try:
        return [sample[name] for name in names]
    except KeyError as e:
        raise Misfit(e.args[0], f"field {e.args[0]!r} is missing", "KeyError") from None


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
    gates = callee.gates

    async def run(own: Call, row: Any, random: list[int] | None, epoch: int | None) -> None:
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
                    if link.callee.awaits:
                        result = await result
                    state = link.accept(state, result)
                finally:
                    counts[2 * at] += 1
                    counts[2 * at + 1] += monotonic_ns() - began
                if state is None:
                    break

        failed = None
        entered = []
        try:
            if epoch is not None:
                for gate in gates:
                    await gate.enter_beside(epoch)
                    entered.append(gate)
                begun = monotonic_ns()
            await (within(limit, through()) if limit else through())
        except BaseException as e:
            failed = e if link is None else link.reason(e, state)
        for gate in entered:
            gate.leave()
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
        row = next(iter(rows_of(task)))
        lane.working(0)
        start(run(Call(lane), row, task.random, None if task.epochs is None else task.epochs[0]))

    return begin

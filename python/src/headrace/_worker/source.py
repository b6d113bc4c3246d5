"""What is iterated over: its epochs, from their beginnings or from where a run stood."""

from __future__ import annotations

import sys

from ..errors import StateMismatch
from . import log
from . import state as states
from .course import EVERY, NEAR, Course, Saved, Taken, saved
from .event_loop import event_loop, iterate
from .signature import parameters
from .tape import Tape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .callee import Callee
    from .lane import Task
    from .streams import Streams

_TRIED = NEAR  # samples after which a state is tried
_MOST_COPY = 64 << 20  # bytes of an object of which another one is made for that
_NONE = object()


class Source:
    """An iterable of the user's, or what returns one."""

    def __init__(self, callee: Callee, streams: Streams) -> None:
        self.callee = callee
        self.streams = streams
        self.name: str = callee.setup["function"]
        self.stateful: Any = None  # what has the state: the object, what it returned, or its iterator
        self.spent: Any = None  # the iterator of the epoch before
        self.course: Course | None = None  # of the epoch, if there is a state
        self.origin = 0  # samples of the epoch before the task's first
        self.before: Any = _NONE  # the state of an object that nobody had read from, if there can be no other such object
        self.used = False
        self.tried = False  # it is known whether states can be trusted
        self.distrust = ""  # why they cannot

    def begin(self, task: Task) -> Iterator[Any]:
        """An epoch of it."""
        epoch = task.index[0]
        self.course, self.origin = None, 0
        if not self.used and not self.callee.again:
            self.before = self._state_before()
        tape = self._tape(epoch, task.state is None)
        if tape is not None:
            return tape
        if task.state is None:
            iterator = self._iterator(epoch)
            self._follow(None)
            return iterator
        found = states.loads(task.state)
        place = saved(found)
        if place is None:
            return self._iterator(epoch, found)
        return self._resumed(task, place)

    def _tape(self, epoch: int, whole: bool) -> Iterator[Any] | None:
        """An epoch that trials share with the run; None: it has to be begun.

        What has a state begins again, and what is seeded for each sample would draw other numbers.
        """
        callee = self.callee
        tapes: dict[str, Tape] = callee.setup["tapes"]
        name = callee.setup["tape"]
        if callee.setup["tried"]:
            if not whole or callee.seeds:
                return None
            if name not in tapes:
                iterator = self._iterator(epoch)
                if self.stateful is not None:
                    return iterator
                tapes[name] = Tape(callee.object, epoch, iterator)
            return tapes[name].try_out()
        tape = tapes.pop(name, None)
        if tape is None:
            return None
        if not whole or not tape.is_of(epoch):
            tape.close()
            return None
        callee.adopt(tape.made)
        self.used, self.stateful, self.spent = True, None, tape.iterator
        return tape.run()

    def after(self, task: Task, values: Any) -> str:
        """Note a sample. Returns where the stream is after it, as JSON; empty: it has no state."""
        course = self.course
        if course is None:
            return ""
        course.add(values)
        if not self.tried and course.count == _TRIED:
            self.tried = True
            self._try(task, course)
        return course.text()

    def _follow(self, begin: Taken | None) -> None:
        """Keep account of the samples from now on."""
        if self.stateful is None:
            return
        self.course = Course(self._state_of, begin)
        self.course.distrust = self.distrust

    def _state_of(self) -> str:
        state = self.stateful.state_dict()
        try:
            text = states.dumps(state)
            if len(text) <= states.MOST_STATE - 1024:
                return text
            why = f"has {len(text):,} bytes as JSON, more than {states.MOST_STATE:,}"
        except (TypeError, ValueError) as e:
            why = f"is not JSON, arrays, tensors and bytes: {e}"
        self._doubt(f"its state_dict() {why}")
        return "null"

    def _doubt(self, why: str) -> None:
        """Use no state of it any more."""
        self.distrust = why
        if self.course is not None:
            self.course.distrust = why
        log.warn(
            f"headrace: {self.name}: {why}. A state within an epoch holds how many samples were read instead: to resume, the epoch is"
            " read again from its beginning, and refused if other samples come"
        )

    # The way back.

    def _resumed(self, task: Task, place: Saved) -> Iterator[Any]:
        """An epoch from where a run stood: by its state, or from the beginning. The shorter way is tried first."""
        by_state = [] if place.taken is None else [place.taken]
        ways: list[Taken | None] = [None, *by_state] if place.position <= NEAR else [*by_state, None]
        reason: Exception | None = None
        for way in ways:
            if self.used and not self._renew():
                break
            try:
                iterator = self._again(task, place, way)
            except Exception as e:  # it cannot load its own state, or be read without it
                reason = e
                continue
            if iterator is not None:
                self.tried = way is not None or place.position >= _TRIED
                if way is None and place.position > NEAR:
                    why = f"its state_dict() does not restore it ({_what(reason)}). " if by_state else ""
                    log.warn(f"headrace: {self.name}: {why}{place.position:,} samples were read again from the beginning of the epoch")
                    if by_state:
                        self.distrust = "its state_dict() does not restore it"
                return iterator
        raise StateMismatch(
            f"headrace: {self.name} cannot be resumed after {place.position:,} samples of epoch {task.index[0]}: it does not give the same"
            f" samples again ({_what(reason)}). Begin at an epoch, with loader.set_epoch(); if it draws random numbers,"
            " keep their generators in state_dict(), or let generators= seed the global ones"
        ) from reason

    def _again(self, task: Task, place: Saved, way: Taken | None) -> Iterator[Any] | None:
        """An iterator behind the place, if the samples before it are those that they were."""
        epoch = task.index[0]
        self.course, self.origin = None, place.position
        iterator = self._iterator(epoch) if way is None else self._iterator(epoch, place.state)
        if self.stateful is None:
            raise TypeError("it has no state_dict() now")
        self._follow(None if way is None else way._replace(state=states.dumps(place.state)))
        course = self.course
        assert course is not None
        while course.count < place.position:
            self.streams.lane.working(0)
            values = self._next(task, iterator, course.count)
            if values is None:
                return None
            course.add(values)
        return iterator if course.digest == place.digest else None

    def _next(self, task: Task, iterator: Iterator[Any], position: int) -> Any:
        """The values of the next sample, which is not for the engine; None: there is none."""
        if self.callee.seeds:
            self.streams.seed(task, position - self.origin)
        sample = next(iterator, _NONE)
        return None if sample is _NONE else self.streams.values_of(sample)

    def _state_before(self) -> Any:
        made = self.callee.object
        try:
            return made.state_dict() if states.is_stateful(made) else _NONE
        except Exception:
            return _NONE

    def _renew(self) -> bool:
        """Have an object that nobody has read from, as far as that can be. False: it cannot even be told to begin."""
        if self.callee.again:
            self.callee.renew()
        elif self.before is not _NONE:
            try:
                self.callee.object.load_state_dict(self.before)
            except Exception:
                return False
        return True

    def _try(self, task: Task, course: Course) -> None:
        """Try, with another object, whether a state brings the samples again that came after it."""
        if course.distrust:  # since an epoch before, so that it has taken no states
            return
        made = self.callee.another(_MOST_COPY)
        at = course.taken[0]
        if made is None or at.position != _TRIED - EVERY:
            return
        generators = _generators()
        other = Source(self.callee, self.streams)
        other.tried, other.origin = True, self.origin
        reason = None
        again = None
        try:
            iterator = other._iterator(task.index[0], states.loads(at.state.encode()), made)
            again = Course(str, at)
            again.distrust = "-"
            while again.count < course.count and (values := other._next(task, iterator, again.count)) is not None:
                again.add(values)
        except Exception as e:
            reason = e
        finally:
            for restore in generators:
                restore()
            self.callee.end(made)
        if again is None or reason is not None or again.digest != course.digest:
            self._doubt(f"its state_dict() does not restore it ({_what(reason)})")

    # What is iterated over.

    def _iterator(self, epoch: int, state: Any = _NONE, other: Any = None) -> Iterator[Any]:
        """An epoch from its beginning, or from where it had this state."""
        made = other
        if other is None:
            made, self.used = self.callee.object, True
        if hasattr(made, "set_epoch"):
            made.set_epoch(epoch)
        self.stateful = made if states.is_stateful(made) else None
        if state is not _NONE and self.stateful is not None:
            made.load_state_dict(state)
            state = _NONE
        source = self._called(made)
        iterator = iterate(source)
        if self.stateful is None:
            holders: tuple[Any, ...] = (source, iterator)
            self.stateful = next(filter(states.is_stateful, holders), None)
            if state is not _NONE and self.stateful is not None:
                self.stateful.load_state_dict(state)
                state = _NONE
                if self.stateful is source:
                    iterator = iterate(source)
        if state is not _NONE:
            raise TypeError(f"{self.name} had a state_dict() when the state was saved, and has no load_state_dict() now")
        if iterator is self.spent:
            raise TypeError(
                f"{self.name} is an iterator, which can be gone through once, and this is epoch {epoch}: give a function that"
                " returns a new one, an object with __iter__, or epochs=1"
            )
        self.spent = iterator
        return iterator

    def _called(self, made: Any) -> Any:
        """What is iterated over."""
        setup = self.callee.setup
        name, rank, world = self.name, setup["rank"], setup["world"]
        if hasattr(made, "__iter__") or hasattr(made, "__aiter__"):
            if world > 1:
                raise TypeError(
                    f"all {world} ranks would get the same samples of {name}: give a function of (rank, world_size)"
                    " that returns what is iterated over"
                )
            return made
        taken = [p for p in parameters(made) if p not in ("args", "kwargs")]
        if len(taken) >= 2:
            source = made(rank, world)
        elif world > 1:
            raise TypeError(
                f"all {world} ranks would get the same samples of {name}: give a function with two parameters, rank and world_size"
            )
        else:
            source = made()
        return event_loop().run_until_complete(source) if self.callee.is_async else source


def _what(reason: Exception | None) -> str:
    return "other samples come after it" if reason is None else f"{type(reason).__name__}: {reason}"


def _generators() -> list[Any]:
    """What restores the global generators of random numbers as they are now."""
    restore = []
    if (random := sys.modules.get("random")) is not None:
        state = random.getstate()
        restore.append(lambda: random.setstate(state))
    if (numpy := sys.modules.get("numpy")) is not None and "numpy.random" in sys.modules:
        numbers = numpy.random.get_state()
        restore.append(lambda: numpy.random.set_state(numbers))
    if (torch := sys.modules.get("torch")) is not None:
        bits = torch.get_rng_state()
        restore.append(lambda: torch.set_rng_state(bits))
    return restore

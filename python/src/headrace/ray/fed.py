"""Batches that other machines make, in the order and with the bytes that this one would give them."""

from __future__ import annotations

import json
import warnings
from _thread import get_ident
from collections import deque
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from .._client import failures
from .._loader.batches import Batches
from .._loader.frontier import Frontier
from .._loader.loop import Hand
from .._loader.lost import place_of
from .._report.tracebacks import outside
from ..errors import HeadraceError, HeadraceWarning, RecipeError
from .cluster import imported, stores
from .crew import Actor, Feeder, Local, actors
from .letters import Letters
from .ranges import Range
from .told import Meter

if TYPE_CHECKING:
    from .._loader.deadline import Deadline
    from .._loader.loader import Loader
    from .._loader.loop import Loop
    from .._loader.lost import LostSample
    from ..pipeline import Pipeline
    from .plan import Feeders, Plan
    from .ranges import Made

_RANGE_BYTES = 64 << 20  # of the batches of a range, unless one is larger
_RANGE_BATCHES = 16
_AHEAD = 2  # ranges that each feeder has: one in work, and one that waits for it
_LATE = 10.0  # seconds after which a range is asked of another feeder, too, if others take less than half of that
_LOOK = 0.5  # seconds between looks for ranges that are late
_SILENT = 30.0  # seconds until somebody looks why no feeder has begun


class _Asked:
    """A range on its way."""

    def __init__(self, what: Range, state: dict[str, Any], exact: bool) -> None:
        self.range, self.state = what, state
        self.exact = exact  # its state is that of a run alone, and it is not cut off
        self.by: dict[Future[Any], Feeder] = {}
        self.made: Made | None = None


class _Front:
    """The range whose batches the loop is given."""

    def __init__(self, asked: _Asked, made: Made, last: bool) -> None:
        self.range, self.made = asked.range, made
        self.left = deque(made.batches)
        self.uncut = made.uncut or asked.exact
        self.over = made.ended and (self.uncut or last)  # nothing of the epoch comes after it


class Fed(Batches):
    """Takes batches from feeders.

    All that is asked for is a window of ranges from the next batch on. Each is asked for as if no sample were lost before it; one that then
    begins elsewhere is asked for again. The first whole answer for a range wins; another one, of a feeder that was thought lost, is dropped
    by its number.
    """

    def __init__(self, loader: Loader, pipeline: Pipeline, config: dict[str, Any], given: Feeders, plan: Plan) -> None:
        super().__init__(loader._run, loader._pipeline._format, loader._part or loader._main)
        run = self.run
        self._course, self._tail, self._names = plan.course, plan.tail, plan.stages
        bytes_of_batch = max(1, plan.opened["slot_bytes"])
        own, least = stores()
        self._size = max(1, min(_RANGE_BATCHES, min(_RANGE_BYTES, least // 8) // bytes_of_batch))
        self._mine = plan.identity
        self._crew: list[Feeder] = [*actors(given.actors, given.cpus, pipeline, config)]
        if given.local:
            self._crew.append(Local(plan.maker))
        else:
            plan.maker.close()
        self._events: SimpleQueue[tuple[Feeder, _Asked | None, Future[Any]]] = SimpleQueue()
        self._window: deque[_Asked] = deque()
        self._next: Range | None = None  # what comes after the window; None: nothing was asked for, or all of the epoch
        self._took: deque[float] = deque(maxlen=100)  # seconds of ranges
        room = min(run.config.get("memory") or 1 << 30, own // 2) // (self._size * bytes_of_batch)
        # Ranges come into the store of this node, which spills to disk when it is full.
        self._most = int(max(1, min(_AHEAD * len(self._crew), room)))
        self._place: tuple[int, int, int] | None = None  # that the window, and what is in front of it, goes on from
        self._front: _Front | None = None
        self._letters = Letters(run.config.get("dead_letters"), run.config["rank"])
        self._meter = Meter()
        self._looked = 0.0  # when somebody looked for late ranges
        self._silent = False  # it was said that no feeder has begun

    # Batches.

    def _await(self, loop: Loop, deadline: Deadline | None) -> Hand:
        run = self.run
        self._stream(loop)
        place = run.identity.place(run.frontier)
        here = place["sources"][self._course.source]
        if here.get("done") or here.get("ahead"):
            if run.idle:
                run.idle = False
                self._stream(loop).start(run.record())
            return super()._await(loop, deadline)  # the rest of an epoch that another number of ranks began
        if not run.idle:  # that is over, and the engine here goes on with what nobody wants
            run.drop()
            run.idle = True
            run.open_again()
        start = loop.epoch, int(place.get("batches", 0)), int(here["position"])
        if self._place != start:
            self._begin(Range(*start, self._size))
        front = self._front
        ready = front is not None and bool(front.left)
        while front is None or not front.left:
            if front is not None:
                self._leave(front, loop)
            self._fill(deadline)
            self._stream(loop)  # another thread, or a signal handler, may have closed the loader
            front = self._front
        return self._hand(front, loop.epoch, start[1], ready)

    def _hand(self, front: _Front, epoch: int, number: int, ready: bool) -> Hand:
        """The next batch of the range in front, counted as the engine counts."""
        run = self.run
        one = front.left[0]
        began = monotonic()
        values = {name: _own(value) for name, value in one.values.items()}
        batch = self._shown(values if self._tail is None else self._tail(values))
        self._meter.own += monotonic() - began
        self._meter.samples += max(map(len, one.values.values()), default=0)

        last = front.over and len(front.left) == 1 and one.position is None
        ends = last if self._course.skip else number + 1 >= self._course.batches
        self._count(*one.lost, *(front.made.lost if ends else ()))
        front.left.popleft()
        if ends:
            self._front = None
            self._place, frontier = (epoch + 1, 0, 0), Frontier(epoch + 1)
            run.lost = {lost for lost in run.lost if lost[0] >= epoch}  # states within the epoch may still be asked for
            run.replaced = {lost for lost in run.replaced if lost[0] >= epoch}
        else:
            position = self._course.end(front.range, number + 1 - front.range.first) if one.position is None else one.position
            replaced = run.identity.place(run.frontier).get("replaced", 0) + sum(lost.replaced for lost in one.lost)
            self._place = epoch, number + 1, position
            frontier = Frontier(epoch, json.dumps(self._course.place(number + 1, position, replaced)).encode(), True)
        run.clock.batches += 1
        hand = Hand(batch, frontier, get_ident(), self.main is None, epoch, number, ready)
        run.hand = hand
        return hand

    def _count(self, *all_of: LostSample) -> None:
        """Count samples that were lost on the way to a batch, or after the last one of an epoch."""
        run = self.run
        for lost in all_of:
            lost.stage = self._names.get(lost.stage, lost.stage)
            place, known = place_of(lost), run.replaced if lost.replaced else run.lost
            if place not in known:
                known.add(place)
                run.errors._add(lost)
                self._letters.add(lost)

    def _leave(self, front: _Front, loop: Loop) -> None:
        """Go on after the range in front: to an error, the epoch's end, or the next range."""
        made, run = front.made, self.run
        if made.error is not None:
            self._count(*made.lost)
            raise failures.again(made.error)
        if front.over and self._course.skip:  # after its last batch, samples were lost
            self._count(*made.lost)
            run.frontier, loop.done = Frontier(loop.epoch + 1), True
            self._front, self._place = None, (loop.epoch + 1, 0, 0)
            raise StopIteration
        self._front = None

    # Ranges.

    def _begin(self, start: Range) -> None:
        """Ask for batches from here on, and for none that was asked for before."""
        self._window.clear()
        self._front = None
        self._place = start[:3]
        size = self._size if self._course.skip else min(self._size, self._course.batches - start.first)
        self._next = start._replace(size=size)
        self._ask()

    def _ask(self) -> None:
        """Give feeders ranges, as many as there is room for."""
        epochs = self.run.config["epochs"]
        while self._next is not None and self._next.size > 0 and len(self._window) < self._most:
            feeder = min(self._able(), key=lambda one: len(one.tasks))
            if len(feeder.tasks) >= _AHEAD:
                return
            asked = _Asked(self._next, self._course.state(self._next), False)
            self._window.append(asked)
            self._give(asked, feeder)
            self._next = self._after(self._next, epochs)

    def _after(self, one: Range, epochs: int | None) -> Range | None:
        """The range after another one of which no sample is lost."""
        after = self._course.after(one, self._size)
        if after is None and (epochs is None or one.epoch + 1 < epochs):
            return self._course.begins(one.epoch + 1, self._size)
        return after

    def _give(self, asked: _Asked, feeder: Feeder) -> None:
        """Have a feeder make a range."""
        self._meter.began = self._meter.began or monotonic()
        told = feeder.identify()
        if told is not None:
            told.add_done_callback(lambda done: self._events.put((feeder, None, done)))
        task = feeder.make(asked.state, asked.range.size, self._course.skip and not asked.exact)
        asked.by[task] = feeder
        feeder.tasks[task] = monotonic()
        task.add_done_callback(lambda done: self._events.put((feeder, asked, done)))

    def _fill(self, deadline: Deadline | None) -> None:
        """Wait until something has come, and take the range in front if it is whole."""
        front = self._window[0] if self._window else None  # none: feeders are busy with ranges that nobody wants any more
        if front is not None and front.made is not None:
            self._window.popleft()
            self._take_front(front, front.made)
            self._ask()
            return
        if deadline is not None:
            deadline.look()
        left = None if deadline is None else deadline.left()
        try:
            feeder, asked, task = self._events.get(timeout=_LOOK if left is None else max(0.0, min(left, _LOOK)))
        except Empty:
            if left is not None and left <= _LOOK:
                assert deadline is not None
                deadline.miss()
            self._look(monotonic())
            return
        if monotonic() - self._looked > _LOOK:
            self._look(monotonic())
        if asked is None:
            self._identified(feeder, task)
        else:
            self._came(feeder, asked, task)
        self._ask()

    def _take_front(self, asked: _Asked, made: Made) -> None:
        """Have the loop get the batches of a range, if what came before it is what was assumed."""
        one, course = asked.range, self._course
        if not asked.exact and self._passes_limit(one, made):
            self._ask_exactly(one)
            return
        last = course.after(one, self._size) is None
        if made.error is None and not made.uncut and not asked.exact and len(made.batches) != one.size and not (course.skip and last):
            raise HeadraceError(
                f"headrace: a range of {one.size} batches has {len(made.batches)}: do the machines have the same files?"
                " Only this machine's would be right"
            )
        self._front = front = _Front(asked, made, last)
        if not front.uncut or made.error is not None:
            return

        # Later samples took the rows of those that were lost, so what was asked for after
        # it begins elsewhere.
        if front.over:
            epochs = self.run.config["epochs"]
            after = None if epochs is not None and one.epoch + 1 >= epochs else course.begins(one.epoch + 1, self._size)
        else:
            position = made.batches[-1].position
            assert position is not None
            after = Range(one.epoch, one.first + len(made.batches), position, self._size)
        if after is None or not self._window or not self._window[0].range.same(after):
            self._window.clear()
            self._next = after

    def _passes_limit(self, one: Range, made: Made) -> bool:
        """Whether this range has more lost samples than its epoch may have left: only a run alone knows which is one too many."""
        lost = sum(len(batch.lost) for batch in made.batches) + len(made.lost)
        if not lost:
            return False
        run = self.run
        known = sum(place[0] == one.epoch for place in run.lost)
        if run.frontier.epoch == one.epoch:
            known += run.identity.place(run.frontier).get("replaced", 0)
        return known + lost > limit(run.config.get("max_errors"), run.opened["samples_per_epoch"])

    def _ask_exactly(self, one: Range) -> None:
        """Have a range made from the state that a run alone has there, and begin again after it."""
        self._window.clear()
        asked = _Asked(one, self._course.exact(self.run.record()), True)
        self._window.append(asked)
        self._next = None
        self._give(asked, min(self._able(), key=lambda feeder: (not isinstance(feeder, Local), len(feeder.tasks))))

    # Feeders.

    def _came(self, feeder: Feeder, asked: _Asked, task: Future[Any]) -> None:
        """Take an answer."""
        asked.by.pop(task, None)
        began = feeder.tasks.pop(task, monotonic())
        error = task.exception()
        if error is None:
            made = task.result()
            feeder.count(made)
            if asked.made is None:
                asked.made = made
                if began > feeder.since:  # else it had to begin itself
                    self._took.append(monotonic() - began)
            return
        if not self._has_died(feeder, error):
            raise _failure(feeder, error)
        if asked in self._window and asked.made is None and not asked.by:
            self._give(asked, self._besides(feeder))

    def _identified(self, feeder: Feeder, task: Future[Any]) -> None:
        """Refuse a feeder that would make other batches."""
        error = task.exception()
        if error is not None:
            if not self._has_died(feeder, error):
                raise _failure(feeder, error)
            return
        its = task.result()
        differ = [key for key in self._mine if its.get(key) != self._mine[key]]
        if differ:
            raise RecipeError(
                f"headrace: {feeder.name} on {its['node']} would make other batches than this machine: its {differ[0]} is"
                f" {its.get(differ[0])!r}, and here it is {self._mine[differ[0]]!r}: give all nodes the same release, files and libraries"
            )
        feeder.identified(its)

    def _has_died(self, feeder: Feeder, error: BaseException) -> bool:
        """Whether an error says that a feeder's process has ended: others have its work, and Ray starts it again."""
        exceptions = imported().exceptions
        if not isinstance(feeder, Actor) or not isinstance(error, exceptions.RayActorError) or error.actor_init_failed:
            return False
        feeder.died(not isinstance(error, exceptions.ActorUnavailableError))
        return True

    def _able(self) -> list[Feeder]:
        """The feeders that are there, or will be again."""
        alive = [one for one in self._crew if not one.dead]
        if not alive:
            raise HeadraceError("headrace: all feeders have been ended; go on from loader.state_dict() with a new loader")
        return [one for one in alive if not one.hung] or alive

    def _besides(self, feeder: Feeder | None) -> Feeder:
        """The feeder with the fewest ranges, but this one if there is another."""
        able = self._able()
        return min([one for one in able if one is not feeder] or able, key=lambda one: len(one.tasks))

    def _look(self, now: float) -> None:
        """Ask for a range that is late of another feeder, too; restart a feeder that says nothing although others have."""
        self._looked = now
        late = max(_LATE, 2 * max(self._took, default=_LATE))
        for asked in self._window:
            if asked.made is None and len(asked.by) == 1:
                ((task, feeder),) = asked.by.items()
                if now - feeder.tasks[task] > late:
                    other = self._besides(feeder)
                    if other is not feeder:
                        feeder.hung = feeder.begun and isinstance(feeder, Actor)
                        self._give(asked, other)
                        return
        for feeder in self._crew:
            if isinstance(feeder, Actor) and feeder.hung and feeder.tasks and now - min(feeder.tasks.values()) > 2 * late and self._took:
                feeder.tasks.clear()
                warnings.warn(
                    f"headrace: {feeder.name} on {feeder.node} has not answered for {2 * late:.0f} s: it is started again, and others do"
                    " its work",
                    HeadraceWarning,
                    stacklevel=outside(),
                )
                feeder.restart()
                return
        if not self._silent and not self._took and now - self._meter.began > _SILENT and not any(one.begun for one in self._crew):
            self._silent = True
            ray = imported()
            free, all_of = (what().get("CPU", 0) for what in (ray.available_resources, ray.cluster_resources))
            warnings.warn(
                f"headrace: no feeder has begun after {_SILENT:.0f} s: the cluster has {free:g} of {all_of:g} cores free. Ask for fewer"
                " cpus=, add nodes, or look at `ray status`",
                HeadraceWarning,
                stacklevel=outside(),
            )

    def statistics(self, stats: dict[str, Any], since: dict[str, Any] | None) -> dict[str, Any]:
        """Statistics with those of the feeders, counted from earlier ones on where these are given."""
        return {**stats, **self._meter.told(self._crew, {**stats, "yielded": self.run.clock.batches}, since or {})}

    def close(self) -> None:
        """Let go of all feeders."""
        self._window.clear()
        for feeder in reversed(self._crew):
            try:
                feeder.close()
            except Exception:  # the cluster is gone
                feeder.dead = True


def _failure(feeder: Feeder, error: BaseException) -> HeadraceError:
    """What is raised for an error of a feeder."""
    exceptions = imported().exceptions
    error = getattr(error, "cause", None) or error  # without the lines of Ray
    if isinstance(error, HeadraceError):
        return failures.again(error)
    if isinstance(error, (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError)):
        return HeadraceError(
            f"headrace: {feeder.name} has no room for its batches: the object store of {feeder.node or 'its node'} is full, and so is"
            f" the disk that it spills to ({error}): start Ray there with a larger object_store_memory, or give loader(memory=…) less"
        )
    return HeadraceError(f"headrace: {feeder.name} failed: {error}")


def limit(most: float | None, samples: int) -> int:
    """How many samples of an epoch may be lost, as the engine has it."""
    if most is None:
        return max(10, (samples + 99) // 100)
    return int(most * samples * (1 + 2**-51)) if 0 < most < 1 else int(most)


def _own(value: Any) -> Any:
    """A value that the loop may change: what Ray hands out is read-only."""
    flags = getattr(value, "flags", None)
    return value if flags is None or flags.writeable else value.copy()

"""Batches that other machines make, in the order and with the bytes that this one would give them."""

from __future__ import annotations

import json
from _thread import get_ident
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .._batch.format import NUMPY
from .._client import failures
from .._loader.batches import Batches
from .._loader.frontier import Frontier
from .._loader.loop import Hand
from .._recipe.functions import is_here, is_main, places
from ..errors import HeadraceError, RecipeError
from .cluster import connect, imported
from .ranges import Course, Maker, Range, identity_of

if TYPE_CHECKING:
    from .._loader.deadline import Deadline
    from .._loader.loader import Loader
    from .._loader.loop import Loop
    from ..pipeline import Pipeline

_RANGE_BYTES = 64 << 20  # of the batches of a range, unless one is larger
_RANGE_BATCHES = 16
_AHEAD = 2  # ranges that each feeder has: one in work, and one that waits for it
_LATE = 10.0  # seconds after which a range is asked of another feeder, too, if others take less than half of that
_LOOK = 0.5  # seconds between looks for ranges that are late


class Feeders:
    """Actors of a Ray cluster that make batches for a loader. `feeders` describes them; `Pipeline.loader(feeders=…)` starts them."""

    def __init__(self, actors: int, cpus: int, local: bool, address: str | None) -> None:
        self.actors, self.cpus, self.local, self.address = actors, cpus, local, address

    def attach(self, loader: Loader, pipeline: Pipeline, config: dict[str, Any]) -> None:
        """Have a loader's batches made by these."""
        run = loader._run
        here = next((name for name, where in places(pipeline._steps) if is_here(where)), None)
        if here is not None:
            raise RecipeError(f'headrace: loader(feeders=…): {here} has where="here", and its function cannot leave this program')
        if not run.opened.get("places"):
            raise RecipeError(
                "headrace: loader(feeders=…): which samples a batch has does not follow from its number in this pipeline, so that"
                " another machine cannot begin with any of them. Leave out what drops, makes or gathers samples, merges by turns,"
                " samplers, iterated sources and on_error='skip'; or convert the data first: headrace.ray.convert"
            )
        if config["on_error"] != "raise":
            raise RecipeError(
                f"headrace: loader(feeders=…, on_error={config['on_error']!r}): feeders do not tell of samples that are lost or replaced:"
                ' use on_error="raise", and leave bad files out'
            )
        pipeline = pipeline._of(tuple(step for step in pipeline._steps if not is_main(step)), NUMPY)
        config = {**config, "epochs": None, "workers": None, "memory": None, "local_world_size": 1, "dead_letters": "", "prefetch": None}
        connect(self.address)
        loader._taken_by = Fed(loader, pipeline, config, self)


def feeders(actors: int, *, cpus: int = 1, local: bool = True, address: str | None = None) -> Feeders:
    """Describe actors of a Ray cluster that make batches for a loader.

        loader = pipeline.loader(epochs=90, feeders=headrace.ray.feeders(actors=8, cpus=16))

    Each actor runs the engine on its node. The loop asks them for ranges of its batches, and gets the batches of a run without feeders, in
    the same order and with the same bytes; its states are the same, too. A range whose actor died, or that is late, is asked of another;
    actors may come and go at any moment.

    Args:
        actors: how many, which Ray spreads over the nodes. Each reads the data under the names that this program has for them.
        cpus: cores of each.
        local: whether this machine makes ranges, too.
        address: of the cluster, as `connect` has it.

    Returns:
        What `Pipeline.loader(feeders=…)` takes.
    """
    if actors < 1 or cpus < 1:
        raise RecipeError(f"headrace: feeders(actors={actors}, cpus={cpus}): both must be at least 1")
    return Feeders(actors, cpus, local, address)


class _Task(NamedTuple):
    feeder: int
    began: float


class _Asked:
    """A range on its way."""

    def __init__(self, what: Range) -> None:
        self.range = what
        self.tasks: dict[Future[Any], _Task] = {}
        self.made: list[dict[str, Any]] | None = None
        self.error: HeadraceError | None = None  # after the batches that were made


class Fed(Batches):
    """Takes batches from feeders.

    All that is asked for is a window of ranges from the next batch on. The first whole answer for a range wins; another one, of a feeder
    that was thought lost, is dropped by its number.
    """

    def __init__(self, loader: Loader, pipeline: Pipeline, config: dict[str, Any], given: Feeders) -> None:
        super().__init__(loader._run, loader._pipeline._format, loader._part or loader._main)
        run = self.run
        self._course = Course(run.opened)
        self._size = max(1, min(_RANGE_BATCHES, _RANGE_BYTES // max(1, run.opened["slot_bytes"])))
        ray = imported()
        actor = ray.remote(
            num_cpus=given.cpus,
            max_restarts=-1,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": {"GOMAXPROCS": str(given.cpus)}},
        )(Maker)
        self._actors = [actor.remote(pipeline, config) for _ in range(given.actors)]
        self._local = Maker(pipeline, config) if given.local else None
        self._thread = ThreadPoolExecutor(1, "headrace-feeder") if given.local else None
        self._mine = identity_of(run)
        self._events: SimpleQueue[tuple[_Asked, Future[Any]]] = SimpleQueue()
        self._window: deque[_Asked] = deque()
        self._next: Range | None = None  # what comes after the window; None: nothing was asked for, or all of the epoch
        self._busy: list[int] = [0] * (given.actors + given.local)
        self._dead: set[int] = set()
        self._known: set[int] = set()  # feeders of which it was seen that they make the same
        self._took: deque[float] = deque(maxlen=100)  # seconds of ranges
        room = max(2, _memory(run) // max(1, self._size * run.opened["slot_bytes"]))
        self._most = int(min(_AHEAD * len(self._busy), room))
        self._place: tuple[int, int] | None = None  # epoch and batch that the window begins with
        self._within: deque[dict[str, Any]] = deque()  # batches of the range in front that were not given yet
        self._error: HeadraceError | None = None  # after these batches

    def _await(self, loop: Loop, deadline: Deadline | None) -> Hand:
        run = self.run
        self._stream(loop)
        epoch = loop.epoch
        place = run.identity.place(run.frontier)
        number = int(place.get("batches", 0))
        if any(source.get("done") for source in place["sources"].values()):
            return super()._await(loop, deadline)  # the rest of an epoch that another number of ranks began
        if self._place != (epoch, number):
            self._begin(epoch, number)
        ready = bool(self._within) or bool(self._window and self._window[0].made is not None)
        while not self._within:
            self._fill(deadline)
            self._stream(loop)  # another thread, or a signal handler, may have closed the loader
        made = self._within.popleft()
        ends = number + 1 >= self._course.batches
        self._place = (epoch + 1, 0) if ends else (epoch, number + 1)
        batch = self._shown({name: _own(value) for name, value in made.items()})
        frontier = Frontier(epoch + 1) if ends else Frontier(epoch, json.dumps(self._course.after(number + 1)).encode(), True)
        hand = Hand(batch, frontier, get_ident(), self.main is None, epoch, number, ready)
        run.hand = hand
        return hand

    def _begin(self, epoch: int, number: int) -> None:
        """Ask for batches from here on, and for none that was asked for before."""
        self._window.clear()
        self._within.clear()
        self._error = None
        self._place = (epoch, number)
        self._next = Range(epoch, number, min(self._size, self._course.batches - number))
        self._ask()

    def _ask(self) -> None:
        """Give feeders ranges, as many as there is room for."""
        while self._next is not None and self._next.size > 0 and len(self._window) < self._most:
            feeder = min(self._alive(), key=lambda i: self._busy[i])
            if self._busy[feeder] >= _AHEAD:
                return
            one = _Asked(self._next)
            self._window.append(one)
            self._give(one, feeder)
            end = self._next.first + self._next.size
            count = min(self._size, self._course.batches - end)
            epochs = self.run.config["epochs"]
            if count > 0:
                self._next = Range(self._next.epoch, end, count)
            elif epochs is None or self._next.epoch + 1 < epochs:
                self._next = Range(self._next.epoch + 1, 0, min(self._size, self._course.batches))
            else:
                self._next = None

    def _give(self, one: _Asked, feeder: int) -> None:
        """Have a feeder make a range."""
        state = self._course.state(one.range)
        task: Future[Any]
        if feeder == len(self._actors):
            assert self._thread is not None
            assert self._local is not None
            task = self._thread.submit(self._local.make, state, one.range.size)
        else:
            actor = self._actors[feeder]
            if feeder not in self._known:
                self._compare(feeder, actor)
            task = actor.make.remote(state, one.range.size).future()
        one.tasks[task] = _Task(feeder, monotonic())
        self._busy[feeder] += 1
        task.add_done_callback(lambda done: self._events.put((one, done)))

    def _compare(self, feeder: int, actor: Any) -> None:
        """Refuse a feeder that would make other batches, as soon as it says so."""
        self._known.add(feeder)

        def compared(done: Future[Any]) -> None:
            if done.exception() is not None:
                return  # it has died, and its ranges will say so
            its = done.result()
            differ = [key for key in self._mine if its[key] != self._mine[key]]
            if differ:
                error = RecipeError(
                    f"headrace: feeder {feeder} would make other batches than this machine: its {differ[0]} is {its[differ[0]]!r}, and"
                    f" here it is {self._mine[differ[0]]!r}: give all nodes the same release, files and libraries"
                )
                one = _Asked(Range(0, 0, 0))
                failed: Future[Any] = Future()
                failed.set_exception(error)
                self._events.put((one, failed))

        actor.identity.remote().future().add_done_callback(compared)

    def _fill(self, deadline: Deadline | None) -> None:
        """Wait until something has come, and take the range in front if it is whole."""
        if self._error is not None:
            raise failures.again(self._error)
        front = self._window[0] if self._window else None  # none: feeders are busy with ranges that nobody wants any more
        if front is not None and front.made is not None:
            self._window.popleft()
            self._within.extend(front.made)
            self._error = front.error
            self._ask()
            return
        if deadline is not None:
            deadline.look()
        left = None if deadline is None else deadline.left()
        try:
            one, task = self._events.get(timeout=_LOOK if left is None else max(0.0, min(left, _LOOK)))
        except Empty:
            if left is not None and left <= _LOOK:
                assert deadline is not None
                deadline.miss()
            self._look()
            return
        self._came(one, task)
        self._ask()

    def _came(self, one: _Asked, task: Future[Any]) -> None:
        """Take an answer."""
        asked = one.tasks.pop(task, None)
        if asked is not None:
            self._busy[asked.feeder] -= 1
        error = task.exception()
        if error is None:
            if one.made is None:
                one.made, one.error = task.result()
                if asked is not None:
                    self._took.append(monotonic() - asked.began)
            return
        exceptions = imported().exceptions
        if asked is None or not isinstance(error, exceptions.RayActorError) or error.actor_init_failed:
            if isinstance(error, HeadraceError):
                raise failures.again(error)
            raise HeadraceError(f"headrace: a feeder failed: {error}")
        self._known.discard(asked.feeder)  # what begins in its place is another process, maybe elsewhere
        if not isinstance(error, exceptions.ActorUnavailableError):
            self._dead.add(asked.feeder)  # somebody has ended it for good
        if one in self._window and one.made is None and not one.tasks:
            self._give(one, self._besides(asked.feeder))

    def _besides(self, feeder: int) -> int:
        """The feeder with the fewest ranges, but this one if there is another."""
        others = [i for i in self._alive() if i != feeder] or self._alive()
        return min(others, key=lambda i: self._busy[i])

    def _alive(self) -> list[int]:
        """The feeders that are there, or will be again."""
        alive = [i for i in range(len(self._busy)) if i not in self._dead]
        if not alive:
            raise HeadraceError("headrace: all feeders have been ended; go on from loader.state_dict() with a new loader")
        return alive

    def _look(self) -> None:
        """Ask for a range that is late of another feeder, too."""
        late = max(_LATE, 2 * max(self._took, default=_LATE))
        for one in self._window:
            if one.made is None and len(one.tasks) == 1:
                ((_, asked),) = one.tasks.items()
                if monotonic() - asked.began > late:
                    self._give(one, self._besides(asked.feeder))
                    return

    def close(self) -> None:
        """Let go of all feeders."""
        ray = imported()
        self._window.clear()
        for actor in self._actors:
            try:
                ray.kill(actor)
            except Exception:  # the cluster is gone
                break
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        if self._local is not None:
            self._local.close()


def _own(value: Any) -> Any:
    """A value that the loop may change: what Ray hands out is read-only."""
    flags = getattr(value, "flags", None)
    return value if flags is None or flags.writeable else value.copy()


def _memory(run: Any) -> int:
    """Bytes that ranges may come to here."""
    given = run.config.get("memory")
    return int(given) if given else 1 << 30

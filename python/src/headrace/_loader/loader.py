"""The loader: epochs of batches, where they stand, and what happens when something fails."""

from __future__ import annotations

import json
import sys
import warnings
from _thread import RLock, get_ident
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import index
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar

from .._batch import arrays
from .._batch import format as formats
from .._client import failures, fork, frames, log
from .._client.channel import Gone
from .._client.engine import manager
from .._client.recovery import Recovery
from .._client.session import Session, warn
from .._recipe.functions import is_main
from .._report.tracebacks import all_briefly, brief, briefly, outside
from ..errors import (
    EpochsExhausted,
    ForkedLoader,
    HeadraceError,
    HeadraceWarning,
    LoaderClosed,
    LoopEnded,
    RecipeError,
    StateMismatch,
    WrongType,
    WrongValue,
)
from .clock import Clock
from .frontier import Frontier, Identity, lost_in, together
from .stats import Stats

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from .._batch.cuda import Pins
    from .._batch.format import Format
    from ..pipeline import Pipeline
    from .batch_steps import MainSteps
    from .frontier import Place
    from .preview import Preview
    from .profile import Profile
    from .trace import Trace

T = TypeVar("T")

_KEPT = 1000  # lost samples that are remembered by name
_MOST_WORKERS = 256
_GLANCE = 0.5  # seconds that the engine has to answer where people only look
_AT_EXIT = 5.0  # seconds that it has to complete a file


class LostSample:
    """A sample that failed, and why. It was left out, or replaced.

    Attributes:
        key (str): its name; for files the path as given.
        index (int): its index in the source.
        output (list[int]): which of the samples that `flat_map` and `aggregate` made of it, from 0; empty where it is the source's own.
        source (str): the name of the source's step in the recipe.
        stage (str): the stage that failed.
        error (str): why.
        epoch (int): the epoch.
        position (int): its position in this rank's epoch of the source.
        replaced (bool): whether another sample came in its place.
    """

    __slots__ = ("epoch", "error", "index", "key", "output", "position", "replaced", "source", "stage")

    def __init__(self, told: dict[str, Any]) -> None:
        self.key: str = told["key"]
        self.index: int = told["index"]
        self.output: list[int] = told.get("output", [])
        self.source: str = told["source"]
        self.stage: str = told["stage"]
        self.error: str = told["error"]
        self.epoch: int = told["epoch"]
        self.position: int = told["position"]
        self.replaced: bool = told.get("replaced", False)

    def __repr__(self) -> str:
        replaced = ", replaced" if self.replaced else ""
        output = f", output {'.'.join(map(str, self.output))}" if self.output else ""
        return f"<{self.key!r} (index {self.index}{output}){replaced}: {self.stage}: {self.error}>"


LostSample.__module__ = "headrace"


class Errors(Sequence[LostSample]):
    """The samples that were lost or replaced: the first 1,000 by name, all of them counted.

    Attributes:
        total (int): how many failed.
        replaced (int): in the place of how many of these another came.
    """

    def __init__(self) -> None:
        self._kept: list[LostSample] = []
        self.total = 0
        self.replaced = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: Any) -> Any:
        return self._kept[index]

    def __repr__(self) -> str:
        more = f" and {self.total - len(self._kept)} more" if self.total > len(self._kept) else ""
        replaced = f", {self.replaced} replaced" if self.replaced else ""
        return f"<{self.total - self.replaced} lost{replaced}: {self._kept!r}{more}>"


Errors.__module__ = "headrace"


class Field(NamedTuple):
    """What one field of a batch is. A shape says what follows the number of rows; None where it differs between batches.

    Of batches that a function makes, with `batch(collate=…)`, it is the shape of the whole field.
    """

    kind: str
    dtype: str | None
    shape: tuple[int | None, ...] | None


Field.__module__ = "headrace"


class Loop:
    """One epoch's iterator: what `iter(loader)` gives."""

    __slots__ = ("_loader", "done", "epoch", "number")

    def __init__(self, loader: Loader, number: int, epoch: int) -> None:
        self._loader = loader
        self.number = number
        self.epoch = epoch
        self.done = False

    def __iter__(self) -> Loop:
        return self

    def __next__(self) -> Any:
        asked = monotonic_ns()
        loader = self._loader
        clock = loader._clock
        try:
            loader._check()
            with loader._lock:
                clock.begins(asked)
                try:
                    hand = loader._take(self)
                except StopIteration:
                    clock.ends(asked)
                    raise
                except BaseException:
                    clock.fails(asked)
                    raise
        except HeadraceError as error:
            raise brief(error) from error.__cause__
        frontier, batch = hand.frontier, hand.batch
        clock.gives(asked)
        clock.left = monotonic_ns()
        # Nothing is called from here on, so that no signal handler comes between a batch and its being counted. Where another
        # thread was quicker, it has counted this batch already.
        if loader._hand is hand:
            loader._frontier = frontier
            loader._hand = None
        return batch

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # After a `break` nobody has the iterator any more: what the program does from here on is not its loop.
        if not ends() and not self.done and self._loader._number == self.number:
            self._loader._clock.pause()


class Hand(NamedTuple):
    """A batch that was taken from the engine's side and is not yet counted on ours."""

    batch: Any
    frontier: Frontier  # where the run stands after it
    thread: int  # that asked for it
    done: bool  # steps with where="main" have done their part
    epoch: int
    number: int  # in its epoch


@all_briefly
class Loader:
    """Batches, epoch by epoch. `Pipeline.loader` makes it.

    Each `for` loop is one epoch; one that is left by `break` has ended its epoch. Use the loader as a context manager, or call
    `close()`. It may be used by several threads: each batch goes to one of them. It may not be used in a forked child.

    Attributes:
        errors (Errors): the samples that were lost.
    """

    def __init__(
        self, session: Session, pipeline: Pipeline, recipe: dict[str, Any], config: dict[str, Any], python: dict[str, Any] | None
    ) -> None:
        self._pipeline, self._recipe, self._config, self._python = pipeline, recipe, config, python
        format, main = pipeline._format, [step for step in pipeline._steps if is_main(step)]
        arrays.load(format)
        self._clock = Clock()
        self._opened = self._open(session)
        self._session: Session | None = session
        try:
            self._layout = arrays.Layout(self._opened["fields"], self._opened.get("whole", False))
            self._set_format(format)
            self._main = _main_steps(main, pipeline._seed, config["rank"])
        except BaseException:
            session.drop()
            raise
        self._identity = Identity(self._opened["state"], _makes(recipe["steps"]))
        self._frontier = Frontier(self._opened["state"]["epoch"])
        self._recovery = Recovery(config["on_error"] != "raise", self._opened["sources"])
        self._workers: dict[str, int] = {}  # that were set, by stage; a new engine is told in this order
        self._lost: set[Place] = set()
        self._replaced: set[Place] = set()
        self._hand: Hand | None = None  # made and counted by the engine's side, not yet by ours
        self._number = 0  # of the loop that may take batches
        self._failure: HeadraceError | None = None  # why the stream has ended
        self._stats: dict[str, Any] = {}
        self._adrift = False  # an exception came before the engine was told where to go on
        self._lock = RLock()
        self._warned = False  # that batches are held
        self.rows: list[dict[str, Any]] | None = None  # of the next batch, where each comes from; only of a replay
        self._inside = False  # somebody is in next()
        self._refused: type[HeadraceError] | None = None  # LoaderClosed or ForkedLoader
        self.errors = Errors()
        fork.share(self)

    # Epochs.

    @briefly
    def __iter__(self) -> Loop:
        """Begin the next epoch. An epoch of which no batch was taken yet is begun again."""
        self._check()
        with self._lock:
            frontier = self._frontier
            if frontier.inside:  # the loop before was left in the middle
                self._go_to(Frontier(frontier.epoch + 1))
            elif self._adrift or self._failure is not None or self._session is None:
                self._go_to(frontier)
            elif self._config.get("steps_per_epoch") is not None:
                self._clock.restart()  # an epoch that was cut off has the engine begin anew
            epochs = self._config["epochs"]
            if epochs is not None and self._frontier.epoch >= epochs:
                raise EpochsExhausted(
                    f"headrace: all {epochs} epochs were run; make the loader with a greater epochs=, or epochs=None for no end,"
                    " or go back by set_epoch(0)"
                )
            self._number += 1
            return Loop(self, self._number, self._frontier.epoch)

    def __len__(self) -> int:
        """The number of batches in an epoch of this rank."""
        if not self._opened["exact"]:
            why = "the number of batches is not known before they are made"
            if self.max_batches is None:
                raise WrongType(f"{why}: nobody knows how many samples come of what is iterated over, or are made of one")
            raise WrongType(f"{why}: bad samples may be skipped, or samples be grouped by what they are; loader.max_batches is its bound")
        return int(self._opened["batches_per_epoch"])

    @property
    def max_batches(self) -> int | None:
        """The number of batches in an epoch when no sample is lost; where samples are grouped by what they are, its bound.

        None where there is no bound: nobody knows how many samples come of a source that is iterated over, or of `flat_map` and
        `aggregate`.
        """
        batches = int(self._opened["batches_per_epoch"])
        return None if batches < 0 else batches

    def set_epoch(self, epoch: int) -> None:
        """Have the next loop run this epoch, from its beginning; what was prefetched of another is dropped.

        The epoch that would come next anyway changes nothing, also where a state was restored in its middle.
        """
        self._check()
        if epoch < 0:
            raise RecipeError(f"headrace: set_epoch({epoch}): epochs count from 0")
        with self._lock:
            if epoch != self._frontier.epoch + self._frontier.inside:
                self._lost, self._replaced = set(), set()
                self._go_to(Frontier(epoch))

    def _go_to(self, frontier: Frontier) -> None:
        """Drop what is under way and go on from somewhere else; the loops that exist have ended."""
        self._adrift = True
        self._number += 1
        self._clock.restart()
        self._hand = None
        self._frontier = frontier
        self._failure = None
        epochs = self._config["epochs"]
        if epochs is not None and frontier.epoch >= epochs:
            return  # nothing is there to be done; the next iter says so
        if self._session is None:
            self._open_again()
        else:
            self._session.start(self._record())
        self._adrift = False

    # State.

    def state_dict(self) -> dict[str, Any]:
        """Where this rank's run stands: everything before it was given out or lost, nothing else. Plain JSON.

        It counts the batch that the loop gave last. After a `break` it is the middle of that epoch, until the next loop begins; after
        an epoch's last batch it is the beginning of the next epoch.
        """
        return self._record()

    def load_state_dict(self, state: dict[str, Any] | Iterable[dict[str, Any]]) -> None:
        """Go on from a state that `state_dict` gave, of this or another loader with the same pipeline and source.

        Under another world size what is left of the epoch is divided anew. That takes the states of all ranks, in any order; only where
        all ranks have the same batches at every moment, as with `.batch(global_size=…)`, and nothing was lost, is the state of any one
        enough.

        Args:
            state: this rank's state, or several.

        Raises:
            StateMismatch: if going on from there would be a guess. Nothing has changed then.
        """
        self._check()
        if state is None or isinstance(state, (str, bytes)) or hasattr(state, "items") or not hasattr(state, "__iter__"):
            state = [state]  # type: ignore[list-item]  # what is no state is refused as one
        states = [self._identity.plain(one) for one in state]
        with self._lock:
            for warning in dict.fromkeys(chain.from_iterable(map(self._identity.check, states))):
                warnings.warn(warning, HeadraceWarning, stacklevel=outside())
            together(states)
            record = next((s for s in states if self._identity.own(s)), None)
            if record is None:
                record = self._gather(states)
            else:
                self._hold_against(states)
            before = self._frontier, self._failure, self._lost, self._replaced, self._recovery.quarantine
            self._lost, self._replaced = lost_in(record), set()
            self._recovery.quarantine = list(record.get("quarantine") or ())
            try:
                self._go_to(Frontier.of(record))
            except RecipeError as error:  # of an engine that was opened for it
                if "state does not fit" not in str(error):
                    raise
                self._frontier, self._failure, self._lost, self._replaced, self._recovery.quarantine = before
                raise StateMismatch(str(error)) from None

    def _hold_against(self, states: list[dict[str, Any]]) -> None:
        """Raise StateMismatch if the engine would not go on from states, one of which is this rank's. Without one, opening it tells."""
        if self._session is None or self._inside:
            return
        try:
            answer = self._session.gather(states)
        except Gone:
            return  # the next batch will tell
        if "error" in answer:
            raise StateMismatch(answer["error"])

    def _gather(self, states: list[dict[str, Any]]) -> dict[str, Any]:
        """Make this rank's state of those of other ranks or another world size."""
        answer = self._ask("can load a state of the same rank and world size only", lambda session: session.gather(states))
        if "error" in answer:
            raise StateMismatch(answer["error"])
        gathered: dict[str, Any] = answer["state"]
        return gathered

    def _ask(self, refusal: str, ask: Callable[[Session], T]) -> T:
        """Ask something of an engine that lives: where one dies over it, of the next. The refusal is for a signal handler within next()."""
        if self._inside:
            raise HeadraceError(f"headrace: a signal handler within next() {refusal}")
        while True:
            if self._session is None:
                self._open_again()
            session = self._session
            assert session is not None
            try:
                return ask(session)
            except Gone:
                self._recover(session)

    def set_workers(self, workers: int, stage: str | None = None) -> None:
        """Change how many samples are in hand at once, while the loader runs. Batches, their order and the state stay as they are.

        What is in hand is finished first, which this does not wait for. The number holds until the loader is closed. However many there
        are, no more samples are worked on at the same time than the process has cores. Of `batch(collate=…)` no more batches are made at
        the same time than there are slots for, two for each worker that it began with.

        Args:
            workers: 1 to 256.
            stage: the name of a stage, as in `stats()`; None: all stages that compute, which have what `loader(workers=…)` says. Reading
                waits, and has workers of its own: `"read"`.

        Raises:
            RecipeError: if there is no such stage, or no such number of workers. Nothing has changed then.
        """
        self._check()
        try:
            number = None if isinstance(workers, bool) else index(workers)
        except TypeError:
            number = None
        if number is None or not 1 <= number <= _MOST_WORKERS:
            raise RecipeError(f"headrace: set_workers({workers!r}): takes a whole number from 1 to {_MOST_WORKERS}")
        if stage is not None and not isinstance(stage, str):
            raise RecipeError(f"headrace: set_workers(stage={stage!r}): takes the name of a stage, as in stats()")
        with self._lock:
            answer = self._ask("cannot set workers", lambda session: session.set_workers(stage or "", number))
            if "error" in answer:
                raise RecipeError(answer["error"])
            self._workers.pop(stage or "", None)
            self._workers[stage or ""] = number
            self._opened = {**self._opened, **answer}

    def _record(self) -> dict[str, Any]:
        return self._identity.record(self._frontier, self._lost, self._recovery.quarantine)

    # The way of a batch.

    def _take(self, loop: Loop) -> Hand:
        """The next batch of a loop, as the loop gets it."""
        hand = self._receive(loop)
        if self._main is None or hand.done:
            return hand
        began = monotonic_ns()
        hand = hand._replace(batch=self._main(hand.batch, hand.epoch, hand.number), thread=get_ident(), done=True)
        self._clock.main(monotonic_ns() - began)
        self._hand = hand
        return hand

    def _receive(self, loop: Loop) -> Hand:
        """The next batch of a loop, as the engine has made it."""
        hand = self._hand
        if hand is not None:
            # An exception came between this batch and its being counted, be it of a step that was to do its part with it.
            if not hand.done:
                self._stream(loop)
                return hand
            if hand.thread == get_ident():
                return hand
            self._frontier = hand.frontier  # another thread is about to return it
        self._inside = True
        try:
            told = False
            while True:
                session = self._stream(loop)
                frame = session.channel.peek()
                if frame is None:
                    told = self._wait(session, told)
                elif frame[0] == frames.BATCH and frame[1] == session.stream:
                    return self._deliver(session, frame, told)
                else:
                    self._other(loop, session, frame)
        finally:
            self._inside = False

    def _stream(self, loop: Loop) -> Session:
        """The session, while a loop may take batches from it."""
        if loop.done:
            raise StopIteration
        if self._refused is not None:
            self._refuse()
        if loop.number != self._number:
            raise LoopEnded("headrace: this loop has ended, because a newer loop, set_epoch() or load_state_dict() began elsewhere")
        if self._frontier.epoch > loop.epoch:  # no need to wait for EPOCH, which a dead engine could not send
            loop.done = True
            raise StopIteration
        if self._failure is not None:
            raise failures.again(self._failure)
        if self._session is None or self._adrift:
            raise LoopEnded("headrace: this loop was cut off while the loader was beginning elsewhere; begin a new one")
        return self._session

    def _wait(self, session: Session, told: bool) -> bool:
        """Wait for more frames. Before it really waits it tells the engine so; the result says whether the engine was told."""
        try:
            if not told:
                if session.channel.receive():
                    return False
                session.next(frames.WAITING, self._clock.untold())
            session.channel.wait()
            return True
        except Gone:
            if self._refused is not None:  # closed by a signal handler or another thread, which leaves the rest to this one
                session.drop()
                self._refuse()
            self._recover(session)
            return False

    def _deliver(self, session: Session, frame: tuple[int, int, bytearray, int, int], told: bool) -> Hand:
        """Make a batch of a BATCH frame."""
        _, _, buffer, start, end = frame
        number, slot, rows, flags, step, own_epoch, epoch, size, _ = frames.BATCH_FRAME.unpack_from(buffer, start)
        layout = self._layout
        extents = layout.extents.unpack_from(buffer, start + 48)
        begin = start + 48 + layout.extents.size
        texts = begin + size
        place = bytes(buffer[begin:texts])
        token = bytes(buffer[start : start + 8])
        segment, lease, way_back = session.slots.lease(number)
        batch = layout.batch(lease, segment.address + slot * segment.slot_bytes, rows, extents, memoryview(buffer)[texts:end])
        if self._pins is not None and not flags & frames.ALONE:  # what is used once is not worth pinning
            self._pins.pin(segment)
            session.pins = self._pins
        if self._convert is not None:
            batch = self._convert(batch)
        hand = Hand(batch, Frontier(epoch, place, epoch == own_epoch), get_ident(), self._main is None, own_epoch, step)
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        session.slots.leases[token] = way_back
        way_back.token = token
        session.taken += 1
        self._clock.batches += 1
        self._hand = hand
        self._recovery.deaths = 0
        if flags & frames.ALONE:
            del session.slots.segments[number]  # the lease is all that needs it
        if flags & frames.UNPOOLED:
            self._warn_of_held_batches()
        # An engine that is ahead of us hears now that it may go on; one that we wait for hears it with the next call.
        if not told:
            session.next(0, self._clock.untold())
        return hand

    def _warn_of_held_batches(self) -> None:
        if self._warned:
            return
        self._warned = True
        text = (
            "headrace: the program holds all batches of the pool, so that further ones take memory of their own,"
            f" up to hold_limit ({self._opened['hold_limit']:,} bytes); let go of batches, or copy what is to be kept"
        )
        warnings.warn(text, HeadraceWarning, stacklevel=outside())

    def _other(self, loop: Loop, session: Session, frame: tuple[int, int, bytearray, int, int]) -> None:
        """Handle a frame that is no batch of the stream at hand."""
        kind, stream, buffer, start, end = frame
        payload = bytes(buffer[start:end])
        if kind == frames.SEGMENT:
            session.slots.map(payload, end)
        elif kind == frames.BATCH:
            session.give_back(payload, end)
        elif kind == frames.LOST and stream == session.stream:
            self._lose(session, payload, end)
        elif kind == frames.EPOCH and stream == session.stream:
            self._end_epoch(loop, session, payload, end)
        elif kind == frames.ERROR and stream in (0, session.stream):
            self._fail(session, payload, end)
        elif kind == frames.ROWS:
            self.rows = json.loads(payload)["rows"]
            session.channel.skip(end)
        else:
            session.channel.skip(end)
            if kind == frames.NOTE:
                warn(payload)
            elif kind == frames.LOG:
                log.show(payload)

    def _lose(self, session: Session, payload: bytes, end: int) -> None:
        """Take a LOST frame."""
        lost = LostSample(json.loads(payload))
        place = (lost.epoch, lost.source, lost.position, tuple(lost.output))
        known = self._replaced if lost.replaced else self._lost
        new = place not in known  # a new engine loses again what the frontier had not passed
        replaced = new and lost.replaced
        kept = [lost] if new and len(self.errors) < _KEPT else []
        channel, errors = session.channel, self.errors
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        errors.total += new
        errors.replaced += replaced
        errors._kept += kept
        known |= {place}

    def _end_epoch(self, loop: Loop, session: Session, payload: bytes, end: int) -> None:
        """Take an EPOCH frame. One of an epoch whose loop was left after its last batch says nothing new."""
        epoch = json.loads(payload)["epoch"]
        frontier = self._frontier
        if frontier.epoch == epoch:  # after the last batch, samples were lost
            frontier = Frontier(epoch + 1)
        done = epoch >= loop.epoch
        lost = {place for place in self._lost if place[0] > epoch}
        replaced = {place for place in self._replaced if place[0] > epoch}
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        self._frontier = frontier
        self._lost = lost
        self._replaced = replaced
        loop.done = done

    def _fail(self, session: Session, payload: bytes, end: int) -> NoReturn:
        """Raise what an ERROR frame says. Every code but "held" has ended the stream, and some the session."""
        code, error = failures.parse(payload)
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        if code != "held":
            self._failure = failures.again(error)
            log.show_waiting(channel)  # what was printed belongs before the error
        if code in ("protocol", "recipe", "source"):
            self._drop()
        try:
            raise error
        finally:
            del error  # else the traceback, which has this frame, would keep the loader until the next collection of garbage

    # The end of an engine, and of a loader.

    def _open(self, session: Session) -> dict[str, Any]:
        """Wait until the engine has opened a session."""
        try:
            return session.opened()
        except Gone:
            death = session.death()
            session.drop()
            raise death.error(session.connection.number) from None
        except BaseException:
            session.drop()
            raise

    def _open_again(self) -> None:
        """Open a session at the place where this run stands, with an engine that lives."""
        record = self._record()
        self._recovery.passed(record["epoch"], record["sources"])
        serial_until = self._recovery.serial_until()
        connection = manager.connect(alone=serial_until is not None)
        session = Session(connection, self._recipe, self._config, record, serial_until, None, self._python)
        self._open(session)
        self._session = session
        self._clock.reset()
        self._adrift = False
        try:
            for stage, workers in self._workers.items():
                session.set_workers(stage, workers)
        except Gone:
            pass  # the next batch will tell

    def _recover(self, session: Session) -> None:
        """After the engine's death: go on from the same place, or raise EngineDied."""
        death = session.death()
        suspects = death.of(session.connection.number)
        alone = len(death.in_flight) == len(suspects)
        self._drop()
        self._adrift = True  # until it is open again
        plan = self._recovery.plan(death, suspects, alone)
        if plan is None:
            self._failure = death.error(session.connection.number)
            raise failures.again(self._failure)
        warnings.warn(f"headrace: the engine died: {death.status}; {plan}", HeadraceWarning, stacklevel=outside())
        self._open_again()

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.drop()

    def close(self) -> None:
        """End the run, and with the process's last loader its engine. Batches that were given stay valid. May be called again."""
        if self._refused is not None:
            return
        session = self._session
        tracing = False
        if self._inside and session is not None:  # another thread is in next(), or this is called from a signal handler there
            self._refused = LoaderClosed
            session.channel.shut()  # next() finds the end, and lets go
        with self._lock:
            if not self._inside:
                self._refused = LoaderClosed
                session, self._session = self._session, None
                self._hand = None
                if session is not None:
                    self._clock.pause()
                    tracing = session.tracing
                    self._stats = session.finish(self._clock.told()) or self._stats
            if self._main is not None:
                self._main.close()
        if session is not None:
            self._warn_of_the_end(session, tracing)

    def _warn_of_the_end(self, session: Session, tracing: bool) -> None:
        """Tell of what became known when a session ended, once all is let go of: a warning may be an exception."""
        for note in session.notes:
            warn(note)
        if tracing:  # one that was stopped before was told of then
            from .trace import warn_if_incomplete

            warn_if_incomplete(session)

    def __enter__(self) -> Loader:
        self._check()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self) -> None:
        if self._refused is not None:
            self._refuse()

    def _refuse(self) -> NoReturn:
        assert self._refused is not None
        if self._refused is ForkedLoader:
            raise ForkedLoader(
                "headrace: this loader belongs to the process that this one was forked from; make another one here, from the"
                " pipeline. Batches are loaded by an engine outside Python: no worker processes are needed for it"
            )
        raise self._refused("headrace: this loader is closed; the batches that it gave stay valid")

    def after_fork(self) -> None:
        """In the child: the loader is the parent's."""
        self._refused = ForkedLoader

    def __reduce__(self) -> NoReturn:
        raise WrongType("a loader belongs to its process and cannot be pickled; send the pipeline, and call .loader() there")

    # What it is and what it did.

    def to(self, format: Literal["numpy", "torch", "jax"], *, pin_memory: bool = False, device: Any = None) -> Loader:
        """Choose what batches consist of from now on, as `Pipeline.to` does.

        Args:
            format: `"numpy"`, `"torch"` or `"jax"`.
            pin_memory: with `"torch"`, in pages that are locked for CUDA.
            device: with `"torch"`, where tensors go.

        Returns:
            This loader.

        Raises:
            RecipeError: if PyTorch cannot have a field, or not on that device. Nothing has changed then.
        """
        self._set_format(formats.check(format, pin_memory, device))
        return self

    def _set_format(self, format: Format) -> None:
        convert = arrays.converter(format, self._layout)
        self._pins: Pins | None = arrays.pins(format)
        self._convert = convert
        self._format = format

    def recipe(self, format: Literal["yaml", "json"] = "yaml") -> str:
        """What this loader runs, as a recipe: the text of a file that `headrace.load` and the command `headrace` read.

        It is complete, and what `Pipeline.loader` was given is its section `loader`, but for rank and world size: they belong to the
        process.

        Args:
            format: `"yaml"` or `"json"`.
        """
        return self._pipeline._written(self._settings(), format)

    def _settings(self) -> dict[str, Any]:
        """The recipe's section `loader`."""
        return {name: value for name, value in self._config.items() if value is not None and name not in _OF_THE_PROCESS}

    @property
    def classes(self) -> list[str] | None:
        """The names of the labels, by number; None where labels have no names.

        A map with `fields=` that writes labels takes their names away. One that is given whole samples leaves them: whether it numbers
        labels anew, nobody can tell.
        """
        return self._opened.get("classes")

    @property
    def schema(self) -> dict[str, Field]:
        """The fields of a batch."""
        schema = {}
        for field in self._opened["fields"]:
            sizes = tuple(None if n < 0 else n for n in field.get("shape") or ()) if field["kind"] == "tensor" else None
            schema[field["name"]] = Field(field["kind"], field.get("dtype"), sizes)
        return schema

    def stats(self, since: Stats | dict[str, Any] | None = None) -> Stats:
        """What every stage and queue did so far, and what its processes use; also after the end.

        Args:
            since: what an earlier call gave: then the numbers are of the time since.

        Raises:
            ValueError: if `since` is of another loader, or of an engine that has died since.
        """
        if self._refused is ForkedLoader or (since is not None and self._refused is not None):
            self._refuse()
        with self._lock:
            if since is not None:
                return self._stats_since(since)
            if self._session is not None and not self._inside:
                try:
                    self._stats = self._session.statistics(self._clock.told()) or self._stats
                except Gone:
                    pass  # the next batch will tell; until then the last statistics are the best there are
        return Stats(self._stats)

    def _stats_since(self, since: dict[str, Any]) -> Stats:
        if not hasattr(since, "items") or "stages" not in since:
            raise WrongValue(f"headrace: stats(since={type(since).__name__}): takes what stats() gave before")
        earlier = {key: value for key, value in since.items() if key != "text"}
        answer = self._ask("cannot ask for statistics", lambda session: session.statistics(self._clock.told(), earlier))
        assert answer is not None
        if "error" in answer:
            raise WrongValue(f"headrace: stats(since=…): these are no earlier statistics of this loader and its engine: {answer['error']}")
        return Stats(answer)

    def _glance(self) -> dict[str, Any]:
        """Statistics without waiting: of now, where nobody is in next() and the engine answers at once, else the last ones."""
        if self._refused is None and not self._inside and self._lock.acquire(blocking=False):
            try:
                if self._session is not None and not self._inside:
                    self._stats = self._session.statistics(self._clock.told(), None, _GLANCE) or self._stats
            except Gone:
                pass  # the next batch will tell
            finally:
                self._lock.release()
        return self._stats

    def profile(self, items: int | None = None, workers: Sequence[int] | None = None, *, fuse: bool | None = None) -> Profile:
        """Measure each stage alone, as fast as it can, on what the stages before have made, with each number of workers in turn.

        So it tells of every stage how many samples a second it is enough for, which a run tells of the slowest only. The result prints as a
        table. It is the command `headrace profile` in a process of its own, with this loader's recipe and settings, but for rank and world
        size: the loader is not disturbed, but should not be iterated meanwhile, since both would share the machine.

        Args:
            items: samples for each number of workers, from the beginning of epoch 0; by default 256, or as many as `memory` has room for.
            workers: numbers of workers; by default up to all cores, and half as many more.
            fuse: False takes apart what is one stage, to see what each operation costs; by default as the loader was made.

        Raises:
            RecipeError: if the numbers make no sense, or do not fit into `memory`.
            HeadraceError: if a sample fails, and `on_error` is `"raise"`.
        """
        from .._recipe import notation
        from .profile import profile

        self._check()
        return profile(notation.write(self._recipe, self._settings(), "json"), self._python, items, workers, fuse)

    def trace(self, path: str | os.PathLike[str]) -> Trace:
        """Write what every worker of this loader does, and when, to a file for https://ui.perfetto.dev.

            with loader.trace("trace.json"):
                for batch in loader:
                    …

        It begins at once, and ends with the `with` block, with `stop()` of what is returned, or with the loader: at any time, also
        within an epoch. It costs the engine a few percent at most. There is one at a time.

        Each worker has a line: its operations with the name, index and position of their sample, and its waits, by what it waits for. The
        consumer's line has each batch that is handed to this process, and `training loop` what the program waits for them. Arrows lead
        from one operation on a sample to the next. Counters show what is ready in each queue, and the memory held.

        The file is a JSON array in the Trace Event Format, about 300 bytes an event. That of a process that was killed lacks the bracket at
        its end, as the format allows.

        Args:
            path: the file, which is written anew.

        Raises:
            OSError: if it cannot be written, or a trace is being written already.
        """
        from .trace import Trace, absolute

        self._check()
        return Trace(self, absolute(path))

    def _begin_trace(self, path: str) -> Session:
        from .trace import end_at_exit, raise_if_refused

        def begin(session: Session) -> Session:
            raise_if_refused(session.trace(path), path)
            return session

        with self._lock:
            session = self._ask("cannot begin a trace", begin)
            end_at_exit(self)
            return session

    def _end_trace(self, session: Session) -> dict[str, Any] | None:
        """End a trace of this session, if that has not ended it itself. None: the engine has died before."""
        if self._refused is ForkedLoader:
            self._refuse()
        with self._lock:
            if self._inside:
                raise HeadraceError("headrace: a signal handler within next() cannot stop a trace")
            if self._session is not session or not session.tracing:
                return session.traced
            try:
                return session.end_trace()
            except Gone:
                return None  # the next batch will tell

    def _trace_at_exit(self) -> Session | None:
        """The program ends: complete the file of a trace that goes on, unless a thread is in next(). The session, if that was done."""
        if self._refused is not None or not self._lock.acquire(timeout=1):
            return None
        try:
            session = self._session
            if session is None or self._inside or not session.tracing:
                return None
            session.end_trace(_AT_EXIT)
            return session
        except Gone:
            return None
        finally:
            self._lock.release()

    def preview(self, n: int = 16, *, epoch: int | None = None, columns: int | None = None, tile: int | None = None) -> Preview:
        """Show what training gets: the first samples of an epoch on a contact sheet, each with its label and key.

            loader.preview()  # in a notebook, the sheet
            loader.preview(60, epoch=1).save("sheet.png")

        The pixels are those of the batches, with all that is random. Values that `normalize` made are turned back by its mean and std. A
        sample that fails has a tile as well, with the reason in it. The samples are those of all ranks together. What is done to whole
        batches is not shown.

        An engine of its own draws it, which ends then: this loader goes on from where it stands, and no batch of it is taken.

        Args:
            n: how many samples.
            epoch: of which epoch; by default the one in which the loader is.
            columns: pictures side by side; by default so that the sheet is wider than high.
            tile: the longest side of a picture, in pixels; by default its own, between 128 and 256.

        Raises:
            RecipeError: if samples have no picture, or a number makes no sense.
        """
        from .preview import preview

        self._check()
        epoch = self._frontier.epoch if epoch is None else epoch
        return preview(self._recipe, self._config, self._python, n, epoch, columns, tile)

    def __repr__(self) -> str:
        from .._report import draw

        lines = [f"<headrace.Loader of {{{', '.join(map(': '.join, self._fields()))}}}{self._rows()}, {self._length()}>"]
        if self._refused is not ForkedLoader:
            stats = self._glance()
            lines += [f"  {line}" for text in self._standing(stats) for line in draw.broken(text)]
            lines += [f"  {text}" for text in draw.stage_lines(self._opened["stages"], stats)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .._report import draw

        rows = "" if self._opened.get("whole") else f", {self._opened['rows']} rows a batch"
        length = f"{draw.html(self._length())}{rows}"
        pieces = [f"<p><b>headrace.Loader</b> · {length}<br>{draw.fields_html(self._fields())}</p>"]
        if self._refused is not ForkedLoader:
            stats = self._glance()
            pieces.append(f"<p>{'<br>'.join(map(draw.html, self._standing(stats)))}</p>")
            pieces += [draw.stages_html(self._opened["stages"], stats), draw.LEGEND]
            if stats:
                pieces.append(draw.details("statistics", stats["text"]))
        pieces.append(draw.details("pipeline", repr(self._pipeline)))
        return draw.page(*pieces)

    def _fields(self) -> list[tuple[str, str]]:
        return [(name, _shown(field)) for name, field in self.schema.items()]

    def _rows(self) -> str:
        """How many rows a batch has, but of one that is made whole."""
        return "" if self._opened.get("whole") else f" × {self._opened['rows']} rows"

    def _length(self) -> str:
        bound = "" if self._opened["exact"] else "at most "
        epochs = self._config["epochs"]
        count = "" if epochs is None else f", {epochs} epoch{'s' * (epochs != 1)}"
        batches = "any number of" if self.max_batches is None else f"{bound}{self.max_batches}"
        return f"{batches} batches per epoch{count}{' (closed)' * (self._refused is LoaderClosed)}"

    def _standing(self, stats: dict[str, Any]) -> list[str]:
        """Where the run is, how fast it is, and what limits it."""
        frontier = self._frontier
        given = self._identity.place(frontier).get("batches", 0)
        most = "" if self.max_batches is None else f" of {self.max_batches:,}"
        told = [f"in epoch {frontier.epoch}, {given:,}{most} batches given"]
        epochs = self._config["epochs"]
        if epochs is not None and frontier.epoch >= epochs:
            told = ["its epoch was run" if epochs == 1 else f"all {epochs} epochs were run"]
        if self.errors.total:
            told[0] += f"; {self.errors.total - self.errors.replaced:,} samples lost, {self.errors.replaced:,} replaced"
        if stats.get("stages") and stats.get("yielded"):
            made, what = stats["yielded"], "items"
            if stats["stages"][-1]["kind"] in ("batch", "fill"):
                made, what = _samples(stats["stages"]), "samples"
            told.append(f"{made / max(stats['elapsed_ns'] / 1e9, 1e-9):,.0f} {what}/s. {stats['verdict']}")
        return told


Loader.__module__ = "headrace"


def _samples(stages: list[dict[str, Any]]) -> int:
    """How many samples came into batches: where a function makes these, to the stage that gathers them for it."""
    last = stages[-1]
    gathers = f"group {last['name']}"
    return int(next((stage["in"] for stage in stages if stage["name"] == gathers), last["in"]))


def _makes(steps: Any) -> bool:
    """Whether steps of a recipe make several samples of one, or one of several."""
    if isinstance(steps, list):
        return any(map(_makes, steps))
    return isinstance(steps, dict) and any(key in ("flat_map", "aggregate") or _makes(value) for key, value in steps.items())


def _main_steps(steps: list[dict[str, Any]], seed: int, rank: int) -> MainSteps | None:
    if not steps:
        return None
    from .batch_steps import MainSteps

    return MainSteps(steps, seed, rank)


_OF_THE_PROCESS = ("rank", "world_size", "local_world_size", "dead_letters_own")


def _shown(field: Field) -> str:
    if field.shape is None:
        return field.kind
    return f"{field.dtype} [{', '.join('?' if n is None else str(n) for n in field.shape)}]"

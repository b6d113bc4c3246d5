"""Turns the engine's frames into batches."""

from __future__ import annotations

import json
import warnings
from _thread import get_ident
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NoReturn

from .._batch import arrays, tuples
from .._batch.batch import Batch
from .._client import failures, frames, log
from .._client.channel import Gone
from .._report.profiler import recording
from .._report.tracebacks import outside
from ..errors import HeadraceError, HeadraceWarning, LoaderClosed, LoopEnded
from .frontier import Frontier
from .loop import Hand
from .lost import MOST, LostSample, place_of

if TYPE_CHECKING:
    from .._batch.cuda import Pins
    from .._batch.format import Format
    from .._client.session import Session
    from .batch_steps import MainSteps
    from .context_parallel import ContextParallel
    from .deadline import Deadline
    from .loop import Loop
    from .run import Run


class Batches:
    """Takes batches, one after the other, from a run's session.

    Attributes:
        main: the steps done in the program's own loop.
        rows: the origin of the next batch's rows; only in a replay.
    """

    def __init__(self, run: Run, format: Format, main: MainSteps | ContextParallel | None) -> None:
        self.run = run
        self.layout = arrays.Layout(run.opened["fields"], run.opened.get("whole", False), run.opened.get("single", False))
        self.main = main
        self.unnamed = tuple(self.layout.names) if run.opened.get("tuple") else ()  # the fields of samples that are tuples
        self.set_format(format)
        self.warned = False  # that batches are held
        self.empty = False  # it was said that this rank has no batches
        self.rows: list[dict[str, Any]] | None = None

    def set_format(self, format: Format) -> None:
        """Choose what batches hold from now on. If that is impossible, nothing changes."""
        convert = arrays.converter(format, self.layout)
        if format.tuples and (self.main is None or self.unnamed):
            tuples.check(format.tuples, self.layout, bool(self.unnamed))
        self.pins: Pins | None = arrays.pins(format)
        self.convert = convert
        self.format = format

    def close(self) -> None:
        """Let go of what makes batches besides the engine: here there is nothing."""

    def statistics(self, stats: dict[str, Any], since: dict[str, Any] | None) -> dict[str, Any]:
        """The engine's statistics since earlier ones, and what makes batches besides it."""
        return stats

    def take(self, loop: Loop, deadline: Deadline | None) -> Hand:
        """The next batch of a loop, as the loop gets it."""
        record = recording()
        if record is None:
            return self._take(loop, deadline)
        with record("headrace: next"):
            return self._take(loop, deadline)

    def _take(self, loop: Loop, deadline: Deadline | None) -> Hand:
        run = self.run
        hand = self._receive(loop, deadline)
        if self.main is None or hand.done:
            return hand
        began = monotonic_ns()
        batch = self.main(hand.batch, hand.epoch, hand.number)
        if self.format.tuples:
            batch = tuples.of(batch, self.format.tuples)
        hand = hand._replace(batch=batch, thread=get_ident(), done=True, own=monotonic_ns() - began)
        run.hand = hand
        return hand

    def _receive(self, loop: Loop, deadline: Deadline | None) -> Hand:
        """The next batch of a loop, as the engine made it."""
        run = self.run
        hand = run.hand
        if hand is not None:
            # An exception came between this batch and its being counted, be it of a
            # step that was to do its part with it.
            if not hand.done:
                self._stream(loop)
                return hand
            if hand.thread == get_ident():
                return hand
            run.frontier = hand.frontier  # another thread is about to return it
        run.inside = True
        try:
            return self._await(loop, deadline)
        except HeadraceError:
            if run.agreement is not None and run.failure is not None:
                run.agreement.fail()
            raise
        finally:
            run.inside = False
            if run.refused is LoaderClosed:  # by a signal handler or another thread, which has left the rest to this one
                run.finish()

    def _await(self, loop: Loop, deadline: Deadline | None) -> Hand:
        """Wait for the next batch, and take it."""
        agreement, told = self.run.agreement, False
        while True:
            session = self._stream(loop)
            frame = session.channel.peek()
            if frame is None:
                told = self._wait(session, told, deadline)
            elif agreement is not None and not agreement.left and self._ends(loop, session, frame, deadline):
                continue
            elif frame[0] == frames.BATCH and frame[1] == session.stream:
                return self._deliver(session, frame, told)
            else:
                self._other(loop, session, frame)

    def _ends(self, loop: Loop, session: Session, frame: tuple[int, int, bytearray, int, int], deadline: Deadline | None) -> bool:
        """Agree with the other ranks, if this frame decides what this one has. Whether the epoch ends here, though this rank has more."""
        run = self.run
        agreement = run.agreement
        assert agreement is not None
        kind, stream, buffer, start, end = frame
        if stream != session.stream or kind not in (frames.BATCH, frames.EPOCH):
            return False
        if kind == frames.EPOCH:
            told = json.loads(bytes(buffer[start:end]))
            if told["epoch"] < loop.epoch:
                return False
            agreement.reach(run, 0, True, (told["epoch"], told["batches"]), deadline)
            if not told["batches"] and not self.empty:
                self.empty = True
                text = f"headrace: rank {run.config['rank']} has no batch in epoch {told['epoch']}, so no rank gets any"
                warnings.warn(text, HeadraceWarning, stacklevel=outside())
            return False
        step, epoch = frames.BATCH_FRAME.unpack_from(buffer, start)[4:6]
        agreement.reach(run, *self._ready(session), (epoch, step), deadline)
        if agreement.left:
            return False
        run.frontier = Frontier(epoch + 1)
        agreement.behind = loop.done = True
        return True

    def _ready(self, session: Session) -> tuple[int, bool]:
        """How many batches of the epoch have arrived, and whether it ends with them.

        An epoch also ends with an EPOCH frame. That one is only heard when it is its turn, so that all ranks know of an end after the same
        batch, and their states say the same, whether or not the frame was quick.
        """
        session.channel.receive()
        ready = 0
        for kind, stream, buffer, start, _ in session.channel.arrived():
            if kind == frames.EPOCH and stream == session.stream:
                break
            if kind == frames.BATCH and stream == session.stream:
                ready += 1
                epoch, after = frames.BATCH_FRAME.unpack_from(buffer, start)[5:7]
                if after > epoch:
                    return ready, True
        return ready, False

    def _stream(self, loop: Loop) -> Session:
        """The session, while a loop may take batches from it."""
        run = self.run
        if loop.done:
            raise StopIteration
        if run.refused is not None:
            run.refuse()
        if loop.number != run.number:
            raise LoopEnded("headrace: this loop has ended, because a newer loop, set_epoch() or load_state_dict() began elsewhere")
        if run.frontier.epoch > loop.epoch:  # no need to wait for EPOCH, which a dead engine could not send
            loop.done = True
            raise StopIteration
        if run.failure is not None:
            raise failures.again(run.failure)
        if run.session is None or run.adrift:
            raise LoopEnded("headrace: this loop was interrupted while the loader moved elsewhere; start a new one")
        return run.session

    def _shown(self, batch: dict[str, Any]) -> Any:
        """A batch of arrays in the form that the loop gets."""
        if self.convert is not None:
            batch = self.convert(batch)
        if self.layout.bare is not None:
            return batch[self.layout.bare]
        if self.unnamed:
            return tuple(batch.values())
        if self.format.tuples and self.main is None:
            return tuples.of(batch, self.format.tuples)
        return batch if self.format.name == "jax" else Batch(batch)

    def _wait(self, session: Session, told: bool, deadline: Deadline | None) -> bool:
        """Wait for more frames, and tell the engine first if that will block. Returns whether it did."""
        run = self.run
        if deadline is not None:
            deadline.look()
        try:
            if not told:
                if session.channel.receive():
                    return False
                session.next(frames.WAITING, *run.clock.untold())
            if not session.channel.wait(None if deadline is None else deadline.left()):
                assert deadline is not None
                deadline.miss()
            return True
        except Gone:
            if run.refused is not None:
                run.refuse()
            run.recover(session)
            return False

    def _deliver(self, session: Session, frame: tuple[int, int, bytearray, int, int], told: bool) -> Hand:
        """Make a batch of a BATCH frame."""
        run = self.run
        _, _, buffer, start, end = frame
        number, slot, rows, flags, step, own_epoch, epoch, size, text_size = frames.BATCH_FRAME.unpack_from(buffer, start)
        layout = self.layout
        extents = layout.extents.unpack_from(buffer, start + 48)
        begin = start + 48 + layout.extents.size
        texts = begin + size
        place = bytes(buffer[begin:texts])
        token = bytes(buffer[start : start + 8])
        read: list[bytes] = []  # the token of a slot that has been copied then
        if flags & frames.TEXT_BESIDE:
            read.append(bytes(buffer[texts:end]))
            packed = session.slots.text(read[0], text_size)
        else:
            packed = memoryview(buffer)[texts:end]
        segment, lease, way_back = session.slots.lease(number)
        batch: Any = layout.batch(lease, segment.address + slot * segment.slot_bytes, rows, extents, packed)
        if self.pins is not None and not flags & frames.ALONE:  # what is used once is not worth pinning
            self.pins.pin(segment)
            session.pins = self.pins
        batch = self._shown(batch)
        frontier, agreement = Frontier(epoch, place, epoch == own_epoch), run.agreement
        left, behind = 0, False  # of what was agreed on
        if agreement is not None:
            left, behind = agreement.left - 1, agreement.last and agreement.left == 1 and epoch == own_epoch
        if behind:
            frontier = Frontier(own_epoch + 1)
        hand = Hand(batch, frontier, get_ident(), self.main is None, own_epoch, step, not told)
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        session.slots.leases[token] = way_back
        way_back.token = token
        session.unwanted += read
        session.taken += 1
        run.clock.batches += 1
        run.hand = hand
        if agreement is not None:
            agreement.left = left
            agreement.behind = behind
        run.recovery.deaths = 0
        if flags & frames.ALONE:
            del session.slots.segments[number]  # the lease is all that needs it
        if flags & frames.UNPOOLED:
            self._warn_of_held_batches()
        # An engine that is ahead of us hears now that it may go on; one that we wait
        # for hears it with the next call.
        if not told:
            session.next(0, *run.clock.untold())
        return hand

    def _other(self, loop: Loop, session: Session, frame: tuple[int, int, bytearray, int, int]) -> None:
        """Handle a frame that is not a batch of the current stream."""
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
                self.run.noted(payload)
            elif kind == frames.LOG:
                log.show(payload)

    def _lose(self, session: Session, payload: bytes, end: int) -> None:
        """Handle a LOST frame."""
        run = self.run
        lost = LostSample(json.loads(payload))
        place = place_of(lost)
        known = run.replaced if lost.replaced else run.lost
        new = place not in known  # a new engine loses again what the frontier had not passed
        replaced = new and lost.replaced
        kept = [lost] if new and len(run.errors) < MOST else []
        channel, errors = session.channel, run.errors
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        errors.total += new
        errors.replaced += replaced
        errors._kept += kept
        known |= {place}

    def _end_epoch(self, loop: Loop, session: Session, payload: bytes, end: int) -> None:
        """Handle an EPOCH frame. One of an epoch whose loop was left after its last batch is redundant."""
        run = self.run
        epoch = json.loads(payload)["epoch"]
        frontier = run.frontier
        if frontier.epoch == epoch:  # after the last batch, samples were lost
            frontier = Frontier(epoch + 1)
        done = epoch >= loop.epoch
        lost = {place for place in run.lost if place[0] >= epoch}  # states within the epoch may still be asked for
        replaced = {place for place in run.replaced if place[0] > epoch}
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        run.frontier = frontier
        run.lost = lost
        run.replaced = replaced
        loop.done = done

    def _fail(self, session: Session, payload: bytes, end: int) -> NoReturn:
        """Raise an ERROR frame's error. Every code but "held" has ended the stream, and some the session."""
        run = self.run
        code, error = failures.parse(payload)
        if run.here is not None:
            run.here.chain(error)
        channel = session.channel
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        if code != "held":
            run.failure = failures.again(error)
            log.show_waiting(channel)  # what was printed belongs before the error
        if code in ("protocol", "recipe", "source"):
            run.drop()
        try:
            raise error
        finally:
            del error  # else the traceback, which has this frame, would keep the run until the next collection of garbage

    def _warn_of_held_batches(self) -> None:
        if self.warned:
            return
        self.warned = True
        text = (
            "headrace: the program holds all batches of the pool, so more batches need extra memory,"
            f" up to hold_limit ({self.run.opened['hold_limit']:,} bytes); let go of batches, or copy what you keep"
        )
        warnings.warn(text, HeadraceWarning, stacklevel=outside())

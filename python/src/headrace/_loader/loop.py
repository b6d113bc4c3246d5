"""A loop over one epoch."""

from __future__ import annotations

import sys
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from .._report.tracebacks import brief
from ..errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .batches import Batches
    from .deadline import Deadline
    from .frontier import Frontier


class Loop:
    """One epoch's iterator, from `iter(loader)`."""

    __slots__ = ("__weakref__", "_batches", "done", "epoch", "number")

    def __init__(self, batches: Batches, number: int, epoch: int) -> None:
        self._batches = batches
        self.number = number
        self.epoch = epoch
        self.done = False

    def __iter__(self) -> Loop:
        return self

    def __next__(self, deadline: Deadline | None = None) -> Any:
        asked = monotonic_ns() if deadline is None else deadline.asked or monotonic_ns()
        batches = self._batches
        run = batches.run
        clock = run.clock
        try:
            run.check()
            with run.lock if deadline is None else deadline:
                clock.begins(asked)
                try:
                    hand = batches.take(self, deadline)
                except StopIteration:
                    clock.ends(asked)
                    run.epoch_ended()
                    raise
                except BaseException:
                    clock.fails(asked)
                    raise
        except HeadraceError as error:
            raise brief(error) from error.__cause__
        frontier, batch = hand.frontier, hand.batch
        clock.gives(asked, hand.ready and (deadline is None or not deadline.waited), hand.own)
        number = hand.number + 1
        passed = hand.epoch, number, frontier
        recent = run.recent
        at = number % len(recent)
        clock.left = monotonic_ns()
        # Nothing is called from here on, so that no signal handler comes between a
        # batch and its being counted. Where another thread was quicker, it has counted
        # this batch already.
        if run.hand is hand:
            recent[at] = passed
            run.frontier = frontier
            run.hand = None
        return batch

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # After a `break` nobody has the iterator any more: what the program does from
        # here on is not its loop.
        if not ends() and not self.done and self._batches.run.number == self.number:
            self._batches.run.clock.pause()


class Hand(NamedTuple):
    """A batch taken from the engine and not yet counted here."""

    batch: Any
    frontier: Frontier  # where the run is after it
    thread: int  # that asked for it
    done: bool  # steps with where="main" have done their part
    epoch: int
    number: int  # in its epoch
    ready: bool  # it was there when it was asked for
    own: int = 0  # nanoseconds that steps with where="main" took

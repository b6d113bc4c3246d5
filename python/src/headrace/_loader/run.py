"""A loader's position, its engine, and recovery when that dies."""

from __future__ import annotations

from _thread import RLock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .._client import fork
from .._client.channel import Gone
from .._client.engine import manager
from .._client.recovery import Recovery
from .._client.session import Session, warn
from .._report.notices import notice
from ..errors import ForkedLoader, HeadraceError, RecipeError
from .clock import Clock
from .frontier import Frontier, Identity
from .lost import Errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from .agreement import Agreement
    from .frontier import Place
    from .loop import Hand

PREFETCH = 2  # batches ahead, by default
KEPT = 8  # places that are kept, besides as many as there may be batches ahead
T = TypeVar("T")


class Run:
    """One run, over all its epochs. Hold the lock to change it."""

    def __init__(self, session: Session, peers: list[int] | None = None) -> None:
        """`peers` are the processes of `torch.distributed` with which this one may agree on the end of each epoch."""
        self.request = session.request
        self.config, self.here = config, here = self.request.config, self.request.here
        self.lock = RLock()
        self.clock = Clock()
        try:
            self.opened = self.open(session)
        except BaseException:
            if here is not None:
                here.close()
            raise
        self.session: Session | None = session
        self.agreement: Agreement | None = None  # None: the ranks have as many batches anyway
        if peers is not None and self.opened.get("agree"):
            from .agreement import Agreement

            self.agreement = Agreement(config["rank"], peers)
        self.identity = Identity(self.opened["state"])
        self.frontier = Frontier(self.opened["state"]["epoch"])
        self.recovery = Recovery(config["on_error"] != "raise", self.opened["sources"])
        self.workers: dict[str, int] = {}  # that were set, by stage; a new engine gets them in this order
        self.recent: list[tuple[int, int, Frontier] | None] = [None] * ((config.get("prefetch") or PREFETCH) + KEPT + 1)
        self.lost: set[Place] = set()
        self.replaced: set[Place] = set()
        self.errors = Errors()
        self.hand: Hand | None = None  # made and counted by the engine's side, not yet by ours
        self.number = 0  # of the loop that may take batches
        self.completed = False  # a loop has had all of an epoch
        self.spent = False  # the next loop is what is left of an epoch of which all was taken: nothing
        self.failure: HeadraceError | None = None  # why the stream has ended
        self.stats: dict[str, Any] = {}  # the last ones
        self.idle = False  # the engine makes nothing: batches come from elsewhere
        self.stale = False  # what was read ahead of the next loop is to be read again
        self.adrift = False  # an exception came before the engine knew where to go on
        self.inside = False  # somebody is in next()
        self.refused: type[HeadraceError] | None = None  # LoaderClosed or ForkedLoader
        self.stalled: list[tuple[Any, Any]] = []  # hooks that hear of stalls, and their methods
        fork.share(self)

    def check(self) -> None:
        """Raise LoaderClosed or ForkedLoader if the run can no longer be used."""
        if self.refused is not None:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise it."""
        assert self.refused is not None
        if self.refused is ForkedLoader:
            raise ForkedLoader(
                "headrace: this loader belongs to the process that this one was forked from; make another one here, from the"
                " pipeline. Batches are loaded by an engine outside Python: no worker processes are needed for it"
            )
        raise self.refused("headrace: this loader is closed; the batches that it gave stay valid")

    def record(self, done: int | None = None) -> dict[str, Any]:
        """The state record of its position, or of that after so many batches of the epoch of the last loop."""
        frontier = self.frontier if done is None else self._after(done)
        return self.identity.record(frontier, self.lost, self.recovery.quarantine)

    def begins(self, epoch: int) -> None:
        """Note where a loop begins."""
        number = self.identity.place(self.frontier).get("batches", 0)
        self.recent[:] = [None] * len(self.recent)
        self.recent[number % len(self.recent)] = epoch, number, self.frontier

    def _after(self, done: int) -> Frontier:
        """Where the run was after so many batches of an epoch."""
        kept = sorted([one for one in self.recent if one is not None], key=lambda one: one[:2])
        for _, number, frontier in kept:
            if number == done:
                return frontier
        if not kept:
            if self.identity.place(self.frontier).get("batches", 0) == done:  # a loop that was interrupted before it began
                return self.frontier
            raise RecipeError(f"headrace: state_dict(done={done}): no loop has begun: use state_dict()")
        epoch, least, _ = kept[0]
        raise RecipeError(
            f"headrace: state_dict(done={done}): states are kept of {least} to {kept[-1][1]} batches of epoch {epoch};"
            " a larger prefetch keeps more"
        )

    def go_to(self, frontier: Frontier) -> None:
        """Drop work in progress and continue elsewhere; existing loops end."""
        self.adrift = True
        self.number += 1
        self.clock.restart()
        self.hand = None
        self.frontier = frontier
        self.recent[:] = [None] * len(self.recent)
        self.failure = None
        if self.agreement is not None:
            self.agreement.begin()
        epochs = self.config["epochs"]
        if epochs is not None and frontier.epoch >= epochs:
            return  # nothing is there to be done; the next iter says so
        if self.session is None:
            self.open_again()
        else:
            if self.here is not None:
                self.here.begin()
            if not self.idle:
                self.session.start(self.record())
        self.adrift = False

    def ask(self, refusal: str, ask: Callable[[Session], T]) -> T:
        """Send a request to a live engine, restarting one that dies over it. The refusal is for a signal handler within next()."""
        if self.inside:
            raise HeadraceError(f"headrace: a signal handler within next() {refusal}")
        while True:
            if self.session is None:
                self.open_again()
            session = self.session
            assert session is not None
            try:
                return ask(session)
            except Gone:
                self.recover(session)

    def open_again(self) -> None:
        """Open a session at this run's position, with a live engine."""
        record = self.record()
        self.recovery.passed(record["epoch"], record["sources"])
        serial_until = self.recovery.serial_until()
        connection = manager.connect(alone=serial_until is not None)
        session = Session(connection, self.request, state=record, serial_until=serial_until, idle=self.idle)
        self.open(session)
        self.session = session
        self.clock.reset()
        self.adrift = False
        try:
            for stage, workers in self.workers.items():
                session.set_workers(stage, workers)
        except Gone:
            pass  # the next batch will tell

    def open(self, session: Session) -> dict[str, Any]:
        """Wait until the engine has opened a session, and print the address of its page if it has one."""
        try:
            opened = session.opened()
        except Gone:
            death = session.death()
            session.drop()
            raise death.error(session.connection.number) from None
        except HeadraceError as error:
            session.drop()
            if self.here is not None:
                self.here.chain(error)
            raise
        except BaseException:
            session.drop()
            raise
        if opened.get("page"):
            from .page import say

            say(opened["page"])
        return opened

    def recover(self, session: Session) -> None:
        """After the engine's death: continue from the same place, or raise EngineDied."""
        death = session.death()
        suspects = death.of(session.connection.number)
        alone = len(death.in_flight) == len(suspects)
        self.drop()
        self.adrift = True  # until it is open again
        plan = self.recovery.plan(death, suspects, alone)
        if plan is None:
            self.failure = death.error(session.connection.number)
            from .._client import failures

            raise failures.again(self.failure)
        notice("engine", f"headrace: {death.what}; {plan}")
        self.open_again()

    def finish(self) -> None:
        """End the session in order. Warn last, because a warning may be an exception."""
        if self.here is None:
            self._finish()
            return
        self.here.leave()
        try:
            self._finish()
        finally:
            self.here.close()

    def _finish(self) -> None:
        session, self.session = self.session, None
        if self.agreement is not None:
            self.agreement.close()
        if session is None:
            return
        self.clock.pause()
        tracing = session.tracing
        self.stats = session.finish(self.clock.told()) or self.stats
        for note in session.notes:
            self.noted(note)
        if self.completed:
            self.warn_of_imports(self.stats)
        if tracing:  # one that was stopped before knows of then
            from .trace import warn_if_incomplete

            warn_if_incomplete(session)

    def noted(self, payload: bytes) -> None:
        """Hand on what a NOTE frame says. Hooks come first: a warning may be an exception."""
        if self.stalled and b'"stall"' in payload:
            from .interval import tell_of_stall

            tell_of_stall(self.stalled, payload)
        warn(payload)

    def epoch_ended(self) -> None:
        """Note that a loop has had all of its epoch."""
        self.completed = True
        if self.is_behind():
            recent = self.recent[:]  # states within the epoch may still be asked for
            self.go_to(self.frontier)
            self.recent[:] = recent
        if self.config["epochs"] is not None and self.frontier.epoch >= self.config["epochs"] and self.request.movable:
            from .stats import glance

            self.warn_of_imports(glance(self))

    def is_behind(self) -> bool:
        """Whether the engine is still in an epoch that has ended."""
        return self.agreement is not None and self.agreement.behind

    def warn_of_imports(self, stats: dict[str, Any]) -> None:
        """Warn once if workers took longer to begin than for all that they have done."""
        if self.request.movable:
            from .imports import warn_if_costly

            warn_if_costly(stats.get("functions") or (), self.request.movable)

    def drop(self) -> None:
        """End the session."""
        session, self.session = self.session, None
        if session is not None:
            session.drop()

    def after_fork(self) -> None:
        """In the child: the loader is the parent's."""
        self.refused = ForkedLoader

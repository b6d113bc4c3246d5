"""Those that make ranges: actors of the cluster, and a thread here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING, Any

from .cluster import imported
from .ranges import Maker

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from ..pipeline import Pipeline
    from .ranges import Made


class Feeder(ABC):
    """Makes ranges, one after the other.

    Attributes:
        name: for people.
        node: the machine that it runs on, once it is known.
        tasks: what it has in hand, and when that was asked for.
        begun: it has answered since it was started.
        since: when it did.
        dead: it was ended for good.
        hung: others have made what it was asked for, and it says nothing.
    """

    def __init__(self, name: str) -> None:
        self.name, self.node = name, ""
        self.tasks: dict[Future[Any], float] = {}
        self.begun = self.dead = self.hung = False
        self._ahead = 0.0  # of its clock
        self.since = 0.0
        self.ranges = self.batches = self.bytes = 0
        self.working = self.travelling = 0.0  # seconds

    @abstractmethod
    def make(self, state: dict[str, Any], count: int, whole: bool) -> Future[Any]:
        """Have a range made."""

    def identify(self) -> Future[Any] | None:
        """Ask what it is, if nobody has since it was started."""
        return None

    def identified(self, told: dict[str, Any]) -> None:
        """Note what it is."""
        self.begun, self.since, self.node = True, monotonic(), told["node"]
        self._ahead = told["clock"] - self.since

    def count(self, made: Made) -> None:
        """Count a range that has come now."""
        self.ranges += 1
        self.batches += len(made.batches)
        self.bytes += made.bytes
        self.working += made.done - made.began
        self.travelling += max(0.0, monotonic() - (made.done - self._ahead))
        self.hung = False

    @abstractmethod
    def close(self) -> None:
        """End it for good."""


class Actor(Feeder):
    """A feeder on some node."""

    def __init__(self, name: str, actor: Any) -> None:
        super().__init__(name)
        self.actor = actor
        self._asked = False

    def make(self, state: dict[str, Any], count: int, whole: bool) -> Future[Any]:
        """Have a range made."""
        future: Future[Any] = self.actor.make.remote(state, count, whole).future()
        return future

    def identify(self) -> Future[Any] | None:
        """Ask what it is, if nobody has since it was started."""
        if self._asked:
            return None
        self._asked = True
        future: Future[Any] = self.actor.identity.remote().future()
        return future

    def died(self, for_good: bool) -> None:
        """Note that the process has ended. What begins in its place is another one, maybe elsewhere."""
        self._asked = self.begun = self.hung = False
        self.dead = for_good

    def restart(self) -> None:
        """End it; what begins in its place has its name."""
        imported().kill(self.actor, no_restart=False)

    def close(self) -> None:
        """End it for good."""
        imported().kill(self.actor)


class Local(Feeder):
    """A feeder in a thread of this program."""

    def __init__(self, maker: Maker) -> None:
        super().__init__("this machine")
        self._maker = maker
        self._thread = ThreadPoolExecutor(1, "headrace-feeder")
        self.begun = True

    def make(self, state: dict[str, Any], count: int, whole: bool) -> Future[Any]:
        """Have a range made."""
        return self._thread.submit(self._maker.make, state, count, whole)

    def close(self) -> None:
        """Let go of the engine."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._maker.close()


def actors(count: int, cpus: int, pipeline: Pipeline, config: dict[str, Any]) -> list[Actor]:
    """Start actors, which Ray spreads over the nodes."""
    remote: Callable[..., Any] = imported().remote(
        num_cpus=cpus,
        max_restarts=-1,
        scheduling_strategy="SPREAD",
        runtime_env={"env_vars": {"GOMAXPROCS": str(cpus)}},
    )
    actor = remote(Maker)
    return [Actor(f"feeder {i}", actor.remote(pipeline, config)) for i in range(count)]

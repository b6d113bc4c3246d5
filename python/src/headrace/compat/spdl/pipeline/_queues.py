"""What the queues of the engine did."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._hooks import Telling

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...._loader.loader import Loader
    from ._hooks import StageInfo

_NAMES = {
    "source": re.compile(r"read(?: source(?:_\d+)?)?"),
    "step": re.compile(r"(?:flat_)?map(?:_\d+)?"),
    "sink": re.compile(r"deliver samples"),
}
_log = logging.getLogger("headrace.compat.spdl")
_COUNTED = ("puts", "gets", "put_wait_ns", "get_wait_ns", "empty_ns", "observed_ns")


@dataclass
class QueuePerfStats:
    """How a queue did, in seconds. The engine keeps no single waits, so percentiles are the average."""

    elapsed: float
    num_items: int
    ave_put_time: float
    ave_get_time: float
    p90_put_time: float
    p99_put_time: float
    p90_get_time: float
    p99_get_time: float
    occupancy_rate: float

    @property
    def qps(self) -> float:
        """Items per second."""
        return self.num_items / self.elapsed if self.elapsed > 0 else 0


class StatsQueue(Telling):
    """Tells of the engine's queue after a stage. Items do not pass this object: `put` and `get` would not be called."""

    read: Callable[[], dict[str, int]]  # what the queue has done so far

    def __init__(self, info: StageInfo, *, buffer_size: int = 1, interval: float = -1) -> None:
        self.info, self.interval = info, interval
        self._begun = self._told = time.monotonic()
        self._before = dict.fromkeys(_COUNTED, 0)

    def _since(self) -> QueuePerfStats:
        now, counted = time.monotonic(), self.read()
        stats = _stats(now - self._told, {name: counted[name] - self._before[name] for name in _COUNTED})
        self._told, self._before = now, counted
        return stats

    def _log_stats(self, stats: Any) -> None:
        _log.info("%s_queue: %s", self.info, stats)

    def _whole(self) -> QueuePerfStats:
        return _stats(time.monotonic() - self._begun, self.read())


def _stats(elapsed: float, counted: dict[str, int]) -> QueuePerfStats:
    put, get = (counted[f"{way}_wait_ns"] / max(counted[f"{way}s"], 1) / 1e9 for way in ("put", "get"))
    return QueuePerfStats(elapsed, counted["gets"], put, get, put, put, get, get, occupied(counted))


def occupied(queue: dict[str, int]) -> float:
    """The share of the time in which there was an item in a queue."""
    return max(0.0, 1 - queue["empty_ns"] / queue["observed_ns"]) if queue["observed_ns"] > 0 else 0.0


def after(loader: Loader, what: str, number: int) -> dict[str, int]:
    """What the queue after a source, a step of Python or the last stage has done, of which there may be several."""
    stats = loader.stats()
    names = [stage["name"] for stage in stats["stages"] if _NAMES[what].fullmatch(stage["name"])]
    if what == "source":  # which the engine lists from the last one on
        names.sort(key=lambda name: (len(name), name))
    if number >= len(names):
        return dict.fromkeys(_COUNTED, 0)
    out = next(stage["out"] for stage in stats["stages"] if stage["name"] == names[number])
    found: Any = next((one for one in stats["queues"] if one["from"] == names[number]), {})
    # Ends of epochs, and of what a step makes of an item, pass the engine's queues too.
    return {name: min(found.get(name, 0), out) if name in ("puts", "gets") else found.get(name, 0) for name in _COUNTED}

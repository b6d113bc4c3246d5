"""What feeders and their network did, for `loader.stats()`."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .crew import Feeder

_BUSY = 0.5  # of the time that feeders work when they limit
_CONTENT = 0.05  # of its time that a loop waits and has nothing to gain


class Meter:
    """Times what the trainer does with ranges.

    Attributes:
        began: when the first range was asked for; 0: none was.
        own: seconds of copying and normalizing.
        samples: that the loop was given.
    """

    def __init__(self) -> None:
        self.began = self.own = 0.0
        self.samples = 0

    def told(self, crew: Sequence[Feeder], stats: dict[str, Any], since: dict[str, Any]) -> dict[str, Any]:
        """The keys `feeders`, `trainer`, `verdict` and `text` of statistics, by those of the engine here, which only has the loop's.

        `since` are earlier ones to count from, or empty.
        """
        now = monotonic()
        before = {one["name"]: one for one in since.get("feeders", ())}
        feeders = [
            _feeder(one, now - max(self.began, one.since) if self.began and one.begun else 0.0, before.get(one.name, {})) for one in crew
        ]
        loop = stats.get("loop_ns", 0) / 1e9
        earlier = since.get("trainer", {})
        trainer = {
            "batches": stats.get("yielded", 0) - earlier.get("batches", 0),
            "samples": self.samples - earlier.get("samples", 0),
            "own_s": self.own - earlier.get("own_s", 0.0),
            "waited_s": stats.get("waited_ns", 0) / 1e9,
            "loop_s": loop,
        }
        verdict = _verdict(feeders, trainer)
        return {"feeders": feeders, "trainer": trainer, "verdict": verdict, "text": _text(verdict, feeders, trainer)}


def _feeder(one: Feeder, seconds: float, before: dict[str, Any]) -> dict[str, Any]:
    state = "dead" if one.dead else "hung" if one.hung else "at work" if one.begun else "starting"
    counts = {
        "ranges": one.ranges,
        "batches": one.batches,
        "bytes": one.bytes,
        "working_s": one.working,
        "network_s": one.travelling if one.node else 0.0,
        "there_s": seconds,
    }
    counts = {name: max(0, value - before.get(name, 0)) for name, value in counts.items()}  # an actor may have been started again
    busy = min(1.0, counts["working_s"] / counts["there_s"]) if counts["there_s"] else 0.0
    return {"name": one.name, "node": one.node, "state": state, **counts, "busy": busy}


def _verdict(feeders: list[dict[str, Any]], trainer: dict[str, float]) -> str:
    """The sentence that says what limits."""
    loop, waited = trainer["loop_s"], trainer["waited_s"]
    if not trainer["batches"] or loop <= 0:
        return "Your training loop has taken too few batches to say what limits."
    if waited < _CONTENT * loop:
        return f"Your training loop is the bottleneck: it waits for data only {waited / loop:.0%} of the time. More feeders would not help."
    if trainer["own_s"] > waited / 2:
        share = trainer["own_s"] / loop
        return f"This process is the bottleneck: for {share:.0%} of the time it copies and normalizes batches. More feeders would not help."
    ranges = max(1, sum(one["ranges"] for one in feeders if one["node"]))
    network, working = (sum(one[key] for one in feeders if one["node"]) / ranges for key in ("network_s", "working_s"))
    if network > working:
        return (
            f"The network is the bottleneck: a range takes {working:.2g} s to be made and {network:.2g} s to arrive."
            " Send less, such as smaller images, or use nodes that are nearer."
        )
    there = [one for one in feeders if one["ranges"]] or feeders
    busy = sum(one["busy"] for one in there) / len(there)
    if busy < _BUSY:
        return (
            f"No limit is clear: the feeders are at work {busy:.0%} of the time. Epochs of a few batches, or a memory= that has room for"
            " few, leave them without work."
        )
    return f"The feeders are the bottleneck: they are at work {busy:.0%} of the time. Give them more actors= or cpus=."


def _text(verdict: str, feeders: list[dict[str, Any]], trainer: dict[str, float]) -> str:
    """The table for people."""
    lines = [verdict, "", f"{'feeder':<14}{'node':<20}{'state':<10}{'ranges':>7}{'batches':>9}{'MiB':>9}{'works':>7}{'network':>9}"]
    for one in feeders:
        network = f"{one['network_s']:.2f} s" if one["node"] else "-"
        lines.append(
            f"{one['name']:<14}{one['node'][:19]:<20}{one['state']:<10}{one['ranges']:>7}{one['batches']:>9}"
            f"{one['bytes'] / (1 << 20):>9.1f}{one['busy']:>7.0%}{network:>9}"
        )
    loop = trainer["loop_s"]
    lines += ["", f"loop: {loop:.2f} s, of which {trainer['waited_s']:.2f} s waits; copies and normalizes for {trainer['own_s']:.2f} s"]
    return "\n".join(lines)

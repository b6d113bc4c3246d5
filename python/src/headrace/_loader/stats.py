"""The engine's statistics."""

from __future__ import annotations

from .._client.channel import Gone
from ..errors import ForkedLoader, NoSuchField, WrongValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .run import Run

_GLANCE = 0.5  # seconds that the engine has to answer where people only look


class Stats(dict[str, "Any"]):
    """What every stage and queue of a loader did so far: a plain dict, which prints as a table.

    `stats["stages"]` has a dict per stage: items in, out and lost; `shares`, the parts of their time that its workers were starved, busy,
    blocked and gated; percentiles of an operation's time. For a function of yours, workers are those that call it, and an operation is a
    call. A stage with nothing left to do counts as starved.

    `stats["queues"]` has a dict per queue (occupancy), `stats["memory"]` the bytes held. Your loop waited `stats["start_ns"]` for its first
    batch, and since then `stats["waited_ns"]` of `stats["loop_ns"]`; `stats["verdict"]` judges by these.

    With `stats(ranks="all")` there are two keys more. `stats["ranks"]` has a dict per rank: `loop_ns` and its parts `wait_ns`, `handed_ns`
    (a batch was ready, and was handed over), `main_ns` (steps with `where="main"`) and `step_ns` (all else); samples, lost, host, pid.
    `stats["skew"]` names the `late` ranks, which the others wait for, and the `slowest`.
    """

    @property
    def text(self) -> str:
        """The table for people."""
        return str(self.get("text", "no statistics: the engine ended before it gave any"))

    def __missing__(self, name: object) -> NoReturn:
        from .._report.hints import no_figure

        raise NoSuchField(no_figure(str(name), self))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


Stats.__module__ = "headrace"


def statistics(run: Run, since: Any) -> Stats:
    """Implements `Loader.stats`."""
    if run.refused is ForkedLoader or (since is not None and run.refused is not None):
        run.refuse()
    with run.lock:
        if since is not None:
            return _since(run, since)
        if run.session is not None and not run.inside:
            try:
                run.stats = run.session.statistics(run.clock.told()) or run.stats
            except Gone:
                pass  # the next batch will tell; until then the last statistics are the best there are
    return Stats(run.stats)


def _since(run: Run, since: Any) -> Stats:
    if not hasattr(since, "items") or "stages" not in since:
        raise WrongValue(f"headrace: stats(since={type(since).__name__}): must be what stats() returned before")
    earlier = {key: value for key, value in since.items() if key not in ("text", "ranks", "skew")}
    answer = run.ask("cannot ask for statistics", lambda session: session.statistics(run.clock.told(), earlier))
    assert answer is not None
    if "error" in answer:
        raise WrongValue(f"headrace: stats(since=…): these are not earlier statistics of this loader and its engine: {answer['error']}")
    return Stats(answer)


def gathering(stages: list[dict[str, Any]]) -> dict[str, Any]:
    """The stage that makes batches of samples; with a collate function, the one that gathers them for it."""
    last = stages[-1]
    gathers = f"group {last['name']}"
    return next((stage for stage in stages if stage["name"] == gathers), last)


def glance(run: Run) -> dict[str, Any]:
    """Statistics without waiting: current if no thread is in next() and the engine answers at once, else the last ones."""
    if run.refused is None and not run.inside and run.lock.acquire(blocking=False):
        try:
            if run.session is not None and not run.inside:
                run.stats = run.session.statistics(run.clock.told(), None, _GLANCE) or run.stats
        except Gone:
            pass  # the next batch will tell
        finally:
            run.lock.release()
    return run.stats

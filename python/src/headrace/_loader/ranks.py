"""Statistics of all ranks, gathered through `torch.distributed`: where the time of each went, and which of them the others wait for."""

from __future__ import annotations

import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..errors import ForkedLoader, RankFailed, WrongValue
from .stats import Stats, gathering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .run import Run

_WIDTH = 80  # of a line of text
_SHOWN = 16  # ranks in the table
_LATE_FROM, _LATE_TIMES = 0.10, 1.5  # as live/ranks.go has them


def of_all(run: Run, ranks: Any, count: Callable[[], Stats]) -> Stats:
    """Implements `Loader.stats(ranks="all")`; `count` returns this rank's own."""
    if not isinstance(ranks, str) or ranks != "all":
        raise WrongValue(f'headrace: stats(ranks={ranks!r}): must be "all", or None for this rank alone')
    if run.refused is ForkedLoader:
        run.refuse()
    distributed = _group(run)
    if distributed is None:
        stats = count()
        every = [_numbers(run, stats, 0)]
    else:
        stats, every = _gather(run, count, distributed)
    skew = skew_of(every)
    return Stats({**stats, "ranks": every, "skew": skew, "text": _with_table(stats, every, skew)})


def _group(run: Run) -> Any:
    """`torch.distributed`, if there are other ranks in it."""
    module = sys.modules.get("torch.distributed")
    if module is not None and module.is_available() and module.is_initialized():
        return module if module.get_world_size() > 1 else None
    rank, world_size = run.config["rank"], run.config["world_size"]
    if world_size > 1:
        raise WrongValue(
            f'headrace: stats(ranks="all"): this is rank {rank} of {world_size}, and torch.distributed, which the numbers go through, is'
            " not initialised: call it between init_process_group(…) and destroy_process_group(), or print(loader.stats()) on each rank"
        )
    return None


def _gather(run: Run, count: Callable[[], Stats], distributed: Any) -> tuple[Stats, list[dict[str, Any]]]:
    """Return this rank's statistics, and the numbers of all. A rank that has none comes, too: the others wait for it."""
    stats = Stats()
    said: dict[str, Any] | str
    failed: Exception | None = None
    try:
        stats = count()
        said = _numbers(run, stats, distributed.get_rank())
    except Exception as error:
        failed, said = error, str(error)
    every: list[Any] = [None] * distributed.get_world_size()
    try:
        distributed.all_gather_object(every, said)
    except Exception as error:
        from .agreement import words_of

        raise RankFailed(
            'headrace: stats(ranks="all"): another rank did not call it, or has ended, so no rank gets an answer'
            f" ({words_of(error)}): all processes of torch.distributed must call it, at the same place of their loops"
        ) from None
    if failed is not None:
        raise failed
    for rank, one in enumerate(every):
        if not isinstance(one, dict):
            raise RankFailed(f'headrace: stats(ranks="all"): rank {rank} has no statistics: {one}')
    return stats, every


def _numbers(run: Run, stats: Stats, rank: int) -> dict[str, Any]:
    """What the others learn of a rank. The four parts of its loop add up to `loop_ns`."""
    loop = int(stats.get("loop_ns", 0))
    waited = min(int(stats.get("waited_ns", 0)), loop)
    main = min(int(stats.get("main_ns", 0)), waited)
    handed = min(int(stats.get("handed_ns", 0)), waited - main)
    stages = stats.get("stages") or []
    fed = stats.get("trainer") or {}  # by feeders: the engine here has made none
    return {
        "rank": rank,
        "data_rank": run.config["rank"],
        "data_ranks": run.config["world_size"],
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "batches": fed.get("batches", stats.get("yielded", 0)),
        "samples": fed.get("samples", gathering(stages)["in"] if stages else 0),
        "lost": sum(stage["lost"] for stage in stages),
        "start_ns": stats.get("start_ns", 0),
        "loop_ns": loop,
        "wait_ns": waited - main - handed,
        "handed_ns": handed,
        "main_ns": main,
        "step_ns": loop - waited,
        "share": waited / loop if loop else 0.0,
        "limits": stats.get("limits", ""),
        "verdict": stats.get("verdict", ""),
    }


def skew_of(every: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which ranks hold up the others: live/ranks.go has the same rule, and live/testdata/ranks.json holds both to the same answers.

    Ranks that train in step all take as long for a step as the slowest. One whose loader is slow waits for its batch, and the others, whose
    batches are there, wait for that rank within their own steps. So the ranks with the longest waits are those that others wait for.
    """
    shares = [one["share"] for one in every]
    median = sorted(shares)[(len(shares) - 1) // 2]  # of two in the middle the lower one: of two ranks one may be late
    late = [rank for rank, share in enumerate(shares) if share >= _LATE_FROM and share >= _LATE_TIMES * median]
    slowest = max(range(len(shares)), key=shares.__getitem__)
    verdict = _verdict(every, slowest, median, late) if len(every) > 1 else ""
    return {"slowest": slowest, "share": shares[slowest], "median_share": median, "late": late, "verdict": verdict}


def _verdict(every: Sequence[dict[str, Any]], slowest: int, median: float, late: list[int]) -> str:
    share = every[slowest]["share"]
    most, typical = _percent(share), _percent(median)
    if not late and share < _LATE_FROM:
        return f"No rank holds up the others: none waits for data more than {most} of the time."
    if not late:
        return (
            f"No rank alone holds up the others: rank {slowest} waits for data longest, {most} of the time, the median rank {typical}."
            " The loader limits most ranks."
        )
    hosts = {every[rank]["host"] for rank in late}
    place = f" (on {hosts.pop()})" if len(hosts) == 1 and len({one["host"] for one in every}) > 1 else ""
    one = len(late) == 1
    named = f"Rank {late[0]}{place} is" if one else f"Ranks {_list(late)}{place} are"
    of_time = f"{most} of the time" if one else f"up to {most} of the time"
    them = "it" if one else "them"
    if 2 * every[slowest]["main_ns"] > share * every[slowest]["loop_ns"]:  # these do not overlap with its step
        return (
            f'{named} late: {"it spends" if one else "they spend"} {of_time} in steps with where="main", the median rank {typical}.'
            f" The others wait for {them}, unless {'its own step is' if one else 'their own steps are'} shorter."
        )
    return (
        f"{named} late: {'it waits' if one else 'they wait'} for data {of_time}, the median rank {typical}. In each step the others wait"
        f" for {them}, so a faster loader helps there, and nowhere else."
    )


def _list(ranks: list[int]) -> str:
    shown = [str(rank) for rank in ranks[:4]] + [f"{len(ranks) - 4} more"] * (len(ranks) > 4)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _with_table(stats: Stats, every: list[dict[str, Any]], skew: dict[str, Any]) -> str:
    """The text for people, with a table of ranks after its first sentences."""
    lines = stats.text.split("\n")
    if len(every) < 2:
        return stats.text
    verdict = " ".join(stats.get("verdict", "").split())
    end = next((n for n in range(1, len(lines) + 1) if " ".join(lines[:n]) == verdict), len(lines))
    return "\n".join([*lines[:end], *wrap(skew["verdict"], _WIDTH), "", *_table(every, skew["late"]), "", *lines[end:]])


def _table(every: list[dict[str, Any]], late: list[int]) -> list[str]:
    """A line for each rank, or for those that wait longest. Columns that say nothing are left out."""
    shown = sorted(sorted(every, key=lambda one: -one["share"])[:_SHOWN], key=lambda one: one["rank"])
    hosts = len({one["host"] for one in every}) > 1
    rows = [["rank", "host", "waits", "copy", "main", "step", "samples", "lost", "limits"]]
    for one in shown:
        parts = [_percent(one[part] / one["loop_ns"]) if one["loop_ns"] else "-" for part in ("wait_ns", "handed_ns", "main_ns", "step_ns")]
        mark = "▶ " if one["rank"] in late else ""
        rows.append([f"{mark}{one['rank']}", _cut(one["host"], 10), *parts, str(one["samples"]), str(one["lost"]), one["limits"] or "-"])
    used = [True, hosts, True, True, any(one["main_ns"] for one in every), True, True, any(one["lost"] for one in every), True]
    columns = [list(column) for column, use in zip(zip(*rows), used) if use]
    widths = [max(map(len, column)) for column in columns[:-1]]
    room = _WIDTH - sum(widths) - 2 * len(widths)
    left = {1} if hosts else set()  # of text, which begins at the left
    lines = []
    for *cells, limits in zip(*columns):
        padded = [cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, widths))]
        lines.append("  ".join([*padded, _cut(limits, room)]))
    if len(every) > len(shown):
        lines.append(f'{len(every) - len(shown)} more ranks wait no longer; stats["ranks"] has all')
    return lines


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _percent(share: float) -> str:
    """As the engine writes shares: a small one is not shown as nothing."""
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 < share < 1 else f"{100 * share:.0f} %"

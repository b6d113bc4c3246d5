"""A batch of a run again, and where its rows come from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .._recipe.arguments import integer
from .._report.tracebacks import briefly
from ..errors import HeadraceError, RecipeError, StateMismatch
from ..pipeline import Pipeline, load
from .frontier import whole

if TYPE_CHECKING:
    from ..pipeline import Path

_OPTIONS = ("order", "on_error", "max_errors", "steps_per_epoch", "uneven", "fuse")  # those that say what is in a batch


class Replayed(NamedTuple):
    """A batch that was made again.

    Attributes:
        batch (dict): its fields, as the loop got them.
        rows (list[dict]): of each sample its `row`, which several share where they are packed; its `source`, `index` and `key`; `output`,
            which of the samples that `flat_map` and `aggregate` made of it, `[3]` for the fourth, and empty where it is the source's own;
            `epoch` and `position`, where it is in this rank's share of the epoch; `draws`, of each random operation its `step` and
            what it drew, `values`; and where another sample came instead of one that failed, that one: `replaced`.
    """

    batch: dict[str, Any]
    rows: list[dict[str, Any]]


Replayed.__module__ = "headrace"


@briefly
def replay(pipeline: Pipeline | Path, state: dict[str, Any], batch: int = 0, **options: Any) -> Replayed:
    """Make a batch of a run again, bit for bit, and tell where each of its rows comes from.

        batch = hr.replay(pipeline, state, 7).batch

    Args:
        pipeline: what was run, or the file of its recipe.
        state: what `loader.state_dict()` gave before the batch. The batch is that of the rank whose state it is. After a change of world
            size, give what `state_dict()` says once the new loader has loaded the states.
        batch: which batch after the state: 0 is the one that came next. In completion order, and after
            a merge by arrival, batches may come in another composition.
        options: what `loader()` was given for `order`, `on_error`, `max_errors`, `steps_per_epoch`, `uneven` and `fuse`; other options
            do not change what is in a batch.

    Raises:
        StateMismatch: if the state is of another pipeline or source.
        RecipeError: if there is a mistake in the recipe or an option, or no such batch.
    """
    for name in options:
        if name not in _OPTIONS:
            raise RecipeError(f"headrace: replay({name}=…): takes {', '.join(_OPTIONS)}")
    batch = integer("batch", batch)
    if not isinstance(pipeline, Pipeline):
        pipeline = load(os.fspath(pipeline))
    state = whole(state)
    said = {name: value for name, value in {**pipeline._defaults, **options}.items() if name in _OPTIONS and value is not None}
    config = {"on_error": "raise", **said, "rank": state.get("rank", 0), "world_size": state.get("world_size", 1), "prefetch": 1}
    try:
        loader = pipeline._start(config | {"epochs": None}, state, batch)
    except RecipeError as error:
        if "state does not fit" in str(error):
            raise StateMismatch(str(error)) from None
        raise
    with loader:
        made = next(iter(loader))
        if loader._batches.rows is None:
            raise HeadraceError("headrace: the engine died while it made the batch again")
        return Replayed(made, loader._batches.rows)


replay.__module__ = "headrace"

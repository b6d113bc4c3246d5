"""Makes a batch of a run again, and tells where its rows come from."""

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
        batch (dict): its fields, as your loop got them.
        rows (list[dict]): of each sample its `row`, shared if samples are packed; its `source`, `index` and `key`; `output`: which of the
            samples that `flat_map` and `aggregate` made of it, `[3]` for the fourth, empty for the source's own; its `epoch` and `position`
            in this rank's share; `draws`: each random operation's `step` and drawn `values`; and `replaced`: the failed sample that it
            replaces, if any.
    """

    batch: dict[str, Any]
    rows: list[dict[str, Any]]


Replayed.__module__ = "headrace"


@briefly
def replay(pipeline: Pipeline | Path, state: dict[str, Any], batch: int = 0, **options: Any) -> Replayed:
    """Make a batch of a run again, bit for bit, with the origin of each row.

        batch = hr.replay(pipeline, state, 7).batch

    Args:
        pipeline: what was run, or the file of its recipe.
        state: what `loader.state_dict()` returned before the batch, on the batch's rank. After a change of world size, use the new loader's
            `state_dict()` once it has loaded the states.
        batch: which batch after the state, from 0. In completion order, or after a merge by arrival, its composition may differ.
        options: the `order`, `on_error`, `max_errors`, `steps_per_epoch`, `uneven` and `fuse` of `loader()`; others do not change a batch.

    Raises:
        StateMismatch: if the state is from another pipeline or source.
        RecipeError: if the recipe or an option is wrong, or there is no such batch.
    """
    for name in options:
        if name not in _OPTIONS:
            raise RecipeError(f"headrace: replay({name}=…): the options are {', '.join(_OPTIONS)}")
    batch = integer("batch", batch)
    if not isinstance(pipeline, Pipeline):
        pipeline = load(os.fspath(pipeline))
    pipeline = pipeline._of(pipeline._steps, pipeline._format.with_tuples(()))
    state = whole(state)
    said = {name: value for name, value in {**pipeline._defaults, **options}.items() if name in _OPTIONS and value is not None}
    config = {"on_error": "raise", **said, "rank": state.get("rank", 0), "world_size": state.get("world_size", 1), "prefetch": 1}
    config["agree"] = not config.get("steps_per_epoch") and not config.get("uneven")  # with nobody, since one batch is made
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

"""A fit of Lightning that goes on from a checkpoint counts batches and epochs of its own, which may differ from a loader's state.

Lightning (2.6) does three things that lose or repeat batches without a word:

- It loads no loader's state where the last epoch was finished: samplers get the epoch, and nothing else does.
- It stops at the last batch of an epoch, be it the loader's or one that `limit_train_batches` cuts short, and later goes on as if there
  were more of that epoch: it asks for one batch, and then for the next epoch. There is none, and so it ends the epoch without it.
- With `limit_train_batches` it saves a state in the middle of the loader's epoch, of which it wants no more.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .loader import Loader

_FIT_LOOPS = ("lightning.pytorch.loops.fit_loop", "pytorch_lightning.loops.fit_loop")


def align(loader: Loader) -> None:
    """Where a fit of Lightning asks for its first iterator now, have the loader begin where that fit goes on."""
    fit = _asking()
    if fit is None:
        return
    run = loader._run
    frontier = run.frontier
    if not frontier.epoch and not frontier.place:  # no state was loaded
        if fit.epoch_progress.current.processed:
            loader.set_epoch(fit.epoch_progress.current.processed)
        return
    limits = fit._combined_loader.limits
    seen = fit.epoch_loop.batch_progress.current
    if not fit.restarting or len(limits) != 1 or seen.ready < limits[0]:
        return
    if run.identity.place(frontier)["batches"]:
        loader.set_epoch(frontier.epoch + 1)
    run.spent = seen.completed >= limits[0]


def _asking() -> Any:
    """The fit loop that sets up its data, in a call of which this is called; None: there is none."""
    if not any(name in sys.modules for name in _FIT_LOOPS):
        return None
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "setup_data" and frame.f_globals.get("__name__") in _FIT_LOOPS:
            return frame.f_locals["self"]
        frame = frame.f_back  # type: ignore[assignment]
    return None

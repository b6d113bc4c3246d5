"""Aligns a loader with a resumed Lightning fit, which counts batches and epochs of its own.

Lightning (2.6) silently loses or repeats batches in three ways:

- If the last epoch was finished it loads no loader's state: only samplers get the epoch.
- It stops at the last batch of an epoch, the loader's or the one that `limit_train_batches` sets, and resumes as if more followed: it asks
  for one batch, finds none, and ends the epoch without it.
- With `limit_train_batches` it saves a state in the middle of the loader's epoch, but wants no more of that epoch.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .loader import Loader

_FIT_LOOPS = ("lightning.pytorch.loops.fit_loop", "pytorch_lightning.loops.fit_loop")


def align(loader: Loader) -> None:
    """If a Lightning fit asks for its first iterator now, move the loader to where that fit resumes."""
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
    """The fit loop, further up this call stack, that sets up its data; None without one."""
    if not any(name in sys.modules for name in _FIT_LOOPS):
        return None
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "setup_data" and frame.f_globals.get("__name__") in _FIT_LOOPS:
            return frame.f_locals["self"]
        frame = frame.f_back  # type: ignore[assignment]
    return None

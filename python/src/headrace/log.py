"""Hooks that write a loader's statistics where a training's curves are: TensorBoard, Weights & Biases, MLflow.

    loader = pipeline.loader(hooks=[hr.log.tensorboard(writer)], every=30)

Each writes the same numbers, every `every=` seconds and at the end; shares and rates are of the time since the last ones:

- `headrace/batches_per_second`, `headrace/wait_share`: what your loop got, and the part of its time in which it waited. Time in steps with
  `where="main"` is not counted as a wait: it is `headrace/main_share`, if there are any
- `headrace/stage/NAME/busy`, `starved`, `blocked`, `gated`: the parts of their time that a stage's workers spent so, and `queued` where
  samples waited for a process of functions; `map+batch` is `map_batch`
- `headrace/stage/NAME/lost`: samples lost so far
- `headrace/memory_bytes`, `headrace/cores`: of the budget in use, and that the loader's processes keep busy

The step is the number of batches that your loop has got. A writer that raises becomes a warning.
"""

from __future__ import annotations

import re

from .errors import WrongValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._loader.stats import Stats

__all__ = ["mlflow", "tensorboard", "wandb"]

_CLOCKS = ("starved", "busy", "blocked", "gated", "queued")


def tensorboard(writer: Any) -> Any:
    """Write to a `SummaryWriter`, of `torch.utils.tensorboard` or tensorboardX.

    Args:
        writer: anything with `add_scalar(tag, value, step)`.

    Returns:
        A hook for `loader(hooks=[…])`. It does not close the writer.

    Raises:
        WrongValue: if the writer has no `add_scalar`.
    """
    add = _method(writer, "add_scalar", "tensorboard", "a SummaryWriter")

    def write(figures: dict[str, float], step: int) -> None:
        for name, value in figures.items():
            add(name, value, step)

    return _Curves(write)


def wandb(run: Any) -> Any:
    """Write to a run of Weights & Biases.

    The numbers go into the row of your next `run.log(…)`, and have `headrace/batches` beside them: a row of their own would move the
    steps of your program.

    Args:
        run: what `wandb.init()` returned.

    Returns:
        A hook for `loader(hooks=[…])`. It does not finish the run.

    Raises:
        WrongValue: if the run has no `log`.
    """
    log = _method(run, "log", "wandb", "what wandb.init() returns")

    def write(figures: dict[str, float], step: int) -> None:
        log({**figures, "headrace/batches": step}, commit=False)

    return _Curves(write)


def mlflow(run_id: str | None = None) -> Any:
    """Write to a run of MLflow.

    Args:
        run_id: which one; None, the default: the one that is active now, in this thread. MLflow knows none in the thread of a hook.

    Returns:
        A hook for `loader(hooks=[…])`. It does not end the run.

    Raises:
        WrongValue: if no run is active.
    """
    import importlib

    library = importlib.import_module("mlflow")

    if run_id is None:
        run = library.active_run()
        if run is None:
            raise WrongValue("headrace: log.mlflow() finds no active run: call mlflow.start_run() before, or give run_id=")
        run_id = run.info.run_id

    def write(figures: dict[str, float], step: int) -> None:
        library.log_metrics(figures, step=step, run_id=run_id)

    return _Curves(write)


class _Curves:
    """Writes what has happened since the last time."""

    def __init__(self, write: Callable[[dict[str, float], int], None]) -> None:
        self._write = write
        self._last: dict[str, Any] | None = None

    def stats(self, stats: Stats) -> None:
        last, self._last = self._last, dict(stats)
        figures = _figures(stats, last or {})
        if figures:
            self._write(figures, int(stats.get("yielded", 0)))


def _figures(now: dict[str, Any], last: dict[str, Any]) -> dict[str, float]:
    """The numbers of an interval; none where there was none."""
    seconds = _since(now, last, "elapsed_ns") / 1e9
    if seconds <= 0:
        return {}
    figures = {"headrace/batches_per_second": _since(now, last, "yielded") / seconds}
    loop = _since(now, last, "loop_ns")
    if loop > 0:
        main = now.get("main_ns", 0) - last.get("main_ns", 0)
        figures["headrace/wait_share"] = (_since(now, last, "waited_ns") - main) / loop
        if main > 0:
            figures["headrace/main_share"] = main / loop

    earlier = {stage["name"]: stage for stage in last.get("stages", ())}
    for stage in now["stages"]:
        clocks = [clock for clock in _CLOCKS if f"{clock}_ns" in stage]
        spent = {clock: _since(stage, earlier.get(stage["name"], {}), f"{clock}_ns") for clock in clocks}
        all = sum(spent.values())
        name = "headrace/stage/" + _plain(stage["name"])
        for clock, time in spent.items():
            if all > 0:
                figures[f"{name}/{clock}"] = time / all
        figures[f"{name}/lost"] = stage["lost"]

    figures["headrace/memory_bytes"] = now["memory"]["used"]
    cpu = _cpu(now) - _cpu(last)
    if cpu >= 0:  # else a worker has ended
        figures["headrace/cores"] = cpu / 1e9 / seconds
    return figures


def _cpu(stats: dict[str, Any]) -> float:
    processes = stats.get("resources", {}).get("processes", ())
    return float(sum(one["user_ns"] + one["system_ns"] + one["ended_ns"] for one in processes if one["name"] != "trainer"))


def _since(now: dict[str, Any], last: dict[str, Any], name: str) -> float:
    return float(now[name] - last.get(name, 0))


def _plain(name: str) -> str:
    """A name that is the same everywhere: TensorBoard and MLflow take letters, digits and few signs."""
    return re.sub(r"[^\w\-.]", "_", name, flags=re.ASCII)


def _method(of: Any, name: str, function: str, wanted: str) -> Any:
    method = getattr(of, name, None)
    if not callable(method):
        raise WrongValue(f"headrace: log.{function}() got a {type(of).__name__}, which has no {name}(): must be {wanted}")
    return method

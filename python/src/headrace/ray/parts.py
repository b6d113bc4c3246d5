"""A recipe run in parts by the tasks of a cluster."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import HeadraceError, RecipeError
from .cluster import connect, imported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..pipeline import Pipeline

_TRIES = 3  # of a task whose node was lost, besides the first


class Made(NamedTuple):
    """A part that is whole.

    Attributes:
        part (int): its number, from 0.
        samples (int): that were written, by this run or an earlier one.
        node (str): the machine that made it.
        seconds (float): that its task took.
    """

    part: int
    samples: int
    node: str
    seconds: float


Made.__module__ = "headrace.ray"


class _Failed(NamedTuple):
    part: int
    code: int
    words: str


def convert(
    pipeline: Pipeline,
    out: str,
    parts: int,
    *,
    cpus: int = 1,
    options: Sequence[str] = (),
    address: str | None = None,
    told: Callable[[Made], None] | None = None,
) -> list[Made]:
    """Write a pipeline's samples in parts, each by a task of a Ray cluster that runs `headrace run --part`.

        made = headrace.ray.convert(pipeline, "parquet:/shared/train-%05d.parquet", parts=64, cpus=8)

    Parts that are there and whole are not made again, so the same call completes what was cut short. A task whose node was lost
    is given to another one. If parts fail for another reason, the others go on, and then all failures are raised together.

    Args:
        pipeline: what is written; it has no function that cannot be imported by name.
        out: the target, as of `headrace run --out`, which all nodes reach under the same name: a shared folder, or a store.
        parts: how many. More than there are tasks at a time even out machines of different speed.
        cpus: cores of each task, of which Ray gives a node as many tasks as it has cores for.
        options: more of `headrace run`, such as `["--shard-size", "500MB", "--on-error", "skip"]`.
        address: of the cluster, as `connect` has it.
        told: called with each part that is whole, as they come.

    Returns:
        All parts, in their order.

    Raises:
        NotInstalled: if Ray is not installed.
        HeadraceError: if there is no cluster, or parts have failed.
    """
    if parts < 1 or cpus < 1:
        raise RecipeError(f"headrace: convert(parts={parts}, cpus={cpus}): both must be at least 1")
    connect(address)
    ray = imported()
    recipe = pipeline.recipe()
    task = ray.remote(num_cpus=cpus, max_retries=_TRIES, scheduling_strategy="SPREAD")(_make)
    waiting = [task.remote(recipe, out, part, parts, cpus, tuple(options)) for part in range(parts)]
    made: list[Made] = []
    failed: list[_Failed] = []
    while waiting:
        ready, waiting = ray.wait(waiting)
        for one in ready:
            try:
                came = ray.get(one)
            except ray.exceptions.RayError as error:
                failed.append(_Failed(-1, 1, f"{type(error).__name__}: {error}"))
                continue
            if isinstance(came, _Failed):
                failed.append(came)
                continue
            made.append(came)
            if told is not None:
                told(came)
    if failed:
        raise HeadraceError(_words(failed, parts))
    return sorted(made)


def _words(failed: list[_Failed], parts: int) -> str:
    words = f"headrace: {len(failed)} of {parts} parts failed; the same call makes what is missing"
    for part, code, said in sorted(failed)[:5]:
        words += f"\n  part {part}/{parts} ended with code {code}: {said}" if part >= 0 else f"\n  {said}"
    return words


def _make(recipe: str, out: str, part: int, parts: int, cpus: int, options: tuple[str, ...]) -> Made | _Failed:
    """Make a part, on whichever machine this is."""
    import socket
    import sys
    from time import monotonic

    from .._client.program import find_program

    began = monotonic()
    command = [find_program(), "run", "-", "--json", "--out", out, "--part", f"{part}/{parts}", *options]
    # Ray counts cores, and lets tasks use all: the engine takes as many as the task has. An environment of the node's own wins.
    environment = {"GOMAXPROCS": str(cpus), "HEADRACE_PYTHON": sys.executable, **os.environ}
    done = subprocess.run(command, input=recipe.encode(), capture_output=True, env=environment, check=False)
    last: dict[str, Any] = {}
    for line in done.stdout.splitlines()[-1:]:
        last = json.loads(line)
    if done.returncode not in (0, 3):  # 3: samples were lost, as the options allow
        return _Failed(part, done.returncode, done.stderr.decode(errors="replace").strip()[-2000:])
    return Made(part, int(last["out"]["samples"]), socket.gethostname(), monotonic() - began)

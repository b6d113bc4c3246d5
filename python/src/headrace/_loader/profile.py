"""Where the time goes: each stage alone, and your step on batches that cost nothing."""

from __future__ import annotations

import copy
import html
import json
import os
import subprocess
import sys
from itertools import cycle, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .._client.program import find_program
from .._recipe.arguments import integer, is_several
from ..errors import EngineFailed, HeadraceError, RecipeError, WrongValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Trial(NamedTuple):
    """What a stage did alone, with one number of workers.

    Attributes:
        workers (int): how many.
        items (int): the items that it processed.
        seconds (float): how long that took.
        rate (float): its input items per second.
        samples_per_second (float): the samples of the sources per second that this is enough for.
        mean, p50, p90, p99 (float): seconds per operation; 0 if none was timed by itself.
    """

    workers: int
    items: int
    seconds: float
    rate: float
    samples_per_second: float
    mean: float
    p50: float
    p90: float
    p99: float


Trial.__module__ = "headrace"


class StageProfile(NamedTuple):
    """What a stage can do alone.

    Attributes:
        name (str): the stage, as in `Loader.stats`.
        kind (str): source, map, fill, …
        trials (tuple[Trial, ...]): one per number of workers.
    """

    name: str
    kind: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the highest rate."""
        return max(self.trials, key=lambda trial: trial.samples_per_second)


StageProfile.__module__ = "headrace"


class Profile:
    """The result of `Loader.profile`, which prints as a table.

    Attributes:
        items (int): samples processed.
        stages (tuple[StageProfile, ...]): from the source on.
        verdict (str): the bottleneck, in a sentence or two.
        text (str): that, and the table.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.items: int = told["items"]
        self.stages = tuple(StageProfile(s["name"], s["kind"], tuple(map(_trial, s["trials"]))) for s in told["stages"])
        self.verdict: str = told["verdict"]
        self.text: str = told["text"]

    @property
    def slowest(self) -> StageProfile:
        """The stage whose best trial is the slowest, which bounds the loader's speed."""
        working = [stage for stage in self.stages if stage.best.samples_per_second > 0]
        return min(working or self.stages, key=lambda stage: stage.best.samples_per_second)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


Profile.__module__ = "headrace"


def _trial(t: dict[str, Any]) -> Trial:
    times = (t[name] / 1e9 for name in ("mean_ns", "p50_ns", "p90_ns", "p99_ns"))
    return Trial(t["workers"], t["in"], t["took_ns"] / 1e9, t["rate"], t["source"], *times)


def profile(recipe: str, python: dict[str, Any] | None, items: int | None, workers: Sequence[int] | None, fuse: bool | None) -> Profile:
    """Run `headrace profile` on a recipe whose functions `python` has."""
    arguments = [find_program(), "profile", "-", "--json"]
    if items is not None:
        arguments += ["--items", str(integer("items", items))]
    if workers is not None:
        workers = workers if is_several(workers) else (workers,)  # type: ignore[assignment]
        if len(workers) == 0:
            raise RecipeError(f"headrace: workers is {workers!r}: must be numbers of workers, such as (1, 2, 4)")
        arguments += ["--workers", ",".join(str(integer("workers", n)) for n in workers)]
    if fuse is not None:
        arguments += [f"--fuse={str(bool(fuse)).lower()}"]
    functions: tuple[int, ...] = ()
    if python is not None:
        functions = (os.memfd_create("headrace-functions"),)
        arguments += ["--python", f"/dev/fd/{functions[0]}"]
    seen = None if sys.stderr is not None and sys.stderr.isatty() else subprocess.PIPE  # the bar is for people
    try:
        for fd in functions:
            with open(fd, "w", closefd=False) as file:
                json.dump(python, file)
        done = subprocess.run(arguments, input=os.fsencode(recipe), stdout=subprocess.PIPE, stderr=seen, check=False, pass_fds=functions)
    except OSError as error:
        raise EngineFailed(f"headrace: cannot start {arguments[0]}: {error.strerror}") from error
    finally:
        for fd in functions:
            os.close(fd)
    if done.returncode == 0:
        return Profile(json.loads(done.stdout))
    words = (done.stderr or b"").decode(errors="replace")
    lines = [line for line in words.splitlines() if not line.startswith("measuring ")]
    begin = next((i for i, line in enumerate(lines) if line.startswith("headrace: ")), 0)  # above it, functions have printed
    reason = "\n".join(lines[begin:]).removeprefix("headrace: ")
    kinds: dict[int, type[HeadraceError]] = {1: HeadraceError, 2: RecipeError}
    raise kinds.get(done.returncode, EngineFailed)(f"headrace: the profile failed: {reason or f'exit code {done.returncode}'}")


class Headspace(NamedTuple):
    """The result of `headspace`, which prints as a sentence.

    Attributes:
        batches (int): steps timed, each way.
        seconds (float): what they took with the loader.
        waited (float): of it, waiting for the loader.
        cached_seconds (float): what they took on cached batches.
    """

    batches: int
    seconds: float
    waited: float
    cached_seconds: float

    @property
    def rate(self) -> float:
        """Batches per second with the loader."""
        return self.batches / max(self.seconds, 1e-9)

    @property
    def cached_rate(self) -> float:
        """Batches per second if they cost nothing, which no loader exceeds."""
        return self.batches / max(self.cached_seconds, 1e-9)

    @property
    def ratio(self) -> float:
        """The speedup from a loader that costs nothing."""
        return self.seconds / max(self.cached_seconds, 1e-9)

    def __str__(self) -> str:
        share = 100 * self.waited / max(self.seconds, 1e-9)
        text = (
            f"{self.rate:.4g} batches/s with the loader, waiting for it {share:.0f} % of the time;"
            f" {self.cached_rate:.4g} batches/s if batches cost nothing: "
        )
        if self.ratio < 1.05:
            return text + "a faster loader would gain nothing"
        return text + f"a faster loader could make the program {self.ratio:.2f} times as fast"

    def __repr__(self) -> str:
        return f"<headrace.Headspace: {self}>"


Headspace.__module__ = "headrace"


def headspace(loader: Any, step: Callable[[Any], object], batches: int = 100, *, cached: int = 4) -> Headspace:
    """Measure how much faster your program would be if its batches cost nothing.

        print(hr.headspace(loader, train_step))

    It calls `step` with a few untimed batches, which it keeps, then with `batches` of them from the loader, then with the kept ones over
    and over while the loader does nothing. Epochs follow one another as needed. If PyTorch uses a GPU, its work is waited for.

    Any loader will do: PyTorch's `DataLoader`, a `tf.data.Dataset`, a generator. A Headrace loader is then back where it was, with its
    current loops ended; others stay where they are.

    Args:
        loader: what your program loops over.
        step: what it does with a batch, such as a training step. It must not change the batch.
        batches: steps timed, each way.
        cached: batches kept, as copies.

    Raises:
        ValueError: if there are too few batches to measure.
    """
    if batches < 1 or cached < 1:
        raise WrongValue(f"headrace: headspace needs numbers of at least 1, not batches={batches} and cached={cached}")
    if not hasattr(loader, "_run"):
        return _measure(_passes(loader), step, batches, cached)
    place = loader.state_dict()
    errors, lost, replaced = loader.errors, set(loader._run.lost), set(loader._run.replaced)
    counts = len(errors), errors.total, errors.replaced
    try:
        return _measure(_passes(loader), step, batches, cached)
    finally:
        loader.load_state_dict(place)
        loader._run.lost, loader._run.replaced = lost, replaced  # what knows of before is not told of again
        del errors._kept[counts[0] :]
        errors.total, errors.replaced = counts[1:]


headspace.__module__ = "headrace"


def _measure(stream: Iterator[Any], step: Callable[[Any], object], batches: int, cached: int) -> Headspace:
    kept = [copy.deepcopy(batch) for batch in islice(stream, cached)]
    for batch in kept:
        step(batch)
    waited = 0.0
    settle()
    began = perf_counter()
    for _ in range(batches):
        asked = perf_counter()
        batch = next(stream)
        waited += perf_counter() - asked
        step(batch)
    settle()
    seconds = perf_counter() - began
    del batch
    began = perf_counter()
    for batch in islice(cycle(kept), batches):
        step(batch)
    settle()
    return Headspace(batches, seconds, waited, perf_counter() - began)


def _passes(loader: Any) -> Iterator[Any]:
    """Batches of any loader, pass after pass; a Headrace loader restarts with its first epoch after the last."""
    given = 0
    while True:
        before = given
        run: Any = getattr(loader, "_run", None)
        epochs = None if run is None else run.config["epochs"]
        if epochs is not None and run.frontier.epoch + run.frontier.inside >= epochs:
            loader.set_epoch(0)
        for batch in loader:
            given += 1
            yield batch
            del batch
        if given == before:
            if given:
                raise WrongValue(f"headrace: headspace: the loader has ended after {given} batches, and cannot restart: ask for fewer")
            raise WrongValue("headrace: there is nothing to measure: the loader has no batches")


def settle() -> None:
    """Wait until a GPU has finished its work."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()

"""The loader: epochs of batches, their position, and recovery from failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar, cast
from weakref import ref

from .._batch import format as formats
from .._recipe.arguments import integer
from .._report.tracebacks import all_briefly, briefly
from ..errors import EpochsExhausted, LoaderClosed, NoSuchName, RecipeError, WrongType
from .frontier import Frontier
from .run import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from .._client.session import Session
    from .._recipe.mesh import Part
    from ..pipeline import Pipeline
    from .awaited import AsyncLoop
    from .background import Background
    from .batch_steps import MainSteps
    from .batches import Batches
    from .context_parallel import ContextParallel
    from .interval import Interval
    from .loop import Loop
    from .preview import Preview
    from .profile import Profile
    from .stats import Stats
    from .trace import Trace
    from .typed import TypedLoader

_MOST_WORKERS = 256
T = TypeVar("T")


class Field(NamedTuple):
    """One field of a batch. The shape follows the number of rows, and has None where it differs between batches. Lists of text have one,
    too: how long they are.

    With `batch(collate=…)` it is the whole field's shape.

    `logical` is what values stand for in the files that `hr.read` reads, as pyarrow writes it: `"timestamp[us, tz=UTC]"`,
    `"decimal128(10, 2)"`, `"dictionary"`. Of codes of a dictionary, `names` are what they stand for: `names[code]`.
    """

    kind: str
    dtype: str | None
    shape: tuple[int | None, ...] | None
    logical: str | None = None
    names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        shown = {name: value for name, value in self._asdict().items() if value is not None or name not in ("logical", "names")}
        return f"Field({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


Field.__module__ = "headrace"


@all_briefly
class Loader:
    """Batches, epoch by epoch. `Pipeline.loader` makes it.

    Each `for` loop is one epoch, or `async for` with asyncio; after a `break` the next loop starts the next epoch, unless you call
    `resume`. Use it as a context manager, or call `close()`. Several threads or tasks may share a loader, and each batch goes to one of
    them. A forked child must not use it.

    Attributes:
        errors (Errors): the samples that were lost.
    """

    def __init__(
        self,
        session: Session,
        pipeline: Pipeline,
        main: list[dict[str, Any]],
        hooks: tuple[Any, ...] = (),
        every: float | None = None,
        part: Part | None = None,
        peers: list[int] | None = None,
    ) -> None:
        """`main` are the steps of the program's own loop; `part` is what the loop gets of each row; `peers` as `Run` has them."""
        self._pipeline = pipeline
        self._of_group = False  # rank and world size are those of torch.distributed, and nobody else said them
        self._run = Run(session, peers)
        self._taken_by: Batches | None = None
        try:
            self._main = _main_steps(main, pipeline._seed, self._run.config["rank"], hooks) if main else None
            self._part = _context_parallel(part, pipeline, self._run, self._main) if part is not None else None
            self._interval = _interval(self._run, hooks, every) if hooks or every is not None else None
            self._background = _background(self._run, hooks) if hooks else None
            if hooks:
                from .._recipe.hooks import method_of

                self._run.stalled = [(hook, method) for hook in hooks if (method := method_of(hook, "stalled")) is not None]
            if pipeline._format != formats.NUMPY:
                self._batches.set_format(pipeline._format)  # refuses what the framework cannot hold, and fields that are not there
        except BaseException:
            session.drop()
            if self._run.here is not None:
                self._run.here.close()
            raise
        self.errors = self._run.errors
        self._loop: Loop | None = None  # of `get`, where no other loop was under way
        self._newest: Callable[[], Loop | None] = lambda: None  # the last loop that was begun, while anybody has it

    @property
    def _batches(self) -> Batches:
        """What takes batches. The engine makes the first one while this is imported."""
        if self._taken_by is None:
            from .batches import Batches

            with self._run.lock:
                self._taken_by = self._taken_by or Batches(self._run, self._pipeline._format, self._part or self._main)
        return self._taken_by

    # Epochs.

    @briefly
    def __iter__(self) -> Loop:
        """Start the next epoch, or the same one if no batch was taken from it.

        In a resumed Lightning fit, it is the epoch that the fit continues with.
        """
        from .lightning import align
        from .loop import Loop

        run = self._run
        run.check()
        with run.lock:
            align(self)
            frontier = run.frontier
            if run.spent:
                pass  # nothing is taken of it
            elif frontier.inside:  # the loop before was left in the middle
                run.go_to(Frontier(frontier.epoch + 1))
            elif run.adrift or run.failure is not None or run.session is None or run.stale or run.is_behind():
                run.go_to(frontier)
            elif run.config.get("steps_per_epoch") is not None:
                run.clock.restart()  # an epoch that was cut off has the engine begin again
            epochs = run.config["epochs"]
            if epochs is not None and run.frontier.epoch >= epochs and not run.spent:
                raise EpochsExhausted(
                    f"headrace: all {epochs} epochs were run; give the loader more epochs=, or epochs=None for no end,"
                    " or go back with set_epoch(0)"
                )
            run.stale = False
            run.number += 1
            run.begins(run.frontier.epoch)
            loop = Loop(self._batches, run.number, run.frontier.epoch)
            loop.done, run.spent = run.spent, False
            self._newest = ref(loop)
            return loop

    def get(self, timeout: float | None = None) -> Any:
        """Return the next batch, as `next()` does, within a time limit.

            try:
                batch = loader.get(timeout=5)
            except TimeoutError:
                ...  # do something else: the next call gets the batch

        It takes from the current loop. Without one, it continues an epoch left by `break`, or starts the next. The end of an epoch raises
        StopIteration once.

        Args:
            timeout: seconds to wait for a batch; 0 takes one that is ready; None, the default: no limit. It does not interrupt a step with
                `where="main"`, or an engine's restart.

        Raises:
            NotReady: a TimeoutError, if no batch comes in time. Nothing is lost.
            StopIteration: if the epoch has ended. The next call starts another.
        """
        from .deadline import Deadline

        run = self._run
        deadline = None if timeout is None else Deadline(timeout, run.lock)
        run.check()
        with run.lock if deadline is None else deadline:
            loop = self._current()
        return loop.__next__(deadline)

    def _current(self) -> Loop:
        """The loop that `get` takes from."""
        loop = self._newest()
        if loop is None or loop.done or loop.number != self._run.number:
            loop = iter(self.resume())
            self._loop = loop
        return loop

    def __aiter__(self) -> AsyncLoop:
        """Start the next epoch, as `for` does, in a program with an event loop.

            async for batch in loader:
                await answer(batch)

        While no batch is ready, other tasks run. A cancelled task loses none: the next call gets it. Steps with `where="main"` run in the
        event loop's thread.
        """
        from .awaited import AsyncLoop

        return AsyncLoop(self)

    async def aget(self, timeout: float | None = None) -> Any:
        """Return the next batch, as `get` does, while other tasks of the event loop run.

            batch = await loader.aget(timeout=5)

        It takes from the current loop, be it `for` or `async for`. If the task is cancelled, the next call gets the batch.

        Args:
            timeout: seconds to wait for a batch, as for `get`.

        Raises:
            NotReady: a TimeoutError, if no batch comes in time. Nothing is lost.
            StopAsyncIteration: if the epoch has ended. The next call starts another.
        """
        from .awaited import take

        return await take(self._run, self._current, timeout)

    def resume(self) -> Loader:
        """Make the next loop continue an epoch that you left by `break`, instead of starting the next one.

            for batch in loader:
                if enough(batch):
                    break
            for batch in loader.resume():  # the very next batch
                ...

        If you left none, it changes nothing.

        Returns:
            This loader.
        """
        run = self._run
        run.check()
        with run.lock:
            frontier = run.frontier
            if frontier.inside:
                run.frontier = Frontier(frontier.epoch, frontier.place)
        return self

    def __getitem__(self, index: object) -> NoReturn:
        raise WrongType(
            "a loader gives batches in order, not by index: write for batch in loader:, or loader.preview() to look at some."
            " It replaces torch.utils.data.DataLoader; don't wrap it in one"
        )

    def __len__(self) -> int:
        """The number of batches in this rank's epoch."""
        run = self._run
        if not run.opened["exact"]:
            why = "the number of batches is not known in advance"
            if run.opened.get("agree"):
                raise WrongType(f"{why}: an epoch ends with the rank that has the fewest; loader.max_batches is an upper bound")
            if self.max_batches is None:
                raise WrongType(f"{why}: the number of samples of an iterable, or made of one sample, is unknown")
            raise WrongType(
                f"{why}: bad samples may be skipped, samples grouped by length or shape, or batches not wait to be full (max_wait);"
                " loader.max_batches is an upper bound"
            )
        return int(run.opened["batches_per_epoch"])

    @property
    def max_batches(self) -> int | None:
        """The number of batches in an epoch if no sample is lost, or its bound if samples are grouped by length or size.

        None without a bound: for a source that is iterated, and after `flat_map` and `aggregate`.
        """
        batches = int(self._run.opened["batches_per_epoch"])
        return None if batches < 0 else batches

    @property
    def accumulate(self) -> int:
        """How many batches of this rank, one after the other, are its part of a global batch: as many as an optimizer's step takes.

        It is 1, but where each lane makes batches of its own: `bucket_batch` after `.lanes(n)`.
        """
        return int(self._run.opened["accumulate"])

    def set_epoch(self, epoch: int) -> None:
        """Make the next loop run this epoch, from its beginning; batches prefetched of another are dropped.

            loader.set_epoch(3)

        The epoch that is next anyway stays where it is, even in the middle after restoring a state. If functions or a source of yours are
        in the pipeline, its samples are read again from here on: what was read ahead may be older than what you changed.
        """
        run = self._run
        run.check()
        epoch = integer("set_epoch: the epoch", epoch)
        if epoch < 0:
            raise RecipeError(f"headrace: set_epoch({epoch}): epochs count from 0")
        with run.lock:
            if epoch != run.frontier.epoch + run.frontier.inside:
                run.lost, run.replaced = set(), set()
                run.go_to(Frontier(epoch))
            elif run.request.python is not None or run.here is not None:
                run.stale = True

    # State.

    def state_dict(self, *, done: int | None = None) -> dict[str, Any]:
        """Return where this rank's run is, as plain JSON: exactly the batches and losses so far.

            torch.save({"model": model.state_dict(), "loader": loader.state_dict()}, "checkpoint.pt")

        It includes the batch your loop got last. After a `break` it is the middle of that epoch, until the next loop starts; after an
        epoch's last batch it is the beginning of the next.

        In a signal handler, or after Ctrl-C, your loop has got a batch that it may not have used. Count the batches that the model has been
        trained on, and pass the number:

            loader.state_dict(done=steps_of_this_epoch)

        Args:
            done: the state after so many batches of the current loop's epoch. Those of the last `prefetch` + 8 are kept.

        Raises:
            RecipeError: if that state is not kept; the message says which are.
        """
        from .packed import packed

        return packed(self._run.record(None if done is None else integer("state_dict: done", done)))

    def load_state_dict(self, state: dict[str, Any] | Iterable[dict[str, Any]]) -> None:
        """Resume from a state of this or another loader with the same pipeline and source.

            loader.load_state_dict(checkpoint["loader"])

        With another world size the rest of the epoch is divided again, which needs the states of all ranks, in any order. One is enough if
        all ranks have the same batches at every moment, as with `.batch(global_size=…)`, and lost nothing.

        Args:
            state: this rank's state, or several.

        Raises:
            StateMismatch: if the state does not fit. Nothing has changed then.
        """
        self._run.check()
        from .resume import load

        load(self._run, state)

    def set_workers(self, workers: int, stage: str | None = None) -> None:
        """Change how many samples are worked on at once, while the loader runs. Batches, order and state are unaffected.

            loader.set_workers(8)

        It returns at once; work in progress finishes. Never more samples than the process has cores run at the same time, nor, with
        `batch(collate=…)`, more batches than twice the original workers.

        Args:
            workers: 1 to 256.
            stage: a stage's name, as in `stats()`; `"read"` has workers of its own. None: all stages that compute, like
                `loader(workers=…)`.

        Raises:
            RecipeError: if there is no such stage or number of workers. Nothing has changed then.
        """
        run = self._run
        run.check()
        try:
            number = None if isinstance(workers, bool) else index(workers)
        except TypeError:
            number = None
        if number is None or not 1 <= number <= _MOST_WORKERS:
            raise RecipeError(f"headrace: set_workers({workers!r}): must be a whole number from 1 to {_MOST_WORKERS}")
        if stage is not None and not isinstance(stage, str):
            raise RecipeError(f"headrace: set_workers(stage={stage!r}): must be the name of a stage, as in stats()")
        with run.lock:
            answer = run.ask("cannot set workers", lambda session: session.set_workers(stage or "", number))
            if "error" in answer:
                raise RecipeError(answer["error"])
            run.workers.pop(stage or "", None)
            run.workers[stage or ""] = number
            run.opened = {**run.opened, **answer}

    def tuning(self) -> dict[str, int]:
        """Return the workers that `loader(tune=True)` has given to stages, to write down as `workers=` of their functions.

            loader.tuning()  # {"map(augment)": 8}: .map(augment, workers=8) begins with them

        What was tried and taken back is not in it; `loader.stats()["tuned"]` has all changes, with the rates before and after.
        """
        return {change["stage"]: change["to"] for change in self.stats().get("tuned", ()) if change["kept"]}

    # The end.

    def close(self) -> None:
        """End the run, and with the process's last loader its engine. Batches you have stay valid. You may call it again.

        `loader.close()` is what `with pipeline.loader() as loader:` does at its end.
        """
        run = self._run
        if run.refused is not None:
            return
        session = run.session
        if run.inside and session is not None:  # another thread is in next(), or this is called from a signal handler there
            run.refused = LoaderClosed
            session.channel.interrupt()  # next() finds the end, and does the rest
            if run.here is not None and run.here.is_calling():
                return  # the other thread waits for this one
        with run.lock:
            try:
                if not run.inside:
                    run.refused = LoaderClosed
                    run.hand = None
                    run.finish()
            finally:
                if self._main is not None:
                    self._main.close()
        if self._taken_by is not None:
            self._taken_by.close()
        if self._background is not None:
            self._background.close()
        if self._interval is not None:
            self._interval.close()

    def __enter__(self) -> Loader:
        self._run.check()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    if not TYPE_CHECKING:  # which would believe that it has any

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or hasattr(type(self), name):  # asked for by copy, pickle, Lightning and others, who go on without
                raise NoSuchName(name)
            from .._report.hints import no_loader_attribute

            known, steps = ([one for one in dir(kind) if not one.startswith("_")] for kind in (Loader, type(self._pipeline)))
            raise NoSuchName(no_loader_attribute(name, known, steps))

    def __reduce__(self) -> NoReturn:
        raise WrongType("a loader belongs to its process and cannot be pickled; send the pipeline, and call .loader() there")

    # What it is and what it did.

    def to(self, format: Literal["numpy", "torch", "jax"], *, pin_memory: bool = False, device: Any = None) -> Loader:
        """Choose what batches hold from now on, as `Pipeline.to`.

            loader.to("torch", device="cuda")

        Args:
            format: `"numpy"`, `"torch"` or `"jax"`.
            pin_memory: with `"torch"`: in pages locked for CUDA.
            device: with `"torch"`: where tensors go.

        Returns:
            This loader.

        Raises:
            RecipeError: if PyTorch cannot hold a field, or not on that device. Nothing has changed then.
        """
        self._batches.set_format(formats.check(format, pin_memory, device).with_tuples(self._batches.format.tuples))
        return self

    def recipe(self, format: Literal["yaml", "json"] = "yaml") -> str:
        """Return what this loader runs as a recipe, which `headrace.load` and the command `headrace` read.

            Path("train.yaml").write_text(loader.recipe())

        Its section `loader` has the arguments of `Pipeline.loader`, except the process's rank and world size.

        Args:
            format: `"yaml"` or `"json"`.
        """
        return self._pipeline._written(self._settings(), format)

    def _settings(self) -> dict[str, Any]:
        """The recipe's section `loader`."""
        return {name: value for name, value in self._run.config.items() if value is not None and name not in _OF_THE_PROCESS}

    @property
    def classes(self) -> list[str]:
        """The labels' names, by number; empty if they have none.

        A map with `fields=` that writes labels removes their names. One that is passed whole samples keeps them, even if it renumbers
        labels.
        """
        return self._run.opened.get("classes") or []

    @property
    def schema(self) -> dict[str, Field]:
        """The fields of a batch."""
        schema = {}
        for field in self._run.opened["fields"]:
            shape = field.get("shape") or ()
            sizes = tuple(None if n < 0 else n for n in shape) if field["kind"] == "tensor" or shape else None
            if self._part is not None:
                sizes = self._part.shape(field["name"], sizes)
            logical = field.get("logical") or {}
            names = tuple(logical["names"]) if logical.get("names") else None
            schema[field["name"]] = Field(field["kind"], field.get("dtype"), sizes, logical.get("name"), names)
        return schema

    def typed(self, batch: type[T]) -> TypedLoader[T]:
        """Tell type checkers what batches are, and check that they are so.

            class TrainBatch(TypedDict):
                image: npt.NDArray[np.float32]
                label: npt.NDArray[np.int64]

            for batch in pipeline.loader().typed(TrainBatch):
                batch["lable"]  # mypy, Pyright and your editor know that there is none

        Args:
            batch: a TypedDict with some of the fields, or all. The message of `typed(dict)` has one to copy.

        Returns:
            This loader, whose batches have that type.

        Raises:
            RecipeError: if a field is missing, or is an array of another dtype or framework. Steps with `where="main"` are not asked.
        """
        from .typed import check

        if self._batches.format.tuples:
            raise RecipeError("headrace: typed() is for batches that are dicts, and .tuples(…) makes tuples of them: leave one of them out")
        if self._batches.unnamed:
            raise RecipeError(
                "headrace: typed() is for batches that are dicts, and these are tuples: name their values with fields= of hr.source"
            )
        if self._main is None:
            check(batch, self.schema, self._batches.format.name)
        return cast("TypedLoader[T]", self)

    def stats(self, since: Stats | dict[str, Any] | None = None, *, ranks: Literal["all"] | None = None) -> Stats:
        """Return what every stage and queue did so far, and what its processes use, even after the end.

            print(loader.stats())  # a report; loader.stats()["stages"] has the numbers

        All clocks start at the first `next()`, however long your program imports before; `ahead` is what a stage had taken by then, and is
        in no rate.

        Args:
            since: an earlier result, to count from there.
            ranks: `"all"` adds a table of all ranks, and [says which of them the others wait for](watch.md#all-ranks). Like a reduction,
                every process of `torch.distributed` must call it at the same place; nothing is gathered otherwise.

        Raises:
            ValueError: if `since` is from another loader, or an engine that died; or if there are other ranks, and `torch.distributed` is
                not initialised.
            RankFailed: if another rank did not call it, has ended, or has no statistics.
        """
        from .stats import Stats, statistics

        def count() -> Stats:
            stats = statistics(self._run, since)
            return stats if self._taken_by is None else Stats(self._taken_by.statistics(stats, since))

        if ranks is None:
            return count()
        from .ranks import of_all

        return of_all(self._run, ranks, count)

    def profile(self, items: int | None = None, workers: Sequence[int] | None = None, *, fuse: bool | None = None) -> Profile:
        """Measure how many samples per second each stage manages alone, with each number of workers.

            print(loader.profile())

        A run only shows that of its slowest stage. This runs `headrace profile` in another process, with this loader's recipe and settings.
        Don't iterate the loader meanwhile: both would share the machine.

        Args:
            items: samples for each number of workers, from the beginning of epoch 0; by default 256, or as many as `memory` has room for.
            workers: numbers of workers; by default up to 1.5 times the cores.
            fuse: False splits fused stages, to see what each operation costs; by default as in `loader()`.

        Raises:
            RecipeError: if the numbers are invalid, or do not fit into `memory`.
            HeadraceError: if a sample fails, and `on_error` is `"raise"`.
        """
        run = self._run
        from .._recipe import notation
        from .profile import profile

        run.check()
        if run.here is not None:
            raise RecipeError('headrace: profile runs in its own process, which lacks what steps with where="here" use')
        return profile(notation.write(run.request.recipe, self._settings(), "json"), run.request.python, items, workers, fuse)

    def trace(self, path: str | os.PathLike[str]) -> Trace:
        """Write what every worker does, and when, to a file for https://ui.perfetto.dev.

            with loader.trace("trace.json"):
                for batch in loader:
                    …

        It starts at once, even within an epoch, and ends with the block, with `stop()`, or with the loader. There is one at a time, and it
        costs the engine a few percent at most.

        Each worker has a line: its operations, with their sample's name, index and position, and its waits. The consumer's line has each
        batch handed over; `training loop` is your time between them. Arrows connect the operations on a sample. Counters show each queue's
        length, and the memory held.

        The file is JSON in the Trace Event Format, about 300 bytes per event. If the process is killed it lacks the final bracket, which
        the format allows.

        Args:
            path: the file, which is overwritten.

        Raises:
            OSError: if it cannot be written, or a trace is already running.
        """
        from .trace import Trace, absolute

        self._run.check()
        return Trace(self._run, absolute(path))

    def page(self, port: int | None = None) -> str:
        """Open the [live page](watch.md) of this loader for a browser on this machine, and return its address.

            print(loader.page())

        It shows what limits, the pipeline with the rate and clocks of each stage, the last hour, memory, and samples that failed; and all
        loaders of yours on this machine that have a page. The address has a random token, without which nothing is answered.

        Args:
            port: a port of 127.0.0.1, as for a tunnel; None, the default: one that is free. A page that is open stays where it is.

        Raises:
            RecipeError: if another program has the port. The loader goes on.
        """
        run = self._run
        from .page import address

        run.check()
        return address(run, port)

    def preview(self, n: int = 16, *, epoch: int | None = None, columns: int | None = None, tile: int | None = None) -> Preview:
        """Show what training gets: a contact sheet of an epoch's first samples, with label and key.

            loader.preview()  # in a notebook, the sheet
            loader.preview(60, epoch=1).save("sheet.png")

        Pixels are those of the batches, random operations included, and `normalize` is reverted. A failing sample has a tile with the
        reason. Samples are those of all ranks together; steps on whole batches are left out.

        Another engine draws it, so this loader does not move.

        Args:
            n: number of samples.
            epoch: by default the loader's current one.
            columns: images side by side; by default enough for a wide sheet.
            tile: longest side of an image, in pixels; by default its own, between 128 and 256.

        Raises:
            RecipeError: if samples have no image, or a number is invalid.
        """
        run = self._run
        from .preview import preview

        run.check()
        epoch = run.frontier.epoch if epoch is None else epoch
        return preview(run.request, n, epoch, columns, tile)

    def explain(self) -> str:
        """What runs, as text for people: the steps, which rank this is, and what another number of ranks changes about its batches.

            print(loader.explain())

        Returns:
            Lines of text.
        """
        config = self._run.config
        told = f"This is rank {config['rank']} of {config['world_size']}"
        if self._of_group:
            told += ", those of torch.distributed: the environment has no RANK and WORLD_SIZE that say it"
        return f"{self._pipeline!r}\n\n{told}.\n{self._run.opened['ranks']}"

    def __repr__(self) -> str:
        from .shown import text

        return text(self)

    def _repr_html_(self) -> str:
        from .shown import page

        return page(self)


Loader.__module__ = "headrace"


def _main_steps(steps: list[dict[str, Any]], seed: int, rank: int, hooks: tuple[Any, ...]) -> MainSteps:
    from .batch_steps import MainSteps

    return MainSteps(steps, seed, rank, hooks)


def _context_parallel(part: Part, pipeline: Pipeline, run: Run, main: MainSteps | None) -> ContextParallel:
    from .context_parallel import ContextParallel

    return ContextParallel(part, pipeline._steps, run.opened, main)


def _interval(run: Run, hooks: tuple[Any, ...], every: float | None) -> Interval:
    from .interval import Interval

    return Interval(run, hooks, every)


def _background(run: Run, hooks: tuple[Any, ...]) -> Background | None:
    from .._recipe.hooks import method_of

    methods = [(hook, hook.background) for hook in hooks if method_of(hook, "background") is not None]
    if not methods:
        return None
    from .background import Background

    return Background(run, methods)


_OF_THE_PROCESS = ("rank", "world_size", "local_world_size", "dead_letters_own", "agree")

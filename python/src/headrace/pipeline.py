"""Describes a pipeline: what to read, what to do with it, how to batch it. Nothing runs before `.loader()`."""

from __future__ import annotations

import os
import sys

from ._batch import format as formats
from ._operations import Operations
from ._recipe.arguments import (
    count_or_share,
    integer,
    integer_list,
    names_of,
    number_of,
    numbers_for,
    optional,
    seconds_of,
    when_of,
)
from ._recipe.functions import (
    USUAL,
    Function,
    Names,
    all_steps,
    batched,
    described,
    has_functions,
    importable,
    is_here,
    is_main,
    operation,
    places,
    plain,
)
from ._recipe.step import Step, located
from ._report.tracebacks import all_briefly, briefly
from .errors import NoSuchName, RecipeError, WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal, NoReturn

    from ._batch.format import Format
    from ._client.giver import Giver
    from ._loader.loader import Loader
    from ._operations import Seeds, Some, Where
    from ._recipe.mesh import Part
    from .ray.plan import Feeders

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    When = str | int | Iterable[str] | Iterable[int] | None
    Branch = Callable[["Pipeline"], "Pipeline"]

__all__ = ["Pipeline", "defaults", "files", "load", "merge", "mix", "read", "source"]


class _Default:
    """An argument that was not given; `headrace.defaults` or a recipe may say what it is then."""

    def __repr__(self) -> str:
        return "<default>"


DEFAULT: Any = _Default()


@briefly
def files(
    source: Path | Iterable[Any],
    *,
    label: str | Callable[[str], Any] | None = None,
    fields: Mapping[str, str | tuple[str, Any]] | Some | None = None,
    path: str = "path",
    metadata: Path | None = None,
    errors: Literal["strict", "replace"] = "strict",
    content: bool = True,
    seed: int = 0,
) -> Pipeline:
    """Read files: the first step of a pipeline.

        train = hr.files("data/train", label="parent")  # each folder is a class

    Args:
        source: a pattern (`*`, `?`, `[…]`, and `**` for any number of folders); a folder: all images below it; a list of paths, (path,
            label) pairs, or longer tuples; or a list of dicts or a DataFrame.
        label: `"parent"`: label each file with its folder's number, in bytewise order of their names; `loader.classes` has the names. Or a
            function that returns the label of a path (`str`), called at once for every file, or every image of a folder.
        fields: names for a tuple's values after the path, by default `"label"` for pairs; or which columns become fields, by default all.
            Of metadata also other names and types, as for `read`: `{"text": "caption", "score": ("score", "float64")}`.
        path: the column with the paths, in dicts or a DataFrame.
        metadata: with a pattern or folder: a JSON lines, CSV or Parquet table in that folder, such as `"metadata.jsonl"`, with one row per
            file, named by its column `file_name` (Hugging Face's `imagefolder`). Other columns become fields.
        errors: `"replace"`: text of metadata that is not UTF-8 gets U+FFFD, as for `read`; by default it is an error.
        content: False: don't read the files. Samples have the field `path` instead, and `decode_video` and `decode_audio` read what they
            need.
        seed: for all random operations. Pixels are the same with any number of workers.

    Returns:
        A pipeline with the fields `key`, `label` if there are labels, and your columns: int64, float64 (float32 if NumPy or pandas says
        so), bool or text. Missing values are an error. Metadata keeps its table's types: missing floats become NaN, missing text is empty.

    Raises:
        RecipeError: if arguments do not go together. Mistakes in metadata, such as a file without a row, raise SourceError in `loader()`.
    """
    from ._recipe.table import files_arguments

    args = files_arguments(source, label, fields, path, metadata, errors)
    if not content:
        args["content"] = False
    args["root"] = os.fsdecode(os.getcwdb())
    return Pipeline(integer("seed", seed), (Step({"files": args}),), formats.NUMPY)


@briefly
def read(
    source: Path | Iterable[Path],
    *,
    fields: Mapping[str, str | tuple[str, Any] | tuple[str, Any, Any]] | Some | None = None,
    rows: str | None = None,
    window: Mapping[str, Iterable[float]] | None = None,
    group: str | None = None,
    time: str | None = None,
    lookup: Mapping[str, Any] | None = None,
    format: str | None = None,
    errors: Literal["strict", "replace"] = "strict",
    seed: int = 0,
) -> Pipeline:
    """Read samples from files that hold many, without converting them: the first step of a pipeline.

        hr.read("train-{000000..001281}.tar", fields={"bytes": "jpg", "label": "cls"})  # WebDataset

    You can shuffle, shard across ranks and resume them like files. The first read makes an index in `~/.cache/headrace/index`, or in
    `index` below `HEADRACE_CACHE`; `headrace index` makes it in advance. [Your data where it is](your-data.md) lists the formats.

    Args:
        source: a file; a pattern (`*`, `?`, `[…]`, `**` and braces, as in `train-{000..129}.tar`); a folder; or a list of these.
        fields: what each field is in the files: the name of a part of a tar file or a column, `"json.caption"` for a member of JSON,
            `"jpg;png"` for the first that exists, or `(name, type)`, where the type is a dtype, `(dtype, shape)`, str, bytes, or
            `(str, (None,))` for a list of text. A third member is the value for null, as in `("age", "float32", 0)`, and
            `("age", "is_null")` is whether it is null: [Types](tables.md#types). Or just the names to keep. By default everything;
            in tar files images are `bytes` then, and `cls` is `label`. `headrace inspect FILE` lists the names.
        rows: which samples come, by an expression about their columns, such as `"age > 3 and country in ('de', 'fr')"`: comparisons, `in`,
            `is null`, `and`, `or`, `not`. The columns need not be in `fields`. By default all: [Rows](tables.md#rows).
        window: fields of which each sample has the values of several rows, such as `{"action": range(16)}`: the offsets from its own row.
            Beside each is a mask, `action_is_pad`, of rows beyond the group, where the first or last row is repeated:
            [Windows](tables.md#windows).
        group: a column, such as `"episode_index"`, that all rows of a window have the same value of. By default each file is a group.
        time: a column of times, such as `"timestamp"`: the offsets are seconds then, and the row nearest in time is taken.
        lookup: small tables that rows are joined with by key, such as `{"item": "items.parquet"}`: the columns of the row whose `item` is
            the same become fields. Or `{"item": {"from": "items.parquet", "key": "id", "fields": ["price"], "missing": "null"}}`. Instead
            of a path, arrays or lists by column, or a DataFrame: [Lookup](tables.md#lookup).
        format: the files' format, such as `"tar"`; by default told from their contents or names.
        errors: text that is not UTF-8: `"strict"`: a bad sample; `"replace"`: U+FFFD, as `bytes.decode(errors="replace")` has it, also in
            names of columns and members. Fields of `bytes` and the names of files stay as they are.
        seed: for all random operations, as for `files`.

    Returns:
        A pipeline with these fields and `key`.
    """
    from ._recipe.read import read_arguments

    args = read_arguments(source, fields, format, errors, rows, lookup, window=window, group=group, time=time)
    args["root"] = os.fsdecode(os.getcwdb())
    return Pipeline(integer("seed", seed), (Step({"read": args}),), formats.NUMPY)


@briefly
def source(
    obj: Any,
    *,
    fields: Some | None = None,
    gives: Any = None,
    keys: Callable[[int], Path] | Sequence[Path] | None = None,
    seed: int = 0,
    generators: Seeds = (),
    sampler: Any = None,
    where: Where = USUAL,
) -> Pipeline:
    """Read samples from a Python object: the first step of a pipeline.

        loader = hr.source(dataset, fields=["image", "label"]).shuffle().batch(32).loader()

    Worker processes read a copy. Later changes to the object do not reach it, except what `set_epoch(epoch)` changes, which they call, and
    shared memory. It is one of these:

    - a list, a PyTorch Dataset, or anything else with `__getitem__` and `__len__`, read by number. You can shuffle, shard across ranks and
      resume it like files.
    - an iterable, a generator function, or a function that returns an iterable, also async ones. One worker iterates it once per epoch. To
      resume, it needs `state_dict` and `load_state_dict`. With several ranks, a function is passed `rank` and `world_size`.
    - an `hr.Feed`, which your program fills while the loader runs. It is read in your program.

    Each item is a sample: a dict of fields, or with `fields` a tuple of their values. [Bring your own Python](own-python.md) lists the
    values allowed.

    Args:
        obj: the object.
        fields: field names, if an item is a tuple or a single value.
        gives: the fields' types, as for `Pipeline.map`; by default the first sample decides. With it, a `__getitem__` with a parameter
            `out` may write into the batch's memory.
        keys: sample names for the field `key`, errors and lost samples: a list, or a function of the number that workers call before
            reading. By default the sample's own `key` or `__key__` (a str), else its number: `"12"`.
        seed: for all random operations, as for `files`.
        generators: modules to seed before each sample: `"random"`, `"numpy"` (its legacy functions), `"torch"`, or several. It is the
            `seed` of `Pipeline.map`.
        sampler: the samples of each epoch and their order: a PyTorch `Sampler` or `BatchSampler`, or any other object with a length that
            can be iterated once per epoch. Its lists are batches: write `.batch()`, without a size. Other items than numbers, such as
            tuples, are passed to `__getitem__` as they are. Workers copy it; `seed` seeds the global generators it draws from.
        where: `"process"`, `"thread"` or `"here"`, as for `Pipeline.map`; or an `hr.Workers` if it is read by number. `"here"` reads the
            object itself, not a copy.

    Returns:
        A pipeline with the field `key` and those of the samples.
    """
    from ._recipe.function_arguments import source_arguments

    if isinstance(seed, (str, list, tuple)):
        raise RecipeError(f"headrace: source: seed is {seed!r}: must be a whole number; generators={seed!r} seeds these before each sample")
    given = {name: value for name, value in source_arguments(obj, fields, gives, generators, keys, where).items() if value is not None}
    pipeline = Pipeline(integer("seed", seed), (Step({"source": given}),), formats.NUMPY)
    if sampler is None:
        return pipeline
    from ._recipe.sampler import sampler_arguments

    args = sampler_arguments(sampler, given.get("length"), pipeline._seed)
    if args.get("places"):
        from ._recipe.sampler import picked

        given |= picked(given, args["function"].value)
        pipeline = pipeline._of((Step({"source": given}),))
    return pipeline._with("sampler", args)


@briefly
def merge(
    pipelines: Iterable[Pipeline],
    *_more: Pipeline,
    order: Literal["round_robin", "arrival"] | None = None,
    until: Literal["longest", "shortest"] | int | None = None,
    fill: float | Mapping[str, float] | None = None,
    weights: Iterable[float] | None = None,
) -> Pipeline:
    """Combine the samples of several pipelines in turns: the first step of a pipeline.

        cats = hr.files("cats").shuffle().decode_image()
        dogs = hr.files("dogs").shuffle().decode_image()
        loader = hr.merge([cats, dogs]).random_resized_crop(224).batch(32).loader()

    For weights, and sources that restart, use `mix`. All must have the same fields and dtypes, and give samples, or batches; heights and
    widths may differ. `select`, `drop`, `rename` and `fill` make them alike, and a missing `key` is filled in. Labels of `label="parent"`
    are numbered across all folders.

    Args:
        pipelines: what to combine, all with the same `seed`.
        order: `"round_robin"`, the default; `"arrival"`: whichever has a sample first, which differs between runs.
        until: an epoch ends with the `"longest"` pipeline, the default, the `"shortest"`, or after this many samples in all, on all ranks.
            Each rank takes turns among its own parts, so an epoch that ends early may have other samples with another number of ranks.
        fill: values for fields that some lack: a number, or numbers by field, such as {"label": -1}, 0 for others; text is empty. By
            default all must have the same fields.
        weights: refused with the `mix` to write.

    Returns:
        A pipeline with their fields.

    Raises:
        RecipeError: if their seeds or formats differ, or the sections `loader` of the recipes they were loaded from.
    """
    from ._recipe import mixing

    if _more or isinstance(pipelines, Pipeline) or not hasattr(pipelines, "__iter__"):
        raise RecipeError("headrace: merge: give one list of pipelines: merge([a, b])")
    given = list(pipelines)
    mixing.check_parts("merge", given, Pipeline)
    if weights is not None or order == "weights":  # type: ignore[comparison-overlap]
        raise RecipeError(mixing.instead_of_merge(weights, {"until": until, "fill": fill}, len(given)))
    args = {
        "of": [list(pipeline._steps) for pipeline in given],
        "order": order,
        "until": mixing.until_of(until),
        "fill": None if fill is None else numbers_for("fill", fill),
    }
    return given[0]._of(())._with("merge", args)


@briefly
def mix(
    pipelines: Mapping[Pipeline, float] | Mapping[str, Pipeline] | Iterable[tuple[Pipeline, float]] | Iterable[Pipeline],
    *,
    weights: Iterable[float] | Mapping[str, float] | None = None,
    names: Iterable[str] | None = None,
    repeat: float | Iterable[float] | Mapping[str, float] | None = None,
    temperature: float | None = None,
    schedule: Iterable[tuple[int, Iterable[float] | Mapping[str, float]]] | None = None,
    choose: Callable[[int, Mapping[str, int]], int | str] | type | None = None,
    by: str | None = None,
    counted: Literal["steps", "samples"] | None = None,
    until: Literal["longest", "shortest"] | int | None = None,
    source: str | None = "source",
    fill: float | Mapping[str, float] | None = None,
    seed: int | None = None,
) -> Pipeline:
    """Mix the samples of several pipelines by weights, which hold: the first step of a pipeline.

        web = hr.read("web-*.jsonl", fields=["text"]).shuffle()
        books = hr.read("books-*.jsonl", fields=["text"]).shuffle()
        loader = hr.mix({web: 0.7, books: 0.3}).batch(32).loader()

    A pipeline that has given all its samples restarts, shuffled again, and goes on in the next epoch where it was. In every 64 samples
    each has its share, within 2 samples of what was asked over all epochs so far, with any number of ranks; their order within the 64 is
    random. A mix is one source: it is divided among ranks and resumed as one, and may be mixed again.

    All must have the same fields and dtypes, as in `merge`. If a pipeline leaves samples out, or makes several of one, weights count
    samples as they arrive at the mix. Give `until` a number then. Each lane restarts its share of a source by itself.

    Args:
        pipelines: with a weight for each: numbers from 0 on, relative to their sum. Or with names, as in {"web": web, "books": books}, or
            a list, and how often each comes by one of `weights`, `repeat`, `temperature`, `schedule` and `choose`; without, each comes
            once.
        weights: if they are not given with the pipelines: a list, or by name.
        names: what each is called in `source` and `stats()`; by default as its first step.
        repeat: how often each comes in an epoch: 2 is twice; with 0.5 every epoch has another half.
        temperature: each counts as its number of samples to the power of 1 ÷ temperature: 1 is by size, larger ones are more even.
        schedule: weights from a step on, over all epochs: [(0, [3, 1]), (50_000, [1, 1])]. A step is a global batch. Steps
            need `batch(global_size=)`, and no `filter`, `flat_map`, `aggregate`, inner batch, `pack` or buckets.
        choose: a function that says which comes next, or a class made once for each lane and epoch. It is called as
            `choose(turn, given)` in a worker process, and returns a name or a number. `turn` numbers the samples of the mix over all
            ranks and epochs; `given` maps names to samples that came, of this lane in this epoch. Random numbers must follow from
            `turn`. An object needs `state_dict()` and `load_state_dict()` to go on within an epoch. Needs `until=` with a number.
        by: weights count the length of this field instead of samples: elements of an array, such as tokens; bytes of a text or a file;
            or a whole number as it is. In each lane, a pipeline is ahead of its share by at most two of its longest samples, and behind
            by two of the longest of all. Needs `until=` with a number.
        counted: `"samples"` if the schedule counts samples, not steps: any pipeline can.
        until: an epoch ends when each has come at least once, `"longest"`, which is the default unless `repeat` says how often each
            comes; before one would restart, `"shortest"`; or after this many samples in all. `schedule` and `choose` need a number.
        source: the field that gets the name, `web` or in a mix of mixes `text/web`; None: no field.
        fill: values for fields that some lack: a number, or numbers by field, 0 for others; text is empty.
        seed: of the order of turns; by default the pipelines' seed.

    Returns:
        A pipeline with their fields, and the name of each sample's source.

    Raises:
        RecipeError: if a weight is negative or no number, or all are 0, or one pipeline cannot restart.
    """
    from ._recipe import chooser, mixing

    given, weights, names = mixing.parts_of(pipelines, Pipeline, weights, names)
    mixing.check_parts("mix", given, Pipeline)
    args = {
        "of": [list(pipeline._steps) for pipeline in given],
        **mixing.shares_of(names, weights, repeat, temperature, schedule, len(given)),
        "choose": chooser.chooser_of(choose),
        "by": by,
        "in": counted,
        "until": mixing.until_of(until),
        "source": "" if source is None else source,
        "fill": None if fill is None else numbers_for("fill", fill),
        "seed": optional("seed", seed),
    }
    if args["source"] == "source":
        del args["source"]
    first: Pipeline = given[0]
    return first._of(())._with("mix", args)


@briefly
def load(path: Path, /, **variables: Any) -> Pipeline:
    """Load a pipeline from a recipe, a YAML or JSON file as `Pipeline.recipe` writes and `headrace run` reads.

        loader = hr.load("train.yaml", root="data/train", size=192).loader(epochs=90)

    You can add steps if the recipe does not end with `batch`. Its section `loader` sets the defaults of `loader()`.

    Args:
        path: the file; `"-"` is standard input. Relative paths in a recipe start at the current directory.
        variables: values for `${name}` in its text: text, paths, numbers, True, False, None, or lists. Missing ones come from the
            environment, then from the recipe's section `vars`.

    Raises:
        RecipeError: if there are mistakes in the recipe, one per line, each with file, line and column.
        OSError: if the file does not exist.
    """
    from ._recipe import notation

    recipe = notation.read(path, variables)
    root = os.fsdecode(os.getcwdb())
    for step in all_steps(recipe["steps"]):
        for op in ("files", "read"):
            if op in step:
                step[op].setdefault("root", root)
    said = {name: value for name, value in recipe.get("loader", {}).items() if value is not None}
    return Pipeline(recipe["seed"], tuple(recipe["steps"]), formats.NUMPY, said)


@briefly
def defaults(**arguments: Any) -> dict[str, Any]:
    """Set defaults of `Pipeline.loader` for this process, to configure programs that others wrote.

        hr.defaults(hooks=[Metrics()], every=30, on_error="skip")  # before the program runs, such as in sitecustomize.py

    A program's own arguments and a recipe take precedence. Hooks are different: a loader's own are added.
    `credentials=` is for `hr.io`, too.

    Args:
        arguments: any of `Pipeline.loader` except `rank`, `world_size`, `mesh`, `dp` and those of `cp`. None restores Headrace's default.

    Returns:
        The previous values of these arguments, to restore them: `hr.defaults(**before)`.

    Raises:
        RecipeError: if there is no such argument. `loader()` checks the values.
    """
    from inspect import signature

    from ._recipe import defaults as process
    from ._recipe.hooks import hooks_of

    if "hooks" in arguments:
        arguments["hooks"] = hooks_of(arguments["hooks"]) or None
    if "credentials" in arguments:
        from ._client.giver import Giver

        if arguments["credentials"] is not None:
            Giver(arguments["credentials"])  # checks it
        if "headrace._io.pool" in sys.modules:  # whose connections have those of before
            from ._io.pool import pool

            pool.close()
    return process.change(arguments, [name for name in signature(Pipeline.loader).parameters if name not in _OF_THE_PROCESS])


@all_briefly
class Pipeline(Operations):
    """The steps from files to batches. A pipeline never changes: each method returns a new one with one more step."""

    __slots__ = ("_defaults", "_format", "_seed", "_steps")

    def __init__(self, seed: int, steps: tuple[dict[str, Any], ...], format: Format, defaults: dict[str, Any] | None = None) -> None:
        self._seed = seed
        self._steps = steps
        self._format = format
        self._defaults = defaults or {}  # of loader()

    def _with(self, op: str, args: dict[str, Any]) -> Pipeline:
        given = {name: plain(f"{op}: {name}", value) for name, value in args.items() if value is not None}
        before: dict[str, Any] = self._steps[-1] if self._steps else {}
        if given.get("where") == "main":
            if not batched(self._steps):
                text = (
                    f'headrace: {op}: where="main" is for functions of batches, which come last: put it after batch, bucket_batch or pack'
                )
                raise RecipeError(f'{text}; a function of samples has where="process", "thread" or "here"')
        elif is_main(before):
            raise RecipeError(f'headrace: {op}: cannot follow map with where="main", which runs after all steps of the engine')
        return self._of((*self._steps, Step({op: given})))

    def _of(self, steps: Iterable[dict[str, Any]], format: Format | None = None) -> Pipeline:
        """The pipeline with these steps, and in another format if one is given."""
        return Pipeline(self._seed, tuple(steps), format or self._format, self._defaults)

    def _image(self, op: str, field: str | None, fields: Some | None, args: dict[str, Any]) -> Pipeline:
        """A step on an image, or on several."""
        if field is not None and not isinstance(field, str):
            raise RecipeError(f"headrace: {op}: field is {field!r}: must be the name of an image; for several write fields=[…]")
        return self._with(op, args | {"field": field, "fields": None if fields is None else names_of(op, (fields,))})

    def _changes(self, op: str, steps: Any) -> list[Any]:
        """The steps of an image that a step holds: what a function adds, or of a list what each adds, as one step."""
        from collections.abc import Iterable, Mapping

        if callable(steps):
            return list(self._added(op, steps))
        if isinstance(steps, str | Mapping) or not isinstance(steps, Iterable):
            raise RecipeError(f"headrace: {op} is {steps!r}: must be a function of a pipeline, or a list of such functions")
        made: list[Any] = []
        for one in steps:
            added = list(self._added(op, one)) if callable(one) else [one]
            made.append(added[0] if len(added) == 1 else {"random_apply": {"steps": added, "p": 1}})
        return made

    def route(
        self,
        by: str | Callable[..., Any],
        branches: Iterable[Branch | tuple[When, Branch]],
        *,
        fields: Some | None = None,
        workers: int | None = None,
        where: Where = USUAL,
    ) -> Pipeline:
        """Send each sample to one of several branches, and continue with what any of them returns.

            .route("key", [("*.png", lambda p: p.random_crop(64)), lambda p: p.center_crop(64)])

        Samples keep their order. All branches must give the same fields and dtypes; heights and widths may differ. A branch may make
        batches with `batch(size)`: each comes at the place of its last sample.

        Args:
            by: the field to choose by: text such as `"key"`, or a whole number such as `"label"`. Or a function of the sample, a dict, that
                returns text or a whole number. It may take rng=, but be neither async nor a class, and does not fit into a recipe file.
            branches: pairs of what a branch matches and a function that adds its steps to a pipeline. A branch matches a pattern of text
                (`*`, `?`, `[…]`, and `**` for any number of folders), a number, or several of these. The first match gets the sample; a
                function alone, at the end, gets the rest, else they are bad samples. If `by` is a function, all may be functions alone:
                they get 0, 1 and so on.
            fields: with a function as `by`: fields passed as arguments, instead of the sample.
            workers: with a function as `by`, as for `map`.
            where: likewise.
        """
        all_of = list(branches)
        if isinstance(by, str) or not callable(by):
            if fields is not None or workers is not None or where != "process":
                raise RecipeError("headrace: route: fields=, workers= and where= are for a function that chooses the branch of a sample")
            return self._with("route", {"by": by, "branches": [self._branch(i, branch) for i, branch in enumerate(all_of)]})

        from ._recipe.function_arguments import check_chooser
        from ._recipe.routing import FIELD, Chooser, numbered

        check_chooser(by, fields)
        described = [self._branch(i, branch) for i, branch in enumerate(numbered(all_of))]
        text = any(isinstance(value, str) for branch in described for value in branch.get("when", ()))
        chooser = Chooser(by, fields is None, text)
        gives = None if fields is None else {FIELD: str if text else int}
        chosen = self.map(chooser, fields=fields, to=None if fields is None else FIELD, gives=gives, workers=workers, where=where)
        for branch in described:
            branch["steps"] = [{"drop": {"fields": [FIELD]}}, *branch["steps"]]
        return chosen._with("route", {"by": FIELD, "branches": described})

    def _branch(self, i: int, branch: Branch | tuple[When, Branch]) -> dict[str, Any]:
        when, steps = branch if isinstance(branch, tuple) and len(branch) == 2 else (None, branch)
        if not callable(steps):
            raise RecipeError(
                f"headrace: route: branch {i} is {branch!r}: must be (what it matches, a function of a pipeline), or a function alone"
            )
        inside = self._added(f"route: the function of branch {i}", steps)
        if when is None:
            return {"steps": list(inside)}
        several = [when] if isinstance(when, (str, bytes)) or not hasattr(when, "__iter__") else when
        return {"when": [when_of(i, value) for value in several], "steps": list(inside)}

    def _added(self, whose: str, add: Callable[[Pipeline], Pipeline]) -> tuple[dict[str, Any], ...]:
        """The steps that a function adds to a pipeline."""
        inside = add(self._of(()))
        if not isinstance(inside, Pipeline):
            raise RecipeError(f"headrace: {whose} returns {inside!r}: must return the pipeline it is given, with its steps")
        return inside._steps

    def rename(self, fields: Mapping[str, str] | None = None, /, **names: str) -> Pipeline:
        """Rename fields: `.rename(image="pixels")`. Nothing is copied; two fields may swap names.

        Args:
            fields: new names by old ones, for names that are not Python identifiers.
            names: the same, as arguments.
        """
        given = {**(fields or {}), **names}
        for old, new in given.items():
            if not isinstance(old, str) or not isinstance(new, str):
                raise RecipeError(f"headrace: rename: {old!r} becomes {new!r}: must be names of fields")
        return self._with("rename", {"fields": given})

    def split(self, shares: Mapping[str, float], /, *, by: str = "key", seed: int = 0) -> dict[str, Pipeline]:
        """Split the samples into parts that never overlap, each a pipeline.

            parts = hr.files("data/train", label="parent").split({"train": 0.9, "val": 0.1})
            train = parts["train"].shuffle().decode_image().random_resized_crop(224).batch(32)

        A sample's name and `seed` alone decide: it stays in its part if files are added or removed, on every machine and in every run. So
        shares are approximate: of 10,000 samples, 10 % are 1,000 ± 60. `len(loader)` and `repr(loader)` have the exact numbers.

        Wherever you write it, it divides the samples of the source, or of each source of a merge or mix:
        `files(…).decode_image().split(…)` is two pipelines that decode. It must come before `shuffle` if `take`, `skip`, `slice` or
        `shard` follow that.

        Args:
            shares: the parts' names and shares: numbers above 0, together at most 1. What is left of 1 is in no part. A part keeps its
                samples if you only change parts after it.
            by: `"key"`: names as in the field `key`, for files their paths as given. So write paths in the same way everywhere. Or a field
                that `files` has beside them, such as `"label"`, `"patient"`, or of metadata, or a column of `read` with text, whole
                numbers or truth values: samples with the same value are then in the same part. In a `source`, the samples' numbers
                decide.
            seed: another seed is another split. It is not the pipeline's, so that other crops come with the same split.

        Raises:
            RecipeError: if shares are wrong. `loader()` raises it for a part without samples.
        """
        from ._recipe.parts import bounds, divided

        if not isinstance(by, str):
            raise RecipeError(f"headrace: split: by is {by!r}: must be the name of a field")
        args = {"by": by, "seed": integer("split: seed", seed)}
        ends = bounds(shares)
        return {name: self._of(divided(self._steps, args | {"from": begin, "to": end})) for name, (begin, end) in ends.items()}

    def decode_npz(self, fields: Mapping[str, str | tuple[str, Any]] | Some | None = None, *, field: str | None = None) -> Pipeline:
        """Read the arrays of NumPy's archives (`.npz`), each file a sample: the fields are the arrays.

            scenes = hr.files("scenes/*.npz").shuffle().decode_npz()
            pairs = hr.files("scenes/*.npz").decode_npz({"image": "rgb", "label": "class"})

        Numbers and bools are arrays, in C order and the machine's byte order; text without axes is `str`. Arrays of anything else, such as
        complex numbers, dates, lists of text or structures, stay NumPy arrays, in a batch a list of them. Python objects in a file are
        refused: nothing is unpickled. For the rows of long arrays as samples, use `hr.read`.

        Args:
            fields: the array that each field is, or `(name, type)`, with a type as for `gives` of `map`; or a list of names. By default
                all arrays, and a file that has others than the first one is a bad sample. The first file tells the types that you do not
                give; sizes may differ, unless a later step such as `batch` needs one.
            field: the field with the file, which is removed; by default `"bytes"`.
        """
        from ._recipe.read import fields_from

        given = None if fields is None else fields_from("decode_npz", fields)
        return self._with("decode_npz", {"fields": given, "field": field})

    def views(
        self,
        count: int | None = None,
        steps: Callable[[Pipeline], Pipeline] | None = None,
        /,
        *,
        field: str = "image",
        keep: bool = False,
        **named: Callable[[Pipeline], Pipeline] | tuple[int, Callable[[Pipeline], Pipeline]],
    ) -> Pipeline:
        """Make several views of an image, each with its own steps and random draws. The image is decoded once.

            .views(2, lambda p: p.random_resized_crop(224).random_flip())       # fields view_0 and view_1, as in SimCLR
            .views(large=(2, big), small=(6, little))                           # large_0, large_1, small_0 … small_5, as in DINO
            .views(weak=lambda p: p.random_flip(), strong=augmented)            # weak and strong, as in FixMatch
            .views(2, lambda p: p.random_resized_crop(224).map(blur))           # blur(image, rng) returns an image

        A function in `map` is given the view, not the sample; with `fields=["image", "label"], to="image"` other fields, too.

        A recipe has `copy`, each view's steps with `field`, and `drop` instead.

        Args:
            count: number of views, called view_0, view_1 and so on.
            steps: a function that adds a view's image steps to a pipeline, and `map` steps with functions of yours.
            field: the image.
            keep: keep the image as a field, too. By default it is dropped, because images of many sizes do not fit into a batch.
            named: views by name: such a function, or (count, function), whose views get a number after the name.

        Raises:
            RecipeError: if there are no views, a step does not work on an image, or a function would make another field.
        """
        from ._recipe.views import steps_of, views_of

        views = list(views_of(count, steps, named))
        made = self.copy(field, [name for name, _ in views])
        for name, add in views:
            steps_of_view = steps_of(name, field, self._added(f"views: the function of {name}", add))
            made = made._of((*made._steps, *steps_of_view))
        return made if keep else made.drop(field)

    def failures(
        self,
        *,
        on_error: Literal["raise", "skip", "replace"] | None = None,
        max_errors: int | float | None = None,
        retries: int | None = None,
        wait: float | None = None,
        time_limit: float | None = None,
    ) -> Pipeline:
        """Say what happens to samples that fail in the step before: `.decode_image().failures(on_error="skip", max_errors=0.05)`.

        After `files` that is a file that cannot be read, after `route` a sample without a branch. Arguments you leave out are as in the
        loader, or as in an earlier call for the same step.

        Image operations run and fail as one pass, so it covers those that follow. One with other `failures` starts another pass, and pixels
        are stored in between.

        Args:
            on_error: `"raise"`: the first bad sample stops the run; `"skip"`: leave it out; `"replace"`: draw another one, the same in each
                run, so batches stay full. Both count and name it.
            max_errors: with skip and replace: bad samples allowed in this step in an epoch, a number or a share below 1.
            retries: tries after the first; by default none.
            wait: seconds before the first retry, doubled before each further one, up to 30; by default 0.1.
            time_limit: seconds that a sample may take in this step, at each try; by default no limit.
        """
        if not self._steps:
            raise RecipeError("headrace: failures: there is no step before it")
        given = {
            "on_error": on_error,
            "max_errors": count_or_share("max_errors", max_errors),
            "retries": optional("retries", retries),
            "wait": None if wait is None else number_of("wait", wait),
            "time_limit": None if time_limit is None else number_of("time_limit", time_limit),
        }
        (*before, last) = self._steps
        if is_main(last):
            raise RecipeError('headrace: failures: does not apply to map with where="main", whose errors the loop raises')
        if on_error == "replace" and any((last.get(op) or {}).get("collate") for op in ("batch", "bucket_batch")):
            text = 'headrace: failures: on_error is "replace": collate fails for a whole batch, and no other batch can replace it'
            raise RecipeError(f'{text}: must be "raise" or "skip"')
        failures = last.get("failures", {}) | {name: value for name, value in given.items() if value is not None}
        return self._of((*before, Step(last | {"failures": failures}, line=getattr(last, "line", None))))

    def map(
        self,
        function: Callable[..., Any] | Mapping[Any, Any] | Sequence[Any],
        *,
        fields: Some | None = None,
        to: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where | Literal["main"] = USUAL,
        seed: Seeds = (),
        copy: bool = False,
        order: Literal["input", "completion"] | None = None,
    ) -> Pipeline:
        """Apply a Python function to each sample, in worker processes; after `batch`, to each batch.

            def augment(sample, rng):
                image = sample["image"]
                return {**sample, "image": image[:, ::-1] if rng.random() < 0.5 else image}

            loader = hr.files("data/train").decode_image().resize((64, 64)).map(augment, workers=4).batch(32).loader()

        The function accepts a sample, a dict of its fields, and returns the new one. With `fields` it accepts and returns their values, and
        other fields stay. Arrays are views of the engine's memory, valid until it returns. It may be async, or a class that each worker
        makes one object of. Two parameters are special:

        - `rng`: a `numpy.random.Generator` that draws the same numbers for a sample in each run.
        - `out`: arrays for the results of `gives`, to fill and return: a dict, or with `fields` one array, or a tuple in the order of `to`.

        A batch has one more axis: arrays of `[rows, …]`, and lists of text and objects. Samples other than dicts reach the next function
        and your loop as they are. [Bring your own Python](own-python.md) explains all of this.

        Args:
            function: a function, a callable object, or a class without `__init__` arguments. Or a dict, list or other object with
                `__getitem__`, to look up the value of the one field in `fields`, or a sample that is one value.
            fields: fields passed as positional arguments; by default the whole sample.
            to: fields for what it returns, one per value; by default the same fields.
            gives: the fields it returns: `(dtype, shape)`, with None for an extent that differs, a dtype for single numbers, `str`,
                `bytes`, or `object` for anything that can be pickled. For one field, just its type. By default the first sample decides,
                when the loader is made.
            workers: samples worked on at once; by default as `loader(workers=…)`.
            where: `"process"`: one call at a time in each worker process. `"thread"`: threads of one worker process, for code that releases
                the GIL. `"here"`: threads of this process, by default one, for functions that need its objects, such as a model or lock;
                they compete with your loop for the GIL, and `time_limit` cannot stop them. `"main"`: your loop's own thread, in the last
                steps after `batch`; the function gets all fields and returns anything. An `hr.Workers`: its processes, which steps share.
                A `concurrent.futures` executor, or anything with its `submit()`: calls are submitted to it, by default as many at once as
                it has workers, and it stays open.
            seed: modules to seed before each call: `"random"`, `"numpy"`, `"torch"`; by default none.
            copy: pass arrays as copies that you may keep.
            order: `"completion"`: fast samples pass slow ones in this step alone; `"input"`: they keep their order, also in a loader with
                `order="completion"`. By default as `loader(order=…)`.
        """
        from ._recipe.function_arguments import function_arguments
        from ._recipe.table_lookup import as_function

        function = as_function(function, fields)
        given = function_arguments(
            "map",
            function,
            fields=fields,
            to=to,
            gives=gives,
            workers=workers,
            where=where,
            seed=seed,
            copy=copy,
            order=order,
        )
        return self._with("map", given)

    def batch(
        self,
        size: int | None = None,
        *,
        global_size: int | None = None,
        drop_last: bool = False,
        max_wait: float | None = None,
        ragged: Some | None = None,
        collate: Callable[..., Any] | None = None,
        fields: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where = USUAL,
        seed: Seeds = (),
        copy: bool = False,
    ) -> Pipeline:
        """Stack samples into batches, or have a function make them.

            .batch(32, drop_last=True)

        After `resize_to_bucket` each batch holds images of one size: `loader.schema` has None for height and width. Each size may leave a
        batch that is not full at the end of an epoch.

        Args:
            size: samples per batch, on each rank. Leave it out after `hr.source(…, sampler=)` if the sampler gives lists: these are the
                batches.
            global_size: samples per batch over all ranks, each taking a contiguous part: only these batches stay the same with another
                number of ranks.
            drop_last: drop the epoch's last batch if it is not full.
            max_wait: give a batch that is not full when its first sample has waited in it for so many seconds, for samples that arrive
                one by one. Which samples share a batch then depends on time. Refused with `shuffle`, with several ranks, and with what
                makes batches of its own.
            ragged: fields whose arrays differ in their first extent, such as boxes: a batch has a list of arrays, one per row, all views of
                one memory. `hr.Ragged` has that and the offsets. For the loop: other steps come before, or have `where="main"`.
            collate: a function of a list of samples that returns the batch, as PyTorch's `collate_fn`, in worker processes. Samples are
                dicts of fields of any shape; so is the batch, which is not changed. It may be async, take `rng`, or be a class, as for
                `map`. By default arrays of one shape are stacked.
            fields: with `collate`: pass each sample as a tuple of these fields, or one as its value. The result may then be one value per
                field.
            gives: with `collate`: the batch's fields, as for `map`, with whole shapes; by default the first batch decides dtypes and axes,
                when the loader is made.
            workers: with `collate`: batches made at once; by default as `loader(workers=…)`.
            where: with `collate`: `"process"`, `"thread"` or `"here"`, as for `map`.
            seed: with `collate`: as for `map`, before each batch.
            copy: with `collate`: as for `map`.
        """
        from ._recipe.function_arguments import collate_arguments

        more = {"fields": fields, "gives": gives, "workers": workers, "where": where, "seed": seed, "copy": copy}
        before: Any = self._steps
        args: dict[str, Any] = {"size": size, "global_size": global_size, "drop_last": drop_last}
        lists = None if ragged is None else names_of("batch", (ragged,))
        waits = {} if max_wait is None else {"max_wait": seconds_of("max_wait", max_wait)}
        if size is global_size is None or any("sampler" in step for step in before):
            from ._recipe.sampler import batches_of

            before, args = batches_of(before, size, global_size, drop_last)
        return self._of(before)._with("batch", args | waits | {"ragged": lists, "collate": collate_arguments("batch", collate, **more)})

    def bucket_batch(
        self,
        lengths: int | Sequence[int],
        *,
        size: int | None = None,
        global_size: int | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
        bytes: int | None = None,
        pad: float | Mapping[str, float] = 0,
        pad_to: Literal["bucket", "longest"] | None = None,
        by: str | None = None,
        overlong: Literal["error", "truncate", "drop"] | None = None,
        drop_last: bool = False,
        collate: Callable[..., Any] | None = None,
        fields: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where = USUAL,
        seed: Seeds = (),
        copy: bool = False,
    ) -> Pipeline:
        """Batch sequences of similar length, padded to one length per batch.

            .bucket_batch([128, 256, 512], size=32)

        A sequence is an array whose first extent alone is unknown, as `decode_npy` makes it. A batch has [rows, length, …] and, for each
        `field`, its unpadded lengths as `field_length`, `int64 [rows]`. A sample goes into the first bucket that fits its longest sequence,
        and all its sequences are padded alike; with `by`, that fits this one, and the others are padded to their own longest. Other fields
        are stacked. With `collate` a function makes the batch of a bucket's samples.

        The number of batches depends on the samples; `loader.max_batches` is its bound.

        Args:
            lengths: the greatest length of each bucket, ascending.
            size: most samples in a batch, on each rank. Give at least one of size, `global_size`, tokens, seconds and bytes; a batch keeps
                to all of them.
            global_size: most samples in a batch over all ranks, instead of on each.
            tokens: most samples in a batch times the bucket's length.
            seconds: most samples in a batch times the seconds of the bucket's length, of sound whose rate is known: `decode_audio` with a
                rate, or its spectrogram.
            bytes: most bytes of a batch's arrays, padded to the bucket's length.
            pad: the padding value: a number, or numbers by field, such as {"labels": -100}, 0 for others; by default 0.
            pad_to: `"bucket"`, the default: the bucket's length, so that there are few shapes to compile for; `"longest"`: the batch's
                longest sample.
            by: the field whose length chooses the bucket; other sequences are padded to their own longest in the batch. By default the
                longest sequence chooses, and all are padded alike.
            overlong: sequences longer than the last bucket: `"error"`, the default: bad samples; `"truncate"`: cut at the end; `"drop"`:
                left out.
            drop_last: drop batches that are not full at the end of an epoch.
            collate: a function of a list of the bucket's samples, as they are, that returns the batch: as for `batch`, like all that
                follow. It pads as it likes, so `pad`, `pad_to`, `bytes` and `overlong="truncate"` are refused beside it.
            fields: with `collate`: the fields of which it is given tuples, or one field.
            gives: with `collate`: the batch's fields; by default the first full batch decides, when the loader is made.
            workers: with `collate`: batches made at once.
            where: with `collate`: `"process"`, `"thread"` or `"here"`.
            seed: with `collate`: generators that are seeded before each batch.
            copy: with `collate`: give it copies.
        """
        from ._recipe.function_arguments import collate_arguments

        more = {"fields": fields, "gives": gives, "workers": workers, "where": where, "seed": seed, "copy": copy}
        args = {
            "lengths": integer_list("lengths", lengths),
            "size": optional("size", size),
            "global_size": optional("global_size", global_size),
            "tokens": optional("tokens", tokens),
            "seconds": None if seconds is None else seconds_of("seconds", seconds),
            "bytes": optional("bytes", bytes),
            "pad": numbers_for("pad", pad),
            "pad_to": pad_to,
            "by": by,
            "overlong": overlong,
            "drop_last": drop_last,
            "collate": collate_arguments("bucket_batch", collate, **more),
        }
        return self._with("bucket_batch", args)

    def to(self, format: Literal["numpy", "torch", "jax"], *, pin_memory: bool = False, device: Any = None) -> Pipeline:
        """Choose what batches hold: NumPy arrays, PyTorch tensors, or JAX arrays.

            .batch(32).to("torch", device="cuda")

        They use the engine's memory and stay valid as long as anything refers to them. Text fields stay `Texts`.

        With `"jax"`, `jax.device_put` puts fields on JAX's default device. A CPU shares the memory, unless JAX converts the type: without
        `jax_enable_x64`, `int64`, `uint64` and `float64` become 32-bit, and integers that do not fit lose their upper bits.

        Args:
            format: `"numpy"`, the default of a pipeline, `"torch"` or `"jax"`.
            pin_memory: with `"torch"`: lock the memory's pages for CUDA, so that `tensor.to("cuda", non_blocking=True)` does not block. A
                batch's memory is reused once the work queued in the current stream when you dropped it is done. Without CUDA it does
                nothing.
            device: with `"torch"`: where tensors go, anything `torch.device` accepts. A GPU copies from pinned memory in the background. By
                default tensors stay in the engine's memory.

        Raises:
            RecipeError: if there is no such format, or it has no such option.
        """
        return self._of(self._steps, formats.check(format, pin_memory, device).with_tuples(self._format.tuples))

    def tuples(self, *fields: Some) -> Pipeline:
        """Have the loop get tuples of fields, as programs for PyTorch's DataLoader expect.

            for x, y in hr.files("data/train", label="parent").decode_image().resize((64, 64)).batch(32).tuples("image", "label").loader():
                ...

        Only the loop's batches change, or its samples without `batch`: all steps work on dicts, wherever you write it. Like `to`, it is not
        in a recipe's file.

        Args:
            fields: the names of the fields, in the order of the tuple. Other fields are left out.

        Raises:
            RecipeError: if there are no names, or tuples already. `loader()` raises it if there is no such field.
        """
        names = names_of("tuples", fields)
        if not names:
            raise RecipeError('headrace: tuples: there are no names: give those of the fields, such as .tuples("image", "label")')
        if self._format.tuples:
            already = ", ".join(map(repr, self._format.tuples))
            raise RecipeError(f"headrace: tuples: the batches are tuples already, of {already}: write .tuples(…) once")
        return self._of(self._steps, self._format.with_tuples(tuple(names)))

    def recipe(self, format: Literal["yaml", "json"] = "yaml") -> str:
        """Return the pipeline as a recipe, which `load` and the command `headrace` read.

            Path("train.yaml").write_text(pipeline.recipe())

        All defaults are written out, so a recipe keeps its meaning if one changes. Functions are written as `module:function` and imported
        where the recipe runs.

        Args:
            format: `"yaml"` or `"json"`.

        Raises:
            RecipeError: if the pipeline has a mistake, or a function that cannot be imported by name, such as a lambda.
        """
        return self._written(self._defaults, format)

    def _written(self, loader: dict[str, Any], format: str) -> str:
        """The text of a recipe with a section `loader`."""
        from ._recipe import notation

        if any(map(is_main, self._steps)):
            raise RecipeError('headrace: a recipe has only steps of the engine: leave out map with where="main", and add it after load()')
        return notation.write(self._described(importable), loader, format)

    def _described(self, spell: Callable[[Function], str] | None = None) -> dict[str, Any]:
        """What the engine is sent; `spell` says how functions are called."""
        return described(self._seed, self._steps, spell or Names())

    def loader(
        self,
        epochs: int | None = DEFAULT,
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = DEFAULT,
        order: Literal["input", "completion"] = DEFAULT,
        memory: int | str | None = DEFAULT,
        hold_limit: int | str | None = DEFAULT,
        on_error: Literal["raise", "skip", "replace"] = DEFAULT,
        max_errors: int | float | None = DEFAULT,
        steps_per_epoch: int | None = DEFAULT,
        stall_after: float | None = DEFAULT,
        dead_letters: Path | None = DEFAULT,
        fuse: bool = DEFAULT,
        jpeg: Literal["headrace", "turbo"] = DEFAULT,
        prefetch: int | None = DEFAULT,
        uneven: bool = DEFAULT,
        tune: bool = DEFAULT,
        hooks: Iterable[Any] = (),
        every: float | None = DEFAULT,
        mesh: Any = None,
        dp: str | Sequence[str] | None = None,
        cp: Any = None,
        cp_layout: Literal["zigzag", "contiguous"] | None = None,
        cp_fields: Iterable[str] | None = None,
        credentials: Callable[[], Mapping[str, Any]] | Mapping[str, Callable[[], Mapping[str, Any]]] | None = None,
        feeders: Feeders | None = None,
        metrics: str | None = None,
        page: bool | int | None = None,
    ) -> Loader:
        """Start the engine, list the source, check every step, and begin to fill batches.

            with pipeline.loader(epochs=90, on_error="skip") as loader:
                for epoch in range(90):
                    for batch in loader:
                        train_step(batch["image"], batch["label"])

        Without `batch` your loop gets single samples: dicts of arrays, numbers, `str` and `bytes`, or what a source or function returns
        instead. What is said of batches holds for them.

        Defaults are those of a loaded recipe's section `loader`, then of `headrace.defaults`, then these:

        Args:
            epochs: how many times to go through the source, counted from the first even after resuming; None, the default: without end.
            rank: which of `world_size` consumers this is; by default `RANK` of the environment, as torchrun sets it, or that of
                `torch.distributed` if it is initialised, or 0.
            world_size: how many consumers share the source; by default `WORLD_SIZE` of the environment, or that of `torch.distributed`,
                or 1.
            workers: samples in hand at once, though no more than one per core are worked on; None, the default: 1.5 per core that this
                process may use, divided by `LOCAL_WORLD_SIZE`.
            order: `"input"`, the default: the same batches in every run; `"completion"`: fast samples pass slow ones.
            memory: bytes for samples and batches in the engine, a number or text like `"2GiB"`; None, the default: a quarter of what is
                available, at most 2 GiB, divided by `LOCAL_WORLD_SIZE`.
            hold_limit: bytes of batches that your program may hold; None, the default: half of what is available.
            on_error: `"raise"`, the default: the first bad sample stops the run; `"skip"`: leave it out; `"replace"`: draw another one of
                the same source, the same in every run. Both count and name it.
            max_errors: with `"skip"` and `"replace"`: bad samples allowed in an epoch, a number or a share below 1; None, the default: 1 %,
                at least 10.
            steps_per_epoch: batches in every epoch, the same on every rank (times `loader.accumulate`): the rest is dropped, and a shorter
                epoch raises `EpochTooShort`. None, the default: as many as there are; if samples may be lost or dropped, as many as the
                rank with the fewest has, which ranks find out through `torch.distributed`; without it, several ranks then need this.
            stall_after: seconds without progress before a warning names the stuck stages and samples; 0: never; None, the default: 60.
            dead_letters: a file to append lost and replaced samples to: a JSON object per line, with the attributes of `LostSample` and the
                rank. Lines come up to two batches ahead of your loop, and again if you resume from before the loss. If a recipe names it,
                it must end in `.jsonl` and be new, or hold dead letters already.
            fuse: False runs each image operation as its own stage, with its own line in `stats()`. That is slower; with `mode="exact"` the
                pixels are the same.
            jpeg: `"headrace"`, the default, or `"turbo"`: libjpeg-turbo, slower with the same pixels. You may switch when you resume.
            prefetch: batches made ahead of your loop, as `memory` allows; None, the default: 2, and functions may be further ahead. More
                even out a loop or source that is slow at times. A number, 0 to 1000, also bounds what has begun: after n batches, your
                functions and sources were asked for the samples of at most n + `prefetch` batches, and one more for each worker; with 0
                a batch is begun when your loop asks for it. Steps that hold samples, such as `pack`, add those that they hold.
            uneven: True for evaluation: each sample comes exactly once, so ranks may get different numbers of batches. **Collective
                operations in the loop, as of DistributedDataParallel, then hang**: gather results after the loop. By default ranks are made
                even with samples from the epoch's beginning.
            tune: True changes the workers of functions while the loader runs, if your loop gets faster; not of those with a `workers=`.
                Batches, order and state are the same; `loader.tuning()` says what to write down. See
                [More workers, while it runs](bench-and-inspect.md#more-workers-while-it-runs).
            hooks: objects called around your functions, or with statistics: see `headrace.Hook`. They run inside those of
                `headrace.defaults`.
            every: seconds between calls of the hooks' `stats`; None, the default: 10. Without such hooks, a line of statistics is logged
                to `logging.getLogger("headrace.stats")`, at the level INFO, if you set it.
            mesh: a `DeviceMesh` of PyTorch or a `jax.sharding.Mesh`, instead of `rank` and `world_size`: with tensor, pipeline or context
                parallelism, ranks that differ only in these get the same batches.
            dp: the mesh's data-parallel dimension, or several, the first changing slowest; None, the default: `"dp"`.
            cp: the mesh's context-parallel dimension, along which each rank gets its part of every row. Without a mesh that has it,
                `(rank, size)`. None, the default: whole rows.
            cp_layout: `"zigzag"`, the default: of 2 × size chunks, rank i gets i and 2 × size − 1 − i; `"contiguous"`: of size chunks, i.
            cp_fields: the fields to cut; None, the default: the sequences of `pack` and `bucket_batch`, with their positions and segments.
            credentials: a function that returns those for `s3://` names, as STS has them: a dict with `AccessKeyId`, `SecretAccessKey`, and
                maybe `SessionToken` and `Expiration`; or a dict of functions by scheme: `"s3"`, and `"gs"` or `"az"`, with `Token` and
                `Expiration`. A thread of this process calls it, again before they expire, and once more if the service says that they
                have. None, the default: as `hr.defaults` says, or else the [environment](stores.md#credentials).
            feeders: `headrace.ray.feeders(…)`, actors of a Ray cluster that make batches, too: the same ones, in the same order.
            metrics: where [metrics](metrics.md) are served for Prometheus, such as `"prometheus://127.0.0.1:9464?loader=train"`; all
                loaders and ranks of a machine may have the same address. Or an OpenTelemetry collector that they are sent to, such as
                `"otlp://collector:4318"`; with `?traces=6`, traces of six samples a minute, too. None, the default: as `hr.defaults` says,
                or else `HEADRACE_METRICS` of the environment; `""`: nowhere.
            page: True opens the [live page](watch.md) and prints its address; a number is its port. Of the ranks of a machine the first has
                a page, which shows all. None, the default: as `hr.defaults` says, or else `HEADRACE_PAGE` of the environment, 1 or a port.

        Returns:
            A loader. Each `for` loop over it is one epoch.
        """
        given = {name: value for name, value in locals().items() if name not in _OF_THE_PROGRAM and value is not DEFAULT}
        from ._recipe.defaults import page_at, said, served_at, settings

        giver, functions = None, said("credentials") if credentials is None else credentials
        if functions is not None:
            from ._client.giver import Giver

            giver = Giver(functions)

        part, shared, peers = None, False, None
        if any(value is not None for value in (mesh, dp, cp, cp_layout, cp_fields)):
            from ._recipe.mesh import part_of, place_in

            if mesh is not None or dp is not None:
                given["rank"], given["world_size"], shared, peers = place_in(mesh, dp, rank, world_size)
            part = part_of(mesh, dp, cp, cp_layout, cp_fields)
        group = None
        if rank is None and world_size is None and mesh is None and dp is None and "torch.distributed" in sys.modules:
            from ._recipe.group import of_group, on_this_machine

            group = of_group()
        place = {} if group is None else {"rank": group[0], "world_size": group[1], "local_world_size": on_this_machine(group[1])}
        config, interval, usual = settings({**given, **place}, self._defaults)
        if config["world_size"] > 1 and any(getattr(one, "replicas", 1) > 1 for one in _objects_of(self._steps, "sampler")):
            text = "headrace: the sampler divides the samples among ranks, and so does the loader: give loader(world_size=1), or a sampler"
            raise RecipeError(f"{text} that does not, such as RandomSampler")
        if config["world_size"] > 1 and _reads_a_feed(self._steps):
            raise RecipeError(
                "headrace: a feed has the items of one process, so there is nothing to divide among ranks: give each rank a feed and a"
                " loader of its own, with loader(world_size=1)"
            )
        if shared or part is not None:
            from ._recipe.mesh import refuse_other_orders

            refuse_other_orders(config["order"], self._steps)
        if config["world_size"] > 1 and given["rank"] is None and given["world_size"] is None:
            from ._recipe.launcher import warn_of_other_ranks

            of = "WORLD_SIZE is" if group is None else "the world size of torch.distributed is"
            warn_of_other_ranks(config["world_size"], part, of)
        if config["world_size"] > 1 and "torch.distributed" in sys.modules:
            if mesh is None:
                from ._recipe.mesh import peers_of

                peers = peers_of(config["rank"], config["world_size"])
            if peers is not None and config["steps_per_epoch"] is None and "uneven" not in config:
                config["agree"] = True
        if feeders is not None:
            feeders.check(self, config)
        try:
            shown, idle = (served_at(metrics), page_at(page)), feeders is not None
            loader = self._start(config, None, None, _hooks(usual, hooks), interval, part, peers, giver, shown, idle)
        except RecipeError as error:
            if "initialise torch.distributed" not in str(error) or "torch.distributed" not in sys.modules:
                raise
            from ._recipe.mesh import say_who_agrees

            told = say_who_agrees(error, config["rank"], config["world_size"])
            raise RecipeError(*told.args) from error.__cause__
        loader._of_group = group is not None
        if feeders is not None:
            try:
                feeders.attach(loader, self, config)
            except BaseException:
                loader.close()
                raise
        return loader

    def _start(
        self,
        config: dict[str, Any],
        state: dict[str, Any] | None = None,
        replay: int | None = None,
        hooks: tuple[Any, ...] = (),
        every: float | None = None,
        part: Part | None = None,
        peers: list[int] | None = None,
        giver: Giver | None = None,
        shown: tuple[str | None, int | None] = (None, None),
        idle: bool = False,
    ) -> Loader:
        # The order matters: the engine starts while what takes long here is imported. The
        # run begins after that: its clock is about the loop, not about an import.
        from ._client.engine import manager

        connection = manager.connect()
        try:
            formats.load(self._format)
        except BaseException:
            connection.close()
            raise
        from ._client.session import Request, Session

        names = Names()
        recipe = described(self._seed, self._steps, names)
        main = list(filter(is_main, self._steps))
        python = here = None
        if has_functions(recipe["steps"]):
            from ._recipe.hooks import of_functions
            from ._recipe.interpreter import interpreter

            around = of_functions(hooks)
            called = list(places(recipe["steps"]))
            sent = {name for name, where in called if not is_here(where)} | {one["initializer"] for one in names.sets.values()}
            try:
                functions = {name: function for name, function in names.functions.items() if name in sent}
                python = interpreter(functions, names.sets, sent, around)
                if any(is_here(where) for _, where in called):
                    from ._worker.here import Here

                    here = Here({name: function.value for name, function in names.functions.items()}, around)
            except BaseException:
                connection.close()
                raise
        request = Request(recipe, config, python, here, giver, *shown)
        if python is not None and here is None and not main and not names.sets:
            from ._loader.imports import movable

            request.movable = movable(self._steps)
        session = Session(connection, request, state=state, replay=replay, idle=idle)
        from ._loader.loader import Loader

        try:
            return Loader(session, self, main, hooks, every, part, peers)
        except RecipeError as error:
            raise located(error, all_steps(self._steps)) from error.__cause__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # asked for by copy, pickle, IPython and others, who go on without
            raise NoSuchName(name)
        from ._report.hints import no_method

        raise NoSuchName(no_method(name, [one for one in dir(Pipeline) if not one.startswith("_")]))

    def __iter__(self) -> NoReturn:
        raise WrongType("a pipeline is only a description, and cannot be iterated over: write for batch in pipeline.loader():")

    def __len__(self) -> NoReturn:
        raise WrongType("a pipeline is only a description, and has no length: write len(pipeline.loader())")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: slice) -> Pipeline:
        if not isinstance(index, slice):
            text = "a pipeline is only a description, and has no items: write for batch in pipeline.loader():"
            raise WrongType(f"{text}; pipeline[10:20] uses a range of its samples")
        return self.slice(index.start, index.stop, 1 if index.step is None else index.step)

    def __repr__(self) -> str:
        from ._report import draw

        return "\n".join(draw.lines(self._drawn(), self._seed))

    def _repr_html_(self) -> str:
        from ._report import draw

        return draw.page(draw.chain_html(self._drawn(), self._seed))

    def _drawn(self) -> list[dict[str, Any]]:
        """The steps, and what batches consist of if that was said."""
        return [*self._steps, *self._format.drawn()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return (self._seed, self._steps, self._format, self._defaults) == (other._seed, other._steps, other._format, other._defaults)

    def __hash__(self) -> int:
        """Equal pipelines are one key of `mix`, which has the same samples of both anyway."""
        return hash((self._seed, *map(operation, self._steps)))


_OF_MESH = ("mesh", "dp", "cp", "cp_layout", "cp_fields")
_OF_THE_PROCESS = ("self", "rank", "world_size", *_OF_MESH)
_OF_THE_PROGRAM = ("self", "hooks", "credentials", "feeders", "metrics", "page", *_OF_MESH)


def _hooks(*given: Iterable[Any]) -> tuple[Any, ...]:
    """The hooks of the process and of a loader, if there are any."""
    if not any(given):
        return ()
    from ._recipe.hooks import hooks_of

    return tuple(hook for some in given for hook in hooks_of(some))


def _reads_a_feed(steps: Iterable[dict[str, Any]]) -> bool:
    from ._recipe.feed import Feed

    return any(isinstance(one, Feed) for one in _objects_of(steps, "source"))


def _objects_of(steps: Iterable[dict[str, Any]], op: str) -> list[Any]:
    """The objects of all steps of an operation; None for one that only has a name."""
    return [getattr(step[op]["function"], "value", None) for step in all_steps(steps) if op in step]

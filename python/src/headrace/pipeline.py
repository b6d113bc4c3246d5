"""Describes a pipeline: what to read, what to do with it, how to batch it. Nothing runs before `.loader()`."""

from __future__ import annotations

import os

from ._batch import format as formats
from ._recipe.arguments import (
    absolute,
    by_name,
    byte_count,
    count_or_share,
    dtype_name,
    from_environment,
    integer,
    integers,
    names_of,
    number_of,
    numbers_for,
    numbers_of,
    optional,
    range_of,
    seconds_of,
    size_of,
    truth,
    when_of,
)
from ._recipe.functions import Function, Names, batched, has_functions, importable, is_main, places, plain, spelled
from ._recipe.step import Step, located
from ._report.tracebacks import all_briefly, briefly
from .errors import NoSuchName, RecipeError, WrongType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal, NoReturn

    from ._batch.format import Format
    from ._loader.loader import Loader
    from ._recipe.workers import Workers

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Size = int | tuple[int, int] | list[int]
    Filter = Literal["bilinear", "box", "hamming", "bicubic", "lanczos", "nearest"]
    Anchor = Literal["center", "top_left", "top", "top_right", "left", "right", "bottom_left", "bottom", "bottom_right"]
    Jitter = float | tuple[float, float] | list[float]
    When = str | int | Iterable[str] | Iterable[int] | None
    Branch = Callable[["Pipeline"], "Pipeline"]
    Some = str | Iterable[str]
    Seeds = Iterable[Literal["random", "numpy", "torch"]]
    Where = Literal["process", "thread", "here"] | Workers

__all__ = ["Pipeline", "defaults", "files", "load", "merge", "read", "source"]


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
    fields: Mapping[str, str | tuple[str, Any]] | Some | None = None,
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
            `(str, (None,))` for a list of text. Or just the names to keep. By default everything; in tar files images are `bytes` then, and
            `cls` is `label`. `headrace inspect FILE` lists the names.
        format: the files' format, such as `"tar"`; by default told from their contents or names.
        errors: text that is not UTF-8: `"strict"`: a bad sample; `"replace"`: U+FFFD, as `bytes.decode(errors="replace")` has it, also in
            names of columns and members. Fields of `bytes` and the names of files stay as they are.
        seed: for all random operations, as for `files`.

    Returns:
        A pipeline with these fields and `key`.
    """
    from ._recipe.read import read_arguments

    args = read_arguments(source, fields, format, errors)
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
    where: Where = "process",
) -> Pipeline:
    """Read samples from a Python object: the first step of a pipeline.

        loader = hr.source(dataset, fields=["image", "label"]).shuffle().batch(32).loader()

    Worker processes read a copy. Later changes to the object do not reach it, except what `set_epoch(epoch)` changes, which they call, and
    shared memory. It is one of these:

    - a list, a PyTorch Dataset, or anything else with `__getitem__` and `__len__`, read by number. You can shuffle, shard across ranks and
      resume it like files.
    - an iterable, a generator function, or a function that returns an iterable, also async ones. One worker iterates it once per epoch. To
      resume, it needs `state_dict` and `load_state_dict`. With several ranks, a function is passed `rank` and `world_size`.

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
        pipeline = Pipeline(pipeline._seed, (Step({"source": given}),), formats.NUMPY)
    return pipeline._with("sampler", args)


@briefly
def merge(
    pipelines: Iterable[Pipeline],
    *_more: Pipeline,
    order: Literal["round_robin", "weights", "arrival"] | None = None,
    weights: Iterable[float] | None = None,
    until: Literal["longest", "shortest"] | int | None = None,
    fill: float | Mapping[str, float] | None = None,
    seed: int | None = None,
) -> Pipeline:
    """Combine the samples of several pipelines: the first step of a pipeline.

        cats = hr.files("cats").shuffle().decode_image()
        dogs = hr.files("dogs").shuffle().decode_image()
        loader = hr.merge([cats, dogs], weights=[3, 1]).random_resized_crop(224).batch(32).loader()

    Pipelines may have steps, but no batches. All must have the same fields and dtypes; heights and widths may differ. `select`, `drop`,
    `rename` and `fill` make them alike, and a missing `key` is filled in. Labels of `label="parent"` are numbered across all folders.

    Args:
        pipelines: what to combine, all with the same `seed`.
        order: `"round_robin"`, the default; `"weights"`, the default with weights: drawn by them, the same in each run; `"arrival"`:
            whichever has a sample first, which differs between runs.
        weights: how often each is next: numbers above 0, relative to their sum. No pipeline restarts within an epoch, so they hold until
            the first one ends; `until="shortest"` ends the epoch there, and without it you are warned of the shares that will come.
        until: an epoch ends with the `"longest"` pipeline, the default, the `"shortest"`, or after this many samples in all, on all ranks.
            Each rank takes turns among its own parts, so an epoch that ends early may have other samples with another number of ranks.
        fill: values for fields that some lack: a number, or numbers by field, such as {"label": -1}, 0 for others; text is empty. By
            default all must have the same fields.
        seed: for drawing by weights; by default the pipelines' seed.

    Returns:
        A pipeline with their fields.

    Raises:
        RecipeError: if their seeds or formats differ, or the sections `loader` of the recipes they were loaded from.
    """
    if _more or isinstance(pipelines, Pipeline) or not hasattr(pipelines, "__iter__"):
        raise RecipeError("headrace: merge: give one list of pipelines: merge([a, b])")
    given = list(pipelines)
    for i, pipeline in enumerate(given):
        if not isinstance(pipeline, Pipeline):
            raise RecipeError(f"headrace: merge: item {i} is {pipeline!r}: must be a pipeline")
        for what, name in (("_seed", "the seed"), ("_format", "the format"), ("_defaults", "the section loader")):
            mine, first = getattr(pipeline, what), getattr(given[0], what)
            if mine != first:
                raise RecipeError(f"headrace: merge: pipeline {i} has {name} {mine!r}, but pipeline 0 has {first!r}: they must be the same")
    if not given:
        raise RecipeError("headrace: merge: there is nothing to merge: give pipelines")
    for i, pipeline in enumerate(given):
        if any(map(is_main, pipeline._steps)):
            raise RecipeError(f'headrace: merge: pipeline {i} has a step with where="main": put that after the batch of what is merged')
    args = {
        "of": [list(pipeline._steps) for pipeline in given],
        "order": order,
        "weights": None if weights is None else [number_of("weights", w) for w in weights],
        "seed": optional("seed", seed),
        "until": until if until is None or isinstance(until, str) else integer("until", until),
        "fill": None if fill is None else numbers_for("fill", fill),
    }
    return Pipeline(given[0]._seed, (), given[0]._format, given[0]._defaults)._with("merge", args)


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
    for step in notation.steps(recipe["steps"]):
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

    Args:
        arguments: any of `Pipeline.loader` except `rank` and `world_size`. None restores Headrace's default.

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
    return process.change(arguments, [name for name in signature(Pipeline.loader).parameters if name not in _OF_THE_PROCESS])


@all_briefly
class Pipeline:
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
        return Pipeline(self._seed, (*self._steps, Step({op: given})), self._format, self._defaults)

    def _image(self, op: str, field: str | None, fields: Some | None, args: dict[str, Any]) -> Pipeline:
        """A step on an image, or on several."""
        if field is not None and not isinstance(field, str):
            raise RecipeError(f"headrace: {op}: field is {field!r}: must be the name of an image; for several write fields=[…]")
        return self._with(op, args | {"field": field, "fields": None if fields is None else names_of(op, (fields,))})

    def shuffle(self, seed: int | None = None, *, window: int | None = None) -> Pipeline:
        """Visit samples in another random order in each epoch: `.shuffle()`, `.shuffle(window=65_536)`.

        By default any sample may come next. That is best if each can be read alone: files, tar shards, Parquet with images, uncompressed
        rows. If many are compressed together, as in `.json.gz`, each read decompresses them all: set `window` to shuffle among about 64
        runs of neighbours, which are read once. `headrace inspect` says what your data needs.

        The order depends only on the seed, the epoch and the window, not on machine, workers or ranks. It needs no buffer of samples.

        Args:
            seed: by default that of `files`.
            window: shuffle this many samples at a time, at least 1; by default all. 65,536 suits text.
        """
        given = {"seed": None if seed is None else integer("seed", seed), "window": None if window is None else integer("window", window)}
        return self._with("shuffle", given)

    def weighted(
        self,
        weights: Iterable[float],
        draws: int | None = None,
        replacement: bool = True,
        *,
        seed: int | None = None,
    ) -> Pipeline:
        """Draw each epoch's samples by weights: `.weighted([1.0, 0.5, 0.5], draws=1000)`.

        It follows the source, instead of `shuffle`. Draws depend only on seed and epoch, not on workers or ranks. A sample drawn twice gets
        different random crops.

        Args:
            weights: how likely each sample of the source is drawn: numbers of at least 0, relative to their sum.
            draws: samples in an epoch; by default as many as there are weights.
            replacement: a sample may be drawn again in the same epoch.
            seed: by default the source's.
        """
        numbers = [number_of("weights", w) for w in (weights.tolist() if hasattr(weights, "tolist") else weights)]
        if draws is not None and integer("draws", draws) < 1:
            raise RecipeError(f"headrace: draws is {draws}: must be at least 1")
        args = {
            "weights": numbers,
            "draws": optional("draws", draws),
            "replacement": truth("replacement", replacement),
            "seed": optional("seed", seed),
        }
        return self._with("weighted", args)

    def route(
        self,
        by: str | Callable[..., Any],
        branches: Iterable[Branch | tuple[When, Branch]],
        *,
        fields: Some | None = None,
        workers: int | None = None,
        where: Where = "process",
    ) -> Pipeline:
        """Send each sample to one of several branches, and continue with what any of them returns.

            .route("key", [("*.png", lambda p: p.random_crop(64)), lambda p: p.center_crop(64)])

        Samples keep their order. All branches must give the same fields and dtypes; heights and widths may differ.

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
        inside = add(Pipeline(self._seed, (), self._format))
        if not isinstance(inside, Pipeline):
            raise RecipeError(f"headrace: {whose} returns {inside!r}: must return the pipeline it is given, with its steps")
        return inside._steps

    def select(self, *fields: Some) -> Pipeline:
        """Keep some fields of each sample, in this order, and drop the others: `.select("image", "label")`.

        Nothing is copied, and image steps before and after still run as one pass.

        Args:
            fields: names, or lists of them.
        """
        return self._with("select", {"fields": names_of("select", fields)})

    def drop(self, *fields: Some) -> Pipeline:
        """Drop some fields of each sample: `.drop("path")`. Nothing is copied.

        Args:
            fields: names, or lists of them.
        """
        return self._with("drop", {"fields": names_of("drop", fields)})

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

    def boxes(self, field: str = "boxes", *, along: Some | None = None, image: str = "image") -> Pipeline:
        """Tie boxes to an image: later steps move them with its pixels, and drop those that leave it.

            .decode_image().boxes(along="labels").random_resized_crop(512).random_flip().bucket_batch([8, 32, 128], size=16)

        Boxes are cut at the edge. If less than a pixel of width or height is left, the box is dropped, with its row in the fields along
        with it, as by torchvision's transforms followed by `SanitizeBoundingBoxes`. Coordinates are pixels of the image at this step,
        upright if `decode_image` turned it.

        Args:
            field: the boxes, `float32` or `float64 [n, 4]`: left, top, right, bottom edge. n may differ between samples.
            along: fields with a row for each box, such as labels.
            image: the image.
        """
        return self._with("boxes", {"field": field, "along": None if along is None else names_of("boxes", (along,)), "image": image})

    def copy(self, field: str, to: Some) -> Pipeline:
        """Copy a field under other names: `.copy("image", to=["clean", "noisy"])`. For augmented views, see `views`.

        Images are only copied in memory if the pipeline has a Python function, which could change one in place.

        Args:
            field: the field, which stays.
            to: names for its copies, which must be new.
        """
        if not isinstance(field, str):
            raise RecipeError(f"headrace: copy: field is {field!r}: must be the name of a field")
        return self._with("copy", {"field": field, "to": names_of("copy", (to,))})

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
            made = Pipeline(self._seed, (*made._steps, *steps_of_view), self._format, self._defaults)
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
        given = by_name(on_error=on_error, max_errors=max_errors, retries=retries, wait=wait, time_limit=time_limit)
        (*before, last) = self._steps
        if is_main(last):
            raise RecipeError('headrace: failures: does not apply to map with where="main", whose errors the loop raises')
        if on_error == "replace" and (last.get("batch") or {}).get("collate"):
            text = 'headrace: failures: on_error is "replace": collate fails for a whole batch, and no other batch can replace it'
            raise RecipeError(f'{text}: must be "raise" or "skip"')
        failures = last.get("failures", {}) | {name: value for name, value in given.items() if value is not None}
        return Pipeline(
            self._seed, (*before, Step(last | {"failures": failures}, line=getattr(last, "line", None))), self._format, self._defaults
        )

    def decode_image(
        self,
        *,
        field: str | None = None,
        to: str | None = None,
        mode: Literal["exact", "fast"] | None = None,
        orient: bool | None = None,
        color: Literal["rgb", "rgba", "gray", "mask"] | None = None,
        background: Sequence[int] | None = None,
        dtype: Literal["uint8", "uint16"] | None = None,
        frame: int | None = None,
        max_pixels: int | None = None,
    ) -> Pipeline:
        """Decode a compressed image to pixels, by default `uint8 [height, width, 3]`.

            .decode_image()

        JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are recognized by content, not by name. ICC profiles are ignored.

        Args:
            field: the field with the compressed image; by default where `files` put it.
            to: the field for the pixels, by default `"image"`.
            mode: `"exact"`, the default: the pixels of Pillow and torchvision, to one level. `"fast"`: JPEGs shrunk to half or less are
                decoded at a smaller scale; docs/performance.md shows how far pixels differ.
            orient: turn and mirror as EXIF says; by default True.
            color: `"rgb"`, the default, and `"gray"` drop alpha without a background, as Pillow does. `"rgba"` keeps it; other images are
                opaque. `"mask"`: the stored palette or gray values, [height, width], never mixed; colour images are bad samples. See
                [masks](masks.md).
            background: (red, green, blue), 0 to 255, shown through transparency.
            dtype: `"uint8"`, the default, keeps the upper 8 of 16 bits. `"uint16"` keeps all, and turns an 8-bit v into 257·v, but not in a
                mask.
            frame: only 0: the first frame of an animation or page of a document.
            max_pixels: largest image decoded, in pixels; by default 178,956,970, which is also the most. Larger ones are bad samples and
                allocate no memory.
        """
        given = by_name(field=field, to=to, mode=mode, orient=orient, color=color, background=background, dtype=dtype)
        return self._with("decode_image", given | by_name(frame=frame, max_pixels=max_pixels))

    def decode_audio(
        self,
        rate: int | None = None,
        channels: int | Literal["mono"] | None = None,
        duration: float | None = None,
        *,
        start: float | Literal["begin", "center", "random"] | None = None,
        window: str | None = None,
        short: Literal["silence", "repeat", "error", "keep"] | None = None,
        damaged: Literal["error", "keep"] | None = None,
        dtype: Any = None,
        layout: Literal["T", "TC", "CT"] | None = None,
        stream: int | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Decode the audio of a file, or a window of it: WAV, FLAC, MP3, AAC, Opus, Vorbis, ALAC, AIFF, and the audio of video files.

            hr.files("words").decode_audio(16000, "mono", duration=1.0, start="random").batch(32)

        A window holds the same numbers as that slice of the whole recording, and costs the same in a file of any length. After `files(…,
        content=False)` little more than the window is read of WAV and FLAC. Encoder padding is cut off. The resampler's passband ends at
        0.913 of half the lower rate; from that half on it is 110 dB down.

        Args:
            rate: samples per second; by default the file's.
            channels: 1 or `"mono"`: the mean of all. 2: left and right. By default the file's.
            duration: length of the window in seconds; by default everything.
            start: where the window is: `"begin"`, the default, `"center"`, `"random"`, or the second where it begins.
            window: instead of start: a field with the window's begin and end in seconds, float64 or float32 [2], as
                `decode_video(window=…)` writes it. With duration it has that length, wherever it ends. Time counts from a video's first
                frame, or a recording's beginning; missing audio is silence.
            short: recordings shorter than the window: `"silence"`, the default: appended; `"repeat"`: started again; `"error"`: bad
                samples; `"keep"`: stay short, for `bucket_batch` and `pack`.
            damaged: `"error"`, the default: a recording that is cut off or damaged makes a bad sample. `"keep"`: it has what is there, and
                silence for packets that cannot be decoded; `stats()["damaged_audio"]` counts them.
            dtype: `"float32"`, the default, from -1 to 1, or `"int16"`.
            layout: `"T"`, [time], the default with one channel; `"TC"`, [time, channels], the default otherwise; or `"CT"`.
            stream: which audio stream, from 0; by default the one marked as default, or the first.
            field: the field with the file's content or path; by default where `files` put it.
            to: the field for the samples, by default `"audio"`.
        """
        named = start is None or isinstance(start, str)
        given = by_name(field=field, to=to, stream=stream, rate=rate)
        given |= by_name(channels=1 if channels == "mono" else optional("channels", channels), duration=duration)
        given |= {
            "start": start if named else None,
            "offset": None if named else seconds_of("start", start),
            "short": short,
            "damaged": damaged,
        }
        given |= {"window": window, "dtype": None if dtype is None else dtype_name(dtype), "layout": layout}
        return self._with("decode_audio", given)

    def log_mel(
        self,
        preset: Literal["whisper", "kaldi", "librosa", "torchaudio"] | None = None,
        *,
        rate: int | None = None,
        n_fft: int | None = None,
        win_length: int | None = None,
        hop_length: int | None = None,
        n_mels: int | None = None,
        f_min: float | None = None,
        f_max: float | None = None,
        layout: Literal["TM", "MT"] | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Make a log-mel spectrogram, float32, of one channel of audio.

            hr.files("words").decode_audio(16000, "mono", 1.0).log_mel("whisper").batch(32)

        It does not resample: decode at the preset's rate. A recording too short for one frame is a bad sample.

        Args:
            preset: whose spectrogram. `"whisper"`, the default: 80 bands at 16 kHz, without padding to 30 s. `"kaldi"`: 80 bands, as
                torchaudio's `compliance.kaldi.fbank` without dither, on 16-bit values (-32768 to 32767). `"librosa"`:
                `feature.melspectrogram` and `power_to_db`, 128 bands at 22,050 Hz. `"torchaudio"`: `MelSpectrogram` and
                `AmplitudeToDB("power")`, 128 bands at 16 kHz.
            rate: samples per second; like all that follow, by default the preset's.
            n_fft: length of a transform, in samples.
            win_length: length of a frame, in samples; by default the preset's, or `n_fft` if given.
            hop_length: samples between frames.
            n_mels: number of bands.
            f_min: Hz where the first band begins.
            f_max: Hz where the last band ends; by default half the rate.
            layout: `"TM"`, [frames, bands], the default, as `bucket_batch` and `pack` need it; or `"MT"`, [bands, frames].
            field: the field with the samples, float32 or int16 [time], which is removed; by default `"audio"`.
            to: the field for the spectrogram, by default `"mel"`.
        """
        given = by_name(field=field, to=to, preset=preset, rate=rate, n_fft=n_fft, win_length=win_length, hop_length=hop_length)
        given |= by_name(n_mels=n_mels, f_min=None if f_min is None else float(f_min), f_max=None if f_max is None else float(f_max))
        return self._with("log_mel", given | {"layout": layout})

    def decode_video(
        self,
        frames: int | None = None,
        *,
        stride: int | None = None,
        fps: float | None = None,
        segments: int | None = None,
        clips: int | None = None,
        start: float | str | None = None,
        duration: float | None = None,
        min_frames: int | None = None,
        max_frames: int | None = None,
        multiple: int | None = None,
        short: Literal["repeat", "loop", "black", "error"] | None = None,
        times: str | None = None,
        window: str | None = None,
        stream: int | None = None,
        orient: bool | None = None,
        aspect: Literal["stored", "square"] | None = None,
        mode: Literal["exact", "fast"] | None = None,
        dtype: Any = None,
        color: Literal["rgb", "yuv420", "nv12"] | None = None,
        size: Size | None = None,
        matrix: str | None = None,
        damaged: Literal["error", "keep"] | None = None,
        mask: str | None = None,
        max_pixels: int | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Decode frames of a video to a clip, uint8 [frames, height, width, 3].

            hr.files("kinetics/*/*.mp4", label="parent", content=False).decode_video(16, stride=4).random_resized_crop(224).batch(8)

        Frames are exact to the byte wherever decoding begins, and packets that no frame needs are not read. Image operations that follow
        treat all frames of a clip alike. A damaged frame makes a bad sample, named with frame and time.

        Args:
            frames: frames in a clip. Without stride, fps and segments they are spread evenly from the first to the last.
            stride: from one frame to the next, in frames.
            fps: frames per second: those on screen at these times, even if a video's rate varies.
            segments: this many equal parts, one frame of each.
            clips: this many clips per video, along an axis of their own: [clips, frames, height, width, 3].
            start: where a clip begins: `"random"`, the default, `"center"`, `"begin"`, a second, or the name of a field with the second.
                With segments: which frame of each.
            duration: length of a clip in seconds.
            min_frames: with fps, without frames: at least so many.
            max_frames: likewise: at most so many.
            multiple: likewise: a multiple of this.
            short: videos shorter than a clip: `"repeat"`, the default: the last frame again; `"loop"`: start again; `"black"`: black
                frames; `"error"`: a bad sample.
            times: a field for each frame's display time in seconds, from the first frame: float64 [frames].
            window: a field for the clip's begin and end in seconds, float64 [2]. The file's field stays, for `decode_audio(window=…)`.
            stream: which video stream; by default the one players show.
            orient: turn frames as the file says; by default True.
            aspect: `"stored"`, the default: the file's pixels. `"square"`: non-square pixels, as on DVDs, are widened or narrowed first.
            mode: `"exact"`, the default: converts to RGB first. `"fast"`: may resize planes before converting, several times faster, a few
                levels off.
            dtype: `"uint8"`, the default, or `"uint16"`, of full scale: 10-bit videos keep their bits. Planes keep the video's own numbers.
            color: `"rgb"`, the default. `"yuv420"` and `"nv12"` leave 4:2:0 planes, half the bytes, for conversion on a device, as by
                `hr.torch.to_rgb`: luma, then Cb and Cr, one after the other (yuv420) or interleaved (nv12). A frame is [height + height /
                2, width], rounded up; an odd width repeats luma's last column. No image operation may follow.
            size: with planes: resize frames to (height, width), as a batch needs; by default they keep their size.
            matrix: with planes: a field for their colours, int64 [4]: the matrix's number in ITU-T H.273, 1 for full range, chroma location
                (0 left, 1 centre, 2 top left), bits of a sample.
            damaged: `"error"`, the default: a damaged frame makes a bad sample. `"keep"`: it stays as the decoder concealed it, or black.
            mask: with `"keep"`: a field for which frames are damaged, bool [frames].
            max_pixels: largest frame decoded, in pixels.
            field: the field with the file's path or content; by default where `files` put it.
            to: the field for the clip, by default `"video"`.
        """
        named = start in ("begin", "center", "random")
        given = by_name(field=field, to=to, stream=stream, frames=frames, stride=stride, fps=fps, segments=segments, clips=clips)
        given["start"] = start if named else None
        given["offset"] = None if start is None or isinstance(start, str) else seconds_of("start", start)
        given["at"] = start if isinstance(start, str) and not named else None
        given |= by_name(
            duration=duration, min_frames=min_frames, max_frames=max_frames, multiple=multiple, short=short, times=times, window=window
        )
        given |= {"orient": orient, "aspect": aspect, "mode": mode, "dtype": None if dtype is None else dtype_name(dtype)}
        given |= {"color": color, "size": None if size is None else size_of(size), "matrix": matrix, "damaged": damaged, "mask": mask}
        return self._with("decode_video", given | by_name(max_pixels=max_pixels))

    def video_clips(
        self,
        frames: int,
        *,
        stride: int | None = None,
        fps: float | None = None,
        step: int | None = None,
        clips: int | None = None,
        start: Literal["random", "center", "begin"] | None = None,
        short: Literal["repeat", "loop", "black", "error", "drop"] | None = None,
        times: str | None = None,
        window: str | None = None,
        number: str | None = None,
        stream: int | None = None,
        orient: bool | None = None,
        aspect: Literal["stored", "square"] | None = None,
        mode: Literal["exact", "fast"] | None = None,
        dtype: Any = None,
        color: Literal["rgb", "yuv420", "nv12"] | None = None,
        size: Size | None = None,
        matrix: str | None = None,
        damaged: Literal["error", "keep"] | None = None,
        mask: str | None = None,
        max_pixels: int | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Cut a video into clips, each a sample: consecutive pieces, or clips from chosen places.

            every = hr.files("films/*.mp4", content=False).video_clips(32, stride=2, step=64).resize(224, fit="crop").batch(8)
            some = hr.files("films/*.mp4", content=False).shuffle().video_clips(16, stride=4, clips=4).batch(8)

        Clips keep their video's key and other fields. They are decoded one by one, so memory does not depend on a film's length, and
        resuming decodes none again. Random steps draw for each clip. `len(loader)` is exact with `clips`; the number of pieces is not known
        in advance.

        Args:
            frames: frames in a clip.
            stride: from one frame to the next, in frames; by default 1.
            fps: frames per second: those on screen at these times, even if a video's rate varies.
            step: from one piece's beginning to the next, in frames of the video, or at the rate fps; by default without gaps.
            clips: instead of pieces, this many clips per video.
            start: with clips: `"random"`, the default; `"center"` and `"begin"` spread them evenly.
            short: clips with too few frames, such as the last piece: `"repeat"`, the default: the last frame again; `"loop"`: start again;
                `"black"`: black frames; `"error"`: a bad sample; `"drop"`: left out.
            times: as for `decode_video`.
            window: likewise, after `files(…, content=False)`.
            number: a field for the clip's number in its video, from 0.
            stream: as for `decode_video`, like all that follow.
            orient: likewise.
            aspect: likewise.
            mode: likewise.
            dtype: likewise.
            color: likewise.
            size: likewise.
            matrix: likewise.
            damaged: likewise.
            mask: likewise.
            max_pixels: likewise.
            field: likewise.
            to: likewise.
        """
        given = by_name(field=field, to=to, stream=stream, frames=frames, stride=stride, fps=fps, step=step, clips=clips, start=start)
        given |= by_name(short=short, times=times, window=window, number=number, max_pixels=max_pixels)
        given |= by_name(orient=orient, aspect=aspect, mode=mode)
        given |= {"color": color, "size": None if size is None else size_of(size), "matrix": matrix, "damaged": damaged, "mask": mask}
        return self._with("video_clips", given | {"dtype": None if dtype is None else dtype_name(dtype)})

    def decode_npy(
        self,
        dtype: Any,
        shape: Sequence[int | None] | None = None,
        *,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Read an array in NumPy's format (.npy): numbers or bools, little-endian, in C order.

            hr.files("tokens/*.npy").shuffle().decode_npy("int32", to="tokens").pack(2048, size=8)

        A file with another dtype or shape is a bad sample. Nothing is evaluated or unpickled.

        Args:
            dtype: `"int32"`, `numpy.int32` and so on; `"bfloat16"` accepts its bits as uint16, or as ml_dtypes writes them.
            shape: None for an extent that differs; by default (None,), a sequence of numbers.
            field: the field with the file; by default where `files` put it.
            to: the field for the array, by default `"array"`.
        """
        extents = None if shape is None else [optional("shape", n) for n in shape]
        return self._with("decode_npy", {"field": field, "to": to, "dtype": dtype_name(dtype), "shape": extents})

    def resize(
        self,
        size: Size,
        max_size: int | None = None,
        *,
        filter: Filter | None = None,
        fit: Literal["short", "stretch", "pad", "crop"] | None = None,
        anchor: Anchor | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Resize an image, antialiased.

            .resize((480, 640), fit="pad", fill=114)    # a letterbox

        Args:
            size: length of the shorter edge, or (height, width). With a fit other than `"short"`, one number means both.
            max_size: limit for the longer edge.
            filter: `"bilinear"`, the default, `"box"`, `"hamming"`, `"bicubic"`, `"lanczos"` or `"nearest"`, as in Pillow. Masks always use
                nearest.
            fit: `"short"`, the default with one number: the shorter edge gets the size. `"stretch"`, the default with (height, width): to
                the size. `"pad"`: into the size, the rest is fill, as Pillow's `ImageOps.pad`. `"crop"`: over the size, the rest is cut
                off, as `ImageOps.fit`.
            anchor: where the image is (pad), or the part to keep (crop): `"center"`, the default, `"top_left"`, `"top"`, `"top_right"`,
                `"left"`, `"right"`, `"bottom_left"`, `"bottom"` or `"bottom_right"`.
            fill: with `"pad"`, the colour of the rest: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image(
            "resize", field, fields, by_name(size=size_of(size), max_size=max_size, filter=filter, fit=fit, anchor=anchor, fill=fill)
        )

    def resize_to_bucket(
        self, sizes: Iterable[Size], *, filter: Filter | None = None, field: str | None = None, fields: Some | None = None
    ) -> Pipeline:
        """Resize to cover the size whose proportions are nearest, and crop the middle.

            .resize_to_bucket([[256, 256], [256, 384], [384, 256]])

        With several sizes, each batch holds images of one size. Operations in between must keep the size, or change each to another; a crop
        or resize to one size makes all batches alike again.

        Args:
            sizes: (height, width) of each; if two are equally near, the first is used.
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("resize_to_bucket", field, fields, {"sizes": [size_of(size) for size in sizes], "filter": filter})

    def center_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Crop the middle of an image; a smaller image gets a black border.

            .resize(256).center_crop(224)

        Args:
            size: (height, width), or one number for both.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("center_crop", field, fields, {"size": size_of(size)})

    def random_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Crop a random part of an image. A smaller image is a bad sample: `pad` or `resize` it first.

            .pad(4).random_crop(32)

        Args:
            size: (height, width), or one number for both.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("random_crop", field, fields, {"size": size_of(size)})

    def random_resized_crop(
        self,
        size: Size,
        scale: tuple[float, float] | None = None,
        ratio: tuple[float, float] | None = None,
        *,
        filter: Filter | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Crop a random part of an image and resize it.

            .random_resized_crop(224)

        Args:
            size: (height, width) of the result, or one number for both.
            scale: least and greatest share of the image's area, by default (0.08, 1).
            ratio: least and greatest ratio of width to height, by default (3/4, 4/3).
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        args = {"size": size_of(size), "scale": range_of("scale", scale), "ratio": range_of("ratio", ratio), "filter": filter}
        return self._image("random_resized_crop", field, fields, args)

    def pad(
        self,
        padding: int | Sequence[int] | None = None,
        fill: int | Sequence[int] = 0,
        *,
        size: Size | None = None,
        anchor: Anchor | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Add a border of one colour to an image.

            .pad(4)

        Args:
            padding: width of the border: of all sides, (horizontal, vertical), or (left, top, right, bottom).
            fill: its colour: one number, or one per channel.
            size: instead of padding, (height, width) with the border, or one number for both. Larger images are bad samples: `resize` with
                `fit="pad"` shrinks them first.
            anchor: with size: where the image is, as for `resize`; by default `"center"`.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        args = {
            "padding": None if padding is None else integers("padding", padding),
            "fill": integers("fill", fill),
            "size": None if size is None else size_of(size),
            "anchor": anchor,
        }
        return self._image("pad", field, fields, args)

    def random_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Flip an image left to right at random.

            .random_flip()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("random_flip", field, fields, {"p": number_of("p", p)})

    def random_vertical_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Flip an image top to bottom at random.

            .random_vertical_flip(0.5)

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("random_vertical_flip", field, fields, {"p": number_of("p", p)})

    def rotate90(self, turns: int = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Rotate an image by quarter turns.

            .rotate90(1)

        Args:
            turns: quarter turns counter-clockwise, as `numpy.rot90`; negative ones are clockwise.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("rotate90", field, fields, {"turns": integer("turns", turns)})

    def random_rotate90(self, p: float = 1.0, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Rotate an image by 0, 1, 2 or 3 quarter turns, with equal probability.

            .random_rotate90()

        Args:
            p: the probability of a rotation, which may be by 0 turns.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("random_rotate90", field, fields, {"p": number_of("p", p)})

    def color_jitter(
        self,
        brightness: Jitter = 0,
        contrast: Jitter = 0,
        saturation: Jitter = 0,
        hue: Jitter = 0,
        *,
        p: float | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Change brightness, contrast, saturation and hue at random, in random order, as torchvision's `ColorJitter`.

            .color_jitter(0.4, 0.4, 0.4, 0.1)
            .color_jitter(0.4, 0.4, 0.2, 0.1, p=0.8)    # every fifth image stays as it is, as in SimCLR

        0 changes nothing.

        Args:
            brightness: x: a factor from 1-x to 1+x; or the (least, greatest) factor.
            contrast: as for brightness.
            saturation: as for brightness.
            hue: x, at most 0.5: from -x to x of a full turn of the hue; or the (least, greatest) part of a turn.
            p: the probability with which an image is changed; None: always. The changes are the same with and without it.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        given = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
        args = {name: numbers_of(name, value) for name, value in given.items()}
        return self._image("color_jitter", field, fields, args if p is None else args | {"p": number_of("p", p)})

    def grayscale(self, channels: Literal[1, 3] = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Convert an image to gray.

            .grayscale()

        Args:
            channels: 1, or 3 equal ones.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("grayscale", field, fields, {"channels": integer("channels", channels)})

    def random_grayscale(self, p: float = 0.1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Convert an image to gray at random; it keeps its channels.

            .random_grayscale(0.1)

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("random_grayscale", field, fields, {"p": number_of("p", p)})

    def normalize(
        self,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        dtype: Literal["float32", "float16", "bfloat16"] | None = None,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Convert pixels to floating point: (v / 255 - mean) / std, or for `uint16` (v / 65535 - mean) / std. Only `layout` may follow.

            .normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)).layout("NCHW")

        NumPy has no bfloat16: arrays are `ml_dtypes.bfloat16` if that package is installed (JAX brings it), else `uint16` with the same
        bytes, as `loader.schema` says; `torch.from_numpy(a).view(torch.bfloat16)` converts them. After `.to("torch")` they are
        `torch.bfloat16`.

        Args:
            mean: subtracted from values between 0 and 1: one number, or one for each of red, green and blue.
            std: divides the difference, likewise; above 0.
            dtype: `"float32"`, the default, `"float16"` or `"bfloat16"`.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("normalize", field, fields, {"mean": numbers_of("mean", mean), "std": numbers_of("std", std), "dtype": dtype})

    def layout(
        self, layout: Literal["NHWC", "NCHW", "THWC", "TCHW", "CTHW"], *, field: str | None = None, fields: Some | None = None
    ) -> Pipeline:
        """Reorder the axes of an image or clip.

            .layout("NCHW")

        Args:
            layout: images: `"NHWC"`, as decoded, or `"NCHW"`; clips: `"THWC"`, as decoded, `"TCHW"` or `"CTHW"`. N: batch, T: frames, C:
                channels.
            field: the image or mask, if samples have several.
            fields: several of one size, changed alike: see [masks](masks.md).
        """
        return self._image("layout", field, fields, {"layout": layout})

    def map(
        self,
        function: Callable[..., Any] | Mapping[Any, Any] | Sequence[Any],
        *,
        fields: Some | None = None,
        to: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where | Literal["main"] = "process",
        seed: Seeds = (),
        copy: bool = False,
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
                `__getitem__`, to look up the value of the one field in `fields`.
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
            seed: modules to seed before each call: `"random"`, `"numpy"`, `"torch"`; by default none.
            copy: pass arrays as copies that you may keep.
        """
        from ._recipe.function_arguments import function_arguments
        from ._recipe.table_lookup import as_function

        function = as_function(function, fields)
        given = function_arguments("map", function, fields=fields, to=to, gives=gives, workers=workers, where=where, seed=seed, copy=copy)
        return self._with("map", given)

    def filter(
        self,
        function: Callable[..., Any],
        *,
        fields: Some | None = None,
        workers: int | None = None,
        where: Where = "process",
        seed: Seeds = (),
        copy: bool = False,
    ) -> Pipeline:
        """Keep the samples for which a Python function returns true: `.filter(is_large, fields="image")`.

        Other samples are not errors or losses. The number of batches is then only a bound, and several ranks need `steps_per_epoch`.

        Args:
            function: as for `map`, but it returns True or False.
            fields: as for `map`, like all that follow.
            workers: likewise.
            where: likewise.
            seed: likewise.
            copy: likewise.
        """
        from ._recipe.function_arguments import function_arguments

        return self._with(
            "filter", function_arguments("filter", function, fields=fields, workers=workers, where=where, seed=seed, copy=copy)
        )

    def flat_map(
        self,
        function: Callable[..., Any],
        *,
        fields: Some | None = None,
        to: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where = "process",
        seed: Seeds = (),
        copy: bool = False,
    ) -> Pipeline:
        """Return any number of samples for each, usually from a generator.

            def crops(sample, rng):
                for _ in range(4):
                    y, x = rng.integers(0, 32, 2)
                    yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

            .flat_map(crops)

        Each sample moves on as soon as it is yielded. Later random steps draw for each. The number of batches is at most a bound.

        Args:
            function: as for `map`, but it yields samples or returns a list; with `fields`, of what `map` would return.
            fields: as for `map`, like all that follow.
            to: likewise.
            gives: likewise.
            workers: likewise.
            where: likewise.
            seed: likewise.
            copy: likewise.
        """
        from ._recipe.function_arguments import function_arguments

        given = function_arguments(
            "flat_map", function, fields=fields, to=to, gives=gives, workers=workers, where=where, seed=seed, copy=copy
        )
        return self._with("flat_map", given)

    def aggregate(self, aggregator: Any, *, fields: Some | None = None, gives: Any = None, seed: Seeds = ()) -> Pipeline:
        """Pass the samples of an epoch, one by one, to an object that makes other samples of them.

            class Sums:
                def __init__(self):
                    self.rows = []

                def accumulate(self, sample):
                    self.rows.append(sample["x"])
                    if len(self.rows) == 8:
                        rows, self.rows = self.rows, []
                        return {"sum": np.sum(rows, axis=0)}

                def flush(self):
                    return {"sum": np.sum(self.rows, axis=0)} if self.rows else None

                def state_dict(self):
                    return {"rows": self.rows}

                def load_state_dict(self, state):
                    self.rows = state["rows"]

            .aggregate(Sums)

        `accumulate(sample)` is called for each sample in turn, `flush()` at the end of the epoch. Both return a sample, an iterable of
        samples, or None, and may be generators or async. A parameter `rng` works as in `map`. Arrays are copies that you may keep. One
        worker process holds the object, a new one for each epoch.

        To resume within an epoch the object needs `state_dict()`, which returns JSON, arrays, tensors and bytes, at most 1 MiB, and
        `load_state_dict(state)`. Without them such a state is refused when you load it.

        If `accumulate` raises, that sample fails and the object goes on. If `flush` raises, all samples since the last output fail. If the
        worker dies or times out, the run ends. The number of batches is not known in advance, and several ranks need `steps_per_epoch`.

        Args:
            aggregator: a class with these methods and without `__init__` arguments, or an object, which is copied.
            fields: fields passed to `accumulate` as positional arguments; by default the whole sample.
            gives: the fields it returns, as for `map`; by default the first sample decides.
            seed: as for `map`.
        """
        from ._recipe.function_arguments import aggregate_arguments

        given = aggregate_arguments(aggregator, fields, gives, seed)
        return self._with("aggregate", {name: value for name, value in given.items() if value is not None})

    def batch(
        self,
        size: int | None = None,
        *,
        global_size: int | None = None,
        drop_last: bool = False,
        collate: Callable[..., Any] | None = None,
        fields: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where = "process",
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
        if size is global_size is None or any("sampler" in step for step in before):
            from ._recipe.sampler import batches_of

            before, args = batches_of(before, size, global_size, drop_last)
        pipeline = Pipeline(self._seed, before, self._format, self._defaults)
        return pipeline._with("batch", args | {"collate": collate_arguments(collate, **more)})

    def unbatch(self) -> Pipeline:
        """Split batches: each row becomes a sample again, with its own key and position.

            .batch(64).map(model, workers=1).unbatch().map(encode)

        Every field needs one row per sample; a list has one value per row.
        """
        return self._with("unbatch", {})

    def bucket_batch(
        self,
        lengths: int | Sequence[int],
        *,
        size: int | None = None,
        tokens: int | None = None,
        bytes: int | None = None,
        pad: float | Mapping[str, float] = 0,
        pad_to: Literal["bucket", "longest"] | None = None,
        overlong: Literal["error", "truncate", "drop"] | None = None,
        drop_last: bool = False,
    ) -> Pipeline:
        """Batch sequences of similar length, padded to one length per batch.

            .bucket_batch([128, 256, 512], size=32)

        A sequence is an array whose first extent alone is unknown, as `decode_npy` makes it. A batch has [rows, length, …] and, for each
        `field`, its unpadded lengths as `field_length`, `int64 [rows]`. A sample goes into the first bucket that fits its longest sequence,
        and all its sequences are padded alike. Other fields are stacked.

        The number of batches depends on the samples; `loader.max_batches` is its bound.

        Args:
            lengths: the greatest length of each bucket, ascending.
            size: most samples in a batch. Give at least one of size, tokens and bytes; a batch keeps to all of them.
            tokens: most samples in a batch times the bucket's length.
            bytes: most bytes of a batch's arrays, padded to the bucket's length.
            pad: the padding value: a number, or numbers by field, such as {"labels": -100}, 0 for others.
            pad_to: `"bucket"`, the default: the bucket's length, so that there are few shapes to compile for. `"longest"`: the batch's
                longest sample.
            overlong: sequences longer than the last bucket: `"error"`, the default: bad samples. `"truncate"`: cut at the end. `"drop"`:
                left out.
            drop_last: drop batches that are not full at the end of an epoch.
        """
        bounds = integers("lengths", lengths)
        args = {"lengths": bounds if isinstance(bounds, list) else [bounds], "size": optional("size", size)}
        args |= by_name(tokens=tokens, bytes=bytes, pad=numbers_for("pad", pad))
        return self._with("bucket_batch", args | {"pad_to": pad_to, "overlong": overlong, "drop_last": drop_last})

    def pack(
        self,
        length: int,
        size: int,
        *,
        fit: Literal["best", "first"] | None = None,
        open: int | None = None,
        pad: float | Mapping[str, float] = 0,
        overlong: Literal["error", "truncate", "drop"] | None = None,
        drop_last: bool = False,
    ) -> Pipeline:
        """Pack several sequences into each row of a batch, without cutting any.

            .pack(2048, 8)

        A sequence is an array whose first extent alone is unknown, as `decode_npy` makes it; those of a sample must be equally long. A
        batch has [size, length, …] and, for each `field`:

        - `field_segment_ids`: `int32 [size, length]`: the element's sequence in its row, from 1; 0 for padding.
        - `field_positions`: `int32 [size, length]`: the element's place in its sequence, from 0.

        A single number, such as a label, is repeated for each element. Text, such as `key`, is one JSON list per row:
        `json.loads(batch["key"][0])` has one value per sequence.

        The number of batches depends on the samples; `loader.max_batches` is its bound.

        Args:
            length: length of a row.
            size: rows in a batch.
            fit: `"best"`, the default: the open row where least room is left. `"first"`: the oldest row with room.
            open: rows filled at once, by default 64: more waste less room and hold more samples.
            pad: the value of unused room: a number, or numbers by field, such as {"labels": -100}, 0 for others.
            overlong: sequences longer than a row: `"error"`, the default: bad samples. `"truncate"`: cut at the end. `"drop"`: left out.
            drop_last: drop the epoch's last batch if it has fewer rows.
        """
        args = by_name(length=integer("length", length), size=integer("size", size), fit=fit, open=open, pad=numbers_for("pad", pad))
        return self._with("pack", args | {"overlong": overlong, "drop_last": drop_last})

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
        return Pipeline(self._seed, self._steps, formats.check(format, pin_memory, device), self._defaults)

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
        return {"headrace": 1, "seed": self._seed, "steps": spelled(self._steps, spell or Names())}

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
        hooks: Iterable[Any] = (),
        every: float | None = DEFAULT,
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
            rank: which of `world_size` consumers this is; by default `RANK` of the environment, as torchrun sets it, or 0.
            world_size: how many consumers share the source; by default `WORLD_SIZE` of the environment, or 1.
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
            steps_per_epoch: batches in every epoch, the same on every rank: the rest is dropped, and a shorter epoch raises
                `EpochTooShort`. Several ranks need it if samples may be lost or dropped. None, the default: as many as there are.
            stall_after: seconds without progress before a warning names the stuck stages and samples; 0: never; None, the default: 300.
            dead_letters: a file to append lost and replaced samples to: a JSON object per line, with the attributes of `LostSample` and the
                rank. Lines come up to two batches ahead of your loop, and again if you resume from before the loss. If a recipe names it,
                it must end in `.jsonl` and be new, or hold dead letters already.
            fuse: False runs each image operation as its own stage, with its own line in `stats()`. That is slower; with `mode="exact"` the
                pixels are the same.
            jpeg: `"headrace"`, the default, or `"turbo"`: libjpeg-turbo, slower with the same pixels. You may switch when you resume.
            prefetch: batches made ahead of your loop, 1 to 1000, as `memory` allows; None, the default: 2. More even out a loop or source
                that is slow at times, and need memory.
            uneven: True for evaluation: each sample comes exactly once, so ranks may get different numbers of batches. **Collective
                operations in the loop, as of DistributedDataParallel, then hang**: gather results after the loop. By default ranks are made
                even with samples from the epoch's beginning.
            hooks: objects called around your functions, or with statistics: see `headrace.Hook`. They run inside those of
                `headrace.defaults`.
            every: seconds between calls of the hooks' `stats`; None, the default: 10.

        Returns:
            A loader. Each `for` loop over it is one epoch.
        """
        from ._recipe import defaults as process

        def said(name: str, value: Any, usual: Any = None) -> Any:
            return self._defaults.get(name, process.said(name, usual)) if value is DEFAULT else value

        if isinstance(on_error, str) and on_error == "raise" and max_errors is DEFAULT:
            max_errors = None  # what the recipe says of skip
        environment = os.environ
        config = {
            "epochs": optional("epochs", said("epochs", epochs)),
            "rank": from_environment("rank", rank, environment.get("RANK"), 0),
            "world_size": from_environment("world_size", world_size, environment.get("WORLD_SIZE"), 1, least=1),
            "local_world_size": from_environment("local_world_size", None, environment.get("LOCAL_WORLD_SIZE"), 1, least=1),
            "workers": optional("workers", said("workers", workers)),
            "order": plain("order", said("order", order, "input")),
            "memory": byte_count("memory", said("memory", memory)),
            "hold_limit": byte_count("hold_limit", said("hold_limit", hold_limit)),
            "on_error": plain("on_error", said("on_error", on_error, "raise")),
            "max_errors": count_or_share("max_errors", said("max_errors", max_errors)),
            "steps_per_epoch": optional("steps_per_epoch", said("steps_per_epoch", steps_per_epoch)),
            "stall_after": seconds_of("stall_after", said("stall_after", stall_after)),
            "dead_letters": absolute("dead_letters", said("dead_letters", dead_letters)),
            "dead_letters_own": dead_letters is DEFAULT,
            "fuse": truth("fuse", said("fuse", fuse, True)),
        }
        if (decoder := plain("jpeg", said("jpeg", jpeg, "headrace"))) != "headrace":
            config["jpeg"] = decoder
        if truth("uneven", said("uneven", uneven)):
            config["uneven"] = True
        ahead = optional("prefetch", said("prefetch", prefetch))
        if ahead == 0:  # which would be the engine's own default
            raise RecipeError("headrace: prefetch is 0: must be from 1 to 1000 batches")
        if ahead is not None:
            config["prefetch"] = ahead
        if config["world_size"] > 1 and _divides(self._steps):
            text = "headrace: the sampler divides the samples among ranks, and so does the loader: give loader(world_size=1), or a sampler"
            raise RecipeError(f"{text} that does not, such as RandomSampler")
        if world_size == 1 and rank is None:
            config["rank"] = 0  # said outright that nobody shares the source, in whatever environment
        interval = seconds_of("every", said("every", every, None))
        if interval is not None and interval <= 0:
            raise RecipeError(f"headrace: every is {interval:g}: must be seconds above 0")
        return self._start(config, None, None, _hooks(process.said("hooks", ()), hooks), interval)

    def _start(
        self,
        config: dict[str, Any],
        state: dict[str, Any] | None = None,
        replay: int | None = None,
        hooks: tuple[Any, ...] = (),
        every: float | None = None,
    ) -> Loader:
        # The order matters: the engine starts while what takes long here is imported. The
        # run begins after that: its clock is about the loop, not about an import.
        from ._client.engine import manager

        connection = manager.connect()
        from ._batch import arrays
        from ._client.session import Session

        try:
            arrays.load(self._format)
        except BaseException:
            connection.close()
            raise

        names = Names()
        recipe = self._described(names)
        python = here = None
        if has_functions(recipe["steps"]):
            from ._recipe.hooks import of_functions
            from ._recipe.interpreter import interpreter

            around = of_functions(hooks)
            called = list(places(recipe["steps"]))
            sent = {name for name, where in called if where != "here"} | {one["initializer"] for one in names.sets.values()}
            try:
                functions = {name: function for name, function in names.functions.items() if name in sent}
                python = interpreter(functions, names.sets, sent, around)
                if any(where == "here" for _, where in called):
                    from ._worker.here import Here

                    here = Here({name: function.value for name, function in names.functions.items()}, around)
            except BaseException:
                connection.close()
                raise
        session = Session(connection, recipe, config, state, None, replay, python, here=here.connect() if here is not None else None)
        from ._loader.loader import Loader

        try:
            return Loader(session, self, recipe, config, python, here, hooks, every)
        except RecipeError as error:
            from ._recipe.notation import steps

            raise located(error, steps(self._steps)) from error.__cause__

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

    def __getitem__(self, index: object) -> NoReturn:
        raise WrongType("a pipeline is only a description, and has no items: write for batch in pipeline.loader():")

    def __repr__(self) -> str:
        from ._report import draw

        return "\n".join(draw.lines(self._drawn(), self._seed))

    def _repr_html_(self) -> str:
        from ._report import draw

        return draw.page(draw.chain_html(self._drawn(), self._seed))

    def _drawn(self) -> list[dict[str, Any]]:
        """The steps, and what batches consist of if that was said."""
        return [*self._steps, *([{"to": self._format.arguments()}] if self._format != formats.NUMPY else [])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return (self._seed, self._steps, self._format, self._defaults) == (other._seed, other._steps, other._format, other._defaults)

    __hash__ = None  # type: ignore[assignment]


_OF_THE_PROCESS = ("self", "rank", "world_size")


def _hooks(*given: Iterable[Any]) -> tuple[Any, ...]:
    """The hooks of the process and of a loader, if there are any."""
    if not any(given):
        return ()
    from ._recipe.hooks import hooks_of

    return tuple(hook for some in given for hook in hooks_of(some))


def _divides(steps: Iterable[dict[str, Any]]) -> bool:
    """Whether steps order samples by a sampler that has some of them for each of several ranks."""
    samplers = [step["sampler"]["function"] for step in steps if "sampler" in step]
    inside = [chain for step in steps if "merge" in step for chain in step["merge"]["of"]]
    return any(getattr(getattr(one, "value", None), "replicas", 1) > 1 for one in samplers) or any(map(_divides, inside))

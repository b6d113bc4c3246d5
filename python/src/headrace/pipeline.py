"""The description of a pipeline: what to read, what to do with it, how to batch it. Nothing runs before `.loader()`."""

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
    """An argument that was not given: what is the default then, may be said elsewhere."""

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
    content: bool = True,
    seed: int = 0,
) -> Pipeline:
    """Read files: the first step of a pipeline.

        train = hr.files("data/train", label="parent")  # each folder is a class

    Args:
        source: a pattern (`*`, `?`, `[…]`, and `**` for any number of folders); or a folder, for all images below it; or a list of
            paths, of (path, label) pairs, or of tuples with more values; or a list of dicts or a DataFrame, whose columns become fields.
            Relative paths start at the current directory.
        label: `"parent"` labels each file with the number of its folder's name, in bytewise order; `loader.classes` has the names. Or a
            function of the path as text, which returns the label. It is called here, for all files; of a folder, for all images.
        fields: the names of the values after the path in tuples, by default `"label"` for pairs; of dicts and a DataFrame, which
            columns become fields, by default all; of metadata, the same, or as for `read`, under other names and with types:
            `{"text": "caption", "score": ("score", "float64")}`.
        path: the column of dicts or a DataFrame that has the paths.
        metadata: of a pattern or a folder: a table in that folder, as `"metadata.jsonl"`, of JSON lines, CSV or Parquet, whose columns
            become fields. Its column `file_name` has the names of the files, as in Hugging Face's `imagefolder`; each file has one row.
        content: False: files are not read. Samples have their paths in the field `path`, and `decode_video` and `decode_audio`
            read what they need of them.
        seed: of all random operations. The same seed gives the same pixels, whatever the number of workers.

    Returns:
        A pipeline with the fields `key` and, where there are labels, `label`. Values become fields of one type: whole numbers int64,
        fractions float64 (float32 where NumPy or pandas says so), truth values bool, and text. Missing values are refused. Those of
        metadata have the types of the table; a missing fraction is NaN, and missing text empty.

    Raises:
        RecipeError: arguments that do not go together. What is wrong with metadata, such as a file without a row or a row without a
            file, is a SourceError when the loader is made.
    """
    from ._recipe.table import files_arguments

    args = files_arguments(source, label, fields, path, metadata)
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
    seed: int = 0,
) -> Pipeline:
    """Read samples from files that hold many of them, where they are and as they are: the first step of a pipeline.

        hr.read("train-{000000..001281}.tar", fields={"bytes": "jpg", "label": "cls"})  # WebDataset

    Samples have numbers, so they are shuffled, divided among ranks and resumed like files. What is where in the files is kept in an
    index, in `~/.cache/headrace/index` or the folder `index` of the one that `HEADRACE_CACHE` names. It is made when they are first read;
    `headrace index` makes it before. [Your data where it is](your-data.md) lists the formats.

    Args:
        source: a file; a pattern (`*`, `?`, `[…]`, `**`, and braces, as in `train-{000..129}.tar`); a folder; or a list of these. Relative
            names start at the current directory.
        fields: the fields of samples, and what each is in the files: the name of a part of a tar file or of a column; `"json.caption"` is
            a member of the part `json`, and `"jpg;png"` the first of these that a sample has. A tuple says the type as well, as
            `("cls", "int64")`: a dtype, `(dtype, shape)`, str or bytes. Or the names of those that stay as they are. By default all; of
            tar files the image is `bytes` and `cls` is `label` then. `headrace inspect FILE` lists what there is.
        format: the format of the files, as `"tar"`; by default what is in them tells, or their names.
        seed: of all random operations, as for `files`.

    Returns:
        A pipeline with these fields and `key`.
    """
    from ._recipe.read import read_arguments

    args = read_arguments(source, fields, format)
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
    """Take samples from an object of this program: the first step of a pipeline.

        loader = hr.source(dataset, fields=["image", "label"]).shuffle().batch(32).loader()

    The object is copied to worker processes, which read it there: change it before, not meanwhile. It is one of these:

    - a list, a PyTorch Dataset, or anything else with `__getitem__` and `__len__`: read by number, in any order, by several workers; it
      can be shuffled, divided among ranks and resumed like files.
    - something to iterate over, a generator function, or another function that returns such a thing, also an async one: read from the
      beginning to the end by one worker, once an epoch. Resuming needs its own `state_dict` and `load_state_dict`. A function is given
      `rank` and `world_size` where there are several ranks.

    Each item is a sample, a dict of fields; with `fields`, a tuple of their values. [Bring your own Python](own-python.md) says which
    values there are.

    Args:
        obj: where samples come from.
        fields: the names of what an item has, where that is a tuple, or of the one thing that it is.
        gives: the types of the fields, as for `Pipeline.map`; by default they are those of the first sample. With it, a `__getitem__` with
            a parameter `out` is given the memory of the batch to write into, as the functions of `Pipeline.map` are.
        keys: the names of samples that are read by number, a list or a function of the number: what they are called in the field `key`, in
            errors and in the list of lost ones. Workers ask for a name before they read the sample. By default it is the sample's own
            field `key`, or `__key__` as WebDataset has it, a str, once it was read; else its number: `"12"`.
        seed: of all random operations, as for `files`.
        generators: which global generators are seeded before each sample, so that an object which draws from them gives the same with any
            number of workers: `"random"`, `"numpy"` (its old functions), `"torch"`, or several. It is what `seed` is of `Pipeline.map`.
        sampler: which samples come in an epoch, and in which order: a `Sampler` or `BatchSampler` of PyTorch, or anything else that can be
            iterated over, epoch after epoch, for numbers of samples, or lists of them. It has a length, or is gone through once here to
            count. A worker has a copy, which gives in every epoch what the sampler itself would give; where it draws from global
            generators, `seed` seeds these. Lists come one after the other: `.batch(sampler.batch_size)` makes the same batches.
        where: where the object is read, as for `Pipeline.map`: `"process"`, `"thread"`, or `"here"`, in threads of this program, which read
            the object itself and no copy. Of what is read by number, an `hr.Workers`, too.

    Returns:
        A pipeline with the field `key`, and those of the samples.
    """
    from ._recipe.function_arguments import source_arguments

    if isinstance(seed, (str, list, tuple)):
        raise RecipeError(f"headrace: source: seed is {seed!r}: takes a whole number; generators={seed!r} seeds these before each sample")
    given = {name: value for name, value in source_arguments(obj, fields, gives, generators, keys, where).items() if value is not None}
    pipeline = Pipeline(integer("seed", seed), (Step({"source": given}),), formats.NUMPY)
    if sampler is None:
        return pipeline
    from ._recipe.sampler import sampler_arguments

    return pipeline._with("sampler", sampler_arguments(sampler, given.get("length"), pipeline._seed))


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
    """Put the samples of several pipelines together: the first step of a pipeline.

        cats = hr.files("cats").shuffle().decode_image()
        dogs = hr.files("dogs").shuffle().decode_image()
        loader = hr.merge([cats, dogs], weights=[3, 1]).random_resized_crop(224).batch(32).loader()

    Each brings steps of its own, but none makes batches. They have to give samples of the same fields and dtypes; heights and widths may
    differ. `select`, `drop`, `rename` and `fill` make them alike; a field `key` that some lack is filled in, with what samples are called.
    Labels of `label="parent"` are numbered over the folders of all of them.

    Args:
        pipelines: what is put together. All have the same `seed`, which the merged pipeline has, too.
        order: which is next: `"round_robin"`, the default: one after the other; `"weights"`, the default where these are given: drawn by
            them, the same in each run; `"arrival"`: who has a sample first, which differs between runs.
        weights: how often each is next: numbers above 0, of which a share of the sum counts.
        until: `"longest"`, the default: an epoch ends when all have ended, and the turns of those that end before are left out;
            `"shortest"`: an epoch ends when the first has ended. A number: when so many samples have come of all together, on all ranks,
            or all have ended.
        fill: what samples get in fields that those of others have and they lack: a number, or numbers for fields, such as
            {"label": -1}, and 0 in others. Text is empty there. None, the default: all have to have the same fields.
        seed: of what is drawn by weights; by default that of the pipelines.

    Returns:
        A pipeline with the fields of those that were given.

    Raises:
        RecipeError: if they have different seeds, formats, or sections `loader` in the recipes that `load` read.
    """
    if _more or isinstance(pipelines, Pipeline) or not hasattr(pipelines, "__iter__"):
        raise RecipeError("headrace: merge: takes one list of pipelines: merge([a, b])")
    given = list(pipelines)
    for i, pipeline in enumerate(given):
        if not isinstance(pipeline, Pipeline):
            raise RecipeError(f"headrace: merge: item {i} is {pipeline!r}: takes pipelines")
        for what, name in (("_seed", "the seed"), ("_format", "the format"), ("_defaults", "the section loader")):
            mine, first = getattr(pipeline, what), getattr(given[0], what)
            if mine != first:
                raise RecipeError(f"headrace: merge: pipeline {i} has {name} {mine!r}, but pipeline 0 has {first!r}: takes the same of all")
    if not given:
        raise RecipeError("headrace: merge: there is nothing to merge: takes pipelines")
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
    """Read a pipeline from a recipe: a file in YAML or JSON, as `Pipeline.recipe` writes it and the command `headrace run` takes it.

        loader = hr.load("train.yaml", root="data/train", size=192).loader(epochs=90)

    More steps may follow, if the recipe does not end with `batch`. Its section `loader` says what `loader()` takes where nothing is given.

    Args:
        path: the file; `"-"` is standard input. Relative paths in a recipe start at the current directory.
        variables: values of the recipe's variables, which are in its text as `${name}`: text, paths, numbers, True, False, None, or
            lists. What is not given here is taken from the environment, or else from the recipe's section `vars`.

    Raises:
        RecipeError: if there is a mistake in the recipe. Its text has a line for each, which begins with file, line and column.
        OSError: if there is no such file.
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
    """Say what `Pipeline.loader` takes in this process where neither it nor a recipe says anything.

        hr.defaults(hooks=[Metrics()], every=30, on_error="skip")  # before the program runs, such as in sitecustomize.py

    It is for who runs programs that others have written. Hooks are different from the others: those of a loader come besides.

    Args:
        arguments: any of `Pipeline.loader`, but for `rank` and `world_size`. None: what Headrace takes by itself.

    Returns:
        What was said before of the same arguments: `hr.defaults(**before)` says that again.

    Raises:
        RecipeError: if there is no such argument. Values are looked at by `loader()`.
    """
    from inspect import signature

    from ._recipe import defaults as process
    from ._recipe.hooks import hooks_of

    if "hooks" in arguments:
        arguments["hooks"] = hooks_of(arguments["hooks"]) or None
    return process.change(arguments, [name for name in signature(Pipeline.loader).parameters if name not in _OF_THE_PROCESS])


@all_briefly
class Pipeline:
    """The steps from files to batches. It never changes: each method returns a new pipeline with one more step."""

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
            raise RecipeError(f'headrace: {op}: comes after map with where="main", which is done when the engine is done with a batch')
        return Pipeline(self._seed, (*self._steps, Step({op: given})), self._format, self._defaults)

    def _image(self, op: str, field: str | None, fields: Some | None, args: dict[str, Any]) -> Pipeline:
        """A step on an image, or on several."""
        if field is not None and not isinstance(field, str):
            raise RecipeError(f"headrace: {op}: field is {field!r}: takes the name of an image; for several write fields=[…]")
        return self._with(op, args | {"field": field, "fields": None if fields is None else names_of(op, (fields,))})

    def shuffle(self, seed: int | None = None, *, window: int | None = None) -> Pipeline:
        """Visit the samples of each epoch in a random order of its own: `.shuffle()`, `.shuffle(window=65_536)`.

        Without `window`, any sample may come next. That is best where each sample can be read by itself: files, tar shards, Parquet
        with images, uncompressed rows. Where many samples are compressed as one, as in `.json.gz`, each of them costs all of these.
        With `window`, runs of neighbours come in random order, and samples are shuffled among those of about 64 runs: what
        neighbours share is read once, and kept until the window is done. `headrace inspect` says which your data is.

        The order is a function of the seed, the epoch and this number. It is the same on any machine, for any number of workers and
        ranks, and needs no memory for waiting samples.

        Args:
            seed: of the order; by default that of `files`.
            window: samples that are shuffled together, at least 1; by default all. 65,536 is a good size for text.
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
        """Draw the samples of each epoch by weights: `.weighted([1.0, 0.5, 0.5], draws=1000)`.

        It follows the source, instead of `shuffle`. What is drawn is a function of seed and epoch, whatever the number of workers and
        ranks. A sample that comes again in an epoch has other random crops.

        Args:
            weights: of each sample of the source, in its order: numbers of at least 0, of which a share of the sum counts.
            draws: samples of an epoch; by default as many as there are weights.
            replacement: whether a sample may be drawn again in the same epoch.
            seed: of the draws; by default that of the source.
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
        """Give each sample to one of several branches, and go on with what comes out of any of them.

            .route("key", [("*.png", lambda p: p.random_crop(64)), lambda p: p.center_crop(64)])

        The order of the samples stays. The branches have to give samples of the same fields and dtypes; heights and widths may differ.

        Args:
            by: the field that says which branch a sample takes: text such as `"key"`, or a whole number such as `"label"`. Or a function of
                this program, which is given the sample, a dict, and returns text or a whole number. It is no class and not async, and may
                take rng=. A recipe file has no such routes.
            branches: pairs of what a branch takes and a function that is given a pipeline and returns it with the steps of the branch.
                What it takes is a pattern of text (`*`, `?`, `[…]`, and `**` for any number of folders), a number, or several of either;
                the first branch that takes a sample gets it. A function alone, as the last, takes all others. A sample that no branch
                takes is a bad one. With `by` a function they may all be functions alone: they take 0, 1 and so on.
            fields: with `by` a function, the fields whose values it is given, instead of the sample.
            workers: with `by` a function, as for `map`.
            where: likewise.
        """
        all_of = list(branches)
        if isinstance(by, str) or not callable(by):
            if fields is not None or workers is not None or where != "process":
                raise RecipeError("headrace: route: fields=, workers= and where= are for a function that says which branch a sample takes")
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
                f"headrace: route: branch {i} is {branch!r}: takes (what it takes, a function of a pipeline), or a function alone"
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
            raise RecipeError(f"headrace: {whose} returns {inside!r}: takes one that returns the pipeline it is given, with its steps")
        return inside._steps

    def select(self, *fields: Some) -> Pipeline:
        """Keep some fields of each sample, in this order, and leave out the others: `.select("image", "label")`.

        Nothing is copied, and steps on an image before and after it stay one pass.

        Args:
            fields: their names, or lists of them.
        """
        return self._with("select", {"fields": names_of("select", fields)})

    def drop(self, *fields: Some) -> Pipeline:
        """Leave out some fields of each sample: `.drop("path")`. Nothing is copied.

        Args:
            fields: their names, or lists of them.
        """
        return self._with("drop", {"fields": names_of("drop", fields)})

    def rename(self, fields: Mapping[str, str] | None = None, /, **names: str) -> Pipeline:
        """Give fields other names: `.rename(image="pixels")`. Nothing is copied; two fields may exchange names.

        Args:
            fields: the new names by the old ones, for names that are no words of Python's.
            names: the same, as arguments.
        """
        given = {**(fields or {}), **names}
        for old, new in given.items():
            if not isinstance(old, str) or not isinstance(new, str):
                raise RecipeError(f"headrace: rename: {old!r} becomes {new!r}: takes names of fields")
        return self._with("rename", {"fields": given})

    def boxes(self, field: str = "boxes", *, along: Some | None = None, image: str = "image") -> Pipeline:
        """Have boxes go along with an image: steps after this one move them, and drop those that leave it.

            .decode_image().boxes(along="labels").random_resized_crop(512).random_flip().bucket_batch([8, 32, 128], size=16)

        Of a box, what a step cuts off is cut off; where less than a pixel is left in width or in height, the box is dropped, and its row in
        the fields along with it: the rules of torchvision's transforms with `SanitizeBoundingBoxes` after them. They are in pixels of the
        image as it is at this step, upright if `decode_image` turned it.

        Args:
            field: the boxes, `float32` or `float64 [n, 4]`: left, top, right and bottom edge. n may differ from sample to sample.
            along: fields with a row for each box, such as labels.
            image: the image that they go along with.
        """
        return self._with("boxes", {"field": field, "along": None if along is None else names_of("boxes", (along,)), "image": image})

    def copy(self, field: str, to: Some) -> Pipeline:
        """Give other fields the value of one: `.copy("image", to=["clean", "noisy"])`. For augmented views, see `views`.

        Images are not copied, unless a function of Python comes anywhere in the pipeline: it could change one in place.

        Args:
            field: the field, which stays.
            to: the names of those that get its value; no field has one of them.
        """
        if not isinstance(field, str):
            raise RecipeError(f"headrace: copy: field is {field!r}: takes the name of a field")
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
        """Make several views of an image, each with steps and random draws of its own. It is decoded once.

            .views(2, lambda p: p.random_resized_crop(224).random_flip())       # fields view_0 and view_1, as in SimCLR
            .views(large=(2, big), small=(6, little))                           # large_0, large_1, small_0 … small_5, as in DINO
            .views(weak=lambda p: p.random_flip(), strong=augmented)            # weak and strong, as in FixMatch

        In a recipe it is `copy`, the steps of each view with `field`, and `drop`.

        Args:
            count: how many views, called view_0, view_1 and so on.
            steps: a function that is given a pipeline and returns it with the steps of a view, which are steps on an image.
            field: the image that there are views of.
            keep: whether it stays as a field. By default it goes, so that images of many sizes come into batches.
            named: views by their names: such a function, or (how many, function), whose views have numbers after the name.

        Raises:
            RecipeError: if there are no views, or a step is not on an image.
        """
        from ._recipe.views import steps_of, views_of

        views = list(views_of(count, steps, named))
        made = self.copy(field, [name for name, _ in views])
        for name, add in views:
            steps_of_view = steps_of(name, self._added(f"views: the function of {name}", add))
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
        """Say what becomes of samples that fail in the step before: `.decode_image().failures(on_error="skip", max_errors=0.05)`.

        After `files` it is about files that cannot be read, after `route` about samples that no branch takes. What is not given is as
        `loader` says. Operations on an image run as one pass, and fail as one: after such a step, those that say nothing themselves have
        the same; one that says something else begins another pass, before which the pixels are stored. Called again for the same step, it
        changes what is given.

        Args:
            on_error: `"raise"`: the first bad sample stops the run; `"skip"`: bad samples are left out, counted and named; `"replace"`:
                another sample is drawn instead of each, the same in each run, and batches stay full.
            max_errors: with skip and replace, how many samples of an epoch may be bad in this step: a number, or a share below 1.
            retries: tries after the first; by default none.
            wait: seconds before the first retry, twice as many before each of the next, and 30 at most; by default 0.1.
            time_limit: seconds that a sample may take in this step, at each try; by default any number.
        """
        if not self._steps:
            raise RecipeError("headrace: failures: there is no step before it")
        given = by_name(on_error=on_error, max_errors=max_errors, retries=retries, wait=wait, time_limit=time_limit)
        (*before, last) = self._steps
        if is_main(last):
            raise RecipeError('headrace: failures: is not about map with where="main": its errors are raised by the loop as they are')
        if on_error == "replace" and (last.get("batch") or {}).get("collate"):
            text = 'headrace: failures: on_error is "replace": collate fails for a whole batch, in whose place no other can come'
            raise RecipeError(f'{text}: takes "raise" or "skip"')
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
        """Decode a compressed image to pixels, `uint8 [height, width, 3]` if nothing else is asked for.

            .decode_image()

        JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are recognized by their content, whatever the files are called. ICC profiles are ignored.

        Args:
            field: where the compressed image is; by default where `files` put it.
            to: the field to write, by default `"image"`.
            mode: `"exact"`, the default: the pixels of Pillow and torchvision, to one level. `"fast"`: a JPEG that is
                shrunk to half its size or less is decoded at a smaller scale; docs/performance.md shows how far pixels differ.
            orient: whether to turn and mirror the image as its EXIF orientation says; by default yes.
            color: `"rgb"`, the default, or `"gray"`: an alpha channel is dropped, as Pillow does, unless there is a background.
                `"rgba"`: alpha is kept; images without it are opaque. `"mask"`: the numbers of a palette or of a gray image as they are
                stored, [height, width]; resizing takes the nearest pixel, and images with colours are bad samples. See [masks](masks.md).
            background: (red, green, blue), each from 0 to 255: what shows through where the image is transparent.
            dtype: `"uint8"`, the default: of 16 bits the upper 8 are kept. `"uint16"`: all 16 are; 8 bits v become 257·v, but
                in a mask stay v.
            frame: 0 alone: of animations and documents of several pages the first frame is decoded.
            max_pixels: the largest image that is decoded, in pixels; by default 178,956,970, which is also the most. A larger one is a
                bad sample: it fails before memory is taken for its pixels.
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
        dtype: Any = None,
        layout: Literal["T", "TC", "CT"] | None = None,
        stream: int | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Decode the audio of a file, or a window of it: WAV, FLAC, MP3, AAC, Opus, Vorbis, ALAC, AIFF, and the audio of video files.

            hr.files("words").decode_audio(16000, "mono", duration=1.0, start="random").batch(32)

        A window is that slice of the whole recording: the same numbers wherever it begins. It is decoded at its own cost, whatever the
        length of the file. After `files(…, content=False)` little more is read of WAV and FLAC than the window. Samples that the encoder
        added are cut off as the file says. The resampler's stop band is 110 dB down from half of the lower rate on, its pass band ends at
        0.913 of that.

        Args:
            rate: samples a second; by default as many as the file has.
            channels: 1 or `"mono"`: the mean of all channels. 2: left and right. By default the file's.
            duration: the seconds of a window; by default all of the recording.
            start: where the window is: `"begin"`, the default, `"center"`, `"random"`, or at which second it begins.
            window: instead of start, a field with two numbers, float64 or float32 [2]: the seconds at which the window begins and ends, as
                `decode_video(window=…)` writes them. With duration it lasts so long wherever it ends. Seconds count from the first frame
                of a video, or from the beginning of a recording. Where there is no audio there is silence.
            short: what becomes of a recording that is shorter: `"silence"` after it, the default; `"repeat"`: it begins again;
                `"error"`: it is a bad sample; `"keep"`: it stays short, for `bucket_batch` and `pack`.
            dtype: `"float32"`, the default, from -1 to 1, or `"int16"`.
            layout: `"T"`, [time], the default of one channel; `"TC"`, [time, channels], the default otherwise; or `"CT"`.
            stream: which audio stream of the file, counted from 0; by default the one that the file marks as default, or the first.
            field: the content of the file, or its path as text; by default where `files` put it.
            to: the field to write, by default `"audio"`.
        """
        named = start is None or isinstance(start, str)
        given = by_name(field=field, to=to, stream=stream, rate=rate)
        given |= by_name(channels=1 if channels == "mono" else optional("channels", channels), duration=duration)
        given |= {"start": start if named else None, "offset": None if named else seconds_of("start", start), "short": short}
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
        """Make a log-mel spectrogram of a recording of one channel, as float32.

            hr.files("words").decode_audio(16000, "mono", 1.0).log_mel("whisper").batch(32)

        The recording is not resampled: decode it at the preset's rate. A sample that is too short for one frame is a bad sample.

        Args:
            preset: whose spectrogram it is. `"whisper"`, the default: 80 bands at 16 kHz, of a recording that is not filled up to 30 s.
                `"kaldi"`: 80 bands as torchaudio's `compliance.kaldi.fbank` makes without dither, of samples as 16 bits have them, from
                -32768 to 32767. `"librosa"`: `feature.melspectrogram` and `power_to_db`, 128 bands at 22,050 Hz. `"torchaudio"`:
                `MelSpectrogram` and `AmplitudeToDB("power")`, 128 bands at 16 kHz.
            rate: samples a second of the recording; like all that follow, by default the preset's.
            n_fft: the length of a transform, in samples.
            win_length: the length of a frame, in samples; by default the preset's, or `n_fft` where that is given.
            hop_length: samples from one frame to the next.
            n_mels: how many bands.
            f_min: Hz at which the first band begins.
            f_max: Hz at which the last band ends; by default half of the rate.
            layout: `"TM"`, [frames, bands], the default, which `bucket_batch` and `pack` take; or `"MT"`, [bands, frames].
            field: the samples, float32 or int16 [time]; by default `"audio"`. The spectrogram takes their place.
            to: the field to write, by default `"mel"`.
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

        Frame i is the i-th frame of the video, to the byte, wherever decoding begins; packets that no wanted frame needs are neither
        read nor decoded. Operations on images follow, and treat all frames of a sample alike: a random one draws once. A damaged frame is
        a bad sample, which is named with frame and time.

        Args:
            frames: how many a clip has. Without stride, fps and segments they are spread evenly from the first to the last.
            stride: from one frame to the next, in frames.
            fps: frames a second: those on screen at these times, also where a video's rate varies.
            segments: as many equal parts of the video, and one frame of each.
            clips: that many clips of each video, in an axis of their own: [clips, frames, height, width, 3].
            start: where a clip begins: `"random"`, the default, `"center"`, `"begin"`, at which second, or the name of a field with the
                second. With segments: which frame of each.
            duration: the seconds of the video from which frames are taken.
            min_frames: with fps and without frames: no fewer.
            max_frames: likewise, no more.
            multiple: likewise, a multiple of this number.
            short: what a video gives that is shorter than the clip: `"repeat"`, the default: its last frame again; `"loop"`: it begins
                again; `"black"` frames; `"error"`: it is a bad sample.
            times: a field to write with the second at which each frame is displayed, counted from the first: float64 [frames].
            window: a field to write with the seconds at which the clip begins and ends, float64 [2]. The field with the file stays, too:
                `decode_audio(window=…)` takes both, and decodes what is heard meanwhile.
            stream: which of several streams of video; by default the one that players show.
            orient: whether to turn frames as the file says; by default True.
            aspect: `"stored"`, the default: a frame has the pixels of the file. `"square"`: where these are not square, as on DVDs, frames
                are made wider or narrower first.
            mode: `"exact"`, the default: frames become RGB, and then what follows works on them. `"fast"`: their planes may be resized
                before colours are converted, which is several times faster and differs by a few levels.
            dtype: `"uint8"`, the default, or `"uint16"`, of full scale, which keeps the 10 bits of videos that have them. Planes of
                `"uint16"` have the video's own numbers.
            color: `"rgb"`, the default; or the planes of 4:2:0 as the video has them, for `hr.torch.to_rgb` and others that convert on a
                device: half the bytes, and none of the conversion. A frame is [height + height / 2, width], rounded up, of luma and after
                it Cb and Cr, one after the other in `"yuv420"`, side by side in `"nv12"`. Of an odd width luma has its last column twice.
                Operations on images cannot follow.
            size: with planes: what frames are resized to, (height, width), which a batch needs; by default they stay as they are.
            matrix: with planes: a field to write with how colours come from them, int64 [4]: the matrix by its number in ITU-T H.273, 1
                for full range, the siting of chroma (0: left, 1: centre, 2: top left), and bits of a sample.
            damaged: `"error"`, the default: a video with a damaged frame in the clip is a bad sample. `"keep"`: such a frame is what the
                decoder makes of it, or black if that is nothing.
            mask: with `"keep"`: a field to write with which frames are damaged, bool [frames].
            max_pixels: the largest frame that is decoded, in pixels.
            field: the path of the video as text, or its content; by default where `files` put it.
            to: the field to write, by default `"video"`.
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
        """Decode clips of a video, each a sample of its own: the whole video in pieces, or clips from several places.

            every = hr.files("films/*.mp4", content=False).video_clips(32, stride=2, step=64).resize(224, fit="crop").batch(8)
            some = hr.files("films/*.mp4", content=False).shuffle().video_clips(16, stride=4, clips=4).batch(8)

        Clips have the key and the other fields of their video. They are decoded one by one, so a film of any length takes the memory of a
        few clips; states lie between them, and a run that goes on decodes none again. Random steps draw for each clip. With
        `clips` every video gives as many, and `len(loader)` is exact; how many pieces there are is not known before videos were looked at.

        Args:
            frames: how many a clip has.
            stride: from one frame to the next, in frames; by default 1.
            fps: frames a second: those on screen at these times, also where a video's rate varies.
            step: from the beginning of one piece to that of the next, in frames of the video, or with fps in frames at that rate. By
                default pieces follow each other without gaps: every frame comes once where stride is 1.
            clips: instead of pieces, that many clips of each video.
            start: where these begin: `"random"`, the default, or evenly spread with `"center"` or `"begin"`.
            short: what happens to a clip that has too few frames, as the last piece may: `"repeat"`, the default: its last frame again;
                `"loop"`: it begins again; `"black"` frames; `"error"`: it is a bad sample; `"drop"`: it is left out.
            times: as for `decode_video`.
            window: as for `decode_video`, after `files(…, content=False)`.
            number: a field to write with the number of the clip among those of its video, from 0.
            stream: as for `decode_video`.
            orient: as for `decode_video`.
            aspect: as for `decode_video`.
            mode: as for `decode_video`.
            dtype: as for `decode_video`.
            color: as for `decode_video`.
            size: as for `decode_video`.
            matrix: as for `decode_video`.
            damaged: as for `decode_video`.
            mask: as for `decode_video`.
            max_pixels: as for `decode_video`.
            field: as for `decode_video`.
            to: as for `decode_video`.
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
        """Read an array in NumPy's format (.npy), as `numpy.save` writes it: numbers or truth values, little-endian, in C order.

        A file that holds something else than is said here is a bad sample. Nothing in it is evaluated or unpickled.

            hr.files("tokens/*.npy").shuffle().decode_npy("int32", to="tokens").pack(2048, size=8)

        Args:
            dtype: `"int32"`, `numpy.int32` and so on. `"bfloat16"` takes their bits as uint16, or as NumPy writes ml_dtypes'.
            shape: with None for an extent that differs between files; by default (None,), a sequence of numbers.
            field: where the file is; by default where `files` put it.
            to: the field to write, by default `"array"`.
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
        """Resize, antialiased.

            .resize((480, 640), fit="pad", fill=114)    # a letterbox

        Args:
            size: the length that the shorter edge gets; or (height, width). With a fit other than `"short"`, one number means both.
            max_size: the length that the longer edge must not exceed.
            filter: `"bilinear"`, the default, `"box"`, `"hamming"`, `"bicubic"`, `"lanczos"` or `"nearest"`, each as in Pillow. Masks take
                the nearest pixel in any case.
            fit: how an image of other proportions gets the size. `"short"`, the default for one number: its shorter edge gets it.
                `"stretch"`, the default for (height, width): both edges do. `"pad"`: it is resized in proportion into the size, and the
                rest is filled, as Pillow's `ImageOps.pad` does. `"crop"`: in proportion over the size, and what is over is cut off, as
                `ImageOps.fit` does.
            anchor: with `"pad"`, where the image is; with `"crop"`, which part of it stays: `"center"`, the default, `"top_left"`, `"top"`,
                `"top_right"`, `"left"`, `"right"`, `"bottom_left"`, `"bottom"` or `"bottom_right"`.
            fill: with `"pad"`, the colour of the rest: one number for all channels, or one for each; by default 0.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image(
            "resize", field, fields, by_name(size=size_of(size), max_size=max_size, filter=filter, fit=fit, anchor=anchor, fill=fill)
        )

    def resize_to_bucket(
        self, sizes: Iterable[Size], *, filter: Filter | None = None, field: str | None = None, fields: Some | None = None
    ) -> Pipeline:
        """Resize to that of several sizes whose proportions are nearest: the image covers it, and what is over is cut off.

            .resize_to_bucket([[256, 256], [256, 384], [384, 256]])

        With several sizes, `batch` makes batches of one size each; operations that leave the size alone, or change each to another, may
        come between. A crop or resize to one size makes all batches alike again.

        Args:
            sizes: (height, width) of each; of two that are as near, the first is taken.
            filter: as for `resize`.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("resize_to_bucket", field, fields, {"sizes": [size_of(size) for size in sizes], "filter": filter})

    def center_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Cut out the middle; where the image is smaller, black is around it.

            .resize(256).center_crop(224)

        Args:
            size: height and width, or one length for both.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("center_crop", field, fields, {"size": size_of(size)})

    def random_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Cut out a random part. An image that is smaller is a bad sample: `pad` or `resize` it first.

            .pad(4).random_crop(32)

        Args:
            size: height and width, or one length for both.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
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
        """Cut out a random part and resize it.

            .random_resized_crop(224)

        Args:
            size: height and width of the result, or one length for both.
            scale: the least and greatest share of the image's area, by default (0.08, 1).
            ratio: the least and greatest ratio of width to height, by default (3/4, 4/3).
            filter: as for `resize`.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
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
        """Put a border of one colour around the image: of so many pixels, or up to a size.

            .pad(4)

        Args:
            padding: how wide: of all sides, (horizontal, vertical), or (left, top, right, bottom).
            fill: its colour: one number for all channels, or one for each.
            size: instead of padding, (height, width) with the border, or one length for both. A larger image is a bad sample: `resize`
                with `fit="pad"` makes it smaller first.
            anchor: with size, where the image is, as for `resize`; by default `"center"`.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        args = {
            "padding": None if padding is None else integers("padding", padding),
            "fill": integers("fill", fill),
            "size": None if size is None else size_of(size),
            "anchor": anchor,
        }
        return self._image("pad", field, fields, args)

    def random_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Mirror left and right.

            .random_flip()

        Args:
            p: the probability.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("random_flip", field, fields, {"p": number_of("p", p)})

    def random_vertical_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Mirror top and bottom.

            .random_vertical_flip(0.5)

        Args:
            p: the probability.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("random_vertical_flip", field, fields, {"p": number_of("p", p)})

    def rotate90(self, turns: int = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Turn by quarter turns, counter-clockwise.

            .rotate90(1)

        Args:
            turns: how many, as `numpy.rot90` counts them; negative ones are clockwise.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("rotate90", field, fields, {"turns": integer("turns", turns)})

    def random_rotate90(self, p: float = 1.0, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Turn by none, one, two or three quarter turns, each as likely.

            .random_rotate90()

        Args:
            p: the probability that there is a choice at all.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("random_rotate90", field, fields, {"p": number_of("p", p)})

    def color_jitter(
        self,
        brightness: Jitter = 0,
        contrast: Jitter = 0,
        saturation: Jitter = 0,
        hue: Jitter = 0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Change brightness, contrast, saturation and hue at random, in an order that is random, too.

            .color_jitter(0.4, 0.4, 0.4, 0.1)

        What they mean is what torchvision's `ColorJitter` says: a number x means a factor from 1-x to 1+x, for hue a shift from -x to x of
        a turn; a pair has the least and the greatest. 0 changes nothing.

        Args:
            brightness: how far, or (least, greatest) factor.
            contrast: likewise.
            saturation: likewise.
            hue: how far, up to 0.5, or (least, greatest) part of a turn round the circle of hues.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        given = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
        return self._image("color_jitter", field, fields, {name: numbers_of(name, value) for name, value in given.items()})

    def grayscale(self, channels: Literal[1, 3] = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Take the colours out: what is left is the lightness.

            .grayscale()

        Args:
            channels: 1, or 3 that are equal.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("grayscale", field, fields, {"channels": integer("channels", channels)})

    def random_grayscale(self, p: float = 0.1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Take the colours out at random; the image keeps its channels.

            .random_grayscale(0.1)

        Args:
            p: the probability.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
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
        """Make floating point of pixels: (v / 255 - mean) / std, of `uint16` (v / 65535 - mean) / std. Only `layout` may follow.

            .normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)).layout("NCHW")

        NumPy has no bfloat16 of its own. Where the package ml_dtypes is installed (JAX brings it), arrays are of `ml_dtypes.bfloat16`;
        otherwise they are `uint16` with the same bytes, `loader.schema` says what they hold, and
        `torch.from_numpy(a).view(torch.bfloat16)` shows it. After `.to("torch")` they are `torch.bfloat16` either way.

        Args:
            mean: of values between 0 and 1: one number, or one for each of red, green and blue.
            std: likewise; above 0.
            dtype: `"float32"`, the default, `"float16"` or `"bfloat16"`.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
        """
        return self._image("normalize", field, fields, {"mean": numbers_of("mean", mean), "std": numbers_of("std", std), "dtype": dtype})

    def layout(
        self, layout: Literal["NHWC", "NCHW", "THWC", "TCHW", "CTHW"], *, field: str | None = None, fields: Some | None = None
    ) -> Pipeline:
        """Order the axes.

            .layout("NCHW")

        Args:
            layout: of images `"NHWC"`: a pixel's channels side by side, as decoded; or `"NCHW"`: a plane for each channel. Of clips
                `"THWC"`, as decoded, `"TCHW"` or `"CTHW"`.
            field: the image or mask that it works on, where samples have several.
            fields: several of one size, to which the same is done: see [masks](masks.md).
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
        """Apply a function of this program to each sample, in worker processes; after `batch`, to each batch.

            def augment(sample, rng):
                image = sample["image"]
                return {**sample, "image": image[:, ::-1] if rng.random() < 0.5 else image}

            loader = hr.files("data/train").decode_image().resize((64, 64)).map(augment, workers=4).batch(32).loader()

        The function is given a sample, a dict of its fields, and returns one: what is not in that is gone, what is new is new. With
        `fields` it is given their values and returns values, and the other fields stay. Arrays are views on the engine's memory, valid
        until the function returns. A parameter `rng` is given a `numpy.random.Generator` that draws the same numbers for the same
        sample in each run. A parameter `out` is given the arrays that results of `gives` can be written into, to be returned: a dict of
        them, or, with `fields`, one array, or a tuple in the order of `to`. The function may be async. Of a class, each worker makes an
        object and calls that.
        [Bring your own Python](own-python.md) tells all of this at length.

        A batch is a sample whose fields have one more axis: arrays of `[rows, …]`, and lists of text and of objects. Samples need not be
        dicts: a value that is none is given to the next function, and to the loop, as it is.

        Args:
            function: a function, a class whose `__init__` takes no arguments, or another object that can be called. A dict, a list, or
                whatever else has `__getitem__`, is looked into with the value of the one field in `fields`.
            fields: the fields that it is given, as positional arguments.
            to: the fields that it gives, as many values as there are names; by default those of `fields`.
            gives: what it gives, by field: `(dtype, shape)`, with None for an extent that differs, a dtype for single numbers, `str`,
                `bytes`, or `object` for anything that can be pickled. Of one field in `fields`, its type is enough. By default,
                the first sample is tried when the loader is made.
            workers: how many samples are worked on at once; by default as many as `loader(workers=…)` says.
            where: `"process"`: in worker processes, each with one sample at a time. `"thread"`: in threads of one worker process, for
                functions that let go of the GIL. `"here"`: in threads of this program, by default one, for functions that need its objects,
                such as a model or a lock; they cost the loop the GIL, and `time_limit` cannot stop them. `"main"`: in the loop's own
                thread when it asks for a batch, of which the function gets all fields and returns anything: after `batch` only, and at
                the end. An object of `headrace.Workers`: in its processes, which steps share.
            seed: which of the generators `"random"`, `"numpy"` and `"torch"` are seeded for each sample, for functions that draw from them.
            copy: True gives copies of arrays, which may be kept when the function has returned.
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
        """Keep the samples for which a function of this program returns something true: `.filter(is_large, fields="image")`.

        Those that are left out are no errors, and are not counted as lost. How many batches there are is known by a bound
        alone then, and several ranks need `steps_per_epoch`.

        Args:
            function: as for `map`, but of what it returns only the truth counts.
            fields: as for `map`.
            workers: as for `map`.
            where: as for `map`.
            seed: as for `map`.
            copy: as for `map`.
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
        """Make several samples of each, or none: the function is a generator, or returns a list.

            def crops(sample, rng):
                for _ in range(4):
                    y, x = rng.integers(0, 32, 2)
                    yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

            .flat_map(crops)

        Each is handed on when it is yielded. Random steps after it draw different numbers for each. How many batches there are is known
        by a bound alone, if at all.

        Args:
            function: as for `map`, but each thing that it yields is a sample, or with `fields` what `map` would return.
            fields: as for `map`.
            to: as for `map`.
            gives: as for `map`.
            workers: as for `map`.
            where: as for `map`.
            seed: as for `map`.
            copy: as for `map`.
        """
        from ._recipe.function_arguments import function_arguments

        given = function_arguments(
            "flat_map", function, fields=fields, to=to, gives=gives, workers=workers, where=where, seed=seed, copy=copy
        )
        return self._with("flat_map", given)

    def aggregate(self, aggregator: Any, *, fields: Some | None = None, gives: Any = None, seed: Seeds = ()) -> Pipeline:
        """Make samples of several: an object gathers them, and says when something is ready.

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

        `accumulate(sample)` is given each sample of an epoch in turn, and `flush()` ends it. Both return a sample, an iterable of samples,
        or None; they may be generators, or async. A parameter `rng` is given a generator of random numbers, as `map` does. Arrays are
        copies, which may be kept. One worker process has the object; each epoch has a new one.

        A sample is finished with what the object gives next. To resume in the middle of an epoch the object needs `state_dict()`, which
        returns what JSON can hold, arrays of NumPy and bytes, at most 1 MiB, and `load_state_dict(state)`; without them a state inside an
        epoch is refused when it is loaded.

        An exception in `accumulate` is the failure of that sample, and the object goes on; one in `flush` is that of all that it was given
        since it gave something. When the worker dies or takes too long, what it had gathered is lost, and the run ends. How many batches
        there are is not known before. Several ranks need `steps_per_epoch`.

        Args:
            aggregator: a class with these methods, of which `__init__` takes no arguments, or an object with them, which is copied.
            fields: the fields that `accumulate` is given, as positional arguments; by default the whole sample.
            gives: the types of the samples that it makes, as for `map`; by default they are those of the first one.
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
        """Stack samples to batches, or have a function make them.

            .batch(32, drop_last=True)

        Where images have several sizes, after `resize_to_bucket`, each batch has images of one size: its shape differs from batch to
        batch, and `loader.schema` has None there. A size whose last batch of an epoch is not full gives it as it is, or drops it.

        Args:
            size: samples of a batch on each rank.
            global_size: samples of a batch on all ranks together, of which each takes a contiguous part. Only these batches are
                the same for another world size.
            drop_last: whether to leave out an epoch's last batch where it is not full.
            collate: a function that makes a batch of a list of samples, as PyTorch's `collate_fn` does, in worker processes. It is given
                dicts of fields of any shape, and returns the fields of the whole batch as a dict: they come out as they are. It may be
                async, take `rng`, or be a class, as for `map`. Without it, arrays of one shape are stacked.
            fields: with `collate`, the fields that it is given: each sample is a tuple of them, or of one field its value. It returns a
                dict then, too, or as many values as there are fields.
            gives: with `collate`, the fields of the batch, as for `map`, with their whole shapes; by default the first batch is tried when
                the loader is made, which tells dtypes and numbers of axes.
            workers: with `collate`, how many batches are worked on at once; by default as many as `loader(workers=…)` says.
            where: with `collate`, `"process"`, `"thread"` or `"here"`, as for `map`.
            seed: with `collate`, as for `map`, before each batch.
            copy: with `collate`, as for `map`.
        """
        from ._recipe.function_arguments import collate_arguments

        more = {"fields": fields, "gives": gives, "workers": workers, "where": where, "seed": seed, "copy": copy}
        args = {"size": size, "global_size": global_size, "drop_last": drop_last, "collate": collate_arguments(collate, **more)}
        return self._with("batch", args)

    def unbatch(self) -> Pipeline:
        """Take batches apart: each row of a batch is a sample again, with its own key and place.

            .batch(64).map(model, workers=1).unbatch().map(encode)

        Every field needs a row for each sample of the batch: a list has one value a row.
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
        """Put sequences of like lengths into batches, padded to one length each.

            .bucket_batch([128, 256, 512], size=32)

        Sequences are arrays of which the first extent alone is not known, as `decode_npy` makes them. A batch has them as [rows, length,
        …], and beside each `field`, a `field_length`: `int64 [rows]`, how much of each row is no padding. A sample goes into the first
        bucket that takes the longest of its sequences; all of them are padded to the same length. Everything else is stacked.

        What comes into a batch depends on the samples, so that their number is known by a bound alone, `loader.max_batches`.

        Args:
            lengths: the greatest length of each bucket, rising; or of one.
            size: the most samples of a batch. At least one of size, tokens and bytes is given; a batch keeps all that are.
            tokens: the most samples of a batch times the greatest length of their bucket.
            bytes: the most bytes of its arrays, padded to the greatest length of the bucket.
            pad: the value after the end of a sequence: a number, or numbers for fields, such as {"labels": -100}, and 0 in others.
            pad_to: `"bucket"`, the default: the greatest length of the bucket, so that there are only so many shapes, for which a program
                is compiled once. `"longest"`: the longest sample of the batch.
            overlong: what becomes of samples longer than the last bucket: `"error"`, the default: they are bad samples. `"truncate"`: their
                end is cut off. `"drop"`: they are left out.
            drop_last: whether to leave out what each bucket has at the end of an epoch, where that fills no batch.
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
        """Pack several sequences after each other into each row of a batch, without cutting any.

            .pack(2048, 8)

        Sequences are arrays of which the first extent alone is not known, as `decode_npy` makes them; those of a sample are equally long.
        A batch has them as [size, length, …], and beside each `field`:

        - `field_segment_ids`: `int32 [size, length]`, which sequence of its row an element belongs to, from 1; 0 where there is none.
        - `field_positions`: `int32 [size, length]`, which element of its sequence it is, from 0.

        A single number of a sample, such as its label, is repeated for each of its elements. Text, such as `key`, is one JSON list a row:
        `json.loads(batch["key"][0])` has that of each sequence.

        What comes into a batch depends on the samples, so that their number is known by a bound alone, `loader.max_batches`.

        Args:
            length: of a row.
            size: rows of a batch.
            fit: into which of the open rows a sequence goes: `"best"`, the default: the one that it leaves the least room in. `"first"`:
                the oldest in which it fits.
            open: how many rows are filled at once, by default 64: more leave less room, and hold more samples.
            pad: the value where there is no sequence: a number, or numbers for fields, such as {"labels": -100}, and 0 in others.
            overlong: what becomes of sequences longer than a row: `"error"`, the default: they are bad samples. `"truncate"`: their end is
                cut off. `"drop"`: they are left out.
            drop_last: whether to leave out an epoch's last batch where it has fewer rows.
        """
        args = by_name(length=integer("length", length), size=integer("size", size), fit=fit, open=open, pad=numbers_for("pad", pad))
        return self._with("pack", args | {"overlong": overlong, "drop_last": drop_last})

    def to(self, format: Literal["numpy", "torch", "jax"], *, pin_memory: bool = False, device: Any = None) -> Pipeline:
        """Choose what batches consist of: arrays of NumPy, tensors of PyTorch, or arrays of JAX.

            .batch(32).to("torch", device="cuda")

        All are in the memory that the engine has filled, and are valid as long as anything refers to them. Fields of text stay `Texts`.

        `"jax"` gives what `jax.device_put` makes of a field: an array on JAX's default device. On a CPU it is in the same memory,
        unless JAX has no such type: without `jax_enable_x64`, `int64` becomes `int32`, `uint64` `uint32` and `float64` `float32`, by
        JAX's own conversion, which drops the upper bits of whole numbers that do not fit.

        Args:
            format: `"numpy"`, the default of a pipeline, `"torch"` or `"jax"`.
            pin_memory: with `"torch"`, True locks the pages of the memory for CUDA, so that `tensor.to("cuda", non_blocking=True)` is a
                copy that the program does not wait for. A slot is filled again only when everything is done that was queued in the current
                stream when its batch was let go. Where there is no CUDA, it does nothing.
            device: with `"torch"`, where tensors go: whatever `torch.device` takes. A GPU copies from pinned memory while the program goes
                on, and the slot is not filled again before. None, the default: tensors stay in the engine's memory.

        Raises:
            RecipeError: if there is no such format, or it has no such option.
        """
        return Pipeline(self._seed, self._steps, formats.check(format, pin_memory, device), self._defaults)

    def recipe(self, format: Literal["yaml", "json"] = "yaml") -> str:
        """The pipeline as a recipe: the text of a file that `load` and the command `headrace` read.

            Path("train.yaml").write_text(pipeline.recipe())

        It is complete: all defaults are written out, so that it keeps its meaning when one of them changes. Functions are in it by
        name, `module:function`, and are imported where the recipe runs.

        Args:
            format: `"yaml"` or `"json"`.

        Raises:
            RecipeError: if there is a mistake in it, or a function that cannot be imported by name, such as a lambda.
        """
        return self._written(self._defaults, format)

    def _written(self, loader: dict[str, Any], format: str) -> str:
        """The text of a recipe with a section `loader`."""
        from ._recipe import notation

        if any(map(is_main, self._steps)):
            raise RecipeError('headrace: a recipe has what the engine does: leave out map with where="main", and add it after load()')
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

        Without `batch` at the end of the pipeline the loop gets samples, one by one: dicts of arrays, numbers, `str` and `bytes`, or,
        where a source or function gives no dicts, what it gives. Everything here that is said of batches is true of samples then.

        Of a pipeline that `load` read, the defaults are what its recipe says in the section `loader`; then what `headrace.defaults` says of
        this process; otherwise they are these.

        Args:
            epochs: how many times to go through the source; None, the default: without end. Epochs count from 0, so a loader that
                goes on from a state ends where the first would have.
            rank: which of `world_size` consumers this is; by default `RANK` of the environment, as torchrun sets it, or 0.
            world_size: how many consumers share the source; by default `WORLD_SIZE` of the environment, or 1.
            workers: samples in hand at once; None, the default: one and a half times the cores that are this process's: those it may
                use, divided by `LOCAL_WORLD_SIZE`. No more than there are cores are worked on at the same time, whatever the number.
            order: `"input"`, the default: batches are the same in every run; `"completion"`: fast samples pass slow ones.
            memory: bytes that the engine may use for samples and batches, a number or text like `"2GiB"`; None, the default: a quarter of
                what is available, at most 2 GiB, divided by `LOCAL_WORLD_SIZE`.
            hold_limit: bytes of batches that the program may hold; None, the default: half of what is available.
            on_error: `"raise"`, the default: the first bad sample stops the run; `"skip"`: bad samples are left out, counted and named;
                `"replace"`: another sample of the same source comes instead of each, the same in every run.
            max_errors: with `"skip"` and `"replace"`, how many samples of an epoch may be bad: a number, or a share below 1; None, the
                default: 1 %, at least 10.
            steps_per_epoch: batches of every epoch, the same on every rank: what is left is dropped, and an epoch that has less raises
                `EpochTooShort`. Where samples may be lost or dropped, several ranks need it. None, the default: as many as there are.
            stall_after: seconds in which nothing moves before a warning says which stage has not finished which samples; 0: never; None,
                the default: 300.
            dead_letters: a file that gets a line for each sample that is lost or replaced, a JSON object with the attributes of
                `LostSample` and the rank, after what is in it. Lines are written up to two batches ahead of the loop, and again
                by a run that goes on from a state before the loss. None, the default: none. A file that a recipe names must be new and
                end in `.jsonl`, or hold dead letters already.
            fuse: False to have each operation on images run by itself, with its own line in `stats()`, to see what it does and costs.
                With `mode="exact"` the pixels are the same; it is slower.
            jpeg: what decodes JPEG: `"headrace"`, the default, or `"turbo"`, libjpeg-turbo, which takes longer and has the same pixels. A
                run may change between the two.
            prefetch: how many batches are made and sent ahead of the loop, from 1 to 1000, however much `memory` has room for; None, the
                default: 2. More even out a loop or a source that is slow now and then, and take memory.
            uneven: True for evaluation: each sample comes exactly once, so that ranks may yield different numbers of batches. **Collective
                operations in the loop, as of DistributedDataParallel, then wait for ever** for a rank that has ended. Gather results when
                the loop is over. By default samples of the epoch's beginning come twice where ranks would differ.
            hooks: objects with methods that are called around your functions, or with statistics: `headrace.Hook` says which. They come
                within those of `headrace.defaults`.
            every: seconds between two calls of the hooks' `stats`; None, the default: 10.

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
            raise RecipeError("headrace: prefetch is 0: takes 1 to 1000 batches")
        if ahead is not None:
            config["prefetch"] = ahead
        if config["world_size"] > 1 and _divides(self._steps):
            text = "headrace: the sampler divides the samples among ranks, and so does the loader: give loader(world_size=1), or a sampler"
            raise RecipeError(f"{text} that does not, such as RandomSampler")
        if world_size == 1 and rank is None:
            config["rank"] = 0  # said outright that nobody shares the source, in whatever environment
        interval = seconds_of("every", said("every", every, None))
        if interval is not None and interval <= 0:
            raise RecipeError(f"headrace: every is {interval:g}: takes seconds above 0")
        return self._start(config, None, None, _hooks(process.said("hooks", ()), hooks), interval)

    def _start(
        self,
        config: dict[str, Any],
        state: dict[str, Any] | None = None,
        replay: int | None = None,
        hooks: tuple[Any, ...] = (),
        every: float | None = None,
    ) -> Loader:
        # The order matters: the engine starts, and then lists the source, while what
        # takes long here is imported.
        from ._client.engine import manager

        connection = manager.connect()
        from ._client.session import Session

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

"""The description of a pipeline: what to read, what to do with it, how to batch it. Nothing runs before `.loader()`."""

from __future__ import annotations

import os

from .errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._loader import Loader

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

__all__ = ["Pipeline", "files"]

_FORMATS = ("numpy", "torch")


def files(
    source: Path | Iterable[Path] | Iterable[tuple[Path, int]],
    *,
    label: str | None = None,
    seed: int = 0,
) -> Pipeline:
    """Read files: the first step of a pipeline.

    Args:
        source: a pattern (`*`, `?`, `[…]`, and `**` for any number of folders); or a folder, for all images below it; or a list of
            paths; or a list of (path, label) pairs. Relative paths start at the current directory.
        label: `"parent"` labels each file with the number of its folder's name, in bytewise order; `loader.classes` has the names.
        seed: of all random operations. The same seed gives the same pixels, whatever the number of workers.

    Returns:
        A pipeline with the fields `key` and, where there are labels, `label`.
    """
    args: dict[str, Any] = {}
    if isinstance(source, (str, bytes, os.PathLike)):
        args["pattern"] = _path(source)
    else:
        args.update(_listed(source))
    args["root"] = os.fsdecode(os.getcwdb())
    if label is not None:
        args["label"] = label
    return Pipeline(_integer("seed", seed), ({"op": "files", "args": args},), "numpy")


def _listed(source: Iterable[Any]) -> dict[str, Any]:
    """The argument that a list of paths or pairs becomes."""
    listed = list(source)
    if not any(isinstance(item, tuple) for item in listed):
        return {"paths": [_path(item) for item in listed]}
    pairs = []
    for i, item in enumerate(listed):
        if not isinstance(item, tuple) or len(item) != 2:
            raise RecipeError(f"headrace: files: item {i} is {item!r}: takes paths only, or (path, label) pairs only")
        pairs.append([_path(item[0]), _integer(f"the label of item {i}", item[1])])
    return {"pairs": pairs}


class Pipeline:
    """The steps from files to batches. It never changes: each method returns a new pipeline with one more step."""

    __slots__ = ("_format", "_seed", "_steps")

    def __init__(self, seed: int, steps: tuple[dict[str, Any], ...], format: str) -> None:
        self._seed = seed
        self._steps = steps
        self._format = format

    def _with(self, op: str, args: dict[str, Any]) -> Pipeline:
        given = {name: value for name, value in args.items() if value is not None}
        return Pipeline(self._seed, (*self._steps, {"op": op, "args": given}), self._format)

    def shuffle(self, seed: int | None = None) -> Pipeline:
        """Visit the samples of each epoch in a random order of its own.

        Args:
            seed: of the order; by default that of `files`.
        """
        return self._with("shuffle", {"seed": None if seed is None else _integer("seed", seed)})

    def decode_image(self, *, field: str | None = None, to: str | None = None, orient: bool | None = None) -> Pipeline:
        """Decode a compressed image to RGB, `uint8 [height, width, 3]`.

        Args:
            field: where the compressed image is; by default where `files` put it.
            to: the field to write, by default `"image"`.
            orient: whether to turn and mirror the image as its EXIF orientation says; by default yes.
        """
        return self._with("decode_image", {"field": field, "to": to, "orient": orient})

    def resize(self, size: int | tuple[int, int], max_size: int | None = None) -> Pipeline:
        """Resize by antialiased bilinear interpolation.

        Args:
            size: the length that the shorter edge gets; or (height, width).
            max_size: the length that the longer edge must not exceed.
        """
        return self._with("resize", {"size": _size(size), "max_size": max_size})

    def center_crop(self, size: int | tuple[int, int]) -> Pipeline:
        """Cut out the middle.

        Args:
            size: height and width, or one length for both.
        """
        return self._with("center_crop", {"size": _size(size)})

    def random_resized_crop(
        self,
        size: int | tuple[int, int],
        scale: tuple[float, float] | None = None,
        ratio: tuple[float, float] | None = None,
    ) -> Pipeline:
        """Cut out a random part and resize it.

        Args:
            size: height and width of the result, or one length for both.
            scale: the least and greatest share of the image's area, by default (0.08, 1).
            ratio: the least and greatest ratio of width to height, by default (3/4, 4/3).
        """
        return self._with("random_resized_crop", {"size": _size(size), "scale": _range(scale), "ratio": _range(ratio)})

    def random_flip(self, p: float = 0.5) -> Pipeline:
        """Mirror left and right.

        Args:
            p: the probability.
        """
        return self._with("random_flip", {"p": p})

    def batch(self, size: int | None = None, *, global_size: int | None = None, drop_last: bool = False) -> Pipeline:
        """Stack samples to batches.

        Args:
            size: samples of a batch on each rank.
            global_size: samples of a batch on all ranks together, of which each takes a contiguous part. Only these batches are
                the same for another world size.
            drop_last: whether to leave out an epoch's last batch where it is not full.
        """
        return self._with("batch", {"size": size, "global_size": global_size, "drop_last": drop_last})

    def to(self, format: str) -> Pipeline:
        """Choose what batches consist of: `"numpy"` arrays or `"torch"` tensors, both over the same memory."""
        return Pipeline(self._seed, self._steps, check_format(format))

    def recipe(self) -> dict[str, Any]:
        """The description in its JSON form."""
        steps = [{"op": step["op"], "args": dict(step["args"])} for step in self._steps]
        return {"headrace": 1, "seed": self._seed, "steps": steps}

    def loader(
        self,
        epochs: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = None,
        order: str = "input",
        memory: int | str | None = None,
        hold_limit: int | str | None = None,
        on_error: str = "raise",
        max_errors: int | float | None = None,
    ) -> Loader:
        """Start the engine, list the source, check every step, and begin to fill batches.

        Args:
            epochs: how many times to go through the source; None: without end.
            rank: which of `world_size` consumers this is; by default `RANK` of the environment, as torchrun sets it, or 0.
            world_size: how many consumers share the source; by default `WORLD_SIZE` of the environment, or 1.
            workers: samples in hand at once; by default the cores that this process may use, divided by `LOCAL_WORLD_SIZE`. No more
                than these are worked on at the same time, whatever the number.
            order: `"input"`: batches are the same in every run; `"completion"`: fast samples pass slow ones.
            memory: bytes that the engine may use for samples and batches, a number or text like `"2GiB"`; by default a quarter of
                what is available, at most 2 GiB, divided by `LOCAL_WORLD_SIZE`.
            hold_limit: bytes of batches that the program may hold; by default half of what is available.
            on_error: `"raise"`: the first bad sample stops the run; `"skip"`: bad samples are left out, counted and named.
            max_errors: with `"skip"`, how many samples of an epoch may be bad: a number, or a share below 1; by default 1 %, at
                least 10.

        Returns:
            A loader. Each `for` loop over it is one epoch.
        """
        environment = os.environ
        config = {
            "epochs": _optional("epochs", epochs),
            "rank": _given("rank", rank, environment.get("RANK"), 0),
            "world_size": _given("world_size", world_size, environment.get("WORLD_SIZE"), 1, least=1),
            "local_world_size": _given("local_world_size", None, environment.get("LOCAL_WORLD_SIZE"), 1, least=1),
            "workers": _optional("workers", workers),
            "order": order,
            "memory": _bytes("memory", memory),
            "hold_limit": _bytes("hold_limit", hold_limit),
            "on_error": on_error,
            "max_errors": max_errors,
        }
        if world_size == 1 and rank is None:
            config["rank"] = 0  # said outright that nobody shares the source, in whatever environment
        # The order matters: the engine starts, and then lists the source, while what takes long here is imported.
        from ._engine import manager

        connection = manager.connect()
        from ._session import Session

        recipe = self.recipe()
        session = Session(connection, recipe, config)
        from ._loader import Loader

        return Loader(session, recipe, config, self._format)

    def __repr__(self) -> str:
        def shown(step: dict[str, Any]) -> str:
            args = ", ".join(f"{k}={_short(v)}" for k, v in step["args"].items() if k != "root")
            return f"{step['op']}({args})"

        return ".".join(map(shown, self._steps))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return (self._seed, self._steps, self._format) == (other._seed, other._steps, other._format)

    __hash__ = None  # type: ignore[assignment]


def check_format(format: str) -> str:
    """The format, if there is one of that name."""
    if format not in _FORMATS:
        raise RecipeError(f"headrace: to({format!r}): takes {' or '.join(map(repr, _FORMATS))}")
    return format


def _path(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise RecipeError(f"headrace: files: {path!r} is no path; takes str, bytes or os.PathLike") from None


def _integer(name: str, value: Any) -> int:
    try:
        return int(value.__index__())
    except AttributeError:
        raise RecipeError(f"headrace: {name} is {value!r}: takes a whole number") from None


def _optional(name: str, value: Any) -> int | None:
    return None if value is None else _integer(name, value)


def _given(name: str, value: int | None, environment: str | None, default: int, least: int = 0) -> int:
    if value is not None:
        given = _integer(name, value)
    elif environment is None:
        given = default
    else:
        try:
            given = int(environment)
        except ValueError:
            text = f"headrace: {name.upper()} in the environment is {environment!r}: takes a whole number; or give {name}="
            raise RecipeError(text) from None
    if given < least:
        raise RecipeError(f"headrace: {name} is {given}: takes a number from {least} on")
    return given


def _size(size: Any) -> int | list[int]:
    if isinstance(size, (tuple, list)):
        if len(size) == 1:
            return _integer("size", size[0])
        return [_integer("size", n) for n in size]
    return _integer("size", size)


def _range(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else [float(x) for x in pair]


_UNITS = {"": 1, "B": 1} | {f"{p}B": 1000**i for i, p in enumerate("KMGT", 1)} | {f"{p}IB": 1024**i for i, p in enumerate("KMGT", 1)}


def _bytes(name: str, amount: int | str | None) -> int | None:
    if not isinstance(amount, str):
        return _optional(name, amount)
    text = amount.strip().upper()
    digits = text.rstrip("BIKMGT ")
    unit = text[len(digits) :].strip()
    try:
        return int(float(digits) * _UNITS[unit])
    except (ValueError, KeyError):
        raise RecipeError(f"headrace: {name} is {amount!r}: takes a number of bytes, or text like '512MiB' or '2GB'") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(value)} items)"

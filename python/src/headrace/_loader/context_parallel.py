"""Context parallelism: each rank of a group gets its part of every row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy

from .._batch.batch import Batch
from .._recipe.functions import all_steps, batched, makes_batches, operation
from ..errors import HeadraceError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._recipe.mesh import Part
    from .batch_steps import MainSteps


class ContextParallel:
    """Cuts batches, after steps with `where="main"`, which are given whole rows."""

    def __init__(self, part: Part, steps: Sequence[dict[str, Any]], opened: dict[str, Any], main: MainSteps | None) -> None:
        """`steps` are those of the pipeline, and `opened` what the engine has said of its batches."""
        self._rank, self._size, self._zigzag = part.rank, part.size, part.layout == "zigzag"
        self._chunks = part.size * (2 if self._zigzag else 1)
        self._main = main
        if not batched(steps):
            raise RecipeError("headrace: cp: there are no rows to cut, because samples come one by one: add .pack(…), or another batch")
        made = [step for step in all_steps(steps) if makes_batches(step)]
        self._axis = 1 if opened.get("whole") else 0  # fields of batches that are made whole have the number of rows in their shapes
        tensors = {field["name"]: field.get("shape") or () for field in opened["fields"] if field["kind"] == "tensor"}
        lengths = {name: shape[self._axis] for name, shape in tensors.items() if len(shape) > self._axis}
        self._by = [by for step in made if "bucket_batch" in step and (by := step["bucket_batch"].get("by")) in lengths]
        padded = _padded(lengths, tensors) if any("bucket_batch" in step for step in made) else []
        self._others = [] if not self._by else [name for name in padded if any(name != by for by in self._by)]
        known = _packed(lengths) or [name for name in padded if name not in self._others]
        if not known and not part.fields:
            raise RecipeError(f"headrace: cp: the sequences of .{operation(made[-1])} are unknown: {_choices(lengths)}")
        self._fields = frozenset(self._named(part.fields, lengths, opened) if part.fields else known)
        self._check(made, lengths)

    def __call__(self, batch: Any, epoch: int, number: int) -> Any:
        """A rank's part of a batch."""
        if self._main is not None:
            batch = self._main(batch, epoch, number)
        if not isinstance(batch, dict):
            raise HeadraceError(f'headrace: cp cuts the fields of a dict, but the steps with where="main" returned {type(batch).__name__}')
        missing = sorted(self._fields - batch.keys())
        if missing:
            raise HeadraceError(f"headrace: cp cuts the field {missing[0]!r}, but the batch has {', '.join(batch)}")
        cut = {name: self._cut(name, value) if name in self._fields else value for name, value in batch.items()}
        return Batch(cut) if isinstance(batch, Batch) else cut

    def shape(self, name: str, shape: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
        """The shape of a field after the cut."""
        if name not in self._fields or shape is None:
            return shape
        at = self._axis
        length = shape[at]
        return (*shape[:at], None if length is None else length // self._size, *shape[at + 1 :])

    def _cut(self, name: str, value: Any) -> Any:
        shape: tuple[int, ...] = getattr(value, "shape", ())
        if len(shape) < 2:
            raise HeadraceError(f"headrace: cp cuts rows, but {name!r} has none: leave it out of cp_fields")
        if shape[1] % self._chunks:
            raise HeadraceError(f"headrace: cp: {self._odd(repr(name), shape[1])}")
        size = shape[1] // self._chunks
        first = value[:, self._rank * size : (self._rank + 1) * size]
        if not self._zigzag:
            return first
        last = self._chunks - 1 - self._rank
        return _joined(first, value[:, last * size : (last + 1) * size])

    # Before anything runs.

    def _named(self, names: list[str], lengths: dict[str, int], opened: dict[str, Any]) -> list[str]:
        """The fields of `cp_fields`. Steps with `where="main"` may add some that the engine does not know."""
        known = {field["name"] for field in opened["fields"]}
        for name in names:
            if name in self._others:
                by = next(by for by in self._by if by != name)
                raise RecipeError(
                    f"headrace: cp_fields: {name!r} is padded to its own longest in the batch, because bucket_batch has by={by!r}, so its"
                    f" rows have any length, and {self._chunks} must divide it: leave it out of cp_fields, or leave out by"
                )
            if name in lengths or (self._main is not None and name not in known):
                continue
            what = "has no rows to cut" if name in known else "is not there"
            raise RecipeError(f"headrace: cp_fields: the field {name!r} {what}: {_choices(lengths)}")
        return names

    def _check(self, made: list[dict[str, Any]], lengths: dict[str, int]) -> None:
        """Refuse lengths that cannot be divided, as far as they are known."""
        buckets = [step["bucket_batch"] for step in made if "bucket_batch" in step]
        for field, length in lengths.items():
            if field not in self._fields or (length >= 0 and not length % self._chunks):
                continue
            for args in buckets:
                self._check_buckets(**args)
            if length >= 0:
                up = self._up(length)
                write = f"give .pack() the length {up} for it" if any("pack" in step for step in made) else f"pad it to {up}"
                raise RecipeError(f"headrace: cp: {self._odd(repr(field), length)}: {write}")

    def _check_buckets(self, lengths: list[int], pad_to: str = "bucket", **_: Any) -> None:
        odd = [length for length in lengths if length % self._chunks]
        if odd:
            better = sorted({self._up(length) for length in lengths})
            raise RecipeError(f"headrace: cp: {self._odd('a bucket', odd[0])}: write .bucket_batch({better}, …)")
        if pad_to == "longest":
            raise RecipeError(
                f'headrace: cp: with pad_to="longest" rows have any length, and {self._chunks} must divide it: write pad_to="bucket"'
            )

    def _up(self, length: int) -> int:
        """The next length that can be divided."""
        return -(-length // self._chunks) * self._chunks

    def _odd(self, what: str, length: int) -> str:
        parts = f"{self._chunks} chunks, two for each of {self._size} ranks" if self._zigzag else f"the parts of {self._size} ranks"
        return f"{what} has rows of {length}, which cannot be divided into {parts}"


def _packed(lengths: dict[str, int]) -> list[str]:
    """The fields of packed rows that have an element for each of the row: not where its sequences begin."""
    sequences = [field for field in lengths if f"{field}_segment_ids" in lengths]
    rows = {lengths[field] for field in sequences}
    begins = {f"{field}_cu_seqlens" for field in sequences}
    return [field for field, length in lengths.items() if length in rows and field not in begins]


def _padded(lengths: dict[str, int], tensors: dict[str, tuple[int, ...]]) -> list[str]:
    """The fields that were padded, which have their own lengths beside them."""
    return [field for field in lengths if f"{field}_length" in tensors]


def _choices(lengths: dict[str, int]) -> str:
    if not lengths:
        return "no field is an array with rows: leave out cp"
    shown = ", ".join(f"{name!r} with rows of {'any length' if length < 0 else length}" for name, length in lengths.items())
    return f"write cp_fields=[…] with those to cut, of {shown}"


def _joined(first: Any, last: Any) -> Any:
    """Both parts as one array of their framework."""
    if isinstance(first, numpy.ndarray):
        return numpy.concatenate((first, last), axis=1)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(first, torch.Tensor):
        return torch.cat((first, last), dim=1)
    import jax.numpy

    return jax.numpy.concatenate((first, last), axis=1)

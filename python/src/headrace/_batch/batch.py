"""A batch: a dict that lists its fields when you ask for one it lacks."""

from __future__ import annotations

import sys
import warnings
from dis import opmap
from typing import Any, NoReturn

from ..errors import HeadraceWarning, NoSuchField, NoSuchName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_UNPACKS = (opmap["UNPACK_SEQUENCE"], opmap["UNPACK_EX"])


def is_unpacked(frame: FrameType) -> bool:
    """Whether what a frame does now is an assignment to several names, such as `images, labels = batch`."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _UNPACKS


class Batch(dict[str, Any]):
    """The fields of a batch by name, or of one sample if the pipeline has no batch step.

        batch["image"]  # uint8 [32, 224, 224, 3]
        batch["label"]  # int64 [32]

    It is a dict whose `repr` shows each field's type and shape instead of its values. With `.to("jax")` batches are plain dicts, because
    JAX treats other types as leaves of a tree.

    Raises:
        NoSuchField: a KeyError that lists the fields.
    """

    __slots__ = ()

    def __missing__(self, name: object) -> NoReturn:
        from .._report.hints import no_field

        raise NoSuchField(no_field(str(name), self))

    def __iter__(self) -> Iterator[str]:
        if is_unpacked(sys._getframe(1)):
            names = [name for name in self.keys() if name != "key"]
            said = ", ".join(f"batch[{name!r}]" for name in names[:2])
            warnings.warn(
                f"headrace: unpacking a batch gives the names of its fields, as of any dict: write for batch in loader: and {said}",
                HeadraceWarning,
                stacklevel=2,
            )
        return super().__iter__()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # asked for by copy, pickle, inspect and others, who go on without
            raise NoSuchName(name)
        from .._report.hints import no_attribute

        raise NoSuchName(no_attribute(name, self))

    def __repr__(self) -> str:
        return f"Batch({', '.join(f'{name}={_short(value)}' for name, value in self.items())})"


Batch.__module__ = "headrace"


def _short(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{str(dtype).removeprefix('torch.')} {list(shape)}" if len(shape) else repr(value)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

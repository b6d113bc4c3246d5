"""A contact sheet of what training would get."""

from __future__ import annotations

import json
import os
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from .._client.channel import Gone
from .._client.engine import manager
from .._client.session import Session
from .._recipe.arguments import absolute, in_store, integer
from .._report.draw import visible
from ..errors import RecipeError, WrongValue, write_file

if TYPE_CHECKING:
    from .._client.session import Request
    from ..pipeline import Path

_LENGTH = Struct("<I")
_LISTED = 24  # samples that a terminal learns of


class PreviewSample(NamedTuple):
    """One image of a contact sheet.

    Attributes:
        key (str): the sample's name; for files the path as given.
        label (str | None): its class name and number, if it has a label.
        error (str | None): why the sample failed; None if there is an image.
    """

    key: str
    label: str | None
    error: str | None


PreviewSample.__module__ = "headrace"


class Preview:
    """A contact sheet from `Loader.preview`. A notebook shows it; a terminal lists its samples.

    Attributes:
        png (bytes): the sheet, a PNG file.
        width (int): of the sheet, in pixels.
        height (int): of the sheet, in pixels.
        samples (tuple[PreviewSample, ...]): its samples, in the epoch's order.
        epoch (int): their epoch.
        samples_per_epoch (int): samples in that epoch; -1 if unknown, as for a generator.
    """

    def __init__(self, png: bytes, told: dict[str, Any], epoch: int) -> None:
        self.png = png
        self.width: int = told["width"]
        self.height: int = told["height"]
        self.samples = tuple(PreviewSample(s["key"], s.get("label"), s.get("error")) for s in told["samples"])
        self.epoch = epoch
        self.samples_per_epoch: int = told["of"]

    def save(self, path: Path) -> str:
        """Write the sheet to a `.png` file: `loader.preview().save("sheet.png")`.

        Returns:
            The file's absolute path.

        Raises:
            ValueError: if the name does not end in `.png`.
            OSError: if the file cannot be written.
        """
        name = absolute("preview", path) or ""
        if not name.lower().endswith(".png"):
            raise WrongValue(f"headrace: a preview is saved as PNG, and {os.fsdecode(path)!r} does not end in .png")
        if in_store(name):
            from .._io.save import put

            put("preview", name, self.png)
        else:
            write_file(name, self.png)
        return name

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        shown, of = f"{len(self.samples):,}", f"{self.samples_per_epoch:,} samples of epoch {self.epoch}"
        if self.samples_per_epoch < 0:
            of = f"epoch {self.epoch}"
        lines = [f'<headrace.Preview: the first {shown} of {of}, {self.width}×{self.height} pixels; .save("sheet.png") writes it>']
        for number, sample in enumerate(self.samples[:_LISTED], 1):
            label = f"  {visible(sample.label)}" if sample.label else ""
            error = f"  fails: {visible(sample.error)}" if sample.error else ""
            lines.append(f"{number:4}  {visible(sample.key)}{label}{error}")
        if len(self.samples) > _LISTED:
            lines.append(f"      … and {len(self.samples) - _LISTED:,} more")
        return "\n".join(lines)


Preview.__module__ = "headrace"


def preview(
    request: Request,
    n: int,
    epoch: int,
    columns: int | None,
    tile: int | None,
) -> Preview:
    """Draw the first samples of an epoch in another engine, so no loader is affected."""
    asked: dict[str, Any] = {"samples": integer("n", n), "epoch": integer("epoch", epoch)}
    for name, value, most in (("columns", columns, 10_000), ("tile", tile, 4096)):
        if value is not None:
            asked[name] = integer(name, value)
            if not 1 <= asked[name] <= most:
                raise RecipeError(f"headrace: preview({name}={value!r}): must be from 1 to {most:,}")
    if not 1 <= asked["samples"] <= 10_000:
        raise RecipeError(f"headrace: preview(n={n!r}): must be from 1 to 10,000")
    if asked["epoch"] < 0:
        raise RecipeError(f"headrace: preview(epoch={epoch!r}): epochs count from 0")
    asked["title"] = f"the first {asked['samples']:,} samples of epoch {asked['epoch']}"
    session = Session(manager.connect(alone=True), request, preview=asked)
    try:
        payload = session.previewed()
    except Gone:
        raise session.death().error(session.connection.number) from None
    finally:
        session.drop()
    (size,) = _LENGTH.unpack_from(payload)
    told = json.loads(payload[_LENGTH.size : _LENGTH.size + size])
    return Preview(payload[_LENGTH.size + size :], told, asked["epoch"])

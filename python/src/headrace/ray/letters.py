"""Lines of dead letters for samples that feeders have lost, as the engine writes them."""

from __future__ import annotations

import json
import os
import re
import warnings
from typing import TYPE_CHECKING

from .._report.tracebacks import outside
from ..errors import HeadraceWarning

if TYPE_CHECKING:
    from .._loader.lost import LostSample

# The engine's encoder escapes the line separators of JavaScript, but not in keys; bytes of those that are not UTF-8 are lone surrogates.
_SEPARATORS = re.compile("[\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Letters:
    """Appends lines to a file. That it cannot is said once, and does not end the run."""

    def __init__(self, path: str | None, rank: int) -> None:
        self._path, self._rank = path, rank

    def add(self, lost: LostSample) -> None:
        """Write a line, at once and in one piece: several processes may write to one file."""
        if not self._path:
            return
        try:
            file = os.open(os.fsencode(self._path), os.O_WRONLY | os.O_APPEND)  # the engine has made it
            try:
                os.write(file, line(lost, self._rank))
            finally:
                os.close(file)
        except OSError as error:
            self._path = None
            text = f"headrace: dead_letters cannot be written any more, so the sample {lost.key!r} and further ones are not in it: {error}"
            warnings.warn(text, HeadraceWarning, stacklevel=outside())


def line(lost: LostSample, rank: int) -> bytes:
    """A line of the file."""
    told = {
        "rank": rank,
        "epoch": lost.epoch,
        "source": lost.source,
        "position": lost.position,
        "index": lost.index,
        "output": lost.output,
        "key": lost.key,
        "stage": lost.stage,
        **({"step": lost.step} if lost.step else {}),
        "error": lost.error,
        "replaced": lost.replaced,
    }
    parts = (f"{json.dumps(name)}:{_plain(name, value)}" for name, value in told.items())
    return ("{" + ",".join(parts) + "}\n").encode()


def _plain(name: str, value: object) -> str:
    pattern = _SURROGATES if name == "key" else _SEPARATORS
    return pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, separators=(",", ":")))

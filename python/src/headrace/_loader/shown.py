"""Shows a loader to people: what it is, where it is, and what its stages do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._recipe.functions import batched
from .._report import draw
from ..errors import ForkedLoader, LoaderClosed
from .stats import gathering, glance

if TYPE_CHECKING:
    from .loader import Field, Loader


def text(loader: Loader) -> str:
    """The loader for a terminal."""
    lines = [f"<headrace.Loader of {{{', '.join(map(': '.join, _fields(loader)))}}}{_rows(loader)}, {_length(loader)}>"]
    if loader._run.refused is not ForkedLoader:
        stats = glance(loader._run)
        lines += [f"  {line}" for text in _standing(loader, stats) for line in draw.broken(text)]
        lines += [f"  {text}" for text in draw.stage_lines(loader._run.opened["stages"], stats)]
    return "\n".join(lines)


def page(loader: Loader) -> str:
    """The loader for a notebook, as HTML."""
    rows = "" if loader._run.opened.get("whole") else f", {loader._run.opened['rows']} rows a batch"
    length = f"{draw.html(_length(loader))}{rows}"
    pieces = [f"<p><b>headrace.Loader</b> · {length}<br>{draw.fields_html(_fields(loader))}</p>"]
    if loader._run.refused is not ForkedLoader:
        stats = glance(loader._run)
        pieces.append(f"<p>{'<br>'.join(map(draw.html, _standing(loader, stats)))}</p>")
        pieces += [draw.stages_html(loader._run.opened["stages"], stats), draw.LEGEND]
        if stats:
            pieces.append(draw.details("statistics", stats["text"]))
    pieces.append(draw.details("pipeline", repr(loader._pipeline)))
    return draw.page(*pieces)


def _fields(loader: Loader) -> list[tuple[str, str]]:
    return [(name, _shown(field)) for name, field in loader.schema.items()]


def _rows(loader: Loader) -> str:
    """The rows of a batch, except for one made whole."""
    return "" if loader._run.opened.get("whole") else f" × {loader._run.opened['rows']} rows"


def _length(loader: Loader) -> str:
    bound = "" if loader._run.opened["exact"] else "at most "
    epochs = loader._run.config["epochs"]
    count = "" if epochs is None else f", {epochs} epoch{'s' * (epochs != 1)}"
    batches = "any number of" if loader.max_batches is None else f"{bound}{loader.max_batches}"
    return f"{batches} {_items(loader)} per epoch{count}{' (closed)' * (loader._run.refused is LoaderClosed)}"


def _items(loader: Loader) -> str:
    """What a loop gets."""
    return "batches" if not loader._run.opened.get("single") or batched(loader._pipeline._steps) else "samples"


def _standing(loader: Loader, stats: dict[str, Any]) -> list[str]:
    """The run's position, speed and bottleneck."""
    frontier = loader._run.frontier
    given = loader._run.identity.place(frontier).get("batches", 0)
    most = "" if loader.max_batches is None else f" of {loader.max_batches:,}"
    told = [f"in epoch {frontier.epoch}, {given:,}{most} {_items(loader)} given"]
    epochs = loader._run.config["epochs"]
    if epochs is not None and frontier.epoch >= epochs:
        told = ["its epoch was run" if epochs == 1 else f"all {epochs} epochs were run"]
    if loader.errors.total:
        told[0] += f"; {loader.errors.total - loader.errors.replaced:,} samples lost, {loader.errors.replaced:,} replaced"
    if stats.get("stages") and stats.get("yielded"):
        made, what = stats["yielded"], "items"
        if stats["stages"][-1]["kind"] in ("batch", "fill"):
            made, what = _samples(stats["stages"]), "samples"
        rate = f"{made / max(stats['elapsed_ns'] / 1e9, 1e-9):,.0f} {what}/s. " if made else ""  # none if all was read ahead
        told.append(rate + stats["verdict"])
    return told


def _samples(stages: list[dict[str, Any]]) -> int:
    """How many samples came into batches since the loop first asked."""
    at = gathering(stages)
    return int(at["in"] - at.get("ahead", 0))


def _shown(field: Field) -> str:
    if field.shape is None:
        return field.kind
    return f"{field.dtype or field.kind} [{', '.join('?' if n is None else str(n) for n in field.shape)}]"

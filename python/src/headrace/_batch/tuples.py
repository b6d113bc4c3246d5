"""Batches as tuples of their fields."""

from __future__ import annotations

from ..errors import HeadraceError, RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .arrays import Layout


def check(fields: Iterable[str], layout: Layout, unnamed: bool = False) -> None:
    """Raise RecipeError where batches of a layout have not all of the fields, or samples no names of fields."""
    if layout.bare is not None or unnamed:
        raise RecipeError("headrace: tuples: the samples are not dicts, so they have no fields: give the source or function fields=")
    for name in fields:
        if name not in layout.names:
            raise RecipeError(f"headrace: tuples: there is no field {name!r}: batches have {', '.join(map(repr, layout.names))}")


def of(batch: Any, fields: Iterable[str]) -> tuple[Any, ...]:
    """The tuple of a batch's fields."""
    try:
        return tuple([batch[name] for name in fields])
    except (KeyError, TypeError, IndexError):  # a step with where="main" may have made anything of it
        has = ", ".join(map(repr, batch)) if hasattr(batch, "keys") else f"type {type(batch).__name__}"
        wanted = ", ".join(map(repr, fields))
        raise HeadraceError(f'headrace: tuples: needs {wanted} of what the steps with where="main" return, and that has {has}') from None

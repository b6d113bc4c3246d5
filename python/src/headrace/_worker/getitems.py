"""Objects that give several samples at once: `__getitems__`, as PyTorch's DataLoader asks them for a batch."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .callee import Callee
    from .writer import Writer


def several_of(callee: Callee, writer: Writer) -> Callable[[list[int]], list[Any] | None] | None:
    """What gives the samples of a pack; None: they are asked for one by one.

    So they are where each sample has something of its own around its call: random numbers, memory, a hook, an epoch, a time limit. The
    function returns None if it has failed: then each sample is asked for alone, and the error is that of the one which has it.
    """
    get = getattr(callee.object, "__getitems__", None)
    alone = callee.random or callee.takes_out or callee.hooks is not None or callee.epochs is not None or callee.is_async
    if callee.kind != "index" or not callable(get) or alone or writer.probing or callee.setup.get("limit"):
        return None

    def several(numbers: list[int]) -> list[Any] | None:
        try:
            samples = get(list(numbers))
        except Exception:
            return None
        return samples if isinstance(samples, (list, tuple)) and len(samples) == len(numbers) else None  # type: ignore[return-value]

    return several

"""Where functions are called that an executor calls."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor
    from typing import Any


class Submitted:
    """Where a function of a step is called, if an executor calls it."""

    __slots__ = ("executor",)

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Submitted) and other.executor is self.executor

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return name_of(self.executor)


def name_of(executor: Any) -> str:
    return type(executor).__name__

"""Epochs that were begun while the loader opened. What gives samples only once, such as a queue, has then given the first ones."""

from __future__ import annotations

import copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Tape:
    """An epoch that trials have begun. The run has their samples once more, and then those that follow."""

    def __init__(self, made: Any, epoch: int, iterator: Iterator[Any]) -> None:
        """`made` is the object that it is of."""
        self.made = made
        self.iterator = iterator
        self._epoch = epoch
        self._samples: list[Any] = []
        self._ended: BaseException | None = None  # what the iterator has raised, StopIteration at its end

    def is_of(self, epoch: int) -> bool:
        """Whether it would be the same in this epoch: an object without `set_epoch` does not know which one it is."""
        return epoch == self._epoch or not hasattr(self.made, "set_epoch")

    def try_out(self) -> Iterator[Any]:
        """From the beginning. What has no end with it goes on later."""
        return _Trial(self)

    def sample(self, at: int) -> Any:
        """A sample by its number: one that came already, or the next."""
        if at < len(self._samples):
            return self._samples[at]
        if self._ended is not None:
            raise self._ended
        self._keep()
        try:
            self._samples.append(next(self.iterator))
        except BaseException as e:
            self._ended = e
            raise
        return self._samples[at]

    def run(self) -> Iterator[Any]:
        """From the beginning, once. It keeps no samples."""
        try:
            while self._samples:
                yield self._samples.pop(0)
            if self._ended is None:
                yield from self.iterator
            elif not isinstance(self._ended, StopIteration):
                raise self._ended
        finally:
            self.close()

    def close(self) -> None:
        """End the iterator early."""
        close = getattr(self.iterator, "close", None)
        if close is not None:
            close()

    def _keep(self) -> None:
        """Copy the last sample: iterators may write the next one into the same memory."""
        if self._samples:
            try:
                self._samples[-1] = copy.deepcopy(self._samples[-1])
            except Exception:
                pass  # then it is no plain data


class _Trial:
    """A reading of a tape. It has no close(): the iterator goes on."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._at = 0

    def __iter__(self) -> _Trial:
        return self

    def __next__(self) -> Any:
        sample = self._tape.sample(self._at)
        self._at += 1
        return sample

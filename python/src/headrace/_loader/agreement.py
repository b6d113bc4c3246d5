"""Has all ranks end an epoch together where each may have another number of batches."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..errors import HeadraceError, RankFailed

if TYPE_CHECKING:
    from .deadline import Deadline
    from .run import Run

_LOOKS = 0.1  # seconds: signal handlers run, and another thread may close the loader, while this waits for other ranks
_NOWHERE = 1 << 62  # the place of a rank that has failed
_FAILED = "another rank of this loader failed or ended, and this one cannot go on without it: its own output says why"


class Agreement:
    """How many batches all ranks have.

    Each rank says how many have arrived from its engine, and whether its epoch ends with them; all get the least of that, by one reduction
    of three numbers in a group of their own. The next is due once these are taken. What a rank says depends on how far its engine is; where
    an epoch ends does not, nor after which batch this is known.

    Attributes:
        left: batches that all ranks have, and this one has not taken yet.
        last: with these the epoch ends.
        behind: the engine is still in an epoch that has ended, because another rank has no more.
        waits: other ranks have not answered yet.
    """

    def __init__(self, rank: int, peers: list[int]) -> None:
        """`peers` are the ranks in `torch.distributed` of all that share the samples."""
        self._rank = rank
        self._peers = peers
        self._group: Any = None  # made with the first reduction, which all ranks come to
        self._reduction: tuple[Any, Any] | None = None  # under way: the work and its tensor
        self.begin()

    def begin(self) -> None:
        """Forget what was agreed on: all ranks go on elsewhere."""
        self.left = 0
        self.last = self.behind = self._failed = False
        self._reduction = None

    @property
    def waits(self) -> bool:
        return self._reduction is not None

    def reach(self, run: Run, ready: int, ends: bool, place: tuple[int, int], deadline: Deadline | None) -> None:
        """Find out how many batches all ranks have, where this one has so many ready after this place: epoch and batches of it."""
        at = place[0] << 32 | place[1]
        try:
            if self._reduction is None:
                self._reduction = self._reduce(2 * ready + (not ends and ready > 0), at)
            least, low, high = self._result(run, deadline)
        except (RuntimeError, ValueError) as error:
            if isinstance(error, HeadraceError):
                raise
            self._reduction = None
            raise self._fails(run, f"headrace: {_FAILED} ({words_of(error)})") from None
        if least < 0:
            raise self._fails(run, f"headrace: rank {-1 - least} failed, and this one cannot go on without it: its own error says why")
        if low != -high:
            raise self._fails(
                run,
                f"headrace: the ranks are not at the same place: one is {_said(low)}, one {_said(-high)}:"
                " begin, leave and resume loops alike on all ranks, from states of the same step",
            )
        self.left, self.last = least >> 1, not least & 1

    def fail(self) -> None:
        """Tell the other ranks that this one has failed, and do not wait for them, unless they have not come to their first batch yet."""
        if self._failed:
            return
        self._failed = True
        try:
            self._reduce(-1 - self._rank, None)
        except Exception:
            pass  # they find out when this process ends

    def close(self) -> None:
        """Let go of the group, unless it is still in use: others then wait for this rank."""
        group, self._group = self._group, None
        distributed = sys.modules["torch"].distributed
        if group is not None and self._reduction is None and not self._failed and distributed.is_initialized():
            distributed.destroy_process_group(group)

    def _fails(self, run: Run, why: str) -> HeadraceError:
        self._failed = True
        run.failure = RankFailed(why)
        return RankFailed(why)

    def _reduce(self, offer: int, at: int | None) -> tuple[Any, Any]:
        """Begin a reduction. The least of a number and of its opposite tell whether all ranks have the same."""
        torch = sys.modules["torch"]
        distributed = torch.distributed
        if self._group is None:
            everyone = len(self._peers) == distributed.get_world_size()
            self._group = distributed.new_group(self._peers, backend="gloo", use_local_synchronization=not everyone, group_desc="headrace")
        numbers = [offer, _NOWHERE, _NOWHERE] if at is None else [offer, at, -at]
        tensor = torch.tensor(numbers, dtype=torch.int64, device="cpu")
        return distributed.all_reduce(tensor, distributed.ReduceOp.MIN, group=self._group, async_op=True), tensor

    def _result(self, run: Run, deadline: Deadline | None) -> list[int]:
        """Wait for the other ranks."""
        assert self._reduction is not None
        work, tensor = self._reduction
        while not self._is_over(work, _LOOKS if deadline is None else min(_LOOKS, deadline.left())):
            if run.refused is not None:
                run.refuse()
            if deadline is not None and not deadline.left():
                deadline.miss()
        self._reduction = None
        numbers: list[int] = tensor.tolist()
        return numbers

    def _is_over(self, work: Any, seconds: float) -> bool:
        try:
            work.wait(timedelta(seconds=max(seconds, 1e-3)))
        except RuntimeError:  # the time is over, or the other ranks have ended
            if not work.is_completed():
                return False
            work.wait()  # says which
        return True


def words_of(error: Exception) -> str:
    """What an error of `torch.distributed` says, without a line of gloo's source, and advice."""
    return re.sub(r"^\[\S+\] ", "", str(error)).split(". ")[0]


def _said(at: int) -> str:
    return f"in epoch {at >> 32} after {at & 0xFFFFFFFF} batches"

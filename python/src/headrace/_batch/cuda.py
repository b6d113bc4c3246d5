"""Batches in memory that GPUs copy from by themselves: page-locked, and not reused before a copy has ended.

Only this module uses CUDA. PyTorch tracks copies from its own pinned memory, but not from memory registered with CUDA, and a batch may be
dropped before the GPU has copied it. So a slot is returned only after an event: all work queued in the stream when it was dropped is done.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import MemoryRefused

if TYPE_CHECKING:
    from .._client.memory import Segment
    from .format import Format

_PORTABLE = 1  # cudaHostRegisterPortable: pinned for every device of this process


def pins(format: Format) -> Pins | None:
    """What pins memory for this format; None if it needs none, or PyTorch sees no CUDA GPU."""
    import torch

    device = None if format.device is None else torch.device(format.device)
    wanted = format.pin_memory if device is None else device.type == "cuda"
    return Pins(torch.cuda.cudart(), device) if wanted and torch.cuda.is_available() else None


class Pins:
    """Registers segments with CUDA, and tells when copies from them have ended.

    Args:
        runtime: CUDA's runtime, as `torch.cuda.cudart()` returns it.
        device: where copies go; None: the current device.
    """

    def __init__(self, runtime: Any, device: Any) -> None:
        self._runtime = runtime
        self._device = device

    def pin(self, segment: Segment) -> None:
        """Lock a segment's pages, once.

        Raises:
            MemoryRefused: if CUDA refuses.
        """
        if segment.pinned:
            return
        # Noted first: what is noted and was not registered does no harm, the reverse
        # would.
        segment.pinned.append(partial(self._unpin, segment.address))
        code = int(self._runtime.cudaHostRegister(segment.address, segment.size, _PORTABLE))
        if code:
            del segment.pinned[0]
            why = self._runtime.cudaGetErrorString(self._runtime.cudaError(code))
            raise MemoryRefused(
                f"headrace: CUDA cannot pin {segment.size:,} bytes of batches: {why}; leave out pin_memory and device, and copy to the GPU"
                " from memory that is not pinned"
            )

    def _unpin(self, address: int) -> None:
        """Unlock pages before they are unmapped, once copies from them have ended."""
        try:
            self._synchronize()
            self._runtime.cudaHostUnregister(address)
        except Exception:
            pass  # CUDA has gone before, at the end of the program

    def _synchronize(self) -> None:
        import torch

        torch.cuda.synchronize(self._device)

    def event(self) -> Any:
        """An event after all work now queued in the current stream; `query()` tells whether it has happened."""
        import torch

        return torch.cuda.current_stream(self._device).record_event()

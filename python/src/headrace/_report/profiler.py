"""What this package does, in the profiles of PyTorch's profiler."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def recording() -> Any:
    """`torch.profiler.record_function` while a profiler runs in this process; None: none does."""
    profiler = sys.modules.get("torch.autograd.profiler")
    # PyTorch tells threads apart, and has nothing public that says whether any of them
    # is profiled.
    if profiler is None or not getattr(profiler, "_is_profiler_enabled", False):
        return None
    return profiler.record_function


class Recorder:
    """A hook that names calls in profiles."""

    def call(self, call: Any) -> Any:
        """Called around each call of a function."""
        record = recording()
        return record(f"headrace: {call.step}") if record is not None else None

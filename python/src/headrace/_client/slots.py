"""The slots that an engine fills for one connection: mapped, leased, and given back."""

from __future__ import annotations

from ..errors import MemoryRefused, ProtocolError
from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .channel import Channel
    from .memory import Lease, Return, Segment


class Slots:
    """What a client has of them."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.segments: dict[int, Segment] = {}
        self.leases: dict[bytes, Return] = {}  # by token
        self.returned: list[Any] = []  # of Return: leases that have ended; grows in any thread at any moment
        self.memory: Any = None  # the module, once there is a segment

    def map(self, payload: bytes, end: int) -> None:
        """Take a SEGMENT frame, whose payload ends at `end`."""
        from . import memory

        self.memory = memory
        number, _, slot_bytes, size = frames.SEGMENT_FRAME.unpack(payload)
        channel = self.channel
        if not channel.descriptors:
            if channel.cut:
                raise MemoryRefused(
                    "headrace: memory of the engine could not be received: this process has no file descriptors left;"
                    " raise the limit (ulimit -n), or let go of batches and files"
                )
            raise ProtocolError(f"headrace: segment {number} came without a descriptor")
        fd = channel.descriptors[0]
        segment = memory.Segment(fd, slot_bytes, size)
        # Nothing is called between these lines: see channel.
        segment.fds += (fd,)
        del channel.descriptors[0]
        self.segments[number] = segment
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        segment.spare_descriptor()

    def text(self, token: bytes, size: int) -> memoryview:
        """So many bytes of a slot, to be copied before the engine hears its token."""
        number, slot = frames.SLOT.unpack(token)
        segment = self.segments[number]
        return segment.view(slot, size)

    def lease(self, number: int) -> tuple[Segment, Lease, Return]:
        """A lease on a slot of a segment. Without a token, which the caller gives it, the slot is not given back."""
        segment = self.segments[number]
        lease = self.memory.Lease(segment)
        way_back = self.memory.Return(lease, self.returned.append)
        way_back.token = b""
        return segment, lease, way_back

    def ended(self) -> tuple[int, list[bytes]]:
        """The tokens of slots whose leases have ended, and how many of `returned` the caller deletes when the engine knows."""
        n = len(self.returned)
        tokens = [ended.token for ended in self.returned[:n] if ended.token]
        for token in tokens:
            self.leases.pop(token, None)
        return n, tokens

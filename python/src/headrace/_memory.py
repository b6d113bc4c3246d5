"""Segments that are mapped from the engine, and leases on their slots.

An array's base is its batch's lease. The lease keeps the mapping alive, and when the last array, slice or tensor over it has gone,
it puts the slot on the list of those to give back; `next()` tells the engine. Finalizers run in any thread at any moment, so that
appending is all they do.
"""

from __future__ import annotations

import ctypes
import errno
import os

from . import _fork
from .errors import MemoryRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PROT_READ, _PROT_WRITE = 1, 2
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED, _MAP_NORESERVE = 0x01, 0x02, 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_mprotect = _libc.mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Segment:
    """Memory of the engine, mapped shared and writable. It is unmapped when the session and all leases have let go of it.

    The mmap module is not used, because a forked child has to map anew over the same addresses.
    """

    __slots__ = ("__weakref__", "address", "fd", "size", "slot_bytes")

    def __init__(self, fd: int, slot_bytes: int, size: int) -> None:
        self.fd = -1  # ours from adopt() on
        self.slot_bytes = slot_bytes
        self.size = size
        self.address = 0
        address = _mmap(None, size, _PROT_READ | _PROT_WRITE, _MAP_SHARED, fd, 0)
        if address == _FAILED:
            number = ctypes.get_errno()
            raise MemoryRefused(
                f"headrace: cannot map {size:,} bytes of batches: {os.strerror(number)}"
                f" ({errno.errorcode.get(number, number)}); raise the limit of address space (ulimit -v), or let go of batches"
            )
        self.address = address
        _fork.share(self)

    def after_fork(self) -> None:
        """In the child: put private pages in place of the shared ones, so that its writes stay its own."""
        if not self.address or self.fd < 0:
            return
        flags = _MAP_PRIVATE | _MAP_FIXED | _MAP_NORESERVE
        if _mmap(self.address, self.size, _PROT_READ | _PROT_WRITE, flags, self.fd, 0) == _FAILED:
            # Better a child that dies by a write than a parent whose batches change.
            _mprotect(self.address, self.size, _PROT_READ)

    # Defaults, because names of this module may be gone when the interpreter ends.
    def __del__(self, unmap: Callable[..., int] = _munmap, close: Callable[[int], None] = os.close) -> None:
        if self.address:
            unmap(self.address, self.size)
        if self.fd >= 0:
            close(self.fd)


class Lease:
    """The right to one slot, and the base of every array that lies in it."""

    __slots__ = ("__array_interface__", "_give_back", "_segment", "token")

    def __init__(self, segment: Segment, give_back: Callable[[bytes], None]) -> None:
        self._segment = segment
        self._give_back = give_back
        self.token: bytes | None = None  # names the slot to the engine; set once the batch counts as taken
        self.__array_interface__: dict[str, Any]  # of the field that an array is being made for

    def __del__(self) -> None:
        if self.token is not None:
            self._give_back(self.token)

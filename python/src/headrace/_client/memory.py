"""Segments that are mapped from the engine, and leases on their slots.

An array's base is its batch's lease. The lease keeps the mapping alive, and when the last array, slice or tensor over it has gone,
its slot is put on the list of those to give back; `next()` tells the engine. Leases end in any thread at any moment, so that this
is a weak reference's callback, and nothing but an append in C: no lock, and nothing that a signal handler could interrupt.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import weakref
from typing import Any

from ..errors import MemoryRefused
from . import fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


# Defaults, because names of this module may be gone when the interpreter ends.
def _free(
    mapped: list[int],
    size: int,
    fds: list[int],
    pinned: list[Callable[[], None]],
    unmap: Callable[[int, int], int] = _munmap,
    close: Callable[[int], None] = os.close,
) -> None:
    done: list[int | None] = []
    while pinned:
        pinned[0]()
        del pinned[:1]
    if mapped:  # taken from its list and undone in one go, from within C: never twice
        done.extend(map(unmap, map(mapped.pop, (0,)), (size,)))
    if fds:
        done.extend(map(close, map(fds.pop, (0,))))


class Segment:
    """Memory of the engine, mapped shared and writable. It is unmapped when the session and all leases have let go of it.

    The mmap module is not used, because a forked child has to map again over the same addresses.
    """

    __slots__ = ("__weakref__", "_mapped", "fds", "pinned", "size", "slot_bytes")

    def __init__(self, fd: int, slot_bytes: int, size: int) -> None:
        sweep()
        self.slot_bytes = slot_bytes
        self.size = size
        self.fds: list[int] = []  # the descriptor, once it is ours to close
        self.pinned: list[Callable[[], None]] = []  # what unlocks the pages, where they are locked for a GPU
        self._mapped: list[int] = []  # the address
        end = _End(self, _ended.append)
        end.left = (self._mapped, size, self.fds, self.pinned)
        _watched.add(end)
        # From within C into the list: no exception of a signal handler can come between
        # the mapping and its being noted.
        self._mapped.extend(map(_mmap, (None,), (size,), (_PROT_READ | _PROT_WRITE,), (_MAP_SHARED,), (fd,), (0,)))
        if self._mapped[0] == _FAILED:
            number = ctypes.get_errno()
            del self._mapped[0]
            raise MemoryRefused(
                f"headrace: cannot map {size:,} bytes of batches: {os.strerror(number)}"
                f" ({errno.errorcode.get(number, number)}); raise the limit of address space (ulimit -v), or let go of batches"
            )
        fork.share(self)

    @property
    def address(self) -> int:
        """Where slot 0 begins."""
        return self._mapped[0]

    def view(self, slot: int, size: int) -> memoryview:
        """The first bytes of a slot, for as long as the segment is mapped."""
        return memoryview((ctypes.c_char * size).from_address(self.address + slot * self.slot_bytes)).cast("B")

    def spare_descriptor(self) -> None:
        """Do without the descriptor where segments have taken their share of those that the process may have.

        A program that holds thousands of batches would reach its limit otherwise. The descriptor is of use in a forked child alone.
        """
        if fork.shared() > _share():
            list(map(os.close, map(self.fds.pop, (0,))))

    def after_fork(self) -> None:
        """In the child: put private pages in place of the shared ones, so that its writes stay its own."""
        self.pinned.clear()  # CUDA is the parent's
        if not self._mapped:
            return
        flags = _MAP_PRIVATE | _MAP_FIXED | _MAP_NORESERVE
        if not self.fds or _mmap(self.address, self.size, _PROT_READ | _PROT_WRITE, flags, self.fds[0], 0) == _FAILED:
            # Better a child that dies by a write than a parent whose batches change.
            _mprotect(self.address, self.size, _PROT_READ)

    def __del__(self, free: Callable[..., None] = _free) -> None:
        if hasattr(self, "_mapped"):
            free(self._mapped, self.size, self.fds, self.pinned)


def _share() -> int:
    """How many descriptors segments may keep: a quarter of what the process may have."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit // 4 if limit != resource.RLIM_INFINITY else 1 << 16


class _End(weakref.ref[Segment]):
    """Remembers what a segment has to let go of, should an exception cut its finalizer off."""

    __slots__ = ("left",)
    left: tuple[list[int], int, list[int], list[Callable[[], None]]]


_watched: set[_End] = set()
_ended: list[Any] = []


def sweep() -> None:
    """Finish what finalizers of segments had to leave."""
    while _ended:
        end = _ended[-1]
        _free(*end.left)
        _watched.discard(end)
        _ended.remove(end)


class Lease:
    """The right to one slot, and the base of every array that is in it."""

    __slots__ = ("__array_interface__", "__weakref__", "_segment")

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.__array_interface__: dict[str, Any]  # of the field that an array is being made for


class Return(weakref.ref[Lease]):
    """A slot's way back. Made with a list's append as its callback, and kept, it comes to that list when the lease has ended."""

    __slots__ = ("token",)
    token: bytes  # names the slot to the engine; empty until the batch was taken, for what was not taken is not given back

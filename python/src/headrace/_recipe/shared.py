"""Memory that the program shares with other processes: it stays shared with workers, or is refused.

Workers are no children of the program, and inherit nothing. They open memory by its descriptor in /proc, and named things by their names.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Unshared(TypeError):
    """Memory that cannot be shared with workers, and what works instead."""


_LOCKS = ("Lock", "RLock", "Semaphore", "BoundedSemaphore")


def reduced(value: Any) -> Any:
    """How pickle makes the same memory of a shared object; NotImplemented: it is not shared.

    Raises:
        Unshared: it cannot be shared with workers; what to use instead.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return _tensor(torch, value)
        if isinstance(value, torch.UntypedStorage) and value.is_shared():
            raise Unshared("a shared storage of torch cannot be sent to workers: give the tensor that has it")
    if "multiprocessing" not in sys.modules:
        return NotImplemented
    if type(type(value)).__module__ == "_ctypes" and "_wrapper" in getattr(value, "__dict__", ()):
        return _ctype(value)
    module = type(value).__module__
    if module.startswith("multiprocessing"):
        return _of_multiprocessing(value, module)
    if module == "numpy" and type(value).__name__ == "ndarray":
        _check_array(value)
        return NotImplemented
    proxies = sys.modules.get("multiprocessing.managers")
    if proxies is not None and isinstance(value, proxies.BaseProxy):
        return _proxy(value)
    return NotImplemented


def _check_array(array: Any) -> None:
    """Raise Unshared for an array over memory that is shared: its pickle would be a copy."""
    base = array
    while getattr(base, "base", None) is not None:
        base = base.base
        if type(base).__name__ == "memmap":
            return
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(base, torch.Tensor) and base.is_shared():
        raise Unshared("an array over a tensor's shared memory would be copied: keep the tensor, and call numpy() in the worker")
    if isinstance(base, memoryview):
        base = base.obj
    if "_wrapper" in getattr(base, "__dict__", ()):
        raise Unshared("an array over shared memory would be copied: keep the RawArray, and call np.frombuffer in the worker")
    if type(base).__name__ == "mmap" and _is_segment(array.__array_interface__["data"][0]):
        raise Unshared("an array over shared memory would be copied: keep the SharedMemory, and make the array of its buf in the worker")


def _is_segment(address: int) -> bool:
    """Whether an address is in a segment of shared memory that has a name."""
    with open("/proc/self/maps", errors="replace") as maps:
        for line in maps:
            begin, _, end = line.split(" ", 1)[0].partition("-")
            if int(begin, 16) <= address < int(end, 16):
                return "/dev/shm/" in line
    return False


def _tensor(torch: Any, tensor: Any) -> Any:
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized or not tensor.is_shared():
        return NotImplemented
    storage = tensor.untyped_storage()
    try:
        fd, size = storage._share_fd_cpu_()
    except RuntimeError:
        raise Unshared(
            "a tensor shared by name cannot be sent to workers: call torch.multiprocessing.set_sharing_strategy('file_descriptor') before"
            " share_memory_()"
        ) from None
    kind = "Parameter" if isinstance(tensor, torch.nn.Parameter) else "Tensor"
    place = (tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
    return _as_tensor, (_path(fd), size, *place, tensor.requires_grad, kind)


def _as_tensor(path: str, size: int, dtype: Any, offset: int, shape: Any, stride: Any, grad: bool, kind: str) -> Any:
    import torch

    fd = os.open(path, os.O_RDWR)
    try:
        storage = torch.UntypedStorage._new_shared_fd_cpu(fd, size)
    finally:
        os.close(fd)
    tensor = torch.empty(0, dtype=dtype).set_(storage, offset, shape, stride)
    if kind == "Parameter":
        return torch.nn.Parameter(tensor, requires_grad=grad)
    return tensor.requires_grad_(grad) if grad else tensor


def _path(fd: int) -> str:
    """A descriptor of this process, for others. It stays open as long as what it is of."""
    return f"/proc/{os.getpid()}/fd/{fd}"


def _of_multiprocessing(value: Any, module: str) -> Any:
    kind = type(value).__name__
    if module == "multiprocessing.managers" and hasattr(value, "_authkey") and hasattr(value, "_token"):
        return _proxy(value)
    if module == "multiprocessing.shared_memory" and kind == "SharedMemory":
        return _attached, (value.name,)
    if module == "multiprocessing.sharedctypes" and hasattr(value, "get_obj"):
        return _synchronized, (value.get_obj(), value.get_lock())
    if module == "multiprocessing.synchronize":
        if kind in _LOCKS:
            return _lock(value)
        if kind in ("Condition", "Event"):
            parts = {name: one for name, one in vars(value).items() if type(one).__module__ == module}  # not their methods
            return _as_it_was, (type(value), parts)
    if module in ("multiprocessing.queues", "multiprocessing.connection", "multiprocessing.synchronize", "multiprocessing.pool"):
        _refuse(f"a multiprocessing {kind}", "use the proxy of one of multiprocessing.Manager()")
    return NotImplemented


def _refuse(what: str, instead: str) -> NoReturn:
    raise Unshared(f'{what} is for children of this program, and workers are none: {instead}, or read the object itself with where="here"')


def _ctype(value: Any) -> Any:
    (arena, start, _), _ = value._wrapper._state
    if getattr(arena, "fd", -1) < 0:
        _refuse("this shared memory", "use multiprocessing.shared_memory.SharedMemory")
    kind, length = (value._type_, value._length_) if hasattr(value, "_length_") else (type(value), None)
    return _as_ctype, (kind, length, _path(arena.fd), arena.size, start)


def _as_ctype(kind: Any, length: int | None, path: str, arena: int, start: int) -> Any:
    import mmap

    fd = os.open(path, os.O_RDWR)
    try:
        memory = mmap.mmap(fd, arena)
    finally:
        os.close(fd)
    return (kind if length is None else kind * length).from_buffer(memory, start)


def _synchronized(value: Any, lock: Any) -> Any:
    from multiprocessing.sharedctypes import synchronized

    return synchronized(value, lock)


def _lock(value: Any) -> Any:
    own = value._semlock
    if own.name is None or not os.path.exists(f"/dev/shm/sem.{own.name.lstrip('/')}"):
        kind = type(value).__name__
        _refuse(
            f"this {kind}, alone or in a Value or an Array,",
            f'make it with multiprocessing.get_context("spawn").{kind}(), a Value or an Array likewise, or with lock=False',
        )
    return _as_lock, (type(value), (own.handle, own.kind, own.maxvalue, own.name))


def _as_lock(kind: Any, state: Any) -> Any:
    lock = kind.__new__(kind)
    lock.__setstate__(state)
    return lock


def _as_it_was(kind: Any, state: dict[str, Any]) -> Any:
    value = kind.__new__(kind)
    vars(value).update(state)
    if hasattr(value, "_make_methods"):
        value._make_methods()
    return value


def _proxy(proxy: Any) -> Any:
    make, arguments = proxy.__reduce__()
    return _as_proxy, (make, arguments, bytes(proxy._authkey))


def _as_proxy(make: Any, arguments: Any, key: bytes) -> Any:
    """A manager's proxy, with the key of the program that it is of. Proxies that it gives need it, too."""
    import multiprocessing

    if multiprocessing.current_process().authkey != key:
        multiprocessing.current_process().authkey = key
    return make(*arguments)


def _attached(name: str) -> Any:
    from multiprocessing.shared_memory import SharedMemory

    return SharedMemory(name)

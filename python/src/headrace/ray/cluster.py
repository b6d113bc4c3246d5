"""The cluster that Ray is connected to."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from ..errors import HeadraceError, NotInstalled

if TYPE_CHECKING:
    from types import ModuleType

_REACHED_WITHIN = 4.0  # seconds: Ray's own client tries for half a minute, and more where something else listens
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"  # with which gRPC begins: HTTP/2, and empty settings
_SETTINGS = 4  # the kind of frame that a server begins with
_USUAL_STORE = 1 << 30


def imported() -> ModuleType:
    """Ray, which is an extra."""
    try:
        import ray  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise NotInstalled("headrace: headrace.ray needs Ray: pip install 'headrace[ray]'", name="ray") from None
    return ray  # type: ignore[no-any-return, unused-ignore]


def connect(address: str | None = None, **options: Any) -> None:
    """Connect this program to a Ray cluster, unless it is connected already.

        headrace.ray.connect("10.0.0.1:6379")

    Args:
        address: `host:port` of the cluster's head node, `"auto"` for the one that this machine is of, or None: the environment's
            `RAY_ADDRESS`, else the cluster that was started last on this machine, else one that Ray starts here.
        options: for `ray.init`.

    Raises:
        NotInstalled: if Ray is not installed.
        HeadraceError: if the cluster cannot be reached, within ten seconds.
    """
    ray = imported()
    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    remedy = "start one with `ray start --head`, or leave the address out: Ray then starts a cluster on this machine"
    if address not in (None, "auto", "local"):
        wrong = _unreachable(str(address))
        if wrong:
            raise HeadraceError(f"headrace: there is no Ray cluster at {address!r} ({wrong}): {remedy}")
    try:
        ray.init(address=address, **{"log_to_driver": False, **options})
    except ConnectionError as error:
        raise HeadraceError(f"headrace: there is no Ray cluster at {address!r} ({error}): {remedy}") from None


def _unreachable(address: str) -> str:
    """Why nothing that could be Ray answers at an address; empty: something does."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), timeout=_REACHED_WITHIN) as end:
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                return ""
            end.sendall(_PREFACE)
            answer = end.recv(9, socket.MSG_WAITALL)
    except TimeoutError:
        return f"no answer within {_REACHED_WITHIN:g} s"
    except (OSError, ValueError) as error:
        return str(error)
    return "" if len(answer) == 9 and answer[3] == _SETTINGS else "what listens there is something else"


def stores() -> tuple[int, int]:
    """Bytes that the object store of this program's node holds, and those of the smallest one."""
    ray = imported()
    here = ray.get_runtime_context().get_node_id()
    rooms = {node["NodeID"]: int(node["Resources"].get("object_store_memory", 0)) for node in ray.nodes() if node["Alive"]}
    known = [room for room in rooms.values() if room] or [_USUAL_STORE]
    return rooms.get(here) or min(known), min(known)

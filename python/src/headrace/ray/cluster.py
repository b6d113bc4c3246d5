"""The cluster that Ray is connected to."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from ..errors import HeadraceError, NotInstalled

if TYPE_CHECKING:
    from types import ModuleType

_REACHED_WITHIN = 5.0  # seconds: Ray's own client tries for half a minute


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
            `RAY_ADDRESS`, else a cluster that Ray starts on this machine.
        options: for `ray.init`.

    Raises:
        NotInstalled: if Ray is not installed.
        HeadraceError: if the cluster cannot be reached, within ten seconds.
    """
    ray = imported()
    if ray.is_initialized():
        return
    remedy = "start one with `ray start --head`, or leave the address out: Ray then starts a cluster on this machine"
    if address not in (None, "auto", "local") and "://" not in str(address):
        host, _, port = str(address).rpartition(":")
        try:
            socket.create_connection((host or "127.0.0.1", int(port)), timeout=_REACHED_WITHIN).close()
        except (OSError, ValueError) as error:
            raise HeadraceError(f"headrace: there is no Ray cluster at {address!r} ({error}): {remedy}") from None
    try:
        ray.init(address=address, **{"log_to_driver": False, **options})
    except ConnectionError as error:
        raise HeadraceError(f"headrace: there is no Ray cluster at {address!r} ({error}): {remedy}") from None

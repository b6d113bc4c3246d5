"""Actors of a cluster as `where=` of a step: an executor whose calls they make."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import Executor, Future
from itertools import count
from typing import TYPE_CHECKING, Any

from ..errors import HeadraceWarning, RecipeError
from .cluster import connect, imported

if TYPE_CHECKING:
    from collections.abc import Callable

_AHEAD = 2  # calls that an actor has: what the second one is given travels while the first one is at work
_SILENT = 30.0  # seconds until somebody looks why an actor has not begun
_TRIES = 3  # of a call whose actor died, besides the first: a sample that ends each of them is a bad one


def actors(n: int = 1, *, gpus: float = 0, cpus: float = 1, address: str | None = None) -> Actors:
    """Start actors that make the calls of a step: a model on the GPUs of a cluster.

        with hr.ray.actors(4, gpus=1) as models:
            pipeline.batch(64).map(Embed, where=models).loader(epochs=1)

    Args:
        n: how many.
        gpus: of each. Ray shows an actor its own, by `CUDA_VISIBLE_DEVICES`. Fractions share one.
        cpus: cores of each.
        address: of the cluster, as `connect` has it.

    Returns:
        What `map`, `filter`, `flat_map` and `batch(collate=)` take as `where=`. It ends its actors when it is shut down, or at the end
        of a `with`.

    Raises:
        NotInstalled: if Ray is not installed.
        HeadraceError: if there is no cluster.
        RecipeError: if a number is invalid.
    """
    if n < 1 or gpus < 0 or cpus < 0:
        raise RecipeError(f"headrace: ray.actors({n}, gpus={gpus:g}, cpus={cpus:g}): must be at least 1 actor, and 0 of each")
    connect(address)
    return Actors(n, gpus, cpus)


class Actors(Executor):
    """Actors that call functions of a pipeline. Made by `actors`.

    A function, or an object, goes to each actor once. A class is made once on each actor, so a model is loaded where it is used. Arrays
    that a call is given are its own. If an actor dies, Ray starts another one, which makes its calls again.
    """

    def __init__(self, n: int, gpus: float, cpus: float) -> None:
        ray = imported()
        remote = ray.remote(num_cpus=cpus, num_gpus=gpus, max_restarts=-1, max_task_retries=_TRIES, scheduling_strategy="SPREAD")(_Caller)
        self._actors = [remote.remote() for _ in range(n)]
        self._in_hand = [0] * n
        self._max_workers = n * _AHEAD  # which a loader asks an executor for
        self._functions: dict[int, tuple[Any, int, Any]] = {}  # by id; each is kept, so that nothing else has its id
        self._numbers = count()
        self._lock = threading.Lock()
        self._over = False
        self._begun = [actor.ready.remote() for actor in self._actors]
        self._look = threading.Timer(_SILENT, _warn, (ray, self._begun, gpus, cpus))
        self._look.daemon = True
        self._look.start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the actor that has the fewest calls in hand make one.

        Raises:
            RuntimeError: if it was shut down.
        """
        with self._lock:
            if self._over:
                raise RuntimeError("its actors were ended by shutdown()")
            number, sent = self._sent(function)
            at = min(range(len(self._actors)), key=self._in_hand.__getitem__)
            self._in_hand[at] += 1
        own: Future[Any] = Future()
        own.set_running_or_notify_cancel()  # Ray has it, and a call that has begun is not taken back
        there = self._actors[at].call.remote(number, [sent], args, kwargs).future()
        there.add_done_callback(lambda done: self._take(at, own, done))
        return own

    def instance(self, made: type) -> Any:
        """A stand-in for an object of a class, which each actor makes for itself."""
        if callable(getattr(made, "set_epoch", None)):
            text = f"headrace: {made.__qualname__} has set_epoch(), which this program calls, and its objects are on actors"
            raise RecipeError(f"{text}: leave it out, or give map an object")
        return _OfClass(made)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the actors. With `wait`, calls in hand are made first, and `close()` of their objects is called."""
        with self._lock:
            over, self._over = self._over, True
        if over:
            return
        self._look.cancel()
        ray = imported()
        if wait and not cancel_futures:
            begun, _ = ray.wait(self._begun, num_returns=len(self._begun), timeout=0)
            ray.wait([actor.end.remote() for actor, one in zip(self._actors, self._begun) if one in begun] or [ray.put(None)])
        for actor in self._actors:
            ray.kill(actor)

    def _sent(self, function: Any) -> tuple[int, Any]:
        """The number of a function, and where actors find it."""
        known = self._functions.get(id(function))
        if known is None:
            known = self._functions[id(function)] = function, next(self._numbers), imported().put(function)
        return known[1:]

    def _take(self, at: int, own: Future[Any], done: Future[Any]) -> None:
        """Hand on what a call gave, as a call of this program would."""
        with self._lock:
            self._in_hand[at] -= 1
        error = done.exception()
        if error is None:
            own.set_result(done.result())
            return
        cause = getattr(error, "cause", None)
        if isinstance(cause, Exception):  # what the function has raised; Ray's has the traceback
            cause.__cause__ = error
            error = cause
        own.set_exception(error)


Actors.__module__ = "headrace.ray"


class _OfClass:
    """Calls an object of a class, which is made at the first call."""

    def __init__(self, made: type) -> None:
        self._class = made
        self._object: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._object is None:
            self._object = self._class()
        return self._object(*args, **kwargs)

    def end(self) -> None:
        """Have the object end, if it was made."""
        close = getattr(self._object, "close", None)
        if callable(close):
            close()


class _Caller:
    """An actor."""

    def __init__(self) -> None:
        self._functions: dict[int, Any] = {}

    def ready(self) -> None:
        """Answer once it is there."""

    def call(self, number: int, sent: list[Any], args: Any, kwargs: Any) -> Any:
        """Call a function, which is fetched when it first comes."""
        function = self._functions.get(number)
        if function is None:
            function = self._functions[number] = imported().get(sent[0])
        return function(*map(_own, args), **{name: _own(value) for name, value in kwargs.items()})

    def end(self) -> None:
        """Have objects end that it has made."""
        for function in self._functions.values():
            if isinstance(function, _OfClass):
                function.end()


def _own(value: Any) -> Any:
    """A value that a function may change: what Ray hands out is read-only."""
    if isinstance(value, dict):
        return {name: _own(one) for name, one in value.items()}
    flags = getattr(value, "flags", None)
    return value if flags is None or flags.writeable else value.copy()


def _warn(ray: Any, begun: list[Any], gpus: float, cpus: float) -> None:
    """Say that actors have not begun. This is a thread of its own."""
    try:
        there, left = ray.wait(begun, num_returns=len(begun), timeout=0)
        if not left:
            return
        free, all_of = ray.available_resources(), ray.cluster_resources()
        kinds = ("GPU", "GPUs"), ("CPU", "cores")
        rooms = ", ".join(f"{free.get(one, 0):g} of {all_of.get(one, 0):g} {told} free" for one, told in kinds)
    except Exception:  # the cluster is gone, which calls say
        return
    warnings.warn(
        f"headrace: {len(there)} of {len(begun)} actors have begun after {_SILENT:.0f} s: each needs gpus={gpus:g} and cpus={cpus:g},"
        f" and the cluster has {rooms}. Ask for less, add nodes, or look at `ray status`",
        HeadraceWarning,
        stacklevel=1,
    )

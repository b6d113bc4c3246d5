"""Functions of steps with `where="here"`, which threads of this program call.

For the engine these threads are one more process of workers: they speak as `process` does, over connections of their own. They are not
theirs to end, though, and nobody can stop a function that one of them is in.
"""

from __future__ import annotations

import _socket
import atexit
import copy
import json
import mmap
import os
import sys
import threading
import warnings
import weakref
from time import monotonic

from .._batch.byref import Kept
from .._client import fork
from .._recipe.feed import Feed
from .._report.profiler import Recorder
from .._report.tracebacks import outside
from ..errors import HeadraceWarning
from . import event_loop
from .beside import Beside, Streams
from .connection import Connection
from .errors import Ended, describe, place_of
from .frames import ERROR, LETGO, SEGMENT, SESSION, SETUP
from .hooked import Hooks
from .process import Process, Thread
from .raised import Raised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..errors import HeadraceError

_GRACE = 5.0  # seconds that `close` waits for functions to return


class Here:
    """The functions of one loader that are called here, and the threads that call them."""

    def __init__(self, functions: Mapping[str, Any], hooks: Iterable[Any] = ()) -> None:
        """`functions` are by their names in the recipe. Others are imported. The hooks are those around their calls."""
        self._objects = Objects(functions, hooks)
        self._feeds = [one for one in functions.values() if isinstance(one, Feed)]
        self._listener: Listener | None = None
        self._open = True
        fork.share(self)
        _all.add(self)

    def connect(self, again: bool = True) -> _socket.socket:
        """The engine's end of a connection by which it asks for threads.

        With `again`, these begin when those that an engine before has asked for have ended.
        """
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        before = self._listener if again else None
        listener = Listener(ours.detach(), self._objects, before, self._feeds if again else [])
        if again:
            self._listener = listener
        return theirs

    def is_calling(self) -> bool:
        """Whether this thread is one of those that call functions."""
        thread = threading.current_thread()
        return self._listener is not None and any(thread in group.threads for group in self._listener.groups)

    def chain(self, error: HeadraceError) -> None:
        """Make the exception that an error tells of its cause, if a function raised it here."""
        self._objects.raised.chain(error)

    def begin(self) -> None:
        """Forget the exceptions of an earlier loop."""
        self._objects.raised.next_loop()

    def leave(self) -> None:
        """Tell the engine not to wait for functions that are called now."""
        for feed in self._feeds:
            feed._drop("the loader of this feed is closed")
        if self._listener is not None:
            self._listener.connection.shut()

    def close(self, grace: float = _GRACE) -> None:
        """End the threads. A function that does not return in time is left behind, with a warning. May be called again."""
        if not self._open:
            return
        self._open = False
        until = monotonic() + grace
        self.leave()
        busy = self._listener.end(until) if self._listener is not None else []
        if not busy:
            self._objects.close()
            return
        what = ", ".join(sorted(set(busy)))
        warnings.warn(
            f"headrace: {what} did not return within {grace:g} seconds after the loader was closed; a thread of this program"
            " cannot be stopped, so it goes on until it returns",
            HeadraceWarning,
            stacklevel=outside(),
        )

    def __del__(self, ends: Any = sys.is_finalizing) -> None:
        if not ends() and self._open:
            self.leave()

    def after_fork(self) -> None:
        """In the child: the threads are the parent's."""
        self._open = False
        if self._listener is not None:
            self._listener.after_fork()


_all: weakref.WeakSet[Here] = weakref.WeakSet()


def _at_exit() -> None:
    """Let threads end before the interpreter does: what they call may not bear that."""
    for here in list(_all):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadraceWarning)  # the program has said that it ends
            here.close()


atexit.register(_at_exit)


class Objects:
    """What the functions are, and the objects that were made of classes: one of each for all threads."""

    def __init__(self, functions: Mapping[str, Any], hooks: Iterable[Any]) -> None:
        self.functions = dict(functions)
        self.hooks = Hooks(hooks, recorder=Recorder())
        self.raised = Raised()
        self.loaded: dict[tuple[str, str], Any] = {}
        self.lock = threading.RLock()
        self.made: list[Any] = []

    def load(self, step: str, name: str) -> Any:
        """The function of a step."""
        with self.lock:
            if (step, name) not in self.loaded:
                found = self._find(name)
                if isinstance(found, type):
                    found = found()
                    self.made.append(found)
                self.loaded[step, name] = found
            return self.loaded[step, name]

    def copied(self, name: str) -> Any:
        """A class as it is, or a copy of an object."""
        found = self._find(name)
        return found if isinstance(found, type) else copy.deepcopy(found)

    def _find(self, name: str) -> Any:
        """What the program has given by a name of the recipe, or what is imported by it."""
        from .lookup import load

        return self.functions[name] if name in self.functions else load(name, None)

    def close(self) -> None:
        """Let the objects end that were made of classes, and what hooks have begun."""
        made, self.made = self.made, []
        try:
            for one in made:
                if callable(getattr(one, "close", None)):
                    one.close()
        finally:
            self.hooks.end()
            self.raised.end()


class Listener:
    """Waits for the engine to ask for threads, and begins them."""

    def __init__(self, fd: int, objects: Objects, before: Listener | None, feeds: list[Feed]) -> None:
        """It begins when the threads of `before` have ended. The feeds end with the engine, or a thread would wait for items."""
        self.connection = OwnConnection(fd)
        self.groups: list[Group] = []
        self.kept = Kept()  # what functions have returned that cannot be pickled
        self._objects = objects
        self._feeds = feeds
        self.thread = threading.Thread(target=self._listen, args=(before,), name="headrace-here", daemon=True)
        self.thread.start()

    def _listen(self, before: Listener | None) -> None:
        if before is not None:
            before.thread.join()
        connection = self.connection
        try:
            while True:
                kind, payload = connection.receive()
                if kind == SESSION and connection.descriptors:
                    self.groups.append(Group(connection.descriptors.pop(0), self._objects, self.kept))
                elif kind == LETGO:
                    self.kept.let_go(payload.cast("Q").tolist())
        except (Ended, OSError, SystemExit):
            pass
        finally:
            connection.close()
            for feed in self._feeds:
                feed._drop("the loader no longer reads this feed")
            for group in self.groups:
                group.join()
            self.kept.clear()

    def end(self, until: float) -> list[str]:
        """End the threads, and say what they were in that have not ended by then."""
        for group in list(self.groups):
            group.shut()
        if any(threading.current_thread() in group.threads for group in self.groups):
            return []  # a function closes the loader that calls it
        while self.thread.is_alive() and (left := until - monotonic()) > 0:
            self.thread.join(min(left, 0.1))
            for group in list(self.groups):
                group.shut()  # of one that had just begun
        return [place for group in self.groups for place in group.busy()] if self.thread.is_alive() else []

    def after_fork(self) -> None:
        """In the child: let go of the parent's connections."""
        for connection in (self.connection, *(own for group in self.groups for own in (group.together, *group.connections))):
            connection.socket.close()


class Group(Process):
    """Threads that the engine takes for one process: one for each lane."""

    def __init__(self, fd: int, objects: Objects, kept: Kept) -> None:
        """`fd` is a connection of all of them, by which the engine gives each its own, and whose end is theirs."""
        self.together = OwnConnection(fd)
        self.connections: list[Any] = []
        self.loaded = {}
        self.callees = {}
        self.closed = set()
        self.initialized = True
        self.lock = threading.Lock()
        self.own_hooks = objects.hooks
        self.generators = {}
        self.tapes = {}
        self._objects = objects
        self._kept = kept
        objects.raised.begin()
        self.threads: list[threading.Thread] = []
        try:
            self._start(self._run, "headrace-here-1")
        except RuntimeError as error:  # there may be no more threads
            self._refuse(error)
            self.together.close()

    def _start(self, target: Any, name: str, *given: Any) -> None:
        thread = threading.Thread(target=target, args=given, name=name, daemon=True)
        self.threads.append(thread)
        try:
            thread.start()
        except RuntimeError:
            self.threads.remove(thread)
            raise

    def _refuse(self, error: BaseException) -> None:
        try:
            self.together.send(ERROR, json.dumps({"message": f"{type(error).__name__}: {error}"}).encode())
        except Ended:
            pass

    def _run(self) -> None:
        try:
            self.begin([])
            self.serve()
        except (Ended, SystemExit):
            pass
        except BaseException as error:
            self._refuse(error)
        finally:
            self.shut()
            for thread in self.threads[1:]:
                thread.join()
            self.close(lambda callee: callee.kind == "aggregate")  # others are the program's, or all groups'
            event_loop.close()
            for connection in (*self.connections, self.together):
                connection.close()
            self.callees.clear()
            self.tapes.clear()
            self.heap = None  # type: ignore[assignment]

    def begin(self, own: list[str]) -> None:
        """Take the lanes, and be set up with a first function."""
        heap = -1
        together = self.together
        try:
            while True:
                kind, _ = together.receive()
                if not together.descriptors:
                    raise OSError("this program has no file descriptors left: raise the limit (ulimit -n)")
                fd = together.descriptors.pop(0)
                if kind == SEGMENT:
                    heap = fd
                else:
                    self.connections.append(OwnConnection(fd))
        except Ended:
            pass  # these are all
        self.connections[-1] = streams = OwnStreams(self.connections[-1].socket.detach())
        self.beside = Beside(self, streams)
        try:
            first = self.connections[0]
            kind, payload = first.receive()
            if kind != SETUP:
                raise SystemExit(1)
            setup = json.loads(bytes(payload))
            self.heap = mmap.mmap(heap, setup["heap"])
            self.heap.madvise(getattr(mmap, "MADV_DONTDUMP", 16))
        finally:
            if heap >= 0:
                os.close(heap)
        self.cells = setup["cells"]
        for connection in self.connections:
            connection.raised = self._objects.raised
        self.install(first, setup)

    def _callee(self, setup: dict[str, Any]) -> Any:
        setup["keeper"] = self._kept
        return super()._callee(setup)

    def _loaded(self, setup: dict[str, Any]) -> Any:
        if setup["kind"] == "aggregate":  # made again for each epoch
            return self._objects.copied(setup["function"])
        return self._objects.load(setup.get("step") or setup["stage"], setup["function"])

    def _found(self, name: str, place: list[int] | None) -> Any:
        functions = self._objects.functions
        return functions[name] if name in functions else super()._found(name, place)

    def _settle(self) -> None:
        """Nothing is done to a program that is not ours."""

    def serve(self) -> None:
        """Have each lane served by a thread."""
        first, *others = [Thread(self, connection, cell) for connection, cell in zip(self.connections, self.cells)]
        for i, other in enumerate(others, 2):
            self._start(self._serve, f"headrace-here-{i}", other)
        self._serve(first)

    def start_thread(self, target: Any, name: str) -> None:
        self._start(target, f"{name}-here")

    def loop_ends(self) -> None:
        event_loop.close()
        self.beside.let_go()

    def _serve(self, lane: Thread) -> None:
        try:
            lane.serve()
        finally:
            for end in lane.connection.at_end:
                end()
            event_loop.close()
            lane.let_go()

    def give_up(self) -> None:
        """Have all threads end."""
        self.shut()

    def failed(self, connection: Any, error: BaseException) -> None:
        """Tell of a mistake of ours."""
        if not connection.left:
            try:
                connection.send(ERROR, json.dumps(describe(error)).encode())
            except Ended:
                pass
            self.shut()

    def shut(self) -> None:
        """Have threads end that wait for the engine, and the others when their function returns. Coroutines are cancelled."""
        for connection in (self.together, *self.connections):
            connection.shut()
        for thread in self.threads:
            event_loop.cancel(thread)

    def join(self) -> None:
        """Wait for the end of the threads."""
        for thread in self.threads[:1]:
            thread.join()

    def busy(self) -> list[str]:
        """Where the functions are that threads are in."""
        frames = sys._current_frames()
        places = [place_of(frames.get(thread.ident or 0)) for thread in self.threads if thread.is_alive()]
        return list(filter(None, places))


class OwnConnection(Connection):
    """A connection whose end does not end the process."""

    left = False  # by this side
    raised: Raised
    loop = 0  # whose samples are in work

    def begin(self, credit: int) -> None:
        """Begin with a call, which goes on when its loop was left."""
        super().begin(credit)
        self.loop = self.raised.loop

    def failed(self, e: BaseException, told: dict[str, Any]) -> None:
        """Keep an exception until the loop learns of it."""
        self.raised.keep(e, told, self.loop)

    def send(self, kind: int, *parts: Any) -> None:
        """Send a frame whose payload is in parts."""
        try:
            super().send(kind, *parts)
        except OSError:
            raise Ended from None

    def _leave(self, code: int) -> Any:
        raise Ended

    def shut(self) -> None:
        """End it, for both sides. May be called again, and by any thread."""
        self.left = True
        try:
            self.socket.shutdown(_socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended

    def close(self) -> None:
        """Let go of it."""
        self.shut()
        self.socket.close()
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors = []


class OwnStreams(OwnConnection, Streams):
    """The same, of the event loop, where calls of several loops may be in work: each has a stream."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._loops: dict[int, int] = {}  # by stream

    def begin(self, credit: int) -> None:
        super().begin(credit)
        self._loops[self.stream] = self.loop

    def failed(self, e: BaseException, told: dict[str, Any]) -> None:
        self.loop = self._loops[self.stream]
        super().failed(e, told)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            raise Ended from None

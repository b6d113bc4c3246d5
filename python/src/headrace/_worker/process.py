"""What a worker process is: how it is set up, the lanes that it has, and how it ends."""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
from itertools import chain

from .._recipe.hooks import Sent
from . import errors, log, start
from .beside import Beside, Streams
from .connection import Connection, forget, unmap
from .errors import Ended
from .frames import ERROR, FORGET, FUNCTION, HEAP_SPACE, PACK, PULL, READY, SEGMENT, SETUP
from .generators import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from .callee import Callee
    from .hooked import Hooks
    from .lane import Lane
    from .tape import Tape

HEAP, FIRST_LANE = 3, 6  # descriptors
FRAME = 16  # bytes of a frame's header


class Process:
    """What the threads of a process have in common: the functions, and the memory shared with the engine."""

    def __init__(self, lanes: int) -> None:
        for fd in range(HEAP, FIRST_LANE + lanes):
            os.set_inheritable(fd, False)
        self.connections = [Connection(FIRST_LANE + i) for i in range(lanes - 1)]
        self.beside = Beside(self, Streams(FIRST_LANE + lanes - 1))
        self.threads: list[Any] = []  # besides the first one
        self.closed: set[int] = set()
        self.lock = threading.Lock()  # of what is below, while functions come and go
        self.loaded: dict[Any, Any] = {}  # functions and objects with their hooks, by their step
        self.callees: dict[int, Callee] = {}  # by the numbers that packs name them by
        self.generators: dict[int, tuple[Any, Any]] = {}  # by object: what seeds those that it holds
        self.tapes: dict[str, Tape] = {}  # epochs that trials have begun, by source
        self.initialized: BaseException | bool | None = None  # an exception of that; None: not yet
        self.hooks: dict[bytes, Hooks] = {}  # around calls, by their pickles
        self.own_hooks: Hooks | None = None  # around all calls

    def begin(self, own: list[str]) -> None:
        """Be set up, with a first function. `own` is imported from last, and by functions alone."""
        first = self.connections[0]
        kind, payload = first.receive()
        if kind != SETUP:
            raise SystemExit(1)
        setup = json.loads(bytes(payload))
        try:
            start.begin()
            self.heap = mmap.mmap(HEAP, setup["heap"])
            self.heap.madvise(getattr(mmap, "MADV_DONTDUMP", 16))
        except Exception as e:
            first.send(ERROR, json.dumps(errors.describe(e)).encode())
            raise SystemExit(1) from None
        self.cells: list[int] = setup["cells"]
        sys.path += own
        self.install(first, setup)

    def install(self, connection: Connection, setup: dict[str, Any]) -> None:
        """Load a function, and say what it needs, or why it cannot be loaded."""
        if self.callees or setup["chain"]:
            log.several()
        sys.path += [entry for entry in setup["path"] or () if entry not in sys.path]
        try:
            with self.lock, log.speaking_for(setup["stage"]):
                self.with_hooks = self.own_hooks
                self._initialize(setup)
                callee = self._callee(setup)
                self._settle()
                if self.with_hooks is not None:
                    callee.hook(self.with_hooks, callee.concurrent)
                    for step in callee.callees:
                        self.with_hooks.begin(step.step)
                if callee.concurrent:
                    self.beside.begin()
                self.callees[setup["number"]] = callee
        except BaseException as e:
            connection.send(ERROR, json.dumps(errors.describe(e)).encode())
            return
        connection.send(
            READY, json.dumps({"random": callee.random, "epochs": callee.epochs is not None, "concurrent": callee.concurrent}).encode()
        )

    def _initialize(self, setup: dict[str, Any]) -> None:
        """Call the initializer once, before anything else of the user's."""
        if self.initialized is None and setup["initializer"]:
            try:
                self._found(setup["initializer"], setup["initializer_pickle"])()
            except BaseException as e:
                self.initialized = e
                raise
        if isinstance(self.initialized, BaseException):
            raise self.initialized
        self.initialized = True

    def _callee(self, setup: dict[str, Any]) -> Any:
        from .callee import Callee

        own = self.own_hooks is not None
        setup["tapes"] = self.tapes
        setup["held"] = Held({} if own else self.generators, own, len(self.connections) == 1)

        if setup["chain"]:
            from .chain import Chain

            return Chain(setup, self._loaded)
        keys = self._found(setup["keys"], setup["keys_pickle"]) if setup["keys"] else None
        return Callee(setup, lambda: self._loaded(setup), keys)

    def _loaded(self, setup: dict[str, Any]) -> Any:
        """The function of a step, or its object: one that was tried when the loader was opened is the run's."""
        if setup["kind"] in ("aggregate", "iterate"):  # made again for each epoch
            return self._found(setup["function"], setup["pickle"])
        key = (setup.get("step") or setup["stage"], setup["function"], bytes(self._part(setup["pickle"]) or b""))
        if key not in self.loaded:
            found = self._found(setup["function"], setup["pickle"])
            self.loaded[key] = found() if isinstance(found, type) else found, self.with_hooks
        value, self.with_hooks = self.loaded[key]
        return value

    def _found(self, name: str, place: list[int] | None) -> Any:
        """A function of the user's, and `with_hooks` those that it came with."""
        from .lookup import load

        found = load(name, self._part(place))
        if type(found) is not Sent:
            return found
        if found.hooks not in self.hooks:
            from .hooked import Hooks

            self.hooks[found.hooks] = Hooks(load(name, found.hooks))
        self.with_hooks = self.hooks[found.hooks]
        return load(name, found.function)

    def _part(self, place: list[int] | None) -> memoryview | None:
        """A part of the heap."""
        return memoryview(self.heap)[place[0] : sum(place)] if place is not None else None

    def _settle(self) -> None:
        """What is left to do when all that the function needs was imported."""
        import gc

        gc.freeze()  # what was imported stays, and need not be looked through again
        if "torch" in sys.modules and os.environ.get("OMP_NUM_THREADS") == "1":
            sys.modules["torch"].set_num_threads(1)

    def serve(self) -> None:
        """Do what the engine asks for until it has had enough: one lane in this thread, each other one in a thread of its own."""
        first, *others = [Thread(self, connection, cell) for connection, cell in zip(self.connections, self.cells)]
        for i, other in enumerate(others, 2):
            self.start_thread(other.serve, f"headrace-{i}")
        first.serve()
        for thread in self.threads:
            thread.join()

    def start_thread(self, target: Callable[[], None], name: str) -> None:
        """Start one more thread."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self.threads.append(thread)

    def guarded(self, connection: Connection, work: Callable[[], Any]) -> bool:
        """Do something that sends and receives; false: the engine has closed the connection. What goes wrong ends the process."""
        try:
            work()
        except (Ended, BrokenPipeError, ConnectionResetError):
            return False
        except SystemExit:
            self.give_up()
            return False
        except BaseException as e:
            self.failed(connection, e)
            return False
        return True

    def give_up(self) -> None:
        """End at once."""
        os._exit(1)

    def failed(self, connection: Connection, e: BaseException) -> None:
        """Tell of a mistake of ours, not of the user's function, and end."""
        try:
            connection.send(ERROR, json.dumps(errors.describe(e)).encode())
        finally:
            sys.stderr.write(errors.describe(e)["traceback"])
            os._exit(1)

    def forget(self, removals: list[dict[str, Any]], concurrent: bool = False) -> list[Coroutine[Any, Any, None]]:
        """Let go of functions, `concurrent` of those of the event loop. Their objects end, but for those that others have, too.

        What has to be awaited for that is returned.
        """
        with self.lock:
            numbers = [one["function"] for one in removals]
            gone = [number for number in numbers if number in self.callees and self.callees[number].concurrent == concurrent]
            let_go = list(chain.from_iterable(self.callees.pop(number).callees for number in gone))
            kept = list(chain.from_iterable(callee.callees for callee in self.callees.values()))
            objects = {id(callee.object) for callee in kept} | {id(tape.made) for tape in self.tapes.values()}
            self.generators = {key: value for key, value in self.generators.items() if key in objects}
            self.loaded = {key: value for key, value in self.loaded.items() if id(value[0]) in objects}
            hooks = {id(callee.hooks) for callee in kept}
            ended = [one for one in self.hooks.values() if id(one) not in hooks]
            self.hooks = {key: one for key, one in self.hooks.items() if id(one) in hooks}
        closed, later = objects, []
        for callee in let_go:
            if not concurrent:
                callee.close(closed)
                continue
            with callee.saying():
                if hasattr(result := callee.ending(closed), "__await__"):
                    later.append(self._ends(callee, result))
        for one in ended:
            one.end()
        return later

    async def _ends(self, callee: Callee, result: Any) -> None:
        with callee.saying():
            await result

    def end(self) -> None:
        """Let the user's objects end."""
        self.close(lambda _: True)
        for tape in self.tapes.values():
            tape.close()
        for hooks in self.hooks.values():
            hooks.end()

    def loop_ends(self) -> None:
        """Let objects of async functions end where they have worked."""
        self.close(lambda callee: callee.concurrent)

    def close(self, which: Callable[[Any], bool]) -> None:
        """Let objects of functions end, but for those that have."""
        for callee in chain.from_iterable(callee.callees for callee in self.callees.values() if which(callee)):
            callee.close(self.closed)


class Thread:
    """What one thread does: with a connection of its own, all functions that the engine asks it for."""

    def __init__(self, process: Process, connection: Connection, cell: int) -> None:
        """`cell` is where in the heap the engine reads what is in work."""
        self.process = process
        self.connection = connection
        self.spaces = connection.spaces
        self.spaces[HEAP_SPACE] = process.heap
        self.cell = memoryview(process.heap)[cell : cell + 24].cast("Q")
        self.lanes: dict[int, Lane] = {}  # by functions

    def serve(self) -> None:
        """Do what the engine asks for until it has had enough."""
        self.process.guarded(self.connection, self._take_all)

    def _take_all(self) -> None:
        connection = self.connection
        while True:
            kind, payload = connection.receive()
            if kind == PACK:
                function = int.from_bytes(payload[FUNCTION : FUNCTION + 8], "little")
                lane = self.lanes.get(function) or self.lane(function)
                lane.work(connection.buffer, FRAME, FRAME + len(payload))
            elif kind == SEGMENT:
                connection.map(payload)
            elif kind == SETUP:
                self.process.install(connection, json.loads(bytes(payload)))
            elif kind == FORGET:
                self.process.forget(forget(payload, self.lanes, self.spaces))
            elif kind != PULL:  # a stream's last ones come after its end
                raise SystemExit(1)

    def let_go(self) -> None:
        """Unmap memory, where the process goes on."""
        self.cell.release()
        for lane in self.lanes.values():
            lane.let_go()
        unmap(self.spaces)

    def lane(self, function: int) -> Lane:
        """What this thread works with for a function."""
        from .lane import Lane

        lane = self.lanes[function] = Lane(self.process.callees[function], self.connection, self.spaces, self.cell)
        return lane

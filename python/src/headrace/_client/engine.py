"""The engine's process, and the one manager that starts, shares and ends it.

This module imports little, because it runs before NumPy: the engine starts while NumPy is being imported.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from _thread import RLock, start_new_thread

from ..errors import EngineFailed, EngineNotFound, HeadraceError, MemoryRefused, ProtocolError
from . import crash, fork, frames, oom
from .channel import Channel, Gone, socket_pair
from .interrupts import Later
from .program import VERSION, find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 5.0  # seconds that an engine has to end by itself before it is killed


class Engine:
    """One process, with its control connection, crash page and last words."""

    def __init__(self, program: str) -> None:
        self.sessions: set[int] = set()  # numbers of those that are open
        self.code: int | None = None
        self._held: dict[str, int] = {}  # of what limits tell of, when a session was open
        self._last = 0
        self._refusals = RLock()  # reads the control connection
        self._reaped = False
        self._page = self._words = self.pidfd = -1
        try:
            self._memory = oom.Watch()
            self._page = crash.new_page()
            self._words = crash.new_words()
            ours, theirs = socket_pair()
            self.control = Channel(ours)
            self._spawn(program, theirs.detach())
            self.control.peer = self.pidfd
        except BaseException as error:
            if self.pidfd < 0 or not self.leave():
                self.close()
            if isinstance(error, OSError) and not isinstance(error, HeadraceError):
                raise _refused(error, f"cannot start the engine {program}") from error
            raise
        hello = f'{{"protocol":{frames.VERSION},"client":"headrace-python","version":"{VERSION}","pid":{os.getpid()}}}'
        self.control.send(frames.HELLO, hello.encode())
        fork.share(self)

    def _spawn(self, program: str, control: int) -> None:
        control = _at_least_3(control)
        page, self._page = self._page, -1
        self._page = _at_least_3(page)
        words, self._words = self._words, -1
        self._words = _at_least_3(words)

        # In the child a descriptor is inherited once it is duplicated, be it onto
        # itself. SIGINT and SIGHUP stay blocked until the engine has said that it
        # ignores them; SIGPIPE and SIGXFSZ, which Python ignores, it shall see in their
        # default state.
        keep = [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in (control, self._page)]
        self._mark = os.urandom(8).hex()  # in the environment of all that workers start
        null = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        arguments = [program, "serve", "--fd", str(control), "--page", str(self._page), "--parent", str(os.getpid())]
        try:
            self.pid = os.posix_spawn(
                program,
                arguments,
                {**os.environ, "HEADRACE_WORKER_OF": self._mark},
                file_actions=[*null, *keep, (os.POSIX_SPAWN_DUP2, self._words, 2)],
                setsigmask=[signal.SIGINT, signal.SIGHUP],
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
        except FileNotFoundError as error:
            raise EngineNotFound(f"headrace: there is no engine at {program}") from error
        except PermissionError as error:
            raise EngineNotFound(f"headrace: the engine {program} cannot be executed: {error.strerror}") from error
        finally:
            os.close(control)
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except BaseException:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise

    def connect(self) -> Connection:
        """A new connection to this engine: the beginning of a session."""
        try:
            ours, theirs = socket_pair()
        except OSError as error:
            raise _refused(error, "cannot open a session") from error
        channel = Channel(ours)
        try:
            if not self.control.flush():
                raise ProtocolError("headrace: the engine does not read its control connection")
            self.control.send_descriptor(frames.SESSION, theirs.fileno())
        except OSError:
            pass  # it has just died; the session will find out
        finally:
            theirs.close()
        self._last += 1
        self.sessions.add(self._last)
        return Connection(self, channel, self._last)

    def alive(self) -> bool:
        """Whether the process still runs."""
        return not self._reaped and not _readable(self.pidfd, 0)

    def weigh(self) -> None:
        """Note what the engine uses of what limits bound, in case it dies."""
        self._held = crash.held_by(self.pid)

    def refusal(self) -> bytes | None:
        """What the engine says on the control connection of a session that it has not taken in. None: it has ended instead.

        The session's end comes first, since the descriptor is lost before the engine can know of it.
        """
        with self._refusals:
            while True:
                frame = self.control.peek()
                if frame is None:
                    try:
                        if not self.control.wait(_PATIENCE):
                            return None
                    except Gone:
                        return None
                    continue
                kind, _, buffer, start, end = frame
                payload = bytes(buffer[start:end])
                self.control.skip(end)
                if kind == frames.ERROR:
                    return payload

    def death(self) -> crash.Death:
        """What is known of this engine's end, after a connection to it has ended."""
        if not _readable(self.pidfd, 1.0):
            if not self._hung_up():  # other sessions go on: only that connection has ended
                return crash.Death(None, "", [], alive=True)
            if not _readable(self.pidfd, _PATIENCE):  # its sockets ended before the process did
                self._kill()
        limits = None
        if not self._reaped:
            try:
                limits = crash.limits_of(self.pid)
            except OSError:
                pass  # somebody else has reaped it; this process's own are likely the same
        self.reap()
        return crash.Death(self.code, crash.read_words(self._words), crash.read_page(self._page), self._memory, limits, self._held)

    def _hung_up(self) -> bool:
        """Whether the control connection has ended, as all of them do when the process ends."""
        with self._refusals:
            while self.control.receive():
                pass
            return self.control.ended

    def reap(self) -> bool:
        """Take the status of the ended process, so that no zombie stays; tell whether it has ended."""
        if self._reaped:
            return True
        try:
            result = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG)
        except ChildProcessError:  # somebody waits for all children of this process
            self._reaped = True
            self._end_workers()
            return True
        if result is None:
            return False
        self.code = result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        self._reaped = True
        if self.code:  # else it has done this itself
            self._end_workers()
        return True

    def _end_workers(self) -> None:
        from .orphans import end_marked

        end_marked(self._mark)

    def dismiss(self) -> None:
        """Let the engine end by itself, without waiting."""
        self.control.shut()

    def leave(self) -> bool:
        """Let the engine end by itself, and a thread wait for that, so that no zombie stays. False: there can be no more threads."""
        self.dismiss()
        try:
            start_new_thread(self.stop, ())
        except RuntimeError:
            return False
        return True

    def stop(self) -> None:
        """End the engine, and wait until it has ended."""
        self.dismiss()
        if not _readable(self.pidfd, _PATIENCE):
            self._kill()
        self.reap()
        self.close()

    def _kill(self) -> None:
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _readable(self.pidfd, _PATIENCE)

    def close(self) -> None:
        """Let go of all descriptors."""
        control = getattr(self, "control", None)
        if control is not None:
            control.close()
        fds = (self._page, self._words, self.pidfd)
        self._page = self._words = self.pidfd = -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if ends():
            return  # the kernel closes them, and modules that this needs may be gone
        if self.pidfd < 0 or self._reaped or not self.leave():
            self.close()

    def after_fork(self) -> None:
        """In the child: the engine is the parent's."""
        self._reaped = True
        self.close()


class Connection:
    """One session's place at an engine. When it is closed, or nobody has it any more, the session ends."""

    def __init__(self, engine: Engine, channel: Channel, number: int) -> None:
        self.engine = engine
        self.channel = channel
        self.number = number  # of the session, as the engine counts
        channel.peer = engine.pidfd
        self.open = True
        fork.share(self)

    def close(self) -> None:
        """End the session, and with the engine's last one the engine. May be called again."""
        if self._end():
            manager.release(self.engine, self.number)

    def _end(self) -> bool:
        if not self.open:
            return False
        self.open = False
        self.channel.shut()
        self.channel.close()
        return True

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends() and self._end():  # when the process ends its engine does
            manager.abandon(self.engine, self.number)

    def after_fork(self) -> None:
        """In the child: the session is the parent's."""
        self.open = False
        self.channel.close()


class Manager:
    """Gives every loader of this process its engine: the same one, started when it is first needed, ended with its last session."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock = RLock()
        self._shared: Engine | None = None
        self._ending: list[Engine] = []

    def connect(self, alone: bool = False) -> Connection:
        """A connection to the shared engine, or to a new one that no other loader gets."""
        with self._lock, Later():
            if self._ending:
                self._sweep()
            engine = self._shared
            if alone or engine is None or not engine.sessions or not engine.alive():
                engine = Engine(find_program())
                if not alone:
                    self._shared = engine
            return engine.connect()

    def release(self, engine: Engine, number: int) -> None:
        """End a session. With the engine's last one the engine ends, and this waits for that."""
        with self._lock:
            engine.sessions.discard(number)
            if not engine.sessions and engine.pidfd >= 0:
                self._forget(engine)
                engine.stop()
            self._sweep()

    def abandon(self, engine: Engine, number: int) -> None:
        """End a session from a finalizer: without waiting, neither for locks nor for processes."""
        engine.sessions.discard(number)
        if not engine.sessions and engine.pidfd >= 0:
            self._forget(engine)
            if not engine.leave():
                self._ending.append(engine)

    def _forget(self, engine: Engine) -> None:
        if self._shared is engine:
            self._shared = None

    def _sweep(self) -> None:
        ending, self._ending = self._ending, []
        for engine in ending:
            if engine.reap():
                engine.close()
            else:
                self._ending.append(engine)

    def after_fork(self) -> None:
        """In the child: begin again; the lock may be held by a thread that this process does not have."""
        self._begin()


manager = Manager()
fork.kept.append(manager)


def _at_least_3(fd: int) -> int:
    """The same file under a number above the standard streams, which programs may have closed."""
    if fd > 2:
        return fd
    import fcntl

    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def _readable(fd: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _refused(error: OSError, what: str) -> HeadraceError:
    """The error for people, with the limit that was met."""
    import errno

    remedy = {
        errno.EMFILE: "this process has no file descriptors left: raise the limit (ulimit -n), or let go of batches and files",
        errno.ENFILE: "the machine has no file descriptors left (fs.file-max)",
        errno.EFBIG: "files cannot be that large here, and shared memory counts as a file: raise the limit (ulimit -f)",
        errno.ENOMEM: "there is no memory left",
        errno.EAGAIN: "no more processes may be started here: raise the limit (ulimit -u, or pids.max of the cgroup)",
    }.get(error.errno or 0)
    if remedy is None:
        return EngineFailed(f"headrace: {what}: {error.strerror}")
    return MemoryRefused(f"headrace: {what}: {error.strerror}; {remedy}")

"""What can be learned of an engine that has died: how it ended, its last words, the samples that C code was working on."""

from __future__ import annotations

import os
import signal
from struct import Struct

from ..errors import EngineDied, EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .oom import Watch

    Limits = dict[str, int]  # by name; -1: none

PAGE_SIZE = 69_632
PAGE_MAGIC = b"HRPAGE01"
_FIRST_CELL = 4096
_CELLS = 256
_CELL_SIZE = 256
_CELL = Struct("<IIIIqqq")  # busy, session, stream, bytes of the key, epoch, position, index
_READ = 1 << 20
_WORDS = 16 << 10
_BEGINNINGS = ("panic:", "fatal error:", "SIG", "runtime:", "unexpected fault")  # of what Go prints when it falls
_NO_THREAD = ("pthread_create failed", "failed to create new OS thread", "newosproc", "ulimit -u")
_NO_MEMORY = (*_NO_THREAD, "ulimit -v", "ulimit -d", "allocate memory", "out of memory", "failed to reserve", "failed to map")
_NO_FILE = ("failed with 24", "Too many open files", "too many open files")
_SHOWN_LINES = 12
_SHOWN_SAMPLES = 8


class InFlight:
    """A sample that was in C code when the engine died.

    Attributes:
        key (str): its name; only the end of a long one.
        index (int): its index in the source; with several sources, counted over all of them.
        epoch (int): the epoch.
        position (int): its position in this rank's epoch of its source.
    """

    __slots__ = ("epoch", "index", "key", "position", "session")

    def __init__(self, key: str, index: int, epoch: int, position: int, session: int) -> None:
        self.key = key
        self.index = index
        self.epoch = epoch
        self.position = position
        self.session = session

    def __repr__(self) -> str:
        return f"{self.key!r} (index {self.index})"


InFlight.__module__ = "headrace"


class Death:
    """The end of one engine."""

    def __init__(
        self,
        code: int | None,
        words: str,
        in_flight: list[InFlight],
        watch: Watch | None = None,
        limits: Limits | None = None,
        held: Limits | None = None,
        alive: bool = False,
    ) -> None:
        self._alive = alive  # only a connection has ended
        self.code = code  # as os.waitstatus_to_exitcode gives it; None: somebody else has reaped the process
        self.words = words
        self.in_flight = in_flight
        self.limit = (
            _limit(words, limits or limits_of(0), held or {}) if self.crashed else ""
        )  # the limit that it ran into, and the remedy; empty: none
        self._why = watch.explain() if watch is not None and code == -signal.SIGKILL else ""
        self.out_of_memory = bool(watch is not None and code == -signal.SIGKILL and watch.killed())

    @property
    def status(self) -> str:
        """How it ended, in words."""
        if self._alive:
            return "runs on"
        if self.code is None:
            return "ended; another part of this program has collected its status"
        if self.code >= 0:
            return f"exited with status {self.code}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        return f"killed by {name}{', out of memory' if self.out_of_memory else ''}"

    @property
    def crashed(self) -> bool:
        """Whether it fell over its own work, rather than being ended from outside."""
        return not self._alive and self.code not in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, 0)

    def of(self, session: int) -> list[InFlight]:
        """The samples of one session."""
        return [sample for sample in self.in_flight if sample.session == session]

    @property
    def what(self) -> str:
        """What has happened, in words."""
        return "the engine ended this connection without a reason" if self._alive else f"the engine died: {self.status}"

    def error(self, session: int) -> EngineDied | EngineFailed:
        """The error for one session's loader."""
        if self._alive:
            return EngineFailed(f"headrace: {self.what}; other loaders of this program continue. Make this one again")
        suspects = self.of(session)
        return EngineDied(
            self._message(suspects),
            status=self.status,
            out_of_memory=self.out_of_memory,
            last_words=self.words,
            in_flight=suspects,
        )

    def _message(self, suspects: list[InFlight]) -> str:
        parts = [f"headrace: {self.what}"]
        if self._why:
            parts.append(f"; {self._why}")
        if self.limit:
            return f"{parts[0]}; {self.limit}"
        if self.crashed and suspects:
            names = ", ".join(map(repr, suspects[:_SHOWN_SAMPLES]))
            more = len(suspects) - _SHOWN_SAMPLES
            parts.append(f"\nin flight in C code: {names}{f' and {more} more' if more > 0 else ''}")
            parts.append("\none of them is the likely cause: leave it out, or use on_error='skip', which finds it and continues")
        if self.words:
            parts.append("\nits last words:\n" + "\n".join("    " + line for line in _telling(self.words)))
        return "".join(parts)


def limits_of(pid: int) -> Limits:
    """The limits of a process that was not reaped yet, by name; 0: of this one."""
    import resource

    return {
        name: resource.prlimit(pid, getattr(resource, name))[0] for name in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_NPROC")
    }


def held_by(pid: int) -> Limits:
    """What a process uses of what limits bound, as far as the system tells."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            pages = file.read().split()
        page = os.sysconf("SC_PAGE_SIZE")
        return {"RLIMIT_AS": int(pages[0]) * page, "RLIMIT_DATA": int(pages[5]) * page}
    except (OSError, ValueError, IndexError):
        return {}


def _limit(words: str, limits: Limits, held: Limits) -> str:
    """Which limit of the engine explains these last words.

    Go aborts where it gets no addresses or no thread, before the engine could say anything. C may fall over
    it in many ways: where the engine had as much as the limit allows when it began, they need no words.
    """
    words = "\n".join(_telling(words))
    no_thread = any(part in words for part in _NO_THREAD)
    no_memory = any(part in words for part in _NO_MEMORY)
    met = []
    for applies, name, what, unit, command in (
        (no_memory, "RLIMIT_AS", "address space", "MiB of ", "ulimit -v unlimited"),
        (no_memory, "RLIMIT_DATA", "data", "MiB of ", "ulimit -d unlimited"),
        (any(part in words for part in _NO_FILE), "RLIMIT_NOFILE", "open files", "", "ulimit -n 4096"),
        (no_thread and os.getuid() != 0, "RLIMIT_NPROC", "processes and threads of this user", "", "ulimit -u unlimited"),
    ):
        value = limits[name]
        if value >= 0 and (applies or held.get(name, -1) >= value):  # -1: none
            met.append(f"it may have only {value >> 20 if unit else value} {unit}{what}: raise the limit ({command})")
    if no_thread and not met:
        return "it may start no more threads: raise pids.max of the container (docker run --pids-limit)"
    return "; ".join(met)


def _telling(words: str) -> list[str]:
    """The lines that say why: of a crash its beginning, else the end."""
    lines = words.rstrip().splitlines()
    for i, line in enumerate(lines):
        if line.startswith(_BEGINNINGS):
            return lines[max(0, i - 2) : i + _SHOWN_LINES]
    return lines[-_SHOWN_LINES:]


def new_page() -> int:
    """A crash page for one engine; the descriptor."""
    fd = os.memfd_create("headrace-crash-page", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, PAGE_SIZE)
        os.pwrite(fd, PAGE_MAGIC, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def read_page(fd: int) -> list[InFlight]:
    """The samples that C code was working on, by session and position."""
    page = os.pread(fd, PAGE_SIZE, 0)
    found = []
    for i in range(_CELLS):
        at = _FIRST_CELL + i * _CELL_SIZE
        if len(page) < at + _CELL_SIZE:
            break
        busy, session, _, size, epoch, position, index = _CELL.unpack_from(page, at)
        if busy:
            key = page[at + _CELL.size : at + _CELL.size + min(size, _CELL_SIZE - _CELL.size)]
            found.append(InFlight(key.decode("utf-8", "surrogateescape"), index, epoch, position, session))
    found.sort(key=lambda s: (s.session, s.epoch, s.position))
    return found


def new_words() -> int:
    """What becomes the engine's standard error; the descriptor."""
    return os.memfd_create("headrace-last-words", os.MFD_CLOEXEC)


def read_words(fd: int) -> str:
    """The newest text. It ends at the file's end or, once the engine has begun again from the start, at the offset that is shared."""
    size = os.fstat(fd).st_size
    offset = os.lseek(fd, 0, os.SEEK_CUR)
    end = offset if 0 < offset < size else size
    begin = max(0, end - _READ)
    return _newest(os.pread(fd, end - begin, begin).decode("utf-8", "replace"))


def _newest(text: str) -> str:
    """The last 16 KiB; of a crash, which prints the stacks of all goroutines, the first 16 KiB, a few lines before it included."""
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith(_BEGINNINGS):
            return "".join(lines[max(0, i - 10) :])[:_WORDS]
    return text[-_WORDS:]

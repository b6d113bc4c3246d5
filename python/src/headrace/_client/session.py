"""A session: one loader's conversation with an engine, from OPEN to the end of either."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from struct import Struct
from weakref import WeakSet

from .._report.notices import notice
from ..errors import ProtocolError
from . import frames
from .channel import Gone
from .slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Any

    from .._batch.cuda import Pins
    from .._worker.here import Here
    from .crash import Death
    from .engine import Connection
    from .giver import Giver

_CLOSING = 5.0  # seconds that an engine has for its last statistics
_SILENT = 5.0  # seconds until somebody looks what the opening of a loader waits for
_NEXT = Struct("<IHHIIIIII")  # a frame's header and NEXT's fixed part
_BATCH_BEGIN = Struct("<IIII")


observers: WeakSet[Session] = WeakSet()  # which write traces, and have events of the program in them
_MOST_EVENTS = 200_000  # of a trace; older ones are forgotten


def warn(payload: bytes) -> None:
    """Give a NOTE frame's warning."""
    told = json.loads(payload)
    notice(told["code"], f"headrace: {told['message']}")


def program_name() -> str:
    """What the user calls this program."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name == "ipykernel_launcher.py" or "ipykernel" in sys.modules:
        return "notebook"
    return "python -c" if name == "-c" else os.fsencode(name).decode("utf-8", "replace") or "python"


class Request:
    """What a loader asks of each engine that runs it."""

    __slots__ = ("config", "giver", "here", "metrics", "movable", "page", "program", "python", "recipe")

    def __init__(
        self,
        recipe: dict[str, Any],
        config: dict[str, Any],
        python: dict[str, Any] | None,
        here: Here | None,
        giver: Giver | None = None,
        metrics: str | None = None,
        page: int | None = None,
    ) -> None:
        self.recipe = recipe
        self.config = config
        self.python = python  # how workers call functions; None: there are none
        self.here = here  # threads of this program that call functions
        self.giver = giver  # of credentials; None: the engine's environment has them
        self.metrics = metrics  # where they are served; None: nowhere
        self.page = page  # the port of the live page, 0 for any; None: there is no page
        self.program = program_name()
        self.movable: list[str] = []  # steps that they could do as well, as far as anybody has said


class Session:
    """Sends what a loader wants and waits for what comes."""

    def __init__(self, connection: Connection, request: Request, preview: dict[str, Any] | None = None, **place: Any) -> None:
        """`place` is where in the run it begins, as OPEN has it; `preview` what is drawn instead."""
        self.connection = connection
        self.channel = connection.channel
        self.stream = 1
        self.slots = Slots(connection.channel)
        self.unwanted: list[bytes] = []  # tokens of slots that nobody holds
        self.pins: Pins | None = None  # where a GPU copies from slots
        self.copied: list[tuple[Any, list[bytes]]] = []  # tokens of slots that were let go, by what happens when they were copied
        self.taken = 0  # batches of this stream since the last NEXT
        self.notes: list[bytes] = []  # that had come, and nobody had read, when the session was finished
        self.tracing = False  # a trace is being written
        self.trace_path = ""  # of the last one
        self.traced: dict[str, Any] | None = None  # what became of the last one that was
        self.events: deque[dict[str, Any]] = deque()  # that the program tells of itself, for the trace
        self._asked = 0  # for statistics
        self.request = request
        self._has_workers = request.python is not None
        if request.here is not None:
            self._send_end(frames.HERE, request.here.connect(again=preview is None))
        if request.giver is not None:
            request.giver.give(self.channel)
        opening = {
            "recipe": request.recipe,
            "config": request.config,
            "state": None,
            "serial_until": None,
            "replay": None,
            "idle": False,
            **place,
            **(preview or {}),
        }
        if request.python is not None:
            opening["python"] = request.python
        if request.metrics and preview is None:
            opening["metrics"] = request.metrics
        if request.page is not None and preview is None:
            opening["page"] = {"port": request.page}
        if preview is None:
            opening["program"] = request.program
        kind = frames.OPEN if preview is None else frames.PREVIEW
        self.channel.send(kind, json.dumps(opening, separators=(",", ":")).encode(), self.stream)

    def _send_end(self, kind: int, end: _socket.socket, payload: bytes = b"") -> None:
        try:
            self.channel.send_descriptor(kind, end.fileno(), payload)
        except OSError:
            pass  # the engine has just died, which the next frame will find out
        finally:
            end.close()

    def opened(self) -> dict[str, Any]:
        """Wait for OPENED."""
        told: dict[str, Any] = json.loads(self._begun(frames.OPENED))
        self.connection.engine.weigh()
        return told

    def previewed(self) -> bytes:
        """Wait for PREVIEWED."""
        return self._begun(frames.PREVIEWED)

    def _begun(self, wanted: int) -> bytes:
        """Wait for the frame that answers the session's first one."""
        seconds: float | None = _SILENT
        waited, unheard = 0.0, None
        while True:
            frame = self.channel.peek()
            if frame is None:
                try:
                    if not self.channel.wait(seconds):
                        from .unheard import Unheard

                        waited += seconds or 0
                        unheard = unheard or Unheard(self.request.recipe)
                        seconds = unheard.look(waited)
                except Gone:
                    self._raise_refusal()
                    raise
                continue
            kind, _, buffer, start, end = frame
            payload = bytes(buffer[start:end])
            self.channel.skip(end)
            if kind == wanted:
                return payload
            if kind == frames.ERROR:
                from . import failures

                raise failures.parse(payload)[1]
            if kind == frames.NOTE:
                warn(payload)
            elif kind == frames.LOG:
                from . import log

                log.show(payload)
            else:
                raise ProtocolError(f"headrace: a frame of kind {kind} came before {wanted}")

    def _raise_refusal(self) -> None:
        """Raise what the engine said on the control connection before it ended this one."""
        refusal = self.connection.engine.refusal()
        if refusal is not None:
            from . import failures

            raise failures.parse(refusal)[1]

    def start(self, state: dict[str, Any]) -> None:
        """Go on from a state, in a new stream."""
        self.stream += 1
        self.taken = 0
        self._send_json(frames.START, {"state": state})

    def _send_json(self, kind: int, content: dict[str, Any]) -> None:
        self.channel.send(kind, json.dumps(content, separators=(",", ":")).encode(), self.stream)

    def next(self, flags: int, waited: int = 0, main: int = 0) -> None:
        """Tell the engine what was taken, what is given back, and how many microseconds the loop has waited, `main` of them for itself."""
        channel, returned = self.channel, self.slots.returned
        n, tokens = self.slots.ended()
        copied = self.copied
        if self.pins is not None:
            tokens, copied = self._behind_copies(self.pins, tokens, flags & frames.WAITING)
        tokens += self.unwanted
        tail = b""
        if main:
            flags, tail = flags | frames.MAIN, main.to_bytes(4, "little")
        size = 16 + 8 * len(tokens) + len(tail)
        header = _NEXT.pack(size, frames.NEXT, 0, self.stream, channel.out_seq, self.taken, flags, len(tokens), waited)
        frame = header + b"".join(tokens) + tail
        # Nothing is called between these lines: see channel.
        channel.out += frame
        channel.out_seq = channel.out_seq + 1 & 0xFFFFFFFF
        self.taken = 0
        self.copied = copied
        del returned[:n]
        del self.unwanted[:]
        channel.flush()

    def _behind_copies(self, pins: Pins, tokens: list[bytes], wait: int) -> tuple[list[bytes], list[tuple[Any, list[bytes]]]]:
        """The tokens of slots from which no copy to a GPU reads any more, and the others.

        Who waits for a batch waits for the copies first: the engine may have no other slot to fill.
        """
        copied = [*self.copied, (pins.event(), tokens)] if tokens else self.copied
        done: list[bytes] = []
        for i, (event, behind) in enumerate(copied):
            if wait:
                event.synchronize()
            elif not event.query():
                return done, copied[i:]
            done += behind
        return done, []

    def give_back(self, payload: bytes, end: int) -> None:
        """Take a BATCH frame of an older stream, whose payload ends at `end`: nobody wants it."""
        number, _, _, flags = _BATCH_BEGIN.unpack_from(payload)
        tokens, channel, segments = [payload[:8]], self.channel, self.slots.segments
        if flags & frames.TEXT_BESIDE:
            tokens.append(payload[-8:])
        # Nothing is called between these lines: see channel.
        channel.start = end
        channel.in_seq = channel.in_seq + 1 & 0xFFFFFFFF
        self.unwanted += tokens
        if flags & frames.ALONE:
            del segments[number]

    def statistics(self, loop: dict[str, int], since: dict[str, Any] | None = None, seconds: float | None = None) -> dict[str, Any] | None:
        """Ask for statistics; None where they do not come in time. Frames that come before them stay to be read.

        The answers are numbered, so that one for which nobody waited any longer is not taken for the next.
        """
        self._asked += 1
        number = self._asked
        asked: dict[str, Any] = {"number": number, "loop": loop}
        self._send_json(frames.STATS, asked if since is None else {**asked, "since": since})
        while True:
            answer = self._answer(frames.STATISTICS, seconds)
            if answer is None or answer.pop("number", number) == number:
                return answer

    def gather(self, states: list[dict[str, Any]]) -> dict[str, Any]:
        """Ask for the record with which to go on from those of a run of another world size; or `{"error": why there is none}`."""
        return self._ask(frames.GATHER, {"states": states}, frames.GATHERED)

    def set_workers(self, stage: str, workers: int) -> dict[str, Any]:
        """Give a stage another number of workers: the stages as they are now, or `{"error": why nothing has changed}`."""
        return self._ask(frames.WORKERS, {"stage": stage, "workers": workers}, frames.STAGES)

    def page(self, port: int) -> dict[str, Any]:
        """Have the live page opened, if it is not open: its address, or `{"error": why there is none}`."""
        return self._ask(frames.PAGE, {"port": port}, frames.PAGED)

    def trace(self, path: str) -> dict[str, Any]:
        """Have what every worker does written to a file. The answer may be why it cannot be."""
        answer = self._ask(frames.TRACE, {"path": path}, frames.TRACED)
        if "error" not in answer:
            self.events = deque(maxlen=_MOST_EVENTS)
            observers.add(self)
            self.tracing, self.trace_path, self.traced = True, path, None
            self.channel.keep_waker()  # who closes the loader within next() is to learn what became of the file
        return answer

    def end_trace(self, seconds: float | None = None) -> dict[str, Any] | None:
        """Have the file completed: what became of it, or None where that is not heard in time."""
        self.channel.keep_no_waker()
        self._send_json(frames.TRACE, {"path": None, "events": self._told()})
        self.traced = self._answer(frames.TRACED, seconds)
        self.tracing = False
        return self.traced

    def _told(self) -> list[dict[str, Any]]:
        """What the program has told of itself since the trace began."""
        observers.discard(self)
        told, self.events = list(self.events), deque()
        return told

    def finish(self, loop: dict[str, int]) -> dict[str, Any] | None:
        """End the session in good order: the last statistics, or None where the engine does not give them.

        Args:
            loop: what the loader's clock says.
        """
        try:
            if self.tracing:
                self.end_trace(_CLOSING)
            self._send_json(frames.CLOSE, {"loop": loop})
            closed = self._answer(frames.CLOSED, _CLOSING)
            if self._has_workers:
                self._last_words()
            return closed
        except (Gone, ProtocolError):
            return None
        finally:
            self.notes = list(iter(lambda: self.channel.find(frames.NOTE), None))
            self.drop()

    def _last_words(self) -> None:
        """Show what workers print when they end, until the engine ends the session."""
        from . import log

        try:
            while self.channel.wait(_CLOSING):
                log.show_waiting(self.channel)
        except Gone:
            log.show_waiting(self.channel)

    def _ask(self, kind: int, content: dict[str, Any], answers: int) -> dict[str, Any]:
        self._send_json(kind, content)
        answer = self._answer(answers, None)
        assert answer is not None
        return answer

    def _answer(self, kind: int, seconds: float | None) -> dict[str, Any] | None:
        from . import log

        while True:
            payload = self.channel.find(kind)
            if payload is not None:
                log.show_waiting(self.channel)  # else they would gather where nobody calls next()
                answer: dict[str, Any] = json.loads(payload)
                return answer
            if not self.channel.wait(seconds):
                return None

    def death(self) -> Death:
        """How the engine ended."""
        return self.connection.engine.death()

    def drop(self) -> None:
        """End the session; mappings that leases hold stay. May be called again."""
        self._told()  # an engine that has died has no trace
        self.slots.segments = {}
        self.connection.close()
        if self.slots.memory is not None:
            self.slots.memory.sweep()

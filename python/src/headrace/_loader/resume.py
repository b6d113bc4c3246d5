"""Resuming from states. The engine says whether they fit the run."""

from __future__ import annotations

import warnings

from .._report.tracebacks import outside
from ..errors import HeadraceError, HeadraceWarning, StateMismatch
from .frontier import Frontier, lost_in, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .run import Run


def load(run: Run, state: Any) -> None:
    """Implements `Loader.load_state_dict`."""
    if state is None or isinstance(state, (str, bytes)) or hasattr(state, "items") or not hasattr(state, "__iter__"):
        state = [state]  # what is no state is refused as one
    states = [whole(one) for one in state]
    with run.lock:
        record = _judged(run, states)
        for warning in filter(None, dict.fromkeys(map(run.identity.warning, states))):
            warnings.warn(warning, HeadraceWarning, stacklevel=outside())

        run.lost, run.replaced = lost_in(record), set()
        run.recovery.quarantine = list(record.get("quarantine") or ())
        run.go_to(Frontier.of(record))


def _judged(run: Run, states: list[dict[str, Any]]) -> dict[str, Any]:
    """The state to resume from: this rank's, or what the engine makes of other ranks' or another world size's."""
    if run.inside:  # the engine's answer would come before frames that next() is about to read
        own = next(filter(run.identity.alike, states), None)
        if own is None:
            raise HeadraceError("headrace: a signal handler within next() can load a state of the same pipeline, rank and world size only")
        return own

    answer = run.ask("cannot load a state", lambda session: session.gather(states))
    if "error" in answer:
        raise StateMismatch(answer["error"])
    gathered: dict[str, Any] = answer["state"]
    return next(filter(run.identity.own, states), gathered)

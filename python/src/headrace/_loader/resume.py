"""Going on from states."""

from __future__ import annotations

import warnings
from itertools import chain

from .._client.channel import Gone
from .._report.tracebacks import outside
from ..errors import HeadraceWarning, RecipeError, StateMismatch
from .frontier import Frontier, lost_in, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .run import Run


def load(run: Run, state: Any) -> None:
    """What `Loader.load_state_dict` does."""
    if state is None or isinstance(state, (str, bytes)) or hasattr(state, "items") or not hasattr(state, "__iter__"):
        state = [state]  # what is no state is refused as one
    states = [run.identity.plain(one) for one in state]
    with run.lock:
        for warning in dict.fromkeys(chain.from_iterable(map(run.identity.check, states))):
            warnings.warn(warning, HeadraceWarning, stacklevel=outside())
        together(states)
        record = next((s for s in states if run.identity.own(s)), None)
        if record is None:
            record = _gather(run, states)
        else:
            _hold_against(run, states)

        before = run.frontier, run.failure, run.lost, run.replaced, run.recovery.quarantine
        run.lost, run.replaced = lost_in(record), set()
        run.recovery.quarantine = list(record.get("quarantine") or ())
        try:
            run.go_to(Frontier.of(record))
        except RecipeError as error:  # of an engine that was opened for it
            if "state does not fit" not in str(error):
                raise
            run.frontier, run.failure, run.lost, run.replaced, run.recovery.quarantine = before
            raise StateMismatch(str(error)) from None


def _hold_against(run: Run, states: list[dict[str, Any]]) -> None:
    """Raise StateMismatch if the engine would not go on from states, one of which is this rank's. Without one, opening it tells."""
    if run.session is None or run.inside:
        return
    try:
        answer = run.session.gather(states)
    except Gone:
        return  # the next batch will tell
    if "error" in answer:
        raise StateMismatch(answer["error"])


def _gather(run: Run, states: list[dict[str, Any]]) -> dict[str, Any]:
    """Make this rank's state of those of other ranks or another world size."""
    answer = run.ask("can load a state of the same rank and world size only", lambda session: session.gather(states))
    if "error" in answer:
        raise StateMismatch(answer["error"])
    gathered: dict[str, Any] = answer["state"]
    return gathered

"""Steps with `where="main"`: functions of batches, called in your own loop."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from .._recipe.function_arguments import takes_rng
from .._recipe.functions import Function
from .._report.profiler import Recorder
from .._worker.event_loop import OwnLoop
from .._worker.hooked import Hooks
from ..errors import FunctionFailed, HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 3  # keys of a batch that an error names


class _Step(NamedTuple):
    step: str  # its own name
    name: str  # of the function
    function: Any
    fields: list[str] | None
    to: list[str] | None
    draws: str | None  # the name by which its random numbers are drawn; None: it takes none
    close: Any  # of the object that was made of a class


class MainSteps:
    """Applies these steps to a batch before the loop gets it."""

    def __init__(self, steps: list[dict[str, Any]], seed: int, rank: int, hooks: Iterable[Any] = ()) -> None:
        self._seed, self._rank = seed, rank
        self._steps: list[_Step] = []
        self._own = OwnLoop()
        self._hooks = Hooks(hooks, self._own.run, Recorder())
        try:
            for i, step in enumerate(steps, 1):
                made = _step(step["map"], "main" if i == 1 else f"main_{i}")
                self._steps.append(made._replace(function=self._hooks.around(made.step, made.function, False, False)))
                self._hooks.begin(made.step)
        except BaseException:
            self.close()
            raise

    def __call__(self, batch: Any, epoch: int, number: int) -> Any:
        """Return what the steps make of a batch. Their errors are raised with a note that names the batch."""
        made = dict(batch) if isinstance(batch, dict) else batch
        for step in self._steps:
            try:
                made = self._do(step, made, epoch, number)
            except StopIteration as error:
                text = f"headrace: {step.name} raised StopIteration, which would have ended the loop as if there were no more batches"
                wrong = FunctionFailed(text)
                _note(wrong, f"headrace: {step.name} was given batch {number} of epoch {epoch}{_keys(batch)}")
                raise wrong from error
            except Exception as error:
                _note(error, f"headrace: {step.name} was given batch {number} of epoch {epoch}{_keys(batch)}")
                raise
        return made

    def _do(self, step: _Step, made: Any, epoch: int, number: int) -> Any:
        more = {} if step.draws is None else {"rng": self._generator(epoch, number, step.draws)}
        if step.fields is None:
            return step.function(made, **more)
        missing = [name for name in step.fields if not hasattr(made, "keys") or name not in made]
        if missing:
            there = list(made) if hasattr(made, "keys") else type(made).__name__
            raise HeadraceError(f"headrace: {step.name} needs the field {missing[0]!r}, but the batch has {there}")
        results = step.function(*(made[name] for name in step.fields), **more)
        to = step.to or step.fields
        if len(to) == 1:
            return {**made, to[0]: results}
        if not isinstance(results, (tuple, list)) or len(results) != len(to):
            raise HeadraceError(
                f"headrace: {step.name} returned {type(results).__name__}: must be a tuple of {len(to)}, for {', '.join(to)}"
            )
        return {**made, **dict(zip(to, results))}

    def _generator(self, epoch: int, number: int, draws: str) -> Any:
        """Random numbers that are the same whenever this batch is made."""
        import numpy

        text = f"{self._seed} {self._rank} {epoch} {number} {draws}"
        key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
        return numpy.random.Generator(numpy.random.Philox(key=key))

    def close(self) -> None:
        """Close objects made of classes. You may call it again."""
        steps, self._steps = self._steps, []
        try:
            for step in steps:
                if step.close is not None:
                    step.close()
        finally:
            self._hooks.end()
            self._own.close()


def _step(args: dict[str, Any], name: str) -> _Step:
    function: Function = args["function"]
    call, close = function.value, None
    random = takes_rng(call)
    if isinstance(call, type):
        call = call()
        close = getattr(call, "close", None)
    return _Step(name, repr(function), call, args.get("fields"), args.get("to"), name if random else None, close)


def _keys(batch: Any) -> str:
    keys = batch.get("key") if isinstance(batch, dict) else None
    if keys is None or isinstance(keys, str) or not hasattr(keys, "__len__"):
        return ""  # what a function has made of them
    named = ", ".join(map(repr, keys[:_SHOWN]))
    return f": {named}{f', … {len(keys)} in all' if len(keys) > _SHOWN else ''}"


def _note(error: Exception, text: str) -> None:
    """`add_note`, which came with Python 3.11."""
    notes = getattr(error, "__notes__", None)
    try:
        error.__notes__ = [*(notes or ()), text]  # type: ignore[attr-defined]
    except AttributeError:
        pass  # an exception of C that takes no attributes

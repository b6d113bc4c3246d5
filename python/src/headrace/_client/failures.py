"""ERROR frames as exceptions."""

from __future__ import annotations

import json

from .. import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS: dict[str, type[errors.HeadraceError]] = {
    "protocol": errors.ProtocolError,
    "recipe": errors.RecipeError,
    "source": errors.SourceError,
    "held": errors.HeldBatches,
    "short": errors.EpochTooShort,
    "memory": errors.MemoryRefused,
    "internal": errors.EngineFailed,
}
_WHERE = ("stage", "step", "source", "key", "index", "epoch", "position", "remote_type", "remote_message", "remote_traceback")
_OF_SAMPLES: dict[str, type[errors.SampleError]] = {"sample": errors.SampleError, "budget": errors.TooManyErrors}


def parse(payload: bytes) -> tuple[str, errors.HeadraceError]:
    """The code of an ERROR frame, and the exception to raise."""
    told: dict[str, Any] = json.loads(payload)
    code, message = told["code"], told["message"]
    if told.get("remote_type") == errors.HOOK_FAILED:
        return code, errors.HookFailed(message, remote_traceback=told.get("remote_traceback"))
    if told.get("remote_type") == errors.EXECUTOR_FAILED:
        return code, errors.ExecutorFailed(f"headrace: {told['remote_message']}", remote_traceback=told.get("remote_traceback"))
    if told.get("remote_type") == errors.STATE_MISMATCH:
        return code, errors.StateMismatch(told["remote_message"])
    if code in _OF_SAMPLES:
        where = {name: told.get(name) for name in _WHERE} | {"output": told.get("output", [])}
        return code, _OF_SAMPLES[code](_remedied(code, message), **where)
    return code, _KINDS.get(code, errors.EngineFailed)(message)


def _remedied(code: str, message: str) -> str:
    """A failure with what can be done about it, where the engine has said all that it knows of a sample."""
    lines = message.split("\n")
    if lines[-1].startswith("in ") and ", sample " in lines[-1]:  # of a shard
        lines.pop()
    if code == "sample" and lines[-1].startswith("  in "):
        message += '\n  .loader(on_error="skip") leaves such samples out, and lists them in loader.errors'
    if code == "budget":
        message += "\n  loader.errors lists them; max_errors= allows more than 1 % of the samples, at least 10"
    return message


def again(error: errors.HeadraceError) -> errors.HeadraceError:
    """The same error, to be raised once more. One that is kept is not raised itself: its traceback would keep what keeps it."""
    fresh = type(error)(*error.args)
    fresh.__dict__.update(error.__dict__)
    fresh.__cause__ = error.__cause__
    return fresh

"""ERROR frames as exceptions."""

from __future__ import annotations

import json
import re

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
        return code, errors.HookFailed(lines(message), remote_traceback=told.get("remote_traceback"))
    if code in _OF_SAMPLES:
        where = {name: told.get(name) for name in _WHERE} | {"output": told.get("output", [])}
        return code, _OF_SAMPLES[code](lines(message), **where)
    return code, _KINDS.get(code, errors.EngineFailed)(message)


# Where the engine says that something has failed.
_PLACE = re.compile(
    r"pipe: stage (?P<stage>.+?): epoch (?P<epoch>\d+), item (?P<item>\d+): "
    r'sample "(?P<key>(?:[^"\\]|\\.)*)" \((?P<index>index \d+(?:, output [\d.]+)?)\)(?:: )?'
)


def lines(message: str) -> str:
    """A failure in lines: which sample, and why; then where; then what can be done. What a function has raised comes first as it is."""
    found = _PLACE.search(message)
    if found is None:
        return message
    before, rest = message[: found.start()], message[found.end() :]
    where = f"stage {found['stage']}: epoch {found['epoch']}, item {found['item']}, {found['index']}"
    if before.endswith("\n"):
        return f"{before}  of {found['key']}, in {where}" + (f": {rest}" if rest else "")
    cause, _, more = rest.partition("\n")
    if (read := re.match(r'store: read "((?:[^"\\]|\\.)*)": ', cause)) is not None:
        named = read[1].endswith(found["key"])  # the key is the path, as it was given
        cause = ("" if named else f"{read[1]} ") + "cannot be read: " + cause[read.end() :]
    cause = re.sub("^(headrace|media|sound|video): ", "", cause)
    remedy = "" if before else '\n  on_error="skip" leaves such samples out, and lists them in loader.errors'
    return f"{before}{found['key']}: {cause}\n  in {where}" + (f"\n{more}" if more else remedy)


def again(error: errors.HeadraceError) -> errors.HeadraceError:
    """The same error, to be raised once more. One that is kept is not raised itself: its traceback would keep what keeps it."""
    fresh = type(error)(*error.args)
    fresh.__dict__.update(error.__dict__)
    fresh.__cause__ = error.__cause__
    return fresh

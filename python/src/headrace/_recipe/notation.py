"""Recipes as text. The engine's program reads and writes them, so there is one notation and one parser."""

from __future__ import annotations

import json
import os
import re
import subprocess

from .._client.program import find_program
from ..errors import EngineFailed, FileError, RecipeError, file_error, opened
from .arguments import in_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_FORMATS = ("yaml", "json")
_MISTAKE = 2  # the exit code of a program that was used wrongly, or found a mistake in the recipe


def read(path: str | bytes | os.PathLike[str] | os.PathLike[bytes], variables: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe from a file, complete, with each step as an object, and its section `loader`."""
    name = os.fsdecode(path)
    if name != "-" and not in_store(name):
        try:
            file, kind = opened(path)
            file.close()
        except FileNotFoundError as error:
            raise _missing(name, error) from None
        if kind:
            raise RecipeError(f'headrace: {name}: is not a regular file but a {kind}: give a file, or "-" for standard input')
    given = [f"--set={variable}={_value(variable, value)}" for variable, value in variables.items()]
    text = _convert(["--to", "json", *given, "--", name], None)
    recipe: dict[str, Any] = _texts(json.loads(text), lambda text: text.replace("$$", "$"))
    recipe["steps"] = _objects(recipe["steps"])
    return recipe


def _missing(name: str, error: FileNotFoundError) -> FileError:
    """The same error, with a similar file name that exists."""
    import difflib

    folder, base = os.path.split(name)
    try:
        beside = os.listdir(folder or ".")
    except OSError:
        beside = []
    text = str(error.strerror)
    for near in difflib.get_close_matches(base, beside, 1, 0.7):
        text += f" (did you mean {os.path.join(folder, near)!r}?)"
    return file_error(error.errno or 0, text, name)


def _objects(chain: list[Any]) -> list[dict[str, Any]]:
    """Steps as objects, nested ones too."""
    chain = [{step: {}} if isinstance(step, str) else step for step in chain]
    for step in chain:
        for op in ("merge", "mix"):
            if op in step:
                step[op]["of"] = [_objects(inside) for inside in step[op]["of"]]
        for branch in step.get("route", {}).get("branches", ()):
            branch["steps"] = _objects(branch["steps"])
    return chain


def write(recipe: dict[str, Any], loader: dict[str, Any], format: str) -> str:
    """A recipe as the text of a file, complete."""
    if format not in _FORMATS:
        raise RecipeError(f"headrace: recipe({format!r}): must be {' or '.join(map(repr, _FORMATS))}")
    # In a file, a dollar sign may begin a variable; here it never does.
    doc = _texts(recipe | ({"loader": loader} if loader else {}), lambda text: text.replace("$", "$$"))
    try:
        return _convert(["--to", format, "-"], json.dumps(doc).encode()).decode()
    except RecipeError as e:  # nobody has seen the text in which it has a line and a column, nor the command line
        text = str(e).replace("use --to json", 'use recipe("json")')
        raise RecipeError(re.sub(r"^stdin:\d+:\d+: ", "recipe: ", text, flags=re.MULTILINE)) from None


def _convert(args: list[str], given: bytes | None) -> bytes:
    """Run `headrace convert`, with this program's standard input by default."""
    done = subprocess.run([find_program(), "convert", *args], input=given, capture_output=True)
    if done.returncode == 0:
        return done.stdout
    text = done.stderr.decode(errors="replace").strip()
    raise RecipeError(text) if done.returncode == _MISTAKE else EngineFailed(text or f"headrace: convert ended with {done.returncode}")


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with all text but its keys changed."""
    if isinstance(value, str):
        return change(value) if "$" in value else value
    if isinstance(value, list):
        return [_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _texts(item, change) for key, item in value.items()}
    return value


def _value(name: str, value: Any) -> str:
    """A variable's value as text: text as it is, other values as JSON."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (AttributeError, TypeError, ValueError):
        text = f"headrace: the variable {name} is {value!r}: must be text, a path, a number, True, False, None, or a list of them"
        raise RecipeError(text) from None


def _plain(value: Any) -> Any:
    """A NumPy number or array as Python's."""
    return value.tolist()

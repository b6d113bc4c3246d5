"""Converts arguments of a pipeline's methods for its recipe. Wrong types are refused here; the engine checks the values."""

from __future__ import annotations

import math
import os
import re
from operator import index

from ..errors import RecipeError, WrongType, WrongValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def path_text(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise RecipeError(f"headrace: files: {path!r} is not a path: use str, bytes or os.PathLike") from None


_IN_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # the rule of store.Scheme in the engine


def in_store(path: str) -> bool:
    """Whether a name begins with a scheme, as s3://bucket/a.jpg and file:///a.jpg do: other names are paths."""
    return _IN_STORE.match(path) is not None


def shown(path: str) -> str:
    """A name as messages have it: without the password and the query of a URL, which may be secret."""
    if not in_store(path):
        return path
    path = re.sub(r"//[^/@]*@", "//…@", path, count=1)
    is_signed = "sig=" in path.partition("?")[2] and path.lower().startswith(("az:", "abfs"))
    return path.partition("?")[0] if is_signed or path.lower().startswith("http") else path


def absolute(name: str, path: Any) -> str | None:
    """A file's absolute path: the engine's current directory may differ. Names of stores are as they were."""
    try:
        text = None if path is None else os.fsdecode(path)
        return text if text is None or in_store(text) else os.path.abspath(text)
    except TypeError:
        raise RecipeError(f"headrace: {name} is {path!r}: must be the name of a file") from None


def integer(name: str, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise RecipeError(f"headrace: {name} is {value!r}: must be a whole number") from None


def is_number(value: Any) -> bool:
    """Whether it is a number, of Python or NumPy, and not a bool."""
    return hasattr(value, "__float__") and not isinstance(value, (bool, type)) and getattr(value, "shape", ()) == ()


def names_of(step: str, given: tuple[Any, ...]) -> list[str]:
    """Names of fields, one by one or in lists."""
    names = [name for item in given for name in ([item] if isinstance(item, str) else item if hasattr(item, "__iter__") else [item])]
    for name in names:
        if not isinstance(name, str):
            raise RecipeError(f"headrace: {step}: {name!r} is not a field name: names are text")
    return names


def name_of(step: str, field: Any) -> str:
    if not isinstance(field, str):
        raise RecipeError(f"headrace: {step}: field is {field!r}: must be the name of a field")
    return field


def as_float(value: Any) -> float:
    """A number as a float; infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def time_limit(timeout: Any) -> float:
    """A time limit of a call, in seconds; infinite for None."""
    if timeout is None:
        return math.inf
    if not is_number(timeout):
        raise WrongType(f"headrace: timeout is {timeout!r}: must be a number of seconds, or None")
    if not timeout >= 0:
        raise WrongValue(f"headrace: timeout is {timeout!r}: must be at least 0 seconds, or None")
    return as_float(timeout)


def truth(name: str, value: Any) -> bool:
    try:
        return bool(value)
    except (TypeError, ValueError):  # as an array has it
        raise RecipeError(f"headrace: {name} is {value!r}: must be True or False") from None


def optional(name: str, value: Any) -> int | None:
    return None if value is None else integer(name, value)


def at_least_one(name: str, value: Any) -> int | None:
    if value is not None and integer(name, value) < 1:
        raise RecipeError(f"headrace: {name} is {value}: must be at least 1")
    return optional(name, value)


def weights_of(value: Any) -> list[float]:
    return [number_of("weights", w) for w in (value.tolist() if hasattr(value, "tolist") else value)]


def from_environment(name: str, value: int | None, environment: str | None, default: int, least: int = 0) -> int:
    if value is not None:
        chosen = integer(name, value)
    elif environment is None:
        chosen = default
    else:
        try:
            chosen = int(environment)
        except ValueError:
            text = f"headrace: {name.upper()} in the environment is {environment!r}: must be a whole number; or give {name}="
            raise RecipeError(text) from None
    if chosen < least:
        raise RecipeError(f"headrace: {name} is {chosen}: must be at least {least}")
    return chosen


def size_of(size: Any) -> int | list[int]:
    if is_several(size):
        if len(size) == 1:
            return integer("size", size[0])
        return [integer("size", n) for n in size]
    return integer("size", size)


def integers(name: str, value: Any) -> int | list[int]:
    return [integer(name, n) for n in value] if is_several(value) else integer(name, value)


def integer_list(name: str, value: Any) -> list[int]:
    """Whole numbers, or one that is alone."""
    return [integer(name, n) for n in value] if is_several(value) else [integer(name, value)]


def number_of(name: str, value: Any) -> float:
    try:
        number = as_float(value)
    except (TypeError, ValueError):
        raise RecipeError(f"headrace: {name} is {value!r}: must be a number") from None
    if number - number != 0:  # infinite, or no number at all
        raise RecipeError(f"headrace: {name} is {value!r}: must be a number")
    return number


def seconds_of(name: str, value: Any) -> float | None:
    try:
        return None if value is None else number_of(name, value)
    except RecipeError as error:
        raise RecipeError(f"{error} of seconds") from None


def start_of(start: Any, words: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Where a window or clip begins, as in a recipe: by a word, or a second; if the words are given, other text names a field."""
    if start is None:
        return {}
    if isinstance(start, str):
        return {"start" if words is None or start in words else "at": start}
    return {"offset": seconds_of("start", start)}


def dtype_name(value: Any) -> str:
    """The name of a NumPy, PyTorch or Python dtype."""
    if value is int or value is float:
        return f"{value.__name__}64"
    if type(value).__module__ == "torch":
        return str(value).removeprefix("torch.")
    for name in (value, getattr(value, "name", None), getattr(value, "__name__", None)):
        if isinstance(name, str):
            return str(name)
    raise RecipeError(f"headrace: dtype is {value!r}: must be the name of a dtype, such as 'int32'")


def option_text(name: str, value: Any) -> str:
    """Options as FFmpeg reads them; text stays."""
    if isinstance(value, str):
        return value
    if not hasattr(value, "items"):
        raise RecipeError(f"headrace: {name} is {value!r}: must be a dict of names and values, or text as FFmpeg reads it")
    pairs = {str(k): str(int(v) if isinstance(v, bool) else v) for k, v in value.items()}
    return ":".join(f"{_escaped(k)}={_escaped(v)}" for k, v in pairs.items())


def _escaped(text: str) -> str:
    return re.sub(r"([\\':=])", r"\\\1", text)


def numbers_of(name: str, value: Any) -> float | list[float]:
    return [number_of(name, n) for n in value] if is_several(value) else number_of(name, value)


def numbers_for(name: str, value: Any) -> float | dict[str, float]:
    """A number, or numbers by field."""
    if hasattr(value, "items"):
        return {field: number_of(name, number) for field, number in value.items()}
    return number_of(name, value)


def lengths_of(name: str, value: Any) -> int | dict[str, int]:
    """A whole number, or whole numbers by field."""
    if hasattr(value, "items"):
        return {field: integer(name, number) for field, number in value.items()}
    return integer(name, value)


def is_several(value: Any) -> bool:
    """Tells lists, tuples and arrays from single numbers; NumPy scalars only look iterable."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes)) and getattr(value, "shape", None) != ()


def range_of(name: str, pair: tuple[float, float] | None) -> list[float] | None:
    if pair is None:
        return None
    if not is_several(pair):
        raise RecipeError(f"headrace: {name} is {pair!r}: must be (least, greatest)")
    return [number_of(name, x) for x in pair]


_UNITS = {"": 1, "B": 1} | {f"{p}B": 1000**i for i, p in enumerate("KMGT", 1)} | {f"{p}IB": 1024**i for i, p in enumerate("KMGT", 1)}


def byte_count(name: str, amount: int | str | None) -> int | None:
    if not isinstance(amount, str):
        return optional(name, amount)
    text = amount.strip().upper()
    digits = text.rstrip("BIKMGT ")
    unit = text[len(digits) :].strip()
    try:
        return int(float(digits) * _UNITS[unit])
    except (ValueError, KeyError):
        meant = f"{digits}{unit[0]}iB" if digits and unit and unit[0] in "KMGT" else "512MiB"
        text = f"headrace: {name} is {amount!r}: it must be a number of bytes, or text with a unit: write '{meant}' (powers of 1024)"
        raise RecipeError(f"{text} or '{meant.replace('i', '')}' (powers of 1000)") from None


def when_of(i: int, value: Any) -> str | int:
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return integer("when", value)
    try:
        return os.fsdecode(value)
    except TypeError:
        raise RecipeError(f"headrace: route: branch {i} matches {value!r}: must be patterns of text, or whole numbers") from None


def count_or_share(name: str, value: Any) -> int | float | None:
    if value is None:
        return None
    return integer(name, value) if hasattr(value, "__index__") else number_of(name, value)

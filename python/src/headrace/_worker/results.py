"""What a function returned, as values in the order of the fields."""

from __future__ import annotations

from .._recipe.functions import BARE
from .errors import Misfit
from .types import infer, told
from .unnamed import as_dicts, hint, is_tuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def is_bare(fields: list[dict[str, Any]]) -> bool:
    """Whether samples of these fields are any values, not dicts."""
    return len(fields) == 1 and fields[0]["name"] == BARE


def check_names(names: list[Any]) -> None:
    """Refuse a dict that could not be told from a sample that is none."""
    if names == [BARE]:
        raise Misfit(
            BARE,
            "returned a dict whose only field is '_', the name of a sample that is not a dict: give it another name, such as 'x',"
            " or return the value alone",
        )


def tuple_of(sample: Any) -> list[dict[str, Any]] | None:
    """The types of the values of a tuple; None: it is none, or one of them has a type that cannot be in a batch."""
    if not is_tuple(sample):
        return None
    try:
        types = [infer(str(i), value, False) for i, value in enumerate(sample)]
    except Misfit:
        return None
    return [{"name": one["name"], "kind": "object"} if one["kind"] == "bytes" else one for one in types]  # which no batch has


def targets_of(setup: dict[str, Any]) -> list[str] | None:
    """The fields that results make by their places; None: a result is a dict."""
    names = setup["positional"] and setup["kind"] != "aggregate"
    return setup["to"] or ([f["name"] for f in setup["in"]] if names else None)


def values_of_result(setup: dict[str, Any], writer: Any) -> Callable[[Any], Any]:
    """What makes values, in the order of the fields, of what a function returns."""
    names: list[str] = writer.names
    to = targets_of(setup)
    collates = setup["kind"] == "collate"  # whose result may be a dict in any case
    if collates and to and not writer.probing and set(to) != set(names):
        to = None
    named = setup["kind"] in ("index", "iterate")
    unnamed = (named or not setup["positional"]) and to is not None and to == [str(i) for i in range(len(to))]  # samples are tuples
    what = "a batch" if collates else "a sample"
    if names == [BARE] and not to and not collates:
        return lambda result: (result,)

    def of_dict(result: Any) -> Any:
        if type(result) is not dict:
            if not hasattr(result, "keys"):
                hint = "; did it forget to return?" if result is None else ""
                given = told(result)
                if setup["kind"] == "aggregate" and setup["positional"]:
                    hint = "; fields= names what it is given, not what it makes"
                if setup["kind"] in ("index", "iterate"):
                    several = isinstance(result, (tuple, list))
                    given = given.removesuffix(" (make it an array)")
                    hint = f"; fields= of source names {'its values' if several else 'such a value'}"
                raise Misfit("", f"returned {given}, not {what} (a dict of fields){hint}")
            result = dict(result)
        if named and "key" in names and "key" not in result and "__key__" in result:
            result = {**result, "key": result["__key__"]}  # as WebDataset calls its samples
        try:
            if len(result) == len(names):
                return [result[name] for name in names]
        except KeyError:
            pass
        missing = [n for n in names if n not in result]
        if missing:
            raise Misfit(
                missing[0],
                f"field {missing[0]!r} is missing in what was returned; there are {', '.join(map(repr, result)) or 'none'}",
                "KeyError",
            )
        more = [n for n in result if n not in names]
        raise Misfit(
            str(more[0]), f"returned a field {more[0]!r} that the step does not give; it gives {', '.join(map(repr, names))}", "KeyError"
        )

    # Fields need not be in the order in which they are returned.
    order = [to.index(name) for name in names] if to and not writer.probing and to != names else None

    def of_values(result: Any) -> Any:
        assert to is not None
        if len(to) == 1:
            alone = unnamed and type(result) in (tuple, list) and len(result) == 1
            return result if alone else (result,)
        if not isinstance(result, (tuple, list)) or len(result) != len(to):
            what = f"{len(result)} values" if isinstance(result, (tuple, list)) else told(result)
            number = len(to) if isinstance(result, (tuple, list)) else f"{len(to)} values"
            if unnamed:
                raise Misfit(
                    "", f"returned {what}, not {number} as the first sample; write gives=object to have lists of samples as they are"
                )
            how = as_dicts(result) if named else None
            raise Misfit("", f"returned {what}, not {number}: {', '.join(to)}{(how and f'; instead of fields= write {how}') or ''}")
        return result if order is None else [result[i] for i in order]

    def take(result: Any) -> Any:
        return of_dict(result) if hasattr(result, "keys") else of_values(result)

    def may_be_bare(result: Any) -> bool:
        if collates or (setup["kind"] == "aggregate" and setup["positional"]):
            return False
        return named or result is not None or is_bare(setup["in"])

    if not writer.probing:
        return of_dict if not to else take if collates else of_values

    def probed(result: Any) -> Any:
        if to and not (collates and hasattr(result, "keys")):
            values = list(of_values(result))
            writer.find(list(to), values)
            return values
        if not hasattr(result, "keys"):
            if not may_be_bare(result):
                return of_dict(result)
            writer.find([BARE], [result])
            if writer.fields[0]["kind"] == "object":
                writer.tuple = tuple_of(result)
                writer.unnamed = hint(result) if named else None
            return [result]
        found = list(result.keys())
        for name in found:
            if not isinstance(name, str) or not name:
                what = "empty" if name == "" else f"{told(name)}, not a str"
                raise Misfit(repr(name), f"returned a field whose name is {what}: give it a name, as in {{'x': value}}")
        check_names(found)
        values = [result[name] for name in found]
        if named and "__key__" in found and "key" not in found:
            found, values = [*found, "key"], [*values, result["__key__"]]
        writer.find(found, values)
        return values

    return probed

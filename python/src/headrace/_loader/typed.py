"""Batches as a TypedDict describes them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_type_hints, is_typeddict

from ..errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from .loader import Field, Loader
    from .loop import Loop

    T = TypeVar("T")

    class TypedLoop(Loop, Generic[T]):
        """A loop for type checkers: a `Loop` at run time."""

        def __iter__(self) -> Iterator[T]: ...  # type: ignore[override]
        def __next__(self) -> T: ...  # type: ignore[override]

    class TypedLoader(Loader, Generic[T]):
        """A loader for type checkers: a `Loader` at run time."""

        def __enter__(self) -> TypedLoader[T]: ...
        def __iter__(self) -> TypedLoop[T]: ...
        def __aiter__(self) -> AsyncIterator[T]: ...  # type: ignore[override]
        def get(self, timeout: float | None = None) -> T: ...
        async def aget(self, timeout: float | None = None) -> T: ...
        def resume(self) -> TypedLoader[T]: ...


_ARRAYS = {"numpy": ("numpy", "ndarray"), "torch": ("torch", "Tensor"), "jax": ("jax", "Array")}
_WRITTEN = {"numpy": "npt.NDArray[np.{}]", "torch": "torch.Tensor", "jax": "jax.Array"}


def check(batch: Any, schema: Mapping[str, Field], format: str) -> None:
    """Raise RecipeError where batches are not what a TypedDict says."""
    if not is_typeddict(batch):
        name = getattr(batch, "__name__", repr(batch))
        raise RecipeError(f"headrace: typed({name}): must be a TypedDict, such as\n\n{described('TrainBatch', schema, format)}")
    try:
        hints = get_type_hints(batch)
    except Exception:  # names that only type checkers import
        hints = dict.fromkeys(batch.__annotations__)
    for name in batch.__required_keys__:
        why = f"there is no field {name!r}" if name not in schema else _differs(name, hints[name], schema[name], format)
        if why:
            raise RecipeError(f"headrace: typed({batch.__name__}): {why}; the batches are\n\n{described(batch.__name__, schema, format)}")


def _differs(name: str, hint: Any, field: Field, format: str) -> str | None:
    """How a field differs from its annotation, if both say so."""
    if field.kind != "tensor":
        return None
    origin = getattr(hint, "__origin__", hint)
    arrays = [kind for kind, (module, array) in _ARRAYS.items() if origin is getattr(sys.modules.get(module), array, 0)]
    if arrays and arrays != [format]:
        return f"{name!r} is {_written(field, format)}"
    if arrays != ["numpy"] or len(get_args(hint)) < 2:
        return None
    import numpy as np

    (scalar,) = get_args(get_args(hint)[1]) or (Any,)
    concrete = isinstance(scalar, type) and issubclass(scalar, np.generic) and not scalar.__subclasses__()
    return f"{name!r} is {_written(field, format)}" if concrete and np.dtype(scalar) != np.dtype(field.dtype) else None


def described(name: str, schema: Mapping[str, Field], format: str) -> str:
    """The TypedDict of batches, as a program has it."""
    fields = [f"    {field}: {_written(schema[field], format)}" for field in schema if field.isidentifier()]
    return "\n".join([f"class {name}(TypedDict):", *(fields or ["    pass"])])


def _written(field: Field, format: str) -> str:
    if field.kind == "tensor":
        return _WRITTEN[format].format(field.dtype)
    if field.kind == "text" and field.shape:
        return "list[Any]"
    return {"text": "hr.Texts", "bytes": "list[bytes]"}.get(field.kind, "list[Any]")

"""What batches hold: arrays of which framework, in which memory."""

from __future__ import annotations

from ..errors import NotInstalled, RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = ("numpy", "torch", "jax")
_ALSO = {
    "pytorch": "torch",
    "pt": "torch",
    "tensor": "torch",
    "np": "numpy",
    "ndarray": "numpy",
    "tf": "numpy",
    "tensorflow": "numpy",
    "flax": "jax",
}


class Format:
    """The arguments of `to` and `tuples`."""

    __slots__ = ("device", "name", "pin_memory", "tuples")

    def __init__(self, name: str, pin_memory: bool = False, device: Any = None, tuples: tuple[str, ...] = ()) -> None:
        self.name = name
        self.pin_memory = pin_memory
        self.device = device  # whatever torch.device takes; None: the memory that the engine has filled
        self.tuples = tuples  # the fields that a batch is a tuple of; none: it is a dict

    def with_tuples(self, fields: tuple[str, ...]) -> Format:
        """The same with other tuples."""
        return Format(self.name, self.pin_memory, self.device, fields)

    def drawn(self) -> list[dict[str, Any]]:
        """What is not the default, as steps."""
        to = [{"to": self.arguments()}] if (self.name, self.pin_memory, self.device) != ("numpy", False, None) else []
        return [*to, *([{"tuples": {"fields": list(self.tuples)}}] if self.tuples else [])]

    def arguments(self) -> dict[str, Any]:
        """The arguments of `to`, without defaults."""
        device = None if self.device is None else str(self.device)
        given = {"format": self.name, "pin_memory": self.pin_memory or None, "device": device}
        return {name: value for name, value in given.items() if value is not None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return (self.name, self.pin_memory, self.device, self.tuples) == (other.name, other.pin_memory, other.device, other.tuples)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name, *options = self.arguments().items()
        shown = [repr(name[1]), *(f"{option}={value!r}" for option, value in options)]
        return ", ".join([*shown, *([f"tuples={self.tuples!r}"] if self.tuples else [])])


NUMPY = Format("numpy")


def check(name: str, pin_memory: bool, device: Any) -> Format:
    """The format, if it exists with these options."""
    if name not in _NAMES:
        text = f"headrace: to({name!r}): the framework must be {', '.join(map(repr, _NAMES[:-1]))} or {_NAMES[-1]!r}"
        plain = str(name).lower()
        if plain.startswith(("cuda", "gpu", "cpu", "mps")):
            text += f': write .to("torch", device={"cuda" if plain == "gpu" else name!r})'
        elif plain in _ALSO:
            text += f": write .to({_ALSO[plain]!r})"
        raise RecipeError(text)
    for option, value in (("pin_memory", pin_memory or None), ("device", device)):
        if value is not None and name != "torch":
            raise RecipeError(f"headrace: to({name!r}, {option}={value!r}): only 'torch' tensors have {option}")
    return Format(name, bool(pin_memory), device)


def load(format: Format) -> None:
    """Import what a format needs, while the engine starts."""
    import importlib
    import sys

    try:
        importlib.import_module(format.name)
    except ModuleNotFoundError as error:
        if error.name != format.name:
            raise  # of something that the framework needs
        text = f"headrace: .to({format.name!r}): {format.name} is not installed for {sys.executable}: pip install {format.name}"
        text += "; without .to(…) batches are arrays of NumPy"
        raise NotInstalled(text, name=format.name) from None

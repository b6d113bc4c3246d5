"""Random generators that objects and functions of the user hold: seeded for each sample, or workers would all draw the same."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from typing import NamedTuple

from .holdings import held_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Held(NamedTuple):
    """What a process knows of generators."""

    known: dict[int, tuple[Any, Any]]  # by object: that, and what seeds what it holds
    own: bool  # the objects are the program's, and no copies
    alone: bool  # no other thread calls functions

    def seeders(self, value: Any, keys: Any) -> list[Callable[[int, int], None]]:
        """What seeds the generators of an object. They are found before it is called first: later their states are others."""
        if id(value) not in self.known:
            self.known[id(value)] = value, generators_in(value, keys)
        found: list[Callable[[int, int], None]] = self.known[id(value)][1]
        return found


def generators_in(*values: Any) -> list[Callable[[int, int], None]]:
    """What seeds each generator found with a sample's key. Those of the libraries themselves are not for us: `seed=` names them.

    A generator's own first state counts, so that one with another seed draws other numbers.
    """
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    shared = {id(getattr(random, "_inst", None))}
    if numpy is not None:
        shared.add(id(numpy.mtrand._rand))
    if torch is not None:
        shared.add(id(torch.default_generator))
    found: list[Callable[[int, int], None]] = []
    for value in held_by(*values):
        if id(value) in shared:
            continue
        if isinstance(value, random.Random):
            if type(value) is not random.SystemRandom:
                found.append(_of_python(value, len(found)))
        elif numpy is not None and isinstance(value, (numpy.Generator, numpy.BitGenerator)):
            found.append(_of_numpy(numpy, value if isinstance(value, numpy.BitGenerator) else value.bit_generator, len(found)))
        elif numpy is not None and isinstance(value, numpy.RandomState):
            found.append(_of_numpy_before(value, len(found)))
        elif torch is not None and isinstance(value, torch.Generator) and value.device.type == "cpu":
            found.append(_of_torch(value, len(found)))
    return found


def apart(seeders: list[Callable[[int, int], None]]) -> None:
    """Seed generators so that each process has others, where threads share them and they cannot be seeded for each sample."""
    for seed in seeders:
        seed(int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little"))


def _own(state: Any, number: int) -> int:
    """A number for a generator's first state, and its place among those found."""
    text = repr(state) if not hasattr(state, "tobytes") else state.tobytes().hex()
    return int.from_bytes(hashlib.blake2b(f"{number} {text}".encode(), digest_size=8).digest(), "little")


def _of_python(generator: random.Random, number: int) -> Callable[[int, int], None]:
    own = _own(generator.getstate(), number)
    return lambda low, high: generator.seed(own << 128 | high << 64 | low)


def _of_numpy(numpy: Any, bits: Any, number: int) -> Callable[[int, int], None]:
    kind, sequence = type(bits), numpy.SeedSequence
    own = _own(_first(bits.state), number)

    def seed(low: int, high: int) -> None:
        bits.state = kind(sequence([own, low, high])).state

    return seed


def _first(state: Any) -> Any:
    """A state in text whose arrays are whole."""
    if isinstance(state, dict):
        return {name: _first(value) for name, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


def _of_numpy_before(generator: Any, number: int) -> Callable[[int, int], None]:
    own = _own(_first(generator.get_state(legacy=False)), number)
    words = 0xFFFFFFFF
    return lambda low, high: generator.seed([own & words, own >> 32, low & words, low >> 32, high & words, high >> 32])


def _of_torch(generator: Any, number: int) -> Callable[[int, int], None]:
    own = _own(generator.get_state().numpy(), number)

    def seed(low: int, high: int) -> None:
        generator.manual_seed((own ^ low ^ high) & 0x7FFFFFFFFFFFFFFF)

    return seed

"""Memory that is registered with CUDA, and slots that are not filled again before a GPU has copied them.

No GPU was at hand where this was written: here a stand-in takes the place of CUDA's runtime and of its events, over the real loader,
engine and memory. It tells that memory is registered once and let go of before it is unmapped, and which slots wait for what; not what
CUDA itself does.
"""

from __future__ import annotations

import gc
import types

import pytest

import headrace as hr
from conftest import digests, mappings, pipeline
from headrace._batch import cuda


class Runtime:
    """As much of torch.cuda.cudart() as is called."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.registered: dict[int, int] = {}
        self.ended: list[int] = []
        self.cudaError = int

    def cudaHostRegister(self, address: int, size: int, flags: int) -> int:
        assert flags == 1
        assert address not in self.registered, "registered twice"
        if not self.code:
            self.registered[address] = size
        return self.code

    def cudaHostUnregister(self, address: int) -> int:
        assert any(int(line.split("-")[0], 16) == address for line in mappings()), "unmapped before"
        del self.registered[address]
        self.ended.append(address)
        return 0

    def cudaGetErrorString(self, code: int) -> str:
        return f"error {code}"


class Pins(cuda.Pins):
    """Events that happen when a test says so, or somebody waits for them."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime, None)
        self.events: list[types.SimpleNamespace] = []

    def _synchronize(self) -> None:
        pass

    def event(self) -> types.SimpleNamespace:
        happened: list[bool] = []
        event = types.SimpleNamespace(
            query=lambda: bool(happened), synchronize=lambda: happened.append(True), happen=lambda: happened.append(True)
        )
        self.events.append(event)
        return event


@pytest.fixture
def pinned(monkeypatch):
    """Have loaders that pin get this."""

    def have(pins):
        monkeypatch.setattr(cuda, "pins", lambda _: pins)
        return pins

    return have


def test_segments_are_registered_once_and_let_go_before_they_are_unmapped(photos, pinned):
    pins = pinned(Pins(runtime := Runtime()))
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=3) as loader:
        for _ in range(3):
            for batch in loader:
                assert len(runtime.registered) == 1
                (address,) = runtime.registered
                assert address <= batch["image"].data_ptr() < address + runtime.registered[address]
    assert runtime.registered, "a batch is still held"
    assert not runtime.ended
    del batch, loader
    gc.collect()
    assert not runtime.registered
    assert runtime.ended == [address]
    assert pins.events


def test_batches_are_the_same(photos, pinned):
    """A loader whose slots come back late gives what any gives: who waits for a batch waits for the copies first."""
    pins = pinned(Pins(Runtime()))
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=2) as loader, pipeline(photos).loader(epochs=2) as plain:
        for _ in range(2):
            got = digests({**b, "image": b["image"].numpy(), "label": b["label"].numpy()} for b in loader)
            assert got == digests(plain)
    assert len(pins.events) >= 10


def test_what_was_copied_is_given_back_in_order_and_only_then(pinned):
    """The bookkeeping of one session, event by event."""
    from headrace._client.session import Session

    session = Session.__new__(Session)
    pins = Pins(Runtime())
    session.copied = []
    give, session.copied = session._behind_copies(pins, [b"a"], 0)
    assert give == []
    give, session.copied = session._behind_copies(pins, [b"b", b"c"], 0)
    assert give == []
    assert [tokens for _, tokens in session.copied] == [[b"a"], [b"b", b"c"]]
    pins.events[1].happen()
    assert session._behind_copies(pins, [], 0) == ([], session.copied), "the first is before it"
    pins.events[0].happen()
    give, session.copied = session._behind_copies(pins, [b"d"], 0)
    assert give == [b"a", b"b", b"c"]
    give, session.copied = session._behind_copies(pins, [b"e"], 1)
    assert give == [b"d", b"e"]
    assert session.copied == []
    assert all(event.query() for event in pins.events)


def test_memory_that_cuda_refuses(photos, pinned):
    pinned(Pins(runtime := Runtime(code=2)))
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=1) as loader:
        loop = iter(loader)
        for _ in range(2):
            with pytest.raises(hr.MemoryRefused, match=r"CUDA cannot pin .* bytes of batches: error 2; leave out pin_memory"):
                next(loop)
        loader.to("torch")
        assert len(list(loop)) == 12, "nothing was lost"
    assert not runtime.ended


@pytest.mark.filterwarnings("ignore:headrace. the program holds all batches")
def test_batches_outside_the_pool_are_not_pinned(photos, pinned):
    pinned(Pins(runtime := Runtime()))
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=1) as loader:
        batches = list(loader)
        assert len(mappings()) > 3
        assert len(runtime.registered) == 1
    del batches, loader
    gc.collect()
    assert not runtime.registered


def test_a_child_unregisters_nothing(photos, pinned):
    from conftest import in_child

    pinned(Pins(runtime := Runtime()))
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=1) as loader:
        batch = next(iter(loader))

        def work():
            nonlocal batch
            del batch
            gc.collect()
            assert not runtime.ended

        in_child(work)
        assert runtime.registered
        del batch

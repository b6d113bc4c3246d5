"""What the program shares with its workers, and what changes between epochs."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import multiprocessing.sharedctypes
import subprocess
import sys
import time
from multiprocessing import managers, resource_tracker, shared_memory

import numpy as np
import pytest
import torch

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

COUNT = 400


@pytest.fixture
def tracker():
    """The program's own resource tracker ends with the test."""
    yield
    gc.collect()  # locks let go of their names
    resource_tracker._resource_tracker._stop()


class Told:
    """A dataset that shows what epoch it knows of, with a transform that has one of its own."""

    def __init__(self, wrapped=None):
        self.epoch, self.wrapped = -1, wrapped

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        time.sleep(0.0005)
        return {"n": self.epoch if self.wrapped is None else self.wrapped[0].epoch}

    def __call__(self, n):
        return n + 100 * self.epoch


class Holds(Told):
    set_epoch = None


def seen(pipeline, epochs=3, begin=lambda loader, epoch: None, **options):
    with pipeline.batch(20).loader(epochs=epochs, **options) as loader:
        came = []
        for epoch in range(epochs):
            begin(loader, epoch)
            came.append({n for batch in loader for n in batch["n"].tolist()})
    return came


@pytest.mark.parametrize("where", ["process", "thread", "here"])
def test_set_epoch_is_called_where_the_epoch_begins(where):
    p = hr.source(Told(), gives={"n": int}, where=where)
    assert seen(p, workers=3) == [{0}, {1}, {2}]


def test_functions_and_what_datasets_hold_get_it():
    p = hr.source(Holds([Told()]), gives={"n": int}).map(Told(), fields="n", gives=int)
    assert seen(p, workers=2) == [{0}, {101}, {202}]


class ToldLater(Told):
    """The same, as an async function."""

    async def __call__(self, n):
        before = self.epoch
        await asyncio.sleep(0.001 * (n % 7))
        assert before == self.epoch  # no sample of another epoch is in work
        return n + 100 * self.epoch


class Gathers(Told):
    """An aggregator, which has to know the epoch from its first sample to its flush."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def accumulate(self, sample):
        self.rows.append(sample["n"] + 100 * self.epoch)
        if len(self.rows) == 30:
            yield from self.flush()

    def flush(self):
        rows, self.rows = self.rows, []
        yield {"n": np.array(rows[:1]), "same": int(set(rows) == {self.epoch * 101})}


@pytest.mark.parametrize("where", ["process", "here"])
def test_async_functions_get_it(where):
    p = hr.source(Told(), gives={"n": int})
    assert seen(p.map(ToldLater(), fields="n", gives=int, where=where), workers=2) == [{0}, {101}, {202}]
    chain = p.map(ToldLater(), fields="n", gives=int, where=where).map(ToldLater(), fields="n", gives=int, where=where)
    assert seen(chain, workers=2) == [{0}, {201}, {402}]


def test_aggregators_get_it():
    p = hr.source(Told(), gives={"n": int}).aggregate(Gathers)
    for pipeline in (p, hr.source(Told(), gives={"n": int}).aggregate(Gathers())):
        with pipeline.batch(5).loader(epochs=3, workers=2) as loader:
            for epoch in range(3):
                came = list(loader)
                assert {n for batch in came for n in batch["n"].ravel().tolist()} == {101 * epoch}
                assert all(batch["same"].all() for batch in came)


class Reads:
    """A dataset that shows a value that the program changes."""

    def __init__(self, value, read):
        self.value, self.read = value, read

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {"n": int(self.read(self.value))}


SHARED = """
import multiprocessing, multiprocessing.sharedctypes
from multiprocessing import shared_memory
import torch
import headrace as hr

spawn = multiprocessing.get_context("spawn")
segment = shared_memory.SharedMemory(create=True, size=8)
manager = multiprocessing.Manager()
tensor = torch.zeros(4, dtype=torch.int64).share_memory_()
shared = {
    "tensor": (tensor[2:], lambda v: v[1], lambda v, e: v.__setitem__(1, e)),
    "segment": (segment, lambda v: v.buf[3], lambda v, e: v.buf.__setitem__(3, e)),
    "dict": (manager.dict(e=0), lambda v: v["e"], lambda v, e: v.__setitem__("e", e)),
    "nested": (manager.list([manager.list([0])]), lambda v: v[0][0], lambda v, e: v[0].__setitem__(0, e)),
    "raw": (multiprocessing.sharedctypes.RawArray("i", 3), lambda v: v[2], lambda v, e: v.__setitem__(2, e)),
    "unlocked": (multiprocessing.Value("i", 0, lock=False), lambda v: v.value, lambda v, e: setattr(v, "value", e)),
    "locked": (spawn.Value("i", 0), lambda v: v.value, lambda v, e: setattr(v, "value", e)),
    "event": (spawn.Event(), lambda v: v.is_set(), lambda v, e: v.set() if e else v.clear()),
}


class All:
    def __len__(self):
        return 120

    def __getitem__(self, i):
        return {name: int(read(value)) for name, (value, read, _) in shared.items()}


with hr.source(All(), where="process").batch(20).loader(epochs=2, workers=2) as loader:
    for epoch in range(2):
        for value, _, change in shared.values():
            change(value, epoch)
        loader.set_epoch(epoch)  # what was read ahead is read again
        for batch in loader:
            for name in shared:
                assert set(batch[name].tolist()) == {epoch}, name
assert bytes(segment.buf[:4]) == b"\\0\\0\\0\\1"
segment.close()
segment.unlink()  # no worker has done that
manager.shutdown()
print("shared")
"""


def test_what_is_shared_stays_shared(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SHARED)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("shared\n", "")


def refused():
    segment = shared_memory.SharedMemory(create=True, size=8)
    tensor = torch.zeros(2).share_memory_()
    yield (
        multiprocessing.Value("i", 0),
        'this RLock, alone or in a Value or an Array.*lock=False, or read the object itself with where="here"',
    )
    yield multiprocessing.Array("i", 3), r'get_context\("spawn"\)'
    yield multiprocessing.Queue(), r"a multiprocessing Queue is for children.*multiprocessing.Manager\(\)"
    yield multiprocessing.Pipe()[0], "a multiprocessing Connection"
    yield np.ndarray((8,), np.uint8, segment.buf), "keep the SharedMemory, and make the array of its buf"
    yield np.frombuffer(multiprocessing.sharedctypes.RawArray("i", 3), np.int32), "keep the RawArray"
    yield tensor.numpy(), r"keep the tensor, and call numpy\(\) in the worker"
    segment.unlink()


def test_what_cannot_be_shared_is_refused_with_what_works(tracker):
    for value, message in refused():
        with pytest.raises(hr.RecipeError, match=rf"Reads\(\) cannot be sent to workers: its attribute 'value': .*{message}"):
            hr.source(Reads(value, int)).batch(2).loader()


def test_arrays_that_are_no_shared_memory_are_copied(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(8))
    of_tensor = torch.arange(8).numpy()
    for array in (np.load(tmp_path / "a.npy", mmap_mode="r"), of_tensor, np.arange(16)[::2]):
        assert len(hr.source(Reads(array, len), gives={"n": int})._steps) == 1
        from headrace._recipe.interpreter import dumps

        assert dumps(Reads(array, len)).data


class Keyed(managers.BaseManager):
    """A manager with a key of its own."""


def test_a_manager_with_its_own_key():
    Keyed.register("dict", dict, managers.DictProxy)
    with Keyed(authkey=b"own") as manager:
        p = hr.source(Reads(manager.dict(e=3), lambda v: v["e"]), gives={"n": int})
        assert seen(p, 1, workers=1) == [{3}]


class Now:
    """Gives what is true when it is asked."""

    def __init__(self):
        self.value = multiprocessing.sharedctypes.RawArray("i", [1])

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {"n": self.value[0]}


def test_what_was_tried_at_open_is_read_again():
    """The first sample told the types, and its value is as old as the others that set_epoch drops."""
    now = Now()
    with hr.source(now).batch(4).loader(epochs=1) as loader:
        now.value[0] = 2
        loader.set_epoch(0)
        assert [batch["n"].tolist() for batch in loader] == [[2] * 4]

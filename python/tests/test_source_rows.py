"""Large samples of an object are read straight into their batches: what comes is what comes where they are stored first."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

SHAPE = (150, 160, 3)  # 72 KB
COUNT = 23


def large(i: int) -> np.ndarray:
    return np.random.default_rng(i).integers(0, 256, SHAPE, np.uint8)


class Pictures:
    """Samples of which some fail, or end the process that reads them."""

    def __init__(self, folder: Path | None = None, trouble: dict[int, str] | None = None, bare: bool = False) -> None:
        self.folder, self.trouble, self.bare = folder, trouble or {}, bare

    def __len__(self) -> int:
        return COUNT

    def first_time(self, i: int) -> bool:
        try:
            os.close(os.open(self.folder / f"{i}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def __getitem__(self, i: int):
        what = self.trouble.get(i, "")
        if what == "bad" or (what == "dies once" and self.first_time(i)):
            if what == "dies once":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(f"picture {i} is bad")
        if what == "small":
            return {"picture": large(i)[:, :7], "n": i, "name": f"number {i}", "more": {i, "set"}}
        if self.bare:
            return large(i)
        return {"picture": large(i), "n": i, "name": f"number {i}", "more": {i, "set"}}


def batches(pipeline, epochs=2, **config):
    with pipeline.loader(epochs=epochs, **config) as loader:
        got = []
        for _ in range(epochs):
            for batch in loader:
                batch = batch if hasattr(batch, "keys") else {"": batch}
                got.append(
                    {name: np.array(value, copy=True) if isinstance(value, np.ndarray) else list(value) for name, value in batch.items()}
                )
        names = [stage["name"] for stage in loader.stats()["stages"]]
        return got, [(lost.key, lost.index, lost.error) for lost in loader.errors], names


def equal(a, b) -> bool:
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(np.array_equal(x[n], y[n]) if isinstance(x[n], np.ndarray) else x[n] == y[n] for n in x)
        for x, y in zip(a, b)
    )


def both(pipeline, **config):
    """What comes, after it was compared with what comes where each operation is by itself."""
    got, lost, names = batches(pipeline, **config)
    stored, lost_then, separate = batches(pipeline, fuse=False, **config)
    assert "source+batch" in names
    assert "read" not in names
    assert "read" in separate
    assert "batch" in separate
    assert equal(got, stored)
    assert [one[:2] for one in lost] == [one[:2] for one in lost_then]
    return got, lost


@pytest.mark.parametrize("where", ["process", "thread"])
@pytest.mark.parametrize("bare", [False, True])
def test_rows_are_what_is_stored(where, bare):
    source = hr.source(Pictures(bare=bare), where=where)
    for pipeline in (source.batch(5), source.shuffle(seed=3).batch(4, drop_last=True)):
        got, _ = both(pipeline)
        assert len(got) == 10
    (first, *_), _ = both(source.batch(5), epochs=1)
    pictures = first[""] if bare else first["picture"]
    assert np.array_equal(pictures, np.stack([large(i) for i in range(5)]))
    if not bare:
        assert (list(first["n"]), first["name"], first["more"]) == (
            list(range(5)),
            [f"number {i}" for i in range(5)],
            [{i, "set"} for i in range(5)],
        )


def test_what_is_said_of_samples_is_as_where_they_are_stored(tmp_path):
    kinds = {"picture": (np.uint8, SHAPE), "n": int, "name": str, "more": object}
    source = hr.source(Pictures(tmp_path, {3: "bad", 11: "small", 12: "bad"}), gives=kinds)
    for on_error in ("skip", "replace"):
        got, lost = both(source.batch(5), on_error=on_error, max_errors=6)
        assert [index for _, index, _ in lost] == [3, 11, 12] * 2
        assert sum(len(batch["n"]) for batch in got) == 2 * (COUNT - 3 * (on_error == "skip"))
        assert "picture 3 is bad" in lost[0][2]
        assert "picture" in lost[1][2]
    for fuse in (True, False):
        with source.batch(5).loader(epochs=1, fuse=fuse) as loader, pytest.raises(hr.SampleError, match="picture 3 is bad") as raised:
            list(loader)
        assert raised.value.key == "3"


@pytest.mark.parametrize("where", ["process", "thread"])
def test_workers_that_die(where, tmp_path):
    trouble = {2: "dies once", 17: "dies once"}
    source = hr.source(
        Pictures(tmp_path, trouble),
        where=where,
        gives={"picture": (np.uint8, SHAPE), "n": int, "name": str, "more": object},
    )
    got, lost, _ = batches(source.batch(5), epochs=1)
    assert not lost
    assert equal(got, batches(hr.source(Pictures()).batch(5), epochs=1, fuse=False)[0])
    assert len(list(tmp_path.iterdir())) == 2


def test_ranks_have_what_they_have_where_it_is_stored():
    for rank in range(2):
        both(hr.source(Pictures()).shuffle(seed=5).batch(3), rank=rank, world_size=2)


class Written(Pictures):
    """Samples that are written where they are wanted."""

    def __init__(self, named: bool) -> None:
        super().__init__()
        self.named = named

    def __getitem__(self, i: int, out):
        memory = out if self.named else out["picture"]
        assert memory.shape == SHAPE
        memory[...] = large(i)
        return memory if self.named else {"picture": memory, "n": i}


class Perhaps(Written):
    def __getitem__(self, i: int, out=None):
        return super().__getitem__(i, {"picture": np.empty(SHAPE, np.uint8)} if out is None else out)


@pytest.mark.parametrize("where", ["process", "thread", "here"])
def test_what_is_written_into_out_is_what_comes(where):
    picture = (np.uint8, SHAPE)
    plain = hr.source([{"picture": large(i), "n": i} for i in range(COUNT)])
    dicts = hr.source(Written(False), gives={"picture": picture, "n": int}, where=where)
    named = hr.source(Written(True), fields="picture", gives=picture, where=where)
    perhaps = hr.source(Perhaps(False), where=where)  # which finds out what it gives without
    for fuse in (True, False):
        want, *_ = batches(plain.batch(5), fuse=fuse)
        assert equal(batches(dicts.batch(5), fuse=fuse)[0], want)
        assert equal(batches(perhaps.batch(5), fuse=fuse)[0], want)
        assert equal(batches(named.batch(5), fuse=fuse)[0], [{"key": batch["key"], "picture": batch["picture"]} for batch in want])
        inverted, *_ = batches(dicts.map(np.invert, fields="picture").batch(5), fuse=fuse)
        assert equal(inverted, [{**batch, "picture": 255 - batch["picture"]} for batch in want])


def test_the_memory_is_the_row_of_the_batch():
    class Where(Written):
        def __getitem__(self, i: int, out):
            at = out["picture"].ctypes.data
            with open("/proc/self/maps") as maps:
                spans = ([int(part, 16) for part in line.split()[0].split("-")] + [line] for line in maps)
                mine = next(line for low, high, line in spans if low <= at < high)
            out["picture"][...] = large(i)
            return {"picture": out["picture"], "shared": "memfd" in mine or "/dev/shm" in mine}

    gives = {"picture": (np.uint8, SHAPE), "shared": bool}
    got, *_ = batches(hr.source(Where(False), gives=gives).batch(5), epochs=1)
    assert all(batch["shared"].all() for batch in got)
    assert np.array_equal(got[0]["picture"][4], large(4))


def test_out_needs_to_be_told_how_much():
    with pytest.raises(
        hr.RecipeError, match=r"Written.__getitem__.* has the argument out, memory for its result: give its size with gives="
    ):
        hr.source(Written(False))
    with pytest.raises(hr.RecipeError, match="returns no array of known shape: 'n'"):
        hr.source(Written(False), gives={"n": int})


# What is iterated over: a sample gets its row when it is there, and is written there before the next one is asked for.

KINDS = {"picture": (np.uint8, SHAPE), "n": int, "name": str, "more": object}


class Stream:
    """Samples one after the other, of which some make trouble. Pictures are all made in the same memory, one after the other."""

    def __init__(self, folder: Path | None = None, trouble: dict[int, str] | None = None, stateful: bool = True) -> None:
        self.folder, self.trouble, self.at = folder, trouble or {}, 0
        if stateful:
            self.state_dict = lambda: {"at": self.at}
            self.load_state_dict = lambda state: setattr(self, "at", state["at"])

    def __getstate__(self):
        return {**self.__dict__, "state_dict": None, "load_state_dict": None, "stateful": hasattr(self, "state_dict")}

    def __setstate__(self, state):
        self.__init__(state["folder"], state["trouble"], state["stateful"])

    def __iter__(self):
        memory = np.empty(SHAPE, np.uint8)
        while self.at < COUNT:
            i, what = self.at, self.trouble.get(self.at, "")
            if what == "bad":
                raise ValueError(f"picture {i} is bad")
            if what == "dies" or (what == "dies once" and Pictures.first_time(self, i)):
                os.kill(os.getpid(), signal.SIGKILL)
            memory[...] = large(i)
            self.at += 1
            more = {i, "set"} if what != "dies as it is read" else Deadly(self.folder / f"read {i}")
            yield {"picture": memory, "n": "no number" if what == "odd" else i, "name": f"number {i}", "more": more}

    def set_epoch(self, epoch: int) -> None:
        self.at = 0


class Deadly:
    """Kills the process that pickles it, the first time. By then the picture before it is in its row, or on the way there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        if not self.path.exists():
            self.path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return set, ([int(self.path.name.split()[1]), "set"],)


WANTED = [{"picture": large(i), "n": i, "name": f"number {i}", "more": {i, "set"}} for i in range(COUNT)]


def samples(got) -> list:
    """What is in some batches, sample by sample."""
    return [{name: batch[name][i] for name in KINDS} for batch in got for i in range(len(batch["name"]))]


@pytest.mark.parametrize("where", ["process", "thread", "here"])
def test_streams_land_in_rows(where):
    source = hr.source(Stream(), gives=KINDS, where=where)
    for pipeline in (source.batch(5), source.batch(4, drop_last=True), source.batch(COUNT + 1), source.batch(1)):
        got, _ = both(pipeline)
        assert equal(samples(got), WANTED[: len(samples(got)) // 2] * 2)
        assert len(samples(got)) >= 2 * 20
    bare, *_ = batches(hr.source(map(large, range(COUNT)), gives=(np.uint8, SHAPE), where="here").batch(5), epochs=1)
    assert np.array_equal(np.concatenate([batch[""] for batch in bare]), np.stack([one["picture"] for one in WANTED]))


@pytest.mark.parametrize("where", ["process", "thread"])
@pytest.mark.parametrize("what", ["dies once", "dies as it is read"])
@pytest.mark.parametrize("when", [0, 7])
def test_streams_whose_worker_dies(where, what, when, tmp_path):
    """Another worker goes on where the object was, and writes into the same row."""
    source = hr.source(Stream(tmp_path, {when: what}), gives=KINDS, where=where)
    got, lost, _ = batches(source.batch(5))
    assert not lost
    assert equal(samples(got), WANTED * 2)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("trouble", "message", "whole"),
    [
        ({12: "bad"}, "picture 12 is bad", 2),
        ({12: "odd"}, "field 'n' is a str", 2),
        ({12: "dies"}, "killed", 2),
    ],
)
def test_streams_that_fail(trouble, message, whole):
    """With the sample that failed, as where samples are stored first; the batches before it come."""
    for fuse in (True, False):
        source = hr.source(Stream(trouble=trouble, stateful=False), gives=KINDS)
        with source.batch(5).loader(epochs=1, fuse=fuse) as loader:
            got = []
            with pytest.raises(hr.HeadraceError, match=message):
                got.extend(batch["n"].tolist() for batch in loader)
        assert got == [list(range(5 * k, 5 * k + 5)) for k in range(whole)]


def endless(loader):
    while True:
        yield from loader


def test_streams_go_on_at_every_place():
    pipeline = hr.source(Stream(), gives=KINDS).batch(3)
    want, *_ = batches(pipeline)
    for cut in range(len(want)):
        with pipeline.loader(epochs=2) as loader:
            got = [np.array(batch["picture"]) for batch in itertools.islice(endless(loader), cut + 1)]
            state = loader.state_dict()
        with pipeline.loader(epochs=2) as loader:
            loader.load_state_dict(state)
            got += [np.array(batch["picture"]) for batch in itertools.islice(endless(loader), len(want) - cut - 1)]
        assert len(got) == len(want)
        assert all(np.array_equal(a, b["picture"]) for a, b in zip(got, want))


def test_a_stream_that_waits_for_a_row_takes_no_time():
    """Neither the time limit of a sample nor what statistics call its work is about a loop that takes its time."""
    source = hr.source(Stream(), gives=KINDS).failures(time_limit=1.5)
    with source.batch(1).loader(epochs=1, prefetch=1) as loader:
        for i, _ in enumerate(loader):
            if i < 2:
                time.sleep(2)
        assert i == COUNT - 1
        report = loader.stats()
        assert "training loop is the bottleneck" in report["verdict"]
        function = report["functions"][0]
        assert function["time_ns"] < 1e9


def test_what_a_stream_has_made_when_nobody_wants_more():
    """A debug engine ends badly where memory is left."""
    for steps in (1, 3):
        with hr.source(Stream(), gives=KINDS).batch(4).loader(epochs=3, steps_per_epoch=steps) as loader:
            assert [batch["n"][0] for _ in range(3) for batch in loader] == [4 * i for i in range(steps)] * 3
    with hr.source(Stream(), gives=KINDS).batch(2).loader(epochs=1) as loader:
        next(iter(loader))

"""Pipelines with functions of all kinds: what comes is what plain Python makes, and a run that is cut after any batch goes on as if
nothing had been, in the same loader, and in another one with other workers."""

from __future__ import annotations

import contextlib
import json
import time

import numpy as np
import pytest

import headrace as hr
from conftest import cases
from own import taken


class Numbers:
    """Samples that are read by number."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"n": i, "x": np.arange(4 * i, 4 * i + 4, dtype=np.float32), "name": f"sample {i}"}


class Walk:
    """A stream that can go on where it was. It does not only count: what comes depends on what came before, and on the epoch."""

    def __init__(self):
        self.at, self.salt, self.epoch, self.loaded = 0, 1, 0, False

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        if not self.loaded:
            self.at, self.salt = 0, 1 + self.epoch
        self.loaded = False
        while self.at < 60:
            self.at += 1
            self.salt = self.salt * 6364136223846793005 % (1 << 40)
            yield {"n": self.at - 1, "x": np.full(4, self.salt % 1000, np.float32)}

    def state_dict(self):
        import ml_dtypes  # in the worker

        return {
            "at": np.int64(self.at),
            "salt": self.salt,
            "more": [np.ones((2, 2), ml_dtypes.bfloat16), b"\0\1", np.float32(1.5)],
            "none": None,
        }

    def load_state_dict(self, state):
        array, data, number = state["more"]
        assert (array.shape, array.dtype.name, data, number, state["none"]) == ((2, 2), "bfloat16", b"\0\1", 1.5, None)
        self.at, self.salt, self.loaded = state["at"], state["salt"], True


class Iterator:
    """What iter() makes has the state, not what it is made of."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 40:
            raise StopIteration
        self.at += 1
        return {"n": self.at, "x": np.zeros(4, np.float32)}

    def state_dict(self):
        return self.at

    def load_state_dict(self, state):
        self.at = state


class Fresh:
    def __iter__(self):
        return Iterator()


class Hoard:
    """What it gives depends on all that it was ever given in an epoch. It keeps some of that for later, and of what it has failed for."""

    salt = 1
    flushes = True

    def __init__(self):
        self.seen = 0
        self.kept = []

    def accumulate(self, sample):
        self.seen += 1
        self.kept.append(sample)
        r = (int(sample["n"]) * 2654435761 + self.salt * 40503 + self.seen * 97) >> 3 & 0xFFFF
        if r % 4 == 0:
            n = 1 + r // 4 % len(self.kept)
            given, self.kept = self.kept[:n], self.kept[n:]
            for i, one in enumerate(given):
                if r % 7 == 3 and i == n // 2:
                    raise ValueError("no half of it")
                yield self.made(one)
        elif r % 7 == 3:
            raise ValueError("not this one")

    def made(self, sample):
        return {"n": 1000 * int(sample["n"]) + self.seen, "x": sample["x"] + np.float32(self.seen)}

    def flush(self):
        if self.flushes:
            yield from map(self.made, self.kept)
            if self.seen % 2:
                yield {"n": -self.seen, "x": np.zeros(4, np.float32)}

    def state_dict(self):
        return {"seen": self.seen, "kept": self.kept}

    def load_state_dict(self, state):
        self.seen, self.kept = state["seen"], state["kept"]


class Quiet(Hoard):
    salt = 9
    flushes = False


class AtTheEnd:
    """Gives all it has at the end, backwards."""

    def __init__(self):
        self.all = []

    def accumulate(self, sample):
        self.all.append(bare(sample))

    def flush(self):
        return self.all[::-1]


def gathered(make, samples):
    """What an object makes of samples when there is no engine, and how many it failed for."""
    made, failed, gathers = [], 0, make()

    def take(result):
        made.extend((sample["n"], sample["x"].tolist()) for sample in result or ())

    for sample in samples:
        try:
            take(gathers.accumulate(sample))
        except ValueError:
            failed += 1
    take(gathers.flush())
    return made, failed


@pytest.mark.parametrize("said", [False, True], ids=["found out", "said"])
@pytest.mark.parametrize("make", [Hoard, Quiet, AtTheEnd])
def test_an_object_makes_in_each_epoch_what_it_makes_alone(make, said):
    want, failed = gathered(make, [Numbers(61)[i] for i in range(61)])
    steps = hr.source(Numbers(61)).aggregate(make, gives={"n": int, "x": ("float32", (4,))} if said else None)
    with steps.batch(5).loader(epochs=2, on_error="skip", max_errors=100) as loader:
        for epoch in (1, 2):
            assert [(n, x) for batch in loader for n, x in zip(batch["n"].tolist(), batch["x"].tolist())] == want
            assert [lost.stage for lost in loader.errors] == ["aggregate"] * failed * epoch


def even(n):
    return n % 2 == 0


def odd(n):
    return n % 3 != 1


def same(sample):
    return sample


def bare(sample):
    return {"n": sample["n"], "x": sample["x"]}


def drawing(sample, rng):
    return {"n": sample["n"], "draws": rng.integers(0, 1 << 60, 3), "more": rng.random()}


def tiles(sample):
    for i in range(sample["n"] % 4):
        yield {"n": sample["n"], "tile": sample["x"][i:][:1], "number": i}


def lists(samples, rng):
    """Arrays of different sizes, numbers and text, one batch at a time."""
    longest = max(sample["n"] % 5 for sample in samples)
    tokens = np.full((len(samples), longest), -1, np.int32)
    names = " ".join(str(sample["n"]) for sample in samples)
    return {"tokens": tokens, "names": names, "count": len(samples), "drawn": rng.integers(0, 1 << 60)}


def source(count=60):
    return hr.source(Numbers(count), gives={"n": int, "x": ("float32", (4,)), "name": str})


class Large(Numbers):
    """Samples that are read straight into their batch."""

    def __getitem__(self, i):
        return {"n": i, "x": np.full(16_400, i, np.float32)}


def scored(sample, rng):
    return {"n": sample["n"], "score": rng.random()}


def labelled(sample):
    return [{"n": sample["n"], "label": label} for label in (1, 2)]


def summed(batch):
    return {"n": batch["n"], "sum": batch["x"].sum(1)}


TILE = {"n": int, "tile": ("float32", (1,)), "number": int}

# Each is made with a number of workers.
CUT = {
    "read by number": lambda w: source().shuffle().batch(7),
    "read into the batch": lambda w: hr.source(Large(24)).shuffle().batch(4),
    "read by a chain": lambda w: hr.source(Numbers(60)).shuffle().map(bare).batch(7),
    "a stream": lambda w: hr.source(Walk()).batch(9),
    "a stream of iterators": lambda w: hr.source(Fresh()).batch(9),
    "map": lambda w: source().shuffle().map(drawing, workers=w).batch(3),
    "filter": lambda w: source().shuffle().filter(even, fields="n", workers=w).map(drawing, workers=w).batch(3),
    "flat_map": lambda w: source(30).shuffle().flat_map(tiles, workers=w, gives=TILE).batch(3),
    "collate": lambda w: source().shuffle().batch(4, collate=lists, workers=w),
    "a chain": lambda w: source().shuffle().map(drawing, workers=w).filter(odd, fields="n", workers=w).map(same, workers=w).batch(3),
    "fields": lambda w: source().shuffle().map(drawing, workers=w).rename(more="less").drop("draws").batch(3),
    "no batches": lambda w: source(17).shuffle().map(bare, workers=w),
    "batches and rows": lambda w: source().shuffle().batch(8).map(summed, workers=w).unbatch().map(same, workers=w).batch(5),
    "merge": lambda w: hr.merge([source(25).map(scored, workers=w), source(20).flat_map(labelled, workers=w)], fill=-1).batch(3),
    "aggregate": lambda w: source().aggregate(Hoard).batch(3),
    "aggregate, shuffled": lambda w: source().shuffle().aggregate(Quiet).batch(3),
    "aggregate after a filter": lambda w: source().filter(odd, fields="n", workers=w).aggregate(Hoard).batch(3),
    "aggregate twice": lambda w: source().aggregate(Hoard).aggregate(Quiet).batch(3),
    "aggregate in a merge": lambda w: hr.merge([source().aggregate(Hoard), source(30).map(bare, workers=w)]).batch(3),
    "aggregate after a merge": lambda w: hr.merge([source(40).shuffle(), source(25)]).aggregate(Hoard).batch(3),
    "aggregate of a stream": lambda w: hr.source(Walk()).aggregate(Hoard).batch(3),
}
BOUNDED = {
    "read by number",
    "read into the batch",
    "read by a chain",
    "fields",
    "no batches",
    "a chain",
    "batches and rows",
    "map",
    "filter",
    "collate",
}  # it is known how many batches there are at most


def rest(loader):
    """What is left of all epochs: batches, None at the end of an epoch, each with the state after it and how much was lost until then."""
    with contextlib.suppress(hr.EpochsExhausted):
        while True:
            for batch in loader:
                yield taken(batch), json.loads(json.dumps(loader.state_dict())), len(loader.errors)
            yield None, json.loads(json.dumps(loader.state_dict())), len(loader.errors)


def losses(loader, since=0):
    return [(lost.stage, lost.index, lost.epoch) for lost in loader.errors][since:]


def in_order(batches, order):
    """Batches, or their rows in an order of no matter."""
    batches = [batch for batch in batches if batch]
    if order == "input":
        return batches
    if batches and "names" in batches[0]:  # which a function made, of other samples another time
        return sorted(name for batch in batches for name in batch["names"].split())
    if batches and not isinstance(batches[0]["n"], list):  # samples
        return sorted(map(str, batches))
    return sorted(row for batch in batches for row in zip(*(map(str, values) for values in batch.values())))


@pytest.mark.parametrize("order", ["input", "completion"])
@pytest.mark.parametrize("what", CUT)
def test_a_run_goes_on_wherever_it_is_cut(what, order):
    if (
        order == "completion"
        and what not in ("a stream", "a stream of iterators", "map", "batches and rows", "aggregate")
        and not cases(0, 1)
    ):
        pytest.skip("make test-all does")
    options = {"epochs": 2, "on_error": "skip", "max_errors": 1000, "order": order}
    with CUT[what](2).loader(**options) as loader:
        assert (loader.max_batches is not None) == (what in BOUNDED)
        begin = loader.state_dict()
        whole = [(None, begin, 0), *rest(loader)]
        lost = losses(loader)
        assert len(whole) > 10
        assert sum(batch is None for batch, *_ in whole[1:]) == 2
        for cut in range(0, len(whole) - 1, cases(9, 2)):
            _, state, before = whole[cut]
            loader.load_state_dict(state)
            told = len(loader.errors)
            got = [batch for batch, *_ in rest(loader)]
            assert in_order(got, order) == in_order([batch for batch, *_ in whole[cut + 1 :]], order), (cut, state)
            if order == "input":
                assert losses(loader, told) == lost[before:], (cut, state)
    held = {purpose["name"]: purpose["used"] for purpose in loader.stats()["memory"]["purposes"]}
    assert (held.get("files", 0), held.get("decoder", 0)) == (0, 0)
    for workers in (1, 5)[: cases(1, 2)]:
        with CUT[what](workers).loader(**options) as other:
            _, state, _ = whole[len(whole) // 4]
            other.load_state_dict(state)
            got = [batch for batch, *_ in rest(other)]
            assert in_order(got, order) == in_order([batch for batch, *_ in whole[len(whole) // 4 + 1 :]], order)


def test_ranks_have_the_same_batches_whoever_makes_them():
    def names(samples):
        return {"names": " ".join(str(sample["n"]) for sample in samples)}

    for size in ({"global_size": 6}, {"size": 3})[: cases(1, 2)]:
        for rank in range(2):
            ranks = {"epochs": 1, "rank": rank, "world_size": 2}
            with source(17).shuffle().batch(**size).loader(**ranks) as loader:
                want = [" ".join(map(str, batch["n"].tolist())) for batch in loader]
            with source(17).shuffle().batch(**size, collate=names).loader(**ranks) as loader:
                assert len(loader) == 3
                assert [batch["names"] for batch in loader] == want


def ranked(rank, world_size):
    for n in range(rank, 100, world_size):
        yield {"n": n}


def test_ranks_of_a_stream_have_parts_of_their_own_and_draw_apart():
    def drawn(sample, rng):
        return {"n": sample["n"], "drawn": rng.integers(1 << 40)}

    seen, draws, state = [], set(), None
    for rank in range(3):
        with hr.source(ranked).map(drawn).batch(5).loader(epochs=1, rank=rank, world_size=3, steps_per_epoch=4) as loader:
            for batch in loader:
                seen += batch["n"].tolist()
                draws.update(batch["drawn"].tolist())
                state = state or loader.state_dict()
    assert sorted(seen) == list(range(60))
    assert len(draws) == 60
    with hr.source(ranked).map(drawn).batch(5).loader(epochs=1, rank=0, world_size=2, steps_per_epoch=4) as loader:
        with pytest.raises(hr.StateMismatch, match="each rank has its own, which no other can continue"):
            loader.load_state_dict([{**state, "rank": rank} for rank in range(3)])


def test_aggregates_of_ranks_are_cut_and_begin_anew():
    for rank in range(2):
        ranks = {"rank": rank, "world_size": 2, "steps_per_epoch": 2, "memory": 20_000}
        with source(40).aggregate(Hoard).batch(3).loader(epochs=3, on_error="skip", **ranks) as loader:
            first, *others = [[taken(batch) for batch in loader] for _ in range(3)]
            assert len(first) == 2
            assert others == [first] * 2
    with source(40).aggregate(Hoard).batch(3).loader(epochs=1, on_error="skip", max_errors=100) as loader:
        next(iter(loader))
        other = {**loader.state_dict(), "world_size": 2, "rank": 1}
        with pytest.raises(hr.StateMismatch, match='what the object of "aggregate" gathered there cannot be continued here'):
            loader.load_state_dict([other])


def test_pictures_that_an_object_makes_are_pictures():
    class Pictures:
        """What a Dataset of PyTorch is like: items are tuples of an image and a label."""

        def __len__(self):
            return 12

        def __getitem__(self, i):
            return np.full((6, 5, 3), i, np.uint8), i % 3

    class Halves:
        def accumulate(self, sample):
            yield {"image": sample["image"][:2], "label": sample["label"]}
            yield {"image": sample["image"][2:], "label": sample["label"]}

        def flush(self):
            return None

    pictures = hr.source(Pictures(), fields=["image", "label"]).resize((4, 4)).aggregate(Halves)
    routed = pictures.route("label", [([0, 1], lambda p: p.resize((3, 3))), lambda p: p.random_flip().resize((3, 3))])
    with routed.batch(5).loader(epochs=1) as loader:
        got = [(image.shape, int(image.max()), int(label)) for batch in loader for image, label in zip(batch["image"], batch["label"])]
    assert got == [((3, 3, 3), i, i % 3) for i in range(12) for _ in range(2)]


@pytest.mark.parametrize("order", ["input", "completion"])
def test_a_function_may_make_more_than_all_queues_hold(order):
    def copies(sample):
        for i in range(200):
            yield {**sample, "number": i}

    with source(40).flat_map(copies, workers=2).batch(16).loader(epochs=1, order=order) as loader:
        got = [row for batch in loader for row in zip(batch["n"].tolist(), batch["number"].tolist())]
    want = [(n, i) for n in range(40) for i in range(200)]
    assert got == want if order == "input" else sorted(got) == want


class Plain:
    """Begins again in every epoch, and says nothing of its place."""

    def __iter__(self):
        return iter([{"n": n} for n in range(20)])


def test_what_overtook_the_first_samples_does_not_come_again(tmp_path):
    go_on = tmp_path / "go on"

    def late(n):
        while n < 3 and not go_on.exists():
            time.sleep(0.005)
        return n

    pipeline = hr.source(Plain()).map(late, fields="n", gives=int, workers=4).batch(4)
    with pipeline.loader(epochs=1, order="completion") as loader:
        first = list(map(int, next(iter(loader))["n"]))
        state = loader.state_dict()
        go_on.touch()
    (place,) = state["sources"].values()
    assert place["position"] == 0
    assert 0 not in first
    with pipeline.loader(epochs=1, order="completion") as loader:
        loader.load_state_dict(state)
        assert sorted(first + [int(n) for batch in loader for n in batch["n"]]) == list(range(20))

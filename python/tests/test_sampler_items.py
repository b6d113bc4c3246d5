"""Samplers whose items are more than numbers: lists, which are batches, and what `__getitem__` is given as it is."""

from __future__ import annotations

import numpy as np
import pytest
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler

import headrace as hr
from conftest import WHOLE, cases, some

pytestmark = pytest.mark.usefixtures("one_engine")

COUNT = 60


class Numbers:
    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {"n": i}


class Budget:
    """Batches of at most so many tokens, in another order and of other numbers in each epoch, as samplers by tokens make them."""

    def __init__(self, most=9):
        self.most, self.epoch = most, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = np.random.default_rng(self.epoch).permutation(COUNT).tolist()
        batch, tokens = [], 0
        for n in order:
            if tokens + n % 5 + 1 > self.most:
                yield batch
                batch, tokens = [], 0
            batch.append(n)
            tokens += n % 5 + 1
        yield batch

    def __len__(self):
        return len(list(iter(self)))

    def of(self, epoch):
        self.set_epoch(epoch)
        return list(self)


def batches(loader):
    return [batch["n"].tolist() for batch in loader]


def epochs(pipeline, count=1, **options):
    with pipeline.loader(epochs=count, workers=1, **options) as loader:
        return [batches(loader) for _ in range(count)]


def source(sampler=None, **options):
    return hr.source(Numbers(), gives={"n": int}, sampler=Budget() if sampler is None else sampler, **options)


def nonzero(n):
    return n != 0


def same(n):
    return n


@pytest.mark.parametrize(
    "steps",
    some(
        [
            lambda p: p.map(same, fields="n", where="thread", gives=int).filter(nonzero, fields="n"),
            lambda p: p,
            lambda p: p.map(same, fields="n"),
        ],
        2,
    ),
)
@pytest.mark.parametrize("order", some(["completion", "input"], 1))
def test_lists_are_batches(steps, order):
    want = [Budget().of(epoch) for epoch in range(3)]
    assert len({len(epoch) for epoch in want}) > 1  # epochs have other numbers of batches
    p = steps(source()).batch()
    if len(p._steps) == 5:  # the filter drops 0
        want = [[[n for n in batch if n] for batch in epoch] for epoch in want]
    with p.loader(epochs=3, workers=2, order=order) as loader:
        if len(p._steps) < 5:
            assert len(loader) == len(want[0])
        assert [batches(loader) for _ in range(3)] == want


def collated(samples):
    return {"n": np.array([sample["n"] for sample in samples])}


def test_a_function_gets_the_lists():
    assert epochs(source().batch(collate=collated), 2) == [Budget().of(0), Budget().of(1)]


def test_lists_of_images():
    class Images:
        def __len__(self):
            return COUNT

        def __getitem__(self, i):
            return {"image": np.full((4, 4, 3), i, np.uint8), "n": i}

    p = hr.source(Images(), sampler=Budget()).random_flip().batch()
    with p.loader(epochs=1, workers=1) as loader:
        came = [(batch["image"][:, 0, 0, 0].tolist(), batch["n"].tolist()) for batch in loader]
    assert came == [(batch, batch) for batch in Budget().of(0)]


def test_several_ranks_get_whole_lists():
    want = [Budget().of(epoch) for epoch in range(3)]
    ranks = cases(2, 3)
    shares = [epochs(source().batch(), 3, rank=rank, world_size=ranks) for rank in range(ranks)]
    for epoch, lists in enumerate(want):
        dealt = [batch for step in zip(*(share[epoch] for share in shares), strict=True) for batch in step]
        assert dealt[: len(lists)] == lists
        assert dealt[len(lists) :] == lists[: len(dealt) - len(lists)]  # all ranks have as many batches


@pytest.mark.parametrize("cut", some([25, 1, 7, 19], 1))
def test_going_on_in_the_middle(cut):
    want = [batch for epoch in range(3) for batch in Budget().of(epoch)]
    with source().batch().loader(epochs=3, workers=1) as loader:
        came = []
        while len(came) < cut:
            for batch in loader.resume():
                came.append(batch["n"].tolist())
                if len(came) == cut:
                    break
        state = loader.state_dict()
    with source().batch().loader(epochs=3, workers=1) as loader:
        loader.load_state_dict(state)
        while len(came) < len(want):
            came += batches(loader)
    assert came == want


@pytest.mark.parametrize("epoch", some([2, 0], 1))
def test_going_on_with_other_ranks(epoch):
    states, came = [], []
    for rank in range(2):
        with source().batch().loader(workers=1, rank=rank, world_size=2) as loader:
            loader.set_epoch(epoch)
            loop = iter(loader)
            came += [next(loop)["n"].tolist() for _ in range(4)]
            states.append(loader.state_dict())
    for rank in range(3):
        with source().batch().loader(workers=1, rank=rank, world_size=3, uneven=True) as loader:
            loader.load_state_dict(states)
            came += batches(loader)
    assert sorted(came) == sorted(Budget().of(epoch))


def fails_at_some(n):
    if n in (5, 6, 40):
        raise ValueError(n)
    return n


def test_samples_are_lost_from_their_batches():
    p = source([[5, 6], [1, 2, 40], [7], [40, 3]]).map(fails_at_some, fields="n", gives=int).batch()
    with p.loader(epochs=1, workers=1, on_error="skip") as loader:
        assert batches(loader) == [[1, 2], [7], [3]]
        assert sorted(lost.index for lost in loader.errors) == [5, 6, 40, 40]
    with p.loader(epochs=1, workers=1, on_error="replace") as loader:
        came = batches(loader)
    assert list(map(len, came)) == [2, 3, 1, 2]
    assert not {5, 6, 40} & {n for batch in came for n in batch}


def test_batches_of_one_size():
    fours = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    if WHOLE:  # workers take long to import torch
        fours = BatchSampler(SequentialSampler(range(10)), 4, False)
    assert epochs(source(fours).batch(4, drop_last=True)) == [[[0, 1, 2, 3], [4, 5, 6, 7]]]
    lists = [[0, 1], [2, 3], [4]]
    assert epochs(source(lists).batch(global_size=2), rank=1, world_size=2) == [[[1], [3], [0]]]
    assert epochs(source(lists).batch(2).unbatch().batch(3)) == [[[0, 1, 2], [3, 4]]]


class Drawn(BatchSampler):
    """A subclass with its own idea of batches."""

    def __iter__(self):
        numbers = list(self.sampler)
        yield numbers[:1]
        yield numbers[1:]

    def __len__(self):
        return 2


def test_subclasses_and_other_kinds_of_lists():
    drawn = source(Drawn(RandomSampler(range(6)), 3, False)).batch()
    assert drawn._steps[1]["sampler"]["lists"] == 2
    if WHOLE:  # workers take long to import torch
        came = epochs(drawn, 2)
        assert [list(map(len, epoch)) for epoch in came] == [[1, 5], [1, 5]]
        assert came[0] != came[1]
    kinds = source([np.array([3, 1]), range(2), iter([np.int64(4)])]).batch()
    assert kinds._steps[1]["sampler"]["lists"] == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: source([[0, 1, 2, 3, 4], [5], [6, 7]]).batch(4),
            r"the sampler gives a list of 5 samples: write \.batch\(\), without a size",
        ),
        (lambda: source([[0], [1, 2]]).batch(1), "a list of 2 samples"),
        (lambda: source([[0, 1], [2]]).batch(drop_last=True), "drop_last is for batches of a size"),
        (lambda: source([[0]]).batch(2, drop_last=True), "leaves nothing of the sampler's one list, which has 1"),
        (lambda: source([0, 1]).batch(), r"there is no size: write \.batch\(32\)"),
        (lambda: hr.source(Numbers()).batch(), "there is no size"),
        (lambda: source([[0], []]), "gives an empty list"),
        (lambda: source([[0], 1]), "gives lists and also 1"),
        (lambda: source([[0, -1]]), "gives -1: samples are numbered from 0: give 59 for that one"),
        (lambda: source([COUNT]), "gives sample 60: there are 60"),
        (lambda: source([[0, 1]]).loader(), r"gives lists, which are batches, and no step takes them: add \.batch\(\)"),
        (lambda: source([[0, 1]]).flat_map(lambda s: [s]).batch().loader(), 'and "flat_map" before it makes other samples'),
        (lambda: hr.merge([source([[0, 1]]), source([[2, 3]])]).batch(2).loader(), 'gives lists, inside "merge"'),
    ],
)
def test_lists_that_are_no_batches(make, message):
    with pytest.raises(hr.RecipeError, match=message):
        make()


def test_a_list_that_is_longer_than_expected():
    class Growing(Budget):
        def __iter__(self):
            return iter([list(range(9)) if self.epoch else [0, 1], [3], [4]])

    with source(Growing()).batch().loader(epochs=2) as loader:
        batches(loader)
        with pytest.raises(hr.HeadraceError, match="a list of 9 samples in epoch 1, and those of the first epoch led to expect at most 4"):
            batches(loader)


class Scales:
    """Samples at a size that is drawn for each batch."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        for i in range(12):
            yield (i, 32 + 32 * self.epoch)

    def __len__(self):
        return 12


class Sized:
    def __len__(self):
        return COUNT

    def __getitem__(self, at):
        return {"n": at[0], "size": at[1]}


@pytest.mark.parametrize("workers", some([3, 1], 1))
def test_tuples_come_to_the_dataset(workers):
    with hr.source(Sized(), gives={"n": int, "size": int}, sampler=Scales()).batch(4).loader(epochs=3, workers=workers) as loader:
        assert len(loader) == 3
        for epoch in range(3):
            came = list(loader)
            assert [n for batch in came for n in batch["n"].tolist()] == list(range(12))
            assert {size for batch in came for size in batch["size"].tolist()} == {32 + 32 * epoch}


def test_lists_of_tuples():
    lists = [[(0, 8), (1, 8)], [(2, 16)], [(3, 8), (4, 8), (5, 8)]]
    with hr.source(Sized(), gives={"n": int, "size": int}, sampler=lists).batch().loader(epochs=2, workers=1) as loader:
        for _ in range(2):
            assert [list(zip(batch["n"].tolist(), batch["size"].tolist())) for batch in loader] == lists


@pytest.mark.parametrize("where", ["here", "thread", "process"][: cases(1, 3)])
@pytest.mark.parametrize("items", [["a", "bb"], [{"k": 1}, (4, None)], [slice(0, 2), slice(2, 4)], [1.5, None]])
def test_any_item_comes_as_it_is(items, where):
    class Told:
        def __len__(self):
            return 2

        def __getitem__(self, item):
            return {"item": repr(item)}

    with hr.source(Told(), gives={"item": str}, sampler=items, where=where).batch(2).loader(epochs=2) as loader:
        for _ in range(2):
            assert [list(batch["item"]) for batch in loader] == [list(map(repr, items))]


def test_names_of_items():
    p = hr.source(Sized(), gives={"n": int, "size": int}, sampler=[(3, 8), (5, 8)], keys=lambda item: f"sample {item[0]}").batch(2)
    with p.loader(epochs=1, workers=1) as loader:
        assert list(next(iter(loader))["key"]) == ["sample 3", "sample 5"]


def test_items_of_a_subset():
    p = hr.source(Sized(), sampler=SubsetRandomSampler([(i, 2 * i) for i in range(9)]))
    assert p._steps[1]["sampler"]["places"]

"""Which samples come, and in which order: samplers of PyTorch, and draws by weights."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

import headrace as hr
from conftest import WHOLE, some

pytestmark = pytest.mark.usefixtures("one_engine")

COUNT = 40


class Numbers:
    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {"n": i}


def seeded(seed=3):
    return torch.Generator().manual_seed(seed)


def epochs(pipeline, count=1, size=4, workers=1, **options):
    """The numbers of so many epochs, batch by batch."""
    with pipeline.batch(size).loader(epochs=count, workers=workers, **options) as loader:
        return [[batch["n"].tolist() for batch in loader] for _ in range(count)]


def flat(epoch):
    return [n for batch in epoch for n in batch]


def source(sampler, **options):
    return hr.source(Numbers(), gives={"n": int}, sampler=sampler, **options)


@pytest.fixture(scope="module", autouse=True)
def one_python(one_engine):
    """A loader that stays open: the others share the process that has imported PyTorch for its workers."""
    with source(RandomSampler(Numbers())).batch(4).loader(workers=1):
        yield


@pytest.mark.parametrize(
    "make",
    [
        *some(
            [
                lambda: RandomSampler(Numbers(), replacement=True, num_samples=70, generator=seeded()),
                lambda: DistributedSampler(Numbers(), num_replicas=2, rank=1, shuffle=True, seed=7),
                lambda: SequentialSampler(Numbers()),
                lambda: RandomSampler(Numbers(), generator=seeded()),
                lambda: SubsetRandomSampler([3, 5, 7, 11, 13, 17, 19], generator=seeded()),
                lambda: WeightedRandomSampler(torch.arange(COUNT).double(), 25, generator=seeded()),
            ],
            2,
        ),
        lambda: [4, 2, 2, 39, 0],
        lambda: range(5, 25),
        lambda: np.array([8, 6, 4]),
    ],
)
def test_the_order_is_that_of_the_sampler(make):
    same, want = make(), []
    for epoch in range(3):
        if hasattr(same, "set_epoch"):
            same.set_epoch(epoch)
        want.append([int(n) for n in same])
    p = source(make())
    assert [flat(epoch) for epoch in epochs(p, 3)] == want
    with p.batch(4).loader(epochs=1, workers=1) as loader:
        assert len(loader) == -(-len(want[0]) // 4)


def test_batches_are_those_of_a_batch_sampler():
    for drop_last in (False, True) if WHOLE else (True,):
        sampler = BatchSampler(RandomSampler(Numbers(), generator=seeded()), 7, drop_last)
        want = [list(sampler), list(sampler)]
        sampler = BatchSampler(RandomSampler(Numbers(), generator=seeded()), 7, drop_last)
        assert epochs(source(sampler), 2, size=sampler.batch_size) == want


class Own(Sampler):
    """One of the program's, which shuffles a list of its own again and again."""

    def __init__(self, numbers):
        self.numbers = list(numbers)
        self.random = random.Random(5)
        self.data_source = Numbers()

    def __iter__(self):
        self.random.shuffle(self.numbers)
        yield from self.numbers

    def __len__(self):
        return len(self.numbers)


class Lists(Own):
    def __iter__(self):
        numbers = list(super().__iter__())
        return iter([numbers[:3], numbers[3:5], numbers[5:]])

    def __len__(self):
        return 3


def test_samplers_of_the_program():
    numbers = range(0, COUNT, 3)
    for kind in (Own, Lists):
        same, given = kind(numbers), kind(numbers)
        want = [[item if isinstance(item, list) else [item] for item in same] for _ in range(3)]
        assert epochs(source(given), 3, size=None if kind is Lists else 1) == want
        assert given.numbers == list(numbers)  # the program's own was left alone


def global_draw(n):
    return random.randrange(1 << 60)


def test_what_a_sampler_draws_from_stays_as_it_was():
    """Functions in the same process have generators that no seed has touched."""
    p = source(RandomSampler(Numbers())).map(global_draw, fields="n", gives={"n": int}, workers=1)
    assert epochs(p) != epochs(p)


def test_without_a_generator_the_seed_decides():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = epochs(source(RandomSampler(Numbers())), 2)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    other = epochs(source(RandomSampler(Numbers())), 2)
    assert one == other
    assert sorted(flat(one[0])) == sorted(flat(one[1])) == list(range(COUNT))
    assert one[0] != one[1]
    assert epochs(source(RandomSampler(Numbers()), seed=1)) != one[:1]


@pytest.mark.parametrize(
    "make",
    [lambda: source(RandomSampler(Numbers(), generator=seeded())), lambda: hr.source(Numbers(), gives={"n": int}).weighted(range(COUNT))],
)
def test_going_on_in_the_middle_of_a_later_epoch(make):
    want = epochs(make(), 3)
    with make().batch(4).loader(epochs=3, workers=1) as loader:
        list(loader)
        loop = iter(loader)
        for _ in range(3):
            next(loop)
        state = loader.state_dict()
    with make().batch(4).loader(epochs=3, workers=1) as loader:
        loader.load_state_dict(state)
        assert [batch["n"].tolist() for batch in loader] == want[1][3:]
        assert [batch["n"].tolist() for batch in loader] == want[2]
        loader.set_epoch(0)
        assert [batch["n"].tolist() for batch in loader] == want[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: source(RandomSampler(Numbers(), generator=seeded())),
        lambda: hr.source(Numbers(), gives={"n": int}).weighted([1] * COUNT, 36),
    ],
)
def test_ranks_share_one_order(make):
    one = [n for batch in epochs(make(), size=8)[0] for n in batch]
    both = [epochs(make(), rank=rank, world_size=2)[0] for rank in (0, 1)]
    assert [n for a, b in zip(*both, strict=True) for n in a + b] == one


def test_a_sampler_that_divides_among_ranks():
    shares = []
    for rank in (0, 1):
        sampler = DistributedSampler(Numbers(), num_replicas=2, rank=rank, shuffle=True)
        shares.append(flat(epochs(source(sampler), world_size=1)[0]))
    assert sorted(shares[0] + shares[1]) == list(range(COUNT))
    with pytest.raises(hr.RecipeError, match=r"give loader\(world_size=1\)"):
        source(DistributedSampler(Numbers(), num_replicas=2, rank=0)).batch(4).loader(rank=0, world_size=2)


def fails_at_three(i):
    if i == 3:
        raise ValueError("three")
    return i


def test_only_samples_of_the_sampler_come_for_others():
    allowed = [1, 3, 5, 7]
    p = source(SubsetRandomSampler(allowed)).map(fails_at_three, fields="n", gives={"n": int})
    with p.batch(1).loader(epochs=20, workers=1, on_error="replace", max_errors=100) as loader:
        came = {int(batch["n"][0]) for _ in range(20) for batch in loader}
    assert came == {1, 5, 7}


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (3, "must be an object that is iterated over"),
        (iter([1, 2]), "can be gone through once only"),
        ([], "gives no samples"),
        (type("Endless", (), {"__iter__": lambda self: iter(int, 1)})(), "has no length"),
    ],
)
def test_what_is_no_sampler(sampler, message):
    with pytest.raises(hr.RecipeError, match=message):
        source(sampler)


def test_samplers_of_what_is_iterated_over():
    with pytest.raises(hr.RecipeError, match="read by number"):
        hr.source(lambda: iter([{"n": 1}]), sampler=[0])


class Changing:
    """Another number of samples in each epoch, as samplers that leave out what is learnt already give."""

    def __init__(self, *counts):
        self.counts, self.epoch = counts, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.counts[self.epoch]

    def __iter__(self):
        return iter(np.random.default_rng(self.epoch).permutation(COUNT)[: len(self)].tolist())

    def of(self, epoch):
        self.set_epoch(epoch)
        return list(self)


COUNTS = 20, 7, 33, 1


def test_epochs_of_a_sampler_may_have_other_numbers_of_samples():
    want = [Changing(*COUNTS).of(epoch) for epoch in range(4)]
    assert list(map(flat, epochs(source(Changing(*COUNTS)), 4))) == want
    with source(Changing(*COUNTS)).batch(4, drop_last=True).loader(epochs=4) as loader:
        assert len(loader) == 5  # of the first
        assert [len(list(loader)) for _ in range(4)] == [5, 1, 8, 0]
    with source(Changing(3, 20)).batch(8).loader(epochs=2) as loader:
        assert [[len(batch["n"]) for batch in loader] for _ in range(2)] == [[3], [8, 8, 4]]


def test_such_epochs_are_gone_on_with_on_any_ranks():
    want = [Changing(*COUNTS).of(epoch) for epoch in range(4)]
    states, came = [], []
    for rank in range(2):
        with source(Changing(*COUNTS)).batch(global_size=6).loader(workers=1, rank=rank, world_size=2) as loader:
            loader.set_epoch(2)
            loop = iter(loader)
            came += [n for _ in range(3) for n in next(loop)["n"].tolist()]
            states.append(loader.state_dict())
    for rank in range(3):
        with source(Changing(*COUNTS)).batch(global_size=6).loader(epochs=4, workers=1, rank=rank, world_size=3) as loader:
            loader.load_state_dict(states)
            came += [n for batch in loader for n in batch["n"].tolist()]
            assert [batch["n"].tolist() for batch in loader] == [want[3]]  # one sample, for all three
    assert sorted(came) == sorted(want[2])


def test_such_epochs_are_merged():
    p = hr.merge([source(Changing(4, 2)), hr.source(Numbers(), gives={"n": int}, sampler=[0, 1, 2])], order="round_robin")
    came = list(map(flat, epochs(p, 2)))
    first, second = Changing(4, 2).of(0), Changing(4, 2).of(1)
    assert came == [[first[0], 0, first[1], 1, first[2], 2, first[3]], [second[0], 0, second[1], 1, 2]]


def test_samplers_that_do_not_keep_their_word():
    with (
        source(SubsetRandomSampler([1, COUNT])).batch(2).loader(epochs=1, workers=1) as loader,
        pytest.raises(hr.RecipeError, match=f'^headrace: the sampler of "source" gives sample {COUNT} in epoch 0: there are {COUNT}'),
    ):
        list(loader)
    with source(Changing(3, 0)).batch(2).loader(epochs=2, workers=1) as loader:
        list(loader)
        with pytest.raises(hr.RecipeError, match=r"gives no samples in epoch 1: .*loader\(epochs=1\)"):
            list(loader)


def weighted(weights, *args, **options):
    return hr.source(Numbers(), gives={"n": int}).weighted(weights, *args, **options)


def test_draws_are_as_likely_as_weights_say():
    weights = np.zeros(COUNT)
    weights[[2, 3, 5]] = 1, 3, 6
    drawn = Counter(n for epoch in epochs(weighted(weights, 1000), 4, size=100) for n in flat(epoch))
    assert set(drawn) == {2, 3, 5}
    for n, share in ((2, 0.1), (3, 0.3), (5, 0.6)):
        assert abs(drawn[n] - 4000 * share) < 5 * (4000 * share * (1 - share)) ** 0.5


def test_draws_without_replacement():
    for epoch in epochs(weighted(torch.ones(COUNT), replacement=False), 2):
        assert sorted(flat(epoch)) == list(range(COUNT))
    assert len(set(flat(epochs(weighted(range(1, COUNT + 1), 15, replacement=False))[0]))) == 15


def test_seeds_of_draws():
    assert epochs(weighted([1] * COUNT)) == epochs(weighted([1] * COUNT, seed=0)) != epochs(weighted([1] * COUNT, seed=1))


def draw(n, rng):
    return int(rng.integers(1 << 60))


def test_a_sample_that_comes_again_draws_something_else():
    weights = [0] * COUNT
    weights[4] = 1
    p = weighted(weights, 20).map(draw, fields="n", gives={"n": int})
    drawn = flat(epochs(p)[0])
    assert len(set(drawn)) == 20
    assert flat(epochs(p, workers=2)[0]) == drawn


@pytest.mark.parametrize("behind", ["batch", "unbatch"])
def test_it_does_so_behind_batch(behind):
    weights = [0] * COUNT
    weights[4] = 1
    p = weighted(weights, 8).batch(2)
    p = p.map(draw_each, fields="n", gives={"n": ("int64", (None,))}) if behind == "batch" else p.unbatch().map(draw, fields="n")
    drawn = flat(epochs(p)[0]) if behind == "unbatch" else [n for batch in samples_of(p) for n in batch["n"].tolist()]
    assert len(set(drawn)) == 8


def draw_each(n, rng):
    return rng.integers(1 << 60, size=len(n))


def samples_of(pipeline):
    with pipeline.loader(epochs=1, workers=1) as loader:
        return list(loader)


def test_weights_of_files(photos):
    files = hr.files(photos, label="parent")
    labels = np.array([int(label) for batch in files.decode_image().resize((8, 8)).batch(8).loader(epochs=1) for label in batch["label"]])
    balanced = (1 / np.bincount(labels))[labels]
    p = files.weighted(balanced, 400).decode_image().resize((8, 8)).batch(50)
    with p.loader(epochs=1) as loader:
        counts = np.bincount(np.concatenate([batch["label"] for batch in loader]))
    assert counts.sum() == 400
    assert (abs(counts - 400 / 3) < 50).all()
    with hr.load(written(p)).loader(epochs=1) as loader:
        assert loader.max_batches == 8


def written(pipeline):
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write(pipeline.recipe())
    return file.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weighted([1, 2]), f'weights has 2 numbers, but "source" has {COUNT} samples'),
        (lambda: weighted([-1] * COUNT), "has -1 as number 0: must be at least 0"),
        (lambda: weighted([0] * COUNT), "must be numbers with a sum above 0"),
        (lambda: weighted([1] * COUNT, 50, False), "only 40 samples have a weight above 0"),
        (lambda: weighted([1] * COUNT, 0), "draws is 0"),
        (lambda: weighted(["x"]), "must be a number"),
        (lambda: weighted([1] * COUNT).shuffle(), "must directly follow the source"),
    ],
)
def test_weights_that_are_none(make, message):
    with pytest.raises(hr.RecipeError, match=message):
        make().batch(4).loader()

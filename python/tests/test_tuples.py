"""`for x, y in loader`: batches as tuples of fields."""

from __future__ import annotations

import asyncio
import warnings

import numpy as np
import pytest
import torch

import headrace as hr
from headrace.errors import HeadraceError, RecipeError

pytestmark = pytest.mark.usefixtures("one_engine")


def squares(count=20):
    return hr.source([{"x": np.full(3, i, "float32"), "y": i * i, "name": str(i)} for i in range(count)], where="here")


def test_a_loop_gets_tuples_in_order():
    pipeline = squares().batch(4)
    with pipeline.tuples("x", "y").loader(epochs=1) as loader, pipeline.loader(epochs=1) as dicts:
        n = 0
        for (x, y), batch in zip(loader, dicts):
            assert (x == batch["x"]).all()
            assert (y == batch["y"]).all()
            n += len(y)
    assert n == 20
    with pipeline.tuples(["name", "x"]).loader(epochs=1) as loader:
        name, x = next(iter(loader))
        assert list(name) == ["0", "1", "2", "3"]
    with pipeline.tuples("y").loader(epochs=1) as loader:
        (y,) = next(iter(loader))
        assert y.tolist() == [0, 1, 4, 9]


def test_wherever_it_is_written():
    pipeline = squares()
    early = pipeline.tuples("x", "y").batch(4).to("torch")
    late = pipeline.batch(4).to("torch").tuples("x", "y")
    for pipeline in (early, late):
        with pipeline.loader(epochs=1) as loader:
            x, y = next(iter(loader))
            assert isinstance(x, torch.Tensor)
            assert y.tolist() == [0, 1, 4, 9]
    assert early == late
    assert late != pipeline.batch(4).to("torch")
    assert "tuples" in repr(late)
    assert "tuples" not in hr.files("x/*.jpg").decode_image().tuples("image").recipe()


def test_every_door_gives_tuples():
    with squares().batch(4).tuples("y").loader(epochs=1) as loader:
        first = loader.get(timeout=60)
        assert next(y.tolist() for (y,) in loader.resume()) == [16, 25, 36, 49]
        assert first[0].tolist() == [0, 1, 4, 9]

    async def both():
        with squares().batch(4).tuples("y").loader(epochs=1) as loader:
            got = [await loader.aget(timeout=60)]
            return got + [batch async for batch in loader.resume()]

    got = asyncio.run(both())
    assert [type(batch) for batch in got] == [tuple] * 5
    assert got[1][0].tolist() == [16, 25, 36, 49]


def test_states_go_on():
    pipeline = squares().shuffle().batch(4).tuples("y", "x")
    with pipeline.loader(epochs=1) as loader:
        whole = [y.tolist() for y, _ in loader]
    with pipeline.loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop), next(loop)
        state = loader.state_dict()
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [y.tolist() for y, _ in loader] == whole[2:]
    assert hr.replay(pipeline, state).batch["y"].tolist() == whole[2]


def test_samples_and_steps_of_the_loop():
    with squares(3).tuples("y", "name").loader(epochs=1) as loader:
        assert list(loader) == [(0, "0"), (1, "1"), (4, "2")]
    added = squares().batch(4).map(lambda batch: {**batch, "sum": batch["x"].sum()}, where="main").tuples("sum", "y")
    with added.loader(epochs=1) as loader:
        total, _ = next(iter(loader))
        assert total == 18
        assert len(list(loader.resume())) == 4


def test_a_loader_becomes_torch():
    with squares().batch(4).tuples("x", "y").loader(epochs=1) as loader:
        x, _ = next(iter(loader.to("torch")))
        assert isinstance(x, torch.Tensor)
    dataset = hr.torch.IterableDataset(squares().batch(4).tuples("x", "y"), epochs=1)
    _, y = next(iter(dataset))
    dataset.close()
    assert isinstance(y, torch.Tensor)


def test_what_cannot_be_tuples():
    with pytest.raises(RecipeError, match="there are no names"):
        squares().tuples()
    with pytest.raises(RecipeError, match="the batches are tuples already, of 'x'"):
        squares().tuples("x").batch(4).tuples("y")
    with pytest.raises(RecipeError, match="there is no field 'z': batches have 'x', 'y', 'name'"):
        squares().batch(4).tuples("x", "z").loader()
    with pytest.raises(RecipeError, match="the samples are not dicts"):
        hr.source([1, 2, 3], where="here").batch(2).tuples("x").loader()
    with pytest.raises(RecipeError, match="3 is not a field name"):
        squares().tuples(3)
    with squares().batch(4).map(lambda batch: 3, where="main").tuples("x").loader(epochs=1) as loader:
        with pytest.raises(HeadraceError, match=r"needs 'x' of what the steps .* return, and that has type int"):
            next(iter(loader))
    with squares().batch(4).tuples("x").loader(epochs=1) as loader, pytest.raises(RecipeError, match="is for batches that are dicts"):
        loader.typed(dict)
    with pytest.raises(RecipeError, match="the format"):
        hr.merge([squares().tuples("x"), squares()])


class Pairs:
    """A dataset as those of torchvision are."""

    def __init__(self, make, count=20):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.make(i)


WAYS = [{}, {"where": "here"}, {"keys": str}, {"generators": ["random"]}]


@pytest.mark.parametrize("options", WAYS)
def test_tuples_without_names(options):
    """Batches are what default_collate makes of them, and no one is warned."""
    dataset = Pairs(lambda i: (np.full((2, 3), i, np.float32), i, [i, 2.5][1], f"text {i}", i % 2 == 0))
    want = list(torch.utils.data.DataLoader(dataset, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with hr.source(dataset, **options).batch(4).to("torch").loader(epochs=1) as loader:
            assert "key" not in loader.schema
            got = list(loader)
    assert [type(batch) for batch in got] == [tuple] * 5
    for a, b in zip(got, want, strict=True):
        for x, y in zip(a, b, strict=True):
            assert (x.dtype == y.dtype and torch.equal(x, y)) if isinstance(y, torch.Tensor) else x == y


def test_tuples_without_names_of_other_kinds():
    image = np.ones((2, 3), np.uint8)
    for make, kinds in (
        (lambda i: (torch.full((3,), i), {"boxes": i}), [torch.Tensor, list]),
        (lambda i: [image, i], [torch.Tensor, torch.Tensor]),
        (lambda i: (i,), [torch.Tensor]),
        (lambda i: (image, None), [torch.Tensor, list]),
        (lambda i: (b"x", image), [list, torch.Tensor]),
    ):
        with hr.source(Pairs(make)).shuffle(seed=1)[2:].batch(5).to("torch").loader(epochs=1) as loader:
            batch = next(iter(loader))
            assert type(batch) is tuple
            assert [type(value) for value in batch] == kinds
    with hr.source(lambda: iter([(1, 2), (3, 4), (5, 6)]), where="here").batch(2).loader(epochs=1) as loader:
        assert [[value.tolist() for value in batch] for batch in loader] == [[[1, 3], [2, 4]], [[5], [6]]]


def passed(sample):
    return sample


def swapped(sample):
    x, y = sample
    return y, x


def alone(sample):
    return sample[0]


def as_pair(sample):
    return sample, [sample]


def spoiled(sample):
    sample[0][:] = -1
    return sample


@pytest.mark.parametrize("options", [{"where": "process"}, {"where": "here"}, {"where": "thread", "workers": 3}])
def test_functions_that_return_tuples(options):
    """What the last of them returns, if a batch follows."""
    pairs = Pairs(lambda i: (np.full(3, i), i))
    for functions, want in (
        ([swapped], lambda i: (i, np.full(3, i))),
        ([passed, swapped, passed], lambda i: (i, np.full(3, i))),
        ([alone, as_pair], lambda i: (np.full(3, i), [np.full(3, i)])),
    ):
        chain = hr.source(pairs).shuffle(seed=5)
        for function in functions:
            chain = chain.map(function, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with chain.batch(5).loader(epochs=1) as loader, hr.source(pairs).shuffle(seed=5).batch(5).loader(epochs=1) as order:
                for batch, (_, numbers) in zip(loader, order, strict=True):
                    assert type(batch) is tuple
                    for k, i in enumerate(numbers.tolist()):
                        for got, value in zip(batch, want(i), strict=True):
                            assert np.array_equal(got[k], value)
    with hr.source(pairs).map(swapped).batch(5).map(len, where="here").loader(epochs=1) as loader:
        assert next(iter(loader)) == 5
    with hr.source(pairs).map(lambda pair: pair if pair[1] != 7 else pair[:1]).batch(5).loader(epochs=1) as loader:
        with pytest.raises(HeadraceError, match="returned 1 values, not 2 as the first sample"):
            list(loader)


@pytest.mark.parametrize("make", [lambda i: KEPT[i], lambda i: torch.from_numpy(KEPT[i])])
def test_functions_change_no_tuple_of_the_source(make):
    pairs = Pairs(lambda i: (make(i), i, "text"))
    for where in ("process", "thread"):
        with hr.source(pairs, where=where).map(spoiled, where=where).batch(4).loader(epochs=2) as loader:
            for _ in range(2):
                for x, y, _ in loader:
                    assert (x == -1).all()
                    assert len(y) == 4
    with hr.source(pairs, where="thread").map(passed, where="thread").batch(20).loader(epochs=1) as loader:
        ((x, y, _),) = loader
        assert np.array_equal(x, KEPT)


KEPT = np.arange(60.0).reshape(20, 3)


def test_states_of_tuples_without_names():
    pipeline = hr.source(Pairs(lambda i: (i, -i))).shuffle(seed=3).batch(3)
    with pipeline.loader(epochs=1) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [x.tolist() for x, _ in batches]
    with pipeline.loader(epochs=1) as loader:
        loader.load_state_dict(state)
        assert [x.tolist() for x, _ in loader] == rest
    x, _ = hr.replay(pipeline, state, 1).batch
    assert x.tolist() == rest[1]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda i: (i,) * (2 + (i == 5)), "returned 3 values, not 2 as the first sample; write gives=object"),
        (lambda i: (i, -i) if i < 5 else None, "returned None, not 2 values as the first sample"),
        (lambda i: (np.zeros(2 + (i == 5)), i), r"field '0' is .*\[3\].*\[2\]"),
        (lambda i: (i, "text" if i == 5 else i), "field '1' is"),
    ],
)
def test_tuples_that_differ(make, says):
    with hr.source(Pairs(make)).batch(4).loader(epochs=1) as loader, pytest.raises(HeadraceError, match=says):
        list(loader)


def test_tuples_without_names_have_none():
    with pytest.raises(RecipeError, match="the samples are not dicts, so they have no fields"):
        hr.source(Pairs(lambda i: (i, i))).batch(4).tuples("0").loader(epochs=1)
    with hr.source(Pairs(lambda i: (i, i))).batch(4).loader(epochs=1) as loader, pytest.raises(RecipeError, match="typed"):
        loader.typed(dict)
    with hr.source(Pairs(lambda i: (i, -i)), gives=object).batch(4).loader(epochs=1) as loader:
        assert next(iter(loader)) == [(0, 0), (1, -1), (2, -2), (3, -3)]

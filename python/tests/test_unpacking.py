"""Loops and values as people write them first: the words that say what to write."""

from __future__ import annotations

import collections
import dataclasses
import re
import sqlite3
import types
import warnings
import zipfile

import attrs
import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset

import headrace as hr
from conftest import WHOLE

pytestmark = pytest.mark.usefixtures("one_engine")

SHARED = hr.Workers(processes=1)


class Each:
    """Samples that a function makes of their numbers."""

    def __init__(self, make, count=4):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.make(i)


@pytest.fixture(scope="module", autouse=True)
def one_worker():
    """The worker stays: it takes long to import torch."""
    with hr.source(Each(dict), gives={"x": int}, where=SHARED).batch(1).loader(epochs=0):
        yield


def source(make, **options):
    return hr.source(Each(make), where=SHARED, **options)


def test_unpacking_a_batch_says_what_to_write():
    batch = hr.Batch({"image": 1, "label": 2})
    with pytest.warns(hr.HeadraceWarning, match=r"write for batch in loader: and batch\['image'\], batch\['label'\]"):
        images, labels = batch
    assert (images, labels) == ("image", "label")
    with pytest.warns(hr.HeadraceWarning), pytest.raises(ValueError, match="too many"):
        for _a, _b in [hr.Batch({"image": 1, "label": 2, "key": 3})]:
            pass
    with pytest.warns(hr.HeadraceWarning):
        _first, *_rest = batch
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(batch) == ["image", "label"]
        assert dict(batch) == {**batch} == {"image": 1, "label": 2}
        assert [name for name in batch] == [*batch.keys()]  # noqa: C416
        for name in batch:
            assert name in batch
        (first, _), *_ = batch.items()
        assert first == "image"


Pair = collections.namedtuple("Pair", ["image", "label"])


@pytest.mark.parametrize(("make", "names"), [(lambda i: (i, -i), "'name1', 'name2'"), (lambda i: Pair(i, -i), "'image', 'label'")])
def test_tuples_without_fields_say_how_they_are_stacked(make, names):
    """At open, before a loop has met them, and once."""
    with pytest.warns(hr.HeadraceWarning, match=rf"tuples of 2 values, so a batch is a list .*fields=\[{names}\]") as told:
        loader = source(make).filter(lambda pair: len(pair) == 2, where=SHARED).batch(2).loader(epochs=2)
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings(), loader:
        warnings.simplefilter("error")
        state = loader.state_dict()
        assert next(iter(loader)) == [make(0), make(1)]
        loader.load_state_dict(state)
        assert next(iter(loader)) == [make(0), make(1)]


@dataclasses.dataclass
class Item:
    image: np.ndarray
    label: int


@attrs.frozen
class Frozen:
    image: np.ndarray
    label: int


class Model:
    """As pydantic's models, which declare their fields so."""

    model_fields = {"image": None, "label": None}  # noqa: RUF012

    def __init__(self, image, label):
        self.image, self.label = image, label


IMAGE = np.ones((2, 3), np.uint8)
TO_DICT = "{'image': one.image, 'label': one.label}"


@pytest.mark.parametrize(
    ("make", "what", "how"),
    [
        (lambda i: Item(IMAGE, i), "Item objects", f".map(lambda one: {TO_DICT})"),
        (lambda i: Frozen(IMAGE, i), "Frozen objects", f".map(lambda one: {TO_DICT})"),
        (lambda i: Model(IMAGE, i), "Model objects", f".map(lambda one: {TO_DICT})"),
        (lambda i: types.SimpleNamespace(image=IMAGE, label=i), "SimpleNamespace objects", f".map(lambda one: {TO_DICT})"),
        (lambda i: Pair(IMAGE, i), "tuples of 2 values", "name them: hr.source(…, fields=['image', 'label'])"),
        (lambda i: [Item(IMAGE, i)] * 2, "lists of test_unpacking.Item objects", f".flat_map(lambda items: [{TO_DICT} for one in items])"),
        (lambda i: [Pair(IMAGE, i)] * 2, "lists of test_unpacking.Pair objects", f".flat_map(lambda items: [{TO_DICT} for one in items])"),
        (lambda i: [{"image": IMAGE, "label": i}], "lists of dicts", ".flat_map(lambda items: items)"),
        (lambda i: [i, i + 1], None, None),
        (lambda i: [str(i), "b"], None, None),
        (lambda i: [[i], [i, i]], None, None),
        (lambda i: {i}, None, None),
        (lambda i: types.SimpleNamespace(), None, None),
    ],
)
def test_other_values_without_fields_say_how_they_are_stacked(make, what, how):
    """And what they say works."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", hr.HeadraceWarning)
        source(make).batch(2).loader(epochs=1).close()
    if what is None:
        assert told == []
        return
    (warning,) = told
    text = str(warning.message)
    assert what in text
    assert f"{how}" in text
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source(make, gives=object).batch(2).loader(epochs=1).close()
        if how.startswith("name them"):
            pipeline = source(make, fields=["image", "label"])
        else:
            pipeline = eval(f"source(make){how}", {"source": source, "make": make})
        with pipeline.batch(2).loader(epochs=1) as loader:
            assert {"image", "label"} <= set(next(iter(loader)))


def test_fields_of_an_object_say_how_it_becomes_a_dict():
    with pytest.raises(
        hr.HeadraceError, match=r"Item, not 2 values: image, label; instead of fields= write \.map\(lambda one: {'image': one"
    ):
        source(lambda i: Item(IMAGE, i), fields=["image", "label"]).batch(2).loader(epochs=1)


def pairs(where, **options):
    return hr.source(Each(lambda i: (i, -i)), where=where, **options)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: pairs("here").filter(lambda pair: True, where="here").batch(2), True),
        (lambda: pairs(SHARED, keys=str).shuffle().filter(lambda pair: True, where=SHARED).batch(2), True),
        (lambda: pairs(SHARED).batch(2).map(lambda pairs: {"n": len(pairs)}, where=SHARED), False),
        (lambda: pairs(SHARED).shuffle().batch(2), False),
        (lambda: pairs(SHARED, gives=object).batch(2), False),
        (lambda: pairs(SHARED, fields=["a", "b"]).batch(2), False),
        (lambda: pairs(SHARED), False),
        (lambda: pairs(SHARED).map(lambda pair: pair, where=SHARED).batch(2), False),
        (lambda: pairs(SHARED).map(lambda pair: {"x": pair[0]}, where=SHARED).batch(2), False),
        (lambda: pairs(SHARED).batch(2, collate=lambda rows: {"x": len(rows)}), False),
        (lambda: hr.source(Each(lambda i: ()), where=SHARED).batch(2), False),
        (lambda: hr.source(Each(lambda i: (i,) * 17), where=SHARED).batch(2), False),
        (lambda: hr.source(Each(lambda i: [i, i]), where=SHARED).batch(2), False),
    ],
)
def test_who_is_told_of_tuples(make, hint):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", hr.HeadraceWarning)
        with make().loader(epochs=1) as loader:
            next(iter(loader))
    assert ["tuples of 2 values" in str(one.message) for one in told] == [True] * hint


def test_words_for_what_cannot_be_a_field():
    cases = {
        "has no samples: its length is 0": Each(dict, 0),
        'return it under another name, such as "keys"': Each(lambda i: {"key": i}),
        "whose name is empty: give it a name": Each(lambda i: {"": i}),
        r"gives={\"b\": object}": Each(lambda i: {"b": b"ab"}),
        r"field 'x' is a tensor of sparse_coo, which cannot be stacked: return value.to_dense\(\).*gives={'x': object}": Each(sparse),
        r"a tensor of float8_e4m3fn, which cannot be stacked: return value.view\(torch.uint8\).*gives={'x': object}": Each(small),
        r"a tensor of qint8, which cannot be stacked: return value.dequantize\(\).*gives={'x': object}": Each(quantized),
        r"a nested tensor, which cannot be stacked: return value.to_padded_tensor\(0\).*gives={'x': object}": Each(nested),
        r"which int64 cannot hold; the step gives it as it is with gives={'x': object}": Each(lambda i: {"x": 1 << 70}),
        "a tensor on meta, which has a shape and no values": Each(lambda i: {"x": torch.ones(3, device="meta")}),
    }
    for message, dataset in cases.items():
        with pytest.raises(hr.HeadraceError, match=message):
            hr.source(dataset, where=SHARED).batch(2).loader(epochs=1)


def test_handles_of_a_dataset_say_where_to_open_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as written:
        written.writestr("a", "a")
    connection, archive = sqlite3.connect(tmp_path / "a.db"), zipfile.ZipFile(tmp_path / "a.zip")
    nested = Each(None)
    nested.inner = Each(connection)
    several = ConcatDataset([Each(int), Each(archive)])
    named = Each({"a": [1], "b": connection})
    for dataset, name, last in (
        (Each(connection), "make", "make"),
        (Each(archive), "make", "make"),
        (nested, "inner.make", "make"),
        (several, "datasets[1].make", "make"),
        (named, "make[b]", "make"),
    ):
        with pytest.raises(
            hr.RecipeError, match=rf"its attribute '{re.escape(name)}' cannot be pickled: TypeError: cannot pickle"
        ) as caught:
            hr.source(dataset).batch(2).loader()
        assert "open it in __getitem__, when it is first needed, and leave it out of the copy" in str(caught.value)
        assert f'def __getstate__(self): return {{**self.__dict__, "{last}": None}}' in str(caught.value)
    connection.close()
    archive.close()


def sparse(i):
    return {"x": (torch.eye(3) * i).to_sparse()}


def small(i):
    return {"x": torch.full((2,), float(i)).to(torch.float8_e4m3fn)}


def quantized(i):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"x": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)}


def nested(i):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"x": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])}


def test_other_tensors_come_as_objects():
    with source(lambda i: {**sparse(i), "small": small(i)["x"]}, gives={"x": object, "small": object}).batch(4).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert [int(one.to_dense().sum()) for one in batch["x"]] == [0, 3, 6, 9]
    assert batch["small"][3].dtype is torch.float8_e4m3fn
    assert batch["small"][3].float().tolist() == [3, 3]


@pytest.mark.parametrize("bare", [False, True])
def test_tensors_that_note_a_conj_or_a_minus_are_fields(bare):
    """conj() copies nothing: PyTorch notes it in the tensor, and .numpy() refuses such tensors."""
    x = torch.arange(3, dtype=torch.float32) * torch.tensor(1j, dtype=torch.complex64)
    negative = x.conj().imag
    assert negative.is_neg()
    assert x.conj().is_conj()
    with hr.source([negative if bare else {"a": negative}] * 2, where=SHARED).batch(2).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert (batch if bare else batch["a"]).tolist() == [[0, -1, -2]] * 2
    with pytest.raises(hr.SampleError, match="array of complex64"):
        list(hr.source([{"a": x.conj()}], where=SHARED).loader(epochs=1))


def test_bfloat16_that_notes_a_minus():
    value = torch._neg_view(torch.ones(3, dtype=torch.bfloat16))
    with hr.source([{"a": value}], where=SHARED).to("torch").loader(epochs=1) as loader:
        assert next(iter(loader))["a"].tolist() == [-1, -1, -1]


def halves(i):
    return {"x": torch.full((2,), i + 0.5, dtype=torch.bfloat16), "y": torch.tensor(i * 0.5, dtype=torch.bfloat16)}


@pytest.mark.parametrize("installed", [False, True] if WHOLE else [False])
def test_bfloat16_needs_no_package(installed, tmp_path, monkeypatch):
    if not installed:
        (tmp_path / "ml_dtypes.py").write_text("raise ImportError('none')\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(__import__("sys").modules, "ml_dtypes", raising=False)
    p = hr.source(Each(halves)).batch(4)
    with p.to("torch").loader(epochs=1, workers=1) as loader:
        batch = next(iter(loader))
    assert batch["x"].dtype is batch["y"].dtype is torch.bfloat16
    assert batch["x"].tolist() == [[0.5, 0.5], [1.5, 1.5], [2.5, 2.5], [3.5, 3.5]]
    assert batch["y"].tolist() == [0, 0.5, 1, 1.5]
    if WHOLE and not installed:
        with p.loader(epochs=1, workers=1) as loader:
            array = next(iter(loader))["x"]
        assert array.dtype == np.uint16
        assert torch.from_numpy(array).view(torch.bfloat16).tolist() == batch["x"].tolist()

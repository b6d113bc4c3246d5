"""What a user gets, as the README has it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import headrace as hr
from conftest import CLASSES, PHOTOS, digests, files_of, pipeline

pytestmark = pytest.mark.smoke


def test_an_epoch(photos):
    loader = (
        hr.files(f"{photos}/*/*.jpg", label="parent")
        .shuffle(seed=0)
        .decode_image()
        .resize(256)
        .center_crop(224)
        .batch(32, drop_last=False)
        .loader(epochs=1)
    )
    keys, batches = [], []
    with loader:
        assert len(loader) == 2
        assert loader.max_batches == 2
        assert loader.classes == CLASSES
        for batch in loader:
            assert list(batch) == ["image", "label", "key"]
            image, label, key = batch["image"], batch["label"], batch["key"]
            assert image.dtype == np.uint8
            assert image.shape == (len(key), 224, 224, 3)
            assert image.flags.writeable
            assert image.flags.c_contiguous
            assert label.dtype == np.int64
            assert label.shape == (len(key),)
            assert [CLASSES[n] for n in label] == [Path(k).parent.name for k in key]
            keys += key
            batches.append(batch)
    assert [len(b["key"]) for b in batches] == [32, 14]
    assert sorted(keys) == files_of(photos)
    assert keys != files_of(photos)
    assert loader.errors.total == 0
    assert batches[0]["image"].std() > 5  # batches stay valid after the end


def test_statistics_while_it_runs_and_after(photos):
    loader = pipeline(photos).loader(epochs=1)
    with loader:
        next(iter(loader))
        running = loader.stats()
        assert isinstance(running, dict)
        assert {"stages", "queues", "memory", "decoder", "text"} <= set(running)
        rest = loader.stats()  # asking takes no batch away
        assert rest["stages"]
    after = loader.stats()
    names = [stage["name"] for stage in after["stages"]]
    assert any("decode" in name for name in names), names
    assert str(after) == after.text == after["text"]
    assert repr(after) == after.text
    assert "decode" in str(after)
    with pytest.raises(hr.LoaderClosed, match="closed"):
        iter(loader)


def test_statistics_count_every_item(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        list(loader)
        stages = loader.stats()["stages"]
    decode = next(s for s in stages if "decode" in s["name"])
    assert decode["in"] == PHOTOS
    assert decode["lost"] == 0


def test_without_labels_and_without_shuffling(photos):
    with hr.files(photos).decode_image().resize(32).center_crop(32).batch(10).loader(epochs=1) as loader:
        batches = list(loader)
    assert all(list(b) == ["image", "key"] for b in batches)
    assert [k for b in batches for k in b["key"]] == files_of(photos)
    assert loader.classes == []


def test_torch(photos):
    for loader in (pipeline(photos).to("torch").loader(epochs=1), pipeline(photos).loader(epochs=1).to("torch")):
        with loader:
            batches = list(loader)
        assert all(isinstance(b["image"], torch.Tensor) for b in batches)
        assert batches[0]["image"].dtype == torch.uint8
        assert batches[0]["label"].dtype == torch.int64
        assert isinstance(batches[0]["key"], hr.Texts)
    with pipeline(photos).loader(epochs=1) as plain:
        same = list(plain)
    assert all((a["image"].numpy() == b["image"]).all() for a, b in zip(batches, same))


def test_formats_can_change(photos):
    with pipeline(photos).to("torch").loader() as loader:
        loop = iter(loader)
        assert isinstance(next(loop)["image"], torch.Tensor)
        loader.to("numpy")
        assert isinstance(next(loop)["image"], np.ndarray)
        with pytest.raises(hr.RecipeError, match="must be 'numpy', 'torch' or 'jax'"):
            loader.to("mxnet")


def test_drop_last(photos):
    with hr.files(photos).decode_image().resize(32).center_crop(32).batch(4, drop_last=True).loader(epochs=1) as loader:
        assert len(loader) == 11
        assert [len(b["key"]) for b in loader] == [4] * 11


def test_schema_and_repr(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        schema = loader.schema
        assert list(schema) == ["image", "label", "key"]
        assert (schema["image"].kind, schema["image"].dtype, schema["image"].shape) == ("tensor", "uint8", (48, 48, 3))
        assert (schema["label"].kind, schema["label"].dtype, schema["label"].shape) == ("tensor", "int64", ())
        assert schema["key"].kind == "text"
        assert "image: uint8 [48, 48, 3]" in repr(loader)
        assert "12 batches per epoch" in repr(loader)
    assert "(closed)" in repr(loader)


def test_closing_twice_and_early(photos):
    loader = pipeline(photos).loader()
    loader.close()
    loader.close()
    with pytest.raises(hr.LoaderClosed), loader:
        pass
    loader = pipeline(photos).loader()
    loop = iter(loader)
    next(loop)
    loader.close()
    with pytest.raises(hr.LoaderClosed):
        next(loop)


def test_several_loaders_share_one_engine(photos):
    from conftest import children

    before = children()
    with pipeline(photos).loader(epochs=1) as one, pipeline(photos, 5).loader(epochs=1) as two:
        assert len(children() - before) == 1
        assert [len(b["key"]) for pair in zip(one, two) for b in pair][:4] == [4, 5, 4, 5]
        three = pipeline(photos).loader(epochs=1)
        assert len(children() - before) == 1
        three.close()
        assert len(children() - before) == 1
    assert children() == before


def test_a_loader_that_is_dropped_ends_its_engine(photos):
    from conftest import children, running, within

    before = children()
    loader = pipeline(photos).loader()
    batch = next(iter(loader))
    (pid,) = children() - before
    del loader
    assert within(8, lambda: not running(pid))
    assert batch["image"].sum() > 0


def test_a_loader_is_not_pickled(photos):
    import pickle

    with pipeline(photos).loader() as loader, pytest.raises(TypeError, match="send the pipeline"):
        pickle.dumps(loader)


def test_no_warnings_and_nothing_on_standard_streams(photos, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pipeline(photos).loader(epochs=1) as loader:
            digests(loader)
    assert capfd.readouterr() == ("", "")

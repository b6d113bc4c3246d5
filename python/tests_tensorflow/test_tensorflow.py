"""Batches in TensorFlow: `make test-all` runs this in an environment that has it."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

import headrace as hr


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    noise = np.random.default_rng(0)
    for i in range(20):
        Image.fromarray(noise.integers(0, 256, (64, 80, 3), np.uint8)).save(folder / f"{i:02d}.png")
    return folder


def pipeline(photos: Path) -> hr.Pipeline:
    paths = [(path, i) for i, path in enumerate(sorted(photos.iterdir()))]
    return hr.files(paths).shuffle().decode_image().random_crop(48).batch(4)


def dataset(loader: hr.Loader) -> tf.data.Dataset:
    """As the guide shows it."""
    kinds = {"tensor": lambda field: field.dtype, "text": lambda field: "string"}
    signature = {name: tf.TensorSpec((None, *(field.shape or ())), kinds[field.kind](field), name) for name, field in loader.schema.items()}

    def batches():
        for batch in loader:
            yield {name: list(value) if isinstance(value, hr.Texts) else value for name, value in batch.items()}

    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def test_a_dataset_gives_what_the_loader_gives(photos: Path) -> None:
    with pipeline(photos).loader(epochs=2) as loader, pipeline(photos).loader(epochs=2) as plain:
        given = dataset(loader).prefetch(2)
        for _ in range(2):
            batches = list(given)
            assert len(batches) == 5
            for batch, same in zip(batches, plain, strict=True):
                assert batch["image"].shape == (4, 48, 48, 3)
                assert (batch["image"].numpy() == same["image"]).all()
                assert (batch["label"].numpy() == same["label"]).all()
                assert [key.decode() for key in batch["key"].numpy()] == same["key"]


def test_tensors_keep_what_they_hold(photos: Path) -> None:
    """Whether TensorFlow copies an array or not: a tensor outlives its batch and the loader."""
    kept = []
    with pipeline(photos).loader(epochs=1) as loader:
        for batch in loader:
            tensor = tf.constant(batch["image"])
            kept.append((tensor, batch["image"].copy()))
            del batch
    gc.collect()
    for tensor, copy in kept:
        assert (tensor.numpy() == copy).all()


def test_keras_trains(photos: Path) -> None:
    with pipeline(photos).loader() as loader:
        steps = dataset(loader).map(lambda batch: (tf.cast(batch["image"], tf.float32) / 255, batch["label"] % 2))
        model = tf.keras.Sequential([tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(2)])
        model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        history = model.fit(steps.repeat(), steps_per_epoch=7, epochs=2, shuffle=False, verbose=0)
    assert len(history.history["loss"]) == 2
    assert np.isfinite(history.history["loss"]).all()

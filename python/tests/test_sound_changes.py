"""Spectrograms that are masked, and recordings that become louder."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr

MEL = np.random.default_rng(4).normal(size=(60, 20)).astype(np.float32)


def mels(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(value) for name, value in sample.items()} for sample in loader]


def source(n=50, mel=MEL):
    return hr.source([{"mel": mel}] * n, gives={"mel": ("float32", mel.shape)}, seed=2)


@pytest.mark.parametrize("layout", ["TM", "MT"])
def test_what_is_masked_is_the_mean(layout):
    mel = MEL if layout == "TM" else np.ascontiguousarray(MEL.T)
    made = source(mel=mel).spec_augment(time=30, freq=8, n_time=2, n_freq=1, layout=layout)
    some = 0
    for sample in mels(made):
        got = sample["mel"] if layout == "TM" else sample["mel"].T
        masked = got != MEL
        assert np.allclose(got[masked], MEL.mean(), atol=1e-6)
        frames, bands = masked.all(axis=1), masked.all(axis=0)
        assert np.array_equal(masked, frames[:, None] | bands[None])
        assert frames.sum() < 2 * 30
        assert bands.sum() < 8
        some += frames.any() and bands.any()
    assert some > 30


def test_other_values_and_none():
    got = mels(source(1).spec_augment(time=200, freq=0, n_time=9, value=-5))[0]["mel"]
    assert set(got[got != MEL]) == {-5}
    assert np.array_equal(mels(source(1).spec_augment(time=1, freq=1, n_time=9))[0]["mel"], MEL)
    for sample in mels(source().spec_augment(time=60, freq=20, p=0.1)):  # at most 6 frames and 2 bands
        masked = sample["mel"] != MEL
        assert masked.all(axis=1).sum() < 6
        assert masked.all(axis=0).sum() < 2


def test_another_field_with_the_same_memory_stays():
    for sample in mels(source(5).copy("mel", ["other"]).spec_augment(time=60, freq=20)):
        assert np.array_equal(sample["other"], MEL)


def test_the_same_whoever_works_and_replayed():
    made = source().spec_augment(time=30, freq=8)
    one, two = mels(made, workers=1), mels(made, workers=2, fuse=False)
    assert all(np.array_equal(a["mel"], b["mel"]) for a, b in zip(one, two, strict=True))
    batches = made.batch(4)
    with batches.loader(epochs=1) as loader:
        state = loader.state_dict()
    looked_at = hr.replay(batches, state, batch=1)
    for i, row in enumerate(looked_at.rows):
        (draw,) = [draw for draw in row["draws"] if draw["step"] == "spec_augment"]
        start, end = draw["values"]["time"]
        assert np.array_equal(looked_at.batch["mel"][i], one[4 + i]["mel"])
        assert np.ptp(one[4 + i]["mel"][start:end]) == 0


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_gain(dtype):
    audio = (np.arange(-500, 500) * (1 if dtype == "int16" else 1e-3)).astype(dtype)
    made = hr.source([{"audio": audio}] * 200, gives={"audio": (dtype, audio.shape)}, seed=3).gain((-6, 6))
    factors = [float(s["audio"].astype(float) @ audio.astype(float) / (audio.astype(float) @ audio)) for s in mels(made)]
    db = 20 * np.log10(factors)
    assert db.min() >= -6.1
    assert db.max() <= 6.1
    assert abs(db.mean()) < 1
    assert abs(db.std() - 12 / 12**0.5) < 0.5
    loud = mels(hr.source([{"audio": audio}], gives={"audio": (dtype, audio.shape)}).gain(100))[0]["audio"]
    assert loud.max() == (32767 if dtype == "int16" else np.float32(0.499) * np.float32(1e5))

"""Log-mel spectrograms: within 1e-4 of the formulas of Whisper, Kaldi, librosa and torchaudio, written here in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")


def recording(rate, seconds=0.9):
    """A sweep and noise, loud enough that no band is rounding noise."""
    times = np.arange(int(rate * seconds)) / rate
    sweep = 0.4 * np.sin(2 * np.pi * (100 + rate / 6 * times) * times)
    return (sweep + np.random.default_rng(1).normal(0, 0.05, len(times))).astype(np.float32)


def triangles(to_mel, to_hertz, rate, n_fft, mels, low, area=False, in_mels=False):
    """Weights [mels, frequencies] by linear interpolation between corners."""
    corners = np.linspace(to_mel(low), to_mel(rate / 2), mels + 2)
    at = np.arange(n_fft // 2 + 1) * rate / n_fft
    if in_mels:
        at = to_mel(at)
    else:
        corners = to_hertz(corners)
    rows = np.stack([np.interp(at, corners[m : m + 3], [0, 1, 0], left=0, right=0) for m in range(mels)])
    return rows * (2 / (corners[2:] - corners[:-2]))[:, None] if area else rows


def slaney(hertz):
    hertz = np.asarray(hertz, float)
    return np.where(hertz < 1000, 3 * hertz / 200, 15 + 27 * np.log(np.maximum(hertz, 1) / 1000) / np.log(6.4))


def slaney_hertz(mel):
    return np.where(mel < 15, 200 * mel / 3, 1000 * 6.4 ** ((mel - 15) / 27))


def htk(hertz):
    return 2595 * np.log10(1 + np.asarray(hertz, float) / 700)


def htk_hertz(mel):
    return 700 * (10 ** (mel / 2595) - 1)


def power(samples, n_fft, hop, mode):
    samples = np.pad(samples.astype(float), n_fft // 2, mode=mode)
    frames = np.lib.stride_tricks.sliding_window_view(samples, n_fft)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
    return np.abs(np.fft.rfft(frames * hann)) ** 2


def whisper(samples):
    mels = power(samples, 400, 160, "reflect")[:-1] @ triangles(slaney, slaney_hertz, 16000, 400, 80, 0, area=True).T
    logs = np.log10(np.maximum(mels, 1e-10))
    return (np.maximum(logs, logs.max() - 8) + 4) / 4


def librosa(samples):
    mels = power(samples, 2048, 512, "constant") @ triangles(slaney, slaney_hertz, 22050, 2048, 128, 0, area=True).T
    logs = 10 * np.log10(np.maximum(mels, 1e-10))
    return np.maximum(logs, logs.max() - 80)


def torchaudio(samples):
    mels = power(samples, 400, 200, "reflect") @ triangles(htk, htk_hertz, 16000, 400, 128, 0).T
    return 10 * np.log10(np.maximum(mels, 1e-10))


def kaldi(samples):
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(float) * 32768, 400)[::160]
    frames = frames - frames.mean(1, keepdims=True)
    frames = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], 1)
    povey = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 399)) ** 0.85
    spectrum = np.abs(np.fft.rfft(frames * povey, 512)) ** 2
    mels = spectrum[:, :256] @ triangles(htk, htk_hertz, 16000, 512, 80, 20, in_mels=True)[:, :256].T
    return np.log(np.maximum(mels, np.finfo(np.float32).eps))


PRESETS = {"whisper": (16000, whisper), "kaldi": (16000, kaldi), "librosa": (22050, librosa), "torchaudio": (16000, torchaudio)}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(tmp_path, preset):
    rate, formula = PRESETS[preset]
    samples = recording(rate)
    soundfile.write(tmp_path / "a.wav", samples, rate, subtype="FLOAT")
    files = hr.files([str(tmp_path / "a.wav")])
    (got,) = [s["mel"] for s in files.decode_audio(channels=1).log_mel(preset).loader(epochs=1)]
    (turned,) = [s["mel"] for s in files.decode_audio(channels=1).log_mel(preset, layout="MT").loader(epochs=1)]
    want = formula(samples)
    assert got.shape == want.shape
    assert got.dtype == np.float32
    assert np.abs(got - want).max() < 1e-4
    assert np.array_equal(turned, got.T)


def test_fixed_lengths_and_other_parameters(tmp_path):
    samples = recording(16000)
    soundfile.write(tmp_path / "a.wav", samples, 16000, subtype="PCM_16")
    one = hr.files([str(tmp_path / "a.wav")]).decode_audio(16000, 1, 0.5, dtype="int16")
    with one.log_mel("torchaudio", n_fft=512, hop_length=128, n_mels=40, to="features").batch(1).loader(epochs=1) as loader:
        (batch,) = loader
    got = batch["features"]
    assert got.shape == (1, 63, 40)
    wanted, _ = soundfile.read(tmp_path / "a.wav", frames=8000)
    mels = power(wanted, 512, 128, "reflect") @ triangles(htk, htk_hertz, 16000, 512, 40, 0).T
    assert np.abs(got[0] - 10 * np.log10(np.maximum(mels, 1e-10))).max() < 1e-4


def test_unlike_lengths_come_into_buckets(tmp_path):
    for i in range(8):
        soundfile.write(tmp_path / f"{i}.wav", recording(16000, 0.2 + 0.05 * i), 16000)
    mels = hr.files(tmp_path).decode_audio(16000, 1).log_mel("whisper")
    with mels.bucket_batch([32, 64], size=4).loader(epochs=1) as loader:
        shapes = {batch["mel"].shape[1:] for batch in loader}
    assert shapes == {(32, 80), (64, 80)}
    with mels.pack(128, size=2).loader(epochs=1) as loader:
        assert {batch["mel"].shape[1:] for batch in loader} == {(128, 80)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "mfcc"}, 'preset is "mfcc"'),
        ({"n_mels": 0}, "n_mels is 0"),
        ({"f_max": 9000.0}, "f_min and f_max must rise, from 0 to 8000"),
        ({"win_length": 800}, "win_length must be from 2 to n_fft=400"),
        ({"field": "sound"}, "the samples have the fields"),
    ],
)
def test_arguments_that_are_wrong(tmp_path, given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files([str(tmp_path / "a.wav")]).decode_audio(16000, 1).log_mel(**given).loader(epochs=1)


def test_samples_that_are_wrong(tmp_path):
    soundfile.write(tmp_path / "a.wav", recording(16000, 0.01), 16000)
    files = hr.files([str(tmp_path / "a.wav")])
    with pytest.raises(hr.SampleError, match="too short: it has 160 samples, a frame needs 201"):
        list(files.decode_audio(16000, 1).log_mel().loader(epochs=1))
    with pytest.raises(hr.RecipeError, match="channels="):
        files.decode_audio(16000).log_mel().loader(epochs=1)

"""Recordings that become faster, noisy, higher, or are heard as in a room."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

RATE = 16000
RANDOM = np.random.default_rng(6)
WAVE = (RANDOM.normal(size=8000) * 0.1).astype(np.float32)


def samples(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(value) for name, value in sample.items() if name != "key"} for sample in loader]


def source(wave=WAVE, n=40):
    return hr.source([{"audio": wave}] * n, gives={"audio": (wave.dtype.name, wave.shape)}, seed=2)


def save(path, wave, rate=RATE):
    path.parent.mkdir(exist_ok=True)
    soundfile.write(path, wave, rate, subtype="FLOAT")
    return path


def drawn(pipeline, step, n=4):
    """What a step drew for each of the first samples, by the ledger."""
    batches = pipeline.batch(n, ragged=["audio"])
    with batches.loader(epochs=1) as loader:
        state = loader.state_dict()
        batch = list(next(iter(loader))["audio"])
        made = hr.replay(batches, state, batch=0)
        assert all(np.array_equal(a, b) for a, b in zip(made.batch["audio"], batch, strict=True))
    return [next(d["values"] for d in row["draws"] if d["step"] == step) for row in made.rows]


def of_channels(wave, layout):
    stereo = np.stack([wave, wave[::-1]], axis=1)
    return np.ascontiguousarray(stereo.T if layout == "CT" else stereo)


def test_speed():
    got = samples(source().speed([0.9, 1.0, 1.1]))
    lengths = [len(s["audio"]) for s in got]
    assert set(lengths) == {8889, 8000, 7273}
    assert all(np.array_equal(s["audio"], WAVE) for s in got if len(s["audio"]) == 8000)
    tone = np.sin(np.arange(8000) * 2 * np.pi * 440 / RATE).astype(np.float32)
    (faster,) = samples(source(tone, 1).speed([2]))
    want = np.sin(np.arange(4000) * 2 * np.pi * 880 / RATE)
    assert np.abs(faster["audio"] - want)[200:-200].max() < 1e-3
    assert {d["factor"] for d in drawn(source().speed([0.9, 1.1, 1.0]), "speed", 8)} <= {0.9, 1.0, 1.1}


@pytest.mark.parametrize("layout", ["TC", "CT"])
@pytest.mark.parametrize("step", ["speed", "pitch", "reverb", "add_noise"])
def test_channels_are_changed_each_for_itself(step, layout, tmp_path):
    noise = save(tmp_path / "n.wav", WAVE[:3000])
    args = {"speed": {"factors": [1.2]}, "pitch": {"semitones": 3}, "reverb": {"impulses": noise, "rate": RATE}}
    given = args.get(step, {"noises": noise, "snr": 5, "rate": RATE})
    (got,) = samples(getattr(source(of_channels(WAVE, layout), 1), step)(**given, layout=layout))
    (left,), (right,) = (samples(getattr(source(w, 1), step)(**given)) for w in (WAVE, np.ascontiguousarray(WAVE[::-1])))
    got = got["audio"].T if layout == "CT" else got["audio"]
    assert np.array_equal(got[:, 0], left["audio"])
    assert np.array_equal(got[:, 1], right["audio"])


@pytest.mark.parametrize("step", ["speed", "pitch"])
def test_int16(step):
    given = {"speed": {"factors": [1.2]}, "pitch": {"semitones": 3}}[step]
    whole = np.round(WAVE * 32768).astype(np.int16)
    (got,) = samples(getattr(source(whole, 1), step)(**given))
    (want,) = samples(getattr(source(whole.astype(np.float32) / 32768, 1), step)(**given))
    assert np.array_equal(got["audio"], np.clip(np.round(want["audio"] * 32768), -32768, 32767).astype(np.int16))


def test_noise(tmp_path):
    noises = [RANDOM.normal(size=n).astype(np.float32) for n in (20000, 3000)]
    for i, noise in enumerate(noises):
        save(tmp_path / "noises" / f"{i}.wav", noise)
    made = source().add_noise(tmp_path / "noises", snr=(0, 10), p=0.5, rate=RATE)
    draws = drawn(made, "add_noise", 12)
    assert {d["added"] for d in draws} == {True, False}
    got = samples(made)
    for d, sample in zip(draws, got, strict=False):
        want = WAVE
        if d["added"]:
            noise = noises[int(d["noise"][-5])]
            stretch = np.resize(np.roll(noise, -d["start"]), 8000) if len(noise) < 8000 else noise[d["start"] :][:8000]
            scale = np.sqrt((WAVE.astype(float) ** 2).sum() / (stretch.astype(float) ** 2).sum()) * 10 ** (-d["snr"] / 20)
            want = WAVE + scale * stretch
        assert np.allclose(sample["audio"], want, atol=1e-6)
    changed = [s["audio"] for s in got if not np.array_equal(s["audio"], WAVE)]
    assert 8 < len(changed) < 32
    snrs = [10 * np.log10((WAVE**2).sum() / ((c - WAVE) ** 2).sum()) for c in changed]
    assert min(snrs) > -0.01
    assert max(snrs) < 10.01
    other = samples(made, workers=2, fuse=False)
    assert all(np.array_equal(a["audio"], b["audio"]) for a, b in zip(got, other, strict=True))


def test_noise_gets_the_rate_of_the_samples(tmp_path):
    noise = save(tmp_path / "n.wav", np.sin(np.arange(80000) * 2 * np.pi * 1000 / 8000).astype(np.float32), 8000)
    words = save(tmp_path / "words" / "w.wav", WAVE)
    (got,) = samples(hr.files(words.parent).decode_audio(RATE, "mono", 0.5).add_noise(noise, snr=-60))
    assert np.abs(np.fft.rfft(got["audio"])).argmax() == 500  # 1000 Hz


def test_reverb(tmp_path):
    impulse = np.zeros((2000, 2), np.float32)
    impulse[100, 0], impulse[700, 0], impulse[:, 1] = 2, -1, 9
    save(tmp_path / "rirs" / "a.wav", impulse)
    made = source(n=1).reverb(tmp_path / "rirs", rate=RATE)
    want = (2 * WAVE - np.concatenate([np.zeros(600), WAVE[:-600]])) / 5**0.5
    (got,) = samples(made)
    assert np.allclose(got["audio"], want, atol=1e-6)
    save(tmp_path / "rirs" / "a.wav", np.zeros(5, np.float32))
    assert np.array_equal(samples(made)[0]["audio"], WAVE)
    assert drawn(source(n=4).reverb(tmp_path / "rirs", rate=RATE, p=0), "reverb") == [{"impulse": None}] * 4


def test_pitch():
    tone = (0.5 * np.cos(np.arange(16000) * 2 * np.pi * 500 / RATE)).astype(np.float32)
    (got,) = samples(source(tone, 1).pitch(12))
    assert np.abs(np.fft.rfft(got["audio"])).argmax() == pytest.approx(1000, abs=2)
    assert got["audio"].shape == tone.shape
    draws = drawn(source().pitch((-2, 2), p=0.5), "pitch")
    assert all(-2 <= d["semitones"] < 2 for d in draws)
    assert np.array_equal(samples(source(n=1).pitch(3, p=0))[0]["audio"], WAVE)


@pytest.mark.parametrize("wave", [np.zeros(0, np.float32), np.zeros(1, np.float32), np.full(300, np.nan, np.float32)])
def test_next_to_nothing(wave, tmp_path):
    noise = save(tmp_path / "n.wav", WAVE)
    made = hr.source([{"audio": wave}], gives={"audio": ("float32", (None,))})
    for one in (made.speed([1.1]), made.pitch(3), made.add_noise(noise, snr=5, rate=RATE), made.reverb(noise, rate=RATE)):
        (got,) = samples(one)
        assert len(got["audio"]) <= len(wave)
        assert not got["audio"][:1].any() or len(wave) > 1


@pytest.mark.parametrize("step", ["add_noise", "reverb"])
def test_a_run_goes_on_with_the_same_files_only(step, tmp_path):
    for i in range(2):
        save(tmp_path / "files" / f"{i}.wav", WAVE[: 100 + i])
    given = {"add_noise": {"noises": tmp_path / "files", "snr": 5}, "reverb": {"impulses": tmp_path / "files"}}[step]
    made = getattr(source(), step)(**given, rate=RATE).batch(4)
    with made.loader(epochs=1) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [np.array(batch["audio"]) for batch in batches]

    def go_on(state):
        with made.loader(epochs=1) as loader:
            loader.load_state_dict(state)
            return [np.array(batch["audio"]) for batch in loader]

    assert all(np.array_equal(a, b) for a, b in zip(go_on(state), rest, strict=True))
    older = {key: value for key, value in state.items() if key != "files"}
    assert len(go_on(older)) == len(rest)
    save(tmp_path / "files" / "1.wav", WAVE[:99])
    for number in (2, 3):
        with pytest.raises(hr.StateMismatch, match=rf'step "{step}" has other files: there were 2, here are {number}'):
            go_on(state)
        save(tmp_path / "files" / "2.wav", WAVE[:99])


def test_files_that_are_no_recordings(tmp_path):
    (tmp_path / "bad.wav").write_bytes(b"RIFF nothing")
    with pytest.raises(hr.SampleError, match=r"bad\.wav"):
        samples(source().add_noise(tmp_path, snr=5, rate=RATE))
    with pytest.raises(hr.HeadraceError, match=r"noises.*nowhere"):
        samples(source().add_noise(tmp_path / "nowhere", snr=5, rate=RATE))
    with pytest.raises(hr.HeadraceError, match=r"impulses.*nowhere"):
        samples(source().reverb(tmp_path / "nowhere", rate=RATE))
    save(tmp_path / "bad.wav", np.zeros(0, np.float32))
    with pytest.raises(hr.SampleError, match="it has 0 samples"):
        samples(source().reverb(tmp_path, rate=RATE))
    with pytest.raises(hr.RecipeError, match="noises is 3: must be the name of a file"):
        source().add_noise(3, snr=5)  # type: ignore[arg-type]

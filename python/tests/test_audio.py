"""Recordings and windows of them: equal to libsndfile's numbers, and to what tones are at another rate."""

from __future__ import annotations

import io
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

RATE = 8000
CONTENT = True  # files are read before they are decoded


@pytest.fixture(params=(True, False), ids=("content", "path"), autouse=True)
def content(request, monkeypatch):
    """Every test is of files that are in memory, and of files that are opened to be decoded."""
    monkeypatch.setattr(sys.modules[__name__], "CONTENT", request.param)


def noise(channels, samples=4000, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0, 0.3, (samples, channels)), -0.99, 0.99).astype(np.float32)


def write(path, data, rate=RATE, **how):
    soundfile.write(path, data, rate, **how)
    return str(path)


def decoded(paths, *args, **options):
    pipeline = hr.files([str(path) for path in paths], content=CONTENT).decode_audio(*args, **options)
    with pipeline.loader(epochs=1, workers=2) as loader:
        return [sample["audio"] for sample in loader]


CODINGS = ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"]


@pytest.mark.parametrize("container", ["WAV", "WAVEX", "RF64", "W64"])
@pytest.mark.parametrize("coding", CODINGS)
def test_every_coding(tmp_path, container, coding):
    paths = [
        write(tmp_path / f"{channels}.wav", noise(channels, 300 + channels), format=container, subtype=coding)
        for channels in (1, 2, 3, 6, 8, 16)
    ]
    for path in paths:
        want, _ = soundfile.read(path, dtype="float32", always_2d=True)
        (got,) = decoded([path])
        assert got.dtype == np.float32
        assert np.array_equal(got, want), path


def test_lengths_and_layouts(tmp_path):
    path = write(tmp_path / "a.wav", noise(2), subtype="PCM_16")
    want, _ = soundfile.read(path, dtype="float32")
    whole, _ = soundfile.read(path, dtype="int16")
    assert np.array_equal(decoded([path], layout="CT")[0], want.T)
    assert np.array_equal(decoded([path], dtype="int16")[0], whole)
    assert np.array_equal(decoded([path], duration=0.1, start=0.2)[0], want[1600:2400])
    assert np.array_equal(decoded([path], duration=0.1, start="center")[0], want[1600:2400])
    assert np.array_equal(decoded([path], start=0.45)[0], want[3600:])
    mono = decoded([path], channels="mono")[0]
    assert mono.shape == (4000,)
    assert np.allclose(mono, want.mean(1), atol=1e-7)
    single = write(tmp_path / "b.wav", noise(1))
    assert np.array_equal(*decoded([single], channels=2)[0].T)


def test_short_recordings(tmp_path):
    path = write(tmp_path / "a.wav", noise(1, 600), subtype="FLOAT")
    want, _ = soundfile.read(path, dtype="float32")
    assert np.array_equal(decoded([path], RATE, 1, 0.1)[0], np.pad(want, (0, 200)))
    assert np.array_equal(decoded([path], RATE, 1, 0.1, short="repeat")[0], np.concatenate([want, want[:200]]))
    assert np.array_equal(decoded([path], RATE, 1, 0.1, short="keep")[0], want)
    with pytest.raises(hr.SampleError, match=r"a\.wav.*800 samples are wanted, and there are 600"):
        decoded([path], RATE, 1, 0.1, short="error")
    assert decoded([path], RATE, 1, 0.1, start=9.0)[0].tolist() == [0] * 800
    with pytest.raises(hr.SampleError, match="nothing to repeat"):
        decoded([path], RATE, 1, 0.1, start=9.0, short="repeat")


@pytest.mark.parametrize(("rate", "to"), [(48000, 16000), (44100, 16000), (16000, 24000), (22050, 44100)])
def test_other_rates(tmp_path, rate, to):
    """Tones that both rates can have come out as what they are at the new one."""

    def tones(at):
        times = np.arange(at) / at
        return sum(np.sin(2 * np.pi * f * min(rate, to) / 2 * times + f) for f in (0.01, 0.1, 0.33, 0.6, 0.9)) / 6

    path = write(tmp_path / "a.wav", tones(rate).astype(np.float32), rate, subtype="FLOAT")
    (got,) = decoded([path], to, 1)
    assert len(got) == to
    assert np.abs(got - tones(to))[to // 10 : -to // 10].max() < 2e-6
    for start in (0.0, 0.3, 0.71):
        (part,) = decoded([path], to, 1, 0.2, start=start)
        at = int(start * to + 1e-6)
        assert np.array_equal(part, got[at : at + len(part)])


def test_random_windows(tmp_path):
    paths = [write(tmp_path / f"{i}.wav", noise(1, seed=i), subtype="FLOAT") for i in range(12)]
    whole = [soundfile.read(path, dtype="float32")[0] for path in paths]
    pipeline = hr.files(paths, content=CONTENT).decode_audio(RATE, 1, 0.05, start="random").batch(4)

    def epochs(**options):
        with pipeline.loader(epochs=2, **options) as loader:
            return [np.concatenate([batch["audio"] for batch in loader]) for _ in range(2)]

    first, second = epochs(workers=1)
    places = []
    for got, of in zip(first, whole, strict=True):
        starts = [at for at in range(len(of) - 399) if of[at] == got[0] and np.array_equal(of[at : at + 400], got)]
        assert starts
        places += starts
    assert len(set(places)) > 8
    assert not np.array_equal(first, second)
    assert np.array_equal(epochs(workers=4), [first, second])


def test_words_of_unlike_lengths_are_batched(tmp_path):
    paths = [write(tmp_path / f"{i}.wav", noise(1, 100 * (i % 5 + 1), i)) for i in range(20)]
    with hr.files(paths, content=CONTENT).decode_audio(channels=1).bucket_batch([200, 500], size=4).loader(epochs=1) as loader:
        assert sum(int(n) for batch in loader for n in batch["audio_length"]) == sum(100 * (i % 5 + 1) for i in range(20))


def test_batches_of_each_layout(tmp_path):
    paths = [write(tmp_path / f"{i}.wav", noise(2, 1000 + 100 * i, i)) for i in range(4)]
    files = hr.files(paths, content=CONTENT)
    for audio, shape in (
        ({"channels": "mono"}, (4, 800)),
        ({"layout": "TC"}, (4, 800, 2)),
        ({"layout": "CT"}, (4, 2, 800)),
    ):
        with files.decode_audio(duration=0.1, start=0.0, rate=RATE, **{"channels": 2, **audio}).batch(4).loader(epochs=1) as loader:
            (batch,) = [np.array(b["audio"]) for b in loader]
        assert batch.shape == shape
    with files.decode_audio(channels="mono").pack(2300, size=2).loader(epochs=1) as loader:
        rows = [(np.array(b["audio"]), np.array(b["audio_segment_ids"])) for b in loader]
    assert all(audio.shape[1:] == (2300,) for audio, _ in rows)
    whole = sorted(float(decoded([path], channels="mono")[0].sum()) for path in paths)
    packed = []
    for audio, ids in rows:
        packed += [float(row[of == n].sum()) for row, of in zip(audio, ids, strict=True) for n in set(of) - {0}]
    assert sorted(packed) == pytest.approx(whole, abs=1e-3)


def test_a_folder_is_listed_for_recordings(tmp_path):
    write(tmp_path / "a.wav", noise(1))
    (tmp_path / "b.txt").write_text("no recording")
    assert len(list(hr.files(tmp_path, content=CONTENT).decode_audio(RATE, 1, 0.1).batch(1).loader(epochs=1))) == 1


def file_of(data, **how):
    file = io.BytesIO()
    soundfile.write(file, data, RATE, **how)
    return file.getvalue()


def test_what_programs_write_that_cannot_go_back(tmp_path):
    """Sizes that say nothing: the samples go on until the file ends."""
    whole = file_of(noise(1), format="WAV", subtype="PCM_16")
    at = whole.index(b"data") + 4
    want, _ = soundfile.read(io.BytesIO(whole), dtype="float32")
    for size in (b"\xff\xff\xff\xff", bytes(4)):
        path = tmp_path / "pipe.wav"
        path.write_bytes(whole[:at] + size + whole[at + 4 :])
        assert np.array_equal(decoded([path], channels=1)[0], want)
    odd = whole[: at - 4] + b"LIST\x03\x00\x00\x00abc\x00" + whole[at - 4 :]
    (tmp_path / "odd.wav").write_bytes(odd)
    assert np.array_equal(decoded([tmp_path / "odd.wav"], channels=1)[0], want)


def test_the_standard_library_agrees(tmp_path):
    path = tmp_path / "a.wav"
    samples = (noise(2) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
        file.writeframes(samples.tobytes())
    assert np.array_equal(decoded([path], dtype="int16")[0], samples)


def damaged(change):
    whole = bytearray(file_of(noise(2), format="WAV", subtype="PCM_16"))
    change(whole)
    return bytes(whole)


def put(at, value):
    return lambda b: b.__setitem__(slice(at, at + len(value)), value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: b"", "is empty"),
        (lambda: b"no recording", "unknown format: it begins with"),
        (lambda: damaged(lambda b: b.__delitem__(slice(5000, None))), r"it ends after 1239 of 4000 samples"),
        (lambda: damaged(lambda b: b.__delitem__(slice(20, None))), "chunk fmt"),
        (lambda: damaged(put(22, b"\0\0")), "it has 0 channels"),
        (lambda: damaged(put(22, b"\xff\xff")), "it has 65535 channels"),
        (lambda: damaged(put(24, b"\0\0\0\0")), "it has 0 samples a second"),
        (lambda: damaged(put(24, b"\xff\xff\xff\x7f")), "cannot be converted to 16000"),
        (lambda: damaged(put(20, b"\x55\0")), "coded: format 0x0055 with 16 bits; "),
    ],
)
def test_files_that_are_damaged(tmp_path, make, message):
    (tmp_path / "a.wav").write_bytes(make())
    good = write(tmp_path / "good.wav", noise(2))
    with pytest.raises(hr.SampleError, match=message):
        decoded([tmp_path / "a.wav", good], 16000, 1, 0.1)
    with (
        hr.files([str(tmp_path / "a.wav"), good], content=CONTENT)
        .decode_audio(16000, 1, 0.1)
        .batch(1)
        .loader(epochs=1, on_error="skip") as loader
    ):
        assert len(list(loader)) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "rate is 0: must be from 1 to 1000000"),
        ({"channels": -1}, "channels is -1"),
        ({"duration": -1}, "duration is -1"),
        ({"duration": "long"}, "duration is 'long': must be a number of seconds"),
        ({"start": "middle"}, 'start is "middle"'),
        ({"start": "random"}, "set duration"),
        ({"layout": "T"}, "set channels=1"),
        ({"dtype": "int8"}, 'dtype is "int8"'),
        ({"rate": 8000, "channels": 1, "duration": 0.00001}, "which are"),
    ],
)
def test_arguments_that_are_wrong(tmp_path, given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files([str(tmp_path / "a.wav")], content=CONTENT).decode_audio(**given).batch(1).loader(epochs=1)


def test_no_more_is_read_than_the_window(tmp_path):
    """Of WAV and FLAC; others are read whole, into memory that is reserved."""
    names = ("a.wav", "a.flac", "a.ogg")
    paths = [write(tmp_path / name, noise(2, 400_000), subtype="VORBIS" if "ogg" in name else "PCM_16") for name in names]
    wav, flac, ogg = sizes = [Path(path).stat().st_size for path in paths]
    with hr.files(paths, content=CONTENT).decode_audio(duration=0.5, start=20.0).loader(epochs=1) as loader:
        for path, sample in zip(paths, loader, strict=True):
            want = soundfile.read(path, dtype="float32")[0][160_000:164_000]
            assert np.array_equal(sample["audio"], want) or "ogg" in path
        stats = loader.stats()
    read = sum(stage["bytes"] for stage in stats["stages"])
    (files,) = [purpose["peak"] for purpose in stats["memory"]["purposes"] if purpose["name"] == "files"]
    if CONTENT:
        assert read == sum(sizes)
    else:
        assert ogg + 16_000 < read < ogg + wav / 10 + flac / 2
        assert files == ogg


def test_relative_paths_are_the_programs(tmp_path, monkeypatch):
    """The engine, which an earlier loader has started, is elsewhere."""
    before = write(tmp_path / "before.wav", noise(2))
    folder = tmp_path / "there"
    folder.mkdir()
    write(folder / "good.wav", noise(2))
    decoding = {"rate": 16000, "channels": 1, "duration": 0.1}
    with hr.source([{"path": str(before)}]).decode_audio(**decoding).batch(1).loader(epochs=1) as loader:
        monkeypatch.chdir(folder)
        for path in ("good.wav", "../there/good.wav", str(folder / "good.wav")):
            with hr.source([{"path": path}]).decode_audio(**decoding).batch(1).loader(epochs=1) as other:
                assert len(list(other)) == 1
        assert len(list(loader)) == 1


def test_paths_that_lead_nowhere(tmp_path):
    good, gone = write(tmp_path / "good.wav", noise(2)), str(tmp_path / "gone.wav")
    decoding = {"rate": 16000, "channels": 1, "duration": 0.1}
    for path, message in (
        (gone, "gone.wav.*no such file"),
        ("gone.wav", "gone.wav.*no such file"),
        (str(tmp_path), "not a regular file but a folder"),
    ):
        named = hr.source([{"path": path, "key": "k"}, {"path": good, "key": "good"}]).decode_audio(**decoding).batch(1)
        with pytest.raises(hr.SampleError, match=message):
            list(named.loader(epochs=1))
        with named.loader(epochs=1, on_error="skip") as loader:
            assert [batch["key"] for batch in loader] == [["good"]]

"""Recordings in all codecs: windows are slices of what the ffmpeg command and libsndfile decode."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

import headrace as hr
from conftest import engines
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FORMATS = {
    "a.flac": "-c:a flac",
    "a.mp3": "-c:a libmp3lame",
    "a.ogg": "-c:a libvorbis",
    "a.opus": "-c:a libopus",
    "a.m4a": "-c:a aac -aac_pns 0",
    "alac.m4a": "-c:a alac",
    "a.aiff": "-c:a pcm_s16be",
    "a.mkv": "-f lavfi -i testsrc2=s=64x48:d=1.5 -c:v mpeg4 -c:a flac",
}
RATE, SECONDS = 48000, 1.5


@pytest.fixture(scope="module")
def folder():
    """Files of a second and a half, which stay for later runs."""
    where = Path(tempfile.gettempdir()) / f"headrace-sound-{os.getuid()}" / "python"
    where.mkdir(parents=True, exist_ok=True)
    tones = f"aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(900*t*t)|0.2*random(0):s={RATE}:d={SECONDS}"
    for name, how in FORMATS.items():
        if not (where / name).exists():
            made = where / f"{os.getpid()}-{name}"
            ffmpeg("-f", "lavfi", "-i", tones, *how.split(), str(made))
            made.rename(where / name)
    return where


def by_ffmpeg(path):
    return np.frombuffer(ffmpeg("-i", str(path), "-f", "f32le", "-"), np.float32).reshape(-1, 2)


def decoded(paths, *args, **options):
    with hr.files([str(path) for path in paths]).decode_audio(*args, **options).loader(epochs=1, workers=2) as loader:
        return [sample["audio"] for sample in loader]


def test_the_whole_and_its_windows(folder):
    paths = [folder / name for name in FORMATS]
    middles = decoded(paths, duration=0.25, start=0.7)
    with hr.files([str(path) for path in paths], content=False).decode_audio(duration=0.25, start=0.7).loader(epochs=1) as loader:
        assert all(np.array_equal(sample["audio"], middle) for sample, middle in zip(loader, middles, strict=True))
    for path, whole, middle in zip(paths, decoded(paths), middles, strict=True):
        want = by_ffmpeg(path)
        assert len(whole) == int(RATE * SECONDS), path
        assert np.array_equal(whole, want[: len(whole)]), path
        want = whole[int(0.7 * RATE) :][: RATE // 4]
        assert np.abs(middle - want).max() <= (1e-5 if path.suffix == ".opus" else 0), path


@pytest.mark.parametrize("name", ["a.flac", "a.aiff"])
def test_libsndfile_agrees(folder, name):
    want, rate = soundfile.read(folder / name, dtype="float32")
    assert rate == RATE
    assert np.array_equal(decoded([folder / name])[0], want)


def test_windows_tile_at_another_rate(folder):
    (whole,) = decoded([folder / "a.mp3"], 16000, "mono")
    parts = [decoded([folder / "a.mp3"], 16000, "mono", 0.3, start=k * 0.3)[0] for k in range(5)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_a_folder_is_listed_for_all_of_them(folder):
    assert len(list(hr.files(folder).decode_audio(16000, 1, 0.1, start="random").batch(1).loader(epochs=1))) == len(FORMATS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b[: len(b) // 2], r"a\.mp3\"?.*it ends after"),
        (lambda b: b[:3000] + bytes(500) + b[3500:], r"a\.mp3\"?.*should begin frame"),
        (lambda b: b"ID3", r"a\.mp3\"?.*no frame is found"),
    ],
)
def test_damage_is_named(folder, tmp_path, change, message):
    (tmp_path / "a.mp3").write_bytes(change((folder / "a.mp3").read_bytes()))
    with pytest.raises(hr.SampleError, match=message):
        decoded([tmp_path / "a.mp3"], 16000, 1, 0.1)


def test_streams(folder, tmp_path):
    ffmpeg("-i", str(folder / "a.flac"), "-i", str(folder / "a.mp3"), "-map", "0", "-map", "1", "-c", "copy", str(tmp_path / "two.mka"))
    first, second = (decoded([tmp_path / "two.mka"], stream=n)[0] for n in range(2))
    assert np.array_equal(first, by_ffmpeg(folder / "a.flac"))
    assert not np.array_equal(first[: len(second)], second)
    with pytest.raises(hr.SampleError, match="there is no audio track 2: the file has 2, counted from 0"):
        decoded([tmp_path / "two.mka"], stream=2)
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.2", "-c:v", "mpeg4", str(tmp_path / "silent.mp4"))
    with pytest.raises(hr.SampleError, match=r"silent\.mp4\"?.*the file has no audio"):
        decoded([tmp_path / "silent.mp4"])


@pytest.mark.parametrize("name", FORMATS)
def test_one_file_without_a_loader(folder, name):
    """load_audio gives what decode_audio gives, of a path, of bytes and of an object with read()."""
    path = folder / name
    samples, rate = hr.io.load_audio(path)
    assert rate == RATE
    assert hr.io.audio_info(path) == (RATE, 2, len(samples))
    assert hr.io.audio_info(path).duration == SECONDS
    assert np.array_equal(samples, decoded([path])[0])
    mono, rate = hr.io.load_audio(path.read_bytes(), 16000, "mono", start=0.5, duration=0.25)
    assert rate == 16000
    assert np.array_equal(mono, decoded([path], 16000, "mono", 0.25, start=0.5)[0])
    with path.open("rb") as file:
        whole, rate = hr.io.load_audio(file, 16000, 2, dtype="int16", layout="CT", start=1.4, duration=0.25, short="silence")
    assert whole.dtype == np.int16
    assert whole.shape == (2, 4000)
    assert np.array_equal(whole, decoded([path], 16000, 2, 0.25, dtype="int16", layout="CT", start=1.4)[0])


def test_what_is_no_recording_is_not_read_to_its_end(tmp_path):
    """Its first bytes tell that, however large it is."""
    hollow = tmp_path / "hollow.wav"
    with open(hollow, "wb") as file:
        file.truncate(900 << 20)
    hr.io.save_image(None, np.zeros((2, 2, 3), np.uint8), format="png")  # the engine is there
    (engine,) = engines()
    before = read_by(engine)
    for read in (hr.io.load_audio, hr.io.audio_info):
        with pytest.raises(hr.MediaError, match="unknown format"):
            read(hollow)
    assert read_by(engine) - before < 16 << 20


def read_by(pid: int) -> int:
    """The bytes that a process has read so far."""
    return int(dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())["rchar"])


def test_empty_and_wrong_windows_of_one_file(folder, tmp_path):
    assert hr.io.load_audio(folder / "a.flac", start=9.0)[0].shape == (0, 2)
    assert hr.io.load_audio(folder / "a.flac", 16000, 1, start=9.0, duration=1.0)[0].shape == (0,)
    for wrong, message in (
        ({"start": "random"}, "start is 'random'"),
        ({"start": -1.0}, "start is -1.0: must be from 0"),
        ({"dtype": "float64"}, "dtype is 'float64'"),
        ({"layout": "T"}, "has one channel: set channels=1"),
        ({"start": "center"}, "set duration"),
        ({"duration": 9.0, "short": "error"}, "samples are wanted"),
        ({"stream": 1}, "there is no audio track 1: the file has 1"),
    ):
        with pytest.raises(hr.MediaError, match=message):
            hr.io.load_audio(folder / "a.flac", **wrong)
    with pytest.raises(TypeError, match="rate is 'high'"):
        hr.io.load_audio(folder / "a.flac", "high")
    with pytest.raises(FileNotFoundError):
        hr.io.load_audio(tmp_path / "nowhere.mp3")
    (tmp_path / "a.mp3").write_bytes((folder / "a.mp3").read_bytes()[:9000])
    with pytest.raises(hr.MediaError, match=r"load_audio: .*a\.mp3.*it ends after"):
        hr.io.load_audio(tmp_path / "a.mp3")
    with pytest.raises(hr.MediaError, match=r"audio_info: .*unknown format"):
        hr.io.audio_info(b"no recording")

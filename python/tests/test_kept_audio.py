"""damaged="keep" of recordings: what is there of files that are cut off, and silence for what is damaged."""

import subprocess

import numpy as np
import pytest

import headrace as hr
from conftest import cases

RATE = 48000

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FRONT = ["-movflags", "+faststart"]
PARTS = ["-movflags", "+frag_keyframe+empty_moov", "-frag_duration", "200000"]
FORMATS = {
    "a.wav": ["pcm_s16le"],
    "adpcm.wav": ["adpcm_ms"],
    "a.w64": ["pcm_s16le"],
    "a.aiff": ["pcm_s16be"],
    "a.au": ["pcm_s16be"],
    "a.caf": ["pcm_s16be"],
    "a.flac": ["flac"],
    "a.mp3": ["libmp3lame", "-b:a", "128k"],
    "a.aac": ["aac"],
    "a.ogg": ["libvorbis"],
    "a.opus": ["libopus"],
    "flac.ogg": ["flac"],
    "a.mka": ["flac"],
    "a.webm": ["libopus"],
    "a.m4a": ["aac", *FRONT],
    "alac.m4a": ["alac", *FRONT],
    "pcm.mov": ["pcm_s16le", *FRONT],
    "parts.mp4": ["aac", *PARTS],
    "a.wma": ["wmav2"],
    "a.ac3": ["ac3"],
    "a.wv": ["wavpack", "-frame_size", "4800"],
    "a.ts": ["mp2", "-f", "mpegts"],
    "a.mpg": ["mp2", "-f", "mpeg"],
    "a.avi": ["libmp3lame"],
    "a.flv": ["aac"],
}
# Where the decoder's last packet sounds otherwise than it does when another one follows.
TAILS = {"a.wma": 4096}
FILMS = ["film.mp4", "film.mkv", "film.ts", "film.avi"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Noise, so that any two places differ, and packets have many bytes."""
    folder = tmp_path_factory.mktemp("kept")
    samples = np.random.default_rng(5).normal(0, 0.1, RATE + 5).astype("<f4")
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=32x32:r=25:d=1", "-f", "f32le", "-ar", str(RATE), "-ac", "1"]
    command += ["-i", "-"]
    for name, how in FORMATS.items():
        command += ["-map", "1", "-c:a", *how, "-bitexact", str(folder / name)]
    for name in FILMS:
        command += ["-map", "0", "-map", "1", "-c:v", "mpeg4", "-c:a", "mp2", *FRONT, str(folder / name)]
    subprocess.run(command, input=samples.tobytes(), check=True)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def piped(path, **how):
    with hr.files([str(path)], content=False).decode_audio(**how).loader(epochs=1, on_error="skip") as loader:
        got = [np.array(sample["audio"]) for sample in loader]
        return got, loader.stats(), loader.errors


def loaded(data):
    """The samples of what is whole, as ADTS is after any frame, or the error."""
    try:
        return hr.io.load_audio(data, channels=1)[0]
    except hr.MediaError as error:
        return str(error)


def kept(path):
    """What all that decode audio make of a file."""
    all, _ = hr.io.load_audio(path, channels=1, damaged="keep")
    pieces = list(hr.io.stream_audio(path, 0.3, channels=1, damaged="keep"))
    assert np.array_equal(np.concatenate([all[:0], *pieces]), all)
    assert hr.io.audio_info(path, damaged="keep").samples == len(all)
    return all


@pytest.fixture(scope="module")
def cuts(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    for name, data in files.items():
        (folder / name).write_bytes(data)
        (folder / f"cut-{name}").write_bytes(data[: len(data) * 7 // 10 + 1])
    return folder


def test_of_a_file_that_is_cut_off_there_is_what_comes_before(cuts):
    for name in FORMATS:
        want, _ = hr.io.load_audio(cuts / name, channels=1)
        assert np.array_equal(kept(cuts / name), want), name
        with pytest.raises(hr.MediaError, match='with damaged="keep" read what is there'):
            hr.io.load_audio(cuts / f"cut-{name}")
        got = kept(cuts / f"cut-{name}")
        assert 0.4 * len(want) < len(got) < 0.75 * len(want), name
        same = len(got) - TAILS.get(name, 0)
        assert np.array_equal(got[:same], want[:same]), name


@pytest.mark.parametrize("name", FORMATS)
def test_random_cuts(files, name):
    """What is kept is what a whole file begins with, and lacks no more than a packet of what is there."""
    data, random = files[name], np.random.default_rng(list(name.encode()))
    want, _ = hr.io.load_audio(data, channels=1)
    for cut in random.integers(len(data) // 2, len(data), cases(2, 200)):
        got = kept(data[:cut])
        same = len(got) - TAILS.get(name, 0)
        assert np.array_equal(got[: max(same, 0)], want[: max(same, 0)]), cut
        assert len(got) <= len(want), cut
        head = 6000 if name.endswith((".avi", ".ogg", ".mka", ".mp4", ".m4a")) else 1000  # bytes beside packets, at most
        assert len(got) > len(want) * (cut - head) / len(data) - 6000, cut
        plain = loaded(data[:cut])
        assert 'damaged="keep"' in plain if isinstance(plain, str) else np.array_equal(plain, got), cut


def test_the_pipeline_counts_what_it_keeps(cuts):
    (whole,), counted, _ = piped(cuts / "a.opus", damaged="keep")
    assert "damaged_audio" not in counted
    (got,), counted, errors = piped(cuts / "cut-a.opus", damaged="keep")
    assert counted["damaged_audio"] == 1
    assert "Damaged recordings that were kept: 1." in counted["text"]
    assert len(errors) == 0
    assert np.array_equal(got, whole[: len(got)])
    got, _, errors = piped(cuts / "cut-a.opus")
    assert got == []
    assert 'damaged="keep"' in str(next(iter(errors)))


@pytest.mark.parametrize("more", [1, 250, 1 << 24])
def test_wav_whose_size_is_too_long(files, tmp_path, more):
    data = bytearray(files["a.wav"])
    at = data.index(b"data") + 4
    size = int.from_bytes(data[at : at + 4], "little")
    data[at : at + 4] = (size + 2 * more).to_bytes(4, "little")
    path = tmp_path / "long.wav"
    path.write_bytes(data)
    with pytest.raises(hr.MediaError, match=rf'it ends after {size // 2} of .* damaged="keep"'):
        hr.io.load_audio(path)
    want, _ = hr.io.load_audio(files["a.wav"], channels=1)
    assert np.array_equal(kept(path), want)


@pytest.mark.parametrize("name", ["a.flac", "a.mka", "a.wv"])
def test_damage_is_silence_and_the_rest_stays_in_place(files, name):
    data = bytearray(files[name])
    at = len(data) // 2
    data[at : at + 1500] = bytes(byte ^ 0x5A for byte in data[at : at + 1500])
    want, _ = hr.io.load_audio(files[name], channels=1)
    got = kept(bytes(data))
    assert len(got) == len(want)
    differs = np.flatnonzero(np.abs(got - want) > 1e-3)
    assert len(differs) > 0
    assert len(want) // 4 < differs[0]
    assert differs[-1] < len(want) * 3 // 4


class Windows:
    def __init__(self, files, windows):
        self.all = [(str(file), window) for file in files for window in windows]

    def __len__(self):
        return len(self.all)

    def __getitem__(self, i):
        path, when = self.all[i]
        return {"path": path, "when": np.array(when)}


def heard(files, windows, **how):
    pipeline = hr.source(Windows(files, windows)).decode_audio(window="when", rate=RATE, channels=1, **how)
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        return {int(sample["key"]): np.array(sample["audio"]) for sample in loader}, loader.stats().get("damaged_audio", 0)


def test_windows_of_a_field(cuts):
    """Where a window is whole it is as without keep; missing audio is silence, and counted."""
    windows = [[0.1, 0.3], [0.4, 0.9], [0.85, 0.95]]
    names = [*FILMS, "a.wav", "a.ogg"]
    whole, cut = [cuts / name for name in names], [cuts / f"cut-{name}" for name in names]
    plain, _ = heard(whole, windows)
    got, counted = heard([*whole, *cut], windows, damaged="keep")
    n = 3 * len(names)
    assert sorted(got) == list(range(2 * n))
    assert 2 * len(names) <= counted <= n
    for i in range(n):
        assert np.array_equal(plain[i], got[i]), i

    for i in range(n, 2 * n, 3):
        name, want = names[i // 3 - len(names)], plain[i - n + 1]
        for k in range(2):
            there = np.flatnonzero(got[i + k])[-1] + 1
            assert there > RATE // 20, name
            assert np.abs(got[i + k][:there] - plain[i - n + k][:there]).max() < 2e-4, name
        assert there < 0.9 * len(want), name
        assert not got[i + 2].any(), name


def test_what_cannot_be_kept_says_so(files, cuts, tmp_path):
    with pytest.raises(hr.MediaError, match="damaged is 'all'"):
        hr.io.load_audio(cuts / "a.wav", damaged="all")
    for data in (files["a.flac"][:200], files["a.mp3"][:100], files["a.m4a"][:700]):
        with pytest.raises(hr.MediaError) as failed:
            hr.io.load_audio(data, damaged="keep")
        assert "keep" not in str(failed.value)

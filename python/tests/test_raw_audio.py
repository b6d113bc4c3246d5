"""Files that are nothing but samples."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import soundfile

import films
import headrace as hr

FORMATS = ("u8", "s8", "s16le", "s24le", "s32le", "f32le", "f64le", "s16be", "s24be", "s32be", "f32be", "f64be", "alaw", "mulaw")


pytestmark = pytest.mark.usefixtures("io_closed")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    source = ["-f", "lavfi", "-i", "aevalsrc='0.6*sin(500*t)|0.3*sin(900*t)':s=8000:d=0.5"]
    outputs = [part for name in FORMATS for part in ("-map", 0, "-c:a", f"pcm_{name}", "-f", name, folder / f"a.{name}")]
    films.ffmpeg(*source, *outputs)
    return folder


def command(path, form):
    given = ["-f", form, "-ar", 8000, "-ac", 2]
    return np.frombuffer(films.ffmpeg(*given, "-i", path, "-f", "f32le", "-"), np.float32).reshape(-1, 2)


@pytest.mark.parametrize("form", FORMATS)
def test_samples_are_those_of_the_command(made, form):
    path = made / f"a.{form}"
    want = command(path, form)
    for src in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        got, rate = hr.io.load_audio(src, 8000, 2, format=form)
        assert rate == 8000
        assert np.array_equal(got, want)


def test_windows_rates_and_pieces(made):
    path = made / "a.s16le"
    whole, rate = hr.io.load_audio(path, format="s16le", format_options={"sample_rate": 8000, "channels": 2})
    assert (rate, whole.shape) == (8000, (4000, 2))
    window, _ = hr.io.load_audio(path, 8000, 2, start=0.1, duration=0.2, format="s16le")
    assert np.array_equal(window, whole[800:2400])
    soundfile.write(path.with_suffix(".wav"), np.fromfile(path, "<i2").reshape(-1, 2), 8000)
    how = {"format": "s16le", "format_options": "sample_rate=8000:channels=2"}
    mono, rate = hr.io.load_audio(path, 11025, "mono", **how)
    assert np.array_equal(mono, hr.io.load_audio(path.with_suffix(".wav"), 11025, "mono")[0])
    pieces = list(hr.io.stream_audio(path, 0.07, 11025, "mono", **how))
    assert np.array_equal(np.concatenate(pieces), mono)
    for content in (True, False):
        steps = hr.files(str(path), content=content).decode_audio(8000, 2, duration=0.25, start=0.2, format="s16le")
        with steps.batch(1).loader() as loader:
            assert np.array_equal(next(iter(loader))["audio"][0], whole[1600:3600])


def test_a_file_that_is_cut_off(made, tmp_path):
    data = (made / "a.s16le").read_bytes()[:-1]
    with pytest.raises(hr.MediaError, match="the last 3 bytes are less than a sample of s16le with 2 channels"):
        hr.io.load_audio(data, 8000, 2, format="s16le")
    got, _ = hr.io.load_audio(data, 8000, 2, format="s16le", damaged="keep")
    assert got.shape == (3999, 2)
    empty = tmp_path / "none"
    empty.write_bytes(b"")
    with pytest.raises(hr.MediaError):
        hr.io.load_audio(empty, 8000, 2, format="s16le")


REFUSED = [
    ({"format": "s16"}, 'format is "s16": raw samples are alaw, f32be'),
    ({"format": "s16le"}, "does not say how many samples a second there are: set rate"),
    ({"format": "s16le", "format_options": {"rate": 8000}}, 'has "rate": raw samples have sample_rate and channels'),
    ({"format": "s16le", "format_options": {"sample_rate": 0}}, 'has sample_rate "0": must be from 1 to 1000000'),
    ({"format": "s16le", "format_options": {"sample_rate": 8000, "channels": 999}}, 'has channels "999": must be from 1 to 256'),
    ({"format_options": {"sample_rate": 8000}}, "is for raw samples: set format"),
]


def test_what_is_refused(made):
    for how, why in REFUSED:
        with pytest.raises(hr.MediaError, match=re.escape(why.split(" is ", 1)[-1] if why.startswith("format is") else why)):
            hr.io.load_audio(made / "a.s16le", **how)
        with pytest.raises(hr.errors.RecipeError, match=re.escape(why)):
            hr.files(str(made / "a.s16le")).decode_audio(duration=1.0, **how).loader()
    with pytest.raises(hr.errors.WrongType, match="format is 3"):
        hr.io.load_audio(made / "a.s16le", 8000, format=3)

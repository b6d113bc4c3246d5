"""Filters and decoders by name for audio, in files, pieces, pipelines and beside video."""

from __future__ import annotations

import re

import numpy as np
import pytest

import films
import headrace as hr
from conftest import WHOLE

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

TONE = "aevalsrc='0.4*sin(700*t)+0.1*random(0)|0.3*sin(900*t*t)':s=44100:d=1.5"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    codecs = {
        "a.wav": [], "a.flac": [], "a.mp3": ["-b:a", "128k"], "a.m4a": ["-b:a", "128k"], "a.ogg": ["-c:a", "libvorbis"],
        "a.opus": ["-c:a", "libopus", "-ar", 48000], "a.ac3": ["-b:a", "192k"], "a.mka": ["-c:a", "flac"],
    }  # fmt: skip
    outputs = [part for name, how in codecs.items() for part in ("-map", 0, *how, "-bitexact", folder / name)]
    films.ffmpeg("-f", "lavfi", "-i", TONE, *outputs)
    films.clappers(folder)
    return folder


def command(path, graph, *more):
    raw = films.ffmpeg(*more, "-i", path, "-af", f"aformat=flt,{graph},aformat=flt", "-f", "f32le", "-c:a", "pcm_f32le", "-")
    return np.frombuffer(raw, np.float32).reshape(-1, 2)


def pieces(path, n=777, **how):
    with hr.io.stream_audio(path, samples=n, **how) as stream:
        return np.concatenate(list(stream))


GRAPHS = ["volume=0.5", "highpass=f=200,lowpass=f=3000", "aecho=0.8:0.9:40:0.3", "atempo=1.25", "areverse", "aresample=16000:resampler=swr"]


@pytest.mark.parametrize("graph", GRAPHS if WHOLE else GRAPHS[-3:])
def test_filters_are_those_of_the_command(made, graph):
    for name in ("a.wav", "a.flac", "a.mka") if WHOLE else ("a.wav",):
        path = made / name
        want = command(path, graph)
        got, rate = hr.io.load_audio(path, filter=graph)
        assert rate == (16000 if "aresample" in graph else 44100)
        assert got.shape == want.shape
        assert np.abs(got - want).max() < 1e-6, name
        assert np.array_equal(pieces(path, filter=graph), got)
        assert np.array_equal(hr.io.load_audio(path.read_bytes(), filter=graph)[0], got)


def test_windows_rates_and_channels_follow_the_filter(made):
    path = made / "a.wav"
    want = command(path, "atrim=start_sample=4410:end_sample=26460,asetpts=PTS-STARTPTS,aecho=0.8:0.9:40:0.3")
    got, _ = hr.io.load_audio(path, start=0.1, filter="aecho=0.8:0.9:40:0.3", short="keep")
    assert np.abs(got[:22050] - want[:22050]).max() < 1e-6
    cut, _ = hr.io.load_audio(path, start=0.1, duration=0.5, filter="aecho=0.8:0.9:40:0.3")
    assert np.array_equal(cut, got[:22050])
    assert np.array_equal(
        pieces(path, start="1/10", end="3/5", filter="volume=2"), hr.io.load_audio(path, start=0.1, duration=0.5, filter="volume=2")[0]
    )
    plain, rate = hr.io.load_audio(path, 16000, "mono", filter="anull")
    assert rate == 16000
    assert np.array_equal(plain, hr.io.load_audio(path, 16000, "mono")[0])
    for how in ({}, {"dtype": "int16"}, {"layout": "CT"}):
        whole = hr.io.load_audio(path, 16000, 2, filter="highpass=200", **how)[0]
        with hr.io.stream_audio(path, 0.3, 16000, 2, filter="highpass=200", **how) as stream:
            assert np.array_equal(np.concatenate(list(stream), 1 if "layout" in how else 0), whole)
    short = {"duration": 1.0, "filter": "atempo=2"}
    assert hr.io.load_audio(path, **short)[0].shape[0] == pytest.approx(22050, abs=1000)
    silent, _ = hr.io.load_audio(path, short="silence", **short)
    assert silent.shape == (44100, 2)
    assert not silent[23000:].any()
    repeated, _ = hr.io.load_audio(path, short="repeat", **short)
    n = hr.io.load_audio(path, **short)[0].shape[0]
    assert np.array_equal(repeated[n:], repeated[: 44100 - n])
    with pytest.raises(hr.MediaError, match="44100 samples are wanted, and there are 2"):
        hr.io.load_audio(path, short="error", **short)
    endless, _ = hr.io.load_audio(path, duration=2.0, filter="apad", short="error")
    assert endless.shape == (88200, 2)
    raw = {"format": "f32le", "format_options": {"sample_rate": 44100, "channels": 2}}
    samples = hr.io.load_audio(path)[0]
    assert np.array_equal(
        hr.io.load_audio(samples.tobytes(), filter="volume=0.5", **raw)[0], hr.io.load_audio(path, filter="volume=0.5")[0]
    )


def test_pipelines_filter_too(made):
    want = hr.io.load_audio(made / "a.wav", 16000, 1, start=0.25, duration=1.0, filter="highpass=200,aecho=0.8:0.9:40:0.3")[0]
    for content in (True, False):
        steps = hr.files(str(made / "a.wav"), content=content)
        steps = steps.decode_audio(16000, 1, duration=1.0, start=0.25, filter="highpass=200,aecho=0.8:0.9:40:0.3")
        for program in (steps.batch(1), steps.map(lambda s: s).batch(1)):
            with program.loader(epochs=1) as loader:
                assert np.array_equal(next(iter(loader))["audio"][0], want)
    whole = hr.files(str(made / "a.mp3")).decode_audio(filter="atempo=1.25")
    with whole.loader(epochs=1) as loader:
        assert np.array_equal(next(iter(loader))["audio"], hr.io.load_audio(made / "a.mp3", filter="atempo=1.25")[0])
    heard = (
        hr.files(str(made / "same.mkv"), content=False)
        .decode_video(start=0.5, duration=1.0, window="w", to="v")
        .decode_audio(48000, 1, window="w", filter="volume=0.5")
    )
    plain = (
        hr.files(str(made / "same.mkv"), content=False)
        .decode_video(start=0.5, duration=1.0, window="w", to="v")
        .decode_audio(48000, 1, window="w")
    )
    with heard.loader(epochs=1) as one, plain.loader(epochs=1) as two:
        a, b = next(iter(one))["audio"], next(iter(two))["audio"]
        assert a.shape == b.shape
        assert np.array_equal(a, b / 2)


def test_beside_video(made):
    for name in ("same.mkv", "late.mkv", "early.mkv", "same.mp4") if WHOLE else ("early.mkv", "same.mp4"):
        path = made / name
        plain = hr.io.load_media(path, start=0.4, duration=1.2, rate=48000)
        half = hr.io.load_media(path, start=0.4, duration=1.2, rate=48000, audio_filter="volume=0.5", filter="negate")
        assert np.array_equal(half.audio, plain.audio / 2)
        assert half.audio.any()
        assert np.array_equal(half.video, hr.io.load_video(path, start=0.4, duration=1.2, filter="negate"))
        assert np.array_equal(half.seconds, plain.seconds)
        every = hr.io.load_media(path, rate=48000, audio_filter="highpass=100", filter="negate")
        with hr.io.stream_media(path, 7, rate=48000, audio_filter="highpass=100", filter="negate") as stream:
            got = list(stream)
        assert np.array_equal(np.concatenate([piece.video for piece in got]), every.video)
        assert np.array_equal(np.concatenate([piece.audio for piece in got]), every.audio)
        assert np.array_equal(np.concatenate([piece.seconds for piece in got]), every.seconds)
    silent = hr.io.load_media(made / "mute.mkv", rate=8000, audio_filter="volume=0.5")
    assert silent.audio.shape[0] == 24000
    assert not silent.audio.any()
    with pytest.raises(hr.MediaError, match=r"makes \d+ of the 75 frames that enter it"):
        hr.io.load_media(made / "same.mkv", filter="fps=10")
    with hr.io.stream_media(made / "same.mkv", 8, filter="fps=10") as stream:
        got = list(stream)
    assert sum(len(piece.video) for piece in got) == 30
    assert np.array_equal(np.concatenate([piece.video for piece in got]), hr.io.load_video(made / "same.mkv", filter="fps=10"))
    named = hr.io.load_media(made / "same.mp4", decoder="h264", decoder_options={"threads": 2}, audio_decoder="alac")
    assert np.array_equal(named.video, hr.io.load_media(made / "same.mp4").video)
    assert np.array_equal(named.audio, hr.io.load_media(made / "same.mp4").audio)


OTHERS = [
    ("a.mp3", "mp3"),
    ("a.m4a", "aac_fixed"),
    ("a.ogg", "libvorbis"),
    ("a.opus", "libopus"),
    ("a.ac3", "ac3_fixed"),
    ("a.flac", "flac"),
    ("a.wav", "pcm_s16le"),
    ("a.mka", "flac"),
]


@pytest.mark.parametrize(("name", "decoder"), OTHERS if WHOLE else [OTHERS[1], OTHERS[6]])
def test_a_decoder_by_name(made, name, decoder):
    path = made / name
    known = films.ffmpeg("-decoders").decode()
    if f" {decoder} " not in known:
        pytest.skip(f"this FFmpeg has no {decoder}")
    got, rate = hr.io.load_audio(path, decoder=decoder)
    usual, same = hr.io.load_audio(path)
    assert (rate, got.shape) == (same, usual.shape)
    assert np.abs(got - usual).max() < 2e-2
    raw = np.frombuffer(films.ffmpeg("-c:a", decoder, "-i", path, "-f", "f32le", "-"), np.float32).reshape(-1, 2)
    n = min(len(raw), len(got))
    assert n > 60000
    assert np.abs(got[:n] - raw[:n]).max() < 2e-4
    assert np.array_equal(pieces(path, decoder=decoder), got)
    steps = hr.files(str(path), content=False).decode_audio(16000, 1, duration=0.5, start=0.2, decoder=decoder).batch(1)
    with steps.loader(epochs=1) as loader:
        want = hr.io.load_audio(path, 16000, 1, start=0.2, duration=0.5, decoder=decoder)[0]
        assert np.array_equal(next(iter(loader))["audio"][0], want)


def test_options_of_a_decoder(made):
    for options in ({"drc_scale": 0}, "drc_scale=0"):
        got, _ = hr.io.load_audio(made / "a.ac3", decoder_options=options)
        raw = np.frombuffer(films.ffmpeg("-drc_scale", 0, "-i", made / "a.ac3", "-f", "f32le", "-"), np.float32).reshape(-1, 2)
        assert np.array_equal(got[: len(raw)], raw[: len(got)])
        assert np.array_equal(pieces(made / "a.ac3", decoder_options=options), got)


REFUSED = [
    ({"filter": "nosuch"}, "No such filter"),
    ({"filter": "asplit[x][y]"}, "must have one output, of audio"),
    ({"filter": "showwaves"}, "must have one output, of audio"),
    ({"filter": "amovie=/etc/passwd,amix"}, "may open a file"),
    ({"decoder": "nosuch"}, "there is no decoder nosuch: mp3 is decoded by mp3"),
    ({"decoder": "h264"}, "cannot be used for mp3: choose one of"),
    ({"decoder_options": {"nosuch": 1}}, "has no option nosuch"),
    ({"decoder_options": {"threads": "0x100"}}, "a decoder may have 64 threads, in plain digits, not 0x100"),
    ({"decoder_options": {"threads": "1e6"}}, "in plain digits, not 1e6"),
    ({"decoder_options": {"threads": 65}}, "in plain digits, not 65"),
]


def test_what_is_refused(made):
    for how, why in REFUSED:
        for call in (hr.io.load_audio, pieces):
            with pytest.raises(hr.MediaError, match=re.escape(why)):
                call(made / "a.mp3", **how)
        steps = hr.files(str(made / "a.mp3")).decode_audio(16000, 1, duration=0.5, **how).batch(1)
        with steps.loader(epochs=1) as loader, pytest.raises(hr.HeadraceError, match=re.escape(why)):
            next(iter(loader))
    with pytest.raises(hr.errors.WrongType, match="filter is 3: must be a graph"):
        hr.io.load_audio(made / "a.mp3", filter=3)
    with pytest.raises(hr.errors.WrongType, match="decoder is 3: must be FFmpeg's name"):
        hr.io.load_audio(made / "a.mp3", decoder=3)
    with pytest.raises(hr.MediaError, match='is for coded audio, but format is "s16le"'):
        hr.io.load_audio(made / "a.wav", 8000, format="s16le", decoder="pcm_s16le")
    if WHOLE:
        with pytest.raises(hr.MediaError, match="gives more than 134217728 samples of 2 channels"):
            hr.io.load_audio(made / "a.wav", filter="aloop=loop=-1:size=40000")
    with pytest.raises(hr.MediaError, match="have 64 threads"):
        hr.io.save_video(None, np.zeros((2, 16, 16, 3), np.uint8), 25, format="mp4", options={"threads": "0x100"})

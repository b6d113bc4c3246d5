"""save_video with audio that is copied from a file: the packets are the file's, and sound and image stay together."""

import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import some

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


def ffmpeg(*args):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, args)], check=True)


def probe(path, *args):
    asked = ["ffprobe", "-v", "error", "-of", "json", *args, path]
    return json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


def starts(path):
    """When the first frame is shown, and when the first packet of sound begins."""
    kinds = {}
    for stream in probe(path, "-show_entries", "stream=codec_type,start_time")["streams"]:
        kinds.setdefault(stream["codec_type"], float(stream["start_time"]))
    return kinds["video"], kinds["audio"]


def hash_of(path):
    """Of the coded sound, by FFmpeg."""
    asked = ["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "streamhash", "-hash", "md5", "-"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc=d=3:r=25:s=64x48", "-f", "lavfi", "-i", "aevalsrc=sin(t*t*900):d=3.4:s=44100", "-c:a", "aac", path)
    return path


@pytest.mark.parametrize("suffix", some(["mp4", "ts", "mkv", "mov"], 2))
def test_packets_and_times(film, tmp_path, suffix):
    frames = 255 - hr.io.load_video(film)
    made, copied = tmp_path / f"made.{suffix}", tmp_path / f"copied.{suffix}"
    hr.io.save_video(made, frames, 25, audio=film)
    ffmpeg("-i", film, "-c", "copy", copied)
    assert hash_of(made) == hash_of(copied)
    (video, audio), (video2, audio2) = starts(made), starts(copied)
    assert audio - video == pytest.approx(audio2 - video2, abs=0.0011)
    assert len(hr.io.load_video(made)) == len(frames)
    if suffix in ("mp4", "mov"):
        assert np.array_equal(hr.io.load_audio(made)[0], hr.io.load_audio(film)[0])
    order = [(p["codec_type"], float(p["dts_time"])) for p in probe(made, "-show_packets")["packets"]]
    seen = {"video": 0.0, "audio": 0.0}
    for kind, at in order:  # they come side by side, as they are played
        seen[kind] = at
        assert at < 2.9 or kind == "audio" or seen["audio"] > 2.5
        assert at > 3 or abs(seen["video"] - seen["audio"]) < 0.6, order


def test_a_window(film, tmp_path):
    frames = hr.io.load_video(film, start=1.2, duration=1.2)
    sound, rate = hr.io.load_audio(film, start=1.2, duration=1.2)
    part = hr.io.demux(film, start=1.2, end=2.4, streams="audio")
    hr.io.save_video(tmp_path / "part.mp4", iter(frames), 25, audio=part)
    again, rate2 = hr.io.load_audio(tmp_path / "part.mp4")
    assert rate == rate2
    assert np.abs(again[: len(sound)] - sound).max() < 1e-4  # fewer packets come before it, of which AAC has traces
    assert len(again) - len(sound) <= 1024
    video, audio = starts(tmp_path / "part.mp4")
    assert abs(video - audio) < 0.05


RECORDINGS = [
    ("aac", "aac", "mp4"),
    ("flac", "flac", "mkv"),
    ("libopus", "ogg", "webm"),
    ("libmp3lame", "mp3", "mp4"),
    ("pcm_s16le", "wav", "avi"),
]


@pytest.mark.parametrize(("codec", "source", "suffix"), some(RECORDINGS, 2))
def test_recordings(tmp_path, codec, source, suffix):
    ffmpeg("-f", "lavfi", "-i", "aevalsrc=sin(t*t*900):d=2:s=48000", "-c:a", codec, tmp_path / f"a.{source}")
    frames = np.zeros((50, 48, 64, 3), np.uint8)
    content = (tmp_path / f"a.{source}").read_bytes()
    for given in (tmp_path / f"a.{source}", content, io.BytesIO(content)):
        made = hr.io.save_video(None, frames, 25, format=suffix, audio=given)
        Path(tmp_path / f"b.{suffix}").write_bytes(made)
        a, b = (hr.io.demux(tmp_path / name, streams="audio") for name in (f"a.{source}", f"b.{suffix}"))
        sizes = [sum(len(p.data) for p in packets) for packets in (a, b)]
        assert sizes[0] - 7 * len(a) * (source == "aac") == sizes[1]  # ADTS has headers of 7 bytes
    sound, again = hr.io.load_audio(tmp_path / f"a.{source}")[0], hr.io.load_audio(tmp_path / f"b.{suffix}")[0]
    if codec in ("flac", "pcm_s16le"):
        assert np.array_equal(sound, again)


def test_what_is_refused(film, tmp_path):
    frames = np.zeros((5, 48, 64, 3), np.uint8)
    silent = tmp_path / "silent.mp4"
    hr.io.save_video(silent, frames, 25)
    to = tmp_path / "to.mp4"
    for audio, options, message in [
        (film, {"audio_rate": 8000}, "audio_rate is 8000, but the audio of a file is copied as it is: leave audio_rate out"),
        (film, {"audio_codec": "flac"}, "audio_codec is 'flac', but"),
        (film, {"audio_bit_rate": 8000}, "audio_bit_rate is 8000, but"),
        (silent, {}, 'silent.mp4.*the file has no stream "audio": it has 0: video'),
        (b"no film", {}, "save_video"),
        (tmp_path / "none.mp4", {}, "none.mp4"),
        (hr.io.demux(silent), {}, "the file has none of the streams"),
    ]:
        with pytest.raises((hr.MediaError, OSError), match=message):
            hr.io.save_video(to, frames, 25, audio=audio, **options)
        assert not to.exists()
    with pytest.raises(hr.MediaError, match=r"(?i)aac|webm"):
        hr.io.save_video(tmp_path / "to.webm", frames, 25, audio=film)
    cut = film.read_bytes()
    at = cut.index(b"mdat")
    with pytest.raises(hr.MediaError):
        hr.io.save_video(to, frames, 25, audio=cut[: at + 2000] + cut[at + 30000 :])
    assert not to.exists()

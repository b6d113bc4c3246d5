"""Audio of a window that a field says: of a clip of a video, or of a recording."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import engines
from films import clappers, ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


@pytest.fixture(scope="module")
def clapper(tmp_path_factory):
    return clappers(tmp_path_factory.mktemp("clapper"))


def listed(paths, **more):
    return hr.files([str(p) for p in paths], content=False, **more)


def epoch(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [{name: np.array(value) for name, value in batch.items()} for batch in loader]


@pytest.mark.parametrize("name", ["same", "late", "early", "mp4"])
@pytest.mark.parametrize("how", [{"fps": 25}, {"stride": 1}])
def test_flash_and_click_of_a_clip_come_together(clapper, name, how):
    shown = 0.6 if name == "early" else 1.0  # counted from the first frame
    clips = listed([clapper[name]] * 24).decode_video(20, **how, start="random", times="seconds", window="window").resize((32, 32))
    seen = 0
    for batch in epoch(clips.decode_audio(48000, "mono", 0.8, window="window").batch(4)):
        assert batch["audio"].shape == (4, 38400)
        for video, audio, seconds, (begin, end) in zip(batch["video"], batch["audio"], batch["seconds"], batch["window"], strict=True):
            assert begin == seconds[0]
            assert end - begin == pytest.approx(0.8, abs=2e-3)
            flash = seconds[video.reshape(20, -1).mean(1) > 128]
            clicks = np.flatnonzero(audio > 0.5)
            assert len(flash) == len(clicks)
            if len(flash):
                seen += 1
                assert flash[0] == pytest.approx(shown, abs=1e-3)
                assert abs(begin + clicks[0] / 48000 - flash[0]) <= 1.001 / 48000 + 1e-3
    assert seen > 3


@pytest.mark.parametrize("name", ["late", "mp4"])
@pytest.mark.parametrize(
    "audio",
    [{"rate": 16000, "channels": "mono"}, {"rate": 44100, "layout": "CT", "channels": 2}, {"rate": 48000, "dtype": "int16", "channels": 1}],
)
def test_it_is_what_load_media_gives(name, audio, clapper):
    as_there = {"audio_dtype" if what == "dtype" else what: value for what, value in audio.items()}
    want = hr.io.load_media(clapper[name], start=0.7, duration=1, fps=5, **as_there)
    for files in (listed([clapper[name]]), hr.files([str(clapper[name])])):  # by its path, and by its content
        clip = (
            files.decode_video(fps=5, duration=1.0, start=0.7, window="w").resize((32, 32)).decode_audio(window="w", duration=1.0, **audio)
        )
        (got,) = epoch(clip.batch(1))
        assert np.array_equal(got["video"][0], want.video)
        assert np.array_equal(got["audio"][0], want.audio)
        assert got["w"].tolist() == [[0.7, 1.7]]


def test_pieces_of_a_video_have_theirs(clapper):
    pieces = (
        listed([clapper["same"]])
        .video_clips(25, step=25, window="window", number="n")
        .resize((32, 32))
        .decode_audio(48000, "mono", 1.0, window="window")
    )
    (batch,) = epoch(pipeline := pieces.batch(3))
    assert batch["window"].tolist() == [[0, 1], [1, 2], [2, 3]]
    whole = hr.io.load_media(clapper["same"], rate=48000, channels="mono").audio
    assert np.array_equal(batch["audio"].reshape(-1)[: len(whole)], whole)
    (apart,) = epoch(pipeline, fuse=False)
    assert np.array_equal(apart["audio"], batch["audio"])
    with pytest.raises(hr.RecipeError, match="needs the path of the file"):
        hr.files([str(clapper["same"])]).video_clips(25, window="window").loader()


class Said:
    """Recordings with the seconds of a window."""

    def __init__(self, path, windows, dtype=np.float64):
        self.path, self.windows = str(path), np.array(windows, dtype)

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        return {"path": self.path, "when": self.windows[i]}


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "m4a"])
def test_a_window_of_a_recording_is_its_slice(suffix, tmp_path):
    path = tmp_path / f"noise.{suffix}"
    ffmpeg("-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*t)+0.2*random(0):s=16000:d=3", path)
    whole, rate = hr.io.load_audio(path, channels="mono")
    windows = [[0, 1], [0.5, 1.5], [1.25, 2.25], [-0.5, 0.5], [2.5, 3.5], [9, 10]]
    for dtype in (np.float64, np.float32):
        recordings = hr.source(Said(path, windows, dtype), gives={"path": str, "when": (dtype.__name__, (2,))})
        (batch,) = epoch(recordings.decode_audio(channels="mono", rate=rate, window="when", duration=1.0).batch(6))
        for (begin, _), got in zip(windows, batch["audio"], strict=True):
            at = round(begin * rate)
            padded = np.concatenate([np.zeros(rate, np.float32), whole, np.zeros(9 * rate, np.float32)])
            np.testing.assert_allclose(got, padded[rate + at :][:rate], atol=2e-4 if suffix in ("mp3", "ogg", "m4a") else 0)
    (batch,) = epoch(
        hr.source(Said(path, windows[:1])).decode_audio(channels="mono", window="when").bucket_batch([99999], size=1, pad_to="longest")
    )
    np.testing.assert_allclose(batch["audio"][0], whole[:rate], atol=2e-4)


@pytest.mark.parametrize(
    ("suffix", "codec", "off"), [("mkv", "aac", 0), ("webm", "libopus", 1e-5), ("mkv", "libmp3lame", 0), ("mkv", "flac", 0)]
)
def test_windows_of_matroska_are_sought(suffix, codec, off, tmp_path):
    """Its times are milliseconds; a window is its slice all the same, and the rest of the film is not read."""
    path = tmp_path / f"long.{suffix}"
    film = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=60,noise=alls=20:allf=t"]
    noise = ["-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*t)+0.2*random(0):s=48000:d=60"]
    video = ["-c:v", "libvpx", "-deadline", "realtime", "-b:v", "2M"] if suffix == "webm" else ["-c:v", "mpeg4", "-q:v", 3]
    exact = ["-aac_pns", 0] if codec == "aac" else []
    ffmpeg(*film, *noise, "-pix_fmt", "yuv420p", *video, "-g", 25, "-c:a", codec, *exact, path)
    whole, rate = hr.io.load_audio(path, channels="mono")
    begins = {kind: float(probed(path, kind)["start_time"]) for kind in "va"}
    skipped = 312 / 48000 if codec == "libopus" else 0  # which its header says
    late = begins["v"] - begins["a"] - skipped  # how much sound comes before the first frame
    (engine,) = engines()

    windows = [[n * 2.7 + 4, n * 2.7 + 4.5] for n in range(20)]
    before = read_by(engine)
    recordings = hr.source(Said(path, windows)).decode_audio(channels="mono", rate=rate, window="when", duration=0.5).batch(20)
    (batch,) = epoch(recordings)
    pieces = [hr.io.stream_audio(path, 0.5, channels="mono", start=begin, end=end) for begin, end in windows[:5]]
    streamed = [np.concatenate(list(piece)) for piece in pieces]
    # Twice: to decode, and to see whether anything is damaged.
    assert read_by(engine) - before < 2 * 25 * (path.stat().st_size / 8 + (200 << 10))
    for (begin, _), got in zip(windows, batch["audio"], strict=True):
        near = round((begin + late) * rate)  # to a millisecond; then all are
        places = range(near - rate // 1000 - 1, near + rate // 1000 + 2)
        assert [n for n in places if np.abs(whole[n : n + len(got)] - got).max() <= off], begin
    for got, want in zip(streamed, batch["audio"], strict=False):
        assert abs(len(got) - len(want)) <= 1
        assert any(np.abs(got[a : 20000 + a] - want[b : 20000 + b]).max() <= 2 * off for a, b in ((0, 0), (1, 0), (0, 1)))


def probed(path, kind):
    """What ffprobe says of a stream."""
    command = ["ffprobe", "-v", "error", "-of", "json", "-select_streams", kind, "-show_streams", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["streams"][0]


def read_by(pid):
    """The bytes that a process has read so far."""
    return int(dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())["rchar"])


def test_where_there_is_no_audio_there_is_silence(clapper):
    clips = listed([clapper["mute"], clapper["same"]]).decode_video(5, fps=5, start=0.5, window="w").resize((8, 8))
    (batch,) = epoch(clips.decode_audio(16000, 2, 1.0, window="w").batch(2))
    assert not batch["audio"][0].any()
    assert batch["audio"][1].any()
    with pytest.raises(hr.SampleError, match="no stream"):
        epoch(clips.decode_audio(channels="mono", window="w").bucket_batch([99999], size=1, pad_to="longest"))


@pytest.mark.parametrize("window", [[float("nan"), 1], [1, 0], [0, float("inf")], [-1e12, 0], [0, 1e8]])
def test_windows_that_no_file_has(window, clapper):
    wrong = (
        hr.source(Said(clapper["same"], [window]))
        .decode_audio(16000, "mono", window="when")
        .bucket_batch([99999], size=1, pad_to="longest")
    )
    with pytest.raises(hr.SampleError, match=r"window|memory"):
        epoch(wrong)


@pytest.mark.parametrize(
    ("audio", "says"),
    [
        ({"window": "no"}, 'window is "no": the samples have the fields'),
        ({"window": "seconds"}, r"must be float64 \[2\]"),
        ({"window": "w", "start": 1.0}, "leave out start and short"),
        ({"window": "w", "start": "random", "duration": 1.0}, "leave out start and short"),
        ({"window": "w", "short": "repeat"}, "leave out start and short"),
    ],
)
def test_mistakes(audio, says, clapper):
    clips = listed([clapper["same"]]).decode_video(4, times="seconds", window="w")
    with pytest.raises(hr.RecipeError, match=says):
        clips.decode_audio(**audio).batch(1).loader()


def test_names_of_fields_are_told_apart(clapper):
    with pytest.raises(hr.RecipeError, match="the name of another field"):
        listed([clapper["same"]]).decode_video(4, times="w", window="w").batch(1).loader()
    with pytest.raises(hr.RecipeError, match="a field of this name already"):
        listed([clapper["same"]]).decode_video(4, to="path", window="w").batch(1).loader()
    with pytest.raises(hr.RecipeError, match="video_clips makes a sample of each"):
        listed([clapper["same"]]).decode_video(4, clips=2, window="w").decode_audio(window="w").batch(1).loader()


def test_a_file_that_went_away_is_a_bad_sample(clapper, tmp_path):
    gone = hr.source(Said(tmp_path / "gone.wav", [[0, 1]])).decode_audio(16000, "mono", window="when", duration=1.0).batch(1)
    with pytest.raises(hr.SampleError, match="no such file"):
        epoch(gone)
    (tmp_path / "gone.wav").mkdir()
    with pytest.raises(hr.SampleError, match=r"not a regular file|is a directory|folder"):
        epoch(gone)


def test_fields_of_a_clip_are_dropped_and_renamed(clapper):
    """The path that stays for the audio, too: the step that opens the file comes before."""
    clips = listed([clapper["same"]] * 4, seed=1).decode_video(4, times="t", window="w").resize((16, 16))
    (whole,) = epoch(clips.batch(4))
    (less,) = epoch(clips.drop("path").batch(4))
    assert less.keys() == whole.keys() - {"path"}
    (changed,) = epoch(clips.rename({"t": "at", "path": "file"}).batch(4))
    assert list(changed["file"]) == list(whole["path"])
    for name in ("video", "w"):
        assert np.array_equal(less[name], whole[name])
        assert np.array_equal(changed[name], whole[name])
    assert np.array_equal(changed["at"], whole["t"])

"""Long files decoded piece by piece, and video and audio of one window."""

from __future__ import annotations

import gc
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import engines, within
from films import clappers, ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    root = tmp_path_factory.mktemp("films")
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=4", "-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*t)|0.3*random(0):s=48000:d=4"]
    ffmpeg(*pattern, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "3", "-g", "40", "-c:a", "aac", "-aac_pns", 0, root / "a.mp4")
    ffmpeg(*pattern, "-pix_fmt", "yuv420p", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-c:a", "libopus", root / "b.webm")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", root / "c.ts")
    ffmpeg("-i", root / "a.mp4", "-vn", "-c:a", "libmp3lame", root / "d.mp3")
    ffmpeg("-i", root / "a.mp4", "-vn", "-c:a", "flac", root / "e.flac")
    ffmpeg("-i", root / "a.mp4", "-vn", "-c:a", "pcm_s24le", root / "f.wav")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", "-bsf:v", "noise=drop='eq(n,41)'", root / "lost.mp4")
    return root


@pytest.mark.parametrize("name", ["a.mp4", "b.webm", "c.ts"])
def test_pieces_of_video_are_the_whole(films, name):
    whole = hr.io.load_video(films / name)
    stream = hr.io.stream_video(films / name, 16)
    assert (stream.height, stream.width) == (48, 64)
    pieces, times = [], []
    for frames in stream:
        pieces.append(frames)
        times.append(stream.seconds)
    assert [len(p) for p in pieces] == [16] * 6 + [4]  # across key frames, too
    assert np.array_equal(np.concatenate(pieces), whole)
    assert np.allclose(np.concatenate(times), hr.io.video_info(films / name).seconds, atol=1e-3)
    assert list(stream) == []
    small = hr.io.stream_video((films / name).read_bytes(), 7, stride=3, start="1", end=2.5, width=32, height=24)
    want = hr.io.load_video(films / name, list(range(25, 63, 3)), width=32, height=24)
    assert np.array_equal(np.concatenate(list(small)), want)


@pytest.mark.parametrize("name", ["a.mp4", "b.webm", "c.ts", "d.mp3", "e.flac", "f.wav"])
def test_pieces_of_audio_are_the_whole(films, name):
    for how in ({}, {"rate": 16000, "channels": "mono"}, {"rate": 44100, "layout": "CT", "dtype": "int16"}):
        whole, rate = hr.io.load_audio(films / name, **how)
        axis = 1 if how.get("layout") == "CT" else 0
        stream = hr.io.stream_audio(films / name, 0.7, **how)
        pieces = list(stream)
        assert stream.sample_rate == rate
        assert {p.shape[axis] for p in pieces[:-1]} == {round(0.7 * rate)}
        together = np.concatenate(pieces, axis)
        assert np.array_equal(together, whole), how


def engine():
    """What the engine has open, and its memory in bytes."""
    children = [int(c) for c in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]
    (pid,) = [c for c in children if "headrace" in Path(f"/proc/{c}/comm").read_text()]
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {fd: where for fd in os.listdir(f"/proc/{pid}/fd") if (where := _link(f"/proc/{pid}/fd/{fd}"))}, resident


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return None


def is_open(path):
    return str(path) in engine()[0].values()


def test_those_who_stop_leave_nothing(films):
    path = films / "a.mp4"
    stream = hr.io.stream_video(path, 4)
    first = next(stream)
    assert is_open(path)
    stream.close()
    assert not is_open(path)
    stream.close()
    assert list(stream) == []
    assert np.array_equal(first, hr.io.load_video(path, range(4)))  # what was given stays

    with hr.io.stream_audio(path, 0.1) as sound:
        next(sound)
    assert not is_open(path)

    stream = hr.io.stream_video(path, 4)
    next(stream)
    del stream  # forgotten
    gc.collect()
    assert within(20, lambda: not is_open(path))

    streams = [hr.io.stream_video(path, 5) for _ in range(4)]  # side by side
    for frames in zip(*streams):
        assert all(np.array_equal(frames[0], other) for other in frames[1:])


def test_a_forked_child_cannot_go_on(films):
    stream = hr.io.stream_video(films / "a.mp4", 40)
    next(stream)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            next(stream)
        except hr.MediaError as error:
            os.write(write, str(error).encode())
        finally:
            stream.close()
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with open(read, "rb") as said:
        assert b"belongs to the process that opened it" in said.read()
    assert sum(len(frames) for frames in stream) == 60


def test_damage_is_an_error_and_ends_it(films, tmp_path):
    stream = hr.io.stream_video(films / "lost.mp4", 10)
    with pytest.raises(hr.MediaError, match=r"lost.mp4.*frame at 1\.\d+ s"):
        list(stream)
    assert list(stream) == []
    assert not is_open(films / "lost.mp4")
    for name, content in (("none", b""), ("text", b"no film at all"), ("half", (films / "a.mp4").read_bytes()[:4000])):
        (tmp_path / name).write_bytes(content)
        for start in (hr.io.stream_video, hr.io.stream_audio):
            with pytest.raises(hr.MediaError):
                start(tmp_path / name)
    with pytest.raises(hr.MediaError, match="no stream"):
        hr.io.stream_video(films / "d.mp3")
    with pytest.raises(FileNotFoundError):
        hr.io.stream_video(tmp_path / "nothing")
    for wrong in ({"frames": 0}, {"stride": 0}, {"start": 2, "end": 1}, {"width": 5}, {"frames": 10**9}):
        with pytest.raises(hr.MediaError):
            next(hr.io.stream_video(films / "a.mp4", **wrong))
    with pytest.raises(hr.MediaError, match="seconds"):
        hr.io.stream_audio(films / "a.mp4", 0)


def test_memory_and_descriptors_stay_flat(films, tmp_path):
    """Over many files, half of them broken, and some left in the middle."""
    broken = tmp_path / "broken.mp4"
    broken.write_bytes((films / "lost.mp4").read_bytes())

    def round():
        for _ in range(25):
            with hr.io.stream_video(films / "a.mp4", 8) as stream:
                next(stream)
            with pytest.raises(hr.MediaError):
                list(hr.io.stream_video(broken, 50))
            hr.io.demux(films / "a.mp4", start=1, end=1.2)
            hr.io.remux(films / "a.mp4", None, format="matroska")
            hr.io.save_audio(None, np.zeros(1000, np.float32), 16000, format="wav")

    round()
    round()
    fds, before = engine()
    round()
    round()
    after_fds, after = engine()
    assert sorted(after_fds.values()) == sorted(fds.values())
    assert after < before + (16 << 20)


def test_a_window_reads_what_it_needs(tmp_path):
    """Of a file with an index: the index, and little before and after the window."""
    path = tmp_path / "long.mp4"
    noise = ["-f", "lavfi", "-i", "testsrc2=s=128x96:r=25:d=60,noise=alls=20:allf=t", "-f", "lavfi", "-i", "sine=r=48000:d=60"]
    ffmpeg(*noise, "-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-q:v", 4, "-g", 25, "-c:a", "aac", path)

    def read():
        (engine,) = engines()
        return int(Path(f"/proc/{engine}/io").read_text().split()[1])

    hr.io.video_info(path)
    before = read()
    packets = hr.io.demux(path, start=40, end=41)
    assert len(hr.io.decode(packets, "video")) == 25
    assert read() - before < path.stat().st_size / 4


# ── Video and audio of one window


@pytest.fixture(scope="module")
def clapper(tmp_path_factory):
    return clappers(tmp_path_factory.mktemp("clapper"))


@pytest.mark.parametrize("name", ["same", "late", "early", "mp4"])
def test_flash_and_click_come_together(clapper, name):
    shown = 0.6 if name == "early" else 1.0  # counted from the first frame
    for start, duration in ((None, None), (0.2, 1.2), (shown, 0.08), (shown - 0.4, 0.6)):
        clip = hr.io.load_media(clapper[name], start=start, duration=duration)
        flash = clip.seconds[clip.video.reshape(len(clip.video), -1).mean(1) > 128]
        assert flash.tolist() == pytest.approx([shown], abs=1e-3)
        (click,) = np.flatnonzero(clip.audio[:, 0] > 0.5)
        assert abs(clip.start + click / clip.sample_rate - shown) <= 1.001 / clip.sample_rate, (start, duration)
        if duration is not None:
            assert len(clip.audio) == round(duration * 48000)
            assert len(clip.video) == round(duration * 25)
    clip = hr.io.load_media(clapper[name], start=0.2, duration=1.2, rate=16000, channels="mono", fps=5, width=16, height=16)
    assert clip.audio.shape == (19200,)
    assert clip.video.shape == (6, 16, 16, 3)
    assert abs(0.2 + int(clip.audio.argmax()) / 16000 - shown) <= 1 / 16000


def test_where_there_is_no_audio_there_is_silence(clapper):
    clip = hr.io.load_media(clapper["mute"], start=1, duration=1, rate=16000, channels=2)
    assert clip.audio.shape == (16000, 2)
    assert not clip.audio.any()
    assert len(clip.video) == 25
    with pytest.raises(hr.MediaError, match="no stream"):
        hr.io.load_media(clapper["mute"], start=1, duration=1)
    clip = hr.io.load_media(clapper["late"], start=0, duration=0.3, rate=48000)
    assert len(clip.audio) == 14400
    assert not clip.audio.any()
    with pytest.raises(hr.MediaError):
        hr.io.load_media(clapper["same"], start=9)


# ── Video and audio, piece by piece


@pytest.mark.parametrize("name", ["same", "late", "early", "mp4", "mute"])
@pytest.mark.parametrize("how", [{}, {"rate": 16000, "channels": "mono"}, {"rate": 44100, "layout": "CT", "audio_dtype": "int16"}])
def test_pieces_of_both_are_the_whole(clapper, name, how):
    how = how or {"rate": 48000}
    whole = hr.io.load_media(clapper[name], **how)
    stream = hr.io.stream_media(clapper[name], 7, **how)
    assert (stream.height, stream.width, stream.sample_rate) == (32, 32, how["rate"])
    clips = list(stream)
    axis = 1 if how.get("layout") == "CT" else 0
    frames = len(whole.video)
    assert [len(clip.video) for clip in clips] == [7] * (frames // 7) + [frames % 7] * (frames % 7 > 0)
    for i, clip in enumerate(clips):  # each lasts as long as its frames
        assert clip.start == clip.seconds[0] == pytest.approx(7 * i / 25, abs=1e-3)
        assert clip.audio.shape[axis] == pytest.approx(len(clip.video) / 25 * how["rate"], abs=how["rate"] / 500)
    assert np.array_equal(np.concatenate([clip.video for clip in clips]), whole.video)
    audio = np.concatenate([clip.audio for clip in clips], axis)
    if name == "mute":
        assert not audio.any()
    assert audio.shape == whole.audio.shape
    assert np.array_equal(audio, whole.audio)


@pytest.mark.parametrize("name", ["same", "late", "early", "mp4"])
def test_pieces_of_a_window(clapper, name):
    for start, end, stride in ((0.5, 1.7, 1), ("0.04", 2, 3), (1, None, 2)):
        clips = list(hr.io.stream_media(clapper[name], 4, start=start, end=end, stride=stride, rate=48000))
        begin = clips[0].start
        want = hr.io.load_media(clapper[name], start=begin, duration=(float(end) if end else 10.0) - begin, stride=stride, rate=48000)
        assert np.array_equal(np.concatenate([clip.video for clip in clips]), want.video)
        audio = np.concatenate([clip.audio for clip in clips])
        assert np.array_equal(audio, want.audio[: len(audio)])
        length = (float(end) if end else clips[-1].seconds[-1] + 0.04 * (1 + (stride == 2))) - begin
        assert abs(len(audio) - length * 48000) <= 48000 * 0.042


def test_both_are_in_step_where_frames_come_unevenly(tmp_path):
    path = tmp_path / "uneven.mkv"
    film = ["-f", "lavfi", "-i", "testsrc2=s=32x32:r=25:d=4,select='not(mod(n,7))+not(mod(n,3))'", "-f", "lavfi", "-i", "sine=r=48000:d=4"]
    ffmpeg(*film, "-fps_mode", "vfr", "-c:v", "ffv1", "-c:a", "pcm_s16le", path)
    whole = hr.io.load_media(path)
    clips = list(hr.io.stream_media(path, 5))
    for clip, after in itertools.pairwise(clips):
        assert abs(len(clip.audio) - (after.start - clip.start) * 48000) <= 1
    audio = np.concatenate([clip.audio for clip in clips])
    assert np.array_equal(audio, whole.audio[: len(audio)])
    assert abs(len(audio) - len(whole.audio)) <= 48000 * 0.3  # the last frame is on screen for as long as its packet says


def test_streams_of_both_end(clapper, films):
    with hr.io.stream_media(clapper["same"], 4) as stream:
        next(stream)
        assert is_open(clapper["same"])
    assert not is_open(clapper["same"])
    assert list(stream) == []
    with pytest.raises(hr.MediaError, match="no stream"):
        hr.io.stream_media(clapper["mute"], 4)
    with pytest.raises(hr.MediaError, match="no stream"):
        hr.io.stream_media(films / "d.mp3", 4)
    with pytest.raises(hr.MediaError, match="no stream"):
        hr.io.stream_media(clapper["same"], 4, audio_stream=3, rate=16000)
    assert list(hr.io.stream_media(clapper["same"], 4, start=2.99)) == []
    with pytest.raises(hr.MediaError, match="max_bytes"):
        next(hr.io.stream_media(clapper["same"], 25, max_bytes=1000))
    stream = hr.io.stream_media(films / "lost.mp4", 10)
    with pytest.raises(hr.MediaError, match=r"lost.mp4.*frame at 1\.\d+ s"):
        list(stream)
    assert not is_open(films / "lost.mp4")


def test_times_that_go_back_have_no_sound(films, tmp_path):
    """Two files put together: the second begins at 0 again."""
    ffmpeg("-i", films / "a.mp4", "-c:v", "mpeg2video", "-c:a", "mp2", tmp_path / "a.mpg")
    path = tmp_path / "twice.mpg"
    path.write_bytes((tmp_path / "a.mpg").read_bytes() * 2)
    try:
        clips = list(hr.io.stream_media(path, 10, rate=16000))
    except hr.MediaError:
        return  # refused, as the demuxer finds it
    assert sum(len(clip.video) for clip in clips) >= 100
    assert all(len(clip.audio) >= 0 for clip in clips)
    assert hr.io.video_info(films / "a.mp4").frames == 100  # the engine goes on

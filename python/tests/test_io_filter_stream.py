"""Graphs of filters, piece by piece."""

from __future__ import annotations

import pathlib
import threading

import numpy as np
import pytest

import films
import headrace as hr


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "a.mkv"
    films.ffmpeg(
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-f", "lavfi", "-i", "sine=f=440:r=16000:d=2", "-c:v", "libx264", "-bf", 2,
        "-g", 20, "-pix_fmt", "yuv420p", "-c:a", "flac", path,
    )  # fmt: skip
    return path


pytestmark = pytest.mark.usefixtures("io_closed")


def test_pieces_of_frames_are_those_of_filter(film):
    for graph in ("hflip", "scale=32:-2,fps=7", "tmix=3", "reverse", "trim=end_frame=5", "split[a][b];[b]vflip[c];[a][c]hstack"):
        whole = hr.io.filter(graph, film)
        for count in (1, 7, 1000):
            pieces = list(hr.io.stream_filter(graph, film, count))
            assert [len(p) for p in pieces[:-1]] == [count] * (len(pieces) - 1)
            assert np.array_equal(np.concatenate(pieces), whole), graph


def test_every_container_and_codec():
    for path in (pathlib.Path(__file__).parents[2] / "internal/doctor/recordings").iterdir():
        sound = path.suffix in (".wav", ".flac", ".mp3", ".ogg", ".m4a")
        whole = hr.io.filter("volume=0.5" if sound else "negate", path)
        pieces = list(hr.io.stream_filter("volume=0.5" if sound else "negate", path, 1, 0.03))
        assert np.array_equal(np.concatenate(pieces), whole), path


def test_frames_are_those_of_the_command(film):
    raw = films.ffmpeg("-i", film, "-vf", "hue=s=0,transpose=1,format=yuv420p", "-f", "rawvideo", "-pix_fmt", "gray", "-")
    got = np.concatenate(list(hr.io.stream_filter("hue=s=0,transpose=1,format=yuv420p", film, 16, color="gray")))
    assert got.tobytes() == raw


def test_pieces_of_samples_are_those_of_filter(film):
    packets = hr.io.demux(film, streams="audio")
    for graph in ("volume=0.5", "aresample=11025", "areverse", "pan=stereo|c0=c0|c1=c0"):
        whole = hr.io.filter(graph, packets)
        with hr.io.stream_filter(graph, packets, seconds=0.3) as pieces:
            every = list(pieces)
            assert len(every[0]) == round(0.3 * pieces.sample_rate)
        assert np.array_equal(np.concatenate(every), whole), graph


def test_windows_arrays_and_several_inputs(film):
    frames = hr.io.load_video(film, 9)
    inputs = {"a": film, "b": frames}
    for how in ({"start": 0.4, "end": 1.2}, {}):
        stream = hr.io.stream_filter("[a][b]hstack=shortest=1", inputs, 4, **how)
        assert (stream.width, stream.height, stream.sample_rate) == (128, 48, 0)
        assert np.array_equal(np.concatenate(list(stream)), hr.io.filter("[a][b]hstack=shortest=1", inputs, **how))
    stream = hr.io.stream_filter("fps=5", film, 3)
    next(stream)
    assert np.allclose(stream.seconds, [0, 0.2, 0.4])


def test_what_is_refused(film):
    for graph, how, why in (
        ("[in]split[a][b]", {}, "2 outputs"),
        ("hflipp", {}, "hflipp"),
        ("movie=a.mkv[b];[in][b]overlay", {}, "may open a file"),
        ("hflip", {"frames": 0}, "frames must be at least 1"),
        ("hflip", {"seconds": 0}, "seconds is 0"),
    ):
        with pytest.raises(hr.MediaError, match=why):
            hr.io.stream_filter(graph, film, **how)
    with pytest.raises(FileNotFoundError):
        hr.io.stream_filter("hflip", "none.mp4")
    cut = film.read_bytes()[:-9000]
    with pytest.raises(hr.MediaError):
        list(hr.io.stream_filter("hflip", cut))


def test_a_graph_without_end_comes_in_pieces_and_is_stopped(film):
    frame = np.zeros((1, 16, 16), np.uint8)
    with hr.io.stream_filter("loop=-1:1", frame, 5, color="gray") as endless:
        assert [len(next(endless)) for _ in range(20)] == [5] * 20
    with pytest.raises(StopIteration):
        next(endless)
    slow = r"loop=300000:1,select=eq(n\,299999)"  # one frame of many
    with pytest.raises(hr.MediaError, match=r"took longer than .* \(time_limit\)"):
        next(hr.io.stream_filter(slow, frame, color="gray", time_limit=0.02))


def test_a_graph_that_gives_no_frame_is_at_its_end(film):
    assert list(hr.io.stream_filter("select=0", film)) == []
    assert list(hr.io.stream_filter("volume=1,atrim=end_sample=0", np.ones(100, np.int16), rate=8000)) == []


def test_colors_are_those_of_filter():
    for dtype in (np.uint8, np.uint16):
        frames = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (5, 31, 42, 3), dtype)
        for color in ("rgba", "gray", "nv12", "yuv420", "yuv422", "yuv444"):
            pieces = list(hr.io.stream_filter("hflip", frames, 2, color=color))
            whole = hr.io.filter("hflip", frames, color=color)
            assert [len(p) for p in pieces] == [2, 2, 1]
            assert whole.dtype == dtype
            assert np.array_equal(np.concatenate(pieces), whole), color
            if color in ("nv12", "yuv420", "yuv422"):
                with pytest.raises(hr.MediaError, match=r"41×31 pixels.*width must be even"):
                    hr.io.stream_filter("crop=iw-1", frames, color=color)


def test_streams_at_once_do_not_meet(film):
    whole, wrong = hr.io.filter("negate", film), []

    def run():
        if not np.array_equal(np.concatenate(list(hr.io.stream_filter("negate", film, 3))), whole):
            wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong

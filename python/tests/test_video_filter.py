"""Filters inside decoding."""

from __future__ import annotations

import re

import numpy as np
import pytest

import films
import headrace as hr

SCALER = "flags=bicubic+accurate_rnd+full_chroma_int+bitexact"


pytestmark = pytest.mark.usefixtures("io_closed")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "a.mkv"
    films.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-c:v", "libx264", "-bf", 2, "-g", 20, "-pix_fmt", "yuv420p", path)
    return path


def command(film, graph, form="yuv420p", *more):
    return films.ffmpeg(*more, "-i", film, "-filter_complex", graph, "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", form, "-")


GRAPHS = (
    "hflip",
    f"scale=32:-2:{SCALER},fps=7",
    "select='not(mod(n,5))'",
    "split[a][b];[b]reverse[c];[a][c]hstack",
    "[in]fps=50[out]",
)


def test_frames_are_those_of_the_command(film):
    for graph in GRAPHS:
        got = hr.io.load_video(film, filter=graph, color="yuv420")
        assert got.tobytes() == command(film, graph.replace("[in]", "[0:v]").replace("[out]", "")), graph
        assert np.array_equal(got, hr.io.filter(graph, film, color="yuv420")), graph
        for color in ("rgb", "gray", "yuv444"):
            pieces = np.concatenate(list(hr.io.stream_video(film, 7, filter=graph, color=color)))
            assert np.array_equal(pieces, hr.io.load_video(film, filter=graph, color=color)), graph


def test_frames_that_are_chosen_enter(film):
    every = hr.io.load_video(film)
    assert np.array_equal(hr.io.load_video(film, [5, 3, 3, -1], filter="vflip"), every[[5, 3, 3, -1], ::-1])
    assert np.array_equal(hr.io.load_video(film, 4, filter="vflip"), hr.io.load_video(film, 4)[:, ::-1])
    assert np.array_equal(hr.io.load_video(film, times=[1.0, 0.2], filter="vflip"), every[[25, 5], ::-1])
    window = hr.io.load_video(film, start=0.48, duration=0.4, filter="reverse,format=rgb24")
    assert len(window) == 10
    assert window.tobytes() == hr.io.filter("reverse", film, start=0.48, end=0.88).tobytes()
    for start in (0.5, 0.33):
        graph = "fps=8,select='gt(t,0.2)',format=rgb24"
        late = hr.io.load_video(film, start=start, filter=graph)
        assert np.array_equal(late, hr.io.filter(graph, film, start=start))
        assert np.array_equal(late, np.concatenate(list(hr.io.stream_video(film, filter=graph, start=start))))
    stream = hr.io.stream_video(film, 3, filter="fps=5", start=0.4)
    next(stream)
    assert np.allclose(stream.seconds, [0.4, 0.6, 0.8])
    assert (stream.width, stream.height) == (64, 48)
    strided = np.concatenate(list(hr.io.stream_video(film, 8, stride=4, filter="vflip")))
    assert np.array_equal(strided, every[::4, ::-1])


def test_steps_follow_the_filter(film):
    got = hr.io.load_video(film, filter="crop=40:30:2:4,format=rgb24", width=20, height=15)
    assert got.shape == (50, 15, 20, 3)
    wide = hr.io.load_video(film, 2, filter="scale=33:-1", dtype="uint16")
    assert wide.shape[2:] == (33, 3)
    assert wide.dtype == np.uint16


def test_clips_of_a_loader_resume_exactly(film, tmp_path):
    for n in range(3):
        (tmp_path / f"{n}.mkv").symlink_to(film)
    films_ = hr.files(str(tmp_path / "*.mkv"), content=False, seed=2)
    made = films_.video_clips(10, filter=f"scale=32:24:{SCALER},format=rgb24").resize((24, 32)).batch(2)
    with made.loader() as loader:
        every, states = [], []
        for batch in loader:
            every.append(batch["video"].copy())
            states.append(loader.state_dict())
    assert np.concatenate(every).tobytes() == 3 * command(film, f"scale=32:24:{SCALER}", "rgb24")
    with made.loader() as again:
        again.load_state_dict(states[3])
        assert all(np.array_equal(a["video"], b) for a, b in zip(again, every[4:], strict=True))
    with films_.decode_video(5, stride=2, start="random", filter="vflip").resize((48, 64)).batch(3).loader() as upside:
        with films_.decode_video(5, stride=2, start="random").resize((48, 64)).batch(3).loader() as plain:
            assert np.array_equal(next(iter(upside))["video"], next(iter(plain))["video"][:, :, ::-1])


def test_time_0_is_the_second_that_a_field_has(film):
    """Luma tells the time of a frame: that on screen at 0.15 s began 0.03 s before."""
    graph = "format=yuv420p,geq=lum='128+1000*T':cb=128:cr=128"
    table = hr.source([{"path": str(film), "t": 0.15}, {"path": str(film), "t": 0.32}])
    clips = table.decode_video(2, stride=1, start="t", filter=graph, color="yuv420", size=(48, 64)).batch(2)
    with clips.loader(epochs=1) as loader:
        luma = next(iter(loader))["video"][:, :, 0, 0].astype(int)
    for row, start in zip(luma, (0.15, 0.32), strict=True):
        assert np.array_equal(row, hr.io.load_video(film, 2, stride=1, start=start, filter=graph, color="yuv420")[:, 0, 0])
    assert np.abs(luma - [[98, 138], [128, 168]]).max() <= 1


REFUSED = [
    ("nix", {}, "No such filter: 'nix'"),
    ("hflip", {"color": "native"}, "color is 'native', but a filter makes a format of its own"),
    ("hflip", {"aspect": "square"}, "aspect is 'square', but a filter makes pixels of its own"),
    ("split[a][b]", {}, "must have one output, of video"),
    ("movie=a.mkv[b];[in][b]overlay", {}, "the option filename of the filter movie may open a file"),
    ("format=gbrpf32", {}, "makes frames of the format gbrpf32le: end it with format=yuv420p"),
]


def test_what_is_refused(film):
    for graph, how, why in REFUSED:
        for call in (hr.io.load_video, hr.io.stream_video):
            with pytest.raises(hr.MediaError, match=re.escape(why)):
                next(iter(call(film, filter=graph, **how)))
    for graph, how, why in (
        ("fps=5", {"frames": 4}, "makes more than the 4 frames that enter it: choose frames with frames, fps or stride"),
        ("select=0", {"frames": 4}, "makes 0 of the 4 frames that enter it"),
        ("select=0", {}, "makes no frame of the 50 that enter it"),
        ("loop=-1:1", {"max_bytes": 1_000_000}, "the filter gives more than 1000000 bytes; raise max_bytes"),
    ):
        with pytest.raises(hr.MediaError, match=re.escape(why)):
            hr.io.load_video(film, filter=graph, **how)
    with pytest.raises(hr.errors.WrongType, match="filter is 3: must be a graph"):
        hr.io.load_video(film, filter=3)


def test_what_a_loader_refuses(film):
    source = hr.files(str(film), content=False)
    for graph, why in (
        ("movie=a.mkv[b];[in][b]overlay", "may open a file"),
        ("fps=3", "more than the 4 frames"),
        ("nix", "No such filter"),
    ):
        with source.decode_video(4, filter=graph).resize((24, 32)).batch(1).loader() as loader, pytest.raises(hr.HeadraceError, match=why):
            next(iter(loader))
    for how, why in (
        ({"damaged": "keep"}, 'damaged is "keep", but a filter may look at several frames'),
        ({"aspect": "square"}, 'aspect is "square", but a filter makes pixels'),
        ({"clips": 2}, "clips are several, but a filter may look at neighbours: video_clips"),
    ):
        with pytest.raises(hr.errors.RecipeError, match=re.escape(why)):
            source.decode_video(4, filter="hflip", **how).resize((24, 32)).batch(1).loader()


def test_open_groups_and_damage(tmp_path):
    path = tmp_path / "open.mkv"
    source = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2"]
    films.ffmpeg(*source, "-c:v", "libx264", "-bf", 3, "-g", 10, "-x264-params", "open-gop=1:keyint=10", path)
    every = hr.io.load_video(path)
    for first in range(9, 31):
        got = hr.io.load_video(path, list(range(first, first + 5)), filter="vflip")
        assert np.array_equal(got, every[first : first + 5, ::-1])
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 60] = bytes(60)
    with pytest.raises(hr.MediaError):
        hr.io.load_video(bytes(content), filter="vflip")

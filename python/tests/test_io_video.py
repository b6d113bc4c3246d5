"""Videos without a loader: the frames that a pipeline gives, which are those of the ffmpeg command."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import engines
from films import ffmpeg
from headrace._client.program import find_program

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    root = tmp_path_factory.mktemp("films")
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25", "-frames:v", 50]
    ffmpeg(*pattern, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "3", root / "a.mp4")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", root / "b.mkv")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", "-bsf:v", "noise=drop='eq(n,20)'", root / "lost.mp4")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", "-metadata:s:v:0", "rotate=90", root / "turned.mp4")
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", root / "sound.m4a")
    return root


def whole(path):
    """All frames, by a pipeline, which test_video.py compares with the command."""
    with hr.files([str(path)], content=False).decode_video().loader(epochs=1) as loader:
        return next(np.array(sample["video"]) for sample in loader)


def test_frames_by_number_time_and_window(films):
    path = films / "a.mp4"
    frames = whole(path)
    assert np.array_equal(hr.io.load_video(path), frames)
    for got, want in (
        (hr.io.load_video(path, [0, 40, 40, -1, 7]), [0, 40, 40, 49, 7]),
        (hr.io.load_video(path, np.array([3])), [3]),
        (hr.io.load_video(path, times=[0.0, 0.99, 1.0, 0.039]), [0, 24, 25, 0]),
        (hr.io.load_video(path, 7), np.floor(np.arange(7) * 49 / 6 + 0.5).astype(int)),
        (hr.io.load_video(path, 4, stride=2, start=0.4), [10, 12, 14, 16]),
        (hr.io.load_video(path, fps=5), range(0, 50, 5)),
        (hr.io.load_video(path, start=0.4, duration=0.2), range(10, 15)),
        (hr.io.load_video(path, 3, stride=4, start="center"), [20, 24, 28]),
    ):
        assert np.array_equal(got, frames[list(want)])


def test_sources_are_alike(films):
    """Of a path packets alone are read; content is in memory; Matroska has no index."""
    frames = whole(films / "a.mp4")[[2, 30]]
    for name in ("a.mp4", "b.mkv"):
        content = (films / name).read_bytes()
        for source in (films / name, content, bytearray(content), io.BytesIO(content), np.frombuffer(content, np.uint8)):
            assert np.array_equal(hr.io.load_video(source, [2, 30]), frames)


def test_an_index_spares_reading_the_file(tmp_path):
    """That of `headrace index`, also by a relative path and with what is heard meanwhile."""
    path = tmp_path / "long.mkv"
    source = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=60,noise=alls=20:allf=t", "-f", "lavfi", "-i", "sine=r=48000:d=60"]
    ffmpeg(*source, "-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-q:v", 3, "-g", 25, "-c:a", "aac", path)
    want = hr.io.load_video(path, [3, 1000])
    both = hr.io.load_media(path, start=40, duration=0.5)
    subprocess.run([find_program(), "index", "--beside", str(tmp_path)], check=True, capture_output=True)
    (engine,) = engines()

    def read():
        return int(dict(line.split(": ") for line in Path(f"/proc/{engine}/io").read_text().splitlines())["rchar"])

    before = read()
    assert np.array_equal(hr.io.load_video(path, [3, 1000]), want)
    assert np.array_equal(hr.io.load_video(os.path.relpath(path), [3, 1000]), want)
    again = hr.io.load_media(path, start=40, duration=0.5)
    assert np.array_equal(again.video, both.video)
    assert np.array_equal(again.audio, both.audio)
    assert read() - before < path.stat().st_size / 3


def test_sizes_modes_and_turns(films):
    path = films / "a.mp4"
    with hr.files([str(path)], content=False).decode_video(4, start="begin", stride=3).resize((20, 30)).loader(epochs=1) as loader:
        (want,) = [np.array(sample["video"]) for sample in loader]
    got = hr.io.load_video(path, 4, stride=3, width=30, height=20)
    assert np.array_equal(got, want)
    fast = hr.io.load_video(path, 4, stride=3, width=30, height=20, mode="fast").astype(int)
    assert 0 < np.abs(fast - got).mean() < 6

    deep = hr.io.load_video(path, [0], dtype="uint16")
    assert deep.dtype == np.uint16
    assert np.abs(deep / 257.0 - hr.io.load_video(path, [0])).max() <= 1

    upright = hr.io.load_video(films / "turned.mp4", [5])
    stored = hr.io.load_video(films / "turned.mp4", [5], orient=False)
    assert upright.shape == (1, 96, 64, 3)
    assert any(np.array_equal(upright[0], np.rot90(stored[0], k)) for k in (1, 3))
    got.fill(0)  # it is the caller's


@pytest.mark.parametrize("name", ["a.mp4", "b.mkv", "turned.mp4"])
def test_info_is_ffprobes(films, name):
    info = hr.io.video_info(films / name)
    probe = ["ffprobe", "-v", "error", "-of", "json", "-select_streams", "v:0", "-show_streams", "-show_frames", str(films / name)]
    about = json.loads(subprocess.run(probe, check=True, capture_output=True).stdout)
    stream, frames = about["streams"][0], about["frames"]
    sides = (stream["width"], stream["height"])
    assert (info.width, info.height) == (sides[::-1] if name == "turned.mp4" else sides)
    assert (info.orientation > 1) == (name == "turned.mp4")
    assert info.codec == stream["codec_name"]
    assert info.frames == len(frames) == 50
    times = np.array([float(frame["pts_time"]) for frame in frames])
    np.testing.assert_allclose(info.seconds, times - times[0], atol=1e-3)
    assert info.key_frames == [i for i, frame in enumerate(frames) if frame["key_frame"]]
    assert info.duration == pytest.approx(2.0, abs=0.002)
    assert info.fps == pytest.approx(25, abs=0.05)
    assert hr.io.video_info((films / name).read_bytes())._replace(seconds=None) == info._replace(seconds=None)


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
@pytest.mark.parametrize(
    "said",
    [
        {"primaries": "bt2020", "transfer": "smpte2084", "matrix": "bt2020nc", "range": "tv"},
        {"primaries": "bt2020", "transfer": "arib-std-b67", "matrix": "bt2020nc", "range": "pc"},
        {"primaries": "bt709", "transfer": "bt709", "matrix": "bt709", "range": "tv"},
        {"primaries": "smpte170m", "transfer": "smpte170m", "matrix": "smpte170m", "range": "pc"},
        {},
    ],
)
def test_how_colours_are_coded_is_told(said, suffix, tmp_path):
    """As ffprobe does; of films of high dynamic range the curve has a name."""
    flags = {"primaries": "-color_primaries", "transfer": "-color_trc", "matrix": "-colorspace", "range": "-color_range"}
    tags = [word for name, value in said.items() for word in (flags[name], value)]
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 4, "-pix_fmt", "yuv420p"]
    ffmpeg(*pattern, "-c:v", "libx264", *tags, tmp_path / f"a.{suffix}")
    color = hr.io.video_info(tmp_path / f"a.{suffix}").color
    assumed = {"primaries": "", "transfer": "", "matrix": "smpte170m", "range": "tv"}
    assert color._asdict() == assumed | said | {"stated": tuple(said)}


@pytest.mark.parametrize(
    ("codec", "form", "pixels", "said", "want"),
    [
        ("libx264", "mp4", "yuv420p", {"colorspace": "bt709", "color_range": "pc"}, ("", "", "bt709", "pc", ("matrix", "range"))),
        ("libx264", "mkv", "yuv420p", {"colorspace": "smpte170m"}, ("", "", "smpte170m", "tv", ("matrix", "range"))),
        ("libx264", "ts", "yuv420p", {"color_primaries": "bt2020"}, ("bt2020", "", "smpte170m", "tv", ("primaries", "range"))),
        ("libx264rgb", "mp4", "rgb24", {}, ("", "", "gbr", "pc", ("matrix", "range"))),
        ("mjpeg", "avi", "yuvj420p", {}, ("", "", "bt470bg", "pc", ("matrix", "range"))),
        ("ffv1", "mkv", "yuv420p", {}, ("", "", "smpte170m", "tv", ())),
        ("ffv1", "avi", "bgr0", {}, ("", "", "gbr", "pc", ())),
    ],
)
def test_colours_are_those_that_the_decoder_uses(tmp_path, codec, form, pixels, said, want):
    """As ffprobe tells them where the file says them, also if it says no primaries; assumed ones are named apart."""
    tags = [word for name, value in said.items() for word in (f"-{name}", value)]
    path = tmp_path / f"a.{form}"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 12, "-c:v", codec, "-pix_fmt", pixels, *tags, path)
    color = hr.io.video_info(path).color
    assert tuple(color) == want
    entries = "stream=color_primaries,color_transfer,color_space,color_range"
    shown = ["ffprobe", "-v", "error", "-of", "json", "-select_streams", "v", "-show_entries", entries, path]
    theirs = json.loads(subprocess.check_output(shown))["streams"][0]
    names = {"primaries": "color_primaries", "transfer": "color_transfer", "matrix": "color_space", "range": "color_range"}
    for name in color.stated:
        assert theirs[names[name]] == getattr(color, name)


def test_colours_of_a_video_whose_first_frame_is_damaged_are_the_containers(tmp_path):
    tags = [word for name in ("colorspace", "color_primaries", "color_trc") for word in (f"-{name}", "bt709")]
    ffmpeg(
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 4, "-c:v", "libx264", "-pix_fmt", "yuv420p", *tags, tmp_path / "a.mp4"
    )
    content = bytearray((tmp_path / "a.mp4").read_bytes())
    at = content.index(b"mdat")
    size = int.from_bytes(content[at - 4 : at], "big")
    content[at + 4 : at - 4 + size] = bytes(size - 8)
    with pytest.raises(hr.MediaError):
        hr.io.load_video(bytes(content))
    assert tuple(hr.io.video_info(bytes(content)).color)[:3] == ("bt709", "bt709", "bt709")


def test_mistakes_and_damage_are_named(films, tmp_path):
    path = films / "a.mp4"
    for said, call in (
        (r"no frame 50: the video has 50 frames", lambda: hr.io.load_video(path, [50])),
        (r"no frame -51", lambda: hr.io.load_video(path, [0, -51])),
        (r"no frame at 2\.5 s: .*50 frames in 2\.000 s", lambda: hr.io.load_video(path, times=[2.5])),
        (r"frames is empty", lambda: hr.io.load_video(path, [])),
        (r"give both, or neither", lambda: hr.io.load_video(path, width=3)),
        (r"times cannot be combined with another choice", lambda: hr.io.load_video(path, 3, times=[0.1])),
        (r"'exact', 'fast'", lambda: hr.io.load_video(path, mode="quick")),
        (r"no frame of the video is in the clip", lambda: hr.io.load_video(path, start=5.0, duration=1.0)),
        (r"sound alone", lambda: hr.io.load_video(films / "sound.m4a")),
        (r"frame \d+, at 0\.\d+ s, is damaged", lambda: hr.io.load_video(films / "lost.mp4")),
        (r"stream 1", lambda: hr.io.load_video(path, stream=1)),
        (r"max_pixels", lambda: hr.io.load_video(path, max_pixels=100)),
    ):
        with pytest.raises(hr.MediaError, match=said):
            call()
    with pytest.raises(FileNotFoundError):
        hr.io.video_info(tmp_path / "none.mp4")
    with pytest.raises(TypeError):
        hr.io.load_video(path, frames="3")
    assert len(hr.io.load_video(films / "lost.mp4", start=1.2, duration=0.1)) > 0


EIGHT = [(1, 0, 0, 1), (-1, 0, 0, 1), (-1, 0, 0, -1), (1, 0, 0, -1), (0, 1, 1, 0), (0, 1, -1, 0), (0, -1, -1, 0), (0, -1, 1, 0)]


@pytest.mark.parametrize("matrix", EIGHT)
def test_all_eight_turns_are_the_commands(films, tmp_path, matrix):
    """The display matrix of an MP4 says how frames are turned; the command does it by filters of its own, before it converts colours."""
    content = bytearray((films / "a.mp4").read_bytes())
    at = content.index(b"tkhd") + 4 + 40  # the video's: version 0
    a, b, c, d = (n << 16 for n in matrix)
    content[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path = tmp_path / "turned.mp4"
    path.write_bytes(content)

    height, width = (96, 64) if matrix[0] == 0 else (64, 96)
    raw = ffmpeg("-i", path, "-frames:v", 3, "-f", "rawvideo", "-pix_fmt", "gray", "-")
    want = np.frombuffer(raw, np.uint8).reshape(3, height, width).astype(int)
    got = hr.io.load_video(path, [0, 1, 2]).astype(float)
    assert got.shape == (3, height, width, 3)
    luma = got @ np.array([0.299, 0.587, 0.114])
    assert np.abs(luma - want).mean() < 3, "the command's gray is the stream's luma, stretched"
    assert hr.io.video_info(path).orientation == EIGHT.index(matrix) + 1


@pytest.fixture(scope="module")
def long(films, tmp_path_factory):
    """A key frame every second, 30 of them; and the same with two packets lost."""
    root = tmp_path_factory.mktemp("long")
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=30"]
    ffmpeg(*pattern, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", 25, "-bf", 2, root / "long.mp4")
    ffmpeg("-i", root / "long.mp4", "-c", "copy", "-bsf:v", "noise=drop='eq(n,210)+eq(n,610)'", root / "lost.mp4")
    return root


def test_parts_of_a_clip_are_decoded_side_by_side(long):
    """One call takes all cores that are free; its bytes are those that one core gives, and so is its error."""
    path = long / "long.mp4"
    pipeline = hr.files([str(path)], content=False).decode_video(750).resize((24, 32))
    with pipeline.loader(epochs=1) as loader:  # one decoder
        (want,) = [np.array(sample["video"]) for sample in loader]
    assert np.array_equal(hr.io.load_video(path, width=32, height=24), want)
    few = [740, 3, 3, 250, 499, 500, -1]
    assert np.array_equal(hr.io.load_video(path, few, width=32, height=24), want[few])
    for _ in range(5):  # whichever part is done first
        with pytest.raises(hr.MediaError, match=r"lost.mp4.*frame 2\d\d, at 8\.\d+ s"):
            hr.io.load_video(long / "lost.mp4")
    with ThreadPoolExecutor(6) as threads:  # they share the cores
        for got in threads.map(lambda _: hr.io.load_video(path, width=32, height=24), range(12)):
            assert np.array_equal(got, want)


@pytest.mark.parametrize(
    ("sar", "turn", "size"), [("16/11", 0, (64, 140)), ("8/9", 0, (64, 85)), ("2/1", 90, (192, 64)), ("1/1", 0, (64, 96))]
)
def test_pixels_become_square(films, tmp_path, sar, turn, size):
    """By one resize of the frames as they are stored, to the width that the command's scaler has, too."""
    path = tmp_path / "wide.mp4"
    ffmpeg("-i", films / "a.mp4", "-an", "-vf", f"setsar={sar}", "-pix_fmt", "yuv420p", "-c:v", "libx264", tmp_path / "sar.mp4")
    ffmpeg("-i", tmp_path / "sar.mp4", "-c", "copy", *(["-metadata:s:v:0", f"rotate={turn}"] if turn else []), path)
    stored = hr.io.load_video(path, [0, 3])
    assert stored.shape[1:3] == ((96, 64) if turn else (64, 96))
    got = hr.io.load_video(path, [0, 3], aspect="square")
    assert got.shape[1:3] == size
    assert np.array_equal(got, hr.io.load_video(path, [0, 3], height=size[0], width=size[1]))
    pieces = np.concatenate(list(hr.io.stream_video(path, 2, end="0.08", aspect="square")))
    assert np.array_equal(pieces[0], got[0])
    pipeline = hr.files([str(path)], content=False).decode_video(2, start="begin", stride=3, aspect="square")
    with pipeline.loader(epochs=1) as loader:
        (clip,) = [np.array(sample["video"]) for sample in loader]
    assert np.array_equal(clip, got)
    with pytest.raises(hr.HeadraceError, match="planes stay as they are stored"):
        pipeline = hr.files([str(path)], content=False).decode_video(2, aspect="square", color="nv12").loader()

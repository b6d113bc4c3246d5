"""Frames that are planes, or a decoder's own numbers, are saved as they are."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FILM = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2"]


def bytes_of(path, form):
    """The numbers of a file, which the command does not convert: it has their format."""
    told = subprocess.check_output(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=pix_fmt", "-of", "csv=p=0", path], text=True
    )
    assert told.strip() == form
    return ffmpeg("-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-")


def tags(path):
    asked = ["ffprobe", "-v", "error", "-show_entries", "stream=color_range,color_space,color_transfer,color_primaries"]
    return subprocess.check_output([*asked, "-of", "csv=p=0", path], text=True).strip().split(",")


COLORS = [("nv12", "yuv420p"), ("yuv422", "yuv422p"), ("yuv420", "yuv420p"), ("yuv444", "yuv444p")]


@pytest.mark.parametrize(("color", "form"), COLORS if WHOLE else COLORS[:1])
def test_planes_are_saved_as_they_are(tmp_path, color, form):
    """By the command's reading, and by load_video's; a lossy encoder gets what the command gives it."""
    ffmpeg(*FILM, "-pix_fmt", form, "-c:v", "ffv1", tmp_path / "a.mkv")
    frames = hr.io.load_video(tmp_path / "a.mkv", color=color)
    hr.io.save_video(tmp_path / "b.mkv", frames, 25, planes=color)
    want = bytes_of(tmp_path / "a.mkv", form)
    assert bytes_of(tmp_path / "b.mkv", form) == want
    assert np.array_equal(hr.io.load_video(tmp_path / "b.mkv", color=color), frames)
    for given in (iter(frames), (frames[i : i + 2] for i in range(0, len(frames), 2)), list(frames)):
        assert hr.io.save_video(None, given, 25, planes=color, format="mkv") == (tmp_path / "b.mkv").read_bytes()

    hr.io.save_video(tmp_path / "b.mp4", frames, 25, planes=color, codec="libx264", options={"qp": 20})
    raw = ["-f", "rawvideo", "-pix_fmt", form, "-s", "64x48", "-r", 25, "-i", "-"]
    ffmpeg(*raw, "-c:v", "libx264", "-threads", 1, "-bf", "-1", "-qp", 20, tmp_path / "c.mp4", given=want)
    assert bytes_of(tmp_path / "b.mp4", form) == bytes_of(tmp_path / "c.mp4", form)
    assert tags(tmp_path / "b.mp4") == ["unknown"] * 4


NATIVE = [
    "gbrp12le", "yuv422p10le", "gray", "yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p10le", "yuv420p12le", "yuv422p16le",
    "gray10le",
    "gray16le", "gbrp10le", "gbrap10le", "bgr0", "rgb48le",
]  # fmt: skip


@pytest.mark.parametrize("form", NATIVE if WHOLE else NATIVE[:2])
def test_native_frames_are_saved_as_they_are(tmp_path, form):
    ffmpeg(*FILM, "-vf", f"format={form}", "-c:v", "ffv1", "-strict", -2, tmp_path / "a.mkv")
    frames = hr.io.load_video(tmp_path / "a.mkv", color="native")
    name = hr.io.video_info(tmp_path / "a.mkv").pixel_format
    hr.io.save_video(tmp_path / "b.mkv", frames, 25, planes=name)
    assert bytes_of(tmp_path / "b.mkv", name) == bytes_of(tmp_path / "a.mkv", name)
    assert np.array_equal(hr.io.load_video(tmp_path / "b.mkv", color="native"), frames)
    one = hr.io.save_video(None, frames[0], 25, planes=name, format="mkv")
    assert np.array_equal(hr.io.load_video(one, color="native"), frames[:1])


def test_planes_of_odd_heights_and_in_packed_formats(tmp_path):
    odd = [("yuv420p", "yuv420"), ("yuv420p", "nv12"), ("yuv422p", "yuv422"), ("yuv444p", "yuv444")]
    for form, color in odd if WHOLE else odd[1:2]:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=30x17:r=25:d=0.12", "-pix_fmt", form, "-c:v", "ffv1", tmp_path / "a.mkv")
        frames = hr.io.load_video(tmp_path / "a.mkv", color=color)
        hr.io.save_video(tmp_path / "b.mkv", frames, 25, planes=color)
        assert bytes_of(tmp_path / "b.mkv", form) == bytes_of(tmp_path / "a.mkv", form)
    packed = [("yuyv422", "yuv422p"), ("bgr24", "rgb24"), ("nv12", "yuv420p"), ("argb", "rgba")]
    for form, like in packed if WHOLE else ():
        ffmpeg(*FILM, "-vf", f"format={form}", "-c:v", "rawvideo", tmp_path / "a.nut")
        frames = hr.io.load_video(tmp_path / "a.nut", color="native")
        assert hr.io.video_info(tmp_path / "a.nut").pixel_format == form
        hr.io.save_video(tmp_path / "b.nut", frames, 25, planes=form, codec="rawvideo")
        want = ffmpeg("-i", tmp_path / "a.nut", "-f", "rawvideo", "-pix_fmt", like, "-")
        assert ffmpeg("-i", tmp_path / "b.nut", "-f", "rawvideo", "-pix_fmt", like, "-") == want


TOLD = [
    ("yuv420p10", "libx264", "mp4"),
    ("yuv420p12le", "ffv1", "mkv"),
    ("yuv420p10le", "libvpx-vp9", "webm"),
    ("yuv444p", "libx265", "mp4"),
]


@pytest.mark.parametrize(("planes", "codec", "container"), TOLD if WHOLE else TOLD[:2])
def test_colours_are_only_told(tmp_path, planes, codec, container):
    """Numbers are the same whatever the file says of them, and so are those of filters."""
    form = planes + "le" if planes.endswith("10") else planes
    ffmpeg(*FILM, "-vf", f"format={form}", "-c:v", "ffv1", "-strict", -2, tmp_path / "a.mkv")
    frames = hr.io.load_video(tmp_path / "a.mkv", color="native")
    more = {"options": {"bf": 0}} if codec == "libx265" else {}
    got = {}
    for color, reach in ((None, None), ("bt709", "limited"), ("bt2020", "full"), ("bt601", None)):
        path = tmp_path / f"x.{container}"
        hr.io.save_video(path, frames, 25, planes=planes, codec=codec, color=color, range=reach, **more)
        said = hr.io.video_info(path).color
        names = {"bt601": "smpte170m", "bt2020": "bt2020nc"}
        if color is not None:
            assert said.matrix == names.get(color, color)
            assert "matrix" in said.stated
        else:
            assert "matrix" not in said.stated or codec == "libvpx-vp9"
        if reach is not None:
            assert said.range == {"limited": "tv", "full": "pc"}[reach]
        got[color] = hr.io.load_video(path, color="native").tobytes()
    assert len(set(got.values())) == 1


def test_motion_jpeg_has_full_range(tmp_path):
    ffmpeg(*FILM, "-pix_fmt", "yuvj422p", "-c:v", "mjpeg", "-q:v", 2, tmp_path / "a.avi")
    frames = hr.io.load_video(tmp_path / "a.avi", color="native")
    assert hr.io.video_info(tmp_path / "a.avi").pixel_format == "yuvj422p"
    hr.io.save_video(tmp_path / "b.avi", frames, 25, planes="yuvj422p", codec="mjpeg", quality=1)
    back = hr.io.load_video(tmp_path / "b.avi", color="native")
    assert np.abs(back.astype(int) - frames).max() <= 8
    same = hr.io.save_video(None, frames, 25, planes="yuv422", range="full", codec="mjpeg", quality=1, format="avi")
    assert same == (tmp_path / "b.avi").read_bytes()
    hr.io.save_video(tmp_path / "b.mkv", frames, 25, planes="yuvj422p")
    assert bytes_of(tmp_path / "b.mkv", "yuv422p") == frames.tobytes()
    assert hr.io.video_info(tmp_path / "b.mkv").color.range == "pc"


def test_pixel_format_converts_chroma_and_bits_alone(tmp_path):
    ffmpeg(*FILM, "-pix_fmt", "yuv444p10le", "-c:v", "ffv1", tmp_path / "a.mkv")
    frames = hr.io.load_video(tmp_path / "a.mkv", color="native")
    for reach in (None, "limited", "full"):
        how = {"planes": "yuv444p10le", "codec": "libx264", "options": {"qp": 1}, "range": reach}
        hr.io.save_video(tmp_path / "b.mp4", frames, 25, pixel_format="yuv444p", **how)
        back = hr.io.load_video(tmp_path / "b.mp4", color="native")
        assert np.abs(back.astype(int) - (frames / 4)).max() <= 2.5, reach


def test_a_filter_sees_the_planes(tmp_path):
    ffmpeg(*FILM, "-pix_fmt", "yuv420p", "-c:v", "ffv1", tmp_path / "a.mkv")
    frames = hr.io.load_video(tmp_path / "a.mkv", color="yuv420")
    hr.io.save_video(tmp_path / "b.mkv", frames, 25, planes="yuv420", filter="hflip,crop=32:32")
    want = ffmpeg("-i", tmp_path / "a.mkv", "-vf", "hflip,crop=32:32", "-f", "rawvideo", "-")
    assert bytes_of(tmp_path / "b.mkv", "yuv420p") == want


YUV = np.full((2, 72, 64), 128, np.uint8)
WIDE = np.full((2, 72, 64), 512, np.uint16)
REFUSED = [
    (YUV, "yuv411", {}, "planes is 'yuv411': must be 'yuv420', 'nv12'"),
    (YUV, "yuva420p", {}, "has alpha beside its planes"),
    (WIDE, "yuv420", {}, "have dtype uint16: must be uint8; of 10 bits they are 'yuv420p10le'"),
    (YUV, "yuv420p10le", {}, "have dtype uint8: must be uint16"),
    (YUV[:, :70], "yuv420", {}, "have shape (2, 70, 64): must be [frames, height + height / 2, width], of even width"),
    (YUV[:, :, :63], "yuv420", {}, "of even width"),
    (YUV[:, :71], "yuv422", {}, "must be [frames, 2 · height, width], of even width"),
    (YUV, "yuv444", {}, "must be [frames, 3, height, width]"),
    (YUV, "rgb24", {}, "must be [frames, height, width, 3]"),
    (YUV[..., None], "yuv420", {}, "must be [frames, height + height / 2, width]"),
    (WIDE + 600, "yuv420p10le", {}, "frame 0 has numbers above 1023, the most of yuv420p10le"),
    (WIDE, "yuv420p10le", {"codec": "mpeg4"}, "the frames are yuv420p10le, and mpeg4 takes yuv420p: choose a codec"),
    (YUV, "yuv420", {"codec": "gif", "format": "gif"}, "the frames are yuv420p, and gif takes"),
    (YUV, "yuv420", {"pixel_format": "rgb24"}, "frames of yuv420p keep their colours, and pixel_format rgb24 has others"),
    (YUV, "yuv420", {"codec": "mjpeg", "format": "avi"}, "players take mjpeg for full range"),
    (YUV, "yuvj420p", {"range": "limited"}, "range is 'limited', but frames of 'yuvj420p' have full range"),
    (YUV, "yuv420", {"codec": "mpeg4", "format": "mov", "color": "bt709"}, "a file of mpeg4 in mov cannot say the matrix bt709"),
    (YUV, "gray", {"range": "limited"}, "players take gray of ffv1 for full range"),
    (YUV, "gray", {"codec": "mpeg4"}, "the frames are gray, and mpeg4 takes yuv420p"),
]


def test_what_cannot_be_is_refused(tmp_path):
    for frames, planes, how, why in REFUSED:
        with pytest.raises(hr.MediaError, match=re.escape(why)):
            hr.io.save_video(tmp_path / "x", frames, 25, planes=planes, **{"format": "mkv", **how})
        assert not list(tmp_path.iterdir())
    with pytest.raises(hr.errors.WrongType, match="planes is 3: must be 'yuv420'"):
        hr.io.save_video(tmp_path / "x.mkv", YUV, 25, planes=3)


@pytest.mark.parametrize("planes", [None, "yuv420", "nv12", "p010le", "yuv422", "yuv444", "gray", "rgb24", "gbrp10le"])
def test_without_frames_or_pixels(tmp_path, planes):
    dtype = np.uint16 if planes in ("p010le", "gbrp10le") else np.uint8
    shape = {"yuv444": (3, 72, 64), "rgb24": (72, 64, 3), "gbrp10le": (72, 64, 3)}.get(planes, (72, 64))
    none = np.zeros((0, *shape), dtype)
    how = {"format": "mkv", "planes": planes}
    for frames in (none, iter([]), iter([none, none])):
        with pytest.raises(hr.MediaError, match="headrace: save_video: there are no frames"):
            hr.io.save_video(tmp_path / "x", frames, 25, **how)
    thin = np.zeros((2, *(0 if n == 64 else n for n in shape)), dtype)
    with pytest.raises(hr.MediaError, match=r"^headrace: save_video: frames have shape \(2, .*\): they have no pixels$"):
        hr.io.save_video(tmp_path / "x", thin, 25, **how)
    assert not list(tmp_path.iterdir())

    # A generator may have nothing to give at first, or between.
    some = np.full((2, *shape), 128, dtype)
    pieces = hr.io.save_video(None, iter([none, some[:1], none, some[1:]]), 25, **how)
    assert pieces == hr.io.save_video(None, some, 25, **how)

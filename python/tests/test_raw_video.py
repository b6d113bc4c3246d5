"""Files that are nothing but frames, and YUV4MPEG."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

import films
import headrace as hr
from conftest import WHOLE

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FORMATS = (
    "yuv420p", "yuv422p", "yuv444p", "nv12", "nv21", "yuyv422", "uyvy422", "gray", "rgb24", "bgr24", "rgba", "bgra", "argb", "gbrp",
    "yuv420p10le", "yuv422p10le", "yuv444p12le", "gray10le", "gray16le", "rgb48le", "gbrp10le", "yuvj420p",
)  # fmt: skip
SIZE, FRAMES = (48, 64), 6


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    source = ["-f", "lavfi", "-i", f"testsrc2=s=64x48:r=25:d={FRAMES / 25}"]
    outputs = [part for name in FORMATS for part in ("-map", 0, "-pix_fmt", name, "-f", "rawvideo", folder / f"a.{name}")]
    films.ffmpeg(*source, *outputs, "-map", 0, "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", folder / "a.y4m")
    return folder


def how(form, **more):
    return {"format": "rawvideo", "format_options": {"video_size": "64x48", "pixel_format": form, **more}}


@pytest.mark.parametrize("form", FORMATS if WHOLE else ["nv12", "bgra", "yuv422p10le"])
def test_frames_are_those_of_a_file_with_a_head(made, tmp_path, form):
    """NUT, which the command makes of them."""
    given = ["-f", "rawvideo", "-pix_fmt", form, "-s", "64x48", "-r", 25, "-i", made / f"a.{form}"]
    films.ffmpeg(*given, "-c:v", "rawvideo", tmp_path / "a.nut")
    for more in ({}, {"dtype": "uint16"}, {"color": "native"}, {"color": "gray"}, {"width": 32, "height": 24}):
        want = hr.io.load_video(tmp_path / "a.nut", **more)
        assert len(want) == FRAMES
        for src in (made / f"a.{form}", (made / f"a.{form}").read_bytes(), io.BytesIO((made / f"a.{form}").read_bytes())):
            assert np.array_equal(hr.io.load_video(src, **how(form), **more), want), more
        pieces = hr.io.stream_video(made / f"a.{form}", 4, **how(form), **more)
        assert np.array_equal(np.concatenate(list(pieces)), want)
    info, theirs = hr.io.video_info(made / f"a.{form}", **how(form)), hr.io.video_info(tmp_path / "a.nut")
    assert (info.width, info.height, info.frames, info.fps, info.pixel_format) == (64, 48, FRAMES, 25, theirs.pixel_format)
    assert info.codec == "rawvideo"
    assert info.color == theirs.color


def test_numbers_are_those_of_the_file(made):
    for form, color in (("yuv420p", "yuv420"), ("nv12", "nv12"), ("yuv422p", "yuv422"), ("yuv444p", "yuv444")):
        want = np.fromfile(made / f"a.{form}", np.uint8)
        assert np.array_equal(hr.io.load_video(made / f"a.{form}", color=color, **how(form)).reshape(-1), want)
    assert np.array_equal(hr.io.load_video(made / "a.rgb24", **how("rgb24")).reshape(-1), np.fromfile(made / "a.rgb24", np.uint8))
    wide = hr.io.load_video(made / "a.yuv420p10le", color="native", **how("yuv420p10le"))
    assert np.array_equal(wide.reshape(-1), np.fromfile(made / "a.yuv420p10le", "<u2"))


def test_frames_by_number_time_and_filter(made):
    path, given = made / "a.yuv420p", how("yuv420p", framerate="30000/1001")
    every = hr.io.load_video(path, **given)
    assert np.array_equal(hr.io.load_video(path, [5, 0, -1], **given), every[[5, 0, 5]])
    assert np.array_equal(hr.io.load_video(path, times=[0.0, 0.1], **given), every[[0, 2]])
    info = hr.io.video_info(path, **given)
    assert info.seconds == pytest.approx(np.arange(FRAMES) * 1001 / 30000)
    window = {"start": 2 * 1001 / 30000, "end": 0.14}
    with hr.io.stream_video(path, 8, **window, **given) as stream:
        assert np.array_equal(np.concatenate(list(stream)), every[2:5])
    flipped = hr.io.load_video(path, filter="hflip,format=rgb24", **given)
    want = films.ffmpeg(
        "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "64x48", "-i", path,
        "-vf", "hflip,scale=flags=bicubic+accurate_rnd+full_chroma_int+bitexact,format=rgb24", "-f", "rawvideo", "-",
    )  # fmt: skip
    assert flipped.tobytes() == want
    assert np.array_equal(np.concatenate(list(hr.io.stream_video(path, 4, filter="hflip,format=rgb24", **given))), flipped)


def test_pipelines_read_them(made):
    every = hr.io.load_video(made / "a.nv12", **how("nv12"))
    for content in (True, False):
        clips = hr.files(str(made / "a.nv12"), content=content).decode_video(4, stride=1, start="begin", **how("nv12")).batch(1)
        with clips.loader(epochs=1) as loader:
            assert np.array_equal(next(iter(loader))["video"][0], every[:4])
    pieces = hr.files(str(made / "a.nv12"), content=False).video_clips(3, **how("nv12")).batch(1)
    with pieces.loader(epochs=1) as loader:
        assert np.array_equal(np.concatenate([batch["video"][0] for batch in loader]), every)


def test_yuv4mpeg_needs_no_word(made, tmp_path):
    want = hr.io.load_video(made / "a.yuv420p", color="yuv420", **how("yuv420p"))
    for src in (made / "a.y4m", (made / "a.y4m").read_bytes()):
        assert np.array_equal(hr.io.load_video(src, color="yuv420"), want)
    assert np.array_equal(np.concatenate(list(hr.io.stream_video(made / "a.y4m", 4))), hr.io.load_video(made / "a.y4m"))
    info = hr.io.video_info(made / "a.y4m")
    assert (info.width, info.height, info.frames, info.fps, info.key_frames) == (64, 48, FRAMES, 25, list(range(FRAMES)))
    for form in ("yuv422p", "yuv444p", "gray", "yuv420p10le") if WHOLE else ("yuv420p10le",):
        given = ["-f", "rawvideo", "-pix_fmt", form, "-s", "64x48", "-r", 25, "-i", made / f"a.{form}"]
        films.ffmpeg(*given, "-strict", -1, tmp_path / "x.y4m")
        assert np.array_equal(
            hr.io.load_video(tmp_path / "x.y4m", color="native"), hr.io.load_video(made / f"a.{form}", color="native", **how(form))
        )


OF = "pixel_format=yuv420p"
REFUSED = [
    ({"format": "raw"}, 'must be "rawvideo"; other files tell their format themselves'),
    ({"format": "yuv4mpegpipe"}, "YUV4MPEG too"),
    ({"format": "rawvideo"}, "must have video_size and pixel_format"),
    ({"format": "rawvideo", "format_options": "video_size=64x48"}, "must have video_size and pixel_format"),
    ({"format": "rawvideo", "format_options": OF}, "must have video_size and pixel_format"),
    ({"format": "rawvideo", "format_options": f"size=64x48:{OF}"}, 'has "size": raw frames have video_size, pixel_format and framerate'),
    ({"format": "rawvideo", "format_options": f"video_size=64:{OF}"}, 'has video_size "64": must be as in 64x48'),
    ({"format": "rawvideo", "format_options": f"video_size=0x48:{OF}"}, "must be as in 64x48"),
    ({"format": "rawvideo", "format_options": f"video_size=-64x-48:{OF}"}, "must be as in 64x48"),
    ({"format": "rawvideo", "format_options": f"video_size=99999999999x1:{OF}"}, "must be as in 64x48"),
    ({"format": "rawvideo", "format_options": f"video_size=64x48:{OF}:framerate=0"}, 'has framerate "0": must be as in 25'),
    ({"format": "rawvideo", "format_options": f"video_size=64x48:{OF}:framerate=1/0"}, 'has framerate "1/0"'),
    ({"format": "rawvideo", "format_options": f"video_size=64x48:{OF}:framerate=nan"}, 'has framerate "nan"'),
    ({"format_options": "video_size=64x48"}, "is for raw frames: set format to"),
]


def test_wrong_arguments_are_refused(made):
    for given, why in REFUSED:
        for call in (hr.io.load_video, hr.io.video_info, lambda *a, **k: list(hr.io.stream_video(*a, **k))):
            with pytest.raises(hr.MediaError, match=re.escape(why)):
                call(made / "a.yuv420p", **given)
        with pytest.raises(hr.errors.RecipeError, match=re.escape(why)):
            hr.files(str(made / "a.yuv420p"), content=False).decode_video(2, **given).batch(1).loader()


def test_files_that_do_not_fit_are_refused(made, tmp_path):
    data = (made / "a.yuv420p").read_bytes()
    cases = [
        (data, {"video_size": "48x48", "pixel_format": "yuv420p"}, None),  # fits by chance: nothing can tell
        (
            data[:-7],
            {"video_size": "64x48", "pixel_format": "yuv420p"},
            "27641 bytes are 5 frames of 64×48 pixels as yuv420p, of 4608 bytes each, and 4601",
        ),
        (data[:100], {"video_size": "64x48", "pixel_format": "yuv420p"}, "100 bytes are less than one of the frames of 64×48 pixels"),
        (data, {"video_size": "64x48", "pixel_format": "yuv999p"}, "there is no pixel format yuv999p"),
        (data, {"video_size": "64x48", "pixel_format": "pal8"}, "convert them with the ffmpeg command: pal8"),
        (data, {"video_size": "64x48", "pixel_format": "monow"}, "convert them with the ffmpeg command: monow"),
        (data, {"video_size": "64x48", "pixel_format": "p010le"}, "convert them with the ffmpeg command: p010le"),
        (data, {"video_size": "64x48", "pixel_format": "x" * 300}, "there is no pixel format"),
        (data, {"video_size": "16384x16384", "pixel_format": "yuv420p"}, "must be as in 64x48"),
        (b"", {"video_size": "64x48", "pixel_format": "yuv420p"}, "the file is empty"),
    ]
    for content, options, why in cases:
        given = {"format": "rawvideo", "format_options": options}
        (tmp_path / "x").write_bytes(content)
        if why is None:
            assert len(hr.io.load_video(tmp_path / "x", **given)) == 8
            continue
        for src in (content, tmp_path / "x"):
            with pytest.raises(hr.MediaError, match=re.escape(why)):
                hr.io.load_video(src, **given)
        with pytest.raises(hr.MediaError, match=re.escape(why)):
            list(hr.io.stream_video(tmp_path / "x", **given))
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)
    for call in (hr.io.load_video, hr.io.video_info, lambda *a, **k: list(hr.io.stream_video(*a, **k))):
        with pytest.raises(hr.MediaError, match="at most 4194304 are read"):
            call(tmp_path / "huge", format="rawvideo", format_options="video_size=1x1:pixel_format=gray")
    with pytest.raises(hr.MediaError, match="no stream 1 of video"):
        hr.io.load_video(made / "a.yuv420p", stream=1, **how("yuv420p"))
    with pytest.raises(hr.errors.WrongType, match="format is 3"):
        hr.io.load_video(made / "a.yuv420p", format=3)
    kept = (
        hr.files(str(tmp_path / "cut"), content=False).decode_video(5, stride=1, start="begin", damaged="keep", **how("yuv420p")).batch(1)
    )
    (tmp_path / "cut").write_bytes(data[:-7])
    with kept.loader(epochs=1) as loader:
        assert np.array_equal(next(iter(loader))["video"][0], hr.io.load_video(data, **how("yuv420p"))[:5])


def test_bytes_that_look_like_a_container_are_frames(made):
    """The format that is given counts."""
    film = films.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=1", "-f", "mp4", "-movflags", "frag_keyframe+empty_moov", "-")
    data = film[: len(film) // 64 * 64]
    given = {"format": "rawvideo", "format_options": {"video_size": "64x1", "pixel_format": "gray"}}
    assert hr.io.load_video(data, color="native", **given).tobytes() == data
    assert np.concatenate(list(hr.io.stream_video(data, 7, color="native", **given))).tobytes() == data

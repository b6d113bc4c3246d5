"""What files and options of somebody else may cost `headrace.io`, and which files FFmpeg may open for them."""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from conftest import environment_of

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FRAMES = np.zeros((3, 16, 16, 3), np.uint8)
SAMPLES = np.zeros(1600, np.float32)


@pytest.mark.parametrize(
    "graph",
    [
        "lut3d=a.cube",
        "lut3d=file=a.cube",
        "[in]hflip, lut3d@mine = interp=nearest:file=a.cube [out]",
        "subtitles=a.srt",
        "movie=a.mp4[a];[in][a]overlay",
        "drawtext=textfile=/etc/passwd",
        "drawtext=text=x:fontfile=a.ttf",
        "psnr=f=a.log",
        "curves=psfile=a.acv",
        "metadata=print:file=a.txt",
        "sendcmd=c='0 lut3d file a.cube'",
        "frei0r=glow",
        "scale=w=/etc/passwd",
    ],
)
def test_filters_open_no_files(graph, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.MediaError, match=r"the option .* of the filter .* may open a file; files=True allows that"):
        hr.io.filter(graph, FRAMES)
    with pytest.raises(hr.MediaError, match="may open a file"):
        hr.io.save_video(None, FRAMES, 25, format="avi", codec="mpeg4", filter=graph)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("graph", ["arnndn=m=a", "ladspa=a:b", "amovie=a.wav"])
def test_filters_of_sound_open_no_files(graph):
    with pytest.raises(hr.MediaError, match="may open a file"):
        hr.io.filter(graph, SAMPLES, rate=16000)


@pytest.mark.parametrize(
    "graph",
    [
        "scale=iw/2:ih/2",
        "fps=25,crop=iw-10:ih/2,eq=contrast=1.5",
        "geq=lum=X/2",
        r"select=gt(scene\,0)+1",
        "rotate=PI/6:ow=rotw(iw)",
        "curves=r='0/0 0.5/0.58 1/1'",
        "split[a][b];[b]vflip[c];[a][c]hstack",
        "format=gray,setpts=PTS/2",
    ],
)
def test_other_filters_need_no_permission(graph):
    assert len(hr.io.filter(graph, FRAMES)) > 0


def test_files_that_are_allowed(tmp_path):
    path = tmp_path / "a.cube"
    path.write_text("LUT_3D_SIZE 2\n" + "1 0 0\n" * 8)
    red = hr.io.filter(f"lut3d={path}", FRAMES, files=True)
    assert (red == [255, 0, 0]).all()


@pytest.mark.parametrize("options", [{"stats": "a"}, {"passlogfile": "a"}, {"x264opts": "stats=a"}, {"x264-params": "stats=a"}])
def test_encoders_open_no_files(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.MediaError, match=r"the option .* of the encoder libx264 may open a file|has no encoder"):
        hr.io.save_video(None, FRAMES, 25, format="matroska", codec="libx264", options=options)
    assert not list(tmp_path.iterdir())


def test_options_of_encoders_and_containers_that_are_no_files(tmp_path):
    for options in ({"level": 3}, {"mpv_flags": "+mv0"}):
        assert hr.io.save_video(None, FRAMES, 25, format="mp4", codec="mpeg4", options=options, container={"movflags": "faststart"})


def test_guests_may_not_allow_it(tmp_path):
    path = tmp_path / "a.cube"
    path.write_text("LUT_3D_SIZE 2\n" + "1 0 0\n" * 8)
    code = f"""
import numpy as np, headrace as hr
try:
    hr.io.filter("lut3d={path}", np.zeros((1, 16, 16, 3), np.uint8), files=True)
except hr.MediaError as error:
    print(error)
"""
    with hr.io.share():
        ran = subprocess.run([sys.executable, "-c", code], env=environment_of(), capture_output=True, text=True, timeout=60)
    assert "may open a file, which a process that shares the engine of another may not" in ran.stdout, ran


def wav(chunk: bytes, claimed: int) -> bytes:
    """A WAV file with a chunk of text that claims to be long."""
    body = b"WAVE" + chunk + struct.pack("<I", claimed) + b"INFO" + b"INAM" + struct.pack("<I", claimed) + bytes(64)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_small_files_take_little_memory(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav(b"LIST", 0x60000000))
    code = """
import resource, sys, headrace as hr
path = sys.argv[1]
for call in (
    lambda: hr.io.demux(path),
    lambda: hr.io.remux(path, None, format="wav"),
    lambda: list(hr.io.stream_audio(path)),
    lambda: hr.io.filter("anull", path),
):
    try:
        print("accepted", call())
    except (hr.MediaError, hr.MemoryRefused):
        pass
hr.io.close()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    ran = subprocess.run([sys.executable, "-c", code, path], env=environment_of(), capture_output=True, text=True, timeout=60)
    assert int(ran.stdout) < 300 << 10, ran  # KiB


def test_large_pictures_are_let_through():
    """The limit follows the size of what is encoded: FFV1 asks for 140 bytes for each pixel."""
    frames = np.zeros((1, 1200, 1600, 3), np.uint8)
    assert hr.io.save_video(None, frames, 25, format="matroska", codec="ffv1")


def test_a_limit_of_time():
    film = hr.io.save_video(None, np.zeros((200, 64, 64, 3), np.uint8), 25, format="matroska")
    long = hr.io.save_audio(None, np.zeros(16000 * 120, np.int16), 16000, format="ogg", codec="flac")
    for call in (
        lambda limit: hr.io.demux(long, time_limit=limit),
        lambda limit: hr.io.remux(long, None, format="matroska", time_limit=limit),
        lambda limit: list(hr.io.stream_audio(long, 600.0, time_limit=limit)),
        lambda limit: hr.io.filter("aresample=48000", long, time_limit=limit),
        lambda limit: list(hr.io.stream_video(film, time_limit=limit)),
        lambda limit: list(hr.io.stream_media(film, rate=16000, time_limit=limit)),
    ):
        with pytest.raises(hr.MediaError, match=r"took longer than .* \(time_limit\)"):
            call(1e-6)
        assert call(60.0) is not None
        with pytest.raises(hr.MediaError, match="time_limit must be a positive number of seconds"):
            call(0)


def test_a_graph_without_end_is_stopped():
    frame = np.zeros((1, 16, 16), np.uint8)
    for graph in ("loop=-1:1", "tpad=stop=-1", "[in]nullsink;color=s=16x16"):
        with pytest.raises(hr.MediaError, match=r"took longer than .* \(time_limit\)"):
            hr.io.filter(graph, frame, color="gray", max_bytes=1 << 40, time_limit=0.3)
        with pytest.raises(hr.MediaError, match="more than 10000 bytes; raise max_bytes"):
            hr.io.filter(graph, frame, color="gray", max_bytes=10_000)

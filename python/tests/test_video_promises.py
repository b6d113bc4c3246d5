"""What every pipeline promises, kept by those of videos: memory, time limits, crashes, replays, recipes, ranks, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import headrace as hr
from conftest import DEBUG_ENGINE
from films import ffmpeg
from headrace._client.program import find_program


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Eight videos of 20 frames."""
    root = tmp_path_factory.mktemp("films")
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 20]
    ffmpeg(*pattern, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "8", "-bf", "2", root / "0.mp4")
    for i in range(1, 8):
        ffmpeg("-i", root / "0.mp4", "-c", "copy", root / f"{i}.{('mp4', 'mkv')[i % 2]}")
    return sorted(str(p) for p in root.iterdir())


def described(films, flat=False):
    pipeline = hr.files(films, content=False, seed=3).shuffle()
    pipeline = pipeline.video_clips(4, clips=2, number="n") if flat else pipeline.decode_video(4, stride=2, times="at")
    return pipeline.random_resized_crop(16).random_flip().batch(2)


def videos(loader):
    return [np.array(b["video"]) for b in loader]


def same(a, b):
    assert len(a) == len(b)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("flat", [False, True])
def test_replays_and_their_draws(films, flat):
    with described(films, flat).loader(epochs=1) as loader:
        state = loader.state_dict()
        seen = videos(loader)
    step = "video_clips" if flat else "decode_video"
    for n in (0, len(seen) - 1):
        batch, rows = hr.replay(described(films, flat), state, n)
        assert np.array_equal(batch["video"], seen[n])
        for i, row in enumerate(rows):
            assert row["key"] == batch["key"][i]
            draws = {draw["step"]: draw["values"] for draw in row["draws"]}
            assert len(draws[step]["frames"]) == 4
            assert {"random_resized_crop", "random_flip"} <= set(draws)
            if not flat:
                np.testing.assert_allclose(batch["at"][i], np.array(draws[step]["frames"]) / 25, atol=1e-9)


@pytest.mark.parametrize("flat", [False, True])
def test_recipes_are_the_same_pipeline(films, tmp_path, flat):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(described(films, flat).recipe())
    with described(films, flat).loader(epochs=1) as a, hr.load(recipe).loader(epochs=1) as b:
        same(videos(a), videos(b))
    with described(films, flat).loader(epochs=1, fuse=False) as a, hr.load(recipe).loader(epochs=1, workers=1) as b:
        same(videos(a), videos(b))


def test_a_clip_that_no_memory_holds_is_refused(films):
    """The table says how many frames there are, before a decoder is opened."""
    pipeline = hr.files(films[:1], content=False).decode_video(100_000, stride=1).resize((256, 256)).batch(1)
    with pytest.raises(hr.HeadraceError, match="memory"), pipeline.loader(epochs=1, memory="256 MiB") as loader:
        list(loader)
    every = hr.files(films[:1], content=False).decode_video(fps=1000).resize((256, 256))  # of 800 frames, which only the video says
    with (
        every.loader(epochs=1, memory="64 MiB") as loader,
        pytest.raises(hr.SampleError, match=r"a clip of 800 frames .* needs more memory"),
    ):
        list(loader)


def test_the_engine_takes_no_more_than_was_reserved(tmp_path):
    """Decoders of 720p take some 30 MiB each, and of eight workers only as many have one as the memory is for."""
    source = ["-f", "lavfi", "-i", "testsrc2=s=1280x720:r=25:d=2"]
    ffmpeg(*source, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "veryfast", "-bf", 3, tmp_path / "0.mp4")
    for i in range(1, 12):
        (tmp_path / f"{i}.mp4").symlink_to(tmp_path / "0.mp4")
    program = """
import json, sys
import headrace as hr
pipeline = hr.files(sys.argv[1], content=False).decode_video(16).resize((64, 64)).batch(2)
with pipeline.loader(epochs=2, workers=8, memory="120MB") as loader:
    for _ in range(2):
        assert sum(len(batch["key"]) for batch in loader) == 12
    print(json.dumps(loader.stats()))
"""  # whose engine has done nothing else
    done = subprocess.run([sys.executable, "-c", program, tmp_path], check=True, capture_output=True, text=True)
    stats = json.loads(done.stdout)
    (engine,) = [p for p in stats["resources"]["processes"] if p["name"] == "engine"]
    assert stats["memory"]["peak"] <= 120_000_000
    assert engine["peak"] <= stats["memory"]["peak"] + (100 << 20), "beside an engine without a decoder, which takes some 60 MiB"


def test_time_limits(films):
    limited = hr.files(films[:2], content=False).decode_video(20).failures(time_limit=0.001, on_error="skip").resize((512, 512)).batch(1)
    with limited.loader(epochs=1, workers=4) as loader:
        assert list(loader) == []
        assert [e.key for e in loader.errors] == films[:2]
        assert all("longer than 1ms" in str(e) for e in loader.errors), loader.errors[0]


@pytest.mark.parametrize("flat", [False, True])
def test_a_video_that_crashes_is_left_out(films, monkeypatch, flat):
    if not os.environ.get("HEADRACE_ENGINE"):
        monkeypatch.setenv("HEADRACE_ENGINE", str(DEBUG_ENGINE))
    monkeypatch.setenv("HEADRACE_TEST_CRASH", "3.mkv")
    pipeline = hr.files(films, content=False)
    pipeline = pipeline.video_clips(4, step=10) if flat else pipeline.decode_video(2)
    with pipeline.resize((8, 8)).batch(1).loader(epochs=1, on_error="skip") as loader:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            keys = {k for b in loader for k in b["key"]}
        assert keys == {f for f in films if not f.endswith("3.mkv")}
        assert {e.key for e in loader.errors} == {films[3]}
        assert loader.state_dict()["quarantine"] == [3]


def test_the_command_previews_and_inspects(films, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(described(films, flat=True).recipe())
    sheet = tmp_path / "sheet.png"
    for args in (["preview", recipe, "-o", sheet], ["inspect", recipe, "--json"]):
        ran = subprocess.run([find_program(), *map(str, args)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
    assert sheet.stat().st_size > 1000
    told = json.loads(ran.stdout)["samples"]
    assert [(s["video"]["codec"], s["video"]["frames"], s["video"]["key_frames"]) for s in told] == [("h264", 20, 3)] * len(told)


def test_a_size_that_changes(tmp_path):
    """Frames are brought to one size, or the first of another is named: what ffmpeg decodes of both halves."""
    parts = []
    for name, size in (("a", "64x48"), ("b", "96x80")):
        path = tmp_path / f"{name}.ts"
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=25", "-frames:v", 10, "-c:v", "mpeg2video", "-g", 5, "-f", "mpegts", path)
        parts.append(path.read_bytes())
    both = tmp_path / "both.ts"
    both.write_bytes(b"".join(parts))
    every = hr.files([str(both)], content=False).decode_video(times="at")
    with (
        every.loader(epochs=1) as loader,
        pytest.raises(hr.SampleError, match=r"frame \d+, at .* has 96×80 pixels, but the video has 64×48"),
    ):
        list(loader)

    def resized(path):
        with hr.files([str(path)], content=False).decode_video().resize((24, 32)).loader(epochs=1) as loader:
            (sample,) = list(loader)
            return np.array(sample["video"])

    video = resized(both)
    parts = np.concatenate([resized(tmp_path / "a.ts"), resized(tmp_path / "b.ts")])
    assert len(video) == 20
    assert sorted(f.tobytes() for f in video) == sorted(f.tobytes() for f in parts)


def test_a_cover_is_no_video_and_streams_are_counted(films, tmp_path):
    cover, two = tmp_path / "cover.m4a", tmp_path / "two.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 1, "-c:v", "mjpeg", tmp_path / "cover.jpg")
    ffmpeg(
        "-f",
        "lavfi",
        "-i",
        "sine=d=0.2",
        "-i",
        tmp_path / "cover.jpg",
        *["-map", "0", "-map", "1", "-c:a", "aac", "-c:v", "copy", "-disposition:v", "attached_pic"],
        cover,
    )
    ffmpeg("-i", films[0], "-i", films[0], *["-map", "0", "-map", "1", "-c", "copy"], two)
    for path, stream, said in ((cover, None, "has no video: it has sound"), (two, 2, "has no stream 2 of video: it has 2 of them")):
        with (
            hr.files([str(path)], content=False).decode_video(2, stream=stream).loader(epochs=1) as loader,
            pytest.raises(hr.SampleError, match=f"unsupported video: the file {said}"),
        ):
            list(loader)
    with hr.files([str(two)], content=False).decode_video(2, stream=1).loader(epochs=1) as loader:
        assert len(list(loader)) == 1

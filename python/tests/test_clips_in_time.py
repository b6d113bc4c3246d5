"""Clips whose frames come a little earlier or later, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

# Each frame says its number, clip and channel.
CLIP = (np.arange(12)[:, None, None, None] * 10 + np.arange(3)).astype(np.uint8) * np.ones((1, 16, 16, 1), np.uint8)


RAW = {"format": "rawvideo", "format_options": {"video_size": "16x16", "pixel_format": "rgb24"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for i in range(60):
        (folder / f"{i:03}.rgb").write_bytes(CLIP.tobytes())
    return hr.files(f"{folder}/*.rgb", seed=5)


def clips(pipeline, name="video", **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return np.stack([np.array(sample[name]) for sample in loader])


def numbers(all):
    return all[:, :, 0, 0, 0] // 10


@pytest.fixture
def source(files):
    return files.decode_video(12, start="begin", **RAW)


def test_jitter(source, files):
    got = numbers(clips(source.temporal_jitter(2)))
    assert (np.diff(got.astype(int), axis=1) >= 0).all()
    assert np.abs(got.astype(int) - np.arange(12)).max() == 2
    assert 0.3 < (got != np.arange(12)).mean() < 0.8
    assert np.array_equal(clips(source.temporal_jitter(0)), clips(source))
    assert set(numbers(clips(source.temporal_jitter(100_000))).ravel()) <= set(range(12))


def test_drop(source):
    got = numbers(clips(source.frame_drop(0.25))).astype(int)
    dropped = got != np.arange(12)
    assert not dropped[:, 0].any()
    assert abs(dropped[:, 1:].mean() - 0.25) < 0.06
    want = np.maximum.accumulate(np.where(dropped, 0, np.arange(12)), axis=1)
    assert np.array_equal(got, want)
    assert (numbers(clips(source.frame_drop(1))) == 0).all()


@pytest.mark.parametrize("layout", ["TCHW", "CTHW"])
def test_layouts(source, layout):
    axes = {"TCHW": (0, 1, 4, 2, 3), "CTHW": (0, 4, 1, 2, 3)}[layout]
    assert np.array_equal(clips(source.layout(layout).frame_drop(0.3)), clips(source.frame_drop(0.3)).transpose(axes))


def test_several_clips_of_a_video_draw_each_for_itself(files):
    made = files.decode_video(6, clips=2, start="begin", **RAW)
    want, got = clips(made), clips(made.frame_drop(0.5))
    first = want[:, :, :1]
    kept = (got == want).all(axis=(3, 4, 5))
    assert np.array_equal(got[:, :, 0], first[:, :, 0])
    assert (kept[:, 0] != kept[:, 1]).any()


def test_two_clips_alike(source, files):
    made = source.copy("video", ["other"]).frame_drop(0.3, fields=["video", "other"])
    one = clips(made)
    assert np.array_equal(one, clips(made, "other"))
    assert np.array_equal(one, clips(made, workers=2, fuse=False))
    alone = source.copy("video", ["other"]).frame_drop(0.3, field="video")
    assert np.array_equal(clips(alone), one)
    assert np.array_equal(clips(alone, "other"), clips(source))


def test_replay(source):
    batches = source.temporal_jitter(3).batch(4)
    with batches.loader(epochs=1) as loader:
        state, first = loader.state_dict(), np.array(next(iter(loader))["video"])
    made = hr.replay(batches, state, batch=0)
    assert np.array_equal(made.batch["video"], first)
    assert [row["draws"][-1]["values"]["frames"] for row in made.rows] == numbers(first).tolist()


def test_refused(source, files):
    image = hr.source([{"image": CLIP[0]}], gives={"image": ("uint8", CLIP[0].shape)})
    with pytest.raises(hr.RecipeError, match='works on clips, but "image" is an image'):
        clips(image.frame_drop())
    with pytest.raises(hr.RecipeError, match="frames is -1"):
        clips(source.temporal_jitter(-1))
    both = files.copy("bytes", ["again"]).decode_video(12, to="long", **RAW).decode_video(6, field="again", to="short", **RAW)
    with pytest.raises(hr.SampleError, match="one clip has 12 frames, another 6"):
        clips(both.frame_drop(fields=["long", "short"]))

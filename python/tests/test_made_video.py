"""Random small films of every container: all that reads them gives the same frames, which are those of the ffmpeg command."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import headrace as hr
from conftest import cases
from made_video import CONTAINERS, Made, make, probed

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


@pytest.fixture(scope="module", params=range(cases(1, 10)))
def films_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Made]]]:
    """The films of a container, which are made once."""
    together = cases(1, 10)
    folder, seeds = tmp_path_factory.mktemp("made"), range(request.param * together, (request.param + 1) * together)
    yield functools.cache(lambda container: list(make(container, folder, seeds)))
    shutil.rmtree(folder)


def described(made: Made) -> None:
    """`video_info` tells what was written, and what ffprobe tells."""
    info, (stream, frames) = hr.io.video_info(made.path), probed(made.path)
    assert (info.frames, info.width, info.height) == (made.frames, made.width, made.height), made
    assert (info.codec, len(frames)) == (stream["codec_name"], made.frames), made
    assert info.key_frames == [i for i, frame in enumerate(frames) if frame["key_frame"]], made
    times = np.array([float(frame.get("pts_time", frame.get("pkt_dts_time", "nan"))) for frame in frames])
    known = np.isfinite(times)  # the last of AVI is not
    assert known[:-1].all(), made
    assert len(info.seconds) == made.frames, made
    np.testing.assert_allclose(info.seconds[known], (times - times[0])[known], atol=2e-3, err_msg=str(made))
    if made.steady:
        np.testing.assert_allclose(info.seconds, np.arange(made.frames) / made.fps, atol=2e-3, err_msg=str(made))
    if made.steady and (CONTAINERS[made.container].exact or made.frames > 1):
        assert info.duration == pytest.approx(made.frames / made.fps, abs=0.003), made
        assert info.fps == pytest.approx(made.frames / info.duration, rel=1e-6), made
    assert hr.io.video_info(made.path.read_bytes())._replace(seconds=None) == info._replace(seconds=None), made


@pytest.mark.parametrize("container", CONTAINERS)
def test_all_calls_agree(container, films_of):
    for made in films_of(container):
        described(made)
        assert made.planes.shape[0] == made.frames, f"{made}: the command has {len(made.planes)} frames"
        planes = hr.io.load_video(made.path, color="yuv420")
        assert np.array_equal(planes, made.planes), f"{made}: other frames than the command's"

        frames = hr.io.load_video(made.path)
        assert frames.shape == (made.frames, made.height, made.width, 3), made
        rng = np.random.default_rng(made.seed)
        with hr.io.stream_video(made.path, frames=int(rng.integers(1, 12))) as stream:
            pieces, seconds = [], []
            for piece in stream:
                pieces.append(np.array(piece))
                seconds += list(stream.seconds)
        assert np.array_equal(np.concatenate(pieces), frames), f"{made}: stream_video gives other frames than load_video"
        np.testing.assert_allclose(seconds, hr.io.video_info(made.path).seconds, atol=1e-6, err_msg=str(made))
        some = rng.integers(0, made.frames, 3)
        assert np.array_equal(hr.io.load_video(made.path, some), frames[some]), f"{made}: frames {some}"
        begin, end = sorted(rng.integers(0, made.frames + 1, 2))
        if begin < end and made.steady:
            window = {"start": (begin - 0.25) / made.fps if begin else 0.0, "end": (end - 0.25) / made.fps}
            with hr.io.stream_video(made.path, frames=30, **window) as stream:
                part = np.concatenate([np.array(piece) for piece in stream])
            assert np.array_equal(part, frames[begin:end]), f"{made}: stream_video from frame {begin} to {end}"


@pytest.mark.parametrize("content", [True, False])
def test_pipelines_agree_with_load_video(content, films_of):
    films = [made for container in CONTAINERS for made in films_of(container)]
    files = hr.files([str(made.path) for made in films], content=content)
    with files.decode_video(times="at").loader(epochs=1, workers=2) as loader:
        for made, sample in zip(films, loader, strict=True):
            assert np.array_equal(sample["video"], hr.io.load_video(made.path)), f"{made}: other frames than load_video's"
            np.testing.assert_allclose(sample["at"], hr.io.video_info(made.path).seconds, atol=1e-9, err_msg=str(made))
    with files.decode_video(color="yuv420").loader(epochs=1, workers=2) as loader:
        for made, sample in zip(films, loader, strict=True):
            assert np.array_equal(sample["video"], made.planes), f"{made}: other frames than the command's"
    with files.decode_video(3, start="center", stride=1, short="repeat").loader(epochs=1, workers=2) as loader:
        for made, sample in zip(films, loader, strict=True):
            first = max(0, (made.frames - 3) // 2)
            want = np.minimum(np.arange(first, first + 3), made.frames - 1)
            assert np.array_equal(sample["video"], hr.io.load_video(made.path, want)), f"{made}: frames {want}"

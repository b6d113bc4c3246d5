"""Clips of a video as samples of their own: which they are, and that each comes exactly once whatever happens on the way."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Videos of 50, 30 and 20 frames."""
    root = tmp_path_factory.mktemp("films")
    for name, frames in (("a.mp4", 50), ("b.mkv", 30), ("c.mp4", 20)):
        pattern = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", frames]
        ffmpeg(*pattern, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "2", root / name)
    return [str(root / name) for name in ("a.mp4", "b.mkv", "c.mp4")]


def samples(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        return [(s["key"], np.array(s["video"])) for s in loader]


@pytest.fixture(scope="module")
def whole(films):
    """All frames by video."""
    return dict(samples(hr.files(films, content=False).decode_video()))


def same(got, want):
    assert [k for k, _ in got] == [k for k, _ in want]
    for (_, a), (_, b) in zip(got, want, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("content", [False, True])
def test_pieces_are_the_whole_video(films, whole, content):
    pipeline = hr.files(films, content=content).video_clips(8, times="seconds", number="n")
    with pipeline.loader(epochs=1) as loader:
        rows = [(s["key"], int(s["n"]), np.array(s["video"]), np.array(s["seconds"])) for s in loader]
    at = 0
    for path in films:
        frames = whole[path]
        for n in range(-(-len(frames) // 8)):
            wanted = np.minimum(np.arange(8 * n, 8 * n + 8), len(frames) - 1)  # the last one is repeated
            key, number, video, seconds = rows[at]
            assert (key, number) == (path, n)
            assert np.array_equal(video, frames[wanted])
            np.testing.assert_allclose(seconds, wanted / 25, atol=1e-9)
            at += 1
    assert at == len(rows)


def test_strides_steps_rates_and_ends(films, whole):
    frames = whole[films[0]]

    def pieces(*wanted, **options):
        got = samples(hr.files(films[:1], content=False).video_clips(8, **options))
        black = np.concatenate([frames, np.zeros_like(frames[:1])])
        same(got, [(films[0], black[np.array(w)]) for w in wanted])

    step = np.arange(8)
    pieces(2 * step, [16, 18, 20, 22, 24, 26, 28, 30], 32 + 2 * step, [48] * 8, stride=2)
    pieces(2 * step, 30 + 2 * step, stride=2, step=30, short="drop")
    pieces([0, 5, 10, 15, 20, 25, 30, 35], [40, 45] + [50] * 6, fps=5, short="black")
    pieces([0, 5, 10, 15, 20, 25, 30, 35], [40, 45] * 4, fps=5, short="loop")
    pieces(5 * step, 10 + 5 * step, fps=5, step=2, short="drop")
    with pytest.raises(hr.SampleError, match=r"shorter.*50 frames"):
        pieces(step, short="error")


def test_clips_draw_by_themselves(films, whole):
    """Each clip has draws of its own, keyed by video and number: not by how many come, in which order, or on which rank."""

    def some(clips, paths=films, **options):
        return samples(hr.files(paths, content=False, seed=3).video_clips(4, stride=2, clips=clips).random_flip(), **options)

    three = some(3)
    assert [k for k, _ in three] == [p for p in films for _ in range(3)]
    assert len({v.tobytes() for _, v in three}) > 5  # not all alike
    for key, video in three:
        assert any(np.array_equal(video, whole[key][n : n + 7 : 2][:, :, ::way]) for n in range(50) for way in (1, -1))
    same([s for i, s in enumerate(some(5)) if i % 5 < 3], three)
    same(some(3, workers=1), three)
    same(some(3, fuse=False), three)

    spread = samples(hr.files(films, content=False).video_clips(4, stride=2, clips=2, start="begin"))
    same(spread, [(p, whole[p][n : n + 7 : 2]) for p in films for n in (0, len(whole[p]) - 7)])


def test_a_run_goes_on_between_two_clips(films):
    pipeline = hr.files(films * 2, content=False, seed=5).shuffle().video_clips(6, step=5).random_resized_crop(24).batch(2)
    with pipeline.loader(epochs=1) as loader:
        through = [np.array(b["video"]) for b in loader]
    for stop in (1, 3, len(through) - 2):
        with pipeline.loader(epochs=1) as loader:
            batches = iter(loader)
            for _ in range(stop):
                next(batches)
            state = loader.state_dict()
        with pipeline.loader(epochs=1, workers=1) as loader:
            loader.load_state_dict(state)
            rest = [np.array(b["video"]) for b in loader]
        assert len(rest) == len(through) - stop
        assert all(np.array_equal(a, b) for a, b in zip(rest, through[stop:], strict=True))
    again = hr.replay(pipeline, state, 1)
    assert np.array_equal(again.batch["video"], through[stop + 1])


@pytest.mark.parametrize(("clips", "batch"), [(3, 3), (3, 2), (None, 1)])
def test_each_clip_once_over_other_ranks(films, clips, batch):
    """Two ranks begin, and three go on in the middle of the epoch, between two clips of a video."""
    pipeline = hr.files(films * 3, content=False, seed=5).shuffle().video_clips(6, clips=clips, number="n", times="at")
    pipeline = pipeline.resize((8, 8)).batch(batch)

    def run(batches, rank, world, state=None):
        got = []
        with pipeline.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for b in loader:
                got += [(k, int(n), float(t[0])) for k, n, t in zip(b["key"], b["n"], b["at"], strict=True)]
                if (batches := batches - 1) == 0:
                    break
            return got, loader.state_dict()

    every, _ = run(99, 0, 1)
    begun = [run(3, rank, 2) for rank in range(2)]
    states = [state for _, state in begun]
    assert any(state["parts"] for state in states), "no state is within a video"
    rest = [run(99, rank, 3, states)[0] for rank in range(3)]
    assert sorted(row for got in [*rest, *(got for got, _ in begun)] for row in got) == sorted(every)
    # And again from there: one rank takes over from these three.
    begun3 = [run(1, rank, 3, states) for rank in range(3)]
    last, _ = run(99, 0, 1, [state for _, state in begun3])
    assert sorted(row for got in [last, *(g for g, _ in begun), *(g for g, _ in begun3)] for row in got) == sorted(every)


@pytest.mark.parametrize("drop_last", [False, True])
def test_length(films, drop_last):
    """Known where each video gives as many clips; and batches are full of clips, not of videos."""
    videos = hr.files(films * 2, content=False, seed=5).shuffle()
    fixed = videos.video_clips(4, clips=3, start="center").resize((8, 8))
    other = hr.files(films, content=False, seed=5).video_clips(4, clips=2).resize((8, 8))
    for pipeline, samples in ((fixed, 18), (hr.merge([fixed, other]), 24), (fixed.map(lambda video: video, fields="video"), 18)):
        for batch in (1, 4, 5):
            with pipeline.batch(batch, drop_last=drop_last).loader(epochs=1) as loader:
                assert len(loader) == len(list(loader)) == (samples // batch if drop_last else -(-samples // batch))
    pieces = videos.video_clips(8).resize((8, 8))
    with pieces.batch(1).loader(epochs=1) as loader:
        every = len(list(loader))
    with pieces.batch(4, drop_last=drop_last).loader(epochs=1) as loader:
        assert sum(len(batch["video"]) for batch in loader) == (every - every % 4 if drop_last else every)
        with pytest.raises(TypeError, match="not known"):
            len(loader)
    for unknown in (fixed.filter(lambda video: True, fields="video"), videos.video_clips(4, clips=3, short="drop").resize((8, 8))):
        with unknown.batch(4).loader(epochs=1) as loader, pytest.raises(TypeError, match="not known"):
            len(loader)


def test_bad_videos(films, tmp_path, whole):
    cut, words = tmp_path / "cut.mp4", tmp_path / "words.mp4"
    ffmpeg("-i", films[0], "-c", "copy", "-movflags", "+faststart", tmp_path / "front.mp4")
    front = (tmp_path / "front.mp4").read_bytes()
    cut.write_bytes(front[: len(front) * 6 // 10])
    words.write_text("no video, but words")
    pipeline = hr.files([films[2], str(words), str(cut), films[1]], content=False).video_clips(10, number="n")

    with pytest.raises(hr.SampleError, match=r"words\.mp4.*corrupt video") as caught:
        samples(pipeline)
    assert "image" not in str(caught.value)
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        rows = [(s["key"], int(s["n"])) for s in loader]
        lost = [e.key for e in loader.errors]
    kept = [n for key, n in rows if key == str(cut)]
    assert kept == list(range(len(kept))), "clips before the cut"
    assert 0 < len(kept) < 5
    assert lost.count(str(words)) == 1
    assert len(kept) + lost.count(str(cut)) == 5
    with pipeline.loader(epochs=1, on_error="replace") as loader:
        assert len(list(loader)) == 2 + 1 + 5 + 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"frames": 4, "clips": 2, "step": 3}, "both step and clips"),
        ({"frames": 4, "start": "center"}, "set clips"),
        ({"frames": 0}, "frames"),
        ({"frames": 4, "stride": 2, "fps": 3}, "exclude each other"),
        ({"frames": 4, "number": "video"}, "number"),
        ({"frames": 4, "short": "pad"}, "short"),
        ({"frames": 4, "field": "label"}, "field is"),
    ],
)
def test_refused(given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files(["a.mp4"], content=False).video_clips(**given).loader()

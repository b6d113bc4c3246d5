"""Clips of videos: the frames that the ffmpeg command gives, in the order that the formulas say, whatever happens on the way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine")

WIDTH, HEIGHT, FRAMES = 96, 64, 50


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Videos with B-frames, in containers with an index and without; by one thread of plain C, for x264's bits depend on the processor."""
    root = tmp_path_factory.mktemp("films")
    pattern = ["-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=25", "-frames:v", FRAMES]
    x264 = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "3", "-threads", 1, "-x264-params", "asm=0"]
    ffmpeg(*pattern, *x264, root / "a.mp4")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", root / "b.mkv")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", "-bsf:v", "noise=drop='eq(n,20)'", root / "lost.mp4")
    return root


def planes(path):
    """All frames of a video as floats of its planes: Y, and Cb and Cr at half size."""
    raw = np.frombuffer(ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"), np.uint8).reshape(-1, WIDTH * HEIGHT * 3 // 2)
    y = raw[:, : WIDTH * HEIGHT].reshape(-1, HEIGHT, WIDTH).astype(float)
    chroma = raw[:, WIDTH * HEIGHT :].reshape(-1, 2, HEIGHT // 2, WIDTH // 2).astype(float)
    return y, chroma


def model(y, chroma):
    """RGB in real numbers: chroma interpolated where the stream says that it is, BT.601, limited range."""
    rows, columns = np.arange(HEIGHT), np.arange(WIDTH)
    down = np.clip((rows - 0.5) / 2, 0, HEIGHT // 2 - 1)  # between two rows
    across = np.clip(columns / 2, 0, WIDTH // 2 - 1)  # on the left one of two columns
    r0, c0 = down.astype(int), across.astype(int)
    r1, c1 = np.minimum(r0 + 1, HEIGHT // 2 - 1), np.minimum(c0 + 1, WIDTH // 2 - 1)
    fr, fc = (down - r0)[:, None], (across - c0)[None, :]
    full = (chroma[..., r0, :] * (1 - fr) + chroma[..., r1, :] * fr)[..., c0] * (1 - fc) + (
        chroma[..., r0, :] * (1 - fr) + chroma[..., r1, :] * fr
    )[..., c1] * fc
    luma, u, v = (y - 16) * 255 / 219, (full[..., 0, :, :] - 128) * 255 / 224, (full[..., 1, :, :] - 128) * 255 / 224
    rgb = [luma + 1.402 * v, luma - 0.114 * 1.772 / 0.587 * u - 0.299 * 1.402 / 0.587 * v, luma + 1.772 * u]
    return np.clip(np.stack(rgb, -1), 0, 255)


def clips(source, *args, workers=2, content=False, **options):
    with hr.files(source, content=content).decode_video(*args, **options).loader(epochs=1, workers=workers) as loader:
        return [{name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in sample.items()} for sample in loader]


@pytest.mark.parametrize("name", ["a.mp4", "b.mkv"])
def test_every_frame_is_the_commands(films, name):
    y, chroma = planes(films / name)
    (got,) = clips([str(films / name)], times="seconds")
    assert got["video"].shape == (FRAMES, HEIGHT, WIDTH, 3)
    assert got["video"].dtype == np.uint8
    np.testing.assert_allclose(got["seconds"], np.arange(FRAMES) / 25, atol=1e-9)
    for i in range(FRAMES):
        assert np.abs(got["video"][i] - model(y[i], chroma[i])).max() <= 1, f"frame {i}"


def test_samplings(films):
    path = [str(films / "a.mp4")]
    whole = clips(path)[0]["video"]

    def same(frames, *args, **options):
        got = clips(path, *args, **options)[0]["video"]
        assert np.array_equal(got, whole[frames]), (args, options)

    same(np.arange(10, 18, 2), 4, stride=2, start=0.4)
    same(np.floor(np.arange(7) * 49 / 6 + 0.5).astype(int), 7)
    same(range(0, 50, 5), fps=5)
    same([0, 25], fps=1)
    same([12, 37], segments=2, start="center")
    same([20, 24, 28], 3, stride=4, start="center")
    same(np.array([[0, 1], [24, 25], [48, 49]]), 2, stride=1, clips=3, start="begin")
    same([40, 45, 49, 49], 4, stride=5, start=1.6)
    same([40, 45, 0, 5], 4, stride=5, start=1.6, short="loop")


def test_a_field_says_where_clips_begin(films):
    path = str(films / "a.mp4")
    whole = clips([path])[0]["video"]
    table = [{"path": path, "from": second} for second in (0.0, 0.8, 1.5)]
    with hr.files(table, content=False).decode_video(2, stride=3, start="from").resize((HEIGHT, WIDTH)).batch(3).loader(epochs=1) as loader:
        (batch,) = [np.array(batch["video"]) for batch in loader]
    assert np.array_equal(batch, np.stack([whole[[f, f + 3]] for f in (0, 20, 37)]))


def test_the_same_with_any_workers_and_after_a_restart(films):
    paths = [str(films / name) for name in ("a.mp4", "b.mkv")] * 4
    pipeline = hr.files(paths, content=False, seed=5).shuffle().decode_video(3, stride=2).random_resized_crop(24).random_flip()
    pipeline = pipeline.color_jitter(0.4).layout("TCHW").batch(2)

    with pipeline.loader(epochs=2, workers=1) as loader:
        first = [np.array(batch["video"]) for _ in range(2) for batch in loader]
    for options in ({"workers": 4}, {"fuse": False}):
        with pipeline.loader(epochs=2, **options) as loader:
            again = [np.array(batch["video"]) for _ in range(2) for batch in loader]
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), options
    with pipeline.loader(epochs=2) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with pipeline.loader(epochs=2) as loader:
        loader.load_state_dict(state)
        rest = [np.array(batch["video"]) for batch in loader] + [np.array(batch["video"]) for batch in loader]
    assert all(np.array_equal(a, b) for a, b in zip(first[3:], rest, strict=True))


def test_a_function_works_on_clips(films):
    def backwards(video):
        return video[::-1].copy()

    path = [str(films / "a.mp4")]
    pipeline = (
        hr.files(path, content=False).decode_video(4, stride=2, start="begin").map(backwards, fields="video").center_crop(32).batch(1)
    )
    whole = clips(path)[0]["video"]
    with pipeline.loader(epochs=1) as loader:
        (got,) = [np.array(batch["video"][0]) for batch in loader]
    assert np.array_equal(got, whole[[6, 4, 2, 0], 16:48, 32:64])


def test_what_is_missing_is_named(films, tmp_path):
    with pytest.raises(hr.SampleError, match=r"lost\.mp4.*frame \d+, at 0\.\d+ s, is damaged.*missing"):
        clips([str(films / "lost.mp4")])
    assert len(clips([str(films / "lost.mp4")], 4, stride=1, start=1.2)) == 1  # a GOP that lacks nothing

    cut = tmp_path / "cut.mp4"
    whole = tmp_path / "whole.mp4"
    ffmpeg("-i", films / "a.mp4", "-c", "copy", "-movflags", "+faststart", whole)
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    with pytest.raises(hr.SampleError, match=r"cut\.mp4.*truncated"):
        clips([str(cut)])
    (tmp_path / "text.mp4").write_text("no video, but words")
    (tmp_path / "empty.mp4").write_bytes(b"")
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", tmp_path / "sound.m4a")
    for name, said in (
        ("text.mp4", "corrupt|unknown|Invalid"),
        ("empty.mp4", "empty"),
        ("sound.m4a", "has no video"),
        ("none.mp4", "no such file"),
    ):
        with pytest.raises(hr.SampleError, match=said):
            clips([str(tmp_path / name)])

    bad = [str(films / "a.mp4"), str(cut), str(tmp_path / "text.mp4"), str(films / "b.mkv")]
    pipeline = hr.files(bad, content=False).decode_video(8, start="begin").resize((16, 16)).batch(1)
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        assert len(list(loader)) == 2
        assert len(loader.errors) == 2
    with pipeline.loader(epochs=1, on_error="replace") as loader:
        assert len(list(loader)) == 4
    with pytest.raises(hr.SampleError, match="shorter"):
        clips(bad[:1], 64, stride=1, short="error")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stride": 2, "fps": 3}, "exclude each other"),
        ({"frames": 0}, "frames"),
        ({"max_frames": 3}, "add fps"),
        ({"clips": 2, "start": 1.0}, "same time"),
        ({"start": "middle"}, "at is"),
        ({"short": "pad"}, "short"),
        ({"field": "label"}, "field is"),
        ({"mask": "bad"}, "mask is for damaged"),
        ({"damaged": "skip"}, "damaged"),
        ({"damaged": "keep", "mask": "video"}, "mask is"),
    ],
)
def test_refused(given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files(["a.mp4"], content=False).decode_video(**given).loader()


def test_fast_is_near_exact(films):
    """Planes resized before their colours are converted: a few levels, the same with any workers and whatever follows."""
    path = [str(films / "a.mp4")] * 3

    def made(mode, workers=2):
        pipeline = (
            hr.files(path, content=False, seed=3).decode_video(6, stride=2, mode=mode).resize((30, 44)).random_flip(0.5).layout("CTHW")
        )
        with pipeline.batch(3).loader(epochs=1, workers=workers) as loader:
            (batch,) = [np.array(batch["video"]).astype(int) for batch in loader]
        return batch

    exact, fast = made("exact"), made("fast")
    assert fast.shape == exact.shape == (3, 3, 6, 30, 44)
    difference = np.abs(fast - exact)
    assert 0 < difference.mean() < 6  # a small pattern of pure colours, most of it edges
    assert np.abs((fast - exact).mean()) < 1
    assert np.array_equal(fast, made("fast", workers=1))


@pytest.fixture(scope="module")
def broken(films, tmp_path_factory):
    """Videos of which the end is missing, all packets are noisy, and one is lost."""
    root = tmp_path_factory.mktemp("broken")
    ffmpeg("-i", films / "a.mp4", "-c", "copy", "-movflags", "+faststart", root / "whole.mp4")
    whole = (root / "whole.mp4").read_bytes()
    (root / "cut.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    noise = "noise=amount='if(gt(n,30),20,0)'"  # every packet's is noticed
    ffmpeg("-i", films / "a.mp4", "-c", "copy", "-bsf:v", noise, root / "noise.mp4")
    return {"cut": root / "cut.mp4", "noise": root / "noise.mp4", "lost": films / "lost.mp4"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cut", r"truncated video: .* at \d\.\d+ s, needs bytes up to"),
        ("noise", r"corrupt video: frame \d+, at \d\.\d+ s, is damaged"),
        ("lost", r"corrupt video: frame 20, at 0\.800 s, is damaged: an image that it refers to is missing"),
    ],
)
def test_damage_is_an_error_with_file_frame_and_time(broken, name, says):
    with pytest.raises(hr.SampleError, match=f"{broken[name].name}: {says}"):
        clips([str(broken[name])])


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_policies_are_for_videos_too(films, broken, policy):
    paths = [films / "a.mp4", *broken.values(), films / "b.mkv"]
    pipeline = hr.files([str(path) for path in paths], content=False).decode_video(50).resize((48, 64)).batch(5)
    with pipeline.loader(epochs=1, on_error=policy, max_errors=3) as loader:
        (batch,) = [{"key": list(batch["key"]), "video": np.array(batch["video"])} for batch in loader]
        assert sorted(Path(lost.key).name for lost in loader.errors) == ["cut.mp4", "lost.mp4", "noise.mp4"]
    sound = {str(films / "a.mp4"), str(films / "b.mkv")}
    assert set(batch["key"]) == sound
    assert len(batch["key"]) == (2 if policy == "skip" else 5)
    for clip in batch["video"][1:]:
        assert np.array_equal(clip, batch["video"][0])


def test_damaged_frames_are_kept_with_a_mask(films, broken):
    """Every frame that differs from the sound video's is in the mask; what is lost altogether is black."""
    sound = clips([str(films / "a.mp4")])[0]["video"]
    for path, existing in (
        (films / "lost.mp4", np.delete(np.arange(FRAMES), frame_of_packet(films / "a.mp4", 20))),
        (broken["cut"], None),
        (broken["noise"], None),
    ):
        with hr.files([str(path)], content=False).decode_video(damaged="keep", mask="bad").loader(epochs=1) as loader:
            (got,) = [{name: np.array(sample[name]) for name in ("video", "bad")} for sample in loader]
            counted = loader.stats()
        want = sound if existing is None else sound[existing]
        bad = got["bad"]
        assert bad.shape == (len(want),)
        assert bad.dtype == bool
        assert 0 < bad.sum() < len(want), path
        assert counted["damaged_frames"] == bad.sum()
        assert f"Damaged frames that were kept: {bad.sum()}." in counted["text"]
        differs = (got["video"] != want).any(axis=(1, 2, 3))
        assert not (differs & ~bad).any(), f"{path}: frames {np.flatnonzero(differs & ~bad)} are damaged and not said to be"
        assert clips([str(path)], damaged="keep")[0].keys() == {"key", "video"}
        with pytest.raises(hr.SampleError):
            clips([str(path)])
        for i in range(0, len(want), 7):  # alone, what it is made of is not in the clip
            try:
                alone = hr.io.load_video(path, [i])
            except hr.MediaError:
                assert bad[i], f"{path}: frame {i} is refused alone, and is not in the mask"
            else:
                assert np.array_equal(alone[0], want[i]), f"{path}: frame {i} is damaged, and comes alone"
        if path == broken["cut"]:
            assert (got["video"][-1] == got["video"][-1][0, 0]).all()  # black: there is nothing of it

    hr.io.close()
    (none,) = clips([str(films / "a.mp4")], 4, damaged="keep", mask="bad")
    assert not none["bad"].any()
    paths = [str(broken["cut"]), str(films / "a.mp4")]
    with hr.files(paths, content=False).video_clips(25, damaged="keep", mask="bad").resize((8, 8)).batch(4).loader(epochs=1) as loader:
        (batch,) = [np.array(batch["bad"]) for batch in loader]
    assert batch.any(axis=1).tolist() == [False, True, False, False]


def frame_of_packet(path, packet):
    """The number of the frame in a packet of a video, as displayed."""
    times = [
        float(t)
        for t in subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
        .stdout.replace(",", " ")
        .split()
    ]
    return int(np.argsort(np.argsort(times))[packet])

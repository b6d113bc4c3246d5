"""Planes of videos: the command's, to the byte; and what PyTorch makes of them is what the engine makes."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


FILMS = {
    "even.mp4": (64, 48, ["-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"]),
    "odd.webm": (65, 49, ["-vf", "scale=65:49", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p"]),
    "ten.mp4": (64, 48, ["-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none", "-tag:v", "hvc1"]),
    "gray.mkv": (64, 48, ["-c:v", "ffv1", "-pix_fmt", "gray"]),
    "full.mp4": (64, 48, ["-c:v", "libx264", "-pix_fmt", "yuv444p", "-color_range", "pc", "-colorspace", "bt709"]),
    "rgb.mkv": (64, 48, ["-c:v", "ffv1", "-pix_fmt", "gbrp"]),
}
FRAMES = 10


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    root = tmp_path_factory.mktemp("planes")
    for name, (width, height, how) in FILMS.items():
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={width}x{height}:r=25", "-frames:v", FRAMES, *how, root / name)
    ffmpeg("-i", root / "even.mp4", "-c", "copy", "-metadata:s:v:0", "rotate=90", root / "turned.mp4")
    return root


def raw(path, width, height, format, turn=False):
    """What the command writes: rows of luma, and of chroma that may be shorter."""
    dtype = np.uint8 if format[-2:] != "le" else np.dtype("<u2")
    data = np.frombuffer(ffmpeg(*[] if turn else ["-noautorotate"], "-i", path, "-f", "rawvideo", "-pix_fmt", format, "-"), dtype)
    data = data.reshape(-1, width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2))
    return data[:, : width * height].reshape(-1, height, width), data[:, width * height :]


def side_by_side(chroma):
    return chroma.reshape(FRAMES, 2, -1).transpose(0, 2, 1).reshape(FRAMES, -1)


def decoded(path, color, content=False, **options):
    with hr.files([str(path)], content=content).decode_video(color=color, **options).loader(epochs=1) as loader:
        (sample,) = loader
        return {name: np.array(value) for name, value in sample.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("color", ["yuv420", "nv12"])
@pytest.mark.parametrize("name", ["even.mp4", "odd.webm"])
def test_planes_are_the_commands(films, name, color):
    width, height, _ = FILMS[name]
    luma, chroma = raw(films / name, width, height, "yuv420p")
    if color == "nv12":
        chroma = side_by_side(chroma)
        if width % 2 == 0:
            assert np.array_equal(chroma, raw(films / name, width, height, "nv12")[1])
    for got in (decoded(films / name, color)["video"], hr.io.load_video(films / name, color=color)):
        assert got.shape == (FRAMES, height + (height + 1) // 2, width + width % 2)
        assert got.dtype == np.uint8
        assert np.array_equal(got[:, :height, :width], luma)
        assert np.array_equal(got[:, height:].reshape(FRAMES, -1), chroma)
        assert np.array_equal(got[:, :height, -1], luma[:, :, -1])  # the last column, and again where the width is odd
    some = decoded(films / name, color, frames=3, stride=2, start="begin", times="at")
    assert np.array_equal(some["video"], got[[0, 2, 4]])
    with hr.files([str(films / name)], content=False).video_clips(4, color=color, short="black").loader(epochs=1) as loader:
        clips = [np.array(sample["video"]) for sample in loader]
    assert np.array_equal(np.concatenate(clips)[:FRAMES], got)
    assert (clips[-1][-1][:height] == 16).all()
    assert (clips[-1][-1][height:] == 128).all()


@pytest.mark.parametrize("color", ["yuv420", "nv12"])
def test_ten_bits_stay(films, color):
    luma, chroma = raw(films / "ten.mp4", 64, 48, "yuv420p10le")
    if color == "nv12":
        chroma = side_by_side(chroma)
    got = decoded(films / "ten.mp4", color, dtype="uint16", matrix="how")
    assert np.array_equal(got["video"][:, :48], luma)
    assert np.array_equal(got["video"][:, 48:].reshape(FRAMES, -1), chroma)
    assert got["how"].tolist() == [6, 0, 0, 10]
    low = decoded(films / "ten.mp4", color)["video"]
    assert np.array_equal(low[:, :48], np.minimum((luma.astype(int) + 2) >> 2, 255))


def test_other_formats(films):
    gray = decoded(films / "gray.mkv", "nv12")["video"]
    assert np.array_equal(
        gray[:, :48], np.frombuffer(ffmpeg("-i", films / "gray.mkv", "-f", "rawvideo", "-"), np.uint8).reshape(-1, 48, 64)
    )
    assert (gray[:, 48:] == 128).all()
    luma = ffmpeg("-i", films / "full.mp4", "-vf", "extractplanes=y", "-f", "rawvideo", "-")
    full = decoded(films / "full.mp4", "nv12", matrix="how")
    assert full["video"][:, :48].tobytes() == luma
    assert full["how"].tolist() == [1, 1, 0, 8]
    rgb = decoded(films / "rgb.mkv", "yuv420", matrix="how")
    assert rgb["video"][:, :48].tobytes() == raw(films / "rgb.mkv", 64, 48, "yuv420p")[0].tobytes()
    assert rgb["how"].tolist() == [6, 0, 0, 8]


def test_frames_are_turned(films):
    luma, chroma = raw(films / "turned.mp4", 48, 64, "yuv420p", turn=True)
    got = decoded(films / "turned.mp4", "yuv420")["video"]
    assert got.shape == (FRAMES, 96, 48)
    assert np.array_equal(got[:, :64], luma)
    assert np.array_equal(got[:, 64:].reshape(FRAMES, -1), chroma)
    assert np.array_equal(decoded(films / "turned.mp4", "yuv420", orient=False)["video"], decoded(films / "even.mp4", "yuv420")["video"])


@pytest.mark.parametrize("name", FILMS)
def test_batches_of_one_size(films, name):
    """Resized planes are near what a resize of the frames gives, as RGB: nothing is shifted."""
    torch = pytest.importorskip("torch")
    pipeline = hr.files([str(films / name)] * 2, content=False).decode_video(4, start="begin", color="nv12", size=(30, 41), matrix="how")
    with pipeline.batch(2).to("torch").loader(epochs=1) as loader:
        (batch,) = loader
        assert batch["video"].shape == (2, 4, 45, 42)
        rgb = hr.torch.to_rgb(batch["video"], "nv12", batch["how"])[..., :41]
    with (
        hr.files([str(films / name)], content=False).decode_video(4, start="begin").resize((30, 41)).to("torch").loader(epochs=1) as loader
    ):
        (sample,) = loader
        want = sample["video"].movedim(-1, -3).float() / 255
    difference = rgb[0] - want
    assert difference.abs().mean() < 0.04  # edges of pure colours, of which chroma has half as many samples
    assert difference.mean(dim=(0, 2, 3)).abs().max() < (0.01 if name == "rgb.mkv" else 0.005)
    assert torch.equal(rgb[0], rgb[1])


@pytest.mark.parametrize("color", ["yuv420", "nv12"])
def test_colours_on_a_device_are_those_of_frames(films, color):
    pytest.importorskip("torch")
    for name in ("even.mp4", "odd.webm", "ten.mp4"):
        width = FILMS[name][0]
        wide = {"dtype": "uint16"} if name == "ten.mp4" else {}
        with (
            hr.files([str(films / name)], content=False)
            .decode_video(color=color, matrix="how", **wide)
            .to("torch")
            .loader(epochs=1) as loader
        ):
            (sample,) = loader
            got = hr.torch.to_rgb(sample["video"], color, sample["how"])[..., :width]
        want = decoded(films / name, "rgb", **wide)["video"].transpose(0, 3, 1, 2) / (65535 if wide else 255)
        assert np.abs(got.numpy() - want).max() <= (0.51 / 255), name


def test_wrong_planes_and_matrices():
    torch = pytest.importorskip("torch")
    planes = torch.zeros((2, 12, 8), dtype=torch.uint8)
    assert hr.torch.to_rgb(planes, "nv12").shape == (2, 3, 8, 8)
    two = torch.tensor([[1, 0, 0, 8], [6, 1, 1, 8]])
    assert torch.equal(hr.torch.to_rgb(planes, "nv12", two)[1], hr.torch.to_rgb(planes, "nv12", two[1])[1])
    for bad, message in (
        ({"color": "rgb"}, "color is 'rgb'"),
        ({"planes": planes.float()}, "must be uint8"),
        ({"planes": planes[:, :, :7]}, "must be uint8"),
        ({"matrix": torch.zeros((3, 4), dtype=torch.int64)}, r"a row for each"),
        ({"matrix": torch.tensor([2, 0, 0, 8])}, "matrix 2"),
    ):
        with pytest.raises(hr.HeadraceError, match=message):
            hr.torch.to_rgb(**{"planes": planes, "color": "nv12", "matrix": None, **bad})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 32}, "put resize after"),
        ({"matrix": "how"}, 'color is "rgb"'),
        ({"color": "yuv411"}, "color"),
        ({"color": "nv12", "size": 32, "dtype": "uint16"}, "planes of bytes"),
        ({"color": "nv12", "size": 10**6}, "size"),
        ({"color": "nv12", "matrix": "video"}, "matrix is"),
    ],
)
def test_refused(given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files(["a.mp4"], content=False).decode_video(4, **given).loader()


def test_no_operation_follows():
    pipeline = hr.files(["a.mp4"], content=False).decode_video(4, color="nv12")
    with pytest.raises(hr.RecipeError, match="no image"):
        pipeline.resize((8, 8)).loader()
    with pytest.raises(hr.RecipeError, match=r"size.*decode_video|cannot stack"):
        pipeline.batch(2).loader()

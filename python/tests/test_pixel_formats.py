"""Videos as gray, rgba and planes: what the ffmpeg command writes, and the same through every door."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE, some
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

FRAMES = 4
ALPHA = "geq=lum='p(X,Y)':cb='p(X,Y)':cr='p(X,Y)':a='X*4'"
# Width, height, and how they are made.
FILMS = {
    "420.mp4": (64, 48, "-c:v libx264 -bf 2 -pix_fmt yuv420p"),
    "odd.mkv": (65, 49, "-vf scale=65:49 -c:v ffv1 -pix_fmt yuv420p"),
    "odd422.mkv": (65, 49, "-vf scale=65:49 -c:v ffv1 -pix_fmt yuv422p"),
    "prores.mov": (64, 48, "-c:v prores_ks -profile:v 3 -pix_fmt yuv422p10le"),
    "ten.mkv": (64, 48, "-c:v ffv1 -pix_fmt yuv420p10le"),
    "twelve.mkv": (64, 48, "-c:v ffv1 -pix_fmt yuv444p12le"),
    "709.mp4": (64, 48, "-c:v libx264 -pix_fmt yuv444p -colorspace bt709"),
    "full.avi": (64, 48, "-c:v mjpeg -pix_fmt yuvj422p"),
    "packed.nut": (64, 48, "-c:v rawvideo -pix_fmt yuyv422"),
    "nv12.nut": (64, 48, "-c:v rawvideo -pix_fmt nv12"),
    "dv.mkv": (64, 48, "-c:v ffv1 -pix_fmt yuv411p"),
    "gray.mkv": (64, 48, "-c:v ffv1 -pix_fmt gray"),
    "rgb.mkv": (64, 48, "-c:v ffv1 -pix_fmt gbrp"),
    "rgb10.mkv": (64, 48, "-c:v ffv1 -pix_fmt gbrp10le"),
    "yuva.mkv": (64, 48, f"-vf format=yuva420p,{ALPHA} -c:v ffv1 -pix_fmt yuva420p"),
    "4444.mov": (
        64, 48, f"-vf format=yuva444p10le,{ALPHA.replace('*4', '*16')} -c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le",
    ),
    "qtrle.mov": (64, 48, "-vf format=argb,geq=r='p(X,Y)':g='p(X,Y)':b='p(X,Y)':a='X*4' -c:v qtrle"),
    "ya8.mov": (64, 48, f"-vf format=yuva444p,{ALPHA},format=ya8 -c:v png -pix_fmt ya8"),
}  # fmt: skip
# What FFmpeg calls them, and how many columns and rows a sample of chroma is for, as powers of 2.
PLANES = {"yuv420": ("yuv420p", 1, 1), "nv12": ("nv12", 1, 1), "yuv422": ("yuv422p", 1, 0), "yuv444": ("yuv444p", 0, 0)}
COLORS = ("gray", "rgba", *PLANES)


# What the command is asked for besides: the formats of what it decodes, and what zimg makes of it.
NATIVE = {"ten.mkv": "yuv420p10le", "prores.mov": "yuv422p10le", "twelve.mkv": "yuv444p12le", "rgb10.mkv": "gbrp10le"}
BETWEEN = ["420.mp4", "prores.mov", "709.mp4", "ten.mkv"]
ZIMG = "zscale=filter=bilinear:dither=none"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    root = tmp_path_factory.mktemp("formats")
    source = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25"]
    for name, (_, _, how) in FILMS.items():
        source += ["-map", "0:v", "-frames:v", FRAMES, *how.split(), root / name]
    ffmpeg(*source)

    inputs, outputs = [], []  # one command for all that is compared
    zimg = b" zscale " in subprocess.run(["ffmpeg", "-filters"], capture_output=True, check=True).stdout
    for i, name in enumerate(FILMS):
        inputs += ["-i", root / name]
        for format in ("gray", "rgba", "yuv420p", "yuv422p", "yuv444p", *([NATIVE[name]] if name in NATIVE else [])):
            accurate = ["-sws_flags", "accurate_rnd+full_chroma_int+bilinear", "-pix_fmt", format, "-f", "rawvideo"]
            outputs += ["-map", f"{i}:v", *accurate, root / f"{name}.{format}"]
        for format in ("yuv420p", "yuv422p", "yuv444p") if zimg and name in BETWEEN else ():
            outputs += ["-map", f"{i}:v", "-vf", f"{ZIMG},format={format}", "-f", "rawvideo", root / f"{name}.{format}.zimg"]
    turned = ["-map", f"{list(FILMS).index('prores.mov')}:v", "-c", "copy", "-metadata:s:v:0", "rotate=90", root / "turned.mov"]
    ffmpeg(*inputs, *outputs, *turned)
    return root


def raw(path, format):
    """What the command makes of a film; its own scaler rounds accurately."""
    data = Path(f"{path}.{format}").read_bytes()
    return np.frombuffer(data, "<u2" if format.endswith("le") else np.uint8).astype(int)


def apart(data, width, height, across, down):
    """Luma and chroma of what the command writes."""
    wide, high = -(-width >> across) if not across else (width + 1) // 2, (height + (1 << down) - 1) >> down
    data = data.reshape(-1, width * height + 2 * wide * high)
    chroma = data[:, width * height :].reshape(-1, 2, high, wide)
    return data[:, : width * height].reshape(-1, height, width), chroma


def of(frames, color, width, height):
    """Luma and chroma of our arrays, which have rows of one length."""
    _, across, down = PLANES[color]
    if color == "yuv444":
        return frames[:, 0].astype(int), frames[:, 1:].astype(int)
    wide, high = (width + 1) // 2, (height + (1 << down) - 1) >> down
    assert frames.shape == (FRAMES, height + (high if down else height), 2 * wide)
    chroma = frames[:, height:].reshape(FRAMES, -1)
    chroma = chroma.reshape(FRAMES, high, wide, 2).transpose(0, 3, 1, 2) if color == "nv12" else chroma.reshape(FRAMES, 2, high, wide)
    assert across == 1
    return frames[:, :height, :width].astype(int), chroma.astype(int)


def piped(path, **how):
    with hr.files([str(path)], content=False).decode_video(**how).loader(epochs=1) as loader:
        return np.array(next(iter(loader))["video"])


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("color", COLORS)
def test_every_door_gives_the_same(films, color, dtype):
    deep = ("ten.mkv", "prores.mov", "twelve.mkv", "rgb10.mkv", "4444.mov", "odd.mkv")
    names = list(FILMS if dtype == "uint8" else deep)
    if not WHOLE:  # each film in one color
        names = names[COLORS.index(color) :: len(COLORS)]
    paths = [films / name for name in names]
    with hr.files([str(path) for path in paths], content=False).decode_video(color=color, dtype=dtype).loader(epochs=1) as loader:
        piped = [np.array(sample["video"]) for sample in loader]
    for path, got in zip(paths, piped, strict=True):
        want = hr.io.load_video(path, color=color, dtype=dtype)
        assert want.dtype == dtype
        assert np.array_equal(got, want), path.name
        with hr.io.stream_video(path, 3, color=color, dtype=dtype) as stream:
            assert (stream.width, stream.height) == FILMS[path.name][:2]
            assert np.array_equal(np.concatenate(list(stream)), want)
        some = hr.io.load_video(path.read_bytes(), [2, 0, -1], color=color, dtype=dtype)
        assert np.array_equal(some, want[[2, 0, -1]])


def test_clips_with_audio_and_packets(films):
    for color in some(["yuv422", *COLORS], 2):
        want = hr.io.load_video(films / "prores.mov", color=color)
        assert np.array_equal(hr.io.decode(hr.io.demux(films / "prores.mov"), color=color), want)
        silent = {"rate": 8000, "channels": 1}
        assert np.array_equal(hr.io.load_media(films / "prores.mov", color=color, **silent).video, want)
        with hr.io.stream_media(films / "prores.mov", 3, color=color, **silent) as stream:
            assert (stream.width, stream.height) == (64, 48)
            assert np.array_equal(np.concatenate([clip.video for clip in stream]), want)


def test_sizes(films):
    names = some(["420.mp4", "709.mp4", "full.avi", "prores.mov", "odd422.mkv", "rgb10.mkv", "gray.mkv"], 4)
    paths = [films / name for name in names]
    for color, shape in {"yuv420": (36, 32), "nv12": (36, 32), "yuv422": (48, 32), "yuv444": (3, 24, 32)}.items():
        pipeline = hr.files([str(path) for path in paths], content=False).decode_video(2, color=color, size=(24, 32), matrix="how")
        with pipeline.batch(len(paths)).loader(epochs=1) as loader:
            batch = next(iter(loader))
        assert batch["video"].shape == (len(paths), 2, *shape)
        assert batch["how"].tolist()[1:3] == [[1, 0, 0, 8], [5, 1, 1, 8]]
        for path, got in zip(paths, batch["video"], strict=True):
            assert np.array_equal(got, hr.io.load_video(path, 2, color=color, width=32, height=24)), path.name
            with hr.io.stream_video(path, 1, stride=3, color=color, width=32, height=24) as stream:
                assert np.array_equal(np.concatenate(list(stream)), got)
                assert (stream.width, stream.height) == (32, 24)
    one = piped(films / "420.mp4", frames=2, clips=2, start="begin", color="yuv444")
    assert one.shape == (2, 2, 3, 48, 64)


AS_THEY_ARE = [
    ("odd.mkv", "yuv420"), ("odd.mkv", "nv12"), ("nv12.nut", "nv12"), ("odd422.mkv", "yuv422"), ("709.mp4", "yuv444"),
    ("rgb.mkv", "yuv444"), ("420.mp4", "yuv420"), ("420.mp4", "nv12"), ("yuva.mkv", "yuv420"), ("packed.nut", "yuv422"),
    ("qtrle.mov", "yuv444"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "color"), some(AS_THEY_ARE, 6))
def test_planes_are_the_commands(films, name, color):
    width, height, _ = FILMS[name]
    format, across, down = PLANES[color]
    want = apart(raw(films / name, "yuv420p" if color == "nv12" else format), width, height, across, down)
    got = of(hr.io.load_video(films / name, color=color), color, width, height)
    assert np.array_equal(got[0], want[0])
    assert np.abs(got[1] - want[1]).max() <= (1 if name in ("rgb.mkv", "qtrle.mov") else 0)  # from RGB, rounded to the nearest


@pytest.mark.parametrize(("name", "color"), [("ten.mkv", "yuv420"), ("prores.mov", "yuv422"), ("twelve.mkv", "yuv444")])
def test_more_bits_stay(films, name, color):
    format, (_, across, down) = NATIVE[name], PLANES[color]
    want = apart(raw(films / name, format), 64, 48, across, down)
    got = of(hr.io.load_video(films / name, color=color, dtype="uint16"), color, 64, 48)
    assert all(np.array_equal(g, w) for g, w in zip(got, want, strict=True))
    bits = int(format[-4:-2])
    low = of(hr.io.load_video(films / name, color=color), color, 64, 48)
    for g, w in zip(low, want, strict=True):
        assert np.array_equal(g, np.minimum((w + (1 << (bits - 9))) >> (bits - 8), 255))


@pytest.mark.parametrize("name", some(BETWEEN, 2))
def test_chroma_between_samples(films, name):
    """zimg interpolates linearly from where samples are, too; fewer samples it makes in another order."""
    if not Path(f"{films / name}.yuv420p.zimg").exists():
        pytest.skip("this ffmpeg has no zscale")
    for color in ("yuv420", "yuv422", "yuv444"):
        format, across, down = PLANES[color]
        want = apart(raw(films / name, f"{format}.zimg"), 64, 48, across, down)
        got = of(hr.io.load_video(films / name, color=color), color, 64, 48)
        assert np.abs(got[0] - want[0]).max() <= (0 if name.endswith("mp4") else 1)
        assert np.abs(got[1] - want[1]).max() <= (4 if name in ("709.mp4", "prores.mov") else 1)
        assert np.abs(got[1] - want[1]).mean() < 0.3
        high = of(hr.io.load_video(films / name, color=color, dtype="uint16"), color, 64, 48)  # computed apart
        bits = {"prores.mov": 10, "ten.mkv": 10}.get(name, 8)
        assert np.abs(high[1] / (1 << (bits - 8)) - got[1]).max() <= 1.5


# One for each kind of frames comes first: planes, more bits, odd sizes, packed RGB, alpha beside planes, gray, no array of its own.
BY_KIND = sorted(FILMS, key=["4444.mov", "gray.mkv", "qtrle.mov", "odd422.mkv", "ten.mkv", "dv.mkv", "rgb10.mkv", *FILMS].index)


@pytest.mark.parametrize("name", some(BY_KIND, 7))
def test_gray_and_alpha_are_the_commands(films, name):
    width, height, _ = FILMS[name]
    gray = hr.io.load_video(films / name, color="gray")
    assert gray.shape == (FRAMES, height, width, 1)
    exact = name not in ("prores.mov", "ten.mkv", "twelve.mkv", "4444.mov", "rgb.mkv", "rgb10.mkv")  # the command cuts bits off
    assert np.abs(gray[..., 0] - raw(films / name, "gray").reshape(-1, height, width)).max() <= (0 if exact else 2)
    rgba = hr.io.load_video(films / name, color="rgba")
    assert np.array_equal(rgba[..., :3], hr.io.load_video(films / name))
    want = raw(films / name, "rgba").reshape(-1, height, width, 4)[..., 3]
    assert np.abs(rgba[..., 3] - want).max() <= (1 if name == "4444.mov" else 0)
    assert (rgba[..., 3].min() == 255) == (name not in ("yuva.mkv", "4444.mov", "qtrle.mov", "ya8.mov"))
    deep = hr.io.load_video(films / name, color="rgba", dtype="uint16")
    assert np.array_equal(deep[..., :3], hr.io.load_video(films / name, dtype="uint16"))
    assert np.abs(deep[..., 3] / 257 - rgba[..., 3]).max() <= 0.5


def test_gray_of_sixteen_bits_is_the_formula(films):
    luma = raw(films / "ten.mkv", "yuv420p10le").reshape(FRAMES, -1)[:, : 64 * 48].reshape(FRAMES, 48, 64)
    want = np.clip((luma - 64) * 65535 / 876, 0, 65535)
    assert np.abs(hr.io.load_video(films / "ten.mkv", color="gray", dtype="uint16")[..., 0] - want).max() <= 0.51


def test_operations_on_gray_and_rgba(films):
    """Frames are what the same operations make of each."""
    image = pytest.importorskip("PIL.Image")
    gray = hr.io.load_video(films / "420.mp4", color="gray")
    pipeline = hr.files([str(films / "420.mp4")], content=False)
    with pipeline.decode_video(FRAMES, color="gray").resize((24, 40)).center_crop((20, 30)).batch(1).loader(epochs=1) as loader:
        got = next(iter(loader))["video"][0]
    assert got.shape == (FRAMES, 20, 30, 1)
    for frame, one in zip(gray, got, strict=True):
        want = np.asarray(image.fromarray(frame[..., 0]).resize((40, 24), image.Resampling.BILINEAR))[2:22, 5:35]
        assert np.abs(one[..., 0].astype(int) - want).max() <= 1
    with pipeline.decode_video(color="gray").normalize(0.5, 0.5).layout("CTHW").loader(epochs=1) as loader:
        assert next(iter(loader))["video"].shape == (1, FRAMES, 48, 64)

    rgba = hr.io.load_video(films / "yuva.mkv", color="rgba")
    whole = hr.files([str(films / "yuva.mkv")], content=False).decode_video(color="rgba")
    with whole.center_crop((20, 30)).loader(epochs=1) as loader:
        assert np.array_equal(next(iter(loader))["video"], rgba[:, 14:34, 17:47])
    small = hr.io.load_video(films / "yuva.mkv", color="rgba", width=32, height=24)
    want = np.asarray(image.fromarray(rgba[0]).resize((32, 24), image.Resampling.BILINEAR)).astype(int)
    assert np.abs(small[0].astype(int) - want).max() <= 1
    with pytest.raises(hr.RecipeError, match="rgba"):
        whole.normalize(0.5, 0.5).loader()


def test_black_frames(films):
    for color, want in (("gray", 0), ("rgba", [0, 0, 0, 255]), ("yuv422", None), ("yuv444", None)):
        clip = piped(films / "709.mp4", frames=FRAMES + 1, stride=1, start="begin", short="black", color=color)
        assert np.array_equal(clip[:-1], hr.io.load_video(films / "709.mp4", color=color))
        if want is not None:
            assert (clip[-1] == want).all()
        else:
            luma, chroma = (clip[-1][0], clip[-1][1:]) if color == "yuv444" else (clip[-1][:48], clip[-1][48:])
            assert (luma == 16).all()
            assert (chroma == 128).all()


def test_frames_are_turned(films):
    for color in some(["gray", "yuv420", "yuv444", *COLORS], 3):
        stored = hr.io.load_video(films / "turned.mov", color=color, orient=False)
        turned = hr.io.load_video(films / "turned.mov", color=color)
        if color in ("gray", "rgba"):
            assert np.array_equal(turned, np.rot90(stored, 1, (1, 2)))
            continue
        luma, chroma = of(turned, color, 48, 64)
        before, parts = of(stored, color, 64, 48)
        assert np.array_equal(luma, np.rot90(before, 1, (1, 2)))
        if color == "yuv444":
            assert np.abs(chroma - np.rot90(parts, 1, (2, 3))).max() <= 1  # computed apart
        else:
            assert abs(chroma.mean() - parts.mean()) < 1


@pytest.mark.parametrize("color", ["yuv422", "yuv444"])
def test_colours_on_a_device_are_those_of_frames(films, color):
    torch = pytest.importorskip("torch")
    for name, dtype in (("odd422.mkv", "uint8"), ("prores.mov", "uint16"), ("709.mp4", "uint8"), ("420.mp4", "uint8")):
        pipeline = hr.files([str(films / name)], content=False).decode_video(color=color, matrix="how", dtype=dtype)
        with pipeline.to("torch").loader(epochs=1) as loader:
            sample = next(iter(loader))
        got = hr.torch.to_rgb(sample["video"], color, sample["how"])[..., : FILMS[name][0]].numpy()
        want = hr.io.load_video(films / name, dtype=dtype).transpose(0, 3, 1, 2) / (255 if dtype == "uint8" else 65535)
        same = {"yuv422": ("odd422.mkv", "prores.mov"), "yuv444": ("709.mp4",)}[color]
        if name in same:
            assert np.abs(got - want).max() <= 0.51 / 255
        else:  # chroma was interpolated twice, or rounded on the way
            assert np.abs(got - want).mean() < 0.02
    with pytest.raises(hr.HeadraceError, match="must be uint8 or uint16"):
        hr.torch.to_rgb(torch.zeros((2, 9, 8), dtype=torch.uint8), color)


def test_recipe_and_command(films, tmp_path):
    """The command runs the same recipe."""
    recipe = tmp_path / "gray.yaml"
    recipe.write_text(
        json.dumps({"headrace": 1, "steps": [
            {"files": {"paths": [str(films / "odd422.mkv")], "content": False}}, {"decode_video": {"color": "yuv422", "matrix": "how"}},
        ]})
    )  # fmt: skip
    with hr.load(recipe).loader(epochs=1) as loader:
        sample = next(iter(loader))
    assert np.array_equal(sample["video"], hr.io.load_video(films / "odd422.mkv", color="yuv422"))
    engine = Path(hr.__file__).parent / "_bin" / "headrace"
    told = subprocess.run([engine, "inspect", recipe], capture_output=True, text=True, check=False)
    assert "uint8 [?, ?, ?]" in told.stdout, told.stdout + told.stderr


# The decoder's format, the color with the same numbers, and what ffmpeg calls them.
AS_DECODED = {
    "420.mp4": ("yuv420p", "yuv420", "uint8"),
    "odd.mkv": ("yuv420p", "yuv420", "uint8"),
    "odd422.mkv": ("yuv422p", "yuv422", "uint8"),
    "prores.mov": ("yuv422p10le", "yuv422", "uint16"),
    "ten.mkv": ("yuv420p10le", "yuv420", "uint16"),
    "twelve.mkv": ("yuv444p12le", "yuv444", "uint16"),
    "709.mp4": ("yuv444p", "yuv444", "uint8"),
    "full.avi": ("yuvj422p", "yuv422", "uint8"),
    "packed.nut": ("yuyv422", "yuv422", "uint8"),
    "nv12.nut": ("nv12", "nv12", "uint8"),
    "gray.mkv": ("gray", "gray", "uint8"),
    "rgb.mkv": ("bgr0", "rgb", "uint8"),
    "qtrle.mov": ("argb", "rgba", "uint8"),
}


@pytest.mark.parametrize("name", some(BY_KIND, 7))
def test_native(films, name):
    """What the decoder gives, and its name; what has no array of its own is refused, and the color to use is named."""
    path = films / name
    format = hr.io.video_info(path).pixel_format
    if name in ("dv.mkv", "yuva.mkv", "4444.mov", "ya8.mov"):
        instead = "yuv444" if name == "dv.mkv" else "rgba"
        for load in (hr.io.load_video, lambda *a, **k: next(hr.io.stream_video(*a, **k))):
            with pytest.raises(hr.MediaError, match=f'frames of the format {format} have no array of their own: use color "{instead}"'):
                load(path, color="native")
        return
    got = hr.io.load_video(path, color="native")
    with hr.io.stream_video(path, 3, color="native") as stream:
        assert stream.pixel_format == format
        assert np.array_equal(np.concatenate(list(stream)), got)
    assert np.array_equal(hr.io.load_video(path.read_bytes(), [3, 1], color="native"), got[[3, 1]])
    assert np.array_equal(hr.io.decode(hr.io.demux(path), color="native"), got)
    if name == "rgb10.mkv":  # is scaled as a color
        want = raw(path, "gbrp10le").reshape(FRAMES, 3, 48, 64)[:, [2, 0, 1]].transpose(0, 2, 3, 1)
        assert (format, got.dtype) == ("gbrp10le", np.uint16)
        assert np.array_equal(got, want)
        return
    told, color, dtype = AS_DECODED[name]
    assert (format, got.dtype) == (told, dtype)
    assert np.array_equal(got, hr.io.load_video(path, color=color, dtype=dtype))


def test_native_is_turned_and_filled(films):
    stored = hr.io.load_video(films / "turned.mov", color="native", orient=False)
    assert np.array_equal(stored, hr.io.load_video(films / "prores.mov", color="native"))
    with pytest.raises(hr.MediaError, match=r"yuv422p10le that are turned on their side: set orient=False"):
        hr.io.load_video(films / "turned.mov", color="native")
    ffmpeg("-i", films / "qtrle.mov", "-c", "copy", "-metadata:s:v:0", "rotate=90", films / "turned-rgba.mov")
    assert np.array_equal(
        hr.io.load_video(films / "turned-rgba.mov", color="native"),
        np.rot90(hr.io.load_video(films / "qtrle.mov", color="native"), 1, (1, 2)),
    )
    for name, want in {"qtrle.mov": [0, 0, 0, 255], "rgb10.mkv": [0, 0, 0], "gray.mkv": [0]}.items():
        clip = hr.io.load_video(films / name, FRAMES + 1, stride=1, short="black", color="native")
        assert (clip[-1] == want).all(), name
    clip = hr.io.load_video(films / "ten.mkv", FRAMES + 1, stride=1, short="black", color="native")
    assert (clip[-1][:48] == 64).all()
    assert (clip[-1][48:] == 512).all()


def test_native_changes_nothing(films):
    """Each argument that would change frames is refused."""
    for given, message in (
        ({"width": 32, "height": 24}, "leave out width and height"),
        ({"dtype": "uint16"}, "leave out dtype and aspect"),
        ({"aspect": "square"}, "leave out dtype and aspect"),
    ):
        for load in (hr.io.load_video, hr.io.stream_video):
            with pytest.raises(hr.MediaError, match=message):
                load(films / "420.mp4", color="native", **given)
    with pytest.raises(hr.MediaError, match="color is 'native'"):
        hr.io.load_media(films / "420.mp4", color="native")
    for step in ("decode_video", "video_clips"):
        with pytest.raises(hr.RecipeError, match="the type of a sample must be known before its file is read: name the format"):
            getattr(hr.files(["a.mp4"], content=False), step)(4, color="native").loader()


def test_frames_that_change_their_format_are_not_native(tmp_path):
    """A second recording in the file has more bits."""
    for format in ("yuv420p", "yuv420p10le"):
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 3, "-c:v", "libx264", "-bf", 0, "-pix_fmt", format,
               tmp_path / f"{format}.h264")  # fmt: skip
    joined = tmp_path / "joined.h264"
    joined.write_bytes((tmp_path / "yuv420p.h264").read_bytes() + (tmp_path / "yuv420p10le.h264").read_bytes())
    assert hr.io.load_video(joined, color="yuv420").shape == (6, 72, 64)
    assert hr.io.load_video(joined, 3, stride=1, color="native").dtype == np.uint8
    for load in (hr.io.load_video, lambda *a, **k: list(hr.io.stream_video(*a, **k))):
        with pytest.raises(hr.MediaError, match=r'in the format yuv420p to 64×48 in yuv420p10le: name a color instead of "native"'):
            load(joined, color="native")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"color": "gray", "size": 32}, "put resize after"),
        ({"color": "rgba", "matrix": "how"}, 'color is "rgba"'),
        ({"color": "grey"}, 'did you mean "gray"'),
        ({"color": "yuv444", "size": 32, "dtype": "uint16"}, "planes of bytes"),
        ({"color": "yuv422", "aspect": "square"}, "planes stay as they are stored"),
    ],
)
def test_refused(given, message):
    with pytest.raises(hr.RecipeError, match=message):
        hr.files(["a.mp4"], content=False).decode_video(4, **given).loader()


def test_wrong_color_in_io(films):
    for load in (hr.io.load_video, hr.io.stream_video):
        with pytest.raises(hr.MediaError, match="color is 'yuv411': must be 'rgb', 'gray', 'rgba'"):
            load(films / "420.mp4", color="yuv411")
    with pytest.raises(hr.RecipeError, match="no image"):
        hr.files(["a.mp4"], content=False).decode_video(4, color="yuv444").resize((8, 8)).loader()

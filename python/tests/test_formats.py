"""Every format of files: its pixels beside Pillow's, what its options mean, and files that are not images."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps, features
from torchvision.transforms import functional as v1

import headrace as hr
from conftest import ROOT, photo, run_python
from pixels import difference, load, pixels

pytestmark = pytest.mark.usefixtures("one_engine")

SIZE = (53, 37)


def rgb(seed: int = 1) -> Image.Image:
    return photo(seed, *SIZE)


def rgba(seed: int = 1) -> Image.Image:
    image = photo(seed, *SIZE).convert("RGBA")
    y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    image.putalpha(Image.fromarray(((x * 9 + y * 5) % 256).astype(np.uint8)))
    return image


def palette() -> Image.Image:
    return rgb().quantize(60)


def gray16() -> np.ndarray:
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    return np.clip((x * 900 + y * 700) % 65536 + rng.integers(-90, 90, (SIZE[1], SIZE[0])), 0, 65535).astype(np.uint16)


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def frames(**options) -> dict:
    return {"save_all": True, "append_images": [rgb(2), rgb(3)], **options}


PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()

# name → image, options of Pillow's save, and how many levels libraries may differ.
FILES = {
    "rgb.png": (rgb(), {}, 0),
    "rgba.png": (rgba(), {}, 0),
    "gray.png": (rgb().convert("L"), {}, 0),
    "gray-alpha.png": (rgba().convert("LA"), {}, 0),
    "palette.png": (palette(), {}, 0),
    "palette-transparent.png": (palette(), {"transparency": 3}, 0),
    "bits.png": (rgb().convert("1"), {}, 0),
    "profile.png": (rgb(), {"icc_profile": PROFILE}, 0),  # is ignored: the numbers are those of the file
    "png.named.jpg": (rgb(), {"format": "PNG"}, 0),
    "turned.png": (rgb(), {"exif": turned(6)}, 0),
    "a.gif": (palette(), {}, 0),
    "frames.gif": (palette(), frames(), 0),
    "a.bmp": (rgb(), {}, 0),
    "palette.bmp": (palette(), {}, 0),
    "raw.tif": (rgb(), {}, 0),
    "lzw.tiff": (rgb(), {"compression": "tiff_lzw"}, 0),
    "deflate.tiff": (rgb(), {"compression": "tiff_adobe_deflate"}, 0),
    "packbits.tiff": (rgb(), {"compression": "packbits"}, 0),
    "gray.tiff": (rgb().convert("L"), {}, 0),
    "frames.tiff": (rgb(), frames(), 0),
    "turned.tiff": (rgb(), {"exif": turned(5)}, 0),
    "lossless.webp": (rgb(), {"lossless": True}, 0),
    "lossless-alpha.webp": (rgba(), {"lossless": True, "exact": True}, 0),
    "frames.webp": (rgb(), frames(lossless=True), 0),
    "turned.webp": (rgb(), {"lossless": True, "exif": turned(8)}, 0),
    "lossy.webp": (rgb(), {"quality": 80}, 1),
    "full.jpg": (rgb(), {"quality": 93, "subsampling": "4:4:4"}, 2),
    "gray.jpg": (rgb().convert("L"), {"quality": 93}, 1),
    "progressive.jpg": (rgb(), {"quality": 93, "progressive": True, "subsampling": "4:4:4"}, 2),
    "restarts.jpg": (rgb(), {"quality": 93, "restart_marker_blocks": 3, "subsampling": "4:2:2"}, 2),
    "cmyk.jpg": (rgb().convert("CMYK"), {"quality": 93}, 2),
    "turned.jpg": (rgb(), {"quality": 93, "subsampling": "4:4:4", "exif": turned(5)}, 2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    for name, (image, options, _) in FILES.items():
        image.save(folder / name, **options)
    return folder


def ours(path, **options) -> np.ndarray:
    with Image.open(path) as image:
        width, height = image.size
    return load(hr.files([path]).decode_image(**options).center_crop((height, width)))[0]


@pytest.mark.parametrize("color", ["rgb", "gray", "rgba"])
def test_a_folder_of_everything(folder, color):
    """All formats are found, whatever their names, come in the order of names, and are upright."""
    with hr.files(folder).decode_image(color=color).center_crop(SIZE[::-1]).batch(4).loader(epochs=1) as loader:
        loaded = [(key.rsplit("/")[-1], image.copy()) for batch in loader for key, image in zip(batch["key"], batch["image"])]
    assert [name for name, _ in loaded] == sorted(FILES)
    for name, image in loaded:
        with Image.open(folder / name) as theirs:
            theirs.load()
            upright = ImageOps.exif_transpose(theirs)  # Pillow turns TIFF by itself, and the rest when asked to
        upright = upright.convert("RGBA") if color == "rgba" else upright.convert("RGB")
        expected = v1.center_crop(upright.convert("L") if color == "gray" else upright, SIZE[::-1])
        tolerance = max(FILES[name][2], 1) if color == "gray" else FILES[name][2]
        assert difference(image[..., :3], pixels(expected)[..., :3]) <= tolerance, name
        if color == "rgba" and upright.size == SIZE:
            assert difference(image[..., 3], pixels(expected)[..., 3]) == 0, name


@pytest.mark.parametrize("name", ["turned.png", "turned.jpg"])
def test_an_image_may_stay_as_it_is_stored(folder, name):
    stored = load(hr.files([folder / name]).decode_image(orient=False).center_crop(SIZE[::-1]))[0]
    with Image.open(folder / name) as image:
        assert difference(stored, pixels(image.convert("RGB"))) <= FILES[name][2]


@pytest.mark.parametrize("name", ["rgba.png", "palette-transparent.png", "lossless-alpha.webp"])
def test_backgrounds(folder, name):
    """What Pillow gives when it pastes the image on one of that colour."""
    color = (10, 200, 90)
    with Image.open(folder / name) as image:
        image = image.convert("RGBA")
    below = Image.new("RGB", image.size, color)
    below.paste(image, mask=image.getchannel("A"))
    assert difference(ours(folder / name, background=color), pixels(below)) <= 1
    assert difference(ours(folder / name, background=np.array(color), color="gray"), pixels(below.convert("L"))) <= 1


def test_sixteen_bits(folder, tmp_path):
    values = gray16()
    for name in ("deep.png", "deep.tiff"):
        path = tmp_path / name
        Image.fromarray(values).save(path)
        kept = ours(path, color="gray", dtype="uint16")
        assert kept.dtype == np.uint16
        assert (kept[..., 0] == values).all()
        assert (ours(path, dtype="uint16") == values[..., None]).all()
        assert (ours(path, color="gray")[..., 0] == values >> 8).all(), "the upper byte"
        normalized = load(hr.files([path]).decode_image(color="gray", dtype="uint16").center_crop(SIZE[::-1]).normalize(0.5, 0.25))[0]
        expected = ((values / np.float32(65535) - np.float32(0.5)) / np.float32(0.25)).astype(np.float32)
        assert difference(normalized[..., 0], expected) <= 1e-6
    with Image.open(folder / "rgba.png") as image:
        assert (ours(folder / "rgba.png", color="rgba", dtype="uint16") == pixels(image).astype(np.uint16) * 257).all()


@pytest.mark.parametrize("name", ["lossy.webp", "full.jpg"])
def test_images_of_more_pixels_than_allowed(folder, name):
    """The limit and the message are those of headrace.io (test_io.py), for each format; what is done after decoding changes nothing."""
    most = SIZE[0] * SIZE[1]
    assert (ours(folder / name, max_pixels=most) == ours(folder / name)).all()
    with pytest.raises(hr.SampleError, match=f"{SIZE[0]}×{SIZE[1]} pixels; the limit is {most - 1}, raise it with max_pixels"):
        ours(folder / name, max_pixels=most - 1)
    small = hr.files([str(folder / name)] * 2).decode_image(max_pixels=most - 1).resize((4, 4)).batch(2)
    with small.loader(on_error="skip", max_errors=2) as loader:
        assert list(loader) == []
        assert len(loader.errors) == 2


@pytest.mark.parametrize("most", [0, -1, 178_956_971])
def test_limits_of_pixels_that_are_none(folder, most):
    with pytest.raises(hr.RecipeError, match=f"max_pixels is {most}: must be from 1 to 178956970"):
        ours(folder / "a.gif", max_pixels=most)
    assert (ours(folder / "a.gif", max_pixels=178_956_970) == ours(folder / "a.gif")).all()


@pytest.mark.parametrize("frame", [1, -1])
def test_other_frames_are_refused(folder, frame):
    with pytest.raises(hr.RecipeError, match=f"frame is {frame}: only the first frame is decoded: must be 0"):
        ours(folder / "a.gif", frame=frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "grey"}, 'color is "grey": did you mean "gray"?'),
        ({"mode": "quick"}, 'mode is "quick": must be "exact" or "fast"'),
        ({"dtype": "float32"}, 'dtype is "float32": must be "uint8" or "uint16"'),
        ({"background": (1, 2)}, r"background is \[1,2\]: must be a list of 3"),
        ({"background": (1, 2, 256)}, r"background is \[1,2,256\]: must be three numbers from 0 to 255"),
        ({"background": (1, 2, 3), "color": "rgba"}, 'but color="rgba" keeps what is transparent'),
    ],
)
def test_options_that_are_none(folder, options, message):
    with pytest.raises(hr.RecipeError, match=message):
        ours(folder / "rgb.png", **options)


def test_avif(tmp_path):
    """Where the library is missing, the sample's error says which package brings it; an engine without C has no decoder."""
    if not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    path = tmp_path / "a.avif"
    rgb().save(path, quality=90, subsampling="4:4:4")
    with Image.open(path) as image:
        theirs = pixels(image.convert("RGB"))
    try:
        assert difference(ours(path), theirs) <= 2
    except hr.SampleError as error:
        assert "libavif" in str(error) or 'no decoder for "avif"' in str(error)  # noqa: PT017


def test_avif_without_its_library(tmp_path):
    """Its samples fail and say what to install; everything else is loaded as ever."""
    if not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    rgb().save(tmp_path / "a.avif")
    rgb().save(tmp_path / "b.png")
    done = run_python(
        """
        import sys
        import headrace as hr
        with hr.files(sys.argv[1]).decode_image().center_crop(8).batch(1).loader(epochs=1, on_error="skip") as loader:
            print(*[key for batch in loader for key in batch["key"]], *loader.errors)
        """,
        tmp_path,
        HEADRACE_AVIF="/nowhere/libavif.so.16",
    )
    good, _, lost = done.stdout.partition(" ")
    assert good == str(tmp_path / "b.png"), done.stderr
    assert "a.avif" in lost
    assert "apt-get install -y libavif16" in lost or "no decoder for" in lost


TIFFS = sorted(p for p in (ROOT / "media/tiff/testdata").glob("*.tif") if "16" not in p.name and "12" not in p.name)


def test_tiffs():
    """What libtiff reads, Pillow's pixels; media/tiff compares 12 and 16 bits."""
    assert len(TIFFS) > 50
    for path in TIFFS:
        with Image.open(path) as image:
            theirs = pixels(image.convert("RGB"))
        try:
            assert difference(ours(path), theirs) <= (2 if "jpeg" in path.name else 0), path.name
        except hr.SampleError as error:
            assert "unsupported image: tiff with" in str(error), path.name  # noqa: PT017  (an engine without C)


def test_fast_is_of_jpeg_alone(folder):
    paths = [folder / name for name in FILES if not name.endswith("jpg")]
    exact, fast = (load(hr.files(paths).decode_image(mode=mode).resize(20).center_crop(18)) for mode in ("exact", "fast"))
    assert all((one == other).all() for one, other in zip(exact, fast, strict=True))

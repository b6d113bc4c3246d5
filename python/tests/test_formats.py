"""Every format of files: its pixels beside Pillow's, what its options mean, and what is no image at all."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps, features

import headrace as hr
from conftest import photo, run_python
from pixels import difference, load, pixels, write

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


# name → image, options of Pillow's save, and how many levels libraries may differ.
FILES = {
    "rgb.png": (rgb(), {}, 0),
    "rgba.png": (rgba(), {}, 0),
    "gray.png": (rgb().convert("L"), {}, 0),
    "gray-alpha.png": (rgba().convert("LA"), {}, 0),
    "palette.png": (palette(), {}, 0),
    "palette-transparent.png": (palette(), {"transparency": 3}, 0),
    "bits.png": (rgb().convert("1"), {}, 0),
    "a.gif": (palette(), {}, 0),
    "a.bmp": (rgb(), {}, 0),
    "palette.bmp": (palette(), {}, 0),
    "raw.tif": (rgb(), {}, 0),
    "lzw.tiff": (rgb(), {"compression": "tiff_lzw"}, 0),
    "deflate.tiff": (rgb(), {"compression": "tiff_adobe_deflate"}, 0),
    "packbits.tiff": (rgb(), {"compression": "packbits"}, 0),
    "gray.tiff": (rgb().convert("L"), {}, 0),
    "lossless.webp": (rgb(), {"lossless": True}, 0),
    "lossless-alpha.webp": (rgba(), {"lossless": True, "exact": True}, 0),
    "lossy.webp": (rgb(), {"quality": 80}, 1),
    "full.jpg": (rgb(), {"quality": 93, "subsampling": "4:4:4"}, 2),
    "gray.jpg": (rgb().convert("L"), {"quality": 93}, 1),
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


@pytest.mark.parametrize("name", FILES)
def test_pixels(folder, name):
    path, tolerance = folder / name, FILES[name][2]
    with Image.open(path) as image:
        image.load()
        assert difference(ours(path), pixels(image.convert("RGB"))) <= tolerance
        assert difference(ours(path, color="gray"), pixels(image.convert("RGB").convert("L"))) <= max(tolerance, 1)
        with_alpha = ours(path, color="rgba")
        assert difference(with_alpha, pixels(image.convert("RGBA"))) <= tolerance
        if not image.has_transparency_data:
            assert (with_alpha[..., 3] == 255).all()


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


def test_resizing_with_alpha(folder):
    """Colours count as much as they are opaque, as in Pillow: nothing bleeds out of what is not seen."""
    for name in ("rgba.png", "lossless-alpha.webp"):
        with Image.open(folder / name) as image:
            theirs = image.convert("RGBA").resize((30, 20), Image.Resampling.BILINEAR)
        resized = load(hr.files([folder / name]).decode_image(color="rgba").resize((20, 30)))[0]
        seen = pixels(theirs)[..., 3] > 16  # the colour of what is hardly seen is a quotient of small numbers
        off = np.abs(resized.astype(int) - pixels(theirs).astype(int))
        assert off[..., 3].max() <= 1
        assert off[seen].max() <= 4


def test_sixteen_bits(tmp_path):
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


def test_eight_bits_as_sixteen(folder):
    with Image.open(folder / "rgba.png") as image:
        assert (ours(folder / "rgba.png", color="rgba", dtype="uint16") == pixels(image).astype(np.uint16) * 257).all()


@pytest.mark.parametrize("orientation", [5, 6])
@pytest.mark.parametrize("suffix", ["png", "webp", "tiff", "jpg"])
def test_orientation(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"jpg": {"quality": 95, "subsampling": "4:4:4"}, "webp": {"lossless": True}}.get(suffix, {})
    path = tmp_path / f"turned.{suffix}"
    rgb().save(path, exif=exif, **options)
    if suffix == "jpg":
        with Image.open(path) as image:
            image.load()
            stored = image
    else:
        stored = rgb()
    stored = Image.fromarray(np.asarray(stored))  # Pillow turns TIFF by itself, and the rest when asked to
    stored.getexif()[0x0112] = orientation
    stored, upright = pixels(stored), pixels(ImageOps.exif_transpose(stored))
    tolerance = 2 if suffix == "jpg" else 0
    assert difference(load(hr.files([path]).decode_image().center_crop(upright.shape[:2]))[0], upright) <= tolerance
    assert difference(load(hr.files([path]).decode_image(orient=False).center_crop(stored.shape[:2]))[0], stored) <= tolerance


@pytest.mark.parametrize("name", ["rgba.png", "full.jpg"])
def test_content_says_the_format(folder, tmp_path, name):
    """A wrong name, or none, changes nothing."""
    for wrong in ("x.jpg", "x.png", "x"):
        path = tmp_path / wrong
        path.write_bytes((folder / name).read_bytes())
        assert (ours(path) == ours(folder / name)).all()


def test_the_first_frame(tmp_path):
    frames = [rgb(seed).quantize(50) for seed in (1, 2, 3)]
    for name, options in (("a.gif", {}), ("a.webp", {"lossless": True}), ("a.tiff", {})):
        path = tmp_path / name
        pages = frames if name == "a.gif" else [frame.convert("RGB") for frame in frames]
        pages[0].save(path, save_all=True, append_images=pages[1:], **options)
        with Image.open(path) as image:
            assert image.n_frames == 3
            assert difference(ours(path), pixels(image.convert("RGB"))) == 0
        assert (ours(path, frame=0) == ours(path)).all()


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
    with pytest.raises(hr.RecipeError, match=f"max_pixels is {most}: takes 1 to 178956970"):
        ours(folder / "a.gif", max_pixels=most)
    assert (ours(folder / "a.gif", max_pixels=178_956_970) == ours(folder / "a.gif")).all()


@pytest.mark.parametrize("frame", [1, -1])
def test_other_frames_are_refused(folder, frame):
    with pytest.raises(hr.RecipeError, match=f"frame is {frame}: the first frame alone is decoded: takes 0"):
        ours(folder / "a.gif", frame=frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "grey"}, 'color is "grey": did you mean "gray"?'),
        ({"mode": "quick"}, 'mode is "quick": takes "exact" or "fast"'),
        ({"dtype": "float32"}, 'dtype is "float32": takes "uint8" or "uint16"'),
        ({"background": (1, 2)}, r"background is \[1,2\]: takes a list of 3"),
        ({"background": (1, 2, 256)}, r"background is \[1,2,256\]: takes three numbers from 0 to 255"),
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


def test_a_folder_of_everything(folder):
    """All formats are found in a folder, and come in their order."""
    with hr.files(folder).decode_image().resize((16, 16)).batch(4).loader(epochs=1) as loader:
        batches = list(loader)
    keys = [key for batch in batches for key in batch["key"]]
    assert [key.rsplit("/")[-1] for key in keys] == sorted(FILES)
    images = np.concatenate([batch["image"] for batch in batches])
    for key, image in zip(keys, images):
        with Image.open(key) as theirs:
            expected = pixels(theirs.convert("RGB").resize((16, 16), Image.Resampling.BILINEAR))
        assert difference(image, expected) <= 3, key


NO_PICTURES = {
    "empty.png": b"",
    "text.jpg": b"this is no picture at all\n" * 20,
    "heic.jpg": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(100),
    "svg.png": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "header.webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
}


def test_cut_files(folder, tmp_path):
    """Half a file is an error, or the image it was."""
    names = [name for name in FILES if not name.startswith("bits")]
    for name in names:
        whole = (folder / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])

    def read(folder):
        cropped = hr.files([folder / name for name in names]).decode_image().center_crop(SIZE[::-1]).batch(1)
        with cropped.loader(epochs=1, on_error="skip", max_errors=len(names)) as loader:
            return {batch["key"][0].rsplit("/")[-1]: batch["image"][0].copy() for batch in loader}, loader.errors

    whole, none = read(folder)
    cut, errors = read(tmp_path)
    assert len(whole) == len(names) == len(cut) + len(errors)
    assert not none
    assert all((image == whole[name]).all() for name, image in cut.items())


def test_a_mixed_folder_with_bad_files(folder, tmp_path):
    """Order is kept, what is good is right, and what failed is reported, each with its reason."""
    good = list(FILES)[:6]
    listed, bad = [], []
    for i, name in enumerate(good):
        path = tmp_path / f"{i}-{name}"
        path.write_bytes((folder / name).read_bytes())
        listed.append(path)
        wrong = tmp_path / f"{i}-bad-{list(NO_PICTURES)[i % 5]}"
        wrong.write_bytes(list(NO_PICTURES.values())[i % 5])
        listed.append(wrong)
        bad.append(str(wrong))
    description = hr.files(listed).decode_image().center_crop(SIZE[::-1]).batch(4)
    with description.loader(epochs=1, on_error="skip", max_errors=10) as loader:
        rows = [(key, image.copy()) for batch in loader for key, image in zip(batch["key"], batch["image"])]
        assert [key for key, _ in rows] == [str(path) for path in listed if str(path) not in bad]
        for key, image in rows:
            assert (image == ours(key)).all()
        assert [lost.key for lost in loader.errors] == bad
        assert all(lost.error for lost in loader.errors)


def test_what_decoders_keep_out_of_pixels(tmp_path):
    """A profile of colours is ignored: the numbers are those of the file."""
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    for name in ("a.png", "a.jpg", "a.webp", "a.tiff"):
        with_profile, without = tmp_path / f"with-{name}", tmp_path / name
        options = {"a.webp": {"lossless": True}}.get(name, {})
        rgb().save(with_profile, icc_profile=profile, **options)
        rgb().save(without, **options)
        assert (ours(with_profile) == ours(without)).all()


def test_pixels_from_memory_are_those_of_files(folder):
    """What is compared here is really what Pillow wrote."""
    buffer = io.BytesIO()
    rgb().save(buffer, "PNG")
    assert buffer.getvalue() == (folder / "rgb.png").read_bytes()


def test_fast_is_of_jpeg_alone(folder):
    paths = [folder / name for name in FILES if not name.endswith("jpg")]
    exact, fast = (load(hr.files(paths).decode_image(mode=mode).resize(20).center_crop(18)) for mode in ("exact", "fast"))
    assert all((one == other).all() for one, other in zip(exact, fast, strict=True))


def test_large_and_small(tmp_path):
    """One pixel is an image; sides that no image has are refused before memory is."""
    tiny = tmp_path / "tiny.png"
    Image.new("RGB", (1, 1), (1, 2, 3)).save(tiny)
    assert ours(tiny).tolist() == [[[1, 2, 3]]]
    assert load(hr.files([tiny]).decode_image().resize((9, 5)))[0].reshape(-1, 3).tolist() == [[1, 2, 3]] * 45
    bomb = bytearray((tmp_path / "tiny.png").read_bytes())
    bomb[16:24] = (100_000).to_bytes(4, "big") * 2
    import zlib

    bomb[29:33] = zlib.crc32(bytes(bomb[12:29])).to_bytes(4, "big")
    path = tmp_path / "bomb.png"
    path.write_bytes(bytes(bomb))
    with pytest.raises(hr.SampleError, match=r"100000×100000"):
        load(hr.files([path]).decode_image().center_crop(8))


def test_jpegs_of_every_kind(tmp_path):
    """Progressive, of every sampling, with restart markers: one image."""
    for options in ({"progressive": True}, {"optimize": True}, {"subsampling": "4:2:2"}, {"restart_marker_blocks": 3}):
        path = tmp_path / "a.jpg"
        rgb().save(path, quality=92, **options)
        with Image.open(path) as image:
            assert difference(ours(path), pixels(image)) <= (60 if options.get("subsampling") else 255)
    (written,) = write(tmp_path, [SIZE], subsampling="4:4:4")
    with Image.open(written) as image:
        assert difference(ours(written), pixels(image)) <= 2

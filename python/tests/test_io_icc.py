"""to_srgb: within 1 of 255 of what LittleCMS (Pillow's ImageCms) makes of the same pixels and profile."""

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageCms

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
D50 = (0.9642, 1.0, 0.8249)
# The columns of XYZ for D50, as profiles of these names have them.
P3 = ((0.51512, 0.2412, -0.00105), (0.29198, 0.69225, 0.04189), (0.1571, 0.06657, 0.78407))
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
PROPHOTO = ((0.79767, 0.28804, 0.0), (0.13519, 0.71188, 0.0), (0.03134, 0.00008, 0.82491))


def fixed(*numbers):
    return struct.pack(f">{len(numbers)}i", *(round(n * 65536) for n in numbers))


def gamma(g):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(g * 256))


def table(n, power):
    return b"curv\0\0\0\0" + struct.pack(">I", n) + (np.linspace(0, 1, n) ** power * 65535).round().astype(">u2").tobytes()


def para(kind, *numbers):
    return b"para\0\0\0\0" + struct.pack(">HH", kind, 0) + fixed(*numbers)


SRGB_CURVE = para(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def profile(space=b"RGB ", matrix=None, curves=(), more=(), pcs=b"XYZ "):
    tags = [(b"wtpt", b"XYZ \0\0\0\0" + fixed(*D50)), (b"desc", b"mluc\0\0\0\0" + struct.pack(">II", 0, 12)), (b"cprt", b"text\0\0\0\0x\0")]
    for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), matrix or (), strict=False):
        tags.append((name, b"XYZ \0\0\0\0" + fixed(*column)))
    names = (b"kTRC",) if space == b"GRAY" else (b"rTRC", b"gTRC", b"bTRC")
    tags += [*zip(names, curves, strict=False), *more]
    at, directory, body = 128 + 4 + 12 * len(tags), b"", b""
    for name, data in tags:
        data += b"\0" * (-len(data) % 4)
        directory += struct.pack(">4sII", name, at + len(body), len(data))
        body += data
    head = struct.pack(">II4s4s4s4s12s4s", 0, 0, b"\4\x20\0\0", b"mntr", space, pcs, b"\x07\xea\0\1\0\1" + b"\0" * 6, b"acsp")
    whole = head + b"\0" * 28 + fixed(*D50) + b"\0" * 48 + struct.pack(">I", len(tags)) + directory + body
    return struct.pack(">I", len(whole)) + whole[4:]


COLORS = np.random.default_rng(1).integers(0, 256, (120, 100, 3), np.uint8)
CASES = {
    "Display P3": (P3, [SRGB_CURVE] * 3),
    "Adobe RGB": (ADOBE, [gamma(2.19921875)] * 3),
    "ProPhoto": (PROPHOTO, [gamma(1.8)] * 3),
    "tables": (P3, [table(1024, 2.2), table(256, 1.9), table(4096, 2.4)]),
    "linear": (ADOBE, [b"curv\0\0\0\0\0\0\0\0"] * 3),
    "forms": (P3, [para(0, 2.2), para(1, 2.2, 0.95, 0.05), para(4, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045, 0.001, 0.0005)]),
}


def as_littlecms(image, data):
    made = ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(io.BytesIO(data)), SRGB, renderingIntent=1, outputMode="RGB")
    return np.asarray(made).astype(int)


@pytest.mark.parametrize("name", CASES)
def test_as_littlecms(name):
    data = profile(matrix=CASES[name][0], curves=CASES[name][1])
    got = hr.io.to_srgb(COLORS, data)
    assert got.dtype == np.uint8
    error = np.abs(got - as_littlecms(Image.fromarray(COLORS), data))
    assert error.max() <= 1
    assert error.mean() < 0.1
    wide = hr.io.to_srgb(COLORS.astype(np.uint16) * 257, data)
    assert np.abs(wide / 257 - got).max() <= 1
    alpha = np.dstack([COLORS, COLORS[..., :1]])
    assert np.array_equal(hr.io.to_srgb(alpha, data), np.dstack([got, COLORS[..., :1]]))


def test_srgb_stays():
    assert np.array_equal(hr.io.to_srgb(COLORS, SRGB.tobytes()), COLORS)
    assert np.array_equal(hr.io.to_srgb(COLORS, b""), COLORS)


def test_gray():
    data = profile(b"GRAY", curves=[gamma(1.8)])
    gray = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    got = hr.io.to_srgb(gray, data)
    assert np.abs(got.astype(int) - as_littlecms(Image.fromarray(gray[..., 0]), data)[..., :1]).max() <= 1
    assert np.array_equal(hr.io.to_srgb(gray.repeat(3, 2), data), got.repeat(3, 2))


def test_a_file(tmp_path):
    data = profile(matrix=P3, curves=[SRGB_CURVE] * 3)
    Image.fromarray(COLORS).save(tmp_path / "p3.png", icc_profile=data)
    about = hr.io.image_metadata(tmp_path / "p3.png")
    image = hr.io.load_image(tmp_path / "p3.png")
    assert np.array_equal(image, COLORS)  # not unless it is asked for
    assert np.abs(hr.io.to_srgb(image, about.icc_profile) - as_littlecms(Image.fromarray(COLORS), data)).max() <= 1


def test_refused():
    rgb = profile(matrix=P3, curves=[SRGB_CURVE] * 3)
    for pixels, data, message in [
        (COLORS, b"text", "damaged|not an ICC profile"),
        (COLORS, b"\0" * 200, "the bytes are not an ICC profile"),
        (COLORS, profile(b"CMYK"), "it is of CMYK; Pillow's ImageCms"),
        (COLORS, profile(matrix=P3, curves=[SRGB_CURVE] * 3, more=[(b"A2B0", b"mAB \0\0\0\0")]), "it has tables; Pillow's"),
        (COLORS, profile(matrix=P3, curves=[SRGB_CURVE] * 2), "it has no bTRC"),
        (COLORS, profile(matrix=P3, curves=[para(9)] * 3), "a curve is of the form 9"),
        (COLORS, profile(matrix=P3, curves=[b"mft2\0\0\0\0"] * 3), "a curve is b'mft2'"),
        (COLORS, profile(matrix=P3, curves=[b"curv\0\0\0\0\0\0\xff\0"] * 3), "a curve is cut off"),
        (COLORS[..., :2], rgb, "2 channels"),
        (COLORS[..., :1], rgb, 'load the image with color="rgb"'),
        (COLORS / 255, rgb, "uint8 or uint16"),
    ]:
        with pytest.raises((hr.MediaError, TypeError), match=message):
            hr.io.to_srgb(pixels, data)
    r = np.random.default_rng(2)
    for _ in range(200):
        data = bytearray(rgb)
        for at in r.integers(0, len(data), 4):
            data[at] = r.integers(256)
        try:
            hr.io.to_srgb(COLORS[:2], bytes(data[: r.integers(1, len(data) + 1)]))
        except hr.MediaError:
            pass


def described(sample):
    about = hr.io.image_metadata(sample["bytes"])
    return sample | {"icc": about.icc_profile, "taken": str(about.tags.get(306, ""))}


def in_srgb(image, icc):
    return hr.io.to_srgb(image, icc), icc


def test_profiles_and_metadata_in_a_pipeline(tmp_path):
    """As the guide writes it: by ImageCms, upright, with a date, beside an image that has neither."""
    exif = Image.Exif()
    exif[306], exif[274] = "2026:11:29 12:00:00", 6
    made = profile(matrix=P3, curves=[SRGB_CURVE] * 3)
    smooth = Image.fromarray(COLORS[:8, :8]).resize((60, 40), Image.Resampling.BICUBIC)
    smooth.save(tmp_path / "a.png", icc_profile=made, exif=exif)
    smooth.transpose(Image.Transpose.ROTATE_270).save(tmp_path / "b.png")
    pictures = hr.files(str(tmp_path)).map(described).decode_image().map(in_srgb, fields=["image", "icc"]).drop("icc")
    pictures = pictures.resize((60, 40)).batch(2)
    with pictures.loader(epochs=1) as loader:
        batch = next(iter(loader))
    wanted = ImageCms.profileToProfile(smooth, ImageCms.ImageCmsProfile(io.BytesIO(made)), SRGB).transpose(Image.Transpose.ROTATE_270)
    assert np.abs(batch["image"][0].astype(int) - np.asarray(wanted)).max() <= 1
    assert batch["taken"] == ["2026:11:29 12:00:00", ""]
    assert np.array_equal(batch["image"][1], np.asarray(smooth.transpose(Image.Transpose.ROTATE_270)))

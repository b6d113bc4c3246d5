"""image_metadata: what Pillow's getexif, get_ifd and info["icc_profile"] say of the same files."""

import io
import random
import zlib
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image, ImageCms, TiffImagePlugin

import headrace as hr
from conftest import WHOLE
from headrace._io import metadata

FORMATS = ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"]
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def picture(format, exif=None, icc=None):
    out = io.BytesIO()
    options = {key: value for key, value in {"exif": exif, "icc_profile": icc}.items() if value}
    Image.fromarray(np.arange(16 * 12 * 3, dtype=np.uint8).reshape(16, 12, 3)).save(out, format, **options)
    return out.getvalue()


def exif(orientation=6):
    tags = Image.Exif()
    tags[274], tags[271], tags[306], tags[282] = orientation, "Maker é", "2026:11:29 10:00:00", TiffImagePlugin.IFDRational(72, 1)
    camera = tags.get_ifd(0x8769)
    camera[33434], camera[34855], camera[36864] = TiffImagePlugin.IFDRational(1, 125), 200, b"0232"
    camera[37380], camera[37500] = TiffImagePlugin.IFDRational(-1, 3), b"\0\1maker's own"
    place = tags.get_ifd(0x8825)
    place[1], place[2] = "N", tuple(TiffImagePlugin.IFDRational(n, 1) for n in (48, 8, 6))
    return tags


def same(got, want):
    if isinstance(want, tuple):
        return isinstance(got, tuple) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, TiffImagePlugin.IFDRational):
        return float(got) == float(want) or want.denominator == 0
    return got == want


@pytest.mark.parametrize("format", FORMATS)
def test_as_pillow(tmp_path, format):
    for orientation in range(1, 9):
        data = picture(format, exif(orientation), ICC)
        about = hr.io.image_metadata(data)
        want = Image.open(io.BytesIO(data)).getexif()
        assert about.format == format.lower()
        if format != "AVIF":  # Pillow turns them by boxes, and leaves the tag out
            assert about.orientation == orientation
        for got, tags in ((about.tags, dict(want)), (about.exif, want.get_ifd(0x8769)), (about.gps, want.get_ifd(0x8825))):
            for tag, value in tags.items():
                if tag not in (0x8769, 0x8825, 274):
                    assert same(got[tag], value), (tag, got.get(tag), value)
        assert about.icc_profile == ICC
        assert format == "TIFF" or about.exif[33434] == Fraction(1, 125)  # Pillow writes no directory of a camera into TIFF
    (tmp_path / "x").write_bytes(data)
    assert hr.io.image_metadata(tmp_path / "x") == hr.io.image_metadata(io.BytesIO(data)) == about


@pytest.mark.parametrize("format", FORMATS)
def test_none(format):
    about = hr.io.image_metadata(picture(format))
    assert (about.orientation, about.exif, about.gps, about.exif_bytes, about.icc_profile) == (1, {}, {}, b"", b"")


def test_orientation_of_xmp():
    xmp = b'http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'
    data = picture("JPEG")
    data = data[:2] + b"\xff\xe1" + (len(xmp) + 2).to_bytes(2, "big") + xmp + data[2:]
    assert hr.io.image_metadata(data).orientation == 8


@pytest.mark.usefixtures("io_closed")
def test_exif_of_png_may_begin_as_in_jpeg():
    """As some programs write it, and load_image reads it; of two numbers it takes the first."""
    png = picture("PNG", exif())
    at = png.index(b"eXIf") - 4
    n = int.from_bytes(png[at : at + 4], "big")
    body = b"Exif\0\0" + png[at + 8 : at + 8 + n]
    chunk = len(body).to_bytes(4, "big") + b"eXIf" + body + zlib.crc32(b"eXIf" + body).to_bytes(4, "big")
    data = png[:at] + chunk + png[at + 12 + n :]
    assert hr.io.image_metadata(data) == hr.io.image_metadata(png)
    assert hr.io.load_image(data).shape == hr.io.load_image(png).shape


def box(kind, *parts):
    body = b"".join(parts)
    return (8 + len(body)).to_bytes(4, "big") + kind + body


def heif(*places, extra=b""):
    """An AVIF file without an image, whose EXIF is in these places."""
    infe = box(b"infe", b"\2\0\0\0", b"\0\1", b"\0\0", b"Exif", b"\0")
    extents = b"".join(at.to_bytes(4, "big") + size.to_bytes(4, "big") for at, size in places)
    iloc = box(b"iloc", b"\0\0\0\0", b"\x44\0", b"\0\1", b"\0\1\0\0" + len(places).to_bytes(2, "big") + extents)
    meta = box(b"meta", b"\0\0\0\0", box(b"iinf", b"\0\0\0\0", b"\0\1", infe), iloc, extra)
    return box(b"ftyp", b"avif\0\0\0\0avif") + meta


def test_places_of_items_are_bounded():
    """A file of a few bytes may name the same ones any number of times."""
    many = 0xFFFF
    iloc = box(b"iloc", b"\0\0\0\0", b"\0\0", b"\0\2", *(b"\0\1\0\0" + many.to_bytes(2, "big"),) * 2)
    meta = box(b"meta", b"\0\0\0\0", iloc)
    with pytest.raises(hr.MediaError, match="its items are in more than 65,536 places"):
        hr.io.image_metadata(box(b"ftyp", b"avif\0\0\0\0avif") + meta)


class Counted(bytes):
    """Counts the bytes that are copied out of it, and out of these."""

    copied = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if isinstance(key, slice):
            Counted.copied += len(part)
            return Counted(part)
        return part


TIFF_HEADER = b"II*\0\x08\0\0\0" + bytes(6)  # and a directory of no tags


def test_prefixes_of_exif_are_passed_over_once():
    """A file of 200 KB names its prefixes 80 times over, to 16 MB. Copied for each prefix, they would be 20 TB."""
    data = Counted(b"Exif\0\0" * 30_000 + TIFF_HEADER)
    assert metadata._from_header(data) == TIFF_HEADER
    assert Counted.copied < 2 * len(data)

    begin = len(heif(*[(0, 0)] * 92))
    places = [(begin, 4), *[(begin + 4, 180_000)] * 90, (begin + 4, len(data))]
    about = hr.io.image_metadata(heif(*places) + bytes(4) + data)
    assert (about.exif_bytes, about.tags) == (TIFF_HEADER, {})


def test_of_boxes_and_chunks_that_grow_the_first_counts():
    """Each of a few bytes may name 65,536 places, or be inflated to a thousand times as many: others are not looked at."""
    damaged = box(b"iloc", bytes(4), b"\x44\0", b"\0\1")
    begin = len(heif((0, 0), extra=damaged))
    about = hr.io.image_metadata(heif((begin, 4 + len(TIFF_HEADER)), extra=damaged) + bytes(4) + TIFF_HEADER)
    assert about.exif_bytes == TIFF_HEADER

    png = picture("PNG", icc=ICC)
    damaged = (6).to_bytes(4, "big") + b"iCCPname\0\0" + bytes(4)
    at = png.index(b"IDAT") - 4
    assert hr.io.image_metadata(png[:at] + damaged + png[at:]).icc_profile == ICC
    with pytest.raises(hr.MediaError, match="its metadata is damaged: what is compressed is cut off, or too large"):
        hr.io.image_metadata(png[:8] + damaged + png[8:])


def test_refused(tmp_path):
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "cut.jpg").write_bytes(picture("JPEG", exif())[:60])
    (tmp_path / "cut.tif").write_bytes(b"II*\0\xff\xff\xff\x7f")
    for src, message in [
        (b"text", "^headrace: image_metadata: it is none of JPEG, PNG, WebP, TIFF, AVIF and HEIC"),
        (b"", "none of JPEG"),
        (tmp_path / "empty.jpg", "empty.jpg.*the file is empty"),
        (picture("JPEG", exif())[:60], "its metadata is damaged: a segment is cut off"),
        (tmp_path / "cut.jpg", "cut.jpg.*its metadata is damaged: a segment is cut off"),
        (tmp_path / "cut.tif", "cut.tif.*its metadata is damaged: it is cut off"),
        (b"II*\0\xff\xff\xff\x7f", "its metadata is damaged: it is cut off"),
        (b"MM\0*\0\0\0\x08\0\1" + b"\0\0", None),
    ]:
        if message is None:
            assert hr.io.image_metadata(src).tags == {}
            continue
        with pytest.raises(hr.MediaError, match=message):
            hr.io.image_metadata(src)
    with pytest.raises(FileNotFoundError):
        hr.io.image_metadata(tmp_path / "none.jpg")


@pytest.mark.parametrize("format", FORMATS)
def test_damaged(format):
    """Any bytes give metadata or a MediaError."""
    good = picture(format, exif(), ICC)
    r = random.Random(format)
    for _ in range(4000 if WHOLE else 100):
        data = bytearray(good)
        for _ in range(r.randint(1, 6)):
            data[r.randrange(min(len(data), 900))] = r.randrange(256)
        data = data[: r.choice([len(data), r.randrange(len(data))])]
        try:
            hr.io.image_metadata(data)
        except hr.MediaError:
            pass

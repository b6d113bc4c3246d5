"""Folders in which good images of every format are beside files that are cut, rotten, bombs, or no images at all."""

from __future__ import annotations

import io
import os
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from conftest import DEBUG_ENGINE, photo
from pixels import difference

SIZE = (61, 43)
FORMATS = {
    "jpg": {"quality": 95, "subsampling": "4:4:4"},
    "png": {},
    "webp": {"lossless": True},
    "gif": {},
    "bmp": {},
    "tiff": {"compression": "tiff_lzw"},
}


def encoded(suffix: str, seed: int) -> bytes:
    file = io.BytesIO()
    photo(seed, *SIZE).save(file, {"jpg": "JPEG", "tiff": "TIFF"}.get(suffix, suffix.upper()), **FORMATS[suffix])
    return file.getvalue()


def png(width: int, height: int, rows: bytes, *more: tuple[bytes, bytes]) -> bytes:
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), *more, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def giant_jpeg() -> bytes:
    data = bytearray(encoded("jpg", 1))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\xff\xdc\xff\xdc"
    return bytes(data)


# What each is, and the words of its error.
BAD = {
    "nothing.jpg": (b"", "no data"),
    "page.jpg": (b"<!doctype html><html><body>404</body></html>", "HTML"),
    "archive.png": (b"PK\x03\x04" + bytes(400), "ZIP"),
    "zeros.webp": (bytes(5000), "unknown image format"),
    "bomb.png": (png(100_000, 100_000, bytes(1 << 20)), "too large"),
    "giant.jpg": (giant_jpeg(), "too large"),
    "short.png": (png(50, 50, bytes(151 * 20)), "image"),
    "text.png": (png(50, 50, b"", (b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(bytes(1 << 25)))), "image"),
    "wide.bmp": (b"BM" + struct.pack("<IIIIiiHHIIIIII", 100, 0, 54, 40, -5, 2**31 - 1, 1, 24, 0, 0, 0, 0, 0, 0), "image"),
    "loop.tiff": (b"II*\0" + struct.pack("<I", 4) + bytes(100), "image"),
}


@pytest.fixture
def folder(tmp_path):
    """Good images and bad ones, mixed in the order of their names."""
    for seed, suffix in enumerate(FORMATS):
        for n in range(3):
            (tmp_path / f"{n}{seed}-good.{suffix}").write_bytes(encoded(suffix, seed))
        data = encoded(suffix, seed)
        (tmp_path / f"1{seed}-cut.{suffix}").write_bytes(data[: len(data) // 2])
        (tmp_path / f"1{seed}-header.{suffix}").write_bytes(data[:11])
    for n, (name, (data, _)) in enumerate(BAD.items()):
        (tmp_path / f"1{n}-bad-{name}").write_bytes(data)
    return tmp_path


def is_good(key: str) -> bool:
    return "-good" in key


def test_good_pictures_come_and_bad_ones_are_named(folder):
    names = sorted(os.listdir(folder))
    bad = [name for name in names if not is_good(name)]
    assert len(bad) == 2 * len(FORMATS) + len(BAD)
    pictures = hr.files(f"{folder}/*").decode_image().center_crop(SIZE[::-1]).batch(4)
    with pictures.loader(epochs=2, on_error="skip", max_errors=2 * len(bad)) as loader:
        for _ in range(2):
            seen = []
            for batch in loader:
                for key, image in zip(batch["key"], batch["image"]):
                    seen.append(os.path.basename(key))
                    with Image.open(key) as theirs:
                        tolerance = 2 if key.endswith("jpg") else 0
                        assert difference(image, np.asarray(theirs.convert("RGB"))) <= tolerance, key
            assert seen == [name for name in names if is_good(name)]
        assert sorted(os.path.basename(e.key) for e in loader.errors) == sorted(2 * bad)
        for lost in loader.errors:
            name = os.path.basename(lost.key)
            assert "decode_image" in lost.stage
            assert "media: " in lost.error
            for end, (_, words) in BAD.items():
                if name.endswith(f"-bad-{end}"):
                    assert words in lost.error, name
            if "-header" in name or "-cut" in name:
                assert "truncated" in lost.error or "corrupt" in lost.error, (name, lost.error)


def test_odd_names(tmp_path):
    """Names are bytes, which keys keep; what a name looks like is not looked at."""
    names = [
        "a b.png",
        "-rf.png",
        "new\nline.png",
        'quote".png',
        "tab\t.png",
        "ünïcödé.png",
        "x" * 251 + ".png",
        "a..png",
        "%2e%2e%2f.png",
        "$(id).png",
    ]
    for seed, name in enumerate(names):
        (tmp_path / name).write_bytes(encoded("png", seed))
    not_utf8 = os.fsencode(tmp_path) + b"/\xff\xfe.png"
    Path(os.fsdecode(not_utf8)).write_bytes(encoded("png", 90))
    with hr.files(f"{tmp_path}/*").decode_image().center_crop(8).batch(3).loader(epochs=1) as loader:
        keys = [key for batch in loader for key in batch["key"]]
    assert sorted(os.path.basename(os.fsencode(key)) for key in keys) == sorted([*map(os.fsencode, names), b"\xff\xfe.png"])


def test_links_and_what_is_no_file(tmp_path):
    """Links are followed; a circle, a dangling link, a pipe and a device are bad samples, and nobody waits for them."""
    good = tmp_path / "good.png"
    good.write_bytes(encoded("png", 1))
    (tmp_path / "link.png").symlink_to(good)
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    (tmp_path / "tty.png").symlink_to("/dev/stdin")
    os.mkfifo(tmp_path / "pipe.png")
    bad = ["dangling.png", "pipe.png", "tty.png", "zero.png"]
    with (
        hr.files([tmp_path / name for name in ["good.png", "link.png", *bad]])
        .decode_image()
        .center_crop(8)
        .batch(1)
        .loader(epochs=1, on_error="skip", max_errors=10) as loader
    ):
        keys = [os.path.basename(key) for batch in loader for key in batch["key"]]
        assert keys == ["good.png", "link.png"]
        assert sorted(os.path.basename(e.key) for e in loader.errors) == bad


@pytest.mark.parametrize("suffix", ["png", "webp", "jpg"])
def test_a_crash_in_the_decoder_of_any_format(tmp_path, monkeypatch, suffix):
    assert DEBUG_ENGINE.is_file(), "scripts/build.sh debug builds it"
    monkeypatch.setenv("HEADRACE_ENGINE", str(DEBUG_ENGINE))
    for n in range(8):
        (tmp_path / f"{n}.{suffix}").write_bytes(encoded(suffix, n))
    monkeypatch.setenv("HEADRACE_TEST_CRASH", f"5.{suffix}")
    with hr.files(f"{tmp_path}/*").decode_image().center_crop(8).batch(1).loader(epochs=1, on_error="skip", workers=2) as loader:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            keys = [os.path.basename(key) for batch in loader for key in batch["key"]]
        assert keys == [f"{n}.{suffix}" for n in range(8) if n != 5]
        assert [os.path.basename(e.key) for e in loader.errors] == [f"5.{suffix}"]

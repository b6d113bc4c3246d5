"""Random small valid images of every format that is decoded, as encoders with all their options write them."""

from __future__ import annotations

import io
import random
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "BMP": "bmp", "TIFF": "tif", "WEBP": "webp", "AVIF": "avif"}


def made(draw: random.Random) -> tuple[str, bytes]:
    """A file and its format."""
    form = draw.choice(list(EXTENSIONS))
    own = {"PNG": own_png, "BMP": own_bmp}
    if form in own and draw.random() < 0.6:
        return form, own[form](draw)
    buffer = io.BytesIO()
    image, options = PILLOW[form](draw)
    orientation = draw.randint(0, 9)
    if draw.random() < 0.2 and form in ("JPEG", "PNG", "WEBP", "AVIF"):
        exif = Image.Exif()
        exif[0x112] = orientation
        options["exif"] = exif
    elif draw.random() < 0.2 and form == "TIFF":
        options["tiffinfo"] = {274: min(max(orientation, 1), 8)}
    image.save(buffer, form, **options)
    return form, buffer.getvalue()


def pixels(draw: random.Random, mode: str) -> Image.Image:
    """Noise, a gradient or one colour."""
    width, height = draw.choice([(1, 1), (draw.randint(1, 9), draw.randint(1, 9)), (draw.randint(1, 90), draw.randint(1, 90))])
    channels = len(Image.new(mode, (1, 1)).getbands())
    rng = np.random.default_rng(draw.getrandbits(32))
    kind = draw.random()
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, (height, width), dtype=np.uint16))
    if kind < 0.4:
        values = rng.integers(0, 256, (height, width, channels))
    elif kind < 0.9:
        y, x = np.mgrid[:height, :width]
        values = np.stack([x * rng.integers(0, 9) + y * rng.integers(0, 9) + rng.integers(0, 256) for _ in range(channels)], -1) % 256
    else:
        values = np.full((height, width, channels), rng.integers(0, 256, channels))
    array = values.astype(np.uint8)
    if mode == "1":
        return Image.fromarray(array[:, :, 0] > 127)
    if mode == "P":
        image = Image.fromarray(array[:, :, 0] % draw.choice([2, 4, 16, 200]), "P")
        image.putpalette(rng.integers(0, 256, 768, dtype=np.uint8).tobytes())
        return image
    return Image.fromarray(array.squeeze(-1) if channels == 1 else array, mode)


def jpeg(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    options: dict[str, Any] = {"quality": draw.choice([1, 30, 75, 95, 100]), "subsampling": draw.randint(0, 2)}
    options |= {"progressive": draw.random() < 0.4, "optimize": draw.random() < 0.4}
    if draw.random() < 0.4:
        options[draw.choice(["restart_marker_blocks", "restart_marker_rows"])] = draw.randint(1, 9)
    if draw.random() < 0.2:
        options["comment"] = draw.randbytes(draw.randint(0, 300))
    return pixels(draw, draw.choice(["L", "RGB", "RGB", "CMYK"])), options


def png(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    mode = draw.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
    options: dict[str, Any] = {"compress_level": draw.randint(0, 9)}
    if mode == "P":
        options["transparency"] = draw.choice([draw.randint(0, 1), bytes(draw.choices(range(256), k=draw.randint(1, 2)))])
    return pixels(draw, mode), options


def gif(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    options: dict[str, Any] = {"interlace": draw.randint(0, 1)}
    image = pixels(draw, draw.choice(["1", "L", "P"]))
    if draw.random() < 0.3:
        options["transparency"] = draw.randint(0, 1)
    if draw.random() < 0.3:
        options |= {"save_all": True, "append_images": [image.rotate(180)], "disposal": draw.randint(0, 2), "duration": 40}
    return image, options


def bmp(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    return pixels(draw, draw.choice(["1", "L", "P", "RGB", "RGBA"])), {}


def tiff(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    mode = draw.choice(["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
    codecs = [None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "lzma", "zstd"] + ["group3", "group4"] * (mode == "1")
    options: dict[str, Any] = {"compression": draw.choice(codecs), "big_tiff": draw.random() < 0.2}
    if options["compression"]:
        options["strip_size"] = draw.choice([65536, 300])
    return pixels(draw, mode), options


def webp(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    options: dict[str, Any] = {"lossless": draw.random() < 0.5, "quality": draw.randint(0, 100), "method": draw.randint(0, 4)}
    return pixels(draw, draw.choice(["L", "RGB", "RGBA"])), options | {"exact": draw.random() < 0.5}


def avif(draw: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    return pixels(draw, draw.choice(["L", "RGB", "RGBA"])), {"quality": draw.randint(40, 100), "subsampling": "4:4:4", "speed": 10}


PILLOW = {"JPEG": jpeg, "PNG": png, "GIF": gif, "BMP": bmp, "TIFF": tiff, "WEBP": webp, "AVIF": avif}


def own_png(draw: random.Random) -> bytes:
    """Depths, filters and chunks that Pillow does not write."""
    color, depth = draw.choice(
        [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]
    )
    width, height = draw.randint(1, 40), draw.randint(1, 40)
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    interlaced = draw.random() < 0.4
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    raw = b""
    for left, top, across, down in passes:
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        for _ in range(rows if columns > 0 else 0):
            raw += bytes([draw.randint(0, 4)]) + draw.randbytes((columns * bits + 7) // 8)
    chunks = b""
    if color == 3:
        chunks += chunk(b"PLTE", draw.randbytes(3 << depth))
    if color == 3 and draw.random() < 0.4:
        chunks += chunk(b"tRNS", draw.randbytes(draw.randint(1, 1 << depth)))
    if draw.random() < 0.3:
        chunks += chunk(b"tEXt", b"Comment\0made for a test")
    if draw.random() < 0.3:
        chunks += chunk(b"gAMA", struct.pack(">I", 45455))
    data = zlib.compress(raw, draw.randint(0, 9))
    cut = draw.randint(0, len(data))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunks
        + chunk(b"IDAT", data[:cut])
        + chunk(b"IDAT", data[cut:])
        + chunk(b"IEND", b"")
    )


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def own_bmp(draw: random.Random) -> bytes:
    """Every header, depth, number of colours and offset."""
    header = draw.choice([12, 40, 40, 52, 56, 64, 108, 124])
    bits = draw.choice([1, 4, 8, 24] if header == 12 else [1, 4, 8, 16, 24, 32])
    width, height = draw.randint(1, 40), draw.randint(1, 40)
    flip = header > 12 and draw.random() < 0.3
    colors = draw.choice([0, 1 << bits, draw.randint(2, 1 << bits)]) if bits <= 8 and header > 12 else 0
    palette = draw.randbytes((3 if header == 12 else 4) * (colors or 1 << bits)) if bits <= 8 else b""
    masks = struct.pack("<3I", 0xF800, 0x7E0, 0x1F) if bits == 16 and header in (40, 52, 56, 108, 124) and draw.random() < 0.5 else b""
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        compression = 3 if masks else 0
        info = struct.pack("<IiiHHIIiiII", header, width, -height if flip else height, 1, bits, compression, 0, 2835, 2835, colors, 0)
        info = (info + (masks if header > 40 else b"")).ljust(header, b"\0")
    tables = palette or (masks if header == 40 else b"")
    rows = (width * bits + 31) // 32 * 4 * height
    body = draw.randbytes(rows)
    if bits <= 8 and colors:  # indexes of colours that are there
        body = indexes(body, bits, colors)
    start = 14 + header
    gap = draw.choice([0, 0, 8])
    offset = draw.choice([0, start]) if palette and not gap and draw.random() < 0.4 else start + len(tables) + gap
    whole = start + len(tables) + gap + rows
    return b"BM" + struct.pack("<IHHI", whole, 0, 0, offset) + info + tables + bytes(gap) + body


def indexes(body: bytes, bits: int, colors: int) -> bytes:
    if colors >= 1 << bits:
        return body
    values = np.unpackbits(np.frombuffer(body, np.uint8)).reshape(-1, bits)
    numbers = (values @ (1 << np.arange(bits)[::-1])) % colors
    return np.packbits(((numbers[:, None] >> np.arange(bits)[::-1]) & 1).astype(np.uint8)).tobytes()

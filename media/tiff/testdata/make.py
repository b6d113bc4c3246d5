"""Makes the files of this folder with Pillow, libtiff's tools (tiffcp), and by hand. Run it again only for other files.

python make.py
"""

import io
import pathlib
import struct
import subprocess
import tempfile
import zlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT = 37, 29


def smooth(channels: int, most: int = 255) -> np.ndarray:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    planes = [(x * (3 + c) + y * (5 - c) + (x * y * 31 + c * 7) % 13) % 256 for c in range(channels)]
    return (np.stack(planes, axis=-1) * most // 255).squeeze()


def by_pillow() -> None:
    rgb = Image.fromarray(smooth(3).astype(np.uint8))
    rgba = Image.fromarray(smooth(4).astype(np.uint8))
    gray = rgb.convert("L")
    saved = {
        "pillow-jpeg": (rgb, {"compression": "jpeg", "quality": 90}),
        "pillow-jpeg-gray": (gray, {"compression": "jpeg"}),
        "pillow-lzma": (rgb, {"compression": "lzma"}),
        "pillow-zstd": (rgb, {"compression": "zstd"}),
        "pillow-big": (rgb, {"big_tiff": True}),
        "pillow-big-deflate": (rgba, {"big_tiff": True, "compression": "tiff_adobe_deflate"}),
        "pillow-cmyk": (rgb.convert("CMYK"), {}),
        "pillow-cmyk-lzw": (rgb.convert("CMYK"), {"compression": "tiff_lzw"}),
        "pillow-la": (rgba.convert("LA"), {}),
        "pillow-float": (Image.fromarray(smooth(1).astype(np.float32) * 1.5 - 40), {}),
        "pillow-int32": (Image.fromarray(smooth(1).astype(np.int32) * 2 - 40), {"compression": "tiff_lzw"}),
        "pillow-ccitt": (rgb.convert("1"), {"compression": "tiff_ccitt"}),
        "pillow-packbits": (rgb.convert("P"), {"compression": "packbits"}),
        "pillow-big-endian-16": (Image.fromarray(smooth(1, 65535).astype(">u2")), {}),
        "pillow-ycbcr": (rgb.convert("YCbCr"), {"compression": "tiff_lzw"}),
    }
    for name, (img, options) in saved.items():
        img.save(HERE / f"{name}.tif", **options)


def by_tiffcp() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        kinds = {
            "rgb": by_hand(smooth(3).astype(np.uint8), 8, 2),
            "rgba": by_hand(smooth(4).astype(np.uint8), 8, 2, extra=2),
            "gray": by_hand(smooth(1).astype(np.uint8), 8, 1),
            "cmyk": by_hand(smooth(4).astype(np.uint8), 8, 5),
            "rgb16": by_hand(smooth(3, 65535).astype(np.uint16), 16, 2),
            "gray16": by_hand(smooth(1, 65535).astype(np.uint16), 16, 1),
            "gray4": by_hand(smooth(1, 15), 4, 1),
            "gray2": by_hand(smooth(1, 3), 2, 1),
            "bits": by_hand(smooth(1, 1), 1, 0),
            "palette": by_hand(smooth(1, 15), 4, 3),
        }
        for name, data in kinds.items():
            (made / name).write_bytes(data)
        for name, kind, options in (
            ("planar", "rgb", "-p separate"),
            ("planar-strips", "rgb", "-p separate -r 5 -c lzw:2"),
            ("planar-tiles", "rgb", "-p separate -t -w 16 -l 16 -c zip"),
            ("planar-jpeg", "rgb", "-p separate -c jpeg:r"),
            ("planar-rgba", "rgba", "-p separate"),
            ("planar-cmyk", "cmyk", "-p separate -c packbits"),
            ("tiles", "rgb", "-t -w 16 -l 16"),
            ("tiles-larger", "rgb", "-t -w 64 -l 48 -c lzw"),
            ("tiles-jpeg", "rgb", "-t -w 32 -l 16 -c jpeg:90"),
            ("tiles-4-bits", "gray4", "-t -w 16 -l 16 -c zip"),
            ("tiles-1-bit", "bits", "-t -w 32 -l 32 -c g4"),
            ("tiles-16", "gray16", "-t -w 16 -l 16 -c zip:2"),
            ("jpeg-ycbcr", "rgb", "-c jpeg:80 -r 16"),
            ("jpeg-rgb", "rgb", "-c jpeg:r"),
            ("jpeg-gray", "gray", "-c jpeg"),
            ("jpeg-cmyk", "cmyk", "-c jpeg:r"),
            ("lzma", "rgb", "-c lzma:2:p6"),
            ("zstd", "rgb16", "-c zstd:2"),
            ("big", "rgb", "-8 -c lzw"),
            ("big-endian", "rgb16", "-B -c zip:2"),
            ("reversed-fax", "bits", "-f lsb2msb -c g4"),
            ("reversed-lzw", "rgb", "-f lsb2msb -c lzw"),
            ("fax-1d", "bits", "-c g3:1d"),
            ("fax-2d", "bits", "-c g3:2d:fill -r 8"),
            ("2-bits", "gray2", "-c lzw"),
            ("4-bits", "gray4", "-c packbits"),
            ("palette-4-bits", "palette", "-c zip"),
            ("deflate", "rgba", "-c zip:2 -r 7"),
        ):
            subprocess.run(["tiffcp", *options.split(), made / kind, HERE / f"tiffcp-{name}.tif"], check=True)


def packed(pixels: np.ndarray, bits: int, order: str) -> bytes:
    if bits >= 8 and bits != 12:
        return pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    rows = pixels.reshape(HEIGHT, -1).astype(np.uint16)
    each = (rows[..., None] >> np.arange(bits - 1, -1, -1)) & 1
    return np.packbits(each.reshape(HEIGHT, -1).astype(np.uint8), axis=1).tobytes()


def by_hand(pixels: np.ndarray, bits: int, photometric: int, *, extra: int | None = None, format: int = 1, order: str = "<", more=(), data: bytes = b"") -> bytes:
    """A TIFF of one strip, without compression."""
    samples = pixels.shape[2] if pixels.ndim == 3 else 1
    data = data or packed(pixels, bits, order)
    tags = {256: (4, [WIDTH]), 257: (4, [HEIGHT]), 258: (3, [bits] * samples), 259: (3, [1]), 262: (3, [photometric]), 273: (4, [8]),
            277: (3, [samples]), 278: (4, [HEIGHT]), 279: (4, [len(data)]), 339: (3, [format] * samples)}  # fmt: skip
    if extra is not None:
        tags[338] = (3, [extra] * (samples - {1: 1, 2: 3, 5: 4}[photometric]))
    if photometric == 3:
        tags[320] = (3, [(i * 4099 + 77) % 65536 for i in range(3 << bits)])
    tags.update(more)
    return joined(data, tags, order)


def joined(data: bytes, tags: dict, order: str = "<") -> bytes:
    data += bytes(len(data) % 2)
    at = 8 + len(data)
    end = at + 2 + 12 * len(tags) + 4
    entries, values = b"", b""
    for tag, (kind, numbers) in sorted(tags.items()):
        b = struct.pack(f"{order}{len(numbers)}{'?BsHI'[kind]}", *numbers)
        entries += struct.pack(f"{order}HHI", tag, kind, len(numbers))
        entries += b.ljust(4, b"\0") if len(b) <= 4 else struct.pack(f"{order}I", end + len(values))
        values += b if len(b) > 4 else b""
    magic = {"<": b"II", ">": b"MM"}[order]
    return magic + struct.pack(f"{order}HI", 42, at) + data + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + values


def made_by_hand() -> None:
    u8, u16 = np.uint8, np.uint16
    for name, data in {
        "12-bits": by_hand(smooth(1, 4095), 12, 1),
        "16-bits-white-is-zero": by_hand(smooth(1, 65535).astype(u16), 16, 0),
        "16-bits-signed": by_hand((smooth(1).astype(np.int16) * 3 - 200), 16, 1, format=2),
        "1-bit-black-is-zero": by_hand(smooth(1, 1), 1, 1),
        "2-bits-white-is-zero": by_hand(smooth(1, 3), 2, 0),
        "4-bits-white-is-zero": by_hand(smooth(1, 15), 4, 0),
        "8-bits-white-is-zero": by_hand(smooth(1).astype(u8), 8, 0),
        "palette-1-bit": by_hand(smooth(1, 1), 1, 3),
        "palette-2-bits": by_hand(smooth(1, 3), 2, 3),
        "palette-8-bits": by_hand(smooth(1).astype(u8), 8, 3),
        "rgb-one-unused": by_hand(smooth(4).astype(u8), 8, 2, extra=0),
        "rgb-three-unused": by_hand(smooth(6).astype(u8), 8, 2, extra=0),
        "rgba-unsaid": by_hand(smooth(4).astype(u8), 8, 2),
        "rgba-multiplied": by_hand(smooth(4).astype(u8), 8, 2, extra=1),
        "rgba-16-multiplied": by_hand(smooth(4, 65535).astype(u16), 16, 2, extra=1),
        "rgba-16": by_hand(smooth(4, 65535).astype(u16), 16, 2, extra=2, order=">"),
        "gray-unused": by_hand(smooth(2).astype(u8), 8, 1, extra=0),
        "cmyk-unused": by_hand(smooth(5).astype(u8), 8, 5, extra=0),
        "cmyk-16": by_hand(smooth(4, 65535).astype(u16), 16, 5),
        "float-big-endian": by_hand(smooth(1).astype(np.float32) * 1.3 - 20, 32, 1, format=3, order=">"),
        "planar-16": planar(smooth(3, 65535).astype(u16)),
        "old-jpeg": old_jpeg(),
    }.items():
        (HERE / f"hand-{name}.tif").write_bytes(data)


def planar(pixels: np.ndarray) -> bytes:
    """Planes of 16 bits, each a strip. Pillow reads them wrong unless they are compressed."""
    planes = [zlib.compress(p.tobytes()) for p in pixels.transpose(2, 0, 1)]
    at = [8 + sum(map(len, planes[:i])) for i in range(len(planes))]
    return by_hand(pixels, 16, 2, more={259: (3, [8]), 273: (4, at), 279: (4, [len(p) for p in planes]), 284: (3, [2])}, data=b"".join(planes))


def old_jpeg() -> bytes:
    """The JPEG of before 1995: a whole JPEG file beside the directory."""
    out = io.BytesIO()
    Image.fromarray(smooth(3).astype(np.uint8)).save(out, "JPEG", quality=90, subsampling=2)
    jpeg = out.getvalue()
    tags = {256: (4, [WIDTH]), 257: (4, [HEIGHT]), 258: (3, [8, 8, 8]), 259: (3, [6]), 262: (3, [6]), 273: (4, [8]), 277: (3, [3]), 278: (4, [HEIGHT]),
            279: (4, [len(jpeg)]), 512: (3, [1]), 513: (4, [8]), 514: (4, [len(jpeg)]), 530: (3, [2, 2])}  # fmt: skip
    return joined(jpeg, tags)


if __name__ == "__main__":
    by_pillow()
    by_tiffcp()
    made_by_hand()

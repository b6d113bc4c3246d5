"""What image files say beside pixels: EXIF, GPS, orientation and the ICC profile."""

from __future__ import annotations

import os
import re
import struct
import zlib
from fractions import Fraction
from struct import Struct, unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MediaError
from .bytes_of import all_of, bad, regular, view_of
from .stored import is_stored, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .kinds import Array, Path, Readable

_MOST = 16 << 20  # bytes of all values together, and of a profile; those of cameras have some KB
_PLACES = 1 << 16  # in which items are, each of any number of pieces; usually one of each item
_JPEG_ICC, _JPEG_EXIF, _JPEG_XMP = b"ICC_PROFILE\0", b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
_ORIENTATION = re.compile(rb"tiff:Orientation(?:=[\"']|>)\s*([1-8])\b")
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_NUMBERS = {3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I"}
_EXIF, _GPS = 0x8769, 0x8825


class ImageMetadata(NamedTuple):
    """What an image file says beside its pixels."""

    format: str
    """`"jpeg"`, `"png"`, `"webp"`, `"tiff"`, `"avif"` or `"heic"`."""
    orientation: int
    """From 1, upright, to 8, by EXIF or else XMP. `load_image` has applied it, unless `orient=False`; an AVIF is turned by its boxes."""
    tags: dict[int, Any]
    """The tags of the image by number, as Pillow's `getexif()` has them: 271 is the maker, 306 the date."""
    exif: dict[int, Any]
    """Those of the photograph, as Pillow's `getexif().get_ifd(0x8769)`: 33434 is the exposure time."""
    gps: dict[int, Any]
    """Those of its place, as Pillow's `getexif().get_ifd(0x8825)`."""
    exif_bytes: bytes
    """EXIF as it is in the file, from its TIFF header on; empty if there is none, and of TIFF, which is EXIF itself."""
    icc_profile: bytes
    """The ICC profile; empty if there is none."""


def image_metadata(src: Path | bytes | bytearray | memoryview | Array | Readable) -> ImageMetadata:
    """Read what an image file says beside its pixels: EXIF, place, orientation and ICC profile, without decoding it.

        about = hr.io.image_metadata("cat.jpg")
        print(about.orientation, about.tags.get(306), about.exif.get(33434))  # date, exposure time

    Values are numbers, `Fraction` (NaN if the denominator is 0), `str` or bytes, and tuples of several.

    Args:
        src: a path or a name such as `s3://bucket/cat.jpg`, bytes, or an object with `read()`: JPEG, PNG, WebP, TIFF, AVIF or HEIC.

    Raises:
        MediaError: if it is another format, or its metadata is damaged.
        OSError: if the file cannot be read.
    """
    name = "image_metadata"
    if is_stored(src):
        view, about = stored(name, src)
        return _read(view, name, about)
    if isinstance(src, (str, os.PathLike)):
        import mmap

        with regular(name, src) as (file, about):
            if not os.fstat(file.fileno()).st_size:
                raise bad(name, about, "the file is empty")
            # Closed with its last view: the traceback of an error has some.
            return _read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), name, about)
    view_or_none = view_of(src)
    return _read(memoryview(all_of(name, src)) if view_or_none is None else view_or_none, name, "")


image_metadata.__module__ = ImageMetadata.__module__ = "headrace.io"


class _Damaged(MediaError):
    """Its reason, before anything names the file."""


class _Found:
    """Where metadata is."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.exif: Any = b""
        self.xmp: Any = b""
        self.icc = b""


def _read(view: memoryview, name: str, about: str) -> ImageMetadata:
    try:
        return _parse(view, name, about)
    except struct.error as error:  # a number is beyond the end
        raise bad(name, about, "its metadata is damaged: it is cut off") from error
    except (_Damaged, IndexError, zlib.error) as error:
        raise bad(name, about, f"its metadata is damaged: {error}") from error


def _parse(view: memoryview, name: str, about: str) -> ImageMetadata:
    head = bytes(view[:16])
    if head[:2] == b"\xff\xd8":
        found = _jpeg(view)
    elif head[:8] == b"\x89PNG\r\n\x1a\n":
        found = _png(view)
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        found = _webp(view)
    elif head[:4] in (b"II*\0", b"MM\0*"):
        found = _Found("tiff")
        found.exif = view
    elif head[4:8] == b"ftyp":
        found = _heif(view)
    else:
        raise bad(name, about, "it is none of JPEG, PNG, WebP, TIFF, AVIF and HEIC, which have metadata")
    found.exif = _from_header(found.exif)
    reader = _Tags(found.exif) if found.exif else None
    tags = reader.directory(reader.first) if reader else {}
    exif, gps = ({} if reader is None or not isinstance(tags.get(n), int) else reader.directory(tags[n]) for n in (_EXIF, _GPS))
    stated = _ORIENTATION.search(found.xmp)
    orientation = int(stated[1]) if stated else 1
    told = tags.get(274)
    if isinstance(told, tuple) and told:  # load_image goes by the first
        told = told[0]
    if isinstance(told, int):
        orientation = told if 1 <= told <= 8 else 1
    icc = found.icc
    if found.format == "tiff" and isinstance(tags.get(34675), bytes):
        icc = tags[34675]
    raw = b"" if found.format == "tiff" else bytes(found.exif)
    return ImageMetadata(found.format, orientation, tags, exif, gps, raw, icc)


def _from_header(exif: Any) -> Any:
    """EXIF from its TIFF header on. Outside JPEG some programs write JPEG's prefix too, and hostile ones write nothing else."""
    at = 0
    while exif[at : at + len(_JPEG_EXIF)] == _JPEG_EXIF:
        at += len(_JPEG_EXIF)
    return exif[at:]


def _jpeg(view: memoryview) -> _Found:
    found, at, parts = _Found("jpeg"), 2, {}
    while at + 4 <= len(view):
        if view[at] != 0xFF:
            raise _Damaged(f"there is no marker at byte {at}")
        marker = view[at + 1]
        if marker == 0xFF:  # fill
            at += 1
            continue
        if marker in (0xD9, 0xDA):
            break
        if marker == 1 or 0xD0 <= marker <= 0xD8:
            at += 2
            continue
        size = int.from_bytes(view[at + 2 : at + 4], "big")
        body = view[at + 4 : at + 2 + size]
        if size < 2 or len(body) < size - 2:
            raise _Damaged("a segment is cut off")
        if marker == 0xE1 and body[:6] == _JPEG_EXIF and not found.exif:
            found.exif = body[6:]
        elif marker == 0xE1 and bytes(body[: len(_JPEG_XMP)]) == _JPEG_XMP and not found.xmp:
            found.xmp = bytes(body[len(_JPEG_XMP) :])
        elif marker == 0xE2 and bytes(body[:12]) == _JPEG_ICC and len(body) > 14:
            parts[body[12]] = bytes(body[14:])
        at += 2 + size
    found.icc = b"".join(parts[i] for i in sorted(parts))
    return found


def _png(view: memoryview) -> _Found:
    found, at = _Found("png"), 8
    while at + 12 <= len(view):
        size, kind = int.from_bytes(view[at : at + 4], "big"), bytes(view[at + 4 : at + 8])
        body = view[at + 8 : at + 8 + size]
        if len(body) < size:
            raise _Damaged(f"the chunk {kind!r} is cut off")
        if kind == b"eXIf":
            found.exif = body
        elif kind == b"iCCP" and not found.icc:  # there is one; inflated, each may have a thousand times its bytes
            _, _, rest = bytes(body[:_MOST]).partition(b"\0")
            found.icc = _inflated(rest[1:])
        elif kind == b"iTXt" and bytes(body[:18]) == b"XML:com.adobe.xmp\0" and len(body) > 20 and not found.xmp:
            text = bytes(body[20:]).split(b"\0", 2)[-1]
            found.xmp = _inflated(text) if body[18] else text
        elif kind == b"IEND":
            break
        at += 12 + size
    return found


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    out = stream.decompress(data, _MOST)
    if not stream.eof:
        raise _Damaged("what is compressed is cut off, or too large")
    return out


def _webp(view: memoryview) -> _Found:
    found, at = _Found("webp"), 12
    while at + 8 <= len(view):
        kind, size = bytes(view[at : at + 4]), int.from_bytes(view[at + 4 : at + 8], "little")
        body = view[at + 8 : at + 8 + size]
        if len(body) < size and kind in (b"EXIF", b"ICCP", b"XMP "):
            raise _Damaged(f"the chunk {kind!r} is cut off")
        if kind == b"EXIF":
            found.exif = body
        elif kind == b"ICCP":
            found.icc = bytes(body[:_MOST])
        elif kind == b"XMP ":
            found.xmp = bytes(body[:_MOST])
        at += 8 + size + size % 2
    return found


def _boxes(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    at = 0
    while at + 8 <= len(view):
        size, head = int.from_bytes(view[at : at + 4], "big"), 8
        kind = bytes(view[at + 4 : at + 8])
        if size == 1:
            size, head = int.from_bytes(view[at + 8 : at + 16], "big"), 16
        if size == 0:
            size = len(view) - at
        if size < head or size > len(view) - at:
            if kind == b"mdat":
                return  # the image is cut off
            raise _Damaged(f"the box {kind!r} is cut off")
        yield kind, view[at + head : at + size]
        at += size


def _heif(view: memoryview) -> _Found:
    brands = bytes(view[8 : min(len(view), max(16, int.from_bytes(view[:4], "big")))])
    found = _Found("avif" if b"avif" in brands or b"avis" in brands else "heic")
    meta = next((body[4:] for kind, body in _boxes(view) if kind == b"meta"), None)
    if meta is None:
        raise _Damaged("it has no box 'meta', so it is not an image")
    kinds: dict[int, bytes] = {}
    places: dict[int, list[tuple[int, int, int]]] = {}
    inside: Any = b""
    for kind, body in _boxes(meta):
        if kind == b"iinf":
            wide = body[0] > 0
            for entry, info in _boxes(body[8:] if wide else body[6:]):
                if entry == b"infe" and info[0] >= 2:
                    n = 2 if info[0] == 2 else 4
                    kinds[int.from_bytes(info[4 : 4 + n], "big")] = bytes(info[6 + n : 10 + n])
        elif kind == b"iloc" and not places:  # there is one, and each may have 65,536 places in a few bytes
            places = _places(body)
        elif kind == b"idat":
            inside = body
        elif kind == b"iprp":
            found.icc = _profile(body)
    left = _MOST
    for number, kind in kinds.items():
        if kind not in (b"Exif", b"mime") or number not in places:
            continue
        parts = []
        for method, at, size in places[number]:
            whole = inside if method == 1 else view
            parts.append(bytes(whole[at : at + min(size or left, left)]))
            left -= len(parts[-1])
        data = b"".join(parts)
        if kind == b"Exif" and len(data) > 4:
            found.exif = data[4 + int.from_bytes(data[:4], "big") :]
        elif kind == b"mime":
            found.xmp = data
    return found


def _places(body: memoryview) -> dict[int, list[tuple[int, int, int]]]:
    version, sizes = body[0], (body[4] >> 4, body[4] & 15, body[5] >> 4, body[5] & 15 if body[0] else 0)
    at = 6

    def number(n: int) -> int:
        nonlocal at
        if at + n > len(body):
            raise _Damaged("places are cut off")
        at += n
        return int.from_bytes(body[at - n : at], "big")

    places = {}
    count = 0
    for _ in range(number(4 if version == 2 else 2)):
        item = number(4 if version == 2 else 2)
        method = number(2) & 15 if version else 0
        number(2)
        base = number(sizes[2])
        extents = []
        extents_of = number(2)
        count += extents_of
        if count > _PLACES:
            raise _Damaged(f"its items are in more than {_PLACES:,} places")
        for _ in range(extents_of):
            number(sizes[3])
            offset = number(sizes[0])
            extents.append((method, base + offset, number(sizes[1])))
        places[item] = extents
    return places


def _profile(body: memoryview) -> bytes:
    for kind, properties in _boxes(body):
        if kind == b"ipco":
            for one, value in _boxes(properties):
                if one == b"colr" and bytes(value[:4]) in (b"prof", b"rICC"):
                    return bytes(value[4 : 4 + _MOST])
    return b""


class _Tags:
    """The directories of a TIFF structure."""

    def __init__(self, data: Any) -> None:
        self._data = memoryview(data)
        head = bytes(self._data[:4])
        if head not in (b"II*\0", b"MM\0*"):
            raise _Damaged("EXIF does not begin as TIFF")
        self._order = "<" if head[:2] == b"II" else ">"
        self._entry = Struct(self._order + "HHI4s")
        (self.first,) = unpack_from(self._order + "I", self._data, 4)
        self._left = _MOST

    def directory(self, at: int) -> dict[int, Any]:
        """The tags of a directory. Those whose values are outside are left out, as other readers do."""
        (count,) = unpack_from(self._order + "H", self._data, at)
        tags = {}
        for i in range(count):
            place = at + 2 + 12 * i
            if place + 12 > len(self._data):
                break
            tag, kind, n, inline = self._entry.unpack_from(self._data, place)
            size = _SIZES.get(kind, 0) * n
            if not size:
                continue
            if size <= 4:
                value = inline[:size]
            else:
                (begin,) = unpack_from(self._order + "I", inline)
                if begin + size > len(self._data):
                    continue
                self._left -= size
                if self._left < 0:
                    raise _Damaged(f"its tags have more than {_MOST:,} bytes")
                value = bytes(self._data[begin : begin + size])
            tags[tag] = self._value(kind, n, value)
        return tags

    def _value(self, kind: int, n: int, data: bytes) -> Any:
        if kind == 2:
            text = data.rstrip(b"\0")
            try:
                return text.decode()
            except UnicodeDecodeError:
                return text.decode("latin-1")
        if kind in (1, 7):
            return data
        if kind in (5, 10):
            pairs = unpack_from(f"{self._order}{2 * n}{'I' if kind == 5 else 'i'}", data)
            values: tuple[Any, ...] = tuple(Fraction(a, b) if b else float("nan") for a, b in zip(pairs[::2], pairs[1::2], strict=True))
        else:
            values = unpack_from(f"{self._order}{n}{_NUMBERS[kind]}", data)
        return values[0] if n == 1 else values

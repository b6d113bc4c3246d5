"""The directory of an archive: what is in it, and where.

`zipfile` reads any, and takes longer for that than small arrays take to be read. Here is what NumPy writes; whatever else there is, and
what is wrong with it, is `zipfile`'s to say.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .bytes_of import Bytes, File


_END = Struct("<4s4H2IH")
_ENTRY = Struct("<4s6H3I5H2I")
_LARGE = 0xFFFFFFFF  # the number is elsewhere
_MOST = 0xFFFF
_NEWEST = 45  # of the format, in tenths: what it takes to read NumPy's archives


class Member(NamedTuple):
    """A file of an archive, with the names that `zipfile.ZipInfo` has."""

    filename: str
    flag_bits: int
    compress_type: int
    CRC: int
    compress_size: int
    file_size: int
    header_offset: int


def plain_directory(source: Bytes | File, size: int) -> list[Member] | None:
    """What is in an archive of so many bytes; None: it is for `zipfile` to read."""
    if size < _END.size:
        return None
    end: Any = source.at(size - _END.size, _END.size)
    if len(end) < _END.size:
        return None
    mark, disk, first_disk, here, count, length, begin, comment = _END.unpack(end)
    at_end = begin + length == size - _END.size  # neither anything before the archive, nor numbers of 64 bits
    if mark != b"PK\5\6" or disk or first_disk or here != count or count == _MOST or comment or not at_end:
        return None
    directory = bytes(source.at(begin, length))
    members = []
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(directory):
            return None
        entry = _ENTRY.unpack_from(directory, at)
        mark, _, needs, flags, method, _, _, crc, packed, expanded, name_size, extra_size, comment_size, disk, _, _, offset = entry
        at += _ENTRY.size
        name = directory[at : at + name_size]
        at += name_size + extra_size + comment_size
        if mark != b"PK\1\2" or needs > _NEWEST or disk or _LARGE in (packed, expanded, offset) or not name.isascii() or b"\0" in name:
            return None
        members.append(Member(name.decode("ascii"), flags, method, crc, packed, expanded, offset))
    return members if at == len(directory) else None

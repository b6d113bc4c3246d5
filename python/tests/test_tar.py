"""Going through tar files, beside Python's tarfile."""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import tarfile

import pytest

import headrace as hr


def packed(members, format=tarfile.PAX_FORMAT):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w", format=format) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                member.type, member.linkname = content, "somewhere/" * 30 if content == tarfile.SYMTYPE else ""
                tar.addfile(member)
    return to.getvalue()


def listed(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar if m.isfile()]


def got(src):
    return [(name, bytes(data)) for name, data in hr.io.iter_tar(src)]


def few(long=True):
    rng = random.Random(1)
    names = ["a.jpg", "train/n01440764_1.cls", "x" * 100, "leer zeichen äöü 猫.txt"]
    names += ["d/" * 60 + "f.jpg", "n" * 120 + "/" + "m" * 90, "e" * 300] if long else []
    members = [(name, rng.randbytes(rng.choice([0, 1, 511, 512, 513, 3000]))) for name in names]
    return [("folder", tarfile.DIRTYPE), *members, ("link", tarfile.SYMTYPE), ("pipe", tarfile.FIFOTYPE), ("last", b"end")]


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["ustar", "gnu", "pax"])
def test_files_are_those_of_tarfile(format, tmp_path):
    members = few(format != tarfile.USTAR_FORMAT)
    if format == tarfile.USTAR_FORMAT:
        members = [m for m in members if m[0] != "link"] + [("p/" * 70 + "suffix.jpg", b"of a prefix")]
    data = packed(members, format)
    want = listed(data)
    assert len(want) == sum(isinstance(content, bytes) for _, content in members)
    (tmp_path / "a.tar").write_bytes(data)
    for src in (data, bytearray(data), memoryview(data), io.BytesIO(data), tmp_path / "a.tar"):
        assert got(src) == want
    with gzip.open(io.BytesIO(gzip.compress(data))) as opened:
        assert got(opened) == want
    assert got(data.rstrip(b"\0") + bytes(200)) == want  # without an end


def test_bytes_are_shared_and_keep_what_they_are_of():
    data = bytearray(packed([("a", b"12"), ("b", b"3")]))
    first, _ = hr.io.iter_tar(data)
    data[data.index(b"12")] = ord("9")
    assert bytes(first[1]) == b"92"


class Pieces(io.BytesIO):
    """Gives less than it is asked for."""

    def read(self, n=-1):
        return super().read(min(n, 100) if n > 0 else n)


def test_streams_that_give_less_and_are_read_no_further():
    data = packed(few())
    assert got(Pieces(data)) == listed(data)
    stream = io.BytesIO(data)
    files = hr.io.iter_tar(stream)
    next(files)
    assert stream.tell() < 3 * 512 + 3000


def test_what_gnu_tar_and_others_write(tmp_path):
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", 1 << 20)
    (tmp_path / "small").write_bytes(b"data")
    os.link(tmp_path / "small", tmp_path / "twin")
    subprocess.run(["tar", "--format=gnu", "-cf", "a.tar", "small", "twin"], cwd=tmp_path, check=True)
    assert got(tmp_path / "a.tar") == [("small", b"data")]
    for format in ("gnu", "pax"):
        subprocess.run(["tar", "-S", f"--format={format}", "-cf", "s.tar", "hole"], cwd=tmp_path, check=True)
        with pytest.raises(
            hr.MediaError, match=r"s.tar': '.*hole.*' is a sparse file, which GNU tar stores in pieces|a member. is a sparse"
        ):
            got(tmp_path / "s.tar")


def test_sizes_beyond_what_octal_can_say():
    member = tarfile.TarInfo("large")
    member.size = 9 << 30
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = member.tobuf(format) + bytes(1000)
        for src in (data, io.BytesIO(data)):
            with pytest.raises(
                hr.MediaError, match=r"it ends within 'large', which begins at byte [\d,]+: of 9,663,676,416 bytes there are 1,000"
            ):
                got(src)


def of(header, **fields):
    member = tarfile.TarInfo(header)
    for name, value in fields.items():
        setattr(member, name, value)
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b" + bytes(range(256)) * 3, "no member header at byte 0: open it with gzip.open"),
        (b"\xfd7zXZ\0" + bytes(range(256)) * 3, "open it with lzma.open"),
        (b"GIF89a", "it ends within a header, 6 bytes after byte 0"),
        (packed([("a", b"1")])[:1024] + b"x" * 600, "no member header at byte 1,024"),
        (of("a", size=5) + b"123", "it ends within 'a', which begins at byte 0: of 5 bytes there are 3"),
        (of("a", size=1 << 21, type=b"x"), "2,097,152 bytes that describe a member: must be at most 1,048,576"),
        (of("a", size=4, type=b"x") + b"abcd" + bytes(508), "at byte 0 is an invalid description of a member"),
        (of("a", size=11, type=b"x") + b"11 size=-1\n" + bytes(501), "at byte 0 a size is b'-1'"),
    ],
)
def test_what_is_damaged(data, message, tmp_path):
    (tmp_path / "bad.tar").write_bytes(data)
    for src in (data, io.BytesIO(data), tmp_path / "bad.tar"):
        with pytest.raises(hr.MediaError, match=message):
            got(src)
    with pytest.raises(hr.MediaError, match=r"iter_tar: '.*bad.tar': "):
        got(tmp_path / "bad.tar")


def test_every_cut_and_changed_bytes():
    rng = random.Random(3)
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = packed([("one", b"1" * 700), ("e" * 150, b"2" * 10), ("three", b"")], format)
        want = listed(data)
        for n in range(len(data.rstrip(b"\0")) + 600):
            for src in (data[:n], io.BytesIO(data[:n])):
                seen = []
                try:
                    for name, content in hr.io.iter_tar(src):
                        seen.append((name, bytes(content)))
                except hr.MediaError:
                    pass
                assert seen == want[: len(seen)]
        for _ in range(4000):
            changed = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                changed[rng.randrange(len(data))] = rng.choice([0, 32, 48, 55, 128, 255, rng.randrange(256)])
            for src in (changed, io.BytesIO(changed)):
                try:
                    assert sum(len(content) for _, content in hr.io.iter_tar(src)) <= len(data)
                except hr.MediaError:
                    pass


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        got(tmp_path / "none.tar")
    with pytest.raises(TypeError, match="io: the source must be a path, bytes"):
        hr.io.iter_tar(3)
    with pytest.raises(TypeError, match="read\\(\\) gives text"):
        got(io.StringIO("text"))

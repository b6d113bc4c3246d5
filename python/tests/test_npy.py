"""Arrays in NumPy's formats, beside what NumPy itself reads."""

from __future__ import annotations

import io
import os
import random
import struct
import tracemalloc
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from isal import isal_zlib

import headrace as hr
from conftest import descriptors
from headrace._io import deflate
from headrace._io.bytes_of import Bytes
from headrace._io.zip_directory import Member, plain_directory

DTYPES = [
    np.dtype(order + kind)
    for order in "<>"
    for kind in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "U3", "S5", "M8[s]")
]


@pytest.fixture(autouse=True, params=["isal", "zlib"])
def inflates(request, monkeypatch):
    """Everything is read by either of the libraries."""
    library = isal_zlib if request.param == "isal" else zlib
    for name, there in (("crc32", "crc32"), ("decompressobj", "decompressobj"), ("Error", "error")):
        monkeypatch.setattr(deflate, name, getattr(library, there))


def random_array(rng: np.random.Generator, dtype: np.dtype, axes: int) -> np.ndarray:
    shape = tuple(rng.integers(0, 6, axes)) if rng.random() < 0.2 else tuple(rng.integers(1, 6, axes))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if dtype.kind == "U":
        array = np.full(shape, "xäz", dtype)
    elif dtype.kind == "b":
        array = rng.integers(0, 2, shape).astype(dtype)
    else:
        array = np.frombuffer(rng.bytes(size), dtype).reshape(shape)
    return np.asfortranarray(array) if rng.random() < 0.5 else array


def saved(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def same(a: np.ndarray, b: np.ndarray) -> bool:
    # By their bytes: there are values that are unlike themselves.
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() and a.flags.f_contiguous == b.flags.f_contiguous


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_are_those_that_numpy_reads(dtype, tmp_path):
    rng = np.random.default_rng(abs(hash(dtype.str)) % 1000)
    for axes in (0, 1, 2, 3, 5, 32):
        for version in ((1, 0), (2, 0), (3, 0)):
            array = random_array(rng, dtype, axes) if axes < 32 else random_array(rng, dtype, 2).reshape((1,) * 30 + (-1, 1))
            data = saved(array, version)
            expected = np.load(io.BytesIO(data), allow_pickle=False)
            path = tmp_path / "a.npy"
            path.write_bytes(data)
            for source in (data, bytearray(data), memoryview(b"x" + data)[1:], np.frombuffer(data, np.uint8), path, io.BytesIO(data)):
                got = hr.io.load_npy(source)
                assert same(got, expected), (axes, version, type(source))
                out = np.empty(array.shape, array.dtype)
                assert hr.io.load_npy(path if source is path else data, out=out) is out
                assert out.tobytes() == expected.tobytes()
            assert hr.io.load_npy(path).flags.writeable
            assert hr.io.load_npy(io.BytesIO(data)).flags.writeable


def test_a_view_shares_memory_and_keeps_it():
    data = bytearray(saved(np.arange(12.0).reshape(3, 4)))
    array = hr.io.load_npy(data)
    data[-8:] = struct.pack("<d", 77.0)
    assert array[2, 3] == 77
    array[0, 0] = 5
    assert struct.unpack_from("<d", data, len(data) - 96)[0] == 5
    own = hr.io.load_npy(data, copy=True)
    own[:] = 0
    assert array[0, 0] == 5
    with pytest.raises(BufferError):
        data.append(1)
    frozen = hr.io.load_npy(bytes(data))
    assert not frozen.flags.writeable
    assert hr.io.load_npy(bytes(data), copy=True).flags.writeable
    del data
    assert array[2, 3] == 77


def test_headers_that_others_write():
    body = np.arange(6, dtype="<i4").tobytes()
    for text in (
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'descr': '<i4', 'fortran_order': False}",
        '{"descr":"<i4","fortran_order":False,"shape":(2,3)}',
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "  {'descr': '<i4', 'fortran_order': False, 'shape': (2,3,), }  \n\n",
    ):
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + body
        assert (hr.io.load_npy(data) == np.arange(6).reshape(2, 3)).all(), text


def test_several_arrays_in_one_file(tmp_path):
    with open(tmp_path / "two.npy", "wb") as file:
        np.save(file, np.arange(3))
        np.save(file, np.arange(4.0))
    with open(tmp_path / "two.npy", "rb") as file:
        assert (hr.io.load_npy(file) == np.arange(3)).all()
        out = np.empty(4)
        assert (hr.io.load_npy(file, out=out) == np.arange(4)).all()
    assert (hr.io.load_npy((tmp_path / "two.npy").read_bytes()) == np.arange(3)).all()


def test_structures_are_read_and_objects_are_not(tmp_path):
    table = np.zeros(3, [("a", "<i4"), ("b", ">f8", (2,)), ("c", "S3")])
    table["a"] = 1, 2, 3
    assert (hr.io.load_npy(saved(table)) == table).all()
    for bad in (np.array([{}, 1]), np.zeros(2, [("a", object)])):
        file = io.BytesIO()
        np.save(file, bad, allow_pickle=True)
        (tmp_path / "bad.npy").write_bytes(file.getvalue())
        for source in (file.getvalue(), tmp_path / "bad.npy", io.BytesIO(file.getvalue())):
            with pytest.raises(hr.MediaError, match="Python objects"):
                hr.io.load_npy(source)


def test_every_truncation_is_an_error(tmp_path):
    data = saved(np.arange(10, dtype="<u2"))
    path = tmp_path / "cut.npy"
    out = np.zeros(10, "<u2")
    for n in range(len(data)):
        path.write_bytes(data[:n])
        for source in (data[:n], path, io.BytesIO(data[:n])):
            with pytest.raises(hr.MediaError):
                hr.io.load_npy(source)
            with pytest.raises(hr.MediaError):
                hr.io.load_npy(source if not isinstance(source, io.BytesIO) else io.BytesIO(data[:n]), out=out)
    with pytest.raises(hr.MediaError, match=r"cut\.npy") as caught:
        hr.io.load_npy(path)
    assert caught.value.key == str(path)


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"\x93NUMPY",
        header("{}"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (2, -3), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (2), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3.0), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (True, ), }"),
        header("{'descr': '<i4', 'fortran_order': 0, 'shape': (2, 3), }"),
        header("{'descr': '<q9', 'fortran_order': False, 'shape': (2, 3), }"),
        header("{'descr': '', 'fortran_order': False, 'shape': (2, 3), }"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (0,), }"),
        header("{'descr': ['<i4'], 'fortran_order': False, 'shape': (2, 3), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999999999, 4), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (" + "1," * 200 + "), }") + bytes(4),
        header("__import__('os').system('true')"),
        header("(" * 5000),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", b"\x04\x00") + bytes(4),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", b"\x01\x01") + bytes(4),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100),
    ],
)
def test_what_is_no_array(data, tmp_path):
    (tmp_path / "a.npy").write_bytes(data)
    for source in (data, tmp_path / "a.npy", io.BytesIO(data)):
        with pytest.raises(hr.MediaError):
            hr.io.load_npy(source)


def test_arguments_of_load_npy(tmp_path):
    data = saved(np.arange(6, dtype="<i4").reshape(2, 3))
    for out, why in (
        (np.empty((2, 3), "<i8"), "dtype"),
        (np.empty((2, 3), ">i4"), "dtype"),
        (np.empty((3, 2), "<i4"), "shape"),
        (np.empty((3, 2), "<i4").T, "contiguous"),
    ):
        with pytest.raises(hr.MediaError, match=why):
            hr.io.load_npy(data, out=out)
    with pytest.raises(TypeError):
        hr.io.load_npy(3)
    with pytest.raises(TypeError, match="'rb'"):
        hr.io.load_npy(io.StringIO("x"))
    with pytest.raises(FileNotFoundError):
        hr.io.load_npy(tmp_path / "none.npy")
    with pytest.raises(IsADirectoryError):
        hr.io.load_npy(tmp_path)


def test_what_is_damaged_is_an_error_or_an_array(tmp_path):
    """No byte that is changed makes anything else than an error of ours, or some array."""
    rng = random.Random(1)
    file = io.BytesIO()
    np.savez_compressed(file, a=np.arange(50), b=np.ones((3, 4)))
    for good, load in (
        (saved(np.arange(20.0).reshape(4, 5)), hr.io.load_npy),
        (file.getvalue(), lambda d: dict(hr.io.load_npz(d))),
    ):
        for _ in range(1500):
            data = bytearray(good)
            for _ in range(rng.randint(1, 3)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                load(bytes(data))
            except hr.MediaError:
                pass


# Archives.


def archive(compress: bool = False, **arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("compress", [False, True])
def test_archives_are_those_that_numpy_reads(compress, tmp_path):
    rng = np.random.default_rng(3)
    arrays = {f"a{i}": random_array(rng, dtype, int(rng.integers(0, 4))) for i, dtype in enumerate(DTYPES)}
    data = archive(compress, **arrays)
    path = tmp_path / "a.npz"
    path.write_bytes(data)
    expected = np.load(path)
    for source in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), path, str(path), io.BytesIO(data)):
        with hr.io.load_npz(source) as got:
            assert list(got) == expected.files
            assert len(got) == len(arrays)
            for name in arrays:
                assert same(got[name], expected[name]), name
                assert same(got[name + ".npy"], expected[name])
                assert name in got
                assert name + ".npy" in got
            assert "other" not in got
            with pytest.raises(KeyError, match="there is no array"):
                got["other"]
            assert dict(got.items()).keys() == arrays.keys()
        if source is path:
            with pytest.raises(hr.errors.WrongValue, match="closed"):
                got["a0"]
    expected.close()


def test_stored_members_in_memory_are_views():
    data = bytearray(archive(a=np.arange(4)))
    array = hr.io.load_npz(data)["a"]
    assert array.flags.writeable
    assert not array.flags.owndata
    assert not hr.io.load_npz(bytes(data))["a"].flags.writeable
    assert hr.io.load_npz(archive(True, a=np.arange(4)))["a"].flags.writeable


def test_files_are_closed(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(archive(a=np.arange(4)))
    before = descriptors()
    held = hr.io.load_npz(path)
    array = held["a"]
    held.close()
    held.close()
    path.write_bytes(b"PK" * 50)
    with pytest.raises(hr.MediaError, match=r"a\.npz"):
        hr.io.load_npz(path)
    assert (array == np.arange(4)).all()
    array[0] = 9
    assert descriptors() == before


def test_members_of_any_name():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        for name, value in (("a.npy", 1), ("a", 2), ("ä/b.npy", 3), ("c.npy.npy", 4)):
            z.writestr(name, saved(np.array(value)))
    got = hr.io.load_npz(file.getvalue())
    assert (got["a.npy"], got["a"], got["ä/b"], got["ä/b.npy"], got["c.npy"]) == (1, 2, 3, 3, 4)
    assert {int(got[name]) for name in got} == {1, 2, 3, 4}


@pytest.mark.parametrize("comment", [0, 1, 3, 21, 22, 23, 65535])
@pytest.mark.parametrize("prefix", [0, 100])
def test_comments_and_what_stands_before(comment, prefix):
    file = io.BytesIO(archive(a=np.arange(5)))
    with zipfile.ZipFile(file, "a") as z:
        z.comment = random.Random(comment).randbytes(comment)
    got = hr.io.load_npz(bytes(prefix) + file.getvalue())
    assert (got["a"] == np.arange(5)).all()


def test_the_directory_is_what_zipfile_reads():
    """Of what NumPy writes; of anything else it is the same, or left to zipfile."""
    data = archive(True, a=np.arange(50), b=np.zeros(3))

    def plain(data):
        found = plain_directory(Bytes(memoryview(data)), len(data))
        return found and [tuple(member) for member in found]

    def reference(data):
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            return [tuple(getattr(info, name) for name in Member._fields) for info in z.infolist()]

    assert plain(data) == reference(data)
    assert plain(archive()) == reference(archive()) == []
    found = 0
    for at in range(data.index(b"PK\x01\x02"), len(data)):
        for value in (0, 1, 0x2D, 0xFF):
            changed = bytearray(data)
            changed[at] = value
            if (got := plain(changed)) is not None:
                try:
                    expected = reference(changed)
                except zipfile.BadZipFile:
                    continue
                assert got == expected, (at, value)
                found += 1
    assert found > 100


def test_zip64():
    """Every size and place is in the fields of 64 bits, as they must from 4 GiB on."""
    body = saved(np.arange(7))
    name = b"a.npy"
    sizes = struct.pack("<HHQQ", 1, 16, len(body), len(body))
    local = (
        struct.pack("<4s5H3I2H", b"PK\x03\x04", 45, 0, 0, 0, 0, zlib.crc32(body), 0xFFFFFFFF, 0xFFFFFFFF, len(name), len(sizes))
        + name
        + sizes
    )
    extra = struct.pack("<HHQQQ", 1, 24, len(body), len(body), 0)
    central = (
        struct.pack(
            "<4s6H3I5H2I",
            b"PK\x01\x02",
            45,
            45,
            0,
            0,
            0,
            0,
            zlib.crc32(body),
            0xFFFFFFFF,
            0xFFFFFFFF,
            len(name),
            len(extra),
            0,
            0,
            0,
            0,
            0xFFFFFFFF,
        )
        + name
        + extra
    )
    at = len(local) + len(body)
    end = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(central), at)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, at + len(central), 1)
    last = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    data = local + body + central + end + locator + last
    assert (np.load(io.BytesIO(data))["a"] == np.arange(7)).all()
    assert (hr.io.load_npz(data)["a"] == np.arange(7)).all()


def patched(data: bytes, name: str, field: int, form: str, value: int) -> bytes:
    """An archive with another number in its directory."""
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    changed = bytearray(data)
    struct.pack_into(form, changed, at + field, value)
    return bytes(changed)


@pytest.mark.parametrize("compress", [False, True])
def test_a_wrong_checksum_is_found(compress):
    data = archive(compress, a=np.arange(100), b=np.arange(3))
    got = hr.io.load_npz(patched(data, "a.npy", 16, "<I", 12345))
    with pytest.raises(hr.MediaError, match="checksum"):
        got["a"]
    assert (got["b"] == np.arange(3)).all()  # the others are what they were
    if not compress:
        damaged = bytearray(data)
        damaged[data.index(np.arange(100).tobytes()) + 80] ^= 1
        with pytest.raises(hr.MediaError, match="checksum"):
            hr.io.load_npz(damaged)["a"]


def test_sizes_that_are_not_so():
    stored, packed = archive(a=np.arange(100)), archive(True, a=np.zeros(100_000))
    for field, value in ((24, 100), (24, 900_000), (24, 800_127), (20, 20), (20, 1 << 30)):
        with pytest.raises(hr.MediaError):
            hr.io.load_npz(patched(packed, "a.npy", field, "<I", value))["a"]
    for field, value in ((24, 1000), (20, 10), (42, 7), (42, 1 << 30)):
        with pytest.raises(hr.MediaError):
            hr.io.load_npz(patched(stored, "a.npy", field, "<I", value))["a"]


def test_a_bomb_is_refused_before_it_takes_memory():
    inflated = saved(np.zeros(1 << 27, np.uint8))  # of 128 KB, when it is deflated
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.npy", inflated)
        z.writestr("b.npy", saved(np.arange(3)))
    size = len(inflated)
    del inflated
    got = hr.io.load_npz(file.getvalue(), limit=size - 1)
    with pytest.raises(hr.MediaError, match="limit="):
        got["a"]
    assert (got["b"] == np.arange(3)).all()
    assert hr.io.load_npz(file.getvalue(), limit=size)["a"].nbytes == 1 << 27
    # One that says it is small is stopped where it is more.
    lying = patched(file.getvalue(), "a.npy", 24, "<I", 200)
    tracemalloc.start()
    try:
        with pytest.raises(hr.MediaError):
            hr.io.load_npz(lying)["a"]
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    # And one whose header says that it is large is compared with what its archive says.
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776,), }"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.npy", header(text))
    with pytest.raises(hr.MediaError, match="it has 79 bytes"):
        hr.io.load_npz(file.getvalue())["a"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("read", [hr.io.load_npy, hr.io.load_npz])
def test_what_would_have_to_be_waited_for_is_no_file(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it, so that `open` would not return
    for path, kind in ((tmp_path / "pipe", "pipe"), ("/dev/zero", "device"), ("/dev/null", "device")):
        with pytest.raises(hr.MediaError, match=f"is not a regular file but a {kind}"):
            read(path)
    with open("/dev/zero", "rb") as file, pytest.raises(hr.MediaError, match="its first bytes are wrong"):
        hr.io.load_npy(file)


def test_what_is_no_archive_of_arrays(tmp_path):
    for data in (b"", b"PK\x05\x06", b"x" * 1000, saved(np.arange(3)), archive(a=np.arange(3))[:-30]):
        with pytest.raises(hr.MediaError, match="not an archive"):
            hr.io.load_npz(data)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("text", "hello")
        z.writestr(zipfile.ZipInfo("packed"), saved(np.arange(3)), zipfile.ZIP_BZIP2)
    got = hr.io.load_npz(file.getvalue())
    with pytest.raises(hr.MediaError, match=r"'text'.*not a NumPy file"):
        got["text"]
    with pytest.raises(hr.MediaError, match="compression is number 12"):
        got["packed"]
    with pytest.raises(hr.MediaError, match="encrypted"):
        hr.io.load_npz(patched(file.getvalue(), "text", 8, "<H", 1))["text"]
    with pytest.raises(FileNotFoundError):
        hr.io.load_npz(tmp_path / "none.npz")
    with pytest.raises(TypeError):
        hr.io.load_npz(7)


def test_an_archive_in_many_threads(tmp_path):
    arrays = {f"a{i}": np.random.default_rng(i).random((50, 60)) for i in range(8)}
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **arrays)
    with hr.io.load_npz(path) as got, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda i: (got[f"a{i % 8}"] == arrays[f"a{i % 8}"]).all(), range(200)))
    assert os.path.exists(path)

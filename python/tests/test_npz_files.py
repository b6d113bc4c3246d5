"""decode_npz: each .npz file is a sample, with what numpy.load reads of it."""

import io
import json
import random
import subprocess
import zipfile

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE
from headrace._client.program import find_program

ROUNDS = 80 if WHOLE else 3
FILES = 40  # of a round

NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
OTHERS = [
    "c8",
    "c16",
    "M8[s]",
    "m8[ms]",
    "S5",
    "U4",
    "V7",
    "g",
    [("a", "<i4"), ("b", ">f8", (2, 1))],
    [("p", [("x", "u1"), ("y", "<f4")]), ("s", "U2")],
]


def array(r, dtype, axes):
    shape = tuple(r.choice([0, 1, 2, 3, 7]) for _ in range(axes))
    dtype = np.dtype(dtype)
    if r.random() < 0.3:
        dtype = dtype.newbyteorder()
    if dtype.kind == "U":
        values = np.array([r.choice(["", "a", "né", "\U0001f98a"]) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    elif dtype.kind == "b":
        values = np.frombuffer(r.randbytes(int(np.prod(shape))), np.uint8).reshape(shape) > 99
    elif dtype.names and dtype.names[-1] == "s":
        values = np.zeros(shape, dtype)
    else:
        values = np.frombuffer(r.randbytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
    return np.asfortranarray(values) if axes > 1 and r.random() < 0.3 else values


def same(got, want):
    if want.ndim == 0 and want.dtype.kind in "biuf" and want.dtype.itemsize <= 8:  # a number of Python's
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
        return
    got = np.asarray(got)
    if got.dtype.kind != "U" and want.dtype.kind in "biuf" and want.dtype.itemsize <= 8:
        assert got.dtype == want.dtype.newbyteorder("="), (got.dtype, want.dtype)
    assert got.shape == want.shape, (got.shape, want.shape)
    assert got.tobytes() == want.astype(got.dtype).tobytes() if got.dtype.kind != "U" else np.array_equal(got, want)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_random_files(tmp_path, seed):
    r = random.Random(seed)
    fields = {f"a{k}": (r.choice(NUMBERS if r.random() < 0.7 else OTHERS), r.choice([0, 0, 1, 2, 3, 4])) for k in range(r.randint(1, 5))}
    for i in range(FILES):
        save = r.choice([np.savez, np.savez_compressed])
        save(tmp_path / f"{i:03}.npz", **{name: array(r, *form) for name, form in fields.items()})
    kept = r.sample(sorted(fields), r.randint(1, len(fields))) if seed % 2 else None
    with hr.files(tmp_path).decode_npz(kept).loader(epochs=1) as loader:
        for i, got in enumerate(loader):
            with np.load(tmp_path / f"{i:03}.npz") as want:
                assert sorted(set(got) - {"key"}) == sorted(kept or fields)
                for name in kept or fields:
                    same(got[name], want[name])
        assert i == FILES - 1


def test_spdl_scenes(tmp_path):
    """Each file is a scene: a picture, its mask and a time, as SPDL's case study has them."""
    for i in range(5):
        np.savez(tmp_path / f"{i}.npz", image=np.full((64, 48, 3), i, np.uint8), mask=np.full((64, 48), i, np.uint8), timestamp=float(i))
    scenes = hr.files(f"{tmp_path}/*.npz").decode_npz()
    with scenes.batch(5).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert batch["image"].shape == (5, 64, 48, 3)
    assert batch["mask"].shape == (5, 64, 48)
    assert batch["timestamp"].tolist() == [0, 1, 2, 3, 4]
    with scenes.resize((8, 6), field="image").batch(5).loader(epochs=1) as loader:  # they are images
        assert next(iter(loader))["image"].shape == (5, 8, 6, 3)


def test_names_and_types(tmp_path):
    np.savez(tmp_path / "a.npz", key=np.arange(3), x=np.float32(2), day=np.datetime64("2020-02-02"), name="né")
    start = hr.files(tmp_path)
    with pytest.raises(hr.HeadraceError, match=r'"key".*the samples have a field of this name already.*fields=\{"key_array": "key"\}'):
        start.decode_npz().loader(epochs=1)
    with start.decode_npz({"ids": "key", "x": ("x", "float32"), "day": "day", "name": "name"}).batch(1).loader(epochs=1) as loader:
        (batch,) = loader
    assert batch["ids"].tolist() == [[0, 1, 2]]
    assert batch["x"].tolist() == [2]
    assert batch["name"][0] == "né"
    assert batch["day"] == [np.datetime64("2020-02-02")]
    with start.decode_npz("day").map(lambda s: {"year": s["day"].astype("M8[Y]").astype(int) + 1970}).loader(epochs=1) as loader:
        assert [int(s["year"]) for s in loader] == [2020]
    with pytest.raises(hr.RecipeError, match="fields has 3"):
        start.decode_npz([3])


def test_sequences(tmp_path):
    """Arrays of other lengths are sequences."""
    for i in range(1, 5):
        np.savez(tmp_path / f"{i}.npz", tokens=np.arange(i), label=i)
    with hr.files(tmp_path).decode_npz().batch(1).loader(epochs=1, on_error="skip") as loader:
        assert [b["tokens"].shape for b in loader] == [(1, 1)]  # a batch has one size: that of the first
        assert len(loader.errors) == 3
    with hr.files(tmp_path).decode_npz().bucket_batch([2, 4], size=2).loader(epochs=1) as loader:
        assert sorted(b["tokens"].shape for b in loader) == [(2, 2), (2, 4)]


def test_files_that_are_refused(tmp_path):
    np.savez(tmp_path / "0.npz", a=np.arange(3), b=1.0)
    np.savez(tmp_path / "1.npz", a=np.arange(3))
    np.savez(tmp_path / "2.npz", a=np.arange(3), b=1.0, c=2)
    np.savez(tmp_path / "3.npz", a=np.arange(3), b=np.array([{}], object))
    np.savez(tmp_path / "4.npz", a=np.arange(3.0), b=1.0)
    (tmp_path / "5.npz").write_bytes((tmp_path / "0.npz").read_bytes()[:-9])
    damaged = bytearray((tmp_path / "0.npz").read_bytes())
    damaged[damaged.index(b"\x93NUMPY") + 130] ^= 1
    (tmp_path / "6.npz").write_bytes(damaged)
    with hr.files(tmp_path).decode_npz().loader(epochs=1, on_error="skip") as loader:
        assert len(list(loader)) == 1
        said = [error.error for error in loader.errors]
    for text, want in zip(
        said,
        [
            'it has no array "b": it has a',
            'the array "c", which the first file has not',
            "Python objects, which would have to be unpickled",
            'array "a" is float64 [3]: must be int64',
            "not a valid zip file",
            'array "a": it is damaged: its checksum',
        ],
        strict=True,
    ):
        assert want in text, (text, want)
    np.savez(tmp_path / "objects.npz", a=np.arange(3), o=np.array([{}], object))
    with pytest.raises(
        hr.HeadraceError, match=r"(?s)objects\.npz.*array \"o\".*Python objects.*to read the others, name them: \.decode_npz\(\[\"a\"\]\)"
    ):
        hr.files(tmp_path / "objects.npz").decode_npz().loader(epochs=1)


def test_archives_of_others(tmp_path):
    """Zip64, bzip2, members that are not arrays."""
    content = io.BytesIO()
    np.save(content, np.arange(4))
    with zipfile.ZipFile(tmp_path / "wide.npz", "w") as archive, archive.open("a.npy", "w", force_zip64=True) as member:
        member.write(content.getvalue())
    with hr.files(tmp_path / "wide.npz").decode_npz().loader(epochs=1) as loader:
        assert [s["a"].tolist() for s in loader] == [[0, 1, 2, 3]]
    with zipfile.ZipFile(tmp_path / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", content.getvalue())
    with pytest.raises(hr.HeadraceError, match=r'"a.npy": it is compressed with method 12: must be deflate'):
        hr.files(tmp_path / "bzip2.npz").decode_npz().loader(epochs=1)
    with zipfile.ZipFile(tmp_path / "more.npz", "w") as archive:
        archive.writestr("a.npy", content.getvalue())
        archive.writestr("readme.txt", "text")
    with pytest.raises(hr.HeadraceError, match=r'"readme.txt", which is not an array.*name them: \.decode_npz\(\["a"\]\)'):
        hr.files(tmp_path / "more.npz").decode_npz().loader(epochs=1)
    with hr.files(tmp_path / "more.npz").decode_npz("a").loader(epochs=1) as loader:
        assert [s["a"].tolist() for s in loader] == [[0, 1, 2, 3]]


def test_rows_name_what_is_left_out(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(4), y=np.arange(4.0), z=np.arange(3), t=1.0)
    with pytest.raises(hr.HeadraceError) as caught:
        hr.read(tmp_path / "a.npz").loader(epochs=1)
    for part in ('"z": it has 3 rows, and "x" has 4', '"t": an array without axes has no rows', ".decode_npz()", '{"x": "x", "y": "y"}'):
        assert part in str(caught.value), part
    with hr.read(tmp_path / "a.npz", fields=["x", "y"]).loader(epochs=1) as loader:
        assert [(s["x"], s["y"]) for s in loader] == [(i, float(i)) for i in range(4)]


def test_recipes_without_python(tmp_path):
    """The command writes what the files hold, and a recipe that says the types is right without reading a file."""
    for i in range(3):
        np.savez(tmp_path / f"{i}.npz", x=np.arange(2) + i, t=float(i), name=f"n{i}")
    steps: list[object] = [
        {"files": {"pattern": "*.npz", "root": str(tmp_path)}},
        "decode_npz",
        {"drop": {"fields": ["key"]}},
        {"batch": {"size": 2}},
    ]
    (tmp_path / "recipe.json").write_text(json.dumps({"headrace": 1, "steps": steps}))
    subprocess.run(
        [find_program(), "run", tmp_path / "recipe.json", "--out", f"jsonl:{tmp_path}/out-%d.jsonl"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    rows = [json.loads(line) for line in (tmp_path / "out-0.jsonl").read_text().splitlines()]
    assert [(r["x"], r["t"], r["name"]) for r in rows] == [([i, i + 1], i, f"n{i}") for i in range(3)]

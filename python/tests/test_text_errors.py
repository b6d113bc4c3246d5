"""`errors="replace"`: text that is not UTF-8 is what Python's `bytes.decode(errors="replace")` makes of it, in every format."""

import io
import json
import random
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import WHOLE
from headrace.errors import RecipeError, SampleError, SourceError
from record_files import example, litdata, mds, tfrecord

TEXTS = 40_000 if WHOLE else 4000


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


# Bytes at which one rule of UTF-8 or another begins or ends.
EDGES = bytes.fromhex("00417f80818f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f8ff")


def part(r):
    return r.choice([
        lambda: bytes(r.choice(EDGES) for _ in range(r.randint(1, 4))),
        lambda: r.randbytes(r.randint(1, 5)),
        lambda: chr(r.choice([0x41, 0xE9, 0x20AC, 0xFFFD, 0x1F600, 0x10FFFF])).encode()[: r.randint(1, 4)],
        lambda: b"plain",
    ])()  # fmt: skip


def broken(n, seed, without=b""):
    """Random text that is UTF-8 in part, without some characters of ASCII."""
    r = random.Random(seed)
    return [b"".join(part(r) for _ in range(r.randint(0, 6))).translate(None, without) for _ in range(n)]


def decoded(texts):
    return [t.decode(errors="replace") for t in texts]


def read(path, errors="replace", **how):
    with hr.read(path, errors=errors, **how).loader(epochs=1) as loader:
        return list(loader)


def test_what_python_makes_of_it():
    texts = [bytes([a, b]) for a in EDGES for b in EDGES] + broken(TEXTS, 0)
    table = pa.table({"t": pa.array(texts).view(pa.string()), "b": texts})
    pq.write_table(table, "a.parquet")
    with hr.read("a.parquet", fields=["t"], errors="replace").batch(1000).loader(epochs=1) as loader:
        got = [t for batch in loader for t in batch["t"]]
    assert got == decoded(texts)
    with hr.read("a.parquet", fields=["b"], errors="replace").loader(epochs=1) as loader:
        assert [bytes(s["b"]) for s, _ in zip(loader, range(900), strict=False)] == texts[:900]  # bytes stay as they are


def tar(name, suffix, contents):
    with tarfile.open(name, "w") as out:
        for i, data in enumerate(contents):
            info = tarfile.TarInfo(f"{i:03}.{suffix}")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))


def test_every_format():
    texts = [b"caf\xe9", b"\xe2\x82", b"", b"whole", *broken(30, 1, bytes(range(32)) + b'"\\,')]
    want = decoded(texts)
    lists = [texts[i : i + 2] for i in range(len(texts))]
    wanted = [decoded(t) for t in lists]
    table = pa.table({"t": pa.array(texts).view(pa.string()), "l": pa.array(lists).cast(pa.list_(pa.binary())).view(pa.list_(pa.string()))})
    pq.write_table(table, "a.parquet")
    with pa.OSFile("a.arrow", "wb") as f, pa.ipc.new_stream(f, table.schema) as w:
        w.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        got = read(name)
        assert ([s["t"] for s in got], [s["l"] for s in got]) == (want, wanted), name

    objects = [b'{"n": {"t": "%s"}, "l": ["%s"]}' % (t, b'", "'.join(two)) for t, two in zip(texts, lists, strict=True)]
    assert [json.loads(o.decode(errors="replace"))["n"]["t"] for o in objects] == want
    Path("a.jsonl").write_bytes(b"\n".join(objects))
    tar("json.tar", "json", objects)
    pq.write_table(pa.table({"json": pa.array(objects).view(pa.string())}), "json.parquet")
    mds("mds", {"json": "json", "t": "str"}, [{"json": o, "t": t} for o, t in zip(objects, texts, strict=True)])
    for name in ("a.jsonl", "json.tar", "json.parquet"):
        below = "" if name == "a.jsonl" else "json."
        got = read(name, fields={"t": f"{below}n.t", "l": f"{below}l"})
        assert ([s["t"] for s in got], [s["l"] for s in got]) == (want, wanted), name
    for name in ("json.tar", "mds"):
        assert [s["json"] for s in read(name)] == decoded(objects)

    litdata("litdata", {"t": "str"}, [{"t": t} for t in texts])
    tar("text.tar", "txt", texts)
    Path("a.txt").write_bytes(b"".join(t + b"\n" for t in texts))
    Path("a.csv").write_bytes(b"t\n" + b"".join(b'"%s"\n' % t for t in texts))
    Path("a.tsv").write_bytes(b"n\tt\n" + b"".join(b'1\t"%s"""\n' % t for t in texts))
    Path("a.tfrecord").write_bytes(tfrecord(example({"t": [t]}) for t in texts))
    for name, field in {"text.tar": "txt", "a.txt": "text", "a.csv": "t", "a.tfrecord": "t", "mds": "t", "litdata": "t"}.items():
        assert [s["t"] for s in read(name, fields={"t": (field, str)})] == want, name
    assert [s["t"] for s in read("a.tsv")] == [t + '"' for t in want]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_names_in_text(name):
    row = {"a.csv": b"pr\xe9nom,n\ncaf\xe9,1\n", "a.jsonl": b'{"pr\xe9nom": "caf\xe9", "x": {"\xff.y": 2}, "n": 1}\n'}[name]
    Path(name).write_bytes(row)
    for fields in (None, ["pr\ufffdnom", "n"]):
        (sample,) = read(name, fields=fields)
        assert (sample["pr\ufffdnom"], int(sample["n"])) == ("caf\ufffd", 1)
    with pytest.raises(SourceError, match=r'is not UTF-8: write it as UTF-8, or replace it with errors="replace"'):
        read(name, "strict")
    Path(name).write_bytes(row.replace(b"n", b"n\xe9", 1))
    with pytest.raises(SourceError, match="is not UTF-8"):  # an index that was made for the other reading
        hr.read(name).loader()


def test_the_default_says_it():
    Path("a.txt").write_bytes(b"one\ncaf\xe9\n")
    for how in ({}, {"errors": "strict"}):
        with hr.read("a.txt", **how).loader(epochs=1) as loader, pytest.raises(SampleError, match=r'replace it with errors="replace"'):
            list(loader)
    assert hr.read("a.txt", errors="strict").batch(2).recipe() == hr.read("a.txt").batch(2).recipe()
    for wrong in ("ignore", "replaec", 1, None):
        with pytest.raises(RecipeError, match=r"read.*errors.*strict"):
            hr.read("a.txt", errors=wrong).loader()
    with pytest.raises(RecipeError, match=r'read.*errors is "replaec": did you mean "replace"'):
        hr.read("a.txt", errors="replaec").loader()


def test_states_know_it():
    Path("a.txt").write_bytes(b"caf\xe9\n" * 4)
    with hr.read("a.txt", errors="replace").batch(1).loader(epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with hr.read("a.txt").batch(1).loader(epochs=1) as loader, pytest.raises(hr.StateMismatch, match=r'read.*errors="replace"'):
        loader.load_state_dict(state)


def test_metadata():
    for i in range(2):
        Path(f"{i}.bin").write_bytes(b"x")
    Path("m.csv").write_bytes(b"file_name,l\xe9gende\n0.bin,caf\xe9\n1.bin,\xff\xff\n")
    with hr.files("*.bin", metadata="m.csv", errors="replace").loader(epochs=1) as loader:
        assert [s["l\ufffdgende"] for s in loader] == ["caf\ufffd", "\ufffd\ufffd"]
    with pytest.raises(SourceError, match=r'errors="replace"'):
        hr.files("*.bin", metadata="m.csv").loader()
    Path("m.csv").write_bytes(b"file_name,t\n0.bin,caf\xe9\n1.bin,b\n")
    with pytest.raises(SourceError, match=r'errors="replace"'):
        hr.files("*.bin", metadata="m.csv").loader()
    for given in ("*.bin", ["0.bin"]):
        with pytest.raises(RecipeError, match=r"errors.*metadata"):
            hr.files(given, errors="replace")

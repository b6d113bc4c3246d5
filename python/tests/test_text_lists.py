"""Lists of text, as captions are stored: a list of str per sample, from every format and through every door."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import functions
import headrace as hr
import record_files
from headrace._client.program import find_program
from headrace.errors import HeadraceError, RecipeError, SampleError, SourceError

CAPTIONS = [["a", "b"], [], ["ümlaut 😀", ""], ["x"] * 9, None, ["q", None], ["last"]]
DEEP = [[["a"], []], [], [["b", "c"], ["d"]], [[]], [["e"]], [["f"]], [["g"], ["h"]]]
DEEP[5] = [["f", None], None]
GOOD = [0, 1, 2, 3, 5, 6]
READ = [*CAPTIONS[:5], ["q", ""], CAPTIONS[6]]  # what is null in a list is empty
READ_DEEP = [*DEEP[:5], [["f", ""], []], DEEP[6]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_shards()
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HEADRACE_CACHE", str(folder / "cache"))


def write_shards():
    table = pa.table({"captions": CAPTIONS, "deep": DEEP, "n": range(7), "structs": [[{"name": "s", "k": 1}]] * 7})
    pq.write_table(table, "a.parquet", row_group_size=4)
    for name, new, codec in (("a.arrow", pa.ipc.new_stream, None), ("z.arrow", pa.ipc.new_file, "zstd")):
        with pa.OSFile(name, "wb") as f, new(f, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
            for batch in table.to_batches(max_chunksize=3):
                w.write_batch(batch)
    lines = [json.dumps(row) for row in table.to_pylist()]
    with open("a.jsonl", "w") as f:
        f.write("\n".join(lines))
    pq.write_table(pa.table({"json": lines}), "j.parquet")
    with tarfile.open("a.tar", "w") as out:
        for i, line in enumerate(lines):
            for suffix, data in (("json", line), ("tags.json", json.dumps(CAPTIONS[i]))):
                info = tarfile.TarInfo(f"{i}.{suffix}")
                info.size = len(data.encode())
                out.addfile(info, io.BytesIO(data.encode()))


SHARDS = {"a.parquet": "", "a.arrow": "", "z.arrow": "", "a.jsonl": "", "j.parquet": "json.", "a.tar": "json."}


def read(name):
    return hr.read(name, fields={k: SHARDS[name] + k for k in ("captions", "deep", "n")})


@pytest.mark.parametrize("name", SHARDS)
def test_formats(name):
    with read(name).loader(epochs=1, on_error="skip") as loader:
        samples = list(loader)
        errors = [str(e) for e in loader.errors]
    assert [s["n"] for s in samples] == GOOD
    assert [s["captions"] for s in samples] == [READ[i] for i in GOOD]
    assert [s["deep"] for s in samples] == [READ_DEEP[i] for i in GOOD]
    assert all(type(s["captions"]) is list for s in samples)
    assert len(errors) == 1  # a list that is null
    for what in ("captions", "no value (null)", "sample 4"):
        assert what in errors[0]


@pytest.mark.parametrize("name", SHARDS)
def test_nulls(name):
    """A value for null is that of lists that are null. A null in a list is the empty text, with it or without."""
    column = SHARDS[name] + "captions"
    fields = {"captions": (column, None, []), "none": (column, "is_null")}
    with hr.read(name, fields=fields).batch(7).loader(epochs=1) as loader:
        batch = next(iter(loader))
    assert batch["captions"] == [READ[i] or [] for i in range(7)]
    assert list(batch["none"]) == [v is None for v in CAPTIONS]


def test_text_beneath_a_null():
    """Arrow allows text where the validity says that there is none. Its place says nothing of it, so it is refused."""
    words = pa.array(["a", "hidden", "c"])
    words = pa.StringArray.from_buffers(3, *words.buffers()[1:], pa.py_buffer(b"\x05"), 1)
    lists = pa.ListArray.from_arrays([0, 2, 3], words)
    assert lists.to_pylist() == [["a", None], ["c"]]
    table = pa.table({"t": lists})
    with pa.OSFile("beneath.arrow", "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)
    with pytest.raises(HeadraceError, match="no value \\(null\\), and text beneath"):
        hr.read("beneath.arrow", fields=["t"]).loader()


def test_members_of_structs():
    with hr.read("a.parquet", fields=["structs.name"]).loader(epochs=1) as loader:
        assert next(iter(loader))["structs.name"] == ["s"]


def test_batches_and_functions():
    with read("a.parquet").batch(3).loader(epochs=1, on_error="skip") as loader:
        batch = next(iter(loader))
        assert batch["captions"] == CAPTIONS[:3]
        assert type(batch["captions"][0]) is list
        assert batch["deep"] == DEEP[:3]
        assert loader.schema["captions"][:3] == ("text", None, (None,))
        assert loader.schema["deep"].shape == (None, None)
    functions_of_all_kinds = read("a.parquet").map(functions.longest_caption).map(functions.one_more_caption, where="thread")
    with functions_of_all_kinds.batch(2).map(functions.count_captions).loader(epochs=1, on_error="skip") as loader:
        batch = next(iter(loader))
        assert batch["captions"] == [["a", "b", "more", "and more"], ["more", "and more"]]
        assert batch["longest"] == ["more", "more"]
        assert batch["both"][0] == [["a"], "other"]
        assert batch["deep"] == DEEP[:2]
        assert list(batch["counts"]) == ["4", "2"]
    with read("a.arrow").batch(3).unbatch().loader(epochs=1, on_error="skip") as loader:
        assert [s["captions"] for s in loader] == [READ[i] for i in GOOD]
    with read("a.jsonl").batch(2, collate=functions.all_captions).loader(epochs=1, on_error="skip") as loader:
        assert next(iter(loader))["all"] == CAPTIONS[:2]
    with hr.merge([read("a.parquet"), hr.read("a.jsonl", fields=["n"])], fill=0).loader(epochs=1, on_error="skip") as loader:
        assert [] in [s["captions"] for s in loader]  # fills


def test_resume():
    pipeline = read("z.arrow").shuffle().batch(2).unbatch().batch(1)
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        whole = [b["captions"] for b in loader]
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        batches = iter(loader)
        got = [next(batches)["captions"] for _ in range(2)]
        state = loader.state_dict()
    with pipeline.loader(epochs=1, on_error="skip") as loader:
        loader.load_state_dict(state)
        got += [b["captions"] for b in loader]
    assert got == whole


def test_types_in_fields():
    with hr.read("a.tar", fields={"tags": ("tags.json", (str, (None,)))}).loader(epochs=1, on_error="skip") as loader:
        assert [s["tags"] for s in loader] == [READ[i] for i in GOOD]
    with hr.read("a.jsonl", fields={"text": ("captions", str)}).loader(epochs=1, on_error="skip") as loader:
        assert json.loads(next(iter(loader))["text"]) == CAPTIONS[0]
    for name in ("a.jsonl", "a.parquet", "a.arrow"):
        with hr.read(name, fields={"c": ("captions", (str, (2,)))}).loader(epochs=1, on_error="skip") as loader:
            assert [s["c"] for s in loader] == [READ[0], READ[2], READ[5]]
            assert "0 texts as text [2]" in str(loader.errors[0])
    for name, kind, why in (
        ("a.parquet", (str, (None, 2)), "only how many lists there are"),
        ("a.parquet", (str, (None, None, None)), "can be 2 deep"),
        ("a.parquet", str, "it is text"),
        ("a.parquet", (str, (None, None)), "it is text"),
    ):
        with pytest.raises((RecipeError, SourceError), match=why):
            hr.read(name, fields={"c": ("captions", kind)}).loader()


def test_tfrecord():
    """A bytes_list of any length, where the fields say so; otherwise the error says how."""
    lists = [["a", "b"], [], ["ümlaut"], ["c"]]
    records = [record_files.example({"t": [x.encode() for x in texts], "n": np.array([i])}) for i, texts in enumerate(lists)]
    records += [record_files.example({"n": np.array([4])}), record_files.example({"t": [b"\xff", b""], "n": np.array([5])})]
    Path("t.tfrecord").write_bytes(record_files.tfrecord(records))
    fields = {"t": ("t", (str, (None,))), "n": "n"}
    with hr.read("t.tfrecord", fields=fields).batch(2).loader(epochs=1, on_error="skip") as loader:
        assert [t for batch in loader for t in batch["t"]] == [*lists, []]
        assert "it is not UTF-8" in str(loader.errors[0])
    with hr.read("t.tfrecord", fields=fields, errors="replace").loader(epochs=1) as loader:
        assert [s["t"] for s in loader][4:] == [[], ["\ufffd", ""]]
    remedy = r'it has 2 values of bytes.*fields=\{"t": \("t", \(str, \(None,\)\)\)\}'
    with pytest.raises(SourceError, match=remedy):
        hr.read("t.tfrecord").loader()
    with hr.read("t.tfrecord", fields=["t"]).loader(epochs=1) as loader, pytest.raises(SampleError, match=remedy):
        list(loader)


def test_json_of_other_kinds():
    """Only lists of nothing but text are lists of text; what comes later has to be one."""
    rows = [{"a": [], "b": ["x", 1], "c": ["x", ["y"]]}, {"a": ["t"], "b": [], "c": []}, {"a": "t", "b": [], "c": []}]
    with open("b.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    with hr.read("b.jsonl").loader(epochs=1, on_error="skip") as loader:
        got = [(s["a"], s["b"], s["c"]) for s in loader]
        assert '"t" is not a list of text' in str(loader.errors[0])
    assert got == [([], '["x", 1]', '["x", ["y"]]'), (["t"], "[]", "[]")]


def test_metadata():
    for i in range(3):
        Image.new("RGB", (8, 8)).save(f"{i}.png")
    with open("metadata.jsonl", "w") as f:
        f.writelines(json.dumps({"file_name": f"{i}.png", "captions": CAPTIONS[i]}) + "\n" for i in (2, 0, 1))
    with hr.files("*.png", metadata="metadata.jsonl").decode_image().resize([8, 8]).batch(3).loader(epochs=1) as loader:
        assert next(iter(loader))["captions"] == CAPTIONS[:3]


def test_what_cannot_have_them():
    with pytest.raises(RecipeError, match=r'cannot pack the field "captions", which is lists of text'):
        hr.read("a.parquet", fields={"captions": "captions", "n": ("structs.k", ("int64", (None,)))}).pack(length=4, size=1).loader()
    with open("c.csv", "w") as f:
        f.write("a\nb\n")
    with (
        hr.read("c.csv", fields={"a": ("a", (str, (None,)))}).loader(epochs=1) as loader,
        pytest.raises(HeadraceError, match="a table cannot hold"),
    ):
        next(iter(loader))


def test_written():
    """`headrace run` writes what can hold lists, and refuses what cannot."""
    Path("r.yaml").write_text(
        "headrace: 1\nsteps:\n  - read: {from: a.parquet, fields: [captions, deep]}\n  - batch: {size: 2}\nloader: {on_error: skip}\n"
    )

    def run(out):
        return subprocess.run([find_program(), "run", "r.yaml", "--quiet", "--out", out], capture_output=True, text=True)

    want = [{"captions": READ[i], "deep": READ_DEEP[i]} for i in GOOD]
    assert run("jsonl:out/%05d.jsonl").returncode == 3  # some were bad
    lines = (json.loads(line) for path in sorted(Path("out").glob("*.jsonl")) for line in path.read_text().splitlines())
    assert [{k: line[k] for k in want[0]} for line in lines] == want
    assert run("tar:tar/%05d.tar").returncode == 3  # some were bad
    with hr.read("tar/*.tar", fields={k: (f"{k}.json", (str, (None,) * n)) for k, n in (("captions", 1), ("deep", 2))}).loader(
        epochs=1
    ) as loader:
        assert [{k: s[k] for k in want[0]} for s in loader] == want
    assert run("npy:npy").returncode == 3  # some were bad
    assert [json.loads(line) for line in Path("npy/captions.jsonl").read_text().splitlines()] == [w["captions"] for w in want]
    for kind in ("parquet", "tfrecord"):
        done = run(f"{kind}:{kind}/%05d.{kind}")
        assert done.returncode == 2
        assert "captions is lists of text, which jsonl, npy and tar can hold" in done.stderr
    shown = subprocess.run([find_program(), "inspect", "r.yaml", "--samples", "1"], capture_output=True, text=True).stdout
    assert 'captions ["a","b"]' in shown, shown
    shown = subprocess.run([find_program(), "inspect", "a.parquet"], capture_output=True, text=True).stdout
    assert "text [?]" in shown, shown

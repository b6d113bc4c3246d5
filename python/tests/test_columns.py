"""Columns of tables keep their types; what cannot be read is refused, and nothing is left out without a word."""

import io
import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import headrace as hr
from headrace._client.program import find_program
from headrace.errors import SampleError, SourceError

pytestmark = pytest.mark.usefixtures("one_engine")

FLOATS = ("float16", "float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))  # of the command


def write(name, **columns):
    table = pa.table(columns)
    if name.endswith(".parquet"):
        pq.write_table(table, name, row_group_size=3)
        return name
    with pa.OSFile(name, "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        for batch in table.to_batches(max_chunksize=3):
            w.write_batch(batch)
    return name


def rows(path, fields=None, **options):
    with hr.read(path, fields=fields, **options).loader(epochs=1) as loader:
        return [dict(s) for s in loader]


def types(path, fields=None):
    with hr.read(path, fields=fields).loader(epochs=1) as loader:
        return {name: (f.kind, f.dtype, f.shape) for name, f in loader.schema.items() if name != "key"}


def column(dtype):
    kind = getattr(pa, dtype + "_" * (dtype == "bool"))()
    if dtype == "bool":
        return pa.array([True, False, True, True], kind)
    if dtype in FLOATS:
        return pa.array(np.array([0.1, -np.inf, 1e-5, 3], dtype), kind)
    limits = np.iinfo(dtype)
    return pa.array([int(limits.min), int(limits.max), 0, 1], kind)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_numbers_keep_their_types(name):
    columns = {dtype: column(dtype) for dtype in (*FLOATS, *WHOLE)}
    write(name, **columns)
    assert types(name) == {dtype: ("tensor", dtype, ()) for dtype in columns}
    with hr.read(name).batch(4).loader(epochs=1) as loader:
        batch = next(iter(loader))
        for dtype, values in columns.items():
            want = np.array(values.to_pylist(), dtype)
            assert batch[dtype].dtype == want.dtype
            np.testing.assert_array_equal(batch[dtype], want)
    dictionary = write("d" + name[1:], v=column("int16").dictionary_encode())
    assert types(dictionary)["v"][1] == "int16"


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_numbers_that_are_converted(name):
    write(name, v=pa.array([1, 300, 2**63 + 2**60], pa.uint64()))
    for dtype in FLOATS:
        with hr.read(name, fields={"v": ("v", dtype)}).loader(epochs=1, on_error="skip") as loader:
            got = [s["v"] for s in loader]
        np.testing.assert_array_equal(got, np.array([1, 300, 2**63 + 2**60][: 2 if dtype == "float16" else 3], "float64").astype(dtype))
    with hr.read(name, fields={"v": ("v", "uint8")}).loader(epochs=1, on_error="skip") as loader:
        assert [int(s["v"]) for s in loader] == [1]
        assert "300 is not valid as uint8" in str(loader.errors[0])
        assert f"{2**63 + 2**60} is not valid as uint8" in str(loader.errors[1])
    write(name, v=pa.array([0.5, 2.0, 65519.99, np.inf]))
    got = [s["v"] for s in rows(name, {"v": ("v", "float16")})]
    np.testing.assert_array_equal(got, np.array([0.5, 2, 65504, np.inf], "float16"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "string", "binary", "list"])
def test_a_null_is_a_bad_sample(name, dtype):
    """Of whole numbers, text, bytes and lists: in all formats, and named by row and column."""
    values = {"string": ["a", None, "", "d"], "binary": [b"a", None, b"", b"d"], "list": [[1], None, [], [4]]}
    kinds = {"string": pa.string(), "binary": pa.binary(), "list": pa.list_(pa.int32())}
    c = pa.array(values[dtype], kinds[dtype]) if dtype in values else pa.array([1, None, 0, 1], pa.int8()).cast(column(dtype).type)
    write(name, v=c, other=["x"] * 4)
    with pytest.raises(SampleError, match=rf'field "v": no value \(null\)(.|\n)*{name}, sample 1'):
        rows(name, ["v"])
    with hr.read(name, fields=["v"]).loader(epochs=1, on_error="skip") as loader:
        got = [s["v"] for s in loader]
    if dtype in ("string", "binary"):
        assert [g if isinstance(g, str) else bytes(g) for g in got] == [v for v in values[dtype] if v is not None]
    else:
        assert [np.asarray(g).tolist() for g in got] == [v for v in c.to_pylist() if v is not None]
    with pytest.raises(SourceError, match=rf'no value \(null\): "v": in 1 of 4 samples, as in sample 1 of {name}'):
        hr.read(name).loader()
    assert [s["other"] for s in rows(name, ["other"])] == ["x"] * 4
    if dtype in WHOLE:
        got = [s["v"] for s in rows(name, {"v": ("v", "float64")})]
        np.testing.assert_array_equal(got, [1, np.nan, 0, 1])


NULLS = {
    "int64": [1, None, 3],
    "bool": [True, None, False],
    "text": ["a", None, "c"],
    "text [?]": [["a"], None, ["c"]],
    "bytes": [b"a", None, b"c"],
}


KINDS = {".parquet": [*NULLS], ".arrow": [*NULLS], ".jsonl": ["int64", "bool", "text", "text [?]"], ".csv": ["int64"]}


@pytest.mark.parametrize(("suffix", "kind"), [(suffix, kind) for suffix, kinds in KINDS.items() for kind in kinds])
def test_a_null_says_what_to_write(suffix, kind):
    """The words are those of numbers, and what they say works."""
    values, name = NULLS[kind], "a" + suffix
    if suffix == ".jsonl":
        Path(name).write_text("".join(json.dumps({"v": v, "n": i}) + "\n" for i, v in enumerate(values)))
    elif suffix == ".csv":
        Path(name).write_text("v,n\n" + "".join(f"{'' if v is None else v},{i}\n" for i, v in enumerate(values)))
    else:
        write(name, v=values, n=[0, 1, 2])
    with pytest.raises(SourceError, match=r'no value \(null\): "v": in 1 of ') as caught:
        hr.read(name).loader()
    lines = str(caught.value).splitlines()
    assert lines[1] == 'to read the others, name them: fields={"n": "n"}'
    assert lines[2].startswith("to leave out samples without a value, name all: fields={")
    assert lines[2].endswith('}, and write .loader(on_error="skip")')
    assert len(rows(name, eval(re.search(r"fields=(\{.*?\})", lines[1])[1]))) == 3
    fields = eval(re.search(r"fields=(\{.*\}), and", lines[2])[1])
    assert fields == {"v": "v", "n": "n"}
    if kind == "int64":
        nan = eval(re.search(r"are rounded, fields=(.*)", lines[0])[1])
        np.testing.assert_array_equal([s["v"] for s in rows(name, nan)], [1, np.nan, 3])
    filled = eval(re.search(r"give a value for it, (?:as in )?fields=(\{.*?\})", lines[0])[1])
    null = rows(name, filled)[1]["v"]
    assert len(rows(name, filled)) == 3
    assert null == type(null)() if isinstance(null, (str, list)) else not np.any(null)
    whole = (
        re.escape(f", and {kind} needs one")
        + r'(: give the value for null, as in .*)?\n(.|\n)*\n  \.loader\(on_error="skip"\) leaves such samples out'
    )
    with pytest.raises(SampleError, match=whole) as caught:
        rows(name, fields)
    assert caught.value.index == 1
    with hr.read(name, fields=fields).loader(epochs=1, on_error="skip") as loader:
        assert [int(s["n"]) for s in loader] == [0, 2]


def test_a_column_of_nulls_alone_says_nothing_of_leaving_out():
    write("a.parquet", v=pa.array([None, None], pa.string()), n=[0, 1])
    with pytest.raises(SourceError, match=r'"v": in 2 of 2') as caught:
        hr.read("a.parquet").loader()
    assert "leave out" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_null_is_nan_in_floats(name, dtype):
    write(name, v=pa.array(np.array([1, 0, 2], dtype), mask=np.array([False, True, False])))
    np.testing.assert_array_equal([s["v"] for s in rows(name)], np.array([1, np.nan, 2], dtype))
    assert types(name)["v"][1] == dtype


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("first", [0, 1])
def test_nothing_is_left_out_without_a_word(suffix, first):
    image = pa.array([b"a", b"b"])
    good = write("good" + suffix, bytes=image, label=[0, 1])
    bad = {
        "null": (pa.array([0, None]), r'no value \(null\): "label": in 1 of 4 samples, as in sample 1 of bad'),
        "decimals": (
            pa.array([1, 2]).cast(pa.decimal128(21, 2)),
            '"label": it is text decimal128.21, 2. in bad.*, and int64 in good.*\\nto read',
        ),
        "another type": (pa.array([1, 2], pa.int32()), '"label": it is int(64|32) in .*, and int(32|64) in'),
        "text": (pa.array(["a", "b"]), '"label": it is text in bad.*, and int64 in good'),
        "all null": (pa.array([None, None], pa.int64()), '"label": in 2 of 4 samples'),
        "another width": (pa.array([[1], [2]], pa.list_(pa.int32())), r'"label": it is int32 \[\?\] in bad.*, and int64 in good'),
    }
    for what, (label, says) in bad.items():
        write("bad" + suffix, bytes=image, label=label)
        shards = [good, "bad" + suffix] if first == 0 else ["bad" + suffix, good]
        with pytest.raises(SourceError, match=says) as raised:
            hr.read(shards).loader()
        assert 'fields={"bytes": "bytes"}' in str(raised.value), what
        assert len(rows(shards, ["bytes"])) == 4
    write("bad" + suffix, bytes=image, label=bad["another type"][0])
    assert [int(s["label"]) for s in rows([good, "bad" + suffix], {"label": ("label", "int16")})] == [0, 1, 1, 2]
    write("bad" + suffix, bytes=image)
    with pytest.raises(SourceError, match='"label": in 2 of 4 samples'):
        hr.read([good, "bad" + suffix]).loader()
    with pytest.raises(SampleError, match='"label": no value'):
        rows(["bad" + suffix, good], ["label"])
    np.testing.assert_array_equal(
        [s["label"] for s in rows([good, "bad" + suffix], {"label": ("label", "float32")})], [0, 1, np.nan, np.nan]
    )


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_column_without_a_value_is_a_column(suffix):
    for kind in (pa.string(), pa.binary(), pa.list_(pa.int32()), pa.int64()):
        path = write("only" + suffix, v=pa.array([None, None], kind))
        with pytest.raises(
            SourceError, match=r'"v": in 2 of 2 samples, as in sample 0(.|\n)*no other column is left that can be read as it is'
        ):
            hr.read(path).loader()
        with pytest.raises(SampleError, match='"v": no value'):
            rows(path, ["v"])


def test_tables_of_metadata_leave_nothing_out():
    for i in range(2):
        with open(f"{i}.bin", "wb") as f:
            f.write(b"x")
    write("metadata.parquet", file_name=["0.bin", "1.bin"], tag=[[b"a"], [b"b"]], size=pa.array([1.5, 2.5], pa.float32()))

    def files(**options):
        with hr.files("*.bin", metadata="metadata.parquet", **options).loader(epochs=1) as loader:
            assert loader.schema["size"].dtype == "float32"
            return [s["size"] for s in loader]

    with pytest.raises(SourceError, match=r'"tag": it is a list(.|\n)*fields={"size": "size"}'):
        files()
    got = files(fields=["size"])
    assert [float(v) for v in got] == [1.5, 2.5]


def test_inspect_says_the_same():
    write("a.parquet", bytes=[b"a"], label=pa.array([{}], pa.map_(pa.string(), pa.int8())))
    out = subprocess.run([find_program(), "inspect", "a.parquet", "--json"], capture_output=True, check=True).stdout
    found = json.loads(out)
    assert found["refused"] == ["label: it is a map, which has no place in a batch"]
    assert found["read"] == 'hr.read("a.parquet", fields={"bytes": "bytes"})'


def lines(*objects, name="a.jsonl"):
    with open(name, "w") as f:
        f.writelines(json.dumps(o) + "\n" for o in objects)
    return name


def members(*objects):
    """The same in a tar file, as a part that is JSON."""
    with tarfile.open("a.tar", "w") as out:
        for i, o in enumerate(objects):
            data = json.dumps(o).encode()
            info = tarfile.TarInfo(f"{i}.json")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return "a.tar"


def column_of(*objects):
    """The same in a column of text of Parquet."""
    return write("json.parquet", json=[json.dumps(o) for o in objects])


VALUES = {"text": "a", "int64": 5, "float64": 0.5, "bool": True, "list": ["a"], "object": [{"a": 1}]}


@pytest.mark.parametrize("form", [lines, members, column_of])
@pytest.mark.parametrize("first", VALUES)
def test_values_are_of_the_type_of_the_first(form, first):
    """In JSON, wherever it is. A value of another type is a bad sample, which names row and column."""
    others = [*({"c": v} for v in VALUES.values()), {"c": None}, {}]
    path = form({"c": VALUES[first]}, *others)
    name = "c" if form is lines else "json.c"
    alike = {"object": ["list", "object"], "float64": ["int64", "float64"]}.get(first, [first])
    values = [VALUES[k] for k in [first, *sorted(alike, key=[*VALUES].index)]]
    want = [json.dumps(v) if first == "object" else v for v in values]
    with hr.read(path, fields={"c": name}).loader(epochs=1, on_error="skip") as loader:
        got = [s["c"] for s in loader]
        errors = [str(e) for e in loader.errors]
    if first == "float64":
        assert np.isnan(got[-2:]).all()
        got = got[:-2]
    assert got == want
    assert [isinstance(g, str) for g in got] == [isinstance(w, str) for w in want]
    bad = [i + 1 for i, k in enumerate([*VALUES, None, None]) if k not in alike and (k or first != "float64")]
    assert len(errors) == len(bad)
    for error, row in zip(errors, bad, strict=True):
        assert f'field "{name}"' in error
        assert f"in {path}, sample {row}" in error
        assert "give the field's type in fields, such as" in error or row > len(VALUES)  # where there is a value
    with hr.read(path, fields={"c": (name, str)}).loader(epochs=1, on_error="skip") as loader:
        assert len(list(loader)) == 1 + len(VALUES)  # which any value can be


def test_fields_that_the_first_object_lacks():
    path = lines({"a": 1}, {"a": 2, "b": {"c": "late"}})
    with pytest.raises(
        SourceError, match=r'"b\.c": in 1 of the first 2 records; give a value for it, .*\nto read the others, name them: fields={"a": "a"}'
    ):
        hr.read(path).loader()
    assert len(rows(path, ["a"])) == 2
    path = lines(*[{"a": i} for i in range(150)], {"a": 1, "b": {"c": None}}, {"a": 1, "b": {"c": 7}}, name="late.jsonl")
    with hr.read(path).loader(epochs=1, on_error="skip") as loader:
        assert len(list(loader)) == 151
        assert 'it has the field "b.c", which the first ones lack' in str(loader.errors[0])
        assert "sample 151" in str(loader.errors[0])


def test_types_are_those_of_the_first_values_that_are_not_null():
    path = lines({"a": None, "b": [], "c": None}, {"a": 7, "b": [[1, 2, 3, 4]], "c": None})
    with hr.read(path, fields=["a", "b"]).loader(epochs=1, on_error="skip") as loader:
        assert (loader.schema["a"].dtype, loader.schema["b"].shape) == ("int64", (None, 4))
    with pytest.raises(SourceError, match=r'"c": it has no value in the first 2 records, so its type is not known: give it'):
        hr.read(path, fields=["c"]).loader()
    assert np.isnan([s["c"] for s in rows(path, {"c": ("c", "float32")})]).all()


def test_lists_of_lists_are_arrays():
    boxes = [[[1, 2, 3, 4], [5, 6, 7, 8]], [], [[9, 9, 9, 9]]]
    for s, want in zip(rows(lines(*[{"objects": {"bbox": b}} for b in boxes]), {"boxes": "objects.bbox"}), boxes, strict=True):
        assert s["boxes"].shape == (len(want), 4)
        assert s["boxes"].tolist() == want
    with pytest.raises(SampleError, match="a list has 3 elements, want 4"):
        rows(lines({"b": [[1, 2, 3, 4.5]]}, {"b": [[1, 2, 3]]}), ["b"])
    ragged = rows(lines({"b": [[1], [2, 3]]}, {"b": ["x"]}), ["b"])
    assert [json.loads(s["b"]) for s in ragged] == [[[1], [2, 3]], ["x"]]
    np.testing.assert_array_equal(rows(lines({"b": [0.5, None]}), ["b"])[0]["b"], [0.5, np.nan])
    with pytest.raises(SampleError, match=r"no value \(null\)"):
        rows(lines({"b": [5, None]}), ["b"])


def test_tables_of_text():
    def csv(name, text):
        with open(name, "wb") as f:
            f.write(text)
        return name

    late = csv("a.csv", b"n,t\n,\n1,x\n2,\n")
    with hr.read(late, fields=["n", "t"]).loader(epochs=1, on_error="skip") as loader:
        assert [(int(s["n"]), s["t"]) for s in loader] == [(1, "x"), (2, "")]
        assert 'field "n": no value (null), and int64 needs one' in str(loader.errors[0])
    with pytest.raises(SourceError, match='"n": in 1 of the first 3 records'):
        hr.read(late).loader()
    with pytest.raises(SampleError, match=r'field "n": "true" is not valid as int64(.|\n)*sample 1'):
        rows(csv("b.csv", b"n\n1\ntrue\n"))
    assert [bool(s["n"]) for s in rows("b.csv", {"n": ("n", "bool")})] == [True, True]
    csv("c.csv", b"n,more\n1,2\n")
    with pytest.raises(SourceError, match='"more": in 2 of the first 3 records'):
        rows(["b.csv", "c.csv"])


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.tar", "a.parquet", "a.arrow"])
def test_text_is_utf8(name):
    broken = b"caf\xe9"
    field = {"a.txt": "text", "a.tar": "txt"}.get(name, "t")
    if name == "a.tar":
        with tarfile.open(name, "w") as out:
            for i, data in enumerate([b"caf\xc3\xa9", broken]):
                info = tarfile.TarInfo(f"{i}.txt")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
    elif name.endswith(("parquet", "arrow")):
        write(name, t=pa.array([b"caf\xc3\xa9", broken]).view(pa.string()))
    else:
        line = {"a.txt": b"%s\n", "a.csv": b'"%s"\n', "a.jsonl": b'{"t": "%s"}\n'}[name]
        with open(name, "wb") as f:
            f.write((b"t\n" if name == "a.csv" else b"") + line % b"caf\xc3\xa9" + line % broken)
    with pytest.raises(SampleError, match=rf'field "{field}": damaged: it is not UTF-8 \(byte 0xe9 at 3\)(.|\n)*sample 1'):
        rows(name)
    if name != "a.jsonl":
        assert [bytes(s["b"]) for s in rows(name, {"b": (field, bytes)})] == [b"caf\xc3\xa9", broken]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_boxes_as_the_hub_stores_them(suffix):
    image = io.BytesIO()
    Image.new("RGB", (40, 30)).save(image, "PNG")
    boxes = [[[1, 2, 11, 12], [20, 5, 30, 25]], [], [[0, 0, 40, 30]]]
    category = [[1, 2], [], [3]]
    forms = {
        "struct": pa.array([{"bbox": b, "category": c} for b, c in zip(boxes, category, strict=True)],
            pa.struct([("bbox", pa.list_(pa.list_(pa.float32(), 4))), ("category", pa.list_(pa.int64()))])),
        "list": pa.array([[{"bbox": b, "category": c} for b, c in zip(*row, strict=True)] for row in zip(boxes, category, strict=True)],
            pa.list_(pa.struct([("bbox", pa.list_(pa.float32())), ("category", pa.int64())]))),
    }  # fmt: skip
    for form, objects in forms.items():
        path = write(form + suffix, image=[{"bytes": image.getvalue(), "path": None}] * 3, objects=objects)
        fields = {"bytes": "image.bytes", "boxes": "objects.bbox", "labels": "objects.category"}
        pipeline = hr.read(path, fields=fields).decode_image().boxes(along="labels").resize((15, 20))
        with pipeline.loader(epochs=1) as loader:
            got = list(loader)
        for s, b, c in zip(got, boxes, category, strict=True):
            np.testing.assert_allclose(s["boxes"], np.array(b, "float32").reshape(-1, 4) / 2)
            assert s["labels"].tolist() == c


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_lists_of_lists_keep_their_lengths(suffix):
    """As pyarrow knows them, and as the Hub's Array2D is stored."""

    class Array2D(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.list_(pa.list_(pa.float32())), "datasets.features.features.Array2DExtensionType")

        def __arrow_ext_serialize__(self):
            return json.dumps([[2, 3], "float32"]).encode()

    values = [[[i, 1, 2], [3, 4, 5]] for i in range(5)]
    array = pa.ExtensionArray.from_storage(Array2D(), pa.array(values, Array2D().storage_type))
    fixed = pa.array(values, pa.list_(pa.list_(pa.int8(), 3), 2))
    path = write("a" + suffix, array=array, fixed=fixed, emb=pa.array([v[0] for v in values], pa.list_(pa.float16(), 3)))
    assert {k: t[1:] for k, t in types(path).items()} == {
        "array": ("float32", (2, 3)), "fixed": ("int8", (2, 3)), "emb": ("float16", (3,)),
    }  # fmt: skip
    with hr.read(path).batch(5).loader(epochs=1) as loader:
        batch = next(iter(loader))
        for name in ("array", "fixed"):
            np.testing.assert_array_equal(batch[name], values)
    # A shard without lists, and one of which they are longer.
    path = [
        write("b" + suffix, v=pa.array([[], []], pa.list_(pa.list_(pa.int32())))),
        write("c" + suffix, v=pa.array([[[1, 2]]], pa.list_(pa.list_(pa.int32())))),
    ]
    assert [s["v"].tolist() for s in rows(path)] == [[], [], [[1, 2]]]
    write("b" + suffix, v=pa.array([[[1, 2, 3]]], pa.list_(pa.list_(pa.int32()))))
    with pytest.raises(SourceError, match=r'"v": it is int32 \[\?, 3\] in b.*, and int32 \[\?, 2\] in c'):
        rows(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_changed_byte_of_a_zip_is_found(method):
    """In a member it is a bad sample; of an array, rows are read alone, and the file is refused."""
    content = b"hello world, hello world, hello" * 3
    with zipfile.ZipFile("a.zip", "w") as z:
        for i in range(3):
            z.writestr(zipfile.ZipInfo(f"{i}.bin"), content, method)
    with open("a.zip", "r+b") as f:
        data = f.read()
        f.seek(data.find(b"hello", data.find(b"1.bin")) if method == zipfile.ZIP_STORED else data.find(b"1.bin") + 9)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 4]))
    with hr.read("a.zip").loader(epochs=1, on_error="skip") as loader:
        assert [bytes(s["bin"]) for s in loader] == [content] * 2
        assert "damaged" in str(loader.errors[0])

    (np.savez if method == zipfile.ZIP_STORED else np.savez_compressed)("a.npz", x=np.arange(3000).reshape(1000, 3), y=np.ones(1000))
    assert [s["x"].tolist() for s in rows("a.npz")] == np.arange(3000).reshape(1000, 3).tolist()
    with open("a.npz", "r+b") as f:
        f.seek(900)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 4]))
    with pytest.raises((SourceError, SampleError), match='checksum of array "x" is wrong' if method == zipfile.ZIP_STORED else "damaged"):
        rows("a.npz")


def test_samples_without_fields_are_refused():
    for data in (b"{}\n{}\n", b'{"a": {}}\n'):
        with open("e.jsonl", "wb") as f:
            f.write(data)
        with pytest.raises(SourceError, match=r"the samples of e\.jsonl have no fields; leave the file out, or .*__key__"):
            rows("e.jsonl")
        assert [s["key"] for s in rows("e.jsonl", {"key": "__key__"})] == [f"e.jsonl[{i}]" for i in range(data.count(b"\n"))]
    with open("e.csv", "w") as f:
        f.write('""\n1\n')  # the index that pandas writes, and nothing else
    with pytest.raises(SourceError, match=r"the samples of e\.csv have no fields"):
        rows("e.csv")


@pytest.mark.parametrize(
    ("line", "read"), [({"": 1}, "no other column is left that can be read as it is"), ({"a": 1, "": 2}, 'fields={"a": "a"}')]
)
def test_a_member_whose_name_is_empty_is_refused(line, read):
    with pytest.raises(SourceError, match=re.escape('"": its name is empty, and a field needs one') + "(.|\n)*" + re.escape(read)):
        rows(lines(line, line))
    if "a" in line:
        assert [s["a"] for s in rows(lines(line, line), {"a": "a"})] == [1, 1]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.jsonl"])
def test_a_number_that_a_short_float_cannot_hold_is_a_bad_sample(name):
    for values, dtype in (
        ([1.5, 1e39, np.inf], "float32"),
        ([2.5, 65520.0, -np.inf], "float16"),
        ([1, 70000, -65504], "float16"),
        ([1.0, 3.4e38, 2.0], "bfloat16"),
        ([1.0, 3.4e38, 2.0], "float32"),
    ):
        if name in ("a.csv", "a.jsonl"):
            text = ["Infinity" if v == np.inf else "-Infinity" if v == -np.inf else repr(v) for v in values]
            with open(name, "w") as f:
                f.write("v\n" * (name == "a.csv") + "".join((t if name == "a.csv" else f'{{"v": {t}}}') + "\n" for t in text))
        else:
            write(name, v=pa.array(values))
        fits = dtype == "float32" and values[1] == 3.4e38
        with hr.read(name, fields={"v": ("v", dtype)}).loader(epochs=1, on_error="skip") as loader:
            read = [float(s["v"]) for s in loader]
            assert read == [float(np.float32(v)) for i, v in enumerate(values) if fits or i != 1]
            assert [e.index for e in loader.errors] == [] if fits else [1]
            assert all(dtype in str(e) for e in loader.errors)


def test_half_a_surrogate_pair_is_a_bad_sample():
    with open("a.jsonl", "w") as f:
        f.write('{"a": "\\ud83d\\ude00"}\n{"a": "\\ud800"}\n{"a": "\\udc00\\ud800"}\n{"a": "\\ud800x"}\n{"a": "\\ufffd"}\n')
    with hr.read("a.jsonl").loader(epochs=1, on_error="skip") as loader:
        assert [s["a"] for s in loader] == ["\U0001f600", "\ufffd"]
        assert ["surrogate" in str(e) for e in loader.errors] == [True] * 3


@pytest.mark.parametrize("name", [b"a\xff", b"\\ud800"])
def test_names_that_are_not_text_are_refused(name):
    with open("a.jsonl", "wb") as f:
        f.write(b'{"a": 1}\n' * 200 + b'{"a": 1, "' + name + b'": 2}\n')
    with hr.read("a.jsonl").loader(epochs=1, on_error="skip") as loader:
        assert len(list(loader)) == 200
        assert "UTF-8" in str(loader.errors[0])
    with open("a.csv", "wb") as f:
        f.write(b"a\xff,b\n1,2\n")
    with pytest.raises(SourceError, match=r"the name of column 1.* is not UTF-8"):
        rows("a.csv")


@pytest.mark.parametrize("line", [{"a.b": 1, "a": {"b": 2}, "c": 3}, {"a": {"b": 2}, "a.b": 1, "c": 3}])
def test_members_with_one_path_are_refused(line):
    why = r"\[.*\] and \[.*\] are both called \"a\.b\""
    with pytest.raises(SourceError, match=why):
        rows(lines(line))
    with pytest.raises(SourceError, match=why):
        rows(lines(line), {"x": "a.b"})
    assert [s["c"] for s in rows(lines(line), {"c": "c"})] == [3]
    path = lines(*[{"a.b": 1, "c": 0}] * 200, line, name="late.jsonl")
    with pytest.raises(SampleError, match=why) as e:
        rows(path, {"x": "a.b"})
    assert e.value.index == 200
    with open("twice.jsonl", "w") as f:
        f.write('{"a.b": 1, "a.b": 2}\n')  # as in Python, the last counts
    assert [s["a.b"] for s in rows("twice.jsonl")] == [2]


def test_text_of_json_in_tar_is_never_replaced():
    with tarfile.open("s.tar", "w") as out:
        for i, data in enumerate([b'{"c": "ok \\ufffd"}', b'{"c": "\\ud800"}', b'{"c": "\xff"}', '{"c": "\ufffd"}'.encode()]):
            member = tarfile.TarInfo(f"{i}.json")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    with hr.read("s.tar", fields={"c": "json.c"}).loader(epochs=1, on_error="skip") as loader:
        assert [s["c"] for s in loader] == ["ok \ufffd", "\ufffd"]
        assert "half of a surrogate pair" in str(loader.errors[0])
        assert 'it is not UTF-8 (byte 0xff at 0): write it as UTF-8, read it as bytes, or replace it with errors="replace"' in str(
            loader.errors[1]
        )


def test_text_in_one_file_and_a_number_in_another(tmp_path, monkeypatch):
    """The first file's values are the type. The error names what does not fit, and the type that reads both."""
    monkeypatch.chdir(tmp_path)
    files = {"a.csv": "x\n1\n2\n", "b.csv": "x\nlow\n3\n", "a.jsonl": '{"x": 1}\n{"x": 2}\n', "b.jsonl": '{"x": "low"}\n{"x": 3}\n'}
    for name, text in files.items():
        Path(name).write_text(text)
    for kind in ("csv", "jsonl"):
        paths = [f"a.{kind}", f"b.{kind}"]
        with hr.read(paths).loader(epochs=1) as loader, pytest.raises(SampleError) as error:
            list(loader)
        for what in ('field "x"', "low", "give the field's type in fields, such as str", f"in b.{kind}, sample 0"):
            assert what in str(error.value)
        for order in (paths, paths[::-1]):
            with hr.read(order, fields={"x": ("x", str)}).loader(epochs=1) as loader:
                assert sorted(s["x"] for s in loader) == ["1", "2", "3", "low"]
        with hr.read(paths, fields={"x": ("x", "int64")}).loader(epochs=1, on_error="skip") as loader:
            assert [s["x"] for s in loader] == [1, 2, 3]

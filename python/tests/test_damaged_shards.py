"""Shards of every format that are cut or rotten: their loader fails with a reason, and another loader of the program goes on."""

import csv
import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import headrace as hr
from conftest import cases, engine_pid

SHARDS = Path(__file__).parents[2] / "shard"
ROWS = 300
TRIES = cases(2, 200)

# The file that is damaged, and what is read: the folder of an index, or the file itself.
GOLDEN = {
    "tfrecord": ("tfrecord/testdata/plain.tfrecord", ""),
    "tfrecord.gz": ("tfrecord/testdata/gzip.tfrecord.gz", ""),
    "mds": ("mds/testdata/plain", "*.mds"),
    "mds.zstd": ("mds/testdata/zstd", "*.mds.zstd*"),
    "mds index": ("mds/testdata/plain", "index.json"),
    "litdata": ("litdata/testdata/plain", "*.bin"),
    "litdata index": ("litdata/testdata/plain", "index.json"),
    "npz": ("zipfile/testdata/deflated.npz", ""),
    "zip": ("zipfile/testdata/bzip2.zip", ""),
    "npy": ("npy/testdata/images.npy", ""),
    "array_record": ("arrayrecord/testdata/zstd.array_record.gz", ""),
    "megatron": ("megatron/testdata", "text.bin"),
    "megatron index": ("megatron/testdata", "text.idx"),
}

FIELDS = {  # of those whose samples have not all the same, or have what is refused
    "zip": {"x": "jpg"},
    "npz": ["images", "labels", "weights"],
    "litdata": ["bytes", "label", "text", "pair.0", "row", "matrix"],
    "litdata index": ["bytes", "label", "text", "pair.0", "row", "matrix"],
    "mds": {"x": "a_bytes", "n": "d_uint8", "s": "b_str", "m": "i_fixed"},
    "mds.zstd": {"x": "a_bytes", "n": "d_uint8", "s": "b_str", "m": "i_fixed"},
    "mds index": {"x": "a_bytes", "n": "d_uint8", "s": "b_str", "m": "i_fixed"},
    "tfrecord": {"x": "image/encoded", "n": "image/class", "s": "score"},
    "tfrecord.gz": {"x": "image/encoded", "n": "image/class", "s": "score"},
    "array_record": {"x": "image/encoded", "n": "image/class", "s": "score"},
}


def lines() -> bytes:
    rng = np.random.default_rng(1)
    return b"".join(json.dumps({"a": i, "b": rng.bytes(20).hex()}).encode() + b"\n" for i in range(ROWS))


def table() -> pyarrow.Table:
    return pyarrow.table({"a": list(range(ROWS)), "b": [f"{i:020}" for i in range(ROWS)], "c": [[i] * 3 for i in range(ROWS)]})


def made(name: str, path: Path) -> None:
    """Write a small shard of a format."""
    if name == "jsonl":
        path.write_bytes(lines())
    elif name == "jsonl.gz":
        path.write_bytes(gzip.compress(lines()))
    elif name == "jsonl.zst":
        path.write_bytes(pyarrow.compress(lines(), "zstd", asbytes=True))
    elif name == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b"], *([i, f'x"{i},\n'] for i in range(ROWS))])
    elif name == "parquet":
        pyarrow.parquet.write_table(table(), path, row_group_size=100)
    elif name == "arrow":
        pyarrow.feather.write_feather(table(), path, compression="lz4")
    elif name == "tar":
        with tarfile.open(path, "w") as tar:
            for i in range(40):
                member = tarfile.TarInfo(f"{i:03}.txt")
                member.size = 10 * i
                tar.addfile(member, io.BytesIO(b"0123456789" * i))
    else:
        raise AssertionError(name)


MADE = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet", "arrow", "tar")


def damaged(data: bytes, rng: np.random.Generator, n: int) -> bytes:
    """The file cut, or with a few bytes that are others."""
    if n % 2 == 0:
        return data[: int(rng.integers(len(data)))]
    rotten = bytearray(data)
    for at in rng.integers(len(data), size=int(rng.integers(1, 8))):
        rotten[at] = int(rng.choice((0, 1, 0x7F, 0x80, 0xFF, int(rng.integers(256)))))
    return bytes(rotten)


def outcome(what: object, name: str) -> str:
    """What becomes of reading it."""
    try:
        with hr.read(what, fields=FIELDS.get(name)).loader(epochs=1, on_error="skip") as loader:
            return f"{sum(1 for _ in loader)} samples"
    except hr.HeadraceError as error:
        if isinstance(error, hr.EngineDied | hr.EngineFailed | hr.ProtocolError) or "panic" in str(error):
            raise AssertionError("not the shard's fault") from error
        return type(error).__name__


@pytest.mark.parametrize("name", [*MADE, *GOLDEN])
def test_damage_is_its_loaders_alone(name, tmp_path, one_engine):
    if name in MADE:
        what = victim = tmp_path / f"shard.{name}"
        made(name, what)
    else:
        source, pattern = GOLDEN[name]
        what = tmp_path / Path(source).name
        if pattern:
            shutil.copytree(SHARDS / source, what)
            victim = sorted(what.glob(pattern))[0]
            what = victim.with_suffix(".bin") if name.startswith("megatron") else what
        else:
            shutil.copy(SHARDS / source, what)
            if name == "array_record":
                unpacked = what.with_suffix("")
                unpacked.write_bytes(gzip.decompress(what.read_bytes()))
                what = unpacked
            victim = what
    whole = victim.read_bytes()
    good = outcome(what, name)
    assert good.endswith(" samples")

    rng = np.random.default_rng(len(name))
    seen = set()
    with hr.source(list(range(TRIES))).batch(1).loader(epochs=1, prefetch=1) as other:
        pid = engine_pid()
        for n, batch in enumerate(other):
            assert batch.tolist() == [n]
            victim.unlink()
            victim.write_bytes(damaged(whole, rng, n))
            seen.add(outcome(what, name))
        assert n == TRIES - 1
        assert engine_pid() == pid
    assert seen != {good}


def test_a_truncated_shard_says_what_it_is(tmp_path, one_engine):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines())[:200])
    with pytest.raises(hr.SourceError, match=r"a\.jsonl\.gz at byte 0: cut off"):
        hr.read(path).loader(epochs=1)

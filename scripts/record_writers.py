"""Compare the writers of python/tests/record_files.py with mosaicml-streaming and litdata, byte for byte.

The tests of random tables read what those writers write. scripts/soak.sh runs this in an
environment that has the packages. Run it as `python scripts/record_writers.py [TABLES]`.
"""

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "python/tests"))

import record_files
from test_random_tables import ENCODINGS, LEAVES, of_records


def native(encoding: str, value: Any) -> Any:
    """A value as Streaming takes it."""
    if encoding == "json":
        return json.loads(value)
    return np.dtype(encoding).type(value) if encoding in record_files.NUMPY_CODES else value


def mds(r: random.Random, ours: Path, theirs: Path) -> None:
    """A set of one shard."""
    from streaming import MDSWriter

    encodings, rows, *_ = of_records(r, r.choice([1, 3, 20]), ENCODINGS)
    for row in rows:
        for name, v in row.items():
            if isinstance(v, np.ndarray) and v.size == 0:  # which Streaming does not write
                row[name] = np.ones([max(n, 1) for n in v.shape], v.dtype)
    record_files.mds(ours, encodings, rows)
    with MDSWriter(out=str(theirs), columns=encodings) as writer:
        for row in rows:
            writer.write({n: native(encodings[n], v) for n, v in row.items()})
    described = [json.loads((folder / "index.json").read_text()) for folder in (ours, theirs)]
    assert described[0] == described[1], described


def litdata(r: random.Random, ours: Path, theirs: Path) -> None:
    """A set of one chunk."""
    import torch
    from litdata.streaming.writer import BinaryWriter

    kinds, rows, *_ = of_records(r, r.choice([1, 3, 20]), LEAVES)
    kinds["last"] = "numpy"  # rows of simple values alone are written as Arrow, which Headrace refuses
    for row in rows:
        row["last"] = np.ones((1, 2))
    record_files.litdata(ours, kinds, rows)
    writer = BinaryWriter(str(theirs), chunk_size=100)
    for i, row in enumerate(rows):
        writer[i] = {n: torch.from_numpy(np.array(v)) if "tensor" in kinds[n] else v for n, v in row.items()}
    writer.done()
    writer.merge()
    mine, its = (json.loads((folder / "index.json").read_text()) for folder in (ours, theirs))
    assert mine["chunks"] == its["chunks"], (mine, its)
    for name in ("data_format", "data_spec", "item_loader", "compression", "encryption"):
        assert mine["config"][name] == its["config"][name], (kinds, mine, its)


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for write in (mds, litdata):
        for seed in range(tables):
            with tempfile.TemporaryDirectory() as folder:
                ours, theirs = Path(folder, "ours"), Path(folder, "theirs")
                write(random.Random(seed), ours, theirs)
                for shard in ours.iterdir():
                    if shard.name != "index.json" and shard.read_bytes() != (theirs / shard.name).read_bytes():
                        raise SystemExit(f"{write.__name__}, seed {seed}: {shard.name} differs")
        print(f"{write.__name__}: {tables} sets are the same")


main()

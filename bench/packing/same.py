"""Are global batches the same for 1, 2 and 4 ranks? Headrace, Grain and Zephon pack the same documents, each rank a process.

    PYTHONPATH=python/src .venv/bin/python bench/packing/same.py PYTHON_OF_PEERS

Documents are lines of JSON. A global batch has 8 rows of 2,048, best fit, 4 open rows; Headrace and Zephon have 8 lanes.
Printed is how many of one rank's first global batches have the same rows with more ranks. It fails if Headrace's differ in
any; for the others it only says so.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 8
WORLDS = (1, 2, 4)


def main() -> None:
    peers = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents" / "part.jsonl"
        file.parent.mkdir()
        r = random.Random(7)
        lengths = [min(2048, max(1, round(r.lognormvariate(5.5, 1)))) for _ in range(3000)]
        file.write_text("".join(json.dumps({"tokens": [r.randrange(1, 50_000) for _ in range(n)]}) + "\n" for n in lengths))
        for name in ("headrace", "grain", "zephon"):
            python = sys.executable if name == "headrace" else peers
            batches = {world: global_batches(python, name, file, world) for world in WORLDS}
            for world in WORLDS[1:]:
                both = list(zip(batches[1], batches[world]))
                same = sum(one == more for one, more in both)
                print(f"{name}: {same} of {len(both)} global batches are the same with {world} ranks")
                if name == "headrace" and not same == len(both) >= 40:
                    raise SystemExit("headrace: global batches depend on the ranks")


def global_batches(python: str, name: str, file: Path, world: int) -> list[list[str]]:
    """Digests of the rows of each global batch: in the order of ranks, as far as all have them."""
    door = Path(__file__).with_name("door.py")
    steps = 40 if world > 1 else 0
    given = [door, name, file, "--rows", ROWS, "--open", 4, "--steps", steps, "--world", world, "--digests"]
    command = [python, *map(str, given), "--rank"]
    ranks = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE) for rank in range(world)]
    rows = []
    for rank in ranks:
        out, _ = rank.communicate()
        if rank.returncode:
            raise SystemExit(f"{name}: a rank of {world} has ended with {rank.returncode}")
        rows.append(json.loads(out.splitlines()[-1])["digests"])
    each = ROWS // world
    return [[row for of in rows for row in of[n * each : (n + 1) * each]] for n in range(min(map(len, rows)) // each)]


if __name__ == "__main__":
    main()

"""Runs one engine over integers on which there is nothing to do, and prints a line of JSON for each way of using it.

    python count.py ENGINE WAY=COUNT…

ENGINE is a module of engines/. Its function WAY(count) gives the integers below count, each of which went through three stages.
The rate is taken from the first tenth of them on; an engine that works item by item is asked for few, so that nobody waits.
`life_ms` is how long 1,000 items take, from the description to closed, when the engine has been used before.
"""

from __future__ import annotations

import importlib
import itertools
import json
import pathlib
import sys
import time

from measure import cpu_seconds

LIFE = 1000
LIVES = 2


def main() -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "engines"))
    module = importlib.import_module(f"{sys.argv[1]}_engine")
    for argument in sys.argv[2:]:
        way, count = argument.split("=")
        made = getattr(module, way)
        print(json.dumps({"way": way} | rate(made, int(count)) | {"life_ms": [life(made) for _ in range(LIVES)]}), flush=True)


def rate(made, count: int) -> dict:
    items, warm = made(count), count // 10
    begun = sorted(int(item) for item in itertools.islice(items, warm))
    if begun[0] != 0 or len(set(begun)) != warm:
        raise SystemExit(f"the first {warm} items are not what was asked for")
    used, since, seen = cpu_seconds(), time.perf_counter(), 0
    for _ in items:
        seen += 1
        if seen == count - warm - 1:  # read while the workers live
            took, used = time.perf_counter() - since, cpu_seconds() - used
    if seen != count - warm:
        raise SystemExit(f"{warm + seen} items of {count}")
    return {"items": seen, "items_per_s": round(seen / took, 1), "cpu_us_per_item": round(used / seen * 1e6, 4)}


def life(made) -> float:
    began = time.perf_counter()
    seen = sum(1 for _ in made(LIFE))
    if seen != LIFE:
        raise SystemExit(f"{seen} items of {LIFE}")
    return round((time.perf_counter() - began) * 1000, 3)


if __name__ == "__main__":
    main()

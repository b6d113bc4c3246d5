"""Runs that are cut at every batch or whose engine is killed again and again give what an undisturbed run gives.

Usage: python soak.py FOLDER [KILLS]
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import signal
import sys

import headrace as hr

EPOCHS = 2


def make_loader(folder: str, **settings):
    pipeline = hr.files(folder, label="parent", seed=3).shuffle(seed=4).decode_image().random_resized_crop(64).random_flip()
    return pipeline.batch(7).loader(epochs=EPOCHS, **settings)


def digest(batch) -> str:
    return hashlib.sha256(batch["image"].tobytes() + batch["label"].tobytes() + "".join(batch["key"]).encode()).hexdigest()


def rest(loader) -> list[str]:
    """Digests of all batches that are left."""
    found = []
    try:
        while True:
            found += [digest(batch) for batch in loader]
    except hr.EpochsExhausted:
        return found


def cut(folder: str, whole: list[str]) -> None:
    for at in range(len(whole) + 1):
        with make_loader(folder, workers=1 + at % 3) as loader:
            head = take(loader, at)
            state = json.dumps(loader.state_dict())
        with make_loader(folder, workers=1 + (at + 1) % 3) as loader:
            loader.load_state_dict(json.loads(state))
            assert head + rest(loader) == whole, f"cut after {at} batches: the rest is another one"
    print(f"   cut at each of {len(whole) + 1} places: the same batches")


def take(loader, count: int) -> list[str]:
    """Digests of the first batches, over as many epochs as it takes."""
    found: list[str] = []
    while len(found) < count:
        for batch in loader:
            found.append(digest(batch))
            if len(found) == count:
                break
    return found


def kill(folder: str, whole: list[str], kills: int) -> None:
    draw = random.Random(0)
    found: list[str] = []
    state, deaths = None, 0
    while len(found) < len(whole):
        with make_loader(folder) as loader:
            if state is not None:
                loader.load_state_dict(state)
            fatal = len(found) + draw.randint(1, 12) if deaths < kills else -1
            try:
                while len(found) < len(whole):
                    for batch in loader:
                        found.append(digest(batch))
                        if len(found) == fatal:
                            os.kill(engine(), signal.SIGKILL)
            except hr.EngineDied:
                deaths += 1
            state = loader.state_dict()
    assert found == whole, "what came around the kills is not what an undisturbed run gives"
    print(f"   killed {deaths} times: the same batches")


def engine() -> int:
    """The process that this one started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1] == str(os.getpid()):
                return int(pid)
        except OSError:
            continue
    raise SystemExit("no engine runs")


def main(folder: str, kills: int = 20) -> None:
    with make_loader(folder) as loader:
        whole = rest(loader)
    cut(folder, whole)
    for _ in range(20):
        kill(folder, whole, kills)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

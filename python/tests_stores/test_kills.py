"""Trainers that are killed while they read from stores, and go on, give what an undisturbed one gives."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
from store_servers import Place

import headrace as hr

KILLS = int(os.environ.get("HEADRACE_KILLS", "6"))  # of each; `make soak` has 200 of all
EPOCHS = 3


def loader(source: str, pattern: str) -> hr.Loader:
    pipeline = hr.read(source + "/{000..003}.tar") if pattern == "shards" else hr.files(source + pattern, label="parent")
    return pipeline.shuffle(seed=3).decode_image().random_crop((16, 16)).batch(1).loader(epochs=EPOCHS)


def train(source: str, pattern: str, folder: pathlib.Path) -> None:
    """A batch is a line of its digest, and then a state, which is replaced whole."""
    state, log = folder / "state.json", folder / "log"
    with loader(source, pattern) as batches:
        done = 0
        if state.exists():
            saved = json.loads(state.read_text())
            done = saved["done"]
            batches.load_state_dict(saved["state"])
        with open(log, "r+" if log.exists() else "w") as lines:
            lines.truncate(65 * done)  # what came after the last state comes again
            lines.seek(65 * done)
            try:
                while True:
                    for batch in batches:
                        key = "".join(os.path.basename(k) for k in batch["key"])
                        lines.write(hashlib.sha256(batch["image"].tobytes() + key.encode()).hexdigest() + "\n")
                        lines.flush()
                        done += 1
                        new = folder / "new"
                        new.write_text(json.dumps({"done": done, "state": batches.state_dict()}))
                        new.replace(state)
                        time.sleep(0.01)
            except hr.EpochsExhausted:
                pass


@pytest.mark.parametrize("pattern", ["shards", "/*/*.png"])
@pytest.mark.parametrize("kind", ["s3", "gcs", "azure"])
def test_killed(kind: str, pattern: str, places: dict[str, Place], tmp_path: pathlib.Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    train(places[kind].name, pattern, whole)
    want = (whole / "log").read_text()
    assert want.count("\n") == 16 * EPOCHS

    draw = random.Random(f"{kind}{pattern}")
    left, machine, folder = max(1, KILLS // 6), 0, tmp_path / "killed0"
    folder.mkdir()
    while True:
        machine += draw.random() < 0.5  # each has its own folder for what is kept of shards
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / f"machine{machine}")}
        line = [sys.executable, __file__, places[kind].name, pattern, str(folder)]
        child = subprocess.Popen(line, env=environment, start_new_session=True)
        try:
            child.wait(draw.uniform(0.3, 1.6) if left else 120)
        except subprocess.TimeoutExpired:
            assert left, "it does not end"
            left -= 1
            # The engine dies with its trainer, or at the same moment.
            if draw.random() < 0.5:
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
            child.wait()
            continue
        assert child.returncode == 0
        assert (folder / "log").read_text() == want, "what came around the kills is not what an undisturbed run gives"
        if not left:
            break
        folder = tmp_path / f"killed{left}"
        folder.mkdir(exist_ok=True)


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))

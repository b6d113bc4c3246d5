"""Actors and raylets of a real cluster killed at random moments of runs with feeders, whose batches stay those of a run alone.

PYTHONPATH=python/src .venv/bin/python python/tests_ray/kill_soak.py [--times 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

os.environ["RAY_AUTH_MODE"] = "disabled"

import numpy as np
import ray
from PIL import Image
from ray.cluster_utils import Cluster
from test_ray import actors_of, alone, images, record, slow, small_ranges

import headrace as hr


def files_of(root: Path) -> None:
    draw = np.random.default_rng(5)
    for i in range(60):
        folder = root / f"class{i % 3}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (20 + i % 5, 24, 3), dtype=np.uint8)).save(folder / f"{i:03}.png")


def pipelines(root: Path) -> dict[str, hr.Pipeline]:
    shards = root / "shards"
    if not shards.exists():
        import io
        import tarfile

        shards.mkdir()
        for n in range(3):
            with tarfile.open(shards / f"{n}.tar", "w") as tar:
                for path in sorted(root.glob("class*/*.png"))[n::3]:
                    about = tarfile.TarInfo(f"{path.stem}.png")
                    about.size = path.stat().st_size
                    tar.addfile(about, io.BytesIO(path.read_bytes()))
    read = hr.read(shards / "{0..2}.tar").shuffle(seed=1).decode_image().resize((12, 12))
    return {
        "images": images(root).batch(2),
        "tar": read.batch(3),
        "function": images(root).map(slow, fields="image").batch(2),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--times", type=int, default=100)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    o = options.parse_args()
    draw = random.Random(o.seed)
    print(f"seed {o.seed}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files_of(root)
        all_of = pipelines(root)
        want = {name: alone(one, 2) for name, one in all_of.items()}
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes = [cluster.add_node(num_cpus=2, object_store_memory=100 << 20) for _ in range(2)]
        here = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
        ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
        for n in range(o.times):
            name = draw.choice(sorted(all_of))
            victim = draw.choice(["actor", "actor", "raylet"])
            moments = {draw.randrange(1, len(want[name])) for _ in range(draw.choice([1, 1, 3]))}
            with all_of[name].loader(epochs=2, feeders=hr.ray.feeders(2, local=draw.random() < 0.5)) as loader:
                small_ranges(loader, draw.randrange(1, 6))

                def kill(at: int, loader: hr.Loader = loader, victim: str = victim, moments: set[int] = moments) -> None:
                    if at not in moments:
                        return
                    if victim == "actor":
                        ray.kill(draw.choice(actors_of(loader)), no_restart=False)
                    else:
                        cluster.remove_node(nodes.pop(draw.randrange(len(nodes))), allow_graceful=False)
                        nodes.append(cluster.add_node(num_cpus=2, object_store_memory=100 << 20))

                same = record(loader, 2, kill) == want[name]
            what = "the same" if same else "OTHER BATCHES"
            print(f"{n + 1} of {o.times}: {name}, {victim} killed after {sorted(moments)}: {what}", flush=True)
            if not same:
                sys.exit(1)
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()

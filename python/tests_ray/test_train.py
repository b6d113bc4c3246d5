"""Ray Train and Ray Data with our engine. Slow: Ray Train starts a controller and its workers as actors, twice where one is lost."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import ray
from PIL import Image

import headrace as hr

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # Ray's, of its own options
_EXAMPLES = str(Path(__file__).parents[2] / "examples")


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_AUTH_MODE"] = "disabled"
    paths = os.pathsep.join([os.path.dirname(__file__), _EXAMPLES, os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=5, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    sys.path.append(_EXAMPLES)
    yield
    sys.path.remove(_EXAMPLES)
    ray.shutdown()


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    root = tmp_path_factory.mktemp("photographs")
    draw = np.random.default_rng(5)
    for i in range(66):
        folder = root / f"class{i % 3}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (20 + i % 5, 24, 3), dtype=np.uint8)).save(folder / f"{i:03}.png")
    return root


def by_key(pipeline):
    with pipeline.loader(epochs=1) as loader:
        return {key: image.copy() for batch in loader for key, image in zip(batch["key"], batch["image"])}


def test_a_dataset_has_the_samples_of_the_pipeline(cluster, photographs):
    pipeline = hr.files(photographs / "**/*.png", label="parent").decode_image().random_resized_crop(8).batch(5)
    rows = hr.ray.dataset(pipeline, 3).take_all()
    want = by_key(pipeline)
    assert sorted(row["key"] for row in rows) == sorted(want)
    assert all((row["image"] == want[row["key"]]).all() for row in rows)
    assert {row["image"].dtype for row in rows} == {np.dtype(np.uint8)}


def prepare(samples):
    return samples.decode_image().resize((8, 8))


def test_steps_map_the_batches_of_a_dataset(cluster, photographs):
    files = ray.data.read_binary_files(str(photographs), include_paths=True)
    rows = files.map_batches(hr.ray.Map(prepare), batch_size=20).take_all()
    want = by_key(prepare(hr.files(photographs / "**/*.png")).batch(8))
    assert {row["path"] for row in rows} == set(want)
    assert all((row["image"] == want[row["path"]]).all() for row in rows)
    assert set(rows[0]) == {"image", "path"}


def lost_once(config):
    """The example's `train`, whose second worker dies in the middle of its second epoch, once."""
    import ray_train

    save = ray_train.save

    def save_and_die(model, loader, rank, metrics):
        save(model, loader, rank, metrics)
        with open(f"{config['told']}/{rank}", "a") as told:
            told.write(json.dumps([metrics["epoch"], metrics["keys"]]) + "\n")
        died = Path(config["told"], "died")
        if rank == 1 and metrics["epoch"] == 1 and not died.exists():
            died.touch()
            os._exit(1)

    ray_train.save = save_and_die
    ray_train.train(config)


@pytest.mark.timeout(600)
def test_the_example_goes_on_after_a_worker_is_lost(cluster, photographs, tmp_path, monkeypatch):
    import ray_train

    monkeypatch.setattr(ray_train, "train", lost_once)
    trainer = ray_train.trainer(str(photographs), str(tmp_path / "runs"), 2, 2, 1)
    trainer.train_loop_config["told"] = str(tmp_path)
    assert trainer.fit().error is None
    assert (tmp_path / "died").exists()
    for rank in range(2):
        with ray_train.pipeline(str(photographs)).loader(epochs=2, rank=rank, world_size=2) as loader:
            want = [[epoch, list(batch["key"])] for epoch in range(2) for batch in loader]
        at = [want.index(json.loads(line)) for line in (tmp_path / str(rank)).read_text().splitlines()]
        begins = next(i for i in range(1, len(at)) if at[i] != at[i - 1] + 1 or i == len(at) - 1)
        assert at[:begins] == list(range(begins))
        assert at[begins:] == list(range(at[begins], len(want)))  # the batch after the last checkpoint, and all that follow
        assert 0 < at[begins] <= begins


def test_nonsense_is_refused():
    pipeline = hr.files("*.png").decode_image()
    for more, words in (({"parts": 0}, "at least 1 part"), ({"parts": 1}, "has no batch step"), ({"parts": 1, "epoch": -1}, "epoch 0")):
        with pytest.raises(hr.errors.RecipeError, match=words):
            hr.ray.dataset(pipeline, **more)
    with pytest.raises(hr.errors.RecipeError, match=r"dataset\(…, rank=…\)"):
        hr.ray.dataset(pipeline.batch(2), 1, rank=0)
    with pytest.raises(hr.errors.RecipeError, match="must be a function that adds steps"):
        hr.ray.Map(pipeline)

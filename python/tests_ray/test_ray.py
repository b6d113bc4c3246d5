"""Batches and files that a Ray cluster makes, of real raylets: they are those of this program alone, whatever dies."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time

import numpy as np
import pytest
import ray
from PIL import Image

import headrace as hr


@pytest.fixture(scope="module")
def cluster():
    """A head and two more raylets. Under load one may not start in time, which says nothing of us: it is started again."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    from ray.cluster_utils import Cluster

    for left in (2, 1, 0):
        try:
            own = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
            own.nodes = [own.add_node(num_cpus=2, object_store_memory=100 << 20) for _ in range(2)]
            # Functions of this file are imported by its name on all nodes.
            here = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
            ray.init(address=own.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
            break
        except Exception:
            ray.shutdown()
            own.shutdown()
            if not left:
                raise
    yield own
    ray.shutdown()
    own.shutdown()


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    root = tmp_path_factory.mktemp("photographs")
    draw = np.random.default_rng(5)
    for i in range(61):
        folder = root / f"class{i % 3}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (20 + i % 5, 24, 3), dtype=np.uint8)).save(folder / f"{i:03}.png")
    return root


def images(root):
    return hr.files(root / "**/*.png", label="parent").shuffle(seed=3).decode_image().random_resized_crop(16).random_flip()


def slow(image):
    time.sleep(0.02)
    return 255 - image


def stuck(image):
    time.sleep(60)
    return image


def digest(batch) -> str:
    told = hashlib.sha256()
    for name in sorted(batch):
        value = batch[name]
        told.update(name.encode())
        told.update(np.asarray(value).tobytes() if hasattr(value, "shape") else json.dumps(list(value)).encode())
    return told.hexdigest()


def record(loader, epochs, doing=lambda n: None):
    """The digests of all batches, each with the state after it."""
    told = []
    for _ in range(epochs):
        for batch in loader:
            told.append((digest(batch), json.dumps(loader.state_dict(), sort_keys=True)))
            doing(len(told))
    return told


def small_ranges(loader, size=2):
    loader._batches._size = size
    return loader


def alone(pipeline, epochs=2, **options):
    with pipeline.loader(epochs=epochs, **options) as loader:
        return record(loader, epochs)


@pytest.mark.parametrize("local", [False, True], ids=["actors", "local too"])
def test_batches_and_states_are_those_of_a_run_alone(cluster, photographs, local):
    pipeline = images(photographs).batch(7)
    with pipeline.loader(epochs=2, feeders=hr.ray.feeders(2, local=local)) as loader:
        got = record(small_ranges(loader), 2)
        with pytest.raises(hr.errors.EpochsExhausted):
            next(iter(loader))
    assert got == alone(pipeline)


def test_ranks_have_their_shares(cluster, photographs):
    pipeline = images(photographs).batch(global_size=6)
    for rank in range(2):
        options = {"rank": rank, "world_size": 2}
        with pipeline.loader(epochs=1, feeders=hr.ray.feeders(1, local=False), **options) as loader:
            assert record(small_ranges(loader, 3), 1) == alone(pipeline, 1, **options)


def test_loops_go_on_where_they_should(cluster, photographs):
    pipeline = images(photographs).batch(4)
    want = alone(pipeline)
    with pipeline.loader(epochs=2, feeders=hr.ray.feeders(2)) as loader:
        small_ranges(loader)
        for n, batch in enumerate(loader):
            assert digest(batch) == want[n][0]
            if n == 4:
                break
        state = loader.state_dict()
        assert json.dumps(state, sort_keys=True) == want[4][1]
        assert [digest(batch) for batch in loader.resume()] == [one for one, _ in want[5:16]]
        loader.load_state_dict(state)
        assert digest(loader.get(timeout=60)) == want[5][0]
        loader.set_epoch(1)
        assert [digest(batch) for batch in loader] == [one for one, _ in want[16:]]
    with pipeline.loader(epochs=2) as loader:  # a run alone goes on with the state
        loader.load_state_dict(state)
        assert digest(next(iter(loader))) == want[5][0]


def test_batches_are_the_loops_own(cluster, photographs):
    import torch

    pipeline = images(photographs).batch(8)
    with pipeline.to("torch").loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader:
        batches = list(small_ranges(loader))
    assert {type(batch["image"]) for batch in batches} == {torch.Tensor}
    before = digest(batches[1])
    batches[0]["image"].add_(1)
    assert digest(batches[1]) == before
    with pipeline.tuples("image", "label").loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader:
        image, label = next(iter(loader))
    image[:] = 0
    assert label.tolist() == batches[0]["label"].tolist()


def test_a_loader_is_closed_while_another_thread_waits(cluster, photographs):
    pipeline = images(photographs).map(stuck, fields="image", gives={"image": ("uint8", (16, 16, 3))}).batch(2)
    loader = pipeline.loader(epochs=1, feeders=hr.ray.feeders(1, local=False))
    raised: list[BaseException] = []

    def wait():
        try:
            next(iter(loader))
        except BaseException as error:
            raised.append(error)

    waits = threading.Thread(target=wait)
    waits.start()
    time.sleep(0.5)
    began = time.monotonic()
    loader.close()
    waits.join(10)
    assert [type(error) for error in raised] == [hr.errors.LoaderClosed]
    assert time.monotonic() - began < 10


def test_an_actor_that_dies_loses_nothing(cluster, photographs):
    pipeline = images(photographs).map(slow, fields="image").batch(2)
    want = alone(pipeline, 1)
    with pipeline.loader(epochs=1, feeders=hr.ray.feeders(2, local=False)) as loader:
        small_ranges(loader, 3)

        def kill(n):
            if n in (2, 12):
                ray.kill(loader._batches._actors[n % 4 // 2], no_restart=False)

        assert record(loader, 1, kill) == want


def test_feeders_that_cannot_begin_are_said(cluster, photographs):
    class Here:
        def __call__(self, image):
            return image

        def __reduce__(self):
            return os.rmdir, ("/nowhere/at/all",)

    pipeline = images(photographs).map(Here(), fields="image", gives={"image": ("uint8", (16, 16, 3))}).batch(2)
    with pytest.raises(hr.errors.HeadraceError, match="nowhere/at/all"), pipeline.loader(epochs=1, feeders=hr.ray.feeders(1)) as loader:
        next(iter(loader))


def test_feeders_that_were_ended_are_done_without(cluster, photographs):
    pipeline = images(photographs).map(slow, fields="image").batch(2)
    want = alone(pipeline, 1)
    with pipeline.loader(epochs=1, feeders=hr.ray.feeders(2)) as loader:
        small_ranges(loader, 3)
        assert record(loader, 1, lambda n: ray.kill(loader._batches._actors[0]) if n == 3 else None) == want
    with (
        pipeline.loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader,
        pytest.raises(hr.errors.HeadraceError, match="all feeders have been ended"),
    ):
        record(small_ranges(loader, 3), 1, lambda n: ray.kill(loader._batches._actors[0]) if n == 3 else None)


def test_a_bad_file_ends_the_loop_where_it_does_alone(cluster, photographs, tmp_path):
    for n, path in enumerate(sorted(photographs.glob("class0/*.png"))):
        (tmp_path / path.name).write_bytes(path.read_bytes() if n != 9 else b"no image")
    pipeline = hr.files(tmp_path / "*.png").decode_image().resize((8, 8)).batch(2)
    seen = []
    for more in ({}, {"feeders": hr.ray.feeders(2, local=False)}):
        with pipeline.loader(epochs=1, **more) as loader:
            if more:
                small_ranges(loader, 3)
            got = []
            with pytest.raises(hr.errors.SampleError, match=r"027\.png: unknown image format"):
                got.extend(map(digest, loader))
            seen.append((got, loader.state_dict()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda p: p.filter(lambda label: label > 0, fields="label").batch(2), {}, "does not follow from its number"),
        (lambda p: p.map(slow, fields="image", where="here").batch(2), {}, 'has where="here", and its function cannot leave this program'),
        (lambda p: p.batch(2), {"on_error": "skip"}, "does not follow from its number"),
        (lambda p: p.batch(2), {"on_error": "replace"}, "feeders do not tell of samples that are lost or replaced"),
    ],
    ids=["filter", "here", "skip", "replace"],
)
def test_what_cannot_move_is_refused(cluster, photographs, change, options, words):
    with pytest.raises(hr.errors.RecipeError, match=words):
        change(images(photographs)).loader(feeders=hr.ray.feeders(1), **options)


def test_nonsense_is_refused():
    for feeders in (lambda: hr.ray.feeders(0), lambda: hr.ray.feeders(1, cpus=0)):
        with pytest.raises(hr.errors.RecipeError, match="both must be at least 1"):
            feeders()
    with pytest.raises(hr.errors.RecipeError, match="both must be at least 1"):
        hr.ray.convert(hr.files("*.png"), "npy:x", 0)


def test_parts_are_those_of_the_command(cluster, photographs, tmp_path):
    pipeline = images(photographs).batch(4)
    told = []
    made = hr.ray.convert(pipeline, f"npy:{tmp_path / 'parts'}", 3, told=told.append)
    assert [one.part for one in made] == [0, 1, 2]
    assert sum(one.samples for one in made) == 61
    assert sorted(told) == made
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    again = hr.ray.convert(pipeline, f"npy:{tmp_path / 'parts'}", 3)
    assert [one[:2] for one in again] == [one[:2] for one in made]
    assert times == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    parts = sorted((tmp_path / "parts").iterdir())
    joined = np.concatenate([np.load(part / "image.npy") for part in parts])
    with pipeline.loader(epochs=1) as loader:
        assert (joined == np.concatenate([batch["image"] for batch in loader])).all()


def test_parts_that_fail_are_named(cluster, photographs, tmp_path):
    pipeline = images(photographs).batch(4)
    with pytest.raises(hr.errors.HeadraceError, match=r"2 of 2 parts failed; .*\n  part 0/2 ended with code 2: .*--shard-size"):
        hr.ray.convert(pipeline, f"npy:{tmp_path / 'parts'}", 2, options=["--shard-size", "1MB"])


def test_the_command_tells_each_part(cluster, photographs, tmp_path, capsys):
    from headrace.ray.__main__ import main

    (tmp_path / "r.yaml").write_text(
        images(photographs).batch(4).recipe().replace(str(photographs), "${root}").replace("seed:", "vars: {root: /nowhere}\nseed:", 1)
    )
    arguments = [str(tmp_path / "r.yaml"), "--out", f"tar:{tmp_path}/out/t-%03d.tar", "--parts", "2", "--set", f"root={photographs}"]
    code, said = main(["run", *arguments, "--", "--images", "png"]), capsys.readouterr()
    assert (code, said.err) == (0, "")
    told = said.out.splitlines()
    assert told[-1] == f"All 2 parts of tar:{tmp_path}/out/t-%03d.tar are whole: 61 samples"
    assert sorted(line.split(":")[0] for line in told[:-1]) == ["part 0/2 is whole", "part 1/2 is whole"]
    assert main(["run", str(tmp_path / "none.yaml"), "--out", "npy:x", "--parts", "2"]) == 1
    assert "none.yaml" in capsys.readouterr().err


def test_a_raylet_that_dies_loses_nothing(cluster, photographs):
    """The last test: the cluster has one node less then."""
    pipeline = images(photographs).map(slow, fields="image").batch(2)
    want = alone(pipeline, 1)
    with pipeline.loader(epochs=1, feeders=hr.ray.feeders(2, cpus=2)) as loader:
        small_ranges(loader, 3)

        def kill(n):
            if n == 4:
                cluster.remove_node(cluster.nodes[0], allow_graceful=False)

        assert record(loader, 1, kill) == want


def test_a_cluster_that_is_not_there_is_said():
    ray.shutdown()
    began = time.monotonic()
    with pytest.raises(hr.errors.HeadraceError, match=r"there is no Ray cluster at '127\.0\.0\.1:9'.*ray start --head"):
        hr.ray.connect("127.0.0.1:9")
    with pytest.raises(hr.errors.HeadraceError, match="there is no Ray cluster at 'nowhere'"):
        hr.ray.connect("nowhere")
    assert time.monotonic() - began < 10

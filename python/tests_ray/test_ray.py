"""Batches and files that a Ray cluster makes, of real raylets: they are those of this program alone, whatever dies."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings

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


def actors_of(loader):
    return [feeder.actor for feeder in loader._batches._crew if hasattr(feeder, "actor")]


def pid_of(actor) -> int:
    return ray.get(actor.__ray_call__.remote(lambda self: os.getpid()))


def children(pid):
    found = []
    for status in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(status) as told:
                about = told.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(about[1]) == pid:
            found.append(int(status.split("/")[2]))
    return found


def gone(pids, seconds):
    """The processes that have not ended after so many seconds."""
    ends = time.monotonic() + seconds
    while pids and time.monotonic() < ends:
        pids = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
        time.sleep(0.05)
    return pids


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
                ray.kill(actors_of(loader)[n % 4 // 2], no_restart=False)

        assert record(loader, 1, kill) == want


def test_an_actor_that_hangs_loses_nothing(cluster, photographs, monkeypatch):
    monkeypatch.setattr("headrace.ray.fed._LATE", 0.5)
    pipeline = images(photographs).map(slow, fields="image").batch(2)
    got: list[str] = []
    with pipeline.loader(feeders=hr.ray.feeders(2, local=False)) as loader, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        small_ranges(loader, 2)
        pid = pid_of(actors_of(loader)[0])
        while not warned and len(got) < 3000:  # it takes twice as long as any range took
            for batch in loader:
                got.append(digest(batch))
                if len(got) == 31:
                    os.kill(pid, signal.SIGSTOP)
    assert re.match(r"headrace: feeder 0 on .* has not answered for \d+ s: it is started again", str(warned[0].message))
    assert gone([pid], 20) == []
    with pipeline.loader() as loader:
        want: list[str] = []
        while len(want) < len(got):
            want += map(digest, loader)
    assert got == want


_TRAINER = """
import os, sys, headrace as hr
from test_ray import actors_of, pid_of
hr.ray.connect(sys.argv[1], runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
loader = hr.files(sys.argv[2] + "/**/*.png").decode_image().resize((8, 8)).batch(2).loader(feeders=hr.ray.feeders(1))
for batch in loader:
    if loader.stats()["feeders"][0]["ranges"]:
        print(pid_of(actors_of(loader)[0]), flush=True)
        sys.stdin.read()
"""


def test_actors_end_with_their_trainer(cluster, photographs):
    paths = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", _TRAINER, cluster.address, str(photographs)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}, text=True
    ) as trainer:
        actor = int(trainer.stdout.readline())
        theirs = [actor, *children(actor)]
        assert len(theirs) > 1  # the engine
        trainer.kill()
    assert gone(theirs, 30) == []


def test_feeders_that_would_make_other_batches_are_named(cluster, photographs, monkeypatch):
    from headrace.ray import plan

    mine = plan.identity_of
    monkeypatch.setattr(plan, "identity_of", lambda run: {**mine(run), "engine": "0.0.9 (commit abc)"})
    words = r"feeder 0 on .* would make other batches than this machine: its engine is '.*', and here it is '0\.0\.9 \(commit abc\)'"
    with (
        images(photographs).batch(2).loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader,
        pytest.raises(hr.errors.RecipeError, match=words),
    ):
        next(iter(loader))


def test_a_cluster_without_room_is_said(cluster, photographs, monkeypatch):
    monkeypatch.setattr("headrace.ray.fed._SILENT", 0.5)
    with (
        images(photographs).batch(2).loader(epochs=1, feeders=hr.ray.feeders(1, cpus=100, local=False)) as loader,
        pytest.warns(hr.HeadraceWarning, match=r"no feeder has begun after 0 s: the cluster has .* of 5 cores free"),
        pytest.raises(hr.errors.NotReady),
    ):
        loader.get(timeout=2)


def test_a_full_object_store_is_said():
    from headrace.ray.crew import Actor
    from headrace.ray.fed import _failure

    error = _failure(Actor("feeder 3", None), ray.exceptions.ObjectStoreFullError("no space"))
    assert str(error).startswith("headrace: feeder 3 has no room for its batches: the object store of its node is full")


def test_pixels_travel_as_bytes(cluster, photographs):
    pipeline = images(photographs).normalize((0.4, 0.5, 0.6), 0.2, "float16").layout("NCHW").batch(7)
    with pipeline.loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader:
        got = record(loader, 1)
        (feeder,) = loader.stats()["feeders"]
    assert got == alone(pipeline, 1)
    keys = sum(len(str(path)) for path in photographs.rglob("*.png"))
    assert feeder["bytes"] == 61 * (16 * 16 * 3 + 8) + keys


def test_statistics_name_the_feeders(cluster, photographs):
    with images(photographs).map(slow, fields="image").batch(4).loader(epochs=1, feeders=hr.ray.feeders(1)) as loader:
        batches = iter(small_ranges(loader))
        first = [next(batches) for _ in range(8)]
        before = loader.stats()
        count = len(first) + len(list(batches))
        stats, later = loader.stats(), loader.stats(since=before)
    assert not any(stage["out"] for stage in stats["stages"])  # the engine here makes no batch that nobody takes
    assert [one["name"] for one in stats["feeders"]] == ["feeder 0", "this machine"]
    assert sum(one["batches"] for one in stats["feeders"]) == count == 16
    for name in ("batches", "bytes", "ranges"):
        made = [[one[name] for one in each["feeders"]] for each in (before, later, stats)]
        assert [a + b for a, b in zip(made[0], made[1])] == made[2]
    assert before["trainer"]["batches"] + later["trainer"]["batches"] == stats["trainer"]["batches"] == 16
    assert before["trainer"]["samples"] + later["trainer"]["samples"] == stats["trainer"]["samples"] > 16
    assert "the feeders are at work" in stats["verdict"] or "The feeders are the bottleneck" in stats["verdict"]
    assert [line[:14].strip() for line in str(stats).splitlines()[2:5]] == ["feeder", "feeder 0", "this machine"]


@pytest.mark.parametrize(
    ("feeders", "loop", "words"),
    [
        ((1.0, 0.1), (10, 0.1, 0.0), "Your training loop is the bottleneck: it waits for data only 1% of the time"),
        ((1.0, 0.1), (10, 8, 5.0), "This process is the bottleneck: for 50% of the time it copies"),
        ((1.0, 3.0), (10, 8, 0.1), "The network is the bottleneck: a range takes 1 s to be made and 3 s to arrive"),
        ((9.0, 0.1), (10, 8, 0.1), "The feeders are the bottleneck: they are at work 90% of the time"),
        ((4.0, 0.1), (10, 8, 0.1), "No limit is clear: the feeders are at work 40% of the time"),
        ((9.0, 0.1), (0, 0, 0.0), "Your training loop has taken too few batches"),
    ],
)
def test_verdicts(feeders, loop, words):
    from headrace.ray.told import _verdict

    one = {"node": "x", "ranges": 1, "working_s": feeders[0], "network_s": feeders[1], "busy": feeders[0] / 10}
    trainer = {"batches": 5, "loop_s": loop[0], "waited_s": loop[1], "own_s": loop[2]}
    assert _verdict([one], trainer).startswith(words)


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
        assert record(loader, 1, lambda n: ray.kill(actors_of(loader)[0]) if n == 3 else None) == want
    with (
        pipeline.loader(epochs=1, feeders=hr.ray.feeders(1, local=False)) as loader,
        pytest.raises(hr.errors.HeadraceError, match="all feeders have been ended"),
    ):
        record(small_ranges(loader, 3), 1, lambda n: ray.kill(actors_of(loader)[0]) if n == 3 else None)


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


@pytest.fixture(scope="module")
def rotten(tmp_path_factory):
    """Images of which some are none, in the middle and at the end of an epoch's order."""
    root = tmp_path_factory.mktemp("rotten")
    draw = np.random.default_rng(6)
    for i in range(60):
        image = draw.integers(0, 256, (9, 10, 3), dtype=np.uint8)
        name = root / f"{i:03}{chr(0x2028) if i == 7 else ''}.png"
        if i in (5, 7, 17, 18, 40, 58, 59):
            name.write_bytes(b"no")
        else:
            Image.fromarray(image).save(name)
    return root


def ledger(loader):
    lost = [[getattr(one, name) for name in (*type(one).__slots__,)] for one in loader.errors]
    return lost, loader.errors.total, loader.errors.replaced


@pytest.mark.parametrize(("mode", "shuffled"), [("skip", True), ("skip", False), ("replace", True)])
def test_bad_samples_are_those_of_a_run_alone(cluster, rotten, tmp_path, mode, shuffled):
    pipeline = hr.files(rotten / "*.png")
    pipeline = (pipeline.shuffle(seed=3) if shuffled else pipeline).decode_image().resize((8, 8)).normalize(0.5, 0.5).batch(4)
    seen = []
    for more in ({}, {"feeders": hr.ray.feeders(2)}):
        letters = tmp_path / f"{len(seen)}.jsonl"
        with pipeline.loader(epochs=2, on_error=mode, max_errors=20, dead_letters=letters, **more) as loader:
            if more:
                small_ranges(loader, 3)
            counts = []
            got = record(loader, 2, lambda n, counts=counts, loader=loader: counts.append(ledger(loader)[1:]))
            seen.append((got, counts, ledger(loader), letters.read_bytes()))
    for ours, alone in zip(seen[1], seen[0]):
        assert ours == alone


def test_a_rank_replaces_what_it_does_alone(cluster, rotten):
    pipeline = hr.files(rotten / "*.png").shuffle(seed=3).decode_image().resize((8, 8)).batch(global_size=6)
    seen = []
    for more in ({}, {"feeders": hr.ray.feeders(1)}):
        with pipeline.loader(epochs=2, rank=1, world_size=2, on_error="replace", **more) as loader:
            if more:
                small_ranges(loader, 3)
            seen.append((record(loader, 2), ledger(loader)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["skip", "replace"])
def test_too_many_bad_samples_end_the_loop_where_they_do_alone(cluster, rotten, mode):
    pipeline = hr.files(rotten / "*.png").decode_image().resize((8, 8)).batch(4)
    seen = []
    for more in ({}, {"feeders": hr.ray.feeders(2, local=False)}):
        with pipeline.loader(epochs=1, on_error=mode, max_errors=3, **more) as loader:
            if more:
                small_ranges(loader, 2)
            got = []
            with pytest.raises(hr.errors.HeadraceError) as raised:
                got.extend(map(digest, loader))
            seen.append((got, loader.state_dict(), ledger(loader), str(raised.value)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda p: p.filter(lambda label: label > 0, fields="label").batch(2), {}, "does not follow from its number"),
        (lambda p: p.map(slow, fields="image", where="here").batch(2), {}, 'has where="here", and its function cannot leave this program'),
        (lambda p: p.batch(2), {"on_error": "skip", "rank": 0, "world_size": 2, "uneven": True}, r'on_error="skip"\) is for one rank'),
        (lambda p: p.batch(2), {"on_error": "skip", "steps_per_epoch": 2}, r'on_error="skip"\) is for one rank'),
        (lambda p: p.failures(on_error="replace").batch(2), {}, r"has failures\(…\) of its own"),
        (lambda p: p.batch(2), {"dead_letters": "s3://bucket/bad.jsonl"}, "must be a file of this machine"),
    ],
    ids=["filter", "here", "skip of ranks", "skip and steps", "failures", "letters in a store"],
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


@pytest.mark.parametrize(("answer", "words"), [(b"", "no answer within 0.3 s"), (b"HTTP/1.1 400 Bad\r\n", "something else")])
def test_what_is_no_cluster_is_said(monkeypatch, answer, words):
    monkeypatch.setattr("headrace.ray.cluster._REACHED_WITHIN", 0.3)
    ray.shutdown()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)

        server.settimeout(5)

        def answers():
            with server.accept()[0] as end:
                end.sendall(answer)
                time.sleep(0.5)

        thread = threading.Thread(target=answers)
        thread.start()
        with pytest.raises(hr.errors.HeadraceError, match=rf"there is no Ray cluster at '{address}' \(.*{words}"):
            hr.ray.connect()
        thread.join()

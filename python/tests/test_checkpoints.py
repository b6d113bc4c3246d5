"""The state of a loader in the checkpoints of frameworks, written and read by the frameworks themselves."""

from __future__ import annotations

import json
import subprocess

import pytest

import headrace as hr
from conftest import augmented, digests, files_of, start_python

BEGIN = """
    import json, os, sys
    from conftest import augmented, digests
    import headrace as hr

    photos, folder, rank, world = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    steps, load = int(sys.argv[5]), sys.argv[6] == "load"
    options = {"epochs": 1, "rank": rank, "world_size": world}
    in_step = hr.files(photos).shuffle().decode_image().random_resized_crop(32).batch(global_size=4)
"""
TORCH = """
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    dist.init_process_group("gloo", init_method=f"file://{folder}/{'second' if load else 'first'}", rank=rank, world_size=world)
"""
# The loader is one more thing with state_dict and load_state_dict.
STATEFUL = """
    with in_step.loader(**options) as loader:
        model = torch.nn.Linear(2, 2)
        training = {"model": model, "loader": loader}
        if load:
            dcp.load(training, checkpoint_id=f"{folder}/step")
        loop = iter(loader)
        in_step_seen = [list(batch["key"]) for _, batch in zip(range(steps), loop)]
        if not load:
            dcp.save(training, checkpoint_id=f"{folder}/step")
"""
# Where ranks do not have the same batches at every moment, the states of all are saved.
ALL_RANKS = """
    class AllRanks:
        def __init__(self, loader):
            self.loader = loader

        def state_dict(self):
            states = [None] * dist.get_world_size()
            dist.all_gather_object(states, self.loader.state_dict())
            return {"ranks": json.dumps(states)}

        def load_state_dict(self, state):
            self.loader.load_state_dict(json.loads(state["ranks"]))

    with augmented(photos, 3).loader(order="completion", **options) as loader:
        training = {"loader": AllRanks(loader)}
        if load:
            dcp.load(training, checkpoint_id=f"{folder}/ranks")
        loop = iter(loader)
        seen = [list(batch["key"]) for _, batch in zip(range(steps), loop)]
        if not load:
            dcp.save(training, checkpoint_id=f"{folder}/ranks")
    print(json.dumps([in_step_seen, seen]))
    dist.destroy_process_group()
"""
ORBAX = """
    import orbax.checkpoint as ocp

    with in_step.loader(**options) as loader, ocp.CheckpointManager(os.path.abspath(f"{folder}/orbax")) as manager:
        if load:
            loader.load_state_dict(manager.restore(2, args=ocp.args.Composite(loader=ocp.args.JsonRestore())).loader)
        seen = [list(batch["key"]) for _, batch in zip(range(steps), loader)]
        if not load:
            manager.save(2, args=ocp.args.Composite(loader=ocp.args.JsonSave(loader.state_dict())))
            manager.wait_until_finished()
    print(json.dumps(seen))
"""


def run(code, photos, folder, world, steps, load):
    """Run all ranks of a world; what each has seen, batch by batch."""
    ranks: list[subprocess.Popen[str]] = [
        start_python(code, photos, folder, rank, world, steps, "load" if load else "save", GLOO_SOCKET_IFNAME="lo") for rank in range(world)
    ]
    try:
        seen = []
        for process in ranks:
            out, err = process.communicate(timeout=200)
            assert process.returncode == 0, err
            seen.append(json.loads(out.splitlines()[-1]))
        return seen
    finally:
        for process in ranks:
            process.kill()
            process.communicate()


def steps_of(ranks):
    """The global batches of what ranks have seen."""
    return [[key for part in parts for key in part] for parts in zip(*ranks, strict=True)]


@pytest.mark.timeout(600)
def test_torch_distributed_checkpoint_under_another_world_size(photos, tmp_path):
    """Of ranks that are in step, where the state of one is enough, and of others, whose states are gathered."""
    saved = run(BEGIN + TORCH + STATEFUL + ALL_RANKS, photos, tmp_path, 2, 3, load=False)
    loaded = run(BEGIN + TORCH + STATEFUL + ALL_RANKS, photos, tmp_path, 1, 100, load=True)
    first, rest = (steps_of([in_step for in_step, _ in ranks]) for ranks in (saved, loaded))
    assert len(first) == 3
    assert len(rest) == 9
    assert sorted(key for batch in first + rest for key in batch) == files_of(photos)
    assert {len(batch) for batch in (first + rest)[:-1]} == {4}
    assert sorted(key for _, rank in saved + loaded for batch in rank for key in batch) == files_of(photos)


@pytest.mark.timeout(600)
def test_orbax_under_another_world_size(photos, tmp_path):
    first = steps_of(run(BEGIN + ORBAX, photos, tmp_path, 1, 3, load=False))
    rest = steps_of(run(BEGIN + ORBAX, photos, tmp_path, 2, 100, load=True))
    with hr.files(photos).shuffle().decode_image().random_resized_crop(32).batch(global_size=4).loader(epochs=1) as loader:
        assert first + rest == [list(batch["key"]) for batch in loader]


def test_torch_save(photos, tmp_path):
    """What torch.save writes, torch.load reads as data: nothing in a state needs its pickles to be trusted."""
    import torch

    with augmented(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        torch.save({"loader": loader.state_dict()}, tmp_path / "step.pt")
        rest = digests(loop)
    with augmented(photos).loader(epochs=1) as loader:
        loader.load_state_dict(torch.load(tmp_path / "step.pt", weights_only=True)["loader"])
        assert digests(loader) == rest

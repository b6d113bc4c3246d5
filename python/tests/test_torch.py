"""Headrace where programs are built around PyTorch's DataLoader: torchdata, Lightning, Accelerate, as they are."""

from __future__ import annotations

import json
import pickle
import socket

import pytest
import torch
from torch.utils.data import DataLoader

import headrace as hr
from conftest import augmented, digests, files_of, pipeline, run_python, start_python
from test_zero_copy import shared_ranges


def keys(batches):
    return [list(batch["key"]) for batch in batches]


@pytest.fixture
def dataset(photos):
    dataset = hr.torch.IterableDataset(augmented(photos), epochs=2)
    yield dataset
    dataset.close()


def test_a_data_loader_gives_what_the_loader_gives(photos, dataset):
    batches = DataLoader(dataset, batch_size=None)
    assert len(batches) == len(dataset) == 12
    epochs = [digests(batches), digests(batches)]
    with pytest.raises(hr.EpochsExhausted):
        next(iter(batches))
    with augmented(photos).loader(epochs=2) as loader:
        assert epochs == [digests(loader), digests(loader)]
    batch = next(iter(DataLoader(hr.torch.IterableDataset(augmented(photos)), batch_size=None)))
    assert isinstance(batch["image"], torch.Tensor)
    assert isinstance(batch["key"], hr.Texts)


def test_a_data_loader_copies_nothing(photos):
    with pipeline(photos).loader() as loader:
        batches = iter(DataLoader(hr.torch.IterableDataset(loader), batch_size=None))
        batch = next(batches)
        assert any(batch["image"].data_ptr() in r for r in shared_ranges())


def test_a_loader_stays_its_owners(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        dataset = hr.torch.IterableDataset(loader)
        assert dataset.loader is loader
        assert isinstance(next(iter(dataset))["image"], torch.Tensor)
        dataset.close()
        assert len(list(loader.set_epoch(0) or loader)) == 12


def test_bfloat16_and_options_reach_the_loader(photos):
    images = hr.files(photos).decode_image().center_crop(32).normalize(0.5, 0.25, "bfloat16")
    dataset = hr.torch.IterableDataset(images.batch(4), epochs=1, rank=1, world_size=2)
    assert len(list(dataset)) == 6
    assert dataset.loader.state_dict()["rank"] == 1
    assert next(iter(hr.torch.IterableDataset(images.batch(4))))["image"].dtype == torch.bfloat16
    dataset.close()
    dataset.close()


def test_workers_are_refused(photos, dataset):
    """Forked ones when they begin, whether the loader runs or not; where they are spawned, a loader that runs cannot be sent."""
    done = run_python(
        """
        import sys
        from torch.utils.data import DataLoader
        import headrace as hr
        from conftest import pipeline

        dataset = hr.torch.IterableDataset(pipeline(sys.argv[1]), epochs=2)
        for _ in range(2):
            try:
                next(iter(DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="fork")))
            except hr.RecipeError as error:
                assert "DataLoader(num_workers=2): each worker would give every batch again; write" in str(error), error
            print(len(list(dataset)))
        """,
        photos,
    )
    assert done.stdout == "12\n12\n", done.stderr
    next(iter(dataset))
    with pytest.raises(TypeError, match="num_workers=0"):
        pickle.dumps(dataset)


def test_what_is_refused(photos):
    with pytest.raises(hr.RecipeError, match="must be a pipeline or a loader"):
        hr.torch.IterableDataset([1, 2])
    with pipeline(photos).loader() as loader, pytest.raises(hr.RecipeError, match="epochs: a loader has its options"):
        hr.torch.IterableDataset(loader, epochs=3)
    wrong = hr.torch.IterableDataset(hr.files(photos).decode_image().batch(4))
    with pytest.raises(hr.RecipeError):
        next(iter(wrong))
    skipping = hr.torch.IterableDataset(pipeline(photos), on_error="skip")
    with pytest.raises(TypeError, match="max_batches"):
        len(skipping)
    skipping.close()


def test_one_that_was_not_used_is_pickled(photos):
    dataset = pickle.loads(pickle.dumps(hr.torch.IterableDataset(pipeline(photos), epochs=1)))
    assert len(list(dataset)) == 12
    dataset.close()


def test_it_goes_on_from_a_state(photos, dataset):
    loop = iter(dataset)
    digests([next(loop) for _ in range(5)])
    state = json.loads(json.dumps(dataset.state_dict()))
    rest = digests(loop) + digests(dataset)
    with pytest.raises(hr.StateMismatch):
        dataset.load_state_dict({"epoch": 1})
    other = hr.torch.IterableDataset(augmented(photos), epochs=2)
    other.load_state_dict(state)
    assert digests(other) + digests(other) == rest
    other.close()


@pytest.mark.parametrize("steps", [3, 12, 15])
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
def test_a_stateful_data_loader(photos, steps):
    """torchdata's loader saves and restores ours, also between epochs."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        return StatefulDataLoader(hr.torch.IterableDataset(augmented(photos), epochs=2), batch_size=None)

    first, seen, state = loader(), [], None
    for _ in range(2):
        for batch in first:
            seen += digests([batch])
            if len(seen) == steps:
                state = json.loads(json.dumps(first.state_dict()))
            del batch
    second, rest = loader(), []
    second.load_state_dict(state)
    while len(rest) < 24 - steps:
        rest += digests(second)
    assert rest == seen[steps:]
    first.dataset.close()
    second.dataset.close()


LIGHTNING = """
    import importlib.util, json, logging, sys, warnings
    warnings.simplefilter("ignore")
    import lightning, torch
    import headrace as hr
    from conftest import pipeline

    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    photos, folder = sys.argv[1:]

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(3, 2), []

        def training_step(self, batch, number):
            self.seen.append(list(batch["key"]))
            return self.layer(batch["image"].float().mean((1, 2))).square().sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    def fit(data, steps, checkpoint=None, epochs=-1, **more):
        saves = "callbacks" in more
        model, off = Model(), {"logger": False, "enable_checkpointing": saves, "enable_progress_bar": False, "enable_model_summary": False}
        trainer = lightning.Trainer(max_steps=steps, max_epochs=epochs, accelerator="cpu", **off, **more)
        trainer.fit(model, data, ckpt_path=checkpoint)
        return trainer, model.seen

    wraps = [lambda: pipeline(photos).to("torch").loader(), lambda: hr.torch.IterableDataset(pipeline(photos))]
    if importlib.util.find_spec("torchdata"):
        from torchdata.stateful_dataloader import StatefulDataLoader
        wraps.append(lambda: StatefulDataLoader(hr.torch.IterableDataset(pipeline(photos)), batch_size=None))
    for wrap in wraps:
        _, whole = fit(wrap(), 30)
        # In the middle of an epoch, and after its last batch: what Lightning does then is no end of an epoch to it.
        for stop in (17, 12):
            trainer, first = fit(wrap(), stop)
            trainer.save_checkpoint(f"{folder}/model.ckpt")
            _, rest = fit(wrap(), 30, f"{folder}/model.ckpt")
            assert len(whole) == 30 and first + rest == whole, (stop, len(first), len(rest))
        # After an epoch that Lightning has finished it loads no loader's state.
        trainer, first = fit(wrap(), -1, epochs=1)
        trainer.save_checkpoint(f"{folder}/model.ckpt")
        _, rest = fit(wrap(), -1, f"{folder}/model.ckpt", epochs=2)
        assert first + rest == whole[:24], (len(first), len(rest))
        # Epochs that Lightning cuts short: the loader is in the middle of its own. The callback saves before Lightning counts the batch.
        always = {"every_n_train_steps": 1, "save_top_k": -1, "enable_version_counter": False}
        every = lightning.pytorch.callbacks.ModelCheckpoint(folder, "{step}", **always)
        _, short = fit(wrap(), 5, callbacks=[every], limit_train_batches=2)
        for stop in (1, 2, 3):
            assert fit(wrap(), 5, f"{folder}/step={stop}.ckpt", limit_train_batches=2)[1] == short[stop:], stop
        # Saved after a fit that has stopped exactly where an epoch was cut short.
        trainer, first = fit(wrap(), 4, limit_train_batches=2)
        trainer.save_checkpoint(f"{folder}/model.ckpt")
        _, rest = fit(wrap(), 8, f"{folder}/model.ckpt", limit_train_batches=2)
        _, short = fit(wrap(), 8, limit_train_batches=2)
        assert len(short) == 8 and first + rest == short, (len(first), len(rest))

    # Whether the fit fetches a batch ahead or not, done= is the state after the one that it has used.
    states = []

    class Saves(Model):
        def training_step(self, batch, number):
            states.append((loader.state_dict(done=number + 1), loader.state_dict()))
            return super().training_step(batch, number)

    loader = wraps[0]()
    lightning.Trainer(max_steps=5, accelerator="cpu", logger=False, enable_checkpointing=False).fit(Saves(), loader)
    for n, (used, received) in enumerate(states, 1):
        with wraps[0]() as resumed:
            resumed.load_state_dict(used)
            assert list(next(iter(resumed))["key"]) == whole[n], n
        assert used["batches"] == n <= received["batches"], (n, used, received)
    assert len(states) == 5

    # Tuples come as they are.
    class Pairs(Model):
        def training_step(self, batch, number):
            image, key = batch
            return super().training_step({"image": image, "key": key}, number)

    pairs = Pairs()
    tuples = pipeline(photos).to("torch").tuples("image", "key").loader()
    lightning.Trainer(max_steps=6, accelerator="cpu", logger=False, enable_checkpointing=False).fit(pairs, tuples)
    assert pairs.seen == whole[:6]

    # A plain DataLoader has no state: the run begins its epoch again, and learns so, once.
    def told(loader, *fitting):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", hr.HeadraceWarning)
            trainer, seen = fit(loader, *fitting)
        return trainer, seen, [str(w.message) for w in caught if w.category is hr.HeadraceWarning]

    plain = lambda: torch.utils.data.DataLoader(hr.torch.IterableDataset(pipeline(photos)), batch_size=None)
    trainer, first, warned = told(plain(), 17)
    assert first == whole[:17]
    assert len(warned) == 1 and "pipeline.to(" in warned[0], warned
    trainer.save_checkpoint(f"{folder}/model.ckpt")
    assert told(plain(), 30, f"{folder}/model.ckpt")[1] != whole[17:]
    for good in wraps:
        assert told(good(), 3)[2] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", hr.HeadraceWarning)
        next(iter(plain()))  # a loop of the program's own
    print("done")
"""


def test_lightning_trains_saves_and_resumes(photos, tmp_path):
    """A loader, and a data set, given to the trainer as they are: their states go into its checkpoints."""
    done = run_python(LIGHTNING, photos, tmp_path, timeout=110)
    assert done.stdout.endswith("done\n"), done.stdout + done.stderr


RANK = """
    import json, sys
    import torch
    import torch.distributed as dist
    import headrace as hr
    from conftest import pipeline

    photos, folder, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
    dataset = hr.torch.IterableDataset(pipeline(photos), epochs=1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    seen = [list(batch["key"]) for batch in torch.utils.data.DataLoader(dataset, batch_size=None)]
    dataset.close()
    dist.destroy_process_group()
    print(json.dumps(seen))
"""
ACCELERATE = """
    import json, os, sys, warnings
    warnings.simplefilter("ignore")
    photos, folder, rank, port = sys.argv[1:]
    os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    import torch
    from accelerate import Accelerator
    from conftest import pipeline

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(3, 2)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 1e-6))
    seen = []
    with pipeline(photos).to("torch", device=accelerator.device).loader(epochs=1) as loader:
        for batch in loader:
            accelerator.backward(model(batch["image"].float().mean((1, 2))).square().sum())
            optimizer.step()
            seen.append(list(batch["key"]))
    accelerator.end_training()
    print(json.dumps(seen))
"""


def ranks(code, *arguments):
    """What two processes print that train together."""
    processes = [start_python(code, *arguments[:2], rank, *arguments[2:], GLOO_SOCKET_IFNAME="lo") for rank in range(2)]
    try:
        said = [process.communicate(timeout=110) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        return [json.loads(out.splitlines()[-1]) for out, _ in said]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_ranks_are_those_of_torch_distributed(photos, tmp_path):
    seen = ranks(RANK, photos, tmp_path)
    assert [len(epoch) for epoch in seen] == [6, 6]
    assert sorted(key for epoch in seen for batch in epoch for key in batch) == files_of(photos)


def test_accelerate_trains_with_a_loader(photos, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    seen = ranks(ACCELERATE, photos, tmp_path, port)
    assert sorted(key for epoch in seen for batch in epoch for key in batch) == files_of(photos)


def test_tensors_on_a_device(photos):
    with pipeline(photos).to("torch", device="cpu").loader(epochs=1) as loader, pipeline(photos).loader(epochs=1) as plain:
        for batch, same in zip(loader, plain):
            assert (batch["image"].numpy() == same["image"]).all()
            assert batch["key"] == same["key"]
        loader.to("torch", device=torch.device("meta"))
        loader.set_epoch(0)
        assert next(iter(loader))["image"].is_meta


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")
def test_without_cuda(photos):
    """A device that is not there is refused when the loader is made; pinning what nobody can use does nothing."""
    for device in ("cuda", "cuda:1", "nothing"):
        with pytest.raises(hr.RecipeError, match=rf"to\('torch', device='{device}'\): PyTorch has no such device: \w+"):
            pipeline(photos).to("torch", device=device).loader()
    with pipeline(photos).to("torch", pin_memory=True).loader(epochs=1) as loader, pipeline(photos).loader(epochs=1) as plain:
        with pytest.raises(hr.RecipeError, match="no such device"):
            loader.to("torch", device="cuda")
        batches = list(loader)
        assert not any(batch["image"].is_pinned() for batch in batches)
        assert digests([{**b, "image": b["image"].numpy(), "label": b["label"].numpy()} for b in batches]) == digests(plain)


def test_options_of_formats(photos):
    for format in ("numpy", "jax"):
        with pytest.raises(hr.RecipeError, match=f"to\\('{format}', pin_memory=True\\): only 'torch' tensors have pin_memory"):
            pipeline(photos).to(format, pin_memory=True)
        with pytest.raises(hr.RecipeError, match="have device"):
            pipeline(photos).to(format, device="cpu")
    pinned = pipeline(photos).to("torch", pin_memory=True)
    assert pinned == pipeline(photos).to("torch", pin_memory=True) == pickle.loads(pickle.dumps(pinned))
    assert pinned != pipeline(photos).to("torch")
    with pytest.raises(hr.RecipeError, match="the format 'torch', pin_memory=True"):
        hr.merge([hr.files(photos), hr.files(photos).to("torch", pin_memory=True)])


def test_lists_of_text_stay_lists(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.jsonl").write_text('{"n": 1, "captions": ["a", "b"]}\n{"n": 2, "captions": []}\n')
    with hr.read(tmp_path / "a.jsonl").batch(2).to("torch").loader(epochs=1) as loader:
        batch = next(iter(loader))
        assert batch["captions"] == [["a", "b"], []]
        assert batch["n"].tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_checkpoint_libraries_keep_a_state_of_what_was_used(tmp_path):
    import torch.distributed.checkpoint as dcp
    from accelerate import Accelerator

    class Done:
        """A loader as far as the model was trained."""

        def __init__(self, loader):
            self.loader, self.done = loader, 0

        def state_dict(self):
            return self.loader.state_dict(done=self.done)

        def load_state_dict(self, state):
            self.loader.load_state_dict(state)

    accelerator, left = Accelerator(cpu=True), []
    dataset = hr.torch.IterableDataset(hr.source([{"n": i} for i in range(60)]).shuffle(seed=1).batch(2), epochs=1)
    loop = iter(dataset)
    seen = [next(loop)["n"].tolist() for _ in range(6)]
    done = Done(dataset)
    done.done = 4
    state = dataset.state_dict(done=4)
    accelerator.register_for_checkpointing(done)
    accelerator.save_state(tmp_path / "accelerate")
    dcp.save({"model": torch.nn.Linear(2, 2), "loader": done}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    torch.save(state, tmp_path / "state.pt")
    for load in (
        lambda: accelerator.load_state(tmp_path / "accelerate"),
        lambda: dcp.load({"model": torch.nn.Linear(2, 2), "loader": done}, checkpoint_id=tmp_path / "dcp", no_dist=True),
        lambda: done.load_state_dict(torch.load(tmp_path / "state.pt")),
    ):
        load()
        assert dataset.state_dict() == state
        loop = iter(dataset)
        left.append([next(loop)["n"].tolist() for _ in range(2)])
    assert left == [seen[4:]] * 3
    dataset.close()

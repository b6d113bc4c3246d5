"""Train on a Ray cluster, each worker with its share of the batches, and go on with the very next batch after a worker is lost.

    python examples/ray_train.py data/train --workers 2 --storage /shared/runs

A checkpoint has the model and the state of every rank's loader. After a failure, or when the same command is run again, all ranks
begin from the last one, on as many workers as there are then.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import headrace as hr
import ray
import ray.train
import ray.train.torch
import torch


def pipeline(root: str) -> hr.Pipeline:
    """Batches of 16 for all ranks together, whatever their number."""
    images = hr.files(f"{root}/**/*.png", label="parent").shuffle(seed=1).decode_image().random_resized_crop(16)
    return images.normalize(0.5, 0.25).layout("NCHW").batch(global_size=16, drop_last=True).to("torch")


def train(config: dict[str, Any]) -> None:
    """What each worker runs. Ray has initialized `torch.distributed`, which says the loader its rank."""
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 10))
    model = ray.train.torch.prepare_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rank = ray.train.get_context().get_world_rank()
    with pipeline(config["root"]).loader(epochs=config["epochs"]) as loader:
        begun = resume(model, loader)
        for epoch in range(begun, config["epochs"]):
            for step, batch in enumerate(loader.resume() if epoch == begun else loader):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
                loss.backward()
                optimizer.step()
                if step % config["every"] == 0:
                    save(model, loader, rank, {"epoch": epoch, "loss": loss.item(), "keys": list(batch["key"])})


def save(model: torch.nn.Module, loader: hr.Loader, rank: int, metrics: dict[str, Any]) -> None:
    """Report a checkpoint to which each rank adds the state of its loader."""
    with tempfile.TemporaryDirectory() as folder:
        torch.save(loader.state_dict(), Path(folder, f"loader-{rank}.pt"))
        if rank == 0:
            torch.save(model.state_dict(), Path(folder, "model.pt"))
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))


def resume(model: torch.nn.Module, loader: hr.Loader) -> int:
    """Begin from the last checkpoint, if there is one. Returns the epoch."""
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        return 0
    with checkpoint.as_directory() as folder:
        model.load_state_dict(torch.load(Path(folder, "model.pt")))
        states = [torch.load(path) for path in sorted(Path(folder).glob("loader-*.pt"))]
    loader.load_state_dict(states)
    return int(states[0]["epoch"])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--storage", required=True, help="a folder that all nodes reach, or a store")
    o = parser.parse_args()
    trainer(o.root, o.storage, o.workers, o.epochs, o.every, o.gpu).fit()


def trainer(root: str, storage: str, workers: int, epochs: int, every: int, gpu: bool = False) -> ray.train.torch.TorchTrainer:
    """The trainer, which starts lost workers again."""
    return ray.train.torch.TorchTrainer(
        train,
        train_loop_config={"root": root, "epochs": epochs, "every": every},
        scaling_config=ray.train.ScalingConfig(num_workers=workers, use_gpu=gpu),
        run_config=ray.train.RunConfig(
            name="headrace", storage_path=storage, failure_config=ray.train.FailureConfig(max_failures=3)
        ),
    )


if __name__ == "__main__":
    main()

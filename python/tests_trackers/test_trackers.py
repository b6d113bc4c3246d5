"""TensorBoard, Weights & Biases and MLflow, without a network: what they have of a run, read as they read it."""

from __future__ import annotations

import json
import pathlib

import mlflow
import pytest
import wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import SummaryWriter
from wandb.proto import wandb_internal_pb2

import headrace as hr


def run(hook):
    """A loop over 40 batches; the names of its stages."""
    pipeline = hr.source(range(400)).map(lambda x: x, gives=int).batch(10)
    with pipeline.loader(epochs=1, hooks=[hook], every=60) as loader:
        assert sum(1 for _ in loader) == 40
        return [stage["name"].replace("+", "_") for stage in loader.stats()["stages"]]


def test_tensorboard(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        stages = run(hr.log.tensorboard(writer))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (one,) = events.Scalars("headrace/wait_share")
    assert one.step == 40
    assert 0 <= one.value <= 1
    assert {f"headrace/stage/{name}/busy" for name in stages} <= set(events.Tags()["scalars"])


def test_wandb(tmp_path, monkeypatch):
    """The numbers are in the row of the program's own next step, which they do not move."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", project="test", dir=str(tmp_path)) as of:
        of.log({"loss": 2.0})
        run(hr.log.wandb(of))
        of.log({"loss": 1.0})
    (file,) = pathlib.Path(tmp_path).rglob("*.wandb")
    rows = [row for row in rows_of(file) if "loss" in row]
    assert [row["loss"] for row in rows] == [2.0, 1.0]
    assert [row["_step"] for row in rows] == [0, 1]
    assert rows[1]["headrace/batches"] == 40
    assert 0 <= rows[1]["headrace/wait_share"] <= 1
    assert "headrace/wait_share" not in rows[0]


def rows_of(file):
    """The rows of a run's file: a log of LevelDB's form, in blocks of 32 KiB, of protobuf messages."""
    data, at, message = file.read_bytes(), 7, b""  # after W&B's own header
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # no header fits into the rest of a block
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        message, at = message + data[at + 7 : at + 7 + size], at + 7 + size
        if kind in (1, 4):  # whole, or its last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(message)
            message = b""
            if record.WhichOneof("record_type") == "history":
                yield {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}


@pytest.mark.filterwarnings("ignore")  # its own
def test_mlflow(tmp_path):
    """The hook's thread has no active run: that of the program's thread counts."""
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with pytest.raises(hr.WrongValue, match="no active run"):
        hr.log.mlflow()
    with mlflow.start_run() as active:
        stages = run(hr.log.mlflow())
    told = mlflow.tracking.MlflowClient().get_metric_history(active.info.run_id, "headrace/wait_share")
    assert [one.step for one in told] == [40]
    names = mlflow.get_run(active.info.run_id).data.metrics
    assert {f"headrace/stage/{name}/busy" for name in stages} <= set(names)

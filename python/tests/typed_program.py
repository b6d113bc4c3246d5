"""What users write, for type checkers: scripts/lint.sh has mypy look at it, strictly, and Pyright, also at the examples. Nobody runs it."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

import headrace as hr


def darker(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return image // 2


train = (
    hr.files("data/train", label="parent", seed=3)
    .shuffle(seed=0)
    .decode_image()
    .random_resized_crop(224)
    .random_flip()
    .map(darker, fields="image")
    .normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    .layout("NCHW")
    .batch(64, drop_last=True)
)

with train.loader(epochs=2, on_error="skip") as loader:
    state: dict[str, Any] = loader.state_dict()
    for _ in range(2):
        for batch in loader:
            taken: hr.Batch = batch
            images: npt.NDArray[np.float32] = batch["image"]
            shown = (images.shape, batch["key"][0])
    stats: hr.Stats = loader.stats()
    busy = (stats.text, stats["stages"][0]["name"], loader.classes)


class TrainBatch(TypedDict):
    image: npt.NDArray[np.float32]
    label: npt.NDArray[np.int64]


with train.loader().typed(TrainBatch) as typed_loader:
    for typed in typed_loader:
        labels: npt.NDArray[np.int64] = typed["label"]
        typed["lable"]  # type: ignore[typeddict-item]
        typed["image"].shape  # noqa: B018
    one: TrainBatch = typed_loader.get(timeout=1)
    state = typed_loader.resume().state_dict()


async def answered() -> tuple[list[TrainBatch], list[hr.Batch]]:
    one: TrainBatch = await typed_loader.aget(timeout=1)
    return [one, *[typed async for typed in typed_loader]], [batch async for batch in train.loader()]


try:
    hr.load("train.yaml").loader().load_state_dict(state)
except hr.SampleError as error:
    where = (error.key, error.index, error.stage)

pixels: npt.NDArray[Any] = hr.io.load_image("a.jpg", width=224, height=224)
both = hr.merge([train, train]), hr.mix([(train, 0.7), (train, 0.3)]), hr.mix({train: 1}), hr.mix({"a": train}, weights={"a": 2.0})
numbers = hr.source(range(10), fields="i", gives="int64").map(lambda i: i + 1, fields="i").batch(2)

# Mistakes are found: mypy complains of an error to ignore that is none.
p = hr.files("data")
p.resize("large")  # type: ignore[arg-type]
p.layout("CHW")  # type: ignore[arg-type]
p.batch("4")  # type: ignore[arg-type]
p.batch(4).loader(num_workers=8)  # type: ignore[call-arg]
p.batch(4).loader(on_error="ignore")  # type: ignore[arg-type]
hr.io.load_image("a.jpg", fit="stretched")  # type: ignore[arg-type]

"""Data sets and transforms of PyTorch and torchvision, as they are, as sources and steps: they give what they give in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset
from torchvision.transforms import v2

import headrace as hr
from own import assert_alike, images, plain, rows

pytestmark = pytest.mark.timeout(300)  # each worker imports PyTorch, which takes long on a machine that does other things

SIZED = {"image": ("uint8", (48, 40, 3)), "label": "int64"}


class Folder(Dataset):
    """Images in folders of their classes, as torchvision's ImageFolder has them."""

    def __init__(self, root, transform=None):
        self.paths = sorted(Path(root).rglob("*.png"))
        self.classes = sorted({path.parent.name for path in self.paths})
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        image = Image.open(self.paths[i]).convert("RGB")
        return self.transform(image) if self.transform else image, self.classes.index(self.paths[i].parent.name)


def test_a_tensor_dataset():
    x, y = torch.arange(60, dtype=torch.float32).reshape(20, 3), torch.arange(20)
    both = ConcatDataset([TensorDataset(x, y), Subset(TensorDataset(-x, -y), [3, 1, 4])])
    with (
        hr.source(both, fields=["x", "y"], gives={"x": ("float32", (3,)), "y": "int64"})
        .batch(8)
        .to("torch")
        .loader(epochs=1, workers=1) as loader
    ):
        batches = list(loader)
    assert torch.equal(torch.cat([b["x"] for b in batches]), torch.cat([x, -x[[3, 1, 4]]]))
    assert torch.equal(torch.cat([b["y"] for b in batches]), torch.cat([y, -y[[3, 1, 4]]]))
    assert [k for b in batches for k in b["key"]] == [str(n) for n in range(23)]


def test_a_folder_of_pictures(pictures):
    folder = Folder(pictures)
    source = hr.source(folder, fields=["image", "label"], keys=[str(path) for path in folder.paths], gives=SIZED)
    assert_alike(rows(source, workers=1), plain(pictures))


class Stream(IterableDataset):
    """One that says how long it is, as many do for a progress bar."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        assert torch.utils.data.get_worker_info() is None  # no worker of a DataLoader, which would have a share
        for i in range(self.count):
            yield torch.full((2,), i), i


def test_an_iterable_dataset():
    with hr.source(Stream(10), fields=["x", "n"]).batch(4).loader(epochs=2) as loader:
        for _ in range(2):
            batches = list(loader)
            assert [b["n"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
            assert all((b["x"] == b["n"][:, None]).all() for b in batches)


def test_a_transform_of_torchvision(pictures):
    transform = v2.Compose(
        [v2.ToImage(), v2.Resize((24, 24), antialias=True), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)]
    )
    got = rows(images(pictures).map(transform, fields="image", workers=1, gives=("float32", (3, 24, 24))))
    assert_alike(got, [{**s, "image": transform(s["image"].copy()).numpy()} for s in plain(pictures)])

"""PyTorch: its DataLoader, and its chains of data pipes."""

from torch.utils.data import DataLoader, Dataset
from torch.utils.data.datapipes.iter import IterableWrapper


def chain(count):
    """No workers: three generators, one after the other."""
    yield from IterableWrapper(range(count), deepcopy=False).map(same).map(same).map(same)


def workers(count):
    """Two processes, item by item."""
    yield from DataLoader(Numbers(count), batch_size=None, num_workers=2)


def chunks(count):
    """Two processes, batches of 1,000."""
    for chunk in DataLoader(Numbers(count), batch_size=1000, num_workers=2):
        yield from chunk.numpy()


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, item):
        return same(same(same(item)))


def same(item):
    return item

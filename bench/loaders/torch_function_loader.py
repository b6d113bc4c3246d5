"""torch.utils.data.DataLoader over a Dataset that calls a function of the user's."""

import torch
import user_transform
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Images(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return user_transform.load(self.files[i])


def batches(job):
    for batch in DataLoader(Images(job.files), batch_size=32, num_workers=job.workers, prefetch_factor=4):
        yield batch.numpy()

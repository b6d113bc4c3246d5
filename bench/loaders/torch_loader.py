"""torch.utils.data.DataLoader with torchvision: its own JPEG decoder, transforms v2 on tensors."""

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

torch.set_num_threads(1)


class Images(Dataset):
    def __init__(self, job):
        self.files = job.files
        steps = {"val": [v2.Resize(256), v2.CenterCrop(224)], "train": [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()]}[
            job.work
        ]
        if job.dtype == "float32":
            steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(job.mean, job.std)]
        self.transform = v2.Compose(steps)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.transform(decode_jpeg(read_file(self.files[i]), mode=ImageReadMode.RGB))


def batches(job):
    for batch in DataLoader(Images(job), batch_size=32, num_workers=job.workers or 2, prefetch_factor=4):
        yield batch.numpy()

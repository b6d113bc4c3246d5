"""torch.utils.data.DataLoader with torchvision over Pillow: the pipeline of most training scripts."""

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

torch.set_num_threads(1)


class Images(Dataset):
    def __init__(self, job):
        self.files = job.files
        steps = {"val": [v2.Resize(256), v2.CenterCrop(224)], "train": [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()]}
        self.transform = v2.Compose([*steps[job.work], v2.PILToTensor()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with Image.open(self.files[i]) as image:
            return self.transform(image.convert("RGB"))


def batches(job):
    for batch in DataLoader(Images(job), batch_size=32, num_workers=job.workers or 2, prefetch_factor=4):
        yield batch.numpy()

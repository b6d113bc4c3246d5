"""What libraries make, as a worker's results."""

import ml_dtypes
import numpy as np
import torch
from PIL import Image


def make(sample):
    return {
        "torch": torch.arange(6, dtype=torch.float32).reshape(2, 3).T.requires_grad_(),
        "bfloat16": torch.tensor([1, 2], dtype=torch.bfloat16),
        "pil": Image.new("RGB", (3, 2), (1, 2, 3)),
        "big": np.array([1, 2], ">i4"),
        "turned": (np.arange(200 * 300) % 251).astype(np.uint8).reshape(200, 300).T,
        "scalar": torch.tensor(2.5, dtype=torch.float64),
        "ml": np.array([3, 4], ml_dtypes.bfloat16),
    }

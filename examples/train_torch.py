"""Trains a small model on folders of photographs with PyTorch: what a training script's data part looks like.

Usage: python train_torch.py FOLDER [EPOCHS]

Run it under torchrun and each rank takes its share by itself.
"""

import sys

import headrace as hr
import torch


def main(folder, epochs=2):
    photographs = hr.files(folder, label="parent")
    train = photographs.shuffle(seed=0).decode_image().random_resized_crop(64).random_flip().batch(32, drop_last=True)
    check = photographs.decode_image().resize(72).center_crop(64).batch(64)

    with train.to("torch").loader(epochs=epochs) as loader, check.to("torch").loader() as checks:
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 5, stride=4),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(256, len(loader.classes)),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(epochs):
            for batch in loader:
                loss = torch.nn.functional.cross_entropy(model(floats(batch["image"])), batch["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                right = sum((model(floats(b["image"])).argmax(1) == b["label"]).sum().item() for b in checks)
            print(f"epoch {epoch}: loss {loss.item():.2f}, {right} right")


def floats(images):
    """uint8 [n, height, width, 3] in shared memory becomes float32 [n, 3, height, width], in PyTorch's own or the GPU's."""
    return images.permute(0, 3, 1, 2).float().div_(127.5).sub_(1)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

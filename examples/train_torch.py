"""Trains a small model on folders of images with PyTorch: what a training script's data part looks like.

Usage: python train_torch.py FOLDER [EPOCHS]

Run it under torchrun and each rank takes its share by itself.
"""

import sys

import headrace as hr
import torch


def main(folder, epochs=2):
    photographs = hr.files(folder, label="parent")
    train = photographs.shuffle(seed=0).decode_image().random_resized_crop(64).random_flip().color_jitter(0.3, 0.3, 0.3)
    check = photographs.decode_image().resize(72).center_crop(64)
    train, check = floats(train).batch(32, drop_last=True), floats(check).batch(64)

    with train.to("torch").loader(epochs=epochs) as loader, check.to("torch").loader() as checks:
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 5, stride=4),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(256, len(loader.classes)),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        loss = torch.tensor(0.0)
        for epoch in range(epochs):
            for batch in loader:
                loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                right = sum((model(b["image"]).argmax(1) == b["label"]).sum().item() for b in checks)
            print(f"epoch {epoch}: loss {loss.item():.2f}, {right} right")


def floats(images):
    """What the model takes: float32 [n, 3, height, width] around 0. The engine makes it while it has the pixels at hand."""
    return images.normalize(mean=0.5, std=0.25).layout("NCHW")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

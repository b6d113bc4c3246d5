"""Trains a small encoder as SimCLR does: two views of each image, which are to be told from those of all others.

Usage: python simclr.py FOLDER [EPOCHS]
"""

import sys

import headrace as hr
import torch


def views(folder, size=32):
    """The steps of SimCLR's paper. Its blur is as wide as a tenth of the image."""

    def one(view):
        view = view.random_resized_crop(size, scale=(0.2, 1), filter="bicubic").random_flip()
        view = view.color_jitter(0.8, 0.8, 0.8, 0.2, p=0.8).random_grayscale(0.2)
        return view.random_apply(lambda p: p.gaussian_blur(size // 20 * 2 + 1), p=0.5).normalize(0.5, 0.25).layout("NCHW")

    return hr.files(folder).shuffle(seed=0).decode_image().views(2, one).batch(32, drop_last=True)


def main(folder, epochs=2):
    encoder = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 32),
    )
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    with views(folder).to("torch").loader(epochs=epochs) as loader:
        for epoch in range(epochs):
            loss = torch.zeros(())
            for batch in loader:
                loss = contrastive(encoder(batch["view_0"]), encoder(batch["view_1"]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: loss {loss.item():.2f}")


def contrastive(one, other, temperature=0.5):
    """Cross-entropy of which of all views in the batch is the other of the same image."""
    all = torch.nn.functional.normalize(torch.cat([one, other]), dim=1)
    alike = all @ all.T / temperature
    alike.fill_diagonal_(float("-inf"))
    n = len(one)
    return torch.nn.functional.cross_entropy(alike, torch.arange(2 * n).roll(n))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

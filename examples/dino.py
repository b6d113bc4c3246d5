"""Trains a small student as DINO does: all views of an image are to say what a teacher says of the two large ones.

Usage: python dino.py FOLDER [EPOCHS]
"""

import copy
import sys

import headrace as hr
import torch

SMALL = [f"small_{i}" for i in range(6)]


def views(folder, large=48, small=24):
    """DINO's two large views, of which each has steps of its own, and six small ones."""

    def crop(view, size, *scale):
        view = view.random_resized_crop(size, scale=scale, filter="bicubic").random_flip()
        return view.color_jitter(0.4, 0.4, 0.2, 0.1, p=0.8).random_grayscale(0.2)

    def blurred(view, p):
        return view.random_apply(lambda p: p.gaussian_blur(9, sigma=(0.1, 2)), p=p)

    def floats(view):
        return view.normalize(0.5, 0.25).layout("NCHW")

    return (
        hr.files(folder)
        .shuffle(seed=0)
        .decode_image()
        .views(
            first=lambda view: floats(blurred(crop(view, large, 0.4, 1), 1.0)),
            second=lambda view: floats(blurred(crop(view, large, 0.4, 1), 0.1).random_solarize(128, 0.2)),
            small=(6, lambda view: floats(blurred(crop(view, small, 0.05, 0.4), 0.5))),
        )
        .batch(16, drop_last=True)
    )


def main(folder, epochs=2):
    student = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 64),
    )
    # The teacher is the mean of the student over time.
    teacher, centre = copy.deepcopy(student).requires_grad_(False), torch.zeros(64)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    with views(folder).to("torch").loader(epochs=epochs) as loader:
        for epoch in range(epochs):
            loss = torch.zeros(())
            for batch in loader:
                names = ["first", "second", *SMALL]
                said = {name: student(batch[name]).div(0.1).log_softmax(1) for name in names}
                wanted = {name: teacher(batch[name]) for name in names[:2]}
                losses = [
                    -((out - centre).div(0.04).softmax(1) * said[name]).sum(1).mean()
                    for large, out in wanted.items()
                    for name in names
                    if name != large
                ]
                loss = torch.stack(losses).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                centre = 0.9 * centre + 0.1 * torch.cat(list(wanted.values())).mean(0)
                for mean, now in zip(teacher.parameters(), student.parameters(), strict=True):
                    mean.lerp_(now.detach(), 0.004)
            print(f"epoch {epoch}: loss {loss.item():.2f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

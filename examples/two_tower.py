"""Trains a two-tower model that recommends items to users, with PyTorch: python two_tower.py CLICKS.parquet [EPOCHS]

The table has a row for each click: the user and the item as text, the user's age, which may be null, and the item's price.
"""

import sys

import headrace as hr
import torch

BUCKETS = 4096  # of an embedding table


class Tower(torch.nn.Module):
    """A name and a number become a vector of length 1."""

    def __init__(self, size=32):
        super().__init__()
        self.names = torch.nn.Embedding(BUCKETS, size)
        self.rest = torch.nn.Sequential(torch.nn.Linear(size + 1, size), torch.nn.ReLU(), torch.nn.Linear(size, size))

    def forward(self, name, number):
        both = torch.cat([self.names(name), number[:, None]], dim=1)
        return torch.nn.functional.normalize(self.rest(both))


def features(clicks):
    return (
        clicks.fill_nan("age", 35)
        .scale("age", mean=35, std=15)
        .log1p("price")
        .hash_buckets(["user", "item"], BUCKETS)
        .batch(256)
        .to("torch")
    )


def main(table, epochs=3):
    clicks = hr.read(table, fields={"user": "user", "item": "item", "age": ("age", "float32"), "price": ("price", "float32")})
    parts = clicks.split({"train": 0.9, "check": 0.1})
    train, check = features(parts["train"].shuffle(seed=0)), features(parts["check"])

    users, items = Tower(), Tower()
    optimizer = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=1e-2)

    def scores(batch):
        """Of each user of a batch for each of its items: those of the same row belong together."""
        return 10 * users(batch["user"], batch["age"]) @ items(batch["item"], batch["price"]).T

    with train.loader(epochs=epochs) as loader, check.loader() as checks:
        loss = torch.zeros(())
        for epoch in range(epochs):
            for batch in loader:
                of = scores(batch)
                loss = torch.nn.functional.cross_entropy(of, torch.arange(len(of)))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():  # how often the item that was clicked is before another one
                right = [(of.diagonal()[:, None] > of).float().mean() for of in map(scores, checks)]
            print(f"epoch {epoch}: loss {loss.item():.2f}, {torch.stack(right).mean().item():.0%} right")


if __name__ == "__main__":
    torch.manual_seed(0)
    main(sys.argv[1], *map(int, sys.argv[2:]))

"""Random compositions of steps that hold, drop or make samples, for test_lanes.py: ranks of any number have the same global batches."""

from __future__ import annotations

import itertools
import random

import numpy as np

import headrace as hr


def numbers(n, begin=0):
    return hr.source([{"n": begin + i} for i in range(n)], gives={"n": int}, where="here")


def keep(n):
    return (n * 2654435761) % 7 > 2


def several(n):
    return [10 * n + i for i in range(n % 4)]


def document(n):
    return np.full(1 + n * 2654435761 % 13, n, np.int32)


def total(batch):
    return batch * 2


class Sums:
    """Sums of three, and what is left at the end."""

    def __init__(self):
        self.held = []

    def accumulate(self, n):
        self.held.append(int(n))
        if len(self.held) == 3:
            return self.flush()

    def flush(self):
        held, self.held = self.held, []
        return {"n": sum(held)} if held else None

    def state_dict(self):
        return {"held": self.held}

    def load_state_dict(self, state):
        self.held = state["held"]


def steps(draw):
    """A pipeline of steps that hold, drop or make samples, drawn at random; of at most so many samples."""
    p = numbers(draw.randrange(0, 90)).shuffle()
    if draw.random() < 0.2:
        p = hr.mix([(numbers(draw.randrange(1, 30), 2000).shuffle(), 0.7), (numbers(draw.randrange(1, 30), 3000), 0.3)])
    elif draw.random() < 0.3:
        p = hr.merge([p, numbers(draw.randrange(0, 40), 1000).shuffle()])
    for _ in range(draw.randrange(1, 3)):
        kind = draw.choice(["filter", "flat_map", "unbatch", "aggregate"])
        if kind == "filter":
            p = p.filter(keep, fields="n", where="here")
        elif kind == "flat_map":
            p = p.flat_map(several, fields="n", where="here", gives={"n": int})
        elif kind == "aggregate":
            p = p.aggregate(Sums, fields="n", where="here", gives={"n": int})
        else:
            p = p.batch(draw.randrange(1, 5)).map(total, fields="n", where="here", gives={"n": ("int64", (None,))}).unbatch()
    return p


def ended(p, draw):
    """The pipeline with global batches at its end, their lanes, and whether those that are not full are dropped."""
    lanes = draw.choice([1, 2, 4, 8, 12])
    size = lanes * draw.randrange(1, 3)
    drop = draw.random() < 0.3
    if draw.random() < 0.5:
        lanes = None
    else:
        p = p.lanes(lanes)
    if draw.random() < 0.4:
        p = p.map(document, fields="n", to="x", where="here", gives={"x": ("int32", (None,))}).pack(
            16, global_size=size, drop_last=drop, fit=draw.choice(["best", "first", "wrap", "best-wrap"])
        )
    else:
        p = p.batch(global_size=size, drop_last=drop)
    return p, lanes or size, drop


def agreed(steps):
    """How ranks end an epoch: each with its last sample, or all with the same batch."""
    return {"uneven": True} if steps is None else {"steps_per_epoch": steps}


def in_turn(world, of_rank):
    """What each rank has, one rank after the other."""
    return [of_rank(rank) for rank in range(world)]


def check(seed, ranks):
    """Compare the batches of several ranks, cut and gone on with by others, with those of one: ranks(world, of_rank) runs them."""

    def run(p, world, cut=None, steps=None, states=None):
        """The global batches of an epoch, put together of those of all ranks, and where these are then."""

        def of_rank(rank):
            with p.loader(epochs=1, rank=rank, world_size=world, workers=1 + rank % 3, **agreed(steps)) as loader:
                if states is not None:
                    loader.load_state_dict(states)
                over = loader.state_dict()["epoch"] > 0  # the lanes of this rank have no more
                batches = [] if over else [batch["n"].tolist() for batch in itertools.islice(loader, cut)]
                return batches, loader.state_dict()

        said = ranks(world, of_rank)
        parts = itertools.zip_longest(*(batches for batches, _ in said), fillvalue=[])
        return [list(itertools.chain(*of_all)) for of_all in parts], [state for _, state in said]

    draw = random.Random(seed)
    p, lanes, drops = ended(steps(draw), draw)
    if drops:
        one, _ = ranks(1, lambda _: alone(p))[0]
        agree = len(one) or None
    else:
        one, agree = run(p, 1)[0], None
    worlds = [w for w in (2, 4, 8) if lanes % w == 0] if drops else [w for w in (2, 3, 4, 5, 6, 8, 12) if w <= lanes]
    if drops and not one:
        return
    for world in draw.sample(worlds, min(2, len(worlds))):
        assert run(p, world, steps=agree)[0] == one
        if len(one) > 1:
            cut = draw.randrange(1, len(one))
            before, states = run(p, world, cut, agree)
            assert before == one[:cut]
            assert run(p, draw.choice([1, *worlds]), None, agree, states)[0] == one[cut:]


def alone(p):
    """The batches of one rank that agrees on nothing."""
    with p.loader(epochs=1) as loader:
        return [batch["n"].tolist() for batch in loader], loader.state_dict()

"""Grain's MapDataset, and what it makes of itself for iteration."""

import grain


def dataset(count):
    return grain.MapDataset.range(count).map(same).map(same).map(same)


def indexed(count):
    """Nothing runs ahead: each item is made when it is asked for."""
    items = dataset(count)
    for i in range(len(items)):
        yield items[i]


def iterated(count):
    yield from dataset(count).to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))


def threads(count):
    yield from dataset(count).to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=500))


def same(item):
    return item

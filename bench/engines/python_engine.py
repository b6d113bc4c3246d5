"""No engine: three generators of Python, one after the other. What a loop in Python can do at most."""


def chain(count):
    items = iter(range(count))
    for _ in range(3):
        items = map(same, items)
    yield from items


def same(item):
    return item

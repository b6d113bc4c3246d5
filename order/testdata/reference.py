"""What package order computes, written a second time from its documentation, with Python's integers and lists.

Reads requests, one JSON object a line, and writes an answer a line.
"""

import json
import math
import sys

MASK = (1 << 64) - 1


def philox(key, counter):
    c = list(counter)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def words(x):
    x &= MASK
    return [x & 0xFFFFFFFF, x >> 32]


def low(block):
    return block[0] | block[1] << 32


def fnv1a(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def epoch_key(seed, epoch, purpose):
    return low(philox(seed, [*words(epoch), 0, purpose]))


def draw(seed, epoch, source, index, outputs, op, number):
    """The 64 bits of one draw of one operation on one sample."""
    sample = philox(epoch_key(seed, epoch, 2), [*words(fnv1a(source)), *words(index)])
    for output in outputs:
        sample = philox(low(sample) ^ 2**64 - 1, [*words(output), sample[2], 3])
    return low(philox(low(sample), [*words(fnv1a(op)), number, sample[2]]))


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def permutation(n, key):
    """The function from place to number."""

    def number(i):
        return low(philox(key, [*words(n), i, 0]))

    if n <= 256:
        table = []
        for i in range(n):
            j = number(i) * (i + 1) >> 64
            table.append(i)
            table[i], table[j] = table[j], i
        return table.__getitem__

    a = math.isqrt(n - 1) + 1
    b = -(-n // a)
    keys = [number(i) for i in range(10)]

    def at(x):
        while True:
            left, right = divmod(x, b)
            for i in range(0, 10, 2):
                left = (left + (mix(right ^ keys[i]) * a >> 64)) % a
                right = (right + (mix(left ^ keys[i + 1]) * b >> 64)) % b
            x = left * b + right
            if x < n:
                return x

    return at


def windows(starts, samples, window, seed, epoch):
    """The samples of an epoch in their order: blocks, that begin at starts, permuted, gathered, and permuted again."""
    blocks = [list(range(a, b)) for a, b in zip(starts, [*starts[1:], samples])]
    at = permutation(len(blocks), epoch_key(seed, epoch, 5))
    gathered = []
    for k in range(len(blocks)):
        if not gathered or len(gathered[-1]) >= window:
            gathered.append([])
        gathered[-1] += blocks[at(k)]
    epoch_order = []
    for i, several in enumerate(gathered):
        at = permutation(len(several), low(philox(epoch_key(seed, epoch, 6), [*words(i), 0, 0])))
        epoch_order += [several[at(k)] for k in range(len(several))]
    return epoch_order


def split(samples, batch, world, drop_last):
    """For each rank, its batches: lists of [place, wrapped]."""
    ranks = [[] for _ in range(world)]
    epoch = [[i, False] for i in range(samples)]
    while epoch:
        rows, epoch = epoch[:batch], epoch[batch:]
        if len(rows) < batch and drop_last:
            break
        again = 0
        while len(rows) < world:
            rows.append([again % samples, True])
            again += 1
        least, over = divmod(len(rows), world)
        for r in range(world):
            count = least + (r < over)
            ranks[r].append(rows[:count])
            rows = rows[count:]
    return ranks


for line in sys.stdin:
    request = json.loads(line)
    what = request.pop("what")
    if what == "permutation":
        places = request.pop("places")
        at = permutation(request["n"], epoch_key(request["seed"], request["epoch"], 1))
        answer = [at(i) for i in places]
    elif what == "draw":
        answer = draw(**request)
    elif what == "windows":
        answer = windows(**request)
    else:
        answer = split(**request)
    print(json.dumps(answer))

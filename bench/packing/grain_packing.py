"""Packs sequences of given lengths with Grain. The arguments, what is read and what is printed are those of main.go.

Grain fills as many rows as --open says, and hands on all of them when a sequence fits into none.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import grain
import numpy
from grain.experimental import BestFitPackIterDataset, FirstFitPackIterDataset


class Sequences(grain.sources.RandomAccessDataSource):
    """The same tokens, cut to each length."""

    def __init__(self, lengths: numpy.ndarray, most: int) -> None:
        self.lengths = lengths.tolist()
        self.tokens = numpy.zeros(most, numpy.int32)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, numpy.ndarray]:
        return {"tokens": self.tokens[: self.lengths[index]]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--open", type=int, default=64)
    parser.add_argument("--fit", choices=["best", "first"], default="best")
    options = parser.parse_args()
    lengths = numpy.frombuffer(sys.stdin.buffer.read(), "<i4")
    kind = {"best": BestFitPackIterDataset, "first": FirstFitPackIterDataset}[options.fit]
    sequences = grain.MapDataset.source(Sequences(lengths, options.length)).to_iter_dataset(grain.ReadOptions(num_threads=0))
    packed = kind(sequences, length_struct={"tokens": options.length}, num_packing_bins=options.open, shuffle_bins=False)
    rows = tokens = 0
    begun = time.perf_counter()
    for row in packed:
        rows += 1
        tokens += int((row["tokens_segment_ids"] > 0).sum())
    print(json.dumps({"rows": rows, "tokens": tokens, "seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()

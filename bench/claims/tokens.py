"""Tokenizes texts with one loader and prints the rate, as one line of JSON.

Usage: python tokens.py MODEL CONTESTANT TOKENIZER THREADS TEXTS
       python tokens.py --train MODEL        makes MODEL, a file

MODEL is a byte-level BPE of 8,000 tokens, trained on Python's own standard library, which also has the texts: pieces of
4,000 characters, over and over. TOKENIZER is tiktoken or tokenizers; both have that model, and it is checked that they
make the same tokens of it.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from measure import cpu_seconds

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a call is one thread's

WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LENGTH = 4000


def texts() -> list[str]:
    library = sorted(pathlib.Path(os.__file__).parent.glob("*.py"))
    whole = "".join(file.read_text(errors="ignore") for file in library)
    return [whole[i : i + LENGTH] for i in range(0, len(whole) - LENGTH, LENGTH)]


def train(path: str) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=8000, initial_alphabet=alphabet, show_progress=False))
    tokenizer.save(path)
    (small,) = {tuple(make(path)(text)) for make in (tiktoken, tokenizers) for text in texts()[:1]}
    assert len(small) > LENGTH / 10


def tokenizers(path: str) -> Callable[[str], list[int]]:
    from tokenizers import Tokenizer

    encode = Tokenizer.from_file(path).encode
    return lambda text: encode(text).ids


def tiktoken(path: str) -> Callable[[str], list[int]]:
    from tiktoken import Encoding

    # The model's own file has a letter for each byte; the order of merges is that of their ranks.
    byte_of = {letter: byte for byte, letter in letters().items()}
    vocabulary = json.loads(pathlib.Path(path).read_text())["model"]["vocab"]
    ranks = {bytes(byte_of[letter] for letter in token): rank for token, rank in vocabulary.items()}
    return Encoding("own", pat_str=WORDS, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def letters() -> dict[int, str]:
    """The letter of each byte: itself if it is printable, else one after the first 256."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + i) for i, byte in enumerate(unseen)}


TOKENIZERS = {"tokenizers": tokenizers, "tiktoken": tiktoken}
made: dict[str, Callable[[str], list[int]]] = {}


class Encode:
    """The function of all contestants. Made where it is first called, once in a process."""

    def __init__(self, tokenizer: str, path: str) -> None:
        self.tokenizer, self.path = tokenizer, path

    def __call__(self, text: str):
        import numpy as np

        return np.array(self.encode(text), np.int32)

    @property
    def encode(self) -> Callable[[str], list[int]]:
        if self.path not in made:
            made[self.path] = TOKENIZERS[self.tokenizer](self.path)
        return made[self.path]


def headrace(where: str):
    def items(encode: Encode, these: list[str], threads: int) -> Iterator:
        import headrace as hr

        with hr.source(these).map(encode, workers=threads, where=where).loader(epochs=1, order="completion") as loader:
            yield from loader

    return items


def headrace_many(where: str):
    def items(encode: Encode, these: list[str], threads: int) -> Iterator:
        import headrace as hr

        def encode_all(some: list[str]) -> list:
            return [encode(text) for text in some]

        steps = hr.source(these).batch(16).map(encode_all, workers=threads, where=where)
        with steps.loader(epochs=1, order="completion") as loader:
            for some in loader:
                yield from some

    return items


def spdl(encode: Encode, these: list[str], threads: int) -> Iterator:
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(these).pipe(encode, concurrency=threads).add_sink(16)
    with (pipeline := builder.build(num_threads=threads)).auto_stop():
        yield from pipeline


def spdl_many(encode: Encode, these: list[str], threads: int) -> Iterator:
    from spdl.pipeline import PipelineBuilder

    def encode_all(some: list[str]) -> list:
        return [encode(text) for text in some]

    builder = PipelineBuilder().add_source(these).aggregate(16).pipe(encode_all, concurrency=threads).add_sink(3)
    with (pipeline := builder.build(num_threads=threads)).auto_stop():
        for some in pipeline:
            yield from some


def alone(encode: Encode, these: list[str], threads: int) -> Iterator:
    """Threads, and no loader."""
    from queue import SimpleQueue
    from threading import Thread

    done: SimpleQueue = SimpleQueue()
    rest = iter(these)

    def work() -> None:
        while (text := next(rest, None)) is not None:
            done.put(encode(text))

    for _ in range(threads):
        Thread(target=work, daemon=True).start()
    for _ in these:
        yield done.get()


CONTESTANTS = {
    "limit, threads alone": alone,
    "headrace, threads": headrace("thread"),
    "headrace, here": headrace("here"),
    "headrace, processes": headrace("process"),
    "headrace, threads, 16 a call": headrace_many("thread"),
    "headrace, here, 16 a call": headrace_many("here"),
    "spdl": spdl,
    "spdl, 16 a call": spdl_many,
}


def main() -> None:
    if sys.argv[1] == "--train":
        train(sys.argv[2])
        return
    path, label, tokenizer, threads, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    pieces = texts()
    these = [pieces[i % len(pieces)] for i in range(count)]
    warm = count // 4
    tokens = came = 0
    since = (0, 0.0, 0.0)
    for ids in CONTESTANTS[label](Encode(tokenizer, path), these, threads):
        came += 1
        tokens += len(ids)
        if came == warm:
            since = (tokens, time.perf_counter(), cpu_seconds())
        elif came == count:
            last = (tokens, time.perf_counter(), cpu_seconds())
    if came != count:
        raise SystemExit(f"{came} texts came, not {count}")
    span, seconds, cpu = (b - a for a, b in zip(since, last))
    print(json.dumps({"tokens": tokens, "tokens_per_s": round(span / seconds), "cpu_s_per_1m": round(cpu / span * 1e6, 4)}))


if __name__ == "__main__":
    main()

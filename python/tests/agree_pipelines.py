"""Pipelines whose ranks have different numbers of batches, for test_agree.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import headrace as hr


def numbers(n: int) -> hr.Pipeline:
    return hr.source([{"n": i} for i in range(n)], gives={"n": int}, where="here").shuffle()


def keep(n: int) -> bool:
    return bool(n * 2654435761 % 7 > 2)


def early(n: int) -> bool:
    return n < 20


def several(n: int) -> list[int]:
    return [10 * n + i for i in range(n % 4)]


def document(n: int) -> Any:
    return np.full(1 + n * 2654435761 % 13, n, np.int32)


def bad_at_7(n: int) -> int:
    if n % 9 == 7:
        raise ValueError("bad")
    return n


def filtered() -> hr.Pipeline:
    return numbers(90).filter(keep, fields="n", where="here").batch(3)


def _documents() -> hr.Pipeline:
    texts = numbers(70).map(document, fields="n", to="x", where="here", gives={"x": ("int32", (None,))})
    return texts.filter(keep, fields="n", where="here").drop("key")


LANES = 6


def in_buckets(p: hr.Pipeline) -> hr.Pipeline:
    texts = p.filter(keep, fields="n", where="here").map(document, fields="n", to="x", where="here", gives={"x": ("int32", (None,))})
    return texts.drop("key").bucket_batch([4, 8, 13], size=2)


PIPELINES: dict[str, tuple[hr.Pipeline, dict[str, Any]]] = {
    "filter": (filtered(), {}),
    "global": (numbers(50).filter(keep, fields="n", where="here").batch(global_size=6), {}),
    "few left": (numbers(60).filter(early, fields="n", where="here").batch(2), {}),
    "flat_map": (numbers(40).flat_map(several, fields="n", where="here", gives={"n": int}).lanes(6).batch(global_size=6), {}),
    "pack": (_documents().pack(16, global_size=6), {}),
    "buckets in lanes": (in_buckets(numbers(160).lanes(LANES)), {}),
    "skip": (numbers(60).map(bad_at_7, fields="n", where="here", gives={"n": int}).batch(4), {"on_error": "skip", "max_errors": 60}),
}

"""Packed rows against NumPy: each fit written down once more, what is cut, what is beside, and states between any two batches."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import numpy
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine")

FITS = ("best", "first", "best-wrap", "wrap")
Part = tuple[int, int, int]  # of which document, from where, how much


def documents(lengths: list[int], domains: int = 1) -> hr.Pipeline:
    """Documents whose tokens say which they are and where, with labels and a domain."""
    rows = []
    for i, n in enumerate(lengths):
        tokens = (1000 * i + numpy.arange(n)).astype("i4")
        rows.append({"tokens": tokens, "labels": tokens.astype("i8") + 1, "of": f"d{i % domains}", "weight": numpy.float32(i)})
    return hr.source(rows, gives={"tokens": ("int32", (None,)), "labels": ("int64", (None,)), "of": str, "weight": "float32"}, where="here")


def packed(lengths: list[int], length: int, fit: str, open: int, segments: int | None, domains: int) -> list[list[Part]]:
    """The rows of documents that are no longer than one."""
    most = segments or length
    held: list[list[int]] = []  # of which, from where, how much
    rows: list[list[Part]] = []

    def of(domain: int) -> list[list[int]]:
        return [h for h in held if h[0] % domains == domain]

    def largest() -> int:
        sums: dict[int, int] = {}
        for item, _, n in held:
            sums[item % domains] = sums.get(item % domains, 0) + n
        return max(sums, key=sums.__getitem__)  # the first of several

    def row(domain: int) -> None:
        mine, room = of(domain), length
        order = mine if fit == "wrap" else sorted(mine, key=lambda h: -h[2])
        if fit == "first":
            order = [order[0], *(h for h in mine if h is not order[0])]
        chosen: list[list[int]] = []
        for h in order:
            if h[2] <= room and len(chosen) < most:
                chosen.append(h)
                room -= h[2]
            elif fit == "wrap":
                break
        made = [(h[0], h[1], h[2]) for h in sorted(chosen)]
        for h in chosen:
            held.remove(h)
        left = [h for h in of(domain) if fit == "wrap" or h[1] == 0]
        if "wrap" in fit and room and len(chosen) < most and left:
            cut = left[0] if fit == "wrap" else max(left, key=lambda h: h[2])
            made.append((cut[0], cut[1], room))
            cut[1], cut[2] = cut[1] + room, cut[2] - room
        rows.append(made)

    for i, n in enumerate(lengths):
        held.append([i, 0, n])
        domain = i % domains
        while True:
            if fit == "wrap" and (sum(h[2] for h in of(domain)) >= length or len(of(domain)) >= most):
                row(domain)
            elif sum(h[2] for h in held) > open * length or len(held) > open * most:
                row(largest())
            else:
                break
    while held:
        row(largest())
    return rows


def parts_of(batch: Any, row: int) -> list[Part]:
    """What a row says itself."""
    ids, tokens, labels, positions, weight = (
        numpy.asarray(batch[name])[row] for name in ("tokens_segment_ids", "tokens", "labels", "tokens_positions", "weight")
    )
    parts = []
    for number in range(1, ids.max() + 1):
        (at,) = numpy.nonzero(ids == number)
        mine = tokens[at]
        assert (numpy.diff(at) == 1).all()
        assert (numpy.diff(mine) == 1).all()
        assert (labels[at] == mine + 1).all()
        assert (positions[at] == numpy.arange(len(at))).all()
        assert (weight[at] == mine[0] // 1000).all()
        parts.append((int(mine[0]) // 1000, int(mine[0]) % 1000, len(at)))
    assert json.loads(batch["of"][row]) == [json.loads(batch["of"][row])[0]] * len(parts)
    assert (labels[ids == 0] == -100).all()
    assert not tokens[ids == 0].any()
    return parts


def rows_of(batch: Any) -> list[list[Part]]:
    return [parts_of(batch, row) for row in range(len(batch["tokens"]))]


@pytest.mark.parametrize("fit", FITS)
def test_rows_are_those_of_numpy(fit: Any) -> None:
    r = numpy.random.default_rng(5)
    for case in range(5):
        length, open, domains = int(r.integers(8, 60)), int(r.integers(1, 5)), case % 3 + 1
        segments = None if case % 2 else int(r.integers(1, 6))
        lengths = [*r.integers(1, length + 1, int(r.integers(0, 70))).tolist(), 1]
        options: dict[str, Any] = {"fit": fit, "open": open, "max_segments": segments, "domain": "of", "pad": {"labels": -100}}
        with documents(lengths, domains).pack(length, 2, **options).loader(epochs=1) as loader:
            got = [row for batch in loader for row in rows_of(batch)]
            assert fit == "wrap" or (len(got) + 1) // 2 <= loader.max_batches
        assert got == packed(lengths, length, fit, open, segments, domains), (fit, case)
        if fit == "best-wrap" and segments is None and domains == 1:
            assert all(sum(part[2] for part in row) == length for row in got[: -open - 1])


@pytest.mark.parametrize("fit", FITS)
def test_a_state_between_any_two_batches(fit: Any) -> None:
    r = numpy.random.default_rng(9)
    lengths = r.integers(1, 90, 16).tolist()
    pipeline = documents(lengths, 2).pack(40, 2, fit=fit, open=2, overlong="split", domain="of", pad={"labels": -100})
    with pipeline.loader(epochs=1) as loader:
        whole, states = [], [loader.state_dict()]
        for batch in loader:
            whole.append(rows_of(batch))
            states.append(json.loads(json.dumps(loader.state_dict())))
    came = numpy.zeros((len(lengths), 90), int)
    for item, start, n in (part for batch in whole for row in batch for part in row):
        came[item, start : start + n] += 1
    for i, n in enumerate(lengths):
        assert (came[i, :n] == 1).all()
        assert not came[i, n:].any()
    for at, state in enumerate(states[:-1]):
        with pipeline.loader(epochs=1) as loader:
            loader.load_state_dict(state)
            assert [rows_of(batch) for batch in loader] == whole[at:], (fit, at)


def test_what_attention_wants_is_beside() -> None:
    with documents([3, 5, 2, 9, 8]).pack(9, 3, max_segments=4, fit="wrap").loader(epochs=1) as loader:
        assert loader.schema["tokens_cu_seqlens"][:3] == ("tensor", "int32", (5,))
        (batch,) = list(loader)
    ids, bounds = numpy.asarray(batch["tokens_segment_ids"]), numpy.asarray(batch["tokens_cu_seqlens"])
    for row in range(3):
        n = int(ids[row].max())
        counts = [int((ids[row] == number).sum()) for number in range(1, n + 1)]
        want = numpy.concatenate([[0], numpy.cumsum(counts)])
        assert (bounds[row] == numpy.pad(want, (0, 4 - n), mode="edge")).all()
        assert batch["tokens_max_seqlen"][row] == max(counts)


def test_sequences_of_several_lengths() -> None:
    r = numpy.random.default_rng(3)
    counts = [(int(r.integers(1, 30)), int(r.integers(0, 12))) for _ in range(40)]
    rows = [{"tokens": numpy.full(n, i, "i4"), "patches": numpy.full((m, 2), i, "f4")} for i, (n, m) in enumerate(counts)]
    gives: Any = {"tokens": ("int32", (None,)), "patches": ("float32", (None, 2))}
    seen = []
    with (
        hr.source(rows, gives=gives, where="here").pack({"tokens": 40, "patches": 16}, 2, pad=-1, max_segments=8).loader(epochs=1) as loader
    ):
        for batch in loader:
            arrays = {name: numpy.asarray(batch[name]) for name in batch if name != "key"}
            for row, keys in enumerate(batch["key"]):
                for number, key in enumerate(json.loads(keys), 1):
                    seen.append(int(arrays["tokens"][row][arrays["tokens_segment_ids"][row] == number][0]))
                    for name in ("tokens", "patches"):
                        mine = arrays[name][row][arrays[f"{name}_segment_ids"][row] == number]
                        numpy.testing.assert_array_equal(mine, rows[seen[-1]][name])
                        bounds = arrays[f"{name}_cu_seqlens"][row]
                        assert bounds[number] - bounds[number - 1] == len(mine), key
    assert sorted(seen) == list(range(40))

    for n, m, told in [(5, 17, 'the field "patches" has 17 elements, and a row has room for 16'), (0, 0, "all sequences are empty")]:
        bad = [{"tokens": numpy.zeros(n, "i4"), "patches": numpy.zeros((m, 2), "f4")}]
        with hr.source(bad, gives=gives, where="here").pack({"tokens": 40, "patches": 16}, 2).loader(epochs=1) as loader:
            with pytest.raises(hr.SampleError, match=told):
                list(loader)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({"tokens": 0, "labels": 0}, r'the field "tokens" is empty: there is nothing to pack; leave such samples out'),
        ({"tokens": 50, "labels": 40}, r'the fields "tokens" and "labels" have 50 and 40 elements: pack needs'),
    ],
)
def test_documents_that_cannot_be_packed(fit: Any, of: dict[str, int], told: str) -> None:
    rows = [{name: numpy.zeros(of[name] if i == 2 else 7, "i4") for name in of} for i in range(5)]
    pipeline = hr.source(rows, gives=dict.fromkeys(of, ("int32", (None,))), where="here").pack(20, 1, fit=fit, overlong="split")
    with pipeline.loader(epochs=1) as loader:
        with pytest.raises(hr.SampleError, match=told) as raised:
            list(loader)
        assert raised.value.index == 2
    with pipeline.loader(epochs=1, on_error="skip", max_errors=1) as loader:
        assert sum(int((numpy.asarray(batch["tokens_segment_ids"]) > 0).sum()) for batch in loader) == 28


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"length": 8, "max_segments": 0}, "max_segments is 0: must be from 1 to 1048576"),
        (
            {"length": 8, "domain": "weight"},
            r'domain is "weight", which is float32: rows are kept apart by text, one whole number or a bool',
        ),
        ({"length": 8, "domain": "tokens"}, r'domain is "tokens", which is int32 \[\?\]: rows are kept apart'),
        ({"length": 8, "domain": "no"}, r'domain is "no": the samples have the fields'),
        ({"length": {"tokens": 8}}, r'length has none for the sequence "labels": give each its own'),
        ({"length": {"tokens": 8, "labels": 8, "no": 8}}, r'length names "no": the sequences are'),
        ({"length": {"tokens": 8, "labels": 0}}, r'length is 0 for the field "labels": must be from 1'),
        ({"length": {"tokens": 8, "labels": 8}, "fit": "wrap"}, r'length has a number for each field, and fit is "wrap": where sequences'),
        ({"length": {"tokens": 8, "labels": 8}, "overlong": "split"}, r'and overlong is "split": where sequences are cut'),
    ],
)
def test_what_pack_refuses(args: dict[str, Any], told: str) -> None:
    with pytest.raises(hr.RecipeError, match=told):
        documents([3]).pack(size=1, **args).loader()


@pytest.mark.parametrize("fit", ["wrap", "best-wrap"])
def test_what_was_cut_is_not_divided_again(fit: Literal["wrap", "best-wrap"]) -> None:
    pipeline = documents([7] * 40).pack(10, 2, fit=fit)
    states = []
    for rank in range(2):
        with pipeline.loader(rank=rank, world_size=2, steps_per_epoch=5) as loader:
            next(iter(loader))
            states.append(loader.state_dict())
    told = (
        r'is from other ranks, and "pack" had begun sequences whose rests it held there, which no other rank has: '
        "resume with as many ranks as before, or begin at an epoch; lanes, which global_size= has, go on with any number of ranks"
    )
    with pytest.raises(hr.StateMismatch, match=told):
        with pipeline.loader() as loader:
            loader.load_state_dict(states)
            next(iter(loader))


def one_more(sample: dict[str, Any]) -> dict[str, Any]:
    return {"ids": sample["ids"] + 1, "mel": numpy.zeros((len(sample["ids"]), 4), "f4")}


def test_how_lengths_are_declared_is_told() -> None:
    """The gives= of the message works as it is written."""
    rows = [{"ids": numpy.arange(n)} for n in (3, 5, 2)]
    told = r"""has no sequences to pack, only ids int64 \[3\], mel float32 \[3, 4\]: .* gives=({"ids": \("int64", \(None,\)\)})"""
    with pytest.raises(hr.RecipeError, match=told) as raised:
        hr.source(rows, where="here").map(one_more, where="here").pack(8, 1).loader()
    found = re.search(told, str(raised.value))
    assert found
    gives = eval(found[1]) | {"mel": ("float32", (None, 4))}
    with (
        hr.source(rows, where="here", gives={"ids": gives["ids"]})
        .map(one_more, where="here", gives=gives)
        .pack(8, 1)
        .loader(epochs=1) as loader
    ):
        batches = list(loader)
    assert sum(int((numpy.asarray(batch["ids_segment_ids"]) > 0).sum()) for batch in batches) == 10
    with pytest.raises(hr.RecipeError, match=r"""has no sequences to put into buckets.*gives={"x": \("float32", \(None, 3\)\)}"""):
        hr.source([{"x": numpy.zeros((2, 3), "f4")}], where="here").bucket_batch([8], size=1).loader()

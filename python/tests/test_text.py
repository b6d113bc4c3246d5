"""Lazy sequences of text."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import struct
from collections.abc import Sequence

import pytest

import headrace as hr
from headrace._batch.text import split

GOLDEN = pathlib.Path(__file__).parents[2] / "wire/testdata/golden.txt"


def packed(*fields: list[bytes]) -> bytes:
    out = b""
    for texts in fields:
        ends = [sum(map(len, texts[:i])) for i in range(len(texts) + 1)]
        out += struct.pack(f"<{len(ends)}I", *ends) + b"".join(texts)
    return out


def test_texts():
    (texts,) = split(packed([b"a", b"", "grün".encode(), b"\xff\xfe"]), 4, 1)
    assert isinstance(texts, hr.Texts)
    assert isinstance(texts, Sequence)
    assert list(texts) == ["a", "", "grün", "\udcff\udcfe"]
    assert texts == ["a", "", "grün", "\udcff\udcfe"]
    assert texts == ("a", "", "grün", "\udcff\udcfe")
    assert texts != ["a"]
    assert texts != "agrün"
    assert os.fsencode(texts[3]) == b"\xff\xfe"
    assert texts[-1] == texts[3]
    assert texts[1:3] == ["", "grün"]
    assert texts[::-2] == ["\udcff\udcfe", ""]
    assert "grün" in texts
    assert texts.index("grün") == 2
    assert next(reversed(texts)) == texts[3]
    assert "4 texts: 'a'" in repr(texts)
    with pytest.raises(IndexError):
        texts[4]
    with pytest.raises(IndexError):
        texts[-5]
    with pytest.raises(TypeError):
        hash(texts)


def test_several_fields():
    one, two = split(packed([b"a", b"bc"], [b"def", b"g"]), 2, 2)
    assert list(one) == ["a", "bc"]
    assert list(two) == ["def", "g"]
    assert pickle.loads(pickle.dumps(two)) == ["def", "g"]


def test_texts_of_texts():
    given = ["a", "", "grün", "\udcff\udcfe"]
    for texts in (hr.Texts(given), hr.Texts(iter(given)), hr.Texts(hr.Texts(given)), pickle.loads(pickle.dumps(hr.Texts(given)))):
        assert texts == given
        assert texts[1:3] == ["", "grün"]
    assert hr.Texts([]) == []
    with pytest.raises(AttributeError):
        hr.Texts([1, 2])


def test_no_rows():
    (texts,) = split(packed([]), 0, 1)
    assert list(texts) == []
    assert repr(texts) == "<0 texts: >"


def counted(names: list[str], runs: list[tuple[int, int, int]]) -> bytes:
    first, until, named = zip(*runs)
    encoded = [name.encode() for name in names]
    ends = [sum(map(len, encoded[: i + 1])) for i in range(len(names))]
    return struct.pack("<4I", 2**32 - 1, len(runs), len(names), ends[-1]) + b"".join(
        [
            struct.pack(f"<{len(runs)}q{len(runs)}I{len(runs)}I", *first, *until, *named),
            struct.pack(f"<{len(names)}I", *ends),
            *encoded,
        ]
    )


def test_names_with_numbers():
    names = counted(["a.parquet", "grün"], [(8, 3, 0), (2**40, 4, 1), (0, 6, 0)])
    want = ["a.parquet[8]", "a.parquet[9]", "a.parquet[10]", f"grün[{2**40}]", "a.parquet[0]", "a.parquet[1]"]
    other = packed([b"x", b"", b"y", b"z", b"u", b"v"])
    for one, two in (split(names + other, 6, 2), split(other + names, 6, 2)[::-1]):
        assert isinstance(one, hr.Texts)
        assert list(one) == want == one
        assert one[-1] == want[-1]
        assert one[2:5] == want[2:5]
        assert list(two) == ["x", "", "y", "z", "u", "v"]
        assert pickle.loads(pickle.dumps(one)) == want
        assert copy.deepcopy(one) == want
        assert hr.Texts(one) == want
        assert repr(one).startswith("<6 texts: 'a.parquet[8]'")
        with pytest.raises(IndexError):
            one[6]


def test_names_with_numbers_as_the_engine_writes_them():
    (line,) = [line for line in GOLDEN.read_text().splitlines() if line.startswith("counted ")]
    names, texts = split(bytes.fromhex(line.split()[1])[48:], 4, 2)
    assert names == ["a.parquet[8]", "a.parquet[9]", f"b/\udcff.parquet[{2**40}]", "a.parquet[0]"]
    assert texts == ["x", "", "yy", "zzz"]

"""Lazy sequences of text."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Sequence

import pytest

import headrace as hr
from headrace._batch.text import split


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
